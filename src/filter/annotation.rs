//! The marks at the end of a frame's name: `_[k]` kernel, `_[i]` inlined, `_[j]` jitted, `_[w]`
//! waker.

/// Splits a name into what it names and the marks behind it.
pub(super) fn split(name: &[u8]) -> (&[u8], &[u8]) {
    let mut end = name.len();
    while let [.., b'_', b'[', b'k' | b'i' | b'j' | b'w', b']'] = &name[..end] {
        end -= 4;
    }
    name.split_at(end)
}

/// Returns true if a name has the mark of this letter.
pub(super) fn has(name: &[u8], letter: u8) -> bool {
    split(name).1.chunks_exact(4).any(|mark| mark[2] == letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_taken_off_the_end() {
        assert_eq!(split(b"read_[k]"), (&b"read"[..], &b"_[k]"[..]));
        assert_eq!(split(b"f_[i]_[j]"), (&b"f"[..], &b"_[i]_[j]"[..]));
        assert_eq!(split(b"f_[x]"), (&b"f_[x]"[..], &b""[..]));
        assert_eq!(split(b"_[k]"), (&b""[..], &b"_[k]"[..]));
        assert!(has(b"f_[i]_[j]", b'i') && !has(b"f_[j]", b'i') && !has(b"i", b'i'));
    }
}

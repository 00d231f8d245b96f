//! The fields of a tracepoint, as the kernel prints them: `call_site=ffff8 bytes_req=64`.

/// The most fields of an event, and the longest value: what a line has beyond is no field of the kernel's.
pub(crate) const MOST: usize = 64;
pub(crate) const LONGEST: usize = 256;

/// Key and value of each label.
pub(crate) type Labels = Vec<(Vec<u8>, Vec<u8>)>;

/// Appends the fields of a text to `labels`: `comm=a b tid=7`. What stands before the first is none.
pub(crate) fn pairs(text: &[u8], labels: &mut Labels) {
    let mut is_open = false;
    for word in text.split(|&b| b == b' ').filter(|word| !word.is_empty()) {
        match field(word) {
            Some((key, value)) if labels.len() < MOST => {
                labels.push((key.to_vec(), value[..value.len().min(LONGEST)].to_vec()));
                is_open = true;
            }
            // The arrow between the two threads of a switch.
            _ if word == b"==>" => is_open = false,
            _ => {
                // A command may have blanks.
                if let Some((_, value)) = labels.last_mut().filter(|_| is_open)
                    && value.len() + word.len() < LONGEST
                {
                    value.push(b' ');
                    value.extend_from_slice(word);
                }
            }
        }
    }
}

/// `bytes_req=64`
fn field(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b'=', word)?;
    let (key, value) = (&word[..at], &word[at + 1..]);
    let is_name = key.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
        && key.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_');
    (is_name && word != b"==>").then_some((key, value.strip_suffix(b",").unwrap_or(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_many_words_ends_with_the_last_that_fits() {
        let words = |word: &str| {
            let mut labels = Labels::new();
            pairs(format!("comm=x {}", format!("{word} ").repeat(300)).as_bytes(), &mut labels);
            labels[0].1.len()
        };
        assert_eq!((words("y"), words("yy")), (LONGEST - 1, LONGEST));
    }
}

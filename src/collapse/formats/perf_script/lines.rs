//! Lines, each with its last blank: one pass over a block finds both.
//!
//! A frame line is read from the right, so its last blank is where reading starts. Looking for
//! newlines and blanks in the same pass costs hardly more than looking for newlines.

use crate::scan::{CHUNK, places};

/// Calls `each` with the start and end of every line and the place of its last blank (0 if it
/// has none). A last line without a newline is one too.
#[inline]
pub(super) fn for_each_line<E>(
    bytes: &[u8],
    mut each: impl FnMut(usize, usize, usize) -> Result<(), E>,
) -> Result<(), E> {
    let mut start = 0;
    let mut space = 0;
    let mut base = 0;
    let mut chunks = bytes.chunks_exact(CHUNK);
    for chunk in &mut chunks {
        let chunk: &[u8; CHUNK] = chunk.try_into().expect("an exact chunk");
        let (mut newlines, spaces) = places(chunk, b'\n', b' ');
        while newlines != 0 {
            let at = newlines.trailing_zeros();
            let before = spaces & ((1 << at) - 1);
            if before != 0 {
                space = base + 63 - before.leading_zeros() as usize;
            }
            let end = base + at as usize;
            each(start, end, if space < start { 0 } else { space })?;
            start = end + 1;
            newlines &= newlines - 1;
        }
        if spaces != 0 {
            space = base + 63 - spaces.leading_zeros() as usize;
        }
        base += CHUNK;
    }
    for (at, &byte) in chunks.remainder().iter().enumerate() {
        match byte {
            b'\n' => {
                each(start, base + at, if space < start { 0 } else { space })?;
                start = base + at + 1;
            }
            b' ' => space = base + at,
            _ => {}
        }
    }
    if start < bytes.len() {
        each(start, bytes.len(), if space < start { 0 } else { space })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn finds_what_splitting_finds(text in "[a \n]{0,400}") {
            let mut found = Vec::new();
            for_each_line::<()>(text.as_bytes(), |start, end, space| {
                found.push((text[start..end].to_owned(), (space > 0).then(|| space - start)));
                Ok(())
            }).unwrap();
            let mut expected: Vec<&str> = text.split('\n').collect();
            if expected.last() == Some(&"") {
                expected.pop();
            }
            prop_assert_eq!(found.len(), expected.len());
            for (n, ((line, space), expected)) in found.iter().zip(&expected).enumerate() {
                prop_assert_eq!(line, expected);
                // A blank at the very beginning of the text is the one that 0 cannot tell.
                if n > 0 || !(expected.starts_with(' ') && expected.rfind(' ') == Some(0)) {
                    prop_assert_eq!(*space, expected.rfind(' '));
                }
            }
        }
    }
}

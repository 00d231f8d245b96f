//! Frame order: stacks compared frame by frame, each frame by its bytes, a prefix first.
//!
//! Put differently, `;` ranks below every other byte. Plain byte order is not frame order: in it
//! `a b;c` falls between `a` and `a;b`, and a renderer would draw `a` twice.

use std::cmp::Ordering;

/// Compares two stacks in frame order.
///
/// ```
/// use fg_tools::folded::cmp_stacks;
///
/// assert!(cmp_stacks(b"a", b"a;b").is_lt());
/// assert!(cmp_stacks(b"a;b", b"a b;c").is_lt());
/// ```
#[inline]
pub fn cmp_stacks(a: &[u8], b: &[u8]) -> Ordering {
    cmp_at(a, b, common_prefix(a, b))
}

/// [`cmp_stacks`] for stacks whose first `same` bytes are known to agree, and no more.
#[inline]
pub(crate) fn cmp_at(a: &[u8], b: &[u8], same: usize) -> Ordering {
    match (a.get(same), b.get(same)) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (Some(b';'), Some(_)) => Ordering::Less,
        (Some(_), Some(b';')) => Ordering::Greater,
        (Some(x), Some(y)) => x.cmp(y),
    }
}

/// The number of bytes that two stacks have in common from the start.
#[inline]
pub fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    // The longest that is compared in one go without special instructions.
    const STEP: usize = 32;
    let len = a.len().min(b.len());
    let (a, b) = (&a[..len], &b[..len]);
    let mut at = 0;
    while let (Some(x), Some(y)) = (a[at..].first_chunk::<STEP>(), b[at..].first_chunk::<STEP>()) {
        if x != y {
            break;
        }
        at += STEP;
    }
    const HALF: usize = 16;
    while let (Some(x), Some(y)) = (a[at..].first_chunk::<HALF>(), b[at..].first_chunk::<HALF>()) {
        let (x, y) = (u128::from_le_bytes(*x), u128::from_le_bytes(*y));
        if x != y {
            return at + ((x ^ y).trailing_zeros() / 8) as usize;
        }
        at += HALF;
    }
    // The last bytes are compared together with some that are known to be equal.
    if let (Some(x), Some(y)) = (a.last_chunk::<HALF>(), b.last_chunk::<HALF>()) {
        let (x, y) = (u128::from_le_bytes(*x), u128::from_le_bytes(*y));
        return len - HALF + ((x ^ y).trailing_zeros() / 8) as usize;
    }
    at + a[at..].iter().zip(&b[at..]).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_comparing_lists_of_frames() {
        let stacks = ["a", "a;b", "a;b;c", "a;b c", "a b;c", "a.x", "a\u{1};z", "aa", "a;", "b", "a;b;\u{1}"];
        for a in stacks {
            for b in stacks {
                let frames = |s: &'static str| s.split(';').map(str::as_bytes).collect::<Vec<_>>();
                assert_eq!(cmp_stacks(a.as_bytes(), b.as_bytes()), frames(a).cmp(&frames(b)), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn finds_the_first_difference() {
        for len in 0..70usize {
            let a = vec![b'x'; 70];
            let mut b = a.clone();
            b[len] = b'y';
            assert_eq!(common_prefix(&a, &b), len);
            assert_eq!(common_prefix(&a[..len], &a), len);
        }
    }
}

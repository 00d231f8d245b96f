//! The places of two bytes in some text, 64 bytes at a time.

/// The number of bytes that are looked at in one step.
pub(crate) const CHUNK: usize = 64;

/// Masks with a bit for each place of `a` and of `b` in the chunk.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn places(chunk: &[u8; CHUNK], a: u8, b: u8) -> (u64, u64) {
    use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    let first: *const __m128i = chunk.as_ptr().cast();
    // SAFETY: SSE2 is part of x86-64; the four parts of 16 bytes are the chunk, wherever it begins.
    unsafe {
        let [p, q, r, s] = [
            _mm_loadu_si128(first),
            _mm_loadu_si128(first.add(1)),
            _mm_loadu_si128(first.add(2)),
            _mm_loadu_si128(first.add(3)),
        ];
        let (a, b) = (_mm_set1_epi8(a as i8), _mm_set1_epi8(b as i8));
        let mask =
            |part: __m128i, byte: __m128i| u64::from(_mm_movemask_epi8(_mm_cmpeq_epi8(part, byte)) as u32);
        (
            mask(p, a) | mask(q, a) << 16 | mask(r, a) << 32 | mask(s, a) << 48,
            mask(p, b) | mask(q, b) << 16 | mask(r, b) << 32 | mask(s, b) << 48,
        )
    }
}

/// Masks with a bit for each place of `a` and of `b` in the chunk.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn places(chunk: &[u8; CHUNK], a: u8, b: u8) -> (u64, u64) {
    let (mut places_a, mut places_b) = (0, 0);
    for (n, &byte) in chunk.iter().enumerate() {
        places_a |= u64::from(byte == a) << n;
        places_b |= u64::from(byte == b) << n;
    }
    (places_a, places_b)
}

/// The length of the line that a text begins with, without its newline; puts the places of the `;` in it
/// into `semicolons`.
#[inline]
pub(crate) fn line_and_semicolons(text: &[u8], semicolons: &mut Vec<u32>) -> usize {
    semicolons.clear();
    line_and_semicolons_from(0, text, semicolons)
}

/// [`line_and_semicolons`] of a line whose first bytes, up to `at`, are known to hold no newline: only the
/// `;` behind them are added.
#[inline]
pub(crate) fn line_and_semicolons_from(mut at: usize, text: &[u8], semicolons: &mut Vec<u32>) -> usize {
    while let Some(chunk) = text[at..].first_chunk::<CHUNK>() {
        let (newlines, found) = places(chunk, b'\n', b';');
        // All bits below the first newline, or all.
        let mut found = found & (newlines & newlines.wrapping_neg()).wrapping_sub(1);
        while found != 0 {
            semicolons.push(at as u32 + found.trailing_zeros());
            found &= found - 1;
        }
        if newlines != 0 {
            return at + newlines.trailing_zeros() as usize;
        }
        at += CHUNK;
    }
    for (n, &byte) in text.iter().enumerate().skip(at) {
        match byte {
            b'\n' => return n,
            b';' => semicolons.push(n as u32),
            _ => {}
        }
    }
    text.len()
}

/// The frames of a stack of folded text, in a line whose `;` are at these places.
#[inline]
pub(crate) fn frames<'s>(stack: &'s [u8], semicolons: &[u32]) -> impl Iterator<Item = &'s [u8]> {
    let within = semicolons.iter().map(|&at| at as usize).take_while(|&at| at < stack.len());
    let mut start = 0;
    within.chain([stack.len()]).map(move |end| {
        let frame = &stack[start..end];
        start = end + 1;
        frame
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_line_and_its_semicolons_are_those_of_the_text(text in "[a;\n]{0,300}", long in ".{0,80}") {
            for text in [text.clone(), long.replace('\n', " ") + &text] {
                let mut found = vec![7];
                let len = line_and_semicolons(text.as_bytes(), &mut found);
                let mut behind = vec![];
                prop_assert_eq!(line_and_semicolons_from(len / 2, text.as_bytes(), &mut behind), len);
                let line = text.split('\n').next().unwrap_or_default();
                prop_assert_eq!(len, line.len());
                let expected: Vec<u32> = line.bytes().zip(0..).filter(|&(b, _)| b == b';').map(|(_, n)| n).collect();
                prop_assert_eq!(&found, &expected);
                prop_assert_eq!(behind, expected.into_iter().filter(|&n| n as usize >= len / 2).collect::<Vec<_>>());
            }
        }

        #[test]
        fn every_byte_is_found_where_it_is(bytes in proptest::collection::vec(any::<u8>(), CHUNK), a: u8, b: u8) {
            let chunk: &[u8; CHUNK] = bytes[..].try_into().unwrap();
            let expected = |wanted: u8| (0..CHUNK).filter(|&n| bytes[n] == wanted).map(|n| 1u64 << n).sum::<u64>();
            prop_assert_eq!(places(chunk, a, b), (expected(a), expected(b)));
        }
    }
}

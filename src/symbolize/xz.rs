//! xz: what distributions pack kernel modules with, and the symbol tables within stripped programs
//! (`.gnu_debugdata`).
//!
//! The container is read here: streams of blocks, each a header and LZMA2 data. Checksums are
//! passed over: a damaged table is a table of wrong sizes, and those are checked. Blocks with
//! filters for machine code are not understood; symbols and modules are packed without.

use std::io::Read;

use lzma_rust2::Lzma2Reader;

use crate::bytes::varint;

pub(super) const MAGIC: &[u8] = b"\xfd7zXZ\0";

/// The length of a check, by its number in the header.
const CHECK_SIZES: [usize; 16] = [0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64];
const LZMA2: u64 = 0x21;

/// The first stream's contents; `None` if they are damaged or larger than `limit`.
pub(super) fn unpack(packed: &[u8], limit: u64) -> Option<Vec<u8>> {
    let check = CHECK_SIZES[usize::from(packed.strip_prefix(MAGIC)?.get(1)? & 0xf)];
    let mut rest = packed.get(12..)?;
    let mut out = Vec::new();
    // An index, which begins with a zero, follows the last block.
    while *rest.first()? != 0 {
        let size = (usize::from(rest[0]) + 1) * 4;
        let dictionary = dictionary_size(rest.get(1..size)?)?.min(limit);
        let data = rest.get(size..)?;
        let room = limit.checked_sub(out.len() as u64)?;
        let mut reader = Lzma2Reader::new(data, u32::try_from(dictionary).ok()?, None);
        // One byte more than there is room for would be too much.
        if (&mut reader).take(room + 1).read_to_end(&mut out).ok()? as u64 > room {
            return None;
        }
        let used = data.len() - reader.into_inner().len();
        rest = data.get(used.next_multiple_of(4) + check..)?;
    }
    Some(out)
}

/// Reads the only filter of a block from its header, behind the first byte.
fn dictionary_size(header: &[u8]) -> Option<u64> {
    let (&flags, mut rest) = header.split_first()?;
    // Compressed and uncompressed size may be given.
    for bit in [0x40, 0x80] {
        if flags & bit != 0 {
            varint(&mut rest)?;
        }
    }
    if flags & 3 != 0 || varint(&mut rest)? != LZMA2 || varint(&mut rest)? != 1 {
        return None;
    }
    // Mantissa and exponent: 4 kB, 6 kB, 8 kB, 12 kB, …
    match rest.first()? {
        40 => Some(u64::from(u32::MAX)),
        bits @ 0..40 => Some(u64::from(2 | bits & 1) << (bits / 2 + 11)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf 'main;parse;lex 42\n' | xz -c`, of xz 5.4.
    const PACKED: &[u8] = &[
        253, 55, 122, 88, 90, 0, 0, 4, 230, 214, 180, 70, 2, 0, 33, 1, 22, 0, 0, 0, 116, 47, 229, 163, 1, 0,
        17, 109, 97, 105, 110, 59, 112, 97, 114, 115, 101, 59, 108, 101, 120, 32, 52, 50, 10, 0, 0, 0, 7, 10,
        83, 102, 102, 128, 41, 12, 0, 1, 42, 18, 75, 8, 84, 188, 31, 182, 243, 125, 1, 0, 0, 0, 0, 4, 89, 90,
    ];

    #[test]
    fn unpacks_what_xz_packed() {
        assert_eq!(unpack(PACKED, 100).unwrap(), b"main;parse;lex 42\n");
        assert_eq!(unpack(PACKED, 18).unwrap(), b"main;parse;lex 42\n");
        assert_eq!(unpack(PACKED, 17), None);
    }

    #[test]
    fn damage_is_no_panic() {
        for length in 0..PACKED.len() {
            let _ = unpack(&PACKED[..length], 100);
        }
        for at in 0..PACKED.len() {
            for bit in 0..8 {
                let mut bytes = PACKED.to_vec();
                bytes[at] ^= 1 << bit;
                let _ = unpack(&bytes, 100);
            }
        }
    }
}

//! Compressed sections: `SHF_COMPRESSED` with zlib or zstd, and the older `.zdebug_*`.
//!
//! The size a header claims is believed only as far as real sections go: they shrink to a third
//! or a tenth, and a bomb to a thousandth. A section beyond that is not there.

use std::io::Read;

use super::elf::{Fields, Format, Section};
use super::xz;

const ELFCOMPRESS_ZLIB: u32 = 1;
const ELFCOMPRESS_ZSTD: u32 = 2;

/// The largest ratio of contents to compressed contents, and what is allowed in any case.
const RATIO: u64 = 200;
const ALWAYS: u64 = 1 << 20;

/// The contents of a compressed section.
pub(super) fn section(packed: &[u8], section: &Section, format: Format) -> Option<Vec<u8>> {
    if let Some(rest) = packed.strip_prefix(b"ZLIB").filter(|_| section.name.starts_with(b".z")) {
        let (size, rest) = rest.split_first_chunk::<8>()?;
        return zlib(rest, u64::from_be_bytes(*size));
    }
    let mut fields = Fields::new(packed, format);
    let kind = fields.word()?;
    if format.wide {
        fields.word()?;
    }
    let size = fields.address()?;
    fields.address()?;
    let rest = packed.get(if format.wide { 24 } else { 12 }..)?;
    match kind {
        ELFCOMPRESS_ZLIB => zlib(rest, size),
        ELFCOMPRESS_ZSTD => zstd(rest, size),
        _ => None,
    }
}

/// A whole file that is compressed, as kernel modules are; `None` if it is not.
pub(super) fn file(packed: &[u8]) -> Option<Vec<u8>> {
    let limit = (packed.len() as u64).saturating_mul(RATIO).max(ALWAYS);
    let mut bytes = Vec::new();
    match packed {
        [0x1f, 0x8b, ..] => {
            flate2::read::MultiGzDecoder::new(packed).take(limit).read_to_end(&mut bytes).ok()?
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(packed).ok()?;
            decoder.take(limit).read_to_end(&mut bytes).ok()?
        }
        _ if packed.starts_with(xz::MAGIC) => return xz::unpack(packed, limit),
        _ => return None,
    };
    Some(bytes)
}

fn zlib(packed: &[u8], size: u64) -> Option<Vec<u8>> {
    read(flate2::read::ZlibDecoder::new(packed), packed, size)
}

fn zstd(packed: &[u8], size: u64) -> Option<Vec<u8>> {
    read(ruzstd::decoding::StreamingDecoder::new(packed).ok()?, packed, size)
}

/// All of it, if it is as long as it claims. Memory grows with the bytes read, not with the claim.
fn read(decoder: impl Read, packed: &[u8], size: u64) -> Option<Vec<u8>> {
    if size > (packed.len() as u64).saturating_mul(RATIO).max(ALWAYS) {
        return None;
    }
    let mut bytes = Vec::new();
    decoder.take(size).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == size).then_some(bytes)
}

//! Build ids: as text, as places in folders, and compared.

use std::path::{Path, PathBuf};

use crate::number::hex_of;

/// The build id that recordings write as hexadecimal digits.
pub(crate) fn build_id_from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let bytes = text.chunks(2).map(|pair| match *pair {
        [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
        _ => None,
    });
    bytes.collect::<Option<Vec<u8>>>().filter(|id| !id.is_empty())
}

/// `ab/cdef…`: where directories of build ids have one.
pub(super) fn by_build_id(build_id: &[u8]) -> Option<PathBuf> {
    let hex = hex_of(build_id);
    let (first, rest) = hex.split_at_checked(2)?;
    (!rest.is_empty()).then(|| Path::new(first).join(rest))
}

/// Returns whether two build ids are the same; the kernel pads short ones with zeros.
pub(super) fn same_id(a: &[u8], b: &[u8]) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    !short.is_empty() && long.starts_with(short) && long[short.len()..].iter().all(|b| *b == 0)
}

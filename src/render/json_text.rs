//! Names as JSON strings.

use crate::error::{Error, Result};

/// Appends a name as a string; what is not UTF-8 becomes replacement characters.
pub(super) fn string(name: &[u8], out: &mut Vec<u8>) -> Result<()> {
    serde_json::to_writer(out, &String::from_utf8_lossy(name)).map_err(|e| Error::io("write", e.into()))
}

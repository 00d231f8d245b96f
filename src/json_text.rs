//! JSON in which nothing is hidden: what steers a terminal or reorders text stands as `\uXXXX`.
//!
//! serde_json escapes only what RFC 8259 wants escaped, which leaves the C1 controls and the marks of bidirectional
//! text as they are. A file is shown by `cat` as well.

use std::io::Write;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::printable::is_hidden;

/// Appends a name as a string; what is not UTF-8 becomes replacement characters.
pub(crate) fn string(name: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    serde_json::to_writer(&mut *out, &String::from_utf8_lossy(name)).map_err(unwritten)?;
    escape_hidden(out, start)
}

/// Appends a value.
pub(crate) fn write(value: &Value, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    serde_json::to_writer(&mut *out, value).map_err(unwritten)?;
    escape_hidden(out, start)
}

/// A value over several lines, indented.
pub(crate) fn pretty(value: &Value) -> Result<Vec<u8>> {
    let mut out = serde_json::to_vec_pretty(value).map_err(unwritten)?;
    escape_hidden(&mut out, 0)?;
    Ok(out)
}

fn unwritten(error: serde_json::Error) -> Error {
    Error::io("write", error.into())
}

/// Escapes the hidden characters of JSON text. All of them are in strings: outside there are blanks and line ends.
fn escape_hidden(out: &mut Vec<u8>, start: usize) -> Result<()> {
    if out[start..].iter().all(|byte| byte.is_ascii() && *byte != 0x7f) {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&out.split_off(start)).into_owned();
    for letter in text.chars() {
        match is_hidden(letter) && letter != '\n' {
            true => write!(out, "\\u{:04x}", u32::from(letter))?,
            false => out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped_and_read_back() {
        let name = "a\"\u{1}\u{7f}\u{85}\u{9b}31m\u{202e}\u{200d}\u{feff}\u{2028}ü\\";
        let mut out = b"1, ".to_vec();
        string(name.as_bytes(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let escaped = r#""a\"\u0001\u007f\u0085\u009b31m\u202e\u200d\ufeff\u2028ü\\""#;
        assert_eq!(text, format!("1, {escaped}"));
        assert_eq!(serde_json::from_str::<String>(&text[3..]).unwrap(), name);
        assert_eq!(pretty(&serde_json::json!([name])).unwrap(), format!("[\n  {escaped}\n]").as_bytes());
    }
}

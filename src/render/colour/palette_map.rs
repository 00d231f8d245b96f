//! `palette.map`: colours given to names once and kept from picture to picture.
//!
//! ```text
//! main->rgb(215,120,12)
//! operator->->rgb(230,10,1)
//! ```
//!
//! The colour is what follows the last `->`, so that names may hold arrows themselves.

use std::collections::BTreeMap;
use std::io::Write;

use super::Rgb;
use crate::error::{Error, Position, Result};
use crate::input::lines;

/// Colours by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaletteMap {
    colours: BTreeMap<Vec<u8>, Rgb>,
}

impl PaletteMap {
    /// Reads a file's text; `file` is its name for messages. Blank lines do not matter.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Malformed`]: the file will be written again, and what is not
    /// understood would be lost.
    pub fn parse(text: &[u8], file: &str) -> Result<PaletteMap> {
        let mut map = PaletteMap::default();
        for (n, line) in lines(text).enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.trim_ascii().is_empty() {
                continue;
            }
            let (name, colour) = parse_line(line).ok_or_else(|| {
                let position = Position::line(file, n as u64 + 1);
                Error::malformed("name->rgb(r,g,b)", line).or_at(|| position)
            })?;
            map.colours.insert(name.to_vec(), colour);
        }
        Ok(map)
    }

    /// The colour kept for a name.
    pub fn get(&self, name: &[u8]) -> Option<Rgb> {
        self.colours.get(name).copied()
    }

    /// Keeps a colour for a name.
    pub fn insert(&mut self, name: &[u8], colour: Rgb) {
        self.colours.insert(name.to_vec(), colour);
    }

    /// Takes over the colours of names that have none here.
    pub fn add_new(&mut self, other: &PaletteMap) {
        for (name, colour) in &other.colours {
            self.colours.entry(name.clone()).or_insert(*colour);
        }
    }

    /// Writes a file's text, sorted by name.
    ///
    /// # Errors
    /// An I/O error.
    pub fn write(&self, out: &mut dyn Write) -> Result<()> {
        for (name, Rgb(r, g, b)) in &self.colours {
            out.write_all(name)?;
            writeln!(out, "->rgb({r},{g},{b})")?;
        }
        Ok(())
    }
}

fn parse_line(line: &[u8]) -> Option<(&[u8], Rgb)> {
    let arrow = memchr::memmem::rfind(line, b"->rgb(")?;
    let numbers = std::str::from_utf8(&line[arrow + 6..]).ok()?.trim_end().strip_suffix(')')?;
    let mut parts = numbers.split(',').map(|part| part.trim().parse().ok());
    let colour = Rgb(parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some((&line[..arrow], colour))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_survive() {
        let mut map = PaletteMap::default();
        for name in [&b"main"[..], b"operator->", b"x->rgb(1,2,3)", b"\xff\x00<&>\"", b" ", b"ends in cr\r"] {
            map.insert(name, Rgb(1, 20, 255));
        }
        let mut text = Vec::new();
        map.write(&mut text).unwrap();
        assert_eq!(PaletteMap::parse(&text, "palette.map").unwrap(), map);
    }

    #[test]
    fn what_is_not_understood_is_placed() {
        assert_eq!(PaletteMap::parse(b"a->rgb( 1, 2,3 )\r\n\n", "f").unwrap().get(b"a"), Some(Rgb(1, 2, 3)));
        for bad in ["b", "b->rgb(1,2)", "b->rgb(1,2,3,4)", "b->rgb(1,2,256)", "b->rgb(1,2,3"] {
            let error = PaletteMap::parse(format!("a->rgb(1,2,3)\n{bad}\n").as_bytes(), "f").unwrap_err();
            assert_eq!(error.to_string(), format!("f:2: expected name->rgb(r,g,b), found {bad:?}"));
        }
    }
}

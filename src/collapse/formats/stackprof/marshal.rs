//! Ruby's `Marshal`, version 4.8, as far as profiles need it: numbers, texts, symbols, arrays, hashes.
//!
//! A byte tells the type. Symbols and objects that came before are referred to by their number. The source is
//! `marshal.c` of Ruby, and `doc/marshal.rdoc` describes it. Objects are kept as they come, so that a file cannot
//! declare more than it holds.

use crate::error::{Error, Result};
use crate::input::Reader;

/// The first bytes.
pub const MAGIC: &[u8] = b"\x04\x08";

/// An object, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(u32);

/// An object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Object {
    /// `nil`, `true`, fractions and others that profiles do not need.
    Other,
    /// A whole number.
    Whole(i128),
    /// A text or a symbol, from where to where in the texts.
    Text(usize, usize),
    /// An array, from where to where in the items.
    Array(usize, usize),
    /// A hash: keys and values in turns.
    Hash(usize, usize),
}

/// All objects of a file.
pub struct Marshal {
    objects: Vec<Object>,
    items: Vec<Id>,
    texts: Vec<u8>,
    symbols: Vec<Id>,
    /// The objects that may be referred to; `None` while they are read.
    links: Vec<Option<Id>>,
}

/// `nil` and its like take no object of their own: a file of nothing else stays small.
const OTHER: Id = Id(0);

/// Profiles nest five deep, what users add to them a little more.
const DEEPEST: u32 = 64;

impl Marshal {
    /// Reads the one object of a file, and returns it.
    ///
    /// # Errors
    /// Data that is not Marshal's, or ends early, placed by its byte.
    pub fn read(reader: &mut Reader) -> Result<(Marshal, Id)> {
        let mut all = Marshal {
            objects: vec![Object::Other],
            items: Vec::new(),
            texts: Vec::new(),
            symbols: Vec::new(),
            links: Vec::new(),
        };
        reader.skip(MAGIC.len() as u64)?;
        let id = all.object(reader, 0)?;
        Ok((all, id))
    }

    /// An object.
    pub fn get(&self, id: Id) -> Object {
        self.objects[id.0 as usize]
    }

    /// The bytes of a text or symbol.
    pub fn text(&self, id: Id) -> Option<&[u8]> {
        match self.get(id) {
            Object::Text(start, end) => Some(&self.texts[start..end]),
            _ => None,
        }
    }

    /// A whole number.
    pub fn whole(&self, id: Id) -> Option<i128> {
        match self.get(id) {
            Object::Whole(number) => Some(number),
            _ => None,
        }
    }

    /// The items of an array.
    pub fn items(&self, id: Id) -> Option<&[Id]> {
        match self.get(id) {
            Object::Array(start, end) => Some(&self.items[start..end]),
            _ => None,
        }
    }

    /// The entries of a hash; none of another object.
    pub fn entries(&self, id: Id) -> impl Iterator<Item = (Id, Id)> {
        let items = match self.get(id) {
            Object::Hash(start, end) => &self.items[start..end],
            _ => &[],
        };
        items.chunks_exact(2).map(|pair| (pair[0], pair[1]))
    }

    fn add(&mut self, object: Object, reader: &Reader) -> Result<Id> {
        let Ok(id) = u32::try_from(self.objects.len()) else {
            return Err(Error::malformed("fewer objects", b"more than a profile has").at(reader.place()));
        };
        self.objects.push(object);
        Ok(Id(id))
    }

    fn object(&mut self, reader: &mut Reader, depth: u32) -> Result<Id> {
        if depth > DEEPEST {
            return Err(Error::malformed(format!("at most {DEEPEST} levels"), b"more").at(reader.place()));
        }
        let kind = reader.byte()?;
        match kind {
            b'0' | b'T' | b'F' => Ok(OTHER),
            b'i' => {
                let number = Object::Whole(fixnum(reader)?.into());
                self.add(number, reader)
            }
            b':' => {
                let text = self.bytes(reader)?;
                let id = self.add(text, reader)?;
                self.symbols.push(id);
                Ok(id)
            }
            b';' => {
                let number = fixnum(reader)?;
                let found = usize::try_from(number).ok().and_then(|number| self.symbols.get(number));
                found.copied().ok_or_else(|| no_reference(reader, number))
            }
            b'@' => {
                let number = fixnum(reader)?;
                let found = usize::try_from(number).ok().and_then(|number| self.links.get(number));
                found.copied().flatten().ok_or_else(|| no_reference(reader, number))
            }
            // An object with variables: a text and its encoding.
            b'I' => {
                let id = self.object(reader, depth + 1)?;
                self.variables(reader, depth)?;
                Ok(id)
            }
            // An object of a class or module of its own.
            b'C' | b'e' => {
                self.object(reader, depth + 1)?;
                self.object(reader, depth + 1)
            }
            b'u' => {
                self.object(reader, depth + 1)?;
                self.bytes(reader)?;
                self.links.push(Some(OTHER));
                Ok(OTHER)
            }
            _ => {
                let link = self.links.len();
                self.links.push(None);
                let object = self.linked(kind, reader, depth)?;
                let id = if object == Object::Other { OTHER } else { self.add(object, reader)? };
                self.links[link] = Some(id);
                Ok(id)
            }
        }
    }

    /// An object that may be referred to.
    fn linked(&mut self, kind: u8, reader: &mut Reader, depth: u32) -> Result<Object> {
        Ok(match kind {
            b'"' => self.bytes(reader)?,
            b'[' => {
                let count = length(reader)?;
                let (start, end) = self.container(reader, depth, count)?;
                Object::Array(start, end)
            }
            b'{' | b'}' => {
                let count = length(reader)?;
                let (start, end) = self.container(reader, depth, count.saturating_mul(2))?;
                if kind == b'}' {
                    self.object(reader, depth + 1)?;
                }
                Object::Hash(start, end)
            }
            b'l' => {
                let negative = reader.byte()? == b'-';
                let mut digits = Vec::new();
                let count = length(reader)?.saturating_mul(2);
                reader.append(count, &mut digits)?;
                let large = || Error::malformed("a number of 120 bits", b"a larger one").at(reader.place());
                let digits = digits.iter().rev().skip_while(|byte| **byte == 0).copied().collect::<Vec<u8>>();
                if digits.len() > 15 {
                    return Err(large());
                }
                let number = digits.iter().fold(0, |number, byte| number << 8 | i128::from(*byte));
                Object::Whole(if negative { -number } else { number })
            }
            b'f' | b'c' | b'm' | b'M' => {
                self.bytes(reader)?;
                Object::Other
            }
            b'/' => {
                self.bytes(reader)?;
                reader.skip(1)?;
                Object::Other
            }
            b'o' | b'S' => {
                self.object(reader, depth + 1)?;
                self.variables(reader, depth)?;
                Object::Other
            }
            b'U' => {
                self.object(reader, depth + 1)?;
                self.object(reader, depth + 1)?;
                Object::Other
            }
            other => return Err(Error::malformed("a type of Ruby's Marshal", &[other]).at(reader.place())),
        })
    }

    /// Names and values, which profiles do not need.
    fn variables(&mut self, reader: &mut Reader, depth: u32) -> Result<()> {
        let count = length(reader)?;
        for _ in 0..count.saturating_mul(2) {
            self.object(reader, depth + 1)?;
        }
        Ok(())
    }

    fn container(&mut self, reader: &mut Reader, depth: u32, count: u64) -> Result<(usize, usize)> {
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(self.object(reader, depth + 1)?);
        }
        let start = self.items.len();
        self.items.append(&mut items);
        Ok((start, self.items.len()))
    }

    fn bytes(&mut self, reader: &mut Reader) -> Result<Object> {
        let length = length(reader)?;
        let start = self.texts.len();
        reader.append(length, &mut self.texts)?;
        Ok(Object::Text(start, self.texts.len()))
    }
}

fn no_reference(reader: &Reader, number: i64) -> Error {
    Error::malformed("the number of an earlier object", number.to_string().as_bytes()).at(reader.place())
}

/// A count, which is not negative.
fn length(reader: &mut Reader) -> Result<u64> {
    let number = fixnum(reader)?;
    u64::try_from(number)
        .map_err(|_| Error::malformed("a length", number.to_string().as_bytes()).at(reader.place()))
}

/// A number of up to four bytes, small ones in one.
fn fixnum(reader: &mut Reader) -> Result<i64> {
    let first = reader.byte()? as i8;
    let count = first.unsigned_abs();
    if count > 4 {
        return Ok(i64::from(first) - if first > 0 { 5 } else { -5 });
    }
    let mut number = 0;
    for at in 0..count {
        number |= i64::from(reader.byte()?) << (8 * at);
    }
    Ok(if first < 0 { number - (1 << (8 * count)) } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;

    fn read(bytes: &[u8]) -> Result<(Marshal, Id)> {
        let bytes = [MAGIC, bytes].concat();
        let input = Input::new("test", Box::new(std::io::Cursor::new(bytes)))?;
        Marshal::read(&mut input.into_reader())
    }

    #[test]
    fn numbers_are_ruby_s() {
        // Marshal.dump([0, 1, -1, 122, 123, -123, -124, 255, 256, -129, 65536, 2**30, -2**62, 2**64 - 1])
        let text =
            b"[\x13i\0i\x06i\xfai\x7fi\x01\x7bi\x80i\xff\x84i\x01\xffi\x02\0\x01i\xff\x7fi\x03\0\0\x01\
                     l+\x07\0\0\0\x40l-\x09\0\0\0\0\0\0\0\x40l+\x09\xff\xff\xff\xff\xff\xff\xff\xff";
        let (all, id) = read(text).unwrap();
        let numbers: Vec<i128> = all.items(id).unwrap().iter().map(|id| all.whole(*id).unwrap()).collect();
        let two = |n: u32| 1i128 << n;
        let expected =
            [0, 1, -1, 122, 123, -123, -124, 255, 256, -129, 65536, two(30), -two(62), two(64) - 1];
        assert_eq!(numbers, expected);
    }

    #[test]
    fn references_are_to_objects_and_symbols() {
        // a = "x"; Marshal.dump({:k => [a, a, 1.5, a], "y" => :k})
        let text = b"{\x07:\x06k[\x09I\"\x06x\x06:\x06ET@\x07f\x081.5@\x07I\"\x06y\x06;\x06T;\0";
        let (all, id) = read(text).unwrap();
        let entries: Vec<(Id, Id)> = all.entries(id).collect();
        let [(key, list), (other, value)] = entries[..] else { panic!("two entries") };
        assert_eq!(
            (all.text(key), all.text(other), all.text(value)),
            (Some(&b"k"[..]), Some(&b"y"[..]), Some(&b"k"[..]))
        );
        let items = all.items(list).unwrap();
        assert_eq!((items.len(), all.text(items[3]), all.get(items[2])), (4, Some(&b"x"[..]), Object::Other));
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let error = |bytes: &[u8]| read(bytes).map(|_| ()).unwrap_err().to_string();
        assert!(error(b"@\x06").contains("an earlier object"));
        assert!(error(b"[\x06@\0").contains("an earlier object"));
        assert!(error(b"?").contains("a type of Ruby's Marshal"));
        assert!(error(b"\"\x04\xff\xff\xff\x7f").contains("expected 2147483647 bytes"));
        assert!(error(b"[\x04\xff\xff\xff\x7f").contains("more bytes"));
        assert!(error(&b"[\x06".repeat(100)).contains("at most 64 levels"));
        assert!(error(b"l+\x1f1234567890123456789012345678901234567890123456789012").contains("120 bits"));
    }
}

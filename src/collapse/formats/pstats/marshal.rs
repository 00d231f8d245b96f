//! Python's `marshal`, as far as profiles need it: numbers, texts, tuples, lists, dictionaries.
//!
//! A byte tells the type, its highest bit that later references may mean this object. The source
//! is CPython's `Python/marshal.c`; versions 0 (Python 2) to 5 are read. Objects are kept as they
//! come, so that a file cannot declare more than it holds, and references are numbers of objects
//! that are whole, so that there are no circles.

use crate::error::{Error, Position, Result};
use crate::input::Reader;

/// An object, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id(u32);

/// An object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Object {
    /// `None`, `True` and others that profiles do not need.
    Other,
    Whole(i128),
    Float(f64),
    /// From where to where in the texts.
    Text(usize, usize),
    /// From where to where in the items: of a tuple or list.
    Items(usize, usize),
    /// Keys and values in turns.
    Dictionary(usize, usize),
}

/// All objects of a file.
pub(super) struct Marshal {
    objects: Vec<(Object, u64)>,
    items: Vec<Id>,
    texts: Vec<u8>,
    refs: Vec<Option<Id>>,
    interned: Vec<Id>,
}

/// `None` and its like take no object of their own: a file of nothing else stays small.
const OTHER: Id = Id(0);

/// Profiles nest four deep.
const DEEPEST: u32 = 64;

const FLAG_REF: u8 = 0x80;

impl Marshal {
    /// Reads the one object of a file, and returns it.
    ///
    /// # Errors
    /// Data that is not marshal's, or ends early, placed by its byte.
    pub fn read(reader: &mut Reader) -> Result<(Marshal, Id)> {
        let mut all = Marshal {
            objects: vec![(Object::Other, 0)],
            items: Vec::new(),
            texts: Vec::new(),
            refs: Vec::new(),
            interned: Vec::new(),
        };
        match all.object(reader, 0)? {
            Some(id) => Ok((all, id)),
            None => Err(Error::malformed("a marshalled object", b"nothing").at(reader.place())),
        }
    }

    /// An object.
    pub fn get(&self, id: Id) -> Object {
        self.objects[id.0 as usize].0
    }

    /// The texts of an object that is one.
    pub fn text(&self, id: Id) -> Option<&[u8]> {
        match self.get(id) {
            Object::Text(start, end) => Some(&self.texts[start..end]),
            _ => None,
        }
    }

    /// The items of a tuple or a list.
    pub fn items(&self, id: Id) -> Option<&[Id]> {
        match self.get(id) {
            Object::Items(start, end) => Some(&self.items[start..end]),
            _ => None,
        }
    }

    /// The entries of a dictionary.
    pub fn entries(&self, id: Id) -> Option<impl Iterator<Item = (Id, Id)>> {
        match self.get(id) {
            Object::Dictionary(start, end) => {
                Some(self.items[start..end].chunks_exact(2).map(|pair| (pair[0], pair[1])))
            }
            _ => None,
        }
    }

    /// The error for an object that should be something else.
    pub fn unexpected(&self, id: Id, expected: &str) -> Error {
        let (object, at) = &self.objects[id.0 as usize];
        let found = match object {
            Object::Other => "a constant",
            Object::Whole(_) => "a whole number",
            Object::Float(_) => "a fraction",
            Object::Text(..) => "a text",
            Object::Items(..) => "a tuple",
            Object::Dictionary(..) => "a dictionary",
        };
        let place = Position { byte: Some(*at).filter(|at| *at > 0), ..Position::default() };
        Error::malformed(expected, found.as_bytes()).at(place)
    }

    fn add(&mut self, object: Object, at: u64, reader: &Reader) -> Result<Id> {
        let Ok(id) = u32::try_from(self.objects.len()) else {
            return Err(Error::malformed("fewer objects", b"more than a profile has").at(reader.place()));
        };
        self.objects.push((object, at));
        Ok(Id(id))
    }

    /// The next object; `None` is what ends a dictionary.
    fn object(&mut self, reader: &mut Reader, depth: u32) -> Result<Option<Id>> {
        let at = reader.position();
        let byte = reader.byte()?;
        if depth > DEEPEST {
            return Err(Error::malformed(format!("at most {DEEPEST} levels"), b"more").at(reader.place()));
        }
        // The place is taken before what is in it is read.
        let reference = (byte & FLAG_REF != 0).then(|| {
            self.refs.push(None);
            self.refs.len() - 1
        });
        let mut interned = false;
        let object = match byte & !FLAG_REF {
            b'0' => return Ok(None),
            b'N' | b'T' | b'F' | b'S' | b'.' => Object::Other,
            b'i' => Object::Whole(i32::from_le_bytes(reader.array()?).into()),
            b'I' => Object::Whole(i64::from_le_bytes(reader.array()?).into()),
            b'l' => Object::Whole(long(reader)?),
            b'g' => Object::Float(f64::from_le_bytes(reader.array()?)),
            b'f' => {
                let (start, end) = self.raw(reader, 1)?;
                let text = std::str::from_utf8(&self.texts[start..end]).ok();
                let Some(number) = text.and_then(|text| text.parse().ok()) else {
                    return Err(Error::malformed("a number", &self.texts[start..end]).at(reader.place()));
                };
                self.texts.truncate(start);
                Object::Float(number)
            }
            kind @ (b's' | b'u' | b'a' | b't' | b'A') => {
                interned = kind == b't';
                let (start, end) = self.raw(reader, 4)?;
                Object::Text(start, end)
            }
            b'z' | b'Z' => {
                let (start, end) = self.raw(reader, 1)?;
                Object::Text(start, end)
            }
            kind @ (b')' | b'(' | b'[') => {
                let len =
                    if kind == b')' { reader.byte()?.into() } else { u32::from_le_bytes(reader.array()?) };
                self.container(reader, depth, Some(len))?
            }
            b'<' | b'>' => {
                let len = u32::from_le_bytes(reader.array()?);
                self.container(reader, depth, Some(len))?
            }
            b'{' => self.container(reader, depth, None)?,
            b'c' => self.code(reader, depth)?,
            b'x' => {
                self.raw(reader, 1)?;
                self.raw(reader, 1)?;
                Object::Other
            }
            b'y' => {
                reader.skip(16)?;
                Object::Other
            }
            b'r' => {
                let index = u32::from_le_bytes(reader.array()?);
                return match self.refs.get(index as usize) {
                    Some(Some(id)) => Ok(Some(*id)),
                    _ => Err(no_reference(reader, index)),
                };
            }
            b'R' => {
                let index = u32::from_le_bytes(reader.array()?);
                let found = self.interned.get(index as usize).copied();
                return found.map(Some).ok_or_else(|| no_reference(reader, index));
            }
            other => {
                let found = [other];
                return Err(Error::malformed("a type of Python's marshal", &found).at(reader.place()));
            }
        };
        let id = if object == Object::Other { OTHER } else { self.add(object, at, reader)? };
        if let Some(reference) = reference {
            self.refs[reference] = Some(id);
        }
        if interned {
            self.interned.push(id);
        }
        Ok(Some(id))
    }

    /// A code object, which `profile` has in the place of a function's name: its name. The layouts
    /// of Python 3.11 and later, 3.8 to 3.10, 3.0 to 3.7 and 2 are told apart by what they hold.
    fn code(&mut self, reader: &mut Reader, depth: u32) -> Result<Object> {
        self.bytecode(reader)?;
        let mut next = |all: &mut Self| match all.object(reader, depth + 1)? {
            Some(id) => Ok(id),
            None => Err(Error::malformed("an object", b"the end of a dictionary").at(reader.place())),
        };
        // Constants, names, variables; then what kinds these are, or free ones.
        for _ in 0..3 {
            next(self)?;
        }
        let fifth = next(self)?;
        let new = matches!(self.get(fifth), Object::Text(..));
        if !new {
            next(self)?;
        }
        next(self)?;
        let name = next(self)?;
        let tables = if new {
            next(self)?;
            2
        } else {
            1
        };
        // The line it begins at, and tables of lines and exceptions.
        reader.skip(4)?;
        for _ in 0..tables {
            self.object(reader, depth + 1)?;
        }
        match self.get(name) {
            text @ Object::Text(..) => Ok(text),
            _ => Err(self.unexpected(name, "the name of a code object")),
        }
    }

    /// The beginning of a code object: numbers of arguments and such, four to six, the last of them
    /// flags, and then the type and the length of the bytecode, which is passed over.
    fn bytecode(&mut self, reader: &mut Reader) -> Result<()> {
        let is_text = |byte: u8| byte & !FLAG_REF == b's';
        reader.skip(16)?;
        let [fifth, a, b, c]: [u8; 4] = reader.array()?;
        let [next]: [u8; 1] = reader.array()?;
        let (kind, len) = if is_text(fifth) && next == 0 {
            (fifth, [a, b, c, next])
        } else {
            let word: [u8; 4] = reader.array()?;
            // The flags may be what looks like a type.
            if is_text(word[3]) { (word[3], reader.array()?) } else { (next, word) }
        };
        if !is_text(kind) {
            return Err(Error::malformed("the bytecode of a code object", &[kind]).at(reader.place()));
        }
        if kind & FLAG_REF != 0 {
            self.refs.push(Some(OTHER));
        }
        reader.skip(u32::from_le_bytes(len).into())
    }

    /// Reads a text whose length comes first, in `width` bytes.
    fn raw(&mut self, reader: &mut Reader, width: usize) -> Result<(usize, usize)> {
        let len = if width == 1 { reader.byte()?.into() } else { u32::from_le_bytes(reader.array()?) };
        let start = self.texts.len();
        reader.append(len.into(), &mut self.texts)?;
        Ok((start, self.texts.len()))
    }

    /// The items of a tuple or list, or without a number the entries of a dictionary.
    fn container(&mut self, reader: &mut Reader, depth: u32, len: Option<u32>) -> Result<Object> {
        let mut items = Vec::new();
        while len.is_none_or(|len| items.len() < len as usize) {
            match (self.object(reader, depth + 1)?, len) {
                (Some(id), _) => items.push(id),
                (None, None) if items.len() % 2 == 0 => break,
                (None, _) => {
                    return Err(Error::malformed("an object", b"the end of a dictionary").at(reader.place()));
                }
            }
        }
        let start = self.items.len();
        self.items.append(&mut items);
        let end = self.items.len();
        Ok(if len.is_some() { Object::Items(start, end) } else { Object::Dictionary(start, end) })
    }
}

fn no_reference(reader: &Reader, index: u32) -> Error {
    Error::malformed("the number of an object read before", index.to_string().as_bytes()).at(reader.place())
}

/// A number in digits of fifteen bits, the lowest first; its sign is that of their number.
fn long(reader: &mut Reader) -> Result<i128> {
    let len = i32::from_le_bytes(reader.array()?);
    let mut value = 0i128;
    for n in 0..len.unsigned_abs() {
        let digit = u16::from_le_bytes(reader.array()?);
        let shifted = (n <= 7).then(|| i128::from(digit) << (15 * n)).filter(|_| digit < 1 << 15);
        let Some(shifted) = shifted else {
            return Err(Error::malformed("a number of sensible size", b"a larger one").at(reader.place()));
        };
        value += shifted;
    }
    Ok(if len < 0 { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;

    fn read(bytes: &[u8]) -> Result<(Marshal, Id)> {
        let input = Input::new("test", Box::new(std::io::Cursor::new(bytes.to_vec()))).unwrap();
        Marshal::read(&mut input.into_reader())
    }

    #[test]
    fn objects_of_all_versions() {
        // {'k': (1, 2**20, 0.5, None), 'k2': [ref]}, and Python 2's interned and decimal forms.
        let (all, id) = read(b"{\xda\x01k\xa9\x04i\x01\0\0\0l\x02\0\0\0\0\0\x20\0g\0\0\0\0\0\0\xe0?Ns\x02\0\0\0k2[\x01\0\0\0r\x01\0\0\x000").unwrap();
        let entries: Vec<_> = all.entries(id).unwrap().collect();
        assert_eq!(entries.len(), 2);
        assert_eq!((all.text(entries[0].0), all.text(entries[1].0)), (Some(&b"k"[..]), Some(&b"k2"[..])));
        let tuple: Vec<_> = all.items(entries[0].1).unwrap().iter().map(|id| all.get(*id)).collect();
        assert_eq!(tuple, [Object::Whole(1), Object::Whole(1 << 20), Object::Float(0.5), Object::Other]);
        assert_eq!(all.items(entries[1].1).unwrap(), [entries[0].1]);
        let (all, id) = read(b"(\x03\0\0\0t\x01\0\0\0aR\0\0\0\0f\x04-1.5").unwrap();
        let items = all.items(id).unwrap();
        assert_eq!((items[0], all.get(items[2])), (items[1], Object::Float(-1.5)));
    }

    #[test]
    fn code_is_its_name_in_all_layouts() {
        const WORD: &[u8] = b"\0\0\0\0";
        // The flags of a generator that is defined in a function: the letter `s`.
        const FLAGS: &[u8] = b"s\0\0\0";
        const CODE: &[u8] = b"\xf3\x02\0\0\0ss";
        let (tuple, text) = (&b")\0"[..], &b"s\0\0\0\0"[..]);
        let name = &b"z\x01fz\x03C.f"[..];
        for (layout, words, parts) in [
            ("2", 3, [tuple; 5].concat()),
            ("3.7", 4, [tuple; 5].concat()),
            ("3.8", 5, [tuple; 5].concat()),
            ("3.11", 4, [tuple, tuple, tuple, text].concat()),
        ] {
            let numbers = [&WORD.repeat(words), FLAGS, CODE].concat();
            // Variables that are free, or what kinds all are, then file and name.
            let names = match layout {
                "3.11" => [b"z\x04a.py", name, WORD, text, text].concat(),
                _ => [b"z\x04a.py", &name[..3], WORD, text].concat(),
            };
            let code = [b")\x03\xe3", &numbers[..], &parts, &names, b"r\x01\0\0\0r\0\0\0\0"].concat();
            let (all, id) = read(&code).unwrap_or_else(|e| panic!("{layout}: {e}"));
            let items = all.items(id).unwrap();
            assert_eq!(all.text(items[0]), Some(&b"f"[..]), "{layout}");
            // The bytecode was the second object that could be referred to.
            assert_eq!((items[1], items[2]), (OTHER, items[0]), "{layout}");
        }
        assert!(read(b"c").is_err() && read(&[b"c", &[1; 40][..]].concat()).is_err());
    }

    #[test]
    fn what_is_broken_is_placed() {
        for (bytes, message) in [
            (&b"{"[..], "test: byte 1: expected more bytes, found \"the end\""),
            (b"(\xff\xff\xff\x7fN", "test: byte 6: expected more bytes"),
            (b"s\xff\xff\xff\xffx", "expected 4294967295 bytes, found \"the end after 1\""),
            (b"\xa9\x01r\0\0\0\0", "test: byte 7: expected the number of an object read before, found \"0\""),
            (b"R\x05\0\0\0", "an object read before, found \"5\""),
            (b"{N0", "expected an object, found \"the end of a dictionary\""),
            (b"?", "expected a type of Python's marshal, found \"?\""),
            (b"l\xff\xff\xff\x7f\x01\0\x01\0\x01\0\x01\0\x01\0\x01\0\x01\0\x01\0\x01\0", "a larger one"),
            (b"0", "expected a marshalled object"),
            (b"f\x01x", "expected a number, found \"x\""),
            (&b")\x01".repeat(70), "at most 64 levels"),
        ] {
            let error = read(bytes).err().unwrap().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}

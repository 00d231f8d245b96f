//! The wire format of protocol buffers, as far as profile.proto needs it: tags, varints, and
//! fields of a stated length (protobuf.dev/programming-guides/encoding).

use crate::bytes::{Cursor, varint};
use crate::error::{Error, ErrorKind, Result};
use crate::input::Reader;

/// Far larger than any sample or name; what states more is damaged.
const MAX_MESSAGE: usize = 64 << 20;

/// A field's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// A number.
    Number(u64),
    /// A text, a message, or a list of numbers.
    Bytes(&'a [u8]),
    /// A number of 32 or 64 bits, which no field of profile.proto is.
    Fixed(u64),
}

/// The fields of a message, one after the other; ends early, with an error, in damaged ones.
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Option<(u32, Content<'a>)>;

    /// `Some(None)` is damage; the fields end there.
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let mut bytes = Cursor::little(self.0);
        let field = field(&mut bytes);
        self.0 = if field.is_some() { bytes.rest() } else { &[] };
        Some(field)
    }
}

fn field<'a>(bytes: &mut Cursor<'a>) -> Option<(u32, Content<'a>)> {
    let tag = bytes.varint()?;
    let number = u32::try_from(tag >> 3).ok().filter(|number| *number > 0)?;
    let content = match tag & 7 {
        0 => Content::Number(bytes.varint()?),
        1 => Content::Fixed(bytes.u64()?),
        2 => Content::Bytes(bytes.varint_counted()?),
        5 => Content::Fixed(bytes.u32()?.into()),
        _ => return None,
    };
    Some((number, content))
}

/// The numbers in a message by the numbers of their fields.
pub fn message(bytes: &[u8], fields: &mut [u64]) -> Option<()> {
    for field in Fields(bytes) {
        if let (number, Content::Number(value)) = field?
            && let Some(field) = fields.get_mut(number as usize)
        {
            *field = value;
        }
    }
    Some(())
}

/// The numbers of a repeated field, of which writers make one packed list or many fields.
pub fn numbers(content: Content<'_>, mut each: impl FnMut(u64)) -> Option<()> {
    match content {
        Content::Number(number) => each(number),
        Content::Bytes(mut list) => {
            while !list.is_empty() {
                each(varint(&mut list)?);
            }
        }
        Content::Fixed(_) => return None,
    }
    Some(())
}

/// The numbers of a repeated field of 64 bits each.
pub fn fixed_numbers(content: Content<'_>, mut each: impl FnMut(u64)) -> Option<()> {
    match content {
        Content::Fixed(number) => each(number),
        Content::Bytes(list) if list.len() % 8 == 0 => {
            let numbers = Cursor::little(list).u64s(list.len() as u64 / 8)?;
            numbers.iter().for_each(each);
        }
        _ => return None,
    }
    Some(())
}

/// Reads the next field of the outermost message: its content goes to `buffer` if it is bytes.
/// `None` at the end.
pub fn read_field(reader: &mut Reader, buffer: &mut Vec<u8>) -> Result<Option<(u32, Option<u64>)>> {
    buffer.clear();
    if reader.is_at_end()? {
        return Ok(None);
    }
    let place = reader.place();
    let damaged =
        |what: String| Error::malformed("a field of profile.proto", what.as_bytes()).at(place.clone());
    let tag = reader.varint()?;
    let number = u32::try_from(tag >> 3).ok().filter(|number| *number > 0);
    let number = number.ok_or_else(|| damaged(format!("the tag {tag}")))?;
    let value = match tag & 7 {
        0 => Some(reader.varint()?),
        1 => reader.skip(8).map(|()| Some(0))?,
        2 => {
            let len = reader.varint()?;
            if len > MAX_MESSAGE as u64 {
                return Err(Error::new(ErrorKind::TooLong { limit: MAX_MESSAGE }, place));
            }
            reader.append(len, buffer)?;
            None
        }
        5 => reader.skip(4).map(|()| Some(0))?,
        _ => return Err(damaged(format!("the tag {tag}"))),
    };
    Ok(Some((number, value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_no_field_zero() {
        let zeros = Box::new(std::io::Cursor::new(vec![0; 9]));
        let mut reader = crate::input::Input::new("test", zeros).unwrap().into_reader();
        let error = read_field(&mut reader, &mut Vec::new()).unwrap_err().to_string();
        assert_eq!(error, "test: byte 0: expected a field of profile.proto, found \"the tag 0\"");
    }

    #[test]
    fn fields_end_where_the_damage_is() {
        let bytes = [0x08, 0x05, 0x12, 0x02, b'h', b'i', 0x1d, 0, 0, 0, 0, 0x12, 0x7f];
        let fields: Vec<_> = Fields(&bytes).collect();
        assert_eq!(
            fields,
            [
                Some((1, Content::Number(5))),
                Some((2, Content::Bytes(b"hi"))),
                Some((3, Content::Fixed(0))),
                None
            ]
        );
        let mut list = Vec::new();
        numbers(Content::Bytes(&[1, 0x80, 0x01]), |n| list.push(n)).unwrap();
        assert_eq!(list, [1, 128]);
        assert!(numbers(Content::Bytes(&[0x80]), |_| {}).is_none());
    }
}

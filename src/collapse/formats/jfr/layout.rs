//! The layout of values of a type, so that they can be read or passed over.

use super::cursor::{ChunkCursor, Text};

/// The layout of a value.
#[derive(Clone, Debug)]
pub enum Layout {
    /// `byte` and `boolean`.
    Byte,
    /// `short`, and `char`, which has no sign.
    Short { signed: bool },
    /// `int`
    Int,
    /// `long`, and the number of a constant.
    Long,
    /// `float` and `double`: this many bytes.
    Float(usize),
    /// `java.lang.String`
    Text,
    /// Fields one after the other.
    Struct(Vec<Layout>),
    /// A count, and as many values, which take a byte each at least.
    Array(Box<Layout>),
}

/// A value that a field holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Datum<'a> {
    /// A number, or that of a constant.
    Number(i64),
    /// A text.
    Text(Text<'a>),
    /// Anything else, passed over.
    Other,
}

impl Layout {
    /// Passes over a value; `None` if it ends too late.
    pub fn skip(&self, cursor: &mut ChunkCursor) -> Option<()> {
        match self {
            Layout::Struct(fields) => fields.iter().try_for_each(|field| field.skip(cursor)),
            Layout::Array(of) => {
                for _ in 0..cursor.count()? {
                    let before = cursor.at();
                    of.skip(cursor)?;
                    // A type without fields takes no bytes, however often.
                    if cursor.at() == before {
                        break;
                    }
                }
                Some(())
            }
            Layout::Float(size) => cursor.take(*size).map(|_| ()),
            simple => simple.read(cursor).map(|_| ()),
        }
    }

    /// Reads a value; `None` if it ends too late.
    #[inline]
    pub fn read<'a>(&self, cursor: &mut ChunkCursor<'a>) -> Option<Datum<'a>> {
        Some(match self {
            Layout::Byte => Datum::Number(i64::from(cursor.byte()? as i8)),
            Layout::Short { signed: true } => Datum::Number(i64::from(cursor.short()? as i16)),
            Layout::Short { signed: false } => Datum::Number(i64::from(cursor.short()?)),
            Layout::Int => Datum::Number(i64::from(cursor.int()?)),
            Layout::Long => Datum::Number(cursor.long()? as i64),
            Layout::Text => Datum::Text(cursor.text()?),
            other => {
                other.skip(cursor)?;
                Datum::Other
            }
        })
    }
}

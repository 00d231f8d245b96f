//! The two encodings of a message: a protocol buffer, and JSON as protobuf.dev/programming-guides/json has it, with
//! numbers of 64 bits as texts.

use super::encoding;
use crate::json_text;

/// A field: its number in the protocol buffer, and its name in JSON.
#[derive(Clone, Copy)]
pub struct Field(pub u64, pub &'static str);

/// A message being written. Zeros and empty texts are left out.
pub trait Message: Default {
    /// A number of 32 bits.
    fn index(&mut self, field: Field, value: u32);
    /// A signed number of 64 bits.
    fn int(&mut self, field: Field, value: i64);
    /// A number of 64 bits.
    fn uint(&mut self, field: Field, value: u64);
    /// A number of 64 bits in eight bytes.
    fn fixed(&mut self, field: Field, value: u64);
    /// True; false is left out.
    fn flag(&mut self, field: Field, value: bool);
    /// A text, of which bytes that are not UTF-8 are replaced.
    fn text(&mut self, field: Field, value: &[u8]);
    /// The number of a trace or a span, which JSON has in hexadecimal digits.
    fn id(&mut self, field: Field, value: u128, length: usize);
    /// A number as the one value of a choice, zero or not.
    fn chosen_int(&mut self, field: Field, value: i64);
    /// A text as the one value of a choice, empty or not.
    fn chosen_text(&mut self, field: Field, value: &[u8]);
    /// Several numbers of 32 bits.
    fn indices(&mut self, field: Field, values: &mut dyn Iterator<Item = u32>);
    /// Several signed numbers of 64 bits.
    fn ints(&mut self, field: Field, values: &[i64]);
    /// Several numbers of 64 bits in eight bytes each.
    fn fixeds(&mut self, field: Field, values: &[u64]);
    /// Several texts.
    fn texts(&mut self, field: Field, values: &mut dyn Iterator<Item = &[u8]>);
    /// A message.
    fn message(&mut self, field: Field, value: Self);
    /// Several messages.
    fn messages(&mut self, field: Field, values: &mut dyn Iterator<Item = Self>);
    /// The bytes of the whole.
    fn finish(self) -> Vec<u8>;
}

/// A protocol buffer.
#[derive(Default)]
pub struct Protobuf(Vec<u8>);

impl Message for Protobuf {
    fn index(&mut self, Field(number, _): Field, value: u32) {
        encoding::known(number, value.into(), &mut self.0);
    }

    fn int(&mut self, Field(number, _): Field, value: i64) {
        encoding::known(number, value as u64, &mut self.0);
    }

    fn uint(&mut self, Field(number, _): Field, value: u64) {
        encoding::known(number, value, &mut self.0);
    }

    fn fixed(&mut self, Field(number, _): Field, value: u64) {
        encoding::fixed(number, value, &mut self.0);
    }

    fn flag(&mut self, Field(number, _): Field, value: bool) {
        encoding::known(number, value.into(), &mut self.0);
    }

    fn text(&mut self, field: Field, value: &[u8]) {
        if !value.is_empty() {
            self.chosen_text(field, value);
        }
    }

    fn id(&mut self, Field(number, _): Field, value: u128, length: usize) {
        let bytes = value.to_be_bytes();
        encoding::bytes(number, &bytes[bytes.len() - length..], &mut self.0);
    }

    fn chosen_int(&mut self, Field(number, _): Field, value: i64) {
        encoding::number_field(number, value as u64, &mut self.0);
    }

    fn chosen_text(&mut self, Field(number, _): Field, value: &[u8]) {
        encoding::bytes(number, String::from_utf8_lossy(value).as_bytes(), &mut self.0);
    }

    fn indices(&mut self, Field(number, _): Field, values: &mut dyn Iterator<Item = u32>) {
        encoding::packed(number, values.map(u64::from), &mut Vec::new(), &mut self.0);
    }

    fn ints(&mut self, Field(number, _): Field, values: &[i64]) {
        encoding::packed(number, values.iter().map(|&value| value as u64), &mut Vec::new(), &mut self.0);
    }

    fn fixeds(&mut self, Field(number, _): Field, values: &[u64]) {
        if !values.is_empty() {
            let list: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            encoding::bytes(number, &list, &mut self.0);
        }
    }

    fn texts(&mut self, field: Field, values: &mut dyn Iterator<Item = &[u8]>) {
        values.for_each(|value| self.chosen_text(field, value));
    }

    fn message(&mut self, Field(number, _): Field, value: Self) {
        encoding::bytes(number, &value.0, &mut self.0);
    }

    fn messages(&mut self, field: Field, values: &mut dyn Iterator<Item = Self>) {
        values.for_each(|value| self.message(field, value));
    }

    fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// The fields of an object in JSON, without its braces.
#[derive(Default)]
pub struct Json(Vec<u8>);

impl Json {
    fn key(&mut self, Field(_, name): Field) {
        if !self.0.is_empty() {
            self.0.push(b',');
        }
        self.0.push(b'"');
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
    }

    fn list<T>(
        &mut self,
        field: Field,
        values: impl Iterator<Item = T>,
        mut each: impl FnMut(T, &mut Vec<u8>),
    ) {
        let mut values = values.peekable();
        if values.peek().is_none() {
            return;
        }
        self.key(field);
        self.0.push(b'[');
        for (at, value) in values.enumerate() {
            if at > 0 {
                self.0.push(b',');
            }
            each(value, &mut self.0);
        }
        self.0.push(b']');
    }

    fn quoted(&mut self, field: Field, value: impl std::fmt::Display) {
        self.key(field);
        quote(value, &mut self.0);
    }
}

fn quote(value: impl std::fmt::Display, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("\"{value}\"").as_bytes());
}

fn write_text(value: &[u8], out: &mut Vec<u8>) {
    json_text::string(value, out).expect("a string is written to memory");
}

impl Message for Json {
    fn index(&mut self, field: Field, value: u32) {
        if value != 0 {
            self.key(field);
            self.0.extend_from_slice(value.to_string().as_bytes());
        }
    }

    fn int(&mut self, field: Field, value: i64) {
        if value != 0 {
            self.quoted(field, value);
        }
    }

    fn uint(&mut self, field: Field, value: u64) {
        if value != 0 {
            self.quoted(field, value);
        }
    }

    fn fixed(&mut self, field: Field, value: u64) {
        self.uint(field, value);
    }

    fn flag(&mut self, field: Field, value: bool) {
        if value {
            self.key(field);
            self.0.extend_from_slice(b"true");
        }
    }

    fn text(&mut self, field: Field, value: &[u8]) {
        if !value.is_empty() {
            self.chosen_text(field, value);
        }
    }

    fn id(&mut self, field: Field, value: u128, length: usize) {
        self.quoted(field, format_args!("{value:0width$x}", width = 2 * length));
    }

    fn chosen_int(&mut self, field: Field, value: i64) {
        self.quoted(field, value);
    }

    fn chosen_text(&mut self, field: Field, value: &[u8]) {
        self.key(field);
        write_text(value, &mut self.0);
    }

    fn indices(&mut self, field: Field, values: &mut dyn Iterator<Item = u32>) {
        self.list(field, values, |value, out| out.extend_from_slice(value.to_string().as_bytes()));
    }

    fn ints(&mut self, field: Field, values: &[i64]) {
        self.list(field, values.iter(), quote);
    }

    fn fixeds(&mut self, field: Field, values: &[u64]) {
        self.list(field, values.iter(), quote);
    }

    fn texts(&mut self, field: Field, values: &mut dyn Iterator<Item = &[u8]>) {
        self.list(field, values, write_text);
    }

    fn message(&mut self, field: Field, value: Self) {
        self.key(field);
        self.0.push(b'{');
        self.0.extend(value.0);
        self.0.push(b'}');
    }

    fn messages(&mut self, field: Field, values: &mut dyn Iterator<Item = Self>) {
        self.list(field, values, |value, out| {
            out.push(b'{');
            out.extend(value.0);
            out.push(b'}');
        });
    }

    fn finish(self) -> Vec<u8> {
        [&b"{"[..], &self.0, b"}\n"].concat()
    }
}

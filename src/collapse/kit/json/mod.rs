//! JSON that is read as it streams by, and ([`HeadKeys`]) what a file's first bytes say of its keys.
//!
//! Profiles of a gigabyte are common in JSON, with millions of numbers in arrays. [`Json`] hands
//! out one value after the other and keeps nothing; numbers stay as they are written, so that
//! weights are exact; errors name the byte. The work is done by struson; this is the part of it
//! that collapsers need, with our errors.
//!
//! ```text
//! let mut json = Json::new(input);
//! let mut key = String::new();
//! json.begin_object()?;
//! while json.next_key(&mut key)? {
//!     match key.as_str() {
//!         "ticks" => println!("{}", json.weight()?),
//!         _ => json.skip()?,
//!     }
//! }
//! ```

mod head;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use struson::reader::{
    JsonReader, JsonReaderPosition, JsonStreamReader, JsonSyntaxError, ReaderError, ReaderSettings,
    SyntaxErrorKind, ValueType,
};

use crate::collapse::Report;
use crate::error::{Error, ErrorKind, Position, Result};
use crate::input::{Input, Reader};
use crate::weight::Weight;
pub use head::HeadKeys;

/// The kind of the next value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `[`
    Array,
    /// `{`
    Object,
    /// A text in quotes.
    Text,
    /// A number.
    Number,
    /// `true` or `false`.
    Bool,
    /// `null`
    Null,
}

/// Trees of functions nest as deep as the program did; a file of brackets only stays small.
const DEEPEST: u32 = 3 * crate::collapse::kit::forest::DEEPEST as u32;

/// A listener of [`Json::tree`].
pub trait Nodes {
    /// A node begins, below another; its number is told back with what it holds.
    fn begin(&mut self, above: Option<usize>) -> usize;

    /// A key of a node other than that of its children; the value is next, and must be taken.
    ///
    /// # Errors
    /// Those of reading the value.
    fn field(&mut self, json: &mut Json, key: &str, node: usize) -> Result<()>;
}

/// Reads one value after the other.
pub struct Json {
    name: Arc<str>,
    inner: JsonStreamReader<Measured>,
    /// See [`Measured`].
    size: Arc<AtomicU64>,
}

/// An input whose size is known once it has ended; before, it is the largest number.
struct Measured {
    reader: Reader,
    size: Arc<AtomicU64>,
}

impl io::Read for Measured {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        if read == 0 && !buffer.is_empty() {
            self.size.store(self.reader.position(), Ordering::Relaxed);
        }
        Ok(read)
    }
}

impl Json {
    /// Begins before the first value.
    pub fn new(input: Input) -> Json {
        let name = input.name().clone();
        let settings = ReaderSettings {
            // Profiles of browsers are mended by hand, and some end in a comma when cut.
            allow_trailing_comma: true,
            allow_multiple_top_level: true,
            track_path: false,
            max_nesting_depth: Some(DEEPEST),
            restrict_number_values: true,
            ..ReaderSettings::default()
        };
        let size = Arc::new(AtomicU64::new(u64::MAX));
        let reader = Measured { reader: input.into_reader(), size: size.clone() };
        Json { name, inner: JsonStreamReader::new_custom(reader, settings), size }
    }

    /// Returns true if the error is that the input ends too soon, maybe within a word or a character: nothing
    /// more can be read.
    pub fn is_cut(&self, error: &Error) -> bool {
        const LONGEST: u64 = "false".len() as u64;
        let is_syntax = matches!(error.kind(), ErrorKind::Malformed { expected, .. } if expected == SYNTAX || expected == UTF_8);
        let size = self.size.load(Ordering::Relaxed);
        is_syntax && error.position().byte.is_some_and(|byte| byte.saturating_add(LONGEST) >= size)
    }

    /// The place that has been reached, for errors.
    pub fn place(&self) -> Position {
        at(&self.name, &self.inner.current_position(false))
    }

    /// The kind of the next value.
    ///
    /// # Errors
    /// Text that is no JSON, here and in all that follows; and what the system says.
    pub fn peek(&mut self) -> Result<Kind> {
        let kind = self.inner.peek().map_err(|e| error(&self.name, e))?;
        Ok(match kind {
            ValueType::Array => Kind::Array,
            ValueType::Object => Kind::Object,
            ValueType::String => Kind::Text,
            ValueType::Number => Kind::Number,
            ValueType::Boolean => Kind::Bool,
            ValueType::Null => Kind::Null,
        })
    }

    /// Enters an object.
    ///
    /// # Errors
    /// Something else comes next.
    pub fn begin_object(&mut self) -> Result<()> {
        self.inner.begin_object().map_err(|e| error(&self.name, e))
    }

    /// Puts the next key of the object into `key`, or leaves the object at its end.
    ///
    /// # Errors
    /// Those of [`Json::peek`].
    pub fn next_key(&mut self, key: &mut String) -> Result<bool> {
        key.clear();
        let more = self.inner.has_next().map_err(|e| error(&self.name, e))?;
        if more {
            key.push_str(self.inner.next_name().map_err(|e| error(&self.name, e))?);
        } else {
            self.inner.end_object().map_err(|e| error(&self.name, e))?;
        }
        Ok(more)
    }

    /// Enters an array.
    ///
    /// # Errors
    /// Something else comes next.
    pub fn begin_array(&mut self) -> Result<()> {
        self.inner.begin_array().map_err(|e| error(&self.name, e))
    }

    /// Returns whether the array goes on; leaves it at its end.
    ///
    /// # Errors
    /// Those of [`Json::peek`].
    pub fn next_item(&mut self) -> Result<bool> {
        let more = self.inner.has_next().map_err(|e| error(&self.name, e))?;
        if !more {
            self.inner.end_array().map_err(|e| error(&self.name, e))?;
        }
        Ok(more)
    }

    /// [`Json::next_item`] for an outermost array that is not closed: a trace is written as it
    /// is recorded, and its specification allows that.
    ///
    /// # Errors
    /// Those of [`Json::peek`].
    pub fn next_item_or_end(&mut self) -> Result<bool> {
        match self.inner.has_next() {
            Ok(true) => Ok(true),
            Ok(false) => self.inner.end_array().map(|()| false).map_err(|e| error(&self.name, e)),
            Err(ReaderError::SyntaxError(syntax)) if is_end(&syntax) => Ok(false),
            Err(e) => Err(error(&self.name, e)),
        }
    }

    /// Returns whether another document follows the one just read, as in lines of JSON. Not to be asked
    /// before the first.
    ///
    /// # Errors
    /// Those of [`Json::peek`].
    pub fn next_document(&mut self) -> Result<bool> {
        self.inner.has_next().map_err(|e| error(&self.name, e))
    }

    /// After the one document that a format has: says so if there is another, as behind a `cat` of
    /// several files, whose samples would be missed.
    pub fn end(&mut self, report: &mut Report) {
        if matches!(self.inner.has_next(), Ok(true)) {
            report
                .warn("a second JSON document follows the first and is left out; give several files instead");
        }
    }

    /// Passes over a value of any kind.
    ///
    /// # Errors
    /// Those of [`Json::peek`].
    pub fn skip(&mut self) -> Result<()> {
        self.inner.skip_value().map_err(|e| error(&self.name, e))
    }

    /// Takes a `null`, if one is next.
    ///
    /// # Errors
    /// Those of [`Json::peek`].
    pub fn null(&mut self) -> Result<bool> {
        let null = self.peek()? == Kind::Null;
        if null {
            self.inner.next_null().map_err(|e| error(&self.name, e))?;
        }
        Ok(null)
    }

    /// Reads an object, or null: `field` has to take the value of each key.
    ///
    /// # Errors
    /// Those of reading, and of `field`.
    pub fn object_or_null(&mut self, mut field: impl FnMut(&mut Json, &str) -> Result<()>) -> Result<()> {
        if self.null()? {
            return Ok(());
        }
        let mut key = String::new();
        self.begin_object()?;
        while self.next_key(&mut key)? {
            field(self, &key)?;
        }
        Ok(())
    }

    /// Reads an array, or null: `item` has to take each item.
    ///
    /// # Errors
    /// Those of reading, and of `item`.
    pub fn array_or_null(&mut self, mut item: impl FnMut(&mut Json) -> Result<()>) -> Result<()> {
        if self.null()? {
            return Ok(());
        }
        self.begin_array()?;
        while self.next_item()? {
            item(self)?;
        }
        Ok(())
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// Something else comes next.
    pub fn bool(&mut self) -> Result<bool> {
        self.inner.next_bool().map_err(|e| error(&self.name, e))
    }

    /// A text, or a `null`, which is an empty one.
    ///
    /// # Errors
    /// Something else comes next.
    pub fn text(&mut self) -> Result<&str> {
        if self.null()? { Ok("") } else { self.inner.next_str().map_err(|e| error(&self.name, e)) }
    }

    /// The text of a number or a text, for fields that writers disagree on.
    ///
    /// # Errors
    /// Something else comes next.
    pub fn text_or_number(&mut self) -> Result<&str> {
        match self.peek()? {
            Kind::Number => self.inner.next_number_as_str().map_err(|e| error(&self.name, e)),
            _ => self.text(),
        }
    }

    /// A number, exactly as it is written.
    ///
    /// # Errors
    /// Something else comes next, or a number of more digits than a weight holds.
    pub fn weight(&mut self) -> Result<Weight> {
        let text = self.inner.next_number_as_str().map_err(|e| error(&self.name, e))?;
        match parse_number(text) {
            Some(weight) => Ok(weight),
            None => {
                let found = Error::malformed("a number of at most 38 digits", text.as_bytes());
                Err(found.at(self.place()))
            }
        }
    }

    /// A whole number.
    ///
    /// # Errors
    /// Something else comes next.
    pub fn integer(&mut self) -> Result<i64> {
        let text = self.inner.next_number_as_str().map_err(|e| error(&self.name, e))?;
        match text.parse() {
            Ok(number) => Ok(number),
            Err(_) => {
                let found = Error::malformed("a whole number", text.as_bytes());
                Err(found.at(self.place()))
            }
        }
    }

    /// The index of an entry of a table, or `None` for a `null` or what is below zero.
    ///
    /// # Errors
    /// Something else comes next.
    pub fn index(&mut self) -> Result<Option<usize>> {
        if self.null()? { Ok(None) } else { Ok(usize::try_from(self.integer()?).ok()) }
    }

    /// A node with its children, and theirs, in arrays below the key `children`: however deep they
    /// nest, this does not recurse.
    ///
    /// # Errors
    /// Those of `nodes`, and something else comes next.
    pub fn tree(&mut self, children: &str, nodes: &mut dyn Nodes) -> Result<()> {
        let mut key = String::new();
        self.begin_object()?;
        let mut open = vec![nodes.begin(None)];
        while let Some(&node) = open.last() {
            let mut child = false;
            if self.next_key(&mut key)? {
                if key != children {
                    nodes.field(self, &key, node)?;
                } else if !self.null()? {
                    self.begin_array()?;
                    child = self.next_item()?;
                }
            } else {
                open.pop();
                child = !open.is_empty() && self.next_item()?;
            }
            if child {
                self.begin_object()?;
                open.push(nodes.begin(open.last().copied()));
            }
        }
        Ok(())
    }

    /// An entry of a table that is not there.
    pub fn no_entry(&self, table: &str, index: usize, len: usize) -> Error {
        Error::malformed(format!("one of the {len} {table}"), index.to_string().as_bytes()).at(self.place())
    }
}

fn is_end(syntax: &JsonSyntaxError) -> bool {
    matches!(syntax.kind, SyntaxErrorKind::IncompleteDocument)
}

fn at(name: &Arc<str>, position: &JsonReaderPosition) -> Position {
    Position { byte: position.data_pos, ..Position::file(name.clone()) }
}

/// The expectation in the message of a mistake of syntax.
const SYNTAX: &str = "JSON";
/// The expectation in the message of a mistake of encoding.
const UTF_8: &str = "text in UTF-8";

fn error(name: &Arc<str>, source: ReaderError) -> Error {
    match source {
        ReaderError::IoError { error, location }
            if error.kind() == io::ErrorKind::InvalidData && error.to_string() == "invalid UTF-8 data" =>
        {
            Error::malformed(UTF_8, b"other bytes").at(at(name, &location))
        }
        ReaderError::IoError { error, .. } => {
            crate::input::read_error(error).or_at(|| Position::file(name.clone()))
        }
        ReaderError::SyntaxError(syntax) => {
            let found = match syntax.kind {
                SyntaxErrorKind::IncompleteDocument => "the end of the input".to_owned(),
                kind => words(&kind.to_string()),
            };
            malformed(SYNTAX, found).at(at(name, &syntax.location))
        }
        ReaderError::UnexpectedValueType { expected, actual, location } => {
            malformed(kind_name(expected), kind_name(actual).into()).at(at(name, &location))
        }
        ReaderError::UnexpectedStructure { kind, location } => {
            malformed("more of it", words(&kind.to_string())).at(at(name, &location))
        }
        ReaderError::MaxNestingDepthExceeded { location, .. } => {
            malformed("brackets of a sensible depth", format!("more than {DEEPEST}")).at(at(name, &location))
        }
        ReaderError::UnsupportedNumberValue { number, location } => {
            Error::malformed("a number of sensible size", number.as_bytes()).at(at(name, &location))
        }
        other => malformed(SYNTAX, crate::error::excerpt(other.to_string().as_bytes()))
            .at(Position::file(name.clone())),
    }
}

/// [`Error::malformed`] for something of our own making, without quotes.
fn malformed(expected: &str, found: String) -> Error {
    ErrorKind::Malformed { expected: expected.into(), found }.into()
}

/// `MalformedNumber` as words.
fn words(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars().take(80) {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push(' ');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

fn kind_name(kind: ValueType) -> &'static str {
    match kind {
        ValueType::Array => "an array",
        ValueType::Object => "an object",
        ValueType::String => "a text",
        ValueType::Number => "a number",
        ValueType::Boolean => "a boolean",
        ValueType::Null => "null",
    }
}

/// A JSON number as a weight: `1.5e-3` is 0.0015, exactly. Zeros at the end of a fraction and in
/// front do not count as digits.
pub fn parse_number(text: &str) -> Option<Weight> {
    let Some(e) = text.find(['e', 'E']) else { return Weight::parse(text.as_bytes()) };
    let exponent: i32 = text[e + 1..].parse().ok()?;
    let (sign, digits) = match text[..e].strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", &text[..e]),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    let point = i32::try_from(whole.len()).ok()? + exponent;
    let shifted = if !(-100..=200).contains(&point) {
        return all.bytes().all(|b| b == b'0').then_some(Weight::ZERO);
    } else if point <= 0 {
        format!("{sign}0.{}{all}", "0".repeat(point.unsigned_abs() as usize))
    } else {
        let point = point as usize;
        let padded = format!("{all:0<point$}");
        match padded.split_at(point) {
            (whole, "") => format!("{sign}{whole}"),
            (whole, fraction) => format!("{sign}{whole}.{fraction}"),
        }
    };
    Weight::parse(shifted.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::new(Input::new("test", Box::new(io::Cursor::new(text.as_bytes().to_vec()))).unwrap())
    }

    #[test]
    fn numbers_are_exact() {
        for (text, weight) in [
            ("12", "12"),
            ("-0.25", "-0.25"),
            ("1.5e-3", "0.0015"),
            ("1.5E3", "1500"),
            ("2e+2", "200"),
            ("12.5e1", "125"),
            ("-7e-2", "-0.07"),
            ("0e99", "0"),
            ("0.30000000000000004", "0.30000000000000004"),
        ] {
            assert_eq!(parse_number(text).map(|w| w.to_string()).as_deref(), Some(weight), "{text}");
            assert_eq!(json(text).weight().unwrap().to_string(), weight);
        }
        for text in ["1e99", "923456789012345678901234567890123456789"] {
            assert!(json(text).weight().is_err(), "{text}");
        }
    }

    #[test]
    fn errors_name_the_byte() {
        let read = |text: &str| -> Result<i64> {
            let mut json = json(text);
            let mut key = String::new();
            let mut sum = 0;
            json.begin_object()?;
            while json.next_key(&mut key)? {
                if key == "n" { sum += json.integer()? } else { json.skip()? }
            }
            Ok(sum)
        };
        assert_eq!(read(r#"{"n":1,"x":{"n":[5]},"n":2}"#).unwrap(), 3);
        for (text, message) in [
            (r#"{"n":"#, "test: byte 5: expected JSON, found the end of the input"),
            (r#"{"n":"a"}"#, "test: byte 5: expected a number, found a text"),
            (r#"{"n":1.5}"#, "test: byte 8: expected a whole number, found \"1.5\""),
            (r#"[]"#, "test: byte 0: expected an object, found an array"),
            (r#"{"n":1 "x":2}"#, "test: byte 7: expected JSON, found missing comma"),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn text_that_is_not_utf_8_is_placed() {
        let bytes = b"{\"a\":\"x\xff\"}".to_vec();
        let input = Input::new("test", Box::new(std::io::Cursor::new(bytes))).unwrap();
        let error = Json::new(input).skip().unwrap_err().to_string();
        assert!(error.starts_with("test: byte 7: expected text in UTF-8"), "{error}");
    }

    #[test]
    fn trees_may_be_of_any_depth_and_order() {
        struct Sums(Vec<(Option<usize>, i64)>);
        impl Nodes for Sums {
            fn begin(&mut self, above: Option<usize>) -> usize {
                self.0.push((above, 0));
                self.0.len() - 1
            }
            fn field(&mut self, json: &mut Json, key: &str, node: usize) -> Result<()> {
                match key {
                    "n" => self.0[node].1 = json.integer()?,
                    _ => json.skip()?,
                }
                Ok(())
            }
        }
        let mut sums = Sums(Vec::new());
        let text = r#"{"c":[{"n":2,"c":[]},{"c":null,"n":3,"x":[{}]},{"c":[{"n":5}]}],"n":1}"#;
        json(text).tree("c", &mut sums).unwrap();
        assert_eq!(sums.0, [(None, 1), (Some(0), 2), (Some(0), 3), (Some(0), 0), (Some(3), 5)]);
        let deep = format!("{}{}", r#"{"c":["#.repeat(50_000), "]}".repeat(50_000));
        assert!(json(&deep.replace("[]", "[{}]")).tree("c", &mut Sums(Vec::new())).is_ok());
    }

    #[test]
    fn brackets_without_end_are_refused() {
        let deep = "[".repeat(1 + DEEPEST as usize);
        assert!(json(&deep).skip().is_err());
    }
}

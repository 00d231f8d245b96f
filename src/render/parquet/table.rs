//! Columns on their way into a Parquet file, with the levels of what is nested and missing.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use parquet::basic::{Compression, Encoding, Type as Physical, ZstdLevel};
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use crate::error::{Error, ErrorKind, Result};
use crate::folded::Interner;
use crate::weight::Weight;

/// Rows and frames of a row group: a frame takes 130 bytes of memory, and a dictionary pays with fewer.
pub(crate) const ROWS: usize = 128 * 1024;
const FRAMES: usize = 1 << 19;
/// Bytes of a page before compression, which finds what repeats within one.
const PAGE: usize = 8 << 20;
/// The digits of a decimal of 16 bytes.
pub(crate) const DIGITS: u32 = 38;

/// The columns of a map of labels, as a schema has them.
pub(crate) const LABELS: &str = "REQUIRED GROUP labels (MAP) {
    REPEATED GROUP key_value { REQUIRED BINARY key (STRING); REQUIRED BINARY value (STRING); }
}";

/// The columns of a stack, as a schema has them.
pub(crate) const STACK: &str = "REQUIRED GROUP stack (LIST) {
    REPEATED GROUP list {
        REQUIRED GROUP element {
            REQUIRED BINARY function (STRING);
            OPTIONAL BINARY file (STRING);
            OPTIONAL INT64 line;
            OPTIONAL BINARY module (STRING);
        }
    }
}";

/// A column of weights, as a schema has it.
pub(crate) fn weight_column(name: &str, decimals: u8) -> String {
    format!("REQUIRED FIXED_LEN_BYTE_ARRAY(16) {name} (DECIMAL({DIGITS},{decimals}));")
}

/// A frame of a row; empty and 0 is unknown.
#[derive(Clone, Copy)]
pub(crate) struct FrameRow<'a> {
    pub function: &'a [u8],
    pub file: &'a [u8],
    pub line: u32,
    pub module: &'a [u8],
}

/// A column: values, and levels where it may be missing or repeated.
struct Column<T> {
    values: Vec<T>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Column { values: Vec::new(), definitions: Vec::new(), repetitions: Vec::new() }
    }
}

impl<T> Column<T> {
    /// Adds a value, or a place without one, at these levels.
    fn push(&mut self, value: Option<T>, definition: i16, repetition: i16) {
        self.values.extend(value);
        self.definitions.push(definition);
        self.repetitions.push(repetition);
    }
}

impl<T: Typed> Column<T> {
    /// Writes the column, and empties it.
    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<()> {
        let levels =
            [&self.definitions, &self.repetitions].map(|levels| Some(&levels[..]).filter(|l| !l.is_empty()));
        let [definitions, repetitions] = levels;
        writer.typed::<T::Type>().write_batch(&self.values, definitions, repetitions).map_err(failed)?;
        self.values.clear();
        self.definitions.clear();
        self.repetitions.clear();
        Ok(())
    }
}

/// A value that Parquet has a type for.
trait Typed: Sized {
    type Type: DataType<T = Self>;
}

impl Typed for i64 {
    type Type = Int64Type;
}

impl Typed for ByteArray {
    type Type = ByteArrayType;
}

impl Typed for FixedLenByteArray {
    type Type = FixedLenByteArrayType;
}

/// A column of one of the types that our tables have.
enum Leaf {
    Number(Column<i64>),
    Text(Column<ByteArray>),
    Weight(Column<FixedLenByteArray>),
}

/// The bytes that were written and have not been handed on.
#[derive(Clone, Default)]
struct Bytes(Arc<Mutex<Vec<u8>>>);

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no thread panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Texts as Parquet holds them, each in memory once.
#[derive(Default)]
struct Texts {
    numbers: Interner,
    texts: Vec<ByteArray>,
}

impl Texts {
    fn get(&mut self, text: &[u8]) -> ByteArray {
        let number = self.numbers.key(text) as usize;
        if number == self.texts.len() {
            // Readers refuse text that is not UTF-8.
            self.texts.push(String::from_utf8_lossy(text).into_owned().into_bytes().into());
        }
        self.texts[number].clone()
    }
}

/// Writes rows. Columns are named by their numbers among the leaves of the schema.
pub(crate) struct Table<'a> {
    out: Box<dyn Write + 'a>,
    bytes: Bytes,
    writer: SerializedFileWriter<Bytes>,
    texts: Texts,
    leaves: Vec<Leaf>,
    decimals: u8,
    rows: usize,
    frames: usize,
}

impl<'a> Table<'a> {
    /// Begins a table of these columns, in Parquet's own language of schemas, whose weights have so many decimals.
    ///
    /// # Errors
    /// Those of Parquet.
    pub(crate) fn new(
        columns: &str,
        decimals: u8,
        metadata: Vec<(&'static str, String)>,
        out: Box<dyn Write + 'a>,
    ) -> Result<Table<'a>> {
        let schema = parse_message_type(&format!("message profile {{ {columns} }}")).map_err(failed)?;
        let metadata = metadata.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value));
        let level = ZstdLevel::try_new(3).map_err(failed)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            // Times differ from row to row, by little where rows are those of one stack.
            .set_column_dictionary_enabled(ColumnPath::from("time"), false)
            .set_column_encoding(ColumnPath::from("time"), Encoding::DELTA_BINARY_PACKED)
            .set_data_page_size_limit(PAGE)
            .set_created_by(concat!("fg-tools ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(metadata.collect()))
            .build();
        let bytes = Bytes::default();
        let writer = SerializedFileWriter::new(bytes.clone(), Arc::new(schema), Arc::new(properties));
        let writer = writer.map_err(failed)?;
        let leaves = writer.schema_descr().columns().iter().map(|leaf| match leaf.physical_type() {
            Physical::INT64 => Leaf::Number(Column::default()),
            Physical::BYTE_ARRAY => Leaf::Text(Column::default()),
            _ => Leaf::Weight(Column::default()),
        });
        let leaves = leaves.collect();
        Ok(Table { out, bytes, writer, texts: Texts::default(), leaves, decimals, rows: 0, frames: 0 })
    }

    fn numbers(&mut self, at: usize) -> &mut Column<i64> {
        match &mut self.leaves[at] {
            Leaf::Number(column) => column,
            _ => unreachable!("the schema says which column holds numbers"),
        }
    }

    fn texts(&mut self, at: usize) -> &mut Column<ByteArray> {
        match &mut self.leaves[at] {
            Leaf::Text(column) => column,
            _ => unreachable!("the schema says which column holds texts"),
        }
    }

    /// A number that there may be, such as a time.
    pub(crate) fn maybe_number(&mut self, at: usize, number: Option<i64>) {
        let column = self.numbers(at);
        column.values.extend(number);
        column.definitions.push(i16::from(number.is_some()));
    }

    /// A number that each row has.
    pub(crate) fn push_number(&mut self, at: usize, number: i64) {
        self.numbers(at).values.push(number);
    }

    /// A text that there may be.
    pub(crate) fn maybe_text(&mut self, at: usize, text: Option<&[u8]>) {
        let text = text.map(|text| self.texts.get(text));
        let column = self.texts(at);
        column.definitions.push(i16::from(text.is_some()));
        column.values.extend(text);
    }

    /// A text that each row has.
    pub(crate) fn text(&mut self, at: usize, text: &[u8]) {
        let text = self.texts.get(text);
        self.texts(at).values.push(text);
    }

    /// A weight.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`] for one that the column cannot hold.
    pub(crate) fn weight(&mut self, at: usize, weight: Weight) -> Result<()> {
        let units = weight.in_steps(self.decimals)?;
        if units.unsigned_abs() >= 10u128.pow(DIGITS) {
            return Err(ErrorKind::Overflow.into());
        }
        match &mut self.leaves[at] {
            Leaf::Weight(column) => column.values.push(units.to_be_bytes().to_vec().into()),
            _ => unreachable!("the schema says which column holds weights"),
        }
        Ok(())
    }

    /// The two columns of [`LABELS`].
    pub(crate) fn labels<'l>(&mut self, at: usize, labels: impl Iterator<Item = (&'l [u8], &'l [u8])>) {
        let mut repetition = 0;
        for (key, value) in labels {
            let (key, value) = (self.texts.get(key), self.texts.get(value));
            self.texts(at).push(Some(key), 1, repetition);
            self.texts(at + 1).push(Some(value), 1, repetition);
            repetition = 1;
        }
        if repetition == 0 {
            self.texts(at).push(None, 0, 0);
            self.texts(at + 1).push(None, 0, 0);
        }
    }

    /// The four columns of [`STACK`], from the root on.
    pub(crate) fn stack<'f>(&mut self, at: usize, frames: impl Iterator<Item = FrameRow<'f>>) {
        let mut repetition = 0;
        for frame in frames {
            let function = self.texts.get(frame.function);
            self.texts(at).push(Some(function), 1, repetition);
            for (at, text) in [(at + 1, frame.file), (at + 3, frame.module)] {
                let text = (!text.is_empty()).then(|| self.texts.get(text));
                let definition = 1 + i16::from(text.is_some());
                self.texts(at).push(text, definition, repetition);
            }
            let line = (frame.line > 0).then_some(i64::from(frame.line));
            self.numbers(at + 2).push(line, 1 + i16::from(line.is_some()), repetition);
            repetition = 1;
            self.frames += 1;
        }
        if repetition == 0 {
            self.texts(at).push(None, 0, 0);
            self.texts(at + 1).push(None, 0, 0);
            self.numbers(at + 2).push(None, 0, 0);
            self.texts(at + 3).push(None, 0, 0);
        }
    }

    /// Ends a row, whose columns have all been given.
    ///
    /// # Errors
    /// Those of writing.
    pub(crate) fn end_row(&mut self) -> Result<()> {
        self.rows += 1;
        if self.rows >= ROWS || self.frames >= FRAMES { self.end_group() } else { Ok(()) }
    }

    /// Writes the rows that are in memory as a row group.
    ///
    /// # Errors
    /// Those of writing.
    pub(crate) fn end_group(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group().map_err(failed)?;
        let mut leaves = self.leaves.iter_mut();
        // In the order of the schema.
        while let Some(mut column) = group.next_column().map_err(failed)? {
            match leaves.next().expect("there is one for each column") {
                Leaf::Number(leaf) => leaf.write(&mut column),
                Leaf::Text(leaf) => leaf.write(&mut column),
                Leaf::Weight(leaf) => leaf.write(&mut column),
            }?;
            column.close().map_err(failed)?;
        }
        group.close().map_err(failed)?;
        (self.rows, self.frames) = (0, 0);
        self.hand_on()
    }

    fn hand_on(&mut self) -> Result<()> {
        let bytes = std::mem::take(&mut *self.bytes.0.lock().expect("no thread panics"));
        self.out.write_all(&bytes).map_err(Error::from)
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// Those of writing.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.end_group()?;
        self.writer.finish().map_err(failed)?;
        self.hand_on()
    }
}

fn failed(error: ParquetError) -> Error {
    Error::io("write Parquet", io::Error::other(error.to_string()))
}

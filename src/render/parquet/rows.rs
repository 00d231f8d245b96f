//! Rows on their way into a Parquet file: their columns, with the levels of what is nested and missing.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use parquet::basic::{Compression, Encoding, ZstdLevel};
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
use crate::render::Target;
use crate::weight::Weight;

/// Rows and frames of a row group: some megabytes in memory, and enough for a dictionary to pay.
pub(super) const ROWS: usize = 128 * 1024;
const FRAMES: usize = 4 << 20;
/// Bytes of a page before compression, which finds what repeats within one.
const PAGE: usize = 8 << 20;
/// The digits of a decimal of 16 bytes.
const DIGITS: u32 = 38;

/// A frame of a row; empty and 0 is unknown.
pub(super) struct FrameRow<'a> {
    pub function: &'a [u8],
    pub file: &'a [u8],
    pub line: u32,
    pub module: &'a [u8],
}

/// A row without its frames.
pub(super) struct Row<'a> {
    /// Nanoseconds since 1970.
    pub time: Option<i64>,
    pub labels: &'a [(&'a [u8], &'a [u8])],
    pub weight: Weight,
}

/// The facts that all rows share.
pub(super) struct Shared {
    /// The number of decimals of every weight.
    pub decimals: u8,
    /// Keys and values beside the rows.
    pub metadata: Vec<(&'static str, String)>,
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

/// Writes rows.
pub(super) struct Rows<'a> {
    target: &'a mut dyn Target,
    bytes: Bytes,
    writer: SerializedFileWriter<Bytes>,
    texts: Texts,
    value_type: ByteArray,
    unit: Option<ByteArray>,
    decimals: u8,
    rows: usize,
    time: Column<i64>,
    service: Column<ByteArray>,
    keys: Column<ByteArray>,
    values: Column<ByteArray>,
    function: Column<ByteArray>,
    file: Column<ByteArray>,
    line: Column<i64>,
    module: Column<ByteArray>,
    weight: Column<FixedLenByteArray>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(shared: Shared, target: &'a mut dyn Target) -> Result<Rows<'a>> {
        let schema = format!(
            "message profile {{
                OPTIONAL INT64 time (TIMESTAMP(NANOS,true));
                OPTIONAL BINARY service (STRING);
                REQUIRED GROUP labels (MAP) {{
                    REPEATED GROUP key_value {{
                        REQUIRED BINARY key (STRING);
                        REQUIRED BINARY value (STRING);
                    }}
                }}
                REQUIRED BINARY value_type (STRING);
                OPTIONAL BINARY unit (STRING);
                REQUIRED GROUP stack (LIST) {{
                    REPEATED GROUP list {{
                        REQUIRED GROUP element {{
                            REQUIRED BINARY function (STRING);
                            OPTIONAL BINARY file (STRING);
                            OPTIONAL INT64 line;
                            OPTIONAL BINARY module (STRING);
                        }}
                    }}
                }}
                REQUIRED FIXED_LEN_BYTE_ARRAY(16) weight (DECIMAL({DIGITS},{}));
            }}",
            shared.decimals
        );
        let schema = Arc::new(parse_message_type(&schema).map_err(failed)?);
        let metadata = shared.metadata.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value));
        let level = ZstdLevel::try_new(3).map_err(failed)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            // Times differ from row to row, by little where rows are those of one stack.
            .set_column_dictionary_enabled(ColumnPath::from("time"), false)
            .set_column_encoding(ColumnPath::from("time"), Encoding::DELTA_BINARY_PACKED)
            .set_data_page_size_limit(PAGE)
            .set_created_by(concat!("fg-render ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(metadata.collect()))
            .build();
        let bytes = Bytes::default();
        let writer =
            SerializedFileWriter::new(bytes.clone(), schema, Arc::new(properties)).map_err(failed)?;
        Ok(Rows {
            target,
            bytes,
            writer,
            value_type: ByteArray::from(""),
            unit: None,
            texts: Texts::default(),
            decimals: shared.decimals,
            rows: 0,
            time: Column::default(),
            service: Column::default(),
            keys: Column::default(),
            values: Column::default(),
            function: Column::default(),
            file: Column::default(),
            line: Column::default(),
            module: Column::default(),
            weight: Column::default(),
        })
    }

    /// Begins the rows of a value, in a row group of their own.
    pub(super) fn begin_value(&mut self, value_type: &str, unit: Option<&str>) -> Result<()> {
        self.end_group()?;
        self.value_type = self.texts.get(value_type.as_bytes());
        self.unit = unit.map(|unit| self.texts.get(unit.as_bytes()));
        Ok(())
    }

    /// Adds a row, with its frames from the root on.
    pub(super) fn push<'f>(
        &mut self,
        row: &Row<'_>,
        frames: impl Iterator<Item = FrameRow<'f>>,
    ) -> Result<()> {
        let units = row.weight.in_steps(self.decimals)?;
        if units.unsigned_abs() >= 10u128.pow(DIGITS) {
            return Err(ErrorKind::Overflow.into());
        }
        self.weight.values.push(units.to_be_bytes().to_vec().into());
        self.time.values.extend(row.time);
        self.time.definitions.push(i16::from(row.time.is_some()));
        let service =
            row.labels.iter().find(|(key, _)| matches!(*key, b"service" | b"service.name" | b"service_name"));
        self.service.values.extend(service.map(|(_, value)| self.texts.get(value)));
        self.service.definitions.push(i16::from(service.is_some()));
        for (at, (key, value)) in row.labels.iter().enumerate() {
            let repetition = i16::from(at > 0);
            self.keys.push(Some(self.texts.get(key)), 1, repetition);
            self.values.push(Some(self.texts.get(value)), 1, repetition);
        }
        if row.labels.is_empty() {
            self.keys.push(None, 0, 0);
            self.values.push(None, 0, 0);
        }
        let mut repetition = 0;
        for frame in frames {
            self.function.push(Some(self.texts.get(frame.function)), 1, repetition);
            for (column, text) in [(&mut self.file, frame.file), (&mut self.module, frame.module)] {
                let text = (!text.is_empty()).then(|| self.texts.get(text));
                let definition = 1 + i16::from(text.is_some());
                column.push(text, definition, repetition);
            }
            let line = (frame.line > 0).then_some(i64::from(frame.line));
            self.line.push(line, 1 + i16::from(line.is_some()), repetition);
            repetition = 1;
        }
        if repetition == 0 {
            self.function.push(None, 0, 0);
            self.file.push(None, 0, 0);
            self.line.push(None, 0, 0);
            self.module.push(None, 0, 0);
        }
        self.rows += 1;
        if self.rows >= ROWS || self.function.values.len() >= FRAMES { self.end_group() } else { Ok(()) }
    }

    /// Writes the rows that are in memory as a row group.
    fn end_group(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut value_type = Column { values: vec![self.value_type.clone(); self.rows], ..Column::default() };
        let mut unit = Column::default();
        unit.definitions.resize(self.rows, i16::from(self.unit.is_some()));
        if let Some(text) = &self.unit {
            unit.values.resize(self.rows, text.clone());
        }
        let mut group = self.writer.next_row_group().map_err(failed)?;
        let mut at = 0;
        // In the order of the schema.
        while let Some(mut column) = group.next_column().map_err(failed)? {
            match at {
                0 => self.time.write(&mut column),
                1 => self.service.write(&mut column),
                2 => self.keys.write(&mut column),
                3 => self.values.write(&mut column),
                4 => value_type.write(&mut column),
                5 => unit.write(&mut column),
                6 => self.function.write(&mut column),
                7 => self.file.write(&mut column),
                8 => self.line.write(&mut column),
                9 => self.module.write(&mut column),
                _ => self.weight.write(&mut column),
            }?;
            column.close().map_err(failed)?;
            at += 1;
        }
        group.close().map_err(failed)?;
        self.rows = 0;
        self.hand_on()
    }

    fn hand_on(&mut self) -> Result<()> {
        let bytes = std::mem::take(&mut *self.bytes.0.lock().expect("no thread panics"));
        self.target.write_all(&bytes).map_err(Error::from)
    }

    /// Writes what is left.
    pub(super) fn finish(mut self) -> Result<()> {
        self.end_group()?;
        self.writer.finish().map_err(failed)?;
        self.hand_on()
    }
}

fn failed(error: ParquetError) -> Error {
    Error::io("write Parquet", io::Error::other(error.to_string()))
}

//! Rows of Parquet, as `fg-render --format parquet` writes them, and data bases after it.
//!
//! ```text
//! time: timestamp  labels: map<text, text>  value_type: text  unit: text
//! stack: list<struct<function: text, file: text, line: int64, module: text>>  weight: decimal(38, 0)
//! ```
//! `stack` and `weight` have to be there; a stack may be a list of texts, a weight any number. Other columns are
//! not read. Written by ourselves, the file says beside the rows what it knows: see `render/parquet`.
//! Specified at parquet.apache.org/docs/file-format.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};

use parquet::basic::{ConvertedType, Type as Physical};
use parquet::data_type::Decimal;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use parquet::schema::types::Type;

use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
    Value,
};
use crate::error::{Error, Result, excerpt};
use crate::folded::{FrameId, Place};
use crate::input::Input;
use crate::number;
use crate::profile::{TIME, header};
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "parquet",
    producer: "fg-render --format parquet, DuckDB, Spark, PyArrow",
    tested: Tested::Seen("DuckDB 2.0, PyArrow 26"),
    values: "those of `value_type`",
    unit: "what `unit` says",
};

/// The columns that are read.
const COLUMNS: [&str; 7] = ["time", "service", "labels", "value_type", "unit", "stack", "weight"];

/// Collapses rows of Parquet.
pub struct Parquet;

impl Collapser for Parquet {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "rows", clock: None, labels: "what the table has" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        Certainty::of_magic(head.starts_with(b"PAR1"))
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let file = match input.file() {
            Some((file, 0)) => Some(file.try_clone()?),
            _ => None,
        };
        let read = || match file {
            Some(file) => read(file, reading, sink, report),
            None => read(bytes::Bytes::from(input.read_all()?), reading, sink, report),
        };
        guarded(read)
    }
}

/// Reads Parquet: the library refuses most damaged files with an error, and some by a panic.
///
/// # Errors
/// Those of `read`, and one of damage for a panic.
pub(crate) fn guarded<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    quietly(read).unwrap_or_else(|| Err(damaged("a file that contradicts itself")))
}

thread_local! {
    /// A panic of this thread is an error of the file.
    static IS_READING: Cell<bool> = const { Cell::new(false) };
}

/// Runs what may panic; `None` if it does, without a message on standard error.
fn quietly<T>(run: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !IS_READING.get() {
                others(panic);
            }
        }));
    });
    IS_READING.set(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    IS_READING.set(false);
    result.ok()
}

fn damaged(what: &str) -> Error {
    Error::malformed("Parquet data", what.as_bytes())
}

/// An error of the library.
pub(crate) fn failed(error: ParquetError) -> Error {
    damaged(&error.to_string())
}

fn read<R: ChunkReader + 'static>(
    file: R,
    options: &CollapseOptions,
    sink: &mut dyn Sink,
    report: &mut Report,
) -> Result<()> {
    let reader = SerializedFileReader::new(file).map_err(failed)?;
    let metadata = reader.metadata().file_metadata();
    let stated = |wanted: &str| {
        let pairs = metadata.key_value_metadata()?.iter();
        pairs.filter(|pair| pair.key == wanted).find_map(|pair| pair.value.as_deref())
    };
    report.facts = header::read(stated("fg-tools.facts").unwrap_or_default().as_bytes())?;
    let offset = stated("fg-tools.time-offset").and_then(|text| text.parse().ok()).unwrap_or(0);
    let schema = metadata.schema();
    let declared = declared(&reader, schema)?;
    let projection = project(schema, &COLUMNS)?;
    let names: Vec<&str> = projection.get_fields().iter().map(|field| field.name()).collect();
    if let Some(missing) = ["stack", "weight"].into_iter().find(|name| !names.contains(name)) {
        return Err(Error::malformed(format!("a column {missing:?}"), b"a table without it"));
    }
    let mut frame_labels = report.facts.labels.clone();
    // Times are no frames: they are in a column.
    frame_labels.retain(|key| key != TIME);
    report.facts.labels.clone_from(&frame_labels);
    let values = Values::new(options, declared.clone(), 0)?;
    let mut rows =
        Rows { declared, values, frame_labels, offset, names: FrameNames::default(), stack: Vec::new() };
    for row in reader.get_row_iter(Some(projection)).map_err(failed)? {
        rows.row(&row.map_err(failed)?, sink)?;
    }
    rows.values.finish(report)
}

/// The different values, in their order in the file.
fn declared<R: ChunkReader + 'static>(reader: &SerializedFileReader<R>, schema: &Type) -> Result<Vec<Value>> {
    let mut declared: Vec<Value> = Vec::new();
    let projection = project(schema, &["value_type", "unit"])?;
    if projection.get_fields().is_empty() {
        return Ok(vec![Value::default()]);
    }
    for row in reader.get_row_iter(Some(projection)).map_err(failed)? {
        let value = value_of(&row.map_err(failed)?);
        if !declared.contains(&value) {
            if declared.len() == MOST_VALUES {
                return Err(Error::malformed("few kinds of values", b"too many of them"));
            }
            declared.push(value);
        }
    }
    Ok(declared)
}

/// The most kinds of values.
const MOST_VALUES: usize = 1000;

fn value_of(row: &Row) -> Value {
    let text = |wanted: &str| {
        let field = row.get_column_iter().find(|(name, _)| *name == wanted)?.1;
        text_of(field)
    };
    let (name, unit) = (text("value_type").unwrap_or_default(), text("unit").unwrap_or_default());
    Value::with_producers_unit(name, &String::from_utf8_lossy(unit))
}

/// The part of a schema with these columns. Types that the library cannot convert are refused here.
fn project(schema: &Type, wanted: &[&str]) -> Result<Type> {
    let fields: Vec<Arc<Type>> =
        schema.get_fields().iter().filter(|field| wanted.contains(&field.name())).cloned().collect();
    fields.iter().try_for_each(|field| check(field, 0))?;
    Type::group_type_builder(schema.name()).with_fields(fields).build().map_err(failed)
}

fn check(field: &Type, depth: usize) -> Result<()> {
    let kind = field.get_basic_info().converted_type();
    if field.is_group() {
        let kinds =
            [ConvertedType::NONE, ConvertedType::LIST, ConvertedType::MAP, ConvertedType::MAP_KEY_VALUE];
        if depth > 4 || !kinds.contains(&kind) || field.get_fields().is_empty() {
            return Err(unknown(field));
        }
        return field.get_fields().iter().try_for_each(|field| check(field, depth + 1));
    }
    let is_number = matches!(kind, ConvertedType::NONE | ConvertedType::DECIMAL);
    let is_known = match field.get_physical_type() {
        Physical::INT32 => {
            is_number
                || matches!(
                    kind,
                    ConvertedType::INT_8
                        | ConvertedType::INT_16
                        | ConvertedType::INT_32
                        | ConvertedType::UINT_8
                        | ConvertedType::UINT_16
                        | ConvertedType::UINT_32
                )
        }
        Physical::INT64 => {
            is_number
                || matches!(
                    kind,
                    ConvertedType::INT_64
                        | ConvertedType::UINT_64
                        | ConvertedType::TIMESTAMP_MILLIS
                        | ConvertedType::TIMESTAMP_MICROS
                )
        }
        Physical::INT96 | Physical::DOUBLE => kind == ConvertedType::NONE,
        Physical::BYTE_ARRAY => is_number || kind == ConvertedType::UTF8,
        Physical::FIXED_LEN_BYTE_ARRAY => kind == ConvertedType::DECIMAL,
        Physical::BOOLEAN | Physical::FLOAT => false,
    };
    if is_known { Ok(()) } else { Err(unknown(field)) }
}

fn unknown(field: &Type) -> Error {
    let what = format!("the column {} is of a type that is not read here", excerpt(field.name().as_bytes()));
    Error::setting(what)
}

/// Rows being read.
struct Rows {
    declared: Vec<Value>,
    values: Values,
    /// The labels that become root frames again.
    frame_labels: Vec<String>,
    /// The distance of times from those of the recording's clock.
    offset: i64,
    names: FrameNames,
    stack: Vec<FrameId>,
}

impl Rows {
    fn row(&mut self, row: &Row, sink: &mut dyn Sink) -> Result<()> {
        let (mut time, mut service, mut weight) = (None, None, None);
        let mut labels: Vec<(&[u8], &[u8])> = Vec::new();
        let mut stack = None;
        for (name, field) in row.get_column_iter() {
            match name.as_str() {
                "time" => time = time_of(field),
                "service" => service = text_of(field),
                "labels" => labels = labels_of(field),
                "stack" => stack = Some(field),
                "weight" => weight = Some(field),
                _ => {}
            }
        }
        if let Some(service) = service.filter(|_| !labels.iter().any(|(_, value)| Some(*value) == service)) {
            labels.push((b"service", service));
        }
        let weight = weight.map_or(Ok(Weight::ZERO), weight_of)?;
        self.stack.clear();
        for key in &self.frame_labels {
            let value =
                labels.iter().find(|(own, _)| own == &key.as_bytes()).map_or(&b""[..], |(_, value)| value);
            self.stack.push(sink.frame(&Rows::label_frame(key, value)));
        }
        self.frames(stack.unwrap_or(&Field::Null), sink)?;
        if self.stack.len() == self.frame_labels.len() {
            self.stack.push(sink.frame(NO_STACK));
        }
        let mut context = Context {
            time: time.and_then(|time| u64::try_from(time.checked_sub(self.offset)?).ok()),
            ..Context::UNKNOWN
        };
        labels.retain(|(key, value)| {
            let number = || number::parse(value);
            match *key {
                b"thread" => context.thread_name = value,
                b"tid" => context.thread = number(),
                b"process" => context.process = number(),
                _ => return true,
            }
            false
        });
        context.labels = &labels;
        let value = value_of(row);
        let at = self.declared.iter().position(|known| *known == value).unwrap_or(0);
        self.values.add_at(at, &self.stack, weight, 1, &context, sink)
    }

    fn label_frame(key: &str, value: &[u8]) -> Vec<u8> {
        let mut frame = Vec::with_capacity(key.len() + value.len() + 1);
        frame.extend_from_slice(key.as_bytes());
        frame.push(b'=');
        crate::folded::sanitize_frame(value, &mut frame);
        frame
    }

    /// Adds the frames of a list.
    fn frames(&mut self, list: &Field, sink: &mut dyn Sink) -> Result<()> {
        let Field::ListInternal(list) = list else {
            return match list {
                Field::Null => Ok(()),
                _ => Err(Error::malformed("a list of frames in the column \"stack\"", b"something else")),
            };
        };
        for frame in list.elements() {
            let mut place = Place::default();
            let mut function: &[u8] = b"";
            match frame {
                Field::Group(parts) => {
                    for (name, part) in parts.get_column_iter() {
                        match (name.as_str(), part) {
                            ("function" | "name", part) => function = text_of(part).unwrap_or_default(),
                            ("file", part) => place.file = text_of(part).unwrap_or_default(),
                            ("module", part) => place.module = text_of(part).unwrap_or_default(),
                            ("line", Field::Long(line)) => place.line = u32::try_from(*line).unwrap_or(0),
                            ("line", Field::Int(line)) => place.line = u32::try_from(*line).unwrap_or(0),
                            _ => {}
                        }
                    }
                }
                text => function = text_of(text).unwrap_or_default(),
            }
            self.stack.push(self.names.plain_at(function, &place, sink));
        }
        Ok(())
    }
}

fn text_of(field: &Field) -> Option<&[u8]> {
    match field {
        Field::Str(text) => Some(text.as_bytes()),
        Field::Bytes(text) => Some(text.data()),
        _ => None,
    }
}

fn labels_of(field: &Field) -> Vec<(&[u8], &[u8])> {
    let Field::MapInternal(map) = field else { return Vec::new() };
    // A value may be missing.
    map.entries()
        .iter()
        .filter_map(|(key, value)| Some((text_of(key)?, text_of(value).unwrap_or_default())))
        .collect()
}

/// Nanoseconds since 1970.
fn time_of(field: &Field) -> Option<i64> {
    match field {
        Field::Long(nanos) => Some(*nanos),
        Field::TimestampMicros(micros) => micros.checked_mul(1_000),
        Field::TimestampMillis(millis) => millis.checked_mul(1_000_000),
        _ => None,
    }
}

fn weight_of(field: &Field) -> Result<Weight> {
    let weight = match field {
        Field::Null => Some(Weight::ZERO),
        Field::Byte(number) => Some(Weight::new((*number).into())),
        Field::Short(number) => Some(Weight::new((*number).into())),
        Field::Int(number) => Some(Weight::new((*number).into())),
        Field::Long(number) => Some(Weight::new((*number).into())),
        Field::UByte(number) => Some(Weight::new((*number).into())),
        Field::UShort(number) => Some(Weight::new((*number).into())),
        Field::UInt(number) => Some(Weight::new((*number).into())),
        Field::ULong(number) => Some(Weight::new((*number).into())),
        Field::Double(number) => Weight::parse(number.to_string().as_bytes()),
        Field::Decimal(decimal) => exact(decimal),
        _ => None,
    };
    weight.ok_or_else(|| Error::malformed("a number in the column \"weight\"", field.to_string().as_bytes()))
}

/// A decimal, whose bytes are a number with its sign, the highest byte first.
fn exact(decimal: &Decimal) -> Option<Weight> {
    let bytes = decimal.data();
    let scale = u8::try_from(decimal.scale()).ok()?;
    let sign = if bytes.first()? & 0x80 == 0 { 0 } else { 0xff };
    let (high, low) = bytes.split_at(bytes.len().saturating_sub(16));
    if high.iter().any(|&byte| byte != sign) {
        return None;
    }
    let mut whole = [sign; 16];
    whole[16 - low.len()..].copy_from_slice(low);
    Weight::from_steps(i128::from_be_bytes(whole), scale).ok()
}

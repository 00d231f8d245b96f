//! Tables as profile.proto: github.com/google/pprof, `proto/profile.proto`.

use std::io::Write;

use super::encoding::{bytes, known, number_field, packed};
use super::tables::{Labelled, Tables};
use crate::error::Result;
use crate::front_coded::ListCursor;

/// The numbers of fields in `Profile`.
pub(in crate::render) mod field {
    pub(in crate::render) const SAMPLE_TYPE: u64 = 1;
    pub(in crate::render) const SAMPLE: u64 = 2;
    pub(in crate::render) const MAPPING: u64 = 3;
    pub(in crate::render) const LOCATION: u64 = 4;
    pub(in crate::render) const FUNCTION: u64 = 5;
    pub(in crate::render) const STRING: u64 = 6;
    pub(in crate::render) const DROP_FRAMES: u64 = 7;
    pub(in crate::render) const KEEP_FRAMES: u64 = 8;
    pub(in crate::render) const TIME_NANOS: u64 = 9;
    pub(in crate::render) const DURATION_NANOS: u64 = 10;
    pub(in crate::render) const PERIOD_TYPE: u64 = 11;
    pub(in crate::render) const PERIOD: u64 = 12;
    pub(in crate::render) const COMMENT: u64 = 13;
    pub(in crate::render) const DEFAULT_SAMPLE_TYPE: u64 = 14;
    pub(in crate::render) const DOC_URL: u64 = 15;
}

/// Writes the messages; `written` is called after each.
///
/// # Errors
/// Those of `out` and of `written`; [`crate::ErrorKind::Setting`] for a value that does not fit 64 bits.
pub fn write<W: Write>(
    tables: &mut Tables,
    out: &mut W,
    written: &mut dyn FnMut(&mut W) -> Result<()>,
) -> Result<()> {
    let mut message = Vec::new();
    let mut part = Vec::new();
    let mut field = Vec::new();
    let mut emit = |number: u64, message: &mut Vec<u8>| -> Result<()> {
        field.clear();
        bytes(number, message, &mut field);
        out.write_all(&field)?;
        message.clear();
        written(out)
    };
    for &(kind, unit) in &tables.types {
        known(1, kind.into(), &mut message);
        known(2, unit.into(), &mut message);
        emit(field::SAMPLE_TYPE, &mut message)?;
    }
    tables.samples.round()?;
    let tables = &*tables;
    let mut cursor = ListCursor::default();
    for (number, sample) in tables.samples.all().enumerate() {
        let stack = tables.stacks.get(sample.stack, &mut cursor);
        packed(1, stack.iter().rev().map(|&location| u64::from(location) + 1), &mut part, &mut message);
        let values = (0..tables.types.len()).map(|column| tables.samples.value(number, column) as u64);
        packed(2, values, &mut part, &mut message);
        for label in &tables.labels.all()[sample.labels as usize] {
            part.clear();
            known(1, label.key.into(), &mut part);
            match label.value {
                Labelled::Text(text) => known(2, text.into(), &mut part),
                Labelled::Number(value, unit) => {
                    known(3, value as u64, &mut part);
                    known(4, unit.into(), &mut part);
                }
            }
            bytes(3, &part, &mut message);
        }
        emit(field::SAMPLE, &mut message)?;
    }
    for (id, mapping) in (1..).zip(&tables.mappings) {
        number_field(1, id, &mut message);
        known(2, mapping.start, &mut message);
        known(3, mapping.limit, &mut message);
        known(4, mapping.offset, &mut message);
        known(5, mapping.file.into(), &mut message);
        known(6, mapping.build_id.into(), &mut message);
        (0..4).for_each(|bit| known(7 + bit, u64::from(mapping.has >> bit & 1), &mut message));
        emit(field::MAPPING, &mut message)?;
    }
    for (id, location) in (1..).zip(tables.locations.all()) {
        number_field(1, id, &mut message);
        known(2, location.mapping.map_or(0, |mapping| u64::from(mapping) + 1), &mut message);
        known(3, location.address, &mut message);
        for line in &location.lines {
            part.clear();
            known(1, line.function.map_or(0, |function| u64::from(function) + 1), &mut part);
            known(2, line.line as u64, &mut part);
            known(3, line.column as u64, &mut part);
            bytes(4, &part, &mut message);
        }
        known(5, location.is_folded.into(), &mut message);
        emit(field::LOCATION, &mut message)?;
    }
    for (id, function) in (1..).zip(tables.functions.all()) {
        number_field(1, id, &mut message);
        known(2, function.name.into(), &mut message);
        known(3, function.system_name.into(), &mut message);
        known(4, function.file.into(), &mut message);
        known(5, function.start_line as u64, &mut message);
        emit(field::FUNCTION, &mut message)?;
    }
    for text in tables.texts.all() {
        message.extend_from_slice(text);
        emit(field::STRING, &mut message)?;
    }
    if tables.period_type != (0, 0) {
        known(1, tables.period_type.0.into(), &mut message);
        known(2, tables.period_type.1.into(), &mut message);
        emit(field::PERIOD_TYPE, &mut message)?;
    }
    let mut last = Vec::new();
    known(field::DROP_FRAMES, tables.drop_frames.into(), &mut last);
    known(field::KEEP_FRAMES, tables.keep_frames.into(), &mut last);
    known(field::TIME_NANOS, tables.start as u64, &mut last);
    known(field::DURATION_NANOS, tables.duration as u64, &mut last);
    known(field::PERIOD, tables.period as u64, &mut last);
    let comments = tables.comments.iter().map(|&comment| comment.into());
    packed(field::COMMENT, comments, &mut part, &mut last);
    known(field::DEFAULT_SAMPLE_TYPE, tables.default_type.into(), &mut last);
    known(field::DOC_URL, tables.doc_url.into(), &mut last);
    out.write_all(&last)?;
    Ok(())
}

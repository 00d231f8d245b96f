//! Reads profile.proto into a [`Model`], field by field in one stream.

use crate::collapse::CollapseOptions;
use crate::collapse::kit::pprof_model::{Function, FunctionLine, Location, Mapping, Model, RawLabel};
use crate::collapse::kit::protobuf::{Content, Fields, message, numbers, read_field};
use crate::error::{Error, Result};
use crate::input::Input;

/// Reads a whole profile.
pub(super) fn read(input: Input, options: &CollapseOptions, wants_labels: bool) -> Result<Model> {
    let mut reader = input.into_reader();
    let mut model = Model::new(options, wants_labels);
    let mut buffer = Vec::new();
    loop {
        let place = reader.place();
        match read_field(&mut reader, &mut buffer)? {
            Some((6, None)) => model.texts.push(&buffer),
            Some((number, value)) => {
                let content = value.map_or(Content::Bytes(&buffer), Content::Number);
                if field(&mut model, number, content).is_none() {
                    let expected = format!("field {number} of profile.proto");
                    return Err(Error::malformed(expected, b"damaged bytes").at(place));
                }
            }
            None => break,
        }
    }
    model.find_marks()?;
    Ok(model)
}

/// A field of the outermost message but for strings; `None` if it is damaged.
fn field(model: &mut Model, number: u32, content: Content<'_>) -> Option<()> {
    match (number, content) {
        (1, Content::Bytes(bytes)) => model.types.push(value_type(bytes)?),
        (2, Content::Bytes(bytes)) => sample(model, bytes)?,
        (3, Content::Bytes(bytes)) => {
            let mut mapping = [0; 11];
            message(bytes, &mut mapping)?;
            let [_, id, start, limit, offset, file, build_id, has @ ..] = mapping;
            let has = (0..).zip(has).fold(0, |bits, (bit, flag)| bits | u8::from(flag != 0) << bit);
            model.mapping(id, Mapping { start, limit, offset, file, build_id, has });
        }
        (4, Content::Bytes(bytes)) => location(model, bytes)?,
        (5, Content::Bytes(bytes)) => {
            let mut function = [0; 6];
            message(bytes, &mut function)?;
            let [_, id, name, system_name, file, start_line] = function;
            let start_line = start_line as i64;
            model.functions.insert(id, Function { name, system_name, file, start_line });
        }
        (7, Content::Number(text)) => model.drop_frames = text,
        (8, Content::Number(text)) => model.keep_frames = text,
        (9, Content::Number(start)) => model.start = start as i64,
        (10, Content::Number(duration)) => model.duration = duration as i64,
        (11, Content::Bytes(bytes)) => model.period_type = value_type(bytes)?,
        (12, Content::Number(period)) => model.period = period as i64,
        (13, content) => numbers(content, |text| model.comments.push(text))?,
        (14, Content::Number(name)) => model.default_type = name,
        (15, Content::Number(text)) => model.doc_url = text,
        (1..=6, _) => return None,
        // Fields that later versions may add.
        _ => {}
    }
    Some(())
}

fn sample(model: &mut Model, bytes: &[u8]) -> Option<()> {
    let mut labels: Vec<RawLabel> = Vec::new();
    for field in Fields(bytes) {
        match field? {
            (1, content) => numbers(content, |id| model.samples.location(id))?,
            (2, content) => numbers(content, |value| model.samples.value(value as i64))?,
            (3, Content::Bytes(bytes)) if model.wants_labels() => {
                let mut label = [0; 5];
                message(bytes, &mut label)?;
                let [_, key, text, number, unit] = label;
                labels.push(RawLabel { key, text, number: number as i64, unit });
            }
            _ => {}
        }
    }
    model.end_sample(labels);
    Some(())
}

fn location(model: &mut Model, bytes: &[u8]) -> Option<()> {
    let (mut id, mut location) = (0, Location::default());
    for field in Fields(bytes) {
        match field? {
            (1, Content::Number(number)) => id = number,
            (2, Content::Number(number)) => location.mapping = number,
            (3, Content::Number(number)) => location.address = number,
            (4, Content::Bytes(bytes)) => {
                let mut line = [0; 4];
                message(bytes, &mut line)?;
                let [_, function, line, column] = line;
                location.lines.push(FunctionLine { function, line: line as i64, column: column as i64 });
            }
            (5, Content::Number(number)) => location.is_folded = number != 0,
            _ => {}
        }
    }
    model.locations.insert(id, location);
    Some(())
}

fn value_type(bytes: &[u8]) -> Option<(u64, u64)> {
    let mut fields = [0; 3];
    message(bytes, &mut fields)?;
    Some((fields[1], fields[2]))
}

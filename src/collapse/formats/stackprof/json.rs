//! stackprof's dumps as JSON.

use super::{Dump, Frame};
use crate::collapse::Report;
use crate::collapse::kit::json::{Json, Kind};
use crate::error::{Error, Result};
use crate::input::Input;

/// Reads a dump.
///
/// # Errors
/// Text that is no JSON, and values of other kinds than stackprof's.
pub fn read(input: Input, report: &mut Report) -> Result<Dump> {
    let mut json = Json::new(input);
    let mut dump = Dump::default();
    let mut key = String::new();
    json.begin_object()?;
    while json.next_key(&mut key)? {
        match (key.as_str(), json.peek()?) {
            ("mode", Kind::Text) => json.text()?.as_bytes().clone_into(&mut dump.mode),
            ("interval", Kind::Number) => dump.interval = Some(whole_number(&mut json)?),
            ("samples", Kind::Number) => dump.samples = Some(whole_number(&mut json)?),
            ("missed_samples", Kind::Number) => dump.missed = whole_number(&mut json)?,
            ("raw", Kind::Array) => dump.raw = list(&mut json)?,
            ("raw_lines", Kind::Array) => dump.lines = list(&mut json)?,
            ("raw_sample_timestamps", Kind::Array) => dump.times = list(&mut json)?,
            ("frames", Kind::Object) => {
                json.begin_object()?;
                while json.next_key(&mut key)? {
                    let number = parse(&json, &key)?;
                    let frame = frame(&mut json)?;
                    dump.add_frame(number, frame);
                }
            }
            _ => json.skip()?,
        }
    }
    json.end(report);
    Ok(dump)
}

fn frame(json: &mut Json) -> Result<Frame> {
    let mut frame = Frame::default();
    let mut key = String::new();
    json.begin_object()?;
    while json.next_key(&mut key)? {
        match (key.as_str(), json.peek()?) {
            ("name", Kind::Text) => json.text()?.as_bytes().clone_into(&mut frame.name),
            ("file", Kind::Text) => json.text()?.as_bytes().clone_into(&mut frame.file),
            ("line", Kind::Number) => frame.line = whole_number(json)?,
            ("samples", Kind::Number) => frame.samples = whole_number(json)?,
            ("edges", Kind::Object) => {
                json.begin_object()?;
                while json.next_key(&mut key)? {
                    let callee = parse(json, &key)?;
                    frame.calls.push((callee, whole_number(json)?));
                }
            }
            _ => json.skip()?,
        }
    }
    Ok(frame)
}

fn list(json: &mut Json) -> Result<Vec<u64>> {
    let mut list = Vec::new();
    json.begin_array()?;
    while json.next_item()? {
        list.push(whole_number(json)?);
    }
    Ok(list)
}

/// A number, which may be as large as an address.
fn whole_number(json: &mut Json) -> Result<u64> {
    let text = json.text_or_number()?.to_owned();
    parse(json, &text)
}

fn parse(json: &Json, text: &str) -> Result<u64> {
    text.parse().map_err(|_| Error::malformed("a whole number", text.as_bytes()).at(json.place()))
}

//! OTLP profiles: what OpenTelemetry's eBPF profiler, its Collector and Pyroscope send and store.
//!
//! ```json
//! {"resourceProfiles":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"orders"}}]},
//!  "scopeProfiles":[{"profiles":[{"sampleType":{"typeStrindex":1,"unitStrindex":2},
//!   "samples":[{"stackIndex":1,"values":["10000000"]}],"timeUnixNano":"1763683470536873105"}]}]}],
//!  "dictionary":{"stringTable":["","cpu","nanoseconds","main"],"functionTable":[{},{"nameStrindex":3}],…}}
//! ```
//! The format is specified in github.com/open-telemetry/opentelemetry-proto,
//! `opentelemetry/proto/profiles/v1development/profiles.proto`; read is the layout from version 1.8 on, in which a
//! profile has one sample type and stacks have a table. Both encodings are read: a protocol buffer, alone or with
//! its length in front as the Collector's file exporter writes several of them, and JSON, one message a line.
//!
//! Each profile's type is a value. Attributes of samples, resources and scopes are labels.

mod data;
mod json;
mod load;
#[cfg(feature = "perf-data")]
mod native;
mod protobuf;

use std::io::Read;

use self::data::Data;
use self::load::Loader;
use self::protobuf::Damage;
use crate::collapse::kit::json::{HeadKeys, Json};
use crate::collapse::kit::protobuf::{Content, Fields};
use crate::collapse::{Certainty, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::{Error, Position, Result};
use crate::input::Input;

const INFO: FormatInfo = FormatInfo {
    name: "otlp",
    producer: "OpenTelemetry: eBPF profiler, Collector, Pyroscope",
    tested: Tested::ByDescription("opentelemetry-proto 1.45 (v1development)"),
    values: "the profiles' sample types",
    unit: "the sample type's",
};

/// The most bytes of a protocol buffer: its own libraries refuse larger ones.
const MOST: u64 = if cfg!(test) { 1 << 24 } else { 1 << 31 };

/// Collapses OTLP profiles.
pub struct Otlp;

impl Collapser for Otlp {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo {
            times: "samples with time stamps",
            clock: None,
            labels: "thread, tid, process, the attributes of samples and resources",
        }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let is_json = HeadKeys::read(head).is_some_and(|keys| {
            ["resourceProfiles.scopeProfiles", "dictionary.stringTable", "dictionary.mappingTable"]
                .iter()
                .any(|key| keys.has(key))
        });
        if is_json || is_protobuf(head) || prefixed(head).is_some_and(|(_, message)| is_protobuf(message)) {
            Certainty::Yes
        } else {
            Certainty::No
        }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let name = input.name().clone();
        let at = || Position::file(name.clone());
        // The first two bytes of a protocol buffer are a newline and a brace if its first resource has 123 bytes.
        let is_json = !is_protobuf(input.head()) && HeadKeys::read(input.head()).is_some();
        let messages = if is_json { read_json(input)? } else { read_protobuf(input)? };
        let wants_labels = sink.wants().contexts || sink.exchange().is_some();
        let mut loader = Loader::new(reading, wants_labels);
        loader.load(&messages).map_err(|e| e.or_at(at))?;
        drop(messages);
        #[cfg(feature = "perf-data")]
        loader.name_native(reading).map_err(|e| e.or_at(at))?;
        loader.collapse(reading, sink, report).map_err(|e| e.or_at(at))
    }
}

fn read_json(input: Input) -> Result<Vec<Data>> {
    let mut json = Json::new(input);
    let mut messages = vec![json::read(&mut json)?];
    while json.next_document()? {
        messages.push(json::read(&mut json)?);
    }
    Ok(messages)
}

fn read_protobuf(input: Input) -> Result<Vec<Data>> {
    let name = input.name().clone();
    let mut bytes = Vec::new();
    let mut reader = input.into_reader().take(MOST + 1);
    reader.read_to_end(&mut bytes).map_err(|e| Error::io("read", e).at(Position::file(name.clone())))?;
    let at = |byte: usize| Position { byte: Some(byte as u64), ..Position::file(name.clone()) };
    if bytes.len() as u64 > MOST {
        return Err(Error::malformed(format!("OTLP of at most {MOST} bytes"), b"more").at(at(0)));
    }
    if is_protobuf(&bytes) {
        return Ok(vec![protobuf::read(&bytes).map_err(|damage| error(damage).at(at(0)))?]);
    }
    let mut messages = Vec::new();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let here = bytes.len() - rest.len();
        let (len, message) = prefixed(rest).unwrap_or((usize::MAX, &[]));
        let Some(message) = message.get(..len) else {
            return Err(
                Error::malformed("an OTLP message and its length", b"the end of the file").at(at(here))
            );
        };
        messages.push(protobuf::read(message).map_err(|damage| error(damage).at(at(here)))?);
        rest = &rest[PREFIX + len..];
    }
    Ok(messages)
}

fn error(damage: Damage) -> Error {
    match damage {
        Damage::Field(message) => Error::malformed(format!("OTLP's {message}"), b"damaged bytes"),
        Damage::Older => Error::malformed(
            "OTLP profiles as opentelemetry-proto has them from version 1.8 on",
            b"an earlier layout",
        ),
    }
}

/// The bytes of the length in front of each message in a file of the Collector.
const PREFIX: usize = 4;

/// The length of a message, and what follows it.
fn prefixed(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (len, rest) = bytes.split_first_chunk::<PREFIX>()?;
    Some((u32::from_be_bytes(*len) as usize, rest))
}

/// Returns true if bytes, which may be cut off, begin as a message of profiles does: with profiles that have a
/// sample type or a time, or with a dictionary.
fn is_protobuf(bytes: &[u8]) -> bool {
    match begin(bytes) {
        Some((1, resource)) => {
            let mut rest = resource;
            // The resource itself may come first.
            if let Some((1, _)) = begin(rest) {
                let Some(after) = after_first(rest) else { return false };
                rest = after;
            }
            let Some((2, scope)) = begin(rest) else { return false };
            let mut rest = scope;
            if let Some((1, _)) = begin(rest) {
                let Some(after) = after_first(rest) else { return false };
                rest = after;
            }
            let Some((2, profile)) = begin(rest) else { return false };
            matches!(begin(profile), Some((1, kind)) if is_value_type(kind))
                || matches!(begin(profile), Some((2, _)) | None)
                    && Fields(bytes)
                        .any(|field| matches!(field, Some((2, Content::Bytes(d))) if is_dictionary(d)))
        }
        Some((2, dictionary)) => is_dictionary(dictionary),
        _ => false,
    }
}

fn is_dictionary(bytes: &[u8]) -> bool {
    matches!(begin(bytes), Some((1..=7, _)))
        && Fields(bytes).all(|field| matches!(field, None | Some((1..=7, Content::Bytes(_)))))
}

fn is_value_type(bytes: &[u8]) -> bool {
    bytes.first().is_none_or(|tag| matches!(tag, 0x08 | 0x10))
}

/// The number of the first field, which is a message, and as much of it as there is.
fn begin(mut bytes: &[u8]) -> Option<(u32, &[u8])> {
    let tag = crate::bytes::varint(&mut bytes)?;
    if tag & 7 != 2 {
        return None;
    }
    let len = usize::try_from(crate::bytes::varint(&mut bytes)?).ok()?;
    Some((u32::try_from(tag >> 3).ok()?, bytes.get(..len).unwrap_or(bytes)))
}

/// The bytes behind the first field, which is a message.
fn after_first(mut bytes: &[u8]) -> Option<&[u8]> {
    crate::bytes::varint(&mut bytes)?;
    let len = usize::try_from(crate::bytes::varint(&mut bytes)?).ok()?;
    bytes.get(len..)
}

//! `ProfilesData` as JSON, as the Collector's file exporter writes it: a message a line. Keys are in camel case,
//! numbers of 64 bits are texts or numbers, and bytes are in base64, but for those of links: opentelemetry.io/docs/specs/otlp
//! wants them in hexadecimal digits.

// A line a field: its value is put away, and nothing is left to return.
#![allow(clippy::unit_arg)]

use super::data::{
    AnyValue, Attribute, Data, Dictionary, Function, Line, Link, Location, Mapping, Profile, Resource,
    Sample, Scope, TableAttribute,
};
use crate::collapse::kit::base64;
use crate::collapse::kit::json::Json;
use crate::error::{Error, Result};
use crate::number::hex_of;

/// Lists and maps in values of attributes nest no deeper than this.
const DEEPEST: usize = 16;

/// Reads a message.
pub fn read(json: &mut Json) -> Result<Data> {
    let mut data = Data::default();
    json.object_or_null(|json, key| match key {
        "resourceProfiles" | "resource_profiles" => {
            json.array_or_null(|json| Ok(data.resources.push(resource(json)?)))
        }
        "dictionary" => dictionary(json, &mut data.dictionary),
        _ => json.skip(),
    })?;
    Ok(data)
}

/// A number, as a number or a text.
fn number_or_text<T: std::str::FromStr>(json: &mut Json) -> Result<T> {
    let text = json.text_or_number()?;
    let text = if text.is_empty() { "0" } else { text };
    match text.parse() {
        Ok(number) => Ok(number),
        Err(_) => {
            let found = Error::malformed("a whole number of 64 bits", text.as_bytes());
            Err(found.at(json.place()))
        }
    }
}

fn text(json: &mut Json) -> Result<Vec<u8>> {
    Ok(json.text()?.as_bytes().to_vec())
}

/// Bytes in base64, as hexadecimal digits; any other text as it is.
fn bytes(json: &mut Json) -> Result<Vec<u8>> {
    let text = text(json)?;
    Ok(base64::decode(&text).map_or(text, |bytes| hex_of(&bytes).into_bytes()))
}

/// The number of a trace or a span, of `length` bytes, in hexadecimal digits. Libraries of protocol buffers write
/// base64.
fn id(json: &mut Json, length: usize) -> Result<Vec<u8>> {
    let text = text(json)?;
    match base64::decode(&text).filter(|bytes| bytes.len() == length) {
        Some(bytes) => Ok(hex_of(&bytes).into_bytes()),
        None => Ok(text.to_ascii_lowercase()),
    }
}

fn indices(json: &mut Json) -> Result<Vec<u64>> {
    let mut indices = Vec::new();
    json.array_or_null(|json| Ok(indices.push(number_or_text(json)?)))?;
    Ok(indices)
}

fn dictionary(json: &mut Json, out: &mut Dictionary) -> Result<()> {
    json.object_or_null(|json, key| match key {
        "mappingTable" => json.array_or_null(|json| Ok(out.mappings.push(mapping(json)?))),
        "locationTable" => json.array_or_null(|json| Ok(out.locations.push(location(json)?))),
        "functionTable" => json.array_or_null(|json| {
            let mut function = Function::default();
            json.object_or_null(|json, key| {
                match key {
                    "nameStrindex" => function.name = number_or_text(json)?,
                    "systemNameStrindex" => function.system_name = number_or_text(json)?,
                    "filenameStrindex" => function.file = number_or_text(json)?,
                    "startLine" => function.start_line = number_or_text(json)?,
                    _ => json.skip()?,
                }
                Ok(())
            })?;
            out.functions.push(function);
            Ok(())
        }),
        "linkTable" => json.array_or_null(|json| {
            let mut link = Link::default();
            json.object_or_null(|json, key| {
                match key {
                    "traceId" => link.trace = id(json, 16)?,
                    "spanId" => link.span = id(json, 8)?,
                    _ => json.skip()?,
                }
                Ok(())
            })?;
            out.links.push(link);
            Ok(())
        }),
        "stringTable" => json.array_or_null(|json| Ok(out.texts.push(text(json)?))),
        "attributeTable" => json.array_or_null(|json| {
            let mut attribute = TableAttribute::default();
            json.object_or_null(|json, key| {
                match key {
                    "keyStrindex" => attribute.key = number_or_text(json)?,
                    "value" => attribute.value = value(json, 0)?,
                    "unitStrindex" => attribute.unit = number_or_text(json)?,
                    _ => json.skip()?,
                }
                Ok(())
            })?;
            out.attributes.push(attribute);
            Ok(())
        }),
        "stackTable" => json.array_or_null(|json| {
            let mut stack = Vec::new();
            json.object_or_null(|json, key| match key {
                "locationIndices" => Ok(stack = indices(json)?),
                _ => json.skip(),
            })?;
            out.stacks.push(stack);
            Ok(())
        }),
        _ => json.skip(),
    })
}

fn mapping(json: &mut Json) -> Result<Mapping> {
    let mut mapping = Mapping::default();
    json.object_or_null(|json, key| {
        match key {
            "memoryStart" => mapping.start = number_or_text(json)?,
            "memoryLimit" => mapping.limit = number_or_text(json)?,
            "fileOffset" => mapping.offset = number_or_text(json)?,
            "filenameStrindex" => mapping.file = number_or_text(json)?,
            "attributeIndices" => mapping.attributes = indices(json)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    Ok(mapping)
}

fn location(json: &mut Json) -> Result<Location> {
    let mut location = Location::default();
    json.object_or_null(|json, key| {
        match key {
            "mappingIndex" => location.mapping = number_or_text(json)?,
            "address" => location.address = number_or_text(json)?,
            "lines" | "line" => json.array_or_null(|json| {
                let mut line = Line::default();
                json.object_or_null(|json, key| {
                    match key {
                        "functionIndex" => line.function = number_or_text(json)?,
                        "line" => line.line = number_or_text(json)?,
                        "column" => line.column = number_or_text(json)?,
                        _ => json.skip()?,
                    }
                    Ok(())
                })?;
                location.lines.push(line);
                Ok(())
            })?,
            "attributeIndices" => location.attributes = indices(json)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    Ok(location)
}

fn attributes(json: &mut Json) -> Result<Vec<Attribute>> {
    let mut attributes = Vec::new();
    json.array_or_null(|json| {
        let mut attribute = Attribute::default();
        json.object_or_null(|json, key| {
            match key {
                "key" => attribute.key = text(json)?,
                "keyStrindex" => attribute.key_index = number_or_text(json)?,
                "value" => attribute.value = value(json, 0)?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        attributes.push(attribute);
        Ok(())
    })?;
    Ok(attributes)
}

fn value(json: &mut Json, depth: usize) -> Result<AnyValue> {
    if depth > DEEPEST {
        let found = Error::malformed(format!("an attribute of at most {DEEPEST} levels"), b"a deeper one");
        return Err(found.at(json.place()));
    }
    let mut found = AnyValue::None;
    json.object_or_null(|json, key| {
        found = match key {
            "stringValue" => AnyValue::Text(text(json)?),
            "bytesValue" => AnyValue::Text(bytes(json)?),
            // An entry of a map holds a value.
            "value" => value(json, depth + 1)?,
            "stringValueStrindex" => AnyValue::TextIndex(number_or_text(json)?),
            "boolValue" => AnyValue::Bool(json.bool()?),
            "intValue" => AnyValue::Int(number_or_text(json)?),
            "doubleValue" => AnyValue::Double(number_or_text(json)?),
            "arrayValue" | "kvlistValue" => {
                let mut values = Vec::new();
                json.object_or_null(|json, key| match key {
                    "values" => json.array_or_null(|json| Ok(values.push(value(json, depth + 1)?))),
                    _ => json.skip(),
                })?;
                AnyValue::List(values)
            }
            _ => {
                json.skip()?;
                return Ok(());
            }
        };
        Ok(())
    })?;
    Ok(found)
}

fn resource(json: &mut Json) -> Result<Resource> {
    let mut resource = Resource::default();
    json.object_or_null(|json, key| match key {
        "resource" => json.object_or_null(|json, key| match key {
            "attributes" => Ok(resource.attributes = attributes(json)?),
            _ => json.skip(),
        }),
        "scopeProfiles" => json.array_or_null(|json| Ok(resource.scopes.push(scope(json)?))),
        _ => json.skip(),
    })?;
    Ok(resource)
}

fn scope(json: &mut Json) -> Result<Scope> {
    let mut scope = Scope::default();
    json.object_or_null(|json, key| match key {
        "scope" => json.object_or_null(|json, key| {
            match key {
                "name" => scope.name = text(json)?,
                "version" => scope.version = text(json)?,
                "attributes" => scope.attributes = attributes(json)?,
                _ => json.skip()?,
            }
            Ok(())
        }),
        "profiles" => json.array_or_null(|json| Ok(scope.profiles.push(profile(json)?))),
        _ => json.skip(),
    })?;
    Ok(scope)
}

fn profile(json: &mut Json) -> Result<Profile> {
    let mut profile = Profile::default();
    json.object_or_null(|json, key| {
        match key {
            "sampleType" => profile.sample_type = value_type(json)?,
            "samples" | "sample" => json.array_or_null(|json| Ok(profile.samples.push(sample(json)?)))?,
            "timeUnixNano" => profile.time = number_or_text(json)?,
            "durationNano" => profile.duration = number_or_text(json)?,
            "periodType" => profile.period_type = value_type(json)?,
            "period" => profile.period = number_or_text(json)?,
            "attributeIndices" => profile.attributes = indices(json)?,
            "originalPayloadFormat" => profile.payload_format = text(json)?,
            // Four letters are three bytes.
            "originalPayload" => profile.payload = json.text()?.trim_end_matches('=').len() * 3 / 4,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    Ok(profile)
}

fn sample(json: &mut Json) -> Result<Sample> {
    let mut sample = Sample::default();
    json.object_or_null(|json, key| {
        match key {
            "stackIndex" => sample.stack = number_or_text(json)?,
            "attributeIndices" => sample.attributes = indices(json)?,
            "linkIndex" => sample.link = number_or_text(json)?,
            "values" => json.array_or_null(|json| Ok(sample.values.push(number_or_text(json)?)))?,
            "timestampsUnixNano" => sample.timestamps = indices(json)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    Ok(sample)
}

fn value_type(json: &mut Json) -> Result<(u64, u64)> {
    let mut kind = (0, 0);
    json.object_or_null(|json, key| {
        match key {
            "typeStrindex" => kind.0 = number_or_text(json)?,
            "unitStrindex" => kind.1 = number_or_text(json)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    Ok(kind)
}

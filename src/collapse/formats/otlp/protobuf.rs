//! `ProfilesData` as a protocol buffer.

use super::data::{
    AnyValue, Attribute, Data, Dictionary, Function, Line, Link, Location, Mapping, Profile, Resource,
    Sample, Scope, TableAttribute,
};
use crate::collapse::kit::protobuf::{Content, Fields, fixed_numbers, message, numbers};
use crate::number::hex_of;

/// Lists and maps in values of attributes nest no deeper than this.
const DEEPEST: usize = 16;

/// The reason why bytes are no such message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// A field does not hold what it should; the message of it.
    Field(&'static str),
    /// An earlier version of the format.
    Older,
}

/// Reads a message.
pub fn read(bytes: &[u8]) -> Result<Data, Damage> {
    let mut data = Data::default();
    for field in Fields(bytes) {
        match field.ok_or(Damage::Field("ProfilesData"))? {
            (1, Content::Bytes(bytes)) => data.resources.push(resource(bytes)?),
            (2, Content::Bytes(bytes)) => {
                dictionary(bytes, &mut data.dictionary).ok_or(Damage::Field("ProfilesDictionary"))?;
            }
            (1 | 2, _) => return Err(Damage::Field("ProfilesData")),
            _ => {}
        }
    }
    Ok(data)
}

fn dictionary(bytes: &[u8], out: &mut Dictionary) -> Option<()> {
    for field in Fields(bytes) {
        match field? {
            (1, Content::Bytes(bytes)) => out.mappings.push(mapping(bytes)?),
            (2, Content::Bytes(bytes)) => out.locations.push(location(bytes)?),
            (3, Content::Bytes(bytes)) => {
                let mut fields = [0; 5];
                message(bytes, &mut fields)?;
                let [_, name, system_name, file, start_line] = fields;
                out.functions.push(Function { name, system_name, file, start_line: start_line as i64 });
            }
            (4, Content::Bytes(bytes)) => out.links.push(link(bytes)?),
            (5, Content::Bytes(bytes)) => out.texts.push(bytes.to_vec()),
            (6, Content::Bytes(bytes)) => out.attributes.push(table_attribute(bytes)?),
            (7, Content::Bytes(bytes)) => {
                let mut locations = Vec::new();
                for field in Fields(bytes) {
                    if let (1, content) = field? {
                        numbers(content, |index| locations.push(index))?;
                    }
                }
                out.stacks.push(locations);
            }
            (1..=7, content) if !matches!(content, Content::Bytes(_)) => return None,
            _ => {}
        }
    }
    Some(())
}

fn mapping(bytes: &[u8]) -> Option<Mapping> {
    let mut mapping = Mapping::default();
    for field in Fields(bytes) {
        match field? {
            (1, Content::Number(number)) => mapping.start = number,
            (2, Content::Number(number)) => mapping.limit = number,
            (3, Content::Number(number)) => mapping.offset = number,
            (4, Content::Number(number)) => mapping.file = number,
            (5, content) => numbers(content, |index| mapping.attributes.push(index))?,
            _ => {}
        }
    }
    Some(mapping)
}

fn location(bytes: &[u8]) -> Option<Location> {
    let mut location = Location::default();
    for field in Fields(bytes) {
        match field? {
            (1, Content::Number(number)) => location.mapping = number,
            (2, Content::Number(number)) => location.address = number,
            (3, Content::Bytes(bytes)) => {
                let mut line = [0; 4];
                message(bytes, &mut line)?;
                let [_, function, line, column] = line;
                location.lines.push(Line { function, line: line as i64, column: column as i64 });
            }
            (4, content) => numbers(content, |index| location.attributes.push(index))?,
            _ => {}
        }
    }
    Some(location)
}

fn link(bytes: &[u8]) -> Option<Link> {
    let mut link = Link::default();
    for field in Fields(bytes) {
        match field? {
            (1, Content::Bytes(trace)) => link.trace = hex_of(trace).into_bytes(),
            (2, Content::Bytes(span)) => link.span = hex_of(span).into_bytes(),
            _ => {}
        }
    }
    Some(link)
}

fn table_attribute(bytes: &[u8]) -> Option<TableAttribute> {
    let mut attribute = TableAttribute::default();
    for field in Fields(bytes) {
        match field? {
            (1, Content::Number(number)) => attribute.key = number,
            (2, Content::Bytes(bytes)) => attribute.value = value(bytes, 0)?,
            (3, Content::Number(number)) => attribute.unit = number,
            _ => {}
        }
    }
    Some(attribute)
}

fn attribute(bytes: &[u8]) -> Option<Attribute> {
    let mut attribute = Attribute::default();
    for field in Fields(bytes) {
        match field? {
            (1, Content::Bytes(bytes)) => attribute.key = bytes.to_vec(),
            (2, Content::Bytes(bytes)) => attribute.value = value(bytes, 0)?,
            (3, Content::Number(number)) => attribute.key_index = number,
            _ => {}
        }
    }
    Some(attribute)
}

fn value(bytes: &[u8], depth: usize) -> Option<AnyValue> {
    if depth > DEEPEST {
        return None;
    }
    let mut value = AnyValue::None;
    for field in Fields(bytes) {
        value = match field? {
            (1, Content::Bytes(text)) => AnyValue::Text(text.to_vec()),
            (2, Content::Number(number)) => AnyValue::Bool(number != 0),
            (3, Content::Number(number)) => AnyValue::Int(number as i64),
            (4, Content::Fixed(bits)) => AnyValue::Double(f64::from_bits(bits)),
            (number @ (5 | 6), Content::Bytes(bytes)) => list(bytes, number == 6, depth + 1)?,
            (7, Content::Bytes(bytes)) => AnyValue::Text(hex_of(bytes).into_bytes()),
            (8, Content::Number(index)) => AnyValue::TextIndex(index),
            _ => value,
        };
    }
    Some(value)
}

/// An array, or the values of a map.
fn list(bytes: &[u8], is_map: bool, depth: usize) -> Option<AnyValue> {
    let mut values = Vec::new();
    for field in Fields(bytes) {
        match field? {
            (1, Content::Bytes(entry)) if is_map => {
                for field in Fields(entry) {
                    if let (2, Content::Bytes(bytes)) = field? {
                        values.push(value(bytes, depth)?);
                    }
                }
            }
            (1, Content::Bytes(bytes)) => values.push(value(bytes, depth)?),
            _ => {}
        }
    }
    Some(AnyValue::List(values))
}

fn resource(bytes: &[u8]) -> Result<Resource, Damage> {
    const DAMAGE: Damage = Damage::Field("ResourceProfiles");
    let mut resource = Resource::default();
    for field in Fields(bytes) {
        match field.ok_or(DAMAGE)? {
            (1, Content::Bytes(bytes)) => {
                for field in Fields(bytes) {
                    if let (1, Content::Bytes(bytes)) = field.ok_or(DAMAGE)? {
                        resource.attributes.push(attribute(bytes).ok_or(DAMAGE)?);
                    }
                }
            }
            (2, Content::Bytes(bytes)) => resource.scopes.push(scope(bytes)?),
            _ => {}
        }
    }
    Ok(resource)
}

fn scope(bytes: &[u8]) -> Result<Scope, Damage> {
    const DAMAGE: Damage = Damage::Field("ScopeProfiles");
    let mut scope = Scope::default();
    for field in Fields(bytes) {
        match field.ok_or(DAMAGE)? {
            (1, Content::Bytes(bytes)) => {
                for field in Fields(bytes) {
                    match field.ok_or(DAMAGE)? {
                        (1, Content::Bytes(name)) => scope.name = name.to_vec(),
                        (2, Content::Bytes(version)) => scope.version = version.to_vec(),
                        (3, Content::Bytes(bytes)) => scope.attributes.push(attribute(bytes).ok_or(DAMAGE)?),
                        _ => {}
                    }
                }
            }
            (2, Content::Bytes(bytes)) => scope.profiles.push(profile(bytes)?),
            _ => {}
        }
    }
    Ok(scope)
}

fn profile(bytes: &[u8]) -> Result<Profile, Damage> {
    const DAMAGE: Damage = Damage::Field("Profile");
    let mut profile = Profile::default();
    for field in Fields(bytes) {
        match field.ok_or(DAMAGE)? {
            (1, Content::Bytes(bytes)) => profile.sample_type = value_type(bytes).ok_or(DAMAGE)?,
            (2, Content::Bytes(bytes)) => profile.samples.push(sample(bytes).ok_or(DAMAGE)?),
            (3, Content::Fixed(time)) => profile.time = time,
            // Until version 1.8 it held the locations of all stacks.
            (3, _) => return Err(Damage::Older),
            (4, Content::Number(duration)) => profile.duration = duration,
            (5, Content::Bytes(bytes)) => profile.period_type = value_type(bytes).ok_or(DAMAGE)?,
            (6, Content::Number(period)) => profile.period = period as i64,
            (9, Content::Bytes(format)) => profile.payload_format = format.to_vec(),
            (10, Content::Bytes(payload)) => profile.payload = payload.len(),
            (11, content) => numbers(content, |index| profile.attributes.push(index)).ok_or(DAMAGE)?,
            (1..=6, _) => return Err(Damage::Older),
            _ => {}
        }
    }
    Ok(profile)
}

fn sample(bytes: &[u8]) -> Option<Sample> {
    let mut sample = Sample::default();
    for field in Fields(bytes) {
        match field? {
            (1, Content::Number(stack)) => sample.stack = stack,
            (2, content) => numbers(content, |index| sample.attributes.push(index))?,
            (3, Content::Number(link)) => sample.link = link,
            (4, content) => numbers(content, |value| sample.values.push(value as i64))?,
            (5, content) => fixed_numbers(content, |time| sample.timestamps.push(time))?,
            _ => {}
        }
    }
    Some(sample)
}

fn value_type(bytes: &[u8]) -> Option<(u64, u64)> {
    let mut fields = [0; 3];
    message(bytes, &mut fields)?;
    Some((fields[1], fields[2]))
}

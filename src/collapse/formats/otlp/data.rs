//! `ProfilesData` of OpenTelemetry as it was read from either encoding. Names of fields are those of
//! `opentelemetry/proto/profiles/v1development/profiles.proto`.

/// A message: resources with their profiles, and the tables that these name by index.
#[derive(Debug, Default)]
pub struct Data {
    pub dictionary: Dictionary,
    pub resources: Vec<Resource>,
}

/// The tables. The first entry of each stands for none.
#[derive(Debug, Default)]
pub struct Dictionary {
    pub mappings: Vec<Mapping>,
    pub locations: Vec<Location>,
    pub functions: Vec<Function>,
    pub texts: Vec<Vec<u8>>,
    pub attributes: Vec<TableAttribute>,
    pub links: Vec<Link>,
    /// The indices of locations, leaf first.
    pub stacks: Vec<Vec<u64>>,
}

#[derive(Debug, Default)]
pub struct Mapping {
    pub start: u64,
    pub limit: u64,
    pub offset: u64,
    pub file: u64,
    pub attributes: Vec<u64>,
}

#[derive(Debug, Default)]
pub struct Location {
    pub mapping: u64,
    pub address: u64,
    pub lines: Vec<Line>,
    pub attributes: Vec<u64>,
}

#[derive(Debug, Default)]
pub struct Line {
    pub function: u64,
    pub line: i64,
    pub column: i64,
}

#[derive(Debug, Default)]
pub struct Function {
    pub name: u64,
    pub system_name: u64,
    pub file: u64,
    pub start_line: i64,
}

/// An attribute of the table: its key and unit are indices of texts.
#[derive(Debug, Default)]
pub struct TableAttribute {
    pub key: u64,
    pub value: AnyValue,
    pub unit: u64,
}

/// A span of a trace, by its numbers in hexadecimal digits.
#[derive(Debug, Default)]
pub struct Link {
    pub trace: Vec<u8>,
    pub span: Vec<u8>,
}

/// An attribute of a resource or a scope.
#[derive(Debug, Default)]
pub struct Attribute {
    pub key: Vec<u8>,
    /// The index of the key's text, where that is how it is named.
    pub key_index: u64,
    pub value: AnyValue,
}

/// The value of an attribute.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum AnyValue {
    #[default]
    None,
    Text(Vec<u8>),
    /// The index of a text.
    TextIndex(u64),
    Bool(bool),
    Int(i64),
    Double(f64),
    List(Vec<AnyValue>),
}

impl AnyValue {
    /// Appends the value as text; `text` finds texts by index.
    pub fn write(&self, text: &dyn Fn(u64) -> Vec<u8>, out: &mut Vec<u8>) {
        match self {
            AnyValue::None => {}
            AnyValue::Text(text) => out.extend_from_slice(text),
            AnyValue::TextIndex(index) => out.extend(text(*index)),
            AnyValue::Bool(value) => out.extend_from_slice(value.to_string().as_bytes()),
            AnyValue::Int(value) => out.extend_from_slice(value.to_string().as_bytes()),
            AnyValue::Double(value) => out.extend_from_slice(value.to_string().as_bytes()),
            AnyValue::List(values) => {
                for (at, value) in values.iter().enumerate() {
                    if at > 0 {
                        out.push(b' ');
                    }
                    value.write(text, out);
                }
            }
        }
    }
}

/// The process, container or machine that profiles are of.
#[derive(Debug, Default)]
pub struct Resource {
    pub attributes: Vec<Attribute>,
    pub scopes: Vec<Scope>,
}

/// The program that recorded.
#[derive(Debug, Default)]
pub struct Scope {
    pub name: Vec<u8>,
    pub version: Vec<u8>,
    pub attributes: Vec<Attribute>,
    pub profiles: Vec<Profile>,
}

/// Samples of one type.
#[derive(Debug, Default)]
pub struct Profile {
    /// The indices of the texts of type and unit.
    pub sample_type: (u64, u64),
    pub samples: Vec<Sample>,
    /// Nanoseconds since 1970.
    pub time: u64,
    /// Nanoseconds.
    pub duration: u64,
    pub period_type: (u64, u64),
    pub period: i64,
    pub attributes: Vec<u64>,
    pub payload_format: Vec<u8>,
    /// The bytes of the original payload.
    pub payload: usize,
}

#[derive(Debug, Default)]
pub struct Sample {
    pub stack: u64,
    pub attributes: Vec<u64>,
    pub link: u64,
    pub values: Vec<i64>,
    pub timestamps: Vec<u64>,
}

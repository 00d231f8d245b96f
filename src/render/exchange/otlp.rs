//! Tables as OTLP profiles: `opentelemetry/proto/profiles/v1development/profiles.proto` in
//! github.com/open-telemetry/opentelemetry-proto, version 1.8 and later.
//!
//! A profile holds one sample type there, so that each of ours becomes one. Fields of pprof's that OTLP lacks are
//! attributes of OpenTelemetry's semantic conventions, `pprof.…`.

use std::collections::HashMap;

use super::message::{Field, Message};
use super::samples::Sample;
use super::tables::{Label, Labelled, Tables};
use crate::error::Result;
use crate::front_coded::ListCursor;
use crate::unique::Unique;

/// The prefixes of labels that tell of a resource, when all samples have the same.
const OF_RESOURCE: &[&[u8]] = &[
    b"cloud.",
    b"container.",
    b"deployment.",
    b"faas.",
    b"host.",
    b"k8s.",
    b"os.",
    b"process.",
    b"service.",
    b"telemetry.",
];

/// The label of a sample's time, in nanoseconds since 1970.
const TIME: &[u8] = b"end_timestamp_ns";

/// The labels of a sample that is linked to a span of a trace.
const TRACE_ID: &[u8] = b"trace_id";
const SPAN_ID: &[u8] = b"span_id";

/// The bytes of these numbers.
const TRACE_BYTES: usize = 16;
const SPAN_BYTES: usize = 8;

/// Fields of attributes.
const KEY: Field = Field(1, "keyStrindex");
const VALUE: Field = Field(2, "value");
const UNIT: Field = Field(3, "unitStrindex");
const STRING_VALUE: Field = Field(1, "stringValue");
const BOOL_VALUE: Field = Field(2, "boolValue");
const INT_VALUE: Field = Field(3, "intValue");

/// An attribute of the table: key, value, unit, by the numbers of texts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Attribute {
    key: u32,
    value: AttributeValue,
    unit: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum AttributeValue {
    Text(u32),
    Int(i64),
    True,
}

/// The profiles as one message.
///
/// # Errors
/// [`crate::ErrorKind::Setting`] for a value that does not fit 64 bits.
pub fn message<M: Message>(tables: &mut Tables) -> Result<M> {
    tables.samples.round()?;
    let attributes = Attributes::new(tables);
    let profiles: Vec<M> = (0..tables.types.len()).map(|at| profile(at, tables, &attributes)).collect();
    let mut scope = M::default();
    let (name, version) = producer(&tables.producer);
    scope.text(Field(1, "name"), name.as_bytes());
    scope.text(Field(2, "version"), version.as_bytes());
    if tables.default_type != 0 {
        let value = AttributeValue::Text(tables.default_type);
        let named = key_value::<M>(tables, b"pprof.scope.default_sample_type", value);
        scope.messages(Field(3, "attributes"), &mut [named].into_iter());
    }
    let mut of_scope = M::default();
    of_scope.message(Field(1, "scope"), scope);
    of_scope.messages(Field(2, "profiles"), &mut profiles.into_iter());
    let mut resource = M::default();
    let each = |label: &Label| {
        let value = match label.value {
            Labelled::Text(text) => AttributeValue::Text(text),
            Labelled::Number(number, _) => AttributeValue::Int(number),
        };
        key_value::<M>(tables, tables.texts.name(label.key), value)
    };
    resource.messages(Field(1, "attributes"), &mut attributes.of_resource.iter().map(each));
    let mut of_resource = M::default();
    of_resource.message(Field(1, "resource"), resource);
    of_resource.messages(Field(2, "scopeProfiles"), &mut [of_scope].into_iter());
    let mut data = M::default();
    data.messages(Field(1, "resourceProfiles"), &mut [of_resource].into_iter());
    data.message(Field(2, "dictionary"), dictionary(tables, &attributes));
    Ok(data)
}

/// The name of the program that recorded, and its version.
fn producer(producer: &str) -> (&str, &str) {
    match producer.rsplit_once(' ') {
        Some((name, version)) if version.starts_with(|first: char| first.is_ascii_digit()) => (name, version),
        _ if producer.is_empty() => ("fg-tools", env!("CARGO_PKG_VERSION")),
        _ => (producer, ""),
    }
}

/// The attributes of everything, by their numbers in the table, where 0 stands for none.
struct Attributes {
    table: Unique<Attribute>,
    of_resource: Vec<Label>,
    of_profile: Vec<u32>,
    of_mappings: Vec<Vec<u32>>,
    is_folded: u32,
    /// The time in each set of labels, the number of its link in `links`, and that of the set without them in `sets`.
    of_labels: Vec<(Option<u64>, u32, u32)>,
    sets: Unique<Vec<u32>>,
    /// The numbers of traces and spans; the first stands for none.
    links: Unique<(u128, u128)>,
}

impl Attributes {
    fn new(tables: &mut Tables) -> Attributes {
        let mut table = Unique::default();
        let none = Attribute { key: 0, value: AttributeValue::Text(0), unit: 0 };
        table.key(none);
        let mut add = |texts: &mut crate::folded::Interner, key: &[u8], value| {
            table.key(Attribute { key: texts.key(key), value, unit: 0 })
        };
        let mut of_profile = Vec::new();
        let head = [
            (&b"pprof.profile.doc_url"[..], tables.doc_url),
            (b"pprof.profile.drop_frames", tables.drop_frames),
            (b"pprof.profile.keep_frames", tables.keep_frames),
        ];
        let comments = tables.comments.iter().map(|&comment| (&b"pprof.profile.comment"[..], comment));
        for (key, value) in head.into_iter().filter(|(_, text)| *text != 0).chain(comments) {
            of_profile.push(add(&mut tables.texts, key, AttributeValue::Text(value)));
        }
        let mut of_mappings = Vec::with_capacity(tables.mappings.len());
        const HAS: [&[u8]; 4] = [
            b"pprof.mapping.has_functions",
            b"pprof.mapping.has_filenames",
            b"pprof.mapping.has_line_numbers",
            b"pprof.mapping.has_inline_frames",
        ];
        for mapping in &tables.mappings {
            let mut of_mapping = Vec::new();
            if mapping.build_id != 0 {
                // Go's is a text with slashes; others are digits.
                let is_go = tables.texts.name(mapping.build_id).contains(&b'/');
                let key =
                    if is_go { "process.executable.build_id.go" } else { "process.executable.build_id.gnu" };
                let value = AttributeValue::Text(mapping.build_id);
                of_mapping.push(add(&mut tables.texts, key.as_bytes(), value));
            }
            for (_, key) in (0..).zip(HAS).filter(|(bit, _)| mapping.has >> bit & 1 != 0) {
                of_mapping.push(add(&mut tables.texts, key, AttributeValue::True));
            }
            of_mappings.push(of_mapping);
        }
        let is_folded = match tables.locations.all().iter().any(|location| location.is_folded) {
            true => add(&mut tables.texts, b"pprof.location.is_folded", AttributeValue::True),
            false => 0,
        };
        let of_resource = common(tables);
        let (mut sets, mut links) = (Unique::default(), Unique::default());
        links.key((0, 0));
        let mut of_labels = Vec::with_capacity(tables.labels.all().len());
        for labels in tables.labels.all() {
            let mut time = None;
            let mut set = Vec::new();
            let link = link(tables, labels);
            for label in labels.iter().filter(|label| link.is_none() || !is_of_link(tables, label)) {
                let (value, unit) = match label.value {
                    Labelled::Text(text) => (AttributeValue::Text(text), 0),
                    Labelled::Number(number, 0) if tables.texts.name(label.key) == TIME && time.is_none() => {
                        time = Some(number as u64);
                        continue;
                    }
                    Labelled::Number(number, unit) => (AttributeValue::Int(number), unit),
                };
                if !of_resource.contains(label) {
                    set.push(table.key(Attribute { key: label.key, value, unit }));
                }
            }
            let link = link.map_or(0, |link| links.key(link));
            of_labels.push((time, link, sets.key(set)));
        }
        Attributes { table, of_resource, of_profile, of_mappings, is_folded, of_labels, sets, links }
    }
}

/// Returns true for a label that names a trace or a span.
fn is_of_link(tables: &Tables, label: &Label) -> bool {
    [TRACE_ID, SPAN_ID].contains(&tables.texts.name(label.key))
}

/// The numbers of the trace and the span that labels name, if they name one of each and neither is zero.
fn link(tables: &Tables, labels: &[Label]) -> Option<(u128, u128)> {
    if labels.iter().filter(|label| is_of_link(tables, label)).count() != 2 {
        return None;
    }
    let id = |key: &[u8], length: usize| {
        let label = labels.iter().find(|label| tables.texts.name(label.key) == key)?;
        let Labelled::Text(text) = label.value else { return None };
        let text = std::str::from_utf8(tables.texts.name(text)).ok()?;
        let is_id = text.len() == 2 * length && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let number = u128::from_str_radix(text, 16).ok()?;
        (is_id && number != 0).then_some(number)
    };
    Some((id(TRACE_ID, TRACE_BYTES)?, id(SPAN_ID, SPAN_BYTES)?))
}

/// The labels of a resource that all samples have.
fn common(tables: &Tables) -> Vec<Label> {
    let [first, rest @ ..] = tables.labels.all() else { return Vec::new() };
    let is_of_resource = |label: &&Label| {
        let key = tables.texts.name(label.key);
        let is_plain = !matches!(label.value, Labelled::Number(_, unit) if unit != 0);
        is_plain
            && OF_RESOURCE.iter().any(|prefix| key.starts_with(prefix))
            && rest.iter().all(|labels| labels.contains(label))
            // A label that stands there twice would come back once.
            && tables.labels.all().iter().all(|labels| labels.iter().filter(|l| l == label).count() == 1)
    };
    first.iter().filter(is_of_resource).copied().collect()
}

fn any_value<M: Message>(tables: &Tables, value: AttributeValue) -> M {
    let mut out = M::default();
    match value {
        AttributeValue::Text(text) => out.chosen_text(STRING_VALUE, tables.texts.name(text)),
        AttributeValue::Int(number) => out.chosen_int(INT_VALUE, number),
        AttributeValue::True => out.flag(BOOL_VALUE, true),
    }
    out
}

/// An attribute of a resource or a scope.
fn key_value<M: Message>(tables: &Tables, key: &[u8], value: AttributeValue) -> M {
    let mut out = M::default();
    out.text(Field(1, "key"), key);
    out.message(VALUE, any_value(tables, value));
    out
}

fn value_type<M: Message>((kind, unit): (u32, u32)) -> M {
    let mut out = M::default();
    out.index(Field(1, "typeStrindex"), kind);
    out.index(Field(2, "unitStrindex"), unit);
    out
}

/// The samples of one stack, one set of labels and one link that have times.
struct Timed {
    /// The number of the first.
    first: usize,
    values: Vec<i64>,
    times: Vec<u64>,
}

/// The samples of one type.
fn profile<M: Message>(column: usize, tables: &Tables, attributes: &Attributes) -> M {
    let mut out = M::default();
    out.message(Field(1, "sampleType"), value_type(tables.types[column]));
    let value_of = |number: usize| {
        let value = tables.samples.value(number, column);
        // A sample is left out of types in which it is zero; one that is zero in all of them is in the first.
        let is_nothing =
            || column == 0 && (0..tables.types.len()).all(|at| tables.samples.value(number, at) == 0);
        (value != 0 || is_nothing()).then_some(value)
    };
    // Samples that differ in their times only are one, in the place of the first.
    let mut numbers: HashMap<(u32, u32, u32), usize> = HashMap::new();
    let mut timed: Vec<Timed> = Vec::new();
    for (number, Sample { stack, labels }) in tables.samples.all().enumerate() {
        let (Some(time), link, set) = attributes.of_labels[labels as usize] else { continue };
        let Some(value) = value_of(number) else { continue };
        let at = *numbers.entry((stack, set, link)).or_insert(timed.len());
        if at == timed.len() {
            timed.push(Timed { first: number, values: Vec::new(), times: Vec::new() });
        }
        timed[at].values.push(value);
        timed[at].times.push(time);
    }
    let mut timed = timed.iter().peekable();
    let sample = |(number, Sample { stack, labels }): (usize, Sample)| {
        let (time, link, set) = attributes.of_labels[labels as usize];
        let value = value_of(number)?;
        let (values, times) = match time {
            None => (std::slice::from_ref(&value), &[][..]),
            Some(_) => {
                let Timed { values, times, .. } = timed.next_if(|timed| timed.first == number)?;
                (&values[..], &times[..])
            }
        };
        let mut out = M::default();
        // The first stack of the table is none.
        out.index(Field(1, "stackIndex"), stack + 1);
        let set = &attributes.sets.all()[set as usize];
        out.indices(Field(2, "attributeIndices"), &mut set.iter().copied());
        out.index(Field(3, "linkIndex"), link);
        out.ints(Field(4, "values"), values);
        out.fixeds(Field(5, "timestampsUnixNano"), times);
        Some(out)
    };
    let mut samples = tables.samples.all().enumerate().filter_map(sample);
    out.messages(Field(2, "samples"), &mut samples);
    out.fixed(Field(3, "timeUnixNano"), u64::try_from(tables.start).unwrap_or(0));
    out.uint(Field(4, "durationNano"), u64::try_from(tables.duration).unwrap_or(0));
    if tables.period_type != (0, 0) {
        out.message(Field(5, "periodType"), value_type(tables.period_type));
    }
    out.int(Field(6, "period"), tables.period);
    out.indices(Field(11, "attributeIndices"), &mut attributes.of_profile.iter().copied());
    out
}

/// The tables; the first entry of each stands for none.
fn dictionary<M: Message>(tables: &Tables, attributes: &Attributes) -> M {
    let mut out = M::default();
    let none = || std::iter::once_with(M::default);
    let mapping = |(mapping, of_mapping): (&super::tables::Mapping, &Vec<u32>)| {
        let mut out = M::default();
        out.uint(Field(1, "memoryStart"), mapping.start);
        out.uint(Field(2, "memoryLimit"), mapping.limit);
        out.uint(Field(3, "fileOffset"), mapping.offset);
        out.index(Field(4, "filenameStrindex"), mapping.file);
        out.indices(Field(5, "attributeIndices"), &mut of_mapping.iter().copied());
        out
    };
    let mappings = tables.mappings.iter().zip(&attributes.of_mappings).map(mapping);
    out.messages(Field(1, "mappingTable"), &mut none().chain(mappings));
    let location = |location: &super::tables::Location| {
        let mut out = M::default();
        out.index(Field(1, "mappingIndex"), location.mapping.map_or(0, |mapping| mapping + 1));
        out.uint(Field(2, "address"), location.address);
        let line = |line: &super::tables::Line| {
            let mut out = M::default();
            out.index(Field(1, "functionIndex"), line.function.map_or(0, |function| function + 1));
            out.int(Field(2, "line"), line.line);
            out.int(Field(3, "column"), line.column);
            out
        };
        out.messages(Field(3, "lines"), &mut location.lines.iter().map(line));
        let folded = location.is_folded.then_some(attributes.is_folded);
        out.indices(Field(4, "attributeIndices"), &mut folded.into_iter());
        out
    };
    out.messages(Field(2, "locationTable"), &mut none().chain(tables.locations.all().iter().map(location)));
    let function = |function: &super::tables::Function| {
        let mut out = M::default();
        out.index(Field(1, "nameStrindex"), function.name);
        out.index(Field(2, "systemNameStrindex"), function.system_name);
        out.index(Field(3, "filenameStrindex"), function.file);
        out.int(Field(4, "startLine"), function.start_line);
        out
    };
    out.messages(Field(3, "functionTable"), &mut none().chain(tables.functions.all().iter().map(function)));
    let link = |(trace, span): &(u128, u128)| {
        let mut out = M::default();
        out.id(Field(1, "traceId"), *trace, TRACE_BYTES);
        out.id(Field(2, "spanId"), *span, SPAN_BYTES);
        out
    };
    out.messages(Field(4, "linkTable"), &mut none().chain(attributes.links.all()[1..].iter().map(link)));
    out.texts(Field(5, "stringTable"), &mut tables.texts.all());
    let attribute = |(at, attribute): (usize, &Attribute)| {
        let mut out = M::default();
        if at > 0 {
            out.index(KEY, attribute.key);
            out.message(VALUE, any_value(tables, attribute.value));
            out.index(UNIT, attribute.unit);
        }
        out
    };
    out.messages(Field(6, "attributeTable"), &mut attributes.table.all().iter().enumerate().map(attribute));
    let mut cursor = ListCursor::default();
    let stack = |number: u32| {
        let stack = tables.stacks.get(number, &mut cursor);
        let mut out = M::default();
        out.indices(Field(1, "locationIndices"), &mut stack.iter().rev().map(|location| location + 1));
        out
    };
    let stacks = (0..tables.stacks.len() as u32).map(stack);
    out.messages(Field(7, "stackTable"), &mut none().chain(stacks));
    out
}

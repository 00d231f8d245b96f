//! Puts OTLP's messages into pprof's model: the tables of all messages become one, and each profile's sample type
//! a column of values.

use std::collections::HashMap;

use super::data::{AnyValue, Attribute, Data, Dictionary, Profile, Resource, Sample, Scope};
use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::pprof_model::{self as model, FunctionLine, Model, RawLabel};
use crate::collapse::{CollapseOptions, Reading, Report, Sink};
use crate::error::{Error, Result};

/// The keys of a build id, the surest first.
const BUILD_IDS: &[&[u8]] = &[
    b"process.executable.build_id.gnu",
    b"process.executable.build_id.go",
    b"process.executable.build_id.htlhash",
];

/// The labels of a sample that is linked to a span of a trace.
const TRACE_ID: &[u8] = b"trace_id";
const SPAN_ID: &[u8] = b"span_id";

/// The knowledge of a mapping, by pprof's bits.
const HAS: &[&[u8]] = &[
    b"pprof.mapping.has_functions",
    b"pprof.mapping.has_filenames",
    b"pprof.mapping.has_line_numbers",
    b"pprof.mapping.has_inline_frames",
];

/// Fills a model, message by message.
pub struct Loader {
    pub(super) model: Model,
    numbers: HashMap<Vec<u8>, u64>,
    /// The mappings of all messages so far.
    mappings: u64,
    /// The files of mappings, by their numbers: path, and the build id that linkers give.
    #[cfg_attr(not(feature = "perf-data"), allow(dead_code))]
    pub(super) files: HashMap<u64, (model::Mapping, Option<Vec<u8>>)>,
    /// The locations of functions that were found here begin at this number.
    pub(super) found: u64,
    /// Remarks on files that were looked for.
    pub(super) notes: Vec<String>,
    /// The column of each sample type.
    columns: HashMap<(u64, u64), usize>,
    budget: Budget,
    /// Nanoseconds since 1970.
    end: i64,
    /// The formats and bytes of original payloads.
    payloads: Vec<(Vec<u8>, usize)>,
    about: About,
    resources: usize,
}

/// The facts that resources and scopes state, where all of them say the same.
#[derive(Default)]
struct About {
    host: Agreed,
    system: Agreed,
    command: Agreed,
    producer: Agreed,
}

/// A text on which all agree.
#[derive(Default)]
struct Agreed(Option<Vec<u8>>);

impl Agreed {
    fn note(&mut self, text: &[u8]) {
        match &mut self.0 {
            None => self.0 = Some(text.to_vec()),
            Some(known) if known == text => {}
            Some(known) => known.clear(),
        }
    }

    fn text(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

/// The places where the entries of a message begin in the model, and its texts there.
struct Base {
    texts: Vec<u64>,
    mappings: u64,
    locations: u64,
    functions: u64,
}

impl Loader {
    /// An empty model.
    pub fn new(options: &CollapseOptions, wants_labels: bool) -> Loader {
        let mut model = Model::new(options, wants_labels);
        model.texts.push(b"");
        Loader {
            model,
            numbers: HashMap::from([(Vec::new(), 0)]),
            mappings: 0,
            files: HashMap::new(),
            found: 0,
            notes: Vec::new(),
            columns: HashMap::new(),
            budget: Budget::default(),
            end: 0,
            payloads: Vec::new(),
            about: About::default(),
            resources: 0,
        }
    }

    /// Adds all messages.
    ///
    /// # Errors
    /// Indices of what is not there, and values and times that do not fit together.
    pub fn load(&mut self, messages: &[Data]) -> Result<()> {
        let mut bases = Vec::with_capacity(messages.len());
        for Data { dictionary, resources } in messages {
            let base = self.tables(dictionary)?;
            for profile in profiles(resources) {
                let kind = (text(&base, profile.sample_type.0)?, text(&base, profile.sample_type.1)?);
                let next = self.columns.len();
                if *self.columns.entry(kind).or_insert(next) == next {
                    self.model.types.push(kind);
                }
            }
            bases.push(base);
        }
        for (Data { dictionary, resources }, base) in messages.iter().zip(&bases) {
            for resource in resources {
                self.resources += 1;
                self.resource(dictionary, base, resource)?;
            }
        }
        self.model.find_marks()
    }

    /// Pushes everything into a sink.
    ///
    /// # Errors
    /// Those of [`Model::collapse`].
    pub fn collapse(
        &mut self,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        self.model.collapse(reading, sink, report)?;
        let facts = &mut report.facts;
        let About { host, system, command, producer } = &self.about;
        facts.host = crate::profile::fact(host.text()).or(facts.host.take());
        facts.system = crate::profile::fact(system.text()).or(facts.system.take());
        facts.producer = crate::profile::fact(producer.text()).or(facts.producer.take());
        // The first mapping is no more than the first library that was met.
        if !command.text().is_empty() || !self.model.holds_frames() {
            facts.set_command(command.text());
        }
        facts.comment("OTLP profiles v1development");
        self.notes.iter().for_each(|note| report.note(note.clone()));
        for (format, bytes) in &self.payloads {
            let format = String::from_utf8_lossy(format);
            report.details.push(format!("an original payload ({format}, {bytes} bytes) is left out"));
        }
        Ok(())
    }

    pub(super) fn text_number(&mut self, text: &[u8]) -> u64 {
        if let Some(&known) = self.numbers.get(text) {
            return known;
        }
        let number = self.numbers.len() as u64;
        self.model.texts.push(text);
        self.numbers.insert(text.to_vec(), number);
        number
    }

    /// Adds the tables of a message.
    fn tables(&mut self, dictionary: &Dictionary) -> Result<Base> {
        let base = Base {
            texts: dictionary.texts.iter().map(|text| self.text_number(text)).collect(),
            // Numbers in the model begin at 1: 0 is none.
            mappings: self.mappings + 1,
            locations: self.model.locations.len() as u64 + 1,
            functions: self.model.functions.len() as u64 + 1,
        };
        self.mappings += dictionary.mappings.len() as u64;
        // The first entry of each table stands for none.
        for (at, mapping) in (base.mappings..).zip(&dictionary.mappings) {
            let mut known = model::Mapping {
                start: mapping.start,
                limit: mapping.limit,
                offset: mapping.offset,
                file: text(&base, mapping.file)?,
                ..model::Mapping::default()
            };
            let (mut best, mut linked) = (BUILD_IDS.len(), None);
            for &index in &mapping.attributes {
                let attribute = entry("attributes", &dictionary.attributes, index)?;
                let key = entry("strings", &dictionary.texts, attribute.key)?;
                if let Some(at) = BUILD_IDS.iter().position(|name| name == key).filter(|at| *at < best) {
                    (best, known.build_id) = (at, self.value(&base, dictionary, &attribute.value)?);
                    linked = (at == 0).then(|| self.model.texts.get(known.build_id).map(<[u8]>::to_vec));
                }
                if let Some(bit) = HAS.iter().position(|name| name == key) {
                    known.has |= u8::from(attribute.value == AnyValue::Bool(true)) << bit;
                }
            }
            let is_none = at == base.mappings && mapping.limit == 0 && mapping.file == 0;
            if !is_none {
                self.files.insert(at, (known, linked.transpose()?));
                self.model.mapping(at, known);
            }
        }
        for (at, location) in (base.locations..).zip(&dictionary.locations) {
            let mut known = model::Location { address: location.address, ..model::Location::default() };
            if location.mapping > 0 {
                entry("mappings", &dictionary.mappings, location.mapping)?;
                known.mapping = base.mappings + location.mapping;
            }
            for line in &location.lines {
                let function = match line.function {
                    0 => 0,
                    index => {
                        entry("functions", &dictionary.functions, index)?;
                        base.functions + index
                    }
                };
                known.lines.push(FunctionLine { function, line: line.line, column: line.column });
            }
            for &index in &location.attributes {
                let attribute = entry("attributes", &dictionary.attributes, index)?;
                let key = entry("strings", &dictionary.texts, attribute.key)?;
                known.is_folded |=
                    key == b"pprof.location.is_folded" && attribute.value == AnyValue::Bool(true);
            }
            self.model.locations.insert(at, known);
        }
        for (at, function) in (base.functions..).zip(&dictionary.functions) {
            let known = model::Function {
                name: text(&base, function.name)?,
                system_name: text(&base, function.system_name)?,
                file: text(&base, function.file)?,
                start_line: function.start_line,
            };
            self.model.functions.insert(at, known);
        }
        Ok(base)
    }

    /// The number of the text of a value.
    fn value(&mut self, base: &Base, dictionary: &Dictionary, value: &AnyValue) -> Result<u64> {
        if let AnyValue::TextIndex(index) = value {
            return text(base, *index);
        }
        let mut out = Vec::new();
        let text = |index: u64| {
            let at = usize::try_from(index).unwrap_or(usize::MAX);
            dictionary.texts.get(at).cloned().unwrap_or_default()
        };
        value.write(&text, &mut out);
        Ok(self.text_number(&out))
    }

    fn resource(&mut self, dictionary: &Dictionary, base: &Base, resource: &Resource) -> Result<()> {
        let of_resource = self.labels(base, dictionary, &resource.attributes)?;
        for label in &of_resource {
            let (key, value) = (self.model.texts.get(label.key)?.to_vec(), self.model.texts.get(label.text)?);
            match &key[..] {
                b"host.name" => self.about.host.note(value),
                b"os.description" => self.about.system.note(value),
                b"process.command_line" | b"process.executable.path" => self.about.command.note(value),
                _ => {}
            }
        }
        for scope in &resource.scopes {
            self.scope(dictionary, base, scope, &of_resource)?;
        }
        Ok(())
    }

    fn scope(
        &mut self,
        dictionary: &Dictionary,
        base: &Base,
        scope: &Scope,
        labels: &[RawLabel],
    ) -> Result<()> {
        let mut of_scope = labels.to_vec();
        for attribute in self.labels(base, dictionary, &scope.attributes)? {
            match self.model.texts.get(attribute.key)? {
                b"pprof.scope.default_sample_type" => self.model.default_type = attribute.text,
                b"pprof.scope.sample_type_order" => {}
                _ => of_scope.push(attribute),
            }
        }
        if !scope.name.is_empty() {
            let version = if scope.version.is_empty() { &b""[..] } else { b" " };
            self.about.producer.note(&[&scope.name[..], version, &scope.version].concat());
        }
        scope.profiles.iter().try_for_each(|profile| self.profile(dictionary, base, profile, &of_scope))
    }

    /// The attributes of a resource or a scope as labels.
    fn labels(
        &mut self,
        base: &Base,
        dictionary: &Dictionary,
        attributes: &[Attribute],
    ) -> Result<Vec<RawLabel>> {
        let mut labels = Vec::with_capacity(attributes.len());
        for attribute in attributes {
            let key = match attribute.key_index {
                0 => self.text_number(&attribute.key),
                index => text(base, index)?,
            };
            labels.push(self.label(base, dictionary, key, &attribute.value, 0)?);
        }
        Ok(labels)
    }

    fn label(
        &mut self,
        base: &Base,
        dictionary: &Dictionary,
        key: u64,
        value: &AnyValue,
        unit: u64,
    ) -> Result<RawLabel> {
        Ok(match value {
            AnyValue::Int(number) => RawLabel { key, text: 0, number: *number, unit },
            value => RawLabel { key, text: self.value(base, dictionary, value)?, number: 0, unit: 0 },
        })
    }

    fn profile(
        &mut self,
        dictionary: &Dictionary,
        base: &Base,
        profile: &Profile,
        labels: &[RawLabel],
    ) -> Result<()> {
        let mut of_profile = labels.to_vec();
        for &index in &profile.attributes {
            let attribute = entry("attributes", &dictionary.attributes, index)?;
            let key = text(base, attribute.key)?;
            let unit = text(base, attribute.unit)?;
            let label = self.label(base, dictionary, key, &attribute.value, unit)?;
            let model = &mut self.model;
            match model.texts.get(key)? {
                b"pprof.profile.comment" => {
                    let comments = match &attribute.value {
                        AnyValue::List(list) => list
                            .iter()
                            .map(|one| self.value(base, dictionary, one))
                            .collect::<Result<Vec<_>>>()?,
                        _ => vec![label.text],
                    };
                    for comment in comments {
                        if !self.model.comments.contains(&comment) {
                            self.model.comments.push(comment);
                        }
                    }
                }
                b"pprof.profile.doc_url" => model.doc_url = label.text,
                b"pprof.profile.drop_frames" => model.drop_frames = label.text,
                b"pprof.profile.keep_frames" => model.keep_frames = label.text,
                _ => of_profile.push(label),
            }
        }
        self.times(base, profile)?;
        if !profile.payload_format.is_empty() || profile.payload > 0 {
            self.payloads.push((profile.payload_format.clone(), profile.payload));
        }
        let kind = (text(base, profile.sample_type.0)?, text(base, profile.sample_type.1)?);
        let column = self.columns[&kind];
        for sample in &profile.samples {
            self.sample(dictionary, base, sample, &of_profile, column)?;
        }
        Ok(())
    }

    /// The time of all profiles, and the period of the first that has one.
    fn times(&mut self, base: &Base, profile: &Profile) -> Result<()> {
        let model = &mut self.model;
        let start = i64::try_from(profile.time).unwrap_or(0);
        let end = start.saturating_add(i64::try_from(profile.duration).unwrap_or(0));
        if start > 0 {
            model.start = if model.start == 0 { start } else { model.start.min(start) };
            self.end = self.end.max(end);
            model.duration = self.end - model.start;
        } else {
            model.duration = model.duration.max(end);
        }
        if model.period == 0 && profile.period != 0 {
            model.period = profile.period;
            model.period_type = (text(base, profile.period_type.0)?, text(base, profile.period_type.1)?);
        }
        Ok(())
    }

    fn sample(
        &mut self,
        dictionary: &Dictionary,
        base: &Base,
        sample: &Sample,
        labels: &[RawLabel],
        column: usize,
    ) -> Result<()> {
        let stack = match (sample.stack, dictionary.stacks.is_empty()) {
            (0, true) => &[][..],
            (index, _) => entry("stacks", &dictionary.stacks, index)?,
        };
        let mut labels = labels.to_vec();
        if self.model.wants_labels() {
            for &index in &sample.attributes {
                let attribute = entry("attributes", &dictionary.attributes, index)?;
                let (key, unit) = (text(base, attribute.key)?, text(base, attribute.unit)?);
                labels.push(self.label(base, dictionary, key, &attribute.value, unit)?);
            }
            if sample.link > 0 {
                let link = entry("links", &dictionary.links, sample.link)?;
                for (key, id) in [(TRACE_ID, &link.trace), (SPAN_ID, &link.span)] {
                    if !id.is_empty() {
                        let (key, text) = (self.text_number(key), self.text_number(id));
                        labels.push(RawLabel { key, text, number: 0, unit: 0 });
                    }
                }
            }
        }
        let Sample { values, timestamps, .. } = sample;
        if !values.is_empty() && !timestamps.is_empty() && values.len() != timestamps.len() {
            let found = format!("{} values at {} times", values.len(), timestamps.len());
            return Err(Error::malformed("a value for each time of a sample", found.as_bytes()));
        }
        if !self.model.wants_labels() || timestamps.is_empty() {
            let sum = match values.is_empty() {
                // Each time counts one.
                true => i64::try_from(timestamps.len()).ok(),
                false => values.iter().try_fold(0i64, |sum, &value| sum.checked_add(value)),
            };
            let Some(sum) = sum else { return Err(crate::ErrorKind::Overflow.into()) };
            return self.push(dictionary, base, stack, labels, (column, sum));
        }
        let key = self.text_number(b"end_timestamp_ns");
        for (at, &time) in timestamps.iter().enumerate() {
            let mut labels = labels.clone();
            labels.push(RawLabel { key, text: 0, number: i64::try_from(time).unwrap_or(i64::MAX), unit: 0 });
            self.push(dictionary, base, stack, labels, (column, values.get(at).copied().unwrap_or(1)))?;
        }
        Ok(())
    }

    fn push(
        &mut self,
        dictionary: &Dictionary,
        base: &Base,
        stack: &[u64],
        labels: Vec<RawLabel>,
        (column, value): (usize, i64),
    ) -> Result<()> {
        self.budget.check(stack.len())?;
        self.budget.spend(stack.len() + self.columns.len())?;
        for &index in stack {
            entry("locations", &dictionary.locations, index)?;
            self.model.samples.location(base.locations + index);
        }
        for at in 0..self.columns.len() {
            self.model.samples.value(if at == column { value } else { 0 });
        }
        self.model.end_sample(labels);
        Ok(())
    }
}

fn profiles(resources: &[Resource]) -> impl Iterator<Item = &Profile> {
    resources.iter().flat_map(|resource| &resource.scopes).flat_map(|scope| &scope.profiles)
}

/// The number in the model of a text of a message.
fn text(base: &Base, index: u64) -> Result<u64> {
    if index == 0 && base.texts.is_empty() { Ok(0) } else { entry("strings", &base.texts, index).copied() }
}

/// The entry of a table.
fn entry<'t, T>(what: &str, table: &'t [T], index: u64) -> Result<&'t T> {
    let found = usize::try_from(index).ok().and_then(|at| table.get(at));
    found.ok_or_else(|| {
        let expected = format!("the index of one of {} {what}", table.len());
        Error::malformed(expected, index.to_string().as_bytes())
    })
}

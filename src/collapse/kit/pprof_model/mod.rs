//! A profile of pprof's model as it was read, whatever the file was: samples name locations, locations name
//! functions and mappings, and all of them name texts by number. Pushes it into a sink.

pub(crate) mod prune;
pub(crate) mod samples;

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use self::prune::{Left, Prune};
use self::samples::{Labels, LocationFrames, Origin, Samples, default_of, note_period};
use crate::collapse::kit::clean_symbol::clean_symbol;
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::naming::{kind_of, module_name};
use crate::collapse::kit::values::Values;
use crate::collapse::{CollapseOptions, Reading, Report, Sink, Value};
use crate::error::{Error, Result};
use crate::folded::{FrameId, Place, sanitize_frame};
use crate::profile::header::HeaderReader;
use crate::profile::{Exchange, Facts, exchange};
use crate::weight::Weight;

/// The comment of a profile whose names are frames of folded stacks, as `fg-render` leaves it.
const FRAMES_COMMENT: &[u8] = b"folded stacks, written by fg-render";

/// The origin of a sample.
#[derive(Default)]
pub struct Location {
    /// The number of the mapping; 0 stands for none.
    pub mapping: u64,
    pub address: u64,
    pub is_folded: bool,
    /// The innermost first.
    pub lines: Vec<FunctionLine>,
}

/// A function in a location, and the line there.
#[derive(Clone, Copy, Default)]
pub struct FunctionLine {
    /// The number of the function; 0 stands for none.
    pub function: u64,
    pub line: i64,
    pub column: i64,
}

/// A function, by the numbers of its texts.
#[derive(Clone, Copy, Default)]
pub struct Function {
    pub name: u64,
    pub system_name: u64,
    pub file: u64,
    pub start_line: i64,
}

/// A part of memory, by the numbers of its texts.
#[derive(Clone, Copy, Default)]
pub struct Mapping {
    pub start: u64,
    pub limit: u64,
    pub offset: u64,
    pub file: u64,
    pub build_id: u64,
    /// Functions, files, lines and inlined frames are known: bits 0 to 3.
    pub has: u8,
}

/// A sample's label, by the numbers of its texts; without a text it is a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RawLabel {
    pub key: u64,
    pub text: u64,
    pub number: i64,
    pub unit: u64,
}

/// Texts by number.
#[derive(Default)]
pub struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    /// Adds the next text.
    pub fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
    }

    /// The text of a number.
    pub fn get(&self, number: u64) -> Result<&[u8]> {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        let Some(&end) = self.ends.get(at) else {
            let expected = format!("the number of one of {} strings", self.ends.len());
            return Err(Error::malformed(expected, number.to_string().as_bytes()));
        };
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        Ok(&self.bytes[start..end])
    }

    /// The text of a number, of which 0 is none.
    pub fn get_or_none(&self, number: u64) -> Result<&[u8]> {
        if number == 0 { Ok(b"") } else { self.get(number) }
    }
}

/// A profile as it was read.
#[derive(Default)]
pub struct Model {
    /// Numbers of texts: type and unit.
    pub types: Vec<(u64, u64)>,
    pub period_type: (u64, u64),
    pub period: i64,
    /// Nanoseconds since 1970.
    pub start: i64,
    /// Nanoseconds.
    pub duration: i64,
    pub default_type: u64,
    /// Expressions for the frames to leave out, and for those of them that stay.
    pub drop_frames: u64,
    pub keep_frames: u64,
    pub comments: Vec<u64>,
    pub doc_url: u64,
    pub samples: Samples,
    pub locations: HashMap<u64, Location>,
    pub functions: HashMap<u64, Function>,
    pub texts: Texts,
    /// Its names are frames already: our own writer says so.
    holds_frames: bool,
    /// The labels of samples, where they are wanted.
    origins: HashMap<Vec<RawLabel>, usize>,
    wants_labels: bool,
    shows_threads: bool,
    /// In the order of the file; the first one is the program itself.
    mappings: Vec<Mapping>,
    mapping_numbers: HashMap<u64, usize>,
}

impl Model {
    /// An empty profile, of which labels are kept if they are wanted.
    pub fn new(options: &CollapseOptions, wants_labels: bool) -> Model {
        let shows_threads = options.shows_threads(false);
        Model { shows_threads, wants_labels: wants_labels || shows_threads, ..Model::default() }
    }

    /// Returns true if the labels of samples are kept.
    pub fn wants_labels(&self) -> bool {
        self.wants_labels
    }

    /// Adds a mapping of a number.
    pub fn mapping(&mut self, id: u64, mapping: Mapping) {
        self.mapping_numbers.insert(id, self.mappings.len());
        self.mappings.push(mapping);
    }

    /// Adds to what is known of a mapping: functions, files, lines and inlined frames are bits 0 to 3.
    #[cfg_attr(not(feature = "perf-data"), allow(dead_code))]
    pub fn known_mapping(&mut self, id: u64, has: u8) {
        if let Some(mapping) = self.mapping_numbers.get(&id).and_then(|at| self.mappings.get_mut(*at)) {
            mapping.has |= has;
        }
    }

    /// Ends the sample being read, which has these labels.
    pub fn end_sample(&mut self, labels: Vec<RawLabel>) {
        let next = self.origins.len();
        let origin = if self.wants_labels { *self.origins.entry(labels).or_insert(next) } else { 0 };
        self.samples.end(origin);
    }

    /// Returns true if the names are frames, as our own writer leaves them.
    pub fn holds_frames(&self) -> bool {
        self.holds_frames
    }

    /// Finds the marks that our own writer leaves in comments.
    pub fn find_marks(&mut self) -> Result<()> {
        for &comment in &self.comments {
            self.holds_frames |= self.texts.get(comment)? == FRAMES_COMMENT;
        }
        Ok(())
    }

    fn value(&self, (name, unit): (u64, u64)) -> Result<Value> {
        let unit = String::from_utf8_lossy(self.texts.get(unit)?);
        Ok(Value::with_producers_unit(self.texts.get(name)?, &unit))
    }

    /// Pushes all samples into a sink; none are left here.
    ///
    /// # Errors
    /// References to what is not there, [`crate::ErrorKind::Overflow`], and the sink's.
    pub fn collapse(
        &mut self,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let types = self.types.iter().map(|&kind| self.value(kind)).collect::<Result<Vec<_>>>()?;
        if types.is_empty() {
            return Err(Error::malformed("at least one sample type", b"none"));
        }
        let named = self.texts.get_or_none(self.default_type)?;
        let default = default_of(&types, named);
        let columns = types.len();
        let values = Values::holding(reading, types, default, |at| self.samples.holds(at), report)?;
        self.facts(&values, report)?;
        // What is counted are samples then, of no type that the profile has.
        let mut exchange = sink.exchange().filter(|_| !reading.count);
        let keeps_all = exchange.as_ref().is_some_and(|exchange| !exchange.prunes);
        let prune = if keeps_all { Ok(None) } else { self.prune()? };
        let prune = prune.unwrap_or_else(|problem| {
            report.warn(format!("{problem}: the profile's frames stay as they are"));
            None
        });
        let chosen = exchange.as_deref_mut().map(|store| self.begin_exchange(store, reading)).transpose()?;
        let mappings = match exchange {
            Some(exchange) => self.exchange_mappings(exchange)?,
            None => Vec::new(),
        };
        let mut namer = Namer {
            model: self,
            options: reading,
            names: FrameNames::default(),
            mappings,
            exchanges: chosen.is_some(),
        };
        let mut frames = Vec::new();
        for id in self.samples.locations() {
            let Some(location) = self.locations.get(id) else {
                return Err(Error::malformed("a location that is in the profile", id.to_string().as_bytes()));
            };
            let (left, inner) = match &prune {
                Some(prune) => prune.judge(&self.function_names(location)?),
                None => (Left::All, 0),
            };
            frames.push(LocationFrames { frames: namer.frames(location, inner, sink)?, left });
        }
        let no_stack = namer.no_stack(sink);
        let mut origins: Vec<Origin> = Vec::new();
        origins.resize_with(self.origins.len(), Origin::default);
        let needs_texts = self.shows_threads || sink.wants().contexts;
        for (raw, &at) in self.origins.iter().filter(|_| needs_texts) {
            let mut labels = Labels::default();
            for label in raw {
                self.note(label, &mut labels)?;
            }
            let frame = if self.shows_threads { labels.frame(reading, &mut namer.names, sink) } else { None };
            origins[at] = Origin { frame, labels, exchanged: 0 };
        }
        if chosen.is_some() {
            self.exchange_labels(&mut origins, sink)?;
        }
        // Frames know all that samples name: the memory is for what becomes of them.
        (self.locations, self.functions, self.texts) = Default::default();
        let samples = std::mem::take(&mut self.samples);
        samples.collapse(values, columns, (&frames, &origins, no_stack), chosen.as_deref(), sink, report)
    }

    fn prune(&self) -> Result<Result<Option<Prune>, String>> {
        let (drop, keep) = (self.drop_frames, self.keep_frames);
        Ok(Prune::new(self.texts.get_or_none(drop)?, self.texts.get_or_none(keep)?))
    }

    /// A label as text.
    fn note(&self, label: &RawLabel, labels: &mut Labels) -> Result<()> {
        let &RawLabel { key, text, number, unit } = label;
        let key = self.texts.get(key)?;
        match (text, unit) {
            (0, 0) => labels.note(key, number.to_string().as_bytes()),
            (0, unit) => {
                labels.note(key, &[number.to_string().as_bytes(), b" ", self.texts.get(unit)?].concat());
            }
            (text, _) => labels.note(key, self.texts.get(text)?),
        }
        Ok(())
    }

    /// Begins the exchange of this profile, and returns the columns that were chosen.
    fn begin_exchange(&self, exchange: &mut Exchange, options: &CollapseOptions) -> Result<Vec<usize>> {
        use crate::collapse::ValueSelection;
        let mut text = |number| Ok::<_, Error>(exchange.text(self.texts.get_or_none(number)?));
        let mut head = exchange::Head {
            default_type: text(self.default_type)?,
            period_type: (text(self.period_type.0)?, text(self.period_type.1)?),
            period: self.period,
            start: self.start,
            duration: self.duration,
            drop_frames: text(self.drop_frames)?,
            keep_frames: text(self.keep_frames)?,
            doc_url: text(self.doc_url)?,
            comments: self.comments.iter().map(|&comment| text(comment)).collect::<Result<_>>()?,
        };
        let (mut types, mut chosen) = (Vec::new(), Vec::new());
        for (at, &(name, unit)) in self.types.iter().enumerate() {
            let is_chosen = match &options.values {
                ValueSelection::Default | ValueSelection::All => true,
                ValueSelection::Named(names) => {
                    names.iter().any(|n| self.texts.get(name).is_ok_and(|t| t == n))
                }
            };
            if is_chosen {
                types.push((text(name)?, text(unit)?));
                chosen.push(at);
            }
        }
        if !types.iter().any(|(name, _)| *name == head.default_type) {
            head.default_type = 0;
        }
        exchange.begin(&types, head);
        Ok(chosen)
    }

    fn exchange_mappings(&self, exchange: &mut Exchange) -> Result<Vec<(u32, u64)>> {
        let each = |mapping: &Mapping| {
            let &Mapping { start, limit, offset, file, build_id, has } = mapping;
            let file = exchange.text(self.texts.get_or_none(file)?);
            let build_id = exchange.text(self.texts.get_or_none(build_id)?);
            Ok(exchange.mapping(exchange::Mapping { start, limit, offset, file, build_id, has }))
        };
        self.mappings.iter().map(each).collect()
    }

    fn exchange_labels(&self, origins: &mut [Origin], sink: &mut dyn Sink) -> Result<()> {
        let Some(exchange) = sink.exchange() else { return Ok(()) };
        let mut ordered: Vec<(&Vec<RawLabel>, usize)> =
            self.origins.iter().map(|(raw, &at)| (raw, at)).collect();
        ordered.sort_unstable_by_key(|(_, at)| *at);
        let mut labels = Vec::new();
        for (raw, at) in ordered {
            labels.clear();
            for &RawLabel { key, text, number, unit } in raw {
                let key = exchange.text(self.texts.get_or_none(key)?);
                let value = match text {
                    0 => {
                        let unit = exchange.text(self.texts.get_or_none(unit)?);
                        exchange::LabelValue::Number(number, unit)
                    }
                    text => exchange::LabelValue::Text(exchange.text(self.texts.get(text)?)),
                };
                labels.push(exchange::Label { key, value });
            }
            origins[at].exchanged = exchange.labels(&labels);
        }
        Ok(())
    }

    /// Notes what the profile says of itself.
    fn facts(&self, values: &Values, report: &mut Report) -> Result<()> {
        note_period(values, &self.value(self.period_type)?, Weight::new(self.period.into()), report);
        let facts = &mut report.facts;
        // Writers that do not know leave 0, and a negative number is no time.
        let time = |nanos: i64| u64::try_from(nanos).ok().filter(|nanos| *nanos > 0);
        facts.start = time(self.start)
            .and_then(|nanos| SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(nanos)));
        facts.duration = time(self.duration).map(Duration::from_nanos);
        let program = self.mappings.first().map_or(Ok(&b""[..]), |mapping| self.texts.get(mapping.file))?;
        if !program.starts_with(b"[") && !program.starts_with(b"//") {
            facts.set_command(program);
        }
        // Facts without a field of their own are comments of ours, as in the header of folded text.
        let mut stated = HeaderReader::default();
        for &comment in &self.comments {
            let comment = self.texts.get(comment)?;
            let line = [b"# ", comment].concat();
            if self.holds_frames && HeaderReader::is_header(&line) {
                stated.read(&line)?;
            } else if comment != FRAMES_COMMENT {
                facts.comment(comment);
            }
        }
        if self.holds_frames {
            let (period, start, duration) = (facts.period, facts.start, facts.duration);
            let comments = std::mem::take(&mut facts.comments);
            *facts = Facts { period, start, duration, comments, ..stated.finish() };
        }
        Ok(())
    }

    /// The names of the functions of a location, the innermost first.
    fn function_names(&self, location: &Location) -> Result<Vec<&[u8]>> {
        let name =
            |line: &FunctionLine| self.function(line.function).and_then(|function| self.name(function));
        location.lines.iter().map(name).collect()
    }

    /// The function of a number; 0 stands for none.
    fn function(&self, id: u64) -> Result<Function> {
        match self.functions.get(&id) {
            Some(function) => Ok(*function),
            None if id == 0 => Ok(Function::default()),
            None => Err(Error::malformed("a function that is in the profile", id.to_string().as_bytes())),
        }
    }

    fn name(&self, function: Function) -> Result<&[u8]> {
        match self.texts.get_or_none(function.name)? {
            b"" => self.texts.get_or_none(function.system_name),
            name => Ok(name),
        }
    }

    /// The path of the mapping of a location.
    fn path(&self, location: &Location) -> Result<&[u8]> {
        match self.mapping_numbers.get(&location.mapping) {
            Some(&at) => self.texts.get(self.mappings[at].file),
            None => Ok(b""),
        }
    }

    /// The place of a function in a location.
    fn place(&self, location: &Location, function: Function, line: i64, inlined: bool) -> Result<Place<'_>> {
        let path = self.path(location)?;
        let path = if path == b"//anon" { b"" } else { path };
        Ok(Place {
            module: module_name(path),
            file: self.texts.get(function.file)?,
            line: u32::try_from(line).unwrap_or(0),
            start_line: u32::try_from(function.start_line).unwrap_or(0),
            kind: kind_of(path, b""),
            inlined,
            code: 0,
        })
    }
}

/// Makes the frames of locations.
struct Namer<'m> {
    model: &'m Model,
    options: &'m CollapseOptions,
    names: FrameNames,
    /// The mappings in the exchange, and the distances of addresses there.
    mappings: Vec<(u32, u64)>,
    exchanges: bool,
}

impl Namer<'_> {
    /// The frames of a location, root first: a function, and what was inlined into it. The `inner`
    /// innermost ones are left out.
    fn frames(&mut self, location: &Location, inner: usize, sink: &mut dyn Sink) -> Result<Vec<FrameId>> {
        let number = match sink.exchange().filter(|_| self.exchanges) {
            Some(exchange) => {
                let mapping = self.model.mapping_numbers.get(&location.mapping).map(|&at| self.mappings[at]);
                let address = location.address.wrapping_add(mapping.map_or(0, |(_, shift)| shift));
                let is_folded = location.is_folded;
                exchange.location(exchange::Location {
                    mapping: mapping.map(|(at, _)| at),
                    address,
                    is_folded,
                })
            }
            None => 0,
        };
        let lines = &location.lines[inner..];
        let mut frames = Vec::with_capacity(lines.len().max(1));
        for (at, line) in lines.iter().enumerate().rev() {
            let inlined = at + 1 < lines.len();
            frames.push(self.frame(location, number, (at as u32, line, inlined), sink)?);
        }
        if frames.is_empty() {
            let code = self.code(number, 0, exchange::CodeKind::Address, sink);
            frames.push(self.nameless(location, code, sink)?);
        }
        Ok(frames)
    }

    /// The frame of a line of a location.
    fn frame(
        &mut self,
        location: &Location,
        number: u32,
        (at, line, inlined): (u32, &FunctionLine, bool),
        sink: &mut dyn Sink,
    ) -> Result<FrameId> {
        let (model, options) = (self.model, self.options);
        let function = model.function(line.function)?;
        let mut code = None;
        if let Some(exchange) = sink.exchange().filter(|_| self.exchanges) {
            let mut text = |number| Ok::<_, Error>(exchange.text(model.texts.get_or_none(number)?));
            let known = exchange::Function {
                name: text(function.name)?,
                system_name: text(function.system_name)?,
                file: text(function.file)?,
                start_line: function.start_line,
            };
            let function = (line.function != 0).then_some(known);
            let kind = exchange::CodeKind::Line { function, line: line.line, column: line.column };
            code = self.code(number, at, kind, sink);
        }
        let name = model.name(function)?;
        if name.is_empty() {
            return self.nameless(location, code, sink);
        }
        let file = if options.srcline { model.texts.get(function.file)? } else { b"" };
        let place = match sink.wants().places {
            true => model.place(location, function, line.line, inlined)?,
            false => Place::default(),
        };
        let line = line.line;
        Ok(self.build(&place, code, sink, |out| {
            match model.holds_frames {
                true => sanitize_frame(name, out),
                false => clean_symbol(name, out),
            }
            if !file.is_empty() {
                out.extend_from_slice(b" (");
                sanitize_frame(file, out);
                if line > 0 {
                    out.extend_from_slice(format!(":{line}").as_bytes());
                }
                out.push(b')');
            }
            if inlined && options.inline {
                out.extend_from_slice(b"_[i]");
            }
        }))
    }

    /// A place without a name: the module, and the address if it is wanted.
    fn nameless(
        &mut self,
        location: &Location,
        code: Option<exchange::Code>,
        sink: &mut dyn Sink,
    ) -> Result<FrameId> {
        let path = self.model.path(location)?;
        let place = Place { module: module_name(path), kind: kind_of(path, b""), ..Place::default() };
        let (address, options) = (location.address, self.options);
        Ok(self.build(&place, code, sink, |out| FrameNames::write_module(path, address, options, out)))
    }

    /// The frame of samples without a stack.
    fn no_stack(&mut self, sink: &mut dyn Sink) -> FrameId {
        let code = self.code(0, 0, exchange::CodeKind::NoStack, sink);
        self.build(&Place::default(), code, sink, |out| out.extend_from_slice(NO_STACK))
    }

    /// A line of code for the exchange, if there is one.
    fn code(
        &self,
        location: u32,
        at: u32,
        kind: exchange::CodeKind,
        sink: &mut dyn Sink,
    ) -> Option<exchange::Code> {
        let is_wanted = self.exchanges && sink.exchange().is_some();
        is_wanted.then_some(exchange::Code { location, at, shown: 0, kind })
    }

    /// A frame, and its line of code.
    fn build(
        &mut self,
        place: &Place<'_>,
        code: Option<exchange::Code>,
        sink: &mut dyn Sink,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> FrameId {
        self.names.build_as(sink, write, |name, sink| match (code, sink.exchange()) {
            (Some(code), Some(exchange)) => {
                let code = exchange::Code { shown: exchange.text(name), ..code };
                Place { code: exchange.code(code), ..*place }
            }
            _ => *place,
        })
    }
}

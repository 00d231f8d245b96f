//! profile.proto: pprof's profiles as Go writes them, and many converters (austin2pprof, …).
//!
//! A protocol buffer, in most files gzipped. Its eight messages are specified in
//! github.com/google/pprof, `proto/profile.proto`; numbers of fields below are from there.
//! [`raw`] is the text that `go tool pprof -raw` prints of it, [`go_text`] the texts that Go's
//! `debug=1` prints instead.
//!
//! The file is read field by field in one stream; what is kept are the numbers of the samples and
//! the names, in about the file's own size.

pub mod go_text;
pub mod goroutines;
mod profile;
mod prune;
pub mod raw;
pub(in crate::collapse) mod wire;

use std::collections::HashMap;

use self::profile::{Labels, LocationFrames, Origin, Samples, default_of, note_period};
use self::prune::{Left, Prune};
use self::wire::{Content, Fields, numbers, read_field};
use super::names::FrameNames;
use super::naming::{kind_of, module_name};
use super::values::Values;
use super::{Collapser, FormatInfo, Options, Report, Sink, Value, Verdict};
use crate::error::{Error, Position, Result};
use crate::folded::{FrameId, Place, sanitize_frame};
use crate::input::Input;
use crate::profile::Facts;
use crate::profile::header::HeaderReader;
use crate::weight::Weight;
use std::time::{Duration, SystemTime};

const INFO: FormatInfo = FormatInfo {
    name: "pprof",
    producer: "Go, austin2pprof, any writer of profile.proto",
    tested: "Go 1.19, austin2pprof 2.4",
    values: "the profile's sample types",
    unit: "the sample type's",
};

/// The comment of a profile whose names are frames of folded stacks, as `fg-render` leaves it.
const FRAMES_COMMENT: &[u8] = b"folded stacks, written by fg-render";

/// Collapses profile.proto.
pub struct Pprof;

impl Collapser for Pprof {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Verdict {
        let cut = head.len() >= crate::input::HEAD;
        let mut types = 0;
        for field in Fields(head) {
            match field {
                Some((1 | 11, Content::Bytes(bytes))) if is_value_type(bytes) => types += 1,
                Some((2..=6, Content::Bytes(_))) => {}
                Some((13, _)) => {}
                Some((7..=10 | 12 | 14 | 15, Content::Number(_))) => {}
                // The head ends within a field.
                None if cut && types > 0 => break,
                _ => return Verdict::No,
            }
        }
        if types > 0 { Verdict::Yes } else { Verdict::No }
    }

    fn collapse(
        &self,
        input: Input,
        options: &Options,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let name = input.name().clone();
        let profile = read(input, options, sink.wants().contexts)?;
        profile.collapse(options, sink, report).map_err(|e| e.or_at(|| Position::file(name)))
    }
}

/// `ValueType { type = 1, unit = 2 }`, both numbers of strings.
fn is_value_type(bytes: &[u8]) -> bool {
    !bytes.is_empty() && Fields(bytes).all(|field| matches!(field, Some((1 | 2, Content::Number(_)))))
}

#[derive(Default)]
struct Location {
    mapping: u64,
    address: u64,
    /// Function and line, the innermost first.
    lines: Vec<(u64, i64)>,
}

#[derive(Clone, Copy, Default)]
struct Function {
    name: u64,
    system_name: u64,
    file: u64,
    start_line: u64,
}

/// A sample's labels, by the numbers of their texts: key, text, number, the number's unit.
type RawLabel = (u64, u64, u64, u64);

#[derive(Default)]
struct Profile {
    /// Numbers of texts: type and unit.
    types: Vec<(u64, u64)>,
    period_type: (u64, u64),
    period: i64,
    /// Nanoseconds since 1970.
    start: u64,
    /// Nanoseconds.
    duration: u64,
    default_type: u64,
    /// Expressions for the frames to leave out, and for those of them that stay.
    drop_frames: u64,
    keep_frames: u64,
    comments: Vec<u64>,
    /// Its names are frames already: our own writer says so.
    holds_frames: bool,
    samples: Samples,
    /// The labels of samples, where they are wanted.
    origins: HashMap<Vec<RawLabel>, usize>,
    wants_labels: bool,
    shows_threads: bool,
    locations: HashMap<u64, Location>,
    functions: HashMap<u64, Function>,
    /// The file of each mapping.
    mappings: HashMap<u64, u64>,
    /// The file of the first mapping, which is the program itself.
    program: Option<u64>,
    strings: Vec<u8>,
    string_ends: Vec<usize>,
}

/// Reads a whole profile.
fn read(input: Input, options: &Options, wants_labels: bool) -> Result<Profile> {
    let mut reader = input.into_reader();
    let shows_threads = options.shows_threads(false);
    let mut profile =
        Profile { shows_threads, wants_labels: wants_labels || shows_threads, ..Profile::default() };
    let mut buffer = Vec::new();
    loop {
        let place = reader.place();
        match read_field(&mut reader, &mut buffer)? {
            Some((6, None)) => {
                profile.strings.extend_from_slice(&buffer);
                profile.string_ends.push(profile.strings.len());
            }
            Some((number, value)) => {
                let content = value.map_or(Content::Bytes(&buffer), Content::Number);
                if profile.field(number, content).is_none() {
                    let expected = format!("field {number} of profile.proto");
                    return Err(Error::malformed(expected, b"damaged bytes").at(place));
                }
            }
            None => break,
        }
    }
    for &comment in &profile.comments {
        profile.holds_frames |= profile.text(comment)? == FRAMES_COMMENT;
    }
    Ok(profile)
}

impl Profile {
    /// A field of the outermost message but for strings; `None` if it is damaged.
    fn field(&mut self, number: u32, content: Content<'_>) -> Option<()> {
        match (number, content) {
            (1, Content::Bytes(bytes)) => self.types.push(value_type(bytes)?),
            (2, Content::Bytes(bytes)) => self.sample(bytes)?,
            (3, Content::Bytes(bytes)) => {
                let mut mapping = [0; 6];
                message(bytes, &mut mapping)?;
                let [_, id, _, _, _, file] = mapping;
                self.mappings.insert(id, file);
                self.program.get_or_insert(file);
            }
            (4, Content::Bytes(bytes)) => self.location(bytes)?,
            (5, Content::Bytes(bytes)) => {
                let mut function = [0; 6];
                message(bytes, &mut function)?;
                let [_, id, name, system_name, file, start_line] = function;
                self.functions.insert(id, Function { name, system_name, file, start_line });
            }
            (7, Content::Number(text)) => self.drop_frames = text,
            (8, Content::Number(text)) => self.keep_frames = text,
            (9, Content::Number(start)) => self.start = start,
            (10, Content::Number(duration)) => self.duration = duration,
            (11, Content::Bytes(bytes)) => self.period_type = value_type(bytes)?,
            (12, Content::Number(period)) => self.period = period as i64,
            (13, content) => numbers(content, |text| self.comments.push(text))?,
            (14, Content::Number(name)) => self.default_type = name,
            (1..=6, _) => return None,
            // Fields that later versions may add.
            _ => {}
        }
        Some(())
    }

    fn sample(&mut self, bytes: &[u8]) -> Option<()> {
        let mut labels: Vec<RawLabel> = Vec::new();
        for field in Fields(bytes) {
            match field? {
                (1, content) => numbers(content, |id| self.samples.location(id))?,
                (2, content) => numbers(content, |value| self.samples.value(value as i64))?,
                (3, Content::Bytes(bytes)) if self.wants_labels => {
                    let mut label = [0; 5];
                    message(bytes, &mut label)?;
                    let [_, key, text, number, unit] = label;
                    labels.push((key, text, number, unit));
                }
                _ => {}
            }
        }
        let next = self.origins.len();
        let origin = if self.wants_labels { *self.origins.entry(labels).or_insert(next) } else { 0 };
        self.samples.end(origin);
        Some(())
    }

    fn location(&mut self, bytes: &[u8]) -> Option<()> {
        let (mut id, mut location) = (0, Location::default());
        for field in Fields(bytes) {
            match field? {
                (1, Content::Number(number)) => id = number,
                (2, Content::Number(number)) => location.mapping = number,
                (3, Content::Number(number)) => location.address = number,
                (4, Content::Bytes(bytes)) => {
                    let mut line = [0; 3];
                    message(bytes, &mut line)?;
                    location.lines.push((line[1], line[2] as i64));
                }
                _ => {}
            }
        }
        self.locations.insert(id, location);
        Some(())
    }

    fn text(&self, number: u64) -> Result<&[u8]> {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        let Some(&end) = self.string_ends.get(at) else {
            let expected = format!("the number of one of {} strings", self.string_ends.len());
            return Err(Error::malformed(expected, number.to_string().as_bytes()));
        };
        let start = at.checked_sub(1).map_or(0, |before| self.string_ends[before]);
        Ok(&self.strings[start..end])
    }

    /// The text of a number, of which 0 is none.
    fn text_or_none(&self, number: u64) -> Result<&[u8]> {
        if number == 0 { Ok(b"") } else { self.text(number) }
    }

    fn value(&self, (name, unit): (u64, u64)) -> Result<Value> {
        let unit = String::from_utf8_lossy(self.text(unit)?);
        Ok(Value::with_producers_unit(self.text(name)?, &unit))
    }

    fn collapse(&self, options: &Options, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        let types = self.types.iter().map(|&kind| self.value(kind)).collect::<Result<Vec<_>>>()?;
        if types.is_empty() {
            return Err(Error::malformed("at least one sample type", b"none"));
        }
        let named = self.text_or_none(self.default_type)?;
        let default = default_of(&types, named);
        let columns = types.len();
        let values = Values::holding(options, types, default, |at| self.samples.holds(at, columns), report)?;
        self.facts(&values, report)?;
        let prune = Prune::new(self.text_or_none(self.drop_frames)?, self.text_or_none(self.keep_frames)?);
        let prune = prune.unwrap_or_else(|problem| {
            report.warn(format!("{problem}: the profile's frames stay as they are"));
            None
        });
        let mut names = FrameNames::default();
        let mut frames = Vec::new();
        for id in self.samples.locations() {
            let Some(location) = self.locations.get(id) else {
                return Err(Error::malformed("a location that is in the profile", id.to_string().as_bytes()));
            };
            let (left, inner) = match &prune {
                Some(prune) => prune.judge(&self.function_names(location)?),
                None => (Left::All, 0),
            };
            let frames_of = self.frames(location, &location.lines[inner..], options, &mut names, sink)?;
            frames.push(LocationFrames { frames: frames_of, left });
        }
        let mut origins: Vec<Origin> = Vec::new();
        origins.resize_with(self.origins.len(), Origin::default);
        for (raw, &at) in &self.origins {
            let mut labels = Labels::default();
            for &(key, text, number, unit) in raw {
                match (text, unit) {
                    (0, 0) => labels.note(self.text(key)?, (number as i64).to_string().as_bytes()),
                    (0, unit) => {
                        let value = [(number as i64).to_string().as_bytes(), b" ", self.text(unit)?].concat();
                        labels.note(self.text(key)?, &value);
                    }
                    (text, _) => labels.note(self.text(key)?, self.text(text)?),
                }
            }
            let frame = if self.shows_threads { labels.frame(options, &mut names, sink) } else { None };
            origins[at] = Origin { frame, labels };
        }
        self.samples.collapse(values, columns, (&frames, &origins), sink, report)
    }

    /// Notes what the profile says of itself.
    fn facts(&self, values: &Values, report: &mut Report) -> Result<()> {
        note_period(values, &self.value(self.period_type)?, Weight::new(self.period.into()), report);
        let facts = &mut report.facts;
        // Writers that do not know leave 0, and a negative number is no time.
        let time = |nanos: u64| i64::try_from(nanos).ok().filter(|nanos| *nanos > 0).map(|n| n as u64);
        facts.start = time(self.start)
            .and_then(|nanos| SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(nanos)));
        facts.duration = time(self.duration).map(Duration::from_nanos);
        let program = self.program.map_or(Ok(&b""[..]), |file| self.text(file))?;
        if !program.starts_with(b"[") && !program.starts_with(b"//") {
            facts.set_command(program);
        }
        // Facts without a field of their own are comments of ours, as in the header of folded text.
        let mut stated = HeaderReader::default();
        for &comment in &self.comments {
            let comment = self.text(comment)?;
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

    /// The place of a function in a location.
    fn place(&self, location: &Location, function: Function, line: i64, inlined: bool) -> Result<Place<'_>> {
        let path = match self.mappings.get(&location.mapping) {
            Some(&file) => self.text(file)?,
            None => b"",
        };
        let path = if path == b"//anon" { b"" } else { path };
        Ok(Place {
            module: module_name(path),
            file: self.text(function.file)?,
            line: u32::try_from(line).unwrap_or(0),
            start_line: u32::try_from(function.start_line).unwrap_or(0),
            kind: kind_of(path, b""),
            inlined,
        })
    }

    /// The names of the functions of a location, the innermost first.
    fn function_names(&self, location: &Location) -> Result<Vec<&[u8]>> {
        let name = |(id, _): &(u64, i64)| self.function(*id).and_then(|function| self.name(function));
        location.lines.iter().map(name).collect()
    }

    /// The function of a number; 0 is none.
    fn function(&self, id: u64) -> Result<Function> {
        match self.functions.get(&id) {
            Some(function) => Ok(*function),
            None if id == 0 => Ok(Function::default()),
            None => Err(Error::malformed("a function that is in the profile", id.to_string().as_bytes())),
        }
    }

    fn name(&self, function: Function) -> Result<&[u8]> {
        match self.text_or_none(function.name)? {
            b"" => self.text_or_none(function.system_name),
            name => Ok(name),
        }
    }

    /// The frames of the lines of a location, root first: a function, and what was inlined into it.
    fn frames(
        &self,
        location: &Location,
        lines: &[(u64, i64)],
        options: &Options,
        names: &mut FrameNames,
        sink: &mut dyn Sink,
    ) -> Result<Vec<FrameId>> {
        let mut frames = Vec::with_capacity(lines.len().max(1));
        let places = sink.wants().places;
        for (at, &(id, line)) in lines.iter().enumerate().rev() {
            let inlined = at + 1 < lines.len();
            let function = self.function(id)?;
            let name = self.name(function)?;
            if name.is_empty() {
                frames.push(self.nameless(location, options, names, sink)?);
                continue;
            }
            let file = if options.srcline { self.text(function.file)? } else { b"" };
            let place = match places {
                true => self.place(location, function, line, inlined)?,
                false => Place::default(),
            };
            frames.push(names.build_at(&place, sink, |out| {
                match self.holds_frames {
                    true => sanitize_frame(name, out),
                    false => super::clean_symbol::clean_symbol(name, out),
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
            }));
        }
        if frames.is_empty() {
            frames.push(self.nameless(location, options, names, sink)?);
        }
        Ok(frames)
    }

    /// A place without a name: the module, and the address if it is wanted.
    fn nameless(
        &self,
        location: &Location,
        options: &Options,
        names: &mut FrameNames,
        sink: &mut dyn Sink,
    ) -> Result<FrameId> {
        let path = match self.mappings.get(&location.mapping) {
            Some(&file) => self.text(file)?,
            None => b"",
        };
        Ok(names.module(path, location.address, options, sink))
    }
}

fn value_type(bytes: &[u8]) -> Option<(u64, u64)> {
    let mut fields = [0; 3];
    message(bytes, &mut fields)?;
    Some((fields[1], fields[2]))
}

/// The numbers in a message by the numbers of their fields.
fn message(bytes: &[u8], fields: &mut [u64]) -> Option<()> {
    for field in Fields(bytes) {
        if let (number, Content::Number(value)) = field?
            && let Some(field) = fields.get_mut(number as usize)
        {
            *field = value;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::StackTable;

    /// A field of bytes.
    fn bytes(number: u8, content: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2];
        put(content.len() as u64, &mut out);
        out.extend_from_slice(content);
        out
    }

    /// A field of a number.
    fn number(field: u8, value: u64) -> Vec<u8> {
        let mut out = vec![field << 3];
        put(value, &mut out);
        out
    }

    fn put(mut value: u64, out: &mut Vec<u8>) {
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }

    /// A profile of one sample: the location of this id, which holds the lines, weighs the value.
    fn profile(location: u64, value: u64, lines: &[&[u8]]) -> Vec<u8> {
        let lines: Vec<u8> = lines.iter().flat_map(|line| bytes(4, line)).collect();
        let strings = ["", "cpu", "nanoseconds", "f;", "g(int)", "a.go", "thread", "pool"];
        let label = [number(1, 6), number(2, 7)].concat();
        [
            bytes(1, &[number(1, 1), number(2, 2)].concat()),
            bytes(2, &[bytes(1, &[1]), number(2, value), bytes(3, &label)].concat()),
            bytes(4, &[number(1, location), number(3, 0x7f01), lines].concat()),
            bytes(5, &[number(1, 1), number(2, 3), number(4, 5)].concat()),
            bytes(5, &[number(1, 2), number(2, 4), number(4, 5)].concat()),
            strings.iter().flat_map(|text| bytes(6, text.as_bytes())).collect(),
            bytes(11, &[number(1, 1), number(2, 2)].concat()),
            number(12, 10),
        ]
        .concat()
    }

    fn collapsed(profile: &[u8], options: &Options) -> Result<(String, Report)> {
        assert_eq!(Pprof.detect(profile), Verdict::Yes);
        let input = Input::new("test", Box::new(std::io::Cursor::new(profile.to_vec()))).unwrap();
        let (mut table, mut report) = (StackTable::default(), Report::default());
        Pprof.collapse(input, options, &mut table, &mut report)?;
        let mut out = Vec::new();
        table.write(&mut out)?;
        Ok((String::from_utf8(out).unwrap(), report))
    }

    const INNER: &[u8] = &[8, 2, 16, 9];
    const OUTER: &[u8] = &[8, 1, 16, 4];

    #[test]
    fn what_is_inlined_is_below_its_caller() {
        let text = profile(1, 30, &[INNER, OUTER]);
        let (out, report) = collapsed(&text, &Options::default()).unwrap();
        assert_eq!((out.as_str(), report.unit()), ("f:;g 30\n", Some("ns")));
        assert_eq!(report.facts.period, Some(Weight::new(10)));
        let all =
            Options { inline: true, srcline: true, threads_as_frames: Some(true), ..Options::default() };
        assert_eq!(collapsed(&text, &all).unwrap().0, "pool;f: (a.go:4);g (a.go:9)_[i] 30\n");
        // A difference of two profiles, and places without a name.
        let text = profile(1, -30i64 as u64, &[]);
        assert_eq!(collapsed(&text, &Options::default()).unwrap().0, "[unknown] -30\n");
        let addrs = Options { addrs: true, ..Options::default() };
        assert_eq!(collapsed(&text, &addrs).unwrap().0, "[unknown <7f01>] -30\n");
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let whole = profile(1, 1, &[INNER]);
        for (bytes, message) in [
            (profile(2, 1, &[INNER]), "a location that is in the profile, found \"1\""),
            (profile(1, 1, &[&[8, 9]]), "a function that is in the profile, found \"9\""),
            ([whole.clone(), number(14, 99)].concat(), "the number of one of 8 strings, found \"99\""),
            (
                [whole.clone(), bytes(2, &number(1, 1))].concat(),
                "1 values in each sample, found \"0 in sample 2\"",
            ),
            ([whole.clone(), vec![0x12, 0x05, 1]].concat(), "expected 5 bytes, found \"the end after 1\""),
            (
                [whole.clone(), vec![0x12, 0xff, 0xff, 0xff, 0xff, 0x7f]].concat(),
                "of more than 67108864 bytes",
            ),
            ([whole.clone(), bytes(2, &[0x08, 0x80])].concat(), "expected field 2 of profile.proto"),
            ([whole, vec![0x13]].concat(), "expected a field of profile.proto, found \"the tag 19\""),
        ] {
            // A profile cut or broken behind the types may not be detected by its first bytes.
            let input = Input::new("test", Box::new(std::io::Cursor::new(bytes))).unwrap();
            let mut table = StackTable::default();
            let error = Pprof.collapse(input, &Options::default(), &mut table, &mut Report::default());
            let error = error.unwrap_err().to_string();
            assert!(error.starts_with("test: ") && error.contains(message), "{error}");
        }
    }

    #[test]
    fn a_small_file_cannot_fill_the_memory() {
        // A location of a hundred thousand inlined functions, a hundred thousand times in a stack.
        let lines = vec![&OUTER[..2]; 100_000];
        let mut text = profile(1, 1, &lines);
        text.extend(bytes(2, &[bytes(1, &vec![1; 100_000]), number(2, 1)].concat()));
        let error = collapsed(&text, &Options::default()).unwrap_err().to_string();
        assert!(error.contains("a stack of at most"), "{error}");
    }
}

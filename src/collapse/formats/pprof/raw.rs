//! The text that `go tool pprof -raw` prints of a profile (seen: pprof of Go 1.19).
//!
//! ```text
//! PeriodType: cpu nanoseconds
//! Period: 10000000
//! Samples:
//! samples/count cpu/nanoseconds[dflt]
//!           1   10000000: 1 2 3
//!                 worker:[w 2]
//! Locations
//!      1: 0x4c6367 M=1 regexp.(*Regexp).tryBacktrack regexp/backtrack.go:206 s=0
//!      2: 0x4a4053 M=1 fmt.(*buffer).writeString fmt/print.go:82 s=0
//!              fmt.(*pp).doPrintf fmt/print.go:1018 s=0
//! Mappings
//! 1: 0x400000/0x4e9000/0x0 /home/user/app/orders  [FN]
//! ```
//! Samples name locations leaf first; the further lines of a location are what it was inlined
//! into. The source is `Profile.String` in github.com/google/pprof.

use std::collections::HashMap;

use crate::collapse::kit::clean_symbol::clean_symbol;
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::naming::split_srcline;
use crate::collapse::kit::pprof_model::prune::Left;
use crate::collapse::kit::pprof_model::samples::{
    Labels, LocationFrames, Origin, Samples, default_of, note_period,
};
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested, Value,
};
use crate::error::{Error, Position, Result};
use crate::folded::{FrameId, Place, sanitize_frame};
use crate::input::{Input, lines};
use crate::number;
use crate::profile::Facts;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "pprof-raw",
    producer: "go tool pprof -raw",
    tested: Tested::Seen("pprof of Go 1.19"),
    values: "the profile's sample types",
    unit: "the sample type's",
};

/// Collapses what `pprof -raw` prints.
pub struct PprofRaw;

impl Collapser for PprofRaw {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "", clock: None, labels: "the profile's labels" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let mut lines = lines(head).map(<[u8]>::trim_ascii_end);
        let begins = head.starts_with(b"PeriodType: ")
            || head.starts_with(b"Samples:")
            || head.starts_with(b"Comment: ");
        let samples = lines.by_ref().take(200).any(|line| line == b"Samples:");
        let types = lines.next().is_some_and(|line| line.contains(&b'/'));
        if begins && samples && types { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let name = input.name().clone();
        let mut reader = input.into_reader();
        let mut profile = Raw::default();
        let (mut line, mut number) = (Vec::new(), 0);
        while reader.line(&mut line)? {
            number += 1;
            let place = || Position::line(name.clone(), number);
            if !profile.line(&line, reading, &mut FrameNames::default(), sink).map_err(|e| e.or_at(place))? {
                report.not_understood.note(&line, place);
            }
        }
        profile.collapse(reading, sink, report).map_err(|e| e.or_at(|| Position::file(name)))
    }
}

/// The part of the text that is being read.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Header,
    Types,
    Samples,
    Locations,
    Mappings,
}

#[derive(Default)]
struct Raw {
    part: Part,
    period_type: Vec<u8>,
    period: Option<Weight>,
    facts: Facts,
    types: Vec<Value>,
    default: Option<usize>,
    samples: Samples,
    /// The sample whose labels may follow.
    pending: bool,
    labels: Labels,
    origins: Vec<Origin>,
    origin_numbers: HashMap<Labels, usize>,
    /// Frames of each location, the innermost first.
    /// The frame of each function where it is inlined, if those are marked.
    inlined: HashMap<FrameId, FrameId>,
    locations: HashMap<u64, Vec<FrameId>>,
    location: Option<u64>,
}

impl Raw {
    fn line(
        &mut self,
        line: &[u8],
        options: &CollapseOptions,
        names: &mut FrameNames,
        sink: &mut dyn Sink,
    ) -> Result<bool> {
        let part = match line {
            b"Samples:" => Part::Types,
            b"Locations" => Part::Locations,
            b"Mappings" => Part::Mappings,
            _ => self.part,
        };
        if part != self.part {
            self.end_sample(options, names, sink);
            self.part = part;
            return Ok(true);
        }
        match part {
            Part::Header => {
                if let Some(kind) = line.strip_prefix(b"PeriodType: ") {
                    self.period_type = kind.to_vec();
                } else if let Some(period) = line.strip_prefix(b"Period: ") {
                    self.period = Weight::parse(period);
                } else if let Some(time) = line.strip_prefix(b"Time: ") {
                    self.facts.start = start(time);
                } else if let Some(duration) = line.strip_prefix(b"Duration: ") {
                    self.facts.duration = duration_of(duration);
                } else if let Some(comment) = line.strip_prefix(b"Comment: ") {
                    self.facts.comment(comment);
                }
                Ok(true)
            }
            Part::Types => {
                self.types(line);
                self.part = Part::Samples;
                Ok(true)
            }
            Part::Samples => match sample(line) {
                Some((values, locations)) => {
                    self.end_sample(options, names, sink);
                    values.into_iter().for_each(|value| self.samples.value(value));
                    locations.into_iter().for_each(|id| self.samples.location(id));
                    self.pending = true;
                    Ok(true)
                }
                None if line.starts_with(b"                ") => {
                    self.read_labels(line);
                    Ok(true)
                }
                None => Ok(false),
            },
            Part::Locations => Ok(self.location(line, options, names, sink)),
            Part::Mappings => {
                self.program(line);
                Ok(true)
            }
        }
    }

    /// `samples/count cpu/nanoseconds[dflt]`; names may hold blanks: `Wall time/μs`.
    fn types(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let mut name = String::new();
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            if !name.is_empty() {
                name.push(' ');
            }
            let Some((rest, unit)) = word.rsplit_once('/') else {
                name.push_str(word);
                continue;
            };
            name.push_str(rest);
            let unit = unit
                .strip_suffix("[dflt]")
                .inspect(|_| self.default = Some(self.types.len()))
                .unwrap_or(unit);
            self.types.push(Value::with_producers_unit(std::mem::take(&mut name), unit));
        }
    }

    /// `worker:[w 2] stage:[parse]`, `bytes:[128]`
    fn read_labels(&mut self, line: &[u8]) {
        let mut rest = line.trim_ascii();
        while let Some(open) = memchr::memmem::find(rest, b":[") {
            let Some(close) = memchr::memchr(b']', &rest[open..]) else { break };
            self.labels.note(rest[..open].trim_ascii(), &rest[open + 2..open + close]);
            rest = &rest[open + close + 1..];
        }
    }

    fn end_sample(&mut self, options: &CollapseOptions, names: &mut FrameNames, sink: &mut dyn Sink) {
        if !std::mem::take(&mut self.pending) {
            return;
        }
        let labels = std::mem::take(&mut self.labels);
        let origin = match self.origin_numbers.get(&labels) {
            Some(&origin) => origin,
            None => {
                let frame =
                    if options.shows_threads(false) { labels.frame(options, names, sink) } else { None };
                self.origins.push(Origin { frame, labels: labels.clone(), exchanged: 0 });
                self.origin_numbers.insert(labels, self.origins.len() - 1);
                self.origins.len() - 1
            }
        };
        self.samples.end(origin);
    }

    /// `1: 0x4c6367 M=1 regexp.f regexp/backtrack.go:206 s=0`, or the same from the function on.
    fn location(
        &mut self,
        line: &[u8],
        options: &CollapseOptions,
        names: &mut FrameNames,
        sink: &mut dyn Sink,
    ) -> bool {
        let text = line.trim_ascii();
        let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
        let mut function = text;
        let mut address = &b""[..];
        if digits > 0 && text[digits..].starts_with(b": 0x") {
            let Some(id) = number::parse(&text[..digits]) else {
                return false;
            };
            self.location = Some(id);
            let mut rest = &text[digits + 2..];
            (address, rest) = word(rest);
            if rest.starts_with(b"M=") {
                rest = word(rest).1;
            }
            if rest.starts_with(b"[F]") {
                rest = word(rest).1;
            }
            function = rest;
            self.locations.insert(id, Vec::new());
        }
        let Some(frames) = self.location.and_then(|id| self.locations.get_mut(&id)) else { return false };
        let (name, place) = function_and_place(function);
        frames.push(if name.is_empty() || name == b"??" {
            let address = address.strip_prefix(b"0x").unwrap_or(address);
            let address = std::str::from_utf8(address).ok().and_then(|a| u64::from_str_radix(a, 16).ok());
            names.module(b"", address.unwrap_or(0), options, sink)
        } else {
            let write = |out: &mut Vec<u8>| {
                clean_symbol(name, out);
                if options.srcline && !place.is_empty() {
                    out.extend_from_slice(b" (");
                    sanitize_frame(place, out);
                    out.push(b')');
                }
            };
            let (file, line) = split_srcline(place);
            let at = Place { file, line, ..Place::default() };
            let frame = names.build_at(&at, sink, write);
            if options.inline || sink.wants().places {
                let at = Place { inlined: true, ..at };
                let marked = names.build_at(&at, sink, |out| {
                    write(out);
                    if options.inline {
                        out.extend_from_slice(b"_[i]");
                    }
                });
                self.inlined.insert(frame, marked);
            }
            frame
        });
        true
    }

    fn collapse(&mut self, reading: &Reading<'_>, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        let mut names = FrameNames::default();
        self.end_sample(reading, &mut names, sink);
        let mut frames = Vec::new();
        for id in self.samples.locations() {
            let Some(location) = self.locations.get(id) else {
                return Err(Error::malformed("a location that is listed below", id.to_string().as_bytes()));
            };
            let inlined = location.len().saturating_sub(1);
            let marked = location.iter().enumerate().map(|(at, &frame)| match at < inlined {
                true => self.inlined.get(&frame).copied().unwrap_or(frame),
                false => frame,
            });
            let mut marked: Vec<FrameId> = marked.collect();
            marked.reverse();
            // pprof has dropped what the profile asked to drop.
            frames.push(LocationFrames { frames: marked, left: Left::All });
        }
        if self.types.is_empty() {
            return Err(Error::malformed("a line of sample types", b"none"));
        }
        let default = self.default.unwrap_or_else(|| default_of(&self.types, b""));
        report.facts = std::mem::take(&mut self.facts);
        let types = std::mem::take(&mut self.types);
        let columns = types.len();
        let values = Values::holding(reading, types, default, |at| self.samples.holds(at), report)?;
        let kind = String::from_utf8_lossy(&self.period_type).into_owned();
        if let (Some(period), Some((name, unit))) = (self.period, kind.rsplit_once(' ')) {
            note_period(&values, &Value::with_producers_unit(name, unit), period, report);
        }
        let no_stack = sink.frame(NO_STACK);
        let samples = std::mem::take(&mut self.samples);
        samples.collapse(values, columns, (&frames, &self.origins, no_stack), None, sink, report)
    }

    /// `1: 0x400000/0x4e9000/0x0 /home/user/app/orders  [FN]`: the first mapping is the program.
    fn program(&mut self, line: &[u8]) {
        let line = line.trim_ascii();
        if self.facts.command.is_some() || !line.starts_with(b"1: ") {
            return;
        }
        let path = line.splitn(3, |&b| b == b' ').nth(2).unwrap_or_default();
        let end = memchr::memmem::rfind(path, b" [").filter(|_| path.ends_with(b"]")).unwrap_or(path.len());
        // Between the two stands the build id, which may be empty.
        let path = path[..end].trim_ascii().split(|&b| b == b' ').next().unwrap_or_default();
        if !path.starts_with(b"[") && !path.starts_with(b"//") {
            self.facts.set_command(path);
        }
    }
}

/// `2026-11-21 00:04:30.536873105 +0000 UTC`; other zones are not read.
fn start(text: &[u8]) -> Option<std::time::SystemTime> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix(" +0000 UTC")?;
    humantime::parse_rfc3339_weak(text).ok()
}

/// `1.59`, in seconds, or as Go writes longer ones, `1m20s`; those are not read.
fn duration_of(text: &[u8]) -> Option<std::time::Duration> {
    let seconds: f64 = std::str::from_utf8(text).ok()?.split([' ', ',']).next()?.parse().ok()?;
    std::time::Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero())
}

/// `1   10000000: 1 2 3`
fn sample(line: &[u8]) -> Option<(Vec<i64>, Vec<u64>)> {
    let text = std::str::from_utf8(line).ok()?;
    let (values, locations) = text.split_once(':')?;
    let values: Option<Vec<i64>> = values.split_whitespace().map(|n| n.parse().ok()).collect();
    let locations: Option<Vec<u64>> = locations.split_whitespace().map(|n| n.parse().ok()).collect();
    Some((values.filter(|values| !values.is_empty())?, locations?))
}

/// The first word, and what follows the blank behind it.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b' ', text) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, b""),
    }
}

/// `regexp.f regexp/backtrack.go:206 s=0(mangled)` as the function and `regexp/backtrack.go:206`.
fn function_and_place(text: &[u8]) -> (&[u8], &[u8]) {
    let Some(start) = memchr::memmem::rfind(text, b" s=") else { return (text, b"") };
    let text = &text[..start];
    match memchr::memrchr(b' ', text) {
        Some(at) => (&text[..at], text[at + 1..].strip_suffix(b":0").unwrap_or(&text[at + 1..])),
        None => (text, b""),
    }
}

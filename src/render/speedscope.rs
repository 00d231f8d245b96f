//! `speedscope`: the file format of <https://www.speedscope.app>, a `sampled` profile whose samples
//! are the stacks, in frame order.
//!
//! ```json
//! {"$schema": "https://www.speedscope.app/file-format-schema.json", "exporter": "fg-render 0.1.0",
//! "profiles": [{"type": "sampled", "name": "all", "unit": "none",
//! "samples": [[0],[0,1]],
//! "weights": [1,40],
//! "startValue": 0, "endValue": 41}],
//! "shared": {"frames": [{"name":"main"},{"name":"parse"}]}}
//! ```
//! If it is known when samples were taken, each thread is a profile: an `evented` one at true times
//! where weights are time, else a `sampled` one in the order of time.
//!
//! Samples are written as they come. Weights stand in an array of their own behind them and are
//! kept until then, deflated to a byte or two each; of the names each is kept once. Names that are
//! not UTF-8 lose the bytes that are not, and differential input its weights before.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use super::format::takes;
use super::path::Path;
use super::shown_places::ShownPlaces;
use super::timed_calls::{CallEvent, decimals_of, tell_calls};
use super::writer::{Finished, Target, Writer};
use super::{Format, Settings};
use crate::error::Result;
use crate::folded::{Frame, Known, Visitor, WalkSummary, Weights};
use crate::json_text::string;
use crate::profile::{ThreadLine, TimeLine};
use crate::tally::thread_of;
use crate::weight::Weight;

/// The format.
pub const FORMAT: Format = Format {
    name: "speedscope",
    endings: &["speedscope.json", "speedscope"],
    about: "for www.speedscope.app",
    takes: &[takes::TITLE, takes::UNIT, takes::PER_THREAD, takes::TIME],
    streams: true,
    open: |settings, target| Ok(Box::new(Speedscope::new(settings, target))),
};

/// The program that writes the file, and its version.
const EXPORTER: &str = concat!("fg-render ", env!("CARGO_PKG_VERSION"));

struct Speedscope<'a> {
    settings: &'a Settings,
    target: &'a mut dyn Target,
    title: Option<String>,
    unit: &'static str,
    path: Path,
    /// The samples come with their times, after the walk.
    is_timed: bool,
    profile: Option<Profile>,
    any_profile: bool,
    line: Vec<u8>,
}

/// A profile that is being written.
struct Profile {
    /// Whose stacks it has, if threads are kept apart.
    thread: Vec<u8>,
    weights: DeflateEncoder<Vec<u8>>,
    any_sample: bool,
    total: Weight,
}

impl<'a> Speedscope<'a> {
    fn new(settings: &'a Settings, target: &'a mut dyn Target) -> Self {
        let (path, line) = (Path::default(), Vec::new());
        Speedscope {
            settings,
            target,
            title: None,
            unit: "none",
            path,
            is_timed: false,
            profile: None,
            any_profile: false,
            line,
        }
    }

    fn begin_profile(&mut self, thread: &[u8]) -> Result<()> {
        let name = if self.settings.per_thread || self.is_timed { thread } else { self.title() }.to_vec();
        self.line.clear();
        if std::mem::replace(&mut self.any_profile, true) {
            self.line.extend_from_slice(b",\n");
        }
        self.line.extend_from_slice(b"{\"type\": \"sampled\", \"name\": ");
        string(&name, &mut self.line)?;
        write!(self.line, ", \"unit\": \"{}\",\n\"samples\": [", self.unit)?;
        self.target.write_all(&self.line)?;
        self.profile = Some(Profile {
            thread: thread.to_vec(),
            weights: DeflateEncoder::new(Vec::new(), Compression::fast()),
            any_sample: false,
            total: Weight::ZERO,
        });
        Ok(())
    }

    fn title(&self) -> &[u8] {
        self.title.as_deref().unwrap_or("all").as_bytes()
    }

    fn end_profile(&mut self) -> Result<()> {
        let Some(profile) = self.profile.take() else { return Ok(()) };
        write!(self.target, "],\n\"weights\": [")?;
        let deflated = profile.weights.finish()?;
        let mut weights = DeflateDecoder::new(&deflated[..]);
        self.line.resize(64 * 1024, 0);
        loop {
            match weights.read(&mut self.line)? {
                0 => break,
                n => self.target.write_all(&self.line[..n])?,
            }
        }
        write!(self.target, "],\n\"startValue\": 0, \"endValue\": {}}}", profile.total)?;
        Ok(())
    }
}

/// Writes a sample of a profile; its weight is kept.
fn write_sample(
    profile: &mut Profile,
    frames: &[u32],
    weight: Weight,
    line: &mut Vec<u8>,
    target: &mut dyn Target,
) -> Result<()> {
    profile.total = profile.total.checked_add(weight)?;
    let comma: &[u8] = if std::mem::replace(&mut profile.any_sample, true) { b"," } else { b"" };
    line.clear();
    line.extend_from_slice(comma);
    weight.write_to(line);
    profile.weights.write_all(line)?;
    line.clear();
    line.extend_from_slice(comma);
    line.push(b'[');
    for (n, &frame) in frames.iter().enumerate() {
        if n > 0 {
            line.push(b',');
        }
        Weight::from(u64::from(frame)).write_to(line);
    }
    line.push(b']');
    Ok(target.write_all(line)?)
}

impl Speedscope<'_> {
    /// A profile of a thread whose frames begin and end at true times.
    fn write_events(&mut self, line: &TimeLine<'_>, thread: &ThreadLine, decimals: u8) -> Result<()> {
        self.line.clear();
        if std::mem::replace(&mut self.any_profile, true) {
            self.line.extend_from_slice(b",\n");
        }
        self.line.extend_from_slice(b"{\"type\": \"evented\", \"name\": ");
        string(&thread.label, &mut self.line)?;
        write!(self.line, ", \"unit\": \"{}\",\n\"events\": [", self.unit)?;
        self.target.write_all(&self.line)?;
        let stacks = line.profile().stacks();
        let mut any = false;
        let mut end = 0;
        tell_calls(line, thread, &mut |event| {
            let (kind, frame, at) = match event {
                CallEvent::Begin { frame, at } => ('O', frame, at),
                CallEvent::End { frame, at, .. } => ('C', frame, at),
            };
            end = end.max(at);
            let key = self.path.names.key(stacks.name(frame));
            let separator = if std::mem::replace(&mut any, true) { ",\n" } else { "" };
            let at = Weight::from_steps(at, decimals)?;
            Ok(write!(self.target, "{separator}{{\"type\":\"{kind}\",\"frame\":{key},\"at\":{at}}}")?)
        })?;
        let end = Weight::from_steps(end, decimals)?;
        Ok(write!(self.target, "],\n\"startValue\": 0, \"endValue\": {end}}}")?)
    }
}

impl Visitor for Speedscope<'_> {
    fn follows_stacks(&self) -> bool {
        true
    }

    fn begin(&mut self, known: &Known<'_>) -> Result<()> {
        self.title = self.settings.picture.title.clone().or_else(|| known.facts.title());
        self.unit = match known.facts.unit.as_deref() {
            Some("ns") => "nanoseconds",
            Some("us" | "µs") => "microseconds",
            Some("ms") => "milliseconds",
            Some("s") => "seconds",
            Some("bytes") => "bytes",
            _ => "none",
        };
        let schema = "https://www.speedscope.app/file-format-schema.json";
        writeln!(self.target, "{{\"$schema\": \"{schema}\", \"exporter\": \"{EXPORTER}\",")?;
        self.line.clear();
        let title = self.title().to_vec();
        string(&title, &mut self.line)?;
        self.target.write_all(b"\"name\": ")?;
        self.target.write_all(&self.line)?;
        self.target.write_all(b",\n\"profiles\": [")?;
        if !self.settings.per_thread && !self.is_timed {
            self.begin_profile(b"")?;
        }
        Ok(())
    }

    fn enter(&mut self, name: &[u8], _: usize) -> Result<()> {
        self.path.enter(name);
        Ok(())
    }

    fn stack(&mut self, stack: &[u8], weights: Weights) -> Result<()> {
        if weights.value.is_zero() || self.is_timed {
            return Ok(());
        }
        let mut frames = &self.path.open[..];
        if self.settings.per_thread {
            let thread = thread_of(stack);
            if self.profile.as_ref().is_none_or(|profile| profile.thread != thread) {
                self.end_profile()?;
                self.begin_profile(thread)?;
            }
            frames = &self.path.open[1 + memchr::memchr_iter(b';', thread).count()..];
        }
        let Some(profile) = &mut self.profile else { return Ok(()) };
        write_sample(profile, frames, self.settings.shown(weights.value)?, &mut self.line, self.target)
    }

    fn exit(&mut self, _: Frame<'_>, _: Weights) -> Result<()> {
        self.path.exit();
        Ok(())
    }

    fn restart(&mut self) -> Result<()> {
        self.target.start_over()?;
        (self.path, self.profile, self.any_profile) = (Path::default(), None, false);
        Ok(())
    }
}

impl Writer for Speedscope<'_> {
    fn wants_times(&self) -> bool {
        // First frames as threads were asked for.
        !self.settings.per_thread
    }

    fn expect_times(&mut self) {
        self.is_timed = !self.settings.per_thread;
    }

    fn times(&mut self, line: &TimeLine<'_>) -> Result<()> {
        let unit = line.profile().facts().unit.as_deref();
        let is_shown_as_it_is = self.settings.unit.is_none() && self.settings.factor == Weight::ONE;
        let decimals = unit.and_then(decimals_of).filter(|_| is_shown_as_it_is);
        for thread in &line.threads {
            if let Some(decimals) = decimals {
                self.write_events(line, thread, decimals)?;
                continue;
            }
            self.begin_profile(&thread.label)?;
            let mut frames = Vec::new();
            for sample in line.samples(thread).filter(|sample| !sample.weight.is_zero()) {
                frames.clear();
                let stacks = line.profile().stacks();
                let names = line.profile().stack(sample.stack).iter().map(|&frame| stacks.name(frame));
                frames.extend(names.map(|name| self.path.names.key(name)));
                let weight = self.settings.shown(sample.weight)?;
                let Some(profile) = &mut self.profile else { break };
                write_sample(profile, &frames, weight, &mut self.line, self.target)?;
            }
            self.end_profile()?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, summary: &WalkSummary) -> Result<Finished> {
        let places = ShownPlaces::new(self.settings, &summary.places);
        self.end_profile()?;
        self.target.write_all(b"],\n\"shared\": {\"frames\": [")?;
        for (n, name) in self.path.names.all().enumerate() {
            self.line.clear();
            self.line.extend_from_slice(if n > 0 { b",\n{\"name\":" } else { b"\n{\"name\":" });
            string(name, &mut self.line)?;
            let place = places.get(name).unwrap_or_default();
            if !place.file.is_empty() {
                self.line.extend_from_slice(b",\"file\":");
                string(place.file, &mut self.line)?;
            }
            if let Some(line) = [place.line, place.start_line].into_iter().find(|line| *line > 0) {
                write!(self.line, ",\"line\":{line}")?;
            }
            self.line.push(b'}');
            self.target.write_all(&self.line)?;
        }
        self.target.write_all(b"]}}\n")?;
        Ok(Finished::default())
    }
}

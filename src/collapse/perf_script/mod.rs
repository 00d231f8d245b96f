//! The text that `perf script` prints (seen: perf 6.1).
//!
//! ```text
//! calc (1)  6344 [001]   799.251439:    2004008 cpu-clock:
//!                  4946 (anonymous namespace)::scramble+0x16 (/home/user/app/cpp/orders)
//!                  7e3f shop::Deep::visit+0x2f (/home/user/app/cpp/orders)
//!
//! ```
//! A sample is an event line, its frames leaf first, and a blank line. Which columns the event
//! line has is up to `-F`; without call graphs the one frame stands on the event line and there
//! are no blank lines; with `-F ip,sym` there is no event line. The source is perf's
//! `builtin-script.c`; there is no other specification.

mod event;
mod frame;
mod lines;
mod sched;
mod symbols;

pub use sched::PerfSched;

use self::event::{EventLine, Layout, is_side_band, parse_event, parse_without_thread};
use self::frame::{Frame, one_line_frame};
use self::symbols::{Known, Symbols};
use super::driver::{self, Parser, Place};
use super::events::event_unit;
use super::names::NO_STACK;
use super::naming::name_thread;
use super::{
    Collapser, Context, FormatInfo, Options, Report, Sink, Value, ValueSelection, ValueTotal, Verdict,
};
use crate::error::{Position, Result};
use crate::folded::{FrameId, Weights, sanitize_frame};
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "perf-script",
    producer: "perf script",
    tested: "perf 6.1",
    values: "the recording's events",
    unit: "ns for clocks, else the event",
};

/// Collapses what `perf script` prints.
pub struct PerfScript;

impl Collapser for PerfScript {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Verdict {
        if head.starts_with(b"# ========\n# captured on") {
            return Verdict::Yes;
        }
        let layout = Layout::guess(head);
        let mut before = &b""[..];
        for line in head.split(|&b| b == b'\n').take(400) {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let frame = line.strip_prefix(b"\t").and_then(Frame::parse);
            if frame.is_some_and(|frame| !frame.address.is_empty()) {
                // A frame below an event line, or below nothing.
                let event = layout.is_some_and(|layout| parse_event(before, layout).is_some());
                return match parse_without_thread(before) {
                    _ if event || before.is_empty() => Verdict::Yes,
                    Some(_) => Verdict::Maybe,
                    None => Verdict::No,
                };
            }
            before = line;
        }
        // One-line samples: other texts have numbers too, but not a thread, a time and an event.
        if layout.is_some_and(|layout| layout.is_telling()) { Verdict::Yes } else { Verdict::No }
    }

    fn collapse(
        &self,
        input: Input,
        options: &Options,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let layout = Layout::guess(input.head());
        let first = report
            .first_value
            .take()
            .or_else(|| first_event(input.head(), layout.unwrap_or(Layout::DEFAULT)));
        // The head may hold nothing but perf's notes on mappings: then only reading on in order
        // tells which event comes first.
        let threads =
            if first.is_none() && options.values == ValueSelection::Default { 1 } else { options.threads };
        let new = || PerfParser::new(options, layout, first.clone());
        driver::run(input, threads, &sample_end, new, sink, report)
    }
}

/// Where the last whole sample of some bytes ends.
fn sample_end(bytes: &[u8]) -> Option<usize> {
    if let Some(blank) = memchr::memmem::rfind(bytes, b"\n\n") {
        return Some(blank + 2);
    }
    // One-line samples, or one sample that goes on: a frame belongs to the lines before it.
    let mut end = memchr::memrchr(b'\n', bytes)?;
    loop {
        let start = memchr::memrchr(b'\n', &bytes[..end]).map(|at| at + 1)?;
        let line = &bytes[start..end];
        if !line.starts_with(b"\t") && parse_event(line, Layout::DEFAULT).is_some() {
            return Some(start);
        }
        end = start.checked_sub(1)?;
    }
}

/// The event of a recording's first sample.
fn first_event(head: &[u8], layout: Layout) -> Option<Vec<u8>> {
    let mut in_header = false;
    for line in head.split(|&b| b == b'\n') {
        in_header ^= line.starts_with(b"# ========");
        if in_header || line.starts_with(b"\t") || is_side_band(line) {
            continue;
        }
        if let Some(found) = parse_event(line, layout) {
            return Some(found.event.to_vec());
        }
    }
    None
}

/// How many threads are remembered: on the recording of `scripts/bench`, made on two processors,
/// one hits in 83 of 100 lines and two in 99.
const RECENT: usize = 2;

/// An event met by one thread.
struct Event {
    name: Vec<u8>,
    total: ValueTotal,
    /// Whether its samples came with a period.
    weighed: bool,
    /// Its root frame, with [`ValueSelection::All`].
    root: Option<FrameId>,
}

/// What becomes of the lines that follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Behind a blank line: an event line is next, or the frames of a recording that has none.
    Between,
    /// In a sample that is kept.
    Within,
    /// In a sample of which nothing more is wanted: another event's, or past `--skip-after`.
    Skipping,
}

/// The sample being read.
#[derive(Default)]
struct Sample {
    /// Whether there is one that is to be counted.
    pending: bool,
    event: Option<FrameId>,
    comm: Option<FrameId>,
    weight: Weight,
    /// Leaf first.
    stack: Vec<FrameId>,
    /// What stands behind the event on its line, if no frames follow it: the one frame.
    on_event_line: Vec<u8>,
}

struct PerfParser<'o> {
    options: &'o Options,
    layout: Layout,
    /// Whether stacks may stand there without an event line, or with one that names no thread.
    without_events: bool,
    first: Option<Vec<u8>>,
    symbols: Symbols<'o>,
    events: Vec<Event>,
    state: State,
    sample: Sample,
    /// The threads of the samples before, as their lines begin, and their frames, the latest first:
    /// each processor mostly goes on with the thread it has.
    recent: [(Vec<u8>, FrameId); RECENT],
    /// A frame line that waits for its source line, where that matters.
    held: Vec<u8>,
    /// Lines that may be the beginning of a command name with a newline in it.
    broken_comm: Vec<u8>,
    scratch: Vec<u8>,
}

impl<'o> PerfParser<'o> {
    fn new(options: &'o Options, layout: Option<Layout>, first: Option<Vec<u8>>) -> Self {
        PerfParser {
            options,
            layout: layout.unwrap_or(Layout::DEFAULT),
            without_events: layout.is_none(),
            first,
            symbols: Symbols::new(options),
            events: Vec::new(),
            state: State::Between,
            sample: Sample::default(),
            recent: std::array::from_fn(|_| (Vec::new(), FrameId(0))),
            held: Vec::new(),
            broken_comm: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// A line that starts with a tab; `false` if it is no frame of a sample.
    #[inline]
    fn on_frame<'b>(
        &mut self,
        line: &'b [u8],
        space: usize,
        before: &mut Option<(&'b [u8], Known)>,
        sink: &mut dyn Sink,
    ) -> bool {
        match self.state {
            State::Skipping => return true,
            State::Between if !self.without_events => return false,
            State::Between => {
                self.sample.pending = true;
                self.sample.weight = Weight::ONE;
                let total = &mut self.event(b"", sink).total;
                total.samples += 1;
                total.weight = total.weight.checked_add(Weight::ONE).unwrap_or(total.weight);
                // Nobody says whose stack it is, least of all the sample before.
                (self.sample.event, self.sample.comm) = (None, None);
                self.state = State::Within;
            }
            State::Within => {}
        }
        if self.options.srcline || self.options.inline {
            // The line below may say more of this frame.
            self.release_held(b"", sink);
            self.held.extend_from_slice(line);
            return true;
        }
        match self.symbols.push(line, space, before, &mut self.sample.stack, sink) {
            Some(true) => true,
            Some(false) => {
                self.skip_the_rest();
                true
            }
            None => false,
        }
    }

    /// The frame past which nothing is wanted: neither callers nor the command.
    fn skip_the_rest(&mut self) {
        self.state = State::Skipping;
        self.sample.comm = None;
    }

    /// The frame line read before, now that its source line is known: perf marks inlined frames
    /// there.
    fn release_held(&mut self, srcline: &[u8], sink: &mut dyn Sink) {
        if self.held.is_empty() {
            return;
        }
        let held = std::mem::take(&mut self.held);
        if self.symbols.push_with_srcline(&held, srcline, &mut self.sample.stack, sink) == Some(false) {
            self.skip_the_rest();
        }
        self.held = held;
        self.held.clear();
    }

    /// Ends the sample being read and adds it.
    fn flush(&mut self, sink: &mut dyn Sink) -> Result<()> {
        self.release_held(b"", sink);
        self.state = State::Between;
        if !std::mem::take(&mut self.sample.pending) {
            return Ok(());
        }
        let on_event_line = std::mem::take(&mut self.sample.on_event_line);
        if self.sample.stack.is_empty()
            && let Some(text) = one_line_frame(&on_event_line)
        {
            let line = [b"\t", text].concat();
            let wanted = self.symbols.push_with_srcline(&line, b"", &mut self.sample.stack, sink);
            if wanted == Some(false) {
                self.sample.comm = None;
            }
        }
        self.sample.on_event_line = on_event_line;
        self.sample.on_event_line.clear();
        let Sample { event, comm, weight, ref mut stack, .. } = self.sample;
        let shown = comm.filter(|_| self.options.shows_threads(true));
        if stack.is_empty() && comm.is_some() && shown.is_none() {
            stack.push(sink.frame(NO_STACK));
        }
        stack.extend(shown.into_iter().chain(event));
        stack.reverse();
        let result = if stack.is_empty() {
            Ok(())
        } else {
            sink.sample(stack, Weights::one(weight), &Context::UNKNOWN)
        };
        stack.clear();
        result
    }

    fn on_event(&mut self, line: EventLine<'_>, sink: &mut dyn Sink) -> Result<()> {
        let period = line.period.and_then(Weight::parse);
        let weight = if self.options.count { Weight::ONE } else { period.unwrap_or(Weight::ONE) };
        let event = self.event(line.event, sink);
        event.total.add(weight)?;
        event.weighed |= period.is_some();
        let (root, kept) = (event.root, event.total.kept);
        self.sample.event = root;
        if !kept {
            self.state = State::Skipping;
            return Ok(());
        }
        self.state = State::Within;
        self.sample.pending = true;
        self.sample.weight = weight;
        self.sample.comm = (!line.thread.is_empty()).then(|| self.recent_thread(&line, sink));
        if !line.rest.trim_ascii().is_empty() {
            self.sample.on_event_line.extend_from_slice(line.rest);
        }
        Ok(())
    }

    fn event(&mut self, name: &[u8], sink: &mut dyn Sink) -> &mut Event {
        let known = self.events.iter().position(|event| event.name == name);
        let index = known.unwrap_or_else(|| {
            let kept = self.options.values.keeps_event(name, &mut self.first);
            let root = (self.options.values == ValueSelection::All && !name.is_empty()).then(|| {
                self.scratch.clear();
                sanitize_frame(name, &mut self.scratch);
                sink.frame(&self.scratch)
            });
            let total = ValueTotal { kept, ..ValueTotal::default() };
            self.events.push(Event { name: name.to_vec(), total, weighed: false, root });
            self.events.len() - 1
        });
        &mut self.events[index]
    }

    /// [`PerfParser::thread`], which is not asked again for a thread that was just there.
    fn recent_thread(&mut self, line: &EventLine<'_>, sink: &mut dyn Sink) -> FrameId {
        if !self.broken_comm.is_empty() {
            return self.thread(line, sink);
        }
        if let Some(found) = self.recent.iter().position(|(thread, _)| thread == line.thread) {
            self.recent[..=found].rotate_right(1);
            return self.recent[0].1;
        }
        let frame = self.thread(line, sink);
        self.recent.rotate_right(1);
        let (thread, of) = &mut self.recent[0];
        thread.clear();
        thread.extend_from_slice(line.thread);
        *of = frame;
        frame
    }

    /// The frame of the command, with process and thread if they are wanted.
    fn thread(&mut self, line: &EventLine<'_>, sink: &mut dyn Sink) -> FrameId {
        let name = &mut self.scratch;
        name.clear();
        let pid = line.pid.unwrap_or(b"?");
        if self.broken_comm.is_empty() {
            name_thread(line.comm, pid, line.tid, self.options, name);
        } else {
            let comm = [&self.broken_comm, b" ".as_slice(), line.comm].concat();
            self.broken_comm.clear();
            name_thread(&comm, pid, line.tid, self.options, name);
        }
        sink.frame(name)
    }

    /// A line that is neither blank nor a frame.
    fn on_other(&mut self, line: &[u8], number: u64, place: &mut Place, sink: &mut dyn Sink) -> Result<()> {
        let again = self.recent.iter().find_map(|(thread, _)| self.layout.parse_again(line, thread));
        let without_thread = || parse_without_thread(line).filter(|_| self.without_events);
        if let Some(event) = again.or_else(|| parse_event(line, self.layout)).or_else(without_thread) {
            if event.event.starts_with(b"PERF_RECORD_") {
                return Ok(());
            }
            self.flush(sink)?;
            // A newline in a name of at most fifteen bytes, or some other line before this one?
            if !self.broken_comm.is_empty() && self.broken_comm.len() + event.comm.len() >= event::COMM_MAX {
                place.not_understood(number - 1, &self.broken_comm);
                self.broken_comm.clear();
            }
            return self.on_event(event, sink);
        }
        if is_side_band(line) {
            return Ok(());
        }
        if self.state != State::Between && line.starts_with(b"  ") {
            if self.state == State::Within {
                self.release_held(line.trim_ascii(), sink);
            }
        } else if line.starts_with(b"#") {
            // The header of a recording that was appended, or a remark.
        } else if self.state == State::Between && self.broken_comm.len() + line.len() < event::COMM_MAX {
            if !self.broken_comm.is_empty() {
                self.broken_comm.push(b' ');
            }
            self.broken_comm.extend_from_slice(line);
        } else {
            place.not_understood(number, line);
        }
        Ok(())
    }
}

impl Parser for PerfParser<'_> {
    fn block(&mut self, bytes: &[u8], place: &mut Place, sink: &mut dyn Sink) -> Result<u64> {
        let mut number = 0;
        let mut in_header = false;
        let mut before = None;
        let result = lines::for_each_line(bytes, |start, mut end, space| {
            number += 1;
            if end > start && bytes[end - 1] == b'\r' {
                end -= 1;
            }
            let line = &bytes[start..end];
            match line.first() {
                Some(b'\t') => {
                    if self.on_frame(line, space.saturating_sub(start), &mut before, sink) {
                        return Ok(());
                    }
                    // A command name may start with a tab, but then no address follows it.
                    let frame = Frame::parse(&line[1..]).is_some_and(|frame| !frame.address.is_empty());
                    if frame || parse_event(line, self.layout).is_none() {
                        if self.state == State::Between {
                            self.state = State::Skipping;
                        }
                        place.not_understood(number, line);
                        return Ok(());
                    }
                    self.on_other(line, number, place, sink)
                }
                None => self.flush(sink),
                Some(b'#') if in_header || line.starts_with(b"# ========") => {
                    in_header ^= line.starts_with(b"# ========");
                    Ok(())
                }
                Some(_) => {
                    in_header = false;
                    self.on_other(line, number, place, sink)
                }
            }
        });
        result
            .and_then(|()| self.flush(sink))
            .map_err(|e| e.or_at(|| Position { line: Some(number), ..Position::default() }))?;
        if !self.broken_comm.is_empty() {
            place.not_understood(number, &self.broken_comm);
            self.broken_comm.clear();
        }
        Ok(number)
    }

    fn finish(self, report: &mut Report) -> Result<()> {
        if report.first_value.is_none() {
            report.first_value = self.first;
        }
        for Event { name, total, weighed, .. } in self.events {
            let unit = event_unit(&name, weighed);
            report.add_value(Value { name, unit: Some(unit) }, total)?;
        }
        Ok(())
    }
}

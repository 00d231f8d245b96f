//! Reads the lines of blocks: event lines, frames, and the lines between samples.

use std::sync::{Mutex, PoisonError};

use super::again::Ending;
use super::attached::{self, is_attached};
use super::event::{
    self, EventLine, Layout, is_side_band, parse_event, parse_event_or_frame, parse_without_thread, time_of,
};
use super::event_total::Event;
use super::fields;
use super::frame::{
    Frame, UNKNOWN, is_hex, is_source_code, is_srcline, one_line_frame, with_tab, without_tab,
};
use super::header::MARK;
use super::lines;
use super::overview::{Overview, first_and_last_time};
use super::symbols::{Before, Symbols};
use crate::collapse::kit::driver::{Parser, Place};
use crate::collapse::kit::events::CommonWeight;
use crate::collapse::kit::events::event_unit;
use crate::collapse::kit::names::NO_STACK;
use crate::collapse::kit::naming::name_thread;
use crate::collapse::kit::text::split_first;
use crate::collapse::kit::tracepoint::Labels;
use crate::collapse::{CollapseOptions, Context, Report, Sink, Value, ValueSelection};
use crate::error::{Position, Result};
use crate::folded::{FrameId, Weights, sanitize_frame};
use crate::input::{Kept, trim_line_end};
use crate::number;
use crate::profile::Wants;
use crate::weight::Weight;

/// The number of threads that are remembered: on the recording of `scripts/bench`, made on two processors,
/// one hits in 83 of 100 lines and two in 99.
const RECENT: usize = 2;

/// The state of the parser between lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// After a blank line: an event line is next, or the frames of a recording that has none.
    Between,
    /// In a sample that is kept.
    Within,
    /// In a sample whose rest is not wanted: that of another event, or past `--skip-after`.
    Skipping,
}

/// The sample being read.
#[derive(Default)]
struct Sample {
    /// True if there is one that is to be counted.
    pending: bool,
    event: Option<FrameId>,
    comm: Option<FrameId>,
    weight: Weight,
    /// Leaf first.
    stack: Vec<FrameId>,
    /// The text behind the event on its line: the one frame, if no frames follow.
    on_event_line: Vec<u8>,
}

/// The thread of a sample and its time, for a sink that wants contexts.
#[derive(Default)]
struct SampleContext {
    time: Option<u64>,
    process: Option<u64>,
    thread: Option<u64>,
    comm: Vec<u8>,
    labels: Labels,
}

pub(super) struct PerfParser<'o> {
    options: &'o CollapseOptions,
    /// True if samples are told apart by time and thread.
    contexts: bool,
    /// True if the line below a frame can say more of it.
    holds_frames: bool,
    overview: &'o Mutex<Overview>,
    /// The bytes that would be read again if no sample were of the first event.
    kept: &'o Kept,
    seen: Overview,
    context: SampleContext,
    layout: Layout,
    /// True if stacks may stand there without an event line, or with one that names no thread.
    without_events: bool,
    /// True if each frame is a sample: see [`are_samples`](super::frame::are_samples).
    frames_are_samples: bool,
    first: Option<Vec<u8>>,
    symbols: Symbols<'o>,
    events: Vec<Event>,
    state: State,
    sample: Sample,
    /// The threads of the samples before, as their lines begin, and their frames, the latest first:
    /// each processor mostly goes on with the thread it has.
    recent: [(Vec<u8>, FrameId); RECENT],
    /// The end that event lines mostly have.
    ending: Ending,
    /// A frame line that waits for its source line, where that matters.
    held: Vec<u8>,
    /// Lines that may be the beginning of a command name with a newline in it.
    broken_comm: Vec<u8>,
    /// The line that the first of them is.
    broken_at: u64,
    scratch: Vec<u8>,
    /// True if a blank line has ended a sample, as it ends all of them in recordings with stacks.
    has_blank_lines: bool,
    /// True if the last frame without a tab had no blanks for it either.
    is_unindented: bool,
    /// Such a frame as perf writes it.
    padded: Vec<u8>,
}

impl<'o> PerfParser<'o> {
    /// A parser of blocks that follow `layout`, or hold frames alone; `first` is the recording's first event.
    pub fn new(
        options: &'o CollapseOptions,
        wants: Wants,
        layout: Option<Layout>,
        frames_are_samples: bool,
        first: Option<Vec<u8>>,
        overview: &'o Mutex<Overview>,
        kept: &'o Kept,
    ) -> Self {
        PerfParser {
            options,
            contexts: wants.contexts,
            holds_frames: options.srcline || options.inline || wants.places,
            overview,
            kept,
            seen: Overview::default(),
            context: SampleContext::default(),
            layout: layout.unwrap_or(Layout::DEFAULT),
            without_events: layout.is_none(),
            frames_are_samples,
            first,
            symbols: Symbols::new(options, wants.places),
            events: Vec::new(),
            state: State::Between,
            sample: Sample::default(),
            recent: std::array::from_fn(|_| (Vec::new(), FrameId(0))),
            ending: Ending::default(),
            held: Vec::new(),
            broken_comm: Vec::new(),
            broken_at: 0,
            scratch: Vec::new(),
            has_blank_lines: false,
            is_unindented: false,
            padded: Vec::new(),
        }
    }

    /// A line that starts with a tab; `false` if it is not a frame of a sample.
    #[inline]
    fn on_frame<'b>(
        &mut self,
        line: &'b [u8],
        space: usize,
        before: &mut Option<Before<'b>>,
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
                // The owner of this stack is unknown; it is not that of the sample before.
                (self.sample.event, self.sample.comm) = (None, None);
                self.context = SampleContext::default();
                self.state = State::Within;
            }
            State::Within => {}
        }
        if self.holds_frames {
            // The line below may say more of this frame.
            self.release_held(b"", sink);
            if self.state != State::Skipping {
                self.held.extend_from_slice(line);
            }
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

    /// A frame on a line without a tab, whose `text` begins with the address; `false` as [`Self::on_frame`].
    fn on_frame_without_tab(&mut self, line: &[u8], text: &[u8], sink: &mut dyn Sink) -> bool {
        self.is_unindented = !line.starts_with(b" ");
        let mut padded = std::mem::take(&mut self.padded);
        padded.clear();
        if text.split(|&b| matches!(b, b' ' | b'\t')).next().is_some_and(is_hex) {
            with_tab(text, &mut padded);
        } else {
            padded.push(b'\t');
            padded.extend_from_slice(text);
        }
        let space = memchr::memrchr(b' ', &padded).unwrap_or(0);
        let understood = self.on_frame(&padded, space, &mut None, sink);
        self.padded = padded;
        understood
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

    /// Returns true if lines of the sample being read may follow.
    fn is_within_sample(&self) -> bool {
        match self.state {
            State::Between => false,
            _ if self.frames_are_samples => false,
            State::Skipping => self.has_blank_lines || self.sample.pending,
            // One-line samples have their frame, if any, on that line.
            State::Within if self.sample.stack.is_empty() && self.held.is_empty() => {
                self.has_blank_lines && self.sample.on_event_line.is_empty()
            }
            State::Within => true,
        }
    }

    /// Ends the sample being read, if any, at a blank line.
    fn end_sample(&mut self, place: &mut Place, sink: &mut dyn Sink) -> Result<()> {
        self.give_up_comm(place);
        self.has_blank_lines |= self.state != State::Between;
        self.flush(sink)
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
            let (known, pairs);
            let context = if self.contexts {
                let SampleContext { time, process, thread, ref comm, .. } = self.context;
                pairs =
                    self.context.labels.iter().map(|(key, value)| (&key[..], &value[..])).collect::<Vec<_>>();
                let labels = &pairs[..];
                known = Context { time, process, thread, thread_name: comm, labels };
                &known
            } else {
                &Context::UNKNOWN
            };
            sink.sample(stack, Weights::one(weight), context)
        };
        stack.clear();
        result
    }

    fn on_event(&mut self, line: EventLine<'_>, text: &[u8], sink: &mut dyn Sink) -> Result<()> {
        let count = self.options.count;
        let event = self.event(line.event, sink);
        let weight = event.weight(line.period);
        let weight = if count { Weight::ONE } else { weight };
        event.total.add(weight)?;
        let (root, kept) = (event.root, event.total.kept);
        self.sample.event = root;
        if !kept {
            self.state = State::Skipping;
            return Ok(());
        }
        self.state = State::Within;
        self.sample.pending = true;
        self.sample.weight = weight;
        if self.contexts {
            self.set_context(&line, text);
        }
        self.sample.comm = (!line.thread.is_empty()).then(|| self.recent_thread(&line, sink));
        if !line.rest.trim_ascii().is_empty() {
            self.sample.on_event_line.extend_from_slice(line.rest);
        }
        Ok(())
    }

    /// Notes thread and time of an event line, whose whole text is `text`.
    fn set_context(&mut self, line: &EventLine<'_>, text: &[u8]) {
        let number = |digits: &[u8]| number::parse(digits);
        let context = &mut self.context;
        context.time = time_of(text, line);
        context.process = line.pid.and_then(number);
        context.thread = number(line.tid);
        fields::read(text, line, &mut context.labels);
        context.comm.clear();
        if !self.broken_comm.is_empty() {
            context.comm.extend_from_slice(&self.broken_comm);
            context.comm.push(b' ');
        }
        context.comm.extend_from_slice(line.comm);
    }

    fn event(&mut self, name: &[u8], sink: &mut dyn Sink) -> &mut Event {
        let known = self.events.iter().position(|event| event.name == name);
        let index = known.unwrap_or_else(|| {
            let kept = self.options.values.keeps_event(name, &mut self.first);
            if kept {
                self.kept.release();
            }
            let root = (self.options.values == ValueSelection::All && !name.is_empty()).then(|| {
                self.scratch.clear();
                sanitize_frame(name, &mut self.scratch);
                sink.frame(&self.scratch)
            });
            self.events.push(Event::new(name, kept, root));
            self.events.len() - 1
        });
        &mut self.events[index]
    }

    /// [`PerfParser::thread`], which is not asked again for a thread that was just there.
    fn recent_thread(&mut self, line: &EventLine<'_>, sink: &mut dyn Sink) -> FrameId {
        // Read again, a line has neither time nor numbers.
        if self.contexts || !self.broken_comm.is_empty() {
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
        if attached::is_named(line) {
            return self.flush(sink);
        }
        let again =
            self.recent.iter().find_map(|(thread, _)| self.layout.parse_again(line, thread, &self.ending));
        let frame = if again.is_none() { without_tab(line) } else { None };
        // Within a sample, two blanks are before a source line.
        let may_begin = self.without_events
            && frame.is_none()
            && (self.state == State::Between || !line.starts_with(b"  "));
        let without_thread = || if may_begin { parse_without_thread(line) } else { None };
        let event = again.or_else(|| parse_event_or_frame(line, self.layout)).or_else(without_thread);
        if let Some(event) = event {
            if event.event.starts_with(b"PERF_RECORD_") {
                return Ok(());
            }
            self.flush(sink)?;
            // A newline in a name of at most fifteen bytes, or some other line before this one?
            if self.broken_comm.len() + event.comm.len() >= event::COMM_MAX {
                self.give_up_comm(place);
            }
            self.ending.note(line, &event);
            return self.on_event(event, line, sink);
        }
        if is_attached(line) {
            return self.flush(sink);
        }
        if is_side_band(line) {
            return Ok(());
        }
        let is_deep = line.starts_with(b"    ") && line.ends_with(b")") && self.state == State::Within;
        if let Some(text) = frame.or(is_deep.then_some(line)) {
            if self.frames_are_samples {
                self.flush(sink)?;
            }
            if !self.on_frame_without_tab(line, text, sink) {
                if self.state == State::Between {
                    self.state = State::Skipping;
                }
                place.not_understood(number, line);
            }
            return Ok(());
        }
        let is_source = line.starts_with(b"  ") || (self.is_unindented && is_srcline(line));
        if self.state != State::Between && is_source {
            if self.state == State::Within {
                self.release_held(line.trim_ascii(), sink);
            }
        } else if line.starts_with(b"#") || (self.state != State::Between && is_source_code(line)) {
            // The header of a recording that was appended, or a remark; a line of the program.
        } else if self.state == State::Between && self.broken_comm.len() + line.len() < event::COMM_MAX {
            if self.broken_comm.is_empty() {
                self.broken_at = number;
            } else {
                self.broken_comm.push(b' ');
            }
            self.broken_comm.extend_from_slice(trim_line_end(line));
        } else {
            self.give_up_comm(place);
            place.not_understood(number, line);
        }
        Ok(())
    }

    /// Lines that could have begun a command name turn out to be something else.
    fn give_up_comm(&mut self, place: &mut Place) {
        if !self.broken_comm.is_empty() {
            place.not_understood(self.broken_at, &self.broken_comm);
            self.broken_comm.clear();
        }
    }
}

/// Recognises the fields of a tracepoint that simpleperf prints below the frames.
fn is_tracing_data(line: &[u8]) -> bool {
    line == b"\ttracing data:" || (line.starts_with(b"\t\t") && memchr::memmem::find(line, b" : ").is_some())
}

/// Returns true if the last line is a function below which another stack has ended: a text that was copied lacks the blank
/// line, and no frame.
fn ends_with_root(bytes: &[u8]) -> bool {
    let last = bytes.trim_ascii_end().rsplit(|&b| b == b'\n').next().unwrap_or_default();
    let Some((_, function)) = split_first(last.trim_ascii_start(), b" ") else { return false };
    !function.starts_with(UNKNOWN)
        && memchr::memmem::find(bytes, &[b" ", function, b"\n\n"].concat()).is_some()
}

impl Parser for PerfParser<'_> {
    fn block(&mut self, bytes: &[u8], place: &mut Place, sink: &mut dyn Sink) -> Result<u64> {
        let mut number = 0;
        let mut in_header = false;
        let mut before = None;
        let result = lines::for_each_line(bytes, |start, mut end, space| {
            number += 1;
            if self.state == State::Within
                && let Some(goes_on) =
                    self.symbols.push_again(&bytes[start..end], before.as_ref(), &mut self.sample.stack)
            {
                if !goes_on {
                    self.skip_the_rest();
                }
                return Ok(());
            }
            if end > start && bytes[end - 1] == b'\r' {
                end -= 1;
            }
            let line = &bytes[start..end];
            if line.last().is_some_and(|last| *last <= b' ') && line.trim_ascii().is_empty() {
                return self.end_sample(place, sink);
            }
            match line.first() {
                Some(b'\t') if !in_header => {
                    if self.on_frame(line, space.saturating_sub(start), &mut before, sink) {
                        return Ok(());
                    }
                    // A command name may start with a tab, but then no address follows it.
                    let frame = Frame::parse(&line[1..]).is_some_and(|frame| !frame.address.is_empty());
                    if is_tracing_data(line) {
                        return Ok(());
                    }
                    if frame || parse_event(line, self.layout).is_none() {
                        if self.state == State::Between {
                            self.state = State::Skipping;
                        }
                        place.not_understood(number, line);
                        return Ok(());
                    }
                    self.on_other(line, number, place, sink)
                }
                None => self.end_sample(place, sink),
                Some(b'#') if in_header || line.starts_with(MARK) => {
                    let is_mark = line.starts_with(MARK);
                    in_header ^= is_mark;
                    before = None;
                    self.seen.marks += usize::from(is_mark);
                    Ok(())
                }
                // The lines of a `python -c` in the command.
                Some(_) if in_header && parse_event(line, self.layout).is_none() => Ok(()),
                Some(_) => {
                    in_header = false;
                    self.on_other(line, number, place, sink)
                }
            }
        });
        if self.is_within_sample() && !ends_with_root(bytes) {
            place.ends_within_record();
        }
        result
            .and_then(|()| self.flush(sink))
            .map_err(|e| e.or_at(|| Position { line: Some(number), ..Position::default() }))?;
        self.give_up_comm(place);
        self.seen.see(first_and_last_time(bytes, self.layout));
        Ok(number)
    }

    fn finish(mut self, report: &mut Report) -> Result<()> {
        if report.first_value.is_none() {
            report.first_value = self.first;
        }
        for Event { name, total, weighed, period, .. } in self.events {
            if total.kept && !self.options.count {
                self.seen.period.merge(if weighed { period } else { CommonWeight::Different });
            }
            let unit = event_unit(&name, weighed);
            report.add_value(Value { name, unit: Some(unit) }, total)?;
        }
        self.overview.lock().unwrap_or_else(PoisonError::into_inner).merge(&self.seen);
        Ok(())
    }
}

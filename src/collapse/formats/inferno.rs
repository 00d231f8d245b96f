//! The formats that inferno reads for us: rare ones, of other systems, that it reads well.
//!
//! Each is told and described here and read by inferno's collapser, whose folded text is taken up
//! line by line. Three things are ours: a `;` in a name becomes `:` before it can cut a frame in
//! two, a panic becomes an error, and a message says what inferno leaves out.
//!
//! ```text
//! Call graph:
//!     890 Thread_12537027: Main Thread   DispatchQueue_1: com.apple.main-thread  (serial)
//!     + 890 start  (in dyld) + 6992  [0x1882b84e4]
//! ```
//! (`sample`; the others are shown in `tests/fixtures`.)

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::{Arc, Once};

use ::inferno::collapse::{self as inferno, Collapse};

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::text::{split_digits, split_first, split_last};
use crate::collapse::kit::times::duration;
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value};
use crate::error::{Error, ErrorKind, Position, Result};
use crate::folded::{Columns, FrameId, parse_line};
use crate::input::{Input, MAX_RECORD, lines, may_go_on};
use crate::number;
use crate::profile::Facts;
use crate::weight::Weight;

/// One of the formats.
pub struct Inferno {
    about: &'static FormatInfo,
    detect: fn(&[u8]) -> bool,
    /// The values, by the head; the first is the default.
    values: fn(&[u8]) -> Vec<Value>,
    /// Reads one of the values.
    run: fn(usize, &mut dyn BufRead, &mut dyn Write) -> io::Result<()>,
    /// Removes from a frame what inferno's collapser should not have put there.
    frame: fn(&[u8]) -> &[u8],
    /// A warning about samples that inferno's collapser leaves out.
    note: Option<&'static str>,
    /// Reads facts of the recording from its first lines.
    facts: fn(&[u8], &mut Facts),
    /// Holds what was read, of so many lines, against the totals that the first ones state.
    check: fn(&[u8], u64, &mut Report),
}

/// `dtrace`: blocks of frames, leaf first, and a count.
pub static DTRACE: Inferno = Inferno {
    about: &FormatInfo {
        name: "dtrace",
        producer: "dtrace -n 'profile-99 { @[ustack()] = count(); }'",
        tested: Tested::ByDescription("documented output"),
        values: "-",
        unit: "-",
    },
    detect: |head| applies(&mut inferno::dtrace::Folder::default(), head),
    // The counted value is up to the script.
    values: |_| vec![Value::default()],
    run: |_, from, to| inferno::dtrace::Folder::default().collapse(from, to),
    frame: |name| name,
    note: None,
    facts: |_, _| (),
    check: |_, _, _| (),
};

/// `dtrace`: blocks of frames, leaf first, of which each is a sample.
pub static DTRACE_SAMPLES: Inferno = Inferno {
    about: &FormatInfo {
        name: "dtrace-samples",
        producer: "dtrace -n 'profile-99 { ustack(); }', with -q or without",
        tested: Tested::ByDescription("documented output"),
        values: "samples",
        unit: "samples",
    },
    detect: are_dtrace_samples,
    values: samples,
    run: |_, from, to| inferno::dtrace::Folder::default().collapse(BufReader::new(WithCounts::new(from)), to),
    ..DTRACE
};

/// `sample` of macOS: a tree drawn with `+`, `!`, `:` and `|`.
pub static SAMPLE: Inferno = Inferno {
    about: &FormatInfo {
        name: "apple-sample",
        producer: "sample of macOS, spindump",
        tested: Tested::ByDescription("documented output, report version 7"),
        values: "samples",
        unit: "samples",
    },
    detect: |head| {
        let begins = |line: &[u8]| {
            line.starts_with(b"Analysis of sampling ") || line.starts_with(b"Sampling process ")
        };
        filled_lines(head).any(begins)
            || filled_lines(head).any(|line| line.trim_ascii_end() == b"Call graph:")
    },
    values: samples,
    run: |_, from, to| inferno::sample::Folder::default().collapse(from, to),
    // inferno turns `Thread_7  (serial)` into ``Thread_7  (serial`Thread_7``.
    frame: |name| match memchr::memchr(b'`', name) {
        Some(at) if name.starts_with(b"Thread_") => &name[at + 1..],
        _ => name,
    },
    note: Some("threads that wait (in kevent, mach_msg_trap, read, …) are left out"),
    facts: sample_facts,
    check: |_, _, _| (),
};

/// Visual Studio's call tree as CSV, with its level in the first column.
pub static VSPROF: Inferno = Inferno {
    about: &FormatInfo {
        name: "vsprof",
        producer: "Visual Studio's profiler, call tree as CSV",
        tested: Tested::ByDescription("documented output"),
        values: "calls",
        unit: "calls",
    },
    detect: |head| {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        head.starts_with(b"Level,Function Name,Number of Calls,")
    },
    values: |_| vec![Value::new("calls", "calls")],
    run: |_, from, to| inferno::vsprof::Folder::default().collapse(from, to),
    frame: |name| name,
    note: Some("weights are numbers of calls, the table's exact column, and no times"),
    facts: |_, _| (),
    check: |_, _, _| (),
};

/// GHC's `.prof`: a table of cost centres, indented.
pub static GHC_PROF: Inferno = Inferno {
    about: &FormatInfo {
        name: "ghc-prof",
        producer: "a GHC program with +RTS -p, or -P for ticks and bytes",
        tested: Tested::ByDescription("documented output, GHC 9.0"),
        values: "time; time, ticks, bytes with -P",
        unit: "0.1%; 0.1%, ticks, bytes",
    },
    detect: |head| filled_lines(head).any(is_ghc_heading),
    values: |head| {
        let heading = filled_lines(head).find(|line| is_ghc_heading(line)).unwrap_or_default();
        let time = Value::new("time", "0.1%");
        if heading.trim_ascii_end().ends_with(b"bytes") {
            vec![time, Value::new("ticks", "ticks"), Value::new("bytes", "bytes")]
        } else {
            vec![time]
        }
    },
    run: |value, from, to| {
        let mut options = inferno::ghcprof::Options::default();
        options.source = match value {
            0 => inferno::ghcprof::Source::PercentTime,
            1 => inferno::ghcprof::Source::Ticks,
            _ => inferno::ghcprof::Source::Bytes,
        };
        inferno::ghcprof::Folder::from(options).collapse(from, to)
    },
    frame: |name| name,
    note: None,
    facts: ghc_facts,
    check: check_ghc,
};

impl Collapser for Inferno {
    fn info(&self) -> &'static FormatInfo {
        self.about
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        if (self.detect)(head) { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let declared = (self.values)(input.head());
        let columns = declared.len();
        let mut values = Values::new(reading, declared, 0)?;
        let name = input.name().clone();
        let head = input.head().to_vec();
        let mut read = 0;
        if columns > 1 {
            // A pass for each column.
            let bytes = input.read_all()?;
            for at in 0..columns {
                read = self.read(at, &name, &bytes[..], &mut values, sink, report)?;
            }
        } else {
            read = self.read(0, &name, input.into_reader(), &mut values, sink, report)?;
        }
        if let Some(note) = self.note {
            report.warn(note);
        }
        (self.facts)(&head, &mut report.facts);
        values.finish(report)?;
        (self.check)(&head, read, report);
        Ok(())
    }
}

impl Inferno {
    /// Reads one of the values, and returns the number of lines. Where the text is wrong inferno does not say: it is in the last
    /// line that it took, or before.
    fn read<R: BufRead>(
        &self,
        at: usize,
        name: &Arc<str>,
        from: R,
        values: &mut Values,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<u64> {
        let mut from = WithoutSemicolons::new(from);
        let mut to = Folded {
            at,
            frame: self.frame,
            values,
            sink,
            rest: Vec::new(),
            stack: Vec::new(),
            budget: Budget::default(),
            failed: None,
        };
        let result = caught(|| (self.run)(at, &mut from, &mut to));
        let expected = || format!("what {} writes", self.about.producer);
        let place = || Position::line(name.clone(), from.line);
        if let Some(error) = to.failed {
            return Err(error.or_at(place));
        }
        if from.unfinished {
            report.not_understood.ends_within.get_or_insert(place());
        }
        match result {
            Ok(Ok(())) => Ok(from.line),
            Ok(Err(_)) if from.length > MAX_RECORD => {
                Err(Error::new(ErrorKind::TooLong { limit: MAX_RECORD }, place()))
            }
            // An error of the system or of a decoder, not one that inferno finds in the text.
            Ok(Err(e)) if from.failed => Err(crate::input::read_error(e).at(Position::file(name.clone()))),
            Ok(Err(e)) => {
                let what = e.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
                Err(Error::malformed(expected(), what.as_bytes()).at(place()))
            }
            // A panic's message is meant for the author of the reader: show the text instead.
            Err(Panic) => Err(Error::malformed(expected(), from.buffer.trim_ascii()).at(place())),
        }
    }
}

/// The kinds of lines that dtrace prints of samples.
#[derive(PartialEq)]
enum DtraceLine {
    Blank,
    /// The names of the columns, `CPU     ID                    FUNCTION:NAME`, or a probe below them.
    Probe,
    Frame,
    Other,
}

impl DtraceLine {
    fn of(line: &[u8]) -> DtraceLine {
        let text = line.trim_ascii();
        let mut words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let words = [words.next(), words.next(), words.next(), words.next()];
        let is_number = |word: &[u8]| word.iter().all(u8::is_ascii_digit);
        let is_address = |text: &[u8]| {
            text.strip_prefix(b"0x")
                .is_some_and(|hex| !hex.is_empty() && hex.iter().all(u8::is_ascii_hexdigit))
        };
        match words {
            [None, ..] => DtraceLine::Blank,
            [Some(b"CPU"), Some(b"ID"), Some(b"FUNCTION:NAME"), None] => DtraceLine::Probe,
            [Some(cpu), Some(id), Some(probe), None]
                if is_number(cpu) && is_number(id) && probe.contains(&b':') =>
            {
                DtraceLine::Probe
            }
            _ if line.starts_with(b" ") && (text.contains(&b'`') || is_address(text)) => DtraceLine::Frame,
            _ => DtraceLine::Other,
        }
    }
}

/// Returns whether the lines of a text are stacks that dtrace prints one a sample: no counts, and a function with its
/// module in each.
fn are_dtrace_samples(head: &[u8]) -> bool {
    let whole = memchr::memrchr(b'\n', head).map_or(&[][..], |end| &head[..end]);
    let mut kinds = lines(whole).map(|line| (DtraceLine::of(line), line));
    let mut has_function = false;
    let are = kinds.all(|(kind, line)| {
        // `xul`js::Run+0x1c`, and no Markdown.
        has_function |= kind == DtraceLine::Frame
            && line.split(|&b| b == b'`').count() == 2
            && memchr::memmem::find(line, b"+0x").is_some();
        kind != DtraceLine::Other && line.trim_ascii() != b"`"
    });
    are && has_function
}

/// The text of dtrace's samples with a count below each stack, where a blank line or a probe stood.
struct WithCounts<R> {
    inner: R,
    line: Vec<u8>,
    taken: usize,
    is_in_stack: bool,
}

impl<R: BufRead> WithCounts<R> {
    fn new(inner: R) -> Self {
        WithCounts { inner, line: b"\n".to_vec(), taken: 0, is_in_stack: false }
    }
}

impl<R: BufRead> Read for WithCounts<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.line.len() {
            self.taken = 0;
            self.line.clear();
            self.inner.read_until(b'\n', &mut self.line)?;
            if DtraceLine::of(&self.line) == DtraceLine::Frame {
                self.is_in_stack = true;
            } else if self.line.is_empty() && !self.is_in_stack {
                return Ok(0);
            } else if DtraceLine::of(&self.line) != DtraceLine::Other {
                self.line.clear();
                self.line.extend_from_slice(if self.is_in_stack { b"1\n" } else { b"\n" });
                self.is_in_stack = false;
            }
        }
        let read = (&self.line[self.taken..]).read(to)?;
        self.taken += read;
        Ok(read)
    }
}

/// Folded text as inferno writes it, taken up line by line.
struct Folded<'a> {
    at: usize,
    frame: fn(&[u8]) -> &[u8],
    values: &'a mut Values,
    sink: &'a mut dyn Sink,
    rest: Vec<u8>,
    stack: Vec<FrameId>,
    budget: Budget,
    failed: Option<Error>,
}

impl Folded<'_> {
    fn line(&mut self, line: &[u8]) -> Result<()> {
        let Some(line) = parse_line(line, Columns::One) else {
            return Err(Error::malformed("a folded line", line));
        };
        self.stack.clear();
        for frame in line.stack.split(|&b| b == b';') {
            self.stack.push(self.sink.frame((self.frame)(frame)));
        }
        self.budget.check(self.stack.len())?;
        self.budget.spend(self.stack.len())?;
        self.values.add(self.at, &self.stack, line.weights.value, self.sink)
    }
}

impl Write for Folded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest.extend_from_slice(bytes);
        let Some(end) = memchr::memrchr(b'\n', &self.rest) else { return Ok(bytes.len()) };
        let whole = self.rest.drain(..=end).collect::<Vec<u8>>();
        for line in filled_lines(&whole) {
            if let Err(error) = self.line(line) {
                self.failed = Some(error);
                return Err(io::Error::other("a line that cannot be taken up"));
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The text with `:` for each `;` but those that end an entity of XML, `&lt;`. It is handed out line
/// by line, so that what inferno reads is never far ahead of what it understands.
struct WithoutSemicolons<R> {
    inner: R,
    /// Some of a line, and how much of it has been taken.
    buffer: Vec<u8>,
    taken: usize,
    /// The number of the line, and how many bytes of it there were.
    line: u64,
    length: usize,
    in_entity: bool,
    /// True if the line has no newline.
    unfinished: bool,
    /// True if what is read could not be had.
    failed: bool,
}

impl<R: BufRead> WithoutSemicolons<R> {
    fn new(inner: R) -> Self {
        let buffer = Vec::new();
        WithoutSemicolons {
            inner,
            buffer,
            taken: 0,
            line: 1,
            length: 0,
            in_entity: false,
            unfinished: false,
            failed: false,
        }
    }
}

impl<R: BufRead> BufRead for WithoutSemicolons<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.taken == self.buffer.len() {
            let bytes = self.inner.fill_buf().inspect_err(|_| self.failed = true)?;
            if self.buffer.ends_with(b"\n") && !bytes.is_empty() {
                self.line += 1;
                self.length = 0;
            }
            let len = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1);
            self.length += len;
            if self.length > MAX_RECORD {
                return Err(io::Error::other("a line without an end"));
            }
            self.taken = 0;
            self.buffer.clear();
            self.buffer.extend_from_slice(&bytes[..len]);
            self.inner.consume(len);
            if len > 0 {
                self.unfinished = may_go_on(&self.buffer);
            }
            for byte in &mut self.buffer {
                let ends_entity = self.in_entity && *byte == b';';
                self.in_entity =
                    *byte == b'&' || self.in_entity && (byte.is_ascii_alphanumeric() || *byte == b'#');
                if *byte == b';' && !ends_entity {
                    *byte = b':';
                }
            }
        }
        Ok(&self.buffer[self.taken..])
    }

    fn consume(&mut self, amount: usize) {
        self.taken += amount;
    }
}

impl<R: BufRead> Read for WithoutSemicolons<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(to)?;
        self.consume(n);
        Ok(n)
    }
}

thread_local! {
    /// True if a panic of this thread is caught and told as an error.
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// A panic that was caught.
struct Panic;

/// Calls `run` and catches its panic, as some of inferno's readers panic on damaged input. Nothing
/// is printed.
fn caught<T>(run: impl FnOnce() -> T) -> std::result::Result<T, Panic> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if !CAUGHT.get() {
                before(info);
            }
        }));
    });
    CAUGHT.set(true);
    // The state that a panic leaves half-done is thrown away with the error.
    let result = catch_unwind(AssertUnwindSafe(run));
    CAUGHT.set(false);
    result.map_err(|_| Panic)
}

/// `Analysis of sampling app (pid 42) every 1 millisecond`, and lines `Key:   value`.
fn sample_facts(head: &[u8], facts: &mut Facts) {
    let field = |key: &[u8]| {
        let line = filled_lines(head).find(|line| line.starts_with(key))?;
        Some(line[key.len()..].trim_ascii())
    };
    if let Some(process) = field(b"Process:") {
        let end = memchr::memmem::rfind(process, b" [").unwrap_or(process.len());
        facts.set_command(&process[..end]);
    }
    facts.system = field(b"OS Version:").and_then(crate::profile::fact);
    if let Some((_, every)) = field(b"Analysis of sampling ").and_then(|line| split_last(line, b" every "))
        && split_digits(every).1.starts_with(b" millisecond")
    {
        let millis: Option<u64> = number::parse(split_digits(every).0);
        facts.rate = millis.and_then(|millis| 1000_u64.checked_div(millis)).filter(|rate| *rate > 0);
    }
}

/// The command, which stands alone below the report's heading, and
/// `total time  =        0.14 secs   (140 ticks @ 1000 us, 1 processor)`.
fn ghc_facts(head: &[u8], facts: &mut Facts) {
    let mut lines = filled_lines(head).map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    if let Some(command) = lines.nth(1) {
        facts.set_command(command);
    }
    let Some(total) = lines.find_map(|line| line.strip_prefix(b"total time")) else { return };
    let text = String::from_utf8_lossy(total);
    let mut words = text.trim_start_matches([' ', '=']).split_whitespace();
    let seconds = words.next().and_then(|number| Weight::parse(number.as_bytes()));
    facts.cpu_time = seconds.and_then(|seconds| duration(seconds, "s"));
    let micros: Option<u64> = text
        .split_once(" @ ")
        .and_then(|(_, rest)| rest.split_once(" us"))
        .and_then(|(micros, _)| micros.parse().ok());
    facts.rate = micros.and_then(|micros| 1_000_000_u64.checked_div(micros)).filter(|rate| *rate > 0);
}

/// The ticks and bytes of all cost centres are those of the heading, and their shares are all but rounded.
fn check_ghc(head: &[u8], read: u64, report: &mut Report) {
    let total = |name: &[u8]| {
        let value = report.values.iter().find(|(value, _)| value.name == name);
        value.map(|(_, total)| total.weight)
    };
    let number = |text: &[u8]| {
        let digits: Vec<u8> = text.iter().copied().filter(u8::is_ascii_digit).collect();
        Weight::parse(&digits)
    };
    let stated = |key: &[u8], before: &[u8], after: &[u8]| {
        let line = filled_lines(head).map(<[u8]>::trim_ascii).find(|line| line.starts_with(key))?;
        number(split_last(split_first(line, before)?.1, after)?.0)
    };
    let ticks = (total(b"ticks"), stated(b"total time", b"(", b" ticks @ "));
    let bytes = (total(b"bytes"), stated(b"total alloc", b"=", b" bytes "));
    let time = total(b"time");
    for (what, (sum, stated)) in [("the ticks", ticks), ("the bytes", bytes)] {
        if let (Some(sum), Some(stated)) = (sum, stated) {
            report.check_total(what, sum, stated);
        }
    }
    // Each line may be rounded by half of a tenth of a percent.
    if ticks.0.is_none()
        && let Some(time) = time
        && (time.to_f64() - 1000.0).abs() > read as f64 / 2.0
    {
        report.check_total("the tenths of percents", time, Weight::new(1000));
    }
}

fn samples(_: &[u8]) -> Vec<Value> {
    vec![Value::new("samples", "samples")]
}

/// Returns whether inferno is sure, or at least not against it at the end of a head that was cut.
fn applies(folder: &mut impl Collapse, head: &[u8]) -> bool {
    folder.is_applicable(&String::from_utf8_lossy(head)) == Some(true)
}

fn filled_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines(text).filter(|line| !line.is_empty())
}

fn is_ghc_heading(line: &[u8]) -> bool {
    let words = ["COST", "CENTRE", "MODULE", "SRC", "no.", "entries", "%time", "%alloc"];
    let mut found = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.iter().all(|word| found.next() == Some(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::tests::collapse_bytes;

    const CALL_TREE: &str = "Level,Function Name,Number of Calls,Elapsed Inclusive Time %,Elapsed Exclusive Time %,\
        Avg Elapsed Inclusive Time,Avg Elapsed Exclusive Time,Module Name,\n\
        1,\"f\",\"1\",\"1\",\"1\",\"1\",\"1\",\"m\",\n";

    #[test]
    fn a_text_that_is_cut_is_noticed() {
        let bytes = include_str!("../../../tests/fixtures/ghc-prof/bytes/input.txt");
        let time = include_str!("../../../tests/fixtures/ghc-prof/time/input.txt");
        let read =
            |text: &str| collapse_bytes(&super::GHC_PROF, text, &CollapseOptions::default()).unwrap().1;
        for whole in [bytes, time] {
            let report = read(whole);
            assert!(report.facts.warnings.is_empty(), "{:?}", report.facts.warnings);
            assert!(report.not_understood.ends_within.is_none());
            let without_last = &whole[..whole.trim_end().rfind('\n').unwrap() + 1];
            let warnings = read(without_last).facts.warnings;
            assert!(warnings.iter().any(|warning| warning.contains("add up to")), "{warnings:?}");
            assert!(read(&whole[..whole.len() - 1]).not_understood.ends_within.is_some());
        }
        let cut = CALL_TREE.trim_end();
        let (_, report) = collapse_bytes(&super::VSPROF, cut, &CollapseOptions::default()).unwrap();
        assert!(report.not_understood.ends_within.is_some());
    }

    #[test]
    fn mistakes_are_placed_and_panics_are_errors() {
        let error = |format: &Inferno, text: &str| {
            collapse_bytes(format, text, &CollapseOptions::default()).unwrap_err().to_string()
        };
        // Inferno panics at a level that is left out.
        let panics =
            error(&super::VSPROF, &format!("{CALL_TREE}9,\"g\",\"1\",\"1\",\"1\",\"1\",\"1\",\"m\",\n1,x\n"));
        assert!(
            panics.starts_with("test:3: expected what Visual Studio's") && panics.contains("g"),
            "{panics}"
        );
        let skipped =
            error(&super::SAMPLE, "Call graph:\n    5 f  (in a)\n            3 g  (in a)\n    1 h\n");
        assert!(skipped.starts_with("test:3: expected what sample of macOS"), "{skipped}");
        assert!(skipped.contains("Skipped indentation") && !skipped.contains("\\n"), "{skipped}");
    }

    #[test]
    fn each_stack_of_dtrace_is_a_sample() {
        let stacks = "\n              libc.so.1`strlen+0x10\n              app`main+0x20\n\n              app`main+0x24\n";
        let quiet = format!("{stacks}\n{stacks}\n");
        let probes = quiet.replace("\n\n", "\n\n  0     63                       :profile-97 \n");
        let probes = format!("CPU     ID                    FUNCTION:NAME{probes}");
        for text in [quiet.clone(), probes, stacks.repeat(2)] {
            assert_eq!(super::DTRACE_SAMPLES.detect(text.as_bytes()), Certainty::Yes, "{text}");
            assert_eq!(super::DTRACE.detect(text.as_bytes()), Certainty::No, "{text}");
            let (folded, _) =
                collapse_bytes(&super::DTRACE_SAMPLES, &text, &CollapseOptions::default()).unwrap();
            assert_eq!(folded, "app`main 2\napp`main;libc.so.1`strlen 2\n", "{text}");
        }
        for other in [&quiet.replace("main", "main x\nhello")[..], "  `a`\n  `b`\n", "\n"] {
            assert_eq!(super::DTRACE_SAMPLES.detect(other.as_bytes()), Certainty::No, "{other}");
        }
    }

    #[test]
    fn stacks_that_would_fill_the_memory_are_refused() {
        let number = |n: u32| if n < 1000 { n.to_string() } else { format!("{},{:03}", n / 1000, n % 1000) };
        let line =
            |level, name| format!("\"{}\",\"f{name}\",\"1\",\"1\",\"1\",\"1\",\"1\",\"m\",\n", number(level));
        // Many callees of one function far from the root.
        let levels: String = (2..5000).map(|n| line(n, n)).chain((0..4000).map(|n| line(5000, n))).collect();
        let error =
            collapse_bytes(&super::VSPROF, CALL_TREE.to_owned() + &levels, &CollapseOptions::default());
        let error = error.expect_err("it is refused").to_string();
        assert!(error.contains("frames in all stacks"), "{error}");
    }
}

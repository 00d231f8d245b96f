//! The text that austin writes (3.x, and `mojo2austin`): Python stacks.
//!
//! ```text
//! # austin: 3.7.0
//! # mode: wall
//!
//! P16105;T0:16105;/usr/lib/python3.11/runpy.py:_run_code:86;orders.py:main:40 5681
//!
//! # duration: 1150613
//! ```
//! A sample is a line, root first: process, interpreter and thread, then `file:function:line`.
//! What it weighs is microseconds, or bytes in memory mode, or in full mode the three of
//! `time,idle,memory`: idle is 1 for a thread that waited, so the time of those with 0 is `cpu`. The source is austin's own documentation
//! (github.com/P403n1x87/austin, "Output").

use super::driver::{self, LineParser};
use super::folded::head_lines;
use super::names::NO_STACK;
use super::values::Values;
use super::{Collapser, FormatInfo, Options, Report, Sink, Value, Verdict};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "austin",
    producer: "austin 3.x as text, mojo2austin",
    tested: "austin 3.7, mojo2austin 2.4",
    values: "time, or memory in memory mode; time, cpu, memory in full mode",
    unit: "us, bytes; us, us, bytes",
};

/// Collapses austin's text format.
pub struct Austin;

impl Collapser for Austin {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Verdict {
        if head.starts_with(b"# austin: ") {
            return Verdict::Yes;
        }
        let (mut samples, mut other) = (0, 0);
        for line in head_lines(head) {
            if split(line).is_some_and(|(stack, _)| is_austins(stack)) { samples += 1 } else { other += 1 }
        }
        if samples > other { Verdict::Yes } else { Verdict::No }
    }

    fn collapse(
        &self,
        input: Input,
        options: &Options,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mode = mode(input.head());
        // What can be chosen is told once, before there are threads.
        Values::new(options, mode.values(), 0)?;
        let new = || AustinLines {
            mode,
            threads: options.shows_threads(true),
            values: Values::new(options, mode.values(), 0).expect("it was possible before"),
            ids: Vec::new(),
            frame: Vec::new(),
        };
        driver::run_lines(input, options.threads, new, sink, report)
    }
}

/// What austin was asked to measure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Wall or processor time.
    Time,
    Memory,
    Full,
}

impl Mode {
    pub(super) fn values(self) -> Vec<Value> {
        match self {
            Mode::Time => vec![Value::new("time", "us")],
            Mode::Memory => vec![Value::new("memory", "bytes")],
            Mode::Full => {
                vec![Value::new("time", "us"), Value::new("cpu", "us"), Value::new("memory", "bytes")]
            }
        }
    }
}

/// What the header says, or else the first sample.
fn mode(head: &[u8]) -> Mode {
    let said = head.split(|&b| b == b'\n').take(20).find_map(|line| line.strip_prefix(b"# mode:"));
    let three = || head_lines(head).find_map(split).is_some_and(|(_, metrics)| metrics[2].is_some());
    match said.map(<[u8]>::trim_ascii) {
        Some(b"memory") => Mode::Memory,
        // Converters write the header of a full recording over one metric.
        _ if three() => Mode::Full,
        _ => Mode::Time,
    }
}

/// Reads the lines of one thread.
struct AustinLines {
    mode: Mode,
    /// Whether process and thread are frames.
    threads: bool,
    values: Values,
    ids: Vec<FrameId>,
    frame: Vec<u8>,
}

impl LineParser for AustinLines {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        let Some((stack, [Some(first), idle, memory])) = split(line) else { return Ok(false) };
        let (ids, frame) = (&mut self.ids, &mut self.frame);
        ids.clear();
        for (n, piece) in stack.split(|&b| b == b';').enumerate() {
            if n < 2 {
                if self.threads {
                    ids.push(sink.frame(piece));
                }
                continue;
            }
            frame.extend_from_slice(piece);
            if is_whole(frame) {
                ids.push(sink.frame(&readable(frame)));
                frame.clear();
            } else {
                // A file name that holds a `;` goes on in the next piece.
                frame.push(b':');
            }
        }
        if let [piece @ .., _] = &frame[..] {
            ids.push(sink.frame(piece));
            frame.clear();
        }
        if ids.is_empty() {
            ids.push(sink.frame(NO_STACK));
        }
        let busy = if idle.is_none_or(Weight::is_zero) { first } else { Weight::ZERO };
        let all = [first, busy, memory.unwrap_or_default()];
        let weights = if self.mode == Mode::Full { &all[..] } else { &all[..1] };
        self.values.sample(&self.ids, weights, sink)?;
        Ok(true)
    }

    /// The name of a file that holds a newline is written as it is.
    fn goes_on(&self, cut: &[u8], line: &[u8]) -> bool {
        begins_sample(cut) && !begins_sample(line)
    }

    fn finish(self, report: &mut Report) -> Result<()> {
        self.values.finish(report)
    }
}

/// `P` and the process, `;T` and the thread.
fn begins_sample(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"P") else { return false };
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    digits > 0 && rest[digits..].starts_with(b";T")
}

/// A sample's stack and its metrics, one or three; `None` if the line is no sample.
fn split(line: &[u8]) -> Option<(&[u8], [Option<Weight>; 3])> {
    if !begins_sample(line) {
        return None;
    }
    let space = memchr::memrchr(b' ', line)?;
    let mut metrics = [None; 3];
    for (at, text) in line[space + 1..].split(|&b| b == b',').enumerate() {
        *metrics.get_mut(at)? = Some(Weight::parse(text)?);
    }
    Some((&line[..space], metrics))
}

/// Whether a stack is austin's and not folded text made of it, which begins likewise.
fn is_austins(stack: &[u8]) -> bool {
    let frame = stack.split(|&b| b == b';').skip(2).last();
    frame.is_none_or(is_whole)
}

/// `file:function:line`, or one of austin's own: `:INVALID:`, `:GC:`.
fn is_whole(frame: &[u8]) -> bool {
    let digits = frame.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    match frame[..frame.len() - digits].strip_suffix(b":") {
        Some(rest) => rest.contains(&b':'),
        None => false,
    }
}

/// `function (file:line)`, as all Python profilers but austin write it.
fn readable(frame: &[u8]) -> Vec<u8> {
    let parts = memchr::memrchr(b':', frame).and_then(|line| {
        let function = memchr::memrchr(b':', &frame[..line])?;
        Some((&frame[..function], &frame[function + 1..line], &frame[line + 1..]))
    });
    match parts {
        Some((file, function, line)) if !line.is_empty() => {
            [function, b" (", file, b":", line, b")"].concat()
        }
        _ => frame.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::ValueSelection;
    use crate::folded::StackTable;

    fn collapsed(text: &str, options: &Options) -> String {
        let input = Input::new("test", Box::new(std::io::Cursor::new(text.to_owned()))).unwrap();
        assert_eq!(Austin.detect(text.as_bytes()), Verdict::Yes);
        let (mut table, mut report) = (StackTable::default(), Report::default());
        Austin.collapse(input, options, &mut table, &mut report).unwrap();
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        String::from_utf8(out).unwrap() + &report.notes.join("\n")
    }

    #[test]
    fn frames_are_read_from_the_right() {
        let plain = Options::default();
        for (sample, folded) in [
            ("P1;T0:2;a.py:main:3 10", "P1;T0:2;main (a.py:3) 10\n"),
            ("P1;T0:2;C:\\x\\y:8:f:1 10", "P1;T0:2;f (C:\\x\\y:8:1) 10\n"),
            ("P1;T0:2;t/a b;c 12.html:run:2;a.py:f:1 10", "P1;T0:2;run (t/a b:c 12.html:2);f (a.py:1) 10\n"),
            (
                "P1;T0:2;<frozen importlib._bootstrap>:_load:1176 5",
                "P1;T0:2;_load (<frozen importlib._bootstrap>:1176) 5\n",
            ),
            ("P1;T0:2;a.py:f:1;:GC: 5", "P1;T0:2;f (a.py:1);:GC: 5\n"),
            ("P1;T0:2 5681", "P1;T0:2 5681\n"),
            ("P1;T2;a.py::0 -8192", "P1;T2; (a.py:0) -8192\n"),
            ("P1;T2;cut off 7", "P1;T2;cut off 7\n"),
        ] {
            assert_eq!(collapsed(sample, &plain), folded);
        }
    }

    #[test]
    fn the_name_of_a_file_may_hold_a_newline() {
        let text = "P1;T0:2;a.py:f:1;new\nline.py:g:2 10\nP1;T0:2;two\nnew\nlines.py:g:3 5\nP1;T0:2;cut off\nP1;T0:2;a.py:f:1 1\n";
        let (out, report) =
            crate::collapse::tests::collapse_bytes(&Austin, text, &Options::default()).unwrap();
        assert_eq!(
            out,
            "P1;T0:2;f (a.py:1) 1\nP1;T0:2;f (a.py:1);g (new line.py:2) 10\nP1;T0:2;g (two new lines.py:3) 5\n"
        );
        let (place, excerpt) = report.not_understood.first.unwrap();
        assert_eq!((report.not_understood.count, place.line), (1, Some(6)), "{excerpt}");
    }

    #[test]
    fn full_mode_has_three_values() {
        let text = "# austin: 3.7.0\n# mode: full\n\nP1;T2;a.py:f:1 100,1,-4096\nP1;T2;a.py:f:1 7,0,0\n\n# duration: 5\n";
        assert_eq!(collapsed(text, &Options::default()), "P1;T2;f (a.py:1) 107\n");
        let value =
            |name: &str| Options { values: ValueSelection::Named(vec![name.into()]), ..Options::default() };
        assert_eq!(collapsed(text, &value("cpu")), "P1;T2;f (a.py:1) 7\n");
        assert_eq!(collapsed(text, &value("memory")), "P1;T2;f (a.py:1) -4096\n");
        let count = Options { count: true, ..Options::default() };
        assert_eq!(collapsed(text, &count), "P1;T2;f (a.py:1) 2\n");
        let none = Options { threads_as_frames: Some(false), ..Options::default() };
        assert_eq!(collapsed(&format!("{text}P1;T3 5,0,0\n"), &none), "[no stack] 5\nf (a.py:1) 107\n");
    }
}

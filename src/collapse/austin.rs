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
//! `time,idle,memory`, of which the time counts. The source is austin's own documentation
//! (github.com/P403n1x87/austin, "Output").

use super::folded::head_lines;
use super::{Collapser, Options, Report, Sink, Verdict, driver};
use crate::error::Result;
use crate::folded::{FrameId, StackTable, Weights};
use crate::input::Input;
use crate::weight::Weight;

/// Collapses austin's text format.
pub struct Austin;

impl Collapser for Austin {
    fn name(&self) -> &'static str {
        "austin"
    }

    fn about(&self) -> &'static str {
        "austin 3.x text, mojo2austin: Python stacks"
    }

    fn detect(&self, head: &[u8]) -> Verdict {
        if head.starts_with(b"# austin: ") {
            return Verdict::Yes;
        }
        let (mut samples, mut other) = (0, 0);
        for line in head_lines(head) {
            if split(line).is_some() { samples += 1 } else { other += 1 }
        }
        if samples > other { Verdict::Yes } else { Verdict::No }
    }

    fn collapse(
        &self,
        input: Input,
        options: &Options,
        table: &mut StackTable,
        report: &mut Report,
    ) -> Result<()> {
        if input.head().split(|&b| b == b'\n').take(20).any(|line| line == b"# mode: full") {
            let note = "austin's full mode: the weight is time; idle time and memory are left out";
            if !report.notes.iter().any(|other| other == note) {
                report.notes.push(note.to_owned());
            }
        }
        let count = options.count;
        let parser = || {
            let mut ids: Vec<FrameId> = Vec::new();
            let mut frame: Vec<u8> = Vec::new();
            move |line: &[u8], sink: &mut dyn Sink| {
                let Some((stack, weight)) = split(line) else { return Ok(false) };
                ids.clear();
                for (n, piece) in stack.split(|&b| b == b';').enumerate() {
                    if n < 2 {
                        ids.push(sink.frame(piece));
                        continue;
                    }
                    frame.extend_from_slice(piece);
                    if is_whole(&frame) {
                        ids.push(sink.frame(&readable(&frame)));
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
                let weight = if count { Weight::ONE } else { weight };
                sink.sample(&ids, Weights::one(weight))?;
                Ok(true)
            }
        };
        driver::run_lines(input, options.threads, parser, table, report)
    }
}

/// A sample's stack and its first metric; `None` if the line is no sample.
fn split(line: &[u8]) -> Option<(&[u8], Weight)> {
    let rest = line.strip_prefix(b"P")?;
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 || !rest[digits..].starts_with(b";T") {
        return None;
    }
    let space = memchr::memrchr(b' ', line)?;
    let mut metrics = line[space + 1..].split(|&b| b == b',').map(Weight::parse);
    let first = metrics.next().flatten()?;
    metrics.all(|metric| metric.is_some()).then_some((&line[..space], first))
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
    fn full_mode_counts_time() {
        let text = "# austin: 3.7.0\n# mode: full\n\nP1;T2;a.py:f:1 100,1,-4096\nP1;T2;a.py:f:1 7,0,0\n\n# duration: 5\n";
        let out = collapsed(text, &Options::default());
        assert!(out.starts_with("P1;T2;f (a.py:1) 107\naustin's full mode"), "{out}");
        let count = Options { count: true, ..Options::default() };
        assert!(collapsed(text, &count).starts_with("P1;T2;f (a.py:1) 2\n"));
    }
}

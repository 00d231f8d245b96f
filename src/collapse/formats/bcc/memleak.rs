//! The output of bcc's and libbpf-tools' `memleak`: memory that was not freed, by who allocated it.
//!
//! ```text
//! [07:53:45] Top 10 stacks with outstanding allocations:
//!     13900 bytes in 695 allocations from stack
//!         0x000055ac4cde7165    leaky+0xc [leak]
//!         0x000055ac4cde71c9    main+0x3c [leak]
//! ```
//! Frames are leaf first. What is printed at one time is still there at the next unless it was
//! freed, so the last of several is taken. The sources are `tools/memleak.py` (github.com/iovisor/bcc)
//! and `libbpf-tools/memleak.c`, which numbers the frames: `0 [<000055ac4cde7165>] leaky+0xc`.

use crate::collapse::kit::leaf_first::LeafFirst;
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::native_frame::NativeFrame;
use crate::collapse::kit::text::{Text, split_address, split_digits, split_first, split_last};
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value,
};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::{Input, lines};
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "bcc-memleak",
    producer: "bcc's memleak; the last of what it printed",
    tested: Tested::Seen("bcc 0.26"),
    values: "bytes, allocations",
    unit: "bytes, allocations",
};

const HEADING: &[u8] = b" stacks with outstanding allocations";

/// Collapses what bcc's `memleak` prints.
pub struct Memleak;

impl Collapser for Memleak {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let mut lines = lines(head).take(100);
        if lines.any(is_heading) { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let declared = vec![Value::new("bytes", "bytes"), Value::new("allocations", "allocations")];
        let mut parser = Parser::new(reading);
        Text::new(input).for_each(report, |line| Ok(parser.line(line, sink)))?;
        parser.end(sink);
        let holds = |at: usize| parser.rows.iter().any(|(_, weights)| !weights[at].is_zero());
        let mut values = Values::holding(reading, declared, 0, holds, report)?;
        for (stack, weights) in &parser.rows {
            values.sample(stack, weights, sink)?;
        }
        if parser.times > 1 {
            report.warn(format!("of what was printed {} times this is the last", parser.times));
        }
        values.finish(report)
    }
}

struct Parser<'o> {
    options: &'o CollapseOptions,
    names: FrameNames,
    stack: LeafFirst,
    weights: Option<[Weight; 2]>,
    /// The rows of the last printout.
    rows: Vec<(Vec<FrameId>, [Weight; 2])>,
    times: usize,
}

impl<'o> Parser<'o> {
    fn new(options: &'o CollapseOptions) -> Parser<'o> {
        Parser {
            options,
            names: FrameNames::default(),
            stack: LeafFirst::default(),
            weights: None,
            rows: Vec::new(),
            times: 0,
        }
    }

    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> bool {
        if is_heading(line) {
            self.end(sink);
            self.rows.clear();
            self.times += 1;
        } else if let Some(weights) = weights(line) {
            self.end(sink);
            self.weights = Some(weights);
        } else if let Some(text) = indented(line).filter(|_| self.weights.is_some()) {
            let text = text.trim_ascii_start();
            // With `-a`: where each of them is.
            if !text.starts_with(b"addr = ") {
                self.stack.push(frame(text).frame(self.options, &mut self.names, sink));
            }
        }
        true
    }

    fn end(&mut self, sink: &mut dyn Sink) {
        if let Some(weights) = self.weights.take() {
            if self.stack.is_empty() {
                self.stack.push(self.names.plain(NO_STACK, sink));
            }
            self.rows.push((self.stack.take().to_vec(), weights));
        }
    }
}

/// `[07:53:45] Top 10 stacks with outstanding allocations:`, `allocations by pid …` goes on.
fn is_heading(line: &[u8]) -> bool {
    line.starts_with(b"[") && memchr::memmem::find(line, HEADING).is_some()
}

/// The text behind a tab, or behind the blanks that stand for one.
fn indented(line: &[u8]) -> Option<&[u8]> {
    line.strip_prefix(b"\t").or_else(|| line.strip_prefix(b"        "))
}

/// `13900 bytes in 695 allocations from stack`
fn weights(line: &[u8]) -> Option<[Weight; 2]> {
    let (bytes, rest) = split_first(line.trim_ascii(), b" bytes in ")?;
    let (allocations, rest) = split_first(rest, b" allocations from stack")?;
    rest.is_empty().then_some([Weight::parse(bytes)?, Weight::parse(allocations)?])
}

/// `0x000055ac4cde7165 leaky+0xc [leak]`, `0 [<000055ac4cde7165>] leaky+0xc [leak]`, `leaky+0xc [leak]`
fn frame(text: &[u8]) -> NativeFrame<'_> {
    let (mut address, mut rest) = (&b""[..], text);
    let numbered = split_digits(text).1.strip_prefix(b" [<").and_then(|rest| split_first(rest, b">] "));
    if let Some((digits, behind)) = numbered {
        (address, rest) = (digits, behind);
    } else if let Some((digits, behind)) = split_address(text)
        && let [b'\t' | b' ', ..] = behind
    {
        (address, rest) = (digits, behind.trim_ascii_start());
    }
    let (symbol, module) = match rest.strip_suffix(b"]").and_then(|rest| split_last(rest, b" [")) {
        Some((symbol, module)) => (symbol, module),
        None => (rest, &b""[..]),
    };
    let symbol = split_last(symbol, b"+0x").map_or(symbol, |(symbol, _)| symbol);
    NativeFrame { symbol, module, address, kernel: module == b"kernel", ..NativeFrame::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::tests::collapse_bytes;

    #[test]
    fn the_last_time_counts() {
        let text = "Attaching to pid 7, Ctrl+C to quit.\n[07:53:45] Top 10 stacks with outstanding allocations:\n\t7 bytes \
                    in 1 allocations from stack\n\t\t0x01\tf+0xc [a]\n[07:53:48] Top 10 stacks with outstanding \
                    allocations:\n\taddr = 7f size = 9\n\t9 bytes in 2 allocations from stack\n\t\t0x01\tf(int)+0xc [a]\n\
                    \t\t0x02\t[unknown] [b.so]\n\t3 bytes in 1 allocations from stack\n\t0 [<0003>] g+0x1 [kernel]\n\t1 \
                    [<0004>] main+0x1 [b]\n";
        let kernel = CollapseOptions { kernel: true, ..CollapseOptions::default() };
        let (folded, report) = collapse_bytes(&Memleak, text, &kernel).unwrap();
        assert_eq!(folded, "[b.so];f 9\nmain;g_[k] 3\n");
        assert_eq!(report.notes, ["of what was printed 2 times this is the last"]);
        assert_eq!(Memleak.detect(text.as_bytes()), Certainty::Yes);
    }
}

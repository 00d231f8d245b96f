//! AIX's `procstack`, once or in a loop: the stack of each thread of a process.
//!
//! ```text
//! 9634068: /usr/bin/orders 4
//! ---------- tid# 22282419 (pthread ID:      1) ----------
//! 0xd011e9e4  _p_nsleep(??, ??) + 0x10
//! 0xd012a8ac  nsleep(??, ??) + 0xec
//! 0x100006f4  main(0x1, 0x2ff22d78) + 0x54
//! 0x100001bc  __start() + 0x6c
//! ```
//! Leaf first; each thread counts once. A process of one thread has no line for it. Described in AIX's manual.

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::leaf_first::LeafFirst;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::text::{Text, split_address, split_digits, split_first, split_last};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
};
use crate::error::Result;
use crate::input::{Input, lines};
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "procstack",
    producer: "AIX's procstack, once or in a loop",
    tested: Tested::ByDescription("documented output"),
    values: "samples",
    unit: "samples",
};

/// Collapses procstack's text.
pub struct Procstack;

impl Collapser for Procstack {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { labels: "thread, tid, process", ..ContextInfo::NONE }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let mut lines = lines(head).map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
        let begins = lines.next().is_some_and(|line| process(line).is_some());
        let next = lines.next().is_some_and(|line| thread(line).is_some() || frame(line).is_some());
        if begins && next { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut values = Values::single(reading, "samples", "samples");
        let mut names = FrameNames::default();
        let mut stack = LeafFirst::default();
        let (mut pid, mut tid, mut command) = (Vec::new(), Vec::new(), Vec::new());
        let mut depth = 0;
        Text::new(input).for_each(report, |line| {
            if let Some(name) = frame(line) {
                depth += 1;
                Budget::default().check(depth)?;
                stack.push(names.symbol(name, sink));
                return Ok(true);
            }
            let begins = thread(line).is_some() || process(line).is_some();
            if begins || line.is_empty() {
                end(&mut stack, (&command, &pid, &tid), reading, &mut values, &mut names, sink)?;
                (depth, tid) = (0, Vec::new());
            }
            if let Some(number) = thread(line) {
                tid = number.to_vec();
            } else if let Some((number, name)) = process(line) {
                let path = name.split(|&b| b == b' ').next().unwrap_or_default();
                command = path.rsplit(|&b| b == b'/').next().unwrap_or_default().to_vec();
                pid = number.to_vec();
            }
            Ok(begins || line.is_empty())
        })?;
        end(&mut stack, (&command, &pid, &tid), reading, &mut values, &mut names, sink)?;
        values.finish(report)
    }
}

/// Adds the stack of a thread, if there is one.
fn end(
    stack: &mut LeafFirst,
    (name, pid, tid): (&[u8], &[u8], &[u8]),
    options: &CollapseOptions,
    values: &mut Values,
    names: &mut FrameNames,
    sink: &mut dyn Sink,
) -> Result<()> {
    if stack.is_empty() {
        return Ok(());
    }
    let thread = Thread { name, pid, tid };
    if options.shows_threads(true) {
        stack.push_above(names.build(sink, |out| thread.write(options, out)));
    }
    values.add_at(0, stack.take(), Weight::ONE, 1, &thread.context(None), sink)
}

/// Number and command of `9634068: /usr/bin/orders 4`.
fn process(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (number, rest) = split_digits(line);
    let command = rest.strip_prefix(b":")?.trim_ascii();
    (!number.is_empty() && !command.is_empty()).then_some((number, command))
}

/// The number of `---------- tid# 22282419 (pthread ID:      1) ----------`.
fn thread(line: &[u8]) -> Option<&[u8]> {
    let (_, rest) = split_first(line.strip_prefix(b"----------")?, b" tid# ")?;
    let (number, _) = split_digits(rest);
    (!number.is_empty()).then_some(number)
}

/// The function of `0xd011e9e4  _p_nsleep(??, ??) + 0x10`.
fn frame(line: &[u8]) -> Option<&[u8]> {
    let (_, rest) = split_address(line.trim_ascii_start())?;
    let text = rest.strip_prefix(b" ")?.trim_ascii();
    let name = split_last(text, b" + 0x").map_or(text, |(name, _)| name);
    // procstack has values for arguments, which are no types.
    let name = memchr::memrchr(b'(', name).filter(|_| name.ends_with(b")")).map_or(name, |at| &name[..at]);
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::tests::{collapse_bytes, fold};

    const TEXT: &str = "9634068: /usr/bin/orders 4\n---------- tid# 22 (pthread ID:      1) ----------\n\
                        0xd011e9e4  _p_nsleep(??, ??) + 0x10\n0x100006f4  main(0x1, 0x2ff22d78) + 0x54\n\
                        ---------- tid# 23 (pthread ID:    258) ----------\n0x10000010  work;() + 0x4\n\n\
                        77: -ksh\n0xd0  read() + 0x1\n";

    #[test]
    fn each_thread_counts_once() {
        assert_eq!(Procstack.detect(TEXT.as_bytes()), Certainty::Yes);
        let expected = "-ksh;read 1\norders;main;_p_nsleep 1\norders;work: 1\n";
        assert_eq!(fold(&Procstack, TEXT, &CollapseOptions::default()), expected);
        let tid = CollapseOptions { tid: true, ..CollapseOptions::default() };
        assert!(fold(&Procstack, TEXT, &tid).contains("orders-9634068/23;work: 1\n"));
        let (_, report) =
            collapse_bytes(&Procstack, format!("{TEXT}hello\n"), &CollapseOptions::default()).unwrap();
        assert_eq!(report.not_understood.count, 1);
        assert_eq!(Procstack.detect(b"12: hello\nworld\n"), Certainty::No);
    }
}

//! Stacks that SystemTap scripts print with `print_stack`, `print_backtrace`,
//! `print_ubacktrace` or `print_ustack`, and a count below.
//!
//! ```text
//!  0xffffffff8103ce3b : native_safe_halt+0xb/0x10 [kernel]
//!  0xffffffff8101c6a3 : default_idle+0x53/0x1d0 [kernel]
//!  0x0
//!         2303
//! ```
//! as `foreach (s in stacks+) { print_stack(s); printf("\t%d\n", @count(stacks[s])); }` has it,
//! leaf first. The form of a frame is documented in the tapset reference (`print_stack`) and made
//! in `runtime/sym.c`; a script may print only a count's digits, or words before it.

use crate::collapse::kit::folded_detection::head_lines;
use crate::collapse::kit::native_frame::NativeFrame;
use crate::collapse::kit::printed::Printed;
use crate::collapse::kit::text::{Text, split_address, split_first, split_last};
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value};
use crate::error::Result;
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "systemtap",
    producer: "SystemTap's print_stack and print_ubacktrace, a count below",
    tested: Tested::ByDescription("SystemTap's tapset reference"),
    values: "-",
    // The unit is up to the script.
    unit: "-",
};

/// Collapses what SystemTap prints of stacks.
pub struct SystemTap;

impl Collapser for SystemTap {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let mut frames = 0;
        for line in head_lines(head).take(2000) {
            if frame(line).is_some_and(|frame| !frame.symbol.is_empty() && !frame.module.is_empty()) {
                frames += 1;
            } else if frames > 0 && weight(line).is_some() {
                return Certainty::Yes;
            }
        }
        Certainty::No
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut parser = Parser { printed: Printed::new(reading, Values::only(reading, Value::default())) };
        let mut text = Text::new(input);
        text.for_each(report, |line| parser.line(line, sink))?;
        if !parser.printed.stack.is_empty() {
            text.end_within_record(report);
        }
        parser.printed.values.finish(report)
    }
}

struct Parser<'o> {
    printed: Printed<'o>,
}

impl Parser<'_> {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        if let Some(frame) = frame(line) {
            // `0x0` ends a stack whose root is not known.
            if !(frame.symbol.is_empty() && frame.module.is_empty() && is_zero(frame.address)) {
                self.printed.push(&frame, sink);
            }
            return Ok(true);
        }
        if self.printed.stack.is_empty() {
            // Other output of the script, between its stacks.
            return Ok(true);
        }
        let Some(weight) = weight(line) else { return Ok(line.trim_ascii().is_empty()) };
        self.printed.add(weight, sink)?;
        Ok(true)
    }
}

fn is_zero(address: &[u8]) -> bool {
    address.iter().all(|&b| b == b'0')
}

/// The number that ends the line; nothing but it, as a rule.
fn weight(line: &[u8]) -> Option<Weight> {
    let number = line.rsplit(|b| b.is_ascii_whitespace()).next()?;
    Weight::parse(number).filter(|weight| !weight.is_negative())
}

/// ` 0xffffffff8103ce3b : native_safe_halt+0xb/0x10 [kernel]`, ` 0x4005a5`, ` 0x7f01 [libc.so+0x21b35/0x3b6000]`
fn frame(line: &[u8]) -> Option<NativeFrame<'_>> {
    let (address, rest) = split_address(line.trim_ascii())?;
    // The unwinder marks a frame that it is not sure of.
    let rest = rest.strip_suffix(b"(inexact)").unwrap_or(rest).trim_ascii_end();
    let native = NativeFrame { address, ..NativeFrame::default() };
    if rest.is_empty() {
        return Some(native);
    }
    let (symbol, module) = match rest.strip_suffix(b"]").and_then(|rest| split_last(rest, b" [")) {
        Some(parts) => parts,
        None => (rest, &rest[..0]),
    };
    let symbol = match symbol.trim_ascii().strip_prefix(b":") {
        Some(symbol) => symbol.trim_ascii_start(),
        None if symbol.trim_ascii().is_empty() => b"",
        None => return None,
    };
    let without_offset = |text| split_last(text, b"+0x").map_or(text, |(name, _)| name);
    let (symbol, module) = (without_offset(symbol), without_offset(module));
    // A symbol that is not known is its address once more.
    let symbol = if symbol.starts_with(b"0x") { b"" } else { symbol };
    let kernel = !module.is_empty() && !module.contains(&b'/') && split_first(module, b".so").is_none();
    Some(NativeFrame { symbol, module, kernel, ..native })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::tests::{collapse_bytes, fold};

    #[test]
    fn frames_have_any_of_their_parts() {
        let kernel = CollapseOptions { kernel: true, ..CollapseOptions::default() };
        for (line, name) in [
            (" 0xffffffff8103ce3b : native_safe_halt+0xb/0x10 [kernel]", "native_safe_halt_[k]"),
            (" 0xffffffffa0 : ext4_f+0xb/0x10 [ext4] (inexact)", "ext4_f_[k]"),
            (" 0x4005a5 : main+0x15/0x30 [/usr/bin/a b]", "main"),
            (" 0x7f01 [/usr/lib/libc-2.17.so+0x21b35/0x3b6000]", "[libc-2.17.so]"),
            (" 0x7f01 : 0x7f01 [libc.so+0x1/0x2]", "[libc.so]"),
            (" 0x7f01", "[unknown]"),
            ("0x7f01 : std::f(int)+0x1/0x2 [/a]", "std::f"),
        ] {
            assert_eq!(fold(&SystemTap, format!("{line}\n 0x0\n\t7\n"), &kernel), format!("{name} 7\n"));
        }
    }

    #[test]
    fn a_count_ends_a_stack() {
        let text = "beginning\n 0x1 : f+0x1/0x2 [kernel]\n 0x2 : g+0x1/0x2 [kernel]\n\n\t2\n 0x1 : f+0x1/0x2 [kernel]\ncount: 3\nend 5\n";
        assert_eq!(fold(&SystemTap, text, &CollapseOptions::default()), "f 3\ng;f 2\n");
        let (folded, report) = collapse_bytes(
            &SystemTap,
            "0x1 : f+0x1/0x2 [k]\nwords\n1\n0x1 : cut",
            &CollapseOptions::default(),
        )
        .unwrap();
        assert_eq!((folded.as_str(), report.not_understood.count), ("f 1\n", 1));
    }
}

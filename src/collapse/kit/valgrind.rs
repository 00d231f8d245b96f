//! Shared by the readers of valgrind's tools: how their files begin, and a frame as massif and dhat
//! print it.

use crate::collapse::kit::naming::{SymbolFrame, split_srcline};
use crate::collapse::{Certainty, CollapseOptions, Sink};
use crate::folded::FrameId;
use crate::input::lines;

/// Returns whether a file begins as a tool's does: `desc:` lines, `cmd:`, then this.
pub fn header(head: &[u8], behind_cmd: &[u8]) -> Certainty {
    let mut lines = lines(head).skip_while(|line| line.starts_with(b"desc:"));
    let is_header = lines.next().is_some_and(|line| line.starts_with(b"cmd:"))
        && lines.next().is_some_and(|line| line.starts_with(behind_cmd));
    if is_header { Certainty::Yes } else { Certainty::No }
}

/// Returns whether an event of callgrind or cachegrind counts something: misses, branches, bus events.
pub fn is_count(name: &[u8]) -> bool {
    const COUNTS: [&[u8]; 14] = [
        b"I1mr",
        b"ILmr",
        b"Dr",
        b"D1mr",
        b"DLmr",
        b"Dw",
        b"D1mw",
        b"DLmw",
        b"Bc",
        b"Bcm",
        b"Bi",
        b"Bim",
        b"Ge",
        b"sysCount",
    ];
    COUNTS.contains(&name)
}

/// `0x109413: sorter (cyc.c:13)`.
///
/// Adds the frame, named as perf's are: the function, or the file where that is not known, and
/// with `--srcline` where in its source.
pub fn frame(text: &[u8], options: &CollapseOptions, sink: &mut dyn Sink) -> Option<FrameId> {
    let text = text.trim_ascii();
    let (address, rest) = match memchr::memmem::find(text, b": ") {
        Some(at) if text.starts_with(b"0x") => (&text[2..at], &text[at + 2..]),
        _ => (&b""[..], text),
    };
    let (symbol, place) = match memchr::memmem::rfind(rest, b" (") {
        Some(at) if rest.ends_with(b")") => (&rest[..at], &rest[at + 2..rest.len() - 1]),
        _ => (rest, &b""[..]),
    };
    let (module, place) = match place.strip_prefix(b"in ") {
        Some(module) => (module, &b""[..]),
        None => (&b""[..], place),
    };
    let srcline = if options.srcline { place } else { b"" };
    let (file, line) = split_srcline(place);
    let symbol = if symbol == b"???" { b"" } else { symbol };
    let native = SymbolFrame { address, symbol, module, srcline, file, line, ..SymbolFrame::default() };
    let mut id = None;
    native.frames(options, sink, |frame| id = Some(frame));
    id
}

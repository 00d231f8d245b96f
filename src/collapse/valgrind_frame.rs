//! A frame as massif and dhat print it: `0x109413: sorter (cyc.c:13)`.

use super::Options;
use super::Sink;
use super::naming::Native;
use crate::folded::FrameId;

/// Adds the frame, named as perf's are: the function, or the file where that is not known, and
/// with `--srcline` where in its source.
pub fn frame(text: &[u8], options: &Options, sink: &mut dyn Sink) -> Option<FrameId> {
    let text = text.trim_ascii();
    let (address, rest) = match memchr::memmem::find(text, b": ") {
        Some(at) if text.starts_with(b"0x") => (&text[2..at], &text[at + 2..]),
        _ => (&b""[..], text),
    };
    let (symbol, place) = match memchr::memmem::rfind(rest, b" (") {
        Some(at) if rest.ends_with(b")") => (&rest[..at], &rest[at + 2..rest.len() - 1]),
        _ => (rest, &b""[..]),
    };
    let (module, srcline) = match place.strip_prefix(b"in ") {
        Some(module) => (module, &b""[..]),
        None => (&b""[..], if options.srcline { place } else { b"" }),
    };
    let symbol = if symbol == b"???" { b"" } else { symbol };
    let native = Native { address, symbol, module, srcline, ..Native::default() };
    let mut id = None;
    native.name(options, |name| id = Some(sink.frame(name)));
    id
}

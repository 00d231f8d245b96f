//! Builds frames from the names in a recording: any bytes in, no `;` and no newline out; and the
//! places of frames, for a sink that wants them.

use crate::collapse::kit::clean_symbol::clean_symbol;
use crate::collapse::kit::naming::{kind_of, module_name, name_unknown, split_srcline};
use crate::collapse::{CollapseOptions, Sink};
use crate::folded::{FrameId, Place, sanitize_frame};

/// The frame of a sample without a stack.
pub const NO_STACK: &[u8] = b"[no stack]";

/// The name of a function without a name.
pub const ANONYMOUS: &[u8] = b"(anonymous)";

/// Builds frames from names, with one buffer for all of them.
#[derive(Default)]
pub struct FrameNames {
    scratch: Vec<u8>,
}

impl FrameNames {
    /// [`FrameNames::plain`] of a frame whose place is known.
    pub fn plain_at(&mut self, name: &[u8], place: &Place<'_>, sink: &mut dyn Sink) -> FrameId {
        self.build_at(place, sink, |out| sanitize_frame(name, out))
    }

    /// A name as it is but for `;` and newlines; [`ANONYMOUS`] if it is empty.
    pub fn plain(&mut self, name: &[u8], sink: &mut dyn Sink) -> FrameId {
        self.build(sink, |out| sanitize_frame(name, out))
    }

    /// A symbol of a native program: demangled, without hash and argument list.
    pub fn symbol(&mut self, symbol: &[u8], sink: &mut dyn Sink) -> FrameId {
        self.build(sink, |out| clean_symbol(symbol, out))
    }

    /// `name (file:line)`, as all Python profilers but austin have it; without a file only the
    /// name, without a line only the file.
    pub fn located(&mut self, name: &[u8], file: &[u8], line: Option<u64>, sink: &mut dyn Sink) -> FrameId {
        let place = Place { file, line: line_number(line), ..Place::default() };
        self.with_line(name, line, &place, sink)
    }

    /// [`FrameNames::located`], where the line is the one on which the function begins.
    pub fn declared(&mut self, name: &[u8], file: &[u8], line: Option<u64>, sink: &mut dyn Sink) -> FrameId {
        let place = Place { file, start_line: line_number(line), ..Place::default() };
        self.with_line(name, line, &place, sink)
    }

    fn with_line(
        &mut self,
        name: &[u8],
        line: Option<u64>,
        place: &Place<'_>,
        sink: &mut dyn Sink,
    ) -> FrameId {
        let file = place.file;
        self.build_at(place, sink, |out| {
            sanitize_frame(if name.is_empty() { ANONYMOUS } else { name }, out);
            if !file.is_empty() {
                out.extend_from_slice(b" (");
                sanitize_frame(file, out);
                if let Some(line) = line {
                    out.push(b':');
                    out.extend_from_slice(line.to_string().as_bytes());
                }
                out.push(b')');
            }
        })
    }

    /// Code without a name: `[libc.so.6]`, or `[libc.so.6 <7f01>]` if addresses are wanted.
    pub fn module(
        &mut self,
        path: &[u8],
        address: u64,
        options: &CollapseOptions,
        sink: &mut dyn Sink,
    ) -> FrameId {
        let place = Place { module: module_name(path), kind: kind_of(path, b""), ..Place::default() };
        self.build_at(&place, sink, |out| FrameNames::write_module(path, address, options, out))
    }

    /// Appends the name that [`FrameNames::module`] gives.
    pub fn write_module(path: &[u8], address: u64, options: &CollapseOptions, out: &mut Vec<u8>) {
        let address = if options.addrs { format!("{address:x}") } else { String::new() };
        name_unknown(path, address.as_bytes(), options.addrs, out);
    }

    /// The name that `write` appends, which it keeps free of `;` and newlines.
    pub fn build(&mut self, sink: &mut dyn Sink, write: impl FnOnce(&mut Vec<u8>)) -> FrameId {
        self.build_at(&Place::default(), sink, write)
    }

    /// [`FrameNames::build`] of a frame whose place is known, at least in part.
    pub fn build_at(
        &mut self,
        place: &Place<'_>,
        sink: &mut dyn Sink,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> FrameId {
        self.build_as(sink, write, |_, _| *place)
    }

    /// [`FrameNames::build_at`] of a place that is made when the name is known.
    pub fn build_as<'p>(
        &mut self,
        sink: &mut dyn Sink,
        write: impl FnOnce(&mut Vec<u8>),
        place: impl FnOnce(&[u8], &mut dyn Sink) -> Place<'p>,
    ) -> FrameId {
        self.scratch.clear();
        write(&mut self.scratch);
        if self.scratch.is_empty() {
            self.scratch.extend_from_slice(ANONYMOUS);
        }
        let place = place(&self.scratch, sink);
        frame_at(&self.scratch, &place, sink)
    }
}

/// The frame of a finished name at a place, for a sink that may not want places.
pub fn frame_at(name: &[u8], place: &Place<'_>, sink: &mut dyn Sink) -> FrameId {
    if sink.wants().places { sink.frame_at(name, place) } else { sink.frame(name) }
}

fn line_number(line: Option<u64>) -> u32 {
    line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0)
}

/// The place of a Python frame by its name, `name (file.py:12)`.
pub fn python_place(name: &[u8]) -> Place<'_> {
    let inner = name.strip_suffix(b")").unwrap_or_default();
    let open = memchr::memmem::rfind(inner, b" (").map(|open| &inner[open + 2..]);
    let Some(source) = open else { return Place::default() };
    match split_srcline(source) {
        (b"", _) => Place { file: source, ..Place::default() },
        (file, line) => Place { file, line, ..Place::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::StackTable;

    #[test]
    fn names_cannot_break_a_line() {
        let mut table = StackTable::default();
        let mut names = FrameNames::default();
        let ids = [
            names.plain(b"a;b\nc", &mut table),
            names.plain(b"", &mut table),
            names.located(b"f;", b"x;y.py", Some(3), &mut table),
            names.located(b"f", b"", Some(3), &mut table),
            names.located(b"", b"x.js", None, &mut table),
            names.symbol(b"_ZN4shop4Deep5visitEi", &mut table),
        ];
        let shown = ids.map(|id| String::from_utf8_lossy(table.name(id)).into_owned());
        assert_eq!(
            shown,
            ["a:b c", "(anonymous)", "f: (x:y.py:3)", "f", "(anonymous) (x.js)", "shop::Deep::visit"]
        );
    }
}

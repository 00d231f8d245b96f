//! Frame lines to frames, each different one read once.
//!
//! The key is the text of the symbol without offset and address, so a recording of millions of
//! lines has some ten thousand keys and the table stays in the processor's cache. The module is
//! part of the key only when it decides what the frame is called.

use super::frame::{Frame, UNKNOWN, without_offset};
use crate::collapse::kit::naming::{SymbolFrame, split_srcline};
use crate::collapse::{CollapseOptions, Sink};
use crate::folded::{FrameId, IdTable, KeyedHasher};

/// The frames of a line: one frame, or an entry of [`Symbols::special`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known(u32);

const SPECIAL: u32 = 1 << 31;

/// The tab, an address padded to sixteen digits and a blank stand before the symbol.
const SYMBOL: usize = 18;

/// The frame line before: what follows its address.
pub(super) struct Before<'b> {
    text: &'b [u8],
    known: Known,
}

/// A line that is not exactly one frame to be kept on the stack.
struct Special {
    /// Leaf first, as the lines are.
    frames: Vec<FrameId>,
    /// Nothing rootward of it is wanted.
    last: bool,
}

/// The frames of one thread's blocks.
pub(super) struct Symbols<'o> {
    options: &'o CollapseOptions,
    /// True if the sink wants places.
    places: bool,
    /// True if address or module of every line may decide what its frame is called.
    every_part_matters: bool,
    hasher: KeyedHasher,
    slots: IdTable,
    /// The frames of each key, by its number in `slots`.
    known: Vec<Known>,
    special: Vec<Special>,
    scratch: Vec<u8>,
}

impl<'o> Symbols<'o> {
    /// Frames at their places if `places` are wanted.
    pub(super) fn new(options: &'o CollapseOptions, places: bool) -> Self {
        Symbols {
            options,
            places,
            every_part_matters: options.kernel || options.jit || options.inline || options.addrs || places,
            hasher: KeyedHasher::default(),
            slots: IdTable::default(),
            known: Vec::new(),
            special: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// [`Symbols::push`] for a line that differs from the one before in its address only; `None` for any
    /// other. Recursion and libraries without symbols repeat lines, on the recording of `scripts/bench`
    /// three in four.
    #[inline(always)]
    pub(super) fn push_again(
        &self,
        line: &[u8],
        before: Option<&Before<'_>>,
        stack: &mut Vec<FrameId>,
    ) -> Option<bool> {
        let Before { text, known } = before?;
        let is_again = line.get(SYMBOL - 1..)? == *text && line[SYMBOL - 2] != b' ' && line[0] == b'\t';
        if is_again { self.push_known(*known, stack) } else { None }
    }

    /// Puts the frames of a line (after its tab) on a stack that is leaf first; `false` if what is
    /// rootward of it is not wanted. `space` is the line's last blank; `before` becomes this line.
    #[inline]
    pub(super) fn push<'b>(
        &mut self,
        line: &'b [u8],
        space: usize,
        before: &mut Option<Before<'b>>,
        stack: &mut Vec<FrameId>,
        sink: &mut dyn Sink,
    ) -> Option<bool> {
        // The shape of nearly all lines: `\t%16x symbol+0x… (module)`, no blank in the module.
        let usual = !self.every_part_matters
            && space > SYMBOL
            && line[SYMBOL - 1] == b' '
            && line[SYMBOL - 2] != b' '
            && line[SYMBOL] != b' '
            && line[space..].starts_with(b" (")
            && line.ends_with(b")");
        if !usual {
            return self.push_with_srcline(line, b"", stack, sink);
        }
        let symbol = &line[SYMBOL..space];
        let key = if symbol == UNKNOWN {
            // The module is the name, and the key: with the blank, as no symbol begins.
            &line[space..]
        } else if line.ends_with(b"(deleted))") {
            return self.push_with_srcline(line, b"", stack, sink);
        } else {
            without_offset(symbol)
        };
        let known = self.look_up(key, sink, |()| {
            let named = Frame { symbol: key, ..Frame::default() };
            let unknown = || Frame::parse(&line[SYMBOL..]).unwrap_or_default();
            (if symbol == UNKNOWN { unknown() } else { named }, b"")
        });
        *before = Some(Before { text: &line[SYMBOL - 1..], known });
        self.push_known(known, stack)
    }

    /// [`Symbols::push`] for lines of any shape, with the source line that perf printed below.
    pub(super) fn push_with_srcline(
        &mut self,
        line: &[u8],
        mut srcline: &[u8],
        stack: &mut Vec<FrameId>,
        sink: &mut dyn Sink,
    ) -> Option<bool> {
        let mut frame = Frame::parse(&line[1..])?;
        if let Some(place) = srcline.strip_suffix(b" (inlined)") {
            frame.module = b"inlined";
            srcline = place;
        } else if frame.address.is_empty() && frame.module.is_empty() {
            return None;
        }
        if !self.options.srcline && !self.places {
            srcline = b"";
        }
        let mut key = std::mem::take(&mut self.scratch);
        key.clear();
        key.extend_from_slice(frame.symbol);
        // No symbol holds a newline, so these keys are no others'.
        key.push(b'\n');
        key.extend_from_slice(frame.module);
        if frame.symbol.is_empty() || (self.options.addrs && is_unknown(frame.symbol)) {
            key.push(b'\n');
            key.extend_from_slice(frame.address);
        }
        if !srcline.is_empty() {
            key.extend_from_slice(b"\n\n");
            key.extend_from_slice(srcline);
        }
        let known = self.look_up(&key, sink, |()| (frame, srcline));
        self.scratch = key;
        self.push_known(known, stack)
    }

    #[inline(always)]
    fn push_known(&self, known: Known, stack: &mut Vec<FrameId>) -> Option<bool> {
        if known.0 & SPECIAL == 0 {
            stack.push(FrameId(known.0));
            return Some(true);
        }
        let special = &self.special[(known.0 & !SPECIAL) as usize];
        stack.extend_from_slice(&special.frames);
        Some(!special.last)
    }

    #[inline]
    fn look_up<'l>(
        &mut self,
        key: &[u8],
        sink: &mut dyn Sink,
        parts: impl FnOnce(()) -> (Frame<'l>, &'l [u8]),
    ) -> Known {
        if let Some(id) = self.slots.get_or_insert(self.hasher.hash_bytes(key), self.known.len()) {
            return self.known[id];
        }
        let (frame, srcline) = parts(());
        let new = self.read(frame, srcline, sink);
        self.known.push(new);
        new
    }

    /// The frames of a line that is met for the first time.
    #[cold]
    fn read(&mut self, frame: Frame<'_>, srcline: &[u8], sink: &mut dyn Sink) -> Known {
        let (file, line) = if self.places { split_srcline(srcline) } else { (&b""[..], 0) };
        let frame = SymbolFrame {
            address: frame.address,
            symbol: if is_unknown(frame.symbol) { b"" } else { frame.symbol },
            nothing_printed: frame.symbol.is_empty(),
            module: frame.module,
            srcline: if self.options.srcline { srcline } else { b"" },
            file,
            line,
            inlined: frame.is_inlined(),
            ..SymbolFrame::default()
        };
        let mut frames = Vec::new();
        let last = frame.frames(self.options, sink, |id| frames.push(id));
        match frames[..] {
            [FrameId(id)] if !last && id & SPECIAL == 0 => Known(id),
            _ => {
                self.special.push(Special { frames, last });
                Known((self.special.len() - 1) as u32 | SPECIAL)
            }
        }
    }
}

fn is_unknown(symbol: &[u8]) -> bool {
    symbol == UNKNOWN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::StackTable;

    fn frames(line: &str, options: &CollapseOptions) -> String {
        let mut table = StackTable::default();
        let mut symbols = Symbols::new(options, false);
        let mut stack = Vec::new();
        let line = format!("\t{line}");
        let space = line.rfind(' ').unwrap();
        for _ in 0..2 {
            stack.clear();
            symbols.push(line.as_bytes(), space, &mut None, &mut stack, &mut table).unwrap();
        }
        let names: Vec<_> = stack.iter().rev().map(|id| String::from_utf8_lossy(table.name(*id))).collect();
        names.join(";")
    }

    #[test]
    fn names_and_marks() {
        let plain = CollapseOptions::default();
        let all = CollapseOptions {
            kernel: true,
            jit: true,
            inline: true,
            addrs: true,
            ..CollapseOptions::default()
        };
        for (line, name, marked) in [
            ("ffffffff815eea83 do_fault+0xd3 ([kernel.kallsyms])", "do_fault", "do_fault_[k]"),
            (
                "ffffffff815eea83 ipt_do_table+0x1 (/lib/modules/6.1/ip_tables.ko.xz)",
                "ipt_do_table",
                "ipt_do_table_[k]",
            ),
            ("ffffffff815eea83 f (/usr/lib/debug/boot/vmlinux-6.1.0-cloud)", "f", "f_[k]"),
            ("    7ffd00000a83 clock_gettime+0x3 ([vdso])", "clock_gettime", "clock_gettime"),
            ("           1 f+0x2 (/home/my-vmlinux-tool)", "f", "f"),
            ("    7fc95945f8b1 Interpreter+0x1 (/tmp/perf-22414.map)", "Interpreter", "Interpreter_[j]"),
            ("           25201 core::ptr::write+0x101 (inlined)", "core::ptr::write", "core::ptr::write_[i]"),
            ("    7f950f35b8a8 [unknown] ([unknown])", "[unknown]", "[unknown <7f950f35b8a8>]"),
            (
                "    7f950f35b8a8 [unknown] (/usr/lib/libstdc++.so.6.0.30)",
                "[libstdc++.so.6.0.30]",
                "[libstdc++.so.6.0.30 <7f950f35b8a8>]",
            ),
            (
                "    7f950f35b8a8 La/B;::run->La/C;::go (/tmp/perf-1.map)",
                "a/B:::run;a/C:::go_[i]",
                "a/B:::run_[j];a/C:::go_[i]",
            ),
            (
                "    7f950f35b8a8 <fn() -> T as F>::call+0x3 (/a)",
                "<fn() -> T as F>::call",
                "<fn() -> T as F>::call",
            ),
            ("    7f950f35b8a8 Ptr<T>::operator->+0x3 (/a)", "Ptr<T>::operator->", "Ptr<T>::operator->"),
            ("    7f1e2215d058  (/lib/libc-2.15.so)", "[libc-2.15.so]", "[libc-2.15.so <7f1e2215d058>]"),
            ("    7f1e2215d058  ([unknown])", "[unknown]", "[unknown <7f1e2215d058>]"),
            ("    7f1e2215d058 [unknown] (/tmp/x (deleted))", "[x]", "[x <7f1e2215d058>]"),
            ("7 f+0x3 (/tmp/a b/libx.so (deleted))", "f", "f"),
        ] {
            assert_eq!(frames(line, &plain), name, "{line}");
            assert_eq!(frames(line, &all), marked, "{line}");
        }
    }

    #[test]
    fn the_same_symbol_of_two_modules_is_two_frames_where_it_matters() {
        let options = CollapseOptions { kernel: true, ..CollapseOptions::default() };
        let mut table = StackTable::default();
        let mut symbols = Symbols::new(&options, false);
        let mut stack = Vec::new();
        for line in ["\t               1 f+0x1 ([kernel.kallsyms])", "\t               1 f+0x1 (/bin/f)"] {
            symbols
                .push(line.as_bytes(), line.rfind(' ').unwrap(), &mut None, &mut stack, &mut table)
                .unwrap();
        }
        assert_eq!((table.name(stack[0]), table.name(stack[1])), (&b"f_[k]"[..], &b"f"[..]));
    }
}

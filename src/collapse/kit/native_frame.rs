//! Frames of native programs as tracers and debuggers print them: a symbol or none, a module, an
//! address, a source line. They come out as those of `perf script` do, so that the same function
//! has one name, whichever tool recorded it.

use crate::collapse::kit::clean_symbol::clean_symbol;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::naming;
use crate::collapse::{CollapseOptions, Sink};
use crate::folded::{FrameId, Kind, Place};

/// A frame taken apart; parts that are not there are empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NativeFrame<'a> {
    /// The symbol without offset and arguments; `[unknown]` and `??` are none.
    pub symbol: &'a [u8],
    /// The path of the file that holds the code.
    pub module: &'a [u8],
    /// Hexadecimal, without `0x`.
    pub address: &'a [u8],
    /// `file.c:12`
    pub srcline: &'a [u8],
    /// The code is the kernel's.
    pub kernel: bool,
}

impl NativeFrame<'_> {
    fn is_unknown(&self) -> bool {
        matches!(self.symbol, b"" | b"[unknown]" | b"??")
    }

    /// Appends the frame's name to `out`.
    pub fn write(&self, options: &CollapseOptions, out: &mut Vec<u8>) {
        if self.is_unknown() {
            naming::name_unknown(self.module, self.address, options.addrs, out);
        } else {
            clean_symbol(self.symbol, out);
        }
        if options.srcline {
            naming::append_srcline(self.srcline, out);
        }
        if options.kernel && self.kernel && !out.ends_with(b"_[k]") {
            out.extend_from_slice(b"_[k]");
        }
    }

    /// Module, source line and kind of code, as far as they were printed.
    fn place(&self) -> Place<'_> {
        let (file, line) = naming::split_srcline(self.srcline);
        let kind = if self.kernel || self.symbol.ends_with(b"_[k]") {
            Kind::Kernel
        } else {
            naming::kind_of(self.module, b"")
        };
        Place { module: naming::module_name(self.module), file, line, kind, ..Place::default() }
    }

    /// The frame, at its place.
    pub fn frame(&self, options: &CollapseOptions, names: &mut FrameNames, sink: &mut dyn Sink) -> FrameId {
        names.build_at(&self.place(), sink, |out| self.write(options, out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_perf_script() {
        let all = CollapseOptions { addrs: true, srcline: true, kernel: true, ..CollapseOptions::default() };
        let full = NativeFrame {
            symbol: b"work(int)",
            module: b"/bin/a",
            address: b"7f01",
            srcline: b"a;.c:3",
            kernel: true,
        };
        for (frame, plain, rich) in [
            (full, "work", "work (a:.c:3)_[k]"),
            (NativeFrame { symbol: b"??", kernel: false, srcline: b"", ..full }, "[a]", "[a <7f01>]"),
            (NativeFrame { address: b"7f", ..NativeFrame::default() }, "[unknown]", "[unknown <7f>]"),
            (
                NativeFrame { symbol: b"schedule_[k]", kernel: true, ..NativeFrame::default() },
                "schedule_[k]",
                "schedule_[k]",
            ),
        ] {
            for (options, name) in [(&CollapseOptions::default(), plain), (&all, rich)] {
                let mut out = Vec::new();
                frame.write(options, &mut out);
                assert_eq!(String::from_utf8_lossy(&out), name);
            }
        }
    }
}

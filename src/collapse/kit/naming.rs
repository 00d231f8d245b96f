//! Names, marks and places of the frames of a native recording.
//!
//! Shared by the reader of perf's text and the reader of perf's recordings, so that both say the
//! same of the same frame. Symbols go through [`clean_symbol`].

use crate::collapse::kit::clean_symbol::clean_symbol;
use crate::collapse::{CollapseOptions, Sink};
use crate::folded::{FrameId, Kind, Place, sanitize_frame};
use crate::number;

/// A frame taken apart; parts that are not known are empty.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SymbolFrame<'a> {
    /// Hexadecimal, without `0x`.
    pub address: &'a [u8],
    /// The function, mangled or not.
    pub symbol: &'a [u8],
    /// The address in the module at which the function begins, where that is all that is known of it.
    pub function_start: Option<u64>,
    /// perf printed no symbol at all (`-F ip`), not even that it is unknown.
    pub nothing_printed: bool,
    /// The file the code is from, or what stands for one: `[kernel.kallsyms]`.
    pub module: &'a [u8],
    /// The source line as it is appended to the name: `orders.c:12`.
    pub srcline: &'a [u8],
    /// The source file, for the frame's place.
    pub file: &'a [u8],
    /// The line in the source file, from 1; 0 is unknown.
    pub line: u32,
    /// The line on which the function begins; 0 is unknown.
    pub start_line: u32,
    /// The compiler has put the code into its caller.
    pub inlined: bool,
}

impl SymbolFrame<'_> {
    /// Calls `each` with the frames that it stands for, at their places if the sink wants places,
    /// and returns what [`SymbolFrame::for_each_name`] does.
    pub fn frames(
        &self,
        options: &CollapseOptions,
        sink: &mut dyn Sink,
        mut each: impl FnMut(FrameId),
    ) -> bool {
        if sink.wants().places {
            self.for_each_name(options, |name, place| each(sink.frame_at(name, place)))
        } else {
            self.for_each_name(options, |name, _| each(sink.frame(name)))
        }
    }

    /// Calls `each` with the names of the frames that it stands for, leaf first, and their places,
    /// and returns whether `--skip-after` names it: nothing rootward of it is wanted then.
    pub fn for_each_name(&self, options: &CollapseOptions, mut each: impl FnMut(&[u8], &Place<'_>)) -> bool {
        let mut name = Vec::new();
        let mut symbol = self.symbol;
        if self.symbol.is_empty() {
            if !self.nothing_printed {
                symbol = b"[unknown]";
            }
            if self.nothing_printed
                && matches!(self.module, b"" | b"[unknown]")
                && !self.address.is_empty()
                && !options.addrs
            {
                // `perf script -F ip`: the address is the frame.
                name.extend_from_slice(self.address);
            } else if let Some(start) = self.function_start.filter(|_| !options.addrs) {
                name_function(self.module, start, &mut name);
            } else {
                name_unknown(self.module, self.address, options.addrs, &mut name);
            }
            append_srcline(self.srcline, &mut name);
            self.annotate(false, options, &mut name);
            each(&name, &self.place());
        } else {
            // Java's inlined callees follow their caller: `caller->callee`, so the last is the leaf.
            let parts = java_inlines(self.symbol);
            for (n, part) in parts.iter().enumerate().rev() {
                name.clear();
                clean_symbol(part, &mut name);
                append_srcline(self.srcline, &mut name);
                self.annotate(n > 0, options, &mut name);
                let place = self.place();
                each(&name, &Place { inlined: place.inlined || n > 0, ..place });
            }
        }
        options.skip_after.iter().any(|skip| *skip == symbol || *skip == name)
    }

    /// Module, source line and kind of code.
    fn place(&self) -> Place<'_> {
        Place {
            module: module_name(self.module),
            file: self.file,
            line: self.line,
            start_line: self.start_line,
            kind: kind_of(self.module, self.address),
            inlined: self.inlined,
            code: 0,
        }
    }

    /// Appends the mark at a frame's end, if it was asked for.
    fn annotate(&self, java_inlined: bool, options: &CollapseOptions, name: &mut Vec<u8>) {
        if java_inlined || (options.inline && self.inlined) {
            name.extend_from_slice(b"_[i]");
        } else if options.kernel && is_kernel(self.module) {
            name.extend_from_slice(b"_[k]");
        } else if options.jit && is_jit(self.module) {
            name.extend_from_slice(b"_[j]");
        }
    }
}

/// Appends the name of the first frame: the command, with process and thread if they are wanted.
pub(crate) fn name_thread(
    comm: &[u8],
    pid: &[u8],
    tid: &[u8],
    options: &CollapseOptions,
    name: &mut Vec<u8>,
) {
    let start = name.len();
    sanitize_frame(comm, name);
    name[start..].iter_mut().filter(|b| **b == b' ').for_each(|b| *b = b'_');
    if name.len() == start {
        name.extend_from_slice(b"[unnamed]");
    }
    if options.pid || options.tid {
        name.push(b'-');
        name.extend_from_slice(pid);
    }
    if options.tid {
        name.push(b'/');
        name.extend_from_slice(tid);
    }
}

/// Appends the name of a frame without a symbol: `[libc.so.6]`, or `[unknown]` without a module.
pub(crate) fn name_unknown(module: &[u8], address: &[u8], addrs: bool, name: &mut Vec<u8>) {
    match module.rsplit(|&b| b == b'/').next().unwrap_or(module) {
        b"" | b"[unknown]" => name.extend_from_slice(b"[unknown"),
        file => {
            name.push(b'[');
            sanitize_frame(file, name);
        }
    }
    if addrs && !address.is_empty() {
        name.extend_from_slice(b" <");
        sanitize_frame(address, name);
        name.push(b'>');
    }
    name.push(b']');
}

/// Appends the name of a function without a symbol, of which only the beginning is known:
/// `[libz.so.1+0x2a40]`.
fn name_function(module: &[u8], start: u64, name: &mut Vec<u8>) {
    name_unknown(module, b"", false, name);
    let end = name.pop();
    name.extend_from_slice(format!("+{start:#x}").as_bytes());
    name.extend(end);
}

/// Appends the source line to a name, if it is known.
pub(crate) fn append_srcline(srcline: &[u8], name: &mut Vec<u8>) {
    if !srcline.is_empty() {
        name.extend_from_slice(b" (");
        sanitize_frame(srcline, name);
        name.push(b')');
    }
}

/// The module as `perf report` shows it: a file's name without its folder, or the whole of
/// `[kernel.kallsyms]`; empty if it is unknown.
pub(crate) fn module_name(module: &[u8]) -> &[u8] {
    let module = module.strip_suffix(b" (deleted)").unwrap_or(module);
    match module {
        b"[unknown]" | b"inlined" => b"",
        bracketed if bracketed.starts_with(b"[") => bracketed,
        path => path.rsplit(|&b| b == b'/').next().unwrap_or(path),
    }
}

/// The kind of code a module holds. Where the module is unknown, or perf printed `inlined` instead
/// of it, the address tells the kernel's half of memory from the programs'.
pub(crate) fn kind_of(module: &[u8], address: &[u8]) -> Kind {
    match module {
        b"" | b"[unknown]" | b"inlined" if address.len() == 16 && address.starts_with(b"ffff") => {
            Kind::Kernel
        }
        b"inlined" if !address.is_empty() => Kind::User,
        b"" | b"[unknown]" | b"inlined" => Kind::Unknown,
        module if is_kernel(module) => Kind::Kernel,
        module if is_jit(module) => Kind::Jit,
        _ => Kind::User,
    }
}

/// Splits `orders.c:12` into file and line; a text of another form has neither.
pub(crate) fn split_srcline(srcline: &[u8]) -> (&[u8], u32) {
    let parts = memchr::memrchr(b':', srcline).and_then(|at| {
        let line = number::parse(&srcline[at + 1..])?;
        Some((&srcline[..at], line))
    });
    parts.filter(|(file, line)| !file.is_empty() && *file != b"??" && *line > 0).unwrap_or((b"", 0))
}

/// Recognises the kernel and its modules: `[kernel.kallsyms]`, `[nf_conntrack]`, `…/vmlinux-6.1`, `….ko.xz`.
pub(crate) fn is_kernel(module: &[u8]) -> bool {
    const USER: [&[u8]; 7] =
        [b"[unknown]", b"[vdso]", b"[vsyscall]", b"[heap]", b"[stack]", b"[anon", b"[uprobes]"];
    let file = module.rsplit(|&b| b == b'/').next().unwrap_or(module);
    if module.starts_with(b"[") {
        return !USER.iter().any(|user| module.starts_with(user));
    }
    let compressed = [b".gz".as_slice(), b".xz", b".zst"];
    let plain = compressed.iter().find_map(|end| file.strip_suffix(*end)).unwrap_or(file);
    plain.ends_with(b".ko") || plain == b"vmlinux" || plain.starts_with(b"vmlinux-")
}

/// Recognises `/tmp/perf-PID.map`, and the files that perf's jitdump support writes.
fn is_jit(module: &[u8]) -> bool {
    let file = module.rsplit(|&b| b == b'/').next().unwrap_or(module);
    (file.starts_with(b"perf-") && file.ends_with(b".map"))
        || (file.starts_with(b"jitted-") && file.ends_with(b".so"))
}

/// Splits `La;::caller->Lb;::callee` of a Java agent's map. `->` in a Rust or C++ name is the
/// return type of a function, between blanks, or an operator.
fn java_inlines(symbol: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut start = 0;
    for at in memchr::memmem::find_iter(symbol, b"->") {
        let (before, after) = (&symbol[start..at], &symbol[at + 2..]);
        let java = |part: &[u8]| part.iter().any(|b| matches!(b, b':' | b'.' | b'/'));
        if before.ends_with(b" ") || before.ends_with(b"operator") || after.starts_with(b" ") {
            return vec![symbol];
        }
        if !java(before) || !java(after) {
            return vec![symbol];
        }
        parts.push(before);
        start = at + 2;
    }
    parts.push(&symbol[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_named_as_perf_report_names_them() {
        for (module, address, name, kind) in [
            ("/usr/lib/libc.so.6", "7f01", "libc.so.6", Kind::User),
            ("/tmp/x (deleted)", "7f01", "x", Kind::User),
            ("[kernel.kallsyms]", "ffffffff81000000", "[kernel.kallsyms]", Kind::Kernel),
            ("/lib/modules/6.1/a.ko.xz", "ffffffffc0000000", "a.ko.xz", Kind::Kernel),
            ("[vdso]", "7ffd", "[vdso]", Kind::User),
            ("/tmp/perf-12.map", "7f01", "perf-12.map", Kind::Jit),
            ("inlined", "7f01", "", Kind::User),
            ("inlined", "ffffffff81000000", "", Kind::Kernel),
            ("[unknown]", "7f01", "", Kind::Unknown),
            ("", "", "", Kind::Unknown),
        ] {
            assert_eq!(module_name(module.as_bytes()), name.as_bytes(), "{module}");
            assert_eq!(kind_of(module.as_bytes(), address.as_bytes()), kind, "{module} {address}");
        }
    }

    #[test]
    fn source_lines_are_a_file_and_a_number() {
        assert_eq!(split_srcline(b"orders.c:12"), (&b"orders.c"[..], 12));
        for other in [&b"orders.c:??"[..], b"??:0", b"??:3", b":3", b"orders.c", b"", b"f:99999999999"] {
            assert_eq!(split_srcline(other), (&b""[..], 0));
        }
    }
}

//! What a frame of a native recording is called, and its mark.
//!
//! Shared by the reader of perf's text and the reader of perf's recordings, so that both say the
//! same of the same frame. Symbols go through [`clean_symbol`].

use super::Options;
use super::clean_symbol::clean_symbol;
use crate::folded::sanitize_frame;

/// What is known of a frame; parts that are not known are empty.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SymbolFrame<'a> {
    /// Hexadecimal, without `0x`.
    pub address: &'a [u8],
    /// The function, mangled or not.
    pub symbol: &'a [u8],
    /// perf printed no symbol at all (`-F ip`), not even that it is unknown.
    pub nothing_printed: bool,
    /// The file the code is from, or what stands for one: `[kernel.kallsyms]`.
    pub module: &'a [u8],
    /// `orders.c:12`.
    pub srcline: &'a [u8],
    /// Whether the compiler put its code into its caller's.
    pub inlined: bool,
}

impl SymbolFrame<'_> {
    /// Calls `each` with the names of the frames that it stands for, leaf first, and says whether
    /// nothing rootward of it is wanted.
    pub fn name(&self, options: &Options, mut each: impl FnMut(&[u8])) -> bool {
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
            } else {
                name_unknown(self.module, self.address, options.addrs, &mut name);
            }
            append_srcline(self.srcline, &mut name);
            self.annotate(false, options, &mut name);
            each(&name);
        } else {
            // Java's inlined callees follow their caller: `caller->callee`, so the last is the leaf.
            let parts = java_inlines(self.symbol);
            for (n, part) in parts.iter().enumerate().rev() {
                name.clear();
                clean_symbol(part, &mut name);
                append_srcline(self.srcline, &mut name);
                self.annotate(n > 0, options, &mut name);
                each(&name);
            }
        }
        options.skip_after.iter().any(|skip| *skip == symbol || *skip == name)
    }

    /// The mark at a frame's end, if it was asked for.
    fn annotate(&self, java_inlined: bool, options: &Options, name: &mut Vec<u8>) {
        if java_inlined || (options.inline && self.inlined) {
            name.extend_from_slice(b"_[i]");
        } else if options.kernel && is_kernel(self.module) {
            name.extend_from_slice(b"_[k]");
        } else if options.jit && is_jit(self.module) {
            name.extend_from_slice(b"_[j]");
        }
    }
}

/// The first frame: the command, with process and thread if they are wanted.
pub(super) fn name_thread(comm: &[u8], pid: &[u8], tid: &[u8], options: &Options, name: &mut Vec<u8>) {
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

/// `[libc.so.6]` is all that is known of a frame without a symbol; `[unknown]` not even that.
pub(super) fn name_unknown(module: &[u8], address: &[u8], addrs: bool, name: &mut Vec<u8>) {
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

/// The source line behind a name, if it is known.
pub(super) fn append_srcline(srcline: &[u8], name: &mut Vec<u8>) {
    if !srcline.is_empty() {
        name.extend_from_slice(b" (");
        sanitize_frame(srcline, name);
        name.push(b')');
    }
}

/// Kernel and modules: `[kernel.kallsyms]`, `[nf_conntrack]`, `…/vmlinux-6.1`, `….ko.xz`.
pub(super) fn is_kernel(module: &[u8]) -> bool {
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

/// `/tmp/perf-PID.map`, and what perf's jitdump support writes.
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

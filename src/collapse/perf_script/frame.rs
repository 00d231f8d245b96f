//! A frame line: `<TAB>` address, symbol, offset, `(module)`.
//!
//! Nothing is escaped: a symbol may hold spaces and parentheses, a module's path too, and each
//! part but one can be missing. Only reading from the right tells them apart.

/// A frame line taken apart; parts that are not there are empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    /// Hexadecimal, without `0x`.
    pub address: &'a [u8],
    /// The symbol without `+0x…`.
    pub symbol: &'a [u8],
    /// The module without its parentheses and the `(deleted)` of a file that is gone.
    pub module: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Takes apart what follows the tab, or the event on a line of its own.
    pub fn parse(text: &'a [u8]) -> Option<Frame<'a>> {
        let text = text.trim_ascii();
        let space = memchr::memchr(b' ', text).unwrap_or(text.len());
        let (address, rest) = match &text[..space] {
            token if is_hex(token) => text.split_at(space),
            _ => (&text[..0], text),
        };
        let (rest, module) = split_module(rest.trim_ascii_start());
        let frame = Frame { address, symbol: without_offset(rest), module };
        (!text.is_empty()).then_some(frame)
    }

    /// Returns whether perf expanded it from debug information.
    pub fn is_inlined(&self) -> bool {
        self.module == b"inlined"
    }
}

/// The frame of a sample without a call graph, in what follows the event on its line: behind the
/// address and the source of the data (`perf record -d`), or behind a tracepoint's payload.
pub(super) fn one_line_frame(rest: &[u8]) -> Option<&[u8]> {
    let rest = rest.trim_ascii();
    let mut found = None;
    let mut start = 0;
    while start < rest.len() {
        let end = memchr::memchr(b' ', &rest[start..]).map_or(rest.len(), |n| start + n);
        let behind = rest[end..].trim_ascii_start();
        // The address: first of all, or long enough to be no word of a payload or a symbol.
        let address = is_hex(&rest[start..end]) && (start == 0 || end - start >= 8);
        if address && !behind.is_empty() && (start == 0 || rest.ends_with(b")")) {
            found = Some(&rest[start..]);
        }
        start = end + rest[end..].iter().take_while(|&&b| b == b' ').count();
    }
    found
}

/// The end of a symbol and the module behind it: ` (/usr/lib/libc.so.6)`.
pub(super) fn split_module(text: &[u8]) -> (&[u8], &[u8]) {
    let Some(inner) = text.strip_suffix(b")") else { return (text, b"") };
    let inner = inner.strip_suffix(b" (deleted)").unwrap_or(inner);
    // A path may hold " (" too, but then it is a path: it starts with a slash.
    let mut end = inner.len();
    let mut found = None;
    while let Some(at) = memchr::memmem::rfind(&inner[..end], b" (") {
        let path = matches!(inner.get(at + 2), Some(b'/' | b'['));
        if found.is_none() || path {
            found = Some(at);
        }
        if path || at == 0 {
            break;
        }
        end = at;
    }
    match found {
        Some(at) => (&text[..at], without_offset(&inner[at + 2..])),
        // `7f1e2215d058 (/lib/libc.so)`: no symbol at all.
        None if text.starts_with(b"(") && !text.starts_with(b"(anonymous") => (b"", &inner[1..]),
        None => (text, b""),
    }
}

/// Cuts `+0x1a2` off the end.
pub(super) fn without_offset(symbol: &[u8]) -> &[u8] {
    let symbol = symbol.trim_ascii_end();
    let digits = symbol.iter().rev().take_while(|b| b.is_ascii_hexdigit()).count();
    match symbol[..symbol.len() - digits].strip_suffix(b"+0x") {
        Some(name) if digits > 0 => name,
        _ => symbol,
    }
}

/// Recognises the address of a frame: one to sixteen hexadecimal digits.
pub(super) fn is_hex(token: &[u8]) -> bool {
    matches!(token.len(), 1..=16) && token.iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_frame_on_an_event_line() {
        for (rest, frame) in [
            ("  5627d2 spin+0x1d (/c/names)", Some("5627d2 spin+0x1d (/c/names)")),
            ("     7f8b6b912000     56275d2801f6 add (/c)", Some("56275d2801f6 add (/c)")),
            (
                " 7f8b6b912000 10668100842 |OP LOAD|LVL L1 hit|  ffffffff81692490 f (/c)",
                Some("ffffffff81692490 f (/c)"),
            ),
            (
                " prev_comm=a next_pid=12  ffffffff81692490 schedule+0x3 ([kernel.kallsyms])",
                Some("ffffffff81692490 schedule+0x3 ([kernel.kallsyms])"),
            ),
            (" prev_comm=a next_pid=12", None),
            ("     7f8b6b912000", None),
            ("", None),
        ] {
            let found = one_line_frame(rest.as_bytes()).map(|f| String::from_utf8_lossy(f).into_owned());
            assert_eq!(found.as_deref(), frame, "{rest}");
        }
    }

    #[test]
    fn takes_every_shape_apart() {
        for (line, address, symbol, module) in [
            (
                "            7e3f shop::Deep::visit+0x2f (/home/user/orders)",
                "7e3f",
                "shop::Deep::visit",
                "/home/user/orders",
            ),
            (
                "ffffffff815eea83 handle_mm_fault+0xd3 ([kernel.kallsyms])",
                "ffffffff815eea83",
                "handle_mm_fault",
                "[kernel.kallsyms]",
            ),
            ("   0 [unknown] ([unknown])", "0", "[unknown]", "[unknown]"),
            ("4946 (anonymous namespace)::scramble", "4946", "(anonymous namespace)::scramble", ""),
            (
                "4946 (anonymous namespace)::scramble+0x16 (/a/b)",
                "4946",
                "(anonymous namespace)::scramble",
                "/a/b",
            ),
            (
                "1 void Orders.f(long, java.lang.Object)+0x4 (/tmp/perf-1.map)",
                "1",
                "void Orders.f(long, java.lang.Object)",
                "/tmp/perf-1.map",
            ),
            ("1 core::ptr::write+0x101 (inlined)", "1", "core::ptr::write", "inlined"),
            ("1 f+0x1 (/tmp/lib (x86).so (deleted))", "1", "f", "/tmp/lib (x86).so"),
            ("1 f (/usr/lib/libc.so.6+0x1234)", "1", "f", "/usr/lib/libc.so.6"),
            ("1 f([anon] (b))+0x1 (//anon)", "1", "f([anon] (b))", "//anon"),
            ("7f1e2215d058  (/lib/libc-2.15.so)", "7f1e2215d058", "", "/lib/libc-2.15.so"),
            ("1 a+0xzz (/b)", "1", "a+0xzz", "/b"),
            ("main (/bin/x)", "", "main", "/bin/x"),
            ("7f12ab", "7f12ab", "", ""),
            (
                "28cf0 <&dyn Fn<(), Output = i32> + Sync as F>::call",
                "28cf0",
                "<&dyn Fn<(), Output = i32> + Sync as F>::call",
                "",
            ),
        ] {
            let frame = Frame::parse(line.as_bytes()).unwrap();
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(
                (text(frame.address), text(frame.symbol), text(frame.module)),
                (address.into(), symbol.into(), module.into()),
                "{line}"
            );
        }
        assert_eq!(Frame::parse(b"  "), None);
    }
}

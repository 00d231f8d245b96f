//! A frame line: `<TAB>` address, symbol, offset, `(module)`.
//!
//! Nothing is escaped: a symbol may hold spaces and parentheses, a module's path too, and each
//! part but one can be missing. Only reading from the right tells them apart. A terminal, `expand` or
//! an editor replaces the tab by blanks or by nothing ([`without_tab`]); simpleperf's
//! `report_sample.py` has one behind the address instead.

use crate::input::{lines, trim_line_end};

/// perf's name of a frame without a symbol.
pub(super) const UNKNOWN: &[u8] = b"[unknown]";

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
        let space = memchr::memchr2(b' ', b'\t', text).unwrap_or(text.len());
        let (address, rest) = match &text[..space] {
            token if is_hex(token) => text.split_at(space),
            _ => (&text[..0], text),
        };
        let (name, module) = split_module(rest.trim_ascii_start());
        let mut symbol = without_offset(name);
        // perf 3.0 prints nothing for a symbol it does not know, between two blanks.
        if symbol.is_empty() && rest.starts_with(b"  (") {
            symbol = UNKNOWN;
        }
        let frame = Frame { address, symbol, module };
        (!text.is_empty()).then_some(frame)
    }

    /// Returns whether perf expanded it from debug information.
    pub fn is_inlined(&self) -> bool {
        self.module == b"inlined"
    }
}

/// The text of a frame on a line that does not begin with a tab: blanks or nothing stand before the
/// address. An event line can begin with a hexadecimal word, too: its thread follows.
pub(super) fn without_tab(line: &[u8]) -> Option<&[u8]> {
    let text = line.trim_ascii();
    let end = memchr::memchr2(b' ', b'\t', text)?;
    if !is_hex(&text[..end]) {
        return None;
    }
    // One blank, and another where perf 3.0 has no symbol.
    let rest = &text[end + 1..];
    if rest.starts_with(b" ") && !rest.starts_with(b" (") {
        return None;
    }
    let next = rest.trim_ascii_start().split(|&b| b == b' ').next().unwrap_or_default();
    if next.iter().all(|b| b.is_ascii_digit() || *b == b'/') {
        return None;
    }
    let is_padded = is_padded(line) || text[end] == b'\t';
    (is_padded || text.ends_with(b")") || without_offset(rest).len() < rest.len()).then_some(text)
}

/// perf pads addresses to this width.
const WIDTH: usize = 16;

/// Returns true if the first word of a line ends where perf's addresses do, or behind that.
pub(super) fn is_padded(line: &[u8]) -> bool {
    end_of_first_word(line) >= WIDTH
}

/// Returns true if no other text has such a line. Code and prose indent lines that begin with a word made of
/// `a` to `f`, or with a number, and that end in parentheses: `\tb := new(nil)`. perf's have an offset, a module that is a
/// path or in brackets, or an address that is long enough and padded.
pub(super) fn is_telling(line: &[u8]) -> bool {
    /// Addresses of programs that are not moved begin at 0x400000, those of others are offsets in a file.
    const SHORTEST: usize = 4;
    let line = line.strip_prefix(b"\t").unwrap_or(line);
    let text = line.trim_ascii();
    let end = memchr::memchr2(b' ', b'\t', text).unwrap_or(text.len());
    let (address, rest) = text.split_at(end);
    if !is_hex(address) {
        return false;
    }
    let (name, module) = split_module(rest.trim_ascii());
    let is_place = matches!(module, [b'/', _, ..] | [b'[', .., b']'] | b"inlined");
    // Operators and numbers are no symbols.
    let is_symbol = || {
        let first = name.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        name.is_empty() || first.iter().any(|b| b.is_ascii_alphabetic() || *b == b'_' || !b.is_ascii())
    };
    let is_number = || address.len() >= SHORTEST && address.iter().any(u8::is_ascii_digit);
    let is_address = || is_number() && is_padded(line) && is_symbol();
    is_place || name == UNKNOWN || without_offset(name).len() < name.len() || is_address()
}

fn end_of_first_word(line: &[u8]) -> usize {
    let text = line.trim_ascii_start();
    line.len() - text.len() + memchr::memchr(b' ', text).unwrap_or(text.len())
}

/// Recognises a recording's beginning whose samples are one frame each, and nothing else: `-F ip,sym` without call
/// graphs. There are no blank lines, and one blank is before an address and its padding.
pub(super) fn are_samples(head: &[u8]) -> bool {
    let whole = memchr::memrchr(b'\n', head).map_or(&[][..], |end| &head[..end]);
    let is_sample = |line: &[u8]| end_of_first_word(line) == 1 + WIDTH && without_tab(line).is_some();
    let is_source = |line: &[u8]| line.strip_prefix(b"  ").is_some_and(is_srcline);
    let mut lines = lines(whole).map(trim_line_end);
    lines.next().is_some_and(is_sample)
        && lines.clone().any(is_sample)
        && lines.all(|line| is_sample(line) || is_source(line))
}

/// The same line as perf writes it: a tab, and the address padded.
pub(super) fn with_tab(text: &[u8], out: &mut Vec<u8>) {
    let end = memchr::memchr2(b' ', b'\t', text).unwrap_or(text.len());
    let (address, rest) = text.split_at(end);
    out.push(b'\t');
    out.extend(std::iter::repeat_n(b' ', 16usize.saturating_sub(address.len())));
    out.extend_from_slice(address);
    out.push(b' ');
    out.extend_from_slice(rest.get(1..).unwrap_or_default());
}

/// Recognises the source line that perf prints below a frame, with no blanks before it: `orders.c:12`.
pub(super) fn is_srcline(line: &[u8]) -> bool {
    let place = line.strip_suffix(b" (inlined)").unwrap_or(line);
    let digits = place.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    // Without debug information: `libstdc++.so.6.0.30[99df0]`.
    let address = || {
        let inner = place.strip_suffix(b"]")?;
        inner.rsplit(|&b| b == b'[').next()
    };
    digits > 0 && place[..place.len() - digits].ends_with(b":") || address().is_some_and(is_hex)
}

/// Recognises a line of the program that `-F +srccode` prints below its place: `|12       h = h * 33;`.
pub(super) fn is_source_code(line: &[u8]) -> bool {
    matches!(line, [b'|', b'0'..=b'9', ..])
}

/// The frame of a sample without a call graph, in what follows the event on its line: behind the
/// address and the source of the data (`perf record -d`), or behind a tracepoint's payload.
pub(super) fn one_line_frame(rest: &[u8]) -> Option<&[u8]> {
    let rest = rest.trim_ascii();
    if let Some(data) = memchr::memmem::find(rest, b"|OP ") {
        return frame_behind_data(&rest[data..]);
    }
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

/// The frame behind the source of the data: `|OP LOAD|LVL L1 hit|…|BLK  N/A    5   70   401136 f (/bin/x)`.
/// The numbers between are weights and other addresses.
fn frame_behind_data(data: &[u8]) -> Option<&[u8]> {
    let marks = [&b"|BLK "[..], b"|LCK ", b"|TLB ", b"|SNP ", b"|LVL "];
    let last = marks.iter().find_map(|mark| memchr::memmem::rfind(data, mark))?;
    let data = &data[last..];
    let mut start = memchr::memchr(b' ', data)?;
    loop {
        start += data[start..].iter().take_while(|&&b| b == b' ').count();
        let end = start + memchr::memchr(b' ', &data[start..])?;
        let mut behind = data[end..].split(|&b| b == b' ').filter(|word| !word.is_empty());
        let (symbol, module) = (behind.next()?, behind.next());
        // A symbol can look like a number: `add`. Then the module or nothing follows.
        let is_symbol = match module {
            _ if !is_hex(symbol) => true,
            Some(module) => module.starts_with(b"("),
            None => !symbol.iter().all(u8::is_ascii_digit),
        };
        if is_hex(&data[start..end]) && is_symbol {
            return Some(&data[start..]);
        }
        start = end;
    }
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
#[inline]
pub(super) fn without_offset(symbol: &[u8]) -> &[u8] {
    match symbol.last_chunk().and_then(offset_in) {
        Some(len) => &symbol[..symbol.len() - len],
        None => without_any_offset(symbol),
    }
}

/// The length of the offset at the end of a text; `None` if it takes more than these bytes, or is none. Of
/// all bytes at once: where the digits begin is no branch that the processor could guess.
fn offset_in(last: &[u8; 8]) -> Option<usize> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * EACH;
    let word = u64::from_le_bytes(*last);
    // The high bit of every byte that is at least `byte`, where all are ASCII.
    let at_least = |word: u64, byte: u8| word.wrapping_add(EACH * u64::from(0x80 - byte)) & HIGH;
    let between = |word: u64, first: u8, last: u8| at_least(word, first) & !at_least(word, last + 1);
    let digits = between(word, b'0', b'9') | between(word | (0x20 * EACH), b'a', b'f');
    let digits = (!digits & HIGH).leading_zeros() / 8;
    if word & HIGH != 0 || !(1..=5).contains(&digits) {
        return None;
    }
    let mark = (word >> (8 * (5 - digits))) & 0xff_ffff;
    (mark == u64::from(b'x') << 16 | u64::from(b'0') << 8 | u64::from(b'+')).then_some(digits as usize + 3)
}

/// [`without_offset`] of any length.
fn without_any_offset(symbol: &[u8]) -> &[u8] {
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
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_offset_is_found_in_all_bytes_at_once(text in "[a-z+ ]{0,9}[+0x]{0,4}[0-9a-fA-Fx+g é]{0,9}") {
            prop_assert_eq!(without_offset(text.as_bytes()), without_any_offset(text.as_bytes()));
        }
    }

    #[test]
    fn a_frame_on_the_line_of_its_event_needs_a_module_only_behind_a_payload() {
        let frame = |rest: &'static str| one_line_frame(rest.as_bytes()).map(String::from_utf8_lossy);
        assert_eq!(frame("  401136 work").as_deref(), Some("401136 work"));
        assert_eq!(
            frame("next_pid=7 ffffffff8110 schedule ([kernel])").as_deref(),
            Some("ffffffff8110 schedule ([kernel])")
        );
        assert_eq!(frame("next_pid=7 ffffffff8110 schedule"), None);
        assert_eq!(frame("next_pid=7 dead schedule (x)"), None, "too short for an address");
    }

    #[test]
    fn usual_offsets_are_found_at_once() {
        let found = |digits: &str| offset_in(format!("a_symbol+0x{digits}").as_bytes().last_chunk().unwrap());
        for digit in "0123456789abcdefABCDEF".chars() {
            for length in 1..=5 {
                assert_eq!(found(&digit.to_string().repeat(length)), Some(length + 3), "{digit}, {length}");
            }
            assert_eq!(found(&digit.to_string().repeat(6)), None, "the mark is not in sight");
        }
        // The neighbours of digits and letters.
        for other in "/:@G`g+x".chars() {
            assert_eq!(found(&other.to_string()), None, "{other}");
            assert_eq!(found(&format!("{other}1")), None, "{other}");
        }
    }

    #[test]
    fn parentheses_of_a_symbol_are_no_module() {
        for (text, symbol, module) in [
            ("run (/bin/a)", "run", "/bin/a"),
            ("run(int, char) (/bin/a b (1))", "run(int, char)", "/bin/a b (1)"),
            ("operator()", "operator()", ""),
            ("(anonymous namespace)::run()", "(anonymous namespace)::run()", ""),
            ("(/lib/libc.so)", "", "/lib/libc.so"),
            ("run", "run", ""),
        ] {
            let (is, of) = split_module(text.as_bytes());
            assert_eq!((is, of), (symbol.as_bytes(), module.as_bytes()), "{text}");
        }
    }

    #[test]
    fn offsets_of_every_length() {
        for (text, name) in [
            ("main+0x1", "main"),
            ("main+0x1e79a", "main"),
            ("main+0x1e79ab", "main"),
            ("main+0xFF ", "main"),
            ("main+0x", "main+0x"),
            ("main+0xg1", "main+0xg1"),
            ("+0x12345", ""),
            ("f+0x1/0x2f", "f+0x1/0x2f"),
            ("aé+0x12", "aé"),
        ] {
            assert_eq!(std::str::from_utf8(without_offset(text.as_bytes())).unwrap(), name, "{text}");
        }
    }

    #[test]
    fn code_and_prose_are_not_telling() {
        for line in [
            "\t    7f1e2215d058 f",
            "\t            7e3f shop::Deep::visit",
            "\ta f+0x16",
            "\t1 f (/a)",
            "\t1 f (inlined)",
            "\t0 [unknown]",
            "ffffffff8103d0ca f ([kernel.kallsyms])",
            "\t7f1e2215d058  ([unknown])",
        ] {
            assert!(is_telling(line.as_bytes()), "{line}");
        }
        for line in [
            "\tb := bytes.NewBuffer(nil)",
            "\ta = f (nil)",
            "\td, e := f (x / y)",
            "\t               c = 5 (/)",
            "                 fade = f(x)",
            "                        0b00 => {",
            "\t1234567891234567 << 180,",
            "\t4096 bytes are read (see above)",
            "            12 apples",
            "\tmain (/bin/a)",
            "",
        ] {
            assert!(!is_telling(line.as_bytes()), "{line}");
        }
    }

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
            (
                "  7ffd 10268100142 |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK    N/A    5   70   401136 f (/c)",
                Some("401136 f (/c)"),
            ),
            (
                " 7ffd 10668100842 |OP LOAD|LVL L3 hit|SNP None|TLB L1 hit|LCK No   401136 add (/c)",
                Some("401136 add (/c)"),
            ),
            (
                " 7ffd 10668100842 |OP STORE|LVL N/A|SNP N/A|TLB N/A|LCK N/A|BLK  N/A   401136 add",
                Some("401136 add"),
            ),
            (
                " 7ffd 88000182 |OP LOAD|LVL L1 miss|SNP N/A|TLB Walker hit|LCK No|BLK  N/A ffffa7c22b4b2a00 [unknown] ([kernel.kallsyms])",
                Some("ffffa7c22b4b2a00 [unknown] ([kernel.kallsyms])"),
            ),
            (" 7ffd 10668100842 |OP LOAD|LVL L3 hit|SNP None|TLB L1 hit|LCK No|BLK  N/A    5   70", None),
            (" 7ffd 10668100842 |OP LOAD|LVL", None),
            (" prev_comm=a next_pid=12", None),
            ("     7f8b6b912000", None),
            ("", None),
        ] {
            let found = one_line_frame(rest.as_bytes()).map(|f| String::from_utf8_lossy(f).into_owned());
            assert_eq!(found.as_deref(), frame, "{rest}");
        }
    }

    #[test]
    fn frames_without_a_tab_are_told_from_event_lines() {
        for (line, frame) in [
            ("                    4946 f+0x16 (/a)", Some("4946 f+0x16 (/a)")),
            ("            4946 f", Some("4946 f")),
            ("4946 f+0x16", Some("4946 f+0x16")),
            (
                "ffffffff8103d0ca native_write_msr_safe ([kernel.kallsyms])  ",
                Some("ffffffff8103d0ca native_write_msr_safe ([kernel.kallsyms])"),
            ),
            ("        7f1e2215\tf[+1c] (/lib/x.so)", Some("7f1e2215\tf[+1c] (/lib/x.so)")),
            ("              dd 39654      401b97 main (/bin/dd)", None),
            ("              dd 12/39654 401b97 main (/bin/dd)", None),
            ("dd  7484 page-faults: ", None),
            ("  orders.c:12", None),
            ("  add b.c:12", None),
            ("deaf f", None),
            ("         0   main.render (inline)", None),
            ("    7f1e2215d058  ([unknown])", Some("7f1e2215d058  ([unknown])")),
            ("java 19983 cycles:", None),
            ("abc", None),
            ("", None),
        ] {
            let found = without_tab(line.as_bytes()).map(|text| String::from_utf8_lossy(text).into_owned());
            assert_eq!(found.as_deref(), frame, "{line}");
        }
        let mut out = Vec::new();
        with_tab(b"7f1e2215\tf (/x)", &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "\t        7f1e2215 f (/x)");
        assert!(is_srcline(b"orders.c:12") && is_srcline(b"/a b/c.c:3 (inlined)"));
        assert!(is_srcline(b"[kernel.kallsyms][ffffffff821ec357]") && is_srcline(b"libc.so.6[99df0]"));
        assert!(!is_srcline(b"orders.c") && !is_srcline(b"12"));
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
            ("7f1e2215d058  (/lib/libc-2.15.so)", "7f1e2215d058", "[unknown]", "/lib/libc-2.15.so"),
            ("7f1e2215d058 (/lib/libc-2.15.so)", "7f1e2215d058", "", "/lib/libc-2.15.so"),
            ("7f1e2215d058  ([unknown])", "7f1e2215d058", "[unknown]", "[unknown]"),
            ("7f1e2215d058  ()", "7f1e2215d058", "[unknown]", ""),
            ("4946\t(anonymous namespace)::f (/a)", "4946", "(anonymous namespace)::f", "/a"),
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

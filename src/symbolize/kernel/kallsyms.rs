//! `/proc/kallsyms`: the running kernel's symbols, and those of its modules.
//!
//! ```text
//! ffffffff81000000 T _stext
//! ffffffffc0201000 t ftrace_trampoline  [__builtin__ftrace]
//! ```
//!
//! There are no sizes: a symbol goes on to the next. To who may not know addresses
//! (`kernel.kptr_restrict`) all of them are zero.

use std::ops::Range;

use crate::number::hex;

/// The symbols of a kernel by address.
#[derive(Debug)]
pub struct Kallsyms {
    text: Vec<u8>,
    /// Symbols by address, one each; those that are no code end what is before them.
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    start: u64,
    name: Range<usize>,
    /// Empty for the kernel itself.
    module: Range<usize>,
    code: bool,
    strong: bool,
    global: bool,
}

/// A kernel's function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelSymbol<'a> {
    /// The function.
    pub name: &'a [u8],
    /// The module it is in; none for the kernel itself.
    pub module: Option<&'a [u8]>,
}

/// The last symbol, or the last of a module, goes on to the end of its page and one more.
const PAGE: u64 = 4096;

/// The kinds of symbols that are code.
const CODE: &[u8] = b"TtWwVv";

impl Kallsyms {
    /// Takes the text apart; `None` if there is no address in it but zeros.
    pub fn parse(text: Vec<u8>) -> Option<Kallsyms> {
        let mut entries = Vec::new();
        let mut start = 0;
        while start < text.len() {
            let end = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |n| start + n);
            entries.extend(parse_line(&text, start..end));
            start = end + 1;
        }
        let name = |entry: &Entry| &text[entry.name.clone()];
        let underscores = |entry: &Entry| name(entry).iter().take_while(|&&b| b == b'_').count();
        entries.sort_by(|a, b| {
            // Preferred first, nearly as for the symbols of files. Of `__ia32_sys_getpid` and
            // `__x64_sys_getpid` perf shows the one that is listed last.
            let rank = |e: &Entry| (e.code, e.strong, e.global);
            a.start
                .cmp(&b.start)
                .then_with(|| rank(b).cmp(&rank(a)))
                .then_with(|| underscores(a).cmp(&underscores(b)))
                .then_with(|| b.name.start.cmp(&a.name.start))
        });
        entries.dedup_by_key(|entry| entry.start);
        (!entries.is_empty()).then_some(Kallsyms { text, entries })
    }

    /// The function at an address.
    pub fn find(&self, address: u64) -> Option<KernelSymbol<'_>> {
        let behind = self.entries.partition_point(|e| e.start <= address);
        let entry = &self.entries[behind.checked_sub(1)?];
        let next_starts_elsewhere = self
            .entries
            .get(behind)
            .is_none_or(|next| self.text[next.module.clone()] != self.text[entry.module.clone()]);
        let limit = entry.start | (PAGE - 1);
        if !entry.code || (next_starts_elsewhere && address > limit.saturating_add(PAGE)) {
            return None;
        }
        let module = &self.text[entry.module.clone()];
        Some(KernelSymbol {
            name: &self.text[entry.name.clone()],
            module: (!module.is_empty()).then_some(module),
        })
    }

    /// The text without the symbols of data.
    pub(crate) fn code(&self) -> Vec<u8> {
        let is_code = |line: &&[u8]| {
            let kind = memchr::memchr(b' ', line).and_then(|blank| line.get(blank + 1));
            kind.is_some_and(|kind| CODE.contains(kind))
        };
        self.text.split_inclusive(|&b| b == b'\n').filter(is_code).collect::<Vec<_>>().concat()
    }

    /// The address of the kernel's symbol of a name.
    pub fn address_of(&self, name: &[u8]) -> Option<u64> {
        // Not among the entries, which keep one name for an address.
        let line = memchr::memmem::find_iter(&self.text, name).find_map(|at| {
            let end = at + name.len();
            let whole = self.text[..at].ends_with(b" ") && self.text.get(end).is_none_or(|b| *b == b'\n');
            let start = memchr::memrchr(b'\n', &self.text[..at]).map_or(0, |n| n + 1);
            whole.then_some(&self.text[start..at])
        })?;
        hex(&line[..memchr::memchr(b' ', line)?])
    }
}

fn parse_line(text: &[u8], line: Range<usize>) -> Option<Entry> {
    let bytes = &text[line.clone()];
    let space = memchr::memchr(b' ', bytes)?;
    let start = hex(&bytes[..space])?;
    let (&kind, rest) = bytes.get(space + 1..)?.split_first()?;
    let rest = rest.strip_prefix(b" ")?;
    let name_at = line.start + space + 3;
    let name_end = name_at + memchr::memchr2(b'\t', b' ', rest).unwrap_or(rest.len());
    // The rest of the line is `[module]`, or nothing.
    let module = memchr::memchr(b'[', &text[name_end..line.end]).map(|n| name_end + n + 1);
    let module = match module {
        Some(at) => at..at + memchr::memchr(b']', &text[at..line.end])?,
        None => line.end..line.end,
    };
    let name = name_at..name_end;
    let marks_of_arm =
        matches!(text[name.clone()], [b'$', b'x' | b'd' | b'a' | b't'] | [b'$', b'x' | b'd', b'.', ..]);
    if start == 0 || name.is_empty() || marks_of_arm || matches!(kind, b'A' | b'a' | b'U') {
        return None;
    }
    Some(Entry {
        start,
        name,
        module,
        code: CODE.contains(&kind),
        strong: !matches!(kind, b'W' | b'w' | b'V' | b'v'),
        global: kind.is_ascii_uppercase(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T __startup
ffffffff81000000 T _text
ffffffff81000000 T entry_point
ffffffff81000100 t local_one
ffffffff81000100 T global_one
ffffffff81000140 t __do_sys_getpid
ffffffff81000140 T __ia32_sys_getpid
ffffffff81000140 T __x64_sys_getpid
ffffffff81000200 W weak_one
ffffffff81000200 t strong_one
ffffffff81000300 D a_table
ffffffff81000400 T last_of_the_kernel
ffffffffc0201000 t first_of_a_module\t[nf_conntrack]
ffffffffc0201080 t second_of_a_module\t[nf_conntrack]
";

    #[test]
    fn finds_functions_of_kernel_and_modules() {
        let kallsyms = Kallsyms::parse(TEXT.into()).unwrap();
        let find = |at| {
            let found = kallsyms.find(at)?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            Some((text(found.name), found.module.map(text).unwrap_or_default()))
        };
        let kernel = |name: &str| Some((name.to_owned(), String::new()));
        let module = |name: &str| Some((name.to_owned(), "nf_conntrack".to_owned()));
        assert_eq!(find(0xffffffff80ffffff), None);
        assert_eq!(find(0xffffffff81000000), kernel("entry_point"), "fewest underscores, then the last");
        assert_eq!(find(0xffffffff8100013f), kernel("global_one"));
        assert_eq!(find(0xffffffff810001ff), kernel("__x64_sys_getpid"));
        assert_eq!(find(0xffffffff81000200), kernel("strong_one"));
        assert_eq!(find(0xffffffff81000300), None, "no code");
        assert_eq!(find(0xffffffff81001fff), kernel("last_of_the_kernel"));
        assert_eq!(find(0xffffffff81002000), None, "a gap");
        assert_eq!(find(0xffffffffc020107f), module("first_of_a_module"));
        assert_eq!(find(0xffffffffc0202fff), module("second_of_a_module"));
        assert_eq!(find(0xffffffffc0203000), None);
        let code = Kallsyms::parse(kallsyms.code()).unwrap();
        assert!(!code.code().contains(&b'D') && code.entries.len() == kallsyms.entries.len() - 1);
        assert_eq!(kallsyms.address_of(b"_text"), Some(0xffffffff81000000));
        assert_eq!(kallsyms.address_of(b"text"), None);
        assert_eq!(kallsyms.address_of(b"second_of_a_module"), None, "it is a module's");
    }

    #[test]
    fn zeros_mean_that_addresses_are_hidden() {
        let hidden = "0000000000000000 T _text\n0000000000000000 t f\t[m]\n";
        assert!(Kallsyms::parse(hidden.into()).is_none());
        assert!(Kallsyms::parse(Vec::new()).is_none());
    }

    proptest! {
        #[test]
        fn any_text_is_read(
            text in r"([0-9a-f]{0,17}[ \t]?[TtWA]?[ ]?[a-z_$.]{0,9}[\t ]?\[?[a-z]{0,5}\]?[\n ]?){0,9}",
            at in any::<u64>(),
        ) {
            if let Some(kallsyms) = Kallsyms::parse(text.into_bytes()) {
                kallsyms.find(at);
                kallsyms.address_of(b"a");
            }
        }
    }
}

//! The key of a map's entry, made into a stack.

use super::is_frame;
use crate::collapse::kit::native_frame::NativeFrame;
use crate::collapse::kit::text::{split_first, split_last};
use crate::input::lines;

/// A key taken apart, in the order it was written.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Key<'a> {
    /// Command, numbers and whatever else the program put there.
    pub scalars: Vec<&'a [u8]>,
    /// Leaf first, each with whether it is the kernel's.
    pub stacks: Vec<(Vec<NativeFrame<'a>>, bool)>,
}

impl<'a> Key<'a> {
    /// Takes a key apart; its lines are frames or else scalars that `separator` stands between.
    pub fn parse(key: &'a [u8], separator: &[u8]) -> Key<'a> {
        let mut parts = Key::default();
        let mut within = false;
        for line in lines(key) {
            if is_frame(line) {
                if !within {
                    parts.stacks.push((Vec::new(), false));
                }
                within = true;
                let (stack, kernel) = parts.stacks.last_mut().expect("one was begun");
                let frame = frame(line);
                *kernel |= frame.kernel || is_entry(frame.symbol);
                stack.push(frame);
            } else {
                within = false;
                parts.scalars.extend(split(line, separator).filter(|part| !part.is_empty()));
            }
        }
        for (stack, kernel) in &mut parts.stacks {
            stack.iter_mut().for_each(|frame| frame.kernel = *kernel);
        }
        parts
    }
}

fn split<'a>(line: &'a [u8], separator: &[u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest?;
        let at = memchr::memmem::find(text, separator);
        rest = at.map(|at| &text[at + separator.len()..]);
        Some(at.map_or(text, |at| &text[..at]))
    })
}

/// `    work(int)+743`, `    0x7f0b9b`, `    nft_do_chain+12 [nf_tables]`, or behind a tab `7f0b9b
/// work(int)+743 (/usr/bin/a)`
fn frame(line: &[u8]) -> NativeFrame<'_> {
    let text = line.trim_ascii();
    let mut native = NativeFrame::default();
    let mut symbol = text;
    // Blanks for the tab, or those of the other style.
    let is_perf_style = || {
        let (address, behind) = split_first(text, b" ")?;
        (!behind.is_empty() && address.iter().all(u8::is_ascii_hexdigit)).then_some(())
    };
    if line.starts_with(b"\t") || (line.starts_with(b"        ") && is_perf_style().is_some()) {
        let blank = memchr::memchr(b' ', text).unwrap_or(text.len());
        if text[..blank].iter().all(u8::is_ascii_hexdigit) {
            native.address = &text[..blank];
            symbol = text[blank..].trim_ascii_start();
        }
        // A path or `[unknown]`: the arguments of a function begin otherwise.
        let module = |open: &[u8]| {
            let (symbol, rest) = split_last(symbol.strip_suffix(b")")?, open)?;
            Some((symbol, rest.len() + 1))
        };
        if let Some((before, len)) = module(b" (/").or_else(|| module(b" ([")) {
            native.module = &symbol[symbol.len() - 1 - len..symbol.len() - 1];
            symbol = before;
        }
    } else if let Some((before, module)) = symbol.strip_suffix(b"]").and_then(|s| split_last(s, b" [")) {
        (symbol, native.module, native.kernel) = (before, module, true);
    }
    let digits = symbol.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    if digits > 0
        && let Some(name) = symbol[..symbol.len() - digits].strip_suffix(b"+")
    {
        symbol = name;
    }
    match symbol.strip_prefix(b"0x") {
        Some(hex) if !hex.is_empty() && hex.iter().all(u8::is_ascii_hexdigit) => native.address = hex,
        _ => native.symbol = symbol,
    }
    native
}

/// Returns whether only stacks of the kernel have such a frame: where it is entered.
fn is_entry(symbol: &[u8]) -> bool {
    const ENTRIES: [&[u8]; 15] = [
        b"entry_SYSCALL",
        b"entry_INT80",
        b"do_syscall_64",
        b"__x64_sys_",
        b"__ia32_sys_",
        b"asm_sysvec_",
        b"asm_exc_",
        b"asm_common_interrupt",
        b"ret_from_fork",
        b"secondary_startup",
        b"common_startup_64",
        b"start_kernel",
        b"el0t_64_",
        b"el1h_64_",
        b"__arm64_sys_",
    ];
    ENTRIES.iter().any(|entry| symbol.starts_with(entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_any_of_their_parts() {
        for (line, symbol, module, address) in [
            ("    work(int)+743", "work(int)", "", ""),
            ("    operator+", "operator+", "", ""),
            ("    0x7f0b", "", "", "7f0b"),
            ("    nft_do_chain+12 [nf_tables]", "nft_do_chain", "nf_tables", ""),
            ("\t7f0b work(int)+743 (/usr/bin/a b)", "work(int)", "/usr/bin/a b", "7f0b"),
            ("\t7f0b 0x7f0b ([unknown])", "", "[unknown]", "7f0b"),
            ("\tffff8 do_idle+4", "do_idle", "", "ffff8"),
            ("\tffff8 f(int)", "f(int)", "", "ffff8"),
        ] {
            let found = frame(line.as_bytes());
            assert_eq!(
                (found.symbol, found.module, found.address),
                (symbol.as_bytes(), module.as_bytes(), address.as_bytes()),
                "{line}"
            );
        }
    }

    #[test]
    fn parts_are_told_apart() {
        let key = Key::parse(b"calc: two, 7, \n    f+1\n, \n    k+1\n    asm_exc_page_fault+3\n, , x", b", ");
        assert_eq!(key.scalars, [&b"calc: two"[..], b"7", b"x"]);
        let kernel: Vec<_> = key.stacks.iter().map(|(stack, kernel)| (stack.len(), *kernel)).collect();
        assert_eq!(kernel, [(1, false), (2, true)]);
        assert_eq!(Key::parse(b"", b","), Key::default());
    }
}

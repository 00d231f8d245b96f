//! The rules of a compiler for debug information and for the names in a profile.

use std::borrow::Cow;

use super::line::Line;
use crate::symbolize::Site;

/// The compiler that reads a profile, and has built the program that was profiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compiler {
    /// clang, rustc and others with LLVM's code generator.
    Llvm,
    /// GCC.
    Gcc,
}

impl Compiler {
    /// The line of a site in its function; `None` in a function without a name. Code that the compiler has made
    /// without a line has line 0, and the compiler looks for its counts there, too.
    pub fn line_of(self, site: &Site<'_>) -> Option<Line> {
        let offset = site.line.wrapping_sub(site.start_line) & 0xffff;
        let discriminator = match self {
            Compiler::Llvm => prefix_decoded(site.discriminator),
            Compiler::Gcc => site.discriminator,
        };
        is_nameable(site.function).then_some(Line { offset, discriminator })
    }

    /// The number of copies of the code of a site that the compiler has made, of a loop that it unrolled. GCC
    /// does not tell.
    pub fn copies(self, site: &Site<'_>) -> u64 {
        match self {
            Compiler::Llvm => u64::from(prefix_decoded(next_component(site.discriminator))).max(1),
            Compiler::Gcc => 1,
        }
    }

    /// The name by which the compiler will look for a function: clones have suffixes. In debug information of GCC
    /// constructors and destructors that were inlined stand for all variants, as `C4` and `D4`; in its symbol
    /// table they are `C2` and `D2`.
    pub fn name_in_source(self, name: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Compiler::Llvm => Cow::Borrowed(without_suffixes(name, &[b".llvm.", b".part.", b".cold"])),
            Compiler::Gcc => {
                const CLONES: &[&[u8]] = &[b".constprop.", b".isra.", b".lto_priv.", b".part.", b".cold"];
                let name = without_suffixes(name, CLONES);
                match structor(name) {
                    Some(at) => Cow::Owned([&name[..at], b"2", &name[at + 1..]].concat()),
                    None => Cow::Borrowed(name),
                }
            }
        }
    }

    /// Returns true if a line counts at least as often as all that was called from it: llvm-profgen's rule, which
    /// create_gcov has not.
    pub fn counts_lines_by_calls(self) -> bool {
        self == Compiler::Llvm
    }

    /// Returns true if lines of functions with samples that have none themselves count as never run.
    pub fn counts_zeros_of_samples(self) -> bool {
        self == Compiler::Gcc
    }
}

fn without_suffixes<'n>(mut name: &'n [u8], suffixes: &[&[u8]]) -> &'n [u8] {
    while let Some(at) = suffixes.iter().find_map(|suffix| memchr::memmem::rfind(name, suffix)) {
        if at == 0 {
            break;
        }
        name = &name[..at];
    }
    name
}

/// The place of the 4 in the name of a constructor or destructor of all variants. `C4E` and `D4E` may be part of
/// an identifier, too: one of that name has its length before it.
fn structor(name: &[u8]) -> Option<usize> {
    if !name.starts_with(b"_ZN") {
        return None;
    }
    let last = |text: &[u8]| memchr::memmem::rfind(name, text);
    let at = last(b"C4E").max(last(b"D4E"))?;
    (!name[at - 1].is_ascii_digit() || at + 4 == name.len()).then_some(at + 1)
}

/// Names stand in lines of text between blanks and colons, and end with a zero in files of GCC.
fn is_nameable(name: &[u8]) -> bool {
    !name.is_empty() && !name.iter().any(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control())
}

/// The first component of a discriminator of LLVM, which is the line's own: 0 in one bit, 5 or 12 bits in 7 or 14. The
/// encoding is described at `DILocation::encodeDiscriminator` in llvm/IR/DebugInfoMetadata.h.
fn prefix_decoded(discriminator: u32) -> u32 {
    if discriminator & 1 != 0 {
        return 0;
    }
    let rest = discriminator >> 1;
    if rest & 0x20 != 0 { rest >> 1 & 0xfe0 | rest & 0x1f } else { rest & 0x1f }
}

/// The discriminator without its first component.
fn next_component(discriminator: u32) -> u32 {
    match discriminator {
        d if d & 1 != 0 => d >> 1,
        d if d & 0x40 != 0 => d >> 14,
        d => d >> 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discriminators_of_llvm_have_components() {
        // As `DILocation::encodeDiscriminator` makes them: base, copies, copy.
        for (encoded, base, count) in
            [(0, 0, 1), (2, 1, 1), (4, 2, 1), (0x3e, 31, 1), (0x40 | 1 << 8, 0x40, 1), (1 | 4 << 2, 0, 4)]
        {
            let site = Site { function: b"f", start_line: 10, line: 12, discriminator: encoded };
            let line = Compiler::Llvm.line_of(&site).unwrap();
            assert_eq!((line.offset, line.discriminator), (2, base), "{encoded:#x}");
            assert_eq!(Compiler::Llvm.copies(&site), count, "{encoded:#x}");
            // Those of GCC are numbers.
            let line = Compiler::Gcc.line_of(&site).unwrap();
            assert_eq!((line.discriminator, Compiler::Gcc.copies(&site)), (encoded, 1));
        }
        let site = Site { function: b"f", start_line: 10, line: 9, discriminator: 0 };
        assert_eq!(Compiler::Llvm.line_of(&site), Some(Line { offset: 0xffff, discriminator: 0 }));
        assert_eq!(Compiler::Llvm.line_of(&Site { function: b"", ..site }), None);
    }

    #[test]
    fn clones_are_known_by_the_name_in_the_source() {
        assert_eq!(Compiler::Llvm.name_in_source(b"_Z1fv.llvm.123")[..], b"_Z1fv"[..]);
        assert_eq!(Compiler::Llvm.name_in_source(b"_Z1fv.part.0.llvm.9")[..], b"_Z1fv"[..]);
        assert_eq!(Compiler::Gcc.name_in_source(b"f.isra.0.part.1.constprop.2")[..], b"f"[..]);
        // A function of OpenMP is made before a profile is read.
        assert_eq!(Compiler::Gcc.name_in_source(b"f._omp_fn.0")[..], b"f._omp_fn.0"[..]);
    }

    #[test]
    fn constructors_have_the_names_of_the_symbol_table() {
        for (in_debug_information, in_symbols) in [
            ("_ZN3FooC4Ev", "_ZN3FooC2Ev"),
            ("_ZN4Foo1D4Ev", "_ZN4Foo1D2Ev"),
            ("_ZN3FooC4EPKc", "_ZN3FooC2EPKc"),
            ("_ZN3C4EC4Ei", "_ZN3C4EC2Ei"),
            ("_ZN3C4E3runEi", "_ZN3C4E3runEi"),
            ("C4Ev", "C4Ev"),
        ] {
            let found = Compiler::Gcc.name_in_source(in_debug_information.as_bytes());
            assert_eq!(String::from_utf8_lossy(&found), in_symbols);
        }
    }
}

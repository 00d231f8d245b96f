//! Mangled symbols as people write them: Rust (legacy and v0) and Itanium C++.
//!
//! Profilers mostly demangle themselves; what they leave mangled (v0 names in an older `perf`,
//! stripped tools, JIT maps) is done here, for the collapsers and for `fg-filter --demangle`
//! alike. Names come out as `perf` prints them, without parameters and return types, so that the
//! same function has one name, whichever tool demangled it.

use std::fmt::{self, Write};

use crate::folded::sanitize_frame;

/// Longer symbols stay as they are. The longest in a build of LLVM has 16 kB.
const LONGEST_SYMBOL: usize = 64 * 1024;

/// A few hundred bytes of back references can stand for gigabytes of text; such names stay
/// mangled.
const LONGEST_NAME: usize = 256 * 1024;

/// The readable name of a mangled one, ready to be a frame (`;` is `:`); `None` if it is not
/// mangled, or not understood.
///
/// The hash at the end of a Rust name is cut, and so are the suffixes of compilers
/// (`.cold`, `.llvm.123`); what linkers append (`@plt`) stays.
///
/// ```
/// use fg_tools::symbol::demangle;
///
/// assert_eq!(demangle(b"_ZN4core3fmt5write17h0123456789abcdefE").unwrap(), b"core::fmt::write");
/// assert_eq!(demangle(b"_ZNSt6vectorIiSaIiEE9push_backERKi").unwrap(),
///            b"std::vector<int, std::allocator<int> >::push_back");
/// assert_eq!(demangle(b"malloc"), None);
/// ```
pub fn demangle(symbol: &[u8]) -> Option<Vec<u8>> {
    // Nearly every name leaves here.
    let plain = symbol.strip_prefix(b"_")?;
    let plain = plain.strip_prefix(b"_").unwrap_or(plain);
    if !matches!(plain.first(), Some(b'Z' | b'R')) || symbol.len() > LONGEST_SYMBOL {
        return None;
    }
    let at = memchr::memchr(b'@', symbol).unwrap_or(symbol.len());
    let (mangled, version) = symbol.split_at(at);
    let mangled = std::str::from_utf8(mangled).ok().filter(|text| text.is_ascii())?;
    // On some systems every symbol has one more underscore.
    let mangled = if mangled.starts_with("__") { &mangled[1..] } else { mangled };
    let name = if mangled.starts_with("_R") {
        rust(mangled)?.0
    } else {
        match rust(mangled) {
            Some((name, true)) => name,
            // Without a hash `_ZN3foo3barE` may be either, and C++ says more about it.
            other => cplusplus(mangled).or(other.map(|(name, _)| name))?,
        }
    };
    let mut frame = Vec::with_capacity(name.len() + version.len());
    sanitize_frame(name.as_bytes(), &mut frame);
    sanitize_frame(version, &mut frame);
    Some(frame)
}

/// The name without its hash, and whether it had one.
fn rust(mangled: &str) -> Option<(String, bool)> {
    let parsed = rustc_demangle::try_demangle(mangled).ok()?;
    let mut name = Limited::default();
    write!(name, "{parsed:#}").ok()?;
    let mut whole = Limited::default();
    write!(whole, "{parsed}").ok()?;
    let hashed = name.0 != whole.0;
    Some((name.0, hashed))
}

fn cplusplus(mangled: &str) -> Option<String> {
    match thunk(mangled) {
        Some((what, function)) => Some(format!("{what} {}", plain_cplusplus(&format!("_Z{function}"))?)),
        None => plain_cplusplus(mangled),
    }
}

/// The name of a thunk, and the mangled function that it goes on to with another `this`.
fn thunk(mangled: &str) -> Option<(&'static str, &str)> {
    /// `h8_`, `v0_n24_`: how to get to the other object.
    fn behind_offset(offset: &str) -> Option<&str> {
        let numbers = match offset.bytes().next()? {
            b'h' => 1,
            b'v' => 2,
            _ => return None,
        };
        (0..numbers).try_fold(&offset[1..], |rest, _| {
            let (number, rest) = rest.split_once('_')?;
            let digits = number.strip_prefix('n').unwrap_or(number);
            (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then_some(rest)
        })
    }
    let special = mangled.strip_prefix("_ZT")?;
    let what = match special.bytes().next()? {
        b'h' => "non-virtual thunk to",
        b'v' => "virtual thunk to",
        b'c' => return Some(("covariant return thunk to", behind_offset(behind_offset(&special[1..])?)?)),
        _ => return None,
    };
    Some((what, behind_offset(special)?))
}

fn plain_cplusplus(mangled: &str) -> Option<String> {
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    let mut name = Limited::default();
    match cpp_demangle::Symbol::new(mangled) {
        Ok(parsed) => parsed.structured_demangle(&mut name, &options).ok()?,
        Err(_) => {
            // Types that only a signature has may be beyond the parser (`sr` as GCC writes it, in the
            // `enable_if` of `std::swap`). Of a signature nothing is shown.
            let (parsed, signature) = cpp_demangle::BorrowedSymbol::with_tail(mangled.as_bytes()).ok()?;
            is_signature(signature).then(|| parsed.structured_demangle(&mut name, &options).ok())??;
        }
    }
    let name = with_suffixed_numbers(without_qualifiers(name.0));
    let name = with_short_streams(without_empty_packs(name));
    Some(name).filter(|name| !name.is_empty())
}

/// Returns true for types of the kind that a parser may not know, with a compiler's suffix perhaps.
fn is_signature(rest: &[u8]) -> bool {
    let end = memchr::memchr(b'.', rest).unwrap_or(rest.len());
    memchr::memmem::find(&rest[..end], b"sr").is_some()
        && rest[0].is_ascii_alphabetic()
        && rest[..end].iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

/// Template arguments without the packs that hold nothing: `f<int>` for `f<int, >`.
fn without_empty_packs(name: String) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name.as_str();
    while let Some(at) = rest.find(", ") {
        let (before, behind) = (&rest[..at], &rest[at + 2..]);
        out.push_str(before);
        // `operator,` and `operator<, int`.
        let is_operator = before.trim_end_matches('<').ends_with("operator");
        let is_empty = behind.starts_with('>') || behind.starts_with(", ") || before.ends_with('<');
        if is_operator || !is_empty {
            out.push_str(", ");
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// `std::ostream` for what it stands for, as binutils writes it; but a constructor is the
/// template's.
fn with_short_streams(mut name: String) -> String {
    for kind in ["istream", "ostream", "iostream"] {
        let long = format!("std::basic_{kind}<char, std::char_traits<char> >");
        let mut from = 0;
        while let Some(at) = name[from..].find(&long).map(|n| from + n) {
            let behind = &name[at + long.len()..];
            let constructor = behind.strip_prefix("::").map(|rest| rest.strip_prefix('~').unwrap_or(rest));
            if constructor.is_some_and(|rest| rest.starts_with("basic_")) {
                from = at + long.len();
            } else {
                name.replace_range(at..at + long.len(), &format!("std::{kind}"));
                from = at + "std::".len() + kind.len();
            }
        }
    }
    name
}

/// Numbers as binutils, and so perf, write them: `5ul` for `(unsigned long)5`.
fn with_suffixed_numbers(name: String) -> String {
    const TYPES: [(&str, &str); 5] = [
        ("(unsigned int)", "u"),
        ("(unsigned long)", "ul"),
        ("(long)", "l"),
        ("(unsigned long long)", "ull"),
        ("(long long)", "ll"),
    ];
    let mut out = String::new();
    let mut rest = name.as_str();
    while let Some(at) = rest.find('(') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let number = TYPES.iter().find_map(|(of, suffix)| Some((from.strip_prefix(of)?, suffix)));
        let digits = number.map(|(behind, suffix)| {
            let sign = usize::from(behind.starts_with('-'));
            let digits = behind[sign..].bytes().take_while(u8::is_ascii_digit).count();
            (behind, if digits > 0 { sign + digits } else { 0 }, suffix)
        });
        match digits {
            Some((behind, len, suffix)) if len > 0 => {
                out.push_str(&behind[..len]);
                out.push_str(suffix);
                rest = &behind[len..];
            }
            _ => {
                out.push('(');
                rest = &from[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// The name without what belongs to the parameters that were left out: `operator() const`.
fn without_qualifiers(mut name: String) -> String {
    const QUALIFIERS: [&str; 4] = [" const", " volatile", " &", " &&"];
    // They stay where they are part of a conversion: `operator char const`.
    while let Some(rest) = QUALIFIERS.iter().find_map(|end| name.strip_suffix(end))
        && !rest.rsplit("::").next().is_some_and(|last| last.starts_with("operator "))
    {
        name.truncate(rest.len());
    }
    name
}

/// A string that refuses to grow without end.
#[derive(Default)]
struct Limited(String);

impl Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST_NAME {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_every_mangling() {
        for (mangled, name) in [
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("__ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            (
                "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
                "<Test + 'static as foo::Bar<Test>>::bar",
            ),
            ("_ZN3foo17h05af221e174051e9E.llvm.12345", "foo"),
            ("_ZN3fooA$u3b$b17h05af221e174051e9E", "_ZN3fooA$u3b$b17h05af221e174051e9E"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("_RNvMs_NtCs1234_7mycrate4lexrNtB4_5Lexer4next", "<mycrate::lexr::Lexer>::next"),
            ("_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>"),
            ("_ZN4llvm12SelectionDAG7getNodeEjRKNS_5SDLocENS_3EVTE", "llvm::SelectionDAG::getNode"),
            ("_Znwm", "operator new"),
            ("_Znwm@plt", "operator new@plt"),
            ("_ZNSt8ios_base4InitD1Ev@@GLIBCXX_3.4", "std::ios_base::Init::~Init@@GLIBCXX_3.4"),
            ("_Z3addii.cold", "add"),
            ("_ZN12_GLOBAL__N_13runEv", "(anonymous namespace)::run"),
            ("_ZN3fooIiE3barEv", "foo<int>::bar"),
            ("_ZNKO3foo3barEv", "foo::bar"),
            ("_Z3fooILm5EEvv", "foo<5ul>"),
            ("_Z3fooILln5EEvv", "foo<-5l>"),
            ("_Z3fooILc97EEvv", "foo<(char)97>"),
            ("_Z3fooIPFvjEEvv", "foo<void (*)(unsigned int)>"),
            ("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()"),
            ("_ZNK3foocvPKcEv", "foo::operator char const*"),
            (
                "_ZN4llvm15AnalysisManagerINS_8FunctionEJEE5clearEv",
                "llvm::AnalysisManager<llvm::Function>::clear",
            ),
            ("_ZN1aIJEiE1fIJEJEEEvv", "a<int>::f<>"),
            ("_ZNK1acmERKS_", "a::operator,"),
            (
                "_ZSt4swapI1AENSt9enable_ifIXsrSt6__and_IJSt6__not_ISt15__is_tuple_likeIT_EESt21is_move_constructibleIS5_ESt18is_move_assignableIS5_EEE5valueEvE4typeERS5_SF_",
                "std::swap<A>",
            ),
            (
                "_ZN2wi6lshiftINS_13hwi_with_precEmEENS_13binary_traitsIT_S3_XsrNS_10int_traitsIS3_EE14precision_typeEXsrS5_14precision_typeEE11result_typeERKS3_RKT0_.cold",
                "wi::lshift<wi::hwi_with_prec, unsigned long>",
            ),
            ("_Z3fooXsrbar", "foo"),
            ("_Z3foo_sr", "_Z3foo_sr"),
            ("_Z3fooXsr-bar", "_Z3fooXsr-bar"),
            ("_ZNSolsEd", "std::ostream::operator<<"),
            ("_ZNSiC1Ev", "std::basic_istream<char, std::char_traits<char> >::basic_istream"),
            ("_ZThn16_N4plug1C1bEl", "non-virtual thunk to plug::C::b"),
            ("_ZTv0_n32_N4plug1C1bEl", "virtual thunk to plug::C::b"),
            ("_ZTchn8_v0_n24_NK1C5cloneEv.cold", "covariant return thunk to C::clone"),
            ("_ZTv0_N4plug1C1bEl", "_ZTv0_N4plug1C1bEl"),
        ] {
            let shown = demangle(mangled.as_bytes()).unwrap_or_else(|| mangled.into());
            assert_eq!(String::from_utf8_lossy(&shown), name, "{mangled}");
        }
    }

    #[test]
    fn leaves_other_names_alone() {
        for name in [
            "",
            "_",
            "_Z",
            "_R",
            "main",
            "_start",
            "_ZERO",
            "_Report",
            "__libc_start_main",
            "Rf_eval",
            "ZN3fooE",
        ] {
            assert_eq!(demangle(name.as_bytes()), None, "{name}");
        }
        assert_eq!(demangle(b"_ZN3f\xffoE"), None);
        assert_eq!(demangle(&[b"_ZN3foo".as_slice(), &b"x".repeat(LONGEST_SYMBOL)].concat()), None);
    }

    #[test]
    fn a_demangled_name_is_one_frame() {
        assert_eq!(demangle(b"_ZN5a$u3b$b17h05af221e174051e9E"), None, "the length is wrong");
        assert_eq!(demangle(b"_ZN7a$u3b$b17h05af221e174051e9E").unwrap(), b"a:b");
        assert_eq!(demangle(b"_RNvXCs1_1aAhj18_NtB2_1T1f").unwrap(), b"<[u8: 24] as a::T>::f");
    }

    #[test]
    fn back_references_do_not_explode() {
        // Each tuple holds the one before twice: 2^60 names.
        let mut cpp = String::from("_Z1fSt4pairIiiE");
        for n in 0..60 {
            let at = char::from_digit(n % 36, 36).unwrap().to_ascii_uppercase();
            cpp.push_str(&format!("St4pairIS{at}_S{at}_E"));
        }
        let _ = demangle(cpp.as_bytes());
        let deep = format!("_Z1f{}i", "P".repeat(60_000));
        let _ = demangle(deep.as_bytes());
        let rust = format!("_RNvC{}1a1b", "NvC".repeat(20_000));
        let _ = demangle(rust.as_bytes());
    }

    proptest! {
        #[test]
        fn never_panics(tail in "[A-Za-z0-9_$.]{0,60}", v0 in any::<bool>()) {
            let symbol = format!("{}{tail}", if v0 { "_R" } else { "_Z" });
            if let Some(name) = demangle(symbol.as_bytes()) {
                prop_assert!(!name.iter().any(|b| matches!(b, b';' | b'\n')));
            }
        }
    }
}

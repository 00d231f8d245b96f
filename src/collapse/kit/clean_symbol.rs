//! Symbols as profilers print them, made into frames that compare and merge.
//!
//! Shared by all native formats: mangled names are read, the hash of a Rust name and the
//! argument list of a C++ one are cut, `;` becomes `:`. So the same function has one name,
//! whoever symbolised it.

use crate::folded::sanitize_frame;
use crate::symbol::demangle;

/// Appends the tidy name of a symbol to `out`.
///
/// ```
/// use fg_tools::collapse::clean_symbol::clean_symbol;
///
/// let mut frame = Vec::new();
/// clean_symbol(b"shop::Order::add(shop::Item const&)", &mut frame);
/// assert_eq!(frame, b"shop::Order::add");
/// ```
pub fn clean_symbol(symbol: &[u8], out: &mut Vec<u8>) {
    if let Some(name) = demangle(symbol) {
        out.extend_from_slice(&name);
    } else if let Some(path) = without_rust_hash(symbol) {
        match decode_rust_escapes(symbol) {
            Some(name) => out.extend_from_slice(&name),
            None => sanitize_frame(path, out),
        }
    } else {
        sanitize_frame(without_java_class_marker(without_arguments(symbol)), out);
    }
}

/// `core::fmt::write::h0123456789abcdef` without what follows the last `::`; `None` if that is no
/// hash.
fn without_rust_hash(symbol: &[u8]) -> Option<&[u8]> {
    const HASH: usize = "::h0123456789abcdef".len();
    let (path, hash) = symbol.split_at_checked(symbol.len().checked_sub(HASH)?)?;
    let digits = hash.strip_prefix(b"::h")?;
    (!path.is_empty() && digits.iter().all(u8::is_ascii_hexdigit)).then_some(path)
}

/// A legacy Rust name that was demangled as if it were C++: `_$LT$T$u20$as..` has its escapes
/// still. Mangled again, it can be demangled as what it is.
fn decode_rust_escapes(symbol: &[u8]) -> Option<Vec<u8>> {
    if !symbol.contains(&b'$') && !symbol.windows(2).any(|pair| pair == b"..") {
        return None;
    }
    let text = std::str::from_utf8(symbol).ok()?;
    let parts = text.split("::").map(|part| format!("{}{part}", part.len()));
    demangle(format!("_ZN{}E", parts.collect::<String>()).as_bytes())
}

/// `Lorg/Class;.call` is `org/Class;.call`: the `L` and the `;` stand around a class in a
/// signature of the Java virtual machine. A name that was cut has no `;`: its package tells it.
fn without_java_class_marker(symbol: &[u8]) -> &[u8] {
    const PACKAGES: [&[u8]; 9] =
        [b"com/", b"io/", b"java/", b"javax/", b"jdk/", b"kotlin/", b"net/", b"org/", b"sun/"];
    let Some(rest) = symbol.strip_prefix(b"L") else { return symbol };
    let class = rest.split(|&b| b == b';').next().unwrap_or(rest);
    let is_class = class.len() < rest.len() && class.contains(&b'/');
    let is_cut = PACKAGES.iter().any(|package| rest.starts_with(package));
    if is_class || is_cut { rest } else { symbol }
}

/// Cuts the argument list, and what follows it, off the name of a C++ or Java function. Names of other
/// languages stay whole, whatever brackets they hold: `block (2 levels) in run`, `:(idle):0`.
///
/// Parentheses belong to the name within brackets of any kind, after `operator`, after the dot of
/// a Go receiver, `.(*Tree).`, in `(anonymous namespace)`, at the very beginning, where the
/// function is one that something else is local to, `run(int)::{lambda()#1}::operator()`, and where what
/// stands before, between and behind them is no function, its arguments and its qualifiers.
fn without_arguments(name: &[u8]) -> &[u8] {
    if !name.contains(&b'(') {
        return name;
    }
    let mut depth = 0usize;
    let mut at = 0;
    let mut is_operator = false;
    while let Some(&byte) = name.get(at) {
        match byte {
            b'(' if depth == 0 => {
                let before = &name[..at];
                let of_the_name = before.is_empty()
                    || before.ends_with(b".")
                    || (before.ends_with(b"operator") && starts_word(before, at - b"operator".len()))
                    || name[at..].starts_with(b"(anonymous")
                    || is_scope(&name[at..]);
                if !of_the_name && is_signature(before, &name[at..], is_operator) {
                    return before.trim_ascii_end();
                }
                depth += 1;
            }
            b'<' | b'[' | b'{' | b'(' => depth += 1,
            b'>' if at > 0 && matches!(name[at - 1], b'-' | b'=') => {}
            b'>' | b']' | b'}' | b')' => depth = depth.saturating_sub(1),
            b'o' if name[at..].starts_with(b"operator") && starts_word(name, at) => {
                // The brackets of `operator<<` and `operator[]` open nothing.
                at += b"operator".len();
                is_operator = true;
                while matches!(name.get(at), Some(b'<' | b'>' | b'=' | b'-' | b'[' | b']')) {
                    at += 1;
                }
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    name
}

/// Tells if `before` names a function of C++ or Java, and `rest` is its arguments and qualifiers. What is
/// cut off in the arguments counts as one.
fn is_signature(before: &[u8], rest: &[u8], is_operator: bool) -> bool {
    // `f() (.cold)`, `f (.llvm.12)`: what a compiler has split off, or renamed.
    if let [b'(', b'.', b'a'..=b'z', .., b')'] = rest {
        return true;
    }
    let (arguments, behind) = match closing(rest) {
        Some(end) => (&rest[1..end], &rest[end + 1..]),
        None => (&rest[1..], &b""[..]),
    };
    is_java_descriptor(arguments, behind)
        || (is_java_method(before) && is_cut_java_descriptor(&rest[1..]))
        || (is_function(before, is_operator) && are_types(arguments) && are_qualifiers(behind))
}

/// The place of the bracket that closes the first.
fn closing(text: &[u8]) -> Option<usize> {
    let mut depth = 0usize;
    text.iter().position(|byte| {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

/// Recognises the bytes of which a qualified name, or the types before it, consist: no path, no method of
/// Ruby's (`Order#add`), no place (`app.js:12`), no module (`app!Main`).
fn is_function(name: &[u8], is_operator: bool) -> bool {
    if is_operator {
        return true;
    }
    let name = [b"non-virtual thunk to ".as_slice(), b"virtual thunk to "]
        .iter()
        .find_map(|thunk| name.strip_prefix(*thunk))
        .unwrap_or(name);
    let mut depth = 0usize;
    for (at, byte) in name.iter().enumerate() {
        let known = match byte {
            b'<' | b'[' | b'{' | b'(' => {
                depth += 1;
                true
            }
            b'>' | b']' | b'}' | b')' => {
                depth = depth.saturating_sub(1);
                true
            }
            _ if depth > 0 => true,
            b':' => name[at + 1..].starts_with(b":") || name[..at].ends_with(b":"),
            // A hidden class of Java's: `Main$$Lambda$14/0x00007fc919003c80.get`.
            b'/' => name[at + 1..].starts_with(b"0x"),
            b'_' | b'$' | b'.' | b'~' | b' ' | b'*' | b'&' | b',' | b'\'' | b'@' => true,
            byte => byte.is_ascii_alphanumeric() || !byte.is_ascii(),
        };
        if !known {
            return false;
        }
    }
    // Neither blank nor operator stands between a function and its arguments.
    name.last()
        .is_some_and(|last| last.is_ascii_alphanumeric() || !last.is_ascii() || b"_$>]}'".contains(last))
}

/// Tells if what stands between the parentheses can be types: none begins with a digit, and there is
/// nothing of a path, of a named argument (`x=1`, `x: Int`) or of a quotation.
fn are_types(arguments: &[u8]) -> bool {
    let mut depth = 0usize;
    let mut starts = true;
    for (at, byte) in arguments.iter().enumerate() {
        match byte {
            b'<' | b'[' | b'{' | b'(' => depth += 1,
            b'>' | b']' | b'}' | b')' => depth = depth.saturating_sub(1),
            b'/' | b'\\' | b'"' | b'#' | b'=' | b'?' | b'|' | b'!' if depth == 0 => return false,
            b'0'..=b'9' if starts => return false,
            b':' if depth == 0
                && !arguments[at + 1..].starts_with(b":")
                && !arguments[..at].ends_with(b":") =>
            {
                return false;
            }
            _ => {}
        }
        starts = depth == 0 && (*byte == b',' || (starts && *byte == b' '));
    }
    true
}

/// Recognises what may follow the arguments: qualifiers, and what compilers and linkers append.
fn are_qualifiers(mut behind: &[u8]) -> bool {
    const WORDS: [&[u8]; 6] = [b" const", b" volatile", b" noexcept", b" &&", b" &", b"&"];
    while let Some(rest) = WORDS.iter().find_map(|word| behind.strip_prefix(*word)) {
        behind = rest;
    }
    behind.is_empty()
        // `[clone .isra.0]`, `[abi:cxx11]`, ` (.cold)`, `.part.0`, `@plt`, `@@GLIBCXX_3.4`, `+0x1c`, `_[k]`.
        || (behind.ends_with(b"]") && [b" [".as_slice(), b"[", b"_["].iter().any(|begin| behind.starts_with(begin)))
        || (behind.starts_with(b" (.") && behind.ends_with(b")"))
        || matches!(behind, [b'.', b'a'..=b'z', ..] | [b'@', ..] | [b'+', b'0', b'x', ..])
}

/// Recognises the arguments and the result of a method as the Java virtual machine writes them:
/// `(Ljava/lang/String;[I)V`.
fn is_java_descriptor(arguments: &[u8], result: &[u8]) -> bool {
    behind_java_types(arguments).is_empty() && behind_java_type(result).is_some_and(<[u8]>::is_empty)
}

/// Recognises what is left of such a descriptor, behind its first parenthesis, where a name may have so many bytes and
/// no more: `Ljava/lang/Object;)Lio/net`.
fn is_cut_java_descriptor(text: &[u8]) -> bool {
    let rest = behind_java_types(text);
    let last = rest.strip_prefix(b")").unwrap_or(rest);
    let last = &last[last.iter().take_while(|byte| **byte == b'[').count()..];
    match last.strip_prefix(b"L") {
        Some(class) => class.iter().all(|byte| byte.is_ascii_alphanumeric() || b"/_$".contains(byte)),
        None => last.is_empty(),
    }
}

/// Recognises a class as the Java virtual machine writes it and a method: `Lorg/Class;.call`, `Lorg/Class;::call`.
fn is_java_method(name: &[u8]) -> bool {
    let class =
        name.strip_prefix(b"L").and_then(|rest| memchr::memchr(b';', rest).map(|end| &rest[end + 1..]));
    class.is_some_and(|method| method.starts_with(b".") || method.starts_with(b"::"))
}

/// The rest, behind the first type of a descriptor.
fn behind_java_type(text: &[u8]) -> Option<&[u8]> {
    let start = text.iter().take_while(|byte| **byte == b'[').count();
    match text.get(start)? {
        b'L' => Some(&text[start + memchr::memchr(b';', &text[start..])? + 1..]),
        b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' | b'V' => Some(&text[start + 1..]),
        _ => None,
    }
}

/// The rest, behind all types of a descriptor that are whole.
fn behind_java_types(mut text: &[u8]) -> &[u8] {
    while let Some(rest) = behind_java_type(text) {
        text = rest;
    }
    text
}

/// Returns whether what follows the parentheses at the beginning is local to the function whose arguments
/// they are: `(int) const::{lambda()#1}`.
fn is_scope(arguments: &[u8]) -> bool {
    let mut rest = closing(arguments).map_or(&b""[..], |end| &arguments[end + 1..]);
    for qualifier in [b" const".as_slice(), b" volatile", b" &", b"&"] {
        rest = rest.strip_prefix(qualifier).unwrap_or(rest);
    }
    rest.starts_with(b"::")
}

/// Returns whether no identifier goes on at `at`: a `cooperator` is no operator.
fn starts_word(name: &[u8], at: usize) -> bool {
    at == 0 || !(name[at - 1].is_ascii_alphanumeric() || name[at - 1] == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tidies_every_language() {
        for (symbol, frame) in [
            ("main", "main"),
            ("shop::Order::add(shop::Item const&) const", "shop::Order::add"),
            (
                "std::function<void (int, int)>::operator()(int, int) const",
                "std::function<void (int, int)>::operator()",
            ),
            ("{lambda(int, int)#2}::operator()(int)", "{lambda(int, int)#2}::operator()"),
            (
                "shop::Deep::run(int)::{lambda(int)#1}::operator()(int) const",
                "shop::Deep::run(int)::{lambda(int)#1}::operator()",
            ),
            (
                "A::f(void (*)(int)) const::{lambda()#1}::_FUN()",
                "A::f(void (*)(int)) const::{lambda()#1}::_FUN",
            ),
            ("main(int, char**)::Local::go(int)", "main(int, char**)::Local::go"),
            ("f(g(::x))", "f"),
            ("(anonymous namespace)::Key::operator<(int)", "(anonymous namespace)::Key::operator<"),
            (
                "std::operator<< <std::char_traits<char> >(std::ostream&)",
                "std::operator<< <std::char_traits<char> >",
            ),
            ("Map::operator[](int)", "Map::operator[]"),
            ("Ptr::operator->()", "Ptr::operator->"),
            ("cooperator(int)", "cooperator"),
            ("net/http.(*Client).Do", "net/http.(*Client).Do"),
            ("main.(*Größe[...]).Push", "main.(*Größe[...]).Push"),
            (
                "<&dyn core::ops::function::Fn<(), Output = i32> as F>::call_once",
                "<&dyn core::ops::function::Fn<(), Output = i32> as F>::call_once",
            ),
            (
                "<fn(u8) -> (u8, u8) as core::ops::FnOnce<(u8,)>>::call",
                "<fn(u8) -> (u8, u8) as core::ops::FnOnce<(u8,)>>::call",
            ),
            ("std::sys::fs::File::open::hb90e1c1c787080f0", "std::sys::fs::File::open"),
            (
                "_$LT$std..fs..ReadDir$u20$as$u20$core..iter..Iterator$GT$::next::hc14f1750ca79129b",
                "<std::fs::ReadDir as core::iter::Iterator>::next",
            ),
            ("rg::search::_$u7b$$u7b$closure$u7d$$u7d$::h6e849b55a66fcd85", "rg::search::{{closure}}"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("_ZN4shop4Deep5visitEi", "shop::Deep::visit"),
            ("void Orders.lambda$main$2(long, java.lang.Object)", "void Orders.lambda$main$2"),
            (
                "Lorg/mozilla/javascript/ContextFactory;.call(Lorg/mozilla/javascript/ContextAction;)Ljava/lang/Object;",
                "org/mozilla/javascript/ContextFactory:.call",
            ),
            ("Lio/n/Loop;.keys([Ljava/nio/Key;)V", "io/n/Loop:.keys"),
            // Cut by the table of symbols, at any byte.
            ("Lio/n/Loop;.keys([Ljava/nio/Key;)Lio/n", "io/n/Loop:.keys"),
            ("Lio/n/Loop;.keys([Ljava/nio/Key;)", "io/n/Loop:.keys"),
            ("Lio/n/Loop;.keys([Ljava/nio/Key;L", "io/n/Loop:.keys"),
            ("Lio/n/Loop;.keys([Ljava/ni", "io/n/Loop:.keys"),
            ("Lio/n/Loop;::keys(", "io/n/Loop:::keys"),
            ("Lorg/n/gen/file__home_", "org/n/gen/file__home_"),
            ("Linux/not/a/class", "Linux/not/a/class"),
            ("JS:~prepare node:internal/process:52:36", "JS:~prepare node:internal/process:52:36"),
            ("(garbage collector)", "(garbage collector)"),
            ("a;b\nc", "a:b c"),
            ("f(", "f"),
            ("", ""),
        ] {
            let mut out = Vec::new();
            clean_symbol(symbol.as_bytes(), &mut out);
            assert_eq!(String::from_utf8_lossy(&out), frame, "{symbol}");
        }
    }

    #[test]
    fn names_of_other_languages_are_not_cut() {
        for name in [
            // Ruby.
            "block (2 levels) in run",
            "block (3 levels) in <top (required)>",
            "rescue in block (2 levels) in Order#add",
            "Order#add(x)",
            "app/models/order.rb:12 - block (2 levels) in run",
            // V8 and what is made of its names.
            ":(idle):0",
            "(garbage collector)",
            "./dist/server.js:(anonymous):12",
            "weird name (x) 12",
            "RegExp:(foo|bar)+",
            "RegExp: (\\d+),(\\w+-\\d+)",
            "LazyCompile:*f file:///tmp/a(b)/x.js:3:1",
            // PHP, Python, Swift, .NET, Go, Haskell, Erlang.
            "include(/srv/a.php)",
            "Orders::load(id=1)",
            "worker(1)",
            "f (orders.py:12)",
            "main.Shop.add(item: Swift.Int) -> ()",
            "System.Private.CoreLib!System.Threading.Thread.Sleep(int32)",
            "main.(*Tree[...]).Push.func1",
            "Main.fib.\\(...)",
            "-f/1-fun-0-(x)",
            "app/Orders.add(Lines",
        ] {
            let mut out = Vec::new();
            clean_symbol(name.as_bytes(), &mut out);
            assert_eq!(String::from_utf8_lossy(&out), name);
        }
    }

    #[test]
    fn what_compilers_append_is_cut_with_the_arguments() {
        for (symbol, frame) in [
            ("f(int) [clone .isra.0]", "f"),
            ("f(int) (.cold)", "f"),
            ("f (.llvm.123)", "f"),
            ("f(int).part.0", "f"),
            ("operator new(unsigned long)@plt", "operator new"),
            ("f(std::vector<int, std::alloc", "f"),
            ("f(int (*)(char), ...)", "f"),
            ("A::operator std::string const&() const &", "A::operator std::string const&"),
            ("void (*g<int>(char))(int)", "void (*g<int>(char))(int)"),
            ("decltype (h(x)) f<int>(int&&)", "decltype (h(x)) f<int>"),
            ("non-virtual thunk to A::f(int)", "non-virtual thunk to A::f"),
            ("f[abi:cxx11](char const*)", "f[abi:cxx11]"),
            ("run(int)::'lambda'(int)::operator()(int) const", "run(int)::'lambda'(int)::operator()"),
            ("f(std::integral_constant<int, 3>, 'lambda'(int))", "f"),
            (
                "java.lang.Object Main$$Lambda$14/0x00007fc919003c80.get()",
                "java.lang.Object Main$$Lambda$14/0x00007fc919003c80.get",
            ),
            ("Shop.add(Ljava/lang/String;[[I)V", "Shop.add"),
        ] {
            let mut out = Vec::new();
            clean_symbol(symbol.as_bytes(), &mut out);
            assert_eq!(String::from_utf8_lossy(&out), frame, "{symbol}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_stay_as_they_are() {
        let mut out = Vec::new();
        clean_symbol(b"f\xff\xfe(int)", &mut out);
        assert_eq!(out, b"f\xff\xfe");
        // Sliced by bytes: a character may stand where a hash would begin.
        clean_symbol("größe_und_viel_länge_nochmehr".as_bytes(), &mut out);
    }
}

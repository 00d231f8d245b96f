//! Makes the page's script smaller: without blanks, and with short names.
//!
//! The script is cut into words, texts and marks, no more: nothing is parsed. A name that is declared outside of all
//! brackets gets another one everywhere; one that is declared within them gets another one in that function or member of a
//! class only, and no two names get the same there, so that every name means what it meant, in whatever scope it is. Names of
//! properties stay, and so do names that are not declared in the script, which are the browser's. Line ends stay where
//! they may end a statement that no semicolon ends.
//!
//! It is part of `build.rs`, as `bundle` is; pages keep their names and lines if `FG_READABLE_PAGE` is set while this
//! crate is compiled.

use std::collections::{BTreeMap, HashMap, HashSet};

/// Words of the language, which are no names, or may be none where they stand.
const KEYWORDS: &[&str] = &[
    "arguments",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "constructor",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "get",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "of",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "set",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// Names that the language and the browser have declared, as far as the page may use them.
const GLOBALS: &[&str] = &[
    "Array",
    "ArrayBuffer",
    "BigInt",
    "Blob",
    "Boolean",
    "CSS",
    "DOMParser",
    "DOMRect",
    "DataView",
    "Date",
    "DecompressionStream",
    "Element",
    "Error",
    "Event",
    "File",
    "FileReader",
    "Float32Array",
    "Float64Array",
    "HTMLElement",
    "Image",
    "Infinity",
    "Int16Array",
    "Int32Array",
    "Int8Array",
    "Intl",
    "JSON",
    "Map",
    "Math",
    "MessageChannel",
    "MutationObserver",
    "NaN",
    "Node",
    "Number",
    "Object",
    "Path2D",
    "Promise",
    "Proxy",
    "RangeError",
    "Reflect",
    "RegExp",
    "ResizeObserver",
    "Response",
    "Set",
    "String",
    "Symbol",
    "SyntaxError",
    "TextDecoder",
    "TextEncoder",
    "TypeError",
    "URL",
    "URLSearchParams",
    "Uint16Array",
    "Uint32Array",
    "Uint8Array",
    "Uint8ClampedArray",
    "WeakMap",
    "WeakRef",
    "WeakSet",
    "Worker",
    "XMLSerializer",
    "addEventListener",
    "atob",
    "btoa",
    "cancelAnimationFrame",
    "clearInterval",
    "clearTimeout",
    "console",
    "crypto",
    "decodeURI",
    "decodeURIComponent",
    "devicePixelRatio",
    "document",
    "encodeURI",
    "encodeURIComponent",
    "getComputedStyle",
    "getSelection",
    "globalThis",
    "history",
    "innerHeight",
    "innerWidth",
    "isFinite",
    "isNaN",
    "location",
    "matchMedia",
    "navigator",
    "parseFloat",
    "parseInt",
    "performance",
    "queueMicrotask",
    "removeEventListener",
    "requestAnimationFrame",
    "requestIdleCallback",
    "scrollTo",
    "setInterval",
    "setTimeout",
    "structuredClone",
    "window",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Word,
    Number,
    /// A text in quotes, or a piece of one in backticks.
    Text,
    Regex,
    Mark,
    LineEnd,
}

#[derive(Clone, Copy, Debug)]
struct Token<'s> {
    kind: Kind,
    text: &'s str,
}

/// The meaning of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// No word, a keyword, or the name of a property.
    Other,
    Name,
    /// `{ name }`, a property and a name.
    Both,
}

/// The marks of more than one character, the longest first.
const MARKS: &[&str] = &[
    ">>>=", "...", "===", "!==", "**=", "<<=", ">>=", ">>>", "&&=", "||=", "??=", "=>", "==", "!=", "<=",
    ">=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "++", "--", "&&", "||", "??", "?.", "**", "<<",
    ">>",
];

/// The script, smaller.
pub(super) fn minify(script: &str) -> String {
    let tokens = tokens(script);
    let uses = uses(&tokens);
    let parts = parts(&tokens);
    let names = short_names(&tokens, &uses, &parts);
    let mut out = String::with_capacity(script.len());
    let mut previous: Option<Token<'_>> = None;
    for (at, token) in tokens.iter().enumerate() {
        if token.kind == Kind::LineEnd {
            let next = tokens[at + 1..].iter().find(|next| next.kind != Kind::LineEnd);
            if ends_statement(previous, next) {
                out.push('\n');
                previous = Some(*token);
            }
            continue;
        }
        let short = names.get(token.text, parts[at]).filter(|_| uses[at] != Use::Other);
        let both = short.filter(|_| uses[at] == Use::Both);
        if needs_space(previous, *token) {
            out.push(' ');
        }
        if both.is_some() {
            out.push_str(token.text);
            out.push(':');
        }
        // To a script that works they are the same.
        let text = if token.text == "const" && uses[at] == Use::Other { "let" } else { token.text };
        out.push_str(short.map_or(text, String::as_str));
        previous = Some(*token);
    }
    out
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '#')
}

fn tokens(script: &str) -> Vec<Token<'_>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    // True for a brace in a text in backticks.
    let mut braces: Vec<bool> = Vec::new();
    let mut rest = script;
    while let Some(first) = rest.chars().next() {
        let (kind, length) = match first {
            '\n' => (Kind::LineEnd, 1),
            _ if first.is_whitespace() => {
                rest = &rest[first.len_utf8()..];
                continue;
            }
            '0'..='9' => (Kind::Number, number_length(rest)),
            '"' | '\'' => (Kind::Text, text_end(&rest[1..], |rest| rest.starts_with(first).then_some(1)) + 1),
            '`' => {
                let length = 1 + template_end(&rest[1..]);
                if rest[..length].ends_with("${") {
                    braces.push(true);
                }
                (Kind::Text, length)
            }
            '}' if braces.last() == Some(&true) => {
                let length = 1 + template_end(&rest[1..]);
                if !rest[..length].ends_with("${") {
                    braces.pop();
                }
                (Kind::Text, length)
            }
            '/' if rest.starts_with("//") => {
                rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
                continue;
            }
            '/' if rest.starts_with("/*") => {
                rest = &rest[rest.find("*/").map_or(rest.len(), |at| at + 2)..];
                continue;
            }
            '/' if regex_may_follow(&tokens) => (Kind::Regex, regex(rest)),
            _ if is_word(first) => (Kind::Word, rest.find(|c| !is_word(c)).unwrap_or(rest.len())),
            _ => {
                let long = MARKS.iter().find(|mark| rest.starts_with(**mark));
                (Kind::Mark, long.map_or(first.len_utf8(), |mark| mark.len()))
            }
        };
        match &rest[..length] {
            "{" => braces.push(false),
            "}" => _ = braces.pop(),
            _ => {}
        }
        tokens.push(Token { kind, text: &rest[..length] });
        rest = &rest[length..];
    }
    tokens
}

fn number_length(text: &str) -> usize {
    let mut length = 0;
    let mut exponent = false;
    for c in text.chars() {
        let goes_on = is_word(c) || c == '.' || (exponent && matches!(c, '+' | '-'));
        if !goes_on {
            break;
        }
        exponent = matches!(c, 'e' | 'E') && !text.starts_with("0x");
        length += c.len_utf8();
    }
    length
}

/// The length of a text up to, and with, what `end` finds; behind a backslash it is not asked.
fn text_end(text: &str, end: impl Fn(&str) -> Option<usize>) -> usize {
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if let Some(length) = end(&text[at..]) {
            return at + length;
        }
        at += c.len_utf8();
        if c == '\\' {
            at += text[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    at
}

fn template_end(text: &str) -> usize {
    text_end(text, |rest| match rest {
        _ if rest.starts_with('`') => Some(1),
        _ if rest.starts_with("${") => Some(2),
        _ => None,
    })
}

fn regex(text: &str) -> usize {
    let in_class = std::cell::Cell::new(false);
    let body = 1 + text_end(&text[1..], |rest| {
        match rest.as_bytes()[0] {
            b'[' => in_class.set(true),
            b']' => in_class.set(false),
            b'/' if !in_class.get() => return Some(1),
            _ => {}
        }
        None
    });
    body + text[body..].find(|c: char| !c.is_ascii_lowercase()).unwrap_or(0)
}

fn regex_may_follow(tokens: &[Token<'_>]) -> bool {
    let Some(last) = tokens.iter().rfind(|token| token.kind != Kind::LineEnd) else { return true };
    match last.kind {
        Kind::Mark => !matches!(last.text, ")" | "]" | "}" | "++" | "--"),
        Kind::Word => matches!(last.text, "return" | "typeof" | "case" | "in" | "of" | "await" | "yield"),
        Kind::Text => last.text.ends_with("${"),
        _ => false,
    }
}

/// The kind of a pair of brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bracket {
    Block,
    /// An object, or a pattern that takes one apart.
    Object,
    Class,
    Other,
}

/// The use of each token.
fn uses(tokens: &[Token<'_>]) -> Vec<Use> {
    let mut uses = vec![Use::Other; tokens.len()];
    let mut open: Vec<Bracket> = Vec::new();
    let mut of_class = false;
    // The depth of a `case` whose colon is still to come; the token that was such a colon.
    let mut case: Option<usize> = None;
    let mut colon = usize::MAX;
    let (mut previous, mut earlier) = (usize::MAX, usize::MAX);
    for (at, token) in tokens.iter().enumerate() {
        let text_at = |at: usize| tokens.get(at).map_or("", |token| token.text);
        // `yield* f()` calls; `* f()` of a class or an object is a method.
        let yields = text_at(earlier) == "yield" && text_at(previous) == "*";
        let before = if yields { "yield" } else { text_at(previous) };
        let text = token.text;
        match token.kind {
            Kind::LineEnd => continue,
            Kind::Text => {
                if text.starts_with('}') {
                    open.pop();
                }
                if text.ends_with("${") && (text.starts_with('`') || text.starts_with('}')) {
                    open.push(Bracket::Other);
                }
            }
            Kind::Mark => match text {
                "{" if std::mem::take(&mut of_class) => open.push(Bracket::Class),
                "{" => open.push(brace(tokens.get(previous), previous == colon)),
                "(" | "[" => open.push(Bracket::Other),
                "}" | ")" | "]" => _ = open.pop(),
                ":" if case == Some(open.len()) => {
                    case = None;
                    colon = at;
                }
                _ => {}
            },
            // A private name of a class.
            Kind::Word if text.starts_with('#') => uses[at] = Use::Name,
            Kind::Word if matches!(before, "." | "?.") => {}
            // `{ class: "x" }`
            Kind::Word if open.last() == Some(&Bracket::Object) && KEYWORDS.contains(&text) => {}
            Kind::Word if KEYWORDS.contains(&text) => match text {
                "class" => of_class = true,
                "case" | "default" => case = Some(open.len()),
                _ => {}
            },
            Kind::Word => {
                let next = tokens[at + 1..].iter().find(|token| token.kind != Kind::LineEnd);
                let next = next.map_or("", |token| token.text);
                let ended = previous.checked_add(1).is_none_or(|behind| behind < at);
                uses[at] = word(open.last(), (before, ended), next);
            }
            Kind::Number | Kind::Regex => {}
        }
        (earlier, previous) = (previous, at);
    }
    uses
}

/// The kind of a brace behind a token.
fn brace(before: Option<&Token<'_>>, behind_case: bool) -> Bracket {
    let Some(before) = before else { return Bracket::Block };
    let is_block = match before.kind {
        Kind::Mark => behind_case || matches!(before.text, ";" | "{" | "}" | ")" | "=>"),
        Kind::Word => matches!(before.text, "else" | "try" | "finally" | "do" | "catch"),
        _ => false,
    };
    if is_block { Bracket::Block } else { Bracket::Object }
}

/// The use of a word that is no keyword. `before` is the token before it, and true if it is in another line.
fn word(inside: Option<&Bracket>, (before, ended): (&str, bool), next: &str) -> Use {
    let modified = matches!(before, "get" | "set" | "async" | "static" | "*");
    match inside {
        Some(Bracket::Object) => {
            let is_key = matches!(before, "{" | ",") || (modified && next == "(");
            match next {
                ":" | "(" if is_key => Use::Other,
                "," | "}" | "=" if is_key => Use::Both,
                _ => Use::Name,
            }
        }
        // A method or a field, at the beginning of a line.
        Some(Bracket::Class) if ended || modified || matches!(before, "{" | "}" | ";") => Use::Other,
        Some(Bracket::Block) | None if next == ":" && (ended || matches!(before, ";" | "{" | "}")) => {
            Use::Other
        }
        _ if matches!(before, "break" | "continue") => Use::Other,
        _ => Use::Name,
    }
}

/// The part of the script that each token is in: a part begins with each declaration outside of all brackets, and with each
/// member of a class.
fn parts(tokens: &[Token<'_>]) -> Vec<usize> {
    let (mut depth, mut part) = (0, 0);
    let (mut begins, mut in_class, mut last) = (true, false, ";");
    let mut parts = Vec::with_capacity(tokens.len());
    for token in tokens {
        if depth == 0 && begins && matches!(token.text, "async" | "class" | "const" | "function" | "let") {
            part += 1;
            in_class = token.text == "class";
        } else if depth == 1 && begins && in_class && matches!(last, "{" | "}" | ";") {
            part += 1;
        }
        parts.push(part);
        begins = token.kind == Kind::LineEnd;
        last = if begins { last } else { token.text };
        depth += nesting(*token);
    }
    parts
}

/// Short names: of what all of the script knows, and of what one part of it does.
struct Names<'s> {
    shared: HashMap<&'s str, String>,
    own: HashMap<usize, HashMap<&'s str, String>>,
}

impl Names<'_> {
    fn get(&self, name: &str, part: usize) -> Option<&String> {
        self.shared.get(name).or_else(|| self.own.get(&part)?.get(name))
    }
}

/// The short names: the most frequent name of a part has the shortest, and other parts use it again, which packs better
/// than a name for each.
fn short_names<'s>(tokens: &[Token<'s>], uses: &[Use], parts: &[usize]) -> Names<'s> {
    let declared = declared(tokens, uses, parts);
    let mut shared: HashMap<&str, usize> = HashMap::new();
    let mut privates: HashMap<&str, usize> = HashMap::new();
    let mut own: BTreeMap<usize, HashMap<&str, usize>> = BTreeMap::new();
    let mut taken: HashSet<&str> = KEYWORDS.iter().chain(GLOBALS).copied().collect();
    for (at, token) in tokens.iter().enumerate().filter(|(at, _)| uses[*at] != Use::Other) {
        let (text, part) = (token.text, parts[at]);
        let counts = if GLOBALS.contains(&text) {
            None
        } else if text.starts_with('#') {
            Some(&mut privates)
        } else if declared.contains(&(0, text)) {
            Some(&mut shared)
        } else if declared.contains(&(part, text)) {
            Some(own.entry(part).or_default())
        } else {
            None
        };
        match counts {
            Some(counts) => *counts.entry(text).or_default() += 1 + usize::from(uses[at] == Use::Name),
            None => _ = taken.insert(text),
        }
    }
    let order = |counts: HashMap<&'s str, usize>| {
        let mut order: Vec<(&str, usize)> = counts.into_iter().collect();
        order.sort_unstable_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
        order.into_iter().map(|(name, _)| name)
    };
    let most = own.values().map(HashMap::len).max().unwrap_or(0);
    let mut free = (0..).map(nth_name).filter(|short: &String| !taken.contains(&short[..]));
    let shorts: Vec<String> = free.by_ref().take(most).collect();
    let privates = order(privates).zip((0..).map(|number| format!("#{}", nth_name(number))));
    Names {
        shared: order(shared).zip(free).chain(privates).collect(),
        own: own
            .into_iter()
            .map(|(part, counts)| (part, order(counts).zip(shorts.iter().cloned()).collect()))
            .collect(),
    }
}

/// a, b, … Z, aa, ab, …
fn nth_name(mut number: u32) -> String {
    let letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut name = Vec::new();
    loop {
        name.push(letters[number as usize % letters.len()]);
        match number / letters.len() as u32 {
            0 => break,
            more => number = more - 1,
        }
    }
    name.reverse();
    name.into_iter().map(char::from).collect()
}

/// The names that the script declares, as functions, classes, parameters, constants and variables, each with its part; with
/// 0 those that all parts know. One that is overlooked keeps its name.
fn declared<'s>(tokens: &[Token<'s>], uses: &[Use], parts: &[usize]) -> HashSet<(usize, &'s str)> {
    let code: Vec<(usize, Token<'s>)> =
        tokens.iter().copied().enumerate().filter(|(_, token)| token.kind != Kind::LineEnd).collect();
    let text = |at: usize| code.get(at).map_or("", |(_, token)| token.text);
    let mut names = HashSet::new();
    let mut depth = 0;
    for at in 0..code.len() {
        let part = if depth == 0 { 0 } else { parts[code[at].0] };
        depth += nesting(code[at].1);
        let mut take = |from: usize, to: usize| {
            let named = code[from..to].iter().filter(|(at, _)| uses[*at] != Use::Other);
            names.extend(named.map(|(_, token)| (part, token.text)));
        };
        match text(at) {
            "function" | "class" => take(at + 1, (at + 3).min(code.len())),
            "const" | "let" | "var" => {
                let mut from = at + 1;
                loop {
                    let to = if matches!(text(from), "{" | "[") { closing(&code, from) } else { from };
                    take(from, (to + 1).min(code.len()));
                    // Another name of the same declaration stands behind a comma.
                    let mut next = to + 1;
                    while !matches!(text(next), "," | ";" | "" | "of" | "in" | ")") {
                        next =
                            if matches!(text(next), "{" | "[" | "(") { closing(&code, next) } else { next }
                                + 1;
                    }
                    if text(next) != "," {
                        break;
                    }
                    from = next + 1;
                }
            }
            "(" => {
                let end = closing(&code, at);
                let is_parameters = matches!(text(end + 1), "=>" | "{")
                    && !matches!(text(at.wrapping_sub(1)), "if" | "for" | "while" | "switch");
                if is_parameters {
                    let named =
                        code[at..end.min(code.len())].iter().filter(|(at, _)| uses[*at] != Use::Other);
                    names.extend(named.map(|(_, token)| (parts[code[at].0], token.text)));
                }
            }
            "=>" if at > 0 && text(at - 1) != ")" => take(at - 1, at),
            _ => {}
        }
    }
    names
}

/// The bracket that closes the one at a place.
fn closing(code: &[(usize, Token<'_>)], open: usize) -> usize {
    let mut depth = 0;
    for (at, (_, token)) in code.iter().enumerate().skip(open) {
        depth += nesting(*token);
        if depth <= 0 {
            return at;
        }
    }
    code.len()
}

/// 1 for what opens a pair of brackets, -1 for what closes one.
fn nesting(token: Token<'_>) -> i32 {
    let (opens, closes) = match token.kind {
        Kind::Mark => (matches!(token.text, "(" | "[" | "{"), matches!(token.text, ")" | "]" | "}")),
        Kind::Text => {
            (token.text.ends_with("${") && token.text.starts_with(['`', '}']), token.text.starts_with('}'))
        }
        _ => (false, false),
    };
    i32::from(opens) - i32::from(closes)
}

fn needs_space(previous: Option<Token<'_>>, token: Token<'_>) -> bool {
    let Some(previous) = previous.filter(|previous| previous.kind != Kind::LineEnd) else { return false };
    let (Some(last), Some(first)) = (previous.text.chars().last(), token.text.chars().next()) else {
        return false;
    };
    let are_words = is_word(last) && is_word(first);
    let would_join = matches!((last, first), ('+', '+') | ('-', '-') | ('/', '/') | ('/', '*'));
    let is_number = previous.kind == Kind::Number && first == '.';
    are_words || would_join || is_number || (previous.kind == Kind::Regex && is_word(first))
}

/// Returns true if a line end between two tokens may end a statement.
fn ends_statement(previous: Option<Token<'_>>, next: Option<&Token<'_>>) -> bool {
    let (Some(previous), Some(next)) = (previous, next) else { return false };
    let goes_on = previous.kind == Kind::LineEnd
        || (previous.kind == Kind::Mark && !matches!(previous.text, ")" | "]" | "}" | "++" | "--"))
        || (previous.kind == Kind::Text && previous.text.ends_with("${"));
    let joins = next.kind == Kind::Mark
        && !matches!(next.text, "{" | "(" | "[" | "++" | "--" | "+" | "-" | "!" | "~" | "/" | "...");
    !goes_on && !joins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_go_and_line_ends_stay_between_statements() {
        let script = "if (1 < 2) {\n  f(1, [ 2 ])\n    .g();\n} else {\n  return /a b/g;\n}\nx = 1 + +2 - -3;\n1 .a; // z\n";
        assert_eq!(minify(script), "if(1<2){f(1,[2]).g();}else{return/a b/g;}\nx=1+ +2- -3;1 .a;");
    }

    #[test]
    fn generators_are_called_by_their_short_names() {
        let script = "function* steps(size) {\nyield;\nconst { n } = { n: yield* steps(size), *each() { yield* steps(n); } };\n}";
        assert_eq!(minify(script), "function*c(a){yield;let{n:b}={n:yield*c(a),*each(){yield*c(b);}};}");
    }

    #[test]
    fn names_are_short_and_properties_stay() {
        let script = "function size(element, { width, height: tall = 2 }) {\n\
                      const { left, ...others } = element.size;\n\
                      return { width, tall: tall, left, size() { return others; }, [tall]: width ? left : tall };\n}\n\
                      size(document, Math.max);";
        // In the order of their number, then of the alphabet.
        assert_eq!(
            minify(script),
            "function f(b,{width:e,height:a=2}){let{left:c,...d}=b.size;\
             return{width:e,tall:a,left:c,size(){return d;},[a]:e?c:a};}\nf(document,Math.max);"
        );
    }

    #[test]
    fn parts_use_short_names_again() {
        let script = "const shared = 1;\nfunction sum(left, right) { return left + right + shared; }\nclass Sums {\n  #all = [];\n  \
                      add(one) { this.#all.push(one); }\n  size() { const { all } = { all: this.#all };\n    return all.length; }\n}\n\
                      const [first, last] = [sum(1, (other) => other), new Sums()];\nfirst(last);";
        assert_eq!(
            minify(script),
            "let f=1;function g(a,b){return a+b+f;}\nclass c{#a=[];add(a){this.#a.push(a);}\nsize(){let{all:a}={all:this.#a};return a.length;}}\n\
             let[d,e]=[g(1,(a)=>a),new c()];d(e);"
        );
    }

    #[test]
    fn names_of_the_browser_stay() {
        assert_eq!(minify("const name = document.name;\nlost(name);"), "let a=document.name;lost(a);");
        assert_eq!(minify("const f = (history) => history.go(f);"), "let a=(history)=>history.go(a);");
        // A short name is none that somebody else has.
        assert_eq!(minify("let value = a;\nb(value);"), "let c=a;b(c);");
    }

    #[test]
    fn classes_keep_methods_and_fields() {
        let script = "class Point {\n  #place = start;\n  static zero = 0;\n  depth = 1;\n  constructor(depth) { this.depth = depth; }\n  \
                      get size() { return this.#place; }\n  size2(size) { return size; }\n}\nconst start = new Point(1);";
        assert_eq!(
            minify(script),
            "class b{#a=c;static zero=0;depth=1;constructor(a){this.depth=a;}\nget size(){return this.#a;}\n\
             size2(a){return a;}}\nlet c=new b(1);"
        );
    }

    #[test]
    fn known_wrong_keywords_may_name_properties() {
        assert_eq!(
            minify(
                "f({ class: 1, default: 2 });\nconst x = { style: class_of(3), x };\ng({ a: x, x: 1, x });"
            ),
            "f({class:1,default:2});let a={style:class_of(3),x:a};g({a:a,x:1,x:a});"
        );
    }

    #[test]
    fn texts_and_expressions_are_untouched() {
        let script = "const word = 1;\nconst text = `word ${word + `${ { word } }`} word`;\nf('word \\' word', /[/]word/g.test(word), word / 2 / 3);";
        assert_eq!(
            minify(script),
            "let a=1;let b=`word ${a+`${{word:a}}`} word`;f('word \\' word',/[/]word/g.test(a),a/2/3);"
        );
    }

    #[test]
    fn labels_and_cases_are_no_properties() {
        let script = "for (const step of all) {\n  switch (step) {\n    case step: {\n      break;\n    }\n    default: { const other = step; g({ other }); }\n  }\n}";
        assert_eq!(
            minify(script),
            "for(let a of all){switch(a){case a:{break;}\ndefault:{let b=a;g({other:b});}}}"
        );
    }

    #[test]
    fn there_is_a_name_for_every_number() {
        assert_eq!(
            [0, 25, 26, 51, 52, 53, 2755, 2756].map(nth_name),
            ["a", "z", "A", "Z", "aa", "ab", "ZZ", "aaa"]
        );
    }

    /// The browser's names that the page uses are those that its linter knows.
    #[test]
    fn the_linters_globals_are_known() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/eslint.config.js");
        // The tests in the browser are no part of the package.
        let Ok(config) = std::fs::read_to_string(path) else { return };
        let list = config.split_once("const platform = [").unwrap().1.split_once(']').unwrap().0;
        let names: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
        assert!(names.len() > 10, "{names:?}");
        for name in names {
            assert!(GLOBALS.contains(&name), "{name}");
        }
    }
}

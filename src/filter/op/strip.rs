//! `--strip`: take from names what differs between builds, so that they compare.

use crate::filter::annotation;
use crate::filter::frames::NewNames;
use crate::filter::operation::{Example, Operation, OperationGroup, Rewrite, Stage};
use crate::folded::{FrameId, StackTable};

pub(in crate::filter) const STRIP: Operation = Operation {
    name: "strip",
    value: Some("PARTS"),
    group: OperationGroup::Names,
    about: "Tidy names: hash, hex, offset, line, args, …",
    details: "\
hash: Rust's `::h0123456789abcdef` and `[0123456789abcdef]`, `.llvm.123`, `.part.0`;
hex: `0x7f12` becomes `0x...`;
offset: `+0x1f` at the end;
line: `:12` or `:12:5` at the end, also in `f (file.py:12)`;
args: `f(int, char) const` becomes `f`;
templates: `Vec<T>::push` and `Vec::<T>::push` become `Vec::push`;
annotations: `_[k]`, `_[i]`, `_[j]`, `_[w]` at the end.",
    examples: &[
        Example {
            arguments: &["--strip", "hash"],
            input: "a::f::h0123456789abcdef 1\na::f::h0123456789abcdef_[i] 2\na[0123456789abcdef]::f 4\na::f.llvm.123 8\na::f.part.0 16\na::h01 32\n",
            output: "a::f 29\na::f_[i] 2\na::h01 32\n",
        },
        Example {
            arguments: &["--strip", "hex,offset"],
            input: "f+0x1f 1\nf+0x20/0x40_[k] 2\n0x7F12ab (libc.so) 4\nf+1 8\n0x (x) 16\n",
            output: "0x (x) 16\n0x... (libc.so) 4\nf 1\nf+1 8\nf_[k] 2\n",
        },
        Example {
            arguments: &["--strip", "line"],
            input: "f (a.py:12) 1\nf (a.py:13) 2\nx.py:f:3 4\ng file.js:10:5_[j] 8\nstd::f 16\nT0:7;<string>:f:2 32\n",
            output: "T0:7;<string>:f 32\nf (a.py) 3\ng file.js_[j] 8\nstd::f 16\nx.py:f 4\n",
        },
        Example {
            arguments: &["--strip", "args"],
            input: "a::f(int, b(*)(c)) const 1\n(anonymous namespace)::f 2\nA::operator()(int) 4\nmain.(*T).Get 8\nmain.(*T).Get(...) 16\nfib (orders.py:4) 32\nf(int)_[i] 64\nA::operator() 128\nvoid f(a (anonymous namespace)) 256\n",
            output: "(anonymous namespace)::f 2\nA::operator() 132\na::f 1\nf_[i] 64\nfib (orders.py:4) 32\nmain.(*T).Get 24\nvoid f 256\n",
        },
        Example {
            arguments: &["--strip", "templates"],
            input: "std::vector<int, std::allocator<int> >::at 1\nVec::<T>::new 2\n<Vec<T> as Into<U>>::into 4\nfoo<a>::operator< <b> 8\na::operator<<<int> 16\nf<A->B> 32\nFoo.<init> 64\n<module> (x.py) 128\nmap<int 256\n",
            output: "<Vec as Into>::into 4\n<module> (x.py) 128\nFoo.<init> 64\nVec::new 2\na::operator<< 16\nf 32\nfoo::operator< 8\nmap<int 256\nstd::vector::at 1\n",
        },
        Example {
            arguments: &["--strip", "annotations"],
            input: "f_[k] 1\nf_[i]_[j] 2\nf 4\nf_[x] 8\n",
            output: "f 7\nf_[x] 8\n",
        },
    ],
    build,
};

/// The parts that can be taken from a name, in the order in which they are tried.
const PARTS: &[(&str, Strip)] = &[
    ("hash", hash),
    ("hex", hex),
    ("offset", offset),
    ("line", line),
    ("args", arguments),
    ("templates", templates),
];

/// Changes a name that has no annotation.
type Strip = fn(&mut Vec<u8>);

fn build(value: &str, _: crate::filter::operation::OpOptions) -> crate::Result<Stage> {
    let mut strips = Vec::new();
    let mut annotations = false;
    for part in value.split(',') {
        match PARTS.iter().find(|(name, _)| *name == part) {
            Some((_, strip)) => strips.push(*strip),
            None if part == "annotations" => annotations = true,
            None => {
                let known: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
                let known = known.join(", ");
                return Err(crate::Error::setting(format!("{part:?} is none of {known} and annotations")));
            }
        }
    }
    Ok(Stage::Rewrite(Box::new(StripNames { strips, annotations, names: NewNames::default() })))
}

/// Longer names stay as they are: taking thousands of things from them one by one takes time. The
/// longest in a build of LLVM has 16 kB.
const LONGEST_NAME: usize = 32 * 1024;

struct StripNames {
    strips: Vec<Strip>,
    annotations: bool,
    names: NewNames,
}

impl Rewrite for StripNames {
    fn rewrite(&mut self, stack: &mut Vec<FrameId>, names: &mut StackTable) {
        let StripNames { strips, annotations, names: new_names } = self;
        new_names.apply(stack, names, |name, new| {
            if name.len() > LONGEST_NAME {
                return false;
            }
            let mut marks = Vec::new();
            new.extend_from_slice(name);
            // Stripping one part may uncover another.
            loop {
                let before = new.len();
                let (bare, found) = annotation::split(new);
                marks.splice(..0, found.iter().copied());
                new.truncate(bare.len());
                let bare = new.clone();
                strips.iter().for_each(|strip| strip(new));
                if *new == bare && new.len() == before {
                    break;
                }
            }
            if !*annotations {
                new.extend_from_slice(&marks);
            }
            true
        });
    }

    fn forget(&mut self) {
        self.names.forget();
    }

    fn remark(&self) -> Option<String> {
        (!self.names.has_changed()).then(|| "changed no name".to_owned())
    }
}

fn is_hash(text: &[u8]) -> bool {
    text.len() == 16 && text.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn hash(name: &mut Vec<u8>) {
    // legacy Rust: a::f::h0123456789abcdef
    if let Some(at) = name.len().checked_sub(19).filter(|&at| at > 0)
        && name[at..].starts_with(b"::h")
        && is_hash(&name[at + 3..])
    {
        name.truncate(at);
    }
    // Rust v0: a[0123456789abcdef]::f
    let mut from = 0;
    while let Some(open) = memchr::memchr(b'[', &name[from..]).map(|at| from + at) {
        if open > 0 && name.get(open + 17) == Some(&b']') && is_hash(&name[open + 1..open + 17]) {
            name.drain(open..open + 18);
        }
        from = open + 1;
    }
    // Compilers: f.llvm.123, f.part.0, f.constprop.0
    while let Some(dot) = memchr::memrchr(b'.', name)
        && dot + 1 < name.len()
        && name[dot + 1..].iter().all(u8::is_ascii_digit)
        && let Some(word) = memchr::memrchr(b'.', &name[..dot])
        && word > 0
        && matches!(&name[word + 1..dot], b"llvm" | b"part" | b"constprop" | b"isra" | b"cold" | b"lto_priv")
    {
        name.truncate(word);
    }
}

fn hex(name: &mut Vec<u8>) {
    let mut from = 0;
    while let Some(at) = memchr::memmem::find(&name[from..], b"0x").map(|at| from + at) {
        let digits = name[at + 2..].iter().take_while(|b| b.is_ascii_hexdigit()).count();
        from = at + 2;
        // Not in the middle of a word: `f0x1` is a name.
        let word = at > 0 && (name[at - 1].is_ascii_alphanumeric() || name[at - 1] == b'_');
        if digits > 0 && !word {
            name.splice(from..from + digits, *b"...");
        }
    }
}

fn offset(name: &mut Vec<u8>) {
    let hex = |text: &[u8]| {
        let digits = text.strip_prefix(b"0x");
        digits.is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit))
    };
    let Some(plus) = memchr::memrchr(b'+', name).filter(|&plus| plus > 0) else { return };
    // The kernel's `f+0x12/0x40` has the size of the function too.
    let mut numbers = name[plus + 1..].split(|&b| b == b'/');
    let (offset, size) = (numbers.next().unwrap_or_default(), numbers.next());
    let is_offset = hex(offset) || offset == b"0x...";
    if is_offset && size.is_none_or(|size| hex(size) || size == b"0x...") && numbers.next().is_none() {
        name.truncate(plus);
    }
}

fn line(name: &mut Vec<u8>) {
    // `T0:16668` and `kworker/0:1` are threads; a place in a file has a `.` or brackets before it.
    if !name.iter().any(|b| matches!(b, b'.' | b'(' | b'>')) {
        return;
    }
    let closing = usize::from(name.last() == Some(&b')'));
    let mut end = name.len() - closing;
    let full = end;
    // `:12`, or `:12:5` with a column.
    for _ in 0..2 {
        let digits = name[..end].iter().rev().take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 || end < digits + 2 || name[end - digits - 1] != b':' || name[end - digits - 2] == b':'
        {
            break;
        }
        end -= digits + 1;
    }
    name.drain(end..full);
}

/// Cuts argument lists at the end: balanced brackets right behind a name.
fn arguments(name: &mut Vec<u8>) {
    while let Some(end) = before_arguments(name) {
        name.truncate(end);
    }
}

fn before_arguments(name: &[u8]) -> Option<usize> {
    let mut text = name;
    for word in [&b" const"[..], b" volatile", b" noexcept", b" &", b" &&", b"&"] {
        text = text.strip_suffix(word).unwrap_or(text);
    }
    if text.last() != Some(&b')') {
        return None;
    }
    let mut depth = 0usize;
    for at in (0..text.len()).rev() {
        match text[at] {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let function = &text[..at];
            let named = match function.last() {
                Some(b'_' | b'>' | b']' | b')' | b'}') => true,
                // Operators have names of their own.
                Some(
                    b'=' | b'<' | b'+' | b'-' | b'*' | b'/' | b'%' | b'^' | b'&' | b'|' | b'~' | b'!' | b',',
                ) => memchr::memmem::rfind(function, b"operator").is_some(),
                Some(&last) => last.is_ascii_alphanumeric() || last >= 0x80,
                None => false,
            };
            return (named && !function.ends_with(b"operator")).then_some(at);
        }
    }
    None
}

/// Cuts `<…>` behind a name, and the `::` before it.
fn templates(name: &mut Vec<u8>) {
    let text = std::mem::take(name);
    let ends = brackets(&text);
    let closing = |at: usize| ends.get(at).copied().flatten();
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'<' {
            name.push(text[at]);
            at += 1;
            continue;
        }
        let operator = name.ends_with(b"operator");
        if operator {
            // operator<, operator<<, operator<=, operator<=>, operator<<=
            let rest = &text[at..];
            let sign = [&b"<=>"[..], b"<<=", b"<<", b"<="].into_iter().find(|sign| rest.starts_with(sign));
            // In `operator<<int>` the second bracket opens the arguments.
            let sign =
                sign.filter(|sign| *sign != b"<<" || closing(at + 1).is_none() || rest.starts_with(b"<<<"));
            let sign = sign.unwrap_or(b"<");
            name.extend_from_slice(sign);
            at += sign.len();
            // Arguments of the operator itself follow it, after a space if need be.
            let space = usize::from(text.get(at) == Some(&b' ') && text.get(at + 1) == Some(&b'<'));
            if text.get(at + space) == Some(&b'<')
                && let Some(end) = closing(at + space)
            {
                at = end;
            }
            continue;
        }
        let behind = name.strip_suffix(b"::").unwrap_or(name);
        let named = behind.last().is_some_and(|&b| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80);
        match closing(at) {
            Some(end) if named => {
                name.truncate(behind.len());
                at = end;
            }
            _ => {
                name.push(b'<');
                at += 1;
            }
        }
    }
}

/// For each `<` that is closed, where what follows it begins. Arrows do not close, nor does what
/// stands in round brackets that were opened later.
fn brackets(text: &[u8]) -> Vec<Option<usize>> {
    let mut ends = vec![None; text.len()];
    let mut open: Vec<usize> = Vec::new();
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b'(' | b'<' => open.push(at),
            b')' => while open.pop().is_some_and(|open| text[open] == b'<') {},
            b'>' if at > 0 && !matches!(text[at - 1], b'-' | b'=') => {
                if let Some(&last) = open.last()
                    && text[last] == b'<'
                {
                    ends[last] = Some(at + 1);
                    open.pop();
                }
            }
            _ => {}
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and what is left of them.
    fn leaves(strip: fn(&mut Vec<u8>), names: &[(&str, &str)]) {
        for (name, left) in names {
            let mut stripped = name.as_bytes().to_vec();
            strip(&mut stripped);
            assert_eq!(String::from_utf8_lossy(&stripped), *left, "{name}");
        }
    }

    #[test]
    fn addresses_are_stripped_where_a_word_begins() {
        leaves(
            hex,
            &[
                ("0x1f", "0x..."),
                ("f(0x1f, 0X2)", "f(0x..., 0X2)"),
                ("f0x1 _0x1 g+0x10", "f0x1 _0x1 g+0x..."),
                ("a 0x b", "a 0x b"),
                ("0x10x2 0x3", "0x...x2 0x..."),
            ],
        );
    }

    #[test]
    fn hashes_are_stripped_behind_a_name() {
        leaves(
            hash,
            &[
                ("f.llvm.123", "f"),
                ("f.part.0.isra.1", "f"),
                ("f.lower.1", "f.lower.1"),
                ("f.part.x", "f.part.x"),
                ("f.part.", "f.part."),
                ("a::f::h0123456789abcdef", "a::f"),
                ("a[0123456789abcdef]::f", "a::f"),
                // Nothing would be left.
                (".llvm.123", ".llvm.123"),
                ("::h0123456789abcdef", "::h0123456789abcdef"),
                ("[0123456789abcdef]", "[0123456789abcdef]"),
            ],
        );
    }

    #[test]
    fn lines_and_columns_stand_behind_a_file() {
        leaves(
            line,
            &[
                ("a.c:12", "a.c"),
                ("a.c:12345", "a.c"),
                ("f (a.c:12:5)", "f (a.c)"),
                ("a.c:12:5:7", "a.c:12"),
                (".:12", "."),
                (".:12:5", "."),
                ("a.b::12", "a.b::12"),
                ("(5)", "(5)"),
                ("T0:16668", "T0:16668"),
            ],
        );
    }

    #[test]
    fn offsets_are_hexadecimal_numbers() {
        leaves(
            offset,
            &[
                ("f+0x1a", "f"),
                ("f+0x12/0x40", "f"),
                ("f+0x", "f+0x"),
                ("f+0xzz", "f+0xzz"),
                ("f+0x1/0xzz", "f+0x1/0xzz"),
                ("f+12", "f+12"),
                ("+0x1", "+0x1"),
            ],
        );
    }
}

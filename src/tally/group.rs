//! The kinds of rows of a table: functions, stacks, modules or threads.

use std::borrow::Cow;

/// The kind of rows of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowKind {
    /// Frames of one name.
    #[default]
    Function,
    /// Whole stacks.
    Stack,
    /// Frames of one library, file, crate or package, as far as names tell.
    Module,
    /// Stacks of one process and thread, as far as their first frames tell.
    Thread,
}

/// Every kind of rows, by its name on the command line.
pub const GROUPS: &[(&str, RowKind)] = &[
    ("function", RowKind::Function),
    ("stack", RowKind::Stack),
    ("module", RowKind::Module),
    ("thread", RowKind::Thread),
];

/// The module a frame's name tells of: the file or library in parentheses or brackets, what
/// stands before the first `::` or a backtick, a Java package, or `[kernel]` for `_[k]`.
pub fn module_of(name: &[u8]) -> Cow<'_, [u8]> {
    if name.ends_with(b"_[k]") {
        return Cow::Borrowed(b"[kernel]");
    }
    let name =
        [&b"_[i]"[..], b"_[j]", b"_[w]"].iter().find_map(|mark| name.strip_suffix(*mark)).unwrap_or(name);
    if name.starts_with(b"[") && name.ends_with(b"]") {
        return without_offset(name).map_or(Cow::Borrowed(name), Cow::Owned);
    }
    if let Some(file) = in_parentheses(name) {
        return Cow::Borrowed(file);
    }
    if let Some(at) = memchr::memchr(b'`', name).filter(|at| *at > 0) {
        return Cow::Borrowed(&name[..at]);
    }
    let mut path = name;
    while let [b'<' | b'&' | b'*', rest @ ..] = path {
        path = rest;
        for word in [&b"mut "[..], b"dyn ", b"const "] {
            path = path.strip_prefix(word).unwrap_or(path);
        }
    }
    if let Some(at) = memchr::memmem::find(path, b"::").filter(|at| *at > 0) {
        let first = &path[..at];
        let is_plain = first.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_');
        if is_plain {
            return Cow::Borrowed(first);
        }
    }
    let class = name.split(|b| matches!(b, b'.' | b':' | b'(')).next().unwrap_or(name);
    match memchr::memrchr(b'/', class) {
        Some(at) if at > 0 && !name.starts_with(b"/") => Cow::Borrowed(&class[..at]),
        _ => Cow::Borrowed(b"[no module]"),
    }
}

/// A function without a symbol, `[libz.so.1+0x2a40]`, is in `[libz.so.1]`.
fn without_offset(name: &[u8]) -> Option<Vec<u8>> {
    let at = memchr::memmem::rfind(name, b"+0x")?;
    let digits = &name[at + 3..name.len() - 1];
    let is_offset = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    is_offset.then(|| [&name[..at], b"]"].concat())
}

/// `fib (orders.py:4)` is in `orders.py`; arguments stand right behind a name and are no file.
fn in_parentheses(name: &[u8]) -> Option<&[u8]> {
    let inner = name.strip_suffix(b")")?;
    let start = memchr::memmem::rfind(inner, b" (")? + 2;
    let mut file = &inner[start..];
    while let Some(colon) = memchr::memrchr(b':', file) {
        if colon == 0 || colon + 1 == file.len() || !file[colon + 1..].iter().all(u8::is_ascii_digit) {
            break;
        }
        file = &file[..colon];
    }
    (!file.is_empty() && !file.contains(&b' ')).then_some(file)
}

/// The process and thread a stack is of: its first frame, and those behind it that say the same
/// more closely, as py-spy (`process 7:"python"`, `thread (9): pool`) and austin (`P7;T0:9`) do.
pub fn thread_of(stack: &[u8]) -> &[u8] {
    let mut end = memchr::memchr(b';', stack).unwrap_or(stack.len());
    while end < stack.len() {
        let next = memchr::memchr(b';', &stack[end + 1..]).map_or(stack.len(), |n| end + 1 + n);
        if !names_a_thread(&stack[end + 1..next]) {
            break;
        }
        end = next;
    }
    &stack[..end]
}

fn names_a_thread(frame: &[u8]) -> bool {
    if frame.starts_with(b"process ") || frame.starts_with(b"thread (") {
        return true;
    }
    let numbers = frame.strip_prefix(b"T").unwrap_or_default();
    !numbers.is_empty()
        && numbers.contains(&b':')
        && numbers.iter().all(|b| b.is_ascii_hexdigit() || *b == b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_read_from_names() {
        for (name, module) in [
            ("vfs_read_[k]", "[kernel]"),
            ("[libc.so.6]", "[libc.so.6]"),
            ("[libstdc++.so.6+0xa2a40]", "[libstdc++.so.6]"),
            ("[a+0x]", "[a+0x]"),
            ("fib (orders.py:4)", "orders.py"),
            ("run (/usr/lib/python3/threading.py:12:5)_[j]", "/usr/lib/python3/threading.py"),
            ("malloc (libc.so.6)", "libc.so.6"),
            ("f(int, char)", "[no module]"),
            ("<alloc::vec::Vec<T> as core::ops::Drop>::drop", "alloc"),
            ("&mut serde::de::f", "serde"),
            ("unix`read", "unix"),
            ("java/util/HashMap.get_[j]", "java/util"),
            ("main", "[no module]"),
            ("::f", "[no module]"),
            ("", "[no module]"),
        ] {
            assert_eq!(String::from_utf8_lossy(&module_of(name.as_bytes())), module, "{name}");
        }
    }

    #[test]
    fn threads_are_the_first_frames() {
        for (stack, thread) in [
            ("sh-20/21;main;f", "sh-20/21"),
            ("P12;T0:13;main", "P12;T0:13"),
            (
                "process 7:\"a b\";process 8:\"c\";thread (9): pool;f",
                "process 7:\"a b\";process 8:\"c\";thread (9): pool",
            ),
            ("main", "main"),
            ("main;Table::f", "main"),
        ] {
            assert_eq!(String::from_utf8_lossy(thread_of(stack.as_bytes())), thread);
        }
    }
}

//! The rule that tells folded text from all other text whose lines end in numbers: prose, logs, tables,
//! metrics, source code.
//!
//! Every tool asks it, and only of the first 64 KiB of a text without a header: whoever names the format
//! gets every line that ends in a number. A line is
//!
//! - a *stack* if it has several frames: `main;parse 42`. Not behind every `;` stands a blank, as it does
//!   in prose, and it does not begin with a date;
//! - a *function* if its one frame is shaped like one: `main 12`, `operator new(unsigned long) 7`, and not
//!   `The year was 1999`, `retries: 5` or `http_requests_total{code="200"} 1027`.
//!
//! Text with stacks is folded if most lines end in a number, which a program's own output between them
//! does not change, and if stacks and functions are at least half of these. Text of functions alone is
//! folded if they are most of its lines. Comments that declare metrics, a line of column names before
//! lines with as many `;`, and many zero bytes rule it out.

use std::borrow::Cow;

use crate::folded::{Columns, is_comment, parse_line, split_weight};
use crate::input::{lines, trim_line_end};

/// The kinds of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Several frames and a weight.
    Stack,
    /// One frame that could be a function, and a weight.
    Function,
    /// Anything else with a number at its end.
    Numbered,
    /// No number at the end.
    Other,
}

/// Returns true if a text that begins with `head`, and has no header, is folded text.
pub(crate) fn is_folded(head: &[u8]) -> bool {
    if is_binary(head) || declares_metrics(head) || is_table(head) {
        return false;
    }
    if head.len() >= crate::input::HEAD && !head.contains(&b'\n') {
        // The first line alone is longer than this; its weight is not in sight. Documents are no stacks, nor are
        // digits and base64 without an end.
        return head.contains(&b';') && !matches!(head.first(), Some(b'{' | b'[' | b'<'));
    }
    let (mut stacks, mut functions, mut numbered, mut others) = (0, 0, 0, 0);
    for line in head_lines(head) {
        match shape(line) {
            Shape::Stack => stacks += 1,
            Shape::Function => functions += 1,
            Shape::Numbered => numbered += 1,
            // Lines of blanks are passed over by every reader.
            Shape::Other if line.trim_ascii().is_empty() => {}
            Shape::Other => others += 1,
        }
    }
    match stacks {
        0 => functions > numbered + others,
        _ => stacks + functions >= numbered && stacks + functions + numbered >= others,
    }
}

/// Returns true if most lines of a text end in a number, whatever stands before it.
pub(crate) fn is_numbered(head: &[u8]) -> bool {
    let (mut numbered, mut others) = (0, 0);
    for line in head_lines(head).filter(|line| !line.trim_ascii().is_empty()) {
        match parse_line(line, Columns::One) {
            Some(_) => numbered += 1,
            None => others += 1,
        }
    }
    numbered > others && !is_binary(head)
}

/// Returns true if more than one byte in 64 is zero, which no text is made of.
fn is_binary(head: &[u8]) -> bool {
    memchr::memchr_iter(0, head).count() > head.len() / 64
}

/// Returns true if comments say that what follows are metrics, as Prometheus reads them.
pub(crate) fn declares_metrics(head: &[u8]) -> bool {
    let is_metric = |line: &[u8]| line.starts_with(b"# HELP ") || line.starts_with(b"# TYPE ");
    lines(head).take_while(|line| line.is_empty() || line.starts_with(b"#")).any(is_metric)
}

/// Returns true if the first line names columns: it does not end in a number, and all others have as many
/// `;` as it has.
fn is_table(head: &[u8]) -> bool {
    let semicolons = |line: &[u8]| line.iter().filter(|&&b| b == b';').count();
    let mut lines = head_lines(head);
    let Some(first) = lines.next() else { return false };
    let columns = semicolons(first);
    let mut rest = lines.peekable();
    columns > 0
        && parse_line(first, Columns::One).is_none()
        && rest.peek().is_some()
        && rest.all(|line| semicolons(line) == columns)
}

fn shape(line: &[u8]) -> Shape {
    let Some(parsed) = parse_line(line, Columns::One) else { return Shape::Other };
    let stack = without_colours(parsed.stack);
    if begins_with_date(&stack) {
        return Shape::Numbered;
    }
    if let Some(first) = memchr::memchr(b';', &stack) {
        // Prose has a blank behind every `;`; a number behind `#` is a remark.
        let is_stack =
            stack[first..].windows(2).any(|pair| pair[0] == b';' && !pair[1].is_ascii_whitespace());
        return if is_stack && !stack.ends_with(b" #") && stack.iter().any(is_letter) {
            Shape::Stack
        } else {
            Shape::Numbered
        };
    }
    // Before the second weight of a differential line.
    let frame = split_weight(&stack).map_or(&stack[..], |(frame, _)| frame);
    if is_function(frame) { Shape::Function } else { Shape::Numbered }
}

/// The text without the colours of a terminal: `ESC [ 01;32 m` holds a `;`.
fn without_colours(text: &[u8]) -> Cow<'_, [u8]> {
    const ESCAPE: &[u8] = b"\x1b[";
    let Some(first) = memchr::memmem::find(text, ESCAPE) else { return Cow::Borrowed(text) };
    let (before, mut rest) = text.split_at(first);
    let mut plain = before.to_vec();
    while let Some((&byte, behind)) = rest.split_first() {
        if let Some(colour) = rest.strip_prefix(ESCAPE) {
            let end = colour.iter().position(u8::is_ascii_alphabetic).map_or(colour.len(), |at| at + 1);
            rest = &colour[end..];
        } else {
            plain.push(byte);
            rest = behind;
        }
    }
    Cow::Owned(plain)
}

/// Returns true for a name that could be a function's: one word, or the signature of one, whose parameters
/// stand at its end.
fn is_function(name: &[u8]) -> bool {
    let (Some(&first), Some(&last)) = (name.first(), name.last()) else { return false };
    // Lists, assignments, keys of YAML and JSON, labels of metrics.
    let is_other = matches!(first, b' ' | b'\t' | b'-' | b'*' | b'"')
        || matches!(last, b':' | b'=' | b',')
        || memchr::memmem::find(name, b"=\"").is_some();
    if is_other || !name.iter().any(is_letter) {
        return false;
    }
    let Outside { words, commas, parted, remark } = outside_brackets(name);
    let is_signature = (matches!(last, b')' | b'>' | b']') && !parted) || name.ends_with(b") const");
    commas == 0 && (words == 0 || (words == 1 && !remark) || is_signature)
}

/// The text of a name outside of its brackets.
struct Outside {
    words: usize,
    commas: usize,
    /// A blank stands before the last opening bracket.
    parted: bool,
    /// Several words stand in brackets behind a blank.
    remark: bool,
}

fn outside_brackets(name: &[u8]) -> Outside {
    let mut outside = Outside { words: 0, commas: 0, parted: false, remark: false };
    let (mut depth, mut before) = (0usize, b' ');
    for &byte in name {
        match byte {
            b'(' | b'[' | b'{' | b'<' => {
                outside.parted = if depth == 0 { before == b' ' } else { outside.parted };
                depth += 1;
            }
            b')' | b']' | b'}' | b'>' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => outside.commas += 1,
            b' ' | b'\t' => outside.remark |= depth > 0 && outside.parted,
            _ if depth == 0 && matches!(before, b' ' | b'\t') => outside.words += 1,
            _ => {}
        }
        before = byte;
    }
    outside
}

/// `2026-11-22`, also as `2026/11/22` or behind a bracket.
fn begins_with_date(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"[").unwrap_or(line);
    let digits = |range: std::ops::Range<usize>| {
        line.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let separator = |at: usize| matches!(line.get(at), Some(b'-' | b'/'));
    digits(0..4) && separator(4) && digits(5..7) && separator(7) && digits(8..10)
}

fn is_letter(byte: &u8) -> bool {
    byte.is_ascii_alphabetic() || *byte >= 0x80
}

/// The whole lines of an input's head that can hold stacks.
pub(crate) fn head_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = match memchr::memrchr(b'\n', head) {
        Some(end) if head.len() >= crate::input::HEAD => end,
        _ => head.len(),
    };
    let lines = lines(&head[..whole]).map(trim_line_end);
    lines.filter(|line| !line.is_empty() && !is_comment(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_whose_lines_merely_end_in_numbers_is_not_folded() {
        for text in [
            "The year was 1999\n",
            "The year was 1999\nIt rained for 40\n",
            "I came; I saw 3\n",
            "\tslave.channels 4\n",
            "retries: 5\ntimeout: 30\n",
            "/dev/cdrom\t/cdrom\tiso9660\tdefaults,ro\t0 0\n",
            "<I120> = 120;\t// #define KEY_MACRO 112\n",
            "<U4E00> <U4E00>;IGNORE;IGNORE;IGNORE # 1215\n",
            "x = 5\ny = 7\n",
            "  \"count\": 5\n",
            "1 2\n3 4\n",
            "- item 5\n- item 6\n",
            "#define PAGES 12\n#define FRAMES 13\n",
            "http_requests_total{code=\"200\"} 1027\nhttp_requests_total{code=\"400\"} 3\n",
            "# HELP go_goroutines Number of goroutines.\n# TYPE go_goroutines gauge\ngo_goroutines 8\n",
            "Line #,Process,Stack,Weight,TimeStamp (s)\n1,app (12),ntdll!f,1,0.012 345 678\n2,app (12),[Root],1,0.013 345 678\n",
            "Line;Process;Stack;TimeStamp\n1;app;a!f;0.012 345\n2;app;a!g;0.013 345\n",
            "2026-11-22 10:00:00 INFO started worker 12\n2026-11-22 10:00:01 INFO ended worker 12\n",
            "2026-11-22 10:00:00;INFO;worker 12\n2026-11-22 10:00:01;INFO;worker 12\n",
            "Mozilla/5.0 (X11; Linux x86_64; rv:1) 200\n",
            "cpu  1 2 3 4 5\ncpu0 1 2 3 4 5\nctxt 12\nhello\n",
            "main;parse\0 1\n",
            "\u{1b}[01;32mall is\u{1b}[0m green 12\n",
            "retry 5 of 6\nhello world\na 1\n",
            "hello\n",
            "",
            "Chapter (the first) 12\n",
            "see a.c;b.c 1\nthis is a line 2\nthis is a line 3\n",
        ] {
            assert!(!is_folded(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn stacks_and_single_functions_are_folded() {
        for text in [
            "main;parse;lex 42\n",
            "main 12\nidle 30\n",
            "main 12",
            "main 12 13\nidle 30 0\n",
            "main 0.5\nidle -3\n",
            "[unknown] 3\n",
            "operator new(unsigned long) 7\nstd::vector<int, std::allocator<int> >::push_back(int&&) 3\n",
            "void foo<int, char>(char const*) const 3\n",
            "<alloc::vec::Vec<T> as core::ops::Drop>::drop 3\n",
            "main;worker 7 1\nWeb Content 3\n",
            "a;b; 0\nhello\nb;c 2",
            "starting up\nmain;parse 1\nlistening on 80\nmain;lex 2\nmain;idle 3\n",
            "главная 3\n",
            "kworker/0:1 5\nswapper/0 7\n",
            "a.py:main;a.py:f 3\r\nb 4\r\n",
            "{closure#0} 3\n",
        ] {
            assert!(is_folded(text.as_bytes()), "{text}");
        }
        let long = [b"main;".repeat(20_000), b"lex 1\n".to_vec()].concat();
        assert!(is_folded(&long[..crate::input::HEAD]));
        assert!(is_folded(&b"x;".repeat(crate::input::HEAD / 2)));
        assert!(!is_folded(&vec![b'x'; crate::input::HEAD]));
        assert!(!is_folded(&vec![b'{'; crate::input::HEAD]));
    }
}

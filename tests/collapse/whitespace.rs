//! White space is not data: what a terminal, an editor, `expand` or another system makes of the blanks and
//! line ends of a recording changes no stack.
//!
//! Every text among the fixtures is read once more in each of these shapes. Where a shape does change the
//! stacks, the exception is listed with its reason.

use super::fixtures::{Case, bytes, some_cases};
use super::fold_bytes;
use super::json_text::{Style, restyled};
use super::thorough::thorough;

/// A recording in another shape; `None` if it cannot have that shape.
type Shape = fn(&[u8]) -> Option<Vec<u8>>;

/// Changes by `expand`, editors and a terminal.
const BLANKS: &[(&str, Shape)] = &[
    ("blanks for tabs", |text| Some(expand(text))),
    ("trailing blanks", |text| Some(by_line(text, |line, out| out.extend([line, b"  "].concat())))),
    ("blank lines behind", |text| Some([text, b"\n\n \n"].concat())),
];

/// Changes by people who copy a text: the first line of some formats is what they are known by, so that they
/// may be refused.
const REFUSABLE: &[(&str, Shape)] = &[("blank lines before", |text| Some([b"\n \n", text].concat()))];

/// Changes by programs that write JSON anew; `None` for what is no JSON.
const JSON: &[(&str, Shape)] = &[
    ("JSON without blanks", |text| restyled(text, Style { before: "", behind: "", reversed: false })),
    ("JSON with a line for each item", |text| {
        restyled(text, Style { before: "\n\t ", behind: " ", reversed: false })
    }),
];

/// Changes by Windows; carriage returns have a test among those of the fixtures.
const ENCODINGS: &[(&str, Shape)] = &[
    ("byte order mark", |text| Some([b"\xef\xbb\xbf", text].concat())),
    ("UTF-16 LE", |text| utf16(text, u16::to_le_bytes)),
    ("UTF-16 BE", |text| utf16(text, u16::to_be_bytes)),
];

/// Cases, by the beginning of their names, whose stacks a shape changes: the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("bpftrace-json/", "JSON with a line for each item", "refused: each line is a value"),
    ("eflame/", "blank lines behind", "refused: it is known by every line being a stack"),
    ("instruments/", "blanks for tabs", "refused: only tabs tell its columns"),
    ("heaptrack/", "trailing blanks", "refused: a compressed file that gives lengths, which nobody pastes"),
    ("perf-script/names-hard", "blanks for tabs", "a command has a tab in its name"),
    ("xdebug/calls", "blanks for tabs", "refused: only tabs tell its columns"),
    ("xdebug/format1", "blanks for tabs", "refused: only tabs tell its columns"),
    ("xdebug/results-1", "blanks for tabs", "refused: only tabs tell its columns"),
];

fn by_line(text: &[u8], mut each: impl FnMut(&[u8], &mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    for line in text.split_inclusive(|&b| b == b'\n') {
        match line.strip_suffix(b"\n") {
            Some(line) => {
                each(line, &mut out);
                out.push(b'\n');
            }
            None => each(line, &mut out),
        }
    }
    out
}

/// Tabs to the next column of eight, as `expand` does it.
fn expand(text: &[u8]) -> Vec<u8> {
    by_line(text, |line, out| {
        let start = out.len();
        for &byte in line {
            match byte {
                b'\t' => out.resize(start + (out.len() - start) / 8 * 8 + 8, b' '),
                _ => out.push(byte),
            }
        }
    })
}

fn utf16(text: &[u8], bytes: fn(u16) -> [u8; 2]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    Some("\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(bytes).collect())
}

/// Compares the stacks of a case in another shape; the message if they differ.
fn compare(case: &Case, text: &[u8]) -> Result<(), String> {
    let (folded, _, report) = fold_bytes(text, case.named.as_deref(), &case.options)?;
    match () {
        () if report.not_understood.count > 0 => Err(format!("{:?}", report.not_understood)),
        () if folded != case.expected => Err("other stacks".to_owned()),
        () => Ok(()),
    }
}

/// The cases that are texts.
fn texts() -> impl Iterator<Item = (Case, Vec<u8>)> {
    let all = some_cases().into_iter().map(|case| {
        let bytes = bytes(&case);
        (case, bytes)
    });
    all.filter(|(_, bytes)| !bytes.contains(&0))
}

/// Checks the texts in some shapes; gives back the exceptions that were needed.
fn check(shapes: &[(&str, Shape)], texts: impl Iterator<Item = (Case, Vec<u8>)>) -> Vec<usize> {
    let (mut wrong, mut used) = (Vec::new(), Vec::new());
    for (case, text) in texts {
        for (name, shape) in shapes {
            let Some(shaped) = shape(&text).filter(|shaped| *shaped != text) else { continue };
            let result = compare(&case, &shaped);
            let is_listed = |(of, shape, _): &(&str, &str, &str)| case.name.starts_with(of) && shape == name;
            match (EXCEPTIONS.iter().position(is_listed), result) {
                (Some(n), Err(_)) => used.push(n),
                (None, Err(why)) => wrong.push(format!("{}, {name}: {why}", case.name)),
                (_, Ok(())) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    used
}

#[test]
fn white_space_changes_no_stack() {
    let mut used = check(BLANKS, texts());
    used.extend(check(JSON, texts()));
    for (n, exception) in EXCEPTIONS.iter().enumerate() {
        // Few recordings need few exceptions.
        assert!(used.contains(&n) || thorough(false, true), "no exception: {exception:?}");
    }
}

#[test]
fn blank_lines_before_a_text_change_no_stack_in_silence() {
    let mut read = 0;
    for (case, text) in texts() {
        for (name, shape) in REFUSABLE {
            match compare(&case, &shape(&text).expect("any text")) {
                Ok(()) => read += 1,
                Err(why) => assert!(why != "other stacks", "{}, {name}: {why}", case.name),
            }
        }
    }
    assert!(read > thorough(150, 100), "only {read} recordings are read");
}

#[test]
fn encodings_of_windows_change_no_stack() {
    // The encoding is undone before a format is asked: texts of some length show that.
    check(ENCODINGS, texts().filter(|(_, text)| text.len() < 150_000));
}

#[test]
fn frames_of_perf_need_no_indentation() {
    let mut checked = 0;
    for (case, text) in texts().filter(|(case, _)| case.format == "perf-script") {
        let is_frame = |line: &[u8]| line.starts_with(b"\t") && line.ends_with(b")");
        let without = by_line(&text, |line, out| {
            out.extend_from_slice(if is_frame(line) || line.starts_with(b"  ") {
                line.trim_ascii_start()
            } else {
                line
            });
        });
        if without == text || UNINDENTED.iter().any(|(name, _)| case.name.ends_with(name)) {
            continue;
        }
        compare(&case, &without).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        checked += 1;
    }
    assert!(checked >= thorough(20, 5), "{checked} recordings");
}

/// Recordings whose frames are nothing without their indentation: the reason.
const UNINDENTED: &[(&str, &str)] = &[];

//! The order of samples, and of the keys of an object, says nothing: the stacks are the same in another.
//!
//! And a recording that is read twice weighs twice: given as two files, or as one behind the other, unless
//! that is refused.

use fg_tools::Weight;
use fg_tools::folded::{Columns, Weights, parse_line};

use super::fixtures::{Case, bytes, some_cases};
use super::json_text::{Style, restyled};
use super::shape::{Reading, difference, read};
use super::thorough::thorough;

/// The records of a text.
enum Records {
    /// One on each line; a header is `# …` before the first.
    Lines,
    /// Each with a blank line behind it.
    Paragraphs,
    /// Each begins with such a line.
    From(fn(&[u8]) -> bool),
}

/// The formats of records that do not refer to each other.
const RECORDS: &[(&str, Records)] = &[
    ("austin", Records::Lines),
    ("bcc", Records::Paragraphs),
    ("bpftrace", Records::From(|line| line.starts_with(b"@"))),
    ("eu-stack", Records::From(|line| line.starts_with(b"TID "))),
    ("folded", Records::Lines),
    ("go-text", Records::Paragraphs),
    ("goroutines", Records::Paragraphs),
    ("jfr-text", Records::Paragraphs),
    ("perf-script", Records::Paragraphs),
    ("py-spy", Records::Lines),
    ("strace", Records::From(|line| !line.starts_with(b" > ") && !line.is_empty())),
];

/// Cases whose records cannot be put in another order: the reason.
const ORDERED: &[(&str, &str)] = &[
    ("bpftrace/named-two-maps", "the map that comes first is read"),
    ("perf-script/named-event", "the event that comes first is read"),
    ("perf-script/names-event-noperiod", "the event that comes first is read"),
    ("perf-script/names-fields-pid-tid", "the event that comes first is read"),
    ("perf-script/names-multi-event", "the event that comes first is read"),
    ("perf-script/names-task-events", "the event that comes first is read"),
    ("perf-script/sched", "the event that comes first is read"),
    ("py-spy/newline", "a name with a newline goes on in the next line"),
    ("austin/newline", "a name with a newline goes on in the next line"),
    ("bpftrace/print-each", "what is printed as it comes has no mark where it begins"),
];

/// The text before the records, and the records.
fn records<'a>(kind: &Records, text: &'a [u8]) -> (&'a [u8], Vec<&'a [u8]>) {
    let mut starts = Vec::new();
    let (mut at, mut is_after_blank) = (0, true);
    for line in text.split_inclusive(|&b| b == b'\n') {
        let is_blank = line.trim_ascii().is_empty();
        let is_start = match kind {
            Records::Lines => !is_blank && !line.starts_with(b"# "),
            Records::Paragraphs => is_after_blank && !is_blank && !line.starts_with(b"#"),
            Records::From(is_start) => is_start(line.trim_ascii_end()),
        };
        if is_start {
            starts.push(at);
        }
        at += line.len();
        is_after_blank = is_blank;
    }
    let first = starts.first().copied().unwrap_or(text.len());
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    (&text[..first], starts.iter().zip(ends).map(|(start, end)| &text[*start..end]).collect())
}

#[test]
fn the_order_of_samples_changes_no_stack() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for case in some_cases() {
        let Some((_, kind)) = RECORDS.iter().find(|(format, _)| *format == case.format) else { continue };
        let bytes = bytes(&case);
        let (head, mut records) = records(kind, &bytes);
        if records.len() < 3 || ORDERED.iter().any(|(name, _)| *name == case.name) {
            continue;
        }
        // A header, and a first paragraph that is one in some formats, stay where they are.
        let fixed =
            usize::from(matches!(kind, Records::Paragraphs) && !matches!(&*case.format, "perf-script"));
        records[fixed..].reverse();
        let third = (records.len() - fixed) / 3;
        records[fixed..].rotate_left(third);
        // The last one may have no newline.
        let records: Vec<Vec<u8>> = records.iter().map(|record| ended(record, kind)).collect();
        tried += 1;
        match read(&case, &[&[head, &records.concat()].concat()]) {
            Ok(read) if read.folded == case.expected && read.report.not_understood.count == 0 => {}
            Ok(read) => wrong.push(format!("{}: {}", case.name, difference(&read.folded, &case.expected))),
            Err(e) => wrong.push(format!("{}: {e}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(tried > thorough(70, 30), "only {tried} recordings");
}

/// A record with all that ends one.
fn ended(record: &[u8], kind: &Records) -> Vec<u8> {
    let mut record = record.to_vec();
    let end: &[u8] = if matches!(kind, Records::Paragraphs) { b"\n\n" } else { b"\n" };
    while !record.ends_with(end) {
        record.push(b'\n');
    }
    record
}

/// Cases, by the beginning of their names, whose keys have an order: the reason.
const KEYS: &[(&str, &str)] = &[
    ("jstack/", "the number of the process stands before its threads"),
    ("bpftrace-json/", "refused: its first key tells that it is a map"),
    ("pyinstrument-session/", "refused: its first key tells the format"),
];

#[test]
fn the_order_of_keys_changes_no_stack() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for case in some_cases() {
        let bytes = bytes(&case);
        let Some(shaped) = restyled(&bytes, Style { before: "", behind: "", reversed: true }) else {
            continue;
        };
        tried += 1;
        let result = match read(&case, &[&shaped]) {
            Ok(read) if read.folded == case.expected && read.report.not_understood.count == 0 => Ok(()),
            Ok(read) => Err(difference(&read.folded, &case.expected)),
            Err(e) => Err(e),
        };
        match (result, KEYS.iter().any(|(name, _)| case.name.starts_with(name))) {
            (Err(e), false) => wrong.push(format!("{}: {e}", case.name)),
            (Ok(()), true) => wrong.push(format!("{} is listed without need", case.name)),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(tried > thorough(30, 20), "only {tried} recordings");
}

/// Folded text with each weight added to itself.
fn doubled(folded: &str) -> String {
    let columns = match folded.lines().all(|line| parse_line(line.as_bytes(), Columns::Two).is_some()) {
        true => Columns::Two,
        false => Columns::One,
    };
    let twice = |weight: Weight| weight.checked_add(weight).expect("it can be held");
    let line = |line: &str| {
        let parsed = parse_line(line.as_bytes(), columns).expect("folded text");
        let Weights { before, value } = parsed.weights;
        let stack = String::from_utf8_lossy(parsed.stack).into_owned();
        match columns {
            Columns::One => format!("{stack} {}\n", twice(value)),
            Columns::Two => format!("{stack} {} {}\n", twice(before), twice(value)),
        }
    };
    folded.lines().map(line).collect()
}

/// Returns true for a differential profile, whose two columns the text alone does not tell.
fn is_differential(case: &Case) -> bool {
    case.name.ends_with("/differential")
}

#[test]
fn a_recording_given_twice_weighs_twice() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for case in some_cases().into_iter().step_by(thorough(1, 3)) {
        let bytes = bytes(&case);
        tried += 1;
        match read(&case, &[&bytes, &bytes]) {
            Ok(Reading { folded, .. }) if folded == doubled(&case.expected) || is_differential(&case) => {}
            Ok(Reading { folded, .. }) => {
                wrong.push(format!("{}: {}", case.name, difference(&folded, &doubled(&case.expected))));
            }
            Err(e) => wrong.push(format!("{}: {e}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(tried > thorough(200, 70), "only {tried} recordings");
}

/// Cases, by the beginning of their names, of which the second is not read and nothing is said: the reason.
const FIRST_ONLY: &[(&str, &str)] = &[
    ("apple-sample/", "inferno's reader"),
    ("archive/", "an archive ends with its directory or with zeros, as for unzip and tar"),
    ("callgrind/", "parts are added up before costs are divided among callers, which rounds"),
    ("dtrace/", "inferno's reader"),
    ("nettrace/", "a block says that the recording is complete"),
    ("parquet/", "a table is read from its end"),
    ("perfetto/heap", "traces one behind the other are one trace, whose last state counts"),
    ("stackprof/", "a value of Marshal or JSON ends by itself"),
    ("very-sleepy/", "an archive ends with its directory, as for Very Sleepy"),
];

#[test]
fn a_recording_behind_another_is_read_or_refused() {
    let (mut tried, mut wrong, mut needed) = (0, Vec::new(), vec![false; FIRST_ONLY.len()]);
    for case in some_cases() {
        let bytes = bytes(&case);
        let whole = read(&case, &[&bytes]).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        tried += 1;
        let Ok(both) = read(&case, &[&bytes.repeat(2)]) else { continue };
        let is_right = both.folded == doubled(&case.expected) || both.says_other_than(&whole);
        let listed = FIRST_ONLY.iter().position(|(name, _)| case.name.starts_with(name));
        if let (false, Some(n)) = (is_right, listed) {
            needed[n] = true;
        }
        if !is_right && listed.is_none() {
            let what = match both.folded == whole.folded {
                true => "the second is passed over in silence".to_owned(),
                false => difference(&both.folded, &doubled(&case.expected)),
            };
            wrong.push(format!("{}: {what}", case.name));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    // Few recordings need few exceptions.
    assert!(
        thorough(false, true) || needed.iter().all(|needed| *needed),
        "listed without need: {FIRST_ONLY:?}, {needed:?}"
    );
    assert!(tried > thorough(200, 150), "only {tried} recordings");
}

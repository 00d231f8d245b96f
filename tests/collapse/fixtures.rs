//! One walker for all of `tests/fixtures/<format>/<case>/`: every case gets every standing check.
//!
//! `case.toml` holds the command that made the recording, the tool's version, the total that the
//! producer itself reports, and the arguments and input if they are not the plain ones. `whole =
//! true` is for documents: repeated, or with other line ends, they are no longer the same format.
//! `made = true` says that the tool did not write the file: it was made after a description.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;
use fg_tools::Weight;
use fg_tools::cli::collapse::Collapse;
use fg_tools::collapse::{CollapseOptions, Tested, registry};
use fg_tools::input::Source;
use fg_tools::reading::{self, ReadOptions};

use super::thorough::thorough;
use super::{fold, fold_bytes};

pub struct Case {
    pub name: String,
    pub format: String,
    pub input: PathBuf,
    pub expected: String,
    total: Weight,
    pub options: CollapseOptions,
    args: Vec<String>,
    whole: bool,
    /// True if the file was made after a description, and is no recording.
    is_made: bool,
    /// The format, where its arguments name one: it is not to be detected.
    pub named: Option<String>,
}

impl Case {
    /// The arguments that the case is collapsed with.
    pub fn args(&self) -> &[String] {
        &self.args
    }
}

/// Every case of the fixtures.
pub fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut cases = Vec::new();
    let is_read = |format: &PathBuf| cfg!(feature = "parquet") || !format.ends_with("parquet");
    for format in folders(&root).into_iter().filter(is_read) {
        for folder in folders(&format) {
            let text = fs::read_to_string(folder.join("case.toml")).expect("every case has a case.toml");
            let value = |key: &str| {
                let line =
                    text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='));
                line.map(|value| value.trim().to_owned())
            };
            let plain = |value: String| value.trim_matches('"').to_owned();
            let args = value("args").unwrap_or_default();
            let args = args.trim_matches(['[', ']']).split(',').map(|arg| plain(arg.trim().to_owned()));
            let args: Vec<String> = args.filter(|arg| !arg.is_empty()).collect();
            let input = match value("input").map(plain) {
                Some(path) => folder.join(path),
                None => input_of(&folder),
            };
            assert!(
                value("command").is_some() && value("tool").is_some(),
                "{folder:?} says where it is from"
            );
            let arguments = Collapse::parse_from(["fg-collapse".to_owned()].iter().chain(&args));
            cases.push(Case {
                name: folder.strip_prefix(&root).expect("below the root").display().to_string(),
                format: format.file_name().expect("a folder").to_string_lossy().into_owned(),
                input,
                expected: String::from_utf8_lossy(
                    &fs::read(folder.join("expected.folded")).expect("an expected.folded"),
                )
                .into_owned(),
                total: weight(&value("total").map(plain).expect("a total")),
                options: CollapseOptions::from(arguments.options),
                args,
                whole: value("whole").as_deref() == Some("true"),
                is_made: value("made").as_deref() == Some("true"),
                named: arguments.input_format,
            });
        }
    }
    assert!(cases.len() > 60, "the fixtures are there");
    cases
}

/// The size from which a recording is large.
const LARGE: u64 = 60_000;

/// By day, the cases without the large recordings of formats that have smaller ones, for laws that take each several
/// times: a large one has more of the same. Each night they are all cases.
pub fn some_cases() -> Vec<Case> {
    let mut cases = cases();
    let mut least: BTreeMap<String, u64> = BTreeMap::new();
    for case in &cases {
        let size = size_of(&case.input);
        least.entry(case.format.clone()).and_modify(|least| *least = size.min(*least)).or_insert(size);
    }
    let is_small = |case: &Case| size_of(&case.input) <= LARGE.max(least[&case.format]);
    cases.retain(|case| thorough(true, is_small(case)));
    cases
}

/// The size of an input, decompressed: it stands at the end of a file of gzip.
fn size_of(input: &Path) -> u64 {
    let bytes = fs::read(input).expect("a fixture");
    match bytes.last_chunk() {
        Some(size) if bytes.starts_with(&[0x1f, 0x8b]) => u32::from_le_bytes(*size).into(),
        _ => bytes.len() as u64,
    }
}

/// The file of a case that is called `input`, whatever follows.
fn input_of(folder: &Path) -> PathBuf {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let is_input =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("input"));
    entries.into_iter().find(is_input).unwrap_or_else(|| panic!("{folder:?} has an input"))
}

fn weight(text: &str) -> Weight {
    Weight::parse(text.as_bytes()).unwrap_or_else(|| panic!("{text} is a weight"))
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// The decompressed input.
pub fn bytes(case: &Case) -> Vec<u8> {
    fg_tools::input::Source::new(&case.input).open().expect("a fixture opens").read_all().expect("and reads")
}

#[test]
fn every_case_has_expected_stacks_and_total() {
    for case in cases() {
        let (text, total, report) = fold(&case.input, case.named.as_deref(), &case.options)
            .unwrap_or_else(|e| panic!("{}: {e}", case.name));
        assert_eq!(weight(&total), case.total, "{}", case.name);
        assert_eq!(report.not_understood.count, 0, "{}: {:?}", case.name, report.not_understood);
        assert!(text == case.expected, "{}: differs from expected.folded", case.name);
    }
}

#[test]
fn every_case_is_detected_as_its_format() {
    for case in cases().into_iter().filter(|case| case.named.is_none()) {
        let input = fg_tools::input::Source::new(&case.input).open().expect("a fixture opens");
        let format = registry::detect(&input).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        assert_eq!(format.name(), case.format, "{}", case.name);
    }
}

#[test]
fn a_pipe_gives_the_same_bytes_below_a_header() {
    for case in some_cases() {
        let mut program = Command::new(env!("CARGO_BIN_EXE_fg-collapse"));
        let out = super::feed::feed(program.arg("--quiet").args(&case.args), bytes(&case));
        assert!(out.status.success(), "{}: {out:?}", case.name);
        let text = String::from_utf8_lossy(&out.stdout);
        let stacks = without_header(&text);
        assert!(stacks == case.expected, "{}: a pipe changes the result", case.name);
        for line in text[..text.len() - stacks.len()].lines() {
            assert!(!is_stack_elsewhere(line), "{}: a stack to other programs: {line}", case.name);
            assert!(
                fg_tools::profile::header::HeaderReader::is_header(line.as_bytes()),
                "{}: {line}",
                case.name
            );
        }
    }
}

/// The lines behind the header.
fn without_header(text: &str) -> &str {
    let mut rest = text;
    while rest.starts_with("# ") {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
    rest
}

/// The rule by which flamegraph.pl, difffolded.pl and inferno know a stack: a blank and a number at
/// the end, perhaps with a fraction.
fn is_stack_elsewhere(line: &str) -> bool {
    let last = line.rsplit(char::is_whitespace).next().unwrap_or_default();
    last.starts_with(|c: char| c.is_ascii_digit()) && last.parse::<f64>().is_ok()
}

#[test]
fn compression_line_ends_and_threads_do_not_matter() {
    let mut repeated_formats = Vec::new();
    for case in some_cases() {
        let plain = bytes(&case);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&plain).expect("gzip in memory");
        let zstd = ruzstd::encoding::compress_to_vec(&plain[..], ruzstd::encoding::CompressionLevel::Fastest);
        let crlf = String::from_utf8_lossy(&plain).replace('\n', "\r\n");
        let no_end = plain.strip_suffix(b"\n").unwrap_or(&plain).to_vec();
        for (what, variant) in
            [("gzip", gzip.finish().expect("gzip in memory")), ("zstd", zstd), ("no final newline", no_end)]
        {
            if case.whole && what == "no final newline" {
                continue;
            }
            let (text, ..) = fold_bytes(&variant, case.named.as_deref(), &case.options)
                .unwrap_or_else(|e| panic!("{}, {what}: {e}", case.name));
            assert!(text == case.expected, "{}: {what} changes the result", case.name);
        }
        if case.whole {
            continue;
        }
        if std::str::from_utf8(&plain).is_ok() {
            let (text, ..) = fold_bytes(crlf.as_bytes(), case.named.as_deref(), &case.options)
                .unwrap_or_else(|e| panic!("{}, CRLF: {e}", case.name));
            assert!(text == case.expected, "{}: CRLF changes the result", case.name);
        }
        // By day the threads share one recording of each format.
        if repeated_formats.contains(&case.format) && thorough(false, true) {
            continue;
        }
        repeated_formats.push(case.format.clone());
        // Large enough for several blocks, so that the threads have something to share.
        let times = 600_000 / plain.len() + 1;
        let repeated = plain.repeat(times);
        let with = |threads| {
            fold_bytes(&repeated, case.named.as_deref(), &CollapseOptions { threads, ..case.options.clone() })
                .expect("the same once more")
        };
        let (one, total, _) = with(1);
        assert!(one == with(3).0, "{}: the number of threads changes the result", case.name);
        let product = case.total.checked_mul(Weight::new(times as i128)).expect("it can be held");
        assert_eq!(weight(&total), product, "{}", case.name);
    }
}

#[test]
fn collapsing_what_was_collapsed_changes_nothing() {
    for case in cases() {
        let expected = fs::read(case.input.with_file_name("expected.folded")).expect("an expected.folded");
        let (text, ..) =
            fold_bytes(&expected, Some("folded"), &CollapseOptions::default()).expect("our own output");
        assert!(text.as_bytes() == String::from_utf8_lossy(&expected).as_bytes(), "{}", case.name);
    }
}

/// Cases that show a heap as it is at the end, when more has been released than before.
const HEAPS_AT_THE_END: &[&str] = &["sysprof/unreleased"];

#[test]
fn truncated_input_never_exceeds_the_total() {
    for case in some_cases().into_iter().filter(|case| !HEAPS_AT_THE_END.contains(&case.name.as_str())) {
        let plain = bytes(&case);
        let pieces = if plain.len() > 50_000 { thorough(8, 3) } else { thorough(25, 8) };
        let step = (plain.len() / pieces).max(1);
        for end in (0..plain.len()).step_by(step) {
            // The rest may be empty or unrecognisable, but it never weighs more than the whole.
            if let Ok((_, total, _)) = fold_bytes(&plain[..end], Some(&case.format), &case.options) {
                // A line that is cut within its weight counts with the digits that are left.
                assert!(
                    weight(&total) <= case.total,
                    "{} cut at {end}: {total} of {}",
                    case.name,
                    case.total
                );
            }
        }
    }
}

#[test]
fn damaged_bytes_are_no_panic() {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    for case in some_cases() {
        let plain = bytes(&case);
        for _ in 0..thorough(5, 2) {
            let mut damaged = plain.clone();
            for _ in 0..40 {
                let at = random() % damaged.len();
                damaged[at] = [b'\n', b';', b' ', b'\t', 0, 0xff, b'(', b'9'][random() % 8];
            }
            let _ = fold_bytes(&damaged, Some(&case.format), &case.options);
            // Places and single samples take other paths.
            let everything = ReadOptions::default().format(&case.format).collapse(case.options.clone());
            let _ = reading::read(&[Source::bytes(damaged)], &everything.samples(true));
        }
    }
}

#[test]
fn every_format_has_a_case() {
    let cases = cases();
    // Recordings of perf depend on the files they name; tests/perf_data brings these along.
    for format in registry::FORMATS.iter().filter(|format| format.name() != "perf-data") {
        assert!(cases.iter().any(|case| case.format == format.name()), "{} has no fixture", format.name());
    }
}

#[test]
fn a_format_is_known_from_recordings_if_a_case_is_one() {
    let cases = cases();
    for format in registry::FORMATS.iter() {
        let mut cases = cases.iter().filter(|case| case.format == format.name()).peekable();
        if cases.peek().is_some() {
            let is_seen = matches!(format.info().tested, Tested::Seen(_));
            assert_eq!(is_seen, cases.any(|case| !case.is_made), "{}", format.name());
        }
    }
}

#[test]
fn the_input_of_another_format_is_no_panic() {
    // Every format is asked to read the inputs of every other: it may refuse, it must not panic.
    let cases = cases();
    let mut seen = Vec::new();
    for case in &cases {
        if seen.contains(&&case.format) {
            continue;
        }
        seen.push(&case.format);
        let mut plain = bytes(case);
        plain.truncate(thorough(100_000, 20_000));
        for format in registry::FORMATS {
            let _ = fold_bytes(&plain, Some(format.name()), &CollapseOptions::default());
        }
    }
}

#[test]
fn inputs_without_samples_are_errors() {
    let mut gz = Vec::new();
    flate2::read::GzEncoder::new(&b""[..], flate2::Compression::fast())
        .read_to_end(&mut gz)
        .expect("gzip in memory");
    for (bytes, message) in [
        (&b""[..], "empty input"),
        (&gz, "empty input"),
        (b"\n\n\n", "not a format known here"),
        (b"hello, this is no profile\n", "--list-formats shows"),
        (b"\x00\x01\x02\x03\xff\xfe 12\n\x00 3\n", "not a format known here"),
        (b"# ========\n# captured on    : Fri Nov 20 23:47:55 2026\n# ========\n#\n", "no samples in it"),
    ] {
        let error = fold_bytes(bytes, None, &CollapseOptions::default()).expect_err("an error");
        assert!(error.contains(message), "{error}");
    }
}

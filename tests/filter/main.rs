//! `fg-filter` through the real binary: grep's manners, hostile input, exit status.

#![cfg(feature = "cli")]

#[path = "../common/feed.rs"]
mod feed;
#[path = "../common/installed.rs"]
mod installed;
mod labels;
mod library;
mod model;
mod operations;
mod reading;
#[path = "../common/recordings.rs"]
mod recordings;
#[path = "../common/skip.rs"]
mod skip;

use std::io::Write;
use std::process::{Command, Output, Stdio};

use feed::{feed, text};
use proptest::prelude::*;

const PROFILE: &str = "\
# unit: samples
main 1
main;idle 90
main;parse;lex 42
main;parse;read file 7
main;std::map<int>;lex 0.5
";

fn run(arguments: &[&str], input: impl AsRef<[u8]>) -> Output {
    feed(Command::new(env!("CARGO_BIN_EXE_fg-filter")).args(arguments), input)
}

/// The standard output of a run without messages.
fn filter(arguments: &[&str], input: impl AsRef<[u8]>) -> String {
    let output = run(arguments, input);
    assert_eq!(text(&output.stderr), "", "{arguments:?}");
    text(&output.stdout)
}

/// The weights of the stacks that are kept, as a short way to name lines of [`PROFILE`].
fn kept(arguments: &[&str]) -> Vec<String> {
    let lines = filter(arguments, PROFILE);
    lines.lines().filter(|l| !l.starts_with('#')).map(|l| l.rsplit(' ').next().unwrap().to_owned()).collect()
}

fn trouble(arguments: &[&str], input: impl AsRef<[u8]>) -> String {
    let output = run(arguments, input);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    said
}

#[test]
fn every_option_selects_what_it_says() {
    let all = ["1", "90", "42", "7", "0.5"];
    for (arguments, weights) in [
        (&["idle"][..], &["90"][..]),
        (&["^main"], &all),
        (&["^idle"], &[]),
        (&["lex$"], &["42", "0.5"]),
        (&["parse$"], &[]),
        (&["parse;lex"], &["42"]),
        (&["^main$"], &["1"]),
        (&["pa.*;.*e"], &["42", "7"]),
        (&["-v", "parse|idle"], &["1", "0.5"]),
        (&["LEX"], &[]),
        (&["-s", "LEX"], &[]),
        (&["-i", "LEX"], &["42", "0.5"]),
        (&["--fixed-strings", "map<int>"], &["0.5"]),
        (&["--fixed-strings", "l.x"], &[]),
        (&["l.x"], &["42", "0.5"]),
        (&["--fixed-strings", "-i", "MAP<INT>"], &["0.5"]),
        (&["-e", "idle", "-e", "read"], &["90", "7"]),
        (&["-w", "rea"], &[]),
        (&["-w", "read"], &["7"]),
        (&["-w", "a"], &[]),
        (&["-x", "lex"], &["42", "0.5"]),
        (&["-x", "read"], &[]),
        (&["-x", "r.*"], &["7"]),
        (&["-x", "idle|lex"], &["90", "42", "0.5"]),
        (&["-x", "main.*lex"], &[]),
        (&["-x", "--fixed-strings", "std::map<int>"], &["0.5"]),
        (&["-x", "-v", "lex"], &["1", "90", "7"]),
        (&[""], &all),
        (&["-v", ""], &[]),
        (&["-e", "idle\nread"], &["90", "7"]),
    ] {
        assert_eq!(kept(arguments), weights, "{arguments:?}");
        let expected = i32::from(weights.is_empty());
        assert_eq!(run(arguments, PROFILE).status.code(), Some(expected), "{arguments:?}");
    }
}

#[test]
fn weights_are_not_searched() {
    for pattern in ["42", "0.5", " ", "2$", "4", r"\d$"] {
        let expected: &[&str] = if pattern == " " { &["7"] } else { &[] };
        assert_eq!(kept(&[pattern]), expected, "{pattern:?}");
    }
    let both = "a;b 41 42\na;42 1 2\n";
    assert_eq!(filter(&["4[12]"], both), "a;42 1 2\n");
    assert_eq!(filter(&["b$"], both), "a;b 41 42\n");
    assert_eq!(filter(&["-v", "^a;b$"], both), "a;42 1 2\n");
}

#[test]
fn lines_and_comments_stay_as_they_are() {
    assert_eq!(filter(&["main"], PROFILE), PROFILE);
    assert_eq!(filter(&["-v", "main"], PROFILE), "# unit: samples\n");
    assert_eq!(filter(&["b"], "a 007\nb 007\nb 1.50\nb -3\n"), "b 007\nb 1.50\nb -3\n");
    let cut = run(&["b"], "a 1\nb -3");
    let said = "fg-filter: standard input:2: the text ends within this line; it may have been cut short\n";
    assert_eq!((text(&cut.stdout).as_str(), text(&cut.stderr).as_str()), ("b -3\n", said));
    assert_eq!(filter(&["b$"], "a 1\r\na;b 2\r\n\r\n"), "a;b 2\r\n");
    assert_eq!(filter(&["a"], "\n\na 1\n   \na 2\n"), "a 1\na 2\n");
    assert_eq!(filter(&["x"], "#x 1\n# x 1\n"), "#x 1\n# x 1\n");
}

#[test]
fn bytes_that_are_not_utf8_are_matched_on_request() {
    let input = b"a\xff\xfeb;c 1\nd;\xc3\xa4 2\n";
    assert_eq!(run(&["c$"], input).stdout, b"a\xff\xfeb;c 1\n");
    assert_eq!(run(&["a(?-u:..)b"], input).stdout, b"a\xff\xfeb;c 1\n");
    assert_eq!(run(&["a(?-u:\\xff)"], input).stdout, b"a\xff\xfeb;c 1\n");
    assert_eq!(run(&["a.+b"], input).stdout, b"");
    assert_eq!(run(&["^d;.$"], input).stdout, b"d;\xc3\xa4 2\n");
}

#[test]
fn counts_stacks_and_weights() {
    let (lex, other) =
        ("stacks 2 weight 42.5 (42.5 samples, 30.25%)", "stacks 3 weight 98 (98 samples, 69.75%)");
    assert_eq!(filter(&["-c", "lex"], PROFILE), format!("kept {lex}\ndropped {other}\n"));
    assert_eq!(filter(&["-cv", "lex"], PROFILE), format!("kept {other}\ndropped {lex}\n"));
    assert_eq!(
        filter(&["-c", "a"], "a 1 2\r\nb 3 4 \na;c 0.5 -1\n"),
        "kept stacks 2 before 1.5 after 1 (33.33%; 20.00%)\ndropped stacks 1 before 3 after 4 (66.67%; 80.00%)\n"
    );
    let none = run(&["-c", "nothing"], PROFILE);
    assert_eq!(none.status.code(), Some(1));
    assert_eq!(
        text(&none.stdout),
        "kept stacks 0 weight 0 (0 samples, 0.00%)\ndropped stacks 5 weight 140.5 (140.5 samples, 100.00%)\n"
    );
    let huge = "a 99999999999999999999999999999999999999\n".repeat(2);
    assert!(trouble(&["-c", "a"], &huge).contains("standard input:2: the weights add up"));
    assert_eq!(filter(&["a"], &huge), huge);
}

#[test]
fn quiet_stops_at_the_first() {
    // The malformed last line is never read.
    let output = run(&["-q", "--strict", "idle"], format!("{PROFILE}{}nonsense\n", "x 1\n".repeat(100_000)));
    assert_eq!(
        (output.status.code(), output.stdout.len(), text(&output.stderr)),
        (Some(0), 0, String::new())
    );
    assert_eq!(run(&["-q", "nothing"], PROFILE).status.code(), Some(1));
    trouble(&["-q", "--strict", "nothing"], "a 1\nnonsense\n");
}

#[test]
fn files_are_read_one_after_the_other_and_patterns_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    // The last lines of these have no newline, which is said.
    let filter = |arguments: &[&str], input: &str| text(&run(arguments, input).stdout);
    let one = path("one", "a;x 1\nb 2");
    let two = path("two", "c 3\na;y 4");
    assert_eq!(filter(&["^a", &one, &two], ""), "a;x 1\na;y 4\n");
    assert_eq!(filter(&["-e", "^a", &one, "-", &two], "a;z 9"), "a;x 1\na;z 9\na;y 4\n");
    let patterns = path("patterns", "x$\ny$\n");
    assert_eq!(filter(&["-f", &patterns, &one, &two], ""), "a;x 1\na;y 4\n");
    assert_eq!(filter(&["-f", &patterns, "-e", "b", &one, &two], ""), "a;x 1\nb 2\na;y 4\n");
    assert_eq!(filter(&["-f", "-", &one], "b\n"), "b 2\n");
    let empty = path("empty", "");
    assert_eq!(run(&["-f", &empty, &one], "").status.code(), Some(1));
    assert_eq!(filter(&["-v", "-f", &empty, &one], ""), "a;x 1\nb 2\n");
    assert!(trouble(&["-f", &path("bad", "a\n(\n"), &one], "").contains("unclosed group"));

    let out = folder.path().join("out");
    assert_eq!(filter(&["-o", out.to_str().unwrap(), "^a", &one, &two], ""), "");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "a;x 1\na;y 4\n");
    let missing = folder.path().join("missing");
    let said = trouble(&["-o", out.to_str().unwrap(), "b", &one, missing.to_str().unwrap()], "");
    assert!(said.contains("missing: cannot open: no such file"), "{said}");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "a;x 1\na;y 4\n", "left as it was");
}

#[test]
fn lines_not_understood_are_said_once_or_refused() {
    let input = "a 1\nwhat\nb NaN\na;b 2\n 5\nc 1e9\n";
    let output = run(&["a"], input);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "a 1\na;b 2\n".into()));
    assert_eq!(
        text(&output.stderr),
        "fg-filter: standard input:2: 3 line(s) not understood and left out, the first is \"what\"\n"
    );
    assert_eq!(text(&run(&["-v", "a"], input).stdout), " 5\n");
    let said = trouble(&["--strict", "a"], input);
    assert!(said.contains("standard input:2: 3 line(s) not understood"), "{said}");
    // No line is understood: this is another kind of file.
    let other = "{ a\nb\n";
    assert!(trouble(&["a"], other).contains("standard input: not a format known here"));
    let said = trouble(&["a", "--input-format", "folded"], other);
    assert!(said.contains("2 line(s) not understood"), "{said}");
}

#[test]
fn empty_input_selects_nothing() {
    for input in ["", "\n", "# a comment\n"] {
        let output = run(&["a"], input);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), String::new()), "{input:?}");
    }
}

/// Issue 37, line 5: `fg-filter out.folded` searched standard input for that name.
#[test]
fn a_file_in_the_place_of_the_pattern_is_said() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("main"), "main;a 1\n").unwrap();
    std::fs::write(folder.path().join("out.folded"), "main;a 1\n").unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fg-filter"));
        let output = feed(command.args(arguments).current_dir(&folder), PROFILE);
        (output.status.code(), text(&output.stderr))
    };
    let advice = "fg-filter: out.folded was the pattern, and is a file here: fg-filter PATTERN out.folded\n";
    assert_eq!(run(&["out.folded"]), (Some(1), advice.to_owned()));
    // A pattern that finds something is one, whatever else has its name.
    assert_eq!(run(&["main"]), (Some(0), String::new()));
    assert_eq!(run(&["-e", "out.folded"]), (Some(1), String::new()));
}

#[test]
fn patterns_with_mistakes_are_refused_on_one_line() {
    for (pattern, what) in [
        ("a(", "unclosed group, at character 2"),
        ("a{2,1}", "invalid repetition"),
        ("ä[", "unclosed character class, at character 2"),
        ("\\p{Nope}", "Unicode property"),
        ("x\n(y\nz", "unclosed group"),
        ("((a{1000}){1000}){9}", "takes more than 32 MB"),
        ("((((a{99}){99}){99}){99}){99}", "takes more than 32 MB"),
    ] {
        let said = trouble(&[pattern], PROFILE);
        assert!(said.to_lowercase().contains(&what.to_lowercase()), "{said}");
    }
    assert!(trouble(&[&"(".repeat(100_000)], PROFILE).len() < 400);
    assert!(trouble(&[&format!("{}a{}", "(?:".repeat(5000), ")*".repeat(5000))], PROFILE).len() < 400);
    assert_eq!(kept(&["--fixed-strings", "a("]), [""; 0]);
    assert!(trouble(&[], PROFILE).contains("nothing to search for"));
}

#[test]
fn a_late_line_with_one_weight_makes_all_lines_have_one() {
    // Only the last line tells that `1` belongs to a name.
    let mut input: String = (0..9000).map(|n| format!("main;worker {n:04} 1\n")).collect();
    input.push_str("zebra 1\n");
    assert_eq!(filter(&["-e", ""], &input), input);
    assert_eq!(filter(&["worker 8999$"], &input), "main;worker 8999 1\n");
    assert_eq!(
        filter(&["-c", "worker"], &input),
        "kept stacks 9000 weight 9000 (99.99%)\ndropped stacks 1 weight 1 (0.01%)\n"
    );
    assert_eq!(filter(&["--depth", "1"], &input), "main 9000\nzebra 1\n");
    let two = &input[..input.len() - "zebra 1\n".len()];
    assert_eq!(filter(&["--depth", "1"], two), format!("main {} 9000\n", (0..9000).sum::<u32>()));
    // A header states two columns, and a line with one weight is malformed.
    let said = run(&["-c", "worker"], format!("# columns: before, after\n{input}"));
    assert!(
        text(&said.stderr).contains("9002: 1 line(s) not understood and left out"),
        "{}",
        text(&said.stderr)
    );
}

#[test]
fn an_empty_leaf_is_no_frame() {
    let input = "main; 19\nmain;a; 1\r\nx;; 2.50\n";
    assert_eq!(filter(&["^main$"], input), "main; 19\n");
    assert_eq!(filter(&["a$"], input), "main;a; 1\r\n");
    assert_eq!(filter(&["-x", "", "--input-format=folded"], input), "");
    assert_eq!(
        filter(&["-c", "."], input),
        "kept stacks 3 weight 22.5 (100.00%)\ndropped stacks 0 weight 0 (0.00%)\n"
    );
    assert_eq!(filter(&["--rename", "s/x/y/"], input), "main 19\nmain;a 1\ny 2.5\n");
}

#[test]
fn negative_weights_are_added_up() {
    let input = "a 30\na -10\nb -1\n";
    assert_eq!(filter(&["-e", "."], input), input);
    assert_eq!(filter(&["--rename", "s/b/c/"], input), "a 20\nc -1\n");
    assert_eq!(filter(&["-c", "a"], input), "kept stacks 2 weight 20\ndropped stacks 1 weight -1\n");
}

#[test]
fn hostile_shapes_are_lines_like_others() {
    let deep = format!("{}leaf 5\n", "f;".repeat(100_000));
    assert_eq!(filter(&["leaf$"], &deep), deep);
    let long = format!("main;{} 5\nb 1\n", "n".repeat(1 << 20));
    assert_eq!(filter(&["b"], &long), "b 1\n");
    assert_eq!(filter(&["^main;n+$"], &long), long[..long.len() - 4].to_owned());
    let controls = "a\0b;\x1b[31m 1\n";
    assert_eq!(filter(&["--input-format", "folded", "\\x00b;\\x1b"], controls), controls);
}

#[test]
fn closed_pipe_is_quiet() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fg-filter"))
        .arg("a")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&b"a;b;c 1\n".repeat(500_000))));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[test]
fn gzip_is_undone() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(PROFILE.as_bytes()).unwrap();
    let zipped = encoder.finish().unwrap();
    assert_eq!(filter(&["idle"], &zipped), "# unit: samples\nmain;idle 90\n");
    assert!(trouble(&["idle"], &zipped[..zipped.len() / 2]).contains("damaged gzip"));
}

#[test]
fn help_man_page_and_completions_come_from_one_place() {
    let help = filter(&["--help"], "");
    let man = filter(&["--generate", "man"], "");
    let bash = filter(&["--generate=bash"], "");
    for option in ["--invert-match", "--frame-regexp", "--count", "--strict", "--output"] {
        assert!(help.contains(option) && bash.contains(option), "{option}");
        assert!(man.contains(&option.replace('-', "\\-")), "{option}");
    }
}

/// The naive selection: every line by itself; a stack does not end in a frame without a name.
fn reference(pattern: &str, invert: bool, lines: &[(String, u32)]) -> String {
    let regex = regex::Regex::new(pattern).unwrap();
    let mut kept = String::new();
    for (stack, weight) in lines {
        if regex.is_match(stack.trim_end_matches(';')) != invert {
            kept.push_str(&format!("{stack} {weight}\n"));
        }
    }
    kept
}

#[test]
fn block_boundaries_change_no_selection() {
    let lines: Vec<(String, u32)> =
        (0..60_000).map(|n| (format!("main;f{};{}", n % 97, "g".repeat(n % 61)), n as u32)).collect();
    let input: String = lines.iter().map(|(stack, weight)| format!("{stack} {weight}\n")).collect();
    for pattern in ["f1", "f1;", "gg$", ";$", "^main;f96;g{30}$", "nothing", ""] {
        for invert in [false, true] {
            let arguments = if invert { vec!["-v", "-e", pattern] } else { vec!["-e", pattern] };
            assert!(filter(&arguments, &input) == reference(pattern, invert, &lines), "{pattern} {invert}");
        }
    }
}

#[test]
fn short_help_fits_a_terminal() {
    let help = filter(&["-h"], "");
    assert!(help.lines().count() > 20);
    // Lines about options that all programs share are not checked.
    let shared = ["FILE", "--generate", "man, bash"];
    for line in help.lines().filter(|line| !shared.iter().any(|part| line.contains(part))) {
        assert!(line.chars().count() <= 79, "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// The search over whole blocks selects what a search line by line does.
    #[test]
    fn selects_as_line_by_line(
        lines in proptest::collection::vec(("[ab1](;?[ab1 ])*[abc1]", 0u32..200), 0..30),
        pattern in prop_oneof![
            "[ab1.^$;\\[(]{0,5}".prop_filter("a regex", |p| regex::Regex::new(p).is_ok()),
            prop::sample::select(vec![
                "^a", "b$", "^a.*b$", "a;b", "(a|b)$", "[^a]$", "1", "1$", "\\ba\\b", "^$", "a*", "\\s",
                "(?:^a|b$)", "a\\n|b", "[\\s\\S]1", "(^|;)a(;|$)", "\\Bb", "(?s)a.b", "(?m)^1", "c|$", "\\W\\d",
            ]).prop_map(str::to_owned),
        ],
        invert: bool,
    ) {
        let input: String = lines.iter().map(|(stack, weight)| format!("{stack} {weight}\n")).collect();
        // A first line with a single weight, so that names that end in numbers stay names.
        let first = ("only".to_owned(), 1);
        let all: Vec<_> = std::iter::once(first).chain(lines).collect();
        let input = format!("only 1\n{input}");
        let mut arguments = vec!["--input-format", "folded", "-e", pattern.as_str()];
        if invert {
            arguments.push("-v");
        }
        let output = run(&arguments, &input);
        prop_assert_eq!(text(&output.stdout), reference(&pattern, invert, &all), "{}", pattern);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn file_truncated_while_read_is_one_error_line() {
    use std::io::Read;
    let file = tempfile::NamedTempFile::new().unwrap();
    // More than is mapped at once, so that it waits for its reader within what is mapped.
    let lines: String = (0..200_000).map(|n| format!("main;f{n:07};{} 1\n", n % 2)).collect();
    // All of it is written as it is mapped, or line by line.
    for pattern in ["main", "1$"] {
        std::fs::write(file.path(), &lines).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_fg-filter"))
            .arg(pattern)
            .arg(file.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0];
        child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        file.as_file().set_len(0).unwrap();
        let output = child.wait_with_output().unwrap();
        let said =
            "fg-filter: an input became shorter while it was read; run it again when nothing writes to it\n";
        assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(2), said), "{pattern}");
    }
}

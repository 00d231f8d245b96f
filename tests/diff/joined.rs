//! The default output: `stack before after`.

use super::{Files, diff, run, stacks};

const BEFORE: &str = "main 1\nmain;parse 40\nmain;parse;lex 20\nmain;write 39\n";
const AFTER: &str = "main;parse 42\nmain;parse;lex 30\nmain;read 28\n";

#[test]
fn every_stack_of_either_side_in_frame_order() {
    let joined = "main 1 0\nmain;parse 40 42\nmain;parse;lex 20 30\nmain;read 0 28\nmain;write 39 0\n";
    assert_eq!(diff(&[], BEFORE, AFTER), joined);
    let reverse = |text: &str| text.lines().rev().map(|line| format!("{line}\n")).collect::<String>();
    assert_eq!(diff(&[], &reverse(BEFORE), AFTER), joined);
    assert_eq!(diff(&[], BEFORE, &reverse(AFTER)), joined);
    assert_eq!(diff(&["--absolute"], "a b;c 1\n", "a 2\na;b 4\n"), "a 0 2\na;b 0 4\na b;c 1 0\n");
}

/// Native profilers begin stacks with the name of the program, and a build has a name of its own.
#[test]
fn a_program_under_another_name_is_one_program() {
    let files = Files::new();
    let text = |name: &str, parse: u32| format!("{name};main 1\n{name};main;parse {parse}\n");
    let (before, after) =
        (files.put("before", text("bench-1f0a", 40)), files.put("after", text("bench-77c2", 44)));
    let said = "fg-diff: bench-1f0a before and bench-77c2 after are compared as one program\n";
    let joined = "bench-77c2;main 1 1\nbench-77c2;main;parse 40 44\n";
    for (arguments, stdin) in
        [([&before[..], &after], String::new()), ([&before, "-"], text("bench-77c2", 44))]
    {
        let run = run(&arguments, &stdin);
        assert_eq!((run.status, stacks(&run).as_str(), run.stderr.as_str()), (0, joined, said));
    }
    let report = run(&["--format=json", &before, &after], "");
    assert_eq!((report.status, report.stderr.as_str()), (0, said));
    assert!(!report.stdout.contains("bench-1f0a\","), "{}", report.stdout);
    // Beside other threads the command in the header tells which of the roots is the program.
    let threads = |name: &str, n: u32| format!("# command: ./{name} 7\n{}io;run 3\n", text(name, n));
    let (before, after) = (files.put("before", threads("app", 40)), files.put("after", threads("app2", 44)));
    let run = run(&[&before, &after], "");
    assert!(stacks(&run).ends_with("\napp2;main 1 1\napp2;main;parse 40 44\nio;run 3 3\n"), "{}", run.stdout);
    assert_eq!(run.stderr, "fg-diff: app before and app2 after are compared as one program\n");
}

#[test]
fn late_disorder_is_sorted_out() {
    let mut before: String = (0..40_000).map(|n| format!("main;f{n:05} 1\n")).collect();
    let sorted = diff(&["--absolute"], &format!("early 5\n{before}"), "main;f00007 3\n");
    before.push_str("early 5\n");
    assert!(diff(&["--absolute"], &before, "main;f00007 3\n") == sorted);
    assert!(sorted.starts_with("early 5 0\nmain;f00000 1 0\n") && sorted.contains("\nmain;f00007 1 3\n"));
}

#[test]
fn one_side_may_be_standard_input() {
    let files = Files::new();
    let (before, after) = (files.put("before", BEFORE), files.put("after", AFTER));
    let expected = diff(&[], BEFORE, AFTER);
    assert_eq!(stacks(&run(&["-", &after], BEFORE)), expected);
    assert_eq!(stacks(&run(&[&before, "-"], AFTER)), expected);
    assert_eq!(run(&["--table", &before, "-"], AFTER).stdout, diff(&["--table"], BEFORE, AFTER));
    assert_eq!(stacks(&run(&["--fuzzy", &before, "-"], AFTER)), diff(&["--fuzzy"], BEFORE, AFTER));
    let both = run(&["-", "-"], AFTER);
    assert_eq!((both.status, both.stdout.as_str()), (2, ""));
    assert!(both.stderr.contains("only one of the files"), "{}", both.stderr);
}

#[test]
fn a_pipe_may_be_in_any_order() {
    // The lines of a pipe are kept; disorder behind a shared beginning was not seen in them, nor that
    // neighbours have the same stack.
    let files = Files::new();
    let after = files.put("after", AFTER);
    for lines in ["main;b 1\nmain;a 2\nmain;a 3\n", "main;a 2\nmain;a 3\nmain;b 1\n"] {
        let piped = run(&["--absolute", "-", &after], lines);
        assert_eq!(stacks(&piped), diff(&["--absolute"], lines, AFTER));
        assert!(piped.stdout.contains("\nmain;a 5 0\nmain;b 1 0\n"), "{}", piped.stdout);
    }
}

#[test]
fn lines_of_one_stack_add_up() {
    assert_eq!(diff(&["--absolute"], "a 30\na -10\nb; 1\n", "b 1\n"), "a 20 0\nb 1 1\n");
    let workers: String = (0..9000).map(|n| format!("main;worker {n} 1\n")).collect();
    let late = format!("{workers}zebra 1\n");
    let joined = diff(&[], &late, &late);
    assert!(joined.contains("main;worker 7 1 1\n") && joined.ends_with("zebra 1 1\n"));
    assert_eq!(joined.lines().count(), 9001);
}

#[test]
fn several_files_a_side_are_added_up() {
    let files = Files::new();
    let one = files.put("one", "a 1\nb 2\n");
    let two = files.put("two", "a 4\na;x 8\n");
    let three = files.put("three", "c 1\na;x 14\n");
    let run = run(&["--before", &one, &two, "--after", &three], "");
    let stacks = stacks(&run);
    // Two columns do not tell of several runs: the verdict stands beside them.
    let (verdict, lines) = stacks.split_once('\n').unwrap();
    assert!(verdict.starts_with("# verdict: no change; whole 7.5"), "{verdict}");
    assert_eq!((lines, run.stderr.as_str()), ("a 5 0\na;x 8 14\nb 2 0\nc 0 1\n", ""));
}

/// The joined stacks, without the verdict on sides that were scaled.
fn joined(arguments: &[&str], before: &str, after: &str) -> String {
    let stacks = diff(arguments, before, after);
    stacks.split_inclusive('\n').filter(|line| !line.starts_with("# verdict: ")).collect()
}

#[test]
fn normalized_totals_are_equal() {
    let (before, after) = ("a 1\nb 1\nc 1\n", "a 10\n");
    assert_eq!(joined(&["-n"], before, after), "a 3.333 10\nb 3.334 0\nc 3.333 0\n");
    assert_eq!(joined(&["--normalize"], "a 2\nb 3\n", "a 10\n"), "a 4 10\nb 6 0\n");
    assert_eq!(joined(&["--normalize=before"], before, after), "a 1 3\nb 1 0\nc 1 0\n");
    assert_eq!(joined(&["--normalize=after"], before, after), joined(&["-n"], before, after));
    assert_eq!(joined(&["--normalize=6"], before, after), "a 2 6\nb 2 0\nc 2 0\n");
    assert_eq!(joined(&["--normalize-by", "^idle$"], "idle 2\nx 9\n", "idle 4\nx 9\n"), "idle 4 4\nx 18 9\n");
    let none = run(&["--normalize-by", "nothing", "-", &Files::new().put("x", "a 1\n")], "a 1\n");
    assert_eq!(none.status, 2);
    assert_eq!(run(&["--normalize=0", "a", "b"], "").status, 2);
}

#[test]
fn totals_that_differ_are_worth_a_warning() {
    let files = Files::new();
    let (small, large) = (files.put("small", "a 100\n"), files.put("large", "a 121\n"));
    let said = run(&[&small, &large], "");
    assert_eq!((said.status, stacks(&said).as_str()), (0, "a 100 121\n"));
    assert_eq!(
        said.stderr,
        "fg-diff: the totals differ: 100 before, 121 after; -n compares shares, \
         --absolute keeps weights and omits this warning\n"
    );
    for quiet in [&["--absolute"][..], &["-n"], &["-q"]] {
        assert_eq!(run(&[quiet, &[small.as_str(), large.as_str()]].concat(), "").stderr, "", "{quiet:?}");
    }
    assert_eq!(diff(&[], "a 100\n", "a 120\n"), "a 100 120\n");
}

#[test]
fn addresses_are_taken_as_one() {
    let (before, after) = ("main;0x7f12 1\nmain;0x7f13;f 2\n", "main;0xAb 4\n");
    assert_eq!(diff(&["--strip", "hex", "--absolute"], before, after), "main;0x... 1 4\nmain;0x...;f 2 0\n");
}

#[test]
fn names_lose_what_differs_between_builds() {
    let before = "m;a::f::h0123456789abcdef 1\nm;b+0x1f 2\nm;c (x.py:12) 4\n";
    let after = "m;a::f::hfedcba9876543210 1\nm;b+0x2f 2\nm;c (x.py:13) 4\n";
    let joined = "m;a::f 1 1\nm;b 2 2\nm;c (x.py) 4 4\n";
    assert_eq!(diff(&["--strip", "hash,offset,line"], before, after), joined);
    assert_eq!(diff(&["--strip", "hex,hash,line"], before, after), joined.replace("b 2", "b+0x... 2"));
    assert!(diff(&["--table", "--strip", "hash,offset,line"], before, after).contains("  a::f\n"));
    let files = Files::new();
    let wrong = run(&["--strip", "all", &files.put("a", before), &files.put("b", after)], "");
    assert_eq!(wrong.status, 2);
    assert!(wrong.stderr.contains("--strip: \"all\" is none of"), "{}", wrong.stderr);
}

#[test]
fn renamed_functions_are_matched_on_request() {
    let before = "main;old;read 50\nmain;old;write 50\nmain;other 20\n";
    let after = "main;new;read 52\nmain;new;write 44\nmain;other 19\n";
    assert_eq!(
        diff(&["--fuzzy"], before, after),
        "main;new;read 50 52\nmain;new;write 50 44\nmain;other 20 19\n"
    );
    assert!(diff(&[], before, after).contains("main;old;read 50 0\n"));
    assert!(diff(&["--fuzzy", "--table"], before, after).contains("\ntaken for one function: old -> new\n"));
}

#[test]
fn weights_stay_exact() {
    let (before, after) = ("a 0.1\na 0.2\nb 18446744073709551616\n", "a 0.3\nb 18446744073709551617\n");
    assert_eq!(diff(&[], before, after), "a 0.3 0.3\nb 18446744073709551616 18446744073709551617\n");
    let files = Files::new();
    let huge = files.put("huge", "a 99999999999999999999999999999999999999\n".repeat(2));
    let overflow = run(&[&huge, "-"], "a 1\n");
    assert_eq!((overflow.status, overflow.stdout.as_str()), (2, ""));
    assert!(overflow.stderr.contains("huge:2: the weights add up"), "{}", overflow.stderr);
}

#[test]
fn damaged_input_writes_no_output() {
    let files = Files::new();
    let before = files.put("before", BEFORE);
    let many: String = (0..200_000).map(|n| format!("main;f{n:06} 1\n")).collect();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, many.as_bytes()).unwrap();
    let zipped = encoder.finish().unwrap();
    let cut = files.put("cut.gz", &zipped[..zipped.len() - 20]);
    let damaged = run(&[&before, &cut], "");
    assert_eq!((damaged.status, damaged.stdout.as_str()), (2, ""));
    assert!(damaged.stderr.contains("damaged gzip"), "{}", damaged.stderr);
    let out = files.put("out", "as it was\n");
    assert_eq!(run(&["-o", &out, &before, &cut], "").status, 2);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "as it was\n");
    assert_eq!(std::fs::read_dir(files.path()).unwrap().count(), 3);
    let whole = files.put("whole.gz", &zipped);
    assert_eq!(run(&["-q", "-o", &out, &before, &whole], "").status, 0);
    assert_eq!(std::fs::read_to_string(&out).unwrap().lines().count(), 200_005);
}

#[test]
fn lines_that_are_no_stacks_are_said_once_or_refused() {
    let files = Files::new();
    let before = files.put("before", format!("what is this\n{BEFORE}and this\n"));
    let after = files.put("after", AFTER);
    let said = run(&[&before, &after], "");
    assert_eq!(stacks(&said), diff(&[], BEFORE, AFTER));
    assert!(said.stderr.contains("before:1: 2 line(s) not understood") && said.stderr.lines().count() == 1);
    let strict = run(&["--strict", &before, &after], "");
    assert_eq!((strict.status, strict.stdout.as_str()), (2, ""));
    let other = files.put("other", "\x7fELF\nnothing here\n");
    assert_eq!(run(&[&other, &after], "").status, 2);
    let missing = run(&[&before, "/nonexistent/file"], "");
    assert_eq!(missing.status, 2);
    assert!(missing.stderr.contains("/nonexistent/file: cannot open: no such file"), "{}", missing.stderr);
}

#[test]
fn hostile_shapes_are_stacks_like_others() {
    let deep = format!("{}leaf 5\n", "f;".repeat(50_000));
    assert_eq!(diff(&[], &deep, &deep).len(), deep.len() + 2);
    assert!(diff(&["--table"], &deep, &deep).contains("leaf"));
    let odd = "a;;b 1\n;x 2\na; 3\n";
    assert_eq!(diff(&[], odd, odd), ";x 2 2\na 3 3\na;;b 1 1\n");
    diff(&["--table"], odd, odd);
}

#[test]
fn help_is_help_and_short_help_fits() {
    let help = run(&["-h"], "");
    assert_eq!(help.status, 0);
    for line in help.stdout.lines().filter(|line| !line.contains("--generate") && !line.contains("man, bash"))
    {
        assert!(line.chars().count() <= 79, "{line}");
    }
    assert_eq!(run(&[], "").status, 2);
    assert_eq!(run(&["only-one"], "").status, 2);
}

/// Runs with standard output in a file, as a shell's `>` and `>>` have it; what the file holds.
fn into_file(arguments: &[&str], before: &str, append: bool) -> (i32, String, String) {
    let files = Files::new();
    let path = files.put("out", before);
    let mut options = std::fs::OpenOptions::new();
    let options = if append { options.append(true) } else { options.write(true).truncate(true) };
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_fg-diff"))
        .args(arguments)
        .stdout(options.open(&path).unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), std::fs::read_to_string(&path).unwrap(), said)
}

#[test]
fn a_file_as_standard_output_holds_all_or_nothing() {
    let many: String = (0..40_000).map(|n| format!("main;f{n:05} 1\n")).collect();
    let files = Files::new();
    let after = files.put("after", AFTER);
    let sorted = files.put("sorted", &many);
    let late = files.put("late", format!("{many}early 5\n"));
    let no_stacks = files.put("none", "what is this\n");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, many.as_bytes()).unwrap();
    let zipped = encoder.finish().unwrap();
    let damaged = files.put("damaged", &zipped[..zipped.len() - 20]);
    for (before, status) in [(&sorted, 0), (&late, 0), (&damaged, 2), (&no_stacks, 2)] {
        let piped = run(&["--absolute", before, &after], "");
        for append in [false, true] {
            let (code, text, said) = into_file(&["--absolute", before, &after], "header\n", append);
            let expected = format!("{}{}", if append { "header\n" } else { "" }, piped.stdout);
            assert_eq!((code, said), (status, piped.stderr.clone()), "{before}");
            assert!(text == expected, "{before}: {} bytes, not {}", text.len(), expected.len());
        }
    }
    let out = files.put("out", "as it was\n");
    assert_eq!(run(&["-o", &out, "--absolute", &late, &after], "").status, 0);
    assert!(std::fs::read_to_string(&out).unwrap() == run(&["--absolute", &late, &after], "").stdout);
}

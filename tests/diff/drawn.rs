//! Pictures and other files that `fg-diff` writes itself, by the ending of `-o`.

use super::{Files, run, run_program};

const BEFORE: &str = "# unit: ns\n# command: ./old\nm;lex 2000\nm;parse 4000\nm 100\n";
const AFTER: &str = "# unit: ns\n# command: ./new\nm;lex 5000\nm;write 4100\nm 100\n";

/// The file that `fg-diff` writes, and the stacks that it writes to standard output.
fn drawn(options: &[&str], name: &str) -> (Vec<u8>, String) {
    let files = Files::new();
    let (before, after) = (files.put("before", BEFORE), files.put("after", AFTER));
    let path = files.path().join(name);
    let sides = [before.as_str(), after.as_str()];
    let to_file = [options, &["-q", "-o", path.to_str().unwrap()], &sides].concat();
    let result = run(&to_file, "");
    assert_eq!((result.status, result.stdout.as_str(), result.stderr.as_str()), (0, "", ""), "{name}");
    (std::fs::read(path).unwrap(), run(&[options, &["-q"], &sides].concat(), "").stdout)
}

#[test]
fn the_ending_of_the_output_says_the_format_as_for_fg_render() {
    let endings = ["svg", "html", "HTM", "md", "json", "tsv", "speedscope.json", "top", "top.txt", "dot"];
    for ending in endings {
        for options in [&[][..], &["-n"], &["--strip-hex"]] {
            let (file, stacks) = drawn(options, &format!("diff.{ending}"));
            let files = Files::new();
            let (input, output) = (files.put("stacks", stacks), files.path().join(format!("diff.{ending}")));
            let arguments = ["-q", "-o", output.to_str().unwrap(), &input];
            assert_eq!(run_program(env!("CARGO_BIN_EXE_fg-render"), &arguments, "").status, 0, "{ending}");
            assert!(std::fs::read(output).unwrap() == file, "{ending} {options:?}");
        }
    }
}

#[test]
fn other_endings_are_folded_text() {
    for name in ["diff.folded", "diff.collapsed", "diff.txt", "diff", "diff.nosuch", "diff.list", "diff.peek"]
    {
        let (file, stacks) = drawn(&[], name);
        assert!(stacks.contains("m;lex 2000 5000\n"), "{stacks}");
        assert_eq!(String::from_utf8(file).unwrap(), stacks, "{name}");
    }
}

#[test]
fn a_report_that_is_asked_for_is_that_whatever_the_ending() {
    for (option, ending, begin) in [("--markdown", "md", "**"), ("--format=json", "json", "{\n  \"verdict\"")]
    {
        let (file, _) = drawn(&[option], &format!("diff.{ending}"));
        assert!(file.starts_with(begin.as_bytes()), "{option}: {}", String::from_utf8_lossy(&file));
    }
}

#[test]
fn the_limits_of_a_change_hold_for_a_picture() {
    let tips = |options: &[&str]| String::from_utf8(drawn(options, "diff.svg").0).unwrap();
    assert_ne!(tips(&[]), tips(&["--min-effect", "90"]));
}

//! The operations of `fg-filter` through the real binary: each example of the registry, the laws
//! they obey, and the recipes of `--help`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use fg_tools::Weight;
use fg_tools::filter::{OPERATIONS, OperationGroup};
use fg_tools::folded::{cmp_stacks, is_comment};
use proptest::prelude::*;

use super::feed::text;
use super::recordings::corpus;

/// Runs it on folded text: some of the stacks below look like those of other formats.
fn run(arguments: &[&str], input: impl AsRef<[u8]>) -> Output {
    super::run(&[arguments, &["--input-format", "folded"]].concat(), input)
}

fn filter(arguments: &[&str], input: impl AsRef<[u8]>) -> String {
    let output = run(arguments, input);
    assert_ne!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn said(arguments: &[&str], input: impl AsRef<[u8]>) -> String {
    text(&run(arguments, input).stderr)
}

fn trouble(arguments: &[&str], input: impl AsRef<[u8]>) -> String {
    let output = run(arguments, input);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    said
}

#[test]
fn case_is_ignored_unless_the_expression_has_a_capital() {
    let input = "# labels: k\nk=Pool;a;Alloc 1\nk=pool;a;alloc 2\n";
    let (one, other) = ("k=Pool;a;Alloc 1\n", "k=pool;a;alloc 2\n");
    let both = [one, other].concat();
    for (arguments, expected) in [
        (&["alloc"][..], &both[..]),
        (&["Alloc"], one),
        (&["-i", "Alloc"], &both),
        (&["-s", "alloc"], other),
        (&["-i", "-s", "alloc"], other),
        (&["-s", "-i", "Alloc"], &both),
        (&["--fixed-strings", "alloc"], &both),
        (&["--fixed-strings", "Alloc"], one),
        (&["-e", "Alloc", "-e", "nosuch"], one),
        (&[r"\Walloc"], &both),
        (&["--focus", "alloc"], &both),
        (&["--focus", "(?-i)alloc"], other),
        (&["--focus", "Alloc"], one),
        (&["-s", "--focus", "alloc"], other),
        (&["--ignore", "Alloc"], other),
        (&["--leaf", "alloc"], &both),
        (&["--with-label", "k~^pool$"], &both),
        (&["--with-label", "k~^Pool$"], one),
        (&["-s", "--with-label", "k~^pool$"], other),
        // Names are replaced as sed replaces.
        (&["--rename", "s/alloc/x/", "--focus", "x"], "k=pool;a;x 2\n"),
        (&["--rename", "s/alloc/x/i", "--focus", "x"], "k=Pool;a;x 1\nk=pool;a;x 2\n"),
    ] {
        assert_eq!(filter(&[arguments, &["--no-header"]].concat(), input), expected, "{arguments:?}");
    }
}

#[test]
fn every_operation_does_what_its_examples_say() {
    for operation in OPERATIONS {
        let option = format!("--{}", operation.name);
        assert!(!operation.examples.is_empty(), "{option} has no example");
        for example in operation.examples {
            let arguments = example.arguments;
            let its_own = |argument: &&str| argument.split('=').next() == Some(option.as_str());
            assert!(arguments.iter().any(its_own), "{option}: {arguments:?}");
            let output = run(arguments, example.input);
            assert_eq!(text(&output.stdout), example.output, "{arguments:?} of\n{}", example.input);
            assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        }
    }
}

#[test]
fn examples_hold_for_two_columns() {
    for operation in OPERATIONS.iter().filter(|operation| operation.group != OperationGroup::Weights) {
        for example in operation.examples {
            let two = |text: &str| -> String {
                let line = |line: &str| match line.trim_end().rsplit_once(' ') {
                    Some((stack, weight)) if !line.starts_with('#') => format!("{stack} 0 {weight}\n"),
                    _ => format!("{line}\n"),
                };
                text.lines().map(line).collect()
            };
            if is_differential(example.input) {
                continue;
            }
            let arguments = example.arguments;
            assert_eq!(filter(arguments, two(example.input)), two(example.output), "{arguments:?}");
        }
    }
}

/// Returns true if every stack has two numbers behind it.
fn is_differential(text: &str) -> bool {
    text.lines().filter(|line| !line.starts_with('#')).all(|line| {
        line.trim_end().rsplitn(3, ' ').take(2).all(|field| Weight::parse(field.as_bytes()).is_some())
    })
}

#[test]
fn operations_are_applied_in_their_order() {
    let input = "a;b;c 1\nx;b 2\n";
    assert_eq!(filter(&["--hide", "a", "--rooted-at", "b"], input), "b;c 1\n");
    assert_eq!(run(&["--rooted-at", "b", "--hide", "a"], input).status.code(), Some(1));
    assert_eq!(filter(&["--reverse", "--depth", "1", "--rename", "s/c/z/"], input), "b 2\nz 1\n");
    assert_eq!(filter(&["--depth", "1", "--rename", "s/c/z/", "--reverse"], input), "a 1\nx 2\n");
    let input = "a 1\nb 2\nc 3\n";
    assert_eq!(filter(&["--top", "2", "--ignore", "c", "--min-percent", "100"], input), "b 2\n");
    assert_eq!(filter(&["--top", "2", "--rename", "s/[bc]/x/", "--top", "1"], input), "x 5\n");
}

#[test]
fn with_operations_all_arguments_are_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.folded");
    std::fs::write(&path, "a;b 1\na;c 2\nb;c 4\n").unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(filter(&["--focus", "b", path], ""), "a;b 1\nb;c 4\n");
    assert_eq!(filter(&[path, "--focus", "b"], ""), "a;b 1\nb;c 4\n");
    assert_eq!(filter(&["--focus", "b", path, "-"], "b 8\n"), "a;b 1\nb;c 4\nb 8\n");
    // A pattern goes first, wherever it stands.
    assert_eq!(filter(&["--hide", "c", "-e", "^a;c", path], ""), "a 2\n");
    assert_eq!(filter(&["--hide", "c", "-v", "-e", "^a", path], ""), "b 4\n");
    assert_eq!(filter(&["--hide", "c", "-x", "--fixed-strings", "-e", "b", path], ""), "a;b 1\nb 4\n");
    let hint = trouble(&["malloc", "--hide", "c", path], "");
    assert!(hint.contains("malloc: there is no such file; a pattern beside operations needs -e"), "{hint}");
    assert!(trouble(&["-v", "--hide", "c", path], "").contains("give it by -e"));
    // An option about case applies to all patterns.
    assert_eq!(filter(&["-i", "--focus", "^B$", "-e", "^A", path], ""), "a;b 1\n");
}

#[test]
fn selecting_copies_lines_as_they_stand() {
    let input = "# a comment\nz;a 007\r\na;a 1.50\n\nz;a 1\nq 1";
    let selected = "# a comment\nz;a 007\r\na;a 1.50\nz;a 1\n";
    for arguments in [&["--focus", "a"][..], &["--ignore", "q"], &["--leaf", "a", "--thread", "a|z"]] {
        assert_eq!(filter(arguments, input), selected, "{arguments:?}");
    }
    // An operation that changes stacks adds them up, in order.
    assert_eq!(filter(&["--hide", "q"], input), "# comment: a comment\na;a 1.5\nz;a 8\n");
}

#[test]
fn an_expression_that_matched_nothing_is_said_so() {
    for operation in [
        "focus",
        "ignore",
        "rooted-at",
        "leaf",
        "thread",
        "process",
        "hide",
        "show",
        "show-from",
        "show-from-leaf",
        "prune-from",
        "collapse",
    ] {
        let option = format!("--{operation}");
        let nothing = said(&[&option, "nope"], "a;b 1\n");
        assert_eq!(nothing, format!("fg-filter: {option} nope: matched no frame\n"));
        assert_eq!(said(&[&option, "a"], "a 1\n"), "");
    }
    for (arguments, remark) in [
        (&["--path", "b;a"][..], "--path b;a: matched no stack"),
        (&["--rename", "s/x/y/"], "--rename s/x/y/: changed no name"),
        (&["--strip", "hash"], "--strip hash: changed no name"),
        (&["--demangle"], "--demangle: found no mangled name"),
        (&["--merge-threads"], "--merge-threads: found no frame that names a process or a thread"),
        (&["--kind", "kernel"], "--kind kernel: no stack ends in a frame with _[k]"),
        (&["--idle"], "--idle: no stack is idle"),
    ] {
        let nothing = said(arguments, "a;b 1\n");
        assert!(nothing.starts_with(&format!("fg-filter: {remark}")), "{nothing}");
        assert_eq!(nothing.lines().count(), 1);
    }
}

#[test]
fn an_operation_that_does_something_says_nothing() {
    let labelled = "# labels: thread\nthread=1;a 1\n";
    for (arguments, input) in [
        (&["--merge-threads"][..], "P12;T0:12;main 1\nmain 1\n"),
        (&["--recursion", "direct"], "a;a;b 1\n"),
        (&["--rename", "s/a/c/"], "a 1\nb 1\n"),
        (&["--strip", "hash"], "a::h0123456789abcdef 1\nb 1\n"),
        (&["--demangle"], "_ZN3foo3barEv 1\nb 1\n"),
        (&["--kind", "kernel"], "a;b_[k] 1\nb 1\n"),
        (&["--path", "a;b"], "a;b 1\nb 1\n"),
        (&["--with-label", "thread=1"], labelled),
        (&["--drop-label", "thread"], labelled),
        (&["--rename-label", "thread=worker"], labelled),
    ] {
        assert_eq!(said(arguments, input), "", "{arguments:?}");
    }
}

#[test]
fn what_is_written_is_read_again_as_it_is() {
    // A root that looks like a comment once the label before it is gone.
    let labelled = "# labels: thread\nthread=1;# a;b 1\nthread=1;c 2\n";
    assert_eq!(filter(&["--drop-label", "thread"], labelled), "#_a;b 1\nc 2\n");
    // A root alone: no frame without a name is a leaf.
    for operation in [
        &["--top", "5"][..],
        &["--min-percent", "1"],
        &["--hide", "q"],
        &["--scale", "1"],
        &["--rename", "s/q/r/"],
    ] {
        assert_eq!(filter(operation, "#; 1\n#_ 3\na 2\n"), "#_ 4\na 2\n", "{operation:?}");
    }
    // Weights have one form.
    assert_eq!(filter(&["--hide", "q"], "a 012\nb 0\nc 00\nd 7\n"), "a 12\nb 0\nc 0\nd 7\n");
}

#[test]
fn names_that_are_too_long_to_be_stripped_stay_as_they_are() {
    let hash = "::h0123456789abcdef";
    // 32 kB are not too long.
    for (length, changes) in [(32 * 1024, true), (32 * 1024 + 1, false)] {
        let name = "a".repeat(length - hash.len());
        let left = if changes { "" } else { hash };
        let output = filter(&["--strip", "hash"], format!("{name}{hash} 1\n"));
        assert!(output == format!("{name}{left} 1\n"), "{length}: {}", output.len());
    }
}

#[test]
fn units_that_cannot_be_converted_are_said_with_the_option() {
    let refused = |unit: &str| {
        let output = run(&["--to-unit", unit], "# unit: sheep\na 1\n");
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr)
    };
    assert!(
        refused("ms").contains(": --to-unit: \"sheep\" is not a unit it can convert"),
        "{}",
        refused("ms")
    );
    assert!(
        refused("ns:ms").ends_with(": --to-unit: the profile says its weights are in sheep\n"),
        "{}",
        refused("ns:ms")
    );
}

#[test]
fn idle_says_what_it_dropped() {
    let input =
        "m;do_idle 5\nm;epoll_wait 2\nm;epoll_wait;do_epoll_wait 1\nm;poll 1\nm;pause 0.5\nm;work 1\n";
    assert_eq!(
        said(&["--idle"], input),
        "fg-filter: --idle: dropped 5 stacks that wait: do_idle (1, weight 5), \
         epoll_wait (1, weight 2), do_epoll_wait (1, weight 1) and 2 more\n"
    );
    assert_eq!(
        said(&["--idle"], "m;do_idle 5\nm;epoll_wait 2\nm;poll 1\nn;poll 1\nm;work 1\n"),
        "fg-filter: --idle: dropped 4 stacks that wait: do_idle (1, weight 5), epoll_wait (1, weight 2), \
         poll (2, weight 2)\n"
    );
}

#[test]
fn stats_say_what_each_operation_did() {
    let output = run(
        &["--stats", "-e", "^m", "--hide", "b", "--focus", "c", "--scale", "2"],
        "m;a;b 1\nm;b;c 2\nm;c 4\nm;x 8\nq 16\n",
    );
    assert_eq!(text(&output.stdout), "m;c 12\n");
    assert_eq!(
        text(&output.stderr),
        "\
operation  stacks  weight  kept  weight  dropped  weight
--hide b        4      15     4      15        0       0
--focus c       4      15     2       6        2       9
--scale 2       2       6     2      12        0       -
all             5      31     1      12        3      25
"
    );
    let two = said(&["--stats", "--top", "1"], "a 1 2\nb 3 4\n");
    assert!(two.lines().nth(1).unwrap().ends_with("2     4/6     1     3/4        1     1/2"), "{two}");
    let plain = said(&["--stats", "a"], "a 1\nb 2\n");
    assert!(plain.lines().last().unwrap().starts_with("all"), "{plain}");
}

#[test]
fn counting_and_asking_work_with_operations() {
    let input = "a;b 1\na;c 2\nb;c 4\n";
    assert_eq!(
        filter(&["-c", "--focus", "b"], input),
        "kept stacks 2 weight 5 (71.43%)\ndropped stacks 1 weight 2 (28.57%)\n"
    );
    assert_eq!(
        filter(&["-c", "--skip-roots", "1"], input),
        "kept stacks 2 weight 7 (100.00%)\ndropped stacks 0 weight 0 (0.00%)\n"
    );
    assert_eq!(
        filter(&["-c", "--top", "1"], input),
        "kept stacks 1 weight 4 (57.14%)\ndropped stacks 2 weight 3 (42.86%)\n"
    );
    let quiet = run(&["-q", "--hide", "b"], input);
    assert_eq!((quiet.status.code(), quiet.stdout.len(), quiet.stderr.len()), (Some(0), 0, 0));
    assert_eq!(run(&["-q", "--hide", "."], input).status.code(), Some(1));
    assert_eq!(run(&["--hide", "."], input).status.code(), Some(1));
}

#[test]
fn mistakes_are_named() {
    for (arguments, what) in [
        (&["--hide", "a("][..], "--hide: regular expression \"a(\": unclosed group"),
        (&["--path", "..."], "--path: it names no frame"),
        (&["--path", "a;("], "--path: regular expression \"(\""),
        (&["--rename", "s/a/b"], "--rename: \"s/a/b\" is not of the form s/R/TEXT/"),
        (&["--rename", "s/a/b/x"], "there are g and i"),
        (&["--recursion", "sideways"], "--recursion: \"sideways\" is neither direct nor cycles"),
        (&["--strip", "hash,nope"], "--strip: \"nope\" is none of hash, hex, offset, line, args, templates"),
        (&["--depth", "0"], "--depth: \"0\" is no whole number above 0"),
        (&["--top", "ten"], "--top: \"ten\" is no whole number above 0"),
        (&["--kind", "no-such"], "--kind: \"no-such\" is none of kernel, user, inlined and jit"),
        (&["--min-weight", "1e3"], "--min-weight: \"1e3\" is no weight"),
        (&["--min-percent", "x"], "--min-percent: \"x\" is no percentage"),
        (&["--scale", "0"], "--scale: \"0\" is no factor"),
        (&["--to-unit", "ms"], "no line `# unit: …` says what the weights are in"),
        (&["--to-unit", "parsecs"], "--to-unit: \"parsecs\" is not a unit it can convert"),
        (&["--to-unit", "ns:kB"], "--to-unit: ns is a time, kB is a size"),
        (&["--show", "(a{1000}){1000}{1000}"], "--show: the regular expression takes more than"),
    ] {
        let message = trouble(arguments, "a 1\n");
        assert!(message.contains(what), "{arguments:?}: {message}");
    }
}

#[test]
fn units_are_those_the_files_state() {
    let header = "# unit: ns\na 1500\n";
    assert_eq!(filter(&["--hide", "b"], header), header);
    assert_eq!(filter(&["--to-unit", "ns:us"], header), "# unit: us\na 1.5\n");
    assert!(trouble(&["--to-unit", "ms:us"], header).contains("the profile says its weights are in ns"));
    assert!(trouble(&["--to-unit", "B"], header).contains("ns is a time, B is a size"));
    assert_eq!(filter(&["--to-unit", "ns:us", "--to-unit", "us:ms"], "a 1500\n"), "a 0.0015\n");
    assert!(trouble(&["--to-unit", "ns:us", "--to-unit", "ms"], "a 1500\n").contains("no line `# unit"));
    assert!(trouble(&["--to-unit", "s"], "# unit: cycles\na 1\n").contains("\"cycles\" is not a unit"));

    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (ns, us) = (path("ns", header), path("us", "# unit: us\na 2\n"));
    for arguments in
        [&["--to-unit", "us"][..], &["--hide", "x"], &["--top", "1"], &["--focus", "a"], &["-e", "a"]]
    {
        let mixed = trouble(&[arguments, &[&ns, &us]].concat(), "");
        assert!(mixed.contains("us:1: expected the unit ns, as in the text before, found \"us\""), "{mixed}");
    }
    // A file that does not state its unit may have another unit than the others.
    let plain = path("plain", "a 500\n");
    assert_eq!(filter(&["--hide", "x", &ns, &plain], ""), "a 2000\n");
    assert_eq!(filter(&["--to-unit", "ns:us", &plain, &ns], ""), "a 2\n");
    assert!(trouble(&["--to-unit", "us", &ns, &plain], "").contains("plain:1: --to-unit: no line `# unit"));
    assert_eq!(filter(&["--to-unit", "us", &ns, &path("empty", "")], ""), "a 1.5\n");
}

#[test]
fn changed_stacks_stay_valid_stacks() {
    // A root that reads like a comment.
    assert_eq!(filter(&["--skip-roots", "1"], "a;# b;c 1\nb;# b 2\n"), "#_b 2\n#_b;c 1\n");
    assert_eq!(filter(&["--skip-roots", "1"], "a;# 1\nb;#;c 2\n"), "#;c 2\n#_ 1\n");
    // A frame without a name is a frame, but none at the end of a stack.
    assert_eq!(filter(&["--depth", "-1"], "a; 1\nb; 2\n;c 4\n"), "a 1\nb 2\nc 4\n");
    assert_eq!(filter(&["--depth", "1"], ";a 1\n 2\n"), " 3\n");
    assert_eq!(filter(&["--reverse"], ";a 1\n;;b 2\n"), "a 1\nb 2\n");
    assert_eq!(filter(&["--hide", "a"], "b;;a 1\n"), "b 1\n");
    assert_eq!(filter(&["--rename", "s/$/;\u{1}/"], "a 1\n"), "a:\u{1} 1\n");
}

#[test]
fn hostile_stacks_are_stacks_like_others() {
    let deep = format!("{}leaf 5\n", "f;g;".repeat(50_000));
    assert_eq!(filter(&["--recursion", "cycles"], &deep), "f;g;leaf 5\n");
    assert_eq!(filter(&["--hide", "^f$"], &deep), format!("{}leaf 5\n", "g;".repeat(50_000)));
    // No two neighbouring runs of this are the same, so there is no cycle to be found.
    let mut free = String::new();
    for n in 0..60_000u32 {
        free.push_str(["a;", "b;", "c;"][((n.count_ones() % 2) + (n + 1).count_ones() % 2) as usize]);
    }
    filter(&["--recursion", "cycles"], format!("{free}x 1\n"));
    let brackets =
        format!("f{};f{};f{} 1\n", "<".repeat(30_000), "()".repeat(15_000), "()+0x1".repeat(2_000));
    let stripped = filter(&["--strip", "templates,args,hash,offset"], &brackets);
    assert_eq!(stripped, format!("f{};f;f 1\n", "<".repeat(30_000)));
    let long = format!("main;{} 5\n", "n".repeat(1 << 20));
    assert_eq!(filter(&["--strip", "args", "--demangle", "--hide", "x"], &long), long);
    let invalid = b"a\xff;b\xfe 1\nc 2\n";
    assert_eq!(run(&["--hide", "b"], invalid).stdout, b"a\xff 1\nc 2\n".map(|b| b));
    assert!(
        trouble(&["--hide", "b"], "a;b 99999999999999999999999999999999999999\n".repeat(2))
            .contains("add up to more")
    );
    assert!(trouble(&["--scale", "99999999999999999999"], "a 99999999999999999999\n").contains(":1: "));
}

#[test]
fn more_names_than_the_cache_holds() {
    // The lines have names of their own, more than the 64 MB that are remembered. Names that come
    // again after that get other numbers.
    let long = "n".repeat(1 << 20);
    let line = |n: usize| match n % 3 {
        0 => format!("a;{n}{long} 1\n"),
        1 => format!("{n}{long};wanted 1\n"),
        _ => format!("other;{n}{long};b 1\n"),
    };
    let input: String = (0..75).map(line).collect();
    let expected: String = (0..75).filter(|n| n % 3 == 1).map(line).collect();
    assert!(filter(&["--focus", "^wanted$", "--ignore", "^other$"], &input) == expected);
}

#[test]
fn help_shows_every_operation_in_its_group() {
    let shown = |arguments: &[&str]| text(&super::run(arguments, "").stdout);
    let help = shown(&["--help"]);
    let (man, fish) = (shown(&["--generate", "man"]), shown(&["--generate", "fish"]));
    for group in
        [OperationGroup::Select, OperationGroup::Frames, OperationGroup::Names, OperationGroup::Weights]
    {
        assert!(help.contains(&format!("\n{}:\n", group.heading())), "{group:?}");
    }
    for operation in OPERATIONS {
        let option = format!("--{}", operation.name);
        if ["label-re", "leaf-depth"].contains(&operation.name) {
            assert!(
                !help.contains(&option) && !man.contains(&option.replace('-', "\\-")),
                "{option}: an old name"
            );
            continue;
        }
        assert!(help.contains(&option), "{option}");
        assert!(man.contains(&option.replace('-', "\\-")), "{option}");
        assert!(fish.contains(&format!("-l {}", operation.name)), "{option}");
    }
}

/// Folded text whose names are safe from being taken for weights.
fn profile() -> impl Strategy<Value = String> {
    let frame = prop::sample::select(vec![
        "a",
        "b",
        "c",
        "ab",
        "main",
        "P1",
        "T0:7",
        "thread (3): x",
        "process 4:\"x\"",
        "w-1/2",
        "w-1",
        "epoll_wait",
        "schedule",
        "[unknown]",
        "f_[k]",
        "g_[i]",
        "h_[j]",
        "f(int)",
        "V<T>::g",
        "x::h0123456789abcdef",
        "y+0x12",
        "0x1f z",
        "p (q.py:3)",
        "_ZN1a1bEv",
        "[other]",
        "n n",
        "",
        "# x",
        "#",
    ]);
    let line = (proptest::collection::vec(frame, 1..7), prop_oneof!["[0-9]{1,3}", "[0-9]{1,2}\\.[0-9]{1,2}"]);
    proptest::collection::vec(line, 0..12).prop_map(|lines| {
        let lines: BTreeMap<Vec<String>, String> = lines
            .into_iter()
            .map(|(frames, weight)| (frames.into_iter().map(str::to_owned).collect(), weight))
            // A line that starts with `#` is a comment, not a stack.
            .filter(|(frames, _): &(Vec<String>, _)| frames[0] != "# x" && frames != &["#"])
            .collect();
        lines.into_iter().map(|(frames, weight)| format!("{} {weight}\n", frames.join(";"))).collect()
    })
}

/// Operations with values, as arguments.
fn operation() -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::select(vec![
        vec!["--focus", "a"],
        vec!["--ignore", "b|P"],
        vec!["--rooted-at", "a|T"],
        vec!["--leaf", "^[a-m]"],
        vec!["--path", "a;...;b"],
        vec!["--thread", "[17]|a"],
        vec!["--process", "[14]|a"],
        vec!["--kind", "no-kernel"],
        vec!["--idle"],
        vec!["--hide", "b|main"],
        vec!["--show", "[a-f]"],
        vec!["--show-from", "b|f"],
        vec!["--show-from-leaf", "b|f"],
        vec!["--prune-from", "a"],
        vec!["--collapse", "b|g"],
        vec!["--recursion", "direct"],
        vec!["--recursion", "cycles"],
        vec!["--squash-unknown"],
        vec!["--depth", "2"],
        vec!["--depth", "-2"],
        vec!["--leaf-depth", "2"],
        vec!["--skip-roots", "1"],
        vec!["--merge-threads"],
        vec!["--reverse"],
        vec!["--rename", "s/[ab]/x/g"],
        vec!["--rename", "s/.*//"],
        vec!["--strip", "hash,hex,offset,line,args,templates,annotations"],
        vec!["--demangle"],
        vec!["--min-weight", "20"],
        vec!["--min-percent", "10"],
        vec!["--top", "3"],
        vec!["--scale", "0.5"],
        vec!["--to-unit", "ns:us"],
    ])
}

fn total(folded: &str) -> Weight {
    folded.lines().filter(|line| !is_comment(line.as_bytes())).fold(Weight::ZERO, |sum, line| {
        let (_, weight) = line.rsplit_once(' ').unwrap();
        sum.checked_add(Weight::parse(weight.as_bytes()).unwrap()).unwrap()
    })
}

#[test]
fn the_laws_are_tried_on_every_operation() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let tried: Vec<&str> =
        (0..2000).map(|_| operation().new_tree(&mut runner).unwrap().current()[0]).collect();
    // Those on labels need stacks with labels: see labels.rs.
    for operation in OPERATIONS.iter().filter(|operation| operation.group != OperationGroup::Labels) {
        assert!(tried.contains(&format!("--{}", operation.name).as_str()), "{}", operation.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_comes_out_is_folded_text_in_frame_order(input in profile(), operation in operation()) {
        let output = filter(&operation, &input);
        let stacks: Vec<&str> = output.lines().map(|line| line.rsplit_once(' ').unwrap().0).collect();
        prop_assert!(stacks.windows(2).all(|pair| cmp_stacks(pair[0].as_bytes(), pair[1].as_bytes()).is_lt()), "{}", output);
        prop_assert_eq!(filter(&["-e", "", "--strict"], &output), output);
    }

    #[test]
    fn some_operations_change_nothing_the_second_time(
        input in profile(),
        operation in operation().prop_filter("idempotent", |operation| {
            !["--skip-roots", "--reverse", "--scale", "--to-unit", "--min-percent", "--merge-threads"].contains(&operation[0])
        }),
    ) {
        let once = filter(&operation, &input);
        prop_assert_eq!(filter(&operation, &once), once);
    }

    #[test]
    fn some_operations_conserve_the_total(
        input in profile(),
        operation in operation().prop_filter("conserving", |operation| {
            ["--rename", "--collapse", "--strip", "--depth", "--leaf-depth", "--reverse", "--merge-threads", "--recursion",
                "--squash-unknown", "--prune-from", "--demangle"].contains(&operation[0])
        }),
    ) {
        prop_assert_eq!(total(&filter(&operation, &input)), total(&input));
    }

    /// A stack of which all frames are hidden is dropped; everything else stays.
    #[test]
    fn hide_drops_only_fully_hidden_stacks(input in profile()) {
        let hidden = |line: &str| {
            let (stack, _) = line.rsplit_once(' ').unwrap();
            // A stack does not end in a frame without a name.
            let stack = stack.trim_end_matches(';');
            stack.split(';').all(|frame| frame.contains('b') || frame.contains("main"))
        };
        let rest: String = input.lines().filter(|line| !hidden(line)).map(|line| format!("{line}\n")).collect();
        prop_assert_eq!(total(&filter(&["--hide", "b|main"], &input)), total(&rest));
    }

    #[test]
    fn rest_option_conserves_the_total(input in profile(), count in 1..5usize, percent in 0..60u32) {
        let (count, percent) = (count.to_string(), percent.to_string());
        for operation in [["--top", &count], ["--min-percent", &percent], ["--min-weight", &percent]] {
            let arguments = [operation[0], operation[1], "--rest"];
            let once = filter(&arguments, &input);
            prop_assert_eq!(total(&once), total(&input));
            prop_assert_eq!(filter(&arguments, &once), once);
        }
    }

    #[test]
    fn focus_and_ignore_part_the_input(input in profile(), expression in prop::sample::select(vec!["a", "b", "P", "7", "^f", "x$"])) {
        let focused = filter(&["--focus", expression], &input);
        let ignored = filter(&["--ignore", expression], &input);
        let mut both: Vec<&str> = focused.lines().chain(ignored.lines()).collect();
        both.sort_by(|a, b| {
            cmp_stacks(a.rsplit_once(' ').unwrap().0.as_bytes(), b.rsplit_once(' ').unwrap().0.as_bytes())
        });
        prop_assert_eq!(both, input.lines().collect::<Vec<_>>());
    }

    #[test]
    fn two_operations_are_two_runs(input in profile(), first in operation(), second in operation(), differential: bool) {
        let input: String = match differential {
            true => input.lines().map(|line| {
                let (stack, weight) = line.rsplit_once(' ').unwrap();
                format!("{stack} {} {weight}\n", weight.len())
            }).collect(),
            false => input,
        };
        // Half of the profiles say their unit.
        let input = if input.len().is_multiple_of(2) { format!("# unit: ns\n{input}") } else { input };
        if [&first, &second].iter().all(|operation| operation[0] == "--to-unit") && input.starts_with('#') {
            return Ok(()); // The second is told another unit than the first made.
        }
        let both = filter(&[first.clone(), second.clone()].concat(), &input);
        let piped = filter(&second, filter(&first, &input));
        prop_assert_eq!(both, piped);
    }
}

#[test]
fn the_recipes_of_the_help_run() {
    let help = text(&run(&["--help"], "").stdout);
    let (_, recipes) = help.split_once("Recipes:\n").unwrap();
    let commands: Vec<&str> =
        recipes.lines().map(str::trim).filter(|l| l.starts_with("fg-filter ")).collect();
    assert_eq!(commands.len(), 6, "{recipes}");
    let mut profile = String::from(
        "app;main;app_run;malloc;brk_[k] 2\napp;main;SSL_read;bio 4\napp;worker-3;app_run 8\n\
         app;worker_12;app_run;malloc 16\nP1;T0:2;app_run 32\napp;do_idle 64\n\
         app;x::f::h0123456789abcdef+0x12 128\n",
    );
    let mut expected = vec![
        "app 192\napp;app_run 24\napp;main 4\napp;main;app_run 2\napp_run 32\n",
        "app;do_idle 64\napp;main;SSL_read;bio 4\napp;main;app_run;malloc;brk_[k] 2\napp;worker;app_run 8\n\
         app;worker;app_run;malloc 16\napp;x::f::h0123456789abcdef+0x12 128\napp_run 32\n",
        "app;main;app_run;malloc;brk_[k] 2\napp;main;SSL_read;bio 4\napp;worker-3;app_run 8\n\
         app;worker_12;app_run;malloc 16\nP1;T0:2;app_run 32\napp;x::f::h0123456789abcdef+0x12 128\n",
        "P1;T0:2;app_run 32\napp;do_idle 64\napp;main;SSL_read 4\napp;main;app_run;malloc;brk_[k] 2\n\
         app;worker-3;app_run 8\napp;worker_12;app_run;malloc 16\napp;x::f::h0123456789abcdef+0x12 128\n",
        "P1;T0:2;app_run 32\napp;do_idle 64\napp;main;SSL_read;bio 4\napp;main;app_run;malloc;brk_[k] 2\n\
         app;worker-3;app_run 8\napp;worker_12;app_run;malloc 16\napp;x::f 128\n",
        "malloc;app_run;main;app 2\nmalloc;app_run;worker_12;app 16\n",
    ];
    let folder = tempfile::tempdir().unwrap();
    let tools = Path::new(env!("CARGO_BIN_EXE_fg-filter")).parent().unwrap();
    let path = std::env::join_paths([tools, Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    let run_all = |profile: &str, check: &mut dyn FnMut(&str, &Output)| {
        std::fs::write(folder.path().join("out.folded"), profile).unwrap();
        for command in &commands {
            let output = Command::new("sh")
                .args(["-c", command])
                .current_dir(folder.path())
                .env("PATH", &path)
                .output()
                .unwrap();
            check(command, &output);
        }
    };
    expected.reverse();
    run_all(&profile, &mut |command, output| {
        assert_eq!(text(&output.stdout), expected.pop().unwrap(), "{command}: {}", text(&output.stderr));
    });

    let Some(corpus) = corpus() else { return };
    for file in
        ["bcc/profile-folded.txt", "bcc/profile-folded-annot.txt", "py-spy/raw.txt", "py-spy/threads.raw.txt"]
    {
        profile = text(std::fs::read(corpus.join(file)).unwrap());
        let all = total(&filter(&["-e", ""], &profile));
        run_all(&profile, &mut |command, output| {
            let said = text(&output.stderr);
            assert_ne!(output.status.code(), Some(2), "{file}: {command}: {said}");
            let left = total(&text(&output.stdout));
            let conserves = ["--merge-threads", "--collapse", "--strip"].iter().any(|o| command.contains(o));
            assert!(if conserves { left == all } else { left <= all }, "{file}: {command}");
        });
    }
}

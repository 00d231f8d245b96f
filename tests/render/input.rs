//! Tests of the input: line order, several files, compression, line ends, and empty input.

use std::io::Write;

use super::{Picture, SMALL, run, run_in};

fn shuffled(text: &str) -> String {
    let mut lines: Vec<_> = text.lines().collect();
    lines.reverse();
    let middle = lines.len() / 2;
    lines.rotate_left(middle);
    lines.into_iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_picture_is_the_same_in_whatever_order_lines_come() {
    let text: String =
        (0..3000).map(|n: u32| format!("main;f{};g {} h{};k 1{}\n", n % 7, n % 13, n % 101, n % 9)).collect();
    let sorted = {
        let mut lines: Vec<_> = text.lines().collect();
        // In frame order `;` comes before all others.
        lines.sort_by_key(|line| line.rsplit_once(' ').unwrap().0.replace(';', "\0"));
        lines.into_iter().map(|line| format!("{line}\n")).collect::<String>()
    };
    assert_ne!(sorted, text);
    let reference = run(&[], &sorted);
    assert_eq!(reference.status, 0);
    assert!(reference.stdout == run(&[], &text).stdout);
    assert!(reference.stdout == run(&[], shuffled(&text)).stdout);
    assert!(reference.stdout == run(&[], &sorted).stdout);
}

/// A large file in frame order is walked by several threads, one in another order is not.
#[test]
fn the_picture_is_the_same_for_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let line = |n: u32| {
        let name = "a name of some length, as those of templates are";
        format!("main;{:03};{name};{:05};{:02} {}\n", n / 2000, n / 20, n % 20 / 3, n % 7 + 1)
    };
    let text: String = (0..130_000).map(line).collect();
    assert!(text.len() > 8 << 20, "{}", text.len());
    std::fs::write(folder.path().join("sorted"), &text).unwrap();
    std::fs::write(folder.path().join("shuffled"), shuffled(&text)).unwrap();
    let reference = run_in(folder.path(), &["--threads", "1", "sorted"], "");
    assert_eq!((reference.status, reference.stderr.as_str()), (0, ""));
    for (file, threads) in [("sorted", "2"), ("sorted", "7"), ("shuffled", "2")] {
        let picture = run_in(folder.path(), &["--threads", threads, file], "");
        assert!(picture.stdout == reference.stdout, "{file}, {threads} threads: {}", picture.stderr);
    }
}

#[test]
fn several_files_are_one_profile_compressed_ones_too() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = SMALL.split_at(SMALL.find("main;write").unwrap());
    std::fs::write(folder.path().join("a.folded"), first).unwrap();
    let file = std::fs::File::create(folder.path().join("b.gz")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    gzip.write_all(second.as_bytes()).unwrap();
    gzip.finish().unwrap();
    let both = run_in(folder.path(), &["b.gz", "a.folded"], "");
    assert_eq!((both.status, both.stdout == run(&[], SMALL).stdout), (0, true));
    // `-` is standard input, among files too.
    let piped = run_in(folder.path(), &["-", "b.gz"], first);
    assert!(piped.stdout == both.stdout);
}

#[test]
fn line_ends_of_any_kind_will_do() {
    let reference = run(&[], SMALL).stdout;
    assert!(run(&[], SMALL.replace('\n', "\r\n")).stdout == reference);
    assert!(run(&[], SMALL.trim_end()).stdout == reference);
    let commented = run(&[], format!("# a comment\n\n{SMALL}\n\n")).text().to_owned();
    let metadata = "\n<metadata id=\"facts\"># comment: a comment\n</metadata>";
    assert_eq!(commented.replace(metadata, ""), String::from_utf8(reference).unwrap());
}

#[test]
fn without_stacks_the_picture_says_so_and_the_status_too() {
    let nothing = "no stacks in the input: nothing was recorded, or the program before this one failed";
    for (input, arguments, said) in [
        ("", &[][..], nothing),
        ("\n\n# x\n", &[], nothing),
        ("a -5\n", &["-q"], "no stacks with a weight above 0"),
        ("a 0\n", &[], nothing),
        ("a 1\n", &["--base", "b"], "no stacks with the frame that --base names"),
        ("a 4 0\n", &[], "no stacks are left after: all weights there are 0"),
    ] {
        let run = run(arguments, input);
        assert_eq!(run.status, 2, "{input:?}");
        assert_eq!(run.stderr, format!("fg-render: standard input: {said}\n"));
        let picture = Picture::parse(run.text());
        assert!(picture.element("empty").unwrap().starts_with("There are no stacks"), "{input:?}");
        assert!(picture.frames.is_empty());
    }
}

#[test]
fn without_stacks_a_named_file_gets_the_picture_too() {
    let folder = tempfile::tempdir().unwrap();
    let run = run_in(folder.path(), &["-o", "out.svg"], "");
    assert_eq!((run.status, run.stdout.len()), (2, 0));
    let text = std::fs::read_to_string(folder.path().join("out.svg")).unwrap();
    assert!(Picture::parse(&text).element("empty").is_some());
}

#[test]
fn lines_not_understood_are_counted_and_said_once() {
    let lenient = run(&[], format!("what is this\n{SMALL}and this\n"));
    assert_eq!(lenient.status, 0);
    assert_eq!(
        lenient.stderr,
        "fg-render: standard input:1: 2 line(s) not understood and left out, the first is \"what is this\"\n"
    );
    assert!(lenient.stdout == run(&[], SMALL).stdout);
    assert_eq!(run(&["--quiet"], format!("what\n{SMALL}")).stderr, "");
}

#[test]
fn strict_fails_on_unknown_lines_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let strict = run_in(folder.path(), &["--strict", "-o", "out.svg"], format!("{SMALL}what\n"));
    assert_eq!((strict.status, strict.stderr.lines().count()), (2, 1), "{}", strict.stderr);
    assert!(strict.stderr.starts_with("fg-render: standard input:5: 1 line(s) not understood"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn negative_weights_are_said_and_not_drawn() {
    let run = run(&[], "a;b 5\na;c -3\n");
    assert_eq!(run.status, 0);
    assert_eq!(
        run.stderr,
        "fg-render: 1 line(s) with a negative weight left out: nothing can be drawn for them\n"
    );
    let picture = Picture::parse(run.text());
    assert_eq!(picture.titles(), ["all (5, 100.00%)", "a (5, 100.00%)", "b (5, 100.00%)"]);
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = run_in(folder.path(), &["nosuch.folded", "-o", "out.svg"], "");
    assert_eq!(
        (missing.status, missing.stderr.as_str()),
        (2, "fg-render: nosuch.folded: cannot open: no such file or directory\n")
    );
    std::fs::write(folder.path().join("cut.gz"), [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1]).unwrap();
    let cut = run_in(folder.path(), &["cut.gz", "-o", "out.svg"], "");
    assert_eq!((cut.status, cut.stderr.lines().count()), (2, 1));
    assert!(cut.stderr.starts_with("fg-render: cut.gz: damaged gzip data"), "{}", cut.stderr);
    assert!(!folder.path().join("out.svg").exists());
}

#[test]
fn real_recordings_are_drawn_whole() {
    let Some(corpus) = super::recordings::corpus() else { return };
    let folder = std::fs::read_dir(corpus.join("py-spy")).unwrap();
    let mut seen = 0;
    for path in
        folder.map(|entry| entry.unwrap().path()).filter(|p| p.to_string_lossy().ends_with(".raw.txt"))
    {
        let text = std::fs::read_to_string(&path).unwrap();
        let total: u64 = text.lines().map(|l| l.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
        // Read as folded text, names stay as written; read as py-spy's, they lose their line numbers.
        let arguments = ["--minwidth", "0", "--input-format", "folded", path.to_str().unwrap()];
        let picture = Picture::parse(run(&arguments, "").text());
        assert_eq!(picture.frames[0].exact.1, total.to_string(), "{path:?}");
        let mut names: Vec<_> = text.lines().flat_map(|l| l.rsplit_once(' ').unwrap().0.split(';')).collect();
        names.sort_unstable();
        names.dedup();
        let titles = picture.titles();
        for name in names {
            assert!(titles.iter().any(|title| title.starts_with(name)), "{path:?} {name}");
        }
        seen += 1;
    }
    assert!(seen > 0);
}

#[test]
fn a_recording_becomes_a_page_with_its_options() {
    let folder = tempfile::tempdir().unwrap();
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/perf_data/golden/tree.data.gz");
    let run =
        run_in(folder.path(), &["-q", "--per-thread", recording, "-o", "out.html", "-o", "out.txt"], "");
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let text = std::fs::read_to_string(folder.path().join("out.txt")).unwrap();
    assert!(text.contains("\n26 ms (26 samples); "), "{text}");
    assert!(text.contains("26 ms CPU in 88.2 ms · 26 samples · cpu-clock:u"), "{text}");
    assert!(text.contains("tree-"), "--tid names the thread: {text}");
    let wrong = run_in(folder.path(), &["--input-format", "austin", recording, "-o", "out.svg"], "");
    assert_eq!(wrong.status, 2);
    let none = run_in(folder.path(), &["--input-format", "nosuch", "-o", "out.svg"], "a 1\n");
    assert!(none.stderr.contains("nosuch"), "{}", none.stderr);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn folded_text_keeps_its_header_unless_told_otherwise() {
    let text = "# unit: ns\n# command: ./app\nmain 5\n";
    assert_eq!(run(&["--format", "collapsed"], text).text(), text);
    assert_eq!(run(&["--format", "collapsed", "--no-header"], text).text(), "main 5\n");
    let base = "# unit: ns\n# samples: 3 samples\n# period: 1 ns\nmain 1\nother 2\n";
    let kept = "# unit: ns\n# period: 1 ns\nother 2\n";
    assert_eq!(run(&["--format", "collapsed", "--base", "other"], base).text(), kept);
    let scaled = "# unit: ns\n# period: 2 ns\nmain 2\nother 4\n";
    let unscaled = scaled.replace("# period: 2", "# period: 1").replace("main 2\nother 4", "main 1\nother 2");
    assert_eq!(run(&["--format", "collapsed", "--factor", "2"], unscaled).text(), scaled);
}

#[test]
fn a_line_with_a_negative_weight_is_added_up_first() {
    let picture = Picture::parse(run(&[], "a 30\na -10\nb 1\n").text());
    assert_eq!(picture.titles(), ["all (21, 100.00%)", "a (20, 95.24%)", "b (1, 4.76%)"]);
}

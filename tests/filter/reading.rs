//! `fg-filter` reads what every tool reads, and passes on what a profile says of itself.

use std::path::PathBuf;

use fg_tools::filter::{Op, Pattern, PatternOptions, Pipeline, RunOptions};
use fg_tools::folded::{Kind, Place, Weights};
use fg_tools::profile::{Context, ProfileBuilder, Sink, Wants};
use fg_tools::reading::open;
use fg_tools::reading::{Opened, ReadOptions};
use fg_tools::{Source, Weight};

use super::feed::text;
use super::{filter, run, trouble};

/// An input of each format.
fn fixtures() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let within = |path: PathBuf| {
        let mut paths: Vec<PathBuf> =
            std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths.into_iter()
    };
    let is_input =
        |file: &PathBuf| file.file_stem().is_some_and(|stem| stem.to_string_lossy().starts_with("input"));
    let input = |format: PathBuf| within(format).filter(|case| case.is_dir()).flat_map(within).find(is_input);
    // Folded text is copied in its own order instead.
    let formats = within(folder).filter(|format| format.is_dir() && !format.ends_with("folded"));
    formats.filter_map(input).collect()
}

fn filtered(input: &Opened, ops: &[Op], options: &RunOptions) -> (String, u64) {
    let mut out = Vec::new();
    let filtered = Pipeline::new(ops).unwrap().run(input, options, &mut out).unwrap();
    (text(out), filtered.kept.stacks)
}

#[test]
fn a_recording_is_filtered_as_its_collapsed_stacks_are() {
    let main = Pattern::new(&["main"], PatternOptions::default()).unwrap();
    // Counts are known directly, and left out where lines stream.
    let options = RunOptions::default().header(false);
    let ops = [Op::hide("^[a-m]").unwrap(), Op::reverse(), Op::top(3)];
    let mut tried = 0;
    for path in fixtures() {
        let sources = [Source::path(&path)];
        let Ok(direct) = open(&sources, &ReadOptions::default()) else { continue };
        let Opened::Profile(profile, _) = &direct else { panic!("{path:?} is folded text") };
        let mut collapsed = Vec::new();
        profile.write_folded(&mut collapsed).unwrap();
        let piped = open(&[Source::bytes(collapsed)], &ReadOptions::default()).unwrap();
        assert!(matches!(piped, Opened::Folded(_)), "{path:?}");
        tried += 1;
        let busy = options.clone().without(main.clone());
        assert_eq!(filtered(&direct, &[], &busy), filtered(&piped, &[], &busy), "{path:?}");
        assert_eq!(filtered(&direct, &ops, &options), filtered(&piped, &ops, &options), "{path:?}");
    }
    assert!(tried > 35, "{tried}");
}

#[test]
fn facts_of_a_recording_are_passed_on() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/pprof/cpu/input.pb.gz");
    let output = text(&run(&["--focus", "sha256", "--to-unit", "ms", path], "").stdout);
    assert!(output.starts_with("# unit: ms\n# event: cpu\n# period: 10 ms\n"), "{output}");
    let count = text(&run(&["-c", "sha256", path], "").stdout);
    assert!(count.starts_with("kept stacks 1 weight 30000000 (30 ms, "), "{count}");
    let samples = text(&run(&["--value", "samples", "-c", "", path], "").stdout);
    assert!(samples.starts_with("kept stacks 68 weight 109 (109 "), "{samples}");
    let counted = text(&run(&["--count-samples", "--no-header", "--depth", "1", path], "").stdout);
    assert!(!counted.is_empty() && !counted.starts_with('#'), "{counted}");
    assert!(trouble(&["--value", "nope", "-e", "x", path], "").contains("there is no such value"));
}

#[test]
fn the_header_is_passed_on_without_counts_that_may_not_hold() {
    let header =
        "# unit: ns\n# period: 10 ns\n# samples: 4 samples\n# command: ./app\n# cpu-time: 1 s\n# remark\n";
    let input = format!("{header}a;b 10\na;c 30\n");
    let rest = "# unit: ns\n# period: 10 ns\n# command: ./app\n";
    assert_eq!(filter(&["b"], &input), format!("{rest}# remark\na;b 10\n"));
    assert_eq!(filter(&["--focus", "b"], &input), format!("{rest}# remark\na;b 10\n"));
    // Operations write the header again; the counts stay only if all stacks are kept.
    let comment = "# comment: remark\n";
    assert_eq!(
        filter(&["--hide", "b"], &input),
        format!("{}{comment}a 10\na;c 30\n", &header[..header.len() - 9])
    );
    assert_eq!(filter(&["--top", "1"], &input), format!("{rest}{comment}a;c 30\n"));
    assert_eq!(filter(&["--show", "b"], &input), format!("{rest}{comment}b 10\n"));
    let scaled = "# unit: ns\n# period: 20 ns\n# command: ./app\n# comment: remark\n";
    assert_eq!(filter(&["--scale", "2"], &input), format!("{scaled}a;b 20\na;c 60\n"));
    let converted = filter(&["--to-unit", "us"], &input);
    assert!(converted.starts_with("# unit: us\n# period: 0.01 us\n# samples: 4 samples\n"), "{converted}");
    for arguments in [&["b"][..], &["--focus", "b"], &["--top", "1"], &["--hide", "c"]] {
        let bare = filter(&[arguments, &["--no-header"]].concat(), &input);
        assert!(!bare.is_empty() && !bare.contains('#'), "{bare}");
    }
    let both = "# columns: before, after\n# before.samples: 3 samples\n# after.command: ./b\na 1 2\n";
    assert_eq!(filter(&["a"], both), "# columns: before, after\n# after.command: ./b\na 1 2\n");
    assert_eq!(
        filter(&["--rename", "s/a/b/"], both),
        "# columns: before, after\n# before.samples: 3 samples\n# after.command: ./b\nb 1 2\n"
    );
}

#[test]
fn a_header_in_the_middle_is_that_of_another_text() {
    let two = "# unit: ns\n# period: 10 ns\n# command: ./app\na 10\n# unit: ns\n# period: 20 ns\n# command: ./app\nb 20\n";
    assert_eq!(filter(&["-e", ""], two), two);
    assert_eq!(
        filter(&["--hide", "x", "-e", "."], two.replace("b", "x;b")),
        "# unit: ns\n# command: ./app\na 10\nb 20\n"
    );
    let contradiction = "# unit: ns\na 1\n# unit: us\na 1\n";
    for arguments in [&["a"][..], &["--focus", "a"], &["--hide", "b"], &["--to-unit", "ns"]] {
        let said = trouble(arguments, contradiction);
        assert!(said.contains("standard input:3: expected the unit ns"), "{said}");
    }
    let said = trouble(&["a"], "# unit: ns\n# unit: us\na 1\n");
    assert!(said.contains("standard input:2: expected the unit ns, as on the line before"), "{said}");
}

#[test]
fn a_header_tells_folded_text_from_what_it_looks_like() {
    // Without it these are austin's and py-spy's own lines.
    for stack in ["P12;T0:12;a.py:main:3", "f (x.py:3)"] {
        let input = format!("# unit: ms\n{stack} 1\n{stack} 1\n");
        assert_eq!(filter(&["-e", ""], &input), input);
        assert_eq!(filter(&["--depth", "1", "--to-unit", "us"], &input).lines().next(), Some("# unit: us"));
    }
    let told = filter(&["-e", ""], "P12;T0:12;a.py:main:3 1\n");
    assert!(told.starts_with("# unit: us\n"), "{told}");
    let folded = "P12;T0:12;a.py:main:3 1\n";
    assert_eq!(filter(&["-e", "", "--input-format", "folded"], folded), folded);
}

#[test]
fn kinds_are_those_that_the_recording_says() {
    let mut builder = ProfileBuilder::new(Wants::ALL);
    for (name, line, kind) in
        [("work", 1, Kind::User), ("work", 2, Kind::User), ("read", 3, Kind::Kernel), ("hot", 4, Kind::Jit)]
    {
        let frame = builder.frame_at(name.as_bytes(), &Place { line, kind, ..Place::default() });
        builder.sample(&[frame], Weights::one(Weight::ONE), &Context::UNKNOWN).unwrap();
    }
    let input = Opened::Profile(Box::new(builder.finish().unwrap()), Box::default());
    for (kind, expected) in
        [("kernel", "read 1\n"), ("no-kernel", "hot 1\nwork 2\n"), ("jit", "hot 1\n"), ("inlined", "")]
    {
        let mut pipeline = Pipeline::new(&[Op::kind(kind).unwrap()]).unwrap();
        assert!(pipeline.needs_places());
        let mut out = Vec::new();
        let filtered = pipeline.run(&input, &RunOptions::default().weigh(true), &mut out).unwrap();
        assert_eq!(text(&out), expected, "{kind}");
        // Lines of one function are one stack, as in the text.
        assert_eq!(filtered.kept.stacks, expected.lines().count() as u64);
        assert_eq!(filtered.kept.stacks + filtered.dropped.stacks, 3);
    }
}

#[test]
fn a_pipeline_runs_again_on_bytes_and_readers() {
    let mut pipeline = Pipeline::new(&[Op::hide("b").unwrap(), Op::rename("s/c/d/").unwrap()]).unwrap();
    let mut text_of = |source: Source| {
        let mut out = Vec::new();
        let input = Opened::Folded(vec![source]);
        let filtered = pipeline.run(&input, &RunOptions::default(), &mut out).unwrap();
        (text(out), filtered.steps[0].came.stacks)
    };
    assert_eq!(text_of(Source::bytes("a;b 1\n")), ("a 1\n".into(), 1));
    let reader = Source::reader("reader", std::io::Cursor::new("b;c 1\nc;a;b 2\n"));
    assert_eq!(text_of(reader), ("d 1\nd;a 2\n".into(), 2));
}

#[test]
fn weights_for_people_are_scaled() {
    let input = "# unit: ns\na 325123456\nb 1500\n";
    assert_eq!(
        filter(&["-c", "a"], input),
        "kept stacks 1 weight 325123456 (325 ms, 100.00%)\ndropped stacks 1 weight 1500 (1.5 µs, 0.00%)\n"
    );
    // Dropped stacks may have had another unit.
    assert_eq!(
        filter(&["-c", "--focus", "a", "--to-unit", "s"], input),
        "kept stacks 1 weight 0.325123456 (325 ms)\ndropped stacks 1 weight 1500\n"
    );
    let both = "# unit: ns\n# columns: before, after\na 1500 2500\nb 1 1\n";
    assert_eq!(
        filter(&["-c", "a"], both),
        "kept stacks 1 before 1500 after 2500 (1.5 µs, 99.93%; 2.5 µs, 99.96%)\ndropped stacks 1 before 1 after 1 (1 ns, 0.07%; 1 ns, 0.04%)\n"
    );
    let stats = text(&run(&["--stats", "--focus", "a", "--to-unit", "us"], input).stderr);
    assert_eq!(
        stats,
        "\
operation     stacks  weight  kept  weight  dropped  weight
--focus a          2  325 ms     1  325 ms        1  1.5 µs
--to-unit us       1  325 ms     1  325 ms        0       -
all                2  325 ms     1  325 ms        1    1500
"
    );
}

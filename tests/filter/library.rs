//! The operations as the library's users have them: typed, on a profile in memory.

use fg_tools::Profile;
use fg_tools::filter::{Case, OPERATIONS, Op, Operation, Pattern, PatternOptions, Pipeline, RunOptions};
use fg_tools::reading::{ReadOptions, open};

use super::{filter, text};

fn profile(folded: &str) -> Profile {
    let options = ReadOptions::default().format("folded");
    Profile::read(&[fg_tools::Source::bytes(folded)], &options).unwrap()
}

fn folded(profile: &Profile) -> String {
    let mut out = Vec::new();
    profile.write_folded(&mut out).unwrap();
    text(&out)
}

/// The operations of a command line.
fn ops(arguments: &[&str]) -> Vec<Op> {
    let has = |flag| arguments.contains(&flag);
    let parts = |argument: &str| if argument.starts_with("--") { 2 } else { 1 };
    let mut words = arguments.iter().flat_map(|argument| argument.splitn(parts(argument), '='));
    let mut ops = Vec::new();
    while let Some(word) = words.next() {
        let Some(operation) = word.strip_prefix("--").and_then(Operation::find) else {
            assert_eq!(word, "--rest");
            continue;
        };
        let value = if operation.value.is_some() { words.next().unwrap() } else { "" };
        ops.push(Op::new(operation, value).unwrap().rest(has("--rest")));
    }
    ops
}

#[test]
fn a_pipeline_says_what_its_operations_look_at() {
    let needs = |arguments: &[&str]| {
        let pipeline = Pipeline::new(&ops(arguments)).unwrap();
        (pipeline.needs_samples(), pipeline.needs_places())
    };
    assert_eq!(needs(&["--top=1", "--hide=a"]), (false, false));
    assert_eq!(needs(&["--top=1", "--with-label=thread=1"]), (true, false));
    assert_eq!(needs(&["--drop-label=thread"]), (false, false));
    assert_eq!(needs(&["--hide=a", "--kind=kernel"]), (false, true));
}

#[test]
fn a_pipeline_gives_the_same_after_another_run() {
    let run = |pipeline: &mut Pipeline, folded: &str| {
        let options = ReadOptions::default().format("folded");
        let input = open(&[fg_tools::Source::bytes(folded)], &options).unwrap();
        let mut out = Vec::new();
        pipeline.run(&input, &RunOptions::default(), &mut out).map(|_| text(&out))
    };
    for operation in OPERATIONS {
        for example in operation.examples {
            let fresh = || Pipeline::new(&ops(example.arguments)).unwrap();
            let expected = run(&mut fresh(), example.input).unwrap();
            // The names in another order have other numbers.
            let (header, stacks): (Vec<&str>, Vec<&str>) =
                example.input.lines().partition(|line| line.starts_with("# "));
            let upside_down = |line: &&str| {
                let (stack, weight) = line.rsplit_once(' ').unwrap();
                format!("{} {weight}", stack.rsplit(';').collect::<Vec<_>>().join(";"))
            };
            let backwards = stacks.iter().rev().map(ToString::to_string).collect::<Vec<_>>();
            for other in [backwards, stacks.iter().map(upside_down).collect()] {
                let mut pipeline = fresh();
                // Labels stand at the root, and an operation may refuse others.
                let _ = run(&mut pipeline, &format!("{}\n{}\n", header.join("\n"), other.join("\n")));
                assert_eq!(run(&mut pipeline, example.input).unwrap(), expected, "{:?}", example.arguments);
            }
        }
    }
}

#[test]
fn examples_hold_in_memory() {
    for operation in OPERATIONS {
        for example in operation.examples {
            let filtered = profile(example.input).filter(&ops(example.arguments)).unwrap();
            // In memory stacks are added up and in order, in the program they may be copied.
            let options = ReadOptions::default().format("folded");
            let expected = Profile::read(&[fg_tools::Source::bytes(example.output)], &options).unwrap();
            assert_eq!(folded(&filtered), folded(&expected), "{:?}", example.arguments);
        }
    }
}

#[test]
fn typed_operations_are_the_program_s() {
    let input = "# unit: ns\nmain;Alloc;malloc 2000\nmain;idle 5000\nmain;work;work 4000\n";
    let pattern = |text| Pattern::new(&[text], PatternOptions::default()).unwrap();
    for (ops, arguments) in [
        (vec![Op::hide("alloc").unwrap().case(Case::Ignored)], &["-i", "--hide", "alloc"][..]),
        (vec![Op::top(1).rest(true)], &["--top", "1", "--rest"]),
        (vec![Op::without(pattern("idle$")), Op::reverse()], &["-v", "-e", "idle$", "--reverse"]),
        (vec![Op::matching(pattern("^main;work")), Op::depth(2)], &["-e", "^main;work", "--depth", "2"]),
        (
            vec![Op::to_unit("us").unwrap(), Op::strip("args").unwrap()],
            &["--to-unit", "us", "--strip", "args"],
        ),
        (
            vec![Op::min_percent("40").unwrap(), Op::recursion("direct").unwrap()],
            &["--min-percent", "40", "--recursion", "direct"],
        ),
    ] {
        let output = super::run(arguments, input);
        assert_eq!(folded(&profile(input).filter(&ops).unwrap()), text(&output.stdout), "{arguments:?}");
    }
    let all = profile(input).filter(&[]).unwrap();
    assert_eq!(folded(&all), filter(&["-e", ""], input));
}

#[test]
fn mistakes_are_errors_and_no_panics() {
    let profile = profile("a 99999999999999999999999999999999999999\n");
    for op in [Op::top(0), Op::depth(0), Op::scale(fg_tools::Weight::ZERO), Op::to_unit("ms").unwrap()] {
        assert!(matches!(
            profile.filter(&[op]).map(|_| ()).unwrap_err().kind(),
            fg_tools::ErrorKind::Setting { .. }
        ));
    }
    let overflow = profile.filter(&[Op::scale(fg_tools::Weight::new(1000))]).map(|_| ()).unwrap_err();
    assert!(matches!(overflow.kind(), fg_tools::ErrorKind::Overflow));
    assert_eq!(Op::hide("(").unwrap_err().to_string().lines().count(), 1);
    assert!(Profile::default().filter(&[Op::reverse(), Op::top(3)]).unwrap().is_empty());
}

//! Stacks of negative weight, of none and of both signs through all programs and outputs: each comes back
//! whole, and where a format leaves one out, it does so by its rule.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use fg_tools::reading::ReadOptions;
use fg_tools::render::Settings;
use fg_tools::{ErrorKind, Profile, Source};

use super::feed::{feed, text};
use super::names::HOLDS;
use super::{draw, run};

/// Stacks and their sums, in frame order.
type Stacks = BTreeMap<Vec<String>, i64>;

/// The frames of every kind of stack: more than fit into one comparison, with beginnings that they share.
fn shapes() -> Vec<Vec<String>> {
    let deep = |name: &str, frames: usize| (0..frames).map(|n| format!("{name}{n}")).collect::<Vec<_>>();
    let with = |stack: &[String], more: &[&str]| {
        stack.iter().cloned().chain(more.iter().map(|&frame| frame.to_owned())).collect::<Vec<_>>()
    };
    let long = deep("f", 60);
    vec![
        long.clone(),
        // Shorter, longer, and beside it near the root, in the middle and at the leaf.
        long[..30].to_vec(),
        with(&long, &["leaf"]),
        with(&long, &["other leaf"]),
        with(&long[..45], &["aside"]),
        with(&long[..1], &["aside"]),
        deep("g", 200),
        vec!["again".to_owned(); 90],
        vec!["again".to_owned(); 70],
        vec!["alone".to_owned()],
    ]
}

/// Every shape with one of these weights, by turns, and the sums.
fn recording(weights: &[i64]) -> (String, Stacks) {
    let (mut text, mut sums) = (String::new(), Stacks::new());
    // Not in frame order, and each stack twice.
    for (stack, weight) in shapes().into_iter().rev().cycle().zip(weights.iter().cycle()).take(20) {
        writeln!(text, "{} {weight}", stack.join(";")).unwrap();
        *sums.entry(stack).or_default() += weight;
    }
    (text, sums)
}

/// Weights of all signs: sums below a beginning that stacks share are negative, zero or positive.
const WEIGHTS: &[&[i64]] = &[
    &[7],
    &[-7],
    &[0],
    &[0, -3],
    &[0, 4],
    &[5, -7, 0],
    &[-1, 1],
    &[1000, -1, -1],
    &[-1000, 1, 1],
    &[3, -2, 0, -1, 0, 4, -4],
];

fn folded(stacks: &Stacks, keeps: impl Fn(&[String], i64) -> bool) -> String {
    let kept = stacks.iter().filter(|(stack, weight)| keeps(stack, **weight));
    kept.map(|(stack, weight)| format!("{} {weight}\n", stack.join(";"))).collect()
}

#[test]
fn stacks_of_any_weight_come_back_whole_from_the_programs() {
    for weights in WEIGHTS {
        let (input, sums) = recording(weights);
        for (program, arguments) in [
            (env!("CARGO_BIN_EXE_fg-collapse"), &["-f", "folded", "--no-header"][..]),
            (env!("CARGO_BIN_EXE_fg-collapse"), &["-f", "folded", "--no-header", "--threads", "2"]),
            (env!("CARGO_BIN_EXE_fg-filter"), &["--no-header", "--scale", "1"]),
            (env!("CARGO_BIN_EXE_fg-filter"), &["--no-header", "--reverse", "--reverse"]),
        ] {
            let out = feed(Command::new(program).args(arguments), &input);
            assert!(out.status.success(), "{weights:?} {arguments:?}: {}", text(&out.stderr));
            assert_eq!(text(&out.stdout), folded(&sums, |_, _| true), "{weights:?} {arguments:?}");
        }
    }
}

/// The stacks of weight 0 that a format holds.
enum Zeros {
    /// All of them: it holds stacks.
    All,
    /// Those that no other stack goes on from: it holds trees.
    Leaves,
    /// None: it holds samples.
    None,
}

fn zeros_of(format: &str) -> Zeros {
    match format {
        "collapsed" | "json" => Zeros::All,
        "html" => Zeros::Leaves,
        _ => Zeros::None,
    }
}

/// Nothing can be drawn for a negative weight: outputs leave such stacks out, and the program says so.
#[test]
fn stacks_that_can_be_drawn_come_back_whole_from_every_format_that_holds_stacks() {
    for weights in WEIGHTS {
        let (input, sums) = recording(weights);
        let profile = Profile::from_bytes(input).unwrap();
        for (format, _) in HOLDS {
            let goes_on = |stack: &[String]| {
                let begun = |(longer, weight): (&Vec<String>, &i64)| {
                    *weight >= 0 && longer.len() > stack.len() && longer.starts_with(stack)
                };
                sums.iter().any(begun)
            };
            let keeps = |stack: &[String], weight| match zeros_of(format) {
                _ if weight != 0 => weight > 0,
                Zeros::All => true,
                Zeros::Leaves => !goes_on(stack),
                Zeros::None => false,
            };
            let expected = folded(&sums, keeps);
            let mut out = Vec::new();
            profile.render(format, &Settings::default(), &mut out).unwrap();
            let back = Profile::read(&[Source::bytes(out)], &ReadOptions::default());
            let back = match back {
                Ok(back) => {
                    let mut stacks = Vec::new();
                    back.stacks().write(&mut stacks).unwrap();
                    text(stacks)
                }
                Err(error) => {
                    assert!(
                        matches!(error.kind(), ErrorKind::Empty { .. }),
                        "{weights:?} as {format}: {error}"
                    );
                    String::new()
                }
            };
            assert_eq!(back, expected, "{weights:?} as {format}");
        }
    }
}

#[test]
fn frames_of_positive_weight_are_drawn_beside_negative_ones() {
    let stack = |name: &str| (0..60).map(|n| format!("{name}{n}")).collect::<Vec<_>>().join(";");
    // Below the 20 frames that they share they are lighter than nothing.
    let input = format!("{}\n{}\n", stack("f") + ";up 100", stack("f") + ";down -105");
    let run = run(&["--format", "collapsed", "--no-header"], &input);
    assert_eq!(text(&run.stdout), stack("f") + ";up 100\n");
    assert!(run.stderr.contains("1 line(s) with a negative weight left out"), "{}", run.stderr);
    let picture = draw(&["-q"], &input);
    assert_eq!(picture.frame("up").exact.1, "100");
}

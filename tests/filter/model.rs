//! Random chains of operations, against a model of them in Python: `model.py`.
//!
//! Each chain runs as `fg-filter` runs it, on folded text that streams by, and on a profile in memory.

use std::collections::BTreeMap;
use std::process::Command;

use fg_tools::filter::{Op, Operation, Pattern, PatternOptions, Pipeline, RunOptions};
use fg_tools::reading::{Opened, ReadOptions};
use fg_tools::{Profile, Source};
use serde_json::{Value, json};

use super::feed::{feed, text};
use super::installed::works;

const CHAINS: usize = 1500;

const FRAMES: &[&str] = &[
    "a",
    "b",
    "c",
    "ab",
    "main",
    "lib_x",
    "lib_y",
    "[unknown]",
    "[other]",
    "k_[k]",
    "i_[i]",
    "j_[j]",
    "x_[i]_[j]",
    "two words",
    "größe",
    "f(int)",
    "V<T>",
    "-",
];

/// Expressions that mean the same to Python and to the `regex` crate.
const EXPRESSIONS: &[&str] =
    &["a", "^a$", "b|c", "^lib_", "_\\[k\\]$", "[m-z]", "main", "^.$", "ö", " ", "nowhere", ".", "T", "Ö"];

/// The operations of the model, with values.
const OPERATIONS: &[(&str, &[&str])] = &[
    ("focus", EXPRESSIONS),
    ("ignore", EXPRESSIONS),
    ("rooted-at", EXPRESSIONS),
    ("leaf", EXPRESSIONS),
    ("path", &["a;b", "a;...;b", "^main$;...;a;b;...;c", "lib;.;lib", "^a$"]),
    ("kind", &["kernel", "no-kernel", "user", "no-user", "inlined", "no-inlined", "jit", "no-jit"]),
    ("matching", &["a;b", "^main;", "a.*b", "b$", "^[^;]*$"]),
    ("without", &["a;b", "^main;", "a.*b", "b$", "^[^;]*$"]),
    ("hide", EXPRESSIONS),
    ("show", EXPRESSIONS),
    ("show-from", EXPRESSIONS),
    ("show-from-leaf", EXPRESSIONS),
    ("prune-from", EXPRESSIONS),
    ("collapse", EXPRESSIONS),
    ("recursion", &["direct"]),
    ("squash-unknown", &[""]),
    ("depth", &["1", "2", "5", "-1", "-2", "-5"]),
    ("skip-roots", &["1", "2", "4"]),
    ("reverse", &[""]),
    ("rename", &["s/^lib_.*$/lib/", "s/a/x/g", "s/a/x/", "s/^b$//", "s/[a-m]/q/g"]),
    ("scale", &["2", "0.5", "1000", "0.001"]),
    ("min-weight", &["1", "20", "100", "2.5"]),
    ("min-percent", &["1", "10", "33.3", "50", "0"]),
    ("top", &["1", "3", "10"]),
];

/// A small generator of numbers, the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    fn weight(&mut self) -> String {
        match self.below(6) {
            0 => format!("{}.{}", self.below(100), 1 + self.below(9)),
            1 => "0".to_owned(),
            _ => (1 + self.below(200)).to_string(),
        }
    }
}

/// Folded text in frame order, and the same for the model.
fn profile(random: &mut Random) -> (String, Value) {
    let columns = 1 + usize::from(random.below(4) == 0);
    let mut stacks: BTreeMap<Vec<&str>, Vec<String>> = BTreeMap::new();
    for _ in 0..random.below(14) {
        let frames = (0..1 + random.below(7)).map(|_| *random.of(FRAMES)).collect();
        stacks.insert(frames, (0..columns).map(|_| random.weight()).collect());
    }
    let lines =
        stacks.iter().map(|(frames, weights)| format!("{} {}\n", frames.join(";"), weights.join(" ")));
    (lines.collect(), json!(stacks.iter().collect::<Vec<_>>()))
}

fn operation(name: &str, value: &str) -> Op {
    let pattern = || Pattern::new(&[value], PatternOptions::default()).unwrap();
    match name {
        "matching" => Op::matching(pattern()),
        "without" => Op::without(pattern()),
        _ => Op::new(Operation::find(name).unwrap_or_else(|| panic!("no operation {name}")), value).unwrap(),
    }
}

#[test]
fn chains_of_operations_agree_with_a_model() {
    if !works("python3") {
        return;
    }
    let mut random = Random(25);
    let (mut cases, mut questions) = (Vec::new(), String::new());
    for _ in 0..CHAINS {
        let (folded, stacks) = profile(&mut random);
        let chain: Vec<(&str, &str)> = (0..1 + random.below(5))
            .map(|_| {
                let (name, values) = random.of(OPERATIONS);
                (*name, *random.of(values))
            })
            .collect();
        let rest = random.below(3) == 0;
        questions += &format!("{}\n", json!({"ops": chain, "rest": rest, "stacks": stacks}));
        cases.push((folded, chain, rest));
    }
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/filter/model.py");
    let answers = feed(Command::new("python3").arg(model).env("PYTHONIOENCODING", "utf-8"), questions);
    assert!(answers.status.success(), "{}", text(&answers.stderr));
    let answers = text(&answers.stdout);
    let mut compared = 0;
    for ((folded, chain, rest), answer) in cases.iter().zip(answers.lines()) {
        let expected: String = serde_json::from_str(answer).unwrap();
        let ops: Vec<Op> = chain.iter().map(|(name, value)| operation(name, value).rest(*rest)).collect();
        let what = format!("{chain:?}, rest: {rest}, of\n{folded}");

        let mut streamed = Vec::new();
        let input = Opened::Folded(vec![Source::bytes(folded.as_bytes())]);
        Pipeline::new(&ops)
            .unwrap()
            .run(&input, &RunOptions::default().header(false), &mut streamed)
            .unwrap();
        assert_eq!(text(&streamed), expected, "streamed, {what}");

        let options = ReadOptions::default().format("folded");
        // A profile without stacks is an error of its own.
        if let Ok(profile) = Profile::read(&[Source::bytes(folded.as_bytes())], &options) {
            let mut in_memory = Vec::new();
            profile.filter(&ops).unwrap().stacks().write(&mut in_memory).unwrap();
            assert_eq!(text(&in_memory), expected, "in memory, {what}");
        }
        compared += 1;
    }
    assert_eq!(compared, CHAINS);
}

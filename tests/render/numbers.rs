//! The numbers of tables and trees, against sums made in the plainest way.

use std::collections::{BTreeMap, BTreeSet};

use super::run;

/// A stack and its weight.
type Stack = (Vec<&'static str>, u64);

const FRAMES: &[&str] = &["main", "a", "b", "c", "rec", "lib::x", "lib::y", "read", "write", "f(int)"];

/// A small profile, the same for each number on every machine: frames come again within a stack.
fn profile(seed: u64) -> BTreeMap<Vec<&'static str>, u64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    let stack = |below: &mut dyn FnMut(usize) -> usize| -> Stack {
        let frames = (0..1 + below(6)).map(|_| FRAMES[below(FRAMES.len())]).collect();
        (frames, 1 + below(60) as u64)
    };
    (0..1 + seed as usize % 14).map(|_| stack(&mut below)).collect()
}

fn folded(stacks: &BTreeMap<Vec<&'static str>, u64>) -> String {
    stacks.iter().map(|(frames, weight)| format!("{} {weight}\n", frames.join(";"))).collect()
}

/// Self and total weight of something.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    own: u64,
    total: u64,
}

/// Each function: in its total a stack counts once, however often the function is in it.
fn functions(stacks: &BTreeMap<Vec<&'static str>, u64>) -> BTreeMap<String, Sums> {
    let mut functions: BTreeMap<String, Sums> = BTreeMap::new();
    for (frames, weight) in stacks {
        for frame in frames.iter().collect::<BTreeSet<_>>() {
            functions.entry((*frame).to_string()).or_default().total += weight;
        }
        functions.entry((*frames.last().unwrap()).to_owned()).or_default().own += weight;
    }
    functions
}

/// Each way from the root, or with `reversed` from the leaf.
fn paths(stacks: &BTreeMap<Vec<&'static str>, u64>, reversed: bool) -> BTreeMap<Vec<String>, Sums> {
    let mut paths: BTreeMap<Vec<String>, Sums> = BTreeMap::new();
    for (frames, weight) in stacks {
        let mut frames: Vec<String> = frames.iter().map(|frame| (*frame).to_owned()).collect();
        if reversed {
            frames.reverse();
        }
        for end in 1..=frames.len() {
            paths.entry(frames[..end].to_vec()).or_default().total += weight;
        }
        paths.entry(frames).or_default().own += weight;
    }
    paths
}

/// The share of a whole, as percents are written.
fn percent(part: u64, whole: u64, digits: usize) -> String {
    format!("{:.digits$}", 100.0 * part as f64 / whole as f64)
}

/// Holds a written percentage against the exact one: they differ by less than a digit's half and a bit.
fn is_percent(written: &str, part: u64, whole: u64) -> bool {
    let digits = written.split_once('.').map_or(0, |(_, digits)| digits.len());
    let written: f64 = written.parse().unwrap_or(f64::NAN);
    (written - 100.0 * part as f64 / whole as f64).abs() <= 0.5001 * 0.1f64.powi(digits as i32)
}

fn rendered(arguments: &[&str], input: &str) -> String {
    let run = run(&[arguments, &["--input-format", "folded"]].concat(), input);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{arguments:?} of\n{input}");
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn a_table_s_numbers_are_plain_sums() {
    for seed in 0..25 {
        let stacks = profile(seed);
        let (input, functions) = (folded(&stacks), functions(&stacks));
        let whole: u64 = stacks.values().sum();

        let tsv = rendered(&["--format", "tsv"], &input);
        let rows: Vec<Vec<&str>> = tsv.lines().skip(1).map(|line| line.split('\t').collect()).collect();
        assert_eq!(rows.len(), functions.len(), "{tsv}");
        for row in &rows {
            let Sums { own, total } = functions[row[0]];
            assert_eq!((row[1], row[3]), (&*own.to_string(), &*total.to_string()), "{row:?} of\n{input}");
            assert_eq!((row[2], row[4]), (&*percent(own, whole, 6), &*percent(total, whole, 6)), "{row:?}");
        }

        // self, self%, sum%, total, total%, function
        let top = rendered(&["--format", "top", "--limit", "0"], &input);
        let mut before = (u64::MAX, u64::MAX);
        let mut sum = 0;
        for line in top.lines().skip(3) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let Sums { own, total } = functions[words[5]];
            sum += own;
            assert_eq!((words[0], words[3]), (&*own.to_string(), &*total.to_string()), "{line} of\n{input}");
            for (word, part) in [(words[1], own), (words[2], sum), (words[4], total)] {
                assert!(is_percent(word.trim_end_matches('%'), part, whole), "{line} of\n{input}");
            }
            assert!((own, total) <= before, "the order at {line} of\n{input}");
            before = (own, total);
        }
        assert_eq!(top.lines().count(), 3 + functions.len());
    }
}

#[test]
fn a_tree_s_numbers_are_plain_sums() {
    for seed in 0..25 {
        let stacks = profile(seed);
        let input = folded(&stacks);
        let whole: u64 = stacks.values().sum();
        for (format, reversed) in [("tree", false), ("bottomup", true)] {
            let text = rendered(&["--format", format, "--min-percent", "0"], &input);
            let mut paths = paths(&stacks, reversed);
            let mut path: Vec<String> = Vec::new();
            let mut levels: Vec<u64> = Vec::new();
            for line in text.lines().skip(3) {
                // The numbers, two blanks, and the name behind two more for each level.
                let numbers = if reversed { 2 } else { 4 };
                let (words, name) = columns(line, numbers);
                let level = (name.len() - name.trim_start().len()) / 2;
                path.truncate(level);
                path.push(name.trim().to_owned());
                let sums = paths.remove(&path).unwrap_or_else(|| panic!("{path:?} in\n{text}\nof\n{input}"));
                assert_eq!(words[0], sums.total.to_string(), "{line} of\n{input}");
                assert!(is_percent(words[1].trim_end_matches('%'), sums.total, whole), "{line}");
                if !reversed {
                    assert_eq!(words[2], sums.own.to_string(), "{line} of\n{input}");
                    assert!(is_percent(words[3].trim_end_matches('%'), sums.own, whole), "{line}");
                }
                // Heavier frames come first among those of one caller.
                levels.truncate(level + 1);
                match levels.get_mut(level) {
                    Some(before) => {
                        assert!(*before >= sums.total, "the order at {line} in\n{text}");
                        *before = sums.total;
                    }
                    None => levels.push(sums.total),
                }
            }
            assert!(paths.is_empty(), "{paths:?} are not in\n{text}");
        }
    }
}

/// The first words of a line, and what stands two blanks behind them.
fn columns(line: &str, count: usize) -> (Vec<&str>, &str) {
    let mut rest = line;
    let mut words = Vec::new();
    for _ in 0..count {
        let (word, behind) = rest.trim_start().split_once(' ').expect("a number");
        words.push(word);
        rest = behind;
    }
    (words, rest.strip_prefix(' ').unwrap_or(rest))
}

#[test]
fn the_numbers_of_json_are_plain_sums() {
    for seed in 0..25 {
        let stacks = profile(seed);
        let input = folded(&stacks);
        let json: serde_json::Value = serde_json::from_str(&rendered(&["--format", "json"], &input)).unwrap();
        let written = json["functions"].as_array().unwrap().iter().map(|row| {
            let number = |key: &str| row[key].as_u64().unwrap();
            (row["name"].as_str().unwrap().to_owned(), Sums { own: number("self"), total: number("total") })
        });
        assert_eq!(written.collect::<BTreeMap<_, _>>(), functions(&stacks), "{input}");
        assert_eq!(json["total"].as_u64().unwrap(), stacks.values().sum::<u64>());
        assert_eq!(json["stacks"].as_array().unwrap().len(), stacks.len());
    }
}

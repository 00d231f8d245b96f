//! Every operation of the filter, and its patterns, on whatever folded text comes.
//!
//! The first bytes choose operations, with values that their own examples have. What comes out
//! must be folded text; what a pattern keeps and what it does not keep are all there is.
#![no_main]

use fg_tools::filter::{Case, Filtered, OPERATIONS, Op, Operation, Pattern, PatternOptions, Pipeline, RunOptions};
use fg_tools::folded::parse_line;
use fg_tools::reading::Opened;
use fg_tools::{Profile, Result, Source};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [first, second, flags, text @ ..] = data else { return };
    let input = Opened::Folded(vec![Source::bytes(text)]);

    let expression = ["a", "main;", "^.$", r"(?-u)\xff|b"][usize::from(flags >> 6)];
    let pattern = Pattern::new(&[expression], PatternOptions::default()).expect("it is one");
    let with = run(&[], &input, &RunOptions::default().matching(pattern.clone()));
    let without = run(&[], &input, &RunOptions::default().without(pattern));
    if let (Ok((with, _)), Ok((without, _))) = (with, without) {
        assert_eq!(with.kept.stacks, without.dropped.stacks);
        assert_eq!(with.dropped.stacks, without.kept.stacks);
        assert_eq!(with.not_understood, without.not_understood);
    }

    let chosen = [first, second].into_iter().filter_map(|n| operation(*n));
    let ops: Vec<Op> = chosen.map(|op| op.case(if flags & 1 == 1 { Case::Ignored } else { Case::Smart }).rest(flags & 2 == 2)).collect();
    match run(&ops, &input, &RunOptions::default()) {
        Ok((filtered, out)) => {
            for line in out.split(|&b| b == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#"))
            {
                assert!(parse_line(line, filtered.columns).is_some(), "{}", String::from_utf8_lossy(line));
            }
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "a message is one line: {error}"),
    }
    // In memory, whatever the bytes are.
    if let Ok(profile) = Profile::from_bytes(text)
        && let Ok(filtered) = profile.filter(&ops)
    {
        assert!(filtered.write_folded(&mut std::io::sink()).is_ok());
    }
});

fn run(ops: &[Op], input: &Opened, options: &RunOptions) -> Result<(Filtered, Vec<u8>)> {
    let mut out = Vec::new();
    let filtered = Pipeline::new(ops)?.run(input, options, &mut out)?;
    Ok((filtered, out))
}

/// One of the operations, with a value of one of its examples.
fn operation(number: u8) -> Option<Op> {
    let mut all = OPERATIONS.iter().flat_map(|operation| values(operation));
    let (operation, value) = all.nth(usize::from(number))?;
    Op::new(operation, value).ok()
}

fn values(operation: &'static Operation) -> impl Iterator<Item = (&'static Operation, &'static str)> {
    let option = format!("--{}", operation.name);
    let value = move |arguments: &&'static [&'static str]| {
        let at = arguments.iter().position(|argument| *argument == option)?;
        Some(if operation.value.is_some() { *arguments.get(at + 1)? } else { "" })
    };
    let mut values: Vec<&str> = operation.examples.iter().map(|e| &e.arguments).filter_map(value).collect();
    values.sort_unstable();
    values.dedup();
    values.into_iter().map(move |value| (operation, value))
}

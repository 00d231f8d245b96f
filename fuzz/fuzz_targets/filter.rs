//! Every operation of the filter, and its patterns, on whatever folded text comes.
//!
//! The first bytes choose operations, with values that their own examples have. What comes out
//! must be folded text; what a pattern keeps and what it does not keep are all there is.
#![no_main]

use fg_tools::filter::{
    OPERATIONS, Operation, Pattern, PatternOptions, Pipeline, Selection, Settings, select,
};
use fg_tools::folded::parse_line;
use fg_tools::input::Source;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [first, second, flags, text @ ..] = data else { return };
    let path = std::env::temp_dir().join(format!("fg-fuzz-filter-{}", std::process::id()));
    std::fs::write(&path, text).expect("a temporary file");
    let sources = [Source::new(&path)];

    let expression = ["a", "main;", "^.$", r"(?-u)\xff|b"][usize::from(flags >> 6)];
    let pattern = Pattern::new(&[expression], PatternOptions::default()).expect("it is one");
    let kept = |invert| {
        let mut out = Vec::new();
        let selection = Selection { invert, ..Selection::default() };
        select(&sources, &pattern, selection, &mut out).ok().map(|selected| (selected, out))
    };
    if let (Some((with, _)), Some((without, _))) = (kept(false), kept(true)) {
        assert_eq!(with.kept.stacks, without.dropped.stacks);
        assert_eq!(with.dropped.stacks, without.kept.stacks);
        assert_eq!(with.not_understood, without.not_understood);
    }

    let chosen: Vec<(&Operation, &str)> = [first, second].into_iter().filter_map(|n| operation(*n)).collect();
    let settings = Settings { ignore_case: flags & 1 == 1, rest: flags & 2 == 2 };
    let Ok(mut pipeline) = Pipeline::new(&chosen, settings) else { return };
    let mut out = Vec::new();
    match pipeline.run(&sources, None, Selection::default(), &mut out) {
        Ok(filtered) => {
            for line in out.split(|&b| b == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#")) {
                assert!(parse_line(line, filtered.selected.columns).is_some(), "{}", String::from_utf8_lossy(line));
            }
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "a message is one line: {error}"),
    }
});

/// One of the operations, with a value of one of its examples.
fn operation(number: u8) -> Option<(&'static Operation, &'static str)> {
    let all: Vec<(&Operation, &str)> = OPERATIONS.iter().flat_map(|operation| values(operation)).collect();
    all.get(usize::from(number)).copied()
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

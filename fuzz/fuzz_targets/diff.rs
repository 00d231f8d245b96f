//! The two ways to put profiles side by side, on arbitrary folded texts: the one that streams, by a
//! plan or by a merge, must write the stacks that the one in memory has.
//!
//! The texts stand one behind the other, with a zero byte between.
#![no_main]

use fg_tools::diff::{Diff, join_folded};
use fg_tools::folded::{Columns, is_comment, parse_line};
use fg_tools::reading::ReadOptions;
use fg_tools::{Profile, Source};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some(end) = data.iter().position(|&b| b == 0) else { return };
    let (before, after) = (Source::bytes(&data[..end]), Source::bytes(&data[end + 1..]));
    let mut streamed = Vec::new();
    let joined = join_folded(&before, &after, &mut streamed);
    let read = |source: Source| Profile::read(&[source], &ReadOptions::default().format("folded"));
    let in_memory = read(before).and_then(|before| {
        let after = read(after)?;
        let mut text = Vec::new();
        Diff::new(&before, &after).profile()?.write_folded(&mut text)?;
        Ok(text)
    });
    match joined {
        Ok(()) => {
            for line in streamed.split(|&b| b == b'\n').filter(|line| !line.is_empty() && !is_comment(line)) {
                assert!(parse_line(line, Columns::Two).is_some(), "{}", String::from_utf8_lossy(line));
            }
            if let Ok(in_memory) = in_memory {
                assert_eq!(stacks(&streamed), stacks(&in_memory));
            }
        }
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "a message is one line: {error}");
            assert!(streamed.is_empty(), "nothing is written before trouble is known: {error}");
        }
    }
});

/// The lines that are no comments.
fn stacks(text: &[u8]) -> String {
    let lines = text.split(|&b| b == b'\n').filter(|line| !is_comment(line));
    lines.map(|line| String::from_utf8_lossy(line) + "\n").collect()
}

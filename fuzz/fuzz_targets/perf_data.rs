//! The reader of perf's own recordings, on whatever records come.
//!
//! The first byte says how the rest is read: as records behind a pipe's header, in one byte order
//! or the other, or as a whole file. Nothing of this machine is looked up.
//!
//! ```sh
//! fuzz/seed                # the golden recordings as a corpus to begin with
//! RUSTC_BOOTSTRAP=1 cargo fuzz run perf_data -- -max_len=40000 -dict=fuzz/perf_data.dict -rss_limit_mb=2048 -timeout=20
//! ```
#![no_main]

use std::io::Cursor;
use std::path::PathBuf;

use fg_tools::Weight;
use fg_tools::collapse::perf_data::Recording;
use fg_tools::collapse::{CollapseOptions, Report, ValueSelection, registry};
use fg_tools::folded::{StackTable, parse_line};
use fg_tools::input::{Input, Source};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [how, rest @ ..] = data else { return };
    let header: &[u8] = match how & 3 {
        0 => b"PERFILE2\x10\0\0\0\0\0\0\0",
        1 => b"2ELIFREP\0\0\0\0\0\0\0\x10",
        _ => b"",
    };
    let bytes = [header, rest].concat();
    read_records(&bytes);
    let Ok(input) = Input::new("fuzz", Box::new(Cursor::new(bytes))) else { return };
    let options = CollapseOptions {
        values: if how & 4 != 0 { ValueSelection::All } else { ValueSelection::Default },
        addrs: how & 8 != 0,
        tid: how & 16 != 0,
        threads: 1 + usize::from(how & 32 != 0),
        symfs: Some(PathBuf::from("/nonexistent")),
        ..CollapseOptions::default()
    };
    let mut table = StackTable::default();
    let format = registry::by_name("perf-data").expect("it is compiled in");
    let collapsed = format.collapse(input, &options, &mut table, &mut Report::default());
    if let Err(error) = &collapsed {
        assert!(!error.to_string().contains('\n'), "a message is one line: {error}");
    }
    let mut out = Vec::new();
    table.write(&mut out).expect("it fits in memory");
    let mut sum = Weight::ZERO;
    for line in out.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
        let parsed = parse_line(line, table.columns()).expect("what is written is folded text");
        sum = sum.checked_add(parsed.weights.value).expect("periods of 64 bits are no large sum");
    }
    assert_eq!(table.total().expect("as above").value, sum, "what is written adds up");
});

/// Takes every record apart, in the order of the file and in the order of time.
fn read_records(bytes: &[u8]) {
    if let Ok(recording) = Recording::open(&Source::bytes(bytes)) {
        recording.flatten().for_each(|record| drop(record.content().map(|content| format!("{content:?}"))));
    }
    if let Ok(recording) = Recording::open(&Source::bytes(bytes)) {
        assert!(recording.in_time_order().filter(Result::is_err).count() <= 1, "an error is the end");
    }
}

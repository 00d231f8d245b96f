//! Every format's parser, and detection, on whatever bytes come.
//!
//! The first byte chooses the format, by its place in the registry, or detection; the second the
//! options. The result must be folded text that adds up to what was collapsed, with a header that is
//! read again as it was written. With cargo-fuzz
//! installed, on a stable compiler:
//!
//! ```sh
//! fuzz/seed                # the fixtures as a corpus to begin with
//! RUSTC_BOOTSTRAP=1 cargo fuzz run collapse -- -max_total_time=3600 -rss_limit_mb=2048 -timeout=20
//! ```
#![no_main]

use std::io::Cursor;

use fg_tools::Weight;
use fg_tools::collapse::{CollapseOptions, Report, ValueSelection, registry};
use fg_tools::folded::parse_line;
use fg_tools::input::Input;
use fg_tools::profile::{ProfileBuilder, Wants, header};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [format, flags, bytes @ ..] = data else { return };
    let Ok(input) = Input::new("fuzz", Box::new(Cursor::new(bytes.to_vec()))) else { return };
    let format = match registry::FORMATS.get(usize::from(*format)) {
        Some(format) => *format,
        None => match registry::detect(&input) {
            Ok(format) => format,
            Err(_) => return,
        },
    };
    let bit = |n: u8| flags >> n & 1 == 1;
    let options = CollapseOptions {
        values: if bit(0) { ValueSelection::All } else { ValueSelection::Default },
        count: bit(1),
        threads_as_frames: bit(2).then(|| bit(3)),
        pid: bit(4),
        tid: bit(5),
        srcline: bit(6),
        inline: bit(7),
        threads: 1,
        ..CollapseOptions::default()
    };
    // Places and single samples are wanted where threads are named: half of the time.
    let wants = if bit(2) { Wants::ALL } else { Wants::NOTHING };
    let mut builder = ProfileBuilder::new(wants);
    let mut report = Report::default();
    let collapsed = format.collapse(input, &options, &mut builder, &mut report);
    if let Err(error) = &collapsed {
        assert!(!error.to_string().contains('\n'), "a message is one line: {error}");
    }
    let text = header::write(&report.facts);
    assert!(header::read(text.as_bytes()).is_ok(), "a header is read again: {text}");
    let Ok(profile) = builder.finish() else { return };
    let table = profile.stacks();
    let columns = table.columns();
    let mut out = Vec::new();
    table.write(&mut out).expect("it fits in memory");
    let mut sum = Weight::ZERO;
    for line in out.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
        let parsed = parse_line(line, columns).expect("what is written is folded text");
        let Ok(more) = sum.checked_add(parsed.weights.value) else { return };
        sum = more;
    }
    if let Ok(total) = table.total() {
        assert_eq!(total.value, sum, "what is written adds up");
    }
});

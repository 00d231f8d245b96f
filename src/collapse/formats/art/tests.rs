//! Traces put together field by field, and their stacks.

use super::*;
use crate::collapse::ValueSelection;
use crate::collapse::tests::collapse_bytes;

/// Main enters `main` at 10 and `work` at 30, leaves it at 70 and `main` at 100; half of it on the processor.
fn records(version: u16) -> Vec<u8> {
    let mut out = Vec::new();
    for (method, time) in [(4u32, 10u32), (8, 30), (8 | 1, 70), (4 | 2, 100)] {
        match version {
            1 => out.push(7),
            _ => out.extend_from_slice(&7u16.to_le_bytes()),
        }
        out.extend_from_slice(&method.to_le_bytes());
        if version == 3 {
            out.extend_from_slice(&(time / 2).to_le_bytes());
        }
        out.extend_from_slice(&time.to_le_bytes());
    }
    out
}

fn header(version: u16) -> Vec<u8> {
    let mut out = b"SLOW".to_vec();
    out.extend_from_slice(&version.to_le_bytes());
    out.extend_from_slice(&32u16.to_le_bytes());
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&14u16.to_le_bytes());
    out.resize(32, 0);
    out
}

fn regular(version: u16, clock: &str) -> Vec<u8> {
    let mut out = format!(
        "*version\n{version}\ndata-file-overflow=false\nclock={clock}\nelapsed-time-usec=120\n\
         num-method-calls=4\nvm=art\npid=7\n*threads\n7\tmain\n*methods\n0x4\ta/b/Main\tmain\t()V\tMain.java\n\
         0x8\ta.b.Main$1\twork\t(I)V\tMain.java\t12\n*end\n"
    )
    .into_bytes();
    out.extend(header(version));
    out.extend(records(version));
    out
}

fn streamed() -> Vec<u8> {
    let mut out = header(0xf3);
    for (code, text) in
        [(1u8, "0x4\ta.b.Main\tmain\t()V\tMain.java\n"), (1, "0x8\ta.b.Main$1\twork\t(I)V\tMain.java\n")]
    {
        out.extend_from_slice(&[0, 0, code]);
        out.extend_from_slice(&(text.len() as u16).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    }
    out.extend_from_slice(&[0, 0, 2, 7, 0, 4, 0]);
    out.extend_from_slice(b"main");
    out.extend(records(3));
    let summary = b"*version\n3\nclock=dual\nnum-method-calls=4\n";
    out.extend_from_slice(&[0, 0, 3]);
    out.extend_from_slice(&(summary.len() as u32).to_le_bytes());
    out.extend_from_slice(summary);
    out
}

fn collapsed(trace: &[u8], options: &CollapseOptions) -> (String, Vec<String>) {
    assert_eq!(Art.detect(trace), Certainty::Yes);
    let (folded, report) = collapse_bytes(&Art, trace, options).unwrap();
    (folded, report.notes)
}

const STACKS: &str = "a.b.Main.main 50\na.b.Main.main;a.b.Main$1.work 40\n";

#[test]
fn all_versions_and_both_forms_have_the_same_stacks() {
    let plain = CollapseOptions::default();
    for trace in [regular(1, "wall"), regular(2, "global"), regular(3, "dual"), streamed()] {
        let (folded, notes) = collapsed(&trace, &plain);
        assert_eq!((folded.as_str(), notes.len()), (STACKS, 0), "{notes:?}");
    }
    let cpu = CollapseOptions {
        values: ValueSelection::Named(vec![b"cpu".to_vec()]),
        ..CollapseOptions::default()
    };
    assert_eq!(collapsed(&regular(2, "thread-cpu"), &cpu).0, STACKS);
    assert_eq!(collapsed(&streamed(), &cpu).0, "a.b.Main.main 25\na.b.Main.main;a.b.Main$1.work 20\n");
}

#[test]
fn a_trace_that_is_cut_off_is_read_as_far_as_it_goes() {
    for trace in [regular(3, "dual"), streamed()] {
        for len in 12..trace.len() {
            let Ok((_, report)) = collapse_bytes(&Art, &trace[..len], &CollapseOptions::default()) else {
                continue;
            };
            assert_eq!(report.notes.len(), 1, "{len} of {}: {:?}", trace.len(), report.notes);
        }
    }
}

#[test]
fn ends_without_a_beginning_and_unknown_methods_are_told() {
    let mut trace = regular(3, "dual");
    for (method, time) in [(12u32, 110u32), (16 | 1, 115)] {
        trace.extend_from_slice(&7u16.to_le_bytes());
        trace.extend_from_slice(&method.to_le_bytes());
        trace.extend_from_slice(&[0; 4]);
        trace.extend_from_slice(&time.to_le_bytes());
    }
    let (folded, notes) = collapsed(&trace, &CollapseOptions::default());
    assert_eq!(folded, format!("[method 0xc] 5\n{STACKS}"));
    assert_eq!(notes[0], "there are 6 records, the trace says 4");
    assert_eq!(
        notes[1],
        "1 methods are left that were entered before the trace; their callers have their time"
    );
}

#[test]
fn other_versions_are_not_claimed() {
    for head in [&b"SLOW\xf5\0 \0"[..], b"SLOW\x03\0 \0", b"*version\n4\n", b"*version\n", b"SLO"] {
        assert_eq!(Art.detect(head), Certainty::No, "{head:?}");
    }
}

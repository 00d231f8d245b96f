//! A database that SQLite itself has made, whole and damaged.

use super::*;
use crate::collapse::CollapseOptions;
use crate::collapse::ValueSelection;
use crate::collapse::tests::{collapse_bytes, fold};

/// Pages of 1024 bytes, names that go on on other pages, tables of two levels.
fn whole() -> Vec<u8> {
    let packed = &include_bytes!("../../../../tests/fixtures/nsight/gpu/input.sqlite.gz")[..];
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(packed), &mut bytes).unwrap();
    bytes
}

fn value(name: &str) -> CollapseOptions {
    CollapseOptions { values: ValueSelection::Named(vec![name.into()]), ..CollapseOptions::default() }
}

fn error(bytes: &[u8]) -> String {
    collapse_bytes(&Nsight, bytes, &CollapseOptions::default())
        .err()
        .map(|e| e.to_string())
        .unwrap_or_default()
}

#[test]
fn kernels_are_below_calls_and_ranges() {
    let bytes = whole();
    assert_eq!(Nsight.detect(&bytes[..bytes.len().min(crate::input::HEAD)]), Certainty::Magic);
    let (folded, report) = collapse_bytes(&Nsight, &bytes, &CollapseOptions::default()).unwrap();
    assert!(folded.contains("step 0;forward;cudaMemcpyAsync;memcpy Host-to-Device "), "{folded}");
    assert!(folded.contains("step 1;backward;cudaLaunchKernel;ampere_sgemm_128x64_tn "), "{folded}");
    assert!(folded.contains("[no stack];memset 0.777\n"), "{folded}");
    assert_eq!(report.notes.len(), 2, "{:?}", report.notes);
    let start = report.facts.start.map(|start| humantime::format_rfc3339_millis(start).to_string());
    assert_eq!(start.as_deref(), Some("2026-11-22T10:30:00.250Z"));
    let threads = CollapseOptions { tid: true, ..value("events") };
    assert!(fold(&Nsight, &bytes, &threads).contains("loader-4711/4720;poll 400\n"));
}

#[test]
fn samples_have_their_stacks() {
    let folded = fold(&Nsight, whole(), &CollapseOptions { kernel: true, ..value("samples") });
    assert!(folded.contains("_start;main;[libc.so.6];do_syscall_64_[k] "), "{folded}");
    assert!(folded.contains("_start;main;model::forward;model::layer<int> "), "{folded}");
    assert!(folded.starts_with("[no stack] 1\n"), "{folded}");
}

#[test]
fn damage_is_an_error_with_a_place() {
    let bytes = whole();
    for len in (0..bytes.len()).step_by(701) {
        assert_ne!(error(&bytes[..len]), "", "{len}");
    }
    assert!(error(&bytes[..bytes.len() - 1024]).contains("it is cut off; export it again"));
    assert!(error(&bytes.repeat(2)).contains("there is more behind it"));
    let changed = |at: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        error(&bytes)
    };
    assert!(changed(0, b'x').contains("a database of SQLite"));
    assert!(changed(16, 3).contains("the size of a database's pages"));
    assert!(changed(59, 2).contains("UTF-8"));
    // The kind of the schema's page, and its right-most page below, which is itself.
    assert!(changed(100, 7).contains("a page of a table with row numbers"));
    if bytes[100] == 5 {
        let mut circle = bytes.clone();
        circle[108..112].copy_from_slice(&[0, 0, 0, 1]);
        assert!(error(&circle).contains("a table without circles"), "{}", error(&circle));
    }
}

#[test]
fn other_databases_are_none() {
    assert_eq!(
        Nsight.detect(b"SQLite format 3\0\x10\0 CREATE TABLE moz_places (id INTEGER PRIMARY KEY)"),
        Certainty::No
    );
    assert_eq!(Nsight.detect(b"CREATE TABLE StringIds NVTX_EVENTS"), Certainty::No);
}

//! Recordings that are cut short or damaged: an error or what is left, never a panic.

use fg_tools::collapse::CollapseOptions;

use super::kit::*;
use super::{below, fold_bytes, root_with_maps};

const CODE: u64 = 0x7000_0000;

fn recording(style: Style) -> Recording {
    let fields = USUAL | REGS_USER | STACK_USER | BRANCH_STACK | RAW;
    let event = Event { fields, registers: 0xff0fff, branches: 1 << 11, ..Event::default() };
    let mut r = Recording::new(style, &[event, Event::default()]);
    r.build_id("/lib/x.so", &[7; 20]);
    r.comm(1, 1, 0, b"app", false);
    r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
    r.mmap(1, 0, CODE + 0x1000, 0x1000, 0, "/bin/true");
    r.fork(5, (1, 1), (2, 2));
    for n in 0..20 {
        let registers =
            (0..20).map(|register| if register == 8 { CODE + n } else { 0x1000 + register * 8 }).collect();
        let chain = vec![KERNEL, u64::MAX - 5000, USER, CODE];
        let stack = (0..32u64).flat_map(|word| (CODE + word * 64 + n).to_le_bytes()).collect();
        let branches = vec![(CODE, CODE + 1)];
        r.sample(&Sample {
            pid: 1,
            tid: 1,
            time: 10 + n,
            period: 9,
            chain,
            registers,
            stack,
            branches,
            ..Sample::default()
        });
        r.finish_round();
    }
    r.lost(3);
    r
}

#[test]
fn cut_anywhere_it_is_an_error_that_says_so() {
    let root = root_with_maps(&[]);
    let r = recording(PLAIN);
    let bytes = r.bytes();
    assert!(fold_bytes(&bytes, &below(root.path())).is_ok());
    let ends = r.ends();
    let step = (bytes.len() / 400).max(1);
    let everywhere =
        (0..bytes.len()).step_by(step).chain(ends.iter().flat_map(|end| [end - 1, *end, end + 1]));
    for end in everywhere.filter(|end| *end < bytes.len()) {
        let error = fold_bytes(&bytes[..end], &below(root.path())).expect_err("it is cut short");
        assert_eq!(error.lines().count(), 1, "{error}");
        let known =
            ["cut short", "not a format", "empty input", "expected"].iter().any(|what| error.contains(what));
        assert!(known, "cut at {end}: {error}");
    }
}

#[test]
fn a_pipe_cut_within_a_record_is_an_error_and_between_records_is_shorter() {
    let root = root_with_maps(&[]);
    let bytes = recording(Style { pipe: true, ..PLAIN }).bytes();
    let (mut errors, mut fine) = (0, 0);
    for end in (16..bytes.len()).step_by(28) {
        match fold_bytes(&bytes[..end], &below(root.path())) {
            Ok(_) => fine += 1,
            Err(error) => {
                errors += 1;
                assert!(error.contains("cut short") || error.contains("no samples"), "cut at {end}: {error}");
            }
        }
    }
    assert!(fine >= 3 && errors > 3 * fine, "{fine} {errors}");
}

#[test]
fn a_recording_whose_perf_was_killed_is_read_to_its_last_whole_record() {
    let root = root_with_maps(&[]);
    let r = recording(PLAIN);
    let ends = r.ends();
    let mut bytes = r.bytes();
    // perf writes the size of the records last of all.
    bytes[48..56].fill(0);
    let last_sample = ends[ends.len() - 3];
    for (end, cut) in [(last_sample, false), (last_sample - 7, true)] {
        let (text, report) = fold_bytes(&bytes[..end], &below(root.path())).unwrap();
        let weight: u64 = text.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum();
        assert_eq!(weight, if cut { 19 * 9 } else { 20 * 9 });
        assert_eq!(
            report.notes.iter().any(|note| note.contains("not ended properly")),
            cut,
            "{:?}",
            report.notes
        );
    }
}

#[test]
fn damaged_bytes_are_no_panic() {
    let root = root_with_maps(&[]);
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    for pipe in [false, true] {
        for compressed in [false, true] {
            let bytes = recording(Style { pipe, compressed, ..PLAIN }).bytes();
            for round in 0..250 {
                let mut damaged = bytes.clone();
                // Mostly the header and the first records, where most of the sizes are.
                for _ in 0..1 + round % 5 {
                    let range = if random() % 2 == 0 { 600.min(damaged.len()) } else { damaged.len() };
                    let at = 8 + random() % (range - 8);
                    damaged[at] = [0, 1, 0x7f, 0x80, 0xff, damaged[at] ^ 1 << (random() % 8)][random() % 6];
                }
                let options = CollapseOptions { threads: 1 + round % 2, ..below(root.path()) };
                if let Err(error) = fold_bytes(&damaged, &options) {
                    assert_eq!(error.lines().count(), 1, "{error}");
                }
            }
        }
    }
}

#[test]
fn sizes_beyond_the_file_are_errors_and_cost_nothing() {
    let root = root_with_maps(&[]);
    let bytes = recording(PLAIN).bytes();
    // Attributes, records, and the sizes of each.
    for at in [16, 24, 32, 40, 48] {
        for value in [u64::MAX, u64::MAX / 2, 1 << 40, 1] {
            let mut damaged = bytes.clone();
            damaged[at..at + 8].copy_from_slice(&value.to_le_bytes());
            let _ = fold_bytes(&damaged, &below(root.path()));
        }
    }
    let mut r = Recording::new(PLAIN, &[Event::default()]);
    // A chain of more addresses than the record has.
    let mut body = Vec::new();
    for n in [1000u64, CODE, 1 << 32 | 1, 10, 5, u64::MAX / 8] {
        body.extend(n.to_le_bytes());
    }
    r.raw(9, &body);
    let error = fold_bytes(&r.bytes(), &below(root.path())).unwrap_err();
    assert!(error.contains("byte 240: expected the fields of a sample, found "), "{error}");
}

#[test]
fn a_record_without_a_size_is_an_error_with_its_place() {
    let root = root_with_maps(&[]);
    let r = recording(PLAIN);
    let at = r.ends()[3];
    let mut bytes = r.bytes();
    bytes[at + 6..at + 8].fill(0);
    let error = fold_bytes(&bytes, &below(root.path())).unwrap_err();
    assert!(error.contains(&format!(" byte {at}: expected a record of at least 8 bytes")), "{error}");
}

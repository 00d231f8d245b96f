//! Notes and details in the report.

use super::kit::*;
use super::{below, fold_bytes, root_with_maps};

const CODE: u64 = 0x7000_0000;

#[test]
fn code_without_symbols_is_said_when_it_is_much() {
    let root = root_with_maps(&[(1, &[(CODE, "f")])]);
    for (without, said) in [(24, false), (26, true)] {
        let mut r = Recording::new(PLAIN, &[Event::default()]);
        r.comm(1, 1, 0, b"app", false);
        r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
        r.mmap(1, 0, CODE + 0x1000, 0x1000, 0, "/lib/x.so");
        for n in 0..100 {
            let address = if n < without { CODE + 0x1000 } else { CODE };
            let chain = vec![USER, address];
            r.sample(&Sample { pid: 1, tid: 1, time: 10, period: 3, chain, ..Sample::default() });
        }
        r.lost(12);
        let (_, report) = fold_bytes(&r.bytes(), &below(root.path())).unwrap();
        let notes = report.notes.join("\n");
        assert_eq!(notes.contains("of the weight is in code without a symbol"), said, "{notes}");
        assert!(!said || notes.contains("26% in \"/lib/x.so\", which was not found; install"), "{notes}");
        let details = report.details.join("\n");
        assert!(details.contains("100 samples, 12 lost"), "{details}");
        assert!(
            details.contains(&format!("\"/lib/x.so\" was not found, {without}% of the weight")),
            "{details}"
        );
    }
}

#[test]
fn stacks_longer_than_their_dump_are_marked_and_counted() {
    let root = root_with_maps(&[(1, &[(CODE, "leaf"), (CODE + 0x100, "caller")])]);
    let event = Event { fields: USUAL | REGS_USER | STACK_USER, registers: 0x1c0, ..Event::default() };
    let stack_at = 0x7fff_0000u64;
    for (used, text, said) in
        [(32, "app;[truncated];caller;leaf 5\n", true), (24, "app;caller;leaf 5\n", false)]
    {
        let mut r = Recording::new(PLAIN, std::slice::from_ref(&event));
        r.comm(1, 1, 0, b"app", false);
        r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
        // The frame pointer's chain: one frame is there, the next is behind the dump.
        let stack: Vec<u8> =
            [0, stack_at + 4096, CODE + 0x105, 0].iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
        let registers = vec![stack_at + 8, stack_at, CODE];
        let chain = vec![];
        r.sample(&Sample {
            pid: 1,
            tid: 1,
            time: 10,
            period: 5,
            chain,
            registers,
            stack,
            used: Some(used),
            ..Sample::default()
        });
        let (found, report) = fold_bytes(&r.bytes(), &below(root.path())).unwrap();
        assert_eq!(found, text);
        let notes = report.notes.join("\n");
        assert_eq!(notes.contains("1 stacks, 100% of the weight, are longer"), said, "{notes}");
    }
}

#[test]
fn addresses_of_nothing_are_said_when_they_are_many() {
    let root = root_with_maps(&[(1, &[(CODE, "f")])]);
    let mut r = Recording::new(PLAIN, &[Event::default()]);
    r.comm(1, 1, 0, b"app", false);
    r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
    let chain = vec![USER, CODE, 0x1234];
    r.sample(&Sample { pid: 1, tid: 1, time: 10, period: 3, chain, ..Sample::default() });
    let (text, report) = fold_bytes(&r.bytes(), &below(root.path())).unwrap();
    assert_eq!(text, "app;[unknown];f 3\n");
    let notes = report.notes.join("\n");
    assert!(notes.contains("100% of the weight is in stacks with addresses of nothing"), "{notes}");
}

#[test]
fn a_file_that_was_built_again_is_said() {
    let root = root_with_maps(&[]);
    let program = std::env::current_exe().unwrap();
    std::fs::create_dir(root.path().join("bin")).unwrap();
    std::fs::copy(program, root.path().join("bin/app")).unwrap();
    let mut r = Recording::new(PLAIN, &[Event::default()]);
    r.build_id("/bin/app", &[9; 20]);
    r.comm(1, 1, 0, b"app", false);
    r.mmap(1, 0, CODE, 0x10_0000, 0, "/bin/app");
    let chain = vec![USER, CODE + 0x1000];
    r.sample(&Sample { pid: 1, tid: 1, time: 10, period: 3, chain, ..Sample::default() });
    let (text, report) = fold_bytes(&r.bytes(), &below(root.path())).unwrap();
    assert_eq!(text, "app;[app] 3\n");
    let notes = report.notes.join("\n");
    assert!(notes.contains("\"/bin/app\" has changed since it was recorded"), "{notes}");
}

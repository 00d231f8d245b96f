//! Stacks of aarch64 programs, unwound by the tables that GCC has written for them. perf cannot
//! record them here: a program copied its own registers and stack, `golden/README.md` says how.

use std::path::Path;

use super::kit::*;
use super::{below, fold_bytes};

/// x0 to x30, sp, pc.
const REGISTERS: usize = 33;
/// Those that perf asks for and that a callee keeps, and sp and pc.
const KEPT: std::ops::Range<usize> = 19..33;
const LOADED_AT: u64 = 0x40_0000;

#[test]
fn stacks_of_aarch64_are_followed_to_their_root() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perf_data/golden");
    let mask = KEPT.fold(0, |mask, register| mask | 1 << register);
    let event = Event { fields: USUAL | REGS_USER | STACK_USER, registers: mask, ..Event::default() };
    // The same without an index of the tables, with those for debuggers only, with return addresses that the
    // processor has signed, and with SFrame tables only, of version 2 and, signed again, 3.
    for name in ["deep", "deep-debug-frame", "deep-signed", "deep-sframe-2", "deep-sframe-3"] {
        let dumped = std::fs::read(golden.join(format!("aarch64/{name}.stack"))).unwrap();
        let (registers, stack) = dumped.split_at(8 * REGISTERS);
        let registers: Vec<u64> =
            registers.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect();
        for style in [PLAIN, Style { pipe: true, ..PLAIN }] {
            let mut r = Recording::new(style, std::slice::from_ref(&event));
            r.arch("aarch64");
            r.comm(1, 1, 0, b"deep", false);
            r.mmap(1, 0, LOADED_AT, 0x1000, 0, &format!("/home/user/app/golden/aarch64/{name}"));
            r.sample(&Sample {
                pid: 1,
                tid: 1,
                time: 10,
                period: 7,
                registers: registers[KEPT].to_vec(),
                stack: stack.to_vec(),
                ..Sample::default()
            });
            let (text, report) = fold_bytes(&r.bytes(), &below(&golden.join("root"))).unwrap();
            assert_eq!(text, "deep;_start;start_c;run;visit;visit;visit;sized;leaf 7\n", "{name}");
            assert!(report.notes.is_empty(), "{name}: {:?}", report.notes);
        }
    }
}

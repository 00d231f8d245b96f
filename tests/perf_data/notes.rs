//! Notes and details in the report.

use fg_tools::collapse::{CollapseOptions, collapse};
use fg_tools::folded::StackTable;
use fg_tools::{Source, Weight};

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
        assert!(
            !said || notes.contains("26% of the weight is in code without a symbol, all of it in \"/lib/x.so\", which was not found: name the folder"),
            "{notes}"
        );
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

/// A recording of one stack, of which addresses of the program are given.
fn of_program(
    root: &std::path::Path,
    source: &str,
    flags: &[&str],
    event: Event,
    sample: Sample,
) -> Option<Vec<u8>> {
    let bin = root.join("home/bin");
    std::fs::create_dir_all(&bin).unwrap();
    let (file, program) = (bin.join("app.c"), bin.join("app"));
    std::fs::write(&file, source).unwrap();
    let cc = std::process::Command::new("cc").args(flags).arg("-o").arg(&program).arg(&file).status();
    if !cc.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no cc here");
        return None;
    }
    let mut r = Recording::new(PLAIN, &[event]);
    r.comm(1, 1, 0, b"app", false);
    r.mmap(1, 0, CODE, 0x10_0000, 0, "/home/bin/app");
    r.mmap(1, 0, CODE + 0x20_0000, 0x1000, 0, "//anon");
    r.sample(&sample);
    Some(r.bytes())
}

#[test]
fn a_stripped_program_is_named_with_the_setting_that_mends_it() {
    let root = root_with_maps(&[(1, &[(CODE + 0x20_0000, "f")])]);
    // The leaf has a name; the program, all of the rest, has none.
    let chain = vec![USER, CODE + 0x20_0000, CODE + 0x1040];
    let sample = Sample { pid: 1, tid: 1, time: 10, period: 3, chain, ..Sample::default() };
    for (flags, said) in [(&["-O1"][..], false), (&["-O1", "-s"], true)] {
        let source = "int main(int n, char **v) { return n; }";
        let Some(bytes) = of_program(root.path(), source, flags, Event::default(), sample.clone()) else {
            return;
        };
        let (_, report) = fold_bytes(&bytes, &below(root.path())).unwrap();
        let expected = "100% of the weight is in stacks through \"/home/bin/app\", which is stripped: build it with -g, \
                        and without -s and strip";
        assert_eq!(report.notes.iter().any(|note| note == expected), said, "{flags:?}: {:?}", report.notes);
    }
}

#[test]
fn a_compiler_at_run_time_is_told_how_to_describe_its_code() {
    let root = root_with_maps(&[]);
    for (file, advice) in [
        ("/usr/bin/node", "that Node.js compiled: start it with `node --perf-basic-prof`"),
        ("/opt/jdk/lib/server/libjvm.so", "-XX:+UnlockDiagnosticVMOptions -XX:+PreserveFramePointer"),
        ("/usr/bin/luajit", "its own profiler names Lua's functions, `luajit -jp=G,out.folded app.lua`"),
        ("/usr/bin/hhvm", "its compiler may have a setting"),
    ] {
        let mut r = Recording::new(PLAIN, &[Event::default()]);
        r.comm(1, 1, 0, b"app", false);
        r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
        r.mmap(1, 0, CODE + 0x1000, 0x1000, 0, file);
        let chain = vec![USER, CODE, CODE + 0x10, CODE + 0x20];
        r.sample(&Sample { pid: 1, tid: 1, time: 10, period: 3, chain, ..Sample::default() });
        let (_, report) = fold_bytes(&r.bytes(), &below(root.path())).unwrap();
        let notes = report.notes.join("\n");
        assert!(notes.contains(advice) && !notes.contains("install"), "{notes}");
    }
}

#[test]
fn short_stacks_that_are_complete_lack_no_frame_pointers() {
    for (root_frame, said) in [("runtime.goexit.abi0", false), ("main.work", true)] {
        let root = root_with_maps(&[(2, &[(CODE, "leaf"), (CODE + 0x100, root_frame)])]);
        let mut r = Recording::new(PLAIN, &[Event::default()]);
        r.comm(2, 2, 0, b"app", false);
        r.mmap(2, 0, CODE, 0x1000, 0, "//anon");
        let chain = vec![USER, CODE, CODE + 0x101];
        r.sample(&Sample { pid: 2, tid: 2, time: 10, period: 3, chain, ..Sample::default() });
        let (text, report) = fold_bytes(&r.bytes(), &below(root.path())).unwrap();
        assert_eq!(text, format!("app;{root_frame};leaf 3\n"));
        let notes = report.notes.join("\n");
        assert_eq!(notes.contains("end after a frame or two"), said, "{notes}");
    }
}

#[test]
fn nothing_is_advised_that_was_already_done() {
    let root = root_with_maps(&[(1, &[(CODE, "leaf"), (CODE + 0x100, "caller")])]);
    let stack_at = 0x7fff_0000u64;
    let stack: Vec<u8> =
        [0, stack_at + 4096, CODE + 0x105, 0].iter().flat_map(|w: &u64| w.to_le_bytes()).collect();
    for (dump, advice) in [(8192, "with --call-graph dwarf,65528"), (65_528, "the kernel records no more")] {
        let fields = USUAL | REGS_USER | STACK_USER;
        let event = Event { fields, registers: 0x1c0, dump, ..Event::default() };
        let mut r = Recording::new(PLAIN, &[event]);
        r.comm(1, 1, 0, b"app", false);
        r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
        let registers = vec![stack_at + 8, stack_at, CODE];
        let (chain, stack) = (vec![], stack.clone());
        let sample =
            Sample { pid: 1, tid: 1, time: 10, period: 5, chain, registers, stack, ..Sample::default() };
        r.sample(&Sample { used: Some(32), ..sample });
        let (_, report) = fold_bytes(&r.bytes(), &below(root.path())).unwrap();
        let notes = report.notes.join("\n");
        assert!(notes.contains(advice), "{notes}");
    }
    // What has just been recorded is not elsewhere.
    let mut r = Recording::new(PLAIN, &[Event::default()]);
    r.comm(1, 1, 0, b"app", false);
    r.mmap(1, 0, CODE, 0x1000, 0, "/no/such/app");
    let chain = vec![USER, CODE];
    r.sample(&Sample { pid: 1, tid: 1, time: 10, period: 3, chain, ..Sample::default() });
    for just_recorded in [false, true] {
        let options = fg_tools::collapse::CollapseOptions { just_recorded, ..Default::default() };
        let (_, report) = fold_bytes(&r.bytes(), &options).unwrap();
        let notes = report.notes.join("\n");
        assert!(notes.contains("which was not found"), "{notes}");
        assert_eq!(notes.contains("--symfs"), !just_recorded, "{notes}");
    }
}

#[test]
fn a_return_address_where_no_code_runs_is_no_frame() {
    let root = root_with_maps(&[(1, &[(CODE, "leaf")])]);
    let stack_at = 0x7fff_0000u64;
    let fields = USUAL | REGS_USER | STACK_USER;
    for (data, is_mapped) in [(stack_at + 16, true), (0x1234_5678, false)] {
        let mut r = Recording::new(PLAIN, &[Event { fields, registers: 0x1c0, ..Event::default() }]);
        r.comm(1, 1, 0, b"app", false);
        r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
        if is_mapped {
            r.mmap_of(1, 0, stack_at, 0x1000, 0, "[stack]", 2 | 1 << 13, false);
        }
        // The caller that the frame pointer leads to is a number in the stack.
        let stack: Vec<u8> = [0, stack_at + 32, data, 0].iter().flat_map(|w: &u64| w.to_le_bytes()).collect();
        let registers = vec![stack_at + 8, stack_at, CODE];
        let chain = vec![];
        let sample =
            Sample { pid: 1, tid: 1, time: 10, period: 5, chain, registers, stack, ..Sample::default() };
        r.sample(&sample);
        let (text, report) = fold_bytes(&r.bytes(), &below(root.path())).unwrap();
        assert_eq!(text, "app;leaf 5\n", "{data:#x}");
        let notes = report.notes.join("\n");
        assert!(notes.contains("100% of the weight is in stacks that end before their root"), "{notes}");
    }
}

#[test]
fn frame_pointers_are_said_to_leave_out_the_caller_of_a_leaf() {
    let root = root_with_maps(&[(1, &[(CODE, "leaf"), (CODE + 0x100, "caller")])]);
    let stacks = |fields, chain: Vec<u64>, just_recorded| {
        let event = Event { fields, registers: 0x1c0, ..Event::default() };
        let mut r = Recording::new(PLAIN, &[event]);
        r.comm(1, 1, 0, b"app", false);
        r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
        r.sample(&Sample { pid: 1, tid: 1, time: 10, period: 5, chain, ..Sample::default() });
        let options = CollapseOptions { just_recorded, ..below(root.path()) };
        let (_, report) = fold_bytes(&r.bytes(), &options).unwrap();
        let is_said = |lines: &[String]| lines.join("\n").contains("leave out the caller of a function that");
        (is_said(&report.notes), is_said(&report.details))
    };
    let chain = || vec![USER, CODE, CODE + 0x105, CODE + 0x105];
    assert_eq!(stacks(USUAL, chain(), true), (true, false));
    assert_eq!(stacks(USUAL, chain(), false), (false, true), "of others' recordings it is a detail");
    assert_eq!(stacks(USUAL | REGS_USER | STACK_USER, chain(), true), (false, false));
    assert_eq!(stacks(USUAL & !CALLCHAIN, vec![], true), (false, false), "without stacks");
}

/// Processor traces, branches and faults of which nothing came, before the clock that was sampled.
#[test]
fn a_first_event_without_samples_gives_way_to_one_with_some() {
    let root = root_with_maps(&[(1, &[(CODE, "f")])]);
    let first = [
        Event { kind: 8, name: "intel_pt//u", ..Event::default() },
        Event { kind: 0, name: "branches:u", fields: USUAL | BRANCH_STACK, ..Event::default() },
        Event { config: 6, name: "major-faults", ..Event::default() },
    ];
    for first in first {
        for pipe in [false, true] {
            let clock = Event { name: "cpu-clock", ..Event::default() };
            let other = Event { kind: 1, config: 5, name: "alignment-faults", ..Event::default() };
            let mut r = Recording::new(Style { pipe, ..PLAIN }, &[first.clone(), clock, other]);
            r.comm(1, 1, 0, b"app", false);
            r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
            for (event, time, period) in [(2, 10, 3), (1, 20, 5)] {
                let chain = vec![USER, CODE];
                r.sample(&Sample { event, pid: 1, tid: 1, time, period, chain, ..Sample::default() });
            }
            let note = format!("the value {:?} has no samples: this is \"cpu-clock\"", first.name);
            let (text, report) = fold_bytes(&r.bytes(), &below(root.path())).unwrap();
            assert_eq!(text, "app;f 5\n", "{}", first.name);
            assert!(report.notes.join("\n").contains(&note), "{:?}", report.notes);
            // What can be read once only.
            let once = Source::reader("pipe", std::io::Cursor::new(r.bytes()));
            let mut table = StackTable::default();
            let report = collapse(&[once], None, &below(root.path()), &mut table).unwrap();
            assert_eq!(table.total().unwrap().value, Weight::new(5), "{}", first.name);
            assert!(report.notes.join("\n").contains(&note), "{:?}", report.notes);
        }
    }
}

//! Processes, threads and their memory as they change in time.

use fg_tools::collapse::CollapseOptions;

use super::kit::{Event, PLAIN, Recording, Sample};
use super::{below, fold_bytes, folded, root_with_maps};

const CODE: u64 = 0x7000_0000;

/// A sample of one user frame.
fn at(pid: i32, tid: i32, time: u64, address: u64) -> Sample {
    let chain = vec![super::kit::USER, address];
    Sample { pid, tid, time, ip: address, period: 1, chain, ..Sample::default() }
}

fn recording() -> Recording {
    Recording::new(PLAIN, &[Event::default()])
}

#[test]
fn names_of_threads_change_and_are_inherited() {
    let root = root_with_maps(&[(1, &[(CODE, "f")])]);
    let mut r = recording();
    r.comm(1, 1, 0, b"app", false);
    r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
    r.sample(&at(1, 1, 10, CODE));
    r.fork(20, (1, 1), (1, 2));
    r.sample(&at(1, 2, 30, CODE));
    r.comm(1, 2, 40, b"worker 2;x", false);
    r.sample(&at(1, 2, 50, CODE));
    r.sample(&at(1, 1, 60, CODE));
    r.sample(&at(1, 77, 70, CODE));
    r.sample(&at(0, 0, 80, CODE));
    assert_eq!(folded(&r, root.path()), ":77;f 1\napp;f 3\nswapper;[unknown] 1\nworker_2:x;f 1\n");
    let options = CollapseOptions { tid: true, ..below(root.path()) };
    let (text, _) = fold_bytes(&r.bytes(), &options).unwrap();
    assert!(text.contains("app-1/2;f 1\n") && text.contains("worker_2:x-1/2;f 1\n"), "{text}");
    let options = CollapseOptions { pid: true, ..below(root.path()) };
    let (text, _) = fold_bytes(&r.bytes(), &options).unwrap();
    assert!(text.contains("app-1;f 3\n"), "{text}");
}

#[test]
fn a_new_process_has_its_parent_s_memory_until_it_starts_another_program() {
    let root = root_with_maps(&[(1, &[(CODE, "parent")]), (2, &[(CODE, "child")])]);
    let mut r = recording();
    r.comm(1, 1, 0, b"sh", false);
    r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
    r.fork(10, (1, 1), (2, 2));
    r.sample(&at(2, 2, 20, CODE));
    r.comm(2, 2, 30, b"cc", true);
    r.sample(&at(2, 2, 40, CODE));
    r.mmap(2, 50, CODE, 0x1000, 0, "//anon");
    r.sample(&at(2, 2, 60, CODE));
    r.sample(&at(1, 1, 70, CODE));
    assert_eq!(folded(&r, root.path()), "cc;[unknown] 1\ncc;child 1\nsh;parent 2\n");
}

#[test]
fn a_library_lies_over_what_was_there_before() {
    let root = root_with_maps(&[]);
    let mut r = recording();
    r.comm(1, 1, 0, b"app", false);
    r.mmap(1, 0, CODE, 0x3000, 0, "/lib/old.so");
    r.sample(&at(1, 1, 5, CODE + 0x1800));
    r.mmap(1, 10, CODE + 0x1000, 0x1000, 0, "/lib/new.so");
    for page in 0..4 {
        r.sample(&at(1, 1, 20, CODE + page * 0x1000 + 0x800));
    }
    assert_eq!(folded(&r, root.path()), "app;[new.so] 1\napp;[old.so] 3\napp;[unknown] 1\n");
    // The remaining part of the old library keeps its offsets in the file.
    let options = CollapseOptions { addrs: true, ..below(root.path()) };
    let (text, _) = fold_bytes(&r.bytes(), &options).unwrap();
    assert!(text.contains("app;[old.so <2800>] 1\n"), "{text}");
}

#[test]
fn records_are_put_in_the_order_of_time() {
    let root = root_with_maps(&[(1, &[(CODE, "f")])]);
    let mut r = recording();
    // Two processors' buffers, one after the other, in two rounds. The name and the mapping are
    // written behind samples that are younger.
    r.sample(&at(1, 1, 30, CODE));
    r.sample(&at(1, 1, 40, CODE));
    r.comm(1, 1, 10, b"app", false);
    r.mmap(1, 20, CODE, 0x1000, 0, "//anon");
    r.comm(1, 1, 35, b"app2", false);
    r.finish_round();
    r.sample(&at(1, 1, 50, CODE));
    r.comm(1, 1, 38, b"app3", false);
    r.finish_round();
    assert_eq!(folded(&r, root.path()), "app;f 1\napp3;f 2\n");
}

#[test]
fn anonymous_memory_is_code_when_there_is_a_map_of_it() {
    let root = root_with_maps(&[(1, &[(CODE, "La/B;::run->La/C;::go"), (CODE + 0x10_0000, "late")])]);
    let mut r = recording();
    r.comm(1, 1, 0, b"java", false);
    r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
    // Not executable yet when it was mapped.
    r.mmap_of(1, 0, CODE + 0x10_0000, 0x1000, 0, "//anon", 2, false);
    r.mmap_of(1, 0, CODE + 0x20_0000, 0x1000, 0, "[heap]", 2, false);
    r.mmap1(1, 0, CODE + 0x30_0000, 0x1000, 0, "/lib/x.so");
    for n in 0..4 {
        r.sample(&at(1, 1, 10, CODE + n * 0x10_0000));
    }
    r.sample(&at(1, 1, 10, CODE + 0x800));
    let options = CollapseOptions { jit: true, ..below(root.path()) };
    let (text, _) = fold_bytes(&r.bytes(), &options).unwrap();
    assert_eq!(
        text,
        "java;[[heap]] 1\njava;[perf-1.map]_[j] 1\njava;[x.so] 1\njava;a/B:::run_[j];a/C:::go_[i] 1\njava;late_[j] 1\n"
    );
}

#[test]
fn a_jitdump_describes_code_too() {
    let root = root_with_maps(&[]);
    let mut dump = Vec::new();
    // The header: magic, version, size, machine, process, time, flags.
    for n in [0x4a69_5444u32, 1, 40, 62, 0, 1] {
        dump.extend(n.to_le_bytes());
    }
    dump.extend([0; 16]);
    // A function: kind, size, time, process, thread, address, address, size, number, name, code.
    let name = b"compiled\0";
    dump.extend([0u32.to_le_bytes(), (56 + name.len() as u32 + 16).to_le_bytes()].concat());
    dump.extend(5u64.to_le_bytes());
    dump.extend([1u32.to_le_bytes(), 1u32.to_le_bytes()].concat());
    for n in [CODE, CODE, 16, 0] {
        dump.extend(n.to_le_bytes());
    }
    dump.extend(name);
    dump.extend([0x90; 16]);
    std::fs::write(root.path().join("tmp/jit-1.dump"), dump).unwrap();
    let mut r = recording();
    r.comm(1, 1, 0, b"app", false);
    r.mmap(1, 0, CODE - 0x10_0000, 0x1000, 0, "/tmp/jit-1.dump");
    r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
    r.sample(&at(1, 1, 10, CODE + 3));
    assert_eq!(folded(&r, root.path()), "app;compiled 1\n");
}

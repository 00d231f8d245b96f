//! Single samples with time and thread, and the places of frames.

use fg_tools::Profile;
use fg_tools::collapse::CollapseOptions;
use fg_tools::input::Source;
use fg_tools::profile::{Kind, Place};
use fg_tools::reading::ReadOptions;

use super::kit::*;
use super::{below, root_with_maps};

const CODE: u64 = 0x7000_0000;
const KERNEL_CODE: u64 = 0xffff_ffff_8100_0000;

fn read(bytes: Vec<u8>, options: CollapseOptions) -> Profile {
    let options = ReadOptions::default().collapse(options).samples(true);
    Profile::read(&[Source::bytes(bytes)], &options).expect("it is a recording")
}

#[test]
fn every_sample_has_its_time_and_its_thread() {
    let root = root_with_maps(&[(7, &[(CODE, "f"), (CODE + 0x100, "g")])]);
    let mut r = Recording::new(PLAIN, &[Event::default()]);
    r.comm(7, 7, 0, b"app", false);
    r.comm(7, 8, 0, b"worker;1", false);
    r.mmap(7, 0, CODE, 0x1000, 0, "//anon");
    for n in 0..1000u64 {
        let (tid, chain) = (7 + (n % 2) as i32, vec![USER, CODE + 0x100 * (n % 3 % 2)]);
        r.sample(&Sample { pid: 7, tid, time: 100 + n, period: 5, chain, ..Sample::default() });
    }
    for threads in [1, 3] {
        let profile = read(r.bytes(), CollapseOptions { threads, ..below(root.path()) });
        assert_eq!(profile.samples().len(), 1000);
        for (n, sample) in (0..).zip(profile.samples().iter()) {
            assert_eq!(
                (sample.time, sample.process, sample.thread),
                (Some(100 + n), Some(7), Some(7 + n % 2))
            );
            assert_eq!(sample.thread_name, if n % 2 == 0 { &b"app"[..] } else { b"worker;1" });
            let leaf = *profile.stack(sample.stack).last().unwrap();
            assert_eq!(profile.stacks().name(leaf), if n % 3 == 1 { b"g" } else { b"f" });
        }
        let mut folded = Vec::new();
        profile.stacks().write(&mut folded).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&folded),
            "app;f 1670\napp;g 830\nworker:1;f 1665\nworker:1;g 835\n"
        );
    }
}

#[test]
fn frames_have_modules_kinds_and_lines() {
    let root = root_with_maps(&[(1, &[(CODE, "jitted")])]);
    let mut r = Recording::new(PLAIN, &[Event::default()]);
    r.comm(1, 1, 0, b"app", false);
    r.mmap(-1, 0, KERNEL_CODE, 0xff_0000, KERNEL_CODE, "[kernel.kallsyms]_text");
    r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
    r.mmap(1, 0, CODE + 0x1000, 0x1000, 0, "/usr/lib/libx.so.1");
    let chain = vec![KERNEL, KERNEL_CODE + 5, USER, CODE + 2, CODE + 0x1800];
    r.sample(&Sample { pid: 1, tid: 1, time: 9, period: 5, mode: 1, chain, ..Sample::default() });
    let profile = read(r.bytes(), below(root.path()));
    let place = |name: &str| profile.places().get(name.as_bytes());
    let of = |module: &'static str, kind| Some(Place { module: module.as_bytes(), kind, ..Place::default() });
    assert_eq!(place("[[kernel.kallsyms]]"), of("[kernel.kallsyms]", Kind::Kernel));
    assert_eq!(place("jitted"), of("perf-1.map", Kind::Jit));
    assert_eq!(place("[libx.so.1]"), of("libx.so.1", Kind::User));
    assert_eq!(place("app"), None);
}

#[test]
fn places_come_from_debug_information() {
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perf_data/golden");
    let options = ReadOptions::default()
        .collapse(CollapseOptions { symfs: Some(golden.join("root")), ..CollapseOptions::default() });
    let profile = Profile::read(&[Source::new(golden.join("calc.data.gz"))], &options).unwrap();
    let lines = std::fs::read_to_string(golden.join("calc.lines")).unwrap();
    let located: Vec<_> = profile.places().iter().filter(|(_, place)| place.line > 0).collect();
    assert!(!located.is_empty());
    for (name, place) in &located {
        assert_eq!((place.module, place.kind), (&b"calc"[..], Kind::User));
        assert!(!place.file.is_empty());
        let file = place.file.rsplit(|&b| b == b'/').next().unwrap();
        let file = String::from_utf8_lossy(file);
        assert!(lines.contains(&*file), "{file} of {}", String::from_utf8_lossy(name));
    }
    assert!(located.iter().any(|(_, place)| place.inlined), "some are inlined: {located:?}");
}

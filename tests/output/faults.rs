//! System calls that fail: whatever call of whatever program it is, an output is the old one or the new
//! one, nothing is left beside it, and the status and one line tell which.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use fg_tools::input::{Input, Source};
use rayon::prelude::*;

use super::thorough::thorough;
use super::{COLLAPSE, DIFF, FILTER, RECORD, RENDER, feed, names};

/// The calls, and how they fail: by an error's number, or by a short count.
const FAULTS: &[(&str, &[&str])] = &[
    ("open", &["EIO", "EACCES", "EINTR"]),
    ("read", &["EIO", "EINTR", "short"]),
    ("write", &["EIO", "ENOSPC", "EINTR", "short"]),
    ("rename", &["EIO", "ENOSPC"]),
    ("link", &["EPERM"]),
    ("sync", &["EIO", "ENOSPC", "EINVAL"]),
    ("chmod", &["EIO"]),
    ("truncate", &["EIO"]),
    ("map", &["ENOMEM"]),
    ("at", &["EIO", "EINTR", "short"]),
    ("seek", &["EIO"]),
    ("stat", &["EIO", "EACCES"]),
];

/// More calls than any of the runs has; each of them fails once.
const MOST_CALLS: usize = 400;

fn number(fault: &str) -> String {
    let number = match fault {
        "EIO" => libc::EIO,
        "EACCES" => libc::EACCES,
        "EINTR" => libc::EINTR,
        "ENOSPC" => libc::ENOSPC,
        "EPERM" => libc::EPERM,
        "EINVAL" => libc::EINVAL,
        "ENOMEM" => libc::ENOMEM,
        other => return other.to_owned(),
    };
    number.to_string()
}

/// The preloaded library, if a compiler is here.
fn library(folder: &Path) -> Option<PathBuf> {
    let library = folder.join("faults.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/output/faults.c");
    let cc = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .args([source, "-ldl"])
        .output();
    match cc {
        Ok(output) if output.status.success() => Some(library),
        Ok(output) => {
            eprintln!("skipped: cc cannot compile the faults: {}", feed::text(output.stderr));
            None
        }
        Err(e) => {
            eprintln!("skipped: there is no cc: {e}");
            None
        }
    }
}

/// A run of a program, and the folder that it runs in.
struct Case {
    program: &'static str,
    arguments: &'static [&'static str],
    /// Standard input.
    input: &'static str,
    outputs: &'static [&'static str],
}

const OLD: &str = "old\n";

/// Input that is not sorted starts outputs over.
const UNSORTED: &str = "main;write 2\nmain;parse 40\n";

const CASES: &[Case] = &[
    Case { program: COLLAPSE, arguments: &["in.folded", "-o", "out"], input: "", outputs: &["out"] },
    Case { program: COLLAPSE, arguments: &["-o", "out"], input: UNSORTED, outputs: &["out"] },
    Case { program: FILTER, arguments: &["main", "in.folded", "-o", "out"], input: "", outputs: &["out"] },
    Case { program: FILTER, arguments: &["--hide", "^p", "-o", "out"], input: UNSORTED, outputs: &["out"] },
    Case { program: DIFF, arguments: &["in.folded", "in.folded", "-o", "out"], input: "", outputs: &["out"] },
    Case {
        program: DIFF,
        arguments: &["in.folded", "-", "--format=tsv", "-o", "out"],
        input: UNSORTED,
        outputs: &["out"],
    },
    Case {
        program: RENDER,
        arguments: &["in.folded", "-o", "a.svg", "-o", "b.html", "-o", "c.folded"],
        input: "",
        outputs: &["a.svg", "b.html", "c.folded"],
    },
    Case {
        program: RENDER,
        arguments: &["-o", "a.json", "-o", "b.pb.gz", "-o", "c.speedscope.json", "-o", "d.firefox.json"],
        input: UNSORTED,
        outputs: &["a.json", "b.pb.gz", "c.speedscope.json", "d.firefox.json"],
    },
    Case {
        program: RENDER,
        arguments: &["in.folded", "-o", "a.txt", "-o", "b.md", "-o", "c.tsv", "-o", "d.tree"],
        input: "",
        outputs: &["a.txt", "b.md", "c.tsv", "d.tree"],
    },
    Case { program: RECORD, arguments: &["--generate", "man"], input: "", outputs: &[] },
    // Standard output, compressed recordings, and two inputs that are merged.
    Case { program: COLLAPSE, arguments: &["in.folded", "in.folded"], input: "", outputs: &[] },
    Case {
        program: COLLAPSE,
        arguments: &["in.data.gz", "--symfs", "nowhere", "-q", "-o", "out"],
        input: "",
        outputs: &["out"],
    },
    Case {
        program: COLLAPSE,
        arguments: &["in.data", "--symfs", "nowhere", "-q", "-o", "out"],
        input: "",
        outputs: &["out"],
    },
    Case { program: FILTER, arguments: &["main", "in.folded"], input: "", outputs: &[] },
    Case { program: FILTER, arguments: &["--top", "1", "in.folded"], input: "", outputs: &[] },
    Case { program: DIFF, arguments: &["in.folded", "in.folded", "--format=json"], input: "", outputs: &[] },
    Case { program: RENDER, arguments: &["in.folded"], input: "", outputs: &[] },
];

impl Case {
    fn prepare(&self, folder: &Path) {
        fs::write(folder.join("in.folded"), "main;parse 40\nmain;write 2\n").unwrap();
        if self.arguments[0].starts_with("in.data") {
            let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perf_data/golden/calc.data.gz");
            let recording = match self.arguments[0] {
                "in.data" => Source::path(golden).open().and_then(Input::read_all).unwrap(),
                _ => fs::read(golden).unwrap(),
            };
            fs::write(folder.join(self.arguments[0]), recording).unwrap();
        }
        self.outputs.iter().for_each(|name| fs::write(folder.join(name), OLD).unwrap());
    }

    fn run(&self, folder: &Path, library: &Path, fault: &str, fired: &Path) -> Output {
        let mut command = Command::new(self.program);
        command.args(self.arguments).current_dir(folder);
        command.env("LD_PRELOAD", library).env("FAULT", fault).env("FAULT_FIRED", fired);
        feed::feed(&mut command, self.input)
    }

    fn contents(&self, folder: &Path) -> BTreeMap<String, Vec<u8>> {
        let is_recording = self.arguments[0].starts_with("in.data");
        let read = |name: &&str| {
            let mut bytes = fs::read(folder.join(name)).unwrap();
            if is_recording && bytes != OLD.as_bytes() {
                // Warnings say why a file with symbols cannot be used.
                let lines = bytes.split_inclusive(|&b| b == b'\n').filter(|line| !line.starts_with(b"# "));
                bytes = lines.collect::<Vec<_>>().concat();
            }
            ((*name).to_owned(), bytes)
        };
        self.outputs.iter().map(read).collect()
    }
}

#[test]
fn every_call_that_fails_leaves_the_old_files_or_the_new_ones() {
    let shared = tempfile::tempdir().unwrap();
    let Some(library) = library(shared.path()) else { return };
    let tried: usize = CASES.par_iter().map(|case| faults_of(case, &library)).sum();
    eprintln!("{tried} faults");
    assert!(tried > thorough(300, 100), "only {tried} faults came");
}

/// Lets each call of a program fail in each way; returns how often that was.
fn faults_of(case: &Case, library: &Path) -> usize {
    let (folder, shared) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let fired = shared.path().join("fired");
    let mut tried = 0;
    case.prepare(folder.path());
    let there = names(folder.path());
    let old = case.contents(folder.path());
    let plain = case.run(folder.path(), library, "none:1:5", &fired);
    assert_eq!((plain.status.code(), feed::text(&plain.stderr)), (Some(0), String::new()));
    let new = case.contents(folder.path());
    for (call, hows) in FAULTS {
        for how in *hows {
            for n in (1..=MOST_CALLS).step_by(thorough(1, 3)) {
                case.prepare(folder.path());
                let fault = format!("{call}:{n}:{}", number(how));
                let run = case.run(folder.path(), library, &fault, &fired);
                if fs::remove_file(&fired).is_err() {
                    break;
                }
                tried += 1;
                assert!(n + 3 < MOST_CALLS, "{:?} has too many calls of {call}", case.arguments);
                let said = feed::text(&run.stderr);
                let what = format!("{} {:?}, {call} {n}, {how}: {said}", case.program, case.arguments);
                let (expected, lines) = match run.status.code() {
                    Some(0) => (&new, said.lines().count()..=0),
                    Some(2) => (&old, 1..=1),
                    _ => panic!("{:?}: {what}", run.status),
                };
                assert!(lines.contains(&said.lines().count()), "{what}");
                assert!(*expected == case.contents(folder.path()), "status {:?}: {what}", run.status);
                assert_eq!(names(folder.path()), there, "{what}");
                if *how == "short" || (*how == "EINTR" && *call != "open") {
                    assert_eq!(run.status.code(), Some(0), "{what}");
                }
                // What was written to standard output before stays.
                let is_whole = run.status.success();
                assert!(
                    if is_whole { run.stdout == plain.stdout } else { plain.stdout.starts_with(&run.stdout) },
                    "{what}"
                );
            }
        }
    }
    tried
}

#[test]
fn a_signal_on_any_call_leaves_all_old_files_or_all_new_ones() {
    let shared = tempfile::tempdir().unwrap();
    let Some(library) = library(shared.path()) else { return };
    let fired = shared.path().join("fired");
    let (mut before, mut after) = (0, 0);
    for case in CASES.iter().filter(|case| !case.outputs.is_empty()) {
        let folder = tempfile::tempdir().unwrap();
        case.prepare(folder.path());
        let there = names(folder.path());
        let old = case.contents(folder.path());
        let plain = case.run(folder.path(), &library, "none:1:5", &fired);
        assert!(plain.status.success());
        let new = case.contents(folder.path());
        for call in ["open", "write", "sync", "chmod", "link", "rename"] {
            for n in 1..=MOST_CALLS {
                case.prepare(folder.path());
                let run = case.run(folder.path(), &library, &format!("{call}:{n}:signal"), &fired);
                if fs::remove_file(&fired).is_err() {
                    break;
                }
                let what = format!("{} {:?}, {call} {n}", case.program, case.arguments);
                assert_eq!(
                    (run.status.signal(), feed::text(&run.stderr)),
                    (Some(libc::SIGTERM), String::new()),
                    "{what}"
                );
                assert_eq!(names(folder.path()), there, "{what}");
                let now = case.contents(folder.path());
                assert!(now == old || now == new, "{what}");
                // Files that are being put in their places all get there.
                let is_placing = call == "rename" || call == "link";
                assert!(!is_placing || now == new, "{what}");
                before += usize::from(now == old);
                after += usize::from(now == new);
            }
        }
    }
    assert!(before > 20 && after > 10, "{before} and {after}");
}

#[test]
fn the_recorder_s_second_signal_leaves_nothing_beside_its_outputs() {
    let shared = tempfile::tempdir().unwrap();
    let Some(library) = library(shared.path()) else { return };
    let case = RECORDING;
    // Checks of the outputs make temporary files too, before anything is recorded.
    for (fault, is_new) in
        [("none:1:5", true), ("sync:1:signals", false), ("sync:2:signals", false), ("rename:1:signals", true)]
    {
        let folder = tempfile::tempdir().unwrap();
        case.prepare(folder.path());
        let (there, old) = (names(folder.path()), case.contents(folder.path()));
        let run = case.run(folder.path(), &library, fault, &shared.path().join("fired"));
        let said = feed::text(&run.stderr);
        if fault.starts_with("none") && !run.status.success() {
            eprintln!("skipped: {said}");
            return;
        }
        let killed = Some(128 + libc::SIGTERM);
        let statuses = match fault {
            "none:1:5" => [Some(0), Some(0)],
            // All is done when the signal counts: the program may end by itself meanwhile.
            "rename:1:signals" => [killed, Some(0)],
            _ => [killed, killed],
        };
        assert!(statuses.contains(&run.status.code()), "{fault}: {run:?}");
        assert_eq!(said, "", "{fault}");
        assert_eq!(names(folder.path()), there, "{fault}");
        let now = case.contents(folder.path());
        let is_each_new = now.iter().map(|(name, bytes)| *bytes != old[name]);
        assert!(is_each_new.into_iter().all(|it| it == is_new), "{fault}");
    }
}

/// A recording with two outputs.
const RECORDING: Case = Case {
    program: RECORD,
    arguments: &["--with", "builtin", "-q", "-o", "a.folded", "-o", "b.svg", "--", "sh", "-c", SPIN],
    input: "",
    outputs: &["a.folded", "b.svg"],
};

const SPIN: &str = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";

#[test]
fn a_kill_at_any_call_tears_no_output() {
    let shared = tempfile::tempdir().unwrap();
    let Some(library) = library(shared.path()) else { return };
    let fired = shared.path().join("fired");
    let mut killed: BTreeMap<&str, usize> = BTreeMap::new();
    for case in CASES.iter().filter(|case| !case.outputs.is_empty()).chain([&RECORDING]) {
        let is_recorder = case.program == RECORD;
        let folder = tempfile::tempdir().unwrap();
        case.prepare(folder.path());
        let (there, old) = (names(folder.path()), case.contents(folder.path()));
        let plain = case.run(folder.path(), &library, "none:1:5", &fired);
        if !plain.status.success() && is_recorder {
            eprintln!("skipped: {}", feed::text(&plain.stderr));
            continue;
        }
        let new = case.contents(folder.path());
        // A recorder opens and reads much of the system while it records.
        let calls: &[&str] = if is_recorder {
            &["sync", "chmod", "link", "rename"]
        } else {
            &["open", "read", "write", "sync", "chmod", "link", "rename"]
        };
        for call in calls {
            for n in (1..=MOST_CALLS).step_by(thorough(1, 3)) {
                case.prepare(folder.path());
                let run = case.run(folder.path(), &library, &format!("{call}:{n}:kill"), &fired);
                if fs::remove_file(&fired).is_err() {
                    break;
                }
                let what = format!("{} {:?}, {call} {n}: {run:?}", case.program, case.arguments);
                assert_eq!(run.status.signal(), Some(libc::SIGKILL), "{what}");
                *killed.entry(case.program).or_default() += 1;
                for (name, bytes) in case.contents(folder.path()) {
                    let is_whole = match is_recorder {
                        false => bytes == new[&name],
                        // Each recording is another.
                        true => bytes.ends_with(if name == "b.svg" { b"</svg>\n" } else { b"\n" }),
                    };
                    assert!(bytes == old[&name] || is_whole, "{name}: {what}");
                }
                // A temporary name may be left: nobody is there to remove it.
                for name in names(folder.path()).iter().filter(|name| !there.contains(name)) {
                    assert!(name.starts_with(".fg-"), "{name}: {what}");
                    fs::remove_file(folder.path().join(name)).unwrap();
                }
            }
        }
    }
    eprintln!("{killed:?}");
    for program in [COLLAPSE, FILTER, DIFF, RENDER] {
        assert!(killed.get(program).is_some_and(|count| *count > thorough(10, 3)), "{killed:?}");
    }
}

#[test]
fn kills_at_any_time_tear_no_output() {
    let folder = tempfile::tempdir().unwrap();
    let stacks: String = (0..20_000).map(|n| format!("main;f{:04};g{n:05} 1\n", n / 10)).collect();
    fs::write(folder.path().join("in.folded"), stacks).unwrap();
    let start = || {
        let mut command = Command::new(RENDER);
        command.args(["in.folded", "-o", "a.folded", "-o", "b.folded"]).current_dir(folder.path());
        command.stderr(Stdio::null()).spawn().unwrap()
    };
    assert!(start().wait().unwrap().success());
    let at = |name: &str| folder.path().join(name);
    let new = fs::read(at("a.folded")).unwrap();
    for round in 0..60u64 {
        for name in ["a.folded", "b.folded"] {
            fs::write(at(name), OLD).unwrap();
        }
        let mut child = start();
        // From the start of the program to its end, as fast or slow as this machine is now.
        let mut spins = 0;
        while child.try_wait().unwrap().is_none() && spins < round * 40 {
            spins += 1;
            std::thread::yield_now();
        }
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
        }
        child.wait().unwrap();
        for name in ["a.folded", "b.folded"] {
            let now = fs::read(at(name)).unwrap();
            assert!(now == OLD.as_bytes() || now == new, "{name} has {} bytes", now.len());
        }
    }
}

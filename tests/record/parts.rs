//! Results before a recording ends: `--every` and `--last`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::process::{signal, until};
use super::{
    Running, endless, fg_record, reaches_main, ready, recorded, share, stacks, text, wait_until_recording,
};

/// The weight of a file in samples, of one after each millisecond of processor time.
fn samples(folded: &str) -> u64 {
    let weights = stacks(folded);
    // A busy machine may leave more than a period without a sample.
    let weights = weights.lines().filter(|line| !line.contains("[not sampled]"));
    let weights = weights.map(|line| line.rsplit_once(' ').expect("a line").1.parse::<u64>().expect("ns"));
    weights.sum::<u64>() / 1_000_000
}

fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    // What is being written has a name that begins with a dot.
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "folded")).collect()
}

/// True, said, if nothing can be recorded here.
fn is_refused(program: &Path) -> bool {
    recorded(fg_record().args(["-q", "--"]).arg(program).arg("1")).is_none()
}

#[test]
fn every_part_is_a_file_and_nothing_is_lost_between_them() {
    let Some(program) = ready().filter(|program| !is_refused(program)) else { return };
    let target = endless(program);
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("%Y");
    let mut command = fg_record();
    command.args([
        "-v",
        "--every",
        "0.2",
        "-e",
        "cpu-clock",
        "-c",
        "1000000",
        "-p",
        &target.0.id().to_string(),
    ]);
    command.arg("-o").arg(out.join("%H%M%S.folded"));
    let recorder = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let year = || fs::read_dir(folder.path()).ok()?.flatten().map(|entry| entry.path()).next();
    until("there are five files", || year().is_some_and(|year| files(&year).len() >= 5));
    signal("TERM", recorder.id());
    let output = recorder.wait_with_output().expect("it ends");
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let year = year().expect("a folder of the year");
    let all: Vec<String> =
        files(&year).iter().map(|path| fs::read_to_string(path).expect("a profile")).collect();
    for folded in &all {
        // What is known of the process goes on.
        reaches_main(folded);
        assert!(folded.contains("# start: ") && folded.contains("# duration: "), "{folded}");
    }
    assert!(share(&all.concat(), "hot") > 0.5, "{all:?}");
    let sum: u64 = all.iter().map(|folded| samples(folded)).sum();
    let counted =
        said.lines().find_map(|line| line.strip_prefix("fg-record: ")?.split_once(" samples of cpu-clock"));
    let (counted, _) = counted.expect("the number of samples is said");
    assert_eq!(sum.to_string(), counted, "{said}");
}

#[test]
fn files_of_old_parts_are_removed() {
    let Some(program) = ready().filter(|program| !is_refused(program)) else { return };
    let target = endless(program);
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = fg_record();
    command.args(["--every", "0.1", "--keep-files", "2", "-p", &target.0.id().to_string(), "-o"]);
    let mut recorder = command.arg(folder.path().join("%Y%m%dT%H%M%S.folded")).spawn().expect("it starts");
    let mut seen = BTreeSet::new();
    until("five files were there", || {
        seen.extend(files(folder.path()));
        seen.len() >= 5
    });
    signal("TERM", recorder.id());
    assert!(recorder.wait().expect("it ends").success());
    let left = files(folder.path());
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(!left.contains(seen.iter().next().unwrap()) || seen.len() > 5, "{seen:?} {left:?}");
}

#[test]
fn the_last_of_a_recording_is_written_on_request_and_at_the_end() {
    let Some(program) = ready().filter(|program| !is_refused(program)) else { return };
    let target = endless(program);
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("last.folded");
    let mut command = fg_record();
    command.args(["--last", "10s", "-p", &target.0.id().to_string(), "-o"]).arg(&out);
    let mut recorder = Running(command.spawn().expect("it starts"));
    wait_until_recording(&recorder.0);
    // The handler is there before the events are.
    for end in [false, true] {
        until("it is written", || {
            // Before the first sample there is nothing to write.
            signal(if end { "TERM" } else { "USR2" }, recorder.0.id());
            std::thread::sleep(std::time::Duration::from_millis(300));
            out.exists() || end
        });
        if end {
            assert!(recorder.0.wait().expect("it ends").success());
        }
        let folded = fs::read_to_string(&out).expect("a profile");
        assert!(share(&folded, "hot") + share(&folded, "warm") > 0.0, "{folded}");
        reaches_main(&folded);
        fs::remove_file(&out).expect("it is there");
    }
}

/// A program that computes for a while, and sleeps for a second.
const MOODY: &str = r#"
#include <time.h>
#include <unistd.h>
static volatile unsigned long x;
__attribute__((noinline)) void busy(void) {
  clock_t end = clock() + 300 * (CLOCKS_PER_SEC / 1000);
  while (clock() < end) for (long i = 0; i < 100000; i++) x = x * 31 + i;
}
int main(void) { for (int i = 0; i < 1000; i++) { sleep(1); busy(); } return 0; }
"#;

#[test]
fn the_last_of_a_recording_is_written_when_a_condition_is_met() {
    static BUILT: super::Built = super::Built::new();
    if ready().is_none_or(is_refused) {
        return;
    }
    let Some(program) = super::compiled(&BUILT, "moody", MOODY) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let out = |name: &str| folder.path().join(name).join("%H%M%S.folded");
    let begin = |name: &str, condition: &str, more: &[&str]| {
        let mut command = fg_record();
        command
            .args(["-v", "-F", "99", "--last", "4s", "--when", condition])
            .args(more)
            .arg("-o")
            .arg(out(name));
        Running(command.arg("--").arg(program).stderr(Stdio::null()).spawn().expect("it starts"))
    };
    let busy = begin("busy", "cpu>1%", &["--keep-files", "1"]);
    let never = begin("never", "rss>100T", &[]);
    let mut seen = BTreeSet::new();
    until("it was written twice", || {
        seen.extend(files(&folder.path().join("busy")));
        seen.len() >= 2
    });
    // The next one may come at any time.
    let mut folded = String::new();
    until("older files are removed", || {
        let left = files(&folder.path().join("busy"));
        let read = left.first().and_then(|file| fs::read_to_string(file).ok()).filter(|_| left.len() == 1);
        folded = read.unwrap_or_default();
        !folded.is_empty()
    });
    assert!(share(&folded, "busy") > 0.5, "{folded}");
    assert!(!folder.path().join("never").exists(), "no condition was met");
    for mut recorder in [busy, never] {
        signal("TERM", recorder.0.id());
        assert_eq!(recorder.0.wait().expect("it ends").code(), Some(128 + 15));
    }
    assert_eq!(files(&folder.path().join("never")).len(), 1, "the end is written");
}

#[test]
fn a_condition_that_is_none_is_refused() {
    let refused = |options: &[&str], word: &str| {
        let output = fg_record().args(options).args(["--", "true"]).output().expect("it starts");
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(word), "{said}");
    };
    refused(&["--last", "9s", "--when", "cpu>80", "-o", "a.folded"], "expected a condition: cpu>80%");
    refused(&["--when", "cpu>80%", "-o", "a.folded"], "--last");
}

#[test]
fn one_name_for_many_files_is_refused() {
    let output =
        fg_record().args(["--every", "1s", "-o", "a.folded", "--", "true"]).output().expect("it starts");
    let said = text(&output.stderr);
    assert!(said.contains("put the time in it: -o '%Y%m%dT%H%M%S.folded'"), "{said}");
    let signals = ["--last", "9s", "--control", "signals", "-o", "a.folded", "--", "true"];
    let said = text(&fg_record().args(signals).output().expect("it starts").stderr);
    assert!(said.contains("pause it by --control fifo:PATH"), "{said}");
}

/// The service of systemd, for a second instead of for ever.
#[cfg(feature = "parquet")]
#[test]
fn the_service_records_the_machine_into_a_store() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/fg-record.service");
    let unit = fs::read_to_string(unit).expect("the unit");
    let line =
        unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/fg-record ")).expect("a command");
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().to_str().expect("text");
    let words: Vec<String> = line
        .split(' ')
        .map(|word| word.replace("${STATE_DIRECTORY}", state).replace("60s", "0.5s"))
        .collect();
    if recorded(fg_record().args(words).args(["-d", "1"])).is_some() {
        assert!(folder.path().join("recordings").is_dir(), "{line}");
        assert_eq!(files(&folder.path().join("_parts")), BTreeSet::new());
    }
}

/// Issue 41: a recording without end, in the store of a fleet.
#[cfg(feature = "parquet")]
#[test]
fn parts_go_into_a_store_and_those_that_could_not_come_later() {
    let Some(program) = ready().filter(|program| !is_refused(program)) else { return };
    let target = endless(program);
    let folder = tempfile::tempdir().expect("a folder");
    // Letters of date(1) in the name of the store stand for themselves.
    let store = folder.path().join("%Y");
    let parts = store.join("_parts");
    let host =
        String::from_utf8(std::process::Command::new("uname").arg("-n").output().expect("a name").stdout);
    let host: String =
        host.expect("text").trim().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    // A recorder that was killed has left it.
    let mut killed = std::process::Command::new("true").spawn().expect("it starts");
    killed.wait().expect("it ends");
    fs::create_dir_all(&parts).expect("a folder");
    let left = parts.join(format!("{host}-{}-20261124T235959.folded", killed.id()));
    fs::write(&left, "# unit: ns\nleft;behind 1000000\n").expect("a part");
    let mut command = fg_record();
    command.args(["--every", "0.3", "-p", &target.0.id().to_string(), "--store"]).arg(&store);
    let recorder = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let runs = || fs::read_dir(store.join("recordings")).into_iter().flatten().count();
    until("there are three runs", || runs() >= 3);
    signal("TERM", recorder.id());
    let output = recorder.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(files(&parts), BTreeSet::new(), "{output:?}");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fg-collapse"));
    let folded = command.args(["-q", "-r"]).arg(store.join("stacks")).output().expect("it starts");
    let folded = text(&folded.stdout);
    assert!(folded.contains("left;behind 1000000\n"), "{folded}");
    assert!(share(&folded, "hot") + share(&folded, "warm") > 0.5, "{folded}");
    reaches_main(&folded);
    let mut command = fg_record();
    let refused = command.args(["--every", "60s", "-p", &target.0.id().to_string(), "--store", "/dev/null"]);
    let refused = refused.output().expect("it starts");
    assert!(text(&refused.stderr).contains("/dev/null/_parts: cannot make the folder"), "{refused:?}");
}

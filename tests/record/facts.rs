//! The facts that a recording holds: in folded text, pictures, pages and raw recordings.

use std::fs;
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use fg_tools::{Facts, Profile};

use super::installed::works;
use super::{Running, endless, fg_record, in_time, ready, recorded, text};

fn facts_of(folded: &[u8]) -> Facts {
    Profile::from_bytes(folded).expect("folded text").facts().clone()
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).expect("a date").as_secs_f64()
}

#[test]
fn the_header_has_the_facts_and_no_environment() {
    let Some(program) = ready() else { return };
    let (before, began) = (SystemTime::now(), Instant::now());
    let mut command = fg_record();
    command.env("FG_TEST_SECRET", "s3cr3t").args(["-e", "cpu-clock", "-F", "499", "--"]);
    let Some(output) = recorded(command.arg(program).args(["300", "-"])) else { return };
    let folded = text(&output.stdout);
    let facts = facts_of(&output.stdout);
    let expected = format!("{} 300 -", program.display());
    assert_eq!(facts.command.as_deref(), Some(&*expected), "{folded}");
    assert_eq!((facts.unit.as_deref(), facts.rate), (Some("ns"), Some(499)), "{folded}");
    assert!(facts.event.as_deref().is_some_and(|event| event.starts_with("cpu-clock")), "{folded}");
    assert_eq!(facts.producer, Some(format!("fg-record {}", env!("CARGO_PKG_VERSION"))), "{folded}");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    assert_eq!(facts.host.as_deref(), Some(host.trim()), "{folded}");
    assert!(facts.system.as_deref().is_some_and(|system| system.starts_with("Linux ")), "{folded}");
    let start = facts.start.expect("a date");
    assert!(seconds(start) > seconds(before) - 0.01 && start < SystemTime::now(), "{folded}");
    let duration = facts.duration.expect("a duration").as_secs_f64();
    assert!(duration > 0.05 && duration < began.elapsed().as_secs_f64(), "{folded}");
    // It runs on one processor at a time, and a busy machine may lose samples.
    let cpu_time = facts.cpu_time.expect("the command's").as_secs_f64();
    assert!(cpu_time > 0.0 && cpu_time < duration + 0.02, "{cpu_time} s of {duration} s\n{folded}");
    let sampled = facts.samples.expect("a number") as f64 / 499.0;
    assert!(sampled > 0.0 && sampled < duration * 1.1 + 0.02, "{sampled} s of {duration} s\n{folded}");
    assert!(!folded.contains("s3cr3t") && !folded.contains("FG_TEST_SECRET"), "{folded}");
    // Nothing that other programs would take for a stack.
    for line in folded.lines().filter(|line| line.starts_with("# ")) {
        let last = line.rsplit(' ').next().expect("a word");
        assert!(last.parse::<f64>().is_err(), "{line}");
    }
    let mut command = fg_record();
    let Some(output) = recorded(command.args(["--no-header", "--"]).arg(program).arg("100")) else { return };
    assert!(!text(&output.stdout).contains('#'), "{output:?}");
}

/// A recording as folded text and in another format.
fn recorded_as(name: &str) -> Option<(tempfile::TempDir, Facts, String)> {
    let program = ready()?;
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = fg_record();
    command.current_dir(folder.path()).args(["-e", "cpu-clock", "-o", "a.folded", "-o", name, "--"]);
    recorded(command.arg(program).arg("200"))?;
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect(name);
    let (facts, other) = (facts_of(read("a.folded").as_bytes()), read(name));
    Some((folder, facts, other))
}

#[test]
fn pictures_say_time_and_the_number_of_samples() {
    let Some((_folder, facts, svg)) = recorded_as("a.svg") else { return };
    let samples = facts.samples.expect("a number");
    assert!(svg.contains(&format!("{samples} samples")), "{svg}");
    assert!(svg.contains(&facts.command.expect("a command")), "{svg}");
    // `all (161 ms, 161 samples, 100.00%)`: not `all (161,484,449 samples)`.
    let all = svg.split("<title>all (").nth(1).and_then(|rest| rest.split("</title>").next());
    let all = all.expect("the root");
    assert!(all.contains(" ms, ") || all.contains(" s, "), "{all}");
    assert!(all.contains(&format!("{samples} samples")), "{all}");
}

#[test]
fn pages_say_time_and_the_number_of_samples() {
    let Some((folder, facts, _)) = recorded_as("a.html") else { return };
    let page = Profile::from_path(folder.path().join("a.html")).expect("a page");
    let of_page = page.facts();
    assert_eq!((&of_page.unit, of_page.samples), (&facts.unit, facts.samples));
    assert_eq!((&of_page.command, of_page.start), (&facts.command, facts.start));
    assert_eq!((of_page.unit.as_deref(), of_page.event.as_deref()), (Some("ns"), Some("cpu-clock")));
}

#[test]
fn warnings_are_in_the_profile() {
    let Some(program) = ready() else { return };
    // It has no frame pointers.
    let arguments = ["--call-graph", "fp", "--"];
    let Some(output) = recorded(fg_record().args(arguments).arg(program).args(["200", "thread"])) else {
        return;
    };
    let (folded, said) = (text(&output.stdout), text(&output.stderr));
    assert!(said.contains("no frame pointers"), "{said}");
    assert!(folded.contains("# warning: ") && folded.contains("no frame pointers"), "{folded}");
    let quiet = recorded(fg_record().arg("-q").args(arguments).arg(program).args(["200", "thread"]));
    let Some(quiet) = quiet else { return };
    assert!(text(&quiet.stdout).contains("# warning: "), "{quiet:?}");
}

#[test]
fn a_running_process_has_its_command() {
    let Some(program) = ready() else { return };
    let running: Running = endless(program);
    let pid = running.0.id().to_string();
    let record = |seconds: &str| recorded(fg_record().args(["-p", &pid, "-d", seconds]));
    let began = Instant::now();
    let Some(output) = in_time(record, |output| output.status.success()) else { return };
    let facts = facts_of(&output.stdout);
    assert_eq!(facts.command, Some(format!("{} 1000000", program.display())), "{output:?}");
    assert!(facts.cpu_time.expect("it was counted").as_millis() > 0, "{output:?}");
    let duration = facts.duration.expect("a duration").as_secs_f64();
    assert!((0.7..began.elapsed().as_secs_f64()).contains(&duration), "{duration}");
}

#[test]
fn the_raw_recording_has_the_facts() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("perf.data");
    let before = seconds(SystemTime::now());
    let mut command = fg_record();
    command.env("FG_TEST_SECRET", "s3cr3t").args(["--raw", "-o"]).arg(&path);
    if recorded(command.arg("--").arg(program).args(["200", "a b"])).is_none() {
        return;
    }
    let bytes = fs::read(&path).expect("a recording");
    let clock = feature(&bytes, 29).expect("CLOCK_DATA");
    let number = |at: usize| u64::from_ne_bytes(clock[at..at + 8].try_into().expect("8 bytes"));
    assert_eq!((clock.len(), &clock[..8]), (24, &[1, 0, 0, 0, 1, 0, 0, 0][..]), "version 1, monotonic");
    let (wall, monotonic) = (number(8) as f64 / 1e9, number(16) as f64 / 1e9);
    assert!(wall > before - 0.01 && wall < seconds(SystemTime::now()), "{wall}");
    // The first sample follows soon.
    let times = feature(&bytes, 21).expect("SAMPLE_TIME");
    let first = u64::from_ne_bytes(times[..8].try_into().expect("8 bytes")) as f64 / 1e9;
    let elapsed = seconds(SystemTime::now()) - before;
    assert!((-0.01..elapsed + 0.01).contains(&(first - monotonic)), "{first} {monotonic}");
    assert!(feature(&bytes, 23).is_some_and(|resolution| resolution.len() == 8), "CLOCKID");
    let contains = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    let command_line = feature(&bytes, 11).expect("CMDLINE");
    let words: Vec<&[u8]> = command_line.split(|&b| b == 0).filter(|word| word.len() > 1).collect();
    assert!(words.iter().any(|word| word.ends_with(b"a b")), "{words:?}");
    // The stack of a program holds its environment, so only what we write ourselves is looked at.
    let own = [command_line, feature(&bytes, 3).expect("HOSTNAME"), feature(&bytes, 5).expect("VERSION")];
    assert!(!own.concat().windows(6).any(|window| window == b"s3cr3t"));
    assert!(contains(concat!("fg-record ", env!("CARGO_PKG_VERSION"))));
    if works("perf script") {
        let script = Command::new("perf").args(["script", "--header-only", "-i"]).arg(&path).output();
        let header = text(&script.expect("perf starts").stdout);
        assert!(header.contains("clockid: monotonic (1)") && header.contains("reference time: "), "{header}");
    }
}

/// A feature of a perf.data file, by its bit.
fn feature(bytes: &[u8], bit: u32) -> Option<&[u8]> {
    let number = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    let (data, size, bits) = (number(40), number(48), number(72));
    if bits & (1 << bit) == 0 {
        return None;
    }
    let before = (bits & ((1 << bit) - 1)).count_ones() as usize;
    let entry = usize::try_from(data + size).expect("it is in memory") + 16 * before;
    let (offset, length) = (number(entry) as usize, number(entry + 8) as usize);
    Some(&bytes[offset..offset + length])
}

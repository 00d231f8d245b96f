//! A recording that begins later, pauses and goes on: `--delay`, `--control`.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::process::{self, signal, until};
use super::skip::skip;
use super::{endless, fg_record, in_time, reaches_main, ready, recorded, share, text, wait_until_recording};

/// Two FIFOs: for commands, and for answers.
struct Control {
    folder: tempfile::TempDir,
}

impl Control {
    fn new() -> Option<Control> {
        let folder = tempfile::tempdir().expect("a folder");
        let names = ["commands", "answers"].map(|name| folder.path().join(name));
        if !Command::new("mkfifo").args(names).status().is_ok_and(|status| status.success()) {
            skip("there is no mkfifo");
            return None;
        }
        Some(Control { folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn argument(&self) -> String {
        format!("fifo:{},{}", self.path("commands").display(), self.path("answers").display())
    }

    /// Opens both; the recorder that has opened them before keeps them open.
    fn open(&self) -> (File, BufReader<File>) {
        let open = |name| OpenOptions::new().read(true).write(true).open(self.path(name)).expect("a FIFO");
        (open("commands"), BufReader::new(open("answers")))
    }
}

fn tell(control: &mut (File, BufReader<File>), command: &str) {
    control.0.write_all(command.as_bytes()).expect("it is written");
    let mut answer = String::new();
    control.1.read_line(&mut answer).expect("it is answered");
    assert_eq!(answer, "ack\n", "{command}");
}

/// True, said, if nothing can be recorded here.
fn is_refused(program: &Path) -> bool {
    recorded(fg_record().args(["-q", "--"]).arg(program).arg("1")).is_none()
}

#[test]
fn a_fifo_begins_the_sampling_and_what_was_mapped_before_is_known() {
    let Some(program) = ready().filter(|program| !is_refused(program)) else { return };
    let Some(control) = Control::new() else { return };
    let out = control.path("out.folded");
    let mut fifos = control.open();
    let record = |seconds: &str| {
        let mut command = fg_record();
        command.args(["--delay", "-1", "--control", &control.argument(), "-d", seconds, "-o"]).arg(&out);
        command.arg("--").arg(program).arg("1000000").stdout(Stdio::null()).stderr(Stdio::piped());
        let recorder = command.spawn().expect("it starts");
        wait_until_recording(&recorder);
        tell(&mut fifos, "ping\n");
        assert!(!out.exists(), "the time of the recording is that of sampling");
        tell(&mut fifos, "enable\n");
        recorder.wait_with_output().ok()
    };
    let output = in_time(record, |_| out.exists()).expect("it ends");
    // The program was asked to end when its time was over.
    assert_eq!(output.status.code(), Some(128 + 15), "{output:?}");
    let folded = fs::read_to_string(&out).expect("a profile");
    assert!(share(&folded, "hot") + share(&folded, "warm") > 0.9, "{folded}");
    reaches_main(&folded);
}

#[test]
fn a_paused_recording_has_no_samples() {
    let Some(program) = ready().filter(|program| !is_refused(program)) else { return };
    let Some(control) = Control::new() else { return };
    let target = endless(program);
    let mut fifos = control.open();
    let mut command = fg_record();
    command.args(["--delay", "-1", "--control", &control.argument(), "-p", &target.0.id().to_string()]);
    let recorder = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    for command in ["ping\n", "disable\n", "stop\n"] {
        tell(&mut fifos, command);
    }
    let output = recorder.wait_with_output().expect("it ends");
    assert!(text(&output.stderr).contains("no samples in 0.0 s"), "{output:?}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn signals_pause_a_recording_and_let_it_go_on() {
    let Some(program) = ready().filter(|program| !is_refused(program)) else { return };
    let target = endless(program);
    let mut command = fg_record();
    command.args(["--delay", "-1", "--control", "signals", "-p", &target.0.id().to_string()]);
    let mut recorder = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    wait_until_recording(&recorder);
    let mut said = BufReader::new(recorder.stderr.take().expect("a pipe")).lines();
    for (name, state) in [("USR2", "sampling"), ("USR1", "paused"), ("USR2", "sampling")] {
        signal(name, recorder.id());
        let line = said.next().expect("it is answered").expect("text");
        assert_eq!(line, format!("fg-record: {state}"));
    }
    // A sample is taken before the program has computed for this long.
    let before = process::user_time(target.0.id());
    until("it has computed", || process::user_time(target.0.id()) > before + 10);
    signal("TERM", recorder.id());
    let output = recorder.wait_with_output().expect("it ends");
    assert!(output.status.success() && share(&text(&output.stdout), "hot") > 0.5, "{output:?}");
}

#[test]
fn a_recording_ends_when_its_file_is_large_enough() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let raw = folder.path().join("perf.data");
    let mut command = fg_record();
    command.args(["--max-size", "2M", "--raw", "-o"]).arg(&raw).arg("--").arg(program).arg("1000000");
    let Some(output) = recorded(&mut command) else { return };
    assert_eq!(output.status.code(), Some(128 + 15), "the program is asked to end: {output:?}");
    assert!(text(&output.stderr).contains("as large as --max-size allows"), "{output:?}");
    let size = fs::metadata(&raw).expect("a recording").len();
    // A round may bring all that the rings of a large machine hold.
    assert!((2 << 20..1 << 30).contains(&size), "{size}");
    let collapsed = Command::new(env!("CARGO_BIN_EXE_fg-collapse")).arg(&raw).output().expect("it starts");
    assert!(collapsed.status.success() && share(&text(&collapsed.stdout), "hot") > 0.0, "{collapsed:?}");
    reaches_main(&text(&collapsed.stdout));
}

#[test]
fn a_delay_ends_and_the_mappings_before_it_are_known() {
    let Some(program) = ready() else { return };
    let record = |seconds: &str| {
        let mut command = fg_record();
        recorded(command.args(["--delay", "0.1", "-d", seconds, "--"]).arg(program).arg("1000000"))
    };
    let Some(output) = in_time(record, |output| text(&output.stdout).contains(";hot ")) else { return };
    let folded = text(&output.stdout);
    // How far the program has come by then depends on the machine.
    assert!(share(&folded, "hot") + share(&folded, "warm") > 0.5, "{folded}");
    reaches_main(&folded);
}

//! `fg-record --root`, called by an ordinary user, with a stand-in for sudo: it writes down the command
//! that it is given and runs it as its caller.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::process::{self, until};
use super::rights::Paranoid;
use super::{copied, in_time, ready, recorded, set_mode, share, text};

const NOBODY: u32 = 65534;

/// A folder where anybody may write, with `fg-record`, `sudo` and what that says.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(sudo: &str) -> Place {
        let folder = tempfile::tempdir().expect("a folder");
        set_mode(folder.path(), 0o777);
        let place = Place { folder };
        // Other users may have no access to the folder that cargo builds in.
        copied::program(env!("CARGO_BIN_EXE_fg-record"), place.path("fg-record"));
        let log = place.path("sudo.said");
        fs::write(place.path("sudo"), format!("#!/bin/sh\necho \"$*\" > {}\n{sudo}\n", log.display()))
            .expect("sudo");
        ["fg-record", "sudo"].iter().for_each(|name| set_mode(&place.path(name), 0o755));
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn sudo_said(&self) -> String {
        fs::read_to_string(self.path("sudo.said")).unwrap_or_default()
    }

    /// `fg-record --root`, called by an ordinary user.
    fn fg_record(&self) -> Command {
        let mut command = Command::new(self.path("fg-record"));
        let path = format!("{}:/usr/bin:/bin", self.folder.path().display());
        command.arg("--root").current_dir(self.folder.path()).env("PATH", path);
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
}

fn owner(path: &Path) -> u32 {
    fs::metadata(path).expect("it was written").uid()
}

#[test]
fn sudo_runs_only_the_sampler() {
    let Some(program) = ready() else { return };
    let _unchanged = Paranoid::read();
    let place = Place::new("shift; exec \"$@\"");
    let script = format!("id -u; echo $MARK; read line; echo $line; exec {} 150 - 3", program.display());
    let mut command = place.fg_record();
    command.args(["-F", "499", "-o", "a.folded", "--svg", "a.svg", "--", "sh", "-c", &script]);
    let input = place.path("input");
    fs::write(&input, "from standard input\n").expect("a file");
    command.env("MARK", "of the caller").stdin(fs::File::open(&input).expect("it is there"));
    let Some(output) = recorded(&mut command) else { return };
    assert_eq!(output.status.code(), Some(3), "the program's own\n{output:?}");
    let user = if is_root() { NOBODY } else { owner(Path::new("/proc/self")) };
    let expected = format!("{user}\nof the caller\nfrom standard input\nits own output\n");
    assert_eq!(text(&output.stdout), expected);
    let said = place.sudo_said();
    assert!(
        said.starts_with(&format!("-- {} --freq=499 --serve ", place.path("fg-record").display())),
        "{said}"
    );
    let folded = fs::read_to_string(place.path("a.folded")).expect("folded text");
    let hot = share(&folded, "hot");
    assert!(hot > 0.5 && super::stacks(&folded).starts_with("busy;"), "{folded}");
    assert!(fs::read_to_string(place.path("a.svg")).expect("a picture").contains("<title>hot ("));
    assert_eq!([owner(&place.path("a.folded")), owner(&place.path("a.svg"))], [user, user]);
}

#[test]
fn sudo_s_profile_and_recording_reach_the_caller() {
    let Some(program) = ready() else { return };
    let _unchanged = Paranoid::read();
    let place = Place::new("shift; exec \"$@\"");
    let Some(output) = recorded(place.fg_record().arg("--").arg(program).arg("150")) else { return };
    assert!(share(&text(&output.stdout), "hot") > 0.5, "{output:?}");
    assert!(text(&output.stderr).contains("its own output"), "on standard error");
    let mut command = place.fg_record();
    command.args(["--raw", "-o", "perf.data", "--"]).arg(program).arg("150");
    let Some(output) = recorded(&mut command) else { return };
    assert_eq!(text(&output.stdout), "its own output\n");
    let mode = fs::metadata(place.path("perf.data")).expect("a recording").mode();
    assert_eq!(mode & 0o777, 0o600, "for its owner's eyes");
    let folded =
        Command::new(env!("CARGO_BIN_EXE_fg-collapse")).arg("-q").arg(place.path("perf.data")).output();
    assert!(share(&text(&folded.expect("fg-collapse starts").stdout), "hot") > 0.5);
}

#[test]
fn a_recording_by_sudo_ends_by_time_or_signal() {
    let Some(program) = ready() else { return };
    let _unchanged = Paranoid::read();
    let place = Place::new("shift; exec \"$@\"");
    let record =
        |seconds: &str| recorded(place.fg_record().args(["-d", seconds, "--"]).arg(program).arg("1000000"));
    let Some(output) = in_time(record, |output| text(&output.stdout).contains(";hot ")) else { return };
    assert_eq!(output.status.code(), Some(143), "the program was asked to end: {output:?}");
    assert!(share(&text(&output.stdout), "hot") > 0.0, "{output:?}");

    let mut command = place.fg_record();
    command.arg("--").arg(program).arg("1000000");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let is_program = |pid: &u32| process::arguments(*pid).first().map(Path::new) == Some(program);
    let family = || process::family(child.id());
    until("the program computes", || family().into_iter().filter(is_program).any(process::computes));
    process::signal("INT", child.id());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(share(&text(&output.stdout), "hot") > 0.5, "{output:?}");
}

#[test]
fn sudo_refusal_runs_nothing() {
    let place = Place::new("echo 'sudo: you may not' >&2; exit 1");
    let output = place.fg_record().args(["--", "touch", "it-ran"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(text(&output.stderr), "sudo: you may not\n", "which says all there is to say");
    let output =
        place.fg_record().env("PATH", "/nowhere").args(["--", "/bin/true"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = "fg-record: cannot become root: sudo is not installed; run fg-record as root\n";
    assert_eq!(text(&output.stderr), said);
    assert!(!place.path("it-ran").exists());
}

#[test]
fn root_needs_no_sudo() {
    let Some(program) = ready() else { return };
    if !is_root() {
        super::skip::skip("needs root");
        return;
    }
    let place = Place::new("exit 1");
    let mut command = place.fg_record();
    command.uid(0).gid(0).arg("--").arg(program).arg("500");
    let Some(output) = recorded(&mut command) else { return };
    assert!(share(&text(&output.stdout), "hot") > 0.5, "{output:?}");
    assert_eq!(place.sudo_said(), "");
}

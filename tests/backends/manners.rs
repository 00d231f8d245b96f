//! Signals, time, exit statuses and leftover files, the same for every backend.

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::process;
use super::stand_in::{Stage, value_of};
use super::{fixture, run, stacks, text};

fn send(child: &Child, signal: &str) {
    process::signal(signal, child.id());
}

/// Waits until somebody has written a file.
fn wait_for(path: &std::path::Path) {
    process::until(&format!("{} is there", path.display()), || path.exists());
}

/// A recorder that writes when it is told to stop, and not before.
fn patient(stage: &Stage, tool: &str, option: &str, recording: &str, signal: &str) {
    let ready = stage.path("ready");
    let script = format!(
        "{}; trap 'cat \"{recording}\" >\"$file\"; exit 0' {signal}\n: >'{}'\nwhile :; do sleep 0.05; done",
        value_of(option),
        ready.display()
    );
    stage.add(tool, &script);
}

#[test]
fn one_signal_stops_a_backend_and_the_profile_is_written() {
    let (recording, folded) = fixture("dtrace/ustack", "input.txt");
    for signal in ["INT", "TERM"] {
        let stage = Stage::new();
        patient(&stage, "dtrace", "-o", &recording, "INT");
        let mut command = stage.fg_record();
        command.args(["--with", "dtrace", "--", "sleep", "60"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        wait_for(&stage.path("ready"));
        send(&child, signal);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(
            (stacks(&text(&output.stdout)), output.status.code()),
            (folded.clone(), Some(0)),
            "{output:?}"
        );
        stage.assert_clean();
    }
}

/// Told earlier, it ends by the signal and has recorded nothing.
#[cfg(target_os = "linux")]
#[test]
fn a_backend_that_is_still_starting_is_told_to_stop_when_it_can_hear() {
    let stage = Stage::new();
    let (recording, starts, go) = (stage.path("recording"), stage.path("starts"), stage.path("go"));
    fs::write(&recording, "# austin: 3.7.0\n# interval: 1000\n# mode: cpu\n\nP1;T1;a.py:hot:1 5000\n")
        .expect("a file");
    patient(&stage, "austin", "-o", recording.to_str().expect("a path"), "TERM");
    let prepares = format!(
        "test \"$1\" = --version && echo 'austin 3.7.0' && exit\n\
         : >'{}'; while ! test -e '{}'; do sleep 0.05; done\n. '{}'",
        starts.display(),
        go.display(),
        stage.path("bin/prepared").display()
    );
    fs::rename(stage.path("bin/austin"), stage.path("bin/prepared")).expect("a file");
    stage.add("austin", &prepares);
    let mut command = stage.fg_record();
    command.args(["--with", "austin", "--", "sleep", "60"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    wait_for(&starts);
    let waits = process::waits(child.id());
    send(&child, "INT");
    // It looks for the end of the start again and again.
    process::until("it waits", || process::waits(child.id()) > waits + 10);
    fs::write(&go, "").expect("a file");
    let output = child.wait_with_output().expect("it ends");
    let cut = "fg-record: there is no duration at the end: the recording is cut off\n".to_owned();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), cut), "{output:?}");
    assert_eq!(stacks(&text(&output.stdout)), "hot (a.py:1) 5000\n");
    stage.assert_clean();
}

#[test]
fn a_backend_without_a_duration_is_stopped_in_time() {
    let (recording, _) = fixture("dtrace/ustack", "input.txt");
    let stage = Stage::full();
    patient(&stage, "py-spy", "--output", &recording, "INT");
    let raw = stage.path("out");
    let mut command = stage.fg_record();
    command.args(["--with", "py-spy", "-d", "1.5", "--raw", "-o"]).arg(&raw).args(["--", "true"]);
    let began = Instant::now();
    let output = run(&mut command);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(began.elapsed() >= Duration::from_millis(1500));
    assert_eq!(fs::read(raw).expect("the recording"), fs::read(recording).expect("a fixture"));
}

#[test]
fn a_second_signal_kills_a_backend_and_its_children() {
    let stage = Stage::new();
    let (ready, told, child_of) = (stage.path("ready"), stage.path("told"), stage.path("child"));
    // Deaf, as is what it starts; but it leaves a sign of the first signal.
    let script = format!(
        "trap '' INT TERM\n{}; echo half >\"$file\"\n(while :; do sleep 0.05; done) &\necho $! >'{}'\n\
         trap ': >{}' INT TERM\n: >'{}'\nwhile :; do sleep 0.05; done",
        value_of("-o"),
        child_of.display(),
        told.display(),
        ready.display()
    );
    stage.add("dtrace", &script);
    let mut command = stage.fg_record();
    command.args(["--with", "dtrace", "--", "true"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    wait_for(&ready);
    send(&child, "INT");
    wait_for(&told);
    // Signals that come shortly after the first belong to it.
    process::until("the second signal ends it", || {
        let ended = child.try_wait().expect("a child").is_some();
        if !ended {
            send(&child, "INT");
        }
        ended
    });
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(130), 0), "{output:?}");
    stage.assert_clean();
    let pid = fs::read_to_string(child_of).expect("its number").trim().parse().expect("a number");
    process::until("what it has started is gone", || !process::lives(pid));
}

#[test]
fn a_backend_that_records_nothing_is_trouble() {
    let stage = Stage::full();
    for (tool, script, said) in [
        ("perf", "exit 3", "perf ended with status 3 and recorded nothing"),
        ("dtrace", "exit 0", "dtrace ended with status 0 and recorded nothing: it needs root"),
        (
            "py-spy",
            "kill -s KILL $$",
            "py-spy ended by signal 9 and recorded nothing: it needs a CPython program",
        ),
    ] {
        stage.add(tool, script);
        let output = run(stage.fg_record().args(["--with", tool, "--", "true"]));
        let message = text(&output.stderr);
        assert!(message.starts_with(&format!("fg-record: {said}")), "{message}");
        assert_eq!((output.status.code(), message.lines().count()), (Some(2), 1), "{message}");
    }
    // A recording without samples is told apart.
    stage.add("austin", &format!("{}; echo '# austin: 3.7.0' >\"$file\"", value_of("-o")));
    let output = run(stage.fg_record().args(["--with", "austin", "-q", "--", "true"]));
    let message = text(&output.stderr);
    assert!(message.starts_with("fg-record: austin took no samples in "), "{message}");
    assert_eq!(output.status.code(), Some(2), "{message}");
    stage.assert_clean();
}

#[test]
fn results_go_to_files_and_standard_output() {
    let stage = Stage::new();
    let (recording, folded) = fixture("dtrace/ustack", "input.txt");
    // It runs the command as dtrace does.
    stage.add("dtrace", &format!("{}; cat '{recording}' >\"$file\"; echo its own output", value_of("-o")));
    let (file, svg) = (stage.path("a.folded"), stage.path("a.svg"));
    let mut command = stage.fg_record();
    command.args(["--with", "dtrace", "-o"]).arg(&file).arg("--svg").arg(&svg).args(["--", "true"]);
    let output = run(&mut command);
    assert_eq!(text(&output.stdout), "its own output\n", "the command keeps its standard output");
    assert_eq!(stacks(&fs::read_to_string(file).expect("folded text")), folded);
    assert!(fs::read_to_string(svg).expect("a picture").contains("<svg"));
    let output = run(stage.fg_record().args(["--with", "dtrace", "--", "true"]));
    assert_eq!(stacks(&text(&output.stdout)), folded, "and else it goes to standard error");
    assert!(text(&output.stderr).contains("its own output"), "{output:?}");
}

#[test]
fn the_profile_of_a_backend_has_the_recorder_s_facts() {
    let stage = Stage::new();
    let (recording, _) = fixture("dtrace/ustack", "input.txt");
    stage.add("dtrace", &format!("{}; cat '{recording}' >\"$file\"", value_of("-o")));
    let output = run(stage.fg_record().args(["--with", "dtrace", "-F", "97", "--", "echo", "a"]));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let folded = text(&output.stdout);
    let producer = format!("# producer: fg-record {} with dtrace\n", env!("CARGO_PKG_VERSION"));
    for line in ["# command: echo a\n", "# rate: 97 Hz\n", "# start: ", "# duration: ", &producer] {
        assert!(folded.contains(line), "{line}: {folded}");
    }
    assert!(!folded.contains("# cpu-time"), "that of dtrace is not the command's: {folded}");
}

/// A tool that is a script has children before it becomes the program that starts the command.
#[cfg(target_os = "linux")]
#[test]
fn the_exit_status_is_the_command_s_and_not_that_of_a_tool_s_first_child() {
    let stage = Stage::new();
    let recording = stage.path("recording");
    fs::write(&recording, "# austin: 3.7.0\n# interval: 1000\n# mode: cpu\n\nP1;T1;a.py:hot:1 5000\n")
        .expect("a file");
    let script = format!(
        "{}; sleep 0.1; cat '{}' >\"$file\"; sh -c 'sleep 0.1; exit 3'; exit 0",
        value_of("-o"),
        recording.display()
    );
    stage.add("austin", &script);
    let output = run(stage.fg_record().args(["--with", "austin", "--", "python3", "a.py"]));
    let said = text(&output.stderr);
    match output.status.code() {
        Some(3) => {}
        // Only newer systems tell.
        code => {
            assert!(code == Some(0) && said.contains("does not tell how the command ended"), "{output:?}")
        }
    }
}

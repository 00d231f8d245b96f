//! The first Ctrl-C is not for a program that reads from a pipe; the second is.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use super::{READERS, RENDER, SMALL, Waiting, names, state_of, system, wait_for};

#[test]
fn a_reader_of_a_pipe_finishes_with_what_comes() {
    for (program, arguments) in READERS {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("before.folded"), SMALL).unwrap();
        let mut waiting = Waiting::start(Command::new(program).args(*arguments), folder.path());
        waiting.signal(libc::SIGINT);
        std::io::Write::write_all(waiting.input.as_mut().unwrap(), b"main;late 7\n").unwrap();
        let (status, _) = waiting.end();
        assert_eq!(status.code(), Some(0), "{program}");
        let written = fs::read_to_string(folder.path().join("out")).unwrap();
        assert!(written.contains("main;f19999 ") && written.contains("main;late "), "{program}");
        assert_eq!(names(folder.path()), ["before.folded", "out"]);
    }
}

#[test]
fn a_second_ctrl_c_ends_a_reader_of_a_pipe() {
    for (program, arguments) in READERS {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("before.folded"), SMALL).unwrap();
        let waiting = Waiting::start(Command::new(program).args(*arguments), folder.path());
        // The first has to be taken: two that come at once count as one.
        waiting.signal(libc::SIGINT);
        wait_for("the end", || {
            waiting.signal(libc::SIGINT);
            state_of(waiting.child.id()) == Some('Z')
        });
        let (status, said) = waiting.end();
        assert_eq!((status.signal(), said.as_str()), (Some(libc::SIGINT), ""), "{program}");
        assert_eq!(names(folder.path()), ["before.folded"], "{program}");
    }
}

#[test]
fn ctrl_c_on_a_whole_pipe_loses_nothing() {
    use std::os::unix::process::CommandExt;
    let folder = tempfile::tempdir().unwrap();
    // A recorder that writes its profile when it is asked to end.
    let recorder = "trap 'i=0; while [ $i -lt 5000 ]; do echo \"main;f$i 1\"; i=$((i+1)); done; exit' INT; \
                    touch ready; while :; do sleep 0.02; done";
    let script = format!("sh -c '{}' | \"$0\" -o out.svg; touch done", recorder.replace('\'', r"'\''"));
    let mut shell = Command::new("sh")
        .args(["-c", &format!("trap : INT; {script}"), RENDER])
        .current_dir(folder.path())
        .process_group(0)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("the recorder", || folder.path().join("ready").exists());
    let group = shell.id().cast_signed();
    wait_for("a reader with its handlers", || readers_of(group) > 0);
    system::signal(-group, libc::SIGINT);
    shell.wait().unwrap();
    let picture = fs::read_to_string(folder.path().join("out.svg")).unwrap();
    assert!(picture.contains("f4999"), "{} bytes", picture.len());
    assert_eq!(names(folder.path()), ["done", "out.svg", "ready"]);
}

/// The number of `fg-render` in a process group that sleep, as readers of an empty pipe do.
fn readers_of(group: i32) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let is_reader = |entry: &fs::DirEntry| {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let Some((before, after)) = stat.rsplit_once(") ") else { return false };
        let mut fields = after.split(' ');
        before.ends_with("(fg-render")
            && fields.next() == Some("S")
            && fields.nth(1) == Some(&group.to_string())
    };
    all.filter(is_reader).count()
}

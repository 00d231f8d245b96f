//! A control group of the machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::{endless, fg_record, in_time, ready, recorded, stacks, text};
use crate::skip::skip;

/// A control group of its own, which goes with its test; `None`, said, without the right to make one.
struct Group(PathBuf);

impl Group {
    fn new(name: &str) -> Option<Group> {
        let places = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/perf_event"];
        let made = places.iter().find_map(|place| {
            let folder = Path::new(place).join(format!("{name}-{}", std::process::id()));
            fs::create_dir(&folder).ok()?;
            let group = Group(folder);
            group.0.join("cgroup.procs").exists().then_some(group)
        });
        if made.is_none() {
            skip("no control group can be made here");
        }
        made
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_control_group_is_recorded_without_the_rest_of_the_machine() {
    let Some(program) = ready() else { return };
    let Some(group) = Group::new("fg-record-test") else { return };
    let (inside, outside) = (endless(program), endless(program));
    let moved = fs::write(group.0.join("cgroup.procs"), inside.0.id().to_string());
    if let Err(error) = moved {
        skip(format!("no process can be moved into a control group: {error}"));
        return;
    }
    let name = Path::new("/").join(group.0.file_name().expect("a name"));
    for path in [&group.0, &name] {
        let record = |seconds: &str| {
            let mut command = fg_record();
            command.args(["-a", "-d", seconds, "--call-graph", "fp", "--per-process", "--cgroup"]);
            recorded(command.arg(path))
        };
        let has_samples = |output: &Output| output.status.success() && text(&output.stdout).contains("busy-");
        let Some(output) = in_time(record, has_samples) else { return };
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let folded = stacks(&text(&output.stdout));
        let of = |pid: u32| folded.contains(&format!("busy-{pid};"));
        assert!(of(inside.0.id()) && !of(outside.0.id()), "{output:?}");
        assert!(folded.lines().all(|line| line.starts_with("busy-")), "{output:?}");
        assert!(text(&output.stdout).contains("recorded the control group /"), "{output:?}");
    }
    drop((inside, outside));
}

#[test]
fn a_folder_that_is_no_control_group_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = fg_record();
    command.args(["-a", "-d", "0.1", "--cgroup"]).arg(folder.path());
    let output = command.output().expect("it starts");
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{output:?}");
    assert!(said.contains("there is no such group; /proc/PID/cgroup has the path"), "{said}");
}

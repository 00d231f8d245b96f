//! The file that is replaced: its mode, its links, and what may not be replaced.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use super::{COLLAPSE, RECORD, RENDER, SMALL, feed, names};

/// Runs `fg-collapse -o NAME` in a folder.
fn write(folder: &Path, name: &str) -> Output {
    feed::feed(Command::new(COLLAPSE).args(["--no-header", "-o", name]).current_dir(folder), SMALL)
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

#[test]
fn special_mode_bits_never_survive() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    for (before, after) in
        [(0o4755, 0o755), (0o2775, 0o775), (0o6777, 0o777), (0o1644, 0o644), (0o600, 0o600)]
    {
        fs::write(&out, "old").unwrap();
        fs::set_permissions(&out, Permissions::from_mode(before)).unwrap();
        assert!(write(folder.path(), "out").status.success());
        assert_eq!(mode(&out), after, "{before:o}");
        assert_eq!(fs::read_to_string(&out).unwrap(), SMALL);
    }
}

#[test]
fn the_umask_is_for_new_files_only() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let under = |umask: &str| {
        let script = format!("umask {umask}; exec \"$0\" -o out");
        feed::feed(Command::new("sh").args(["-c", &script, COLLAPSE]).current_dir(folder.path()), SMALL)
    };
    for (umask, new) in [("022", 0o644), ("077", 0o600), ("002", 0o664)] {
        assert!(under(umask).status.success());
        assert_eq!(mode(&out), new, "{umask}");
        fs::set_permissions(&out, Permissions::from_mode(0o666)).unwrap();
        assert!(under(umask).status.success());
        assert_eq!(mode(&out), 0o666, "{umask}");
        fs::remove_file(&out).unwrap();
    }
}

#[test]
fn symbolic_links_are_followed_and_hard_links_keep_the_old_content() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("there")).unwrap();
    fs::write(at("there/file"), "old").unwrap();
    fs::hard_link(at("there/file"), at("other name")).unwrap();
    symlink("there/file", at("first")).unwrap();
    symlink("first", at("second")).unwrap();
    assert!(write(folder.path(), "second").status.success());
    assert_eq!(fs::read_to_string(at("there/file")).unwrap(), SMALL);
    assert_eq!(fs::read_to_string(at("other name")).unwrap(), "old");
    assert!(at("second").is_symlink() && at("first").is_symlink());
    assert_eq!(at("there/file").metadata().unwrap().nlink(), 1);

    // A link to nothing: the file is made where it points, as a shell's `>` does.
    symlink("there/new", at("dangling")).unwrap();
    assert!(write(folder.path(), "dangling").status.success());
    assert!(at("dangling").is_symlink());
    assert_eq!(fs::read_to_string(at("there/new")).unwrap(), SMALL);

    symlink("circle", at("circle")).unwrap();
    let said = feed::text(write(folder.path(), "circle").stderr);
    assert_eq!(said, "fg-collapse: circle: cannot open: too many links lead to one another\n");
    assert_eq!(names(&at("there")), ["file", "new"]);
}

#[test]
fn folders_are_refused_and_devices_are_written_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("there")).unwrap();
    let refused = write(folder.path(), "there");
    assert_eq!(feed::text(refused.stderr), "fg-collapse: there: cannot open: it is a directory\n");
    let to_stdout = write(folder.path(), "/dev/stdout");
    assert_eq!(feed::text(to_stdout.stdout), SMALL);
    let script = "echo first > log; \"$0\" --no-header -o /dev/stdout >> log; echo last >> log";
    feed::feed(Command::new("sh").args(["-c", script, COLLAPSE]).current_dir(folder.path()), SMALL);
    assert_eq!(fs::read_to_string(folder.path().join("log")).unwrap(), format!("first\n{SMALL}last\n"));
    fs::remove_file(folder.path().join("log")).unwrap();
    assert!(write(folder.path(), "/dev/null").status.success());
    assert!(!Path::new("/dev/null").metadata().unwrap().is_file());
    assert_eq!(names(folder.path()), ["there"]);
}

#[test]
fn the_recorder_s_outputs_follow_the_same_rules() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.folded");
    fs::write(&out, "old").unwrap();
    fs::set_permissions(&out, Permissions::from_mode(0o4750)).unwrap();
    let spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
    let run = Command::new(RECORD)
        .args(["--with", "builtin", "-q", "-o", "out.folded", "--", "sh", "-c", spin])
        .current_dir(folder.path())
        .output()
        .unwrap();
    if !run.status.success() {
        eprintln!("skipped: {}", feed::text(run.stderr));
        assert_eq!(fs::read_to_string(&out).unwrap(), "old");
        return;
    }
    assert_eq!(mode(&out), 0o750);
    assert_eq!(names(folder.path()), ["out.folded"]);
}

#[test]
fn a_later_output_that_cannot_be_placed_takes_the_earlier_ones_back() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.folded"), "old\n").unwrap();
    // A folder takes the last name while the input is read.
    let arguments = ["-o", "a.folded", "-o", "new.folded", "-o", "late.folded"];
    let waiting = super::Waiting::start(Command::new(RENDER).args(arguments), folder.path());
    super::wait_for("three temporary files", || names(folder.path()).len() == 4);
    fs::create_dir(folder.path().join("late.folded")).unwrap();
    let (status, said) = waiting.end();
    assert_eq!(status.code(), Some(2));
    assert!(
        said.starts_with("fg-render: late.folded: cannot write: ") && said.lines().count() == 1,
        "{said}"
    );
    assert_eq!(names(folder.path()), ["a.folded", "late.folded"]);
    assert_eq!(fs::read_to_string(folder.path().join("a.folded")).unwrap(), "old\n");
}

#[test]
fn names_of_pictures_and_tables_are_no_names_for_folded_text() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.svg", "b.parquet", "C.HTML", "d.speedscope.json"] {
        let output = write(folder.path(), name);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {message}");
        assert!(message.contains(&format!("fg-render -o '{name}'")), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(!folder.path().join(name).exists(), "{name}");
    }
    assert!(write(folder.path(), "a.json").status.success(), "any text may have this ending");
}

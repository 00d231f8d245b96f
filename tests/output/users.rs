//! Two users: what root and others may replace, and whose it is afterwards. Only root can try.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use super::{COLLAPSE, SMALL, copied, feed, names};

/// Two users and a group that nobody here is.
const ADA: u32 = 54_001;
const BOB: u32 = 54_002;
const GROUP: u32 = 54_003;

/// A folder of a mode that belongs to a user, if we may make it.
fn folder(mode: u32, user: u32) -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().unwrap();
    if chown(folder.path(), Some(user), Some(user)).is_err() {
        eprintln!("skipped: files of other users can be made by root only");
        return None;
    }
    fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
    Some(folder)
}

fn file(path: &Path, mode: u32, user: u32, group: u32) {
    fs::write(path, "old\n").unwrap();
    chown(path, Some(user), Some(group)).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Runs `fg-collapse -o out` in a folder as a user.
fn write(folder: &Path, user: u32) -> Output {
    // Others cannot reach the folder in which cargo builds.
    let program = folder.join(".program");
    copied::program(COLLAPSE, &program);
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(&program);
    command.args(["--no-header", "-o", "out"]).current_dir(folder).uid(user).gid(user);
    let output = feed::feed(&mut command, SMALL);
    fs::remove_file(program).unwrap();
    output
}

/// The owner, the group and the mode of `out`.
fn rights(folder: &Path) -> (u32, u32, u32) {
    let kind = folder.join("out").symlink_metadata().unwrap();
    (kind.uid(), kind.gid(), kind.mode() & 0o7777)
}

#[test]
fn root_makes_no_set_user_id_file_of_what_another_user_left() {
    let Some(folder) = folder(0o777, BOB) else { return };
    file(&folder.path().join("out"), 0o6777, BOB, BOB);
    assert!(write(folder.path(), 0).status.success());
    assert_eq!(rights(folder.path()), (BOB, BOB, 0o777));
    assert_eq!(fs::read_to_string(folder.path().join("out")).unwrap(), SMALL);
}

#[test]
fn root_keeps_owner_and_group() {
    let Some(folder) = folder(0o755, ADA) else { return };
    file(&folder.path().join("out"), 0o640, ADA, GROUP);
    assert!(write(folder.path(), 0).status.success());
    assert_eq!(rights(folder.path()), (ADA, GROUP, 0o640));
}

#[test]
fn a_group_that_cannot_be_kept_gives_its_rights_to_no_other() {
    let Some(folder) = folder(0o755, ADA) else { return };
    file(&folder.path().join("out"), 0o664, ADA, GROUP);
    assert!(write(folder.path(), ADA).status.success());
    assert_eq!(rights(folder.path()), (ADA, ADA, 0o644));
}

#[test]
fn another_user_s_file_becomes_the_writer_s() {
    let Some(folder) = folder(0o777, ADA) else { return };
    file(&folder.path().join("out"), 0o666, ADA, ADA);
    assert!(write(folder.path(), BOB).status.success());
    assert_eq!(rights(folder.path()), (BOB, BOB, 0o666));
}

#[test]
fn a_file_that_may_not_be_written_is_not_replaced() {
    let Some(folder) = folder(0o777, ADA) else { return };
    file(&folder.path().join("out"), 0o644, ADA, ADA);
    let refused = write(folder.path(), BOB);
    let said = feed::text(refused.stderr);
    assert_eq!(
        (refused.status.code(), said.as_str()),
        (Some(2), "fg-collapse: out: cannot open: permission denied\n")
    );
    assert_eq!((rights(folder.path()), names(folder.path()).len()), ((ADA, ADA, 0o644), 1));
}

#[test]
fn files_and_links_that_another_user_left_in_a_shared_folder_are_refused() {
    for writer in [0, ADA] {
        let Some(folder) = folder(0o1777, 0) else { return };
        let out = folder.path().join("out");
        file(&out, 0o666, BOB, BOB);
        let refuse = || {
            let refused = write(folder.path(), writer);
            assert_eq!(refused.status.code(), Some(2));
            assert_eq!(
                feed::text(refused.stderr),
                "fg-collapse: out: cannot open: another user made it, in a folder where everybody may write; \
                 remove it or write elsewhere\n"
            );
        };
        refuse();
        assert_eq!(fs::read_to_string(&out).unwrap(), "old\n");
        fs::remove_file(&out).unwrap();

        let victim = tempfile::tempdir().unwrap();
        file(&victim.path().join("secret"), 0o600, writer, writer);
        fs::set_permissions(victim.path(), Permissions::from_mode(0o755)).unwrap();
        symlink(victim.path().join("secret"), &out).unwrap();
        std::os::unix::fs::lchown(&out, Some(BOB), Some(BOB)).unwrap();
        refuse();
        assert_eq!(fs::read_to_string(victim.path().join("secret")).unwrap(), "old\n");
        fs::remove_file(&out).unwrap();

        // Their own are replaced.
        file(&out, 0o600, writer, writer);
        assert!(write(folder.path(), writer).status.success());
        assert_eq!(names(folder.path()), ["out"]);
    }
}

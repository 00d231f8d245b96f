//! The surroundings of the programs: packages, workflows, the action for GitHub, and their scripts.
//!
//! The packages themselves take an optimised build: `scripts/package` makes them and tries each in a
//! clean root. These tests run the scripts with the programs just built, without a network.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

mod action;
mod files;
#[path = "../common/installed.rs"]
mod installed;
mod materials;
mod quickstart;
#[path = "../common/skip.rs"]
mod skip;
mod speed;
mod starter;
mod workflows;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder for a script to run in, and the programs in its search path: `bin` below it, the
/// programs just built, and those of the system.
struct Place {
    folder: tempfile::TempDir,
}

/// The output and status of a script.
struct Ran {
    status: i32,
    stdout: String,
    stderr: String,
}

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(project().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The folder of the programs just built.
fn programs() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_fg-record")).parent().unwrap()
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        Place { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Puts a script where programs are searched first.
    fn stand_in(&self, name: &str, script: &str) {
        self.put(&format!("bin/{name}"), &format!("#!/bin/bash\n{script}\n"));
        fs::set_permissions(self.path(&format!("bin/{name}")), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn search_path(&self) -> OsString {
        let system = std::env::var_os("PATH").unwrap_or_default();
        let own = [self.path("bin"), programs().to_owned()];
        std::env::join_paths(own.into_iter().chain(std::env::split_paths(&system))).unwrap()
    }

    /// Runs a script of bash in the folder, as GitHub does.
    fn run(&self, script: &str, environment: &[(&str, &str)]) -> Ran {
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c", script])
            .current_dir(self.folder.path())
            .envs(environment.iter().copied())
            .env("PATH", self.search_path())
            .env("PROJECT", project())
            // Another checkout's settings, where the tests run in a hook of git.
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Ran {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    fn succeeds(&self, script: &str, environment: &[(&str, &str)]) -> String {
        let ran = self.run(script, environment);
        assert_eq!(ran.status, 0, "{script}\n{}{}", ran.stdout, ran.stderr);
        ran.stdout
    }
}

/// Returns true if something can be recorded here; if not, says that the test is skipped.
fn can_record() -> bool {
    let check =
        Command::new(programs().join("fg-record")).arg("check").stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&check.stdout).into_owned();
    let sampler = said.lines().next().unwrap_or_default();
    if !check.status.success() {
        skip::skip(format_args!("nothing can be recorded here: {sampler}"));
    }
    check.status.success()
}

/// Returns true if there is git; if not, says that the test is skipped.
fn has_git() -> bool {
    let there = Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        skip::skip("there is no git");
    }
    there
}

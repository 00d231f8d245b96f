//! Stand-ins for profilers: scripts in a folder of their own, the first on the path.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::fg_record;

/// A folder of stand-ins, a note of what they were asked, and a place for temporary files.
pub struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    pub fn new() -> Stage {
        let stage = Stage { folder: tempfile::tempdir().expect("a folder") };
        for name in ["bin", "tmp"] {
            fs::create_dir(stage.path(name)).expect("a folder");
        }
        stage
    }

    /// A stage with stand-ins for all profilers, which do nothing.
    pub fn full() -> Stage {
        let stage = Stage::new();
        for name in ["perf", "py-spy", "profile-bpfcc", "dtrace", "xctrace"] {
            stage.add(name, "exit 0");
        }
        stage.add("austin", "echo 'austin 3.7.0'");
        stage
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program that notes its words, each in a line, and runs a script.
    pub fn add(&self, name: &str, script: &str) -> PathBuf {
        let note = self.path("asked");
        let text = format!(
            "#!/bin/sh\nfor word in \"$@\"; do printf '%s\\n' \"$word\"; done >>'{}'\n{script}\n",
            note.display()
        );
        self.write(name, &text)
    }

    /// A program with this text.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path("bin").join(name);
        fs::write(&path, text).expect("a script");
        executable(&path);
        path
    }

    /// `fg-record`, with the stand-ins before all other programs.
    pub fn fg_record(&self) -> Command {
        let mut command = fg_record();
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        command.env("PATH", path).env("TMPDIR", self.path("tmp"));
        command
    }

    /// `fg-record` where nothing but the stand-ins and a few of the system's tools is installed.
    pub fn alone(&self) -> Command {
        for name in ["sh", "env", "cat", "sleep", "true", "echo", "kill"] {
            let link = self.path("bin").join(name);
            let real = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(name));
            if let Some(real) = real.iter().find(|path| path.exists()).filter(|_| !link.exists()) {
                std::os::unix::fs::symlink(real, link).expect("a link");
            }
        }
        let mut command = self.fg_record();
        command.env("PATH", self.path("bin"));
        command
    }

    /// The words that the stand-ins were called with; the folder for their files is written `DIR`.
    pub fn asked(&self) -> Vec<String> {
        let asked = fs::read_to_string(self.path("asked")).expect("they were asked something");
        let tmp = format!("{}/", self.path("tmp").display());
        let shorten = |word: &str| match word.split_once(&tmp) {
            Some((before, rest)) => {
                format!("{before}DIR/{}", rest.split_once('/').map_or("", |(_, name)| name))
            }
            None => word.to_owned(),
        };
        asked.lines().map(shorten).collect()
    }

    /// Nothing is left behind.
    pub fn assert_clean(&self) {
        let left: Vec<_> = fs::read_dir(self.path("tmp")).expect("a folder").flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("its mode is set");
}

/// Shell code that finds the word after an option.
pub fn value_of(option: &str) -> String {
    format!("file=; last=; for word in \"$@\"; do [ \"$last\" = {option} ] && file=$word; last=$word; done")
}

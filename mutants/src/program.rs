//! Runs the program of a test, with limits: a mutant may hang, or fill the memory.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Kilobytes of address space, and blocks of 512 bytes of a file.
const LIMITS: &str = "ulimit -v 12000000; ulimit -f 4000000; exec \"$@\"";

/// A program of tests, and where it runs.
pub struct Program {
    pub name: String,
    pub path: PathBuf,
    /// Only tests whose names begin so.
    pub prefix: String,
}

/// The end of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    Passed,
    Failed,
    TooLong,
}

impl Program {
    /// The names of its tests.
    pub fn tests(&self, folder: &Path) -> Result<Vec<String>, String> {
        let output =
            Command::new(&self.path).args(["--list", "--format", "terse"]).current_dir(folder).output();
        let output = output.map_err(|e| format!("{}: {e}", self.path.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(names.filter(|name| name.starts_with(&self.prefix)).map(str::to_owned).collect())
    }

    /// Runs these tests, one after the other, with one more variable in the environment.
    pub fn run(&self, folder: &Path, tests: &[&str], variable: (&str, &str), at_most: Duration) -> End {
        let mut command = Command::new("sh");
        command.args(["-c", LIMITS, "sh"]).arg(&self.path).args(tests).args([
            "--exact",
            "--test-threads",
            "1",
        ]);
        command
            .current_dir(folder)
            .env(variable.0, variable.1)
            .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let Ok(mut child) = command.spawn() else { return End::Failed };
        let began = Instant::now();
        let end = loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => break End::Passed,
                Ok(Some(_)) | Err(_) => break End::Failed,
                Ok(None) if began.elapsed() > at_most => break End::TooLong,
                Ok(None) => thread::sleep(Duration::from_millis(2).max(began.elapsed() / 50)),
            }
        };
        // Its children too, whatever has become of it.
        let group = format!("-{}", child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = child.wait();
        end
    }
}

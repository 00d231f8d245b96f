//! A terminal to run in: tmux. Tests that need it are skipped where it does not work.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use super::installed::works;

/// Far longer than anything takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

pub struct Terminal {
    folder: tempfile::TempDir,
}

impl Terminal {
    /// Runs a shell script in a terminal of this size, in a folder with `in.folded` in it.
    pub fn start(columns: usize, rows: usize, folded: &[u8], script: &str) -> Option<Terminal> {
        if !works("tmux") {
            return None;
        }
        let terminal = Terminal { folder: tempfile::tempdir().unwrap() };
        std::fs::write(terminal.folder.path().join("in.folded"), folded).unwrap();
        // Keep the screen after the program has ended.
        let script = format!("{script}; echo ended with $?; sleep 1000");
        let (x, y) = (columns.to_string(), rows.to_string());
        let session = ["-f", "/dev/null", "new-session", "-d", "-s", "x", "-x", &x, "-y", &y, &script];
        let started = terminal.tmux(&session).unwrap();
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        Some(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> std::io::Result<Output> {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.folder.path().join("tmux")).args(arguments);
        command.current_dir(self.folder.path());
        command.env_remove("TMUX").env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8");
        command.output()
    }

    /// Presses keys, as tmux names them.
    #[cfg(feature = "tui")]
    pub fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys", "-t", "x"], keys].concat()).unwrap();
    }

    /// The text on the screen, with colours as escape codes if `colours` is true.
    pub fn screen(&self, colours: bool) -> String {
        let options: &[&str] = if colours { &["-e"] } else { &[] };
        let output = self.tmux(&[&["capture-pane", "-p", "-t", "x"], options].concat()).unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// The screen, once it shows this.
    pub fn shows(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// The screen, once it is as wanted.
    pub fn until(&self, wanted: &str, is_so: impl Fn(&str) -> bool) -> String {
        let begin = Instant::now();
        loop {
            let screen = self.screen(false);
            if is_so(&screen) {
                return screen;
            }
            assert!(begin.elapsed() < LIMIT, "no {wanted} in:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
    }
}

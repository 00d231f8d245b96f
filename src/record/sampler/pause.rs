//! Pauses of a recording: a delay, SIGUSR1 and SIGUSR2, and the lines of a FIFO, as of perf's `--control`.
//!
//! ```text
//! enable     sampling goes on           answered by "ack"
//! disable    it pauses
//! ping       nothing
//! stop       the recording ends
//! snapshot   the part that is being recorded ends
//! ```

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::record::program::message;
use crate::record::refusal::Refusal;
use crate::record::request::{Control, Delay, Pauses};
use crate::record::sys::signals::{Stop, UserSignal};

/// The longest line of a FIFO: of what is longer, the beginning is not kept.
const LONGEST: usize = 256;

/// The state of a recording that can pause.
pub(super) struct Gate {
    commands: Option<File>,
    answers: Option<File>,
    /// The beginning of a line.
    line: Vec<u8>,
    by_signals: bool,
    is_paused: bool,
    delay: Option<Duration>,
    /// The beginning of the present state.
    since: Instant,
    /// The time of sampling before.
    sampled: Duration,
}

/// Requests that are not about pauses, and lines that are no request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub stop: bool,
    pub snapshot: bool,
    pub unknown: Option<String>,
}

impl Gate {
    /// Opens the FIFOs. One without a writer does not block.
    ///
    /// # Errors
    /// A file that is not there, or is no FIFO.
    pub fn new(pauses: &Pauses) -> Result<Gate, Refusal> {
        let (commands, answers) = match &pauses.control {
            Some(Control::Fifo { commands, answers }) => {
                (Some(open(commands)?), answers.as_deref().map(open).transpose()?)
            }
            _ => (None, None),
        };
        Ok(Gate {
            commands,
            answers,
            line: Vec::new(),
            by_signals: pauses.control == Some(Control::Signals),
            is_paused: pauses.delay != Delay::None,
            delay: match pauses.delay {
                Delay::For(delay) => Some(delay),
                Delay::None | Delay::UntilTold => None,
            },
            since: Instant::now(),
            sampled: Duration::ZERO,
        })
    }

    /// Takes the present for the beginning.
    pub fn begin(&mut self) {
        self.since = Instant::now();
    }

    /// Returns true in a pause.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// The time of sampling.
    pub fn sampled(&self) -> Duration {
        if self.is_paused { self.sampled } else { self.sampled + self.since.elapsed() }
    }

    /// The time until the delay is over.
    pub fn left(&self) -> Option<Duration> {
        self.delay.map(|delay| delay.saturating_sub(self.since.elapsed()))
    }

    /// Readable when there is a line.
    pub fn wake(&self) -> Option<BorrowedFd<'_>> {
        self.commands.as_ref().map(AsFd::as_fd)
    }

    /// Does what it was told meanwhile: `set` begins and ends pauses.
    ///
    /// # Errors
    /// Those of `set`, and of the FIFOs.
    pub fn attend(&mut self, stop: &Stop, mut set: impl FnMut(bool) -> io::Result<()>) -> io::Result<Told> {
        let mut told = Told::default();
        if self.left() == Some(Duration::ZERO) {
            self.turn(false, &mut set)?;
        }
        match stop.take_user_signal() {
            Some(UserSignal::First) if self.by_signals => self.turn(true, &mut set)?,
            Some(UserSignal::Second) if self.by_signals => self.turn(false, &mut set)?,
            Some(UserSignal::Second) => told.snapshot = true,
            Some(UserSignal::First) | None => {}
        }
        for line in self.lines()? {
            match &*line {
                "enable" => self.turn(false, &mut set)?,
                "disable" => self.turn(true, &mut set)?,
                "stop" => told.stop = true,
                "snapshot" => told.snapshot = true,
                "ping" => {}
                _ => {
                    told.unknown.get_or_insert(line);
                    continue;
                }
            }
            if let Some(answers) = &mut self.answers {
                // It need not be read.
                let _ = answers.write(b"ack\n");
            }
        }
        Ok(told)
    }

    fn turn(&mut self, is_paused: bool, set: &mut impl FnMut(bool) -> io::Result<()>) -> io::Result<()> {
        self.delay = None;
        if is_paused == self.is_paused {
            return Ok(());
        }
        set(is_paused)?;
        self.sampled = self.sampled();
        self.is_paused = is_paused;
        self.since = Instant::now();
        Ok(())
    }

    /// The lines that have come.
    fn lines(&mut self) -> io::Result<Vec<String>> {
        let Some(commands) = &mut self.commands else { return Ok(Vec::new()) };
        let mut lines = Vec::new();
        let mut bytes = [0; 512];
        loop {
            let count = match commands.read(&mut bytes) {
                Ok(count) => count,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => 0,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            if count == 0 {
                return Ok(lines);
            }
            for &byte in &bytes[..count] {
                // perf's tools end a line by a zero byte, too.
                if !matches!(byte, b'\n' | 0) {
                    self.line.push(byte);
                    if self.line.len() > LONGEST {
                        self.line.remove(0);
                    }
                    continue;
                }
                let line = std::mem::take(&mut self.line);
                let line = String::from_utf8_lossy(line.trim_ascii()).into_owned();
                if !line.is_empty() {
                    lines.push(line);
                }
            }
        }
    }
}

/// Opens a FIFO for both directions, so that it does not end with the first who writes to it.
fn open(path: &Path) -> Result<File, Refusal> {
    let refused = |said: String| Refusal::Other { doing: "be controlled", said };
    let name = path.display();
    let metadata =
        path.metadata().map_err(|e| refused(format!("{name}: {}; `mkfifo {name}` makes it", message(&e))))?;
    if !metadata.file_type().is_fifo() {
        return Err(refused(format!("{name} is no FIFO; `mkfifo` makes one")));
    }
    let opened = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path);
    opened.map_err(|e| refused(format!("{name}: {}", message(&e))))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_fifo_pauses_and_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let [commands, answers] = ["commands", "answers"].map(|name| folder.path().join(name));
        assert!(Command::new("mkfifo").args([&commands, &answers]).status().unwrap().success());
        let control = Some(Control::Fifo { commands: commands.clone(), answers: Some(answers.clone()) });
        let mut gate = Gate::new(&Pauses { delay: Delay::UntilTold, control }).unwrap();
        let stop = Stop::install().unwrap();
        let mut states = Vec::new();
        let mut attend = |gate: &mut Gate| {
            gate.attend(&stop, |is_paused| {
                states.push(is_paused);
                Ok(())
            })
            .unwrap()
        };
        gate.begin();
        assert_eq!(attend(&mut gate), Told::default());
        assert_eq!(gate.sampled(), Duration::ZERO);
        let mut writer = OpenOptions::new().write(true).open(&commands).unwrap();
        let mut answers =
            OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&answers).unwrap();
        // Twice the same is once, and a line may come in parts.
        writer.write_all(b"ping\nenable\nenable\ndis").unwrap();
        assert_eq!(attend(&mut gate), Told::default());
        writer.write_all(b"able\nsnapshot\nhallo\nstop\n").unwrap();
        let told = attend(&mut gate);
        assert_eq!(told, Told { stop: true, snapshot: true, unknown: Some("hallo".to_owned()) });
        assert!(gate.sampled() > Duration::ZERO && gate.is_paused);
        assert_eq!(states, [false, true]);
        let mut read = [0; 256];
        let count = answers.read(&mut read).unwrap();
        assert_eq!(&read[..count], b"ack\n".repeat(6));
    }

    #[test]
    fn the_end_of_a_delay_begins_the_sampling() {
        let delay = Delay::For(Duration::ZERO);
        let mut gate = Gate::new(&Pauses { delay, control: None }).unwrap();
        let stop = Stop::install().unwrap();
        let mut states = Vec::new();
        for _ in 0..2 {
            gate.attend(&stop, |is_paused| {
                states.push(is_paused);
                Ok(())
            })
            .unwrap();
        }
        assert_eq!((states, gate.left()), (vec![false], None));
    }

    #[test]
    fn a_file_is_no_fifo() {
        let control = |path: &str| {
            let control = Control::Fifo { commands: path.into(), answers: None };
            Gate::new(&Pauses { delay: Delay::None, control: Some(control) }).err().unwrap().to_string()
        };
        assert!(control("/dev/null").ends_with("/dev/null is no FIFO; `mkfifo` makes one"));
        assert!(control("/nowhere/x").contains("`mkfifo /nowhere/x` makes it"));
    }
}

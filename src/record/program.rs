//! The program that is recorded: started so that it waits, asked to end, and waited for.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::refusal::Refusal;
use super::request::Invocation;
use super::sys::launch::Launched;
use super::sys::limits;
use super::sys::processes;
use super::sys::readable::wait_readable;
use super::sys::signals::Stop;
use super::sys::wait::End;
use super::sys::wait::Ended;

/// A program that we started: ended, or about to end, when the profile has been written.
#[derive(Debug)]
pub enum Started {
    /// It has ended.
    Ended(Ended),
    /// It was asked to end, or has no reason to.
    Running(Launched, Invocation),
}

impl Started {
    /// The processor time that the program used, if it has ended and the system tells.
    pub fn cpu_time(&self) -> Option<Duration> {
        match self {
            Started::Ended(ended) => ended.cpu_time,
            Started::Running(..) => None,
        }
    }

    /// Waits for its end, and passes on a request to stop that comes meanwhile.
    ///
    /// # Errors
    /// The error of the system when the program could not be run.
    pub fn wait(self, stop: &Stop) -> Result<Ended, Refusal> {
        let ended = match self {
            Started::Ended(ended) => Ok(ended),
            Started::Running(launched, invocation) => {
                attend(&launched, stop);
                launched.wait().map_err(|e| cannot_start(&invocation, &e))
            }
        };
        // Its number may soon be another's.
        stop.take_along(None);
        ended
    }
}

/// Asks a program and all that it has started to end: when the recording is over before it, or when a request to
/// stop reached us alone. A Ctrl-C on the terminal has reached them too.
pub(super) fn ask_to_end(launched: &Launched, is_over: bool, stop: &Stop) {
    if !pass_on(launched, stop) && is_over {
        processes::signal_tree(launched.pid(), libc::SIGTERM);
    }
}

/// Passes on a request to stop, once; returns false if there was none.
fn pass_on(launched: &Launched, stop: &Stop) -> bool {
    let Some(signal) = stop.requested() else { return false };
    if stop.take_to_pass_on() {
        processes::signal_tree(launched.pid(), signal);
    }
    true
}

/// Returns when a program has ended; passes on a request to stop that comes before.
fn attend(launched: &Launched, stop: &Stop) {
    let readable = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    loop {
        stop.drain();
        pass_on(launched, stop);
        let mut fds = vec![readable(launched.ended().as_raw_fd()), readable(stop.wake().as_raw_fd())];
        if wait_readable(&mut fds, -1).is_err() || fds[0].revents != 0 {
            return;
        }
    }
}

/// Starts a program, which waits until it is told to go on.
///
/// # Errors
/// When it cannot be started.
pub(super) fn launch(invocation: &Invocation, end: End) -> Result<Launched, Refusal> {
    let launched = command(invocation).and_then(|command| Launched::ending(command, end));
    launched.map_err(|e| cannot_start(invocation, &e))
}

/// Gives a program a file instead of the terminal, and nothing to read.
fn redirect(command: &mut Command, path: &Path) -> io::Result<()> {
    // Another program's output stays as it is.
    let file = File::create_new(path)?;
    command.stdin(Stdio::null());
    if io::stdout().is_terminal() {
        command.stdout(file.try_clone()?);
    }
    if io::stderr().is_terminal() {
        command.stderr(file);
    }
    Ok(())
}

fn command(invocation: &Invocation) -> io::Result<Command> {
    let mut command = Command::new(&invocation.program);
    command.args(&invocation.arguments);
    command.envs(invocation.environment.iter().map(|(name, value)| (name, value)));
    if let Some(folder) = &invocation.folder {
        command.current_dir(folder);
    }
    if let Some(path) = &invocation.instead_of_terminal {
        redirect(&mut command, path)?;
    } else if invocation.stdout_is_taken {
        use std::os::fd::AsFd;
        let stderr = io::stderr().as_fd().try_clone_to_owned();
        command.stdout(stderr.map_or_else(|_| Stdio::null(), Stdio::from));
    }
    Ok(command)
}

fn cannot_start(invocation: &Invocation, error: &io::Error) -> Refusal {
    let program = invocation.program.to_string_lossy();
    let said = match error.kind() {
        io::ErrorKind::NotFound => no_such_program(&invocation.program),
        io::ErrorKind::PermissionDenied => {
            format!(
                "{program}: it is not executable; chmod +x makes it so, and if it is a recording, fg-render draws it"
            )
        }
        _ if error.raw_os_error() == Some(libc::EMFILE) => {
            return Refusal::OpenFiles(limits::lift_open_files());
        }
        _ => format!("{program}: {}", message(error)),
    };
    Refusal::Other { doing: "start the program", said }
}

/// Endings of files that people mean to be written when they name them first.
const OUTPUTS: &[&str] = &[".svg", ".html", ".png", ".folded"];

/// The words for a program that is not found, and the command that was meant if one is likely.
pub(super) fn no_such_program(program: &OsStr) -> String {
    let name = program.to_string_lossy();
    let here = Path::new(program).metadata().ok().filter(|it| it.is_file() && !name.contains('/'));
    match here.map(|file| file.permissions().mode() & 0o111 != 0) {
        Some(true) => format!("{name}: there is no such program in PATH; the one in this folder is ./{name}"),
        Some(false) => {
            format!("{name}: it is a file, and no program; if it is a recording, fg-render {name} draws it")
        }
        None if name == "record" => {
            "record: there is no such program; fg-record records without that word: fg-record COMMAND"
                .to_owned()
        }
        None if OUTPUTS.iter().any(|ending| name.ends_with(ending)) => {
            format!("{name}: there is no such program; -o {name} names the file that is written")
        }
        None if name == "help" => "help: there is no such program; --help explains fg-record".to_owned(),
        None => format!("{name}: there is no such program"),
    }
}

/// The refusal for an error of the system.
#[cfg(target_os = "linux")]
pub(super) fn cannot(doing: &'static str, error: &io::Error) -> Refusal {
    Refusal::Other { doing, said: message(error) }
}

/// The system's words for an error, as a part of a line: in small letters, without its number.
pub(super) fn message(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}

//! Finds and starts the user's browser.
//!
//! `$BROWSER` holds commands separated by colons, with `%s` where the file goes; without `%s` it
//! goes to the end. Nothing goes through a shell. A program that was started by sudo opens the
//! browser of the user who called sudo, not root's.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::cli::output::effective_user;
use crate::cli::say;

/// The time in which a browser that does not work ends: one that still runs then has opened.
const PATIENCE: Duration = Duration::from_secs(2);

/// Opens a file, or tells the user to; `tool` is the name that the message begins with. Returns true if
/// a browser was started.
pub fn open(tool: &str, file: &Path) -> bool {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let commands = commands(&file, &|name| env::var_os(name).filter(|value| !value.is_empty()));
    let caller = caller_of_sudo();
    let has_opened = commands.iter().any(|words| is_opened_by(words, caller.as_ref()));
    if !has_opened {
        let tried: Vec<_> = commands.iter().map(|words| words[0].to_string_lossy()).collect();
        let why = match tried.is_empty() {
            true => "there is no display here, and BROWSER is not set".to_owned(),
            false => format!("neither works: {}; BROWSER may name another", tried.join(", ")),
        };
        say(tool, format_args!("no browser was opened ({why}); open {} yourself", file.display()));
    }
    has_opened
}

/// Returns true if the browser is another user's, who cannot read what is private to this one.
pub(super) fn is_another_user_s() -> bool {
    caller_of_sudo().is_some()
}

fn caller_of_sudo() -> Option<Caller> {
    Caller::of_sudo(effective_user(), &|name| env::var(name).ok())
}

/// The command lines to try.
fn commands(file: &Path, variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<Vec<OsString>> {
    let browsers = variable("BROWSER").unwrap_or_default();
    let named = browsers.as_bytes().split(|&b| b == b':').filter_map(|command| words(command, file));
    let mut all: Vec<Vec<OsString>> = named.collect();
    if cfg!(target_os = "macos") {
        all.push(vec!["open".into(), file.into()]);
    }
    // Without a display these would take over the terminal.
    let is_seen =
        ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"].iter().any(|name| variable(name).is_some());
    if is_seen {
        all.extend(["xdg-open", "wslview"].map(|program| vec![program.into(), file.into()]));
    }
    all
}

/// One command of `$BROWSER`.
fn words(command: &[u8], file: &Path) -> Option<Vec<OsString>> {
    let words = command.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let mut all: Vec<Vec<u8>> = words.map(<[u8]>::to_vec).collect();
    let mut has_file = false;
    for word in all.iter_mut().skip(1) {
        while let Some(at) = memchr::memmem::find(word, b"%s").filter(|_| !has_file) {
            word.splice(at..at + 2, file.as_os_str().as_bytes().iter().copied());
            has_file = true;
        }
    }
    if !has_file {
        all.push(file.as_os_str().as_bytes().to_vec());
    }
    (all.len() > 1).then(|| all.into_iter().map(OsString::from_vec).collect())
}

fn is_opened_by(words: &[OsString], caller: Option<&Caller>) -> bool {
    let mut command = Command::new(&words[0]);
    // In a process group of its own, so that a Ctrl-C for us does not reach the browser.
    command.args(&words[1..]).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(caller) = caller {
        caller.run(&mut command);
    }
    command.spawn().is_ok_and(|child| has_opened(child, Instant::now() + PATIENCE))
}

fn has_opened(mut child: Child, until: Instant) -> bool {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(20)),
            _ => return true,
        }
    }
}

/// The user who became root by sudo.
#[derive(Debug, PartialEq, Eq)]
struct Caller {
    user: u32,
    group: u32,
    name: String,
    home: Option<PathBuf>,
}

impl Caller {
    fn of_sudo(effective_user: u32, variable: &dyn Fn(&str) -> Option<String>) -> Option<Caller> {
        let user = variable("SUDO_UID")?.parse().ok()?;
        let group = variable("SUDO_GID")?.parse().ok()?;
        let name = variable("SUDO_USER").unwrap_or_default();
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let home = variable("SUDO_HOME").or_else(|| home_of(user, &users)).map(PathBuf::from);
        (effective_user == 0 && user != 0).then_some(Caller { user, group, name, home })
    }

    fn run(&self, command: &mut Command) {
        command.uid(self.user).gid(self.group).env("USER", &self.name).env("LOGNAME", &self.name);
        match &self.home {
            Some(home) => command.env("HOME", home),
            None => command.env_remove("HOME"),
        };
        // The folder of the sockets through which the session's programs find each other.
        let session = PathBuf::from(format!("/run/user/{}", self.user));
        if session.is_dir() {
            let mut bus = OsString::from("unix:path=");
            bus.push(OsStr::new(&session.join("bus")));
            command.env("XDG_RUNTIME_DIR", &session).env("DBUS_SESSION_BUS_ADDRESS", bus);
        }
    }
}

/// A user's home, by `/etc/passwd`: `name:x:1000:1000:…:/home/name:/bin/sh`.
fn home_of(user: u32, users: &str) -> Option<String> {
    let number = user.to_string();
    let line = users.lines().find(|line| line.split(':').nth(2) == Some(&number))?;
    line.split(':').nth(5).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(not(target_os = "macos"))]
    fn commands_to_try() {
        let file = Path::new("/tmp/a b;$(c).html");
        let tried = |variables: &[(&str, &str)]| -> Vec<Vec<String>> {
            let variable = |name: &str| {
                variables.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value))
            };
            let all = commands(file, &variable);
            all.iter().map(|words| words.iter().map(|w| w.to_string_lossy().into_owned()).collect()).collect()
        };
        let path = file.to_str().unwrap();
        assert!(tried(&[]).is_empty());
        assert_eq!(tried(&[("DISPLAY", ":0")]), [["xdg-open", path], ["wslview", path]]);
        assert_eq!(
            tried(&[("BROWSER", "one:two --new %s --then::three  --at=%s"), ("SSH_TTY", "x")]),
            [&["one", path][..], &["two", "--new", path, "--then"], &["three", &format!("--at={path}")],]
        );
        // `%s` in the file's name is left alone.
        let odd = words(b"one %s", Path::new("/%s/%s")).unwrap();
        assert_eq!(odd, ["one", "/%s/%s"]);
    }

    #[test]
    fn under_sudo_the_browser_is_the_caller_s() {
        let of = |effective, user: &'static str| {
            let variable = move |name: &str| match name {
                "SUDO_UID" | "SUDO_GID" => Some(user.to_owned()),
                "SUDO_USER" => Some("ada".to_owned()),
                "SUDO_HOME" => Some("/home/ada".to_owned()),
                _ => None,
            };
            Caller::of_sudo(effective, &variable)
        };
        let ada = Caller { user: 1000, group: 1000, name: "ada".to_owned(), home: Some("/home/ada".into()) };
        assert_eq!(of(0, "1000"), Some(ada));
        assert_eq!(of(0, "0"), None, "root's own sudo");
        assert_eq!(of(1000, "1000"), None, "sudo of another user than root");
        assert_eq!(of(0, "x"), None);
        let users = "root:x:0:0::/root:/bin/sh\nada:x:1000:1000:Ada:/home/ada:/bin/sh\nbroken\n";
        assert_eq!(home_of(1000, users).as_deref(), Some("/home/ada"));
        assert_eq!(home_of(1, users), None);
    }
}

//! Programs and debug information by their build id, from the servers of debuginfod.
//!
//! elfutils' client `debuginfod-find` asks them: it has the cache (`$DEBUGINFOD_CACHE_PATH`), TLS, proxies and
//! the limits that users know (`DEBUGINFOD_TIMEOUT`, `DEBUGINFOD_MAXTIME`, `DEBUGINFOD_MAXSIZE`). Nothing is asked
//! unless somebody wants it: servers learn what runs here.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::number::hex_of;

/// The client.
const PROGRAM: &str = "debuginfod-find";

/// The limits of the client, where the user has set none: seconds without 100 kB, seconds and bytes of a file.
const LIMITS: &[(&str, &str)] =
    &[("DEBUGINFOD_TIMEOUT", "30"), ("DEBUGINFOD_MAXTIME", "300"), ("DEBUGINFOD_MAXSIZE", "4294967296")];

/// The time after which no server is asked any more.
const LONGEST: Duration = Duration::from_secs(1800);

/// The servers that are asked for what is not on this machine.
#[derive(Clone, Debug)]
pub struct Debuginfod(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Separated by blanks.
    servers: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    asked: usize,
    found: usize,
    began: Option<Instant>,
    /// The reason why nobody is asked any more.
    gave_up: Option<String>,
    has_told: bool,
}

impl PartialEq for Debuginfod {
    fn eq(&self, other: &Debuginfod) -> bool {
        self.0.servers == other.0.servers
    }
}

impl Eq for Debuginfod {}

impl Debuginfod {
    /// Asks these servers: addresses separated by blanks, as `$DEBUGINFOD_URLS` has them.
    pub fn new(servers: impl Into<String>) -> Debuginfod {
        Debuginfod(Arc::new(Shared { servers: servers.into(), state: Mutex::default() }))
    }

    /// The servers of `$DEBUGINFOD_URLS`; `None` if there are none.
    pub fn of_environment() -> Option<Debuginfod> {
        let servers = env::var("DEBUGINFOD_URLS").ok()?;
        (!servers.trim().is_empty()).then(|| Debuginfod::new(servers))
    }

    /// The file of a build id: `executable` or `debuginfo`.
    pub(super) fn find(&self, what: &str, build_id: &[u8]) -> Option<PathBuf> {
        {
            let mut state = self.state();
            let began = *state.began.get_or_insert_with(Instant::now);
            if state.gave_up.is_none() && began.elapsed() > LONGEST {
                state.gave_up = Some(format!("they took more than {} minutes", LONGEST.as_secs() / 60));
            }
            if state.gave_up.is_some() {
                return None;
            }
            state.asked += 1;
        }
        let mut client = Command::new(PROGRAM);
        client.args([what, &hex_of(build_id)]).env("DEBUGINFOD_URLS", &self.0.servers).stdin(Stdio::null());
        client.envs(LIMITS.iter().filter(|(name, _)| env::var_os(name).is_none()).copied());
        let answer = match client.output() {
            Ok(answer) => answer,
            Err(error) => {
                let why = match error.kind() {
                    std::io::ErrorKind::NotFound => format!(
                        "{PROGRAM} is not installed; it is in the package debuginfod, elfutils-debuginfod-client or \
                         elfutils"
                    ),
                    _ => format!("{PROGRAM} cannot be started: {}", crate::error::plain(&error)),
                };
                self.state().gave_up.get_or_insert(why);
                return None;
            }
        };
        let text = String::from_utf8_lossy(&answer.stdout);
        let path = Path::new(text.trim_end());
        if answer.status.success() && path.is_absolute() {
            self.state().found += 1;
            return Some(path.to_owned());
        }
        let said = String::from_utf8_lossy(&answer.stderr);
        // A file that no server has is the usual case. Of others, the next one would take as long.
        if !said.contains("No such file or directory") && !said.contains("not found") {
            let line = said.lines().next_back().unwrap_or("no answer").trim();
            self.state().gave_up.get_or_insert_with(|| crate::error::excerpt(line.as_bytes()));
        }
        None
    }

    /// The number of files that were found, and the reason why not more were asked for; once.
    pub(crate) fn take_result(&self) -> Option<Answered> {
        let mut state = self.state();
        if std::mem::replace(&mut state.has_told, true) {
            return None;
        }
        Some(Answered { asked: state.asked, found: state.found, gave_up: state.gave_up.clone() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The result of asking servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    pub asked: usize,
    pub found: usize,
    /// The reason why nobody was asked any more.
    pub gave_up: Option<String>,
}

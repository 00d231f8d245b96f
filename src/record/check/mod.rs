//! `fg-record check`: what works here, and the command that fixes what does not.

#[cfg(target_os = "linux")]
pub mod findings;

use std::fmt;

use super::backend::{self, BackendInfo};

/// How well something works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All of it.
    Works,
    /// With less to see.
    Partly,
    /// Not at all.
    Not,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Works => "yes",
            Verdict::Partly => "part",
            Verdict::Not => "no",
        })
    }
}

/// One thing that recordings may need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// How well it works.
    pub verdict: Verdict,
    /// What it is.
    pub what: &'static str,
    /// What was found, and the command that mends it.
    pub found: String,
}

/// The table of other profilers, for `--with`.
pub fn profilers() -> Vec<Row> {
    let row = |backend: &&dyn backend::Backend| {
        let info = backend.about();
        let program = backend::find::program(info).ok();
        match program.and_then(|program| backend::find::on_path(&program)) {
            Some(path) => Row { verdict: Verdict::Works, what: info.name, found: path.display().to_string() },
            None => {
                let BackendInfo { programs, variable, install, .. } = info;
                let found = format!("no {}: {install}; {variable} may name it", programs.join(" or "));
                Row { verdict: Verdict::Not, what: info.name, found }
            }
        }
    };
    backend::ALL.iter().map(row).collect()
}

//! `fg-record check`: what works here, and the command that fixes what does not.

#[cfg(target_os = "linux")]
pub mod findings;

use std::fmt;
use std::path::PathBuf;

use super::backend::{self, BackendInfo, find};

/// The degree to which something works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It works.
    Works,
    /// It works, with less to see.
    Partly,
    /// It does not work.
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

/// One row of the table: something that recordings may need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The degree to which it works.
    pub verdict: Verdict,
    /// Its name in the table.
    pub what: &'static str,
    /// The finding, and the command that fixes what does not work.
    pub found: String,
}

/// The table of other profilers, for `--with`.
pub fn profilers() -> Vec<Row> {
    let path = |info| find::on_path(&find::program(info).ok()?);
    backend::ALL.iter().map(|backend| profiler(backend.about(), path(backend.about()))).collect()
}

fn profiler(info: &'static BackendInfo, path: Option<PathBuf>) -> Row {
    match path {
        Some(path) => Row { verdict: Verdict::Works, what: info.name, found: path.display().to_string() },
        None => {
            let BackendInfo { programs, variable, install, .. } = info;
            let found = format!("no {}: {install}; {variable} may name it", programs.join(" or "));
            Row { verdict: Verdict::Not, what: info.name, found }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profiler_has_a_path_or_an_advice() {
        let [perf, py_spy] = ["perf", "py-spy"].map(|name| {
            let named = backend::ALL.iter().find(|backend| backend.about().name == name);
            named.expect("it is in the list").about()
        });
        let row = profiler(perf, Some(PathBuf::from("/usr/bin/perf")));
        assert_eq!((row.verdict, &*row.found), (Verdict::Works, "/usr/bin/perf"));
        let row = profiler(py_spy, None);
        let expected = "no py-spy: `pip install py-spy`; PY_SPY may name it";
        assert_eq!((row.verdict, &*row.found), (Verdict::Not, expected));
        assert_eq!(profilers().len(), backend::ALL.len());
    }
}

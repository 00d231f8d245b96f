//! `fg-record check`: what works here, and the command that fixes what does not.

#[cfg(target_os = "linux")]
pub mod findings;

use std::fmt;
use std::path::PathBuf;

use super::backend::trial::{self, Tried};
use super::backend::{self, Backend, BackendInfo, find};

/// The degree to which something works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// It works.
    Works,
    /// It works, with less to see.
    Partly,
    /// It does not work.
    Not,
}

impl fmt::Display for Ability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Ability::Works => "yes",
            Ability::Partly => "part",
            Ability::Not => "no",
        })
    }
}

/// One row of the table: something that recordings may need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The degree to which it works.
    pub verdict: Ability,
    /// Its name in the table.
    pub what: &'static str,
    /// The finding, and the command that fixes what does not work.
    pub found: String,
}

/// The table of other profilers, for `--with`: each that is installed records for a moment.
pub fn profilers() -> Vec<Row> {
    std::thread::scope(|scope| {
        let trials = backend::ALL.iter().map(|&backend| scope.spawn(move || try_profiler(backend)));
        let trials: Vec<_> = trials.collect();
        trials.into_iter().map(|trial| trial.join().expect("a trial does not panic")).collect()
    })
}

fn try_profiler(backend: &'static dyn Backend) -> Row {
    let about = backend.about();
    let found = find::program(about).ok().and_then(|program| Some((find::on_path(&program)?, program)));
    profiler(about, found.map(|(path, program)| (path, trial::records(backend, &program))))
}

fn profiler(info: &'static BackendInfo, found: Option<(PathBuf, Result<Tried, String>)>) -> Row {
    let BackendInfo { programs, variable, install, when_it_fails, .. } = info;
    let (verdict, found) = match found {
        Some((path, Ok(Tried::Recorded))) => (Ability::Works, path.display().to_string()),
        Some((path, Ok(Tried::Started))) => {
            (Ability::Partly, format!("{}: not tried, since there is no Python here", path.display()))
        }
        Some((path, Err(words))) => {
            let advice = when_it_fails.map(|advice| format!("; {advice}")).unwrap_or_default();
            (Ability::Not, format!("{} does not record: {words}{advice}", path.display()))
        }
        None => {
            let programs = programs.join(" or ");
            (Ability::Not, format!("no {programs}: {install}; {variable} may name it"))
        }
    };
    Row { verdict, what: info.name, found }
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
        let row = |result| profiler(perf, Some((PathBuf::from("/usr/bin/perf"), result)));
        let works = row(Ok(Tried::Recorded));
        assert_eq!((works.verdict, &*works.found), (Ability::Works, "/usr/bin/perf"));
        let fails = row(Err("no permission".to_owned()));
        let expected = "/usr/bin/perf does not record: no permission";
        assert_eq!((fails.verdict, &*fails.found), (Ability::Not, expected));
        assert_eq!(row(Ok(Tried::Started)).verdict, Ability::Partly);
        let row = profiler(py_spy, None);
        let expected = "no py-spy: `pip install py-spy`; PY_SPY may name it";
        assert_eq!((row.verdict, &*row.found), (Ability::Not, expected));
    }
}

//! Chooses the backend: the one that was named, or the one that fits the target.
//!
//! The built-in sampler shows the functions of Python among those of its interpreter, or that alone, where a Python
//! programmer wants only these: so `auto` takes py-spy or austin for a CPython program, if they are there and
//! can do all that is asked.

use std::ffi::OsString;

use super::capability::{self, Wishes};
use super::{ALL, Backend, FOR_PYTHON, Refusal, find, is_for_python, python, trial};
use crate::record::HAS_SAMPLER;

/// The profiler that records.
#[derive(Clone)]
pub enum Chosen {
    /// The built-in sampler.
    Builtin,
    /// Another program: which backend, and where it is.
    Other(&'static dyn Backend, OsString),
}

impl std::fmt::Debug for Chosen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Chosen::Builtin => write!(f, "Builtin"),
            Chosen::Other(backend, program) => write!(f, "Other({}, {program:?})", backend.about().name),
        }
    }
}

/// A profiler, and the reason for its choice.
#[derive(Debug)]
pub struct Selection {
    /// The profiler that records.
    pub chosen: Chosen,
    /// The reason, for a profiler that the user has not named.
    pub why: Option<String>,
    /// The choice may surprise the user, who is told unasked.
    pub is_news: bool,
}

/// All names that `--with` takes.
pub fn names() -> impl Iterator<Item = &'static str> {
    ["auto", "builtin"].into_iter().chain(ALL.iter().map(|backend| backend.about().name))
}

/// Chooses by a name that [`names`] has.
///
/// # Errors
/// When the backend of that name is not installed, or cannot do what is asked.
pub fn choose(name: &str, wishes: &Wishes) -> Result<Selection, Refusal> {
    let named = ALL.iter().find(|backend| backend.about().name == name);
    let Some(&backend) = named else {
        if !wishes.arguments.is_empty() {
            let names: Vec<&str> = names().skip(2).collect();
            return Err(Refusal::new(format!(
                "--backend-args is for another program: name it by --with {}",
                names.join(", ")
            )));
        }
        let builtin = || Selection { chosen: Chosen::Builtin, why: None, is_news: false };
        let choice = if name == "auto" { by_target(wishes) } else { builtin() };
        return if HAS_SAMPLER || matches!(choice.chosen, Chosen::Other(..)) {
            Ok(choice)
        } else if name == "auto" {
            without_sampler(wishes)
        } else {
            Err(Refusal::new(NO_SAMPLER))
        };
    };
    capability::check(backend, wishes)?;
    let chosen = Chosen::Other(backend, find::program(backend.about())?);
    Ok(Selection { chosen, why: None, is_news: false })
}

const NO_SAMPLER: &str = "the built-in sampler needs Linux; --with names another profiler, and \
                          `fg-record check` lists those that are installed";

/// Chooses the first profiler that is installed and can do all that is asked, on systems without the
/// built-in sampler.
fn without_sampler(wishes: &Wishes) -> Result<Selection, Refusal> {
    let able = ALL.iter().filter(|backend| wishes.beyond(backend.about()).is_none());
    let mut found = able
        .filter(|backend| !is_for_python(**backend))
        .filter_map(|backend| Some((*backend, find::program(backend.about()).ok()?)));
    let (backend, program) = found.next().ok_or_else(|| Refusal::new(NO_SAMPLER))?;
    let why = format!("recording with {}: the built-in sampler needs Linux", backend.about().name);
    Ok(Selection { chosen: Chosen::Other(backend, program), why: Some(why), is_news: false })
}

/// The built-in sampler names functions of CPython.
const NAMES_PYTHON: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

fn by_target(wishes: &Wishes) -> Selection {
    let builtin = |why: String, is_news| Selection { chosen: Chosen::Builtin, why: Some(why), is_news };
    let Some(name) = python::program_of(&wishes.request.target) else {
        return builtin(
            "recording with the built-in sampler: the target is no Python program".to_owned(),
            false,
        );
    };
    let bare = "recording its interpreter with the built-in sampler";
    if wishes.raw {
        // `--raw` asks for a perf.data, which has no frames of Python.
        return builtin(format!("{name} is Python, and --raw wants a perf.data: {bare}"), true);
    }
    if let Some(why) = may_not_attach(wishes) {
        return builtin(format!("{name} is Python, but {why}: {bare}"), true);
    }
    let instead = if NAMES_PYTHON { "recording its functions with the built-in sampler" } else { bare };
    let able = FOR_PYTHON.iter().filter(|backend| wishes.beyond(backend.about()).is_none());
    let mut installed =
        FOR_PYTHON.iter().filter_map(|backend| Some((*backend, find::program(backend.about()).ok()?)));
    let able = able.filter_map(|backend| Some((*backend, find::program(backend.about()).ok()?)));
    let (found, failed) = trial::first_that_starts(able);
    if let Some((backend, program)) = found {
        let said = backend.about().name;
        let builtin = if NAMES_PYTHON { "those in C, too" } else { "its interpreter" };
        let why =
            format!("{name} is Python: recording its functions with {said} (--with builtin: {builtin})");
        return Selection { chosen: Chosen::Other(backend, program), why: Some(why), is_news: true };
    }
    if let Some((program, words)) = failed {
        let program = program.to_string_lossy();
        let why = format!("{name} is Python, but {program} does not work here ({words}): {instead}");
        return builtin(why, true);
    }
    match installed.next() {
        None if NAMES_PYTHON => builtin(format!("{name} is Python: {instead}"), true),
        None => {
            let install = FOR_PYTHON[0].about().install;
            builtin(
                format!(
                    "{name} is Python, and neither py-spy nor austin is installed ({install}): {instead}"
                ),
                true,
            )
        }
        Some((backend, _)) => {
            let said = backend.about().name;
            let wish = wishes.beyond(backend.about()).map_or("that", |wish| wish.option());
            builtin(format!("{name} is Python, but {said} cannot do {wish}: {instead}"), true)
        }
    }
}

/// Reading another process's memory, unlike sampling it, may be kept for its parents.
#[cfg(not(target_os = "linux"))]
fn may_not_attach(_: &Wishes) -> Option<String> {
    None
}

#[cfg(target_os = "linux")]
fn may_not_attach(wishes: &Wishes) -> Option<String> {
    use crate::record::request::Target;
    let scope = crate::record::system::Permissions::read().ptrace_scope.filter(|scope| *scope >= 1)?;
    let attaches = matches!(wishes.request.target, Target::Processes(_));
    let root = crate::record::sys::limits::effective_user() == 0;
    (attaches && !root).then(|| {
        format!("its memory may not be read (kernel.yama.ptrace_scope is {scope}; `sudo fg-record` may)")
    })
}

//! Programs of a cargo workspace: which one is meant, built, and started as cargo would start it.
//!
//! ```text
//! Wanted ──► Workspace::choose ──► build ──► Built::invocation
//! options    cargo metadata        cargo     program, folder, environment
//! ```
//! Cargo itself is asked for everything, in the formats it documents for tools: nothing is read
//! from `Cargo.toml`, so that inherited profiles, configuration files and variables such as
//! `CARGO_PROFILE_RELEASE_DEBUG` count as they do for cargo.

mod build;
mod debug_info;
mod environment;
mod messages;
mod workspace;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

pub use build::Built;
pub use debug_info::Advice;
use workspace::Workspace;

/// The program to build, and the way to build it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The program.
    pub what: What,
    /// The name of the package.
    pub package: Option<String>,
    /// The profile, if not the usual one.
    pub profile: Option<String>,
    /// The features.
    pub features: Vec<String>,
    /// Builds with all features.
    pub all_features: bool,
    /// Builds without the default features.
    pub no_default_features: bool,
    /// The target machine, by cargo's name for it.
    pub target: Option<String>,
    /// The path of the manifest, if it is not here or above.
    pub manifest_path: Option<PathBuf>,
    /// Cargo prints only errors.
    pub quiet: bool,
}

/// The program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum What {
    /// The one that `cargo run` would run.
    #[default]
    Default,
    /// A binary.
    Bin(String),
    /// An example.
    Example(String),
    /// An integration test.
    Test(String),
    /// A benchmark.
    Bench(String),
    /// The tests inside a library or binary; of the library if there is one, without a name.
    UnitTest(Option<String>),
    /// The benchmarks inside a library or binary, likewise.
    UnitBench(Option<String>),
}

impl What {
    /// Returns true if `cargo bench` runs it.
    fn is_bench(&self) -> bool {
        matches!(self, What::Bench(_) | What::UnitBench(_))
    }
}

impl Wanted {
    /// The profile's name: `bench` as `cargo bench`, else `release`, since what is slow without
    /// optimisation tells little.
    pub fn profile(&self) -> &str {
        let usual = if self.what.is_bench() { "bench" } else { "release" };
        self.profile.as_deref().unwrap_or(usual)
    }

    /// Chooses, builds, and says how to start it.
    ///
    /// # Errors
    /// The one line that says why not, and what to do.
    pub fn build(&self) -> Result<Built, Trouble> {
        let workspace = Workspace::read(self)?;
        let choice = workspace.choose(self)?;
        build::build(self, choice, workspace)
    }
}

/// The reason why there is nothing to record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// Cargo could not be started.
    #[error("cannot start {program}: {said}")]
    NotStarted {
        /// The program.
        program: String,
        /// The message of the system.
        said: String,
    },
    /// Cargo said why it does not know this workspace.
    #[error("cargo: {0}")]
    Refused(String),
    /// Cargo has said why, above.
    #[error("nothing was recorded, since {0} failed")]
    Failed(String),
    /// Cargo's answer is not as its documentation says.
    #[error("cargo's answer is not understood: {0} is missing in it; is it older than 1.77?")]
    NotUnderstood(&'static str),
    /// No member of the workspace has this name.
    #[error("there is no package {name} in this workspace; there are {known}")]
    NoPackage {
        /// The name that was asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// No package has such a program.
    #[error("there is no {kind} {name}; {known}")]
    NoSuchProgram {
        /// Its kind.
        kind: &'static str,
        /// The name that was asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// More than one package has it.
    #[error("several packages have a {kind} {name}; choose one with --package: {packages}")]
    SeveralPackages {
        /// Its kind.
        kind: &'static str,
        /// The name that was asked for.
        name: String,
        /// The packages.
        packages: String,
    },
    /// Several programs fit, and no option chooses one.
    #[error("several could be meant, choose one with {option}: {names}")]
    Several {
        /// The option that chooses.
        option: &'static str,
        /// The names.
        names: String,
    },
    /// There is only a library.
    #[error("there is no binary to run; choose another program with {0}")]
    NothingToRun(String),
    /// It is not a program for this purpose.
    #[error("cargo built no program for {0}; are its tests switched off in Cargo.toml?")]
    NoProgram(String),
}

/// Cargo, or the program that `CARGO` names.
fn cargo() -> Command {
    let mut command = Command::new(program());
    command.stdin(Stdio::null());
    command
}

fn program() -> OsString {
    std::env::var_os("CARGO").filter(|program| !program.is_empty()).unwrap_or_else(|| "cargo".into())
}

fn not_started(error: &std::io::Error) -> Trouble {
    let said = match error.kind() {
        std::io::ErrorKind::NotFound => {
            "there is no such program; https://rustup.rs installs it, CARGO names another".to_owned()
        }
        _ => super::program::message(error),
    };
    Trouble::NotStarted { program: program().to_string_lossy().into_owned(), said }
}

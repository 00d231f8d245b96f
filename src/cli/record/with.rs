//! `fg-record --with`: the choice of another profiler.

use std::ffi::OsString;

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::record::backend;

/// The choice of the profiler.
#[derive(Args, Debug)]
pub struct WithArgs {
    /// Record with the built-in sampler, or with another profiler that is installed; auto takes
    /// py-spy or austin for CPython if there is one, otherwise builtin
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = PossibleValuesParser::new(backend::choose::names()))]
    pub with: String,

    /// Print the command that would record, ready to be run here, and exit
    #[arg(long)]
    pub print_command: bool,

    /// Pass more arguments to the program named by --with; quoted as for a shell, repeatable
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    pub backend_args: Vec<String>,
}

impl WithArgs {
    /// Splits all `--backend-args` into words.
    pub(super) fn arguments(&self) -> anyhow::Result<Vec<OsString>> {
        let mut words = Vec::new();
        for text in &self.backend_args {
            match shlex::split(text) {
                Some(more) => words.extend(more.into_iter().map(OsString::from)),
                None => anyhow::bail!("--backend-args: {text:?} has a quote that is not closed"),
            }
        }
        Ok(words)
    }
}

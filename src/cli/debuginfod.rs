//! `--debuginfod`, for every program that names addresses.

use clap::Args;

use crate::symbolize::Debuginfod;

/// The option.
#[derive(Args, Clone, Debug, Default)]
pub struct DebuginfodArgs {
    /// Ask servers of debuginfod for programs and debug information that are not on this machine, by their build
    /// ids: the servers of URLS, separated by blanks, or of $DEBUGINFOD_URLS. Needs debuginfod-find, which keeps them
    /// in its cache
    #[arg(
        long, value_name = "URLS", num_args = 0..=1, require_equals = true, default_missing_value = "",
        value_parser = servers
    )]
    pub debuginfod: Option<Debuginfod>,
}

fn servers(text: &str) -> Result<Debuginfod, String> {
    match text.trim() {
        "" => Debuginfod::of_environment().ok_or_else(|| {
            "no server is named: --debuginfod=https://debuginfod.elfutils.org, or set DEBUGINFOD_URLS"
                .to_owned()
        }),
        servers => Ok(Debuginfod::new(servers)),
    }
}

//! The options of several runs, the names of their files, and their standard input.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;

use super::against::AgainstArgs;
use crate::render::FORMATS;

/// Several runs, alone or in turns with those of another program.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Runs")]
pub struct RunsArgs {
    /// Record N runs of COMMAND, a file each: -o app.folded writes app-1.folded, app-2.folded and
    /// so on, as `fg-diff --before app-*.folded` takes them. With --against N runs a side [default:
    /// 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: Option<u32>,

    /// The comparison with another program.
    #[command(flatten)]
    pub against: AgainstArgs,
}

/// The name of the file of a run: `app-2.folded`, `app-2.pb.gz`, `app-2`.
pub(super) fn numbered(path: &Path, run: u32) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let endings = FORMATS.iter().flat_map(|format| format.endings).map(|ending| format!(".{ending}"));
    let longest = endings.filter(|ending| name.to_ascii_lowercase().ends_with(ending)).map(|e| e.len()).max();
    let ending = longest.or_else(|| path.extension().map(|ending| ending.len() + 1)).unwrap_or(0);
    let (stem, ending) = name.split_at(name.len() - ending);
    path.with_file_name(OsString::from(format!("{stem}-{run}{ending}")))
}

/// Lets a program read its standard input from the beginning, if that is a file: the run before has
/// read it.
pub(super) fn rewind_input() {
    use std::io::Seek;
    use std::os::fd::AsFd;
    if let Ok(copy) = std::io::stdin().as_fd().try_clone_to_owned() {
        let mut file = std::fs::File::from(copy);
        // A terminal or a pipe has no beginning.
        let _ = file.metadata().is_ok_and(|kind| kind.is_file()).then(|| file.rewind());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_numbered_before_the_ending() {
        for (path, expected) in [
            ("app.folded", "app-2.folded"),
            ("/tmp/a.b/app.pb.gz", "/tmp/a.b/app-2.pb.gz"),
            ("app", "app-2"),
            ("my.app.svg", "my.app-2.svg"),
            ("perf.data", "perf-2.data"),
        ] {
            assert_eq!(numbered(Path::new(path), 2), Path::new(expected));
        }
    }
}

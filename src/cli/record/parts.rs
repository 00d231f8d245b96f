//! The options of results before a recording ends.

use std::time::Duration;

use clap::{ArgGroup, Args};

use super::values::seconds;
use crate::record::request::Triggers;
use crate::record::trigger::Trigger;

/// Results before the end of the recording.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Results")]
#[command(group = ArgGroup::new("parts").args(["every", "last"]))]
#[cfg_attr(feature = "parquet", command(group = ArgGroup::new("places").args(["output", "store"])))]
#[cfg_attr(not(feature = "parquet"), command(group = ArgGroup::new("places").args(["output"])))]
pub struct PartArgs {
    /// Write a file for every part of this length: --every 60s -o 'dir/%Y%m%dT%H%M%S.folded'; the
    /// letters are those of date(1). SIGUSR2 ends a part early
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "places", conflicts_with_all = ["raw", "svg", "html", "open", "last", "runs", "against", "root"])]
    pub every: Option<Duration>,

    /// Add the recordings to a fleet's store of Parquet in DIR: the parts of --every. One that cannot be
    /// added waits in DIR/_parts
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "DIR", requires = "every", conflicts_with_all = ["output", "last"])]
    pub store: Option<std::path::PathBuf>,

    /// Watch the profile grow here in the terminal: the hottest functions and a flame graph. Keys:
    /// s sorts, / searches, space holds the picture, q ends the recording, ? shows the others. COMMAND reads
    /// nothing, and its output goes to fg-record-PID.out
    #[cfg(feature = "tui")]
    #[arg(long, conflicts_with_all = ["raw", "bundle", "every", "last", "runs", "against", "root", "tui", "open", "control"])]
    pub live: bool,

    /// Keep the files of the last N parts of --every, or those that wait for --store, or of the last N times
    /// that --last is written, and remove older ones
    #[arg(long, value_name = "N", requires = "parts", default_value = "1000", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep_files: u32,

    /// Keep the last TIME in memory, a tenth more at most: it is written to -o on SIGUSR2, and at the
    /// end. The name may hold the letters of date(1)
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "output", conflicts_with_all = ["raw", "svg", "html", "open", "runs", "against", "root"])]
    pub last: Option<Duration>,

    /// Write --last as well when CONDITION is met: cpu>80% (of one processor, over a second), cpu<5%, rss>2G (memory
    /// of the target and its children, or of the machine with -a) or load>4. It is written again when it is still
    /// met after TIME of --last; repeatable
    #[arg(long, value_name = "CONDITION", requires = "last")]
    pub when: Vec<Trigger>,
}

/// The number of parts that `--last` keeps.
const KEPT_PARTS: u32 = 10;
/// The time between two pictures of `--live`.
#[cfg(feature = "tui")]
const PICTURE: Duration = Duration::from_secs(1);
/// The shortest part: each is named anew.
const SHORTEST: Duration = Duration::from_millis(100);

fn duration(text: &str) -> Result<Duration, String> {
    let parsed = seconds(text).ok().or_else(|| humantime::parse_duration(text).ok());
    parsed
        .filter(|time| *time >= SHORTEST)
        .ok_or_else(|| "expected a time of 0.1s at least: 30s, 5m, 1h".to_owned())
}

impl PartArgs {
    /// Returns true if the outputs are written before the end, with their time in their names.
    pub(super) fn are_dated(&self) -> bool {
        self.every.or(self.last).is_some()
    }

    /// The conditions on which the last of the recording is written: what is written once is not written again.
    pub(super) fn triggers(&self) -> Option<Triggers> {
        let pause = self.last.filter(|_| !self.when.is_empty())?;
        Some(Triggers { any: self.when.clone(), pause })
    }

    /// The length of the parts, if any are wanted.
    pub(super) fn length(&self) -> Option<Duration> {
        #[cfg(feature = "tui")]
        if self.live {
            return Some(PICTURE);
        }
        self.every.or_else(|| Some((self.last? / KEPT_PARTS).max(SHORTEST)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_not_too_short() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        assert!(duration("0.01").is_err() && duration("x").is_err());
    }
}

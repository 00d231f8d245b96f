//! `--label` and `--weight-by`: labels of a recording as root frames, or as weights. Shared by the tools
//! that write stacks of a whole recording.

use clap::Args;

use crate::error::Result;
use crate::profile::{Label, Profile};

/// The options.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Time and labels")]
pub struct LabelArgs {
    /// Write this label as a root frame: `time=20ms`, `thread`, `tid`, `process`, or one that
    /// fg-collapse --list-labels names; repeatable, or with commas
    ///
    /// The first frames of each stack are then `time=000012.340s;endpoint=/api`, in the order of
    /// the options, and the header declares them. A bucket of time is 20 ms long unless another
    /// length is given. What lasted longer is divided among the buckets; the parts add up exactly.
    #[arg(long, value_name = "KEY", value_parser = label, value_delimiter = ',')]
    pub label: Vec<Label>,

    /// Take the numbers of this label as weights: `bytes_req` of perf's kmem:kmalloc
    #[arg(long, value_name = "KEY", conflicts_with = "count_samples")]
    pub weight_by: Option<String>,
}

fn label(text: &str) -> std::result::Result<Label, String> {
    Label::parse(text).map_err(|error| error.to_string())
}

impl LabelArgs {
    /// Returns true if one was given: then single samples have to be read.
    pub fn are_given(&self) -> bool {
        !self.label.is_empty() || self.weight_by.is_some()
    }

    /// The profile with the weights that `--weight-by` names, and a message if samples were left out.
    ///
    /// # Errors
    /// Those of [`Profile::weighed_by`].
    pub fn weigh(&self, profile: Profile) -> Result<(Profile, Option<String>)> {
        let Some(key) = &self.weight_by else { return Ok((profile, None)) };
        profile.weighed_by_with_note(key)
    }
}

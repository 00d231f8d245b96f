//! The options of `fg-record --against`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::diff::{GateArgs, TestArgs};
use crate::cli::hidden::Hidden;
use crate::diff::{ReportFormat, ReportOptions};
use crate::record::request::Invocation;

/// The comparison with another program.
#[derive(Args, Debug, Default)]
pub struct AgainstArgs {
    /// Record the program CMD as well, in turns with COMMAND, and compare them: CMD is before, COMMAND
    /// after. Without arguments of its own it gets those of COMMAND. Writes a table of the changes; -o
    /// diff.svg draws them. Exit status: 0, 1 when a gate tripped, 2 on trouble
    #[arg(long, value_name = "CMD")]
    pub against: Option<String>,

    /// Keep the recordings of --against in the folder DIR: before-1.folded, after-1.folded and so on
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,

    /// Write the comparison to FILE: for a pull request, as fg-diff --markdown does, and so to standard output for -;
    /// for programs, as fg-diff --format json does, if FILE ends in .json. Repeatable
    #[arg(long, value_name = "FILE")]
    pub report: Vec<PathBuf>,

    /// The old name of --report FILE.md
    #[arg(long, hide = true, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// The old name of --report FILE.json
    #[arg(long, hide = true, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Let the Markdown point to a picture: a link, or the name of an attachment
    #[arg(long, hide = true, value_name = "URL")]
    pub picture: Option<String>,

    /// Compare names without parts that differ between builds, as fg-diff --strip does: hash, line
    #[arg(long, value_name = "PART,...")]
    pub strip: Option<String>,

    /// The limits of a significant change.
    #[command(flatten)]
    pub test: Hidden<TestArgs>,

    /// Conditions on changes.
    #[command(flatten)]
    pub gate: GateArgs,
}

impl AgainstArgs {
    /// Refuses options that say how to compare where nothing is compared.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let GateArgs { gate, gate_file, any, require_power } = &self.gate;
        let TestArgs { alpha, min_effect, min_samples, period } = &*self.test;
        let given = [
            ("--keep", self.keep.is_some()),
            ("--report", !self.report.is_empty()),
            ("--markdown", self.markdown.is_some()),
            ("--json", self.json.is_some()),
            ("--strip", self.strip.is_some()),
            ("--gate", !gate.is_empty()),
            ("--gate-file", !gate_file.is_empty()),
            ("--any", *any),
            ("--require-power", *require_power),
            ("--alpha", alpha.is_some()),
            ("--min-effect", min_effect.is_some()),
            ("--min-samples", min_samples.is_some()),
            ("--period", period.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given && self.against.is_none()) {
            Some((option, _)) => anyhow::bail!("{option} needs --against CMD, the program to compare with"),
            None => Ok(()),
        }
    }

    /// The files of reports, and their formats.
    pub(super) fn reports(&self) -> impl Iterator<Item = (&Path, ReportFormat)> {
        let by_ending = |path: &Path| match path.extension().is_some_and(|ending| ending == "json") {
            true => ReportFormat::Json,
            false => ReportFormat::Markdown,
        };
        let named = self.report.iter().map(move |path| (&**path, by_ending(path)));
        let markdown = self.markdown.iter().map(|path| (&**path, ReportFormat::Markdown));
        named.chain(markdown).chain(self.json.iter().map(|path| (&**path, ReportFormat::Json)))
    }

    /// The options of the report.
    pub(super) fn options(&self) -> ReportOptions {
        let mut options = self.test.apply(ReportOptions::default());
        options.strip = self.strip.clone();
        options.any_change = self.gate.any;
        options.require_power = self.gate.require_power;
        options.paired = true;
        options
    }

    /// The program before.
    pub(super) fn invocation(&self, after: &Invocation) -> anyhow::Result<Invocation> {
        let text = self.against.as_deref().unwrap_or_default();
        let words = shlex::split(text);
        let Some((program, arguments)) = words.as_deref().and_then(<[String]>::split_first) else {
            anyhow::bail!("--against: {text:?} is no command, or has a quote that is not closed");
        };
        let arguments = match arguments {
            [] => after.arguments.clone(),
            given => given.iter().map(OsString::from).collect(),
        };
        Ok(Invocation { program: program.into(), arguments, ..after.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_arguments_gets_those_of_the_other() {
        let after =
            Invocation { program: "./app".into(), arguments: vec!["3".into()], ..Invocation::default() };
        let words = |text: &str| {
            let args = AgainstArgs { against: Some(text.into()), ..AgainstArgs::default() };
            args.invocation(&after)
                .map(|it| it.words().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>())
        };
        assert_eq!(words("./old").unwrap(), ["./old", "3"]);
        assert_eq!(words("'./the old' 4 '5 6'").unwrap(), ["./the old", "4", "5 6"]);
        assert!(words("").is_err() && words("'./old").is_err());
    }
}

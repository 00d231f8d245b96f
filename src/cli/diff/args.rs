//! What fg-diff can be asked for, in the groups that `--help` shows.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use crate::diff::form::{FORMS, Form};
use crate::diff::{GROUPS, Gate, Group, Normalize};
use crate::weight::Weight;

/// What to write; by default `stack before after`.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Reports")]
pub struct FormArgs {
    /// A table for people
    #[arg(long, group = "form")]
    pub table: bool,
    /// A report for a pull request
    #[arg(long, group = "form")]
    pub markdown: bool,
    /// All rows and numbers, for programs
    #[arg(long, group = "form")]
    pub json: bool,
    /// All rows, cells separated by tabs
    #[arg(long, group = "form")]
    pub tsv: bool,
    /// A row for each of these (default: function)
    #[arg(long, value_name = "WHAT", value_parser = groups(), requires = "form")]
    pub by: Option<String>,
    /// The most rows; 0 is all (default: 30 in tables, 10 each way in Markdown)
    #[arg(long, value_name = "N", requires = "form")]
    pub limit: Option<usize>,
    /// Order of rows: change in self or total weight, or name (default: self)
    #[arg(long, value_name = "KEY", requires = "form")]
    pub sort: Option<SortKey>,
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
#[allow(missing_docs)]
pub enum SortKey {
    #[value(name = "self")]
    Own,
    Total,
    Name,
}

/// How the sides are made comparable.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Scale")]
pub struct ScaleArgs {
    /// Scale before to the total of after
    #[arg(short, long, group = "scaling")]
    pub normalize: bool,
    /// Scale to the total of before, of after, or to a number
    #[arg(long, value_name = "before|after|N", group = "scaling", value_parser = normalize_to)]
    pub normalize_to: Option<Normalize>,
    /// Scale so that frames matching R, not the totals, weigh the same: what did not
    /// change. Implies -n
    #[arg(long, value_name = "R")]
    pub normalize_by: Option<String>,
    /// Compare weights as they are, however unlike the totals: no word about it
    #[arg(long, conflicts_with_all = ["scaling", "normalize_by"])]
    pub absolute: bool,
}

/// Which names are the same.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Names")]
pub struct NameArgs {
    /// Take all addresses as one: 0x7f12 becomes 0x..., as --strip hex does
    #[arg(short, long)]
    pub strip_hex: bool,
    /// Take from names what differs between builds, as fg-filter does: hash, hex,
    /// offset, line, args, templates, annotations
    #[arg(long, value_name = "PART,...")]
    pub strip: Option<String>,
    /// Find functions with a new name: their callers and callees agree
    #[arg(long)]
    pub fuzzy: bool,
}

/// What counts as a change.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Significance")]
pub struct TestArgs {
    /// How often noise may be taken for a change (default: 0.01)
    #[arg(long, value_name = "P", value_parser = probability)]
    pub alpha: Option<f64>,
    /// The least change, in percentage points of the profile (default: 0.5)
    #[arg(long, value_name = "PP", value_parser = not_negative)]
    pub min_effect: Option<f64>,
    /// The least number of samples of a function (default: 5)
    #[arg(long, value_name = "N", value_parser = not_negative)]
    pub min_samples: Option<f64>,
    /// What a sample weighs (default: the header's `# period: N`, or what all
    /// weights are multiples of)
    #[arg(long, value_name = "N", value_parser = positive)]
    pub period: Option<Weight>,
}

/// What a build must not do.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Gates")]
pub struct GateArgs {
    /// Exit with 1 on such a change: total>5%, self>2pp, /regex/>1000, self/regex/<-5%,
    /// profile>3%; several with blanks between
    #[arg(long, value_name = "EXPR", value_parser = gates)]
    pub gate: Vec<Gates>,
    /// Read gates from FILE; # begins a comment
    #[arg(long, value_name = "FILE")]
    pub gate_file: Vec<PathBuf>,
    /// Trip on changes that may be noise too
    #[arg(long)]
    pub any: bool,
}

/// The gates of one argument.
#[derive(Clone, Debug)]
pub struct Gates(pub(super) Vec<Gate>);

fn gates(text: &str) -> Result<Gates, String> {
    Gate::parse_all(text).map(Gates).map_err(|error| error.to_string())
}

fn groups() -> PossibleValuesParser {
    PossibleValuesParser::new(GROUPS.iter().map(|(name, _)| *name))
}

fn normalize_to(text: &str) -> Result<Normalize, String> {
    match text {
        "before" => Ok(Normalize::AfterToBefore),
        "after" => Ok(Normalize::BeforeToAfter),
        _ => positive(text)
            .map(Normalize::Both)
            .map_err(|_| "expected before, after or a number above 0".to_owned()),
    }
}

fn positive(text: &str) -> Result<Weight, String> {
    let weight = Weight::parse(text.as_bytes()).filter(|weight| *weight > Weight::ZERO);
    weight.ok_or_else(|| "expected a number above 0, such as 1001001".to_owned())
}

fn probability(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|p| *p > 0.0 && *p < 1.0);
    number.ok_or_else(|| "expected a number between 0 and 1, such as 0.01".to_owned())
}

fn not_negative(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0);
    number.ok_or_else(|| "expected a number such as 0.5".to_owned())
}

impl FormArgs {
    pub(super) fn form(&self) -> Option<&'static Form> {
        let asked =
            [("table", self.table), ("markdown", self.markdown), ("json", self.json), ("tsv", self.tsv)];
        let (name, _) = asked.iter().find(|(_, asked)| *asked)?;
        FORMS.iter().find(|form| form.name == *name)
    }

    pub(super) fn group(&self) -> Group {
        let by = self.by.as_deref();
        GROUPS.iter().find(|(name, _)| Some(*name) == by).map_or(Group::default(), |(_, group)| *group)
    }
}

impl NameArgs {
    /// The parts to take from names.
    pub(super) fn strip(&self) -> Option<String> {
        let hex = self.strip_hex.then(|| "hex".to_owned());
        let parts: Vec<String> = self.strip.clone().into_iter().chain(hex).collect();
        (!parts.is_empty()).then(|| parts.join(","))
    }
}

impl ScaleArgs {
    pub(super) fn normalize(&self) -> Normalize {
        match self.normalize_to {
            Some(to) => to,
            None if self.normalize || self.normalize_by.is_some() => Normalize::BeforeToAfter,
            None => Normalize::No,
        }
    }
}

//! The options of fg-diff, in the groups that `--help` shows.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use crate::diff::{GROUPS, Gate, Normalize, ReportFormat, ReportOptions, RowKind, Sort};
use crate::input::Source;
use crate::render::compare::Comparison;
use crate::weight::Weight;

/// The format of a report. Without one, differential folded text is written.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Reports")]
pub struct FormArgs {
    /// Write a table for people
    #[arg(long, group = "form")]
    pub table: bool,
    /// Write a report for a pull request: the verdict, a few rows, the rest folded
    #[arg(long, group = "form")]
    pub markdown: bool,
    /// The format of the one output, whatever its ending: table, markdown, or with all rows and exact numbers
    /// json, for programs, and tsv, cells separated by tabs
    #[arg(long, value_name = "NAME", group = "form", value_parser = report_formats())]
    pub format: Option<ReportFormat>,
    /// The old name of --format json
    #[arg(long, group = "form", hide = true)]
    pub json: bool,
    /// The old name of --format tsv
    #[arg(long, group = "form", hide = true)]
    pub tsv: bool,
    /// Write a row for each function, stack, module or thread (default: function); or for each
    /// value of a label of the recordings: endpoint
    #[arg(long, value_name = "KIND|LABEL", requires = "form")]
    pub by: Option<String>,
    /// Write at most N rows; 0 is all (default: 30 in tables, 5 in Markdown before the
    /// folded block)
    #[arg(long, value_name = "N", requires = "form")]
    pub limit: Option<usize>,
    /// Sort rows: by change in self or total weight, or by name (default: self)
    #[arg(long, value_name = "KEY", requires = "form")]
    pub sort: Option<SortKey>,
    /// Write tables with self and total weight, intervals and the assumptions, as wide
    /// as they are
    #[arg(long, requires = "form")]
    pub wide: bool,
    /// Write each function of interrupts and preemption as a row, not all as one
    #[arg(long, requires = "form")]
    pub interrupts: bool,
    /// Let Markdown point to a picture: a link, or the name of an attachment
    #[arg(long, value_name = "URL", requires = "form")]
    pub picture: Option<String>,
}

/// The order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
#[allow(missing_docs)]
pub enum SortKey {
    #[value(name = "self")]
    Own,
    Total,
    Name,
}

/// The scale of the two sides.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Scale")]
pub struct ScaleArgs {
    /// Scale before to the total of after, after to that of before, or both to a number (default: after)
    #[arg(
        short, long, value_name = "before|after|N", group = "scaling", num_args = 0..=1, require_equals = true,
        default_missing_value = "after", value_parser = normalize_to
    )]
    pub normalize: Option<Normalize>,
    /// The old name of --normalize=N
    #[arg(long, value_name = "before|after|N", group = "scaling", hide = true, value_parser = normalize_to)]
    pub normalize_to: Option<Normalize>,
    /// Scale so that the frames matching R weigh the same, which are known not to have
    /// changed. Implies -n
    #[arg(long, value_name = "R")]
    pub normalize_by: Option<String>,
    /// Compare weights as they are: no warning when the totals differ
    #[arg(long, conflicts_with_all = ["scaling", "normalize_by"])]
    pub absolute: bool,
}

/// Names that are taken for the same.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Names")]
pub struct NameArgs {
    /// Take all addresses as one: 0x7f12 becomes 0x..., as --strip hex does
    #[arg(short, long, hide = true)]
    pub strip_hex: bool,
    /// Remove the parts of names that differ between builds, as fg-filter does: hash,
    /// hex, offset, line, args, templates, annotations
    #[arg(long, value_name = "PART,...")]
    pub strip: Option<String>,
    /// Match functions with a new name by their callers and callees
    #[arg(long)]
    pub fuzzy: bool,
}

/// The limits of a significant change.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Significance")]
pub struct TestArgs {
    /// The accepted probability of taking noise for a change (default: 0.01)
    #[arg(long, value_name = "P", value_parser = probability)]
    pub alpha: Option<f64>,
    /// The least change, in percentage points of the profile (default: 0.5)
    #[arg(long, value_name = "PP", value_parser = not_negative)]
    pub min_effect: Option<f64>,
    /// The least number of samples of a function (default: 5)
    #[arg(long, value_name = "N", value_parser = not_negative)]
    pub min_samples: Option<f64>,
    /// The weight of a sample (default: the period that the recording says, or the
    /// largest number of which all weights are multiples)
    #[arg(long, value_name = "N", value_parser = positive)]
    pub period: Option<Weight>,
}

/// Conditions on changes.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Gates")]
pub struct GateArgs {
    /// Exit with 1 on a significant change: slower>5% (the whole, or any function),
    /// total>5%, self>2pp, /regex/>20ms, self/regex/<-5%, profile>3%, budget>1s; several with
    /// blanks between. @FILE reads them from FILE, where # begins a comment
    #[arg(long, value_name = "EXPR|@FILE", value_parser = gates)]
    pub gate: Vec<Gates>,
    /// The old name of --gate @FILE
    #[arg(long, value_name = "FILE", hide = true)]
    pub gate_file: Vec<PathBuf>,
    /// Trip gates on changes that may be noise too
    #[arg(long)]
    pub any: bool,
    /// Exit with 3 if a gate does not trip and would not have seen a change of its size
    #[arg(long)]
    pub require_power: bool,
}

/// The gates of one argument.
#[derive(Clone, Debug)]
pub enum Gates {
    /// Those that stand in it.
    Given(Vec<Gate>),
    /// Those of a file.
    File(PathBuf),
}

fn gates(text: &str) -> Result<Gates, String> {
    match text.strip_prefix('@') {
        Some(file) => Ok(Gates::File(file.into())),
        None => Gate::parse_all(text).map(Gates::Given).map_err(|error| error.to_string()),
    }
}

/// The gates of a file.
///
/// # Errors
/// Those of reading it, gates with a mistake, and a file without any.
fn gates_of(path: &Path) -> anyhow::Result<Vec<Gate>> {
    let source = Source::new(path);
    let bytes = source.open()?.read_all()?;
    let text = String::from_utf8(bytes).ok();
    let text = text.with_context(|| format!("{}: gates have to be UTF-8", source.name()))?;
    let gates = Gate::parse_file(&text, &source.name())?;
    if gates.is_empty() {
        bail!("{}: there is no gate in it, expected lines such as slower>5%", source.name());
    }
    Ok(gates)
}

fn report_formats() -> impl TypedValueParser<Value = ReportFormat> {
    PossibleValuesParser::new(ReportFormat::ALL.iter().map(|format| format.name())).map(|name| {
        let named = ReportFormat::ALL.iter().find(|format| format.name() == name);
        *named.expect("one of the possible values")
    })
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
    pub(super) fn format(&self) -> Option<ReportFormat> {
        match (self.table, self.markdown, self.json, self.tsv) {
            (true, ..) => Some(ReportFormat::Table),
            (_, true, ..) => Some(ReportFormat::Markdown),
            (_, _, true, _) => Some(ReportFormat::Json),
            (.., true) => Some(ReportFormat::Tsv),
            _ => self.format,
        }
    }

    pub(super) fn sort(&self) -> Sort {
        match self.sort {
            Some(SortKey::Total) => Sort::Total,
            Some(SortKey::Name) => Sort::Name,
            Some(SortKey::Own) | None => Sort::Own,
        }
    }

    /// The label whose values are the rows.
    pub(super) fn label(&self) -> Option<String> {
        self.by.clone().filter(|by| GROUPS.iter().all(|(name, _)| name != by))
    }

    pub(super) fn group(&self) -> RowKind {
        let by = self.by.as_deref();
        GROUPS.iter().find(|(name, _)| Some(*name) == by).map_or(RowKind::default(), |(_, group)| *group)
    }
}

impl TestArgs {
    /// The options with the limits that were given.
    pub(in crate::cli) fn apply(&self, options: ReportOptions) -> ReportOptions {
        ReportOptions {
            alpha: self.alpha.unwrap_or(options.alpha),
            min_effect: self.min_effect.unwrap_or(options.min_effect),
            min_samples: self.min_samples.unwrap_or(options.min_samples),
            period: self.period.or(options.period),
            ..options
        }
    }
}

impl TestArgs {
    /// The limits of a picture: those that were given.
    pub(super) fn comparison(&self) -> Comparison {
        let defaults = Comparison::default();
        Comparison {
            alpha: self.alpha.unwrap_or(defaults.alpha),
            min_effect: self.min_effect.unwrap_or(defaults.min_effect),
            period: self.period.or(defaults.period),
            ..defaults
        }
    }
}

impl GateArgs {
    /// All gates, in their order.
    ///
    /// # Errors
    /// Those of the files, and gates with a mistake.
    pub(in crate::cli) fn gates(&self) -> anyhow::Result<Vec<Gate>> {
        let mut all = Vec::new();
        for gates in &self.gate {
            match gates {
                Gates::Given(gates) => all.extend(gates.iter().cloned()),
                Gates::File(path) => all.extend(gates_of(path)?),
            }
        }
        for path in &self.gate_file {
            all.extend(gates_of(path)?);
        }
        Ok(all)
    }
}

impl NameArgs {
    /// The parts to remove from names.
    pub(super) fn strip(&self) -> Option<String> {
        let hex = self.strip_hex.then(|| "hex".to_owned());
        let parts: Vec<String> = self.strip.clone().into_iter().chain(hex).collect();
        (!parts.is_empty()).then(|| parts.join(","))
    }
}

impl ScaleArgs {
    pub(super) fn normalize(&self) -> Normalize {
        match self.normalize.or(self.normalize_to) {
            Some(to) => to,
            None if self.normalize_by.is_some() => Normalize::BeforeToAfter,
            None => Normalize::No,
        }
    }
}

//! From what a profiler wrote to folded stacks.
//!
//! A format is one file (or folder) with a [`Collapser`] in it, one line in the [`registry`], and
//! fixtures. A collapser pushes frames and weights into a [`Sink`] and knows nothing of who
//! listens. Formats whose text can be cut between samples run on several threads through the one
//! `driver`; the output does not depend on how many.

#[cfg(feature = "collapse")]
mod archive;
pub(crate) mod folded;
pub mod format_info;
#[cfg(feature = "collapse")]
pub(crate) mod formats;
pub(crate) mod kit;
mod known_unsupported;
mod options;
#[cfg(feature = "collapse")]
pub mod recorders;
pub mod registry;
mod report;

use std::borrow::Cow;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Position, Result};
use crate::input::{Input, Kept, Source};
use crate::limits::Meter;
use crate::profile::Facts;
use crate::profile::limited::within;
use crate::profile::scaled::Scaled;
use crate::weight::Weight;

pub use crate::profile::{Context, Sink};
pub use format_info::{ContextInfo, FormatInfo, Tested};
#[cfg(feature = "perf-data")]
pub use formats::perf_data;
pub use kit::clean_symbol;
pub use kit::values::{self, Value, ValueSelection, ValueTotal};
pub use options::{CollapseOptions, Listener, Progress, Reading};
pub use report::Report;

/// The certainty of a collapser that an input is of its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// The input is not of the format.
    No,
    /// The input could be of the format; formats that are sure go first.
    Maybe,
    /// The input is of the format.
    Yes,
    /// The input begins with the magic number of the format: it is of no other, whatever text is inside.
    Magic,
}

impl Certainty {
    /// [`Certainty::Magic`] if the input begins with the magic number, else [`Certainty::No`].
    pub fn of_magic(has_magic: bool) -> Certainty {
        if has_magic { Certainty::Magic } else { Certainty::No }
    }
}

/// A reader of one format.
pub trait Collapser: Sync {
    /// The format's name, the programs that write it, and the values that it measures.
    fn info(&self) -> &'static FormatInfo;

    /// The format's name, as `--input-format` takes it: `perf-script`.
    fn name(&self) -> &'static str {
        self.info().name
    }

    /// The times and labels that its samples may have.
    fn contexts(&self) -> ContextInfo {
        ContextInfo::NONE
    }

    /// Tells if an input that begins with `head` is of this format. `head` is all there is, or
    /// [`crate::input::HEAD`] bytes of it.
    fn detect(&self, head: &[u8]) -> Certainty;

    /// Reads it all, pushes its samples into `sink`, and notes in `report` what it came across.
    ///
    /// # Errors
    /// Errors after which reading on makes no sense, placed in the input.
    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()>;
}

/// The most values that a message names.
const MOST_NAMED: usize = 5;

/// Collapses one input after the other into one sink. The format is told by content, or named.
///
/// # Errors
/// [`ErrorKind::Unrecognised`], and those of the format, placed in the input;
/// [`ErrorKind::Setting`] for inputs whose weights are in different units, and [`ErrorKind::Empty`] without
/// samples.
pub fn collapse(
    sources: &[Source],
    format: Option<&'static dyn Collapser>,
    options: &CollapseOptions,
    sink: &mut dyn Sink,
) -> Result<Report> {
    let report = collapse_any(sources, format, options, sink)?;
    expect_samples(&report, sources)?;
    Ok(report)
}

/// Refuses a report without samples, and says why there are none.
pub(crate) fn expect_samples(report: &Report, sources: &[Source]) -> Result<()> {
    // A value may have a weight without a single sample.
    let holds = |total: &ValueTotal| total.samples > 0 || !total.weight.is_zero();
    let kept = report.values.values().any(|total| total.kept && holds(total));
    if !kept && report.not_understood.count > 0 {
        // Nothing at all was understood: this is not a profile with a few bad lines.
        report.not_understood.refuse()?;
    }
    if !kept {
        let holding = report.values.iter().filter(|(_, total)| total.samples > 0);
        let names: Vec<String> = holding.map(|(value, _)| crate::error::excerpt(&value.name)).collect();
        let what = match &names[..] {
            [] => "no samples in it".to_owned(),
            [one] => format!("no samples of that value; there is {one}: choose with --value"),
            [first @ .., last] if first.len() < MOST_NAMED => {
                format!(
                    "no samples of that value; there are {}, {last}: choose with --value",
                    first.join(", ")
                )
            }
            [..] => format!(
                "no samples of that value; there are {}, and {} more: choose with --value",
                names[..MOST_NAMED].join(", "),
                names.len() - MOST_NAMED
            ),
        };
        return Err(empty(what, sources));
    }
    Ok(())
}

/// Reads what values there are in the inputs, also if all weights are zero.
///
/// # Errors
/// Those of [`collapse`], and [`ErrorKind::Empty`] of inputs without any value.
pub fn survey_values(
    sources: &[Source],
    format: Option<&'static dyn Collapser>,
    options: &CollapseOptions,
) -> Result<Report> {
    let report = collapse_any(sources, format, options, &mut crate::folded::StackTable::default())?;
    if report.values.is_empty() {
        report.not_understood.refuse()?;
        return Err(empty("no samples in it".to_owned(), sources));
    }
    Ok(report)
}

fn empty(what: String, sources: &[Source]) -> Error {
    let position = sources.first().map(|source| Position::file(source.name())).unwrap_or_default();
    Error::new(ErrorKind::Empty { what }, position)
}

/// The bytes of a pipe that are kept until a value is known to have samples.
const MOST_KEPT: usize = 64 << 20;

/// [`collapse`] of inputs that may be without samples.
fn collapse_any(
    sources: &[Source],
    format: Option<&'static dyn Collapser>,
    options: &CollapseOptions,
    sink: &mut dyn Sink,
) -> Result<Report> {
    let meter = Meter::new(options.limits);
    let sources = &metered(sources, meter.as_ref())[..];
    within(sources, sink, |sink| collapse_within(sources, format, options, sink))
}

/// Sources that are read within the limits of one reading.
fn metered<'s>(sources: &'s [Source], meter: Option<&Arc<Meter>>) -> Cow<'s, [Source]> {
    match meter {
        None => Cow::Borrowed(sources),
        Some(_) => sources.iter().map(|source| source.clone().metered(meter.cloned())).collect(),
    }
}

/// [`collapse_any`] within the limits of the sources.
fn collapse_within(
    sources: &[Source],
    format: Option<&'static dyn Collapser>,
    options: &CollapseOptions,
    sink: &mut dyn Sink,
) -> Result<Report> {
    let options = &*one_of(sources.len(), options);
    let mut report = Report::default();
    let mut again = Vec::new();
    collapse_all(sources, format, options, sink, &mut report, Some(&mut again))?;
    // A value without samples has reached no sink: the inputs can be read again for another.
    if options.values == ValueSelection::Default
        && let Some((other, doubt)) = report.other_value()
        && let Some(sources) = again.into_iter().map(Again::source).collect::<Option<Vec<_>>>()
    {
        let options = CollapseOptions { values: ValueSelection::Named(vec![other.name]), ..options.clone() };
        report = Report::default();
        collapse_all(&sources, format, &options, sink, &mut report, None)?;
        report.warn(&doubt);
        report.not_understood.doubt(doubt);
    }
    sink.flush()?;
    #[cfg(feature = "perf-data")]
    options.report_servers(&mut report);
    Ok(report)
}

/// The options of a reading of `inputs` inputs.
fn one_of(inputs: usize, options: &CollapseOptions) -> Cow<'_, CollapseOptions> {
    if inputs < 2 || options.values != ValueSelection::All || options.always_rooted {
        return Cow::Borrowed(options);
    }
    Cow::Owned(CollapseOptions { always_rooted: true, ..options.clone() })
}

/// A source that may be read once more.
struct Again {
    source: Source,
    /// The bytes of a pipe.
    kept: Option<Kept>,
}

impl Again {
    /// The source from its beginning; `None` of a pipe of more bytes than are kept.
    fn source(self) -> Option<Source> {
        let Again { source, kept } = self;
        match kept {
            None => Some(source),
            Some(kept) => {
                let again = Source::reader(source.name(), kept.take_reader()?);
                Some(again.weighted(source.factor()).metered(source.meter().cloned()))
            }
        }
    }
}

/// Collapses one input after the other. `again` gets what can be read once more if no value was chosen.
fn collapse_all(
    sources: &[Source],
    format: Option<&'static dyn Collapser>,
    options: &CollapseOptions,
    sink: &mut dyn Sink,
    report: &mut Report,
    mut again: Option<&mut Vec<Again>>,
) -> Result<()> {
    let mut parts: Vec<Facts> = Vec::new();
    for source in sources {
        let mut source = source.clone();
        if let Some(again) = &mut again
            && options.values == ValueSelection::Default
        {
            let mut kept = None;
            if !source.is_rereadable() {
                let keeping = source.keeping(MOST_KEPT)?;
                (source, kept) = (keeping.0, Some(keeping.1));
            }
            again.push(Again { source: source.clone(), kept });
        }
        let first_value = report.first_value.clone();
        let reading = Reading { options, first_value, is_one_of_several: sources.len() > 1 };
        let of_this = collapse_weighted(&source, format, &reading, sink)?;
        report.take_part(of_this, &mut parts, (source.name(), source.factor()), options)?;
    }
    report.merge_facts(&parts);
    Ok(())
}

/// Collapses one of the inputs of a profile whose parts are added up later. It may be without samples.
#[cfg(feature = "cli")]
pub(crate) fn collapse_for_sum(
    source: &Source,
    format: Option<&'static dyn Collapser>,
    options: &CollapseOptions,
    sink: &mut dyn Sink,
    first_value: Option<Vec<u8>>,
) -> Result<Report> {
    let options = &*one_of(usize::MAX, options);
    let reading = Reading { options, first_value, is_one_of_several: true };
    let meter = Meter::new(options.limits);
    let source = &source.clone().metered(meter);
    let read = |sink: &mut dyn Sink| collapse_weighted(source, format, &reading, sink);
    let part = within(std::slice::from_ref(source), sink, read)?;
    sink.flush()?;
    let (mut report, mut facts) = (Report::default(), Vec::new());
    report.take_part(part, &mut facts, (source.name(), source.factor()), options)?;
    report.merge_facts(&facts);
    Ok(report)
}

/// Collapses one input, its weights times the factor of the source.
fn collapse_weighted(
    source: &Source,
    format: Option<&'static dyn Collapser>,
    reading: &Reading<'_>,
    sink: &mut dyn Sink,
) -> Result<Report> {
    let input = source.open()?;
    let report = match source.factor() {
        factor if factor == Weight::ONE => collapse_input(input, format, reading, sink),
        factor => collapse_input(input, format, reading, &mut Scaled::new(sink, factor)),
    };
    match source.meter().map_or(Ok(()), |meter| meter.expect_within()) {
        // Readers of some formats take a limit for damage, or for an end that comes too early.
        Err(limit) if !matches!(&report, Err(e) if matches!(e.kind(), ErrorKind::Limit(_))) => {
            Err(limit.at(Position::file(source.name())))
        }
        _ => report,
    }
}

/// The format of an input, told by its first bytes: [`registry::detect`].
fn format_of(input: &Input) -> Result<&'static dyn Collapser> {
    registry::detect(input)
}

/// Collapses an open input.
fn collapse_input(
    input: Input,
    format: Option<&'static dyn Collapser>,
    reading: &Reading<'_>,
    sink: &mut dyn Sink,
) -> Result<Report> {
    #[cfg(feature = "collapse")]
    if let Some(format) = format
        && archive::is_archive(input.head())
    {
        let within = Some(format).filter(|format| format.name() != archive::NAME);
        return archive::collapse_members(input, within, reading, sink);
    }
    let name = input.name().clone();
    let (format, hint) = match format {
        Some(format) => (format, ""),
        None => (format_of(&input)?, "; --input-format names another"),
    };
    let mut report = Report::default();
    let collapsed = format.collapse(input, reading, sink, &mut report);
    let read_as = || format!("{}{hint}", format.name());
    collapsed.map_err(|e| e.or_at(|| Position::file(name.clone())).read_as(read_as))?;
    #[cfg(feature = "collapse")]
    if sink.wants().contexts && report.facts.clock.is_none() {
        report.facts.clock = format.contexts().clock.map(str::to_owned);
    }
    if let Tested::ByDescription(description) = format.info().tested {
        report.note(format!(
            "{} is read by its description alone ({description}): no recording was at hand to test it with",
            format.name()
        ));
    }
    report.details.insert(0, format!("{name}: read as {}", format.name()));
    Ok(report)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::folded::StackTable;

    /// Collapses bytes; the report as well.
    pub(crate) fn collapse_bytes(
        format: &dyn Collapser,
        bytes: impl AsRef<[u8]>,
        options: &CollapseOptions,
    ) -> Result<(String, Report)> {
        let input = Input::new("test", Box::new(std::io::Cursor::new(bytes.as_ref().to_vec())))?;
        let (mut table, mut report) = (StackTable::default(), Report::default());
        format.collapse(input, &Reading::alone(options), &mut table, &mut report)?;
        let mut out = Vec::new();
        table.write(&mut out)?;
        Ok((String::from_utf8_lossy(&out).into_owned(), report))
    }

    /// The folded text of bytes that are all understood.
    pub(crate) fn fold(format: &dyn Collapser, bytes: impl AsRef<[u8]>, options: &CollapseOptions) -> String {
        let (folded, report) = collapse_bytes(format, bytes, options).expect("it collapses");
        assert_eq!(report.not_understood.count, 0, "{:?}", report.not_understood);
        folded
    }
}

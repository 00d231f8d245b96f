//! Opens input of any format: folded text to be streamed, everything else as a profile.

mod filtered;
#[cfg(feature = "cli")]
pub(crate) mod folder;
#[cfg(feature = "cli")]
pub(crate) mod merge;
mod other_values;

use std::fmt;
use std::io::Read;
use std::path::Path;

use crate::collapse::{self, CollapseOptions, Collapser, Report, ValueSelection, registry};
use crate::error::{Error, Position, Result};
use crate::folded::{Order, Rewrite, Visitor, WalkSummary, is_comment, walk_on};
use crate::input::{Input, Source, lines};
use crate::limits::{Limits, Meter};
use crate::profile::{Profile, ProfileBuilder, Sink, TIME, Wants, header};

/// CollapseOptions of reading a recording.
///
/// ```
/// use fg_tools::collapse::CollapseOptions;
/// use fg_tools::ReadOptions;
///
/// let mut collapse = CollapseOptions::default();
/// collapse.kernel = true;
/// let options = ReadOptions::default().format("perf-script").collapse(collapse).samples(true);
/// # let _ = options;
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The format's name; `None` is told by content.
    pub format: Option<String>,
    /// The selection of values and threads, and the names of frames.
    pub collapse: CollapseOptions,
    /// Keeps modules, files and lines.
    pub places: bool,
    /// Keeps single samples, with time, thread and labels.
    pub samples: bool,
    /// Keeps the parts that formats of exchange hold besides.
    pub exchange: ExchangeParts,
    /// Leaves folded text with labels of time to be streamed as it stands. Otherwise it becomes a
    /// profile whose stacks do not begin with the time; where samples are kept, they have it.
    pub time_frames: bool,
    /// Keeps the other values of the recording beside the producer's default, for a page to have a menu
    /// of: up to seven, each of which is read by itself. Without effect where values are chosen.
    pub other_values: bool,
    /// Keeps each of several sources by itself, beside all of them together, for a page to have a menu of.
    pub each_source: bool,
    /// The reader of the format.
    collapser: Option<&'static dyn Collapser>,
    /// The limits that were set here.
    limits: Option<Limits>,
}

/// The parts of pprof and OTLP that a reader keeps for writers of those formats: all sample types, labels,
/// mappings, addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExchangeParts {
    /// None.
    #[default]
    Nothing,
    /// Those of the frames that every output shows.
    Shown,
    /// All, with the frames that the recording asks to leave out (`drop_frames`).
    Whole,
}

impl fmt::Debug for ReadOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut options = f.debug_struct("ReadOptions");
        options.field("format", &self.format).field("collapse", &self.collapse);
        options
            .field("places", &self.places)
            .field("samples", &self.samples)
            .field("exchange", &self.exchange);
        options.finish_non_exhaustive()
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            format: None,
            collapse: CollapseOptions::default(),
            places: true,
            samples: false,
            exchange: ExchangeParts::Nothing,
            time_frames: false,
            other_values: false,
            each_source: false,
            collapser: None,
            limits: None,
        }
    }
}

impl ReadOptions {
    /// Reads the input as a format, instead of telling the format by content.
    pub fn format(mut self, name: impl Into<String>) -> Self {
        self.format = Some(name.into());
        self
    }

    /// Reads the input with the reader of a format: one of [`registry::FORMATS`], or your own.
    ///
    /// ```
    /// use fg_tools::collapse::registry;
    /// use fg_tools::{Profile, ReadOptions, Source};
    ///
    /// let options = ReadOptions::default().collapser(registry::by_name("folded")?);
    /// assert!(Profile::read(&[Source::bytes("main 1\n")], &options).is_ok());
    /// # Ok::<(), fg_tools::Error>(())
    /// ```
    pub fn collapser(mut self, collapser: &'static dyn Collapser) -> Self {
        self.format = Some(collapser.name().to_owned());
        self.collapser = Some(collapser);
        self
    }

    /// The reader of the format that was chosen.
    pub(crate) fn chosen(&self) -> Result<Option<&'static dyn Collapser>> {
        match (self.format.as_deref(), self.collapser) {
            (Some(name), Some(collapser)) if collapser.name() == name => Ok(Some(collapser)),
            (name, _) => name.map(registry::by_name).transpose(),
        }
    }

    /// The selection of values and threads, and the names of frames.
    pub fn collapse(mut self, options: CollapseOptions) -> Self {
        self.collapse = options;
        self.collapse.limits = self.limits.unwrap_or(self.collapse.limits);
        self
    }

    /// The limits of the reading: see [`limits`](crate::limits). The default fits a machine with 4 GB of memory.
    ///
    /// ```
    /// use fg_tools::{Limits, ReadOptions};
    ///
    /// let options = ReadOptions::default().limits(Limits::upload());
    /// # assert_eq!(options.collapse.limits, Limits::upload());
    /// ```
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self.collapse.limits = limits;
        self
    }

    /// Keeps modules, files and lines.
    pub fn places(mut self, places: bool) -> Self {
        self.places = places;
        self
    }

    /// Keeps single samples, with time, thread and labels.
    pub fn samples(mut self, samples: bool) -> Self {
        self.samples = samples;
        self
    }

    /// Keeps the parts that formats of exchange hold besides, and places.
    pub fn exchange(mut self, parts: ExchangeParts) -> Self {
        self.exchange = parts;
        self.places |= parts != ExchangeParts::Nothing;
        self
    }

    /// Leaves folded text with labels of time to be streamed as it stands.
    pub fn time_frames(mut self, time_frames: bool) -> Self {
        self.time_frames = time_frames;
        self
    }

    /// Keeps the other values of the recording, for a page to have a menu of.
    ///
    /// ```
    /// use fg_tools::ReadOptions;
    ///
    /// // A Go profile of the heap has four values; `html` of its profile shows each.
    /// let options = ReadOptions::default().other_values(true);
    /// # assert!(options.other_values);
    /// ```
    pub fn other_values(mut self, other_values: bool) -> Self {
        self.other_values = other_values;
        self
    }

    /// Keeps each of several sources by itself, beside all of them together, for a page to have a menu of.
    /// The other values of recordings are left out then.
    ///
    /// ```
    /// use fg_tools::ReadOptions;
    ///
    /// // Five runs of one program; `html` of their profile shows all together, or one of them.
    /// let options = ReadOptions::default().each_source(true);
    /// # assert!(options.each_source);
    /// ```
    pub fn each_source(mut self, each_source: bool) -> Self {
        self.each_source = each_source;
        self
    }

    fn wants(&self) -> Wants {
        Wants { places: self.places, contexts: self.samples }
    }
}

impl Profile {
    /// Reads a file of any format that is known here; `-` is standard input.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unrecognised`], and those of the format, placed in the file.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Profile> {
        Profile::read(&[Source::new(path)], &ReadOptions::default())
    }

    /// Reads bytes of any format that is known here, plain or compressed.
    ///
    /// # Errors
    /// Those of [`Profile::from_path`].
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Profile> {
        Profile::read(&[Source::bytes(bytes)], &ReadOptions::default())
    }

    /// Reads what a reader has to give, in any format that is known here.
    ///
    /// # Errors
    /// Those of [`Profile::from_path`].
    pub fn from_reader(reader: impl Read) -> Result<Profile> {
        Source::scoped("input", reader, |source| Profile::read(&[source], &ReadOptions::default()))?
    }

    /// Reads lines of folded text.
    ///
    /// # Errors
    /// Those of [`Profile::from_path`].
    ///
    /// ```
    /// let profile = fg_tools::Profile::from_lines(["main;parse 40", "main 2"])?;
    /// assert_eq!(profile.stack_count(), 2);
    /// # Ok::<(), fg_tools::Error>(())
    /// ```
    pub fn from_lines<L: AsRef<[u8]>>(lines: impl IntoIterator<Item = L>) -> Result<Profile> {
        let mut text = Vec::new();
        for line in lines {
            text.extend_from_slice(line.as_ref());
            text.push(b'\n');
        }
        let options = ReadOptions::default().format("folded");
        Profile::read(&[Source::bytes(text)], &options)
    }

    /// Reads several sources as one profile.
    ///
    /// # Errors
    /// Those of [`Profile::from_path`]; [`crate::ErrorKind::Setting`] for units that do not add up.
    pub fn read(sources: &[Source], options: &ReadOptions) -> Result<Profile> {
        Ok(read(sources, options)?.0)
    }
}

/// Input of any format, opened.
pub enum Opened {
    /// Folded text, which can be streamed.
    Folded(Vec<Source>),
    /// Everything else.
    Profile(Box<Profile>, Box<Report>),
}

/// Opens sources that are read as one profile. Folded text is left to be streamed; if any of the
/// sources is something else, all become one profile.
///
/// # Errors
/// Those of [`Profile::read`].
pub fn open(sources: &[Source], options: &ReadOptions) -> Result<Opened> {
    if options.each_source && sources.len() > 1 {
        let (profile, report) = read(sources, options)?;
        return Ok(Opened::Profile(Box::new(profile), Box::new(report)));
    }
    if options.format.as_deref().is_some_and(|format| format != registry::FOLDED) {
        let (profile, report) = read(sources, options)?;
        return Ok(Opened::Profile(Box::new(profile), Box::new(report)));
    }
    let mut looked_at = Vec::with_capacity(sources.len());
    let meter = Meter::new(options.collapse.limits);
    let mut is_folded = true;
    let mut is_timed = false;
    for source in sources {
        let source = source.clone().metered(meter.clone());
        let (source, (folded, timed)) = source.look(|input| {
            let is_folded = options.format.is_some() || is_folded_text(input)?;
            if is_folded && matches!(options.collapse.values, ValueSelection::Named(_)) {
                let facts = header::read(input.head())?;
                let expected = options.collapse.values.expect(facts.only_value().as_bytes());
                expected.map_err(|error| error.or_at(|| Position::file(source.name())))?;
            }
            Ok((is_folded, is_folded && !options.time_frames && has_times(input.head())))
        })?;
        is_folded &= folded;
        is_timed |= timed;
        looked_at.push(source);
    }
    if is_timed && is_folded {
        // Stacks of one bucket follow those of another: without the time they are not in order.
        let (profile, report) = read(&looked_at, &options.clone().samples(true))?;
        return Ok(Opened::Profile(Box::new(profile), Box::new(report)));
    }
    if is_folded {
        return Ok(Opened::Folded(looked_at));
    }
    let (profile, report) = read(&looked_at, options)?;
    Ok(Opened::Profile(Box::new(profile), Box::new(report)))
}

/// The formats whose readers tell a sink with an [`Exchange`](crate::profile::Exchange) of every sample.
#[cfg(feature = "cli")]
const EXCHANGED: &[&str] = &["pprof", "otlp"];

/// Looks at sources, and returns true if all of them are recordings of formats of exchange, read with nothing
/// changed. The sources are to be read as they are given back.
///
/// # Errors
/// An I/O error, and [`crate::ErrorKind::Unrecognised`].
#[cfg(feature = "cli")]
pub(crate) fn are_exchanged(sources: &[Source], options: &ReadOptions) -> Result<(Vec<Source>, bool)> {
    let mut are_all = !options.collapse.count && !sources.is_empty();
    if let Some(format) = &options.format {
        return Ok((sources.to_vec(), are_all && EXCHANGED.contains(&&**format)));
    }
    let meter = Meter::new(options.collapse.limits);
    let mut looked_at = Vec::with_capacity(sources.len());
    for source in sources {
        if !are_all {
            looked_at.push(source.clone());
            continue;
        }
        let source = source.clone().metered(meter.clone());
        let (source, is_one) = source.look(|input| {
            // What is empty has no format.
            Ok(!is_folded_text(input)? && EXCHANGED.contains(&registry::detect(input)?.name()))
        })?;
        are_all = is_one;
        looked_at.push(source);
    }
    Ok((looked_at, are_all))
}

/// Returns true if an input is folded text, or has no line that could be something else.
pub(crate) fn is_folded_text(input: &Input) -> Result<bool> {
    let mut lines = lines(input.head());
    if lines.all(|line| is_comment(line) || line.trim_ascii().is_empty()) {
        return Ok(true);
    }
    Ok(registry::detect(input)?.name() == registry::FOLDED)
}

/// Returns true if folded text declares labels of time.
fn has_times(head: &[u8]) -> bool {
    header::read(head).is_ok_and(|facts| facts.labels.iter().any(|key| key == TIME))
}

/// Refuses folded text with labels, but without that of time, where its order is to be that of time: it is
/// sorted. Gives the source to be read.
fn expect_no_labels(source: &Source) -> Result<Source> {
    let (looked_at, labels) = source.look(|input| Ok(header::read(input.head())?.labels))?;
    if labels.is_empty() {
        return Ok(looked_at);
    }
    let labels = crate::error::some_of(&labels);
    let what = format!("the stacks have labels of {labels}, and none of time: --order time needs times");
    Err(Error::setting(what).or_at(|| Position::file(source.name())))
}

/// Reads sources as one profile, and says what there was to say of them.
///
/// # Errors
/// Those of [`Profile::read`].
pub fn read(sources: &[Source], options: &ReadOptions) -> Result<(Profile, Report)> {
    if options.each_source && sources.len() > 1 {
        let sources = other_values::rereadable(sources)?;
        other_values::check_each(&sources)?;
        let options = ReadOptions { each_source: false, other_values: false, ..options.clone() };
        let (mut profile, mut report) = read(&sources, &options)?;
        profile.set_other_values(Some(other_values::read_each(&sources, &options, &mut report)?));
        return Ok((profile, report));
    }
    if options.other_values && options.collapse.values == ValueSelection::Default {
        let sources = other_values::rereadable(sources)?;
        let options = ReadOptions { other_values: false, ..options.clone() };
        let (mut profile, report) = read(&sources, &options)?;
        profile.set_other_values(other_values::read_others(&sources, &options, &report));
        return Ok((profile, report));
    }
    let format = options.chosen()?;
    let mut builder = ProfileBuilder::new(options.wants());
    if options.exchange != ExchangeParts::Nothing {
        builder = builder.with_exchange(options.exchange == ExchangeParts::Shown);
    }
    let report = collapse::collapse(sources, format, &options.collapse, &mut builder)?;
    // Samples of another format stand in no input's sample types.
    if let Some(exchange) = builder.exchange().filter(|exchange| exchange.parts() < sources.len()) {
        exchange.clear_samples();
    }
    builder.facts = report.facts.clone();
    Ok((builder.finish()?, report))
}

/// Reads one of the sources of a profile whose parts are added up later: it may be without samples.
/// `first_value` is the value that earlier sources have settled on, as [`Report::first_value`] has it.
///
/// # Errors
/// Those of [`Profile::read`].
#[cfg(feature = "cli")]
pub(crate) fn read_for_sum(
    source: &Source,
    options: &ReadOptions,
    first_value: Option<Vec<u8>>,
) -> Result<(Profile, Report)> {
    let format = options.chosen()?;
    let mut builder = ProfileBuilder::new(options.wants());
    let report = collapse::collapse_for_sum(source, format, &options.collapse, &mut builder, first_value)?;
    builder.facts = report.facts.clone();
    Ok((builder.finish()?, report))
}

/// Reads a recording that is made just now: `each` gets the profile of every part of it, and at last of what
/// comes behind them.
///
/// # Errors
/// Those of [`Profile::read`], and of `each`.
#[cfg(all(feature = "cli", feature = "record", target_os = "linux"))]
pub(crate) fn read_parts(
    source: &Source,
    options: &ReadOptions,
    each: &mut dyn FnMut(Profile, Report, Option<collapse::perf_data::Part>) -> Result<()>,
) -> Result<()> {
    collapse::perf_data::collapse_parts(source.open()?, &options.collapse, options.wants(), each)
}

impl Opened {
    /// Walks the call tree.
    ///
    /// # Errors
    /// Those of [`walk`](crate::folded::walk) and [`Profile::walk`].
    pub fn walk(
        &self,
        order: Order,
        rewrite: Option<&Rewrite>,
        visitor: &mut dyn Visitor,
    ) -> Result<WalkSummary> {
        self.walk_on(1, order, rewrite, visitor)
    }

    /// [`Opened::walk`] on up to `threads` threads; 0 means one for each processor.
    ///
    /// # Errors
    /// Those of [`walk`](crate::folded::walk) and [`Profile::walk`].
    pub fn walk_on(
        &self,
        threads: usize,
        order: Order,
        rewrite: Option<&Rewrite>,
        visitor: &mut dyn Visitor,
    ) -> Result<WalkSummary> {
        match self {
            Opened::Folded(sources) if order == Order::Thread => {
                let sources = sources.iter().map(expect_no_labels).collect::<Result<Vec<_>>>()?;
                walk_on(threads, &sources, order, rewrite, visitor)
            }
            Opened::Folded(sources) => walk_on(threads, sources, order, rewrite, visitor),
            Opened::Profile(profile, report) => {
                let summary = profile.walk(order, rewrite, visitor)?;
                Ok(WalkSummary { not_understood: report.not_understood.clone(), ..summary })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(texts: &[&'static str]) -> Vec<Source> {
        texts.iter().map(|text| Source::bytes(*text)).collect()
    }

    #[test]
    fn folded_text_is_streamed_unless_more_than_its_stacks_is_wanted() {
        let streams = |texts: &[&'static str], options: ReadOptions| matches!(open(&folded(texts), &options).unwrap(), Opened::Folded(sources) if sources.len() == texts.len());
        let (plain, each) = (ReadOptions::default(), ReadOptions::default().each_source(true));
        assert!(streams(&["a 1\n"], plain.clone()) && streams(&["a 1\n", "b 1\n"], plain.clone()));
        // A menu of one file is none.
        assert!(streams(&["a 1\n"], each.clone()) && !streams(&["a 1\n", "b 1\n"], each));
        // Labels are frames, and times are buckets.
        let (timed, named) = ("# labels: time\ntime=0;a 1\n", "# labels: thread\nthread=x;a 1\n");
        assert!(!streams(&[timed], plain.clone()) && !streams(&[timed, timed], plain.clone()));
        assert!(!streams(&["a 1\n", timed], plain.clone()) && streams(&[named], plain));
        assert!(streams(&[timed], ReadOptions::default().time_frames(true)));
    }

    #[test]
    fn labels_without_a_time_have_no_order_of_time() {
        #[derive(Default)]
        struct Count(usize);
        impl Visitor for Count {
            fn exit(&mut self, _: crate::folded::Frame<'_>, _: crate::folded::Weights) -> Result<()> {
                self.0 += 1;
                Ok(())
            }
            fn restart(&mut self) -> Result<()> {
                self.0 = 0;
                Ok(())
            }
        }
        let walk = |text: &'static str, order: Order| {
            let mut count = Count::default();
            let opened = open(&folded(&[text]), &ReadOptions::default()).unwrap();
            let walked = opened.walk(order, None, &mut count);
            walked.map(|_| count.0).map_err(|error| error.to_string())
        };
        let named = "# labels: thread\nthread=x;a 1\nthread=y;a 1\n";
        assert_eq!(walk(named, Order::Frame), Ok(4));
        let message = walk(named, Order::Thread).unwrap_err();
        assert!(message.contains("the stacks have labels of thread, and none of time"), "{message}");
        assert_eq!(walk("a 1\nb 1\na 1\n", Order::Thread), Ok(3));
    }
}

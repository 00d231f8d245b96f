//! The interface between a walk of the call tree and the output formats: one [`Writer`] for each
//! output of a run, all fed by one walk.
//!
//! A writer that has to know all frames writes in the end; one that streams writes as it hears,
//! into a [`Target`] that can take back what was written, for input that turns out to be unsorted.

use std::io::Write;

use super::colour::PaletteMap;
use super::exchange::Tables;
#[cfg(feature = "cli")]
use super::exchange::direct::ReadTables;
use super::verdicts::Judging;
use super::{Format, Settings};
use crate::error::Result;
use crate::folded::{Columns, ForkedVisitor, Frame, Known, Order, Rewrite, Visitor, WalkSummary, Weights};
use crate::profile::{Profile, TimeLine};
use crate::reading::Opened;
use crate::weight::Weight;

/// The destination of an output. It is buffered: writers need not collect bytes first.
pub trait Target: Write {
    /// Takes back everything that was written.
    ///
    /// # Errors
    /// An I/O error.
    fn start_over(&mut self) -> Result<()>;
}

impl Target for Vec<u8> {
    fn start_over(&mut self) -> Result<()> {
        self.clear();
        Ok(())
    }
}

/// Writes one output while it visits the call tree.
pub trait Writer: Visitor {
    /// Takes a whole profile, before it is walked; returns true if the walk tells it nothing more.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    fn take(&mut self, profile: &Profile) -> Result<bool> {
        let _ = profile;
        Ok(false)
    }

    /// Takes a recording that was read into tables, instead of a profile and a walk; a format that has no use for
    /// them is never asked.
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn take_tables(&mut self, tables: Tables) {
        let _ = tables;
    }

    /// Returns true if [`Writer::times`] is to be called.
    fn wants_times(&self) -> bool {
        false
    }

    /// The walk that follows is in frame order, and [`Writer::times`] will be called after it.
    fn expect_times(&mut self) {}

    /// Takes the samples one by one, after the walk in frame order, if all of them have times.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`], and an I/O error of the target.
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn times(&mut self, line: &TimeLine<'_>) -> Result<()> {
        let _ = line;
        Ok(())
    }

    /// Writes what is still to be written after the walk. Without stacks the output is as valid as
    /// any, and says so where it is made for people.
    ///
    /// # Errors
    /// An I/O error of the target; [`crate::ErrorKind::Overflow`].
    fn finish(self: Box<Self>, summary: &WalkSummary) -> Result<Finished>;
}

/// The result of an output.
#[derive(Clone, Debug, Default)]
pub struct Finished {
    /// The frames of a drawing.
    pub drawn: Option<Drawn>,
    /// There were stacks, but nothing that was asked for.
    pub nothing_selected: bool,
    /// With [`Settings::keep_colours`], the colours that names have now.
    pub colours: Option<PaletteMap>,
    /// Remarks on the output, for its user.
    pub notes: Vec<String>,
}

/// The number of frames of a drawing.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    /// The number of frames drawn.
    pub frames: usize,
    /// The number of frames that were too narrow.
    pub left_out: u64,
    /// The weight of the whole width.
    pub total: Weight,
}

/// Opens the writer of a format.
pub type Open = for<'a> fn(&'a Settings, &'a mut dyn Target) -> Result<Box<dyn Writer + 'a>>;

/// The stacks to write: those of a profile, or folded text that is read while it is written.
#[derive(Clone, Copy)]
pub enum StackSource<'a> {
    /// A profile in memory.
    Profile(&'a Profile),
    /// StackSource that a program has opened.
    Opened(&'a Opened),
}

impl<'a> StackSource<'a> {
    /// The profile, unless the input is streamed.
    fn profile(self) -> Option<&'a Profile> {
        match self {
            StackSource::Profile(profile) => Some(profile),
            StackSource::Opened(Opened::Profile(profile, _)) => Some(profile),
            StackSource::Opened(Opened::Folded(_)) => None,
        }
    }
}

impl<'a> From<&'a Profile> for StackSource<'a> {
    fn from(profile: &'a Profile) -> Self {
        StackSource::Profile(profile)
    }
}

impl<'a> From<&'a Opened> for StackSource<'a> {
    fn from(opened: &'a Opened) -> Self {
        StackSource::Opened(opened)
    }
}

/// The result of [`write()`].
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The totals of the walk, and the facts as the outputs show them.
    pub summary: WalkSummary,
    /// The result of each output, in their order.
    pub outputs: Vec<Finished>,
}

impl Written {
    /// Returns true if there was nothing to show: no stacks, or only frames that are too narrow.
    pub fn is_empty(&self) -> bool {
        let nothing_drawn = |output: &Finished| output.drawn.is_some_and(|drawn| drawn.frames == 0);
        self.summary.total.is_zero() || self.outputs.iter().any(nothing_drawn)
    }
}

/// Reads the stacks once and writes every output.
///
/// ```
/// use fg_tools::Profile;
/// use fg_tools::render::{Format, Settings, Target, write};
///
/// let profile = Profile::from_bytes("main;parse 40\nmain 2\n")?;
/// let (mut table, mut json) = (Vec::new(), Vec::new());
/// let outputs: Vec<(&Format, &mut dyn Target)> =
///     vec![(Format::by_name("top")?, &mut table), (Format::by_name("json")?, &mut json)];
/// write(&profile, outputs, &Settings::default())?;
/// assert!(table.starts_with(b"total 42, 2 functions"));
/// # Ok::<(), fg_tools::Error>(())
/// ```
///
/// # Errors
/// Those of [`Opened::walk`] and of the writers; with [`Settings::strict`]
/// [`crate::ErrorKind::Malformed`] for a line that is not understood.
pub fn write<'a>(
    input: impl Into<StackSource<'a>>,
    outputs: Vec<(&Format, &mut dyn Target)>,
    settings: &Settings,
) -> Result<Written> {
    let mut writers: Vec<Box<dyn Writer + '_>> = Vec::with_capacity(outputs.len());
    for (format, target) in outputs {
        writers.push((format.open)(settings, target)?);
    }
    let input = input.into();
    if let Some(profile) = input.profile() {
        for writer in &mut writers {
            writer.take(profile)?;
        }
    }
    let line = match writers.iter().any(|writer| writer.wants_times()) {
        true => time_line(input, settings)?,
        false => None,
    };
    if line.is_some() {
        writers.iter_mut().for_each(|writer| writer.expect_times());
    }
    let summary = match &mut writers[..] {
        [writer] => feed(input, settings, &mut **writer)?,
        writers => feed(input, settings, &mut FanOut(writers))?,
    };
    if let Some(line) = line {
        writers
            .iter_mut()
            .filter(|writer| writer.wants_times())
            .try_for_each(|writer| writer.times(&line))?;
    }
    let mut finished = Vec::with_capacity(writers.len());
    for writer in writers {
        finished.push(writer.finish(&summary)?);
    }
    Ok(Written { summary, outputs: finished })
}

/// Writes a recording that was read into tables.
///
/// # Errors
/// Those of the writer; with [`Settings::strict`] [`crate::ErrorKind::Malformed`] for a line that is not understood.
#[cfg(feature = "cli")]
pub(crate) fn write_tables(
    read: ReadTables,
    (format, target): (&Format, &mut dyn Target),
    settings: &Settings,
) -> Result<Written> {
    let ReadTables { tables, summary } = read;
    if settings.strict {
        summary.not_understood.refuse()?;
    }
    let mut writer = (format.open)(settings, target)?;
    writer.take_tables(tables);
    let finished = writer.finish(&summary)?;
    Ok(Written { summary, outputs: vec![finished] })
}

/// The time line of a profile, where there is one and it is wanted.
pub(super) fn time_line<'a>(input: StackSource<'a>, settings: &Settings) -> Result<Option<TimeLine<'a>>> {
    let profile = match input {
        StackSource::Profile(profile) => profile,
        StackSource::Opened(Opened::Profile(profile, _)) => &**profile,
        StackSource::Opened(Opened::Folded(_)) => return Ok(None),
    };
    if !settings.times || settings.order != Order::Frame {
        return Ok(None);
    }
    let changes = settings.rewrite.clone();
    let apply = move |stack: &[u8], out: &mut Vec<u8>| changes.apply(stack, out);
    let rewrite: Option<&Rewrite> = if settings.rewrite.is_needed() { Some(&apply) } else { None };
    TimeLine::new(profile, rewrite)
}

/// Walks the stacks in the order, and with the changes to them, that the settings ask for.
///
/// # Errors
/// Those of [`write()`].
pub fn feed<'a>(
    input: impl Into<StackSource<'a>>,
    settings: &Settings,
    visitor: &mut dyn Visitor,
) -> Result<WalkSummary> {
    let changes = settings.rewrite.clone();
    let apply = move |stack: &[u8], out: &mut Vec<u8>| changes.apply(stack, out);
    let rewrite: Option<&Rewrite> = if settings.rewrite.is_needed() { Some(&apply) } else { None };
    let order = settings.order;
    let input = input.into();
    let is_plain =
        input.profile().is_some_and(|profile| profile.columns() == Columns::One) && !settings.changes_facts();
    let mut judging = Judging::new(settings, visitor);
    let visitor: &mut dyn Visitor = if is_plain { &mut *judging.visitor } else { &mut judging };
    let mut summary = match input {
        StackSource::Profile(profile) => profile.walk(order, rewrite, visitor)?,
        StackSource::Opened(opened) => opened.walk_on(settings.threads, order, rewrite, visitor)?,
    };
    if settings.strict {
        summary.not_understood.refuse()?;
    }
    summary.facts = settings.facts(&summary.facts)?;
    judging.finish(&mut summary)?;
    Ok(summary)
}

/// Tells several writers.
struct FanOut<'f, 's>(&'f mut [Box<dyn Writer + 's>]);

impl Visitor for FanOut<'_, '_> {
    fn follows_stacks(&self) -> bool {
        self.0.iter().any(|writer| writer.follows_stacks())
    }

    fn begin(&mut self, known: &Known<'_>) -> Result<()> {
        self.0.iter_mut().try_for_each(|writer| writer.begin(known))
    }

    fn enter(&mut self, name: &[u8], depth: usize) -> Result<()> {
        self.0.iter_mut().try_for_each(|writer| writer.enter(name, depth))
    }

    fn stack(&mut self, stack: &[u8], weights: Weights) -> Result<()> {
        self.0.iter_mut().try_for_each(|writer| writer.stack(stack, weights))
    }

    fn exit(&mut self, frame: Frame<'_>, so_far: Weights) -> Result<()> {
        self.0.iter_mut().try_for_each(|writer| writer.exit(frame, so_far))
    }

    /// A frame is left out only if no writer needs it.
    fn least(&self, all: Weights) -> Weight {
        self.0.iter().map(|writer| writer.least(all)).min().unwrap_or(Weight::ZERO)
    }

    fn passed_over(&mut self, frames: u64) {
        self.0.iter_mut().for_each(|writer| writer.passed_over(frames));
    }

    fn fork(&self) -> Option<Box<dyn ForkedVisitor>> {
        match &self.0 {
            [writer] => writer.fork(),
            // Few pictures are made of one input at a time.
            _ => None,
        }
    }

    fn join(&mut self, fork: Box<dyn ForkedVisitor>, offset: Weights) -> Result<()> {
        match &mut self.0 {
            [writer] => writer.join(fork, offset),
            _ => unreachable!("several writers do not fork"),
        }
    }

    fn restart(&mut self) -> Result<()> {
        self.0.iter_mut().try_for_each(|writer| writer.restart())
    }
}

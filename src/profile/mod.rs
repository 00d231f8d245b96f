//! The profile in the middle: what every reader fills, and every tool and output works on.
//!
//! ```text
//!  any file, bytes,          ┌──────────── Profile ────────────┐
//!  reader, samples in  ────► │ facts    unit, period, samples, │ ────► filter ──► Profile
//!  memory                    │          command, host, date    │ ────► diff(Profile, Profile)
//!  (every Collapser          │ stacks   interned, weighed      │ ────► svg, html, tables, pprof,
//!   fills a Sink)            │ samples  time, thread, labels   │       speedscope, firefox, folded
//!                            │ places   file, line, module     │
//!                            └─────────────────────────────────┘
//!  folded text in order ───► streams: walked, never a table, constant memory
//! ```
//! A [`Profile`] is made from a file of any format, from bytes, from a reader, from lines of folded
//! text, or [sample by sample](ProfileBuilder). The tools [`open`](crate::reading::open) their input: folded text
//! streams by, everything else becomes a profile.

mod builder;
mod describe;
#[cfg_attr(not(all(feature = "collapse", feature = "render")), allow(dead_code))]
pub(crate) mod exchange;
mod label;
mod label_counts;
mod labelled;
pub(crate) mod limited;
mod measures;
mod other_values;
mod restacked;
mod samples;
pub(crate) mod scaled;
mod sink;
mod time_line;
mod times;
mod weigh_by;

use std::fmt;
use std::io::Write;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::folded::{
    Columns, FrameId, Known, Order, Places, Rewrite, StackTable, Visitor, WalkSummary, Weights, walk_profile,
    walk_table,
};

pub(crate) use crate::facts::fact;
pub use crate::facts::{Facts, Sides, header, units};
pub use crate::folded::{Kind, Place};
pub use builder::ProfileBuilder;
pub use exchange::Exchange;
pub(crate) use exchange::Exchanged;
pub use label::Label;
pub(crate) use label::{clean_key, label_frames, value_in};
pub use label_counts::LabelCount;
pub(crate) use other_values::OtherValues;
pub use samples::{SampleRef, Samples};
pub use sink::{Context, ForkedSink, Sink, Wants};
#[cfg(feature = "render")]
pub(crate) use time_line::ThreadLine;
pub(crate) use time_line::TimeLine;
pub use times::TimeRange;
pub(crate) use times::{TIME, read_time};

/// A profile in memory: facts, stacks with their weights, and, where wanted, single samples.
///
/// ```
/// use fg_tools::Profile;
///
/// let profile = Profile::from_bytes("# unit: ns\nmain;parse 40\nmain 2\n")?;
/// assert_eq!(profile.facts().unit.as_deref(), Some("ns"));
/// assert_eq!(profile.total()?.value.to_string(), "42");
/// let mut folded = Vec::new();
/// profile.write_folded(&mut folded)?;
/// assert_eq!(folded, b"# unit: ns\nmain 2\nmain;parse 40\n");
/// # Ok::<(), fg_tools::Error>(())
/// ```
#[derive(Default)]
pub struct Profile {
    facts: Facts,
    stacks: StackTable,
    samples: Samples,
    places: Arc<Places>,
    exchanged: Option<Exchanged>,
    other_values: Option<Box<OtherValues>>,
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut profile = f.debug_struct("Profile");
        profile.field("facts", &self.facts).field("stacks", &self.stacks.len());
        profile.field("samples", &self.samples.len()).finish_non_exhaustive()
    }
}

impl Profile {
    pub(crate) fn new(facts: Facts, stacks: StackTable, mut samples: Samples) -> Result<Profile> {
        if !samples.is_empty() {
            samples.sort(&stacks.ranks());
        }
        let places = Arc::new(stacks.places()?);
        Ok(Profile { facts, stacks, samples, places, exchanged: None, other_values: None })
    }

    /// A builder, for samples in memory.
    pub fn builder() -> ProfileBuilder {
        ProfileBuilder::default()
    }

    /// The facts of the profile: unit, event, command, date.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The facts of the profile, to be changed.
    pub fn facts_mut(&mut self) -> &mut Facts {
        &mut self.facts
    }

    /// The places of frames, by name: module, file, line.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The single samples, if the reader was asked for them: see [`ReadOptions::samples`](crate::ReadOptions::samples).
    pub fn samples(&self) -> &Samples {
        &self.samples
    }

    /// The table of the stacks.
    pub fn stacks(&self) -> &StackTable {
        &self.stacks
    }

    /// The parts that formats of exchange hold besides, if the reader was asked for them.
    #[cfg(feature = "render")]
    pub(crate) fn exchanged(&self) -> Option<&Exchanged> {
        self.exchanged.as_ref()
    }

    /// The number of stacks.
    pub fn stack_count(&self) -> usize {
        self.stacks.len()
    }

    /// The frames of the stack of a number, root first.
    pub fn stack(&self, number: usize) -> &[FrameId] {
        self.stacks.stack(number)
    }

    /// Returns true if there are no stacks.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// One weight a stack, or two.
    pub fn columns(&self) -> Columns {
        self.stacks.columns()
    }

    /// The sum of all weights.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn total(&self) -> Result<Weights> {
        self.stacks.total()
    }

    /// Writes the header and the stacks as folded text, in frame order.
    ///
    /// # Errors
    /// The writer's.
    pub fn write_folded(&self, out: &mut dyn Write) -> Result<()> {
        out.write_all(header::write(&self.facts).as_bytes()).map_err(Error::from)?;
        self.stacks.write(out)
    }

    /// Walks the call tree. In the order of time the stacks are those of the single samples.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`], the visitor's; [`crate::ErrorKind::Setting`] for another order than
    /// [`Order::Frame`] where the recording has no times.
    pub fn walk(
        &self,
        order: Order,
        rewrite: Option<&Rewrite>,
        visitor: &mut dyn Visitor,
    ) -> Result<WalkSummary> {
        let known = Known { columns: self.columns(), facts: &self.facts, places: &self.places };
        let summary = match (order, rewrite) {
            (Order::Frame, None) => walk_table(&self.stacks, &known, visitor)?,
            (Order::Frame, Some(rewrite)) => {
                let mut rewritten = StackTable::default();
                let mut text = Vec::new();
                self.stacks.for_each(|stack, weights| {
                    text.clear();
                    if rewrite(stack, &mut text) { rewritten.add_stack(&text, weights) } else { Ok(()) }
                })?;
                walk_table(&rewritten, &known, visitor)?
            }
            (Order::Input | Order::Time, rewrite) => {
                if self.samples.stacks().any(|(time, ..)| time.is_none()) || self.samples.is_empty() {
                    let what = "the recording does not say when its samples were taken: --flamechart and \
                                --order input need times, or folded text in their order";
                    return Err(Error::setting(what));
                }
                let stacks =
                    self.samples.stacks().map(|(_, stack, weights)| (&b""[..], self.stack(stack), weights));
                walk_profile(&self.stacks, stacks, order, rewrite, &known, visitor)?
            }
            (Order::Thread, rewrite) => {
                let Some(line) = TimeLine::new(self, None)? else {
                    let what =
                        "the recording does not say when its samples were taken: --order time needs times";
                    return Err(Error::setting(what));
                };
                let several = line.threads.len() > 1;
                let stacks = line.threads.iter().flat_map(|thread| {
                    let root = if several { &thread.label[..] } else { b"" };
                    line.samples(thread)
                        .map(move |sample| (root, self.stack(sample.stack), Weights::one(sample.weight)))
                });
                walk_profile(&self.stacks, stacks, order, rewrite, &known, visitor)?
            }
        };
        Ok(WalkSummary { places: self.places.clone(), ..summary })
    }

    /// A profile of the same recording with other stacks.
    pub(crate) fn with_stacks(&self, facts: Facts, stacks: StackTable) -> Result<Profile> {
        Profile::new(facts, stacks, Samples::default())
    }
}

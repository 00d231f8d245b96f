//! `parquet`: rows for DuckDB, Spark, PyArrow and whatever else reads Parquet.
//!
//! A row is a sample where the recording has single ones, else a stack. A recording of several values, such as
//! Go's of the heap, has rows of each, those of the default first; `--value` chooses. Columns:
//!
//! | column | type | |
//! | --- | --- | --- |
//! | `time` | timestamp, ns | when the sample was taken, if that is known |
//! | `service` | text | the label `service` or `service.name`, if there is one |
//! | `labels` | map of texts | thread, process, and the recording's own labels |
//! | `value_type` | text | the value or event: `cpu-clock`, `alloc_space` |
//! | `unit` | text | its unit: `ns`, `bytes` |
//! | `stack` | list of structs | `function`, `file`, `line`, `module` of each frame, from the root on |
//! | `weight` | decimal(38, n) | exact |
//!
//! Beside the rows stand the facts, as the header of folded text has them (`fg-tools.facts`), and the distance of
//! `time` from the recording's own clock (`fg-tools.time-offset`), with which `fg-collapse` reads it back. Labels that
//! were root frames are declared there, and are root frames again when it does.

mod rows;
pub(crate) mod table;

use std::time::SystemTime;

use self::rows::{Row, Rows, Shared};
use self::table::{FrameRow, ROWS};
pub(crate) use super::exchange::facts::value_type;
use super::format::takes;
use super::shown_places::ShownPlaces;
use super::writer::{Finished, Target, Writer};
use super::{Format, Settings};
use crate::error::{Error, Result};
use crate::folded::{Columns, Frame, FrameId, Known, StackTable, Visitor, WalkSummary, Weights};
use crate::profile::{Facts, Profile, SampleRef, TIME, header, read_time, value_in};
use crate::weight::Weight;

/// The format.
pub const FORMAT: Format = Format {
    name: "parquet",
    endings: &["parquet"],
    about: "rows for DuckDB, Spark, PyArrow: a sample or a stack each",
    takes: &[takes::UNIT, takes::TIME],
    streams: false,
    open: |settings, target| {
        Ok(Box::new(Parquet {
            settings,
            target,
            stacks: StackTable::default(),
            is_written: false,
            left_out: 0,
        }))
    },
};

struct Parquet<'a> {
    settings: &'a Settings,
    target: &'a mut dyn Target,
    /// The results of the walk.
    stacks: StackTable,
    /// The rows are those of a profile, and written.
    is_written: bool,
    /// The number of the recording's values that are not written.
    left_out: usize,
}

/// The distance of times in rows from those of the recording's clock.
fn time_offset(facts: &Facts, zero: Option<u64>) -> i64 {
    let start = facts.start.and_then(|start| start.duration_since(SystemTime::UNIX_EPOCH).ok());
    let start = start.and_then(|start| i64::try_from(start.as_nanos()).ok());
    match (start, zero) {
        // Its times are those of the day already.
        _ if facts.clock.as_deref() == Some("realtime") => 0,
        (Some(start), Some(zero)) => start.saturating_sub_unsigned(zero),
        _ => 0,
    }
}

fn rows<'a>(facts: &Facts, decimals: u8, offset: i64, target: &'a mut dyn Target) -> Result<Rows<'a>> {
    let metadata =
        vec![("fg-tools.facts", header::write(facts)), ("fg-tools.time-offset", offset.to_string())];
    Rows::new(Shared { decimals, metadata }, target)
}

/// The most decimals of any weight.
fn most_decimals(weights: impl Iterator<Item = Weight>) -> u8 {
    weights.map(Weight::decimals).max().unwrap_or(0)
}

/// The labels that root frames are, as keys and values, and the number of these frames.
pub(crate) fn frame_labels<'n>(keys: &'n [String], frames: impl Iterator<Item = &'n [u8]>) -> Labels<'n> {
    let pairs = keys.iter().zip(frames);
    pairs.map_while(|(key, frame)| Some((key.as_bytes(), value_in(frame, key)?))).collect()
}

impl Parquet<'_> {
    /// Writes rows for each value of a recording.
    fn write_values(&mut self, profile: &Profile, others: &[&Profile]) -> Result<()> {
        let facts = self.settings.facts(profile.facts())?;
        let offset = time_offset(&facts, profile.time_zero());
        let all = || std::iter::once(&profile).chain(others);
        let decimals = all().map(|one| most_decimals(weights_of_rows(one, self.settings))).max().unwrap_or(0);
        let mut rows = rows(&facts, decimals, offset, self.target)?;
        for one in all() {
            let facts = self.settings.facts(one.facts())?;
            rows.begin_value(value_type(&facts).0, facts.unit.as_deref())?;
            match has_sample_rows(one, self.settings) {
                true => write_samples(one, &facts, offset, &mut rows)?,
                false => write_stacks(one, &facts, offset, &mut rows)?,
            }
        }
        rows.finish()
    }
}

/// Returns true if the rows of a profile are its single samples.
fn has_sample_rows(profile: &Profile, settings: &Settings) -> bool {
    settings.times && !profile.samples().is_empty()
}

/// The weights of the rows of a profile.
fn weights_of_rows<'p>(profile: &'p Profile, settings: &Settings) -> Box<dyn Iterator<Item = Weight> + 'p> {
    match has_sample_rows(profile, settings) {
        true => Box::new(profile.samples().iter().map(|sample| sample.weights.value)),
        false => Box::new(profile.stacks().stacks().map(|(_, weights)| weights.value)),
    }
}

/// The frames of a row, with their places.
pub(crate) fn frame_rows<'t>(
    table: &'t StackTable,
    frames: &'t [FrameId],
) -> impl Iterator<Item = FrameRow<'t>> {
    frames.iter().map(|&frame| {
        let place = table.place(frame);
        FrameRow { function: table.name(frame), file: place.file, line: place.line, module: place.module }
    })
}

/// Writes a row for each single sample.
fn write_samples(profile: &Profile, facts: &Facts, offset: i64, rows: &mut Rows<'_>) -> Result<()> {
    let table = profile.stacks();
    let (mut tid, mut process);
    // Row groups follow one another in time. Within one, rows of the same stack stand together, which
    // compresses better.
    let ranks = table.ranks();
    let mut samples = profile.samples().iter();
    let groups = std::iter::from_fn(|| {
        let mut group: Vec<SampleRef<'_>> = samples.by_ref().take(ROWS).collect();
        group.sort_by_key(|sample| (ranks[sample.stack], sample.thread, sample.time));
        (!group.is_empty()).then_some(group)
    });
    for sample in groups.flatten() {
        let stack = profile.stack(sample.stack);
        let mut labels = frame_labels(&facts.labels, stack.iter().map(|&frame| table.name(frame)));
        let frames = &stack[labels.len()..];
        let is_free = |key: &str| !facts.labels.iter().any(|label| label == key);
        if !sample.thread_name.is_empty() && is_free("thread") {
            labels.push((b"thread", sample.thread_name));
        }
        let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
        (tid, process) = (number(sample.thread), number(sample.process));
        for (key, text) in [("tid", &tid), ("process", &process)] {
            if !text.is_empty() && is_free(key) {
                labels.push((key.as_bytes(), text.as_bytes()));
            }
        }
        let own = sample.labels.iter().filter(|(key, _)| !labels.iter().any(|(known, _)| known == key));
        let own: Vec<(&[u8], &[u8])> = own.copied().collect();
        labels.extend(own);
        let time = sample.time.and_then(|time| i64::try_from(time).ok()?.checked_add(offset));
        let row = Row { time, labels: &labels, weight: sample.weights.value };
        rows.push(&row, frame_rows(table, frames))?;
    }
    Ok(())
}

/// Writes a row for each stack, in frame order.
fn write_stacks(profile: &Profile, facts: &Facts, offset: i64, rows: &mut Rows<'_>) -> Result<()> {
    let table = profile.stacks();
    let ranks = table.ranks();
    let mut order: Vec<usize> = (0..table.len()).collect();
    order.sort_by_key(|&at| ranks[at]);
    for at in order {
        let stack = table.stack(at);
        let labels = frame_labels(&facts.labels, stack.iter().map(|&frame| table.name(frame)));
        let frames = &stack[labels.len()..];
        let (time, labels) = time_apart(labels, profile.time_zero(), offset);
        let row = Row { time, labels: &labels, weight: table.weights(at).value };
        rows.push(&row, frame_rows(table, frames))?;
    }
    Ok(())
}

/// Labels of a row, as keys and values.
pub(crate) type Labels<'n> = Vec<(&'n [u8], &'n [u8])>;

/// The time that labels state, and the others.
fn time_apart(mut labels: Labels<'_>, zero: Option<u64>, offset: i64) -> (Option<i64>, Labels<'_>) {
    let time = labels.iter().find(|(key, _)| *key == TIME.as_bytes());
    let time = time
        .and_then(|(_, value)| read_time(value))
        .and_then(|time| i64::try_from(time.checked_add(zero.unwrap_or(0))?).ok()?.checked_add(offset));
    labels.retain(|(key, _)| *key != TIME.as_bytes());
    (time, labels)
}

impl Visitor for Parquet<'_> {
    fn follows_stacks(&self) -> bool {
        !self.is_written
    }

    fn begin(&mut self, known: &Known<'_>) -> Result<()> {
        if known.columns == Columns::Two {
            let what = "parquet has one weight in a row; write the profiles before and after apart";
            return Err(Error::setting(what));
        }
        Ok(())
    }

    fn enter(&mut self, _: &[u8], _: usize) -> Result<()> {
        Ok(())
    }

    fn stack(&mut self, stack: &[u8], weights: Weights) -> Result<()> {
        if self.is_written {
            return Ok(());
        }
        let weights = Weights::one(self.settings.shown(weights.value)?);
        self.stacks.add_stack(stack, weights)
    }

    fn exit(&mut self, _: Frame<'_>, _: Weights) -> Result<()> {
        Ok(())
    }

    fn restart(&mut self) -> Result<()> {
        self.stacks = StackTable::default();
        Ok(())
    }
}

impl Writer for Parquet<'_> {
    fn take(&mut self, profile: &Profile) -> Result<bool> {
        let others: Vec<&Profile> = profile.other_values().collect();
        let has_rows = !others.is_empty() || has_sample_rows(profile, self.settings);
        if has_rows
            && self.settings.shows_all()
            && !self.settings.private
            && profile.columns() == Columns::One
        {
            self.write_values(profile, &others)?;
            self.is_written = true;
        } else {
            self.left_out = others.len();
        }
        Ok(self.is_written)
    }

    fn finish(self: Box<Self>, summary: &WalkSummary) -> Result<Finished> {
        if self.is_written {
            return Ok(Finished::default());
        }
        let Parquet { settings, target, stacks, left_out, .. } = *self;
        let facts = &summary.facts;
        let zero = facts.time_zero.and_then(|zero| u64::try_from(zero.as_nanos()).ok());
        let offset = time_offset(facts, zero);
        let decimals = most_decimals(stacks.stacks().map(|(_, weights)| weights.value));
        let mut rows = rows(facts, decimals, offset, target)?;
        rows.begin_value(value_type(facts).0, facts.unit.as_deref())?;
        let places = ShownPlaces::new(settings, &summary.places);
        stacks.for_each(|stack, weights| {
            let labels = frame_labels(&facts.labels, stack.split(|&b| b == b';'));
            let count = labels.len();
            let (time, labels) = time_apart(labels, zero, offset);
            let frames = stack.split(|&b| b == b';').skip(count).map(|function| {
                let place = places.get(function).unwrap_or_default();
                FrameRow { function, file: place.file, line: place.line, module: place.module }
            });
            rows.push(&Row { time, labels: &labels, weight: weights.value }, frames)
        })?;
        rows.finish()?;
        let mut finished = Finished::default();
        if left_out > 0 {
            let note = "parquet: other values of the recording are left out, since stacks or weights are not written as \
                        they are: --value chooses the one that is written";
            finished.notes.push(note.to_owned());
        }
        Ok(finished)
    }
}

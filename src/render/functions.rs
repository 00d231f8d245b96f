//! Adds up the weight of each function while the input streams by: the rows of every table.

use super::Settings;
use super::settings::Sort;
use crate::error::Result;
use crate::folded::{Columns, Frame, Kind, Known, Place, Places, Visitor, WalkSummary, Weights};
use crate::profile::value_in;
use crate::tally::{Cell, RowKind, Tally};
use crate::weight::Weight;

/// Adds up the rows of a table.
pub struct Functions {
    tally: Tally<Weights>,
    /// The places of frames, if modules have rows.
    places: Places,
    /// The label whose values have rows.
    label: Option<LabelRows>,
}

/// The place of a label among the frames of stacks.
struct LabelRows {
    key: String,
    /// Stacks are leaf first: labels end them.
    reversed: bool,
    /// The labels in front of it.
    before: usize,
    /// The name of the row of stacks without it.
    missing: Vec<u8>,
}

impl LabelRows {
    /// The value that a stack has.
    fn value<'s>(&'s self, stack: &'s [u8]) -> &'s [u8] {
        let mut frames = stack.split(|&b| b == b';');
        let frame = if self.reversed { frames.nth_back(self.before) } else { frames.nth(self.before) };
        match frame.and_then(|frame| value_in(frame, &self.key)) {
            None | Some(b"") => &self.missing,
            Some(value) => value,
        }
    }
}

/// A row of a table, in weights as they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// The name.
    pub name: &'a [u8],
    /// The weight of the stacks that end in it.
    pub own: Weights,
    /// The weight of the stacks through it.
    pub total: Weights,
}

impl Row<'_> {
    fn cell(&self) -> Cell<Weights> {
        Cell { own: self.own, total: self.total }
    }
}

impl Functions {
    /// Adds up rows of a group.
    pub fn new(by: RowKind) -> Self {
        Functions { tally: Tally::new(by, 1), places: Places::default(), label: None }
    }

    /// Adds up the rows that settings ask for.
    pub fn of_table(settings: &Settings) -> Self {
        let Some(key) = &settings.table.label else { return Functions::new(settings.table.by) };
        let (reversed, missing) = (settings.rewrite.reverse, format!("[no {key}]").into_bytes());
        let label = LabelRows { key: key.clone(), reversed, before: 0, missing };
        // The value of a stack stands for it.
        Functions { label: Some(label), ..Functions::new(RowKind::Stack) }
    }

    /// All rows, in the order that was asked for; equals in the order of their names.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn rows(
        &self,
        sort: Option<Sort>,
        settings: &Settings,
        summary: &WalkSummary,
    ) -> Result<Vec<Row<'_>>> {
        let shown = |(name, cells): (_, &[Cell<Weights>])| -> Result<Row<'_>> {
            let own = settings.shown_both(cells[0].own)?;
            Ok(Row { name, own, total: settings.shown_both(cells[0].total)? })
        };
        let rows: Result<Vec<Row<'_>>> = self.tally.rows().into_iter().map(shown).collect();
        let mut rows = rows?;
        rows.retain(|row| !row.total.is_zero());
        let usual = if summary.columns == Columns::Two { Sort::Change } else { Sort::Own };
        match sort.unwrap_or(usual) {
            Sort::Own => rows.sort_by(|a, b| a.cell().hotter(&b.cell())),
            Sort::Total => rows.sort_by(|a, b| a.cell().heavier(&b.cell())),
            Sort::Name => {}
            Sort::Change => {
                let mut keyed = Vec::new();
                for row in rows {
                    keyed.push((size(change(row.own)?), size(change(row.total)?), row));
                }
                keyed.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.cmp(&a.1)));
                rows = keyed.into_iter().map(|(_, _, row)| row).collect();
            }
        }
        Ok(rows)
    }
}

/// After less before.
///
/// # Errors
/// [`crate::ErrorKind::Overflow`].
pub fn change(weights: Weights) -> Result<Weight> {
    weights.value.checked_sub(weights.before)
}

/// The size of a change, up or down.
pub(super) fn size(weight: Weight) -> Weight {
    if weight.is_negative() { weight.negated() } else { weight }
}

impl Visitor for Functions {
    fn follows_stacks(&self) -> bool {
        true
    }

    fn begin(&mut self, known: &Known<'_>) -> Result<()> {
        if self.tally.group() == RowKind::Module {
            self.places = known.places.clone();
        }
        if let Some(label) = &mut self.label {
            let keys = &known.facts.labels;
            label.before = keys.iter().position(|key| *key == label.key).unwrap_or(keys.len());
        }
        Ok(())
    }

    #[inline]
    fn enter(&mut self, name: &[u8], _: usize) -> Result<()> {
        match self.tally.group() {
            RowKind::Function => self.tally.enter(name),
            RowKind::Module => match module_at(self.places.get(name)) {
                Some(module) => self.tally.enter_of(name, module),
                None => self.tally.enter(name),
            },
            RowKind::Stack | RowKind::Thread => {}
        }
        Ok(())
    }

    #[inline]
    fn stack(&mut self, stack: &[u8], weights: Weights) -> Result<()> {
        match &self.label {
            Some(label) => self.tally.stack(label.value(stack), weights),
            None => self.tally.stack(stack, weights),
        }
    }

    #[inline]
    fn exit(&mut self, frame: Frame<'_>, _: Weights) -> Result<()> {
        self.tally.exit(frame.own, frame.total)
    }

    fn restart(&mut self) -> Result<()> {
        *self = Functions { label: self.label.take(), ..Functions::new(self.tally.group()) };
        Ok(())
    }
}

/// The module of a place, if the recording says it: the kernel is one.
fn module_at(place: Option<Place<'_>>) -> Option<&[u8]> {
    let place = place?;
    match place.kind {
        Kind::Kernel => Some(b"[kernel]"),
        _ if place.module.is_empty() => None,
        _ => Some(place.module),
    }
}

//! The table that adds up: unique frames, unique stacks, one weight each, written in frame order.
//!
//! Frames and stacks are numbered as they are met. Each name is stored once, each stack is a run
//! of frame numbers. Sorting happens once, at the end.

mod text;

use super::frame_id::{FrameId, HAS_PLACE};
use super::id_table::{Hash, IdTable, KeyedHasher};
use super::line::{Columns, Weights, parse_line};
use super::place::{Place, PlaceTable, Places};
use crate::error::{Error, Result};
use crate::limits::Held;
use crate::scan::frames;
use crate::weight::Weight;

/// Unique stacks and the sums of their weights.
#[derive(Default)]
pub struct StackTable {
    hasher: KeyedHasher,
    names: Runs<u8>,
    name_slots: IdTable,
    stacks: Runs<FrameId>,
    stack_slots: IdTable,
    values: Vec<Weight>,
    /// Empty until a differential line is added; as long as `values` from then on.
    befores: Vec<Weight>,
    /// Writes two columns, whatever the weights.
    differential: bool,
    scratch: Vec<FrameId>,
    loose: Loose,
    places: PlaceTable,
}

/// Says if stacks are looked up before they are added: see [`StackTable::add_mostly_new`].
#[derive(Clone, Copy)]
enum Loose {
    /// Stacks are looked up, and this many were so far.
    Tried(usize),
    /// Stacks are no longer looked up: those from this number on may be there several times.
    From(usize),
    /// Stacks repeat: all are looked up.
    Never,
}

impl Default for Loose {
    fn default() -> Self {
        Loose::Tried(0)
    }
}

/// The number of stacks that are looked up before they count as mostly new.
const TRIAL: usize = 1 << 16;

/// The largest number of stacks taken without a look-up, some 100 MB; beyond it, all are looked up.
const MOST_LOOSE: usize = if cfg!(test) { 1 << 16 } else { 1 << 20 };

/// Runs of values one after the other in one allocation.
struct Runs<T> {
    values: Vec<T>,
    /// The ends of runs, after a 0.
    ends: Vec<usize>,
}

impl<T> Default for Runs<T> {
    fn default() -> Self {
        Runs { values: Vec::new(), ends: vec![0] }
    }
}

impl<T: Copy> Runs<T> {
    fn len(&self) -> usize {
        self.ends.len() - 1
    }

    fn push(&mut self, run: &[T]) -> u32 {
        let id = u32::try_from(self.len()).expect("4 billion entries do not fit in memory");
        self.values.extend_from_slice(run);
        self.ends.push(self.values.len());
        id
    }

    fn get(&self, index: usize) -> &[T] {
        &self.values[self.ends[index]..self.ends[index + 1]]
    }
}

/// The names of a table, by the numbers of their frames.
#[cfg(feature = "diff")]
pub(crate) struct NameList(Runs<u8>);

#[cfg(feature = "diff")]
impl NameList {
    /// The name of a frame without its place.
    pub(crate) fn name(&self, frame: FrameId) -> &[u8] {
        self.0.get(frame.0 as usize)
    }
}

#[cfg(feature = "diff")]
impl std::fmt::Debug for NameList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} names", self.0.len())
    }
}

impl StackTable {
    /// A copy of the names.
    #[cfg(feature = "diff")]
    pub(crate) fn name_list(&self) -> NameList {
        NameList(Runs { values: self.names.values.clone(), ends: self.names.ends.clone() })
    }

    /// The number of a frame's name. The name must hold no `;` and no newline: see
    /// [`sanitize_frame`](super::sanitize_frame).
    pub fn frame(&mut self, name: &[u8]) -> FrameId {
        let hash = self.hasher.hash_bytes(name);
        match self.name_slots.get_or_insert(hash, self.names.len()) {
            Some(id) => FrameId(id as u32),
            None => FrameId(self.names.push(name)),
        }
    }

    /// The number of a frame's name at a place. It is another one at another place; wherever names
    /// count, in order and in text, they are one.
    pub fn frame_at(&mut self, name: &[u8], place: &Place<'_>) -> FrameId {
        let frame = self.frame(name);
        if place.is_unknown() { frame } else { FrameId(self.places.frame(frame, place) | HAS_PLACE) }
    }

    /// The frame of another name at the place of a frame.
    pub(crate) fn renamed(&mut self, id: FrameId, name: &[u8]) -> FrameId {
        if id.0 & HAS_PLACE == 0 {
            return self.frame(name);
        }
        let frame = self.frame(name);
        FrameId(self.places.renamed(id.0 & !HAS_PLACE, frame) | HAS_PLACE)
    }

    /// The name of a frame.
    #[inline]
    pub fn name(&self, id: FrameId) -> &[u8] {
        self.names.get(self.base(id).0 as usize)
    }

    /// The place of a frame; an unknown one for a frame without.
    pub fn place(&self, id: FrameId) -> Place<'_> {
        if id.0 & HAS_PLACE == 0 { Place::default() } else { self.places.place(id.0 & !HAS_PLACE) }
    }

    /// A frame without its place.
    #[inline]
    pub(crate) fn base(&self, id: FrameId) -> FrameId {
        if id.0 & HAS_PLACE == 0 { id } else { self.places.base(id.0 & !HAS_PLACE) }
    }

    /// The place of each name.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn places(&self) -> Result<Places> {
        if self.places.is_empty() {
            return Ok(Places::default());
        }
        let mut weights = vec![Weight::ZERO; self.places.len()];
        for (stack, Weights { value, before }) in self.stacks() {
            for frame in stack.iter().filter(|frame| frame.0 & HAS_PLACE != 0) {
                let sum = &mut weights[(frame.0 & !HAS_PLACE) as usize];
                *sum = sum.checked_add(value)?.checked_add(before)?;
            }
        }
        let located = (0u32..)
            .zip(&weights)
            .map(|(at, weight)| (self.name(self.places.base(at)), self.places.place(at), *weight));
        Places::heaviest(located)
    }

    /// Checks that weights in this number of columns can be added.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] if there are others already.
    pub(crate) fn expect_columns(&mut self, columns: Columns) -> Result<()> {
        if !self.is_empty() && self.columns() != columns {
            let what = "a profile and a differential profile, with two weights on each line, cannot be one";
            return Err(Error::setting(what));
        }
        if columns == Columns::Two {
            self.make_differential();
        }
        Ok(())
    }

    /// The number of different names.
    pub fn frame_count(&self) -> usize {
        self.names.len()
    }

    /// The number of different stacks.
    pub fn len(&self) -> usize {
        self.stacks.len()
    }

    /// The most bytes that the table takes until it is written: its content, the slots of look-ups, and what
    /// sorting takes besides.
    pub(crate) fn bytes(&self) -> usize {
        /// A name has a place in the order of names, and a rank.
        const NAME: usize = 2 * size_of::<u32>();
        let names = self.names.values.len() + size_of_val(&self.names.ends[..]) + NAME * self.names.len();
        let frames = size_of_val(&self.stacks.values[..]);
        let weights = size_of_val(&self.values[..]) + size_of_val(&self.befores[..]);
        let stacks = frames + size_of_val(&self.stacks.ends[..]) + weights;
        let sorting = frames + super::sort::BYTES_OF_STACK * self.len();
        names + self.name_slots.bytes() + stacks + self.stack_slots.bytes() + sorting + self.places.bytes()
    }

    /// The parts that limits of a reading are about.
    pub(crate) fn held(&self) -> Held {
        Held::new(self.len(), self.frame_count(), self.bytes())
    }

    /// Forgets the stacks; names keep their numbers.
    pub(crate) fn clear_stacks(&mut self) {
        self.stacks.values.clear();
        self.stacks.ends.truncate(1);
        self.stack_slots.clear();
        self.values.clear();
        self.befores.clear();
        self.loose = Loose::default();
    }

    /// Returns true if nothing was added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of columns: two if lines with two weights were added.
    pub fn columns(&self) -> Columns {
        if self.befores.is_empty() && !self.differential { Columns::One } else { Columns::Two }
    }

    /// Adds to the weight of a stack, root first.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add(&mut self, stack: &[FrameId], weights: Weights) -> Result<()> {
        self.add_indexed(stack, weights).map(|_| ())
    }

    /// [`StackTable::add`], and the number of the stack.
    pub(crate) fn add_indexed(&mut self, stack: &[FrameId], weights: Weights) -> Result<usize> {
        let hash = self.hasher.hash_stack(stack);
        self.add_hashed(stack, hash, weights)
    }

    /// The frames of the stack of a number.
    pub(crate) fn stack(&self, index: usize) -> &[FrameId] {
        self.stacks.get(index)
    }

    /// Adds the stacks of a batch, and empties it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add_batch(&mut self, batch: &mut Batch) -> Result<()> {
        // Most of the time of a look-up is spent waiting for memory. The loads of these loops do
        // not depend on one another, so the processor waits for all of them at once.
        let mut hashes = [Hash::default(); Batch::FULL];
        let mut start = 0;
        for (hash, &(end, _)) in hashes.iter_mut().zip(&batch.stacks) {
            *hash = self.hasher.hash_stack(&batch.ids[start..end]);
            start = end;
        }
        let hashes = &hashes[..batch.stacks.len()];
        let ids = hashes.iter().map(|&hash| self.stack_slots.first(hash));
        let touched = ids.filter_map(|id| self.values.get(id as usize)).filter(|value| value.is_zero());
        std::hint::black_box(touched.count());
        start = 0;
        for (&hash, &(end, weights)) in hashes.iter().zip(&batch.stacks) {
            self.add_hashed(&batch.ids[start..end], hash, weights)?;
            start = end;
        }
        batch.ids.clear();
        batch.stacks.clear();
        Ok(())
    }

    /// [`StackTable::add_batch`] for text that most likely has each stack once, as folded text
    /// has. If that holds for its beginning, no more stacks are looked up, which is a third of the
    /// work. Equal ones meet when they are sorted; until then [`StackTable::len`] counts both.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(crate) fn add_mostly_new(&mut self, batch: &mut Batch) -> Result<()> {
        let Loose::From(from) = self.loose else {
            let added = batch.stacks.len();
            self.add_batch(batch)?;
            if let Loose::Tried(tried) = &mut self.loose {
                *tried += added;
                if *tried >= TRIAL {
                    // Text in which more than one stack in sixteen repeats has not been added up.
                    let is_new = self.stacks.len() >= *tried - *tried / 16;
                    self.loose = if is_new { Loose::From(self.stacks.len()) } else { Loose::Never };
                }
            }
            return Ok(());
        };
        let mut start = 0;
        for &(end, weights) in &batch.stacks {
            self.stacks.push(&batch.ids[start..end]);
            self.values.push(weights.value);
            if !self.befores.is_empty() || !weights.before.is_zero() {
                self.make_differential();
                self.befores[self.values.len() - 1] = weights.before;
            }
            start = end;
        }
        batch.ids.clear();
        batch.stacks.clear();
        if self.stacks.len() - from >= MOST_LOOSE.max(from) { self.look_up_loose(from) } else { Ok(()) }
    }

    /// Looks up the stacks from this number on.
    #[cold]
    fn look_up_loose(&mut self, from: usize) -> Result<()> {
        // Each moves forward to where the last new one ends: there may be no room for a copy of them.
        let loose = self.len() - from;
        let mut kept = from;
        let (mut start, mut kept_end) = (self.stacks.ends[from], self.stacks.ends[from]);
        for index in from..self.len() {
            let end = self.stacks.ends[index + 1];
            let weights = self.weights(index);
            let hash = self.hasher.hash_stack(&self.stacks.values[start..end]);
            match self.stack_slots.get_or_insert(hash, kept) {
                Some(known) => {
                    let sum = self.weights(known).checked_add(weights)?;
                    self.set_weights(known, sum);
                }
                None => {
                    self.stacks.values.copy_within(start..end, kept_end);
                    self.set_weights(kept, weights);
                    kept_end += end - start;
                    kept += 1;
                    self.stacks.ends[kept] = kept_end;
                }
            }
            start = end;
        }
        self.stacks.values.truncate(kept_end);
        self.stacks.ends.truncate(kept + 1);
        self.values.truncate(kept);
        self.befores.truncate(kept);
        let are_new = kept - from > loose / 2;
        self.loose = if are_new { Loose::From(kept) } else { Loose::Never };
        Ok(())
    }

    #[inline]
    fn add_hashed(&mut self, stack: &[FrameId], hash: Hash, weights: Weights) -> Result<usize> {
        let index = match self.stack_slots.get_or_insert(hash, self.values.len()) {
            Some(index) => index,
            None => {
                self.values.push(Weight::ZERO);
                if !self.befores.is_empty() {
                    self.befores.push(Weight::ZERO);
                }
                self.stacks.push(stack) as usize
            }
        };
        self.values[index] = self.values[index].checked_add(weights.value)?;
        if !weights.before.is_zero() {
            self.make_differential();
            self.befores[index] = self.befores[index].checked_add(weights.before)?;
        }
        Ok(index)
    }

    /// Writes two columns from now on, whatever their weights.
    pub fn make_differential(&mut self) {
        self.differential = true;
        self.befores.resize(self.values.len(), Weight::ZERO);
    }

    /// Adds a stack written as folded text, `a;b;c`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add_stack(&mut self, stack: &[u8], weights: Weights) -> Result<()> {
        let mut ids = std::mem::take(&mut self.scratch);
        ids.clear();
        self.split(stack, &mut ids);
        let result = self.add(&ids, weights);
        self.scratch = ids;
        result
    }

    /// The numbers of the frames of a stack written as folded text.
    pub fn split(&mut self, stack: &[u8], ids: &mut Vec<FrameId>) {
        let mut start = 0;
        for end in memchr::memchr_iter(b';', stack).chain([stack.len()]) {
            ids.push(self.frame(&stack[start..end]));
            start = end + 1;
        }
    }

    /// [`StackTable::split`] of a stack whose `;` are at these places.
    #[inline]
    pub(super) fn split_at(&mut self, stack: &[u8], semicolons: &[u32], ids: &mut Vec<FrameId>) {
        frames(stack, semicolons).for_each(|frame| ids.push(self.frame(frame)));
    }

    /// Adds a line of folded text in one column.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Malformed`] for anything else, and [`crate::ErrorKind::Overflow`].
    pub fn add_line(&mut self, line: &[u8]) -> Result<()> {
        let parsed = parse_line(line, Columns::One);
        let parsed = parsed.ok_or_else(|| Error::malformed("a stack and a weight", line))?;
        self.add_stack(parsed.stack, parsed.weights)
    }

    /// Adds all of another table to this one.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn merge(&mut self, other: &StackTable) -> Result<()> {
        let ids = self.take_frames(other);
        let (mut batch, mut stack) = (Batch::default(), Vec::new());
        for (own, weights) in other.stacks() {
            stack.clear();
            stack.extend(own.iter().map(|&id| ids.get(id)));
            if batch.push(&stack, weights) {
                self.add_batch(&mut batch)?;
            }
        }
        self.add_batch(&mut batch)?;
        if other.columns() == Columns::Two {
            self.make_differential();
        }
        Ok(())
    }

    /// [`StackTable::merge`], and the number here of each stack there.
    pub(crate) fn merge_indexed(&mut self, other: &StackTable) -> Result<Vec<u32>> {
        let ids = self.take_frames(other);
        let mut stack = Vec::new();
        let mut indices = Vec::with_capacity(other.len());
        for index in 0..other.len() {
            stack.clear();
            stack.extend(other.stacks.get(index).iter().map(|&id| ids.get(id)));
            indices.push(self.add_indexed(&stack, other.weights(index))? as u32);
        }
        if other.columns() == Columns::Two {
            self.make_differential();
        }
        Ok(indices)
    }

    /// The frames of another table, here.
    pub(crate) fn take_frames(&mut self, other: &StackTable) -> FrameMap {
        let plain: Vec<FrameId> = (0..other.names.len()).map(|i| self.frame(other.names.get(i))).collect();
        let placed = (0..other.places.len() as u32)
            .map(|at| self.frame_at(other.name(other.places.base(at)), &other.places.place(at)));
        let placed = placed.collect();
        FrameMap { plain, placed }
    }

    /// Every stack and its weights, in no order that means anything.
    pub(crate) fn stacks(&self) -> impl Iterator<Item = (&[FrameId], Weights)> {
        (0..self.len()).map(|index| (self.stacks.get(index), self.weights(index)))
    }

    pub(crate) fn weights(&self, index: usize) -> Weights {
        let before = self.befores.get(index).copied().unwrap_or_default();
        Weights { value: self.values[index], before }
    }

    fn set_weights(&mut self, index: usize, weights: Weights) {
        self.values[index] = weights.value;
        if let Some(before) = self.befores.get_mut(index) {
            *before = weights.before;
        }
    }

    /// The sum of all weights.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn total(&self) -> Result<Weights> {
        (0..self.len()).try_fold(Weights::default(), |sum, index| sum.checked_add(self.weights(index)))
    }
}

/// The frames of one table as frames of another.
pub(crate) struct FrameMap {
    plain: Vec<FrameId>,
    placed: Vec<FrameId>,
}

impl FrameMap {
    /// The frame there of a frame here.
    #[inline]
    pub(crate) fn get(&self, id: FrameId) -> FrameId {
        match id.0 & HAS_PLACE {
            0 => self.plain[id.0 as usize],
            _ => self.placed[(id.0 & !HAS_PLACE) as usize],
        }
    }
}

/// Stacks on their way into a table: many look-ups at once wait for memory once.
#[derive(Default)]
pub struct Batch {
    ids: Vec<FrameId>,
    /// The end of each stack in `ids`, and its weights.
    stacks: Vec<(usize, Weights)>,
}

impl Batch {
    /// A prototype gained most of what there is to gain with some two dozen.
    const FULL: usize = 32;

    /// Adds a stack; `true` if the batch has to go to [`StackTable::add_batch`] before the next.
    pub fn push(&mut self, stack: &[FrameId], weights: Weights) -> bool {
        self.ids.extend_from_slice(stack);
        self.stacks.push((self.ids.len(), weights));
        self.stacks.len() == Batch::FULL
    }
}

#[cfg(test)]
mod tests {
    use super::super::order::cmp_stacks;
    use super::*;
    use proptest::prelude::*;

    fn text(table: &StackTable) -> String {
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn adds_up_and_writes_in_frame_order() {
        let mut table = StackTable::default();
        for line in ["a b;c 1", "a;b 2", "a 3", "a;b 0.5", "a;b;c 1"] {
            table.add_line(line.as_bytes()).unwrap();
        }
        assert_eq!(text(&table), "a 3\na;b 2.5\na;b;c 1\na b;c 1\n");
        assert_eq!(table.total().unwrap().value.to_string(), "7.5");
    }

    #[test]
    fn merging_is_adding() {
        let (mut one, mut two) = (StackTable::default(), StackTable::default());
        for n in 0..500 {
            let line = format!("main;f{};g{} {n}", n % 7, n % 31);
            if n % 2 == 0 { &mut one } else { &mut two }.add_line(line.as_bytes()).unwrap();
        }
        let total = one.total().unwrap().checked_add(two.total().unwrap()).unwrap();
        one.merge(&two).unwrap();
        assert_eq!(one.total().unwrap(), total);
        assert_eq!(one.len(), 7 * 31);
    }

    #[cfg(feature = "cli")]
    #[test]
    fn the_memory_of_a_table_is_that_of_its_content() {
        const SLOTS: usize = 2048 * 16;
        let mut table = StackTable::default();
        for n in 100..1100 {
            table.add_line(format!("main;f {n:04} 1").as_bytes()).unwrap();
        }
        let names = "main".len() + 1000 * "f 0123".len() + 1001 * (size_of::<usize>() + 2 * size_of::<u32>());
        let frames = 2 * 1000 * size_of::<FrameId>();
        let stacks = frames + 1000 * (size_of::<usize>() + size_of::<Weight>());
        let sorting = frames + 1000 * super::super::sort::BYTES_OF_STACK;
        // The first end of names and the first one of stacks.
        let expected = 2 * size_of::<usize>() + names + SLOTS + stacks + SLOTS + sorting;
        assert_eq!(table.bytes(), expected);
    }

    #[test]
    fn two_columns_are_kept_apart() {
        let mut table = StackTable::default();
        let weights = |before, value| Weights { value: Weight::new(value), before: Weight::new(before) };
        table.add_stack(b"a;b", weights(0, 5)).unwrap();
        table.add_stack(b"a", weights(2, 0)).unwrap();
        table.add_stack(b"a;b", weights(1, 1)).unwrap();
        assert_eq!(text(&table), "a 2 0\na;b 1 6\n");
    }

    #[test]
    fn stacks_are_looked_up_while_more_than_one_in_sixteen_repeats() {
        let is_loose = |every: usize| {
            let (mut table, mut batch) = (StackTable::default(), Batch::default());
            for n in 0..TRIAL {
                let id = if n % every == 0 { 0 } else { n };
                let stack = [table.frame(format!("f{id}").as_bytes())];
                if batch.push(&stack, Weights::one(Weight::ONE)) {
                    table.add_mostly_new(&mut batch).unwrap();
                }
            }
            matches!(table.loose, Loose::From(_))
        };
        assert!(is_loose(32) && !is_loose(8));
    }

    #[test]
    fn stacks_are_no_longer_looked_up_while_most_are_new() {
        for (new, is_loose) in [(60, true), (31, true), (30, false), (0, false)] {
            let (mut table, mut batch) = (StackTable::default(), Batch::default());
            for n in 0..100 {
                if n == 40 {
                    table.add_batch(&mut batch).unwrap();
                    table.loose = Loose::From(table.len());
                }
                let id = if n < 40 + new { n } else { 0 };
                let stack = [table.frame(format!("f{id}").as_bytes())];
                if batch.push(&stack, Weights::one(Weight::ONE)) || n == 99 {
                    table.add_mostly_new(&mut batch).unwrap();
                }
            }
            table.look_up_loose(40).unwrap();
            assert_eq!(table.len(), 40 + new);
            assert_eq!(matches!(table.loose, Loose::From(_)), is_loose, "{new}");
        }
    }

    #[test]
    fn one_column_that_is_mostly_new_stays_one() {
        let mut table = StackTable { loose: Loose::From(0), ..StackTable::default() };
        let mut batch = Batch::default();
        for name in ["a", "b"] {
            let stack = [table.frame(name.as_bytes())];
            batch.push(&stack, Weights::one(Weight::ONE));
        }
        table.add_mostly_new(&mut batch).unwrap();
        assert!(table.befores.is_empty() && table.values.len() == 2);
    }

    #[test]
    fn stacks_that_come_again_late_are_one_and_do_not_pile_up() {
        let mut table = StackTable::default();
        let mut batch = Batch::default();
        let lines = TRIAL + 3 * MOST_LOOSE;
        for n in 0..lines {
            let id = if n < TRIAL + 1000 { n } else { n % 1000 };
            let stack = [table.frame(b"main"), table.frame(format!("f{id}").as_bytes())];
            let before = if n % 2 == 0 { Weight::ZERO } else { Weight::ONE };
            if batch.push(&stack, Weights { value: Weight::ONE, before }) {
                table.add_mostly_new(&mut batch).unwrap();
            }
            assert!(table.len() <= TRIAL + 1000 + MOST_LOOSE);
        }
        table.add_mostly_new(&mut batch).unwrap();
        assert!(matches!(table.loose, Loose::Never));
        assert_eq!(table.len(), TRIAL + 1000);
        let total = table.total().unwrap();
        assert_eq!(total.value, Weight::new(lines as i128));
        assert_eq!(total.before, Weight::new(lines as i128 / 2));
        let mut seen = 0;
        table
            .for_each(|_, _| {
                seen += 1;
                Ok(())
            })
            .unwrap();
        assert_eq!(seen, TRIAL + 1000);
    }

    proptest! {
        #[test]
        fn equal_stacks_meet_when_sorted(
            stacks in proptest::collection::vec(proptest::collection::vec("[a-c]{1,2}", 1..4), 1..60), from in 0usize..60
        ) {
            let (mut table, mut loose) = (StackTable::default(), StackTable::default());
            let mut batch = Batch::default();
            for (n, stack) in stacks.iter().enumerate() {
                if n == from {
                    loose.loose = Loose::From(loose.len());
                }
                let weights = Weights { value: Weight::new(n as i128), before: Weight::new(n as i128 % 3) };
                table.add_stack(stack.join(";").as_bytes(), weights).unwrap();
                let ids: Vec<FrameId> = stack.iter().map(|name| loose.frame(name.as_bytes())).collect();
                batch.push(&ids, weights);
                loose.add_mostly_new(&mut batch).unwrap();
            }
            prop_assert_eq!(text(&table), text(&loose));
            let mut several = Vec::new();
            loose.write_on(3, &mut several).unwrap();
            prop_assert_eq!(text(&table), String::from_utf8(several).unwrap());
            if let Loose::From(from) = loose.loose {
                loose.look_up_loose(from).unwrap();
            }
            prop_assert_eq!(loose.len(), table.len());
            prop_assert_eq!(text(&table), text(&loose));
        }

        #[test]
        fn sorts_any_stacks_in_frame_order(
            stacks in proptest::collection::vec(proptest::collection::vec("[a-c ;.]{0,3}", 1..12), 0..60)
        ) {
            let mut table = StackTable::default();
            let lines: Vec<String> = stacks.iter().map(|s| s.join(";")).filter(|s| !s.is_empty()).collect();
            for line in &lines {
                table.add_stack(line.as_bytes(), Weights::one(Weight::ONE)).unwrap();
            }
            let mut seen: Vec<Vec<u8>> = Vec::new();
            table.for_each(|stack, _| { seen.push(stack.to_vec()); Ok(()) }).unwrap();
            prop_assert!(seen.windows(2).all(|pair| cmp_stacks(&pair[0], &pair[1]).is_lt()));
            prop_assert_eq!(table.total().unwrap().value, Weight::new(lines.len() as i128));
        }
    }
}

//! Self and total weight of every function, module, stack or thread.
//!
//! A total counts a stack once, however often the stack holds the name: a recursive function does
//! not weigh more than the program. That rule is here and nowhere else.

mod group;

use std::cmp::Ordering;

use crate::error::Result;
use crate::folded::{Interner, Weights};
use crate::weight::Weight;
pub use group::{GROUPS, RowKind, module_of, thread_of};

/// A quantity that adds up: a weight, or the weights of both columns.
pub trait Amount: Copy + Default {
    /// The sum.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    fn and(self, other: Self) -> Result<Self>;
}

impl Amount for Weight {
    fn and(self, other: Self) -> Result<Self> {
        self.checked_add(other)
    }
}

impl Amount for Weights {
    #[inline]
    fn and(self, other: Self) -> Result<Self> {
        self.checked_add(other)
    }
}

/// The weights of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell<A = Weight> {
    /// The weight of the stacks that end in it.
    pub own: A,
    /// The weight of the stacks through it.
    pub total: A,
}

impl Cell<Weights> {
    /// The order of the hottest: by self weight, equals by total; of differential input, after
    /// decides. Rows that are equal in both stand in the order of their names.
    pub(crate) fn hotter(&self, other: &Self) -> Ordering {
        larger_first(self.own, other.own).then_with(|| larger_first(self.total, other.total))
    }

    /// The order by total weight, equals by self weight.
    pub(crate) fn heavier(&self, other: &Self) -> Ordering {
        larger_first(self.total, other.total).then_with(|| larger_first(self.own, other.own))
    }
}

fn larger_first(a: Weights, b: Weights) -> Ordering {
    b.value.cmp(&a.value).then(b.before.cmp(&a.before))
}

/// Self and total weights by number, for one or more runs: where recursion is counted once.
pub(crate) struct Sums<A> {
    runs: usize,
    run: usize,
    /// `runs` cells for each number.
    cells: Vec<Cell<A>>,
    /// The number of open frames of each number.
    open_count: Vec<u32>,
    open: Vec<u32>,
}

impl<A: Amount> Sums<A> {
    pub(crate) fn new(runs: usize) -> Self {
        Sums { runs, run: 0, cells: Vec::new(), open_count: Vec::new(), open: Vec::new() }
    }

    /// Opens a frame of a number: one that was used before, or the next.
    #[inline]
    pub(crate) fn enter(&mut self, key: u32) {
        self.make(key);
        self.open_count[key as usize] += 1;
        self.open.push(key);
    }

    /// Closes the frame that was opened last.
    #[inline]
    pub(crate) fn exit(&mut self, own: A, total: A) -> Result<()> {
        let Some(key) = self.open.pop() else { return Ok(()) };
        let count = &mut self.open_count[key as usize];
        *count -= 1;
        let is_outermost = *count == 0;
        let cell = &mut self.cells[key as usize * self.runs + self.run];
        cell.own = cell.own.and(own)?;
        if is_outermost {
            cell.total = cell.total.and(total)?;
        }
        Ok(())
    }

    /// The number of the innermost open frame.
    pub(crate) fn last(&self) -> Option<u32> {
        self.open.last().copied()
    }

    /// Adds to the self and total weight of a number.
    fn add(&mut self, key: u32, amount: A) -> Result<()> {
        self.make(key);
        let cell = &mut self.cells[key as usize * self.runs + self.run];
        cell.own = cell.own.and(amount)?;
        cell.total = cell.total.and(amount)?;
        Ok(())
    }

    #[inline]
    fn make(&mut self, key: u32) {
        if key as usize == self.open_count.len() {
            self.open_count.push(0);
            self.cells.resize(self.cells.len() + self.runs, Cell::default());
        }
    }

    /// The cells of every number, one for each run.
    pub(crate) fn all(&self) -> impl Iterator<Item = &[Cell<A>]> {
        self.cells.chunks(self.runs.max(1))
    }
}

/// Self and total weights by name, for one or more runs.
pub struct Tally<A = Weight> {
    group: RowKind,
    names: Interner,
    /// The names of modules, and the module of each frame's name.
    modules: Interner,
    module_of: Vec<u32>,
    sums: Sums<A>,
}

impl<A: Amount> Tally<A> {
    /// An empty tally of this many runs; the first one is begun.
    pub fn new(group: RowKind, runs: usize) -> Self {
        Tally {
            group,
            names: Interner::default(),
            modules: Interner::default(),
            module_of: Vec::new(),
            sums: Sums::new(runs),
        }
    }

    /// The kind of its rows.
    pub fn group(&self) -> RowKind {
        self.group
    }

    /// Goes on with another run. No frame is open.
    pub fn begin(&mut self, run: usize) {
        self.sums.run = run;
    }

    /// Opens a frame, in tallies of functions and modules.
    #[inline]
    pub fn enter(&mut self, name: &[u8]) {
        let key = self.key(name);
        self.sums.enter(key);
    }

    /// Opens a frame whose module is known, in a tally of modules.
    #[inline]
    pub fn enter_of(&mut self, name: &[u8], module: &[u8]) {
        let known = self.names.len();
        let key = self.names.key(name);
        if self.names.len() > known {
            self.module_of.push(self.modules.key(module));
        }
        self.sums.enter(self.module_of[key as usize]);
    }

    /// Closes the frame that was opened last, and adds its weights.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    #[inline]
    pub fn exit(&mut self, own: A, total: A) -> Result<()> {
        self.sums.exit(own, total)
    }

    /// Adds a stack, in tallies of stacks and threads.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn stack(&mut self, stack: &[u8], amount: A) -> Result<()> {
        let key = match self.group {
            RowKind::Stack => self.key(stack),
            RowKind::Thread => self.key(thread_of(stack)),
            RowKind::Function | RowKind::Module => return Ok(()),
        };
        self.sums.add(key, amount)
    }

    #[inline]
    fn key(&mut self, name: &[u8]) -> u32 {
        let known = self.names.len();
        let key = self.names.key(name);
        if self.group != RowKind::Module {
            return key;
        }
        if self.names.len() > known {
            self.module_of.push(self.modules.key(&module_of(name)));
        }
        self.module_of[key as usize]
    }

    /// The cells of every name, in the order in which names came.
    pub(crate) fn cells(&self) -> impl Iterator<Item = &[Cell<A>]> {
        self.sums.all()
    }

    /// Every name and its cells, one for each run, in the order in which names came.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (&[u8], &[Cell<A>])> {
        let names = if self.group == RowKind::Module { &self.modules } else { &self.names };
        names.all().zip(self.sums.all())
    }

    /// Every name and its cells, one for each run, in the order of the names' bytes.
    pub fn rows(&self) -> Vec<(&[u8], &[Cell<A>])> {
        let mut rows: Vec<_> = self.numbered().collect();
        rows.sort_unstable_by(|a, b| a.0.cmp(b.0));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hottest_are_in_the_order_of_the_shared_table() {
        // The page is held against it too, in `tests/browser/hottest.test.js`.
        let table = include_str!("../../tests/tally/hottest.json");
        let table: Vec<serde_json::Value> = serde_json::from_str(table).unwrap();
        let row = |one: &serde_json::Value| {
            let weights = |key: &str| Weights::one(Weight::new(one[key].as_i64().unwrap().into()));
            (one["name"].as_str().unwrap().to_owned(), Cell { own: weights("self"), total: weights("total") })
        };
        let expected: Vec<_> = table.iter().map(row).collect();
        let mut rows = expected.clone();
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        rows.sort_by(|a, b| a.1.hotter(&b.1));
        assert_eq!(rows, expected);
    }

    #[test]
    fn recursion_is_counted_once() {
        let mut tally: Tally = Tally::new(RowKind::Function, 1);
        let weight = |n| Weight::new(n);
        // a;b;a 2, a;b;a;b 4
        for name in [b"a", b"b", b"a", b"b"] {
            tally.enter(name);
        }
        for (own, total) in [(4, 4), (2, 6), (0, 6), (0, 6)] {
            tally.exit(weight(own), weight(total)).unwrap();
        }
        let rows = tally.rows();
        assert_eq!(rows[0], (&b"a"[..], &[Cell { own: weight(2), total: weight(6) }][..]));
        assert_eq!(rows[1], (&b"b"[..], &[Cell { own: weight(4), total: weight(6) }][..]));
    }
}

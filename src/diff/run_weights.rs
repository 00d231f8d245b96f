//! Self and total weight of every function (or module, thread, stack), run by run.
//!
//! A run is one recording, one file. Stacks come in any order; [`crate::tally`] adds them up. Where the
//! times of samples are known, a run comes block by block, and the spread between its blocks is kept.

use crate::error::Result;
use crate::folded::common_prefix;
use crate::significance::blocks::{Moments, Whole};
use crate::tally::{Cell, RowKind, Tally};
use crate::weight::Weight;

/// Self and total weights by name and run.
pub(crate) struct RunWeights {
    tally: Tally,
    run: usize,
    path: Vec<u8>,
    open: Vec<Open>,
    sums: Vec<Weight>,
    /// The blocks of each run; none where times are not known.
    blocks: Vec<Whole>,
    /// The spread of self and total weight between blocks, for each name and run.
    spread: Vec<[Moments; 2]>,
    /// The cells of the run when its last block ended, by name.
    marks: Vec<Cell>,
    mark: Weight,
}

/// A name, and its weights run by run.
pub(crate) struct NamedWeights<'w> {
    pub(crate) name: &'w [u8],
    /// A cell for each run.
    pub(crate) cells: &'w [Cell],
    /// The spread of self and total weight between the blocks of each run; empty without blocks.
    pub(crate) spread: &'w [[Moments; 2]],
}

/// A frame on the path.
#[derive(Clone, Copy)]
struct Open {
    end: usize,
    /// The weight of the run when it was opened.
    start: Weight,
    own: Weight,
}

impl RunWeights {
    /// No weights yet, of this many runs.
    pub(crate) fn new(group: RowKind, runs: usize) -> RunWeights {
        RunWeights {
            tally: Tally::new(group, runs),
            run: 0,
            path: Vec::new(),
            open: Vec::new(),
            sums: vec![Weight::ZERO; runs],
            blocks: vec![Whole::default(); runs],
            spread: Vec::new(),
            marks: Vec::new(),
            mark: Weight::ZERO,
        }
    }

    /// The weights of two sides of one run each.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(crate) fn of_sides(before: RunWeights, after: RunWeights) -> Result<RunWeights> {
        let mut both = RunWeights::new(before.tally.group(), 2);
        for (run, mut side) in [before, after].into_iter().enumerate() {
            side.finish()?;
            both.tally.begin(run);
            for (name, cells) in side.tally.numbered() {
                both.tally.enter(name);
                both.tally.exit(cells[0].own, cells[0].total)?;
            }
            both.sums[run] = side.sums[0];
        }
        Ok(both)
    }

    /// Ends one run and begins with another.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(crate) fn begin(&mut self, run: usize) -> Result<()> {
        self.close(0)?;
        if self.blocks[self.run].blocks > 0 && self.sums[self.run] != self.mark {
            self.end_block()?;
        }
        self.path.clear();
        self.run = run;
        self.tally.begin(run);
        self.marks.clear();
        self.mark = Weight::ZERO;
        Ok(())
    }

    /// Ends a block of the run: what was added since the one before.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(crate) fn end_block(&mut self) -> Result<()> {
        self.close(0)?;
        self.path.clear();
        let runs = self.sums.len();
        let sum = self.sums[self.run];
        let whole = sum.checked_sub(self.mark)?.to_f64();
        self.mark = sum;
        self.blocks[self.run].add(whole);
        for (key, cells) in self.tally.cells().enumerate() {
            if key == self.marks.len() {
                self.marks.push(Cell::default());
            }
            let (now, before) = (cells[self.run], std::mem::replace(&mut self.marks[key], cells[self.run]));
            if now == before {
                continue;
            }
            let at = key * runs + self.run;
            if self.spread.len() <= at {
                self.spread.resize((key + 1) * runs, [Moments::default(); 2]);
            }
            let [own, total] = &mut self.spread[at];
            own.add(now.own.checked_sub(before.own)?.to_f64(), whole);
            total.add(now.total.checked_sub(before.total)?.to_f64(), whole);
        }
        Ok(())
    }

    /// Ends the last run.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.begin(0)
    }

    /// Adds a stack to the run. Any order gives the same sums; frame order is fastest.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(crate) fn add(&mut self, stack: &[u8], weight: Weight) -> Result<()> {
        let sum = self.sums[self.run].checked_add(weight)?;
        match self.tally.group() {
            RowKind::Function | RowKind::Module => {
                self.open_path(stack)?;
                if let Some(leaf) = self.open.last_mut() {
                    leaf.own = leaf.own.checked_add(weight)?;
                }
            }
            RowKind::Stack | RowKind::Thread => self.tally.stack(stack, weight)?,
        }
        self.sums[self.run] = sum;
        Ok(())
    }

    /// Closes the frames that the stack does not share with the one before, and opens the rest.
    fn open_path(&mut self, stack: &[u8]) -> Result<()> {
        let same = common_prefix(&self.path, stack);
        let goes_on = |open: &Open| {
            open.end < same || (open.end == same && matches!(stack.get(same), None | Some(b';')))
        };
        let kept = self.open.iter().rposition(goes_on).map_or(0, |last| last + 1);
        self.close(kept)?;
        let mut start = self.open.last().map_or(0, |open| open.end + 1);
        self.path.clear();
        self.path.extend_from_slice(stack);
        // It is the beginning of the one before, or that one.
        if start > stack.len() {
            return Ok(());
        }
        loop {
            let end = memchr::memchr(b';', &stack[start..]).map_or(stack.len(), |n| start + n);
            self.tally.enter(&stack[start..end]);
            self.open.push(Open { end, start: self.sums[self.run], own: Weight::ZERO });
            if end == stack.len() {
                return Ok(());
            }
            start = end + 1;
        }
    }

    /// Closes all frames but the first `kept`.
    fn close(&mut self, kept: usize) -> Result<()> {
        while self.open.len() > kept {
            let Some(Open { start, own, .. }) = self.open.pop() else { break };
            self.tally.exit(own, self.sums[self.run].checked_sub(start)?)?;
        }
        Ok(())
    }

    /// The weight of each run.
    pub(crate) fn sums(&self) -> &[Weight] {
        &self.sums
    }

    /// The blocks of each run.
    pub(crate) fn blocks(&self) -> &[Whole] {
        &self.blocks
    }

    /// Every name and its weights, in the order of the names' bytes.
    pub(crate) fn rows(&self) -> Vec<NamedWeights<'_>> {
        let runs = self.sums.len();
        let of_key = |(key, (name, cells)): (usize, (_, _))| {
            let spread = self.spread.get(key * runs..(key + 1) * runs).unwrap_or_default();
            NamedWeights { name, cells, spread }
        };
        let mut rows: Vec<_> = self.tally.numbered().enumerate().map(of_key).collect();
        rows.sort_unstable_by(|a, b| a.name.cmp(b.name));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(group: RowKind, stacks: &[(&str, i128)]) -> Vec<String> {
        let mut tally = RunWeights::new(group, 1);
        tally.begin(0).unwrap();
        for (stack, weight) in stacks {
            tally.add(stack.as_bytes(), Weight::new(*weight)).unwrap();
        }
        tally.finish().unwrap();
        let shown = |row: NamedWeights<'_>| {
            let Cell { own, total } = row.cells[0];
            format!("{} {own} {total}", String::from_utf8_lossy(row.name))
        };
        tally.rows().into_iter().map(shown).collect()
    }

    #[test]
    fn recursion_is_counted_once() {
        let stacks = [("a;b", 1), ("a;b;a", 2), ("a;b;a;b", 4), ("a;c;c;c", 8)];
        assert_eq!(rows(RowKind::Function, &stacks), ["a 2 15", "b 5 7", "c 8 8"]);
    }

    #[test]
    fn any_order_gives_the_same() {
        let sorted = [("a", 1), ("a;b;c", 2), ("a;b;d", 4), ("a b", 8), ("b;a", 16)];
        let expected = ["a 17 23", "a b 8 8", "b 0 22", "c 2 2", "d 4 4"];
        assert_eq!(rows(RowKind::Function, &sorted), expected);
        let mut other = sorted;
        other.reverse();
        assert_eq!(rows(RowKind::Function, &other), expected);
        other.swap(0, 3);
        assert_eq!(rows(RowKind::Function, &other), expected);
    }

    #[test]
    fn other_groups() {
        assert!(matches!(crate::diff::ReportOptions::default().by(RowKind::Module).by, RowKind::Module));
        let stacks = [("t;m::f;m::g", 1), ("t;m::f;n::h", 2), ("u;n::h", 4)];
        assert_eq!(rows(RowKind::Module, &stacks), ["[no module] 0 7", "m 1 3", "n 6 6"]);
        assert_eq!(rows(RowKind::Thread, &stacks), ["t 3 3", "u 4 4"]);
        assert_eq!(rows(RowKind::Stack, &stacks), ["t;m::f;m::g 1 1", "t;m::f;n::h 2 2", "u;n::h 4 4"]);
    }

    #[test]
    fn runs_are_kept_apart() {
        let mut tally = RunWeights::new(RowKind::Function, 2);
        tally.begin(0).unwrap();
        tally.add(b"a;b", Weight::ONE).unwrap();
        tally.begin(1).unwrap();
        tally.add(b"a", Weight::new(5)).unwrap();
        tally.finish().unwrap();
        assert_eq!(tally.sums(), [Weight::ONE, Weight::new(5)]);
        let NamedWeights { name, cells, .. } = tally.rows()[0];
        assert_eq!((name, cells[0].total, cells[1].total), (&b"a"[..], Weight::ONE, Weight::new(5)));
    }

    #[test]
    fn the_spread_between_blocks_is_kept() {
        let mut tally = RunWeights::new(RowKind::Function, 2);
        tally.begin(1).unwrap();
        for block in [[("a", 3), ("a;b", 1)], [("a;b", 2), ("c", 4)], [("a", 1), ("a", 1)]] {
            for (stack, weight) in block {
                tally.add(stack.as_bytes(), Weight::new(weight)).unwrap();
            }
            tally.end_block().unwrap();
        }
        tally.finish().unwrap();
        let moments = |weights: [f64; 3]| {
            let mut moments = Moments::default();
            for (weight, of) in weights.into_iter().zip([4.0, 6.0, 2.0]) {
                moments.add(weight, of);
            }
            moments
        };
        let rows = tally.rows();
        let spread = |row: usize| rows[row].spread.get(1).copied().unwrap_or_default();
        assert_eq!(spread(0), [moments([3.0, 0.0, 2.0]), moments([4.0, 2.0, 2.0])]);
        assert_eq!(spread(1), [moments([1.0, 2.0, 0.0]), moments([1.0, 2.0, 0.0])]);
        assert_eq!(spread(2), [moments([0.0, 4.0, 0.0]), moments([0.0, 4.0, 0.0])]);
        assert_eq!(tally.blocks()[1], Whole { blocks: 3, weight: 12.0, squares: 56.0 });
        assert!(!tally.blocks()[0].is_known() && tally.blocks()[1].is_known());
    }

    #[test]
    fn a_run_of_blocks_ends_with_a_block_of_what_is_left() {
        let mut tally = RunWeights::new(RowKind::Function, 3);
        for (run, left) in [(0, Some(2)), (1, None)] {
            tally.begin(run).unwrap();
            tally.add(b"a", Weight::new(3)).unwrap();
            tally.end_block().unwrap();
            if let Some(left) = left {
                tally.add(b"a", Weight::new(left)).unwrap();
            }
        }
        // Where nothing says when a block ends there are none.
        tally.begin(2).unwrap();
        tally.add(b"a", Weight::new(4)).unwrap();
        tally.begin(0).unwrap();
        assert_eq!(tally.blocks()[0], Whole { blocks: 2, weight: 5.0, squares: 13.0 });
        assert_eq!(tally.blocks()[1], Whole { blocks: 1, weight: 3.0, squares: 9.0 });
        assert_eq!(tally.blocks()[2], Whole::default());
    }

    #[test]
    fn an_empty_frame_is_a_frame() {
        assert_eq!(rows(RowKind::Function, &[("a", 1), ("a;", 2), ("a;;b", 4)]), [" 2 6", "a 1 7", "b 4 4"]);
    }
}

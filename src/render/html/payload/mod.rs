//! The data of a page: the whole call tree in a byte and a half a node or so.
//!
//! A frame is told when it is complete, after those it calls, so the tree is written in that
//! order, and nothing is kept but the names, each once, what followed them, and compressed columns.
//! Every column is a zlib stream, whose checksum finds damage, of varints: seven bits a byte, the
//! lowest first, the high bit set on all bytes but the last.
//!
//! | section | for each |
//! |---|---|
//! | `rises` | frame: its depth, less that of the frame before it, plus one. 0 is the caller of the frame before, all else a new leaf; before the first frame the depth is 0 |
//! | `leaves` | leaf: what its name is, see below |
//! | `callers` | other frame: the same |
//! | `known` | name that the two say is to be found here: its number |
//! | `leaf-weights` | leaf: which weight is its own |
//! | `caller-weights` | other frame: the same |
//! | `leaf-befores`, `caller-befores` | the same before; missing when there is one column |
//! | `values` | weight that the four say is to be found here: itself, times ten to the power of the decimals |
//! | `ranks` | name, as it is numbered: its place in the order of their bytes, less that of the name before and one; 0, -1, 1, -2 … as 0, 1, 2, 3 … |
//! | `shared` | name, in the order of their bytes: the number of bytes that it shares with the beginning of the one before |
//! | `lengths` | name, in that order: the number of bytes that follow |
//! | `texts` | name, in that order: those bytes, one after the other, no varints |
//! | `hues` | name, as it is numbered: the hue that the palette gives it, a byte; missing for a palette that does not look at names |
//! | `kinds` | name, as it is numbered: the kind of its code, a byte: 0 unknown, 1 user, 2 kernel, 3 compiled at run time; 4 more for a function that is inlined |
//! | `modules` | module: its name and a 0 byte, no varints |
//! | `name-modules` | name, as it is numbered: the number of its module, from 1 in the order of `modules`; 0 is unknown |
//!
//! | `time-deltas` | sample of the time line, by thread and in the order of time: the steps of time since the one before it in the thread, before the first of which it is 0 |
//! | `time-stacks` | the same: the number of the frame in which its stack ends, in the order of this file, less that of the one before it in the thread; 0, -1, 1 … as 0, 1, 2 … |
//! | `time-weights` | the same: which weight it has, as for frames, of `time-values` |
//! | `time-values` | weight that `time-weights` says is to be found here |
//! | `time-durations` | sample of the time line: the steps over which its weight is spread, those of a wait or a call; 0 for a moment; missing where all are |
//!
//! A recording of several values has all stacks of all of them in `rises` to `known`. The weights above
//! are those of the first; another one has `leaf-weights`, `caller-weights`, `values`, `source` and the
//! sections of a time line for itself, with its number and a hyphen in front of the name: `1-values`.
//!
//! Without source lines there is no section `source`, which is JSON: see `source.rs`. Without times there is no section of the time line. The step of time and the threads with their
//! numbers of samples are in `about`; with `coarse`, some samples stand for others of their stack and thread, and with a number of `pooled`
//! ones also for so many light stacks beside theirs.
//!
//! `kinds` is missing where no kind is known, and so are the modules where none is: folded text
//! tells neither.
//!
//! Names are numbered from 0 as they first appear. Few functions have many callers, so a name is
//! found by the name before: each name has a list of the names that came right after it as its
//! caller (the rise is 0), and one of those that came after it as a leaf. 2 is the first place in
//! that list, and so on. 0 is the name that has no number yet, which is the next one; 1 says that the
//! number is in `known`. Both go to the end of the list unless that has 126. Before the first frame
//! came name 0.
//!
//! Weights are numbered as well: 1 is none at all, 0 is the next one in `values`, which then has the
//! next number, as long as numbers are below 16384.
//!
//! Totals, starts and the frame above follow from depths and order. Weights are whole numbers of the
//! smallest step known *so far*: [`Payload::scales`] lists the number of decimals and the frame from
//! which on it holds.

mod column;
mod guesses;
mod others;
mod places;
pub(super) mod source;
mod texts;
mod thinning;
pub(super) mod times;
mod weights;

use crate::error::Result;
use crate::folded::{Frame, FrameId, Places, StackTable, Visitor, Weights};
use crate::weight::Weight;
use column::Column;
pub(super) use column::deflate;
use guesses::{Guesses, KNOWN};
pub(super) use others::{Fold, Shares};
use weights::WeightColumns;

/// The sections of a page, compressed, and the numbers that are needed to read them.
pub struct Payload {
    /// The name and the bytes of each section.
    pub sections: Vec<(String, Vec<u8>)>,
    /// The number of frames.
    pub frames: u64,
    /// The number of a frame, and the decimals of the weights from there on.
    pub scales: Vec<(u64, u8)>,
    /// The first frames of stacks are functions, not processes or threads: `None` where no place
    /// of code is known.
    pub roots_are_code: Option<bool>,
}

/// The number of the hue that a palette gives a name.
pub type Hues<'a> = &'a dyn Fn(&[u8]) -> u8;

/// Takes a walked call tree.
pub struct Encoder {
    names: StackTable,
    /// The names of frames without a caller.
    roots: Vec<FrameId>,
    previous_depth: usize,
    rises: Column,
    leaves: Column,
    callers: Column,
    known: Column,
    guesses: Guesses,
    previous_name: FrameId,
    weights: WeightColumns,
}

impl Encoder {
    /// Writes every weight multiplied by this.
    pub fn new(factor: Weight) -> Encoder {
        Encoder {
            names: StackTable::default(),
            roots: Vec::new(),
            previous_depth: 0,
            rises: Column::default(),
            leaves: Column::default(),
            callers: Column::default(),
            known: Column::default(),
            guesses: Guesses::default(),
            previous_name: FrameId(0),
            weights: WeightColumns::new(factor),
        }
    }

    /// The number of decimals of the weights, once all frames are told.
    pub fn decimals(&self) -> u8 {
        self.weights.decimals()
    }

    /// An encoder of the same tree, some of whose frames are told as one.
    pub fn again(&self) -> Encoder {
        Encoder { weights: self.weights.again(), ..Encoder::new(Weight::ONE) }
    }

    /// The number of frames so far.
    pub fn frames(&self) -> u64 {
        self.weights.frames()
    }

    /// The number of compressed bytes of all sections so far, or somewhat more.
    ///
    /// # Errors
    /// None in practice: compressing into memory does not fail.
    pub fn bytes(&self) -> Result<usize> {
        let names: usize = texts::sections(&self.names)?.iter().map(|(_, bytes)| bytes.len()).sum();
        let columns = [&self.rises, &self.leaves, &self.callers, &self.known].map(Column::bytes);
        // Hues, kinds and modules are some bytes a name.
        Ok(columns.iter().sum::<usize>() + self.weights.bytes() + names + 4 * self.names.frame_count())
    }

    /// The names so far.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.names.frame_count() as u32).map(|n| self.names.name(FrameId(n)))
    }

    /// Adds the hues of names, if the palette goes by names, and their places, and closes all columns.
    /// In a private page, modules have no folders.
    ///
    /// # Errors
    /// None in practice: compressing into memory does not fail.
    pub fn finish(self, hue: Option<Hues<'_>>, places: &Places, private: bool) -> Result<Payload> {
        let mut names = texts::sections(&self.names)?;
        names.extend(places::sections(&self.names, places, private)?);
        let is_code = |root: &FrameId| places.get(self.names.name(*root)).is_some();
        let roots_are_code = (!places.is_empty()).then(|| self.roots.iter().any(is_code));
        if let Some(hue) = hue {
            let mut hues = Column::of_names();
            self.names().try_for_each(|name| hues.extend(&[hue(name)]))?;
            names.push(("hues", hues.finish()?));
        }
        let frames = self.weights.frames();
        let mut sections = vec![
            ("rises", self.rises.finish()?),
            ("leaves", self.leaves.finish()?),
            ("callers", self.callers.finish()?),
            ("known", self.known.finish()?),
        ];
        let (weights, scales) = self.weights.finish()?;
        sections.extend(weights);
        sections.extend(names);
        let sections = sections.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect();
        Ok(Payload { sections, frames, scales, roots_are_code })
    }
}

impl Visitor for Encoder {
    fn exit(&mut self, frame: Frame<'_>, _: Weights) -> Result<()> {
        let Frame { name, depth, own, .. } = frame;
        let rise = depth + 1 - self.previous_depth;
        self.rises.push(rise as u128)?;
        self.previous_depth = depth;
        let is_leaf = rise > 0;
        let (name, guess) = self.guesses.guess(&mut self.names, self.previous_name, is_leaf, name);
        self.previous_name = name;
        if depth == 0 && self.roots.last() != Some(&name) {
            self.roots.push(name);
        }
        let column = if is_leaf { &mut self.leaves } else { &mut self.callers };
        column.push(guess.into())?;
        if guess == KNOWN {
            self.known.push(name.0.into())?;
        }
        self.weights.push(is_leaf, own)
    }

    fn restart(&mut self) -> Result<()> {
        *self = Encoder::new(self.weights.factor());
        Ok(())
    }
}

/// Takes the weights of another value of a call tree that an [`Encoder`] has taken.
pub struct WeightEncoder {
    previous_depth: usize,
    weights: WeightColumns,
}

impl WeightEncoder {
    /// Writes every weight multiplied by this.
    pub fn new(factor: Weight) -> WeightEncoder {
        WeightEncoder { previous_depth: 0, weights: WeightColumns::new(factor) }
    }

    /// The number of decimals of the weights, once all frames are told.
    pub fn decimals(&self) -> u8 {
        self.weights.decimals()
    }

    /// An encoder of the weights of the same tree, some of whose frames are told as one.
    pub fn again(&self) -> WeightEncoder {
        WeightEncoder { previous_depth: 0, weights: self.weights.again() }
    }

    /// The number of compressed bytes so far.
    pub fn bytes(&self) -> usize {
        self.weights.bytes()
    }

    /// The sections of the weights, without names.
    ///
    /// # Errors
    /// None in practice: compressing into memory does not fail.
    pub fn finish(self) -> Result<Payload> {
        let frames = self.weights.frames();
        let (sections, scales) = self.weights.finish()?;
        let sections = sections.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect();
        Ok(Payload { sections, frames, scales, roots_are_code: None })
    }
}

impl Visitor for WeightEncoder {
    fn exit(&mut self, frame: Frame<'_>, _: Weights) -> Result<()> {
        let is_leaf = frame.depth + 1 > self.previous_depth;
        self.previous_depth = frame.depth;
        self.weights.push(is_leaf, frame.own)
    }

    fn restart(&mut self) -> Result<()> {
        *self = WeightEncoder::new(self.weights.factor());
        Ok(())
    }
}

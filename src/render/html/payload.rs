//! The data of a page: the whole call tree in a byte and a half a node or less.
//!
//! A frame is told when it is complete, after those it calls, so the tree is written in that
//! order, and nothing is kept but the names, each once, and compressed columns. Every column is a
//! raw deflate stream of varints: seven bits a byte, the lowest first, the high bit set on all
//! bytes but the last.
//!
//! | section | for each |
//! |---|---|
//! | `rises` | frame: its depth, less that of the frame before it, plus one. 0 is the caller of the frame before, all else a new leaf; before the first frame the depth is 0 |
//! | `names` | frame: what its name is, see below |
//! | `weights` | frame: its self weight, times ten to the power of the decimals |
//! | `befores` | frame: the same before; missing when there is one column |
//! | `lengths` | name: its length in bytes |
//! | `texts` | name: its bytes, one after the other, no varints |
//! | `hues` | name: what the palette takes it for, a byte; missing when the palette asks nothing |
//!
//! Names are numbered from 0 as they first appear. Few functions have many callers, so a name is
//! found by what came before: each name has a list of the names that came right after it as its
//! caller (the rise is 0), and one of those that came after it as a leaf. A number from 1 on is a
//! place in that list; 0 is followed by the number of the name, which goes to the end of the list
//! unless that has 127. Before the first frame came name 0.
//!
//! Totals, starts and the frame above follow from
//! depths and order. Weights are whole numbers of the smallest step known *so far*:
//! [`Payload::scales`] lists from which frame on there are how many decimals.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use crate::error::Result;
use crate::folded::{Frame, FrameId, StackTable, Visitor, Weights};
use crate::weight::Weight;

/// How hard to compress. Of 2.1 million frames, in bytes a frame in the file and processor seconds
/// with reading (0.19): level 2 1.02 and 0.24, 3 0.98 and 0.26, 4 0.96 and 0.29, 6 0.90 and 0.41.
const LEVEL: u32 = 3;
/// No name has more guesses of a kind; so they are a byte each.
const MOST_GUESSES: usize = 127;
/// Columns are compressed in pieces of this size, in bytes.
const PIECE: usize = 32 * 1024;

/// The sections of a page, compressed, and what has to be known to read them.
pub struct Payload {
    /// Each section's name and bytes.
    pub sections: Vec<(&'static str, Vec<u8>)>,
    /// How many frames there are.
    pub frames: u64,
    /// From the frame of this number on, weights have so many decimals.
    pub scales: Vec<(u64, u8)>,
}

/// Says what the palette takes a name for.
pub type Hues<'a> = &'a dyn Fn(&[u8]) -> u8;

/// Takes a walked call tree.
pub struct Encoder {
    /// What weights are multiplied by, if not by one.
    factor: Option<Weight>,
    names: StackTable,
    previous_depth: usize,
    frames: u64,
    decimals: u8,
    scales: Vec<(u64, u8)>,
    rises: Column,
    ids: Column,
    guesses: Guesses,
    previous_name: u32,
    weights: Column,
    befores: Option<Column>,
}

impl Encoder {
    /// Writes every weight multiplied by this.
    pub fn new(factor: Weight) -> Encoder {
        Encoder {
            factor: Some(factor).filter(|&factor| factor != Weight::ONE),
            names: StackTable::default(),
            previous_depth: 0,
            frames: 0,
            decimals: 0,
            scales: Vec::new(),
            rises: Column::default(),
            ids: Column::default(),
            guesses: Guesses::default(),
            previous_name: 0,
            weights: Column::default(),
            befores: None,
        }
    }

    /// The names so far.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.names.frame_count() as u32).map(|n| self.names.name(FrameId(n)))
    }

    /// Adds a column of one byte for each name, and closes all.
    ///
    /// # Errors
    /// None in practice: compressing into memory does not fail.
    pub fn finish(self, hue: Option<Hues<'_>>) -> Result<Payload> {
        let (mut lengths, mut texts, mut hues) = (Column::default(), Column::default(), Column::default());
        for name in self.names() {
            lengths.push(name.len() as u128)?;
            texts.extend(name)?;
            if let Some(hue) = hue {
                hues.extend(&[hue(name)])?;
            }
        }
        let mut sections = vec![
            ("rises", self.rises.finish()?),
            ("names", self.ids.finish()?),
            ("weights", self.weights.finish()?),
        ];
        if let Some(befores) = self.befores {
            sections.push(("befores", befores.finish()?));
        }
        sections.extend([("lengths", lengths.finish()?), ("texts", texts.finish()?)]);
        if hue.is_some() {
            sections.push(("hues", hues.finish()?));
        }
        Ok(Payload { sections, frames: self.frames, scales: self.scales })
    }

    /// Weights as whole numbers, after and before; what is finer than all before makes the step smaller.
    #[inline]
    fn whole(&mut self, own: Weights) -> Result<(u128, u128)> {
        let mut own = own;
        if let Some(factor) = self.factor {
            own = Weights { value: own.value.times(factor)?, before: own.before.times(factor)? };
        }
        let decimals = own.value.decimals().max(own.before.decimals());
        if decimals > self.decimals {
            self.decimals = decimals;
            self.scales.push((self.frames, decimals));
        }
        Ok((own.value.in_steps(self.decimals)?, own.before.in_steps(self.decimals)?))
    }
}

impl Visitor for Encoder {
    fn exit(&mut self, frame: Frame<'_>, _: Weights) -> Result<()> {
        let Frame { name, depth, own, .. } = frame;
        let rise = depth + 1 - self.previous_depth;
        self.rises.push(rise as u128)?;
        self.previous_depth = depth;
        let FrameId(name) = self.names.frame(name);
        let guess = self.guesses.number(self.previous_name, rise > 0, name);
        self.previous_name = name;
        self.ids.push(guess.into())?;
        if guess == 0 {
            self.ids.push(name.into())?;
        }
        let (value, before) = self.whole(own)?;
        self.weights.push(value)?;
        if self.befores.is_none() && before > 0 {
            let mut befores = Column::default();
            (0..self.frames).try_for_each(|_| befores.push(0))?;
            self.befores = Some(befores);
        }
        if let Some(befores) = &mut self.befores {
            befores.push(before)?;
        }
        self.frames += 1;
        Ok(())
    }

    fn restart(&mut self) -> Result<()> {
        *self = Encoder::new(self.factor.unwrap_or(Weight::ONE));
        Ok(())
    }
}

/// What came after each name before: its callers, and the leaves that followed it. Few names have
/// many of either, so that a small number says which one it is this time.
#[derive(Default)]
struct Guesses {
    /// Two lists for each name: callers, leaves.
    lists: Vec<Guess>,
}

/// A list; what came first, which comes most often, is at hand without another look at memory.
#[derive(Clone, Default)]
struct Guess {
    first: Option<u32>,
    others: Vec<u32>,
}

impl Guesses {
    /// Which one of those that came after `previous` this is, counted from 1; 0 if it is none of
    /// them, and then it is one from now on.
    #[inline]
    fn number(&mut self, previous: u32, is_leaf: bool, name: u32) -> u32 {
        let list = 2 * previous as usize + usize::from(is_leaf);
        if let Some(Guess { first: Some(first), .. }) = self.lists.get(list)
            && *first == name
        {
            return 1;
        }
        self.other(list, name)
    }

    fn other(&mut self, list: usize, name: u32) -> u32 {
        if self.lists.len() <= list {
            self.lists.resize(list + 1, Guess::default());
        }
        let Guess { first, others } = &mut self.lists[list];
        if first.is_none() {
            *first = Some(name);
            return 0;
        }
        match others.iter().position(|&known| known == name) {
            Some(at) => at as u32 + 2,
            None => {
                if others.len() + 1 < MOST_GUESSES {
                    others.push(name);
                }
                0
            }
        }
    }
}

/// A column being written.
struct Column {
    piece: Vec<u8>,
    compressed: DeflateEncoder<Vec<u8>>,
}

impl Default for Column {
    fn default() -> Self {
        let compressed = DeflateEncoder::new(Vec::new(), Compression::new(LEVEL));
        Column { piece: Vec::new(), compressed }
    }
}

impl Column {
    #[inline]
    fn push(&mut self, value: u128) -> Result<()> {
        if value < 0x80 {
            self.piece.push(value as u8);
        } else {
            self.push_long(value);
        }
        if self.piece.len() >= PIECE { self.compress() } else { Ok(()) }
    }

    fn push_long(&mut self, mut value: u128) {
        while value >= 0x80 {
            self.piece.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.piece.push(value as u8);
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<()> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE { self.compress() } else { Ok(()) }
    }

    #[inline(never)]
    fn compress(&mut self) -> Result<()> {
        self.compressed.write_all(&self.piece)?;
        self.piece.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<u8>> {
        self.compress()?;
        Ok(self.compressed.finish()?)
    }
}

/// A piece of data that is no column.
///
/// # Errors
/// None in practice: compressing into memory does not fail.
pub(super) fn deflate(bytes: &[u8]) -> Result<Vec<u8>> {
    // It is small: its size counts, not the time.
    let mut compressed = DeflateEncoder::new(Vec::new(), Compression::best());
    compressed.write_all(bytes)?;
    Ok(compressed.finish()?)
}

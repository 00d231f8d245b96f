//! The names that came after each name before: its callers, and the leaves that followed it. Few
//! names have many of either, so a small number is enough to name one of them.

use crate::folded::{FrameId, StackTable};

/// The most guesses of a kind for a name: each fits into a byte.
const MOST_GUESSES: usize = 126;
/// The name was not there before at all: it has the next number.
pub(super) const NEW: u32 = 0;
/// The name was there before, but not here: its number follows, in a column of its own.
pub(super) const KNOWN: u32 = 1;
/// From here on the number is a place in the list.
const PLACE: u32 = 2;

/// Two lists for each name: callers, leaves.
#[derive(Default)]
pub(super) struct Guesses {
    lists: Vec<Guess>,
}

/// A list. Its first name, the most frequent one, is at hand without another look at memory.
#[derive(Clone, Default)]
struct Guess {
    first: Option<FrameId>,
    others: Vec<FrameId>,
}

impl Guesses {
    /// The number of a name, and the guess that stands for it after `previous`.
    #[inline]
    pub(super) fn guess(
        &mut self,
        names: &mut StackTable,
        previous: FrameId,
        is_leaf: bool,
        name: &[u8],
    ) -> (FrameId, u32) {
        let list = 2 * previous.0 as usize + usize::from(is_leaf);
        // Most guesses are right, and then nothing has to be looked up.
        if let Some(Guess { first: Some(first), .. }) = self.lists.get(list)
            && names.name(*first) == name
        {
            return (*first, PLACE);
        }
        let known = names.frame_count();
        let id = names.frame(name);
        (id, self.other(list, id, id.0 as usize == known))
    }

    fn other(&mut self, list: usize, id: FrameId, is_new: bool) -> u32 {
        if self.lists.len() <= list {
            self.lists.resize(list + 1, Guess::default());
        }
        let Guess { first, others } = &mut self.lists[list];
        if first.is_none() {
            *first = Some(id);
        } else if let Some(at) = others.iter().position(|&other| other == id) {
            return PLACE + 1 + at as u32;
        } else if others.len() + 1 < MOST_GUESSES {
            others.push(id);
        }
        if is_new { NEW } else { KNOWN }
    }
}

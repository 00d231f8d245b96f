//! Lists of numbers in little memory: of each only what differs from the list before.
//!
//! The stacks of a profile are such lists, root first: neighbours share most of their frames. Where they do not,
//! most numbers still fit a byte or two. A million stacks of a profile in frame order take a tenth of what they
//! take as whole numbers.

use crate::bytes::{push_varint, varint};

/// The number of lists of a block. The first is there whole, so that a list is found by reading half a block.
const BLOCK: usize = 16;

/// Lists of numbers, and further numbers with each.
#[derive(Default)]
pub(crate) struct NumberLists {
    /// [`BLOCK`] lists each. Of a list there are: the length that it shares with the one before, the length of the
    /// rest, the rest, and the count of the further numbers, and those.
    blocks: Vec<Box<[u8]>>,
    /// The block being filled.
    open: Vec<u8>,
    last: Vec<u32>,
    len: usize,
    /// The bytes of all blocks that are full.
    full: usize,
}

impl NumberLists {
    /// The number of lists.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The bytes of memory that they take.
    pub(crate) fn bytes(&self) -> usize {
        self.full + size_of_val(&self.blocks[..]) + self.open.len() + size_of_val(&self.last[..])
    }

    /// Adds a list, and `more` numbers with it.
    pub(crate) fn push(&mut self, list: &[u32], more: &[u64]) {
        if self.len.is_multiple_of(BLOCK) {
            self.end_block();
        }
        let same = shared(&self.last, list);
        for number in [same, list.len() - same] {
            push_varint(number as u64, &mut self.open);
        }
        list[same..].iter().for_each(|&number| push_varint(number.into(), &mut self.open));
        push_varint(more.len() as u64, &mut self.open);
        more.iter().for_each(|&number| push_varint(number, &mut self.open));
        self.last.truncate(same);
        self.last.extend_from_slice(&list[same..]);
        self.len += 1;
    }

    fn end_block(&mut self) {
        self.last.clear();
        if !self.open.is_empty() {
            self.full += self.open.len();
            self.blocks.push(self.open.as_slice().into());
            self.open.clear();
        }
    }

    fn block(&self, number: usize) -> &[u8] {
        self.blocks.get(number).map_or(&self.open, |block| block)
    }

    /// The list of a number, by way of a cursor: the next one is found at once.
    pub(crate) fn get<'c>(&self, number: usize, cursor: &'c mut ListCursor) -> &'c [u32] {
        if cursor.next == number + 1 {
            return &cursor.list;
        }
        if number < cursor.next || number / BLOCK > cursor.next / BLOCK {
            (cursor.next, cursor.at) = (number / BLOCK * BLOCK, 0);
        }
        while cursor.next <= number {
            if cursor.next.is_multiple_of(BLOCK) {
                cursor.at = 0;
            }
            let mut rest = &self.block(cursor.next / BLOCK)[cursor.at..];
            let len = rest.len();
            cursor.step(&mut rest);
            cursor.at += len - rest.len();
            cursor.next += 1;
        }
        &cursor.list
    }

    /// Calls `each` with every list, the length that it shares with the one before, and its further numbers. The
    /// memory of lists is given back as they are read.
    ///
    /// # Errors
    /// Those of `each`.
    pub(crate) fn drain<E>(
        mut self,
        mut each: impl FnMut(&[u32], usize, &[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.end_block();
        let mut cursor = ListCursor::default();
        let mut before = Vec::new();
        for block in self.blocks {
            let mut rest = &block[..];
            let mut is_first = true;
            while !rest.is_empty() {
                let mut same = cursor.step(&mut rest);
                if std::mem::take(&mut is_first) {
                    same = shared(&before, &cursor.list);
                }
                each(&cursor.list, same, &cursor.more)?;
            }
            before.clone_from(&cursor.list);
        }
        Ok(())
    }
}

/// The length of what two lists begin with alike.
fn shared(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// A place in [`NumberLists`].
#[derive(Default)]
pub(crate) struct ListCursor {
    /// The number of the list that is read next, and where it begins in its block.
    next: usize,
    at: usize,
    list: Vec<u32>,
    more: Vec<u64>,
}

impl ListCursor {
    /// Reads a list, and returns the length that it shares with the one before.
    #[inline]
    fn step(&mut self, rest: &mut &[u8]) -> usize {
        let mut number = || varint(rest).expect("numbers are read as they were written");
        let (same, own) = (number() as usize, number());
        self.list.truncate(same);
        self.list.extend((0..own).map(|_| number() as u32));
        let more = number();
        self.more.clear();
        self.more.extend((0..more).map(|_| number()));
        same
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists that share much, little and nothing, longer than a block is.
    fn lists() -> Vec<(Vec<u32>, Vec<u64>)> {
        let list = |n: u32| {
            let len = n * 7 % 41;
            let list = (0..len).map(|depth| if depth + 3 > len { n << (n % 23) } else { depth }).collect();
            (list, (0..u64::from(n % 3)).map(|more| u64::MAX - more).collect())
        };
        (0..200).map(list).collect()
    }

    fn pushed(lists: &[(Vec<u32>, Vec<u64>)]) -> NumberLists {
        let mut all = NumberLists::default();
        lists.iter().for_each(|(list, more)| all.push(list, more));
        all
    }

    #[test]
    fn every_list_comes_back_in_any_order() {
        let lists = lists();
        let all = pushed(&lists);
        assert_eq!(all.len(), lists.len());
        let mut cursor = ListCursor::default();
        let backward = (0..lists.len()).rev();
        let leaps = (0..lists.len()).map(|n| n * 37 % lists.len());
        for number in (0..lists.len()).chain(backward).chain(leaps).chain([5, 5]) {
            assert_eq!(all.get(number, &mut cursor), lists[number].0, "{number}");
        }
    }

    #[test]
    fn a_drain_tells_what_neighbours_share() {
        let lists = lists();
        let mut seen = 0;
        let drained = pushed(&lists).drain(|list, same, more| {
            assert_eq!((list, more), (&lists[seen].0[..], &lists[seen].1[..]));
            let before = seen.checked_sub(1).map_or(&[][..], |before| &lists[before].0);
            assert_eq!(same, shared(before, list), "{seen}");
            seen += 1;
            if seen == lists.len() { Err("the end") } else { Ok(()) }
        });
        assert_eq!((drained, seen), (Err("the end"), lists.len()));
        assert_eq!(NumberLists::default().drain(|_, _, _| Err("there is none")), Ok(()));
    }

    #[test]
    fn what_is_alike_takes_hardly_any_memory() {
        let deep: Vec<u32> = (0..1000).map(|n| n << 20).collect();
        let mut all = NumberLists::default();
        (0..1600).for_each(|_| all.push(&deep, &[]));
        assert!(all.bytes() < 100 * 5200, "{}", all.bytes());
    }
}

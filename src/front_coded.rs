//! Front coded lists: of each only what differs from the list before it.
//!
//! The stacks of a profile are such lists, root first, of bytes or of the numbers of their frames: neighbours share
//! most of them. Where they do not, most numbers still fit a byte or two. A million stacks of a profile in frame
//! order take a tenth of what they take as whole numbers.

use std::io::{self, BufRead, ErrorKind};

use crate::bytes::{push_varint, varint_from};

/// An element of a list.
pub(crate) trait Element: Copy + PartialEq {
    /// Appends elements as [`Element::read`] reads them.
    fn write(elements: &[Self], out: &mut Vec<u8>);

    /// Appends the next `count` elements to `list`.
    ///
    /// # Errors
    /// Those of reading.
    fn read(count: usize, from: &mut impl BufRead, list: &mut Vec<Self>) -> io::Result<()>;
}

impl Element for u8 {
    #[inline]
    fn write(elements: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(elements);
    }

    #[inline]
    fn read(mut count: usize, from: &mut impl BufRead, list: &mut Vec<u8>) -> io::Result<()> {
        while count > 0 {
            let at_hand = from.fill_buf()?;
            let part = at_hand.len().min(count);
            if part == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            list.extend_from_slice(&at_hand[..part]);
            from.consume(part);
            count -= part;
        }
        Ok(())
    }
}

impl Element for u32 {
    #[inline]
    fn write(elements: &[u32], out: &mut Vec<u8>) {
        elements.iter().for_each(|&number| push_varint(number.into(), out));
    }

    #[inline]
    fn read(count: usize, from: &mut impl BufRead, list: &mut Vec<u32>) -> io::Result<()> {
        for _ in 0..count {
            list.push(read_varint(from)? as u32);
        }
        Ok(())
    }
}

/// Reads a number of seven bits a byte: [`crate::bytes::varint`].
///
/// # Errors
/// Those of reading.
#[inline]
pub(crate) fn read_varint(from: &mut impl BufRead) -> io::Result<u64> {
    let number = varint_from(|| {
        let &byte = from.fill_buf()?.first().ok_or(ErrorKind::UnexpectedEof)?;
        from.consume(1);
        Ok::<u8, io::Error>(byte)
    })?;
    number.ok_or_else(|| ErrorKind::InvalidData.into())
}

/// Lists one after the other, with some bytes behind each.
#[derive(Debug)]
pub(crate) struct FrontCoded<T> {
    /// Of each list: the length that it shares with the one before, the length of the rest, the rest, the
    /// number of bytes behind it, and those bytes.
    coded: Vec<u8>,
    last: Vec<T>,
}

impl<T> Default for FrontCoded<T> {
    fn default() -> Self {
        FrontCoded { coded: Vec::new(), last: Vec::new() }
    }
}

impl<T: Element> FrontCoded<T> {
    /// Adds a list, and the bytes behind it.
    #[inline]
    pub(crate) fn push(&mut self, list: &[T], behind: &[u8]) {
        self.push_sharing(shared(&self.last, list), list, behind);
    }

    /// [`FrontCoded::push`] of a list that is known to share its first `same` elements with the one before.
    #[inline]
    pub(crate) fn push_sharing(&mut self, same: usize, list: &[T], behind: &[u8]) {
        let rest = &list[same..];
        push_varint(same as u64, &mut self.coded);
        push_varint(rest.len() as u64, &mut self.coded);
        T::write(rest, &mut self.coded);
        push_varint(behind.len() as u64, &mut self.coded);
        self.coded.extend_from_slice(behind);
        self.last.truncate(same);
        self.last.extend_from_slice(rest);
    }

    /// The list that was added last; empty before the first.
    pub(crate) fn last(&self) -> &[T] {
        &self.last
    }

    /// All lists, as [`Entry::read`] reads them.
    pub(crate) fn coded(&self) -> &[u8] {
        &self.coded
    }

    /// Forgets the lists, which are kept elsewhere. What is added goes on behind them.
    pub(crate) fn forget(&mut self) {
        self.coded.clear();
    }

    /// Gives back the memory that further lists would fill.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.coded.shrink_to_fit();
    }

    /// Goes behind the last list, without reading it: from there only [`Place::default`] goes on.
    pub(crate) fn skip_all(&self, place: &mut Place<T>) {
        place.at = self.coded.len();
    }

    /// Goes to the next list, and returns the length that it shares with the one before; `None` if there is none.
    #[inline]
    pub(crate) fn next(&self, place: &mut Place<T>) -> Option<usize> {
        let mut rest = &self.coded[place.at..];
        let same = place.entry.read(&mut rest).expect(AS_WRITTEN);
        place.at = self.coded.len() - rest.len();
        same
    }
}

const AS_WRITTEN: &str = "lists are read as they were written";

/// A list, and the bytes behind it.
#[derive(Debug)]
pub(crate) struct Entry<T> {
    pub(crate) list: Vec<T>,
    pub(crate) behind: Vec<u8>,
}

impl<T> Default for Entry<T> {
    fn default() -> Self {
        Entry { list: Vec::new(), behind: Vec::new() }
    }
}

impl<T: Element> Entry<T> {
    /// Becomes the next list of [`FrontCoded::coded`], and returns the length that it shares with the one before;
    /// `None` at the end, where it stays as it is.
    ///
    /// # Errors
    /// Those of reading.
    #[inline]
    pub(crate) fn read(&mut self, from: &mut impl BufRead) -> io::Result<Option<usize>> {
        if from.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let (same, rest) = (read_varint(from)? as usize, read_varint(from)? as usize);
        self.list.truncate(same);
        T::read(rest, from, &mut self.list)?;
        let behind = read_varint(from)? as usize;
        self.behind.clear();
        u8::read(behind, from, &mut self.behind)?;
        Ok(Some(same))
    }
}

/// A place in [`FrontCoded`], and the list before it.
#[derive(Debug)]
pub(crate) struct Place<T> {
    at: usize,
    pub(crate) entry: Entry<T>,
}

impl<T> Default for Place<T> {
    fn default() -> Self {
        Place { at: 0, entry: Entry::default() }
    }
}

/// The length of what two lists begin with alike.
#[inline]
fn shared<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The number of lists of a block. The first is kept whole, so that a list is found by reading half a block.
const BLOCK: usize = 16;

/// Lists of numbers that are found by their place.
#[derive(Default)]
pub(crate) struct NumberLists {
    /// [`BLOCK`] lists each.
    blocks: Vec<Box<[u8]>>,
    /// The block being filled.
    open: FrontCoded<u32>,
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
        self.full + size_of_val(&self.blocks[..]) + self.open.coded.len() + size_of_val(&self.open.last[..])
    }

    /// Adds a list, and the bytes behind it.
    pub(crate) fn push(&mut self, list: &[u32], behind: &[u8]) {
        if self.len.is_multiple_of(BLOCK) {
            self.end_block();
        }
        self.open.push(list, behind);
        self.len += 1;
    }

    fn end_block(&mut self) {
        let FrontCoded { coded, last } = &mut self.open;
        last.clear();
        if !coded.is_empty() {
            self.full += coded.len();
            self.blocks.push(coded.as_slice().into());
            coded.clear();
        }
    }

    fn block(&self, number: usize) -> &[u8] {
        self.blocks.get(number).map_or(&self.open.coded, |block| block)
    }

    /// The list of a number, by way of a cursor: the next one is found at once.
    pub(crate) fn get<'c>(&self, number: usize, cursor: &'c mut ListCursor) -> &'c [u32] {
        let ListCursor { next, at, entry } = cursor;
        if *next == number + 1 {
            return &entry.list;
        }
        if number < *next || number / BLOCK > *next / BLOCK {
            (*next, *at) = (number / BLOCK * BLOCK, 0);
        }
        while *next <= number {
            if next.is_multiple_of(BLOCK) {
                *at = 0;
            }
            let mut rest = &self.block(*next / BLOCK)[*at..];
            let len = rest.len();
            entry.read(&mut rest).expect(AS_WRITTEN);
            *at += len - rest.len();
            *next += 1;
        }
        &entry.list
    }

    /// Calls `each` with every list, the length that it shares with the one before, and the bytes behind it. The
    /// memory of lists is given back as they are read.
    ///
    /// # Errors
    /// Those of `each`.
    pub(crate) fn drain<E>(
        mut self,
        mut each: impl FnMut(&[u32], usize, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.end_block();
        let mut entry = Entry::default();
        let mut before = Vec::new();
        for block in self.blocks {
            let mut rest = &block[..];
            let mut is_first = true;
            while let Some(mut same) = entry.read(&mut rest).expect(AS_WRITTEN) {
                if std::mem::take(&mut is_first) {
                    same = shared(&before, &entry.list);
                }
                each(&entry.list, same, &entry.behind)?;
            }
            before.clone_from(&entry.list);
        }
        Ok(())
    }
}

/// A place in [`NumberLists`].
#[derive(Default)]
pub(crate) struct ListCursor {
    /// The number of the list that is read next, and where it begins in its block.
    next: usize,
    at: usize,
    entry: Entry<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists that share much, little and nothing, longer than a block is.
    fn lists() -> Vec<(Vec<u32>, Vec<u8>)> {
        let list = |n: u32| {
            let len = n * 7 % 41;
            let list = (0..len).map(|depth| if depth + 3 > len { n << (n % 23) } else { depth }).collect();
            (list, vec![n as u8; n as usize * 70 % 210])
        };
        (0..200).map(list).collect()
    }

    fn pushed(lists: &[(Vec<u32>, Vec<u8>)]) -> NumberLists {
        let mut all = NumberLists::default();
        lists.iter().for_each(|(list, behind)| all.push(list, behind));
        all
    }

    /// Texts at the edges of the bytes of their lengths, and an empty one.
    fn texts() -> Vec<Vec<u8>> {
        let lengths = [0, 1, 126, 127, 128, 129, 255, 256, 16_383, 16_384, 16_385];
        let of_length = |len| [vec![b'a'; len], [vec![b'a'; len], b"x".to_vec()].concat(), vec![b'b'; len]];
        lengths.into_iter().flat_map(of_length).collect()
    }

    #[test]
    fn every_text_comes_back_again_and_again() {
        let mut all = FrontCoded::default();
        texts().iter().for_each(|text| all.push(text, &text[..text.len() / 2]));
        for _ in 0..2 {
            let mut place = Place::default();
            for text in texts() {
                assert!(all.next(&mut place).is_some(), "{} bytes", text.len());
                assert!(place.entry.list == text, "{} bytes", text.len());
                assert!(place.entry.behind == text[..text.len() / 2], "{} bytes", text.len());
            }
            assert_eq!(all.next(&mut place), None);
        }
    }

    #[test]
    fn what_is_read_in_parts_is_read_whole() {
        let mut all = FrontCoded::default();
        let mut parts = Vec::new();
        for text in texts() {
            all.push(&text, b"7");
            if all.coded().len() > 1000 {
                parts.extend_from_slice(all.coded());
                all.forget();
            }
        }
        let few = io::BufReader::with_capacity(3, &parts[..]);
        let mut source = io::Read::chain(few, all.coded());
        let mut entry = Entry::<u8>::default();
        for text in texts() {
            assert!(entry.read(&mut source).unwrap().is_some());
            assert!(entry.list == text && entry.behind == b"7", "{} bytes", text.len());
        }
        assert_eq!(entry.read(&mut source).unwrap(), None);
    }

    #[test]
    fn what_is_cut_short_is_an_error() {
        let mut all = FrontCoded::default();
        all.push(&[7u32, 300], b"text");
        for len in 1..all.coded().len() {
            let cut = Entry::<u32>::default().read(&mut &all.coded()[..len]);
            assert_eq!(cut.unwrap_err().kind(), ErrorKind::UnexpectedEof, "{len}");
        }
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
        let drained = pushed(&lists).drain(|list, same, behind| {
            assert_eq!((list, behind), (&lists[seen].0[..], &lists[seen].1[..]));
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

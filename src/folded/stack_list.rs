//! The stacks of a profile in memory, in frame order, to be read as lines of folded text any number of times.
//!
//! They are kept front coded, as numbers of names: a long name in many stacks is kept once.

use super::frame_id::FrameId;
use super::order::common_prefix;
use super::table::{NameList, StackTable};
use crate::error::Result;
use crate::front_coded::{FrontCoded, Place};
use crate::weight::Weight;

/// Stacks, with the weight of each behind it as text.
#[derive(Debug, Default)]
pub(crate) struct StackList(FrontCoded<FrameId>);

/// A place in a [`StackList`].
#[derive(Debug, Default)]
pub(crate) struct StackCursor {
    place: Place<FrameId>,
    line: Vec<u8>,
    /// The ends of the frames in the line.
    ends: Vec<usize>,
}

impl StackList {
    /// The stacks of a table.
    ///
    /// # Errors
    /// Those of [`StackTable::for_each`].
    pub(crate) fn of_table(table: &StackTable) -> Result<StackList> {
        let mut list = StackList::default();
        table.for_each_frames(&mut |stack, weights| {
            list.push(stack, weights.value);
            Ok(())
        })?;
        Ok(list)
    }

    /// Returns true if there are no stacks.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.coded().is_empty()
    }

    /// Adds a stack of frames without places.
    pub(crate) fn push(&mut self, stack: &[FrameId], weight: Weight) {
        let mut text = Vec::new();
        weight.write_to(&mut text);
        self.0.push(stack, &text);
    }

    /// The next stack and its weight as a line, and the number of bytes it has in common with `before`.
    pub(crate) fn next_line_like<'c>(
        &self,
        names: &NameList,
        cursor: &'c mut StackCursor,
        before: &[u8],
    ) -> Option<(&'c [u8], usize)> {
        let StackCursor { place, line, ends } = cursor;
        let same = self.0.next(place)?;
        ends.truncate(same);
        line.truncate(ends.last().copied().unwrap_or(0));
        for &frame in &place.entry.list[same..] {
            if !ends.is_empty() {
                line.push(b';');
            }
            line.extend_from_slice(names.name(frame));
            ends.push(line.len());
        }
        line.push(b' ');
        line.extend_from_slice(&place.entry.behind);
        Some((line, common_prefix(before, line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::{Columns, Weights, parse_line};

    #[test]
    fn gives_the_lines_of_a_table_again_and_again() {
        let mut table = StackTable::default();
        let lines = ["main 1", "main;b 2.5", "main;b;c 3", "main;b c;d 4", "x 300"];
        for line in lines.iter().rev() {
            let line = parse_line(line.as_bytes(), Columns::One).unwrap();
            table.add_stack(line.stack, line.weights).unwrap();
        }
        let (list, names) = (StackList::of_table(&table).unwrap(), table.name_list());
        for _ in 0..2 {
            let mut cursor = StackCursor::default();
            for line in lines {
                let (read, same) = list.next_line_like(&names, &mut cursor, b"main;b").unwrap();
                assert_eq!(std::str::from_utf8(read), Ok(line));
                assert_eq!(same, common_prefix(b"main;b", line.as_bytes()));
            }
            assert!(list.next_line_like(&names, &mut cursor, b"").is_none());
        }
    }

    #[test]
    fn a_long_name_in_many_stacks_is_there_once() {
        let mut table = StackTable::default();
        let long = table.frame(&[b'x'; 1 << 16]);
        for n in 0..300 {
            let leaf = table.frame(format!("f{n}").as_bytes());
            table.add(&[leaf, long], Weights::one(Weight::ONE)).unwrap();
        }
        assert!(StackList::of_table(&table).unwrap().0.coded().len() < 300 * 16);
    }
}

//! Samples without the part of their stack copies that holds nothing.
//!
//! The kernel reserves as many bytes for each copy of a stack as were asked for, and says behind them how many
//! it has filled: up to the end of the thread's stack. The rest is whatever the ring held before. A stack of 5 kB
//! takes 5 kB here, not 64.

use std::io;

use super::pieces::{Header, Pieces};
use crate::record::sys::perf_event::{Attr, record, sample};

/// The number of bytes that are handed over at once.
const PIECE: usize = 1 << 20;

/// The fields of the samples of a plan, as far as they say where the copy of the stack is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Behind the header: the fields before the call chain.
    before: usize,
    has_chain: bool,
    registers: usize,
}

impl Layout {
    /// The layout of the samples of an event; `None` if they copy nothing of the stack.
    pub fn of(attr: &Attr) -> Option<Layout> {
        const FIRST: [u64; 6] =
            [sample::IDENTIFIER, sample::IP, sample::TID, sample::TIME, sample::CPU, sample::PERIOD];
        let known = FIRST.into_iter().fold(0, |all, field| all | field);
        let behind = sample::CALLCHAIN | sample::REGS_USER | sample::STACK_USER;
        let has = |field: u64| attr.sample_type & field != 0;
        if !has(sample::STACK_USER) || !has(sample::REGS_USER) || attr.sample_type & !(known | behind) != 0 {
            return None;
        }
        let before = 8 * FIRST.into_iter().filter(|field| has(*field)).count();
        let registers = attr.sample_regs_user.count_ones() as usize;
        Some(Layout { before, has_chain: has(sample::CALLCHAIN), registers })
    }
}

impl Layout {
    /// The registers in a sample of this size at a place in a ring.
    pub fn registers_of(self, ring: Pieces<'_>, record: usize, size: usize) -> Vec<u64> {
        let end = record + size;
        let number = |at: usize| (at + 8 <= end).then(|| ring.word(at)).flatten();
        let mut at = record + 8 + self.before;
        if self.has_chain {
            let Some(count) = number(at).and_then(|n| usize::try_from(n).ok()).filter(|n| *n <= size) else {
                return Vec::new();
            };
            at += 8 + 8 * count;
        }
        match number(at) {
            None | Some(0) => Vec::new(),
            Some(_) => (1..=self.registers).map_while(|n| number(at + 8 * n)).collect(),
        }
    }
}

/// Hands over the records of a ring, some at a time.
///
/// # Errors
/// Those of `each`.
pub(super) fn records(
    all: Pieces<'_>,
    layout: Option<Layout>,
    buffer: &mut Vec<u8>,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let Some(layout) = layout else {
        each(all.0)?;
        return each(all.1);
    };
    let len = all.len();
    buffer.clear();
    for Header { at, kind, size, .. } in all.headers() {
        if size < 8 || size > len - at {
            // What is no record is left to those who read it.
            all.copy(at, len, buffer);
            break;
        }
        match stack(all, at, size, layout).filter(|_| kind == record::SAMPLE) {
            Some(Stack { from, reserved, kept }) => {
                let less = reserved - kept;
                let shorter = u16::try_from(size - less).expect("less than before").to_ne_bytes();
                all.copy(at, at + 6, buffer);
                buffer.extend_from_slice(&shorter);
                all.copy(at + 8, from - 8, buffer);
                buffer.extend_from_slice(&(kept as u64).to_ne_bytes());
                all.copy(from, from + kept, buffer);
                all.copy(from + reserved, at + size, buffer);
            }
            None => all.copy(at, at + size, buffer),
        }
        if buffer.len() >= PIECE {
            each(buffer)?;
            buffer.clear();
        }
    }
    each(buffer)
}

/// A copy of a stack.
struct Stack {
    /// Its first byte.
    from: usize,
    /// The bytes that the kernel has reserved.
    reserved: usize,
    /// The bytes that are worth keeping.
    kept: usize,
}

/// The copy in a sample; `None` if there is nothing to be left out of it.
fn stack(all: Pieces<'_>, record: usize, size: usize, layout: Layout) -> Option<Stack> {
    let end = record + size;
    let number = |at: usize| (at + 8 <= end).then(|| all.word(at)).flatten();
    let count = |at: usize| number(at).and_then(|count| usize::try_from(count).ok()).filter(|n| *n <= size);
    let mut at = record + 8 + layout.before;
    if layout.has_chain {
        at += 8 + 8 * count(at)?;
    }
    at += if number(at)? == 0 { 8 } else { 8 + 8 * layout.registers };
    let reserved = count(at)?;
    let from = at + 8;
    let used = count(from + reserved)?;
    // A copy that is full may go on: one number more shows that this one does not.
    let kept = used.checked_next_multiple_of(8)?.checked_add(8)?;
    (used > 0 && kept < reserved).then_some(Stack { from, reserved, kept })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ATTR: u64 = sample::IDENTIFIER
        | sample::IP
        | sample::TID
        | sample::TIME
        | sample::CPU
        | sample::PERIOD
        | sample::CALLCHAIN
        | sample::REGS_USER
        | sample::STACK_USER;

    fn layout() -> Layout {
        let attr = Attr { sample_type: ATTR, sample_regs_user: 0b101, ..Attr::default() };
        Layout::of(&attr).unwrap()
    }

    fn put(kind: u32, body: &[u64]) -> Vec<u8> {
        let size = u16::try_from(8 + 8 * body.len()).unwrap();
        let mut bytes = [&kind.to_ne_bytes()[..], &[0; 2], &size.to_ne_bytes()].concat();
        bytes.extend(body.iter().flat_map(|number| number.to_ne_bytes()));
        bytes
    }

    /// A sample with these numbers of stack, of which `used` bytes are filled.
    fn sample_of(stack: &[u64], used: u64) -> Vec<u8> {
        let mut body = vec![1, 2, 3, 4, 5, 6, 2, 0xa, 0xb, 2, 0x66, 0x77];
        body.push(8 * stack.len() as u64);
        body.extend_from_slice(stack);
        body.extend((!stack.is_empty()).then_some(used));
        put(record::SAMPLE, &body)
    }

    fn trimmed(ring: &[u8], cut: usize) -> Vec<u8> {
        let mut all = Vec::new();
        let (first, second) = ring.split_at(cut);
        records(Pieces(first, second), Some(layout()), &mut Vec::new(), |bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        })
        .unwrap();
        all
    }

    #[test]
    fn what_was_not_filled_is_left_out() {
        let other = put(record::COMM, &[7, 8]);
        let ring = [sample_of(&[1, 2, 3, 4, 5, 6, 7, 8], 16), other.clone()].concat();
        let expected = [sample_of(&[1, 2, 3], 16), other].concat();
        for cut in (0..=ring.len()).step_by(8) {
            assert_eq!(trimmed(&ring, cut), expected, "{cut}");
        }
    }

    #[test]
    fn registers_are_found_behind_the_chain() {
        let record = sample_of(&[1, 2], 16);
        let of = |size| layout().registers_of(Pieces(&record, &[]), 0, size);
        assert_eq!(of(record.len()), [0x66, 0x77]);
        assert_eq!((of(8), of(80)), (Vec::new(), Vec::new()));
    }

    #[test]
    fn what_is_full_or_no_such_sample_stays() {
        for record in [
            sample_of(&[1, 2, 3, 4], 32),
            sample_of(&[1, 2, 3, 4], 24),
            sample_of(&[1, 2, 3, 4], 0),
            sample_of(&[1, 2, 3, 4], 400),
            put(record::SAMPLE, &[1, 2, 3, 4, 5, 6, u64::MAX, 0]),
            put(record::SAMPLE, &[1]),
            put(record::LOST, &[1, 2]),
            vec![9; 24],
        ] {
            assert_eq!(trimmed(&record, 8), record);
        }
        let attr = Attr { sample_type: ATTR | 1 << 10, sample_regs_user: 0b101, ..Attr::default() };
        assert!(Layout::of(&attr).is_none(), "another field");
        assert!(Layout::of(&Attr { sample_type: sample::IP, ..attr }).is_none(), "no stack");
    }
}

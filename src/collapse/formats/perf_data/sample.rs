//! The parts of a sample behind its head: call chain, branch stack, registers, stack dump.

use super::attr::{Attr, branch, sample};
use crate::bytes::{ByteOrder, Cursor, U64s};
use crate::error::{Error, ErrorKind};

/// The fields of a sample behind its first ones: its stack in one form or
/// another.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct SampleBody<'a> {
    /// Addresses, leaf first, and the kernel's marks between kernel and user, which are greater than
    /// -4096 as signed numbers; `None` without call graphs.
    pub chain: Option<U64s<'a>>,
    /// Calls not yet returned from, latest first: from, to and flags of each.
    pub calls: Option<U64s<'a>>,
    /// The branches last taken, latest first: from, to and flags of each.
    pub branches: Option<U64s<'a>>,
    /// The payload of a tracepoint.
    pub raw: &'a [u8],
    /// The program's registers.
    pub registers: Option<Registers<'a>>,
    /// The beginning of the program's stack, upward from the stack pointer.
    pub stack: &'a [u8],
    /// True if the stack may go on behind what was dumped.
    pub stack_is_cut: bool,
    /// The number of the control group: see [`Cgroup`](super::Cgroup).
    pub cgroup: Option<u64>,
}

/// Registers at the moment of a sample.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Registers<'a> {
    /// True if they are those of a 64-bit program.
    pub is_64: bool,
    /// A bit for each register that was recorded, by the kernel's numbers.
    pub mask: u64,
    /// The values of those registers, in the order of their numbers.
    pub values: U64s<'a>,
}

impl Registers<'_> {
    /// A register by the number the kernel gives it.
    #[inline]
    pub fn get(&self, number: u32) -> Option<u64> {
        let bit = 1u64.checked_shl(number)?;
        if self.mask & bit == 0 {
            return None;
        }
        self.values.get((self.mask & (bit - 1)).count_ones() as usize)
    }
}

impl<'a> SampleBody<'a> {
    /// Reads the bytes behind the head; `None` if something in them is
    /// longer than the record.
    pub(super) fn parse(bytes: &'a [u8], order: ByteOrder, attr: &Attr) -> Option<SampleBody<'a>> {
        let mut fields = Cursor::new(bytes, order);
        let mut parts = SampleBody::default();
        if attr.has(sample::READ) {
            Counters::parse(&mut fields, attr.read_format)?;
        }
        if attr.has(sample::CALLCHAIN) {
            let count = fields.u64()?;
            parts.chain = Some(fields.u64s(count)?);
        }
        if attr.has(sample::RAW) {
            let size = fields.u32()?;
            parts.raw = fields.take_u64(size.into())?;
        }
        if attr.has(sample::BRANCH_STACK) {
            const NUMBERS_OF_A_BRANCH: u64 = 3;
            let count = fields.u64()?;
            if attr.branch_sample_type & branch::HW_INDEX != 0 {
                fields.skip(8)?;
            }
            let branches = fields.u64s(count.checked_mul(NUMBERS_OF_A_BRANCH)?)?;
            if attr.branch_sample_type & branch::COUNTERS != 0 {
                fields.u64s(count)?;
            }
            match attr.branch_sample_type & branch::CALL_STACK {
                0 => parts.branches = Some(branches),
                _ => parts.calls = Some(branches),
            }
        }
        if attr.has(sample::REGS_USER) {
            const NONE: u64 = 0;
            const ABI_64: u64 = 2;
            let abi = fields.u64()?;
            if abi != NONE {
                let mask = attr.sample_regs_user;
                let values = fields.u64s(mask.count_ones().into())?;
                parts.registers = Some(Registers { is_64: abi == ABI_64, mask, values });
            }
        }
        if attr.has(sample::STACK_USER) {
            let size = fields.u64()?;
            if size > 0 {
                let dump = fields.take_u64(size)?;
                let used = usize::try_from(fields.u64()?).unwrap_or(usize::MAX).min(dump.len());
                parts.stack = &dump[..used];
                parts.stack_is_cut = used == dump.len();
            }
        }
        if attr.has(sample::CGROUP) {
            let before = [
                attr.has(sample::WEIGHT) || attr.has(sample::WEIGHT_STRUCT),
                attr.has(sample::DATA_SRC),
                attr.has(sample::TRANSACTION),
            ];
            fields.skip(8 * before.into_iter().filter(|is_there| *is_there).count())?;
            if attr.has(sample::REGS_INTR) && fields.u64()? != 0 {
                fields.u64s(attr.sample_regs_intr.count_ones().into())?;
            }
            if attr.has(sample::PHYS_ADDR) {
                fields.skip(8)?;
            }
            parts.cgroup = Some(fields.u64()?);
        }
        Some(parts)
    }
}

/// Values of counters at the moment of a sample: of its event, or of all in its group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counters<'a> {
    numbers: U64s<'a>,
    /// The count of numbers of each counter, the value first.
    of_each: usize,
    /// The index of the number that identifies the counter.
    id: Option<usize>,
}

impl<'a> Counters<'a> {
    pub fn parse(fields: &mut Cursor<'a>, format: u64) -> Option<Counters<'a>> {
        const TIME_ENABLED: u64 = 1 << 0;
        const TIME_RUNNING: u64 = 1 << 1;
        const ID: u64 = 1 << 2;
        const GROUP: u64 = 1 << 3;
        const LOST: u64 = 1 << 4;
        let times = (format & (TIME_ENABLED | TIME_RUNNING)).count_ones() as usize;
        let of_each = 1 + (format & (ID | LOST)).count_ones() as usize;
        let has_id = format & ID != 0;
        if format & GROUP == 0 {
            let of_each = of_each + times;
            let id = has_id.then_some(1 + times);
            return Some(Counters { numbers: fields.u64s(of_each as u64)?, of_each, id });
        }
        let count = fields.u64()?;
        fields.skip(8 * times)?;
        let numbers = fields.u64s(count.checked_mul(of_each as u64)?)?;
        Some(Counters { numbers, of_each, id: has_id.then_some(1) })
    }

    /// Identities, where the recording has them, and values.
    pub fn iter(self) -> impl Iterator<Item = (Option<u64>, u64)> + 'a {
        let Counters { numbers, of_each, id } = self;
        let one = move |at: usize| Some((id.and_then(|id| numbers.get(at + id)), numbers.get(at)?));
        (0..numbers.len()).step_by(of_each).filter_map(one)
    }
}

/// The error of a sample that is shorter than the fields its event has.
pub(super) fn no_sample(body: &[u8]) -> Error {
    let found = format!("{} bytes that end within them", body.len());
    ErrorKind::Malformed { expected: "the fields of a sample".into(), found }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(numbers: &[u64]) -> Vec<u8> {
        numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
    }

    #[test]
    fn counters_come_alone_or_in_groups() {
        for (format, numbers, counters) in [
            (0, vec![7], vec![(None, 7)]),
            (0b1_0111, vec![7, 1, 2, 33, 0], vec![(Some(33), 7)]),
            (0b1000, vec![2, 7, 8], vec![(None, 7), (None, 8)]),
            (0b1_1101, vec![2, 99, 7, 33, 0, 8, 34, 0], vec![(Some(33), 7), (Some(34), 8)]),
        ] {
            let body = bytes(&numbers);
            let mut fields = Cursor::new(&body, ByteOrder::Little);
            let parsed = Counters::parse(&mut fields, format).unwrap();
            assert_eq!((parsed.iter().collect::<Vec<_>>(), fields.rest().len()), (counters, 0));
            let mut cut = Cursor::new(&body[..body.len() - 1], ByteOrder::Little);
            assert!(Counters::parse(&mut cut, format).is_none());
        }
    }

    #[test]
    fn every_part_is_found_behind_the_others() {
        let attr = Attr {
            sample_type: sample::READ
                | sample::CALLCHAIN
                | sample::BRANCH_STACK
                | sample::REGS_USER
                | sample::STACK_USER,
            read_format: 1 << 3 | 1 << 2 | 1,
            branch_sample_type: branch::CALL_STACK | branch::HW_INDEX | branch::COUNTERS,
            sample_regs_user: 0b1_0100_0010,
            ..Attr::default()
        };
        let mut body = bytes(&[2, 99, 1, 1, 2, 2]); // Two counters and a time.
        body.extend(bytes(&[3, 0xa, 0xb, 0xc])); // The chain.
        body.extend(bytes(&[1, 0, 0x10, 0x20, 0x30, 5])); // A branch, and what was counted in it.
        body.extend(bytes(&[2, 0x66, 0x77, 0x88])); // Registers.
        body.extend(bytes(&[16, 1, 2, 8])); // The stack, of which half was there.
        let parts = SampleBody::parse(&body, ByteOrder::Little, &attr).unwrap();
        assert_eq!(parts.chain.unwrap().iter().collect::<Vec<_>>(), [0xa, 0xb, 0xc]);
        assert_eq!(parts.calls.unwrap().iter().collect::<Vec<_>>(), [0x10, 0x20, 0x30]);
        let registers = parts.registers.unwrap();
        assert_eq!(
            [1, 6, 8, 0, 63, 64].map(|n| registers.get(n)),
            [Some(0x66), Some(0x77), Some(0x88), None, None, None]
        );
        assert_eq!((parts.stack, parts.stack_is_cut), (&bytes(&[1])[..], false));
        for len in 0..body.len() {
            assert!(SampleBody::parse(&body[..len], ByteOrder::Little, &attr).is_none(), "cut at {len}");
        }
    }
}

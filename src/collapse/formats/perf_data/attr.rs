//! The events of a recording, and the fields their samples hold: `perf_event_attr`.
//!
//! The layout is the kernel's `include/uapi/linux/perf_event.h`. It grew over the years, so every
//! attribute says its own size, and what lies beyond what is known here is of no concern.

use std::sync::Arc;

use super::tracepoint::TraceField;
use crate::bytes::{ByteOrder, Cursor};

/// The architecture of the machine that was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Arch {
    #[default]
    X86_64,
    Aarch64,
    /// Any other: its stacks cannot be unwound here.
    Other,
}

/// An event that was recorded: a clock, a counter of the processor, a tracepoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub(super) attr: Arc<Attr>,
    pub(super) name: Vec<u8>,
    /// True if the recording itself names it.
    pub(super) named: bool,
}

impl Event {
    /// The name with its modifiers, `cpu-clock:u`: the recording's, or one made of the event's type.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// The frequency that was asked for, in samples a second, unless the period is fixed.
    pub fn frequency(&self) -> Option<u64> {
        Some(self.attr.frequency).filter(|frequency| *frequency > 0)
    }

    /// The fixed period: the count of the event from one sample to the next.
    pub fn period(&self) -> Option<u64> {
        Some(self.attr.period).filter(|period| *period > 0)
    }

    /// The bits of the fields that each sample has: `PERF_SAMPLE_*` of the kernel's header.
    pub fn sample_fields(&self) -> u64 {
        self.attr.sample_type
    }
}

/// The fields of a sample, in the order in which they follow one another; `IDENTIFIER` comes first.
pub(super) mod sample {
    pub const IP: u64 = 1 << 0;
    pub const TID: u64 = 1 << 1;
    pub const TIME: u64 = 1 << 2;
    pub const ADDR: u64 = 1 << 3;
    pub const READ: u64 = 1 << 4;
    pub const CALLCHAIN: u64 = 1 << 5;
    pub const ID: u64 = 1 << 6;
    pub const CPU: u64 = 1 << 7;
    pub const PERIOD: u64 = 1 << 8;
    pub const STREAM_ID: u64 = 1 << 9;
    pub const RAW: u64 = 1 << 10;
    pub const BRANCH_STACK: u64 = 1 << 11;
    pub const REGS_USER: u64 = 1 << 12;
    pub const STACK_USER: u64 = 1 << 13;
    pub const WEIGHT: u64 = 1 << 14;
    pub const DATA_SRC: u64 = 1 << 15;
    pub const IDENTIFIER: u64 = 1 << 16;
    pub const TRANSACTION: u64 = 1 << 17;
    pub const REGS_INTR: u64 = 1 << 18;
    pub const PHYS_ADDR: u64 = 1 << 19;
    pub const CGROUP: u64 = 1 << 21;
    /// The weight in another form, of the same size.
    pub const WEIGHT_STRUCT: u64 = 1 << 24;
}

/// Flags of a branch stack: how its entries were chosen, and the data beside them.
pub(super) mod branch {
    pub const CALL_STACK: u64 = 1 << 11;
    pub const HW_INDEX: u64 = 1 << 17;
    pub const COUNTERS: u64 = 1 << 19;
}

/// The flag, among the bits of the attribute, that says that new threads are counted, too.
const INHERIT: u64 = 1 << 1;
/// The flag that says that other records end with a time.
const SAMPLE_ID_ALL: u64 = 1 << 18;

/// An event's attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Attr {
    pub kind: u32,
    pub config: u64,
    /// More of `config`: the address of a breakpoint.
    pub config1: u64,
    /// The fixed period; 0 for a frequency.
    pub period: u64,
    /// The frequency that was asked for, in samples a second; 0 for a fixed period.
    pub frequency: u64,
    pub sample_type: u64,
    pub read_format: u64,
    pub inherit: bool,
    pub sample_id_all: bool,
    /// The samples' user or kernel part is left out.
    pub exclude_user: bool,
    pub exclude_kernel: bool,
    /// The kernel notes when threads leave their processors, and are back.
    pub context_switch: bool,
    /// The user's part of call chains may follow later, in a record of its own.
    pub defers_chains: bool,
    pub branch_sample_type: u64,
    pub sample_regs_user: u64,
    /// The number of bytes of the stack that are copied with a sample.
    pub sample_stack_user: u32,
    pub sample_regs_intr: u64,
    /// The fields of a tracepoint's data, as far as the recording describes them.
    pub trace_fields: Arc<[TraceField]>,
}

/// The types of events that matter here.
pub(super) const TRACEPOINT: u32 = 2;

impl Attr {
    /// The oldest attribute there is.
    const LEAST: usize = 64;

    /// Reads all of `bytes` as one attribute; a size within it may make it shorter.
    pub fn parse(bytes: &[u8], order: ByteOrder) -> Option<Attr> {
        let mut fields = Cursor::new(bytes, order);
        let kind = fields.u32()?;
        let size = match fields.u32()? as usize {
            0 => Attr::LEAST,
            size => size.min(bytes.len()),
        };
        let mut fields = Cursor::new(bytes.get(8..size.max(Attr::LEAST))?, order);
        let config = fields.u64()?;
        let period = fields.u64()?;
        let sample_type = fields.u64()?;
        let read_format = fields.u64()?;
        let flags = match order {
            ByteOrder::Little => fields.u64()?,
            // Compilers for such machines fill bit fields from the other end.
            ByteOrder::Big => fields.u64()?.reverse_bits(),
        };
        let frequency = flags & (1 << 10) != 0;
        fields.skip(8)?; // Wake-up, breakpoint type.
        let config1 = fields.u64()?;
        // Fields that an older kernel does not know are zero.
        let _config2 = fields.u64().unwrap_or(0);
        let branch_sample_type = fields.u64().unwrap_or(0);
        let sample_regs_user = fields.u64().unwrap_or(0);
        let sample_stack_user = fields.u32().unwrap_or(0);
        let _clock = fields.u32().unwrap_or(0);
        let sample_regs_intr = fields.u64().unwrap_or(0);
        Some(Attr {
            kind,
            config,
            config1,
            period: if frequency { 0 } else { period },
            frequency: if frequency { period } else { 0 },
            sample_type,
            read_format,
            inherit: flags & INHERIT != 0,
            sample_id_all: flags & SAMPLE_ID_ALL != 0,
            exclude_user: flags & (1 << 4) != 0,
            exclude_kernel: flags & (1 << 5) != 0,
            context_switch: flags & (1 << 26) != 0,
            defers_chains: flags & (1 << 38) != 0,
            branch_sample_type,
            sample_regs_user,
            sample_stack_user,
            sample_regs_intr,
            trace_fields: Arc::default(),
        })
    }

    /// Returns whether the event counts nothing, and is there for the other records.
    pub fn is_dummy(&self) -> bool {
        const SOFTWARE: u32 = 1;
        const DUMMY: u64 = 9;
        self.kind == SOFTWARE && self.config == DUMMY
    }

    /// Returns whether samples have these fields.
    pub fn has(&self, fields: u64) -> bool {
        self.sample_type & fields != 0
    }

    /// Returns whether perf's text has a column with the samples' periods: tracepoints have none.
    pub fn has_weight(&self) -> bool {
        self.kind != TRACEPOINT
    }

    /// Returns whether perf's text names a place of samples without a call chain.
    pub fn shows_place(&self) -> bool {
        self.kind != TRACEPOINT
    }

    /// A name, if the recording does not give one.
    pub fn name(&self) -> Vec<u8> {
        const HARDWARE: [&str; 10] = [
            "cycles",
            "instructions",
            "cache-references",
            "cache-misses",
            "branches",
            "branch-misses",
            "bus-cycles",
            "stalled-cycles-frontend",
            "stalled-cycles-backend",
            "ref-cycles",
        ];
        const SOFTWARE: [&str; 12] = [
            "cpu-clock",
            "task-clock",
            "page-faults",
            "context-switches",
            "cpu-migrations",
            "minor-faults",
            "major-faults",
            "alignment-faults",
            "emulation-faults",
            "dummy",
            "bpf-output",
            "cgroup-switches",
        ];
        let known =
            |names: &[&'static str]| usize::try_from(self.config).ok().and_then(|n| names.get(n).copied());
        let mut name = match self.kind {
            0 => known(&HARDWARE).map_or_else(|| format!("hardware-{:#x}", self.config), str::to_owned),
            1 => known(&SOFTWARE).map_or_else(|| format!("software-{:#x}", self.config), str::to_owned),
            TRACEPOINT => format!("tracepoint-{}", self.config),
            4 => format!("raw-{:#x}", self.config),
            5 => "breakpoint".to_owned(),
            kind => format!("event-{kind}-{:#x}", self.config),
        };
        match (self.exclude_user, self.exclude_kernel) {
            (true, false) => name.push_str(":k"),
            (false, true) => name.push_str(":u"),
            _ => {}
        }
        name.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attr(order: ByteOrder, flags: u64) -> Vec<u8> {
        let u32 = |n: u32| if order == ByteOrder::Big { n.to_be_bytes() } else { n.to_le_bytes() };
        let u64 = |n: u64| if order == ByteOrder::Big { n.to_be_bytes() } else { n.to_le_bytes() };
        let mut bytes = [u32(1), u32(96)].concat();
        for number in [0, 4000, sample::IP | sample::TID, 4, flags, 0, 0, 0, 7, 0xff0fff] {
            bytes.extend(u64(number));
        }
        bytes
    }

    #[test]
    fn reads_attributes_of_every_size_and_order() {
        let bits = SAMPLE_ID_ALL | 1 << 5;
        for (order, flags) in [(ByteOrder::Little, bits), (ByteOrder::Big, bits.reverse_bits())] {
            let parsed = Attr::parse(&attr(order, flags), order).unwrap();
            assert_eq!((parsed.kind, parsed.period, parsed.read_format), (1, 4000, 4));
            assert_eq!((parsed.branch_sample_type, parsed.sample_regs_user), (7, 0xff0fff));
            assert!(parsed.sample_id_all && parsed.has(sample::TID) && !parsed.has(sample::TIME));
            assert_eq!(parsed.name(), b"cpu-clock:u");
        }
        let mut old = attr(ByteOrder::Little, 0);
        old.truncate(64);
        assert_eq!(Attr::parse(&old, ByteOrder::Little).unwrap().sample_regs_user, 0);
        assert_eq!(Attr::parse(&old[..60], ByteOrder::Little), None);
    }
}

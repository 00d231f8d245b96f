//! The events of threads: their types, and how many numbers each has.

use crate::bytes::varint;

/// The types that change the state of goroutines, as `internal/trace/tracev2` numbers them.
pub mod kind {
    pub const GO_CREATE: u8 = 14;
    pub const GO_CREATE_SYSCALL: u8 = 15;
    pub const GO_START: u8 = 16;
    pub const GO_DESTROY: u8 = 17;
    pub const GO_DESTROY_SYSCALL: u8 = 18;
    pub const GO_STOP: u8 = 19;
    pub const GO_BLOCK: u8 = 20;
    pub const GO_UNBLOCK: u8 = 21;
    pub const GO_SYSCALL_BEGIN: u8 = 22;
    pub const GO_SYSCALL_END: u8 = 23;
    pub const GO_SYSCALL_END_BLOCKED: u8 = 24;
    pub const GO_STATUS: u8 = 25;
    pub const GO_SWITCH: u8 = 45;
    pub const GO_SWITCH_DESTROY: u8 = 46;
    pub const GO_CREATE_BLOCKED: u8 = 47;
    pub const GO_STATUS_STACK: u8 = 48;
}

/// The first type in [`ARGUMENTS`].
const FIRST: u8 = 9;

/// The count of numbers of each type, the time since the event before among them; 0 is no type.
const ARGUMENTS: [u8; 43] = [
    3, 3, 1, 4, 3, // ProcsChange to ProcStatus
    4, 2, 3, 1, 1, 3, 3, 4, 3, 1, 1, 4, // GoCreate to GoStatus
    3, 1, // STWBegin, STWEnd
    2, 3, 2, 2, 2, 3, 2, 2, 1, 2, 2, // GCActive to HeapGoal
    2, 5, 3, 4, 4, 5, // GoLabel to UserLog
    3, 3, 4, 5, // GoSwitch to GoStatusStack
    0, 0, 4, // ClockSnapshot
];

/// Those of experiments, from type 128 on.
const EXPERIMENTAL: [u8; 9] = [4, 4, 2, 3, 3, 2, 3, 3, 2];

/// One event of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// In the units of the trace.
    pub time: u64,
    pub thread: u64,
    pub kind: u8,
    /// The numbers behind the time.
    pub arguments: [u64; 4],
}

/// Calls `each` with the events of a batch. `None` where that is damaged.
pub fn read(thread: u64, mut time: u64, mut bytes: &[u8], mut each: impl FnMut(Event)) -> Option<()> {
    while let Some((&kind, rest)) = bytes.split_first() {
        bytes = rest;
        let count = match kind {
            128.. => EXPERIMENTAL.get(usize::from(kind - 128)),
            _ => ARGUMENTS.get(usize::from(kind.checked_sub(FIRST)?)),
        };
        let count = usize::from(*count.filter(|count| **count > 0)?);
        time = time.checked_add(varint(&mut bytes)?)?;
        let mut arguments = [0; 4];
        for argument in &mut arguments[..count - 1] {
            *argument = varint(&mut bytes)?;
        }
        each(Event { time, thread, kind, arguments });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_has_its_count_of_numbers() {
        let count = |kind: u8| ARGUMENTS[usize::from(kind - FIRST)];
        for (kind, numbers) in [
            (kind::GO_CREATE, 4),
            (kind::GO_UNBLOCK, 4),
            (kind::GO_STATUS, 4),
            (kind::GO_SWITCH, 3),
            (kind::GO_STATUS_STACK, 5),
            (26, 3),
            (37, 2),
            (44, 5),
            (51, 4),
        ] {
            assert_eq!(count(kind), numbers, "{kind}");
        }
    }

    #[test]
    fn times_add_up_and_damage_ends_it() {
        let mut events = Vec::new();
        assert_eq!(read(7, 100, &[16, 5, 1, 2, 17, 3], |event| events.push(event)), Some(()));
        let event = |time, kind, arguments| Event { time, thread: 7, kind, arguments };
        assert_eq!(events, [event(105, 16, [1, 2, 0, 0]), event(108, 17, [0; 4])]);
        for damaged in [&[16, 5][..], &[8, 1], &[52, 1], &[137, 1], &[49], &[17, 0x80]] {
            assert_eq!(read(7, 100, damaged, |_| {}), None, "{damaged:?}");
        }
        assert_eq!(read(7, u64::MAX, &[17, 1], |_| {}), None);
    }
}

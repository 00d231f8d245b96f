//! Switches of threads, out of the samples of `context-switches` and `sched:sched_switch`.

use super::attr::{Attr, Event};
use super::sample::SampleBody;
use crate::bytes::{ByteOrder, Cursor};
use crate::input::lines;
use crate::number;

/// A thread leaves its processor, and perhaps another one takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Switch {
    /// The thread that leaves could go on.
    pub runnable: bool,
    /// It ends.
    pub ends: bool,
    /// The thread that takes its place, if that is known.
    pub next: Option<i32>,
}

impl Event {
    /// Returns whether its samples are taken where threads leave their processors.
    pub(super) fn is_switch(&self) -> bool {
        self.attr.is_context_switches() || self.name.ends_with(b"sched_switch")
    }

    /// The switch that a sample of this event was taken at; `None` if it was taken at none.
    pub(super) fn switch(&self, body: &[u8], order: ByteOrder, layout: &SwitchLayout) -> Option<Switch> {
        if self.attr.is_context_switches() {
            return Some(Switch { runnable: false, ends: false, next: None });
        }
        if !self.is_switch() {
            return None;
        }
        layout.parse(SampleBody::parse(body, order, &self.attr)?.raw, order)
    }
}

/// The layout of the data of sched:sched_switch, which the recording describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SwitchLayout {
    state: Field,
    next: Field,
}

/// The offset and the size of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    offset: usize,
    size: usize,
}

impl Default for SwitchLayout {
    /// The layout that kernels have had for many years.
    fn default() -> Self {
        SwitchLayout { state: Field { offset: 32, size: 8 }, next: Field { offset: 56, size: 4 } }
    }
}

impl SwitchLayout {
    /// Reads the kernel's descriptions of its tracepoints, which stand in a recording one after
    /// the other as they are in `/sys/kernel/tracing/events/*/*/format`.
    pub fn described(tracing: &[u8]) -> Option<SwitchLayout> {
        let begin = memchr::memmem::find(tracing, b"name: sched_switch\n")?;
        let text = &tracing[begin..];
        let text = &text[..memchr::memmem::find(text, b"print fmt:")?];
        let field = |name: &[u8]| {
            let line = lines(text).find(|line| {
                let declared = line.split(|b| *b == b';').next().unwrap_or_default();
                declared.ends_with(name)
            })?;
            let number = |key: &[u8]| {
                let at = memchr::memmem::find(line, key)? + key.len();
                let digits = line[at..].split(|b| *b == b';').next()?;
                number::parse(digits)
            };
            Some(Field { offset: number(b"offset:")?, size: number(b"size:")? })
        };
        Some(SwitchLayout { state: field(b" prev_state")?, next: field(b" next_pid")? })
    }

    fn parse(&self, data: &[u8], order: ByteOrder) -> Option<Switch> {
        /// The kernel's numbers of states in which a thread waits, and has ended. The highest, idle,
        /// is a kernel thread without work.
        const STATES: u64 = 0xff;
        const ENDED: u64 = 0x10 | 0x20;
        let number = |field: Field| {
            let end = field.offset.checked_add(field.size)?;
            let mut fields = Cursor::new(data.get(field.offset..end)?, order);
            if field.size == 8 { fields.u64() } else { fields.u32().map(u64::from) }
        };
        let state = number(self.state)?;
        let next = i32::try_from(number(self.next)?).ok()?;
        Some(Switch { runnable: state & STATES == 0, ends: state & ENDED != 0, next: Some(next) })
    }
}

impl Attr {
    /// Returns whether it samples processor time, in nanoseconds.
    pub(super) fn is_clock(&self) -> bool {
        const SOFTWARE: u32 = 1;
        const CLOCKS: [u64; 2] = [0, 1];
        self.kind == SOFTWARE && CLOCKS.contains(&self.config)
    }

    /// Returns whether it samples some of the switches, so many a second.
    pub(super) fn is_some_switches(&self) -> bool {
        self.is_context_switches() && self.frequency > 0
    }

    /// Returns whether it samples each switch.
    pub(super) fn is_each_switch(&self) -> bool {
        self.is_context_switches() && self.frequency == 0
    }

    /// Returns whether it counts threads leaving their processors, each of them.
    fn is_context_switches(&self) -> bool {
        const SOFTWARE: u32 = 1;
        const CONTEXT_SWITCHES: u64 = 3;
        self.kind == SOFTWARE && self.config == CONTEXT_SWITCHES && self.period <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_the_recording_says() {
        let text = b"name: sched_wakeup\nID: 1\nformat:\n\tfield:pid_t pid;\toffset:1;\tsize:4;\tsigned:1;\nprint fmt: x\n\
            name: sched_switch\nID: 314\nformat:\n\
            \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
            \tfield:long prev_state;\toffset:12;\tsize:8;\tsigned:1;\n\
            \tfield:pid_t next_pid;\toffset:20;\tsize:4;\tsigned:1;\n\nprint fmt: \"prev_comm\"\n";
        let layout = SwitchLayout::described(text).unwrap();
        assert_eq!(layout.state, Field { offset: 12, size: 8 });
        assert_eq!(layout.next, Field { offset: 20, size: 4 });
        let mut data = vec![0; 24];
        data[20] = 77;
        let parse = |data: &[u8]| layout.parse(data, ByteOrder::Little);
        assert_eq!(parse(&data), Some(Switch { runnable: true, ends: false, next: Some(77) }));
        data[12] = 2;
        assert_eq!(parse(&data), Some(Switch { runnable: false, ends: false, next: Some(77) }));
        data[12] = 0x20;
        assert!(parse(&data).unwrap().ends);
        // Preempted, says a bit above the states.
        (data[12], data[13]) = (0, 1);
        assert!(parse(&data).unwrap().runnable);
        assert_eq!(parse(&data[..23]), None);
        assert_eq!(SwitchLayout::described(b"name: sched_switch\nformat:\n"), None);
    }
}

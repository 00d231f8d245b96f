//! memray's recordings, `memray run` and `memray.Tracker`, of all allocations or aggregated, with native frames or
//! without (files of
//! version 11, memray 1.12 to 1.18, of 12, memray 1.19, and of 13, memray 1.20; most are in a frame of LZ4).
//!
//! ```text
//! memray\0  version  flags  numbers of allocations and frames, start, end  command\0  pid  main thread …
//! 0x3c frame 0, "main", "orders.py", line 3     0x04 push frame 0     0xc1 malloc at 0x7f…, 4096 bytes
//! ```
//! A file of all allocations tells of each push and pop of a Python frame, each allocation and each free, so that what
//! was in use at the peak and what was never freed are found by replaying it. An aggregated one
//! (`--aggregate`) holds these two sums for each stack. Native frames are addresses; the map of the program's
//! files comes with them. Specified in memray's `records.h`, `record_reader.cpp` and `snapshot.cpp`.

mod aggregated;
mod frames;
mod full;
mod header;
mod heap;
mod lines;
mod wire;

use std::collections::HashMap;

use self::frames::Frames;
use self::header::{Header, Layout};
use self::heap::{Cost, Heap, Location};
use self::wire::Wire;
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested, Value,
};
use crate::error::Result;
use crate::input::Input;
use crate::weight::Weight;

const MAGIC: &[u8] = b"memray\0";

const INFO: FormatInfo = FormatInfo {
    name: "memray",
    producer: "memray run, memray.Tracker; --aggregate and --native too",
    tested: Tested::Seen("memray 1.12 to 1.20"),
    values: "peak, leaked, allocated (not aggregated), peak-allocations, leaked-allocations, allocations (not aggregated)",
    unit: "bytes, bytes, bytes, allocations, allocations, allocations",
};

/// Collapses memray's recordings.
pub struct Memray;

impl Collapser for Memray {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { labels: "thread, tid, process", ..ContextInfo::NONE }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        Certainty::of_magic(head.starts_with(MAGIC))
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut wire = Wire::new(input);
        let header = Header::read(&mut wire)?;
        header.tell(report);
        let mut recording = Recording::default();
        let read = match header.layout {
            Layout::All => full::read(&mut wire, &header, &mut recording),
            Layout::Aggregated => aggregated::read(&mut wire, &header, &mut recording),
        };
        let ended = match read {
            // What a killed process leaves is read as far as it goes.
            Err(_) if wire.is_cut()? => false,
            read => read?,
        };
        if !ended {
            report.doubt("the recording has no end: its program was killed, or still runs; it is read as far as it goes");
        } else if let Some(stated) = header.allocations.filter(|_| header.layout == Layout::All) {
            let events = Weight::from(recording.events);
            report.check_total("allocations and frees", events, Weight::from(stated));
        }
        if let Some(byte) = wire.rest()? {
            report.doubt(format!(
                "there is more behind the end of the recording, at byte {byte}, which is not read"
            ));
        }
        recording.finish(&header, reading, sink, report)
    }
}

/// The contents of a recording.
#[derive(Default)]
struct Recording {
    frames: Frames,
    heap: Heap,
    /// By number: its id and name.
    threads: Vec<(u64, Vec<u8>)>,
    thread_numbers: HashMap<u64, u32>,
    /// The allocations and frees.
    events: u64,
}

impl Recording {
    /// The number of a thread, by its id.
    fn thread(&mut self, id: u64) -> u32 {
        let next = self.threads.len() as u32;
        let number = *self.thread_numbers.entry(id).or_insert(next);
        if number == next {
            self.threads.push((id, Vec::new()));
        }
        number
    }

    /// Gives a thread its name.
    fn name_thread(&mut self, id: u64, name: Vec<u8>) {
        let number = self.thread(id);
        self.threads[number as usize].1 = name;
    }

    fn finish(
        mut self,
        header: &Header,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let bytes = |name| Value::new(name, "bytes");
        let allocations = |name| Value::new(name, "allocations");
        let mut declared = vec![bytes("peak"), bytes("leaked")];
        let mut counts = vec![allocations("peak-allocations"), allocations("leaked-allocations")];
        if header.layout == Layout::All {
            declared.push(bytes("allocated"));
            counts.push(allocations("allocations"));
        }
        declared.append(&mut counts);
        let costs = self.heap.finish();
        let holds = |at: usize| costs.iter().any(|(_, cost)| row(cost, header.layout)[at] > 0);
        let mut values = Values::holding(reading, declared, 0, holds, report)?;
        let natives = costs.iter().map(|(at, _)| (at.native, at.generation));
        let mut names = self.frames.name(natives, reading, sink, report)?;
        let shows_threads = reading.shows_threads(false);
        let pid = header.pid.to_string();
        let mut stack = Vec::new();
        for (Location { thread, path, native, generation }, cost) in &costs {
            let (id, name) = &self.threads[*thread as usize];
            let skipped = if *id == header.main_thread { header.skipped } else { 0 };
            stack.clear();
            let tid = id.to_string();
            let thread = Thread { name, pid: pid.as_bytes(), tid: tid.as_bytes() };
            if shows_threads {
                let mut frame = Vec::new();
                thread.write(reading, &mut frame);
                stack.push(sink.frame(&frame));
            }
            names.append(&self.frames, (*path, *native, *generation), skipped, sink, &mut stack)?;
            let context = if sink.wants().contexts { thread.context(None) } else { Context::UNKNOWN };
            for (at, weight) in row(cost, header.layout).into_iter().enumerate() {
                let samples = samples(cost, header.layout)[at];
                values.add_at(at, &stack, Weight::from(weight), samples, &context, sink)?;
            }
        }
        names.tell(report);
        values.finish(report)
    }
}

/// The weights of a location in the order in which the values are declared.
fn row(cost: &Cost, layout: Layout) -> Vec<u64> {
    match layout {
        Layout::All => vec![
            cost.peak.bytes,
            cost.now.bytes,
            cost.ever.bytes,
            cost.peak.count,
            cost.now.count,
            cost.ever.count,
        ],
        Layout::Aggregated => vec![cost.peak.bytes, cost.now.bytes, cost.peak.count, cost.now.count],
    }
}

/// The number of allocations that each weight of [`row`] is made of.
fn samples(cost: &Cost, layout: Layout) -> Vec<u64> {
    let all = [cost.peak.count, cost.now.count, cost.ever.count];
    let kinds = if layout == Layout::All { 3 } else { 2 };
    all[..kinds].iter().chain(&all[..kinds]).copied().collect()
}

#[cfg(test)]
mod tests;

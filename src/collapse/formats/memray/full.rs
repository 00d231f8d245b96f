//! The records of a recording of all allocations.
//!
//! Numbers that change little from one record to the next are stated as differences. Records are of the thread that
//! the last switch named. In version 12 the pointers of the last allocations and frees are kept, and named by
//! their place among these.

use super::Recording;
use super::aggregated::{code, file};
use super::frames::{Key, Stated, no_caller};
use super::header::{Header, Version};
use super::heap::Location;
use super::wire::Wire;
use crate::collapse::kit::trie::{PathId, Trie};
use crate::error::Result;

/// The work of an allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Allocate,
    Free,
    Map,
    Unmap,
}

impl Work {
    fn of(version: Version, allocator: u8) -> Option<Work> {
        Some(match (version, allocator) {
            (Version::V11, 2 | 15) => Work::Free,
            (Version::V11, 10) => Work::Map,
            (Version::V11, 11) => Work::Unmap,
            (Version::V11, 1..=14) => Work::Allocate,
            (Version::V12, 1 | 5) => Work::Free,
            (Version::V12, 14) => Work::Map,
            (Version::V12, 15) => Work::Unmap,
            (Version::V12, 2..=13) => Work::Allocate,
            _ => return None,
        })
    }
}

/// The state of reading the records.
struct State<'a> {
    wire: &'a mut Wire,
    header: &'a Header,
    recording: &'a mut Recording,
    /// The stack of each thread.
    stacks: Vec<Vec<PathId>>,
    thread: u32,
    thread_id: u64,
    /// The numbers that the next ones differ from.
    pointer: u64,
    native: u64,
    address: u64,
    frame: u64,
    line: u64,
    /// The last pointers, the latest first.
    recent: [u64; 15],
}

/// Reads the records, and returns whether there was an end behind them.
///
/// # Errors
/// Records that are none, and the end of the input within one.
pub fn read(wire: &mut Wire, header: &Header, recording: &mut Recording) -> Result<bool> {
    recording.frames.python = header.python.unwrap_or(0);
    let mut state = State {
        wire,
        header,
        recording,
        stacks: Vec::new(),
        thread: 0,
        thread_id: 0,
        pointer: 0,
        native: 0,
        address: 0,
        frame: 0,
        line: 0,
        recent: [0; 15],
    };
    state.switch(0);
    while let Some(token) = state.wire.token()? {
        let goes_on = match header.version {
            Version::V11 => state.record_11(token)?,
            Version::V12 => state.record_12(token)?,
        };
        if !goes_on {
            return Ok(true);
        }
    }
    Ok(false)
}

impl State<'_> {
    /// Reads the record of a token of kind and flags; `false` at the end.
    fn record_11(&mut self, token: u8) -> Result<bool> {
        let (kind, flags) = (token & 0x0f, token >> 4);
        match kind {
            0 if flags == 1 => return Ok(false),
            // The file is enlarged in steps, and what was not filled stays.
            0 if token == 0 => {}
            1 | 2 => {
                let address = self.wire.delta(&mut self.pointer)?;
                let work = self.work(flags)?;
                let size = if work == Work::Free && kind == 1 { 0 } else { self.wire.varint()? };
                let native = if kind == 2 { self.wire.delta(&mut self.native)? } else { 0 };
                self.event(work, address, size, native)?;
            }
            3 => {
                let number = self.wire.delta(&mut self.frame)?;
                let (function, file) = (self.wire.text()?, self.wire.text()?);
                let line = self.wire.delta(&mut self.line)? as i32;
                let is_entry = flags & 1 == 0;
                self.recording.frames.state(number, Stated { function, file, line, is_entry });
            }
            4 => {
                let number = self.wire.delta(&mut self.frame)?;
                self.push(Key::Number(number));
            }
            9 => self.pop(usize::from(flags) + 1)?,
            other => self.other(other)?,
        }
        Ok(true)
    }

    /// Reads the record of a token of version 12; `false` at the end.
    fn record_12(&mut self, token: u8) -> Result<bool> {
        match token {
            // What is enlarged is not yet filled, or fills up.
            0 => {}
            1 => return Ok(false),
            2 => self.other(11)?,
            14 => code(self.wire, &mut self.line, self.recording)?,
            16..32 => self.pop(usize::from(token & 0x0f) + 1)?,
            // An object of Python, born (1) or dead.
            32..64 => {
                self.recent((token >> 1) & 0x0f)?;
                if self.header.has_natives && token & 1 == 1 {
                    self.wire.delta(&mut self.native)?;
                }
            }
            64..128 => {
                let code = self.wire.varint()?;
                let offset = self.wire.signed()?;
                self.push(Key::Code { code, offset, is_entry: token & 1 == 1 });
            }
            128.. => {
                let address = self.recent((token >> 3) & 0x0f)?;
                let allocator = match token & 7 {
                    0 => self.wire.byte()?,
                    common => common,
                };
                let work = self.work(allocator)?;
                let is_free = work == Work::Free;
                let native = match self.header.has_natives && !is_free {
                    true => self.wire.delta(&mut self.native)?,
                    false => 0,
                };
                let size = if is_free { 0 } else { self.wire.varint()? };
                self.event(work, address, size, native)?;
            }
            other => self.other(other)?,
        }
        Ok(true)
    }

    /// The records that both versions have alike.
    fn other(&mut self, kind: u8) -> Result<()> {
        match kind {
            5 => {
                self.wire.delta(&mut self.address)?;
                let caller = self.wire.delta(&mut self.native)?;
                let added = self.recording.frames.native(self.address, caller);
                added.ok_or_else(|| no_caller(caller).at(self.wire.place()))?;
            }
            6 => self.recording.frames.begin_files(),
            7 => file(self.wire, self.recording)?,
            10 => {
                let name = self.wire.text()?;
                self.recording.name_thread(self.thread_id, name);
            }
            // The memory of the process at a time.
            11 => {
                self.wire.varint()?;
                self.wire.varint()?;
            }
            12 => {
                let id = self.wire.u64()?;
                self.switch(id);
            }
            other => return Err(self.wire.malformed("a record of memray", format!("the kind {other}"))),
        }
        Ok(())
    }

    fn switch(&mut self, id: u64) {
        self.thread_id = id;
        self.thread = self.recording.thread(id);
        if self.stacks.len() <= self.thread as usize {
            self.stacks.resize(self.thread as usize + 1, Vec::new());
        }
    }

    fn push(&mut self, key: Key) {
        let frames = &mut self.recording.frames;
        let number = frames.frame_number(key);
        let stack = &mut self.stacks[self.thread as usize];
        let above = stack.last().copied().unwrap_or(Trie::ROOT);
        stack.push(frames.paths.below(above, number));
    }

    fn pop(&mut self, count: usize) -> Result<()> {
        let stack = &mut self.stacks[self.thread as usize];
        match stack.len().checked_sub(count) {
            Some(left) => stack.truncate(left),
            None => {
                let depth = stack.len();
                return Err(self
                    .wire
                    .malformed("frames that were entered", format!("{count} of {depth} left")));
            }
        }
        Ok(())
    }

    fn work(&self, allocator: u8) -> Result<Work> {
        let work = Work::of(self.header.version, allocator);
        work.ok_or_else(|| {
            self.wire.malformed("an allocator that memray knows", format!("number {allocator}"))
        })
    }

    /// A pointer by its place among the last ones, or a new one.
    fn recent(&mut self, place: u8) -> Result<u64> {
        if let Some(pointer) = self.recent.get(usize::from(place)) {
            return Ok(*pointer);
        }
        let pointer = self.wire.delta(&mut self.pointer)? << 3;
        self.recent.rotate_right(1);
        self.recent[0] = pointer;
        Ok(pointer)
    }

    fn event(&mut self, work: Work, address: u64, size: u64, native: u64) -> Result<()> {
        self.recording.events += 1;
        let heap = &mut self.recording.heap;
        let generation = if native == 0 { 0 } else { self.recording.frames.generation() };
        let path = self.stacks[self.thread as usize].last().copied().unwrap_or(Trie::ROOT);
        let location = Location { thread: self.thread, path, native, generation };
        match work {
            Work::Allocate => heap.allocate(location, address, size),
            Work::Map => heap.map(location, address, size),
            Work::Unmap => heap.unmap(address, size),
            Work::Free => {
                heap.free(address);
                Ok(())
            }
        }
    }
}

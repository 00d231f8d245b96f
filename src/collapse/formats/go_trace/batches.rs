//! The batches of a trace, put together to generations.
//!
//! ```text
//! 01 <generation> <thread> <time> <length>         a batch of events of a thread, or of one of the tables:
//!    04  05 <id> <length> <text> …                 strings
//!    02  03 <id> <n> {<pc> <function> <file> <line>} …   stacks, leaf first
//!    06  07 <time> <thread> <processor> <goroutine> <stack> …   samples of the CPU profiler
//!    08 <frequency>                                the units of time in a second; below 50 (EvSync) since Go 1.25
//! ```

use std::collections::HashMap;

use crate::bytes::{Cursor, varint};
use crate::error::{Error, ErrorKind, Position, Result};
use crate::input::{Input, Reader};

/// The length of the header.
pub const HEADER: usize = 16;

/// Go writes at most 64 KiB.
const LONGEST_BATCH: u64 = 1 << 20;

/// The types of events that stand outside of the streams of threads.
const BATCH: u8 = 1;
const STACKS: u8 = 2;
const STACK: u8 = 3;
const STRINGS: u8 = 4;
const STRING: u8 = 5;
const CPU_SAMPLES: u8 = 6;
const CPU_SAMPLE: u8 = 7;
const FREQUENCY: u8 = 8;
const EXPERIMENTAL_BATCH: u8 = 49;
const SYNC: u8 = 50;
const CLOCK_SNAPSHOT: u8 = 51;
const END_OF_GENERATION: u8 = 52;

/// Reads batches.
pub struct Batches {
    reader: Reader,
    /// The batch that began the next generation.
    next: Option<Batch>,
    /// The byte at which the trace is cut off.
    pub cut: Option<u64>,
}

/// Events of a thread, or a table.
struct Batch {
    generation: u64,
    thread: u64,
    time: u64,
    /// False for what experiments of the runtime write.
    is_known: bool,
    data: Vec<u8>,
    place: Position,
}

/// A generation: the events of about a second, and what they refer to.
#[derive(Default)]
pub struct Generation {
    /// Events, by thread, from a time on.
    pub events: Vec<(u64, u64, Vec<u8>)>,
    pub strings: HashMap<u64, Vec<u8>>,
    pub stacks: HashMap<u64, Vec<Frame>>,
    pub cpu_samples: Vec<CpuSample>,
    /// The units of time in a second.
    pub frequency: u64,
    /// A time of the trace, and the same one since 1970, in seconds and nanoseconds.
    pub clock: Option<(u64, u64, u64)>,
    pub number: u64,
    pub place: Position,
}

/// A frame, by the numbers of its strings.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame {
    pub function: u64,
    pub file: u64,
    pub line: u64,
}

/// A sample of the CPU profiler.
pub struct CpuSample {
    pub time: u64,
    pub thread: u64,
    pub goroutine: u64,
    pub stack: u64,
}

impl Batches {
    /// Passes over the header.
    ///
    /// # Errors
    /// The system's, and an input without one.
    pub fn new(input: Input) -> Result<Batches> {
        let mut reader = input.into_reader();
        reader.skip(HEADER as u64)?;
        Ok(Batches { reader, next: None, cut: None })
    }

    /// Reads the next generation; `false` if there is none.
    ///
    /// # Errors
    /// The system's, and bytes that are no batches of a trace.
    pub fn next(&mut self, generation: &mut Generation) -> Result<bool> {
        *generation = Generation::default();
        let Some(first) = self.take()? else { return Ok(false) };
        generation.number = first.generation;
        generation.place = first.place.clone();
        let mut batch = Some(first);
        while let Some(own) = batch {
            if own.generation != generation.number {
                self.next = Some(own);
                break;
            }
            generation.add(own)?;
            batch = self.take()?;
        }
        Ok(true)
    }

    /// The next batch. The end may come within one, where a program was killed.
    fn take(&mut self) -> Result<Option<Batch>> {
        if let Some(batch) = self.next.take() {
            return Ok(Some(batch));
        }
        loop {
            let place = self.reader.place();
            if self.cut.is_some() || self.reader.is_at_end()? {
                return Ok(None);
            }
            let kind = self.reader.byte()?;
            let found = match kind {
                END_OF_GENERATION => continue,
                BATCH => self.batch(true, place.clone()),
                // The number of the experiment comes first.
                EXPERIMENTAL_BATCH => self.reader.varint().and_then(|_| self.batch(false, place.clone())),
                other => {
                    let found = format!("an event of type {other}");
                    return Err(Error::malformed("a batch of events", found.as_bytes()).at(place));
                }
            };
            return match found {
                Ok(batch) => Ok(Some(batch)),
                Err(_) if self.reader.is_at_end()? => {
                    self.cut = Some(self.reader.position());
                    Ok(None)
                }
                Err(e) => Err(e),
            };
        }
    }

    fn batch(&mut self, is_known: bool, place: Position) -> Result<Batch> {
        let [generation, thread, time, len] =
            [self.reader.varint()?, self.reader.varint()?, self.reader.varint()?, self.reader.varint()?];
        if len > LONGEST_BATCH {
            return Err(Error::new(ErrorKind::TooLong { limit: LONGEST_BATCH as usize }, place));
        }
        let mut data = Vec::new();
        self.reader.append(len, &mut data)?;
        Ok(Batch { generation, thread, time, is_known, data, place })
    }
}

impl Generation {
    fn add(&mut self, batch: Batch) -> Result<()> {
        let Some(kind) = batch.data.first().copied().filter(|_| batch.is_known) else { return Ok(()) };
        let rest = &mut &batch.data[1..];
        let (what, read) = match kind {
            STRINGS => ("a table of strings", self.strings(rest)),
            STACKS => ("a table of stacks", self.stacks(rest)),
            CPU_SAMPLES => ("samples of the CPU profiler", self.samples(rest)),
            FREQUENCY => {
                ("the frequency of a clock", varint(rest).map(|frequency| self.frequency = frequency))
            }
            SYNC => ("the frequency of a clock", self.sync(rest, batch.time)),
            _ => {
                self.events.push((batch.thread, batch.time, batch.data));
                return Ok(());
            }
        };
        read.ok_or_else(|| Error::malformed(what, b"other bytes").at(batch.place))
    }

    fn strings(&mut self, bytes: &mut &[u8]) -> Option<()> {
        while !bytes.is_empty() {
            expect(STRING, bytes)?;
            let mut entry = Cursor::little(bytes);
            let (id, text) = (entry.varint()?, entry.varint_counted()?);
            self.strings.insert(id, text.to_vec());
            *bytes = entry.rest();
        }
        Some(())
    }

    fn stacks(&mut self, bytes: &mut &[u8]) -> Option<()> {
        while !bytes.is_empty() {
            expect(STACK, bytes)?;
            let (id, frames) = (varint(bytes)?, varint(bytes)?);
            let mut stack = Vec::new();
            for _ in 0..frames {
                let _pc = varint(bytes)?;
                let (function, file) = (varint(bytes)?, varint(bytes)?);
                stack.push(Frame { function, file, line: varint(bytes)? });
            }
            self.stacks.insert(id, stack);
        }
        Some(())
    }

    fn samples(&mut self, bytes: &mut &[u8]) -> Option<()> {
        while !bytes.is_empty() {
            expect(CPU_SAMPLE, bytes)?;
            let (time, thread, _processor) = (varint(bytes)?, varint(bytes)?, varint(bytes)?);
            let (goroutine, stack) = (varint(bytes)?, varint(bytes)?);
            self.cpu_samples.push(CpuSample { time, thread, goroutine, stack });
        }
        Some(())
    }

    fn sync(&mut self, bytes: &mut &[u8], base: u64) -> Option<()> {
        while let Some((kind, rest)) = bytes.split_first() {
            *bytes = rest;
            match *kind {
                FREQUENCY => self.frequency = varint(bytes)?,
                CLOCK_SNAPSHOT => {
                    let [passed, _, seconds, nanos] =
                        [varint(bytes)?, varint(bytes)?, varint(bytes)?, varint(bytes)?];
                    self.clock = Some((base.checked_add(passed)?, seconds, nanos));
                }
                _ => return None,
            }
        }
        Some(())
    }
}

fn expect(kind: u8, bytes: &mut &[u8]) -> Option<()> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    (*first == kind).then_some(())
}

//! `jit-PID.dump`: records of code put somewhere, moved, and its lines.
//!
//! Written by V8 (`node --perf-prof`), .NET, wasmtime, the JVM's agent of `perf`; specified in
//! the kernel's `tools/perf/Documentation/jitdump-specification.txt`. A header of 40 bytes
//! (`JiTD`, in the byte order of who wrote it) is followed by records of a type, a size, a time
//! and a body:
//!
//! ```text
//! 0 load    pid tid vma address size index name NUL code
//! 1 move    pid tid vma old new size index
//! 2 lines   address count { address line column file NUL }
//! ```
//!
//! The file ends where the process did, in the middle of a record if need be.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::Path;

use super::super::elf::{Fields, Format, string_at};
use super::super::symbolizer::Place;

const MAGIC: u32 = 0x4a69_5444;
const LOAD: u32 = 0;
const MOVE: u32 = 1;
const LINES: u32 = 2;

/// Code that a just-in-time compiler wrote down.
#[derive(Debug, Default)]
pub struct JitDump {
    bytes: Vec<u8>,
    /// By start, then by time.
    code: Vec<Code>,
    /// By the number of the code they belong to.
    lines: Vec<Lines>,
}

#[derive(Clone, Debug)]
struct Code {
    start: u64,
    end: u64,
    /// From when on it was there.
    time: u64,
    name: Range<usize>,
    /// Where it was when its lines were written down.
    written_at: u64,
    lines: Option<usize>,
}

/// The lines of a function: address, line, the file's name in the dump.
#[derive(Debug, Default)]
struct Lines {
    entries: Vec<(u64, u32, Range<usize>)>,
}

/// What a dump knows of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JitSymbol<'a> {
    /// The function.
    pub name: &'a [u8],
    /// The line, if the compiler wrote down lines.
    pub place: Option<Place>,
}

impl JitDump {
    /// Reads the file.
    ///
    /// # Errors
    /// What the system says, or that it is no such file.
    pub fn read(path: &Path) -> io::Result<JitDump> {
        JitDump::parse(super::read(path)?).ok_or_else(|| io::Error::other("it is no jitdump file"))
    }

    /// Takes it apart as far as its records are whole; `None` if it is not a jitdump.
    pub fn parse(bytes: Vec<u8>) -> Option<JitDump> {
        let little = match bytes.first_chunk::<4>()? {
            magic if u32::from_le_bytes(*magic) == MAGIC => true,
            magic if u32::from_be_bytes(*magic) == MAGIC => false,
            _ => return None,
        };
        let format = Format { wide: true, little };
        let header = Fields::new(bytes.get(8..)?, format).word()? as usize;
        let mut dump = JitDump::default();
        let mut by_index = HashMap::new();
        // Lines come before the code that they describe.
        let mut pending: Option<(u64, Lines)> = None;
        let mut at = header;
        while let Some(rest) = bytes.get(at..) {
            let mut fields = Fields::new(rest, format);
            let (Some(kind), Some(size), Some(time)) = (fields.word(), fields.word(), fields.double()) else {
                break;
            };
            let size = size as usize;
            if size < 16 || size > rest.len() {
                break;
            }
            let body = Body { bytes: &bytes, start: at + 16, end: at + size, format };
            // A record that is none is passed over: its size said where the next one is.
            match kind {
                LOAD => {
                    let _ = dump.load(body, time, &mut by_index, &mut pending);
                }
                MOVE => {
                    let _ = dump.moved(body, time, &by_index);
                }
                LINES => pending = lines(body),
                _ => {}
            }
            at += size;
        }
        dump.code.sort_by_key(|code| (code.start, code.time));
        dump.bytes = bytes;
        Some(dump)
    }

    fn load(
        &mut self,
        body: Body<'_>,
        time: u64,
        by_index: &mut HashMap<u64, Code>,
        pending: &mut Option<(u64, Lines)>,
    ) -> Option<()> {
        /// Two words and four doubles.
        const FIXED: usize = 40;
        let mut fields = body.fields();
        fields.skip(16)?;
        let (start, size, index) = (fields.double()?, fields.double()?, fields.double()?);
        let name_at = body.start + FIXED;
        let name = string_at(body.bytes.get(..body.end)?, name_at as u64)?;
        let lines = pending.take().filter(|(of, _)| *of == start).map(|(_, lines)| {
            self.lines.push(lines);
            self.lines.len() - 1
        });
        let code = Code {
            start,
            end: start.saturating_add(size),
            time,
            name: name_at..name_at + name.len(),
            written_at: start,
            lines,
        };
        by_index.insert(index, code.clone());
        self.code.push(code);
        Some(())
    }

    fn moved(&mut self, body: Body<'_>, time: u64, by_index: &HashMap<u64, Code>) -> Option<()> {
        let mut fields = body.fields();
        fields.skip(24)?;
        let (to, size, index) = (fields.double()?, fields.double()?, fields.double()?);
        let code = by_index.get(&index)?.clone();
        self.code.push(Code { start: to, end: to.saturating_add(size), time, ..code });
        Some(())
    }

    /// The code at an address of the process, at a time (of the clock the dump has, `perf record
    /// -k mono`), or the last that was there.
    pub fn find(&self, address: u64, time: Option<u64>) -> Option<JitSymbol<'_>> {
        /// Pieces that overlapped over time: looked through from the nearest.
        const OVERLAPS: usize = 64;
        let behind = self.code.partition_point(|code| code.start <= address);
        let at_address = || self.code[..behind].iter().rev().take(OVERLAPS).filter(|code| address < code.end);
        let in_time = time.and_then(|time| at_address().filter(|c| c.time <= time).max_by_key(|c| c.time));
        let code = in_time.or_else(|| at_address().max_by_key(|c| c.time))?;
        let place = code.lines.and_then(|lines| {
            let lines = &self.lines[lines].entries;
            let offset = address - code.start;
            let at = lines.partition_point(|(line, ..)| line.wrapping_sub(code.written_at) <= offset);
            let (_, line, file) = lines.get(at.checked_sub(1)?)?;
            Some(Place { file: self.bytes[file.clone()].into(), line: *line })
        });
        Some(JitSymbol { name: &self.bytes[code.name.clone()], place })
    }

    /// How many pieces of code it has.
    pub fn len(&self) -> usize {
        self.code.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.code.is_empty()
    }
}

/// A record behind its header.
#[derive(Clone, Copy)]
struct Body<'b> {
    bytes: &'b [u8],
    start: usize,
    end: usize,
    format: Format,
}

impl<'b> Body<'b> {
    fn fields(&self) -> Fields<'b> {
        Fields::new(&self.bytes[self.start..self.end], self.format)
    }
}

/// The lines of a record, and the code they are of.
fn lines(body: Body<'_>) -> Option<(u64, Lines)> {
    /// Of an entry before its file's name.
    const ENTRY: usize = 16;
    let mut fields = body.fields();
    let of = fields.double()?;
    let count = fields.double()?;
    let mut entries: Vec<(u64, u32, Range<usize>)> = Vec::new();
    let mut at = body.start + 16;
    for _ in 0..count {
        let mut fields = Fields::new(body.bytes.get(at..body.end)?, body.format);
        let (Some(address), Some(line)) = (fields.double(), fields.word()) else { break };
        let name_at = at + ENTRY;
        let Some(name) = string_at(&body.bytes[..body.end], name_at as u64) else { break };
        let file = match (name, entries.last()) {
            // The same file as before.
            (b"\xff", Some((.., before))) => before.clone(),
            _ => name_at..name_at + name.len(),
        };
        at = name_at + name.len() + 1;
        entries.push((address, line, file));
    }
    entries.sort_by_key(|(address, ..)| address.wrapping_sub(of));
    Some((of, Lines { entries }))
}

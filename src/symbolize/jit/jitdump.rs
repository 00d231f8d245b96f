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
use super::super::intervals::Intervals;
use super::super::owned::Owners;
use super::super::place::Place;

const MAGIC: u32 = 0x4a69_5444;
const LOAD: u32 = 0;
const MOVE: u32 = 1;
const LINES: u32 = 2;

/// Code that a just-in-time compiler wrote down.
#[derive(Debug, Default)]
pub struct JitDump {
    bytes: Vec<u8>,
    code: Intervals<Code>,
    /// Source lines, by the number of the code they belong to.
    lines: Vec<Lines>,
}

#[derive(Clone, Debug)]
struct Code {
    /// From when on it was there.
    time: u64,
    name: Range<usize>,
    /// The address at the time its lines were written down.
    written_at: u64,
    lines: Option<usize>,
}

/// The lines of a function: address, line, the file's name in the dump.
#[derive(Debug, Default)]
struct Lines {
    entries: Vec<(u64, u32, Range<usize>)>,
}

/// The symbol of an address in a dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JitSymbol<'a> {
    /// The function.
    pub name: &'a [u8],
    /// The line, if the compiler wrote down lines.
    pub place: Option<Place>,
}

impl JitDump {
    /// Reads the file if it belongs to root or to the user of this process.
    ///
    /// # Errors
    /// Those of [`JitDump::read_of`].
    pub fn read(path: &Path) -> io::Result<JitDump> {
        JitDump::read_of(path, &Owners::default())
    }

    /// Reads the file if it belongs to one of these users.
    ///
    /// # Errors
    /// Errors of the system; a file of another user or of another kind.
    pub fn read_of(path: &Path, owners: &Owners) -> io::Result<JitDump> {
        JitDump::parse(super::read(path, owners)?).ok_or_else(|| io::Error::other("it is no jitdump file"))
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
        let mut reading = Reading::default();
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
            // An unknown record is passed over: its size says where the next one is.
            match kind {
                LOAD => {
                    let _ = reading.load(body, time);
                }
                MOVE => {
                    let _ = reading.moved(body, time);
                }
                LINES => reading.pending = lines(body),
                _ => {}
            }
            at += size;
        }
        Some(JitDump { bytes, code: Intervals::new(reading.code), lines: reading.lines })
    }

    /// The code at an address of the process, at a time (of the clock the dump has, `perf record
    /// -k mono`), or the last that was there.
    pub fn find(&self, address: u64, time: Option<u64>) -> Option<JitSymbol<'_>> {
        let newest = |until| {
            let pieces = self.code.containing(address).filter(move |(_, code)| code.time <= until);
            pieces.max_by_key(|(_, code)| code.time)
        };
        let (start, code) = time.and_then(newest).or_else(|| newest(u64::MAX))?;
        let place = code.lines.and_then(|lines| {
            let lines = &self.lines[lines].entries;
            let offset = address - start;
            let at = lines.partition_point(|(line, ..)| line.wrapping_sub(code.written_at) <= offset);
            let (_, line, file) = lines.get(at.checked_sub(1)?)?;
            Some(Place { file: self.bytes[file.clone()].into(), line: *line, start_line: 0 })
        });
        Some(JitSymbol { name: &self.bytes[code.name.clone()], place })
    }

    /// The number of pieces of code.
    pub fn len(&self) -> usize {
        self.code.len()
    }

    /// Returns whether it has none.
    pub fn is_empty(&self) -> bool {
        self.code.is_empty()
    }
}

/// Functions and lines gathered while a dump is read.
#[derive(Default)]
struct Reading {
    code: Vec<(u64, u64, Code)>,
    lines: Vec<Lines>,
    by_index: HashMap<u64, Code>,
    /// Lines come before the code that they describe.
    pending: Option<(u64, Lines)>,
}

impl Reading {
    fn load(&mut self, body: Body<'_>, time: u64) -> Option<()> {
        /// Two words and four doubles.
        const FIXED: usize = 40;
        let mut fields = body.fields();
        fields.skip(16)?;
        let (start, size, index) = (fields.double()?, fields.double()?, fields.double()?);
        let name_at = body.start + FIXED;
        let name = string_at(body.bytes.get(..body.end)?, name_at as u64)?;
        let lines = self.pending.take().filter(|(of, _)| *of == start).and_then(|(_, lines)| {
            self.lines.push(lines.of_code(start, size)?);
            Some(self.lines.len() - 1)
        });
        let code = Code { time, name: name_at..name_at + name.len(), written_at: start, lines };
        self.by_index.insert(index, code.clone());
        self.code.push((start, start.saturating_add(size), code));
        Some(())
    }

    fn moved(&mut self, body: Body<'_>, time: u64) -> Option<()> {
        let mut fields = body.fields();
        fields.skip(24)?;
        let (to, size, index) = (fields.double()?, fields.double()?, fields.double()?);
        let code = Code { time, ..self.by_index.get(&index)?.clone() };
        self.code.push((to, to.saturating_add(size), code));
        Some(())
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

impl Lines {
    /// Lines that begin in the code; `None` if some do not: node 20 writes what is left of a
    /// string that it has freed, and what follows that is not where it should be.
    fn of_code(mut self, start: u64, size: u64) -> Option<Lines> {
        /// V8 counts the header that `perf inject` is going to put before the code.
        const ELF_HEADER: u64 = 0x40;
        let offset = |address: u64| address.wrapping_sub(start);
        if self.entries.first().is_some_and(|(address, ..)| offset(*address) == ELF_HEADER) {
            self.entries.iter_mut().for_each(|(address, ..)| *address = address.wrapping_sub(ELF_HEADER));
        }
        self.entries.iter().all(|(address, ..)| offset(*address) <= size).then_some(self)
    }
}

/// The lines of a record, and the code they are of.
fn lines(body: Body<'_>) -> Option<(u64, Lines)> {
    /// The size of an entry before its file's name.
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

//! The records of an aggregated recording: the Python stacks, and for each the sums at the peak and at the end.

use super::Recording;
use super::frames::{Code, Key, Stated, no_caller};
use super::header::{Header, Version};
use super::heap::{Location, Sum};
use super::wire::Wire;
use crate::collapse::kit::trie::Trie;
use crate::error::Result;

/// Reads the records, and returns whether there was an end behind them.
///
/// # Errors
/// Records that are none, and the end of the input within one.
pub fn read(wire: &mut Wire, header: &Header, recording: &mut Recording) -> Result<bool> {
    recording.frames.python = header.python.unwrap_or(0);
    let is_old = header.version == Version::V11;
    let mut paths = vec![Trie::ROOT];
    let mut thread = 0;
    let (mut address, mut caller, mut first) = (0, 0, 0);
    while let Some(kind) = wire.token()? {
        match kind {
            // The memory at a time, of the process and of the heap.
            1 => drop(wire.bytes::<24>()?),
            2 => sums(wire, recording, &paths)?,
            3 => {
                let (frame, above) = match is_old {
                    true => (wire.u64()?, u64::from(u32::from_le_bytes(wire.bytes()?))),
                    false => (wire.varint()?, wire.varint()?),
                };
                let found = usize::try_from(above).ok().and_then(|above| paths.get(above).copied());
                let Some(above) = found else {
                    return Err(wire.malformed("the number of a stack that came before", above));
                };
                let number = recording.frames.frame_number(Key::Number(frame));
                paths.push(recording.frames.paths.below(above, number));
            }
            4 if is_old => {
                let number = wire.u64()?;
                let (function, file, line) = (wire.text()?, wire.text()?, wire.i32()?);
                let is_entry = wire.byte()? != 0;
                recording.frames.state(number, Stated { function, file, line, is_entry });
            }
            4 => {
                let (number, code) = (wire.varint()?, wire.varint()?);
                let offset = wire.signed()?;
                let is_entry = wire.byte()? != 0;
                recording.frames.place(number, Key::Code { code, offset, is_entry });
            }
            5 => {
                wire.delta(&mut address)?;
                wire.delta(&mut caller)?;
                recording.frames.native(address, caller).ok_or_else(|| no_caller(caller).at(wire.place()))?;
            }
            6 => recording.frames.begin_files(),
            7 => file(wire, recording)?,
            10 => {
                let name = wire.text()?;
                recording.name_thread(thread, name);
            }
            12 => thread = wire.u64()?,
            // An object that still lived at the end.
            13 => {
                wire.varint()?;
                if header.has_natives {
                    wire.varint()?;
                }
            }
            14 => code(wire, &mut first, recording)?,
            15 => return Ok(true),
            other => return Err(wire.malformed("a record of memray", format!("the kind {other}"))),
        }
    }
    Ok(false)
}

/// The sums of a stack.
fn sums(
    wire: &mut Wire,
    recording: &mut Recording,
    paths: &[crate::collapse::kit::trie::PathId],
) -> Result<()> {
    let thread = wire.u64()?;
    // The allocator, and what fills its word.
    wire.bytes::<8>()?;
    let (native, path, generation) = (wire.u64()?, wire.u64()?, wire.u64()?);
    let counts = (wire.u64()?, wire.u64()?);
    let bytes = (wire.u64()?, wire.u64()?);
    let Some(&path) = usize::try_from(path).ok().and_then(|path| paths.get(path)) else {
        return Err(wire.malformed("the number of a stack that came before", path));
    };
    let location = Location { thread: recording.thread(thread), path, native, generation };
    let peak = Sum { bytes: bytes.0, count: counts.0 };
    let leaked = Sum { bytes: bytes.1, count: counts.1 };
    recording.heap.state(location, peak, leaked)
}

/// A file that is loaded, with its segments.
///
/// # Errors
/// The end of the input, and other records than its segments.
pub fn file(wire: &mut Wire, recording: &mut Recording) -> Result<()> {
    let path = wire.text()?;
    let (count, start) = (wire.varint()?, wire.u64()?);
    let mut segments = Vec::new();
    for _ in 0..count {
        let kind = wire.byte()?;
        if kind & 0x0f != 8 {
            return Err(wire.malformed("a segment of a file", format!("a record of the kind {kind}")));
        }
        segments.push((wire.u64()?, wire.varint()?));
    }
    recording.frames.file(path, start, segments);
    Ok(())
}

/// A function, with the line on which it begins as the difference from that of the one before.
///
/// # Errors
/// The end of the input.
pub fn code(wire: &mut Wire, first: &mut u64, recording: &mut Recording) -> Result<()> {
    let number = wire.varint()?;
    let (function, file) = (wire.text()?, wire.text()?);
    let first = wire.delta(first)? as i64;
    let lines = wire.block()?;
    recording.frames.code(number, Code { function, file, first, lines });
    Ok(())
}

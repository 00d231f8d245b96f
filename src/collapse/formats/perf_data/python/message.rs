//! Messages of a recorder, beside the kernel's records, on the interpreters of Python in the processes that it records.
//!
//! These messages are records of a kind of their own, which no file holds: the recorder reads them from the memory of
//! a process when it takes a sample of it from the ring, and hands them over before that sample.

use std::ops::Range;

use crate::bytes::{ByteOrder, Cursor};

/// A message of the recorder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// A process has an interpreter.
    Interpreter(Interpreter),
    /// An interpreter has a function.
    Code(Code),
    /// The frames of a thread at the time of a sample, or a little later.
    Memory(Memory),
}

/// An interpreter in a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interpreter {
    pub pid: i32,
    /// The addresses of the function that evaluates, of which each frame in C stands for one of Python's or several.
    pub evaluators: Vec<Range<u64>>,
    /// The layout of frames that one call of the evaluator has several of: since 3.11.
    pub frames: Option<FrameLayout>,
}

/// Offsets of the fields of `_PyInterpreterFrame`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FrameLayout {
    /// The code object.
    pub code: u64,
    /// The caller's frame.
    pub previous: u64,
    /// The instruction that runs, or the one before.
    pub instruction: u64,
    /// The byte that tells the first frame of a call of the evaluator.
    pub entry: u64,
    /// There the first frame is one of the evaluator's own, in front of the first of Python's: since 3.12. Else
    /// it is Python's.
    pub has_shim: bool,
}

/// A code object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Code {
    pub pid: i32,
    pub address: u64,
    /// The addresses of what it refers to, and its own: of functions that share their instructions, the one that runs.
    pub witnesses: Vec<u64>,
    /// The addresses of its instructions.
    pub instructions: Range<u64>,
    /// The format of the table of lines: the version of Python, 3 left out.
    pub version: u32,
    pub first_line: u32,
    /// It is a generator or a coroutine.
    pub is_generator: bool,
    /// The bytes of a frame of it; 0 if it is not known.
    pub frame_size: u32,
    pub name: Vec<u8>,
    pub file: Vec<u8>,
    pub lines: Vec<u8>,
}

/// The pieces of a process's memory that hold the frames of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    pub tid: i32,
    /// The time of the sample that it was read for.
    pub time: u64,
    /// The frame that ran when it was read.
    pub current: u64,
    /// Addresses and contents.
    pub pieces: Vec<(u64, Vec<u8>)>,
}

const INTERPRETER: u64 = 1;
const CODE: u64 = 2;
const MEMORY: u64 = 3;

impl Message {
    /// The content of the record.
    #[cfg_attr(not(all(feature = "record", target_os = "linux")), allow(dead_code))]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut numbers = |all: &[u64]| out.extend(all.iter().flat_map(|n| n.to_ne_bytes()));
        match self {
            Message::Interpreter(Interpreter { pid, evaluators, frames }) => {
                numbers(&[INTERPRETER, *pid as u64, evaluators.len() as u64]);
                evaluators.iter().for_each(|range| numbers(&[range.start, range.end]));
                let FrameLayout { code, previous, instruction, entry, has_shim } = frames.unwrap_or_default();
                numbers(&[frames.is_some().into(), code, previous, instruction, entry, has_shim.into()]);
            }
            Message::Code(code) => {
                let Range { start, end } = code.instructions;
                let small = [code.version, code.first_line, code.frame_size].map(u64::from);
                numbers(&[CODE, code.pid as u64, code.address, start, end]);
                numbers(&small);
                numbers(&[code.is_generator.into()]);
                numbers(&[code.witnesses.len() as u64]);
                numbers(&code.witnesses);
                [&code.name, &code.file, &code.lines].into_iter().for_each(|text| put(text, &mut out));
            }
            Message::Memory(Memory { tid, time, current, pieces }) => {
                numbers(&[MEMORY, *tid as u64, *time, *current, pieces.len() as u64]);
                for (address, bytes) in pieces {
                    out.extend(address.to_ne_bytes());
                    put(bytes, &mut out);
                }
            }
        }
        out
    }

    /// Reads the content of the record.
    pub fn parse(body: &[u8], order: ByteOrder) -> Option<Message> {
        let mut fields = Cursor::new(body, order);
        Some(match fields.u64()? {
            INTERPRETER => {
                let (pid, count) = (fields.u64()? as i32, fields.u64()?);
                let mut evaluators = Vec::new();
                for _ in 0..count {
                    evaluators.push(fields.u64()?..fields.u64()?);
                }
                let has_frames = fields.u64()? != 0;
                let (code, previous, instruction) = (fields.u64()?, fields.u64()?, fields.u64()?);
                let (entry, has_shim) = (fields.u64()?, fields.u64()? != 0);
                let frames = FrameLayout { code, previous, instruction, entry, has_shim };
                Message::Interpreter(Interpreter { pid, evaluators, frames: has_frames.then_some(frames) })
            }
            CODE => {
                let mut code = Code {
                    pid: fields.u64()? as i32,
                    address: fields.u64()?,
                    instructions: fields.u64()?..fields.u64()?,
                    version: fields.u64()? as u32,
                    first_line: fields.u64()? as u32,
                    frame_size: fields.u64()? as u32,
                    is_generator: fields.u64()? != 0,
                    ..Code::default()
                };
                for _ in 0..fields.u64()? {
                    code.witnesses.push(fields.u64()?);
                }
                (code.name, code.file, code.lines) =
                    (text(&mut fields)?, text(&mut fields)?, text(&mut fields)?);
                Message::Code(code)
            }
            MEMORY => {
                let (tid, time, current, count) =
                    (fields.u64()? as i32, fields.u64()?, fields.u64()?, fields.u64()?);
                let mut pieces = Vec::new();
                for _ in 0..count {
                    pieces.push((fields.u64()?, text(&mut fields)?));
                }
                Message::Memory(Memory { tid, time, current, pieces })
            }
            _ => return None,
        })
    }
}

fn put(text: &[u8], out: &mut Vec<u8>) {
    out.extend((text.len() as u64).to_ne_bytes());
    out.extend_from_slice(text);
}

fn text(fields: &mut Cursor<'_>) -> Option<Vec<u8>> {
    let len = fields.u64()?;
    Some(fields.take_u64(len)?.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let frames = FrameLayout { code: 1, previous: 2, instruction: 3, entry: 4, has_shim: true };
        let interpreter = Interpreter { pid: 7, evaluators: vec![1..2, 5..9], frames: Some(frames) };
        let code = Code {
            pid: 7,
            address: 0x1000,
            witnesses: vec![0x1000, 0x2000],
            instructions: 0x10b8..0x10f0,
            version: 11,
            first_line: 3,
            frame_size: 96,
            is_generator: true,
            name: b"f".to_vec(),
            file: b"/a.py".to_vec(),
            lines: vec![0x80, 1],
        };
        let pieces = vec![(0x5000, vec![1, 2, 3]), (0x9000, Vec::new())];
        let order = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };
        for message in [
            Message::Interpreter(Interpreter { frames: None, ..interpreter.clone() }),
            Message::Interpreter(interpreter),
            Message::Code(code),
            Message::Memory(Memory { tid: 9, time: 55, current: 0x5000, pieces }),
        ] {
            let bytes = message.to_bytes();
            assert_eq!(Message::parse(&bytes, order), Some(message));
            for len in 0..bytes.len() {
                assert_eq!(Message::parse(&bytes[..len], order), None, "cut at {len}");
            }
        }
    }
}

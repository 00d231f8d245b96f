//! The offsets of the fields of CPython's interpreters, threads, frames and code objects, by version.
//!
//! Up to 3.12 they are what `offsetof` says in a program that was compiled against the headers of 3.8.18, 3.9.18,
//! 3.10.13, 3.11.7 and 3.12.1 for a 64-bit Linux (`Include/internal/pycore_runtime.h`, `pycore_interp.h`,
//! `pycore_frame.h`, `Include/cpython/pystate.h`, `code.h`); they are the same in all releases of a version. From 3.13 on
//! an interpreter says itself where they are: at the beginning of `_PyRuntime`, as `_Py_DebugOffsets`
//! (`Include/internal/pycore_debug_offsets.h`, of 3.13.0 and 3.14.0).

use crate::collapse::formats::perf_data::python::FrameLayout;
use crate::record::sys::memory::Memory;

/// Offsets of an interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// The version, 3 left out.
    pub version: u32,
    /// The first interpreter, in `_PyRuntime`.
    pub interpreters: u64,
    /// The next one, and the first thread, in an interpreter.
    pub next_interpreter: u64,
    pub threads: u64,
    /// The next thread, in one.
    pub next_thread: u64,
    pub frames: Frames,
    pub code: CodeLayout,
    /// The size of a text's head, if all of its characters are of ASCII, and if not.
    pub text_heads: [u64; 2],
}

/// The kinds of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frames {
    /// Objects: the latest in a thread; the caller and the code object in a frame.
    Objects { latest: u64, back: u64, code: u64 },
    /// Pieces of a stack that each thread has.
    Stack(StackLayout),
}

/// The stack of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StackLayout {
    /// The system's number of the thread, in a thread.
    pub native_id: u64,
    /// The latest chunk of the stack, and behind that the address up to which it is used, in a thread.
    pub chunk: u64,
    /// The latest frame, or a record on the stack of C that has it at the second offset, in a thread.
    pub latest: (u64, Option<u64>),
    pub frame: FrameLayout,
}

/// Fields of a code object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodeLayout {
    pub file: u64,
    pub name: u64,
    pub first_line: u64,
    pub lines: u64,
    pub instructions: Instructions,
    /// Flags, of those whose frames are on a stack.
    pub flags: Option<u64>,
    /// The constants, which tell functions apart that share their instructions.
    pub constants: Option<u64>,
}

/// The place of the instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instructions {
    /// In another object, which this field refers to.
    Apart(u64),
    /// In the code object itself, from here on.
    Within(u64),
}

/// The offset of the number of items of an object, and of the bytes of `bytes`.
pub(super) const COUNT: u64 = 16;
pub(super) const BYTES: u64 = 32;
/// The offsets of the length and the kind of a text.
pub(super) const LENGTH: u64 = 16;
pub(super) const KIND: u64 = 32;

impl Layout {
    /// The layout of a version, of which the interpreter does not tell it.
    pub fn of_version(version: u32) -> Option<Layout> {
        let objects = |lines| CodeLayout {
            file: 104,
            name: 112,
            first_line: 40,
            lines,
            instructions: Instructions::Apart(48),
            constants: Some(56),
            flags: None,
        };
        let (interpreters, next_interpreter, threads, frames, code, text_heads) = match version {
            8..=10 => (32, 0, 8, Frames::Objects { latest: 24, back: 24, code: 32 }, objects(120), [48, 72]),
            11 => {
                let frame =
                    FrameLayout { code: 32, previous: 48, instruction: 56, entry: 68, has_shim: false };
                let stack = StackLayout { native_id: 160, chunk: 296, latest: (56, Some(8)), frame };
                (40, 0, 16, Frames::Stack(stack), within(112, 128, 72, 136, 184), [48, 72])
            }
            12 => {
                let frame = FrameLayout { code: 0, previous: 8, instruction: 56, entry: 70, has_shim: true };
                let stack = StackLayout { native_id: 144, chunk: 232, latest: (56, Some(0)), frame };
                (40, 0, 72, Frames::Stack(stack), within(112, 128, 68, 136, 192), [40, 56])
            }
            _ => return None,
        };
        Some(Layout {
            version,
            interpreters,
            next_interpreter,
            threads,
            next_thread: 8,
            frames,
            code,
            text_heads,
        })
    }

    /// The layout that an interpreter tells, at the beginning of `_PyRuntime`.
    pub fn told(memory: &impl Memory, runtime: u64) -> Option<Layout> {
        const COOKIE: [u8; 8] = *b"xdebugpy";
        // The largest offset that is believed: an interpreter has some hundred kilobytes.
        const LARGEST: u64 = 1 << 20;
        let mut bytes = [0; 8 * TOLD];
        if !memory.read(runtime, &mut bytes) || bytes[..8] != COOKIE {
            return None;
        }
        let numbers: Vec<u64> =
            bytes.chunks_exact(8).map(|n| u64::from_le_bytes(n.try_into().expect("eight bytes"))).collect();
        // Major and minor version, release, level and number, as `PY_VERSION_HEX` has them; and whether there is no lock.
        let (version, is_free) = (u32::try_from(numbers[1]).ok()?, numbers[2] != 0);
        // The numbers of the first fields of an interpreter, a thread, a frame and a code object in the list.
        let [interpreter, thread, frame, code] = match version >> 16 {
            0x030d => [6, 19, 28, 34],
            0x030e => [6, 22, 31, 39],
            _ => return None,
        };
        if is_free || numbers[3..].iter().any(|n| *n > LARGEST) {
            return None;
        }
        let layout = FrameLayout {
            previous: numbers[frame + 1],
            code: numbers[frame + 2],
            instruction: numbers[frame + 3],
            entry: numbers[frame + 5],
            has_shim: true,
        };
        let stack = StackLayout {
            native_id: numbers[thread + 6],
            chunk: numbers[thread + 7],
            latest: (numbers[thread + 4], None),
            frame: layout,
        };
        Some(Layout {
            version: version >> 16 & 0xff,
            interpreters: numbers[5],
            next_interpreter: numbers[interpreter + 2],
            threads: numbers[interpreter + 3],
            next_thread: numbers[thread + 2],
            frames: Frames::Stack(stack),
            code: within(
                numbers[code + 1],
                numbers[code + 3],
                numbers[code + 5],
                numbers[code + 4],
                numbers[code + 9],
            ),
            text_heads: [40, 56],
        })
    }
}

/// The numbers that are read of what an interpreter tells.
const TOLD: usize = 50;

fn within(file: u64, name: u64, first_line: u64, lines: u64, instructions: u64) -> CodeLayout {
    let instructions = Instructions::Within(instructions);
    CodeLayout { file, name, first_line, lines, instructions, constants: None, flags: Some(48) }
}

impl CodeLayout {
    /// The bytes of a code object that hold all of these fields.
    pub fn size(&self) -> usize {
        let (Instructions::Apart(at) | Instructions::Within(at)) = self.instructions;
        let last = [self.file, self.name, self.lines, self.first_line, at];
        last.into_iter().max().unwrap_or(0) as usize + 8
    }

    /// The bytes of a frame of a code object of a version, whose fields these are.
    pub fn frame_size(&self, version: u32, number: impl Fn(u64) -> u32) -> u32 {
        const WORD: u32 = 8;
        // In 3.11: the words in front of the variables, these, and the most values on the stack.
        const HEAD: u32 = 9;
        let words = match version {
            ..=10 => 0,
            11 => HEAD.saturating_add(number(76)).saturating_add(number(68)),
            // `co_framesize`, behind the line and the number of variables.
            _ => number(self.first_line + 8),
        };
        words.saturating_mul(WORD)
    }
}

//! Reads the frames and functions of an interpreter from the memory of its process.
//!
//! The memory may hold anything: the process runs on meanwhile. All that is read is bounded, and what it is used for
//! is checked by the reader of the samples.

use std::collections::HashMap;
use std::ops::Range;

use super::layout::{BYTES, COUNT, Frames, Instructions, KIND, LENGTH, Layout, StackLayout};
use crate::collapse::formats::perf_data::python::{Code, Memory as Taken, Message};
use crate::record::sys::memory::Memory;

/// The most interpreters, and the most threads of all of them.
const MOST_INTERPRETERS: usize = 64;
const MOST_THREADS: usize = 4096;
/// The most frames that are followed from the latest.
const MOST_FRAMES: usize = 1024;
/// Frames that were met before, one behind the other, after which the others are known, too.
const MOST_KNOWN: usize = 8;
/// The bytes that are read of the stack of a thread at most: some five hundred frames, in three chunks.
const MOST_STACK: usize = 40 << 10;
const MOST_CHUNKS: usize = 16;
/// The bytes behind the end of the stack that are read, too: the sample may have been taken while it was longer.
const BEHIND: u64 = 2048;
/// The largest chunk of a stack that is believed.
const LARGEST_CHUNK: u64 = 1 << 30;
/// The frames elsewhere, of generators, that are handed over with a stack.
const MOST_ELSEWHERE: usize = 64;
/// The longest texts and tables.
const LONGEST_NAME: u64 = 1000;
const LONGEST_FILE: u64 = 4000;
const LONGEST_TABLE: u64 = 32_000;
const LARGEST_CODE: u64 = 1 << 26;
/// The flags of generators, coroutines, coroutines made of generators, and generators that are coroutines.
const GENERATOR: u32 = 0x20 | 0x80 | 0x100 | 0x200;
/// Nothing is mapped below.
const LEAST_ADDRESS: u64 = 1 << 16;
/// The bytes of a thread that hold all fields.
const THREAD: usize = 320;
/// The samples after which it is looked whether a code object is still the same.
const CHECKED_EVERY: u64 = 64;
/// The most code objects that are remembered.
const MOST_CODES: usize = 1 << 17;

/// A number in memory.
fn word(memory: &impl Memory, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    memory.read(address, &mut bytes).then(|| u64::from_le_bytes(bytes))
}

/// A number in bytes that were read.
fn at(bytes: &[u8], offset: u64) -> Option<u64> {
    let bytes = bytes.get(usize::try_from(offset).ok()?..)?;
    bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

fn small_at(bytes: &[u8], offset: u64) -> u32 {
    let bytes = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..));
    bytes.and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// An interpreter in a process.
#[derive(Debug)]
pub(super) struct Interpreter {
    pub pid: u32,
    pub layout: Layout,
    /// The address of `_PyRuntime`.
    pub runtime: u64,
    /// The address of the type of code objects.
    pub code_type: u64,
    /// The thread states, by the system's number; and the tries to find one that was not there.
    threads: HashMap<u32, Thread>,
    codes: HashMap<u64, KnownCode>,
    /// Frame objects that were met: caller and code object.
    objects: HashMap<u64, (u64, u64)>,
    samples: u64,
}

#[derive(Clone, Copy, Debug)]
enum Thread {
    At(u64),
    /// It was looked for so many times.
    Missing(u64),
}

/// A code object that was described.
#[derive(Clone, Copy, Debug)]
struct KnownCode {
    /// Its name, its file and its first line; `None` if it is none.
    identity: Option<(u64, u64, u32)>,
    /// The number of the sample at which it was read.
    checked: u64,
}

impl Interpreter {
    pub fn new(pid: u32, layout: Layout, runtime: u64, code_type: u64) -> Interpreter {
        Interpreter {
            pid,
            layout,
            runtime,
            code_type,
            threads: HashMap::new(),
            codes: HashMap::new(),
            objects: HashMap::new(),
            samples: 0,
        }
    }

    /// Tells what a thread runs now: functions that were not told before, and the frames where these cannot be found
    /// in the sample itself.
    pub fn sample(
        &mut self,
        memory: &impl Memory,
        tid: u32,
        time: u64,
        registers: &[u64],
        tell: &mut impl FnMut(&Message),
    ) {
        self.samples += 1;
        match self.layout.frames {
            Frames::Objects { latest, back, code } => {
                for thread in self.all_threads(memory) {
                    self.follow_objects(memory, thread.wrapping_add(latest), [back, code], tell);
                }
            }
            Frames::Stack(stack) => {
                let Some((_, head)) = self.thread(memory, tid, &stack) else { return };
                if let Some(taken) = self.take_stack(memory, &stack, &head, registers, tell) {
                    tell(&Message::Memory(Taken { tid: tid.cast_signed(), time, ..taken }));
                }
            }
        }
    }

    /// The thread states of all interpreters.
    fn all_threads(&self, memory: &impl Memory) -> Vec<u64> {
        let Layout { interpreters, next_interpreter, threads, next_thread, .. } = self.layout;
        let mut all = Vec::new();
        let mut interpreter = word(memory, self.runtime.wrapping_add(interpreters)).unwrap_or(0);
        for _ in 0..MOST_INTERPRETERS {
            if interpreter == 0 {
                break;
            }
            let mut thread = word(memory, interpreter.wrapping_add(threads)).unwrap_or(0);
            while thread != 0 && all.len() < MOST_THREADS {
                all.push(thread);
                thread = word(memory, thread.wrapping_add(next_thread)).unwrap_or(0);
            }
            interpreter = word(memory, interpreter.wrapping_add(next_interpreter)).unwrap_or(0);
        }
        all
    }

    /// The state of a thread, and its first bytes.
    fn thread(&mut self, memory: &impl Memory, tid: u32, stack: &StackLayout) -> Option<(u64, [u8; THREAD])> {
        let read = |thread: u64| {
            let mut head = [0; THREAD];
            memory.read(thread, &mut head).then_some((thread, head))
        };
        let id = |head: &[u8]| at(head, stack.native_id);
        let mut missed = 0;
        match self.threads.get(&tid) {
            Some(&Thread::At(thread)) => {
                let known = read(thread).filter(|(_, head)| id(head) == Some(tid.into()));
                if known.is_some() {
                    return known;
                }
            }
            Some(&Thread::Missing(times)) => missed = times,
            None => {}
        }
        // A thread that runs no Python is looked for less and less.
        self.threads.insert(tid, Thread::Missing(missed + 1));
        if !(missed + 1).is_power_of_two() {
            return None;
        }
        let all = self.all_threads(memory);
        let mut states = all.iter().filter_map(|thread| read(*thread));
        let found = states.find(|(_, head)| id(head) == Some(tid.into())).or_else(|| match all[..] {
            // In a container, it has another number.
            [only] if tid == self.pid => read(only),
            _ => None,
        });
        if let Some((thread, head)) = &found
            && id(head) == Some(tid.into())
        {
            self.threads.insert(tid, Thread::At(*thread));
        } else if found.is_some() {
            self.threads.remove(&tid);
        }
        found
    }

    /// Tells the functions of frames that are objects.
    fn follow_objects(
        &mut self,
        memory: &impl Memory,
        latest: u64,
        [back, code]: [u64; 2],
        tell: &mut impl FnMut(&Message),
    ) {
        let mut known = 0;
        let mut frame = word(memory, latest).unwrap_or(0);
        for _ in 0..MOST_FRAMES {
            if frame == 0 || known == MOST_KNOWN {
                return;
            }
            let (first, last) = (back.min(code), back.max(code) + 8);
            let mut bytes = [0; 64];
            let Some(bytes) = bytes.get_mut(..(last - first) as usize) else { return };
            if !memory.read(frame.wrapping_add(first), bytes) {
                return;
            }
            let (Some(caller), Some(code)) = (at(bytes, back - first), at(bytes, code - first)) else {
                return;
            };
            if self.objects.len() > MOST_CODES {
                self.objects.clear();
            }
            let is_known = self.objects.insert(frame, (caller, code)) == Some((caller, code));
            known = if is_known { known + 1 } else { 0 };
            self.code(memory, code, tell);
            frame = caller;
        }
    }

    /// The stack of a thread; tells the functions on it.
    fn take_stack(
        &mut self,
        memory: &impl Memory,
        stack: &StackLayout,
        head: &[u8],
        registers: &[u64],
        tell: &mut impl FnMut(&Message),
    ) -> Option<Taken> {
        let (chunk, top) = (at(head, stack.chunk)?, at(head, stack.chunk + 8)?);
        let latest = at(head, stack.latest.0)?;
        let current = match stack.latest.1 {
            Some(offset) => word(memory, latest.wrapping_add(offset))?,
            None => latest,
        };
        let mut pieces = read_chunks(memory, chunk, top);
        let frame = stack.frame;
        let size = [frame.code, frame.previous, frame.instruction, frame.entry].into_iter().max()? + 8;
        let size = usize::try_from(size).ok().filter(|size| *size <= 4096)?;
        let mut address = current;
        let mut elsewhere = 0;
        for _ in 0..MOST_FRAMES {
            if address == 0 {
                break;
            }
            let known = pieces.iter().find_map(|(start, bytes)| {
                let offset = usize::try_from(address.checked_sub(*start)?).ok()?;
                bytes.get(offset..offset.checked_add(size)?)
            });
            let bytes = match known {
                Some(bytes) => bytes,
                None => {
                    let mut bytes = vec![0; size];
                    elsewhere += 1;
                    if elsewhere > MOST_ELSEWHERE || !memory.read(address, &mut bytes) {
                        break;
                    }
                    pieces.push((address, bytes));
                    &pieces.last().expect("just pushed").1
                }
            };
            let (Some(code), Some(previous)) = (at(bytes, frame.code), at(bytes, frame.previous)) else {
                break;
            };
            self.code(memory, without_tag(code), tell);
            address = previous;
        }
        // Generators have frames of their own, which may not be running any more.
        for &address in registers {
            let is_there = |(start, bytes): &(u64, Vec<u8>)| {
                address.checked_sub(*start).is_some_and(|offset| offset < bytes.len() as u64)
            };
            if !address.is_multiple_of(8) || address < LEAST_ADDRESS || pieces.iter().any(is_there) {
                continue;
            }
            let mut bytes = vec![0; size];
            if memory.read(address, &mut bytes)
                && let Some(code) = at(&bytes, frame.code).map(without_tag)
                && self.codes.get(&code).is_some_and(|known| known.identity.is_some())
            {
                pieces.push((address, bytes));
            }
        }
        Some(Taken { current, pieces, ..Taken::default() })
    }

    /// Tells a code object that was not told before, or that has become another one.
    fn code(&mut self, memory: &impl Memory, address: u64, tell: &mut impl FnMut(&Message)) {
        let now = self.samples;
        if let Some(known) = self.codes.get(&address)
            && now < known.checked + CHECKED_EVERY
        {
            return;
        }
        let (head, identity) = match self.head_of_code(memory, address) {
            Some((head, identity)) => (head, Some(identity)),
            None => (Vec::new(), None),
        };
        if self.codes.len() >= MOST_CODES {
            self.codes.clear();
        }
        let before = self.codes.insert(address, KnownCode { identity, checked: now });
        if let Some((name, file, first_line)) = identity
            && before.is_none_or(|before| before.identity != identity)
            && let Some(code) = self.read_code(memory, address, &head, (name, file))
        {
            tell(&Message::Code(Code { first_line, ..code }));
        }
    }

    /// The first bytes of a code object, and what tells it from others.
    fn head_of_code(&self, memory: &impl Memory, address: u64) -> Option<(Vec<u8>, (u64, u64, u32))> {
        const TYPE: u64 = 8;
        let layout = self.layout.code;
        if address == 0 || !address.is_multiple_of(8) {
            return None;
        }
        let mut head = vec![0; layout.size()];
        let is_code = memory.read(address, &mut head) && at(&head, TYPE)? == self.code_type;
        let identity = (at(&head, layout.name)?, at(&head, layout.file)?, small_at(&head, layout.first_line));
        is_code.then_some((head, identity))
    }

    fn read_code(
        &self,
        memory: &impl Memory,
        address: u64,
        head: &[u8],
        (name, file): (u64, u64),
    ) -> Option<Code> {
        let Layout { version, code: layout, .. } = self.layout;
        let instructions: Range<u64> = match layout.instructions {
            Instructions::Within(offset) => {
                const INSTRUCTION: u64 = 2;
                let start = address.checked_add(offset)?;
                let count = at(head, COUNT).filter(|count| *count < LARGEST_CODE)?;
                start..start.checked_add(count * INSTRUCTION)?
            }
            Instructions::Apart(field) => {
                let object = at(head, field)?;
                let count = word(memory, object.checked_add(COUNT)?).filter(|count| *count < LARGEST_CODE)?;
                let start = object.checked_add(BYTES)?;
                start..start.checked_add(count)?
            }
        };
        let table = at(head, layout.lines)?;
        let count = word(memory, table.wrapping_add(COUNT)).filter(|count| *count <= LONGEST_TABLE);
        let mut lines = vec![0; count.unwrap_or(0) as usize];
        if !memory.read(table.wrapping_add(BYTES), &mut lines) {
            lines.clear();
        }
        Some(Code {
            pid: self.pid.cast_signed(),
            address,
            witnesses: layout
                .constants
                .and_then(|field| at(head, field))
                .into_iter()
                .chain([address])
                .collect(),
            instructions,
            version,
            first_line: 0,
            is_generator: layout.flags.is_some_and(|flags| small_at(head, flags) & GENERATOR != 0),
            frame_size: layout.frame_size(version, |offset| small_at(head, offset)),
            name: self.text(memory, name, LONGEST_NAME)?,
            file: self.text(memory, file, LONGEST_FILE)?,
            lines,
        })
    }

    /// A text, in UTF-8; `None` if it is none.
    fn text(&self, memory: &impl Memory, address: u64, longest: u64) -> Option<Vec<u8>> {
        let mut head = [0; 40];
        if !memory.read(address, &mut head) {
            return None;
        }
        let length = at(&head, LENGTH).filter(|length| *length <= longest)? as usize;
        // Two bits or sixteen are in front, by version.
        let bits = small_at(&head, KIND);
        let shift = [2, 16].into_iter().find(|shift| {
            let is_compact = bits >> (shift + 3) & 1 == 1;
            is_compact && matches!(bits >> shift & 7, 1 | 2 | 4)
        })?;
        let (kind, is_ascii) = (bits >> shift & 7, bits >> (shift + 4) & 1 == 1);
        let [of_ascii, of_others] = self.layout.text_heads;
        let start = address.checked_add(if is_ascii { of_ascii } else { of_others })?;
        let mut bytes = vec![0; length * kind as usize];
        if !memory.read(start, &mut bytes) {
            return None;
        }
        let characters = bytes.chunks_exact(kind as usize).map(|bytes| {
            let number = bytes.iter().rev().fold(0u32, |number, byte| number << 8 | u32::from(*byte));
            char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER)
        });
        Some(characters.collect::<String>().into_bytes())
    }
}

/// A reference without the bits that 3.14 marks it by.
fn without_tag(reference: u64) -> u64 {
    reference & !3
}

/// The used part of the chunks of a stack, latest first, as far as the limit goes.
fn read_chunks(memory: &impl Memory, chunk: u64, top: u64) -> Vec<(u64, Vec<u8>)> {
    const HEAD: u64 = 24;
    let (mut pieces, mut left) = (Vec::new(), MOST_STACK as u64);
    let (mut chunk, mut top) = (chunk, Some(top));
    for _ in 0..MOST_CHUNKS {
        // The chunk before, the size, and the number of words that are used, which tells only of those before the latest.
        let mut head = [0; HEAD as usize];
        if chunk == 0 || left < HEAD || !memory.read(chunk, &mut head) {
            break;
        }
        let (Some(previous), Some(size), Some(used)) = (at(&head, 0), at(&head, 8), at(&head, 16)) else {
            break;
        };
        let used = match top.take() {
            Some(top) => top.wrapping_sub(chunk).saturating_add(BEHIND),
            None => used.saturating_mul(8).saturating_add(HEAD),
        };
        if size > LARGEST_CHUNK {
            break;
        }
        let used = used.min(size);
        let start = used.saturating_sub(left);
        let mut bytes = vec![0; (used - start) as usize];
        if !memory.read(chunk.wrapping_add(start), &mut bytes) {
            break;
        }
        left -= used - start;
        pieces.push((chunk.wrapping_add(start), bytes));
        chunk = previous;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::super::layout::CodeLayout;
    use super::*;
    use std::collections::BTreeMap;

    /// Memory that is made up: bytes by address.
    #[derive(Default)]
    struct Made(BTreeMap<u64, u8>);

    impl Memory for Made {
        fn read(&self, address: u64, into: &mut [u8]) -> bool {
            into.iter_mut().enumerate().all(|(at, byte)| {
                let found = self.0.get(&address.wrapping_add(at as u64));
                found.is_some_and(|found| {
                    *byte = *found;
                    true
                })
            })
        }
    }

    impl Made {
        fn put(&mut self, address: u64, bytes: &[u8]) {
            self.0.extend((address..).zip(bytes.iter().copied()));
        }

        fn word(&mut self, address: u64, word: u64) {
            self.put(address, &word.to_le_bytes());
        }

        fn text(&mut self, address: u64, head: u64, kind: u32, text: &[u8]) {
            self.put(address, &[0; 80]);
            self.word(address + LENGTH, text.len() as u64);
            let is_ascii = text.is_ascii();
            self.put(address + KIND, &(kind << 2 | 1 << 5 | u32::from(is_ascii) << 6).to_le_bytes());
            self.put(address + head, text);
        }
    }

    const RUNTIME: u64 = 0x10_0000;
    const INTERPRETER: u64 = 0x20_0000;
    const THREAD_AT: u64 = 0x30_0000;
    const CODE_TYPE: u64 = 0x40_0000;
    const FUNCTION: u64 = 0x50_0000;
    const CHUNK: u64 = 0x60_0000;
    const C_FRAME: u64 = 0x70_0000;
    const TID: u32 = 77;

    fn layout_of(version: u32) -> (Layout, CodeLayout) {
        let layout = Layout::of_version(version).unwrap();
        (layout, layout.code)
    }

    /// An interpreter with a thread that runs a function.
    fn made(version: u32) -> (Made, Interpreter) {
        let (layout, code) = layout_of(version);
        let mut memory = Made::default();
        memory.put(RUNTIME, &[0; 64]);
        memory.put(INTERPRETER, &[0; 128]);
        memory.put(THREAD_AT, &[0; THREAD]);
        memory.word(RUNTIME + layout.interpreters, INTERPRETER);
        memory.word(INTERPRETER + layout.threads, THREAD_AT);
        memory.put(FUNCTION, &[0; 256]);
        memory.word(FUNCTION + 8, CODE_TYPE);
        for (offset, address) in [(code.name, 0x51_0000), (code.file, 0x52_0000), (code.lines, 0x53_0000)] {
            memory.word(FUNCTION + offset, address);
        }
        memory.put(FUNCTION + code.first_line, &7u32.to_le_bytes());
        let [of_ascii, of_others] = layout.text_heads;
        memory.text(0x51_0000, of_others, 1, b"na\xefve");
        memory.text(0x52_0000, of_ascii, 1, b"/a.py");
        memory.put(0x53_0000, &[0; 32]);
        memory.word(0x53_0000 + COUNT, 2);
        memory.put(0x53_0000 + BYTES, &[1, 2]);
        match layout.frames {
            Frames::Objects { latest, back, code: of_frame } => {
                memory.word(THREAD_AT + latest, 0x80_0000);
                memory.word(0x80_0000 + back, 0);
                memory.word(0x80_0000 + of_frame, FUNCTION);
                memory.word(FUNCTION + 48, 0x54_0000);
                memory.word(0x54_0000 + COUNT, 10);
            }
            Frames::Stack(stack) => {
                memory.word(FUNCTION + COUNT, 5);
                memory.word(THREAD_AT + stack.native_id, TID.into());
                memory.word(THREAD_AT + stack.chunk, CHUNK);
                memory.word(THREAD_AT + stack.chunk + 8, CHUNK + 24 + 96);
                memory.word(THREAD_AT + stack.latest.0, C_FRAME);
                memory.word(C_FRAME + stack.latest.1.unwrap(), CHUNK + 24);
                memory.put(CHUNK, &[0; 4096]);
                memory.word(CHUNK + 8, 4096);
                memory.word(CHUNK + 24 + stack.frame.code, FUNCTION);
            }
        }
        (memory, Interpreter::new(7, layout, RUNTIME, CODE_TYPE))
    }

    fn told(memory: &Made, interpreter: &mut Interpreter, tid: u32) -> Vec<Message> {
        let mut told = Vec::new();
        interpreter.sample(memory, tid, 55, &[], &mut |message| told.push(message.clone()));
        told
    }

    #[test]
    fn functions_and_stacks_are_told_once_and_each_time() {
        for version in 8..=12 {
            let (memory, mut interpreter) = made(version);
            let first = told(&memory, &mut interpreter, TID);
            let Some(Message::Code(code)) = first.first() else { panic!("3.{version}: {first:?}") };
            assert_eq!((&*code.name, &*code.file), ("naïve".as_bytes(), &b"/a.py"[..]));
            assert_eq!((code.first_line, &*code.lines, code.address), (7, &[1, 2][..], FUNCTION));
            assert_eq!(code.instructions.end - code.instructions.start, 10);
            let again = told(&memory, &mut interpreter, TID);
            match &first[1..] {
                [] => assert_eq!((version < 11, &*again), (true, &[][..])),
                [Message::Memory(taken)] => {
                    assert_eq!((taken.tid, taken.time, taken.current), (77, 55, CHUNK + 24));
                    assert_eq!(taken.pieces[0].0, CHUNK);
                    assert_eq!(again, &first[1..], "the function is known");
                }
                others => panic!("3.{version}: {others:?}"),
            }
        }
    }

    #[test]
    fn another_function_in_its_place_is_told() {
        let (mut memory, mut interpreter) = made(11);
        assert_eq!(told(&memory, &mut interpreter, TID).len(), 2);
        memory.put(FUNCTION + interpreter.layout.code.first_line, &8u32.to_le_bytes());
        let told: Vec<_> = (0..CHECKED_EVERY).flat_map(|_| told(&memory, &mut interpreter, TID)).collect();
        let lines = told.iter().filter_map(|message| match message {
            Message::Code(code) => Some(code.first_line),
            _ => None,
        });
        assert_eq!(lines.collect::<Vec<_>>(), [8]);
    }

    #[test]
    fn memory_of_any_kind_ends_the_search() {
        for version in [8, 11, 12] {
            // Circles: each word refers to the thing itself, of which all words do.
            let (_, mut interpreter) = made(version);
            let mut circle = Made::default();
            for at in (0..8192).step_by(8) {
                circle.word(RUNTIME + at, RUNTIME);
            }
            interpreter.code_type = RUNTIME;
            let _ = told(&circle, &mut interpreter, TID);
            // Each word is another number, and then nothing.
            let (mut memory, mut interpreter) = made(version);
            let all: Vec<u64> = memory.0.keys().copied().collect();
            for at in all.iter().filter(|at| at.is_multiple_of(8)).step_by(3) {
                memory.word(*at, u64::MAX - at);
            }
            let _ = told(&memory, &mut interpreter, TID);
            for cut in all.iter().rev().step_by(17) {
                memory.0.split_off(cut);
                let _ = told(&memory, &mut interpreter, TID);
            }
        }
    }

    #[test]
    fn an_interpreter_tells_its_layout() {
        let mut memory = Made::default();
        let numbers = |memory: &mut Made, version: u64, first: [usize; 4]| {
            memory.put(RUNTIME, &[0; 8 * 50]);
            memory.put(RUNTIME, b"xdebugpy");
            memory.word(RUNTIME + 8, version);
            let [interpreter, thread, frame, code] = first;
            let fields = [(5, 632), (interpreter + 2, 7264), (interpreter + 3, 7344), (thread + 2, 8)];
            let of_thread = [(thread + 4, 72), (thread + 6, 160), (thread + 7, 232)];
            let of_frame = [(frame + 1, 8), (frame + 3, 56), (frame + 5, 70)];
            let of_code =
                [(code + 1, 112), (code + 3, 128), (code + 4, 136), (code + 5, 68), (code + 9, 200)];
            for (at, number) in fields.into_iter().chain(of_thread).chain(of_frame).chain(of_code) {
                memory.word(RUNTIME + 8 * at as u64, number);
            }
        };
        // What 3.13.0 says, and where 3.14 says it.
        for (version, minor, first) in
            [(0x030d_00f0, 13, [6, 19, 28, 34]), (0x030e_00f0, 14, [6, 22, 31, 39])]
        {
            numbers(&mut memory, version, first);
            let layout = Layout::told(&memory, RUNTIME).unwrap();
            let Frames::Stack(stack) = layout.frames else { panic!("objects") };
            assert_eq!((layout.version, layout.interpreters, layout.threads), (minor, 632, 7344));
            assert_eq!((stack.native_id, stack.chunk, stack.latest), (160, 232, (72, None)));
            assert_eq!((stack.frame.previous, stack.frame.instruction, stack.frame.entry), (8, 56, 70));
            assert_eq!(layout.code.instructions, Instructions::Within(200));
        }
        memory.word(RUNTIME + 16, 1);
        assert_eq!(Layout::told(&memory, RUNTIME), None, "without a lock");
        memory.word(RUNTIME + 8, 0x0310_00f0);
        assert_eq!(Layout::told(&memory, RUNTIME), None, "a version that is not known");
    }
}

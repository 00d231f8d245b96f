//! The frames of Python that a call of the evaluator runs, by what a sample has of that call.
//!
//! Up to 3.10 each call of the evaluator runs one function, and the address of its next instruction is in a register or in
//! the call's own frame. Since 3.11 a call runs a function and those that this one calls: the address of the latest frame is
//! there, too. The frames before are in the memory that was read a moment later, each with its caller's
//! address. A function that has returned by then mostly has another one in its place that its caller has called:
//! so the latest function is the one that the instruction is of, whatever is in the frame, and its callers are believed if
//! they were the same at the sample before.

use std::collections::HashSet;
use std::ops::Range;

use super::{FrameLayout, Known, Memory, Process, Sampled};

/// The most frames of one call of the evaluator.
const MOST: usize = 4096;

/// A call of the evaluator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Evaluation {
    /// Its place in the stack.
    pub at: usize,
    /// Nothing on the stack is called by it: its registers are the sample's.
    pub is_latest: bool,
    /// The addresses of its frame on the stack of C.
    pub own: Range<u64>,
    /// Its registers, as far as they are known, and the words of that frame: ranges of all words of a sample.
    pub registers: Range<usize>,
    pub slots: Range<usize>,
}

/// The places in which a call of the evaluator may have the next instruction: registers, then words of its frame. Compilers
/// choose one of them, or one for each kind of instruction, and what is over is in others. The one that mostly agrees with
/// the frame in memory is believed, above all where it does not.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Places {
    /// Of the latest call, and of others: how often the place had an instruction of the frame's function, and how often of
    /// another one.
    of: [Vec<[u32; 2]>; 2],
    /// The same: how often the place had the latest frame, as that was of the function.
    of_frames: [Vec<u32>; 2],
    /// The functions, by number, that were called by each other: caller and called.
    calls: HashSet<(u32, u32)>,
}

/// The most calls that are remembered.
const MOST_CALLS: usize = 1 << 16;

/// The most places that are compared.
const MOST_PLACES: usize = 600;

impl Places {
    /// The function of the place that is believed most, and the offset of its next instruction.
    fn best<'p>(&self, process: &'p Process, words: Words<'_>, is_latest: bool) -> Option<(&'p Known, u64)> {
        let of = &self.of[usize::from(is_latest)];
        let rate = |place: usize| {
            let [agreed, differed] = of.get(place).copied().unwrap_or_default().map(f64::from);
            (agreed + 1.0) / (agreed + differed + 2.0)
        };
        let mut best: Option<(f64, (&Known, u64))> = None;
        for (place, word) in words.all().enumerate().take(MOST_PLACES) {
            let Some(found) = function_of(process, word, words) else { continue };
            // The first instruction of a function is at hand for its own sake.
            let rate = if found.1 == 0 { 0.0 } else { rate(place) };
            if best.is_none_or(|(most, _)| rate > most) {
                best = Some((rate, found));
            }
        }
        best.map(|(_, (known, offset))| (known, before(offset)))
    }

    /// Remembers who called whom in a run of functions that still ran.
    fn learn_calls(&mut self, frames: &[Frame]) {
        if self.calls.len() < MOST_CALLS {
            self.calls.extend(frames.windows(2).map(|pair| (pair[1].function, pair[0].function)));
        }
    }

    /// Returns true if a function was seen to call another one.
    fn has_call(&self, caller: &Known, called: &Known) -> bool {
        self.calls.contains(&(caller.function.number, called.function.number))
    }

    /// The number of times that a place had the latest frame, if no place had it much more often.
    fn has_frame(&self, place: usize, is_latest: bool) -> Option<u32> {
        let of = &self.of_frames[usize::from(is_latest)];
        let most = of.iter().max().copied().unwrap_or(0);
        of.get(place).copied().filter(|count| *count > most / 2)
    }

    fn learn_frame(&mut self, words: Words<'_>, is_latest: bool, frame: u64) {
        let of = &mut self.of_frames[usize::from(is_latest)];
        for (place, _) in words.all().enumerate().take(MOST_PLACES).filter(|(_, word)| *word == frame) {
            if of.len() <= place {
                of.resize(place + 1, 0);
            }
            of[place] = of[place].saturating_add(1);
        }
    }

    /// Compares all places with the function of a frame, if one of them agrees.
    fn learn(&mut self, process: &Process, words: Words<'_>, is_latest: bool, frame: &Known) {
        const ENOUGH: u32 = 1 << 20;
        let of = &mut self.of[usize::from(is_latest)];
        let found = words.all().enumerate().take(MOST_PLACES).filter_map(|(place, word)| {
            let (known, offset) = function_of(process, word, words)?;
            (offset > 0).then_some((place, std::ptr::eq(known, frame)))
        });
        let found: Vec<(usize, bool)> = found.collect();
        if !found.iter().any(|(_, agrees)| *agrees) {
            return;
        }
        for (place, agrees) in found {
            if of.len() <= place {
                of.resize(place + 1, [0; 2]);
            }
            let count = &mut of[place][usize::from(!agrees)];
            *count = (*count + 1).min(ENOUGH);
        }
    }
}

/// A frame of Python: the number of its function, and the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Frame {
    pub function: u32,
    pub line: u32,
}

/// A copy of a stack of C, upwards from an address.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Copied<'a> {
    pub start: u64,
    pub bytes: &'a [u8],
}

impl Copied<'_> {
    fn read<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        self.bytes.get(at..)?.first_chunk().copied()
    }
}

/// The words of a call of the evaluator. What it works with is in registers that its callees keep; some of that, and much
/// that is over, is in its frame.
#[derive(Clone, Copy)]
struct Words<'a> {
    registers: &'a [u64],
    slots: &'a [u64],
}

impl Words<'_> {
    fn all(self) -> impl Iterator<Item = u64> + Clone {
        self.registers.iter().chain(self.slots).copied()
    }
}

/// The memory in which frames are looked for.
struct Sources<'a> {
    copied: Copied<'a>,
    memory: Option<&'a Memory>,
    /// The memory as it was at the sample before.
    before: Option<&'a Memory>,
    /// The frames that ran when the memory was read.
    live: Vec<u64>,
}

impl<'a> Sources<'a> {
    fn new(sampled: &'a Sampled, copied: Copied<'a>, layout: Option<&FrameLayout>) -> Sources<'a> {
        let memory = sampled.memory.as_deref();
        let mut live = Vec::new();
        if let (Some(memory), Some(layout)) = (memory, layout) {
            let mut address = memory.current;
            while live.len() < MOST
                && let Some(header) = Header::read(|address| in_memory(memory, address), address, layout)
            {
                live.push(address);
                address = header.previous;
            }
        }
        Sources { copied, memory, before: sampled.before.as_deref(), live }
    }

    /// One of the interpreter's frames, at the sample as far as it is on the stack of C.
    fn header(&self, address: u64, layout: &FrameLayout) -> Option<Header> {
        let from_memory = |address| in_memory(self.memory?, address);
        Header::read(|address| self.copied.read(address).or_else(|| from_memory(address)), address, layout)
    }

    /// Returns true if a frame was that of the same function, called by the same, at the sample before.
    fn was(&self, address: u64, header: &Header, layout: &FrameLayout) -> bool {
        let before = self
            .before
            .and_then(|before| Header::read(|address| in_memory(before, address), address, layout));
        before.is_some_and(|before| (before.code, before.previous) == (header.code, header.previous))
    }
}

/// A word of memory that was read.
fn in_memory(memory: &Memory, address: u64) -> Option<[u8; 8]> {
    let mut pieces = memory.pieces.iter().map(|(start, bytes)| Copied { start: *start, bytes });
    pieces.find_map(|piece| piece.read(address))
}

/// One of an interpreter's frames.
#[derive(Clone, Copy)]
struct Header {
    code: u64,
    previous: u64,
    instruction: u64,
    entry: u8,
}

impl Header {
    fn read(read: impl Fn(u64) -> Option<[u8; 8]>, address: u64, layout: &FrameLayout) -> Option<Header> {
        if address == 0 || !address.is_multiple_of(8) {
            return None;
        }
        let word = |offset: u64| Some(u64::from_le_bytes(read(address.checked_add(offset)?)?));
        // The word with the byte at its place.
        let (entry, at) = (word(layout.entry & !7)?, layout.entry & 7);
        Some(Header {
            // Without the bits by which 3.14 marks references.
            code: word(layout.code)? & !3,
            previous: word(layout.previous)?,
            instruction: word(layout.instruction)?,
            entry: (entry >> (8 * at)) as u8,
        })
    }
}

/// The frames of one call of the evaluator, latest first, and the caller's frame.
#[derive(Clone)]
struct Run {
    frames: Vec<Frame>,
    caller: u64,
    /// The address of the latest frame.
    latest: u64,
    /// The latest function was another one by then.
    has_moved: bool,
}

/// Finds the frames of Python of each call, which come latest first, as they are found. Those of a call
/// that cannot be told are empty.
pub(in super::super) fn frames_of(
    process: &Process,
    sampled: &Sampled,
    copied: Copied<'_>,
    calls: &[Evaluation],
    words: &[u64],
    places: &mut Places,
    mut found: impl FnMut(usize, &[Frame]),
) {
    let sources = Sources::new(sampled, copied, process.layout.as_ref());
    let words_of = |call: &Evaluation| {
        let part = |range: &Range<usize>| words.get(range.clone()).unwrap_or_default();
        Words { registers: part(&call.registers), slots: part(&call.slots) }
    };
    let Some(layout) = &process.layout else {
        for (number, call) in calls.iter().enumerate() {
            let frame =
                by_instruction(process, words_of(call)).map(|(known, offset)| frame_at(known, offset));
            found(number, frame.as_slice());
        }
        return;
    };
    let mut runs: Vec<Option<Run>> = Vec::with_capacity(calls.len());
    for call in calls {
        let callers = runs.last().and_then(Option::as_ref).map(|run| run.caller);
        let expected = callers.filter(|caller| *caller != 0);
        runs.push(run_of(process, layout, &sources, call, words_of(call), expected, places));
    }
    for (number, run) in runs.iter().enumerate() {
        // The run that it says has called it is that of the next call, or else it is none of this one.
        let called_by = runs.get(number + 1).and_then(Option::as_ref).map(|next| next.latest);
        let run = run.as_ref().filter(|run| called_by.is_none_or(|latest| latest == run.caller));
        found(number, run.map_or(&[], |run| &run.frames));
    }
}

fn frame_at(known: &Known, offset: u64) -> Frame {
    Frame { function: known.function.number, line: known.function.line(offset) }
}

/// The function that runs, and the offset of its instruction. The next one is in a register, or else in the frame; so may
/// be the first one of the function, which counts only if there is no other.
fn by_instruction<'p>(process: &'p Process, words: Words<'_>) -> Option<(&'p Known, u64)> {
    by_register(process, words).or_else(|| {
        // What is over is there in part: the more, the better.
        let mut best = None;
        for found in words.slots.iter().filter_map(|word| function_of(process, *word, words)) {
            let told = found.0.evidence(words.all());
            if best.is_none_or(|(most, _)| told > most) {
                best = Some((told, found));
            }
        }
        best.map(|(_, (known, offset))| (known, before(offset)))
    })
}

/// The same, if a register tells it.
fn by_register<'p>(process: &'p Process, words: Words<'_>) -> Option<(&'p Known, u64)> {
    let mut all = words.registers.iter().filter_map(|word| function_of(process, *word, words));
    let first = all.next()?;
    let running = std::iter::once(first).chain(all).find(|(_, offset)| *offset > 0);
    running.or(Some(first)).map(|(known, offset)| (known, before(offset)))
}

/// The function of which a word is the address of an instruction, or of the end; and the offset.
fn function_of<'p>(process: &'p Process, word: u64, words: Words<'_>) -> Option<(&'p Known, u64)> {
    let previous = process.function_at(word.checked_sub(INSTRUCTION)?, words.all());
    let known = previous.or_else(|| process.function_at(word, words.all()))?;
    Some((known, word - known.instructions.start))
}

/// The instruction before the next one.
fn before(offset: u64) -> u64 {
    offset.saturating_sub(INSTRUCTION)
}

/// The bytes of an instruction.
const INSTRUCTION: u64 = 2;

#[allow(clippy::too_many_arguments)]
fn run_of(
    process: &Process,
    layout: &FrameLayout,
    sources: &Sources<'_>,
    call: &Evaluation,
    words: Words<'_>,
    expected: Option<u64>,
    places: &mut Places,
) -> Option<Run> {
    // At its beginning, a function has no next instruction yet.
    let begins = || words.all().find_map(|word| process.function(word)).map(|known| (known, 0));
    let running = places.best(process, words, call.is_latest).or_else(begins)?;
    let mut found: Option<Run> = None;
    let mut best = 0;
    let expected = expected.map(|frame| (None, frame));
    let words_at = words.all().enumerate().take(MOST_PLACES).map(|(place, word)| (Some(place), word));
    for (place, latest) in expected.into_iter().chain(words_at) {
        // All of a run's frames are in the interpreter's memory, and few words are addresses there.
        if sources.header(latest, layout).is_none() {
            continue;
        }
        let run = run_from(process, layout, sources, call, running, latest, places);
        if let Some(run) = run.as_ref().filter(|run| !run.has_moved) {
            if sources.live.contains(&latest) {
                places.learn_calls(&run.frames);
            }
            places.learn_frame(words, call.is_latest, latest);
            found = Some(run.clone());
            break;
        }
        // A frame that is over may be anywhere: the best place counts, even if it tells nothing.
        let count = place.map_or(Some(u32::MAX), |place| places.has_frame(place, call.is_latest));
        if let Some(count) = count.filter(|count| *count > best) {
            (best, found) = (count, run);
        }
    }
    let header = found.as_ref().and_then(|run| sources.header(run.latest, layout));
    if let Some(frame) = header.and_then(|header| process.function(header.code)) {
        places.learn(process, words, call.is_latest, frame);
    }
    found
}

/// The run whose latest frame is at an address, if a function runs there.
fn run_from(
    process: &Process,
    layout: &FrameLayout,
    sources: &Sources<'_>,
    call: &Evaluation,
    (running, offset): (&Known, u64),
    latest: u64,
    places: &Places,
) -> Option<Run> {
    let mut header = sources.header(latest, layout)?;
    if layout.has_shim && header.entry >= SHIM {
        return None;
    }
    let of_frame = process.function(header.code);
    let has_moved = !of_frame.is_some_and(|of_frame| std::ptr::eq(of_frame, running));
    // The frame of a generator is elsewhere.
    if has_moved && running.is_generator {
        return None;
    }
    let mut frames = vec![frame_at(running, offset)];
    // A function that returns has made its caller's frame the latest.
    let runs_on = sources.live.contains(&latest);
    let returns_to = of_frame.filter(|of_frame| {
        let caller = sources.header(header.previous, layout).and_then(|caller| process.function(caller.code));
        let is_of_caller = caller.is_some_and(|caller| places.has_call(caller, running));
        has_moved && runs_on && places.has_call(of_frame, running) && !is_of_caller
    });
    frames.extend(returns_to.map(|known| frame_at(known, known.offset_of(header.instruction))));
    // While a function runs on, its callers stay. Of one that has returned, they may have, too.
    let is_live = runs_on && (!has_moved || returns_to.is_some());
    let mut address = latest;
    loop {
        if !layout.has_shim && header.entry != 0 {
            return Some(Run { frames, caller: header.previous, latest, has_moved });
        }
        let caller = header.previous;
        let next = sources.header(caller, layout)?;
        if layout.has_shim && next.entry >= SHIM {
            // It is on the stack of C, in the frame of this very call.
            let is_own = call.own.contains(&caller);
            return is_own.then_some(Run { frames, caller: next.previous, latest, has_moved });
        }
        let known = process.function(next.code)?;
        // Frames of one chunk of the stack are side by side: what was pushed by another caller is elsewhere.
        let is_beside =
            || caller.checked_add(known.frame_size) == Some(address) && places.has_call(known, running);
        let is_told =
            is_live || (frames.len() > 1 || !has_moved || is_beside()) && sources.was(caller, &next, layout);
        if !is_told || frames.len() >= MOST {
            return None;
        }
        frames.push(frame_at(known, known.offset_of(next.instruction)));
        (address, header) = (caller, next);
    }
}

/// The owner of a frame of the evaluator's own; greater ones are the interpreter's own, too.
const SHIM: u8 = 3;

#[cfg(test)]
mod tests {
    use super::super::{Code, Interpreter, Message, Pythons, Sampled};
    use super::*;

    const LAYOUT: FrameLayout =
        FrameLayout { code: 0, previous: 8, instruction: 16, entry: 24, has_shim: true };
    const STACK: u64 = 0x7fff_0000;
    const FRAMES: u64 = 0x10_0000;

    /// A process with functions `a`, `b`, `c`: the code objects at 0x1000, 0x2000, 0x3000, instructions behind.
    fn process(frames: Option<FrameLayout>) -> Sampled {
        let mut pythons = Pythons::default();
        pythons.tell(Message::Interpreter(Interpreter { pid: 1, evaluators: Vec::new(), frames }));
        for (number, name) in (1u64..).zip([b"a", b"b", b"c"]) {
            let address = 0x1000 * number;
            pythons.tell(Message::Code(Code {
                pid: 1,
                address,
                witnesses: vec![address],
                instructions: address + 0x100..address + 0x140,
                version: 12,
                first_line: 10 * number as u32,
                frame_size: 0x40,
                name: name.to_vec(),
                file: b"/f.py".to_vec(),
                ..Code::default()
            }));
        }
        pythons.sampled(1, 1, None).unwrap()
    }

    fn header(code: u64, previous: u64, entry: u64) -> Vec<u8> {
        [code, previous, code + 0x104, entry].iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Frames of 0x40 bytes, the first of them called by a shim in the stack of C.
    fn memory(codes: &[u64]) -> Memory {
        let mut bytes = Vec::new();
        let mut previous = STACK + 0x20;
        for code in codes {
            let address = FRAMES + bytes.len() as u64;
            bytes.extend(header(*code, previous, 0));
            bytes.resize(bytes.len() + 0x20, 0);
            previous = address;
        }
        Memory { current: previous, pieces: vec![(FRAMES, bytes)], ..Memory::default() }
    }

    fn found(sampled: &Sampled, memory: Option<&Memory>, registers: &[u64], slots: &[u64]) -> Vec<u32> {
        found_after(sampled, None, memory, registers, slots)
    }

    fn found_after(
        sampled: &Sampled,
        before: Option<&Memory>,
        memory: Option<&Memory>,
        registers: &[u64],
        slots: &[u64],
    ) -> Vec<u32> {
        let [memory, before] = [memory, before].map(|memory| memory.cloned().map(std::sync::Arc::new));
        let sampled = Sampled { process: sampled.process.clone(), memory, before };
        let mut bytes = vec![0; 0x20];
        bytes.extend(header(0x9999_9990, 0, SHIM.into()));
        let copied = Copied { start: STACK, bytes: &bytes };
        let words = [registers, slots].concat();
        let call = Evaluation {
            at: 0,
            is_latest: true,
            own: STACK..STACK + 0x80,
            registers: 0..registers.len(),
            slots: registers.len()..words.len(),
        };
        // The second register mostly has the latest frame.
        let mut places = Places { of_frames: [Vec::new(), vec![0, 1]], ..Places::default() };
        places.calls.extend([(0, 1), (0, 2)]);
        let mut all = Vec::new();
        frames_of(
            &sampled.process.read().unwrap(),
            &sampled,
            copied,
            &[call],
            &words,
            &mut places,
            |_, frames| {
                all.extend(frames.iter().map(|frame| frame.function));
            },
        );
        all
    }

    #[test]
    fn a_call_runs_the_frames_up_to_its_own() {
        let sampled = process(Some(LAYOUT));
        let memory = memory(&[0x1000, 0x2000, 0x3000]);
        let of = |registers: &[u64]| found(&sampled, Some(&memory), registers, &[]);
        assert_eq!(of(&[5, FRAMES + 0x80, 0x3104]), [2, 1, 0]);
        assert_eq!(of(&[0x2104, FRAMES + 0x40]), [1, 0], "what is behind was left");
        assert_eq!(of(&[0x3104]), [0; 0], "no frame");
        assert_eq!(of(&[FRAMES + 0x80]), [0; 0], "no instruction");
        assert_eq!(of(&[FRAMES + 0x78, 0x3104]), [0; 0], "between two frames");
        assert_eq!(found(&sampled, None, &[FRAMES + 0x80, 0x3104], &[]), [0; 0], "no memory");
    }

    #[test]
    fn what_has_returned_is_believed_if_its_callers_stay() {
        let sampled = process(Some(LAYOUT));
        let of = |before: &Memory, now: &Memory, registers: &[u64]| {
            found_after(&sampled, Some(before), Some(now), registers, &[])
        };
        // `a` has called `c` when the memory is read, and `b` at the sample.
        let (now, other) = (memory(&[0x1000, 0x3000]), memory(&[0x2000, 0x3000]));
        assert_eq!(of(&now, &now, &[0x2104, FRAMES + 0x40]), [1, 0]);
        assert_eq!(of(&other, &now, &[0x2104, FRAMES + 0x40]), [0; 0], "its caller was another one");
        assert_eq!(of(&other, &now, &[0x3104, FRAMES + 0x40]), [2, 0], "it still runs");
        // It has returned, and its frame is still there.
        let returned = Memory { current: FRAMES, ..now.clone() };
        assert_eq!(of(&now, &returned, &[0x3104, FRAMES + 0x40]), [2, 0]);
        assert_eq!(of(&other, &returned, &[0x3104, FRAMES + 0x40]), [0; 0]);
        // `b` returns to `a`, which goes on.
        let of_main = memory(&[0x3000, 0x1000]);
        assert_eq!(of(&of_main, &of_main, &[0x2104, FRAMES + 0x40]), [1, 0, 2]);
        // A caller whose frame ends elsewhere.
        let mut far = now.clone();
        far.pieces[0].1[0x48..0x50].copy_from_slice(&(FRAMES - 0x80).to_le_bytes());
        far.pieces.push((FRAMES - 0x80, header(0x1000, STACK + 0x20, 0)));
        assert_eq!(of(&far, &far, &[0x2104, FRAMES + 0x40]), [0; 0]);
    }

    #[test]
    fn the_frames_of_one_call_are_none_of_another_one() {
        let sampled = process(Some(FrameLayout { has_shim: false, ..LAYOUT }));
        let mut memory = memory(&[0x1000, 0x2000, 0x3000]);
        // The first one of a call: `a`, and `c`, which it calls by way of C.
        for entry in [0x18, 0x98] {
            memory.pieces[0].1[entry] = 1;
        }
        memory.pieces[0].1[8..16].fill(0);
        let process = sampled.process.read().unwrap();
        let sampled = Sampled { memory: Some(memory.into()), ..sampled.clone() };
        let runs = |words: &[u64]| {
            let call = |registers: Range<usize>| {
                let slots = registers.end..registers.end;
                Evaluation { registers, slots, is_latest: true, ..Evaluation::default() }
            };
            let mut all = Vec::new();
            let (calls, copied) = ([call(0..2), call(2..4)], Copied { start: STACK, bytes: &[] });
            frames_of(&process, &sampled, copied, &calls, words, &mut Places::default(), |_, frames| {
                all.push(frames.iter().map(|frame| frame.function).collect::<Vec<_>>());
            });
            all
        };
        let (b, c) = ([FRAMES + 0x40, 0x2104], [FRAMES + 0x80, 0x3104]);
        assert_eq!(runs(&[c, b].concat()), [vec![2], vec![1, 0]]);
        assert_eq!(runs(&[b, b].concat()), [vec![], vec![1, 0]]);
    }

    #[test]
    fn the_place_that_agrees_with_frames_is_believed() {
        let sampled = process(Some(LAYOUT));
        let process = sampled.process.read().unwrap();
        let mut places = Places::default();
        let of = |registers: &'static [u64]| Words { registers, slots: &[] };
        let running = |places: &Places, words| {
            places.best(&process, words, true).map(|(known, _)| known.function.number)
        };
        assert_eq!(running(&places, of(&[0x1104, 0x2104])), Some(0), "the first");
        let b = process.function(0x2000).unwrap();
        (0..3).for_each(|_| places.learn(&process, of(&[0x1104, 0x2104]), true, b));
        assert_eq!(running(&places, of(&[0x2104, 0x1104])), Some(0), "the second place, whatever is there");
        places.learn(&process, of(&[0x1104, 0x1104]), true, b);
        assert_eq!(
            running(&places, of(&[0x2104, 0x1104])),
            Some(0),
            "where nothing agrees, nothing is learnt"
        );
        assert_eq!(places.best(&process, of(&[0x2104, 0x1104]), false).map(|(_, offset)| offset), Some(2));
    }

    #[test]
    fn frames_in_a_circle_end() {
        let sampled = process(Some(LAYOUT));
        let mut memory = memory(&[0x1000, 0x2000]);
        memory.pieces[0].1[8..16].copy_from_slice(&(FRAMES + 0x40).to_le_bytes());
        assert_eq!(found(&sampled, Some(&memory), &[FRAMES, FRAMES + 0x40, 0x2104], &[]), [0; 0]);
        memory.pieces = vec![(u64::MAX - 4, vec![0; 64]), (0, Vec::new())];
        assert_eq!(found(&sampled, Some(&memory), &[!7, 8, 0x2104], &[0]), [0; 0]);
    }

    #[test]
    fn a_call_of_one_function_is_told_by_its_instruction() {
        let sampled = process(None);
        assert_eq!(found(&sampled, None, &[7, 0x2108], &[0x3108]), [1]);
        assert_eq!(found(&sampled, None, &[], &[0x3108, 0x1108, 0x1000]), [0], "of two, what more tells of");
        assert_eq!(found(&sampled, None, &[7], &[0x40]), [0; 0]);
    }

    #[test]
    fn functions_that_share_instructions_are_told_by_what_they_refer_to() {
        let mut pythons = Pythons::default();
        pythons.tell(Message::Interpreter(Interpreter { pid: 1, evaluators: Vec::new(), frames: None }));
        for (number, name) in (1u64..).zip([b"a", b"b"]) {
            let witnesses = vec![0x1000 * number];
            let (instructions, name) = (0x9100..0x9140, name.to_vec());
            let address = 0x1000 * number;
            pythons.tell(Message::Code(Code {
                pid: 1,
                address,
                witnesses,
                instructions,
                name,
                ..Code::default()
            }));
        }
        let sampled = pythons.sampled(1, 1, None).unwrap();
        assert_eq!(found(&sampled, None, &[0x9104], &[0x2000]), [1]);
        assert_eq!(found(&sampled, None, &[0x9104, 0x1000], &[]), [0]);
        assert_eq!(found(&sampled, None, &[0x9104], &[]), [0; 0], "either");
    }
}

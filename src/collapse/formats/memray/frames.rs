//! The frames of a recording: those of Python, which it names itself, and native ones, whose names are in the files
//! that were loaded.
//!
//! A native stack has a call of the interpreter's loop where the Python stack has frames: these take its place, as in
//! memray's own reports. Since Python 3.11 one loop may run several frames; those that it was not
//! entered for are marked.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::lines::line_at;
use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::mapped::{self, Known};
use crate::collapse::kit::maps;
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::trie::{PathId, Trie};
use crate::collapse::{CollapseOptions, Context, Report, Sink};
use crate::error::{Error, Result};
use crate::folded::{FrameId, Place, Weights};
use crate::profile::Wants;
use crate::unique::Unique;

/// The function in CPython that runs the frames of Python.
const LOOP: &[u8] = b"_PyEval_EvalFrameDefault";

/// A Python frame, as the recording tells it from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// The number of a frame that is stated elsewhere.
    Number(u64),
    /// A place in the code of a function, and whether the interpreter's loop was entered for it.
    Code { code: u64, offset: i64, is_entry: bool },
}

/// A Python frame that is stated with its line.
pub struct Stated {
    pub function: Vec<u8>,
    pub file: Vec<u8>,
    pub line: i32,
    pub is_entry: bool,
}

/// A Python function with its table of lines.
pub struct Code {
    pub function: Vec<u8>,
    pub file: Vec<u8>,
    pub first: i64,
    pub lines: Vec<u8>,
}

/// A file that was loaded, and the address and size of each of its segments.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Module {
    path: Vec<u8>,
    start: u64,
    segments: Vec<(u64, u64)>,
}

/// The frames that a recording has told of.
#[derive(Default)]
pub struct Frames {
    /// The Python stacks, as numbers of [`Frames::frame_number`].
    pub paths: Trie,
    keys: Unique<Key>,
    stated: HashMap<u64, Stated>,
    /// The places in code of frames that are stated so.
    places: HashMap<u64, Key>,
    codes: HashMap<u64, Code>,
    /// Address and caller of each native frame; they are numbered from 1.
    natives: Vec<(u64, u64)>,
    modules: Unique<Module>,
    /// Begin, end and module of the segments, each time that files were loaded.
    generations: Vec<Vec<(u64, u64, usize)>>,
    /// The version of Python that made the tables of lines.
    pub python: u32,
}

impl Frames {
    /// The number of a Python frame in [`Frames::paths`].
    pub fn frame_number(&mut self, key: Key) -> u32 {
        self.keys.key(key)
    }

    /// States the frame of a number.
    pub fn state(&mut self, number: u64, frame: Stated) {
        self.stated.insert(number, frame);
    }

    /// States the place in code of the frame of a number.
    pub fn place(&mut self, number: u64, place: Key) {
        self.places.insert(number, place);
    }

    /// States a function.
    pub fn code(&mut self, number: u64, code: Code) {
        self.codes.insert(number, code);
    }

    /// Adds a native frame and the number of its caller, 0 for none; `None` if that is not one of those before.
    pub fn native(&mut self, address: u64, caller: u64) -> Option<()> {
        (caller <= self.natives.len() as u64).then(|| self.natives.push((address, caller)))
    }

    /// Files were loaded or unloaded: those that are loaded now follow.
    pub fn begin_files(&mut self) {
        self.generations.push(Vec::new());
    }

    /// The number of times that files were loaded.
    pub fn generation(&self) -> u64 {
        self.generations.len() as u64
    }

    /// Adds a file that is loaded.
    pub fn file(&mut self, path: Vec<u8>, start: u64, segments: Vec<(u64, u64)>) {
        let module = Module { path, start, segments };
        let number = self.modules.key(module) as usize;
        let ranges = self.modules.all()[number].segments.iter().map(|(at, size)| {
            let begin = start.wrapping_add(*at);
            (begin, begin.saturating_add(*size), number)
        });
        if let Some(generation) = self.generations.last_mut() {
            generation.extend(ranges);
        }
    }

    /// Finds the names of the native stacks of these numbers and generations, each file opened once.
    ///
    /// # Errors
    /// Stacks that would fill the memory.
    pub fn name(
        &mut self,
        stacks: impl Iterator<Item = (u64, u64)>,
        options: &CollapseOptions,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<Names> {
        self.generations.iter_mut().for_each(|segments| segments.sort_unstable());
        let mut names = Names::default();
        let mut seen = HashSet::new();
        let mut budget = Budget::default();
        let mut by_module: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for (mut native, generation) in stacks {
            while let Some((address, caller)) =
                self.native_at(native).filter(|_| seen.insert((native, generation)))
            {
                // Each takes memory here, and far more of it than a frame of a stack.
                budget.spend(64)?;
                native = caller;
                let module = self.module_of(address, generation);
                names.modules.insert((address, generation), module);
                if let Some(module) = module {
                    by_module.entry(module).or_default().push(address);
                }
            }
        }
        let mut missing = Vec::new();
        let mut sink = LoopSink { inner: sink, loops: HashSet::new() };
        for (at, mut addresses) in by_module {
            addresses.sort_unstable();
            addresses.dedup();
            let Module { path, start, segments } = &self.modules.all()[at];
            let places: Vec<(u64, bool)> =
                addresses.iter().map(|address| (address.wrapping_sub(*start), true)).collect();
            match mapped::name(path, Known::Segments(segments), &places, options, &mut sink) {
                Ok(named) => {
                    for (address, frames) in addresses.into_iter().zip(named) {
                        let is_loop = |frame: &FrameId| sink.loops.contains(frame);
                        let frames = frames.iter().rev().map(|frame| (*frame, is_loop(frame))).collect();
                        names.natives.insert((at, address), frames);
                    }
                }
                Err(why) => {
                    for (address, (inside, _)) in addresses.into_iter().zip(&places) {
                        let frame = maps::place_in(path, *inside, &mut names.frames, &mut sink);
                        names.natives.insert((at, address), vec![(frame, false)]);
                    }
                    missing.push((places.len(), &path[..], why));
                }
            }
        }
        maps::note(missing, report);
        Ok(names)
    }

    /// Address and caller of a native frame.
    fn native_at(&self, number: u64) -> Option<(u64, u64)> {
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        self.natives.get(at).copied()
    }

    /// The file that an address is in. It is that behind a call.
    fn module_of(&self, address: u64, generation: u64) -> Option<usize> {
        let segments = self.generations.get(usize::try_from(generation).ok()?.checked_sub(1)?)?;
        let inside = address.wrapping_sub(1);
        let after = segments.partition_point(|(begin, ..)| *begin <= inside);
        let (_, end, module) = segments.get(after.checked_sub(1)?)?;
        (inside < *end).then_some(*module)
    }
}

/// The frames of a recording with their names.
#[derive(Default)]
pub struct Names {
    frames: FrameNames,
    budget: Budget,
    /// Each Python frame that was asked for, and whether the interpreter's loop was entered for it.
    pythons: HashMap<u32, (FrameId, bool)>,
    /// The file of each address and generation.
    modules: HashMap<(u64, u64), Option<usize>>,
    /// By file and address, root first, and whether it is the interpreter's loop.
    natives: HashMap<(usize, u64), Vec<(FrameId, bool)>>,
    /// Python frames that the recording does not name.
    unnamed: u64,
}

impl Names {
    /// Appends a stack, root first: the Python stack in its place in the native one, without `skipped` frames at the
    /// root of the Python stack.
    ///
    /// # Errors
    /// Stacks that would fill the memory.
    pub fn append(
        &mut self,
        frames: &Frames,
        (path, native, generation): (PathId, u64, u64),
        skipped: usize,
        sink: &mut dyn Sink,
        stack: &mut Vec<FrameId>,
    ) -> Result<()> {
        let mut pythons = Vec::new();
        let mut at = path;
        while let Some((above, number)) = frames.paths.above(at) {
            pythons.push(self.python(frames, number, sink));
            self.budget.check(pythons.len())?;
            at = above;
        }
        pythons.reverse();
        let start = stack.len();
        let mut next = 0;
        for (frame, is_loop) in self.natives_of(frames, native, generation, sink)? {
            if !is_loop || next == pythons.len() {
                stack.push(frame);
                continue;
            }
            loop {
                if skipped > 0 && next == skipped {
                    stack.truncate(start);
                }
                stack.push(pythons[next].0);
                next += 1;
                if pythons.get(next).is_none_or(|(_, is_entry)| *is_entry) {
                    break;
                }
            }
        }
        if next < pythons.len() {
            // The loop was not found each time: memray leaves the native frames out as well.
            stack.truncate(start);
            stack.extend(pythons.iter().skip(skipped).map(|(frame, _)| *frame));
        }
        if stack.len() == start {
            stack.push(sink.frame(NO_STACK));
        }
        self.budget.spend(stack.len() - start)
    }

    fn python(&mut self, frames: &Frames, number: u32, sink: &mut dyn Sink) -> (FrameId, bool) {
        if let Some(known) = self.pythons.get(&number) {
            return *known;
        }
        let line = |line: i64| u64::try_from(line).ok().filter(|line| *line > 0);
        let key = frames.keys.all()[number as usize];
        let placed =
            |key| if let Key::Number(number) = key { frames.places.get(&number).copied() } else { None };
        let (code, line, is_entry) = match placed(key).unwrap_or(key) {
            Key::Number(number) => match frames.stated.get(&number) {
                Some(frame) => {
                    (Some((&frame.function, &frame.file)), line(frame.line.into()), frame.is_entry)
                }
                None => (None, None, true),
            },
            Key::Code { code, offset, is_entry } => match frames.codes.get(&code) {
                Some(code) => {
                    let at = line_at(frames.python, &code.lines, code.first, offset);
                    (Some((&code.function, &code.file)), line(at.unwrap_or(0)), is_entry)
                }
                None => (None, None, is_entry),
            },
        };
        let frame = match code {
            Some((function, file)) => self.frames.located(function, file, line, sink),
            None => {
                self.unnamed += 1;
                self.frames.plain(b"[unknown]", sink)
            }
        };
        self.pythons.insert(number, (frame, is_entry));
        (frame, is_entry)
    }

    /// The frames of a native stack, root first.
    fn natives_of(
        &mut self,
        frames: &Frames,
        mut native: u64,
        generation: u64,
        sink: &mut dyn Sink,
    ) -> Result<Vec<(FrameId, bool)>> {
        let mut addresses = Vec::new();
        while let Some((address, caller)) = frames.native_at(native) {
            addresses.push(address);
            self.budget.check(addresses.len())?;
            native = caller;
        }
        let mut stack = Vec::new();
        for address in addresses.into_iter().rev() {
            match self.modules.get(&(address, generation)).copied().flatten() {
                Some(module) => {
                    stack.extend_from_slice(self.natives.get(&(module, address)).map_or(&[], Vec::as_slice));
                }
                // Code made at run time.
                None => stack.push((self.frames.plain(b"[unknown]", sink), false)),
            }
        }
        Ok(stack)
    }

    /// Gives an address of the first file its name.
    #[cfg(test)]
    pub fn know(&mut self, address: u64, generation: u64, frame: FrameId, is_loop: bool) {
        self.modules.insert((address, generation), Some(0));
        self.natives.insert((0, address), vec![(frame, is_loop)]);
    }

    /// Says what has no name.
    pub fn tell(&self, report: &mut Report) {
        if self.unnamed > 0 {
            report.doubt(format!("{} Python frames have no name in the recording", self.unnamed));
        }
    }
}

/// Hands frames on, and notes those of the interpreter's loop.
struct LoopSink<'a> {
    inner: &'a mut dyn Sink,
    loops: HashSet<FrameId>,
}

impl LoopSink<'_> {
    fn note(&mut self, name: &[u8], frame: FrameId) -> FrameId {
        if memchr::memmem::find(name, LOOP).is_some() {
            self.loops.insert(frame);
        }
        frame
    }
}

impl Sink for LoopSink<'_> {
    fn wants(&self) -> Wants {
        self.inner.wants()
    }

    fn frame(&mut self, name: &[u8]) -> FrameId {
        let frame = self.inner.frame(name);
        self.note(name, frame)
    }

    fn frame_at(&mut self, name: &[u8], place: &Place<'_>) -> FrameId {
        let frame = self.inner.frame_at(name, place);
        self.note(name, frame)
    }

    fn sample(&mut self, stack: &[FrameId], weights: Weights, context: &Context<'_>) -> Result<()> {
        self.inner.sample(stack, weights, context)
    }
}

/// An error about a native frame whose caller is not one of those before it.
pub fn no_caller(caller: u64) -> Error {
    Error::malformed("the number of a native frame that came before", caller.to_string().as_bytes())
}

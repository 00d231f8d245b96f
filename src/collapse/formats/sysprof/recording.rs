//! The samples and allocations of a capture, and the processes that they are of.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::frames::{Frame, Header};
use super::symbols::Symbols;
use crate::bytes::{ByteOrder, Cursor, until_zero};
use crate::collapse::kit::mapped::{self, Known};
use crate::collapse::kit::maps::{self, File};
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::native_frame::NativeFrame;
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::trie::{PathId, Trie};
use crate::collapse::kit::values::Values;
use crate::collapse::{CollapseOptions, Context, Report, Sink, Value};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::lines;
use crate::profile::fact;
use crate::unique::Unique;
use crate::weight::Weight;

/// The values and their units.
const COLUMNS: [(&str, &str); 3] = [("samples", "samples"), ("allocated", "bytes"), ("unreleased", "bytes")];

const SAMPLES: usize = 0;
const ALLOCATED: usize = 1;
const UNRELEASED: usize = 2;

/// The types of frames that are used.
const SAMPLE: u8 = 2;
const MAP: u8 = 3;
const PROCESS: u8 = 4;
const FORK: u8 = 5;
const JITMAP: u8 = 7;
const METADATA: u8 = 11;
const FILE_CHUNK: u8 = 13;
const ALLOCATION: u8 = 14;

/// The name of the file with the names of addresses, and the length of the field that names a file.
const SYMBOLS: &[u8] = b"__symbols__";
const PATH: usize = 256;

/// Addresses from here on are perf's marks: what follows is the kernel's, or the program's.
const FIRST_MARK: u64 = -4095i64 as u64;
const KERNEL: u64 = -128i64 as u64;
const GUEST_KERNEL: u64 = -2176i64 as u64;

/// The number of forks between a process and the one whose mappings it shares.
const MOST_FORKS: usize = 32;

/// A capture as it is read.
pub struct Recording {
    made: Vec<u8>,
    start: u64,
    end: u64,
    command: Option<Vec<u8>>,
    /// The table of names that is being read, in parts.
    symbols_part: Vec<u8>,
    symbols: Symbols,
    /// The names of code that was compiled while the program ran.
    compiled: HashMap<u64, Vec<u8>>,
    /// The mappings of each process.
    mappings: HashMap<i32, Vec<Mapping>>,
    parents: HashMap<i32, i32>,
    /// The name that each process has now, in `names`, and the first that it had.
    processes: HashMap<i32, u32>,
    first_names: HashMap<i32, u32>,
    names: Vec<Vec<u8>>,
    owners: Unique<Owner>,
    items: Unique<Item>,
    tries: [Trie; COLUMNS.len()],
    /// Blocks that are not released, by process and address.
    held: HashMap<(i32, u64), Held>,
    /// True if single samples are told apart.
    contexts: bool,
    shows_threads: bool,
}

/// A thread, and its process by the name that it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Owner {
    process: i32,
    thread: i32,
    name: Option<u32>,
}

/// A frame before its name is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Item {
    Owner(u32),
    Address { process: i32, address: u64, is_kernel: bool, is_behind_call: bool },
}

/// A part of a file in memory.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Mapping {
    start: u64,
    end: u64,
    offset: u64,
    file: File,
}

/// A block of memory.
#[derive(Clone, Copy)]
struct Held {
    path: PathId,
    size: u64,
    time: u64,
    owner: u32,
}

impl Recording {
    /// An empty one.
    pub fn new(header: &Header, options: &CollapseOptions, sink: &dyn Sink) -> Recording {
        let contexts = sink.wants().contexts;
        Recording {
            made: header.made.clone(),
            start: header.start,
            end: header.end,
            command: None,
            symbols_part: Vec::new(),
            symbols: Symbols::default(),
            compiled: HashMap::new(),
            mappings: HashMap::new(),
            parents: HashMap::new(),
            processes: HashMap::new(),
            first_names: HashMap::new(),
            names: Vec::new(),
            owners: Unique::default(),
            items: Unique::default(),
            tries: std::array::from_fn(|_| Trie::new(contexts)),
            held: HashMap::new(),
            contexts,
            shows_threads: options.shows_threads(true),
        }
    }

    /// Reads a frame; the inner `None` is damage.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn frame(&mut self, frame: &Frame<'_>) -> Result<Option<()>> {
        let mut fields = frame.fields;
        match frame.kind {
            SAMPLE => return self.sample(frame),
            ALLOCATION => return self.allocation(frame),
            _ => {}
        }
        Ok(match frame.kind {
            MAP => self.mapping(frame.process, fields),
            PROCESS => {
                self.names.push(command_name(fields.text()).to_vec());
                let name = self.names.len() as u32 - 1;
                self.processes.insert(frame.process, name);
                self.first_names.entry(frame.process).or_insert(name);
                Some(())
            }
            FORK => fields.u32().map(|child| self.fork(frame.process, child.cast_signed())),
            JITMAP => self.compiled(fields),
            METADATA => self.metadata(fields),
            FILE_CHUNK => self.file(fields),
            _ => Some(()),
        })
    }

    fn mapping(&mut self, process: i32, mut fields: Cursor<'_>) -> Option<()> {
        let (start, end, offset, inode) = (fields.u64()?, fields.u64()?, fields.u64()?, fields.u64()?);
        let file = File { path: fields.text().into(), inode };
        self.mappings.entry(process).or_default().push(Mapping { start, end, offset, file });
        Some(())
    }

    fn fork(&mut self, parent: i32, child: i32) {
        if let Some(name) = self.processes.get(&parent) {
            self.processes.insert(child, *name);
        }
        self.parents.insert(child, parent);
    }

    fn compiled(&mut self, mut fields: Cursor<'_>) -> Option<()> {
        for _ in 0..fields.u32()? {
            let address = fields.u64()?;
            self.compiled.insert(address, fields.text().to_vec());
        }
        Some(())
    }

    /// Takes the command from the settings of the profiler: `spawn-argv=./app;--fast;`.
    fn metadata(&mut self, mut fields: Cursor<'_>) -> Option<()> {
        fields.take(40)?;
        let text = fields.text();
        let command = lines(text).find_map(|line| line.strip_prefix(b"spawn-argv="));
        if let Some(command) = command.filter(|command| !command.is_empty()) {
            let words: Vec<&[u8]> = command.split(|&b| b == b';').filter(|word| !word.is_empty()).collect();
            self.command = Some(words.join(&b' '));
        }
        Some(())
    }

    /// Reads a part of a file within the capture.
    fn file(&mut self, mut fields: Cursor<'_>) -> Option<()> {
        let order = fields.order();
        let flags = fields.take(2)?;
        let is_last = if order == ByteOrder::Big { flags[0] & 0x80 != 0 } else { flags[0] & 1 != 0 };
        let len = usize::from(fields.u16()?);
        if until_zero(fields.take(PATH)?) == SYMBOLS {
            self.symbols_part.extend_from_slice(fields.take(len)?);
            if is_last {
                let whole = std::mem::take(&mut self.symbols_part);
                self.symbols.add(whole, order);
            }
        }
        Some(())
    }

    fn sample(&mut self, frame: &Frame<'_>) -> Result<Option<()>> {
        let mut fields = frame.fields;
        let mut head = || {
            let count = fields.u16()?;
            fields.take(2)?;
            Some((usize::from(count), fields.i32()?))
        };
        let Some((count, thread)) = head() else { return Ok(None) };
        let owner = self.owner(frame.process, thread);
        let Some(path) = self.path(SAMPLES, frame.process, owner, fields, count, false) else {
            return Ok(None);
        };
        self.tries[SAMPLES].add_from(path, Weight::ONE, Some(frame.time), owner)?;
        Ok(Some(()))
    }

    fn allocation(&mut self, frame: &Frame<'_>) -> Result<Option<()>> {
        let mut fields = frame.fields;
        let mut head = || {
            let (address, size) = (fields.u64()?, fields.u64()?.cast_signed());
            let (thread, count) = (fields.i32()?, fields.u16()?);
            fields.take(2)?;
            Some((address, size, thread, usize::from(count)))
        };
        let Some((address, size, thread, count)) = head() else { return Ok(None) };
        // Without a size the block is released.
        let Some(size) = u64::try_from(size).ok().filter(|size| *size > 0) else {
            self.held.remove(&(frame.process, address));
            return Ok(Some(()));
        };
        let owner = self.owner(frame.process, thread);
        let Some(path) = self.path(ALLOCATED, frame.process, owner, fields, count, true) else {
            return Ok(None);
        };
        self.tries[ALLOCATED].add_from(path, Weight::new(size.into()), Some(frame.time), owner)?;
        self.held.insert((frame.process, address), Held { path, size, time: frame.time, owner });
        Ok(Some(()))
    }

    /// The number of a thread.
    fn owner(&mut self, process: i32, thread: i32) -> u32 {
        let owner = Owner { process, thread, name: self.processes.get(&process).copied() };
        self.owners.key(owner)
    }

    /// The path of a stack of `count` addresses, leaf first, in a column. `None` if there are less.
    fn path(
        &mut self,
        column: usize,
        process: i32,
        owner: u32,
        mut fields: Cursor<'_>,
        count: usize,
        is_called: bool,
    ) -> Option<PathId> {
        let mut stack = Vec::with_capacity(count);
        let (mut is_kernel, mut is_behind_call) = (false, is_called);
        for _ in 0..count {
            let address = fields.u64()?;
            if address >= FIRST_MARK {
                is_kernel = matches!(address, KERNEL | GUEST_KERNEL);
                is_behind_call = false;
                continue;
            }
            stack.push(Item::Address { process, address, is_kernel, is_behind_call });
            is_behind_call = true;
        }
        let owner = self.shows_threads.then_some(Item::Owner(owner));
        let mut path = Trie::ROOT;
        for item in owner.into_iter().chain(stack.into_iter().rev()) {
            let number = self.items.key(item);
            path = self.tries[column].below(path, number);
        }
        Some(path)
    }

    /// Hands all that was added up to the sink.
    ///
    /// # Errors
    /// Those of the sink, and values that are not there.
    pub fn finish(
        mut self,
        options: &CollapseOptions,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        self.facts(report);
        self.keep_unreleased()?;
        let columns: Vec<usize> = (0..COLUMNS.len()).filter(|at| !self.tries[*at].is_empty()).collect();
        let declared = columns.iter().map(|at| Value::new(COLUMNS[*at].0, COLUMNS[*at].1)).collect();
        let mut values = Values::new(options, declared, 0)?;
        let no_stack = sink.frame(NO_STACK);
        let frames = self.frames(options, sink, report);
        let mut whole = Vec::new();
        for (column, at) in columns.into_iter().enumerate() {
            self.tries[at].for_each(
                None,
                |number| Ok(FrameId(number)),
                |stack, sampled| {
                    let ids = |number: i32| number.to_string().into_bytes();
                    let (name, process, thread) = match self.owners.all().get(sampled.origin as usize) {
                        Some(owner) => (self.name(owner), ids(owner.process), ids(owner.thread)),
                        None => (&b""[..], Vec::new(), Vec::new()),
                    };
                    let owner = Thread { name, pid: &process, tid: &thread };
                    let context = if self.contexts { owner.context(sampled.time) } else { Context::UNKNOWN };
                    whole.clear();
                    for number in stack {
                        whole.extend(frames[number.0 as usize].iter().rev());
                    }
                    if stack.len() <= usize::from(self.shows_threads) {
                        whole.push(no_stack);
                    }
                    values.add_at(column, &whole, sampled.weight, sampled.samples, &context, sink)
                },
            )?;
        }
        values.finish(report)
    }

    /// Adds the blocks that have not been released to their column, in the order of time.
    fn keep_unreleased(&mut self) -> Result<()> {
        let mut held: Vec<(u64, i32, u64, Held)> = std::mem::take(&mut self.held)
            .into_iter()
            .map(|((process, address), held)| (held.time, process, address, held))
            .collect();
        held.sort_unstable_by_key(|(time, process, address, _)| (*time, *process, *address));
        for (time, _, _, Held { path, size, owner, .. }) in held {
            let mut numbers = Vec::new();
            let mut at = path;
            while let Some((above, number)) = self.tries[ALLOCATED].above(at) {
                numbers.push(number);
                at = above;
            }
            let trie = &mut self.tries[UNRELEASED];
            let path = numbers.into_iter().rev().fold(Trie::ROOT, |path, number| trie.below(path, number));
            trie.add_from(path, Weight::new(size.into()), Some(time), owner)?;
        }
        Ok(())
    }

    /// The name of a thread's process: the one it had then, or is given later.
    fn name(&self, owner: &Owner) -> &[u8] {
        let name = owner.name.or_else(|| self.first_names.get(&owner.process).copied());
        name.and_then(|name| self.names.get(name as usize)).map_or(b"", Vec::as_slice)
    }

    /// The frames of each item, leaf first.
    fn frames(
        &mut self,
        options: &CollapseOptions,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Vec<Vec<FrameId>> {
        self.mappings.values_mut().for_each(|mappings| mappings.sort());
        let mut names = FrameNames::default();
        let mut frames = vec![Vec::new(); self.items.all().len()];
        // What has no name in the capture: by the file, at which offset.
        let mut by_file: BTreeMap<File, Vec<(u64, bool, usize)>> = BTreeMap::new();
        let inodes = self.inodes();
        for (at, item) in self.items.all().iter().enumerate() {
            let Item::Address { process, address, is_kernel, is_behind_call } = *item else {
                let Item::Owner(owner) = *item else { continue };
                let owner = &self.owners.all()[owner as usize];
                let ids = [owner.process, owner.thread].map(|number| number.to_string());
                let thread =
                    Thread { name: self.name(owner), pid: ids[0].as_bytes(), tid: ids[1].as_bytes() };
                frames[at].push(names.build(sink, |out| thread.write(options, out)));
                continue;
            };
            let inside = address.saturating_sub(is_behind_call.into());
            let mapping = if is_kernel { None } else { self.mapping_at(process, inside) };
            let name = self.compiled.get(&address).map(Vec::as_slice);
            let name = name.or_else(|| self.symbols.find(process, address));
            if let (None, Some(mapping)) = (name, mapping.filter(|found| found.file.path.starts_with(b"/"))) {
                let offset = (address - mapping.start).saturating_add(mapping.offset);
                let inode = inodes.get(&mapping.file.path).copied().unwrap_or(mapping.file.inode);
                let file = File { path: mapping.file.path.clone(), inode };
                by_file.entry(file).or_default().push((offset, is_behind_call, at));
                continue;
            }
            let hex = format!("{address:x}");
            let module = match mapping {
                Some(mapping) => &mapping.file.path[..],
                None if is_kernel => b"[kernel.kallsyms]",
                None => b"",
            };
            let native = NativeFrame {
                symbol: name.map_or(b"", without_version),
                module,
                address: hex.as_bytes(),
                kernel: is_kernel,
                ..NativeFrame::default()
            };
            frames[at].push(native.frame(options, &mut names, sink));
        }
        let mut missing = Vec::new();
        for (file, places) in &by_file {
            let offsets: Vec<(u64, bool)> =
                places.iter().map(|(offset, called, _)| (*offset, *called)).collect();
            let named = mapped::name(&file.path, Known::Inode(file.inode), &offsets, options, sink);
            if let Err(why) = &named {
                missing.push((places.len(), &*file.path, why.clone()));
            }
            let mut named = named.unwrap_or_default().into_iter();
            for (offset, _, at) in places {
                frames[*at] = named
                    .next()
                    .unwrap_or_else(|| vec![maps::place_in(&file.path, *offset, &mut names, sink)]);
            }
        }
        maps::note(missing, report);
        frames
    }

    /// The numbers of files, where they are known: sysprof writes 0 for what is mapped while it records.
    fn inodes(&self) -> HashMap<Box<[u8]>, u64> {
        let mut inodes = HashMap::new();
        // Of two files at one path the one with the lower number is taken, whichever process comes first.
        for File { path, inode } in self.mappings.values().flatten().map(|mapping| &mapping.file) {
            if *inode > 0 {
                let known = inodes.entry(path.clone()).or_insert(*inode);
                *known = *inode.min(known);
            }
        }
        inodes
    }

    /// The mapping of an address in a process, or in those that it was forked from.
    fn mapping_at(&self, mut process: i32, address: u64) -> Option<&Mapping> {
        for _ in 0..MOST_FORKS {
            let mappings = self.mappings.get(&process).map_or(&[][..], Vec::as_slice);
            let after = mappings.partition_point(|mapping| mapping.start <= address);
            let found = after.checked_sub(1).map(|at| &mappings[at]).filter(|found| address < found.end);
            if found.is_some() {
                return found;
            }
            process = *self.parents.get(&process)?;
        }
        None
    }

    /// Notes what the capture says of itself, and what is missing.
    fn facts(&self, report: &mut Report) {
        let made = std::str::from_utf8(&self.made).unwrap_or_default();
        report.facts.start = humantime::parse_rfc3339_weak(made.trim_end_matches('Z')).ok();
        let passed = self.end.checked_sub(self.start).filter(|passed| *passed > 0);
        report.facts.duration = passed.map(Duration::from_nanos);
        report.facts.command = self.command.as_deref().and_then(fact);
        if self.symbols.is_empty() && self.items.all().iter().any(|item| matches!(item, Item::Address { .. }))
        {
            report.note(
                "the capture has no names of functions, which stand at its end: it is cut off, or was made with --no-decode",
            );
        }
    }
}

/// The name of a process by its command line: `/usr/bin/app --fast` is `app`. What is no path is a name already.
fn command_name(line: &[u8]) -> &[u8] {
    /// The longest name that the kernel has.
    const NAME: usize = 15;
    if !line.starts_with(b"/") && line.len() <= NAME {
        return line;
    }
    let program = line.split(|&b| b == b' ').next().unwrap_or(line);
    program.rsplit(|&b| b == b'/').next().unwrap_or(program)
}

/// The name of a function without the version of its symbol: `memcpy@@GLIBC_2.14`.
fn without_version(name: &[u8]) -> &[u8] {
    match memchr::memchr(b'@', name) {
        Some(at) if at > 0 && !name.contains(&b' ') => &name[..at],
        _ => name,
    }
}

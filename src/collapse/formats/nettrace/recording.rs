//! The samples of a trace, and the methods that name their addresses.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use super::blocks::Layout;
use super::events::{Header, read};
use super::places::Places;
use crate::bytes::{ByteOrder, Cursor};
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::trie::{PathId, Trie};
use crate::collapse::kit::values::Values;
use crate::collapse::{CollapseOptions, Context, Report, Sink, Value};
use crate::error::Result;
use crate::folded::{FrameId, sanitize_frame};
use crate::number;
use crate::unique::Unique;
use crate::weight::Weight;

/// The values that the runtime's events have, and their units; those of version 6 come behind them.
const COLUMNS: [(&str, &str); 4] =
    [("managed", "samples"), ("unmanaged", "samples"), ("allocated", "bytes"), ("exceptions", "exceptions")];

const MANAGED: usize = 0;
const UNMANAGED: usize = 1;
const ALLOCATED: usize = 2;
const EXCEPTIONS: usize = 3;

/// The name of the event of version 6 whose value is a time, on the clock of the trace.
const SWITCH: &str = "cswitch";

/// The most kinds of events with values; a trace has some for each tracepoint that was recorded.
const MOST_COLUMNS: usize = 1000;

/// The kinds of events that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Sample,
    Allocation,
    Exception,
    Method,
    Module,
    /// One of version 6 with a value, in this column.
    Valued(usize),
    Process,
    /// True if it names its process.
    Mapping(bool),
    Symbol,
    Other,
}

/// A trace as it is read.
pub struct Recording {
    layout: Layout,
    pointer: usize,
    process: u64,
    /// The time of the counter at the start, and its steps in a second.
    start: (u64, u64),
    date: Option<SystemTime>,
    types: HashMap<u32, Event>,
    stacks: HashMap<u32, Vec<u64>>,
    /// The paths of stacks in the columns where they have been, by the number of the thread.
    paths: HashMap<(usize, u32, u32), PathId>,
    items: Unique<Item>,
    places: Places,
    columns: Vec<Column>,
    /// The threads of version 6 by their entries.
    threads: HashMap<u64, Owner>,
    owners: Unique<Owner>,
    process_names: HashMap<u64, Vec<u8>>,
    /// True if single events are told apart.
    contexts: bool,
    shows_threads: bool,
    /// The last number of each thread that captured events.
    sequences: HashMap<u64, u32>,
    lost_events: u64,
    lost_stacks: u64,
    last: u64,
}

/// The samples of a value.
struct Column {
    value: Value,
    trie: Trie,
    /// The number of its events.
    events: u64,
}

/// Samples of managed code that are as many times fewer than those of native code are not what is shown.
const RARE: u64 = 100;

/// A thread of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Owner {
    process: u64,
    thread: u64,
    /// Its own name, or none.
    name: Vec<u8>,
}

/// A frame before its name is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Item {
    Owner(u32),
    /// An address of a process; one behind a call, unless it is where the thread was.
    Address(u64, u64, bool),
    /// The type of what was allocated or thrown.
    Type(String),
}

impl Recording {
    /// An empty one.
    pub fn new(layout: Layout, options: &CollapseOptions, sink: &dyn Sink) -> Recording {
        let contexts = sink.wants().contexts;
        let columns = COLUMNS.map(|(name, unit)| Column {
            value: Value::new(name, unit),
            trie: Trie::new(contexts),
            events: 0,
        });
        Recording {
            layout,
            pointer: 8,
            process: 0,
            start: (0, 1),
            date: None,
            types: HashMap::new(),
            stacks: HashMap::new(),
            paths: HashMap::new(),
            items: Unique::default(),
            places: Places::default(),
            columns: columns.into(),
            threads: HashMap::new(),
            owners: Unique::default(),
            process_names: HashMap::new(),
            contexts,
            // A trace of version 6 may be of all processes.
            shows_threads: options.shows_threads(layout == Layout::V6),
            sequences: HashMap::new(),
            lost_events: 0,
            lost_stacks: 0,
            last: 0,
        }
    }

    /// Reads what the trace says of itself.
    pub fn trace(&mut self, bytes: &[u8]) -> Option<()> {
        let mut fields = Cursor::little(bytes);
        let mut date = [0u16; 8];
        for part in &mut date {
            *part = fields.u16()?;
        }
        let [year, month, _, day, hour, minute, second, millis] = date;
        let date = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z");
        self.date = humantime::parse_rfc3339(&date).ok();
        self.start = (fields.u64()?, fields.u64()?.max(1));
        self.last = self.start.0;
        self.pointer = usize::try_from(fields.u32()?).ok().filter(|size| matches!(size, 4 | 8))?;
        if self.layout == Layout::V4 {
            self.process = u64::from(fields.u32()?);
            return Some(());
        }
        for _ in 0..fields.u32()? {
            let (key, value) = (fields.varint_counted()?, fields.varint_counted()?);
            if key == b"ProcessId" {
                self.process = number::parse(value)?;
            }
        }
        Some(())
    }

    /// Reads types of events.
    pub fn metadata(&mut self, bytes: &[u8]) -> Option<()> {
        if self.layout == Layout::V6 {
            return self.rows_of_metadata(bytes);
        }
        read(bytes, self.layout, |_, payload| {
            let mut fields = Cursor::little(payload);
            let (number, provider, event) = (fields.u32()?, fields.terminated_utf16()?, fields.u32()?);
            self.types.insert(number, Event::of_runtime(&provider, event));
            Some(())
        })
    }

    /// Reads types of events of version 6.
    fn rows_of_metadata(&mut self, bytes: &[u8]) -> Option<()> {
        let mut rows = Cursor::little(bytes);
        let header = rows.u16()?;
        rows.take(header.into())?;
        while !rows.is_empty() {
            let size = rows.u16()?;
            let mut row = Cursor::little(rows.take(size.into())?);
            let number = u32::try_from(row.varint()?).ok()?;
            let provider = String::from_utf8_lossy(row.varint_counted()?);
            let event = u32::try_from(row.varint()?).ok()?;
            let name = String::from_utf8_lossy(row.varint_counted()?);
            let mut fields = Vec::new();
            for _ in 0..row.u16()? {
                let size = row.u16()?;
                fields.push(Cursor::little(row.take(size.into())?).varint_counted()?);
            }
            let event = match (&*provider, &*name) {
                ("Universal.System", "ProcessCreate" | "ExistingProcess") => Event::Process,
                ("Universal.System", "ProcessMapping") => {
                    Event::Mapping(fields.get(1) == Some(&&b"ProcessId"[..]))
                }
                ("Universal.System", "ProcessSymbol") => Event::Symbol,
                ("Universal.Events", name) if fields.first() == Some(&&b"Value"[..]) => {
                    Event::Valued(self.column(name)?)
                }
                (provider, _) => Event::of_runtime(provider, event),
            };
            self.types.insert(number, event);
        }
        Some(())
    }

    /// The column of an event of version 6; `None` if there are too many.
    fn column(&mut self, name: &str) -> Option<usize> {
        let unit = match name {
            "cpu" => "samples",
            SWITCH => "ns",
            _ => "events",
        };
        let value = Value::new(name, unit);
        if let Some(at) = self.columns.iter().position(|column| column.value == value) {
            return Some(at);
        }
        self.columns.push(Column { value, trie: Trie::new(self.contexts), events: 0 });
        (self.columns.len() <= MOST_COLUMNS).then(|| self.columns.len() - 1)
    }

    /// Reads entries of threads.
    pub fn threads(&mut self, bytes: &[u8]) -> Option<()> {
        let mut rows = Cursor::little(bytes);
        while !rows.is_empty() {
            let size = rows.u16()?;
            let mut row = Cursor::little(rows.take(size.into())?);
            let index = row.varint()?;
            let mut owner = Owner::default();
            while let Some(kind) = row.take(1) {
                match kind {
                    [1] => owner.name = row.varint_counted()?.to_vec(),
                    [2] => owner.process = row.varint()?,
                    [3] => owner.thread = row.varint()?,
                    [4] => _ = (row.varint_counted()?, row.varint_counted()?),
                    // What a later version adds stands behind what this one has.
                    _ => break,
                }
            }
            self.threads.insert(index, owner);
        }
        Some(())
    }

    /// Reads stacks, leaf first.
    pub fn stacks(&mut self, bytes: &[u8]) -> Option<()> {
        let mut fields = Cursor::little(bytes);
        let (first, count) = (fields.u32()?, fields.u32()?);
        for number in 0..count {
            let size = usize::try_from(fields.u32()?).ok()?;
            let addresses = fields.take(size)?.chunks_exact(self.pointer);
            let stack = addresses.map(|bytes| ByteOrder::Little.unsigned(bytes));
            let number = first.wrapping_add(number);
            self.stacks.insert(number, stack.collect());
        }
        self.paths.retain(|(_, number, _), _| number.wrapping_sub(first) >= count);
        Some(())
    }

    /// From here on stacks have other numbers.
    pub fn sequence_point(&mut self, bytes: &[u8]) -> Option<()> {
        self.stacks.clear();
        self.paths.clear();
        if self.layout == Layout::V6 {
            let mut fields = Cursor::little(bytes);
            let (_time, flags) = (fields.u64()?, fields.u32()?);
            if flags & 1 != 0 {
                self.threads.clear();
            }
            if flags & 2 != 0 {
                self.types.clear();
            }
        }
        Some(())
    }

    /// Reads events; the inner `None` is damage.
    pub fn events(&mut self, bytes: &[u8]) -> Result<Option<()>> {
        let mut failed = Ok(());
        let whole = read(bytes, self.layout, |header, payload| {
            let is_next = |last: &u32| header.sequence.wrapping_sub(*last);
            if let Some(step) = self.sequences.get(&header.capture_thread).map(is_next)
                && (2..1 << 31).contains(&step)
            {
                self.lost_events += u64::from(step - 1);
            }
            self.sequences.insert(header.capture_thread, header.sequence);
            self.last = self.last.max(header.time);
            match self.types.get(&header.metadata).copied().unwrap_or(Event::Other) {
                Event::Other => {}
                Event::Method => self.places.method(self.owner(header).process, payload)?,
                Event::Module => self.places.module(payload)?,
                Event::Symbol => self.places.symbol(self.owner(header).process, payload)?,
                Event::Mapping(names_process) => {
                    let process = self.owner(header).process;
                    self.places.mapping(process, names_process, payload)?;
                }
                Event::Process => {
                    let mut fields = Cursor::little(payload);
                    let (_number_in_namespace, name) = (fields.varint()?, fields.u16_counted()?);
                    self.process_names.insert(self.owner(header).process, name.to_vec());
                }
                sampled => {
                    let (column, weight, item) = self.sample(sampled, payload)?;
                    failed = self.add(column, weight, item, header);
                    failed.as_ref().ok()?;
                }
            }
            Some(())
        });
        failed.map(|()| whole)
    }

    /// The thread of an event.
    fn owner(&self, header: &Header) -> Owner {
        match self.layout {
            Layout::V4 => Owner { process: self.process, thread: header.thread, name: Vec::new() },
            Layout::V6 => self.threads.get(&header.thread).cloned().unwrap_or_default(),
        }
    }

    /// The column, the weight and the leaf of an event with a stack.
    fn sample(&self, event: Event, payload: &[u8]) -> Option<(usize, u64, Option<Item>)> {
        let mut fields = Cursor::little(payload);
        Some(match event {
            Event::Sample => {
                // 1 is native code, 2 managed code, 0 an error.
                let is_managed = fields.u32()? == 2;
                (if is_managed { MANAGED } else { UNMANAGED }, 1, None)
            }
            Event::Allocation => {
                let (short, _kind, _instance) = (fields.u32()?, fields.u32()?, fields.u16()?);
                // Since version 2: the amount again, the type's number and its name.
                let long = fields.u64();
                let name = fields.take(self.pointer).and_then(|_| fields.terminated_utf16());
                let leaf = name.filter(|name| !name.is_empty()).map(Item::Type);
                (ALLOCATED, long.unwrap_or(u64::from(short)), leaf)
            }
            Event::Valued(column) => (column, self.in_unit(column, fields.varint()?), None),
            _ => (EXCEPTIONS, 1, fields.terminated_utf16().filter(|name| !name.is_empty()).map(Item::Type)),
        })
    }

    /// A value of version 6 in the unit of its column.
    fn in_unit(&self, column: usize, value: u64) -> u64 {
        if self.columns[column].value.name == SWITCH.as_bytes() { self.nanoseconds(value) } else { value }
    }

    /// Steps of the counter in nanoseconds.
    fn nanoseconds(&self, steps: u64) -> u64 {
        let passed = u128::from(steps) * 1_000_000_000 / u128::from(self.start.1);
        u64::try_from(passed).unwrap_or(u64::MAX)
    }

    /// Adds an event to a column.
    fn add(&mut self, column: usize, weight: u64, leaf: Option<Item>, header: &Header) -> Result<()> {
        let number = self.owners.key(self.owner(header));
        let mut path = self.path(column, header.stack, number);
        if let Some(leaf) = leaf {
            let number = self.items.key(leaf);
            path = self.columns[column].trie.below(path, number);
        }
        let time = self.nanoseconds(header.time.saturating_sub(self.start.0));
        self.columns[column].events += 1;
        self.columns[column].trie.add_from(path, Weight::new(weight.into()), Some(time), number)
    }

    /// The path of a stack of a thread in a column; 0 stands for none.
    fn path(&mut self, column: usize, stack: u32, owner: u32) -> PathId {
        if let Some(path) = self.paths.get(&(column, stack, owner)) {
            return *path;
        }
        let mut path = Trie::ROOT;
        if self.shows_threads {
            let number = self.items.key(Item::Owner(owner));
            path = self.columns[column].trie.below(path, number);
        }
        let Some(addresses) = self.stacks.get(&stack).cloned() else {
            self.lost_stacks += u64::from(stack != 0);
            return path;
        };
        let process = self.owners.all()[owner as usize].process;
        for (at, address) in addresses.into_iter().enumerate().rev() {
            let number = self.items.key(Item::Address(process, address, at > 0));
            path = self.columns[column].trie.below(path, number);
        }
        self.paths.insert((column, stack, owner), path);
        path
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
        self.places.sort();
        let mut held: Vec<usize> =
            (0..self.columns.len()).filter(|at| !self.columns[*at].trie.is_empty()).collect();
        // What is measured on all processors goes before what the runtime tells of itself.
        held.sort_by_key(|at| *at < COLUMNS.len());
        let declared = held.iter().map(|at| self.columns[*at].value.clone()).collect();
        // A program that hardly runs managed code is seen in its native code.
        let counted = |name: &str| {
            let column = held.iter().position(|at| self.columns[*at].value.name == name.as_bytes());
            column.map(|column| (column, self.columns[held[column]].events))
        };
        let default = match (counted("managed"), counted("unmanaged")) {
            (Some((0, managed)), Some((column, unmanaged))) if managed.saturating_mul(RARE) < unmanaged => {
                column
            }
            _ => 0,
        };
        let mut values = Values::new(options, declared, default)?;
        let mut names = FrameNames::default();
        let frames: Vec<FrameId> =
            self.items.all().iter().map(|item| self.frame(item, options, &mut names, sink)).collect();
        let no_stack = sink.frame(NO_STACK);
        let mut whole = Vec::new();
        for (column, at) in held.into_iter().enumerate() {
            self.columns[at].trie.for_each(
                None,
                |number| Ok(frames.get(number as usize).copied().unwrap_or(no_stack)),
                |stack, sampled| {
                    let owner = self.owners.all().get(sampled.origin as usize);
                    let ids = owner.map(|owner| [owner.process, owner.thread].map(|id| id.to_string()));
                    let context = match (owner, &ids) {
                        (Some(owner), Some([pid, tid])) if self.contexts => {
                            self.thread(owner, [pid, tid]).context(sampled.time)
                        }
                        _ => Context::UNKNOWN,
                    };
                    whole.clear();
                    whole.extend_from_slice(stack);
                    if stack.len() <= usize::from(self.shows_threads) {
                        whole.push(no_stack);
                    }
                    values.add_at(column, &whole, sampled.weight, sampled.samples, &context, sink)
                },
            )?;
        }
        values.finish(report)
    }

    /// A thread by its name, or that of its process.
    fn thread<'a>(&'a self, owner: &'a Owner, [pid, tid]: [&'a String; 2]) -> Thread<'a> {
        let name =
            if owner.name.is_empty() { self.process_names.get(&owner.process) } else { Some(&owner.name) };
        Thread { name: name.map_or(b"", Vec::as_slice), pid: pid.as_bytes(), tid: tid.as_bytes() }
    }

    /// The frame of an item.
    fn frame(
        &self,
        item: &Item,
        options: &CollapseOptions,
        names: &mut FrameNames,
        sink: &mut dyn Sink,
    ) -> FrameId {
        match item {
            Item::Owner(owner) => {
                let owner = &self.owners.all()[*owner as usize];
                let [pid, tid] = [owner.process, owner.thread].map(|id| id.to_string());
                names.build(sink, |out| self.thread(owner, [&pid, &tid]).write(options, out))
            }
            Item::Address(process, address, is_behind) => {
                self.places.frame(*process, (*address, *is_behind), options, names, sink)
            }
            Item::Type(name) => names.build(sink, |out| sanitize_frame(name.as_bytes(), out)),
        }
    }

    /// Notes what the trace says of itself, and what is missing.
    fn facts(&self, report: &mut Report) {
        report.facts.start = self.date;
        let passed = self.nanoseconds(self.last - self.start.0);
        report.facts.duration = Some(passed).filter(|passed| *passed > 0).map(Duration::from_nanos);
        if self.lost_events > 0 {
            report.doubt(format!("{} events were dropped while it recorded", self.lost_events));
        }
        if self.lost_stacks > 0 {
            report.doubt(format!("{} events have lost their stacks; they are [no stack]", self.lost_stacks));
        }
        if self.places.is_empty() && self.items.all().iter().any(|item| matches!(item, Item::Address(..))) {
            report.warn(
                "the trace does not name its methods: let dotnet-trace end the recording itself, without --rundown false",
            );
        }
    }
}

impl Event {
    /// The kind of an event of the runtime.
    fn of_runtime(provider: &str, event: u32) -> Event {
        match (provider, event) {
            ("Microsoft-DotNETCore-SampleProfiler", 0) => Event::Sample,
            ("Microsoft-Windows-DotNETRuntime", 10) => Event::Allocation,
            ("Microsoft-Windows-DotNETRuntime", 80) => Event::Exception,
            ("Microsoft-Windows-DotNETRuntime", 143) => Event::Method,
            ("Microsoft-Windows-DotNETRuntime", 152) => Event::Module,
            ("Microsoft-Windows-DotNETRuntimeRundown", 143 | 144) => Event::Method,
            ("Microsoft-Windows-DotNETRuntimeRundown", 153 | 154) => Event::Module,
            _ => Event::Other,
        }
    }
}

//! The samples of a trace, and the methods that name their addresses.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use super::events::{Header, Payload, read};
use crate::collapse::names::{FrameNames, NO_STACK};
use crate::collapse::naming;
use crate::collapse::threads::Thread;
use crate::collapse::trie::{PathId, Trie};
use crate::collapse::values::Values;
use crate::collapse::{Context, Options, Report, Sink, Value};
use crate::error::Result;
use crate::folded::{FrameId, Kind, Place, sanitize_frame};
use crate::weight::Weight;

/// The values and their units.
const COLUMNS: [(&str, &str); 4] =
    [("managed", "samples"), ("unmanaged", "samples"), ("allocated", "bytes"), ("exceptions", "exceptions")];

const MANAGED: usize = 0;
const UNMANAGED: usize = 1;
const ALLOCATED: usize = 2;
const EXCEPTIONS: usize = 3;

/// The kinds of events that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Sample,
    Allocation,
    Exception,
    Method,
    Module,
    Other,
}

/// A trace as it is read.
pub struct Recording {
    pointer: usize,
    process: u64,
    /// The time of the counter at the start, and its steps in a second.
    start: (u64, u64),
    date: Option<SystemTime>,
    types: HashMap<u32, Event>,
    stacks: HashMap<u32, Vec<u64>>,
    /// The paths of stacks in the columns where they have been.
    paths: HashMap<(usize, u32), PathId>,
    items: Vec<Item>,
    item_numbers: HashMap<Item, u32>,
    methods: Vec<Method>,
    modules: HashMap<u64, String>,
    tries: [Trie; COLUMNS.len()],
    /// True if single events are told apart.
    contexts: bool,
    /// The last number of each thread that captured events.
    sequences: HashMap<u64, u32>,
    lost_events: u64,
    lost_stacks: u64,
    last: u64,
}

/// A frame before its name is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Item {
    /// An address; one behind a call, unless it is where the thread was.
    Address(u64, bool),
    /// The type of what was allocated or thrown.
    Type(String),
}

/// A method, and the module that it is of.
struct Method {
    start: u64,
    end: u64,
    name: String,
    module: u64,
}

impl Recording {
    /// An empty one.
    pub fn new(options: &Options, sink: &dyn Sink) -> Recording {
        let contexts = sink.wants().contexts || options.shows_threads(false);
        Recording {
            pointer: 8,
            process: 0,
            start: (0, 1),
            date: None,
            types: HashMap::new(),
            stacks: HashMap::new(),
            paths: HashMap::new(),
            items: Vec::new(),
            item_numbers: HashMap::new(),
            methods: Vec::new(),
            modules: HashMap::new(),
            tries: std::array::from_fn(|_| Trie::new(contexts)),
            contexts,
            sequences: HashMap::new(),
            lost_events: 0,
            lost_stacks: 0,
            last: 0,
        }
    }

    /// Reads what the trace says of itself.
    pub fn trace(&mut self, bytes: &[u8]) -> Option<()> {
        let mut fields = Payload(bytes);
        let mut date = [0u16; 8];
        for part in &mut date {
            *part = fields.short()?;
        }
        let [year, month, _, day, hour, minute, second, millis] = date;
        let date = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z");
        self.date = humantime::parse_rfc3339(&date).ok();
        self.start = (fields.long()?, fields.long()?.max(1));
        self.last = self.start.0;
        self.pointer = usize::try_from(fields.int()?).ok().filter(|size| matches!(size, 4 | 8))?;
        self.process = u64::from(fields.int()?);
        Some(())
    }

    /// Reads types of events.
    pub fn metadata(&mut self, bytes: &[u8]) -> Option<()> {
        read(bytes, |_, payload| {
            let mut fields = Payload(payload);
            let (number, provider, event) = (fields.int()?, fields.text()?, fields.int()?);
            let event = match (provider.as_str(), event) {
                ("Microsoft-DotNETCore-SampleProfiler", 0) => Event::Sample,
                ("Microsoft-Windows-DotNETRuntime", 10) => Event::Allocation,
                ("Microsoft-Windows-DotNETRuntime", 80) => Event::Exception,
                ("Microsoft-Windows-DotNETRuntime", 143) => Event::Method,
                ("Microsoft-Windows-DotNETRuntime", 152) => Event::Module,
                ("Microsoft-Windows-DotNETRuntimeRundown", 143 | 144) => Event::Method,
                ("Microsoft-Windows-DotNETRuntimeRundown", 153 | 154) => Event::Module,
                _ => Event::Other,
            };
            self.types.insert(number, event);
            Some(())
        })
    }

    /// Reads stacks, leaf first.
    pub fn stacks(&mut self, bytes: &[u8]) -> Option<()> {
        let mut fields = Payload(bytes);
        let (first, count) = (fields.int()?, fields.int()?);
        for number in 0..count {
            let size = usize::try_from(fields.int()?).ok()?;
            let addresses = fields.take(size)?.chunks_exact(self.pointer);
            let stack = addresses
                .map(|bytes| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)));
            let number = first.wrapping_add(number);
            self.stacks.insert(number, stack.collect());
            (0..COLUMNS.len()).for_each(|column| _ = self.paths.remove(&(column, number)));
        }
        Some(())
    }

    /// From here on stacks have other numbers.
    pub fn sequence_point(&mut self) {
        self.stacks.clear();
        self.paths.clear();
    }

    /// Reads events; the inner `None` is damage.
    pub fn events(&mut self, bytes: &[u8]) -> Result<Option<()>> {
        let mut failed = Ok(());
        let whole = read(bytes, |header, payload| {
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
                Event::Method => self.method(payload)?,
                Event::Module => self.module(payload)?,
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

    /// The column, the weight and the leaf of an event with a stack.
    fn sample(&self, event: Event, payload: &[u8]) -> Option<(usize, u64, Option<Item>)> {
        let mut fields = Payload(payload);
        Some(match event {
            Event::Sample => {
                // 1 is native code, 2 managed code, 0 an error.
                let is_managed = fields.int()? == 2;
                (if is_managed { MANAGED } else { UNMANAGED }, 1, None)
            }
            Event::Allocation => {
                let (short, _kind, _instance) = (fields.int()?, fields.int()?, fields.short()?);
                // Since version 2: the amount again, the type's number and its name.
                let long = fields.long();
                let name = fields.take(self.pointer).and_then(|_| fields.text());
                let leaf = name.filter(|name| !name.is_empty()).map(Item::Type);
                (ALLOCATED, long.unwrap_or(u64::from(short)), leaf)
            }
            _ => (EXCEPTIONS, 1, fields.text().filter(|name| !name.is_empty()).map(Item::Type)),
        })
    }

    fn method(&mut self, payload: &[u8]) -> Option<()> {
        let mut fields = Payload(payload);
        let (_, module, start, size) = (fields.long()?, fields.long()?, fields.long()?, fields.int()?);
        fields.take(8)?;
        let (namespace, name) = (fields.text()?, fields.text()?);
        let name = if namespace.is_empty() { name } else { format!("{namespace}.{name}") };
        self.methods.push(Method { start, end: start.saturating_add(size.into()), name, module });
        Some(())
    }

    fn module(&mut self, payload: &[u8]) -> Option<()> {
        let mut fields = Payload(payload);
        let module = fields.long()?;
        fields.take(16)?;
        let path = fields.text()?;
        let name = path.rsplit(['/', '\\']).next().unwrap_or(&path).to_owned();
        self.modules.insert(module, name);
        Some(())
    }

    /// Adds an event to a column.
    fn add(&mut self, column: usize, weight: u64, leaf: Option<Item>, header: &Header) -> Result<()> {
        let mut path = self.path(column, header.stack);
        if let Some(leaf) = leaf {
            let number = self.item(leaf);
            path = self.tries[column].below(path, number);
        }
        let (start, frequency) = self.start;
        let passed = u128::from(header.time.saturating_sub(start)) * 1_000_000_000 / u128::from(frequency);
        let thread = u32::try_from(header.thread).unwrap_or(0);
        let time = u64::try_from(passed).ok();
        self.tries[column].add_from(path, Weight::new(weight.into()), time, thread)
    }

    /// The path of a stack in a column; 0 is none.
    fn path(&mut self, column: usize, stack: u32) -> PathId {
        if let Some(path) = self.paths.get(&(column, stack)) {
            return *path;
        }
        let Some(addresses) = self.stacks.get(&stack).cloned() else {
            self.lost_stacks += u64::from(stack != 0);
            return Trie::ROOT;
        };
        let mut path = Trie::ROOT;
        for (at, address) in addresses.into_iter().enumerate().rev() {
            let number = self.item(Item::Address(address, at > 0));
            path = self.tries[column].below(path, number);
        }
        self.paths.insert((column, stack), path);
        path
    }

    fn item(&mut self, item: Item) -> u32 {
        if let Some(number) = self.item_numbers.get(&item) {
            return *number;
        }
        let number = self.items.len() as u32;
        self.items.push(item.clone());
        self.item_numbers.insert(item, number);
        number
    }

    /// Hands all that was added up to the sink.
    ///
    /// # Errors
    /// Those of the sink, and values that are not there.
    pub fn finish(mut self, options: &Options, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        self.facts(report);
        // Of methods at one address the runtime tells of the latest last.
        self.methods.sort_by_key(|method| method.start);
        let held: Vec<usize> = (0..COLUMNS.len()).filter(|at| !self.tries[*at].is_empty()).collect();
        let declared = held.iter().map(|at| Value::new(COLUMNS[*at].0, COLUMNS[*at].1)).collect();
        let mut values = Values::new(options, declared, 0)?;
        let mut names = FrameNames::default();
        let frames: Vec<FrameId> =
            self.items.iter().map(|item| self.frame(item, options, &mut names, sink)).collect();
        let no_stack = sink.frame(NO_STACK);
        let process = self.process.to_string();
        let shown = options.shows_threads(false);
        let mut whole = Vec::new();
        for (column, at) in held.into_iter().enumerate() {
            self.tries[at].for_each(
                None,
                |number| Ok(frames.get(number as usize).copied().unwrap_or(no_stack)),
                |stack, sampled| {
                    let number = sampled.origin.to_string();
                    let owner = Thread { name: b"", pid: process.as_bytes(), tid: number.as_bytes() };
                    let context = if self.contexts { owner.context(sampled.time) } else { Context::UNKNOWN };
                    whole.clear();
                    if shown {
                        let mut name = Vec::new();
                        owner.write(options, &mut name);
                        whole.push(sink.frame(&name));
                    }
                    if stack.is_empty() {
                        whole.push(no_stack);
                    }
                    whole.extend_from_slice(stack);
                    values.add_at(column, &whole, sampled.weight, sampled.samples, &context, sink)
                },
            )?;
        }
        values.finish(report)
    }

    /// The frame of an item.
    fn frame(&self, item: &Item, options: &Options, names: &mut FrameNames, sink: &mut dyn Sink) -> FrameId {
        let (address, is_behind) = match item {
            Item::Address(address, is_behind) => (*address, *is_behind),
            Item::Type(name) => return names.build(sink, |out| sanitize_frame(name.as_bytes(), out)),
        };
        // The call belongs to the method, what follows it may not.
        let inside = address.saturating_sub(is_behind.into());
        let next = self.methods.partition_point(|method| method.start <= inside);
        match next.checked_sub(1).map(|at| &self.methods[at]).filter(|method| inside < method.end) {
            Some(method) => {
                let module = self.modules.get(&method.module).map_or("", String::as_str).as_bytes();
                let place = Place { module, kind: Kind::User, ..Place::default() };
                names.build_at(&place, sink, |out| sanitize_frame(method.name.as_bytes(), out))
            }
            None => {
                let address = format!("{address:x}");
                names.build(sink, |out| {
                    naming::name_unknown(b"", address.as_bytes(), options.addrs, out);
                })
            }
        }
    }

    /// Notes what the trace says of itself, and what is missing.
    fn facts(&self, report: &mut Report) {
        report.facts.start = self.date;
        let (start, frequency) = self.start;
        let passed = u128::from(self.last - start) * 1_000_000_000 / u128::from(frequency);
        let passed = u64::try_from(passed).ok().filter(|passed| *passed > 0);
        report.facts.duration = passed.map(Duration::from_nanos);
        if self.lost_events > 0 {
            report.doubt(format!("{} events were dropped while it recorded", self.lost_events));
        }
        if self.lost_stacks > 0 {
            report.doubt(format!("{} events have lost their stacks; they are [no stack]", self.lost_stacks));
        }
        if self.methods.is_empty() && self.items.iter().any(|item| matches!(item, Item::Address(..))) {
            report.warn(
                "the trace does not name its methods: let dotnet-trace end the recording itself, without --rundown false",
            );
        }
    }
}

//! The kernels, calls, ranges and samples of an export.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use super::sqlite::{Cell, Database};
use crate::collapse::kit::forest::DEEPEST;
use crate::collapse::kit::launches::{Columns, Launches, Owner, Work};
use crate::collapse::kit::names::{ANONYMOUS, FrameNames, NO_STACK};
use crate::collapse::kit::native_frame::NativeFrame;
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::trie::{PathId, Trie};
use crate::collapse::kit::values::Values;
use crate::collapse::{CollapseOptions, Context, Report, Sink, Value};
use crate::error::{Error, Result};
use crate::folded::FrameId;
use crate::unique::Unique;
use crate::weight::Weight;

/// The type of ranges that nest on their thread; those of another type begin and end on any.
const PUSH_POP_RANGE: i64 = 59;

/// The names of copies where the export has no table of them.
const COPIES: [(i64, &str); 4] =
    [(1, "Host-to-Device"), (2, "Device-to-Host"), (8, "Device-to-Device"), (10, "Peer-to-Peer")];

/// An export as it is read.
pub struct Export {
    strings: HashMap<i64, Box<[u8]>>,
    /// The names of threads.
    threads: HashMap<Owner, i64>,
    launches: Launches,
    names: Unique<Name>,
    samples: Trie,
    frames: Unique<Frame>,
    owners: Unique<Owner>,
    start: Option<SystemTime>,
    last: u64,
    contexts: bool,
}

/// The name of a call or of work.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Name {
    String(i64),
    Text(Vec<u8>),
    /// A copy of a kind.
    Copy(i64),
}

/// A frame of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Frame {
    symbol: i64,
    module: i64,
    is_kernel: bool,
    /// The address, if that is all that is known.
    unresolved: Option<u64>,
}

/// The process and the thread in a global number: bits of the machine, then 24 for each.
fn owner(global: Cell<'_>) -> Owner {
    let global = global.int().unwrap_or(0).cast_unsigned();
    Owner { process: global >> 24 & 0xff_ffff, thread: global & 0xff_ffff }
}

impl Export {
    /// Reads all tables that matter.
    ///
    /// # Errors
    /// The system's, and a damaged database.
    pub fn read(database: &mut Database, sink: &dyn Sink, report: &mut Report) -> Result<Export> {
        let contexts = sink.wants().contexts;
        let mut export = Export {
            strings: HashMap::new(),
            threads: HashMap::new(),
            launches: Launches::default(),
            names: Unique::default(),
            samples: Trie::new(contexts),
            frames: Unique::default(),
            owners: Unique::default(),
            start: None,
            last: 0,
            contexts,
        };
        database.rows("StringIds", ["id", "value"], |[id, value]| {
            export.strings.extend(id.int().map(|id| (id, value.text().into())));
            Ok(())
        })?;
        database.rows("ThreadNames", ["globalTid", "nameId"], |[thread, name]| {
            export.threads.extend(name.int().map(|name| (owner(thread), name)));
            Ok(())
        })?;
        database.rows("TARGET_INFO_SESSION_START_TIME", ["utcEpochNs"], |[start]| {
            let start = start.unsigned().map(Duration::from_nanos);
            export.start = start.and_then(|start| SystemTime::UNIX_EPOCH.checked_add(start));
            Ok(())
        })?;
        export.calls(database, report)?;
        export.works(database)?;
        export.samples(database, report)?;
        if export.last == 0 && database.has("CUPTI_ACTIVITY_KIND_GRAPH_TRACE") {
            report.note("the work of whole CUDA graphs is not read: record with --cuda-graph-trace node");
        }
        Ok(export)
    }

    /// Reads calls of CUDA and of the system, and ranges.
    fn calls(&mut self, database: &mut Database, report: &mut Report) -> Result<()> {
        for table in ["CUPTI_ACTIVITY_KIND_RUNTIME", "OSRT_API"] {
            let columns = ["start", "end", "globalTid", "nameId", "correlationId"];
            database.rows(table, columns, |[start, end, thread, name, correlation]| {
                let name = Name::String(name.int().unwrap_or(-1));
                self.call(start, end, thread, name, correlation);
                Ok(())
            })?;
        }
        let mut left_out = 0u64;
        let columns = ["start", "end", "globalTid", "textId", "text", "eventType"];
        database.rows("NVTX_EVENTS", columns, |[start, end, thread, id, text, kind]| {
            if kind.int().is_some_and(|kind| kind != PUSH_POP_RANGE) || end.int().is_none() {
                left_out += 1;
                return Ok(());
            }
            let name = match (text, id.int()) {
                (Cell::Bytes(text), _) => Name::Text(text.to_vec()),
                (_, id) => Name::String(id.unwrap_or(-1)),
            };
            self.call(start, end, thread, name, Cell::Null);
            Ok(())
        })?;
        if left_out > 0 {
            report
                .note(format!("{left_out} marks and ranges of NVTX that are not of one thread are left out"));
        }
        Ok(())
    }

    fn call(&mut self, start: Cell<'_>, end: Cell<'_>, thread: Cell<'_>, name: Name, correlation: Cell<'_>) {
        let start = start.unsigned().unwrap_or(0);
        let end = end.unsigned().unwrap_or(start).max(start);
        self.last = self.last.max(end);
        let frame = self.names.key(name);
        self.launches.call(owner(thread), (start, end), frame, correlation.unsigned().unwrap_or(0));
    }

    /// Reads the work of devices.
    fn works(&mut self, database: &mut Database) -> Result<()> {
        let tables = ["KERNEL", "MEMCPY", "MEMSET"];
        for table in tables {
            let columns = [
                "start",
                "end",
                "globalPid",
                "streamId",
                "correlationId",
                "demangledName",
                "shortName",
                "copyKind",
            ];
            let rows = |[start, end, process, stream, correlation, name, short, kind]: [Cell<'_>; 8]| {
                let name = match (table, name.int().or(short.int())) {
                    ("MEMSET", _) => Name::Text(b"memset".to_vec()),
                    ("MEMCPY", _) => Name::Copy(kind.int().unwrap_or(0)),
                    (_, name) => Name::String(name.unwrap_or(-1)),
                };
                let begin = start.unsigned().unwrap_or(0);
                let end = end.unsigned().unwrap_or(begin).max(begin);
                self.last = self.last.max(end);
                let owner = Owner { thread: stream.unsigned().unwrap_or(0), ..owner(process) };
                let frame = self.names.key(name);
                let correlation = correlation.unsigned().unwrap_or(0);
                self.launches.work(Work { owner, correlation, begin, end, frame });
                Ok(())
            };
            database.rows(&format!("CUPTI_ACTIVITY_KIND_{table}"), columns, rows)?;
        }
        Ok(())
    }

    /// Reads the samples of processors, whose frames stand one behind the other.
    fn samples(&mut self, database: &mut Database, report: &mut Report) -> Result<()> {
        let mut waiting: HashMap<i64, (u64, u32)> = HashMap::new();
        let mut order = Vec::new();
        database.rows("COMPOSITE_EVENTS", ["id", "start", "globalTid"], |[id, start, thread]| {
            let id = id.int().unwrap_or(0);
            let owner = self.owners.key(owner(thread));
            if waiting.insert(id, (start.unsigned().unwrap_or(0), owner)).is_none() {
                order.push(id);
            }
            Ok(())
        })?;
        let mut stack: Vec<(u64, u32)> = Vec::new();
        let mut current = None;
        let mut lost = 0u64;
        let columns = ["id", "stackDepth", "symbol", "module", "kernelMode", "unresolved", "originalIP"];
        database.rows(
            "SAMPLING_CALLCHAINS",
            columns,
            |[id, depth, symbol, module, kernel, unresolved, address]| {
                let id = id.int();
                if id != current {
                    self.sample(current, &mut stack, &mut waiting, &mut lost)?;
                    current = id;
                }
                let is = |flag: Cell<'_>| flag.int().is_some_and(|flag| flag != 0);
                let frame = Frame {
                    symbol: symbol.int().unwrap_or(-1),
                    module: module.int().unwrap_or(-1),
                    is_kernel: is(kernel),
                    unresolved: is(unresolved).then(|| address.int().unwrap_or(0).cast_unsigned()),
                };
                stack.push((depth.unsigned().unwrap_or(0), self.frames.key(frame)));
                if stack.len() > DEEPEST {
                    return Err(Error::malformed(
                        format!("a stack of at most {DEEPEST} frames"),
                        b"a deeper one",
                    ));
                }
                Ok(())
            },
        )?;
        self.sample(current, &mut stack, &mut waiting, &mut lost)?;
        for (start, owner) in order.iter().filter_map(|id| waiting.get(id)) {
            self.last = self.last.max(*start);
            self.samples.add_from(Trie::ROOT, Weight::ONE, Some(*start), *owner)?;
        }
        if lost > 0 {
            report.doubt(format!("{lost} stacks in SAMPLING_CALLCHAINS are of no sample; they are left out"));
        }
        Ok(())
    }

    /// Adds a sample with its frames, leaf first by their depth.
    fn sample(
        &mut self,
        id: Option<i64>,
        stack: &mut Vec<(u64, u32)>,
        waiting: &mut HashMap<i64, (u64, u32)>,
        lost: &mut u64,
    ) -> Result<()> {
        if stack.is_empty() {
            return Ok(());
        }
        stack.sort_unstable_by_key(|(depth, _)| *depth);
        let sample = id.and_then(|id| waiting.remove(&id));
        if let Some((start, owner)) = sample {
            let path: PathId =
                stack.iter().rev().fold(Trie::ROOT, |path, (_, frame)| self.samples.below(path, *frame));
            self.last = self.last.max(start);
            self.samples.add_from(path, Weight::ONE, Some(start), owner)?;
        } else {
            *lost += 1;
        }
        stack.clear();
        Ok(())
    }

    /// Hands all that was read to the sink.
    ///
    /// # Errors
    /// Those of the sink, and values that are not there.
    pub fn finish(self, options: &CollapseOptions, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        report.facts.start = self.start;
        report.facts.duration = Some(self.last).filter(|last| *last > 0).map(Duration::from_nanos);
        let mut declared = Vec::new();
        let has_samples = !self.samples.is_empty();
        declared.extend(has_samples.then(|| Value::new("samples", "samples")));
        let columns = match has_samples && self.launches.is_empty() {
            true => Columns { gpu: 0, events: 0 },
            false => self.launches.declare(&mut declared),
        };
        // Of such a recording nothing is read before its kernels.
        let default = declared.iter().position(|value| value.name == b"gpu").unwrap_or(0);
        let mut values = Values::new(options, declared, default)?;
        let mut names = FrameNames::default();
        let no_stack = sink.frame(NO_STACK);
        let frames: Vec<FrameId> =
            self.frames.all().iter().map(|frame| self.frame(frame, options, &mut names, sink)).collect();
        let mut whole = Vec::new();
        self.samples.for_each(
            None,
            |number| Ok(frames[number as usize]),
            |stack, sampled| {
                let owner = self.owners.all()[sampled.origin as usize];
                let name = self.thread_name(owner);
                let ids = [owner.process, owner.thread].map(|id| id.to_string());
                let thread = Thread { name: &name, pid: ids[0].as_bytes(), tid: ids[1].as_bytes() };
                let context = if self.contexts { thread.context(sampled.time) } else { Context::UNKNOWN };
                whole.clear();
                whole.extend_from_slice(if stack.is_empty() {
                    std::slice::from_ref(&no_stack)
                } else {
                    stack
                });
                values.add_at(0, &whole, sampled.weight, sampled.samples, &context, sink)
            },
        )?;
        let calls: Vec<FrameId> =
            self.names.all().iter().map(|name| names.plain(&self.name(name), sink)).collect();
        let (strings, threads) = (&self.strings, &self.threads);
        let thread_name = |owner: Owner| thread_name(owner, threads, strings);
        self.launches.finish(columns, &calls, &thread_name, (&mut values, options), sink, report)?;
        values.finish(report)
    }

    fn thread_name(&self, owner: Owner) -> Vec<u8> {
        thread_name(owner, &self.threads, &self.strings)
    }

    fn string(&self, id: i64) -> &[u8] {
        self.strings.get(&id).map_or(b"", |text| text)
    }

    fn name(&self, name: &Name) -> Vec<u8> {
        match name {
            Name::Text(text) => text.clone(),
            Name::String(id) => match self.string(*id) {
                b"" => ANONYMOUS.to_vec(),
                name => without_version(name).to_vec(),
            },
            Name::Copy(kind) => {
                let known = COPIES.iter().find(|(number, _)| number == kind);
                known.map_or_else(|| b"memcpy".to_vec(), |(_, name)| format!("memcpy {name}").into_bytes())
            }
        }
    }

    fn frame(
        &self,
        frame: &Frame,
        options: &CollapseOptions,
        names: &mut FrameNames,
        sink: &mut dyn Sink,
    ) -> FrameId {
        let address = frame.unresolved.map(|address| format!("{address:x}")).unwrap_or_default();
        let native = NativeFrame {
            symbol: if frame.unresolved.is_some() { b"" } else { self.string(frame.symbol) },
            module: self.string(frame.module),
            address: address.as_bytes(),
            kernel: frame.is_kernel,
            ..NativeFrame::default()
        };
        native.frame(options, names, sink)
    }
}

fn thread_name(owner: Owner, threads: &HashMap<Owner, i64>, strings: &HashMap<i64, Box<[u8]>>) -> Vec<u8> {
    let name = threads.get(&owner).and_then(|id| strings.get(id));
    name.map_or_else(Vec::new, |name| name.to_vec())
}

/// The name of a call without the version of its interface: `cudaLaunchKernel_v7000`.
fn without_version(name: &[u8]) -> &[u8] {
    let digits = name.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    match name[..name.len() - digits].strip_suffix(b"_v") {
        Some(short) if digits >= 4 && !short.is_empty() => short,
        _ => name,
    }
}

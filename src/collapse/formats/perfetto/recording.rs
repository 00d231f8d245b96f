//! The samples of a trace, and whose they are.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read;

use super::frames::Frames;
use super::packet::{Data, LONGEST, Packet};
use super::slices::{Slices, Writer};
use super::tables::{Counter, Stack, Tables};
use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::names::NO_STACK;
use crate::collapse::kit::protobuf::{Content, Fields, message, numbers};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::trie::{PathId, Trie};
use crate::collapse::kit::values::Values;
use crate::collapse::{CollapseOptions, Context, Report, Sink, Value};
use crate::error::{Error, Position, Result};
use crate::folded::FrameId;
use crate::weight::Weight;

/// The values of heap profiles, and their units.
const HEAP: [(&str, &str); 4] =
    [("unreleased", "bytes"), ("allocated", "bytes"), ("peak", "bytes"), ("allocations", "objects")];

/// A trace as it is read.
pub struct Recording {
    sequences: HashMap<u64, Sequence>,
    frames: Frames,
    slices: Slices,
    /// Each value, and its stacks: a number of a thread, and numbers of frames.
    columns: BTreeMap<Value, Trie>,
    /// Process and thread of the first number of a path.
    threads: Vec<(u64, u64)>,
    thread_numbers: HashMap<(u64, u64), u32>,
    thread_names: HashMap<u64, Vec<u8>>,
    process_names: HashMap<u64, Vec<u8>>,
    /// By sequence, process, heap and stack, the sums since the profile began.
    heaps: BTreeMap<(u64, u64, Vec<u8>, u64), [u64; HEAP.len()]>,
    contexts: bool,
    /// Limits the frames of stacks that samples name by number.
    budget: Budget,
    times: Option<(u64, u64)>,
    system: Option<String>,
    lost: Lost,
}

/// Counts of missing parts.
#[derive(Default)]
struct Lost {
    /// Samples whose stack is not in a table.
    stacks: u64,
    /// Records that the kernel dropped.
    records: u64,
    /// Samples that were not unwound.
    skipped: u64,
    /// Heap profiles that ended early.
    heaps: u64,
    /// Packets that are damaged.
    packets: u64,
}

/// The packets of one writer.
#[derive(Default)]
struct Sequence {
    tables: Tables,
    /// The paths of samples, by stack and thread.
    paths: HashMap<(u64, (u64, u64)), PathId>,
    /// The thread that its samples are of, and the time of the last, in microseconds.
    thread: (u64, u64),
    time: Option<i64>,
    /// The counter of stack samples that name none.
    counter: Counter,
    /// The track of events that name none, and the clock of packets that name none.
    track: Option<u64>,
    clock: Option<u64>,
}

impl Recording {
    /// An empty one.
    pub fn new(sink: &dyn Sink) -> Recording {
        Recording {
            sequences: HashMap::new(),
            frames: Frames::default(),
            slices: Slices::default(),
            columns: BTreeMap::new(),
            threads: Vec::new(),
            thread_numbers: HashMap::new(),
            thread_names: HashMap::new(),
            process_names: HashMap::new(),
            heaps: BTreeMap::new(),
            contexts: sink.wants().contexts,
            budget: Budget::default(),
            times: None,
            system: None,
            lost: Lost::default(),
        }
    }

    /// Takes in a packet, or packets that are compressed in one.
    ///
    /// # Errors
    /// Data that is no packet, and compressed data that is damaged.
    pub fn packet(&mut self, bytes: &[u8], place: &Position) -> Result<()> {
        let damaged = || Error::malformed("a packet of a trace", b"other bytes").at(place.clone());
        let packet = Packet::read(bytes).ok_or_else(damaged)?;
        let inner = match packet.data {
            Some(Data::Deflated(bytes)) => inflate(flate2::read::ZlibDecoder::new(bytes)),
            Some(Data::ZstdCompressed(bytes)) => match ruzstd::decoding::StreamingDecoder::new(bytes) {
                Ok(decoder) => inflate(decoder),
                Err(_) => None,
            },
            _ => {
                self.lost.packets += u64::from(self.read(&packet)?.is_none());
                return Ok(());
            }
        };
        let inner = inner.ok_or_else(|| {
            Error::malformed("compressed packets", b"what cannot be unpacked").at(place.clone())
        })?;
        for field in Fields(&inner) {
            if let (1, Content::Bytes(bytes)) = field.ok_or_else(damaged)? {
                let packet = Packet::read(bytes).ok_or_else(damaged)?;
                self.lost.packets += u64::from(self.read(&packet)?.is_none());
            }
        }
        Ok(())
    }

    /// Reads what a packet holds; `None` if that is damaged.
    fn read(&mut self, packet: &Packet<'_>) -> Result<Option<()>> {
        let id = packet.sequence.unwrap_or(0);
        if packet.is_cleared && self.sequences.contains_key(&id) {
            // Heap profiles name their stacks up to the end.
            let of_heaps = self.heaps.range((id, 0, Vec::new(), 0)..).next();
            if of_heaps.is_none_or(|(key, _)| key.0 != id) {
                self.sequences.remove(&id);
            }
        }
        let sequence = self.sequences.entry(id).or_default();
        for interned in &packet.interned {
            if sequence.tables.add(interned, false).is_none() {
                return Ok(None);
            }
        }
        if let Some(defaults) = packet.defaults
            && sequence.defaults(defaults).is_none()
        {
            return Ok(None);
        }
        let clock = packet.clock.or(sequence.clock);
        if let Some(Data::ClockSnapshot(bytes)) = packet.data
            && self.slices.clocks.snapshot(id, bytes).is_none()
        {
            return Ok(None);
        }
        let to_nanoseconds = |time| match clock {
            Some(clock) => self.slices.clocks.nanoseconds(id, clock, time),
            None => time,
        };
        let time = packet.timestamp.map(to_nanoseconds);
        match packet.data {
            Some(Data::PerfSample(bytes)) => self.perf_sample(id, time, bytes),
            Some(Data::StackSample(bytes)) => self.stack_sample(id, time, bytes),
            Some(Data::TrackEvent(bytes)) => Ok(self.track_event(id, time, bytes)),
            Some(Data::Ftrace(bytes)) => Ok(self.slices.ftrace(bytes)),
            Some(Data::StreamingProfile(bytes)) => self.streaming(id, bytes),
            Some(Data::HeapProfile(bytes)) => Ok(self.heap_profile(id, bytes)),
            Some(Data::ThreadDescriptor(bytes)) => Ok(self.thread_descriptor(id, bytes)),
            Some(Data::ProcessDescriptor(bytes)) => Ok(self.process_descriptor(bytes)),
            Some(Data::TrackDescriptor(bytes)) => Ok(self.track_descriptor(id, bytes)),
            Some(Data::ProcessTree(bytes)) => Ok(self.process_tree(bytes)),
            Some(Data::ModuleSymbols(bytes)) => Ok(self.frames.add_symbols(bytes)),
            Some(Data::SystemInfo(bytes)) => Ok(self.system_info(bytes)),
            _ => Ok(Some(())),
        }
    }

    fn perf_sample(&mut self, id: u64, time: Option<u64>, bytes: &[u8]) -> Result<Option<()>> {
        let mut fields = [0; 19];
        let is_skipped = Fields(bytes).any(|field| matches!(field, Some((18, _))));
        if message(bytes, &mut fields).is_none() {
            return Ok(None);
        }
        let (pid, tid, stack, records) = (fields[2], fields[3], fields[4], fields[17]);
        self.lost.records += records;
        self.lost.skipped += u64::from(is_skipped);
        if records > 0 || is_skipped {
            return Ok(Some(()));
        }
        let sample = Sampled { thread: (pid, tid), time, weight: 1 };
        self.sample(id, stack, sample)?;
        Ok(Some(()))
    }

    fn streaming(&mut self, id: u64, bytes: &[u8]) -> Result<Option<()>> {
        let (mut stacks, mut deltas) = (Vec::new(), Vec::new());
        for field in Fields(bytes) {
            let list = match field {
                Some((1, content)) => numbers(content, |number| stacks.push(number)),
                Some((2, content)) => numbers(content, |number| deltas.push(number as i64)),
                Some(_) => Some(()),
                None => None,
            };
            if list.is_none() {
                return Ok(None);
            }
        }
        for (at, stack) in stacks.into_iter().enumerate() {
            let sequence = self.sequences.entry(id).or_default();
            let delta = deltas.get(at).copied().unwrap_or(0);
            sequence.time = sequence.time.and_then(|time| time.checked_add(delta));
            let time = sequence.time.and_then(|time| u64::try_from(time).ok()?.checked_mul(1000));
            let sample = Sampled { thread: sequence.thread, time, weight: 1 };
            self.sample(id, stack, sample)?;
        }
        Ok(Some(()))
    }

    /// Adds a sample of a stack by its number; 0 stands for none.
    fn sample(&mut self, id: u64, stack: u64, sample: Sampled) -> Result<()> {
        let value = Value::new("samples", "samples");
        let known = |sequence: &Sequence| sequence.paths.get(&(stack, sample.thread)).copied();
        if let Some(path) = self.sequences.get(&id).and_then(known) {
            return self.add_to(&value, path, sample);
        }
        let tables = &mut self.sequences.entry(id).or_default().tables;
        let found = if stack == 0 { None } else { tables.stack(stack, &mut self.frames) };
        self.lost.stacks += u64::from(stack != 0 && found.is_none());
        let path = self.path(&value, found.as_deref().unwrap_or_default(), sample.thread);
        // A stack that is lost may come yet.
        if stack == 0 || found.is_some() {
            self.sequences.entry(id).or_default().paths.insert((stack, sample.thread), path);
        }
        self.add_to(&value, path, sample)
    }

    fn stack_sample(&mut self, id: u64, time: Option<u64>, bytes: &[u8]) -> Result<Option<()>> {
        let sequence = self.sequences.entry(id).or_default();
        let mut sample = Sampled { thread: sequence.thread, time, weight: 1 };
        let (mut stack, mut counter) = (None, sequence.counter.clone());
        for field in Fields(bytes) {
            let read = match field {
                Some((1, Content::Bytes(task))) => {
                    let mut fields = [0; 4];
                    sample.thread = (0, 0);
                    message(task, &mut fields).map(|()| sample.thread = (fields[2], fields[3]))
                }
                Some((2, Content::Number(task))) => {
                    sample.thread = sequence.tables.tasks.get(&task).copied().unwrap_or_default();
                    Some(())
                }
                Some((5, Content::Bytes(inline))) => {
                    stack = sequence.tables.inline_stack(inline, &mut self.frames);
                    stack.as_ref().map(|_| ())
                }
                Some((6, Content::Number(number))) => {
                    stack = sequence.tables.stack(number, &mut self.frames);
                    self.lost.stacks += u64::from(stack.is_none());
                    self.budget.spend(stack.as_deref().map_or(0, <[u32]>::len) / 16)?;
                    Some(())
                }
                Some((9, Content::Bytes(own))) => Counter::read(own).map(|(_, own)| counter = own),
                Some((10, Content::Number(number))) => {
                    counter = sequence.tables.counters.get(&number).cloned().unwrap_or_default();
                    Some(())
                }
                Some((11, Content::Number(weight))) => {
                    sample.weight = weight;
                    Some(())
                }
                Some(_) => Some(()),
                None => None,
            };
            if read.is_none() {
                return Ok(None);
            }
        }
        let name = if counter.name.is_empty() { b"stack-samples".to_vec() } else { counter.name };
        sample.weight = sample.weight.saturating_mul(counter.multiplier.max(1));
        let value = if counter.unit.is_empty() {
            Value::new(name, "samples")
        } else {
            Value::with_producers_unit(name, &counter.unit)
        };
        self.add(&value, stack, sample)?;
        Ok(Some(()))
    }

    fn heap_profile(&mut self, id: u64, bytes: &[u8]) -> Option<()> {
        self.sequences.entry(id).or_default().tables.add(bytes, true)?;
        for field in Fields(bytes) {
            let (5, Content::Bytes(dump)) = field? else { continue };
            let (mut pid, mut heap, mut samples) = (0, Vec::new(), Vec::new());
            for field in Fields(dump) {
                match field? {
                    (1, Content::Number(number)) => pid = number,
                    (11, Content::Bytes(name)) => heap = name.to_vec(),
                    // A session of its own was running; the buffer was overrun, or damaged.
                    (4 | 7 | 8, Content::Number(1)) => self.lost.heaps += 1,
                    (2, Content::Bytes(sample)) => samples.push(sample),
                    _ => {}
                }
            }
            for sample in samples {
                let mut fields = [0; 9];
                message(sample, &mut fields)?;
                let [_, stack, allocated, freed, _, count, _, _, peak] = fields;
                let sums = [allocated.saturating_sub(freed), allocated, peak, count];
                self.heaps.insert((id, pid, heap.clone(), stack), sums);
            }
        }
        Some(())
    }

    fn thread_descriptor(&mut self, id: u64, bytes: &[u8]) -> Option<()> {
        let mut fields = [0; 7];
        message(bytes, &mut fields)?;
        let sequence = self.sequences.entry(id).or_default();
        sequence.thread = (fields[1], fields[2]);
        sequence.time = Some(fields[6] as i64).filter(|time| *time > 0).or(sequence.time);
        if let Some(name) = field(bytes, 5).ok()? {
            self.thread_names.insert(fields[2], name.to_vec());
        }
        Some(())
    }

    fn process_descriptor(&mut self, bytes: &[u8]) -> Option<()> {
        let mut fields = [0; 2];
        message(bytes, &mut fields)?;
        if let Some(name) = field(bytes, 6).ok()? {
            self.process_names.insert(fields[1], name.to_vec());
        }
        Some(())
    }

    fn track_descriptor(&mut self, id: u64, bytes: &[u8]) -> Option<()> {
        self.slices.track(bytes)?;
        if let Some(process) = field(bytes, 3).ok()? {
            self.process_descriptor(process)?;
        }
        match field(bytes, 4).ok()? {
            Some(thread) => self.thread_descriptor(id, thread),
            None => Some(()),
        }
    }

    fn track_event(&mut self, id: u64, time: Option<u64>, bytes: &[u8]) -> Option<()> {
        let sequence = self.sequences.entry(id).or_default();
        let mut writer = Writer {
            tables: &sequence.tables,
            track: sequence.track,
            thread: sequence.thread,
            time: &mut sequence.time,
        };
        self.slices.event(&mut writer, time, bytes)
    }

    fn process_tree(&mut self, bytes: &[u8]) -> Option<()> {
        for own in Fields(bytes) {
            let (number @ (1 | 2), Content::Bytes(bytes)) = own? else { continue };
            let mut fields = [0; 2];
            message(bytes, &mut fields)?;
            // The first word of the command line, or the thread's name.
            let name = field(bytes, if number == 1 { 3 } else { 2 }).ok()?.unwrap_or_default();
            let names = if number == 1 { &mut self.process_names } else { &mut self.thread_names };
            if !name.is_empty() {
                names.insert(fields[1], name.to_vec());
            }
        }
        Some(())
    }

    fn system_info(&mut self, bytes: &[u8]) -> Option<()> {
        if let Some(names) = field(bytes, 1).ok()? {
            let name = |number| field(names, number).ok().map(Option::unwrap_or_default);
            let parts = [name(1)?, name(3)?, name(4)?];
            self.system = crate::profile::fact(parts.join(&b' ').trim_ascii());
        }
        Some(())
    }

    /// Adds to a stack of a value.
    fn add(&mut self, value: &Value, stack: Option<Stack>, sample: Sampled) -> Result<()> {
        let path = self.path(value, stack.as_deref().unwrap_or_default(), sample.thread);
        self.add_to(value, path, sample)
    }

    /// Adds to a path of a value.
    fn add_to(&mut self, value: &Value, path: PathId, sample: Sampled) -> Result<()> {
        if let Some(time) = sample.time {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
        self.trie(value).add_at(path, Weight::new(sample.weight.into()), sample.time)
    }

    /// The path of a thread's stack in a value.
    fn path(&mut self, value: &Value, frames: &[u32], thread: (u64, u64)) -> PathId {
        let next = self.threads.len() as u32;
        let thread = *self.thread_numbers.entry(thread).or_insert_with(|| {
            self.threads.push(thread);
            next
        });
        let trie = self.trie(value);
        let start = trie.below(Trie::ROOT, thread);
        frames.iter().fold(start, |path, frame| trie.below(path, *frame))
    }

    fn trie(&mut self, value: &Value) -> &mut Trie {
        if !self.columns.contains_key(value) {
            self.columns.insert(value.clone(), Trie::new(self.contexts));
        }
        self.columns.get_mut(value).expect("it is there now")
    }

    /// Adds the last state of all heaps.
    fn heaps(&mut self) -> Result<()> {
        let mut budget = Budget::default();
        for ((id, pid, _, stack), sums) in std::mem::take(&mut self.heaps) {
            let tables = &mut self.sequences.entry(id).or_default().tables;
            let frames = tables.stack(stack, &mut self.frames);
            self.lost.stacks += u64::from(frames.is_none());
            budget.spend(frames.as_deref().map_or(0, <[u32]>::len))?;
            for (weight, (name, unit)) in sums.into_iter().zip(HEAP).filter(|(weight, _)| *weight > 0) {
                let sample = Sampled { thread: (pid, 0), time: None, weight };
                self.add(&Value::new(name, unit), frames.clone(), sample)?;
            }
        }
        Ok(())
    }

    /// Hands all samples to the sink.
    ///
    /// # Errors
    /// Those of the sink, and values that are not there.
    pub fn finish(
        mut self,
        options: &CollapseOptions,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        self.heaps()?;
        self.facts(report);
        let processes: BTreeSet<u64> = self.threads.iter().map(|(pid, _)| *pid).collect();
        let shown = options.shows_threads(processes.len() > 1);
        let mut columns: Vec<(Value, Trie)> = std::mem::take(&mut self.columns).into_iter().collect();
        let rank = |value: &Value| match &value.name[..] {
            b"samples" => 0,
            name => 2 - usize::from(!HEAP.iter().any(|(heap, _)| heap.as_bytes() == name)),
        };
        let heap = |value: &Value| HEAP.iter().position(|(heap, _)| heap.as_bytes() == value.name);
        columns.sort_by(|(a, _), (b, _)| (rank(a), heap(a), a).cmp(&(rank(b), heap(b), b)));
        let mut declared: Vec<Value> = columns.iter().map(|(value, _)| value.clone()).collect();
        declared.extend(self.slices.declare());
        // Of two values, that of threads comes first.
        let slices = [columns.len(), declared.len().saturating_sub(1)];
        let mut values = Values::new(options, declared, 0)?;
        let no_stack = sink.frame(NO_STACK);
        let mut stack = Vec::new();
        let mut finished = std::mem::take(&mut self.frames);
        for (column, (_, trie)) in columns.iter().enumerate() {
            trie.for_each(
                None,
                |number| Ok(FrameId(number)),
                |path, sampled| {
                    let Some((thread, frames)) = path.split_first() else { return Ok(()) };
                    let (pid, tid) = self.threads[thread.0 as usize];
                    let numbers = [pid.to_string(), tid.to_string()];
                    let owner = self.thread((pid, tid), &numbers);
                    stack.clear();
                    if shown {
                        let mut name = Vec::new();
                        owner.write(options, &mut name);
                        stack.push(sink.frame(&name));
                    }
                    for frame in frames {
                        stack.extend_from_slice(&finished.finish(frame.0, options, sink));
                    }
                    if frames.is_empty() {
                        stack.push(no_stack);
                    }
                    let context = if self.contexts { owner.context(sampled.time) } else { Context::UNKNOWN };
                    values.add_at(column, &stack, sampled.weight, sampled.samples, &context, sink)
                },
            )?;
        }
        let names = (&self.thread_names, &self.process_names);
        std::mem::take(&mut self.slices).finish(slices, names, options, &mut values, sink, report)?;
        values.finish(report)
    }

    /// The thread of a process, by its name or that of the process.
    fn thread<'a>(&'a self, (pid, tid): (u64, u64), numbers: &'a [String; 2]) -> Thread<'a> {
        let thread = self.thread_names.get(&tid).filter(|_| tid != 0);
        let process = self.process_names.get(&pid);
        let name = process.or(thread).map_or(&b""[..], Vec::as_slice);
        let tid = if tid == 0 { "" } else { &numbers[1] };
        Thread { name, pid: numbers[0].as_bytes(), tid: tid.as_bytes() }
    }

    /// Notes what the trace says of itself, and what is missing.
    fn facts(&mut self, report: &mut Report) {
        report.facts.system = self.system.take();
        let times = self.times.into_iter().chain(self.slices.times());
        let times = times.reduce(|(first, last), (begin, end)| (first.min(begin), last.max(end)));
        let passed = times.map(|(first, last)| std::time::Duration::from_nanos(last - first));
        report.facts.duration = passed.filter(|passed| !passed.is_zero());
        let Lost { stacks, records, skipped, heaps, packets } = self.lost;
        for (count, what) in [
            (stacks, "samples have lost their stacks; they are [no stack]"),
            (records, "records were dropped by the kernel while it recorded"),
            (skipped, "samples were skipped by the profiler"),
            (heaps, "heap profiles are incomplete: rejected, overrun or damaged"),
            (packets, "packets are damaged; they are left out"),
        ] {
            if count > 0 {
                report.doubt(format!("{count} {what}"));
            }
        }
    }
}

/// A sample but for its stack.
#[derive(Clone, Copy)]
struct Sampled {
    thread: (u64, u64),
    time: Option<u64>,
    weight: u64,
}

impl Sequence {
    /// Takes the defaults of the packets that follow.
    fn defaults(&mut self, bytes: &[u8]) -> Option<()> {
        self.track = None;
        self.clock = None;
        for field in Fields(bytes) {
            match field? {
                (58, Content::Number(clock)) => self.clock = Some(clock),
                (11, Content::Bytes(bytes)) => {
                    let mut fields = [0; 12];
                    message(bytes, &mut fields)?;
                    self.track = Some(fields[11]).filter(|track| *track != 0);
                }
                _ => {}
            }
        }
        // Of `StackSampleDefaults`, the counter.
        if let Some(stack_samples) = field(bytes, 2000).ok()?
            && let Some(counter) = field(stack_samples, 2).ok()?
        {
            self.counter = Counter::read(counter)?.1;
        }
        Some(())
    }
}

/// A message that ends within a field.
struct Damaged;

/// The bytes of the first field of this number, if there is one.
fn field(bytes: &[u8], wanted: u32) -> Result<Option<&[u8]>, Damaged> {
    for field in Fields(bytes) {
        match field.ok_or(Damaged)? {
            (number, Content::Bytes(bytes)) if number == wanted => return Ok(Some(bytes)),
            _ => {}
        }
    }
    Ok(None)
}

/// Unpacks compressed packets, if they are of a sensible size.
fn inflate(mut decoder: impl Read) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    decoder.by_ref().take(LONGEST).read_to_end(&mut bytes).ok()?;
    (bytes.len() < LONGEST as usize).then_some(bytes)
}

//! The allocations of a trace, and the places in the source that their stacks are made of.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use super::codec::{Location, Locations, Stacks};
use super::packets::{Packet, take_number};
use crate::bytes::Cursor;
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::naming;
use crate::collapse::kit::trie::{PathId, Trie};
use crate::collapse::kit::values::Values;
use crate::collapse::{CollapseOptions, Context, Reading, Report, Sink, Value};
use crate::error::{Error, Result};
use crate::folded::{FrameId, Place, sanitize_frame};
use crate::profile::fact;
use crate::weight::Weight;

/// The values, in bytes.
const COLUMNS: [&str; 2] = ["allocated", "live"];

const ALLOCATED: usize = 0;

/// The kinds of events; an allocation of few words has a kind of its own.
const INFO: u32 = 0;
const LOCATION: u32 = 1;
const ALLOCATION: u32 = 2;
const PROMOTION: u32 = 3;
const COLLECTION: u32 = 4;
const SHORT_ALLOCATION: std::ops::RangeInclusive<u32> = 101..=116;

/// The bits of an event's time, the lower ones of microseconds.
const TIME: u64 = (1 << 25) - 1;

/// The kinds of memory that objects are allocated in, by their codes.
const SOURCES: [&str; 3] = ["minor", "major", "external"];

/// The most nodes of stacks: some, and as many for each byte that was read. A prediction of a code makes at most 85
/// frames of a byte, but those of real stacks have been there before.
const NODES: u64 = if cfg!(test) { 1 << 15 } else { 1 << 20 };
const NODES_OF_BYTE: u64 = 16;

/// A trace as it is read.
pub struct Recording {
    info: Option<Info>,
    domains: HashMap<u16, Domain>,
    /// The numbers of locations by their codes, and the functions there.
    numbers: HashMap<u64, u32>,
    locations: HashMap<u64, Vec<Location>>,
    /// Paths of locations, and the weights on them in samples.
    tries: [Trie; COLUMNS.len()],
    live: HashMap<u64, Object>,
    /// True if single allocations are told apart.
    contexts: bool,
    /// The packets of processes that this one forked.
    foreign: u64,
    read: u64,
    last: u64,
}

/// The first event of a trace: process, start and sampling.
struct Info {
    process: u64,
    start: u64,
    /// The bytes that a sample stands for.
    period: u64,
    command: Vec<u8>,
    host: Vec<u8>,
    context: Vec<u8>,
}

#[derive(Default)]
struct Domain {
    stacks: Stacks,
    locations: Locations,
}

/// A sampled object that has not been collected.
#[derive(Clone, Copy)]
struct Object {
    path: PathId,
    samples: u64,
    time: u64,
    origin: u32,
}

impl Recording {
    /// An empty one.
    pub fn new(sink: &dyn Sink) -> Recording {
        let contexts = sink.wants().contexts;
        Recording {
            info: None,
            domains: HashMap::new(),
            numbers: HashMap::new(),
            locations: HashMap::new(),
            tries: std::array::from_fn(|_| Trie::new(contexts)),
            live: HashMap::new(),
            contexts,
            foreign: 0,
            read: 0,
            last: 0,
        }
    }

    /// Reads a packet; the inner `None` is damage.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`], and stacks that would fill the memory.
    pub fn packet(&mut self, packet: &Packet<'_>) -> Result<Option<()>> {
        let mut events = packet.events;
        self.read += events.rest().len() as u64;
        let Some(info) = &self.info else {
            let is_info = event(packet, &mut events).is_some_and(|(kind, _)| kind == INFO);
            self.info = is_info.then(|| Info::read(packet, &mut events)).flatten();
            return Ok(self.info.as_ref().filter(|_| events.is_empty()).map(|_| ()));
        };
        if info.process != packet.process {
            self.foreign += 1;
            return Ok(Some(()));
        }
        let domain = self.domains.entry(packet.domain).or_default();
        if !domain.stacks.is_as(packet.check) {
            return Ok(None);
        }
        let mut object = packet.objects.0;
        while !events.is_empty() {
            let Some((kind, time)) = event(packet, &mut events) else { return Ok(None) };
            if self.event(kind, time, packet.domain, &mut object, &mut events)?.is_none() {
                return Ok(None);
            }
        }
        Ok((object == packet.objects.1).then_some(()))
    }

    fn event(
        &mut self,
        kind: u32,
        time: u64,
        domain: u16,
        object: &mut u64,
        fields: &mut Cursor<'_>,
    ) -> Result<Option<()>> {
        self.last = self.last.max(time);
        let mut read = || {
            match kind {
                LOCATION => {
                    let (code, locations) = self.domains.get_mut(&domain)?.locations.read(fields)?;
                    self.locations.insert(code, locations);
                }
                // An object that survives the minor heap is still there.
                PROMOTION => _ = take_number(fields)?,
                COLLECTION => {
                    let before = take_number(fields)?;
                    self.live.remove(&object.wrapping_sub(1).wrapping_sub(before.cast_unsigned()));
                }
                _ => return None,
            }
            Some(())
        };
        if kind != ALLOCATION && !SHORT_ALLOCATION.contains(&kind) {
            return Ok(read());
        }
        let Some((samples, source)) = self.stack(kind == ALLOCATION, domain, fields) else { return Ok(None) };
        let path = self.path(domain)?;
        let time = time.saturating_sub(self.info.as_ref().map_or(0, |info| info.start)).saturating_mul(1000);
        let origin = u32::from(domain) << 2 | u32::from(source);
        self.tries[ALLOCATED].add_from(path, Weight::new(samples.into()), Some(time), origin)?;
        self.live.insert(*object, Object { path, samples, time, origin });
        *object = object.wrapping_add(1);
        Ok(Some(()))
    }

    /// Reads an allocation: its number of samples and its source. The stack is then the last one of the domain.
    fn stack(&mut self, is_long: bool, domain: u16, fields: &mut Cursor<'_>) -> Option<(u64, u8)> {
        let (mut samples, mut source) = (1, 0);
        if is_long {
            let _words = take_number(fields)?;
            samples = u64::try_from(take_number(fields)?).ok()?;
            source = fields.u8()?;
        }
        let shared = usize::try_from(take_number(fields)?).ok()?;
        let codes = if is_long { usize::from(fields.u16()?) } else { usize::from(fields.u8()?) };
        self.domains.get_mut(&domain)?.stacks.read(fields, shared, codes)?;
        (usize::from(source) < SOURCES.len()).then_some((samples, source))
    }

    /// The path of the last stack of a domain.
    fn path(&mut self, domain: u16) -> Result<PathId> {
        let stack = self.domains.get(&domain).map_or(&[][..], |domain| &domain.stacks.last);
        let mut path = Trie::ROOT;
        for code in stack {
            let next = self.numbers.len() as u32;
            let number = *self.numbers.entry(*code).or_insert(next);
            path = self.tries[ALLOCATED].below(path, number);
        }
        if self.tries[ALLOCATED].len() as u64 > NODES + NODES_OF_BYTE * self.read {
            let most = format!("at most {NODES_OF_BYTE} frames for each byte");
            return Err(Error::malformed(most, b"more"));
        }
        Ok(path)
    }

    /// Hands all that was added up to the sink.
    ///
    /// # Errors
    /// Those of the sink, and values that are not there.
    pub fn finish(mut self, reading: &Reading<'_>, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        let Some(info) = self.info.take() else { return Ok(()) };
        self.facts(&info, report);
        self.keep_live()?;
        let held = |at: usize| !self.tries[at].is_empty();
        let declared = COLUMNS.iter().map(|name| Value::new(*name, "bytes")).collect();
        let mut values = Values::holding(reading, declared, ALLOCATED, held, report)?;
        let frames = self.frames(reading, sink, report);
        let no_stack = sink.frame(NO_STACK);
        let period = Weight::new(info.period.into());
        let mut whole = Vec::new();
        for column in 0..COLUMNS.len() {
            self.tries[column].for_each(
                None,
                |number| Ok(FrameId(number)),
                |stack, sampled| {
                    let domain = (sampled.origin >> 2).to_string();
                    let source = SOURCES[sampled.origin as usize & 3];
                    let labels = [(&b"domain"[..], domain.as_bytes()), (b"source", source.as_bytes())];
                    let context = if self.contexts {
                        Context {
                            time: sampled.time,
                            process: Some(info.process),
                            labels: &labels,
                            ..Context::UNKNOWN
                        }
                    } else {
                        Context::UNKNOWN
                    };
                    whole.clear();
                    whole.extend(stack.iter().flat_map(|number| &frames[number.0 as usize]));
                    if whole.is_empty() {
                        whole.push(no_stack);
                    }
                    let weight = sampled.weight.checked_mul(period)?;
                    values.add_at(column, &whole, weight, sampled.samples, &context, sink)
                },
            )?;
        }
        values.finish(report)
    }

    /// Adds the objects that have not been collected to their column, in the order of their numbers.
    fn keep_live(&mut self) -> Result<()> {
        let mut live: Vec<(u64, Object)> = std::mem::take(&mut self.live).into_iter().collect();
        live.sort_unstable_by_key(|(number, _)| *number);
        let [allocated, kept] = &mut self.tries;
        for (_, Object { path, samples, time, origin }) in live {
            let mut numbers = Vec::new();
            let mut at = path;
            while let Some((above, number)) = allocated.above(at) {
                numbers.push(number);
                at = above;
            }
            let path = numbers.into_iter().rev().fold(Trie::ROOT, |path, number| kept.below(path, number));
            kept.add_from(path, Weight::new(samples.into()), Some(time), origin)?;
        }
        Ok(())
    }

    /// The frames of each location, root first.
    fn frames(
        &self,
        options: &CollapseOptions,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Vec<Vec<FrameId>> {
        let mut names = FrameNames::default();
        let mut frames = vec![Vec::new(); self.numbers.len()];
        let mut unknown = 0u64;
        let mut codes: Vec<(u32, u64)> = self.numbers.iter().map(|(code, number)| (*number, *code)).collect();
        codes.sort_unstable();
        for (number, code) in codes {
            let address = format!("{code:x}");
            let locations = self.locations.get(&code).map_or(&[][..], Vec::as_slice);
            let frames = &mut frames[number as usize];
            unknown += u64::from(!self.locations.contains_key(&code));
            for (at, location) in locations.iter().enumerate() {
                // The compiler has put all but the first into it.
                let inlined = at > 0;
                if inlined && options.no_inline {
                    break;
                }
                frames.push(location.frame(inlined, address.as_bytes(), options, &mut names, sink));
            }
            if frames.is_empty() {
                frames.push(names.build(sink, |out| {
                    naming::name_unknown(b"", address.as_bytes(), options.addrs, out);
                }));
            }
        }
        if unknown > 0 {
            report.doubt(format!("{unknown} locations of stacks are not named in the trace"));
        }
        frames
    }

    /// Notes what the trace says of itself, and what is missing.
    fn facts(&self, info: &Info, report: &mut Report) {
        let facts = &mut report.facts;
        facts.start = SystemTime::UNIX_EPOCH.checked_add(Duration::from_micros(info.start));
        facts.duration = self.last.checked_sub(info.start).map(Duration::from_micros);
        facts.command = fact(&info.command);
        facts.host = fact(&info.host);
        facts.period = Some(Weight::new(info.period.into()));
        if !info.context.is_empty() {
            facts.comment(&info.context);
        }
        if self.foreign > 0 {
            report.note(format!(
                "{} packets are of processes that it forked, which are not read",
                self.foreign
            ));
        }
    }
}

/// The kind of the next event, and its time; `None` if that is not within the packet's.
fn event(packet: &Packet<'_>, fields: &mut Cursor<'_>) -> Option<(u32, u64)> {
    let code = fields.u32()?;
    let mut time = (packet.begin & !TIME) | u64::from(code) & TIME;
    if time < packet.begin {
        time = time.checked_add(TIME + 1)?;
    }
    (packet.begin..=packet.end).contains(&time).then_some((code >> 25, time))
}

impl Info {
    fn read(packet: &Packet<'_>, fields: &mut Cursor<'_>) -> Option<Info> {
        let (rate, bits) = (fields.f64()?, fields.u8()?);
        let (command, host, _runtime) =
            (fields.terminated_text()?, fields.terminated_text()?, fields.terminated_text()?);
        let process = fields.u64()?;
        let context = if packet.version >= 2 { fields.terminated_text()? } else { b"" };
        let period = f64::from(bits / 8) / rate;
        // Of each word with this probability: the bytes between two samples.
        let is_sane = rate > 0.0 && rate <= 1.0 && matches!(bits, 32 | 64) && period < 1e15;
        is_sane.then(|| Info {
            process,
            start: packet.begin,
            period: period.round() as u64,
            command: command.into(),
            host: host.into(),
            context: context.into(),
        })
    }
}

impl Location {
    fn frame(
        &self,
        inlined: bool,
        address: &[u8],
        options: &CollapseOptions,
        names: &mut FrameNames,
        sink: &mut dyn Sink,
    ) -> FrameId {
        let place = Place { file: &self.file, line: self.line, inlined, ..Place::default() };
        names.build_at(&place, sink, |out| {
            match &self.function[..] {
                b"" | b"??" => naming::name_unknown(b"", address, options.addrs, out),
                function => sanitize_frame(function, out),
            }
            if options.srcline && !self.file.is_empty() {
                let file = self.file.rsplit(|&b| b == b'/').next().unwrap_or(&self.file);
                naming::append_srcline(&[file, b":", self.line.to_string().as_bytes()].concat(), out);
            }
            if options.inline && inlined {
                out.extend_from_slice(b"_[i]");
            }
        })
    }
}

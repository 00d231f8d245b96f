//! The description of a recording, before or behind its records: events, build ids, the machine.
//!
//! ```text
//! file mode:  "PERFILE2" size attr_size attrs data types features[4]   … attrs … records … features
//! pipe mode:  "PERFILE2" 16                                            records, with all of that
//! ```
//! Specified in perf's `tools/perf/Documentation/perf.data-file-format.txt`, and by its
//! `util/header.c`.

use std::collections::HashMap;
use std::sync::Arc;

use super::attr::{Arch, Attr, Event, TRACEPOINT, sample};
use super::content::Record;
use super::reader::{RawRecord, Section};
use super::record::{self, Header, SampleHead, kind};
use super::sample::no_sample;
use super::switch::SwitchLayout;
use super::tracepoint;
use crate::bytes::{ByteOrder, Cursor};
use crate::error::{Error, Result};

/// The first bytes of a recording from a little-endian machine.
pub(super) const MAGIC: &[u8] = b"PERFILE2";
/// And from a big-endian one.
const SWAPPED: &[u8] = b"2ELIFREP";

/// The features of a file that are read, by the number of the bit that says whether it is there.
mod feature {
    pub const TRACING_DATA: usize = 1;
    pub const BUILD_ID: usize = 2;
    pub const HOSTNAME: usize = 3;
    pub const OS_RELEASE: usize = 4;
    pub const VERSION: usize = 5;
    pub const ARCH: usize = 6;
    pub const CMDLINE: usize = 11;
    pub const EVENT_DESC: usize = 12;
    pub const SAMPLE_TIME: usize = 21;
    pub const CLOCK_DATA: usize = 29;

    pub const WANTED: [usize; 10] = [
        TRACING_DATA,
        BUILD_ID,
        HOSTNAME,
        OS_RELEASE,
        VERSION,
        ARCH,
        CMDLINE,
        EVENT_DESC,
        SAMPLE_TIME,
        CLOCK_DATA,
    ];
    /// There are four numbers of 64 bits.
    pub const COUNT: usize = 256;
}

/// The description of a recording: everything but its records.
#[derive(Clone, Debug, Default)]
pub(super) struct Description {
    pub order: ByteOrder,
    /// It is made just now, by this very process.
    pub is_live: bool,
    pub events: Vec<Event>,
    /// The event of each identity in samples.
    ids: HashMap<u64, usize>,
    /// The identities of builds, by path.
    build_ids: HashMap<Vec<u8>, Vec<u8>>,
    /// `None` until the recording says it.
    pub arch: Option<Arch>,
    /// The kernel's.
    pub release: Option<Vec<u8>>,
    pub switch_layout: SwitchLayout,
    /// The times of the first and the last sample, if the header says them.
    pub sample_times: Option<(u64, u64)>,
    /// The name of the machine.
    pub host: Option<Vec<u8>>,
    /// The architecture as the recorder names it: `x86_64`.
    pub machine: Option<Vec<u8>>,
    /// The recorder's version.
    pub version: Option<Vec<u8>>,
    /// The recorder's own command line.
    pub arguments: Vec<Vec<u8>>,
    /// The time since 1970 and the time on the recording's clock of one moment, in nanoseconds.
    pub reference: Option<(u64, u64)>,
}

/// The layout of a file: the places of its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    attr_size: u64,
    attrs: Section,
    /// The records.
    pub data: Section,
    features: [u64; 4],
}

/// The two kinds of files.
pub(super) enum FileKind {
    File(Layout),
    /// The records follow, and everything is in them.
    Pipe,
}

/// Recognises the beginning of a recording.
pub(super) fn is_recording(head: &[u8]) -> bool {
    head.starts_with(MAGIC) || head.starts_with(SWAPPED)
}

/// The bytes of a pipe's header.
pub(super) const PIPE_HEADER: usize = 16;

impl Description {
    /// Reads the first bytes.
    pub fn begin(head: &[u8]) -> Result<(Description, FileKind)> {
        let order = if head.starts_with(SWAPPED) { ByteOrder::Big } else { ByteOrder::Little };
        let about = Description { order, ..Description::default() };
        let mut fields = Cursor::new(head, order);
        let kind = (|| {
            fields.skip(MAGIC.len())?;
            if fields.u64()? == PIPE_HEADER as u64 {
                return Some(FileKind::Pipe);
            }
            let attr_size = fields.u64()?;
            let attrs = Section::parse(&mut fields)?;
            let data = Section::parse(&mut fields)?;
            let _types = Section::parse(&mut fields)?;
            let features = [fields.u64()?, fields.u64()?, fields.u64()?, fields.u64()?];
            Some(FileKind::File(Layout { attr_size, attrs, data, features }))
        })();
        match kind {
            Some(kind) => Ok((about, kind)),
            None => Err(Error::malformed("the header of a recording of perf", &head[..head.len().min(104)])),
        }
    }

    /// Reads the parts of a file that are not records. `read` gives the bytes of one.
    pub fn read_parts(
        &mut self,
        layout: &Layout,
        mut read: impl FnMut(Section) -> Result<Vec<u8>>,
    ) -> Result<()> {
        let attrs = read(layout.attrs)?;
        let size = usize::try_from(layout.attr_size).unwrap_or(0);
        if size < 16 {
            return Err(Error::malformed("the size of an event", layout.attr_size.to_string().as_bytes()));
        }
        for entry in attrs.chunks_exact(size) {
            let (attr, ids) = entry.split_at(size - 16);
            let ids = Section::parse(&mut Cursor::new(ids, self.order)).unwrap_or_default();
            let ids = if ids.size == 0 { Vec::new() } else { read(ids)? };
            let ids: Vec<u64> =
                Cursor::new(&ids, self.order).u64s(ids.len() as u64 / 8).unwrap_or_default().iter().collect();
            self.add_event(attr, ids)?;
        }
        if layout.data.size == 0 {
            // perf had no time to write more.
            return Ok(());
        }
        let mut place = Section { offset: layout.data.end(), size: 16 };
        for number in 0..feature::COUNT {
            if layout.features[number / 64] & (1 << (number % 64)) == 0 {
                continue;
            }
            let part = read(place)?;
            place.offset += 16;
            let part = Section::parse(&mut Cursor::new(&part, self.order)).unwrap_or_default();
            if feature::WANTED.contains(&number) && part.size > 0 {
                let bytes = read(part)?;
                self.feature(number, &bytes);
            }
        }
        Ok(())
    }

    fn add_event(&mut self, attr: &[u8], ids: impl IntoIterator<Item = u64>) -> Result<()> {
        let attr =
            Attr::parse(attr, self.order).ok_or_else(|| Error::malformed("an event's attribute", attr))?;
        self.ids.extend(ids.into_iter().map(|id| (id, self.events.len())));
        self.events.push(Event { name: attr.name(), attr: Arc::new(attr), named: false });
        Ok(())
    }

    /// Reads a feature, which may be there or not; what is wrong in it is left out, as it says
    /// nothing of the samples.
    fn feature(&mut self, number: usize, bytes: &[u8]) {
        match number {
            feature::BUILD_ID => self.build_id_table(bytes),
            feature::OS_RELEASE => {
                self.release = Cursor::new(bytes, self.order).counted_text().map(<[u8]>::to_vec);
            }
            feature::ARCH => {
                let name = Cursor::new(bytes, self.order).counted_text();
                self.machine = name.map(<[u8]>::to_vec);
                self.arch = name.map(|name| match name {
                    b"x86_64" => Arch::X86_64,
                    b"aarch64" => Arch::Aarch64,
                    _ => Arch::Other,
                });
            }
            feature::TRACING_DATA => {
                self.switch_layout = SwitchLayout::described(bytes).unwrap_or_default();
                for event in self.events.iter_mut().filter(|event| event.attr.kind == TRACEPOINT) {
                    let fields = tracepoint::described(bytes, event.attr.config);
                    Arc::make_mut(&mut event.attr).trace_fields = fields.into();
                }
            }
            feature::SAMPLE_TIME => {
                let mut fields = Cursor::new(bytes, self.order);
                let times = fields.u64().zip(fields.u64());
                self.sample_times =
                    times.filter(|&(first, last)| first > 0 && first <= last && last < u64::MAX);
            }
            feature::HOSTNAME => {
                self.host = Cursor::new(bytes, self.order).counted_text().map(<[u8]>::to_vec)
            }
            feature::VERSION => {
                self.version = Cursor::new(bytes, self.order).counted_text().map(<[u8]>::to_vec);
            }
            feature::CMDLINE => {
                let mut fields = Cursor::new(bytes, self.order);
                let count = fields.u32().unwrap_or(0);
                let words = (0..count).map_while(|_| fields.counted_text());
                self.arguments = words.map(<[u8]>::to_vec).collect();
            }
            feature::CLOCK_DATA => {
                let mut fields = Cursor::new(bytes, self.order);
                // Version and clock.
                let times = fields.skip(8).and_then(|()| fields.u64().zip(fields.u64()));
                self.reference = times;
            }
            feature::EVENT_DESC => {
                self.event_names(bytes);
            }
            _ => {}
        }
    }

    fn build_id_table(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(header) = Header::parse(rest, self.order) {
            let size = usize::from(header.size);
            let Some(body) = rest.get(Header::SIZE..size) else { break };
            self.add_build_id(header, body);
            rest = &rest[size..];
        }
    }

    fn add_build_id(&mut self, header: Header, body: &[u8]) {
        if let Some((path, id)) = record::build_id(header, body, self.order)
            && id.iter().any(|byte| *byte != 0)
        {
            self.build_ids.insert(path.to_vec(), id.to_vec());
        }
    }

    /// The identity of a file's build.
    pub fn build_id_of(&self, path: &[u8]) -> Option<&[u8]> {
        // The kernel's mapping is called `[kernel.kallsyms]_text`.
        let path = match path.iter().position(|b| *b == b']') {
            Some(end) if path.starts_with(b"[kernel.") => &path[..=end],
            _ => path,
        };
        self.build_ids.get(path).map(Vec::as_slice)
    }

    fn event_names(&mut self, bytes: &[u8]) -> Option<()> {
        let mut fields = Cursor::new(bytes, self.order);
        let (count, attr_size) = (fields.u32()?, fields.u32()?);
        for n in 0..count as usize {
            let attr = Attr::parse(fields.take_u64(attr_size.into())?, self.order)?;
            let id_count = fields.u32()?;
            let name = fields.counted_text()?;
            let ids = fields.u64s(id_count.into())?;
            // By identity, else by the same place in the same order.
            let by_id = ids.iter().find_map(|id| self.ids.get(&id).copied());
            let event = by_id.or_else(|| {
                let same = self.events.get(n)?;
                (same.attr.kind == attr.kind && same.attr.config == attr.config).then_some(n)
            });
            if let Some(event) = event {
                // More of them than a record of an event in a pipe has room for.
                for id in ids.iter() {
                    self.ids.entry(id).or_insert(event);
                }
                self.name_event(event, name);
            }
        }
        Some(())
    }

    fn name_event(&mut self, event: usize, name: &[u8]) {
        if let Some(event) = self.events.get_mut(event)
            && !event.named
            && !name.is_empty()
        {
            event.name = name.to_vec();
            event.named = true;
        }
    }

    /// Takes in a record of perf itself that describes the recording: an event, its name, a build id.
    fn learn(&mut self, header: Header, body: &[u8]) -> Result<()> {
        let mut fields = Cursor::new(body, self.order);
        match header.kind {
            kind::ATTR => {
                // The attribute says how long it is; identities follow.
                let size =
                    Cursor::new(body.get(4..).unwrap_or_default(), self.order).u32().unwrap_or(0) as usize;
                let attr = fields
                    .take(size.max(64))
                    .ok_or_else(|| Error::malformed("an event's attribute", body))?;
                let ids = fields.u64s(fields.rest().len() as u64 / 8).unwrap_or_default();
                self.add_event(attr, ids.iter().collect::<Vec<_>>())?;
            }
            kind::EVENT_UPDATE => {
                /// The update that brings a name.
                const NAME: u64 = 2;
                if let (Some(NAME), Some(id)) = (fields.u64(), fields.u64())
                    && let Some(event) = self.ids.get(&id).copied()
                {
                    self.name_event(event, fields.text());
                }
            }
            kind::BUILD_ID => self.add_build_id(header, body),
            kind::FEATURE => {
                if let Some(number) = fields.u64() {
                    self.feature(usize::try_from(number).unwrap_or(usize::MAX), fields.rest());
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The name of the first event that counts something.
    pub fn first_event(&self) -> Option<&[u8]> {
        let measured = self.events.iter().find(|event| !event.attr.is_dummy());
        measured.or(self.events.first()).map(|event| event.name.as_slice())
    }

    /// Gives a record of the file of number `file` its type, and takes in those that describe the
    /// recording.
    ///
    /// # Errors
    /// A sample without an event, or too short for its fields.
    pub fn describe(&mut self, raw: RawRecord, file: u32) -> Result<Record> {
        let RawRecord { header, body, at } = raw;
        let order = self.order;
        let mut record =
            Record { header, body, at, file, order, time: None, event: 0, attr: None, head: None };
        match header.kind {
            kind::SAMPLE => {
                let event = self.event_of(&record.body);
                let known = event.and_then(|event| Some((event, self.events.get(event)?)));
                let Some((number, event)) = known else {
                    return Err(Error::malformed("an event before its samples", b"none"));
                };
                let head = SampleHead::parse(&record.body, order, &event.attr)
                    .ok_or_else(|| no_sample(&record.body))?;
                record.time = head.time;
                record.event = number as u32;
                record.attr = Some(event.attr.clone());
                record.head = Some(head);
            }
            kind::MMAP
            | kind::MMAP2
            | kind::COMM
            | kind::FORK
            | kind::EXIT
            | kind::THROTTLE
            | kind::UNTHROTTLE => {
                let first = self.events.first();
                record.time = first.and_then(|event| record::time_of(&record.body, order, &event.attr));
            }
            kind::SWITCH | kind::SWITCH_CPU_WIDE | kind::CALLCHAIN_DEFERRED => {
                record.attr = self.events.first().map(|event| event.attr.clone());
                let attr = record.attr.as_deref();
                record.time = attr.and_then(|attr| record::time_of(&record.body, order, attr));
            }
            kind::ATTR | kind::EVENT_UPDATE | kind::BUILD_ID | kind::FEATURE => {
                self.learn(header, &record.body)?;
            }
            _ => {}
        }
        Ok(record)
    }

    /// The event that a counter with this identity is of.
    pub fn event_of_id(&self, id: u64) -> Option<usize> {
        self.ids.get(&id).copied()
    }

    /// The event of a sample; `None` if there are none.
    pub fn event_of(&self, body: &[u8]) -> Option<usize> {
        let first = &self.events.first()?.attr;
        if self.events.len() == 1 {
            return Some(0);
        }
        let before = if first.has(sample::IDENTIFIER) {
            0
        } else if first.has(sample::ID) {
            let fields = [sample::IP, sample::TID, sample::TIME, sample::ADDR];
            fields.into_iter().filter(|field| first.has(*field)).count()
        } else {
            return Some(0);
        };
        let id = Cursor::new(body.get(8 * before..)?, self.order).u64()?;
        // perf, too, takes a sample of an unknown event for one of the first; one that only carries other records
        // has none.
        let measured = || self.events.iter().position(|event| !event.attr.is_dummy());
        self.ids.get(&id).copied().or_else(measured).or(Some(0))
    }
}

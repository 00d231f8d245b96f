//! perf.data: a header, the records as the kernel wrote them, and what else perf wants to know.
//!
//! ```text
//! header │ ids … │ attr + where its ids are, … │ records … │ table of features │ features
//! ```
//! The file can be read from its beginning on, however its writer ends. While records are added the
//! header says that they go on to the end of the file, as in one whose recorder was killed; after each
//! round the features are written behind the records, and the header says where they are. The format
//! is described in Linux's `tools/perf/Documentation/perf.data-file-format.txt`.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::counted::Counted;
use super::packed::Packer;
use super::plan::Plan;
use crate::record::facts::PRODUCER;
use crate::record::sys::clock::{self, Reference};
use crate::record::sys::limits::SystemName;
use crate::record::sys::perf_event::{ATTR_SIZE, record};

const HEADER_SIZE: u64 = 104;
/// An attr, and a section for its ids.
const ENTRY_SIZE: u64 = ATTR_SIZE as u64 + 16;

/// One of perf's features, by its bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Feature {
    BuildId = 2,
    HostName = 3,
    Release = 4,
    Version = 5,
    Architecture = 6,
    Processors = 7,
    CommandLine = 11,
    Events = 12,
    SampleTime = 21,
    ClockId = 23,
    Compressed = 27,
    ClockData = 29,
}

/// The facts of the machine and the recording, besides the records.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The names of the machine and its kernel.
    pub system: SystemName,
    /// The number of processors, and of those online.
    pub processors: (u32, u32),
    /// Our command line, with the recorded program's behind `--`.
    pub command_line: Vec<Vec<u8>>,
    /// The beginning of the recording.
    pub reference: Reference,
    /// The running kernel's build id, if its samples are in the file.
    pub kernel_build_id: Option<Vec<u8>>,
}

/// The way in which records are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// As they are.
    #[default]
    None,
    /// Compressed, as by `perf record -z`.
    Zstd,
}

/// A recording being written.
#[derive(Debug)]
pub struct DataFile {
    file: File,
    /// The attributes and numbers of the events, behind the header.
    plan: Plan,
    /// The identities of each event of the plan.
    ids: Vec<Vec<u64>>,
    data: u64,
    end: u64,
    /// The header says where the features are.
    is_complete: bool,
    /// Compresses the records, if that is wanted.
    packer: Option<Packer>,
}

impl DataFile {
    /// Begins a file: `ids` are the identities of what was opened for each event of the plan.
    ///
    /// # Errors
    /// The error of the system.
    pub fn new(file: File, plan: &Plan, ids: &[Vec<u64>], compression: Compression) -> io::Result<DataFile> {
        let mut bytes = Vec::new();
        ids.iter().flatten().for_each(|id| put(&mut bytes, *id));
        let mut ids_at = HEADER_SIZE;
        for (number, ids) in ids.iter().enumerate() {
            let size = 8 * ids.len() as u64;
            bytes.extend_from_slice(&plan.attr_of(number).to_bytes());
            put(&mut bytes, ids_at);
            put(&mut bytes, size);
            ids_at += size;
        }
        let data = HEADER_SIZE + bytes.len() as u64;
        let (plan, ids) = (plan.clone(), ids.to_vec());
        let packer = match compression {
            Compression::None => None,
            Compression::Zstd => Some(Packer::default()),
        };
        let file = DataFile { file, plan, ids, data, end: data, is_complete: false, packer };
        file.file.write_all_at(&bytes, HEADER_SIZE)?;
        file.write_header(0, 0)?;
        Ok(file)
    }

    /// The number of bytes of the records.
    pub fn size(&self) -> u64 {
        self.end - self.data
    }

    /// Appends records, or parts of one; compressed ones wait until they are [packed](DataFile::pack).
    ///
    /// # Errors
    /// The error of the system, such as a full disk.
    pub fn append(&mut self, records: &[u8]) -> io::Result<()> {
        match &mut self.packer {
            Some(packer) => {
                packer.add(records);
                Ok(())
            }
            None => self.write(records),
        }
    }

    /// Writes the records that wait to be compressed, all of them or if there are enough. They end with a whole
    /// one.
    ///
    /// # Errors
    /// The error of the system, such as a full disk.
    pub fn pack(&mut self, all: bool) -> io::Result<()> {
        let end = self.end;
        match &mut self.packer {
            Some(packer) if all || packer.is_worth_it() => {
                let records = packer.pack(end);
                self.write(&records)
            }
            _ => Ok(()),
        }
    }

    fn write(&mut self, records: &[u8]) -> io::Result<()> {
        if self.is_complete {
            self.write_header(0, 0)?;
            self.file.set_len(self.end)?;
            self.is_complete = false;
        }
        self.file.write_all_at(records, self.end)?;
        self.end += records.len() as u64;
        Ok(())
    }

    /// Writes what comes after the records, and the header. `times` are those of the first and
    /// the last sample.
    ///
    /// # Errors
    /// The error of the system.
    pub fn complete(&mut self, about: &About, times: (u64, u64)) -> io::Result<()> {
        if self.size() == 0 {
            // This size would stand for all of the file.
            return Ok(());
        }
        let packed = self.packer.as_ref().map(Packer::feature);
        let features = features(&self.plan, &self.ids, about, times, packed);
        let mut table = Vec::new();
        let mut contents = Vec::new();
        let contents_at = self.end + 16 * features.len() as u64;
        let mut bits = 0;
        for (feature, content) in &features {
            put(&mut table, contents_at + contents.len() as u64);
            put(&mut table, content.len() as u64);
            contents.extend_from_slice(content);
            bits |= 1 << *feature as u64;
        }
        table.extend(contents);
        self.file.write_all_at(&table, self.end)?;
        self.is_complete = true;
        self.write_header(self.size(), bits)
    }

    /// Gives up the end of a file that could not be written: keeps the whole records of all but the last
    /// `spare` bytes, and returns what is in them.
    ///
    /// # Errors
    /// The error of the system.
    pub fn give_up_end(&mut self, spare: u64) -> io::Result<Counted> {
        let limit = self.file.metadata()?.len().saturating_sub(spare);
        if let Some(packer) = &mut self.packer {
            let (end, counted) = packer.keep_until(limit).unwrap_or((self.data, Counted::default()));
            self.end_at(end)?;
            return Ok(counted);
        }
        let mut counted = Counted::default();
        let mut at = self.data;
        // As far as the period of a sample.
        let mut head = [0; 56];
        loop {
            let read = self.file.read_at(&mut head, at)?;
            let size = u64::from(u16::from_ne_bytes([head[6], head[7]]));
            if read < 8 || size < 8 || at + size > limit {
                break;
            }
            counted.add(&head[..read.min(usize::try_from(size).unwrap_or(read))]);
            at += size;
        }
        self.end_at(at)?;
        Ok(counted)
    }

    fn end_at(&mut self, end: u64) -> io::Result<()> {
        self.end = end;
        self.write_header(0, 0)?;
        self.file.set_len(self.end)?;
        self.is_complete = false;
        Ok(())
    }

    /// Writes the header; a size of 0 stands for all of the file.
    fn write_header(&self, size: u64, features: u64) -> io::Result<()> {
        let attrs_at = HEADER_SIZE + 8 * self.ids.iter().map(Vec::len).sum::<usize>() as u64;
        let attrs = ENTRY_SIZE * self.ids.len() as u64;
        let mut header = b"PERFILE2".to_vec();
        for number in [HEADER_SIZE, ENTRY_SIZE, attrs_at, attrs, self.data, size, 0, 0, features, 0, 0, 0] {
            put(&mut header, number);
        }
        self.file.write_all_at(&header, 0)
    }
}

/// The features in the order of their bits, which is the order of the table.
pub(super) fn features(
    plan: &Plan,
    ids: &[Vec<u64>],
    about: &About,
    times: (u64, u64),
    packed: Option<Vec<u8>>,
) -> Vec<(Feature, Vec<u8>)> {
    let SystemName { host, release, architecture, .. } = &about.system;
    let [host, release, architecture] = [host, release, architecture].map(|text| string(text.as_bytes()));
    let processors = [about.processors.0.to_ne_bytes(), about.processors.1.to_ne_bytes()].concat();

    let mut command_line = u32_of(about.command_line.len()).to_vec();
    about.command_line.iter().for_each(|word| command_line.extend(string(word)));

    let mut events = [u32_of(plan.events.len()), ATTR_SIZE.to_ne_bytes()].concat();
    for (number, event) in plan.events.iter().enumerate() {
        let ids = ids.get(number).map_or(&[][..], Vec::as_slice);
        events.extend_from_slice(&plan.attr_of(number).to_bytes());
        events.extend_from_slice(&u32_of(ids.len()));
        events.extend(string(event.name.as_bytes()));
        ids.iter().for_each(|id| put(&mut events, *id));
    }

    let mut all = Vec::new();
    if let Some(id) = &about.kernel_build_id {
        all.push((Feature::BuildId, build_id(id)));
    }
    all.extend([
        (Feature::HostName, host),
        (Feature::Release, release),
        (Feature::Version, string(PRODUCER.as_bytes())),
        (Feature::Architecture, architecture),
        (Feature::Processors, processors),
        (Feature::CommandLine, command_line),
        (Feature::Events, events),
        (Feature::SampleTime, [times.0.to_ne_bytes(), times.1.to_ne_bytes()].concat()),
        (Feature::ClockId, clock::resolution().to_ne_bytes().to_vec()),
    ]);
    all.extend(packed.map(|content| (Feature::Compressed, content)));
    all.push((Feature::ClockData, clock_data(&about.reference)));
    all
}

/// The clock of the records, and one moment on it and on the calendar.
fn clock_data(reference: &Reference) -> Vec<u8> {
    const VERSION: u32 = 1;
    let mut bytes = [VERSION.to_ne_bytes(), clock::MONOTONIC.to_ne_bytes()].concat();
    put(&mut bytes, reference.wall_nanoseconds());
    put(&mut bytes, reference.clock);
    bytes
}

/// The kernel's name as the file of an object.
pub const KERNEL: &[u8] = b"[kernel.kallsyms]";

/// A record of the build-id section.
fn build_id(id: &[u8]) -> Vec<u8> {
    /// The id's size is given.
    const MISC_SIZE: u16 = 1 << 15;
    const RECORD: u32 = 67;
    let name = padded(KERNEL);
    let id = &id[..id.len().min(20)];
    let mut bytes = RECORD.to_ne_bytes().to_vec();
    bytes.extend_from_slice(&(record::MISC_KERNEL | MISC_SIZE).to_ne_bytes());
    let size = 8 + 4 + 24 + name.len();
    bytes.extend_from_slice(&u16::try_from(size).expect("a short name").to_ne_bytes());
    bytes.extend_from_slice(&(-1i32).to_ne_bytes());
    bytes.extend_from_slice(id);
    bytes.resize(8 + 4 + 20, 0);
    bytes.extend([u8::try_from(id.len()).expect("at most 20"), 0, 0, 0]);
    bytes.extend(name);
    bytes
}

fn put(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend_from_slice(&number.to_ne_bytes());
}

fn u32_of(count: usize) -> [u8; 4] {
    u32::try_from(count).unwrap_or(u32::MAX).to_ne_bytes()
}

/// A text with its length before it and at least one zero after it.
fn string(text: &[u8]) -> Vec<u8> {
    let text = padded(text);
    [&u32_of(text.len())[..], &text].concat()
}

/// Pads a text with zeros, one at least, to a multiple of 64 bytes.
fn padded(text: &[u8]) -> Vec<u8> {
    let mut bytes = text.to_vec();
    bytes.resize((text.len() + 1).next_multiple_of(64), 0);
    bytes
}

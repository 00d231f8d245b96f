//! A recording as an iterator of typed records, in the order of its files.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::attr::Event;
use super::chunk::CHUNK;
use super::content::Record;
use super::facts::header_facts;
use super::header::{self, Description, FileKind};
use super::reader::{self, ByteSource, RawRecords, read_section};
use super::time_order::{InTimeOrder, placed_in};
use crate::bytes::ByteOrder;
use crate::error::{Error, Position, Result};
use crate::input::{Input, Source};
use crate::profile::Facts;

/// A recording of `perf record`, opened: a description, and an iterator of its records.
///
/// The records come as they stand in the file. Between two marks
/// [`FinishedRound`](super::Content::FinishedRound) those of different processors are not in the order
/// of time: [`Recording::in_time_order`] puts them in order, as the collapser needs them.
///
/// ```
/// use fg_tools::collapse::perf_data::{Content, Recording};
/// use fg_tools::Source;
///
/// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/perf_data/golden/calc.data.gz"));
/// let mut recording = Recording::open(&Source::bytes(bytes))?;
/// assert_eq!(recording.events()[0].name(), b"cpu-clock:u");
///
/// let (mut samples, mut names) = (0, Vec::new());
/// for record in &mut recording {
///     match record?.content()? {
///         Content::Sample(sample) => samples += u64::from(sample.period.is_some()),
///         Content::Comm(comm) => names.push(String::from_utf8_lossy(comm.name).into_owned()),
///         _ => {}
///     }
/// }
/// assert_eq!(names.last().map(String::as_str), Some("calc"));
/// assert!(samples > 0);
/// # Ok::<(), fg_tools::Error>(())
/// ```
pub struct Recording {
    description: Description,
    records: RawRecords,
    /// The files beside the first, with their names.
    others: Vec<(Arc<str>, RawRecords)>,
    /// The number of files that have been read to their end.
    ended: u32,
}

impl Recording {
    /// Opens a recording, plain or compressed: a file, a pipe, or the folder of
    /// `perf record --threads`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`]; [`crate::ErrorKind::Malformed`] for a damaged header, and for something
    /// else than a recording.
    pub fn open(source: &Source) -> Result<Recording> {
        Recording::from_input(source.open()?)
    }

    pub(super) fn from_input(input: Input) -> Result<Recording> {
        let folder = input.folder().map(Path::to_owned);
        let (description, records) = open_first(input)?;
        let others = match folder {
            Some(folder) => open_others(&folder, &records, description.order)?,
            None => Vec::new(),
        };
        Ok(Recording { description, records, others, ended: 0 })
    }

    /// The events that were recorded. In a recording from a pipe they come with the records.
    pub fn events(&self) -> &[Event] {
        &self.description.events
    }

    /// The facts of the header: producer, command, host and system. In a recording from a pipe they
    /// come with the records.
    pub fn facts(&self) -> Facts {
        header_facts(&self.description)
    }

    /// The same records in the order of time, each processor's and each file's.
    pub fn in_time_order(self) -> InTimeOrder {
        InTimeOrder::new(self.description, self.records, self.others)
    }

    fn next_record(&mut self) -> Result<Option<Record>> {
        loop {
            let number = self.ended;
            let (records, name) = match number.checked_sub(1) {
                None => (&mut self.records, None),
                Some(other) => match self.others.get_mut(other as usize) {
                    Some((name, records)) => (records, Some(&*name)),
                    None => return Ok(None),
                },
            };
            match records.next().map_err(|e| placed_in(e, name))? {
                Some(raw) => {
                    let at = || Position { byte: Some(raw.at), ..Position::default() };
                    let position = at();
                    let record = self.description.describe(raw, number);
                    return record.map(Some).map_err(|e| placed_in(e.or_at(|| position), name));
                }
                None => self.ended += 1,
            }
        }
    }
}

impl Iterator for Recording {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_record().transpose();
        if matches!(next, Some(Err(_))) {
            // No records can be read behind the damage.
            self.ended = u32::MAX;
        }
        next
    }
}

/// Opens the file with the header.
fn open_first(input: Input) -> Result<(Description, RawRecords)> {
    let (mut description, kind) = Description::begin(input.head())?;
    let layout = match kind {
        FileKind::File(layout) => layout,
        FileKind::Pipe => {
            let input = match input.into_live() {
                Ok(reader) => {
                    description.is_live = true;
                    let source = ByteSource::Live(reader);
                    return Ok((
                        description.clone(),
                        RawRecords::new(source, header::PIPE_HEADER as u64, description.order),
                    ));
                }
                Err(input) => input,
            };
            let mut reader = input.into_reader();
            reader.read_full(&mut [0; header::PIPE_HEADER])?;
            let source = ByteSource::Stream(reader);
            let records = RawRecords::new(source, header::PIPE_HEADER as u64, description.order);
            return Ok((description, records));
        }
    };
    let (file, begin) = match input.file() {
        Some((file, begin)) => (file.try_clone().map_err(|e| Error::io("read", e))?, begin),
        // The features stand behind the samples, which need them: all of it has to be there.
        None => (copy_to_file(input)?, 0),
    };
    let size = file.metadata().map_err(|e| Error::io("read", e))?.len().saturating_sub(begin);
    description.read_parts(&layout, |section| read_section(&file, begin, size, section))?;
    let was_killed = layout.data.size == 0;
    let end = if was_killed { size } else { layout.data.end() };
    if end > size {
        let found = format!("the end of the file at byte {size}");
        return Err(reader::cut_short(&format!("records up to byte {end}"), &found));
    }
    let source = ByteSource::File { file, at: begin + layout.data.offset.min(end), end: begin + end };
    let mut records = RawRecords::new(source, layout.data.offset, description.order);
    records.may_be_cut = was_killed;
    Ok((description, records))
}

/// Opens the files of a folder that hold records only: `data.0`, `data.1`, ….
fn open_others(folder: &Path, first: &RawRecords, order: ByteOrder) -> Result<Vec<(Arc<str>, RawRecords)>> {
    let mut others = Vec::new();
    loop {
        let path = folder.join(format!("data.{}", others.len()));
        let name: Arc<str> = path.to_string_lossy().into();
        let error = |e| Error::io("open", e).at(Position::file(name.clone()));
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(others),
            Err(e) => return Err(error(e)),
        };
        let end = file.metadata().map_err(error)?.len();
        let mut records = RawRecords::new(ByteSource::File { file, at: 0, end }, 0, order);
        records.may_be_cut = first.may_be_cut;
        others.push((name, records));
    }
}

/// Copies an input to a private temporary file.
fn copy_to_file(input: Input) -> Result<File> {
    use std::io::Write;
    let name = input.name().clone();
    let mut file = tempfile::tempfile().map_err(|e| Error::io("make a temporary file for", e))?;
    let mut reader = input.into_reader();
    let mut buffer = vec![0; CHUNK];
    loop {
        let n = reader.read_full(&mut buffer)?;
        if n == 0 {
            return Ok(file);
        }
        let written = file.write_all(&buffer[..n]);
        written.map_err(|e| Error::io("write a temporary copy of", e).at(Position::file(name.clone())))?;
    }
}

//! Input: paths, standard input, bytes and readers, plain, gzip, zstd, bzip2, xz or lz4, as blocks. UTF-16 becomes UTF-8.
//!
//! Everything above this module reads decompressed bytes and does not know what was on disk. An
//! [`Input`] shows its first bytes ([`Input::head`]) so that a format can be recognised before
//! it is read, on pipes too; blocks cut the rest into pieces that end between records.
//!
//! ```
//! use fg_tools::Source;
//!
//! let input = Source::bytes("main;parse 42\n").named("memory").open()?;
//! assert_eq!((&**input.name(), input.head()), ("memory", &b"main;parse 42\n"[..]));
//! assert_eq!(input.read_all()?, b"main;parse 42\n");
//! # Ok::<(), fg_tools::Error>(())
//! ```

mod blocks;
mod decompress;
mod kept;
mod map;
mod metered;
mod reader;
mod scoped;
mod source;
mod stdin;
mod stored_bytes;
mod text_encoding;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Position, Result};
use crate::limits::Meter;
pub(crate) use blocks::MAX_RECORD;
pub(crate) use blocks::{Block, Blocks, last_newline, may_go_on};
pub(crate) use decompress::error as read_error;
pub(crate) use kept::Kept;
#[cfg(feature = "collapse")]
pub(crate) use map::Window;
pub(crate) use metered::InputMeter;
use metered::Metered;
pub use reader::Reader;
pub use source::Source;
pub(crate) use source::known_folder;
use stored_bytes::Counted;
pub(crate) use stored_bytes::StoredBytes;

/// The number of bytes that [`Input::head`] shows of a larger input.
pub const HEAD: usize = 64 * 1024;

/// An open, decompressed input.
pub struct Input {
    name: Arc<str>,
    head: Vec<u8>,
    rest: Box<dyn Read + Send>,
    /// The bytes that are read are not those on the disk.
    compressed: bool,
    /// The open file, and the offset at which the input begins.
    file: Option<(File, u64)>,
    /// The folder that was named, if the input is a file of it.
    folder: Option<PathBuf>,
    /// True if bytes are wanted as soon as they are there.
    #[cfg_attr(not(feature = "perf-data"), allow(dead_code))]
    live: bool,
    /// The bytes so far, if they may have to be read once more.
    kept: Kept,
    /// The limits of the reading.
    meter: Option<InputMeter>,
    #[cfg_attr(not(feature = "perf-data"), allow(dead_code))]
    stored: StoredBytes,
}

impl Input {
    /// Any reader, under a name for messages.
    ///
    /// # Errors
    /// The reader's, while the first bytes are read.
    pub fn new(name: impl Into<Arc<str>>, reader: Box<dyn Read + Send>) -> Result<Input> {
        Input::metered(name.into(), reader, None)
    }

    /// [`Input::new`] within the limits of a reading.
    fn metered(name: Arc<str>, reader: Box<dyn Read + Send>, meter: Option<InputMeter>) -> Result<Input> {
        let stored = StoredBytes::default();
        let reader = Box::new(Counted::new(reader, stored.clone()));
        let at = || Position::file(name.clone());
        let (head, mut rest, compressed) = decompress::open(reader).map_err(|e| e.or_at(at))?;
        if let Some(meter) = &meter {
            meter.count(head.len()).map_err(|e| e.or_at(at))?;
            rest = Box::new(Metered::new(rest, meter.clone()));
        }
        Ok(Input {
            name,
            head,
            rest,
            compressed,
            file: None,
            folder: None,
            live: false,
            kept: Kept::default(),
            stored,
            meter,
        })
    }

    /// A reader of what is made just now, behind a head that is known before. Nothing is read ahead.
    #[cfg(all(feature = "record", target_os = "linux"))]
    pub(crate) fn live(name: impl Into<Arc<str>>, head: Vec<u8>, rest: Box<dyn Read + Send>) -> Input {
        Input {
            name: name.into(),
            head,
            rest,
            compressed: false,
            file: None,
            folder: None,
            live: true,
            kept: Kept::default(),
            stored: StoredBytes::default(),
            meter: None,
        }
    }

    /// The reader behind the head, if it gives what is made just now.
    #[cfg(feature = "perf-data")]
    // It is called once for a recording.
    #[allow(clippy::result_large_err)]
    pub(crate) fn into_live(self) -> std::result::Result<Box<dyn Read + Send>, Input> {
        if self.live { Ok(self.rest) } else { Err(self) }
    }

    /// Refuses a plain file that is larger than the reading may be: it need not be read for that.
    fn check_size(&self) -> Result<()> {
        let Some((meter, (file, begin))) = self.meter.as_ref().zip(self.file.as_ref()) else { return Ok(()) };
        let size = file.metadata().map_or(0, |file| file.len()).saturating_sub(*begin);
        meter.meter().check_bytes(size).map_err(|e| e.or_at(|| Position::file(self.name.clone())))
    }

    /// A file within this input, such as one of an archive, by a reader of it.
    ///
    /// # Errors
    /// Those of [`Input::new`].
    pub(crate) fn member(
        name: Arc<str>,
        reader: Box<dyn Read + Send>,
        meter: Option<InputMeter>,
    ) -> Result<Input> {
        Input::metered(name, reader, meter)
    }

    /// The limits of all files within this input.
    pub(crate) fn meter_of_members(&self) -> Option<InputMeter> {
        self.meter.as_ref().map(InputMeter::of_members)
    }

    /// The limits of the reading.
    pub(crate) fn meter(&self) -> Option<&Arc<Meter>> {
        self.meter.as_ref().map(InputMeter::meter)
    }

    /// The name to use in messages.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The first [`HEAD`] bytes, or the whole of a shorter input.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The bytes that are kept for another reading: whoever knows that there will be none releases them.
    pub(crate) fn kept(&self) -> Kept {
        self.kept.clone()
    }

    /// The count of the bytes as they are stored, which goes on while the input is read.
    #[cfg(feature = "perf-data")]
    pub(crate) fn stored(&self) -> StoredBytes {
        self.stored.clone()
    }

    /// The rest as blocks of about `size` bytes.
    pub(crate) fn into_blocks(self, size: usize) -> Blocks {
        Blocks::new(self, size)
    }

    /// The file, if it can be read anywhere, and the offset at which the input begins; `None` for
    /// pipes and for compressed files.
    pub fn file(&self) -> Option<(&File, u64)> {
        self.file.as_ref().map(|(file, begin)| (file, *begin))
    }

    /// The folder that stands for one recording, of which this is the file to begin with.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The whole input as one stream that knows its position, for formats that are not lines.
    pub fn into_reader(self) -> Reader {
        Reader::new(self)
    }

    /// The bytes of the whole input, for formats that are not read in a stream.
    ///
    /// # Errors
    /// The system's, with the file's name.
    pub fn read_all(self) -> Result<Vec<u8>> {
        let Input { name, head: mut bytes, rest, meter, .. } = self;
        let at = || Position::file(name.clone());
        let most = meter.as_ref().map_or(u64::MAX, |meter| meter.meter().most_memory());
        let read = rest.take(most).read_to_end(&mut bytes);
        read.map_err(|e| decompress::error(e).or_at(at))?;
        match meter {
            Some(meter) if bytes.len() as u64 > most => Err(meter.meter().out_of_memory().or_at(at)),
            _ => Ok(bytes),
        }
    }
}

/// Reads from a place in a file until `buffer` is full or the file ends, and returns how many
/// bytes there are.
///
/// # Errors
/// The system's.
#[cfg(unix)]
pub fn read_at(file: &File, offset: u64, buffer: &mut [u8]) -> Result<usize> {
    use std::os::unix::fs::FileExt;
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Error::io("read", e)),
        }
    }
    Ok(filled)
}

/// Reads from a place in a file until `buffer` is full or the file ends, and returns how many
/// bytes there are.
///
/// # Errors
/// The system's.
#[cfg(not(unix))]
pub fn read_at(mut file: &File, offset: u64, buffer: &mut [u8]) -> Result<usize> {
    use std::io::{Seek, SeekFrom};
    let read = file.seek(SeekFrom::Start(offset)).and_then(|_| read_full(&mut file, buffer));
    read.map_err(|e| Error::io("read", e))
}

/// The lines of a text, without their line feeds. What follows the last line feed is a line too, though it be empty.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = memchr::memchr(b'\n', text);
        rest = end.map(|end| &text[end + 1..]);
        Some(&text[..end.unwrap_or(text.len())])
    })
}

/// A line without its carriage return and without blanks at its end: no format means anything by them.
#[inline]
pub(crate) fn trim_line_end(mut line: &[u8]) -> &[u8] {
    while let Some((b' ' | b'\r', rest)) = line.split_last() {
        line = rest;
    }
    line
}

/// Reads until `buffer` is full or the input ends, and returns how many bytes there are.
fn read_full(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    fn read(bytes: Vec<u8>) -> Result<Vec<u8>> {
        Input::new("test", Box::new(io::Cursor::new(bytes)))?.read_all()
    }

    #[test]
    fn undoes_compression_however_often_it_was_done() {
        let text = b"main;parse 1\n".repeat(20_000);
        assert_eq!(read(text.clone()).unwrap(), text);
        assert_eq!(read(gzip(&text)).unwrap(), text);
        assert_eq!(read(zstd(&text)).unwrap(), text);
        assert_eq!(read(zstd(&gzip(&text))).unwrap(), text);
        assert_eq!(read(Vec::new()).unwrap(), b"");
    }

    #[test]
    fn a_file_of_sixty_layers_says_so() {
        let sixty = (0..60).fold(b"main 1\n".to_vec(), |bytes, _| gzip(&bytes));
        let error = read(sixty).unwrap_err().to_string();
        assert_eq!(
            error,
            "test: expected a file compressed at most 4 times, found \"one compressed more often\""
        );
    }

    #[test]
    fn reads_members_written_one_after_the_other() {
        assert_eq!(read([gzip(b"a 1\n"), gzip(b"b 2\n")].concat()).unwrap(), b"a 1\nb 2\n");
        assert_eq!(read([zstd(b"a 1\n"), zstd(b"b 2\n")].concat()).unwrap(), b"a 1\nb 2\n");
    }

    /// `a 1`, compressed by `xz` and by `bzip2` 1.0.8.
    #[cfg(feature = "collapse")]
    const XZ: &[u8] = b"\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3\x01\x00\x03\x61\x20\x31\x0a\x00\x1f\xe3\x29\xfb\x8a\xe3\xf5\xdc\x00\x01\x1c\x04\x6f\x2c\x9c\xc1\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a";
    #[cfg(feature = "collapse")]
    const BZIP2: &[u8] = b"\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\x29\x18\x44\x48\x00\x00\x01\xd9\x00\x00\x10\x40\x00\x20\x00\x20\x00\x20\x00\x21\x9a\x68\x33\x4d\x32\xbc\x5d\xc9\x14\xe1\x42\x40\xa4\x61\x11\x20";

    #[test]
    #[cfg(feature = "collapse")]
    fn bzip2_and_xz_are_undone() {
        for (codec, bytes) in [("xz", XZ), ("bzip2", BZIP2)] {
            assert_eq!(read(bytes.to_vec()).unwrap(), b"a 1\n", "{codec}");
            assert_eq!(read([bytes, bytes].concat()).unwrap(), b"a 1\na 1\n", "{codec}");
            assert_eq!(read(gzip(bytes)).unwrap(), b"a 1\n", "{codec}");
            let error = read(bytes[..bytes.len() - 9].to_vec()).unwrap_err().to_string();
            assert!(error.starts_with(&format!("test: damaged {codec} data")), "{error}");
        }
    }

    #[test]
    #[cfg(feature = "collapse")]
    fn lz4_is_undone() {
        let lz4 = |bytes: &[u8]| {
            let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
            std::io::Write::write_all(&mut encoder, bytes).unwrap();
            encoder.finish().unwrap()
        };
        let text = b"a;b 1\n".repeat(100_000);
        assert_eq!(read(lz4(&text)).unwrap(), text);
        assert_eq!(read([lz4(b"a 1\n"), lz4(b"b 2\n")].concat()).unwrap(), b"a 1\nb 2\n");
        assert_eq!(read(gzip(&lz4(b"a 1\n"))).unwrap(), b"a 1\n");
        let whole = lz4(&text);
        let error = read(whole[..whole.len() - 9].to_vec()).unwrap_err().to_string();
        assert!(error.starts_with("test: damaged lz4 data"), "{error}");
    }

    #[test]
    #[cfg(feature = "collapse")]
    fn an_xz_file_does_not_choose_how_much_memory_it_takes() {
        // The header of a block says how large the dictionary is: 40 stands for 4 GiB.
        let error = read(b"\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x28\x00\x00\x00\xe6\xa0\x11\xb3\x01\x00\x03\x61\x20\x31\x0a\x00\x1f\xe3\x29\xfb\x8a\xe3\xf5\xdc\x00\x01\x1c\x04\x6f\x2c\x9c\xc1\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a".to_vec()).unwrap_err().to_string();
        assert!(error.starts_with("test: damaged xz data"), "{error}");
    }

    #[test]
    fn a_damaged_file_is_named_as_one() {
        let text: Vec<u8> =
            (0..200_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        for (codec, whole) in [("gzip", gzip(&text)), ("zstd", zstd(&text))] {
            let error = read(whole[..whole.len() / 2].to_vec()).unwrap_err().to_string();
            assert!(error.starts_with(&format!("test: damaged {codec} data")), "{error}");
        }
    }
}

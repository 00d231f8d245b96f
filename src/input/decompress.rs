//! gzip, zstd, bzip2, xz and lz4, told by their magic and undone while reading; encodings of text as well.

use std::fmt;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::HEAD;
use super::text_encoding::{Encoding, Utf8Text};
use crate::error::{Error, ErrorKind, Result};

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

#[cfg(feature = "collapse")]
const XZ: &[u8] = b"\xfd7zXZ\0";

#[cfg(feature = "collapse")]
const LZ4: &[u8] = &[0x04, 0x22, 0x4d, 0x18];

/// The memory that an xz file may ask for, in KiB: `xz -9` takes 64 MiB.
#[cfg(feature = "collapse")]
const MOST_XZ_MEMORY: u32 = 256 * 1024;

/// A file compressed more often than this was made to keep us busy.
const MAX_LAYERS: usize = 4;

/// The first bytes of the decompressed input, the whole of what follows them, and true if these are
/// not the bytes on the disk.
pub(super) fn open(mut reader: Box<dyn Read + Send>) -> Result<(Vec<u8>, Box<dyn Read + Send>, bool)> {
    for layer in 0..=MAX_LAYERS {
        let head = read_head(&mut *reader)?;
        let whole = |head: Vec<u8>, rest| BufReader::with_capacity(HEAD, Cursor::new(head).chain(rest));
        reader = if head.starts_with(GZIP) {
            let inner = flate2::bufread::MultiGzDecoder::new(whole(head, reader));
            Box::new(Codec { name: "gzip", inner })
        } else if head.starts_with(ZSTD) {
            let input = whole(head, reader);
            Box::new(Codec {
                name: "zstd",
                inner: ZstdFrames { decoder: FrameDecoder::new(), within: false, input },
            })
        } else if is_bzip2(&head) {
            bzip2(whole(head, reader))
        } else if is_xz(&head) {
            xz(whole(head, reader))
        } else if is_lz4(&head) {
            lz4(whole(head, reader))
        } else if let Some(encoding) = Encoding::of(&head) {
            let mut reader = Box::new(Utf8Text::new(whole(head, reader), encoding));
            return Ok((read_head(&mut *reader)?, reader, true));
        } else {
            return Ok((head, reader, layer > 0));
        };
    }
    Err(Error::malformed(
        format!("a file compressed at most {MAX_LAYERS} times"),
        b"one compressed more often",
    ))
}

/// The first [`HEAD`] bytes, or all of fewer. Most inputs are small: memory for more of them is not touched.
fn read_head(reader: &mut dyn Read) -> Result<Vec<u8>> {
    let mut head = Vec::with_capacity(HEAD);
    reader.take(HEAD as u64).read_to_end(&mut head).map_err(error)?;
    Ok(head)
}

/// `BZh9`, and the mark of a first block, or of none.
#[cfg(feature = "collapse")]
fn is_bzip2(head: &[u8]) -> bool {
    head.starts_with(b"BZh") && matches!(head.get(4..10), Some(b"1AY&SY" | b"\x17\x72\x45\x38\x50\x90"))
}

#[cfg(feature = "collapse")]
fn bzip2(input: Whole) -> Box<dyn Read + Send> {
    Box::new(Codec { name: "bzip2", inner: ::bzip2::bufread::MultiBzDecoder::new(input) })
}

#[cfg(feature = "collapse")]
fn is_xz(head: &[u8]) -> bool {
    head.starts_with(XZ)
}

#[cfg(feature = "collapse")]
fn xz(input: Whole) -> Box<dyn Read + Send> {
    Box::new(Codec { name: "xz", inner: lzma_rust2::XzReader::new_mem_limit(input, true, MOST_XZ_MEMORY) })
}

#[cfg(feature = "collapse")]
fn is_lz4(head: &[u8]) -> bool {
    head.starts_with(LZ4)
}

#[cfg(feature = "collapse")]
fn lz4(input: Whole) -> Box<dyn Read + Send> {
    let inner = Lz4Frames(lz4_flex::frame::FrameDecoder::new(input));
    Box::new(Codec { name: "lz4", inner })
}

/// Frames of lz4 one after the other; a block of 4 MiB is the most that one may ask for.
#[cfg(feature = "collapse")]
struct Lz4Frames(lz4_flex::frame::FrameDecoder<Whole>);

#[cfg(feature = "collapse")]
impl Read for Lz4Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() {
            match self.0.read(buffer)? {
                // The end of a frame, behind which the next one may stand.
                0 if !self.0.get_mut().fill_buf()?.is_empty() => {}
                n => return Ok(n),
            }
        }
        Ok(0)
    }
}

/// Without the formats of others, their compression is not known either.
#[cfg(not(feature = "collapse"))]
fn is_bzip2(_: &[u8]) -> bool {
    false
}

#[cfg(not(feature = "collapse"))]
fn bzip2(input: Whole) -> Box<dyn Read + Send> {
    Box::new(input)
}

#[cfg(not(feature = "collapse"))]
fn is_xz(_: &[u8]) -> bool {
    false
}

#[cfg(not(feature = "collapse"))]
fn xz(input: Whole) -> Box<dyn Read + Send> {
    Box::new(input)
}

#[cfg(not(feature = "collapse"))]
fn is_lz4(_: &[u8]) -> bool {
    false
}

#[cfg(not(feature = "collapse"))]
fn lz4(input: Whole) -> Box<dyn Read + Send> {
    Box::new(input)
}

/// A read error as one of ours: a limit that was reached, a codec's complaint, or the system's.
pub(crate) fn error(source: io::Error) -> Error {
    let source = match source.downcast::<Error>() {
        Ok(error) => return error,
        Err(source) => source,
    };
    match source.get_ref().and_then(|inner| inner.downcast_ref::<CodecError>()) {
        Some(CodecError { codec, source }) => {
            let source = io::Error::new(source.kind(), source.to_string());
            ErrorKind::Compression { codec, source }.into()
        }
        None => Error::io("read", source),
    }
}

/// Marks the errors of a decoder, so that they are told from those of the disk below it.
struct Codec<R> {
    name: &'static str,
    inner: R,
}

#[derive(Debug)]
struct CodecError {
    codec: &'static str,
    source: io::Error,
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl std::error::Error for CodecError {}

impl<R: Read> Read for Codec<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|source| match source.kind() {
            io::ErrorKind::Interrupted => source,
            _ if source.raw_os_error().is_some() => source,
            kind => io::Error::new(kind, CodecError { codec: self.name, source }),
        })
    }
}

type Whole = BufReader<io::Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>>;

/// Zstd frames one after the other, skippable ones among them.
struct ZstdFrames {
    decoder: FrameDecoder,
    within: bool,
    input: Whole,
}

impl ZstdFrames {
    /// Starts the next frame; `false` at the input's end.
    fn start(&mut self) -> io::Result<bool> {
        while !self.input.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.input) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut (&mut self.input).take(length.into()), &mut io::sink())?;
                }
                Err(e) => return Err(io::Error::new(io::ErrorKind::InvalidData, e.to_string())),
            }
        }
        Ok(false)
    }
}

impl Read for ZstdFrames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() {
            if self.within {
                let n = self.decoder.read(buffer)?;
                if n > 0 {
                    return Ok(n);
                }
                if !self.decoder.is_finished() {
                    let one = BlockDecodingStrategy::UptoBlocks(1);
                    let decoded = self.decoder.decode_blocks(&mut self.input, one);
                    decoded.map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))?;
                    continue;
                }
            }
            self.within = self.start()?;
            if !self.within {
                break;
            }
        }
        Ok(0)
    }
}

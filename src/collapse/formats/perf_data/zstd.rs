//! The one endless zstd frame in which `perf record -z` writes its records.
//!
//! Each record of perf's holds the next piece of it, and a block of the frame may begin in one
//! and end in the next. The frame has no end, so the decoder, which keeps back as much as later
//! blocks may refer to, is told of one when there is no more input.

use std::io::Read;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::error::{Error, ErrorKind, Result};

/// A decoder that is fed with pieces.
#[derive(Default)]
pub(super) struct Inflater {
    decoder: Option<FrameDecoder>,
    /// Bytes that are not a whole block yet.
    pending: Vec<u8>,
    /// The number of bytes the decoder may keep back.
    window: u64,
    /// True if a checksum follows the last block.
    checksum: bool,
}

/// The largest size one record may unpack to: as much as perf has taken from its buffers at once.
const MOST: usize = 256 << 20;

/// The window of the highest level, `perf record -z22`.
const LARGEST_WINDOW: u64 = 128 << 20;

impl Inflater {
    /// Returns whether what was fed ends with a whole block.
    pub fn is_whole(&self) -> bool {
        self.pending.is_empty()
    }

    /// The number of bytes that the decoder may still keep back.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Takes the next piece, and appends what has become readable.
    pub fn feed(&mut self, piece: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.pending.extend_from_slice(piece);
        let mut done = 0;
        while let Some(len) = self.step(done)? {
            done += len;
            self.collect(out)?;
            if out.len() > MOST {
                return Err(error("a record unpacks to more than all buffers of a recording hold"));
            }
        }
        self.pending.drain(..done);
        Ok(())
    }

    /// Appends what was kept back: there are no more pieces.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let Some(decoder) = &mut self.decoder else { return Ok(()) };
        if !decoder.is_finished() {
            // An empty last block, and a checksum that is not compared.
            let end: &[u8] = if self.checksum { &[1, 0, 0, 0, 0, 0, 0] } else { &[1, 0, 0] };
            decoder.decode_blocks(end, BlockDecodingStrategy::All).map_err(error)?;
        }
        self.collect(out)
    }

    /// Reads one header or block of the pending bytes, and returns its length; `None` if it is not
    /// complete.
    fn step(&mut self, from: usize) -> Result<Option<usize>> {
        let input = &self.pending[from..];
        if self.decoder.as_ref().is_none_or(FrameDecoder::is_finished) {
            let Some((len, window, checksum)) = frame_header(input)? else { return Ok(None) };
            let mut decoder = self.decoder.take().unwrap_or_default();
            decoder.set_max_window_size(LARGEST_WINDOW);
            decoder.init(input).map_err(error)?;
            self.decoder = Some(decoder);
            (self.window, self.checksum) = (window, checksum);
            return Ok(Some(len));
        }
        let Some(&[a, b, c]) = input.first_chunk() else { return Ok(None) };
        let header = u32::from_le_bytes([a, b, c, 0]);
        let last = header & 1 != 0;
        // Raw and compressed blocks say their length, a block of one repeated byte has that.
        let content = if header >> 1 & 3 == 1 { 1 } else { header as usize >> 3 };
        let len = 3 + content + if last && self.checksum { 4 } else { 0 };
        let Some(block) = input.get(..len) else { return Ok(None) };
        let decoder = self.decoder.as_mut().expect("it was made with the frame's header");
        decoder.decode_blocks(block, BlockDecodingStrategy::UptoBlocks(1)).map_err(error)?;
        Ok(Some(len))
    }

    fn collect(&mut self, out: &mut Vec<u8>) -> Result<()> {
        if let Some(decoder) = &mut self.decoder {
            decoder.collect_to_writer(&mut *out).map_err(error)?;
            // The rest of a frame that is complete.
            if decoder.is_finished() {
                decoder.read_to_end(out).map_err(error)?;
            }
        }
        Ok(())
    }
}

/// The length of a frame's header, its window, and whether a checksum ends it; `None` if it is not
/// all there.
fn frame_header(input: &[u8]) -> Result<Option<(usize, u64, bool)>> {
    const MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
    if !input.starts_with(&MAGIC[..input.len().min(4)]) {
        return Err(error("no frame of zstd"));
    }
    let Some(&descriptor) = input.get(4) else { return Ok(None) };
    let single = descriptor & 0x20 != 0;
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size_bytes = match descriptor >> 6 {
        0 => usize::from(single),
        n => 1 << n,
    };
    let window_bytes = usize::from(!single);
    let len = 5 + window_bytes + dictionary + size_bytes;
    let Some(header) = input.get(..len) else { return Ok(None) };
    let window = if single {
        let mut size = [0; 8];
        size[..size_bytes].copy_from_slice(&header[len - size_bytes..]);
        u64::from_le_bytes(size) + if size_bytes == 2 { 256 } else { 0 }
    } else {
        let base = 1u64 << (10 + (header[5] >> 3));
        base + base / 8 * u64::from(header[5] & 7)
    };
    if window > LARGEST_WINDOW {
        return Err(error("it wants to refer too far back"));
    }
    Ok(Some((len, window, descriptor & 4 != 0)))
}

fn error(why: impl std::fmt::Display) -> Error {
    let source = std::io::Error::new(std::io::ErrorKind::InvalidData, why.to_string());
    ErrorKind::Compression { codec: "zstd", source }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame that was never ended, as perf leaves it: the last block's mark is taken away.
    fn endless(text: &[u8]) -> Vec<u8> {
        let mut frame = ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest);
        let (header, _, checksum) = frame_header(&frame).unwrap().unwrap();
        let mut at = header;
        loop {
            let block = u32::from_le_bytes([frame[at], frame[at + 1], frame[at + 2], 0]);
            if block & 1 != 0 {
                frame[at] &= !1;
                break;
            }
            at += 3 + if block >> 1 & 3 == 1 { 1 } else { block as usize >> 3 };
        }
        if checksum {
            frame.truncate(frame.len() - 4);
        }
        frame
    }

    #[test]
    fn pieces_may_be_cut_anywhere() {
        let text: Vec<u8> = (0..200_000u32).flat_map(|n| (n % 777).to_le_bytes()).collect();
        let frame = endless(&text);
        for size in [1, 7, 1000, 70_000, frame.len()] {
            let mut inflater = Inflater::default();
            let mut out = Vec::new();
            let mut fed = 0;
            for piece in frame.chunks(size) {
                inflater.feed(piece, &mut out).unwrap();
                fed += piece.len();
                assert!(fed < frame.len() || text.len() as u64 - out.len() as u64 <= inflater.window());
            }
            inflater.finish(&mut out).unwrap();
            assert!(out == text, "in pieces of {size}");
        }
    }

    #[test]
    fn damage_is_an_error() {
        let text: Vec<u8> =
            (0..50_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let frame = endless(&text);
        let mut inflater = Inflater::default();
        let mut out = Vec::new();
        inflater.feed(&frame[..frame.len() - 1], &mut out).unwrap();
        assert!(!inflater.is_whole());
        inflater.finish(&mut out).unwrap();
        assert!(text.starts_with(&out) && out.len() < text.len());
        let error = Inflater::default().feed(b"nothing of the kind", &mut out).unwrap_err();
        assert!(error.to_string().contains("damaged zstd data"), "{error}");
        for at in 0..frame.len().min(3000) {
            let mut damaged = frame.clone();
            damaged[at] ^= 0x55;
            let mut inflater = Inflater::default();
            let _ = inflater.feed(&damaged, &mut Vec::new()).and_then(|()| inflater.finish(&mut Vec::new()));
        }
    }
}

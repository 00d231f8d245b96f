//! Zip archives, read from their first byte: each file has a header of its own in front of it, so that a pipe does.
//!
//! Files are stored or deflated, whose checksums are held against what comes out; those packed by bzip2, zstd and
//! xz are handed on as they are, to be told by their magic. The format is PKWARE's `APPNOTE.TXT`, which calls
//! these headers local.

use std::io::{self, BufRead};

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::{Unpack, damaged, read_stored};
use crate::error::{Error, Result};
use crate::input::Reader;

const FILE: &[u8] = b"PK\x03\x04";
const EMPTY: &[u8] = b"PK\x05\x06";
/// The marks in front of the list of all files, and of the parts that may precede it.
const LISTS: [&[u8]; 4] = [b"PK\x01\x02", EMPTY, b"PK\x06\x08", b"PK\x06\x06"];

/// A size of zip's first version that stands for a longer one elsewhere.
const ELSEWHERE: u64 = 0xffff_ffff;

/// Returns whether the first bytes are those of a zip archive.
pub fn is_zip(head: &[u8]) -> bool {
    head.starts_with(FILE) || head.starts_with(EMPTY)
}

/// A zip archive.
pub struct Zip {
    reader: Reader,
    content: Content,
}

/// The content of the current file.
enum Content {
    /// It was read to its end.
    Nothing,
    /// As it is, with the bytes that are still to come; the checksum of files that are packed by others is not held
    /// against anything.
    Stored {
        left: u64,
        crc: Option<(Crc, u32)>,
    },
    Deflated(Box<Deflated>),
}

/// A file that is being inflated.
struct Deflated {
    inflate: Decompress,
    crc: Crc,
    /// Its checksum, unless it follows behind the file.
    stated: Option<u32>,
}

impl Zip {
    /// Begins before the first file.
    pub fn new(reader: Reader) -> Zip {
        Zip { reader, content: Content::Nothing }
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        let place = self.reader.place();
        let read = self.reader.read_full(&mut bytes)?;
        if read < N {
            return Err(Error::malformed("a whole zip archive", b"the end").at(place));
        }
        Ok(bytes)
    }

    /// Reads what stands behind a file whose sizes were not known in front of it, and returns its checksum.
    fn descriptor(&mut self, packed: u64, unpacked: u64) -> Result<u32> {
        let mut crc: [u8; 4] = self.bytes()?;
        if &crc == b"PK\x07\x08" {
            crc = self.bytes()?;
        }
        // The sizes have four bytes each, or eight.
        let sizes: [[u8; 4]; 2] = [self.bytes()?, self.bytes()?];
        let low = |size: u64| (size & ELSEWHERE) as u32;
        if sizes.map(u32::from_le_bytes) != [low(packed), low(unpacked)] {
            self.bytes::<8>()?;
        }
        Ok(u32::from_le_bytes(crc))
    }

    fn inflate(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Content::Deflated(deflated) = &mut self.content else { return Ok(0) };
        loop {
            let input = self.reader.fill_buf()?;
            let is_end = input.is_empty();
            let before = (deflated.inflate.total_in(), deflated.inflate.total_out());
            let status = deflated.inflate.decompress(input, buffer, FlushDecompress::None);
            let taken = (deflated.inflate.total_in() - before.0) as usize;
            let given = (deflated.inflate.total_out() - before.1) as usize;
            self.reader.consume(taken);
            deflated.crc.update(&buffer[..given]);
            match status.map_err(|e| damaged(&e.to_string()))? {
                Status::StreamEnd => {
                    let (sum, stated) = (deflated.crc.sum(), deflated.stated);
                    let (packed, unpacked) = (deflated.inflate.total_in(), deflated.inflate.total_out());
                    self.content = Content::Nothing;
                    let stated = match stated {
                        Some(stated) => stated,
                        None => self.descriptor(packed, unpacked).map_err(|e| damaged(&e.to_string()))?,
                    };
                    if stated != sum {
                        return Err(damaged("the checksum of a file in it is wrong"));
                    }
                    return Ok(given);
                }
                _ if given > 0 => return Ok(given),
                _ if is_end => return Err(damaged("it ends within a file")),
                _ if taken == 0 => return Err(damaged("a file in it cannot be inflated")),
                _ => {}
            }
        }
    }
}

impl Unpack for Zip {
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            let place = self.reader.place();
            let magic: [u8; 4] = self.bytes()?;
            if LISTS.contains(&&magic[..]) {
                return Ok(None);
            }
            if magic != FILE {
                return Err(Error::malformed("the header of a file in a zip archive", &magic).at(place));
            }
            let header: [u8; 26] = self.bytes()?;
            let short = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
            let long = |at: usize| u32::from(short(at)) | u32::from(short(at + 2)) << 16;
            let (flags, method, crc) = (short(2), short(4), long(10));
            let (mut packed, unpacked) = (u64::from(long(14)), u64::from(long(18)));
            let mut name = Vec::new();
            self.reader.append(short(22).into(), &mut name)?;
            let mut extra = Vec::new();
            self.reader.append(short(24).into(), &mut extra)?;
            let refuse = |what: &str, found: &[u8]| {
                let what = format!("{what}; unpack the archive and give the recordings in it");
                Err(Error::malformed(what, found).at(place.clone()))
            };
            if flags & 1 != 0 {
                return refuse("a file without a password", &name);
            }
            if packed == ELSEWHERE {
                packed = long_size(&extra, unpacked == ELSEWHERE).unwrap_or(packed);
            }
            let follows = flags & 8 != 0;
            let stated = (!follows).then_some(crc);
            self.content = match method {
                8 => {
                    let inflate = Decompress::new(false);
                    Content::Deflated(Box::new(Deflated { inflate, crc: Crc::new(), stated }))
                }
                0 | 12 | 93 | 95 if follows && packed == 0 => {
                    return refuse("a file whose size stands in front of it", &name);
                }
                0 => Content::Stored { left: packed, crc: stated.map(|crc| (Crc::new(), crc)) },
                12 | 93 | 95 => Content::Stored { left: packed, crc: None },
                other => {
                    return refuse("a file packed by a known method", format!("method {other}").as_bytes());
                }
            };
            if !name.ends_with(b"/") {
                return Ok(Some(name));
            }
            let mut none = [0; 1];
            while self.read(&mut none).map_err(|e| crate::input::read_error(e).at(place.clone()))? > 0 {}
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        match &mut self.content {
            Content::Nothing => Ok(0),
            Content::Stored { left, crc } => {
                let read = read_stored(&mut self.reader, left, buffer)?;
                if let Some((sum, stated)) = crc {
                    sum.update(&buffer[..read]);
                    if *left == 0 && sum.sum() != *stated {
                        return Err(damaged("the checksum of a file in it is wrong"));
                    }
                }
                Ok(read)
            }
            Content::Deflated(_) => self.inflate(buffer),
        }
    }
}

/// The packed size in the field of zip64 among a header's extra ones, behind the unpacked size.
fn long_size(mut extra: &[u8], behind_unpacked: bool) -> Option<u64> {
    while let Some((head, rest)) = extra.split_at_checked(4) {
        let length = usize::from(u16::from_le_bytes([head[2], head[3]]));
        let field = rest.get(..length)?;
        if head[..2] == [1, 0] {
            let at = if behind_unpacked { 8 } else { 0 };
            return Some(u64::from_le_bytes(field.get(at..at + 8)?.try_into().ok()?));
        }
        extra = &rest[length..];
    }
    None
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::{Read, Write};

    use super::*;
    use crate::input::Input;

    fn file(name: &str, bytes: &[u8], deflate: bool, follows: bool) -> Vec<u8> {
        let mut crc = Crc::new();
        crc.update(bytes);
        let packed = match deflate {
            false => bytes.to_vec(),
            true => {
                let mut out = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
                out.write_all(bytes).unwrap();
                out.finish().unwrap()
            }
        };
        let sizes = [crc.sum(), packed.len() as u32, bytes.len() as u32].map(u32::to_le_bytes).concat();
        let mut out = FILE.to_vec();
        out.extend([20, 0, if follows { 8 } else { 0 }, 0, if deflate { 8 } else { 0 }, 0, 0, 0, 0, 0]);
        if follows {
            out.extend([0; 12])
        } else {
            out.extend_from_slice(&sizes)
        }
        out.extend([name.len() as u8, 0, 0, 0]);
        out.extend_from_slice(name.as_bytes());
        out.extend(packed);
        if follows {
            out.extend_from_slice(b"PK\x07\x08");
            out.extend_from_slice(&sizes);
        }
        out
    }

    pub(crate) fn stored(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut out: Vec<u8> =
            files.iter().flat_map(|(name, bytes)| file(name, bytes, false, false)).collect();
        out.extend_from_slice(b"PK\x01\x02 and so on");
        out
    }

    fn contents(bytes: Vec<u8>) -> Result<Vec<(String, Vec<u8>)>> {
        let input = Input::new("test", Box::new(io::Cursor::new(bytes)))?;
        let mut zip = Zip::new(input.into_reader());
        let mut files = Vec::new();
        while let Some(name) = zip.next()? {
            let mut all = Vec::new();
            let mut buffer = [0; 1000];
            loop {
                match zip.read(&mut buffer).map_err(|e| Error::io("read", e))? {
                    0 => break,
                    n => all.extend_from_slice(&buffer[..n]),
                }
            }
            files.push((String::from_utf8(name).unwrap(), all));
        }
        Ok(files)
    }

    #[test]
    fn files_come_one_after_the_other_however_they_are_packed() {
        let mut text = Vec::new();
        io::repeat(b'x').take(100_000).read_to_end(&mut text).unwrap();
        let bytes = [
            file("folder/", b"", false, false),
            file("a", b"stored", false, false),
            file("b", &text, true, false),
            file("c", &text, true, true),
            file("d", b"", true, true),
            EMPTY.to_vec(),
        ]
        .concat();
        let expected = [("a", &b"stored"[..]), ("b", &text), ("c", &text), ("d", b"")]
            .map(|(n, t)| (n.to_owned(), t.to_vec()));
        assert_eq!(contents(bytes).unwrap(), expected);
    }

    #[test]
    fn what_is_damaged_or_cannot_be_read_is_told() {
        let error = |bytes: Vec<u8>| contents(bytes).unwrap_err().to_string();
        let whole = file("a", b"main;f 1\n", true, false);
        assert!(error(whole[..whole.len() - 3].to_vec()).contains("ends within a file"));
        assert!(error(whole.clone()).contains("a whole zip archive"));
        for at in [14, 30 + 1 + 4] {
            let mut wrong = whole.clone();
            wrong[at] ^= 0x55;
            assert!(error(wrong).contains("damaged archive"), "byte {at}");
        }
        let mut secret = whole.clone();
        secret[6] = 1;
        assert!(error(secret).contains("expected a file without a password; unpack"));
        let mut method = whole;
        method[8] = 14;
        assert!(error(method).contains("found \"method 14\""));
        let mut unsized_file = file("a", b"", false, true);
        unsized_file.truncate(31);
        assert!(error(unsized_file).contains("whose size stands in front"));
    }
}

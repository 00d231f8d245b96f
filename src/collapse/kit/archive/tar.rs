//! Tar archives: a header of 512 bytes, the file, and zeros up to the next 512.
//!
//! Plain, GNU and pax archives are read as far as names and sizes go; directories, links and devices are passed
//! over. POSIX describes the format under `pax`, GNU's additions are in its manual, "Basic Tar Format".

use std::io;

use super::{Unpack, read_stored};
use crate::error::{Error, Result};
use crate::input::Reader;
use crate::number;

const BLOCK: usize = 512;

/// The longest name, or list of pax's records.
const LONGEST: u64 = 1 << 20;

/// Returns whether the first block is a header: its checksum is right.
pub fn is_tar(head: &[u8]) -> bool {
    head.get(..BLOCK).is_some_and(|block| block[0] != 0 && is_header(block))
}

fn is_header(block: &[u8]) -> bool {
    // The checksum counts itself as blanks.
    let sum = |at: usize, byte: u8| u64::from(if (148..156).contains(&at) { b' ' } else { byte });
    let sum: u64 = block.iter().enumerate().map(|(at, byte)| sum(at, *byte)).sum();
    octal_or_binary(&block[148..156]) == Some(sum)
}

/// A number: octal digits, or of GNU, binary behind a first byte of 0x80.
fn octal_or_binary(field: &[u8]) -> Option<u64> {
    if field[0] == 0x80 {
        let (high, low) = field.split_at(field.len() - 8);
        let is_small = high.iter().skip(1).all(|byte| *byte == 0);
        return is_small.then(|| low.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)));
    }
    let digits = field.split(|byte| *byte == 0).next()?.trim_ascii();
    let text = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?;
    u64::from_str_radix(text, 8).ok()
}

fn text(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// A tar archive.
pub struct Tar {
    reader: Reader,
    /// The bytes of the file that are still to come, and of the zeros behind it.
    left: u64,
    padding: u64,
}

impl Tar {
    /// Begins before the first file.
    pub fn new(reader: Reader) -> Tar {
        Tar { reader, left: 0, padding: 0 }
    }

    /// The data of an entry that tells of the next one.
    fn data(&mut self, size: u64) -> Result<Vec<u8>> {
        if size > LONGEST {
            let expected = format!("a name of at most {LONGEST} bytes");
            return Err(Error::malformed(expected, size.to_string().as_bytes()).at(self.reader.place()));
        }
        let mut data = Vec::new();
        self.reader.append(size, &mut data)?;
        self.reader.skip(padding(size))?;
        Ok(data)
    }
}

fn padding(size: u64) -> u64 {
    size.wrapping_neg() % BLOCK as u64
}

impl Unpack for Tar {
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        self.reader.skip(std::mem::take(&mut self.padding))?;
        let (mut long_name, mut long_size) = (None, None);
        loop {
            let mut block = [0; BLOCK];
            let place = self.reader.place();
            let read = self.reader.read_full(&mut block)?;
            // The end is two blocks of zeros, which some writers leave out.
            if read == 0 || block.iter().all(|byte| *byte == 0) {
                return Ok(None);
            }
            if read < BLOCK || !is_header(&block) {
                return Err(
                    Error::malformed("the header of a file in a tar archive", &block[..read]).at(place)
                );
            }
            let Some(size) = octal_or_binary(&block[124..136]) else {
                return Err(Error::malformed("the size of a file", &block[124..136]).at(place));
            };
            match block[156] {
                b'L' => long_name = Some(text(&self.data(size)?).to_vec()),
                b'x' => {
                    let records = self.data(size)?;
                    long_name = pax(&records, b"path").map(<[u8]>::to_vec).or(long_name);
                    let size = pax(&records, b"size").and_then(number::parse);
                    long_size = size.or(long_size);
                }
                b'0' | b'\0' | b'7' => {
                    let size = long_size.unwrap_or(size);
                    (self.left, self.padding) = (size, padding(size));
                    return Ok(Some(long_name.unwrap_or_else(|| name(&block))));
                }
                // Directories, links, devices, and records for the whole archive.
                kind => {
                    let size = if matches!(kind, b'1'..=b'6') { 0 } else { size };
                    self.reader.skip(size)?;
                    self.reader.skip(padding(size))?;
                    (long_name, long_size) = (None, None);
                }
            }
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read_stored(&mut self.reader, &mut self.left, buffer)
    }
}

/// The name of a header, with the folders in front of it.
fn name(block: &[u8]) -> Vec<u8> {
    let name = text(&block[..100]);
    // GNU's own headers have times in the place of POSIX's prefix.
    match text(&block[345..500]) {
        prefix if !prefix.is_empty() && &block[257..263] == b"ustar\0" => [prefix, b"/", name].concat(),
        _ => name.to_vec(),
    }
}

/// The value of a key in pax's records, `30 path=recordings/a.pb.gz` and a newline, the length being that of all.
fn pax<'r>(mut records: &'r [u8], key: &[u8]) -> Option<&'r [u8]> {
    let mut found = None;
    while let Some(blank) = memchr::memchr(b' ', records) {
        let length: usize = number::parse(&records[..blank])?;
        let record = records.get(blank + 1..length)?.strip_suffix(b"\n")?;
        records = &records[length..];
        if let Some(value) = record.strip_prefix(key).and_then(|rest| rest.strip_prefix(b"=")) {
            found = Some(value);
        }
    }
    found
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::input::Input;

    pub(crate) fn header(name: &str, size: u64, kind: u8) -> Vec<u8> {
        let mut block = vec![0; BLOCK];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
        block[148..156].fill(b' ');
        block[156] = kind;
        block[257..263].copy_from_slice(b"ustar\0");
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        block
    }

    fn names(bytes: Vec<u8>) -> Result<Vec<String>> {
        let input = Input::new("test", Box::new(io::Cursor::new(bytes)))?;
        let mut tar = Tar::new(input.into_reader());
        let mut names = Vec::new();
        while let Some(name) = tar.next()? {
            let mut bytes = vec![0; 100];
            while tar.read(&mut bytes).map_err(|e| Error::io("read", e))? > 0 {}
            names.push(String::from_utf8(name).unwrap());
        }
        Ok(names)
    }

    #[test]
    fn long_names_are_those_of_gnu_and_pax() {
        let record = |text: &str| format!("{} {text}\n", text.len() + 4).into_bytes();
        let entry = |kind, data: &[u8]| {
            let mut out = [header("x", data.len() as u64, kind), data.to_vec()].concat();
            out.resize(out.len().next_multiple_of(BLOCK), 0);
            out
        };
        let folder = header("folder/", 0, b'5');
        let bytes = [
            folder,
            entry(b'L', b"a/long/name\0"),
            entry(b'0', b"1"),
            entry(b'g', &record("comment=0")),
            entry(b'x', &record("path=by/pax")),
            entry(b'0', &[7; 600]),
            entry(b'\0', b""),
        ];
        assert_eq!(names(bytes.concat()).unwrap(), ["a/long/name", "by/pax", "x"]);
        let mut big = bytes[6].clone();
        big[124..136].copy_from_slice(b"\x80\0\0\0\0\0\0\0\0\0\x02\0");
        assert_eq!(octal_or_binary(&big[124..136]), Some(512));
        assert_eq!(octal_or_binary(b"99999999 \0\0\0"), None);
    }

    #[test]
    fn sizes_are_not_believed() {
        let claimed =
            names([header("a", 0o7_7777_7777, b'0'), vec![1; 100]].concat()).unwrap_err().to_string();
        assert!(claimed.contains("damaged archive"), "{claimed}");
        let name = names([header("a", 1 << 30, b'L'), vec![1; 100]].concat()).unwrap_err().to_string();
        assert!(name.contains("a name of at most"), "{name}");
        let next = names([header("a", 0, b'0'), vec![1; 600]].concat()).unwrap_err().to_string();
        assert!(next.starts_with("test: byte 512: expected the header of a file"), "{next}");
    }
}

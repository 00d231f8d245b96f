//! `perf-PID.map`: a line for each function, written by the process itself.
//!
//! ```text
//! 7f1b50a04000 2a JS:~prepare node:internal/process:52:36
//! 0x7f1b50a04040 0x1c Builtin:ArgumentsAdaptorTrampoline
//! ```
//!
//! Start and size in hexadecimal, the rest of the line is the name (node 18; `tools/perf/
//! Documentation/jit-interface.txt` in the kernel). Nobody closes the file: the last line may be
//! cut, and code that was moved or freed leaves its lines behind.

use std::io;
use std::ops::Range;
use std::path::Path;

use super::super::intervals::Intervals;
use super::super::owned::Owners;
use crate::number;

/// The functions of a process by address.
#[derive(Debug, Default)]
pub struct PerfMap {
    text: Vec<u8>,
    /// The places of the names in the text: those further down are newer.
    names: Intervals<Range<usize>>,
    not_understood: u64,
}

impl PerfMap {
    /// Reads the file if it belongs to root or to the user of this process.
    ///
    /// # Errors
    /// Those of [`PerfMap::read_of`].
    pub fn read(path: &Path) -> io::Result<PerfMap> {
        PerfMap::read_of(path, &Owners::default())
    }

    /// Reads the file if it belongs to one of these users.
    ///
    /// # Errors
    /// Errors of the system; a file of another user.
    pub fn read_of(path: &Path, owners: &Owners) -> io::Result<PerfMap> {
        super::read(path, owners).map(PerfMap::parse)
    }

    /// Takes its text apart. Lines that are none are counted.
    pub fn parse(text: Vec<u8>) -> PerfMap {
        let mut entries = Vec::new();
        let mut not_understood = 0;
        let mut start = 0;
        while start < text.len() {
            let end = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |n| start + n);
            match parse_line(&text[start..end]) {
                Some((from, to, name)) => entries.push((from, to, name.start + start..name.end + start)),
                None if text[start..end].trim_ascii().is_empty() => {}
                None => not_understood += 1,
            }
            start = end + 1;
        }
        // The newest code at a place counts: reversed, a stable sort puts it first. Code that is
        // partly overwritten stays.
        entries.reverse();
        entries.sort_by_key(|(from, ..)| *from);
        entries.dedup_by_key(|(from, ..)| *from);
        PerfMap { text, names: Intervals::new(entries), not_understood }
    }

    /// The function at an address of the process.
    pub fn find(&self, address: u64) -> Option<&[u8]> {
        let newest = self.names.containing(address).max_by_key(|(_, name)| name.start)?;
        Some(&self.text[newest.1.clone()])
    }

    /// The number of lines that were not understood.
    pub fn not_understood(&self) -> u64 {
        self.not_understood
    }

    /// The number of functions.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns whether it has none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// Start, end, and where in the line the name is.
fn parse_line(line: &[u8]) -> Option<(u64, u64, Range<usize>)> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let first = memchr::memchr(b' ', line)?;
    let second = first + 1 + memchr::memchr(b' ', &line[first + 1..])?;
    let start = number::hex(&line[..first])?;
    let size = number::hex(&line[first + 1..second])?;
    let name = second + 1..line.len();
    // Some writers give an unknown size as 0; the first byte still belongs to the code.
    let end = start.saturating_add(size.max(1));
    (!name.is_empty()).then_some((start, end, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn finds_functions() {
        let map = PerfMap::parse(
            b"1000 10 first\n0x2000 0x20 with blanks (a; b)\r\n3000 0 point\n2000 8 second of the place\n4000 10 cut"
                .to_vec(),
        );
        let find = |at| map.find(at).map(|name| String::from_utf8_lossy(name).into_owned());
        assert_eq!(find(0xfff), None);
        assert_eq!(find(0x1000).as_deref(), Some("first"));
        assert_eq!(find(0x100f).as_deref(), Some("first"));
        assert_eq!(find(0x1010), None);
        assert_eq!(find(0x2007).as_deref(), Some("second of the place"));
        assert_eq!(find(0x3000).as_deref(), Some("point"));
        assert_eq!(find(0x4001).as_deref(), Some("cut"));
        assert_eq!((map.len(), map.not_understood()), (4, 0));
    }

    #[test]
    fn code_partly_written_over_is_still_found() {
        let map = PerfMap::parse(b"1000 100 outer\n1010 10 inner\n".to_vec());
        assert_eq!(map.find(0x1018), Some(&b"inner"[..]));
        assert_eq!(map.find(0x1020), Some(&b"outer"[..]));
        let map = PerfMap::parse(b"1010 10 old and small\n1000 100 new and large\n".to_vec());
        assert_eq!(map.find(0x1018), Some(&b"new and large"[..]));
    }

    #[test]
    fn hostile_lines_are_counted() {
        for (text, bad) in [
            ("", 0),
            ("\n\r\n  \n", 0),
            ("1000", 1),
            ("1000 10", 1),
            ("1000 10 ", 1),
            ("zz 10 f\n1000 zz f\n", 2),
            ("11112222333344445 1 f\n", 1),
            ("ffffffffffffffff ffffffffffffffff f\n", 0),
            ("-1 1 f\n+1 1 f\n", 2),
            (" 1000 1 f\n", 1),
        ] {
            assert_eq!(PerfMap::parse(text.into()).not_understood(), bad, "{text:?}");
        }
        assert_eq!(
            PerfMap::parse(b"fffffffffffffff0 ffffffffffffffff f\n".to_vec()).find(u64::MAX - 1),
            Some(&b"f"[..])
        );
        assert_eq!(PerfMap::parse(b"1 1 \xff\x00;\n".to_vec()).find(1), Some(&b"\xff\x00;"[..]));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(text in proptest::collection::vec(any::<u8>(), 0..300), at in any::<u64>()) {
            PerfMap::parse(text).find(at);
        }
    }
}

//! The fields of a tracepoint's data, as the recording describes them: `bytes_req` of kmem:kmalloc.
//!
//! ```text
//! name: kmalloc
//! ID: 571
//! format:
//!     field:unsigned short common_type;       offset:0;       size:2; signed:0;
//!
//!     field:const void * ptr; offset:16;      size:8; signed:0;
//!     field:size_t bytes_req; offset:24;      size:8; signed:0;
//!     field:__data_loc char[] name;   offset:32;      size:4; signed:0;
//!
//! print fmt: "call_site=%pS ptr=%p …
//! ```
//! These are the files `/sys/kernel/tracing/events/*/*/format` of the machine that was recorded; the kernel's
//! `Documentation/trace/events.rst` specifies them. Values are written as perf script writes them, as
//! far as that is plain: numbers, addresses, texts and the states of threads. Flags stay numbers.

use std::io::Write;

use crate::bytes::{ByteOrder, Cursor};
use crate::input::lines;
use crate::number;

/// The most fields of an event, and the longest value.
const MOST: usize = 64;
const LONGEST: usize = 256;

/// A field of a tracepoint's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TraceField {
    name: Vec<u8>,
    offset: usize,
    size: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Signed,
    Unsigned,
    Address,
    /// The bits of a thread's state.
    State,
    /// Bytes up to a zero.
    Text,
    /// The offset and the length of such bytes.
    DistantText,
}

/// The fields of the tracepoint of this number, but for those that all have.
pub(super) fn described(tracing: &[u8], number: u64) -> Vec<TraceField> {
    let head = format!("\nID: {number}\n");
    let Some(begin) = memchr::memmem::find(tracing, head.as_bytes()) else { return Vec::new() };
    let text = &tracing[begin..];
    let end = memchr::memmem::find(text, b"\nprint fmt:").unwrap_or(text.len());
    let lines = lines(&text[..end]).filter_map(|line| line.trim_ascii().strip_prefix(b"field:"));
    lines
        .filter_map(TraceField::parse)
        .filter(|field| !field.name.starts_with(b"common_"))
        .take(MOST)
        .collect()
}

impl TraceField {
    /// Reads a field without its first word; `None` for one whose values are not shown.
    fn parse(line: &[u8]) -> Option<TraceField> {
        let mut parts = line.split(|&b| b == b';').map(<[u8]>::trim_ascii);
        let declared = parts.next()?;
        let (mut offset, mut size, mut signed) = (None, None, false);
        for part in parts {
            let number = |text: &[u8]| number::parse::<usize>(text);
            match part.split(|&b| b == b':').collect::<Vec<_>>()[..] {
                [b"offset", text] => offset = number(text),
                [b"size", text] => size = number(text),
                [b"signed", text] => signed = text == b"1",
                _ => {}
            }
        }
        let (offset, size) = (offset?, size?);
        let word = declared.rsplit(|&b| b == b' ').next()?;
        let (name, is_array) = match memchr::memchr(b'[', word) {
            Some(at) => (&word[..at], true),
            None => (word, false),
        };
        let kind_of = &declared[..declared.len() - word.len()];
        let has = |part: &[u8]| memchr::memmem::find(kind_of, part).is_some();
        let kind = match () {
            () if has(b"__rel_loc") => return None,
            () if has(b"__data_loc") && has(b"char[]") && size == 4 => Kind::DistantText,
            () if has(b"__data_loc") => return None,
            () if is_array && has(b"char") => Kind::Text,
            () if is_array || ![1, 2, 4, 8].contains(&size) => return None,
            () if name == b"prev_state" => Kind::State,
            () if has(b"*") => Kind::Address,
            () if signed => Kind::Signed,
            () => Kind::Unsigned,
        };
        (!name.is_empty()).then(|| TraceField { name: name.to_vec(), offset, size, kind })
    }

    /// The field's name.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Appends the field's value in a sample's data to `out`; nothing if the data is too short.
    pub fn write(&self, data: &[u8], order: ByteOrder, out: &mut Vec<u8>) {
        let bytes = |offset: usize, size: usize| data.get(offset..offset.checked_add(size)?);
        let Some(field) = bytes(self.offset, self.size) else { return };
        let mut text = |bytes: &[u8]| {
            let end = memchr::memchr(0, bytes).unwrap_or(bytes.len()).min(LONGEST);
            out.extend_from_slice(&bytes[..end]);
        };
        match self.kind {
            Kind::Text => return text(field),
            Kind::DistantText => {
                let place = Cursor::new(field, order).u32().unwrap_or(0);
                let (offset, size) = (place & 0xffff, place >> 16);
                return text(bytes(offset as usize, size as usize).unwrap_or_default());
            }
            Kind::Signed | Kind::Unsigned | Kind::Address | Kind::State => {}
        }
        let Some(number) = field_value(field, order) else { return };
        let written = match self.kind {
            Kind::Address => write!(out, "0x{number:x}"),
            // An address in the kernel, such as that of a caller.
            Kind::Unsigned if number >= 1 << 63 => write!(out, "0x{number:x}"),
            Kind::State => {
                write_state(number, out);
                Ok(())
            }
            Kind::Signed => {
                let unused = 64 - 8 * self.size as u32;
                write!(out, "{}", (number << unused) as i64 >> unused)
            }
            _ => write!(out, "{number}"),
        };
        written.expect("a vector takes it");
    }
}

fn field_value(field: &[u8], order: ByteOrder) -> Option<u64> {
    let mut bytes = Cursor::new(field, order);
    match field.len() {
        1 => bytes.u8().map(u64::from),
        2 => bytes.u16().map(u64::from),
        4 => bytes.u32().map(u64::from),
        _ => bytes.u64(),
    }
}

/// Writes the state of a thread that leaves its processor as `ps` does: `R` could go on, `R+` had to go,
/// `S` sleeps, `D` waits for a disk.
fn write_state(state: u64, out: &mut Vec<u8>) {
    const LETTERS: &[u8; 8] = b"SDTtXZPI";
    const PREEMPTED: u64 = 0x100;
    let begin = out.len();
    for (_, letter) in LETTERS.iter().enumerate().filter(|(bit, _)| state & (1 << bit) != 0) {
        if out.len() > begin {
            out.push(b'|');
        }
        out.push(*letter);
    }
    if out.len() == begin {
        out.push(b'R');
    }
    if state & PREEMPTED != 0 {
        out.push(b'+');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMATS: &[u8] = b"name: other\nID: 57\nformat:\n\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n\n\
        print fmt: \"x\"\nname: all\nID: 571\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:const void * ptr;\toffset:8;\tsize:8;\tsigned:0;\n\
        \tfield:unsigned long call_site;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield:size_t bytes_req;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:char comm[4];\toffset:24;\tsize:4;\tsigned:0;\n\
        \tfield:__data_loc char[] name;\toffset:28;\tsize:4;\tsigned:1;\n\
        \tfield:int delta;\toffset:32;\tsize:4;\tsigned:1;\n\
        \tfield:long prev_state;\toffset:36;\tsize:8;\tsigned:1;\n\
        \tfield:unsigned long args[6];\toffset:0;\tsize:48;\tsigned:0;\n\
        \tfield:u8 late;\toffset:99;\tsize:1;\tsigned:0;\n\nprint fmt: \"y\"\n";

    #[test]
    fn fields_are_written_as_perf_script_does() {
        let fields = described(FORMATS, 571);
        let mut data = vec![0, 0, 0, 0, 0, 0, 0, 0xff];
        data.extend(0xffff_8880u64.to_le_bytes());
        data.extend(64u64.to_le_bytes());
        data.extend(*b"ab\0c");
        data.extend((44u32 | 3 << 16).to_le_bytes());
        data.extend((-7i32).to_le_bytes());
        data.extend(0x101u64.to_le_bytes());
        data.extend(*b"xyz");
        let shown: Vec<String> = fields
            .iter()
            .map(|field| {
                let mut out = [field.name(), b"="].concat();
                field.write(&data, ByteOrder::Little, &mut out);
                String::from_utf8(out).unwrap()
            })
            .collect();
        assert_eq!(
            shown,
            [
                "ptr=0xffff8880",
                "call_site=0xff00000000000000",
                "bytes_req=64",
                "comm=ab",
                "name=xyz",
                "delta=-7",
                "prev_state=S+",
                "late="
            ]
        );
        assert_eq!(described(FORMATS, 57).len(), 1);
        assert!(described(FORMATS, 5).is_empty() && described(b"\nID: 5\nfield:\nfield:x", 5).is_empty());
        for len in 0..data.len() {
            fields.iter().for_each(|field| field.write(&data[..len], ByteOrder::Big, &mut Vec::new()));
        }
        for (state, text) in [(0, "R"), (0x100, "R+"), (1, "S"), (2, "D"), (0x30, "X|Z")] {
            let mut out = Vec::new();
            write_state(state, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }
}

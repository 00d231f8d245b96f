//! Addresses named by the memory map at the end of a recording, `/proc/PID/maps`.
//!
//! Heap profilers write addresses only; which function one is in is known to the program's file
//! alone, and nothing in the recording says whether the file that is there now is the same. So an
//! address becomes its place in the file, `libc.so.6+0x27e10`, which `addr2line` takes, unless
//! the recording brings names of its own.

use std::collections::HashMap;

use super::Sink;
use super::names::Names;
use crate::folded::FrameId;

/// Said once, where places in files stand for names.
pub const NOTE: &str = "addresses have no names in this format: frames are places in files, for addr2line; \
    the output of jeprof or google-pprof --collapsed has names and is read here as well";

/// Which file is mapped where, and the names of addresses where they are known.
#[derive(Default)]
pub struct Maps {
    /// Start, end, where in the file it begins, and the file's name; sorted before use.
    ranges: Vec<(u64, u64, u64, Box<[u8]>)>,
    symbols: HashMap<u64, Vec<Box<[u8]>>>,
    sorted: bool,
    known: HashMap<u64, Vec<FrameId>>,
    names: Names,
}

impl Maps {
    /// Takes a line of a map: `7fcd-7fce r-xp 00004000 fe:00 925890   /lib/libc.so.6`. Others are
    /// not for it.
    pub fn line(&mut self, line: &[u8]) -> bool {
        let mut words = line.splitn(6, |&b| b == b' ').filter(|word| !word.is_empty());
        let parse = || {
            let (range, _mode, offset) = (words.next()?, words.next()?, words.next()?);
            let dash = memchr::memchr(b'-', range)?;
            let (_device, rest) = (words.next()?, words.last().unwrap_or_default());
            let path = rest
                .iter()
                .position(|b| !b.is_ascii_digit() && *b != b' ')
                .map_or(&b""[..], |at| &rest[at..]);
            Some((hex(&range[..dash])?, hex(&range[dash + 1..])?, hex(offset)?, path.trim_ascii()))
        };
        let Some((start, end, offset, path)) = { parse }() else { return false };
        let file = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
        self.ranges.push((start, end, offset, file.into()));
        self.sorted = false;
        true
    }

    /// Gives an address its names, those of inlined functions first.
    pub fn name(&mut self, address: u64, names: impl IntoIterator<Item = Box<[u8]>>) {
        self.symbols.insert(address, names.into_iter().collect());
    }

    /// Whether there are names at all.
    pub fn has_names(&self) -> bool {
        !self.symbols.is_empty()
    }

    /// Appends the frames of an address, leaf first. Names may have been given to the byte before
    /// it, which is in the call that returns to it.
    pub fn frames(&mut self, address: u64, sink: &mut dyn Sink, out: &mut Vec<FrameId>) {
        if !self.sorted {
            self.ranges.sort();
            self.sorted = true;
        }
        let Maps { ranges, symbols, known, names, .. } = self;
        let frames = known.entry(address).or_insert_with(|| {
            let call = address.wrapping_sub(1);
            if let Some(symbols) = symbols.get(&address).or_else(|| symbols.get(&call)) {
                return symbols.iter().map(|symbol| names.symbol(symbol, sink)).collect();
            }
            let after = ranges.partition_point(|(start, ..)| *start <= address);
            let range = after.checked_sub(1).map(|at| &ranges[at]).filter(|(_, end, ..)| address < *end);
            let name = match range {
                Some((start, _, offset, file)) if !file.is_empty() => {
                    let place = (address - start).saturating_add(*offset);
                    [file, format!("+{place:#x}").as_bytes()].concat()
                }
                _ => format!("{address:#x}").into_bytes(),
            };
            vec![names.plain(&name, sink)]
        });
        out.extend_from_slice(frames);
    }
}

/// Digits of base 16, with or without `0x`.
pub fn hex(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::StackTable;

    #[test]
    fn an_address_is_a_place_in_its_file() {
        let mut table = StackTable::default();
        let mut maps = Maps::default();
        assert!(maps.line(
            b"557d20899000-557d208af000 r-xp 00004000 fe:00 925890                     /home/a b/orders"
        ));
        assert!(maps.line(b"7ffd7f1ad000-7ffd7f1ce000 rw-p 00000000 00:00 0 "));
        assert!(!maps.line(b"build=x") && !maps.line(b"") && !maps.line(b"zz-1 r 0 0 0"));
        maps.name(7, [b"inner".as_slice().into(), b"_ZN1a1bEi".as_slice().into()]);
        let mut out = Vec::new();
        for address in [0x557d_2089_97ff, 0x557d_208a_f000, 0x7ffd_7f1a_d001, 7] {
            maps.frames(address, &mut table, &mut out);
        }
        let names = out.iter().map(|id| String::from_utf8_lossy(table.name(*id)).into_owned());
        assert_eq!(
            names.collect::<Vec<_>>(),
            ["orders+0x47ff", "0x557d208af000", "0x7ffd7f1ad001", "inner", "a::b"]
        );
    }
}

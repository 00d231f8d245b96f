//! Addresses named by the memory map at the end of a recording, `/proc/PID/maps`.
//!
//! Heap profilers write addresses only; which function one is in is known to the program's file
//! alone. If the file that was recorded is still there, `mapped` takes the names
//! from it. What is left is called by its place in the file, `libc.so.6+0x27e10`, which
//! `addr2line` takes. Names that the recording brings along go first.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::collapse::kit::mapped::{self, Known};
use crate::collapse::kit::names::FrameNames;
use crate::collapse::{CollapseOptions, Report, Sink};
use crate::folded::FrameId;
use crate::number;

/// A place in code: an address, and whether a call returns there, which is behind the call.
pub type Place = (u64, bool);

/// The files that are mapped and their places, and the names of addresses that are known.
#[derive(Default)]
pub struct Maps {
    /// The mapped ranges, in the order of addresses once names are asked for.
    ranges: Vec<Range>,
    symbols: HashMap<u64, Vec<Box<[u8]>>>,
    known: HashMap<Place, Vec<FrameId>>,
}

/// A part of a file in memory.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Range {
    start: u64,
    end: u64,
    /// The offset of the range in the file.
    offset: u64,
    file: File,
}

/// A file as the map names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct File {
    /// The path, or the kernel's substitute for one: `[stack]`, or nothing.
    pub path: Box<[u8]>,
    /// The number of the file in its file system; 0 if that is not known.
    pub inode: u64,
}

impl Maps {
    /// Takes a line of a map: `7fcd-7fce r-xp 00004000 fe:00 925890   /lib/libc.so.6`. Others are
    /// not for it.
    pub fn line(&mut self, line: &[u8]) -> bool {
        let range = parse(line);
        let is_range = range.is_some();
        self.ranges.extend(range);
        is_range
    }

    /// Gives an address its names, those of inlined functions first.
    pub fn name(&mut self, address: u64, names: impl IntoIterator<Item = Box<[u8]>>) {
        self.symbols.insert(address, names.into_iter().collect());
    }

    /// Finds the names of places, all at once: so each file is opened once. What has no name is
    /// said in the report.
    pub fn name_all(
        &mut self,
        places: impl IntoIterator<Item = Place>,
        options: &CollapseOptions,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) {
        self.ranges.sort();
        let Maps { ranges, symbols, known } = self;
        let mut names = FrameNames::default();
        let mut by_file: BTreeMap<&File, Vec<(u64, Place)>> = BTreeMap::new();
        for place in places.into_iter().collect::<BTreeSet<Place>>() {
            let (address, called) = place;
            let before = address.wrapping_sub(called.into());
            // A name may have been given to the byte before, which is in the call.
            if let Some(symbols) = symbols.get(&address).or_else(|| symbols.get(&before)) {
                let frames = symbols.iter().map(|symbol| names.symbol(symbol, sink)).collect();
                known.insert(place, frames);
                continue;
            }
            match find(ranges, before) {
                Some(range) => {
                    let inside = (address - range.start).saturating_add(range.offset);
                    by_file.entry(&range.file).or_default().push((inside, place));
                }
                None => {
                    let name = format!("{address:#x}");
                    known.insert(place, vec![names.plain(name.as_bytes(), sink)]);
                }
            }
        }
        let mut missing = Vec::new();
        for (file, places) in by_file {
            let offsets: Vec<(u64, bool)> = places.iter().map(|(inside, place)| (*inside, place.1)).collect();
            let named = mapped::name(&file.path, Known::Inode(file.inode), &offsets, options, sink);
            if let Err(why) = &named {
                missing.push((places.len(), &*file.path, why.clone()));
            }
            let mut named = named.unwrap_or_default().into_iter();
            for (inside, place) in places {
                let frames =
                    named.next().unwrap_or_else(|| vec![place_in(&file.path, inside, &mut names, sink)]);
                known.insert(place, frames);
            }
        }
        note(missing, report);
    }

    /// Appends the frames of a place, leaf first, once they have been found.
    pub fn frames(&self, place: Place, out: &mut Vec<FrameId>) {
        out.extend_from_slice(self.known.get(&place).map_or(&[], Vec::as_slice));
    }
}

/// The range that holds an address; the ranges are in order.
fn find(ranges: &[Range], address: u64) -> Option<&Range> {
    let after = ranges.partition_point(|range| range.start <= address);
    let range = &ranges[after.checked_sub(1)?];
    (address < range.end && !range.file.path.is_empty()).then_some(range)
}

/// A frame that is only known by its place: `libc.so.6+0x27e10`.
pub fn place_in(path: &[u8], inside: u64, names: &mut FrameNames, sink: &mut dyn Sink) -> FrameId {
    let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
    names.plain(&[name, format!("+{inside:#x}").as_bytes()].concat(), sink)
}

/// Says which file, of those that names could not be taken from, has the most places; with each
/// come their number and why.
pub fn note(mut missing: Vec<(usize, &[u8], String)>, report: &mut Report) {
    missing.sort_by(|(a, x, _), (b, y, _)| b.cmp(a).then_with(|| x.cmp(y)));
    let Some((_, path, why)) = missing.first() else { return };
    let file = crate::error::excerpt(path);
    let others = match missing.len() - 1 {
        0 => String::new(),
        1 => ", and for another file".to_owned(),
        more => format!(", and for {more} more files"),
    };
    report.note(format!(
        "no names for {file}, which {why}{others}: frames are places in them, for addr2line; name where the recorded \
         files are with --symfs"
    ));
}

/// `7fcd-7fce r-xp 00004000 fe:00 925890   /lib/libc.so.6`
fn parse(line: &[u8]) -> Option<Range> {
    let mut rest = line;
    let mut word = || {
        let start = rest.iter().position(|b| !b.is_ascii_whitespace())?;
        let end = rest[start..].iter().position(u8::is_ascii_whitespace).map_or(rest.len(), |n| start + n);
        let word = &rest[start..end];
        rest = &rest[end..];
        Some(word)
    };
    let (range, _mode, offset, _device, inode) = (word()?, word()?, word()?, word()?, word()?);
    let dash = memchr::memchr(b'-', range)?;
    let inode = number::parse(inode)?;
    let file = File { path: rest.trim_ascii().into(), inode };
    Some(Range {
        start: number::hex(&range[..dash])?,
        end: number::hex(&range[dash + 1..])?,
        offset: number::hex(offset)?,
        file,
    })
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
            b"557d20899000-557d208af000 r-xp 00004000 fe:00 925890                     /no such/a b/orders"
        ));
        assert!(maps.line(b"7ffd7f1ad000-7ffd7f1ce000 rw-p 00000000 00:00 0 "));
        assert!(!maps.line(b"build=x") && !maps.line(b"") && !maps.line(b"zz-1 r 0 0 0"));
        maps.name(7, [b"inner".as_slice().into(), b"_ZN1a1bEi".as_slice().into()]);
        let places = [
            (0x557d_2089_97ff, false),
            (0x557d_208a_f000, false),
            (0x557d_208a_f000, true),
            (0x7ffd_7f1a_d001, true),
        ];
        let places = places.into_iter().chain([(7, false), (8, true), (8, false)]);
        let mut report = Report::default();
        maps.name_all(places.clone(), &CollapseOptions::default(), &mut table, &mut report);
        let mut out = Vec::new();
        places.for_each(|place| maps.frames(place, &mut out));
        let names = out.iter().map(|id| String::from_utf8_lossy(table.name(*id)).into_owned());
        assert_eq!(
            names.collect::<Vec<_>>(),
            [
                "orders+0x47ff",
                "0x557d208af000",
                // A return address behind the last byte belongs to a call inside.
                "orders+0x1a000",
                "0x7ffd7f1ad001",
                "inner",
                "a::b",
                "inner",
                "a::b",
                "0x8",
            ]
        );
        assert_eq!(report.notes.len(), 1);
        assert!(
            report.notes[0].starts_with("no names for \"/no such/a b/orders\", which "),
            "{:?}",
            report.notes
        );
    }
}

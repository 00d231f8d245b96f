//! The places of frames: module, file, line, and the kind of code.

use std::collections::BTreeMap;

use super::frame_id::FrameId;
use super::interner::Interner;
use crate::error::Result;
use crate::weight::Weight;

/// The place of a frame's code, as far as the recording says; empty and 0 is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place<'a> {
    /// The library, program, file of code or package: `libc.so.6`.
    pub module: &'a [u8],
    /// The source file, as the recording names it.
    pub file: &'a [u8],
    /// The line in the source file, from 1.
    pub line: u32,
    /// The line where the function begins, from 1.
    pub start_line: u32,
    /// The kind of code it is.
    pub kind: Kind,
    /// The compiler has put the function into its caller.
    pub inlined: bool,
    /// The number of the line of code among those of [`Exchange`](crate::profile::Exchange), from 1.
    pub code: u32,
}

impl Place<'_> {
    /// Returns true if nothing is known.
    pub fn is_unknown(&self) -> bool {
        *self == Place::default()
    }
}

/// The kind of code a frame runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The recording does not say.
    #[default]
    Unknown,
    /// A program's or a library's own code.
    User,
    /// The operating system's kernel, or a module of it.
    Kernel,
    /// Code that a runtime compiled while the program ran.
    Jit,
}

/// A [`Place`] whose texts are numbers.
#[derive(Clone, Copy)]
struct Stored {
    module: u32,
    file: u32,
    line: u32,
    start_line: u32,
    kind: Kind,
    inlined: bool,
    code: u32,
}

/// The frames of a table that have places: a name and a place each.
#[derive(Default)]
pub(super) struct PlaceTable {
    texts: Interner,
    places: Vec<Stored>,
    place_keys: Interner,
    /// The frame without a place, and the number of the place.
    frames: Vec<(FrameId, u32)>,
    frame_keys: Interner,
}

impl PlaceTable {
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The bytes of memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        let keys = self.texts.bytes() + self.place_keys.bytes() + self.frame_keys.bytes();
        keys + size_of_val(&self.places[..]) + size_of_val(&self.frames[..])
    }

    /// The number of frames that have places.
    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    /// The number, among those with a place, of a frame at a place.
    pub(super) fn frame(&mut self, frame: FrameId, place: &Place<'_>) -> u32 {
        let Place { line, start_line, kind, inlined, code, .. } = *place;
        let (module, file) = (self.texts.key(place.module), self.texts.key(place.file));
        let mut key = [0; 22];
        for (part, number) in key.chunks_exact_mut(4).zip([module, file, line, start_line, code]) {
            part.copy_from_slice(&number.to_le_bytes());
        }
        (key[20], key[21]) = (kind as u8, u8::from(inlined));
        let number = self.place_keys.key(&key);
        if number as usize == self.places.len() {
            self.places.push(Stored { module, file, line, start_line, kind, inlined, code });
        }
        self.placed_number(frame, number)
    }

    fn placed_number(&mut self, frame: FrameId, place: u32) -> u32 {
        let mut key = [0; 8];
        key[..4].copy_from_slice(&frame.0.to_le_bytes());
        key[4..].copy_from_slice(&place.to_le_bytes());
        let at = self.frame_keys.key(&key);
        if at as usize == self.frames.len() {
            self.frames.push((frame, place));
        }
        at
    }

    /// The number of another frame at the place of one.
    pub(super) fn renamed(&mut self, at: u32, frame: FrameId) -> u32 {
        let place = self.frames[at as usize].1;
        self.placed_number(frame, place)
    }

    /// The frame without its place.
    pub(super) fn base(&self, at: u32) -> FrameId {
        self.frames[at as usize].0
    }

    /// The place of a frame.
    pub(super) fn place(&self, at: u32) -> Place<'_> {
        let Stored { module, file, line, start_line, kind, inlined, code } =
            self.places[self.frames[at as usize].1 as usize];
        let (module, file) = (self.texts.name(module), self.texts.name(file));
        Place { module, file, line, start_line, kind, inlined, code }
    }
}

/// The place of each name: where one name is at several places, the one with the most weight.
///
/// Walks of a call tree know frames by their names, as folded text does; an output that shows
/// modules or lines looks them up here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    by_name: BTreeMap<Vec<u8>, OwnedPlace>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct OwnedPlace {
    module: Vec<u8>,
    file: Vec<u8>,
    line: u32,
    start_line: u32,
    kind: Kind,
    inlined: bool,
}

impl Places {
    /// The place of a name, if one is known.
    pub fn get(&self, name: &[u8]) -> Option<Place<'_>> {
        let OwnedPlace { module, file, line, start_line, kind, inlined } = self.by_name.get(name)?;
        let (line, start_line, kind, inlined) = (*line, *start_line, *kind, *inlined);
        Some(Place { module, file, line, start_line, kind, inlined, code: 0 })
    }

    /// Returns true if no place is known.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Every name and its place, in the order of the names' bytes.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Place<'_>)> {
        self.by_name.keys().map(|name| (&name[..], self.get(name).unwrap_or_default()))
    }

    /// The heaviest place of each name, from all its places with their weights.
    pub(super) fn heaviest<'a>(all: impl Iterator<Item = (&'a [u8], Place<'a>, Weight)>) -> Result<Places> {
        let mut weights: BTreeMap<(&[u8], Place<'_>), Weight> = BTreeMap::new();
        for (name, place, weight) in all {
            // A line has many addresses, which are not told apart here.
            let place = Place { code: 0, ..place };
            let sum = weights.entry((name, place)).or_default();
            *sum = sum.checked_add(weight)?;
        }
        let mut best: BTreeMap<&[u8], (Place<'_>, Weight)> = BTreeMap::new();
        for ((name, place), weight) in weights {
            let known = best.entry(name).or_insert((place, weight));
            if weight > known.1 {
                *known = (place, weight);
            }
        }
        let owned = |place: Place<'_>| OwnedPlace {
            module: place.module.to_vec(),
            file: place.file.to_vec(),
            line: place.line,
            start_line: place.start_line,
            kind: place.kind,
            inlined: place.inlined,
        };
        let by_name = best.into_iter().map(|(name, (place, _))| (name.to_vec(), owned(place)));
        Ok(Places { by_name: by_name.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_place_that_weighs_most_in_all() {
        let place = |line, code| Place { line, code, ..Place::default() };
        let all = [
            (&b"f"[..], place(1, 0), Weight::new(5)),
            (b"f", place(2, 7), Weight::new(3)),
            (b"f", place(3, 0), Weight::new(4)),
            // One line by another address.
            (b"f", place(2, 8), Weight::new(3)),
            (b"g", place(9, 0), Weight::new(1)),
        ];
        let heaviest = Places::heaviest(all.into_iter()).unwrap();
        assert_eq!(heaviest.get(b"f"), Some(place(2, 0)));
        assert_eq!(heaviest.get(b"g"), Some(place(9, 0)));
    }
}

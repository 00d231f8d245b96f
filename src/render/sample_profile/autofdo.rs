//! The file that GCC reads by `-fauto-profile`: the AutoFDO profile of autofdo's create_gcov, in words of 32 bits.
//!
//! ```text
//! "gcda" as a number, version, 0
//! aa000000, length, number of names, each: length, bytes      the first name is empty
//! ac000000, length, number of functions, each:
//!     calls of it (64 bits), then an instance:
//!     name, number of lines, number of inlined functions
//!     each line: place, number of targets, count (64 bits), targets: kind, name (64 bits), count (64 bits)
//!     each inlined function: place of the call, an instance
//! ae000000, 1, 0                                              modules, of a use that has gone
//! af000000, length, 128 working sets                          counts of the hottest code
//! ```
//!
//! A place has the line from the function's first one in the upper half and the discriminator in the lower one. GCC's
//! gcc/auto-profile.cc reads it; autofdo's profile_writer.cc writes it. GCC 12 changed the version from 1 to 2: since then
//! names are counted in bytes, before in words. Until then it left out discriminators and kept the last count of
//! a line: the largest is written last.

use std::collections::BTreeMap;
use std::io::Write;

use super::line::Line;
use super::samples::{Body, FunctionSamples, Functions, Name};
use crate::error::{Error, Result};

/// The version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// GCC 5 to 11.
    One = 1,
    /// GCC 12 to 15.
    Two = 2,
}

const MAGIC: u32 = 0x6763_6461;
const NAMES: u32 = 0xaa00_0000;
const FUNCTIONS: u32 = 0xac00_0000;
const MODULES: u32 = 0xae00_0000;
const WORKING_SETS: u32 = 0xaf00_0000;
/// The kind of a histogram of the targets of a call, of which readers know no other.
const TARGETS: u32 = 7;
/// GCC's `NUM_GCOV_WORKING_SETS`.
const WORKING_SET_COUNT: u64 = 128;

/// Writes the functions in the order of their names.
///
/// # Errors
/// [`crate::ErrorKind::Setting`] for more names than 32 bits count, and the writer's.
pub(super) fn write(functions: &Functions, version: Version, out: &mut dyn Write) -> Result<()> {
    let mut names = BTreeMap::from([(Name::from(&b""[..]), 0)]);
    functions.iter().for_each(|(name, function)| add_names(name, function, &mut names));
    let mut bytes = Bytes { version, bytes: Vec::new() };
    for (number, (name, index)) in names.iter_mut().enumerate() {
        *index = word(number)?;
        bytes.name(name)?;
    }
    let mut file = Bytes { version, bytes: Vec::new() };
    file.words(&[MAGIC, version as u32, 0]);
    file.section(NAMES, names.len(), &bytes.bytes)?;

    bytes.bytes.clear();
    for (name, function) in functions {
        bytes.count(function.head);
        bytes.instance(name, function, &names)?;
    }
    file.section(FUNCTIONS, functions.len(), &bytes.bytes)?;
    file.section(MODULES, 0, &[])?;

    let sets = working_sets(functions);
    file.words(&[WORKING_SETS, word(sets.len() * 3)?]);
    for (lines, least) in sets {
        file.words(&[u32::try_from(lines).unwrap_or(u32::MAX)]);
        file.count(least);
    }
    Ok(out.write_all(&file.bytes)?)
}

/// Adds the names of a function, of what is inlined there and of what is called.
fn add_names(name: &Name, function: &FunctionSamples, names: &mut BTreeMap<Name, u32>) {
    names.insert(name.clone(), 0);
    let targets = function.body.values().flat_map(|body| body.targets.keys());
    names.extend(targets.map(|target| (target.clone(), 0)));
    for (name, inlined) in function.inlined.values().flatten() {
        add_names(name, inlined, names);
    }
}

/// The number of lines that have each 129th part of all counts, and the least count among them: the hottest first.
fn working_sets(functions: &Functions) -> Vec<(u64, u64)> {
    // Lines by their count.
    let mut lines: BTreeMap<u64, u64> = BTreeMap::new();
    for (name, function) in functions {
        function.for_each_line(name, &mut |_, _, count| *lines.entry(count).or_default() += 1);
    }
    let sum = |(count, lines): (&u64, &u64)| u128::from(*count) * u128::from(*lines);
    let part = lines.iter().map(sum).sum::<u128>() / u128::from(WORKING_SET_COUNT + 1);
    let mut sets = Vec::new();
    let (mut before, mut lines_before) = (0u128, 0);
    for (&count, &lines) in lines.iter().rev().filter(|(count, _)| **count > 0) {
        let all = before + u128::from(count) * u128::from(lines);
        while sets.len() < WORKING_SET_COUNT as usize && part * (sets.len() as u128 + 1) < all {
            let missing = (part * (sets.len() as u128 + 1)).saturating_sub(before) / u128::from(count);
            sets.push((lines_before + missing as u64, count));
        }
        (before, lines_before) = (all, lines_before + lines);
    }
    sets.resize(WORKING_SET_COUNT as usize, (0, 0));
    sets
}

/// A file in the making.
struct Bytes {
    version: Version,
    bytes: Vec<u8>,
}

impl Bytes {
    fn words(&mut self, words: &[u32]) {
        self.bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }

    /// A count; GCC's have a sign.
    fn count(&mut self, count: u64) {
        self.bytes.extend(count.min(i64::MAX as u64).to_le_bytes());
    }

    fn name(&mut self, name: &[u8]) -> Result<()> {
        let padding = match self.version {
            Version::One => 4 - name.len() % 4,
            Version::Two => 1,
        };
        let length = name.len() + padding;
        self.words(&[word(if self.version == Version::One { length / 4 } else { length })?]);
        self.bytes.extend_from_slice(name);
        self.bytes.extend(&[0; 4][..padding]);
        Ok(())
    }

    /// A section with its length in words, which counts the number of its items.
    fn section(&mut self, tag: u32, items: usize, content: &[u8]) -> Result<()> {
        self.words(&[tag, word(content.len().div_ceil(4) + 1)?, word(items)?]);
        self.bytes.extend_from_slice(content);
        Ok(())
    }

    fn instance(
        &mut self,
        name: &Name,
        function: &FunctionSamples,
        names: &BTreeMap<Name, u32>,
    ) -> Result<()> {
        let inlined = || function.inlined.iter().flat_map(|(line, all)| all.iter().map(move |f| (line, f)));
        self.words(&[names[name], word(function.body.len())?, word(inlined().count())?]);
        let mut lines: Vec<(&Line, &Body)> = function.body.iter().collect();
        lines.sort_by_key(|(line, body)| (line.offset, body.count));
        for (line, body) in lines {
            self.words(&[place(*line), word(body.targets.len())?]);
            self.count(body.count);
            for (target, count) in &body.targets {
                self.words(&[TARGETS]);
                self.count(u64::from(names[target]));
                self.count(*count);
            }
        }
        for (line, (name, function)) in inlined() {
            self.words(&[place(*line)]);
            self.instance(name, function, names)?;
        }
        Ok(())
    }
}

/// A line and its discriminator in a word.
fn place(line: Line) -> u32 {
    line.offset << 16 | line.discriminator & 0xffff
}

fn word(number: usize) -> Result<u32> {
    u32::try_from(number).map_err(|_| {
        let what = "the profile has more names or lines than GCC's format can count".to_owned();
        Error::setting(what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn functions() -> Functions {
        let line = |offset, discriminator| Line { offset, discriminator };
        let mut main = FunctionSamples { head: 1, ..FunctionSamples::default() };
        let calls = [(Name::from(&b"callee"[..]), 4)].into();
        main.body.insert(line(3, 0), Body { count: 9, targets: calls });
        main.body.insert(line(3, 2), Body { count: 7, ..Body::default() });
        let mut inlined = FunctionSamples::default();
        inlined.raise(line(1, 0), u64::MAX);
        main.inlined.entry(line(5, 1)).or_default().insert(Name::from(&b"f"[..]), inlined);
        Functions::from([(Name::from(&b"main"[..]), main)])
    }

    fn words(bytes: &[u8]) -> Vec<u32> {
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four"))).collect()
    }

    #[test]
    fn names_are_counted_in_words_or_in_bytes() {
        for (version, expected) in [
            (
                Version::One,
                &b"\x01\0\0\0\0\0\0\0\x02\0\0\0callee\0\0\x01\0\0\0f\0\0\0\x02\0\0\0main\0\0\0\0"[..],
            ),
            (Version::Two, b"\x01\0\0\0\0\x07\0\0\0callee\0\x02\0\0\0f\0\x05\0\0\0main\0"),
        ] {
            let mut out = Vec::new();
            write(&functions(), version, &mut out).unwrap();
            let header = [MAGIC, version as u32, 0, NAMES, expected.len().div_ceil(4) as u32 + 1, 4];
            assert_eq!(words(&out[..24]), header);
            assert_eq!(out[24..24 + expected.len()], *expected);
        }
    }

    #[test]
    fn the_largest_count_of_a_line_is_the_last() {
        let mut out = Vec::new();
        write(&functions(), Version::One, &mut out).unwrap();
        let max = i64::MAX as u64;
        let expected = [
            &[FUNCTIONS, 27, 1, 1, 0, 3, 2, 1][..],
            &[3 << 16 | 2, 0, 7, 0],
            &[3 << 16, 1, 9, 0, TARGETS, 1, 0, 4, 0],
            // Counts have a sign.
            &[5 << 16 | 1, 2, 1, 0, 1 << 16, 0, max as u32, (max >> 32) as u32],
            &[MODULES, 1, 0, WORKING_SETS, 3 * 128],
        ]
        .concat();
        let at = words(&out).iter().position(|word| *word == FUNCTIONS).unwrap();
        assert_eq!(words(&out)[at..at + expected.len()], expected);
    }

    #[test]
    fn working_sets_are_of_the_hottest_lines() {
        let mut f = FunctionSamples::default();
        for (offset, count) in [(1, 1000), (2, 1000), (3, 1), (4, 0)] {
            f.raise(Line { offset, discriminator: 0 }, count);
        }
        let sets = working_sets(&Functions::from([(Name::from(&b"f"[..]), f)]));
        assert_eq!((sets.len(), sets[0], sets[127]), (128, (0, 1000), (1, 1000)));
        assert_eq!(working_sets(&Functions::new()), [(0, 0); 128]);
    }
}

//! The sizes of the frames of Go's functions at each of their instructions, by which Go's runtime unwinds.
//!
//! ```text
//! frame sizes: (change of the size, bytes of code)… 0     varints; the size begins at -1
//! 02 04 80 01 9a 01 …                                     0 for 4 bytes, 64 for 154, …
//! ```
//! Described by "Go 1.2 Runtime Symbol Information" and `runtime.pcvalue`; programs without symbols have it too.

use gimli::{EndianSlice, LittleEndian, Reader as _};

use super::super::content::Bytes;
use super::super::elf::{Fields, Format};
use super::super::image::Image;
use super::{Header, SECTIONS, VERSIONS, part, text};

/// The frame of a function at one of its instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GoFrame {
    /// The bytes by which the function has lowered the stack pointer.
    Size(u64),
    /// Nothing called the function: stacks begin with it.
    Top,
    /// The function sets the stack pointer to something else.
    Elsewhere,
}

/// The table of a program.
pub(crate) struct GoFrames {
    table: Bytes,
    format: Format,
    header: Header,
}

/// Offsets in what is known of a function: its frame sizes, and its flags, which moved in Go 1.20.
const SIZES: usize = 16;
const FLAGS: [usize; 2] = [37, 41];

/// Flags of a function.
const IS_TOP: u8 = 1;
const SETS_STACK: u8 = 2;

/// The most changes of a frame's size: compilers make some at the beginning, and one at each return.
const MOST_CHANGES: usize = 1 << 16;

impl GoFrames {
    pub(in super::super) fn of(image: &Image) -> Option<GoFrames> {
        let table = SECTIONS.into_iter().find_map(|name| image.section_bytes(name))?;
        GoFrames::new(table, image.elf.format, text(image))
    }

    fn new(table: Bytes, format: Format, text: u64) -> Option<GoFrames> {
        let header = Header::parse(&table, format, text)?;
        Some(GoFrames { table, format, header })
    }

    /// The frame of the function that a stated address is in.
    pub(crate) fn at(&self, svma: u64) -> Option<GoFrame> {
        let address = u32::try_from(svma.checked_sub(self.header.text)?).ok()?;
        let functions = part(&self.table, self.header.functions)?;
        let (entry, details) = self.function(functions, address)?;
        let details = functions.get(usize::try_from(details).ok()?..)?;
        let flags = *details.get(FLAGS[usize::from(self.header.version == VERSIONS[1])])?;
        if flags & IS_TOP != 0 {
            return Some(GoFrame::Top);
        }
        if flags & SETS_STACK != 0 {
            return Some(GoFrame::Elsewhere);
        }
        let sizes = Fields::new(details.get(SIZES..)?, self.format).word().filter(|at| *at > 0)?;
        let sizes = part(&self.table, self.header.values.checked_add(sizes.into())?)?;
        let size = value_at(sizes, u64::from(address - entry), self.header.quantum.into())?;
        u64::try_from(size).ok().map(GoFrame::Size)
    }

    /// The entry of the function that an address is in, and the offset of what is known of it.
    fn function(&self, functions: &[u8], address: u32) -> Option<(u32, u32)> {
        /// Two numbers of four bytes.
        const ENTRY: usize = 8;
        let number = |at: usize| Fields::new(functions.get(at..)?, self.format).word();
        let count = usize::try_from(self.header.count).ok()?.min(functions.len() / ENTRY);
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if number(middle * ENTRY)? <= address { low = middle + 1 } else { high = middle }
        }
        let at = low.checked_sub(1)? * ENTRY;
        // The next entry, or the end of the last function.
        (address < number(at + ENTRY)?).then_some((number(at)?, number(at + 4)?))
    }
}

/// The value at a number of bytes behind the entry of a function.
fn value_at(pairs: &[u8], target: u64, quantum: u64) -> Option<i64> {
    let mut pairs = EndianSlice::new(pairs, LittleEndian);
    let (mut value, mut end) = (-1i64, 0u64);
    for number in 0..MOST_CHANGES {
        let change = pairs.read_uleb128().ok()?;
        if change == 0 && number > 0 {
            return None;
        }
        value = value.checked_add(((change >> 1) as i64) ^ -((change & 1) as i64))?;
        end = end.checked_add(pairs.read_uleb128().ok()?.checked_mul(quantum)?)?;
        if target < end {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: Format = Format { little: true, wide: true };

    /// Three functions at 0x10, 0x50 and 0x60: one with a frame of 64 bytes, the top of a stack, and one that
    /// sets the stack pointer.
    fn table(version: usize) -> Vec<u8> {
        let mut table = VERSIONS[version].to_le_bytes().to_vec();
        table.extend([0, 0, 1, 8]);
        let header = [3, 0, 0x1000, 80, 0, 0, 80, 96];
        table.extend(header.iter().flat_map(|n: &u64| n.to_le_bytes()));
        table.resize(80, 0);
        // A byte in front, as an offset of 0 means none; 0 for 4 bytes, 64 for 55, 0 for 5.
        table.extend([0, 2, 4, 0x80, 1, 55, 0x7f, 5, 0]);
        table.resize(96, 0);
        let functions: [u32; 7] = [0x10, 28, 0x50, 76, 0x60, 124, 0x70];
        table.extend(functions.iter().flat_map(|n| n.to_le_bytes()));
        for (sizes, flag) in [(1u32, 0), (1, IS_TOP), (1, SETS_STACK)] {
            let mut details = vec![0; 48];
            details[SIZES..SIZES + 4].copy_from_slice(&sizes.to_le_bytes());
            details[FLAGS[version]] = flag;
            table.extend(details);
        }
        table
    }

    fn at(table: &[u8], svma: u64) -> Option<GoFrame> {
        GoFrames::new(Bytes::from(table.to_vec()), FORMAT, 0)?.at(svma)
    }

    #[test]
    fn frames_have_a_size_at_each_instruction() {
        for version in [0, 1] {
            let table = table(version);
            let sizes = [0x1010, 0x1013, 0x1014, 0x104a, 0x104b, 0x104f].map(|svma| at(&table, svma));
            let expected = [0, 0, 64, 64, 0, 0].map(|size| Some(GoFrame::Size(size)));
            assert_eq!(sizes, expected);
            assert_eq!(at(&table, 0x1050), Some(GoFrame::Top));
            assert_eq!(at(&table, 0x106f), Some(GoFrame::Elsewhere));
            assert_eq!([at(&table, 0x100f), at(&table, 0x1070), at(&table, 0)], [None; 3]);
        }
    }

    #[test]
    fn damaged_tables_end() {
        let whole = table(1);
        for end in 0..whole.len() {
            for svma in [0x1010, 0x1014, 0x1050, 0x106f] {
                let found = at(&whole[..end], svma);
                assert!(found.is_none() || found == at(&whole, svma), "cut at {end}: {found:?}");
            }
        }
        for byte in 0..whole.len() {
            let mut other = whole.clone();
            other[byte] ^= 0xff;
            let _ = (at(&other, 0x1014), at(&other, u64::MAX));
        }
        assert_eq!(value_at(&[2, 0].repeat(1 << 20), 1, 1), None, "changes without code");
        assert_eq!(value_at(&[0xff; 64], 1, 1), None, "a number without an end");
    }
}

//! The names of addresses that a capture brings along, in the file `__symbols__` within it.
//!
//! ```text
//! <first address> <last address> <process> <offset of the name> <offset of the library> <0>   one for each, then one of zeros,
//! main\0libc\0 …                                                                               and the texts
//! ```

use crate::bytes::{ByteOrder, Cursor, until_zero};

/// The length of an entry.
const ENTRY: usize = 32;

/// Tables of names; `--merge` makes captures with several.
#[derive(Default)]
pub struct Symbols {
    tables: Vec<Table>,
}

struct Table {
    bytes: Vec<u8>,
    /// In the order of processes and addresses.
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    process: i32,
    first: u64,
    last: u64,
    name: u32,
}

impl Symbols {
    /// Reads a table.
    pub fn add(&mut self, bytes: Vec<u8>, order: ByteOrder) {
        let mut entries = Vec::new();
        for entry in bytes.chunks_exact(ENTRY) {
            let mut fields = Cursor::new(entry, order);
            let mut read = || {
                let (first, last) = (fields.u64()?, fields.u64()?);
                Some(Entry { first, last, process: fields.i32()?, name: fields.u32()? })
            };
            match read() {
                Some(Entry { first: 0, last: 0, .. }) | None => break,
                Some(entry) => entries.push(entry),
            }
        }
        entries.sort_unstable();
        self.tables.push(Table { bytes, entries });
    }

    /// Returns true if there are no names.
    pub fn is_empty(&self) -> bool {
        self.tables.iter().all(|table| table.entries.is_empty())
    }

    /// The name of an address in a process.
    pub fn find(&self, process: i32, address: u64) -> Option<&[u8]> {
        self.tables.iter().find_map(|table| table.find(process, address))
    }
}

impl Table {
    fn find(&self, process: i32, address: u64) -> Option<&[u8]> {
        let after = self.entries.partition_point(|entry| (entry.process, entry.first) <= (process, address));
        let entry = self.entries.get(after.checked_sub(1)?)?;
        // The last address is one of the function's, too.
        let is_in = entry.process == process && address <= entry.last.max(entry.first);
        let name = self.bytes.get(entry.name as usize..).filter(|_| is_in).map(until_zero)?;
        (!name.is_empty()).then_some(name)
    }
}

//! The entries of `.eh_frame`: one for each function, with its range and the way to its caller.
//!
//! Compilers write it for every function, and `strip` leaves it: where there is no symbol, it still
//! tells one function from the next. `.eh_frame_hdr` is a sorted index of it; where there is none
//! of the usual form, one is made.

use std::ops::Range;
use std::sync::OnceLock;

use gimli::{
    BaseAddresses, CieOrFde, EhFrame, EndianSlice, FrameDescriptionEntry, LittleEndian, UnwindSection, Vendor,
};

use super::object::{Contents, Machine, Object};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The addresses that the descriptions of an object are relative to.
pub(crate) fn bases(object: &Object) -> BaseAddresses {
    let mut bases = BaseAddresses::default();
    for (name, set) in [
        (b".eh_frame".as_slice(), BaseAddresses::set_eh_frame as fn(BaseAddresses, u64) -> BaseAddresses),
        (b".text", BaseAddresses::set_text),
        (b".got", BaseAddresses::set_got),
    ] {
        if let Some(start) = object.section_address(name) {
            bases = set(bases, start);
        }
    }
    bases
}

/// The section of an object with its index.
pub(crate) struct FrameEntries {
    section: Contents,
    header: Option<Contents>,
    bases: BaseAddresses,
    vendor: Vendor,
    address_size: u8,
    /// Made when there is no usable header.
    index: OnceLock<Vec<(u64, usize)>>,
}

impl FrameEntries {
    /// The entries of an object; `None` if it has none, or is for a processor that is not understood.
    pub fn new(object: &Object) -> Option<FrameEntries> {
        let (vendor, address_size) = match object.machine() {
            Machine::X86_64 => (Vendor::Default, 8),
            Machine::X86 => (Vendor::Default, 4),
            // Additions to the instructions say where return addresses are signed.
            Machine::Aarch64 => (Vendor::AArch64, 8),
            Machine::Other(_) => return None,
        };
        let section = object.section(b".eh_frame")?;
        let header = object.section(b".eh_frame_hdr");
        let (bases, index) = (bases(object), OnceLock::new());
        Some(FrameEntries { section, header, bases, vendor, address_size, index })
    }

    /// The section as a reader of it wants it.
    pub fn section(&self) -> EhFrame<Slice<'_>> {
        let mut section = EhFrame::new(&self.section.bytes, LittleEndian);
        section.set_address_size(self.address_size);
        section.set_vendor(self.vendor);
        section
    }

    /// The addresses that the descriptions are relative to.
    pub fn bases(&self) -> &BaseAddresses {
        &self.bases
    }

    /// The bytes of the section.
    pub fn bytes(&self) -> &[u8] {
        &self.section.bytes
    }

    /// The entry that a stated address (SVMA) is in.
    pub fn entry(&self, svma: u64) -> Option<FrameDescriptionEntry<Slice<'_>>> {
        let section = self.section();
        let offset = match self.header.as_ref().and_then(|header| search(header, svma)) {
            Some(address) => usize::try_from(address.wrapping_sub(self.section.svma.start)).ok()?,
            None => find(self.index.get_or_init(|| index(&section, &self.bases)), svma)?,
        };
        let entry = section.fde_from_offset(&self.bases, offset.into(), EhFrame::cie_from_offset).ok()?;
        entry.contains(svma).then_some(entry)
    }

    /// The function, or a part of one that is put elsewhere, that a stated address is in.
    pub fn function(&self, svma: u64) -> Option<Range<u64>> {
        let entry = self.entry(svma)?;
        Some(entry.initial_address()..entry.end_address())
    }
}

/// The usual header: the address of the last entry that begins at or before `svma`.
///
/// Four bytes each, relative to the header, are what every linker writes.
fn search(header: &Contents, svma: u64) -> Option<u64> {
    const VERSION: u8 = 1;
    const UDATA4: u8 = 0x03;
    const DATAREL_SDATA4: u8 = 0x3b;
    let &[version, pointer, count, table] = header.bytes.first_chunk()?;
    // The encoding of the pointer to the section determines the place of the count.
    let pointer_size = match pointer & 0x0f {
        0x03 | 0x0b => 4,
        0x04 | 0x0c | 0x00 => 8,
        _ => return None,
    };
    if version != VERSION || count != UDATA4 || table != DATAREL_SDATA4 {
        return None;
    }
    let rest = header.bytes.get(4 + pointer_size..)?;
    let count = u32::from_le_bytes(*rest.first_chunk()?) as usize;
    let entries = rest.get(4..)?;
    let count = count.min(entries.len() / 8);
    let number = |at: usize| {
        let bytes = entries.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
        header.svma.start.wrapping_add_signed(i32::from_le_bytes(bytes).into())
    };
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if number(8 * middle) <= svma { low = middle + 1 } else { high = middle }
    }
    Some(number(8 * low.checked_sub(1)? + 4))
}

/// The beginnings of all entries of a section: first address, offset; sorted.
pub(crate) fn index<'b, S: UnwindSection<Slice<'b>>>(
    section: &S,
    bases: &BaseAddresses,
) -> Vec<(u64, usize)> {
    let mut found = Vec::new();
    let mut entries = section.entries(bases);
    // Entries behind a mistake cannot be read; those before it are kept.
    while let Ok(Some(entry)) = entries.next() {
        if let CieOrFde::Fde(partial) = entry
            && let Ok(entry) = partial.parse(S::cie_from_offset)
        {
            found.push((entry.initial_address(), entry.offset()));
        }
    }
    found.sort_unstable();
    found
}

/// The offset of the last entry that begins at or before an address.
pub(crate) fn find(index: &[(u64, usize)], svma: u64) -> Option<usize> {
    let after = index.partition_point(|(start, _)| *start <= svma);
    Some(index[after.checked_sub(1)?].1)
}

//! Events in a block, whose headers are deltas of the one before, and the fields of their payloads.

use super::blocks::Layout;
use crate::bytes::{Cursor, varint};

/// The bits of a header's first byte.
const METADATA: u8 = 1;
const CAPTURE: u8 = 2;
const THREAD: u8 = 4;
const STACK: u8 = 8;
const ACTIVITY: u8 = 16;
const RELATED_ACTIVITY: u8 = 32;
/// In version 6 the number of a list of labels, which activities are among.
const LABELS: u8 = 16;
const LENGTH: u8 = 128;

/// The length of a GUID.
const GUID: usize = 16;

/// An event but for its payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The number of its type, or 0 in a block of types.
    pub metadata: u32,
    /// Counted on the thread that captured it.
    pub sequence: u32,
    pub capture_thread: u64,
    /// The number of the thread, or in version 6 that of its entry in a block of threads.
    pub thread: u64,
    pub stack: u32,
    pub time: u64,
    length: u32,
}

/// Calls `each` with the events of a block and their payloads. `None` where the block is damaged, or `each` finds it
/// to be.
pub fn read<'b>(
    bytes: &'b [u8],
    layout: Layout,
    mut each: impl FnMut(&Header, &'b [u8]) -> Option<()>,
) -> Option<()> {
    let mut start = Cursor::little(bytes);
    let (size, flags) = (start.u16()?, start.u16()?);
    let mut rest = bytes.get(usize::from(size).max(4)..)?;
    let is_compressed = flags & 1 != 0;
    let mut header = Header::default();
    while !rest.is_empty() {
        let payload = if is_compressed {
            header.compressed(&mut rest, layout)?
        } else {
            // Padding to four bytes may stand at the end.
            let at = bytes.len() - rest.len();
            header.plain(&mut rest, at, layout)?
        };
        each(&header, payload)?;
    }
    Some(())
}

impl Header {
    /// Reads a header that says what has changed, and takes its payload.
    fn compressed<'b>(&mut self, bytes: &mut &'b [u8], layout: Layout) -> Option<&'b [u8]> {
        let (&flags, rest) = bytes.split_first()?;
        *bytes = rest;
        let int = |bytes: &mut &'b [u8]| varint(bytes).and_then(|number| u32::try_from(number).ok());
        if flags & METADATA != 0 {
            self.metadata = int(bytes)?;
        }
        if flags & CAPTURE != 0 {
            self.sequence = self.sequence.wrapping_add(int(bytes)?);
            self.capture_thread = varint(bytes)?;
            int(bytes)?;
        }
        if self.metadata != 0 || layout == Layout::V6 {
            self.sequence = self.sequence.wrapping_add(1);
        }
        if flags & THREAD != 0 {
            self.thread = varint(bytes)?;
        }
        if flags & STACK != 0 {
            self.stack = int(bytes)?;
        }
        self.time = self.time.wrapping_add(varint(bytes)?);
        let guids: &[u8] = if layout == Layout::V6 { &[] } else { &[ACTIVITY, RELATED_ACTIVITY] };
        for guid in guids {
            if flags & guid != 0 {
                *bytes = bytes.get(GUID..)?;
            }
        }
        if layout == Layout::V6 && flags & LABELS != 0 {
            int(bytes)?;
        }
        if flags & LENGTH != 0 {
            self.length = int(bytes)?;
        }
        let (payload, rest) = bytes.split_at_checked(usize::try_from(self.length).ok()?)?;
        *bytes = rest;
        Some(payload)
    }

    /// Reads a header with all fields, and takes its payload and the padding behind it.
    fn plain<'b>(&mut self, bytes: &mut &'b [u8], at: usize, layout: Layout) -> Option<&'b [u8]> {
        let mut fields = Cursor::little(bytes);
        let size = usize::try_from(fields.u32()?).ok()?;
        // The highest bit says that the events are sorted.
        self.metadata = fields.u32()? & !(1 << 31);
        self.sequence = fields.u32()?;
        self.thread = fields.u64()?;
        self.capture_thread = fields.u64()?;
        fields.u32()?;
        self.stack = fields.u32()?;
        self.time = fields.u64()?;
        fields.take(if layout == Layout::V6 { 4 } else { 2 * GUID })?;
        let length = usize::try_from(fields.u32()?).ok()?;
        let payload = fields.take(length)?;
        let mut end = (at + 4).checked_add(size)?;
        if layout == Layout::V4 {
            end = end.checked_next_multiple_of(4)?;
        }
        let end = end - at;
        *bytes = bytes.get(end..).unwrap_or_default();
        Some(payload)
    }
}

//! The records in a ring, which may go on from its end to its begin.

/// The bytes in a ring, in two pieces where it runs over its end. All of a record is aligned to numbers, and so
/// is the end of the ring.
#[derive(Clone, Copy)]
pub(super) struct Pieces<'a>(pub &'a [u8], pub &'a [u8]);

/// The header of a record, and where it is.
#[derive(Clone, Copy)]
pub(super) struct Header {
    pub at: usize,
    pub kind: u32,
    pub misc: u16,
    pub size: usize,
}

impl Pieces<'_> {
    /// The number of bytes.
    pub fn len(self) -> usize {
        self.0.len() + self.1.len()
    }

    /// The eight bytes at a place, which is aligned to numbers.
    pub fn eight(self, at: usize) -> Option<[u8; 8]> {
        let bytes = match at.checked_sub(self.0.len()) {
            None => self.0.get(at..)?,
            Some(at) => self.1.get(at..)?,
        };
        bytes.first_chunk().copied()
    }

    /// The number at a place.
    pub fn word(self, at: usize) -> Option<u64> {
        self.eight(at).map(u64::from_ne_bytes)
    }

    /// The two numbers at a place.
    pub fn pair(self, at: usize) -> Option<[u32; 2]> {
        let [a, b, c, d, e, f, g, h] = self.eight(at)?;
        Some([u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])])
    }

    /// The headers of the records, up to one whose size is less than its header's.
    pub fn headers(self) -> impl Iterator<Item = Header> {
        let mut next = Some(0);
        std::iter::from_fn(move || {
            let at = next?;
            let [a, b, c, d, e, f, g, h] = self.eight(at)?;
            let (kind, misc) = (u32::from_ne_bytes([a, b, c, d]), u16::from_ne_bytes([e, f]));
            let size = usize::from(u16::from_ne_bytes([g, h]));
            next = (size >= 8).then_some(at + size);
            Some(Header { at, kind, misc, size })
        })
    }

    /// Appends the bytes between two places.
    pub fn copy(self, from: usize, to: usize, out: &mut Vec<u8>) {
        let Pieces(first, second) = self;
        let within = |piece: &[u8], at: usize| at.min(piece.len());
        out.extend_from_slice(&first[within(first, from)..within(first, to)]);
        let behind = |at: usize| within(second, at.saturating_sub(first.len()));
        out.extend_from_slice(&second[behind(from)..behind(to)]);
    }
}

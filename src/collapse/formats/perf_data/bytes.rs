//! Numbers and texts out of bytes of either order, never beyond their end.

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ByteOrder {
    /// The lowest comes first: x86, aarch64, riscv.
    #[default]
    Little,
    /// The highest comes first: s390, older ppc.
    Big,
}

/// Bytes that are read from the front.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a> {
    rest: &'a [u8],
    order: ByteOrder,
}

impl<'a> Bytes<'a> {
    pub fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        Bytes { rest: bytes, order }
    }

    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Takes `len` bytes; `None` if there are fewer, which leaves all of them.
    #[inline]
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    /// [`Bytes::take`] for a length that was read from the input.
    pub fn take_u64(&mut self, len: u64) -> Option<&'a [u8]> {
        self.take(usize::try_from(len).ok()?)
    }

    pub fn skip(&mut self, len: usize) -> Option<()> {
        self.take(len).map(|_| ())
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        let bytes = self.take(2)?.try_into().ok()?;
        Some(match self.order {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        })
    }

    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        let bytes = self.take(4)?.try_into().ok()?;
        Some(match self.order {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        })
    }

    pub fn i32(&mut self) -> Option<i32> {
        self.u32().map(|value| value as i32)
    }

    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        let bytes = self.take(8)?.try_into().ok()?;
        Some(match self.order {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        })
    }

    /// Takes `count` numbers of eight bytes each.
    pub fn u64s(&mut self, count: u64) -> Option<U64s<'a>> {
        let bytes = self.take_u64(count.checked_mul(8)?)?;
        Some(U64s { bytes, order: self.order })
    }

    /// Takes a text that ends with a zero, or with the bytes.
    pub fn text(&mut self) -> &'a [u8] {
        let end = memchr::memchr(0, self.rest);
        let text = &self.rest[..end.unwrap_or(self.rest.len())];
        self.rest = &self.rest[end.map_or(self.rest.len(), |end| end + 1)..];
        text
    }

    /// Takes a text with its length, padding included, before it.
    pub fn counted_text(&mut self) -> Option<&'a [u8]> {
        let len = self.u32()?;
        let bytes = self.take_u64(len.into())?;
        Some(Bytes::new(bytes, self.order).text())
    }
}

/// Numbers of eight bytes each, in place.
#[derive(Clone, Copy, Debug, Default)]
pub struct U64s<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl<'a> U64s<'a> {
    /// The count of the numbers.
    pub fn len(&self) -> usize {
        self.bytes.len() / 8
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number at an index; `None` behind the last.
    #[inline]
    pub fn get(&self, index: usize) -> Option<u64> {
        let at = index.checked_mul(8)?;
        Bytes::new(self.bytes.get(at..at.checked_add(8)?)?, self.order).u64()
    }

    /// All numbers.
    pub fn iter(self) -> impl Iterator<Item = u64> + 'a {
        (0..self.len()).filter_map(move |index| self.get(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_orders_and_stops_at_the_end() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, b'h', b'i', 0, 9];
        let mut little = Bytes::new(&bytes, ByteOrder::Little);
        let mut big = Bytes::new(&bytes, ByteOrder::Big);
        assert_eq!(little.u16(), Some(0x0201));
        assert_eq!(big.u16(), Some(0x0102));
        assert_eq!(big.u32(), Some(0x0304_0506));
        assert_eq!(little.take(6).unwrap(), [3, 4, 5, 6, 7, 8]);
        assert_eq!(little.u64(), None, "there are four more: {little:?}");
        assert_eq!(little.text(), b"hi");
        assert_eq!((little.rest(), little.text(), little.rest()), (&[9][..], &[9][..], &[][..]));
        assert!(big.u64s(u64::MAX).is_none());
    }
}

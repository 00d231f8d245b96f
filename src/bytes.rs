//! Numbers and texts out of bytes: a cursor over a slice, in either byte order, and varints.
//!
//! Nothing here reads beyond the end: what is not all there is `None`. Files that are read in one stream
//! have the same from [`crate::input::Reader`], with errors that say where.

use std::ops::{BitOrAssign, Shl};

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ByteOrder {
    /// The lowest comes first: x86, aarch64, riscv.
    #[default]
    Little,
    /// The highest comes first: s390, older ppc.
    Big,
}

impl ByteOrder {
    /// The number that some bytes are; of more than eight, the eight that count least.
    pub fn unsigned(self, bytes: &[u8]) -> u64 {
        let digit = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        match self {
            ByteOrder::Little => bytes.iter().rev().fold(0, digit),
            ByteOrder::Big => bytes.iter().fold(0, digit),
        }
    }
}

/// Bytes that are read from the front.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
    order: ByteOrder,
}

impl<'a> Cursor<'a> {
    /// A cursor at the first byte.
    pub fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        Cursor { rest: bytes, order }
    }

    /// A cursor over numbers whose lowest byte comes first.
    pub fn little(bytes: &'a [u8]) -> Self {
        Cursor::new(bytes, ByteOrder::Little)
    }

    /// The order of the bytes of numbers.
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// The bytes that are left.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns true if no bytes are left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Takes `len` bytes; `None` if there are fewer, which leaves all of them.
    #[inline]
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    /// [`Cursor::take`] for a length that was read from the input.
    pub fn take_u64(&mut self, len: u64) -> Option<&'a [u8]> {
        self.take(usize::try_from(len).ok()?)
    }

    /// Takes a fixed number of bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    /// Passes over `len` bytes.
    pub fn skip(&mut self, len: usize) -> Option<()> {
        self.take(len).map(|_| ())
    }

    /// A byte.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    /// Two bytes.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        let bytes = self.array()?;
        Some(match self.order {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        })
    }

    /// Four bytes.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        let bytes = self.array()?;
        Some(match self.order {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        })
    }

    /// Four bytes with a sign.
    pub fn i32(&mut self) -> Option<i32> {
        self.u32().map(u32::cast_signed)
    }

    /// Eight bytes.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        let bytes = self.array()?;
        Some(match self.order {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        })
    }

    /// Eight bytes that are a floating point number.
    pub fn f64(&mut self) -> Option<f64> {
        self.u64().map(f64::from_bits)
    }

    /// Takes `count` numbers of eight bytes each.
    pub fn u64s(&mut self, count: u64) -> Option<U64s<'a>> {
        let bytes = self.take_u64(count.checked_mul(8)?)?;
        Some(U64s { bytes, order: self.order })
    }

    /// Takes a number of seven bits a byte: [`varint`].
    #[inline]
    pub fn varint(&mut self) -> Option<u64> {
        varint(&mut self.rest)
    }

    /// Takes a text that ends with a zero, or with the bytes.
    pub fn text(&mut self) -> &'a [u8] {
        let text = until_zero(self.rest);
        self.rest = self.rest.get(text.len() + 1..).unwrap_or_default();
        text
    }

    /// Takes a text that ends with a zero; `None` if there is no zero.
    pub fn terminated_text(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memchr(0, self.rest)?;
        let text = self.take(end);
        self.skip(1)?;
        text
    }

    /// Takes a text in UTF-16 that ends with a zero; `None` if there is no zero.
    pub fn terminated_utf16(&mut self) -> Option<String> {
        let end = self.rest.chunks_exact(2).position(|unit| unit == [0, 0])?;
        let units = self.take(2 * end)?;
        self.skip(2)?;
        let units: Vec<u16> = units.chunks_exact(2).map(|unit| self.order.unsigned(unit) as u16).collect();
        Some(String::from_utf16_lossy(&units))
    }

    /// Takes a text with its length, padding included, before it in four bytes.
    pub fn counted_text(&mut self) -> Option<&'a [u8]> {
        let len = self.u32()?;
        self.take_u64(len.into()).map(until_zero)
    }

    /// Takes bytes with their number before them in two bytes.
    pub fn u16_counted(&mut self) -> Option<&'a [u8]> {
        let len = self.u16()?;
        self.take(len.into())
    }

    /// Takes bytes with their number before them as a [`varint`].
    pub fn varint_counted(&mut self) -> Option<&'a [u8]> {
        let len = self.varint()?;
        self.take_u64(len)
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
        Cursor::new(self.bytes.get(at..at.checked_add(8)?)?, self.order).u64()
    }

    /// All numbers.
    pub fn iter(self) -> impl Iterator<Item = u64> + 'a {
        (0..self.len()).filter_map(move |index| self.get(index))
    }
}

/// The bytes before the first zero.
pub fn until_zero(bytes: &[u8]) -> &[u8] {
    &bytes[..memchr::memchr(0, bytes).unwrap_or(bytes.len())]
}

/// Takes a varint from the start of `bytes`: seven bits a byte, the lowest first, and the highest bit of each
/// says that another byte follows (LEB128; protobuf.dev/programming-guides/encoding). `None` if it is cut short
/// or of more than 64 bits, which leaves all of the bytes.
#[inline]
pub fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut rest = *bytes;
    let number = varint_from(|| rest.split_off_first().copied().ok_or(()));
    let number = number.ok()??;
    *bytes = rest;
    Some(number)
}

/// [`varint`] of at most 128 bits.
pub fn varint_128(bytes: &mut &[u8]) -> Option<u128> {
    let mut rest = *bytes;
    let number = read_varint(u128::BITS, || rest.split_off_first().copied().ok_or(()));
    let number = number.ok()??;
    *bytes = rest;
    Some(number)
}

/// [`varint`] of bytes that come one by one; `Ok(None)` if it is of more than 64 bits.
///
/// # Errors
/// Those of `next`.
#[inline]
pub fn varint_from<E>(next: impl FnMut() -> Result<u8, E>) -> Result<Option<u64>, E> {
    read_varint(u64::BITS, next)
}

#[inline]
fn read_varint<T, E>(bits: u32, mut next: impl FnMut() -> Result<u8, E>) -> Result<Option<T>, E>
where
    T: Default + From<u8> + BitOrAssign + Shl<u32, Output = T>,
{
    let mut number = T::default();
    for shift in (0..bits).step_by(7) {
        let byte = next()?;
        // The last byte has room for less than seven bits.
        if shift + 7 > bits && byte >> (bits - shift) > 0 {
            break;
        }
        number |= T::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

/// The number with a sign that an unsigned one stands for: 0, -1, 1, -2, …
pub fn zigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -((number & 1).cast_signed())
}

/// The unsigned number that stands for one with a sign: [`zigzag`] gives it back.
pub fn to_zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63).cast_unsigned()
}

/// Appends a number as [`varint`] reads it.
#[inline]
pub fn push_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a number as [`varint_128`] reads it.
pub fn push_varint_128(mut number: u128, out: &mut Vec<u8>) {
    while number > u128::from(u64::MAX) {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    push_varint(number as u64, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_orders_and_stops_at_the_end() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, b'h', b'i', 0, 9];
        let mut little = Cursor::little(&bytes);
        let mut big = Cursor::new(&bytes, ByteOrder::Big);
        assert_eq!(little.u16(), Some(0x0201));
        assert_eq!(big.u16(), Some(0x0102));
        assert_eq!(big.u32(), Some(0x0304_0506));
        assert_eq!(little.take(6).unwrap(), [3, 4, 5, 6, 7, 8]);
        assert_eq!(little.u64(), None, "there are four more: {little:?}");
        assert_eq!(little.text(), b"hi");
        assert_eq!((little.rest(), little.text(), little.rest()), (&[9][..], &[9][..], &[][..]));
        assert!(big.u64s(u64::MAX).is_none() && little.u8().is_none() && little.is_empty());
        assert_eq!((big.i32(), Cursor::little(&[0xff; 4]).i32()), (Some(0x0708_6869), Some(-1)));
        assert_eq!(Cursor::little(&1.5f64.to_le_bytes()).f64(), Some(1.5));
        let three = [1, 2, 3];
        assert_eq!(
            (ByteOrder::Little.unsigned(&three), ByteOrder::Big.unsigned(&three)),
            (0x03_0201, 0x01_0203)
        );
    }

    #[test]
    fn texts_end_with_a_zero_or_where_their_length_says() {
        let mut cursor = Cursor::little(b"a\0bc");
        assert_eq!((cursor.terminated_text(), cursor.terminated_text()), (Some(&b"a"[..]), None));
        assert_eq!(cursor.rest(), b"bc");
        let utf16 = [b'h', 0, 0xe4, 0, 0, 0, 7];
        let mut cursor = Cursor::little(&utf16);
        assert_eq!((cursor.terminated_utf16().as_deref(), cursor.rest()), (Some("hä"), &[7][..]));
        assert_eq!(Cursor::new(&[0, b'h', 0, 0], ByteOrder::Big).terminated_utf16().as_deref(), Some("h"));
        assert_eq!(Cursor::little(&utf16[..4]).terminated_utf16(), None);
        assert_eq!(Cursor::little(b"\x04\0\0\0ab\0\0").counted_text(), Some(&b"ab"[..]));
        assert_eq!(Cursor::little(b"\x02\0abc").u16_counted(), Some(&b"ab"[..]));
        assert_eq!(Cursor::little(b"\x02abc").varint_counted(), Some(&b"ab"[..]));
        assert_eq!(Cursor::little(b"\x04\0\0\0a").counted_text(), None);
        assert_eq!(Cursor::little(b"\x05\0a").u16_counted(), None);
        assert_eq!(Cursor::little(b"\x7fa").varint_counted(), None);
    }

    #[test]
    fn varints_are_of_at_most_64_bits() {
        for (bytes, value) in [
            (&[0u8][..], Some(0)),
            (&[0x7f], Some(127)),
            (&[0x80, 0x01], Some(128)),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], Some(u64::MAX)),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02], None),
            (&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], None),
            (&[0x80], None),
            (&[], None),
        ] {
            let mut rest = bytes;
            assert_eq!(varint(&mut rest), value, "{bytes:?}");
            assert_eq!(rest.is_empty(), value.is_some() || bytes.is_empty(), "{bytes:?}");
        }
        assert_eq!([0, 1, 2, 3, u64::MAX].map(zigzag), [0, -1, 1, -2, i64::MIN]);
        let widest = [&[0xff; 18][..], &[0x03]].concat();
        assert_eq!(varint_128(&mut &widest[..]), Some(u128::MAX));
        assert_eq!(varint_128(&mut &[&[0xff; 18][..], &[0x04]].concat()[..]), None);
    }

    #[test]
    fn written_varints_come_back() {
        let numbers = (0..64).flat_map(|bit| [1u64 << bit, (1 << bit) - 1]).chain([u64::MAX]);
        for number in numbers {
            let wide = u128::from(number) << 64 | u128::from(number);
            let mut out = Vec::new();
            push_varint(number, &mut out);
            push_varint_128(wide, &mut out);
            push_varint_128(number.into(), &mut out);
            let mut rest = &out[..];
            assert_eq!((varint(&mut rest), varint_128(&mut rest)), (Some(number), Some(wide)));
            assert_eq!((varint(&mut rest), rest), (Some(number), &[][..]));
        }
    }
}

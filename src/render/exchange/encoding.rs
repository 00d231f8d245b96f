//! Writes the wire format of protocol buffers: protobuf.dev/programming-guides/encoding.

use crate::bytes::push_varint;

/// The wire types of fields: a number, 64 bits, or a length and bytes.
const NUMBER: u64 = 0;
const FIXED: u64 = 1;
const LENGTH: u64 = 2;

fn tag(field: u64, kind: u64, out: &mut Vec<u8>) {
    push_varint(field << 3 | kind, out);
}

/// A field that is a number.
pub fn number_field(field: u64, value: u64, out: &mut Vec<u8>) {
    tag(field, NUMBER, out);
    push_varint(value, out);
}

/// A field that is a number, unless it is 0.
pub fn known(field: u64, value: u64, out: &mut Vec<u8>) {
    if value != 0 {
        number_field(field, value, out);
    }
}

/// A field of 64 bits, unless it is 0.
pub fn fixed(field: u64, value: u64, out: &mut Vec<u8>) {
    if value != 0 {
        tag(field, FIXED, out);
        out.extend_from_slice(&value.to_le_bytes());
    }
}

/// A field that is a message, a text or several numbers.
pub fn bytes(field: u64, bytes: &[u8], out: &mut Vec<u8>) {
    tag(field, LENGTH, out);
    push_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// A field of several numbers; `list` is room for them.
pub fn packed(field: u64, numbers: impl Iterator<Item = u64>, list: &mut Vec<u8>, out: &mut Vec<u8>) {
    list.clear();
    numbers.for_each(|number| push_varint(number, list));
    if !list.is_empty() {
        bytes(field, list, out);
    }
}

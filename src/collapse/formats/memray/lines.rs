//! The tables in which Python keeps the line of each instruction of a function.
//!
//! There are three: pairs of bytes up to Python 3.9 (`lnotab`), others in 3.10 (PEP 626), and since 3.11 entries of one
//! byte and what follows it (`Objects/locations.md` of CPython).

/// The line of the instruction at an offset; `None` where the table does not go so far. It is in bytes, but in words of
/// two bytes in Python 3.10, as `f_lasti` of the interpreter is.
pub fn line_at(python: u32, table: &[u8], first: i64, offset: i64) -> Option<i64> {
    match python >> 16 {
        ..0x030a => by_increments(table, first, offset),
        0x030a => by_ranges(table, first, offset.checked_mul(2)?),
        _ => by_locations(table, first, offset),
    }
}

fn by_increments(table: &[u8], first: i64, offset: i64) -> Option<i64> {
    let (mut line, mut at) = (first, 0);
    for pair in table.chunks_exact(2) {
        at += i64::from(pair[0]);
        if at > offset {
            break;
        }
        line += i64::from(pair[1] as i8);
    }
    Some(line)
}

fn by_ranges(table: &[u8], first: i64, offset: i64) -> Option<i64> {
    let (mut line, mut at) = (first, 0);
    for pair in table.chunks_exact(2) {
        // Code without a line stands at the one before.
        line += if pair[1] == 0x80 { 0 } else { i64::from(pair[1] as i8) };
        at += i64::from(pair[0]);
        if at > offset {
            return Some(line);
        }
    }
    None
}

fn by_locations(table: &[u8], first: i64, offset: i64) -> Option<i64> {
    let (mut line, mut at) = (first, 0);
    let mut bytes = table.iter().copied();
    while let Some(head) = bytes.next() {
        let kind = (head >> 3) & 15;
        let change = match kind {
            15 => 0,
            13 | 14 => signed(&mut bytes)?,
            10..=12 => i64::from(kind) - 10,
            _ => 0,
        };
        // Columns, and the line where the expression ends.
        match kind {
            14 => (0..3).try_for_each(|_| six_bit_number(&mut bytes).map(|_| ()))?,
            10..=12 => (0..2).try_for_each(|_| bytes.next().map(|_| ()))?,
            0..=9 => (0..1).try_for_each(|_| bytes.next().map(|_| ()))?,
            _ => {}
        }
        line = line.checked_add(change)?;
        at += 2 * (i64::from(head & 7) + 1);
        if at > offset {
            return Some(line);
        }
    }
    None
}

/// A number of 6 bits a byte, the lowest first.
fn six_bit_number(bytes: &mut impl Iterator<Item = u8>) -> Option<u64> {
    let mut number = 0;
    for shift in (0..60).step_by(6) {
        let byte = bytes.next()?;
        number |= u64::from(byte & 0x3f) << shift;
        if byte & 0x40 == 0 {
            return Some(number);
        }
    }
    None
}

fn signed(bytes: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let number = six_bit_number(bytes)?;
    let size = i64::try_from(number >> 1).ok()?;
    Some(if number & 1 == 1 { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_of_python_has_its_table() {
        // 6 bytes of line 10, 4 of line 12, the rest of line 11.
        let increments = [6, 2, 4, 0xff];
        for (offset, line) in [(0, 10), (5, 10), (6, 12), (9, 12), (10, 11), (90, 11)] {
            assert_eq!(line_at(0x0308_0000, &increments, 10, offset), Some(line), "{offset}");
        }
        let ranges = [6, 0, 4, 2, 2, 0x80, 2, 0xff];
        for (offset, line) in [(0, Some(10)), (3, Some(12)), (5, Some(12)), (6, Some(11)), (7, None)] {
            assert_eq!(line_at(0x030a_0000, &ranges, 10, offset), line, "{offset}");
        }
        // No column: +0, one unit. One line: +1, two units. None: one unit. Long: -3, one unit. Short: one unit.
        let locations = [0xe8, 0, 0xd9, 1, 2, 0xf8, 0xf0, 7, 0, 0x41, 1, 0, 0x80, 0];
        let lines = [
            (0, Some(10)),
            (2, Some(11)),
            (4, Some(11)),
            (6, Some(11)),
            (8, Some(8)),
            (10, Some(8)),
            (12, None),
        ];
        for (offset, line) in lines {
            assert_eq!(line_at(0x030b_02f0, &locations, 10, offset), line, "{offset}");
        }
        assert_eq!(line_at(0x030b_0000, &[0xf0, 0xff], 10, 0), None);
    }
}

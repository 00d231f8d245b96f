//! The tables by which Python's code objects tell the line of an instruction.
//!
//! They are described in CPython's `Objects/lnotab_notes.txt` (up to 3.10) and `Objects/locations.md` (since 3.11).

/// The line of an instruction, by its offset in bytes; `first` is the line on which the function begins.
pub(super) fn line_at(version: u32, table: &[u8], first: u32, offset: u64) -> Option<u32> {
    let line = match version {
        ..=9 => by_steps(table, first, offset),
        10 => by_ranges(table, first, offset),
        _ => by_locations(table, first, offset),
    };
    line.and_then(|line| u32::try_from(line).ok()).filter(|line| *line > 0)
}

/// Up to 3.9: steps of the address, and of the line at the address that is reached.
fn by_steps(table: &[u8], first: u32, offset: u64) -> Option<i64> {
    let (mut line, mut at) = (i64::from(first), 0);
    for step in table.chunks_exact(2) {
        at += u64::from(step[0]);
        if at > offset {
            break;
        }
        line += i64::from(step[1] as i8);
    }
    Some(line)
}

/// 3.10: the length of a range, and the step of the line at its beginning; -128 for none.
fn by_ranges(table: &[u8], first: u32, offset: u64) -> Option<i64> {
    let (mut line, mut end) = (i64::from(first), 0);
    for step in table.chunks_exact(2) {
        end += u64::from(step[0]);
        let has_line = step[1] as i8 != i8::MIN;
        if has_line {
            line += i64::from(step[1] as i8);
        }
        if offset < end {
            return has_line.then_some(line);
        }
    }
    None
}

/// Since 3.11: entries that begin with a byte whose highest bit is set, with a code and the number of instructions.
fn by_locations(table: &[u8], first: u32, offset: u64) -> Option<i64> {
    const BYTES_OF_INSTRUCTION: u64 = 2;
    let (mut line, mut end) = (i64::from(first), 0u64);
    let mut rest = table;
    while let Some((&head, behind)) = rest.split_first() {
        if head & 0x80 == 0 {
            return None;
        }
        let own = behind.iter().take_while(|byte| **byte & 0x80 == 0).count();
        let (own, next) = behind.split_at(own);
        rest = next;
        end += (u64::from(head & 7) + 1) * BYTES_OF_INSTRUCTION;
        let has_line = match head >> 3 & 15 {
            // No location.
            15 => false,
            // A long one, or one without columns: the step of the line is a number of its own.
            13 | 14 => {
                line = line.checked_add(signed(own)?)?;
                true
            }
            step @ 10..=12 => {
                line += i64::from(step) - 10;
                true
            }
            _ => true,
        };
        if offset < end {
            return has_line.then_some(line);
        }
    }
    None
}

/// A number in pieces of six bits, the sign in the lowest.
fn signed(bytes: &[u8]) -> Option<i64> {
    let mut number = 0u64;
    for (at, byte) in bytes.iter().enumerate() {
        number |= u64::from(byte & 0x3f).checked_shl(6 * at as u32)?;
        if byte & 0x40 == 0 {
            let size = (number >> 1) as i64;
            return Some(if number & 1 == 1 { -size } else { size });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    // `compile("def f(n):\n    t = 0\n    for i in range(n):\n        t += i\n    return t\n", …)`: the tables of
    // f's code as each version has it, and the line of each offset as `dis.findlinestarts` says.
    #[test]
    fn lines_are_those_that_python_says() {
        let (v9, v10): (&[u8], &[u8]) = (&[0, 1, 4, 1, 12, 1, 10, 1], &[4, 1, 12, 1, 10, 1, 4, 1]);
        let v13: &[u8] = &[
            128, 0, 216, 8, 9, 128, 65, 220, 13, 18, 144, 49, 142, 88, 136, 1, 216, 8, 9, 137, 6, 138, 1,
            241, 3, 0, 14, 22, 224, 11, 12, 128, 72,
        ];
        let lines = |version, table: &[u8], all: &[u64]| -> Vec<u32> {
            all.iter().map(|offset| line_at(version, table, 1, *offset).unwrap_or(0)).collect()
        };
        assert_eq!(lines(8, v9, &[0, 2, 4, 14, 16, 24, 26, 28]), [2, 2, 3, 3, 4, 4, 5, 5]);
        assert_eq!(lines(10, v10, &[0, 2, 4, 14, 16, 24, 26, 28]), [2, 2, 3, 3, 4, 4, 5, 5]);
        assert_eq!(lines(13, v13, &[0, 2, 4, 6, 32, 34, 44, 46, 50, 52]), [1, 2, 2, 3, 3, 4, 4, 3, 5, 5]);
        assert_eq!(line_at(13, v13, 1, 1000), None);
        for len in 0..v13.len() {
            let _ = (line_at(13, &v13[..len], 1, 30), line_at(10, &v13[..len], u32::MAX, 500));
        }
        assert_eq!(line_at(11, &[0x80 | 14 << 3, 0x7f, 0x7f, 0x7f], 1, 0), None, "a number without an end");
    }
}

//! One line of folded text.

use std::io::Write;

use crate::weight::Weight;

/// The number of weights on each line of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    /// A profile.
    #[default]
    One,
    /// A differential profile: before and after.
    Two,
}

/// The weight of a line in one column, or the two of a differential line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weights {
    /// The weight; in two columns the second, *after*.
    pub value: Weight,
    /// In two columns the first, *before*; zero in one column.
    pub before: Weight,
}

impl Weights {
    /// The weight of a line in one column.
    pub const fn one(value: Weight) -> Self {
        Weights { value, before: Weight::ZERO }
    }

    /// The larger of both columns.
    #[inline]
    pub(crate) fn larger(self) -> Weight {
        self.value.max(self.before)
    }

    /// Adds column by column.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    #[inline]
    pub fn checked_add(self, other: Weights) -> crate::Result<Weights> {
        let before =
            if other.before.is_zero() { self.before } else { self.before.checked_add(other.before)? };
        Ok(Weights { value: self.value.checked_add(other.value)?, before })
    }

    /// Adds column by column, in place.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    #[inline]
    pub(crate) fn try_add(&mut self, other: Weights) -> crate::Result<()> {
        if !other.before.is_zero() {
            self.before.try_add(other.before)?;
        }
        self.value.try_add(other.value)
    }

    /// Subtracts column by column.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    #[inline]
    pub fn checked_sub(self, other: Weights) -> crate::Result<Weights> {
        let before =
            if other.before.is_zero() { self.before } else { self.before.checked_sub(other.before)? };
        Ok(Weights { value: self.value.checked_sub(other.value)?, before })
    }

    /// Returns true if both columns are zero.
    pub const fn is_zero(self) -> bool {
        self.value.is_zero() && self.before.is_zero()
    }
}

/// A line taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The frames, root first, joined by `;`.
    pub stack: &'a [u8],
    /// The weight or weights.
    pub weights: Weights,
}

/// Writes lines, many at once.
pub(crate) struct LineWriter<'w> {
    columns: Columns,
    text: Vec<u8>,
    out: &'w mut dyn Write,
}

impl<'w> LineWriter<'w> {
    const FULL: usize = 64 * 1024;

    pub(crate) fn new(columns: Columns, out: &'w mut dyn Write) -> LineWriter<'w> {
        LineWriter { columns, text: Vec::with_capacity(2 * Self::FULL), out }
    }

    /// Writes a stack and its weights.
    ///
    /// # Errors
    /// The writer's.
    #[inline]
    pub(crate) fn write(&mut self, stack: &[u8], weights: Weights) -> crate::Result<()> {
        put_line(stack, weights, self.columns, &mut self.text);
        if self.text.len() >= Self::FULL {
            self.out.write_all(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The writer's.
    pub(crate) fn finish(self) -> crate::Result<()> {
        self.out.write_all(&self.text)?;
        self.out.flush()?;
        Ok(())
    }
}

/// Puts a line behind others: a stack and its weights.
#[inline]
pub(super) fn put_line(stack: &[u8], weights: Weights, columns: Columns, text: &mut Vec<u8>) {
    put_stack(stack, text);
    if columns == Columns::Two {
        text.push(b' ');
        weights.before.write_to(text);
    }
    text.push(b' ');
    weights.value.write_to(text);
    text.push(b'\n');
}

/// Puts a stack into a line. A root of a program or a thread called `# x` would make the line a comment,
/// which every reader passes over: it becomes `#_x`, as `fg-filter` names it.
#[inline]
pub(crate) fn put_stack(stack: &[u8], line: &mut Vec<u8>) {
    match stack {
        [b'#'] => line.extend_from_slice(b"#_"),
        [b'#', b' ', rest @ ..] => {
            line.extend_from_slice(b"#_");
            line.extend_from_slice(rest);
        }
        _ => line.extend_from_slice(stack),
    }
}

/// Splits the weight off the end: `main;parse 42` is `main;parse` and 42. The line comes without
/// its newline. `None` if the last field is no weight.
///
/// The stack may be empty: ` 3` is one frame without a name, as py-spy writes
/// it for a thread that was seen without a stack.
///
/// ```
/// use fg_tools::{Weight, folded::split_weight};
///
/// assert_eq!(split_weight(b"a;b c 4.5"), Some((&b"a;b c"[..], Weight::parse(b"4.5").unwrap())));
/// assert_eq!(split_weight(b"a;b"), None);
/// ```
#[inline]
pub fn split_weight(line: &[u8]) -> Option<(&[u8], Weight)> {
    if let Some((space, value)) = split_digits(line) {
        return Some((&line[..space], Weight::new(value.into())));
    }
    // Weights are short: looking back byte by byte beats a vector search.
    let space = line.iter().rposition(|&b| b == b' ')?;
    let weight = Weight::parse(&line[space + 1..])?;
    Some((&line[..space], weight))
}

/// The place of the blank before the number that a line ends with, and the number, for nearly every line in the
/// world: it has up to 15 digits. `None` for any other line.
#[inline]
pub(crate) fn split_digits(line: &[u8]) -> Option<(usize, u64)> {
    let (before, last) = line.last_chunk::<16>()?.split_at(8);
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    let last = word(last);
    let count = bytes_behind_blank(last);
    if count < 8 {
        return Some((line.len() - count - 1, number_of_digits(last, count)?));
    }
    let before = word(before);
    let more = bytes_behind_blank(before);
    // Without a blank it is too long.
    (more < 8).then_some(())?;
    let high = if more == 0 { 0 } else { number_of_digits(before, more)? };
    Some((line.len() - 9 - more, high * 100_000_000 + number_of_digits(last, 8)?))
}

/// The number of digits that a text begins with, up to seven, and the number, if a newline follows. `None` for any
/// other text.
#[inline]
#[cfg(feature = "diff")]
pub(crate) fn leading_digits(text: &[u8]) -> Option<(usize, u64)> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let bytes = u64::from_le_bytes(*text.first_chunk()?);
    let others = bytes ^ (ONES * u64::from(b'\n'));
    // The lowest of these bits is that of the first newline.
    let newlines = others.wrapping_sub(ONES) & !others & (ONES << 7);
    let digits = newlines.trailing_zeros() as usize / 8;
    (1..8)
        .contains(&digits)
        .then(|| number_of_digits(bytes << (64 - 8 * digits), digits))?
        .map(|number| (digits, number))
}

/// The number of bytes behind the last blank of eight, the first of which is the lowest; 8 without a blank.
#[inline]
fn bytes_behind_blank(bytes: u64) -> usize {
    const LOW: u64 = u64::from_ne_bytes([0x7f; 8]);
    let others = bytes ^ u64::from_ne_bytes([b' '; 8]);
    // The highest bit of each byte that is zero.
    let blanks = !(((others & LOW) + LOW) | others | LOW);
    blanks.leading_zeros() as usize / 8
}

/// The number that the last 1 to 8 of eight bytes are the digits of.
#[inline]
fn number_of_digits(bytes: u64, digits: usize) -> Option<u64> {
    const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0xf0; 8]);
    let wanted = (1..=8).contains(&digits).then(|| u64::MAX << (64 - 8 * digits))?;
    let bytes = (bytes & wanted) | (ZEROS & !wanted);
    // A digit is 0x30 to 0x39: six more than that is below 0x40. Where one byte overflows into the next, it is none.
    let above = bytes.wrapping_add(u64::from_ne_bytes([6; 8]));
    if (bytes & HIGH) != ZEROS || (above & HIGH) != ZEROS {
        return None;
    }
    // Two digits become a number of a byte each, two of these one of two bytes, two of these one of four.
    let digits = bytes - ZEROS;
    let pairs = (digits.wrapping_mul(10) + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff)
}

/// Takes a line apart; it comes without its newline, a `\r` or blanks at its end do not matter.
#[inline]
pub fn parse_line(line: &[u8], columns: Columns) -> Option<Line<'_>> {
    let (stack, value) = match split_weight(line) {
        Some(parts) => parts,
        None => split_weight(line.trim_ascii_end())?,
    };
    match columns {
        Columns::One => Some(Line { stack: trim_stack(stack), weights: Weights::one(value) }),
        Columns::Two => {
            let (stack, before) = split_weight(stack)?;
            Some(Line { stack: trim_stack(stack), weights: Weights { value, before } })
        }
    }
}

/// A stack without the `;` at its end, as heaptrack writes it and every other reader drops it: no
/// frame without a name is a leaf.
#[inline]
pub(crate) fn trim_stack(stack: &[u8]) -> &[u8] {
    let mut stack = stack;
    while let Some((b';', rest)) = stack.split_last() {
        stack = rest;
    }
    stack
}

/// Puts a name into `out` as a frame: `;` becomes `:` and line ends become spaces.
pub fn sanitize_frame(name: &[u8], out: &mut Vec<u8>) {
    out.extend(name.iter().map(|&byte| match byte {
        b';' => b':',
        b'\n' | b'\r' => b' ',
        other => other,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::is_comment;

    #[test]
    fn takes_lines_apart() {
        let one = parse_line(b"a;b c 12", Columns::One).unwrap();
        assert_eq!((one.stack, one.weights.value), (&b"a;b c"[..], Weight::new(12)));
        let two = parse_line(b"a;b 1 2.5\r", Columns::Two).unwrap();
        assert_eq!(two.stack, b"a;b");
        assert_eq!(
            (two.weights.before.to_string(), two.weights.value.to_string()),
            ("1".into(), "2.5".into())
        );
    }

    #[test]
    fn no_stack_is_written_as_a_comment() {
        for (stack, written) in
            [(&b"# x;f"[..], &b"#_x;f 1\n"[..]), (b"#", b"#_ 1\n"), (b"#;f", b"#;f 1\n"), (b"#x", b"#x 1\n")]
        {
            let mut out = Vec::new();
            let mut lines = LineWriter::new(Columns::One, &mut out);
            lines.write(stack, Weights::one(Weight::ONE)).unwrap();
            lines.finish().unwrap();
            assert_eq!(out, written);
            assert!(!is_comment(&out));
        }
    }

    #[test]
    fn no_leaf_is_without_a_name() {
        for line in [&b"main; 19"[..], b"main;; 19", b"main 19"] {
            assert_eq!(parse_line(line, Columns::One).unwrap().stack, b"main");
        }
        assert_eq!(parse_line(b"a;b; 1 2", Columns::Two).unwrap().stack, b"a;b");
        assert_eq!(parse_line(b"a;;b 1", Columns::One).unwrap().stack, b"a;;b");
    }

    proptest::proptest! {
        #[test]
        fn any_end_of_a_line_is_the_weight_that_it_says(
            stack in "[a; .9]{0,20}",
            weight in proptest::prop_oneof!["[0-9]{0,20}", "[-0-9.x /:@\\x10\u{430}]{0,20}", "[0-9]{0,8}[/:\t\u{430}][0-9]{0,8}"],
        ) {
            let line = format!("{stack} {weight}");
            let (stack, weight) = line.rsplit_once(' ').unwrap();
            let expected = Weight::parse(weight.as_bytes()).map(|weight| (stack.as_bytes(), weight));
            assert_eq!(split_weight(line.as_bytes()), expected);
        }
    }

    #[test]
    fn up_to_fifteen_digits_are_read_at_once() {
        let stack = "an;awfully;long;stack";
        for digits in 1..=15 {
            let number = (10u64.pow(digits) - 1) / 9 * 7;
            assert_eq!(split_digits(format!("{stack} {number}").as_bytes()), Some((stack.len(), number)));
        }
        for other in ["0000000000000001", "x", "123456x", "12345678x0"] {
            assert_eq!(split_digits(format!("{stack} {other}").as_bytes()), None, "{other}");
        }
        assert_eq!(split_digits(b"a 1"), None, "the line is short");
    }

    #[cfg(feature = "diff")]
    #[test]
    fn up_to_seven_digits_before_a_newline_are_read_at_once() {
        for digits in 1..=7 {
            let number = (10u64.pow(digits) - 1) / 9 * 7;
            let text = format!("{number}\nmain 1\n");
            assert_eq!(leading_digits(text.as_bytes()), Some((digits as usize, number)));
        }
        for other in ["12345678\n", "\n7777777", "12x4\n...", "7\n"] {
            assert_eq!(leading_digits(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn refuses_what_is_no_line() {
        for line in [&b""[..], b"a", b"a;b NaN", b"a 1e6", b"a ", b"5"] {
            assert_eq!(parse_line(line, Columns::One), None, "{line:?}");
        }
        assert_eq!(parse_line(b"a 5", Columns::Two), None);
        assert_eq!(parse_line(b" 5", Columns::One).unwrap().stack, b"");
    }

    #[test]
    fn comments_start_with_a_hash_and_a_space() {
        assert!(is_comment(b"# unit: ns") && is_comment(b"#"));
        assert!(!is_comment(b"#lead;main 3") && !is_comment(b"a"));
    }
}

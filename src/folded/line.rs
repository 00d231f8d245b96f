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

/// Returns true if the line (without its newline) is a comment.
#[inline]
pub fn is_comment(line: &[u8]) -> bool {
    line.first() == Some(&b'#') && matches!(line.get(1), None | Some(b' '))
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
    // Weights are short: looking back byte by byte beats a vector search.
    let space = line.iter().rposition(|&b| b == b' ')?;
    let weight = Weight::parse(&line[space + 1..])?;
    Some((&line[..space], weight))
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

//! Joins folded texts while they stream by.

use std::io::Write;

use super::options::ReportOptions;
use super::plan::Plan;
use super::prepared::Prepared;
use super::recording::Recording;
use crate::error::Result;
use crate::folded::{Weights, put_stack};
use crate::input::Source;
use crate::profile::header;

/// The size of a write; a pipe holds that much.
const FULL: usize = 64 * 1024;

/// Joins two folded texts: the header of both, then every stack with its weights before and after.
///
/// Texts in frame order are merged in constant memory. They are read twice, so that nothing is
/// written before trouble is known; the lines of a pipe are kept in between.
///
/// # Errors
/// Those of reading and writing; [`crate::ErrorKind::Setting`] for different units and differential
/// texts.
///
/// ```
/// use fg_tools::{Source, diff};
///
/// let (before, after) = (Source::bytes("main;parse 40\nmain;read 2\n"), Source::bytes("main;parse 44\n"));
/// let mut out = Vec::new();
/// diff::join_folded(&before, &after, &mut out)?;
/// assert_eq!(out, b"# columns: before, after\nmain;parse 40 44\nmain;read 2 0\n");
/// # Ok::<(), fg_tools::Error>(())
/// ```
pub fn join_folded(before: &Source, after: &Source, out: &mut dyn Write) -> Result<()> {
    if before.is_rereadable()
        && after.is_rereadable()
        && let Some(plan) = Plan::make(before, after)?
    {
        out.write_all(header::write(&plan.facts()).as_bytes())?;
        return plan.carry_out(before, after, out);
    }
    let options = ReportOptions::default();
    let (before, after) = ([Recording::Folded(before.clone())], [Recording::Folded(after.clone())]);
    let prepared = Prepared::new(&before, &after, &options, false)?;
    let mut text = header::write(prepared.facts()).into_bytes();
    prepared.join(&options, &mut |stack, weights| {
        write_line(&mut text, stack, weights);
        if text.len() >= FULL {
            out.write_all(&text)?;
            text.clear();
        }
        Ok(())
    })?;
    Ok(out.write_all(&text)?)
}

/// Appends `stack before after` and a newline.
#[inline]
pub(crate) fn write_line(out: &mut Vec<u8>, stack: &[u8], weights: Weights) {
    put_stack(stack, out);
    for weight in [weights.before, weights.value] {
        out.push(b' ');
        weight.write_to(out);
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text and the number of writes.
    #[derive(Default)]
    struct Writes(Vec<u8>, usize);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.1 += 1;
            self.0.write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn texts_in_any_order_and_from_pipes_are_joined_in_large_writes() {
        let line = |n: usize| format!("main;f{n:05} {n}\n");
        let (before, after): (String, String) =
            ((1..9000).map(line).collect(), (2..9000).map(line).collect());
        let backwards: String = (2..9000).rev().map(line).collect();
        let expected = (2..9000).map(|n| format!("main;f{n:05} {n} {n}\n"));
        let expected =
            "# columns: before, after\nmain;f00001 1 0\n".to_owned() + &expected.collect::<String>();
        let before = Source::bytes(before);
        let pipe = Source::reader("pipe", std::io::Cursor::new(after.clone().into_bytes()));
        for after in [Source::bytes(after), Source::bytes(backwards), pipe] {
            let mut out = Writes::default();
            join_folded(&before, &after, &mut out).unwrap();
            assert!(out.0 == expected.as_bytes());
            assert!(out.1 <= 2 + expected.len() / FULL, "{} writes", out.1);
        }
    }

    #[test]
    fn a_stack_that_is_a_hash_without_its_empty_leaf_is_no_comment() {
        let (before, after) = (Source::bytes("a 19\n"), Source::bytes("\n#; 1\nb 44\n"));
        let mut out = Vec::new();
        join_folded(&before, &after, &mut out).unwrap();
        assert_eq!(String::from_utf8_lossy(&out), "# columns: before, after\n#_ 0 1\na 19 0\nb 0 44\n");
    }
}

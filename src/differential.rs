//! Differential folded text in the shape of `inferno::differential`, for programs that come from it.
//!
//! Two profiles become one with two weights on each line, which
//! [`flamegraph::from_reader`](crate::flamegraph::from_reader) draws. Unlike inferno's, the output
//! is in a fixed order, adds up exactly, and begins with what both headers say. Tables and
//! verdicts are in [`diff`](crate::diff).

use std::io::{self, BufRead, Write};
use std::path::Path;

use crate::error::Result;
use crate::folded::{Columns, StackTable, Weights};
use crate::input::Source;
use crate::profile::{Facts, Profile, header};
use crate::reading::ReadOptions;
use crate::weight::Weight;

/// The options of [`from_readers`] and [`from_files`]: the fields of inferno's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Scales the weights before, so that both profiles weigh the same.
    pub normalize: bool,
    /// Replaces hexadecimal addresses in names by `0x...`.
    pub strip_hex: bool,
}

/// Compares two folded texts, and writes lines `stack before after`.
///
/// # Errors
/// The readers' and the writer's; [`io::ErrorKind::InvalidData`] for text that holds no stacks.
///
/// ```
/// use fg_tools::differential::{Options, from_readers};
///
/// let (before, after) = ("main;parse 40\nmain 2\n", "main;parse 44\n");
/// let mut folded = Vec::new();
/// from_readers(Options::default(), before.as_bytes(), after.as_bytes(), &mut folded)?;
/// assert!(folded.ends_with(b"main 2 0\nmain;parse 40 44\n"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn from_readers<R1, R2, W>(opt: Options, mut before: R1, mut after: R2, writer: W) -> io::Result<()>
where
    R1: BufRead,
    R2: BufRead,
    W: Write,
{
    let mut texts = (Vec::new(), Vec::new());
    before.read_to_end(&mut texts.0)?;
    after.read_to_end(&mut texts.1)?;
    Ok(compare(opt, Source::bytes(texts.0).named("before"), Source::bytes(texts.1).named("after"), writer)?)
}

/// Compares two files of folded text, plain or compressed, and writes lines `stack before after`.
///
/// # Errors
/// The system's, and those of [`from_readers`].
pub fn from_files<P1, P2, W>(opt: Options, file_before: P1, file_after: P2, writer: W) -> io::Result<()>
where
    P1: AsRef<Path>,
    P2: AsRef<Path>,
    W: Write,
{
    Ok(compare(opt, Source::new(file_before), Source::new(file_after), writer)?)
}

fn compare(options: Options, before: Source, after: Source, mut writer: impl Write) -> Result<()> {
    let read = |source| Profile::read(&[source], &ReadOptions::default().format("folded").places(false));
    let (before, after) = (read(before)?, read(after)?);
    let (total, wanted) = (before.total()?.value, after.total()?.value);
    let is_scaled = options.normalize && total > Weight::ZERO && wanted > Weight::ZERO;
    let decimals = total.decimals().max(wanted.decimals());

    let mut both = StackTable::default();
    both.expect_columns(Columns::Two)?;
    let mut stripped = Vec::new();
    let mut add = |stack: &[u8], weights| {
        stripped.clear();
        if options.strip_hex {
            strip_hex(stack, &mut stripped);
            return both.add_stack(&stripped, weights);
        }
        both.add_stack(stack, weights)
    };
    // The sums are rounded, not the weights, so that the whole is exact.
    let (mut sum, mut given) = (Weight::ZERO, Weight::ZERO);
    before.stacks().for_each(|stack, Weights { value: mut weight, .. }| {
        if is_scaled {
            sum = sum.checked_add(weight)?;
            let due = sum.times_ratio(wanted, total, decimals)?;
            weight = due.checked_sub(given)?;
            given = due;
        }
        add(stack, Weights { before: weight, value: Weight::ZERO })
    })?;
    after.stacks().for_each(|stack, weights| add(stack, weights))?;
    let facts = Facts::of_sides(before.facts().clone(), after.facts().clone());
    writer.write_all(header::write(&facts).as_bytes())?;
    both.write(&mut writer)?;
    writer.flush()?;
    Ok(())
}

/// Writes a stack with `0x...` for each hexadecimal address in it.
fn strip_hex(stack: &[u8], out: &mut Vec<u8>) {
    let mut rest = stack;
    while let Some(at) = memchr::memmem::find(rest, b"0x") {
        let digits = rest[at + 2..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        out.extend_from_slice(&rest[..at + 2]);
        if digits > 0 {
            out.extend_from_slice(b"...");
        }
        rest = &rest[at + 2 + digits..];
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const BEFORE: &str = "main;parse 0x12af 40\nmain 2\nmain;gone 8\n";
    const AFTER: &str = "main;parse 0xffff 50\nmain 2\nmain;new 48\n";

    /// The lines without the header, sorted.
    fn lines(text: &[u8]) -> BTreeMap<String, String> {
        let text = String::from_utf8(text.to_vec()).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let split = |line: &str| {
            let mut fields = line.rsplitn(3, ' ');
            let after = fields.next().unwrap().to_owned();
            let before = fields.next().unwrap().to_owned();
            (fields.next().unwrap().to_owned(), format!("{before} {after}"))
        };
        lines.map(split).collect()
    }

    #[test]
    fn agrees_with_inferno() {
        for (normalize, strip_hex) in [(false, false), (false, true), (true, false)] {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            let options = Options { normalize, strip_hex };
            from_readers(options, BEFORE.as_bytes(), AFTER.as_bytes(), &mut ours).unwrap();
            let options = inferno::differential::Options { normalize, strip_hex };
            let sides = (BEFORE.as_bytes(), AFTER.as_bytes());
            inferno::differential::from_readers(options, sides.0, sides.1, &mut theirs).unwrap();
            assert_eq!(lines(&ours), lines(&theirs), "{options:?}");
        }
    }

    #[test]
    fn normalised_sides_weigh_the_same_exactly() {
        let (before, after) = ("a 1\nb 1\nc 1\n", "a 5\nb 5\n");
        let mut out = Vec::new();
        let options = Options { normalize: true, strip_hex: false };
        from_readers(options, before.as_bytes(), after.as_bytes(), &mut out).unwrap();
        let total: u64 = lines(&out)
            .values()
            .map(|weights| weights.split_once(' ').unwrap().0.parse::<u64>().unwrap())
            .sum();
        assert_eq!(total, 10);
    }

    #[test]
    fn what_is_no_profile_is_an_error() {
        let error = from_readers(Options::default(), &b"no weight here\n"[..], &b"a 1\n"[..], io::sink());
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}

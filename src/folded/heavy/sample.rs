//! Lines from all over a large file, which tell most of its heavy beginnings.

use std::fs::File;
use std::ops::Range;

use super::super::id_table::KeyedHasher;
use super::super::line::{Columns, parse_line};
use super::sketch::{Heavy, Sketch};
use crate::error::Result;
use crate::facts::header::is_comment;
use crate::input::read_at;
use crate::scan::line_and_semicolons;

/// The number of lines that should be looked at in a stretch of the file that is as heavy as the least frame.
const LINES_OF_LEAST: u128 = 6;
/// Looking at a quarter of the lines, and again at what they have missed, takes as long as looking at all.
const LEAST_STEP: u64 = 4;
const MOST_STEP: u64 = 64;
/// The factor by which something may weigh less in the sample than its share and still be taken for heavy: of a
/// recording of a million stacks 2% are read again then, where twice more would make the tree twice as large, and twice less would miss 6%.
const CAUTION: u64 = 6;

/// Called with a stack, the places of the `;` in it, and its weight.
type EachStack<'a> = dyn FnMut(&[u8], &[u32], u64) + 'a;

/// Some lines of a file.
#[derive(Default)]
struct Sample {
    bytes: u64,
    weights: Vec<u64>,
}

impl Sample {
    /// The weight of a file of so many bytes if the rest of it is alike.
    fn total(&self, size: u64) -> u64 {
        let sum: u128 = self.weights.iter().map(|&weight| u128::from(weight)).sum();
        // There is nothing like a line that is heavy by itself.
        let (alone, alike): (Vec<u128>, Vec<u128>) =
            self.weights.iter().map(|&weight| u128::from(weight)).partition(|weight| weight * 64 > sum);
        let alike = alike.iter().sum::<u128>() * u128::from(size) / u128::from(self.bytes.max(1));
        u64::try_from(alike + alone.iter().sum::<u128>()).unwrap_or(u64::MAX)
    }

    /// Looks at the lines in windows of so many bytes that begin `step` bytes from one another. `None` if a weight is no
    /// whole number.
    fn of(
        file: &File,
        whole: &Range<u64>,
        window: usize,
        step: u64,
        each: &mut EachStack<'_>,
    ) -> Result<Option<Sample>> {
        let (mut sample, mut text, mut semicolons) = (Sample::default(), vec![0; window], Vec::new());
        for start in whole.clone().step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
            let wanted = usize::try_from(whole.end - start).map_or(window, |left| left.min(window));
            let read = read_at(file, start, &mut text[..wanted])?;
            let mut rest = &text[..read];
            // The first line may lack its beginning, the last its end.
            if start > whole.start {
                rest = &rest[memchr::memchr(b'\n', rest).map_or(read, |end| end + 1)..];
            }
            loop {
                let end = line_and_semicolons(rest, &mut semicolons);
                if end == rest.len() {
                    break;
                }
                let line = &rest[..end];
                rest = &rest[end + 1..];
                sample.bytes += end as u64 + 1;
                if is_comment(line) {
                    continue;
                }
                let Some(parsed) = parse_line(line, Columns::One) else { continue };
                let Some(weight) = parsed.weights.value.to_u64() else { return Ok(None) };
                sample.weights.push(weight);
                each(parsed.stack, &semicolons, weight);
            }
        }
        Ok(Some(sample))
    }
}

/// The weight of a file and the length of its lines, guessed from a few of them.
pub(super) struct Guess {
    /// The weight of all lines, as the few are.
    pub(super) total: u64,
    /// The number of bytes of a line.
    line: u64,
}

impl Guess {
    /// Looks at a few lines. `None` if a weight is no whole number.
    pub(super) fn of(file: &File, whole: &Range<u64>) -> Result<Option<Guess>> {
        const WINDOWS: u64 = 256;
        let size = whole.end - whole.start;
        let few = Sample::of(file, whole, 4096, (size / WINDOWS).max(4096), &mut |_, _, _| {})?;
        Ok(few.map(|few| Guess { total: few.total(size), line: few.bytes / few.weights.len().max(1) as u64 }))
    }

    /// The stacks that seem heavy, after a look at as many lines as that takes; `None` if that is a large part of
    /// them, or a weight is not a whole number.
    pub(super) fn heavy(
        &self,
        file: &File,
        whole: &Range<u64>,
        least_of: &dyn Fn(u64) -> u64,
        hasher: &KeyedHasher,
    ) -> Result<Option<Heavy>> {
        let size = whole.end - whole.start;
        let least = least_of(self.total).max(1);
        let lines = size / self.line.max(1);
        let enough = LINES_OF_LEAST * u128::from(self.total / least);
        let step = (u128::from(lines) / enough.max(1)).min(MOST_STEP.into()) as u64;
        if step < LEAST_STEP {
            return Ok(None);
        }
        let mut sketch = Sketch::new(least / step / CAUTION);
        let window = usize::try_from(self.line * 8).map_or(1 << 20, |eight| eight.clamp(2048, 1 << 20));
        let seen =
            Sample::of(file, whole, window, window as u64 * step, &mut |stack, semicolons, weight| {
                sketch.add(stack, semicolons, weight, hasher);
            })?;
        let Some(seen) = seen else { return Ok(None) };
        let share = u128::from(least_of(seen.total(size))) * u128::from(seen.bytes) / u128::from(size.max(1));
        Ok(Some(sketch.heavy(u64::try_from(share / u128::from(CAUTION)).unwrap_or(u64::MAX))))
    }
}

#[cfg(test)]
mod tests {
    use super::Sample;

    #[test]
    fn a_line_that_is_heavy_by_itself_is_no_measure_of_the_others() {
        let total = |weights: &[u64]| Sample { bytes: 100, weights: weights.to_vec() }.total(1000);
        assert_eq!(total(&[1; 100]), 1000);
        assert_eq!(total(&[&[1000][..], &[1; 100]].concat()), 2000);
        // 1 of 64 is not more than a part in 64.
        assert_eq!(total(&[1; 64]), 640);
        assert_eq!(total(&[]), 0);
    }
}

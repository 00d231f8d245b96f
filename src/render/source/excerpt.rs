//! The lines of a source file that are shown: those with a weight, and those around them.

/// The number of lines shown before and after one with a weight.
pub const AROUND: u32 = 12;

/// The runs of lines to show of a function, first and last, in order and apart: its first line, where it
/// is known, and what is around its lines with a weight. `last` is the last line of the file.
pub fn runs(lines: impl IntoIterator<Item = u32>, start_line: u32, last: u32) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    let start = (start_line > 0).then_some((start_line, start_line));
    let around = lines
        .into_iter()
        .filter(|line| (1..=last).contains(line))
        .map(|line| (line.saturating_sub(AROUND).max(1), line.saturating_add(AROUND).min(last)));
    let mut all: Vec<(u32, u32)> = start.into_iter().filter(|run| run.0 <= last).chain(around).collect();
    all.sort_unstable();
    for (from, to) in all {
        match runs.last_mut() {
            // A gap of one line is no shorter than the line.
            Some(run) if from <= run.1.saturating_add(2) => run.1 = run.1.max(to),
            _ => runs.push((from, to)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_join_and_stay_in_the_file() {
        assert_eq!(runs([5], 0, 100), [(1, 17)]);
        assert_eq!(runs([20, 46], 0, 50), [(8, 50)]);
        assert_eq!(runs([20, 47], 0, 50), [(8, 32), (35, 50)]);
        assert_eq!(runs([60], 3, 100), [(3, 3), (48, 72)]);
        assert_eq!(runs([0, 200], 0, 100), []);
        assert_eq!(runs([], 150, 100), []);
        assert_eq!(runs([u32::MAX], 0, u32::MAX), [(u32::MAX - AROUND, u32::MAX)]);
    }
}

//! The end of a recording on a terminal: a table of ten functions, and a line that sums it up.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use crate::cli::output::Output;
use crate::cli::{Tool, say, terminal};
use crate::error::Result;
use crate::profile::{Facts, units};
use crate::reading::Opened;
use crate::render::{Format, Settings, Target, Written, write};
use crate::weight::Weight;

use super::Record;

/// The functions that a table shows.
const ROWS: usize = 10;

/// Writes the table to the terminal that standard output is.
///
/// # Errors
/// Those of the output.
pub(super) fn table(input: &Opened, settings: &Settings) -> Result<Written> {
    let mut settings = settings.clone();
    settings.table.limit = Some(ROWS);
    let mut text = Vec::new();
    let outputs = vec![(Format::by_name("top")?, &mut text as &mut dyn Target)];
    let written = write(input, outputs, &settings)?;
    let text = String::from_utf8_lossy(&text);
    let columns = terminal::width().unwrap_or(usize::MAX);
    let mut output = Output::new(None)?;
    output.write_all(terminal::fit(without_advice(&text), columns).as_bytes())?;
    output.finish()?;
    Ok(written)
}

/// The table without the last line, which names an option of fg-render.
fn without_advice(table: &str) -> &str {
    match table.rfind("\n\n") {
        Some(at) if table[at..].contains(" more; --limit ") => &table[..=at],
        _ => table,
    }
}

/// The beginning of the comment on an estimate.
const ESTIMATE: &str = "an estimate from samples, the whole ±";

/// The comment on a whole that is an estimate from so many samples.
pub(super) fn estimate(samples: u64) -> String {
    format!("{ESTIMATE}{:.0}%", (100.0 / (samples as f64).sqrt()).ceil())
}

/// The processor time that samples of a clock stand for, and all of it.
fn coverage(facts: &Facts) -> Option<(Duration, Duration)> {
    let is_clock = facts.event.as_deref().is_some_and(|event| CLOCKS.contains(&event));
    let samples = u128::from(facts.samples.filter(|_| is_clock)?);
    let sampled = match (facts.rate, facts.period.and_then(|period| period.to_u64())) {
        (Some(rate), _) => samples * 1_000_000_000 / u128::from(rate.max(1)),
        (None, period) => samples * u128::from(period?),
    };
    let sampled = Duration::from_nanos(u64::try_from(sampled).ok()?);
    let used = facts.cpu_time?;
    // Each of them is measured on its own.
    Some((sampled.min(used), used))
}

/// The beginning of the comment on frames of Python.
const PYTHON: &str = crate::collapse::formats::perf_data::python::COMMENT;

/// The events that count nanoseconds of processor time.
const CLOCKS: [&str; 2] = ["cpu-clock", "task-clock"];

/// Says how much was recorded, and where it is.
pub(super) fn say_sum(facts: &Facts, files: &[&Path]) {
    let mut parts = Vec::new();
    if let Some(samples) = facts.samples {
        parts.push(units::amount(Weight::new(samples.into()), Some("samples")));
    }
    if let Some(duration) = facts.duration {
        let time = format!("in {:.1} s", duration.as_secs_f64());
        match parts.last_mut() {
            Some(samples) => *samples = format!("{samples} {time}"),
            None => parts.push(time),
        }
    }
    if let Some((sampled, used)) = coverage(facts) {
        parts.push(format!("sampled {} of {} ms CPU", sampled.as_millis(), used.as_millis()));
    }
    let estimates = facts.comments.iter().filter_map(|comment| comment.strip_prefix(ESTIMATE));
    parts.extend(estimates.map(|error| format!("±{error}")));
    parts.extend(facts.comments.iter().filter(|comment| comment.starts_with(PYTHON)).cloned());
    let mut sum = parts.join(", ");
    match facts.warnings.len() {
        0 => {}
        1 => sum.push_str(", 1 warning"),
        n => sum.push_str(&format!(", {n} warnings")),
    }
    let names: Vec<_> = files.iter().map(|path| path.to_string_lossy()).collect();
    match names.is_empty() {
        true => say(Record::NAME, format_args!("{sum}; -o out.svg or --open draws them")),
        false => say(Record::NAME, format_args!("{}: {sum}", names.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_samples_are_a_rougher_estimate() {
        assert_eq!(estimate(400), "an estimate from samples, the whole ±5%");
        assert_eq!(estimate(1), "an estimate from samples, the whole ±100%");
    }

    #[test]
    fn advice_for_another_program_is_cut() {
        assert_eq!(without_advice("1 s\n\na b\n\n9 more; --limit shows as many\n"), "1 s\n\na b\n");
        assert_eq!(without_advice("1 s\n\na b\n"), "1 s\n\na b\n");
    }
}

//! The report on a recording: totals, facts, notes and warnings.

use std::time::Duration;

use super::advice::Advice;
use super::facts::{date, header_facts};
use super::names::Namer;
use super::sample_stream::SampleStream;
use super::summary::Summary;
use crate::collapse::Report;
use crate::error::Result;
use crate::profile::Facts;

impl Summary {
    /// Writes all of it down.
    pub fn report(self, samples: &SampleStream<'_>, namer: &Namer<'_>, report: &mut Report) -> Result<()> {
        samples.values().into_iter().try_for_each(|(value, total)| report.add_value(value, total))?;
        report.notes.extend(samples.off_cpu.note());
        report.notes.extend(samples.allocations.note());
        report.notes.extend(samples.allocations.note_of_losses());
        report.details.extend(samples.off_cpu.left_out());
        report.details.extend(samples.off_cpu.unsampled.detail());
        report.details.extend(samples.deferred.detail());
        if report.first_value.is_none() {
            report.first_value.clone_from(&samples.first);
        }
        report.details.push(format!("{} samples, {} lost", samples.samples, samples.lost));
        if let Some(held) = &samples.modules.held {
            report.details.push(held.to_string());
        }
        Advice { summary: &self, samples, namer }.give(report);
        report.facts = facts(samples);
        report.notes.iter().for_each(|note| report.facts.warn(note));
        report.facts.comments.extend(self.python.comment());
        if samples.lost > 0 {
            report.facts.warn(format!("{} events were lost: the recorder's buffers were full", samples.lost));
        }
        Ok(())
    }
}

/// The facts of a recording that was read to its end.
fn facts(samples: &SampleStream<'_>) -> Facts {
    let description = &samples.records.description;
    let (period, rate) = samples.period_and_rate();
    let times = samples.times();
    // The parts of time off the processor are in the whole already.
    let kept: Vec<u64> =
        samples.values().iter().filter(|(_, total)| total.kept).map(|(_, total)| total.samples).collect();
    let count = if samples.off_cpu.is_kept() || samples.allocations.is_kept() {
        kept.iter().max().copied()
    } else {
        Some(kept.iter().sum())
    };
    let duration = times.map(|(first, last)| Duration::from_nanos(last - first));
    Facts {
        period,
        rate,
        samples: count,
        start: times.and_then(|(first, _)| date(description, first)),
        duration: duration.filter(|duration| !duration.is_zero()),
        ..header_facts(description)
    }
}

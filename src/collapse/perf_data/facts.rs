//! The facts of a recording, out of its header and its samples.

use std::time::{Duration, SystemTime};

use super::feed::Feed;
use super::header::Described;
use crate::collapse::perf_command::recorded_command;
use crate::profile::{Facts, fact};

/// The facts of a recording that was read to its end.
pub(super) fn facts(feed: &Feed<'_>) -> Facts {
    let about = &feed.about;
    let (period, rate) = feed.period_and_rate();
    let times = feed.times();
    // The parts of time off the processor are in the whole already.
    let kept: Vec<u64> =
        feed.values().iter().filter(|(_, total)| total.kept).map(|(_, total)| total.samples).collect();
    let samples = if feed.off_cpu.is_kept() { kept.iter().max().copied() } else { Some(kept.iter().sum()) };
    let duration = times.map(|(first, last)| Duration::from_nanos(last - first));
    Facts {
        period,
        rate,
        samples,
        start: times.and_then(|(first, _)| date(about, first)),
        duration: duration.filter(|duration| !duration.is_zero()),
        ..header_facts(about)
    }
}

/// The facts of the header: producer, command, host and system.
fn header_facts(about: &Described) -> Facts {
    let words: Vec<&[u8]> = about.arguments.iter().map(Vec::as_slice).collect();
    let system: Vec<&[u8]> =
        [&about.release, &about.machine].into_iter().filter_map(|part| part.as_deref()).collect();
    let producer = about.version.as_deref().map(|version| match version.first() {
        Some(b'0'..=b'9') => [b"perf ", version].concat(),
        // Another recorder of this format says its name.
        _ => version.to_vec(),
    });
    Facts {
        producer: producer.and_then(|producer| fact(&producer)),
        command: recorded_command(&words).and_then(|command| fact(&command)),
        host: about.host.as_deref().and_then(fact),
        system: if system.is_empty() { None } else { fact(&[b"Linux ", &system.join(&b' ')[..]].concat()) },
        ..Facts::default()
    }
}

/// The date of a time on the recording's clock, if the header has a reference.
fn date(about: &Described, time: u64) -> Option<SystemTime> {
    let (wall, clock) = about.reference?;
    let nanos = u64::try_from(i128::from(wall) + i128::from(time) - i128::from(clock)).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(nanos))
}

//! The facts in the header of a recording.

use std::time::{Duration, SystemTime};

use super::header::Description;
use crate::collapse::kit::perf_command::recorded_command;
use crate::profile::{Facts, fact};

/// The facts of the header: producer, command, host and system.
pub(super) fn header_facts(description: &Description) -> Facts {
    let words: Vec<&[u8]> = description.arguments.iter().map(Vec::as_slice).collect();
    let system: Vec<&[u8]> =
        [&description.release, &description.machine].into_iter().filter_map(|part| part.as_deref()).collect();
    let producer = description.version.as_deref().map(|version| match version.first() {
        Some(b'0'..=b'9') => [b"perf ", version].concat(),
        // Another recorder of this format says its name.
        _ => version.to_vec(),
    });
    Facts {
        producer: producer.and_then(|producer| fact(&producer)),
        command: recorded_command(&words).and_then(|command| fact(&command)),
        host: description.host.as_deref().and_then(fact),
        system: if system.is_empty() { None } else { fact(&[b"Linux ", &system.join(&b' ')[..]].concat()) },
        ..Facts::default()
    }
}

/// The date of a time on the recording's clock, if the header has a reference.
pub(super) fn date(description: &Description, time: u64) -> Option<SystemTime> {
    let (wall, clock) = description.reference?;
    let nanos = u64::try_from(i128::from(wall) + i128::from(time) - i128::from(clock)).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(nanos))
}

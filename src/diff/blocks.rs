//! Blocks of time: a recording whose samples have times, cut into parts of equal weight.

use std::collections::HashMap;

use crate::error::Result;
use crate::folded::{Columns, Lines, NotUnderstood, ReplayBuffer, parse_line};
use crate::input::Source;
use crate::profile::header::HeaderReader;
use crate::profile::{Context, Profile, ProfileBuilder, SampleRef, Wants};
use crate::significance::blocks::blocks_of;
use crate::weight::Weight;

/// The label that says when a sample was taken.
const TIME: &str = "time";

/// The stacks of each block, in frame order; none if times are not known of all samples, or there are too
/// few.
pub(super) fn cut(profile: &Profile) -> Result<Vec<ReplayBuffer>> {
    let samples: Vec<SampleRef<'_>> = profile.samples().iter().collect();
    let instants = || samples.chunk_by(|a, b| a.time == b.time);
    let count = blocks_of(samples.len(), instants().count());
    let total = profile.total()?.value.to_f64();
    let is_cuttable = count > 0
        && total > 0.0
        && samples.iter().all(|sample| sample.time.is_some() && !sample.weights.value.is_negative());
    if !is_cuttable {
        return Ok(Vec::new());
    }
    let ranks = profile.stacks().ranks();
    let mut entries: Vec<(usize, u32, usize, Weight)> = Vec::with_capacity(samples.len());
    let mut sum = 0.0;
    // Times may be coarse: what has one time stays together, and belongs where its middle is.
    for instant in instants() {
        let weight: f64 = instant.iter().map(|sample| sample.weights.value.to_f64()).sum();
        let block = ((sum + weight / 2.0) / total * count as f64) as usize;
        sum += weight;
        entries.extend(
            instant.iter().map(|sample| {
                (block.min(count - 1), ranks[sample.stack], sample.stack, sample.weights.value)
            }),
        );
    }
    entries.sort_unstable_by_key(|&(block, rank, ..)| (block, rank));
    let mut blocks: Vec<ReplayBuffer> = (0..count).map(|_| ReplayBuffer::default()).collect();
    let mut line = Vec::new();
    for same in entries.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let (block, _, stack, _) = same[0];
        let weight = same.iter().try_fold(Weight::ZERO, |sum, entry| sum.checked_add(entry.3))?;
        line.clear();
        for (n, &frame) in profile.stack(stack).iter().enumerate() {
            if n > 0 {
                line.push(b';');
            }
            line.extend_from_slice(profile.stacks().name(frame));
        }
        line.push(b' ');
        weight.write_to(&mut line);
        blocks[block].push(&line);
    }
    blocks.retain(|block| !block.is_empty());
    Ok(blocks)
}

/// Returns true if folded text declares labels of time.
pub(super) fn has_times(head: &[u8]) -> bool {
    let mut header = HeaderReader::default();
    for line in head.split(|&byte| byte == b'\n') {
        if !line.starts_with(b"#") {
            break;
        }
        if header.read(line).is_err() {
            return false;
        }
    }
    header.finish().labels.iter().any(|label| label == TIME)
}

/// Reads folded text with labels of time into a profile with single samples, without these labels.
///
/// # Errors
/// Those of reading.
pub(super) fn read_timed(source: &Source) -> Result<(Profile, NotUnderstood)> {
    let mut lines = Lines::open(std::slice::from_ref(source))?;
    let mut builder = ProfileBuilder::new(Wants { contexts: true, ..Wants::NOTHING });
    let mut not_understood = NotUnderstood::default();
    let mut times: HashMap<Vec<u8>, Option<u64>> = HashMap::new();
    let labels = lines.first_facts().labels.len();
    while let Some(line) = lines.next_line()? {
        let Some(parsed) = parse_line(line, Columns::One) else {
            let line = line.to_vec();
            not_understood.note(&line, || lines.position());
            continue;
        };
        let mut time = None;
        let mut frames = Vec::new();
        for (n, frame) in parsed.stack.split(|&byte| byte == b';').enumerate() {
            match frame.strip_prefix(b"time=") {
                Some(value) if n < labels && time.is_none() => {
                    time = *times.entry(value.to_vec()).or_insert_with(|| nanoseconds(value));
                }
                _ => frames.push(frame),
            }
        }
        let context = Context { time, ..Context::UNKNOWN };
        builder.add_at(frames, parsed.weights.value, &context)?;
    }
    let mut facts = lines.facts();
    facts.labels.retain(|label| label != TIME);
    builder.facts = facts;
    Ok((builder.finish()?, not_understood))
}

/// The nanoseconds of a label such as `000012.340s`.
fn nanoseconds(value: &[u8]) -> Option<u64> {
    let seconds = Weight::parse(value.strip_suffix(b"s")?)?;
    let nanoseconds = seconds.checked_mul(Weight::new(1_000_000_000)).ok()?.to_f64();
    (0.0..1e19).contains(&nanoseconds).then_some(nanoseconds as u64)
}

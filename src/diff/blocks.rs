//! Blocks of time: a recording whose samples have times, cut into parts of equal weight.

use crate::error::Result;
use crate::folded::ReplayBuffer;
use crate::profile::{Profile, SampleRef};
use crate::significance::blocks::blocks_of;
use crate::weight::Weight;

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

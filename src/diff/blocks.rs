//! Blocks of time: a recording whose samples have times, cut into parts of equal weight.

use crate::error::Result;
use crate::folded::{FrameId, StackList};
use crate::profile::{Profile, SampleRef};
use crate::significance::blocks::blocks_of;
use crate::weight::Weight;

/// The stacks of each block, in frame order; none if times are not known of all samples, or there are too
/// few.
pub(super) fn cut(profile: &Profile) -> Result<Vec<StackList>> {
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
    let mut blocks: Vec<StackList> = (0..count).map(|_| StackList::default()).collect();
    let mut frames: Vec<FrameId> = Vec::new();
    for same in entries.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let (block, _, stack, _) = same[0];
        let weight = same.iter().try_fold(Weight::ZERO, |sum, entry| sum.checked_add(entry.3))?;
        frames.clear();
        frames.extend(profile.stack(stack).iter().map(|&frame| profile.stacks().base(frame)));
        blocks[block].push(&frames, weight);
    }
    blocks.retain(|block| !block.is_empty());
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::StackCursor;
    use crate::profile::{Context, ProfileBuilder, Wants};

    /// Samples of `main` at these times, with these weights.
    fn recorded(samples: impl Iterator<Item = (u64, i128)>) -> Vec<u64> {
        let mut builder = ProfileBuilder::new(Wants::ALL);
        for (time, weight) in samples {
            let context = Context { time: Some(time), ..Context::UNKNOWN };
            builder.add_at(["main"], Weight::new(weight), &context).unwrap();
        }
        let profile = builder.finish().unwrap();
        let (blocks, names) = (cut(&profile).unwrap(), profile.stacks().name_list());
        let weight_of = |block: StackList| {
            let mut cursor = StackCursor::default();
            let (line, _) = block.next_line_like(&names, &mut cursor, b"").expect("no block is empty");
            let weight = std::str::from_utf8(line).unwrap().strip_prefix("main ").unwrap().parse().unwrap();
            assert!(block.next_line_like(&names, &mut cursor, b"").is_none(), "one stack is one line");
            weight
        };
        blocks.into_iter().map(weight_of).collect()
    }

    #[test]
    fn blocks_weigh_alike_and_what_has_one_time_stays_together() {
        // A hundred samples at fifty times.
        assert_eq!(recorded((0..100).map(|n| (n / 2, 3))).iter().sum::<u64>(), 300);
        let blocks = recorded((0..100).map(|n| (n, 3)));
        assert_eq!(blocks, [15; 20]);
        // Samples that weigh nothing are at the very end of the whole.
        let blocks = recorded((0..105).map(|n| (n, if n < 100 { 3 } else { 0 })));
        assert_eq!((blocks.len(), blocks.iter().sum::<u64>()), (21, 300));
        // Half of the weight is of one moment: it is one block, and others are empty.
        let blocks = recorded((0..200).map(|n| (n.max(100), 1)));
        assert_eq!(blocks.iter().max(), Some(&101));
    }

    #[test]
    fn few_samples_are_not_cut() {
        assert!(recorded((0..79).map(|n| (n, 1))).is_empty());
        assert!(recorded((0..1000).map(|n| (n / 100, 1))).is_empty(), "ten times");
        assert!(recorded((0..200).map(|n| (n, 0))).is_empty(), "no weight");
    }
}

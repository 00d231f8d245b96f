//! The call tree of a page that is held to a size: the lightest frames that a frame calls are told as one, `[other]`.
//!
//! Two walks of the same stacks do it, once the whole tree has turned out to be too large. [`Shares`] takes the share of each frame, and [`Fold`]
//! stands between the second walk and the encoder. It keeps the weight of every frame that is told, and notes which number each
//! frame of the walk has in the page, which a time line needs.

use crate::error::Result;
use crate::folded::{Frame, OTHER, Visitor, Weights};

/// The share of each frame of a walk in the whole; of several values, the largest.
#[derive(Default)]
pub struct Shares {
    of_frames: Vec<f32>,
    /// Those of the walk so far.
    current: Vec<f32>,
    /// The largest share below each open frame.
    below: Vec<f32>,
    whole: f64,
}

impl Shares {
    /// Ends the walk of a value.
    pub fn finish_value(&mut self) {
        self.of_frames.resize(self.of_frames.len().max(self.current.len()), 0.0);
        let scale = if self.whole > 0.0 { 1.0 / self.whole } else { 0.0 };
        for (share, weight) in self.of_frames.iter_mut().zip(self.current.drain(..)) {
            *share = share.max((f64::from(weight) * scale) as f32);
        }
        (self.whole, self.below) = (0.0, Vec::new());
    }

    /// The number of frames.
    pub fn len(&self) -> usize {
        self.of_frames.len()
    }

    /// The heaviest frames, at most this many.
    pub fn heaviest(&self, most: usize) -> Kept<'_> {
        let mut sorted = self.of_frames.clone();
        let above = match sorted.len().checked_sub(most.saturating_add(1)) {
            Some(at) => *sorted.select_nth_unstable_by(at, f32::total_cmp).1,
            None => -1.0,
        };
        Kept { shares: &self.of_frames, above }
    }
}

impl Visitor for Shares {
    fn exit(&mut self, frame: Frame<'_>, _: Weights) -> Result<()> {
        let weight = frame.total.value.to_f64();
        if frame.depth == 0 {
            self.whole += weight;
        }
        self.below.resize(frame.depth + 2, 0.0);
        // A caller is never lighter than a frame that is kept below it.
        let share = (weight as f32).max(self.below[frame.depth + 1]);
        self.below.truncate(frame.depth + 1);
        self.below[frame.depth] = self.below[frame.depth].max(share);
        self.current.push(share);
        Ok(())
    }

    fn restart(&mut self) -> Result<()> {
        (self.current, self.below, self.whole) = (Vec::new(), Vec::new(), 0.0);
        Ok(())
    }
}

/// The frames of a walk that are told one by one.
#[derive(Clone, Copy)]
pub struct Kept<'s> {
    shares: &'s [f32],
    above: f32,
}

impl Kept<'_> {
    /// The largest share of a frame that is not kept.
    pub fn above(self) -> f32 {
        self.above
    }
}

/// Tells a visitor the frames that are kept, and all others that a frame calls as one.
pub struct Fold<'v, 'k> {
    visitor: &'v mut dyn Visitor,
    kept: Kept<'k>,
    /// The other frames, by depth.
    others: Vec<Others>,
    /// The weight of all stacks so far.
    so_far: Weights,
    /// The number in the page of each frame of the walk.
    numbers: Vec<u32>,
    told: u32,
}

/// Frames that are told as one: those that an open frame called, and the frames below them.
#[derive(Default)]
struct Others {
    weights: Weights,
    frames: Vec<u32>,
}

impl<'v, 'k> Fold<'v, 'k> {
    /// A fold of a walk whose frames are those of `kept`.
    pub fn new(visitor: &'v mut dyn Visitor, kept: Kept<'k>) -> Fold<'v, 'k> {
        Fold { visitor, kept, others: Vec::new(), so_far: Weights::default(), numbers: Vec::new(), told: 0 }
    }

    /// Tells the others of no caller. Returns the number in the page of each frame of the walk.
    ///
    /// # Errors
    /// Those of the visitor.
    pub fn finish(mut self) -> Result<Vec<u32>> {
        self.tell_others(0)?;
        Ok(self.numbers)
    }

    fn tell_others(&mut self, depth: usize) -> Result<()> {
        let Some(Others { weights, frames }) = self.others.get_mut(depth).map(std::mem::take) else {
            return Ok(());
        };
        self.others.truncate(depth + 1);
        if frames.is_empty() {
            return Ok(());
        }
        frames.into_iter().for_each(|frame| self.numbers[frame as usize] = self.told);
        self.told += 1;
        let start = self.so_far.checked_sub(weights)?;
        let frame = Frame { name: OTHER, depth, start, own: weights, total: weights };
        self.visitor.exit(frame, self.so_far)
    }
}

impl Visitor for Fold<'_, '_> {
    fn exit(&mut self, frame: Frame<'_>, so_far: Weights) -> Result<()> {
        let (number, depth) = (self.numbers.len(), frame.depth);
        self.so_far = so_far;
        let is_kept = self.kept.shares.get(number).is_some_and(|share| *share > self.kept.above);
        if is_kept {
            self.tell_others(depth + 1)?;
            self.numbers.push(self.told);
            self.told += 1;
            return self.visitor.exit(frame, so_far);
        }
        self.numbers.push(0);
        self.others.resize_with(self.others.len().max(depth + 2), Others::default);
        let mut below = std::mem::take(&mut self.others[depth + 1].frames);
        self.others.truncate(depth + 1);
        let others = &mut self.others[depth];
        others.weights = others.weights.checked_add(frame.total)?;
        if others.frames.len() < below.len() {
            std::mem::swap(&mut others.frames, &mut below);
        }
        others.frames.append(&mut below);
        others.frames.push(number as u32);
        Ok(())
    }

    fn restart(&mut self) -> Result<()> {
        (self.others, self.numbers, self.told) = (Vec::new(), Vec::new(), 0);
        self.visitor.restart()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::folded::Order;

    /// Notes the frames that it is told: depth, name, self and total.
    #[derive(Default)]
    struct Told(Vec<String>);

    impl Visitor for Told {
        fn exit(&mut self, frame: Frame<'_>, _: Weights) -> Result<()> {
            let Frame { name, depth, own, total, .. } = frame;
            let name = String::from_utf8_lossy(name);
            self.0.push(format!("{depth} {name} {} {}", own.value, total.value));
            Ok(())
        }

        fn restart(&mut self) -> Result<()> {
            unreachable!("a profile is in order")
        }
    }

    fn folded(text: &str, most: usize) -> (Vec<String>, Vec<u32>) {
        let profile = Profile::from_bytes(text).unwrap();
        let mut shares = Shares::default();
        profile.walk(Order::Frame, None, &mut shares).unwrap();
        shares.finish_value();
        let mut told = Told::default();
        let mut fold = Fold::new(&mut told, shares.heaviest(most));
        profile.walk(Order::Frame, None, &mut fold).unwrap();
        let numbers = fold.finish().unwrap();
        (told.0, numbers)
    }

    #[test]
    fn light_frames_are_one_of_their_caller() {
        let text = "a;b;c 3\na;b;d;e 2\na;f 90\na;g 1\nh 4\n";
        // In the order of the walk: c, e, d, b, f, g, a, h.
        let (told, numbers) = folded(text, 100);
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(told.len(), 8);
        let (told, numbers) = folded(text, 3);
        assert_eq!(
            told,
            ["2 [other] 5 5", "1 b 0 5", "1 f 90 90", "1 [other] 1 1", "0 a 0 96", "0 [other] 4 4"]
        );
        assert_eq!(numbers, [0, 0, 0, 1, 2, 3, 4, 5]);
        let (told, numbers) = folded(text, 2);
        assert_eq!(told, ["1 f 90 90", "1 [other] 6 6", "0 a 0 96", "0 [other] 4 4"]);
        assert_eq!(numbers, [1, 1, 1, 1, 0, 1, 2, 3]);
        let (told, numbers) = folded(text, 0);
        assert_eq!(told, ["0 [other] 100 100"]);
        assert_eq!(numbers, [0; 8]);
    }

    #[test]
    fn frames_of_equal_weight_are_kept_together_or_not_at_all() {
        let (told, _) = folded("a;b 1\na;c 1\na;d 1\n", 3);
        assert_eq!(told, ["1 [other] 3 3", "0 a 0 3"]);
    }
}

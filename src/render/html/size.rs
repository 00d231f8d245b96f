//! The size of a page with a time line: a day of any recording is a page of less than 20 MB.
//!
//! The tree comes first. What it leaves of the page, its time line may take, whose samples are thinned until they fit. Only a tree of
//! some ten million frames is too large by itself: then the lightest frames that a frame calls are told as one.

use super::payload::{Encoder, Fold, Shares, WeightEncoder};
use crate::error::Result;
use crate::folded::Visitor;

/// A limit to the size of the tree and the time line of a page, in compressed bytes, which are a third more in the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct SizeLimit {
    /// Both together, and the source code, which comes before the time line.
    pub all: usize,
    /// The tree.
    pub tree: usize,
    /// The time line.
    pub times: usize,
}

impl Default for SizeLimit {
    /// With these, a page has 18.8 MB; a list of threads is the rest of 20 MB.
    fn default() -> Self {
        SizeLimit { all: 14_000_000, tree: 9_000_000, times: 11_000_000 }
    }
}

/// The tree of a page that fits.
#[derive(Default)]
pub(super) struct Fitted {
    /// The compressed bytes that its time lines may have, together with its source code.
    pub times: usize,
    /// The frames that are told as one.
    pub folded: Option<Folded>,
}

/// The frames of a tree that are told as one of their caller.
pub(super) struct Folded {
    /// For each frame of a walk, its number in the page.
    pub numbers: Vec<u32>,
    /// The number of frames in the page.
    frames: u64,
    /// The largest share of such a frame in the whole.
    above: f32,
}

impl Folded {
    /// A remark for people.
    pub(super) fn remark(&self) -> String {
        let percent = f64::from(self.above) * 100.0;
        format!(
            "the page has {} of {} frames: the others, none of more than {percent:.2e}% of the whole, are [other]; \
             --no-time keeps them",
            self.frames,
            self.numbers.len(),
        )
    }
}

impl SizeLimit {
    /// Makes the tree of a page fit: its encoder, and those of the weights of its other values. `walk` tells the frames of a
    /// value by number, the first one as 0.
    ///
    /// # Errors
    /// Those of `walk`.
    pub(super) fn fit(
        self,
        encoder: &mut Encoder,
        others: &mut [WeightEncoder],
        walk: &dyn Fn(usize, &mut dyn Visitor) -> Result<()>,
    ) -> Result<Fitted> {
        let size = |encoder: &Encoder, others: &[WeightEncoder]| -> Result<usize> {
            Ok(encoder.bytes()? + others.iter().map(WeightEncoder::bytes).sum::<usize>())
        };
        let mut bytes = size(encoder, others)?;
        let mut folded = None;
        if bytes > self.tree {
            let mut shares = Shares::default();
            for number in 0..=others.len() {
                walk(number, &mut shares)?;
                shares.finish_value();
            }
            let mut most = shares.len();
            while bytes > self.tree && most > 0 {
                most = (most as f64 * 0.9 * self.tree as f64 / bytes as f64) as usize;
                let kept = shares.heaviest(most);
                *encoder = encoder.again();
                let mut fold = Fold::new(encoder, kept);
                walk(0, &mut fold)?;
                let numbers = fold.finish()?;
                for (number, weights) in others.iter_mut().enumerate() {
                    *weights = weights.again();
                    let mut fold = Fold::new(weights, kept);
                    walk(number + 1, &mut fold)?;
                    fold.finish()?;
                }
                bytes = size(encoder, others)?;
                folded = Some(Folded { numbers, frames: encoder.frames(), above: kept.above() });
            }
        }
        Ok(Fitted { times: self.all.saturating_sub(bytes).min(self.times), folded })
    }
}

#[cfg(test)]
mod tests {
    use super::super::payload::times::{self, Limit};
    use super::*;
    use crate::Profile;
    use crate::folded::{Order, Weights};
    use crate::profile::{Context, ProfileBuilder, Sink as _, TimeLine, Wants};
    use crate::weight::Weight;

    /// Half of the weight is in one stack; the other half in light ones, of this number, in eight threads.
    fn recorded(light: u64) -> Profile {
        let mut builder = ProfileBuilder::new(Wants::ALL);
        for at in 0..2 * light {
            let number = at / 2;
            let light = [
                "main".to_owned(),
                format!("g{}", number / 50),
                format!("f{}", number % 97),
                format!("h{number}"),
            ];
            let heavy = ["main".to_owned(), "work".to_owned()];
            let names = if at % 2 == 0 { &light[..] } else { &heavy[..] };
            let stack: Vec<_> = names.iter().map(|name| builder.frame(name.as_bytes())).collect();
            let context = Context {
                time: Some(1 + at * 1000),
                thread: Some(number % 8),
                thread_name: b"t",
                ..Context::UNKNOWN
            };
            builder.sample(&stack, Weights::one(Weight::parse(b"2.5").unwrap()), &context).unwrap();
        }
        builder.finish().unwrap()
    }

    /// The compressed bytes of a page of a profile within a limit, and the tree's remark.
    fn bytes(profile: &Profile, limit: SizeLimit) -> (usize, usize, Option<String>) {
        let mut encoder = Encoder::new(Weight::ONE);
        profile.walk(Order::Frame, None, &mut encoder).unwrap();
        let walk = |_, visitor: &mut dyn Visitor| profile.walk(Order::Frame, None, visitor).map(|_| ());
        let fitted = limit.fit(&mut encoder, &mut [], &walk).unwrap();
        let line = TimeLine::new(profile, None).unwrap().unwrap();
        let numbers = fitted.folded.as_ref().map(|folded| &folded.numbers[..]);
        let each = Limit::of_each(1, fitted.times);
        let times = times::encode(&line, numbers, encoder.decimals(), &Ok, each).unwrap();
        let of_times = times.sections.iter().map(|(_, bytes)| bytes.len()).sum();
        (encoder.bytes().unwrap(), of_times, fitted.folded.map(|folded| folded.remark()))
    }

    #[test]
    fn a_page_keeps_its_limit_with_few_and_with_many_stacks() {
        let limit = SizeLimit { all: 30_000, tree: 20_000, times: 24_000 };
        for light in [3, 20_000] {
            let (tree, times, remark) = bytes(&recorded(light), limit);
            assert!(tree <= limit.tree, "{light}: {tree}");
            assert!(times <= limit.times && tree + times <= limit.all, "{light}: {tree} and {times}");
            assert_eq!(remark.is_some(), light > 3, "{remark:?}");
        }
    }

    #[test]
    fn a_tree_that_fits_leaves_room_for_the_time_line() {
        let profile = recorded(2000);
        let (whole, _, remark) = bytes(&profile, SizeLimit::default());
        assert_eq!(remark, None);
        let (tree, times, remark) =
            bytes(&profile, SizeLimit { all: whole + 5000, tree: whole, times: 99_000 });
        assert_eq!((tree, remark), (whole, None));
        assert!(times <= 5000, "{times}");
    }
}

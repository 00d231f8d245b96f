//! The samples of a profile of V8's, and the time that each of them stands for.
//!
//! A delta is the time between a sample and the one before it, the first that between the start of the
//! profile and the first sample. So a sample lasts until the next one: its own delta belongs to the sample
//! before it, and the last sample lasts until the profile ends. DevTools and speedscope read it that way,
//! too. Where times go back, as some versions of V8 write them, samples are put in the order of time, as
//! DevTools does.

use crate::error::Result;
use crate::weight::Weight;

/// V8 goes on with its samples until the end. An end that is this many times further behind the last one
/// than that is behind the start is in another unit: nanoseconds, or a date.
const UNLIKELY: i128 = 100;

/// The id of no node.
const NO_NODE: u32 = u32::MAX;

/// Samples, by the ids of their nodes, and the times between them.
#[derive(Default)]
pub struct Samples {
    ids: Vec<u32>,
    deltas: Deltas,
    /// The number of samples that have no delta, though others have one.
    pub untimed: u64,
}

/// The time between the start of a profile and the first sample, and between the last and the end.
pub struct Margins {
    pub before: Weight,
    pub behind: Weight,
    /// The time from the last sample to the end, where it is too long to be believed.
    pub not_believed: Option<Weight>,
}

impl Samples {
    /// Adds a sample; an id that no node can have is that of no node.
    pub fn push(&mut self, id: i64) {
        self.ids.push(u32::try_from(id).unwrap_or(NO_NODE));
    }

    /// Adds a delta.
    pub fn push_delta(&mut self, delta: Weight) {
        self.deltas.push(delta);
    }

    /// Returns true if there is no sample.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns true if samples have times.
    pub fn is_timed(&self) -> bool {
        !self.is_empty() && !self.deltas.whole.is_empty()
    }

    /// Makes the deltas as many as the samples.
    fn fit(&mut self) {
        self.untimed += self.ids.len().saturating_sub(self.deltas.whole.len()) as u64;
        self.deltas.resize(self.ids.len());
    }

    /// Adds the samples of a later piece.
    pub fn append(&mut self, mut later: Samples) {
        if !(self.deltas.whole.is_empty() && later.deltas.whole.is_empty()) {
            self.fit();
            later.fit();
        }
        self.ids.append(&mut later.ids);
        self.deltas.append(later.deltas);
        self.untimed += later.untimed;
    }

    /// Puts the samples in the order of time, and returns the times before and behind them. `whole` is the
    /// time between the start and the end of the profile.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn settle(&mut self, whole: Option<Weight>) -> Result<Margins> {
        let mut margins = Margins { before: Weight::ZERO, behind: Weight::ZERO, not_believed: None };
        if !self.is_timed() {
            return Ok(margins);
        }
        self.fit();
        if self.deltas.go_back() {
            self.sort()?;
        }
        let mut last = Weight::ZERO;
        for at in 0..self.len() {
            last = last.checked_add(self.deltas.get(at))?;
        }
        margins.before = self.deltas.get(0).max(Weight::ZERO);
        if let Some(whole) = whole
            && let behind = whole.checked_sub(last)?
            && behind > Weight::ZERO
        {
            // A unit that is another than that of the deltas would give the last sample nearly everything.
            let limit = last.checked_mul(Weight::new(UNLIKELY))?;
            match self.len() > 1 && behind > limit {
                true => margins.not_believed = Some(behind),
                false => margins.behind = behind,
            }
        }
        Ok(margins)
    }

    fn sort(&mut self) -> Result<()> {
        let mut now = Weight::ZERO;
        let mut timed = Vec::with_capacity(self.len());
        for (at, &id) in self.ids.iter().enumerate() {
            now = now.checked_add(self.deltas.get(at))?;
            timed.push((now, id));
        }
        timed.sort_by_key(|(time, _)| *time);
        self.deltas = Deltas::default();
        let mut before = Weight::ZERO;
        for (at, (time, id)) in timed.into_iter().enumerate() {
            self.ids[at] = id;
            self.deltas.push(time.checked_sub(before)?);
            before = time;
        }
        Ok(())
    }

    /// Calls `each` with every sample: the id of its node, the time since the start of the profile, and how
    /// long it lasts. Without times each weighs 1.
    ///
    /// # Errors
    /// Those of `each`, and [`crate::ErrorKind::Overflow`].
    pub fn for_each(
        &self,
        margins: &Margins,
        mut each: impl FnMut(u32, Option<Weight>, Weight) -> Result<()>,
    ) -> Result<()> {
        let timed = self.is_timed();
        let mut now = Weight::ZERO;
        for (at, &id) in self.ids.iter().enumerate() {
            if !timed {
                each(id, None, Weight::ONE)?;
                continue;
            }
            now = now.checked_add(self.deltas.get(at))?;
            let lasts = if at + 1 < self.len() { self.deltas.get(at + 1) } else { margins.behind };
            each(id, Some(now), lasts)?;
        }
        Ok(())
    }
}

/// Times between samples: whole microseconds, as V8 has them, a quarter of a weight's size; and
/// those that are not.
#[derive(Default)]
struct Deltas {
    whole: Vec<i64>,
    /// By their places, in order.
    others: Vec<(usize, Weight)>,
}

impl Deltas {
    fn push(&mut self, delta: Weight) {
        match delta.in_steps(0).ok().and_then(|units| i64::try_from(units).ok()) {
            Some(whole) => self.whole.push(whole),
            None => {
                self.others.push((self.whole.len(), delta));
                self.whole.push(0);
            }
        }
    }

    fn get(&self, at: usize) -> Weight {
        match self.others.binary_search_by_key(&at, |(place, _)| *place) {
            Ok(found) => self.others[found].1,
            Err(_) => Weight::new(self.whole[at].into()),
        }
    }

    /// Returns true if a sample is earlier than the one before it.
    fn go_back(&self) -> bool {
        self.whole.iter().skip(1).any(|delta| *delta < 0)
            || self.others.iter().any(|(at, delta)| *at > 0 && delta.is_negative())
    }

    fn resize(&mut self, len: usize) {
        self.whole.resize(len, 0);
        self.others.retain(|(at, _)| *at < len);
    }

    fn append(&mut self, later: Deltas) {
        let first = self.whole.len();
        self.whole.extend(later.whole);
        self.others.extend(later.others.into_iter().map(|(at, delta)| (first + at, delta)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(text: &str) -> Weight {
        Weight::parse(text.as_bytes()).unwrap()
    }

    /// Ids and durations.
    fn lasting(ids: &[i64], deltas: &[&str], whole: Option<&str>) -> (Vec<(u32, String)>, String) {
        let mut samples = Samples::default();
        ids.iter().for_each(|id| samples.push(*id));
        deltas.iter().for_each(|delta| samples.push_delta(weight(delta)));
        let margins = samples.settle(whole.map(weight)).unwrap();
        let mut all = Vec::new();
        samples
            .for_each(&margins, |id, _, lasts| {
                all.push((id, lasts.to_string()));
                Ok(())
            })
            .unwrap();
        (all, margins.before.to_string())
    }

    #[test]
    fn a_sample_lasts_until_the_next_one() {
        let (all, before) = lasting(&[1, 2, 1], &["100", "2.5", "4"], Some("107"));
        assert_eq!(all, [(1, "2.5".into()), (2, "4".into()), (1, "0.5".into())]);
        assert_eq!(before, "100");
        // An end that is not known, is too early, or in another unit.
        for whole in [None, Some("3"), Some("106500")] {
            assert_eq!(lasting(&[1, 2, 1], &["100", "2.5", "4"], whole).0[2], (1, "0".into()), "{whole:?}");
        }
        assert_eq!(lasting(&[7], &["5"], Some("30")).0, [(7, "25".into())]);
    }

    #[test]
    fn times_that_go_back_are_put_in_order() {
        let (all, before) = lasting(&[1, 2, 3], &["10", "6", "-4"], Some("20"));
        assert_eq!(all, [(1, "2".into()), (3, "4".into()), (2, "4".into())]);
        assert_eq!(before, "10");
    }

    #[test]
    fn pieces_keep_their_own_times() {
        let piece = |ids: &[i64], deltas: &[i128]| {
            let mut samples = Samples::default();
            ids.iter().for_each(|id| samples.push(*id));
            deltas.iter().for_each(|delta| samples.push_delta(Weight::new(*delta)));
            samples
        };
        let mut samples = piece(&[1, 2], &[5]);
        samples.append(piece(&[3], &[7, 9]));
        samples.append(piece(&[4], &[]));
        let margins = samples.settle(None).unwrap();
        let mut times = Vec::new();
        let each = |id, at: Option<Weight>, _| {
            times.push((id, at.unwrap().to_string()));
            Ok(())
        };
        samples.for_each(&margins, each).unwrap();
        assert_eq!(times, [(1, "5".into()), (2, "5".into()), (3, "12".into()), (4, "12".into())]);
        assert_eq!(samples.untimed, 2);
    }
}

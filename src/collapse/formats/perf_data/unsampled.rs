//! Waits without a stack of their own, while threads switched too often for each to be sampled.
//!
//! The kernel noted when they began and ended, and sampled some of them. A wait that was sampled stands for those of
//! its thread since the one before that took about as long: so a wait of a second is not taken for one of a
//! microsecond, however many there are of these, and the time of each thread stays what it is. The time for which a
//! thread waits for a processor is not its own doing: there, one wait stands for others of any length.

use std::collections::{HashMap, HashSet};

use super::pending::{PendingSample, State};

/// The most bytes of samples that are kept for waits that may follow.
const MOST_KEPT: usize = 16 << 20;

/// The waits of a thread that took about as long: up to four times as long as the shortest of them; those for a
/// processor are one class.
struct Class {
    runnable: bool,
    /// The number of pairs of bits that the shortest wait has before its last one.
    length: u32,
    /// The number of waits since the last sample, and the time that no sample stands for.
    count: u64,
    time: u64,
    /// The last sample; without one, a stand-in for it without a stack.
    like: PendingSample,
}

/// Follows waits that were not sampled.
#[derive(Default)]
pub(super) struct Unsampled {
    /// The events that sample no more, by their identities.
    throttled: HashSet<u64>,
    classes: HashMap<i32, Vec<Class>>,
    /// The bytes of the samples in the classes.
    kept: usize,
    /// The number of all, and their time; the part of it that no sample stands for.
    all: (u64, u64),
    lost: u64,
}

/// Time that a sample stands for, beside its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub count: u64,
    pub time: u64,
}

impl Unsampled {
    /// An event samples no more, or again.
    pub fn throttle(&mut self, id: u64, is_on: bool) {
        if is_on {
            self.throttled.insert(id);
        } else {
            self.throttled.remove(&id);
        }
    }

    /// Returns true while not all switches are sampled.
    pub fn is_on(&self) -> bool {
        !self.throttled.is_empty()
    }

    /// Adds a wait of so many nanoseconds; `lost` stands for its stack until there is a better one.
    pub fn add(&mut self, runnable: bool, time: u64, lost: PendingSample) {
        self.all = (self.all.0 + 1, self.all.1.saturating_add(time));
        let length = length_of(runnable, time);
        let classes = self.classes.entry(lost.tid).or_default();
        match find(classes, runnable, length) {
            Some(class) => {
                class.count += 1;
                class.time = class.time.saturating_add(time);
            }
            None => classes.push(Class { runnable, length, count: 1, time, like: lost }),
        }
    }

    /// The waits that one with a stack stands for.
    pub fn take(&mut self, runnable: bool, time: u64, sample: &PendingSample) -> Share {
        let length = length_of(runnable, time);
        let class = self.classes.get_mut(&sample.tid).and_then(|classes| find(classes, runnable, length));
        let Some(class) = class else {
            if self.is_on() {
                let mut class =
                    Class { runnable, length, count: 0, time: 0, like: without_stack(sample.clone()) };
                keep(&mut self.kept, &mut class, sample);
                self.classes.entry(sample.tid).or_default().push(class);
            }
            return Share::default();
        };
        keep(&mut self.kept, class, sample);
        // As long as this one: the rest is that of longer ones, which are sampled, too.
        let most = if runnable { u64::MAX } else { time.saturating_mul(class.count) };
        let share = Share { count: class.count, time: class.time.min(most) };
        (class.count, class.time) = (0, class.time - share.time);
        share
    }

    /// The last samples of a thread that has ended, and what they stand for beside themselves.
    pub fn release(&mut self, tid: i32) -> Vec<(bool, Share, PendingSample)> {
        let classes = self.classes.remove(&tid).unwrap_or_default();
        let mut rest = Vec::new();
        for Class { runnable, count, time, like, .. } in classes {
            self.kept -= like.body.len();
            if like.state == State::Lost {
                self.lost = self.lost.saturating_add(time);
            }
            if time > 0 || count > 0 {
                rest.push((runnable, Share { count, time }, like));
            }
        }
        rest
    }

    /// The same of all threads, in their order.
    pub fn release_all(&mut self) -> Vec<(bool, Share, PendingSample)> {
        let mut threads: Vec<i32> = self.classes.keys().copied().collect();
        threads.sort_unstable();
        threads.into_iter().flat_map(|tid| self.release(tid)).collect()
    }

    /// Counts anew; events that sample no more do not yet.
    pub fn begin_part(&mut self) {
        (self.all, self.lost) = ((0, 0), 0);
    }

    /// A line on the waits that were not sampled.
    pub fn detail(&self) -> Option<String> {
        let (count, time) = self.all;
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        (count > 0).then(|| {
            let lost = match self.lost {
                0 => String::new(),
                lost => format!("; {:.3} s of it, of which no such wait was sampled, are [lost]", seconds(lost)),
            };
            format!(
                "{count} waits have no stack of their own, since threads switched too often to sample each: their \
                 {:.3} s are with waits of the same thread that took about as long{lost}",
                seconds(time)
            )
        })
    }
}

fn length_of(runnable: bool, time: u64) -> u32 {
    if runnable { 0 } else { time.checked_ilog2().unwrap_or(0) / 2 }
}

fn find(classes: &mut [Class], runnable: bool, length: u32) -> Option<&mut Class> {
    classes.iter_mut().find(|class| (class.runnable, class.length) == (runnable, length))
}

fn without_stack(sample: PendingSample) -> PendingSample {
    PendingSample { body: super::chunk::Slice::empty(), state: State::Lost, ..sample }
}

/// Keeps a sample for the waits that may follow, if there is room.
fn keep(kept: &mut usize, class: &mut Class, sample: &PendingSample) {
    let others = *kept - class.like.body.len();
    if others + sample.body.len() <= MOST_KEPT {
        *kept = others + sample.body.len();
        class.like = sample.clone();
    }
}

//! Beginnings and ends on a thread as stacks: each span lies in the one that was begun before it and not ended. Traces of
//! Chrome and of Perfetto have them. Times are in microseconds.

use std::collections::HashMap;
use std::num::NonZeroU64;

use crate::collapse::kit::times::{lasting, nanoseconds};
use crate::collapse::kit::trie::{PathId, Trie};
use crate::error::Result;
use crate::folded::FrameId;
use crate::weight::Weight;

/// Beginnings and ends on one thread, in the order of the file.
#[derive(Default)]
pub struct Spans {
    /// Beginnings and ends, yet to be matched; an end may not name what it ends.
    pub marks: Vec<(Weight, Mark)>,
    /// Frames, when they begin and when they end.
    pub whole: Vec<Span>,
    /// Single moments, whose stack is what was open then.
    pub moments: Vec<Moment>,
}

/// A beginning or an end.
#[derive(Clone, Copy)]
pub enum Mark {
    /// The frame, the event's name, by which an end is told, and the number of its category.
    Begin(FrameId, FrameId, u32),
    /// An end, by its name or of what was begun last.
    End(Option<FrameId>),
}

/// A frame that was open for a time.
#[derive(Clone, Copy)]
pub struct Span {
    pub begin: Weight,
    pub end: Weight,
    pub frame: FrameId,
    /// The number of its category.
    pub category: u32,
    /// The work of other processors that it may have begun.
    pub launch: Launch,
}

/// The numbers by which work of another processor and its launch find each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// The number of a call of the runtime.
    pub correlation: Option<NonZeroU64>,
    /// The number of an operator.
    pub external: Option<NonZeroU64>,
}

/// A moment that has a weight of its own, such as an allocation.
#[derive(Clone, Copy)]
pub struct Moment {
    pub at: Weight,
    pub weight: Weight,
    /// The number of its owner.
    pub kind: usize,
}

/// The ends that do not lie where they should.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Misplaced {
    /// The number of ends without a beginning.
    pub unbegun: u64,
    /// The number of spans that outlast the span they lie in by more than rounding does.
    pub overlapping: u64,
}

impl std::ops::AddAssign for Misplaced {
    fn add_assign(&mut self, other: Misplaced) {
        self.unbegun += other.unbegun;
        self.overlapping += other.overlapping;
    }
}

/// A find of [`Spans::collapse`] on its way, told with the path of what is open there.
pub enum Met<'s> {
    /// A span that begins.
    Span(&'s Span),
    /// A moment.
    Moment(&'s Moment),
}

impl Spans {
    /// Returns true if nothing began or ended on the thread.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty() && self.whole.is_empty()
    }

    /// Adds to each path the time in which exactly its spans were open, and tells `met` of what it comes by.
    /// A span ends with the one it lies in at the latest: what is behind that is left out.
    pub fn collapse(
        mut self,
        stacks: &mut Trie,
        mut met: impl FnMut(Met<'_>, PathId) -> Result<()>,
    ) -> Result<Misplaced> {
        let mut misplaced = self.match_ends();
        // If spans begin at the same time, the one that ends last is outermost.
        self.whole.sort_by(|a, b| a.begin.cmp(&b.begin).then(b.end.cmp(&a.end)));
        self.moments.sort_by_key(|moment| moment.at);
        let mut open = Open { path: Trie::ROOT, ends: Vec::new(), since: Weight::ZERO };
        let mut moments = self.moments.iter().peekable();
        for span in &self.whole {
            while let Some(moment) = moments.next_if(|moment| moment.at < span.begin) {
                open.close(Some(moment.at), stacks)?;
                met(Met::Moment(moment), open.path)?;
            }
            open.close(Some(span.begin), stacks)?;
            if let Some((_, outer)) = open.ends.last() {
                add(stacks, open.path, open.since, span.begin, *outer)?;
            }
            open.since = span.begin;
            open.path = stacks.below(open.path, span.frame.0);
            let end = open.ends.last().map_or(span.end, |(outer, _)| span.end.min(*outer));
            misplaced.overlapping += u64::from(end.checked_add(Weight::ONE)? < span.end);
            open.ends.push((end, span.category));
            met(Met::Span(span), open.path)?;
        }
        for moment in moments {
            open.close(Some(moment.at), stacks)?;
            met(Met::Moment(moment), open.path)?;
        }
        open.close(None, stacks)?;
        Ok(misplaced)
    }

    /// Makes whole spans of beginnings and ends. A span that is not ended ends with the one it lies in, or
    /// with the thread.
    fn match_ends(&mut self) -> Misplaced {
        self.marks.sort_by_key(|mark| mark.0);
        let last = self.marks.iter().map(|mark| mark.0).chain(self.whole.iter().map(|span| span.end)).max();
        let mut open: Vec<(usize, FrameId)> = Vec::new();
        // The number of open spans of each name: a name without any need not be looked for.
        let mut names: HashMap<FrameId, usize> = HashMap::new();
        // And of those that ended with another, whose own ends may follow.
        let mut cut: HashMap<FrameId, usize> = HashMap::new();
        let mut misplaced = Misplaced::default();
        let first = self.whole.len();
        for (at, mark) in std::mem::take(&mut self.marks) {
            match mark {
                Mark::Begin(frame, name, category) => {
                    *names.entry(name).or_default() += 1;
                    open.push((self.whole.len(), name));
                    let end = last.unwrap_or(at);
                    self.whole.push(Span { begin: at, end, frame, category, launch: Launch::default() });
                }
                Mark::End(name) => {
                    let is_open = name.is_none_or(|name| names.get(&name).is_some_and(|count| *count > 0));
                    let is_it = |begun: FrameId| name.is_none_or(|name| name == begun);
                    let found =
                        if is_open { open.iter().rposition(|(_, begun)| is_it(*begun)) } else { None };
                    let Some(depth) = found else {
                        let was_cut = name.and_then(|name| cut.get_mut(&name)).filter(|count| **count > 0);
                        match was_cut {
                            Some(count) => {
                                *count -= 1;
                                misplaced.overlapping += 1;
                            }
                            None => misplaced.unbegun += 1,
                        }
                        continue;
                    };
                    for (n, (span, name)) in open.drain(depth..).enumerate() {
                        self.whole[span].end = at;
                        names.entry(name).and_modify(|count| *count -= 1);
                        if n > 0 {
                            *cut.entry(name).or_default() += 1;
                        }
                    }
                }
            }
        }
        // In the order of the file a beginning stands before what is within it, a whole span behind.
        self.whole.rotate_left(first);
        misplaced
    }
}

/// The spans that are open at a time.
struct Open {
    path: PathId,
    /// The ends of the spans, and the numbers of their categories.
    ends: Vec<(Weight, u32)>,
    /// The time from which on the path has not changed.
    since: Weight,
}

impl Open {
    /// Ends what ends by `until`, or all, and gives each its time.
    fn close(&mut self, until: Option<Weight>, stacks: &mut Trie) -> Result<()> {
        while let Some(&(end, category)) = self.ends.last()
            && until.is_none_or(|until| end <= until)
        {
            add(stacks, self.path, self.since, end, category)?;
            self.since = end;
            self.ends.pop();
            self.path = stacks.above(self.path).map_or(Trie::ROOT, |(above, _)| above);
        }
        Ok(())
    }
}

/// Adds the microseconds from one time to another to a path.
fn add(stacks: &mut Trie, path: PathId, since: Weight, until: Weight, category: u32) -> Result<()> {
    let lasts = lasting(since, until, "us");
    stacks.add_lasting(path, until.checked_sub(since)?, nanoseconds(since, "us"), lasts, category)
}

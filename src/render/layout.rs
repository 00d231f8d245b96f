//! Which frames are drawn, and where: numbers only.
//!
//! A closed frame that is narrower than the least width times the weight *so far* will be
//! narrower still in the end, since the total only grows: it is dropped at once. What was kept
//! early, when little had been seen, is looked at again whenever the kept frames have doubled.
//! So memory holds what will be drawn and a little more, however long the input is.

use super::compare::{Comparison, Steps, Widths, judge};
use crate::error::{Error, ErrorKind, Result};
use crate::folded::{Columns, Frame, FrameId, Known, StackTable, Visitor, WalkSummary, Weights};
use crate::weight::Weight;

/// A second look is not worth its time below this many kept frames or bytes of names.
const LOOK_AGAIN_FRAMES: usize = 16 * 1024;
const LOOK_AGAIN_BYTES: usize = 1024 * 1024;
/// The limit in use lags behind by at most this many frames; that keeps the sum of all weights,
/// a wide number, out of the work done for each frame.
const LIMIT_EVERY: u32 = 64;

/// Keeps the frames that are wide enough to be drawn.
pub struct Layout {
    least_share: f64,
    least_total: Option<Weight>,
    /// Closed frames lighter than this are not kept.
    limit: f64,
    /// The limit without its fraction.
    surely_below: Weight,
    until_limit: u32,
    boxes: Vec<Kept>,
    /// Of differential input, what [`Kept::change`] points at.
    changes: Vec<Change>,
    names: StackTable,
    name_bytes: usize,
    look_again: (usize, usize),
    left_out: u64,
    /// What weighs nothing after, by depth: the weight before of callees waiting for the frame
    /// they vanished from.
    gone: Vec<Weight>,
    comparison: Comparison,
    /// What is known of the samples before and after.
    steps: (Steps, Steps),
    /// Of [`Widths::Union`], by depth: the width of the callees so far of the open frame above.
    widths: Vec<Weight>,
    /// Whether places in the union are wanted too, and whether this input has them.
    ghosts: (bool, bool),
}

/// A kept frame. Callees are kept before their callers.
#[derive(Clone, Copy)]
struct Kept {
    start: Weight,
    total: Weight,
    name: FrameId,
    depth: u32,
    /// One more than an index into the changes; 0 if both are zero.
    change: u32,
}

#[derive(Clone, Copy, Default)]
struct Change {
    before: Weight,
    after: Weight,
    /// Where the frame starts after, if [`Kept::start`] says where in the union.
    after_start: Weight,
    gone: Weight,
    own: Weights,
}

/// A frame to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameBox<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// How many frames are rootward of it.
    pub depth: u32,
    /// What is left of it.
    pub start: Weight,
    /// How wide it is: the weight of all stacks through it; in differential input, what
    /// [`Widths`] says.
    pub total: Weight,
    /// In differential input, the weight of all stacks through it *before*.
    pub before: Weight,
    /// In differential input, the same *after*.
    pub after: Weight,
    /// The weights of the stacks that end in it, when [`Comparison::own`] asks for them.
    pub own: Weights,
    /// In differential input, whether the change of its share is more than noise.
    pub is_sure: bool,
    /// In differential input, what those of its callees weighed before that are not there after,
    /// and so cannot be drawn.
    pub gone: Weight,
    /// Its start and width among all that is or was there: see [`Layout::with_ghosts`].
    pub union: Option<(Weight, Weight)>,
}

/// What is drawn.
pub struct Graph {
    boxes: Vec<Kept>,
    changes: Vec<Change>,
    names: StackTable,
    /// Of differential input, whether the change of each frame is more than noise.
    sure: Vec<bool>,
    /// The width of all stacks, or the larger total that was asked for.
    pub total: Weight,
    /// In differential input, the weight of all stacks before.
    pub before: Weight,
    /// In differential input, the weight of all stacks after.
    pub after: Weight,
    /// What is shown of differential input.
    pub comparison: Comparison,
    /// In differential input, the weight before of stacks whose root frame vanished.
    pub gone: Weight,
    /// The width of all that is or was there, if frames say where they stand in that.
    pub union: Option<Weight>,
    /// One or two weights.
    pub columns: Columns,
    /// How many rows of frames there are.
    pub rows: u32,
    /// How many frames were too narrow to be kept, of those that were looked at: unsorted input is
    /// not sorted that far down.
    pub left_out: u64,
    factor: Weight,
}

impl Layout {
    /// Keeps frames of at least `least_share` of the whole, which is the weight of all stacks
    /// or `least_total` if that is larger.
    pub fn new(least_share: f64, least_total: Option<Weight>) -> Self {
        let mut layout = Layout {
            least_share,
            least_total,
            limit: 0.0,
            surely_below: Weight::ZERO,
            until_limit: 0,
            boxes: Vec::new(),
            changes: Vec::new(),
            names: StackTable::default(),
            name_bytes: 0,
            look_again: (LOOK_AGAIN_FRAMES, LOOK_AGAIN_BYTES),
            left_out: 0,
            gone: Vec::new(),
            comparison: Comparison::default(),
            steps: Default::default(),
            widths: Vec::new(),
            ghosts: (false, false),
        };
        layout.set_limit(Weight::ZERO);
        layout
    }

    /// Shows this of differential input.
    pub fn comparing(mut self, comparison: Comparison) -> Self {
        self.comparison = comparison;
        self
    }

    /// Where widths are those after, keeps what is gone as well, as wide as nothing, and says of
    /// each frame where it would stand if widths were those of the union: for pictures that can
    /// change between the two. Only if something is gone that is wide enough.
    pub fn with_ghosts(mut self) -> Self {
        self.ghosts.0 = true;
        self
    }

    /// Whether frames are placed as in the union, be it only to say so.
    fn places_union(&self) -> bool {
        self.ghosts.1 || self.comparison.widths == Widths::Union
    }

    /// Shows this of differential input, from now on.
    pub fn compare(&mut self, comparison: Comparison) {
        self.comparison = comparison;
    }

    /// What a column of weights, or the larger of two, contributes to the width.
    fn width(&self, weights: Weights) -> Weight {
        match self.comparison.widths {
            Widths::After => weights.value,
            Widths::Before => weights.before,
            Widths::Union => weights.value.max(weights.before),
        }
    }

    /// Where a frame starts and how wide it is. The width of a union is known of single stacks
    /// only and is added up here; its start is counted from that of the frame above, for now.
    fn place(&mut self, frame: &Frame<'_>) -> Result<(Weight, Weight)> {
        match self.comparison.widths {
            Widths::After if !self.ghosts.1 => Ok((frame.start.value, frame.total.value)),
            Widths::Before => Ok((frame.start.before, frame.total.before)),
            Widths::After | Widths::Union => {
                if self.widths.len() < frame.depth + 2 {
                    self.widths.resize(frame.depth + 2, Weight::ZERO);
                }
                let callees = std::mem::take(&mut self.widths[frame.depth + 1]);
                let width = frame.own.value.max(frame.own.before).checked_add(callees)?;
                let start = self.widths[frame.depth];
                self.widths[frame.depth] = start.checked_add(width)?;
                Ok((start, width))
            }
        }
    }

    /// Turns the starts of a union into ones counted from the left. Frames above come after
    /// those below them in the order of the visits, and are met first on the way back.
    fn place_union(&mut self) -> Result<()> {
        let mut first_callee: Vec<Weight> = Vec::new();
        for kept in self.boxes.iter_mut().rev() {
            let depth = kept.depth as usize;
            if let Some(above) = depth.checked_sub(1) {
                kept.start = kept.start.checked_add(first_callee[above])?;
            }
            let own = match kept.change {
                0 => Weights::default(),
                n => self.changes[n as usize - 1].own,
            };
            first_callee.truncate(depth);
            first_callee.push(kept.start.checked_add(own.value.max(own.before))?);
        }
        Ok(())
    }

    fn set_limit(&mut self, so_far: Weight) {
        let whole = self.least_total.map_or(so_far, |least| least.max(so_far));
        self.limit = self.least_share * whole.to_f64();
        self.surely_below = Weight::new(self.limit.floor() as i128);
        self.until_limit = LIMIT_EVERY;
    }

    fn is_wide_enough(&self, total: Weight) -> bool {
        // Nearly all frames are far too narrow: whole numbers tell that sooner than floats.
        total >= self.surely_below && !total.is_zero() && total.to_f64() >= self.limit
    }

    #[inline(never)]
    fn keep(&mut self, frame: Frame<'_>, (start, width): (Weight, Weight), so_far: Weight, gone: Weight) {
        if self.boxes.len() >= self.look_again.0 || self.name_bytes >= self.look_again.1 {
            self.set_limit(so_far);
            self.look_again();
        }
        let mut change = 0;
        let needs_own = self.comparison.own || self.places_union();
        if !frame.total.before.is_zero() || !gone.is_zero() || needs_own {
            let Weights { value: after, before } = frame.total;
            let after_start = frame.start.value;
            self.changes.push(Change { before, after, after_start, gone, own: frame.own });
            change = index(self.changes.len());
        }
        let name = self.intern(frame.name);
        let depth = index(frame.depth);
        self.boxes.push(Kept { start, total: width, name, depth, change });
    }

    fn intern(&mut self, name: &[u8]) -> FrameId {
        let known = self.names.frame_count();
        let id = self.names.frame(name);
        if self.names.frame_count() > known {
            self.name_bytes += name.len();
        }
        id
    }

    /// Drops the frames that turned out too narrow, and what belongs to them.
    fn look_again(&mut self) {
        let boxes = std::mem::take(&mut self.boxes);
        let names = std::mem::take(&mut self.names);
        let changes = std::mem::take(&mut self.changes);
        self.name_bytes = 0;
        for mut kept in boxes {
            if !self.is_wide_enough(kept.total) {
                self.left_out += 1;
                continue;
            }
            kept.name = self.intern(names.name(kept.name));
            if kept.change > 0 {
                self.changes.push(changes[kept.change as usize - 1]);
                kept.change = index(self.changes.len());
            }
            self.boxes.push(kept);
        }
        self.look_again =
            (LOOK_AGAIN_FRAMES.max(2 * self.boxes.len()), LOOK_AGAIN_BYTES.max(2 * self.name_bytes));
    }

    /// Leaves what is wide enough after or in the union; if nothing of it is gone, what is after, in
    /// its place there. Says whether something is.
    fn settle_ghosts(&mut self, after: Weight, union: Weight) -> bool {
        let least_in_union = self.least_share * union.to_f64();
        let is_in_union = |kept: &Kept| kept.total.to_f64() >= least_in_union;
        // Every frame has its change: see `keep`.
        let changes = std::mem::take(&mut self.changes);
        let change = |kept: &Kept| changes[kept.change as usize - 1];
        let has_ghosts = !after.is_zero()
            && self.boxes.iter().any(|kept| is_in_union(kept) && change(kept).after.is_zero());
        let mut boxes = std::mem::take(&mut self.boxes);
        boxes.retain_mut(|kept| {
            let Change { after, after_start, .. } = change(kept);
            let stays = self.is_wide_enough(after) || (has_ghosts && is_in_union(kept));
            if !has_ghosts {
                (kept.start, kept.total) = (after_start, after);
            }
            self.left_out += u64::from(!stays);
            stays
        });
        (self.boxes, self.changes) = (boxes, changes);
        has_ghosts
    }

    /// What vanished below a frame that is closed now; a frame that vanished itself is handed up.
    fn take_gone(&mut self, frame: &Frame<'_>) -> Result<Weight> {
        let below = self.gone.get_mut(frame.depth + 1).map_or(Weight::ZERO, std::mem::take);
        if !frame.total.value.is_zero() {
            return Ok(below);
        }
        if self.gone.len() <= frame.depth {
            self.gone.resize(frame.depth + 1, Weight::ZERO);
        }
        self.gone[frame.depth] = self.gone[frame.depth].checked_add(frame.total.before)?;
        Ok(Weight::ZERO)
    }

    /// All is known: the graph.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`] if the total that was asked for is smaller than the real one.
    pub fn finish(mut self, summary: &WalkSummary) -> Result<Graph> {
        let union = self.widths.first().copied().unwrap_or_default();
        let real = match self.comparison.widths {
            Widths::Union => union,
            _ => self.width(summary.total),
        };
        if let Some(least) = self.least_total
            && least < real
        {
            let what = format!("the total {least} is smaller than the weight of all stacks, {real}");
            return Err(ErrorKind::Setting { what }.into());
        }
        self.set_limit(real);
        self.look_again();
        if self.places_union() {
            self.place_union()?;
        }
        let has_ghosts = self.ghosts.1 && self.settle_ghosts(real, union);
        // A caller starts where its first callee does, and has less depth: tree order.
        self.boxes.sort_unstable_by(|a, b| a.start.cmp(&b.start).then(a.depth.cmp(&b.depth)));
        let sure = match summary.columns {
            Columns::One => Vec::new(),
            Columns::Two => {
                let weights = self.boxes.iter().map(|kept| match kept.change {
                    0 => (Weight::ZERO, kept.total),
                    n => (self.changes[n as usize - 1].before, self.changes[n as usize - 1].after),
                });
                let Weights { value, before } = summary.total;
                judge(&self.comparison, weights, (before, value), self.steps)
            }
        };
        Ok(Graph {
            rows: self.boxes.iter().map(|kept| kept.depth + 1).max().unwrap_or(0),
            total: self.least_total.unwrap_or(real),
            before: summary.total.before,
            after: summary.total.value,
            comparison: self.comparison,
            sure,
            gone: self.gone.first().copied().unwrap_or_default(),
            union: has_ghosts.then_some(self.least_total.map_or(union, |least| least.max(union))),
            columns: summary.columns,
            left_out: self.left_out,
            factor: Weight::ONE,
            boxes: self.boxes,
            changes: self.changes,
            names: self.names,
        })
    }
}

fn index(n: usize) -> u32 {
    u32::try_from(n).expect("four thousand million frames do not fit in memory")
}

impl Visitor for Layout {
    #[inline]
    fn exit(&mut self, frame: Frame<'_>, so_far: Weights) -> Result<()> {
        let mut gone = Weight::ZERO;
        if !frame.total.before.is_zero() || !self.gone.is_empty() {
            if self.comparison.widths == Widths::After {
                gone = self.take_gone(&frame)?;
            }
            self.steps.0.note(frame.own.before);
            self.steps.1.note(frame.own.value);
        }
        let place = self.place(&frame)?;
        let mut whole = self.width(so_far);
        if self.ghosts.1 && whole.is_zero() {
            whole = so_far.before;
        }
        self.until_limit -= 1;
        if self.until_limit == 0 {
            self.set_limit(whole);
        }
        if self.is_wide_enough(place.1) {
            self.keep(frame, place, whole, gone);
        } else {
            self.left_out += 1;
        }
        Ok(())
    }

    fn least(&self, all: Weights) -> Weight {
        let whole = self.least_total.map_or(self.width(all), |least| least.max(self.width(all)));
        // Rounded down, so that nothing is lost that is_wide_enough would keep.
        Weight::new((self.least_share * whole.to_f64()).floor() as i128)
    }

    fn begin(&mut self, known: &Known<'_>) -> Result<()> {
        self.ghosts.1 =
            self.ghosts.0 && known.columns == Columns::Two && self.comparison.widths == Widths::After;
        Ok(())
    }

    fn restart(&mut self) -> Result<()> {
        let comparison = std::mem::take(&mut self.comparison);
        let ghosts = self.ghosts;
        *self = Layout::new(self.least_share, self.least_total).comparing(comparison);
        self.ghosts = ghosts;
        Ok(())
    }
}

impl Graph {
    /// The frames in tree order: a caller before its callees, from left to right.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = FrameBox<'_>> + Clone {
        self.boxes.iter().enumerate().map(|(n, kept)| {
            let change = match kept.change {
                0 => Change { after: kept.total, ..Change::default() },
                n => self.changes[n as usize - 1],
            };
            let union = self.union.map(|_| (kept.start, kept.total));
            let (start, total) = match union {
                Some(_) => (change.after_start, change.after),
                None => (kept.start, kept.total),
            };
            FrameBox {
                name: self.names.name(kept.name),
                depth: kept.depth,
                start,
                total,
                before: change.before,
                after: change.after,
                own: change.own,
                is_sure: self.sure.get(n).copied().unwrap_or(true),
                gone: change.gone,
                union,
            }
        })
    }

    /// The names that occur, each once.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.names.frame_count()).map(|n| self.names.name(FrameId(index(n))))
    }

    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.boxes.is_empty()
    }

    /// What a weight is to be shown as: see [`Graph::scale`].
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`].
    pub fn shown(&self, weight: Weight) -> Result<Weight> {
        if self.factor == Weight::ONE { Ok(weight) } else { weight.checked_mul(self.factor) }
    }

    /// The number that [`Graph::shown`] multiplies by.
    pub fn factor(&self) -> Weight {
        self.factor
    }

    /// Shows every weight multiplied by a number above zero.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`] if the largest weight then leaves the range.
    pub fn scale(&mut self, factor: Weight) -> Result<(), Error> {
        self.total.checked_mul(factor)?;
        self.after.checked_mul(factor)?;
        self.before.checked_mul(factor)?;
        self.factor = factor;
        Ok(())
    }

    /// The change that a frame is coloured by.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`].
    pub fn change(&self, frame: &FrameBox<'_>) -> Result<Weight> {
        if self.comparison.own {
            return frame.own.value.checked_sub(frame.own.before);
        }
        frame.after.checked_sub(frame.before)
    }

    /// The largest such change of a drawn frame or the whole, up or down.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`].
    pub fn largest_change(&self) -> Result<Weight> {
        let size = |change: Weight| if change.is_negative() { change.negated() } else { change };
        let mut largest = size(self.after.checked_sub(self.before)?);
        for frame in self.frames() {
            largest = largest.max(size(self.change(&frame)?));
        }
        Ok(largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::{Order, walk};
    use crate::input::Source;

    fn graph(text: &str, least_share: f64) -> Graph {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let mut layout = Layout::new(least_share, None);
        let summary = walk(&[Source::new(file.path())], Order::Frame, None, &mut layout).unwrap();
        layout.finish(&summary).unwrap()
    }

    fn shown(graph: &Graph) -> Vec<String> {
        graph
            .frames()
            .map(|f| format!("{} {} {} {}", f.depth, String::from_utf8_lossy(f.name), f.start, f.total))
            .collect()
    }

    #[test]
    fn frames_come_in_tree_order() {
        let graph = graph("a 1\na;b 2\na;b;c 3\na;d 4\ne 5\n", 0.0);
        assert_eq!(shown(&graph), ["0 a 0 10", "1 b 1 5", "2 c 3 3", "1 d 6 4", "0 e 10 5"]);
        assert_eq!((graph.rows, graph.left_out), (3, 0));
    }

    #[test]
    fn what_is_too_narrow_in_the_end_is_left_out_wherever_it_stood() {
        // The first frame is everything when it is met, and a thousandth in the end.
        let graph = graph("a;early 1\na;late 998\na;later 1\n", 0.01);
        assert_eq!(shown(&graph), ["0 a 0 1000", "1 late 1 998"]);
        assert_eq!(graph.left_out, 2);
    }

    #[test]
    fn what_cannot_be_wide_enough_is_not_sorted() {
        let calls: String =
            (0..3000).rev().map(|n| format!("main;call{n};a;b;c;d;e;f;g;h {}\n", n % 2)).collect();
        let sorted = graph(&format!("main;big 9000\n{calls}"), 0.5);
        assert_eq!(shown(&sorted), ["0 main 0 10500", "1 big 0 9000"]);
        assert!(sorted.left_out < 3000 * 9, "{} frames were looked at", sorted.left_out);
        let least = |asked: Option<Weight>| Layout::new(0.25, asked).least(Weights::one(Weight::new(10)));
        assert_eq!((least(None), least(Some(Weight::new(80)))), (Weight::new(2), Weight::new(20)));
    }

    #[test]
    fn ghosts_know_their_place_in_the_union() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lay = |text: &str, layout: Layout| {
            std::fs::write(file.path(), text).unwrap();
            let mut layout = layout;
            let summary = walk(&[Source::new(file.path())], Order::Frame, None, &mut layout).unwrap();
            layout.finish(&summary).unwrap()
        };
        let (after, union) =
            (Comparison::default(), Comparison { widths: Widths::Union, ..Comparison::default() });
        let text = "a;b 10 20\na;b;d 0 10\na;e 900 0\na;e;f 50 0\na;g 500 1\na;h 1 1000\n";
        let ghosts = lay(text, Layout::new(0.01, None).comparing(after.clone()).with_ghosts());
        let union = lay(text, Layout::new(0.01, None).comparing(union));
        let places = |graph: &Graph| {
            graph
                .frames()
                .map(|f| (f.name.to_vec(), f.union.unwrap_or((f.start, f.total))))
                .collect::<Vec<_>>()
        };
        assert_eq!(ghosts.union, Some(union.total));
        for place in places(&union) {
            assert!(places(&ghosts).contains(&place), "{place:?}");
        }
        let gone: Vec<_> =
            ghosts.frames().filter(|f| f.after.is_zero()).map(|f| (f.start, f.total)).collect();
        assert_eq!(gone, [(Weight::new(30), Weight::ZERO); 2]);
        // Nothing wide enough is gone: all is as if nobody had asked.
        for text in ["a;b 1000 2000\na;c 1 0\nd 0 5\n", "a;b 10\nc 1\n", "a;b 5 0\n"] {
            let asked = lay(text, Layout::new(0.01, None).comparing(after.clone()).with_ghosts());
            let plain = lay(text, Layout::new(0.01, None).comparing(after.clone()));
            assert_eq!(asked.union, None);
            assert_eq!(asked.frames().collect::<Vec<_>>(), plain.frames().collect::<Vec<_>>());
        }
    }

    #[test]
    fn keeps_little_more_than_what_is_drawn() {
        let text: String = (0..200_000).map(|n| format!("main;call{n:07};leaf{n:07} 1\n")).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        struct Watch(Layout, usize);
        impl Visitor for Watch {
            fn exit(&mut self, frame: Frame<'_>, so_far: Weights) -> Result<()> {
                self.0.exit(frame, so_far)?;
                self.1 = self.1.max(self.0.boxes.len());
                Ok(())
            }
            fn restart(&mut self) -> Result<()> {
                self.0.restart()
            }
        }
        let mut watch = Watch(Layout::new(1e-4, None), 0);
        let summary = walk(&[Source::new(file.path())], Order::Frame, None, &mut watch).unwrap();
        assert!(watch.1 <= 2 * LOOK_AGAIN_FRAMES, "{} frames were kept", watch.1);
        assert_eq!(watch.0.finish(&summary).unwrap().boxes.len(), 1);
    }

    #[test]
    fn what_vanished_is_told_to_the_frame_it_vanished_from() {
        let graph = graph("a;b 10 20\na;b;d 0 10\na;e 10 0\na;e;f 5 0\nz 7 0\n", 0.0);
        let gone: Vec<_> =
            graph.frames().map(|f| (f.name[0], f.before.to_string(), f.gone.to_string())).collect();
        assert_eq!(
            gone,
            [
                (b'a', "25".into(), "15".into()),
                (b'b', "10".into(), "0".into()),
                (b'd', "0".into(), "0".into())
            ]
        );
        assert_eq!(graph.gone, Weight::new(7));
        assert_eq!(graph.largest_change().unwrap(), Weight::new(20));
    }

    #[test]
    fn a_total_must_not_be_too_small() {
        let mut layout = Layout::new(0.0, Some(Weight::new(5)));
        let frame = |total| Frame { name: b"a", depth: 0, start: Weights::default(), own: total, total };
        let total = Weights::one(Weight::new(6));
        layout.exit(frame(total), total).unwrap();
        let summary = WalkSummary { total, ..WalkSummary::default() };
        let error = layout.finish(&summary).err().unwrap().to_string();
        assert_eq!(error, "the total 5 is smaller than the weight of all stacks, 6");
    }
}

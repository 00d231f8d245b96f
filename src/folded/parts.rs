//! One large file in frame order, walked by several threads.
//!
//! The file is cut between lines. Each thread walks a part, beginning on the path of the line before it:
//! the frames of that line go on in the part, or end there. In the end the parts are put together along one
//! path, and the visitors of the parts become one. The result is that of one thread; whatever is unusual (a
//! second header, lines that are no stacks, an error) is left to one thread.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::line::{Columns, parse_line};
use super::pass::{Open, Pass};
use super::place::Places;
use super::reader::{BLOCK, Lines};
use super::replay_buffer::Rereadable;
use super::visitor::{ForkedVisitor, Known, Order, Visitor, WalkSummary};
use crate::error::{Position, Result};
use crate::input::{self, Blocks};
use crate::limits::Meter;
use crate::threads::{self, Task};

/// Smaller files are walked by one thread: it takes a few thousandths of a second.
const PARTS_FROM: u64 = 8 << 20;
/// The longest line before a cut.
const LONGEST: u64 = 64 << 10;

/// The end of an attempt.
pub(super) enum Attempt {
    /// It was walked.
    Walked(Box<WalkSummary>),
    /// The stacks are not in order; the visitor has heard some of them.
    NotInOrder,
    /// One thread has to walk it; the visitor has heard of some stacks if this is true.
    Unusual(bool),
}

/// Walks the text that `input` is about to read, in up to `threads` parts.
pub(super) fn walk(
    input: &Rereadable<'_>,
    columns: Columns,
    threads: usize,
    meter: Option<&Arc<Meter>>,
    visitor: &mut dyn Visitor,
) -> Attempt {
    let Some((file, whole)) = input.lines().plain_file() else { return Attempt::Unusual(false) };
    if columns != Columns::One || whole.end - whole.start < PARTS_FROM {
        return Attempt::Unusual(false);
    }
    let threads = threads::count(threads);
    if threads < 2 {
        return Attempt::Unusual(false);
    }
    // Most visitors have to hear of all frames themselves.
    if visitor.follows_stacks() || visitor.fork().is_none() {
        return Attempt::Unusual(false);
    }
    let name = input.lines().name().clone();
    let facts = input.lines().first_facts().clone();
    if visitor.begin(&Known { columns, facts: &facts, places: &Places::default() }).is_err() {
        return Attempt::Unusual(false);
    }
    walk_file(file, whole, &name, (threads, meter), visitor).unwrap_or(Attempt::Unusual(true))
}

/// Walks part of a file that holds one column.
fn walk_file(
    file: &File,
    whole: Range<u64>,
    name: &Arc<str>,
    (threads, meter): (usize, Option<&Arc<Meter>>),
    visitor: &mut dyn Visitor,
) -> Result<Attempt> {
    let Some(cuts) = cuts(file, &whole, threads)? else { return Ok(Attempt::Unusual(true)) };
    let mut forks = Vec::new();
    for _ in &cuts {
        let Some(fork) = visitor.fork() else { return Ok(Attempt::Unusual(true)) };
        forks.push(fork);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let ends = cuts.iter().map(|cut| cut.at).chain([whole.end]);
    let mut starts = ends.clone();
    let part = |range: Range<u64>| -> Result<Rereadable<'static>> {
        let is_first = range.start == whole.start;
        let blocks = Blocks::of_part(name.clone(), file.try_clone()?, range, (BLOCK, meter))?;
        Ok(Rereadable::once(Lines::of_part(blocks, Columns::One, is_first, stop.clone())))
    };
    let first = part(whole.start..ends.clone().next().unwrap_or(whole.end))?;
    let rest: Vec<_> =
        ends.skip(1).map(|end| part(starts.next().unwrap_or(end)..end)).collect::<Result<_>>()?;
    let work = |mut lines: Rereadable<'static>, mut pass: Pass, visitor: &mut dyn Visitor| {
        let told = pass.stream(&mut lines, None, visitor);
        if !matches!(told, Ok(true)) {
            stop.store(true, Ordering::Relaxed);
        }
        told.map(|in_order| Part { pass, lines, in_order })
    };
    let (first, rest) = thread::scope(|scope| {
        let begin = |((lines, fork), cut): ((_, Box<dyn ForkedVisitor>), &Cut)| {
            let pass = Pass::behind(cut.stack.clone()).within(meter);
            let work = &work;
            Task::start(scope, move || {
                let mut fork = fork;
                work(lines, pass, &mut *fork).map(|part| (part, fork))
            })
        };
        let rest: Vec<_> = rest.into_iter().zip(forks).zip(&cuts).map(begin).collect();
        let first = work(first, Pass::new(Order::Frame, Columns::One, false).within(meter), visitor);
        (first, rest.into_iter().map(Task::join).collect::<Vec<_>>())
    });
    let mut parts = vec![];
    let mut visitors = vec![];
    for part in rest {
        let (part, visitor) = part?;
        parts.push(part);
        visitors.push(visitor);
    }
    let first = first?;
    if !first.in_order || parts.iter().any(|part| !part.in_order) {
        return Ok(Attempt::NotInOrder);
    }
    if first.is_unusual()
        || parts.iter().any(|part| part.is_unusual() || part.pass.summary.not_understood.count > 0)
    {
        return Ok(Attempt::Unusual(true));
    }
    let facts = first.lines.lines().facts();
    let mut count = first.lines.lines().count();
    let mut pass = first.pass;
    for ((part, fork), cut) in parts.into_iter().zip(visitors).zip(&cuts) {
        if pass.path != cut.stack {
            return Ok(Attempt::Unusual(true));
        }
        count += part.lines.lines().count();
        if part.lines.lines().ends_within().is_some() {
            pass.summary.not_understood.ends_within = Some(Position::line(name.clone(), count));
        }
        pass.append(part.pass, fork, visitor)?;
    }
    Ok(Attempt::Walked(Box::new(WalkSummary { facts, ..pass.finish(visitor)? })))
}

/// A part that was walked.
struct Part {
    pass: Pass,
    lines: Rereadable<'static>,
    in_order: bool,
}

impl Part {
    /// Another header began in it.
    fn is_unusual(&self) -> bool {
        self.lines.lines().has_parts()
    }
}

/// The place between two lines where a part begins.
struct Cut {
    at: u64,
    /// The stack of the line before.
    stack: Vec<u8>,
}

/// Cuts a file into parts of about one size; `None` if a line before a cut is no stack.
fn cuts(file: &File, whole: &Range<u64>, parts: usize) -> Result<Option<Vec<Cut>>> {
    let size = (whole.end - whole.start) / parts as u64;
    let mut cuts: Vec<Cut> = Vec::new();
    let mut window = vec![0; LONGEST as usize];
    for n in 1..parts as u64 {
        let target = whole.start + n * size;
        let from = target.saturating_sub(LONGEST).max(whole.start);
        let wanted = (target - from) as usize;
        let read = input::read_at(file, from, &mut window[..wanted])?;
        let bytes = &window[..read];
        let start_of_line = |end: usize| match memchr::memrchr(b'\n', &bytes[..end]) {
            Some(newline) => Some(newline + 1),
            None => (from == whole.start).then_some(0),
        };
        let Some(end) = memchr::memrchr(b'\n', bytes) else { continue };
        let Some(start) = start_of_line(end) else { return Ok(None) };
        let Some(line) = parse_line(&bytes[start..end], Columns::One) else { return Ok(None) };
        let at = from + end as u64 + 1;
        if cuts.last().is_none_or(|cut| cut.at < at) {
            cuts.push(Cut { at, stack: line.stack.to_vec() });
        }
    }
    Ok((!cuts.is_empty()).then_some(cuts))
}

impl Pass {
    /// A pass over stacks that follow one: its frames go on.
    fn behind(stack: Vec<u8>) -> Pass {
        let mut pass = Pass::new(Order::Frame, Columns::One, false);
        let ends = memchr::memchr_iter(b';', &stack).chain([stack.len()]);
        pass.open = ends.map(|end| Open { end, ..Open::default() }).collect();
        pass.inherited = pass.open.len();
        pass.path = stack;
        pass
    }

    /// Goes on with the pass of the part that follows, which began behind this one's path.
    fn append(&mut self, part: Pass, fork: Box<dyn ForkedVisitor>, visitor: &mut dyn Visitor) -> Result<()> {
        let offset = self.summary.total;
        for (own, at) in part.ended {
            let open = self.open.last_mut().expect("each frame that ends was inherited");
            open.own = open.own.checked_add(own)?;
            self.summary.total = offset.checked_add(at)?;
            self.exit(visitor)?;
        }
        visitor.join(fork, offset)?;
        for (n, open) in part.open.into_iter().enumerate() {
            match self.open.get_mut(n) {
                Some(inherited) => inherited.own = inherited.own.checked_add(open.own)?,
                None => self.open.push(Open { start: open.start.checked_add(offset)?, ..open }),
            }
        }
        self.path = part.path;
        self.passed_over += part.passed_over;
        self.summary.total = offset.checked_add(part.summary.total)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::{Frame, Weights, walk_on};
    use crate::{Source, Weight};

    /// Every frame as depth, name, start, own and total weight; those below `least` may be counted instead.
    #[derive(Default)]
    struct Log {
        frames: Vec<Exit>,
        least: i128,
        passed_over: u64,
    }

    type Exit = (usize, Vec<u8>, Weight, Weight, Weight);

    impl Visitor for Log {
        fn exit(&mut self, f: Frame<'_>, so_far: Weights) -> Result<()> {
            assert!(so_far.value >= f.total.value);
            self.frames.push((f.depth, f.name.to_vec(), f.start.value, f.own.value, f.total.value));
            Ok(())
        }

        fn least(&self, _: Weights) -> Weight {
            Weight::new(self.least)
        }

        fn passed_over(&mut self, frames: u64) {
            self.passed_over += frames;
        }

        fn fork(&self) -> Option<Box<dyn ForkedVisitor>> {
            Some(Box::new(Log { least: self.least, ..Log::default() }))
        }

        fn join(&mut self, fork: Box<dyn ForkedVisitor>, offset: Weights) -> Result<()> {
            let fork: Box<dyn std::any::Any> = fork;
            let fork = fork.downcast::<Log>().unwrap_or_else(|_| panic!("a log"));
            for (depth, name, start, own, total) in fork.frames {
                self.frames.push((depth, name, start.checked_add(offset.value)?, own, total));
            }
            Ok(())
        }

        fn restart(&mut self) -> Result<()> {
            self.frames.clear();
            Ok(())
        }
    }

    /// A text in frame order, of some hundred stacks of up to ten frames; the same for the same seed.
    fn text(seed: u64) -> String {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let mut stacks: Vec<Vec<String>> = (0..50 + random(300))
            .map(|_| {
                (0..1 + random(10))
                    .map(|_| ["a", "b", "bb", "", "a b", "ü"][random(6) as usize].into())
                    .collect()
            })
            .collect();
        stacks.sort();
        let line = |stack: &Vec<String>| format!("{} {}.{}\n", stack.join(";"), random(9), random(9));
        stacks.iter().map(line).collect()
    }

    /// The frames of a text that is walked in parts, and the summary; `None` if it could not be.
    fn in_parts(text: &str, parts: usize) -> Option<(Log, WalkSummary)> {
        in_parts_to(text, parts, Log::default())
    }

    fn in_parts_to(text: &str, parts: usize, mut log: Log) -> Option<(Log, WalkSummary)> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("it is written");
        let whole = 0..text.len() as u64;
        match walk_file(file.as_file(), whole, &"text".into(), (parts, None), &mut log).ok()? {
            Attempt::Walked(summary) => Some((log, *summary)),
            _ => None,
        }
    }

    fn sorted(mut log: Log) -> Vec<Exit> {
        log.frames.sort();
        log.frames
    }

    #[test]
    fn parts_are_the_whole() {
        for seed in 0..200 {
            let text = text(seed);
            let mut whole = Log::default();
            let told =
                walk_on(1, &[Source::bytes(text.clone())], Order::Frame, None, &mut whole).expect("stacks");
            let whole = sorted(whole);
            for parts in [2, 3, 8, 50] {
                let (log, summary) = in_parts(&text, parts).expect("it is in order");
                assert_eq!(summary.total, told.total, "seed {seed}, {parts} parts");
                assert_eq!(sorted(log), whole, "seed {seed}, {parts} parts\n{text}");
            }
        }
    }

    #[test]
    fn large_files_of_one_column_are_walked_in_parts() {
        let walked = |line: &str, bytes: u64, threads: usize| {
            let file = tempfile::NamedTempFile::new().expect("a file");
            let lines = line.repeat((bytes / line.len() as u64) as usize);
            std::fs::write(file.path(), lines).expect("it is written");
            let sources = [Source::path(file.path())];
            let input = Rereadable::open(&sources).expect("it is there");
            let columns = input.lines().columns();
            matches!(walk(&input, columns, threads, None, &mut Log::default()), Attempt::Walked(_))
        };
        let line = format!("b;{} 1\n", "x".repeat(4000));
        assert!(walked(&line, PARTS_FROM + 5000, 2));
        assert!(!walked(&line, PARTS_FROM + 5000, 1), "there is one thread");
        assert!(!walked(&line, PARTS_FROM - 5000, 2), "it is soon walked");
        assert!(!walked(&format!("b;{} 1 1\n", "x".repeat(4000)), PARTS_FROM + 9000, 2), "two columns");
    }

    #[test]
    fn no_part_is_empty() {
        let text = text(1);
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), &text).expect("it is written");
        for parts in [2, 50, 5000, text.len() + 1] {
            let cuts = cuts(file.as_file(), &(0..text.len() as u64), parts).expect("it is read");
            let cuts = cuts.map_or(Vec::new(), |cuts| cuts.iter().map(|cut| cut.at as usize).collect());
            assert_eq!(cuts.is_empty(), parts > text.len(), "{parts}");
            let ends = [&[0], &cuts[..], &[text.len()]].concat();
            assert!(ends.windows(2).all(|part| text[part[0]..part[1]].ends_with('\n')), "{parts}");
        }
    }

    #[test]
    fn light_frames_of_all_parts_are_counted() {
        let mut most = 0;
        for seed in 0..50 {
            let text = text(seed);
            let all = sorted(in_parts(&text, 2).expect("it is in order").0);
            for parts in [2, 3, 8] {
                let least = 5;
                let to = Log { least, ..Log::default() };
                let (log, _) = in_parts_to(&text, parts, to).expect("it is in order");
                let passed_over = log.passed_over;
                let told = sorted(log);
                assert_eq!(told.len() as u64 + passed_over, all.len() as u64, "seed {seed}, {parts} parts");
                let heavy = |frames: &[Exit]| {
                    frames.iter().filter(|frame| frame.4 >= Weight::new(least)).cloned().collect::<Vec<_>>()
                };
                assert_eq!(heavy(&told), heavy(&all), "seed {seed}, {parts} parts");
                most = most.max(passed_over);
            }
        }
        assert!(most > 0);
    }

    #[test]
    fn a_last_line_without_its_end_is_placed() {
        let text = text(1);
        let (_, summary) = in_parts(text.trim_end(), 5).expect("it is in order");
        let place = summary.not_understood.ends_within.expect("its end may be missing");
        assert_eq!(place.to_string(), format!("text:{}", text.lines().count()));
        assert!(in_parts(&text, 5).expect("it is in order").1.not_understood.ends_within.is_none());
    }

    #[test]
    fn what_is_unusual_is_left_to_one_thread() {
        let text = text(2);
        assert!(in_parts(&text, 4).is_some());
        let middle = text[text.len() / 2..].find('\n').expect("a line") + text.len() / 2 + 1;
        let (before, behind) = text.split_at(middle);
        for odd in [
            "# unit: ns\n",
            "no stack\n",
            "\u{7fff} 1\n",
            "a -1\n",
            "~ 340282366920938463463374607431768211455\n",
        ] {
            assert!(in_parts(&format!("{before}{odd}{behind}"), 4).is_none(), "{odd}");
        }
        let (_, summary) =
            in_parts(&format!("# unit: ns\n# a remark\n{text}"), 4).expect("a header is usual");
        assert_eq!((summary.facts.unit.as_deref(), summary.facts.comments.len()), (Some("ns"), 1));
    }
}

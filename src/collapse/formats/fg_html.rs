//! The pages of `fg-render --format html`: the profile they hold, exactly as it went in, with its
//! facts, the modules and kinds of functions, and, if they are asked for, the times of samples. Of a page with
//! several values `--value` chooses one.
//!
//! ```text
//! <meta name="generator" content="fg-render html 1">
//! …
//! <script type="application/octet-stream" id="data-rises">rdZBbtswEIXh…</script>
//! ```
//! The sections and their columns are specified in `render::html::payload`. A frame follows those
//! it calls, so columns are read from their ends: then it comes before them.

use std::io::Read;
use std::rc::Rc;

use crate::bytes::varint_128;
use crate::collapse::kit::base64;
use crate::collapse::kit::sample_count::SampleCount;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested, Value,
    ValueSelection, ValueTotal,
};
use crate::error::{Error, Result};
use crate::folded::{Columns, FrameId, Kind, Place, Weights, sanitize_frame};
use crate::input::Input;
use crate::profile::{Facts, header};
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "fg-html",
    producer: "fg-render --format html",
    tested: Tested::Seen("this version"),
    values: "those of the page",
    unit: "what the page says",
};

/// Collapses pages written by `fg-render`.
pub struct FgHtml;

const GENERATOR: &[u8] = b"<meta name=\"generator\" content=\"fg-render html 1\">";
/// Deeper stacks are no program's; a small page could claim one of terabytes.
const DEEPEST: usize = 1 << 20;
/// The most names that are guessed after another.
const MOST_GUESSES: usize = 126;
/// The most weights that have numbers.
const MOST_VALUES: usize = 1 << 14;
/// Names begin like the one before them: a small page could claim terabytes of them.
const MOST_TEXT: usize = 1 << 30;

impl Collapser for FgHtml {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "samples", clock: Some("recording"), labels: "thread, tid, process" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        if memchr::memmem::find(head, GENERATOR).is_some() { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let page = input.read_all()?;
        if memchr::memmem::find_iter(&page, b"id=\"data-rises\"").count() > 1 {
            report.doubt("there are several pages, of which the first is read");
        }
        let abouts = abouts(&page)?;
        let declared: Vec<Value> = abouts.iter().map(value_of).collect();
        let chosen = match declared.len() {
            1 => None,
            _ => Some(Values::new(reading, declared.clone(), 0)?),
        };
        let rises: Rc<[u32]> = small_numbers(&page, "rises")?.into();
        let names: Rc<[u32]> = names(&rises, &page)?.into();
        let ids = name_ids(&page, sink)?;
        let mut samples = SampleCount::default();
        for (number, (about, value)) in abouts.iter().zip(declared).enumerate() {
            let part =
                Part { page: &page, prefix: if number > 0 { format!("{number}-") } else { String::new() } };
            let tree = Tree::read(&part, about, &rises, &names)?;
            if chosen.as_ref().is_some_and(|chosen| !chosen.is_kept(number)) {
                report.add_value(value, tree.total()?)?;
                continue;
            }
            let times = if sink.wants().contexts || reading.count {
                Times::read(&part, about, rises.len())?
            } else {
                None
            };
            let is_pooled = times.as_ref().is_some_and(|times| times.is_pooled);
            // Of a thinned time line a sample stands for others.
            let times = times.filter(|times| !(times.is_pooled || reading.count && times.is_thinned));
            let columns = if tree.befores.is_some() { Columns::Two } else { Columns::One };
            sink.columns(columns)?;
            let is_one_of_all = chosen.is_some() && reading.values == ValueSelection::All;
            let root = is_one_of_all.then(|| {
                let mut name = Vec::new();
                sanitize_frame(&value.name, &mut name);
                sink.frame(&name)
            });
            let count = reading.count.then_some(&mut samples);
            let told = Told { ids: &ids, root, count, zeros: chosen.is_none() };
            let total = tree.tell(told, times.as_ref(), sink)?;
            report.add_value(value, total)?;
            // A fact that differs between values is left out.
            report.facts = if is_one_of_all { tree.facts.without_counts() } else { tree.facts };
            if is_pooled {
                report.facts.warnings.push(NO_TIMES.to_owned());
            }
        }
        samples.finish(report);
        Ok(())
    }
}

/// A page, and what the names of the sections of a value begin with.
struct Part<'p> {
    page: &'p [u8],
    prefix: String,
}

impl Part<'_> {
    fn name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn numbers(&self, name: &str) -> Result<Option<Vec<u128>>> {
        numbers(self.page, &self.name(name))
    }

    fn small_numbers(&self, name: &str) -> Result<Vec<u32>> {
        small_numbers(self.page, &self.name(name))
    }
}

/// The facts of each value of a page, those of the first in front.
fn abouts(page: &[u8]) -> Result<Vec<serde_json::Value>> {
    let about = section(page, "about")?.ok_or_else(damaged)?;
    let about: serde_json::Value = serde_json::from_slice(&about).map_err(|_| damaged())?;
    let mut all = vec![about.clone()];
    for other in about["values"].as_array().into_iter().flatten() {
        let mut facts = about.clone();
        for (key, value) in other.as_object().ok_or_else(damaged)? {
            facts[key.as_str()] = value.clone();
        }
        all.push(facts);
    }
    Ok(all)
}

fn value_of(about: &serde_json::Value) -> Value {
    let name = about["value"].as_str().unwrap_or("").as_bytes().to_vec();
    Value { name, unit: about["unit"].as_str().map(|unit| unit.to_owned().into()) }
}

/// The way in which stacks are told.
struct Told<'i> {
    /// Every name, as the sink numbers it.
    ids: &'i [FrameId],
    /// The frame that all stacks begin with.
    root: Option<FrameId>,
    /// Samples weigh one each; stacks whose samples the page does not have, as many as they stand for.
    count: Option<&'i mut SampleCount>,
    /// Leaves that weigh nothing are stacks too; of several values they are stacks of another one.
    zeros: bool,
}

/// The columns of a page, one entry for each frame.
struct Tree {
    rises: Rc<[u32]>,
    names: Rc<[u32]>,
    weights: Vec<u128>,
    befores: Option<Vec<u128>>,
    /// The number of a frame, and the decimals of the weights from there on.
    scales: Vec<(u64, u8)>,
    /// The facts that the page shows.
    facts: Facts,
}

impl Tree {
    fn read(
        part: &Part<'_>,
        about: &serde_json::Value,
        rises: &Rc<[u32]>,
        names: &Rc<[u32]>,
    ) -> Result<Tree> {
        let (weights, befores) = weights(rises, part)?;
        let scales = about["scales"]
            .as_array()
            .ok_or_else(damaged)?
            .iter()
            .map(|scale| Some((scale.get(0)?.as_u64()?, u8::try_from(scale.get(1)?.as_u64()?).ok()?)));
        let scales = scales.collect::<Option<Vec<_>>>().ok_or_else(damaged)?;
        let facts = header::read(about["header"].as_str().ok_or_else(damaged)?.as_bytes())?;
        Ok(Tree { rises: rises.clone(), names: names.clone(), weights, befores, scales, facts })
    }

    /// The weight of all stacks.
    fn total(&self) -> Result<ValueTotal> {
        let mut total = ValueTotal::default();
        let mut scales = self.scales.iter().peekable();
        let mut decimals = 0;
        for (frame, &weight) in self.weights.iter().enumerate() {
            while let Some((_, other)) = scales.next_if(|(from, _)| *from <= frame as u64) {
                decimals = *other;
            }
            if weight > 0 {
                total.add(Weight::from_steps(weight, decimals)?)?;
            }
        }
        Ok(total)
    }

    /// Pushes every stack, the last one first.
    fn tell(&self, told: Told<'_>, times: Option<&Times>, sink: &mut dyn Sink) -> Result<ValueTotal> {
        let Told { ids, root, mut count, zeros } = told;
        let above = usize::from(root.is_some());
        let mut total = ValueTotal { kept: true, ..ValueTotal::default() };
        let mut depth = self.last_depth()?;
        let mut stack: Vec<FrameId> = root.into_iter().collect();
        let mut scales = self.scales.iter().rev().peekable();
        let last_decimals = self.scales.last().map_or(0, |(_, decimals)| *decimals);
        let mut timed = times.map_or(&[][..], |times| &times.samples);
        for frame in (0..self.rises.len()).rev() {
            if depth + above > stack.len() {
                return Err(damaged());
            }
            stack.truncate(depth + above);
            stack.push(*ids.get(self.names[frame] as usize).ok_or_else(damaged)?);
            while scales.next_if(|(from, _)| *from > frame as u64).is_some() {}
            let decimals = scales.peek().map_or(0, |(_, decimals)| *decimals);
            let (value, before) = (self.weights[frame], self.befores.as_ref().map_or(0, |b| b[frame]));
            let is_leaf = self.rises[frame] > 0;
            if value > 0 || before > 0 || (is_leaf && zeros) {
                let (first, end) = (
                    timed.partition_point(|sample| sample.frame as usize > frame),
                    timed.partition_point(|sample| sample.frame as usize >= frame),
                );
                let samples = &timed[first..end];
                timed = &timed[end..];
                let weights = Weights {
                    value: Weight::from_steps(value, decimals)?,
                    before: Weight::from_steps(before, decimals)?,
                };
                let weights = match &mut count {
                    Some(_) if !samples.is_empty() => Weights::one(Weight::from(samples.len() as u64)),
                    Some(count) => count.of(weights, &self.facts),
                    None => weights,
                };
                total.add(weights.value)?;
                let mut left = weights.value;
                if let Some(times) = times {
                    for sample in samples {
                        let weight = Weight::from_steps(sample.weight, last_decimals)?;
                        let weight = if count.is_some() { Weight::ONE } else { weight };
                        left = left.checked_sub(weight)?;
                        if left.is_negative() {
                            return Err(damaged());
                        }
                        let duration = sample.duration.saturating_mul(times.step);
                        sink.lasting_sample(&stack, Weights::one(weight), &times.context(sample), duration)?;
                    }
                }
                // Samples of a page whose time line was left out, or was never known.
                if times.is_none() || !left.is_zero() {
                    sink.sample(&stack, Weights { value: left, ..weights }, &Context::UNKNOWN)?;
                }
            }
            depth = (depth + 1).checked_sub(self.rises[frame] as usize).ok_or_else(damaged)?;
        }
        Ok(total)
    }

    fn last_depth(&self) -> Result<usize> {
        let mut depth = 0usize;
        for &rise in &*self.rises {
            depth = (depth + rise as usize)
                .checked_sub(1)
                .filter(|&depth| depth < DEEPEST)
                .ok_or_else(damaged)?;
        }
        // The last frame of all is a root.
        if depth == 0 { Ok(0) } else { Err(damaged()) }
    }
}

/// A warning of a page whose samples stand for those of other stacks.
const NO_TIMES: &str = "the time line of the page was not read: it has no samples of its light stacks; read the recording itself";

/// The time line of a page.
struct Times {
    /// Nanoseconds on the clock of the recording.
    start: u64,
    step: u64,
    /// True if some samples stand for others.
    is_thinned: bool,
    /// True if some samples stand for those of other stacks.
    is_pooled: bool,
    threads: Vec<ThreadOfPage>,
    /// The samples, those of the last frame first.
    samples: Vec<SampleOfPage>,
}

struct ThreadOfPage {
    name: Vec<u8>,
    process: Option<u64>,
    thread: Option<u64>,
}

struct SampleOfPage {
    frame: u32,
    /// Steps since the start.
    steps: u64,
    /// Steps over which its weight is spread.
    duration: u64,
    /// The number of its thread.
    thread: u32,
    weight: u128,
}

impl Times {
    /// Reads the time line of a page with a number of frames; `None` if it has none.
    fn read(part: &Part<'_>, about: &serde_json::Value, frames: usize) -> Result<Option<Times>> {
        let about = &about["time"];
        if about.is_null() {
            return Ok(None);
        }
        let start = about["start"].as_str().and_then(|start| start.parse().ok()).ok_or_else(damaged)?;
        let step = about["step"].as_u64().ok_or_else(damaged)?;
        let is_thinned = about["coarse"] == true;
        let is_pooled = about["pooled"].as_u64().is_some_and(|pooled| pooled > 0);
        let mut deltas = part.numbers("time-deltas")?.ok_or_else(damaged)?.into_iter();
        let mut stacks = part.numbers("time-stacks")?.ok_or_else(damaged)?.into_iter();
        let mut weights = part.small_numbers("time-weights")?.into_iter();
        let mut durations = part.numbers("time-durations")?.map(Vec::into_iter);
        let mut values = part.numbers("time-values")?.ok_or_else(damaged)?.into_iter();
        let mut known = vec![0u128];
        let (mut threads, mut samples) = (Vec::new(), Vec::new());
        for thread in about["threads"].as_array().ok_or_else(damaged)? {
            let name = thread[1].as_str().ok_or_else(damaged)?.into();
            threads.push(ThreadOfPage { name, process: thread[2].as_u64(), thread: thread[3].as_u64() });
            let (mut steps, mut frame) = (0u64, 0i128);
            for _ in 0..thread[4].as_u64().ok_or_else(damaged)? {
                let delta = u64::try_from(deltas.next().ok_or_else(damaged)?).map_err(|_| damaged())?;
                steps = steps.checked_add(delta).ok_or_else(damaged)?;
                let change = i128::try_from(stacks.next().ok_or_else(damaged)?).map_err(|_| damaged())?;
                frame = frame.checked_add((change >> 1) ^ -(change & 1)).ok_or_else(damaged)?;
                let number = u32::try_from(frame).ok().filter(|&number| (number as usize) < frames);
                let weight = match weights.next().ok_or_else(damaged)? {
                    0 => {
                        let value = values.next().ok_or_else(damaged)?;
                        if known.len() + 1 < MOST_VALUES {
                            known.push(value);
                        }
                        value
                    }
                    number => *known.get(number as usize - 1).ok_or_else(damaged)?,
                };
                let (frame, thread) = (number.ok_or_else(damaged)?, threads.len() as u32 - 1);
                let duration = match &mut durations {
                    Some(durations) => {
                        u64::try_from(durations.next().ok_or_else(damaged)?).map_err(|_| damaged())?
                    }
                    None => 0,
                };
                samples.push(SampleOfPage { frame, steps, duration, thread, weight });
            }
        }
        samples.sort_by_key(|sample| std::cmp::Reverse(sample.frame));
        Ok(Some(Times { start, step, is_thinned, is_pooled, threads, samples }))
    }

    fn context(&self, sample: &SampleOfPage) -> Context<'_> {
        let ThreadOfPage { name, process, thread } = &self.threads[sample.thread as usize];
        let time = self.start.saturating_add(sample.steps.saturating_mul(self.step));
        let (process, thread) = (*process, *thread);
        Context { time: Some(time), process, thread, thread_name: name, ..Context::UNKNOWN }
    }
}

/// The number of each frame's name.
fn names(rises: &[u32], page: &[u8]) -> Result<Vec<u32>> {
    let mut leaves = small_numbers(page, "leaves")?.into_iter();
    let mut callers = small_numbers(page, "callers")?.into_iter();
    let mut known = small_numbers(page, "known")?.into_iter();
    let mut lists: Vec<Vec<u32>> = Vec::new();
    let mut names = Vec::with_capacity(rises.len());
    let (mut previous, mut count) = (0u32, 0u32);
    for &rise in rises {
        let list = 2 * previous as usize + usize::from(rise > 0);
        if list >= lists.len() {
            lists.resize(list + 1, Vec::new());
        }
        let list = &mut lists[list];
        let column = if rise > 0 { &mut leaves } else { &mut callers };
        let guess = column.next().ok_or_else(damaged)?;
        previous = match guess {
            0 => {
                count += 1;
                count - 1
            }
            // Names are numbered as they appear.
            1 => known.next().filter(|&name| name < count).ok_or_else(damaged)?,
            place => *list.get(place as usize - 2).ok_or_else(damaged)?,
        };
        if guess < 2 && list.len() < MOST_GUESSES {
            list.push(previous);
        }
        names.push(previous);
    }
    let all_used = [leaves, callers, known].iter_mut().all(|column| column.next().is_none());
    if all_used { Ok(names) } else { Err(damaged()) }
}

/// The self weight of each frame, after and, if there are two columns, before.
fn weights(rises: &[u32], part: &Part<'_>) -> Result<(Vec<u128>, Option<Vec<u128>>)> {
    let side = |kind: &str| -> Result<Option<[std::vec::IntoIter<u32>; 2]>> {
        let leaves = format!("leaf-{kind}");
        if section(part.page, &part.name(&leaves))?.is_none() {
            return Ok(None);
        }
        let callers = part.small_numbers(&format!("caller-{kind}"))?;
        Ok(Some([callers, part.small_numbers(&leaves)?].map(Vec::into_iter)))
    };
    let mut after = side("weights")?.ok_or_else(damaged)?;
    let mut before = side("befores")?;
    let mut values = part.numbers("values")?.ok_or_else(damaged)?.into_iter();
    let mut known = vec![0u128];
    let mut next = |columns: &mut [std::vec::IntoIter<u32>; 2], is_leaf: bool| {
        let number = columns[usize::from(is_leaf)].next().ok_or_else(damaged)?;
        if number > 0 {
            return known.get(number as usize - 1).copied().ok_or_else(damaged);
        }
        let value = values.next().ok_or_else(damaged)?;
        if known.len() + 1 < MOST_VALUES {
            known.push(value);
        }
        Ok(value)
    };
    let mut weights = Vec::with_capacity(rises.len());
    let mut befores = before.is_some().then(|| Vec::with_capacity(rises.len()));
    for &rise in rises {
        weights.push(next(&mut after, rise > 0)?);
        if let (Some(befores), Some(before)) = (&mut befores, &mut before) {
            befores.push(next(before, rise > 0)?);
        }
    }
    let columns = after.iter_mut().chain(before.iter_mut().flatten());
    if columns.into_iter().any(|column| column.next().is_some()) || values.next().is_some() {
        return Err(damaged());
    }
    Ok((weights, befores))
}

/// Every name, as the sink numbers it.
fn name_ids(page: &[u8], sink: &mut dyn Sink) -> Result<Vec<FrameId>> {
    let texts = section(page, "texts")?.ok_or_else(damaged)?;
    let mut rest = &texts[..];
    let shared = small_numbers(page, "shared")?;
    let lengths = small_numbers(page, "lengths")?;
    let ranks = ranks(page)?;
    if shared.len() != lengths.len() || ranks.len() != lengths.len() {
        return Err(damaged());
    }
    let places =
        if sink.wants().places { PlaceColumns::read(page, &ranks)? } else { PlaceColumns::default() };
    // In the order of their bytes.
    let mut sorted = Vec::with_capacity(lengths.len());
    let mut name = Vec::new();
    let mut all = 0usize;
    for (shared, length) in shared.into_iter().zip(lengths) {
        let (behind, following) = rest.split_at_checked(length as usize).ok_or_else(damaged)?;
        if shared as usize > name.len() || memchr::memchr2(b';', b'\n', behind).is_some() {
            return Err(damaged());
        }
        name.truncate(shared as usize);
        name.extend_from_slice(behind);
        rest = following;
        all = all.saturating_add(name.len());
        if all > MOST_TEXT {
            return Err(damaged());
        }
        let place = places.of_rank(sorted.len())?;
        sorted.push(if place.is_unknown() { sink.frame(&name) } else { sink.frame_at(&name, &place) });
    }
    ranks.into_iter().map(|rank| sorted.get(rank).copied().ok_or_else(damaged)).collect()
}

/// The place of each name in the order of their bytes.
fn ranks(page: &[u8]) -> Result<Vec<usize>> {
    let mut expected = 0i128;
    let ranks = numbers(page, "ranks")?.ok_or_else(damaged)?.into_iter().map(|step| {
        let step = i128::try_from(step).ok()?;
        let rank = expected.checked_add((step >> 1) ^ -(step & 1))?;
        expected = rank.checked_add(1)?;
        usize::try_from(rank).ok()
    });
    ranks.collect::<Option<Vec<_>>>().ok_or_else(damaged)
}

/// The modules and kinds of names; empty where the page has none.
#[derive(Default)]
struct PlaceColumns {
    /// The number of each name, in the order of their bytes.
    by_rank: Vec<usize>,
    kinds: Vec<u32>,
    /// The bytes of all modules, a 0 behind each.
    modules: Vec<u8>,
    /// The range of each module in `modules`.
    ranges: Vec<std::ops::Range<usize>>,
    name_modules: Vec<u32>,
}

impl PlaceColumns {
    fn read(page: &[u8], ranks: &[usize]) -> Result<PlaceColumns> {
        let column = |name| match section(page, name)? {
            Some(_) => small_numbers(page, name),
            None => Ok(vec![0; ranks.len()]),
        };
        let (kinds, name_modules) = (column("kinds")?, column("name-modules")?);
        if kinds.len() != ranks.len() || name_modules.len() != ranks.len() {
            return Err(damaged());
        }
        let mut by_rank = vec![0; ranks.len()];
        for (number, &rank) in ranks.iter().enumerate() {
            *by_rank.get_mut(rank).ok_or_else(damaged)? = number;
        }
        let modules = section(page, "modules")?.unwrap_or_default();
        let mut start = 0;
        let ranges = memchr::memchr_iter(0, &modules).map(|end| std::mem::replace(&mut start, end + 1)..end);
        Ok(PlaceColumns { by_rank, kinds, ranges: ranges.collect(), modules, name_modules })
    }

    fn of_rank(&self, rank: usize) -> Result<Place<'_>> {
        let Some(&number) = self.by_rank.get(rank) else { return Ok(Place::default()) };
        let (kind, inlined) = match self.kinds[number] {
            kind @ 0..4 => (kind, false),
            kind @ 4..8 => (kind - 4, true),
            _ => return Err(damaged()),
        };
        let kind = [Kind::Unknown, Kind::User, Kind::Kernel, Kind::Jit][kind as usize];
        let module = match self.name_modules[number] {
            0 => &[][..],
            module => &self.modules[self.ranges.get(module as usize - 1).ok_or_else(damaged)?.clone()],
        };
        Ok(Place { module, kind, inlined, ..Place::default() })
    }
}

fn damaged() -> Error {
    Error::malformed("the data of a page that fg-render wrote", b"something else; fetch it again")
}

/// A section of varints that are no weights.
fn small_numbers(page: &[u8], name: &str) -> Result<Vec<u32>> {
    let numbers = numbers(page, name)?.ok_or_else(damaged)?;
    numbers.into_iter().map(|n| u32::try_from(n).map_err(|_| damaged())).collect()
}

/// A section of varints.
fn numbers(page: &[u8], name: &str) -> Result<Option<Vec<u128>>> {
    let Some(bytes) = section(page, name)? else { return Ok(None) };
    let mut numbers = Vec::new();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let number = varint_128(&mut rest).filter(|number| i128::try_from(*number).is_ok());
        numbers.push(number.ok_or_else(damaged)?);
    }
    Ok(Some(numbers))
}

/// The bytes of a section, if there is one of this name.
fn section(page: &[u8], name: &str) -> Result<Option<Vec<u8>>> {
    let tag = format!("<script type=\"application/octet-stream\" id=\"data-{name}\">");
    let Some(start) = memchr::memmem::find(page, tag.as_bytes()) else { return Ok(None) };
    let text = &page[start + tag.len()..];
    let text = &text[..memchr::memchr(b'<', text).ok_or_else(damaged)?];
    let compressed = base64::decode(text).ok_or_else(damaged)?;
    let mut bytes = Vec::new();
    let checked = flate2::read::ZlibDecoder::new(&compressed[..]).read_to_end(&mut bytes);
    if checked.is_err() {
        // The first pages had no checksums: plain deflate, which no zlib stream is.
        bytes.clear();
        flate2::read::DeflateDecoder::new(&compressed[..]).read_to_end(&mut bytes).map_err(|_| damaged())?;
    }
    Ok(Some(bytes))
}

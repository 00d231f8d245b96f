//! The parts of a page that each value of a recording has for itself: weights, source lines, a time line.

use serde_json::{Map, Value, json};

use super::about::{about, verdict};
use super::payload::times::{self, Limit, Times};
use super::payload::{WeightEncoder, source};
use super::size::Fitted;
use crate::diff::Diff;
use crate::diff::columns::ColumnJudge;
use crate::error::Result;
use crate::folded::{Columns, WalkSummary, Weights};
use crate::profile::{Profile, TimeLine};
use crate::render::Settings;
use crate::render::source::{SourceHere, SourceLines};
use crate::render::writer::{StackSource, time_line};

/// The name and the bytes of each section.
type Sections = Vec<(String, Vec<u8>)>;

/// The values of a page together.
pub(super) struct AllValues {
    pub count: usize,
    /// The first and the last time of all, so that a range of time is the same in each; `None` if each has its own clock.
    pub span: Option<(u64, u64)>,
    /// Their tree.
    pub fitted: Fitted,
    /// The source files of this machine that are in the page.
    pub here: SourceHere,
}

/// The source lines and the time line of a value.
#[derive(Default)]
pub(super) struct Beside {
    times: Option<Times>,
    lines: Option<SourceLines>,
    /// The section of the lines. The time line has what it leaves of the page.
    source: Option<(&'static str, Vec<u8>)>,
}

/// The tree of a value, as the page has it.
pub(super) struct TreeOfValue<I> {
    /// The names of its frames.
    pub names: I,
    /// The decimals of its weights.
    pub decimals: u8,
    /// The weight of all stacks.
    pub whole: (Columns, Weights),
}

impl Beside {
    /// Takes both of a profile.
    pub(super) fn take<'n>(
        &mut self,
        profile: &Profile,
        tree: TreeOfValue<impl Iterator<Item = &'n [u8]>>,
        values: &AllValues,
        settings: &Settings,
    ) -> Result<()> {
        self.take_lines(profile, settings)?;
        let decimals = tree.decimals;
        self.finish_lines(tree, values.count, settings, &values.here)?;
        let Some(mut line) = time_line(StackSource::Profile(profile), settings)? else { return Ok(()) };
        if let Some((start, end)) = values.span {
            line.start = line.start.min(start);
            line.end = line.end.max(end);
        }
        self.take_times(&line, values.count, &values.fitted, decimals, settings)
    }

    pub(super) fn take_lines(&mut self, profile: &Profile, settings: &Settings) -> Result<()> {
        if !profile.places().is_empty() {
            self.lines = Some(SourceLines::of_profile(profile, &settings.rewrite)?);
        }
        Ok(())
    }

    /// Adds the lines that the frames of a stack of folded text name: `work (app.py:12)`.
    pub(super) fn add_text(&mut self, stack: &[u8], leaf_first: bool, weights: Weights) -> Result<()> {
        let mut ends = memchr::memchr_iter(b')', stack);
        // Most text has none.
        if !ends.any(|end| is_behind_line(&stack[..end])) {
            return Ok(());
        }
        self.lines.get_or_insert_default().add_text(stack, leaf_first, weights)
    }

    /// Makes the section of the lines, one of so many of the page.
    pub(super) fn finish_lines<'n>(
        &mut self,
        TreeOfValue { names, decimals, whole }: TreeOfValue<impl Iterator<Item = &'n [u8]>>,
        sections: usize,
        settings: &Settings,
        here: &SourceHere,
    ) -> Result<()> {
        if let Some(lines) = self.lines.take() {
            self.source = source::section(&lines, names, decimals, whole, sections, (settings, here))?;
        }
        Ok(())
    }

    /// Takes a time line, one of so many of a page whose tree fits. The section of the lines is made.
    pub(super) fn take_times(
        &mut self,
        line: &TimeLine<'_>,
        lines: usize,
        fitted: &Fitted,
        decimals: u8,
        settings: &Settings,
    ) -> Result<()> {
        let numbers = fitted.folded.as_ref().map(|folded| &folded.numbers[..]);
        let source = self.source.as_ref().map_or(0, |(_, bytes)| bytes.len());
        let limit = Limit::of_each(lines, fitted.times.saturating_sub(lines * source));
        self.times = Some(times::encode(line, numbers, decimals, &|weight| settings.shown(weight), limit)?);
        Ok(())
    }

    /// The sections, with `prefix` in front of their names.
    pub(super) fn sections(&mut self, prefix: &str) -> Sections {
        let times = self.times.iter_mut().flat_map(|times| std::mem::take(&mut times.sections));
        let all = self.source.take().into_iter().chain(times);
        all.map(|(name, bytes)| (format!("{prefix}{name}"), bytes)).collect()
    }

    /// The facts of the time line; null without one.
    pub(super) fn about_time(self) -> Value {
        self.times.map_or(Value::Null, |times| times.about)
    }
}

/// Returns true if a text ends in a colon and a number.
fn is_behind_line(text: &[u8]) -> bool {
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && text[..text.len() - digits].ends_with(b":")
}

/// The first and the last time of all values.
pub(super) fn span(values: &[(String, Profile)]) -> Option<(u64, u64)> {
    let spans = values.iter().filter_map(|(_, profile)| {
        let (zero, (_, last)) = (profile.time_zero()?, profile.time_span()?);
        Some((zero, zero.saturating_add(last)))
    });
    spans.reduce(|(start, end), (other, last)| (start.min(other), end.max(last)))
}

/// The facts and the sections of another value, whose profile has the same stacks.
pub(super) fn other<'n>(
    number: usize,
    (name, profile): &(String, Profile),
    (weights, summary): (WeightEncoder, WalkSummary),
    values: &AllValues,
    names: impl Iterator<Item = &'n [u8]>,
    settings: &Settings,
) -> Result<(Value, Sections)> {
    let decimals = weights.decimals();
    let mut beside = Beside::default();
    let whole = (summary.columns, summary.total);
    beside.take(profile, TreeOfValue { names, decimals, whole }, values, settings)?;
    let prefix = format!("{number}-");
    let mut sections = beside.sections(&prefix);
    let payload = weights.finish()?;
    let mut about = about(&payload, &summary, settings)?;
    sections.extend(payload.sections.into_iter().map(|(name, bytes)| (format!("{prefix}{name}"), bytes)));
    about["time"] = beside.about_time();
    about["value"] = name.as_str().into();
    Ok((about, sections))
}

/// The most recordings of which each is compared with each: beyond, each is with the first only.
const MOST_COMPARED: usize = 6;

/// The comparisons of recordings, which are the values behind the first: the numbers of two recordings, fg-diff's verdict on
/// them, and the functions that changed.
pub(super) fn pairs(values: &[(String, Profile)], settings: &Settings) -> Result<Value> {
    let recordings = values.get(1..).unwrap_or_default();
    let mut pairs = Vec::new();
    if !settings.comparison.alpha.is_finite() {
        return Ok(pairs.into());
    }
    for (before, (_, one)) in recordings.iter().enumerate() {
        if before > 0 && recordings.len() > MOST_COMPARED {
            break;
        }
        for (after, (_, other)) in recordings.iter().enumerate().filter(|(after, _)| *after != before) {
            if one.columns() == Columns::Two || other.columns() == Columns::Two {
                continue;
            }
            let both = Diff::new(one, other).profile()?;
            let mut judge = ColumnJudge::new(settings.comparison.report_options());
            let (table, mut text) = (both.stacks(), Vec::new());
            for (stack, weights) in table.stacks() {
                text.clear();
                for (depth, &frame) in stack.iter().enumerate() {
                    text.extend_from_slice(if depth > 0 { b";" } else { b"" });
                    text.extend_from_slice(table.name(frame));
                }
                judge.add(&text, weights)?;
            }
            let stated = both.facts().findings.as_deref().cloned();
            if let Some(findings) =
                stated.map_or_else(|| judge.finish(both.facts()), |known| Ok(Some(known)))?
            {
                let (verdict, changed) = verdict(&findings);
                pairs.push(json!([before, after, verdict, changed]));
            }
        }
    }
    Ok(pairs.into())
}

/// The facts of a value that are not those of the first one.
pub(super) fn differing(other: &Value, first: &Value) -> Value {
    let Some(facts) = other.as_object() else { return Value::Null };
    let is_own = |(key, value): &(&String, &Value)| *key != "rootsAreCode" && first[key.as_str()] != **value;
    Value::Object(
        facts.iter().filter(is_own).map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::Place;
    use crate::profile::{Context, ProfileBuilder, Sink as _, Wants};
    use crate::weight::Weight;

    /// Samples of a time line that is larger than the limit of the test, in lines of a file.
    fn recorded() -> Profile {
        let mut builder = ProfileBuilder::new(Wants::ALL);
        let mut random = 1u64;
        for n in 0..30_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let line = (random >> 40) as u32 % 300;
            let place = Place { file: b"code.c", line: 20 * line + 1, ..Place::default() };
            let frame = builder.frame_at(format!("f{line}").as_bytes(), &place);
            let time = Some(n * 1_000_000 + (random >> 20) % 900_000);
            let context = Context { time, thread: Some(1), thread_name: b"t", ..Context::UNKNOWN };
            builder.sample(&[frame], Weights::one(Weight::ONE), &context).unwrap();
        }
        builder.finish().unwrap()
    }

    #[test]
    fn the_time_line_has_what_the_source_code_leaves() {
        let folder = tempfile::tempdir().unwrap();
        let code: String =
            (0..6100u64).map(|n| format!("{:x}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32)).collect();
        std::fs::write(folder.path().join("code.c"), code).unwrap();
        let profile = recorded();
        let mut settings = Settings::default();
        let fitted = Fitted { times: 90_000, folded: None };
        let mut bytes = |folders: Vec<std::path::PathBuf>, values: usize| -> (usize, usize) {
            settings.source_folders = folders;
            let mut beside = Beside::default();
            let names: Vec<String> = (0..300).map(|n| format!("f{n}")).collect();
            let tree = TreeOfValue {
                names: names.iter().map(String::as_bytes),
                decimals: 0,
                whole: (profile.columns(), profile.total().unwrap()),
            };
            beside.take_lines(&profile, &settings).unwrap();
            beside.finish_lines(tree, values, &settings, &SourceHere::default()).unwrap();
            let line = TimeLine::new(&profile, None).unwrap().unwrap();
            beside.take_times(&line, values, &fitted, 0, &settings).unwrap();
            let (source, times): (Vec<_>, Vec<_>) =
                beside.sections("").into_iter().partition(|(name, _)| name == "source");
            let sum = |all: Sections| all.iter().map(|(_, bytes)| bytes.len()).sum();
            (sum(source), sum(times))
        };
        let without = bytes(Vec::new(), 1);
        let with = bytes(vec![folder.path().to_owned()], 1);
        assert!(with.0 > without.0 + 10_000, "{without:?} {with:?}");
        assert!(with.1 < without.1, "{without:?} {with:?}");
        for (values, (source, times)) in
            [(1, without), (1, with), (2, bytes(vec![folder.path().to_owned()], 2))]
        {
            assert!(times > 0 && values * (source + times) <= fitted.times, "{values}: {source} {times}");
        }
    }
}

//! The parts of a page that each value of a recording has for itself: weights, source lines, a time line.

use serde_json::{Map, Value};

use super::about::about;
use super::payload::times::{self, Limit, Times};
use super::payload::{WeightEncoder, source};
use super::size::Fitted;
use crate::error::Result;
use crate::folded::{WalkSummary, Weights};
use crate::profile::{Profile, TimeLine};
use crate::render::Settings;
use crate::render::source::SourceLines;
use crate::render::writer::{Input, time_line};

/// The name and the bytes of each section.
type Sections = Vec<(String, Vec<u8>)>;

/// The values of a page together.
pub(super) struct AllValues {
    pub count: usize,
    /// The first and the last time of all, so that a range of time is the same in each; `None` if each has its own clock.
    pub span: Option<(u64, u64)>,
    /// Their tree.
    pub fitted: Fitted,
}

/// The source lines and the time line of a value.
#[derive(Default)]
pub(super) struct Beside {
    times: Option<Times>,
    lines: Option<SourceLines>,
}

impl Beside {
    /// Takes both of a profile, whose weights have so many decimals.
    pub(super) fn take(
        &mut self,
        profile: &Profile,
        decimals: u8,
        values: &AllValues,
        settings: &Settings,
    ) -> Result<()> {
        self.take_lines(profile, settings)?;
        let Some(mut line) = time_line(Input::Profile(profile), settings)? else { return Ok(()) };
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

    /// Takes a time line, one of so many of a page whose tree fits.
    pub(super) fn take_times(
        &mut self,
        line: &TimeLine<'_>,
        lines: usize,
        fitted: &Fitted,
        decimals: u8,
        settings: &Settings,
    ) -> Result<()> {
        let numbers = fitted.folded.as_ref().map(|folded| &folded.numbers[..]);
        let limit = Limit::of_each(lines, fitted.times);
        self.times = Some(times::encode(line, numbers, decimals, &|weight| settings.shown(weight), limit)?);
        Ok(())
    }

    /// The sections, with `prefix` in front of their names.
    pub(super) fn sections<'n>(
        &mut self,
        prefix: &str,
        names: impl Iterator<Item = &'n [u8]>,
        decimals: u8,
        summary: &WalkSummary,
        settings: &Settings,
    ) -> Result<Sections> {
        let whole = (summary.columns, summary.total);
        let lines = self.lines.take();
        let source = lines.map(|lines| source::section(&lines, names, decimals, whole, settings));
        let times = self.times.iter_mut().flat_map(|times| std::mem::take(&mut times.sections));
        let all = source.transpose()?.flatten().into_iter().chain(times);
        Ok(all.map(|(name, bytes)| (format!("{prefix}{name}"), bytes)).collect())
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
    beside.take(profile, decimals, values, settings)?;
    let prefix = format!("{number}-");
    let mut sections = beside.sections(&prefix, names, decimals, &summary, settings)?;
    let payload = weights.finish()?;
    let mut about = about(&payload, &summary, settings)?;
    sections.extend(payload.sections.into_iter().map(|(name, bytes)| (format!("{prefix}{name}"), bytes)));
    about["time"] = beside.about_time();
    about["value"] = name.as_str().into();
    Ok((about, sections))
}

/// The facts of a value that are not those of the first one.
pub(super) fn differing(other: &Value, first: &Value) -> Value {
    let Some(facts) = other.as_object() else { return Value::Null };
    let is_own = |(key, value): &(&String, &Value)| *key != "rootsAreCode" && first[key.as_str()] != **value;
    Value::Object(
        facts.iter().filter(is_own).map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>(),
    )
}

//! The values that a recording holds, the choice among them, and their units.
//!
//! A recording may hold several: perf's events, the sample types of a pprof profile, austin's time
//! and memory. They are of different units and never added up unasked: one is kept, the producer's
//! own default; `--value` chooses otherwise. What there was, kept or not, ends up
//! in [`Report::values`](crate::collapse::Report), for messages and `--list-values`.

use std::borrow::Cow;

use crate::collapse::{CollapseOptions, Context, Reading, Report, Sink};
use crate::error::{Error, Result, excerpt, some_of};
use crate::folded::{FrameId, Weights, sanitize_frame};
use crate::weight::Weight;

/// The values of a recording to keep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ValueSelection {
    /// The one that the producer shows first, or that comes first: perf's first event. If it has no samples,
    /// the first one that has some.
    #[default]
    Default,
    /// These; perf's events are named with or without their modifiers: `cycles`, `cycles:u`.
    Named(Vec<Vec<u8>>),
    /// All, each under a root frame of its name.
    All,
}

impl ValueSelection {
    /// Refuses the only value of an input if others are wanted. Its name is empty if it is not known.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`].
    pub(crate) fn expect(&self, only: &[u8]) -> Result<()> {
        match self {
            ValueSelection::Named(wanted) if !wanted.iter().any(|wanted| is_named(only, wanted)) => {
                let what = match only {
                    [] => {
                        "there is no such value in it; its only one has no name: leave out --value".to_owned()
                    }
                    name => format!(
                        "there is no such value in it; there is {}: choose with --value",
                        excerpt(name)
                    ),
                };
                Err(Error::setting(what))
            }
            _ => Ok(()),
        }
    }
}

/// Compares an event's name with the user's, which may lack the modifiers.
pub(crate) fn is_named(name: &[u8], wanted: &[u8]) -> bool {
    name == wanted || without_modifiers(name) == wanted
}

/// `cycles:u` without what follows the colon.
pub(crate) fn without_modifiers(name: &[u8]) -> &[u8] {
    const MODIFIERS: &[u8] = b"ukhGHpPSDIWebR";
    match memchr::memrchr(b':', name) {
        Some(at) if name[at + 1..].iter().all(|b| MODIFIERS.contains(b)) => &name[..at],
        _ => name,
    }
}

/// The name of a value and what it is counted in: `alloc_space` in `bytes`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Value {
    /// The producer's name for it; empty for a recording that does not name its one value.
    pub name: Vec<u8>,
    /// `None` if it is not known.
    pub unit: Option<Cow<'static, str>>,
}

impl Value {
    /// A value of a known unit.
    pub fn new(name: impl Into<Vec<u8>>, unit: impl Into<Cow<'static, str>>) -> Value {
        Value { name: name.into(), unit: Some(unit.into()) }
    }

    /// The name of its root frame: its own, or that of its unit.
    pub(crate) fn root(&self) -> &[u8] {
        match (&self.name[..], &self.unit) {
            ([], Some(unit)) => unit.as_bytes(),
            ([], None) => b"[unknown]",
            (name, _) => name,
        }
    }

    /// A value in a unit as its producer wrote it: `nanoseconds` is `ns`.
    pub fn with_producers_unit(name: impl Into<Vec<u8>>, unit: &str) -> Value {
        let name = name.into();
        let unit = match unit.trim() {
            "" | "none" => None,
            "nanoseconds" | "nanosecond" => Some("ns".into()),
            "microseconds" | "microsecond" | "µs" | "μs" => Some("us".into()),
            "milliseconds" | "millisecond" => Some("ms".into()),
            "seconds" | "second" | "sec" => Some("s".into()),
            "byte" | "Byte" | "Bytes" => Some("bytes".into()),
            "count" | "counts" => counted(&name),
            // It becomes a line of its own in a header.
            other => Some(other.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()),
        };
        Value { name, unit }
    }
}

/// The unit of a count, by the name of the value: `alloc_objects` are objects.
fn counted(name: &[u8]) -> Option<Cow<'static, str>> {
    Some(match name {
        b"sample" | b"samples" => "samples".into(),
        b"alloc_objects" | b"inuse_objects" | b"objects" => "objects".into(),
        b"goroutine" => "goroutines".into(),
        b"threadcreate" => "threads".into(),
        // Other names say themselves what is counted: `contentions`.
        name => crate::profile::fact(name).map(Cow::Owned)?,
    })
}

/// The number of samples of a value, and their weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValueTotal {
    /// The number of samples that had some of it.
    pub samples: u64,
    /// The sum of their weights.
    pub weight: Weight,
    /// True if they are part of the result.
    pub kept: bool,
}

impl ValueTotal {
    /// Counts a sample.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add(&mut self, weight: Weight) -> Result<()> {
        self.samples += 1;
        self.weight = self.weight.checked_add(weight)?;
        Ok(())
    }
}

/// The value to keep where the producer's default has no samples and the user did not choose: of those that have some,
/// in the producer's order, the first of the default's unit, or else the first.
pub(crate) fn first_holding<'v>(
    default: &Value,
    holding: impl Iterator<Item = &'v Value> + Clone,
) -> Option<&'v Value> {
    let same = |value: &&Value| value.unit.is_some() && value.unit == default.unit;
    holding.clone().find(same).or_else(|| holding.clone().next())
}

/// The warning of [`first_holding`]; a default that samples have, and all of them 0 of it, is zero throughout.
pub(crate) fn chosen_instead(default: &Value, is_zero: bool, other: &Value) -> String {
    let (default, other) = (excerpt(&default.name), excerpt(&other.name));
    let lacks = if is_zero { "is zero throughout" } else { "has no samples" };
    format!("the value {default} {lacks}: this is {other}; choose with --value")
}

/// The values of one recording, all of which every sample may have: chosen, added up, reported.
///
/// A format with one value has it too, so that its unit is known.
pub struct Values {
    columns: Vec<Column>,
    /// True if all are kept, each below its own root.
    all: bool,
    /// True if there is a root even of an only value.
    rooted: bool,
    count: bool,
    scratch: Vec<FrameId>,
}

struct Column {
    value: Value,
    total: ValueTotal,
    root: Option<FrameId>,
}

impl Values {
    /// The one value of a format.
    pub fn single(options: &CollapseOptions, name: &str, unit: &'static str) -> Values {
        Values::only(options, Value::new(name, unit))
    }

    /// The one value of a format, whose unit may be unknown.
    pub fn only(options: &CollapseOptions, value: Value) -> Values {
        // There is nothing else here, whatever was chosen for the other inputs.
        let wanted = match &options.values {
            ValueSelection::Named(names) => names.contains(&value.name),
            ValueSelection::Default | ValueSelection::All => true,
        };
        Values::with(options, vec![value], |_, _| wanted)
    }

    /// The values that a recording declares, of which `default` is the producer's default.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] if none of them, or values that do not add up, were asked for.
    pub fn new(options: &CollapseOptions, declared: Vec<Value>, default: usize) -> Result<Values> {
        let ValueSelection::Named(names) = &options.values else {
            let all = options.values == ValueSelection::All;
            return Ok(Values::with(options, declared, |at, _| all || at == default));
        };
        let kept: Vec<&Value> = declared.iter().filter(|value| names.contains(&value.name)).collect();
        let list = |values: &mut dyn Iterator<Item = &Value>| -> String {
            some_of(&values.map(|value| excerpt(&value.name)).collect::<Vec<_>>())
        };
        if kept.is_empty() {
            let known = list(&mut declared.iter());
            let what = format!("there is no such value in it; there are {known}: choose with --value");
            return Err(Error::setting(what));
        }
        if kept.iter().any(|value| value.unit != kept[0].unit) && !options.count {
            let both = list(&mut kept.iter().copied());
            let what =
                format!("{both} are in different units and do not add up; --value all keeps them apart");
            return Err(Error::setting(what));
        }
        Ok(Values::with(options, declared, |_, value| names.contains(&value.name)))
    }

    /// [`Values::new`] for a recording that is in memory, so that it is known which values `hold` anything.
    /// If the producer's default is zero throughout, another is kept, and named.
    ///
    /// # Errors
    /// Those of [`Values::new`].
    pub fn holding(
        reading: &Reading<'_>,
        declared: Vec<Value>,
        mut default: usize,
        holds: impl Fn(usize) -> bool,
        report: &mut Report,
    ) -> Result<Values> {
        let is_default = reading.values == ValueSelection::Default && !reading.is_one_of_several;
        if is_default && default < declared.len() && !holds(default) {
            let holding = declared.iter().enumerate().filter(|(at, _)| holds(*at)).map(|(_, value)| value);
            if let Some(other) = first_holding(&declared[default], holding) {
                report.doubt(chosen_instead(&declared[default], true, other));
                default = declared.iter().position(|value| value == other).unwrap_or(default);
            }
        }
        Values::new(reading, declared, default)
    }

    fn with(options: &CollapseOptions, values: Vec<Value>, kept: impl Fn(usize, &Value) -> bool) -> Values {
        let columns = values.into_iter().enumerate().map(|(at, value)| {
            let total = ValueTotal { kept: kept(at, &value), ..ValueTotal::default() };
            Column { value, total, root: None }
        });
        Values {
            columns: columns.collect(),
            all: options.values == ValueSelection::All,
            rooted: options.always_rooted,
            count: options.count,
            scratch: Vec::new(),
        }
    }

    /// Adds a sample, root first, with its weight in each value, in the order they were declared.
    /// A weight that is missing or zero is no sample of that value.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn sample(&mut self, stack: &[FrameId], weights: &[Weight], sink: &mut dyn Sink) -> Result<()> {
        self.sample_at(stack, weights, &Context::UNKNOWN, sink)
    }

    /// [`Values::sample`], and when and where it was taken.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn sample_at(
        &mut self,
        stack: &[FrameId],
        weights: &[Weight],
        context: &Context<'_>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        for (at, &weight) in weights.iter().enumerate().take(self.columns.len()) {
            self.add_at(at, stack, weight, 1, context, sink)?;
        }
        Ok(())
    }

    /// Adds a sample of one of the values.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add(&mut self, at: usize, stack: &[FrameId], weight: Weight, sink: &mut dyn Sink) -> Result<()> {
        self.add_many(at, stack, weight, 1, sink)
    }

    /// Adds `samples` samples of one of the values, whose weights add up to `weight`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add_many(
        &mut self,
        at: usize,
        stack: &[FrameId],
        weight: Weight,
        samples: u64,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        self.add_at(at, stack, weight, samples, &Context::UNKNOWN, sink)
    }

    /// [`Values::add_many`], and when and where they were taken.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add_at(
        &mut self,
        at: usize,
        stack: &[FrameId],
        weight: Weight,
        samples: u64,
        context: &Context<'_>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        self.add_lasting(at, stack, weight, samples, (context, 0), sink)
    }

    /// [`Values::add_at`], of what lasted for some nanoseconds from the time of its context on.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add_lasting(
        &mut self,
        at: usize,
        stack: &[FrameId],
        weight: Weight,
        samples: u64,
        (context, duration): (&Context<'_>, u64),
        sink: &mut dyn Sink,
    ) -> Result<()> {
        // A root frame that is always the same tells nothing.
        let several = self.columns.len() > 1 || self.rooted;
        let column = &mut self.columns[at];
        if weight.is_zero() {
            return Ok(());
        }
        let weight = if self.count { Weight::from(samples) } else { weight };
        column.total.samples = column.total.samples.saturating_add(samples);
        column.total.weight = column.total.weight.checked_add(weight)?;
        if !column.total.kept {
            return Ok(());
        }
        if !(self.all && several) {
            return push(stack, weight, context, duration, sink);
        }
        let root = *column.root.get_or_insert_with(|| {
            let mut name = Vec::new();
            sanitize_frame(column.value.root(), &mut name);
            sink.frame(&name)
        });
        self.scratch.clear();
        self.scratch.push(root);
        self.scratch.extend_from_slice(stack);
        push(&self.scratch, weight, context, duration, sink)
    }

    /// The one value that is kept, if it is one.
    pub fn kept(&self) -> Option<&Value> {
        let mut kept = self.columns.iter().filter(|column| column.total.kept);
        kept.next().filter(|_| kept.next().is_none()).map(|column| &column.value)
    }

    /// Returns true if samples are counted, whatever they weigh.
    pub fn counts(&self) -> bool {
        self.count
    }

    /// Returns whether any sample weight of this column can reach the result.
    pub fn is_kept(&self, at: usize) -> bool {
        self.columns[at].total.kept
    }

    /// Adds the totals to a report.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn finish(self, report: &mut Report) -> Result<()> {
        self.columns.into_iter().try_for_each(|column| report.add_value(column.value, column.total))
    }
}

/// Hands a sample to the sink, with its duration if it has one.
#[inline]
fn push(
    stack: &[FrameId],
    weight: Weight,
    context: &Context<'_>,
    duration: u64,
    sink: &mut dyn Sink,
) -> Result<()> {
    match duration {
        0 => sink.sample(stack, Weights::one(weight), context),
        _ => sink.lasting_sample(stack, Weights::one(weight), context, duration),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::StackTable;

    fn declared() -> Vec<Value> {
        vec![Value::new("objects", "count"), Value::new("space", "bytes"), Value::new("live", "bytes")]
    }

    fn collapsed(options: &CollapseOptions) -> Result<(String, Report)> {
        let mut table = StackTable::default();
        let mut report = Report::default();
        let mut values = Values::new(options, declared(), 1)?;
        let stack = [table.frame(b"main"), table.frame(b"f")];
        values.sample(&stack, &[2, 64, 0].map(Weight::new), &mut table)?;
        values.sample(&stack[..1], &[1, 32, 32].map(Weight::new), &mut table)?;
        values.finish(&mut report)?;
        let mut out = Vec::new();
        table.write(&mut out)?;
        Ok((String::from_utf8(out).unwrap(), report))
    }

    fn choose(names: &[&str]) -> CollapseOptions {
        let names = names.iter().map(|name| name.as_bytes().to_vec()).collect();
        CollapseOptions { values: ValueSelection::Named(names), ..CollapseOptions::default() }
    }

    #[test]
    fn one_value_is_kept_and_all_are_known() {
        let (out, report) = collapsed(&CollapseOptions::default()).unwrap();
        assert_eq!(out, "main 32\nmain;f 64\n");
        assert_eq!(report.unit(), Some("bytes"));
        let totals: Vec<_> =
            report.values.iter().map(|(v, t)| (v.name.as_slice(), t.samples, t.kept)).collect();
        assert_eq!(totals, [(&b"live"[..], 1, false), (b"objects", 2, false), (b"space", 2, true)]);
    }

    #[test]
    fn values_are_chosen_by_name() {
        assert_eq!(collapsed(&choose(&["objects"])).unwrap().0, "main 1\nmain;f 2\n");
        assert_eq!(collapsed(&choose(&["live"])).unwrap().0, "main 32\n");
        assert_eq!(collapsed(&choose(&["live", "space"])).unwrap().0, "main 64\nmain;f 64\n");
        let all = CollapseOptions { values: ValueSelection::All, ..CollapseOptions::default() };
        let (out, report) = collapsed(&all).unwrap();
        assert_eq!(out, "live;main 32\nobjects;main 1\nobjects;main;f 2\nspace;main 32\nspace;main;f 64\n");
        assert_eq!(report.unit(), None);
        let count = CollapseOptions { count: true, ..CollapseOptions::default() };
        let (out, report) = collapsed(&count).unwrap();
        assert_eq!((out.as_str(), report.unit()), ("main 1\nmain;f 1\n", Some("bytes")));
    }

    #[test]
    fn what_does_not_exist_or_add_up_is_refused() {
        let error = collapsed(&choose(&["spice"])).unwrap_err().to_string();
        assert!(error.contains("there are \"objects\", \"space\", \"live\""), "{error}");
        let error = collapsed(&choose(&["live", "objects"])).unwrap_err().to_string();
        assert!(error.contains("do not add up"), "{error}");
    }
}

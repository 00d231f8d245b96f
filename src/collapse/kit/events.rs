//! perf's events: selection by name, and their units.

use std::borrow::Cow;

use crate::collapse::kit::values::{is_named, without_modifiers};
use crate::collapse::{CollapseOptions, Value, ValueSelection};
use crate::error::{Error, Result, excerpt, some_of};
use crate::weight::Weight;

impl ValueSelection {
    /// Decides whether an event of this name is kept. `first` is the recording's first event; if
    /// that is not known yet, it becomes this one.
    pub(crate) fn keeps_event(&self, name: &[u8], first: &mut Option<Vec<u8>>) -> bool {
        match self {
            // Lines that name no event are all of one.
            ValueSelection::Default if name.is_empty() => true,
            ValueSelection::Default => is_same_event(first.get_or_insert_with(|| name.to_vec()), name),
            ValueSelection::Named(wanted) => wanted.iter().any(|wanted| is_named(name, wanted)),
            ValueSelection::All => true,
        }
    }
}

/// The weight that all samples have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CommonWeight {
    /// There was no sample.
    #[default]
    Unknown,
    /// All samples weigh this much.
    Same(Weight),
    /// Samples weigh different amounts.
    Different,
}

impl CommonWeight {
    /// Takes the weight of a sample.
    #[inline]
    pub fn add(&mut self, weight: Weight) {
        match self {
            CommonWeight::Same(common) if *common == weight => {}
            CommonWeight::Unknown => *self = CommonWeight::Same(weight),
            _ => *self = CommonWeight::Different,
        }
    }

    /// Takes the samples that another thread has seen.
    pub fn merge(&mut self, other: CommonWeight) {
        match other {
            CommonWeight::Unknown => {}
            CommonWeight::Same(weight) => self.add(weight),
            CommonWeight::Different => *self = CommonWeight::Different,
        }
    }

    /// The weight of one sample, if all weigh the same.
    pub fn get(self) -> Option<Weight> {
        match self {
            CommonWeight::Same(weight) => Some(weight),
            CommonWeight::Unknown | CommonWeight::Different => None,
        }
    }
}

/// Refuses to add up chosen events of different units.
///
/// # Errors
/// [`crate::ErrorKind::Setting`] if `--value` names several that are kept and are counted differently.
pub(crate) fn check_units<'a>(
    kept: impl Iterator<Item = &'a Value>,
    options: &CollapseOptions,
) -> Result<()> {
    if options.count || !matches!(options.values, ValueSelection::Named(_)) {
        return Ok(());
    }
    let kept: Vec<&Value> = kept.collect();
    if kept.iter().all(|value| value.unit == kept[0].unit) {
        return Ok(());
    }
    let names: Vec<String> = kept.iter().map(|value| excerpt(&value.name)).collect();
    let what =
        format!("{} are in different units and do not add up; --value all keeps them apart", some_of(&names));
    Err(Error::setting(what))
}

/// The unit of an event: nanoseconds for clocks and for perf's `offcpu-time`, else the event's own
/// name; `events` of one whose name is not known. Samples that come without a period are counted as samples.
pub(crate) fn event_unit(event: &[u8], weighed: bool) -> Cow<'static, str> {
    let base = base_name(event);
    if !weighed {
        "samples".into()
    } else if event.is_empty() {
        "events".into()
    } else if [&b"cpu-clock"[..], b"task-clock", b"offcpu-time"].contains(&base) {
        "ns".into()
    } else {
        String::from_utf8_lossy(base).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    }
}

/// The event itself in a name with modifiers or terms: `cycles` of `cycles:u`, `cpu_core/cycles/u`
/// and `cycles/freq=499/`. A raw code, `cpu/event=0x3c/`, has no shorter name.
fn base_name(name: &[u8]) -> &[u8] {
    /// Terms that say how an event is sampled, and not which event it is.
    const SETTINGS: [&[u8]; 13] = [
        b"freq",
        b"period",
        b"time",
        b"call-graph",
        b"stack-size",
        b"max-stack",
        b"max-events",
        b"branch_type",
        b"inherit",
        b"no-inherit",
        b"overwrite",
        b"no-overwrite",
        b"percore",
    ];
    let name = without_modifiers(name);
    let Some(slash) = memchr::memchr(b'/', name) else { return name };
    let (before, terms) = (&name[..slash], &name[slash + 1..]);
    let terms = &terms[..memchr::memchr(b'/', terms).unwrap_or(terms.len())];
    let mut all_settings = true;
    for term in terms.split(|&b| b == b',').filter(|term| !term.is_empty()) {
        let key = term.split(|&b| b == b'=').next().unwrap_or(term);
        if SETTINGS.contains(&key) {
            continue;
        }
        if key.len() == term.len() {
            return term;
        }
        all_settings = false;
    }
    if all_settings && !before.is_empty() { before } else { name }
}

/// Recognises two names of one event: the same name, or the same event on the two kinds of cores
/// of a hybrid processor, `cpu_core/cycles/u` and `cpu_atom/cycles/u`.
fn is_same_event(first: &[u8], name: &[u8]) -> bool {
    fn on_any_core(name: &[u8]) -> Option<&[u8]> {
        name.strip_prefix(b"cpu_core/").or_else(|| name.strip_prefix(b"cpu_atom/"))
    }
    first == name || on_any_core(first).is_some_and(|event| on_any_core(name) == Some(event))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_do_not_depend_on_modifiers_and_terms() {
        for (event, unit) in [
            ("cpu-clock", "ns"),
            ("cpu-clock:u", "ns"),
            ("cpu-clock/freq=499/", "ns"),
            ("task-clock/period=1000,call-graph=no/u", "ns"),
            ("cycles/freq=99/", "cycles"),
            ("cpu_core/cycles/u", "cycles"),
            ("cpu_atom/cycles/u", "cycles"),
            ("cpu/mem-loads,ldlat=30/P", "mem-loads"),
            ("cpu/event=0x3c,umask=0/", "cpu/event=0x3c,umask=0/"),
            ("raw 0x1c2", "raw 0x1c2"),
            ("/", "/"),
        ] {
            assert_eq!(event_unit(event.as_bytes(), true), unit, "{event}");
        }
        assert_eq!(event_unit(b"sched:sched_switch", false), "samples");
    }
}

//! perf's events: which of them are wanted, by their names, and what they are counted in.

use std::borrow::Cow;

use super::ValueSelection;

impl ValueSelection {
    /// Whether an event of this name is kept. `first` is the event that comes first; it becomes
    /// this one if none has come.
    pub(super) fn keeps_event(&self, name: &[u8], first: &mut Option<Vec<u8>>) -> bool {
        match self {
            ValueSelection::Default => is_same_event(first.get_or_insert_with(|| name.to_vec()), name),
            ValueSelection::Named(wanted) => wanted.iter().any(|wanted| is_named(name, wanted)),
            ValueSelection::All => true,
        }
    }
}

/// What an event is counted in: clocks tick in nanoseconds, as does what `perf record --off-cpu`
/// makes up, cycles are cycles.
pub(super) fn event_unit(event: &[u8], weighed: bool) -> Cow<'static, str> {
    let base = without_modifiers(event);
    if !weighed || event.is_empty() {
        "samples".into()
    } else if [&b"cpu-clock"[..], b"task-clock", b"offcpu-time"].contains(&base) {
        "ns".into()
    } else {
        String::from_utf8_lossy(base).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    }
}

/// Whether two events are one to the user: the same, or the same on the two kinds of cores of a
/// hybrid processor, `cpu_core/cycles/u` and `cpu_atom/cycles/u`.
fn is_same_event(first: &[u8], name: &[u8]) -> bool {
    fn on_any_core(name: &[u8]) -> Option<&[u8]> {
        name.strip_prefix(b"cpu_core/").or_else(|| name.strip_prefix(b"cpu_atom/"))
    }
    first == name || on_any_core(first).is_some_and(|event| on_any_core(name) == Some(event))
}

/// Whether the user's name for an event is this one, with or without its modifiers.
fn is_named(name: &[u8], wanted: &[u8]) -> bool {
    name == wanted || without_modifiers(name) == wanted
}

/// `cycles:u` without what follows the colon.
fn without_modifiers(name: &[u8]) -> &[u8] {
    const MODIFIERS: &[u8] = b"ukhGHpPSDIWebR";
    match memchr::memrchr(b':', name) {
        Some(at) if name[at + 1..].iter().all(|b| MODIFIERS.contains(b)) => &name[..at],
        _ => name,
    }
}

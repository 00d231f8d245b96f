//! Which events of a recording are wanted, by their names.

use super::Events;

impl Events {
    /// Whether an event of this name is kept. `first` is the event that comes first; it becomes
    /// this one if none has come.
    pub(super) fn keeps(&self, name: &[u8], first: &mut Option<Vec<u8>>) -> bool {
        match self {
            Events::First => is_same_event(first.get_or_insert_with(|| name.to_vec()), name),
            Events::Named(wanted) => wanted.iter().any(|wanted| is_named(name, wanted)),
            Events::All => true,
        }
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
    const MODIFIERS: &[u8] = b"ukhGHpPSDIWebR";
    let base = match memchr::memrchr(b':', name) {
        Some(at) if name[at + 1..].iter().all(|b| MODIFIERS.contains(b)) => &name[..at],
        _ => name,
    };
    name == wanted || base == wanted
}

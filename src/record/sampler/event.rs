//! The event that makes the samples: `-e cycles`, `-e page-faults:u`, `-e sched:sched_switch`, `-e r1a8`.

use std::fs;
use std::path::{Path, PathBuf};

/// An event by its name and numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The name as the user gave it, with modifiers; perf.data has it too.
    pub name: String,
    /// `attr.type`.
    pub kind: u32,
    /// `attr.config`.
    pub config: u64,
    /// Only in user mode (`:u`) or in the kernel (`:k`).
    pub only: Option<Mode>,
}

/// A mode of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Programs.
    User,
    /// The kernel.
    Kernel,
}

/// `attr.type` of events that the processor counts.
pub const HARDWARE: u32 = 0;
/// `attr.type` of events that the kernel counts.
const SOFTWARE: u32 = 1;
/// `attr.type` of tracepoints.
pub const TRACEPOINT: u32 = 2;
/// `attr.type` of events by this processor's own numbers.
const RAW: u32 = 4;

/// The events with names.
const NAMES: &[(&str, u32, u64)] = &[
    ("cycles", HARDWARE, 0),
    ("instructions", HARDWARE, 1),
    ("cache-references", HARDWARE, 2),
    ("cache-misses", HARDWARE, 3),
    ("branches", HARDWARE, 4),
    ("branch-misses", HARDWARE, 5),
    ("bus-cycles", HARDWARE, 6),
    ("stalled-cycles-frontend", HARDWARE, 7),
    ("stalled-cycles-backend", HARDWARE, 8),
    ("ref-cycles", HARDWARE, 9),
    ("cpu-clock", SOFTWARE, 0),
    ("task-clock", SOFTWARE, 1),
    ("page-faults", SOFTWARE, 2),
    ("context-switches", SOFTWARE, 3),
    ("cpu-migrations", SOFTWARE, 4),
    ("minor-faults", SOFTWARE, 5),
    ("major-faults", SOFTWARE, 6),
    ("alignment-faults", SOFTWARE, 7),
    ("emulation-faults", SOFTWARE, 8),
];

impl Event {
    /// The default event.
    pub fn cycles() -> Event {
        Event::named("cycles").expect("it is in the list")
    }

    /// The event used where the processor does not count cycles, as in most virtual machines.
    pub fn cpu_clock() -> Event {
        Event::named("cpu-clock").expect("it is in the list")
    }

    /// The moment a thread leaves its processor.
    pub fn context_switches() -> Event {
        Event::named("context-switches").expect("it is in the list")
    }

    fn named(name: &str) -> Option<Event> {
        let (name, kind, config) = NAMES.iter().find(|(known, ..)| *known == name)?;
        Some(Event { name: (*name).to_owned(), kind: *kind, config: *config, only: None })
    }

    /// Reads a name.
    ///
    /// # Errors
    /// A message that says what is wrong, and which names there are.
    pub fn parse(text: &str) -> Result<Event, String> {
        Event::parse_below(text, &tracing())
    }

    fn parse_below(text: &str, tracing: &Path) -> Result<Event, String> {
        let (name, modifiers) = match text.rsplit_once(':') {
            Some((name, modifiers))
                if !modifiers.is_empty() && modifiers.bytes().all(|b| b"uk".contains(&b)) =>
            {
                (name, modifiers)
            }
            _ => (text, ""),
        };
        let mut event = match (Event::named(name), raw(name), name.split_once(':')) {
            (Some(event), ..) => event,
            (_, Some(config), _) => Event { name: String::new(), kind: RAW, config, only: None },
            (_, _, Some((group, point))) => {
                let config = tracepoint(tracing, group, point)?;
                Event { name: String::new(), kind: TRACEPOINT, config, only: None }
            }
            _ => {
                let names = NAMES.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
                return Err(format!(
                    "there is no event {name:?}; there are {names}, group:tracepoint and rHEX"
                ));
            }
        };
        event.only = match (modifiers.contains('u'), modifiers.contains('k')) {
            (true, false) => Some(Mode::User),
            (false, true) => Some(Mode::Kernel),
            _ => None,
        };
        event.name = text.to_owned();
        Ok(event)
    }

    /// Returns true if each event is worth a sample, since such events are rare or meant to be counted.
    pub fn is_counted_singly(&self) -> bool {
        self.kind == TRACEPOINT
    }
}

/// `r1a8`, the manual's number of an event.
fn raw(name: &str) -> Option<u64> {
    let digits = name.strip_prefix('r')?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
}

fn tracing() -> PathBuf {
    let new = PathBuf::from("/sys/kernel/tracing");
    if new.join("events").exists() { new } else { PathBuf::from("/sys/kernel/debug/tracing") }
}

fn tracepoint(tracing: &Path, group: &str, point: &str) -> Result<u64, String> {
    let plain = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !plain(group) || !plain(point) {
        return Err(format!("{group}:{point} is no tracepoint's name"));
    }
    let path = tracing.join("events").join(group).join(point).join("id");
    let id = fs::read_to_string(&path).map_err(|e| match e.kind() {
        std::io::ErrorKind::PermissionDenied => {
            format!("tracepoints are kept from ordinary users: use `fg-record --root` for {group}:{point}")
        }
        _ => format!("there is no tracepoint {group}:{point} in {}", tracing.join("events").display()),
    })?;
    id.trim().parse().map_err(|_| format!("{} holds no number", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_modifiers_numbers_and_tracepoints() {
        let folder = tempfile::tempdir().unwrap();
        let point = folder.path().join("events/sched/sched_switch");
        fs::create_dir_all(&point).unwrap();
        fs::write(point.join("id"), "314\n").unwrap();
        let parse = |text: &str| Event::parse_below(text, folder.path());
        let event = |name: &str, kind, config, only| Event { name: name.to_owned(), kind, config, only };
        for (text, expected) in [
            ("cycles", event("cycles", HARDWARE, 0, None)),
            ("cpu-clock:u", event("cpu-clock:u", SOFTWARE, 0, Some(Mode::User))),
            ("instructions:k", event("instructions:k", HARDWARE, 1, Some(Mode::Kernel))),
            ("cycles:uk", event("cycles:uk", HARDWARE, 0, None)),
            ("r1a8", event("r1a8", RAW, 0x1a8, None)),
            ("sched:sched_switch", event("sched:sched_switch", TRACEPOINT, 314, None)),
        ] {
            assert_eq!(parse(text), Ok(expected));
        }
        for (text, message) in [
            ("cycels", "there is no event \"cycels\"; there are cycles, instructions"),
            ("", "there is no event"),
            ("r", "there is no event \"r\""),
            ("sched:sched_swtich", "there is no tracepoint sched:sched_swtich in"),
            ("../..:id", "is no tracepoint's name"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}

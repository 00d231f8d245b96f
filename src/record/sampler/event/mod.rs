//! The events that make samples: `-e cycles:pp`, `-e page-faults:u`, `-e sched:sched_switch`,
//! `-e cpu/event=0x3c/`, `-e uprobe:./app:parse`.

mod names;
mod probe;
mod source;
mod tracepoint;

use std::ffi::CString;
use std::path::PathBuf;

pub use self::names::available;
pub use self::names::{BREAKPOINT, HARDWARE, TRACEPOINT};
use self::names::{CACHE, SOFTWARE};
use crate::allocation_trigger::TRIGGER;
use crate::record::alloc::TRIGGER_SIZE;
use crate::record::request::Rate;

/// An event by its name and numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The name as the user gave it, with modifiers; perf.data has it too.
    pub name: String,
    /// `attr.type`.
    pub kind: u32,
    /// `attr.config`, `attr.config1` and `attr.config2`.
    pub config: [u64; 3],
    /// Only in user mode (`:u`) or in the kernel (`:k`).
    pub only: Option<Mode>,
    /// The precision of the samples' addresses (`:p`, `:pp`, `:ppp`), 0 for none.
    pub precise: u8,
    /// As precise as the machine can (`:P`).
    pub may_be_less_precise: bool,
    /// A condition on a tracepoint's fields.
    pub filter: Option<String>,
    /// The file of a uprobe, or the function of a kprobe: `attr.config1` is its address.
    pub probed: Option<CString>,
    /// Its own rate, instead of the one of all.
    pub rate: Option<Rate>,
    /// The most bytes of the stack that its samples copy, if that is less than those of others.
    pub largest_dump: Option<u32>,
}

/// A mode of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Programs.
    User,
    /// The kernel.
    Kernel,
}

/// The folders of the kernel that describe events.
#[derive(Clone, Debug)]
struct Places {
    /// Tracepoints.
    tracing: PathBuf,
    /// The devices that count.
    sources: PathBuf,
}

impl Places {
    fn of_system() -> Places {
        let new = PathBuf::from("/sys/kernel/tracing");
        Places {
            // It is there as well where only root may look into it.
            tracing: match new.join("events").try_exists() {
                Ok(false) => "/sys/kernel/debug/tracing".into(),
                Ok(true) | Err(_) => new,
            },
            sources: "/sys/bus/event_source/devices".into(),
        }
    }
}

/// Letters behind an event's last colon. Guests and hypervisors (`G`, `H`, `h`) are never recorded.
const MODIFIERS: &[u8] = b"ukpPGHh";

impl Event {
    /// The default event.
    pub fn cycles() -> Event {
        names::find("cycles").expect("it is in the list")
    }

    /// The event used where the processor does not count cycles, as in most virtual machines.
    pub fn cpu_clock() -> Event {
        names::find("cpu-clock").expect("it is in the list")
    }

    /// Returns true for an event that counts nanoseconds of processor time.
    pub fn is_clock(&self) -> bool {
        self.kind == SOFTWARE && names::CLOCKS.contains(&self.config[0])
    }

    /// The moment a thread leaves its processor.
    pub fn context_switches() -> Event {
        names::find("context-switches").expect("it is in the list")
    }

    /// An allocation that the library of `--alloc` has chosen: it writes to this address.
    pub fn allocations() -> Event {
        let config = [0, TRIGGER, TRIGGER_SIZE];
        let name = format!("mem:{:#x}/{}:w:u", TRIGGER, TRIGGER_SIZE);
        Event { name, kind: BREAKPOINT, config, only: Some(Mode::User), ..Event::default() }
    }

    /// Returns true for [`Event::allocations`].
    pub fn is_allocations(&self) -> bool {
        self.kind == BREAKPOINT && self.config[1] == TRIGGER
    }

    /// An event that makes no samples. It stands for the records of processes and mappings, which come
    /// while it is enabled.
    pub fn tracking() -> Event {
        Event { name: "dummy".to_owned(), kind: SOFTWARE, config: [names::DUMMY, 0, 0], ..Event::default() }
    }

    /// Returns true for [`Event::tracking`].
    pub fn is_tracking(&self) -> bool {
        self.kind == SOFTWARE && self.config[0] == names::DUMMY
    }

    /// Reads a name.
    ///
    /// # Errors
    /// A message that says what is wrong, and which names there are.
    pub fn parse(text: &str) -> Result<Event, String> {
        Event::parse_below(text, &Places::of_system())
    }

    /// Reads a name, with a condition that its samples have to fulfil.
    ///
    /// # Errors
    /// Those of [`Event::parse`]; a condition on an event without fields.
    pub fn parse_filtered(text: &str, filter: Option<&str>) -> Result<Event, String> {
        let event = Event::parse(text)?;
        if filter.is_some() && event.kind != TRACEPOINT {
            return Err(format!(
                "--filter is for tracepoints such as sched:sched_switch, and {text} is not one"
            ));
        }
        Ok(Event { filter: filter.map(str::to_owned), ..event })
    }

    fn parse_below(text: &str, places: &Places) -> Result<Event, String> {
        if let Some(event) = probe::parse(text, places) {
            return event;
        }
        let (name, modifiers) = match text.rsplit_once([':', '/']) {
            Some((_, modifiers)) if modifiers.bytes().all(|b| MODIFIERS.contains(&b)) => {
                let end = text.len() - modifiers.len();
                // A colon belongs to the modifiers, a slash to the name.
                (text[..end].strip_suffix(':').unwrap_or(&text[..end]), modifiers)
            }
            _ => (text, ""),
        };
        let mut event = match (names::find(name), name.split_once('/'), name.split_once(':')) {
            (Some(event), ..) => event,
            (_, Some((device, terms)), _) => source::event(&places.sources, device, terms)?,
            (_, _, Some((group, point))) => {
                let config = [tracepoint::id(&places.tracing, group, point)?, 0, 0];
                Event { kind: TRACEPOINT, config, ..Event::default() }
            }
            _ => source::named(&places.sources, name).ok_or_else(|| unknown(name))?,
        };
        event.only = match (modifiers.contains('u'), modifiers.contains('k')) {
            (true, false) => Some(Mode::User),
            (false, true) => Some(Mode::Kernel),
            _ => None,
        };
        event.may_be_less_precise = modifiers.contains('P');
        event.precise = match modifiers.bytes().filter(|&b| b == b'p').count() {
            _ if event.may_be_less_precise => MOST_PRECISE,
            count => match u8::try_from(count) {
                Ok(count @ 0..=MOST_PRECISE) => count,
                _ => return Err(format!("{text:?}: ppp is as precise as it gets")),
            },
        };
        event.name = text.to_owned();
        Ok(event)
    }

    /// Returns true if each event is worth a sample, since such events are rare or meant to be counted.
    pub fn is_counted_singly(&self) -> bool {
        matches!(self.kind, TRACEPOINT | BREAKPOINT) || self.probed.is_some() || self.is_tracking()
    }

    /// Returns true if the processor counts it.
    pub fn is_of_processor(&self) -> bool {
        self.kind == HARDWARE || self.kind == CACHE
    }

    /// The fields that a filter can name, for a message.
    pub fn fields(&self) -> Vec<String> {
        tracepoint::fields(&Places::of_system().tracing, &self.name)
    }
}

/// `attr.precise_ip` has two bits.
const MOST_PRECISE: u8 = 3;

fn unknown(name: &str) -> String {
    let all = available();
    let has = if all.is_empty() { names::all() } else { all };
    format!(
        "there is no event {name:?}; there are {}, group:tracepoint, uprobe:FILE:FUNCTION, kprobe:FUNCTION, \
         device/term=value/ and rHEX",
        has.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn places() -> (tempfile::TempDir, Places) {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("events/sched/sched_switch/id", "314\n");
        write("devices/cpu/type", "4\n");
        write("devices/cpu/format/event", "config:0-7\n");
        write("devices/cpu/format/umask", "config:8-15\n");
        write("devices/cpu/format/edge", "config:18\n");
        write("devices/cpu/format/ldlat", "config1:0-15\n");
        write("devices/cpu/format/odd", "config:0-3,32-35\n");
        write("devices/cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
        write("devices/uprobe/type", "9\n");
        write("devices/uprobe/format/retprobe", "config:0\n");
        write("devices/kprobe/type", "8\n");
        let places = Places { tracing: folder.path().to_owned(), sources: folder.path().join("devices") };
        (folder, places)
    }

    #[test]
    fn names_modifiers_numbers_and_tracepoints() {
        let (_folder, places) = places();
        let event = |name: &str, kind, config, only| {
            let (name, config) = (name.to_owned(), [config, 0, 0]);
            Event { name, kind, config, only, ..Event::default() }
        };
        let of_cache = |name: &str, config| event(name, 3, config, None);
        for (text, expected) in [
            ("cycles", event("cycles", HARDWARE, 0, None)),
            ("cpu-clock:u", event("cpu-clock:u", SOFTWARE, 0, Some(Mode::User))),
            ("instructions:k", event("instructions:k", HARDWARE, 1, Some(Mode::Kernel))),
            ("cycles:uk", event("cycles:uk", HARDWARE, 0, None)),
            ("faults", event("faults", SOFTWARE, 2, None)),
            ("r1a8", event("r1a8", 4, 0x1a8, None)),
            ("r1a8:u", event("r1a8:u", 4, 0x1a8, Some(Mode::User))),
            ("sched:sched_switch", event("sched:sched_switch", TRACEPOINT, 314, None)),
            ("L1-dcache-load-misses", of_cache("L1-dcache-load-misses", 0x1_0000)),
            ("dTLB-stores", of_cache("dTLB-stores", 0x103)),
            (
                "cpu/event=0x3c,umask=0x1,edge/u",
                event("cpu/event=0x3c,umask=0x1,edge/u", 4, 0x4_013c, Some(Mode::User)),
            ),
            ("cpu/odd=0xff/", event("cpu/odd=0xff/", 4, 0xf_0000_000f, None)),
            ("cpu/config=0x7/", event("cpu/config=0x7/", 4, 7, None)),
        ] {
            assert_eq!(Event::parse_below(text, &places), Ok(expected));
        }
        for text in ["mem-loads", "cpu/mem-loads/", "cpu/mem-loads,ldlat=3/"] {
            let event = Event::parse_below(text, &places).unwrap();
            assert_eq!((event.kind, event.config), (4, [0x1cd, 3, 0]), "{text}");
        }
        let precise = |text: &str| {
            let event = Event::parse_below(text, &places).unwrap();
            (event.precise, event.may_be_less_precise, event.only)
        };
        assert_eq!(precise("cycles:pp"), (2, false, None));
        assert_eq!(precise("cycles:upp"), (2, false, Some(Mode::User)));
        assert_eq!(precise("cycles:P"), (3, true, None));
    }

    #[test]
    fn wrong_events_are_refused_with_what_there_is() {
        let (_folder, places) = places();
        for (text, message) in [
            ("cycels", "there is no event \"cycels\"; there are "),
            ("", "there is no event"),
            ("r", "there is no event \"r\""),
            ("cycles:pppp", "ppp is as precise as it gets"),
            ("sched:sched_swtich", "there is no tracepoint sched:sched_swtich in"),
            ("sched:sched_swtich", "there is sched_switch"),
            ("shced:sched_switch", "there are the groups sched"),
            ("a b:id", "is no tracepoint's name"),
            ("../..:id", "there is no device"),
            ("gpu/x/", "there is no device \"gpu\"; there are cpu, kprobe, uprobe"),
            ("cpu/evnt=1/", "cpu has no term \"evnt\"; it has edge, event, ldlat, odd, umask"),
            ("cpu/event=0x100/", "event=0x100 does not fit its 8 bits"),
            ("cpu/event=x/", "\"x\" is no number"),
            ("cpu/event/", "event needs a value"),
            ("uprobe:./app", "uprobe:FILE:FUNCTION"),
            ("uprobe:/nowhere/app:parse", "/nowhere/app"),
            ("kprobe:", "kprobe:FUNCTION"),
        ] {
            let error = Event::parse_below(text, &places).unwrap_err();
            assert!(error.contains(message) && !error.contains('\n'), "{text}: {error}");
        }
        assert!(Event::parse_filtered("cpu-clock", Some("a == 1")).is_err());
    }

    #[test]
    fn a_probe_names_a_file_and_a_place_in_it() {
        let (_folder, places) = places();
        let itself = std::env::current_exe().unwrap();
        let itself = itself.to_str().unwrap();
        // It may be stripped: then it has addresses, and no names.
        let object = crate::symbolize::Object::parse(fs::read(itself).unwrap()).unwrap();
        let code = object.segments().find(|segment| segment.executable).unwrap();
        let probe =
            |what: &str| Event::parse_below(&format!("{what}:{itself}:{:#x}", code.svma.start + 16), &places);
        let entry = probe("uprobe").unwrap();
        assert_eq!((entry.kind, entry.config), (9, [0, 0, code.file.start + 16]));
        let beyond = Event::parse_below(&format!("uprobe:{itself}:0xfffffffffffff000"), &places).unwrap_err();
        assert!(beyond.contains("there is no code at 0xfffffffffffff000"), "{beyond}");
        assert_eq!(entry.probed.as_deref().unwrap().to_str().unwrap(), itself);
        let end = probe("uretprobe").unwrap();
        assert_eq!(end.config, [1, 0, entry.config[2]]);
        assert!(entry.is_counted_singly());
        let missing = Event::parse_below(&format!("uprobe:{itself}:mian"), &places).unwrap_err();
        assert!(missing.contains("no function mian in"), "{missing}");
        let kernel = Event::parse_below("kprobe:do_sys_openat2", &places).unwrap();
        assert_eq!((kernel.kind, kernel.config), (8, [0; 3]));
    }
}

//! The events that have names everywhere: the processor's, the kernel's and those of caches.

use super::Event;
use crate::record::sys::perf_event::{self, ATTR_SIZE, Attr, Who, flag};

/// `attr.type` of events that the processor counts.
pub const HARDWARE: u32 = 0;
/// `attr.type` of events that the kernel counts.
pub const SOFTWARE: u32 = 1;
/// `attr.type` of tracepoints.
pub const TRACEPOINT: u32 = 2;
/// `attr.type` of events of caches.
pub const CACHE: u32 = 3;
/// `attr.type` of events by this processor's own numbers.
pub const RAW: u32 = 4;
/// `attr.type` of breakpoints.
pub const BREAKPOINT: u32 = 5;

/// The software event that never happens.
pub const DUMMY: u64 = 9;
/// `attr.config` of the software events cpu-clock and task-clock.
pub const CLOCKS: [u64; 2] = [0, 1];

/// The events with names, as perf has them; of two names of one event the usual one comes first.
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
    ("cpu-cycles", HARDWARE, 0),
    ("branch-instructions", HARDWARE, 4),
    ("faults", SOFTWARE, 2),
    ("cs", SOFTWARE, 3),
    ("migrations", SOFTWARE, 4),
];

/// The caches, in the order of their numbers.
const CACHES: [&str; 7] = ["L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"];
/// Uses of a cache in the order of their numbers: all of them, and those that missed.
const USES: [[&str; 2]; 3] =
    [["loads", "load-misses"], ["stores", "store-misses"], ["prefetches", "prefetch-misses"]];

/// The event of a name that is the same on all machines, or `r1a8`.
pub fn find(name: &str) -> Option<Event> {
    let (kind, config) = match NAMES.iter().find(|(known, ..)| *known == name) {
        Some((_, kind, config)) => (*kind, *config),
        None => of_cache(name).map(|config| (CACHE, config)).or_else(|| Some((RAW, raw(name)?)))?,
    };
    Some(Event { name: name.to_owned(), kind, config: [config, 0, 0], ..Event::default() })
}

/// `LLC-load-misses`: the number of the cache, of its use, and of the result.
fn of_cache(name: &str) -> Option<u64> {
    let (cache, rest) =
        CACHES.iter().enumerate().find_map(|(n, cache)| Some((n, name.strip_prefix(cache)?)))?;
    let rest = rest.strip_prefix('-')?;
    let place = |names: &[&str; 2]| names.iter().position(|name| *name == rest);
    let (usage, result) = USES.iter().enumerate().find_map(|(n, names)| Some((n, place(names)?)))?;
    Some((cache | usage << 8 | result << 16) as u64)
}

/// `r1a8`, the manual's number of an event.
fn raw(name: &str) -> Option<u64> {
    let digits = name.strip_prefix('r')?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
}

/// All names of which machines have most.
pub fn all() -> Vec<String> {
    usual().map(|(name, ..)| (*name).to_owned()).collect()
}

/// The names without their synonyms.
fn usual() -> impl Iterator<Item = &'static (&'static str, u32, u64)> {
    let is_first = |(at, name): &(usize, &'static (&str, u32, u64))| {
        !NAMES[..*at].iter().any(|known| (known.1, known.2) == (name.1, name.2))
    };
    NAMES.iter().enumerate().filter(is_first).map(|(_, name)| name)
}

/// The names of the events that this machine counts for us; empty if nothing may be counted.
pub fn available() -> Vec<String> {
    let caches = CACHES.iter().enumerate().flat_map(|(cache, name)| {
        USES.iter().enumerate().flat_map(move |(usage, names)| {
            names.iter().enumerate().map(move |(result, suffix)| {
                (format!("{name}-{suffix}"), CACHE, (cache | usage << 8 | result << 16) as u64)
            })
        })
    });
    let named = usual().map(|(name, kind, config)| ((*name).to_owned(), *kind, *config));
    // A processor that does not count its cycles counts nothing of its caches.
    let caches = caches.filter(|_| is_counted(HARDWARE, 0));
    let counted = named.chain(caches).filter(|(_, kind, config)| is_counted(*kind, *config));
    counted.map(|(name, ..)| name).collect()
}

fn is_counted(kind: u32, config: u64) -> bool {
    let flags = flag::DISABLED | flag::EXCLUDE_KERNEL | flag::EXCLUDE_HV;
    let attr = Attr { kind, size: ATTR_SIZE, config, flags, ..Attr::default() };
    perf_event::Event::open(&attr, Who::Thread(0), None).is_ok()
}

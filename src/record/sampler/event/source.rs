//! Events of devices that count, by the names of their terms: `cpu/event=0x3c,umask=0x1/`.
//!
//! ```text
//! /sys/bus/event_source/devices/cpu/type            4
//!                               …/format/umask      config:8-15
//!                               …/events/mem-loads  event=0xcd,umask=0x1,ldlat=3
//! ```
//! The format is described in Linux's `Documentation/ABI/testing/sysfs-bus-event_source-devices-format`.

use std::fs;
use std::path::Path;

use super::Event;

/// The event of a device by its terms; they may end in the slash that closes them.
///
/// # Errors
/// A message that says which devices or terms there are.
pub fn event(sources: &Path, device: &str, terms: &str) -> Result<Event, String> {
    let folder = sources.join(device);
    let kind = kind(sources, device).ok_or_else(|| {
        let has = names_in(sources).join(", ");
        format!("there is no device {device:?}; there are {has}")
    })?;
    let mut config = [0; 3];
    apply(&folder, device, terms.strip_suffix('/').unwrap_or(terms), &mut config, false)?;
    Ok(Event { kind, config, ..Event::default() })
}

/// The event that some device gives a name of its own.
pub fn named(sources: &Path, name: &str) -> Option<Event> {
    if !is_plain(name) {
        return None;
    }
    let device =
        names_in(sources).into_iter().find(|it| sources.join(it).join("events").join(name).exists())?;
    event(sources, &device, name).ok()
}

/// `attr.type` of a device.
pub fn kind(sources: &Path, device: &str) -> Option<u32> {
    let path = sources.join(Some(device).filter(|it| is_plain(it))?).join("type");
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Names that lead to no other folder.
fn is_plain(name: &str) -> bool {
    let is_usual = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
    !name.is_empty() && !name.starts_with('.') && name.bytes().all(is_usual)
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

/// Sets the bits of terms; `is_event` for those that a name stands for.
fn apply(
    folder: &Path,
    device: &str,
    terms: &str,
    config: &mut [u64; 3],
    is_event: bool,
) -> Result<(), String> {
    for term in terms.split(',').filter(|term| !term.is_empty()) {
        let (name, value) = match term.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (term, None),
        };
        if let Some(at) = ["config", "config1", "config2"].iter().position(|known| *known == name) {
            config[at] = field_value(value.ok_or_else(|| format!("{name} needs a value"))?)?;
            continue;
        }
        let read = |kind: &str| fs::read_to_string(folder.join(kind).join(name)).ok();
        let (format, event) = match is_plain(name) {
            true => (read("format"), read("events").filter(|_| value.is_none() && !is_event)),
            false => (None, None),
        };
        match (event, format) {
            (Some(terms), _) => apply(folder, device, terms.trim(), config, true)?,
            (None, Some(format)) => set(name, format.trim(), value, config)?,
            (None, None) => {
                let mut has = names_in(&folder.join("format"));
                let events = names_in(&folder.join("events"));
                // Beside an event are its unit and its scale.
                has.extend(events.into_iter().filter(|event| !event.contains('.')));
                has.retain(|known| is_plain(known));
                return Err(format!("{device} has no term {name:?}; it has {}", has.join(", ")));
            }
        }
    }
    Ok(())
}

/// Sets the bits of one term by its format, `config1:0-7,32-35`.
fn set(name: &str, format: &str, value: Option<&str>, config: &mut [u64; 3]) -> Result<(), String> {
    let wrong = || format!("{name}: its format {format:?} is not understood");
    let (field, ranges) = format.split_once(':').ok_or_else(wrong)?;
    let fields = ["config", "config1", "config2"];
    let at = fields.iter().position(|known| *known == field).ok_or_else(wrong)?;
    let mut bits = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<u32>(), last.parse::<u32>());
        match (first, last) {
            (Ok(first), Ok(last @ 0..=63)) if first <= last => bits.extend(first..=last),
            _ => return Err(wrong()),
        }
    }
    let value = match value {
        Some(text) => field_value(text)?,
        None if bits.len() == 1 => 1,
        None => return Err(format!("{name} needs a value: {name}=0x1")),
    };
    if bits.len() < 64 && value >> bits.len() != 0 {
        return Err(format!("{name}={value:#x} does not fit its {} bits", bits.len()));
    }
    for (from, to) in bits.into_iter().enumerate() {
        config[at] = config[at] & !(1 << to) | (value >> from & 1) << to;
    }
    Ok(())
}

fn field_value(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("{text:?} is no number"))
}

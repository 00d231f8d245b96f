//! The header that `perf script --header` prints before the samples.
//!
//! ```text
//! # ========
//! # captured on    : Fri Nov 20 23:47:55 2026
//! # hostname : devbox
//! # os release : 6.18.44
//! # perf version : 6.1.192
//! # arch : x86_64
//! # cmdline : /usr/bin/perf record -F 799 -g -- ./app 3
//! # event : name = cpu-clock, , id = { 8440, 8441 }, … { sample_period, sample_freq } = 799, … freq = 1, …
//! # reference time: 2026-11-20 23:47:55.123456 = 1795218475.123456 (TOD) = 825.100000000 (MONOTONIC)
//! # ========
//! ```
//! `captured on` is when the file was last written, without a time zone: it is kept as a comment and
//! is not the start. Only a reference time says what the recording's clock showed at a known moment.

use std::time::{Duration, SystemTime};

use crate::collapse::kit::perf_command::recorded_command;
use crate::collapse::kit::text::split_digits;
use crate::input::lines;
use crate::number;
use crate::profile::{Facts, fact};

/// The line before and behind the header.
pub(super) const MARK: &[u8] = b"# ========";

/// The header of a recording.
#[derive(Default)]
pub(super) struct TextHeader {
    /// Host, system, command and producer.
    pub facts: Facts,
    /// The events in the recording's order, each with its frequency, if it has one.
    pub events: Vec<(Vec<u8>, Option<u64>)>,
    /// The time since 1970 and the time on the recording's clock of one moment, in nanoseconds.
    reference: Option<(u64, u64)>,
}

impl TextHeader {
    /// Reads the header at the beginning of a text; nothing is known without one.
    pub(super) fn read(head: &[u8]) -> TextHeader {
        let mut header = TextHeader::default();
        let lines = lines(head).map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        // People who copy a text leave blank lines before it.
        let mut lines = lines.skip_while(|line| line.trim_ascii().is_empty());
        if !lines.next().is_some_and(|line| line.starts_with(MARK)) {
            return header;
        }
        let (mut release, mut arch) = (None, None);
        // The command can be of several lines.
        for line in lines.take_while(|line| !line.starts_with(MARK)).filter(|line| line.starts_with(b"#")) {
            let text = line[1..].trim_ascii();
            let Some(colon) = memchr::memchr(b':', text) else { continue };
            let (key, value) = (text[..colon].trim_ascii_end(), text[colon + 1..].trim_ascii());
            match key {
                b"captured on" => header.facts.comment([b"captured on ", value].concat()),
                b"hostname" => header.facts.host = fact(value),
                b"os release" => release = Some(value),
                b"arch" => arch = Some(value),
                b"perf version" => header.facts.producer = fact(&[b"perf ", value].concat()),
                b"cmdline" => {
                    let words: Vec<&[u8]> =
                        value.split(|&b| b == b' ').filter(|word| !word.is_empty()).collect();
                    header.facts.command = recorded_command(&words).and_then(|line| fact(&line));
                }
                b"event" => header.events.extend(event(value)),
                b"reference time" => header.reference = reference(value),
                _ => {}
            }
        }
        let system: Vec<&[u8]> = release.into_iter().chain(arch).collect();
        if !system.is_empty() {
            header.facts.system = fact(&[b"Linux ", &system.join(&b' ')[..]].concat());
        }
        header
    }

    /// The events that are measured: `dummy` only carries other records.
    pub(super) fn measured_events(&self) -> impl Iterator<Item = &[u8]> {
        let is_dummy = |name: &[u8]| name == b"dummy" || name.starts_with(b"dummy:");
        self.events.iter().map(|(name, _)| name.as_slice()).filter(move |name| !is_dummy(name))
    }

    /// The date of a time on the recording's clock.
    pub(super) fn date(&self, time: u64) -> Option<SystemTime> {
        let (wall, clock) = self.reference?;
        let nanos = i128::from(wall) + i128::from(time) - i128::from(clock);
        let nanos = u64::try_from(nanos).ok()?;
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(nanos))
    }
}

/// `name = cpu-clock, , id = { 1 }, … { sample_period, sample_freq } = 799, … freq = 1, …`
fn event(text: &[u8]) -> Option<(Vec<u8>, Option<u64>)> {
    const RATE: &[u8] = b"{ sample_period, sample_freq } = ";
    let text = text.strip_prefix(b"name = ")?;
    let end = memchr::memmem::find(text, b", , ").or_else(|| memchr::memmem::find(text, b", "))?;
    let (name, rest) = (&text[..end], &text[end..]);
    let is_frequency = memchr::memmem::find(rest, b", freq = 1").is_some();
    let rate = memchr::memmem::find(rest, RATE).filter(|_| is_frequency).and_then(|at| {
        let (digits, _) = split_digits(&rest[at + RATE.len()..]);
        number::parse(digits)
    });
    (!name.is_empty()).then(|| (name.to_vec(), rate))
}

/// `… = 1795218475.123456 (TOD) = 825.100000000 (MONOTONIC)`
fn reference(text: &[u8]) -> Option<(u64, u64)> {
    let before = |mark: &[u8]| {
        let end = memchr::memmem::find(text, mark)?;
        let start = memchr::memmem::rfind(&text[..end], b"= ")? + 2;
        super::words::nanoseconds(&text[start..end])
    };
    let wall = before(b" (TOD)")?;
    let end = memchr::memrchr(b'=', text)? + 1;
    let clock = text[end..].trim_ascii_start().split(|&b| b == b' ').next()?;
    Some((wall, super::words::nanoseconds(clock)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_says_where_and_how_it_was_recorded() {
        let text = b"# ========\n# captured on    : Fri Nov 20 23:47:55 2026\n# hostname : devbox\n\
            # os release : 6.18.44\n# perf version : 6.1.192\n# arch : x86_64\n\
            # cmdline : /usr/bin/perf record -F 799 -g -- ./app 3 \n\
            # event : name = dummy:HG, , id = { 1 }, type = 1\n\
            # event : name = cpu/mem-loads,ldlat=30/P, , id = { 8 }, { sample_period, sample_freq } = 799, freq = 1\n\
            # event : name = cycles, , id = { 9 }, { sample_period, sample_freq } = 10007, inherit = 1\n\
            # reference time: 2026-11-20 23:47:55.5 = 1795218475.500000 (TOD) = 825.100000000 (MONOTONIC)\n\
            # ========\n# hostname : other\n";
        let header = TextHeader::read(text);
        assert_eq!(header.facts.host.as_deref(), Some("devbox"));
        assert_eq!(header.facts.system.as_deref(), Some("Linux 6.18.44 x86_64"));
        assert_eq!(header.facts.command.as_deref(), Some("./app 3"));
        assert_eq!(header.facts.producer.as_deref(), Some("perf 6.1.192"));
        assert_eq!(header.facts.comments, ["captured on Fri Nov 20 23:47:55 2026"]);
        assert_eq!(header.measured_events().next(), Some(&b"cpu/mem-loads,ldlat=30/P"[..]));
        let rates: Vec<_> = header.events.iter().map(|(_, rate)| *rate).collect();
        assert_eq!(rates, [None, Some(799), None]);
        let start = header.date(826_100_000_000).unwrap();
        assert_eq!(humantime::format_rfc3339(start).to_string(), "2026-11-20T23:47:56.500000000Z");
        let without = TextHeader::read(b"app 1 2.000001: 3 cycles: \n");
        assert!(without.facts.is_empty() && without.measured_events().next().is_none());
        assert_eq!(without.date(1), None);
    }

    #[test]
    fn damaged_headers_say_nothing() {
        for text in [
            "# ========\n# event : name = \n# reference time: = x (TOD) = y (M)\n# cmdline : \n# arch\n",
            "# ========\n# reference time: = 99999999999999999999.000000 (TOD) = 1.000000 (M)\n# event : \n",
        ] {
            let header = TextHeader::read(text.as_bytes());
            assert!(
                header.facts.is_empty() && header.events.is_empty() && header.date(7).is_none(),
                "{text}"
            );
        }
    }
}

//! The header of folded text: comment lines `# key: value` before the first stack.
//!
//! ```text
//! # unit: ns
//! # event: cpu-clock:u
//! # period: 1003009 ns
//! # samples: 1719 samples
//! # command: ./app --its-args
//! # start: 2026-11-21T10:00:00Z
//! # duration: 8.6 s
//! ```
//! This is the one reader and the one writer. Other makers' programs take a line that ends in a
//! blank and a number for a stack, so no line of ours ends so: a number has its unit behind it, and a
//! text that would end in a number is quoted. Of a differential profile each side's own facts have
//! the prefix `before.` or `after.`.

use std::time::Duration;

use super::{Facts, MOST, Sides, fact};
use crate::error::{Error, Result};
use crate::input::lines;
use crate::weight::Weight;

/// One fact as a line: its key, how it is written, and how it is read.
struct Entry {
    key: &'static str,
    write: fn(&Facts) -> Vec<String>,
    read: fn(&mut Facts, &str),
}

/// Every fact that has a line, in the order of the lines.
const ENTRIES: &[Entry] = &[
    Entry {
        key: "columns",
        write: |f| line(f.differential.then(|| "before, after".to_owned())),
        read: |f, v| f.differential = v == "before, after",
    },
    Entry { key: "unit", write: |f| text(&f.unit), read: |f, v| f.unit = fact(v.as_bytes()) },
    Entry { key: "event", write: |f| text(&f.event), read: |f, v| f.event = fact(v.as_bytes()) },
    Entry {
        key: "period",
        write: |f| text(&f.period.map(|p| format!("{p} {}", f.unit.as_deref().unwrap_or("each")))),
        read: |f, v| {
            f.period = first_word(v).and_then(|n| Weight::parse(n.as_bytes())).filter(|p| *p > Weight::ZERO)
        },
    },
    Entry {
        key: "rate",
        write: |f| line(f.rate.map(|rate| format!("{rate} Hz"))),
        read: |f, v| f.rate = first_word(v).and_then(|n| n.parse().ok()),
    },
    Entry {
        key: "samples",
        write: |f| line(f.samples.map(|samples| format!("{samples} samples"))),
        read: |f, v| f.samples = first_word(v).and_then(|n| n.parse().ok()),
    },
    Entry { key: "command", write: |f| text(&f.command), read: |f, v| f.set_command(v) },
    Entry { key: "host", write: |f| text(&f.host), read: |f, v| f.host = fact(v.as_bytes()) },
    Entry { key: "system", write: |f| text(&f.system), read: |f, v| f.system = fact(v.as_bytes()) },
    Entry {
        key: "start",
        write: |f| line(f.start.map(|start| humantime::format_rfc3339(start).to_string())),
        read: |f, v| f.start = humantime::parse_rfc3339(v).ok(),
    },
    Entry {
        key: "duration",
        write: |f| line(f.duration.map(seconds)),
        read: |f, v| f.duration = parse_seconds(v),
    },
    Entry { key: "clock", write: |f| text(&f.clock), read: |f, v| f.clock = fact(v.as_bytes()) },
    Entry {
        key: "time-zero",
        write: |f| line(f.time_zero.map(seconds)),
        read: |f, v| f.time_zero = parse_seconds(v),
    },
    Entry {
        key: "time-step",
        write: |f| line(f.time_step.map(seconds)),
        read: |f, v| f.time_step = parse_seconds(v),
    },
    Entry {
        key: "cpu-time",
        write: |f| line(f.cpu_time.map(seconds)),
        read: |f, v| f.cpu_time = parse_seconds(v),
    },
    Entry { key: "producer", write: |f| text(&f.producer), read: |f, v| f.producer = fact(v.as_bytes()) },
    Entry {
        key: "labels",
        write: |f| if f.labels.is_empty() { Vec::new() } else { vec![quoted(&f.labels.join(", "))] },
        read: |f, v| f.labels = v.split(',').filter_map(|label| fact(label.as_bytes())).take(MOST).collect(),
    },
    Entry {
        key: "warning",
        write: |f| f.warnings.iter().map(|warning| quoted(warning)).collect(),
        read: |f, v| f.warn(v),
    },
    Entry {
        key: "comment",
        write: |f| f.comments.iter().map(|comment| quoted(comment)).collect(),
        read: |f, v| f.comment(v),
    },
    Entry {
        key: "verdict",
        write: |f| line(f.findings.as_ref().map(|findings| quoted(&findings.verdict))),
        read: |f, v| f.findings.get_or_insert_default().set_verdict(v),
    },
    Entry {
        key: "changed",
        write: |f| f.findings.as_ref().map_or_else(Vec::new, |findings| findings.lines()),
        read: |f, v| f.findings.get_or_insert_default().read_line(v),
    },
];

const BEFORE: &str = "before.";
const AFTER: &str = "after.";

/// Writes the facts as header lines.
///
/// ```
/// use fg_tools::Facts;
/// use fg_tools::profile::header;
///
/// let mut facts = Facts::default();
/// facts.unit = Some("ns".into());
/// facts.samples = Some(1719);
/// facts.set_command("./spin 3");
/// assert_eq!(header::write(&facts), "# unit: ns\n# samples: 1719 samples\n# command: \"./spin 3\"\n");
/// ```
pub fn write(facts: &Facts) -> String {
    entries(facts).iter().map(|(key, value)| format!("# {key}: {}\n", quoted(value))).collect()
}

/// The keys and values of the header lines, in their order, without quotes.
pub(crate) fn entries(facts: &Facts) -> Vec<(String, String)> {
    let mut out = Vec::new();
    write_with("", facts, &|_, _| true, &mut out);
    if let Some(sides) = &facts.sides {
        let own = |key: &str, value: &[String]| {
            // A value that both sides share is written once.
            let shared = ENTRIES.iter().find(|entry| entry.key == key);
            shared.is_none_or(|entry| (entry.write)(facts) != value)
        };
        write_with(BEFORE, &sides.before, &own, &mut out);
        write_with(AFTER, &sides.after, &own, &mut out);
    }
    out
}

fn write_with(
    prefix: &str,
    facts: &Facts,
    wanted: &dyn Fn(&str, &[String]) -> bool,
    out: &mut Vec<(String, String)>,
) {
    for Entry { key, write, .. } in ENTRIES {
        let values = write(facts);
        if wanted(key, &values) {
            out.extend(values.into_iter().map(|value| (format!("{prefix}{key}"), unquoted(&value))));
        }
    }
}

/// Reads the lines of a header, one after the other.
#[derive(Clone, Debug, Default)]
pub struct HeaderReader {
    facts: Facts,
    sides: Option<Sides>,
}

impl HeaderReader {
    /// Returns true if a comment line (without its newline) states a fact.
    pub fn is_header(line: &[u8]) -> bool {
        split(line).is_some_and(|(key, _)| entry(key).is_some())
    }

    /// Returns true if a comment line states a count, which does not hold for a part of the stacks:
    /// see [`Facts::without_counts`].
    pub(crate) fn is_count(line: &[u8]) -> bool {
        let entry = split(line).and_then(|(key, _)| entry(key));
        entry.is_some_and(|(_, entry)| matches!(entry.key, "samples" | "cpu-time" | "verdict" | "changed"))
    }

    /// Reads a comment line, without its newline. A line of another kind is no fact and is kept
    /// as a comment.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Malformed`] for a unit that contradicts the one before.
    pub fn read(&mut self, line: &[u8]) -> Result<()> {
        let Some((key, value)) = split(line).and_then(|(key, value)| Some((entry(key)?, value))) else {
            self.facts.comment(line.strip_prefix(b"#").unwrap_or(line));
            return Ok(());
        };
        self.set(key, unquoted(&String::from_utf8_lossy(value)))
    }

    /// Reads a key and a value without quotes, as [`entries`] has them; an unknown key is ignored.
    ///
    /// # Errors
    /// Those of [`HeaderReader::read`].
    pub(crate) fn read_entry(&mut self, key: &str, value: &str) -> Result<()> {
        match entry(key.as_bytes()) {
            Some(key) => self.set(key, value.to_owned()),
            None => Ok(()),
        }
    }

    fn set(&mut self, (side, entry): (Option<&'static str>, &'static Entry), value: String) -> Result<()> {
        let facts = &mut self.facts;
        let facts = match side {
            None => facts,
            Some(side) => {
                let sides = self.sides.get_or_insert_default();
                if side == BEFORE { &mut sides.before } else { &mut sides.after }
            }
        };
        if entry.key == "unit"
            && let Some(known) = &facts.unit
            && *known != value
        {
            return Err(Error::malformed(
                format!("the unit {known}, as on the line before"),
                value.as_bytes(),
            ));
        }
        (entry.read)(facts, &value);
        Ok(())
    }

    /// The facts that were read so far, without those of sides.
    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The facts that were read.
    pub fn finish(self) -> Facts {
        let HeaderReader { mut facts, sides } = self;
        if let Some(Sides { before, after }) = sides {
            // A line without a prefix holds for both sides.
            let shared = Facts { differential: false, findings: None, ..facts.clone() };
            let side = |own: Facts| {
                let mut side = shared.clone();
                if !own.warnings.is_empty() {
                    side.warnings.clear();
                }
                if !own.comments.is_empty() {
                    side.comments.clear();
                }
                for Entry { write: values, read, .. } in ENTRIES {
                    values(&own).iter().for_each(|value| read(&mut side, &unquoted(value)));
                }
                side
            };
            facts.sides = Some(Box::new(Sides { before: side(before), after: side(after) }));
        }
        facts
    }
}

/// Reads the header at the beginning of a folded text.
///
/// # Errors
/// [`crate::ErrorKind::Malformed`] for units that contradict each other.
///
/// ```
/// let facts = fg_tools::profile::header::read(b"# unit: ns\n# period: 1000 ns\nmain 2000\n")?;
/// assert_eq!(facts.unit.as_deref(), Some("ns"));
/// # Ok::<(), fg_tools::Error>(())
/// ```
pub fn read(text: &[u8]) -> Result<Facts> {
    let mut reader = HeaderReader::default();
    let lines = lines(text).map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    for line in lines.take_while(|line| is_comment(line)) {
        reader.read(line)?;
    }
    Ok(reader.finish())
}

/// The key and the value of a line `# key: value`.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.strip_prefix(b"#")?.trim_ascii_start();
    let colon = memchr::memchr(b':', line)?;
    Some((&line[..colon], line[colon + 1..].trim_ascii()))
}

/// The side that a key is of, and its entry.
fn entry(key: &[u8]) -> Option<(Option<&'static str>, &'static Entry)> {
    let sides = [BEFORE, AFTER];
    let side = sides.into_iter().find(|side| key.starts_with(side.as_bytes()));
    let key = &key[side.map_or(0, str::len)..];
    ENTRIES.iter().find(|entry| entry.key.as_bytes() == key).map(|entry| (side, entry))
}

fn line(value: Option<String>) -> Vec<String> {
    value.into_iter().collect()
}

fn text(value: &Option<String>) -> Vec<String> {
    value.iter().map(|value| quoted(value)).collect()
}

/// A text as it is written: in quotes if its last word is a number, or if it begins with a quote.
fn quoted(text: &str) -> String {
    let last = text.rsplit(|c: char| c.is_whitespace()).next().unwrap_or_default();
    let of_numbers = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    let is_number =
        last.starts_with(of_numbers) && (last.chars().all(of_numbers) || last.parse::<f64>().is_ok());
    if is_number || text.starts_with('"') { format!("\"{text}\"") } else { text.to_owned() }
}

fn unquoted(text: &str) -> String {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or(text).to_owned()
}

/// The first word of a value, which a unit follows.
fn first_word(value: &str) -> Option<&str> {
    value.split_whitespace().next()
}

/// Exact seconds: `8.6 s`.
fn seconds(duration: Duration) -> String {
    let nanos = format!("{:09}", duration.subsec_nanos());
    match nanos.trim_end_matches('0') {
        "" => format!("{} s", duration.as_secs()),
        fraction => format!("{}.{fraction} s", duration.as_secs()),
    }
}

fn parse_seconds(value: &str) -> Option<Duration> {
    let (whole, fraction) = match first_word(value)?.split_once('.') {
        Some((whole, fraction)) => (whole, fraction),
        None => (first_word(value)?, ""),
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let nanos = format!("{fraction:0<9}").parse().ok()?;
    Some(Duration::new(whole.parse().ok()?, nanos))
}

/// Returns true if the line (without its newline) is a comment.
#[inline]
pub fn is_comment(line: &[u8]) -> bool {
    line.first() == Some(&b'#') && matches!(line.get(1), None | Some(b' '))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    fn full() -> Facts {
        let mut facts = Facts {
            unit: Some("ns".into()),
            event: Some("cpu-clock:u".into()),
            period: Some(Weight::new(1_003_009)),
            rate: Some(997),
            samples: Some(1719),
            host: Some("node 7".into()),
            system: Some("Linux 6.1".into()),
            start: Some(SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_000_000_123)),
            duration: Some(Duration::new(8, 600_000_001)),
            cpu_time: Some(Duration::from_secs(2)),
            producer: Some("fg-record 0.1.0".into()),
            labels: vec!["time".into(), "thread".into()],
            clock: Some("perf".into()),
            time_zero: Some(Duration::new(86_399, 5)),
            time_step: Some(Duration::from_millis(20)),
            ..Facts::default()
        };
        facts.set_command("\"./spin\" 3");
        facts.warn("no symbols for 1 of 3");
        facts.warn("stacks are cut");
        facts.comment("a comment 5");
        facts.comment("and another 1e15");
        facts
    }

    #[test]
    fn what_is_written_is_read_again() {
        let facts = full();
        assert_eq!(read(write(&facts).as_bytes()).unwrap(), facts);
        let other = Facts { samples: Some(3), command: Some("./other".into()), ..full() };
        let both = Facts::of_sides(full(), other);
        assert_eq!(read(write(&both).as_bytes()).unwrap(), both);
        assert!(write(&both).contains("# after.command: ./other\n"), "{}", write(&both));
        assert_eq!(write(&Facts::default()), "");
    }

    #[test]
    fn no_line_is_a_stack_to_other_programs() {
        let both = Facts::of_sides(full(), Facts { unit: Some("odd 7".into()), ..full() });
        for line in write(&full()).lines().chain(write(&both).lines()) {
            // The rule of flamegraph.pl, difffolded.pl and inferno: a blank, digits, perhaps a fraction.
            let last = line.rsplit(|c: char| c.is_whitespace()).next().unwrap();
            assert!(last.parse::<f64>().is_err(), "{line}");
        }
    }

    #[test]
    fn units_that_contradict_each_other_are_an_error() {
        assert!(read(b"# unit: ns\n# unit: ns\na 1\n").is_ok());
        let error = read(b"# unit: ns\n# unit: bytes\na 1\n").unwrap_err().to_string();
        assert!(error.contains("the unit ns") && error.contains("bytes"), "{error}");
    }

    #[test]
    fn counts_are_what_facts_without_counts_leave_out() {
        let counts = |facts: &Facts| {
            write(facts).lines().filter(|line| HeaderReader::is_count(line.as_bytes())).count()
        };
        let both = Facts::of_sides(full(), Facts { samples: Some(3), ..full() });
        assert_eq!((counts(&full()), counts(&full().without_counts())), (2, 0));
        assert_eq!((counts(&both), counts(&both.without_counts())), (4, 0));
        let kept: String = write(&full())
            .split_inclusive('\n')
            .filter(|l| !HeaderReader::is_count(l.trim_end().as_bytes()))
            .collect();
        assert_eq!(kept, write(&full().without_counts()));
    }

    #[test]
    fn a_header_without_end_is_bounded() {
        let text =
            format!("# labels: {}\n{}", "a,".repeat(1000), "# warning: x\n# comment: y\n".repeat(1000));
        let many: String = (0..1000).map(|n| format!("# warning: number {n}!\n")).collect();
        let facts = read((text + &many).as_bytes()).unwrap();
        assert_eq!((facts.labels.len(), facts.warnings.len(), facts.comments.len()), (MOST, MOST, 1));
    }

    #[test]
    fn damaged_values_are_not_known() {
        let text =
            b"# period: 0 ns\n# samples: many\n# start: noon\n# duration: 1.2.3 s\n# rate: -1 Hz\nx 1\n";
        let facts = read(text).unwrap();
        assert_eq!(facts, Facts::default());
        assert_eq!(read(b"# hello\n#\nx 1\n").unwrap().comments, ["hello"]);
    }

    #[test]
    fn counts_are_those_lines_that_hold_for_all_stacks_only() {
        for line in ["# samples: 7", "#samples:7", "# cpu-time: 2 s", "# before.samples: 3"] {
            assert!(
                HeaderReader::is_header(line.as_bytes()) == (HeaderReader::is_count(line.as_bytes())),
                "{line}"
            );
        }
        assert!(HeaderReader::is_count(b"# samples: 7"));
        for line in ["# unit: ns", "# nothing: 7", "# samples", "samples: 7"] {
            assert!(!HeaderReader::is_count(line.as_bytes()), "{line}");
        }
    }
}

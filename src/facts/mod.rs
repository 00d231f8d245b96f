//! The facts of a recording: unit, event, command, date, and warnings.
//!
//! Facts are read once, when a recording is opened, and shown by every output. What is not
//! known is `None`, and stays unsaid: an output that does not know the unit shows none.

mod findings;
pub mod header;
pub mod units;

use std::time::{Duration, SystemTime};

pub use findings::{ChangedFunction, Findings};

use crate::printable::printable;
use crate::weight::Weight;

/// The longest text kept as a fact, in characters: a page is mailed, and a line is read.
const LONGEST: usize = 200;
/// The most warnings, comments or labels that are kept.
pub(crate) const MOST: usize = 32;

/// The facts that a recording states about itself.
///
/// ```
/// use fg_tools::Facts;
///
/// let mut facts = Facts::default();
/// facts.unit = Some("ns".into());
/// facts.set_command("./app --verbose");
/// assert_eq!(facts.command.as_deref(), Some("./app --verbose"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// The unit of the weights: `ns`, `bytes`, `samples`, `cycles`.
    pub unit: Option<String>,
    /// The event that was measured, in the producer's words: `cpu-clock:u`, `alloc_space`.
    pub event: Option<String>,
    /// The weight of one sample, in the unit of the weights, where all samples weigh the same.
    pub period: Option<Weight>,
    /// The sampling rate that was asked for, in samples a second.
    pub rate: Option<u64>,
    /// The number of samples in the weights.
    pub samples: Option<u64>,
    /// The command that was recorded, on one line.
    pub command: Option<String>,
    /// The machine it ran on.
    pub host: Option<String>,
    /// The operating system, its version and the architecture.
    pub system: Option<String>,
    /// When the recording began.
    pub start: Option<SystemTime>,
    /// The time from the beginning of the recording to its end.
    pub duration: Option<Duration>,
    /// The clock of the samples' times: `perf` (the kernel's, since the machine started), `realtime`,
    /// `monotonic`, or `recording` for times since the recording began.
    pub clock: Option<String>,
    /// The time on that clock at which the labels of time have their 0.
    pub time_zero: Option<Duration>,
    /// The length of a bucket of the labels of time.
    pub time_step: Option<Duration>,
    /// The processor time that the recorded program used.
    pub cpu_time: Option<Duration>,
    /// The program that recorded: `perf 6.1.0`.
    pub producer: Option<String>,
    /// The keys of labels, which are the first frames of every stack: `thread`, `time`.
    pub labels: Vec<String>,
    /// True if each stack has two weights, before and after.
    pub differential: bool,
    /// Warnings that a reader has to know before believing the profile: missing symbols, cut stacks.
    pub warnings: Vec<String>,
    /// Other statements of the recording, a line each.
    pub comments: Vec<String>,
    /// The facts of the two sides of a differential profile.
    pub sides: Option<Box<Sides>>,
    /// The verdicts of the comparison that a differential profile comes of.
    pub findings: Option<Box<Findings>>,
}

/// The facts of both sides of a differential profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sides {
    /// The facts of the profile before.
    pub before: Facts,
    /// The facts of the profile after.
    pub after: Facts,
}

/// A text as a fact: one line, valid UTF-8, nothing that moves a cursor, at most 200 characters.
pub(crate) fn one_line(text: &[u8]) -> String {
    let blanks: Vec<u8> =
        text.iter().map(|&b| if matches!(b, b'\n' | b'\r' | b'\t') { b' ' } else { b }).collect();
    let text = printable(blanks.trim_ascii());
    match text.char_indices().nth(LONGEST) {
        None => text,
        Some(_) => text.chars().take(LONGEST - 1).chain(['…']).collect(),
    }
}

/// [`one_line`], if that leaves anything.
pub(crate) fn fact(text: &[u8]) -> Option<String> {
    Some(one_line(text)).filter(|text| !text.is_empty())
}

impl Facts {
    /// The name of the value that folded text is of: its event, else its unit. Empty if it states neither.
    pub(crate) fn only_value(&self) -> &str {
        self.event.as_deref().or(self.unit.as_deref()).unwrap_or_default()
    }

    /// The number of samples that weigh so much together, where each weighs the same and it is a whole
    /// number.
    pub(crate) fn samples_in(&self, weight: Weight) -> Option<u64> {
        let period = match self.unit.as_deref() {
            Some("samples") if self.period.is_none() => Weight::ONE,
            _ => self.period?,
        };
        let samples = (weight.to_f64() / period.to_f64()).round() as u64;
        let is_exact = period.checked_mul(Weight::from(samples)).ok()? == weight;
        is_exact.then_some(samples)
    }

    /// Sets the command to a text, cut to one line.
    pub fn set_command(&mut self, command: impl AsRef<[u8]>) {
        self.command = fact(command.as_ref());
    }

    /// Adds a warning, each once.
    pub fn warn(&mut self, warning: impl AsRef<[u8]>) {
        add(&mut self.warnings, warning.as_ref());
    }

    /// Adds a comment, each once.
    pub fn comment(&mut self, comment: impl AsRef<[u8]>) {
        add(&mut self.comments, comment.as_ref());
    }

    /// Returns true if no fact is known.
    pub fn is_empty(&self) -> bool {
        *self == Facts::default()
    }

    /// The facts of several recordings that become one profile.
    ///
    /// A fact on which they do not agree, or that one of them does not know, is left out. Numbers
    /// of samples and times are added up, the earliest start is the start, and what each of them
    /// warns of is kept.
    pub fn merged(parts: &[Facts]) -> Facts {
        let [first, rest @ ..] = parts else { return Facts::default() };
        if rest.is_empty() {
            return first.clone();
        }
        fn agreed<T: PartialEq + Clone>(parts: &[Facts], get: impl Fn(&Facts) -> &Option<T>) -> Option<T> {
            let first = get(&parts[0]);
            if parts.iter().all(|part| get(part) == first) { first.clone() } else { None }
        }
        fn sum<T>(
            parts: &[Facts],
            get: impl Fn(&Facts) -> Option<T>,
            add: fn(T, T) -> Option<T>,
        ) -> Option<T> {
            let mut values = parts.iter().map(get);
            let first = values.next()??;
            values.try_fold(first, |sum, value| add(sum, value?))
        }
        let mut merged = Facts {
            unit: agreed(parts, |p| &p.unit),
            event: agreed(parts, |p| &p.event),
            period: agreed(parts, |p| &p.period),
            rate: agreed(parts, |p| &p.rate),
            samples: sum(parts, |p| p.samples, u64::checked_add),
            command: agreed(parts, |p| &p.command),
            host: agreed(parts, |p| &p.host),
            system: agreed(parts, |p| &p.system),
            start: parts.iter().filter_map(|p| p.start).min(),
            duration: sum(parts, |p| p.duration, Duration::checked_add),
            clock: agreed(parts, |p| &p.clock),
            time_zero: agreed(parts, |p| &p.time_zero),
            time_step: agreed(parts, |p| &p.time_step),
            cpu_time: sum(parts, |p| p.cpu_time, Duration::checked_add),
            producer: agreed(parts, |p| &p.producer),
            labels: if rest.iter().all(|p| p.labels == first.labels) {
                first.labels.clone()
            } else {
                Vec::new()
            },
            differential: parts.iter().all(|p| p.differential),
            sides: if rest.iter().all(|p| p.sides == first.sides) { first.sides.clone() } else { None },
            ..Facts::default()
        };
        for part in parts {
            part.warnings.iter().for_each(|warning| merged.warn(warning));
            part.comments.iter().for_each(|comment| merged.comment(comment));
        }
        merged
    }

    /// The facts of a differential profile: what both sides say, and each side's own.
    pub fn of_sides(before: Facts, after: Facts) -> Facts {
        let both = [before, after];
        let mut facts = Facts::merged(&both);
        facts.differential = true;
        facts.samples = None;
        facts.duration = None;
        facts.cpu_time = None;
        facts.start = None;
        let [before, after] = both;
        facts.sides = Some(Box::new(Sides { before, after }));
        facts
    }

    /// The facts without what tells of a person or a place: host, folders, arguments, comments.
    pub fn private(&self) -> Facts {
        let program = |command: &String| program_of(command);
        let side = |facts: &Facts| facts.private();
        Facts {
            command: self.command.as_ref().map(program).filter(|program| !program.is_empty()),
            host: None,
            warnings: self.warnings.iter().map(|warning| without_paths(warning)).collect(),
            comments: Vec::new(),
            sides: self
                .sides
                .as_ref()
                .map(|sides| Box::new(Sides { before: side(&sides.before), after: side(&sides.after) })),
            ..self.clone()
        }
    }

    /// The facts that hold whatever becomes of the stacks: without counts, times and period.
    ///
    /// For a tool that selects or rewrites stacks and does not count again.
    pub fn without_counts(&self) -> Facts {
        let mut facts = Facts { samples: None, cpu_time: None, findings: None, ..self.clone() };
        if let Some(sides) = &mut facts.sides {
            sides.before = sides.before.without_counts();
            sides.after = sides.after.without_counts();
        }
        facts
    }
}

fn add(list: &mut Vec<String>, text: &[u8]) {
    if let Some(text) = fact(text)
        && list.len() < MOST
        && !list.contains(&text)
    {
        list.push(text);
    }
}

/// The name of the program of a command, without its folder; empty if it cannot be told from a person's name.
fn program_of(command: &str) -> String {
    let program = first_word(command);
    let mut parts = program.rsplit(['/', '\\']);
    let (name, folder) = (parts.next().unwrap_or_default(), parts.next());
    // A home is no program: the path has a blank in it that nobody quoted.
    let is_home = matches!(folder, Some("home" | "Users")) && parts.nth(1).is_none();
    if is_home { String::new() } else { name.to_owned() }
}

/// The first word of a command, as a shell reads it.
fn first_word(command: &str) -> String {
    let mut word = String::new();
    let mut quote = None;
    let mut letters = command.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (' ', None) => break,
            ('\'' | '"', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            // Elsewhere it stands between the folders of Windows.
            ('\\', None | Some('"')) if matches!(letters.peek(), Some(' ' | '\'' | '"')) => {
                word.extend(letters.next())
            }
            _ => word.push(letter),
        }
    }
    match quote {
        None => word,
        // It was an apostrophe.
        Some(_) => command.split(' ').next().unwrap_or_default().to_owned(),
    }
}

/// A text with each path in it cut to its last part. A path may have blanks in it, which nobody quotes: it goes on to
/// the last word with a `/` inside, before the next one that begins as a path does.
fn without_paths(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let mut shown: Vec<String> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let word = words[at];
        let start =
            word.find('/').filter(|_| word.matches('/').count() > 1 || word.starts_with(['/', '"', '(']));
        at += 1;
        let Some(start) = start else {
            shown.push(word.to_owned());
            continue;
        };
        let begins_as_path = |word: &&&str| word.starts_with(['/', '"', '(']);
        let rest = words[at..].iter().take_while(|word| !begins_as_path(word));
        let more = rest.enumerate().filter(|(_, word)| word.contains('/')).last().map_or(0, |(n, _)| n + 1);
        let last = if more == 0 { word } else { words[at + more - 1] };
        at += more;
        let name = last.rsplit('/').next().unwrap_or(last);
        shown.push(format!("{}{name}", &word[..start]));
    }
    shown.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_period(period: i128) -> Facts {
        Facts { period: Some(Weight::new(period)), unit: Some("ns".into()), ..Facts::default() }
    }

    #[test]
    fn private_commands_and_warnings_name_no_person_whatever_is_quoted() {
        for (command, program) in [
            ("/home/anna/app --x", "app"),
            ("'/home/anna smith/app' --x", "app"),
            ("\"/home/anna smith/app\" --x", "app"),
            (r"/home/anna\ smith/app --x", "app"),
            (r"'/home/o'\''brien smith/app' --x", "app"),
            (r#""C:\Users\Anna Smith\app.exe" --x"#, "app.exe"),
            (r"C:\Users\anna\app.exe --x", "app.exe"),
            ("/home/o'brien/app --x", "app"),
            ("/home/anna smith/app --x", ""),
            (r"C:\Users\Anna Smith\app.exe", ""),
            ("app", "app"),
        ] {
            let facts = Facts { command: Some(command.into()), ..Facts::default() };
            assert_eq!(facts.private().command.unwrap_or_default(), program, "{command}");
        }
        for (warning, shown) in [
            ("no symbols in /home/anna smith/lib.so, 3 frames", "no symbols in lib.so, 3 frames"),
            ("/home/anna maria smith/lib a.so and /usr/lib/b.so", "lib a.so and b.so"),
            ("perf of \"/home/anna smith/x.data\" lost 3", "perf of \"x.data\" lost 3"),
            ("1 and/or 2 are lost", "1 and/or 2 are lost"),
        ] {
            assert_eq!(without_paths(warning), shown);
        }
    }

    #[test]
    fn a_period_that_changed_once_is_not_known_again() {
        let parts = [10, 20, 10].map(of_period);
        assert_eq!(Facts::merged(&parts).period, None);
        assert_eq!(Facts::merged(&parts).unit.as_deref(), Some("ns"));
        assert_eq!(Facts::merged(&[of_period(10), of_period(10)]).period, Some(Weight::new(10)));
        assert_eq!(Facts::merged(&[of_period(10), Facts::default()]).unit, None);
    }

    #[test]
    fn counts_add_up_only_if_all_are_known() {
        let part = |samples| Facts { samples, ..Facts::default() };
        assert_eq!(Facts::merged(&[part(Some(1)), part(Some(2))]).samples, Some(3));
        assert_eq!(Facts::merged(&[part(Some(1)), part(None)]).samples, None);
        assert_eq!(Facts::merged(&[part(Some(u64::MAX)), part(Some(2))]).samples, None);
    }

    #[test]
    fn private_facts_name_no_person_and_no_place() {
        let mut facts = Facts { host: Some("ada-laptop".into()), ..Facts::default() };
        facts.set_command("/home/ada/bin/app --token=secret");
        facts.warn("no symbols for /home/ada/lib/libx.so.1 (38%)");
        facts.comment("ada's machine");
        facts.sides = Some(Box::new(Sides { before: facts.clone(), after: facts.clone() }));
        let private = format!("{:?}", facts.private());
        assert!(!private.contains("ada") && !private.contains("secret"), "{private}");
        assert!(private.contains("libx.so.1 (38%)") && private.contains("app"), "{private}");
    }

    #[test]
    fn a_text_is_one_short_line() {
        assert_eq!(one_line(b" a\nb\t\x1b[31m "), "a b \u{fffd}[31m");
        assert_eq!(one_line(&[b'x'; 1000]).chars().count(), LONGEST);
        assert_eq!(fact(b" \n"), None);
    }

    #[test]
    fn labels_and_columns_are_those_that_all_parts_have() {
        let part = |labels: &[&str], differential| Facts {
            labels: labels.iter().map(|&label| label.to_owned()).collect(),
            differential,
            ..Facts::default()
        };
        let both = Facts::merged(&[part(&["time"], true), part(&["time"], true)]);
        assert_eq!((both.labels, both.differential), (vec!["time".to_owned()], true));
        let other = Facts::merged(&[part(&["time"], true), part(&["thread"], false)]);
        assert_eq!((other.labels, other.differential), (vec![], false));
    }

    #[test]
    fn sides_are_those_that_all_parts_have() {
        let part = |host: &str| {
            let side = |host: &str| Facts { host: Some(host.into()), ..Facts::default() };
            Facts {
                sides: Some(Box::new(Sides { before: side("a"), after: side(host) })),
                ..Facts::default()
            }
        };
        assert_eq!(Facts::merged(&[part("b"), part("b")]).sides, part("b").sides);
        assert_eq!(Facts::merged(&[part("b"), part("c")]).sides, None);
        assert_eq!(Facts::merged(&[part("b"), Facts::default()]).sides, None);
    }

    #[test]
    fn paths_are_cut_to_their_last_part() {
        for (text, expected) in [
            ("no symbols for /a/b/c.so (38%)", "no symbols for c.so (38%)"),
            ("\"/a/b\" (/c/d)", "\"b\" (d)"),
            ("a/b and/or 3/s", "a/b and/or 3/s"),
            ("src/a/b", "srcb"),
            ("/", ""),
        ] {
            assert_eq!(without_paths(text), expected, "{text}");
        }
    }
}

//! Remarks on a comparison: what makes the two sides unlike, and names that differ by less than it seems.

use std::collections::HashMap;
use std::time::Duration;

use super::change::{Presence, Row};
use super::normalize::Normalize;
use super::options::ReportOptions;
use super::renamer::Renamer;
use super::side::Side;
use crate::error::Result;
use crate::printable::printable;
use crate::profile::Facts;
use crate::profile::units;
use crate::significance::Permutation;
use crate::tally::RowKind;

/// Recordings whose durations differ by more than this ratio did not record as much.
const UNLIKE: f64 = 1.2;
/// The longest text of a name in a remark, in characters.
const LONGEST: usize = 80;

/// A remark on a comparison, for its reader to judge.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// The subject.
    pub kind: NoteKind,
    /// One line.
    pub text: String,
    /// True if gates refuse to judge such a comparison.
    pub refused_by_gates: bool,
}

/// The subject of a remark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoteKind {
    /// The sides measure different events.
    Event,
    /// The sides were sampled at different rates.
    Rate,
    /// The sides were recorded for different times.
    Duration,
    /// The sides are recordings of different programs.
    Program,
    /// The sides were recorded on different machines.
    Machine,
    /// The sides were recorded by different recorders.
    Recorder,
    /// Functions have another name on each side, by a line number or a hash.
    Names,
    /// Functions are named, and runs that are divided into two sides in another way differ as much.
    Permutation,
}

/// The values of a fact of all runs of a side, each once, in order.
fn values<T: PartialEq>(runs: &[&Facts], get: impl Fn(&Facts) -> Option<T>) -> Vec<T> {
    let mut all = Vec::new();
    for value in runs.iter().filter_map(|facts| get(facts)) {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

/// `a, b and 3 more`.
fn listed<T: ToString>(values: &[T]) -> String {
    let mut text = values.iter().take(3).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if values.len() > 3 {
        text += &format!(" and {} more", values.len() - 3);
    }
    text
}

/// `x before, y after` if the runs do not all have one value of a fact. A side that does not know it
/// is not mentioned.
fn unlike<T: PartialEq + ToString>(
    (before, after): (&[&Facts], &[&Facts]),
    get: impl Fn(&Facts) -> Option<T>,
) -> Option<String> {
    let (before, after) = (values(before, &get), values(after, &get));
    let is_one = before.len() == 1 && before == after;
    let is_known = !before.is_empty() && !after.is_empty();
    (is_known && !is_one).then(|| format!("{} before, {} after", listed(&before), listed(&after)))
}

/// The remarks on what the runs of both sides say of themselves.
pub(super) fn of_facts(before: &[&Facts], after: &[&Facts], options: &ReportOptions) -> Vec<Note> {
    let sides = (before, after);
    let is_absolute = options.normalize == Normalize::No;
    let mut notes = Vec::new();
    let mut add = |kind, text: String, refused_by_gates| notes.push(Note { kind, text, refused_by_gates });
    if let Some(unlike) = unlike(sides, kind_of_event) {
        add(NoteKind::Event, format!("the sides measure different events: {unlike}"), true);
    } else if let Some(unlike) = unlike(sides, restriction) {
        add(NoteKind::Event, format!("the events are restricted in different ways: {unlike}"), false);
    }
    let count_samples = |facts: &&Facts| facts.unit.as_deref().is_none_or(|unit| unit == "samples");
    let counts_samples = before.iter().chain(after).all(count_samples);
    if let Some(unlike) = unlike(sides, |facts| facts.rate.map(|rate| format!("{rate} Hz"))) {
        let (advice, refused) = match counts_samples && is_absolute {
            true => ("; samples do not weigh the same then, -n compares shares", true),
            false => ("", false),
        };
        add(NoteKind::Rate, format!("the sampling rates differ: {unlike}{advice}"), refused);
    } else if !counts_samples && let Some(unlike) = unlike(sides, period) {
        add(NoteKind::Rate, format!("samples do not weigh the same: {unlike}"), false);
    }
    if let Some(text) = durations(sides).filter(|_| is_absolute) {
        add(NoteKind::Duration, text, false);
    }
    if let Some(unlike) = unlike(sides, |facts| facts.command.as_deref().and_then(program)) {
        add(NoteKind::Program, format!("the programs differ: {unlike}"), false);
    }
    if let Some(unlike) = unlike(sides, |facts| facts.host.clone()) {
        add(NoteKind::Machine, format!("the machines differ: {unlike}"), false);
    }
    if let Some(unlike) = unlike(sides, |facts| Some(facts.producer.as_ref()?.split(' ').next()?.to_owned()))
    {
        add(NoteKind::Recorder, format!("the recorders differ: {unlike}"), false);
    }
    notes
}

/// The event without what it was restricted to: user space, a precision. All clocks of processor time
/// are one kind.
fn kind_of_event(facts: &Facts) -> Option<String> {
    let name = facts.event.as_deref()?.split([':', '/']).find(|part| !part.is_empty())?;
    Some(if matches!(name, "cpu-clock" | "task-clock" | "cpu") { "cpu-clock" } else { name }.to_owned())
}

/// The part of an event's name that restricts it: `:u`.
fn restriction(facts: &Facts) -> Option<String> {
    let event = facts.event.as_deref()?;
    Some(event.split_once(':').map_or_else(|| "no restriction".to_owned(), |(_, how)| format!(":{how}")))
}

fn period(facts: &Facts) -> Option<String> {
    facts.period.map(|period| units::amount(period, facts.unit.as_deref()))
}

/// Says that one side was recorded for longer. A program that ran to its end took as long as it did:
/// then its processor time is known.
fn durations((before, after): (&[&Facts], &[&Facts])) -> Option<String> {
    let mean = |runs: &[&Facts]| {
        let known = runs.iter().map(|facts| facts.duration.filter(|_| facts.cpu_time.is_none()));
        let sum = known.sum::<Option<Duration>>()?;
        Some(sum.as_secs_f64() / runs.len().max(1) as f64)
    };
    let (b, a) = (mean(before)?, mean(after)?);
    let ratio = (a / b).max(b / a);
    let seconds = |seconds: f64| format!("{seconds:.2} s");
    (ratio > UNLIKE).then(|| {
        let (b, a) = (seconds(b), seconds(a));
        format!("the durations differ: {b} before, {a} after; weights grow with time, -n compares shares")
    })
}

/// Says that a program has another name on each side, instead of that the programs differ.
pub(super) fn add_program(notes: &mut Vec<Note>, names: Option<&(Vec<u8>, Vec<u8>)>) {
    let Some((before, after)) = names else { return };
    let [before, after] = [before, after].map(|name| printable(name));
    notes.retain(|note| note.kind != NoteKind::Program);
    let text = format!("{before} before and {after} after are compared as one program");
    notes.push(Note { kind: NoteKind::Program, text, refused_by_gates: false });
}

/// The program of a command: the last part of its path, and that of the script that an interpreter runs.
pub(super) fn program(command: &str) -> Option<String> {
    let mut words = command.split([' ', '"', '\'']).filter(|word| !word.is_empty());
    let name = |word: &str| word.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    let program = name(words.next()?);
    let interpreters = ["python", "node", "ruby", "perl", "java", "php", "bash", "sh", "dotnet", "lua"];
    let is_interpreter =
        interpreters.contains(&program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'));
    match words.find(|word| !word.starts_with('-')).filter(|_| is_interpreter) {
        Some(script) => Some(format!("{program} {}", name(script))),
        None => Some(program),
    }
}

/// The parts of names that change from build to build, with a word for each.
const PARTS: &[(&str, &str)] =
    &[("line", "line"), ("hash", "hash"), ("offset", "offset"), ("hex", "address")];

/// The remark on functions that are gone by one name and new by another, which differ by a line number
/// or the like.
///
/// # Errors
/// None in practice: the parts exist.
pub(super) fn of_names(rows: &[Row], options: &ReportOptions) -> Result<Option<Note>> {
    if !matches!(options.by, RowKind::Function | RowKind::Stack) {
        return Ok(None);
    }
    let with = |presence: Presence| rows.iter().filter(move |row| row.presence() == presence);
    let (gone, mut new): (Vec<&Row>, Vec<&Row>) =
        (with(Presence::Gone).collect(), with(Presence::New).collect());
    let given: Vec<&str> = options.strip.iter().flat_map(|parts| parts.split(',')).collect();
    let (mut count, mut helpful, mut words, mut example) = (0, Vec::new(), Vec::new(), None);
    for (part, word) in PARTS.iter().filter(|(part, _)| !given.contains(part)) {
        if gone.is_empty() || new.is_empty() {
            break;
        }
        let mut renamer = Renamer::new(Some(part))?;
        let mut stripped = |side: Side, row: &Row| {
            let mut name = Vec::new();
            renamer.apply(side, &row.name, &mut name);
            name
        };
        let mut before: HashMap<Vec<u8>, &Row> = HashMap::new();
        for row in gone.iter().rev() {
            before.insert(stripped(Side::Before, row), row);
        }
        let all = new.len();
        new.retain(|row| match before.remove(&stripped(Side::After, row)) {
            Some(other) => {
                example.get_or_insert((&other.name, &row.name));
                false
            }
            None => true,
        });
        if new.len() < all {
            count += all - new.len();
            helpful.push(*part);
            words.push(*word);
        }
    }
    let Some((before, after)) = example else { return Ok(None) };
    let what = match count {
        1 => "1 function is gone by one name and new by another".to_owned(),
        _ => format!("{count} functions are gone by one name and new by another"),
    };
    let text = format!(
        "{what}, which differ in their {} only, as {} and {}; --strip {} compares them as one",
        words.join(" or "),
        shortened(before),
        shortened(after),
        helpful.join(",")
    );
    Ok(Some(Note { kind: NoteKind::Names, text, refused_by_gates: false }))
}

/// The remark on changes that a check without any law of chance does not confirm.
pub(super) fn of_permutation(
    permutation: Option<Permutation>,
    rows: &[Row],
    options: &ReportOptions,
) -> Option<Note> {
    let Permutation { p, divisions } = permutation?;
    let alpha = options.alpha;
    // The recorded division is always among them, and the one with both sides exchanged.
    let is_refuted = p > alpha && 2.0 / divisions as f64 <= alpha;
    if !is_refuted || !rows.iter().any(Row::is_significant) {
        return None;
    }
    let text = format!(
        "of {divisions} ways to divide the runs into two sides, {:.0} differ as surely as before and after do: record more runs",
        p * divisions as f64
    );
    Some(Note { kind: NoteKind::Permutation, text, refused_by_gates: false })
}

fn shortened(name: &[u8]) -> String {
    let name = printable(name);
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::diff::{Diff, Report};
    use crate::weight::Weight;

    #[test]
    fn programs_of_commands() {
        for (command, name) in [
            ("\"/wt/before/app\" 300", "app"),
            ("./app --x", "app"),
            ("python3.12 -O /a/fib.py 3", "python3.12 fib.py"),
            ("/usr/bin/python3", "python3"),
        ] {
            assert_eq!(program(command).as_deref(), Some(name));
        }
        assert_eq!(program(" "), None);
    }

    /// Five runs a side in which `a` works by a fifth more.
    fn five_runs() -> Report {
        let run = |a: u32, n: u32| {
            let lines = [
                format!("main;a {}", a + n % 3),
                format!("main;b {}", 5000 - n),
                format!("main;c {}", 3000 + n),
            ];
            Profile::from_lines(lines.each_ref().map(String::as_str)).unwrap()
        };
        let side = |a: u32| [0, 7, 14, 21, 28].map(|n| run(a, n));
        let (before, after) = (side(2000), side(2400));
        let options = ReportOptions::default().period(Weight::ONE);
        Diff::of_runs(&before.each_ref(), &after.each_ref()).report_with(&options).unwrap()
    }

    #[test]
    fn changes_that_permutation_does_not_confirm_are_said() {
        let mut report = five_runs();
        let known = report.permutation.expect("five runs a side are enough");
        assert_eq!((known.divisions, known.p), (252, 2.0 / 252.0));
        assert!(report.significant().any(|row| row.name == b"a"), "{}", report.headline());
        assert!(
            report.assumption().contains("p = 0.008 by permutation of the runs"),
            "{}",
            report.assumption()
        );
        // One in a hundred, by default.
        assert!(report.assumption().contains("p and 99% intervals adjusted for"), "{}", report.assumption());
        assert_eq!(of_permutation(report.permutation, &report.rows, &report.options), None);
        report.permutation = Some(Permutation { p: 0.25, divisions: 252 });
        let note = of_permutation(report.permutation, &report.rows, &report.options).expect("a remark");
        assert!(
            note.text.contains("of 252 ways") && note.text.contains(" 63 differ as surely"),
            "{}",
            note.text
        );
        assert!(!note.refused_by_gates);
    }

    #[test]
    fn samples_of_other_weights_are_said_with_both() {
        let run = |period: u32| {
            Profile::from_bytes(format!("# unit: ns\n# period: {period} ns\nmain;a 30000000\n")).unwrap()
        };
        let notes = |before: u32, after: u32| {
            let report = Diff::new(&run(before), &run(after)).report().unwrap();
            report.notes.iter().map(|note| note.text.clone()).collect::<Vec<_>>()
        };
        assert_eq!(notes(1_000_000, 1_000_000), [""; 0]);
        assert_eq!(notes(1_000_000, 2_000_000), ["samples do not weigh the same: 1 ms before, 2 ms after"]);
    }

    #[test]
    fn clocks_are_one_kind_of_event() {
        let kind = |event: &str| {
            let facts = Facts { event: Some(event.into()), ..Facts::default() };
            kind_of_event(&facts)
        };
        assert_eq!(kind("cpu-clock:u"), kind("task-clock"));
        assert_eq!(kind("cycles:ppp"), kind("cycles"));
        assert_ne!(kind("cycles"), kind("page-faults"));
    }
}

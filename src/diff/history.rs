//! A history of runs: one file that grows by lines, so that git can merge it.
//!
//! ```text
//! # fg-tools history: time, commit, machine, unit, runs, weight, function
//! 2026-11-25T07:40:00Z  4f1c9a2  ci-3  ns  5  147000000  parse
//! 2026-11-25T07:40:00Z  4f1c9a2  ci-3  ns  5  52000000  lex
//! ```
//! There are tabs between the cells. A line is the mean self weight of a function over the runs of a commit. Functions
//! with small shares are one, [`OTHER`], so that the lines of a run add up to its whole.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::time::SystemTime;

use super::change::Change;
use super::numbers::{self, p_short};
use crate::error::{Error, Position, Result, excerpt};
use crate::folded::OTHER;
use crate::printable::printable;
use crate::profile::Profile;
use crate::significance::change_points::{ChangePoint, change_points};
use crate::weight::Weight;

/// The share of the whole from which on a function has a line.
const LEAST_SHARE: f64 = 0.002;
/// The first line of the file.
const HEADER: &str = "# fg-tools history: time, commit, machine, unit, runs, weight, function\n";

/// The runs of a commit, on one machine.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// When they were added, as the file has it.
    pub time: String,
    /// The commit.
    pub commit: String,
    /// The machine; empty if it is not known.
    pub machine: String,
    /// The unit of the weights; empty without one.
    pub unit: String,
    /// The number of runs whose mean the weights are.
    pub runs: u64,
    /// Self weights by function.
    pub weights: BTreeMap<Vec<u8>, Weight>,
}

impl Entry {
    /// The runs of profiles of one unit.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`]; [`crate::ErrorKind::Setting`] for profiles of different units, or none.
    pub(crate) fn of(profiles: &[Profile], commit: &str, machine: Option<&str>) -> Result<Entry> {
        let first = profiles.first().map(Profile::facts);
        let unit = first.and_then(|facts| facts.unit.clone()).unwrap_or_default();
        if profiles.iter().any(|profile| profile.facts().unit.as_deref().unwrap_or_default() != unit) {
            let what = "the runs are in different units, and have no mean".to_owned();
            return Err(Error::setting(what));
        }
        let mut sums: BTreeMap<Vec<u8>, Weight> = BTreeMap::new();
        for profile in profiles {
            let table = profile.stacks();
            for (stack, weights) in table.stacks() {
                let Some(&leaf) = stack.last() else { continue };
                let sum = sums.entry(table.name(leaf).to_vec()).or_insert(Weight::ZERO);
                *sum = sum.checked_add(weights.value)?;
            }
        }
        let whole = sums.values().try_fold(Weight::ZERO, |sum, weight| sum.checked_add(*weight))?;
        let least = whole.to_f64() * LEAST_SHARE;
        let mut weights = BTreeMap::new();
        for (name, sum) in sums {
            let name = if sum.to_f64() < least { OTHER.to_vec() } else { name };
            let kept = weights.entry(name).or_insert(Weight::ZERO);
            *kept = kept.checked_add(sum)?;
        }
        let runs = profiles.len() as u64;
        for weight in weights.values_mut() {
            *weight = if runs == 1 { *weight } else { thousandths(weight.to_f64() / runs as f64)? };
        }
        let machine = machine.or(first.and_then(|facts| facts.host.as_deref())).unwrap_or_default();
        let time = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        Ok(Entry { time, commit: word(commit), machine: word(machine), unit: word(&unit), runs, weights })
    }

    /// Its lines.
    pub(crate) fn lines(&self) -> String {
        let Entry { time, commit, machine, unit, runs, weights } = self;
        let mut out = String::new();
        for (name, weight) in weights {
            let name = escaped(name);
            let _ = writeln!(out, "{time}\t{commit}\t{machine}\t{unit}\t{runs}\t{weight}\t{name}");
        }
        out
    }

    /// The sum over all functions.
    pub(super) fn whole(&self) -> f64 {
        self.weights.values().map(|weight| weight.to_f64()).sum()
    }

    /// Folded text of functions that are stacks of one frame. Those that are not `known` are [`OTHER`].
    pub(crate) fn folded(&self, known: &BTreeSet<Vec<u8>>) -> Result<Vec<u8>> {
        let mut sums: BTreeMap<&[u8], Weight> = BTreeMap::new();
        for (name, weight) in &self.weights {
            let name = if known.contains(name) { &name[..] } else { OTHER };
            let sum = sums.entry(name).or_insert(Weight::ZERO);
            *sum = sum.checked_add(*weight)?;
        }
        let mut out = Vec::new();
        if !self.unit.is_empty() {
            out.extend(format!("# unit: {}\n", self.unit).into_bytes());
        }
        for (name, weight) in sums {
            out.extend_from_slice(name);
            out.push(b' ');
            weight.write_to(&mut out);
            out.push(b'\n');
        }
        Ok(out)
    }
}

/// A text as one cell of a line.
fn word(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().trim().to_owned()
}

/// A name as one cell of a line, from which it can be read back.
fn escaped(name: &[u8]) -> String {
    let mut out = String::new();
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out += "\\\\",
                c if c.is_control() => {
                    c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| _ = write!(out, "\\x{byte:02x}"));
                }
                c => out.push(c),
            }
        }
        chunk.invalid().iter().for_each(|byte| _ = write!(out, "\\x{byte:02x}"));
    }
    out
}

/// The name that [`escaped`] made this of; `None` for anything else.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        let code = &rest[at + 1..];
        if let Some(after) = code.strip_prefix('\\') {
            out.push(b'\\');
            rest = after;
        } else {
            let digits = code.strip_prefix('x').and_then(|code| code.get(..2))?;
            out.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &code[3..];
        }
    }
    out.extend_from_slice(rest.as_bytes());
    Some(out)
}

/// A history.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct History {
    /// The runs in the order of their times, and else of the file.
    pub entries: Vec<Entry>,
}

impl History {
    /// Reads the file; `place` is its name in messages.
    ///
    /// # Errors
    /// A line that is not understood, with its number.
    pub(crate) fn read(text: &str, place: &str) -> Result<History> {
        let mut entries: Vec<Entry> = Vec::new();
        // Those that are in the file already; a merge may have torn their lines apart.
        let mut numbers: HashMap<(&str, &str, &str, &str, u64), usize> = HashMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = || {
                let position = Position { line: Some(number), ..Position::file(place) };
                let wanted = "time, commit, machine, unit, runs, weight and function, tabs between them";
                Error::malformed(wanted.to_owned(), excerpt(line.as_bytes()).as_bytes()).at(position)
            };
            let cells: Vec<&str> = line.split('\t').collect();
            let &[time, commit, machine, unit, runs, weight, name] = &cells[..] else { return Err(wrong()) };
            let runs = runs.parse().map_err(|_| wrong())?;
            let weight = Weight::parse(weight.as_bytes()).ok_or_else(wrong)?;
            let name = unescaped(name).ok_or_else(wrong)?;
            let at = *numbers.entry((time, commit, machine, unit, runs)).or_insert(entries.len());
            if at == entries.len() {
                let [time, commit, machine, unit] = [time, commit, machine, unit].map(str::to_owned);
                entries.push(Entry { time, commit, machine, unit, runs, weights: BTreeMap::new() });
            }
            entries[at].weights.insert(name, weight);
        }
        entries.sort_by(|a, b| a.time.cmp(&b.time));
        Ok(History { entries })
    }

    /// The text in front of an entry that is appended to a file of so many bytes.
    pub(crate) fn header(size: u64) -> &'static str {
        if size == 0 { HEADER } else { "" }
    }

    /// The entries that a run can be compared with: of its unit, and of its machine where that has enough of them.
    pub(crate) fn like(&self, unit: &str, machine: &str) -> History {
        /// Runs of another machine are better than fewer than these.
        const ENOUGH: usize = 3;
        let of_unit = || self.entries.iter().filter(|entry| entry.unit == unit);
        let of_machine = || of_unit().filter(|entry| entry.machine == machine);
        let entries = match of_machine().count() >= ENOUGH {
            true => of_machine().cloned().collect(),
            false => of_unit().cloned().collect(),
        };
        History { entries }
    }

    /// The entries since the whole has changed for good.
    pub(crate) fn since_change(&self, alpha: f64) -> &[Entry] {
        let wholes: Vec<f64> = self.entries.iter().map(Entry::whole).collect();
        let last = change_points(&wholes, alpha, 1, 0.0).last().map_or(0, |change| change.at);
        &self.entries[last..]
    }

    /// The changes for good, of the whole (`None`) and of functions, in the order of commits. `least` is the smallest
    /// change of a function, as a share of the whole.
    pub(crate) fn trend(&self, alpha: f64, least: f64) -> Vec<(Option<Vec<u8>>, ChangePoint)> {
        let wholes: Vec<f64> = self.entries.iter().map(Entry::whole).collect();
        let largest = wholes.iter().fold(0.0_f64, |most, whole| most.max(*whole));
        let names: BTreeSet<&Vec<u8>> = self.entries.iter().flat_map(|entry| entry.weights.keys()).collect();
        let series = names.len() + 1;
        let of_whole =
            change_points(&wholes, alpha, series, least * largest).into_iter().map(|change| (None, change));
        let mut found: Vec<(Option<Vec<u8>>, ChangePoint)> = of_whole.collect();
        for name in names {
            let weights = self
                .entries
                .iter()
                .map(|entry| entry.weights.get(name).map_or(0.0, |weight| weight.to_f64()));
            let changes = change_points(&weights.collect::<Vec<f64>>(), alpha, series, least * largest);
            found.extend(changes.into_iter().map(|change| (Some(name.clone()), change)));
        }
        let size = |change: &ChangePoint| -(change.means.1 - change.means.0).abs();
        found.sort_by(|a, b| {
            (a.1.at, a.0.is_some()).cmp(&(b.1.at, b.0.is_some())).then(size(&a.1).total_cmp(&size(&b.1)))
        });
        found
    }

    /// The runs of each unit and machine for themselves.
    pub(super) fn series(&self) -> Vec<(&str, &str, History)> {
        let all: BTreeSet<(&str, &str)> =
            self.entries.iter().map(|entry| (&*entry.unit, &*entry.machine)).collect();
        let runs = |(unit, machine)| {
            let is_one = |entry: &&Entry| entry.unit == unit && entry.machine == machine;
            (unit, machine, History { entries: self.entries.iter().filter(is_one).cloned().collect() })
        };
        all.into_iter().map(runs).collect()
    }

    /// A line for each change for good, of the runs of each unit and machine for themselves:
    /// `8be01d7  parse  100 → 150 ms  +50%  (p < 0.001 n=14+10)  ci-3`. `alpha` and `least` are those of
    /// [`History::trend`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(crate) fn trend_lines(&self, alpha: f64, least: f64) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        for (unit, machine, history) in self.series() {
            let unit = Some(unit).filter(|unit| !unit.is_empty());
            for (name, ChangePoint { at, means, counts, p }) in history.trend(alpha, least) {
                let (before, after) = (thousandths(means.0)?, thousandths(means.1)?);
                let change = Change { before, after, significant: true, ..Change::default() };
                let commit = printable(history.entries[at].commit.as_bytes());
                let name = name.map_or_else(|| "the whole".to_owned(), |name| printable(&name));
                let (change, p) = (numbers::change(&change, unit), p_short(p));
                let place = if machine.is_empty() { String::new() } else { format!("  {machine}") };
                lines.push(format!("{commit}  {name}  {change}  ({p} n={}+{}){place}", counts.0, counts.1));
            }
        }
        Ok(lines)
    }
}

/// A mean, to a thousandth: it is no sum, and has no exact decimals.
pub(super) fn thousandths(mean: f64) -> Result<Weight> {
    Weight::from_steps((mean * 1000.0).round() as i128, 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: usize, weights: &[(&str, i128)]) -> Entry {
        Entry {
            time: format!("2026-01-{:02}T{:02}:00:00Z", 1 + number / 24, number % 24),
            commit: format!("c{number}"),
            machine: "m".into(),
            unit: "ns".into(),
            runs: 1,
            weights: weights
                .iter()
                .map(|&(name, weight)| (name.as_bytes().to_vec(), Weight::new(weight)))
                .collect(),
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut one = entry(0, &[("parse", 7), ("a b;c", 2)]);
        one.weights.insert(b"x\\y\tz\xff\x1b".to_vec(), Weight::parse(b"0.5").unwrap());
        let two = entry(1, &[("parse", 9)]);
        let text = format!("{HEADER}{}{}", two.lines(), one.lines());
        assert_eq!(History::read(&text, "h").unwrap().entries, [one.clone(), two.clone()]);
        // As git leaves it where two branches have added lines.
        let merged = format!("{HEADER}{}{HEADER}{}", one.lines(), two.lines());
        assert_eq!(History::read(&merged, "h").unwrap().entries, [one, two]);
        let error = History::read("# x\n1\t2\n", "h.tsv").unwrap_err().to_string();
        assert!(error.starts_with("h.tsv:2: expected time, commit"), "{error}");
    }

    #[test]
    fn planted_changes_are_found_at_their_commits() {
        // Sixty commits, whose functions spread by 2%; three changes.
        let spread = |number: usize, salt: usize| ((number * 7919 + salt * 104_729) % 41) as i128 - 20;
        let level = |base: i128, number: usize, salt: usize| base * (1000 + spread(number, salt)) / 1000;
        let entries = (0..60).map(|number| {
            let parse = if number >= 20 { 130_000 } else { 100_000 };
            let lex = if number >= 35 { 30_000 } else { 50_000 };
            let hash = if number >= 48 { 20_000 } else { 0 };
            entry(
                number,
                &[
                    ("parse", level(parse, number, 1)),
                    ("lex", level(lex, number, 2)),
                    ("hash", level(hash, number, 3)),
                    ("write", level(70_000, number, 4)),
                    ("read", level(90_000, number, 5)),
                ],
            )
        });
        let history = History { entries: entries.collect() };
        let found = history.trend(0.01, 0.005);
        let named: Vec<(String, usize)> = found
            .iter()
            .map(|(name, change)| {
                (name.as_ref().map_or("the whole".into(), |n| String::from_utf8_lossy(n).into()), change.at)
            })
            .collect();
        // Those of lex and hash are lost in the spread of the whole.
        let expected = [("the whole", 20), ("parse", 20), ("lex", 35), ("hash", 48)];
        assert_eq!(named, expected.map(|(name, at)| (name.to_owned(), at)));
        assert_eq!(history.since_change(0.01).len(), 40);
    }

    #[test]
    fn functions_with_small_shares_are_one() {
        let text = "# unit: ns\nmain;big 99800\nmain;big;small 100\nmain 100\n";
        let profiles = [Profile::from_bytes(text).unwrap(), Profile::from_bytes(text).unwrap()];
        let found = Entry::of(&profiles, "a\tb", Some("m")).unwrap();
        assert_eq!((found.runs, &*found.commit), (2, "a b"));
        let shown: Vec<(&[u8], String)> =
            found.weights.iter().map(|(n, w)| (&n[..], w.to_string())).collect();
        assert_eq!(shown, [(OTHER, "200".to_owned()), (b"big", "99800".to_owned())]);
        let folded = found.folded(&BTreeSet::new()).unwrap();
        assert_eq!(String::from_utf8(folded).unwrap(), "# unit: ns\n[other] 100000\n");
    }
}

//! The verdicts of a comparison. They are facts of the profile with two columns that comes of it, since two columns do not
//! tell how much runs of one program differ.

use std::collections::HashMap;

use crate::printable::printable;

/// The most functions that are kept: a header is read before the stacks.
const MOST: usize = 1000;
/// The most bytes that their lines take in a header. Formats are told apart by the first 64 kB of a file.
const MOST_BYTES: usize = 16 << 10;
/// The longest verdict, in characters.
const LONGEST: usize = 1000;

/// The significant changes between the two sides of a differential profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Findings {
    /// The line that says what happened: the headline of the report.
    pub verdict: String,
    /// The functions that changed significantly, or are suspected to, in the order of the report.
    pub changed: Vec<ChangedFunction>,
}

/// A function of which self or total weight changed significantly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedFunction {
    /// Its name, as valid UTF-8.
    pub name: String,
    /// The p-value of its self weight, in words: `p < 0.001`; `None` if that did not change significantly.
    pub own: Option<String>,
    /// The same of its total weight.
    pub total: Option<String>,
}

impl Findings {
    /// Sets the verdict to a text, cut to one line.
    pub fn set_verdict(&mut self, text: &str) {
        self.verdict = printable(text.as_bytes()).chars().take(LONGEST).collect();
    }

    /// Adds a function with the p-values of self and total weight; those behind the first thousand are left out.
    pub fn add(&mut self, name: &[u8], own: Option<String>, total: Option<String>) {
        if self.changed.len() < MOST {
            let name = String::from_utf8_lossy(name).into_owned();
            self.changed.push(ChangedFunction { name, own, total });
        }
    }

    /// The values of the header lines: `self p=0.012, total p < 0.001: "parse"`.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut room = MOST_BYTES;
        let line = |function: &ChangedFunction| {
            let kinds = [("self", &function.own), ("total", &function.total)];
            let known = kinds.iter().filter_map(|(kind, p)| Some(format!("{kind} {}", p.as_ref()?)));
            format!("{}: \"{}\"", known.collect::<Vec<_>>().join(", "), function.name)
        };
        let fits = |line: &String| {
            room = room.saturating_sub(line.len());
            room > 0
        };
        self.changed.iter().map(line).take_while(fits).collect()
    }

    /// Reads the value of a header line; one that is not understood is ignored.
    pub(super) fn read_line(&mut self, value: &str) {
        let Some((kinds, name)) = value.strip_suffix('"').and_then(|value| value.split_once(": \"")) else {
            return;
        };
        let p_of = |kind: &str| {
            let mut known = kinds.split(", ").filter_map(|one| one.split_once(' '));
            known.find(|(of, _)| *of == kind).map(|(_, p)| printable(p.as_bytes()))
        };
        let (own, total) = (p_of("self"), p_of("total"));
        if own.is_some() || total.is_some() {
            self.add(name.as_bytes(), own, total);
        }
    }

    /// The verdict in parts: every second one is the name of a function.
    pub(crate) fn parts_of_verdict(&self) -> Vec<String> {
        let mut parts = vec![self.verdict.clone()];
        for ChangedFunction { name, .. } in &self.changed {
            // The headline has a word before a list of names, and an amount behind each.
            let edges = [(": ", " +"), (", ", " +"), (": ", " -"), (", ", " -")];
            let place = |part: &String| {
                let start = edges.iter().find_map(|(before, behind)| {
                    Some(part.find(&format!("{before}{name}{behind}"))? + before.len())
                })?;
                Some((start, start + name.len()))
            };
            let found = parts.iter().step_by(2).position(|part| place(part).is_some()).map(|n| 2 * n);
            if let Some(at) = found
                && let Some((start, end)) = place(&parts[at])
            {
                let rest = parts[at].split_off(end);
                parts[at].truncate(start);
                parts.splice(at + 1..at + 1, [name.clone(), rest]);
            }
        }
        parts
    }

    /// The functions by name.
    pub(crate) fn by_name(&self) -> HashMap<&str, &ChangedFunction> {
        self.changed.iter().map(|function| (&*function.name, function)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_text_and_names_by_turns() {
        let mut findings = Findings::default();
        findings.set_verdict("slower: a::b +1 ms (+5%), a +3; faster: e -2 and 1 more; whole 4 → 5 s");
        for name in ["a", "e", "a::b", "s"] {
            findings.add(name.as_bytes(), Some("p=0".into()), None);
        }
        let parts = findings.parts_of_verdict();
        assert_eq!(
            parts,
            [
                "slower: ",
                "a::b",
                " +1 ms (+5%), ",
                "a",
                " +3; faster: ",
                "e",
                " -2 and 1 more; whole 4 → 5 s"
            ]
        );
        assert_eq!(parts.concat(), findings.verdict);
    }

    #[test]
    fn what_is_written_is_read_again_and_bounded() {
        let mut findings = Findings::default();
        for (name, own, total) in [
            ("parse", Some("p=0.012"), Some("p < 0.001")),
            (" odd: \"name\" 5", None, Some("p=0.2")),
            ("f, self p=1: \"", Some("p=0.2"), None),
        ] {
            findings.add(name.as_bytes(), own.map(str::to_owned), total.map(str::to_owned));
        }
        let lines = findings.lines();
        assert_eq!(lines[0], "self p=0.012, total p < 0.001: \"parse\"");
        let mut read = Findings::default();
        lines.iter().for_each(|line| read.read_line(line));
        assert_eq!(read, findings);
        for odd in ["", "\"", "self: \"", "none p: \"a\"", "self p=1: a"] {
            read.read_line(odd);
        }
        assert_eq!(read, findings);
        (0..2 * MOST).for_each(|n| findings.add(format!("{n:0100}").as_bytes(), Some("p=0".into()), None));
        assert_eq!(findings.changed.len(), MOST);
        assert!(findings.lines().iter().map(String::len).sum::<usize>() <= MOST_BYTES);
    }
}

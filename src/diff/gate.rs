//! Gates are conditions on changes that a build must not meet.
//!
//! ```text
//! gate     = [ measure ] [ ":" ] [ "/" regex "/" ] ( ">" | "<" ) number [ "%" | "pp" ]
//! measure  = "total" | "self" | "profile"
//! ```
//! `total>5%` trips when the total of any function grew by more than 5 percent, `self>2pp` when
//! the self weight of one takes 2 percentage points more of the profile, `/^parse/>1000` when
//! the total of one that matches grew by more than 1000. `<` is for what shrank: `/cache/<-10%`.
//! `profile` is the weight of all stacks. Several gates stand in one text with blanks between.

use std::fmt;

use super::report::{Change, Report, Row};
use crate::error::{ErrorKind, Result, excerpt};
use crate::filter::{Pattern, PatternOptions};
use crate::printable::printable;
use crate::weight::Weight;

/// A condition on the changes of a report: `total>5%`.
///
/// It trips when the total (`total`) or self weight (`self`) of a function, or the weight of the whole
/// (`profile`), grew (`>`) or shrank (`<`) by more than a number, of percent (`%`), percentage points of
/// the profile (`pp`) or weight. `total/^parse/>5%` looks at functions that match a regular expression.
/// Changes that are not significant trip nothing, unless [`ReportOptions::any_change`] says so.
///
/// [`ReportOptions::any_change`]: super::ReportOptions::any_change
///
/// ```
/// use fg_tools::diff::Gate;
///
/// assert_eq!(Gate::parse_all("total>5%  self/^lex/>2pp")?.len(), 2);
/// assert!(Gate::parse_all("total=5%").is_err());
/// # Ok::<(), fg_tools::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gate {
    text: String,
    measure: Measure,
    function: Option<Pattern>,
    above: bool,
    limit: Weight,
    unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Total,
    Own,
    Profile,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Weight,
    Percent,
    Points,
}

impl Gate {
    /// Reads the gates of a text.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`] names the gate and the mistake.
    pub fn parse_all(text: &str) -> Result<Vec<Gate>> {
        let mut gates = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let end = end_of_gate(rest);
            gates.push(Gate::parse(&rest[..end])?);
            rest = rest[end..].trim_start();
        }
        if gates.is_empty() {
            return Err(mistake(text, "it is empty"));
        }
        Ok(gates)
    }

    fn parse(text: &str) -> Result<Gate> {
        let mut rest = text;
        let mut measure = Measure::Total;
        for (word, meaning) in
            [("total", Measure::Total), ("self", Measure::Own), ("profile", Measure::Profile)]
        {
            if let Some(behind) = rest.strip_prefix(word) {
                (rest, measure) = (behind, meaning);
                break;
            }
        }
        let begins_well = rest.len() < text.len() || rest.starts_with('/');
        if !begins_well {
            return Err(mistake(text, "it starts with total, self, profile or a /regex/"));
        }
        rest = rest.strip_prefix(':').unwrap_or(rest);
        let mut function = None;
        if let Some(behind) = rest.strip_prefix('/') {
            let end = end_of_regex(behind).ok_or_else(|| mistake(text, "the regex has no second /"))?;
            let expression = behind[..end].replace("\\/", "/");
            if measure == Measure::Profile {
                return Err(mistake(text, "profile is all functions, a regex chooses some"));
            }
            function = Some(Pattern::new(&[expression], PatternOptions::default())?);
            rest = &behind[end + 1..];
        }
        let above = match rest.as_bytes().first() {
            Some(b'>') => true,
            Some(b'<') => false,
            _ => return Err(mistake(text, "expected > or < and a number, as in total>5%")),
        };
        rest = &rest[1..];
        let (number, unit) = match (rest.strip_suffix('%'), rest.strip_suffix("pp")) {
            (Some(number), _) => (number, Unit::Percent),
            (_, Some(number)) => (number, Unit::Points),
            _ => (rest, Unit::Weight),
        };
        let limit = Weight::parse(number.strip_prefix('+').unwrap_or(number).as_bytes())
            .ok_or_else(|| mistake(text, "expected a number, then %, pp or nothing, as in total>5%"))?;
        if measure == Measure::Profile && unit == Unit::Points {
            return Err(mistake(text, "the profile is always 100%, it does not change by pp"));
        }
        Ok(Gate { text: text.to_owned(), measure, function, above, limit, unit })
    }

    /// Reads the gates of a file: one or more on a line, `#` begins a comment. `name` is the file's,
    /// for messages.
    ///
    /// # Errors
    /// Those of [`Gate::parse_all`], with the line.
    pub fn parse_file(text: &str, name: &str) -> Result<Vec<Gate>> {
        let mut gates = Vec::new();
        for (n, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let position = || crate::error::Position::line(name, n as u64 + 1);
            gates.extend(Gate::parse_all(line).map_err(|error| error.or_at(position))?);
        }
        Ok(gates)
    }

    /// The changes that trip it, worst first; only significant ones, unless `any`.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`].
    fn tripped_by<'r>(&self, report: &'r Report, any: bool) -> Result<Vec<Tripped<'r>>> {
        let mut found = Vec::new();
        if self.measure == Measure::Profile {
            let whole = &report.profile;
            if (any || whole.significant) && self.holds(whole)? {
                found.push(Tripped { row: None, change: whole });
            }
            return Ok(found);
        }
        for row in &report.rows {
            let change = match self.measure {
                Measure::Own => &row.own,
                _ => &row.total,
            };
            let meant = self.function.as_ref().is_none_or(|pattern| pattern.matches(&row.name));
            if meant && (any || change.significant) && self.holds(change)? {
                found.push(Tripped { row: Some(row), change });
            }
        }
        let size = |tripped: &Tripped<'_>| tripped.change.difference().map_or(0.0, Weight::to_f64);
        found.sort_by(
            |a, b| if self.above { size(b).total_cmp(&size(a)) } else { size(a).total_cmp(&size(b)) },
        );
        Ok(found)
    }

    /// Refuses a gate that cannot trip.
    fn expect_testable(&self, report: &Report) -> Result<()> {
        let options = &report.options;
        if self.measure == Measure::Profile && report.profile.test.is_none() && !options.any_change {
            return Err(mistake(
                &self.text,
                "a test of the whole profile needs several recordings a side, not normalised, or --any",
            ));
        }
        Ok(())
    }

    /// Returns true if a change is beyond the limit. Weights and percent are compared exactly.
    fn holds(&self, change: &Change) -> Result<bool> {
        let order = match self.unit {
            Unit::Weight => change.difference()?.cmp(&self.limit),
            // What is new grew by more than any number of percent.
            Unit::Percent => change
                .difference()?
                .checked_mul(Weight::new(100))?
                .cmp(&change.before.checked_mul(self.limit)?),
            Unit::Points => change.points().total_cmp(&self.limit.to_f64()),
        };
        let moved = !change.difference()?.is_zero() || self.unit == Unit::Points || !self.limit.is_zero();
        Ok(moved && if self.above { order.is_gt() } else { order.is_lt() })
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A change that tripped a gate.
#[derive(Clone, Copy, Debug)]
struct Tripped<'r> {
    /// The function; `None` for the whole profile.
    row: Option<&'r Row>,
    change: &'r Change,
}

impl Tripped<'_> {
    /// `parse, 40 ms to 44 ms (+10.0%, +0.41 pp)`.
    fn describe(&self, report: &Report) -> String {
        let name = self.row.map_or_else(|| "the whole profile".to_owned(), |row| printable(&row.name));
        let (before, after) = (report.amount(self.change.before), report.amount(self.change.after));
        let percent = self.change.percent().map_or_else(|| "new".to_owned(), |p| format!("{p:+.1}%"));
        let points = self.row.map_or_else(String::new, |_| format!(", {:+.2} pp", self.change.points()));
        format!("{name}, {before} to {after} ({percent}{points})")
    }
}

/// The verdict of gates on a report. Its text has a line for each gate that tripped.
///
/// ```
/// use fg_tools::Profile;
/// use fg_tools::diff::Diff;
///
/// let (before, after) = (Profile::from_lines(["main 5000"])?, Profile::from_lines(["main 5001"])?);
/// let verdict = Diff::new(&before, &after).gate("total>5% self<-5%")?;
/// assert!(verdict.passed());
/// assert_eq!(verdict.to_string(), "");
/// # Ok::<(), fg_tools::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    tripped: Vec<String>,
}

impl Verdict {
    pub(super) fn of(report: &Report, gates: &[Gate]) -> Result<Verdict> {
        let mut tripped = Vec::new();
        for gate in gates {
            gate.expect_testable(report)?;
            let changes = gate.tripped_by(report, report.options.any_change)?;
            if let Some(worst) = changes.first() {
                let more = changes.len() - 1;
                let more = if more > 0 { format!(", and {more} more") } else { String::new() };
                tripped.push(format!("gate {gate}: {}{more}", worst.describe(report)));
            }
        }
        Ok(Verdict { tripped })
    }

    /// Returns true if no gate tripped.
    pub fn passed(&self) -> bool {
        self.tripped.is_empty()
    }

    /// A line for each gate that tripped: `gate total>5%: parse, 40 ms to 44 ms (+10.0%, +0.41 pp)`.
    pub fn tripped(&self) -> &[String] {
        &self.tripped
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tripped.join("\n"))
    }
}

fn mistake(text: &str, what: &str) -> crate::Error {
    ErrorKind::Setting { what: format!("gate {}: {what}", excerpt(text.as_bytes())) }.into()
}

/// A gate ends at the first blank that is not in its regex.
fn end_of_gate(text: &str) -> usize {
    let blank = |text: &str| text.find(char::is_whitespace).unwrap_or(text.len());
    let Some(start) = text.find('/').filter(|at| *at < blank(text)) else { return blank(text) };
    match end_of_regex(&text[start + 1..]) {
        Some(end) => {
            let behind = start + 1 + end + 1;
            behind + blank(&text[behind..])
        }
        None => text.len(),
    }
}

/// The first `/` without a backslash before it.
fn end_of_regex(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'/' if !escaped => return Some(at),
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_read() {
        let gates =
            Gate::parse_all(" total>5%  self:/a b\\/c/<-2.5pp /x/>1000 profile>+3% total/^f/>0").unwrap();
        let shown: Vec<String> =
            gates.iter().map(|g| format!("{:?} {} {} {:?}", g.measure, g.above, g.limit, g.unit)).collect();
        assert_eq!(
            shown,
            [
                "Total true 5 Percent",
                "Own false -2.5 Points",
                "Total true 1000 Weight",
                "Profile true 3 Percent",
                "Total true 0 Weight"
            ]
        );
        assert!(gates[1].function.as_ref().unwrap().matches(b"xa b/cx"));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, what) in [
            ("", "it is empty"),
            ("totl>5%", "it starts with"),
            ("total=5%", "expected > or <"),
            ("total>five", "expected a number"),
            ("total>5 %", "expected > or <"),
            ("/a>5%", "no second /"),
            ("/(/>5%", "unclosed group"),
            ("profile>1pp", "always 100%"),
            ("profile/x/>1%", "a regex chooses"),
            ("total>5%x", "expected a number"),
        ] {
            let error =
                Gate::parse_all(text).err().unwrap_or_else(|| panic!("{text:?} is no gate")).to_string();
            let known = error.contains(what) || (text == "total>5 %" && error.contains("it starts with"));
            assert!(known, "{text:?}: {error}");
        }
    }

    #[test]
    fn a_file_has_comments_and_lines() {
        assert_eq!(
            Gate::parse_file("# what we allow\n\ntotal>5% self>2pp\n/x/>1\n", "gates").unwrap().len(),
            3
        );
        assert!(
            Gate::parse_file("total>5%\nnonsense\n", "gates")
                .unwrap_err()
                .to_string()
                .starts_with("gates:2: ")
        );
    }
}

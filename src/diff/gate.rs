//! Gates are conditions on changes that a build must not meet.
//!
//! ```text
//! gate     = [ measure ] [ ":" ] [ "/" regex "/" ] ( ">" | "<" ) number [ "%" | "pp" | unit ]
//! measure  = "slower" | "total" | "self" | "profile" | "budget"
//! unit     = "ns" | "us" | "ms" | "s" | "B" | "kB" | "MB" | "GB" | "KiB" | "MiB" | "GiB"
//! ```
//! `slower>5%` trips when the whole, or any function that changed significantly, weighs more than 5
//! percent more than before; `total>5%` trips when the total of any function grew by more than 5 percent, `self>2pp` when
//! the self weight of one takes 2 percentage points more of the profile, `/^parse/>1000` when
//! the total of one that matches grew by more than 1000. `<` is for what shrank: `/cache/<-10%`.
//! `profile` is the weight of all stacks. `budget>500ms` trips when that is more than 500 ms after, whatever it was before,
//! and `budget/^parse/>20ms` when the total of a function that matches is. Several gates stand in one text with blanks between.

use std::fmt;

use super::change::{Change, Presence, Row};
use super::escape::Escape;
use super::normalize::Normalize;
use super::numbers::three;
use super::report::Report;
use crate::error::{Error, Result, excerpt};
use crate::filter::{Pattern, PatternOptions};
use crate::printable::printable;
use crate::profile::units;
use crate::weight::Weight;

/// A condition on the changes of a report: `total>5%`.
///
/// It trips when the total (`total`) or self weight (`self`) of a function, or the weight of the whole
/// (`profile`), grew (`>`) or shrank (`<`) by more than a number, of percent (`%`), percentage points of
/// the profile (`pp`) or weight. `slower>5%` looks at the whole and at every function: it is the gate of a
/// build that must not get slower. `total/^parse/>5%` looks at functions that match a regular expression.
/// Changes that are not significant trip nothing, unless [`ReportOptions::any_change`] says so. `budget>500ms` is
/// of the weight after alone, of the whole or of functions that match.
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
    /// The smallest unit of the kind of the limit's, and the number of them in one of it, if it has a unit.
    scale: Option<(&'static str, Weight)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Total,
    Own,
    Profile,
    /// The whole, and the self and total weight of every function.
    Slower,
    /// The weight after of the whole, or of functions that match.
    Budget,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Weight,
    Percent,
    Points,
}

/// The words that a gate starts with.
const MEASURES: &[(&str, Measure)] = &[
    ("slower", Measure::Slower),
    ("total", Measure::Total),
    ("self", Measure::Own),
    ("profile", Measure::Profile),
    ("budget", Measure::Budget),
];

impl Gate {
    /// Reads the gates of a text.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] names the gate and the mistake.
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
        for (word, meaning) in MEASURES {
            if let Some(behind) = rest.strip_prefix(word) {
                (rest, measure) = (behind, *meaning);
                break;
            }
        }
        let begins_well = rest.len() < text.len() || rest.starts_with('/');
        if !begins_well {
            return Err(mistake(text, "it starts with slower, total, self, profile, budget or a /regex/"));
        }
        rest = rest.strip_prefix(':').unwrap_or(rest);
        let mut function = None;
        if let Some(behind) = rest.strip_prefix('/') {
            let end = end_of_regex(behind).ok_or_else(|| mistake(text, "the regex has no second /"))?;
            let expression = behind[..end].replace("\\/", "/");
            match measure {
                Measure::Profile => {
                    return Err(mistake(text, "profile is all functions, a regex chooses some"));
                }
                Measure::Slower => {
                    return Err(mistake(text, "slower looks at the whole; total/regex/ chooses functions"));
                }
                Measure::Total | Measure::Own | Measure::Budget => {}
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
        let end = number.rfind(|c: char| c.is_ascii_digit()).map_or(0, |at| at + 1);
        let (number, of) = number.split_at(end);
        let scale = units::in_smallest(of).filter(|_| unit == Unit::Weight);
        let limit = Weight::parse(number.strip_prefix('+').unwrap_or(number).as_bytes())
            .filter(|_| of.is_empty() || scale.is_some())
            .ok_or_else(|| {
                mistake(text, "expected a number, then %, pp, a unit or nothing, as in total>5%")
            })?;
        if measure == Measure::Profile && unit == Unit::Points {
            return Err(mistake(text, "the profile is always 100%, it does not change by pp"));
        }
        if measure == Measure::Slower && (!above || unit == Unit::Points || limit.is_negative()) {
            return Err(mistake(text, "slower has > and percent or a weight, as in slower>5%"));
        }
        if measure == Measure::Budget && (!above || unit != Unit::Weight || limit.is_negative()) {
            return Err(mistake(text, "budget has > and a weight, as in budget>500ms"));
        }
        Ok(Gate { text: text.to_owned(), measure, function, above, limit, unit, scale })
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
    /// [`crate::ErrorKind::Overflow`].
    pub(super) fn tripped_by<'r>(&self, report: &'r Report, any: bool) -> Result<Vec<Tripped<'r>>> {
        let mut found = Vec::new();
        for tripped in self.changes(report) {
            // Points are of a share, all else of a weight.
            let change = tripped.change;
            let is_sure = match (self.measure, self.unit) {
                (Measure::Budget, _) => true,
                (_, Unit::Points) => change.share_significant,
                _ => change.significant,
            };
            if (any || is_sure) && self.holds(report, change)? {
                found.push(tripped);
            }
        }
        let size = |tripped: &Tripped<'_>| match self.is_budget() {
            true => tripped.change.after.to_f64(),
            false => tripped.change.difference().map_or(0.0, Weight::to_f64),
        };
        found.sort_by(
            |a, b| if self.above { size(b).total_cmp(&size(a)) } else { size(a).total_cmp(&size(b)) },
        );
        // The self and the total weight of a function may both have changed.
        let mut names = Vec::new();
        found.retain(|tripped| {
            let is_new = !names.contains(&tripped.name());
            names.push(tripped.name());
            is_new
        });
        Ok(found)
    }

    /// Of what it looks at, that which weighs most after.
    pub(super) fn heaviest<'r>(&self, report: &'r Report) -> Option<Tripped<'r>> {
        self.changes(report).max_by_key(|heavy| heavy.change.after)
    }

    /// The changes that it looks at.
    fn changes<'r>(&self, report: &'r Report) -> impl Iterator<Item = Tripped<'r>> {
        let whole = Tripped { row: None, change: &report.profile };
        let whole = [whole].into_iter().filter(|_| self.is_of_whole());
        let (own, total) = match self.measure {
            Measure::Profile => (false, false),
            Measure::Own => (true, false),
            Measure::Budget => (false, !self.is_of_whole()),
            Measure::Total => (false, true),
            Measure::Slower => (true, true),
        };
        let meant = |row: &&Row| self.function.as_ref().is_none_or(|pattern| pattern.matches(&row.name));
        let rows = report.rows.iter().filter(move |_| own || total).filter(meant);
        let is_slower = self.measure == Measure::Slower;
        let of_row = move |row: &'r Row| {
            // A function that is new, or has taken in what it called, is slower by what that costs its caller.
            let is_new = is_slower && row.presence() == Presence::New;
            let own_change = row.net.as_ref().filter(|_| is_slower).unwrap_or(&row.own);
            let changes = [(own && !is_new).then_some(own_change), (total && !is_new).then_some(&row.total)];
            changes.into_iter().flatten().map(move |change| Tripped { row: Some(row), change })
        };
        whole.chain(rows.flat_map(of_row))
    }

    /// Returns true if it chooses functions and there is none of such a name.
    pub(super) fn matches_nothing(&self, report: &Report) -> bool {
        self.function.is_some() && self.changes(report).next().is_none()
    }

    /// Returns true if it is the whole that it has to see.
    pub(super) fn is_of_whole(&self) -> bool {
        match self.measure {
            Measure::Profile | Measure::Slower => true,
            Measure::Budget => self.function.is_none(),
            Measure::Total | Measure::Own => false,
        }
    }

    /// Returns true if it looks at the weight after alone, which is what it is.
    pub(super) fn is_budget(&self) -> bool {
        self.measure == Measure::Budget
    }

    /// The number of the limit's unit in one of the report's, as two factors: of the limit, and of weights.
    fn factors(&self, report: &Report) -> Option<(Weight, Weight)> {
        let Some((kind, of_limit)) = self.scale else { return Some((Weight::ONE, Weight::ONE)) };
        let (other, of_weight) = units::in_smallest(report.unit()?)?;
        (kind == other).then_some((of_limit, of_weight))
    }

    /// Refuses a gate on weights that were made equal, and on those of another unit.
    pub(super) fn expect_testable(&self, report: &Report) -> Result<()> {
        if self.factors(report).is_none() {
            let unit = report.unit().unwrap_or("without a unit");
            return Err(mistake(&self.text, &format!("the weights are {}", printable(unit.as_bytes()))));
        }
        let options = &report.options;
        let is_equal = options.normalize != Normalize::No && options.normalize_by.is_none();
        match self.measure {
            Measure::Profile | Measure::Slower | Measure::Budget if is_equal => {
                Err(mistake(&self.text, "both sides are scaled to the same total; leave out -n"))
            }
            _ => Ok(()),
        }
    }

    /// The smallest change that it would have found, in its own unit. For `slower` and `profile` it is that
    /// of the whole. A percentage is of the function of which it would have seen the smallest, as no number
    /// of samples shows 5% of the rarest function; points and weights are of any function, the noisiest.
    /// `None` if nothing was tested.
    pub(super) fn sight<'r>(&self, report: &'r Report) -> Option<Sight<'r>> {
        let of = |Tripped { row, change }: Tripped<'r>| {
            let detectable = change.detectable?;
            let percent = detectable.percent;
            let size = match self.unit {
                Unit::Percent => percent?,
                Unit::Points => detectable.points,
                Unit::Weight => percent? / 100.0 * change.before.to_f64(),
            };
            size.is_finite().then_some(Sight { row, size })
        };
        let is_whole = |tripped: &Tripped<'_>| self.measure != Measure::Slower || tripped.row.is_none();
        let all = self.changes(report).filter(is_whole).filter_map(of);
        match self.unit {
            Unit::Percent => all.min_by(|a, b| a.size.total_cmp(&b.size)),
            Unit::Points | Unit::Weight => all.max_by(|a, b| a.size.total_cmp(&b.size)),
        }
    }

    /// Returns true if a change of its limit would not have been found.
    pub(super) fn is_blind(&self, report: &Report, sight: Option<&Sight<'_>>) -> bool {
        let limit = self.limit_size(report);
        // A limit of nothing, or beyond, asks for whatever can be seen.
        let asks_for_any = if self.above { limit <= 0.0 } else { limit >= 0.0 };
        sight.is_none_or(|sight| !asks_for_any && sight.size > limit.abs())
    }

    /// The limit in its own unit, or in the report's if it is a weight.
    fn limit_size(&self, report: &Report) -> f64 {
        let (of_limit, of_weight) = self.factors(report).unwrap_or((Weight::ONE, Weight::ONE));
        self.limit.to_f64() * of_limit.to_f64() / of_weight.to_f64()
    }

    /// The limit with its unit: `5%`. Percent and points are as they were asked for: a limit of 0.004 is not 0.
    pub(super) fn limit(&self, report: &Report, escape: &Escape) -> String {
        let size = if self.limit.is_negative() { self.limit.negated() } else { self.limit };
        match self.unit {
            Unit::Percent => format!("{size}%"),
            Unit::Points => format!("{size} points"),
            Unit::Weight => self.size(report, self.limit_size(report).abs(), escape),
        }
    }

    /// The smallest change it would have found: `+2.1% of parse`.
    pub(super) fn describe_sight(&self, report: &Report, sight: &Sight<'_>, escape: &Escape) -> String {
        let sign = if self.above { "+" } else { "-" };
        let of = match sight.row {
            None => "the whole".to_owned(),
            Some(_) if self.unit != Unit::Percent => "any function".to_owned(),
            Some(row) => (escape.name)(&row.name),
        };
        let of_functions = match self.measure {
            Measure::Slower => report.sight_of_heavy().map_or_else(String::new, |seen| format!(", {seen}")),
            _ => String::new(),
        };
        format!("{sign}{} of {of}{of_functions}", self.size(report, sight.size, escape))
    }

    fn size(&self, report: &Report, size: f64, escape: &Escape) -> String {
        match self.unit {
            Unit::Percent => format!("{}%", three(size)),
            Unit::Points => format!("{} points", three(size)),
            Unit::Weight => {
                let weight = Weight::parse(format!("{:.3}", size.abs()).as_bytes());
                report.amount(weight.unwrap_or(self.limit), escape)
            }
        }
    }

    /// Returns true if a change is beyond the limit. Weights and percent are compared exactly.
    fn holds(&self, report: &Report, change: &Change) -> Result<bool> {
        let (of_limit, of_weight) = self.factors(report).unwrap_or((Weight::ONE, Weight::ONE));
        let compare = |weight: Weight| -> Result<_> {
            Ok(weight.checked_mul(of_weight)?.cmp(&self.limit.checked_mul(of_limit)?))
        };
        if self.is_budget() {
            return Ok(compare(change.after)?.is_gt());
        }
        let order = match self.unit {
            Unit::Weight => compare(change.difference()?)?,
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
        f.write_str(&printable(self.text.as_bytes()))
    }
}

/// A change that a gate looks at, or that tripped it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tripped<'r> {
    /// The function; `None` for the whole profile.
    pub(super) row: Option<&'r Row>,
    pub(super) change: &'r Change,
}

impl<'r> Tripped<'r> {
    fn name(&self) -> Option<&'r [u8]> {
        self.row.map(|row| &row.name[..])
    }
}

/// The smallest change that a gate would have found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight<'r> {
    /// The function; `None` for the whole profile.
    row: Option<&'r Row>,
    /// Its size in the unit of the gate.
    size: f64,
}

fn mistake(text: &str, what: &str) -> crate::Error {
    Error::setting(format!("gate {}: {what}", excerpt(text.as_bytes())))
}

/// A gate ends at the first blank that is not in its regex.
fn end_of_gate(text: &str) -> usize {
    let blank = |text: &str| text.find(char::is_whitespace).unwrap_or(text.len());
    let Some(start) = text.find('/').filter(|at| *at < blank(text)) else { return blank(text) };
    match end_of_regex(&text[start + 1..]) {
        Some(end) => {
            let second = start + 1 + end;
            second + blank(&text[second..])
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
    fn a_gate_is_shown_without_what_steers_a_terminal() {
        let gates = Gate::parse_all("self/a\u{1b}c\u{4}/<-2pp").unwrap();
        assert_eq!(gates[0].to_string(), "self/a\u{fffd}c\u{fffd}/<-2pp");
    }

    #[test]
    fn gates_are_read() {
        let gates =
            Gate::parse_all(" total>5%  self:/a b\\/c/<-2.5pp /x/>1000 profile>+3% total/^f/>0 slower>5%")
                .unwrap();
        let shown: Vec<String> =
            gates.iter().map(|g| format!("{:?} {} {} {:?}", g.measure, g.above, g.limit, g.unit)).collect();
        assert_eq!(
            shown,
            [
                "Total true 5 Percent",
                "Own false -2.5 Points",
                "Total true 1000 Weight",
                "Profile true 3 Percent",
                "Total true 0 Weight",
                "Slower true 5 Percent"
            ]
        );
        assert!(gates[1].function.as_ref().unwrap().matches(b"xa b/cx"));
        let function = |text| Gate::parse_all(text).unwrap().remove(0).function.unwrap();
        assert!(function("/ab/>1%").matches(b"x;AB") && !function("/Ab/>1%").matches(b"x;ab"));
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
            ("slower/x/>1%", "total/regex/"),
            ("slower<1%", "slower has >"),
            ("slower>2pp", "slower has >"),
            ("slower>-2%", "slower has >"),
            ("budget>5%", "budget has >"),
            ("budget<5ms", "budget has >"),
            ("total>5parsecs", "expected a number"),
            ("total>5ms%", "expected a number"),
            ("total>ms", "expected a number"),
        ] {
            let error =
                Gate::parse_all(text).err().unwrap_or_else(|| panic!("{text:?} is no gate")).to_string();
            let known = error.contains(what) || (text == "total>5 %" && error.contains("it starts with"));
            assert!(known, "{text:?}: {error}");
        }
    }

    #[test]
    fn a_limit_is_said_as_it_was_asked_for() {
        let profile = crate::Profile::from_lines(["main 100"]).unwrap();
        let report = crate::diff::Diff::new(&profile, &profile).report().unwrap();
        let said = |text: &str| Gate::parse_all(text).unwrap()[0].limit(&report, &Escape::TEXT);
        assert_eq!((said("self>0.004pp"), said("self<-12.34%")), ("0.004 points".into(), "12.34%".into()));
        assert_eq!((said("total>5%"), said("total<-1234")), ("5%".into(), "1,234".into()));
    }

    #[test]
    fn a_budget_is_of_the_weight_after_in_any_unit_of_its_kind() {
        let profile = |unit: &str, weight: u32| {
            crate::Profile::from_bytes(format!("# unit: {unit}\nmain;parse {weight}\nmain {weight}\n"))
                .unwrap()
        };
        let judge = |unit: &str, gate: &str| {
            let (before, after) = (profile(unit, 900), profile(unit, 600));
            crate::diff::Diff::new(&before, &after).gate(gate)
        };
        for (gate, outcome) in [
            ("budget>1200us", "passed"),
            ("budget>1.199999ms", "tripped"),
            ("budget>0.001s", "tripped"),
            ("budget/parse/>600us", "passed"),
            ("budget/parse/>599us", "tripped"),
            ("budget/parse/>599", "tripped"),
            ("budget/nothing/>599us", "not-judged"),
        ] {
            assert_eq!(judge("us", gate).unwrap().outcome().name(), outcome, "{gate}");
        }
        let said = judge("us", "budget>1ms").unwrap().to_string();
        assert_eq!(said, "gate budget>1ms: the whole is 1.2 ms");
        let said = judge("us", "budget>2ms").unwrap().to_string();
        assert_eq!(said, "gate budget>2ms passed: the whole is 1.2 ms");
        let error = judge("bytes", "budget>1ms").unwrap_err().to_string();
        assert!(error.ends_with("the weights are bytes"), "{error}");
        // Other gates take units as well.
        assert!(judge("us", "profile<-500us").unwrap().to_string().starts_with("gate profile<-500us"));
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

    #[test]
    fn a_gate_ends_behind_its_regex() {
        for (text, first) in [
            ("total>5% self>1%", "total>5%"),
            ("total>5% self/a b/>1%", "total>5%"),
            ("self/a b/>1% total>2%", "self/a b/>1%"),
            ("self/a \\/ b/>1%\tx", "self/a \\/ b/>1%"),
            ("/a/>1000", "/a/>1000"),
            ("/a b", "/a b"),
        ] {
            assert_eq!(&text[..end_of_gate(text)], first, "{text}");
        }
    }
}

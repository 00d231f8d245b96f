//! The verdict of gates: what tripped, what could not have, and the smallest change each would have
//! found.

use std::fmt;

use super::escape::Escape;
use super::gate::{Gate, Tripped};
use super::markdown_name::code;
use super::report::Report;
use super::sampling::{Sampling, Spread};
use crate::error::Result;
use crate::profile::units;
use crate::weight::Weight;

/// The verdict of gates on a report. Its text has a line for each gate.
///
/// A gate that did not trip passed only if it would have seen a change of its limit. One that would
/// not is not judged: too few samples, one run a side, or runs that differ too much. That is no failure unless
/// [`ReportOptions::require_power`](super::ReportOptions::require_power) asks for it.
///
/// ```
/// use fg_tools::Profile;
/// use fg_tools::diff::Diff;
///
/// let before = Profile::from_lines(["main 7", "main;parse 40001", "main;write 60007"])?;
/// let after = Profile::from_lines(["main 7", "main;parse 40010", "main;write 60020"])?;
/// let verdict = Diff::new(&before, &after).gate("total>50%")?;
/// assert!(verdict.passed());
/// assert!(verdict.to_string().starts_with("gate total>50% passed: would have seen +"));
///
/// let few = (Profile::from_lines(["a 41", "b 59"])?, Profile::from_lines(["a 41", "b 60"])?);
/// let verdict = Diff::new(&few.0, &few.1).gate("total>5%")?;
/// assert!(verdict.passed() && verdict.tripped().is_empty());
/// assert!(verdict.not_judged()[0].starts_with("gate total>5% not judged"));
/// # Ok::<(), fg_tools::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    answers: Vec<Answer>,
    require_power: bool,
    tripped: Vec<String>,
    not_judged: Vec<String>,
}

/// The answer of one gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) gate: String,
    pub(super) outcome: Outcome,
    pub(super) text: String,
    /// The text as Markdown.
    pub(super) markdown: String,
}

/// The outcome of gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Nothing tripped that would have been seen.
    Passed,
    /// A gate tripped.
    Tripped,
    /// No gate tripped, and one would not have seen a change of its limit.
    NotJudged,
}

impl Outcome {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::Tripped => "tripped",
            Outcome::NotJudged => "not-judged",
        }
    }
}

impl Verdict {
    pub(super) fn of(report: &Report, gates: &[Gate]) -> Result<Verdict> {
        let mut verdict = Verdict { require_power: report.options.require_power, ..Verdict::default() };
        if !gates.is_empty() {
            report.expect_comparable()?;
        }
        for gate in gates {
            let answer = Answer::of(report, gate)?;
            match answer.outcome {
                Outcome::Passed => {}
                Outcome::Tripped => verdict.tripped.push(answer.text.clone()),
                Outcome::NotJudged => verdict.not_judged.push(answer.text.clone()),
            }
            verdict.answers.push(answer);
        }
        Ok(verdict)
    }

    /// Returns true if no gate tripped, and each was judged if
    /// [`ReportOptions::require_power`](super::ReportOptions::require_power) asks for that.
    pub fn passed(&self) -> bool {
        match self.outcome() {
            Outcome::Passed => true,
            Outcome::Tripped => false,
            Outcome::NotJudged => !self.require_power,
        }
    }

    /// The outcome of all gates together.
    pub fn outcome(&self) -> Outcome {
        match (self.tripped.is_empty(), self.not_judged.is_empty()) {
            (false, _) => Outcome::Tripped,
            (true, true) => Outcome::Passed,
            (true, false) => Outcome::NotJudged,
        }
    }

    /// A line for each gate that tripped: `gate total>5%: parse  40 → 44 ms  +10%  (p < 0.001 n=5+5)`.
    pub fn tripped(&self) -> &[String] {
        &self.tripped
    }

    /// A line for each gate that did not trip and would not have seen a change of its limit.
    pub fn not_judged(&self) -> &[String] {
        &self.not_judged
    }

    pub(super) fn answers(&self) -> &[Answer] {
        &self.answers
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, answer) in self.answers.iter().enumerate() {
            let newline = if n > 0 { "\n" } else { "" };
            write!(f, "{newline}{}", answer.text)?;
        }
        Ok(())
    }
}

impl Report {
    /// Judges the report by gates, written as in [`Gate::parse_all`]: `total>5% self>2pp`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] for a gate with a mistake, and for one that cannot trip.
    pub fn gate(&self, gates: &str) -> Result<Verdict> {
        self.judge(&Gate::parse_all(gates)?)
    }

    /// Judges the report by gates.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] for a gate that cannot trip.
    pub fn judge(&self, gates: &[Gate]) -> Result<Verdict> {
        Verdict::of(self, gates)
    }
}

impl Answer {
    fn of(report: &Report, gate: &Gate) -> Result<Answer> {
        gate.expect_testable(report)?;
        let any = report.options.any_change;
        let changes = gate.tripped_by(report, any)?;
        let sight = gate.sight(report);
        let outcome = match changes.first() {
            Some(_) => Outcome::Tripped,
            None if gate.is_budget() && !gate.matches_nothing(report) => Outcome::Passed,
            None if !any && gate.is_blind(report, sight.as_ref()) => Outcome::NotJudged,
            None => Outcome::Passed,
        };
        let seen = |escape: &Escape| {
            let seen = sight.map(|sight| gate.describe_sight(report, &sight, escape));
            seen.map(|seen| format!("would have seen {seen}"))
        };
        let text = |escape: &Escape| match outcome {
            Outcome::Tripped => {
                let more = changes.len() - 1;
                let more = if more > 0 { format!(", and {more} more") } else { String::new() };
                let first = changes.first().map(|first| match gate.is_budget() {
                    true => describe_weight(first, report, escape),
                    false => describe(first, report, escape),
                });
                format!(": {}{more}", first.unwrap_or_default())
            }
            Outcome::NotJudged if gate.matches_nothing(report) => {
                " not judged: no function matches".to_owned()
            }
            Outcome::NotJudged => {
                if let Some(lone) = report.lone_recording().filter(|_| gate.is_of_whole()) {
                    let whole = report.plausible().unwrap_or_default();
                    return format!(
                        " not judged at {}: {lone}. {whole}record 5 runs to decide",
                        gate.limit(report, escape)
                    );
                }
                let seen = seen(escape).unwrap_or_else(|| "nothing was tested".to_owned());
                format!(
                    " not judged at {}: {}, {seen}; record more or longer to decide",
                    gate.limit(report, escape),
                    evidence(report),
                )
            }
            Outcome::Passed if gate.is_budget() => {
                let most = gate.heaviest(report).map(|most| describe_weight(&most, report, escape));
                format!(" passed: {}", most.unwrap_or_default())
            }
            Outcome::Passed => match seen(escape).filter(|_| !any) {
                Some(seen) => format!(" passed: {seen}"),
                None => " passed".to_owned(),
            },
        };
        let plain = format!("gate {gate}{}", text(&Escape::TEXT));
        let markdown = format!("gate {}{}", code(gate.to_string().as_bytes()), text(&Escape::MARKDOWN));
        Ok(Answer { gate: gate.to_string(), outcome, text: plain, markdown })
    }
}

/// The evidence of a report, in few words: `167 samples`.
fn evidence(report: &Report) -> String {
    let (before, after) = report.sampling;
    if before.spread == Spread::Runs && after.spread == Spread::Runs {
        return format!("{} and {} runs", before.runs, after.runs);
    }
    let count = |samples: f64| units::grouped(Weight::new(samples.round() as i128));
    let worth = |sampling: Sampling| sampling.worth.min(sampling.samples);
    let (b, a) = (count(worth(before)), count(worth(after)));
    let kind = if before.worth < 0.95 * before.samples || after.worth < 0.95 * after.samples {
        "independent samples"
    } else {
        "samples"
    };
    if a == b { format!("{a} {kind} a side") } else { format!("{b} and {a} {kind}") }
}

/// `parse is 44 ms`.
fn describe_weight(heavy: &Tripped<'_>, report: &Report, escape: &Escape) -> String {
    let of = heavy.row.map_or_else(|| "the whole".to_owned(), |row| (escape.name)(&row.name));
    format!("{of} is {}", report.amount(heavy.change.after, escape))
}

/// `parse  40 → 44 ms  +10%  (p < 0.001 n=5+5)`.
fn describe(tripped: &Tripped<'_>, report: &Report, escape: &Escape) -> String {
    let of = tripped.row.map_or_else(|| "the whole".to_owned(), |row| (escape.name)(&row.name));
    let kind = match tripped.row {
        Some(row) if !std::ptr::eq(tripped.change, &row.total) => " (self)",
        _ => "",
    };
    format!("{of}{kind}  {}", report.change(tripped.change, escape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::diff::{Diff, ReportOptions};

    #[test]
    fn evidence_is_samples_or_what_they_are_worth() {
        let profile = |weight: u32| Profile::from_lines([format!("main {weight}")]).unwrap();
        let options = ReportOptions::default().period(Weight::ONE);
        let mut report = Diff::new(&profile(2000), &profile(3000)).report_with(&options).unwrap();
        let mut said = |before: (f64, f64), after: (f64, f64)| {
            (report.sampling.0.samples, report.sampling.0.worth) = before;
            (report.sampling.1.samples, report.sampling.1.worth) = after;
            evidence(&report)
        };
        assert_eq!(said((2000.0, 2000.0), (3000.0, 3000.0)), "2,000 and 3,000 samples");
        assert_eq!(said((2000.0, 2000.0), (2000.0, 2000.0)), "2,000 samples a side");
        // One side whose samples hang together is enough.
        let worth = "independent samples";
        assert_eq!(said((2000.0, 100.0), (3000.0, 3000.0)), format!("100 and 3,000 {worth}"));
        assert_eq!(said((2000.0, 2000.0), (3000.0, 100.0)), format!("2,000 and 100 {worth}"));
        assert_eq!(said((2000.0, 100.0), (3000.0, 100.0)), format!("100 {worth} a side"));
        // Nearly all of them are all of them, and none is no evidence of another kind.
        assert_eq!(said((1000.0, 960.0), (1000.0, 960.0)), "960 samples a side");
        assert_eq!(said((0.0, 0.0), (0.0, 0.0)), "0 samples a side");
        assert_eq!(said((0.0, 0.0), (10.0, 10.0)), "0 and 10 samples");
        assert_eq!(said((10.0, 10.0), (0.0, 0.0)), "10 and 0 samples");
    }

    #[test]
    fn a_report_is_judged_by_gates_as_they_are_written() {
        let profile =
            |weight: u32| Profile::from_lines([format!("main {weight}"), "rest 9000".to_owned()]).unwrap();
        let options = ReportOptions::default().period(Weight::ONE);
        let report = Diff::new(&profile(2000), &profile(6000)).report_with(&options).unwrap();
        let tripped = report.gate("self>5%").unwrap();
        assert!(tripped.tripped().len() == 1 && !tripped.passed());
        assert!(report.gate("self>500%").unwrap().passed());
        assert_eq!(tripped, report.judge(&Gate::parse_all("self>5%").unwrap()).unwrap());
        assert!(report.gate("self>5% nonsense").is_err());
    }
}

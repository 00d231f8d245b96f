//! The method of a report and what it assumed, in one sentence.

use super::escape::Escape;
use super::numbers::p_value;
use super::report::Report;
use super::sampling::{Sampling, Spread};
use crate::profile::units;
use crate::weight::Weight;

impl Report {
    /// The assumptions of the tests, in one sentence.
    pub fn assumption(&self) -> String {
        self.assumption_with(&Escape::TEXT)
    }

    /// [`Report::assumption`] with the unit as `escape` writes it.
    pub(super) fn assumption_with(&self, escape: &Escape) -> String {
        let (before, after) = self.sampling;
        let level = 100.0 * (1.0 - self.options.alpha);
        let adjusted =
            format!("p and {level}% intervals adjusted for {} tests (Benjamini-Hochberg)", self.tests);
        if before.spread == Spread::Runs {
            let permutation = self.permutation.map_or(String::new(), |check| {
                format!("; p {} by permutation of the runs", p_value(check.p))
            });
            return format!(
                "moderated t on the shares and weights of {} and {} runs, with a spread learnt from all functions; {adjusted}{permutation}",
                before.runs, after.runs
            );
        }
        let (of_before, of_after) = (self.amount(before.period, escape), self.amount(after.period, escape));
        let of = match of_before == of_after {
            true => of_before,
            false => format!("{of_before} and {of_after}"),
        };
        let of = if self.unit() == Some("samples") && of == "1 sample" {
            String::new()
        } else {
            format!(", of {of} each")
        };
        let (spread, because) = match (before.spread, after.spread) {
            (Spread::Blocks, Spread::Blocks) => ("with the spread between blocks of time", ""),
            (Spread::Assumed, Spread::Assumed) => {
                ("assuming independent samples", ", as their times are not known")
            }
            _ => ("assuming independent samples on one side", ", as their times are not known there"),
        };
        let between = match self.options.one_run {
            true => String::new(),
            false => format!(
                ", and what {} functions differ by in {}",
                self.run_spread.functions,
                self.run_spread.describe()
            ),
        };
        let mut text = format!(
            "difference of two proportions, {spread}{between} ({} before, {} after{of}){because}; {adjusted}",
            samples(before),
            samples(after)
        );
        if !before.period_known || !after.period_known {
            text.push_str(
                "; weights have no common step, so the smallest one was taken for a sample: give --period",
            );
        }
        text
    }
}

/// `1,207`, or `1,207, as sure as 130 independent ones` if they tell less.
fn samples(sampling: Sampling) -> String {
    let rounded = |samples: f64| units::grouped(Weight::new(samples.round() as i128));
    if sampling.spread == Spread::Assumed || sampling.worth > 0.95 * sampling.samples {
        return rounded(sampling.samples);
    }
    format!("{}, as sure as {} independent ones", rounded(sampling.samples), rounded(sampling.worth))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::Diff;
    use crate::profile::Profile;

    #[test]
    fn a_period_that_is_guessed_on_either_side_is_said_to_be() {
        let known = Profile::from_bytes("# period: 10\na 20\nb 30\n").unwrap();
        let guessed = Profile::from_bytes("a 20.1\nb 33.37\nc 41.003\n").unwrap();
        let says =
            |before, after| Diff::new(before, after).report().unwrap().assumption().contains("--period");
        assert!(!says(&known, &known));
        assert!(says(&known, &guessed) && says(&guessed, &known) && says(&guessed, &guessed));
    }

    #[test]
    fn samples_are_said_to_be_worth_less_where_they_are() {
        let said = |worth: f64, spread: Spread| {
            let (total, period) = (Weight::new(1000), Weight::ONE);
            samples(Sampling { runs: 1, total, samples: 1000.0, period, period_known: true, worth, spread })
        };
        assert_eq!(said(949.0, Spread::Blocks), "1,000, as sure as 949 independent ones");
        assert_eq!(
            (said(951.0, Spread::Blocks), said(1200.0, Spread::Blocks)),
            ("1,000".into(), "1,000".into())
        );
        assert_eq!(said(500.0, Spread::Assumed), "1,000");
    }
}

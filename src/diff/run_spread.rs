//! The spread of one program from run to run, as measured on others: the prior of comparisons with a lone run.
//!
//! `run_spread.tsv` holds the measurements of `scripts/sweep/spread`, and says of which machine. The prior of the whole is the
//! scaled inverse chi-square distribution that fits the variances of the programs of a recorder best (limma's `fitFDist`).
//! Shares of functions have a trend, as those of several runs have: the numbers here are held by tests to be those of the
//! measurements.

use crate::profile::Facts;
use crate::significance::{Test, by_t};

/// The spreads that were measured, that of unknown recorders first.
const MEASURED: [RunSpread; 2] = [
    RunSpread {
        recorder: "fg-record",
        deviation: 0.0248,
        freedom: 1.77,
        programs: 50,
        of_functions: 0.0446,
        functions: 526,
    },
    RunSpread {
        recorder: "py-spy",
        deviation: 0.181,
        freedom: 3.94,
        programs: 7,
        of_functions: 0.446,
        functions: 46,
    },
];

/// The degrees of freedom of the spread of functions. Most differ by little more than their samples, and one in fifty, of garbage
/// collection, a file system or a compiler at work, by three to nine times as much: with this law the programs of
/// `scripts/sweep/kinds` name hardly anything where nothing changed.
const FREEDOM: f64 = 3.0;

/// The standard deviation of the weight of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunSpread {
    /// The recorder it was measured with.
    pub recorder: &'static str,
    /// The standard deviation, as a part of the weight of a run.
    pub deviation: f64,
    /// The degrees of freedom that it is known with: programs differ in it.
    pub freedom: f64,
    /// The number of programs it was measured on.
    pub programs: usize,
    /// The standard deviation of the share of a function beside that of its samples, as a part of a small share.
    pub of_functions: f64,
    /// The number of functions that was measured on.
    pub functions: usize,
}

impl RunSpread {
    /// The spread of recordings with these facts: that of their recorder, or of fg-record if it is another one.
    pub(super) fn of<'f>(facts: impl IntoIterator<Item = &'f Facts>) -> RunSpread {
        let mut of = facts.into_iter().map(|facts| {
            let producer = facts.producer.as_deref()?;
            // `fg-record 0.1.0 with py-spy` is py-spy's.
            let producer = match producer.rsplit_once(" with ") {
                Some((_, other)) => other,
                None => producer.split(' ').next()?,
            };
            MEASURED.iter().find(|measured| measured.recorder == producer)
        });
        let first = of.next().flatten().filter(|first| of.all(|other| other == Some(*first)));
        *first.unwrap_or(&MEASURED[0])
    }

    /// The runs it was measured on: `runs of fg-record`.
    pub(super) fn describe(&self) -> String {
        format!("runs of {}", self.recorder)
    }

    pub(super) fn variance(&self) -> f64 {
        self.deviation * self.deviation
    }

    /// Tests a difference of two shares of one run a side, of which their samples alone say `sampled`.
    pub(super) fn test_share(&self, sampled: &Test, (before, after): (f64, f64), alpha: f64) -> Test {
        let share = f64::midpoint(before, after);
        let between = 2.0 * (self.of_functions * share * (1.0 - share)).powi(2);
        let deviation = (sampled.deviation.powi(2) + between).sqrt();
        let test = by_t(after - before, deviation, FREEDOM.min(sampled.freedom), alpha);
        Test { p: test.p.max(sampled.p), ..test }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::significance::moderated::{Prior, slope};

    const LINES: &str = include_str!("run_spread.tsv");

    /// The cells of the measurements of a recorder that have this many: six runs of a program, or of a function of it.
    fn measurements(recorder: &str, cells: usize) -> Vec<Vec<f64>> {
        let lines = LINES.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let of_recorder = lines.filter(|line| line[0] == recorder && line.len() == cells);
        // Recorder and program, numbers, and the name of the function.
        of_recorder
            .map(|line| line[2..6.min(cells)].iter().map(|cell| cell.parse().unwrap()).collect())
            .collect()
    }

    #[test]
    fn the_spread_is_that_of_the_recorder() {
        let of = |producer: &str| {
            let facts = Facts { producer: Some(producer.into()), ..Facts::default() };
            RunSpread::of([&facts, &facts])
        };
        assert_eq!(of("fg-record 0.1.0").recorder, "fg-record");
        assert_eq!(of("fg-record 0.1.0 with py-spy").recorder, "py-spy");
        assert_eq!((of("other 1"), RunSpread::of([])), (MEASURED[0], MEASURED[0]));
    }

    /// scipy's digamma and polygamma, and brentq, give the same numbers of the whole.
    #[test]
    fn the_numbers_are_those_of_the_measurements() {
        for known in MEASURED {
            let programs = measurements(known.recorder, 5);
            let freedom = programs[0][0] - 1.0;
            let variances: Vec<f64> = programs.iter().map(|it| (it[2] / 100.0).powi(2)).collect();
            let prior = Prior::fit(&variances, freedom);
            let near = |is: f64, measured: f64| (is / measured - 1.0).abs() < 0.003;
            assert!(
                near(known.deviation, prior.variance.sqrt()) && near(known.freedom, prior.freedom),
                "{prior:?}"
            );
            // The log odds of a share of independent samples.
            let functions = measurements(known.recorder, 7);
            let expected = |it: &Vec<f64>| 1.0 / (it[1] * (1.0 - it[2] / 100.0));
            let quotients: Vec<f64> =
                functions.iter().map(|it| (it[3] / 100.0).powi(2) / expected(it)).collect();
            let heights: Vec<f64> = functions.iter().map(|it| 1.0 / expected(it)).collect();
            let between = slope(&quotients, &heights, freedom).sqrt();
            assert!(near(known.of_functions, between), "{between}");
            let lines = LINES.lines().filter(|line| line.starts_with(&format!("{}\t", known.recorder)));
            assert_eq!((known.programs, known.functions), (programs.len(), functions.len()));
            assert_eq!(programs.len() + functions.len(), lines.count());
        }
    }

    #[test]
    fn a_lone_share_is_no_surer_than_functions_of_other_programs() {
        let known = MEASURED[0];
        let of = |sampled: &Test| known.test_share(sampled, (0.10, 0.15), 0.01);
        let sampled = by_t(0.05, 0.001, f64::INFINITY, 0.01);
        let test = of(&sampled);
        let expected = (0.001f64.powi(2) + 2.0 * (0.0446 * 0.125 * 0.875f64).powi(2)).sqrt();
        assert!((test.deviation - expected).abs() < 1e-12 && test.freedom == FREEDOM, "{test:?}");
        assert!(sampled.p < 1e-9 && (1e-3..0.01).contains(&test.p), "{test:?}");
        // Nor than its own samples or blocks, and nothing of the share of all.
        assert!(of(&Test { p: 0.3, ..sampled }).p >= 0.3);
        assert_eq!(of(&Test { freedom: 1.5, ..sampled }).freedom, 1.5);
        assert_eq!(known.test_share(&by_t(0.0, 0.0, 9.0, 0.01), (1.0, 1.0), 0.01).p, 1.0);
    }
}

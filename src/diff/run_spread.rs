//! The spread of one program from run to run, as measured on others: the prior of comparisons with a lone run.
//!
//! `run_spread.tsv` holds the measurements of `scripts/sweep/spread`, and says of which machine. A prior is the scaled
//! inverse chi-square distribution that fits the variances of the programs of a recorder best (limma's `fitFDist`).

use crate::profile::Facts;
use crate::significance::moderated::Prior;

const MEASURED: &str = include_str!("run_spread.tsv");
/// The recorder whose runs stand for those of unknown ones.
const OWN: &str = "fg-record";

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
}

/// A line of the measurements: recorder, program, runs, mean weight, deviation in percent.
fn measurements() -> impl Iterator<Item = (&'static str, f64, f64)> {
    let lines = MEASURED.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.filter_map(|line| {
        let mut cells = line.split('\t');
        let (recorder, _program) = (cells.next()?, cells.next()?);
        let mut number = || cells.next()?.parse::<f64>().ok();
        let (runs, _weight, percent) = (number()?, number()?, number()?);
        Some((recorder, runs - 1.0, (percent / 100.0).powi(2)))
    })
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
            measurements().map(|(recorder, ..)| recorder).find(|recorder| *recorder == producer)
        });
        let first = of.next().flatten().filter(|first| of.all(|other| other == Some(*first)));
        RunSpread::measured(first.unwrap_or(OWN))
    }

    /// The spread measured with a recorder.
    fn measured(recorder: &'static str) -> RunSpread {
        let (freedoms, variances): (Vec<f64>, Vec<f64>) = measurements()
            .filter(|(of, ..)| *of == recorder)
            .map(|(_, freedom, variance)| (freedom, variance))
            .unzip();
        let prior = Prior::fit(&variances, freedoms.first().copied().unwrap_or(1.0));
        RunSpread {
            recorder,
            deviation: prior.variance.sqrt(),
            freedom: prior.freedom.clamp(1.0, 1e6),
            programs: variances.len(),
        }
    }

    /// The runs it was measured on: `runs of fg-record`.
    pub(super) fn describe(&self) -> String {
        format!("runs of {}", self.recorder)
    }

    pub(super) fn variance(&self) -> f64 {
        self.deviation * self.deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_that_of_the_recorder() {
        let of = |producer: &str| {
            let facts = Facts { producer: Some(producer.into()), ..Facts::default() };
            RunSpread::of([&facts, &facts])
        };
        let known = of("fg-record 0.1.0");
        assert!(known.programs >= 40 && (0.005..0.05).contains(&known.deviation), "{known:?}");
        assert!((1.0..50.0).contains(&known.freedom), "{known:?}");
        let python = of("fg-record 0.1.0 with py-spy");
        assert!(python.recorder == "py-spy" && python.deviation > 0.2, "{python:?}");
        assert_eq!((of("other 1"), RunSpread::of([])), (known, known));
    }

    /// scipy's digamma and polygamma, and brentq, give 2.14 degrees of freedom and 2.21%.
    #[test]
    fn the_prior_is_that_of_the_measurements() {
        let known = RunSpread::measured(OWN);
        assert!((known.freedom - 2.14).abs() < 0.01 && (known.deviation - 0.0221).abs() < 1e-4, "{known:?}");
    }
}

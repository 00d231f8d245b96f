//! The samples of a side, and the source of the spread that changes are compared with.

use super::options::ReportOptions;
use super::survey::Survey;
use crate::error::Result;
use crate::significance::SampleWeight;
use crate::weight::Weight;

/// The samples of a side.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sampling {
    /// The number of recordings.
    pub runs: usize,
    /// The weight of all of them, as recorded.
    pub total: Weight,
    /// The number of samples they hold together.
    pub samples: f64,
    /// The weight of a sample.
    pub period: Weight,
    /// True if that was given or counted; otherwise it is a careful guess.
    pub period_known: bool,
    /// The number of independent samples that would tell as much: fewer than `samples` if the program
    /// has phases. Equal to `samples` if independence was assumed.
    pub worth: f64,
    /// The source of the spread that changes are compared with.
    pub spread: Spread,
}

/// The source of the spread that changes are compared with: how much a recording of the same program
/// may differ from another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spread {
    /// One recording a side without times: samples were assumed to be independent.
    #[default]
    Assumed,
    /// One recording a side: the spread between blocks of time within each.
    Blocks,
    /// Several recordings a side: the spread between them.
    Runs,
}

impl Sampling {
    /// The samples of a side: by the period that is given, or in the facts, or by what the weights
    /// tell (see [`SampleWeight`]).
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(super) fn of(surveys: &[Survey], options: &ReportOptions) -> Result<Sampling> {
        let mut total = Weight::ZERO;
        let mut sample = SampleWeight::default();
        for survey in surveys {
            total = total.checked_add(survey.total)?;
            sample.merge(survey.sample_weight);
        }
        let given = options.period.or_else(|| period_of(surveys));
        let (period, period_known) = match given {
            Some(period) => (period, true),
            None => (sample.get(), sample.is_certain()),
        };
        let samples = (total.to_f64() / period.to_f64()).max(0.0);
        let spread = if surveys.len() > 1 { Spread::Runs } else { Spread::Assumed };
        Ok(Sampling { runs: surveys.len(), total, samples, period, period_known, worth: samples, spread })
    }
}

/// The period of all runs, if they agree.
fn period_of(surveys: &[Survey]) -> Option<Weight> {
    let mut periods = surveys.iter().filter(|survey| survey.lines > 0).map(|survey| survey.facts.period);
    let first = periods.next()??;
    periods.all(|period| period == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Facts;

    #[test]
    fn runs_have_the_period_that_all_of_them_state() {
        let run = |lines: u64, period: Option<i128>| Survey {
            lines,
            facts: Facts { period: period.map(Weight::new), ..Facts::default() },
            ..Survey::default()
        };
        assert_eq!(period_of(&[run(3, Some(10)), run(1, Some(10))]), Some(Weight::new(10)));
        assert_eq!(period_of(&[run(3, Some(10)), run(1, Some(20))]), None);
        assert_eq!(period_of(&[run(3, Some(10)), run(1, None)]), None);
        // An empty run is ignored.
        assert_eq!(period_of(&[run(0, None), run(3, Some(10)), run(0, Some(20))]), Some(Weight::new(10)));
        assert_eq!(period_of(&[run(0, Some(10))]), None);
    }
}

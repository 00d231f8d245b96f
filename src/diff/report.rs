//! What changed, by how much, and how sure that is: the numbers behind every table and gate.

use super::normalize::{Normalize, Ratio, decimals_for};
use super::side::Survey;
use super::tally::Tally;
use crate::error::Result;
use crate::significance::{Count, Test, adjust, compare_runs, compare_shares};
use crate::tally::Cell;
use crate::weight::Weight;

/// What decides whether a change counts, and how rows are sorted.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How the sides are made comparable.
    pub normalize: Normalize,
    /// The probability of an alarm without a cause that is accepted.
    pub alpha: f64,
    /// The least change that counts, in percentage points of the profile.
    pub min_effect: f64,
    /// The least number of samples, on one side at least, to say anything.
    pub min_samples: f64,
    /// What a sample weighs, when the files cannot tell.
    pub period: Option<Weight>,
    /// What rows are sorted by.
    pub sort: Sort,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            normalize: Normalize::No,
            alpha: 0.01,
            min_effect: 0.5,
            min_samples: 5.0,
            period: None,
            sort: Sort::Own,
        }
    }
}

/// What rows are sorted by; what counts always comes before what does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// The change in self weight.
    #[default]
    Own,
    /// The change in total weight.
    Total,
    /// The name.
    Name,
}

/// A weight before and after.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Before, normalised; the mean of several runs.
    pub before: Weight,
    /// After, likewise.
    pub after: Weight,
    /// Its share of the profile before, 0 to 1.
    pub share_before: f64,
    /// Its share of the profile after.
    pub share_after: f64,
    /// How sure it is; `None` when it was not tested, for want of samples.
    pub test: Option<Test>,
    /// Whether it counts.
    pub significant: bool,
}

impl Change {
    /// After less before.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn difference(&self) -> Result<Weight> {
        self.after.checked_sub(self.before)
    }

    /// The change in percent; `None` for what was not there before.
    pub fn percent(&self) -> Option<f64> {
        let (before, after) = (self.before.to_f64(), self.after.to_f64());
        (before != 0.0).then(|| 100.0 * (after - before) / before)
    }

    /// The change of the share, in percentage points.
    pub fn points(&self) -> f64 {
        100.0 * (self.share_after - self.share_before)
    }
}

/// What changed in a function, or whatever the report has rows for.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: Vec<u8>,
    /// The weight of stacks that end in it.
    pub own: Change,
    /// The weight of stacks through it.
    pub total: Change,
}

/// Where a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// On both sides.
    Both,
    /// Not before.
    New,
    /// Not after.
    Gone,
}

impl Row {
    /// Whether a change of it counts.
    pub fn is_significant(&self) -> bool {
        self.own.significant || self.total.significant
    }

    /// On which sides it is.
    pub fn presence(&self) -> Presence {
        match (self.total.before.is_zero(), self.total.after.is_zero()) {
            (true, false) => Presence::New,
            (false, true) => Presence::Gone,
            _ => Presence::Both,
        }
    }

    /// The change that counts: of the two, the one in self weight if it does.
    pub fn leading(&self) -> &Change {
        if self.own.significant || !self.total.significant { &self.own } else { &self.total }
    }
}

/// What is known of a side's samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// How many files there are.
    pub runs: usize,
    /// How many samples they hold together.
    pub samples: f64,
    /// What a sample weighs.
    pub period: Weight,
    /// Whether that was given or counted; if not, it is a careful guess.
    pub period_known: bool,
}

/// All changes.
#[derive(Clone, Debug)]
pub struct Report {
    /// Of the functions, largest first.
    pub rows: Vec<Row>,
    /// Of the whole.
    pub profile: Change,
    /// The samples before and after.
    pub sampling: (Sampling, Sampling),
    /// How many tests the p-values are adjusted for.
    pub tests: usize,
    /// What counts.
    pub settings: Settings,
    /// What weights count, when the files say so.
    pub unit: Option<String>,
    /// Names that were matched as one function: before, after.
    pub renamed: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Report {
    /// The report of a tally whose first `before.len()` runs are before.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn new(
        tally: &Tally,
        (before, after): (&[Survey], &[Survey]),
        references: (Weight, Weight),
        settings: Settings,
    ) -> Result<Report> {
        let sampling = (sampling(before, &settings)?, sampling(after, &settings)?);
        let ratios = mean_ratios(settings.normalize, references, (before.len(), after.len()))?;
        let sums = Sides::split(tally.sums(), before.len());
        let mut decimals = 0;
        for (sum, ratio) in [(sums.before, ratios.0), (sums.after, ratios.1)] {
            let total = sum.iter().try_fold(Weight::ZERO, |all, &one| all.checked_add(one))?;
            if !ratio.is_one() {
                decimals = decimals.max(decimals_for(ratio.apply(total, 3)?)).max(total.decimals());
            }
        }
        let judge = Judge { settings: &settings, sampling, ratios, decimals, sums };
        let mut rows = Vec::new();
        for (name, cells) in tally.rows() {
            let of = |part: fn(&Cell) -> Weight| -> Vec<Weight> { cells.iter().map(part).collect() };
            let own = judge.change(&of(|cell| cell.own))?;
            let total = judge.change(&of(|cell| cell.total))?;
            rows.push(Row { name: name.to_vec(), own, total });
        }
        let mut profile = judge.measured(sums)?;
        let tests = judge.decide(&mut rows, &mut profile)?;
        let unit = after.iter().chain(before).find_map(|survey| survey.facts.unit.clone());
        let mut report = Report { rows, profile, sampling, tests, settings, unit, renamed: Vec::new() };
        report.sort()?;
        Ok(report)
    }

    fn sort(&mut self) -> Result<()> {
        let sort = self.settings.sort;
        let size = |change: &Change| -> Result<Weight> {
            let difference = change.difference()?;
            Ok(if difference.is_negative() { difference.negated() } else { difference })
        };
        let mut keyed = Vec::with_capacity(self.rows.len());
        for row in std::mem::take(&mut self.rows) {
            let sizes = match sort {
                Sort::Own => (size(&row.own)?, size(&row.total)?),
                Sort::Total => (size(&row.total)?, size(&row.own)?),
                Sort::Name => (Weight::ZERO, Weight::ZERO),
            };
            keyed.push((!row.is_significant(), sizes, row));
        }
        keyed.sort_by(|a, b| {
            let by_size = || b.1.0.cmp(&a.1.0).then(b.1.1.cmp(&a.1.1));
            let sure = if sort == Sort::Name { std::cmp::Ordering::Equal } else { a.0.cmp(&b.0) };
            sure.then_with(by_size).then_with(|| a.2.name.cmp(&b.2.name))
        });
        self.rows = keyed.into_iter().map(|(_, _, row)| row).collect();
        Ok(())
    }

    /// The rows whose change counts.
    pub fn significant(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.is_significant())
    }

    /// What is assumed, in a sentence: it stands where the numbers do.
    pub fn assumption(&self) -> String {
        let (before, after) = self.sampling;
        let level = 100.0 * (1.0 - self.settings.alpha);
        let adjusted =
            format!("p adjusted for {} tests (Benjamini-Hochberg), {level}% intervals", self.tests);
        if before.runs > 1 && after.runs > 1 {
            return format!(
                "Welch's t on the shares of {} and {} runs, no less variance than sampling has; {adjusted}",
                before.runs, after.runs
            );
        }
        let mut text = format!(
            "difference of two proportions, assuming independent samples ({:.0} before, {:.0} after, of {} and {} each); {adjusted}",
            before.samples, after.samples, before.period, after.period
        );
        if !before.period_known || !after.period_known {
            text.push_str(
                "; weights have no common step, so the smallest one was taken for a sample: give --period",
            );
        }
        text
    }

    /// One line: what changed most, or that nothing did.
    pub fn verdict(&self, name: &dyn Fn(&[u8]) -> String) -> String {
        let Settings { alpha, min_effect, .. } = self.settings;
        let profile = match self.profile.percent() {
            Some(percent) => {
                format!("profile {} to {} ({percent:+.1}%)", self.profile.before, self.profile.after)
            }
            None => format!("profile {} to {}", self.profile.before, self.profile.after),
        };
        let Some(first) = self.significant().next() else {
            let whole = if self.profile.significant { "; the whole did change" } else { "" };
            return format!(
                "no significant change (alpha {alpha}, at least {min_effect} pp); {profile}{whole}"
            );
        };
        let grew = self.significant().filter(|row| row.leading().points() > 0.0).count();
        let shrank = self.significant().count() - grew;
        let change = first.leading();
        let kind = if std::ptr::eq(change, &first.own) { "self" } else { "total" };
        let place = match first.presence() {
            Presence::Both => "",
            Presence::New => ", new",
            Presence::Gone => ", gone",
        };
        format!(
            "{grew} grew, {shrank} shrank; most: {} ({kind} {:+.2} pp{place}); {profile}",
            name(&first.name),
            change.points()
        )
    }
}

/// Values of both sides.
#[derive(Clone, Copy)]
struct Sides<'v> {
    before: &'v [Weight],
    after: &'v [Weight],
}

impl<'v> Sides<'v> {
    fn split(values: &'v [Weight], before: usize) -> Sides<'v> {
        let (before, after) = values.split_at(before);
        Sides { before, after }
    }
}

struct Judge<'j> {
    settings: &'j Settings,
    sampling: (Sampling, Sampling),
    ratios: (Ratio, Ratio),
    decimals: u8,
    sums: Sides<'j>,
}

impl Judge<'_> {
    /// The weights of a change, tested.
    fn change(&self, values: &[Weight]) -> Result<Change> {
        let sides = Sides::split(values, self.sums.before.len());
        let mut change = self.measured(sides)?;
        change.test = self.test(sides)?;
        Ok(change)
    }

    fn measured(&self, sides: Sides<'_>) -> Result<Change> {
        let add = |values: &[Weight]| values.iter().try_fold(Weight::ZERO, |sum, &one| sum.checked_add(one));
        let (before, after) = (add(sides.before)?, add(sides.after)?);
        Ok(Change {
            before: self.ratios.0.apply(before, self.decimals)?,
            after: self.ratios.1.apply(after, self.decimals)?,
            share_before: share(before, add(self.sums.before)?),
            share_after: share(after, add(self.sums.after)?),
            test: None,
            significant: false,
        })
    }

    fn test(&self, sides: Sides<'_>) -> Result<Option<Test>> {
        let counts = |values: &[Weight], sums: &[Weight], sampling: Sampling| -> Vec<Count> {
            let period = sampling.period.to_f64();
            let samples = |weight: &Weight| (weight.to_f64() / period).max(0.0);
            values.iter().zip(sums).map(|(x, n)| Count { hits: samples(x), of: samples(n) }).collect()
        };
        let before = counts(sides.before, self.sums.before, self.sampling.0);
        let after = counts(sides.after, self.sums.after, self.sampling.1);
        let all = |counts: &[Count]| {
            counts
                .iter()
                .fold(Count::default(), |sum, one| Count { hits: sum.hits + one.hits, of: sum.of + one.of })
        };
        let (all_before, all_after) = (all(&before), all(&after));
        if all_before.hits.max(all_after.hits) < self.settings.min_samples.max(1.0) {
            return Ok(None);
        }
        let alpha = self.settings.alpha;
        if before.len() < 2 || after.len() < 2 {
            return Ok(Some(compare_shares(all_before, all_after, alpha)));
        }
        let pooled =
            Count { hits: all_before.hits + all_after.hits, of: all_before.of + all_after.of }.share();
        let pooled = pooled.clamp(0.0, 1.0);
        let floor = |counts: &[Count]| {
            let mean = counts.iter().map(|count| count.of).sum::<f64>() / counts.len() as f64;
            if mean > 0.0 { pooled * (1.0 - pooled) / mean } else { 0.0 }
        };
        let shares = |counts: &[Count]| counts.iter().map(|count| count.share()).collect::<Vec<_>>();
        let mut test =
            compare_runs(&shares(&before), &shares(&after), (floor(&before), floor(&after)), alpha);
        if self.settings.normalize == Normalize::No {
            // A share may change because the others do: the weight itself has to differ as well.
            let weights = |values: &[Weight]| values.iter().map(|weight| weight.to_f64()).collect::<Vec<_>>();
            let by_weight = compare_runs(&weights(sides.before), &weights(sides.after), (0.0, 0.0), alpha);
            test.p = test.p.max(by_weight.p);
        }
        Ok(Some(test))
    }

    /// Adjusts all tests together and says what counts; returns how many tests there were.
    fn decide(&self, rows: &mut [Row], profile: &mut Change) -> Result<usize> {
        let tested = |rows: &[Row]| -> Vec<f64> {
            let changes = rows.iter().flat_map(|row| [&row.own, &row.total]);
            changes.filter_map(|change| change.test.map(|test| test.p)).collect()
        };
        let mut values = tested(rows);
        adjust(&mut values);
        let tests = values.len();
        let mut adjusted = values.into_iter();
        let whole = profile.before;
        for row in rows {
            for change in [&mut row.own, &mut row.total] {
                if let Some(test) = &mut change.test {
                    test.p = adjusted.next().unwrap_or(1.0);
                    test.interval = (100.0 * test.interval.0, 100.0 * test.interval.1);
                    change.significant = test.p < self.settings.alpha && self.is_large(change, whole)?;
                }
            }
        }
        profile.test = self.test_profile();
        let large = profile.percent().is_none_or(|percent| percent.abs() >= self.settings.min_effect);
        profile.significant = large && profile.test.is_some_and(|test| test.p < self.settings.alpha);
        Ok(tests)
    }

    /// A change has to be large enough in weight and in share, in the same direction: when one
    /// function grows, the shares of all others shrink, and nothing happened to them.
    fn is_large(&self, change: &Change, whole: Weight) -> Result<bool> {
        let least = self.settings.min_effect;
        let points = change.points();
        if points == 0.0 || points.abs() < least {
            return Ok(false);
        }
        if whole <= Weight::ZERO {
            return Ok(true);
        }
        let of_whole = 100.0 * change.difference()?.to_f64() / whole.to_f64();
        Ok(of_whole.abs() >= least && (of_whole > 0.0) == (points > 0.0))
    }

    /// Whether the whole changed. Of one recording a side nothing is known about how much the same
    /// program differs from run to run, so there is no test.
    fn test_profile(&self) -> Option<Test> {
        let Sides { before, after } = self.sums;
        if self.settings.normalize != Normalize::No || before.len() < 2 || after.len() < 2 {
            return None;
        }
        let weights = |values: &[Weight]| values.iter().map(|weight| weight.to_f64()).collect::<Vec<_>>();
        Some(compare_runs(&weights(before), &weights(after), (0.0, 0.0), self.settings.alpha))
    }
}

fn share(part: Weight, whole: Weight) -> f64 {
    let whole = whole.to_f64();
    if whole == 0.0 { 0.0 } else { part.to_f64() / whole }
}

/// Weights as samples: by the period that is given, or in the header, or the largest weight that
/// all are multiples of. Sums of varying periods (cycles) have no such measure but 1, which would
/// make a million samples of one; then no sample is taken to weigh less than the lightest stack.
fn sampling(surveys: &[Survey], settings: &Settings) -> Result<Sampling> {
    let mut total = Weight::ZERO;
    let mut step = Weight::ZERO;
    let mut least: Option<Weight> = None;
    for survey in surveys {
        total = total.checked_add(survey.total)?;
        step = step.common_step(survey.step);
        least = least.into_iter().chain(survey.least).min();
    }
    let least = least.unwrap_or(Weight::ONE);
    let given = settings.period.or_else(|| surveys.iter().find_map(|survey| survey.facts.period));
    let (period, period_known) = match given {
        Some(period) => (period, true),
        None if step.is_zero() => (Weight::ONE, true),
        None if step.to_f64() * 1000.0 < least.to_f64() => (least, false),
        None => (step, true),
    };
    let samples = (total.to_f64() / period.to_f64()).max(0.0);
    Ok(Sampling { runs: surveys.len(), samples, period, period_known })
}

/// The factors that turn the sums of each side into means of its runs, normalised.
fn mean_ratios(
    normalize: Normalize,
    (before, after): (Weight, Weight),
    runs: (usize, usize),
) -> Result<(Ratio, Ratio)> {
    let count = |runs: usize| Weight::new(runs.max(1) as i128);
    let mean = |runs| Ratio { of: Weight::ONE, over: count(runs) };
    let usable = before > Weight::ZERO && after > Weight::ZERO;
    Ok(match normalize {
        Normalize::BeforeToAfter if usable => {
            (Ratio { of: after, over: before.checked_mul(count(runs.1))? }, mean(runs.1))
        }
        Normalize::AfterToBefore if usable => {
            (mean(runs.0), Ratio { of: before, over: after.checked_mul(count(runs.0))? })
        }
        Normalize::Both(weight) if usable => {
            (Ratio { of: weight, over: before }, Ratio { of: weight, over: after })
        }
        _ => (mean(runs.0), mean(runs.1)),
    })
}

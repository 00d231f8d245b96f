//! The sentences of a report: the change of the whole, what got slower and faster, and the smallest change that
//! would have been found.

use super::change::{Change, Presence, Row};
use super::escape::Escape;
use super::numbers::{self, p_short, three};
use super::report::Report;
use crate::profile::units;
use crate::weight::Weight;

/// The most functions that a headline names, slower and faster each.
const NAMES: usize = 3;
/// The share of a function that is taken for the whole.
const NEARLY_ALL: f64 = 0.95;
/// The least share of a function whose smallest visible change is given.
const HEAVY: f64 = 0.05;

/// The size of the change that a row is named for.
fn size(row: &Row) -> Weight {
    row.leading().difference().unwrap_or(Weight::ZERO)
}

impl Report {
    /// One line that begins with the change of the whole and names the functions that got slower and faster most;
    /// or says that nothing changed, and the smallest change that would have been found.
    pub fn headline(&self) -> String {
        self.headline_with(&Escape::TEXT)
    }

    /// [`Report::headline`] with names and the unit as `escape` writes them.
    pub(super) fn headline_with(&self, escape: &Escape) -> String {
        let whole = format!("whole {}", self.change(&self.profile, escape));
        let is_both = |row: &Row| row.presence() == Presence::Both;
        // Code that moved between a function and its callees made nothing slower.
        let is_moved = |row: &Row| row.net.as_ref().is_some_and(|net| !net.stands_out());
        let (more, less) = match units::is_speed(self.unit()) {
            true => ("slower", "faster"),
            false => ("more", "less"),
        };
        let lists = |known: &dyn Fn(&Row) -> bool| {
            let lists = [
                self.named(more, escape, &|row| {
                    known(row) && is_both(row) && size(row) > Weight::ZERO && !is_moved(row)
                }),
                self.named(less, escape, &|row| known(row) && is_both(row) && size(row).is_negative()),
                self.named("new", escape, &|row| known(row) && row.presence() == Presence::New),
                self.named("gone", escape, &|row| known(row) && row.presence() == Presence::Gone),
                self.named("with code of what it called", escape, &|row| {
                    known(row) && is_both(row) && is_moved(row)
                }),
            ];
            lists.into_iter().flatten().collect::<Vec<_>>()
        };
        let named = lists(&Row::is_significant);
        let suspected = lists(&Row::is_suspected);
        let unsure = format!("not sure by one run a side: {}", suspected.join("; "));
        match (named.is_empty(), suspected.is_empty(), self.profile.significant) {
            (false, true, _) => format!("{}; {whole}", named.join("; ")),
            (false, false, _) => format!("{}; {unsure}; {whole}", named.join("; ")),
            (true, false, _) => format!("{unsure}; {whole}; record 5 runs to decide"),
            (true, true, true) => format!("{whole}; no function stands out ({})", self.sight()),
            (true, true, false) => format!("no change; {whole}; {}{}", self.sight(), self.advice()),
        }
    }

    /// Some of the functions that are meant, each with the change of its weight: `slower: lex +1.2 ms (+40%), parse
    /// +300 µs (+5.2%) and 2 more`.
    fn named(&self, word: &str, escape: &Escape, is_meant: &dyn Fn(&Row) -> bool) -> Option<String> {
        let by_itself = |row: &Row| row.own.stands_out();
        // What is on all stacks says what the whole says.
        let is_whole = |row: &Row| {
            !by_itself(row) && row.total.share_before >= NEARLY_ALL && row.total.share_after >= NEARLY_ALL
        };
        let mut rows: Vec<&Row> = self.rows.iter().filter(|row| is_meant(row) && !is_whole(row)).collect();
        // A function that works itself says more than those that call it.
        let magnitude = |row: &Row| size(row).to_f64().abs();
        rows.sort_by(|a, b| {
            let own = by_itself(b).cmp(&by_itself(a));
            own.then(magnitude(b).total_cmp(&magnitude(a))).then_with(|| a.name.cmp(&b.name))
        });
        let unit = self.unit_as(escape);
        let named = rows.iter().take(NAMES).map(|row| {
            let change = row.leading();
            let difference = numbers::amount(size(row), unit.as_deref());
            let sign = if size(row) > Weight::ZERO { "+" } else { "" };
            let percent = match row.presence() {
                Presence::Both => format!(" ({})", numbers::percent(change)),
                Presence::New | Presence::Gone => String::new(),
            };
            format!("{} {sign}{difference}{percent}", (escape.name)(&row.name))
        });
        let names = named.collect::<Vec<_>>().join(", ");
        let more = rows.len().saturating_sub(NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!rows.is_empty()).then(|| format!("{word}: {names}{more}"))
    }

    /// A change as benchstat has it: `147 ms ±2% → 188 ms ±3%  +28%  (p=0.001 n=5+5)`.
    pub(super) fn change(&self, change: &Change, escape: &Escape) -> String {
        let unit = self.unit_as(escape);
        let runs = format!("n={}+{}", self.sampling.0.runs, self.sampling.1.runs);
        let p = change.p.map_or_else(|| format!(" ({runs})"), |p| format!("  ({} {runs})", p_short(p)));
        format!("{}{p}", numbers::change(change, unit.as_deref()))
    }

    /// The interval of the whole, where one run a side tells less than it seems: `Whole +3.1% (plausible -9 … +17%); `.
    pub(super) fn plausible(&self) -> Option<String> {
        let test = self.profile.weight?;
        let (low, high) = test.interval_at_level(0.05);
        Some(format!(
            "Whole {} (plausible {:+.0} … {:+.0}%, as {} differ by {}% from run to run); ",
            numbers::percent(&self.profile),
            low,
            high,
            self.run_spread.describe(),
            three(100.0 * self.run_spread.deviation)
        ))
    }

    /// The smallest change that would have been found: `would have seen +8% of the whole, +12% of any function above 5%
    /// of it`.
    pub(super) fn sight(&self) -> String {
        let whole = self.profile.detectable.and_then(|seen| seen.percent);
        let whole = whole.map(|percent| match self.lone_recording() {
            Some(lone) => format!("+{}% of the whole by {lone}", three(percent)),
            None => format!("+{}% of the whole", three(percent)),
        });
        let seen: Vec<String> = whole.into_iter().chain(self.sight_of_heavy()).collect();
        match seen.is_empty() {
            true => "too few samples to test any function".to_owned(),
            false => format!("would have seen {}", seen.join(", ")),
        }
    }

    /// The advice to record several runs, where a side has one; empty otherwise.
    fn advice(&self) -> &'static str {
        if self.lone_recording().is_some() { "; five runs a side see more" } else { "" }
    }

    /// The smallest growth that would have been found of every heavy function: `+12% of any function above 5% of it`.
    pub(super) fn sight_of_heavy(&self) -> Option<String> {
        let changes = || {
            let heavy = self.rows.iter().flat_map(|row| [&row.own, &row.total]);
            heavy.filter(|change| change.share_before >= HEAVY && change.share.is_some())
        };
        let percents: Option<Vec<f64>> = changes().map(|change| change.detectable?.percent).collect();
        let most = percents?.into_iter().reduce(f64::max)?;
        Some(format!("+{}% of any function above {}% of it", three(most), 100.0 * HEAVY))
    }

    /// The reason to assume the spread of the whole between runs: a side has one recording, which does not
    /// tell it.
    pub(super) fn lone_recording(&self) -> Option<String> {
        match (self.sampling.0.runs, self.sampling.1.runs) {
            _ if self.options.one_run => None,
            (1, 1) => Some("one run each".to_owned()),
            (1, after) => Some(format!("one run before, {after} after")),
            (before, 1) => Some(format!("{before} runs before, one after")),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Profile;
    use crate::diff::{Diff, ReportOptions};
    use crate::weight::Weight;

    #[test]
    fn what_takes_time_is_slower_and_all_else_is_more() {
        let options = ReportOptions::default().period(Weight::ONE);
        for (unit, words) in [
            ("# unit: ns\n", ["slower: a +", "faster: b -"]),
            ("# unit: cycles\n", ["slower: a +", "faster: b -"]),
            ("", ["slower: a +", "faster: b -"]),
            ("# unit: bytes\n", ["more: a +", "less: b -"]),
            ("# unit: page-faults\n", ["more: a +", "less: b -"]),
        ] {
            let profile = |a: u32, b: u32| Profile::from_bytes(format!("{unit}a {a}\nb {b}\n")).unwrap();
            let report =
                Diff::new(&profile(9000, 9000), &profile(12_000, 6000)).report_with(&options).unwrap();
            let headline = report.headline();
            assert!(words.iter().all(|word| headline.contains(word)), "{headline}");
        }
    }
}

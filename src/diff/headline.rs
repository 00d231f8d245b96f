//! The sentences of a report: what changed most, the change of the whole, and the smallest change that
//! would have been found.

use super::change::Presence;
use super::escape::Escape;
use super::numbers::{change, of_any_function, three};
use super::report::Report;

impl Report {
    /// One line that names the largest significant change; or says that there is none, and the smallest
    /// that would have been found.
    pub fn headline(&self) -> String {
        self.headline_with(&Escape::TEXT)
    }

    /// [`Report::headline`] with names and the unit as `escape` writes them.
    pub(super) fn headline_with(&self, escape: &Escape) -> String {
        let unit = self.unit_as(escape);
        let whole = self.whole(unit.as_deref());
        let Some(first) = self.significant().next() else {
            let functions = if self.profile.significant { "function" } else { "change" };
            let seen = self.sight();
            return match self.profile.significant {
                true => format!("{whole}; no {functions} stands out ({seen})"),
                false => format!("no significant {functions} ({seen}); {whole}"),
            };
        };
        let grew = self.significant().filter(|row| row.leading().points() > 0.0).count();
        let shrank = self.significant().count() - grew;
        let leading = first.leading();
        let kind = if std::ptr::eq(leading, &first.own) { "self" } else { "total" };
        let place = match first.presence() {
            Presence::Both => "",
            Presence::New => ", new",
            Presence::Gone => ", gone",
        };
        format!(
            "{grew} grew, {shrank} shrank; most: {}{place}, {kind} {}; {whole}",
            (escape.name)(&first.name),
            change(leading, unit.as_deref())
        )
    }

    /// The change of the whole: `the whole 420 → 470 ms, +12%, p = 0.003`.
    fn whole(&self, unit: Option<&str>) -> String {
        format!("the whole {}", change(&self.profile, unit))
    }

    /// The smallest change that would have been found: `would have seen 2.1 points of any function, +8% of
    /// the whole`.
    pub(super) fn sight(&self) -> String {
        let of_functions = match self.detectable() {
            Some(seen) => format!("would have seen {}", of_any_function("", seen.points)),
            None => "too few samples to test any function".to_owned(),
        };
        match self.profile.detectable.and_then(|seen| seen.percent) {
            Some(percent) => match self.lone_recording() {
                Some(lone) => format!("{of_functions}, about +{}% of the whole by {lone}", three(percent)),
                None => format!("{of_functions}, +{}% of the whole", three(percent)),
            },
            None => of_functions,
        }
    }

    /// The reason to assume the spread of the whole between runs: a side has one recording, which does not
    /// tell it.
    pub(super) fn lone_recording(&self) -> Option<&'static str> {
        match (self.sampling.0.runs, self.sampling.1.runs) {
            (1, 1) => Some("one recording a side"),
            (1, _) => Some("one recording before"),
            (_, 1) => Some("one recording after"),
            _ => None,
        }
    }
}

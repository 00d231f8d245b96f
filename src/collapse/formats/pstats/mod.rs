//! Python's `.prof` files: what `cProfile`, `profile`, yappi (`type="pstat"`) and pyinstrument (`-r
//! pstats`) save for the module `pstats`.
//!
//! ```text
//! {('orders.py', 6, 'berechne'): (calls, primitive calls, own seconds, seconds with callees,
//!     {('orders.py', 23, 'pipeline'): (calls, primitive calls, own seconds, seconds)}), …}
//! ```
//! in Python's `marshal`. There are no stacks in it, only who called whom: the stacks that come
//! out are an estimate, see [`crate::collapse::kit::edges`]; what each function takes itself is exact, in
//! nanoseconds, the finest that Python's clocks tick. `profile` notes of a caller only how often
//! it called; its share of the time is then that of its calls. The numbers of calls are not to be
//! relied on: pyinstrument writes -1. The format is nowhere documented; it is made in
//! `Lib/pstats.py` and `Lib/cProfile.py` (`create_stats`).

mod marshal;

use self::marshal::{Id, Marshal, Object};
use crate::collapse::kit::edges::Graph;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::{Error, Position, Result};
use crate::folded::FrameId;
use crate::input::Input;
use crate::unique::Unique;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "pstats",
    producer: "cProfile, profile; yappi, pyinstrument -r pstats (stacks are estimates)",
    tested: Tested::Seen("CPython 2.7, 3.6 to 3.13; yappi 1.7, pyinstrument 5.1"),
    values: "time",
    unit: "ns",
};

/// Collapses `.prof` files.
pub struct Pstats;

impl Collapser for Pstats {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        // A dictionary whose first key is a tuple of three; `{` in JSON has something else behind.
        let unflagged = |at: usize| head.get(at).map(|byte| byte & 0x7f);
        let tuple = match unflagged(1) {
            Some(b')') => head.get(2) == Some(&3),
            Some(b'(') => head.get(2..6) == Some(&[3, 0, 0, 0]),
            _ => false,
        };
        if unflagged(0) == Some(b'{') && tuple { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let name = input.name().clone();
        let mut reader = input.into_reader();
        let (marshal, id) = Marshal::read(&mut reader)?;
        report.expect_end(&mut reader)?;
        let mut functions = Functions { marshal: &marshal, keys: Unique::default() };
        let graph = functions.graph(id).map_err(|e| {
            let byte = e.position().byte;
            e.at(Position { byte, ..Position::file(name.clone()) })
        })?;
        let mut names = FrameNames::default();
        let frames: Vec<FrameId> =
            functions.keys.all().iter().map(|key| frame(key, &mut names, sink)).collect();
        let (mut forest, nodes) = graph.stacks(&frames)?;
        let mut values = Values::single(reading, "time", "ns");
        forest.samples(&[], nodes, sink, |stack, weight, sink| values.add(0, stack, weight, sink))?;
        values.finish(report)
    }
}

/// A function: file, line, name.
type Key<'m> = (&'m [u8], i128, &'m [u8]);

/// The functions, numbered as they come.
struct Functions<'m> {
    marshal: &'m Marshal,
    keys: Unique<Key<'m>>,
}

impl<'m> Functions<'m> {
    fn graph(&mut self, id: Id) -> Result<Graph> {
        let marshal = self.marshal;
        let mut graph = Graph::default();
        let entries =
            marshal.entries(id).ok_or_else(|| marshal.unexpected(id, "a dictionary of functions"))?;
        for (key, stats) in entries {
            let function = self.function_number(key)?;
            let Some(&[_, _, own, total, callers, ..]) = marshal.items(stats) else {
                return Err(marshal.unexpected(stats, "a tuple of five: calls, times and callers"));
            };
            graph.add_self(function, Weight::new(self.nanoseconds(own)?))?;
            let total = self.nanoseconds(total)?;
            let callers: Vec<(Id, Id)> = match marshal.entries(callers) {
                Some(callers) => callers.collect(),
                None => return Err(marshal.unexpected(callers, "a dictionary of callers")),
            };
            let counts = callers.iter().map(|(_, calls)| self.count(*calls));
            let all = counts.fold(0i128, |sum, count| sum.saturating_add(count));
            for (caller, calls) in callers {
                let caller = self.function_number(caller)?;
                let cost = match marshal.items(calls) {
                    // The last is the time with callees.
                    Some(&[.., time]) => self.nanoseconds(time)?,
                    Some([]) => return Err(marshal.unexpected(calls, "the numbers of a caller")),
                    None if matches!(marshal.get(calls), Object::Whole(_)) => {
                        let count = Weight::new(self.count(calls));
                        let share = Weight::new(total).times_ratio(count, Weight::new(all.max(1)), 0)?;
                        graph.add_call(caller, function, share)?;
                        continue;
                    }
                    None => return Err(marshal.unexpected(calls, "the numbers of a caller")),
                };
                graph.add_call(caller, function, Weight::new(cost))?;
            }
        }
        Ok(graph)
    }

    /// The number of a function.
    fn function_number(&mut self, id: Id) -> Result<usize> {
        let marshal = self.marshal;
        let key = || {
            let &[file, line, name] = marshal.items(id)? else { return None };
            let Object::Whole(line) = marshal.get(line) else { return None };
            Some((marshal.text(file)?, line, marshal.text(name)?))
        };
        let key = key().ok_or_else(|| marshal.unexpected(id, "a function: file, line and name"))?;
        Ok(self.keys.key(key) as usize)
    }

    /// The number of calls, where nothing else is known.
    fn count(&self, id: Id) -> i128 {
        match self.marshal.get(id) {
            Object::Whole(count) => count.max(0),
            _ => 0,
        }
    }

    fn nanoseconds(&self, id: Id) -> Result<i128> {
        /// Three hundred years.
        const MOST: f64 = 1e10;
        match self.marshal.get(id) {
            // Clocks tick in nanoseconds, or in less: rounding gives back what they said.
            Object::Float(seconds) if seconds.abs() < MOST => Ok((seconds * 1e9).round() as i128),
            Object::Whole(seconds) if seconds.unsigned_abs() < MOST as u128 => Ok(seconds * 1_000_000_000),
            Object::Float(seconds) => {
                let found = seconds.to_string();
                let place = self.marshal.unexpected(id, "").position().clone();
                Err(Error::malformed("a time in seconds", found.as_bytes()).at(place))
            }
            _ => Err(self.marshal.unexpected(id, "a time in seconds")),
        }
    }
}

/// `berechne (orders.py:6)`; functions of C as `pstats` shows them: `{built-in method time.sleep}`.
fn frame((file, line, name): &Key<'_>, names: &mut FrameNames, sink: &mut dyn Sink) -> FrameId {
    if *file == b"~" && *line == 0 {
        let inner = name.strip_prefix(b"<").and_then(|name| name.strip_suffix(b">"));
        return match inner {
            Some(inner) => names.plain(&[b"{", inner, b"}"].concat(), sink),
            None => names.plain(name, sink),
        };
    }
    names.located(name, file, u64::try_from(*line).ok().filter(|line| *line > 0), sink)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::tests::{collapse_bytes, fold};

    /// Marshal data of what Python would write.
    fn text(text: &str) -> Vec<u8> {
        [b"z", &[text.len() as u8][..], text.as_bytes()].concat()
    }

    fn whole(n: i32) -> Vec<u8> {
        [b"i", &n.to_le_bytes()[..]].concat()
    }

    fn float(n: f64) -> Vec<u8> {
        [b"g", &n.to_le_bytes()[..]].concat()
    }

    fn tuple(items: &[Vec<u8>]) -> Vec<u8> {
        [b")", &[items.len() as u8][..], &items.concat()].concat()
    }

    fn dictionary(items: &[Vec<u8>]) -> Vec<u8> {
        [b"{", &items.concat()[..], b"0"].concat()
    }

    fn function(name: &str) -> Vec<u8> {
        if name.starts_with('<') {
            return tuple(&[text("~"), whole(0), text(name)]);
        }
        tuple(&[text("a;b.py"), whole(7), text(name)])
    }

    fn stats(own: f64, total: f64, callers: &[Vec<u8>]) -> Vec<u8> {
        tuple(&[whole(-1), whole(1), float(own), float(total), dictionary(callers)])
    }

    fn call(total: f64) -> Vec<u8> {
        tuple(&[whole(1), whole(1), float(0.0), float(total)])
    }

    #[test]
    fn own_times_are_exact_and_shared_by_what_callers_took() {
        let prof = dictionary(&[
            function("main"),
            stats(0.1, 0.6, &[]),
            function("g"),
            stats(0.0, 0.2, &[function("main"), call(0.2)]),
            function("<built-in method time.sleep>"),
            stats(0.5, 0.5, &[function("main"), call(0.3), function("g"), call(0.2)]),
        ]);
        assert_eq!(Pstats.detect(&prof), Certainty::Yes);
        assert_eq!(
            fold(&Pstats, &prof, &CollapseOptions::default()),
            "main (a:b.py:7) 100000000\n\
             main (a:b.py:7);g (a:b.py:7);{built-in method time.sleep} 200000000\n\
             main (a:b.py:7);{built-in method time.sleep} 300000000\n"
        );
    }

    #[test]
    fn callers_may_be_numbers_of_calls() {
        let prof = dictionary(&[
            function("a"),
            stats(0.0, 0.0, &[]),
            function("b"),
            stats(0.0, 0.0, &[]),
            function("f"),
            stats(0.4, 0.4, &[function("a"), whole(1), function("b"), whole(3)]),
        ]);
        assert_eq!(
            fold(&Pstats, &prof, &CollapseOptions::default()),
            "a (a:b.py:7);f (a:b.py:7) 100000000\nb (a:b.py:7);f (a:b.py:7) 300000000\n"
        );
    }

    #[test]
    fn what_is_no_profile_is_refused() {
        let error = |prof: Vec<u8>| {
            collapse_bytes(&Pstats, prof, &CollapseOptions::default()).unwrap_err().to_string()
        };
        for (prof, message) in [
            (whole(1), "test: expected a dictionary of functions, found \"a whole number\""),
            (dictionary(&[whole(1), whole(2)]), "test: byte 1: expected a function: file, line and name"),
            (dictionary(&[function("f"), tuple(&[whole(1)])]), "expected a tuple of five"),
            (
                dictionary(&[function("f"), stats(f64::NAN, 0.0, &[])]),
                "expected a time in seconds, found \"NaN\"",
            ),
            (dictionary(&[function("f"), stats(1e300, 0.0, &[])]), "expected a time in seconds"),
            (
                dictionary(&[function("f"), stats(0.0, 0.0, &[function("g"), text("x")])]),
                "expected the numbers of a caller, found \"a text\"",
            ),
        ] {
            let found = error(prof);
            assert!(found.contains(message), "{found}");
        }
    }
}

//! Filters a profile in memory.

use super::{Op, Pipeline, RunOptions};
use crate::error::Result;
use crate::profile::Profile;

impl Profile {
    /// Applies operations one after the other.
    ///
    /// Frames keep their places, also where they are renamed, and the single samples stay with
    /// their stacks. Facts stay as far as they hold: the unit and the period are converted with the
    /// weights, the number of samples is counted again or left out.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`](crate::ErrorKind::Setting) for a value that cannot be used;
    /// [`ErrorKind::Overflow`](crate::ErrorKind::Overflow).
    ///
    /// ```
    /// use fg_tools::Profile;
    /// use fg_tools::filter::Op;
    ///
    /// let profile = Profile::from_lines(["main;fib;fib 40", "main;idle 50", "main 2"])?;
    /// let filtered = profile.filter(&[Op::ignore("^idle$")?, Op::recursion("direct")?, Op::reverse()])?;
    /// let mut folded = Vec::new();
    /// filtered.write_folded(&mut folded)?;
    /// assert_eq!(folded, b"fib;main 40\nmain 2\n");
    /// # Ok::<(), fg_tools::Error>(())
    /// ```
    pub fn filter(&self, ops: &[Op]) -> Result<Profile> {
        let (profile, _) = Pipeline::new(ops)?.apply(self, &RunOptions::default())?;
        Ok(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::{Place, Weights};
    use crate::profile::{Context, Kind, ProfileBuilder, Sink, Wants};
    use crate::weight::Weight;

    /// Four samples of 10 ns: `main;work` at two lines, `main;idle` twice.
    fn recorded() -> Profile {
        let mut builder = ProfileBuilder::new(Wants::ALL);
        builder.facts.unit = Some("ns".into());
        builder.facts.period = Some(Weight::new(10));
        builder.facts.samples = Some(4);
        builder.facts.cpu_time = Some(std::time::Duration::from_nanos(40));
        builder.facts.duration = Some(std::time::Duration::from_nanos(10));
        let place = |line, kind| Place { module: b"app", line, kind, ..Place::default() };
        let main = builder.frame_at(b"main", &place(1, Kind::User));
        for (time, name, line) in [(1, "work", 7), (2, "idle", 3), (3, "work", 8), (4, "idle", 3)] {
            let kind = if name == "idle" { Kind::Kernel } else { Kind::User };
            let leaf = builder.frame_at(name.as_bytes(), &place(line, kind));
            let context = Context { time: Some(time), ..Context::UNKNOWN };
            builder.sample(&[main, leaf], Weights::one(Weight::new(10)), &context).unwrap();
        }
        builder.finish().unwrap()
    }

    fn folded(profile: &Profile) -> String {
        let mut out = Vec::new();
        profile.stacks().write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn counts_are_made_again() {
        let profile = recorded();
        let busy = profile.filter(&[Op::ignore("idle").unwrap()]).unwrap();
        assert_eq!((folded(&busy).as_str(), busy.facts().samples), ("main;work 20\n", Some(2)));
        assert_eq!(busy.facts().cpu_time, None);
        assert_eq!(busy.facts().period, Some(Weight::new(10)));
        let same = profile.filter(&[Op::hide("idle").unwrap()]).unwrap();
        assert_eq!(same.facts(), profile.facts());
        let text =
            Profile::from_bytes("# unit: ns\n# samples: 3 samples\n# period: 10 ns\na 20\nb 10\n").unwrap();
        let of = |ops: &[Op]| text.filter(ops).unwrap().facts().samples;
        assert_eq!(of(&[Op::top(1)]), Some(2));
        assert_eq!(of(&[Op::scale(Weight::new(3))]), Some(3));
        // Single samples are counted, whatever they weigh, unless more were stated than are there.
        for (stated, left) in [(3, Some(2)), (9, None)] {
            let mut builder = ProfileBuilder::new(Wants::ALL);
            builder.facts.samples = Some(stated);
            for (name, weight) in [("a", 5), ("b", 70), ("a", 11)] {
                builder.add_at([name], Weight::new(weight), &Context::UNKNOWN).unwrap();
            }
            let filtered = builder.finish().unwrap().filter(&[Op::ignore("b").unwrap()]).unwrap();
            assert_eq!(filtered.facts().samples, left);
        }
        // The weights are not samples of one weight: no number of samples is given.
        let text = Profile::from_bytes("# samples: 3 samples\n# period: 10 ns\na 20\nb 11\n").unwrap();
        assert_eq!(text.filter(&[Op::top(1)]).unwrap().facts().samples, None);
        assert_eq!(text.filter(&[Op::scale(Weight::new(3))]).unwrap().facts().samples, None);
        // Where no stack goes, the count stands as it was stated.
        assert_eq!(text.filter(&[Op::rename("s/a/c/").unwrap()]).unwrap().facts().samples, Some(3));
    }

    #[test]
    fn a_range_of_time_has_its_part_of_the_duration() {
        let profile = recorded();
        let of = |ranges: &[&str]| {
            let ops: Vec<_> = ranges.iter().map(|range| Op::time(range).unwrap()).collect();
            let filtered = profile.filter(&ops).unwrap();
            (folded(&filtered), filtered.facts().duration.map(|time| time.as_nanos()))
        };
        let two = "main;idle 10\nmain;work 10\n".to_owned();
        assert_eq!(of(&["1ns..3ns"]), (two.clone(), Some(2)));
        assert_eq!(of(&["0ns..3ns", "1ns..9ns"]), (two, Some(2)));
        assert_eq!(of(&["3ns.."]), ("main;idle 10\n".to_owned(), Some(7)));
    }

    #[test]
    fn a_unit_is_converted_with_all_that_has_it() {
        let converted = recorded().filter(&[Op::to_unit("us").unwrap()]).unwrap();
        let facts = converted.facts();
        assert_eq!((facts.unit.as_deref(), facts.samples), (Some("us"), Some(4)));
        assert_eq!(facts.period, Weight::parse(b"0.01"));
        assert!(
            converted.samples().iter().all(|sample| Some(sample.weights.value) == Weight::parse(b"0.01"))
        );
        let negative = recorded().filter(&[Op::scale(Weight::new(-1))]).unwrap();
        assert_eq!(negative.facts().period, None);
    }

    #[test]
    fn samples_and_places_stay_with_their_stacks() {
        let ops = [Op::rename("s/^work$/run/").unwrap(), Op::ignore("idle").unwrap(), Op::reverse()];
        let filtered = recorded().filter(&ops).unwrap();
        assert_eq!(folded(&filtered), "run;main 20\n");
        let run = filtered.places().get(b"run").unwrap();
        assert_eq!((run.module, run.kind), (&b"app"[..], Kind::User));
        // Names that no stack has any more are gone with their places.
        assert!(filtered.places().get(b"idle").is_none() && filtered.places().get(b"work").is_none());
        let times: Vec<_> = filtered.samples().iter().map(|sample| (sample.time, sample.stack)).collect();
        assert_eq!(times.iter().map(|(time, _)| *time).collect::<Vec<_>>(), [Some(1), Some(3)]);
        for (_, stack) in times {
            let names: Vec<_> = filtered.stack(stack).iter().map(|&id| filtered.stacks().name(id)).collect();
            assert_eq!(names, [&b"run"[..], b"main"]);
        }
        let kernel = recorded().filter(&[Op::kind("kernel").unwrap()]).unwrap();
        assert_eq!(folded(&kernel), "main;idle 20\n");
    }

    #[test]
    fn stacks_of_several_lines_are_one_to_operations() {
        let profile = recorded();
        // Both lines of `work` together weigh as much as `idle`.
        let heavy = profile.filter(&[Op::min_weight(Weight::new(20))]).unwrap();
        assert_eq!((folded(&heavy).as_str(), heavy.stack_count()), ("main;idle 20\nmain;work 20\n", 3));
        assert_eq!(folded(&profile.filter(&[Op::top(1)]).unwrap()), "main;idle 20\n");
        // As many as there are, and more.
        for count in [2, 3] {
            assert_eq!(folded(&profile.filter(&[Op::top(count)]).unwrap()), folded(&profile));
        }
        let rest = profile.filter(&[Op::top(1).rest(true)]).unwrap();
        assert_eq!((folded(&rest).as_str(), rest.samples().len()), ("[other] 20\nmain;idle 20\n", 4));
        let mut builder = ProfileBuilder::new(Wants::ALL);
        let frames: Vec<_> =
            (1..5).map(|line| builder.frame_at(b"f", &Place { line, ..Place::default() })).collect();
        builder.sample(&frames, Weights::one(Weight::ONE), &Context::UNKNOWN).unwrap();
        let direct = builder.finish().unwrap().filter(&[Op::recursion("direct").unwrap()]).unwrap();
        assert_eq!(folded(&direct), "f 1\n");
        assert_eq!(folded(&profile.with_kinds_only().unwrap()), folded(&profile));
        assert_eq!(profile.with_kinds_only().unwrap().stack_count(), 2);
    }

    #[test]
    fn labels_hold_while_stacks_begin_with_them() {
        let text = "# labels: thread\nthread=1;main;f 1\nthread=2;main 2\n";
        let labels =
            |ops: &[Op]| Profile::from_bytes(text).unwrap().filter(ops).unwrap().facts().labels.clone();
        assert_eq!(labels(&[Op::hide("main").unwrap()]), ["thread"]);
        assert_eq!(labels(&[Op::focus("f").unwrap()]), ["thread"]);
        assert_eq!(labels(&[Op::skip_roots(1)]), ["thread"]);
        assert!(labels(&[Op::drop_label("thread").unwrap()]).is_empty());
        // A stack may be nothing but its labels.
        let bare = Profile::from_bytes("# labels: thread\nthread=1 1\nthread=2;main 2\n").unwrap();
        assert_eq!(bare.filter(&[Op::top(2)]).unwrap().facts().labels, ["thread"]);
        let other = Profile::from_bytes("# labels: thread\nthread=1;main 1\nmain 2\n").unwrap();
        assert!(other.filter(&[Op::reverse()]).unwrap().facts().labels.is_empty());
    }
}

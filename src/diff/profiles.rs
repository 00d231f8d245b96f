//! Compares profiles in memory.

use super::options::ReportOptions;
use super::prepared::Prepared;
use super::recording::{Recording, expect_one_column};
use super::report::Report;
use super::roots::{self, Roots};
use super::side::Side;
use super::survey::{Units, convert_facts};
use super::verdict::Verdict;
use crate::error::Result;
use crate::facts::Findings;
use crate::folded::{StackTable, Weights};
use crate::profile::{Facts, Profile, Samples};
use crate::weight::Weight;

/// A comparison of profiles in memory.
///
/// ```
/// use fg_tools::Profile;
/// use fg_tools::diff::Diff;
///
/// let before = Profile::from_lines(["main;parse 401", "main;write 390"])?;
/// let after = Profile::from_lines(["main;parse 2700", "main;write 391"])?;
/// let diff = Diff::new(&before, &after);
/// assert_eq!(diff.report()?.rows[0].name, b"parse");
///
/// let verdict = diff.gate("self>5%")?;
/// assert!(!verdict.passed());
/// assert!(verdict.to_string().contains("parse (self)  401 → 2,700  +573%  (p < 0.001 n=1+1)"));
/// # Ok::<(), fg_tools::Error>(())
/// ```
pub struct Diff<'p> {
    before: Vec<&'p Profile>,
    after: Vec<&'p Profile>,
}

impl<'p> Diff<'p> {
    /// Compares two profiles.
    pub fn new(before: &'p Profile, after: &'p Profile) -> Diff<'p> {
        Diff::of_runs(&[before], &[after])
    }

    /// Compares several runs before with several runs after. The spread between runs then tells how
    /// much the same program differs from itself: see `docs/significance.md`.
    ///
    /// ```
    /// use fg_tools::Profile;
    /// use fg_tools::diff::Diff;
    ///
    /// let run = |a: u32, b: u32| Profile::from_lines([format!("m;a {a}"), format!("m;b {b}"), "m 1".into()]);
    /// let before = [run(1001, 3000)?, run(1010, 2990)?, run(990, 3020)?];
    /// let after = [run(1201, 3010)?, run(1190, 3000)?, run(1210, 2990)?];
    /// let diff = Diff::of_runs(&before.each_ref(), &after.each_ref());
    /// assert!(diff.report()?.headline().starts_with("slower: a +200 (+20%)"));
    /// # Ok::<(), fg_tools::Error>(())
    /// ```
    pub fn of_runs(before: &[&'p Profile], after: &[&'p Profile]) -> Diff<'p> {
        Diff { before: before.to_vec(), after: after.to_vec() }
    }

    /// The changes of all functions, by default options.
    ///
    /// # Errors
    /// Those of [`Diff::report_with`].
    pub fn report(&self) -> Result<Report> {
        self.report_with(&ReportOptions::default())
    }

    /// The changes of all functions, or whatever `options` ask for.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] for different units, differential profiles and options with a
    /// mistake; [`crate::ErrorKind::Overflow`].
    pub fn report_with(&self, options: &ReportOptions) -> Result<Report> {
        let (before, after) = (keep(&self.before)?, keep(&self.after)?);
        Prepared::new(&before, &after, options, true)?.report(options)
    }

    /// The verdicts that the profile of two columns states; `None` where they can be told from that.
    fn findings(&self) -> Result<Option<Box<Findings>>> {
        let all = || self.before.iter().chain(&self.after);
        if all().any(|profile| profile.is_empty()) {
            return Ok(None);
        }
        let (before, after) = (keep(&self.before)?, keep(&self.after)?);
        let options = ReportOptions::default();
        let mut prepared = Prepared::new(&before, &after, &options, false)?;
        prepared.judge(&options)?;
        Ok(prepared.facts().findings.clone())
    }

    /// Judges the changes by gates such as `total>5% self>2pp`: see [`Gate`](super::Gate).
    ///
    /// # Errors
    /// Those of [`Diff::report_with`], and [`crate::ErrorKind::Setting`] for a gate with a mistake.
    pub fn gate(&self, gates: &str) -> Result<Verdict> {
        self.report()?.gate(gates)
    }

    /// The differential profile: every stack with its weights before and after, and the facts of both
    /// sides. Runs of a side are added up; a program with a name on each side has the one after.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] for different units and differential profiles; [`crate::ErrorKind::Overflow`].
    ///
    /// ```
    /// use fg_tools::Profile;
    /// use fg_tools::diff::Diff;
    ///
    /// let before = Profile::from_lines(["main;parse 40", "main;read 2"])?;
    /// let after = Profile::from_lines(["main;parse 44", "main;write 3"])?;
    /// let mut folded = Vec::new();
    /// Diff::new(&before, &after).profile()?.write_folded(&mut folded)?;
    /// assert_eq!(folded, b"# columns: before, after\nmain;parse 40 44\nmain;read 2 0\nmain;write 0 3\n");
    /// # Ok::<(), fg_tools::Error>(())
    /// ```
    pub fn profile(&self) -> Result<Profile> {
        let side = |side: Side, profiles: &[&'p Profile]| -> Vec<(Side, &'p Profile)> {
            profiles.iter().map(|profile| (side, *profile)).collect()
        };
        let all = [side(Side::Before, &self.before), side(Side::After, &self.after)].concat();
        let known: Vec<(Side, Option<&Facts>)> =
            all.iter().map(|(side, p)| (*side, (!p.is_empty()).then_some(p.facts()))).collect();
        let conversion = Units::of(&known)?.conversion;
        let facts = |profiles: &[&'p Profile]| profiles.iter().map(|p| p.facts()).collect::<Vec<_>>();
        let program = roots::program(
            (&roots_of(&self.before), &facts(&self.before)),
            (&roots_of(&self.after), &facts(&self.after)),
        );
        let mut stacks = StackTable::default();
        stacks.make_differential();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (n, (side, profile)) in all.into_iter().enumerate() {
            let mut facts = profile.facts().clone();
            let mut factor = Weight::ONE;
            if let Some((unit, factors)) = &conversion {
                factor = factors[n];
                convert_facts(&mut facts, factor, unit)?;
            }
            let program = program.as_ref().filter(|_| side == Side::Before);
            add(&mut stacks, profile, side, factor, program)?;
            match side {
                Side::Before => before.push(facts),
                Side::After => after.push(facts),
            }
        }
        let mut facts = Facts::of_sides(Facts::merged(&before), Facts::merged(&after));
        facts.findings = self.findings()?;
        Profile::new(facts, stacks, Samples::default())
    }
}

fn keep(profiles: &[&Profile]) -> Result<Vec<Recording>> {
    profiles.iter().map(|profile| Recording::of_profile(profile)).collect()
}

/// The first frames of the stacks of a side.
fn roots_of(profiles: &[&Profile]) -> Roots {
    let (mut roots, mut start) = (Roots::default(), Vec::new());
    for stacks in profiles.iter().map(|profile| profile.stacks()) {
        for (ids, _) in stacks.stacks() {
            start.clear();
            for (n, &id) in ids.iter().take(2).enumerate() {
                start.extend(if n > 0 { &b";"[..] } else { b"" });
                start.extend(stacks.name(id));
            }
            roots.note(&start);
        }
    }
    roots
}

/// Adds the stacks of a profile, with the places of their frames, to one side of a table. The first of two names of a
/// `program` becomes the other at their roots.
fn add(
    table: &mut StackTable,
    profile: &Profile,
    side: Side,
    factor: Weight,
    program: Option<&(Vec<u8>, Vec<u8>)>,
) -> Result<()> {
    expect_one_column(profile.columns())?;
    let frames = table.take_frames(profile.stacks());
    let mut stack = Vec::new();
    for (ids, Weights { value, .. }) in profile.stacks().stacks() {
        stack.clear();
        stack.extend(ids.iter().map(|&id| frames.get(id)));
        if let (Some((old, new)), Some(root)) = (program, stack.first_mut())
            && table.name(*root) == old
        {
            *root = table.frame(new);
        }
        let value = value.checked_mul(factor)?;
        let weights = match side {
            Side::Before => Weights { before: value, value: Weight::ZERO },
            Side::After => Weights::one(value),
        };
        table.add(&stack, weights)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{Normalize, Sort};
    use crate::significance::{Test, examples};

    #[test]
    fn tables_agree_with_the_shared_examples() {
        for example in examples::all() {
            let (before, after) = (example.before, example.after);
            let profile = |hits: f64, of: f64| {
                let lines = [("f", hits), ("others", of - hits)];
                let some = lines.into_iter().filter(|(_, weight)| *weight > 0.0);
                Profile::from_lines(some.map(|(name, weight)| format!("{name} {weight}"))).unwrap()
            };
            let (b, a) = (profile(before.hits, before.of), profile(after.hits, after.of));
            // Shares are compared, as in a picture, not weights.
            let options = ReportOptions::default()
                .normalize(Normalize::BeforeToAfter)
                .alpha(example.limits.alpha)
                .min_effect(example.limits.min_effect)
                .min_samples(0.0)
                .one_run(true)
                .period(Weight::ONE)
                .sort(Sort::Name);
            let report = Diff::new(&b, &a).report_with(&options).unwrap();
            let change = &report.rows[0].own;
            // What cannot reach the least effect is not tested.
            match change.share {
                Some(Test { p, .. }) => {
                    assert!((p - example.p).abs() <= 1e-9 * example.p, "{before:?} {after:?}: {p}")
                }
                None => assert!(100.0 * (before.share() + after.share()) < example.limits.min_effect),
            }
            assert_eq!(change.significant, example.is_sure, "{before:?} {after:?}");
        }
    }

    #[test]
    fn facts_and_places_of_both_sides_are_kept() {
        let profile = |command: &str, unit: &str, weight: i128| {
            let mut builder = Profile::builder();
            builder.facts.unit = Some(unit.into());
            builder.facts.set_command(command);
            builder.add(["main", "parse"], Weight::new(weight)).unwrap();
            builder.finish().unwrap()
        };
        let (before, after) = (profile("./old", "ns", 10_000_000), profile("./new", "ns", 25_000_000));
        let diff = Diff::new(&before, &after);
        let joined = diff.profile().unwrap();
        assert_eq!(joined.facts().title().as_deref(), Some("./old → ./new"));
        assert_eq!((joined.facts().unit.as_deref(), joined.facts().differential), (Some("ns"), true));
        let report = diff.report().unwrap();
        assert!(report.headline().contains("whole 10 → 25 ms"), "{}", report.headline());
        assert_eq!(
            report.sides(),
            [("before", "./old · 10 ms".to_owned()), ("after", "./new · 25 ms".to_owned())]
        );
        // 25 ms are 25,000 us.
        let slower = profile("./new", "us", 25_000);
        let joined_units = Diff::new(&before, &slower).profile().unwrap();
        assert_eq!(joined_units.facts().unit.as_deref(), Some("ns"));
        assert_eq!(joined_units.total().unwrap(), joined.total().unwrap());
        let report = Diff::new(&before, &slower).report().unwrap();
        assert!(report.headline().contains("whole 10 → 25 ms"), "{}", report.headline());
        let other = profile("./new", "bytes", 1);
        let diff = Diff::new(&before, &other);
        for error in [diff.profile().err(), diff.report().err(), diff.gate("total>5%").err()] {
            let error = error.unwrap().to_string();
            assert!(error.contains("ns before, bytes after"), "{error}");
        }
        let differential = Diff::new(&joined, &after);
        assert!(differential.profile().is_err() && differential.report().is_err());
    }

    #[test]
    fn a_program_of_two_names_is_one_as_in_text() {
        let (before, after) = (["app-1;main;a 3", "app-1;main 1"], ["app-2;main;a 4", "app-2;main;b 2"]);
        let text = |lines: [&str; 2]| crate::Source::bytes(lines.join("\n") + "\n");
        let (mut joined, mut folded) = (Vec::new(), Vec::new());
        crate::diff::join_folded(&text(before), &text(after), &mut joined).unwrap();
        let (before, after) = (Profile::from_lines(before).unwrap(), Profile::from_lines(after).unwrap());
        Diff::new(&before, &after).profile().unwrap().write_folded(&mut folded).unwrap();
        assert_eq!(String::from_utf8_lossy(&folded), String::from_utf8_lossy(&joined));
        assert!(folded.ends_with(b"app-2;main 1 0\napp-2;main;a 3 4\napp-2;main;b 0 2\n"));
    }

    #[test]
    fn a_table_is_joined_as_text_is() {
        let before = Profile::from_lines(["a 30", "a -10", "b; 1", "c 5"]).unwrap();
        let after = Profile::from_lines(["c 4", "b 2", "d 1"]).unwrap();
        let mut folded = Vec::new();
        Diff::new(&before, &after).profile().unwrap().write_folded(&mut folded).unwrap();
        let folded = String::from_utf8(folded).unwrap();
        assert_eq!(folded, "# columns: before, after\na 20 0\nb 1 2\nc 5 4\nd 0 1\n");
        let options = ReportOptions::default().min_samples(0.0).sort(Sort::Name);
        let report = Diff::new(&before, &after).report_with(&options).unwrap();
        let totals = report.rows.iter().map(|row| format!("{} {}", row.total.before, row.total.after));
        assert_eq!(totals.collect::<Vec<_>>(), ["20 0", "1 2", "5 4", "0 1"]);
    }
}

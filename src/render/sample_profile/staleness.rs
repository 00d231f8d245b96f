//! The part of a profile that still fits a binary that was built since.
//!
//! A compiler looks for the name of a function and for lines counted from its first one. What it does not
//! find there is lost, without a word. Lines that are found may be other lines by now: functions that have
//! many lines which only one of the builds has are told apart.

use std::collections::{BTreeSet, HashMap};

use super::build::lines_of;
use super::compiler::Compiler;
use super::line::Line;
use super::samples::{Functions, Name};
use crate::render::columns::share;
use crate::symbolize::CodeMap;
use crate::weight::Weight;

/// The lines of each function of a binary.
pub(super) struct Shapes(HashMap<Vec<u8>, BTreeSet<Line>>);

impl Shapes {
    pub fn of(map: &CodeMap<'_>, compiler: Compiler) -> Shapes {
        let mut shapes: HashMap<Vec<u8>, BTreeSet<Line>> = HashMap::new();
        map.for_each_function(&mut |function| {
            map.for_each_stretch(function, &mut |_, sites| {
                for (name, line) in lines_of(sites, compiler) {
                    match shapes.get_mut(&name[..]) {
                        Some(lines) => _ = lines.insert(line),
                        None => _ = shapes.insert(name.into_owned(), [line].into()),
                    }
                }
            });
        });
        Shapes(shapes)
    }

    fn get(&self, name: &[u8]) -> Option<&BTreeSet<Line>> {
        self.0.get(name)
    }
}

/// The counts of lines of a profile, by what has become of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Staleness {
    pub all: u64,
    /// Lines that are there, of functions that have mostly the same lines.
    pub fits: u64,
    /// Lines that are there, of functions of which many other lines have come or gone.
    pub may_fit: u64,
    /// Lines that are gone.
    pub lines_gone: u64,
    /// Lines of functions that are gone.
    pub functions_gone: u64,
    /// The weight that does not fit, by function, the heaviest first.
    pub heaviest: Vec<(Name, u64)>,
}

/// The least share of the lines of two builds of a function that both have, if it is to count as the same.
/// Optimizing by another profile removes and adds lines too.
const SAME: f64 = 0.8;

impl Staleness {
    /// Compares the build that was profiled with another one.
    pub fn of(functions: &Functions, profiled: &Shapes, built: &Shapes) -> Staleness {
        let mut staleness = Staleness::default();
        let mut bad: HashMap<Name, u64> = HashMap::new();
        let mut alike: HashMap<Name, Option<bool>> = HashMap::new();
        let mut each = |name: &Name, line: Line, count: u64| {
            // Code without a line in the source has no place that could have changed.
            if !profiled.get(name).is_some_and(|lines| lines.contains(&line)) {
                return;
            }
            let add = |sum: &mut u64| *sum = sum.saturating_add(count);
            add(&mut staleness.all);
            let is_same = *alike.entry(name.clone()).or_insert_with(|| {
                let lines = built.get(name)?;
                let Some(before) = profiled.get(name) else { return Some(true) };
                let common = before.intersection(lines).count();
                let all = before.len() + lines.len() - common;
                Some(common as f64 >= SAME * all as f64)
            });
            let is_there = built.get(name).is_some_and(|lines| lines.contains(&line));
            match (is_same, is_there) {
                (Some(true), true) => return add(&mut staleness.fits),
                (Some(false), true) => add(&mut staleness.may_fit),
                (Some(_), false) => add(&mut staleness.lines_gone),
                (None, _) => add(&mut staleness.functions_gone),
            }
            add(bad.entry(name.clone()).or_default());
        };
        functions.iter().for_each(|(name, function)| function.for_each_line(name, &mut each));
        staleness.heaviest = bad.into_iter().collect();
        staleness.heaviest.retain(|(_, weight)| *weight > 0);
        staleness.heaviest.sort_by(|(a, one), (b, other)| other.cmp(one).then_with(|| a.cmp(b)));
        staleness
    }

    /// The report: what fits, and the functions that do not, a line each.
    pub fn report(&self, built: &str) -> Vec<String> {
        const MOST: usize = 5;
        let part = |part: u64| share(Weight::from(part), Weight::from(self.all));
        let mut report = vec![format!(
            "{} of the counts fit {built}; {} are of lines of functions that have changed, {} of lines that are \
             gone, {} of functions that are gone",
            part(self.fits),
            part(self.may_fit),
            part(self.lines_gone),
            part(self.functions_gone),
        )];
        report.extend(self.heaviest.iter().take(MOST).map(|(name, weight)| {
            let readable = crate::symbol::demangle(name);
            format!(
                "stale: {} {}",
                part(*weight),
                crate::printable::printable(readable.as_deref().unwrap_or(name))
            )
        }));
        report
    }
}

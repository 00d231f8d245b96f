//! The report on a recording: totals, facts, notes and warnings.

use std::collections::{BTreeSet, HashMap};
use std::sync::PoisonError;
use std::time::Duration;

use super::facts::{date, header_facts};
use super::modules::{KERNEL, Kind, Module, UNKNOWN};
use super::names::{Namer, SymbolState};
use super::sample_stream::SampleStream;
use super::stacks::{FramePointerStacks, TruncatedStacks};
use crate::collapse::Report;
use crate::error::Result;
use crate::profile::Facts;
use crate::symbolize::Missing;
use crate::weight::Weight;

/// The share of the weight in code without a name, in percent, from which on the user is told unasked.
const MUCH: i128 = 25;
/// The share of stacks that are cut off, in percent, from which on the user is told.
const NOTABLE: i128 = 1;
/// The share of stacks of one or two frames, in percent, from which on the user is told.
const NEARLY_ALL: i128 = 90;
/// The number of modules without symbols that are listed.
const LISTED: usize = 10;

/// Counts while stacks are named.
#[derive(Default)]
pub(super) struct Summary {
    pub truncated: TruncatedStacks,
    pub pointed: FramePointerStacks,
    /// Weights of stacks that end before their root, by the module that was left without a caller.
    pub lost: HashMap<u32, Weight>,
    pub not_unwound: u64,
    total: Weight,
    /// The weight on leaves without a symbol, by module.
    nameless: HashMap<u32, Weight>,
    /// The weight of stacks with a frame at an address where nothing is mapped.
    broken: Weight,
    is_broken: bool,
    /// Modules that a frame without a symbol is in.
    met: BTreeSet<u32>,
}

impl Summary {
    /// Counts a frame of a stack; `is_leaf` for the first one.
    pub fn count(&mut self, known: SymbolState, is_leaf: bool, weight: Weight) -> Result<()> {
        match known {
            SymbolState::Module(module) => {
                self.is_broken |= module == UNKNOWN;
                self.met.insert(module);
                if is_leaf {
                    let sum = self.nameless.entry(module).or_default();
                    *sum = sum.checked_add(weight)?;
                }
            }
            SymbolState::Hidden => {
                self.met.insert(KERNEL);
            }
            SymbolState::Symbol => {}
        }
        Ok(())
    }

    /// Counts a stack.
    pub fn end_stack(&mut self, weight: Weight) -> Result<()> {
        self.total = self.total.checked_add(weight)?;
        if std::mem::take(&mut self.is_broken) {
            self.broken = self.broken.checked_add(weight)?;
        }
        Ok(())
    }

    /// Writes all of it down.
    pub fn report(self, samples: &SampleStream<'_>, namer: &Namer<'_>, report: &mut Report) -> Result<()> {
        samples.values().into_iter().try_for_each(|(value, total)| report.add_value(value, total))?;
        report.notes.extend(samples.off_cpu.note());
        if report.first_value.is_none() {
            report.first_value.clone_from(&samples.first);
        }
        report.details.push(format!("{} samples, {} lost", samples.samples, samples.lost));
        self.report_stacks(samples, report);
        self.report_kernel(namer, report);
        self.report_modules(namer, report);
        report.facts = facts(samples);
        report.notes.iter().for_each(|note| report.facts.warn(note));
        if samples.lost > 0 {
            report.facts.warn(format!("{} events were lost: the recorder's buffers were full", samples.lost));
        }
        Ok(())
    }

    fn report_stacks(&self, samples: &SampleStream<'_>, report: &mut Report) {
        if samples.was_cut() {
            report.note("the recording was not ended properly: its last record is cut off");
        }
        let TruncatedStacks { samples, weight } = self.truncated;
        let said = format!(
            "{samples} stacks, {} of the weight, are longer than what was recorded of them and begin with \
             [truncated]",
            self.percent(weight)
        );
        if self.is_share(weight, NOTABLE) {
            report.note(said + ": record more of each with --call-graph dwarf,32768");
        } else {
            report.details.push(said);
        }
        if self.not_unwound > 0 {
            let count = self.not_unwound;
            report.note(format!("{count} stacks of 32-bit or foreign code could not be unwound"));
        }
    }

    fn report_kernel(&self, namer: &Namer<'_>, report: &mut Report) {
        let Some(Err(missing)) = namer.kernel.get() else { return };
        let is_met = |id: &u32| matches!(namer.modules.all()[*id as usize].kind, Kind::Kernel);
        if self.met.iter().any(is_met) {
            report.note(match missing {
                Missing::NotFound => {
                    "the kernel's symbols were not found: a vmlinux below --symfs has them, or \
                                      the ~/.debug of the machine that was recorded"
                        .to_owned()
                }
                _ => format!("the kernel {missing}"),
            });
        }
    }

    fn report_modules(&self, namer: &Namer<'_>, report: &mut Report) {
        let total = self.nameless.values().try_fold(Weight::ZERO, |sum, weight| sum.checked_add(*weight));
        let total = total.unwrap_or_default();
        let mut modules: Vec<(Weight, &Module)> = self
            .met
            .iter()
            .map(|id| {
                (self.nameless.get(id).copied().unwrap_or_default(), &*namer.modules.all()[*id as usize])
            })
            .filter(|(_, module)| module.id != UNKNOWN)
            .collect();
        modules.sort_by(|(a, x), (b, y)| b.cmp(a).then_with(|| x.path.cmp(&y.path)));
        for (_, module) in &modules {
            if let Some(Err(missing @ Missing::OtherBuild { .. })) = module.opened() {
                report.note(format!("{} {missing}", shown(module)));
            }
        }
        let share = self.percent(total);
        report.details.push(format!("{share} of the weight is in code without a symbol"));
        for (weight, module) in modules.iter().take(LISTED) {
            let share = self.percent(*weight);
            report.details.push(format!("{} {}, {share} of the weight", shown(module), why(module, namer)));
        }
        if let Some(more) = modules.len().checked_sub(LISTED).filter(|more| *more > 0) {
            report.details.push(format!("and {more} more files without some symbols"));
        }
        if self.is_share(total, MUCH) {
            let worst = modules.iter().find(|(weight, _)| !weight.is_zero());
            let what = match worst {
                Some((weight, module)) => format!(
                    "most of it {} in {}, which {}; install its symbols, or name where the recorded files are with \
                     --symfs",
                    self.percent(*weight),
                    shown(module),
                    why(module, namer)
                ),
                None => "at addresses of nothing".to_owned(),
            };
            report.note(format!("{share} of the weight is in code without a symbol, {what}"));
        }
        let FramePointerStacks { weight: pointed, shallow } = self.pointed;
        if self.is_share(self.broken, MUCH) {
            report.note(format!(
                "{} of the weight is in stacks with addresses of nothing, [unknown]: without frame pointers, record \
                 with --call-graph dwarf",
                self.percent(self.broken)
            ));
        } else if is_share(shallow, pointed, NEARLY_ALL) && self.is_share(pointed, MUCH) {
            report.note(format!(
                "{} of the weight is in stacks that end after a frame or two of the program: it has no frame \
                 pointers, record with --call-graph dwarf",
                self.percent(shallow)
            ));
        }
    }

    /// A part of the weight, in percent.
    fn percent(&self, part: Weight) -> String {
        let percent = Weight::new(100).times_ratio(part, self.total, 1);
        percent.map_or_else(|_| "0%".to_owned(), |percent| format!("{percent}%"))
    }

    fn is_share(&self, part: Weight, percent: i128) -> bool {
        is_share(part, self.total, percent)
    }
}

/// Returns whether a part is at least `percent` of the whole.
fn is_share(part: Weight, whole: Weight, percent: i128) -> bool {
    let hundred = part.checked_mul(Weight::new(100));
    let least = whole.checked_mul(Weight::new(percent));
    !part.is_zero() && matches!((hundred, least), (Ok(hundred), Ok(least)) if hundred >= least)
}

/// The facts of a recording that was read to its end.
fn facts(samples: &SampleStream<'_>) -> Facts {
    let description = &samples.records.description;
    let (period, rate) = samples.period_and_rate();
    let times = samples.times();
    // The parts of time off the processor are in the whole already.
    let kept: Vec<u64> =
        samples.values().iter().filter(|(_, total)| total.kept).map(|(_, total)| total.samples).collect();
    let count = if samples.off_cpu.is_kept() { kept.iter().max().copied() } else { Some(kept.iter().sum()) };
    let duration = times.map(|(first, last)| Duration::from_nanos(last - first));
    Facts {
        period,
        rate,
        samples: count,
        start: times.and_then(|(first, _)| date(description, first)),
        duration: duration.filter(|duration| !duration.is_zero()),
        ..header_facts(description)
    }
}

/// A module's path, which may be any bytes, on one line.
fn shown(module: &Module) -> String {
    crate::error::excerpt(&module.path)
}

/// The reason why a module's symbols are missing.
fn why(module: &Module, namer: &Namer<'_>) -> String {
    let lacks = namer.without_symbols.lock().unwrap_or_else(PoisonError::into_inner).contains(&module.id);
    match (module.kind, module.opened()) {
        (Kind::Anonymous(_), _) => "has no description of the code in it".to_owned(),
        (Kind::File, Some(Err(missing))) => missing.to_string(),
        (Kind::File, _) if lacks => "has no symbols".to_owned(),
        _ => "lacks some symbols".to_owned(),
    }
}

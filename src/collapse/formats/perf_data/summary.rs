//! The report on a recording: totals, facts, notes and warnings.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::advice::Advice;
use super::facts::{date, header_facts};
use super::modules::{KERNEL, UNKNOWN};
use super::names::{NamedFrame, Namer, SymbolState};
use super::sample_stream::SampleStream;
use super::stacks::TruncatedStacks;
use crate::collapse::Report;
use crate::error::Result;
use crate::profile::Facts;
use crate::weight::Weight;

/// Counts while stacks are named.
#[derive(Default)]
pub(super) struct Summary {
    pub truncated: TruncatedStacks,
    /// Stacks that were cut, and have their callers from other stacks.
    pub stitched: TruncatedStacks,
    /// Weights of stacks that end before their root, by the module that was left without a caller.
    pub lost: HashMap<u32, Weight>,
    pub not_unwound: u64,
    pub total: Weight,
    /// The weight on leaves without a symbol, by module.
    pub nameless: HashMap<u32, Weight>,
    /// The weight of stacks with frames without a symbol, by module.
    pub through: BTreeMap<u32, Weight>,
    /// The weight of stacks with a frame at an address where nothing is mapped.
    pub broken: Weight,
    /// The weight of stacks of programs that end after a frame or two, though nothing begins there, by
    /// the module of their root.
    pub shallow: HashMap<u32, Weight>,
    stack: CountedStack,
}

/// The parts of a stack that have been counted.
#[derive(Default)]
struct CountedStack {
    is_broken: bool,
    /// Modules with frames without a symbol.
    nameless: Vec<u32>,
    /// The number of its frames that are no kernel's, the module of the last, and whether something
    /// begins there.
    in_program: (u32, u32, bool),
}

impl Summary {
    /// Counts a frame of a stack; `is_leaf` for the first one.
    pub fn count(&mut self, named: &NamedFrame, is_leaf: bool, weight: Weight) -> Result<()> {
        let module = match named.known {
            SymbolState::Module(module) => module,
            SymbolState::Hidden => KERNEL,
            SymbolState::Symbol => return Ok(()),
        };
        if !self.stack.nameless.contains(&module) {
            self.stack.nameless.push(module);
        }
        if named.known != SymbolState::Hidden {
            self.stack.is_broken |= module == UNKNOWN;
            if is_leaf {
                let sum = self.nameless.entry(module).or_default();
                *sum = sum.checked_add(weight)?;
            }
        }
        Ok(())
    }

    /// Counts a frame of code, towards the root.
    pub fn count_code(&mut self, module: u32, is_kernel: bool, is_start: bool) {
        if !is_kernel {
            self.stack.in_program = (self.stack.in_program.0 + 1, module, is_start);
        }
    }

    /// Counts a stack.
    pub fn end_stack(&mut self, weight: Weight) -> Result<()> {
        self.total = self.total.checked_add(weight)?;
        let CountedStack { is_broken, nameless, in_program } = std::mem::take(&mut self.stack);
        if is_broken {
            self.broken = self.broken.checked_add(weight)?;
        }
        for module in nameless {
            let sum = self.through.entry(module).or_default();
            *sum = sum.checked_add(weight)?;
        }
        if let (1 | 2, root, false) = in_program {
            let sum = self.shallow.entry(root).or_default();
            *sum = sum.checked_add(weight)?;
        }
        Ok(())
    }

    /// Writes all of it down.
    pub fn report(self, samples: &SampleStream<'_>, namer: &Namer<'_>, report: &mut Report) -> Result<()> {
        samples.values().into_iter().try_for_each(|(value, total)| report.add_value(value, total))?;
        report.notes.extend(samples.off_cpu.note());
        report.notes.extend(samples.allocations.note());
        report.notes.extend(samples.allocations.note_of_losses());
        report.details.extend(samples.off_cpu.left_out());
        report.details.extend(samples.off_cpu.unsampled.detail());
        report.details.extend(samples.deferred.detail());
        if report.first_value.is_none() {
            report.first_value.clone_from(&samples.first);
        }
        report.details.push(format!("{} samples, {} lost", samples.samples, samples.lost));
        if let Some(held) = &samples.modules.held {
            report.details.push(held.to_string());
        }
        Advice { summary: &self, samples, namer }.give(report);
        report.facts = facts(samples);
        report.notes.iter().for_each(|note| report.facts.warn(note));
        if samples.lost > 0 {
            report.facts.warn(format!("{} events were lost: the recorder's buffers were full", samples.lost));
        }
        Ok(())
    }

    /// A part of the weight, in percent.
    pub fn percent(&self, part: Weight) -> String {
        let percent = Weight::new(100).times_ratio(part, self.total, 1);
        percent.map_or_else(|_| "0%".to_owned(), |percent| format!("{percent}%"))
    }

    pub fn is_share(&self, part: Weight, percent: i128) -> bool {
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
    let count = if samples.off_cpu.is_kept() || samples.allocations.is_kept() {
        kept.iter().max().copied()
    } else {
        Some(kept.iter().sum())
    };
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

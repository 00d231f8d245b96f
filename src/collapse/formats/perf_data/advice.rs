//! Notes on what a recording lacks, with advice that can be followed.
//!
//! The advice depends on the reason: a stripped program is built in another way, a compiler at run
//! time is told to write down what it makes, files of another machine are found by `--symfs`. Nothing
//! is advised that was already done, nor an option that the program which says it does not have.

use std::collections::HashMap;
use std::path::Path;
use std::sync::PoisonError;

use super::attr::sample;
use super::modules::{ELSEWHERE, Kind, Module, UNKNOWN};
use super::names::Namer;
use super::runtime::Runtime;
use super::sample_stream::SampleStream;
use super::stacks::{LARGEST_DUMP, TruncatedStacks};
use super::summary::Summary;
use crate::collapse::Report;
use crate::symbolize::{Language, Missing};
use crate::weight::Weight;

/// The share of the weight in code without a name, in percent, from which on the user is told unasked.
const MUCH: i128 = 25;
/// The share of stacks that are cut off, in percent, from which on the user is told.
const NOTABLE: i128 = 1;
/// The share of stacks of one or two frames, in percent, from which on the user is told.
const NEARLY_ALL: i128 = 90;
/// The number of modules without symbols that are listed.
const LISTED: usize = 10;
/// Dumps that are smaller by less than this are as large: a recording of several fields has no room for more.
const NEARLY_ALL_OF_IT: u32 = 16;
/// Folders of what a distribution's packages install.
const SYSTEM: [&[u8]; 6] = [b"/bin/", b"/lib/", b"/lib64/", b"/sbin/", b"/usr/", b"/nix/store/"];
/// Folders below them of what was built on the machine.
const LOCAL: &[u8] = b"/usr/local/";

/// The counts that the notes are made of.
pub(super) struct Advice<'a> {
    pub summary: &'a Summary,
    pub samples: &'a SampleStream<'a>,
    pub namer: &'a Namer<'a>,
}

impl Advice<'_> {
    /// Adds all notes and details to the report.
    pub fn give(&self, report: &mut Report) {
        self.on_cut_stacks(report);
        self.on_the_kernel(report);
        self.on_names(report);
        self.on_short_stacks(report);
    }

    fn on_cut_stacks(&self, report: &mut Report) {
        if self.samples.was_cut() {
            report.note("the recording was not ended properly: its last record is cut off");
        }
        let TruncatedStacks { samples, weight, .. } = self.summary.stitched;
        if samples > 0 {
            report.details.push(format!(
                "{samples} stacks, {} of the weight, are longer than what was recorded of them and have their \
                 callers from other stacks of the same thread, or from its memory",
                self.summary.percent(weight)
            ));
        }
        let TruncatedStacks { samples, weight, too_deep } = self.summary.truncated;
        let said = format!(
            "{samples} stacks, {} of the weight, are longer than what was recorded of them and begin with \
             [truncated]",
            self.summary.percent(weight)
        );
        if !self.summary.is_share(weight, NOTABLE) {
            report.details.push(said);
        } else if self.summary.is_share(too_deep, NOTABLE) {
            // The frames are there, and only fg-record reads them, from a program that runs for a while.
            let advice = match self.namer.options.just_recorded {
                true => "--call-graph fp has all callers of programs with frame pointers",
                false => "fg-record without --raw reads the rest from the program while it runs",
            };
            report.note(format!("{said}; the kernel records no more than 64 kB of each: {advice}"));
        } else if self.dump_size() + NEARLY_ALL_OF_IT > LARGEST_DUMP {
            report.note(said + "; the kernel records no more than 64 kB of each");
        } else {
            report.note(format!("{said}: record more of each with --call-graph dwarf,{LARGEST_DUMP}"));
        }
        let count = self.summary.not_unwound;
        if count > 0 {
            report.note(format!("{count} stacks of 32-bit or foreign code could not be unwound"));
        }
    }

    fn on_the_kernel(&self, report: &mut Report) {
        let Some(Err(missing)) = self.namer.kernel.get() else { return };
        if self.namer.options.just_recorded && !Path::new("/proc/kallsyms").exists() {
            // The recorder has said that there is no /proc.
            return;
        }
        if self.summary.through.keys().any(|id| self.module(*id).kind == Kind::Kernel) {
            report.note(match missing {
                Missing::NotFound if self.namer.options.just_recorded => {
                    "the kernel's symbols were not found: its package of debug information has them"
                        .to_owned()
                }
                Missing::NotFound => {
                    "the kernel's symbols were not found: a vmlinux below --symfs has them, or the \
                     ~/.debug of the machine that was recorded"
                        .to_owned()
                }
                _ => format!("the kernel {missing}"),
            });
        }
    }

    fn on_names(&self, report: &mut Report) {
        let not_believed = self.namer.not_believed.lock().unwrap_or_else(PoisonError::into_inner);
        for (path, reason) in not_believed.iter() {
            let advice = match self.namer.options.just_recorded {
                true => "",
                false => "; a copy of yours is read from the same path below the folder of --symfs",
            };
            report.note(format!("{} is not read: {reason}{advice}", path.display()));
        }
        let summary = self.summary;
        let nameless = |id: &u32| summary.nameless.get(id).copied().unwrap_or_default();
        let total = summary.nameless.values().try_fold(Weight::ZERO, |sum, weight| sum.checked_add(*weight));
        let total = total.unwrap_or_default();
        let mut modules: Vec<(Weight, &Module)> = summary
            .through
            .keys()
            .map(|id| (nameless(id), self.module(*id)))
            .filter(|(_, module)| module.id != UNKNOWN)
            .collect();
        modules.sort_by(|(a, x), (b, y)| b.cmp(a).then_with(|| x.path.cmp(&y.path)));
        for (_, module) in &modules {
            if let Some(Err(missing @ Missing::OtherBuild { .. })) = module.opened() {
                report.note(format!("{} {missing}", shown(module)));
            }
        }
        let share = summary.percent(total);
        report.details.push(format!("{share} of the weight is in code without a symbol"));
        for (weight, module) in modules.iter().take(LISTED) {
            let share = summary.percent(*weight);
            report.details.push(format!("{} {}, {share} of the weight", shown(module), self.why(module)));
        }
        if let Some(more) = modules.len().checked_sub(LISTED).filter(|more| *more > 0) {
            report.details.push(format!("and {more} more files without some symbols"));
        }
        // In a stripped program, the frames between two names are lost too; a library of the system has
        // names for what programs call.
        let stripped = modules.iter().filter(|(_, module)| is_stripped(module));
        let stripped = stripped.map(|(leaves, module)| match is_of_system(module) && is_library(module) {
            true => (*leaves, *module),
            false => (summary.through[&module.id], *module),
        });
        let stripped = stripped.max_by(|(a, x), (b, y)| a.cmp(b).then_with(|| y.path.cmp(&x.path)));
        let stripped = stripped.filter(|(weight, _)| summary.is_share(*weight, MUCH));
        if let Some((weight, module)) = stripped {
            report.note(format!(
                "{} of the weight is in stacks through {}, which is stripped: {}",
                summary.percent(weight),
                shown(module),
                self.mend(module)
            ));
        }
        let worst = modules.iter().find(|(weight, _)| !weight.is_zero());
        let is_said = |module: &Module| {
            let path = String::from_utf8_lossy(&module.path);
            let path = path.trim_start_matches('/');
            is_stripped(module) || not_believed.iter().any(|(other, _)| other.ends_with(path))
        };
        if !summary.is_share(total, MUCH) || worst.is_some_and(|(_, module)| is_said(module)) {
            return;
        }
        let what = match worst {
            Some((weight, module)) => format!(
                "{} in {}, which {}{}",
                if *weight == total { "all of it".to_owned() } else { summary.percent(*weight) },
                shown(module),
                self.why(module),
                Some(self.mend(module))
                    .filter(|advice| !advice.is_empty())
                    .map_or(String::new(), |a| format!(": {a}"))
            ),
            None => "at addresses of nothing".to_owned(),
        };
        report.note(format!("{share} of the weight is in code without a symbol, {what}"));
    }

    fn on_short_stacks(&self, report: &mut Report) {
        let summary = self.summary;
        if self.has_dumps() {
            let (from_modules, worst) = self.sum(&summary.lost, |_| true);
            let elsewhere = summary.lost.get(&ELSEWHERE).copied().unwrap_or_default();
            let lost = from_modules.checked_add(elsewhere).unwrap_or(from_modules);
            let said =
                format!("{} of the weight is in stacks that end before their root", summary.percent(lost));
            match worst.filter(|_| summary.is_share(lost, MUCH)) {
                _ if summary.is_share(elsewhere, MUCH) => {
                    report.note(format!(
                        "{said}, most as the stack of their callers was not copied: signal handlers and coroutines \
                         have stacks of their own, and the kernel stops copying at memory that was never touched"
                    ));
                }
                Some(module) => {
                    report.note(format!(
                        "{said}, most in {}, which {}",
                        shown(module),
                        self.keeps_no_callers(module)
                    ));
                }
                None => report.details.push(said),
            }
            return;
        }
        if summary.is_share(summary.broken, MUCH) {
            report.note(format!(
                "{} of the weight is in stacks with addresses of nothing, [unknown]: without frame pointers, record \
                 with --call-graph dwarf",
                summary.percent(summary.broken)
            ));
            return;
        }
        // Dumps do not help where there are no unwind tables either.
        let is_compiled = |module: &Module| matches!(module.kind, Kind::Anonymous(_));
        let (compiled, worst) = self.sum(&summary.shallow, is_compiled);
        let (shallow, _) = self.sum(&summary.shallow, |module| !is_compiled(module));
        if let Some(module) = worst.filter(|_| summary.is_share(compiled, NEARLY_ALL)) {
            report.note(format!(
                "{} of the weight is in stacks that end after a frame or two, most in {}, which {}",
                summary.percent(compiled),
                shown(module),
                self.keeps_no_callers(module)
            ));
        } else if summary.is_share(shallow, NEARLY_ALL) && self.has_chains() {
            report.note(format!(
                "{} of the weight is in stacks that end after a frame or two of the program: it has no frame \
                 pointers, record with --call-graph dwarf",
                summary.percent(shallow)
            ));
        } else if self.has_chains() {
            let said = "frame pointers leave out the caller of a function that makes no frame of its own: \
                        --call-graph dwarf has all callers";
            match self.namer.options.just_recorded {
                true => report.note(said),
                false => report.details.push(said.to_owned()),
            }
        }
    }

    /// The sum of the weights of some modules, and the one of the most.
    fn sum(
        &self,
        weights: &HashMap<u32, Weight>,
        wanted: impl Fn(&Module) -> bool,
    ) -> (Weight, Option<&Module>) {
        let known = || weights.iter().filter(|(id, _)| **id != ELSEWHERE);
        let all = || known().map(|(id, weight)| (*weight, self.module(*id))).filter(|(_, m)| wanted(m));
        let total = all().try_fold(Weight::ZERO, |sum, (weight, _)| sum.checked_add(weight));
        let worst = all().max_by(|(a, x), (b, y)| a.cmp(b).then_with(|| y.path.cmp(&x.path)));
        (total.unwrap_or_default(), worst.map(|(_, module)| module))
    }

    fn module(&self, id: u32) -> &Module {
        &self.namer.modules.all()[id as usize]
    }

    /// The runtime whose compiler has filled a module.
    fn runtime(&self, module: &Module) -> Option<&'static Runtime> {
        match module.kind {
            Kind::Anonymous(pid) => self.namer.modules.runtimes.get(&pid).copied(),
            _ => None,
        }
    }

    /// The reason why a module's symbols are missing.
    fn why(&self, module: &Module) -> String {
        let lacks = || self.namer.without_symbols.lock().unwrap_or_else(PoisonError::into_inner);
        match (module.kind, module.opened()) {
            (Kind::Anonymous(_), _) => match self.runtime(module) {
                Some(runtime) => format!("has no description of the code that {} compiled", runtime.name),
                None => "has no description of the code in it".to_owned(),
            },
            (Kind::File, Some(Err(missing))) => missing.to_string(),
            (Kind::File, _) if is_stripped(module) => "is stripped".to_owned(),
            (Kind::File, _) if lacks().contains(&module.id) => "has no symbols".to_owned(),
            _ => "lacks some symbols".to_owned(),
        }
    }

    /// The advice on a module without symbols; empty if there is none.
    fn mend(&self, module: &Module) -> String {
        match (module.kind, module.opened()) {
            (Kind::Anonymous(_), _) => match self.runtime(module) {
                Some(runtime) => runtime.names.to_owned(),
                None => "its compiler may have a setting that writes this file, or a jitdump".to_owned(),
            },
            (Kind::File, Some(Ok(object))) => match object.language() {
                _ if !is_stripped(module) => String::new(),
                _ if is_of_system(module) => {
                    let more = match self.namer.search.debuginfod {
                        None => ", or ask servers for them by --debuginfod",
                        Some(_) => "",
                    };
                    "install its debug symbols (its -dbgsym or -dbg package on Debian and Ubuntu, \
                     `dnf debuginfo-install` on Fedora)"
                        .to_owned()
                        + more
                }
                Some(Language::Rust) => {
                    "build it with `strip = false` and `debug = \"line-tables-only\"` in its \
                                         profile in Cargo.toml"
                        .to_owned()
                }
                Some(Language::Go) => "build it without -ldflags=-s".to_owned(),
                _ => "build it with -g, and without -s and strip".to_owned(),
            },
            (Kind::File, Some(Err(Missing::NotFound))) if !self.namer.options.just_recorded => {
                "name the folder where the recorded files are with --symfs".to_owned()
            }
            _ => String::new(),
        }
    }

    /// The reason why no callers are found above a module, and the advice on it.
    fn keeps_no_callers(&self, module: &Module) -> String {
        match (module.kind, self.runtime(module).and_then(|runtime| runtime.frame_pointers)) {
            (Kind::Anonymous(_), Some(advice)) => format!("keeps no frame pointers: {advice}"),
            (Kind::Anonymous(_), None) => "was compiled at run time, without frame pointers".to_owned(),
            (Kind::File, _) if module.opened().is_some_and(|opened| opened.is_err()) => {
                format!("{}: without it its callers are not known", self.why(module))
            }
            (Kind::File, _) if module.is_go() => {
                "has no unwind tables: build it without -w and -s in -ldflags".to_owned()
            }
            _ => "has no unwind tables for it: build it without -fno-asynchronous-unwind-tables, or with \
                  -fno-omit-frame-pointer"
                .to_owned(),
        }
    }

    fn events_have(&self, fields: u64) -> bool {
        self.samples.records.description.events.iter().any(|event| event.attr.has(fields))
    }

    fn has_dumps(&self) -> bool {
        self.events_have(sample::STACK_USER)
    }

    fn has_chains(&self) -> bool {
        self.events_have(sample::CALLCHAIN)
    }

    /// The number of bytes of each stack that were recorded.
    fn dump_size(&self) -> u32 {
        let sizes = self.samples.records.description.events.iter().map(|event| event.attr.sample_stack_user);
        sizes.max().unwrap_or(0)
    }
}

/// Returns true for what a package of the distribution has installed.
fn is_of_system(module: &Module) -> bool {
    SYSTEM.iter().any(|folder| module.path.starts_with(folder)) && !module.path.starts_with(LOCAL)
}

fn is_library(module: &Module) -> bool {
    let name = module.path.rsplit(|&b| b == b'/').next().unwrap_or(&module.path);
    memchr::memmem::find(name, b".so").is_some()
}

fn is_stripped(module: &Module) -> bool {
    matches!(module.opened(), Some(Ok(object)) if object.is_stripped())
}

/// A module's path, which may be any bytes, on one line.
fn shown(module: &Module) -> String {
    crate::error::excerpt(&module.path)
}

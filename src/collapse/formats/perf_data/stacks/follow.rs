//! From the registers of a sample and the copy of its stack to its frames.

use std::ops::Range;

use super::super::compiled;
use super::super::live_stack::{LiveStack, MOST_STEPS};
use super::super::modules::{ELSEWHERE, Module, UNKNOWN};
use super::super::pending::{Batch, PendingSample};
use super::super::python::Evaluation;
use super::super::record::Mode;
use super::super::regs::{Cpu, Dump, Regs};
use super::super::rule::{How, Rule};
use super::super::sample::SampleBody;
use super::super::stitch::{Link, Without};
use super::super::unwind::{self, Step};
use super::{CachedPlace, LARGEST_DUMP, StackBuilder};

/// The result of following a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unwound {
    /// There was nothing to follow.
    Nothing,
    /// Nothing called the last frame.
    ToRoot,
    /// The copy of the stack ends before the caller of a frame.
    Cut(Cut),
    /// The caller of the last frame cannot be found; the module that it is in.
    Lost(u32),
}

/// The end of the copy of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The number of frames up to the one whose caller was not copied.
    pub links: usize,
    /// The result for a stack whose callers stay unknown.
    pub without: Without,
    /// There are more frames, up to the root: from the memory of the process.
    pub goes_on: bool,
}

impl StackBuilder<'_> {
    /// The stated address of what is kept at `slot`, and how to unwind from there.
    fn rule(&mut self, slot: usize, module: &Module, cpu: &Cpu) -> (u64, Rule) {
        let place = &mut self.places[slot];
        if let Some(known) = place.rule {
            return known;
        }
        // Behind a call that does not return may begin another function.
        let inside = place.place.wrapping_sub(place.called.into());
        let object = module.object(self.search).ok();
        let svma = object.and_then(|object| object.file_offset_to_svma(inside));
        let mut rule = match svma.zip(module.table(self.search)) {
            Some((svma, _)) if place.called && module.switches_stack(svma, self.search) => {
                Rule { how: How::Root, ..Rule::default() }
            }
            Some((svma, table)) => table.rule(svma, cpu, &mut self.context),
            None if place.called && module.is_trampoline(place.place, self.options.just_recorded) => {
                Rule { how: How::Trampoline, ..Rule::default() }
            }
            None if self.options.just_recorded && !cpu.link_register => {
                module.compiled_method(place.place, place.called).unwrap_or_default()
            }
            None => Rule::default(),
        };
        // What lies on the stack there are the program's arguments, and no return address.
        if matches!(rule.how, How::Unknown | How::Uncovered)
            && svma.is_some_and(|svma| module.begins_program(svma, self.search))
        {
            rule.how = How::Root;
        }
        *place.rule.insert((svma.unwrap_or(0), rule))
    }

    /// Follows the copy of the stack, and what of the stack itself is still there.
    pub(super) fn follow(&mut self, parts: &SampleBody<'_>, work: &PendingSample, batch: &Batch) -> Unwound {
        let mut cut = None;
        match (self.follow_to_end(parts, work, batch, &mut cut), cut) {
            (Unwound::ToRoot, Some(cut)) => Unwound::Cut(Cut { goes_on: true, ..cut }),
            (_, Some(cut)) => Unwound::Cut(cut),
            (end, None) => end,
        }
    }

    /// Follows a stack, to its root if nothing is missing. `cut` is where the copy ended.
    /// Notes the registers of a call of Python's evaluator, and returns which of all words they are.
    fn begin_evaluation(
        &mut self,
        work: &PendingSample,
        inside: u64,
        called: bool,
        cpu: &Cpu,
        regs: &Regs,
    ) -> Option<Range<usize>> {
        let process = work.python.as_ref()?.process.read().ok()?;
        if !process.is_evaluator(inside) {
            return None;
        }
        let begun = self.words.len();
        // Each register at its place.
        let word = |register: u16| regs.get(register).filter(|word| *word != regs.ip).unwrap_or(0);
        self.words.extend(cpu.saved.iter().map(|register| word(*register)));
        if !called {
            self.words.extend((0..Regs::COUNT as u16).map(word));
        }
        Some(begun..self.words.len())
    }

    /// Notes the words of the frame of a call of Python's evaluator, from its stack pointer to its caller's.
    fn end_evaluation(
        &mut self,
        is_latest: bool,
        registers: Range<usize>,
        sp: u64,
        caller: Option<u64>,
        dump: &mut Dump<'_>,
    ) {
        // The evaluator's frame has some hundred bytes.
        const LARGEST: u64 = 4096;
        let end = caller.unwrap_or(sp).clamp(sp, sp.saturating_add(LARGEST));
        self.words.extend((sp..end).step_by(8).map_while(|address| dump.read(address)));
        self.evaluations.push(Evaluation {
            at: self.stack.len() - 1,
            is_latest,
            own: sp..end,
            slots: registers.end..self.words.len(),
            registers,
        });
    }

    /// Leaves the frame of Python's evaluator alone that a trampoline of Python's, which has a name, has called.
    fn forget_evaluation(&mut self) {
        let called_by = self.stack.len().checked_sub(2);
        if self.evaluations.last().is_some_and(|call| Some(call.at) == called_by) {
            self.evaluations.pop();
        }
    }

    fn follow_to_end(
        &mut self,
        parts: &SampleBody<'_>,
        work: &PendingSample,
        batch: &Batch,
        cut: &mut Option<Cut>,
    ) -> Unwound {
        let Some(registers) = parts.registers.filter(|_| !parts.stack.is_empty()) else {
            return Unwound::Nothing;
        };
        let cpu = Cpu::of(batch.arch.unwrap_or_default()).filter(|_| registers.is_64);
        let regs = cpu.and_then(|cpu| Some((cpu, Regs::of(&registers, cpu)?)));
        let Some((cpu, mut regs)) = regs else {
            self.not_unwound += 1;
            if work.mode == Mode::User {
                self.push(Mode::User, work.ip, false, work, batch);
            }
            return Unwound::Nothing;
        };
        let Some(sp) = regs.get(cpu.sp) else { return Unwound::Nothing };
        let mut dump = Dump::new(parts, sp);
        let mut called = false;
        if batch.attrs[work.layout as usize].is_allocations() {
            // The sample was taken just before the return to whoever allocates.
            let Some(returns_to) = dump.read(sp) else { return Unwound::Nothing };
            regs.set(cpu.sp, sp.checked_add(8));
            regs.set_ip(cpu, returns_to);
            called = true;
        }
        // Every step goes up the stack by a word at least, but for a few that do not use it.
        let mut steps_left = parts.stack.len() / 8 + 16;
        let mut last = UNKNOWN;
        // The module of the callee of the frame, and its stated address there.
        let mut callee: Option<(&Module, u64)> = None;
        // The stack pointer that a frame of Java's interpreter has saved for its caller.
        let mut sender = None;
        // The address of the last return address in the copy, and what it holds.
        let mut returned = None;
        while steps_left > 0 {
            steps_left -= 1;
            let inside = regs.ip.wrapping_sub(u64::from(called));
            let mapping = work.space.find(inside, &mut self.hint);
            // All code is known to the recording; a return address elsewhere is none.
            if called && mapping.is_none_or(|mapping| !mapping.executable) {
                return Unwound::Lost(last);
            }
            let slot = match mapping {
                Some(mapping) => self.place(mapping, regs.ip, called),
                None => self.nowhere(regs.ip),
            };
            self.stack.push(self.places[slot].frame);
            let CachedPlace { module, place, .. } = self.places[slot];
            let sp = regs.get(cpu.sp).unwrap_or(0);
            let link = Link { sp, ip: regs.ip, module, place, called };
            self.links.push(link);
            let (svma, mut rule) = mapping.map_or_else(Default::default, |m| self.rule(slot, &m.module, cpu));
            if rule.how == How::Compiled {
                let is_code = |address| {
                    let found = work.space.find(address, &mut self.hint);
                    found.is_some_and(|mapping| mapping.executable && mapping.module.id == module)
                };
                if !compiled::fits(&rule, sender, cpu, &mut regs, &mut dump, is_code) {
                    rule = Rule::default();
                }
            }
            sender = match (rule.how, mapping) {
                (How::Unknown, Some(_)) => compiled::sender(cpu, &regs, &mut dump),
                _ => None,
            };
            let table =
                mapping.and_then(|mapping| mapping.module.table(self.search)).map(|table| (table, svma));
            last = mapping.map_or(UNKNOWN, |mapping| mapping.module.id);
            let is_latest = !called;
            let evaluation = self.begin_evaluation(work, inside, called, cpu, &regs);
            dump.is_elsewhere = false;
            let mut stepped =
                unwind::step(&rule, table, !called, cpu, &mut regs, &mut dump, &mut self.context);
            let begins = stepped == Step::Lost && {
                // Go keeps frame pointers, and goroutines begin with none. The C library of musl has no tables.
                let is_goroutine = regs.get(cpu.fp) == Some(0) && mapping.is_some_and(|m| m.module.is_go());
                is_goroutine || callee.is_some_and(|(module, svma)| module.is_main(svma, self.search))
            };
            // The tables are right about the place of the return address, which was not copied.
            let has_rule = matches!(rule.how, How::Simple | How::Complex);
            let is_elsewhere = has_rule && dump.is_elsewhere && !begins;
            if stepped == Step::Lost && cut.is_none() && (dump.missed || is_elsewhere) {
                let too_deep = dump.needed > LARGEST_DUMP as usize;
                let without = match dump.missed {
                    true => Without::TheRest { too_deep },
                    false => Without::Callers(ELSEWHERE),
                };
                *cut = Some(Cut { links: self.links.len(), without, goes_on: false });
                if has_rule && self.reads_memory && !cpu.link_register {
                    let is_there = |stack: &mut LiveStack| dump.is_still_in(stack, sp, returned);
                    dump.beyond = self.chains.live_stack(work.pid, work.tid, &link, is_there);
                }
                if dump.beyond.is_none() {
                    return Unwound::Lost(last);
                }
                steps_left = MOST_STEPS;
                stepped = unwind::step(&rule, table, !called, cpu, &mut regs, &mut dump, &mut self.context);
            }
            if let Some(begun) = evaluation {
                self.end_evaluation(is_latest, begun, sp, regs.get(cpu.sp), &mut dump);
            }
            if rule.how == How::Trampoline {
                self.forget_evaluation();
            }
            match stepped {
                Step::Caller { called: by_call } => {
                    called = by_call;
                    callee = mapping.map(|mapping| (&*mapping.module, svma));
                    if called && cut.is_none() {
                        returned = regs.get(cpu.sp).map(|sp| (sp.wrapping_sub(8), regs.ip));
                    }
                }
                Step::End => return Unwound::ToRoot,
                Step::Lost if begins => return Unwound::ToRoot,
                Step::Lost => return Unwound::Lost(last),
            }
        }
        Unwound::Lost(last)
    }
}

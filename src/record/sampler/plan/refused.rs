//! The next plan after the system has refused one, or the one line to end with.

use std::io;
use std::path::Path;

use super::size::{SMALLEST_RING, USUAL_RING};
use super::{Doing, Inherit, Note, Plan};
use crate::record::program::message;
use crate::record::refusal::Refusal;
use crate::record::request::{Rate, Time};
use crate::record::sampler::event::{Event, Mode};
use crate::record::system::Permissions;

impl Plan {
    /// The plan to try after the event of this number was refused, and a note for the user.
    ///
    /// # Errors
    /// When there is nothing left to try.
    pub fn after(
        &self,
        doing: Doing,
        number: usize,
        error: &io::Error,
        facts: &Permissions,
    ) -> Result<(Plan, Note), Refusal> {
        let next = |change: &dyn Fn(&mut Plan), note: Note| {
            let mut plan = self.clone();
            change(&mut plan);
            Ok((plan, note))
        };
        let code = error.raw_os_error().unwrap_or(0);
        let event = &self.events[number];
        match (doing, code) {
            (Doing::Filter, _) => Err(Refusal::Filter {
                event: event.name.clone(),
                filter: event.filter.clone().unwrap_or_default(),
                fields: Vec::new(),
            }),
            (Doing::OpenGroup, _) => Err(Refusal::Other {
                doing: "open the control group",
                said: format!(
                    "{}: {}; /proc/PID/cgroup has the path of a process's group",
                    self.cgroup.as_deref().unwrap_or(Path::new("")).display(),
                    message(error)
                ),
            }),
            // What an ordinary user gets without being asked has no room for both.
            (Doing::Map, libc::EPERM | libc::ENOMEM) if self.tracking_ring > 0 && self.ring <= USUAL_RING => {
                let smaller = self.tracking_ring / 4;
                let shrink = |plan: &mut Plan| {
                    plan.tracking_ring = if smaller < SMALLEST_RING { 0 } else { smaller };
                };
                next(&shrink, Note::Nothing)
            }
            (Doing::Map, libc::EPERM | libc::ENOMEM) if self.ring > SMALLEST_RING => {
                let halve = |plan: &mut Plan| {
                    plan.ring /= 2;
                    plan.choose_dump();
                };
                next(&halve, Note::Nothing)
            }
            (Doing::Map, libc::EPERM | libc::ENOMEM) => {
                Err(Refusal::LockedMemory { mlock_kb: facts.mlock_kb, limit: facts.locked_memory })
            }
            (Doing::Map, _) => {
                Err(Refusal::Other { doing: "map memory for the samples", said: message(error) })
            }
            (_, libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::ENOSPC) if event.is_allocations() => {
                Err(Refusal::Other { doing: "set a hardware breakpoint", said: message(error) })
            }
            (_, libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) if self.may_replace_event => next(
                &|plan| {
                    plan.events[number] = Event::cpu_clock();
                    plan.may_replace_event = false;
                },
                Note::Clock,
            ),
            (_, libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV)
                if event.precise > 0 && event.may_be_less_precise =>
            {
                next(&|plan| plan.events[number].precise -= 1, Note::Nothing)
            }
            (_, libc::EOPNOTSUPP) if event.precise > 0 => Err(Refusal::NotPrecise(event.name.clone())),
            (_, libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
                Err(Refusal::NoEvent { name: event.name.clone(), has: Vec::new() })
            }
            (_, libc::EPERM | libc::ENOSYS) if facts.seccomp => Err(Refusal::Seccomp),
            (_, libc::ENOSYS) => Err(Refusal::NoPerfEvents { wsl1: facts.wsl1 }),
            (_, libc::EMFILE) => Err(Refusal::OpenFiles(crate::record::sys::limits::lift_open_files())),
            (Doing::Attach(pid), libc::ESRCH) => Err(Refusal::NoProcess(pid)),
            (Doing::AttachThread(tid), libc::ESRCH) => Err(Refusal::NoThread(tid)),
            (_, libc::EACCES | libc::EPERM) if event.probed.is_some() && !facts.privileged => {
                Err(Refusal::Probe(event.name.clone()))
            }
            (_, libc::EACCES | libc::EPERM) => self.after_no_rights(doing, facts),
            (_, libc::EINVAL) => self.after_invalid(number, facts),
            _ => Err(Refusal::Other { doing: "open an event", said: message(error) }),
        }
    }

    fn after_no_rights(&self, doing: Doing, facts: &Permissions) -> Result<(Plan, Note), Refusal> {
        let paranoid = facts.paranoid.unwrap_or(2);
        if self.machine && paranoid >= 1 && !facts.privileged {
            return Err(Refusal::Machine(paranoid));
        }
        if self.time != Time::OnCpu && paranoid >= 2 && !facts.privileged {
            return Err(Refusal::OffCpu(paranoid));
        }
        // The kernel's part is refused before the process is looked at.
        let of_kernel = self.events.iter().find(|event| event.only == Some(Mode::Kernel));
        if let Some(event) = of_kernel.filter(|_| paranoid >= 2 && !facts.privileged) {
            return Err(Refusal::KernelEvent { name: event.name.clone(), paranoid });
        }
        let needs_kernel = of_kernel.is_some();
        if self.kernel && !needs_kernel && !self.machine {
            let note = if facts.privileged { Note::Nothing } else { Note::UserOnly(paranoid) };
            return Ok((Plan { kernel: false, ..self.clone() }, note));
        }
        match doing {
            _ if paranoid >= 3 && !facts.privileged => Err(Refusal::Paranoid(paranoid)),
            Doing::Attach(pid) | Doing::AttachThread(pid) => {
                let Permissions { ptrace_scope, container, .. } = *facts;
                Err(Refusal::Attach { pid, is_foreign: false, ptrace_scope, container })
            }
            _ => Err(Refusal::Forbidden { container: facts.container }),
        }
    }

    fn after_invalid(&self, number: usize, facts: &Permissions) -> Result<(Plan, Note), Refusal> {
        let event = &self.events[number];
        let rate = event.rate.unwrap_or(self.rate);
        if let (Rate::PerSecond(rate), Some(Ok(most))) = (rate, facts.max_rate.map(u64::try_from))
            && rate > most
        {
            if event.rate.is_some() {
                // It was not asked for, and the other event samples all.
                let mut plan = self.clone();
                plan.events[number].rate = Some(Rate::PerSecond(most));
                return Ok((plan, Note::Nothing));
            }
            let mut plan = Plan { rate: Rate::PerSecond(most), ..self.clone() };
            plan.choose_dump();
            return Ok((plan, Note::Rate(rate, most)));
        }
        if self.counts_losses {
            return Ok((Plan { counts_losses: false, ..self.clone() }, Note::Nothing));
        }
        if self.build_ids {
            return Ok((Plan { build_ids: false, ..self.clone() }, Note::Nothing));
        }
        if self.inherit == Inherit::Threads {
            return Ok((Plan { inherit: Inherit::Nothing, ..self.clone() }, Note::NoLaterThreads));
        }
        match self.rate {
            Rate::PerSecond(rate) if facts.max_rate.is_none() => Err(Refusal::Rate(rate)),
            _ => Err(Refusal::Other {
                doing: "open an event",
                said: format!(
                    "this kernel does not take {} with --call-graph {}",
                    event.name, self.call_graph
                ),
            }),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::record::request::{CallGraph, Request, Target};

    pub(in super::super) fn request() -> Request {
        let call_graph = CallGraph::FramePointers;
        Request { call_graph, ..Request::new(Target::Processes(vec![7])) }
    }

    pub(in super::super) fn refused(
        plan: &Plan,
        doing: Doing,
        code: i32,
        facts: &Permissions,
    ) -> Result<(Plan, Note), Refusal> {
        plan.after(doing, 0, &io::Error::from_raw_os_error(code), facts)
    }

    #[test]
    fn precision_is_lowered_where_that_was_allowed() {
        let facts = Permissions::default();
        let plan = |name: &str| Plan::new(&request(), vec![Event::parse(name).unwrap()], 2).unwrap();
        let (next, note) = refused(&plan("cycles:P"), Doing::Open, libc::EOPNOTSUPP, &facts).unwrap();
        assert_eq!((next.events[0].precise, note), (2, Note::Nothing));
        let said = refused(&plan("cycles:pp"), Doing::Open, libc::EOPNOTSUPP, &facts).unwrap_err();
        assert!(said.to_string().contains("cycles:P"), "{said}");
    }

    #[test]
    fn refused_parts_of_a_plan_are_left_out() {
        let plan = Plan::new(&request(), Vec::new(), 2).unwrap();
        let facts = Permissions { paranoid: Some(2), max_rate: Some(500), ..Permissions::default() };
        let open = Doing::Open;
        let (next, note) = refused(&plan, open, libc::ENOENT, &facts).unwrap();
        assert_eq!((next.events, note), (vec![Event::cpu_clock()], Note::Clock));
        let (next, note) = refused(&plan, open, libc::EACCES, &facts).unwrap();
        assert_eq!((next.kernel, note), (false, Note::UserOnly(2)));
        let (next, note) = refused(&plan, open, libc::EINVAL, &facts).unwrap();
        assert_eq!((next.rate, note), (Rate::PerSecond(500), Note::Rate(997, 500)));
        let (next, _) = refused(&next, open, libc::EINVAL, &facts).unwrap();
        assert!(!next.build_ids);
        let (next, note) = refused(&plan, Doing::Map, libc::EPERM, &facts).unwrap();
        assert_eq!((next.ring, note), (plan.ring / 2, Note::Nothing));
        // It ends: each refusal takes something away.
        for code in [libc::EPERM, libc::EINVAL, libc::ENOENT] {
            let mut plan = plan.clone();
            let tries = (0..50).take_while(|_| match refused(&plan, open, code, &facts) {
                Ok((next, _)) => {
                    plan = next;
                    true
                }
                Err(_) => false,
            });
            assert!(tries.count() < 10, "{code}");
        }
    }

    /// The kernel lowers its highest rate by itself where samples take long.
    #[test]
    fn waits_are_recorded_at_the_rate_that_is_allowed() {
        let waits = Request { time: Time::OffCpu, call_graph: CallGraph::Dwarf(8192), ..request() };
        let plan = Plan::new(&waits, Vec::new(), 2).unwrap();
        let facts = Permissions { max_rate: Some(250), ..Permissions::default() };
        let (next, note) = refused(&plan, Doing::Open, libc::EINVAL, &facts).unwrap();
        assert_eq!((next.attr().period_or_rate, note), (250, Note::Nothing));
        assert_eq!(next.attr_of(1), plan.attr_of(1));
        // The next thing that this kernel may not know.
        assert!(!refused(&next, Doing::Open, libc::EINVAL, &facts).unwrap().0.build_ids);
    }

    #[test]
    fn each_refusal_says_what_to_do() {
        let plan = Plan::new(&request(), Vec::new(), 2).unwrap();
        let last =
            Plan { kernel: false, may_replace_event: false, build_ids: false, ring: SMALLEST_RING, ..plan };
        let machine = Plan { machine: true, ..last.clone() };
        let probed = Event { probed: Some(c"/bin/true".into()), ..Event::default() };
        let probe = Plan { events: vec![probed], ..last.clone() };
        let of_kernel = Plan::new(&request(), vec![Event::parse("cycles:k").unwrap()], 2).unwrap();
        let facts = |paranoid| Permissions { paranoid: Some(paranoid), ..Permissions::default() };
        let (open, attach) = (Doing::Open, Doing::Attach(7));
        for (plan, doing, code, facts, said) in [
            (&last, open, libc::EACCES, facts(3), "sudo sysctl kernel.perf_event_paranoid=2"),
            (&last, open, libc::EACCES, facts(3), "setcap cap_perfmon=ep"),
            (&last, open, libc::EACCES, facts(4), "for good, `fg-record --root` once"),
            (&of_kernel, open, libc::EACCES, facts(2), "cycles:k samples the kernel, which is kept from"),
            (&of_kernel, open, libc::EACCES, facts(3), "`sudo sysctl kernel.perf_event_paranoid=1`"),
            (&of_kernel, open, libc::EPERM, facts(1), "SELinux"),
            (&machine, open, libc::EACCES, facts(2), "sudo sysctl kernel.perf_event_paranoid=0"),
            (&last, open, libc::EPERM, Permissions { seccomp: true, ..facts(2) }, "--cap-add PERFMON"),
            (&last, open, libc::ENOSYS, Permissions { seccomp: true, ..facts(2) }, "is filtered out"),
            (&last, open, libc::EPERM, Permissions { container: true, ..facts(2) }, "--cap-add PERFMON"),
            (&last, open, libc::EPERM, facts(2), "SELinux"),
            (&last, open, libc::ENOENT, facts(2), "use -e cpu-clock"),
            (&last, open, libc::ENOSYS, Permissions { wsl1: true, ..facts(2) }, "wsl --set-version"),
            (&last, open, libc::ENOSYS, facts(2), "no perf events"),
            (&last, open, libc::EMFILE, facts(2), "prlimit --pid"),
            (&last, Doing::Map, libc::EPERM, facts(2), "kernel.perf_event_mlock_kb"),
            (&last, Doing::Map, libc::EPERM, facts(2), "ulimit -l"),
            (&last, attach, libc::ESRCH, facts(2), "there is no process 7"),
            (
                &last,
                attach,
                libc::EPERM,
                Permissions { ptrace_scope: Some(1), ..facts(2) },
                "kernel.yama.ptrace_scope=0",
            ),
            (&last, attach, libc::EPERM, facts(2), "another user's"),
            (&last, Doing::AttachThread(7), libc::ESRCH, facts(2), "there is no thread 7"),
            (&last, Doing::Filter, libc::EINVAL, facts(2), "does not take the filter"),
            (&probe, open, libc::EACCES, facts(2), "probes are kept from ordinary users"),
            (&last, attach, libc::EPERM, Permissions { container: true, ..facts(2) }, "--cap-add SYS_PTRACE"),
            (
                &last,
                open,
                libc::EINVAL,
                Permissions { max_rate: Some(100_000), ..facts(2) },
                "does not take cycles",
            ),
        ] {
            let refusal = refused(plan, doing, code, &facts).unwrap_err().to_string();
            assert!(refusal.contains(said), "{doing:?} {code}: {refusal}");
            assert!(!refusal.contains('\n') && !refusal.contains("os error"), "{refusal}");
        }
    }
}

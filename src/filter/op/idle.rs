//! `--idle`: drop stacks that wait for something to do.
//!
//! A stack is idle if its leaf is one of the functions in which a processor, a thread or an event
//! loop waits. Below such a function there may stand the way it got into the kernel and to
//! sleep, and nothing else: an interrupt that arrives while a processor idles is work.

use regex::bytes::Regex;

use crate::filter::annotation;
use crate::filter::frames::PerFrame;
use crate::filter::operation::{Example, Operation, OperationGroup, Select, Stage};
use crate::folded::{FrameId, StackTable, Weights};
use crate::search::{Case, name_regex};

/// Declares the two lists, and the part of `--help` that prints them.
macro_rules! lists {
    (
        $(#[$waits_doc:meta])* WAITS: [$($waits:literal,)*];
        $(#[$beneath_doc:meta])* BENEATH: [$($beneath:literal,)*];
    ) => {
        $(#[$waits_doc])*
        const WAITS: &[&str] = &[$($waits),*];

        $(#[$beneath_doc])*
        const BENEATH: &[&str] = &[$($beneath),*];

        const DETAILS: &str = concat!(
            "A stack waits if its leaf, without annotation, is one of these functions:\n\n",
            $("  ", $waits, "\n",)*
            "\nor one of these below such a function:\n\n",
            $("  ", $beneath, "\n",)*
        );
    };
}

lists! {
    /// Functions that wait, by whole name, without annotation.
    WAITS: [
        // Linux: the idle loop and what it ends in.
        "do_idle",
        "cpu_idle",
        "cpu_idle_loop",
        "cpu_startup_entry",
        "cpuidle_(idle_call|enter|enter_state|enter_s2idle)",
        "call_cpuidle",
        "(arch_cpu|default|poll|mwait|intel|acpi|amd|c1e|native)_idle(_call|_ibrs|_irq|_s2idle|_with_hints(\\.constprop\\.0)?)?",
        "((pv_)?native|acpi|xen)_safe_halt",
        "acpi_idle_(do_entry|enter)|acpi_processor_ffh_cstate_enter",
        "cpu_do_idle",
        // Linux: threads that sleep in a system call.
        "(do_|ep_)?(epoll_wait|poll)|do_(sys_)?poll|do_select|core_sys_select|poll_schedule_timeout.*",
        "futex_wait(_queue(_me)?|_setup)?|do_futex|(do|hrtimer)_nanosleep|do_wait|do_sigtimedwait",
        "unix_stream_data_wait|inet_csk_accept|sk_wait_data|io_cqring_wait|worker_thread|smpboot_thread_fn|kthreadd",
        // C libraries and systems.
        "(__|__libc_)?(epoll_p?wait2?|p?poll|p?select|pause|nanosleep|usleep|sleep|accept4?|sigwait(info)?|sigtimedwait|wait4|waitpid|waitid)",
        "(__GI_)?(__)?(epoll_p?wait2?|p?poll|p?select|clock_nanosleep|nanosleep)(_time64)?",
        "(__)?pthread_cond_(timed)?wait(@.*)?|(__)?futex_abstimed_wait_.*|sem_(timed)?wait(@.*)?",
        "kevent(64|_qos)?|mach_msg(2)?_(trap|internal|overwrite)|__psynch_cvwait|__workq_kernreturn|semaphore_(timed)?wait_trap|__semwait_signal",
        // Runtimes.
        "runtime\\.(gopark|futex(sleep)?|notet?sleep(_internal|g)?|mPark|stopm|epollwait|netpoll|usleep|osyield)",
        "uv__io_poll",
        "std::thread::park(_timeout)?|parking_lot_core::thread_parker::.*::park|mio::poll::Poll::poll|tokio::runtime::.*::park(_timeout|_condvar|_driver)?",
        "(jdk\\.internal\\.misc\\.|sun\\.misc\\.|jdk/internal/misc/|sun/misc/)?Unsafe[._:]+[Pp]ark|java[./]lang[./](Object[.:]wait0?|Thread[.:]sleep0?)",
        "sun[./]nio[./]ch[./](EPoll(ArrayWrapper)?[.:](epollW|w)ait|KQueue[.:]poll)",
        // Python: `function (file)` as py-spy writes, `file:function` as austin does.
        "(.*\\.)?(wait|_wait_for_tstate_lock|join) \\(.*threading\\.py(:\\d+)?\\)|.*threading\\.py:(.*\\.)?(wait|_wait_for_tstate_lock|join)(:\\d+)?",
        "(.*\\.)?select \\(.*selectors\\.py(:\\d+)?\\)|.*selectors\\.py:(.*\\.)?select(:\\d+)?",
        "(.*\\.)?accept \\(.*socket\\.py(:\\d+)?\\)|.*socket\\.py:(.*\\.)?accept(:\\d+)?",
    ];

    /// Functions between one that waits and the leaf: the way into the kernel and to sleep.
    BENEATH: [
        "entry_SYSCALL_64(_after_hwframe|_safe_stack)?|entry_INT80_compat|do_syscall_(64|x64)|x64_sys_call|syscall_exit_to_user_mode",
        "el0t?_(64_)?(svc|sync)(_handler)?|do_el0_svc|invoke_syscall(\\.constprop\\.0)?|el0_svc_common(\\.constprop\\.0)?",
        "(__x64_|__arm64_|__se_|__do_)?sys_(epoll_p?wait2?|p?poll|p?select6?|ppoll|futex|clock_nanosleep|nanosleep|wait4|waitid|pause|accept4?|rt_sigtimedwait)",
        "(__)?schedule(_hrtimeout(_range(_clock)?)?|_timeout)?|finish_task_switch(\\.isra\\.0)?|io_schedule",
        "syscall|__syscall_cancel(_arch(_end)?)?|__futex_abstimed_wait_common(64)?",
    ];
}

pub(in crate::filter) const IDLE: Operation = Operation {
    name: "idle",
    value: None,
    group: OperationGroup::Select,
    about: "Drop stacks that only wait, and say what they were",
    details: DETAILS,
    examples: &[
        Example {
            arguments: &["--idle"],
            input: "\
main;loop;epoll_wait 1
main;loop;epoll_wait;entry_SYSCALL_64_after_hwframe;do_syscall_64;__x64_sys_epoll_wait;do_epoll_wait;schedule_hrtimeout_range;schedule;__schedule_[k] 2
main;loop;epoll_wait;helper 4
main;my_epoll_wait 8
main;schedule 16
swapper;do_idle;default_idle;asm_sysvec_apic_timer_interrupt;tick 32
swapper;do_idle_[k];default_idle_[k] 64
",
            output: "\
main;loop;epoll_wait;helper 4
main;my_epoll_wait 8
main;schedule 16
swapper;do_idle;default_idle;asm_sysvec_apic_timer_interrupt;tick 32
",
        },
        Example {
            arguments: &["--idle"],
            input: "a;P1;/usr/lib/threading.py:Condition.wait:320 1\na;T.run (x.py:3);wait (threading.py:320) 2\nb;wait (x.py:3) 4\n",
            output: "b;wait (x.py:3) 4\n",
        },
    ],
    build: |_, _| {
        let list = |list: &[&str]| {
            name_regex(&format!("^(?:{})$", list.join("|")), Case::Exact)
        };
        Ok(Stage::Select(Box::new(Idle {
            waits: list(WAITS)?,
            beneath: list(BENEATH)?,
            parts: PerFrame::default(),
            dropped: Vec::new(),
        })))
    },
};

/// The part of a frame in waiting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Waits,
    Beneath,
    Works,
}

struct Idle {
    waits: Regex,
    beneath: Regex,
    parts: PerFrame<Part>,
    /// The number and weight of dropped stacks, by the function that waited.
    dropped: Vec<(Vec<u8>, u64, Weights)>,
}

/// The most waiting functions that are told apart; the others are counted as one.
const MOST_TOLD: usize = 200;

impl Select for Idle {
    fn keeps(&mut self, stack: &[FrameId], weights: Weights, names: &StackTable) -> bool {
        for &frame in stack.iter().rev() {
            let part = self.parts.get(frame, || {
                let name = annotation::split(names.name(frame)).0;
                match () {
                    () if self.waits.is_match(name) => Part::Waits,
                    () if self.beneath.is_match(name) => Part::Beneath,
                    () => Part::Works,
                }
            });
            match part {
                Part::Beneath => {}
                Part::Works => return true,
                Part::Waits => {
                    self.note(annotation::split(names.name(frame)).0, weights);
                    return false;
                }
            }
        }
        true
    }

    fn forget(&mut self) {
        self.parts.forget();
    }

    fn needs_weights(&self) -> bool {
        true
    }

    fn remark(&self) -> Option<String> {
        const SHOWN: usize = 3;
        if self.dropped.is_empty() {
            return Some("no stack is idle".to_owned());
        }
        let mut dropped: Vec<_> = self.dropped.iter().collect();
        dropped.sort_by(|a, b| b.2.value.cmp(&a.2.value).then_with(|| a.0.cmp(&b.0)));
        let stacks: u64 = dropped.iter().map(|(_, stacks, _)| stacks).sum();
        let functions = dropped.iter().take(SHOWN).map(|(name, stacks, weights)| {
            format!("{} ({stacks}, weight {})", String::from_utf8_lossy(name).escape_debug(), weights.value)
        });
        let mut text = functions.collect::<Vec<_>>().join(", ");
        if dropped.len() > SHOWN {
            text += &format!(" and {} more", dropped.len() - SHOWN);
        }
        let word = if stacks == 1 { "stack" } else { "stacks" };
        Some(format!("dropped {stacks} {word} that wait: {text}"))
    }
}

impl Idle {
    fn note(&mut self, name: &[u8], weights: Weights) {
        let known = self.dropped.iter().position(|(known, ..)| known == name);
        let index = known.unwrap_or_else(|| {
            if self.dropped.len() < MOST_TOLD {
                self.dropped.push((name.to_vec(), 0, Weights::default()));
            }
            self.dropped.len() - 1
        });
        let (_, stacks, sum) = &mut self.dropped[index];
        *stacks += 1;
        // A sum that cannot be exact is an error when it is written, not in a remark.
        *sum = sum.checked_add(weights).unwrap_or(*sum);
    }
}

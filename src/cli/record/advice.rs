//! Advice on recordings of the built-in sampler that went wrong, with options that it has.

use std::fs;
use std::time::Duration;

use crate::record::request::{CallGraph, Rate, Target};
use crate::record::sampler::event::Event;
use crate::record::sampler::plan::Plan;
use crate::record::sampler::{Coverage, Outcome};

/// The advice when samples were lost.
pub(super) fn on_losses(plan: &Plan) -> &'static str {
    let is_rate = matches!(plan.rate, Rate::PerSecond(_));
    if plan.sampled().all(Event::is_allocations) {
        return "record fewer by a larger --interval";
    }
    match (plan.call_graph, is_rate) {
        (CallGraph::Dwarf(_), true) => "lower -F, or use --call-graph fp",
        (CallGraph::Dwarf(_), false) => "use --call-graph fp",
        (_, true) => "lower -F",
        (_, false) => "record fewer processes at a time",
    }
}

/// The least processor time that is worth a profile without any sample.
const WORTH_A_PROFILE: u64 = 5_000_000;

/// Returns true for a recording without samples whose processor time is known to be more than a program's start.
pub(super) fn is_worth_a_profile(outcome: &Outcome) -> bool {
    outcome.coverage.is_some_and(|coverage| coverage.is_time && coverage.total >= WORTH_A_PROFILE)
}

/// The reason why there are no samples.
pub(super) fn without_samples(outcome: &Outcome) -> String {
    match outcome.coverage {
        Some(coverage) if coverage.is_time && coverage.total > 0 => {
            format!("the target used {:.1} ms of processor time", coverage.total as f64 / 1e6)
        }
        _ => "the target did not compute, or is another process than the one meant".to_owned(),
    }
}

/// The warning when samples stand for less than nine tenths of the processor time.
pub(super) fn on_coverage(outcome: &Outcome) -> Option<String> {
    let Coverage { sampled, total, is_time } = outcome.coverage?;
    if sampled >= total / 10 * 9 || outcome.samples == 0 && !is_worth_a_profile(outcome) {
        return None;
    }
    let percent = u128::from(sampled) * 100 / u128::from(total.max(1));
    let amount = match is_time {
        true => format!("{} of {} ms CPU", sampled / 1_000_000, total / 1_000_000),
        false => format!("{percent}% of the {}", outcome.plan.event_names()),
    };
    let why = if outcome.lost > 0 {
        "samples were lost".to_owned()
    } else if !outcome.plan.kernel && is_time {
        "those in the kernel were left out, and threads that end before their first sample have none"
            .to_owned()
    } else {
        let advice = match outcome.plan.rate {
            Rate::PerSecond(rate) => format!("; -F {} samples more", (rate * 10).min(49_999)),
            Rate::EveryEvents(_) => "; a smaller --interval samples more".to_owned(),
        };
        format!("threads and processes that end before their first sample have none{advice}")
    };
    Some(format!("sampled {amount}, the rest is [not sampled]: {why}"))
}

/// The message when no allocation was a sample, with --alloc.
pub(super) fn without_allocations(elapsed: Duration) -> String {
    format!(
        "no allocation was sampled in {:.1} s: the program allocates little (--interval 4096 samples more often), is \
         linked statically, or brings an allocator of its own",
        elapsed.as_secs_f64()
    )
}

/// The message when no thread left a processor, with --off-cpu.
pub(super) fn without_waits(target: &Target, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    let all = |state: fn(u32) -> bool| match target {
        Target::Processes(pids) => !pids.is_empty() && pids.iter().all(|&pid| state(pid)),
        _ => false,
    };
    if all(|pid| waits(pid) == Some(true)) {
        return format!(
            "the target waited for all of the {seconds:.1} s, and a wait is recorded only when it ends: record \
             it for longer, or while it has something to do"
        );
    }
    if all(|pid| waits(pid) == Some(false)) {
        return format!(
            "nobody left a processor in {seconds:.1} s: the target computed all the time; record it without \
             --off-cpu"
        );
    }
    format!(
        "nobody left a processor in {seconds:.1} s: the target computed, or waited all the time; record it for \
         longer, or without --off-cpu"
    )
}

/// Returns true if all threads of a process wait or are stopped; `None` if there is no such process.
fn waits(pid: u32) -> Option<bool> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let state = |stat: Vec<u8>| {
        // The name before the state may hold anything.
        let at = stat.iter().rposition(|&b| b == b')')?;
        stat.get(at + 2).copied()
    };
    let states = threads.flatten().filter_map(|thread| state(fs::read(thread.path().join("stat")).ok()?));
    let states: Vec<u8> = states.collect();
    (!states.is_empty()).then(|| !states.contains(&b'R'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_computes_and_nobody_does_not_exist() {
        assert_eq!(waits(std::process::id()), Some(false));
        assert_eq!(waits(u32::MAX), None);
        let target = Target::Processes(vec![std::process::id()]);
        let said = without_waits(&target, Duration::from_secs(1));
        assert!(said.ends_with("the target computed all the time; record it without --off-cpu"), "{said}");
    }
}

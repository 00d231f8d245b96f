//! `perf record`, Linux's own profiler, which knows more events than anybody else.

use super::{Ask, Backend, BackendInfo, Capability, Plan, Refusal, Status, Words};
use crate::record::request::{CallGraph, Delay, Rate, Target};

const INFO: BackendInfo = BackendInfo {
    name: "perf",
    records: "all that Linux can record",
    variable: "PERF",
    programs: &["perf"],
    install: "`apt install linux-perf`, `apt install linux-tools-generic` on Ubuntu, `dnf install perf`",
    takes: &[
        Capability::Command,
        Capability::Process,
        Capability::Processes,
        Capability::Machine,
        Capability::MachineWhile,
        Capability::Rate,
        Capability::Period,
        Capability::Event,
        Capability::Events,
        Capability::Threads,
        Capability::Processors,
        Capability::Delay,
        Capability::Dwarf,
        Capability::FramePointers,
        Capability::NoStacks,
        Capability::Children,
        Capability::NoChildren,
        Capability::PerProcess,
        Capability::PerThread,
        Capability::Raw,
    ],
    rate: Rate::USUAL,
    when_it_fails: None,
};

/// Runs perf.
pub struct Perf;

impl Backend for Perf {
    fn about(&self) -> &'static BackendInfo {
        &INFO
    }

    fn plan(&self, ask: &Ask<'_>) -> Result<Plan, Refusal> {
        let request = &ask.wishes.request;
        let file = ask.folder.join("perf.data");
        let mut words = Words::of(ask.program);
        words.add(["record", "-q"]);
        if !ask.wishes.raw {
            // Its file is read at once: copies of all programs in ~/.debug are for one that is kept.
            words.add(["-N"]);
        }
        match request.rate {
            Rate::EveryEvents(events) => words.option("-c", events.to_string()),
            Rate::PerSecond(_) => words.option("-F", ask.rate(&INFO).to_string()),
        };
        for event in &request.events {
            words.option("-e", &event.name);
            if let Some(filter) = &event.filter {
                words.option("--filter", filter);
            }
        }
        if let Some(processors) = &request.processors {
            let list: Vec<String> = processors.iter().map(u32::to_string).collect();
            words.option("-C", list.join(","));
        }
        match request.pauses.delay {
            Delay::None => {}
            Delay::For(delay) => {
                words.option("-D", delay.as_millis().max(1).to_string());
            }
            Delay::UntilTold => {
                words.option("-D", "-1");
            }
        }
        match ask.wishes.call_graph.unwrap_or(request.call_graph) {
            CallGraph::None => {}
            how => {
                words.option("--call-graph", how.to_string());
            }
        }
        if !request.children {
            words.add(["--no-inherit"]);
        }
        match &request.target {
            Target::Machine(_) => {
                words.add(["-a"]);
            }
            Target::Processes(_) => {
                words.option("-p", ask.pids.join(","));
            }
            Target::Threads(tids) => {
                let list: Vec<String> = tids.iter().map(u32::to_string).collect();
                words.option("-t", list.join(","));
            }
            Target::Command(_) | Target::Waiting(_) => {}
        }
        words.option("-o", &file).add(&ask.wishes.arguments);
        let mut plan = match ask.command() {
            Some(command) => {
                words.add(["--"]).add(command);
                Plan { after: request.duration, status: Status::Command, ..Plan::new(words, file) }
            }
            None => {
                // perf's own way to record for a time.
                if let Some(duration) = request.duration {
                    words.add(["--", "sleep"]).add([duration.as_secs_f64().to_string()]);
                }
                Plan::new(words, file)
            }
        };
        plan.format = Some("perf-data");
        if !request.children {
            plan.notes.push("perf leaves out threads that start later together with children".to_owned());
        }
        Ok(plan)
    }
}

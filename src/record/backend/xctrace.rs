//! `xctrace`: the Time Profiler of macOS's Instruments, without its window.
//!
//! It writes a folder, the trace, from which a second run exports the table of samples as XML. It
//! takes 1000 samples a second, no more and no fewer.

use super::{Ask, Backend, BackendInfo, Capability, Plan, Recording, Refusal, Words};
use crate::record::request::Target;

const INFO: BackendInfo = BackendInfo {
    name: "xctrace",
    records: "macOS, by Instruments' Time Profiler",
    variable: "XCTRACE",
    programs: &["xctrace"],
    install: "it comes with Xcode, for macOS only",
    takes: &[Capability::Command, Capability::Process, Capability::Machine, Capability::Raw],
    rate: 1000,
    when_it_fails: None,
};

/// The samples in a trace.
const SAMPLES: &str = r#"/trace-toc/*/data/table[@schema="time-profile"]"#;

/// Runs xctrace.
pub struct Xctrace;

impl Backend for Xctrace {
    fn about(&self) -> &'static BackendInfo {
        &INFO
    }

    fn plan(&self, ask: &Ask<'_>) -> Result<Plan, Refusal> {
        let request = &ask.wishes.request;
        let trace = ask.folder.join("time.trace");
        let mut words = Words::of(ask.program);
        words.add(["record", "--template", "Time Profiler", "--no-prompt"]).option("--output", &trace);
        if let Some(duration) = request.duration {
            words.option("--time-limit", format!("{}ms", duration.as_millis().max(1)));
        }
        words.add(&ask.wishes.arguments);
        match &request.target {
            Target::Machine(_) => {
                words.add(["--all-processes"]);
            }
            Target::Processes(_) => {
                words.option("--attach", ask.pids.join(","));
            }
            Target::Command(invocation) => {
                if !invocation.stdout_is_taken {
                    words.option("--target-stdout", "-");
                }
                words.add(["--launch", "--"]).add(ask.command().unwrap_or_default());
            }
            Target::Threads(_) | Target::Waiting(_) => {}
        }
        let mut export = Words::of(ask.program);
        export.add(["export"]).option("--input", &trace).option("--xpath", SAMPLES);
        let mut plan = Plan::new(words, trace);
        plan.recording = Recording::Export(export.0);
        plan.format = Some("xctrace");
        if request.children && !matches!(request.target, Target::Machine(_)) {
            plan.notes.push("xctrace leaves out the processes that the recorded one starts".to_owned());
        }
        Ok(plan)
    }
}

//! BPF programs in the kernel, which add stacks up there: bcc's `profile`, or `bpftrace`.
//!
//! Both follow frame pointers and watch processes that run: a command is started by us, waits until
//! they watch, and goes on. They find names only at the end, in what processes have mapped then, so
//! a command that ends is held until they have.
//! `BPF` may name either program; bcc's needs the kernel's headers, bpftrace does without.

use std::path::Path;

use super::{Ask, Backend, BackendInfo, Capability, Plan, Recording, Refusal, Starter, Words};
use crate::record::request::{Rate, Target};

const INFO: BackendInfo = BackendInfo {
    name: "bpf",
    records: "what runs, by frame pointers, at little cost",
    variable: "BPF",
    programs: &["profile-bpfcc", "/usr/share/bcc/tools/profile", "bpftrace"],
    install: "`apt install bpfcc-tools` or `apt install bpftrace`, `dnf install bcc-tools`",
    takes: &[
        Capability::Command,
        Capability::Process,
        Capability::Processes,
        Capability::Machine,
        Capability::Rate,
        Capability::FramePointers,
        Capability::NoChildren,
        Capability::Raw,
    ],
    rate: Rate::USUAL,
    when_it_fails: Some(
        "it needs root; profile of bcc also the kernel's headers, which BPF=bpftrace does not",
    ),
};

/// Runs bcc's profile, or bpftrace.
pub struct Bpf;

impl Backend for Bpf {
    fn about(&self) -> &'static BackendInfo {
        &INFO
    }

    fn plan(&self, ask: &Ask<'_>) -> Result<Plan, Refusal> {
        let request = &ask.wishes.request;
        let tool = Path::new(ask.program).file_name();
        let is_bpftrace = tool.is_some_and(|name| name.as_encoded_bytes().starts_with(b"bpftrace"));
        let mut plan = if is_bpftrace { bpftrace(ask) } else { profile(ask) };
        plan.starter = Starter::We;
        plan.ends_with_target = false;
        if request.children && !matches!(request.target, Target::Machine(_)) {
            plan.notes.push("bpf leaves out the processes that the recorded ones start".to_owned());
        }
        Ok(plan)
    }
}

fn profile(ask: &Ask<'_>) -> Plan {
    let mut words = Words::of(ask.program);
    words.add(["-f"]).option("-F", ask.rate(&INFO).to_string());
    if !ask.pids.is_empty() {
        words.option("-p", ask.pids.join(","));
    }
    words.add(&ask.wishes.arguments);
    if let Some(seconds) = ask.whole_seconds() {
        words.add([seconds.to_string()]);
    }
    Plan {
        recording: Recording::Output,
        format: Some("folded"),
        after: ask.wishes.request.duration.filter(|_| ask.whole_seconds().is_none()),
        ..Plan::new(words, ask.folder.join("unused"))
    }
}

fn bpftrace(ask: &Ask<'_>) -> Plan {
    let file = ask.folder.join("bpftrace.txt");
    let whom: Vec<String> = ask.pids.iter().map(|pid| format!("pid == {pid}")).collect();
    let whom = if whom.is_empty() { String::new() } else { format!("/{}/ ", whom.join(" || ")) };
    let mut program =
        format!("profile:hz:{} {whom}{{ @[kstack, ustack, comm] = count(); }}", ask.rate(&INFO));
    if let Some(duration) = ask.wishes.request.duration {
        program.push_str(&format!(" interval:ms:{} {{ exit(); }}", duration.as_millis().max(1)));
    }
    let mut words = Words::of(ask.program);
    words.option("-o", &file).add(&ask.wishes.arguments).option("-e", program);
    Plan { format: Some("bpftrace"), ..Plan::new(words, file) }
}

//! `dtrace`: macOS, FreeBSD and illumos.
//!
//! It starts the command itself, from one text that it cuts at blanks, without any quoting; a word
//! with a blank in it cannot be handed on.

use super::{Ask, Backend, BackendInfo, Capability, Plan, Refusal, Words};
use crate::record::request::{Rate, Target};

const INFO: BackendInfo = BackendInfo {
    name: "dtrace",
    records: "macOS, FreeBSD, illumos",
    variable: "DTRACE",
    programs: &["dtrace"],
    install: "it comes with macOS, FreeBSD and illumos",
    takes: &[
        Capability::Command,
        Capability::Process,
        Capability::Processes,
        Capability::Machine,
        Capability::Rate,
        Capability::Children,
        Capability::NoChildren,
        Capability::Raw,
    ],
    rate: Rate::USUAL,
    when_it_fails: Some("it needs root, and on macOS programs that system integrity protection leaves alone"),
};

/// Runs dtrace.
pub struct Dtrace;

impl Backend for Dtrace {
    fn about(&self) -> &'static BackendInfo {
        &INFO
    }

    fn plan(&self, ask: &Ask<'_>) -> Result<Plan, Refusal> {
        let request = &ask.wishes.request;
        let file = ask.folder.join("dtrace.txt");
        let is_meant = |pid: &str| match request.children {
            // A process is among its own progeny.
            true => format!("progenyof({pid})"),
            false => format!("pid == {pid}"),
        };
        let whom = match &request.target {
            Target::Machine(_) => String::new(),
            Target::Command(_) | Target::Waiting(_) => format!("/{}/ ", is_meant("$target")),
            Target::Processes(_) | Target::Threads(_) => {
                let pids: Vec<String> = ask.pids.iter().map(|pid| is_meant(pid)).collect();
                format!("/{}/ ", pids.join(" || "))
            }
        };
        let mut program = format!("profile-{} {whom}{{ @[ustack(100)] = count(); }}", ask.rate(&INFO));
        if let Some(duration) = request.duration {
            program.push_str(&format!(" tick-{}ms {{ exit(0); }}", duration.as_millis().max(1)));
        }
        let mut words = Words::of(ask.program);
        words.option("-x", "ustackframes=100").option("-n", program).option("-o", &file);
        words.add(&ask.wishes.arguments);
        if let Some(command) = ask.command() {
            let blank = |word: &&std::ffi::OsString| {
                word.is_empty() || word.as_encoded_bytes().iter().any(u8::is_ascii_whitespace)
            };
            if let Some(word) = command.iter().find(blank) {
                return Err(Refusal::new(format!(
                    "dtrace cannot hand on {word:?}, a word with blanks or none; put the command into a script"
                )));
            }
            words.option("-c", command.join(std::ffi::OsStr::new(" ")));
        }
        Ok(Plan { format: Some("dtrace"), ends_with_target: false, ..Plan::new(words, file) })
    }
}

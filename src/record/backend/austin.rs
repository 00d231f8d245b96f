//! `austin`: the Python functions of CPython programs, without stopping them.
//!
//! Of its two ways to count time the one of the built-in sampler is asked for: processor time,
//! `-s` in version 3, `-c` since 4. Version 3 writes text, 4 its own binary format, MOJO; the
//! collapsers tell them apart. The command follows the options as it is: a `--` would be taken for
//! its name.

use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{Ask, Backend, BackendInfo, Capability, Plan, Refusal, Stop, Words};
use crate::record::request::{Rate, Target};

const INFO: BackendInfo = BackendInfo {
    name: "austin",
    records: "Python functions",
    variable: "AUSTIN",
    programs: &["austin"],
    install: "`pip install austin-dist`",
    takes: &[
        Capability::Command,
        Capability::Process,
        Capability::Rate,
        Capability::Children,
        Capability::NoChildren,
        Capability::PerThread,
        Capability::Raw,
    ],
    rate: Rate::USUAL,
    when_it_fails: Some("it needs a CPython program, and the right to read its memory"),
};

/// The time that a program may take until it is Python. austin's own, a tenth of a second, is too
/// short for three of sixty starts on a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs austin.
pub struct Austin;

impl Backend for Austin {
    fn about(&self) -> &'static BackendInfo {
        &INFO
    }

    fn plan(&self, ask: &Ask<'_>) -> Result<Plan, Refusal> {
        let request = &ask.wishes.request;
        let file = ask.folder.join("austin.out");
        let interval = (1_000_000 + ask.rate(&INFO) / 2) / ask.rate(&INFO);
        let mut words = Words::of(ask.program);
        // As for a pipe: without a banner and statistics on standard error.
        words.add(["--pipe", processor_time(ask.program)]).option("-i", interval.max(1).to_string());
        words.option("-t", PATIENCE.as_millis().to_string());
        if request.children {
            words.add(["--children"]);
        }
        if let Some(seconds) = ask.whole_seconds() {
            words.option("-x", seconds.to_string());
        }
        if let Target::Processes(_) = request.target {
            words.option("-p", ask.pids.join(","));
        }
        words.option("-o", &file).add(&ask.wishes.arguments);
        if let Some(invocation) = request.target.invocation() {
            words.add(super::python::words(invocation));
        }
        Ok(Plan {
            // At Ctrl-C it waits for the command, which the terminal would have told.
            stop: Stop::Terminate,
            after: request.duration.filter(|_| ask.whole_seconds().is_none()),
            shows_threads: true,
            ..Plan::new(words, file)
        })
    }
}

/// The option for processor time.
fn processor_time(program: &OsStr) -> &'static str {
    let said = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    match said.map(|output| major(&String::from_utf8_lossy(&output.stdout))) {
        Ok(Some(4..)) => "--cpu",
        _ => "--sleepless",
    }
}

/// The first number of `austin 4.0.0`.
fn major(version: &str) -> Option<u32> {
    version.split_whitespace().nth(1)?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(major("austin 3.7.0\n"), Some(3));
        assert_eq!(major("austin 4.0.0 [gcc 14.2.0]"), Some(4));
        assert_eq!(major("nonsense"), None);
    }
}

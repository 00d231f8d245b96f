//! `py-spy record`: the Python functions of one CPython program, read from outside.
//!
//! It stops the program for each sample, so it takes fewer than others unless asked: 100 a second,
//! as by itself. Its messages go to standard output, where the program would write as
//! well: a shell gives the program another one before it becomes that program.

use super::{Ask, Backend, BackendInfo, Capability, Plan, Refusal, Roots, Words};
use crate::record::request::Target;

const INFO: BackendInfo = BackendInfo {
    name: "py-spy",
    records: "Python functions",
    variable: "PY_SPY",
    programs: &["py-spy"],
    install: "`pip install py-spy`",
    takes: &[
        Capability::Command,
        Capability::Process,
        Capability::Rate,
        Capability::Children,
        Capability::NoChildren,
        Capability::PerProcess,
        Capability::PerThread,
        Capability::Raw,
    ],
    rate: 100,
    when_it_fails: Some("it needs a CPython program, and the right to trace it"),
};

/// Runs py-spy.
pub struct PySpy;

impl Backend for PySpy {
    fn about(&self) -> &'static BackendInfo {
        &INFO
    }

    fn plan(&self, ask: &Ask<'_>) -> Result<Plan, Refusal> {
        let request = &ask.wishes.request;
        let file = ask.folder.join("py-spy.txt");
        let mut words = Words::of(ask.program);
        words.add(["record", "--format", "raw"]).option("--rate", ask.rate(&INFO).to_string());
        if request.children {
            words.add(["--subprocesses"]);
        } else if ask.wishes.roots == Roots::Processes {
            return Err(Refusal::new(
                "py-spy names processes only with their children: leave out --no-children",
            ));
        }
        if ask.wishes.roots == Roots::Threads {
            words.add(["--threads"]);
        }
        if let Some(seconds) = ask.whole_seconds() {
            words.option("--duration", seconds.to_string());
        }
        if let Target::Processes(_) = request.target {
            words.option("--pid", ask.pids.join(","));
        }
        words.option("--output", &file).add(&ask.wishes.arguments);
        let output_at_3 = request.target.invocation().is_some_and(|invocation| !invocation.stdout_is_taken);
        if let Some(invocation) = request.target.invocation() {
            words.add(["--"]);
            words.add(["sh", "-c", if output_at_3 { TO_3 } else { TO_STDERR }, "sh"]);
            words.add(super::python::words(invocation));
        }
        Ok(Plan {
            format: Some("py-spy"),
            output_at_3,
            chats: true,
            after: request.duration.filter(|_| ask.whole_seconds().is_none()),
            shows_threads: true,
            ..Plan::new(words, file)
        })
    }
}

/// Becomes the program that follows, its standard output our own: [`super::Plan::output_at_3`].
const TO_3: &str = r#"exec "$@" >&3 3>&-"#;
/// Becomes the program that follows, its standard output standard error.
const TO_STDERR: &str = r#"exec "$@" >&2"#;

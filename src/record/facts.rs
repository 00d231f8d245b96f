//! The facts of a recording that only its recorder knows: command, host, date, duration.

use std::time::{Duration, SystemTime};

use super::request::{Invocation, Request, Target};
use super::sys::{limits, processes};
use crate::profile::Facts;

/// The name and version of this recorder.
pub const PRODUCER: &str = concat!("fg-record ", env!("CARGO_PKG_VERSION"));

/// The facts of a recording, taken on this machine.
///
/// The environment is not part of them.
pub fn facts(request: &Request, start: SystemTime, duration: Duration, cpu_time: Option<Duration>) -> Facts {
    let mut facts = Facts::default();
    if let Ok(name) = limits::system_name() {
        facts.system = Some(format!("{} {} {}", name.system, name.release, name.architecture));
        facts.host = Some(name.host).filter(|host| !host.is_empty());
    }
    facts.start = Some(start);
    facts.duration = Some(duration);
    facts.cpu_time = cpu_time;
    facts.producer = Some(PRODUCER.to_owned());
    let machine = match &request.cgroup {
        Some(group) => format!("the control group {}", group.display()),
        None => "the whole machine".to_owned(),
    };
    match &request.target {
        Target::Command(invocation) => facts.set_command(command(invocation)),
        Target::Processes(pids) => {
            if let [pid] = pids[..] {
                facts.set_command(line(processes::command_line(pid)));
            }
            let list: Vec<String> = pids.iter().map(u32::to_string).collect();
            facts.comment(format!("recorded processes: {}", list.join(", ")));
        }
        Target::Threads(tids) => {
            let list: Vec<String> = tids.iter().map(u32::to_string).collect();
            facts.comment(format!("recorded threads: {}", list.join(", ")));
        }
        Target::Waiting(_) => {}
        Target::Machine(None) => facts.comment(format!("recorded {machine}")),
        Target::Machine(Some(invocation)) => {
            let invocation = String::from_utf8_lossy(&command(invocation)).into_owned();
            facts.comment(format!("recorded {machine} until this ended: {invocation}"));
        }
    }
    facts
}

/// A command as a shell would have to be given it.
fn command(invocation: &Invocation) -> Vec<u8> {
    line(invocation.words().map(|word| word.as_encoded_bytes().to_vec()))
}

fn line(words: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let words = words.into_iter().map(|word| match shlex::bytes::try_quote(&word) {
        Ok(quoted) => quoted.into_owned(),
        // A word with a zero byte, which cannot be quoted.
        Err(_) => word,
    });
    words.collect::<Vec<_>>().join(&b' ')
}

/// Adds what a recorder knows to what its recording says. The recorder knows better.
pub fn complete(facts: &mut Facts, known: Facts) {
    fn prefer<T>(fact: &mut Option<T>, known: Option<T>) {
        if known.is_some() {
            *fact = known;
        }
    }
    prefer(&mut facts.command, known.command);
    prefer(&mut facts.host, known.host);
    prefer(&mut facts.system, known.system);
    prefer(&mut facts.start, known.start);
    prefer(&mut facts.duration, known.duration);
    prefer(&mut facts.cpu_time, known.cpu_time);
    prefer(&mut facts.rate, known.rate);
    prefer(&mut facts.producer, known.producer);
    // The reader of a recording names what it has kept of it.
    facts.event = facts.event.take().or(known.event);
    facts.samples = facts.samples.or(known.samples);
    known.warnings.iter().for_each(|warning| facts.warn(warning));
    known.comments.iter().for_each(|comment| facts.comment(comment));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(target: Target) -> Facts {
        facts(&Request::new(target), SystemTime::UNIX_EPOCH, Duration::from_secs(2), None)
    }

    #[test]
    fn the_command_is_one_line_and_the_environment_no_part_of_it() {
        let invocation = Invocation {
            program: "./my app".into(),
            arguments: vec!["a\nb".into(), "--x=1".into()],
            environment: vec![("TOKEN".into(), "secret".into())],
            ..Invocation::default()
        };
        let facts = of(Target::Command(invocation));
        assert_eq!(facts.command.as_deref(), Some("'./my app' 'a b' '--x=1'"));
        assert!(!format!("{facts:?}").contains("secret"));
        assert!(facts.host.is_some() && facts.producer.as_deref() == Some(PRODUCER));
    }

    #[test]
    fn one_process_has_a_command() {
        let this = of(Target::Processes(vec![std::process::id()]));
        assert_eq!(this.command.is_some(), cfg!(target_os = "linux"));
        assert_eq!(of(Target::Processes(vec![1, 2])).comments, ["recorded processes: 1, 2"]);
        assert_eq!(of(Target::Machine(None)).command, None);
    }

    #[test]
    fn the_reader_names_the_event_and_the_recorder_the_rest() {
        let mut facts = Facts::default();
        facts.event = Some("offcpu".into());
        facts.producer = Some("perf".into());
        facts.warn("a");
        let mut known = Facts::default();
        known.event = Some("context-switches".into());
        known.producer = Some(PRODUCER.into());
        known.warn("b");
        complete(&mut facts, known);
        assert_eq!(facts.event.as_deref(), Some("offcpu"));
        assert_eq!(facts.producer.as_deref(), Some(PRODUCER));
        assert_eq!(facts.warnings, ["a", "b"]);
    }
}

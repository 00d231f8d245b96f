//! The events to sample on: `-e EVENT`, repeatable, each with the `--filter` behind it.
//!
//! A filter belongs to the event before it, as perf has it. Only the order on the command line tells which
//! that is, and so these two options are not derived.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::record::request::EventRequest;

/// The events of the command line.
#[derive(Clone, Debug, Default)]
pub struct EventArgs {
    /// The events, in their order.
    pub events: Vec<EventRequest>,
}

const EVENT: &str = "event";
const FILTER: &str = "filter";

impl Args for EventArgs {
    fn augment_args(command: Command) -> Command {
        let event = Arg::new(EVENT)
            .short('e')
            .long("event")
            .value_name("EVENT")
            .action(ArgAction::Append)
            .help(
                "Sample on EVENT, as perf names it: page-faults, cycles:u, sched:sched_switch [default: cycles, or \
                 cpu-clock where the processor's cycles cannot be counted]",
            )
            .long_help(
                "Sample on EVENT, as perf names it. Repeatable: of several, each is a root frame of its name. By \
                 default cycles, or cpu-clock where the processor's cycles cannot be counted.\n\n\
                 cycles:upp             u: programs only, k: the kernel only, p: precise\n\
                 page-faults            and others that the kernel counts\n\
                 LLC-load-misses        and others of caches\n\
                 cpu/event=0x3c/, r3c   by the processor's manual\n\
                 sched:sched_switch     a tracepoint; --filter chooses among its events\n\
                 uprobe:./app:parse     when a function begins; uretprobe: when it returns\n\
                 kprobe:do_sys_open     when a function of the kernel begins\n\n\
                 For an event that does not exist, those that this machine counts are listed.",
            );
        let filter = Arg::new(FILTER)
            .long("filter")
            .value_name("CONDITION")
            .action(ArgAction::Append)
            .requires(EVENT)
            .help("Keep only those samples of the tracepoint before it for which CONDITION holds: 'prev_prio < 100'");
        command.args([event, filter])
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for EventArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let each = |id: &str| -> Vec<(usize, String)> {
            let values = matches.get_many::<String>(id).into_iter().flatten().cloned();
            matches.indices_of(id).into_iter().flatten().zip(values).collect()
        };
        let named = each(EVENT);
        let mut events: Vec<EventRequest> = named.iter().map(|(_, name)| EventRequest::new(name)).collect();
        for (at, filter) in each(FILTER) {
            let before = named.iter().rposition(|(index, _)| *index < at);
            let Some(event) = before.map(|before| &mut events[before]) else {
                let what =
                    "--filter is for the event before it: -e sched:sched_switch --filter 'prev_prio < 100'\n";
                return Err(clap::Error::raw(clap::error::ErrorKind::MissingRequiredArgument, what));
            };
            // Of several, all have to hold.
            event.filter = Some(match event.filter.take() {
                Some(other) => format!("({other}) && ({filter})"),
                None => filter,
            });
        }
        Ok(EventArgs { events })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|args| *self = args)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::Record;

    #[test]
    fn a_filter_belongs_to_the_event_before_it() {
        let parse = |words: &[&str]| {
            let words = [&["fg-record"], words, &["./app"]].concat();
            Record::try_parse_from(words).map(|record| {
                let events = record.how.sampling.events.events;
                events.into_iter().map(|event| (event.name, event.filter)).collect::<Vec<_>>()
            })
        };
        let event = |name: &str, filter: Option<&str>| (name.to_owned(), filter.map(str::to_owned));
        let given =
            ["-e", "a:b", "--filter", "x > 1", "--event=page-faults", "-ec:d", "--filter=y", "--filter=z"];
        assert_eq!(
            parse(&given).unwrap(),
            [event("a:b", Some("x > 1")), event("page-faults", None), event("c:d", Some("(y) && (z)"))]
        );
        assert_eq!(parse(&[]).unwrap(), []);
        for wrong in [&["--filter", "x", "-e", "a:b"][..], &["--filter", "x"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}

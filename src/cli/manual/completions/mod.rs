//! Completions for shells: options, subcommands, and the values of options.

mod bash;
mod zsh;

use clap::builder::{PossibleValuesParser, Resettable};
use clap::{Arg, Command, ValueHint};
use clap_complete::{Shell, generate};

use crate::collapse::registry;

/// The option whose values are running processes, and what its value is called.
const PROCESS: (&str, &str) = ("pid", "PID|NAME");
/// Lists processes by number and by name; those of the kernel itself are left out where ps can do so.
const PROCESSES: &str =
    "$(ps --ppid 2 -p 2 -N -o pid=,ucomm= 2>/dev/null || ps -axo pid=,ucomm= 2>/dev/null)";

/// Values that are parsed where they are used, and not by the options' declarations, by the option's
/// identifier.
const VALUES: &[(&str, &[&str])] = &[
    ("strip", &["hash", "hex", "offset", "line", "args", "templates", "annotations"]),
    ("kind", &["kernel", "user", "inlined", "jit", "no-kernel", "no-user", "no-inlined", "no-jit"]),
    ("recursion", &["direct", "cycles"]),
    ("call_graph", &["dwarf", "fp", "none"]),
    ("normalize", &["before", "after"]),
    ("by", &["function", "stack", "module", "thread"]),
    ("bgcolors", &["yellow", "blue", "green", "grey"]),
    (
        "event",
        &[
            "cycles",
            "cpu-clock",
            "task-clock",
            "page-faults",
            "context-switches",
            "instructions",
            "cache-misses",
        ],
    ),
];

/// Options whose value is the name of a format that is read, unless they declare their values.
const FORMATS: &[&str] = &["format", "input_format"];

/// The values of an option, where its declaration does not state them.
fn values_of(arg: &Arg) -> Vec<&'static str> {
    let id = arg.get_id().as_str();
    if !arg.get_possible_values().is_empty() {
        return Vec::new();
    }
    if FORMATS.contains(&id) {
        return registry::FORMATS.iter().map(|format| format.info().name).collect();
    }
    VALUES.iter().find(|(of, _)| *of == id).map(|(_, values)| values.to_vec()).unwrap_or_default()
}

/// Writes the completions of a program for a shell.
pub fn write(shell: Shell, command: &Command, name: &str, out: &mut Vec<u8>) {
    let mut command = visible(command);
    if shell == Shell::Bash && takes_processes(&command) {
        // bash expands the words of its list.
        command = command.mut_arg(PROCESS.0, |arg| arg.value_parser(PossibleValuesParser::new([PROCESSES])));
    }
    let mut text = Vec::new();
    generate(shell, &mut command, name, &mut text);
    let text = String::from_utf8(text).expect("a script is text");
    let text = match shell {
        Shell::Bash => bash::correct(&text, &command, name),
        Shell::Zsh => zsh::correct(&text, &command, name),
        Shell::Fish if takes_processes(&command) => {
            text.replace(" -s p -l pid ", " -s p -l pid -f -a '(__fish_complete_pids)' ")
        }
        _ => text,
    };
    out.extend_from_slice(text.as_bytes());
}

fn takes_processes(command: &Command) -> bool {
    let is_it = |arg: &Arg| {
        let name = arg.get_value_names().unwrap_or_default().first();
        arg.get_id() == PROCESS.0 && name.is_some_and(|name| *name == PROCESS.1)
    };
    command.get_arguments().any(is_it)
}

/// Returns true for a program that runs another one, whose words follow its own.
fn is_of_commands(command: &Command) -> bool {
    command.get_arguments().any(|arg| arg.get_value_hint() == ValueHint::CommandWithArguments)
}

/// The command without hidden options: scripts for some shells would name them.
fn visible(command: &Command) -> Command {
    let about = command.get_about().cloned().unwrap_or_default();
    let plain = Command::new(command.get_name().to_owned()).about(about).disable_help_subcommand(true);
    let plain = match command.get_version() {
        Some(version) => plain.version(version.to_owned()),
        None => plain,
    };
    // clap adds its own two to what is built.
    let is_own = |arg: &&Arg| arg.get_id() == "help" || arg.get_id() == "version";
    let args = command.get_arguments().filter(|arg| !arg.is_hide_set() && !is_own(arg));
    let args = args.cloned().map(without_relations).map(|arg| match values_of(&arg) {
        values if values.is_empty() => arg,
        values => arg.value_parser(PossibleValuesParser::new(values)),
    });
    let tasks = command.get_subcommands().filter(|task| !task.is_hide_set()).map(visible);
    plain.args(args).subcommands(tasks)
}

/// An option by itself: those that it excludes or needs may be hidden.
fn without_relations(arg: Arg) -> Arg {
    arg.exclusive(false)
        .conflicts_with(Resettable::Reset)
        .requires(Resettable::Reset)
        .overrides_with(Resettable::Reset)
        .group(Resettable::Reset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{OPERATIONS, Op};

    #[test]
    fn values_of_operations_are_accepted() {
        for (id, values) in VALUES {
            let Some(operation) = OPERATIONS.iter().find(|operation| operation.name == *id) else { continue };
            for value in *values {
                let built =
                    Op::new(operation, value).and_then(|op| crate::filter::Pipeline::new(&[op]).map(drop));
                assert!(built.is_ok(), "--{id} {value}: {built:?}");
            }
        }
    }
}

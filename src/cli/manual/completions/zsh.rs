//! Corrections of the completions for zsh.

use clap::Command;

use super::{PROCESS, is_of_commands, takes_processes};

/// Processes by number and by name; those of the kernel itself are left out where ps can do so.
const PROCESSES: &str = r#"
(( $+functions[_fg_processes] )) ||
_fg_processes() {
    local -a rows names
    rows=(${${(f)"$(ps --ppid 2 -p 2 -N -o pid=,args= 2>/dev/null || ps -axo pid=,args=)"}## #})
    rows=("${(@)rows/ /:}")
    names=(${(fu)"$(ps --ppid 2 -p 2 -N -o ucomm= 2>/dev/null || ps -axo ucomm=)"})
    _describe -t processes process rows
    compadd -a names
}
"#;

/// Corrects a script of clap's for a program.
pub(super) fn correct(text: &str, command: &Command, name: &str) -> String {
    let mut text = text.to_owned();
    if is_of_commands(command) {
        // The first word is a subcommand or the program to record, whose words are completed as they would be
        // without the recorder.
        let positional = |line: &&str| !line.starts_with("'::command -- ");
        text = text.lines().filter(positional).map(|line| format!("{line}\n")).collect();
        text = text.replace("$line[2]", "$line[1]").replacen(
            "        esac\n    ;;\nesac\n}",
            "(*)\n_normal && ret=0\n;;\n        esac\n    ;;\nesac\n}",
            1,
        );
        // `commands` is zsh's own list of programs, for which clap's has to make room.
        let own = format!("    _describe -t commands '{name} commands' commands \"$@\"\n");
        let with_programs = own.replace(" commands \"$@\"", " tasks \"$@\"") + "    _command_names -e\n";
        if let Some((before, after)) = text.split_once(&own) {
            let (rest, list) = before.rsplit_once("local commands; commands=(").unwrap_or((before, ""));
            text = format!("{rest}local -a tasks; tasks=({list}{with_programs}{after}");
        }
    }
    if takes_processes(command) {
        text = text.replace(&format!(":{}:_default", PROCESS.1), &format!(":{}:_fg_processes", PROCESS.1));
        let end = "\nif [ \"$funcstack[1]\"";
        text = text.replace(end, &format!("{PROCESSES}{end}"));
    }
    text
}

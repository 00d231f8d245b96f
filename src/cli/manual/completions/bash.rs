//! Corrections of the completions for bash.

use clap::{Arg, Command};

use super::is_of_commands;

/// A function in front of clap's. bash takes `--option=value` for three words, and offers files only where a
/// function offers nothing.
const WORDS: &str = r#"
FUNCTION_words() {
    local cur="$2" prev="$3" word words=()
    COMPREPLY=()
COMMAND    if [[ $prev == = && $COMP_CWORD -gt 1 ]]; then
        prev="${COMP_WORDS[COMP_CWORD - 2]}"
    elif [[ "${COMP_WORDS[COMP_CWORD]}" == = ]]; then
        cur=
    elif [[ " JOINED " == *" $prev "* ]]; then
        prev=
    fi
    FUNCTION "$1" "$cur" "$prev"
    if [[ $cur != -* ]]; then
        for word in "${COMPREPLY[@]}"; do
            [[ $word == -* ]] || words+=("$word")
        done
        COMPREPLY=("${words[@]}")
    fi
}
"#;

/// Finds the program to record. Its words are completed as they would be without the recorder.
const COMMAND: &str = r#"    local at
    for ((at = 1; at < COMP_CWORD; at++)); do
        case "${COMP_WORDS[at]}" in
            TASK_PATTERN) at=$((COMP_CWORD + 1)); break ;;
            --) ((at++)); break ;;
            -*)
                if [[ "${COMP_WORDS[at + 1]}" == = ]]; then
                    ((at += 2))
                elif [[ " VALUED " == *" ${COMP_WORDS[at]} "* ]]; then
                    ((at++))
                fi ;;
            *) break ;;
        esac
    done
    if ((at < COMP_CWORD)); then
        for word in _comp_command_offset _command_offset; do
            declare -F $word >/dev/null && { $word $at; break; }
        done
        return 0
    elif ((at == COMP_CWORD)) && [[ $cur != -* ]]; then
        COMPREPLY=($({ compgen -W "TASKS" -- "$cur"; [[ -z $cur ]] || compgen -c -- "$cur"; } | sort -u))
        return 0
    fi
"#;

/// Corrects a script of clap's for a program.
pub(super) fn correct(text: &str, command: &Command, name: &str) -> String {
    // clap_complete cuts a program's name at its dash where subcommands begin, and so finds none.
    let text = text.replace(&name.replace('-', "__subcmd__"), &name.replace('-', "__"));
    let function = format!("_{}", name.replace('-', "__"));
    let tasks: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let of_command = match is_of_commands(command) {
        true => COMMAND
            .replace("TASK_PATTERN", &tasks.join(" | "))
            .replace("TASKS", &tasks.join(" "))
            .replace("VALUED", &names(command, |arg| !arg.is_require_equals_set())),
        false => String::new(),
    };
    let words = WORDS
        .replace("COMMAND", &of_command)
        .replace("JOINED", &names(command, Arg::is_require_equals_set))
        .replace("FUNCTION", &function);
    let (functions, registration) =
        text.split_once("\nif [[ \"${BASH_VERSINFO").unwrap_or((text.as_str(), ""));
    let registration = registration.replace(&format!("-F {function} "), &format!("-F {function}_words "));
    format!("{functions}{words}\nif [[ \"${{BASH_VERSINFO{registration}")
}

/// The names of options with values for which a condition holds.
fn names(command: &Command, holds: impl Fn(&Arg) -> bool) -> String {
    let takes_values =
        |arg: &&Arg| !arg.is_positional() && arg.get_num_args().is_some_and(|range| range.takes_values());
    let mut names = Vec::new();
    for arg in command.get_arguments().filter(takes_values).filter(|arg| holds(arg)) {
        names.extend(arg.get_short().map(|short| format!("-{short}")));
        names.extend(arg.get_long().map(|long| format!("--{long}")));
    }
    names.join(" ")
}

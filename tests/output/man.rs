//! Man pages and completions.

use std::fs;
use std::process::{Command, Stdio};

use super::{COLLAPSE, DIFF, FILTER, RECORD, RENDER, feed};

const PAGES: [(&str, &[&str], &str); 8] = [
    (COLLAPSE, &[], "fg-collapse"),
    (FILTER, &[], "fg-filter"),
    (DIFF, &[], "fg-diff"),
    (RENDER, &[], "fg-render"),
    (RECORD, &[], "fg-record"),
    (RECORD, &["bundle"], "fg-record-bundle"),
    (RECORD, &["cargo"], "fg-record-cargo"),
    (RECORD, &["check"], "fg-record-check"),
];

fn page(program: &str, task: &[&str]) -> String {
    let output = Command::new(program).args(task).args(["--generate", "man"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{program} {task:?}");
    feed::text(output.stdout)
}

/// Issue 17, line 6.
#[test]
fn man_pages_have_the_usual_sections() {
    for (program, task, name) in PAGES {
        let page = page(program, task);
        let title = name.to_uppercase().replace('-', "\\-");
        assert!(page.contains(&format!(".TH \"{title}\" \"1\"")), "{name}");
        let sections = [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "OPTIONS",
            "EXAMPLES",
            "EXIT STATUS",
            "ENVIRONMENT",
            "FILES",
            "SEE ALSO",
        ];
        let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
        for section in sections {
            let count = headings.iter().filter(|heading| heading.trim_matches('"') == section).count();
            assert_eq!(count, 1, "{name}: {section} of {headings:?}");
        }
    }
    // A subcommand has a page of its own, which the program's page names.
    let main = page(RECORD, &[]);
    assert!(main.contains("fg\\-record\\-cargo") && !main.contains("\\-\\-unit\\-test"));
    assert!(page(RECORD, &["cargo"]).contains("\\-\\-unit\\-test"));
}

#[test]
fn mandoc_has_nothing_against_the_man_pages() {
    if Command::new("mandoc").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        return super::skip::skip("mandoc is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    for (program, task, name) in PAGES {
        let path = folder.path().join(format!("{name}.1"));
        fs::write(&path, page(program, task)).unwrap();
        let output = Command::new("mandoc").args(["-T", "lint", "-W", "error"]).arg(&path).output().unwrap();
        assert!(output.status.success(), "{name}: {}", feed::text(output.stdout));
        // Text is shown as it was written: quotes, backslashes, dashes.
        let output = Command::new("mandoc").args(["-T", "utf8"]).arg(&path).output().unwrap();
        assert!(feed::text(output.stdout).replace('\u{8}', "").contains("fg"), "{name}");
    }
}

/// The words that bash offers behind a command line, in a bash that runs the script.
fn completed(program: &str, words: &[&str]) -> Option<Vec<String>> {
    let name = program.rsplit('/').next().unwrap();
    let script = r#"
        source <("$0" --generate bash)
        name=$1; shift
        COMP_WORDS=("$name" "$@"); COMP_CWORD=$#
        function=$(complete -p "$name" | sed 's/.*-F \([^ ]*\).*/\1/')
        $function "$name" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let output = Command::new("bash").args(["-c", script, program, name]).args(words).output().ok()?;
    assert!(output.status.success(), "{}", feed::text(output.stderr));
    Some(feed::text(output.stdout).split_whitespace().map(str::to_owned).collect())
}

#[test]
fn completions_offer_values() {
    for (program, words, expected) in [
        (RECORD, &[""][..], "bundle cargo check demo"),
        (RECORD, &["cargo", "--unit-t"], "--unit-test"),
        (RECORD, &["--with", "p"], "perf py-spy"),
        (RECORD, &["--call-graph", ""], "dwarf fp none"),
        (FILTER, &["--kind", "no-"], "no-kernel no-user no-inlined no-jit"),
        (FILTER, &["--strip", "h"], "hash hex"),
        (FILTER, &["--input-format", "perf-"], "perf-data perf-script perf-sched"),
        (COLLAPSE, &["--input-format", "speed"], "speedscope"),
        (RENDER, &["--format", "s"], "svg speedscope"),
        (RENDER, &["--input-format", "heaptr"], "heaptrack"),
        (RENDER, &["--colors", "j"], "java js"),
        (DIFF, &["--by", "m"], "module"),
        (DIFF, &["--strip", "off"], "offset"),
        // bash takes --option=value for three words.
        (RENDER, &["--format", "=", "sp"], "speedscope"),
        (RENDER, &["--format", "="], &all_of(RENDER, "--format")),
        (RECORD, &["--alloc", "=", "co"], "count"),
        (RECORD, &["cargo", "--alloc", "=", "live-"], "live-count"),
        // Behind a blank it is the program to record.
        (RECORD, &["--alloc", "byt"], ""),
        // Files come from bash itself, if nothing else is offered.
        (RENDER, &[""], ""),
        (RENDER, &["out.folded", ""], ""),
        (RENDER, &["out.folded", "--vers"], "--version"),
        // Words of the program to record are its own.
        (RECORD, &["-q", "ls", "--al"], ""),
        (RECORD, &["-o", "out.svg", "--", "ls", "--al"], ""),
        (RECORD, &["-o", "out.svg", "--al"], "--all --alloc"),
    ] {
        let Some(offered) = completed(program, words) else {
            return super::skip::skip("bash is not installed");
        };
        assert_eq!(offered.join(" "), expected, "{program} {words:?}");
    }
}

/// The values of an option that bash offers behind a blank.
fn all_of(program: &str, option: &str) -> String {
    completed(program, &[option, ""]).unwrap_or_default().join(" ")
}

/// A program to record is completed among the programs of the system.
#[test]
fn completions_offer_programs_to_record() {
    let Some(offered) = completed(RECORD, &["-q", "bas"]) else {
        return super::skip::skip("bash is not installed");
    };
    assert!(offered.iter().any(|word| word == "bash"), "{offered:?}");
    let offered = completed(RECORD, &["-o", "out.svg", "che"]).unwrap_or_default();
    assert_eq!(offered.iter().filter(|word| *word == "check").count(), 1, "{offered:?}");
}

/// zsh runs the script: `fg-record cargo` has options of its own, and a program to record has its own words.
#[test]
fn zsh_completes_subcommands_and_processes() {
    let script = feed::text(Command::new(RECORD).args(["--generate", "zsh"]).output().unwrap().stdout);
    for expected in ["(*)\n_normal && ret=0", "$line[1]", "_command_names -e", ":PID|NAME:_fg_processes'"] {
        assert!(script.contains(expected), "no {expected:?} in {script}");
    }
    let of_others = feed::text(Command::new(RENDER).args(["--generate", "zsh"]).output().unwrap().stdout);
    assert!(!of_others.contains("_fg_processes") && of_others.contains("_files"), "{of_others}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("_fg-record");
    fs::write(&file, script).unwrap();
    match Command::new("zsh").args(["-f", "-n"]).arg(&file).output() {
        Ok(output) => assert!(output.status.success(), "{}", feed::text(output.stderr)),
        Err(_) => super::skip::skip("zsh is not installed"),
    }
}

#[test]
fn completions_offer_processes() {
    if Command::new("ps").arg("-e").stdout(Stdio::null()).status().is_err() {
        return super::skip::skip("ps is not installed");
    }
    let own = std::process::id().to_string();
    for option in ["-p", "--pid"] {
        let Some(offered) = completed(RECORD, &[option, &own]) else {
            return super::skip::skip("bash is not installed");
        };
        assert!(offered.contains(&own), "{option}: {offered:?}");
    }
    let fish = feed::text(Command::new(RECORD).args(["--generate", "fish"]).output().unwrap().stdout);
    assert!(fish.contains("__fish_complete_pids"), "{fish}");
}

/// Options that are hidden stay so: those for users of other recorders.
#[test]
fn completions_name_no_hidden_option() {
    for kind in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let text = feed::text(Command::new(RECORD).args(["--generate", kind]).output().unwrap().stdout);
        assert!(text.contains("off-cpu"), "{kind}");
        for hidden in ["perfdata", "post-process", "serve "] {
            assert!(!text.replace("server ", "").contains(hidden), "{kind}: {hidden}");
        }
    }
}

//! The examples that `--help` shows run.

use std::path::Path;
use std::process::Command;

use super::page::project;
use super::reader::{Reader, recording, unpacked};
use super::runner::{self, Shown, not_run};

/// Our programs and their subcommands.
const PROGRAMS: &[&str] = &[
    "fg-collapse",
    "fg-filter",
    "fg-diff",
    "fg-render",
    "fg-record",
    "fg-record bundle",
    "fg-record cargo",
    "fg-record check",
    "fg-record demo",
];

/// Ten seconds, for the example that compares ranges of time.
const TIMED: &[u8] = b"# unit: ns\n# time-zero: 0 s\n# time-step: 1 s\n# labels: time\ntime=000001.000s;main;a 40\ntime=000007.000s;main;a 60\n";

/// Every kind of recording that the examples name, by the end of its name.
fn input(name: &str) -> Option<Vec<u8>> {
    Some(match name {
        // Of different times, and with a label.
        _ if name.ends_with(".pb.gz") => b"# unit: ns\n# labels: endpoint\nendpoint=/api;main;json_parse 40\nendpoint=/;main;alloc 7\n".into(),
        "out.perf" => recording("perf-script/names-multi-event"),
        _ if name.ends_with(".perf.gz") || name.ends_with(".perf.zst") => recording("perf-script/cpp-fp"),
        _ if name.ends_with("perf.data") => unpacked(&project().join("tests/perf_data/golden/calc.data.gz")),
        _ if name.ends_with(".folded") => {
            b"# unit: ns\nmain;system_call;sys_read 30\nmain;alloc 20\nmain;free 10\nmain;cpu_idle 5\nmain;malloc 3\n".into()
        }
        _ => return None,
    })
}

/// The examples of all programs.
pub fn examples() -> Vec<Shown> {
    let folder = Path::new(env!("CARGO_BIN_EXE_fg-render")).parent().unwrap();
    let mut found = Vec::new();
    for program in PROGRAMS {
        let words: Vec<&str> = program.split(' ').collect();
        let help = Command::new(folder.join(words[0])).args(&words[1..]).arg("--help").output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        let before = found.len();
        for section in ["Examples:\n", "Recipes:\n"] {
            let Some(text) = help.split(section).nth(1) else { continue };
            for line in text.lines().take_while(|line| line.starts_with("  ")).map(str::trim) {
                let first = line.split(' ').next().unwrap_or_default();
                let is_command = first.starts_with("fg-")
                    || first == "sudo"
                    || super::stand_ins::TOOLS.iter().any(|tool| tool.name == first);
                if is_command {
                    found.push(Shown { place: format!("{program} --help"), text: line.to_owned() });
                } else if !line.starts_with('#') {
                    // Long lines are wrapped.
                    let last = found.last_mut().unwrap_or_else(|| panic!("{program} --help: {line}"));
                    last.text = format!("{} {line}", last.text);
                }
            }
        }
        assert!(found.len() > before, "{program} --help has no examples");
    }
    found
}

/// The files that a command reads: those that it names and does not write.
fn inputs(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut written = false;
    for word in text.split_whitespace().map(|word| word.trim_matches('\'')) {
        if !written && !word.starts_with('-') && !word.contains(['=', '%', '*', '(']) {
            found.push(word);
        }
        written = matches!(word, "-o" | ">" | "--output" | "--svg" | "--html" | "-cpuprofile");
    }
    found
}

#[test]
fn examples_of_the_help_run() {
    let mut reader = Reader::new();
    let mut program = String::new();
    let mut ran = 0;
    for shown in examples() {
        // Each program's help begins anew.
        if shown.place != program {
            reader = Reader::new();
            program.clone_from(&shown.place);
        }
        if not_run(&shown.text).is_none() {
            for name in inputs(&shown.text) {
                if let Some(bytes) = input(name).filter(|_| !reader.folder.join(name).exists()) {
                    reader.put(name, &bytes);
                }
            }
            if shown.text.starts_with("perf script") && !reader.folder.join("perf.data").exists() {
                reader.put("perf.data", &input("perf.data").unwrap());
            }
            if shown.text.contains("--before-time") {
                reader.put("perf.data", TIMED);
            }
            if shown.text.contains("-r profiles") {
                reader.put("profiles/api/host/one.folded", b"main;parse 1\n");
            }
        }
        // A filter that finds nothing ends with 1, as grep does.
        ran += usize::from(runner::run(&reader, &shown, true).is_some());
    }
    println!("{ran} examples");
}

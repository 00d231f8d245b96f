//! The manuals of the programs and their subcommands.

use super::Manual;

/// All manuals.
pub(super) const ALL: &[&Manual] = &[
    &COLLAPSE,
    &FILTER,
    &DIFF,
    &RENDER,
    &RECORD,
    &RECORD_BUNDLE,
    &RECORD_CARGO,
    &RECORD_CHECK,
    &RECORD_DEMO,
];

const DEBUG_FOLDERS: (&str, &str) =
    ("/usr/lib/debug, ~/.debug", "Debug files of programs and libraries, found by build ID.");
const PERF_MAP: (&str, &str) =
    ("/tmp/perf-PID.map, jit-PID.dump", "Names of code that a just-in-time compiler wrote.");

const COLLAPSE: Manual = Manual {
    name: "fg-collapse",
    first: &[
        "output",
        "input_format",
        "value",
        "per_thread",
        "mark",
        "srcline",
        "label",
        "recursive",
        "list_formats",
        "list_values",
        "verbose",
    ],
    uses: &[
        "perf record --call-graph dwarf ./app && fg-collapse perf.data > out.folded",
        "fg-collapse --value page-faults perf.data > faults.folded",
        "fg-collapse -r --path-pattern '{service}/*' runs/ > all.folded",
    ],
    environment: &[],
    files: &[DEBUG_FOLDERS, PERF_MAP],
    see_also: &["fg-record(1)", "fg-filter(1)", "fg-diff(1)", "fg-render(1)", "perf-script(1)"],
};

const FILTER: Manual = Manual {
    name: "fg-filter",
    first: &["regexps", "invert_match", "print_counts", "focus", "ignore", "hide", "rename", "top", "output"],
    uses: &[
        "fg-filter 'sys_(read|write)' out.folded > rw.folded",
        "fg-filter --focus '^json' --idle perf.data | fg-render > json.svg",
        "fg-filter --demangle --strip hash,args out.folded",
    ],
    environment: &[],
    files: &[DEBUG_FOLDERS],
    see_also: &["fg-collapse(1)", "fg-render(1)", "fg-diff(1)", "grep(1)"],
};

const DIFF: Manual = Manual {
    name: "fg-diff",
    first: &["output", "table", "markdown", "gate", "before", "after", "normalize", "by", "strip"],
    uses: &[
        "fg-diff before.data after.data -o diff.html",
        "fg-diff --table --by module before.folded after.folded",
        "fg-diff --gate 'slower>5%' --before b?.folded --after a?.folded",
    ],
    environment: &[],
    files: &[DEBUG_FOLDERS],
    see_also: &["fg-record(1)", "fg-collapse(1)", "fg-render(1)", "diff(1)"],
};

const RENDER: Manual = Manual {
    name: "fg-render",
    first: &["output", "format", "open", "tui", "reverse", "base", "title", "colors", "by", "peek", "list"],
    uses: &[
        "fg-render --open perf.data",
        "fg-render -o out.svg -o out.html --colors rust out.folded",
        "fg-render --format top --by module perf.data",
    ],
    environment: &[
        ("COLORTERM", "All colours instead of 256, if it is truecolor or 24bit."),
        ("TERM", "No colours, if it is dumb."),
        ("BROWSER", "The browser that --open starts."),
        ("XDG_CACHE_HOME", "The folder for the page that --open shows (default: ~/.cache)."),
    ],
    files: &[
        ("~/.cache/fg-tools/pages", "Pages that --open showed and no -o named."),
        ("palette.map", "The colours that --cp keeps from picture to picture."),
        DEBUG_FOLDERS,
    ],
    see_also: &["fg-record(1)", "fg-collapse(1)", "fg-filter(1)", "fg-diff(1)"],
};

const RECORD_ENVIRONMENT: &[(&str, &str)] = &[
    ("TMPDIR", "The folder for a recording until its profile is written (default: /tmp)."),
    ("BROWSER", "The browser that --open starts."),
    ("PERF, PY_SPY, AUSTIN, BPF, DTRACE, XCTRACE", "The program that --with starts."),
];
const RECORD_FILES: &[(&str, &str)] = &[
    ("fg-record.html", "The page that --open shows where no other is named."),
    ("fg-record-PID.folded", "A profile that nobody reads any more."),
    ("/proc/sys/kernel/perf_event_paranoid", "What the kernel lets users record."),
    PERF_MAP,
    DEBUG_FOLDERS,
];

const RECORD: Manual = Manual {
    name: "fg-record",
    first: &["output", "open", "pid", "all", "duration", "freq", "off_cpu", "alloc", "against"],
    uses: &[],
    environment: RECORD_ENVIRONMENT,
    files: RECORD_FILES,
    see_also: &[
        "fg-record-bundle(1)",
        "fg-record-cargo(1)",
        "fg-record-check(1)",
        "fg-record-demo(1)",
        "fg-collapse(1)",
        "fg-render(1)",
        "fg-diff(1)",
        "perf-record(1)",
    ],
};

const RECORD_BUNDLE: Manual = Manual {
    name: "fg-record-bundle",
    first: &["output", "max_size", "quiet"],
    uses: &["fg-record bundle --symfs /mnt/board -o a.tar x.data"],
    environment: &[],
    files: &[DEBUG_FOLDERS, PERF_MAP],
    see_also: &["fg-record(1)", "fg-collapse(1)", "perf-archive(1)"],
};

const RECORD_CARGO: Manual = Manual {
    name: "fg-record-cargo",
    first: &["output", "open", "bin", "package", "duration", "freq", "off_cpu", "against"],
    uses: &[
        "fg-record cargo --bench parse -o out.svg",
        "fg-record cargo --features tls --profile dev -o out.svg",
    ],
    environment: &[
        ("CARGO", "The cargo that builds (default: cargo)."),
        RECORD_ENVIRONMENT[0],
        RECORD_ENVIRONMENT[1],
        RECORD_ENVIRONMENT[2],
    ],
    files: RECORD_FILES,
    see_also: &["fg-record(1)", "cargo-build(1)", "fg-render(1)"],
};

const RECORD_CHECK: Manual = Manual {
    name: "fg-record-check",
    first: &[],
    uses: &[],
    environment: &[("PATH", "The folders in which other profilers are looked for.")],
    files: &[("/proc/sys/kernel/perf_event_paranoid", "What the kernel lets users record.")],
    see_also: &["fg-record(1)"],
};

const RECORD_DEMO: Manual = Manual {
    name: "fg-record-demo",
    first: &[],
    uses: &["fg-record demo"],
    environment: &[
        RECORD_ENVIRONMENT[1],
        ("XDG_CACHE_HOME", "The folder for the pages (default: ~/.cache)."),
    ],
    files: &[("~/.cache/fg-tools/pages", "The pages and recordings: demo-slow.html and others.")],
    see_also: &["fg-record(1)", "fg-render(1)", "fg-diff(1)"],
};

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    use super::*;
    use crate::cli::manual::help::WIDTH;

    /// The command of a manual.
    fn command(manual: &Manual) -> Option<Command> {
        let mut all = vec![
            crate::cli::collapse::Collapse::command(),
            crate::cli::filter::Filter::command(),
            crate::cli::diff::Diff::command(),
            crate::cli::render::Render::command(),
        ];
        #[cfg(all(feature = "record", unix))]
        all.push(crate::cli::record::Record::command());
        let task = manual.name.strip_prefix("fg-record-");
        let program = if task.is_some() { "fg-record" } else { manual.name };
        let command = all.into_iter().find(|command| command.get_name() == program)?;
        match task {
            Some(task) => command.find_subcommand(task).cloned(),
            None => Some(command),
        }
    }

    #[test]
    fn options_of_short_help_exist() {
        for manual in ALL {
            let Some(command) = command(manual) else { continue };
            for id in manual.first {
                let exists = command.get_arguments().any(|arg| arg.get_id() == *id);
                // The build may be without it.
                assert!(exists || *id == "tui", "{}: there is no {id}", manual.name);
            }
        }
    }

    /// clap would wrap it otherwise.
    #[test]
    fn uses_fit_their_line() {
        for line in ALL.iter().flat_map(|manual| manual.uses) {
            assert!(2 + line.chars().count() <= WIDTH, "{line}");
        }
    }

    #[test]
    fn uses_are_commands() {
        for manual in ALL {
            if command(manual).is_none() {
                continue;
            }
            for line in manual.uses {
                let line = line.split(" > ").next().unwrap_or(line).replace('\'', "");
                let ours = line.split(['|', '&']).map(str::trim).filter(|part| part.starts_with("fg-"));
                let mut count = 0;
                for part in ours {
                    let words: Vec<&str> = part.split_whitespace().collect();
                    let parser =
                        command(Manual::of(words[0])).unwrap_or_else(|| panic!("{line}: no program of ours"));
                    let parsed = parser.try_get_matches_from(&words);
                    assert!(parsed.is_ok(), "{}: {line}: {:?}", manual.name, parsed.err());
                    count += 1;
                }
                assert!(count > 0, "{}: {line}", manual.name);
            }
        }
    }
}

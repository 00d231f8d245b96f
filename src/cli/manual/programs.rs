//! The manuals of the programs and their subcommands.

use super::Manual;

/// All manuals.
pub(super) const ALL: &[&Manual] =
    &[&COLLAPSE, &FILTER, &DIFF, &RENDER, &RECORD, &RECORD_BUNDLE, &RECORD_CARGO, &RECORD_CHECK];

const DEBUG_FOLDERS: (&str, &str) =
    ("/usr/lib/debug, ~/.debug", "Debug files of programs and libraries, found by build ID.");
const PERF_MAP: (&str, &str) =
    ("/tmp/perf-PID.map, jit-PID.dump", "Names of code that a just-in-time compiler wrote.");

const COLLAPSE: Manual = Manual {
    name: "fg-collapse",
    first: &["output", "format", "list_formats", "list_values", "verbose"],
    uses: &[
        ("Time and labels", "fg-collapse --label time=20ms --label thread perf.data"),
        ("Samples and frames", "fg-collapse --kernel --srcline perf.data > out.folded"),
        ("Folders", "fg-collapse -r --path-pattern '{service}/*' runs/"),
        ("More", "fg-collapse --strict perf.data > out.folded"),
    ],
    shared: &[],
    environment: &[],
    files: &[DEBUG_FOLDERS, PERF_MAP],
    see_also: &["fg-record(1)", "fg-filter(1)", "fg-diff(1)", "fg-render(1)", "perf-script(1)"],
};

const FILTER: Manual = Manual {
    name: "fg-filter",
    first: &["regexps", "invert_match", "print_counts", "stats", "output"],
    uses: &[
        ("Select stacks", "fg-filter --focus '^json' --idle out.folded"),
        ("Change stacks", "fg-filter --hide '^std::' --merge-threads out.folded"),
        ("Change names", "fg-filter --demangle --strip hash,args out.folded"),
        ("Weights", "fg-filter --min-percent 1 --rest out.folded"),
        ("Time and labels", "fg-filter --time 12.4s..18.1s perf.data"),
        ("Samples and frames", "fg-filter --value alloc_space --top 10 heap.pb.gz"),
        ("More", "fg-filter -x -F 'std::map<int>' out.folded"),
    ],
    shared: &[],
    environment: &[],
    files: &[DEBUG_FOLDERS],
    see_also: &["fg-collapse(1)", "fg-render(1)", "fg-diff(1)", "grep(1)"],
};

const DIFF: Manual = Manual {
    name: "fg-diff",
    first: &["output", "table", "markdown", "gate", "before", "after"],
    uses: &[
        ("Reports", "fg-diff --table --by module before.folded after.folded"),
        ("Scale", "fg-diff --normalize monday.pb.gz tuesday.pb.gz"),
        ("Names", "fg-diff --strip hash,hex --table before after"),
        ("Significance", "fg-diff --alpha 0.05 --table before after"),
        ("Gates", "fg-diff --gate 'slower>5%' before after"),
        ("Time and labels", "fg-diff --label thread before.data after.data"),
        ("Samples and frames", "fg-diff --value alloc_space before.pb.gz after.pb.gz"),
        ("More", "fg-diff --quiet --strict before after > diff.folded"),
    ],
    shared: &[],
    environment: &[],
    files: &[DEBUG_FOLDERS],
    see_also: &["fg-record(1)", "fg-collapse(1)", "fg-render(1)", "diff(1)"],
};

const RENDER: Manual = Manual {
    name: "fg-render",
    first: &["output", "format", "open", "tui", "peek"],
    uses: &[
        ("Input", "fg-render --input-format austin out.txt > out.svg"),
        ("Stacks", "fg-render --reverse --base malloc out.folded > out.svg"),
        ("Text", "fg-render --title x --private -o out.html perf.data"),
        ("Size", "fg-render --inverted --minwidth 0.5% -o out.svg in.data"),
        ("Colours", "fg-render --colors rust -o out.svg out.folded"),
        ("Differential graphs", "fg-diff a b | fg-render --widths before > diff.svg"),
        ("Tables and trees", "fg-render --format top --by module perf.data"),
        ("Terminal", "fg-render --format text --columns 120 out.folded"),
        ("File", "fg-render --per-thread -o out.speedscope.json in.data"),
        ("Samples and frames", "fg-render --kernel --tid -o out.svg perf.data"),
    ],
    shared: &[
        (&["Source code"], "--list RE, --source-path DIR, --no-source"),
        (&["Messages"], "-q/--quiet, -v/--verbose"),
        (&["Time and labels"], "--label KEY, --weight-by KEY"),
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

/// The groups of options that a recording has under every subcommand.
macro_rules! record_uses {
    ($($own:expr),* $(,)?) => {
        &[
            $($own,)*
            ("Sampling", "fg-record -F 499 --call-graph fp -o out.svg ./app"),
            ("Results", "fg-record -o out.svg -o out.folded ./app"),
            ("Runs", "fg-record --runs 5 --against ./app-before ./app"),
        ]
    };
}

/// Groups that fg-render and fg-diff have.
const RECORD_SHARED: &[(&[&str], &str)] = &[
    (&["Messages"], "-q/--quiet, -v/--verbose"),
    (&["Stacks", "Text", "Source code", "Size", "Colours"], "as fg-render: --title x --colors rust"),
    (&["Significance", "Gates"], "as fg-diff: --gate 'slower>10%'"),
];

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
    first: &["output", "open", "pid", "all", "duration", "freq", "event", "off_cpu", "against"],
    uses: record_uses![],
    shared: RECORD_SHARED,
    environment: RECORD_ENVIRONMENT,
    files: RECORD_FILES,
    see_also: &[
        "fg-record-bundle(1)",
        "fg-record-cargo(1)",
        "fg-record-check(1)",
        "fg-collapse(1)",
        "fg-render(1)",
        "fg-diff(1)",
        "perf-record(1)",
    ],
};

const RECORD_BUNDLE: Manual = Manual {
    name: "fg-record-bundle",
    first: &["output", "max_size", "quiet"],
    uses: &[("More", "fg-record bundle --symfs /mnt/board -o a.tar x.data")],
    shared: &[],
    environment: &[],
    files: &[DEBUG_FOLDERS, PERF_MAP],
    see_also: &["fg-record(1)", "fg-collapse(1)", "perf-archive(1)"],
};

const RECORD_CARGO: Manual = Manual {
    name: "fg-record-cargo",
    first: &["output", "open", "bin", "package", "duration", "freq", "off_cpu", "against"],
    uses: record_uses![
        ("Program", "fg-record cargo --bench parse -o out.svg"),
        ("Build", "fg-record cargo --features tls --dev -o out.svg"),
    ],
    shared: RECORD_SHARED,
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
    shared: &[],
    environment: &[("PATH", "The folders in which other profilers are looked for.")],
    files: &[("/proc/sys/kernel/perf_event_paranoid", "What the kernel lets users record.")],
    see_also: &["fg-record(1)"],
};

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    use super::*;
    use crate::cli::manual::help::{USES, WIDTH, WITHOUT};

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

    #[test]
    fn every_group_has_a_use() {
        for manual in ALL {
            let Some(command) = command(manual) else { continue };
            let headings = command.get_arguments().filter_map(clap::Arg::get_help_heading);
            for heading in headings {
                let is_shared = manual.shared.iter().any(|(others, _)| others.contains(&heading));
                assert!(
                    is_shared || manual.use_of(heading).is_some(),
                    "{}: a line of use is missing for {heading:?}; add it in src/cli/manual/programs.rs",
                    manual.name
                );
            }
            for (heading, _) in manual.uses {
                let exists = command.get_arguments().any(|arg| arg.get_help_heading() == Some(heading));
                assert!(exists || *heading == WITHOUT, "{}: there is no group {heading:?}", manual.name);
            }
        }
    }

    /// clap would wrap it otherwise.
    #[test]
    fn uses_fit_their_line() {
        for manual in ALL {
            for (heading, line) in manual.uses {
                let columns = USES.max(heading.len() + 1) + line.chars().count();
                assert!(columns <= WIDTH, "{}: {heading}: {line}: {columns} columns", manual.name);
            }
        }
    }

    /// The commands are right, and each has an option of its group.
    #[test]
    fn uses_are_commands() {
        for manual in ALL {
            let Some(own) = command(manual) else { continue };
            for (heading, line) in manual.uses {
                let line = line.split(" > ").next().unwrap_or(line).replace('\'', "");
                let of_program =
                    line.split(" | ").find(|part| part.starts_with(&manual.name[..9.min(manual.name.len())]));
                let words: Vec<&str> = of_program.unwrap_or(&line).split_whitespace().collect();
                let program = Manual::of(words[0]);
                let parser = command(program).unwrap_or_else(|| panic!("{line}: no program of ours"));
                let parsed = parser.try_get_matches_from(&words);
                assert!(parsed.is_ok(), "{}: {heading}: {line}: {:?}", manual.name, parsed.err());
                let is_of_group = |word: &&str| {
                    own.get_arguments().any(|arg| {
                        arg.get_help_heading().unwrap_or(WITHOUT) == *heading
                            && (arg.get_long().is_some_and(|long| *word == format!("--{long}"))
                                || arg.get_short().is_some_and(|short| *word == format!("-{short}")))
                    })
                };
                assert!(words.iter().any(is_of_group), "{}: {heading}: {line}", manual.name);
            }
        }
    }
}

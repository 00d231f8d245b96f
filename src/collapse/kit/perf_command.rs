//! The recorded command, out of the command line of the recorder.
//!
//! A recording holds the arguments of `perf record` itself, with the command behind its options:
//! `/usr/bin/perf record -F 99 -g -- ./app 3`. Where the options are all known the command is what
//! follows them; else the whole line stands for it.

/// Long options of `perf record` that take the next argument as their value, if it is not joined to
/// them by `=`.
const WITH_VALUE: &[&str] = &[
    "event",
    "filter",
    "pid",
    "tid",
    "realtime",
    "count",
    "output",
    "freq",
    "mmap-pages",
    "mmap-flush",
    "call-graph",
    "cgroup",
    "delay",
    "uid",
    "branch-filter",
    "clockid",
    "proc-map-timeout",
    "max-size",
    "control",
    "debuginfod",
    "vmlinux",
    "clang-path",
    "clang-opt",
    "num-thread-synthesize",
    "synth",
    "affinity",
    "aux-sample",
    "cpu",
    "setup-filter",
    "bpf-counters",
];
/// Long options of `perf record` without a value, or whose value only follows a `=`.
const WITHOUT_VALUE: &[&str] = &[
    "exclude-perf",
    "no-buffering",
    "raw-samples",
    "all-cpus",
    "no-inherit",
    "inherit",
    "verbose",
    "quiet",
    "stat",
    "data",
    "phys-addr",
    "data-page-size",
    "code-page-size",
    "sample-cpu",
    "sample-identifier",
    "timestamp",
    "period",
    "no-samples",
    "no-buildid-cache",
    "no-buildid",
    "branch-any",
    "weight",
    "transaction",
    "per-thread",
    "intr-regs",
    "user-regs",
    "running-time",
    "snapshot",
    "all-kernel",
    "all-user",
    "kernel-callchains",
    "user-callchains",
    "namespaces",
    "all-cgroups",
    "switch-events",
    "tail-synthesize",
    "overwrite",
    "timestamp-filename",
    "timestamp-boundary",
    "switch-output",
    "dry-run",
    "kcore",
    "group",
    "strict-freq",
    "aio",
    "compression-level",
    "build-id",
    "buildid-all",
    "buildid-mmap",
    "threads",
    "off-cpu",
    "latency",
    "no-bpf-event",
    "buildid-mmap",
    "text-poke",
];
/// Short options of `perf record` with a value, joined or next.
const SHORT_WITH_VALUE: &[u8] = b"eptrcoFmGDujkC";
/// Short options of `perf record` without a value, or with one that is joined.
const SHORT_WITHOUT_VALUE: &[u8] = b"RaivqsdTPnNBbWgSzI";

/// The recorded command on one line, from the arguments of the recorder.
pub(crate) fn recorded_command(arguments: &[&[u8]]) -> Option<Vec<u8>> {
    let command = behind_options(arguments).filter(|command| !command.is_empty());
    let line = join(command.unwrap_or(arguments));
    (!line.is_empty()).then_some(line)
}

/// The arguments behind the recorder's options; `None` where they cannot be told apart, and for a
/// recording of the whole machine, where the command only says how long.
fn behind_options<'a>(arguments: &'a [&'a [u8]]) -> Option<&'a [&'a [u8]]> {
    let (program, rest) = arguments.split_first()?;
    let program = program.rsplit(|&b| b == b'/').next()?;
    let mut rest = if program.starts_with(b"perf") {
        rest.strip_prefix(&[b"record".as_slice()])?
    } else {
        // Another recorder: only `--` tells.
        let end = rest.iter().position(|word| *word == b"--")?;
        return Some(&rest[end + 1..]);
    };
    while let Some((word, behind)) = rest.split_first() {
        rest = behind;
        let takes_next = match *word {
            b"--" => return Some(behind),
            [b'-', b'-', name @ ..] => long_takes_next(name)?,
            [b'-', letters @ ..] if !letters.is_empty() => short_takes_next(letters)?,
            _ => return Some(&arguments[arguments.len() - behind.len() - 1..]),
        };
        if takes_next {
            rest = rest.split_first()?.1;
        }
    }
    None
}

/// Returns whether a long option's value is the next argument; `None` for an option that is not
/// known, or that records the whole machine.
fn long_takes_next(name: &[u8]) -> Option<bool> {
    let name = std::str::from_utf8(name).ok()?;
    let (name, has_value) = name.split_once('=').map_or((name, false), |(name, _)| (name, true));
    if matches!(name, "all-cpus" | "cpu") {
        return None;
    }
    if has_value || name.starts_with("no-") || WITHOUT_VALUE.contains(&name) {
        return Some(false);
    }
    WITH_VALUE.contains(&name).then_some(true)
}

/// [`long_takes_next`] of short options in one word: `-gF99`.
fn short_takes_next(letters: &[u8]) -> Option<bool> {
    for (n, letter) in letters.iter().enumerate() {
        match letter {
            b'a' | b'C' => return None,
            letter if SHORT_WITH_VALUE.contains(letter) => return Some(n + 1 == letters.len()),
            // Their values may be joined.
            b'I' | b'z' | b'S' | b'v' => return Some(false),
            letter if SHORT_WITHOUT_VALUE.contains(letter) => {}
            _ => return None,
        }
    }
    Some(false)
}

/// The words with blanks between them; one that holds blanks itself, or nothing, is in quotes.
fn join(words: &[&[u8]]) -> Vec<u8> {
    let quoted = |word: &&[u8]| {
        let plain = !word.is_empty() && !word.iter().any(u8::is_ascii_whitespace);
        if plain { word.to_vec() } else { [b"'", *word, b"'"].concat() }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(&b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_follows_the_options() {
        for (line, command) in [
            ("/usr/bin/perf record -F 99 -g -- ./app 3", "./app 3"),
            (
                "perf record -q -e cpu-clock,page-faults -F 799 --sample-cpu -g -o x.data ./app --flag",
                "./app --flag",
            ),
            ("perf record --call-graph dwarf,8192 --freq=997 -gec ./app -- x", "./app -- x"),
            ("perf record -gF99 -z1 ./app", "./app"),
            ("perf_6.1 record --no-inherit true", "true"),
            ("fg-record -F 99 -- ./app 3", "./app 3"),
            // Not to be told apart: the whole line.
            ("perf record --some-new-option x ./app", "perf record --some-new-option x ./app"),
            ("perf record -X ./app", "perf record -X ./app"),
            ("perf record -p 77", "perf record -p 77"),
            ("perf record -a -g -- sleep 10", "perf record -a -g -- sleep 10"),
            ("perf record -C 1 -- sleep 10", "perf record -C 1 -- sleep 10"),
            ("perf sched record ls", "perf sched record ls"),
            ("perf record -g --", "perf record -g --"),
            ("fg-record -F 99 ./app", "fg-record -F 99 ./app"),
        ] {
            let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
            let found = recorded_command(&words).map(|line| String::from_utf8(line).unwrap());
            assert_eq!(found.as_deref(), Some(command), "{line}");
        }
        assert_eq!(recorded_command(&[]), None);
        assert_eq!(recorded_command(&[b"perf", b"record", b"sh", b"-c", b"a b"]).unwrap(), b"sh -c 'a b'");
    }
}

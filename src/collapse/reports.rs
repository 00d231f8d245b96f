//! What profilers write for people to read, told apart so that the error can say what to collapse
//! instead: it has no stacks, or only parts of them.

/// What stands in the first lines of a report, and what to do about it.
const REPORTS: &[(&[u8], &str)] = &[
    (
        b"# To display the perf.data header info, please use --header",
        "a report of perf report, which shows parts of stacks; collapse the perf.data, or what perf script prints",
    ),
    (
        b"Source code & Disassembly of ",
        "a listing of perf annotate; collapse the perf.data, or what perf script prints",
    ),
    (
        b" Performance counter stats for ",
        "counts of perf stat, which have no stacks; perf record -g records them",
    ),
    (
        b" Summary of events:",
        "a summary of perf trace, which has no stacks; perf record -g -e 'syscalls:*' records them",
    ),
    (
        b"           time    cpu  task name ",
        "a table of perf sched timehist; collapse what perf script prints, with --format perf-sched",
    ),
    (
        b" Task                  |   Runtime ms  | ",
        "a table of perf sched latency; collapse what perf script prints, with --format perf-sched",
    ),
    (b"% time     seconds  usecs/call ", "a table of strace -c, which has no stacks; strace -k prints them"),
    (b"Profile data file '", "a table of callgrind_annotate; collapse the callgrind.out file it was made of"),
    (b"ms_print arguments: ", "a chart of ms_print; collapse the massif.out file it was made of"),
    (
        b"MOST CALLS TO ALLOCATION FUNCTIONS",
        "a report of heaptrack_print; collapse heaptrack's own file, or what heaptrack_print -F writes",
    ),
    (
        b"Showing nodes accounting for ",
        "a table of pprof; collapse the profile itself, or what pprof -raw prints",
    ),
    (b"   Ordered by: ", "a table of Python's pstats; collapse the .prof file it was made of"),
    (b"Each sample counts as ", "a table of gprof, which has no stacks"),
    (b"gmon\x01\0\0\0", "a recording of gprof, which has no stacks"),
    (b"\x7fELF", "a program or a core, no recording; eu-stack and gdb print the stacks of a core"),
];

/// So many bytes are looked at.
const HEAD: usize = 2048;

/// What an input is that no collapser takes, and what to collapse instead.
pub(super) fn advice(head: &[u8]) -> Option<&'static str> {
    let head = &head[..head.len().min(HEAD)];
    let is_in_head = |text: &[u8]| match memchr::memmem::find(head, text) {
        // What is no text begins with it.
        Some(at) => at == 0 || text.iter().all(|byte| (b' '..=b'~').contains(byte)),
        None => false,
    };
    REPORTS.iter().find(|(text, _)| is_in_head(text)).map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_told_by_their_first_lines() {
        // As perf 6.1, valgrind 3.19, gprof 2.40 and heaptrack 1.4 wrote them.
        for (head, first) in [
            (
                "# To display the perf.data header info, please use --header/--header-only options.\n#\n#\n",
                "a report of perf report",
            ),
            ("ok\n\n Summary of events:\n\n rec (12967), 124 events, 67.4%\n", "a summary of perf trace"),
            ("# started on Sat\n\n\n Performance counter stats for '/bin/a 10':\n", "counts of perf stat"),
            (
                "reading file \"ht.zst\" - please wait, this might take some time...\nMOST CALLS TO ALLOCATION FUNCTIONS\n",
                "a report of heaptrack_print",
            ),
            (
                "----\nProfile data file 'callgrind.out' (creator: callgrind-3.19.0)\n",
                "a table of callgrind_annotate",
            ),
            ("Flat profile:\n\nEach sample counts as 0.01 seconds.\n", "a table of gprof"),
            ("gmon\x01\0\0\0\0\0", "a recording of gprof"),
            ("\x7fELF\x02\x01", "a program or a core"),
        ] {
            let advice = advice(head.as_bytes()).unwrap_or("nothing");
            assert!(advice.starts_with(first), "{head}: {advice}");
        }
        assert_eq!(advice(b"words\nabout \x7fELF and gmon\n"), None);
        assert_eq!(advice(b""), None);
    }
}

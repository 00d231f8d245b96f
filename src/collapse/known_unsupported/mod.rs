//! Files that profilers write and that are not read here, each with the command that makes of it
//! one that is.
//!
//! Whoever recorded with NYTProf wants to hear of `nytprofcalls`, not that the format is unknown. What
//! stands here is only looked at when no format claims the input.

use memchr::memmem::find;

use crate::collapse::kit::folded_detection::{declares_metrics, is_numbered};
use crate::input::lines;

/// A kind of file that is known, but not read.
#[derive(Debug)]
pub struct Foreign {
    /// Its description: `a recording of Java's Flight Recorder`.
    pub what: &'static str,
    /// The way to a format that is read.
    pub instead: &'static str,
    is: fn(&[u8]) -> bool,
}

const FOREIGN: &[Foreign] = &[
    Foreign {
        what: "a method trace of Android's runtime in its newest version",
        instead: "record without streaming, or with simpleperf, and give what report_sample.py prints",
        is: |head| head.starts_with(b"SLOW") || head.starts_with(b"*version\n"),
    },
    Foreign {
        what: "the XML of jfr print",
        instead: "give the .jfr itself, or print JSON: jfr print --json --stack-depth 64 FILE",
        is: |head| head.starts_with(b"<?xml") && holds(head, b"<recording") && holds(head, b"<event type="),
    },
    Foreign {
        what: "a heap dump of Java, which has no stacks of allocations",
        instead: "record with the Flight Recorder and choose --value jdk.ObjectAllocationSample.weight",
        is: |head| head.starts_with(b"JAVA PROFILE 1."),
    },
    Foreign {
        what: "an execution trace of Go before 1.22",
        instead: "make a profile of it: go tool trace -pprof=sched FILE (or net, sync, syscall)",
        is: |head| head.starts_with(b"go 1.") && head.get(..16).is_some_and(|head| holds(head, b" trace\0")),
    },
    Foreign {
        what: "a report of go tool pprof",
        instead: "give the profile itself, or what go tool pprof -raw prints",
        is: |head| {
            let start = &head[..head.len().min(1000)];
            holds(start, b"Showing nodes accounting for ") || holds(start, b"\n-----------+-------")
        },
    },
    Foreign {
        what: "yappi's own format",
        instead: "save it with type=\"pstat\" or \"callgrind\"",
        is: |head| head.starts_with(b"\x80") && holds(&head[..head.len().min(64)], b"cyappi\nYFuncStats"),
    },
    Foreign {
        what: "a printed report of cProfile",
        instead: "give the profile itself: python -m cProfile -o FILE",
        is: |head| holds(head, b" function calls") && holds(head, b"   ncalls  tottime  percall  cumtime"),
    },
    Foreign {
        what: "a log of V8",
        instead: "convert it: node --prof-process --preprocess FILE",
        is: |head| head.starts_with(b"v8-version,"),
    },
    Foreign {
        what: "a report of node --prof-process",
        instead: "add --preprocess",
        is: |head| head.starts_with(b"Statistical profiling result from "),
    },
    Foreign {
        what: "a snapshot of V8's heap, which has no stacks",
        instead: "record a .heapprofile: node --heap-prof",
        is: |head| head.starts_with(b"{\"snapshot\":{\"meta\":"),
    },
    Foreign {
        what: "a database of rocprofv3",
        instead: "let it write JSON: rocprofv3 --output-format json",
        is: |head| head.starts_with(b"SQLite format 3\0") && holds(head, b"rocpd_"),
    },
    Foreign {
        what: "a database of SQLite that is no profile",
        instead: "of a report of Nsight Systems make one that is: nsys export --type sqlite FILE",
        is: |head| head.starts_with(b"SQLite format 3\0"),
    },
    Foreign {
        what: "a report of perf report",
        instead: "give the perf.data, or what perf script prints",
        is: |head| {
            holds(
                &head[..head.len().min(2048)],
                b"# To display the perf.data header info, please use --header",
            )
        },
    },
    Foreign {
        what: "the output of perf script without the addresses that its stacks are made of",
        instead: "print them, too: perf script -F comm,tid,time,period,event,ip,sym,dso",
        is: is_perf_without_addresses,
    },
    Foreign {
        what: "a listing of perf annotate",
        instead: "give the perf.data, or what perf script prints",
        is: |head| shows(head, b"Source code & Disassembly of "),
    },
    Foreign {
        what: "counts of perf stat, which have no stacks",
        instead: "record them: perf record -g",
        is: |head| shows(head, b" Performance counter stats for "),
    },
    Foreign {
        what: "a summary of perf trace, which has no stacks",
        instead: "record them: perf record -g -e 'syscalls:*'",
        is: |head| shows(head, b" Summary of events:"),
    },
    Foreign {
        what: "the calls that perf trace prints",
        instead: "record them with their stacks: perf record -g -e 'syscalls:*', or print them with strace -k",
        is: is_perf_trace,
    },
    Foreign {
        what: "a table of perf sched timehist",
        instead: "give what perf script prints, with --format perf-sched",
        is: |head| shows(head, b"           time    cpu  task name "),
    },
    Foreign {
        what: "a table of perf sched latency",
        instead: "give what perf script prints, with --format perf-sched",
        is: |head| shows(head, b" Task                  |   Runtime ms  | "),
    },
    Foreign {
        what: "a table of strace -c, which has no stacks",
        instead: "print them: strace -k",
        is: |head| shows(head, b"% time     seconds  usecs/call "),
    },
    Foreign {
        what: "a table of callgrind_annotate",
        instead: "give the callgrind.out file it was made of",
        is: |head| shows(head, b"Profile data file '"),
    },
    Foreign {
        what: "a report of Valgrind's memcheck",
        instead: "add --xtree-leak=yes for leaks or --xtree-memory=full for the heap, and give the .kcg file",
        is: |head| shows(head, b"== Memcheck, a memory error detector") || shows(head, b"<valgrindoutput>"),
    },
    Foreign {
        what: "memray's table of allocations",
        instead: "give the .bin itself, or transform it: memray transform speedscope FILE",
        is: |head| head.starts_with(b"allocator,num_allocations,size,tid,thread_name,stack_trace"),
    },
    Foreign {
        what: "a chart of ms_print",
        instead: "give the massif.out file it was made of",
        is: |head| shows(head, b"ms_print arguments: "),
    },
    Foreign {
        what: "a report of heaptrack_print",
        instead: "give heaptrack's own file, or what heaptrack_print -F writes",
        is: |head| shows(head, b"MOST CALLS TO ALLOCATION FUNCTIONS"),
    },
    Foreign {
        what: "a table of gprof, which has no stacks",
        instead: "record them: perf record -g",
        is: |head| shows(head, b"Each sample counts as "),
    },
    Foreign {
        what: "a recording of gprof, which has no stacks",
        instead: "record them: perf record -g",
        is: |head| head.starts_with(b"gmon\x01\0\0\0"),
    },
    Foreign {
        what: "a page that xdebug has written",
        instead: "let it write what can be read: xdebug.trace_format=1",
        is: |head| head.starts_with(b"<table ") && shows(head, b"xdebug"),
    },
    Foreign {
        what: "a minidump of Windows, which has the stacks of one moment",
        instead: "record the program, for instance with Very Sleepy or wpr",
        is: |head| head.starts_with(b"MDMP\x93\xa7"),
    },
    Foreign {
        what: "a capture of network packets, which has no stacks",
        instead: "record the program: fg-record",
        is: |head| {
            let magic = [&b"\xd4\xc3\xb2\xa1"[..], b"\xa1\xb2\xc3\xd4", b"\x0a\x0d\x0d\x0a"];
            magic.iter().any(|magic| head.starts_with(magic))
        },
    },
    Foreign {
        what: "nothing but zeros: an empty archive, or a file that was not written to its end",
        instead: "copy or record it once more",
        is: |head| head.len() >= 512 && head.iter().all(|b| *b == 0),
    },
    Foreign {
        what: "a file compressed by lz4",
        instead: "unpack it: lz4 -dc FILE",
        is: |head| head.starts_with(b"\x04\x22\x4d\x18"),
    },
    Foreign {
        what: "an archive of 7-Zip",
        instead: "unpack it: 7z x -so FILE",
        is: |head| head.starts_with(b"7z\xbc\xaf\x27\x1c"),
    },
    Foreign {
        what: "metrics as Prometheus reads them, which have no stacks",
        instead: "give a profile, such as /debug/pprof/profile of a Go program",
        is: declares_metrics,
    },
    Foreign {
        what: "a table of Erlang's eprof, which has no stacks",
        instead: "record them with eflame, or with perf and the emulator's option +JPperf true",
        is: |head| shows(head, b"of profiled time ***") && shows(head, b"uS / CALLS]"),
    },
    Foreign {
        what: "an analysis of Erlang's fprof",
        instead: "record stacks with eflame, or with perf and the emulator's option +JPperf true",
        is: |head| head.starts_with(b"%% Analysis results:\n{  analysis_options,"),
    },
    Foreign {
        what: "uftrace's own recording, or a report of it",
        instead: "write its spans: uftrace dump --chrome > out.json",
        is: |head| {
            let titles = [
                &b"========== FUNCTION CALL GRAPH =========="[..],
                b"# DURATION     TID     FUNCTION",
                b"  Total time   Self time       Calls  Function",
            ];
            head.starts_with(b"Ftrace!\0") || titles.iter().any(|title| shows(head, title))
        },
    },
    Foreign {
        what: "a profile that rustc made of itself",
        instead: "make trace events of it by crox, of rust-lang/measureme: crox FILE",
        is: |head| head.starts_with(b"MMPD"),
    },
    Foreign {
        what: "a snapshot of Python's tracemalloc",
        instead: "print its stacks: python3 -c 'import sys, tracemalloc as t; \
                  [print(\";\".join(f\"{f.filename}:{f.lineno}\" for f in s.traceback), s.size) \
                  for s in t.Snapshot.load(sys.argv[1]).statistics(\"traceback\")]' FILE",
        is: |head| {
            head.starts_with(b"\x80")
                && holds(&head[..head.len().min(64)], b"tracemalloc\x94\x8c\x08Snapshot")
        },
    },
    Foreign {
        what: "a trace of the kernel's function tracer",
        instead: "record stacks: fg-record -a, or perf record -ag",
        is: |head| head.starts_with(b"# tracer: ") || head.starts_with(b"\x17\x08Dtracing"),
    },
    Foreign {
        what: "a recording of Perl's Devel::NYTProf",
        instead: "convert it: nytprofcalls FILE > out.folded",
        is: |head| head.starts_with(b"NYTProf "),
    },
    Foreign {
        what: "a report of LuaJIT's profiler, which has no stacks",
        instead: "write them: luajit -jp=G,out.folded app.lua",
        is: is_luajit_report,
    },
    Foreign {
        what: "a printed report of Julia's Profile",
        instead: "save the profile itself with PProf.jl: pprof(out = \"app.pb.gz\")",
        is: |head| shows(head, "Overhead ╎ [+additional indent] Count".as_bytes()),
    },
    Foreign {
        what: "JAX's or TensorFlow's own recording, an xplane",
        instead: "give the .trace.json.gz beside it",
        is: |head| {
            // A message of planes, whose names are those of a host or a device.
            let start = &head[..head.len().min(64)];
            head.starts_with(b"\x0a")
                && (holds(start, b"\x12\x09/host:CPU")
                    || holds(start, b"/host:metadata")
                    || holds(start, b"\x12\x0d/device:"))
        },
    },
    Foreign {
        what: "a program or a core, and no recording",
        instead: "record it while it runs: fg-record; eu-stack and gdb print the stacks of a core",
        is: |head| {
            let magic = [&b"\x7fELF"[..], b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\0asm"];
            magic.iter().any(|magic| head.starts_with(magic))
                || (head.starts_with(b"MZ") && holds(head, b"PE\0\0"))
        },
    },
    Foreign {
        what: "a picture",
        instead: "give what it was drawn from",
        is: |head| {
            let start = head.trim_ascii_start();
            start.starts_with(b"<svg")
                || (start.starts_with(b"<?xml") && holds(&head[..head.len().min(1000)], b"<svg"))
                || [&b"\x89PNG\r\n"[..], b"\xff\xd8\xff", b"GIF8", b"%PDF-"]
                    .iter()
                    .any(|m| head.starts_with(m))
        },
    },
    Foreign {
        what: "a page of another tool",
        instead: "ask that for text or JSON, such as async-profiler -o collapsed, memray transform speedscope",
        is: |head| {
            let start = head.trim_ascii_start();
            let starts =
                |tag: &[u8]| start.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag));
            starts(b"<!doctype html") || starts(b"<html")
        },
    },
    Foreign {
        what: "text whose lines end in numbers, but do not look like stacks",
        instead: "if they are, fg-collapse --format folded takes them as they stand",
        is: is_numbered,
    },
];

/// Recognises an input that no format claims.
pub fn recognise(head: &[u8]) -> Option<&'static Foreign> {
    FOREIGN.iter().find(|foreign| (foreign.is)(head))
}

/// Returns whether the lines of a text are those of samples and nothing else: `-F event,sym`, `-F comm,tid,sym`. perf
/// ends each column with a blank, an event and a time with a colon before, and pads the command to 16 columns.
fn is_perf_without_addresses(head: &[u8]) -> bool {
    const COMMAND: usize = 16;
    let Some(end) = memchr::memrchr(b'\n', head) else { return false };
    let mut lines = lines(&head[..end]).take(20);
    lines.all(|line| {
        let text = line.trim_ascii();
        let is_padded = line.starts_with(b" ") && line.len() > COMMAND;
        let word = text.rsplit(|&b| b == b' ').next().unwrap_or_default();
        line.ends_with(b" ")
            && !line.ends_with(b"  ")
            && (is_padded || (word.len() > 1 && word.ends_with(b":")))
    })
}

/// Returns whether a text begins with a call and its duration: `0.051 ( 0.146 ms): app/28540 brk() = 0x1`.
fn is_perf_trace(head: &[u8]) -> bool {
    let line = lines(head).next().unwrap_or_default();
    let Some(end) = find(line, b"): ") else { return false };
    let Some(open) = memchr::memchr(b'(', &line[..end]) else { return false };
    let (time, lasted) = (line[..open].trim_ascii(), line[open + 1..end].trim_ascii());
    let is_time = time == b"?" || (!time.is_empty() && time.iter().all(|b| b.is_ascii_digit() || *b == b'.'));
    is_time && (lasted.is_empty() || lasted.ends_with(b" ms")) && line[end..].contains(&b'(')
}

/// Returns whether the lines of a text are shares and functions, as LuaJIT prints them: `81%  work`.
fn is_luajit_report(head: &[u8]) -> bool {
    let mut lines = lines(head).take(20).filter(|line| !line.is_empty()).peekable();
    let is_row = |line: &[u8]| {
        let line = line.trim_ascii_start();
        let digits = line.iter().take_while(|b| b.is_ascii_digit()).count();
        matches!(digits, 1..=3) && line[digits..].starts_with(b"%  ")
    };
    lines.peek().is_some_and(|first| is_row(first))
        && lines.all(|line| is_row(line) || line.starts_with(b"  "))
}

/// Returns whether a report begins with this, behind what its program says first.
fn shows(head: &[u8], text: &[u8]) -> bool {
    holds(&head[..head.len().min(2048)], text)
}

fn holds(text: &[u8], part: &[u8]) -> bool {
    find(text, part).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_write_is_known_by_its_first_bytes() {
        for (head, what) in [
            (
                &b"<?xml version=\"1.0\"?>\n<recording x=\"y\">\n <events>\n <event type=\"jdk.X\">"[..],
                "XML of jfr",
            ),
            (b"SLOW\xf5\0 \0", "Android's runtime"),
            (b"*version\n5\nclock=dual\n", "Android's runtime"),
            (b"JAVA PROFILE 1.0.2\0", "heap dump of Java"),
            (b"go 1.21 trace\0\0\0\x01", "execution trace of Go"),
            (b"go 1.5 trace\0\0\0\0\x01", "execution trace of Go"),
            (b"File: x\nType: cpu\nShowing nodes accounting for 3s, 100% of 3s total\n", "go tool pprof"),
            (b"File: x\nType: cpu\n-----------+---------------------\n     10ms   main\n", "go tool pprof"),
            (b"\x80\x02cyappi\nYFuncStats\nq\0", "yappi"),
            (b"   9 function calls in 0.1 seconds\n\n   ncalls  tottime  percall  cumtime  x", "cProfile"),
            (b"v8-version,11,3,244,8,-node.38,0\n", "log of V8"),
            (b"Statistical profiling result from v8.log, (388 ticks, 6", "--prof-process"),
            (b"{\"snapshot\":{\"meta\":{\"node_fields\"", "snapshot of V8"),
            (b"<?xml version=\"1.0\" standalone=\"no\"?>\n<!DOCTYPE svg>\n<svg", "picture"),
            (
                b"# To display the perf.data header info, please use --header/--header-only options.\n#\n",
                "perf report",
            ),
            (b"     0.051 ( 0.146 ms): w/28540 brk()     = 0x55d85e718000\n", "perf trace prints"),
            (b"         ? (         ): w/28540  ... [continued]: execve())   = 0\n", "perf trace prints"),
            (b"cpu-clock: \ncpu-clock: \n", "without the addresses"),
            (b"83564.213493: \n83564.217912: \n", "without the addresses"),
            (b"               w 18913 \n               w 18913 \n", "without the addresses"),
            (b" Percent |\tSource code & Disassembly of work for cpu-clock (2 samples", "perf annotate"),
            (b"# started on Sat\n\n\n Performance counter stats for '/bin/a 10':\n", "perf stat"),
            (b"ok\n\n Summary of events:\n\n rec (12967), 124 events, 67.4%\n", "perf trace"),
            (b"           time    cpu  task name                       wait time", "timehist"),
            (b" ----\n  Task                  |   Runtime ms  | Switches |", "perf sched latency"),
            (b"% time     seconds  usecs/call     calls    errors syscall\n", "strace -c"),
            (b"----\nProfile data file 'callgrind.out' (creator: callgrind-3.19.0)\n", "callgrind_annotate"),
            (b"==77== Memcheck, a memory error detector\n==77== Copyright", "memcheck"),
            (b"<?xml version=\"1.0\"?>\n\n<valgrindoutput>\n\n<protocolversion>4", "memcheck"),
            (b"allocator,num_allocations,size,tid,thread_name,stack_trace\nMALLOC,1,8", "memray"),
            (b"Massif arguments:   (none)\nms_print arguments: massif.out\n", "ms_print"),
            (b"reading file \"ht.zst\"\nMOST CALLS TO ALLOCATION FUNCTIONS\n", "heaptrack_print"),
            (b"Flat profile:\n\nEach sample counts as 0.01 seconds.\n", "a table of gprof"),
            (b"gmon\x01\0\0\0\0", "a recording of gprof"),
            (b"\x04\x22\x4d\x18\x64\x40\xa7", "by lz4"),
            (
                b"\n****** Process <0.80.0>    -- 100.00 % of profiled time *** \n\
                  FUNCTION              CALLS        %  TIME  [uS / CALLS]\n",
                "eprof",
            ),
            (b"%% Analysis results:\n{  analysis_options,\n [{callers, true},", "fprof"),
            (b"NYTProf 5 0\n#Perl profile database. Generated by Devel::NYTProf", "NYTProf"),
            (b"# DURATION     TID     FUNCTION\n   1.201 us [ 15055] | __monstartup();\n", "uftrace"),
            (b"  Total time   Self time       Calls  Function\n  ==========", "uftrace"),
            (b"MMPD\x09\0\0\0", "rustc"),
            (b"\x80\x05\x95\x81\x09\0\0\0\0\0\0\x8c\x0btracemalloc\x94\x8c\x08Snapshot\x94", "tracemalloc"),
            (b"Ftrace!\0\x04\0\0\0", "uftrace"),
            (b"# tracer: function_graph\n#\n# CPU  DURATION", "function tracer"),
            (b"\x17\x08Dtracing6\0", "function tracer"),
            (b"81%  work\n19%  fib\n  -- 60%  main\n", "LuaJIT"),
            ("Overhead ╎ [+additional indent] Count File:Line; Function\n".as_bytes(), "Julia"),
            (b"\x0a\xc1\x40\x12\x09/host:CPU\x1a", "xplane"),
            (b"SQLite format 3\0\x10\0", "database of SQLite"),
            (b"SQLite format 3\0\x10\0 CREATE TABLE \"rocpd_string\"", "database of rocprofv3"),
            (b"7z\xbc\xaf\x27\x1c\0\x04", "7-Zip"),
            (b"# HELP go_goroutines x\ngo_goroutines 8\n", "Prometheus"),
            (b"The year was 1999\n", "do not look like stacks"),
            (b"\x7fELF\x02\x01", "a core"),
            (b"MZ\x90\0 PE\0\0", "a core"),
            (b"\0asm\x01\0\0\0", "a core"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", "picture"),
            (b"MDMP\x93\xa7", "minidump"),
            (b"\xd4\xc3\xb2\xa1\x02\0", "network packets"),
            (&[0; 512], "nothing but zeros"),
            (b"<table style='hyphens: auto' class='xdebug-trace' dir='ltr'>", "xdebug"),
            (b"<!DOCTYPE html>\n<html>", "page"),
        ] {
            let known = recognise(head).map(|foreign| foreign.what);
            assert!(known.is_some_and(|known| known.contains(what)), "{what}: {known:?}");
        }
        for head in [
            &b"hello there\n"[..],
            b"go 1.22 x\n",
            b"{\"start_time\": 1}",
            b"<?xml version=\"1.0\"?><a/>",
            b"title:\nname: \n",
            b"",
        ] {
            assert!(recognise(head).is_none(), "{head:?}");
        }
    }
}

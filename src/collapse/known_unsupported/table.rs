//! The files that profilers write and that are not read here.

use super::Sign::{All, Any, Holds, Magic, Rule, Shows, Starts};
use super::rules::{
    is_empty, is_etl, is_java_cpu, is_luajit_report, is_page, is_perf_trace, is_perf_without_addresses,
    is_perf_without_threads, is_svg,
};
use super::{KnownUnsupported, START};
use crate::collapse::kit::folded_detection::{declares_metrics, is_numbered};

/// The first bytes of a database.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// All of them, the most particular first.
pub const TABLE: &[KnownUnsupported] = &[
    KnownUnsupported {
        what: "a method trace of Android's runtime in its newest version",
        instead: "record without streaming, or with simpleperf, and give what report_sample.py prints",
        sign: Starts(&[b"SLOW", b"*version\n"]),
    },
    KnownUnsupported {
        what: "the XML of jfr print",
        instead: "give the .jfr itself, or print JSON: jfr print --json --stack-depth 64 FILE",
        sign: All(&[Starts(&[b"<?xml"]), Holds(&[b"<recording"]), Holds(&[b"<event type="])]),
    },
    KnownUnsupported {
        what: "a heap dump of Java, which has no stacks of allocations",
        instead: "record with the Flight Recorder and choose --value jdk.ObjectAllocationSample.weight",
        sign: Magic(&[
            b"JAVA PROFILE 1.0\0",
            b"JAVA PROFILE 1.0.1\0",
            b"JAVA PROFILE 1.0.2\0",
            b"JAVA PROFILE 1.0.3\0",
        ]),
    },
    KnownUnsupported {
        what: "an execution trace of Go before 1.22",
        instead: "make a profile of it: go tool trace -pprof=sched FILE (or net, sync, syscall)",
        sign: All(&[Starts(&[b"go 1."]), Shows(16, &[b" trace\0"])]),
    },
    KnownUnsupported {
        what: "a report of go tool pprof",
        instead: "give the profile itself, or what go tool pprof -raw prints",
        sign: Shows(1000, &[b"Showing nodes accounting for ", b"\n-----------+-------"]),
    },
    KnownUnsupported {
        what: "a profile in an old format that pprof alone reads",
        instead: "make one of today's of it: go tool pprof -proto -output=out.pb.gz FILE",
        sign: Any(&[
            Starts(&[b"--- heapz ", b"--- contentionz ", b"--- threadz ", b"--- Thread "]),
            Rule(is_java_cpu),
        ]),
    },
    KnownUnsupported {
        what: "yappi's own format",
        instead: "save it with type=\"pstat\" or \"callgrind\"",
        sign: All(&[Starts(&[b"\x80"]), Shows(64, &[b"cyappi\nYFuncStats"])]),
    },
    KnownUnsupported {
        what: "a printed report of cProfile",
        instead: "give the profile itself: python -m cProfile -o FILE",
        sign: All(&[Holds(&[b" function calls"]), Holds(&[b"   ncalls  tottime  percall  cumtime"])]),
    },
    KnownUnsupported {
        what: "a log of V8",
        instead: "convert it: node --prof-process --preprocess FILE",
        sign: Starts(&[b"v8-version,"]),
    },
    KnownUnsupported {
        what: "a report of node --prof-process",
        instead: "add --preprocess",
        sign: Starts(&[b"Statistical profiling result from "]),
    },
    KnownUnsupported {
        what: "a snapshot of V8's heap, which has no stacks",
        instead: "record a .heapprofile: node --heap-prof",
        sign: Starts(&[b"{\"snapshot\":{\"meta\":"]),
    },
    KnownUnsupported {
        what: "a database of rocprofv3",
        instead: "let it write JSON: rocprofv3 --output-format json",
        sign: All(&[Magic(&[SQLITE]), Holds(&[b"rocpd_"])]),
    },
    KnownUnsupported {
        what: "a database of SQLite that is no profile",
        instead: "of a report of Nsight Systems make one that is: nsys export --type sqlite FILE",
        sign: Magic(&[SQLITE]),
    },
    KnownUnsupported {
        what: "a report of perf report",
        instead: "give the perf.data, or what perf script prints",
        sign: Shows(START, &[b"# To display the perf.data header info, please use --header"]),
    },
    KnownUnsupported {
        what: "the output of perf script without the addresses that its stacks are made of",
        instead: "print them, too: perf script -F comm,tid,time,period,event,ip,sym,dso",
        sign: Rule(is_perf_without_addresses),
    },
    KnownUnsupported {
        what: "the output of perf script without the threads of its samples",
        instead: "print them, too: perf script -F comm,tid,time,period,event,ip,sym,dso",
        sign: Rule(is_perf_without_threads),
    },
    KnownUnsupported {
        what: "a listing of perf annotate",
        instead: "give the perf.data, or what perf script prints",
        sign: Shows(START, &[b"Source code & Disassembly of "]),
    },
    KnownUnsupported {
        what: "counts of perf stat, which have no stacks",
        instead: "record them: perf record -g",
        sign: Shows(START, &[b" Performance counter stats for "]),
    },
    KnownUnsupported {
        what: "a summary of perf trace, which has no stacks",
        instead: "record them: perf record -g -e 'syscalls:*'",
        sign: Shows(START, &[b" Summary of events:"]),
    },
    KnownUnsupported {
        what: "the calls that perf trace prints",
        instead: "record them with their stacks: perf record -g -e 'syscalls:*', or print them with strace -k",
        sign: Rule(is_perf_trace),
    },
    KnownUnsupported {
        what: "a table of perf sched timehist",
        instead: "give what perf script prints, with --input-format perf-sched",
        sign: Shows(START, &[b"           time    cpu  task name "]),
    },
    KnownUnsupported {
        what: "a table of perf sched latency",
        instead: "give what perf script prints, with --input-format perf-sched",
        sign: Shows(START, &[b" Task                  |   Runtime ms  | "]),
    },
    KnownUnsupported {
        what: "a table of strace -c, which has no stacks",
        instead: "print them: strace -k",
        sign: Shows(START, &[b"% time     seconds  usecs/call "]),
    },
    KnownUnsupported {
        what: "a table of callgrind_annotate",
        instead: "give the callgrind.out file it was made of",
        sign: Shows(START, &[b"Profile data file '"]),
    },
    KnownUnsupported {
        what: "a report of Valgrind's memcheck",
        instead: "add --xtree-leak=yes for leaks or --xtree-memory=full for the heap, and give the .kcg file",
        sign: Shows(START, &[b"== Memcheck, a memory error detector", b"<valgrindoutput>"]),
    },
    KnownUnsupported {
        what: "memray's table of allocations",
        instead: "give the .bin itself, or transform it: memray transform speedscope FILE",
        sign: Starts(&[b"allocator,num_allocations,size,tid,thread_name,stack_trace"]),
    },
    KnownUnsupported {
        what: "a chart of ms_print",
        instead: "give the massif.out file it was made of",
        sign: Shows(START, &[b"ms_print arguments: "]),
    },
    KnownUnsupported {
        what: "a report of heaptrack_print",
        instead: "give heaptrack's own file, or what heaptrack_print -F writes",
        sign: Shows(START, &[b"MOST CALLS TO ALLOCATION FUNCTIONS"]),
    },
    KnownUnsupported {
        what: "a table of gprof, which has no stacks",
        instead: "record them: perf record -g",
        sign: Shows(START, &[b"Each sample counts as "]),
    },
    KnownUnsupported {
        what: "a recording of gprof, which has no stacks",
        instead: "record them: perf record -g",
        sign: Magic(&[b"gmon\x01\0\0\0"]),
    },
    KnownUnsupported {
        what: "a page that xdebug has written",
        instead: "let it write what can be read: xdebug.trace_format=1",
        sign: All(&[Starts(&[b"<table "]), Shows(START, &[b"xdebug"])]),
    },
    KnownUnsupported {
        what: "a minidump of Windows, which has the stacks of one moment",
        instead: "record the program, for instance with Very Sleepy or wpr",
        sign: Magic(&[b"MDMP\x93\xa7"]),
    },
    KnownUnsupported {
        what: "a capture of network packets, which has no stacks",
        instead: "record the program: fg-record",
        sign: Magic(&[b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x0a\x0d\x0d\x0a"]),
    },
    KnownUnsupported {
        what: "nothing but zeros: an empty archive, or a file that was not written to its end",
        instead: "copy or record it once more",
        sign: Rule(is_empty),
    },
    KnownUnsupported {
        what: "a file compressed by lz4",
        instead: "unpack it: lz4 -dc FILE",
        sign: Magic(&[b"\x04\x22\x4d\x18"]),
    },
    KnownUnsupported {
        what: "an archive of 7-Zip",
        instead: "unpack it: 7z x -so FILE",
        sign: Magic(&[b"7z\xbc\xaf\x27\x1c"]),
    },
    KnownUnsupported {
        what: "metrics as Prometheus reads them, which have no stacks",
        instead: "give a profile, such as /debug/pprof/profile of a Go program",
        sign: Rule(declares_metrics),
    },
    KnownUnsupported {
        what: "a table of Erlang's eprof, which has no stacks",
        instead: "record them with eflame, or with perf and the emulator's option +JPperf true",
        sign: All(&[Shows(START, &[b"of profiled time ***"]), Shows(START, &[b"uS / CALLS]"])]),
    },
    KnownUnsupported {
        what: "an analysis of Erlang's fprof",
        instead: "record stacks with eflame, or with perf and the emulator's option +JPperf true",
        sign: Starts(&[b"%% Analysis results:\n{  analysis_options,"]),
    },
    KnownUnsupported {
        what: "uftrace's own recording, or a report of it",
        instead: "write its spans: uftrace dump --chrome > out.json",
        sign: Any(&[
            Magic(&[b"Ftrace!\0"]),
            Shows(
                START,
                &[
                    b"========== FUNCTION CALL GRAPH ==========",
                    b"# DURATION     TID     FUNCTION",
                    b"  Total time   Self time       Calls  Function",
                ],
            ),
        ]),
    },
    KnownUnsupported {
        what: "a profile that rustc made of itself",
        instead: "make trace events of it by crox, of rust-lang/measureme: crox FILE",
        sign: Starts(&[b"MMPD"]),
    },
    KnownUnsupported {
        what: "a snapshot of Python's tracemalloc",
        instead: "print its stacks: python3 -c 'import sys, tracemalloc as t; \
                  [print(\";\".join(f\"{f.filename}:{f.lineno}\" for f in s.traceback), s.size) \
                  for s in t.Snapshot.load(sys.argv[1]).statistics(\"traceback\")]' FILE",
        sign: All(&[Starts(&[b"\x80"]), Shows(64, &[b"tracemalloc\x94\x8c\x08Snapshot"])]),
    },
    KnownUnsupported {
        what: "a trace of the kernel's function tracer",
        instead: "record stacks: fg-record -a, or perf record -ag",
        sign: Starts(&[b"# tracer: ", b"\x17\x08Dtracing"]),
    },
    KnownUnsupported {
        what: "a recording of Perl's Devel::NYTProf",
        instead: "convert it: nytprofcalls FILE > out.folded",
        sign: Starts(&[b"NYTProf "]),
    },
    KnownUnsupported {
        what: "a report of LuaJIT's profiler, which has no stacks",
        instead: "write them: luajit -jp=G,out.folded app.lua",
        sign: Rule(is_luajit_report),
    },
    KnownUnsupported {
        what: "a printed report of Julia's Profile",
        instead: "save the profile itself with PProf.jl: pprof(out = \"app.pb.gz\")",
        sign: Shows(START, &["Overhead ╎ [+additional indent] Count".as_bytes()]),
    },
    KnownUnsupported {
        what: "JAX's or TensorFlow's own recording, an xplane",
        instead: "give the .trace.json.gz beside it",
        // A message of planes, whose names are those of a host or a device.
        sign: All(&[
            Starts(&[b"\x0a"]),
            Shows(64, &[b"\x12\x09/host:CPU", b"/host:metadata", b"\x12\x0d/device:"]),
        ]),
    },
    KnownUnsupported {
        what: "a recording of Event Tracing for Windows",
        instead: "let its own tools print the stacks: xperf -i FILE -a dumper, or wpaexporter",
        sign: Rule(is_etl),
    },
    KnownUnsupported {
        what: "a recording of .NET Core 2 and its PerfView",
        instead: "record with dotnet-trace collect, which writes .nettrace",
        sign: Magic(&[b"\x14\0\0\0!FastSerialization.1"]),
    },
    KnownUnsupported {
        what: "the events of an ETW recording as PerfView prints them",
        instead: "give the stacks: PerfView's flame graph or File > Save as speedscope.json",
        sign: All(&[
            Shows(START, &[b"<EventData", b"<Events>"]),
            Shows(START, &[b"<Event MSec=", b"<Event MSec= "]),
        ]),
    },
    KnownUnsupported {
        what: "a profile of sysprof 1.0, in XML",
        instead: "record with sysprof 3 or later: sysprof-cli FILE",
        sign: All(&[
            Starts(&[b"<profile>", b"<profile "]),
            Shows(START, &[b"<size>"]),
            Shows(START, &[b"<objects>"]),
        ]),
    },
    KnownUnsupported {
        what: "a call graph of VTune or axe, which has no stacks",
        instead: "give the stacks: vtune -report callstacks -call-stack-mode all",
        sign: Shows(START, &[b"Index   % CPU Time:Total  CPU Time:Self"]),
    },
    KnownUnsupported {
        what: "a profile of Sentry's Cocoa SDK before version 8, with times of its own",
        instead: "record with a newer SDK, whose profiles are in version 1 of Sentry's format",
        sign: All(&[Starts(&[b"{"]), Holds(&[b"\"sampled_profile\":"])]),
    },
    KnownUnsupported {
        what: "an executable or a core dump, not a profile",
        instead: "record it while it runs: fg-record; eu-stack and gdb print the stacks of a core",
        sign: Any(&[
            Magic(&[b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\0asm"]),
            All(&[Starts(&[b"MZ"]), Holds(&[b"PE\0\0"])]),
        ]),
    },
    KnownUnsupported {
        what: "a picture",
        instead: "give the profile that it was drawn from",
        sign: Any(&[Rule(is_svg), Magic(&[b"\x89PNG\r\n", b"\xff\xd8\xff"]), Starts(&[b"GIF8", b"%PDF-"])]),
    },
    KnownUnsupported {
        what: "a page of another tool",
        instead: "ask that for text or JSON, such as async-profiler -o collapsed, memray transform speedscope",
        sign: Rule(is_page),
    },
    KnownUnsupported {
        what: "text whose lines end in numbers, but do not look like stacks",
        instead: "if they are, fg-collapse --input-format folded takes them as they stand",
        sign: Rule(is_numbered),
    },
];

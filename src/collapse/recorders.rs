//! One way to record each language and runtime, and to look at the result: the table in `docs/formats.md`.

use crate::collapse::{Collapser, registry};
use crate::error::Result;

/// A way to record programs of a language.
#[derive(Clone, Copy, Debug)]
pub struct Recorder {
    /// The language, or the runtime: `Ruby`.
    pub language: &'static str,
    /// The one command, or the one line of the program itself, that records, as Markdown.
    pub record: &'static str,
    /// The file to give to `fg-render` and the others, or the command that makes it, as Markdown.
    pub file: &'static str,
    /// The name of its format in the registry.
    pub format: &'static str,
}

impl Recorder {
    const fn new(
        language: &'static str,
        record: &'static str,
        file: &'static str,
        format: &'static str,
    ) -> Recorder {
        Recorder { language, record, file, format }
    }

    /// The format that it writes.
    ///
    /// # Errors
    /// [`crate::ErrorKind::UnknownFormat`] where the features of this build leave it out.
    pub fn collapser(&self) -> Result<&'static dyn Collapser> {
        registry::by_name(self.format)
    }
}

/// The languages and runtimes, in the order of the alphabet.
pub const RECORDERS: &[Recorder] = &[
    Recorder::new(
        ".NET",
        "`dotnet-trace collect --format Speedscope -- dotnet app.dll`",
        "`app.speedscope.json`",
        "speedscope",
    ),
    Recorder::new("AIX", "`procstack PID > out.txt`", "`out.txt`", "procstack"),
    Recorder::new(
        "Android, native and Java",
        "`simpleperf record -g -p PID`",
        "`report_sample.py > out.txt`",
        "perf-script",
    ),
    Recorder::new(
        "Android, Java and Kotlin methods",
        "`Debug.startMethodTracing(\"app\")`, or Android Studio",
        "`app.trace`",
        "art",
    ),
    Recorder::new("C, C++, Rust, Zig on Linux", "`perf record -g ./app`", "`perf.data`", "perf-data"),
    Recorder::new(
        "AMD GPUs",
        "`rocprofv3 --runtime-trace --output-format json -o out -- ./app`",
        "`out_results.json`",
        "rocprof",
    ),
    Recorder::new(
        "C, C++, Rust, Swift on macOS",
        "`xctrace record --template 'Time Profiler' --output app.trace --launch -- ./app`",
        "`xctrace export --input app.trace --xpath '/trace-toc/*/data/table[@schema=\"time-profile\"]' > app.xml`",
        "xctrace",
    ),
    Recorder::new(
        "C, C++, Rust: allocations",
        "`fg-record --alloc --raw -o app.data ./app`",
        "`app.data`",
        "perf-data",
    ),
    Recorder::new("C, C++: allocations", "`heaptrack ./app`", "`heaptrack.app.77.zst`", "heaptrack"),
    Recorder::new(
        "C, C++: exact instructions",
        "`valgrind --tool=callgrind ./app`",
        "`callgrind.out.77`",
        "callgrind",
    ),
    Recorder::new(
        "Chrome, Edge",
        "developer tools: Performance, record, save",
        "`Trace.json.gz`",
        "chrome-trace",
    ),
    Recorder::new(
        "Dart, Flutter",
        "DevTools: CPU Profiler, Record, Stop, Export",
        "the JSON",
        "chrome-trace",
    ),
    Recorder::new(
        "Erlang, Elixir",
        "`eflame:apply(normal_with_children, \"stacks.out\", Module, Function, Arguments)`",
        "`stacks.out`",
        "eflame",
    ),
    Recorder::new("Firefox", "profiler.firefox.com: record, save", "`profile.json.gz`", "firefox"),
    Recorder::new(
        "FreeBSD",
        "`pmcstat -S cpu_clk_unhalted.thread -O out.pmc ./app`",
        "`pmcstat -R out.pmc -G out.txt`",
        "pmcstat",
    ),
    Recorder::new("Go", "`go test -bench . -cpuprofile cpu.pb.gz`", "`cpu.pb.gz`", "pprof"),
    Recorder::new("Haskell", "`./app +RTS -p`", "`app.prof`", "ghc-prof"),
    Recorder::new(
        "Java, Kotlin, Scala",
        "`java -XX:StartFlightRecording:filename=app.jfr -jar app.jar`",
        "`app.jfr`",
        "jfr",
    ),
    Recorder::new("Java on OpenJ9", "`kill -QUIT PID`", "`javacore.*.txt`", "javacore"),
    Recorder::new(
        "Julia",
        "`using PProf; @profile main(); pprof(out = \"app.pb.gz\")`",
        "`app.pb.gz`",
        "pprof",
    ),
    Recorder::new("Linux, the whole machine", "`perf record -a -g sleep 10`", "`perf.data`", "perf-data"),
    Recorder::new(
        "Linux, the whole machine, by sysprof",
        "`sysprof-cli out.syscap`, ended with Ctrl-C",
        "`out.syscap`",
        "sysprof",
    ),
    Recorder::new(
        "Linux kernel, by bpftrace",
        "`bpftrace -e 'profile:hz:99 { @[kstack] = count(); }'`",
        "what it prints",
        "bpftrace",
    ),
    Recorder::new("Lua (LuaJIT)", "`luajit -jp=G,out.folded app.lua`", "`out.folded`", "folded"),
    Recorder::new(
        "Node",
        "`node --cpu-prof --cpu-prof-name=app.cpuprofile app.js`",
        "`app.cpuprofile`",
        "cpuprofile",
    ),
    Recorder::new(
        "Node: memory",
        "`node --heap-prof --heap-prof-name=app.heapprofile app.js`",
        "`app.heapprofile`",
        "heapprofile",
    ),
    Recorder::new(
        "NVIDIA GPUs",
        "`nsys profile -o out ./app`",
        "`nsys export --type sqlite out.nsys-rep`",
        "nsight",
    ),
    Recorder::new("OCaml: memory", "`MEMTRACE=out.ctf ./app`, built with memtrace", "`out.ctf`", "memtrace"),
    Recorder::new("OCaml", "`perf record --call-graph dwarf ./app`", "`perf.data`", "perf-data"),
    Recorder::new("Perl", "`perl -d:NYTProf app.pl`", "`nytprofcalls nytprof.out > out.folded`", "folded"),
    Recorder::new(
        "PHP",
        "`php -d xdebug.mode=profile -d xdebug.output_dir=. app.php`",
        "`cachegrind.out.*`",
        "callgrind",
    ),
    Recorder::new("PHP, a running server", "`phpspy -p PID > out.txt`", "`out.txt`", "phpspy"),
    Recorder::new(
        "PHP, from within",
        "Excimer: `file_put_contents('out.folded', $log->formatCollapsed())`",
        "`out.folded`",
        "folded",
    ),
    Recorder::new(
        "PHP, by SPX",
        "`SPX_ENABLED=1 SPX_REPORT=full php app.php`",
        "`/tmp/spx/spx-full-*.txt.gz`",
        "spx",
    ),
    Recorder::new(
        "Python",
        "`py-spy record -f raw -o out.py-spy -- python3 app.py`",
        "`out.py-spy`",
        "py-spy",
    ),
    Recorder::new(
        "Python: how long imports take",
        "`python3 -X importtime app.py 2> out.txt`",
        "`out.txt`",
        "importtime",
    ),
    Recorder::new("Python, from within", "`python3 -m cProfile -o out.prof app.py`", "`out.prof`", "pstats"),
    Recorder::new("Python: memory", "`memray run -o out.bin app.py`", "`out.bin`", "memray"),
    Recorder::new(
        "Python: lines and memory",
        "`scalene run --stacks -o out.json app.py`",
        "`out.json`",
        "scalene",
    ),
    Recorder::new(
        "R",
        "`Rscript -e 'Rprof(\"Rprof.out\"); source(\"app.R\"); Rprof(NULL)'`",
        "`Rprof.out`",
        "rprof",
    ),
    Recorder::new("Ruby", "`rbspy record --raw-file out.raw.gz -- ruby app.rb`", "`out.raw.gz`", "rbspy-raw"),
    Recorder::new(
        "Ruby, from within",
        "`StackProf.run(mode: :wall, raw: true, out: 'wall.dump') { … }`",
        "`wall.dump`",
        "stackprof",
    ),
    Recorder::new(
        "Rust, spans of tracing",
        "tracing-flame: `FlameLayer::with_file(\"tracing.folded\")`",
        "`tracing.folded`",
        "tracing-flame",
    ),
    Recorder::new("Safari", "Web Inspector: Timelines, record, Export", "the JSON", "safari"),
    Recorder::new(
        "Windows, the whole machine",
        "`xperf -on PROC_THREAD+LOADER+PROFILE -stackwalk Profile`, `xperf -d trace.etl`",
        "`xperf -i trace.etl -symbols -o out.txt -a dumper -stacktimeshifting`",
        "xperf",
    ),
    Recorder::new(
        "Windows, by Very Sleepy",
        "`sleepy /r:app.exe /o:out.sleepy`",
        "`out.sleepy`",
        "very-sleepy",
    ),
    Recorder::new(
        "Windows, by VTune",
        "`vtune -collect hotspots -r result ./app`",
        "`vtune -report top-down -r result -format csv -csv-delimiter comma > out.csv`",
        "vtune",
    ),
];

/// The languages as a table of Markdown.
pub fn table() -> String {
    let mut out =
        String::from("| language | record | give to `fg-render` | format |\n| --- | --- | --- | --- |\n");
    for Recorder { language, record, file, format } in RECORDERS {
        let cell = |text: &str| text.replace('|', "\\|");
        out += &format!("| {language} | {} | {} | `{format}` |\n", cell(record), cell(file));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(feature = "inferno")]
    fn every_language_is_recorded_in_a_format_of_the_registry() {
        for recorder in RECORDERS {
            assert!(
                cfg!(not(feature = "perf-data")) || recorder.collapser().is_ok(),
                "{}",
                recorder.language
            );
        }
        let mut languages: Vec<String> = RECORDERS.iter().map(|one| one.language.to_lowercase()).collect();
        languages.sort_unstable();
        languages.dedup();
        assert_eq!(languages.len(), RECORDERS.len(), "each language stands there once");
    }
}

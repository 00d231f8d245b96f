//! The formats of other makers: one file or folder each, and one line each in the list below.

use super::Collapser;

/// Declares the module of each line, and lists the formats in it.
macro_rules! formats {
    (@list [$($declared:tt)*] [$($listed:tt)*]) => {
        $($declared)*

        /// The formats of other makers, the most particular first.
        pub(super) const FORMATS: &[&dyn Collapser] = &[$($listed)*];
    };
    (@list [$($declared:tt)*] [$($listed:tt)*]
     #[$condition:meta] $module:ident: $($($format:ident)::+),+; $($rest:tt)*) => {
        formats!(@list
            [$($declared)* #[$condition] pub mod $module;]
            [$($listed)* $(#[$condition] &$module::$($format)::+,)+]
            $($rest)*);
    };
    (@list [$($declared:tt)*] [$($listed:tt)*]
     $module:ident: $($($format:ident)::+),+; $($rest:tt)*) => {
        formats!(@list
            [$($declared)* pub mod $module;]
            [$($listed)* $(&$module::$($format)::+,)+]
            $($rest)*);
    };
    (@list $($unexpected:tt)*) => { compile_error!("a line is `module: Format, other::Format;`"); };
    ($($lines:tt)*) => { formats!(@list [] [] $($lines)*); };
}

formats! {
    #[cfg(feature = "perf-data")]
    perf_data: PerfData;
    very_sleepy: VerySleepy;
    fg_html: FgHtml;
    perf_script: PerfScript, PerfSched;
    simpleperf: Simpleperf;
    bpftrace: Bpftrace, BpftraceJson;
    bcc: Bcc, stackcount::Stackcount, memleak::Memleak, wakeup::Wakeup;
    eu_stack: EuStack;
    gdb: Gdb;
    wall_clock_profiler: WallClockProfiler;
    strace: Strace;
    systemtap: SystemTap;
    austin: Austin, mojo::Mojo;
    py_spy: PySpy;
    py_spy_dump: PySpyDump;
    pystack: Pystack;
    python_sampling: PythonSampling;
    python_sampling_binary: PythonSamplingBinary;
    importtime: ImportTime;
    pstats: Pstats;
    pyinstrument: Pyinstrument;
    pyinstrument_session: PyinstrumentSession;
    faulthandler: Faulthandler;
    pprof: Pprof, raw::PprofRaw, go_text::GoText, goroutines::Goroutines;
    otlp: Otlp;
    #[cfg(feature = "parquet")]
    parquet: Parquet;
    go_trace: GoTrace;
    perfetto: Perfetto;
    nettrace: Nettrace;
    sysprof: Sysprof;
    callgrind: Callgrind;
    cachegrind: Cachegrind;
    massif: Massif;
    dhat: Dhat;
    heaptrack: Heaptrack;
    memray: Memray;
    memtrace: Memtrace;
    gperftools: heap_text::Jemalloc, heap_text::Tcmalloc, Gperftools;
    jstack: Jstack;
    javacore: Javacore;
    hprof: Hprof;
    jfr: Jfr, JfrText, JfrJson;
    async_profiler: AsyncProfiler;
    lightweight_java_profiler: LightweightJavaProfiler;
    art: Art;
    rprof: Rprof;
    rbspy: RbspyRaw;
    stackprof: Stackprof;
    eflame: Eflame;
    tracing_flame: TracingFlame;
    xdebug: Xdebug;
    phpspy: Phpspy;
    spx: Spx;
    #[cfg(feature = "inferno")]
    inferno: DTRACE, DTRACE_SAMPLES, SAMPLE, VSPROF, GHC_PROF;
    xctrace: Xctrace;
    instruments: Instruments;
    pmcstat: Pmcstat;
    procstack: Procstack;
    vtune: Vtune;
    wpa: Wpa;
    xperf: Xperf;
    ghc_json: GhcJson;
    java_exceptions: JavaExceptions;
    fg_json: FgJson;
    speedscope: Speedscope;
    firefox: Firefox;
    gprof2dot_json: Gprof2dotJson;
    json_trees: flamebearer::Flamebearer, d3::D3FlameGraph;
    rocprof: Rocprof;
    nsight: Nsight;
    scalene: Scalene;
    sentry: Sentry;
    safari: Safari;
    v8: cpu_profile::CpuProfile, heap_profile::HeapProfile, ticks::Ticks, trace::Trace;
}

//! The one list of input formats. `--format`, `--list-formats`, detection, the documentation and
//! the fixture tests all read it.

#[cfg(feature = "inferno")]
use super::inferno;
use super::{Collapser, Verdict, folded, known_unsupported};
#[cfg(feature = "collapse")]
use super::{
    archive, art, async_profiler, austin, bcc, bpftrace, cachegrind, callgrind, dhat, eflame, eu_stack,
    faulthandler, fg_html, fg_json, firefox, gdb, ghc_json, gperftools, heap_text, heaptrack, importtime,
    instruments, java_exceptions, javacore, jfr, json_trees, jstack, lightweight_java_profiler, massif,
    memray, memtrace, mojo, nsight, otlp, perf_script, phpspy, pmcstat, pprof, procstack, pstats, py_spy,
    py_spy_dump, pyinstrument, pyinstrument_session, rbspy, rocprof, rprof, safari, scalene, sentry,
    simpleperf, speedscope, spx, stackprof, strace, systemtap, tracing_flame, v8, very_sleepy, vtune,
    wall_clock_profiler, wpa, xctrace, xdebug, xperf,
};
#[cfg(feature = "collapse")]
use super::{go_trace, nettrace, perfetto, python_sampling, python_sampling_binary, sysprof};
use crate::error::{Error, ErrorKind, Position, Result};
use crate::input::Input;

/// All formats, the most particular first: among equally sure ones the first wins.
#[cfg(feature = "collapse")]
pub static FORMATS: &[&dyn Collapser] = &[
    #[cfg(feature = "perf-data")]
    &super::perf_data::PerfData,
    &archive::Archive,
    &very_sleepy::VerySleepy,
    &fg_html::FgHtml,
    &perf_script::PerfScript,
    &perf_script::PerfSched,
    &simpleperf::Simpleperf,
    &bpftrace::Bpftrace,
    &bpftrace::BpftraceJson,
    &bcc::Bcc,
    &bcc::stackcount::Stackcount,
    &bcc::memleak::Memleak,
    &bcc::wakeup::Wakeup,
    &eu_stack::EuStack,
    &gdb::Gdb,
    &wall_clock_profiler::WallClockProfiler,
    &strace::Strace,
    &systemtap::SystemTap,
    &austin::Austin,
    &mojo::Mojo,
    &py_spy::PySpy,
    &py_spy_dump::PySpyDump,
    &python_sampling::PythonSampling,
    &python_sampling_binary::PythonSamplingBinary,
    &importtime::ImportTime,
    &pstats::Pstats,
    &pyinstrument::Pyinstrument,
    &pyinstrument_session::PyinstrumentSession,
    &faulthandler::Faulthandler,
    &pprof::Pprof,
    &otlp::Otlp,
    #[cfg(feature = "parquet")]
    &super::parquet::Parquet,
    &pprof::raw::PprofRaw,
    &pprof::go_text::GoText,
    &pprof::goroutines::Goroutines,
    &go_trace::GoTrace,
    &perfetto::Perfetto,
    &nettrace::Nettrace,
    &sysprof::Sysprof,
    &callgrind::Callgrind,
    &cachegrind::Cachegrind,
    &massif::Massif,
    &dhat::Dhat,
    &heaptrack::Heaptrack,
    &memray::Memray,
    &memtrace::Memtrace,
    &heap_text::Jemalloc,
    &heap_text::Tcmalloc,
    &gperftools::Gperftools,
    &jstack::Jstack,
    &javacore::Javacore,
    &jfr::Jfr,
    &jfr::JfrText,
    &jfr::JfrJson,
    &async_profiler::AsyncProfiler,
    &lightweight_java_profiler::LightweightJavaProfiler,
    &art::Art,
    &rprof::Rprof,
    &rbspy::RbspyRaw,
    &stackprof::Stackprof,
    &eflame::Eflame,
    &tracing_flame::TracingFlame,
    &xdebug::Xdebug,
    &phpspy::Phpspy,
    &spx::Spx,
    #[cfg(feature = "inferno")]
    &inferno::DTRACE,
    #[cfg(feature = "inferno")]
    &inferno::SAMPLE,
    &xctrace::Xctrace,
    &instruments::Instruments,
    &pmcstat::Pmcstat,
    &procstack::Procstack,
    &vtune::Vtune,
    &wpa::Wpa,
    &xperf::Xperf,
    #[cfg(feature = "inferno")]
    &inferno::VSPROF,
    #[cfg(feature = "inferno")]
    &inferno::GHC_PROF,
    &ghc_json::GhcJson,
    &java_exceptions::JavaExceptions,
    &fg_json::FgJson,
    &speedscope::Speedscope,
    &firefox::Firefox,
    &json_trees::flamebearer::Flamebearer,
    &json_trees::d3::D3FlameGraph,
    &rocprof::Rocprof,
    &nsight::Nsight,
    &scalene::Scalene,
    &sentry::Sentry,
    &safari::Safari,
    &v8::cpu_profile::CpuProfile,
    &v8::heap_profile::HeapProfile,
    &v8::ticks::Ticks,
    &v8::trace::Trace,
    &folded::Folded,
];

/// Folded text alone: the feature `collapse` adds the formats of others.
#[cfg(not(feature = "collapse"))]
pub static FORMATS: &[&dyn Collapser] = &[&folded::Folded];

/// The name of folded text.
pub const FOLDED: &str = "folded";

/// The format of this name.
///
/// # Errors
/// [`ErrorKind::UnknownFormat`].
pub fn by_name(name: &str) -> Result<&'static dyn Collapser> {
    let found = FORMATS.iter().find(|format| format.name() == name);
    found.copied().ok_or_else(|| ErrorKind::UnknownFormat { name: name.to_owned(), known: names() }.into())
}

/// The format of an input, told by its first bytes.
///
/// # Errors
/// [`ErrorKind::Unrecognised`], [`ErrorKind::KnownUnsupported`] for what is known, but not read, and
/// [`ErrorKind::Empty`] for an input without bytes.
pub fn detect(input: &Input) -> Result<&'static dyn Collapser> {
    let at = || Position::file(input.name().clone());
    if input.head().is_empty() {
        return Err(Error::new(ErrorKind::Empty { what: "empty input".into() }, at()));
    }
    // Our header says so, whatever the names below it look like: those of Python are py-spy's, too.
    if folded::Folded.detect(input.head()) == Verdict::Yes {
        return Ok(&folded::Folded);
    }
    let mut best: Option<(Verdict, &'static dyn Collapser)> = None;
    for &format in FORMATS {
        let verdict = format.detect(input.head());
        if verdict > best.map_or(Verdict::No, |(verdict, _)| verdict) {
            best = Some((verdict, format));
        }
    }
    match best {
        Some((_, format)) => Ok(format),
        None => match known_unsupported::recognise(input.head()) {
            Some(known_unsupported::Foreign { what, instead, .. }) => {
                Err(Error::new(ErrorKind::KnownUnsupported { what, instead }, at()))
            }
            None => Err(Error::new(ErrorKind::Unrecognised, at())),
        },
    }
}

fn names() -> String {
    FORMATS.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ")
}

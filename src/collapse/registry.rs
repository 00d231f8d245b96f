//! The one list of input formats. `--format`, `--list-formats`, detection, the documentation and
//! the fixture tests all read it.

use super::{
    Collapser, Verdict, austin, fg_html, fg_json, firefox, folded, perf_script, pprof, py_spy, py_spy_dump,
    speedscope, v8,
};
use crate::error::{Error, ErrorKind, Position, Result};
use crate::input::Input;

/// All formats, the most particular first: among equally sure ones the first wins.
pub static FORMATS: &[&dyn Collapser] = &[
    &fg_html::FgHtml,
    &perf_script::PerfScript,
    &austin::Austin,
    &py_spy::PySpy,
    &py_spy_dump::PySpyDump,
    &pprof::Pprof,
    &pprof::raw::PprofRaw,
    &pprof::go_text::GoText,
    &pprof::goroutines::Goroutines,
    &fg_json::FgJson,
    &speedscope::Speedscope,
    &firefox::Firefox,
    &v8::cpu_profile::CpuProfile,
    &v8::heap_profile::HeapProfile,
    &v8::ticks::Ticks,
    &v8::trace::Trace,
    &folded::Folded,
];

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
/// [`ErrorKind::Unrecognised`], and [`ErrorKind::Empty`] for an input without bytes.
pub fn detect(input: &Input) -> Result<&'static dyn Collapser> {
    let at = || Position::file(input.name().clone());
    if input.head().is_empty() {
        return Err(Error::new(ErrorKind::Empty { what: "empty input".into() }, at()));
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
        None => Err(Error::new(ErrorKind::Unrecognised, at())),
    }
}

fn names() -> String {
    FORMATS.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ")
}

//! perf.data, read by ourselves: recordings written by the [kit], small real ones with the
//! programs they are of, those of the corpus, and live ones where perf is there.

mod aarch64;
mod columns;
mod corpus;
mod damage;
mod deferred;
mod facts;
mod go;
mod golden;
#[path = "../common/installed.rs"]
mod installed;
mod kit;
mod labels;
mod live;
mod model;
mod notes;
mod off_cpu;
#[cfg(unix)]
mod owners;
#[cfg(target_os = "linux")]
#[path = "../common/process.rs"]
mod process;
#[cfg(target_os = "linux")]
mod progress;
#[cfg(target_os = "linux")]
#[path = "../common/pty.rs"]
mod pty;
#[path = "../common/recordings.rs"]
mod recordings;
mod records;
mod shapes;
mod single;
#[path = "../common/skip.rs"]
mod skip;

use std::path::Path;

use fg_tools::collapse::{CollapseOptions, Report, ValueTotal, collapse};
use fg_tools::folded::StackTable;
use fg_tools::input::Source;

use kit::Recording;

/// The folded text of a file and the report; the message if it is an error.
pub fn fold(path: &Path, options: &CollapseOptions) -> Result<(String, Report), String> {
    let mut table = StackTable::default();
    let report = collapse(&[Source::new(path)], None, options, &mut table).map_err(|e| e.to_string())?;
    let mut out = Vec::new();
    table.write(&mut out).map_err(|e| e.to_string())?;
    Ok((String::from_utf8_lossy(&out).into_owned(), report))
}

/// [`fold`] for bytes.
pub fn fold_bytes(bytes: &[u8], options: &CollapseOptions) -> Result<(String, Report), String> {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), bytes).expect("a temporary file can be written");
    fold(file.path(), options)
}

/// The totals of an event.
pub fn total(report: &Report, event: &str) -> ValueTotal {
    let found = report.values.iter().find(|(value, _)| value.name == event.as_bytes());
    *found.expect("the event came").1
}

/// A root for `--symfs`, with maps of just-in-time compiled code: functions of 256 bytes each.
pub fn root_with_maps(maps: &[(i32, &[(u64, &str)])]) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(root.path().join("tmp")).expect("it is empty");
    for (pid, functions) in maps {
        let lines: String = functions.iter().map(|(at, name)| format!("{at:x} 100 {name}\n")).collect();
        std::fs::write(root.path().join(format!("tmp/perf-{pid}.map")), lines).expect("it can be written");
    }
    root
}

/// CollapseOptions that look for files below `root` only.
pub fn below(root: &Path) -> CollapseOptions {
    CollapseOptions { symfs: Some(root.to_owned()), ..CollapseOptions::default() }
}

/// The folded text of a recording, without anything from this machine.
pub fn folded(recording: &Recording, root: &Path) -> String {
    fold_bytes(&recording.bytes(), &below(root)).expect("it collapses").0
}

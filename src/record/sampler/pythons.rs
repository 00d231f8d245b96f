//! Hands the records of processes and samples to those who read the frames of Python.

use std::path::Path;

use super::pieces::{Header, Pieces};
use super::trim::Layout;
use crate::record::backend::find;
use crate::record::python::{self, Mapped, Pythons};
use crate::record::request::Target;
use crate::record::sys::perf_event::record;

/// Takes in the records of processes in a ring.
pub(super) fn observe(pythons: &mut Pythons, ring: Pieces<'_>) {
    const EXECUTABLE: u32 = 4;
    for Header { at, kind, misc, size } in ring.headers() {
        let Some([pid, other]) = ring.pair(at + 8) else { continue };
        match kind {
            record::MMAP2 if ring.pair(at + 64).is_some_and(|[rights, _]| rights & EXECUTABLE != 0) => {
                let (Some(start), Some(offset)) = (ring.word(at + 16), ring.word(at + 32)) else { continue };
                let mut path = Vec::new();
                ring.copy(at + 72, at + size, &mut path);
                path.truncate(path.iter().position(|byte| *byte == 0).unwrap_or(path.len()));
                pythons.map(pid, Mapped { start, offset, path });
            }
            record::COMM if misc & record::MISC_COMM_EXEC != 0 => pythons.end(pid),
            record::FORK if pid != other => pythons.fork(pid, other),
            record::EXIT if ring.pair(at + 16).is_some_and(|[tid, _]| tid == pid) => pythons.end(pid),
            _ => {}
        }
    }
}

/// Returns true if Python is recorded, as far as a name tells.
pub(super) fn are_likely(target: &Target) -> bool {
    let is_python = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') == "python"
    };
    let runs_python = |pid: u32| {
        std::fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| {
            maps.lines()
                .filter_map(|line| line.split_whitespace().nth(5))
                .any(|path| python::is_named(path.as_bytes()))
        })
    };
    match target {
        Target::Command(invocation) => find::on_path(&invocation.program).is_some_and(|path| {
            let interpreter = find::interpreter(&path);
            let real = path.canonicalize().ok();
            [Some(path), interpreter, real].iter().flatten().any(|path| is_python(path))
        }),
        Target::Processes(pids) => pids.iter().any(|pid| runs_python(*pid)),
        Target::Threads(tids) => tids.iter().any(|tid| runs_python(*tid)),
        Target::Waiting(_) | Target::Machine(_) => false,
    }
}

/// Appends records that tell what the threads run of which there are samples in a ring behind the bytes that were seen,
/// once each.
pub(super) fn sample(
    pythons: &mut Pythons,
    ring: Pieces<'_>,
    seen: usize,
    layout: Option<Layout>,
    records: &mut Vec<u8>,
) {
    if pythons.is_empty() {
        return;
    }
    // The event's number and the address are in front of the thread, the time is behind it.
    let samples = ring.headers().filter(|header| header.kind == record::SAMPLE && header.at >= seen);
    let mut threads = Vec::new();
    for Header { at, size, .. } in samples {
        let (Some([pid, tid]), Some(time)) = (ring.pair(at + 24), ring.word(at + 32)) else { continue };
        if !threads.contains(&tid) {
            threads.push(tid);
            let registers = layout.map_or_else(Vec::new, |layout| layout.registers_of(ring, at, size));
            pythons.sample([pid, tid], time, &registers, records);
        }
    }
}

//! The trampolines of Python's `-X perf` and `-X perf_jit`: a few instructions for each function of Python, which
//! call the interpreter.
//!
//! ```text
//! sub $8, %rsp; call *%rcx; add $8, %rsp; ret          Python 3.12 and 3.13, x86-64
//! ```
//! They have no unwind tables that are mapped, and no frame pointer: the return address is behind eight bytes of
//! nothing. Python says where they are, as functions called `py::…`: while it runs in `/tmp/perf-PID.map`, or
//! some megabytes later in `/tmp/jit-PID.dump`. Of a process that still runs, the instructions themselves tell.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::symbolize::jit::{JitDump, PerfMap};

/// The beginning of the names of trampolines.
const PYTHON: &[u8] = b"py::";

/// The number of times that a growing file is read whenever it has grown; from then on when it is a tenth longer.
const OFTEN: u32 = 64;

/// The number of times after which a process that describes no such function is none of Python's.
const PATIENCE: u32 = 8;

/// The trampolines of a process.
#[derive(Default)]
pub(super) struct Trampolines(Mutex<Files>);

#[derive(Default)]
struct Files {
    map: Growing<PerfMap>,
    dump: Growing<JitDump>,
    /// Some were seen.
    has_some: bool,
    /// The number of times that an address was none.
    misses: u32,
}

/// A file that grows.
struct Growing<T> {
    content: Option<T>,
    len: u64,
    times: u32,
}

impl<T> Default for Growing<T> {
    fn default() -> Self {
        Growing { content: None, len: 0, times: 0 }
    }
}

impl<T> Growing<T> {
    /// Reads it again if it has grown; returns true if it did.
    fn update(&mut self, path: &str, read: fn(&Path) -> io::Result<T>) -> bool {
        let path = Path::new(path);
        let len = fs::metadata(path).map_or(0, |metadata| metadata.len());
        let least = if self.times < OFTEN { self.len + 1 } else { self.len + self.len / 10 + 1 };
        if len < least {
            return false;
        }
        self.times += 1;
        self.len = len;
        // A file of somebody else is not believed, as elsewhere.
        self.content = read(path).ok();
        true
    }
}

impl Trampolines {
    /// Returns true if a call of a process returns to a trampoline. `may_run` if it may still be that process.
    pub fn contain(&self, pid: i32, returns_to: u64, may_run: bool) -> bool {
        let address = returns_to.wrapping_sub(1);
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !files.has_some && files.misses >= PATIENCE {
            return false;
        }
        let found = may_run && is_in_memory(pid, returns_to)
            || files.find(address)
            || (files.map.update(&format!("/tmp/perf-{pid}.map"), PerfMap::read)
                | files.dump.update(&format!("/tmp/jit-{pid}.dump"), JitDump::read))
                && files.find(address);
        files.has_some |= found;
        files.misses = files.misses.saturating_add(u32::from(!found));
        found
    }
}

/// Returns true if the memory of a process has the instructions of a trampoline around an address.
#[cfg(target_os = "linux")]
fn is_in_memory(pid: i32, returns_to: u64) -> bool {
    use std::os::unix::fs::FileExt;

    let mut code = [0; CODE.len()];
    let memory = fs::File::open(format!("/proc/{pid}/mem"));
    let at = returns_to.wrapping_sub(BEFORE);
    memory.and_then(|memory| memory.read_exact_at(&mut code, at)).is_ok() && code == CODE
}

#[cfg(not(target_os = "linux"))]
fn is_in_memory(_: i32, _: u64) -> bool {
    false
}

/// The instructions, and those before the address that the call returns to.
#[cfg(target_os = "linux")]
const CODE: [u8; 11] = [0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3];
#[cfg(target_os = "linux")]
const BEFORE: u64 = 6;

impl Files {
    fn find(&self, address: u64) -> bool {
        let in_map = self.map.content.as_ref().and_then(|map| map.find(address));
        let in_dump = || Some(self.dump.content.as_ref()?.find(address, None)?.name);
        in_map.or_else(in_dump).is_some_and(|name| name.starts_with(PYTHON))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_python_are_found_when_they_are_described() {
        // No process has this number.
        let pid = i32::MAX - std::process::id() as i32;
        let path = format!("/tmp/perf-{pid}.map");
        let trampolines = Trampolines::default();
        assert!(!trampolines.contain(pid, 0x1009, false), "nothing is described");
        fs::write(&path, "1000 20 py::f:/a.py\n2000 20 JS:g\n").unwrap();
        let first = [0x1008, 0x2008, 0x3008].map(|address| trampolines.contain(pid, address, false));
        fs::write(&path, "1000 20 py::f:/a.py\n2000 20 JS:g\n3000 20 py::h:/a.py\n").unwrap();
        let then = trampolines.contain(pid, 0x3008, false);
        let other = Trampolines::default();
        let misses = (0..PATIENCE + 1).any(|_| other.contain(pid, 0x2008, false));
        fs::remove_file(&path).unwrap();
        assert_eq!((first, then, misses), ([true, false, false], true, false));
        assert!(!other.contain(pid, 0x1008, false), "it is none of Python's");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn instructions_tell_while_a_process_runs() {
        let (pid, code) = (std::process::id() as i32, Box::new(CODE));
        let returns_to = code.as_ptr() as u64 + BEFORE;
        let found = |address, may_run| Trampolines::default().contain(pid, address, may_run);
        assert!(found(returns_to, true) || fs::File::open("/proc/self/mem").is_err());
        assert!(!found(returns_to, false) && !found(returns_to + 1, true) && !found(3, true));
    }
}

//! The interpreters of Python in the processes that are recorded.
//!
//! ```text
//! sample of a thread ──► process_vm_readv ──► messages before the sample ──► collapse::perf_data::python
//! ```
//! A stack of C shows the evaluator, and not what it evaluates. When a sample comes out of the ring, the recorder
//! reads from the process at once what its thread runs, and the functions that it has not met before. The reader of the
//! samples compares it with the registers and the stack of the sample, as the process runs on meanwhile.

mod layout;
mod reader;

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use self::layout::{Frames, Layout};
use self::reader::Interpreter;
use crate::collapse::formats::perf_data::python::{self, Message};
use crate::number;
use crate::record::sys::memory::{Memory, ProcessMemory};
use crate::record::sys::perf_event::record;
use crate::symbolize::{Module, Object, Search};

/// The most processes that are remembered.
const MOST_PROCESSES: usize = 1 << 14;

/// A file that is mapped for its code, and seems by its name to have an interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// The address, and the offset in the file.
    pub start: u64,
    pub offset: u64,
    pub path: Vec<u8>,
}

/// The processes that may have an interpreter.
#[derive(Default)]
pub struct Pythons {
    processes: HashMap<u32, Process>,
    files: HashMap<Vec<u8>, Option<Arc<PythonFile>>>,
}

#[derive(Debug, Default)]
struct Process {
    mapped: Vec<Mapped>,
    /// The number of files that were looked at.
    tried: usize,
    interpreter: Option<Box<Interpreter>>,
}

/// A file with an interpreter; addresses are those that it states.
struct PythonFile {
    object: Arc<Object>,
    version: u32,
    runtime: u64,
    code_type: u64,
    evaluators: Vec<Range<u64>>,
}

impl Pythons {
    /// A process maps a file for its code.
    pub fn map(&mut self, pid: u32, mapped: Mapped) {
        const MOST_FILES: usize = 8;
        if version_of(&mapped.path).is_none() || self.processes.len() >= MOST_PROCESSES {
            return;
        }
        let process = self.processes.entry(pid).or_default();
        if process.mapped.len() < MOST_FILES && !process.mapped.contains(&mapped) {
            process.mapped.push(mapped);
        }
    }

    /// A process begins as a copy of another one.
    pub fn fork(&mut self, pid: u32, parent: u32) {
        if let Some(mapped) = self.processes.get(&parent).map(|parent| parent.mapped.clone()) {
            self.processes.insert(pid, Process { mapped, ..Process::default() });
        }
    }

    /// A process ends, or becomes another program.
    pub fn end(&mut self, pid: u32) {
        self.processes.remove(&pid);
    }

    /// Returns true if nothing is known that could have an interpreter.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Appends records that tell what a thread runs, before a sample of it at a time.
    pub fn sample(&mut self, [pid, tid]: [u32; 2], time: u64, registers: &[u64], records: &mut Vec<u8>) {
        let Some(process) = self.processes.get_mut(&pid) else { return };
        let memory = ProcessMemory(pid);
        let mut tell = |message: &Message| put(message, records);
        while process.interpreter.is_none() && process.tried < process.mapped.len() {
            let mapped = &process.mapped[process.tried];
            process.tried += 1;
            let open = || open(pid, &mapped.path).map(Arc::new);
            let file = self.files.entry(mapped.path.clone()).or_insert_with(open).clone();
            let found = file.and_then(|file| file.interpreter(pid, mapped, &memory));
            if let Some((interpreter, message)) = found {
                tell(&message);
                process.interpreter = Some(Box::new(interpreter));
            }
        }
        if let Some(interpreter) = &mut process.interpreter {
            interpreter.sample(&memory, tid, time, registers, &mut tell);
        }
    }
}

/// Appends a message as a record.
fn put(message: &Message, records: &mut Vec<u8>) {
    let body = message.to_bytes();
    let size = (8 + body.len()).next_multiple_of(8);
    // What is read is limited to less.
    let Ok(short) = u16::try_from(size) else { return };
    records.extend(record::PYTHON.to_ne_bytes());
    records.extend([0, 0]);
    records.extend(short.to_ne_bytes());
    records.extend_from_slice(&body);
    records.resize(records.len() + size - 8 - body.len(), 0);
}

/// The version of the interpreter in a file, by its name, 3 left out: `python3.11`, `libpython3.11.so.1.0`. Builds for
/// debugging, and those without a lock, have a letter behind the number, and another layout.
fn version_of(path: &[u8]) -> Option<u32> {
    const DELETED: &[u8] = b" (deleted)";
    let path = path.strip_suffix(DELETED).unwrap_or(path);
    let name = path.rsplit(|&b| b == b'/').next()?;
    let rest = name.strip_prefix(b"lib").unwrap_or(name).strip_prefix(b"python3.")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = rest.split_at(digits);
    let is_whole = rest.is_empty() || rest.starts_with(b".so");
    number::parse::<u32>(digits).filter(|_| is_whole)
}

/// Returns true if a file seems by its name to have an interpreter.
pub fn is_named(path: &[u8]) -> bool {
    version_of(path).is_some()
}

/// Opens a file as a process sees it.
fn open(pid: u32, path: &[u8]) -> Option<PythonFile> {
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let search = Search { symfs: Some(root), ..Search::default() };
    let object = search.open(&Module { path: path.to_vec(), build_id: None }).ok()?;
    let evaluators = object.functions_named(&[b"_PyEval_EvalFrameDefault", b"_PyEval_EvalFrameDefault.cold"]);
    let data = |name: &[u8]| object.data_named(name);
    let (runtime, code_type) = (data(b"_PyRuntime")?, data(b"PyCode_Type")?);
    let version = version_of(path)?;
    (!evaluators.is_empty()).then_some(PythonFile { object, version, runtime, code_type, evaluators })
}

impl PythonFile {
    /// The interpreter of a process that has mapped the file.
    fn interpreter(&self, pid: u32, mapped: &Mapped, memory: &impl Memory) -> Option<(Interpreter, Message)> {
        let bias = mapped.start.wrapping_sub(self.object.file_offset_to_svma(mapped.offset)?);
        let runtime = self.runtime.wrapping_add(bias);
        let layout = Layout::of_version(self.version).or_else(|| Layout::told(memory, runtime))?;
        let moved = |range: &Range<u64>| range.start.wrapping_add(bias)..range.end.wrapping_add(bias);
        let frames = match layout.frames {
            Frames::Objects { .. } => None,
            Frames::Stack(stack) => Some(stack.frame),
        };
        let message = Message::Interpreter(python::Interpreter {
            pid: pid.cast_signed(),
            evaluators: self.evaluators.iter().map(moved).collect(),
            frames,
        });
        let interpreter = Interpreter::new(pid, layout, runtime, self.code_type.wrapping_add(bias));
        Some((interpreter, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_are_known_by_the_names_of_their_files() {
        let version = |path: &str| version_of(path.as_bytes());
        assert_eq!(version("/usr/bin/python3.11"), Some(11));
        assert_eq!(version("/usr/lib/x86_64-linux-gnu/libpython3.8.so.1.0 (deleted)"), Some(8));
        for other in
            ["/usr/bin/python3", "/usr/bin/python3.13t", "libpython3.11d.so.1.0", "python3.", "perl", ""]
        {
            assert_eq!(version(other), None, "{other}");
        }
    }
}

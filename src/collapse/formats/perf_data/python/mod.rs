//! Frames of Python in the place of the frames in C that evaluate them.
//!
//! ```text
//! main; Py_RunMain; …; _PyEval_EvalFrameDefault; builtin_sorted; …; _PyEval_EvalFrameDefault; PyNumber_Add
//! main; Py_RunMain; …; <module> (a.py:9); run (a.py:5); builtin_sorted; …; key (a.py:2); PyNumber_Add
//! ```
//! The stack of C is the sample's own. A recorder that runs beside the process reads the interpreter's frames from its
//! memory, a moment later ([`message`]): what is believed of them has to agree with the registers and the
//! stack of the sample ([`frames`]).

mod frames;
mod lines;
mod message;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, RwLock};

pub(super) use self::frames::{Copied, Evaluation, Frame, Places, frames_of};
pub(crate) use self::message::{Code, FrameLayout, Interpreter, Memory, Message};
use crate::error::Result;
use crate::weight::Weight;

/// The frame of an evaluator of which it is not known what it evaluates.
pub(super) const NOT_KNOWN: &[u8] = b"[python]";

/// The beginning of the comment on samples with frames of Python.
pub(crate) const COMMENT: &str = "named Python by its own frames";

/// The interpreters of all processes.
#[derive(Default)]
pub(super) struct Pythons {
    processes: HashMap<i32, Arc<RwLock<Process>>>,
    /// The functions of all processes, by number.
    functions: Vec<Arc<Function>>,
    numbers: HashMap<(Vec<u8>, Vec<u8>, u32), Vec<u32>>,
    threads: HashMap<i32, Thread>,
}

/// The memory that was read for the samples of a thread.
#[derive(Default)]
struct Thread {
    /// Of samples that have not come yet.
    next: VecDeque<Arc<Memory>>,
    last: Option<Arc<Memory>>,
    /// The one before that.
    before: Option<Arc<Memory>>,
}

/// The most threads whose memory is kept.
const MOST_THREADS: usize = 4096;

/// The interpreter of a process.
#[derive(Default)]
pub(super) struct Process {
    /// The addresses of the evaluator.
    pub evaluators: Vec<Range<u64>>,
    pub layout: Option<FrameLayout>,
    by_address: HashMap<u64, Arc<Known>>,
    /// By the first instruction: 3.10 has the same ones of functions that differ in constants alone.
    by_instructions: BTreeMap<u64, Vec<Arc<Known>>>,
}

/// A function of a process.
pub(super) struct Known {
    witnesses: Vec<u64>,
    pub instructions: Range<u64>,
    pub frame_size: u64,
    /// Its frames are elsewhere than those of its callers.
    pub is_generator: bool,
    pub function: Arc<Function>,
}

/// A function, in any process.
pub(super) struct Function {
    pub number: u32,
    pub name: Vec<u8>,
    pub file: Vec<u8>,
    version: u32,
    pub first_line: u32,
    lines: Vec<u8>,
}

/// The path of a file from the folder on in which Python has found it, else its name: as py-spy has it.
pub(super) fn short_path(path: &[u8]) -> &[u8] {
    let behind = |folder: &[u8]| memchr::memmem::rfind(path, folder).map(|at| at + folder.len());
    let in_packages = behind(b"/site-packages/").or_else(|| behind(b"/dist-packages/"));
    let in_library = || {
        let at = behind(b"/python3.")?;
        let digits = path[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        path[at + digits..].starts_with(b"/").then_some(at + digits + 1)
    };
    let name = || path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    &path[in_packages.or_else(in_library).unwrap_or_else(name)..]
}

impl Function {
    /// The line of an instruction.
    pub fn line(&self, offset: u64) -> u32 {
        lines::line_at(self.version, &self.lines, self.first_line, offset).unwrap_or(self.first_line)
    }
}

impl Known {
    /// The number of words that tell of it, and not of what shares its instructions.
    fn told_by(&self, words: impl Iterator<Item = u64>) -> usize {
        words.filter(|word| self.witnesses.contains(word)).count()
    }

    /// The offset of an instruction.
    pub fn offset_of(&self, instruction: u64) -> u64 {
        instruction.wrapping_sub(self.instructions.start)
    }

    /// The number of words that tell of it.
    pub fn evidence(&self, words: impl Iterator<Item = u64> + Clone) -> usize {
        self.told_by(words.clone()) + words.filter(|word| self.instructions.contains(word)).count()
    }
}

impl Process {
    /// The function that an instruction is of, if the words of its call tell it among those that share it.
    pub fn function_at(&self, address: u64, words: impl Iterator<Item = u64> + Clone) -> Option<&Known> {
        let (_, all) = self.by_instructions.range(..=address).next_back()?;
        let mut all = all.iter().filter(|known| known.instructions.contains(&address));
        let (first, second) = (all.next()?, all.next());
        let Some(second) = second else { return Some(first) };
        let rated = [first, second].into_iter().chain(all).map(|known| (known.told_by(words.clone()), known));
        let (mut best, mut is_unique) = ((0, None), false);
        for (told, known) in rated {
            if told > best.0 {
                (best, is_unique) = ((told, Some(known)), true);
            } else if told == best.0 {
                is_unique = false;
            }
        }
        best.1.filter(|_| is_unique).map(|known| &**known)
    }

    pub fn function(&self, code: u64) -> Option<&Known> {
        self.by_address.get(&code).map(|known| &**known)
    }

    /// Returns true for an address in the evaluator.
    pub fn is_evaluator(&self, address: u64) -> bool {
        self.evaluators.iter().any(|range| range.contains(&address))
    }
}

/// The interpreter that a sample was taken in, and its memory at that time.
#[derive(Clone)]
pub(super) struct Sampled {
    pub process: Arc<RwLock<Process>>,
    /// The memory that was read for the sample, and that of the sample before.
    pub memory: Option<Arc<Memory>>,
    pub before: Option<Arc<Memory>>,
}

/// The samples with frames of the evaluator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub all: Weight,
    /// All of these frames were named.
    pub named: Weight,
    pub samples: u64,
    pub samples_named: u64,
}

impl Counts {
    /// The comment on these samples, if there are any.
    pub fn comment(&self) -> Option<String> {
        let Counts { samples, samples_named, .. } = *self;
        (samples > 0).then(|| format!("{COMMENT}; {samples_named} of {samples} samples"))
    }

    /// Adds a sample.
    ///
    /// # Errors
    /// Weights that are too large.
    pub fn count(&mut self, is_named: bool, weight: Weight) -> Result<()> {
        let named = if is_named { weight } else { Weight::ZERO };
        self.add(Counts { all: weight, named, samples: 1, samples_named: is_named.into() })
    }

    /// Adds other samples.
    ///
    /// # Errors
    /// Weights that are too large.
    pub fn add(&mut self, other: Counts) -> Result<()> {
        self.all = self.all.checked_add(other.all)?;
        self.named = self.named.checked_add(other.named)?;
        self.samples += other.samples;
        self.samples_named += other.samples_named;
        Ok(())
    }
}

impl Pythons {
    /// The function of a number.
    pub fn function(&self, number: u32) -> Option<&Function> {
        self.functions.get(number as usize).map(|function| &**function)
    }

    /// Takes in what a recorder tells.
    pub fn tell(&mut self, message: Message) {
        match message {
            Message::Interpreter(Interpreter { pid, evaluators, frames }) => {
                let process = Process { evaluators, layout: frames, ..Process::default() };
                self.processes.insert(pid, Arc::new(RwLock::new(process)));
            }
            Message::Code(code) => self.add_code(code),
            Message::Memory(memory) => {
                if self.threads.len() > MOST_THREADS {
                    self.threads.clear();
                }
                self.threads.entry(memory.tid).or_default().next.push_back(memory.into());
            }
        }
    }

    fn add_code(&mut self, code: Code) {
        let Some(process) = self.processes.get(&code.pid).cloned() else { return };
        let Code {
            address,
            witnesses,
            is_generator,
            instructions,
            version,
            first_line,
            frame_size,
            name,
            file,
            lines,
            ..
        } = code;
        let alike = self.numbers.entry((name.clone(), file.clone(), first_line)).or_default();
        let known = alike.iter().map(|number| &self.functions[*number as usize]);
        let known = known.into_iter().find(|function| function.lines == lines && function.version == version);
        let function = known.cloned().unwrap_or_else(|| {
            let number = self.functions.len() as u32;
            alike.push(number);
            let function = Arc::new(Function { number, name, file, version, first_line, lines });
            self.functions.push(function.clone());
            function
        });
        let known = Arc::new(Known {
            witnesses,
            instructions,
            frame_size: frame_size.into(),
            is_generator,
            function,
        });
        let Ok(mut process) = process.write() else { return };
        // What was in its place is no longer there.
        if let Some(before) = process.by_address.insert(address, known.clone()) {
            let start = before.instructions.start;
            if let Some(alike) = process.by_instructions.get_mut(&start) {
                alike.retain(|known| !Arc::ptr_eq(known, &before));
                if alike.is_empty() {
                    process.by_instructions.remove(&start);
                }
            }
        }
        process.by_instructions.entry(known.instructions.start).or_default().push(known);
    }

    /// The interpreter and its memory for a sample of a thread; `None` if the process has no interpreter.
    pub fn sampled(&mut self, pid: i32, tid: i32, time: Option<u64>) -> Option<Sampled> {
        let process = self.processes.get(&pid)?.clone();
        let (memory, before) = self.threads.get_mut(&tid).map_or((None, None), |thread| {
            while thread.next.front().is_some_and(|next| time.is_some_and(|time| next.time <= time)) {
                thread.before = std::mem::replace(&mut thread.last, thread.next.pop_front());
            }
            (thread.last.clone(), thread.before.clone())
        });
        Some(Sampled { process, memory, before })
    }

    /// A process ends.
    pub fn end(&mut self, pid: i32, tid: i32) {
        self.threads.remove(&tid);
        if pid == tid {
            self.processes.remove(&pid);
        }
    }
}

//! Names for the places of a recording, each looked up once, by as many threads as there are.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::alloc;
use super::frame_names::{FrameNames, NamedFrame, SymbolState};
use super::located::locate;
use super::modules::{Kind, Module, Modules};
use super::off_cpu;
use super::process::Processes;
use super::python::{self, Pythons};
use super::raw_frame::RawFrame;
use crate::collapse::Sink;
use crate::collapse::kit::naming::{SymbolFrame, name_thread};
use crate::collapse::{CollapseOptions, Progress};
use crate::folded::{FrameId, Kind as CodeKind, NOT_SAMPLED, Place, StackTable, sanitize_frame};
use crate::symbolize::jit::{JitDump, PerfMap};
use crate::symbolize::kernel::{Kernel, KernelSymbolizer, Recorded};
use crate::symbolize::{
    Missing, NotBelieved, Object, Owners, ResolvedFrame, Search, Symbolizer, SymbolizerOptions,
};
use crate::threads::Task;

/// The frame at the root of a stack whose rootward part is missing.
const TRUNCATED: &[u8] = b"[truncated]";
/// The frame of a thread off the processor whose stack the kernel had no room for.
const LOST: &[u8] = b"[lost]";
/// Functions that nothing calls, and those of the C library that lack frame pointers above them.
const STARTS: &[&[u8]] = &[
    b"_start",
    b"__clone",
    b"__clone3",
    b"__libc_start_call_main",
    b"__libc_start_main",
    b"_dl_start",
    b"clone",
    b"clone3",
    b"runtime.goexit",
    b"runtime.goexit.abi0",
    b"runtime.mstart",
    b"runtime.mstart.abi0",
    b"runtime.rt0_go",
    b"runtime.rt0_go.abi0",
    b"start_thread",
];
/// All of a kernel whose symbols are hidden from us.
const HIDDEN: &[u8] = b"[kernel]";

/// Everything that names are made of.
pub(super) struct Namer<'a> {
    pub options: &'a CollapseOptions,
    /// True if the sink wants places.
    pub places: bool,
    pub search: &'a Search,
    pub processes: &'a Processes,
    pub modules: &'a Modules,
    /// The recording's description of the kernel.
    pub recorded: &'a Recorded,
    /// The interpreters of Python.
    pub pythons: &'a Pythons,
    /// The names of events.
    pub events: Vec<&'a [u8]>,
    /// The kernel, opened when the first of its frames is named.
    pub kernel: &'a OnceLock<Result<Kernel, Missing>>,
    /// Modules that have no symbol at all.
    pub without_symbols: Mutex<Vec<u32>>,
    /// Files of processes that are there, and the reasons why they are not read.
    pub not_believed: Mutex<Vec<(PathBuf, NotBelieved)>>,
}

/// The source of the symbols of one module.
enum Source<'o> {
    Object(&'o Object, Symbolizer<'o>),
    Kernel(KernelSymbolizer<'o>),
    Jit {
        dump: Option<JitDump>,
        map: Option<PerfMap>,
        path: Vec<u8>,
    },
    /// The kernel whose symbols are hidden: one frame for all of it.
    Hidden,
    Nothing,
}

/// The number of places a thread takes at once.
const TASK: usize = 256;

impl<'a> Namer<'a> {
    /// Names all frames of a table, putting the names into another one.
    pub fn name_all(&self, raw: &StackTable, threads: usize, sink: &mut dyn Sink) -> FrameNames {
        let mut places: Vec<(u32, u64, bool, u32)> = Vec::new();
        let mut others = Vec::new();
        for number in 0..raw.frame_count() as u32 {
            match RawFrame::of(raw, FrameId(number)) {
                RawFrame::Code { module, place, called } => places.push((module, place, called, number)),
                other => others.push((other, number)),
            }
        }
        // Neighbours share what has to be read for them.
        places.sort_unstable();
        let sources: Vec<OnceLock<Source<'_>>> = self.modules.all().iter().map(|_| OnceLock::new()).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut worker = Worker::new(self);
            loop {
                let start = next.fetch_add(TASK, Ordering::Relaxed);
                if let Some(listener) = &self.options.progress {
                    listener.tell(Progress::Symbols(start.min(places.len()) as u64, places.len() as u64));
                }
                let Some(task) =
                    places.get(start..places.len().min(start + TASK)).filter(|task| !task.is_empty())
                else {
                    return worker;
                };
                for &(module, place, called, number) in task {
                    let source = sources[module as usize].get_or_init(|| self.source(module));
                    worker.name(&self.modules.all()[module as usize], source, place, called, number);
                }
            }
        };
        let threads = threads.min(places.len() / TASK + 1);
        let mut workers = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| Task::start(scope, work)).collect();
            let mut workers = vec![work()];
            workers.extend(others.into_iter().map(Task::join));
            workers
        });
        for (frame, number) in others {
            workers[0].name_other(frame, number);
        }
        let mut names =
            FrameNames { named: vec![NamedFrame::default(); raw.frame_count()], frames: Vec::new() };
        for (thread, worker) in workers.iter().enumerate() {
            let table = &worker.names;
            let mut ids: HashMap<FrameId, FrameId> = HashMap::new();
            let mut frame = |local: &FrameId| {
                *ids.entry(*local).or_insert_with(|| match self.places {
                    true => sink.frame_at(table.name(*local), &table.place(*local)),
                    false => sink.frame(table.name(*local)),
                })
            };
            names.frames.push(worker.frames.iter().map(&mut frame).collect());
            for &(number, named) in &worker.named {
                names.named[number as usize] = NamedFrame { thread, ..named };
            }
        }
        if self.places && sink.exchange().is_some() {
            let tables: Vec<&StackTable> = workers.iter().map(|worker| &worker.names).collect();
            let locals: Vec<&[FrameId]> = workers.iter().map(|worker| &worker.frames[..]).collect();
            locate(&places, self.modules, (&tables, &locals), &mut names, sink);
        }
        names
    }

    fn symbolizer_options(&self) -> SymbolizerOptions {
        // Names are made readable where those of perf's text are.
        let srcline = self.options.srcline || self.places;
        SymbolizerOptions { inline: !self.options.no_inline, srcline, demangle: false }
    }

    fn source(&self, module: u32) -> Source<'_> {
        let module = &self.modules.all()[module as usize];
        match module.kind {
            Kind::Unknown => Source::Nothing,
            Kind::Kernel => {
                let kernel = self.kernel.get_or_init(|| Kernel::open(self.search, self.recorded));
                match kernel {
                    Ok(kernel) => Source::Kernel(kernel.symbolizer(self.symbolizer_options())),
                    Err(Missing::Hidden { .. }) => Source::Hidden,
                    Err(_) => Source::Nothing,
                }
            }
            Kind::File => match module.object(self.search) {
                Ok(object) => {
                    let symbolizer = Symbolizer::new(object, self.symbolizer_options());
                    if !symbolizer.has_symbols() {
                        self.without_symbols.lock().unwrap_or_else(PoisonError::into_inner).push(module.id);
                    }
                    Source::Object(object, symbolizer)
                }
                Err(_) => Source::Nothing,
            },
            Kind::Anonymous(pid) => {
                let dump = self.modules.jit_dumps.get(&pid).and_then(|path| {
                    let path = std::str::from_utf8(path).ok()?;
                    self.written_by(pid, Path::new(path), JitDump::read_of)
                });
                let path = format!("/tmp/perf-{pid}.map");
                let map = self.written_by(pid, Path::new(&path), PerfMap::read_of);
                Source::Jit { dump, map, path: path.into_bytes() }
            }
        }
    }

    /// Reads a file that a process of the recorded system has written.
    pub(super) fn written_by<T>(
        &self,
        pid: i32,
        path: &Path,
        read: impl Fn(&Path, &Owners) -> std::io::Result<T>,
    ) -> Option<T> {
        let mut owners = Owners::default();
        if let Some(&Some(user)) = self.modules.users.get(&pid) {
            owners = owners.and_user(user);
        }
        let in_symfs = self.search.symfs.as_ref().map(|root| owners.clone().and_of_file(root));
        let owners = in_symfs.into_iter().chain([owners]);
        self.places_of(path).zip(owners).find_map(|(path, owners)| match read(&path, &owners) {
            Ok(found) => Some(found),
            Err(e) => {
                if let Some(reason) = NotBelieved::in_error(&e) {
                    let mut all = self.not_believed.lock().unwrap_or_else(PoisonError::into_inner);
                    all.push((path, reason));
                }
                None
            }
        })
    }

    /// The paths at which a file of the recorded system may be.
    fn places_of(&self, path: &Path) -> impl Iterator<Item = PathBuf> {
        // A link in place of the file itself is not followed: whoever opens it has to see it.
        let (folder, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
        let below = self.search.symfs.is_some().then(|| self.search.in_symfs(folder).join(name));
        below.into_iter().chain([path.to_owned()])
    }
}

/// One thread's part of the work.
struct Worker<'n> {
    namer: &'n Namer<'n>,
    /// The names, as frames of a table without stacks.
    names: StackTable,
    named: Vec<(u32, NamedFrame)>,
    frames: Vec<FrameId>,
    resolved: Vec<ResolvedFrame>,
    /// The frames of symbols that were met before: a function has many addresses.
    cleaned: HashMap<Vec<u8>, (Vec<FrameId>, bool)>,
    key: Vec<u8>,
}

impl<'n> Worker<'n> {
    fn new(namer: &'n Namer<'n>) -> Self {
        Worker {
            namer,
            names: StackTable::default(),
            named: Vec::new(),
            frames: Vec::new(),
            resolved: Vec::new(),
            cleaned: HashMap::new(),
            key: Vec::new(),
        }
    }

    fn name(&mut self, module: &Module, source: &Source<'_>, place: u64, called: bool, number: u32) {
        let start = self.frames.len();
        let mut named = NamedFrame { start, ..NamedFrame::default() };
        let mut label = module.path.strip_suffix(b" (deleted)").unwrap_or(&module.path);
        let mut resolved = std::mem::take(&mut self.resolved);
        resolved.clear();
        let mut function_start = None;
        let made = match module.kind {
            // Before kallsyms, where another's code may stand by now.
            Kind::Kernel => self.namer.modules.made_by_kernel(place.wrapping_sub(called.into())),
            _ => None,
        };
        match source {
            _ if made.is_some() => {
                resolved.extend(made.map(|name| ResolvedFrame {
                    name: name.into(),
                    place: None,
                    inlined: false,
                }));
            }
            Source::Object(object, symbolizer) => {
                // The call belongs to the function, what follows it may not.
                let inside = place.wrapping_sub(called.into());
                named.svma = object.file_offset_to_svma(inside);
                if let Some(svma) = named.svma {
                    let svma = svma.wrapping_add(called.into());
                    symbolizer.resolve(svma, called, &mut resolved);
                    if resolved.is_empty() {
                        function_start = symbolizer.function_start(svma, called);
                    }
                }
            }
            Source::Kernel(kernel) => kernel.resolve(place, called, &mut resolved),
            Source::Jit { dump, map, path } => {
                let inside = place.wrapping_sub(called.into());
                let dumped = dump.as_ref().and_then(|dump| dump.find(inside, None));
                let mapped = || map.as_ref().and_then(|map| map.find(inside));
                let found = match dumped {
                    Some(symbol) => Some((symbol.name, symbol.place)),
                    None => mapped().map(|name| (name, None)),
                };
                if let Some((name, place)) = found {
                    label = path;
                    resolved.push(ResolvedFrame { name: name.into(), place, inlined: false });
                }
            }
            Source::Hidden => {
                let place = Place { module: &module.path, kind: CodeKind::Kernel, ..Place::default() };
                let names = &mut self.names;
                let hidden =
                    if self.namer.places { names.frame_at(HIDDEN, &place) } else { names.frame(HIDDEN) };
                self.frames.push(hidden);
                named.known = SymbolState::Hidden;
            }
            Source::Nothing => {}
        }
        if resolved.is_empty() && named.known != SymbolState::Hidden {
            named.known = match function_start {
                Some(_) => SymbolState::Start(module.id),
                None => SymbolState::Module(module.id),
            };
            let address = format!("{place:x}");
            let frame = SymbolFrame {
                address: address.as_bytes(),
                module: label,
                function_start,
                ..SymbolFrame::default()
            };
            let (names, frames) = (&mut self.names, &mut self.frames);
            named.last = frame.for_each_name(self.namer.options, |name, place| {
                frames.push(if self.namer.places { names.frame_at(name, place) } else { names.frame(name) });
            });
        }
        named.is_start = resolved.last().is_some_and(|frame| STARTS.contains(&&*frame.name));
        for frame in &resolved {
            named.last |= self.push(frame, label);
            if named.last {
                break;
            }
        }
        self.resolved = resolved;
        named.len = self.frames.len() - start;
        self.named.push((number, named));
    }

    /// Appends the frames of a symbol, and says whether nothing rootward of them is wanted.
    fn push(&mut self, frame: &ResolvedFrame, module: &[u8]) -> bool {
        let symbol = without_control_characters(&frame.name);
        let srcline = match &frame.place {
            Some(place) if self.namer.options.srcline => place.short(),
            _ => Vec::new(),
        };
        self.key.clear();
        for part in [&symbol, b"\0".as_slice(), module, b"\0", &srcline, &[frame.inlined.into()]] {
            self.key.extend_from_slice(part);
        }
        let place = frame.place.as_ref().filter(|_| self.namer.places);
        let (file, line) = place.map_or((&b""[..], 0), |place| (&*place.file, place.line));
        let start_line = place.map_or(0, |place| place.start_line);
        if place.is_some() {
            self.key.extend_from_slice(file);
            self.key.extend_from_slice(&line.to_le_bytes());
        }
        let known = match self.cleaned.get(&self.key) {
            Some(known) => known,
            None => {
                let native = SymbolFrame {
                    symbol: &symbol,
                    module,
                    srcline: &srcline,
                    file,
                    line,
                    start_line,
                    inlined: frame.inlined,
                    ..SymbolFrame::default()
                };
                let mut frames = Vec::new();
                let names = &mut self.names;
                let last = native.for_each_name(self.namer.options, |name, place| {
                    frames.push(if self.namer.places {
                        names.frame_at(name, place)
                    } else {
                        names.frame(name)
                    });
                });
                self.cleaned.entry(self.key.clone()).or_insert((frames, last))
            }
        };
        self.frames.extend_from_slice(&known.0);
        known.1
    }

    /// Names a function of Python: `name (file:line)`, as Python's profilers do.
    fn name_script(&mut self, function: u32, line: u32, number: u32) {
        let start = self.frames.len();
        let frame = match self.namer.pythons.function(function) {
            Some(function) => {
                let (name, file) =
                    (without_control_characters(&function.name), without_control_characters(&function.file));
                let mut shown = Vec::new();
                sanitize_frame(&name, &mut shown);
                shown.extend_from_slice(b" (");
                sanitize_frame(python::short_path(&file), &mut shown);
                shown.extend_from_slice(format!(":{line})").as_bytes());
                let place = Place { file: &file, line, start_line: function.first_line, ..Place::default() };
                match self.namer.places {
                    true => self.names.frame_at(&shown, &place),
                    false => self.names.frame(&shown),
                }
            }
            None => self.names.frame(python::NOT_KNOWN),
        };
        self.frames.push(frame);
        self.named.push((number, NamedFrame { start, len: 1, ..NamedFrame::default() }));
    }

    /// Names what is no code.
    fn name_other(&mut self, raw: RawFrame, number: u32) {
        let mut name = Vec::new();
        match raw {
            RawFrame::Thread { comm, pid, tid } => {
                let names = self.namer.processes.names();
                let comm = names.get(comm.0 as usize).map_or(&b""[..], Vec::as_slice);
                let comm = &without_control_characters(comm);
                let (pid, tid) = (pid.to_string(), tid.to_string());
                name_thread(comm, pid.as_bytes(), tid.as_bytes(), self.namer.options, &mut name);
            }
            RawFrame::Event(event) => {
                let of_event = || self.namer.events.get(event as usize).copied().unwrap_or_default();
                let made = off_cpu::name_of(event).or_else(|| alloc::name_of(event));
                let event = made.map_or_else(of_event, str::as_bytes);
                sanitize_frame(event, &mut name);
            }
            RawFrame::Script { function, line } => return self.name_script(function, line, number),
            RawFrame::Truncated => name.extend_from_slice(TRUNCATED),
            RawFrame::Lost => name.extend_from_slice(LOST),
            RawFrame::NotSampled => name.extend_from_slice(NOT_SAMPLED),
            RawFrame::Code { .. } => {}
        }
        let start = self.frames.len();
        self.frames.push(self.names.frame(&name));
        self.named.push((number, NamedFrame { start, len: 1, ..NamedFrame::default() }));
    }
}

/// A name that programs have chosen, with `?` for what a terminal would obey.
fn without_control_characters(name: &[u8]) -> Cow<'_, [u8]> {
    // In UTF-8, the second half of them is two bytes long.
    let second_half = |at: usize| matches!(name.get(at..at + 2), Some([0xc2, 0x80..=0x9f]));
    let is_control =
        |at: usize| name[at].is_ascii_control() || second_half(at) || (at > 0 && second_half(at - 1));
    if !(0..name.len()).any(is_control) {
        return Cow::Borrowed(name);
    }
    (0..name.len()).map(|at| if is_control(at) { b'?' } else { name[at] }).collect::<Vec<u8>>().into()
}

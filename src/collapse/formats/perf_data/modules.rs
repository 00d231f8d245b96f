//! The modules that code came from: files, the kernel, and memory filled by a just-in-time compiler.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::cfi::Table;
use super::compiled::CompiledMethods;
use super::held::Held;
use super::record::{FileId, KernelFunction, Mmap};
use super::rule::Rule;
use super::runtime::Runtime;
use super::trampoline::Trampolines;
use crate::symbolize::kernel::{Recorded, RecordedModule};
use crate::symbolize::{self, Language, Missing, Object, Owners, Search};

/// Stands for no module: an address that nothing was mapped at.
pub(super) const UNKNOWN: u32 = 0;
/// Stands for the module of stacks whose callers are on a stack, or in a part of it, that the kernel did not copy.
pub(super) const ELSEWHERE: u32 = u32::MAX;
/// The number of the kernel.
pub(super) const KERNEL: u32 = 1;

/// The kinds of modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// No module.
    Unknown,
    /// The kernel or a module of it; places are addresses.
    Kernel,
    /// A file, or the `[vdso]`; places are offsets in it.
    File,
    /// Memory that is no file's, of this process; places are addresses.
    Anonymous(i32),
}

/// A module that code came from.
pub(super) struct Module {
    pub id: u32,
    pub kind: Kind,
    /// The path, as perf's text names it.
    pub path: Vec<u8>,
    pub build_id: Option<Vec<u8>>,
    /// A process that had it.
    pid: i32,
    object: OnceLock<Result<Arc<Object>, Missing>>,
    /// For unwinding, made when it is needed.
    table: OnceLock<Option<Table>>,
    /// The functions that run on another stack than their callers, by address.
    switching: OnceLock<Vec<Range<u64>>>,
    /// The functions with which programs begin, if a place without tables was met in it.
    beginnings: OnceLock<Vec<Range<u64>>>,
    /// The function `main`, if a stack was lost behind a frame of it.
    main: OnceLock<Vec<Range<u64>>>,
    trampolines: Trampolines,
    compiled: CompiledMethods,
}

impl Module {
    fn new(id: u32, kind: Kind, path: Vec<u8>, build_id: Option<Vec<u8>>, pid: i32) -> Module {
        Module {
            id,
            kind,
            path,
            build_id,
            pid,
            object: OnceLock::new(),
            table: OnceLock::new(),
            switching: OnceLock::new(),
            beginnings: OnceLock::new(),
            main: OnceLock::new(),
            trampolines: Trampolines::default(),
            compiled: CompiledMethods::default(),
        }
    }

    /// The build id that the recording states.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.build_id.as_deref()
    }

    /// Takes a file that was opened while a process had it.
    fn set_object(&self, object: Arc<Object>) {
        // Whoever was earlier has the same.
        let _ = self.object.set(Ok(object));
    }

    /// The file, opened when it is asked for the first time.
    pub fn object(&self, search: &Search) -> Result<&Arc<Object>, &Missing> {
        let opened = self.object.get_or_init(|| {
            if self.kind != Kind::File {
                return Err(Missing::NoFile);
            }
            let module = symbolize::Module { path: self.path.clone(), build_id: self.build_id.clone() };
            search.open(&module).or_else(|missing| self.in_its_process(&module, search).ok_or(missing))
        });
        opened.as_ref()
    }

    /// The file as the process sees it that had it, in a container perhaps, while that process is
    /// there: by its build id, since the number may be another's by now.
    fn in_its_process(&self, module: &symbolize::Module, search: &Search) -> Option<Arc<Object>> {
        if module.build_id.is_none() || search.symfs.is_some() {
            return None;
        }
        let root = format!("/proc/{}/root", self.pid);
        Search { symfs: Some(root.into()), ..search.clone() }.open(module).ok()
    }

    /// The file, or the reason it is missing, if it was asked for.
    pub fn opened(&self) -> Option<Result<&Arc<Object>, &Missing>> {
        self.object.get().map(Result::as_ref)
    }

    /// Its unwind tables, if there is a file.
    pub fn table(&self, search: &Search) -> Option<&Table> {
        self.table.get_or_init(|| self.object(search).ok().map(|object| Table::new(object))).as_ref()
    }

    /// Returns true if a call of its process returns to one of Python's trampolines; `may_run` if it may still be
    /// the process that was recorded.
    pub fn is_trampoline(&self, returns_to: u64, may_run: bool) -> bool {
        match self.kind {
            Kind::Anonymous(pid) => self.trampolines.contain(pid, returns_to, may_run),
            _ => false,
        }
    }

    /// The rule of the method of Java's that an address is in, in the memory of its process, which runs.
    pub fn compiled_method(&self, address: u64, called: bool) -> Option<Rule> {
        match self.kind {
            Kind::Anonymous(pid) => self.compiled.rule(pid, address, called),
            _ => None,
        }
    }

    /// Returns true if it was opened, and is a program of Go's.
    pub fn is_go(&self) -> bool {
        matches!(self.opened(), Some(Ok(object)) if object.language() == Some(Language::Go))
    }

    /// Returns true if a call from a stated address is made on another stack than the function was
    /// called on: what stands above it belongs to somebody else.
    pub fn switches_stack(&self, svma: u64, search: &Search) -> bool {
        let ranges = self.switching.get_or_init(|| match self.object(search) {
            Ok(object) if object.language() == Some(Language::Go) => object.functions_named(SWITCHING),
            _ => Vec::new(),
        });
        ranges.iter().any(|range| range.contains(&svma))
    }

    /// Returns true if a stated address is in `main`: what has called it is the program's beginning, whatever is
    /// known of that.
    pub fn is_main(&self, svma: u64, search: &Search) -> bool {
        let main = self.main.get_or_init(|| match self.object(search) {
            Ok(object) => object.functions_named(MAIN),
            _ => Vec::new(),
        });
        main.iter().any(|range| range.contains(&svma))
    }

    /// Returns true if a stated address is in a function with which programs begin.
    pub fn begins_program(&self, svma: u64, search: &Search) -> bool {
        /// The code of `_start`, which assemblers give no size, or of the entry point.
        const SIZE: u64 = 64;
        let ranges = self.beginnings.get_or_init(|| match self.object(search) {
            Ok(object) => {
                // The loader's symbols may be in another file, or nowhere.
                let entry = object.entry().map(|address| address..address);
                object.functions_named(BEGINNINGS).into_iter().chain(entry).collect()
            }
            _ => Vec::new(),
        });
        ranges.iter().any(|range| {
            let end = if range.is_empty() { range.start.saturating_add(SIZE) } else { range.end };
            (range.start..end).contains(&svma)
        })
    }
}

/// The function that is called by the beginning of its program.
const MAIN: &[&[u8]] = &[b"main"];

/// The functions with which programs begin, which nothing has called: the loader's `_start` has no unwind tables, and
/// musl has none for the others either.
const BEGINNINGS: &[&[u8]] = &[b"_start", b"_start_c", b"libc_start_main_stage2"];

/// The functions by which Go goes on to the stack of the system's thread: `runtime.topofstack` has
/// them, too. Their unwind tables describe the stack that they were called on.
const SWITCHING: &[&[u8]] = &[
    b"runtime.asmcgocall",
    b"runtime.asmcgocall.abi0",
    b"runtime.mcall",
    b"runtime.mcall.abi0",
    b"runtime.morestack",
    b"runtime.morestack.abi0",
    b"runtime.systemstack",
    b"runtime.systemstack.abi0",
];

/// All modules.
pub(super) struct Modules {
    all: Vec<Arc<Module>>,
    by_name: HashMap<Key, u32>,
    /// The recording's description of the kernel.
    pub recorded: Recorded,
    /// Code that the kernel has made for itself, by its first address: one past the last, name.
    kernel_functions: BTreeMap<u64, (u64, Vec<u8>)>,
    /// The files in which processes have described the code they made, by process.
    pub jit_dumps: HashMap<i32, Vec<u8>>,
    /// The users of processes with code that is no file's, of a recording that was made just now.
    /// Later, the number may be another's process.
    pub users: HashMap<i32, Option<u32>>,
    /// The compilers at run time that processes have, by process.
    pub runtimes: HashMap<i32, &'static Runtime>,
    /// The files that are kept open, of a recording that is made just now.
    pub held: Option<Held>,
}

/// The parts that tell modules apart.
type Key = (Kind, Vec<u8>, Option<Vec<u8>>, Option<FileId>);

impl Default for Modules {
    fn default() -> Self {
        let unknown = Module::new(UNKNOWN, Kind::Unknown, b"[unknown]".to_vec(), None, 0);
        let kernel = Module::new(KERNEL, Kind::Kernel, b"[kernel.kallsyms]".to_vec(), None, 0);
        Modules {
            all: vec![unknown.into(), kernel.into()],
            by_name: HashMap::new(),
            recorded: Recorded::default(),
            kernel_functions: BTreeMap::new(),
            jit_dumps: HashMap::new(),
            users: HashMap::new(),
            runtimes: HashMap::new(),
            held: None,
        }
    }
}

impl Modules {
    /// The modules, by number.
    pub fn all(&self) -> &[Arc<Module>] {
        &self.all
    }

    /// The kernel, or one of its modules.
    pub fn kernel(&mut self, mmap: &Mmap<'_>, end: u64) -> Arc<Module> {
        let build_id = mmap.build_id.map(<[u8]>::to_vec);
        // `[kernel.kallsyms]_text`: the symbol whose address is given as the offset.
        let image = [b"[kernel.kallsyms]".as_slice(), b"[kernel.vmlinux]"];
        if let Some(symbol) = image.iter().find_map(|image| mmap.path.strip_prefix(*image)) {
            if !symbol.is_empty() {
                self.recorded.reference = Some((symbol.to_vec(), mmap.offset));
            }
            self.recorded.build_id = build_id.or(self.recorded.build_id.take());
            return self.all[KERNEL as usize].clone();
        }
        let (name, start) = (mmap.path.to_vec(), mmap.start);
        self.recorded.modules.push(RecordedModule { name, start, end, build_id });
        self.get((Kind::Kernel, mmap.path.to_vec(), None, None), 0)
    }

    /// The kernel has made a function.
    pub fn kernel_function(&mut self, function: &KernelFunction<'_>) {
        let end = function.start.saturating_add(function.len.into());
        self.kernel_functions.insert(function.start, (end, function.name.to_vec()));
    }

    /// The name of what the kernel has made at an address.
    pub fn made_by_kernel(&self, address: u64) -> Option<&[u8]> {
        let (_, (end, name)) = self.kernel_functions.range(..=address).next_back()?;
        (address < *end).then_some(name)
    }

    /// The module that a process has mapped, and whether places in it are addresses.
    pub fn user(&mut self, mmap: &Mmap<'_>) -> (Arc<Module>, bool) {
        let path = mmap.path;
        if is_anonymous(path) {
            // Executable, it is the code of a compiler that may say in this file what it made. Not
            // executable, it may still become so.
            let map = || format!("/tmp/perf-{}.map", mmap.pid).into_bytes();
            let name = if mmap.executable { map() } else { path.to_vec() };
            return (self.get((Kind::Anonymous(mmap.pid), name, None, None), mmap.pid), true);
        }
        if let Some(runtime) = Runtime::of_file(path) {
            self.runtimes.insert(mmap.pid, runtime);
        }
        if is_jit_dump(path) {
            self.jit_dumps.insert(mmap.pid, path.to_vec());
        }
        // Files without a build id may have had the same name one after the other.
        let file = mmap.file.filter(|_| mmap.build_id.is_none());
        (self.get((Kind::File, path.to_vec(), mmap.build_id.map(<[u8]>::to_vec), file), mmap.pid), false)
    }

    /// Keeps the file of a mapping open while its process is there, in a recording that is made just now.
    pub fn hold(&mut self, module: &Module, mmap: &Mmap<'_>) {
        if let Some(held) = &mut self.held
            && mmap.executable
            && module.kind == Kind::File
            && module.opened().is_none()
        {
            let object = held.open(&module.path, module.build_id.as_deref(), mmap);
            object.into_iter().for_each(|object| module.set_object(object));
        }
    }

    /// Notes the user of a process while it may still run, if its code is no file's.
    pub fn note_user(&mut self, mmap: &Mmap<'_>) {
        if mmap.executable && is_anonymous(mmap.path) {
            self.users.entry(mmap.pid).or_insert_with(|| Owners::user_of_process(mmap.pid));
        }
    }

    fn get(&mut self, key: Key, pid: i32) -> Arc<Module> {
        let next = self.all.len() as u32;
        let (kind, path, build_id, _) = key.clone();
        let id = *self.by_name.entry(key).or_insert(next);
        if id == next {
            self.all.push(Module::new(id, kind, path, build_id, pid).into());
        }
        self.all[id as usize].clone()
    }
}

/// Memory that is no file's, in which a compiler may put code: `//anon`, `/memfd:…`.
fn is_anonymous(path: &[u8]) -> bool {
    let names = [
        b"//anon".as_slice(),
        b"/dev/zero",
        b"/anon_hugepage",
        b"/memfd:",
        b"/SYSV",
        b"[anon",
        b"[heap]",
        b"[stack",
    ];
    path.is_empty() || names.iter().any(|name| path.starts_with(name))
}

/// `jit-1234.dump`, which a program maps for this very purpose: so that its name is recorded.
fn is_jit_dump(path: &[u8]) -> bool {
    let file = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
    let pid = file.strip_prefix(b"jit-").and_then(|rest| rest.strip_suffix(b".dump"));
    pid.is_some_and(|pid| !pid.is_empty() && pid.iter().all(u8::is_ascii_digit))
}

//! What code came from: files, the kernel, and memory that a just-in-time compiler has filled.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::record::Mmap;
use crate::native::{self, Missing, Object, Search};

/// The number of what is no module: an address that nothing was mapped at.
pub(super) const UNKNOWN: u32 = 0;
/// The number of the kernel.
pub(super) const KERNEL: u32 = 1;

/// What a module is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// What code came from.
pub(super) struct Module {
    pub id: u32,
    pub kind: Kind,
    /// As perf's text names it.
    pub path: Vec<u8>,
    build_id: Option<Vec<u8>>,
    object: OnceLock<Result<Arc<Object>, Missing>>,
    /// For unwinding, made when it is needed.
    pub frames: OnceLock<super::cfi::Table>,
}

impl Module {
    fn new(id: u32, kind: Kind, path: Vec<u8>, build_id: Option<Vec<u8>>) -> Module {
        Module { id, kind, path, build_id, object: OnceLock::new(), frames: OnceLock::new() }
    }

    /// The file, opened when it is asked for the first time.
    pub fn object(&self, search: &Search) -> Result<&Arc<Object>, &Missing> {
        let opened = self.object.get_or_init(|| {
            if self.kind != Kind::File {
                return Err(Missing::NoFile);
            }
            search.open(&native::Module { path: self.path.clone(), build_id: self.build_id.clone() })
        });
        opened.as_ref()
    }
}

/// All modules.
pub(super) struct Modules {
    all: Vec<Arc<Module>>,
    by_name: HashMap<(Kind0, Vec<u8>, Option<Vec<u8>>), u32>,
    /// Which build a file is of, as the recording's header says.
    pub build_ids: HashMap<Vec<u8>, Vec<u8>>,
    /// Where processes have described the code they made, by process.
    pub jit_dumps: HashMap<i32, Vec<u8>>,
}

/// What tells modules of one name apart.
type Kind0 = (u8, i32);

impl Default for Modules {
    fn default() -> Self {
        let unknown = Module::new(UNKNOWN, Kind::Unknown, b"[unknown]".to_vec(), None);
        let kernel = Module::new(KERNEL, Kind::Kernel, b"[kernel.kallsyms]".to_vec(), None);
        Modules {
            all: vec![unknown.into(), kernel.into()],
            by_name: HashMap::new(),
            build_ids: HashMap::new(),
            jit_dumps: HashMap::new(),
        }
    }
}

impl Modules {
    /// By number.
    pub fn all(&self) -> &[Arc<Module>] {
        &self.all
    }

    /// The kernel, or one of its modules.
    pub fn kernel(&mut self, path: &[u8]) -> Arc<Module> {
        if path.starts_with(b"[kernel.kallsyms]") || path.starts_with(b"[kernel.vmlinux]") {
            return self.all[KERNEL as usize].clone();
        }
        self.get(Kind::Kernel, path.to_vec(), None)
    }

    /// What a process has mapped, and whether places in it are addresses.
    pub fn user(&mut self, mmap: &Mmap<'_>) -> (Arc<Module>, bool) {
        let path = mmap.path;
        if is_anonymous(path) {
            // Executable, it is the code of a compiler that may say in this file what it made. Not
            // executable, it may still become so.
            let map = || format!("/tmp/perf-{}.map", mmap.pid).into_bytes();
            let name = if mmap.executable { map() } else { path.to_vec() };
            return (self.get(Kind::Anonymous(mmap.pid), name, None), true);
        }
        if is_jit_dump(path) {
            self.jit_dumps.insert(mmap.pid, path.to_vec());
        }
        let build_id = mmap.build_id.or_else(|| self.build_ids.get(path).map(Vec::as_slice));
        (self.get(Kind::File, path.to_vec(), build_id.map(<[u8]>::to_vec)), false)
    }

    fn get(&mut self, kind: Kind, path: Vec<u8>, build_id: Option<Vec<u8>>) -> Arc<Module> {
        let kind0 = match kind {
            Kind::Unknown => (0, 0),
            Kind::Kernel => (1, 0),
            Kind::File => (2, 0),
            Kind::Anonymous(pid) => (3, pid),
        };
        let next = self.all.len() as u32;
        let id = *self.by_name.entry((kind0, path.clone(), build_id.clone())).or_insert(next);
        if id == next {
            self.all.push(Module::new(id, kind, path, build_id).into());
        }
        self.all[id as usize].clone()
    }
}

/// Memory that is no file's, in which a compiler may put code: `//anon`, `/memfd:…`.
fn is_anonymous(path: &[u8]) -> bool {
    let names = [b"//anon".as_slice(), b"/dev/zero", b"/anon_hugepage", b"/memfd:", b"/SYSV", b"[anon", b"[heap]", b"[stack"];
    path.is_empty() || names.iter().any(|name| path.starts_with(name))
}

/// `jit-1234.dump`, which a program maps for this very purpose: so that its name is recorded.
fn is_jit_dump(path: &[u8]) -> bool {
    let file = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
    let pid = file.strip_prefix(b"jit-").and_then(|rest| rest.strip_suffix(b".dump"));
    pid.is_some_and(|pid| !pid.is_empty() && pid.iter().all(u8::is_ascii_digit))
}

//! Where the files of a recording are found again: in place, below another root, by build id.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::image::Image;
use super::object::Object;

/// What a recording says of a mapped file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Module {
    /// Its path, or a name in brackets as the kernel gives it: `[vdso]`.
    pub path: Vec<u8>,
    /// The identity the linker gave it; a file of another one is not used.
    pub build_id: Option<Vec<u8>>,
}

/// Where to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// The root of the system the recording was made on, instead of `/`.
    pub symfs: Option<PathBuf>,
    /// Directories of separate debug files, with `.build-id/` and the paths of objects in them.
    pub debug_dirs: Vec<PathBuf>,
    /// Caches of objects by build id, as `perf` keeps one in `~/.debug`.
    pub caches: Vec<PathBuf>,
}

impl Default for Search {
    /// `/usr/lib/debug`, and `~/.debug`.
    fn default() -> Self {
        let home = env::var_os("HOME").filter(|home| !home.is_empty());
        Search {
            symfs: None,
            debug_dirs: vec!["/usr/lib/debug".into()],
            caches: home.into_iter().map(|home| Path::new(&home).join(".debug")).collect(),
        }
    }
}

/// Why there are no symbols for a module.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// It is no file: `//anon`, `[heap]`, a device.
    NoFile,
    /// Neither at its path nor by its build id.
    NotFound,
    /// A file is at its path, but built again since: its build id is another.
    OtherBuild {
        /// The file that was found.
        path: PathBuf,
    },
    /// The kernel shows its addresses to nobody, or to others (`kernel.kptr_restrict`).
    Hidden {
        /// The file that was found.
        path: PathBuf,
    },
    /// It could not be read, or is damaged.
    Unreadable {
        /// The file that was found.
        path: PathBuf,
        /// What the system or the reader says.
        why: String,
    },
}

impl fmt::Display for Missing {
    /// In words that follow the module's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::NoFile => write!(f, "is no file"),
            Missing::NotFound => write!(f, "was not found"),
            Missing::OtherBuild { path } => {
                write!(f, "has changed since it was recorded ({} has another build id)", path.display())
            }
            Missing::Hidden { path } => write!(
                f,
                "has its addresses hidden ({}); `sudo sysctl kernel.kptr_restrict=0` shows them",
                path.display()
            ),
            Missing::Unreadable { path, why } => write!(f, "cannot be used ({}: {why})", path.display()),
        }
    }
}

impl Search {
    /// Opens the object of a module.
    ///
    /// # Errors
    /// Why there is none.
    pub fn open(&self, module: &Module) -> Result<Arc<Object>, Missing> {
        let mut missing = Missing::NoFile;
        if module.path.starts_with(b"/") && !module.path.starts_with(b"//") {
            let path = self.in_symfs(&path_of(&module.path));
            match Image::open(&path) {
                Ok(image) => match &module.build_id {
                    Some(id) if image.build_id().is_some_and(|found| !same_id(found, id)) => {
                        missing = Missing::OtherBuild { path };
                    }
                    _ => return Ok(Arc::new(Object::new(image, &module.path, self))),
                },
                Err(_) if !path.exists() => missing = Missing::NotFound,
                Err(why) => missing = Missing::Unreadable { path, why },
            }
        }
        Err(missing)
    }

    /// The separate debug file of an object, if there is one.
    pub(super) fn debug_file(&self, _object: &Object) -> Option<Image> {
        None
    }

    /// What the caches hold of a build id: `elf`, `debug`, `kallsyms`, `vdso`.
    pub(super) fn cached(&self, build_id: &[u8], what: &str) -> impl Iterator<Item = PathBuf> {
        let inside = by_build_id(build_id).map(|path| Path::new(".build-id").join(path).join(what));
        self.caches.iter().filter_map(move |cache| Some(cache.join(inside.as_ref()?)))
    }

    /// A path of the recorded system.
    pub(super) fn in_symfs(&self, path: &Path) -> PathBuf {
        match &self.symfs {
            None => path.to_owned(),
            Some(root) => {
                let inside = path.components().filter(|c| matches!(c, Component::Normal(_)));
                root.join(inside.collect::<PathBuf>())
            }
        }
    }
}

/// `ab/cdef…`: where directories of build ids have one.
fn by_build_id(build_id: &[u8]) -> Option<PathBuf> {
    let hex: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = hex.split_at_checked(2)?;
    (!rest.is_empty()).then(|| Path::new(first).join(rest))
}

/// Whether two build ids are the same; the kernel pads short ones with zeros.
pub(super) fn same_id(a: &[u8], b: &[u8]) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    !short.is_empty() && long.starts_with(short) && long[short.len()..].iter().all(|b| *b == 0)
}

#[cfg(unix)]
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    OsStr::from_bytes(bytes).into()
}

#[cfg(not(unix))]
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

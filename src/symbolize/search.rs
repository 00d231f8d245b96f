//! Finds the files of a recording again: in place, below another root, by build id.

use std::env;
use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::build_id::{by_build_id, same_id};
use super::data::{self, Data};
use super::debuginfod::Debuginfod;
use super::elf::string_at;
use super::image::Image;
use super::opening::read_text;
use super::owned::Owners;
use super::path::{below_root, path_of};
use super::symbols;
use crate::input::lines;
use crate::number::hex;

/// A mapped file as a recording describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Module {
    /// Its path, or a name in brackets as the kernel gives it: `[vdso]`.
    pub path: Vec<u8>,
    /// The identity the linker gave it; a file of another one is not used.
    pub build_id: Option<Vec<u8>>,
}

/// The places to look for files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// The root of the system the recording was made on, instead of `/`.
    pub symfs: Option<PathBuf>,
    /// Directories of separate debug files, with `.build-id/` and the paths of objects in them.
    pub debug_dirs: Vec<PathBuf>,
    /// Caches of objects by build id, as `perf` keeps one in `~/.debug`.
    pub caches: Vec<PathBuf>,
    /// The servers that are asked for what is not there.
    pub debuginfod: Option<Debuginfod>,
}

impl Default for Search {
    /// `/usr/lib/debug`, and `~/.debug`.
    fn default() -> Self {
        let home = env::var_os("HOME").filter(|home| !home.is_empty());
        Search {
            symfs: None,
            debug_dirs: vec!["/usr/lib/debug".into()],
            caches: home.into_iter().map(|home| Path::new(&home).join(".debug")).collect(),
            debuginfod: None,
        }
    }
}

/// The reason why there are no symbols for a module.
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
        /// The error of the system or of the reader.
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
    /// The places of a recorded system whose root is at `symfs`; that may hold a cache of its own, as bundles do.
    pub fn of_system(symfs: Option<PathBuf>) -> Search {
        let mut search = Search::default();
        search.caches.splice(0..0, symfs.clone());
        Search { symfs, ..search }
    }

    /// The image of a module: the file at its path if that is of the recorded build, else what is
    /// found by its build id, here or by the servers.
    ///
    /// # Errors
    /// The reason why there is none.
    pub(super) fn image(&self, module: &Module) -> Result<Image, Missing> {
        let mut missing = Missing::NoFile;
        if module.path.starts_with(b"/") && !module.path.starts_with(b"//") {
            let path = self.in_symfs(&path_of(&module.path));
            match Image::open(&path) {
                Ok(image) if is_build(&image, module) => return Ok(image),
                Ok(_) => missing = Missing::OtherBuild { path },
                Err(why) => match std::fs::metadata(&path) {
                    Ok(kind) if kind.is_file() => missing = Missing::Unreadable { path, why },
                    // `/dev/zero` is how memory of nobody's was once asked for.
                    Ok(_) => missing = Missing::NoFile,
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                        missing = Missing::Unreadable { path, why };
                    }
                    Err(_) => missing = Missing::NotFound,
                },
            }
        } else if module.path.starts_with(b"[vdso]") {
            missing = Missing::NotFound;
            let bundled = self.symfs.as_ref().and_then(|root| Image::open(&root.join("[vdso]")).ok());
            if let Some(image) = bundled.or_else(|| self.vdso()).filter(|image| is_build(image, module)) {
                return Ok(image);
            }
        }
        let by_id = module.build_id.iter().flat_map(|id| {
            let cached = ["elf", "vdso"].into_iter().flat_map(|what| self.cached(id, what));
            cached.chain(self.debug_files_by_id(id))
        });
        for path in by_id {
            if let Some(image) = Image::open(&path).ok().filter(|image| is_build(image, module)) {
                return Ok(image);
            }
        }
        let is_file = missing != Missing::NoFile && module.path.starts_with(b"/");
        let path = module.build_id.as_deref().filter(|_| is_file).and_then(|id| self.ask("executable", id));
        match path.and_then(|path| Image::open(&path).ok()).filter(|image| is_build(image, module)) {
            Some(image) => Ok(image),
            None => Err(missing),
        }
    }

    /// Asks the servers for a file of a build id.
    fn ask(&self, what: &str, build_id: &[u8]) -> Option<PathBuf> {
        self.debuginfod.as_ref().filter(|_| build_id.iter().any(|byte| *byte != 0))?.find(what, build_id)
    }

    /// The code that the kernel lends every process: that of this very process.
    fn vdso(&self) -> Option<Image> {
        if self.symfs.is_some() {
            return None;
        }
        let maps = read_text(Path::new("/proc/self/maps"), 1 << 24).ok()?;
        let line = lines(&maps).find(|line| line.ends_with(b"[vdso]"))?;
        let (start, rest) = line.split_at(memchr::memchr(b'-', line)?);
        let end = &rest[1..memchr::memchr(b' ', rest)?];
        let range = hex(start)?..hex(end)?;
        let bytes = data::read_memory(range)?;
        Image::parse(Path::new("[vdso]"), Data::memory(bytes)).ok()
    }

    /// The separate debug file of an object at a recorded path, here or by the servers.
    pub(super) fn debug_file(&self, main: &Image, recorded: &[u8]) -> Option<Image> {
        self.local_debug_file(main, recorded).or_else(|| {
            let id = main.build_id()?;
            let image = Image::open(&self.ask("debuginfo", id)?).ok()?;
            image.build_id().is_some_and(|found| same_id(found, id)).then_some(image)
        })
    }

    /// The separate debug file of an object: by build id, else by the name and checksum it notes.
    fn local_debug_file(&self, main: &Image, recorded: &[u8]) -> Option<Image> {
        let useful = |image: &Image| image.has_section(b".debug_info") || symbols::has_table(image);
        if let Some(id) = main.build_id() {
            // The cache may hold the object as it was before it was stripped.
            let cached = self.cached(id, "debug").chain(self.cached(id, "elf"));
            let by_id = cached.chain(self.debug_files_by_id(id)).filter_map(|path| Image::open(&path).ok());
            let same = |image: &Image| image.build_id().is_some_and(|found| same_id(found, id));
            if let Some(image) = by_id.filter(same).find(useful) {
                return Some(image);
            }
        }
        let link = main.section(b".gnu_debuglink")?;
        let name = string_at(link, 0).filter(|name| !name.is_empty() && !name.contains(&b'/'))?;
        let checksum = link.get((name.len() + 4) & !3..)?.first_chunk::<4>()?;
        let little = main.elf.format.little;
        let checksum = if little { u32::from_le_bytes(*checksum) } else { u32::from_be_bytes(*checksum) };
        let directory = main.path.parent()?;
        let recorded = path_of(recorded);
        let recorded = recorded.parent().into_iter().flat_map(Path::components);
        let recorded: PathBuf = recorded.filter(|c| matches!(c, Component::Normal(_))).collect();
        let below = self.debug_dirs.iter().map(|debug| self.in_symfs(&debug.join(&recorded)));
        let places = [directory.to_owned(), directory.join(".debug")].into_iter().chain(below);
        // Beside a program in a folder of everybody's, anybody may have put such a file.
        let owners = Owners::default().and_of_file(&main.path);
        places.map(|place| place.join(path_of(name))).find_map(|path| {
            let image = Image::open(&path).ok().filter(useful).filter(|image| image.data.is_of(&owners))?;
            (crc32(image.data.read(0, image.data.len())?) == checksum).then_some(image)
        })
    }

    /// The file to which `dwz` has moved parts of the debug information.
    pub(super) fn supplement_file(&self, debug: &Image) -> Option<Image> {
        let link = debug.section(b".gnu_debugaltlink")?;
        let name = string_at(link, 0)?;
        let id = link.get(name.len() + 1..)?;
        let path = path_of(name);
        let path = match path.is_absolute() {
            true => self.in_symfs(&path),
            false => debug.path.parent()?.join(path),
        };
        let places = [path].into_iter().chain(self.debug_files_by_id(id));
        let owners = Owners::default().and_of_file(&debug.path);
        let images = places.filter_map(|path| Image::open(&path).ok());
        let mut images = images.filter(|image| image.data.is_of(&owners));
        images.find(|image| image.build_id().is_some_and(|found| same_id(found, id)))
    }

    /// The paths of separate debug files of a build id.
    fn debug_files_by_id(&self, build_id: &[u8]) -> impl Iterator<Item = PathBuf> {
        let inside = by_build_id(build_id).map(|path| {
            let mut name = Path::new(".build-id").join(path).into_os_string();
            name.push(".debug");
            name
        });
        self.debug_dirs.iter().filter_map(move |debug| Some(self.in_symfs(&debug.join(inside.as_ref()?))))
    }

    /// The files of a build id in the caches: `elf`, `debug`, `kallsyms`, `vdso`.
    pub(super) fn cached(&self, build_id: &[u8], what: &str) -> impl Iterator<Item = PathBuf> {
        let inside = by_build_id(build_id).map(|path| Path::new(".build-id").join(path).join(what));
        let in_cache = move |cache: &PathBuf| match self.symfs.as_ref() == Some(cache) {
            true => Some(self.in_symfs(inside.as_ref()?)),
            false => Some(cache.join(inside.as_ref()?)),
        };
        self.caches.iter().filter_map(in_cache)
    }

    /// A path of the recorded system.
    pub(crate) fn in_symfs(&self, path: &Path) -> PathBuf {
        self.symfs.as_ref().map_or_else(|| path.to_owned(), |root| below_root(root, path))
    }
}

/// Returns whether a file may be what was recorded: nothing tells them apart.
pub(super) fn is_build(image: &Image, module: &Module) -> bool {
    // The kernel writes zeros where there is none.
    let recorded = module.build_id.as_deref().filter(|id| id.iter().any(|byte| *byte != 0));
    recorded.is_none_or(|id| image.build_id().is_some_and(|found| same_id(found, id)))
}

/// The checksum of `.gnu_debuglink`, that of gzip.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

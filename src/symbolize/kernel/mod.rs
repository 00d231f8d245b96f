//! The kernel's symbols: from a vmlinux, from kallsyms, from the files of its modules.
//!
//! A kernel is loaded at another address every time it starts, so a recording notes where one of
//! its symbols was (`[kernel.kallsyms]_text`). With that, and the build id, the copy of kallsyms
//! that `perf record` keeps in `~/.debug` serves as long as the recording does, and a vmlinux has
//! inlined functions, too. `/proc/kallsyms` serves while the very same kernel runs.

mod kallsyms;
mod modules;

pub use kallsyms::{Kallsyms, KernelSymbol};

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::build_id::same_id;
use super::bundle::{SymbolFile, place_by_id};
use super::content::Content;
use super::elf::{Format, find_note};
use super::object::Object;
use super::opening::read_text;
use super::path::path_of;
use super::search::{Missing, Module, Search};
use super::symbolizer::{ResolvedFrame, Symbolizer, SymbolizerOptions};
use super::symbols;
use modules::Modules;

/// The kernel as a recording describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Its build id.
    pub build_id: Option<Vec<u8>>,
    /// Its release, as `uname -r` has it.
    pub release: Option<Vec<u8>>,
    /// The address of one of its symbols, `_text` or `_stext`.
    pub reference: Option<(Vec<u8>, u64)>,
    /// Its modules.
    pub modules: Vec<RecordedModule>,
}

/// A module of the kernel as a recording describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedModule {
    /// `[nf_conntrack]`, or its file's path.
    pub name: Vec<u8>,
    /// The first address.
    pub start: u64,
    /// One past its last byte.
    pub end: u64,
    /// Its build id.
    pub build_id: Option<Vec<u8>>,
}

/// A kernel whose symbols were found.
pub struct Kernel {
    main: Source,
    /// The offset added to addresses of `main` when the kernel was loaded.
    moved_by: u64,
    path: PathBuf,
    modules: Modules,
}

enum Source {
    Kallsyms(Kallsyms),
    Vmlinux(Arc<Object>),
}

/// More than the text of any kernel's symbols.
const LARGEST_TEXT: u64 = 1 << 28;

impl Kernel {
    /// Looks for the symbols of a recorded kernel.
    ///
    /// # Errors
    /// The reason why there are none; [`Missing::Hidden`] if there are, but not for this user.
    pub fn open(search: &Search, recorded: &Recorded) -> Result<Kernel, Missing> {
        let found = vmlinux(search, recorded).map(|object| {
            let path = object.path().to_owned();
            (Source::Vmlinux(object), path)
        });
        let (main, path) = match found {
            Some(found) => found,
            None => {
                let (kallsyms, path) = find_kallsyms(search, recorded)?;
                (Source::Kallsyms(kallsyms), path)
            }
        };
        let moved_by = recorded.reference.as_ref().and_then(|(name, address)| {
            let there = match &main {
                Source::Kallsyms(kallsyms) => kallsyms.address_of(name),
                Source::Vmlinux(object) => symbols::address_of(&object.main, name),
            };
            Some(address.wrapping_sub(there?))
        });
        let modules = Modules::new(search, recorded);
        Ok(Kernel { main, moved_by: moved_by.unwrap_or(0), path, modules })
    }

    /// The file that the symbols are from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that its symbols are from, for a copy; `None` for a recording that does not tell kernels apart.
    ///
    /// # Errors
    /// Errors of the system.
    #[cfg_attr(not(all(feature = "record", target_os = "linux")), allow(dead_code))]
    pub(crate) fn symbol_file(&self, recorded: &Recorded) -> io::Result<Option<SymbolFile>> {
        let (what, content) = match &self.main {
            Source::Kallsyms(kallsyms) => ("kallsyms", Content::Bytes(kallsyms.code().into())),
            Source::Vmlinux(object) => ("elf", object.main.data.content()?),
        };
        let place = recorded.build_id.as_deref().and_then(|id| place_by_id(id, what));
        let name = self.path.clone();
        Ok(place.map(|place| SymbolFile { name, place, content, is_debug_info: false }))
    }

    /// A symbolizer for its addresses.
    pub fn symbolizer(&self, options: SymbolizerOptions) -> KernelSymbolizer<'_> {
        let main = match &self.main {
            Source::Kallsyms(_) => None,
            Source::Vmlinux(object) => Some(Symbolizer::new(object, options)),
        };
        KernelSymbolizer { kernel: self, main, modules: self.modules.symbolizers(options) }
    }
}

/// Finds the frames of a kernel's addresses, as [`Symbolizer`] does those of an object.
pub struct KernelSymbolizer<'k> {
    kernel: &'k Kernel,
    main: Option<Symbolizer<'k>>,
    modules: modules::Symbolizers<'k>,
}

impl KernelSymbolizer<'_> {
    /// Appends the frames of an address as it was recorded, the leaf first; nothing where nothing
    /// is known.
    pub fn resolve(&self, address: u64, is_return_address: bool, sink: &mut Vec<ResolvedFrame>) {
        let before = sink.len();
        let inside = address.wrapping_sub(self.kernel.moved_by);
        match (&self.kernel.main, &self.main) {
            (Source::Kallsyms(kallsyms), _) => {
                // Modules are loaded where there is room, however far the kernel was moved.
                let symbol = kallsyms.find(inside).filter(|s| s.module.is_none());
                let symbol = symbol.or_else(|| kallsyms.find(address).filter(|_| self.kernel.moved_by == 0));
                sink.extend(symbol.map(|symbol| ResolvedFrame {
                    name: symbol.name.into(),
                    place: None,
                    inlined: false,
                }));
            }
            (Source::Vmlinux(_), Some(main)) => main.resolve(inside, is_return_address, sink),
            (Source::Vmlinux(_), None) => {}
        }
        if sink.len() == before {
            self.modules.resolve(address, is_return_address, sink);
        }
    }
}

/// A vmlinux of the recorded build.
fn vmlinux(search: &Search, recorded: &Recorded) -> Option<Arc<Object>> {
    // Without an identity any kernel would do, that is, the wrong one.
    let build_id = recorded.build_id.clone()?;
    let release = recorded.release.as_deref().map(path_of);
    let places = release.iter().flat_map(|release| {
        let release = release.display();
        [
            format!("/boot/vmlinux-{release}"),
            format!("/usr/lib/debug/boot/vmlinux-{release}"),
            format!("/lib/modules/{release}/build/vmlinux"),
            format!("/lib/modules/{release}/vmlinux"),
            format!("/usr/lib/debug/lib/modules/{release}/vmlinux"),
        ]
    });
    let places = ["/boot/vmlinux".to_owned()].into_iter().chain(places);
    // Some hundred megabytes: kallsyms has the names.
    let search = Search { debuginfod: None, ..search.clone() };
    places.map(String::into_bytes).chain([b"vmlinux".to_vec()]).find_map(|path| {
        let object = search.open(&Module { path, build_id: Some(build_id.clone()) }).ok()?;
        // A file without symbols (a boot image's shell) is not better than kallsyms.
        object.build_id().is_some_and(|found| same_id(found, &build_id)).then_some(())?;
        symbols::has_table(&object.main).then_some(object)
    })
}

fn find_kallsyms(search: &Search, recorded: &Recorded) -> Result<(Kallsyms, PathBuf), Missing> {
    let mut missing = Missing::NotFound;
    let cached = recorded.build_id.iter().flat_map(|id| search.cached(id, "kallsyms"));
    let running = PathBuf::from("/proc/kallsyms");
    let running = (search.symfs.is_none() && is_running(recorded)).then_some(running);
    for path in cached.chain(running) {
        match read_text(&path, LARGEST_TEXT) {
            Ok(text) => match Kallsyms::parse(text) {
                Some(kallsyms) => return Ok((kallsyms, path)),
                None => missing = Missing::Hidden { path },
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => missing = Missing::Unreadable { path, why: crate::error::plain(&error) },
        }
    }
    Err(missing)
}

/// Returns whether the recorded kernel is the one that runs, as far as can be told.
fn is_running(recorded: &Recorded) -> bool {
    const NT_GNU_BUILD_ID: u32 = 3;
    if let Some(id) = &recorded.build_id {
        let format = Format { wide: true, little: cfg!(target_endian = "little") };
        let notes = std::fs::read("/sys/kernel/notes").unwrap_or_default();
        return find_note(&notes, format, b"GNU", NT_GNU_BUILD_ID).is_some_and(|found| same_id(found, id));
    }
    let running = std::fs::read("/proc/sys/kernel/osrelease").unwrap_or_default();
    recorded.release.as_deref().is_some_and(|release| release == running.trim_ascii_end())
}

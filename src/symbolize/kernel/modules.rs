//! The files of kernel modules, for recordings whose kallsyms are gone.
//!
//! `/lib/modules/RELEASE/` holds them, plain or compressed; a recording says `[nf_conntrack]`, or
//! the path. A module's file is relocatable: its `.text` comes first where it is loaded, so
//! addresses in it are known, those of its other sections are not.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::super::build_id::same_id;
use super::super::data::Data;
use super::super::image::Image;
use super::super::object::Object;
use super::super::path::path_of;
use super::super::search::Search;
use super::super::symbolizer::{ResolvedFrame, Symbolizer, SymbolizerOptions};
use super::super::unpack;
use super::{Recorded, RecordedModule};

/// Kernels have some ten thousand module files; a directory that never ends is left.
const MOST_FILES: usize = 100_000;

/// The modules of a recorded kernel; their files are looked for when an address is in one.
pub(super) struct Modules {
    search: Search,
    release: Option<PathBuf>,
    /// The modules, by start.
    recorded: Vec<RecordedModule>,
    objects: Vec<OnceLock<Option<Arc<Object>>>>,
    files: OnceLock<HashMap<String, PathBuf>>,
}

impl Modules {
    pub(super) fn new(search: &Search, recorded: &Recorded) -> Modules {
        let mut modules = recorded.modules.clone();
        modules.sort_by_key(|module| module.start);
        Modules {
            search: search.clone(),
            release: recorded.release.as_deref().map(path_of),
            objects: modules.iter().map(|_| OnceLock::new()).collect(),
            recorded: modules,
            files: OnceLock::new(),
        }
    }

    pub(super) fn symbolizers(&self, options: SymbolizerOptions) -> Symbolizers<'_> {
        let each = self.recorded.iter().map(|_| OnceLock::new()).collect();
        Symbolizers { modules: self, options, each }
    }

    fn object(&self, at: usize) -> Option<&Object> {
        let object = self.objects[at].get_or_init(|| self.open(&self.recorded[at]));
        object.as_deref()
    }

    fn open(&self, module: &RecordedModule) -> Option<Arc<Object>> {
        let path = match module.name.strip_prefix(b"[") {
            Some(name) => self.files().get(&plain_name(&path_of(name.strip_suffix(b"]")?)))?.clone(),
            None => self.search.in_symfs(&path_of(&module.name)),
        };
        let image = open_module(&path)?;
        if let (Some(found), Some(id)) = (image.build_id(), &module.build_id) {
            same_id(found, id).then_some(())?;
        }
        Some(Arc::new(Object::new(image, &module.name, Some(&self.search))))
    }

    /// Every module's file by its name.
    fn files(&self) -> &HashMap<String, PathBuf> {
        self.files.get_or_init(|| {
            let mut files = HashMap::new();
            let mut seen = 0;
            let release = self.release.iter().map(|release| Path::new("/lib/modules").join(release));
            let mut directories: Vec<PathBuf> = release.map(|path| self.search.in_symfs(&path)).collect();
            while let Some(directory) = directories.pop() {
                for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
                    seen += 1;
                    if seen > MOST_FILES {
                        return files;
                    }
                    // Links (`build`, `source`) are not followed: they lead elsewhere, or in circles.
                    match entry.file_type() {
                        Ok(kind) if kind.is_dir() => directories.push(entry.path()),
                        Ok(_) if entry.file_name().to_string_lossy().contains(".ko") => {
                            files.insert(plain_name(&entry.path()), entry.path());
                        }
                        _ => {}
                    }
                }
            }
            files
        })
    }
}

/// A module's name: `nf-conntrack.ko.xz` and `nf_conntrack` are the same.
fn plain_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split(".ko").next().unwrap_or_default().replace('-', "_")
}

fn open_module(path: &Path) -> Option<Image> {
    let data = Data::open(path).ok()?;
    let data = match unpack::file(data.read(0, data.len())?) {
        Some(bytes) => Data::memory(bytes),
        None => data,
    };
    Image::parse(path, data).ok()
}

/// The symbolisers of modules, each made when an address needs it.
pub(super) struct Symbolizers<'m> {
    modules: &'m Modules,
    options: SymbolizerOptions,
    each: Vec<OnceLock<Option<Symbolizer<'m>>>>,
}

impl Symbolizers<'_> {
    pub(super) fn resolve(&self, address: u64, is_return_address: bool, sink: &mut Vec<ResolvedFrame>) {
        let behind = self.modules.recorded.partition_point(|module| module.start <= address);
        let Some(at) = behind.checked_sub(1) else { return };
        let module = &self.modules.recorded[at];
        if address >= module.end {
            return;
        }
        let symbolizer =
            self.each[at].get_or_init(|| Some(Symbolizer::new(self.modules.object(at)?, self.options)));
        if let Some(symbolizer) = symbolizer {
            symbolizer.resolve(address - module.start, is_return_address, sink);
        }
    }
}

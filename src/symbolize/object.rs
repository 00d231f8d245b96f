//! A mapped file that was found: what an unwinder and the symboliser need of it.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::content::Bytes;
use super::data::Data;
use super::elf::{EM_386, EM_AARCH64, EM_X86_64, ET_REL, PT_LOAD};
use super::image::Image;
use super::list::List;
use super::search::{Missing, Module, Search, is_build};
use super::{go, symbols, unpack};

/// The processor an object is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Machine {
    /// 64-bit x86.
    X86_64,
    /// 32-bit x86.
    X86,
    /// 64-bit Arm.
    Aarch64,
    /// Another one, by its ELF number.
    Other(u16),
}

/// A language whose compiler leaves its mark in what it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    /// Rust.
    Rust,
    /// Go.
    Go,
}

/// A part of an object that is loaded, in its stated addresses (SVMA).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The stated addresses, before relocation.
    pub svma: Range<u64>,
    /// The part of the file it is loaded from.
    pub file: Range<u64>,
    /// True if it holds code.
    pub executable: bool,
}

/// A section's contents and where they are loaded.
#[derive(Clone, Debug)]
pub struct Contents {
    /// Its stated addresses.
    pub svma: Range<u64>,
    /// Its bytes, shared.
    pub bytes: Bytes,
}

/// An opened object: the file itself, and its separate debug file once that is needed.
pub struct Object {
    pub(super) main: Image,
    /// The path as the recording has it.
    pub(super) recorded: Vec<u8>,
    debug: OnceLock<Option<Image>>,
    supplement: OnceLock<Option<Image>>,
    table: OnceLock<Option<Image>>,
    /// Split debug information that has been opened.
    pub(super) others: List<Image>,
    /// The folders in which its other parts are looked for.
    pub(super) search: Option<Search>,
}

impl Search {
    /// Opens the object of a module: the file at its path if that is of the recorded build, else
    /// what is found by its build id, here or by the servers.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn open(&self, module: &Module) -> Result<Arc<Object>, Missing> {
        self.image(module).map(|image| Arc::new(Object::new(image, &module.path, Some(self))))
    }

    /// The object of a module in a file that is open already; `path` is a name by which the folder of
    /// its separate debug file is found. `None` if it is of another build.
    ///
    /// Every regular file may be given: one that is no object gives `None`, too.
    pub fn open_in(&self, module: &Module, path: &Path, file: File) -> Option<Arc<Object>> {
        let image = Image::parse(path, Data::of_file(file).ok()?).ok()?;
        is_build(&image, module).then(|| Arc::new(Object::new(image, &module.path, Some(self))))
    }
}

impl Object {
    pub(super) fn new(main: Image, recorded: &[u8], search: Option<&Search>) -> Object {
        Object {
            main,
            recorded: recorded.to_owned(),
            debug: OnceLock::new(),
            supplement: OnceLock::new(),
            table: OnceLock::new(),
            others: List::default(),
            search: search.cloned(),
        }
    }

    /// An object that is in memory. Nothing is looked for elsewhere.
    ///
    /// # Errors
    /// Damage of the file.
    pub fn parse(bytes: Vec<u8>) -> Result<Object, Missing> {
        let path = Path::new("[memory]");
        let main = Image::parse(path, Data::memory(bytes))
            .map_err(|why| Missing::Unreadable { path: path.to_owned(), why })?;
        Ok(Object::new(main, b"", None))
    }

    /// The file that was opened.
    pub fn path(&self) -> &Path {
        &self.main.path
    }

    /// The build id in the file.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.main.build_id()
    }

    /// The processor it is for.
    pub fn machine(&self) -> Machine {
        match self.main.elf.machine {
            EM_X86_64 => Machine::X86_64,
            EM_386 => Machine::X86,
            EM_AARCH64 => Machine::Aarch64,
            other => Machine::Other(other),
        }
    }

    /// Its loaded parts.
    pub fn segments(&self) -> impl Iterator<Item = Segment> {
        let loaded = self.main.elf.segments.iter().filter(|s| s.kind == PT_LOAD);
        loaded.map(|s| Segment {
            svma: s.address..s.address.saturating_add(s.memory_size),
            file: s.offset..s.offset.saturating_add(s.file_size),
            executable: s.is_executable(),
        })
    }

    /// The stated address of a byte of the file, as mapped code has it.
    ///
    /// If segments overlap in the file, as lld lays them out, the executable one is meant.
    /// Kernel modules, which have no segments, count from their `.text`.
    pub fn file_offset_to_svma(&self, offset: u64) -> Option<u64> {
        if self.main.elf.kind == ET_REL {
            return offset.checked_sub(self.main.elf.section(b".text")?.offset);
        }
        let inside = |s: &Segment| s.file.contains(&offset);
        let segment = self
            .segments()
            .find(|s| s.executable && inside(s))
            .or_else(|| self.segments().find(inside))
            // The end of a page that the file does not fill up.
            .or_else(|| {
                self.segments().find(|s| {
                    s.executable
                        && s.file.start <= offset
                        && offset - s.file.start < s.svma.end - s.svma.start
                })
            })?;
        segment.svma.start.checked_add(offset - segment.file.start)
    }

    /// The byte of the file that is loaded at a stated address; `None` where there is no code.
    pub fn svma_to_file_offset(&self, svma: u64) -> Option<u64> {
        let segment = self.segments().find(|s| s.executable && s.svma.contains(&svma))?;
        let offset = segment.file.start + (svma - segment.svma.start);
        segment.file.contains(&offset).then_some(offset)
    }

    /// The stated addresses of a section.
    pub fn section_address(&self, name: &[u8]) -> Option<u64> {
        self.main.elf.section(name).map(|section| section.address)
    }

    /// A section for unwinding: `.eh_frame`, `.eh_frame_hdr`, `.debug_frame`, `.sframe`, `.text`, `.got`.
    ///
    /// The separate debug file has `.debug_frame`, the object all that is loaded.
    pub fn section(&self, name: &[u8]) -> Option<Contents> {
        let in_image = |image: &Image| {
            let section = image.header(name)?;
            let bytes = image.section_bytes(name)?;
            let end = section.address.saturating_add(bytes.len() as u64);
            Some(Contents { svma: section.address..end, bytes })
        };
        in_image(&self.main).or_else(|| match name {
            b".debug_frame" => self.debug_image().and_then(in_image),
            _ => None,
        })
    }

    /// The sizes of the frames of a Go program's functions.
    pub(crate) fn go_frames(&self) -> Option<go::GoFrames> {
        go::GoFrames::of(&self.main)
    }

    /// Returns whether there is debug information, in the file itself or in a separate one.
    pub fn has_debug_info(&self) -> bool {
        self.debug_image().is_some()
    }

    /// The entry point: the address of the code with which a program or the loader begins.
    pub fn entry(&self) -> Option<u64> {
        Some(self.main.elf.entry).filter(|&address| address != 0)
    }

    /// The addresses of the functions of these names, sorted.
    pub fn functions_named(&self, names: &[&[u8]]) -> Vec<Range<u64>> {
        let mut all = Vec::new();
        symbols::read(&self.main, &mut all);
        go::read(&self.main, &mut all);
        let found = all.iter().filter(|symbol| names.contains(&&*symbol.name));
        let mut found: Vec<Range<u64>> = found.map(|symbol| symbol.start..symbol.end).collect();
        found.sort_by_key(|range| range.start);
        found
    }

    /// The address of the data of a name, if a symbol table of the file tells it.
    pub fn data_named(&self, name: &[u8]) -> Option<u64> {
        symbols::data_named(&self.main, name)
    }

    /// The functions in the symbol tables, the separate debug file's too: address, and name as demangled.
    pub fn functions(&self) -> Vec<(u64, String)> {
        let mut all = Vec::new();
        for image in std::iter::once(&self.main).chain(self.debug_image()).chain(self.packed_table()) {
            symbols::read(image, &mut all);
        }
        go::read(&self.main, &mut all);
        let name = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let named = all.iter().map(|symbol| {
            let demangled = crate::symbol::demangle(&symbol.name);
            (symbol.start, name(demangled.as_deref().unwrap_or(&symbol.name)))
        });
        named.collect()
    }

    /// The compiler that made it, as far as that can be told without symbols.
    pub fn language(&self) -> Option<Language> {
        if self.main.has_section(b".gopclntab") || self.main.has_section(b".note.go.buildid") {
            return Some(Language::Go);
        }
        let comment = self.main.section(b".comment")?;
        memchr::memmem::find(comment, b"rustc version").map(|_| Language::Rust)
    }

    /// Returns true if it has no table of all its symbols, and nor has a file that belongs to it.
    pub fn is_stripped(&self) -> bool {
        let has_table = |image: Option<&Image>| image.is_some_and(symbols::has_table);
        !go::has_table(&self.main)
            && !has_table(Some(&self.main))
            && !has_table(self.debug_image())
            && self.packed_table().is_none()
    }

    /// The file with its debug information: itself, or a separate one, looked for now.
    pub(super) fn debug_image(&self) -> Option<&Image> {
        if self.main.has_section(b".debug_info") {
            return Some(&self.main);
        }
        self.debug.get_or_init(|| self.search.as_ref()?.debug_file(&self.main, &self.recorded)).as_ref()
    }

    /// The packed symbol table that Fedora leaves in stripped programs (MiniDebugInfo): functions
    /// that are not visible outside.
    pub(super) fn packed_table(&self) -> Option<&Image> {
        let find = || {
            let bytes = unpack::file(self.main.section(b".gnu_debugdata")?)?;
            Image::parse(self.path(), Data::memory(bytes)).ok()
        };
        self.table.get_or_init(find).as_ref()
    }

    /// The separate debug file, if it was opened.
    pub(super) fn opened_debug_file(&self) -> Option<&Image> {
        self.debug.get()?.as_ref()
    }

    /// The supplementary file that several objects share, if it was opened.
    pub(super) fn opened_supplement(&self) -> Option<&Image> {
        self.supplement.get()?.as_ref()
    }

    /// The file that the debug information refers to for what several objects have in common.
    pub(super) fn supplement(&self) -> Option<&Image> {
        let find = || self.search.as_ref()?.supplement_file(self.debug_image()?);
        self.supplement.get_or_init(find).as_ref()
    }
}

//! One ELF file: its headers, and its sections as they were before they were compressed.

use std::path::{Path, PathBuf};

use super::content::Bytes;
use super::data::Data;
use super::elf::{Elf, SHF_COMPRESSED, SHT_NOBITS, Section};
use super::list::List;
use super::unpack;

const NT_GNU_BUILD_ID: u32 = 3;

/// See the module.
pub(super) struct Image {
    pub(super) path: PathBuf,
    pub(super) data: Data,
    pub(super) elf: Elf,
    /// Sections by their number; `None` could not be unpacked.
    unpacked: List<(usize, Option<Bytes>)>,
}

impl Image {
    /// Opens a file; what is wrong, else, in words that follow its path.
    pub(super) fn open(path: &Path) -> Result<Image, String> {
        let data = Data::open(path).map_err(|e| crate::error::plain(&e))?;
        Image::parse(path, data)
    }

    /// The same for bytes that are in memory.
    pub(super) fn parse(path: &Path, data: Data) -> Result<Image, String> {
        let elf = Elf::parse(&data)?;
        Ok(Image { path: path.to_owned(), data, elf, unpacked: List::default() })
    }

    pub(super) fn build_id(&self) -> Option<&[u8]> {
        self.elf.note(&self.data, b"GNU", NT_GNU_BUILD_ID)
    }

    /// The contents of the section of this name, `.debug_info` also from `.zdebug_info`.
    pub(super) fn section(&self, name: &[u8]) -> Option<&[u8]> {
        let at = self.find(name)?;
        let section = &self.elf.sections[at];
        if section.flags & SHF_COMPRESSED == 0 && !section.name.starts_with(b".z") {
            return self.elf.contents(&self.data, section);
        }
        self.unpack(at, section).map(|bytes| &**bytes)
    }

    /// The same, to be kept.
    pub(super) fn section_bytes(&self, name: &[u8]) -> Option<Bytes> {
        let at = self.find(name)?;
        let section = &self.elf.sections[at];
        if section.flags & SHF_COMPRESSED == 0 && !section.name.starts_with(b".z") {
            return self.data.bytes(section.offset, section.size);
        }
        self.unpack(at, section).cloned()
    }

    pub(super) fn has_section(&self, name: &[u8]) -> bool {
        self.find(name).is_some()
    }

    /// The header of the section of this name.
    pub(super) fn header(&self, name: &[u8]) -> Option<&Section> {
        self.find(name).map(|at| &self.elf.sections[at])
    }

    fn find(&self, name: &[u8]) -> Option<usize> {
        let z_name = name.strip_prefix(b".debug_").map(|end| [b".zdebug_", end].concat());
        self.elf.sections.iter().position(|s| {
            s.kind != SHT_NOBITS
                && !s.name.is_empty()
                && (*s.name == *name || z_name.as_deref().is_some_and(|z| *s.name == *z))
        })
    }

    fn unpack(&self, at: usize, section: &Section) -> Option<&Bytes> {
        let known = self.unpacked.iter().find(|(n, _)| *n == at);
        let (_, bytes) = known.unwrap_or_else(|| {
            let packed = self.elf.contents(&self.data, section);
            let bytes = packed.and_then(|packed| unpack::section(packed, section, self.elf.format));
            self.unpacked.push((at, bytes.map(Bytes::from)))
        });
        bytes.as_ref()
    }
}

//! ELF headers: sections, segments, notes. 32 and 64 bits, both byte orders.
//!
//! Only fixed records are read here, each checked against the file's length, into owned tables:
//! the rest of the module never meets an offset that has not been checked by [`Data::read`].

use super::data::Data;
use crate::bytes::{ByteOrder, Cursor};

pub(super) const SHT_SYMTAB: u32 = 2;
pub(super) const SHT_NOTE: u32 = 7;
pub(super) const SHT_NOBITS: u32 = 8;
pub(super) const SHT_DYNSYM: u32 = 11;
pub(super) const SHF_COMPRESSED: u64 = 0x800;
pub(super) const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;
const PF_X: u32 = 1;
pub(super) const ET_REL: u16 = 1;
pub(super) const EM_386: u16 = 3;
pub(super) const EM_X86_64: u16 = 62;
pub(super) const EM_AARCH64: u16 = 183;

/// No object has more; a hostile one could claim billions.
const MOST_HEADERS: u64 = 1 << 18;

/// `e_shnum` is not a number but says that the number is elsewhere, from here on.
const SHN_LORESERVE: u64 = 0xff00;

/// The tables of an object's headers.
pub(super) struct Elf {
    pub(super) format: Format,
    /// `ET_EXEC`, `ET_DYN`, `ET_REL`.
    pub(super) kind: u16,
    /// `EM_X86_64`, …
    pub(super) machine: u16,
    /// Its entry point: the address of the code with which it begins, or 0.
    pub(super) entry: u64,
    pub(super) segments: Vec<Segment>,
    pub(super) sections: Vec<Section>,
}

/// The width of addresses and the order of their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) wide: bool,
    pub(super) little: bool,
}

/// A program header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) kind: u32,
    pub(super) flags: u32,
    pub(super) offset: u64,
    pub(super) address: u64,
    pub(super) file_size: u64,
    pub(super) memory_size: u64,
}

impl Segment {
    pub(super) fn is_executable(&self) -> bool {
        self.kind == PT_LOAD && self.flags & PF_X != 0
    }
}

/// A section header.
#[derive(Clone, Debug, Default)]
pub(super) struct Section {
    pub(super) name: Box<[u8]>,
    pub(super) kind: u32,
    pub(super) flags: u64,
    pub(super) address: u64,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) link: u32,
    pub(super) info: u32,
    pub(super) entry_size: u64,
}

/// ELF's numbers: those of a [`Cursor`], and addresses, which are as wide as the file says.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    cursor: Cursor<'a>,
    wide: bool,
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8], format: Format) -> Self {
        let order = if format.little { ByteOrder::Little } else { ByteOrder::Big };
        Fields { cursor: Cursor::new(bytes, order), wide: format.wide }
    }

    pub(super) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.cursor.array()
    }

    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        self.cursor.skip(count)
    }

    pub(super) fn half(&mut self) -> Option<u16> {
        self.cursor.u16()
    }

    pub(super) fn word(&mut self) -> Option<u32> {
        self.cursor.u32()
    }

    pub(super) fn double(&mut self) -> Option<u64> {
        self.cursor.u64()
    }

    /// An address, offset or size: as wide as the file says.
    pub(super) fn address(&mut self) -> Option<u64> {
        if self.wide { self.double() } else { self.word().map(u64::from) }
    }
}

impl Elf {
    /// Reads the headers; what is wrong with them, else, in words that follow a path.
    pub(super) fn parse(data: &Data) -> Result<Elf, &'static str> {
        let ident =
            data.read(0, 16).filter(|ident| ident.starts_with(b"\x7fELF")).ok_or("it is no ELF file")?;
        let format = match (ident[4], ident[5]) {
            (class @ 1..=2, order @ 1..=2) => Format { wide: class == 2, little: order == 1 },
            _ => return Err("its ELF header is damaged"),
        };
        Elf::parse_headers(data, format).ok_or("its ELF headers are damaged")
    }

    fn parse_headers(data: &Data, format: Format) -> Option<Elf> {
        let mut header = Fields::new(data.read(16, if format.wide { 48 } else { 36 })?, format);
        let kind = header.half()?;
        let machine = header.half()?;
        header.word()?;
        let entry = header.address()?;
        let segments_at = header.address()?;
        let sections_at = header.address()?;
        header.skip(6)?;
        let segment_size = u64::from(header.half()?);
        let mut segment_count = u64::from(header.half()?);
        let section_size = u64::from(header.half()?);
        let mut section_count = u64::from(header.half()?);
        let mut names = u64::from(header.half()?);

        let full = if format.wide { 64 } else { 40 };
        let section_at = |n: u64| {
            let at = sections_at.checked_add(n.checked_mul(section_size)?)?;
            Section::parse(Fields::new(data.read(at, full)?, format))
        };
        if sections_at != 0 {
            // Numbers that do not fit their fields stand in the first section.
            let (_, first) = section_at(0)?;
            if section_count == 0 {
                section_count = first.size;
            }
            if names >= SHN_LORESERVE {
                names = u64::from(first.link);
            }
            if segment_count == 0xffff {
                segment_count = u64::from(first.info);
            }
        } else {
            section_count = 0;
        }
        if section_count > MOST_HEADERS || segment_count > MOST_HEADERS {
            return None;
        }

        let mut segments = Vec::new();
        if segment_count > 0 {
            let size = if format.wide { 56 } else { 32 };
            // All at once: a read each would be a system call each.
            let table = data.read(segments_at, segment_size.checked_mul(segment_count)?)?;
            for record in table.chunks_exact(usize::try_from(segment_size).ok().filter(|n| *n >= size)?) {
                segments.push(Segment::parse(Fields::new(record, format))?);
            }
        }
        let mut sections = Vec::new();
        if section_count > 0 {
            let table = data.read(sections_at, section_size.checked_mul(section_count)?)?;
            let chunk = usize::try_from(section_size).ok().filter(|n| *n as u64 >= full)?;
            let mut name_offsets = Vec::new();
            for record in table.chunks_exact(chunk) {
                let (name, section) = Section::parse(Fields::new(record, format))?;
                name_offsets.push(name);
                sections.push(section);
            }
            let strings =
                sections.get(names as usize).and_then(|s| data.read(s.offset, s.size)).unwrap_or(b"");
            for (section, at) in sections.iter_mut().zip(name_offsets) {
                section.name = string_at(strings, u64::from(at)).unwrap_or(b"").into();
            }
        }
        Some(Elf { format, kind, machine, entry, segments, sections })
    }

    /// The section of this name that has contents.
    pub(super) fn section(&self, name: &[u8]) -> Option<&Section> {
        self.sections.iter().find(|s| *s.name == *name && s.kind != SHT_NOBITS)
    }

    /// The note of this owner and type, wherever notes are.
    pub(super) fn note<'d>(&self, data: &'d Data, owner: &[u8], kind: u32) -> Option<&'d [u8]> {
        let segments = self.segments.iter().filter(|s| s.kind == PT_NOTE).map(|s| (s.offset, s.file_size));
        let sections = self.sections.iter().filter(|s| s.kind == SHT_NOTE).map(|s| (s.offset, s.size));
        segments.chain(sections).find_map(|(offset, size)| {
            // Notes are short; a core file's are not what is looked for.
            let bytes = data.read(offset, size.min(64 * 1024))?;
            find_note(bytes, self.format, owner, kind)
        })
    }

    /// The bytes of a section as they stand in the file.
    pub(super) fn contents<'d>(&self, data: &'d Data, section: &Section) -> Option<&'d [u8]> {
        if section.kind == SHT_NOBITS {
            return None;
        }
        data.read(section.offset, section.size)
    }
}

impl Segment {
    fn parse(mut fields: Fields<'_>) -> Option<Segment> {
        let wide = fields.wide;
        let kind = fields.word()?;
        let mut flags = if wide { fields.word()? } else { 0 };
        let offset = fields.address()?;
        let address = fields.address()?;
        fields.address()?;
        let file_size = fields.address()?;
        let memory_size = fields.address()?;
        if !wide {
            flags = fields.word()?;
        }
        Some(Segment { kind, flags, offset, address, file_size, memory_size })
    }
}

impl Section {
    /// The offset of its name, and the rest.
    fn parse(mut fields: Fields<'_>) -> Option<(u32, Section)> {
        let name = fields.word()?;
        let kind = fields.word()?;
        let flags = fields.address()?;
        let address = fields.address()?;
        let offset = fields.address()?;
        let size = fields.address()?;
        let link = fields.word()?;
        let info = fields.word()?;
        fields.address()?;
        let entry_size = fields.address()?;
        Some((
            name,
            Section { kind, flags, address, offset, size, link, info, entry_size, ..Section::default() },
        ))
    }
}

/// The string that begins at `offset` and ends before a zero.
pub(super) fn string_at(strings: &[u8], offset: u64) -> Option<&[u8]> {
    let rest = strings.get(usize::try_from(offset).ok()?..)?;
    Some(&rest[..memchr::memchr(0, rest)?])
}

/// Walks notes for one of this owner and type: how `/sys/kernel/notes` is written, too.
pub(super) fn find_note<'d>(
    mut notes: &'d [u8],
    format: Format,
    owner: &[u8],
    kind: u32,
) -> Option<&'d [u8]> {
    let round = |size: u32| Some((size as usize).checked_add(3)? & !3);
    loop {
        let mut fields = Fields::new(notes, format);
        let (name_size, size, this) = (fields.word()?, fields.word()?, fields.word()?);
        let rest = &notes[12..];
        let name = rest.get(..name_size as usize)?;
        let rest = rest.get(round(name_size)?..)?;
        let value = rest.get(..size as usize)?;
        if this == kind && name.strip_suffix(b"\0").unwrap_or(name) == owner {
            return Some(value);
        }
        notes = rest.get(round(size)?..)?;
    }
}

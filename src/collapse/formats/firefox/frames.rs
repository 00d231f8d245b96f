//! The frames of the Firefox Profiler's tables: their names and places.

use std::ops::Range;

use super::symbols::Symbols;
use crate::collapse::kit::clean_symbol::clean_symbol;
use crate::collapse::kit::json::{Json, Kind};
use crate::collapse::kit::names::FrameNames;
use crate::collapse::{CollapseOptions, Sink};
use crate::error::{Error, Result};
use crate::folded::{FrameId, Kind as CodeKind, Place, sanitize_frame};

/// A program or library.
#[derive(Default)]
pub struct Lib {
    pub name: String,
    pub debug_name: String,
    pub code_id: String,
    /// Its range in memory, where addresses are absolute.
    pub range: Range<u64>,
}

/// Reads the libraries of a profile, or of one of its processes.
///
/// # Errors
/// Anything but their list.
pub fn libs(json: &mut Json) -> Result<Vec<Lib>> {
    let mut libs = Vec::new();
    let mut key = String::new();
    json.begin_array()?;
    while json.next_item()? {
        let mut lib = Lib::default();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match (key.as_str(), json.peek()?) {
                ("name", Kind::Text) => lib.name.push_str(json.text()?),
                ("debugName", Kind::Text) => lib.debug_name.push_str(json.text()?),
                ("codeId", Kind::Text) => lib.code_id.push_str(json.text()?),
                ("start", Kind::Number) => lib.range.start = json.index()?.map_or(0, |at| at as u64),
                ("end", Kind::Number) => lib.range.end = json.index()?.map_or(0, |at| at as u64),
                _ => json.skip()?,
            }
        }
        libs.push(lib);
    }
    Ok(libs)
}

/// The error of an index that points to nothing.
pub fn no_such(index: Option<usize>, things: &str, count: usize) -> Error {
    let index = index.map_or("null".into(), |index| index.to_string());
    Error::malformed(format!("one of the {count} {things}"), index.as_bytes())
}

/// The tables that hold for one thread.
pub struct Columns<'p> {
    pub strings: &'p [String],
    pub holds_frames: bool,
    pub libs: &'p [Lib],
    pub mapped: &'p [Lib],
    pub all_mapped: &'p [Vec<Lib>],
    pub symbols: Option<&'p Symbols>,
    pub func: &'p [Option<usize>],
    pub location: &'p [Option<usize>],
    pub address: &'p [Option<usize>],
    pub line: &'p [Option<usize>],
    pub inline_depth: &'p [Option<usize>],
    pub name: &'p [Option<usize>],
    pub resource: &'p [Option<usize>],
    pub file: &'p [Option<usize>],
    pub lib: &'p [Option<usize>],
    pub category: &'p [Option<usize>],
    pub categories: &'p [String],
}

impl Columns<'_> {
    fn string(&self, index: Option<usize>) -> Result<&str> {
        let Some(index) = index else { return Ok("") };
        self.strings
            .get(index)
            .map(String::as_str)
            .ok_or_else(|| no_such(Some(index), "strings", self.strings.len()))
    }

    /// The kind of code of a frame, by its category.
    fn kind(&self, frame: usize) -> CodeKind {
        let category = self.category.get(frame).copied().flatten();
        match category.and_then(|at| self.categories.get(at)).map_or("", String::as_str) {
            "Kernel" => CodeKind::Kernel,
            "User" => CodeKind::User,
            name if name.starts_with("JIT") || name == "JavaScript" => CodeKind::Jit,
            _ => CodeKind::Unknown,
        }
    }

    /// A place in memory. A process in a sandbox does not see the names of its libraries, but has
    /// the same ones as others.
    fn mapped(
        &self,
        address: u64,
        options: &CollapseOptions,
        names: &mut FrameNames,
        sink: &mut dyn Sink,
    ) -> FrameId {
        let lib = self.mapped.iter().find(|lib| lib.range.contains(&address));
        let same = |lib: &&Lib| {
            let all = self.all_mapped.iter().flatten();
            all.filter(|other| !other.name.is_empty()).find(|other| other.code_id == lib.code_id)
        };
        let name = match lib {
            Some(lib) if lib.name.is_empty() => same(&lib).map_or("", |lib| lib.name.as_str()),
            Some(lib) => &lib.name,
            None => "",
        };
        let offset = lib.map_or(address, |lib| address - lib.range.start);
        names.module(name.as_bytes(), offset, options, sink)
    }

    /// The frame with an index, from that table or from those that it points into.
    ///
    /// # Errors
    /// An index that points to nothing.
    pub fn frame(
        &self,
        frame: usize,
        options: &CollapseOptions,
        names: &mut FrameNames,
        sink: &mut dyn Sink,
    ) -> Result<FrameId> {
        let of =
            |column: &[Option<usize>], at: Option<usize>| at.and_then(|at| column.get(at).copied().flatten());
        if !self.location.is_empty() {
            let name = self.string(of(self.location, Some(frame)))?;
            let hex = name.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
            return Ok(match hex.filter(|_| !self.mapped.is_empty()) {
                Some(address) => self.mapped(address, options, names, sink),
                None => names.plain(name.as_bytes(), sink),
            });
        }
        let func = of(self.func, Some(frame));
        if func.is_none_or(|func| func >= self.name.len()) {
            return Err(no_such(func, "functions", self.name.len()));
        }
        let mut name = self.string(of(self.name, func))?;
        if self.holds_frames {
            return Ok(names.plain(name.as_bytes(), sink));
        }
        let lib = of(self.lib, of(self.resource, func)).and_then(|lib| self.libs.get(lib));
        if let Some(address) = name.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok()) {
            let address = of(self.address, Some(frame)).map_or(address, |address| address as u64);
            let known = lib.zip(self.symbols);
            match known.and_then(|(lib, symbols)| symbols.name(&lib.debug_name, &lib.code_id, address)) {
                Some(symbol) => name = symbol,
                None => {
                    let module = lib.map_or("", |lib| &lib.name);
                    return Ok(names.module(module.as_bytes(), address, options, sink));
                }
            }
        }
        let path = self.string(of(self.file, func))?;
        let file = if options.srcline { path } else { "" };
        let is_inlined = of(self.inline_depth, Some(frame)).is_some_and(|depth| depth > 0);
        let inlined = options.inline && is_inlined;
        let line = of(self.line, Some(frame)).and_then(|line| u32::try_from(line).ok());
        let place = Place {
            module: lib.map_or(b"", |lib| lib.name.as_bytes()),
            file: path.as_bytes(),
            line: line.unwrap_or(0),
            kind: self.kind(frame),
            inlined: is_inlined,
            ..Place::default()
        };
        Ok(names.build_at(&place, sink, |out| {
            clean_symbol(name.as_bytes(), out);
            if !file.is_empty() {
                out.extend_from_slice(b" (");
                sanitize_frame(file.as_bytes(), out);
                if let Some(line) = of(self.line, Some(frame)) {
                    out.extend_from_slice(format!(":{line}").as_bytes());
                }
                out.push(b')');
            }
            if inlined {
                out.extend_from_slice(b"_[i]");
            }
        }))
    }
}

//! Addresses to frames: the symbol, and the functions inlined at the place.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, RwLock};

use super::object::Object;
use super::symbols::{self, Symbol, Symbols};
use crate::symbol::demangle;

/// What to find out about an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymbolizerOptions {
    /// Expand inlined functions, from debug information.
    pub inline: bool,
    /// Find source lines, from debug information.
    pub srcline: bool,
    /// Make mangled names readable.
    pub demangle: bool,
}

impl Default for SymbolizerOptions {
    /// Readable names with inlined functions, without lines.
    fn default() -> Self {
        SymbolizerOptions { inline: true, srcline: false, demangle: true }
    }
}

/// A frame that an address stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedFrame {
    /// The function; bytes as hostile as the file.
    pub name: Arc<[u8]>,
    /// The line, if it was asked for and is known.
    pub place: Option<Place>,
    /// Whether the compiler put it into the frame that follows.
    pub inlined: bool,
}

/// A line of source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, with its directory as far as that is known.
    pub file: Arc<[u8]>,
    /// The line, counted from 1.
    pub line: u32,
}

impl Place {
    /// `orders.c:12`, the file without its directory, as `perf` prints it.
    pub fn short(&self) -> Vec<u8> {
        let name = self.file.rsplit(|&b| b == b'/').next().unwrap_or(&self.file);
        [name, b":", self.line.to_string().as_bytes()].concat()
    }
}

/// Finds the frames of an object's addresses, on as many threads as share it.
///
/// Tables are read when the first address needs them, so it costs nothing to have one.
pub struct Symbolizer<'o> {
    object: &'o Object,
    options: SymbolizerOptions,
    symbols: OnceLock<Symbols<'o>>,
    /// Names that were made readable: a function has many addresses, and demangling is the
    /// slowest part of them.
    names: RwLock<HashMap<&'o [u8], Arc<[u8]>>>,
}

impl<'o> Symbolizer<'o> {
    /// One for an object.
    pub fn new(object: &'o Object, options: SymbolizerOptions) -> Self {
        Symbolizer { object, options, symbols: OnceLock::new(), names: RwLock::default() }
    }

    /// Appends the frames of a stated address (SVMA), the leaf first: inlined functions and the
    /// one they were put into. Nothing is appended where nothing is known.
    ///
    /// A return address stands behind its call, which may be another line or the next function's
    /// first byte: lines and inlined functions are looked up one byte before.
    pub fn resolve(&self, svma: u64, is_return_address: bool, sink: &mut Vec<ResolvedFrame>) {
        let at = if is_return_address { svma.saturating_sub(1) } else { svma };
        if let Some(symbol) = self.symbol(svma, at) {
            let name = self.name(&symbol.name);
            sink.push(ResolvedFrame { name, place: None, inlined: false });
        }
    }

    /// Whether the object has a symbol for anything.
    pub fn has_symbols(&self) -> bool {
        !self.symbols().is_empty()
    }

    /// A call at a function's very end returns to where the next one begins.
    fn symbol(&self, svma: u64, at: u64) -> Option<&Symbol<'o>> {
        self.symbols().find(at).or_else(|| self.symbols().find(svma))
    }

    fn symbols(&self) -> &Symbols<'o> {
        self.symbols.get_or_init(|| {
            let main = &self.object.main;
            let mut all = Vec::new();
            symbols::read(main, &mut all);
            if let Some(debug) = self.object.debug_image().filter(|debug| !std::ptr::eq(*debug, main)) {
                symbols::read(debug, &mut all);
            }
            Symbols::new(all, &symbols::code_sections(&main.elf))
        })
    }

    fn name(&self, raw: &[u8]) -> Arc<[u8]> {
        if !self.options.demangle {
            return raw.into();
        }
        demangle(raw).map_or_else(|| raw.into(), Arc::from)
    }
}

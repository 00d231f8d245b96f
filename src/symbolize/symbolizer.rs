//! Addresses to frames: the symbol, and the functions inlined at the place.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use super::dwarf::DebugInfo;
use super::frame_entries::FrameEntries;
use super::go;
use super::object::Object;
use super::place::Place;
use super::plt;
use super::symbols::{self, Symbols};
use crate::symbol::demangle;

/// A function whose name cannot be read, and which is a frame all the same: something was inlined
/// into it, or it was itself.
const UNNAMED: &[u8] = b"[unknown]";

/// The information to look up for an address.
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
    /// True if the compiler put it into the frame that follows.
    pub inlined: bool,
}

/// Keyed by the place of a name in memory and its length: the files' contents and the symbols stay
/// where they are, and a place is compared more quickly than a hundred bytes.
type Names = HashMap<(usize, usize), Arc<[u8]>>;

/// Finds the frames of an object's addresses, on as many threads as share it.
///
/// Tables are read when the first address needs them, so it costs nothing to have one.
pub struct Symbolizer<'o> {
    object: &'o Object,
    options: SymbolizerOptions,
    symbols: OnceLock<Symbols<'o>>,
    debug: OnceLock<Option<DebugInfo<'o>>>,
    entries: OnceLock<Option<FrameEntries>>,
    /// Names that were made readable: a function has many addresses, and demangling would be the
    /// slowest part of each.
    names: RwLock<Names>,
}

impl<'o> Symbolizer<'o> {
    /// A symbolizer for an object.
    pub fn new(object: &'o Object, options: SymbolizerOptions) -> Self {
        let (symbols, debug, entries) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Symbolizer { object, options, symbols, debug, entries, names: RwLock::default() }
    }

    /// Appends the frames of a stated address (SVMA), the leaf first: inlined functions and the
    /// one they were put into. Nothing is appended where nothing is known.
    ///
    /// A return address stands behind its call, which may be another line or the next function's
    /// first byte: one byte before it is still the call.
    pub fn resolve(&self, svma: u64, is_return_address: bool, sink: &mut Vec<ResolvedFrame>) {
        let mut at = if is_return_address { svma.saturating_sub(1) } else { svma };
        let mut symbol = self.symbols().find(at);
        if symbol.is_none() && is_return_address {
            // A signal's handler returns to a function's first byte: nothing called it from there.
            symbol = self.symbols().find(svma);
            at = if symbol.is_some() { svma } else { at };
        }
        let mut found = Vec::new();
        if let Some(debug) = self.debug() {
            debug.frames(at, self.options.srcline, &mut found);
        }
        let Some(function) = found.pop() else {
            sink.extend(symbol.map(|name| self.frame(name, None, false)));
            return;
        };
        let mut innermost = None;
        let unnamed = (self.options.inline && !found.is_empty()).then_some(UNNAMED);
        if self.options.inline {
            let inlined = found.into_iter().map(|f| self.frame(f.name.unwrap_or(UNNAMED), f.place, true));
            sink.extend(inlined);
        } else {
            innermost = found.into_iter().next().map(|frame| frame.place);
        }
        // The symbol table's name is the one that everybody shows.
        let name = symbol.map(|name| &**name).or(function.name).or(unnamed);
        sink.extend(name.map(|name| self.frame(name, innermost.unwrap_or(function.place), false)));
    }

    /// The stated address (SVMA) at which the function of an address begins, by its unwind tables: it tells
    /// functions without a symbol apart.
    pub fn function_start(&self, svma: u64, is_return_address: bool) -> Option<u64> {
        let entries = self.entries.get_or_init(|| FrameEntries::new(self.object)).as_ref()?;
        let before = is_return_address.then(|| svma.saturating_sub(1));
        // A signal's handler returns to a function's first byte.
        let function = before.and_then(|at| entries.function(at)).or_else(|| entries.function(svma));
        function.map(|range| range.start)
    }

    /// Returns whether the object has a symbol for anything.
    pub fn has_symbols(&self) -> bool {
        !self.symbols().is_empty()
    }

    fn symbols(&self) -> &Symbols<'o> {
        self.symbols.get_or_init(|| {
            let main = &self.object.main;
            let mut all = Vec::new();
            symbols::read(main, &mut all);
            if !symbols::has_table(main) {
                go::read(main, &mut all);
                // Elsewhere are those that are not visible outside.
                let elsewhere = self.object.debug_image().or_else(|| self.object.packed_table());
                if let Some(elsewhere) = elsewhere {
                    symbols::read(elsewhere, &mut all);
                }
            }
            plt::read(main, &mut all);
            symbols::choose(all, &symbols::code_sections(&main.elf))
        })
    }

    /// The debug information, if anything that only it knows was asked for.
    fn debug(&self) -> Option<&DebugInfo<'o>> {
        if !self.options.inline && !self.options.srcline {
            return None;
        }
        self.debug.get_or_init(|| DebugInfo::new(self.object)).as_ref()
    }

    fn frame(&self, name: &[u8], place: Option<Place>, inlined: bool) -> ResolvedFrame {
        ResolvedFrame { name: self.name(name), place, inlined }
    }

    /// `raw` is part of the object or of `self.symbols`, never a passing copy.
    fn name(&self, raw: &[u8]) -> Arc<[u8]> {
        let place = (raw.as_ptr() as usize, raw.len());
        let known = self.names.read().unwrap_or_else(PoisonError::into_inner).get(&place).cloned();
        known.unwrap_or_else(|| {
            let readable = if self.options.demangle { demangle(raw) } else { None };
            let name = readable.map_or_else(|| Arc::from(raw), Arc::from);
            self.names.write().unwrap_or_else(PoisonError::into_inner).insert(place, Arc::clone(&name));
            name
        })
    }
}

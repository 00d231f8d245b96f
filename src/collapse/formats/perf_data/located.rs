//! Addresses, mappings and build ids of frames, for formats of exchange.
//!
//! A raw frame is a place in a file, of all processes that run it. Its address is the one that the file itself
//! states, in a mapping without bounds: that is how pprof knows addresses that need no more adjustment. Without
//! the file it is the offset in a mapping of the whole file, from which pprof finds the address.

use std::collections::HashMap;

use super::frame_names::{FrameNames, SymbolState};
use super::modules::{KERNEL, Kind, Modules, UNKNOWN};
use crate::collapse::Sink;
use crate::folded::{FrameId, Place, StackTable};
use crate::number::hex_of;
use crate::profile::exchange::{Code, CodeKind, Exchange, Function, Location, Mapping};

/// A place in code, and the number of its raw frame.
pub(super) type RawPlace = (u32, u64, bool, u32);

/// Gives frames their lines of code. `tables` are the names of each thread, `locals` its frames there.
pub(super) fn locate(
    places: &[RawPlace],
    modules: &Modules,
    (tables, locals): (&[&StackTable], &[&[FrameId]]),
    names: &mut FrameNames,
    sink: &mut dyn Sink,
) {
    let Some(exchange) = sink.exchange() else { return };
    let mut mappings = Mappings::new(modules);
    // The first mapping is the program to pprof, and never the kernel.
    for &(module, _, _, number) in places {
        if modules.all()[module as usize].kind == Kind::File {
            mappings.mapping_number(module, names.named(number).svma.is_some(), exchange);
        }
    }
    for &(module, place, called, number) in places {
        let named = *names.named(number);
        let inside = place.wrapping_sub(called.into());
        let (address, is_stated) = named.svma.map_or((inside, false), |svma| (svma, true));
        let Some(exchange) = sink.exchange() else { return };
        let mapping = (module != UNKNOWN).then(|| mappings.mapping_number(module, is_stated, exchange));
        let location = exchange.location(Location { mapping, address, is_folded: false });
        let table = tables[named.thread];
        for at in 0..named.len {
            let local = locals[named.thread][named.start + at];
            let (name, place) = (table.name(local), table.place(local));
            let Some(exchange) = sink.exchange() else { return };
            let shown = exchange.text(name);
            let function = Function {
                name: shown,
                file: exchange.text(place.file),
                start_line: place.start_line.into(),
                ..Function::default()
            };
            let kind = match named.known {
                SymbolState::Module(_) => CodeKind::Address,
                _ => CodeKind::Line { function: Some(function), line: place.line.into(), column: 0 },
            };
            let code = exchange.code(Code { location, at: at as u32, shown, kind });
            let frame = sink.frame_at(name, &Place { code, ..place });
            names.replace(&named, at, frame);
        }
    }
}

/// The mappings of modules.
pub(super) struct Mappings<'m> {
    modules: &'m Modules,
    /// By the module, and by the meaning of addresses there: true for offsets.
    numbers: HashMap<(u32, bool), u32>,
}

impl<'m> Mappings<'m> {
    /// No mappings yet.
    pub fn new(modules: &'m Modules) -> Mappings<'m> {
        Mappings { modules, numbers: HashMap::new() }
    }

    /// The number of the mapping of a module, in which addresses are those that the file states, or offsets.
    pub fn mapping_number(&mut self, module: u32, is_stated: bool, exchange: &mut Exchange) -> u32 {
        let known = &self.modules.all()[module as usize];
        let is_offset = known.kind == Kind::File && !is_stated;
        *self.numbers.entry((module, is_offset)).or_insert_with(|| {
            let build_id = match module {
                KERNEL => self.modules.recorded.build_id.as_deref(),
                _ => known.build_id(),
            };
            let build_id = build_id.map(hex_of);
            let mapping = Mapping {
                limit: if is_offset { u64::MAX } else { 0 },
                file: exchange.text(&known.path),
                build_id: exchange.text(build_id.unwrap_or_default().as_bytes()),
                // Names, files, lines and inlined functions are known as far as the file has them.
                has: if is_offset { 0 } else { 0b1111 },
                ..Mapping::default()
            };
            exchange.mapping(mapping).0
        })
    }
}

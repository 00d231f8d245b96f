//! The names of addresses: methods and their modules as the runtime tells of them, symbols and mappings of version 6.

use std::collections::HashMap;

use crate::bytes::Cursor;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::native_frame::NativeFrame;
use crate::collapse::{CollapseOptions, Sink};
use crate::folded::{FrameId, Kind, Place, sanitize_frame};

/// The methods and symbols of all processes, and the files that they are of.
#[derive(Default)]
pub struct Places {
    functions: Vec<Function>,
    modules: HashMap<u64, String>,
    mappings: Vec<Mapping>,
    mapping_files: HashMap<u64, Vec<u8>>,
}

struct Function {
    process: u64,
    start: u64,
    end: u64,
    name: Name,
}

enum Name {
    /// A method, and the number of its module.
    Method(String, u64),
    /// A symbol, and the number of its mapping.
    Symbol(Vec<u8>, u64),
}

/// A part of a file in the memory of a process.
struct Mapping {
    process: u64,
    start: u64,
    end: u64,
    number: u64,
}

/// Addresses from here on are the kernel's, on processors of 64 bits.
const KERNEL: u64 = 1 << 63;

impl Places {
    /// Returns true if no function has a name.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Reads a method of a process.
    pub fn method(&mut self, process: u64, payload: &[u8]) -> Option<()> {
        let mut fields = Cursor::little(payload);
        let (_, module, start, size) = (fields.u64()?, fields.u64()?, fields.u64()?, fields.u32()?);
        fields.take(8)?;
        let (namespace, name) = (fields.terminated_utf16()?, fields.terminated_utf16()?);
        let name = if namespace.is_empty() { name } else { format!("{namespace}.{name}") };
        let end = start.saturating_add(size.into());
        self.functions.push(Function { process, start, end, name: Name::Method(name, module) });
        Some(())
    }

    /// Reads a module.
    pub fn module(&mut self, payload: &[u8]) -> Option<()> {
        let mut fields = Cursor::little(payload);
        let module = fields.u64()?;
        fields.take(16)?;
        let path = fields.terminated_utf16()?;
        let name = path.rsplit(['/', '\\']).next().unwrap_or(&path).to_owned();
        self.modules.insert(module, name);
        Some(())
    }

    /// Reads a mapping, of the process that it names or of the event's.
    pub fn mapping(&mut self, mut process: u64, names_process: bool, payload: &[u8]) -> Option<()> {
        let mut fields = Cursor::little(payload);
        let number = fields.varint()?;
        if names_process {
            process = fields.varint()?;
        }
        let (start, end, _offset) = (fields.varint()?, fields.varint()?, fields.varint()?);
        self.mapping_files.insert(number, fields.u16_counted()?.to_vec());
        self.mappings.push(Mapping { process, start, end, number });
        Some(())
    }

    /// Reads a symbol of a process.
    pub fn symbol(&mut self, process: u64, payload: &[u8]) -> Option<()> {
        let mut fields = Cursor::little(payload);
        let (_, mapping, start, last) =
            (fields.varint()?, fields.varint()?, fields.varint()?, fields.varint()?);
        let name = Name::Symbol(fields.u16_counted()?.to_vec(), mapping);
        self.functions.push(Function { process, start, end: last.saturating_add(1), name });
        Some(())
    }

    /// Puts all into the order of addresses, before frames are asked for.
    pub fn sort(&mut self) {
        // Of functions at one address the latest is told of last.
        self.functions.sort_by_key(|function| (function.process, function.start));
        self.mappings.sort_by_key(|mapping| (mapping.process, mapping.start));
    }

    /// The frame of an address in a process; one behind a call, unless it is where the thread was.
    pub fn frame(
        &self,
        process: u64,
        (address, is_behind): (u64, bool),
        options: &CollapseOptions,
        names: &mut FrameNames,
        sink: &mut dyn Sink,
    ) -> FrameId {
        // The call belongs to the function, what follows it may not.
        let inside = address.saturating_sub(is_behind.into());
        let hex = format!("{address:x}");
        let mut native = NativeFrame {
            address: hex.as_bytes(),
            kernel: address >= KERNEL,
            module: if address >= KERNEL { b"[kernel.kallsyms]" } else { b"" },
            ..NativeFrame::default()
        };
        match self.function(process, inside).map(|function| &function.name) {
            Some(Name::Method(name, module)) => {
                let module = self.modules.get(module).map_or("", String::as_str).as_bytes();
                let place = Place { module, kind: Kind::User, ..Place::default() };
                return names.build_at(&place, sink, |out| sanitize_frame(name.as_bytes(), out));
            }
            Some(Name::Symbol(name, mapping)) => {
                native.symbol = name;
                native.module = self.file(*mapping).unwrap_or(native.module);
            }
            None => {
                let after = self
                    .mappings
                    .partition_point(|mapping| (mapping.process, mapping.start) <= (process, inside));
                let found = after.checked_sub(1).map(|at| &self.mappings[at]);
                let found = found.filter(|found| found.process == process && inside < found.end);
                native.module = found.and_then(|found| self.file(found.number)).unwrap_or(native.module);
            }
        }
        native.frame(options, names, sink)
    }

    fn function(&self, process: u64, address: u64) -> Option<&Function> {
        let key = |function: &Function| (function.process, function.start);
        let next = self.functions.partition_point(|function| key(function) <= (process, address));
        let found = &self.functions[next.checked_sub(1)?];
        (found.process == process && address < found.end).then_some(found)
    }

    fn file(&self, mapping: u64) -> Option<&[u8]> {
        self.mapping_files.get(&mapping).map(Vec::as_slice).filter(|file| !file.is_empty())
    }
}

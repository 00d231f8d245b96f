//! The frames of all sequences, each once, and the names that were appended to a trace for them.

use std::collections::HashMap;
use std::rc::Rc;

use crate::collapse::kit::naming::SymbolFrame;
use crate::collapse::kit::protobuf::{Content, Fields};
use crate::collapse::{CollapseOptions, Sink};
use crate::folded::FrameId;
use crate::unique::Unique;

/// A frame by what it says of itself; parts that are not known are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FrameKey {
    pub function: Rc<[u8]>,
    /// The path of the file that was mapped.
    pub module: Rc<[u8]>,
    /// The address in the module.
    pub address: u64,
    pub file: Rc<[u8]>,
    pub line: u32,
}

/// A function that a symbolizer found at an address; several, leaf first, where there are inlined ones.
#[derive(Clone, Debug, Default)]
struct Symbol {
    function: Vec<u8>,
    file: Vec<u8>,
    line: u32,
}

/// Frames by number, and names by module and address.
#[derive(Default)]
pub struct Frames {
    keys: Unique<FrameKey>,
    symbols: HashMap<(Vec<u8>, u64), Vec<Symbol>>,
    /// The finished frames, root first.
    finished: HashMap<u32, Rc<[FrameId]>>,
}

impl Frames {
    /// The number of a frame.
    pub fn frame_number(&mut self, key: FrameKey) -> u32 {
        self.keys.key(key)
    }

    /// Adds the names of a `ModuleSymbols`. `None` if it is damaged.
    pub fn add_symbols(&mut self, bytes: &[u8]) -> Option<()> {
        let (mut path, mut addresses) = (Vec::new(), Vec::new());
        for field in Fields(bytes) {
            match field? {
                (1, Content::Bytes(bytes)) => path = bytes.to_vec(),
                (3, Content::Bytes(bytes)) => addresses.push(symbols(bytes)?),
                _ => {}
            }
        }
        for (address, symbols) in addresses {
            self.symbols.insert((path.clone(), address), symbols);
        }
        Some(())
    }

    /// The finished frames of a number, root first: more than one where the compiler has put functions into others.
    pub fn finish(&mut self, number: u32, options: &CollapseOptions, sink: &mut dyn Sink) -> Rc<[FrameId]> {
        if let Some(finished) = self.finished.get(&number) {
            return finished.clone();
        }
        let key = self.keys.all().get(number as usize).cloned().unwrap_or_default();
        let known = self.symbols.get(&(key.module.to_vec(), key.address));
        let own = [Symbol { function: key.function.to_vec(), file: key.file.to_vec(), line: key.line }];
        let symbols = match known {
            Some(symbols) if !symbols.is_empty() => symbols,
            _ => &own[..],
        };
        let address = format!("{:x}", key.address);
        let mut frames = Vec::new();
        for (at, Symbol { function, file, line }) in symbols.iter().enumerate() {
            let inlined = at + 1 < symbols.len();
            if inlined && options.no_inline {
                continue;
            }
            let mut srcline = Vec::new();
            if options.srcline && !file.is_empty() {
                let name = file.rsplit(|b| *b == b'/').next().unwrap_or(file);
                srcline = [name, format!(":{line}").as_bytes()].concat();
            }
            let frame = SymbolFrame {
                address: address.as_bytes(),
                symbol: function,
                module: &key.module,
                srcline: &srcline,
                file,
                line: *line,
                inlined,
                ..SymbolFrame::default()
            };
            frame.frames(options, sink, |frame| frames.push(frame));
        }
        frames.reverse();
        let finished: Rc<[FrameId]> = frames.into();
        self.finished.insert(number, finished.clone());
        finished
    }
}

/// An `AddressSymbols`.
fn symbols(bytes: &[u8]) -> Option<(u64, Vec<Symbol>)> {
    let (mut address, mut symbols) = (0, Vec::new());
    for field in Fields(bytes) {
        match field? {
            (1, Content::Number(number)) => address = number,
            (2, Content::Bytes(bytes)) => {
                let mut symbol = Symbol::default();
                for field in Fields(bytes) {
                    match field? {
                        (1, Content::Bytes(name)) => symbol.function = name.to_vec(),
                        (2, Content::Bytes(file)) => symbol.file = file.to_vec(),
                        (3, Content::Number(line)) => symbol.line = u32::try_from(line).unwrap_or(0),
                        _ => {}
                    }
                }
                symbols.push(symbol);
            }
            _ => {}
        }
    }
    Some((address, symbols))
}

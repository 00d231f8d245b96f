//! The tables of a sequence: texts, names of slices, mappings, frames and stacks by number.

use std::collections::HashMap;
use std::rc::Rc;

use super::frames::{FrameKey, Frames};
use crate::collapse::kit::protobuf::{Content, Fields, message, numbers};

/// A stack: the numbers of its frames in [`Frames`], root first.
pub type Stack = Rc<[u32]>;

/// The tables of one writer.
#[derive(Default)]
pub struct Tables {
    pub categories: HashMap<u64, Rc<[u8]>>,
    pub event_names: HashMap<u64, Rc<[u8]>>,
    functions: HashMap<u64, Rc<[u8]>>,
    paths: HashMap<u64, Rc<[u8]>>,
    sources: HashMap<u64, Rc<[u8]>>,
    /// The numbers of the parts of paths.
    mappings: HashMap<u64, Vec<u64>>,
    frames: HashMap<u64, Frame>,
    stacks: HashMap<u64, Vec<u64>>,
    /// Process and thread of samples, and what they count.
    pub tasks: HashMap<u64, (u64, u64)>,
    pub counters: HashMap<u64, Counter>,
    resolved: HashMap<u64, Stack>,
}

#[derive(Clone, Copy, Default)]
struct Frame {
    function: u64,
    mapping: u64,
    address: u64,
    source: u64,
    line: u64,
}

/// The quantity that stack samples are measured in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    pub name: Vec<u8>,
    pub unit: String,
    pub multiplier: u64,
}

impl Tables {
    /// Adds what an `InternedData` holds, or a `ProfilePacket` of Android 10. `None` if it is damaged.
    pub fn add(&mut self, bytes: &[u8], is_profile: bool) -> Option<()> {
        for field in Fields(bytes) {
            let (number, Content::Bytes(bytes)) = field? else { continue };
            // The packet of Android 10 has other numbers, and one table for all texts.
            let number = match (is_profile, number) {
                (false, number) => number,
                (true, 1) => {
                    let (id, text) = text(bytes)?;
                    self.functions.insert(id, text.clone());
                    self.paths.insert(id, text);
                    continue;
                }
                (true, 2) => 6,
                (true, 3) => 7,
                (true, 4) => 19,
                (true, _) => continue,
            };
            match number {
                1 => self.categories.extend([text(bytes)?]),
                2 => self.event_names.extend([text(bytes)?]),
                5 => self.functions.extend([text(bytes)?]),
                17 => self.paths.extend([text(bytes)?]),
                18 => self.sources.extend([text(bytes)?]),
                19 => {
                    let (id, path) = list(bytes, 7)?;
                    self.mappings.insert(id, path);
                }
                6 => {
                    let mut fields = [0; 7];
                    message(bytes, &mut fields)?;
                    let [_, id, function, mapping, address, source, line] = fields;
                    self.frames.insert(id, Frame { function, mapping, address, source, line });
                }
                7 => {
                    let (id, frames) = list(bytes, 2)?;
                    self.stacks.insert(id, frames);
                    self.resolved.remove(&id);
                }
                2000 => {
                    let mut fields = [0; 4];
                    message(bytes, &mut fields)?;
                    self.tasks.insert(fields[1], (fields[2], fields[3]));
                }
                2002 => {
                    let (id, counter) = Counter::read(bytes)?;
                    self.counters.insert(id, counter);
                }
                _ => {}
            }
        }
        Some(())
    }

    /// The stack of a number, if its packet is not lost.
    pub fn stack(&mut self, number: u64, frames: &mut Frames) -> Option<Stack> {
        if let Some(stack) = self.resolved.get(&number) {
            return Some(stack.clone());
        }
        let stack: Stack = self.numbers(self.stacks.get(&number)?, frames).into();
        self.resolved.insert(number, stack.clone());
        Some(stack)
    }

    /// A stack that stands in its sample.
    pub fn inline_stack(&self, bytes: &[u8], frames: &mut Frames) -> Option<Stack> {
        let (_, numbers) = list(bytes, 2)?;
        Some(self.numbers(&numbers, frames).into())
    }

    fn numbers(&self, stack: &[u64], frames: &mut Frames) -> Vec<u32> {
        stack.iter().map(|number| frames.frame_number(self.key(*number))).collect()
    }

    /// The frame of a number with its texts; those that are lost are empty.
    fn key(&self, number: u64) -> FrameKey {
        let Frame { function, mapping, address, source, line } =
            self.frames.get(&number).copied().unwrap_or_default();
        let text = |table: &HashMap<u64, Rc<[u8]>>, id: u64| table.get(&id).cloned().unwrap_or_default();
        let mut module = Vec::new();
        for part in self.mappings.get(&mapping).map_or(&[][..], Vec::as_slice) {
            let part = text(&self.paths, *part);
            if !part.starts_with(b"/") && !part.starts_with(b"[") {
                module.push(b'/');
            }
            module.extend_from_slice(&part);
        }
        FrameKey {
            function: text(&self.functions, function),
            module: module.into(),
            address,
            file: text(&self.sources, source),
            line: u32::try_from(line).unwrap_or(0),
        }
    }
}

impl Counter {
    /// A `CounterDescriptor`, and its number.
    pub fn read(bytes: &[u8]) -> Option<(u64, Counter)> {
        let (mut id, mut counter) = (0, Counter { multiplier: 1, ..Counter::default() });
        for field in Fields(bytes) {
            match field? {
                (1, Content::Number(number)) => id = number,
                (2, Content::Bytes(name)) => counter.name = name.to_vec(),
                (3, Content::Number(unit)) => {
                    let unit = match unit {
                        1 => "ns",
                        2 => "cycles",
                        3 => "instructions",
                        4 => "bytes",
                        5 => "page-faults",
                        6 => "cache-misses",
                        7 => "cache-references",
                        8 => "branch-misses",
                        _ => "",
                    };
                    counter.unit = unit.to_owned();
                }
                (4, Content::Bytes(unit)) => counter.unit = String::from_utf8_lossy(unit).into_owned(),
                (5, Content::Number(multiplier)) => counter.multiplier = multiplier,
                _ => {}
            }
        }
        Some((id, counter))
    }
}

/// An `InternedString`.
fn text(bytes: &[u8]) -> Option<(u64, Rc<[u8]>)> {
    let (mut id, mut text): (u64, &[u8]) = (0, b"");
    for field in Fields(bytes) {
        match field? {
            (1, Content::Number(number)) => id = number,
            (2, Content::Bytes(bytes)) => text = bytes,
            _ => {}
        }
    }
    Some((id, text.into()))
}

/// A number in field 1, and the numbers of a repeated field.
fn list(bytes: &[u8], repeated: u32) -> Option<(u64, Vec<u64>)> {
    let (mut id, mut list) = (0, Vec::new());
    for field in Fields(bytes) {
        match field? {
            (1, Content::Number(number)) => id = number,
            (number, content) if number == repeated => numbers(content, |number| list.push(number))?,
            _ => {}
        }
    }
    Some((id, list))
}

//! The codes of stacks and of places in the source, which both say what has changed.

use std::collections::HashMap;

use crate::bytes::Cursor;
use crate::collapse::kit::forest::DEEPEST;

/// The number of places in a cache that the check of a packet never names.
const NO_CHECK: u16 = 0xffff;

/// Stacks of a domain: each begins as the one before, and goes on with codes for slots of a cache.
#[derive(Default)]
pub struct Stacks {
    /// The location in each slot that was used, and the slot that came behind it last.
    cache: HashMap<u16, (u64, u16)>,
    /// The stack that was read last, root first.
    pub last: Vec<u64>,
}

impl Stacks {
    fn slot(&mut self, slot: u16) -> &mut (u64, u16) {
        self.cache.entry(slot).or_default()
    }

    /// Returns whether the cache is as the header of a packet says.
    pub fn is_as(&self, (slot, next, location): (u16, u16, u64)) -> bool {
        let held = self.cache.get(&slot).copied().unwrap_or_default();
        slot == NO_CHECK || held == (location, next)
    }

    /// Reads a stack of `codes` behind the first `shared` locations of the one before; `None` is damage.
    pub fn read(&mut self, fields: &mut Cursor<'_>, shared: usize, codes: usize) -> Option<()> {
        let mut slot = 0;
        let mut added = Vec::new();
        for _ in 0..codes {
            let code = fields.u16()?;
            let next = code >> 2;
            self.slot(slot).1 = next;
            slot = next;
            let predicted = match code & 3 {
                few @ (0 | 1) => few as u8,
                2 => fields.u8()?,
                _ => {
                    self.slot(slot).0 = fields.u64()?;
                    0
                }
            };
            added.push(self.slot(slot).0);
            for _ in 0..predicted {
                slot = self.slot(slot).1;
                added.push(self.slot(slot).0);
            }
            if shared.checked_add(added.len())? > DEEPEST {
                return None;
            }
        }
        // A stack that was too long for the packet shares more with the next than is known of it.
        if shared <= self.last.len() {
            self.last.truncate(shared);
            self.last.append(&mut added);
        }
        Some(())
    }
}

/// A function and the place in it that was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub function: Vec<u8>,
    pub file: Vec<u8>,
    pub line: u32,
}

/// Places of a domain: the files that were named last, and the functions that were named last in each, latest first.
#[derive(Default)]
pub struct Locations {
    files: Vec<(Vec<u8>, Vec<Vec<u8>>)>,
}

/// The most files that are remembered, and functions of each; the number of one that is not.
const REMEMBERED: usize = 31;

impl Locations {
    /// Reads the code of a location and the functions there, root first; `None` is damage.
    pub fn read(&mut self, fields: &mut Cursor<'_>) -> Option<(u64, Vec<Location>)> {
        let (code, count) = (fields.u64()?, fields.u8()?);
        let locations: Option<Vec<Location>> = (0..count).map(|_| self.location(fields)).collect();
        Some((code, locations?))
    }

    fn location(&mut self, fields: &mut Cursor<'_>) -> Option<Location> {
        let packed = u64::from(fields.u32()?) | u64::from(fields.u16()?) << 32;
        // The columns are between.
        let line = (packed & 0xf_ffff) as u32;
        let (file, function) = ((packed >> 38) as usize & REMEMBERED, (packed >> 43) as usize & REMEMBERED);
        if file < REMEMBERED {
            self.files.get(file)?;
            self.files[..=file].rotate_right(1);
        } else {
            let name = fields.terminated_text()?.to_vec();
            // The first version's writer goes on with the functions of the file that is forgotten.
            let functions = if self.files.len() == REMEMBERED { self.files.pop()?.1 } else { Vec::new() };
            self.files.insert(0, (name, functions));
        }
        let (file, functions) = &mut self.files[0];
        if function < REMEMBERED {
            functions.get(function)?;
            functions[..=function].rotate_right(1);
        } else {
            functions.insert(0, fields.terminated_text()?.to_vec());
            functions.truncate(REMEMBERED);
        }
        Some(Location { function: functions[0].clone(), file: file.clone(), line })
    }
}

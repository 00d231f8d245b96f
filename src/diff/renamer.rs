//! Names that differ between builds and mean the same: addresses, hashes, and functions with a
//! new name.

use std::collections::HashMap;

use super::side::Side;
use crate::error::Result;
use crate::filter::{OpOptions, Operation, Rewrite, Stage};
use crate::folded::{FrameId, StackTable};

/// Changes the names of both sides before they are compared.
#[derive(Default)]
pub(crate) struct Renamer {
    strip: Option<Box<dyn Rewrite>>,
    /// The name after, by the name before.
    renamed: HashMap<Vec<u8>, Vec<u8>>,
    /// The program at the root, before and after.
    program: Option<(Vec<u8>, Vec<u8>)>,
    table: StackTable,
    stack: Vec<FrameId>,
}

impl Renamer {
    /// Removes parts of names, as `fg-filter --strip` does: `hash,hex`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] for parts that do not exist.
    pub(crate) fn new(strip: Option<&str>) -> Result<Renamer> {
        let mut renamer = Renamer::default();
        if let Some(parts) = strip {
            let operation = Operation::find("strip").expect("fg-filter has --strip");
            if let Stage::Rewrite(rewrite) = operation.build(parts, OpOptions::default())? {
                renamer.strip = Some(rewrite);
            }
        }
        Ok(renamer)
    }

    /// Gives frames of the side before the name they have after.
    pub(crate) fn rename(&mut self, pairs: &[(Vec<u8>, Vec<u8>)]) {
        self.renamed.extend(pairs.iter().cloned());
    }

    /// Gives the program at the root of the side before the name it has after.
    pub(crate) fn rename_program(&mut self, pair: (Vec<u8>, Vec<u8>)) {
        self.program = Some(pair);
    }

    /// Returns true if a name may change.
    pub(crate) fn is_needed(&self) -> bool {
        self.strip.is_some() || !self.renamed.is_empty() || self.program.is_some()
    }

    /// Writes the stack with its new names behind what `out` holds.
    pub(crate) fn apply(&mut self, side: Side, stack: &[u8], out: &mut Vec<u8>) {
        self.stack.clear();
        for frame in stack.split(|&b| b == b';') {
            self.stack.push(self.table.frame(frame));
        }
        if let Some(strip) = &mut self.strip {
            strip.rewrite(&mut self.stack, &mut self.table);
        }
        for (n, &frame) in self.stack.iter().enumerate() {
            if n > 0 {
                out.push(b';');
            }
            let name = self.table.name(frame);
            let new = match &self.program {
                _ if side == Side::After => None,
                Some((old, new)) if n == 0 && old == name => Some(new),
                _ => self.renamed.get(name),
            };
            out.extend_from_slice(new.map_or(name, |new| new));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_one() {
        let mut names = Renamer::new(Some("hex")).unwrap();
        for (name, tidy) in [("a;0x7f12AB;b+0x1", "a;0x...;b+0x..."), ("0x;0xg", "0x;0xg"), ("main", "main")]
        {
            let mut out = Vec::new();
            names.apply(Side::After, name.as_bytes(), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), tidy);
        }
        assert!(Renamer::new(Some("nosuch")).is_err());
        assert!(!Renamer::new(None).unwrap().is_needed());
    }

    #[test]
    fn only_before_is_renamed() {
        let mut names = Renamer::new(Some("hex")).unwrap();
        names.rename(&[(b"old 0x...".to_vec(), b"new".to_vec())]);
        for (side, expected) in [(Side::Before, "a;new;b"), (Side::After, "a;old 0x...;b")] {
            let mut out = Vec::new();
            names.apply(side, b"a;old 0x12;b", &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}

//! Names that differ between builds and mean the same: addresses, and functions with a new name.

use std::collections::HashMap;

use super::side::Side;

/// What is done to the names of both sides before they are compared.
#[derive(Debug, Default)]
pub struct Names {
    hex: bool,
    /// Of before, by frame: the name after.
    renamed: HashMap<Vec<u8>, Vec<u8>>,
    scratch: Vec<u8>,
}

impl Names {
    /// With `hex`, `0x7f12` becomes `0x...`.
    pub fn new(hex: bool) -> Names {
        Names { hex, ..Names::default() }
    }

    /// Gives frames of before the name they have after.
    pub fn rename(&mut self, pairs: &[(Vec<u8>, Vec<u8>)]) {
        self.renamed.extend(pairs.iter().cloned());
    }

    /// Whether any name may change.
    pub fn is_needed(&self) -> bool {
        self.hex || !self.renamed.is_empty()
    }

    /// Writes the stack with its new names behind what `out` holds.
    pub fn apply(&mut self, side: Side, stack: &[u8], out: &mut Vec<u8>) {
        if side == Side::After || self.renamed.is_empty() {
            self.tidy(stack, out);
            return;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        self.tidy(stack, &mut scratch);
        for (n, frame) in scratch.split(|&b| b == b';').enumerate() {
            if n > 0 {
                out.push(b';');
            }
            out.extend_from_slice(self.renamed.get(frame).map_or(frame, |new| new));
        }
        self.scratch = scratch;
    }

    fn tidy(&self, stack: &[u8], out: &mut Vec<u8>) {
        match self.hex {
            true => without_hex(stack, out),
            false => out.extend_from_slice(stack),
        }
    }
}

/// Every `0x` with digits behind it becomes `0x...`.
fn without_hex(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr::memmem::find(rest, b"0x") {
        let digits = rest[at + 2..].iter().take_while(|b| b.is_ascii_hexdigit()).count();
        out.extend_from_slice(&rest[..at + 2]);
        if digits > 0 {
            out.extend_from_slice(b"...");
        }
        rest = &rest[at + 2 + digits..];
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_one() {
        for (name, tidy) in
            [("a;0x7f12AB;b+0x1", "a;0x...;b+0x..."), ("0x;0xg;x0x1", "0x;0xg;x0x..."), ("main", "main")]
        {
            let mut out = Vec::new();
            Names::new(true).apply(Side::After, name.as_bytes(), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), tidy);
        }
    }

    #[test]
    fn only_before_is_renamed() {
        let mut names = Names::new(true);
        names.rename(&[(b"old 0x...".to_vec(), b"new".to_vec())]);
        for (side, expected) in [(Side::Before, "a;new;b"), (Side::After, "a;old 0x...;b")] {
            let mut out = Vec::new();
            names.apply(side, b"a;old 0x12;b", &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}

//! The length of instructions that branch.
//!
//! A stretch of code between two branches is known by its first instruction and its last one. Where the last
//! one ends, its bytes tell.

use crate::symbolize::{Bytes, Machine, Object};

/// The code of an object.
pub(super) struct Code {
    machine: Machine,
    start: u64,
    bytes: Option<Bytes>,
}

impl Code {
    pub fn of(object: &Object) -> Code {
        let text = object.section(b".text");
        let start = text.as_ref().map_or(0, |text| text.svma.start);
        Code { machine: object.machine(), start, bytes: text.map(|text| text.bytes) }
    }

    /// The number of bytes of the branch at a stated address; 1 if that is not known.
    pub fn branch_length(&self, at: u64) -> u64 {
        let inside = at.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        let code = self.bytes.as_ref().zip(inside).and_then(|(bytes, at)| bytes.get(at..));
        match self.machine {
            Machine::X86_64 | Machine::X86 => code.and_then(x86).unwrap_or(1),
            Machine::Aarch64 => 4,
            _ => 1,
        }
    }
}

/// The length of a jump, a call or a return.
fn x86(code: &[u8]) -> Option<u64> {
    let is_prefix = |byte: &&u8| matches!(**byte, 0x2e | 0x3e | 0x40..=0x4f | 0xf2 | 0xf3);
    let prefixes = code.iter().take(4).take_while(is_prefix).count();
    let rest = code.get(prefixes..)?;
    let length = match *rest.first()? {
        0xc3 | 0xcb => 1,
        0x70..=0x7f | 0xe0..=0xe3 | 0xeb | 0xcd => 2,
        0xc2 | 0xca => 3,
        0xe8 | 0xe9 => 5,
        0x0f => match rest.get(1)? {
            0x05 | 0x07 | 0x34 | 0x35 => 2,
            0x80..=0x8f => 6,
            _ => return None,
        },
        0xff => {
            let form = *rest.get(1)?;
            let (mode, register) = (form >> 6, form & 7);
            let base = if mode < 3 && register == 4 { rest.get(2)? & 7 } else { register };
            let sib = u64::from(mode < 3 && register == 4);
            2 + sib
                + match mode {
                    0 if base == 5 => 4,
                    1 => 1,
                    2 => 4,
                    _ => 0,
                }
        }
        _ => return None,
    };
    Some(prefixes as u64 + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_have_their_assembler_lengths() {
        for (code, length) in [
            (&[0xc3, 0x90][..], Some(1)),
            (&[0xf3, 0xc3], Some(2)),
            (&[0x74, 0x05], Some(2)),
            (&[0x0f, 0x84, 1, 0, 0, 0], Some(6)),
            (&[0xe8, 1, 2, 3, 4], Some(5)),
            // call *%rax; call *8(%rax); call *0x100(%rip); call *(%rax,%rcx,8); jmp *%r11
            (&[0xff, 0xd0], Some(2)),
            (&[0xff, 0x50, 8], Some(3)),
            (&[0xff, 0x15, 0, 1, 0, 0], Some(6)),
            (&[0xff, 0x14, 0xc8], Some(3)),
            (&[0xff, 0x14, 0xc5, 0, 0, 0, 0], Some(7)),
            (&[0x41, 0xff, 0xe3], Some(3)),
            (&[0x3e, 0xff, 0xe0], Some(3)),
            (&[0x90], None),
            (&[], None),
        ] {
            assert_eq!(x86(code), length, "{code:x?}");
        }
    }
}

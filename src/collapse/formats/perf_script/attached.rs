//! Lines below the frames of a sample with further fields of it: `-F +insn,+uregs,+brstack`. They end its stack, in place
//! of a blank line.
//!
//! ```text
//!  ilen: 4 insn: 48 83 c0 01
//!  ABI:2    AX:0x55b5e7d41196    BX:0x7ffd72cbcae3    CX:0x7f1b44cf2ad7
//!  0x55b5e7d4119f/0x55b5e7d41196/P/-/-/0  0x55b5e7d411a4/0x55b5e7d4119f/P/-/-/0
//! ```

/// Recognises instructions, registers and branches of the sample above: nothing that stacks are made of.
pub(super) fn is_attached(line: &[u8]) -> bool {
    let word = || line.trim_ascii_start().split(|b| b.is_ascii_whitespace()).next().unwrap_or_default();
    is_named(line) || (line.starts_with(b" ") && is_branch(word()))
}

/// Recognises instructions and registers, whose numbers could be taken for those of a thread.
pub(super) fn is_named(line: &[u8]) -> bool {
    let names = [&b" ilen: "[..], b" insn: ", b" ABI:"];
    names.iter().any(|name| line.starts_with(name))
}

/// `from/to/P/-/-/0`: the third field says if the branch was predicted.
fn is_branch(word: &[u8]) -> bool {
    let fields: Vec<&[u8]> = word.rsplit(|&b| b == b'/').take(7).collect();
    let flag = |field: &[u8]| field.len() <= 2 && field.iter().all(|b| b"PMXAN-".contains(b));
    // From the right: cycles, and since perf 6.x the kind of branch and its speculation.
    fields.len() >= 6
        && fields.windows(3).any(|three| three.iter().all(|field| !field.is_empty() && flag(field)))
}

#[cfg(test)]
mod tests {
    use super::is_attached;

    #[test]
    fn instructions_registers_and_branches_are_no_samples() {
        for line in [
            " ilen: 4 insn: 48 83 c0 01",
            " ilen: 0",
            " insn: 48 83",
            " ABI:2    AX:0x1    BX:0x2 ",
            " 0x55b5/0x55b6/P/-/-/0  0x1/0x2/M/-/-/12 ",
            " main+0x1/leaf+0x2/P/-/-/0/CALL/- ",
        ] {
            assert!(is_attached(line.as_bytes()), "{line}");
        }
        for line in [
            "w  6934 71211.628260:    2000000 cpu-clock: ",
            " w 7/8 1.000000: 1 a/b/u: ",
            "  /a/b/c/d/e/f.c:3",
            "",
        ] {
            assert!(!is_attached(line.as_bytes()), "{line}");
        }
    }
}

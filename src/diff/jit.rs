//! Code that a program made while it ran: recorders name its file by the process, which is another one in each run.

/// The name of such code in a report.
const NAME: &[u8] = b"[jit]";
const START: &[u8] = b"[perf-";
const END: &[u8] = b".map]";

/// The stack with one name for the frames `[perf-3828.map]` of all processes; `None` if it has none.
pub(super) fn plain<'s>(stack: &[u8], out: &'s mut Vec<u8>) -> Option<&'s [u8]> {
    memchr::memmem::find(stack, START)?;
    out.clear();
    for (n, frame) in stack.split(|&byte| byte == b';').enumerate() {
        if n > 0 {
            out.push(b';');
        }
        let process = frame.strip_prefix(START).and_then(|rest| rest.strip_suffix(END));
        let is_jit = process.is_some_and(|process| process.iter().all(u8::is_ascii_digit));
        out.extend_from_slice(if is_jit { NAME } else { frame });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_any_process_has_one_name() {
        let mut out = Vec::new();
        assert_eq!(plain(b"node;[perf-3828.map];f", &mut out), Some(&b"node;[jit];f"[..]));
        assert_eq!(
            plain(b"node;[perf-x.map];[perf-1.map] 2", &mut out),
            Some(&b"node;[perf-x.map];[perf-1.map] 2"[..])
        );
        assert_eq!(plain(b"node;f", &mut out), None);
    }
}

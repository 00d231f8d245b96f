//! Code that a program made while it ran: recorders name its file by the process, which is another one in each run.

/// The name of such code in a report.
const NAME: &[u8] = b"[jit]";
const START: &[u8] = b"[perf-";
const END: &[u8] = b".map]";
/// The start of the address in the name of a hidden class of Java: `LambdaForm$MH/0x00007f7834003800.invoke`.
const ADDRESS: &[u8] = b"/0x";

/// The stack with one name for the frames `[perf-3828.map]` of all processes, and for hidden classes of Java wherever they
/// are; `None` if it has none of them.
pub(super) fn plain<'s>(stack: &[u8], out: &'s mut Vec<u8>) -> Option<&'s [u8]> {
    let has = |part: &[u8]| memchr::memmem::find(stack, part).is_some();
    if !has(START) && !has(ADDRESS) {
        return None;
    }
    out.clear();
    for (n, frame) in stack.split(|&byte| byte == b';').enumerate() {
        if n > 0 {
            out.push(b';');
        }
        let process = frame.strip_prefix(START).and_then(|rest| rest.strip_suffix(END));
        let is_jit = process.is_some_and(|process| process.iter().all(u8::is_ascii_digit));
        if is_jit { out.extend_from_slice(NAME) } else { add_without_address(frame, out) }
    }
    Some(out)
}

/// Adds a name without the digits of the address of a hidden class.
fn add_without_address(mut name: &[u8], out: &mut Vec<u8>) {
    while let Some(at) = memchr::memmem::find(name, ADDRESS) {
        let (start, rest) = name.split_at(at + ADDRESS.len());
        out.extend_from_slice(start);
        let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        // Shorter numbers may be a part of a path.
        name = if digits >= 8 { &rest[digits..] } else { rest };
    }
    out.extend_from_slice(name);
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

    #[test]
    fn hidden_classes_of_java_have_one_name_in_all_runs() {
        let mut out = Vec::new();
        let stack = b"java;java.lang.invoke.LambdaForm$MH/0x00007f7834003800.invoke;Main$$Lambda/0x00007f7834000a00.get";
        let plain_stack = b"java;java.lang.invoke.LambdaForm$MH/0x.invoke;Main$$Lambda/0x.get";
        assert_eq!(plain(stack, &mut out), Some(&plain_stack[..]));
        assert_eq!(plain(b"a;dir/0x12/b", &mut out), Some(&b"a;dir/0x12/b"[..]));
    }
}

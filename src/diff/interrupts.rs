//! Frames of preemption and interrupts: the busy machine's work, found wherever a program happens to be
//! interrupted. A report has one row for all of them.

use super::options::Interrupts;

/// The name of the row.
pub(super) const NAME: &[u8] = b"[interrupts]";

/// Linux functions below which all is the machine's.
const FRAMES: &[&[u8]] = &[b"finish_task_switch", b"irq_exit_rcu", b"__irq_exit_rcu"];
/// The beginnings of names of such functions.
const PREFIXES: &[&[u8]] = &[b"asm_sysvec_", b"sysvec_", b"asm_common_interrupt", b"finish_task_switch."];

impl Interrupts {
    /// The stack as the report has it: cut behind the caller of the first such frame, which is replaced by
    /// the row's name. `None` if it has none.
    pub(super) fn cut<'s>(self, stack: &[u8], out: &'s mut Vec<u8>) -> Option<&'s [u8]> {
        if self == Interrupts::Apart {
            return None;
        }
        let mut start = 0;
        for frame in stack.split(|&byte| byte == b';') {
            if is_interrupt(frame) {
                out.clear();
                out.extend_from_slice(&stack[..start]);
                out.extend_from_slice(NAME);
                return Some(out);
            }
            start += frame.len() + 1;
        }
        None
    }
}

fn is_interrupt(frame: &[u8]) -> bool {
    let name = frame.strip_suffix(b"_[k]").unwrap_or(frame);
    FRAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_ends_where_the_machine_interrupts_it() {
        let cut = |stack: &str| {
            let mut out = Vec::new();
            Interrupts::Together
                .cut(stack.as_bytes(), &mut out)
                .map(|cut| String::from_utf8_lossy(cut).into_owned())
        };
        assert_eq!(
            cut("main;read;asm_sysvec_call_function_[k];a").as_deref(),
            Some("main;read;[interrupts]")
        );
        assert_eq!(cut("main;finish_task_switch.isra.0_[k]").as_deref(), Some("main;[interrupts]"));
        assert_eq!(cut("__irq_exit_rcu_[k];a;irq_exit_rcu_[k]").as_deref(), Some("[interrupts]"));
        assert_eq!(cut("main;finish_task_switches;my_sysvec_"), None);
        assert_eq!(Interrupts::Apart.cut(b"main;irq_exit_rcu", &mut Vec::new()), None);
    }
}

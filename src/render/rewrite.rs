//! Changes to each stack before it is laid out: `--reverse` and `--base`.

use std::ops::Range;

/// Changes to stacks. The default changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackRewrite {
    /// Leaf first: callers are stacked on what they call.
    pub reverse: bool,
    /// Leaves out stacks without one of these frames, if there are any, and cuts off what is rootward
    /// of the first one.
    pub bases: Vec<Vec<u8>>,
}

impl StackRewrite {
    /// Returns true if it changes anything.
    pub fn is_needed(&self) -> bool {
        self.reverse || !self.bases.is_empty()
    }

    /// The frames that are left of a stack, of so many frames with these names, root first; `None` to leave
    /// it out.
    pub(super) fn kept<'n>(&self, len: usize, name: impl Fn(usize) -> &'n [u8]) -> Option<Range<usize>> {
        if self.bases.is_empty() {
            return Some(0..len);
        }
        let is_base = |at: &usize| self.bases.iter().any(|base| base == name(*at));
        match self.reverse {
            false => (0..len).find(is_base).map(|at| at..len),
            true => (0..len).rev().find(is_base).map(|at| 0..at + 1),
        }
    }

    /// Writes the new stack, first reversed, then cut; `false` to leave it out.
    pub fn apply(&self, stack: &[u8], out: &mut Vec<u8>) -> bool {
        if self.reverse {
            out.reserve(stack.len());
            for frame in stack.rsplit(|&b| b == b';') {
                out.extend_from_slice(frame);
                out.push(b';');
            }
            out.pop();
        } else {
            out.extend_from_slice(stack);
        }
        if self.bases.is_empty() {
            return true;
        }
        let mut start = 0;
        for frame in out.split(|&b| b == b';') {
            if self.bases.iter().any(|base| base == frame) {
                out.drain(..start);
                return true;
            }
            start += frame.len() + 1;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(rewrite: &StackRewrite, stack: &str) -> Option<String> {
        let mut out = Vec::new();
        rewrite.apply(stack.as_bytes(), &mut out).then(|| String::from_utf8(out).unwrap())
    }

    #[test]
    fn reverses_frames_not_bytes() {
        let rewrite = StackRewrite { reverse: true, ..StackRewrite::default() };
        assert_eq!(apply(&rewrite, "main;parse it;lex").as_deref(), Some("lex;parse it;main"));
        assert_eq!(apply(&rewrite, "main").as_deref(), Some("main"));
        assert_eq!(apply(&rewrite, ";a").as_deref(), Some("a;"));
    }

    #[test]
    fn known_wrong_base_loses_neither_leaves_nor_roots() {
        let rewrite =
            StackRewrite { bases: vec![b"lex".to_vec(), b"run".to_vec()], ..StackRewrite::default() };
        assert_eq!(apply(&rewrite, "main;lex;next").as_deref(), Some("lex;next"));
        assert_eq!(apply(&rewrite, "main;lex").as_deref(), Some("lex"));
        assert_eq!(apply(&rewrite, "lex;next").as_deref(), Some("lex;next"));
        assert_eq!(apply(&rewrite, "main;run;lex;run").as_deref(), Some("run;lex;run"));
        assert_eq!(apply(&rewrite, "main;lexer;next"), None);
    }

    #[test]
    fn a_base_in_a_reversed_graph_shows_its_callers() {
        let rewrite = StackRewrite { reverse: true, bases: vec![b"malloc".to_vec()] };
        assert_eq!(apply(&rewrite, "main;parse;malloc;page fault").as_deref(), Some("malloc;parse;main"));
    }
}

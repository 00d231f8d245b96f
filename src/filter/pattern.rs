//! The expressions that choose stacks, compiled twice: once to be exact, once to be fast.
//!
//! A search line by line pays for every line. So beside the true expression there is a looser
//! one, which runs over whole blocks and finds lines worth a closer look: look-around (`^`, `$`,
//! `\b`) is left out of it, as it would see newlines and weights where the true one sees the end
//! of a stack, and so is the newline, so that no match spans two lines. Whatever the true one
//! matches in a line, the looser one matches there too.

use regex::bytes::Regex;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

use crate::error::Result;
use crate::search::{Case, Syntax, compile, parse};

/// The part of a stack that an expression has to match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// Any part of `a;b;c`: `^` is the root, `$` the leaf, and a match may span frames.
    #[default]
    Part,
    /// A part with no word character right before or behind it.
    Word,
    /// The whole of some frame.
    Frame,
}

/// The meaning of expressions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatternOptions {
    /// Expressions are plain text, not regular expressions.
    pub fixed: bool,
    /// The meaning of upper and lower case.
    pub case: Case,
    /// The part of a stack that they have to match.
    pub extent: Extent,
}

/// Regular expressions that choose stacks: one of them has to match.
///
/// The syntax is that of the `regex` crate. Text is bytes that should be UTF-8: `.` matches a
/// character and no invalid byte, `(?-u:.)` matches any byte.
///
/// ```
/// use fg_tools::filter::{Pattern, PatternOptions};
///
/// let pattern = Pattern::new(&["^main;.*read$"], PatternOptions::default())?;
/// assert!(pattern.matches(b"main;io;read"));
/// assert!(!pattern.matches(b"main;read;copy"));
/// # Ok::<(), fg_tools::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pattern {
    exact: Regex,
    extent: Extent,
    /// `None` if it would match everywhere.
    loose: Option<Regex>,
    /// True if a match of the loose expression in a stack needs no second look.
    loose_is_exact: bool,
}

impl Pattern {
    /// Compiles expressions; without any, nothing is matched.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`](crate::ErrorKind::Setting) names the mistake in an expression, or says it is too large.
    pub fn new<S: AsRef<str>>(expressions: &[S], options: PatternOptions) -> Result<Pattern> {
        let syntax = if options.fixed { Syntax::Plain } else { Syntax::Regex };
        let hirs: Result<Vec<Hir>> =
            expressions.iter().map(|text| parse(text.as_ref(), syntax, options.case)).collect();
        let any = Hir::alternation(hirs?);
        let exact = match options.extent {
            Extent::Part => any,
            Extent::Word => around(Look::WordStartHalfUnicode, any, Look::WordEndHalfUnicode),
            Extent::Frame => around(Look::Start, any, Look::End),
        };
        let loose = loosen(&exact);
        let compiled = compile(&exact)?;
        Ok(Pattern {
            loose_is_exact: exact.properties().look_set().is_empty(),
            extent: options.extent,
            loose: match loose.properties().minimum_len() {
                Some(0) => None,
                // Most are the same, and compiling takes longer than all else that is done for a small input.
                _ if loose == exact => Some(compiled.clone()),
                _ => Some(compile(&loose)?),
            },
            exact: compiled,
        })
    }

    /// Returns true if a stack, root first and without its weight, is matched.
    #[inline]
    pub fn matches(&self, stack: &[u8]) -> bool {
        match self.extent {
            Extent::Part | Extent::Word => self.exact.is_match(stack),
            Extent::Frame => stack.split(|&b| b == b';').any(|frame| self.exact.is_match(frame)),
        }
    }

    /// The next line worth a closer look: a place behind the first byte of the line that starts
    /// at `from` or of one after it, at most where that line ends. No line before is matched.
    #[inline]
    pub(super) fn candidate(&self, lines: &[u8], from: usize) -> Option<usize> {
        match &self.loose {
            Some(loose) if from < lines.len() => loose.shortest_match_at(lines, from),
            Some(_) => None,
            // Even an empty line ends behind its start, at the newline.
            None => (from < lines.len()).then_some(from),
        }
    }

    /// Returns true if the line `start..`, with its stack up to `stack_end`, is matched, given that
    /// [`Pattern::candidate`] returned `hit`.
    #[inline]
    pub(super) fn confirms(&self, hit: usize, lines: &[u8], start: usize, stack_end: usize) -> bool {
        let sure = self.loose_is_exact && self.loose.is_some() && hit <= stack_end;
        sure || self.matches(&lines[start..stack_end])
    }
}

fn around(before: Look, hir: Hir, after: Look) -> Hir {
    Hir::concat(vec![Hir::look(before), hir, Hir::look(after)])
}

/// The looser expression for whole blocks: see the module's description.
fn loosen(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Hir::empty(),
        HirKind::Literal(literal) if literal.0.contains(&b'\n') => Hir::fail(),
        HirKind::Literal(literal) => Hir::literal(literal.0.clone()),
        HirKind::Class(class) => Hir::class(without_newline(class)),
        HirKind::Repetition(repetition) => Hir::repetition(repetition.with(loosen(&repetition.sub))),
        HirKind::Capture(capture) => loosen(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(loosen).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(loosen).collect()),
    }
}

fn without_newline(class: &Class) -> Class {
    use regex_syntax::hir::{ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange};

    match class {
        Class::Unicode(class) => {
            let mut class = class.clone();
            class.difference(&ClassUnicode::new([ClassUnicodeRange::new('\n', '\n')]));
            Class::Unicode(class)
        }
        Class::Bytes(class) => {
            let mut class = class.clone();
            class.difference(&ClassBytes::new([ClassBytesRange::new(b'\n', b'\n')]));
            Class::Bytes(class)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(expression: &str, lines: &[u8]) -> Vec<usize> {
        let pattern = Pattern::new(&[expression], PatternOptions::default()).unwrap();
        let mut lines_hit = Vec::new();
        let mut from = 0;
        while let Some(hit) = pattern.candidate(lines, from) {
            let before = &lines[..hit];
            lines_hit.push(before.iter().filter(|&&b| b == b'\n').count());
            from = hit + lines[hit..].iter().position(|&b| b == b'\n').unwrap_or(lines.len()) + 1;
        }
        lines_hit
    }

    #[test]
    fn candidates_stay_within_a_line() {
        let lines = b"b 1\nc 1\nbxc 1\nbc";
        for (expression, hits) in [
            ("b[^a]c", &[2][..]),
            ("b(?s:.+)c", &[2]),
            ("b(?-u:[^a])c", &[2]),
            (r"b\s*c", &[3]),
            (r"1\nc", &[]),
            ("^b$", &[0, 2, 3]),
            ("z*", &[0, 1, 2, 3]),
        ] {
            assert_eq!(candidates(expression, lines), hits, "{expression}");
        }
    }

    #[test]
    fn only_expressions_without_look_around_are_exact_on_blocks() {
        for (expression, exact) in [("a.b", true), ("^a", false), (r"a\b", false), ("(a|b$)", false)] {
            let pattern = Pattern::new(&[expression], PatternOptions::default()).unwrap();
            assert_eq!(pattern.loose_is_exact, exact, "{expression}");
        }
    }
}

//! The frames that a profile asks to leave out: `drop_frames`, unless `keep_frames` names them.
//!
//! A writer uses it for the profiler's own frames, or an allocator's. As pprof does (`profile/prune.go` in
//! github.com/google/pprof), what is called by such a frame goes with it, and nothing above the first
//! other frame is left out, so that no stack becomes empty.

use regex::bytes::Regex;

use crate::symbol::demangle;

/// The two expressions of a profile; both match the whole name of a function.
pub struct Prune {
    drop: Regex,
    keep: Option<Regex>,
}

/// The part of a location that is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// The location is not concerned.
    All,
    /// The stack ends with this location, of which the inlined functions that match are gone.
    Outer,
    /// The stack ends before this location.
    None,
}

impl Prune {
    /// Reads the expressions; `None` if there is nothing to drop.
    ///
    /// # Errors
    /// An expression that cannot be used. pprof drops nothing then.
    pub fn new(drop: &[u8], keep: &[u8]) -> Result<Option<Prune>, String> {
        let compile = |field: &str, text: &[u8]| {
            let text = std::str::from_utf8(text).map_err(|_| format!("{field} is not UTF-8"))?;
            let whole = Regex::new(&format!("^(?:{text})$"));
            whole.map_err(|_| format!("{field} is no regular expression known here"))
        };
        if drop.is_empty() {
            return Ok(None);
        }
        let keep = if keep.is_empty() { None } else { Some(compile("keep_frames", keep)?) };
        Ok(Some(Prune { drop: compile("drop_frames", drop)?, keep }))
    }

    /// Judges the functions of a location, the innermost first: what is left of it, and how many of the
    /// functions at the beginning are gone.
    pub fn judge(&self, functions: &[&[u8]]) -> (Left, usize) {
        match functions.iter().rposition(|name| !name.is_empty() && self.drops(name)) {
            None => (Left::All, 0),
            Some(at) if at + 1 == functions.len() => (Left::None, 0),
            Some(at) => (Left::Outer, at + 1),
        }
    }

    fn drops(&self, name: &[u8]) -> bool {
        let demangled = demangle(name);
        let name = simplified(demangled.as_deref().unwrap_or(name));
        self.drop.is_match(name) && !self.keep.as_ref().is_some_and(|keep| keep.is_match(name))
    }
}

/// A name as the expressions are written for: without arguments, and without the dot that starts it on
/// some processors.
fn simplified(name: &[u8]) -> &[u8] {
    let name = name.strip_prefix(b".").unwrap_or(name);
    let end = memchr::memchr_iter(b'(', name).find(|&at| {
        let call_operator = name[..at].ends_with(b"operator") && name[at..].starts_with(b"()");
        !(call_operator || name[at..].starts_with(b"(anonymous namespace)"))
    });
    &name[..end.unwrap_or(name.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_matched_whole_and_without_arguments() {
        let prune =
            Prune::new(b"malloc|.*::alloc|A::operator\\(\\)|\\(anonymous namespace\\)::f", b"keep::.*");
        let prune = prune.unwrap().unwrap();
        for (name, dropped) in [
            ("malloc", true),
            (".malloc", true),
            ("malloc_usable_size", false),
            ("my_malloc", false),
            ("Pool::alloc(unsigned long)", true),
            ("_ZN4Pool5allocEm", true),
            ("keep::alloc", false),
            ("A::operator()(int)", true),
            ("(anonymous namespace)::f(int)", true),
        ] {
            assert_eq!(prune.drops(name.as_bytes()), dropped, "{name}");
        }
    }

    #[test]
    fn the_outermost_match_decides() {
        let prune = Prune::new(b"drop", b"").unwrap().unwrap();
        for (functions, judged) in [
            (&[&b"a"[..], b"b"][..], (Left::All, 0)),
            (&[b"a", b"drop"], (Left::None, 0)),
            (&[b"drop", b"a"], (Left::Outer, 1)),
            (&[b"drop", b"a", b"drop", b"b"], (Left::Outer, 3)),
            (&[], (Left::All, 0)),
        ] {
            assert_eq!(prune.judge(functions), judged);
        }
    }

    #[test]
    fn expressions_that_cannot_be_used_are_said() {
        assert!(Prune::new(b"", b"(").unwrap().is_none());
        assert!(Prune::new(b"(", b"").err().unwrap().starts_with("drop_frames is no"));
        assert!(Prune::new(b"a", b"\xff").err().unwrap().starts_with("keep_frames is not UTF-8"));
    }
}

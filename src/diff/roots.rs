//! Two builds of one program under different names: `bench-1f0a` and `bench-77c2` are one root of one tree.
//!
//! Native profilers begin each stack with the name of the program. Without this, a copy of the program under
//! another name would have no stack in common with it: everything would be gone, and everything new.

use std::collections::BTreeSet;

use super::notes;
use crate::profile::Facts;

/// The most roots of a side. A program that names more threads than that is compared as it is.
const MOST: usize = 256;
/// The most bytes of them. A frame may have a name of megabytes.
const MOST_BYTES: usize = 1 << 20;
/// The length of a program's name in the kernel: longer ones are cut.
const NAME: usize = 15;

/// The first frames of stacks, each with the frames that follow it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roots {
    /// The first two frames of stacks, as far as there are two.
    starts: BTreeSet<Vec<u8>>,
    /// The start of the stack before.
    last: Vec<u8>,
    /// The bytes of the starts.
    bytes: usize,
    /// There are more than [`MOST`], or they take more than [`MOST_BYTES`].
    are_many: bool,
}

/// The end of the first two frames of a stack.
fn start_of(stack: &[u8]) -> usize {
    memchr::memchr_iter(b';', stack).nth(1).unwrap_or(stack.len())
}

fn root_of(start: &[u8]) -> &[u8] {
    &start[..memchr::memchr(b';', start).unwrap_or(start.len())]
}

impl Roots {
    /// Adds the root of a stack.
    #[inline]
    pub(crate) fn note(&mut self, stack: &[u8]) {
        let is_last = stack.strip_prefix(&self.last[..]).is_some_and(|rest| matches!(rest, [] | [b';', ..]));
        if !is_last || self.last.is_empty() {
            self.note_start(&stack[..start_of(stack)]);
        }
    }

    #[cold]
    fn note_start(&mut self, start: &[u8]) {
        self.last.clear();
        self.last.extend_from_slice(start);
        if !self.are_many && !self.starts.contains(start) {
            let bytes = self.bytes + start.len();
            self.are_many = self.starts.len() == MOST || bytes > MOST_BYTES;
            if !self.are_many {
                self.bytes = bytes;
                self.starts.insert(start.to_vec());
            }
        }
    }

    /// Adds the roots of others.
    pub(crate) fn add(&mut self, others: &Roots) {
        others.starts.iter().for_each(|start| self.note_start(start));
        self.are_many |= others.are_many;
    }

    fn names(&self) -> BTreeSet<&[u8]> {
        self.starts.iter().map(|start| root_of(start)).collect()
    }

    /// The frames that are called by a root.
    fn below<'r>(&'r self, root: &'r [u8]) -> BTreeSet<&'r [u8]> {
        let below = self.starts.iter().filter(|start| root_of(start) == root);
        below.filter_map(|start| start.get(root.len() + 1..)).collect()
    }
}

/// The names of one program before and after: the only root that each side has alone, if that is its only
/// root at all, or the name of its command. What they call must have something in common.
pub(crate) fn program(before: (&Roots, &[&Facts]), after: (&Roots, &[&Facts])) -> Option<(Vec<u8>, Vec<u8>)> {
    let has_labels = |facts: &[&Facts]| facts.iter().any(|facts| !facts.labels.is_empty());
    if before.0.are_many || after.0.are_many || has_labels(before.1) || has_labels(after.1) {
        return None;
    }
    let (all_before, all_after) = (before.0.names(), after.0.names());
    let alone = |of: &BTreeSet<&[u8]>, other: &BTreeSet<&[u8]>| {
        let mut alone = of.difference(other).map(|root| root.to_vec());
        alone.next().filter(|_| alone.next().is_none())
    };
    let (old, new) = (alone(&all_before, &all_after)?, alone(&all_after, &all_before)?);
    let is_command = |root: &[u8], facts: &[&Facts]| {
        let mut programs = facts.iter().map(|facts| facts.command.as_deref().and_then(notes::program));
        !facts.is_empty()
            && programs.all(|program| {
                program.is_some_and(|program| root == &program.as_bytes()[..program.len().min(NAME)])
            })
    };
    let are_only = all_before.len() == 1 && all_after.len() == 1;
    let are_programs = are_only || is_command(&old, before.1) && is_command(&new, after.1);
    let is_alike = !before.0.below(&old).is_disjoint(&after.0.below(&new));
    (are_programs && is_alike).then_some((old, new))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(before: &[&str], after: &[&str], commands: [&str; 2]) -> Option<(String, String)> {
        let roots = [before, after].map(|stacks| {
            let mut roots = Roots::default();
            stacks.iter().for_each(|stack| roots.note(stack.as_bytes()));
            roots
        });
        let facts = commands.map(|command| {
            let mut facts = Facts::default();
            facts.command = (!command.is_empty()).then(|| command.to_owned());
            facts
        });
        let text = |name: Vec<u8>| String::from_utf8(name).unwrap();
        let (old, new) = program((&roots[0], &[&facts[0]]), (&roots[1], &[&facts[1]]))?;
        Some((text(old), text(new)))
    }

    #[test]
    fn only_roots_that_call_the_same_are_one_program() {
        let is = |old: &str, new: &str| Some((old.to_owned(), new.to_owned()));
        assert_eq!(pair(&["app;main;a", "app;main"], &["app2;main;b"], ["", ""]), is("app", "app2"));
        assert_eq!(pair(&["app;main"], &["app;main"], ["", ""]), None, "one name");
        assert_eq!(pair(&["main;x"], &["_start;main;x"], ["", ""]), None, "another function");
        assert_eq!(pair(&["GET"], &["POST"], ["", ""]), None, "no stacks");
        assert_eq!(
            pair(&["app;main", "io;run"], &["app2;main", "io;run"], ["", ""]),
            None,
            "not the only root"
        );
    }

    #[test]
    fn beside_other_threads_the_command_tells() {
        let threads = |name: &str| [format!("{name};main"), "io;run".to_owned()];
        let paired = |old: &str, new: &str, commands| {
            let (before, after) = (threads(old), threads(new));
            pair(&[&before[0], &before[1]], &[&after[0], &after[1]], commands).is_some()
        };
        assert!(paired("app", "app2", ["./app 1", "./b/app2 1"]));
        assert!(paired(
            "bench-012345678",
            "bench-112345678",
            ["./bench-0123456789ab", "./bench-1123456789cd"]
        ));
        assert!(!paired("app", "app2", ["./app", ""]));
        assert!(!paired("gc", "net", ["./app", "./app"]));
    }

    #[test]
    fn many_roots_are_compared_as_they_are() {
        let stacks = |name: &str, n: usize| (0..n).map(|n| format!("{name};f{n}")).collect::<Vec<_>>();
        for (n, is_one) in [(MOST, true), (MOST + 1, false)] {
            let (before, after) = (stacks("a", n), stacks("b", n));
            let [before, after] =
                [&before, &after].map(|all| all.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(pair(&before, &after, ["", ""]).is_some(), is_one, "{n}");
        }
    }
}

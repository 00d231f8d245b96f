//! The weight of each source line of each function.
//!
//! A stack counts at one line of a function: that of the call nearest to the leaf. So the lines of
//! a function, of a recursive one too, add up to the function itself. Inlined functions are
//! functions: what they weigh is in their own lines, and in the total of the line that calls them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::error::Result;
use crate::folded::{FrameId, Interner, Place, Weights};
use crate::number;
use crate::profile::Profile;
use crate::render::rewrite::StackRewrite;

/// The weight of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineWeights {
    /// The weight of the stacks that end in it.
    pub own: Weights,
    /// The weight of the stacks through it.
    pub total: Weights,
}

impl LineWeights {
    fn checked_add(self, other: LineWeights) -> Result<LineWeights> {
        Ok(LineWeights { own: self.own.checked_add(other.own)?, total: self.total.checked_add(other.total)? })
    }
}

/// The lines of a function in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionLines {
    /// The name of the function, without a place.
    pub name: Vec<u8>,
    /// The source file, as the recording names it.
    pub file: Vec<u8>,
    /// The line where the function begins, from 1; 0 is unknown.
    pub start_line: u32,
    /// The names of its frames: several where names hold the line.
    pub frames: BTreeSet<Vec<u8>>,
    /// By line, from 1; 0 for what is at no known line.
    pub lines: BTreeMap<u32, LineWeights>,
}

impl FunctionLines {
    /// The weight of all its lines.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn sum(&self) -> Result<LineWeights> {
        self.lines.values().try_fold(LineWeights::default(), |sum, line| sum.checked_add(*line))
    }
}

/// The function and the line of a frame.
#[derive(Clone, Copy)]
struct Site {
    function: u32,
    line: u32,
}

/// Adds up lines, stack by stack.
#[derive(Default)]
pub struct SourceLines {
    functions: Vec<FunctionLines>,
    /// The function and the file, apart by a 0 byte.
    keys: Interner,
    /// By function: the number of the stack that it was last met in.
    met: Vec<u64>,
    stacks: u64,
    /// Frames of text, and their sites.
    texts: Interner,
    text_sites: Vec<Option<Site>>,
    path: Vec<Option<Site>>,
}

impl SourceLines {
    /// The lines of a profile, of the part of each stack that is left by `rewrite`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn of_profile(profile: &Profile, rewrite: &StackRewrite) -> Result<SourceLines> {
        let table = profile.stacks();
        let mut lines = SourceLines::default();
        let mut sites: HashMap<FrameId, Option<Site>> = HashMap::new();
        let mut path = Vec::new();
        for (stack, weights) in table.stacks() {
            let Some(kept) = rewrite.kept(stack.len(), |at| table.name(stack[at])) else { continue };
            path.clear();
            for &frame in &stack[kept] {
                let site =
                    sites.entry(frame).or_insert_with(|| lines.site(table.name(frame), &table.place(frame)));
                path.push(*site);
            }
            lines.add(&path, weights)?;
        }
        Ok(lines)
    }

    /// Adds a stack of folded text, whose frames may name their lines: `work (app.py:12)`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add_text(&mut self, stack: &[u8], leaf_first: bool, weights: Weights) -> Result<()> {
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        for name in stack.split(|&byte| byte == b';') {
            let id = self.texts.key(name) as usize;
            if id == self.text_sites.len() {
                let site = self.site(name, &place_in(name));
                self.text_sites.push(site);
            }
            path.push(self.text_sites[id]);
        }
        if leaf_first {
            path.reverse();
        }
        let added = self.add(&path, weights);
        self.path = path;
        added
    }

    /// Every function that has lines, in no order that means anything.
    pub fn functions(&self) -> &[FunctionLines] {
        &self.functions
    }

    fn site(&mut self, frame: &[u8], place: &Place<'_>) -> Option<Site> {
        if place.file.is_empty() {
            return None;
        }
        let name = without_place(frame, place.file);
        let function = self.keys.key(&[name, b"\0", place.file].concat());
        if function as usize == self.functions.len() {
            self.met.push(0);
            self.functions.push(FunctionLines {
                name: name.to_vec(),
                file: place.file.to_vec(),
                ..FunctionLines::default()
            });
        }
        let lines = &mut self.functions[function as usize];
        if place.start_line > 0 && (lines.start_line == 0 || place.start_line < lines.start_line) {
            lines.start_line = place.start_line;
        }
        lines.frames.insert(frame.to_vec());
        Some(Site { function, line: place.line })
    }

    fn add(&mut self, path: &[Option<Site>], weights: Weights) -> Result<()> {
        // As in every tree: nothing stands for a weight below 0.
        if weights.value.is_negative() || weights.before.is_negative() {
            return Ok(());
        }
        self.stacks += 1;
        for (from_leaf, site) in path.iter().rev().enumerate() {
            let Some(Site { function, line }) = *site else { continue };
            if std::mem::replace(&mut self.met[function as usize], self.stacks) == self.stacks {
                continue;
            }
            let own = if from_leaf == 0 { weights } else { Weights::default() };
            let sum = self.functions[function as usize].lines.entry(line).or_default();
            *sum = sum.checked_add(LineWeights { own, total: weights })?;
        }
        Ok(())
    }
}

/// The place that a name ends in: `(app.py:12)`.
fn place_in(name: &[u8]) -> Place<'_> {
    let Some((_, inner)) = split_place(name) else { return Place::default() };
    match file_and_line(inner) {
        (file, line) if line > 0 && !file.is_empty() => Place { file, line, ..Place::default() },
        _ => Place::default(),
    }
}

/// A name without the place that it ends in, if that is in this file.
fn without_place<'n>(name: &'n [u8], file: &[u8]) -> &'n [u8] {
    match split_place(name) {
        Some((function, inner)) if base_name(file_and_line(inner).0) == base_name(file) => function,
        _ => name,
    }
}

/// `work`, `app.py:12` of `work (app.py:12)`.
fn split_place(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = name.strip_suffix(b")")?;
    let open = memchr::memmem::rfind(inner, b" (").filter(|&open| open > 0)?;
    Some((&inner[..open], &inner[open + 2..]))
}

/// `app.py`, 12 of `app.py:12`; 0 without a line.
fn file_and_line(place: &[u8]) -> (&[u8], u32) {
    let line = memchr::memrchr(b':', place).and_then(|at| Some((at, number::parse(&place[at + 1..])?)));
    line.map_or((place, 0), |(at, line)| (&place[..at], line))
}

fn base_name(file: &[u8]) -> &[u8] {
    file.rsplit(|&byte| byte == b'/' || byte == b'\\').next().unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Weight;
    use crate::profile::{Context, ProfileBuilder, Sink as _, Wants};

    fn at(file: &'static str, line: u32) -> Place<'static> {
        Place { file: file.as_bytes(), line, ..Place::default() }
    }

    type FrameAt = (&'static str, &'static str, u32);

    /// A stack for each row: name, file and line of its frames, and its weight.
    fn lines(stacks: &[(&[FrameAt], i128)], rewrite: &StackRewrite) -> SourceLines {
        let mut builder = ProfileBuilder::new(Wants::ALL);
        for (stack, weight) in stacks {
            let ids: Vec<FrameId> = stack
                .iter()
                .map(|(name, file, line)| builder.frame_at(name.as_bytes(), &at(file, *line)))
                .collect();
            builder.sample(&ids, Weights::one(Weight::new(*weight)), &Context::UNKNOWN).unwrap();
        }
        SourceLines::of_profile(&builder.finish().unwrap(), rewrite).unwrap()
    }

    fn shown(lines: &SourceLines) -> Vec<String> {
        let mut rows: Vec<String> = Vec::new();
        for function in lines.functions() {
            let name = String::from_utf8_lossy(&function.name);
            rows.extend(function.lines.iter().map(|(line, LineWeights { own, total })| {
                format!(
                    "{name} {}:{line} {} {}",
                    String::from_utf8_lossy(&function.file),
                    own.value,
                    total.value
                )
            }));
        }
        rows.sort();
        rows
    }

    #[test]
    fn lines_add_up_to_their_function() {
        let main = ("main", "a.c", 9);
        let stacks: &[(&[_], i128)] = &[
            (&[main, ("f", "a.c", 1), ("f", "a.c", 2)], 5),
            (&[main, ("f", "a.c", 1)], 7),
            (&[main, ("f", "a.c", 2), ("[libc]", "", 0)], 11),
            (&[main, ("f", "a.c", 0)], 13),
        ];
        let lines = lines(stacks, &StackRewrite::default());
        assert_eq!(shown(&lines), ["f a.c:0 13 13", "f a.c:1 7 7", "f a.c:2 5 16", "main a.c:9 0 36"]);
        let sum = lines.functions().iter().find(|one| one.name == b"f").unwrap().sum().unwrap();
        assert_eq!((sum.own.value, sum.total.value), (Weight::new(25), Weight::new(36)));
    }

    #[test]
    fn inlined_functions_have_their_own_lines() {
        let stacks: &[(&[_], i128)] =
            &[(&[("main", "a.c", 9), ("inlined", "a.h", 3)], 5), (&[("main", "a.c", 10)], 2)];
        let lines = lines(stacks, &StackRewrite::default());
        assert_eq!(shown(&lines), ["inlined a.h:3 5 5", "main a.c:10 2 2", "main a.c:9 0 5"]);
    }

    #[test]
    fn names_with_a_line_are_one_function() {
        let stacks: &[(&[_], i128)] = &[
            (&[("work (app.py:3)", "/x/app.py", 3)], 5),
            (&[("work (app.py:4)", "/x/app.py", 4)], 2),
            (&[("work (other)", "/x/app.py", 4)], 1),
        ];
        let lines = lines(stacks, &StackRewrite::default());
        assert_eq!(
            shown(&lines),
            ["work (other) /x/app.py:4 1 1", "work /x/app.py:3 5 5", "work /x/app.py:4 2 2"]
        );
        assert_eq!(lines.functions()[0].frames.len(), 2);
    }

    #[test]
    fn text_names_lines() {
        let mut lines = SourceLines::default();
        let one = |weight| Weights::one(Weight::new(weight));
        lines.add_text(b"main (a.py:9);work (a.py:3)", false, one(5)).unwrap();
        lines.add_text(b"work (a.py:4);main (a.py:9)", true, one(2)).unwrap();
        lines.add_text(b"operator() (int);f(int)", false, one(1)).unwrap();
        assert_eq!(shown(&lines), ["main a.py:9 0 7", "work a.py:3 5 5", "work a.py:4 2 2"]);
    }

    #[test]
    fn only_what_a_base_leaves_counts() {
        let stacks: &[(&[_], i128)] =
            &[(&[("main", "a.c", 9), ("f", "a.c", 1), ("g", "a.c", 5)], 5), (&[("main", "a.c", 8)], 2)];
        let mut rewrite = StackRewrite { bases: vec![b"f".to_vec()], ..StackRewrite::default() };
        assert_eq!(shown(&lines(stacks, &rewrite)), ["f a.c:1 0 5", "g a.c:5 5 5"]);
        rewrite.reverse = true;
        assert_eq!(shown(&lines(stacks, &rewrite)), ["f a.c:1 5 5", "main a.c:9 0 5"]);
    }
}

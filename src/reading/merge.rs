//! Folded text of any size, in a bounded amount of memory.
//!
//! Files in frame order are merged: see [`crate::folded`]. Others, and pipes, go into a table. A table
//! that has grown to the size that is allowed is written in order to a temporary file, a *run*, and
//! begins again; in the end the runs are merged with the files.

use std::fs::File;
use std::io::{BufWriter, Seek, Write};

use crate::collapse::{CollapseOptions, Report, ValueTotal, folded};
use crate::descriptors;
use crate::error::{Error, Result};
use crate::folded::{Batch, Columns, FrameId, LineWriter, StackTable, Survey, merge, settle_columns, survey};
use crate::input::Source;
use crate::profile::Facts;

/// At most this many texts are merged at once, since each is an open file.
const MOST: usize = if cfg!(test) { 4 } else { 256 };

/// The descriptors of a text that is merged: a temporary file, which has no name, stays open besides.
const DESCRIPTORS: usize = 2;

/// Smaller files go into the table: they take little room in it, and can be thousands.
const SMALL: u64 = if cfg!(test) { 16 } else { 256 * 1024 };

/// Several folded texts as one.
pub(crate) struct Merged {
    /// The facts, and the report of the reading.
    pub report: Report,
    columns: Columns,
    /// Texts in frame order, and how often the stacks of each were merged before.
    texts: Vec<(Source, u32)>,
    /// The stacks that fitted into memory, if all that are in no order did.
    table: StackTable,
    /// The most texts that are merged at once.
    most: usize,
}

impl Merged {
    /// Nothing yet. `holders` is the number of those that have open files at the same time.
    pub(crate) fn new(columns: Columns, holders: usize) -> Merged {
        let most = descriptors::share(holders, DESCRIPTORS).clamp(2, MOST);
        Merged { report: Report::default(), columns, texts: Vec::new(), table: empty_table(columns), most }
    }

    /// Reads folded texts. `memory` is the number of bytes that stacks may take.
    ///
    /// # Errors
    /// Those of [`collapse`](crate::collapse::collapse), and of temporary files.
    pub(crate) fn read(sources: &[Source], options: &CollapseOptions, memory: usize) -> Result<Merged> {
        let merged = Merged::read_any(sources, None, options, memory, 1)?;
        crate::collapse::expect_samples(&merged.report, sources)?;
        Ok(merged)
    }

    /// [`Merged::read`] of texts that may be without stacks. Their columns may be known.
    ///
    /// # Errors
    /// Those of [`Merged::read`].
    pub(crate) fn read_any(
        sources: &[Source],
        columns: Option<Columns>,
        options: &CollapseOptions,
        memory: usize,
        holders: usize,
    ) -> Result<Merged> {
        let (sources, columns) = match columns {
            Some(columns) => (sources.to_vec(), columns),
            None => settle_columns(sources)?,
        };
        let mut merged = Merged::new(columns, holders);
        let mut facts = Vec::new();
        for source in &sources {
            let mut total = ValueTotal { kept: true, ..ValueTotal::default() };
            let mut found = None;
            if is_large_file(source)? {
                let in_order = survey(source, columns, true, &mut |_, weights| total.add(weights.value))?;
                found = in_order.in_order.then_some(in_order);
            }
            let found = match found {
                Some(found) => {
                    merged.add_text(source.clone())?;
                    found
                }
                None => {
                    total = ValueTotal { kept: true, ..ValueTotal::default() };
                    merged.load(source, &mut total, memory)?
                }
            };
            let mut part = Report::default();
            part.details.push(format!("{}: read as folded", source.name()));
            folded::settle(&mut part, found.parts, total, found.not_understood)?;
            merged.report.take_part(part, &mut facts, (source.name(), source.factor()), options)?;
        }
        merged.report.facts = Facts::merged(&facts);
        merged.settle()?;
        Ok(merged)
    }

    /// One weight a stack, or two.
    pub(crate) fn columns(&self) -> Columns {
        self.columns
    }

    /// Makes the stacks ready to be written.
    fn settle(&mut self) -> Result<()> {
        if !self.texts.is_empty() && !self.table.is_empty() {
            self.end_run()?;
        }
        Ok(())
    }

    /// Adds all stacks of another, which may have come without being settled; `memory` is the number of bytes
    /// that stacks may take. The report stays as it is.
    ///
    /// # Errors
    /// Those of temporary files, and [`crate::ErrorKind::Overflow`].
    pub(crate) fn absorb(&mut self, other: Merged, memory: usize) -> Result<()> {
        for (text, merges) in other.texts {
            self.add_merged(text, merges)?;
        }
        match self.table.is_empty() {
            true => self.table = other.table,
            false => self.table.merge(&other.table)?,
        }
        self.keep_within(memory)
    }

    /// Adds the stacks of a table behind root frames.
    ///
    /// # Errors
    /// Those of [`Merged::absorb`].
    pub(crate) fn add_table(&mut self, stacks: &StackTable, roots: &[Vec<u8>], memory: usize) -> Result<()> {
        if roots.is_empty() {
            self.table.merge(stacks)?;
            return self.keep_within(memory);
        }
        let frames = self.table.take_frames(stacks);
        let roots: Vec<FrameId> = roots.iter().map(|root| self.table.frame(root)).collect();
        let mut stack = Vec::new();
        for (own, weights) in stacks.stacks() {
            stack.clone_from(&roots);
            stack.extend(own.iter().map(|&frame| frames.get(frame)));
            self.table.add(&stack, weights)?;
        }
        self.keep_within(memory)
    }

    /// Adds the stacks of another behind root frames.
    ///
    /// # Errors
    /// Those of [`Merged::absorb`], and of reading.
    pub(crate) fn add_under(&mut self, other: &Merged, roots: &[Vec<u8>], memory: usize) -> Result<()> {
        if other.texts.is_empty() {
            return self.add_table(&other.table, roots, memory);
        }
        let mut text: Vec<u8> = roots.join(&b';');
        text.push(b';');
        let root = text.len();
        let texts: Vec<Source> = other.texts.iter().map(|(text, _)| text.clone()).collect();
        merge(&texts, self.columns, &mut |stack, weights| {
            text.truncate(root);
            text.extend_from_slice(stack);
            self.table.add_stack(&text, weights)?;
            self.keep_within(memory)
        })
    }

    fn keep_within(&mut self, memory: usize) -> Result<()> {
        if self.table.bytes() > memory { self.end_run() } else { Ok(()) }
    }

    /// All of several, ready to be written.
    ///
    /// # Errors
    /// Those of [`Merged::absorb`].
    pub(crate) fn all(
        parts: impl IntoIterator<Item = Merged>,
        columns: Columns,
        memory: usize,
    ) -> Result<Merged> {
        let mut all = Merged::new(columns, 1);
        for part in parts {
            all.absorb(part, memory)?;
        }
        all.settle()?;
        Ok(all)
    }

    /// Adds the stacks of a text to the table.
    fn load(&mut self, source: &Source, total: &mut ValueTotal, memory: usize) -> Result<Survey> {
        let (mut batch, mut ids) = (Batch::default(), Vec::new());
        let found = survey(source, self.columns, false, &mut |stack, weights| {
            total.add(weights.value)?;
            ids.clear();
            self.table.split(stack, &mut ids);
            if batch.push(&ids, weights) {
                self.table.add_mostly_new(&mut batch)?;
                if self.table.bytes() > memory {
                    self.end_run()?;
                }
            }
            Ok(())
        })?;
        self.table.add_mostly_new(&mut batch)?;
        Ok(found)
    }

    /// Writes the stacks of the table to a temporary file.
    fn end_run(&mut self) -> Result<()> {
        let table = std::mem::replace(&mut self.table, empty_table(self.columns));
        let run = temporary(|out| table.write(out))?;
        self.add_text(run)
    }

    fn add_text(&mut self, text: Source) -> Result<()> {
        self.add_merged(text, 0)
    }

    /// Adds a text whose stacks were merged so often. If there are too many, those that were merged least often
    /// become one, so that no stack is written more often than the logarithm of their number.
    fn add_merged(&mut self, text: Source, merges: u32) -> Result<()> {
        if self.texts.len() >= self.most {
            self.texts.sort_by_key(|(_, merges)| std::cmp::Reverse(*merges));
            let least = self.texts[self.texts.len() - 2].1;
            let first = self.texts.iter().position(|(_, merges)| *merges <= least).unwrap_or(0);
            let texts = self.texts.split_off(first);
            let columns = self.columns;
            let merged = temporary(|out| write_merged(&texts, columns, out).map(|_| ()))?;
            self.texts.push((merged, least + 1));
        }
        self.texts.push((text, merges));
        Ok(())
    }

    /// Writes the stacks in frame order; returns their number.
    ///
    /// # Errors
    /// Those of reading, and the writer's.
    pub(crate) fn write(&self, out: &mut dyn Write) -> Result<usize> {
        if self.texts.is_empty() {
            self.table.write(out)?;
            return Ok(self.table.len());
        }
        write_merged(&self.texts, self.columns, out)
    }
}

fn empty_table(columns: Columns) -> StackTable {
    let mut table = StackTable::default();
    if columns == Columns::Two {
        table.make_differential();
    }
    table
}

/// Returns true for a plain file of a size that is worth being merged.
fn is_large_file(source: &Source) -> Result<bool> {
    if !source.is_rereadable() {
        return Ok(false);
    }
    let input = source.open()?;
    Ok(input.file().is_some_and(|(file, _)| file.metadata().is_ok_and(|kind| kind.len() >= SMALL)))
}

/// A text that `write` writes to a file without a name.
fn temporary(write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<Source> {
    let failed = |e| Error::io("write a temporary file (TMPDIR says where)", e);
    let mut file: File = tempfile::tempfile().map_err(failed)?;
    let mut out = BufWriter::new(&mut file);
    write(&mut out)?;
    out.into_inner().map_err(|e| failed(e.into_error()))?.rewind().map_err(failed)?;
    Ok(Source::file("a temporary file", file))
}

fn write_merged(texts: &[(Source, u32)], columns: Columns, out: &mut dyn Write) -> Result<usize> {
    let texts: Vec<Source> = texts.iter().map(|(text, _)| text.clone()).collect();
    let mut lines = LineWriter::new(columns, out);
    let mut stacks = 0;
    merge(&texts, columns, &mut |stack, weights| {
        stacks += 1;
        lines.write(stack, weights)
    })?;
    lines.finish()?;
    Ok(stacks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(sources: &[Source], memory: usize) -> (String, Report) {
        let merged = Merged::read(sources, &CollapseOptions::default(), memory).unwrap();
        let mut out = Vec::new();
        merged.write(&mut out).unwrap();
        (String::from_utf8(out).unwrap(), merged.report)
    }

    /// Files and pipes in and out of order, more than are merged at once, in little memory.
    #[test]
    fn any_amount_of_memory_gives_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let mut sources = Vec::new();
        let mut table = StackTable::default();
        for n in 0..11u32 {
            let line = |m: u32| format!("main;worker {};f{} {}\n", m % 7, m * (n + 3) % 501, n + m);
            let mut lines: Vec<String> = (0..1500).map(line).collect();
            lines.iter().for_each(|line| table.add_line(line.trim_end().as_bytes()).unwrap());
            if n % 3 == 0 {
                lines.sort_by(|a, b| {
                    let stack = |line: &str| line.rsplit_once(' ').unwrap().0.as_bytes().to_vec();
                    crate::folded::cmp_stacks(&stack(a), &stack(b))
                });
            }
            let text = format!("# unit: ns\n# samples: {n} samples\n{}", lines.concat());
            sources.push(match n % 2 {
                0 => {
                    let path = folder.path().join(n.to_string());
                    std::fs::write(&path, text).unwrap();
                    Source::path(path)
                }
                _ => Source::bytes(text),
            });
        }
        let mut expected = Vec::new();
        table.write(&mut expected).unwrap();
        for memory in [0, 100_000, usize::MAX] {
            let (text, report) = written(&sources, memory);
            assert!(text.as_bytes() == expected, "{memory}");
            assert_eq!((report.facts.unit.as_deref(), report.facts.samples), (Some("ns"), Some(55)));
            assert_eq!(report.values.values().map(|total| total.samples).sum::<u64>(), 11 * 1500);
        }
    }

    #[test]
    fn two_columns_stay_two() {
        let texts = ["# columns: before, after\nmain;a 3 4\n", "main;a 1 2\nmain;b 5 6\n"];
        let sources = texts.map(Source::bytes);
        for memory in [0, usize::MAX] {
            assert_eq!(written(&sources, memory).0, "main;a 4 6\nmain;b 5 6\n");
        }
        assert!(Merged::read(&[Source::bytes("# only\n")], &CollapseOptions::default(), 0).is_err());
    }
}

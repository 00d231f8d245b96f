//! Folded text of any size, in a bounded amount of memory.
//!
//! Files in frame order are merged: see [`crate::folded`]. Others, and pipes, go into a table. A table
//! that has grown to the size that is allowed is written in order to a temporary file, a *run*, and
//! begins again; in the end the runs are merged with the files.

use std::fs::File;
use std::io::{BufWriter, Seek, Write};

use super::{Options, Report, ValueTotal, folded};
use crate::error::{Error, Result};
use crate::folded::{Batch, Columns, LineWriter, StackTable, Survey, merge, settle_columns, survey};
use crate::input::Source;
use crate::profile::Facts;

/// At most this many texts are merged at once, since each is an open file.
const MOST: usize = if cfg!(test) { 4 } else { 256 };

/// Smaller files go into the table: they take little room in it, and can be thousands.
const SMALL: u64 = if cfg!(test) { 16 } else { 256 * 1024 };

/// Several folded texts as one.
pub(crate) struct Merged {
    /// The facts, and the report of the reading.
    pub report: Report,
    columns: Columns,
    /// Texts in frame order.
    texts: Vec<Source>,
    /// The stacks that fitted into memory, if all that are in no order did.
    table: StackTable,
}

impl Merged {
    /// Reads folded texts. `memory` is the number of bytes that stacks may take.
    ///
    /// # Errors
    /// Those of [`collapse`](super::collapse), and of temporary files.
    pub(crate) fn read(sources: &[Source], options: &Options, memory: usize) -> Result<Merged> {
        let (sources, columns) = settle_columns(sources)?;
        let mut merged =
            Merged { report: Report::default(), columns, texts: Vec::new(), table: StackTable::default() };
        merged.table.expect_columns(columns)?;
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
        if !merged.texts.is_empty() && !merged.table.is_empty() {
            merged.end_run()?;
        }
        super::expect_samples(&merged.report, &sources)?;
        Ok(merged)
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
        let table = std::mem::take(&mut self.table);
        self.table.expect_columns(self.columns)?;
        let run = temporary(|out| table.write(out))?;
        self.add_text(run)
    }

    fn add_text(&mut self, text: Source) -> Result<()> {
        if self.texts.len() == MOST {
            let texts = std::mem::take(&mut self.texts);
            let columns = self.columns;
            self.texts.push(temporary(|out| write_merged(&texts, columns, out).map(|_| ()))?);
        }
        self.texts.push(text);
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

fn write_merged(texts: &[Source], columns: Columns, out: &mut dyn Write) -> Result<usize> {
    let mut lines = LineWriter::new(columns, out);
    let mut stacks = 0;
    merge(texts, columns, &mut |stack, weights| {
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
        let merged = Merged::read(sources, &Options::default(), memory).unwrap();
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
        assert!(Merged::read(&[Source::bytes("# only\n")], &Options::default(), 0).is_err());
    }
}

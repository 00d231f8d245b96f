//! The line program of a unit, run once: which line an address is of.

use gimli::{AttributeValue, LineProgramHeader, LineRow};

use super::super::intervals::Intervals;
use super::meter::Metered;
use super::space::{Dwarf, Unit};

/// The lines of a unit by address: the rows of a sequence, sorted.
pub(super) struct Lines {
    sequences: Intervals<Vec<Row>>,
}

pub(super) struct Row {
    pub(super) address: u64,
    file: u64,
    /// 0 for code without a line.
    pub(super) line: u32,
    /// Tells apart several pieces of code of one line.
    pub(super) discriminator: u32,
}

impl Lines {
    pub(super) fn parse(unit: &Unit<'_>) -> Lines {
        let mut sequences = Vec::new();
        if let Some(program) = unit.line_program.clone() {
            let mut rows = program.rows();
            let mut sequence = Vec::new();
            while let Ok(Some((_, row))) = rows.next_row() {
                if row.end_sequence() {
                    sequences.extend(close(std::mem::take(&mut sequence), row.address()));
                } else {
                    note(&mut sequence, row);
                }
            }
        }
        Lines { sequences: Intervals::new(sequences) }
    }

    /// File and line of an address.
    pub(super) fn find(&self, address: u64) -> Option<(u64, u32)> {
        let rows = self.sequences.find(address)?;
        let behind = rows.partition_point(|row| row.address <= address);
        let row = &rows[behind.checked_sub(1)?];
        Some((row.file, row.line))
    }

    /// The rows of a range, in order, and the one in which it begins.
    pub(super) fn rows(&self, from: u64, to: u64) -> &[Row] {
        let Some(rows) = self.sequences.find(from) else { return &[] };
        let first = rows.partition_point(|row| row.address <= from).saturating_sub(1);
        &rows[first..rows.partition_point(|row| row.address < to).max(first)]
    }

    /// The addresses that it has lines for.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        self.sequences.ranges()
    }
}

/// A sequence whose end has come.
fn close(mut rows: Vec<Row>, end: u64) -> Option<(u64, u64, Vec<Row>)> {
    // They should be sorted; who relies on it finds nothing.
    rows.sort_by_key(|row| row.address);
    rows.shrink_to_fit();
    let start = rows.first()?.address;
    Some((start, end, rows))
}

/// Takes the last of several rows of one address.
fn note(rows: &mut Vec<Row>, row: &LineRow) {
    let line = row.line().map_or(0, |line| u32::try_from(line.get()).unwrap_or(0));
    let discriminator = u32::try_from(row.discriminator()).unwrap_or(0);
    let row = Row { address: row.address(), file: row.file_index(), line, discriminator };
    match rows.last_mut() {
        Some(last) if last.address == row.address => *last = row,
        _ => rows.push(row),
    }
}

/// The path of a file by its number.
pub(super) fn file_name<'o>(dwarf: &Dwarf<'o>, unit: &Unit<'o>, file: u64) -> Option<Vec<u8>> {
    let program = unit.line_program.as_ref()?;
    let header: &LineProgramHeader<Metered<'o>> = program.header();
    let entry = header.file(file)?;
    let text =
        |value: AttributeValue<Metered<'o>>| dwarf.attr_string(unit, value).ok().map(|text| text.bytes());
    let mut path = Vec::new();
    // Number 0 is the unit's own directory, by any version.
    let directory = (entry.directory_index() != 0).then(|| entry.directory(header)).flatten().and_then(text);
    let own = unit.comp_dir.as_ref().map(|directory| directory.bytes());
    for part in [own, directory, text(entry.path_name())].into_iter().flatten() {
        if part.starts_with(b"/") {
            path.clear();
        } else if !path.is_empty() && !path.ends_with(b"/") {
            path.push(b'/');
        }
        path.extend_from_slice(part);
    }
    (!path.is_empty()).then_some(path)
}

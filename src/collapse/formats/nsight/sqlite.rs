//! Databases of SQLite, as far as a scan of whole tables needs them: the tables' names and columns, and their rows.
//!
//! ```text
//! SQLite format 3\0 <page size> …   page 1 begins with the header and holds the schema
//! 05 … 0d …                         pages of a table: inner ones name others, leaves hold rows; long rows go on elsewhere
//! ```
//! Each page of a table is read once, in order; indexes, views and tables without row numbers are not read. Specified in
//! "Database File Format" at sqlite.org.

use std::fs::File;
use std::sync::Arc;

use crate::bytes::ByteOrder;
use crate::error::{Error, ErrorKind, Position, Result};
use crate::input::{self, Input, lines};

pub const MAGIC: &[u8] = b"SQLite format 3\0";

/// The length of a database's header, which the first page begins with.
const HEADER: usize = 100;

/// Inner and leaf pages of tables.
const INNER: u8 = 0x05;
const LEAF: u8 = 0x0d;

/// The levels of pages; with the smallest pages there are fewer.
const DEEPEST: usize = 64;

/// The most bytes of a row: names of kernels are long, but not longer.
const LONGEST: u64 = 16 << 20;

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'r> {
    Null,
    Int(i64),
    Real(f64),
    Bytes(&'r [u8]),
}

impl<'r> Cell<'r> {
    /// The whole number, if it is one.
    pub fn int(self) -> Option<i64> {
        match self {
            Cell::Int(number) => Some(number),
            _ => None,
        }
    }

    /// The whole number from 0 on, if it is one.
    pub fn unsigned(self) -> Option<u64> {
        self.int().and_then(|number| u64::try_from(number).ok())
    }

    /// The text; none where it is something else.
    pub fn text(self) -> &'r [u8] {
        match self {
            Cell::Bytes(text) => text,
            _ => b"",
        }
    }
}

/// A database, and the tables in it.
pub struct Database {
    pages: Pages,
    tables: Vec<Table>,
}

/// The pages of a database.
struct Pages {
    name: Arc<str>,
    origin: Origin,
    size: usize,
    /// The part of a page that holds something.
    usable: usize,
    count: u64,
}

enum Origin {
    File(File, u64),
    Bytes(Vec<u8>),
}

#[derive(Debug, PartialEq)]
struct Table {
    name: Vec<u8>,
    root: u64,
    columns: Vec<Vec<u8>>,
    /// The column that is the row's number, which rows do not hold themselves.
    row_number: Option<usize>,
}

impl Database {
    /// Reads the schema.
    ///
    /// # Errors
    /// The system's, and a database that is cut off or damaged.
    pub fn open(input: Input) -> Result<Database> {
        let name = input.name().clone();
        let file = match input.file() {
            Some((file, begin)) => Some((file.try_clone().map_err(|e| Error::io("open", e))?, begin)),
            None => None,
        };
        let (origin, len) = match file {
            Some((file, begin)) => {
                let len = file.metadata().map_err(|e| Error::io("read", e))?.len().saturating_sub(begin);
                (Origin::File(file, begin), len)
            }
            None => {
                let bytes = input.read_all()?;
                let len = bytes.len() as u64;
                (Origin::Bytes(bytes), len)
            }
        };
        let mut pages = Pages { name, origin, size: HEADER, usable: HEADER, count: 1 };
        let header = pages.read(1)?;
        let place = pages.place(1);
        let refuse = |what: &str, found: &[u8]| Err(Error::malformed(what, found).at(place.clone()));
        if !header.starts_with(MAGIC) {
            return refuse("a database of SQLite", &header);
        }
        let size = match ByteOrder::Big.unsigned(&header[16..18]) {
            1 => 65_536,
            size if size >= 512 && size.is_power_of_two() => size as usize,
            _ => return refuse("the size of a database's pages", &header[16..18]),
        };
        if ByteOrder::Big.unsigned(&header[56..60]) > 1 {
            return refuse("a database with texts in UTF-8", b"UTF-16");
        }
        pages.size = size;
        pages.usable = size - usize::from(header[20]);
        pages.count = len / size as u64;
        let stated = ByteOrder::Big.unsigned(&header[28..32]);
        if len != stated * size as u64 {
            let what = if len < stated * size as u64 { "it is cut off" } else { "there is more behind it" };
            let found = format!("{len} bytes: {what}; export it again");
            return refuse(&format!("a database of {stated} pages of {size} bytes"), found.as_bytes());
        }
        let mut tables = Vec::new();
        let schema = Table { name: Vec::new(), root: 1, columns: Vec::new(), row_number: None };
        pages.scan(&schema, |row, _| {
            if let [Cell::Bytes(b"table"), Cell::Bytes(name), _, Cell::Int(root), Cell::Bytes(sql)] = *row
                && let Some((columns, row_number)) = columns(sql)
            {
                let root = u64::try_from(root).unwrap_or(0);
                tables.push(Table { name: name.to_vec(), root, columns, row_number });
            }
            Ok(())
        })?;
        Ok(Database { pages, tables })
    }

    /// Returns whether there is a table of this name.
    pub fn has(&self, table: &str) -> bool {
        self.tables.iter().any(|found| found.name == table.as_bytes())
    }

    /// Passes the named columns of each row of a table to `each`; `Null` where there is no such column, and nothing
    /// where there is no such table.
    ///
    /// # Errors
    /// The system's, a damaged database, and those of `each`.
    pub fn rows<const N: usize>(
        &mut self,
        table: &str,
        columns: [&str; N],
        mut each: impl FnMut([Cell<'_>; N]) -> Result<()>,
    ) -> Result<()> {
        let Some(table) = self.tables.iter().find(|found| found.name == table.as_bytes()) else {
            return Ok(());
        };
        let at = columns
            .map(|name| table.columns.iter().position(|column| column.eq_ignore_ascii_case(name.as_bytes())));
        self.pages.scan(table, |row, row_number| {
            each(at.map(|at| match at {
                Some(at) if Some(at) == table.row_number => Cell::Int(row_number),
                Some(at) => row.get(at).copied().unwrap_or(Cell::Null),
                None => Cell::Null,
            }))
        })
    }
}

impl Pages {
    fn place(&self, page: u64) -> Position {
        let byte = page.saturating_sub(1).saturating_mul(self.size as u64);
        Position { byte: Some(byte), ..Position::file(self.name.clone()) }
    }

    fn damaged(&self, page: u64, what: &str) -> Error {
        Error::malformed(what, b"other bytes").at(self.place(page))
    }

    /// A page, numbered from 1.
    fn read(&self, page: u64) -> Result<Vec<u8>> {
        if page == 0 || page > self.count {
            return Err(self.damaged(page, "a page of the database"));
        }
        let offset = (page - 1) * self.size as u64;
        let mut bytes = vec![0; self.size];
        let read = match &self.origin {
            Origin::File(file, begin) => {
                input::read_at(file, begin + offset, &mut bytes).map_err(|e| e.or_at(|| self.place(page)))?
            }
            Origin::Bytes(all) => {
                let rest = all.get(offset as usize..).unwrap_or_default();
                let len = rest.len().min(bytes.len());
                bytes[..len].copy_from_slice(&rest[..len]);
                len
            }
        };
        if read < bytes.len() {
            return Err(self.damaged(page, "a whole page of the database"));
        }
        Ok(bytes)
    }

    /// Passes the rows of a table and their numbers to `each`.
    fn scan(&self, table: &Table, mut each: impl FnMut(&[Cell<'_>], i64) -> Result<()>) -> Result<()> {
        // The pages that are yet to be read, the next one last.
        let mut waiting = vec![(table.root, 0)];
        let mut left = self.count;
        while let Some((page, depth)) = waiting.pop() {
            // Each page is of one table and stands once in it.
            left = left.checked_sub(1).ok_or_else(|| self.damaged(page, "a table without circles"))?;
            let bytes = self.read(page)?;
            let begin = if page == 1 { HEADER } else { 0 };
            let damage = || self.damaged(page, "a page of a table with row numbers");
            let kind = bytes[begin];
            let cells = ByteOrder::Big.unsigned(&bytes[begin + 3..begin + 5]) as usize;
            let pointers = begin + if kind == INNER { 12 } else { 8 };
            let pointer = |at: usize| {
                let pointer = bytes.get(pointers + 2 * at..pointers + 2 * at + 2)?;
                bytes.get(ByteOrder::Big.unsigned(pointer) as usize..self.usable)
            };
            match kind {
                INNER if depth < DEEPEST => {
                    waiting.push((ByteOrder::Big.unsigned(&bytes[begin + 8..begin + 12]), depth + 1));
                    for at in (0..cells).rev() {
                        let below = pointer(at).and_then(|cell| cell.get(..4)).ok_or_else(damage)?;
                        waiting.push((ByteOrder::Big.unsigned(below), depth + 1));
                    }
                    if waiting.len() as u64 > self.count {
                        return Err(self.damaged(page, "a table without circles"));
                    }
                }
                LEAF => {
                    for at in 0..cells {
                        let mut cell = pointer(at).ok_or_else(damage)?;
                        let size = take_integer(&mut cell).ok_or_else(damage)?;
                        let row_number = take_integer(&mut cell).ok_or_else(damage)?.cast_signed();
                        let place = self.place(page);
                        let payload = self.payload(page, size, cell)?;
                        let mut row = Vec::new();
                        record(&payload, &mut row).ok_or_else(damage)?;
                        each(&row, row_number).map_err(|e| e.or_at(|| place))?;
                    }
                }
                _ => return Err(damage()),
            }
        }
        Ok(())
    }

    /// The bytes of a row: those in its cell, and those on other pages behind it.
    fn payload<'c>(&self, page: u64, size: u64, cell: &'c [u8]) -> Result<std::borrow::Cow<'c, [u8]>> {
        let damage = || self.damaged(page, "a row of a table");
        if size > LONGEST {
            return Err(Error::new(ErrorKind::TooLong { limit: LONGEST as usize }, self.place(page)));
        }
        let size = size as usize;
        let most = self.usable - 35;
        if size <= most {
            return cell.get(..size).map(Into::into).ok_or_else(damage);
        }
        let least = (self.usable - 12) * 32 / 255 - 23;
        let fitting = least + (size - least) % (self.usable - 4);
        let local = if fitting <= most { fitting } else { least };
        let mut payload = cell.get(..local).ok_or_else(damage)?.to_vec();
        let mut next = ByteOrder::Big.unsigned(cell.get(local..local + 4).ok_or_else(damage)?);
        while payload.len() < size {
            let bytes = self.read(next)?;
            let some = (size - payload.len()).min(self.usable - 4);
            payload.extend_from_slice(&bytes[4..4 + some]);
            next = ByteOrder::Big.unsigned(&bytes[..4]);
        }
        Ok(payload.into())
    }
}

/// Takes a number of SQLite's, the highest bits first, of up to nine bytes, of which the last has eight bits.
fn take_integer(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for at in 0..9 {
        let byte = *bytes.get(at)?;
        if at == 8 || byte < 0x80 {
            let bits = if at == 8 { 8 } else { 7 };
            *bytes = &bytes[at + 1..];
            return Some(number << bits | u64::from(byte));
        }
        number = number << 7 | u64::from(byte & 0x7f);
    }
    None
}

/// Reads the values of a row; `None` where it is damaged.
fn record<'r>(payload: &'r [u8], row: &mut Vec<Cell<'r>>) -> Option<()> {
    let mut header = payload;
    let len = usize::try_from(take_integer(&mut header)?).ok()?;
    let taken = payload.len() - header.len();
    let mut header = payload.get(taken..len)?;
    let mut values = payload.get(len..)?;
    let mut take = |len: usize| {
        let (own, rest) = values.split_at_checked(len)?;
        values = rest;
        Some(own)
    };
    while !header.is_empty() {
        let kind = take_integer(&mut header)?;
        row.push(match kind {
            0 => Cell::Null,
            1..=6 => {
                let bytes = take([1, 2, 3, 4, 6, 8][kind as usize - 1])?;
                let unused = 64 - 8 * bytes.len() as u32;
                Cell::Int((ByteOrder::Big.unsigned(bytes) << unused).cast_signed() >> unused)
            }
            7 => Cell::Real(f64::from_bits(ByteOrder::Big.unsigned(take(8)?))),
            8 | 9 => Cell::Int(kind as i64 - 8),
            10 | 11 => return None,
            _ => Cell::Bytes(take(usize::try_from((kind - 12) / 2).ok()?)?),
        });
    }
    Some(())
}

/// The columns of a table by the words that made it, and the one that is the row's number; `None` for a table without
/// row numbers.
fn columns(sql: &[u8]) -> Option<(Vec<Vec<u8>>, Option<usize>)> {
    let lines = lines(sql).map(|line| {
        let end = memchr::memmem::find(line, b"--").unwrap_or(line.len());
        line[..end].to_vec()
    });
    let text = lines.collect::<Vec<_>>().join(&b' ');
    let (open, close) = (memchr::memchr(b'(', &text)?, memchr::memrchr(b')', &text)?);
    if text[close..].to_ascii_uppercase().windows(5).any(|word| word == b"ROWID") {
        return None;
    }
    let (mut columns, mut row_number) = (Vec::new(), None);
    let mut depth = 0;
    let parts = text.get(open + 1..close)?.split(|byte| {
        depth += i32::from(*byte == b'(') - i32::from(*byte == b')');
        *byte == b',' && depth == 0
    });
    for part in parts {
        let mut words = part.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let Some(name) = words.next() else { continue };
        let is_constraint =
            [&b"PRIMARY"[..], b"FOREIGN", b"UNIQUE", b"CHECK", b"CONSTRAINT"].iter().any(|word| {
                name.len() >= word.len()
                    && name[..word.len()].eq_ignore_ascii_case(word)
                    && !name.ends_with(b"\"")
            });
        if is_constraint {
            continue;
        }
        let words: Vec<Vec<u8>> = words.map(<[u8]>::to_ascii_uppercase).collect();
        let is_key = words.windows(2).any(|pair| pair[0] == b"PRIMARY" && pair[1].starts_with(b"KEY"));
        if is_key && words.first().is_some_and(|kind| kind == b"INTEGER") {
            row_number = Some(columns.len());
        }
        let unquoted = name.iter().copied().filter(|b| !b"\"[]`'".contains(b));
        columns.push(unquoted.collect());
    }
    Some((columns, row_number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_the_words_that_made_the_table() {
        let of = |sql: &str| {
            let (columns, row_number) = columns(sql.as_bytes()).unwrap();
            let columns: Vec<String> = columns.iter().map(|c| String::from_utf8_lossy(c).into()).collect();
            (columns.join(" "), row_number)
        };
        assert_eq!(
            of("CREATE TABLE a (id INTEGER PRIMARY KEY, value TEXT NOT NULL)"),
            ("id value".into(), Some(0))
        );
        assert_eq!(of("CREATE TABLE a (id INT NOT NULL PRIMARY KEY, [end] INT)"), ("id end".into(), None));
        let long = "CREATE TABLE a (\n -- Of all, (see b).\n\n x INTEGER NOT NULL, -- x, y\n \"check\" DECIMAL(1,2),\n\n PRIMARY KEY (x, y)\n)";
        assert_eq!(of(long), ("x check".into(), None));
        assert_eq!(columns(b"CREATE TABLE a (x) WITHOUT ROWID"), None);
        assert_eq!(columns(b"CREATE TABLE a"), None);
    }

    #[test]
    fn numbers_have_all_their_bits() {
        let read = |bytes: &[u8]| take_integer(&mut &*bytes);
        assert_eq!(read(&[0x7f]), Some(127));
        assert_eq!(read(&[0x81, 0]), Some(128));
        assert_eq!(read(&[0xff; 9]), Some(u64::MAX));
        assert_eq!(read(&[0xff; 8]), None);
        let mut row = Vec::new();
        record(&[5, 1, 6, 9, 15, 0xff, 0, 0, 0, 0, 0, 0, 1, 0, b'x'], &mut row).unwrap();
        assert_eq!(row, [Cell::Int(-1), Cell::Int(256), Cell::Int(1), Cell::Bytes(b"x")]);
        assert_eq!(record(&[2, 1], &mut Vec::new()), None);
        assert_eq!(record(&[9, 1], &mut Vec::new()), None);
    }
}

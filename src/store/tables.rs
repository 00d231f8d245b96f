//! The tables of a run, and the files of a day and service that are being written.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::BufWriter;
use std::time::SystemTime;

use super::commit::{Staged, failed};
use crate::error::Result;
use crate::profile::{Facts, Profile};
use crate::render::parquet::table::{FrameRow, LABELS, STACK, Table, weight_column};
use crate::render::parquet::{frame_labels, frame_rows, value_type};
use crate::weight::Weight;

/// The decimals of every weight, whatever the recording has: rows of all recordings are of one type.
pub(super) const DECIMALS: u8 = 18;
/// Labels with a value for each recording: the table by function adds up over them.
const NOT_BY_FUNCTION: [&str; 2] = ["time", "host"];
/// The functions of a day and service that are kept before they are written: more rows of one function add up.
const MOST_FUNCTIONS: usize = 100_000;
/// The partition of what has no service, as Hive calls it.
const NO_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

/// A recording's labels, from its path, as keys and values.
pub(super) type PathLabels = Vec<(String, String)>;

/// The cells that all rows of a recording share.
pub(super) struct Origin<'a> {
    pub day: &'a str,
    pub service: Option<&'a str>,
    pub labels: &'a PathLabels,
    pub path: &'a str,
    pub size: i64,
    pub modified: i64,
    pub content: &'a str,
    pub message: Option<&'a str>,
}

/// Begins a file of a table.
fn begin(staged: &Staged, table: &str, partition: &str, columns: &str) -> Result<Table<'static>> {
    let path = staged.table(table, partition)?.join("part-0.parquet");
    let file = File::create_new(&path).map_err(|e| failed("make", &path, e))?;
    Table::new(columns, DECIMALS, Vec::new(), Box::new(BufWriter::new(file)))
}

/// The two files of a day and service.
pub(super) struct Partition {
    stacks: Table<'static>,
    functions: Table<'static>,
    sums: BTreeMap<FunctionGroup, HashMap<Vec<u8>, (Weight, Weight)>>,
    kept: usize,
}

/// The columns that rows of functions share: labels, value type, unit.
type FunctionGroup = (PathLabels, String, Option<String>);

impl Partition {
    /// Begins the files.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn begin(staged: &Staged, day: &str, service: Option<&str>) -> Result<Partition> {
        let partition =
            format!("day={}/service={}", escaped(day), service.map_or(NO_PARTITION.into(), escaped));
        let shared = "REQUIRED BINARY value_type (STRING); OPTIONAL BINARY unit (STRING);";
        let weight = |name| weight_column(name, DECIMALS);
        let stacks = format!(
            "OPTIONAL INT64 time (TIMESTAMP(MICROS,true)); {LABELS} {shared} {STACK} {}",
            weight("weight")
        );
        let functions = format!(
            "{LABELS} {shared} REQUIRED BINARY function (STRING); {} {}",
            weight("self"),
            weight("total")
        );
        Ok(Partition {
            stacks: begin(staged, "stacks", &partition, &stacks)?,
            functions: begin(staged, "functions", &partition, &functions)?,
            sums: BTreeMap::new(),
            kept: 0,
        })
    }

    /// Adds the rows of one value of a recording.
    ///
    /// # Errors
    /// Those of writing.
    pub(super) fn add(&mut self, profile: &Profile, origin: &Origin<'_>) -> Result<()> {
        let (facts, table) = (profile.facts(), profile.stacks());
        let (time, unit) = (micros(facts), facts.unit.as_deref());
        let kind = value_type(facts).0;
        let by_function = origin.labels.iter().filter(|(key, _)| !NOT_BY_FUNCTION.contains(&&key[..]));
        let group = (by_function.cloned().collect(), kind.to_owned(), unit.map(str::to_owned));
        let sums = self.sums.entry(group).or_default();
        let before = sums.len();
        let ranks = table.ranks();
        let mut order: Vec<usize> = (0..table.len()).collect();
        order.sort_by_key(|&at| ranks[at]);
        for at in order {
            let (stack, weight) = (table.stack(at), table.weights(at).value);
            let own = frame_labels(&facts.labels, stack.iter().map(|&frame| table.name(frame)));
            let frames = &stack[own.len()..];
            let rows = &mut self.stacks;
            rows.maybe_number(0, time);
            let of_path = origin.labels.iter().map(|(key, value)| (key.as_bytes(), value.as_bytes()));
            let own: Vec<(&[u8], Cow<'_, [u8]>)> =
                own.iter().map(|(key, value)| (*key, text(value))).collect();
            rows.labels(1, of_path.chain(own.iter().map(|(key, value)| (*key, &value[..]))));
            rows.text(3, kind.as_bytes());
            rows.maybe_text(4, unit.map(str::as_bytes));
            let names: Vec<Cow<'_, [u8]>> = frames.iter().map(|&frame| text(table.name(frame))).collect();
            let named = frame_rows(table, frames).zip(&names);
            rows.stack(5, named.map(|(frame, name)| FrameRow { function: name, ..frame }));
            rows.weight(9, weight)?;
            rows.end_row()?;
            let mut seen: HashSet<&[u8]> = HashSet::with_capacity(names.len());
            for (depth, name) in names.iter().rev().enumerate() {
                // A function that occurs twice has the weight once.
                if !seen.insert(name) {
                    continue;
                }
                let (own, total) = match sums.get_mut(&name[..]) {
                    Some(known) => known,
                    None => sums.entry(name.to_vec()).or_insert((Weight::ZERO, Weight::ZERO)),
                };
                if depth == 0 {
                    *own = own.checked_add(weight)?;
                }
                *total = total.checked_add(weight)?;
            }
        }
        self.kept += sums.len() - before;
        if self.kept > MOST_FUNCTIONS { self.write_functions() } else { Ok(()) }
    }

    fn write_functions(&mut self) -> Result<()> {
        self.kept = 0;
        for ((labels, kind, unit), sums) in std::mem::take(&mut self.sums) {
            let mut sums: Vec<_> = sums.into_iter().collect();
            sums.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            for (name, (own, total)) in sums {
                let rows = &mut self.functions;
                rows.labels(0, labels.iter().map(|(key, value)| (key.as_bytes(), value.as_bytes())));
                rows.text(2, kind.as_bytes());
                rows.maybe_text(3, unit.as_deref().map(str::as_bytes));
                rows.text(4, &name);
                rows.weight(5, own)?;
                rows.weight(6, total)?;
                rows.end_row()?;
            }
        }
        Ok(())
    }

    /// Ends the files.
    ///
    /// # Errors
    /// Those of writing.
    pub(super) fn finish(mut self) -> Result<()> {
        self.write_functions()?;
        self.functions.finish()?;
        self.stacks.finish()
    }
}

/// The two tables of files.
pub(super) struct Files {
    recordings: Table<'static>,
    rejects: Table<'static>,
}

impl Files {
    /// Begins the files.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn begin(staged: &Staged) -> Result<Files> {
        let place = "REQUIRED BINARY day (STRING); OPTIONAL BINARY service (STRING);";
        let file = "REQUIRED BINARY path (STRING); REQUIRED INT64 size; REQUIRED INT64 modified;";
        let recordings = format!(
            "{place} OPTIONAL INT64 time (TIMESTAMP(MICROS,true)); {LABELS} REQUIRED BINARY value_type (STRING);
            OPTIONAL BINARY unit (STRING); {} REQUIRED INT64 stacks; {file} REQUIRED BINARY content (STRING);
            REQUIRED BINARY facts (STRING); OPTIONAL BINARY message (STRING);",
            weight_column("weight", DECIMALS)
        );
        let rejects = format!("{place} {file} REQUIRED BINARY message (STRING);");
        Ok(Files {
            recordings: begin(staged, "recordings", "", &recordings)?,
            rejects: begin(staged, "rejects", "", &rejects)?,
        })
    }

    /// Adds the row of one value of a recording.
    ///
    /// # Errors
    /// Those of writing.
    pub(super) fn add(&mut self, profile: &Profile, origin: &Origin<'_>) -> Result<()> {
        let (rows, facts) = (&mut self.recordings, profile.facts());
        rows.text(0, origin.day.as_bytes());
        rows.maybe_text(1, origin.service.map(str::as_bytes));
        rows.maybe_number(2, micros(facts));
        rows.labels(3, origin.labels.iter().map(|(key, value)| (key.as_bytes(), value.as_bytes())));
        rows.text(5, value_type(facts).0.as_bytes());
        rows.maybe_text(6, facts.unit.as_deref().map(str::as_bytes));
        rows.weight(7, profile.total()?.value)?;
        rows.push_number(8, profile.stack_count() as i64);
        rows.text(9, origin.path.as_bytes());
        rows.push_number(10, origin.size);
        rows.push_number(11, origin.modified);
        rows.text(12, origin.content.as_bytes());
        rows.text(13, crate::profile::header::write(facts).as_bytes());
        rows.maybe_text(14, origin.message.map(str::as_bytes));
        rows.end_row()
    }

    /// Adds the row of a file that could not be read.
    ///
    /// # Errors
    /// Those of writing.
    pub(super) fn reject(&mut self, origin: &Origin<'_>, message: &str) -> Result<()> {
        let rows = &mut self.rejects;
        rows.text(0, origin.day.as_bytes());
        rows.maybe_text(1, origin.service.map(str::as_bytes));
        rows.text(2, origin.path.as_bytes());
        rows.push_number(3, origin.size);
        rows.push_number(4, origin.modified);
        rows.text(5, message.as_bytes());
        rows.end_row()
    }

    /// Ends the files.
    ///
    /// # Errors
    /// Those of writing.
    pub(super) fn finish(self) -> Result<()> {
        self.recordings.finish()?;
        self.rejects.finish()
    }
}

/// The start of a recording in microseconds since 1970.
fn micros(facts: &Facts) -> Option<i64> {
    let start = facts.start?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(start.as_micros()).ok()
}

/// A name as text of Parquet. A byte that is no UTF-8 becomes U+EF00 plus the byte, and so does each byte of these
/// characters where a name has them: the name can be told from its text.
pub(super) fn text(name: &[u8]) -> Cow<'_, [u8]> {
    let is_escape = |c: char| ('\u{ef80}'..='\u{efff}').contains(&c);
    if std::str::from_utf8(name).is_ok_and(|text| !text.contains(is_escape)) {
        return Cow::Borrowed(name);
    }
    let mut out = String::new();
    let escape = |bytes: &[u8], out: &mut String| {
        out.extend(
            bytes.iter().map(|&byte| char::from_u32(0xef00 + u32::from(byte)).expect("a private character")),
        );
    };
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            match is_escape(c) {
                true => escape(c.encode_utf8(&mut [0; 4]).as_bytes(), &mut out),
                false => out.push(c),
            }
        }
        escape(chunk.invalid(), &mut out);
    }
    Cow::Owned(out.into_bytes())
}

/// A value in the name of a folder, as Hive and Spark write it.
fn escaped(value: &str) -> String {
    if value.is_empty() {
        return NO_PARTITION.to_owned();
    }
    let mut out = String::new();
    for c in value.chars() {
        match c {
            '"' | '#' | '%' | '\'' | '*' | '/' | ':' | '=' | '?' | '\\' | '{' | '}' | '[' | ']' | '^' => {
                out += &format!("%{:02X}", u32::from(c));
            }
            c if u32::from(c) < 0x20 || c == '\x7f' => out += &format!("%{:02X}", u32::from(c)),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_be_told_from_its_text() {
        assert_eq!(&*text(b"main"), b"main");
        assert_eq!(&*text("é".as_bytes()), "é".as_bytes());
        assert_eq!(&*text(b"a\xff"), "a\u{efff}".as_bytes());
        // The character itself is escaped byte by byte.
        assert_eq!(&*text("\u{efff}".as_bytes()), "\u{efee}\u{efbf}\u{efbf}".as_bytes());
    }

    #[test]
    fn folders_are_named_as_hive_names_them() {
        assert_eq!(escaped("api"), "api");
        assert_eq!(escaped("a/b=c%"), "a%2Fb%3Dc%25");
        assert_eq!(escaped(""), NO_PARTITION);
    }
}

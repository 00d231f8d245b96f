//! The description of a format in `--list-formats` and in the table of `docs/formats.md`.

use crate::collapse::Collapser;

/// The description of a format.
#[derive(Clone, Copy, Debug)]
pub struct FormatInfo {
    /// The name that `--input-format` takes, and that of the folder of its fixtures.
    pub name: &'static str,
    /// The programs that write it: `perf script`.
    pub producer: &'static str,
    /// The recordings, or else the description, that it is read by.
    pub tested: Tested,
    /// The values for `--value`, the default first: `time, cpu, memory`.
    pub values: &'static str,
    /// The units of the values, in their order: `us, us, bytes`.
    pub unit: &'static str,
}

/// The evidence that a format is read right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tested {
    /// Real recordings of these versions were read: `perf 6.1`.
    Seen(&'static str),
    /// No recording was at hand: it is read by this documentation, schema or source.
    ByDescription(&'static str),
}

impl Tested {
    /// `recordings` or `its description`.
    pub fn evidence(self) -> &'static str {
        match self {
            Tested::Seen(_) => "recordings",
            Tested::ByDescription(_) => "its description",
        }
    }

    /// The versions, or the description.
    pub fn versions(self) -> &'static str {
        match self {
            Tested::Seen(versions) | Tested::ByDescription(versions) => versions,
        }
    }
}

/// The times and labels that a format's samples may have: see [`Context`](crate::profile::Context).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextInfo {
    /// The things that have a time: `samples, waits`; empty if nothing has.
    pub times: &'static str,
    /// The clock of the times, as [`Facts::clock`](crate::profile::Facts::clock) names it, where all
    /// recordings have the same.
    pub clock: Option<&'static str>,
    /// The labels: `thread, tid`; empty if there are none.
    pub labels: &'static str,
}

impl ContextInfo {
    /// Neither times nor labels.
    pub const NONE: ContextInfo = ContextInfo { times: "", clock: None, labels: "" };
}

/// The formats that have times or labels, as a table of Markdown.
pub fn context_table(formats: &[&dyn Collapser]) -> String {
    let mut out = "| name | times | clock | labels |\n| --- | --- | --- | --- |\n".to_owned();
    for format in formats {
        let ContextInfo { times, clock, labels } = format.contexts();
        let or_none = |text: &'static str| if text.is_empty() { "-" } else { text };
        if !times.is_empty() || !labels.is_empty() {
            let (name, clock) = (format.name(), clock.unwrap_or("-"));
            out += &format!("| `{name}` | {} | {clock} | {} |\n", or_none(times), or_none(labels));
        }
    }
    out
}

/// The number of columns.
const WIDTH: usize = 6;

const COLUMNS: [&str; WIDTH] = ["name", "written by", "known from", "versions", "values", "unit"];

impl FormatInfo {
    fn cells(&self) -> [&'static str; WIDTH] {
        [self.name, self.producer, self.tested.evidence(), self.tested.versions(), self.values, self.unit]
    }
}

/// The formats as a table for people, one line each, or as a table of Markdown.
pub fn table(formats: &[&dyn Collapser], markdown: bool) -> String {
    let rows: Vec<[&str; WIDTH]> = formats.iter().map(|format| format.info().cells()).collect();
    let mut out = String::new();
    if markdown {
        let line = |cells: [&str; WIDTH]| {
            format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
        };
        out += &line(COLUMNS);
        out += &line(["---"; WIDTH]);
        rows.iter().for_each(|[name, rest @ ..]| {
            let [producer, evidence, versions, values, unit] = *rest;
            out += &line([&format!("`{name}`"), producer, evidence, versions, values, unit]);
        });
        return out;
    }
    let all: Vec<[&str; WIDTH]> = [COLUMNS].into_iter().chain(rows).collect();
    let width = |at: usize| all.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: [usize; WIDTH] = std::array::from_fn(width);
    for row in all {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        out += cells.join("  ").trim_end();
        out.push('\n');
    }
    out
}

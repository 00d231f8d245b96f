//! Collapsing, through the library and through the program.

mod addresses;
mod corpus;
mod facts;
#[path = "../common/feed.rs"]
mod feed;
mod fixtures;
mod flamegraph;
mod folder;
mod jfr;
mod jfr_writer;
mod json_text;
mod json_values;
mod labels;
mod mutations;
mod not_recordings;
mod oracle;
mod order;
mod perf_script;
mod program;
mod protobuf_fields;
#[path = "../common/recordings.rs"]
mod recordings;
mod rename;
mod shape;
#[path = "../common/skip.rs"]
mod skip;
mod stated;
#[path = "../common/thorough.rs"]
mod thorough;
mod truncation;
mod values;
mod whitespace;
mod xml_attributes;

use fg_tools::collapse::{CollapseOptions, Report, collapse, registry};
use fg_tools::folded::StackTable;
use fg_tools::input::Source;
use std::path::Path;

/// The folded text of a file, its total weight and the report; the message if it is an error.
pub fn fold(
    path: &Path,
    format: Option<&str>,
    options: &CollapseOptions,
) -> Result<(String, String, Report), String> {
    let format = format.map(|name| registry::by_name(name).expect("the test names a format"));
    let mut table = StackTable::default();
    let report = collapse(&[Source::new(path)], format, options, &mut table).map_err(|e| e.to_string())?;
    let mut out = Vec::new();
    table.write(&mut out).map_err(|e| e.to_string())?;
    let total = table.total().map_err(|e| e.to_string())?.value.to_string();
    Ok((String::from_utf8_lossy(&out).into_owned(), total, report))
}

/// [`fold`] for bytes.
pub fn fold_bytes(
    bytes: &[u8],
    format: Option<&str>,
    options: &CollapseOptions,
) -> Result<(String, String, Report), String> {
    use std::io::Write;
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("a temporary file can be written");
    fold(file.path(), format, options)
}

//! The recordings that a store has already.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::Type;

use crate::collapse::formats::parquet::{failed, guarded};
use crate::error::{Error, Position, Result};

/// A file as it was when it was read: its path, its size, and the time of its last change in nanoseconds.
pub(super) type FileState = (String, i64, i64);

/// The files that complete runs have read.
#[derive(Default)]
pub(super) struct Known {
    /// Those that are in the store.
    pub files: HashSet<FileState>,
    /// Content and labels of those that are in the store, as a hash.
    pub contents: HashSet<String>,
    /// Those that could not be read.
    pub rejects: HashSet<FileState>,
    /// The runs whose files these are.
    runs: HashSet<String>,
}

impl Known {
    /// Takes in the complete runs of a store that are not known yet. Returns true if there were any.
    ///
    /// # Errors
    /// The system's, and those of a file that is not Parquet.
    pub(super) fn update(&mut self, root: &Path) -> Result<bool> {
        let mut found_any = false;
        for run in runs(root)? {
            if !self.runs.insert(run.clone()) {
                continue;
            }
            found_any = true;
            for (table, is_reject) in [("recordings", false), ("rejects", true)] {
                for file in files(&root.join(table).join(format!("run={run}")))? {
                    guarded(|| self.read(&file, is_reject))
                        .map_err(|e| e.or_at(|| Position::file(file.to_string_lossy())))?;
                }
            }
        }
        Ok(found_any)
    }

    fn read(&mut self, file: &Path, is_reject: bool) -> Result<()> {
        let opened = File::open(file).map_err(|e| Error::io("open", e))?;
        let reader = SerializedFileReader::new(opened).map_err(failed)?;
        let schema = reader.metadata().file_metadata().schema();
        let wanted = ["path", "size", "modified", "content"];
        let fields = schema.get_fields().iter().filter(|field| wanted.contains(&field.name()));
        let projection = Type::group_type_builder(schema.name()).with_fields(fields.cloned().collect());
        let projection = projection.build().map_err(failed)?;
        for row in reader.get_row_iter(Some(projection)).map_err(failed)? {
            let row = row.map_err(failed)?;
            let (mut path, mut size, mut modified) = (String::new(), 0, 0);
            for (name, value) in row.get_column_iter() {
                match (&name[..], value) {
                    ("path", Field::Str(text)) => path.clone_from(text),
                    ("size", Field::Long(number)) => size = *number,
                    ("modified", Field::Long(number)) => modified = *number,
                    ("content", Field::Str(text)) if !is_reject => {
                        self.contents.insert(text.clone());
                    }
                    _ => {}
                }
            }
            let files = if is_reject { &mut self.rejects } else { &mut self.files };
            files.insert((path, size, modified));
        }
        Ok(())
    }
}

/// The complete runs, without those that another replaces.
fn runs(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("recordings");
    let mut runs: Vec<String> =
        names(&folder)?.iter().filter_map(|name| Some(name.strip_prefix("run=")?.to_owned())).collect();
    let mut replaced: HashSet<String> = HashSet::new();
    for run in &runs {
        if let Ok(text) = fs::read_to_string(folder.join(format!("run={run}/_replaces"))) {
            replaced.extend(text.lines().map(str::to_owned));
        }
    }
    runs.retain(|run| !replaced.contains(run));
    runs.sort();
    Ok(runs)
}

/// The names in a folder, none if it is not there.
pub(super) fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.and_then(Iterator::collect::<std::io::Result<Vec<_>>>),
    };
    let entries = entries.map_err(|e| Error::io("read", e).at(Position::file(folder.to_string_lossy())))?;
    Ok(entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let names = names(folder)?;
    Ok(names.iter().filter(|name| name.ends_with(".parquet")).map(|name| folder.join(name)).collect())
}

//! Mutants that change nothing that anybody could see, each with a reason: `mutants/equivalent.txt`.
//!
//! ```text
//! src/weight.rs: replace < with <= in Weight::scaled
//!     if decimals < self.decimals {
//!     equal numbers of decimals are scaled by one
//! ```
//!
//! The second line is the source line, so that an entry outlives changes of the file around it.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use crate::schema::Mutant;

/// The entries, by file, change and source line.
pub struct Equivalents {
    entries: HashMap<(String, String, String), usize>,
}

impl Equivalents {
    /// Reads the list. An entry without a reason is an error.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let lines: Vec<(usize, &str)> =
            (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).collect();
        let mut entries = HashMap::new();
        let mut rest = &lines[..];
        while let Some(&(number, head)) = rest.first() {
            let indented = rest[1..].iter().take_while(|(_, line)| line.starts_with(' ')).count();
            let place = head.split_once(": ").filter(|_| indented >= 2);
            let Some((file, change)) = place else {
                return Err(format!(
                    "{}:{number}: expected `FILE: CHANGE`, its source line and a reason",
                    path.display()
                ));
            };
            entries.insert((file.to_owned(), change.to_owned(), rest[1].1.trim().to_owned()), number);
            rest = &rest[1 + indented..];
        }
        Ok(Self { entries })
    }

    /// Tells whether a mutant is in the list.
    pub fn has(&self, mutant: &Mutant) -> bool {
        self.entries.contains_key(&(mutant.file.clone(), mutant.change.clone(), mutant.text.clone()))
    }

    /// The lines of entries for these files that are about no mutant.
    pub fn stale(&self, files: &[String], mutants: &[Mutant]) -> Vec<usize> {
        let known: HashSet<(&str, &str, &str)> = mutants
            .iter()
            .map(|mutant| (mutant.file.as_str(), mutant.change.as_str(), mutant.text.as_str()))
            .collect();
        let is_stale = |(file, change, text): &(String, String, String)| {
            files.contains(file) && !known.contains(&(file.as_str(), change.as_str(), text.as_str()))
        };
        let mut stale: Vec<usize> =
            self.entries.iter().filter(|(key, _)| is_stale(key)).map(|(_, line)| *line).collect();
        stale.sort_unstable();
        stale
    }
}

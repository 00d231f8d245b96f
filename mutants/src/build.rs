//! One build of all mutants that compile.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::program::Program;
use crate::schema::{Mutant, Schema, Written};
use crate::tree;

/// Types are checked before borrows, and some errors hide others.
const ROUNDS: usize = 25;

/// A folder with a copy of the project, and what is made of it.
pub struct Workshop {
    pub folder: PathBuf,
}

impl Workshop {
    pub fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// Writes the mutants into the copy and drops those that do not compile. Returns the numbers dropped.
    pub fn build(&self, schemas: &[Schema], mutants: &[Mutant]) -> Result<HashSet<usize>, String> {
        let notes = self.folder.join("dropped");
        let known = fs::read_to_string(&notes).unwrap_or_default();
        let known: HashSet<&str> = known.lines().collect();
        let key = |mutant: &Mutant| format!("{}\t{}\t{}", mutant.file, mutant.text, mutant.change);
        let mut dropped: HashSet<usize> =
            (0..mutants.len()).filter(|&at| known.contains(key(&mutants[at]).as_str())).collect();
        for round in 1..=ROUNDS {
            let written: HashMap<&str, Written> = schemas
                .iter()
                .map(|schema| (schema.file.as_str(), schema.write(mutants, &dropped)))
                .collect();
            for (file, written) in &written {
                tree::write(&self.tree().join(file), written.text.as_bytes())?;
            }
            let messages = self.cargo(&["build", "--lib"])?;
            let (errors, blamed) = blame(&messages, &written, mutants);
            let fresh: Vec<usize> = blamed.into_iter().filter(|at| !dropped.contains(at)).collect();
            eprintln!("round {round}: {} errors, {} mutants do not compile", errors.len(), fresh.len());
            if errors.is_empty() {
                return Ok(dropped);
            }
            if fresh.is_empty() {
                return Err(format!("these errors belong to no mutant:\n{}", errors.join("\n")));
            }
            dropped.extend(fresh);
            let lines: BTreeMap<String, ()> = dropped.iter().map(|&at| (key(&mutants[at]), ())).collect();
            let lines: Vec<&str> = lines.keys().map(String::as_str).collect();
            tree::write(&notes, lines.join("\n").as_bytes())?;
        }
        Err(format!("mutants that do not compile are left after {ROUNDS} rounds"))
    }

    /// Builds the programs of tests: `lib` for the unit tests, `NAME`, or `NAME:PREFIX` for some tests of it.
    pub fn programs(&self, tests: &[String]) -> Result<Vec<Program>, String> {
        let parts = |test: &str| {
            test.split_once(':').map_or((test.to_owned(), String::new()), |(name, prefix)| {
                (name.to_owned(), prefix.to_owned())
            })
        };
        let mut names: Vec<String> = tests.iter().map(|test| parts(test).0).collect();
        names.sort();
        names.dedup();
        let mut arguments = vec!["test", "--no-run"];
        for name in &names {
            arguments.extend(if name == "lib" { vec!["--lib"] } else { vec!["--test", name] });
        }
        let messages = self.cargo(&arguments)?;
        let mut paths = HashMap::new();
        for message in &messages {
            if let Some(path) = message["executable"].as_str()
                && message["profile"]["test"] == true
            {
                let kinds = message["target"]["kind"].as_array();
                let of_library = kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind != "test"));
                let name = message["target"]["name"].as_str().unwrap_or_default();
                paths.insert(if of_library { "lib" } else { name }, PathBuf::from(path));
            }
        }
        let found = tests.iter().map(|test| {
            let (name, prefix) = parts(test);
            let path = paths.get(name.as_str()).cloned();
            let path = path.ok_or_else(|| {
                format!("the tests '{name}' were not built: see `cargo test` in {}", self.tree().display())
            })?;
            Ok(Program { name: test.replace("::", "-").replace(':', "-"), path, prefix })
        });
        found.collect()
    }

    fn cargo(&self, arguments: &[&str]) -> Result<Vec<Value>, String> {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(self.tree()).args(arguments).args([
            "--locked",
            "--all-features",
            "--message-format=json",
        ]);
        cargo.arg("--target-dir").arg(self.folder.join("target")).stderr(Stdio::inherit());
        let output = cargo.output().map_err(|e| format!("cargo: {e}"))?;
        let messages: Vec<Value> = output
            .stdout
            .split(|&byte| byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect();
        if !output.status.success() && !messages.iter().any(is_error) {
            return Err(format!("cargo {} failed in {}", arguments.join(" "), self.tree().display()));
        }
        Ok(messages)
    }
}

fn is_error(message: &Value) -> bool {
    message["reason"] == "compiler-message" && message["message"]["level"] == "error"
}

/// The errors, and the mutants that they are about.
fn blame(
    messages: &[Value],
    written: &HashMap<&str, Written>,
    mutants: &[Mutant],
) -> (Vec<String>, HashSet<usize>) {
    let mut errors = Vec::new();
    let mut all = HashSet::new();
    for message in messages.iter().filter(|message| is_error(message)) {
        let message = &message["message"];
        let spans = message["spans"].as_array().map_or(&[][..], Vec::as_slice);
        // "aborting due to 3 previous errors"
        if spans.is_empty() {
            continue;
        }
        errors.push(message["rendered"].as_str().unwrap_or_default().to_owned());
        let places: Vec<_> = spans.iter().filter_map(|span| place(span, written)).collect();
        let mut blamed: Vec<usize> =
            places.iter().flat_map(|(written, range)| written.blamed(range.clone())).collect();
        if blamed.is_empty() {
            blamed = places.iter().flat_map(|(written, range)| written.around(range.clone())).collect();
        }
        if blamed.is_empty() {
            blamed = same_line(spans, written, mutants);
        }
        all.extend(blamed);
    }
    (errors, all)
}

fn place<'a>(
    span: &Value,
    written: &'a HashMap<&str, Written>,
) -> Option<(&'a Written, std::ops::Range<usize>)> {
    let written = written.get(span["file_name"].as_str()?)?;
    let offset = |name: &str| span[name].as_u64().and_then(|offset| usize::try_from(offset).ok());
    Some((written, offset("byte_start")?..offset("byte_end")?))
}

/// The last resort: all mutants of the lines that an error names.
fn same_line(spans: &[Value], written: &HashMap<&str, Written>, mutants: &[Mutant]) -> Vec<usize> {
    let lines: Vec<(&str, std::ops::RangeInclusive<u64>)> = spans
        .iter()
        .filter_map(|span| {
            Some((span["file_name"].as_str()?, span["line_start"].as_u64()?..=span["line_end"].as_u64()?))
        })
        .filter(|(file, _)| written.contains_key(file))
        .collect();
    let named = |mutant: &Mutant| {
        lines.iter().any(|(file, range)| *file == mutant.file && range.contains(&(mutant.line as u64)))
    };
    (0..mutants.len()).filter(|&at| named(&mutants[at])).collect()
}

/// The folder of the project: the one above this one's manifest.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("mutants/ is in the project").to_owned()
}

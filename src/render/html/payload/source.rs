//! The source lines of a page: one JSON object, `source`.
//!
//! ```text
//! {"files": [{"name": "app/work.py", "last": 40, "runs": [[1, "import sys\n\ndef work():"], [30, "…"]]}],
//!  "functions": [{"name": "work", "file": 0, "start": 3, "frames": [17], "lines": [[5, 40, 120], …]}]}
//! ```
//! `runs` are the lines around those with a weight, each from a line on; missing for a file that was not found, as
//! is `last`, its number of lines. A line is its number, or 0 for an unknown one, self and total weight in the
//! steps of the page, and of a comparison both before. `frames` are the numbers of the names that the
//! function has in the page.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::column::deflate;
use super::weights::unsigned_steps;
use crate::error::Result;
use crate::folded::{Columns, Weights};
use crate::render::Settings;
use crate::render::source::{FunctionLines, SourceFiles, SourceHere, SourceLines, excerpt};
use crate::weight::Weight;

/// Functions that are in the page, the heaviest first; and their least share of the whole.
const MOST_FUNCTIONS: usize = 2000;
const LEAST_PART: i128 = 1000;
/// The most bytes of code in the page, in the sections of all of its values.
const MOST_CODE: usize = 2 << 20;

/// The section, one of `sections` in the page; `None` without any lines.
///
/// # Errors
/// [`crate::ErrorKind::Overflow`].
pub(in crate::render::html) fn section<'n>(
    lines: &SourceLines,
    names: impl Iterator<Item = &'n [u8]>,
    decimals: u8,
    (columns, all): (Columns, Weights),
    sections: usize,
    (settings, here): (&Settings, &SourceHere),
) -> Result<Option<(&'static str, Vec<u8>)>> {
    let chosen = heaviest(lines, all)?;
    if chosen.is_empty() {
        return Ok(None);
    }
    let numbers: HashMap<&[u8], usize> = names.zip(0..).collect();
    let step = |weight: Weight| -> Result<Value> {
        let steps = unsigned_steps(settings.shown(weight)?, decimals)?;
        // Beyond this the page counts in rounded numbers anyway.
        Ok(u64::try_from(steps).map_or_else(|_| json!(steps as f64), |steps| json!(steps)))
    };
    let mut files: Vec<&[u8]> = Vec::new();
    let mut file_numbers: HashMap<&[u8], usize> = HashMap::new();
    let mut functions = Vec::with_capacity(chosen.len());
    for function in &chosen {
        let file = *file_numbers.entry(&function.file).or_insert_with(|| {
            files.push(&function.file);
            files.len() - 1
        });
        let mut rows = Vec::with_capacity(function.lines.len());
        for (line, weights) in &function.lines {
            let mut row = vec![json!(line), step(weights.own.value)?, step(weights.total.value)?];
            if columns == Columns::Two {
                row.extend([step(weights.own.before)?, step(weights.total.before)?]);
            }
            rows.push(Value::Array(row));
        }
        let frames: Vec<usize> =
            function.frames.iter().filter_map(|frame| numbers.get(&frame[..]).copied()).collect();
        functions.push(json!({
            "name": String::from_utf8_lossy(&function.name),
            "file": file,
            "start": function.start_line,
            "frames": frames,
            "lines": rows,
        }));
    }
    let room = MOST_CODE / sections.max(1);
    let files = files_with_code(&chosen, &files, &file_numbers, room, (settings, here));
    let text = json!({ "files": files, "functions": functions }).to_string();
    Ok(Some(("source", deflate(text.as_bytes())?)))
}

/// The functions that weigh something, the heaviest first.
fn heaviest(lines: &SourceLines, all: Weights) -> Result<Vec<&FunctionLines>> {
    let mut weighed = Vec::new();
    for function in lines.functions() {
        let total = function.sum()?.total;
        let is_heavy = |part: Weight, whole: Weight| -> Result<bool> {
            Ok(!part.is_zero() && part.checked_mul(Weight::new(LEAST_PART))? >= whole)
        };
        if is_heavy(total.value, all.value)? || is_heavy(total.before, all.before)? {
            weighed.push((total.larger(), function));
        }
    }
    weighed.sort_by_key(|(weight, function)| (Reverse(*weight), &function.name, &function.file));
    weighed.truncate(MOST_FUNCTIONS);
    Ok(weighed.into_iter().map(|(_, function)| function).collect())
}

/// The files, with the code around the lines of functions as long as there is room.
fn files_with_code(
    functions: &[&FunctionLines],
    files: &[&[u8]],
    numbers: &HashMap<&[u8], usize>,
    mut room: usize,
    (settings, here): (&Settings, &SourceHere),
) -> Vec<Value> {
    let mut sources = SourceFiles::below(&settings.source_folders).and_here(here);
    // By file: lines that are shown.
    let mut shown: Vec<BTreeMap<u32, String>> = vec![BTreeMap::new(); files.len()];
    for function in functions {
        let number = numbers[&function.file[..]];
        let Some(lines) = sources.lines(&function.file) else { continue };
        let runs = excerpt::runs(function.lines.keys().copied(), function.start_line, lines.len() as u32);
        for line in runs.into_iter().flat_map(|(from, to)| from..=to) {
            let text = &lines[line as usize - 1];
            if room < text.len() || shown[number].contains_key(&line) {
                continue;
            }
            room -= text.len();
            shown[number].insert(line, text.clone());
        }
    }
    let mut values = Vec::with_capacity(files.len());
    for (file, shown) in files.iter().zip(shown) {
        let private =
            |file: &[u8]| file.rsplit(|b| matches!(b, b'/' | b'\\')).next().unwrap_or(file).to_vec();
        let name = if settings.private { private(file) } else { file.to_vec() };
        let mut value = json!({ "name": String::from_utf8_lossy(&name) });
        if !shown.is_empty() {
            value["last"] = json!(sources.lines(file).map_or(0, |lines| lines.len()));
            value["runs"] = runs_of(&shown);
        }
        values.push(value);
    }
    values
}

/// Lines beside each other as one text, with the number of the first.
fn runs_of(lines: &BTreeMap<u32, String>) -> Value {
    let mut runs: Vec<(u32, u32, String)> = Vec::new();
    for (&line, text) in lines {
        match runs.last_mut() {
            Some((_, next, run)) if *next == line => {
                run.push('\n');
                run.push_str(text);
                *next += 1;
            }
            _ => runs.push((line, line + 1, text.clone())),
        }
    }
    runs.into_iter().map(|(from, _, text)| json!([from, text])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::ProfileBuilder;
    use crate::profile::{Context, Sink as _, Wants};
    use crate::{Profile, folded::Place};
    use std::io::Read as _;

    /// `count` functions of a line each in a file that is there, and one that weighs next to nothing.
    fn profile(count: u32) -> Profile {
        let mut builder = ProfileBuilder::new(Wants::ALL);
        builder.columns(Columns::Two).unwrap();
        for n in 0..=count {
            let place = Place { file: b"code.c", line: 20 * n + 1, ..Place::default() };
            let frame = builder.frame_at(format!("f{n}").as_bytes(), &place);
            let value = if n == count { Weight::ONE } else { Weight::new(10_000) };
            let weights = Weights { value, before: Weight::ZERO };
            builder.sample(&[frame], weights, &Context::UNKNOWN).unwrap();
        }
        builder.finish().unwrap()
    }

    fn section_of(profile: &Profile, settings: &Settings) -> Value {
        one_section_of(1, profile, settings)
    }

    fn one_section_of(sections: usize, profile: &Profile, settings: &Settings) -> Value {
        let lines = SourceLines::of_profile(profile, &settings.rewrite).unwrap();
        let names: Vec<Vec<u8>> = lines.functions().iter().map(|function| function.name.clone()).collect();
        let whole = (Columns::Two, profile.total().unwrap());
        let section = section(
            &lines,
            names.iter().map(Vec::as_slice),
            0,
            whole,
            sections,
            (settings, &SourceHere::default()),
        )
        .unwrap();
        let mut text = String::new();
        flate2::read::ZlibDecoder::new(&section.unwrap().1[..]).read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn lines_of_both_sides_and_only_the_code_around_them() {
        let folder = tempfile::tempdir().unwrap();
        let code: String = (1..=100).map(|n| format!("line {n}\n")).collect();
        std::fs::write(folder.path().join("code.c"), code).unwrap();
        let mut settings = Settings::default();
        settings.source_folders = vec![folder.path().to_owned()];
        let found = section_of(&profile(2), &settings);
        let functions = found["functions"].as_array().unwrap();
        assert_eq!(functions.len(), 2, "{found}");
        assert_eq!(functions[1]["lines"], json!([[21, 10_000, 10_000, 0, 0]]));
        assert_eq!(functions[1]["frames"], json!([1]));
        let runs = found["files"][0]["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 1, "{found}");
        let text = runs[0][1].as_str().unwrap();
        assert!(text.starts_with("line 1\nline 2\n") && text.ends_with("\nline 33"), "{text}");
        settings.source_folders.clear();
        assert_eq!(section_of(&profile(2), &settings)["files"], json!([{ "name": "code.c" }]));
    }

    #[test]
    fn functions_and_code_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let line = format!("{}\n", "x".repeat(490));
        std::fs::write(folder.path().join("code.c"), line.repeat(6_100)).unwrap();
        let mut settings = Settings::default();
        settings.source_folders = vec![folder.path().to_owned()];
        let found = section_of(&profile(300), &settings);
        let code = |found: &Value| -> usize {
            let runs = found["files"][0]["runs"].as_array().unwrap();
            runs.iter().map(|run| run[1].as_str().unwrap().len()).sum()
        };
        let whole = code(&found);
        assert!(whole > MOST_CODE / 2 && whole < MOST_CODE + 20_000, "{whole}");
        let quarter = code(&one_section_of(4, &profile(300), &settings));
        assert!(quarter > MOST_CODE / 8 && quarter < MOST_CODE / 4 + 20_000, "{quarter}");
        assert!(
            section_of(&profile(900), &settings)["functions"].as_array().unwrap().len() <= MOST_FUNCTIONS
        );
    }
}

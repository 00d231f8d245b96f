//! The copy of the project that holds the mutants, and the files that they are made in.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use syn::Item;

use crate::schema::is_test;

/// The modules that everything else stands on.
const CORE: &[&str] = &[
    "src/collapse/kit/driver",
    "src/collapse/formats/perf_script",
    "src/diff/",
    "src/filter",
    "src/folded",
    "src/profile",
    "src/render/layout",
    "src/significance",
    "src/weight",
];

/// Writes a file whose content is another; an unchanged one is not compiled again.
pub fn write(path: &Path, content: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    let folder = path.parent().expect("a file in the tree");
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, content))
        .map_err(|e| format!("{}: {e}", path.display()))
}

/// Copies what belongs to the project, without the files that are to be mutated.
pub fn copy(root: &Path, to: &Path, mutated: &HashSet<String>) -> Result<(), String> {
    let listed = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output();
    let listed = listed.map_err(|e| format!("git: {e}"))?.stdout;
    for name in String::from_utf8_lossy(&listed).split('\0').filter(|name| !name.is_empty()) {
        let (from, into) = (root.join(name), to.join(name));
        if mutated.contains(name) || !from.is_file() {
            continue;
        }
        let content = fs::read(&from).map_err(|e| format!("{}: {e}", from.display()))?;
        write(&into, &content)?;
        // A script stays one.
        let mode = fs::metadata(&from).map_err(|e| format!("{}: {e}", from.display()))?.permissions();
        fs::set_permissions(&into, mode).map_err(|e| format!("{}: {e}", into.display()))?;
    }
    Ok(())
}

/// The files under these paths (the core, if there are none) that are not there for tests only, in order.
pub fn files(root: &Path, wanted: &[String]) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    list(&root.join("src"), &mut all)?;
    all.sort();
    let tests: Vec<PathBuf> = all.iter().flat_map(|path| test_modules(path)).collect();
    let core: Vec<String> = CORE.iter().map(|&name| name.to_owned()).collect();
    let wanted = if wanted.is_empty() { &core } else { wanted };
    let chosen = all
        .iter()
        .filter(|path| !tests.iter().any(|test| path.starts_with(test) || path.with_extension("") == *test));
    let names = chosen.filter_map(|path| path.strip_prefix(root).ok().map(|name| name.display().to_string()));
    // A word may end within a name: src/diff/gate stands for gate.rs and for gates/.
    Ok(names.filter(|name| wanted.iter().any(|start| name.starts_with(start.as_str()))).collect())
}

fn list(folder: &Path, into: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            list(&path, into)?;
        } else if path.extension().is_some_and(|end| end == "rs") {
            into.push(path);
        }
    }
    Ok(())
}

/// The modules, without `.rs`, that a file declares for tests only.
fn test_modules(path: &Path) -> Vec<PathBuf> {
    let Some(tree) = fs::read_to_string(path).ok().and_then(|text| syn::parse_file(&text).ok()) else {
        return Vec::new();
    };
    let beside = path.parent().unwrap_or(path).to_owned();
    let stem = path.file_stem().unwrap_or_default();
    let folder = if stem == "mod" || stem == "lib" { beside } else { beside.join(stem) };
    let tests = tree.items.iter().filter_map(|item| match item {
        Item::Mod(module) if module.content.is_none() && is_test(&module.attrs) => {
            Some(folder.join(module.ident.to_string()))
        }
        _ => None,
    });
    tests.collect()
}

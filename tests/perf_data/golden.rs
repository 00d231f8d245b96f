//! Small real recordings, with the programs they are of: `golden/README.md` says how they were made.

use std::path::{Path, PathBuf};
use std::process::Command;

use fg_tools::collapse::CollapseOptions;

use super::fold;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perf_data/golden").join(name)
}

fn folded(name: &str, options: CollapseOptions) -> String {
    let path = golden(&format!("{name}.data.gz"));
    fold(&path, &CollapseOptions { symfs: Some(golden("root")), ..options })
        .unwrap_or_else(|e| panic!("{name}: {e}"))
        .0
}

fn expected(file: &str) -> String {
    std::fs::read_to_string(golden(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

#[test]
fn inlined_functions_are_marked_when_asked_for() {
    for name in ["calc", "orders", "tree"] {
        let text = folded(name, CollapseOptions { inline: true, ..CollapseOptions::default() });
        assert_eq!(text, expected(&format!("{name}.folded")), "{name}");
    }
}

#[test]
fn source_lines_are_appended_when_asked_for() {
    let text =
        folded("calc", CollapseOptions { srcline: true, no_inline: true, ..CollapseOptions::default() });
    assert_eq!(text, expected("calc.lines"));
}

#[test]
fn without_inlined_functions_it_is_what_perf_says() {
    assert_eq!(
        folded("orders", CollapseOptions { no_inline: true, ..CollapseOptions::default() }),
        expected("orders.perf")
    );
}

#[test]
fn stacks_are_followed_to_their_root() {
    for (name, root) in
        [("calc", "calc;_start;run;"), ("orders", "orders;_start;run;"), ("tree", "tree;[truncated];")]
    {
        let text = folded(name, CollapseOptions::default());
        assert!(text.lines().all(|line| line.starts_with(root)), "{name}: {text}");
    }
}

#[test]
fn without_the_programs_only_their_names_are_known() {
    let root = tempfile::tempdir().unwrap();
    // perf may have kept a copy of them below the home directory.
    let out = Command::new(env!("CARGO_BIN_EXE_fg-collapse"))
        .args(["--no-header", "--symfs"])
        .arg(root.path())
        .arg(golden("orders.data.gz"))
        .env("HOME", root.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stdout), "orders;[orders] 35000000\n", "nothing to unwind with");
    let notes = String::from_utf8_lossy(&out.stderr);
    assert!(notes.contains("all of it in \"/home/user/app/golden/orders\", which was not found"), "{notes}");
}

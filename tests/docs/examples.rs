//! The shell examples of the pages run.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use super::page::{Block, Page};
use super::stand_ins::Reader;

/// A process for examples that record one that runs; ended with the test.
struct Busy(Child);

impl Busy {
    fn start() -> Busy {
        Busy(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.kill().expect("it is ours");
        self.0.wait().expect("it ended");
    }
}

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

/// The reason why nothing can be recorded here, in the words of `fg-record check`.
fn cannot_record(reader: &Reader) -> Option<String> {
    // Tools are tried there, and the one that stands in for perf writes where it is.
    let check = run(reader, "cd docs && fg-record check", 0);
    let said = String::from_utf8_lossy(&check.stdout).into_owned();
    let no = said.lines().find(|line| line.starts_with("no")).unwrap_or("fg-record check fails").to_owned();
    (!check.status.success()).then_some(no)
}

fn run(reader: &Reader, block: &str, pid: u32) -> Output {
    Command::new("bash")
        .args(["-eu", "-o", "pipefail", "-c", block])
        .current_dir(&reader.folder)
        .env("PATH", reader.search_path())
        .env("PID", pid.to_string())
        .env("BROWSER", "browser")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Runs the examples of a page in a folder of their own; says which were left out, and why.
fn run_page(name: &str) -> Reader {
    let reader = Reader::new();
    let cannot_record = cannot_record(&reader);
    let busy = Busy::start();
    let page = Page::open(name);
    let examples: Vec<&Block> = page.blocks.iter().filter(|block| block.language == "sh").collect();
    assert!(!examples.is_empty(), "{name}: no examples");
    let mut made = names(&reader.folder);
    let mut ran = 0;
    for block in examples {
        let place = format!("{name}:{}", block.line);
        if block.text.contains("fg-record") && cannot_record.is_some() {
            println!("skipped {place}: {}", cannot_record.as_deref().unwrap_or_default());
            continue;
        }
        if block.text.contains("| jq ") && !has("jq") {
            println!("skipped {place}: jq is not installed");
            continue;
        }
        if name == "docs/tutorial.md" && (cannot_record.is_some() || !has("cc")) {
            println!("skipped {place}: no C compiler, or nothing can be recorded here");
            continue;
        }
        let output = run(&reader, &block.text, busy.0.id());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{place}: {}\n{said}", output.status);
        // Recorders describe their machine; the program that perf.data is of is below `server` in
        // this folder, not in its own place.
        let is_of_recorder =
            |line: &str| line.starts_with("fg-record: ") || line.ends_with("were lost while recording");
        let complaints = |line: &&str| !line.contains("--symfs") && !is_of_recorder(line);
        let complaints: Vec<&str> = said.lines().filter(complaints).collect();
        let quiet =
            block.text.contains("fg-record") || block.text.contains("-v ") || block.text.contains("--gate");
        assert!(
            quiet || complaints.is_empty() || env::var_os("FG_REAL_PROFILERS").is_some(),
            "{place}: an example should show no complaints: {said}"
        );
        let files = names(&reader.folder);
        let new: Vec<_> = files.difference(&made).collect();
        for name in new {
            let path = reader.folder.join(name);
            if path.is_dir() {
                continue;
            }
            let bytes = fs::read(&path).unwrap();
            assert!(!bytes.is_empty(), "{place}: {name} is empty");
            if name.ends_with(".svg") {
                let svg = String::from_utf8(bytes).unwrap();
                assert!(svg.contains("<title>all ("), "{place}: {name} has no root");
                assert!(svg.matches("<title>").count() > 5, "{place}: {name} has hardly a frame");
            }
        }
        let shows = ![">", " -o ", "--open"].iter().any(|word| block.text.contains(word));
        assert!(!shows || !output.stdout.is_empty() || block.text.contains("cat >"), "{place}: no result");
        made = files;
        ran += 1;
    }
    println!("{name}: {ran} examples");
    reader
}

/// Returns true if a program is installed.
fn has(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[test]
fn those_of_the_readme_run() {
    run_page("README.md");
}

#[test]
fn those_of_the_commands_run() {
    let reader = run_page("docs/examples.md");
    // A pair of files that hold the same are a profile of twice the weight.
    let text = fs::read_to_string(reader.folder.join("merged.folded")).unwrap();
    let stacks = text.lines().filter(|line| !line.starts_with("# "));
    let total: u64 = stacks.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(total, 2 * 975_951_896);
}

#[test]
fn those_of_the_languages_run() {
    run_page("docs/languages.md");
}

#[test]
fn those_of_the_recipes_run() {
    run_page("docs/recipes.md");
}

#[test]
fn those_of_the_tutorial_run() {
    run_page("docs/tutorial.md");
}

#[test]
fn those_of_the_reference_run() {
    for page in
        ["docs/agents.md", "docs/folded.md", "docs/installing.md", "docs/outputs.md", "docs/reading.md"]
    {
        run_page(page);
    }
}

/// A page with examples that no test above names would not be run.
#[test]
fn every_page_with_examples_is_run() {
    let source = include_str!("examples.rs");
    for page in super::pages() {
        if page.blocks.iter().any(|block| block.language == "sh") {
            assert!(source.contains(&format!("\"{}\"", page.name)), "{} is not run", page.name);
        }
    }
}

/// A block that begins with a prompt shows what its command prints.
#[test]
fn shown_output_is_the_programs() {
    let mut shown = 0;
    for page in super::page::pages() {
        for block in page.blocks.iter().filter(|block| block.text.starts_with("$ fg-")) {
            let (command, expected) = block.text.split_once('\n').unwrap();
            let reader = Reader::new();
            let output = run(&reader, command.trim_start_matches("$ "), 0);
            let place = format!("{}:{}", page.name, block.line);
            assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{place}: {command}");
            shown += 1;
        }
    }
    assert!(shown > 0, "no page shows what a command prints");
}

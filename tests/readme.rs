//! Checks README.md: its shell examples run, its tables are the programs' own.
//!
//! The examples run one after the other in one folder, as a reader would type them, with the
//! programs just built and the recordings they name. The profilers are stand-ins: each plays
//! back a real recording of that profiler from the fixtures, so the examples run on machines
//! where it is not installed or not allowed. `FG_REAL_PROFILERS=1 cargo test --test readme` uses
//! the real ones where there are any.

#![cfg(feature = "cli")]

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Real programs' names, and what stands in for each: `$1 …` are the arguments of the example.
const STAND_INS: &[(&str, &str)] = &[
    (
        "perf",
        r#"case $1 in
        record) echo recorded > perf.data ;;
        script) test -e perf.data && play perf-script/system-wide ;;
        *) exit 3 ;;
        esac"#,
    ),
    ("austin", r#"test "$1 $2" = "-s -o" && play austin/v3-cpu > "$3""#),
    ("py-spy", r#"test "$1 $2 $3 $4" = "record -f raw -o" && play py-spy/raw > "$5""#),
    ("profile-bpfcc", r#"test "$1 $2 $3" = "-f -p $PID" && play folded/bcc-profile-folded"#),
];

const FIB: &str = "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nprint(fib(25))\n";

fn readme() -> String {
    fs::read_to_string(project().join("README.md")).unwrap()
}

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The bytes of a fixture's input.
fn recording(case: &str) -> Vec<u8> {
    let file = fs::File::open(project().join("tests/fixtures").join(case).join("input.txt.gz")).unwrap();
    let mut bytes = Vec::new();
    flate2::read::MultiGzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Blocks of a language, each with the line it begins on.
fn fences<'a>(text: &'a str, language: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, &'a str, String)> = None;
    for (n, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => open = Some((n + 2, language, String::new())),
            (Some(_), Some(_)) => {
                let (start, its_language, block) = open.take().unwrap();
                assert!(
                    ["sh", "text", "rust,no_run"].contains(&its_language),
                    "README.md:{}: ```{its_language}",
                    start - 1
                );
                if its_language == language {
                    blocks.push((start, block));
                }
            }
            (Some((_, _, block)), None) => *block += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "README.md: a block without an end");
    blocks
}

/// The rows of the table below a heading, the cells without their backquotes.
fn table(text: &str, heading: &str) -> Vec<Vec<String>> {
    let section = text.split(&format!("\n## {heading}\n")).nth(1).expect("the heading");
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let cells = |row: &str| row.split(" | ").map(|cell| cell.trim_matches('`').to_owned()).collect();
    rows.skip(2).map(cells).collect()
}

/// The `PATH` of an example: our programs first, then the stand-ins before or after the real ones.
fn search_path(stand_ins: &Path) -> std::ffi::OsString {
    let built = Path::new(env!("CARGO_BIN_EXE_fg-collapse")).parent().unwrap();
    let others = env::var_os("PATH").unwrap_or_default();
    let others = env::split_paths(&others);
    let mut folders = vec![built.to_owned()];
    if env::var_os("FG_REAL_PROFILERS").is_some() {
        folders.extend(others);
        folders.push(stand_ins.to_owned());
    } else {
        folders.push(stand_ins.to_owned());
        folders.extend(others);
    }
    env::join_paths(folders).unwrap()
}

/// Writes the programs that stand in, and what they play back.
fn install_stand_ins(folder: &Path) {
    fs::create_dir(folder).unwrap();
    for (name, script) in STAND_INS {
        let path = folder.join(name);
        let play = r#"play() { cat "$(dirname "$0")/$(echo "$1" | tr / -)"; }"#;
        fs::write(&path, format!("#!/bin/sh\n{play}\n{script}\n")).unwrap();
        make_executable(&path);
        for case in script.split("play ").skip(1).filter_map(|rest| rest.split_whitespace().next()) {
            let case = case.trim_end_matches('"');
            fs::write(folder.join(case.replace('/', "-")), recording(case)).unwrap();
        }
    }
}

#[cfg(unix)]
fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(not(unix))]
fn make_executable(_: &Path) {}

/// A folder with all that the examples take for granted.
fn reader_s_folder() -> (TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    install_stand_ins(&root.path().join("bin"));
    let folder = root.path().join("reader");
    fs::create_dir(&folder).unwrap();
    let perf = recording("perf-script/cpp-fp");
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gz, &perf).unwrap();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    for (name, bytes) in [
        ("perf.data", perf_data()),
        ("fib.py", FIB.into()),
        ("a.perf.gz", gz.finish().unwrap()),
        ("b.perf.zst", ruzstd::encoding::compress_to_vec(&perf[..], level)),
    ] {
        fs::write(folder.join(name), bytes).unwrap();
    }
    // The machine it is from.
    let bin = folder.join("server/home/user/app/golden");
    fs::create_dir_all(&bin).unwrap();
    fs::copy(golden("root/home/user/app/golden/calc"), bin.join("calc")).unwrap();
    (root, folder)
}

fn golden(name: &str) -> PathBuf {
    project().join("tests/perf_data/golden").join(name)
}

/// A recording of perf's own.
fn perf_data() -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = fs::File::open(golden("calc.data.gz")).unwrap();
    flate2::read::MultiGzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    bytes
}

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
#[cfg(unix)]
fn the_examples_run() {
    let (root, folder) = reader_s_folder();
    let path = search_path(&root.path().join("bin"));
    let mut made = names(&folder);
    let readme = readme();
    for (line, block) in fences(&readme, "sh") {
        let output = Command::new("bash")
            .args(["-eu", "-o", "pipefail", "-c", &block])
            .current_dir(&folder)
            .env("PATH", &path)
            .env("PID", std::process::id().to_string())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "README.md:{line}: {}\n{said}", output.status);
        if env::var_os("FG_REAL_PROFILERS").is_none() {
            // The program that perf.data is of is below `server` in this folder, not in its own place.
            let complaints: Vec<&str> = said.lines().filter(|line| !line.contains("--symfs")).collect();
            assert!(complaints.is_empty(), "README.md:{line}: an example should show no complaints: {said}");
        }
        let files = names(&folder);
        let new: Vec<_> = files.difference(&made).collect();
        let redirected = block.contains('>') || block.contains(" -o ");
        assert!(!new.is_empty() || !output.stdout.is_empty() || !redirected, "README.md:{line}: no result");
        for name in new {
            let bytes = fs::read(folder.join(name)).unwrap();
            assert!(!bytes.is_empty(), "README.md:{line}: {name} is empty");
            if name.ends_with(".svg") {
                let svg = String::from_utf8(bytes).unwrap();
                assert!(svg.contains("<title>all ("), "README.md:{line}: {name} has no root");
                assert!(svg.matches("<title>").count() > 10, "README.md:{line}: {name} has hardly a frame");
            }
        }
        made = files;
    }

    // A pair of files that hold the same are a profile of twice the weight.
    let total = |folded: &Path| {
        let text = fs::read_to_string(folded).unwrap();
        let stacks = text.lines().filter(|line| !line.starts_with("# "));
        stacks.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum::<u64>()
    };
    assert_eq!(total(&folder.join("merged.folded")), 2 * 975_951_896);
}

#[test]
fn the_tools_are_those_that_are_built() {
    let manifest = fs::read_to_string(project().join("Cargo.toml")).unwrap();
    let built: Vec<String> = manifest
        .split("[[bin]]\nname = \"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect();
    assert!(built.len() >= 3, "{built:?}");
    let tools: Vec<String> = table(&readme(), "Tools").into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(tools, built);
}

#[test]
fn the_rust_version_is_the_manifest_s() {
    let wanted = format!("needs Rust {} or later", env!("CARGO_PKG_RUST_VERSION"));
    assert!(readme().contains(&wanted), "README.md does not say: {wanted}");
}

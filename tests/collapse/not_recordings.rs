//! Text of other kinds is no recording: source code, prose, logs, tables, settings, other JSON.
//!
//! The files of the project itself and snippets of other languages are looked at each time. The trees named in
//! `FG_OTHER_FILES`, as in `PATH`, are looked at too, for whoever changes a detection:
//!
//! ```text
//! FG_OTHER_FILES=/usr/share:/usr/lib/python3:$HOME/.cargo/registry/src cargo test --all-features --test collapse not_recordings -- --nocapture
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fg_tools::collapse::{CollapseOptions, registry};
use fg_tools::input::Source;

use super::fold_bytes;

/// The trees to look at besides.
const TREES: &str = "FG_OTHER_FILES";
/// The most files of each tree.
const MOST: usize = 50_000;

/// Files of the project that are recordings, or quote one, and the reason.
const OUR_QUOTES: &[(&str, &str)] = &[
    ("docs/gallery/sched.perf.gz", "a recording that the documentation reads"),
    ("docs/gallery/stall.mojo.gz", "a recording that the documentation reads"),
    ("docs/gallery/stall.pb.gz", "a recording that the documentation reads"),
    ("src/collapse/formats/fg_html.rs", "looks for the mark of a page"),
    ("src/collapse/formats/perf_script/fields.rs", "its head shows the format"),
    ("src/collapse/formats/perf_script/header.rs", "its tests are recordings"),
    ("src/collapse/formats/perf_script/mod.rs", "its head shows the format"),
    ("src/collapse/formats/perf_script/sched.rs", "its head shows the format"),
    ("src/collapse/formats/xctrace/mod.rs", "its head shows the format"),
    ("src/collapse/formats/xperf.rs", "its head shows the format"),
    ("src/reading/other_values.rs", "its tests quote a recording"),
    ("docs/gallery/rustc.folded.gz", "a recording"),
];

/// Parts of the paths of other projects' files that quote recordings, and the reason.
const QUOTES: &[(&str, &str)] =
    &[("/inferno-", "the sources and tests of a reader of profiles, from the cargo registry")];

/// Recognises a text.
type Rule = fn(&str) -> bool;

/// The formats that other files are rightly taken for, if they are: the reason and the rule.
const ALIKE: &[(&str, &str, Rule)] = &[
    ("folded", "a word and a number on most lines is folded text of single functions", is_words_and_numbers),
    ("goroutines", "a crash of a Go program is quoted", |text| {
        text.contains("goroutine ") && text.contains("]:\n")
    }),
];

fn is_words_and_numbers(text: &str) -> bool {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let is_one = |line: &&str| {
        let mut words = line.split_whitespace();
        let is_number = |word: &str| word.parse::<f64>().is_ok();
        words.next().is_some_and(|word| !is_number(word)) && words.clone().count() > 0 && words.all(is_number)
    };
    2 * lines().filter(is_one).count() > lines().count()
}

/// Formats that hold other files or tables, which are refused when they are read.
const CONTAINERS: &[&str] = &["archive", "parquet"];

/// The format that a text is detected as by its beginning, and the folded text if that is read.
fn detected(source: &Source) -> Option<(&'static str, Result<String, String>)> {
    let input = source.open().ok()?;
    let format = registry::detect(&input).ok()?.name();
    let text = String::from_utf8_lossy(input.head());
    if ALIKE.iter().any(|(alike, _, is_so)| *alike == format && is_so(&text)) {
        return None;
    }
    let read = fold_bytes(input.head(), Some(format), &CollapseOptions::default());
    Some((format, read.map(|(text, ..)| text)))
}

/// The files below a folder in the order of their names, without links.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        match entry.file_type() {
            _ if found.len() >= MOST => return,
            Ok(kind) if kind.is_dir() => files(&entry.path(), found),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
}

/// A file that is taken for a recording.
struct Taken {
    path: PathBuf,
    message: String,
}

/// Looks at all files of a tree: how many there are, and those that are taken for recordings.
fn look(tree: &Path) -> (usize, Vec<Taken>) {
    let (mut paths, mut wrong) = (Vec::new(), Vec::new());
    files(tree, &mut paths);
    for path in &paths {
        let shown = path.to_string_lossy();
        if QUOTES.iter().any(|(part, _)| shown.contains(part)) {
            continue;
        }
        if let Some((format, read)) = detected(&Source::path(path)) {
            let read = match read {
                Ok(text) => format!("read: {}", text.lines().next().unwrap_or_default()),
                // What is in a container is told when it is read.
                Err(_) if CONTAINERS.contains(&format) => continue,
                Err(message) => format!("refused: {message}"),
            };
            wrong.push(Taken { path: path.clone(), message: format!("{format} {shown} {read}") });
        }
    }
    (paths.len(), wrong)
}

/// A text of each kind, with what has been taken for a recording.
const SNIPPETS: &[(&str, &str)] = &[
    (
        "Go",
        "package p\n\nfunc f() {\n\tb := bytes.NewBuffer(nil)\n\ta, e := g(b)\n\tc = append(c, (x / y))\n}\n",
    ),
    ("Go, a line", "\tb := bytes.NewBuffer(nil)\n"),
    ("Go, numbers", "var x = []float64{\n\t1 << 28,\n\t1234567891234567 << 180,\n}\n"),
    ("C", "int main(void)\n{\n\tint a = 5;\n\ta = f (a);\n\t               c = 5 (/);\n\treturn a;\n}\n"),
    ("C, old", "static void\nfoo (x)\n     int x;\n{\n                fade (bar)\n}\n"),
    (
        "Python",
        "class A:\n    def f(self):\n        \"\"\" 9 \"\"\"\n\n                a = foo (b)\n\treturn 1\n",
    ),
    ("Python, a table", "TABLE = {\n    0xc4: (0, 1),\n    0xd6: b'f [x]',\n    'a': 12\n}\nx = 3\n"),
    ("Java", "class A {\n\tint d = new B (c);\n\tvoid f(int e) {\n\t\te = e * (int) d;\n\t}\n}\n"),
    ("JavaScript", "const a = 5;\n\tb = (c) => c + 1\n                d = e ? f(1) : g (2)\n"),
    ("JavaScript, one line", "!function(e){var t=1;e.f=function(){return t}}(this);var a=3;\n"),
    (
        "Rust",
        "match bits {\n                        0b00 => {\n                            a = b (c)\n                        }\n                        0b01 => 3,\n}\n",
    ),
    ("shell", "for f in a b; do\n\tcd $f (x)\n\techo $f 1\ndone\n"),
    (
        "a log",
        "2026-11-22 10:00:00 INFO a started 12\n2026-11-22 10:00:01 INFO b [123] took: 5\n[   12.345678] usb 1-1: new device 3\n",
    ),
    ("CSV", "name,count\na,1\nb,2\n"),
    ("CSV of Europe", "name;count\na;1\nb;2\n"),
    (
        "Markdown",
        "# Title\n\n- item 1\n- item 2\n\n\tcode (indented)\n\ta = f (b)\n\nSee [1] for 12 of them.\n",
    ),
    ("JSON", "{\"name\": \"x\", \"version\": 3, \"nodes\": [{\"id\": 1}], \"samples\": [1, 2]}\n"),
    (
        "GeoJSON",
        "{\"type\": \"FeatureCollection\", \"features\": [{\"type\": \"Feature\", \"properties\": {\"name\": \"x\", \"value\": 1}}]}\n",
    ),
    ("a tree in JSON", "{\"children\": [{\"title\": \"a\", \"children\": []}]}\n"),
    ("TOML", "[package]\nname = \"a\"\nversion = 1\n[dependencies]\nb = 2\n"),
    ("YAML", "a:\n  b: 1\n  c:\n    - d: 2\n      e: 3\n"),
    ("INI", "[section]\na=1\nb=2\n"),
    ("fstab", "/dev/sda1\t/\text4\tdefaults\t0 1\n/dev/cdrom\t/cdrom\tiso9660\tdefaults,ro\t0 0\n"),
    ("XML", "<?xml version=\"1.0\"?>\n<a b=\"1\"><c>2</c></a>\n"),
    ("HTML", "<!DOCTYPE html>\n<html><body><p>12</p></body></html>\n"),
    ("a diff", "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a = 1\n+a = 2\n \tb (c)\n"),
    (
        "assembly",
        "0000000000401136 <main>:\n  401136:\t55                   \tpush   %rbp\n  401137:\t48 89 e5             \tmov    %rsp,%rbp\n",
    ),
    (
        "a hex dump",
        "00000000  7f 45 4c 46 02 01 01 00  00 00 00 00 00 00 00 00  |.ELF............|\n00000010  03 00 3e 00\n",
    ),
    ("nm", "0000000000401136 T main\n                 U puts\n0000000000404030 B x\n"),
    ("wc", "   12345   67890  123456 a.txt\n   12345   67890  123456 total\n"),
    ("uniq -c", "      1 a\n   1234 b (c)\n"),
];

#[test]
fn text_of_other_kinds_is_no_recording() {
    let digits = "3".repeat(70_000);
    let snippets = SNIPPETS.iter().copied().chain([("digits", &digits[..])]);
    let taken = |(kind, text): (&str, &str)| {
        // With other line ends, and in the middle of more.
        let changed = [text.to_owned(), text.replace('\n', "\r\n"), text.repeat(50)];
        let found = changed.into_iter().find_map(|text| detected(&Source::bytes(text)));
        found.map(|(format, read)| format!("{kind}: {format}: {read:?}"))
    };
    let wrong: Vec<String> = snippets.filter_map(taken).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_files_of_the_project_are_no_recordings_but_those_that_quote_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut count, mut taken) = (0, Vec::new());
    for part in ["src", "scripts", "docs", "packaging", "examples", "benches", "mutants"] {
        let (files, found) = look(&root.join(part));
        count += files;
        taken.extend(found);
    }
    // A package holds fewer.
    assert!(count > 300, "{count} files");
    for (path, reason) in OUR_QUOTES.iter().filter(|(path, _)| root.join(path).exists()) {
        let before = taken.len();
        taken.retain(|taken| taken.path != root.join(path));
        assert!(taken.len() < before, "{path} is no exception any more: {reason}");
    }
    let wrong: Vec<String> = taken.into_iter().map(|taken| taken.message).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn other_files_are_no_recordings() {
    let Some(trees) = std::env::var_os(TREES) else { return };
    let mut wrong = Vec::new();
    for tree in std::env::split_paths(&trees) {
        let (count, found) = look(&tree);
        eprintln!("{}: {count} files, {} taken for recordings", tree.display(), found.len());
        wrong.extend(found.into_iter().map(|taken| taken.message));
    }
    let mut formats: BTreeMap<&str, usize> = BTreeMap::new();
    for line in &wrong {
        *formats.entry(line.split(' ').next().unwrap_or_default()).or_default() += 1;
    }
    assert!(wrong.is_empty(), "{formats:?}\n{}", wrong.join("\n"));
}

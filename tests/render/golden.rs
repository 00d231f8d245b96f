//! Every text output, as it was read and found good: `tests/render/golden/`. After a change on
//! purpose, `FG_BLESS=1 cargo test --test render golden` writes them anew, to be read again.

use std::path::Path;

use super::{SMALL, run};

/// Recursion, names of every kind, a unit, weights with fractions.
const HARD: &[u8] = b"# unit: ms\nmain;rec;rec;rec 1.5\nmain;rec;rec;leaf 2.25\nmain;rec;other;rec 4\n\
    main;std::vec<int>::push_back(int) 8\nmain;\xe6\xbc\xa2\xe5\xad\x97 16\nmain;\xff\x1b[31m\tred|`x` 32\n\
    other thread;vfs_read_[k];copy_[k] 64\nother thread;\"quoted\\\" <b>&amp; 100\n";

const CHANGED: &str = "main 11 12\nmain;parse 4000 4005\nmain;parse;lex 2000 3001\nmain;old 700 0\n\
    main;once 0 1\nmain;write 3990 3987\n";

/// The file's name, the options, the input.
const CASES: &[(&str, &[&str], &[u8])] = &[
    ("text", &["--format", "text"], SMALL.as_bytes()),
    ("text-hard", &["--format", "text", "--columns", "50", "--upright"], HARD),
    ("text-changed", &["--format", "text", "--columns", "120"], CHANGED.as_bytes()),
    ("text-depth", &["--format", "text", "--depth", "2", "--minwidth", "5%"], HARD),
    ("text-minwidth", &["--format", "text", "--minwidth", "9"], HARD),
    ("text-colours", &["--format", "text", "--ansi", "always", "--columns", "30"], SMALL.as_bytes()),
    ("text-empty", &["--format", "text"], b""),
    ("top", &["--format", "top"], SMALL.as_bytes()),
    ("top-hard", &["--format", "top"], HARD),
    ("top-changed", &["--format", "top"], CHANGED.as_bytes()),
    ("top-limit-total", &["--format", "top", "--limit", "2", "--sort", "total"], HARD),
    ("top-module", &["--format", "top", "--by", "module", "--limit", "0"], HARD),
    ("top-thread", &["--format", "top", "--by", "thread", "--countname", "ticks"], HARD),
    ("top-stack", &["--format", "top", "--by", "stack", "--sort", "name"], SMALL.as_bytes()),
    ("top-empty", &["--format", "top"], b""),
    ("tree", &["--format", "tree"], SMALL.as_bytes()),
    ("tree-hard", &["--format", "tree", "--min-percent", "1", "--factor", "2"], HARD),
    ("tree-changed", &["--format", "tree", "--min-percent", "0"], CHANGED.as_bytes()),
    ("tree-depth", &["--format", "tree", "--depth", "2"], HARD),
    ("bottomup-hard", &["--format", "bottomup", "--min-percent", "0"], HARD),
    ("bottomup-changed", &["--format", "bottomup", "--min-percent", "5"], CHANGED.as_bytes()),
    ("peek-hard", &["--peek", "^(rec|leaf|other)$"], HARD),
    ("peek-changed", &["--peek", "parse|once"], CHANGED.as_bytes()),
    ("markdown", &["--format", "markdown"], SMALL.as_bytes()),
    ("markdown-hard", &["--format", "markdown", "--limit", "6", "--min-percent", "2"], HARD),
    ("markdown-changed", &["--format", "markdown"], CHANGED.as_bytes()),
    ("markdown-empty", &["--format", "markdown"], b""),
    ("brief", &["--format", "brief"], SMALL.as_bytes()),
    ("brief-hard", &["--format", "brief", "--budget", "250"], HARD),
    ("brief-run", &["--format", "brief"], b"# unit: ns\na;b;c;d;e;f 7\na;b;c;d;e;g 1\nz 2\n"),
    ("brief-changed", &["--format", "brief"], CHANGED.as_bytes()),
    ("brief-empty", &["--format", "brief"], b""),
    ("collapsed-hard", &["--format", "collapsed", "--factor", "4"], HARD),
    ("collapsed-changed", &["--format", "collapsed"], CHANGED.as_bytes()),
    ("json-hard", &["--format", "json"], HARD),
    ("json-changed", &["--format", "json"], CHANGED.as_bytes()),
    ("json-empty", &["--format", "json"], b""),
    ("speedscope-hard", &["--format", "speedscope", "--title", "hard"], HARD),
    ("speedscope-threads", &["--format", "speedscope", "--split-threads"], HARD),
    ("speedscope-empty", &["--format", "speedscope"], b""),
    ("firefox-hard", &["--format", "firefox"], HARD),
    ("firefox-threads", &["--format", "firefox", "--split-threads", "--countname", "bytes"], HARD),
    ("dot-hard", &["--format", "dot", "--min-percent", "1"], HARD),
    ("dot-changed", &["--format", "dot", "--limit", "4"], CHANGED.as_bytes()),
    ("tsv-hard", &["--format", "tsv"], HARD),
    ("tsv-changed", &["--format", "tsv", "--sort", "total", "--limit", "3"], CHANGED.as_bytes()),
];

#[test]
fn text_outputs_match_golden_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/render/golden");
    let bless = std::env::var_os("FG_BLESS").is_some();
    let mut wrong = Vec::new();
    for (name, arguments, input) in CASES {
        let run = run(arguments, input);
        let expected_status = if input.is_empty() { 2 } else { 0 };
        assert_eq!(run.status, expected_status, "{name}: {}", run.stderr);
        let file = folder.join(name);
        if bless {
            std::fs::write(&file, &run.stdout).unwrap();
        }
        let golden = std::fs::read(&file).unwrap_or_default();
        if golden != run.stdout {
            wrong.push(format!("{name}:\n{}", String::from_utf8_lossy(&run.stdout)));
        }
    }
    assert!(wrong.is_empty(), "not as in {}:\n{}", folder.display(), wrong.join("\n"));
}

#[test]
fn every_golden_file_is_of_a_case() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/render/golden");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(CASES.iter().any(|(case, _, _)| *case == name), "no case writes {name}");
    }
}

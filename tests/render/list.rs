//! `--list`: source lines with weights; and the source code in a page.

use super::{Run, run_in, text};
use std::fs;
use std::io::Read as _;
use std::path::Path;

const STACKS: &str = "# unit: ms\n\
    main (app/run.py:9);work (app/run.py:3) 50\n\
    main (app/run.py:9);work (app/run.py:4) 20\n\
    main (app/run.py:9);gone (/etc/passwd:1) 20\n\
    main (app/run.py:10) 10\n";

const CODE: &str =
    "import sys\n\ndef work():\n    return \x1b[31msum\n\n# six\n\ndef main():\n    work()\n    gone()\n";

/// A folder with the code, and a file that is none beside it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("app")).unwrap();
    fs::write(folder.path().join("app/run.py"), CODE).unwrap();
    fs::write(folder.path().join("in.folded"), STACKS).unwrap();
    folder
}

fn list(folder: &Path, arguments: &[&str]) -> Run {
    run_in(folder, &[arguments, &["in.folded"]].concat(), "")
}

#[test]
fn list_and_peek_ignore_case_unless_there_is_a_capital() {
    let folder = folder();
    for option in ["--list", "--peek"] {
        let status = |pattern| list(folder.path(), &[option, pattern]).status;
        assert_eq!((status("^work"), status(r"^\Work|^work\S*"), status("^WORK")), (0, 0, 1), "{option}");
        let upper = STACKS.replace("work", "Work");
        let run = run_in(folder.path(), &[option, "^work", "-"], &upper);
        assert!(run.status == 0 && String::from_utf8_lossy(&run.stdout).contains("Work"), "{option}");
    }
}

#[test]
fn list_shows_lines_with_self_and_total() {
    let folder = folder();
    let run = list(folder.path(), &["--list", "^(work|main)$"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let expected = "\
100 ms

main in app/run.py: self 10 ms (10.00%), total 100 ms (100.00%)
 self  total  line
    .      .     1  import sys
    .      .     2
    .      .     3  def work():
    .      .     4      return \u{fffd}[31msum
    .      .     5
    .      .     6  # six
    .      .     7
    .      .     8  def main():
    .  90 ms     9      work()
10 ms  10 ms    10      gone()

work in app/run.py: self 70 ms (70.00%), total 70 ms (70.00%)
 self  total  line
    .      .     1  import sys
    .      .     2
50 ms  50 ms     3  def work():
20 ms  20 ms     4      return \u{fffd}[31msum
    .      .     5
    .      .     6  # six
    .      .     7
    .      .     8  def main():
    .      .     9      work()
    .      .    10      gone()
";
    assert_eq!(String::from_utf8_lossy(&run.stdout), expected);
    // The same from a profile as from text that is streamed.
    let profile = list(folder.path(), &["--list", "^(work|main)$", "--input-format", "py-spy"]);
    let tail = |text: &str| text.split_once("\n\n").unwrap().1.replace(" samples", " ms");
    let plain =
        |text: String| tail(&text).replace(" ms", "").split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(plain(text(profile.stdout)), plain(expected.to_owned()));
}

#[test]
fn list_reads_no_files_elsewhere_and_says_so() {
    let folder = folder();
    let run = list(folder.path(), &["--list", "gone"]);
    let out = String::from_utf8_lossy(&run.stdout);
    assert!(out.ends_with("20 ms  20 ms     1\n\nnot found: /etc/passwd\nsource files are looked for in the current folder and those of --source-path\n"), "{out}");
    let elsewhere = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.folded");
    let input = input.to_str().unwrap();
    let run = run_in(elsewhere.path(), &["--list", "work", input], "");
    assert!(String::from_utf8_lossy(&run.stdout).contains("not found: app/run.py"));
    let run = run_in(
        elsewhere.path(),
        &["--list", "work", "--source-path", folder.path().to_str().unwrap(), input],
        "",
    );
    assert!(String::from_utf8_lossy(&run.stdout).contains("def work():"));
    let run = list(folder.path(), &["--list", "work", "--no-source"]);
    let out = String::from_utf8_lossy(&run.stdout);
    assert!(out.ends_with("50 ms  50 ms     3\n20 ms  20 ms     4\n"), "{out}");
}

#[test]
fn a_list_of_nothing_says_why() {
    let folder = folder();
    let run = list(folder.path(), &["--list", "nosuch"]);
    assert_eq!(run.status, 1);
    assert!(
        String::from_utf8_lossy(&run.stdout)
            .ends_with("no function whose source lines are known matches \"nosuch\"\n")
    );
    let run = run_in(folder.path(), &["--list", "b"], "a;b 1\n");
    assert_eq!(run.status, 1);
    assert!(
        String::from_utf8_lossy(&run.stdout)
            .ends_with("the input does not say the source lines of functions\n")
    );
    let run = run_in(folder.path(), &["--list", "("], "a;b 1\n");
    assert_eq!((run.status, run.stderr.lines().count()), (2, 1), "{}", run.stderr);
    let run = run_in(folder.path(), &["--format", "list"], "a;b 1\n");
    assert!(run.stderr.contains("list needs a regular expression: --list parse"), "{}", run.stderr);
}

/// A section of a page, inflated; none is empty.
fn section(page: &str, name: &str) -> String {
    let Some((_, rest)) = page.split_once(&format!("id=\"data-{name}\">")) else { return String::new() };
    let base64 = rest.split('<').next().unwrap();
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for group in base64.trim_end_matches('=').as_bytes().chunks(4) {
        let bits =
            group.iter().fold(0u32, |bits, c| bits << 6 | u32::from(digit(*c))) << (6 * (4 - group.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    let mut text = String::new();
    flate2::read::ZlibDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_page_has_the_code_around_hot_lines_unless_it_is_unwanted() {
    let folder = folder();
    let page = |arguments: &[&str]| {
        let all = [&["--format", "html", "--input-format", "py-spy"], arguments].concat();
        let run = list(folder.path(), &all);
        assert_eq!(run.status, 0, "{}", run.stderr);
        section(&String::from_utf8_lossy(&run.stdout), "source")
    };
    let with = page(&["--source-path", "."]);
    assert!(
        with.contains("def work():") && with.contains("[3,50,50]") && with.contains("app/run.py"),
        "{with}"
    );
    assert!(with.contains("{\"name\":\"/etc/passwd\"}"), "{with}");
    let without = page(&["--no-source"]);
    assert!(!without.contains("def work") && without.contains("[3,50,50]"), "{without}");
    let private = page(&["--private"]);
    assert!(
        !private.contains("def work") && !private.contains("app/") && private.contains("run.py"),
        "{private}"
    );
    let run = list(folder.path(), &["--format", "html"]);
    let folded = section(&String::from_utf8_lossy(&run.stdout), "source");
    assert!(
        folded.contains("[3,50,50]") && folded.contains("[9,0,90]"),
        "names that end in lines have them: {folded}"
    );
    let run = list(folder.path(), &["--format", "svg", "--no-source"]);
    assert!(run.stderr.contains("--no-source means nothing to svg; it is for html, list"), "{}", run.stderr);
}

/// A recording may be a stranger's, and name `deploy.sh` with its token in the folder where the page is made.
#[test]
fn a_page_has_unasked_only_code_that_a_recording_of_this_machine_names() {
    let folder = folder();
    let own = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let app = folder.path().join("app").canonicalize().unwrap();
    for (name, text) in [("deploy.sh", "TOKEN=1"), ("settings.py", "PASSWORD = 1"), ("other.py", "other")] {
        fs::write(app.join(name), text).unwrap();
    }
    let stacks = format!(
        "run (app/run.py:3) 50\ndeploy (app/deploy.sh:1) 50\nsettings (app/settings.py:1) 50\n\
         moved (/ci/app/other.py:1) 50\nexact ({}/run.py:9) 50\n",
        app.display()
    );
    let page = |header: &str, more: &[&str]| {
        let all = [&["--format", "html"], more, &["-"]].concat();
        let run = run_in(&app.join(".."), &all, format!("{header}{stacks}"));
        assert_eq!(run.status, 0, "{}", run.stderr);
        (section(&String::from_utf8_lossy(&run.stdout), "source"), run.stderr)
    };
    let has = |page: &str| ["def work", "TOKEN", "PASSWORD", "other\"]"].map(|text| page.contains(text));
    for header in ["", "# host: elsewhere\n"] {
        let (code, said) = page(header, &[]);
        assert_eq!((has(&code), &*said), ([false; 4], ""), "{header}");
        assert_eq!(has(&page(header, &["--source-path", "."]).0)[..2], [true; 2], "{header}");
    }
    if own.trim().is_empty() || own.starts_with("localhost") || own.starts_with('(') {
        return;
    }
    let (code, said) = page(&format!("# host: {own}"), &[]);
    assert_eq!(has(&code), [true, false, false, false], "{code}");
    assert_eq!(said, "fg-render: the page has source code of app/run.py; --no-source leaves it out\n");
    let (code, said) = page(&format!("# host: {own}"), &["--no-source"]);
    assert_eq!((has(&code), &*said), ([false; 4], ""));
}

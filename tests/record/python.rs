//! Python that describes its functions for profilers: `-X perf` since 3.12, `-X perf_jit` since 3.13.

use std::path::PathBuf;
use std::process::Command;

use super::{fg_record, recorded, share, skip, text};

const SCRIPT: &str = "
import time
def inner(n): return n if n < 2 else inner(n - 1) + inner(n - 2)
def outer():
    end = time.process_time() + 0.5
    while time.process_time() < end: inner(12)
outer()
";

/// The interpreters of this machine that know an option, with their numbers.
fn interpreters(option: &str) -> Vec<PathBuf> {
    let names = ["python3", "python3.12", "python3.13", "python3.14"];
    let home = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let below = home.map(|home| home.join("versions")).and_then(|versions| versions.read_dir().ok());
    let installed = below.into_iter().flatten().flatten().map(|version| version.path().join("bin/python3"));
    let all = names.iter().map(PathBuf::from).chain(installed);
    let check = "import sys; raise SystemExit(not sys.is_stack_trampoline_active())";
    all.filter(|python| {
        let tried = Command::new(python).args(["-X", option, "-c", check]).output();
        tried.is_ok_and(|output| output.status.success())
    })
    .collect()
}

#[test]
fn stacks_through_trampolines_reach_the_beginning() {
    for option in ["perf", "perf_jit"] {
        let all = interpreters(option);
        if all.is_empty() {
            skip(format!("there is no Python that knows -X {option}"));
        }
        for python in all {
            let mut command = fg_record();
            command.args(["--with", "builtin", "--"]).arg(&python).args(["-X", option, "-c", SCRIPT]);
            let Some(output) = recorded(&mut command) else { return };
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            let folded = text(&output.stdout);
            let stacks = super::stacks(&folded);
            let with = stacks.lines().filter(|stack| stack.contains(";py::inner:"));
            let (mut whole, mut all) = (0.0, 0.0);
            for (stack, weight) in with.filter_map(|line| line.rsplit_once(' ')) {
                let weight: f64 = weight.parse().expect("a weight");
                all += weight;
                // Each function of Python is called by one, up to the module and the program.
                let reaches = stack.contains(";py::<module>:") && stack.contains(";py::outer:");
                whole += if reaches && stack.contains(";_start;") { weight } else { 0.0 };
            }
            assert!(all > 0.0 && whole > 0.95 * all, "{python:?} -X {option}: {whole} of {all}\n{folded}");
            assert!(share(&folded, "_start") > 0.5, "{python:?} -X {option}\n{folded}");
        }
    }
}

/// Interpreters of this machine, of each version one.
fn versions() -> Vec<PathBuf> {
    let home = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let below = home.map(|home| home.join("versions")).and_then(|versions| versions.read_dir().ok());
    let installed = below.into_iter().flatten().flatten().map(|version| version.path().join("bin/python3"));
    let check = "import sys; raise SystemExit(not (3, 8) <= sys.version_info < (3, 15))";
    let is_known = |python: &PathBuf| {
        let tried = Command::new(python).args(["-c", check]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    [PathBuf::from("/usr/bin/python3")].into_iter().chain(installed).filter(is_known).collect()
}

/// Functions of which one does twice and one five times the work of the first, a function that C calls, and a generator.
const SHARES: &str = "
import time
def one(n):
    t = 0
    for i in range(n): t += i * i % 7
def two(n):
    t = 0
    for i in range(n * 2): t += i * i % 7
def five(n):
    t = 0
    for i in range(n * 5): t += i * i % 7
def key(x):
    return x * 7919 % 1009
def sorts():
    sorted(range(900), key=key)
def numbers():
    for i in range(3000): yield i * i % 7
def consume():
    for i in numbers(): pass
def main():
    end = time.process_time() + 0.7
    while time.process_time() < end:
        one(500)
        two(500)
        five(500)
        sorts()
        consume()
main()
";

/// The weight of stacks in which some frames follow each other, with others between, and that of all.
fn weight_through(folded: &str, names: &[&str]) -> (f64, f64) {
    let (mut through, mut all) = (0.0, 0.0);
    for (stack, weight) in super::stacks(folded).lines().filter_map(|line| line.rsplit_once(' ')) {
        let weight: f64 = weight.parse().expect("a weight");
        let mut frames = stack.split(';');
        let is_through = names.iter().all(|name| frames.any(|frame| frame.starts_with(name)));
        through += if is_through { weight } else { 0.0 };
        all += weight;
    }
    (through, all)
}

#[test]
fn functions_are_named_without_being_asked_for() {
    let all = versions();
    if all.is_empty() {
        skip("there is no Python");
    }
    for python in all {
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("shares.py");
        std::fs::write(&script, SHARES).expect("a file");
        let mut command = fg_record();
        command.args(["--with", "builtin", "--"]).arg(&python).arg(&script);
        let Some(output) = recorded(&mut command) else { return };
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let folded = text(&output.stdout);
        if !folded.contains("_PyEval_EvalFrameDefault") && !folded.contains("(shares.py:") {
            skip(format!("{python:?} has no names of its own"));
            continue;
        }
        let of = |names: &[&str]| {
            let (through, all) = weight_through(&folded, names);
            through / all
        };
        let main = ["_start", "<module> (shares.py:", "main (shares.py:"];
        let below = |rest: &[&'static str]| of(&[&main[..], rest].concat());
        // Where other programs have the processors the memory is read late, and more is `[python]`.
        assert!(below(&[]) > 0.3, "{python:?}\n{folded}");
        let [one, two, five] = ["one (", "two (", "five ("].map(|name| below(&[name]));
        assert!(one > 0.01 && two > one && five > 1.5 * two && five < 5.0 * two, "{python:?}\n{folded}");
        // What C calls stands behind it, and no function stands below one that never calls it.
        assert!(below(&["sorts (", "key ("]) > 0.01, "{python:?}\n{folded}");
        assert!(below(&["consume (", "numbers ("]) > 0.01, "{python:?}\n{folded}");
        let wrong = of(&["one (", "two ("])
            + of(&["two (", "five ("])
            + of(&["five (", "key ("])
            + of(&["main (", "main ("]);
        assert!(wrong < 0.05, "{python:?}\n{folded}");
        assert!(folded.contains("named Python by its own frames"), "{python:?}\n{folded}");
    }
}

#[test]
fn a_process_that_runs_is_named_too_unless_it_is_not_wanted() {
    let Some(python) = versions().pop() else { return skip("there is no Python") };
    let script = SHARES.replace("0.7", "60");
    let mut process = Command::new(&python).args(["-c", &script]).spawn().expect("it starts");
    // What is measured is its functions, and not its beginning.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let record = |more: &[&str]| {
        let mut command = fg_record();
        command.args(["--with", "builtin", "-d", "1", "-p", &process.id().to_string()]).args(more);
        recorded(&mut command)
    };
    let (named, bare) = (record(&[]), record(&["--runtime-names", "none"]));
    process.kill().expect("it runs");
    process.wait().expect("it ends");
    let (Some(named), Some(bare)) = (named, bare) else { return };
    let (named, bare) = (text(&named.stdout), text(&bare.stdout));
    if !named.contains("five (<string>:") && !named.contains("_PyEval_EvalFrameDefault") {
        return skip(format!("{python:?} has no names of its own"));
    }
    let (through, all) = weight_through(&named, &["main (<string>:", "five (<string>:"]);
    assert!(through > 0.1 * all, "{named}");
    assert!(!bare.contains("five (") && bare.contains("_PyEval_EvalFrameDefault"), "{bare}");
}

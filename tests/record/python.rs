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

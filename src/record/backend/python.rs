//! Recognises CPython programs, and finds their interpreters.
//!
//! py-spy and austin read the interpreter's memory, so they must meet it soon after the start.
//! pyenv and its like put a shell script in the interpreter's place, which takes longer to find
//! the real one than they wait: it is asked which one that is, and that one is started.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::find::{interpreter, on_path, shebang};
use crate::record::request::{Invocation, Target};

/// The name of a target that is a Python program, for messages.
pub fn program_of(target: &Target) -> Option<String> {
    match target {
        Target::Command(invocation) => {
            let name = Path::new(&invocation.program).file_name()?.to_string_lossy().into_owned();
            let path = on_path(&invocation.program)?;
            (is_interpreter(&path) || is_interpreter(&path.canonicalize().ok()?) || has_interpreter(&path))
                .then_some(name)
        }
        Target::Processes(pids) => {
            let all = pids.iter().all(|pid| executable(*pid).is_some_and(|path| is_interpreter(&path)));
            (all && !pids.is_empty()).then(|| format!("process {}", pids[0]))
        }
        Target::Threads(_) | Target::Machine(_) | Target::Waiting(_) => None,
    }
}

/// The program that a process runs.
#[cfg(target_os = "linux")]
fn executable(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// The program that a process runs.
#[cfg(not(target_os = "linux"))]
fn executable(pid: u32) -> Option<PathBuf> {
    let asked =
        Command::new("ps").args(["-o", "comm=", "-p", &pid.to_string()]).stdin(Stdio::null()).output();
    let path = String::from_utf8(asked.ok()?.stdout).ok()?;
    Some(PathBuf::from(path.trim())).filter(|path| !path.as_os_str().is_empty())
}

/// A command with the interpreter itself in the place of a script that looks for it.
pub fn words(invocation: &Invocation) -> Vec<OsString> {
    let mut words: Vec<OsString> = invocation.words().cloned().collect();
    if let Some(interpreter) = on_path(&invocation.program).and_then(|path| behind_shim(&path)) {
        words[0] = interpreter.into();
    }
    words
}

/// `python`, `python3`, `python3.13t`: but not PyPy.
fn is_interpreter(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    // A program that was replaced while it ran.
    let name = name.strip_suffix(b" (deleted)").unwrap_or(name);
    let Some(version) = name.strip_prefix(b"python") else { return false };
    let version = version.strip_suffix(b"t").or(version.strip_suffix(b"d")).unwrap_or(version);
    version.iter().all(|b| b.is_ascii_digit() || *b == b'.')
}

/// Returns true if the first line of a script names a CPython interpreter.
fn has_interpreter(path: &Path) -> bool {
    interpreter(path).is_some_and(|named| is_interpreter(&named))
}

/// The interpreter that a script in its place would start.
fn behind_shim(path: &Path) -> Option<PathBuf> {
    if !is_interpreter(path) || shebang(path).is_none() {
        return None;
    }
    let asked = Command::new(path)
        .args(["-c", "import sys; print(sys.executable)"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let said = asked.stdout.trim_ascii();
    use std::os::unix::ffi::OsStrExt;
    let interpreter = PathBuf::from(OsStr::from_bytes(said));
    (asked.status.success() && interpreter.is_file()).then_some(interpreter)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn script(text: &str) -> tempfile::TempPath {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), text).expect("its text");
        file.into_temp_path()
    }

    #[test]
    fn interpreters_by_name() {
        for name in
            ["python", "/usr/bin/python3", "python3.11", "python3.13t", "python3.12d", "python3 (deleted)"]
        {
            assert!(is_interpreter(Path::new(name)), "{name}");
        }
        for name in ["pypy3", "python-config", "python3-config", "ipython", "", "/python3/sh"] {
            assert!(!is_interpreter(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn interpreters_of_scripts() {
        for line in [
            "#!/usr/bin/python3",
            "#! /opt/venv/bin/python3.12 -I",
            "#!/usr/bin/env python",
            "#!/usr/bin/env -S A=1 python3 -u",
        ] {
            assert!(has_interpreter(&script(&format!("{line}\nimport python\n"))), "{line}");
        }
        for line in
            ["#!/bin/sh", "#!/usr/bin/env bash", "#!", "python3", "#!/usr/bin/env", "#!/usr/bin/pypy3"]
        {
            assert!(!has_interpreter(&script(&format!("{line}\n# python3\n"))), "{line}");
        }
        assert!(!has_interpreter(Path::new("/no/such/script")));
    }
}

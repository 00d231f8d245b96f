//! Finds programs on the path, and the interpreters of scripts.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{BackendInfo, Refusal};

/// The program of a backend: what its variable names, or the first of its names that is there.
///
/// # Errors
/// A program that is not installed, with the command that installs it.
pub fn program(about: &BackendInfo) -> Result<OsString, Refusal> {
    if let Some(named) = env::var_os(about.variable).filter(|named| !named.is_empty()) {
        return match on_path(&named) {
            Some(_) => Ok(named),
            None => Err(Refusal::new(format!(
                "there is no program {named:?}, which {} names; unset it, or {}",
                about.variable, about.install
            ))),
        };
    }
    let found = about.programs.iter().find(|name| on_path(OsStr::new(name)).is_some());
    found.map(OsString::from).ok_or_else(|| {
        Refusal::new(format!(
            "{} is not installed: {}; {} may name it, and --with builtin needs no other program",
            about.programs[0], about.install, about.variable
        ))
    })
}

/// The file that a shell would run.
pub fn on_path(program: &OsStr) -> Option<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        let path = PathBuf::from(program);
        return is_program(&path).then_some(path);
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| is_program(path))
}

/// The interpreter that the first line of a script names: `#!/usr/bin/env -S A=1 node --flag` is node.
pub fn interpreter(script: &Path) -> Option<PathBuf> {
    let line = shebang(script)?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let first = words.next()?;
    let is_env = first.rsplit(|&b| b == b'/').next() == Some(b"env");
    let named = match is_env {
        true => words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='))?,
        false => first,
    };
    Some(PathBuf::from(OsStr::from_bytes(named)))
}

/// The first line of a script, without `#!`.
pub(super) fn shebang(path: &Path) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    // As long as Linux reads it.
    let mut head = BufReader::new(File::open(path).ok()?).take(256);
    head.read_until(b'\n', &mut line).ok()?;
    Some(line.strip_prefix(b"#!")?.trim_ascii().to_owned())
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|kind| kind.is_file() && kind.permissions().mode() & 0o111 != 0)
}

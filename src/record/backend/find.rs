//! Finds programs on the path.

use std::env;
use std::ffi::{OsStr, OsString};
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

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|kind| kind.is_file() && kind.permissions().mode() & 0o111 != 0)
}

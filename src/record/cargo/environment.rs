//! The variables that `cargo run`, `cargo test` and `cargo bench` set for what they start.
//!
//! All but those of `[env]` in cargo's configuration files, which cargo shows to no other tool.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::messages::Messages;
use super::workspace::{ChosenProgram, Kind};
use super::{Wanted, program as cargo_program};

/// The variable with the folders in which the system's loader looks for libraries.
const LIBRARY_PATH: &str =
    if cfg!(target_os = "macos") { "DYLD_FALLBACK_LIBRARY_PATH" } else { "LD_LIBRARY_PATH" };

pub(super) fn variables(
    choice: &ChosenProgram,
    messages: &Messages,
    program: &Path,
    target_directory: &Path,
    wanted: &Wanted,
) -> Vec<(OsString, OsString)> {
    let mut all: Vec<(OsString, OsString)> = vec![
        ("CARGO".into(), cargo_program()),
        ("CARGO_MANIFEST_PATH".into(), choice.manifest.clone().into()),
    ];
    all.extend(choice.manifest.parent().map(|folder| ("CARGO_MANIFEST_DIR".into(), folder.into())));
    all.extend(choice.about.iter().map(|(name, value)| (name.into(), value.into())));
    all.extend(messages.variables.iter().map(|(name, value)| (name.into(), value.into())));
    if matches!(choice.kind, Kind::Test | Kind::Bench) {
        let bins = messages.bins.iter();
        all.extend(bins.map(|(name, path)| (format!("CARGO_BIN_EXE_{name}").into(), path.into())));
    }
    let before = env::var_os(LIBRARY_PATH).unwrap_or_default();
    let mut folders: Vec<PathBuf> =
        messages.libraries.iter().filter(|path| path.starts_with(target_directory)).cloned().collect();
    folders.extend(beside(program));
    folders.extend(library_of_rust(wanted.target.as_deref()));
    folders.extend(env::split_paths(&before).filter(|path| !path.as_os_str().is_empty()));
    // A folder with a colon in its name cannot be said.
    all.extend(env::join_paths(folders).map(|paths| (LIBRARY_PATH.into(), paths)));
    all
}

/// The folders in which cargo puts libraries that programs load: `release` and `release/deps`.
fn beside(program: &Path) -> Vec<PathBuf> {
    let Some(mut folder) = program.parent() else { return Vec::new() };
    if folder.ends_with("deps") || folder.ends_with("examples") {
        folder = folder.parent().unwrap_or(folder);
    }
    vec![folder.to_owned(), folder.join("deps")]
}

/// The folder of the standard library, for programs that load it.
fn library_of_rust(target: Option<&str>) -> Option<PathBuf> {
    let rustc = env::var_os("RUSTC").filter(|program| !program.is_empty()).unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.args(["--print", "target-libdir"]).stdin(Stdio::null()).stderr(Stdio::null());
    if let Some(target) = target {
        command.args(["--target", target]);
    }
    let output = command.output().ok().filter(|output| output.status.success())?;
    let path = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(path.trim_end())).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_beside_the_program() {
        for program in ["/t/release/one", "/t/release/deps/one-123", "/t/release/examples/one"] {
            let expected = [Path::new("/t/release"), Path::new("/t/release/deps")];
            assert_eq!(beside(Path::new(program)), expected, "{program}");
        }
    }
}

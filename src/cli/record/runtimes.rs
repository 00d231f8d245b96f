//! Names for code that a runtime compiles while it runs: a program that fg-record starts is asked, by a variable of its
//! environment, to write `/tmp/perf-PID.map`, which names that code.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::Record;
use crate::cli::{Tool, say};
use crate::record::backend::find::{interpreter, on_path};
use crate::record::request::{Invocation, Request, Target};
#[cfg(target_os = "linux")]
use crate::record::sampler::Outcome;

/// The option that leaves runtimes alone.
#[derive(Args, Debug, Default)]
pub struct RuntimeArgs {
    /// Do not ask node and Java, by NODE_OPTIONS and JAVA_TOOL_OPTIONS, to name the functions that they
    /// compile
    #[arg(long)]
    pub no_runtime_names: bool,
}

/// A runtime that names its code when a variable asks for it.
struct Runtime {
    /// The names of its program, without a version.
    programs: &'static [&'static str],
    variable: &'static str,
    /// The words that are added to the variable.
    words: &'static str,
    /// A part of a command line or of the variable that shows that the user has asked for the like.
    asked: &'static str,
    names: &'static str,
    /// It costs so little that nobody has to ask for it.
    is_cheap: bool,
}

/// The runtimes, with the processor time that names cost a program of recursion, sorting and hash tables (medians of
/// seven, 2026-11-25): node 20 +2%, OpenJDK 17 none. Python 3.12 calls each function through a trampoline: more than 3%
/// of small ones.
const RUNTIMES: [Runtime; 3] = [
    Runtime {
        programs: &["node", "nodejs"],
        variable: "NODE_OPTIONS",
        words: "--perf-basic-prof",
        asked: "perf-",
        names: "JavaScript",
        is_cheap: true,
    },
    Runtime {
        programs: &["java"],
        variable: "JAVA_TOOL_OPTIONS",
        // One that does not know the map, before 17, goes on without.
        words: "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:+PreserveFramePointer \
                -XX:+DumpPerfMapAtExit",
        asked: "DumpPerfMapAtExit",
        names: "Java",
        is_cheap: true,
    },
    Runtime {
        programs: &["python"],
        variable: "PYTHONPERFSUPPORT",
        words: "1",
        asked: "perf",
        names: "Python",
        is_cheap: false,
    },
];

/// The first Python that can name its functions.
const PYTHON: (u32, u32) = (3, 12);

impl RuntimeArgs {
    /// Asks the runtime of the program that is started for names, and says so.
    pub(super) fn ask(&self, request: &mut Request, quiet: bool) {
        if let Target::Command(invocation) = &mut request.target {
            request.asks_for_names = self.ask_program(invocation, quiet);
        }
    }

    /// Asks the runtime of a program; returns true if it was asked.
    fn ask_program(&self, invocation: &mut Invocation, quiet: bool) -> bool {
        if self.no_runtime_names {
            return false;
        }
        let Some(runtime) = find(invocation) else { return false };
        let Runtime { variable, words, names, .. } = runtime;
        let set = std::env::var_os(variable).unwrap_or_default();
        let arguments = invocation.arguments.iter().chain([&set]);
        if arguments.into_iter().any(|word| word.to_string_lossy().contains(runtime.asked)) {
            return false;
        }
        if !runtime.is_cheap {
            if !quiet && set.is_empty() {
                say(Record::NAME, format_args!("{variable}={words} names {names} functions, at some cost"));
            }
            return false;
        }
        if !quiet {
            say(
                Record::NAME,
                format_args!("{names} functions are named by {variable}; --no-runtime-names leaves it out"),
            );
        }
        let mut value = set;
        if !value.is_empty() {
            value.push(" ");
        }
        value.push(words);
        invocation.environment.push((OsString::from(variable), value));
        true
    }
}

/// Removes the map that the program was asked for, once it has been read.
#[cfg(target_os = "linux")]
pub(super) fn remove_map(request: &Request, outcome: &Outcome) {
    if let Some(pid) = outcome.pid.filter(|_| request.asks_for_names) {
        let _ = std::fs::remove_file(format!("/tmp/perf-{pid}.map"));
    }
}

/// The runtime of a program, by its own name, that of the file behind links, or that of the interpreter of a script.
fn find(invocation: &Invocation) -> Option<&'static Runtime> {
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    let file = real(on_path(&invocation.program)?);
    // The interpreter of a script may be a link to a version, too.
    let last = match interpreter(&file) {
        Some(named) => on_path(named.as_os_str()).map_or(named, real),
        None => file,
    };
    let name = last.file_name()?.to_str()?;
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let runtime = RUNTIMES.iter().find(|runtime| runtime.programs.contains(&plain))?;
    if plain == "python" {
        let (major, minor) = name[plain.len()..].split_once('.')?;
        let version = (major.parse().ok()?, minor.parse().ok()?);
        return (version >= PYTHON).then_some(runtime);
    }
    Some(runtime)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    fn program(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
        path
    }

    #[test]
    fn runtimes_are_found_behind_scripts_and_links() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, text: &str| program(folder.path(), name, text);
        let node = file("node", "\x7fELF");
        file("python3.12", "");
        file("python3.11", "");
        let script = file("tool", &format!("#!{}\ncode\n", node.display()));
        let by_env = file("by-env", "#!/usr/bin/env -S /x/java --flag\n");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("python3.12", &link).expect("a link");
        let found = |path: &Path| {
            let invocation = Invocation { program: path.into(), ..Invocation::default() };
            find(&invocation).map(|runtime| runtime.variable)
        };
        assert_eq!(found(&node), Some("NODE_OPTIONS"));
        assert_eq!(found(&script), Some("NODE_OPTIONS"));
        assert_eq!(found(&by_env), Some("JAVA_TOOL_OPTIONS"));
        assert_eq!(found(&link), Some("PYTHONPERFSUPPORT"));
        assert_eq!(found(&folder.path().join("python3.11")), None);
        assert_eq!(found(&file("other", "#!/bin/sh\nnode x\n")), None);
    }

    #[test]
    fn what_the_user_has_asked_for_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let node = program(folder.path(), "node", "");
        let mut invocation = Invocation {
            program: node.into(),
            arguments: vec!["--perf-prof".into()],
            ..Invocation::default()
        };
        let asks = RuntimeArgs::default();
        assert!(!asks.ask_program(&mut invocation, true) && invocation.environment.is_empty());
        invocation.arguments.clear();
        assert!(!RuntimeArgs { no_runtime_names: true }.ask_program(&mut invocation, true));
        assert!(asks.ask_program(&mut invocation, true));
        let (name, value) = &invocation.environment[0];
        assert_eq!(name, "NODE_OPTIONS");
        assert!(value.to_string_lossy().ends_with("--perf-basic-prof"), "{value:?}");
    }
}

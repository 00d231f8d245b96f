//! Names for code that a runtime compiles while it runs: a program that fg-record starts is asked, by a variable of its
//! environment, to write `/tmp/perf-PID.map`, which names that code.

#[cfg(target_os = "linux")]
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Record;
use crate::cli::{Tool, say};
use crate::record::backend::find::{interpreter, on_path};
use crate::record::request::{Invocation, Request, Target};
#[cfg(target_os = "linux")]
use crate::record::sampler::Outcome;

/// The runtimes that are asked for the names of what they compile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Asked {
    /// Java, which it costs nothing
    #[default]
    Free,
    /// Java, node, Python and Erlang, which it may cost a tenth of their time
    All,
    /// None: the environment of COMMAND is left alone, and Python's functions have no names
    None,
}

/// The option on the names of what a runtime compiles.
#[derive(Args, Debug, Default)]
pub struct RuntimeArgs {
    /// The runtimes that are asked, by JAVA_TOOL_OPTIONS, NODE_OPTIONS, PYTHONPERFSUPPORT or ERL_FLAGS, to
    /// name the functions that they compile
    #[arg(long, value_name = "WHICH", value_enum, default_value_t)]
    pub runtime_names: Asked,
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
    /// The recorder names its functions by what it reads from the process.
    is_read: bool,
    /// It costs so little, and is so safe, that nobody has to ask for it.
    is_default: bool,
}

/// The runtimes. Names cost this much more processor time (medians of seven alternating pairs, 2026-11-25):
/// - node 20: tsc of 2 s +2%, recursion, sorting and hash tables +1 to +5%, npm of 0.15 s +13 to +19%. node also leaves a
///   log in the current folder.
/// - OpenJDK 17: none for the map (javac of 3.5 s, and the same). PreserveFramePointer, without which callers are found on
///   x86-64, +5%.
/// - Python 3.12 +5%, 3.13 +4%: each function is called through a trampoline.
/// - Erlang 25: none, but one without a compiler does not begin with this flag.
const RUNTIMES: [Runtime; 4] = [
    Runtime {
        programs: &["node", "nodejs"],
        variable: "NODE_OPTIONS",
        words: "--perf-basic-prof",
        asked: "perf-",
        names: "JavaScript",
        is_read: false,
        is_default: false,
    },
    Runtime {
        programs: &["java"],
        variable: "JAVA_TOOL_OPTIONS",
        // One that does not know the map, before 17, goes on without.
        words: if cfg!(target_arch = "x86_64") {
            "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit"
        } else {
            "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit \
             -XX:+PreserveFramePointer"
        },
        asked: "DumpPerfMapAtExit",
        names: "Java",
        is_read: false,
        is_default: true,
    },
    Runtime {
        programs: &["python"],
        variable: "PYTHONPERFSUPPORT",
        words: "1",
        asked: "perf",
        names: "Python",
        is_read: true,
        is_default: false,
    },
    Runtime {
        programs: &["erl"],
        variable: "ERL_FLAGS",
        words: "+JPperf map",
        asked: "JPperf",
        names: "Erlang",
        is_read: false,
        is_default: false,
    },
];

/// The first Python that can name its functions.
const PYTHON: (u32, u32) = (3, 12);

impl RuntimeArgs {
    /// Asks the runtime of the program that is started for names, and says so.
    pub(super) fn ask(&self, request: &mut Request, quiet: bool) {
        request.names_interpreters = self.runtime_names != Asked::None;
        if let Target::Command(invocation) = &mut request.target {
            request.asks_for_names = self.ask_program(invocation, quiet);
        }
    }

    /// Asks the runtime of a program; returns true if it was asked.
    fn ask_program(&self, invocation: &mut Invocation, quiet: bool) -> bool {
        if self.runtime_names == Asked::None {
            return false;
        }
        let Some(runtime) = find(invocation) else { return false };
        let Runtime { variable, words, names, .. } = runtime;
        let set = std::env::var_os(variable).unwrap_or_default();
        let arguments = invocation.arguments.iter().chain([&set]);
        let is_number = *words == "1";
        if arguments.into_iter().any(|word| word.to_string_lossy().contains(runtime.asked))
            || is_number && !set.is_empty()
        {
            return false;
        }
        let is_asked = runtime.is_default || self.runtime_names == Asked::All;
        if !quiet && (is_asked || !runtime.is_read) {
            let line = match (is_asked, self.runtime_names) {
                (false, _) => format!(
                    "--runtime-names all would name {names} functions ({variable}={words}), at some cost"
                ),
                (true, Asked::Free) => {
                    format!("{names} functions are named by {variable}; not with --runtime-names none")
                }
                (true, _) => format!("{names} functions are named by {variable}"),
            };
            say(Record::NAME, format_args!("{line}"));
        }
        if !is_asked {
            return false;
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

/// Removes the maps that the program and its children were asked for, once they have been read, and the logs that node
/// writes beside them.
#[cfg(target_os = "linux")]
pub(super) fn remove_map(request: &Request, outcome: &Outcome) {
    if !request.asks_for_names {
        return;
    }
    let pids: BTreeSet<u32> = outcome.pid.iter().chain(&outcome.children).copied().collect();
    for pid in &pids {
        let _ = std::fs::remove_file(format!("/tmp/perf-{pid}.map"));
    }
    for file in std::fs::read_dir(".").into_iter().flatten().flatten() {
        let name = file.file_name();
        if name.to_str().and_then(process_of_log).is_some_and(|pid| pids.contains(&pid)) {
            let _ = std::fs::remove_file(name);
        }
    }
}

/// The process of a log that node has written: `isolate-0x18961ec0-18440-v8.log`, one for each thread that runs scripts.
#[cfg(target_os = "linux")]
fn process_of_log(name: &str) -> Option<u32> {
    name.strip_prefix("isolate-0x")?.strip_suffix("-v8.log")?.split_once('-')?.1.parse().ok()
}

/// The runtime of a program, by its own name, that of the file behind links, or that of the interpreter of a script.
fn find(invocation: &Invocation) -> Option<&'static Runtime> {
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    let file = real(on_path(&invocation.program)?);
    // The interpreter of a script may be a link to a version, too. Erlang's own program is a script of the shell.
    let interpreter = interpreter(&file).map(|named| on_path(named.as_os_str()).map_or(named, real));
    let files = interpreter.iter().chain([&file]);
    let mut names = files.filter_map(|file| file.file_name()?.to_str());
    let (name, plain, runtime) = names.find_map(|name| {
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        Some((name, plain, RUNTIMES.iter().find(|runtime| runtime.programs.contains(&plain))?))
    })?;
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
        assert_eq!(found(&file("erl", "#!/bin/sh\nexec erlexec\n")), Some("ERL_FLAGS"));
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
        assert!(!asks.ask_program(&mut invocation, true), "it costs too much to be asked for unasked");
        let asks = RuntimeArgs { runtime_names: Asked::All };
        assert!(asks.ask_program(&mut invocation, true));
        let (name, value) = &invocation.environment[0];
        assert_eq!(name, "NODE_OPTIONS");
        assert!(value.to_string_lossy().ends_with("--perf-basic-prof"), "{value:?}");
    }
}

//! All five programs in one file, as packages install them: linked as `fg-collapse`, `fg-filter`, …
//! it is that program; as `fg-tools` its first argument names one, `fg-tools collapse`.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, ExitCode};

use fg_tools::cli;

#[global_allocator]
static MEMORY: cli::memory::Allocator = cli::memory::Allocator;

const USAGE: &str = "usage: fg-tools collapse|filter|diff|record|render [OPTIONS] [FILE]...";

fn main() -> ExitCode {
    let mut arguments = env::args_os();
    let itself = arguments.next().unwrap_or_default();
    match program(&itself) {
        Some(run) => run(),
        None => match arguments.next() {
            Some(name) => start(&name, arguments),
            None => refuse(USAGE),
        },
    }
}

/// The program of this name, with folders and endings around it or not.
fn program(name: &OsStr) -> Option<fn() -> ExitCode> {
    Some(match Path::new(name).file_stem()?.to_str()? {
        "fg-collapse" => cli::main::<cli::collapse::Collapse>,
        "fg-filter" => cli::main::<cli::filter::Filter>,
        "fg-diff" => cli::main::<cli::diff::Diff>,
        #[cfg(unix)]
        "fg-record" => cli::main::<cli::record::Record>,
        "fg-render" => cli::main::<cli::render::Render>,
        _ => return None,
    })
}

/// Becomes the program that is named, so that messages, help and options are its own.
fn start(name: &OsStr, arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let mut full = OsString::from("fg-");
    full.push(name);
    let Some(name) = program(&full).and(full.to_str()) else {
        return refuse(USAGE);
    };
    match env::current_exe() {
        Ok(file) => become_it(Command::new(file).args(arguments), name),
        Err(e) => refuse(&format!("fg-tools: where its file is cannot be told: {e}")),
    }
}

#[cfg(unix)]
fn become_it(command: &mut Command, name: &str) -> ExitCode {
    use std::os::unix::process::CommandExt;
    refuse(&format!("fg-tools: cannot start {name}: {}", command.arg0(name).exec()))
}

/// Elsewhere a program has its file's name.
#[cfg(not(unix))]
fn become_it(_: &mut Command, name: &str) -> ExitCode {
    refuse(&format!("fg-tools: copy this file to {name}.exe"))
}

fn refuse(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::from(2)
}

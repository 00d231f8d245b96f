//! Building with cargo.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::debug_info::{self, Advice};
use super::messages::Messages;
use super::workspace::{ChosenProgram, Kind, Workspace};
use super::{Trouble, Wanted, What, cargo, environment, not_started};
use crate::record::request::Invocation;

/// A program that is ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    program: PathBuf,
    /// The setting that would show more of the program.
    pub advice: Option<Advice>,
    folder: Option<PathBuf>,
    environment: Vec<(OsString, OsString)>,
    is_bench: bool,
}

impl Built {
    /// The command with which cargo would start it.
    pub fn invocation(&self, arguments: &[OsString]) -> Invocation {
        let mut arguments = arguments.to_vec();
        // `--bench` tells the harness that it does not test; some harnesses take it once only.
        if self.is_bench && !arguments.iter().any(|argument| argument == "--bench") {
            arguments.push("--bench".into());
        }
        Invocation {
            program: self.program.clone().into(),
            arguments,
            folder: self.folder.clone(),
            environment: self.environment.clone(),
            ..Invocation::default()
        }
    }
}

pub(super) fn build(wanted: &Wanted, choice: ChosenProgram, workspace: Workspace) -> Result<Built, Trouble> {
    let words = words(wanted, &choice);
    let mut command = cargo();
    command.args(&words);
    if let Some(path) = &wanted.manifest_path {
        command.arg("--manifest-path").arg(path);
    }
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|e| not_started(&e))?;
    let mut messages = Messages::default();
    for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).split(b'\n')) {
        match line {
            Ok(line) => messages.read(&line, &choice),
            Err(_) => break,
        }
    }
    let status = child.wait().map_err(|e| not_started(&e))?;
    if !status.success() {
        return Err(Trouble::Failed(format!("cargo {}", words[0])));
    }
    let Some(program) = messages.program.take() else {
        return Err(Trouble::NoProgram(choice.name));
    };
    let is_bench = words[0] == "bench";
    let profile = wanted.profile();
    let advice = debug_info::advice(&program, messages.has_debug_info, profile, &workspace.root);
    let environment =
        environment::variables(&choice, &messages, &program, &workspace.target_directory, wanted);
    // `cargo run` stays where it is called, the others go to the package.
    let folder = match &*words[0] {
        "build" => None,
        _ => choice.manifest.parent().map(Path::to_owned),
    };
    Ok(Built { program, advice, folder, environment, is_bench })
}

/// Cargo's command line.
fn words(wanted: &Wanted, choice: &ChosenProgram) -> Vec<String> {
    let harness = |name: &str| vec![name.to_owned(), "--no-run".to_owned()];
    let mut words = match (&wanted.what, choice.kind) {
        (What::UnitBench(_), _) | (_, Kind::Bench) => harness("bench"),
        (What::UnitTest(_), _) | (_, Kind::Test) => harness("test"),
        _ => vec!["build".to_owned()],
    };
    let option = match choice.kind {
        Kind::Library => "--lib",
        Kind::Bin => "--bin",
        Kind::Example => "--example",
        Kind::Test => "--test",
        Kind::Bench => "--bench",
    };
    words.push(option.to_owned());
    if choice.kind != Kind::Library {
        words.push(choice.name.clone());
    }
    let mut add = |option: &str, value: &str| words.extend([option.to_owned(), value.to_owned()]);
    add("--package", &choice.package);
    add("--profile", wanted.profile());
    add("--message-format", "json-render-diagnostics");
    if !wanted.features.is_empty() {
        add("--features", &wanted.features.join(","));
    }
    if let Some(target) = &wanted.target {
        add("--target", target);
    }
    for (option, given) in [
        ("--all-features", wanted.all_features),
        ("--no-default-features", wanted.no_default_features),
        ("--quiet", wanted.quiet),
    ] {
        if given {
            words.push(option.to_owned());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(kind: Kind, inside: bool) -> ChosenProgram {
        ChosenProgram {
            package: "path+file:///w/a#0.1.0".to_owned(),
            kind,
            name: "one".to_owned(),
            inside,
            manifest: "/w/a/Cargo.toml".into(),
            about: Vec::new(),
        }
    }

    #[test]
    fn options_become_cargos() {
        let rest = "--package path+file:///w/a#0.1.0 --profile";
        let format = "--message-format json-render-diagnostics";
        let name = || Some("one".to_owned());
        for (what, kind, inside, expected) in [
            (What::Default, Kind::Bin, false, format!("build --bin one {rest} release {format}")),
            (
                What::Example("one".into()),
                Kind::Example,
                false,
                format!("build --example one {rest} release {format}"),
            ),
            (
                What::Test("one".into()),
                Kind::Test,
                false,
                format!("test --no-run --test one {rest} release {format}"),
            ),
            (
                What::Bench("one".into()),
                Kind::Bench,
                false,
                format!("bench --no-run --bench one {rest} bench {format}"),
            ),
            (
                What::UnitTest(None),
                Kind::Library,
                true,
                format!("test --no-run --lib {rest} release {format}"),
            ),
            (
                What::UnitTest(name()),
                Kind::Bin,
                true,
                format!("test --no-run --bin one {rest} release {format}"),
            ),
            (
                What::UnitBench(name()),
                Kind::Bin,
                true,
                format!("bench --no-run --bin one {rest} bench {format}"),
            ),
            (
                What::UnitBench(None),
                Kind::Library,
                true,
                format!("bench --no-run --lib {rest} bench {format}"),
            ),
        ] {
            let wanted = Wanted { what, ..Wanted::default() };
            assert_eq!(words(&wanted, &choice(kind, inside)).join(" "), expected);
        }
        let wanted = Wanted {
            profile: Some("dev".to_owned()),
            features: vec!["x".to_owned(), "y".to_owned()],
            all_features: true,
            no_default_features: true,
            target: Some("x86_64-unknown-linux-musl".to_owned()),
            quiet: true,
            ..Wanted::default()
        };
        let all = format!(
            "build --bin one {rest} dev {format} --features x,y --target x86_64-unknown-linux-musl \
             --all-features --no-default-features --quiet"
        );
        assert_eq!(words(&wanted, &choice(Kind::Bin, false)).join(" "), all);
    }
}

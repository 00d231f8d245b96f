//! Building with cargo, and what it says about what it built.
//!
//! With `--message-format=json-render-diagnostics` cargo writes one JSON text a line to standard
//! output, and everything for people to standard error:
//!
//! ```text
//! {"reason":"compiler-artifact","package_id":"…","target":{"kind":["bin"],"name":"one",…},
//!  "profile":{"debuginfo":0,"test":false,…},"executable":"/…/target/release/one",…}
//! {"reason":"build-script-executed","package_id":"…","linked_paths":["native=/…"],
//!  "env":[["NAME","value"]],"out_dir":"/…"}
//! ```

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use super::debug_info::{self, Advice};
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

/// The parts of cargo's messages that matter here.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// The program that is meant.
    program: Option<PathBuf>,
    /// True if it was compiled with debug information.
    has_debug_info: bool,
    /// The binaries of its package, by name.
    pub(super) bins: Vec<(String, PathBuf)>,
    /// The folders in which build scripts put libraries.
    pub(super) libraries: Vec<PathBuf>,
    /// The variables set by the package's build script.
    pub(super) variables: Vec<(String, String)>,
}

impl Messages {
    fn read(&mut self, line: &[u8], choice: &ChosenProgram) {
        // A compiler plugin or wrapper may write there too.
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return };
        let is_its_own = message["package_id"].as_str() == Some(&*choice.package);
        match message["reason"].as_str() {
            Some("compiler-artifact") if is_its_own => self.artifact(&message, choice),
            Some("build-script-executed") => self.build_script(&message, is_its_own),
            _ => {}
        }
    }

    fn artifact(&mut self, message: &Value, choice: &ChosenProgram) {
        let (Some(program), Some(name), Some(kind)) = (
            message["executable"].as_str(),
            message["target"]["name"].as_str(),
            Kind::parse(&message["target"]),
        ) else {
            return;
        };
        let harness = message["profile"]["test"].as_bool() == Some(true);
        if kind == Kind::Bin && !harness {
            self.bins.push((name.to_owned(), program.into()));
        }
        let wants_harness = choice.inside || matches!(choice.kind, Kind::Test | Kind::Bench);
        if kind == choice.kind && name == choice.name && harness == wants_harness {
            self.program = Some(program.into());
            // A level, or the name of one.
            let level = &message["profile"]["debuginfo"];
            self.has_debug_info = !(level.is_null() || level.as_u64() == Some(0));
        }
    }

    fn build_script(&mut self, message: &Value, is_its_own: bool) {
        let list = |key: &str| message[key].as_array().map(Vec::as_slice).unwrap_or_default();
        self.libraries.extend(list("linked_paths").iter().filter_map(Value::as_str).map(|path| {
            // `native=/…`: of which kind, where it is said.
            let kinds = ["dependency", "crate", "native", "framework", "all"];
            let (kind, rest) = path.split_once('=').unwrap_or(("", path));
            PathBuf::from(if kinds.contains(&kind) { rest } else { path })
        }));
        if is_its_own {
            let pairs = list("env").iter().filter_map(|pair| Some((pair[0].as_str()?, pair[1].as_str()?)));
            self.variables.extend(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
            let out = message["out_dir"].as_str();
            self.variables.extend(out.map(|out| ("OUT_DIR".to_owned(), out.to_owned())));
        }
    }
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

    #[test]
    fn the_program_is_found_among_the_messages() {
        let lines = [
            "not JSON, of a wrapper",
            r#"{"reason":"build-script-executed","package_id":"other","linked_paths":["native=/t/build/o/out","/usr/lib/a=b"],"env":[["NOT","OURS"]],"out_dir":"/t/build/o/out"}"#,
            r#"{"reason":"build-script-executed","package_id":"path+file:///w/a#0.1.0","linked_paths":[],"env":[["ITS","own"]],"out_dir":"/t/build/a/out"}"#,
            r#"{"reason":"compiler-artifact","package_id":"path+file:///w/b#0.1.0","target":{"kind":["bin"],"name":"one"},"profile":{"debuginfo":2,"test":false},"executable":"/t/other"}"#,
            r#"{"reason":"compiler-artifact","package_id":"path+file:///w/a#0.1.0","target":{"kind":["lib"],"name":"one"},"profile":{"debuginfo":2,"test":false},"executable":null}"#,
            r#"{"reason":"compiler-artifact","package_id":"path+file:///w/a#0.1.0","target":{"kind":["bin"],"name":"one"},"profile":{"debuginfo":0,"test":false},"executable":"/t/release/one"}"#,
            r#"{"reason":"compiler-artifact","package_id":"path+file:///w/a#0.1.0","target":{"kind":["bin"],"name":"one"},"profile":{"debuginfo":"line-tables-only","test":true},"executable":"/t/release/deps/one-1"}"#,
            r#"{"reason":"build-finished","success":true}"#,
        ];
        for (inside, program, has_debug_info) in
            [(false, "/t/release/one", false), (true, "/t/release/deps/one-1", true)]
        {
            let mut messages = Messages::default();
            lines.iter().for_each(|line| messages.read(line.as_bytes(), &choice(Kind::Bin, inside)));
            assert_eq!(messages.program.as_deref(), Some(Path::new(program)));
            assert_eq!(messages.has_debug_info, has_debug_info);
            assert_eq!(messages.bins, [("one".to_owned(), PathBuf::from("/t/release/one"))]);
            assert_eq!(messages.libraries, [Path::new("/t/build/o/out"), Path::new("/usr/lib/a=b")]);
            let variables = [("ITS", "own"), ("OUT_DIR", "/t/build/a/out")];
            assert_eq!(
                messages.variables,
                variables.map(|(name, value)| (name.to_owned(), value.to_owned()))
            );
        }
    }
}

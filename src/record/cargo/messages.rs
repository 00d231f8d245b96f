//! The messages of cargo about what it has built.
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

use std::path::PathBuf;

use serde_json::Value;

use super::workspace::{ChosenProgram, Kind};

/// The parts of cargo's messages that matter here.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// The program that is meant.
    pub(super) program: Option<PathBuf>,
    /// True if it was compiled with debug information.
    pub(super) has_debug_info: bool,
    /// The binaries of its package, by name.
    pub(super) bins: Vec<(String, PathBuf)>,
    /// The folders in which build scripts put libraries.
    pub(super) libraries: Vec<PathBuf>,
    /// The variables set by the package's build script.
    pub(super) variables: Vec<(String, String)>,
}

impl Messages {
    /// Takes a line of the messages.
    pub(super) fn read(&mut self, line: &[u8], choice: &ChosenProgram) {
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
    use std::path::Path;

    fn choice(inside: bool) -> ChosenProgram {
        ChosenProgram {
            package: "path+file:///w/a#0.1.0".to_owned(),
            kind: Kind::Bin,
            name: "one".to_owned(),
            inside,
            manifest: "/w/a/Cargo.toml".into(),
            about: Vec::new(),
        }
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
            lines.iter().for_each(|line| messages.read(line.as_bytes(), &choice(inside)));
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

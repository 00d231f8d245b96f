//! Reads `cargo metadata`, and chooses one of the programs of a workspace.
//!
//! `cargo run` looks at the packages that are its default here: the one below whose folder we
//! are, or those the workspace names. A program that is asked for by name is looked for in the
//! other packages too, since its name says enough.

use std::path::PathBuf;

use serde_json::Value;

use super::{Trouble, Wanted, What, cargo, not_started};

/// The packages of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Workspace {
    packages: Vec<Package>,
    /// The ids of the packages that cargo takes when none is named.
    defaults: Vec<String>,
    /// The folder whose manifest has the profiles.
    pub(super) root: PathBuf,
    /// The folder in which cargo builds.
    pub(super) target_directory: PathBuf,
}

/// A package of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Package {
    id: String,
    name: String,
    manifest: PathBuf,
    default_run: Option<String>,
    targets: Vec<Target>,
    /// Cargo's variables that tell a program of its package.
    about: Vec<(&'static str, String)>,
}

/// A target of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    name: String,
    kind: Kind,
    /// True if there may be tests inside, as far as `Cargo.toml` says.
    has_tests: bool,
}

/// The kind of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Libraries of all sorts.
    Library,
    /// A program.
    Bin,
    /// An example that is a program.
    Example,
    /// An integration test.
    Test,
    /// A benchmark.
    Bench,
}

impl Kind {
    /// Reads the words that cargo uses; `None` for build scripts.
    pub(super) fn parse(target: &Value) -> Option<Kind> {
        let is = |key: &str, word: &str| {
            let words = target.get(key).and_then(Value::as_array);
            words.is_some_and(|words| words.iter().any(|w| w.as_str() == Some(word)))
        };
        let library = ["lib", "rlib", "dylib", "cdylib", "staticlib", "proc-macro"];
        match () {
            () if is("kind", "bin") => Some(Kind::Bin),
            () if is("kind", "example") => is("crate_types", "bin").then_some(Kind::Example),
            () if is("kind", "test") => Some(Kind::Test),
            () if is("kind", "bench") => Some(Kind::Bench),
            () if library.iter().any(|word| is("kind", word)) => Some(Kind::Library),
            () => None,
        }
    }

    /// Its name in messages.
    fn noun(self) -> &'static str {
        match self {
            Kind::Library => "library",
            Kind::Bin => "binary",
            Kind::Example => "example",
            Kind::Test => "test",
            Kind::Bench => "benchmark",
        }
    }
}

/// The program that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChosenProgram {
    /// Its package, by cargo's id.
    pub(super) package: String,
    /// The kind of its target.
    pub(super) kind: Kind,
    /// The name of its target.
    pub(super) name: String,
    /// True for the tests or benchmarks inside the target.
    pub(super) inside: bool,
    /// The package's `Cargo.toml`.
    pub(super) manifest: PathBuf,
    /// Cargo's variables that tell a program of its package.
    pub(super) about: Vec<(&'static str, String)>,
}

impl Workspace {
    /// Asks cargo.
    pub(super) fn read(wanted: &Wanted) -> Result<Workspace, Trouble> {
        let mut command = cargo();
        command.args(["metadata", "--no-deps", "--format-version", "1"]);
        if let Some(path) = &wanted.manifest_path {
            command.arg("--manifest-path").arg(path);
        }
        let output = command.output().map_err(|e| not_started(&e))?;
        if !output.status.success() {
            return Err(Trouble::Refused(first_error(&String::from_utf8_lossy(&output.stderr))));
        }
        let metadata =
            serde_json::from_slice(&output.stdout).map_err(|_| Trouble::NotUnderstood("JSON text"))?;
        Workspace::parse(&metadata)
    }

    fn parse(metadata: &Value) -> Result<Workspace, Trouble> {
        let list = |key: &'static str| {
            metadata.get(key).and_then(Value::as_array).ok_or(Trouble::NotUnderstood(key))
        };
        let path = |key: &'static str| {
            let path = metadata.get(key).and_then(Value::as_str);
            path.map(PathBuf::from).ok_or(Trouble::NotUnderstood(key))
        };
        let packages = list("packages")?;
        let defaults = list("workspace_default_members")?;
        let packages = packages.iter().map(Package::parse).collect::<Option<_>>();
        Ok(Workspace {
            packages: packages.ok_or(Trouble::NotUnderstood("a package's name or targets"))?,
            defaults: defaults.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect(),
            root: path("workspace_root")?,
            target_directory: path("target_directory")?,
        })
    }

    /// Finds the program that is meant; else says what there is to choose from.
    pub(super) fn choose(&self, wanted: &Wanted) -> Result<ChosenProgram, Trouble> {
        let packages: Vec<&Package> = match &wanted.package {
            Some(name) => vec![self.package(name)?],
            None => self.packages.iter().filter(|package| self.defaults.contains(&package.id)).collect(),
        };
        let everywhere: Vec<&Package> = match wanted.package {
            Some(_) => packages.clone(),
            None => self.packages.iter().collect(),
        };
        let named = |kinds: &[Kind], name: &str, inside: bool| {
            by_name(&packages, kinds, name, inside).or_else(|trouble| match trouble {
                Trouble::NoSuchProgram { .. } => by_name(&everywhere, kinds, name, inside),
                trouble => Err(trouble),
            })
        };
        match &wanted.what {
            What::Default => to_run(&packages, &everywhere),
            What::Bin(name) => named(&[Kind::Bin], name, false),
            What::Example(name) => named(&[Kind::Example], name, false),
            What::Test(name) => named(&[Kind::Test], name, false),
            What::Bench(name) => named(&[Kind::Bench], name, false),
            // A binary often has its library's name; the library's tests are the more likely ones.
            What::UnitTest(Some(name)) | What::UnitBench(Some(name)) => {
                named(&[Kind::Library, Kind::Bin], name, true)
            }
            What::UnitTest(None) => with_tests(&packages, "--unit-test"),
            What::UnitBench(None) => with_tests(&packages, "--unit-bench"),
        }
    }

    fn package(&self, name: &str) -> Result<&Package, Trouble> {
        let found = self.packages.iter().find(|package| package.name == name || package.id == name);
        found.ok_or_else(|| Trouble::NoPackage {
            name: name.to_owned(),
            known: joined(self.packages.iter().map(|package| package.name.as_str())),
        })
    }
}

impl Package {
    fn parse(package: &Value) -> Option<Package> {
        let text = |key: &str| package.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let targets = package.get("targets")?.as_array()?.iter();
        let name = package.get("name")?.as_str()?;
        let authors = package.get("authors").and_then(Value::as_array);
        let authors: Vec<&str> = authors.into_iter().flatten().filter_map(Value::as_str).collect();
        let version = text("version");
        let (numbers, pre) = match version.split('+').next().unwrap_or_default().split_once('-') {
            Some((numbers, pre)) => (numbers, pre),
            None => (version.split('+').next().unwrap_or_default(), ""),
        };
        let mut numbers = numbers.split('.').map(str::to_owned);
        let mut number = || numbers.next().unwrap_or_default();
        let about = vec![
            ("CARGO_PKG_NAME", name.to_owned()),
            ("CARGO_PKG_VERSION_MAJOR", number()),
            ("CARGO_PKG_VERSION_MINOR", number()),
            ("CARGO_PKG_VERSION_PATCH", number()),
            ("CARGO_PKG_VERSION_PRE", pre.to_owned()),
            ("CARGO_PKG_VERSION", version.clone()),
            ("CARGO_PKG_AUTHORS", authors.join(":")),
            ("CARGO_PKG_DESCRIPTION", text("description")),
            ("CARGO_PKG_HOMEPAGE", text("homepage")),
            ("CARGO_PKG_REPOSITORY", text("repository")),
            ("CARGO_PKG_LICENSE", text("license")),
            ("CARGO_PKG_LICENSE_FILE", text("license_file")),
            ("CARGO_PKG_RUST_VERSION", text("rust_version")),
            ("CARGO_PKG_README", text("readme")),
        ];
        Some(Package {
            id: package.get("id")?.as_str()?.to_owned(),
            name: name.to_owned(),
            manifest: package.get("manifest_path")?.as_str()?.into(),
            default_run: package.get("default_run").and_then(Value::as_str).map(str::to_owned),
            targets: targets.filter_map(Target::parse).collect(),
            about,
        })
    }

    fn choice(&self, target: &Target, inside: bool) -> ChosenProgram {
        ChosenProgram {
            package: self.id.clone(),
            kind: target.kind,
            name: target.name.clone(),
            inside,
            manifest: self.manifest.clone(),
            about: self.about.clone(),
        }
    }

    fn of(&self, kind: Kind) -> impl Iterator<Item = &Target> {
        self.targets.iter().filter(move |target| target.kind == kind)
    }
}

impl Target {
    fn parse(target: &Value) -> Option<Target> {
        Some(Target {
            name: target.get("name")?.as_str()?.to_owned(),
            kind: Kind::parse(target)?,
            has_tests: target.get("test").and_then(Value::as_bool).unwrap_or(true),
        })
    }
}

/// The program of this name; of the first of `kinds` that has one.
fn by_name(
    packages: &[&Package],
    kinds: &[Kind],
    name: &str,
    inside: bool,
) -> Result<ChosenProgram, Trouble> {
    for &kind in kinds {
        let found: Vec<(&&Package, &Target)> = packages
            .iter()
            .flat_map(|package| package.of(kind).map(move |target| (package, target)))
            .filter(|(_, target)| target.name == name)
            .collect();
        match found[..] {
            [] => {}
            [(package, target)] => return Ok(package.choice(target, inside)),
            _ => {
                return Err(Trouble::SeveralPackages {
                    kind: kind.noun(),
                    name: name.to_owned(),
                    packages: joined(found.iter().map(|(package, _)| package.name.as_str())),
                });
            }
        }
    }
    let all = packages.iter().flat_map(|package| &package.targets);
    let known: Vec<&str> =
        all.filter(|target| kinds.contains(&target.kind)).map(|target| target.name.as_str()).collect();
    Err(Trouble::NoSuchProgram {
        kind: kinds.last().map_or("program", |kind| kind.noun()),
        name: name.to_owned(),
        known: if known.is_empty() {
            "there is none".to_owned()
        } else {
            format!("there are {}", joined(known))
        },
    })
}

/// Chooses as `cargo run` does: the default that a package names, or the only binary.
fn to_run(packages: &[&Package], everywhere: &[&Package]) -> Result<ChosenProgram, Trouble> {
    let defaults: Vec<_> =
        packages.iter().filter_map(|package| Some((package, package.default_run.as_deref()?))).collect();
    if let [(package, name)] = defaults[..] {
        return by_name(&[package], &[Kind::Bin], name, false);
    }
    let bins: Vec<_> =
        packages.iter().flat_map(|package| package.of(Kind::Bin).map(move |bin| (package, bin))).collect();
    match bins[..] {
        [(package, bin)] => Ok(package.choice(bin, false)),
        [] => Err(Trouble::NothingToRun(others(everywhere))),
        _ => Err(Trouble::Several {
            option: "--bin",
            names: joined(bins.iter().map(|(_, bin)| bin.name.as_str())),
        }),
    }
}

/// The options for other programs of these packages than binaries.
fn others(packages: &[&Package]) -> String {
    let kinds = [
        (Kind::Bin, "--bin"),
        (Kind::Example, "--example"),
        (Kind::Bench, "--bench"),
        (Kind::Test, "--test"),
        (Kind::Library, "--unit-test"),
    ];
    let options = kinds.iter().flat_map(|&(kind, option)| {
        let names = packages.iter().flat_map(move |package| package.of(kind));
        names.map(move |target| format!("{option} {}", target.name))
    });
    joined(options.collect::<Vec<_>>())
}

/// The only library with tests, or the only binary.
fn with_tests(packages: &[&Package], option: &'static str) -> Result<ChosenProgram, Trouble> {
    for kind in [Kind::Library, Kind::Bin] {
        let found: Vec<_> = packages
            .iter()
            .flat_map(|package| package.of(kind).map(move |target| (package, target)))
            .filter(|(_, target)| target.has_tests)
            .collect();
        match found[..] {
            [] => {}
            [(package, target)] => return Ok(package.choice(target, true)),
            _ => {
                let names = joined(found.iter().map(|(_, target)| target.name.as_str()));
                return Err(Trouble::Several { option, names });
            }
        }
    }
    Err(Trouble::NothingToRun(others(packages)))
}

/// `a, b, c`, and no more than can be read.
fn joined(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    const MOST: usize = 20;
    let mut all = names.into_iter();
    let mut text = String::new();
    for (n, name) in all.by_ref().take(MOST).enumerate() {
        text += if n > 0 { ", " } else { "" };
        text += name.as_ref();
    }
    match all.count() {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

/// The line that matters of what cargo wrote: `error: could not find …`.
fn first_error(text: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix("error: "));
    line.or_else(|| text.lines().next()).unwrap_or("it failed without a word").to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Packages with their targets, as `bin:name`; those that begin with `*` are cargo's default.
    fn workspace(packages: &[(&str, Option<&str>, &[&str])]) -> Workspace {
        let name = |package: &str| package.trim_start_matches('*').to_owned();
        let list = packages.iter().map(|(package, default_run, targets)| {
            let targets = targets.iter().map(|target| {
                let (kind, name) = target.split_once(':').expect("kind:name");
                json!({"kind": [kind], "crate_types": [if kind == "lib" { "lib" } else { "bin" }], "name": name})
            });
            json!({
                "id": name(package), "name": name(package), "version": "1.2.3-rc.1+more", "authors": ["A", "B"],
                "manifest_path": format!("/w/{}/Cargo.toml", name(package)), "default_run": default_run,
                "targets": targets.collect::<Vec<_>>(),
            })
        });
        let defaults = packages.iter().filter_map(|(package, ..)| package.strip_prefix('*'));
        let metadata = json!({
            "packages": list.collect::<Vec<_>>(), "workspace_default_members": defaults.collect::<Vec<_>>(),
            "workspace_root": "/w", "target_directory": "/t",
        });
        Workspace::parse(&metadata).expect("metadata")
    }

    /// The program that is chosen, as `package/kind:name`, or the message.
    fn chosen(workspace: &Workspace, what: What, package: Option<&str>) -> String {
        let wanted = Wanted { what, package: package.map(str::to_owned), ..Wanted::default() };
        match workspace.choose(&wanted) {
            Ok(choice) => format!("{}/{}:{}", choice.package, choice.kind.noun(), choice.name),
            Err(trouble) => trouble.to_string(),
        }
    }

    #[test]
    fn the_choice_is_that_of_cargo_run() {
        let name = |name: &str| name.to_owned();
        let two: &[&str] = &["bin:one", "bin:two", "lib:a", "custom-build:build-script-build"];
        let plain =
            workspace(&[("*a", None, two), ("b", None, &["bin:only", "example:show", "bench:speed"])]);
        assert_eq!(
            chosen(&plain, What::Default, None),
            "several could be meant, choose one with --bin: one, two"
        );
        assert_eq!(chosen(&plain, What::Default, Some("b")), "b/binary:only");
        assert_eq!(chosen(&plain, What::Bin(name("only")), None), "b/binary:only", "wherever it is");
        assert_eq!(chosen(&plain, What::UnitTest(None), None), "a/library:a");
        assert_eq!(chosen(&plain, What::UnitTest(Some(name("two"))), None), "a/binary:two");
        assert_eq!(chosen(&plain, What::Example(name("x")), None), "there is no example x; there are show");
        assert_eq!(chosen(&plain, What::Test(name("x")), None), "there is no test x; there is none");

        let named = workspace(&[("*a", Some("two"), two), ("*b", None, &["bin:only"])]);
        assert_eq!(chosen(&named, What::Default, None), "a/binary:two", "the only default there is");
        let both = workspace(&[("*a", Some("two"), two), ("*b", Some("only"), &["bin:only"])]);
        assert_eq!(
            chosen(&both, What::Default, None),
            "several could be meant, choose one with --bin: one, two, only"
        );

        let library = workspace(&[("*a", None, &["lib:a"]), ("b", None, &["example:show"])]);
        let nothing = "there is no binary to run; choose another program with --example show, --unit-test a";
        assert_eq!(chosen(&library, What::Default, None), nothing);

        // The package we are in comes before the others; of two others neither does.
        let same: &[&str] = &["bin:same"];
        let first = workspace(&[("*a", None, same), ("b", None, same)]);
        assert_eq!(chosen(&first, What::Bin(name("same")), None), "a/binary:same");
        let neither = workspace(&[("*a", None, &[]), ("b", None, same), ("c", None, same)]);
        let several = "several packages have a binary same; choose one with --package: b, c";
        assert_eq!(chosen(&neither, What::Bin(name("same")), None), several);
        let nobody = "there is no package x in this workspace; there are a, b, c";
        assert_eq!(chosen(&neither, What::Default, Some("x")), nobody);
    }

    #[test]
    fn packages_say_their_version_in_parts() {
        let about = workspace(&[("*a", None, &[])]).packages[0].about.clone();
        let value = |name: &str| about.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_str());
        for (name, expected) in [
            ("CARGO_PKG_VERSION_MAJOR", "1"),
            ("CARGO_PKG_VERSION_PATCH", "3"),
            ("CARGO_PKG_VERSION_PRE", "rc.1"),
            ("CARGO_PKG_VERSION", "1.2.3-rc.1+more"),
            ("CARGO_PKG_AUTHORS", "A:B"),
            ("CARGO_PKG_LICENSE", ""),
        ] {
            assert_eq!(value(name), Some(expected), "{name}");
        }
    }

    #[test]
    fn missing_parts_of_the_answer_are_named() {
        for (metadata, missing) in [
            (json!({}), "packages"),
            (json!({"packages": [{}]}), "workspace_default_members"),
            (json!({"packages": [{}], "workspace_default_members": []}), "a package's name or targets"),
        ] {
            let trouble = Workspace::parse(&metadata).expect_err("it is not complete").to_string();
            assert!(trouble.contains(missing), "{trouble}");
        }
        assert_eq!(first_error("warning: x\nerror: no `y`\n\nCaused by:\n"), "no `y`");
        assert_eq!(first_error(""), "it failed without a word");
    }

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (0..25).map(|n| n.to_string()).collect();
        assert!(joined(&names).ends_with("18, 19 and 5 more"));
    }
}

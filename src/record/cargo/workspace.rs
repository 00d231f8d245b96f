//! What `cargo metadata` says of a workspace, and which of its programs is meant.
//!
//! `cargo run` looks at the packages that are its default here: the one below whose folder we
//! are, or those the workspace names. A program that is asked for by name is looked for in the
//! other packages too, since its name says enough.

use std::path::PathBuf;

use serde_json::Value;

use super::{Trouble, Wanted, What, cargo, not_started};

/// The packages of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    packages: Vec<Package>,
    /// Those that cargo takes when none is named, by their ids.
    defaults: Vec<String>,
    /// Where the profiles are read from.
    pub root: PathBuf,
    /// Where cargo builds.
    pub target_directory: PathBuf,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Package {
    id: String,
    name: String,
    manifest: PathBuf,
    default_run: Option<String>,
    targets: Vec<Target>,
    /// What programs are told of their package, as cargo's variables.
    about: Vec<(&'static str, String)>,
}

/// What a package can be built into.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    name: String,
    kind: Kind,
    /// Whether there are tests inside, as far as `Cargo.toml` says.
    has_tests: bool,
}

/// What a target is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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
    /// From the words that cargo uses; `None` for build scripts.
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

    /// In messages.
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
pub struct Choice {
    /// Its package, by cargo's id.
    pub package: String,
    /// What it is built from.
    pub kind: Kind,
    /// The name of that.
    pub name: String,
    /// It is the tests or benchmarks inside of that.
    pub inside: bool,
    /// The package's `Cargo.toml`.
    pub manifest: PathBuf,
    /// What programs are told of their package, as cargo's variables.
    pub about: Vec<(&'static str, String)>,
}

impl Workspace {
    /// Asks cargo.
    ///
    /// # Errors
    /// What cargo says.
    pub fn read(wanted: &Wanted) -> Result<Workspace, Trouble> {
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
        let packages = list("packages")?.iter().map(Package::parse).collect::<Option<_>>();
        let defaults = list("workspace_default_members")?;
        Ok(Workspace {
            packages: packages.ok_or(Trouble::NotUnderstood("a package's name or targets"))?,
            defaults: defaults.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect(),
            root: path("workspace_root")?,
            target_directory: path("target_directory")?,
        })
    }

    /// Finds the program that is meant.
    ///
    /// # Errors
    /// What there is to choose from.
    pub fn choose(&self, wanted: &Wanted) -> Result<Choice, Trouble> {
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

    fn choice(&self, target: &Target, inside: bool) -> Choice {
        Choice {
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
fn by_name(packages: &[&Package], kinds: &[Kind], name: &str, inside: bool) -> Result<Choice, Trouble> {
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

/// As `cargo run` chooses: what a package names as its default, else the only binary.
fn to_run(packages: &[&Package], everywhere: &[&Package]) -> Result<Choice, Trouble> {
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

/// What else than a binary of these packages could be recorded, as options.
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
fn with_tests(packages: &[&Package], option: &'static str) -> Result<Choice, Trouble> {
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

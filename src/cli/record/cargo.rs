//! `fg-record cargo`: the options that choose and build a program, as cargo-flamegraph has them.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::processes::Running;
use super::{Record, RecordArgs};
use crate::cli::{Exit, Tool, say};
use crate::record::cargo::{Wanted, What};

const EXAMPLES: &str = "\
Examples:
  fg-record cargo -o out.svg
  fg-record cargo --bin server --features tls -o out.html -- --port 8080
  fg-record cargo --bench parse -o out.svg -- big_file
  fg-record cargo --unit-test -p core -o out.svg -- parser::

Program: without a choice, the one that `cargo run` would run. Tests and benchmarks
run in the folder of their package, and all are given the variables that cargo sets
for them, but for [env] in cargo's configuration.

Also taken, as by cargo build: --all-features --no-default-features --target
--manifest-path; as by cargo flamegraph: --dev, --unit-bench and --skip-after.

Exit status: that of the program, or 128 plus the number of the signal that killed it;
2 if nothing was built or recorded, or the profile could not be written.";

/// Build a program with cargo and record it
///
/// Optimised, unless --profile says otherwise: by the release profile, and the bench
/// profile for benchmarks. Says which setting shows inlined functions where there is no debug
/// info.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("colors", |colors| colors.short_alias(None)))]
#[command(group = ArgGroup::new("program").args(["bin", "example", "test", "bench", "unit_test", "unit_bench"]))]
#[command(group = ArgGroup::new("built").args(["profile", "dev", "release"]))]
pub struct Cargo {
    /// The arguments of the program
    #[arg(value_name = "ARGUMENT", last = true)]
    pub arguments: Vec<OsString>,

    /// Record this binary
    #[arg(short, long, value_name = "NAME", help_heading = "Program")]
    pub bin: Option<String>,

    /// Record this example
    #[arg(long, value_name = "NAME", help_heading = "Program")]
    pub example: Option<String>,

    /// Record this integration test
    #[arg(long, value_name = "NAME", help_heading = "Program")]
    pub test: Option<String>,

    /// Record this benchmark
    #[arg(long, value_name = "NAME", help_heading = "Program")]
    pub bench: Option<String>,

    /// Record the tests inside this library or binary; by default the library
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "", help_heading = "Program")]
    pub unit_test: Option<String>,

    /// Record the benchmarks inside this library or binary; by default the library
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "", help_heading = "Program", hide = true)]
    pub unit_bench: Option<String>,

    /// Choose from this package
    #[arg(short, long, value_name = "NAME", help_heading = "Program")]
    pub package: Option<String>,

    /// The path of Cargo.toml, if it is neither here nor above
    #[arg(long, value_name = "PATH", help_heading = "Program", hide = true)]
    pub manifest_path: Option<PathBuf>,

    /// Build with this cargo profile
    #[arg(long, value_name = "NAME", help_heading = "Build")]
    pub profile: Option<String>,

    /// Build with the dev profile
    #[arg(long, help_heading = "Build", hide = true)]
    pub dev: bool,

    /// Build with the release profile: the default for all but benchmarks
    #[arg(short, long, help_heading = "Build")]
    pub release: bool,

    /// Build with these features: names, separated by commas or spaces
    #[arg(short, long, value_name = "NAMES", help_heading = "Build")]
    pub features: Vec<String>,

    /// Build with all features
    #[arg(long, help_heading = "Build", hide = true)]
    pub all_features: bool,

    /// Build without the default features
    #[arg(long, help_heading = "Build", hide = true)]
    pub no_default_features: bool,

    /// Build for TRIPLE, which must be able to run here: x86_64-unknown-linux-musl
    #[arg(long, value_name = "TRIPLE", help_heading = "Build", hide = true)]
    pub target: Option<String>,

    /// Options for sampling and results.
    #[command(flatten)]
    pub how: RecordArgs,
}

impl Cargo {
    /// Builds and records.
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let built = self.wanted().build()?;
        if let Some(advice) = built.advice.as_ref().filter(|_| !self.how.sampling.quiet) {
            say(Record::NAME, advice);
        }
        self.how.record_runs(Some(built.invocation(&self.arguments)), Running::default())
    }

    /// The options as the library has them.
    fn wanted(&self) -> Wanted {
        let name = |name: &Option<String>| name.clone();
        let library_or = |name: &String| Some(name.clone()).filter(|name| !name.is_empty());
        let what = name(&self.bin)
            .map(What::Bin)
            .or_else(|| name(&self.example).map(What::Example))
            .or_else(|| name(&self.test).map(What::Test))
            .or_else(|| name(&self.bench).map(What::Bench))
            .or_else(|| self.unit_test.as_ref().map(library_or).map(What::UnitTest))
            .or_else(|| self.unit_bench.as_ref().map(library_or).map(What::UnitBench));
        let profile = match (&self.profile, self.dev, self.release) {
            (Some(profile), ..) => Some(profile.clone()),
            (_, true, _) => Some("dev".to_owned()),
            (_, _, true) => Some("release".to_owned()),
            _ => None,
        };
        Wanted {
            what: what.unwrap_or_default(),
            package: self.package.clone(),
            profile,
            features: self.features.clone(),
            all_features: self.all_features,
            no_default_features: self.no_default_features,
            target: self.target.clone(),
            manifest_path: self.manifest_path.clone(),
            quiet: self.how.sampling.quiet,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::Task;
    use super::*;

    fn cargo(words: &str) -> Result<Cargo, clap::Error> {
        let words = ["fg-record", "cargo"].into_iter().chain(words.split_whitespace());
        Record::try_parse_from(words).map(|record| match record.task {
            Some(Task::Cargo(cargo)) => *cargo,
            task => panic!("{task:?}"),
        })
    }

    #[test]
    fn options_are_what_is_wanted() {
        let name = || "x".to_owned();
        let wanted = |what| Wanted { what, ..Wanted::default() };
        for (words, expected) in [
            ("", wanted(What::Default)),
            ("--bin x", wanted(What::Bin(name()))),
            ("-b x -- --bin y", wanted(What::Bin(name()))),
            ("--example x", wanted(What::Example(name()))),
            ("--test x", wanted(What::Test(name()))),
            ("--bench x", wanted(What::Bench(name()))),
            ("--unit-test", wanted(What::UnitTest(None))),
            ("--unit-test -- x", wanted(What::UnitTest(None))),
            ("--unit-test=x", wanted(What::UnitTest(Some(name())))),
            ("--unit-bench x", wanted(What::UnitBench(Some(name())))),
            (
                "-p x --dev",
                Wanted { package: Some(name()), profile: Some("dev".into()), ..Wanted::default() },
            ),
            ("--profile x", Wanted { profile: Some(name()), ..Wanted::default() }),
            ("-r", Wanted { profile: Some("release".into()), ..Wanted::default() }),
            (
                "-f a,b --features c --all-features --no-default-features",
                Wanted {
                    features: vec!["a,b".into(), "c".into()],
                    all_features: true,
                    no_default_features: true,
                    ..Wanted::default()
                },
            ),
            (
                "--target x --manifest-path x/Cargo.toml -q",
                Wanted {
                    target: Some(name()),
                    manifest_path: Some("x/Cargo.toml".into()),
                    quiet: true,
                    ..Wanted::default()
                },
            ),
        ] {
            assert_eq!(cargo(words).expect(words).wanted(), expected, "{words}");
        }
        for words in ["--bin x --bench y", "--dev --release", "--profile x --dev", "-p 1 -p 2", "x"] {
            assert!(cargo(words).is_err(), "{words}");
        }
        let given = cargo("-F 99 -d 3 -o x.folded --call-graph fp -- -F 5").expect("recorder's options");
        assert_eq!((given.how.sampling.freq, given.arguments), (Some(99), vec!["-F".into(), "5".into()]));
    }

    #[test]
    fn the_usual_profiles() {
        for (words, profile) in [
            ("", "release"),
            ("--unit-test", "release"),
            ("--test x", "release"),
            ("--bench x", "bench"),
            ("--unit-bench", "bench"),
            ("--bench x --release", "release"),
            ("--bench x --dev", "dev"),
        ] {
            assert_eq!(cargo(words).expect(words).wanted().profile(), profile, "{words}");
        }
    }
}

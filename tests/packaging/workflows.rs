//! The scripts of the workflows do what their steps say. `scripts/check workflows` lints them.

use std::path::Path;

use crate::{Place, project, read};

/// The script of a step: what follows `run:` below its name.
fn script(workflow: &str, step: &str) -> String {
    let text = read(&format!(".github/workflows/{workflow}.yml"));
    let (_, rest) =
        text.split_once(&format!("- name: {step}\n")).unwrap_or_else(|| panic!("{workflow}: {step}"));
    let (before, run) = rest.split_once("        run: ").unwrap();
    assert!(!before.contains("- "), "{workflow}: {step} has no script");
    let Some(block) = run.strip_prefix("|\n") else { return run.lines().next().unwrap().to_owned() };
    let lines = block.lines().map_while(|line| line.strip_prefix("          "));
    lines.map(|line| format!("{line}\n")).collect()
}

/// A folder with the project's manifest.
fn checkout() -> Place {
    let place = Place::new();
    place.put("Cargo.toml", &read("Cargo.toml"));
    place
}

#[test]
fn a_release_has_the_tag_of_its_version() {
    let place = checkout();
    let step = script("release", "The tag is the version");
    let version = format!("v{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(place.run(&step, &[("GITHUB_REF_NAME", &version)]).status, 0);
    assert_eq!(place.run(&step, &[("GITHUB_REF_NAME", "v99.0.0")]).status, 1);
}

#[test]
fn a_release_is_of_the_repository_in_the_manifest() {
    let place = Place::new();
    place.put("Cargo.toml", "[package]\nrepository = \"https://github.com/one/two\"\n");
    let step = script("release", "The sources of this release are where Cargo.toml says");
    let server = ("GITHUB_SERVER_URL", "https://github.com");
    assert_eq!(place.run(&step, &[server, ("GITHUB_REPOSITORY", "one/two")]).status, 0);
    assert_eq!(place.run(&step, &[server, ("GITHUB_REPOSITORY", "one/three")]).status, 1);
}

#[test]
fn a_release_attaches_what_has_a_sum() {
    let place = Place::new();
    place.stand_in("gh", "printf '%s\\n' \"$*\" >>\"$ASKED\"");
    place.stand_in("uname", "echo x86_64");
    for name in ["a.deb", "b c.whl", "root/usr/bin/fg-tools", "fg-tools.debug"] {
        place.put(&format!("target/packages/{name}"), name);
    }
    place.succeeds("cd target/packages && sha256sum a.deb 'b c.whl' >SHA256SUMS", &[]);
    let asked = place.path("asked");
    let settings = [("GITHUB_REF_NAME", "v1.0.0"), ("ASKED", asked.to_str().unwrap())];
    place.succeeds(&script("release", "Attach the packages to the release"), &settings);
    assert_eq!(
        place.read("asked"),
        "release create v1.0.0 --draft --verify-tag --notes-from-tag\n\
         release upload --clobber v1.0.0 SHA256SUMS-x86_64 a.deb b c.whl\n"
    );
    assert!(place.read("target/packages/SHA256SUMS-x86_64").contains("  b c.whl\n"));
}

#[test]
fn the_oldest_compiler_is_the_manifest_s() {
    let place = checkout();
    for name in ["rustup", "cargo"] {
        place.stand_in(name, &format!("echo {name} \"$@\""));
    }
    let said = place.succeeds(&script("check", "Build with the compiler that Cargo.toml promises"), &[]);
    let version = env!("CARGO_PKG_RUST_VERSION");
    assert!(said.contains(&format!("rustup toolchain install {version} ")), "{said}");
    assert!(said.contains(&format!("cargo +{version} check --locked")), "{said}");
}

#[test]
fn fuzzing_goes_on_after_a_finding_and_fails() {
    // The package of the sources has no fuzz targets.
    if !project().join("fuzz/run").exists() {
        return;
    }
    let place = Place::new();
    place.put("fuzz/Cargo.toml", "[package]\nname = \"fg-tools-fuzz\"\n[[bin]]\nname = \"a\"\n[[bin]]\nname = \"b\"\n[[bin]]\nname = \"c\"\n");
    place.put("fuzz/corpus/README", "");
    place.put("fuzz/run", &read("fuzz/run"));
    place.stand_in("rustc", "echo host: here");
    // A target that is built is a script, which fails if it is the bad one.
    place.stand_in(
        "cargo",
        "[ \"$1 $2\" = 'fuzz build' ] || exit 0; for target; do :; done; mkdir -p fuzz/target/here/release
         printf '#!/bin/sh\\necho \"$0 $*\" >>asked; case $0 in */%s) exit 77 ;; esac\\n' \"$BAD\" >fuzz/target/here/release/$target
         chmod +x fuzz/target/here/release/$target",
    );
    let run = |arguments: &str, bad: &str| {
        let ran = place.run(&format!("rm -f asked; bash fuzz/run {arguments}"), &[("BAD", bad)]);
        (ran.status, ran.stdout, place.read("asked"))
    };
    let (status, said, asked) = run("6", "b");
    assert_eq!((status, said.lines().last()), (1, Some("findings: fuzz/artifacts/b")), "{said}");
    assert_eq!(asked.matches("-max_total_time=120 ").count(), 3, "{asked}");
    let (status, said, asked) = run("1 c", "b");
    assert_eq!((status, asked.lines().count()), (0, 1), "{said}");
    assert!(asked.contains("/c fuzz/corpus/c ") && asked.contains("-max_total_time=60 "), "{asked}");
    assert_eq!(place.run("bash fuzz/run 1 nosuch", &[]).status, 2);
    assert_eq!(place.run("bash fuzz/run", &[]).status, 2);
}

/// Files of this repository that workflows name are there.
#[test]
fn workflows_name_files_that_exist() {
    let mut named = 0;
    for workflow in ["check", "nightly", "release", "speed"] {
        let text = read(&format!(".github/workflows/{workflow}.yml"));
        for word in text.split([' ', '\n', '"', '\'']) {
            if word.starts_with("scripts/") || word.starts_with("packaging/") {
                assert!(project().join(word).exists(), "{workflow}.yml: {word}");
                named += 1;
            }
        }
        for test in text.split("--test ").skip(1) {
            let name = test.split_whitespace().next().unwrap();
            assert!(
                Path::new(&format!("{}/tests/{name}", env!("CARGO_MANIFEST_DIR"))).exists(),
                "{workflow}.yml: {name}"
            );
        }
    }
    assert!(named >= 4, "{named} files");
}

//! Places that say the same agree: versions, names of packages, the oldest compiler.

use std::process::Command;

use crate::{Place, project, read, skip::skip};

/// The value of `key = "value"` in Cargo.toml.
fn manifest(key: &str) -> String {
    let manifest = read("Cargo.toml");
    let line = manifest.lines().find_map(|line| line.strip_prefix(&format!("{key} = \"")));
    line.unwrap_or_else(|| panic!("Cargo.toml has no {key}")).trim_end_matches('"').to_owned()
}

#[test]
fn the_installer_puts_all_in_its_place() {
    let place = Place::new();
    place.put("fg-tools-1/bin/fg-tools", "#!/bin/sh\n");
    place.put("fg-tools-1/share/man/man1/fg-collapse.1.gz", "");
    place.succeeds(
        "ln -s fg-tools fg-tools-1/bin/fg-collapse; cp \"$PROJECT/packaging/install.sh\" fg-tools-1/",
        &[],
    );
    let said = place.succeeds("cd bin && sh ../fg-tools-1/install.sh --prefix ../usr", &[]);
    assert!(said.contains("installed into ") && said.contains("is not in your PATH"), "{said}");
    assert!(place.path("usr/share/man/man1/fg-collapse.1.gz").exists());
    assert_eq!(std::fs::read_link(place.path("usr/bin/fg-collapse")).unwrap().to_str(), Some("fg-tools"));
    let ran = place.run("sh fg-tools-1/install.sh --to usr", &[]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.starts_with("usage: "), "{}", ran.stderr);
}

/// `cargo binstall` finds the tarball that scripts/package makes, and the programs in it.
#[test]
fn binstall_fits_the_tarball() {
    let script = read("scripts/package");
    assert!(script.contains("name=fg-tools-$version-$triple"), "the tarball's name in scripts/package");
    assert!(script.contains("\"$out/$name.tar.gz\" \"$name\""), "the tarball's folder in scripts/package");
    assert!(manifest("pkg-url").ends_with("/v{ version }/{ name }-{ version }-{ target }.tar.gz"));
    assert_eq!(manifest("bin-dir"), "{ name }-{ version }-{ target }/bin/{ bin }{ binary-ext }");
    assert_eq!(manifest("pkg-fmt"), "tgz");
}

#[test]
fn the_changelog_knows_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    let changes = read("CHANGELOG.md");
    let headings: Vec<&str> = changes.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert!(
        headings.first().is_some_and(|first| *first == "Unreleased" || first.starts_with(version)),
        "{headings:?}"
    );
    assert!(headings.iter().any(|heading| heading.starts_with(version)), "{headings:?} has no {version}");
    let mut entries: Vec<&str> = changes.lines().filter(|line| line.starts_with("- ")).collect();
    let all = entries.len();
    entries.sort_unstable();
    entries.dedup();
    assert_eq!(entries.len(), all, "CHANGELOG.md says something twice");
    for (at, line) in changes.lines().enumerate() {
        let conflict = ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|mark| line.starts_with(mark));
        assert!(!conflict, "CHANGELOG.md:{}: a merge left a mark", at + 1);
    }
}

/// The package of crates.io has the files that its tests read, and cargo has nothing to say about it.
#[test]
fn the_crate_is_whole() {
    // A package is not packed again: cargo refuses the files that it has added.
    if project().join("Cargo.toml.orig").exists() {
        return skip("this is the package");
    }
    let listed = Command::new(env!("CARGO"))
        .args(["package", "--list", "--allow-dirty", "--offline", "--locked"])
        .current_dir(project())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&listed.stderr);
    assert!(listed.status.success() && said.is_empty(), "{said}");
    let files = String::from_utf8_lossy(&listed.stdout).into_owned();
    for wanted in [
        "tests/fixtures/perf-script/cpp-fp/input.txt.gz",
        "tests/perf_data/golden/calc.data.gz",
        "tests/native/objects/orders.so",
        "docs/gallery/rustc.folded.gz",
        "src/render/png/DejaVuSans.ttf",
        "scripts/ci-gate-example",
    ] {
        assert!(files.lines().any(|file| file == wanted), "{wanted} is not in the package");
    }
    for file in files.lines() {
        let outside = ["fuzz/", "benches/", ".ci/", "mutants/", "tests/browser/", "wasm/"];
        let stray = outside.iter().any(|folder| file.starts_with(folder));
        assert!(!stray && !file.ends_with(".whl"), "{file} is in the package");
    }
}

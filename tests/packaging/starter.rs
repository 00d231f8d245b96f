//! The one executable of all programs, as packages start it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::{Place, read};

/// A package as wheels and npm have it: scripts beside the executable, or in the package beside its own.
fn starters(place: &Place, folder: &str) {
    let script = read("packaging/starter.sh");
    for name in ["record", "collapse", "filter", "diff", "render"] {
        let file = format!("{folder}/fg-{name}");
        place.put(&file, &script);
        fs::set_permissions(place.path(&file), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// A stand-in for the executable, which says how it was called.
fn executable(place: &Place, folder: &str) {
    place.put(&format!("{folder}/fg-tools"), "#!/bin/sh\necho \"$@\"\n");
    fs::set_permissions(place.path(&format!("{folder}/fg-tools")), fs::Permissions::from_mode(0o755))
        .unwrap();
}

#[test]
fn the_starters_find_the_executable() {
    // A wheel; npm with its packages side by side; npm with one below the other.
    for (scripts, program) in [
        ("venv/bin", "venv/bin"),
        ("node_modules/fg-tools/bin", "node_modules/fg-tools-linux-x64/bin"),
        ("node_modules/fg-tools/bin", "node_modules/fg-tools/node_modules/fg-tools-linux-x64/bin"),
    ] {
        let place = Place::new();
        place.stand_in("uname", "echo x86_64");
        starters(&place, scripts);
        let missing = place.run(&format!("{scripts}/fg-collapse --version"), &[]);
        assert_eq!(missing.status, 2);
        assert!(
            missing.stderr.starts_with("fg-collapse: there is no program for this system: "),
            "{}",
            missing.stderr
        );
        executable(&place, program);
        assert_eq!(place.succeeds(&format!("{scripts}/fg-collapse 'a b' -q"), &[]), "collapse a b -q\n");
        // As npm has them in the search path.
        symlink(place.path(&format!("{scripts}/fg-render")), place.path("bin/fg-render")).unwrap();
        assert_eq!(place.succeeds("fg-render x", &[]), "render x\n");
    }
}

#[test]
#[cfg(feature = "package")]
fn one_executable_is_five_programs() {
    let place = Place::new();
    let file = env!("CARGO_BIN_EXE_fg-tools");
    for name in ["record", "collapse", "filter", "diff", "render"] {
        let version = format!("fg-{name} {}\n", env!("CARGO_PKG_VERSION"));
        symlink(file, place.path(&format!("fg-{name}"))).unwrap();
        assert!(place.succeeds(&format!("./fg-{name} --version"), &[]).starts_with(version.trim_end()));
        assert!(place.succeeds(&format!("{file} {name} --version"), &[]).starts_with(version.trim_end()));
        let wrong = place.run(&format!("{file} {name} --no-such-option"), &[]);
        assert_eq!(wrong.status, 2);
        assert!(wrong.stderr.contains("--no-such-option"), "{}", wrong.stderr);
    }
    for arguments in ["", "tea", "--help"] {
        let ran = place.run(&format!("{file} {arguments}"), &[]);
        assert!(
            ran.stderr.contains("usage: fg-tools ") || ran.stdout.contains("usage: fg-tools "),
            "{arguments}"
        );
    }
}

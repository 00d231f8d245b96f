//! `fg-record cargo` on small workspaces, built without a network: the right program, run as cargo
//! runs it, or one line that says that there is none.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::{fg_record, recorded, text};

/// Computes long enough to be sampled, and says how it was started.
const PROGRAM: &str = r#"
#[inline(never)]
pub fn NAME_busy() -> u64 {
    let mut x = 1u64;
    for i in 0..30_000_000 { x = std::hint::black_box(x.wrapping_mul(31) + i); }
    x
}
fn main() {
    NAME_busy();
    let folder = std::env::current_dir().unwrap();
    println!("folder {}", folder.file_name().unwrap().to_string_lossy());
    println!("arguments {:?}", std::env::args().skip(1).collect::<Vec<_>>());
    for (name, value) in std::env::vars() {
        if name.starts_with("CARGO_") || name == "OUT_DIR" || name == "LD_LIBRARY_PATH" || name == "OF_SCRIPT" {
            println!("{name}={value}");
        }
    }
    if std::env::args().any(|argument| argument == "fail") { std::process::exit(7); }
}
"#;

/// A workspace of two packages: `app` has binaries, `kit` a library and everything else.
fn workspace() -> Option<tempfile::TempDir> {
    if !super::installed::works("cargo") {
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    let program = |path: &str, name: &str| write(path, &PROGRAM.replace("NAME", name));
    let package = |name: &str, more: &str| {
        let text =
            format!("[package]\nname = \"{name}\"\nversion = \"1.2.3-pre\"\nedition = \"2021\"\n{more}");
        write(&format!("{name}/Cargo.toml"), &text);
    };
    let profiles = "[profile.release]\nopt-level = 1\n[profile.mine]\ninherits = \"release\"\ndebug = 1\n\
                    [profile.bare]\ninherits = \"mine\"\nstrip = true\n";
    write(
        "Cargo.toml",
        &format!(
            "[workspace]\nmembers = [\"app\", \"kit\"]\ndefault-members = [\"app\"]\nresolver = \"2\"\n{profiles}"
        ),
    );
    package("app", "");
    program("app/src/bin/one.rs", "one");
    program("app/src/bin/two.rs", "two");
    write("app/build.rs", "fn main() { println!(\"cargo::rustc-env=OF_SCRIPT=said\"); }");
    package(
        "kit",
        "default-run = \"tool\"\n[features]\nextra = []\n[[bin]]\nname = \"rich\"\n\
         required-features = [\"extra\"]\n[[bench]]\nname = \"speed\"\nharness = false\n",
    );
    let tests = "\n#[test] fn inside() { assert!(cfg!(debug_assertions) || NAME_busy() > 0); }\n";
    let library = PROGRAM.split("fn main").next().expect("the function").to_owned() + tests;
    write("kit/src/lib.rs", &library.replace("NAME", "library"));
    program("kit/src/bin/tool.rs", "tool");
    program("kit/src/bin/other.rs", "other");
    program("kit/examples/show.rs", "show");
    program("kit/benches/speed.rs", "speed");
    write("kit/tests/whole.rs", &library.replace("NAME", "whole"));
    program("kit/src/bin/rich.rs", "rich");
    Some(folder)
}

/// `fg-record cargo` there; `below` is the folder it is called in.
fn cargo(workspace: &Path, below: &str, arguments: &[&str]) -> Command {
    let mut command = fg_record();
    command.arg("cargo").args(arguments).current_dir(workspace.join(below));
    // One for all runs, whatever this test itself is built with.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        // Flags of the compiler may ask for a linker that strips more than others.
        if name == "RUSTFLAGS" || name.starts_with("CARGO") && name != "CARGO_HOME" {
            command.env_remove(name);
        }
    }
    command.env("CARGO_NET_OFFLINE", "true").env("CARGO_TERM_COLOR", "never");
    command
}

/// The folded text and what the program said; `None` where nothing can be recorded.
fn profile(command: &mut Command) -> Option<(String, String, Output)> {
    let output = recorded(command)?;
    Some((text(&output.stdout), text(&output.stderr), output))
}

#[test]
fn programs_start_as_cargo_starts_them() {
    let Some(workspace) = workspace() else { return };
    let root = workspace.path();
    let name = root.file_name().expect("a name").to_string_lossy().into_owned();
    for (below, arguments, function, folder, started) in [
        ("", &["--bin", "one", "--", "a b"][..], "one_busy", &*name, "arguments [\"a b\"]"),
        // In another package than the default one, whose name is not needed.
        ("app/src", &["--bin", "other"], "other_busy", "src", "CARGO_PKG_NAME=kit"),
        // The package's own default.
        ("kit", &[], "tool_busy", "kit", "CARGO_PKG_VERSION_PRE=pre"),
        ("", &["-p", "kit"], "tool_busy", &*name, "arguments []"),
        ("", &["--example", "show", "--dev"], "show_busy", &*name, "CARGO_MANIFEST_DIR="),
        (
            "app",
            &["--bench", "speed", "--", "this"],
            "speed_busy",
            "kit",
            "arguments [\"this\", \"--bench\"]",
        ),
        ("", &["--bin", "rich", "--features", "extra"], "rich_busy", &*name, "LD_LIBRARY_PATH="),
        ("", &["--test", "whole"], "whole_busy", "", "test inside ... ok"),
        ("kit", &["--unit-test", "--", "inside"], "library_busy", "", "test inside ... ok"),
        ("", &["--unit-test", "kit"], "library_busy", "", "test inside ... ok"),
    ] {
        let Some((folded, said, output)) = profile(&mut cargo(root, below, arguments)) else { return };
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
        assert!(folded.contains(function), "{arguments:?}: {folded}\n{said}");
        assert!(said.contains(started), "{arguments:?}: {said}");
        let folder = format!("folder {folder}\n");
        assert!(folder == "folder \n" || said.contains(&folder), "{arguments:?}: {said}");
    }
    let Some((_, said, output)) = profile(&mut cargo(root, "app", &["--bin", "one", "--", "fail"])) else {
        return;
    };
    assert_eq!(output.status.code(), Some(7), "the program's own status\n{said}");
    assert!(said.contains("OF_SCRIPT=said\n") && said.contains("OUT_DIR="), "of the build script: {said}");
}

#[test]
fn missing_debug_info_names_the_setting_that_adds_it() {
    let Some(workspace) = workspace() else { return };
    let root = workspace.path();
    let manifest = root.join("Cargo.toml").canonicalize().expect("it is there");
    let manifest = manifest.display();
    let without = "compiled without debug info";
    let release = format!("{manifest}: [profile.release] debug = \"line-tables-only\"");
    for (arguments, variable, expected) in [
        (&["--bin", "one"][..], None, Some(&*release)),
        (&["--unit-test", "kit"], None, Some(&*release)),
        (&["--bench", "speed"], None, Some("[profile.bench] debug")),
        (&["--bin", "one", "--profile", "mine"], None, None),
        (&["--bin", "one", "--dev"], None, None),
        (&["--bin", "one"], Some("CARGO_PROFILE_RELEASE_DEBUG"), None),
        (&["--bin", "one", "--profile", "bare"], None, Some("[profile.bare] strip = \"none\"")),
    ] {
        let mut command = cargo(root, "", arguments);
        variable.map(|name| command.env(name, "line-tables-only"));
        let Some((_, said, output)) = profile(&mut command) else { return };
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
        match expected {
            Some(expected) => assert!(said.contains(expected), "{arguments:?}: {said}"),
            None => assert!(!said.contains(without) && !said.contains("stripped"), "{arguments:?}: {said}"),
        }
    }
    // The very setting that was named.
    let Some((_, said, _)) =
        profile(cargo(root, "", &["--bin", "one"]).env("CARGO_PROFILE_RELEASE_STRIP", "symbols"))
    else {
        return;
    };
    assert!(said.contains("CARGO_PROFILE_RELEASE_DEBUG=line-tables-only"), "{said}");
}

#[test]
fn an_unclear_choice_is_one_line() {
    let Some(workspace) = workspace() else { return };
    let root = workspace.path();
    let elsewhere = tempfile::tempdir().expect("a folder");
    for (folder, arguments, expected) in [
        (root, &[][..], "several could be meant, choose one with --bin: one, two"),
        (root, &["--bin", "three"], "there is no binary three; there are one, two, other, rich, tool"),
        (root, &["-p", "nobody"], "there is no package nobody in this workspace; there are app, kit"),
        (root, &["-p", "app", "--bench", "speed"], "there is no benchmark speed; there is none"),
        (root, &["--unit-test"], "several could be meant, choose one with --unit-test: one, two"),
        (elsewhere.path(), &[], "cargo: could not find `Cargo.toml` in"),
    ] {
        let output = cargo(folder, "", arguments).output().expect("fg-record starts");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.starts_with("fg-record: ") && said.contains(expected), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(output.stdout.is_empty());
    }
    let output = cargo(root, "", &["--bin", "rich"]).output().expect("fg-record starts");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("requires the features: `extra`"), "cargo's own words: {said}");
    assert!(said.ends_with("fg-record: nothing was recorded, since cargo build failed\n"), "{said}");
    let output = cargo(root, "", &[]).env("CARGO", "/no/such/cargo").output().expect("fg-record starts");
    assert!(
        text(&output.stderr).starts_with("fg-record: cannot start /no/such/cargo: there is no such"),
        "{output:?}"
    );
}

#[test]
fn cargo_s_options_are_in_the_man_page_and_the_completions() {
    for (words, expected) in [
        (&["cargo", "--generate", "man"][..], "\\-\\-unit\\-test"),
        (&["--generate", "bash"], "--unit-test"),
        (&["--generate", "man"], "fg\\-record\\-check"),
    ] {
        let output = fg_record().args(words).output().expect("fg-record starts");
        assert!(text(&output.stdout).contains(expected), "{words:?}: {}", text(&output.stdout));
    }
    let help = fg_record().args(["cargo", "--help"]).output().expect("fg-record starts");
    let help = text(&help.stdout);
    assert!(help.lines().all(|line| line.chars().count() <= 79), "{help}");
}

//! `fg-record --open` with stand-ins for browsers.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::process::until;
use super::{fg_record, in_time, ready, recorded, set_mode, text};

/// A program that writes its user and its arguments to `FOLDER/NAME.said`, then does `more`.
fn stand_in(folder: &Path, name: &str, more: &str) {
    let path = folder.join(name);
    let said = folder.join(format!("{name}.said"));
    // All of it is there at once.
    let script = format!(
        "#!/bin/sh\n(id -u; echo \"$HOME\"; printf '%s\\n' \"$@\") > {said}.new\nmv {said}.new {said}\n{more}\n",
        said = said.display()
    );
    fs::write(&path, script).expect("a script");
    set_mode(&path, 0o755);
}

/// The lines that a stand-in wrote, once it has: its user, home and arguments. On a busy machine it may do so after
/// the program that started it has ended.
fn said(folder: &Path, name: &str) -> Vec<String> {
    until(&format!("{name} runs"), || was_run(folder, name));
    let said = fs::read_to_string(folder.join(format!("{name}.said"))).expect("what it wrote");
    fs::remove_file(folder.join(format!("{name}.said"))).expect("it was there");
    said.lines().map(str::to_owned).collect()
}

fn was_run(folder: &Path, name: &str) -> bool {
    folder.join(format!("{name}.said")).exists()
}

/// `fg-record`, run in `folder`, with a `PATH` that has what is there first, and no display.
fn in_folder(folder: &Path) -> Command {
    let mut path = folder.as_os_str().to_owned();
    path.push(":/usr/bin:/bin");
    let mut command = fg_record();
    command.current_dir(folder).env("PATH", path);
    for name in ["BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "SUDO_UID"] {
        command.env_remove(name);
    }
    command
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    set_mode(folder.path(), 0o777);
    folder
}

#[test]
fn outputs_are_opened_without_a_shell() {
    let Some(program) = ready() else { return };
    let temporary = folder();
    let folder = temporary.path().canonicalize().expect("it is there");
    stand_in(&folder, "surf", "");
    stand_in(&folder, "broken", "exit 3");
    stand_in(&folder, "xdg-open", "sleep 20");
    let odd = "a $(touch oops) b;.svg";
    let run = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = in_folder(&folder);
        command
            .args(arguments)
            .args(["--open", "--"])
            .arg(program)
            .arg("100")
            .envs(variables.iter().copied());
        recorded(&mut command)
    };
    // A browser that has not failed within two seconds has opened it, which a busy machine may be too slow for.
    let record = |_: &str| {
        run(&["--svg", odd], &[("BROWSER", "absent:broken:surf --new %s --end"), ("DISPLAY", ":9")])
    };
    let Some(output) = in_time(record, |_| was_run(&folder, "surf")) else { return };
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "its own output\n".to_owned()));
    let file = folder.join(odd).to_string_lossy().into_owned();
    assert_eq!(said(&folder, "broken")[2..], [&*file], "it was tried first");
    assert_eq!(said(&folder, "surf")[2..], ["--new", &*file, "--end"]);
    assert!(!was_run(&folder, "xdg-open") && !folder.join("oops").exists());
    assert!(fs::read_to_string(&file).expect("a picture").contains("<title>hot ("));

    // Both are written, and the page is opened, by a browser that stays.
    let Some(output) = run(&["--svg", "a.svg", "--html", "a.html"], &[("DISPLAY", ":9")]) else { return };
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(said(&folder, "xdg-open")[2..], [folder.join("a.html").to_string_lossy()]);

    // Nothing was asked for but to see it.
    let Some(output) = run(&[], &[("BROWSER", "surf")]) else { return };
    assert_eq!(text(&output.stdout), "its own output\n", "the program keeps it");
    assert_eq!(said(&folder, "surf")[2..], [folder.join("fg-record.html").to_string_lossy()]);
    assert!(
        fs::read_to_string(folder.join("fg-record.html")).expect("a page").starts_with("<!doctype html>")
    );
}

#[test]
fn a_missing_browser_is_reported_and_no_failure() {
    let Some(program) = ready() else { return };
    let temporary = folder();
    let folder = temporary.path().canonicalize().expect("it is there");
    stand_in(&folder, "xdg-open", "exit 4");
    stand_in(&folder, "wslview", "exit 1");
    for (variables, expected) in [
        (&[][..], "no browser was opened (there is no display here, and BROWSER is not set); open "),
        (
            &[("DISPLAY", ":9")],
            "no browser was opened (neither works: xdg-open, wslview; BROWSER may name another)",
        ),
    ] {
        let record = |_: &str| {
            let mut command = in_folder(&folder);
            command.args(["--svg", "a.svg", "--open", "--"]).arg(program).args(["100", "-", "3"]);
            recorded(command.envs(variables.iter().copied()))
        };
        // None of them may take more than two seconds to fail.
        let is_said = |output: &Output| text(&output.stderr).contains(expected);
        let Some(output) = in_time(record, is_said) else { return };
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(expected), "{said}");
        assert!(said.contains(&format!("open {} yourself\n", folder.join("a.svg").display())), "{said}");
    }
}

#[test]
fn under_sudo_the_browser_is_the_caller_s() {
    let Some(program) = ready() else { return };
    if !fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0) {
        super::skip::skip("needs root to be called by sudo");
        return;
    }
    let temporary = folder();
    let folder = temporary.path().canonicalize().expect("it is there");
    stand_in(&folder, "surf", "");
    let mut command = in_folder(&folder);
    command.envs([
        ("BROWSER", "surf"),
        ("SUDO_UID", "65534"),
        ("SUDO_GID", "65534"),
        ("SUDO_USER", "nobody"),
    ]);
    command
        .env("SUDO_HOME", "/home/of-nobody")
        .args(["--svg", "a.svg", "--open", "--"])
        .arg(program)
        .arg("100");
    if recorded(&mut command).is_none() {
        return;
    }
    assert_eq!(said(&folder, "surf")[..2], ["65534", "/home/of-nobody"]);
}

/// `fg-render`, run in `folder` as if it were the user's home, with a browser that stands in.
fn fg_render(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fg-render"));
    let path = format!("{}:/usr/bin:/bin", folder.display());
    command.current_dir(folder).env("PATH", path).env("HOME", folder).env("BROWSER", "surf");
    for name in ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "SUDO_UID", "XDG_CACHE_HOME"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

#[test]
fn fg_render_opens_its_page_too() {
    let temporary = folder();
    let folder = temporary.path().canonicalize().expect("it is there");
    stand_in(&folder, "surf", "");
    fs::write(folder.join("a.folded"), "main;hot 42\n").expect("a file");
    let output = fg_render(&folder).args(["-o", "a.svg", "-o", "a.html", "--open", "a.folded"]).output();
    let output = output.expect("fg-render starts");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    assert_eq!(said(&folder, "surf")[2..], [folder.join("a.html").to_string_lossy()]);
}

#[test]
fn fg_render_opens_a_page_that_nobody_named() {
    let temporary = folder();
    let folder = temporary.path().canonicalize().expect("it is there");
    stand_in(&folder, "surf", "");
    fs::write(folder.join("a.folded"), "main;hot 42\n").expect("a file");
    let pages = folder.join(".cache/fg-tools/pages");
    // An input of the same name replaces the page, one by a pipe has a name of its own.
    for (arguments, name, begins) in [
        (&["--open", "a.folded"][..], "a.folded.html", "<!doctype html>"),
        (&["--open", "./a.folded", "--title", "again"], "a.folded.html", "<!doctype html>"),
        (&["--open", "a.folded", "--format", "svg"], "a.folded.svg", "<?xml"),
        (&["--open", "a.folded", "-o", "a.tsv"], "a.folded.html", "<!doctype html>"),
        (&["--open"], "standard-input.html", "<!doctype html>"),
    ] {
        let input = fs::File::open(folder.join("a.folded")).expect("it was written");
        let output = fg_render(&folder).args(arguments).stdin(input).output().expect("fg-render starts");
        let page = pages.join(name);
        let expected = format!("fg-render: opened {}; -o FILE writes it elsewhere\n", page.display());
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), expected), "{arguments:?}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        assert_eq!(said(&folder, "surf")[2..], [page.to_string_lossy()], "{arguments:?}");
        assert!(fs::read_to_string(&page).expect("a page").starts_with(begins), "{arguments:?}");
    }
    assert!(folder.join("a.tsv").exists(), "it is written beside the page");
    assert_eq!(fs::read_dir(&pages).expect("a folder").count(), 3, "a page for each name");
    let mode = fs::metadata(&pages).expect("a folder").mode();
    assert_eq!(mode & 0o077, 0, "profiles are nobody else's: {mode:o}");
}

#[test]
fn a_format_that_no_browser_shows_is_not_opened() {
    let temporary = folder();
    fs::write(temporary.path().join("a.folded"), "main;hot 42\n").expect("a file");
    let output = fg_render(temporary.path()).args(["--open", "--format", "top", "a.folded"]).output();
    let output = output.expect("fg-render starts");
    let expected = "fg-render: a browser does not show top: --open goes with html, svg, png\n";
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), expected.to_owned()));
    assert!(!temporary.path().join(".cache").exists());
}

/// Nothing is recorded, so it works everywhere: pages, recordings and three commands to go on with.
#[test]
fn the_demo_opens_its_page_and_says_how_to_go_on() {
    let temporary = folder();
    let folder = temporary.path().canonicalize().expect("it is there");
    stand_in(&folder, "surf", "");
    let mut command = in_folder(&folder);
    command.arg("demo").env("BROWSER", "surf").env("XDG_CACHE_HOME", folder.join("cache"));
    let output = command.stdin(Stdio::null()).output().expect("fg-record");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    let pages = folder.join("cache/fg-tools/pages");
    let page = pages.join("demo-slow.html").to_string_lossy().into_owned();
    assert_eq!(said(&folder, "surf")[2..], [&*page]);
    let out = text(&output.stdout);
    let is_row = |line: &&str| line.contains("__strcmp_evex") && line.contains('-');
    assert!(out.contains(&page) && out.lines().any(|line| is_row(&line)), "{out}");
    let commands: Vec<&str> = out.lines().filter(|line| line.starts_with("  fg-")).collect();
    assert_eq!(commands.len(), 3, "{out}");
    assert!(commands[2].contains("fg-record --open ./app"), "{out}");
    for command in &commands[..2] {
        let files = command.split(' ').filter(|word| word.ends_with(".folded"));
        assert!(
            files.clone().count() > 0 && files.into_iter().all(|file| Path::new(file).is_file()),
            "{command}"
        );
    }
    let change = std::process::Command::new(env!("CARGO_BIN_EXE_fg-collapse"))
        .arg(pages.join("demo-diff.html"))
        .output()
        .expect("fg-collapse starts");
    assert!(text(&change.stdout).contains("find"), "it names the function");
}

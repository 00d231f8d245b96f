//! `--with auto`, the default: py-spy or austin for CPython, if there is one.

use std::process::{Command, Stdio};

use super::stand_in::Stage;
use super::{run, text};

/// A stage with programs to record: one of Python by its first line, and one that is not.
fn stage(tools: &[&str]) -> Stage {
    let stage = Stage::new();
    for tool in tools {
        stage.add(tool, "echo 'austin 3.7.0'");
    }
    stage.write("script", "#!/usr/bin/env -S python3 -u\nprint(1)\n");
    stage.write("python3", "\x7fELF, as far as anybody looks");
    stage.write("app", "#!/bin/sh\n: python3\n");
    stage
}

#[test]
fn python_is_recorded_by_what_reads_it() {
    let names_python = cfg!(all(target_os = "linux", target_arch = "x86_64"));
    let builtin = if names_python { "those in C, too" } else { "its interpreter" };
    let why = |name: &str, tool: &str| {
        format!(
            "fg-record: {name} is Python: recording its functions with {tool} (--with builtin: {builtin})\n"
        )
    };
    let without = if names_python {
        "fg-record: python3 is Python: recording its functions with the built-in sampler\n"
    } else {
        "fg-record: python3 is Python, and neither py-spy nor austin is installed (`pip install py-spy`): recording its \
         interpreter with the built-in sampler\n"
    };
    for (tools, command, begins, said) in [
        (&["py-spy", "austin"][..], "script", "py-spy record ", why("script", "py-spy")),
        (&["austin"], "script", "austin --pipe ", why("script", "austin")),
        (&["py-spy"], "python3", "py-spy record ", why("python3", "py-spy")),
        (&[], "python3", "python3\n", without.to_owned()),
        (&["py-spy", "austin"], "app", "app\n", String::new()),
    ] {
        let stage = stage(tools);
        let output = run(stage.alone().args(["--print-command", "--", command]));
        assert!(text(&output.stdout).starts_with(begins), "{command}: {output:?}");
        assert_eq!((text(&output.stderr), output.status.code()), (said, Some(0)), "{command}");
    }
}

#[test]
fn options_that_it_cannot_honour_go_to_the_built_in_sampler() {
    let stage = stage(&["py-spy", "austin"]);
    for (arguments, why) in [
        (&["-e", "cycles"][..], "but py-spy cannot do -e"),
        (&["--call-graph", "fp"], "but py-spy cannot do --call-graph fp"),
        (&["--raw", "-o", "perf.data"], "and --raw wants a perf.data"),
    ] {
        let output = run(stage.alone().arg("--print-command").args(arguments).args(["--", "script"]));
        assert_eq!(text(&output.stdout), "script\n");
        let said = text(&output.stderr);
        assert!(said.contains(why) && said.lines().count() == 1, "{said}");
    }
    let output = run(stage.alone().args(["--print-command", "-q", "-e", "cycles", "--", "script"]));
    assert_eq!(text(&output.stderr), "", "-q says nothing");
    let output = run(stage.alone().args(["--print-command", "-v", "--", "app"]));
    assert!(text(&output.stderr).contains("the target is no Python program"), "{output:?}");
}

#[test]
fn a_process_is_python_by_its_program() {
    let stage = stage(&["py-spy"]);
    let folder = tempfile::tempdir().expect("a folder");
    for (name, is_python) in [("python3.12", true), ("sleeper", false)] {
        let program = folder.path().join(name);
        // A copy that another thread's child still has open cannot be run.
        assert!(Command::new("cp").arg("/bin/sleep").arg(&program).status().expect("cp is there").success());
        let mut child = Command::new(&program).arg("60").stdout(Stdio::null()).spawn().expect("it starts");
        let output = run(stage.alone().args(["--print-command", "-p", &child.id().to_string()]));
        let _ = child.kill();
        let _ = child.wait();
        assert_eq!(text(&output.stdout).starts_with("py-spy record "), is_python, "{name}: {output:?}");
        assert_eq!(text(&output.stderr).contains("is Python"), is_python, "{name}: {output:?}");
    }
}

/// It names the functions itself.
#[test]
fn a_profiler_of_python_comes_without_advice_on_names() {
    let stage = stage(&["py-spy"]);
    stage.write("python3.12", "\x7fELF, as far as anybody looks");
    for arguments in [&[][..], &["--print-command"]] {
        let output = run(stage.alone().args(arguments).args(["--with", "py-spy", "--", "python3.12"]));
        assert!(!text(&output.stderr).contains("PYTHONPERFSUPPORT"), "{output:?}");
    }
}

/// pyenv and its like put a script where the interpreter should be.
#[test]
fn an_interpreter_behind_a_script_is_found() {
    let stage = stage(&["py-spy"]);
    let real = stage.write("python3.11", "not a script");
    stage.write("python3", &format!("#!/bin/sh\n[ \"$1\" = -c ] && echo '{}'\n", real.display()));
    let output = run(stage.alone().args(["--print-command", "--", "python3", "app.py"]));
    let line = text(&output.stdout);
    assert!(line.contains(&format!(" sh {} app.py", real.display())), "{line}");
}

//! Text in a terminal: as wide as that, in colour unless somebody objects. tmux is the terminal;
//! without it the tests say so and pass.

use std::process::Command;

use super::SMALL;

/// What a terminal of so many columns shows after `fg-render --format text`, colours as codes.
fn shown(columns: usize, environment: &str, arguments: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.folded"), SMALL).unwrap();
    let socket = folder.path().join("tmux");
    let tmux = |arguments: &[&str]| {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&socket).args(["-f", "/dev/null"]).args(arguments).current_dir(folder.path());
        command.env_remove("TMUX").env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8");
        command.output()
    };
    let script = format!(
        "env -u NO_COLOR -u COLORTERM {environment} {} --format text {arguments} in.folded; touch done; sleep 60",
        env!("CARGO_BIN_EXE_fg-render")
    );
    let size = columns.to_string();
    let session = ["new-session", "-d", "-s", "x", "-x", &size, "-y", "10", &script];
    let Ok(started) = tmux(&session) else {
        eprintln!("there is no tmux: not tested");
        return None;
    };
    assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
    let done = folder.path().join("done");
    for _ in 0..400 {
        std::thread::sleep(std::time::Duration::from_millis(25));
        if done.exists() {
            break;
        }
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    let screen = tmux(&["capture-pane", "-p", "-e", "-t", "x"]).unwrap();
    tmux(&["kill-server"]).unwrap();
    Some(String::from_utf8(screen.stdout).unwrap())
}

#[test]
fn text_is_as_wide_as_the_terminal() {
    for columns in [80, 200] {
        let Some(screen) = shown(columns, "", "--ansi never") else { return };
        let first = screen.lines().next().unwrap();
        assert_eq!(first.chars().count(), columns, "{screen}");
        assert!(first.starts_with("▏main 100.00%░") && screen.contains("▏lex 20.00%"), "{screen}");
        assert!(!screen.contains('\x1b'), "{screen:?}");
    }
}

#[test]
fn a_terminal_gets_colours_unless_somebody_objects() {
    for (environment, coloured) in
        [("", true), ("NO_COLOR=1", false), ("TERM=dumb", false), ("NO_COLOR=", true)]
    {
        let Some(screen) = shown(80, environment, "") else { return };
        assert!(screen.contains("parse 60.00%"), "{screen}");
        assert_eq!(screen.contains("\x1b["), coloured, "{environment}: {screen:?}");
    }
    let Some(screen) = shown(80, "COLORTERM=truecolor", "") else { return };
    assert!(screen.contains("parse 60.00%"), "{screen:?}");
}

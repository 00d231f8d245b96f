//! Text in a terminal: as wide as that, in colour unless somebody objects.

use super::SMALL;
use super::tmux::Terminal;

/// The text in a terminal of this width after `fg-render --format text`.
fn shown(columns: usize, environment: &str, arguments: &str) -> Option<Terminal> {
    let script = format!(
        "env -u NO_COLOR -u COLORTERM {environment} {} --format text {arguments} in.folded",
        env!("CARGO_BIN_EXE_fg-render")
    );
    let terminal = Terminal::start(columns, 10, SMALL.as_bytes(), &script)?;
    terminal.shows("ended with 0");
    Some(terminal)
}

#[test]
fn text_is_as_wide_as_the_terminal() {
    for columns in [80, 200] {
        let Some(terminal) = shown(columns, "", "--ansi never") else { return };
        let screen = terminal.screen(true);
        let first = screen.lines().next().unwrap();
        assert_eq!(first.chars().count(), columns, "{screen}");
        assert!(first.starts_with("▏main 100.00%░") && screen.contains("▏lex 20.00%"), "{screen}");
        assert!(!screen.contains('\x1b'), "{screen:?}");
    }
}

#[test]
fn a_terminal_gets_colours_unless_somebody_objects() {
    for (environment, coloured) in [
        ("", true),
        ("NO_COLOR=1", false),
        ("TERM=dumb", false),
        ("NO_COLOR=", true),
        ("COLORTERM=truecolor", true),
    ] {
        let Some(terminal) = shown(80, environment, "") else { return };
        let screen = terminal.screen(true);
        assert!(screen.contains("parse 60.00%"), "{screen}");
        assert_eq!(screen.contains("\x1b["), coloured, "{environment}: {screen:?}");
    }
}

#[test]
fn a_graph_leaves_its_root_on_the_screen() {
    let stack: Vec<String> = (0..60).map(|n| format!("f{n}")).collect();
    let folded = format!("{} 1\nf0;wide 99\n", stack.join(";"));
    let script =
        |arguments: &str| format!("env NO_COLOR=1 {} {arguments} in.folded", env!("CARGO_BIN_EXE_fg-render"));
    let Some(terminal) = Terminal::start(80, 24, folded.as_bytes(), &script("")) else { return };
    let screen = terminal.shows("ended with 0");
    assert!(screen.starts_with("▏f0 100.00%") && screen.contains("wide 99.00%"), "{screen}");
    assert!(screen.contains("43 frames left out; --depth 60 draws all rows"), "{screen}");
    let all = Terminal::start(80, 90, folded.as_bytes(), &script("--depth 60")).unwrap();
    let screen = all.shows("ended with 0");
    assert!(!screen.contains("left out"), "{screen}");
}

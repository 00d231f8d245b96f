//! The view in a terminal, with keys pressed.

use super::tmux::Terminal;
use super::{SMALL, run};

fn open(folded: &[u8], script: &str) -> Option<Terminal> {
    let script = script.replace("TUI", concat!(env!("CARGO_BIN_EXE_fg-render"), " --tui"));
    Terminal::start(80, 16, folded, &script)
}

#[test]
fn a_piped_profile_is_walked_through_with_keys_from_the_terminal() {
    let Some(terminal) = open(SMALL.as_bytes(), "cat in.folded | TUI --ansi never") else { return };
    let screen = terminal.shows("all: 100 (100.00%)");
    let lines: Vec<&str> = screen.lines().collect();
    assert!(lines[0].starts_with(" 1 Flame  2 Table  3 Butterfly   100   ? help"), "{screen}");
    assert!(
        lines[1].starts_with("▏all░") && lines[3].contains("▏parse░") && lines[3].contains("▏write░"),
        "{screen}"
    );
    // Down to the heaviest callee, to its neighbour and back, and as wide as there is room.
    terminal.press(&["Down", "Down"]);
    terminal.shows("parse: 60 (60.00%)");
    terminal.press(&["Right"]);
    terminal.shows("write: 39 (39.00%)");
    terminal.press(&["h", "Enter"]);
    let zoomed =
        terminal.until("parse alone", |screen| screen.contains("parse: 60") && !screen.contains("write"));
    assert!(zoomed.lines().nth(3).unwrap().chars().count() == 80, "{zoomed}");
    terminal.press(&["BSpace", "r"]);
    terminal.until("the whole", |screen| screen.contains("all: 100") && screen.contains("write"));
    // A search marks, says how much, and goes to what it found.
    terminal.press(&["/", "l", "e", "x", "|", "w", "r", "Enter"]);
    terminal.shows("lex: 20 (20.00%)   /lex|wr matched 59.0%");
    terminal.press(&["n"]);
    terminal.shows("write: 39 (39.00%)");
    // The table has what was found, and all of it again after Escape.
    terminal.press(&["2"]);
    let table = terminal.shows("2 functions");
    assert!(table.lines().nth(2).unwrap().starts_with("   39  39.00%     39  39.00%  write"), "{table}");
    terminal.press(&["Escape"]);
    terminal.shows("4 functions");
    terminal.press(&["s"]);
    let by_total = terminal.shows("total▾  ");
    assert!(by_total.lines().nth(2).unwrap().ends_with("main"), "{by_total}");
    // From a row to its butterfly, and on to a callee.
    terminal.press(&["j", "Enter"]);
    let butterfly = terminal.shows("[self]");
    let rows: Vec<&str> = butterfly.lines().skip(1).take(4).map(str::trim).collect();
    assert_eq!(
        rows,
        ["60  100.00%    main", "60   60.00%  parse", "40   66.67%    [self]", "20   33.33%    lex"]
    );
    terminal.press(&["Down", "Enter"]);
    terminal.shows("20   20.00%  lex");
    terminal.press(&["?"]);
    terminal.shows("Ctrl-C      leave");
    terminal.press(&["x", "/", "(", "Enter"]);
    terminal.shows("( is no regular expression");
    terminal.press(&["q"]);
    // The terminal is as it was.
    assert!(!terminal.shows("ended with 0").contains("Butterfly"));
}

#[test]
fn changes_have_signs_and_colours() {
    let folded = "main;old 401 103\nmain;new 100 400\nmain;same 500 500\n";
    let Some(terminal) = open(folded.as_bytes(), "TUI in.folded") else { return };
    terminal.shows("all: 1,001 → 1,003 (+0.00 pp)");
    terminal.press(&["/", "n", "e", "w", "Enter"]);
    terminal.shows("new: 100 → 400 (+29.89 pp)");
    // A terminal sends Escape and what follows at once for other keys.
    terminal.press(&["2"]);
    terminal.shows("1 functions");
    terminal.press(&["Escape"]);
    let table = terminal.shows("4 functions");
    assert!(table.contains("change▾") && table.contains("+300") && table.contains("-298"), "{table}");
    terminal.press(&["1"]);
    terminal.shows("▏same");
    let colours = terminal.screen(true);
    let of = |name: &str| {
        let before = colours.split(&format!("▏{name}")).next().unwrap();
        before.rsplit("\x1b[48;5;").next().unwrap().split('m').next().unwrap().to_owned()
    };
    // Blue for what shrank, grey for what may be noise.
    assert_eq!((of("old"), of("same")), ("68".to_owned(), "188".to_owned()), "{colours:?}");
    terminal.press(&["C-c"]);
    terminal.shows("ended with 0");
}

#[test]
fn names_of_any_bytes_are_shown() {
    let folded =
        b"\xff\xfe\x80;\x1b[31mred\x07 3\n\xe6\xbc\xa2\xe5\xad\x97;e\xcc\x81\xe2\x80\xaex 4\n;\t 2\n";
    let Some(terminal) = open(folded, "TUI in.folded") else { return };
    let screen = terminal.shows("all: 9 (100.00%)");
    assert!(screen.contains("▏���") && screen.contains("▏漢字") && screen.contains("�[31mred�"), "{screen}");
    terminal.press(&["2"]);
    terminal.shows("6 functions");
    terminal.press(&["3", "Tab", "Down", "Left", "Left", "Down", "Enter", "q"]);
    terminal.shows("ended with 0");
}

#[test]
fn a_terminal_of_no_size_is_no_trouble() {
    let text: String = (0..300).map(|n| format!("{}f{n} 1\n", "main;".repeat(n % 60))).collect();
    let script = "stty rows 2 cols 3; TUI in.folded";
    let Some(terminal) = open(text.as_bytes(), script) else { return };
    terminal.press(&["Down", "Down", "2", "3", "?", "q"]);
    // It has no room to show how far it is: the keys are pressed until it has ended.
    terminal.until("ended with 0", |screen| {
        let has_ended = screen.contains("ended with 0");
        if !has_ended {
            terminal.press(&["q"]);
        }
        has_ended
    });
}

#[test]
fn without_a_terminal_it_says_so() {
    let piped = run(&["--tui"], SMALL);
    assert_eq!((piped.status, piped.stderr.lines().count()), (2, 1));
    assert!(piped.stderr.contains("--tui needs a terminal to draw in"), "{}", piped.stderr);
    assert!(run(&["--tui", "--title", "x"], SMALL).stderr.contains("--title means nothing to --tui"));
}

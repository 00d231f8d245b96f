//! Two weights on each line: what changed, in colours, outlines and words.

use super::{Picture, draw, run};

const SMALL: &str = "a;b 10 20\na;b;d 0 10\na;e 10 0\n";
/// The same with enough samples to be sure of it.
const SURE: &str = "a;b 1000 2000\na;b;d 0 1000\na;e 1000 0\na;same 1000 1499\na;z 1 1\n";

const GREY: &str = "#d0d0d0";

fn classic(arguments: &[&str], text: &str) -> Picture {
    draw(&[&["--diff-colors", "red-blue", "--alpha", "1"], arguments].concat(), text)
}

#[test]
fn a_frame_counts_what_it_calls_too() {
    let picture = classic(&[], SMALL);
    assert_eq!(
        picture.titles(),
        [
            "all (20 → 30, +50.0%, +0.00 pp)",
            "a (20 → 30, +50.0%, +0.00 pp; 10 in callees that are gone)",
            "b (10 → 30, +200.0%, +50.00 pp)",
            "d (0 → 10, new, +33.33 pp)",
            // Frames that are gone are drawn too, and shown on request.
            "e (10 → 0, gone, -50.00 pp)"
        ]
    );
    // The largest change has the full colour, half of it is paler; nothing is blue.
    assert_eq!(picture.frame("b").fill, "#ff4646");
    assert_eq!(picture.frame("a").fill, "#ff9b9b");
    assert_eq!(classic(&["--negate"], SMALL).frame("b").fill, "#4646ff");
}

#[test]
fn unchanged_frames_are_white_in_default_colours() {
    let text = "a;b 10 4\na;c 5 5\n";
    assert_eq!(classic(&[], text).frame("b").fill, "#4646ff");
    let picture = draw(&["--alpha", "1"], text);
    assert_eq!((picture.frame("b").fill.as_str(), picture.frame("c").fill.as_str()), ("#3278dc", "#ffffff"));
    assert_eq!(picture.frame("b").title, "b (10 → 4, -60.0%, -22.22 pp)");
    assert_eq!(draw(&["--alpha", "1", "--negate"], text).frame("b").fill, "#e66e00");
    assert_eq!(picture.setting("differential"), "true");
}

#[test]
fn noise_is_grey() {
    // 0 against 1 sample is nothing, however large it is in percent.
    let picture = draw(&[], "a;b 500 501\na;new 0 1\na;c 100 300\na;d 1 1\n");
    assert_eq!(picture.frame("new").fill, GREY);
    assert_eq!(picture.frame("new").title, "new (0 → 1, new, +0.12 pp; not significant)");
    assert_eq!(picture.frame("c").fill, "#e66f02");
    assert_eq!(picture.frame("c").title, "c (100 → 300, +200.0%, +20.72 pp)");
    assert!(
        picture.setting("legend").contains(&format!("{{label: \"not significant\", color: \"{GREY}\"}}"))
    );
    let text = "a;b 500 501\na;new 0 1\na;c 100 300\na;d 1 1\n";
    assert_ne!(draw(&["--alpha", "1"], text).frame("new").fill, GREY);
    assert_eq!(draw(&["--min-effect", "30"], text).frame("c").fill, GREY);
    assert_eq!(draw(&["--period", "100"], text).frame("c").fill, GREY);
    assert_eq!(run(&["--alpha", "2"], text).status, 2);
}

#[test]
fn widths_are_of_a_side_or_of_both() {
    let place = |picture: &Picture, name: &str| {
        let frame = picture.frame(name);
        (frame.exact.0.clone(), frame.exact.1.clone())
    };
    let exact = |x: &str, w: &str| (x.to_owned(), w.to_owned());
    let after = draw(&[], SURE);
    assert_eq!((place(&after, "b"), place(&after, "same")), (exact("0", "3000"), exact("3000", "1499")));
    assert_eq!(place(&after, "e"), exact("3000", "0"));
    let before = draw(&["--widths", "before"], SURE);
    assert_eq!((place(&before, "b"), place(&before, "e")), (exact("0", "1000"), exact("1000", "1000")));
    assert!(!before.titles().iter().any(|title| title.starts_with("d ")));
    assert_eq!(before.frame("e").title, "e (1000 → 0, gone, -33.32 pp)".replace("1000", "1,000"));
    let union = draw(&["--widths", "union"], SURE);
    for (name, place_of) in [
        ("all", exact("0", "5500")),
        ("a", exact("0", "5500")),
        ("b", exact("0", "3000")),
        ("d", exact("2000", "1000")),
        ("e", exact("3000", "1000")),
        ("same", exact("4000", "1499")),
    ] {
        assert_eq!(place(&union, name), place_of, "{name}");
    }
    assert_eq!(union.frame("b").title, after.frame("b").title);
    assert_eq!(
        (union.frame("d").class.as_str(), union.frame("e").class.as_str()),
        ("frame new", "frame gone")
    );
    assert_eq!(union.frame("b").class, "frame");
    assert!(union.text.contains(".fg .gone > rect"));
}

#[test]
fn a_union_has_the_width_of_all_it_holds() {
    // Frames that are left out for being narrow still push the others to the right.
    let mut text = String::from("a 7 3\n");
    for n in 0..2000 {
        text.push_str(&format!("a;b{n:04} {} {}\n", n % 3, n % 5));
    }
    text.push_str("a;z 5000 100\nb;c 3 4000\n");
    let picture = draw(&["--widths", "union"], &text);
    let widths: u32 = (0..2000).map(|n| (n % 3).max(n % 5)).sum();
    assert_eq!(picture.frame("z").exact, (format!("{}", 7 + widths), "5000".to_owned()));
    assert_eq!(picture.frame("c").exact, (format!("{}", 7 + widths + 5000), "4000".to_owned()));
    assert_eq!(picture.frame("all").exact.1, format!("{}", 7 + widths + 9000));
}

#[test]
fn self_change_colours_what_changed_itself() {
    let text = "a 101 101\na;b 1000 1000\na;b;c 500 2000\n";
    let picture = draw(&["--self-change"], text);
    assert_eq!(picture.frame("c").fill, "#e66e00");
    // Its weight stayed: nothing happened to it but the growth of another.
    assert_eq!(picture.frame("b").fill, GREY);
    assert!(picture.frame("b").title.contains("; self 1,000 → 1,000"));
    assert_eq!(draw(&[], text).frame("b").fill, "#e66e00");
}

#[test]
fn options_of_changes_are_named_where_there_is_none() {
    let text = "a;b 10\na;c 20\n";
    let plain = run(&[], text).stdout;
    for option in [
        &["--self-change"][..],
        &["--alpha", "0.5"],
        &["--negate"],
        &["--diff-colors", "red-blue"],
        &["--widths", "union"],
    ] {
        let message = format!("{} changed nothing: each stack has one weight; fg-diff writes two", option[0]);
        let drawn = run(option, text);
        assert!(drawn.stdout == plain && drawn.stderr.contains(&message), "{option:?}: {}", drawn.stderr);
        assert!(!run(option, "a;b 10 10\n").stderr.contains("changed nothing"), "{option:?}");
    }
    let before = run(&["--widths", "before"], text);
    assert!(before.stderr.contains("no weights before: each stack has one weight"), "{}", before.stderr);
}

//! Tests that known bugs of other flame graph tools are not in ours.

use super::{draw, run};

#[test]
fn base_loses_neither_leaves_nor_roots() {
    let picture = draw(&["--base", "run"], "main;run;leaf 3\nmain;run 2\nrun;leaf 4\nother;thing 9\n");
    assert_eq!(picture.titles(), ["all (9, 100.00%)", "run (9, 100.00%)", "leaf (7, 77.78%)"]);
}

#[test]
fn flame_charts_keep_equal_neighbours_apart() {
    let picture = draw(&["--flamechart"], "m;a 1\nm;a 1\nm;b 2\nm;a 1\n");
    assert_eq!(picture.titles().len(), 6);
    let starts: Vec<_> =
        picture.frames.iter().map(|f| (f.title.split(' ').next().unwrap(), f.exact.0.as_str())).collect();
    assert_eq!(starts, [("all", "0"), ("m", "0"), ("a", "0"), ("a", "1"), ("b", "2"), ("a", "4")]);
}

#[test]
fn sums_beyond_2_to_the_64_do_not_wrap() {
    let picture = draw(&[], "a 18446744073709551615\nb 18446744073709551617\n");
    assert_eq!(
        picture.titles(),
        [
            "all (36,893,488,147,419,103,232, 100.00%)",
            "a (18,446,744,073,709,551,615, 50.00%)",
            "b (18,446,744,073,709,551,617, 50.00%)"
        ]
    );
    assert_eq!(picture.frame("b").exact.0, "18446744073709551615");
    assert_eq!((picture.frame("b").x, picture.frame("b").width), (50.0, 50.0));
}

#[test]
fn control_characters_are_valid_xml() {
    // Parsing the picture is the test.
    assert_eq!(draw(&["--input-format", "folded"], b"a\x00\x01\x1f 1\n").titles()[1], "a␀␁␟ (1, 100.00%)");
}

#[test]
fn names_that_are_no_utf8_are_drawn() {
    assert_eq!(draw(&[], b"caf\xe9 1\n").titles()[1], "caf\u{fffd} (1, 100.00%)");
}

#[test]
fn a_parent_is_drawn_once_whatever_the_order_of_bytes() {
    let picture = draw(&[], "a 1\na b;c 1\na;b 1\n");
    assert_eq!(picture.frame("a").exact, ("0".into(), "2".into()));
    assert_eq!(picture.titles().len(), 5);
}

#[test]
fn fractions_are_exact() {
    let picture = draw(&[], "a;b 0.1\na;c 0.2\n");
    assert_eq!(picture.frame("a").title, "a (0.3, 100.00%)");
    assert_eq!(picture.frame("b").title, "b (0.1, 33.33%)");
    let many: String = (0..1000).map(|n| format!("a;f{n:03} 0.37\n")).collect();
    assert_eq!(draw(&[], many).frame("all").title, "all (370, 100.00%)");
}

#[test]
fn a_bad_option_is_one_message_and_status_2() {
    let run = run(&["--colors", "nosuch"], "a 1\n");
    assert_eq!((run.status, run.stdout.len()), (2, 0));
    assert!(run.stderr.contains("hot") && !run.stderr.contains("panicked"), "{}", run.stderr);
}

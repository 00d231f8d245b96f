//! The options that say what to draw of the input.

use super::{Picture, SMALL, draw, run};

#[test]
fn tooltips_are_in_tree_order_with_weights_and_shares() {
    let picture = draw(&[], SMALL);
    assert_eq!(
        picture.titles(),
        [
            "all (100, 100.00%)",
            "main (100, 100.00%)",
            "parse (60, 60.00%)",
            "lex (20, 20.00%)",
            "write (39, 39.00%)"
        ]
    );
    // The frame's own weight comes first, so that its callees stand to the right of it.
    let lex = picture.frame("lex");
    assert_eq!((lex.x, lex.width, lex.exact.clone()), (41.0, 20.0, ("41".into(), "20".into())));
    assert!(lex.y < picture.frame("parse").y);
}

#[test]
fn reverse_puts_leaves_at_the_root() {
    let picture = draw(&["--reverse"], "main;parse;alloc 3\nmain;write;alloc 4\nmain 1\n");
    assert_eq!(picture.frame("alloc").exact.1, "7");
    assert_eq!(picture.titles().iter().filter(|t| t.starts_with("main ")).count(), 3);
}

#[test]
fn base_may_be_repeated_and_reversed() {
    let two = draw(&["--base", "parse", "--base", "write"], SMALL);
    assert_eq!(two.titles().len(), 4);
    assert_eq!(two.frame("all").exact.1, "99");
    let callers = draw(&["--reverse", "--base", "parse"], SMALL);
    assert_eq!(callers.frame("main").exact.1, "60");
    assert!(!callers.titles().iter().any(|title| title.starts_with("lex")));
}

#[test]
fn no_sort_keeps_the_order_of_the_input_and_merges_neighbours() {
    let picture = draw(&["--order", "input"], "m;z 1\nm;z 2\nm;a 3\nm;z 4\n");
    let names: Vec<_> = picture.frames.iter().map(|f| f.title.as_str()).collect();
    assert_eq!(names[2..], ["z (3, 30.00%)", "a (3, 30.00%)", "z (4, 40.00%)"]);
    assert_eq!(run(&["--no-sort", "--flamechart"], SMALL).status, 2);
}

#[test]
fn a_factor_is_exact() {
    let picture = draw(&["--factor", "0.1", "--countname", "ms"], "a 3\nb 12345\n");
    assert_eq!(picture.frame("a").title, "a (300 µs, 0.02%)");
    assert_eq!(picture.frame("b").title, "b (1.23 s, 99.98%)");
    assert_eq!(picture.frame("b").exact, ("0.3".into(), "1234.5".into()));
    assert_eq!(picture.setting("total"), "\"1234.8\"");
    for bad in ["0", "-1", "x", "1e3", "NaN"] {
        assert_eq!(run(&[&format!("--factor={bad}")], SMALL).status, 2, "{bad}");
    }
}

#[test]
fn a_total_leaves_room_and_must_not_be_too_small() {
    let picture = draw(&["--total", "200"], SMALL);
    assert_eq!(picture.frame("main").title, "main (100, 50.00%)");
    assert_eq!((picture.frame("main").width, picture.frame("all").width), (50.0, 100.0));
    let run = run(&["--total", "99"], SMALL);
    assert_eq!(
        (run.status, run.stderr.as_str()),
        (2, "fg-render: the total 99 is smaller than the weight of all stacks, 100\n")
    );
}

#[test]
fn minwidth_is_in_pixels_or_percent() {
    let text = "a 9900\nb 95\nc 5\n";
    let names = |width: &str| -> Vec<String> {
        let picture = draw(&["--minwidth", width], text);
        picture.frames[1..].iter().map(|f| f.title.split(' ').next().unwrap().to_owned()).collect()
    };
    assert_eq!(names("0"), ["a", "b", "c"]);
    assert_eq!(names("0.5"), ["a", "b", "c"]);
    assert_eq!(names("1"), ["a", "b"]);
    assert_eq!(names("0.95%"), ["a", "b"]);
    assert_eq!(names("0.96%"), ["a"]);
    for bad in ["-1", "x", "%", "NaN", "101%"] {
        assert_eq!(run(&[&format!("--minwidth={bad}")], text).status, 2, "{bad}");
    }
}

#[test]
fn verbose_says_what_was_drawn() {
    let run = run(&["-v", "--minwidth", "25%"], SMALL);
    assert_eq!(run.status, 0);
    let said =
        "fg-render: standard input: read as folded\nfg-render: 3 frames drawn, 1 too narrow; total 100\n";
    assert_eq!(run.stderr, said);
    Picture::parse(run.text());
}

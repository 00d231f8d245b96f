//! Tests that pictures of hostile names, long names and deep stacks are well-formed.

use super::thorough::thorough;
use super::{SMALL, draw, run};

#[test]
fn no_name_breaks_the_picture() {
    let mut names: Vec<Vec<u8>> = [
        "<script>alert(1)</script>",
        "</text></g></svg>",
        "]]><script>alert(1)</script>",
        "\"><rect onload=\"alert(1)",
        "' onmouseover='alert(1)",
        "&lt&amp&#0&#xFFFF&nosuch",
        "<!-- -- -->",
        "<?xml version='1.0'?>",
        "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>",
        "\u{1b}[31mred\u{7}\u{0}",
        "a\tb\u{b}c\u{c}d\re",
        "\u{fffe}\u{ffff}\u{85}\u{2028}\u{202e}",
        "javascript:alert(1)",
        "__proto__",
        "constructor",
        "漢字 emoji 😀👩‍👩‍👧",
        "",
        " ",
        "..",
        "all",
    ]
    .iter()
    .map(|name| name.as_bytes().to_vec())
    .collect();
    names.push(b"\xff\xfe\x80 latin \xe9t\xe9".to_vec());
    names.push((1..=255).filter(|b| !b";\n".contains(b)).collect());
    let input: Vec<u8> =
        names.iter().flat_map(|name| [b"main;", &name[..], b";leaf 10\n"].concat()).collect();
    for arguments in [&[][..], &["--pretty-xml"], &["--encoding", "ISO-8859-1"], &["--cp"], &["--reverse"]] {
        let picture = draw(arguments, &input);
        // Every name and its leaf, the whole and the root; reversed, every name and its root,
        // the whole and the leaf.
        let expected = 2 * names.len() + 2;
        assert_eq!(picture.frames.len(), expected, "{arguments:?}");
        let document = roxmltree::Document::parse(&picture.text).unwrap();
        let count = |name| document.descendants().filter(|n| n.tag_name().name() == name).count();
        assert_eq!((count("script"), count("svg")), (1, 2));
        for node in document.descendants() {
            assert!(node.attributes().all(|a| !a.name().starts_with("on")), "{node:?}");
        }
    }
    let picture = draw(&[], &input);
    for shown in [
        "<script>alert(1)</script>",
        "␛[31mred␇␀",
        "a␉b␋c␌d␍e",
        "\u{fffd}\u{fffd}\u{fffd} latin \u{fffd}t\u{fffd}",
    ] {
        picture.frame(shown);
    }
}

#[test]
fn no_text_of_the_user_breaks_the_picture() {
    let hostile = "</script>]]>\"'<x>&\\\n";
    for option in ["--title", "--subtitle", "--notes", "--countname", "--nametype", "--fonttype"] {
        let picture = draw(&[option, hostile], SMALL);
        let document = roxmltree::Document::parse(&picture.text).unwrap();
        assert!(document.descendants().all(|n| n.tag_name().name() != "x"), "{option}");
        // The HTML parser, if the picture is pasted into a page, ends a script at this.
        assert_eq!(picture.text.matches("</script").count(), 1, "{option}");
        assert_eq!(picture.frames.len(), 5);
    }
}

#[test]
fn control_characters_are_made_visible() {
    let picture = draw(&[], "a\u{1}b 1\n");
    assert_eq!(picture.titles()[1], "a␁b (1, 100.00%)");
}

#[test]
fn a_name_of_a_megabyte_is_cut_in_its_tooltip() {
    let name = "x".repeat(1_000_000);
    let picture = draw(&[], format!("main;{name} 1\nmain;y 1\n"));
    assert!(picture.text.len() < 200_000, "{}", picture.text.len());
    assert_eq!(picture.frames[2].title, format!("{}… (1, 50.00%)", "x".repeat(10_000)));
    assert!(picture.frames[2].text.as_ref().unwrap().len() < 200);
}

#[test]
fn a_stack_of_a_hundred_thousand_frames_is_drawn_as_far_as_programs_show_it() {
    let deep = vec!["f"; 100_000].join(";");
    let picture = draw(&[], format!("{deep} 1\n"));
    // As far as programs show it: all of it took 21 MB, 1.6 million pixels high.
    assert_eq!(picture.frames.len(), 5001);
    assert!(picture.text.contains(">Warning: 95000 deeper rows are not drawn<"));
    let height: f64 = picture.attribute("", "height").unwrap().parse().unwrap();
    assert!(height < 81_000.0 && picture.text.len() < 1_500_000, "{height} {}", picture.text.len());
}

#[test]
fn a_deep_stack_that_is_too_narrow_does_not_make_the_picture_high() {
    let deep = vec!["f"; 100_000].join(";");
    let picture = draw(&[], format!("{deep} 1\nmain;work 1000000\n"));
    assert_eq!(picture.titles().len(), 3);
    assert!(picture.attribute("", "height").unwrap().parse::<f64>().unwrap() < 200.0);
}

#[test]
fn weights_beyond_what_can_be_held_are_an_error() {
    let nines = "9".repeat(38);
    let run = run(&[], format!("a {nines}\nb {nines}\n"));
    assert_eq!((run.status, run.stdout.len()), (2, 0));
    assert_eq!(
        run.stderr,
        "fg-render: standard input:2: the weights add up to more than can be held exactly; scale them down\n"
    );
}

#[test]
fn binary_input_is_an_error() {
    let bytes: Vec<u8> = (0..50_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let run = run(&[], bytes);
    assert!(run.status == 2 && run.stderr.lines().count() <= 2, "{} {}", run.status, run.stderr);
}

/// Half a megabyte of frames in one stack: memory must not grow with the square of depth, nor by
/// kilobytes for each frame.
#[cfg(target_os = "linux")]
#[test]
fn a_very_deep_stack_needs_little_memory_in_every_output() {
    use std::process::Command;
    /// Kilobytes of address space: the program and its input take a quarter of it.
    const LIMIT: u32 = 250_000;
    let folder = tempfile::tempdir().unwrap();
    let same = format!("{} 5\n", vec!["f"; 250_000].join(";"));
    let different = (0..80_000).map(|n| format!("f{n}")).collect::<Vec<_>>().join(";") + " 5\n";
    for (first, (name, stack)) in
        [("same.folded", same), ("different.folded", different)].into_iter().enumerate()
    {
        std::fs::write(folder.path().join(name), stack).unwrap();
        // By day each format has one of the two.
        let (first, step) = thorough((0, 1), (first, 2));
        let formats = fg_tools::render::FORMATS.iter().filter(|format| !format.takes("binary"));
        for format in formats.skip(first).step_by(step) {
            let selects = ["peek", "list"].contains(&format.name);
            let peek = if selects { format!("--{} '^f1$'", format.name) } else { String::new() };
            let script =
                format!("ulimit -v {LIMIT}; exec \"$0\" --format {} {peek} -o out {name}", format.name);
            let run = Command::new("sh")
                .args(["-c", &script, env!("CARGO_BIN_EXE_fg-render")])
                .current_dir(folder.path())
                .output()
                .unwrap();
            let said = super::text(run.stderr);
            // The picture would have thousands of megapixels; nobody is called f1 in the first.
            let refused = said.contains("pixels is too large") || said.contains("no stack");
            assert!(
                run.status.success() || refused || (selects && run.status.code() == Some(1)),
                "{} of {name}: {:?}, {said}",
                format.name,
                run.status
            );
        }
    }
}

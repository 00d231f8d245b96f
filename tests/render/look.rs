//! The options that say how the picture looks: each has its effect.

use super::{Drawn, Picture, SMALL, draw, run, run_in};

#[test]
fn titles() {
    for (arguments, title) in [
        (&[][..], "Flame Graph"),
        (&["--inverted"], "Icicle Graph"),
        (&["--inverted", "--flamechart"], "Flame Chart"),
        (&["--flamechart"], "Flame Chart"),
        (&["--inverted", "--title", "a < b"], "a < b"),
    ] {
        let picture = draw(arguments, SMALL);
        assert_eq!(picture.element("title").unwrap(), title);
        assert_eq!(picture.attribute("", "aria-label").unwrap(), title);
    }
}

#[test]
fn a_subtitle_moves_the_frames_down() {
    let (without, with) = (draw(&[], SMALL), draw(&["--subtitle", "of today"], SMALL));
    assert_eq!((without.element("subtitle"), with.element("subtitle").as_deref()), (None, Some("of today")));
    assert_eq!(with.frame("lex").y - without.frame("lex").y, 24.0);
}

#[test]
fn notes_are_kept_and_not_drawn() {
    assert_eq!(draw(&["--notes", "<commit> --1"], SMALL).element("notes").unwrap(), "<commit> --1");
}

#[test]
fn width_is_fluid_or_fixed() {
    let fluid = draw(&[], SMALL);
    assert_eq!((fluid.setting("width"), fluid.attribute("", "width").unwrap().as_str()), ("null", "1200"));
    let fixed = draw(&["--width", "600"], SMALL);
    assert_eq!((fixed.setting("width"), fixed.attribute("", "width").unwrap().as_str()), ("600", "600"));
    assert_eq!(fixed.attribute("frames", "width").unwrap(), "580");
    assert_eq!(fixed.attribute("", "viewBox").unwrap(), "0 0 600 134");
    assert_eq!(run(&["--width", "5"], SMALL).status, 2);
}

#[test]
fn height_is_that_of_a_frame() {
    let (plain, high) = (draw(&[], SMALL), draw(&["--height", "30"], SMALL));
    let step = |p: &Picture| p.frame("main").y - p.frame("parse").y;
    assert_eq!((step(&plain), step(&high)), (16.0, 30.0));
    assert_eq!(high.setting("frameHeight"), "30");
}

#[test]
fn inverted_hangs_from_the_top() {
    let picture = draw(&["--inverted"], SMALL);
    assert!(picture.frame("main").y < picture.frame("parse").y);
    assert_eq!(picture.frame("all").y, 36.0);
    assert_eq!(picture.setting("inverted"), "true");
}

#[test]
fn fonts() {
    let picture = draw(&["--fonttype", "monospace", "--fontsize", "8", "--fontwidth", "0.7"], SMALL);
    assert_eq!(picture.attribute("", "font-family").unwrap(), "monospace");
    assert_eq!(picture.attribute("", "font-size").unwrap(), "8");
    let settings = ["fontFamily", "fontSize", "fontWidth"].map(|key| picture.setting(key));
    assert_eq!(settings, ["\"monospace\"", "8", "0.7"]);
}

#[test]
fn names_are_cut_to_fit_their_frames() {
    let text = "a_rather_long_name_for_a_frame 8\nb 92\n";
    let cut = |arguments: &[&str]| draw(arguments, text).frame("a_rather_long_name_for_a_frame").text.clone();
    // 8 % of 1180 pixels are room for 12 letters of 7.08 pixels.
    assert_eq!(cut(&[]).as_deref(), Some("a_rather_l.."));
    assert_eq!(cut(&["--truncate-text-right"]), cut(&[]));
    assert_eq!(cut(&["--truncate-text-left"]).as_deref(), Some("..or_a_frame"));
    assert_eq!(cut(&["--truncate-text-left", "--truncate-text-right"]), cut(&[]));
    assert_eq!(cut(&["--fontsize", "6"]).as_deref(), Some("a_rather_long_name_for.."));
    assert_eq!(cut(&["--fontwidth", "1.18"]).as_deref(), Some("a_ra.."));
    assert_eq!(cut(&["--width", "200"]), None);
    assert_eq!(draw(&["--truncate-text-left"], text).setting("truncateRight"), "false");
}

#[test]
fn counts_and_types_are_named() {
    let picture = draw(&["--countname", "µs", "--nametype", "Method:"], SMALL);
    assert_eq!(picture.frame("lex").title, "lex (20 µs, 20.00%)");
    assert_eq!(picture.setting("nametype"), "\"Method:\"");
}

#[test]
fn annotations_colour_and_are_not_shown() {
    let picture = draw(&["--colors", "java"], "main_[j];vfs_read_[k] 3\n");
    assert_eq!(picture.titles()[2], "vfs_read (3, 100.00%)");
    assert_eq!(picture.frame("vfs_read").text.as_deref(), Some("vfs_read"));
    assert!(picture.setting("legend").contains("{label: \"kernel\", color: "));
}

fn fills(arguments: &[&str]) -> Vec<String> {
    draw(arguments, SMALL).frames.into_iter().map(|f: Drawn| f.fill).collect()
}

#[test]
fn a_name_has_its_colour_wherever_it_is() {
    let other = draw(&[], "x;y;lex 5\nlex 7\nz 1\n");
    let lex = draw(&[], SMALL).frame("lex").fill.clone();
    let same = other.frames.iter().filter(|f| f.title.starts_with("lex ") && f.fill == lex);
    assert_eq!(same.count(), 2);
    assert_eq!(fills(&["--hash"]), fills(&[]));
    assert_eq!(fills(&["--deterministic"]), fills(&[]));
    assert_ne!(draw(&[], SMALL).frame("main").fill, lex);
}

#[test]
fn random_colours_differ_unless_a_seed_is_given() {
    assert_ne!(fills(&["--random"]), fills(&["--random"]));
    assert_ne!(fills(&["--random=7"]), fills(&[]));
    assert_ne!(fills(&["--random=7"]), fills(&["--random=8"]));
    assert_eq!(fills(&["--random=7"]), fills(&["--random=7"]));
    assert_eq!(run(&["--random", "--deterministic"], SMALL).status, 2);
    assert_eq!(run(&["--random=0"], SMALL).status, 2);
}

#[test]
fn palettes_and_backgrounds() {
    let part = |fill: &str, at: usize| u8::from_str_radix(&fill[at..at + 2], 16).unwrap();
    for fill in fills(&["--color=blue"]) {
        assert!(part(&fill, 5) >= 205 && part(&fill, 1) < 141, "{fill}");
    }
    let stop = |arguments: &[&str], colour: &str| {
        draw(arguments, SMALL).text.contains(&format!("stop-color=\"{colour}\""))
    };
    assert!(
        stop(&[], "#eeeeb0") && stop(&["--colors", "io"], "#e0e0ff") && stop(&["--colors", "mem"], "#e0ffe0")
    );
    assert!(
        stop(&["--colors", "red"], "#e8e8e8") && stop(&["--colors", "red", "--bgcolors", "blue"], "#e0e0ff")
    );
    let flat = draw(&["--bgcolors", "#102030"], SMALL);
    assert_eq!(flat.attribute("background", "fill").unwrap(), "#102030");
    assert_eq!(flat.attribute("", "class").unwrap(), "fg own-colors");
    assert_eq!(run(&["--bgcolors", "pink"], SMALL).status, 2);
}

#[test]
fn separators_are_grey() {
    let picture = draw(&["--colors", "chain"], "a;--;b;-;c 1\n");
    assert_eq!((picture.frame("--").fill.as_str(), picture.frame("-").fill.as_str()), ("#a0a0a0", "#c8c8c8"));
}

#[test]
fn colordiffusion_colours_by_width() {
    let picture = draw(&["--colordiffusion"], "a;b 90\na;c 5\na;d 5\n");
    assert_eq!(picture.frame("c").fill, picture.frame("d").fill);
    assert_ne!(picture.frame("b").fill, picture.frame("c").fill);
}

#[test]
fn single_colours() {
    let picture =
        draw(&["--search-color", "#00ff00", "--uicolor", "#aa0000", "--stroke-color", "#123456"], SMALL);
    assert_eq!(picture.setting("searchColor"), "\"#00ff00\"");
    assert_eq!(picture.attribute("title", "fill").unwrap(), "#aa0000");
    assert_eq!(picture.text.matches("stroke=\"#123456\"").count(), picture.frames.len());
    assert!(!draw(&["--stroke-color", "none"], SMALL).text.contains("stroke=\"#"));
    assert_eq!(run(&["--search-color", "red\"/>"], SMALL).status, 2);
}

#[test]
fn cp_keeps_colours_from_picture_to_picture() {
    let folder = tempfile::tempdir().unwrap();
    let map = folder.path().join("palette.map");
    std::fs::write(&map, "lex->rgb(1,2,3)\nelsewhere->rgb(4,5,6)\n").unwrap();
    let first = run_in(folder.path(), &["--cp", "--random=3"], SMALL);
    assert_eq!((first.status, first.stderr.as_str()), (0, ""));
    let first = Picture::parse(first.text());
    assert_eq!(first.frame("lex").fill, "#010203");
    let kept = std::fs::read_to_string(&map).unwrap();
    let names: Vec<_> = kept.lines().map(|line| line.split("->").next().unwrap()).collect();
    assert_eq!(names, ["elsewhere", "lex", "main", "parse", "write"]);
    // The kept colours win over another seed.
    let second = Picture::parse(run_in(folder.path(), &["--cp", "--random=4"], SMALL).text());
    assert_eq!(second.frame("parse").fill, first.frame("parse").fill);
    std::fs::write(&map, "no colour\n").unwrap();
    let broken = run_in(folder.path(), &["--cp"], SMALL);
    assert_eq!(broken.status, 2);
    assert_eq!(broken.stderr, "fg-render: palette.map:1: expected name->rgb(r,g,b), found \"no colour\"\n");
    assert_eq!(std::fs::read_to_string(&map).unwrap(), "no colour\n");
}

#[test]
fn nameattr_gives_links_and_tooltips() {
    let folder = tempfile::tempdir().unwrap();
    let text = "lex\thref=https://example.org/?q=\"<&\ttitle=where <letters> come\tclass=hot\n\
        parse\thref=javascript:alert(1)\tonclick=alert(1)\n";
    std::fs::write(folder.path().join("names"), text).unwrap();
    let run = run_in(folder.path(), &["--nameattr", "names"], SMALL);
    assert_eq!(run.status, 0);
    let said: Vec<_> = run.stderr.lines().collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].starts_with("fg-render: names:2: expected a link to http") && said[0].ends_with("; left out")
    );
    let picture = Picture::parse(run.text());
    let lex = picture.frames.iter().find(|f| f.title == "where <letters> come").unwrap();
    assert_eq!(lex.link.as_deref(), Some("https://example.org/?q=\"<&"));
    assert_eq!((lex.class.as_str(), lex.text.as_deref()), ("frame hot", Some("lex")));
    assert!(picture.text.contains("target=\"_top\"") && picture.text.contains("xlink:href=\"https://"));
    assert_eq!(picture.frame("parse").link, None);
    assert!(!picture.text.contains("alert(1)"));
    assert_eq!(run_in(folder.path(), &["--nameattr", "names", "--strict"], SMALL).status, 2);
    assert_eq!(run_in(folder.path(), &["--nameattr", "nosuch"], SMALL).status, 2);
}

#[test]
fn other_encodings_get_references() {
    let run = run(&["--encoding", "ISO-8859-1", "--title", "ä😀"], "größe 1\n");
    assert!(run.stdout.is_ascii() && run.text().starts_with("<?xml version=\"1.0\" encoding=\"ISO-8859-1\""));
    let picture = Picture::parse(run.text());
    assert_eq!(
        (picture.element("title").unwrap().as_str(), picture.titles()[1]),
        ("ä😀", "größe (1, 100.00%)")
    );
    assert!(draw(&[], "größe 1\n").text.contains("größe (1"));
}

#[test]
fn pretty_xml_is_the_same_picture_indented() {
    let (plain, pretty) = (draw(&[], SMALL), draw(&["--pretty-xml"], SMALL));
    assert_eq!(plain.frames, pretty.frames);
    assert!(pretty.text.contains("\n    <g class=\"frame\">\n      <title>all"));
    assert!(!plain.text.contains("\n    <g"));
}

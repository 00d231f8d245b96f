//! The picture in pixels.

use resvg::tiny_skia::Pixmap;

use super::{Picture, SMALL, run};

fn pixels(arguments: &[&str], input: &str) -> Pixmap {
    let run = run(&[&["--format", "png"], arguments].concat(), input);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{arguments:?}");
    Pixmap::decode_png(&run.stdout).unwrap()
}

/// The colour near the right end of a frame, where no letters are, as the SVG writes it.
fn colour_at(picture: &Pixmap, x: f64, y: f64) -> String {
    let pixel = picture.pixel(x as u32, y as u32).unwrap().demultiply();
    format!("#{:02x}{:02x}{:02x}", pixel.red(), pixel.green(), pixel.blue())
}

#[test]
fn frames_are_where_the_svg_has_them_in_its_colours() {
    for (options, input) in [
        (&[][..], SMALL),
        (&["--inverted", "--colors", "blue"], SMALL),
        (&["--width", "600", "--height", "24"], SMALL),
        (&["--alpha", "1"], "a 5 10\na;b 20 40\na;c 30 1\n"),
    ] {
        let svg = Picture::parse(run(options, input).text()).frames;
        let png = pixels(options, input);
        let width = if options.contains(&"--width") { 600 } else { 1200 };
        assert_eq!(png.width(), width);
        for frame in svg {
            let right = 10.0 + f64::from(width - 20) * (frame.x + frame.width) / 100.0;
            assert_eq!(colour_at(&png, right - 4.0, frame.y + 3.0), frame.fill, "{}", frame.title);
        }
    }
}

#[test]
fn letters_are_drawn_whatever_they_are() {
    let dark = |picture: &Pixmap| {
        picture.pixels().iter().filter(|p| u32::from(p.green()) < 20 && p.red() < 60).count()
    };
    let without = dark(&pixels(&["--title", " ", "--colors", "aqua", "--input-format", "folded"], " 1\n"));
    for name in ["main", "файл", "<b>&quot", "漢字", "\u{202e}x"] {
        assert!(
            dark(&pixels(&["--title", " ", "--colors", "aqua"], &format!("{name} 1\n"))) > without,
            "{name}"
        );
    }
    let one = run(&["--format", "png"], SMALL).stdout;
    assert!(one == run(&["--format", "png"], SMALL).stdout);
}

#[test]
fn a_picture_of_too_many_pixels_is_refused() {
    let deep = format!("{} 1\n", "f;".repeat(10_000));
    let run = run(&["--format", "png"], deep);
    assert_eq!((run.status, run.stdout.len()), (2, 0));
    assert!(run.stderr.contains("pixels is too large; --height"), "{}", run.stderr);
}

#[test]
fn without_stacks_it_says_so() {
    let run = run(&["--format", "png"], "");
    assert_eq!(run.status, 2);
    assert_eq!(Pixmap::decode_png(&run.stdout).unwrap().width(), 1200);
}

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

#[test]
fn a_scale_makes_every_pixel_as_large() {
    let once = pixels(&[], SMALL);
    for (scale, factor) in [("2", 2), ("3", 3)] {
        let scaled = pixels(&["--pixel-ratio", scale], SMALL);
        assert_eq!((scaled.width(), scaled.height()), (factor * once.width(), factor * once.height()));
        for frame in Picture::parse(run(&[], SMALL).text()).frames {
            let x = (10.0 + 1180.0 * (frame.x + frame.width) / 100.0 - 4.0) * f64::from(factor);
            assert_eq!(
                colour_at(&scaled, x, (frame.y + 3.0) * f64::from(factor)),
                frame.fill,
                "{}",
                frame.title
            );
        }
    }
    let half = pixels(&["--pixel-ratio", "0.5"], SMALL);
    assert_eq!((half.width(), half.height()), (once.width().div_ceil(2), once.height().div_ceil(2)));
    // Letters are drawn anew, not stretched: sharp ones have pixels that differ from their neighbours.
    let twice = pixels(&["--pixel-ratio", "2"], SMALL);
    let differs = |x: u32, y: u32| twice.pixel(x, y) != twice.pixel(x + 1, y);
    assert!((0..twice.height()).any(|y| (0..twice.width() / 2).any(|x| differs(2 * x, y))));
}

#[test]
fn a_scale_that_makes_too_many_pixels_or_none_is_refused() {
    let large = run(&["--format", "png", "--pixel-ratio", "10", "--width", "10000", "--height", "60"], SMALL);
    assert_eq!((large.status, large.stdout.len()), (2, 0));
    assert!(
        large.stderr.contains("pixels is too large; --height, --width, --pixel-ratio"),
        "{}",
        large.stderr
    );
    for scale in ["0", "-1", "11", "x"] {
        let refused = run(&["--format", "png", &format!("--pixel-ratio={scale}")], SMALL);
        assert_eq!((refused.status, refused.stdout.len()), (2, 0), "{scale}");
        assert!(refused.stderr.contains("expected a number from 0.1 to 10"), "{}", refused.stderr);
    }
}

//! Flame graphs in the shape of `inferno::flamegraph`, for programs that come from it.
//!
//! The functions and the fields of [`Options`] have inferno's names, types and defaults, so that
//! a program replaces one line:
//!
//! ```
//! // before: use inferno::flamegraph;
//! use fg_tools::flamegraph;
//!
//! let mut options = flamegraph::Options::default();
//! options.title = "requests".to_owned();
//! options.count_name = "ns".to_owned();
//! let mut svg = Vec::new();
//! flamegraph::from_lines(&mut options, ["main;parse 40", "main 2"], &mut svg)?;
//! assert!(svg.starts_with(b"<?xml"));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The picture is this crate's own: the same one that `fg-render` draws. Other outputs, facts and
//! samples in memory are in [`Profile`](crate::Profile), which new programs should use.

pub mod color;
mod draw;
mod options;

use std::io::{self, Read, Write};
use std::path::PathBuf;

use crate::input::Source;

pub use color::Palette;
pub use options::{Direction, FuncFrameAttrsMap, Options, TextTruncateDirection, defaults};

/// Draws lines of folded text, `main;parse 42`. Two weights on each line are a differential
/// flame graph.
///
/// # Errors
/// The writer's; [`io::ErrorKind::InvalidData`] where nothing can be drawn. A picture that says so
/// is written all the same if there were no stacks.
pub fn from_lines<'a, I, W>(opt: &mut Options<'_>, lines: I, writer: W) -> io::Result<()>
where
    I: IntoIterator<Item = &'a str>,
    W: Write,
{
    let mut text = Vec::new();
    for line in lines {
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    draw::draw(opt, vec![Source::bytes(text)], writer)
}

/// Draws the folded text of a reader.
///
/// # Errors
/// The reader's, and those of [`from_lines`].
///
/// ```
/// use fg_tools::flamegraph::{Options, from_reader};
///
/// let mut svg = Vec::new();
/// from_reader(&mut Options::default(), "main;parse 40\n".as_bytes(), &mut svg)?;
/// assert!(String::from_utf8_lossy(&svg).contains("parse"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn from_reader<R, W>(opt: &mut Options<'_>, reader: R, writer: W) -> io::Result<()>
where
    R: Read,
    W: Write,
{
    from_readers(opt, std::iter::once(reader), writer)
}

/// Draws the folded texts of several readers as one flame graph.
///
/// # Errors
/// The readers', and those of [`from_lines`].
pub fn from_readers<R, W>(opt: &mut Options<'_>, readers: R, writer: W) -> io::Result<()>
where
    R: IntoIterator,
    R::Item: Read,
    W: Write,
{
    let mut sources = Vec::new();
    for mut reader in readers {
        let mut text = Vec::new();
        reader.read_to_end(&mut text)?;
        sources.push(Source::bytes(text));
    }
    draw::draw(opt, sources, writer)
}

/// Draws files of folded text, plain or compressed, as one flame graph. No file, or `-`, is
/// standard input.
///
/// # Errors
/// The system's, and those of [`from_lines`].
pub fn from_files<W: Write>(opt: &mut Options<'_>, files: &[PathBuf], writer: W) -> io::Result<()> {
    draw::draw(opt, Source::list(files), writer)
}

#[cfg(test)]
mod tests {
    use super::color::{BackgroundColor, Color, PaletteMap};
    use super::*;

    fn svg(options: &mut Options<'_>, lines: &[&str]) -> String {
        let mut out = Vec::new();
        from_lines(options, lines.iter().copied(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn defaults_are_those_of_inferno() {
        use inferno::flamegraph::Options as Theirs;
        let (ours, theirs) = (Options::default(), Theirs::default());
        assert_eq!(format!("{:?}", ours.colors), format!("{:?}", theirs.colors));
        assert_eq!(ours.search_color.to_string(), theirs.search_color.to_string());
        assert_eq!(format!("{:?}", ours.stroke_color), format!("{:?}", theirs.stroke_color));
        assert_eq!((ours.uicolor.r, ours.uicolor.g, ours.uicolor.b), (0, 0, 0));
        assert_eq!((&ours.title, &ours.subtitle), (&theirs.title, &theirs.subtitle));
        assert_eq!((ours.image_width, ours.frame_height), (theirs.image_width, theirs.frame_height));
        assert_eq!((ours.min_width, ours.font_width), (theirs.min_width, theirs.font_width));
        assert_eq!((&ours.font_type, ours.font_size), (&theirs.font_type, theirs.font_size));
        assert_eq!((&ours.count_name, &ours.name_type), (&theirs.count_name, &theirs.name_type));
        assert_eq!((&ours.notes, ours.factor), (&theirs.notes, theirs.factor));
        let direction = |debug: String| debug;
        assert_eq!(direction(format!("{:?}", ours.direction)), format!("{:?}", theirs.direction));
        let (cut, their_cut) = (ours.text_truncate_direction, theirs.text_truncate_direction);
        assert_eq!(format!("{cut:?}"), format!("{their_cut:?}"));
        assert_eq!(
            [ours.hash, ours.deterministic, ours.negate_differentials, ours.pretty_xml, ours.no_sort],
            [
                theirs.hash,
                theirs.deterministic,
                theirs.negate_differentials,
                theirs.pretty_xml,
                theirs.no_sort
            ]
        );
        assert_eq!(
            [ours.reverse_stack_order, ours.color_diffusion, ours.flame_chart],
            [theirs.reverse_stack_order, theirs.color_diffusion, theirs.flame_chart]
        );
        assert_eq!(ours.base, theirs.base);
    }

    /// Every field that changes inferno's picture changes ours.
    #[test]
    fn no_field_is_without_effect() {
        let lines = ["main;parse it all until the end;lex 40", "main;run 2", "main;run 1", "other 9000"];
        let plain = svg(&mut Options::default(), &lines);
        type Change = fn(&mut Options<'_>);
        let changes: &[(&str, Change)] = &[
            ("colors", |o| o.colors = "aqua".parse().unwrap()),
            ("bgcolors", |o| o.bgcolors = Some(BackgroundColor::Blue)),
            ("uicolor", |o| o.uicolor = Color { r: 9, g: 9, b: 9 }),
            ("func_frameattrs", |o| {
                o.func_frameattrs = FuncFrameAttrsMap::from_reader(&b"main\tclass=x\n"[..]).unwrap();
            }),
            ("direction", |o| o.direction = Direction::Inverted),
            ("search_color", |o| o.search_color = "#123456".parse().unwrap()),
            ("stroke_color", |o| o.stroke_color = "#123456".parse().unwrap()),
            ("title", |o| o.title = "mine".into()),
            ("subtitle", |o| o.subtitle = Some("mine".into())),
            ("image_width", |o| o.image_width = Some(500)),
            ("frame_height", |o| o.frame_height = 20),
            ("min_width", |o| o.min_width = 1.0),
            ("font_type", |o| o.font_type = "serif".into()),
            ("font_size", |o| o.font_size = 20),
            ("font_width", |o| o.font_width = 0.1),
            ("text_truncate_direction", |o| o.text_truncate_direction = TextTruncateDirection::Right),
            ("count_name", |o| o.count_name = "ns".into()),
            ("name_type", |o| o.name_type = "Place:".into()),
            ("notes", |o| o.notes = "mine".into()),
            ("factor", |o| o.factor = 0.5),
            ("pretty_xml", |o| o.pretty_xml = true),
            ("no_sort", |o| o.no_sort = true),
            ("reverse_stack_order", |o| o.reverse_stack_order = true),
            ("color_diffusion", |o| o.color_diffusion = true),
            ("flame_chart", |o| o.flame_chart = true),
            ("base", |o| o.base = vec!["run".into()]),
        ];
        let shuffled = ["other 9000", "main;run 2", "main;parse it all until the end;lex 40", "main;run 1"];
        assert_eq!(svg(&mut Options::default(), &shuffled), plain);
        for (field, change) in changes {
            let mut options = Options::default();
            change(&mut options);
            assert_ne!(svg(&mut options, &shuffled), plain, "{field}");
        }
        let differential = ["main 1000 9000", "main;b 4000 10"];
        let negated = &mut Options::default();
        negated.negate_differentials = true;
        assert_ne!(svg(negated, &differential), svg(&mut Options::default(), &differential));
    }

    #[test]
    fn a_palette_map_keeps_colours() {
        let red = Color { r: 255, g: 0, b: 0 };
        let mut map = PaletteMap::default();
        map.insert("main", red);
        let mut options = Options::default();
        options.palette_map = Some(&mut map);
        let picture = svg(&mut options, &["main;parse 40"]);
        assert!(picture.contains("#ff0000") || picture.contains("rgb(255,0,0)"));
        assert_eq!(map.get("main"), Some(red));
        assert!(map.get("parse").is_some());
    }

    #[test]
    fn the_header_gives_unit_and_title_where_the_caller_does_not() {
        assert!(svg(&mut Options::default(), &["main;parse 40"]).contains("parse (40 samples, 100.00%)"));
        let lines = ["# unit: bytes", "# command: ./app", "main;parse 40"];
        let picture = svg(&mut Options::default(), &lines);
        assert!(picture.contains("parse (40 B, 100.00%)") && picture.contains(">./app<"), "{picture}");
        let mut options = Options::default();
        options.title = "mine".into();
        assert!(svg(&mut options, &lines).contains(">mine<"));
    }

    #[test]
    fn labels_of_time_are_no_frames() {
        let lines = [
            "# labels: time, endpoint",
            "time=000000.000s;endpoint=/a;f 4",
            "time=000000.020s;endpoint=/a;f 6",
        ];
        let picture = svg(&mut Options::default(), &lines);
        assert!(picture.contains("<title>f (10") && !picture.contains("time="), "{picture}");
        let mut options = Options::default();
        options.flame_chart = true;
        let chart = svg(&mut options, &lines);
        assert!(chart.contains("<title>f (4") && chart.contains("<title>f (6"), "{chart}");
    }

    #[test]
    fn nothing_to_draw_is_an_error_and_a_picture() {
        let mut out = Vec::new();
        let error = from_lines(&mut Options::default(), ["# unit: ns"], &mut out).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(out.starts_with(b"<?xml"));
        let mut options = Options::default();
        for factor in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
            options.factor = factor;
            let error = from_lines(&mut options, ["main 1"], io::sink()).unwrap_err().to_string();
            assert!(error.contains("factor"), "{error}");
        }
        let options = &mut Options::default();
        options.min_width = f64::NAN;
        assert!(from_lines(options, ["main 1"], io::sink()).is_err());
    }
}

//! `png`: the SVG's picture without its controls, for places that show no SVG.
//!
//! The font is part of the program, so that the picture is the same on every machine, one
//! without fonts too: DejaVu Sans, which was drawn after Verdana, the SVG's own. It has Latin,
//! Greek and Cyrillic letters; others are shown as `�`.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, fontdb};

use super::format::takes;
use super::graph_writer::{Drawing, GraphWriter};
use super::writer::Target;
use super::{Canvas, Encoding, Format, RenderOptions, svg};
use crate::error::{Error, Result};

/// The format.
pub const FORMAT: Format = Format {
    name: "png",
    endings: &["png"],
    about: "the picture in pixels",
    takes: &[
        takes::LAYOUT,
        takes::TITLE,
        &["subtitle"],
        takes::CUT,
        takes::INVERTED,
        &["width", "height", "fontsize", "fontwidth"],
        takes::COLOURS,
        &["bgcolors", "uicolor", "stroke-color"],
        takes::CHANGE,
        takes::SCALE,
    ],
    streams: false,
    open: |settings, target| {
        let least_share = settings.picture.canvas.least_share();
        Ok(Box::new(GraphWriter::new(settings, least_share, target, draw)))
    },
};

static FONT: &[u8] = include_bytes!("DejaVuSans.ttf");
const FAMILY: &str = "DejaVu Sans";

/// The letters that the font has besides ASCII's: what `pyftsubset --unicodes` was told.
const LETTERS: &[std::ops::RangeInclusive<u32>] = &[
    0xa0..=0x24f,
    0x370..=0x3ff,
    0x400..=0x45f,
    0x490..=0x491,
    0x1e00..=0x1eff,
    0x2010..=0x2027,
    0x2030..=0x203a,
    0x2190..=0x21ff,
    0x2200..=0x2265,
    0x2500..=0x257f,
    0x25a0..=0x25cf,
];

/// A picture of as many pixels takes 400 MB to draw; no program shows much larger ones.
const MOST_PIXELS: u64 = 100_000_000;

fn draw(drawing: &Drawing<'_>, target: &mut dyn Target) -> Result<()> {
    let mut options =
        RenderOptions { encoding: Encoding::default(), pretty: false, ..drawing.options.clone() };
    options.canvas.font_family = FAMILY.to_owned();
    let drawing = Drawing { options: &options, amounts: drawing.amounts.clone(), ..*drawing };
    let rows = u64::from(drawing.graph.rows) + 1;
    let canvas = &drawing.options.canvas;
    // As wide as it is without a script. Before a deep stack is drawn as half a million elements.
    let scale = canvas.scale;
    let scaled = |pixels: u64| (pixels as f64 * scale).ceil() as u64;
    check_size(
        scaled(canvas.width.unwrap_or(Canvas::FLUID).into()),
        scaled(rows * u64::from(canvas.frame_height)),
    )?;
    let mut picture = Vec::new();
    match drawing.graph.is_empty() {
        true => svg::write_empty(&drawing, &mut picture)?,
        false => svg::write_still(&drawing, &mut picture)?,
    }
    let picture = with_known_letters(&String::from_utf8_lossy(&picture));
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    let settings =
        usvg::Options { font_family: FAMILY.to_owned(), fontdb: Arc::new(fonts), ..usvg::Options::default() };
    let tree = usvg::Tree::from_str(&picture, &settings).map_err(|e| trouble(&e))?;
    let size = tree.size().to_int_size();
    let (width, height) = (scaled(size.width().into()), scaled(size.height().into()));
    check_size(width, height)?;
    // No side of so many pixels is longer than 32 bits can say.
    let (width, height) = (width.max(1) as u32, height.max(1) as u32);
    let mut pixels = Pixmap::new(width, height).ok_or_else(|| trouble(&"it has no pixels"))?;
    resvg::render(&tree, Transform::from_scale(scale as f32, scale as f32), &mut pixels.as_mut());
    Ok(target.write_all(&pixels.encode_png().map_err(|e| trouble(&e))?)?)
}

fn check_size(width: u64, height: u64) -> Result<()> {
    if width.saturating_mul(height) <= MOST_PIXELS {
        return Ok(());
    }
    let what = format!(
        "a PNG of {width} × {height} pixels is too large; --height, --width, --pixel-ratio and --minwidth make it smaller"
    );
    Err(Error::setting(what))
}

/// The picture with a mark for each letter that the rasteriser would leave out. Names and titles
/// are all that is not ASCII in it.
fn with_known_letters(picture: &str) -> String {
    let known = |c: char| c.is_ascii() || LETTERS.iter().any(|range| range.contains(&c.into()));
    picture.chars().map(|c| if known(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// An error of the rasteriser, which a picture of our own making should not cause.
fn trouble(what: &dyn std::fmt::Display) -> Error {
    Error::io("draw the PNG", std::io::Error::other(what.to_string()))
}

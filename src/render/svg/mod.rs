//! An SVG picture that a browser zooms and searches, and that is right without a script too.
//!
//! Positions of frames are in percent of the frames' width, so that the script only has to
//! widen one element to fill a window. Where no script runs (an image viewer, `<img>`), the
//! picture is 1200 pixels wide, or as wide as was asked, and every text is cut to fit that.
//!
//! The script relies on the identifiers of the elements around the frames and, in `#frames`, on
//! groups of class `frame` in tree order. Each has a `title` of the form `name (weight …)` and a
//! `rect` whose `data-x` and `data-w` are its exact start and weight. If frames are gone, `data-u`
//! holds both as they are in the union of before and after.

mod frames;
mod script;
mod xml;

use std::io::Write;

use crate::error::Result;
use crate::folded::Columns;
use crate::profile::header;
use crate::render::colour::Background;
use crate::render::format::takes;
use crate::render::graph_writer::{Drawing, GraphWriter};
use crate::render::label::fit;
use crate::render::writer::{Target, Writer};
use crate::render::{Canvas, Cut, Format, RenderOptions, Settings};
use xml::{Lines, Xml};

/// The format.
pub const FORMAT: Format = Format {
    name: "svg",
    endings: &["svg"],
    about: "a picture to zoom and search in a browser",
    takes: &[
        takes::LAYOUT,
        takes::TITLE,
        takes::TEXT,
        takes::UNIT,
        takes::CUT,
        takes::INVERTED,
        takes::SIZE,
        takes::COLOURS,
        takes::SURROUNDINGS,
        takes::CHANGE,
        takes::XML,
    ],
    streams: false,
    open,
};

/// The most rows of frames. A stack of a hundred thousand frames made a picture of 21 MB, 1.6 million pixels high, that no
/// program opens; this many are a megabyte, which browsers show and search in a second.
const MOST_ROWS: u32 = 5000;

fn open<'a>(settings: &'a Settings, target: &'a mut dyn Target) -> Result<Box<dyn Writer + 'a>> {
    let least_share = settings.picture.canvas.least_share();
    let writer =
        GraphWriter::new(settings, least_share, target, draw).with_ghosts().with_most_rows(MOST_ROWS);
    Ok(Box::new(writer))
}

fn draw(drawing: &Drawing<'_>, mut target: &mut dyn Target) -> Result<()> {
    if drawing.graph.is_empty() { write_empty(drawing, &mut target) } else { write(drawing, &mut target) }
}

/// The places of the parts of a picture, from top to bottom, in pixels.
struct Page {
    width: u32,
    height: f64,
    /// The upper edge of the frames.
    top: f64,
    /// The number of rows of frames, the whole among them.
    rows: u32,
}

impl Page {
    fn new(drawing: &Drawing<'_>, rows: u32) -> Page {
        let options = drawing.options;
        let size = options.canvas.font_size;
        let subtitle = if options.subtitle.is_some() { 2.0 * size } else { 0.0 };
        let warning = if warning(drawing).is_some() { 1.5 * size } else { 0.0 };
        let top = 3.0 * size + subtitle + warning;
        let bottom = 2.0 * size + f64::from(Canvas::MARGIN);
        let frames = f64::from(rows) * f64::from(options.canvas.frame_height);
        Page { width: options.canvas.width(), height: top + frames + bottom, top, rows }
    }
}

/// Writes the picture of a graph.
fn write(drawing: &Drawing<'_>, out: &mut dyn Write) -> Result<()> {
    let Drawing { graph, options, .. } = *drawing;
    let page = Page::new(drawing, graph.rows + 1);
    let mut xml = document(options, out);
    root(&mut xml, drawing, &page)?;
    xml.start("style")?.attr("type", "text/css").cdata(&[script::STYLE]).end();
    let settings = script::settings(graph, options, page.height)?;
    xml.start("script")?.attr("type", "text/ecmascript").cdata(&[&settings, script::VIEWER]).end();
    background(&mut xml, options, graph.columns, &page)?;
    texts(&mut xml, drawing, &page)?;
    frames::write(&mut xml, drawing, &page)?;
    xml.finish()
}

/// Writes the picture without script and controls, for a rasteriser.
#[cfg(feature = "png")]
pub(super) fn write_still(drawing: &Drawing<'_>, out: &mut dyn Write) -> Result<()> {
    let page = Page::new(drawing, drawing.graph.rows + 1);
    let mut xml = document(drawing.options, out);
    root(&mut xml, drawing, &page)?;
    xml.start("style")?.attr("type", "text/css").cdata(&[include_str!("still.css")]).end();
    background(&mut xml, drawing.options, drawing.graph.columns, &page)?;
    titles(&mut xml, drawing)?;
    frames::write(&mut xml, drawing, &page)?;
    xml.finish()
}

/// Writes a picture that says there was nothing to draw.
pub(super) fn write_empty(drawing: &Drawing<'_>, out: &mut dyn Write) -> Result<()> {
    let options = drawing.options;
    let page = Page::new(drawing, 1);
    let mut xml = document(options, out);
    root(&mut xml, drawing, &page)?;
    background(&mut xml, options, Columns::One, &page)?;
    let middle = page.height / 2.0;
    ui(&mut xml, options, "title")?.attr("x", "50%").attr("y", 2.0 * options.canvas.font_size);
    xml.attr("text-anchor", "middle").text(options.title()).end();
    xml.start("text")?.attr("id", "empty").attr("x", "50%").attr("y", middle + options.canvas.font_size);
    xml.attr("text-anchor", "middle").attr("fill", "#c00000");
    xml.text("There are no stacks in the input: nothing was recorded, or a filter left nothing.").end();
    xml.finish()
}

fn document<'w>(options: &RenderOptions, out: &'w mut dyn Write) -> Xml<'w> {
    let encoding = &options.encoding;
    // Each frame on its own line, its parts beside each other.
    let lines = if options.pretty { Lines::Pretty } else { Lines::To(2) };
    Xml::new(out, encoding.name(), encoding.is_ascii_only(), lines)
}

/// Opens the outermost element and describes the picture.
fn root(xml: &mut Xml<'_>, drawing: &Drawing<'_>, page: &Page) -> Result<()> {
    let options = drawing.options;
    let own_colours = options.background.is_some() || options.ui_colour.is_some();
    let canvas = &options.canvas;
    xml.start("svg")?
        .attr("xmlns", "http://www.w3.org/2000/svg")
        .attr("xmlns:xlink", "http://www.w3.org/1999/xlink")
        .attr("version", "1.1")
        .attr("width", page.width)
        .attr("height", page.height)
        .attr("viewBox", format_args!("0 0 {} {}", page.width, page.height))
        // Dark mode would fight with colours that were asked for.
        .attr("class", if own_colours { "fg own-colors" } else { "fg" })
        .attr("role", "img")
        .attr("aria-label", options.title())
        .attr("font-family", &canvas.font_family)
        .attr("font-size", canvas.font_size);
    xml.start("title")?.text(options.title()).end();
    if let Some(notes) = &options.notes {
        xml.start("desc")?.attr("id", "notes").text(notes).end();
    }
    let facts = &drawing.summary.facts;
    if !facts.is_empty() {
        xml.start("metadata")?.attr("id", "facts");
        header::write(facts).lines().for_each(|line| _ = xml.line(line));
        xml.end();
    }
    Ok(())
}

fn background(xml: &mut Xml<'_>, options: &RenderOptions, columns: Columns, page: &Page) -> Result<()> {
    let suited = match columns {
        Columns::One => Background::of(options.colours.palette),
        // White frames have to stand out.
        Columns::Two => Background::Grey,
    };
    let background = options.background.unwrap_or(suited);
    let (top, bottom) = background.colours();
    let flat = matches!(background, Background::Flat(_));
    if !flat {
        xml.start("defs")?;
        xml.start("linearGradient")?.attr("id", "bg").attr("x1", 0).attr("x2", 0).attr("y1", 0).attr("y2", 1);
        xml.start("stop")?.attr("stop-color", top).attr("offset", "5%").end();
        xml.start("stop")?.attr("stop-color", bottom).attr("offset", "95%").end();
        xml.end();
        xml.end();
    }
    xml.start("rect")?.attr("id", "background").attr("width", "100%").attr("height", page.height);
    if flat {
        xml.attr("class", "flat").attr("fill", top);
    } else {
        xml.attr("fill", "url(#bg)");
    }
    xml.end();
    Ok(())
}

/// The texts above the frames.
fn titles(xml: &mut Xml<'_>, drawing: &Drawing<'_>) -> Result<()> {
    let options = drawing.options;
    let size = options.canvas.font_size;
    ui(xml, options, "title")?.attr("x", "50%").attr("y", 2.0 * size).attr("text-anchor", "middle");
    xml.attr("font-size", size + 5.0).text(options.title()).end();
    if let Some(subtitle) = &options.subtitle {
        ui(xml, options, "subtitle")?.attr("x", "50%").attr("y", 4.0 * size).attr("text-anchor", "middle");
        xml.attr("opacity", 0.75).text(subtitle).end();
    }
    if let Some(warning) = warning(drawing) {
        let y = if options.subtitle.is_some() { 5.5 * size } else { 3.5 * size };
        let letters = options.canvas.frames_width() / (size * options.canvas.font_width);
        xml.start("text")?.attr("id", "warning").attr("x", "50%").attr("y", y).attr("text-anchor", "middle");
        xml.attr("fill", "#c00000").text(&fit(&warning, letters as usize, Cut::End)).end();
    }
    Ok(())
}

/// The rows that are not drawn, else the first warning, and how many more there are; all of those are in the metadata.
fn warning(drawing: &Drawing<'_>) -> Option<String> {
    let warnings = &drawing.summary.facts.warnings;
    let (first, more) = match drawing.graph.deeper {
        0 => (warnings.first()?.clone(), warnings.len() - 1),
        1 => ("1 deeper row is not drawn".to_owned(), warnings.len()),
        rows => (format!("{rows} deeper rows are not drawn"), warnings.len()),
    };
    Some(if more == 0 { format!("Warning: {first}") } else { format!("Warning: {first}; {more} more") })
}

/// The texts around the frames; the script fills and shows some of them.
fn texts(xml: &mut Xml<'_>, drawing: &Drawing<'_>, page: &Page) -> Result<()> {
    let options = drawing.options;
    let size = options.canvas.font_size;
    let margin = f64::from(Canvas::MARGIN);
    let low = page.height - margin;
    titles(xml, drawing)?;
    ui(xml, options, "details")?.attr("x", margin).attr("y", low).attr("aria-live", "polite").text(" ").end();
    // Buttons are nothing to a reader of a static picture: the script shows them.
    let button = |xml: &mut Xml<'_>, id, x: Option<f64>, class, text: &str| -> Result<()> {
        ui_class(xml, options, id, class)?;
        match x {
            Some(x) => xml.attr("x", x),
            None => xml.attr("x", "100%").attr("dx", -margin).attr("text-anchor", "end"),
        };
        xml.attr("y", 2.0 * size).text(text).end();
        Ok(())
    };
    button(xml, "reset", Some(margin), "ui hide", "Reset Zoom")?;
    button(xml, "search", None, "ui", "Search")?;
    ui(xml, options, "ignorecase")?.attr("x", "100%").attr("dx", -(margin + 5.0 * size));
    xml.attr("text-anchor", "end").attr("y", 2.0 * size).text("Ignore case").end();
    ui(xml, options, "matched")?.attr("x", "100%").attr("dx", -margin).attr("y", low);
    xml.attr("text-anchor", "end").attr("aria-live", "polite").text(" ").end();
    Ok(())
}

fn ui<'x, 'w>(xml: &'x mut Xml<'w>, options: &RenderOptions, id: &str) -> Result<&'x mut Xml<'w>> {
    ui_class(xml, options, id, "ui")
}

fn ui_class<'x, 'w>(
    xml: &'x mut Xml<'w>,
    options: &RenderOptions,
    id: &str,
    class: &str,
) -> Result<&'x mut Xml<'w>> {
    xml.start("text")?.attr("id", id).attr("class", class);
    if let Some(colour) = options.ui_colour {
        xml.attr("fill", colour);
    }
    Ok(xml)
}

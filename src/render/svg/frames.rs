//! The frames: a group each, with a tooltip, a box and, where it fits, a name.

use std::fmt::{self, Write as _};

use super::Page;
use super::xml::Xml;
use crate::error::Result;
use crate::folded::{Columns, Weights};
use crate::render::RenderOptions;
use crate::render::attributes::Attributes;
use crate::render::colour::Rgb;
use crate::render::graph_writer::Drawing;
use crate::render::label::{fit, percent, shown_name};
use crate::render::layout::{FrameBox, Graph};
use crate::weight::Weight;

/// The name of the frame of the whole.
const WHOLE: &str = "all";
/// The distance of a name from the left end of its frame, in pixels.
const TEXT_INDENT: f64 = 3.0;

pub(super) fn write(xml: &mut Xml<'_>, drawing: &Drawing<'_>, page: &Page) -> Result<()> {
    let Drawing { graph, options, .. } = *drawing;
    let frames_width = options.canvas.frames_width();
    xml.start("svg")?
        .attr("id", "frames")
        .attr("x", crate::render::Canvas::MARGIN)
        .attr("width", frames_width)
        .attr("role", "group")
        .attr("aria-label", format_args!("frames, {} in all", graph.frames().len() + 1))
        .attr("data-total", graph.shown(graph.total)?);
    let painter = Painter { graph, options, drawing, page, frames_width, largest: graph.largest_change()? };
    let whole = FrameBox {
        name: WHOLE.as_bytes(),
        depth: 0,
        start: Weight::ZERO,
        total: graph.total,
        before: graph.before,
        after: if graph.columns == Columns::Two { graph.after } else { graph.total },
        own: Weights::default(),
        // The whole is not a share of anything.
        is_sure: true,
        gone: graph.gone,
        union: graph.union.map(|union| (Weight::ZERO, union)),
    };
    painter.frame(xml, whole)?;
    for frame in graph.frames() {
        painter.frame(xml, FrameBox { depth: frame.depth + 1, ..frame })?;
    }
    xml.end();
    Ok(())
}

struct Painter<'a> {
    graph: &'a Graph,
    options: &'a RenderOptions,
    drawing: &'a Drawing<'a>,
    page: &'a Page,
    frames_width: f64,
    /// The largest change in a differential graph.
    largest: Weight,
}

impl Painter<'_> {
    fn frame(&self, xml: &mut Xml<'_>, frame: FrameBox<'_>) -> Result<()> {
        let name = shown_name(frame.name);
        let given = self.options.attributes.get(frame.name);
        let link = given.and_then(|given| given.href.as_deref());
        if let Some(link) = link {
            let target = given.and_then(|given| given.target.as_deref()).unwrap_or("_top");
            xml.start("a")?.attr("href", link).attr("xlink:href", link).attr("target", target);
        }
        xml.start("g")?;
        let colour = self.colour(&frame)?;
        let presence = format!("{}{}", self.presence(&frame), if colour.wants_white() { " lit" } else { "" });
        self.group_attributes(xml, given, &name, &presence);
        let usual = self.tooltip(&frame, &name)?;
        let title = given.and_then(|given| given.title.as_deref());
        xml.start("title")?.text(title.unwrap_or(&usual)).end();
        self.shape(xml, &frame, colour)?;
        self.label(xml, &frame, &name)?;
        xml.end();
        if link.is_some() {
            xml.end();
        }
        Ok(())
    }

    /// ` new` or ` gone` for a frame that is on one side only, to be styled.
    fn presence(&self, frame: &FrameBox<'_>) -> &'static str {
        match (self.graph.columns, frame.before.is_zero(), frame.after.is_zero()) {
            (Columns::Two, true, false) => " new",
            (Columns::Two, false, true) => " gone",
            _ => "",
        }
    }

    fn group_attributes(&self, xml: &mut Xml<'_>, given: Option<&Attributes>, name: &str, presence: &str) {
        let Some(given) = given else {
            xml.attr("class", format_args!("frame{presence}"));
            return;
        };
        match &given.class {
            Some(class) => xml.attr("class", format_args!("frame{presence} {class}")),
            None => xml.attr("class", format_args!("frame{presence}")),
        };
        for (key, value) in &given.others {
            xml.attr(key, value);
        }
        // The script finds a frame's name in its tooltip, unless that is not the usual one.
        if given.title.is_some() {
            xml.attr("data-n", name);
        }
    }

    fn colour(&self, frame: &FrameBox<'_>) -> Result<Rgb> {
        self.options.colours.of(self.graph, frame, self.largest, &self.drawing.summary.places)
    }

    fn shape(&self, xml: &mut Xml<'_>, frame: &FrameBox<'_>, colour: Rgb) -> Result<()> {
        let whole = self.graph.total;
        let height = self.options.canvas.frame_height;
        xml.start("rect")?
            .attr("x", Percent(percent(frame.start, whole)))
            .attr("y", self.top(frame.depth))
            .attr("width", Percent(percent(frame.total, whole)))
            .attr("height", height.saturating_sub(1).max(1))
            .attr("fill", colour);
        if let Some(stroke) = self.options.stroke_colour {
            xml.attr("stroke", stroke);
        }
        xml.attr("data-x", self.graph.shown(frame.start)?).attr("data-w", self.graph.shown(frame.total)?);
        if self.graph.columns == Columns::Two {
            xml.attr("data-b", self.graph.shown(frame.before)?);
        }
        if let Some((start, width)) = frame.union {
            xml.attr("data-u", format_args!("{} {}", self.graph.shown(start)?, self.graph.shown(width)?));
        }
        xml.end();
        Ok(())
    }

    fn label(&self, xml: &mut Xml<'_>, frame: &FrameBox<'_>, name: &str) -> Result<()> {
        let canvas = &self.options.canvas;
        let share = percent(frame.total, self.graph.total) / 100.0;
        let room = share * self.frames_width - 2.0 * TEXT_INDENT;
        // A negative number of columns is none: `as` saturates.
        let columns = (room / (canvas.font_size * canvas.font_width)) as usize;
        let text = fit(name, columns, self.options.cut);
        if text.is_empty() {
            return Ok(());
        }
        let indent = 100.0 * TEXT_INDENT / self.frames_width;
        let middle = f64::from(canvas.frame_height.saturating_sub(1)) / 2.0;
        // Letters without descenders look centred a third of their height below the middle.
        let y = self.top(frame.depth) + middle + 0.35 * canvas.font_size;
        xml.start("text")?
            .attr("x", Percent(percent(frame.start, self.graph.total) + indent))
            .attr("y", format_args!("{y:.1}"))
            .text(&text)
            .end();
        Ok(())
    }

    /// The upper edge of a row, in pixels.
    fn top(&self, depth: u32) -> f64 {
        let row = if self.options.inverted { depth } else { self.page.rows - 1 - depth };
        self.page.top + f64::from(row) * f64::from(self.options.canvas.frame_height)
    }

    /// `name (325 ms, 162 samples, 12.34%)`; in a differential graph
    /// `name (40 ms → 44 ms, +10.0%, +1.20 pp)`. The script cuts it at the last ` (`.
    fn tooltip(&self, frame: &FrameBox<'_>, name: &str) -> Result<String> {
        let amounts = &self.drawing.amounts;
        let weight = |weight| self.graph.shown(weight).map(|weight| amounts.plain(weight));
        if self.graph.columns == Columns::One {
            let share = percent(frame.total, self.graph.total);
            return Ok(format!("{name} ({}, {share:.2}%)", amounts.listed(self.graph.shown(frame.total)?)));
        }
        let mut text = format!("{name} ({} → {}", weight(frame.before)?, weight(frame.after)?);
        // Writing to a string cannot fail.
        let _ = match (frame.before.is_zero(), frame.after.is_zero()) {
            (true, false) => write!(text, ", new"),
            (false, true) => write!(text, ", gone"),
            _ => write!(text, ", {:+.1}%", percent(frame.after.checked_sub(frame.before)?, frame.before)),
        };
        let points = percent(frame.after, self.graph.after) - percent(frame.before, self.graph.before);
        let _ = write!(text, ", {points:+.2} pp");
        if self.graph.comparison.own {
            let _ = write!(text, "; self {} → {}", weight(frame.own.before)?, weight(frame.own.value)?);
        }
        if !frame.is_sure {
            text.push_str("; not significant");
        }
        if !frame.gone.is_zero() {
            let _ = write!(text, "; {} in callees that are gone", weight(frame.gone)?);
        }
        text.push(')');
        Ok(text)
    }
}

/// A position with as many digits as pixels need: on a screen of 8000, a thousandth of one.
struct Percent(f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.5}%", self.0)
    }
}

//! `text`: a flame graph in a terminal or a log, as wide as that, root at the top.
//!
//! ```text
//! ▏main 100.00%░░░░░░░░░░░░░░░░░░░░░░░░░░░
//! ▏parse 60.00%░░░░░░░░░░▏write 39.00%░░░░
//! ▏lex ..░
//!
//! 200 ms (100 samples); a column is 2.50%
//! ```
//! The bar at the left end parts neighbours; shades, or colours where there are any, reach to the
//! right end.

use anstyle::{Ansi256Color, AnsiColor, Color, RgbColor, Style};
use unicode_width::UnicodeWidthStr;

use super::colour::{Rgb, ansi256};
use super::columns::{points, share};
use super::format::takes;
use super::graph_writer::{Drawing, GraphWriter};
use super::label::{fit, percent};
use super::layout::{FrameBox, Graph};
use super::settings::{Paint, Terminal};
use super::writer::Target;
use super::{Format, MinWidth, about};
use crate::error::Result;
use crate::folded::{Columns, Weights};
use crate::printable::printable;

/// The format.
pub const FORMAT: Format = Format {
    name: "text",
    endings: &["txt"],
    about: "a flame graph of letters, for a terminal or a log",
    takes: &[
        takes::HEAD,
        takes::TERMINAL,
        takes::DEPTH,
        takes::LAYOUT,
        takes::UNIT,
        takes::CUT,
        takes::COLOURS,
        takes::CHANGE,
    ],
    streams: false,
    open: |settings, target| {
        let share = match settings.picture.canvas.min_width {
            MinWidth::Percent(percent) => percent / 100.0,
            // A frame narrower than half a column cannot be seen.
            MinWidth::Pixels(columns) => columns.max(0.5) / settings.terminal.columns.max(1) as f64,
        };
        Ok(Box::new(GraphWriter::new(settings, share, target, draw)))
    },
};

fn draw(drawing: &Drawing<'_>, target: &mut dyn Target) -> Result<()> {
    let Drawing { graph, settings, .. } = *drawing;
    let Terminal { columns, rows, paint, root_at_bottom } = settings.terminal;
    let most = settings.tree.depth.or(rows);
    let depth = most.map_or(graph.rows, |depth| graph.rows.min(depth.try_into().unwrap_or(u32::MAX)));
    // Depth and place of each frame, in the order of depth. A deep stack has as many rows as frames:
    // a list for each would take more memory than all the rest.
    let mut places: Vec<(u32, u32)> = graph.depths().zip(0..).filter(|(at, _)| *at < depth).collect();
    places.sort_unstable();
    let left_out = graph.left_out + (graph.frames().len() - places.len()) as u64;
    let painter = Painter { graph, drawing, columns, paint, largest: graph.largest_change()? };
    let mut rest = &places[..];
    for n in 0..depth {
        let row = if root_at_bottom { depth - 1 - n } else { n };
        let (from, to) = match root_at_bottom {
            true => (rest.partition_point(|(at, _)| *at < row), rest.len()),
            false => (0, rest.partition_point(|(at, _)| *at <= row)),
        };
        writeln!(target, "{}", painter.row(&rest[from..to])?)?;
        rest = if root_at_bottom { &rest[..from] } else { &rest[to..] };
    }
    let whole = match graph.columns {
        Columns::One => Weights::one(graph.shown(graph.total)?),
        Columns::Two => Weights { value: graph.shown(graph.after)?, before: graph.shown(graph.before)? },
    };
    let mut line = drawing.amounts.total(graph.columns, whole);
    if !graph.is_empty() {
        line.push_str(&format!("; a column is {:.2}%", 100.0 / columns.max(1) as f64));
    }
    if left_out > 0 {
        line.push_str(&format!("; {left_out} frames left out"));
    }
    if settings.tree.depth.is_none() && depth < graph.rows {
        line.push_str(&format!("; --depth {} draws all rows", graph.rows));
    }
    let gap = if graph.is_empty() { "" } else { "\n" };
    writeln!(target, "{gap}{line}")?;
    about::write_text(settings, drawing.summary, target)
}

struct Painter<'a> {
    graph: &'a Graph,
    drawing: &'a Drawing<'a>,
    columns: usize,
    paint: Paint,
    largest: crate::Weight,
}

impl Painter<'_> {
    /// The frames of a row, from left to right, by depth and place.
    fn row(&self, places: &[(u32, u32)]) -> Result<String> {
        let mut line = String::new();
        let mut at = 0;
        for (_, place) in places {
            let frame = &self.graph.frame(*place as usize);
            let from = self.column(frame.start)?.max(at);
            let to = self.column(frame.start.checked_add(frame.total)?)?;
            if to > from {
                line.push_str(&" ".repeat(from - at));
                line.push_str(&self.cell(frame, to - from)?);
                at = to;
            }
        }
        Ok(line)
    }

    /// The column nearest to a place.
    fn column(&self, place: crate::Weight) -> Result<usize> {
        let share = percent(place, self.graph.total) / 100.0;
        Ok((share * self.columns as f64).round() as usize)
    }

    /// The text of a frame that is `width` columns wide.
    fn cell(&self, frame: &FrameBox<'_>, width: usize) -> Result<String> {
        let name = printable(frame.name);
        let number = match self.graph.columns {
            Columns::One => share(frame.total, self.graph.total),
            Columns::Two => {
                let all = Weights { value: self.graph.after, before: self.graph.before };
                format!("{} pp", points(Weights { value: frame.after, before: frame.before }, all))
            }
        };
        let whole = format!("{name} {number}");
        let room = width - 1;
        let text = if whole.width() <= room {
            whole
        } else {
            fit(&name, room, self.drawing.options.cut).into_owned()
        };
        // A letter may be wider than it says: never beyond the frame.
        let fill = room.saturating_sub(text.width());
        Ok(match self.paint {
            Paint::No => format!("▏{text}{}", "░".repeat(fill)),
            paint => {
                let places = &self.drawing.summary.places;
                let colour = self.drawing.options.colours.of(self.graph, frame, self.largest, places)?;
                let style = style(colour, paint);
                format!("{style}▏{text}{}{style:#}", " ".repeat(fill))
            }
        })
    }
}

/// Black letters on a colour.
fn style(colour: Rgb, paint: Paint) -> Style {
    let Rgb(r, g, b) = colour;
    let background = match paint {
        Paint::True => Color::Rgb(RgbColor(r, g, b)),
        _ => Color::Ansi256(Ansi256Color(ansi256(colour))),
    };
    Style::new().fg_color(Some(Color::Ansi(AnsiColor::Black))).bg_color(Some(background))
}

//! The state as cells of a terminal.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use unicode_width::UnicodeWidthStr;

use super::app::{App, Order, View};
use super::model::Node;
use crate::folded::{Columns, Weights};
use crate::printable::printable;
use crate::render::Cut;
use crate::render::colour::{Rgb, ansi256};
use crate::render::columns::{points, share};
use crate::render::label::fit;
use crate::render::settings::Paint;
use crate::weight::Weight;

const FOUND: Rgb = Rgb(0xe6, 0, 0xe6);

const HELP: &[&str] = &[
    "1 2 3, Tab     flame graph, table, butterfly of the marked function",
    "arrows, hjkl   to the caller, the heaviest callee, the neighbours; in lists up and down",
    "Enter          zoom in; in lists the butterfly of that function",
    "Backspace, u   zoom out; in the butterfly back",
    "r              the whole again",
    "/  n  N  Esc   look for a regular expression, next, previous, forget it",
    "s              the next order of the table",
    "space          while recording: hold the picture, go on",
    "q, Ctrl-C      leave",
];

/// The rows of the table above a flame graph, with its head.
const TOP_ROWS: u16 = 13;

/// Draws a line alone: there is no profile yet.
#[cfg(all(feature = "record", target_os = "linux"))]
pub(super) fn waiting(about: &str, frame: &mut Frame<'_>) {
    let area = frame.area();
    lines([about.to_owned()].into_iter(), area, frame.buffer_mut());
}

/// Draws everything.
pub(super) fn draw(app: &App, paint: Paint, frame: &mut Frame<'_>) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Fill(1), Constraint::Length(1)])
            .areas(frame.area());
    let painter = Painter { app, paint };
    let buffer = frame.buffer_mut();
    painter.head(head, buffer);
    match app.view {
        _ if app.help => lines(HELP.iter().map(|line| (*line).to_owned()), body, buffer),
        View::Flame => painter.flame(body, buffer),
        View::Table => painter.table(body, buffer),
        View::Butterfly => painter.butterfly(body, buffer),
        View::Both => {
            let [table, graph] =
                Layout::vertical([Constraint::Max(TOP_ROWS), Constraint::Fill(1)]).areas(body);
            painter.table(table, buffer);
            painter.flame(graph, buffer);
        }
    }
    painter.foot(foot, buffer);
}

struct Painter<'a> {
    app: &'a App,
    paint: Paint,
}

impl Painter<'_> {
    fn head(&self, area: Rect, buffer: &mut Buffer) {
        let app = self.app;
        let mut x = area.x;
        let live = app.is_live.then_some((View::Both, "0 Live"));
        let others = [(View::Flame, "1 Flame"), (View::Table, "2 Table"), (View::Butterfly, "3 Butterfly")];
        for (view, name) in live.into_iter().chain(others) {
            let style = if view == app.view { reversed() } else { Style::new() };
            (x, _) = buffer.set_stringn(x, area.y, format!(" {name} "), room(area, x), style);
        }
        let all = app.model.all;
        let amounts = &app.model.amounts;
        let total = match app.model.columns {
            Columns::One => self.shown(all.value, |weight| amounts.with_samples(weight)),
            Columns::Two => format!("{} → {}", self.weight(all.before), self.weight(all.value)),
        };
        buffer.set_stringn(
            x,
            area.y,
            format!("  {total}   {}{}? help", app.about, if app.is_live { "   " } else { "" }),
            room(area, x),
            Style::new(),
        );
    }

    fn foot(&self, area: Rect, buffer: &mut Buffer) {
        let app = self.app;
        let search = &app.search;
        let text = if let Some(text) = &search.typing {
            format!("/{text}▏")
        } else if let Some(error) = &search.error {
            printable(error.as_bytes())
        } else {
            let found = match &search.pattern {
                Some(_) => {
                    let pattern = printable(search.text.as_bytes());
                    format!("   /{pattern} matched {:.1}%", 100.0 * search.share)
                }
                None => String::new(),
            };
            let about = match app.view {
                View::Flame => self.about(&app.model.nodes[app.selected]),
                View::Table | View::Both => format!("{} functions", app.rows.len()),
                View::Butterfly => String::new(),
            };
            format!("{about}{found}")
        };
        buffer.set_stringn(area.x, area.y, &text, room(area, area.x), Style::new());
    }

    fn weight(&self, weight: Weight) -> String {
        self.shown(weight, |weight| self.app.model.amounts.plain(weight))
    }

    fn cell(&self, weight: Weight) -> String {
        self.shown(weight, |weight| self.app.model.amounts.cell(weight))
    }

    fn shown(&self, weight: Weight, show: impl Fn(Weight) -> String) -> String {
        weight.checked_mul(self.app.model.factor).map_or_else(|e| e.to_string(), show)
    }

    fn about(&self, node: &Node) -> String {
        let name = printable(self.app.model.name(node.function));
        let all = self.app.model.all;
        match self.app.model.columns {
            Columns::One => {
                let weight = self.weight(node.weights.value);
                format!("{name}: {weight} ({})", share(node.weights.value, all.value))
            }
            Columns::Two => {
                let (before, after) = (self.weight(node.weights.before), self.weight(node.weights.value));
                format!("{name}: {before} → {after} ({} pp)", points(node.weights, all))
            }
        }
    }

    /// Draws callers above their callees; the zoomed frame takes the full width.
    fn flame(&self, area: Rect, buffer: &mut Buffer) {
        let nodes = &self.app.model.nodes;
        let height = usize::from(area.height);
        // The marked frame stays in sight, with a few rows of its callees.
        let first = (nodes[self.app.selected].depth + 4).saturating_sub(height);
        let mut above = self.app.zoom;
        while above != 0 {
            above = nodes[above].parent;
            self.bar(above, (0, area.width), first, area, buffer);
        }
        let zoom = nodes[self.app.zoom];
        let (left, wide) = (zoom.start.to_f64(), zoom.total.to_f64().max(f64::MIN_POSITIVE));
        let column = |place: f64| (f64::from(area.width) * (place - left) / wide).round() as u16;
        let mut at = self.app.zoom;
        while at < zoom.end {
            let node = &nodes[at];
            let start = node.start.to_f64();
            let columns = (column(start), column(start + node.total.to_f64()).min(area.width));
            if columns.1 <= columns.0 || node.depth >= first + height {
                at = node.end;
                continue;
            }
            self.bar(at, columns, first, area, buffer);
            at += 1;
        }
    }

    fn bar(&self, at: usize, (from, to): (u16, u16), first: usize, area: Rect, buffer: &mut Buffer) {
        let node = &self.app.model.nodes[at];
        let Some(row) = node.depth.checked_sub(first).filter(|&row| row < usize::from(area.height)) else {
            return;
        };
        let is_found = self.app.is_match(node.function);
        let mut style = match self.paint {
            Paint::No => Style::new().add_modifier(if is_found { Modifier::BOLD } else { Modifier::empty() }),
            _ => Style::new().fg(Color::Black).bg(self.colour(if is_found { FOUND } else { node.colour })),
        };
        if at == self.app.selected {
            style = style.add_modifier(Modifier::REVERSED | Modifier::BOLD);
        }
        let width = usize::from(to - from);
        let name = printable(self.app.model.name(node.function));
        let text = fit(&name, width - 1, Cut::End);
        let fill = (width - 1).saturating_sub(text.width());
        let fill = if self.paint == Paint::No { "░" } else { " " }.repeat(fill);
        buffer.set_stringn(area.x + from, area.y + row as u16, format!("▏{text}{fill}"), width, style);
    }

    fn colour(&self, colour: Rgb) -> Color {
        let Rgb(r, g, b) = colour;
        if self.paint == Paint::True { Color::Rgb(r, g, b) } else { Color::Indexed(ansi256(colour)) }
    }

    fn table(&self, area: Rect, buffer: &mut Buffer) {
        let app = self.app;
        let mark =
            |order, name: &str| if app.order == order { format!("{name}▾") } else { name.to_owned() };
        let heads = match app.model.columns {
            Columns::One => {
                vec![mark(Order::Own, "self"), String::new(), mark(Order::Total, "total"), String::new()]
            }
            Columns::Two => vec![
                mark(Order::Own, "self"),
                mark(Order::Change, "change"),
                mark(Order::Total, "total"),
                "change".to_owned(),
            ],
        };
        let height = usize::from(area.height).saturating_sub(1);
        let first = (app.table.cursor + 1).saturating_sub(height);
        let rows = app.rows.iter().enumerate().skip(first).take(height).map(|(n, &function)| {
            let function = &app.model.functions[function as usize];
            let weights = [function.weight.own, function.weight.total];
            (
                weights.iter().flat_map(|&weights| self.cells(weights, app.model.all)).collect(),
                &function.name[..],
                n == app.table.cursor,
            )
        });
        let head = (heads, mark(Order::Name, "function").into_bytes(), false);
        let rows = rows.map(|(cells, name, marked)| (cells, name.to_vec(), marked));
        list([head].into_iter().chain(rows).collect(), area, buffer);
    }

    fn cells(&self, weights: Weights, whole: Weights) -> Vec<String> {
        match self.app.model.columns {
            Columns::One => vec![self.cell(weights.value), share(weights.value, whole.value)],
            Columns::Two => {
                let change = weights.value.checked_sub(weights.before);
                let amounts = &self.app.model.amounts;
                let change = change.map_or_else(
                    |e| e.to_string(),
                    |change| self.shown(change, |change| amounts.change(change)),
                );
                vec![self.cell(weights.value), change]
            }
        }
    }

    /// Callers above the function, callees below it.
    fn butterfly(&self, area: Rect, buffer: &mut Buffer) {
        let app = self.app;
        let Some(function) = app.function else { return };
        let function = &app.model.functions[function as usize];
        let (callers, callees) = app.around();
        let mut rows: Vec<(Vec<String>, Vec<u8>, bool)> = Vec::new();
        let indented = |other: Option<u32>| {
            let name: &[u8] = if other.is_none() { b"[root]" } else { app.model.name(other) };
            [b"  ", name].concat()
        };
        let whole = function.weight.total;
        for (n, &(other, weights)) in callers.iter().enumerate() {
            rows.push((self.cells(weights, whole), indented(other), n == app.butterfly.cursor));
        }
        rows.push((self.cells(whole, app.model.all), function.name.clone(), false));
        if !function.weight.own.is_zero() {
            rows.push((self.cells(function.weight.own, whole), b"  [self]".to_vec(), false));
        }
        for (n, &(other, weights)) in callees.iter().enumerate() {
            rows.push((
                self.cells(weights, whole),
                indented(other),
                n + callers.len() == app.butterfly.cursor,
            ));
        }
        let marked = rows.iter().position(|(_, _, marked)| *marked).unwrap_or(0);
        let first = (marked + 2).saturating_sub(usize::from(area.height));
        list(rows.split_off(first), area, buffer);
    }
}

/// Rows of numbers to the right, and a name; one of them may be marked.
fn list(rows: Vec<(Vec<String>, Vec<u8>, bool)>, area: Rect, buffer: &mut Buffer) {
    let rows: Vec<_> = rows.into_iter().take(area.height.into()).collect();
    let columns = rows.iter().map(|(cells, _, _)| cells.len()).max().unwrap_or(0);
    let width =
        |n: usize| rows.iter().filter_map(|(cells, _, _)| cells.get(n)).map(|cell| cell.width()).max();
    let widths: Vec<usize> = (0..columns).map(|n| width(n).unwrap_or(0)).collect();
    for ((cells, name, marked), y) in rows.iter().zip(area.y..) {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(&widths) {
            line.push_str(&format!("{}{cell}  ", " ".repeat(width - cell.width())));
        }
        line.push_str(&printable(name));
        let style = if *marked { reversed() } else { Style::new() };
        buffer.set_stringn(area.x, y, line, area.width.into(), style);
    }
}

fn lines(lines: impl Iterator<Item = String>, area: Rect, buffer: &mut Buffer) {
    for (line, y) in lines.zip(area.y..area.bottom()) {
        buffer.set_stringn(area.x, y, line, area.width.into(), Style::new());
    }
}

fn reversed() -> Style {
    Style::new().add_modifier(Modifier::REVERSED)
}

fn room(area: Rect, x: u16) -> usize {
    usize::from(area.right().saturating_sub(x))
}

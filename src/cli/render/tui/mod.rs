//! `--tui`: the profile in a terminal, to walk through: a flame graph, a table, and the
//! butterfly of a function, its callers and callees.
//!
//! The profile may come from standard input: keys are read from the terminal itself then. All is
//! read first; what is kept are the frames that can be zoomed to and a few numbers for each
//! function and call.

mod app;
mod draw;
#[cfg(all(feature = "record", target_os = "linux"))]
mod live;
mod model;

use std::io::{self, IsTerminal};

use anyhow::{Context, bail};
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use crate::folded::WalkSummary;
use crate::reading::Opened;
use crate::render::format::takes;
use crate::render::writer::{Drawn, Finished, feed};
use crate::render::{Settings, Written};
use app::App;
#[cfg(all(feature = "record", target_os = "linux"))]
pub use live::{LiveView, Wish};
use model::{Collector, Model};

/// The options that mean something to it.
pub(super) const TAKES: &[&[&str]] =
    &[takes::UNIT, takes::COLOURS, takes::CHANGE, &["total", "widths", "ansi", "private"]];

/// Reads the profile and shows it until the user has seen enough; without stacks nothing is shown.
/// `read` is told of the input before the terminal is taken.
///
/// # Errors
/// Those of [`feed`], and of a terminal that cannot be drawn in.
pub fn show(input: &Opened, settings: &Settings, read: impl FnOnce(&WalkSummary)) -> anyhow::Result<Written> {
    if !io::stdout().is_terminal() {
        bail!("--tui needs a terminal to draw in; --format text does not");
    }
    let mut collector = Collector::new(settings);
    let summary = feed(input, settings, &mut collector)?;
    read(&summary);
    let mut app = App::new(Model::new(collector, settings, &summary)?);
    let frames = app.model.nodes.len() - 1;
    let drawn = Drawn { frames, left_out: 0, total: summary.total.value };
    let written = Written { summary, outputs: vec![Finished { drawn: Some(drawn), ..Finished::default() }] };
    if !written.is_empty() {
        let mut terminal = ratatui::try_init().context("cannot open the terminal")?;
        let result = run(&mut terminal, &mut app, settings.terminal.paint);
        ratatui::restore();
        result.context("the terminal went away")?;
    }
    Ok(written)
}

fn run(
    terminal: &mut ratatui::DefaultTerminal,
    app: &mut App,
    paint: crate::render::settings::Paint,
) -> io::Result<()> {
    while !app.done {
        terminal.draw(|frame| draw::draw(app, paint, frame))?;
        if let Event::Key(key) = event::read()?
            && key.kind == KeyEventKind::Press
        {
            app.key(key);
        }
    }
    Ok(())
}

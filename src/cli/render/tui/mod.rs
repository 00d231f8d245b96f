//! `--tui`: the profile in a terminal, to walk through: a flame graph, a table, and the
//! butterfly of a function, its callers and callees.
//!
//! The profile may come from standard input: keys are read from the terminal itself then. All is
//! read first; what is kept are the frames that can be zoomed to and a few numbers for each
//! function and call.

mod app;
mod draw;
mod model;

use std::io::{self, IsTerminal};

use anyhow::{Context, bail};
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use super::Render;
use crate::cli::Exit;
use crate::render::format::takes;
use app::App;
use model::{Collector, Model};

/// The options that mean something to it.
pub(super) const TAKES: &[&[&str]] =
    &[takes::UNIT, takes::COLOURS, takes::CHANGE, &["total", "widths", "ansi"]];

impl Render {
    /// Reads the profile and shows it until the user has seen enough.
    pub(super) fn show(&self) -> anyhow::Result<Exit> {
        if !io::stdout().is_terminal() {
            bail!("--tui needs a terminal to draw in; --format text does not");
        }
        let settings = self.settings()?;
        let mut collector = Collector::new(&settings);
        let summary = self.feed(|input, order, rewrite| input.walk(order, rewrite, &mut collector))?;
        if self.stacks.strict {
            summary.not_understood.refuse()?;
        }
        self.say_left_out(&summary);
        let mut app = App::new(Model::new(collector, &settings, &summary)?);
        if summary.total.is_zero() || app.model.nodes.len() == 1 {
            return Err(self.no_stacks(&summary).into());
        }
        let mut terminal = ratatui::try_init().context("cannot open the terminal")?;
        let result = run(&mut terminal, &mut app, settings.terminal.paint);
        ratatui::restore();
        result.context("the terminal went away")?;
        Ok(Exit::Yes)
    }
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

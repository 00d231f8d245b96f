//! A profile that grows while it is looked at: the functions above, the flame graph below, drawn anew whenever
//! there is more. Keys are those of the view of a whole profile.

use std::io::{self, IsTerminal};
use std::time::Duration;

use anyhow::{Context, bail};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind};

use super::app::{App, View};
use super::draw;
use super::model::{Collector, Model};
use crate::reading::Opened;
use crate::render::Settings;
use crate::render::writer::feed;

/// The terminal, taken until this is dropped.
pub struct LiveView {
    terminal: ratatui::DefaultTerminal,
    settings: Settings,
    app: Option<App>,
    /// The picture stands still.
    is_held: bool,
    /// There is more to be shown than is.
    has_changed: bool,
}

/// The wish of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// To see more.
    GoOn,
    /// To leave.
    Leave,
}

impl LiveView {
    /// Takes the terminal.
    ///
    /// # Errors
    /// Standard output is none, or it cannot be drawn in.
    pub fn open(settings: Settings) -> anyhow::Result<LiveView> {
        if !io::stdout().is_terminal() {
            bail!("--live needs a terminal to draw in; -o out.svg does not");
        }
        let terminal = ratatui::try_init().context("cannot open the terminal")?;
        Ok(LiveView { terminal, settings, app: None, is_held: false, has_changed: true })
    }

    /// Returns true while the picture stands still.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// Takes what there is by now; the marked frame, the zoom and the search stay.
    ///
    /// # Errors
    /// Those of [`feed`].
    pub fn update(&mut self, profile: &Opened) -> anyhow::Result<()> {
        let mut collector = Collector::new(&self.settings);
        let summary = feed(profile, &self.settings, &mut collector)?;
        let model = Model::new(collector, &self.settings, &summary)?;
        match &mut self.app {
            Some(app) => app.replace(model),
            None => {
                let mut app = App::new(model);
                app.view = View::Both;
                app.is_live = true;
                self.app = Some(app);
            }
        }
        self.has_changed = true;
        Ok(())
    }

    /// Draws, with a line about the recording, and waits for a key this long.
    ///
    /// # Errors
    /// A terminal that has gone away.
    pub fn step(&mut self, about: &str, wait: Duration) -> io::Result<Wish> {
        let held = if self.is_held { "   held: space goes on" } else { "" };
        let about = format!("{about}{held}");
        let (app, paint) = (self.app.as_mut(), self.settings.terminal.paint);
        match app {
            Some(app) => {
                self.has_changed |= app.about != about;
                app.about = about;
                if self.has_changed {
                    let app = &*app;
                    self.terminal.draw(|frame| draw::draw(app, paint, frame))?;
                }
            }
            None => {
                self.terminal.draw(|frame| draw::waiting(&about, frame))?;
            }
        }
        self.has_changed = false;
        if !event::poll(wait)? {
            return Ok(Wish::GoOn);
        }
        // A change of the size of the terminal as well.
        self.has_changed = true;
        let Event::Key(key) = event::read()? else { return Ok(Wish::GoOn) };
        if key.kind != KeyEventKind::Press {
            return Ok(Wish::GoOn);
        }
        let is_typing = self.app.as_ref().is_some_and(|app| app.search.typing.is_some());
        match (&mut self.app, key.code) {
            (_, KeyCode::Char(' ' | 'p')) if !is_typing => self.is_held = !self.is_held,
            (Some(app), _) => app.key(key),
            (None, KeyCode::Char('q' | 'c')) => return Ok(Wish::Leave),
            _ => {}
        }
        Ok(if self.app.as_ref().is_some_and(|app| app.done) { Wish::Leave } else { Wish::GoOn })
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

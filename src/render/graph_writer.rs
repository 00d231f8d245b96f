//! The writer of formats that are drawn: only frames wide enough to be seen are kept.

use super::colour::PaletteMap;
use super::layout::{Graph, Layout};
use super::writer::{Drawn, Finished, Target, Writer};
use super::{Options, Settings};
use crate::error::Result;
use crate::folded::{Columns, Frame, Known, Visitor, WalkSummary, Weights};
use crate::weight::Weight;

/// Draws a graph, with options that hold for this input; or, of a graph without frames, says so.
pub type Draw = fn(&Graph, &Options, &Settings, &mut dyn Target) -> Result<()>;

/// Lays out frames and draws them in the end.
pub struct GraphWriter<'a> {
    layout: Layout,
    settings: &'a Settings,
    target: &'a mut dyn Target,
    draw: Draw,
}

impl<'a> GraphWriter<'a> {
    /// Frames narrower than a share of the whole are left out.
    pub fn new(settings: &'a Settings, least_share: f64, target: &'a mut dyn Target, draw: Draw) -> Self {
        let layout = Layout::new(least_share, settings.total).comparing(settings.comparison.clone());
        GraphWriter { layout, settings, target, draw }
    }

    /// See [`Layout::with_ghosts`].
    pub fn with_ghosts(self) -> Self {
        GraphWriter { layout: self.layout.with_ghosts(), ..self }
    }
}

impl Visitor for GraphWriter<'_> {
    #[inline]
    fn exit(&mut self, frame: Frame<'_>, so_far: Weights) -> Result<()> {
        self.layout.exit(frame, so_far)
    }

    fn begin(&mut self, known: &Known<'_>) -> Result<()> {
        self.layout.begin(known)
    }

    fn least(&self, all: Weights) -> Weight {
        self.layout.least(all)
    }

    fn restart(&mut self) -> Result<()> {
        self.layout.restart()
    }
}

impl Writer for GraphWriter<'_> {
    fn finish(self: Box<Self>, summary: &WalkSummary) -> Result<Finished> {
        let GraphWriter { layout, settings, target, draw } = *self;
        let mut graph = layout.finish(summary)?;
        let mut options = settings.picture.clone();
        options.count_name = settings.unit(summary).to_owned();
        let colours = keep_colours(&graph, settings, &mut options);
        graph.scale(settings.factor)?;
        draw(&graph, &options, settings, target)?;
        let drawn = Drawn { frames: graph.frames().len(), left_out: graph.left_out, total: graph.total };
        Ok(Finished { drawn: Some(drawn), colours, ..Finished::default() })
    }
}

/// Gives colours to the names that have none, where colours are kept; they show changes in a
/// differential graph, and none are kept.
fn keep_colours(graph: &Graph, settings: &Settings, options: &mut Options) -> Option<PaletteMap> {
    if !settings.keep_colours || graph.columns == Columns::Two || graph.is_empty() {
        return None;
    }
    let colours = &mut options.colours;
    for frame in graph.frames() {
        if colours.kept.get(frame.name).is_none() {
            let share = frame.total.to_f64() / graph.total.to_f64();
            let colour = colours.frame(frame.name, share);
            colours.kept.insert(frame.name, colour);
        }
    }
    Some(colours.kept.clone())
}

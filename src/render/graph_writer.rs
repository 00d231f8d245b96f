//! The writer of formats that are drawn: only frames wide enough to be seen are kept.

use super::amounts::Amounts;
use super::colour::PaletteMap;
use super::layout::{Graph, Layout};
use super::writer::{Drawn, Finished, Target, Writer};
use super::{RenderOptions, Settings};
use crate::error::Result;
use crate::folded::{Columns, ForkedVisitor, Frame, Known, Visitor, WalkSummary, Weights};
use crate::weight::Weight;

/// A graph that is to be drawn, and what is known of it.
pub(super) struct Drawing<'a> {
    /// The frames; there may be none.
    pub(super) graph: &'a Graph,
    /// The look, with the title and the subtitle of this input.
    pub(super) options: &'a RenderOptions,
    pub(super) settings: &'a Settings,
    pub(super) summary: &'a WalkSummary,
    pub(super) amounts: Amounts,
}

/// Draws a graph; of one without frames, says so.
pub(super) type Draw = fn(&Drawing<'_>, &mut dyn Target) -> Result<()>;

/// Lays out frames and draws them in the end.
pub(super) struct GraphWriter<'a> {
    layout: Layout,
    settings: &'a Settings,
    target: &'a mut dyn Target,
    draw: Draw,
}

impl<'a> GraphWriter<'a> {
    /// Frames narrower than a share of the whole are left out.
    pub(super) fn new(
        settings: &'a Settings,
        least_share: f64,
        target: &'a mut dyn Target,
        draw: Draw,
    ) -> Self {
        let layout = Layout::new(least_share, settings.total).comparing(settings.comparison.clone());
        GraphWriter { layout, settings, target, draw }
    }

    /// See [`Layout::with_ghosts`].
    pub(super) fn with_ghosts(self) -> Self {
        GraphWriter { layout: self.layout.with_ghosts(), ..self }
    }

    /// See [`Layout::with_most_rows`].
    pub(super) fn with_most_rows(self, rows: u32) -> Self {
        GraphWriter { layout: self.layout.with_most_rows(rows), ..self }
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

    fn passed_over(&mut self, frames: u64) {
        self.layout.passed_over(frames);
    }

    fn fork(&self) -> Option<Box<dyn ForkedVisitor>> {
        self.layout.fork()
    }

    fn join(&mut self, fork: Box<dyn ForkedVisitor>, offset: Weights) -> Result<()> {
        self.layout.join(fork, offset)
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
        options.title = Some(settings.title_of(&summary.facts));
        options.subtitle = settings.subtitle_of(summary)?;
        let colours = keep_colours(&graph, settings, &mut options, summary);
        graph.scale(settings.factor)?;
        let amounts = Amounts::new(&summary.facts);
        draw(&Drawing { graph: &graph, options: &options, settings, summary, amounts }, target)?;
        let drawn = Drawn { frames: graph.frames().len(), left_out: graph.left_out, total: graph.total };
        Ok(Finished { drawn: Some(drawn), colours, ..Finished::default() })
    }
}

/// Gives colours to the names that have none, where colours are kept; they show changes in a
/// differential graph, and none are kept.
fn keep_colours(
    graph: &Graph,
    settings: &Settings,
    options: &mut RenderOptions,
    summary: &WalkSummary,
) -> Option<PaletteMap> {
    if !settings.keep_colours || graph.columns == Columns::Two || graph.is_empty() {
        return None;
    }
    let colours = &mut options.colours;
    for frame in graph.frames() {
        if colours.kept.get(frame.name).is_none() {
            let share = frame.total.to_f64() / graph.total.to_f64();
            let colour = colours.frame(frame.name, summary.places.get(frame.name).as_ref(), share);
            colours.kept.insert(frame.name, colour);
        }
    }
    Some(colours.kept.clone())
}

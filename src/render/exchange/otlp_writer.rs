//! `otlp` and `otlp-json`: OTLP profiles, for OpenTelemetry's Collector and what reads its files.

use super::message::{Json, Message, Protobuf};
use super::otlp::message;
use super::tables::{NamedStacks, Tables};
use crate::error::Result;
use crate::folded::{Columns, Frame, Known, Visitor, WalkSummary, Weights};
use crate::profile::Profile;
use crate::render::format::takes;
use crate::render::path::Path;
use crate::render::writer::{Finished, Target, Writer};
use crate::render::{Format, Settings};

/// The protocol buffer.
pub const FORMAT: Format = Format {
    name: "otlp",
    endings: &["otlp"],
    about: "OpenTelemetry profiles (OTLP v1development), a protocol buffer",
    takes: &[takes::UNIT],
    streams: false,
    open: |settings, target| Ok(Box::new(Otlp::<Protobuf>::new(settings, target))),
};

/// A line of JSON.
pub const JSON: Format = Format {
    name: "otlp-json",
    endings: &["otlp.json", "otlp.jsonl"],
    about: "the same as a line of JSON, as the Collector's file exporter writes it",
    takes: &[takes::UNIT],
    streams: false,
    open: |settings, target| Ok(Box::new(Otlp::<Json>::new(settings, target))),
};

struct Otlp<'a, M> {
    settings: &'a Settings,
    target: &'a mut dyn Target,
    columns: Columns,
    path: Path,
    stacks: Vec<(Vec<u32>, Weights)>,
    /// Everything, where the profile holds more than stacks of names.
    tables: Option<Tables>,
    encoding: std::marker::PhantomData<M>,
}

impl<'a, M> Otlp<'a, M> {
    fn new(settings: &'a Settings, target: &'a mut dyn Target) -> Self {
        Otlp {
            settings,
            target,
            columns: Columns::One,
            path: Path::default(),
            stacks: Vec::new(),
            tables: None,
            encoding: std::marker::PhantomData,
        }
    }
}

impl<M> Visitor for Otlp<'_, M> {
    fn follows_stacks(&self) -> bool {
        self.tables.is_none()
    }

    fn begin(&mut self, known: &Known<'_>) -> Result<()> {
        self.columns = known.columns;
        Ok(())
    }

    fn enter(&mut self, name: &[u8], _: usize) -> Result<()> {
        if self.tables.is_none() {
            self.path.enter(name);
        }
        Ok(())
    }

    fn stack(&mut self, _: &[u8], weights: Weights) -> Result<()> {
        if self.tables.is_none() {
            let weights = self.settings.shown_both(weights)?;
            self.stacks.push((self.path.open.iter().rev().copied().collect(), weights));
        }
        Ok(())
    }

    fn exit(&mut self, _: Frame<'_>, _: Weights) -> Result<()> {
        if self.tables.is_none() {
            self.path.exit();
        }
        Ok(())
    }

    fn restart(&mut self) -> Result<()> {
        self.path = Path::default();
        self.stacks.clear();
        Ok(())
    }
}

impl<M: Message> Writer for Otlp<'_, M> {
    fn take(&mut self, profile: &Profile) -> Result<bool> {
        self.tables = Tables::of(profile, self.settings)?;
        Ok(self.tables.is_some())
    }

    fn take_tables(&mut self, tables: Tables) {
        self.tables = Some(tables);
    }

    fn finish(self: Box<Self>, summary: &WalkSummary) -> Result<Finished> {
        let mut tables = match self.tables {
            Some(tables) => tables,
            None => {
                let names = NamedStacks {
                    names: &self.path.names,
                    stacks: &self.stacks,
                    columns: self.columns,
                    summary,
                    private: self.settings.private,
                    is_scaled: self.settings.is_scaled(),
                };
                Tables::of_names(&names)?
            }
        };
        let message: M = message(&mut tables)?;
        self.target.write_all(&message.finish())?;
        Ok(Finished::default())
    }
}

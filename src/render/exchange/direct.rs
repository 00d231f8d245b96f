//! Reads recordings of formats of exchange straight into [`Tables`]: what is written as it was read needs no
//! profile in between, whose stacks take several times the memory.

use super::filler::{Filler, Recorded};
use super::tables::Tables;
use crate::collapse::{self, Report};
use crate::error::Result;
use crate::folded::{Columns, FrameId, Place, StackTable, WalkSummary, Weights};
use crate::input::Source;
use crate::limits::Held;
use crate::profile::{Context, Exchange, Sink, Wants};
use crate::reading::ReadOptions;
use crate::render::Settings;
use crate::weight::Weight;

/// A recording in tables.
pub(crate) struct ReadTables {
    pub(in crate::render) tables: Tables,
    pub(in crate::render) summary: WalkSummary,
}

impl ReadTables {
    /// Reads sources that [`are_exchanged`](crate::reading::are_exchanged).
    ///
    /// # Errors
    /// Those of [`collapse::collapse`].
    pub(crate) fn read(
        sources: &[Source],
        options: &ReadOptions,
        settings: &Settings,
    ) -> Result<(ReadTables, Report)> {
        let mut sink = TableSink::new(settings.private);
        let report = collapse::collapse(sources, options.chosen()?, &options.collapse, &mut sink)?;
        sink.fill_head();
        let summary = WalkSummary {
            columns: Columns::One,
            total: Weights::one(sink.total),
            facts: settings.facts(&report.facts)?,
            not_understood: report.not_understood.clone(),
            ..WalkSummary::default()
        };
        Ok((ReadTables { tables: sink.filler.finish(&report.facts), summary }, report))
    }
}

/// Fills tables, sample by sample.
struct TableSink {
    /// The names and places of frames, and no stacks.
    names: StackTable,
    exchange: Exchange,
    /// The inputs whose types are in the tables.
    parts: usize,
    filler: Filler,
    /// The weight of the samples that weigh more than 0.
    total: Weight,
}

impl TableSink {
    fn new(private: bool) -> TableSink {
        TableSink {
            names: StackTable::default(),
            exchange: Exchange::default(),
            parts: 0,
            filler: Filler::new(private),
            total: Weight::ZERO,
        }
    }

    fn fill_head(&mut self) {
        self.parts = self.exchange.parts();
        self.filler.fill_head(&Recorded { exchange: &self.exchange, table: &self.names });
    }
}

impl Sink for TableSink {
    fn wants(&self) -> Wants {
        Wants { places: true, ..Wants::NOTHING }
    }

    fn frame(&mut self, name: &[u8]) -> FrameId {
        self.names.frame(name)
    }

    fn frame_at(&mut self, name: &[u8], place: &Place<'_>) -> FrameId {
        self.names.frame_at(name, place)
    }

    fn sample(&mut self, _: &[FrameId], weights: Weights, _: &Context<'_>) -> Result<()> {
        if weights.value > Weight::ZERO {
            self.total = self.total.checked_add(weights.value)?;
        }
        Ok(())
    }

    fn exchange(&mut self) -> Option<&mut Exchange> {
        Some(&mut self.exchange)
    }

    fn exchange_sample(&mut self, stack: &[FrameId], labels: u32, values: &[i64]) -> Result<()> {
        if self.parts < self.exchange.parts() {
            self.fill_head();
        }
        let recorded = Recorded { exchange: &self.exchange, table: &self.names };
        self.filler.sample(&recorded, stack, labels, values)
    }

    fn held(&self) -> Held {
        let tables = &self.filler.tables;
        let bytes = tables.stacks.bytes() + tables.samples.bytes();
        Held::new(
            tables.stacks.len(),
            self.names.frame_count(),
            self.names.bytes() + self.exchange.bytes() + bytes,
        )
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::Profile;
    use crate::reading::{ExchangeParts, are_exchanged};
    use crate::render::writer::write_tables;
    use crate::render::{Format, write};

    fn fixtures() -> Vec<PathBuf> {
        let list = |folder: PathBuf| {
            let mut all: Vec<PathBuf> =
                std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
            all.sort();
            all
        };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let cases = ["pprof", "otlp"].into_iter().flat_map(|format| list(root.join(format)));
        let files = cases.flat_map(list);
        let is_input = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("input");
        files.filter(is_input).collect()
    }

    fn options() -> ReadOptions {
        ReadOptions::default().exchange(ExchangeParts::Whole)
    }

    /// The output, or the message of the error.
    type Output = std::result::Result<Vec<u8>, String>;

    fn by_tables(sources: &[Source], format: &str, settings: &Settings) -> Output {
        let (sources, are_exchanged) = are_exchanged(sources, &options()).unwrap();
        assert!(are_exchanged);
        let read = ReadTables::read(&sources, &options(), settings).map_err(|e| e.to_string())?.0;
        let mut out = Vec::new();
        write_tables(read, (Format::by_name(format).unwrap(), &mut out), settings).unwrap();
        Ok(out)
    }

    fn by_profile(sources: &[Source], format: &str, settings: &Settings) -> Output {
        let profile = Profile::read(sources, &options()).map_err(|e| e.to_string())?;
        let mut out = Vec::new();
        write(&profile, vec![(Format::by_name(format).unwrap(), &mut out)], settings).unwrap();
        Ok(out)
    }

    #[test]
    fn tables_are_those_of_a_profile() {
        let files = fixtures();
        assert!(files.len() > 10, "{}", files.len());
        for file in &files {
            for format in ["pprof", "otlp", "otlp-json"] {
                for settings in [Settings::default(), Settings { private: true, ..Settings::default() }] {
                    let sources = [Source::new(file)];
                    let both = [by_tables, by_profile].map(|write| write(&sources, format, &settings));
                    assert!(both[0] == both[1], "{} as {format}", file.display());
                }
            }
        }
    }

    /// The texts of later inputs have other numbers than a profile gives them: what is written is read once more.
    #[test]
    fn several_inputs_are_one_recording() {
        let (files, settings, mut merged) = (fixtures(), Settings::default(), 0);
        for pair in files.windows(2).chain([&files[..]]) {
            let factors = ["1", "0.3", "2"].map(|factor| Weight::parse(factor.as_bytes()).unwrap());
            let weighted = |(file, factor): (&PathBuf, Weight)| Source::new(file).weighted(factor);
            let sources: Vec<Source> = pair.iter().zip(factors.into_iter().cycle()).map(weighted).collect();
            let both = [by_tables, by_profile].map(|write| {
                let once = write(&sources, "pprof", &settings)?;
                by_profile(&[Source::bytes(once)], "pprof", &settings)
            });
            assert!(both[0] == both[1], "{pair:?}");
            merged += usize::from(both[0].is_ok());
        }
        assert!(merged > 3, "some have values of one unit: {merged}");
    }

    #[test]
    fn other_recordings_are_left_to_profiles() {
        let pprof = || Source::new(&fixtures()[0]);
        let (folded, empty) = (|| Source::bytes("main 1\n"), Source::bytes(""));
        for (sources, expected) in [
            (vec![pprof()], true),
            (vec![pprof(), folded()], false),
            (vec![folded()], false),
            (vec![empty], false),
        ] {
            assert_eq!(are_exchanged(&sources, &options()).unwrap().1, expected);
        }
        let mut counted = options();
        counted.collapse.count = true;
        assert!(!are_exchanged(&[pprof()], &counted).unwrap().1);
        assert!(!are_exchanged(&[pprof()], &options().format("folded")).unwrap().1);
        assert!(are_exchanged(&[pprof()], &options().format("pprof")).unwrap().1);
    }
}

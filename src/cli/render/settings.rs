//! The options of `fg-render` as the library takes them.

use super::args::Rows;
use super::{ChangeArgs, Render};
use crate::profile::Label;
use crate::render::Settings;
use crate::render::colour::Colours;
use crate::render::compare::Comparison;
use crate::render::settings::{Table, Tree};
use crate::tally::RowKind;

impl Render {
    /// The name of the file that is read, and the number of others; none of standard input.
    fn input_name(&self) -> Option<String> {
        let files = &self.input.files;
        let name = files.first()?.file_name()?.to_string_lossy();
        match files.len() - 1 {
            _ if name == "-" || self.picture.text.private => None,
            0 => Some(name.into_owned()),
            others => Some(format!("{name} and {others} more")),
        }
    }

    /// The settings; reads the files that options name.
    pub(super) fn settings(&self) -> anyhow::Result<Settings> {
        let settings = self.picture.settings(&mut |error| {
            if self.reading.strict {
                return Err(error);
            }
            self.say(format_args!("{error}; left out"));
            Ok(())
        })?;
        let mut picture = settings.picture;
        picture.colours = Colours {
            scheme: self.change.diff_colors.unwrap_or_default(),
            negate: self.change.negate,
            ..picture.colours
        };
        picture.encoding = self.file.encoding.clone().unwrap_or_default();
        picture.pretty = self.file.pretty_xml;
        Ok(Settings {
            picture,
            strict: self.reading.strict,
            header: !self.file.no_header,
            input_name: self.input_name(),
            comparison: self.comparison(),
            table: Table {
                by: match &self.table.by {
                    Some(Rows::RowKind(group)) => *group,
                    _ => RowKind::default(),
                },
                label: self.rows_by_label().map(|label| label.key().to_owned()),
                sort: self.table.sort,
                limit: self.table.limit.map(|limit| if limit == 0 { usize::MAX } else { limit }),
            },
            tree: Tree {
                min_percent: self.table.min_percent,
                depth: self.table.depth.map(|depth| depth as usize),
                budget: self.table.budget.map(|budget| budget as usize),
            },
            terminal: self.terminal.find(&self.output),
            per_thread: self.file.split_threads,
            threads: self.recording.threads,
            peek: self.table.peek.clone(),
            list: self.table.list.clone(),
            symfs: self.recording.symfs.clone(),
            #[cfg(feature = "perf-data")]
            binary: self.program.binary.clone(),
            #[cfg(feature = "perf-data")]
            stale_against: self.program.stale_against.clone(),
            ..settings
        })
    }

    /// The label whose values have rows.
    pub(super) fn rows_by_label(&self) -> Option<&Label> {
        match &self.table.by {
            Some(Rows::Label(label)) => Some(label),
            _ => None,
        }
    }

    fn comparison(&self) -> Comparison {
        let defaults = Comparison::default();
        let ChangeArgs { widths, self_change, alpha, min_effect, period, .. } = &self.change;
        // No probability is above 1: nothing is grey then.
        let alpha = alpha.map(|alpha| if alpha < 1.0 { alpha } else { f64::INFINITY });
        Comparison {
            widths: widths.unwrap_or_default(),
            own: *self_change,
            alpha: alpha.unwrap_or(defaults.alpha),
            min_effect: min_effect.unwrap_or(defaults.min_effect),
            period: *period,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn default_arguments_are_the_default_settings() {
        let render = Render::try_parse_from(["fg-render"]).unwrap();
        assert_eq!(render.settings().unwrap(), Settings { source_here: true, ..Settings::default() });
    }
}

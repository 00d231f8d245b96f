//! The options of `fg-render` as the library takes them.

use std::fs;
use std::io;

use super::{ChangeArgs, PALETTE_MAP, Render};
use crate::error::{Error, Position};
use crate::render::attributes::NameAttributes;
use crate::render::colour::{Colours, PaletteMap};
use crate::render::compare::Comparison;
use crate::render::settings::{Table, Tree};
use crate::render::{Canvas, Cut, Options, Settings};
use crate::weight::Weight;

impl Render {
    /// What was asked for; reads the files that it names.
    pub(super) fn settings(&self) -> anyhow::Result<Settings> {
        Ok(Settings {
            picture: self.options()?,
            comparison: self.comparison(),
            total: self.stacks.total,
            factor: self.stacks.factor.unwrap_or(Weight::ONE),
            unit: self.text.countname.clone(),
            table: Table {
                by: self.table.by.unwrap_or_default(),
                sort: self.table.sort,
                limit: self.table.limit.map(|limit| if limit == 0 { usize::MAX } else { limit }),
            },
            tree: Tree {
                min_percent: self.table.min_percent,
                depth: self.table.depth.map(|depth| depth as usize),
            },
            terminal: self.terminal.find(&self.output),
            per_thread: self.file.per_thread,
            peek: self.table.peek.clone(),
            keep_colours: self.colour.cp,
        })
    }

    fn options(&self) -> anyhow::Result<Options> {
        let defaults = Options::default();
        let canvas = defaults.canvas;
        let Render { text, size, colour, change, file, .. } = self;
        Ok(Options {
            title: text.title.clone(),
            subtitle: text.subtitle.clone(),
            notes: text.notes.clone(),
            canvas: Canvas {
                width: size.width,
                frame_height: size.height.unwrap_or(canvas.frame_height),
                min_width: size.minwidth.unwrap_or(canvas.min_width),
                font_family: size.fonttype.clone().unwrap_or(canvas.font_family),
                font_size: size.fontsize.unwrap_or(canvas.font_size),
                font_width: size.fontwidth.unwrap_or(canvas.font_width),
            },
            inverted: size.inverted,
            flame_chart: self.stacks.flamechart,
            cut: if text.truncate_text_left { Cut::Start } else { Cut::End },
            count_name: defaults.count_name,
            name_type: text.nametype.clone().unwrap_or(defaults.name_type),
            colours: Colours {
                palette: colour.colors.unwrap_or_default(),
                seed: colour.random.map_or(0, |seed| if seed == 0 { any_seed() } else { seed }),
                by_width: colour.colordiffusion,
                scheme: change.diff_colors.unwrap_or_default(),
                negate: change.negate,
                kept: self.kept_colours()?,
            },
            background: colour.bgcolors,
            search_colour: colour.search_color.unwrap_or(defaults.search_colour),
            ui_colour: colour.uicolor,
            stroke_colour: colour.stroke_color.and_then(|stroke| stroke.0),
            attributes: self.attributes()?,
            encoding: file.encoding.clone().unwrap_or_default(),
            pretty: file.pretty_xml,
        })
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

    fn attributes(&self) -> anyhow::Result<NameAttributes> {
        let Some(path) = &self.text.nameattr else { return Ok(NameAttributes::default()) };
        let name = path.to_string_lossy();
        let text = fs::read(path).map_err(|e| Error::io("read", e).or_at(|| Position::file(&*name)))?;
        let (attributes, refused) = NameAttributes::parse(&text, &name);
        for error in refused {
            if self.stacks.strict {
                return Err(error.into());
            }
            self.say(format_args!("{error}; left out"));
        }
        Ok(attributes)
    }

    /// With `--cp`, the colours that were kept.
    fn kept_colours(&self) -> anyhow::Result<PaletteMap> {
        if !self.colour.cp {
            return Ok(PaletteMap::default());
        }
        match fs::read(PALETTE_MAP) {
            Ok(text) => Ok(PaletteMap::parse(&text, PALETTE_MAP)?),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(PaletteMap::default()),
            Err(e) => Err(Error::io("read", e).or_at(|| Position::file(PALETTE_MAP)).into()),
        }
    }
}

/// A seed that is another one in every process.
fn any_seed() -> u32 {
    use std::hash::{BuildHasher, RandomState};
    // The standard library seeds its hash tables by chance; 0 would be no seed.
    (RandomState::new().hash_one(0) as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn without_options_all_is_as_the_library_has_it() {
        let render = Render::try_parse_from(["fg-render"]).unwrap();
        assert_eq!(render.settings().unwrap(), Settings::default());
    }

    #[test]
    fn seeds_differ() {
        assert_ne!((any_seed(), any_seed()), (any_seed(), any_seed()));
    }
}

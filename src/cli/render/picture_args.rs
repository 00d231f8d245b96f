//! The options that say how a picture looks, shared by every tool that draws one, and the one way
//! in which a tool writes pictures into files.

use std::fs;
use std::io;
use std::path::Path;

use clap::Args;

use super::args::{ColourArgs, SizeArgs, SourceArgs, StackArgs, TextArgs};
use super::outputs::{self, Pending};
use crate::cli::output::Output;
use crate::cli::terminal;
use crate::error::{Error, Position, Result};
use crate::folded::{Columns, Order};
use crate::reading::Opened;
use crate::render::attributes::NameAttributes;
use crate::render::colour::{Colours, PaletteMap};
use crate::render::exchange::direct::ReadTables;
use crate::render::rewrite::StackRewrite;
use crate::render::writer::write_tables;
use crate::render::{Canvas, Cut, Format, RenderOptions, Settings, Target, Written, write};
use crate::weight::Weight;

/// The file in which `--cp` keeps colours: in the current folder, as other tools do.
const PALETTE_MAP: &str = "palette.map";

/// The look of a picture, whatever tool draws it: [`Settings`] on the command line.
///
/// A tool flattens this group, refuses what its outputs do not take by
/// [`ExplicitOptions`](super::ExplicitOptions), and writes files by [`write_files`].
#[derive(Args, Clone, Debug, Default)]
pub struct PictureArgs {
    /// The stacks that are drawn.
    #[command(flatten)]
    pub stacks: StackArgs,
    /// The texts around the frames.
    #[command(flatten)]
    pub text: TextArgs,
    /// Source code.
    #[command(flatten)]
    pub source: SourceArgs,
    /// Sizes.
    #[command(flatten)]
    pub size: SizeArgs,
    /// Colours.
    #[command(flatten)]
    pub colour: ColourArgs,
}

impl PictureArgs {
    /// The settings; reads the files that options name. `refused` is told of the lines of
    /// `--nameattr` that are left out, and may make one an error.
    ///
    /// # Errors
    /// I/O errors of those files, and the error that `refused` returns.
    pub fn settings(&self, refused: &mut dyn FnMut(Error) -> Result<()>) -> Result<Settings> {
        let PictureArgs { stacks, text, .. } = self;
        let order = match stacks {
            StackArgs { flamechart: true, .. } => Order::Time,
            _ if stacks.is_in_order_of_input() => Order::Input,
            _ if stacks.is_in_order_of_time() => Order::Thread,
            _ => Order::Frame,
        };
        Ok(Settings {
            order,
            rewrite: StackRewrite {
                reverse: stacks.reverse,
                bases: stacks.base.iter().map(|base| base.clone().into_bytes()).collect(),
            },
            picture: self.options(refused)?,
            total: stacks.total,
            factor: stacks.factor.unwrap_or(Weight::ONE),
            unit: text.countname.clone(),
            private: text.private,
            keep_colours: self.colour.cp,
            times: !stacks.no_time,
            source_folders: if self.has_source() { self.source.source_path.clone() } else { Vec::new() },
            source_here: self.has_source(),
            ..Settings::default()
        })
    }

    /// Returns true if outputs of these formats need single samples: see
    /// [`ReadOptions::samples`](crate::reading::ReadOptions::samples).
    pub fn needs_samples<'f>(&self, formats: impl IntoIterator<Item = &'f Format>) -> bool {
        let StackArgs { flamechart, no_time, .. } = self.stacks;
        flamechart
            || self.stacks.is_in_order_of_input()
            || self.stacks.is_in_order_of_time()
            || (!no_time && formats.into_iter().any(Format::shows_times))
    }

    /// Returns true if outputs may hold source code: not one that goes to strangers.
    fn has_source(&self) -> bool {
        !(self.source.no_source || self.text.private)
    }

    fn options(&self, refused: &mut dyn FnMut(Error) -> Result<()>) -> Result<RenderOptions> {
        let defaults = RenderOptions::default();
        let canvas = defaults.canvas;
        let PictureArgs { stacks, text, size, colour, .. } = self;
        Ok(RenderOptions {
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
                scale: size.pixel_ratio.unwrap_or(canvas.scale),
            },
            inverted: size.inverted,
            flame_chart: stacks.flamechart || stacks.is_in_order_of_time(),
            cut: if text.truncate_text_left { Cut::Start } else { Cut::End },
            name_type: text.nametype.clone().unwrap_or(defaults.name_type),
            colours: Colours {
                palette: colour.colors.unwrap_or_default(),
                seed: colour.random.map_or(0, |seed| if seed == 0 { any_seed() } else { seed }),
                by_width: colour.colordiffusion,
                kept: self.kept_colours()?,
                ..Colours::default()
            },
            background: colour.bgcolors,
            search_colour: colour.search_color.unwrap_or(defaults.search_colour),
            ui_colour: colour.uicolor,
            stroke_colour: colour.stroke_color.and_then(|stroke| stroke.0),
            attributes: self.attributes(refused)?,
            ..defaults
        })
    }

    fn attributes(&self, refused: &mut dyn FnMut(Error) -> Result<()>) -> Result<NameAttributes> {
        let Some(path) = &self.text.nameattr else { return Ok(NameAttributes::default()) };
        let name = path.to_string_lossy();
        let text = fs::read(path).map_err(|e| Error::io("read", e).or_at(|| Position::file(&*name)))?;
        let (attributes, errors) = NameAttributes::parse(&text, &name);
        errors.into_iter().try_for_each(refused)?;
        Ok(attributes)
    }

    /// Reads the colours kept by `--cp`; none without it.
    fn kept_colours(&self) -> Result<PaletteMap> {
        if !self.colour.cp {
            return Ok(PaletteMap::default());
        }
        match fs::read(PALETTE_MAP) {
            Ok(text) => Ok(PaletteMap::parse(&text, PALETTE_MAP)?),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(PaletteMap::default()),
            Err(e) => Err(Error::io("read", e).or_at(|| Position::file(PALETTE_MAP))),
        }
    }
}

impl StackArgs {
    fn is_in_order_of_time(&self) -> bool {
        self.order.as_deref() == Some("time")
    }

    fn is_in_order_of_input(&self) -> bool {
        self.no_sort || self.order.as_deref() == Some("input")
    }
}

/// Reads the input once and writes every output, to a file or, without a path, to standard output.
/// All files appear complete or none. With [`Settings::keep_colours`] the new colours of names are
/// kept in `palette.map`.
///
/// # Errors
/// Those of [`write()`], and I/O errors of the files.
pub fn write_files(
    input: &Opened,
    files: &[(Option<&Path>, &'static Format)],
    settings: &Settings,
) -> Result<Written> {
    write_outputs(files, settings, |outputs| write(input, outputs, settings))
}

/// Writes a recording of a format of exchange that was read into tables, as [`write_files`] writes other input.
///
/// # Errors
/// Those of [`write_files`].
pub(crate) fn write_tables_file(
    read: ReadTables,
    file: (Option<&Path>, &'static Format),
    settings: &Settings,
) -> Result<Written> {
    write_outputs(&[file], settings, |mut outputs| {
        let output = outputs.pop().expect("there is one file");
        write_tables(read, output, settings)
    })
}

/// Opens outputs, has them written, and puts the files in their places.
fn write_outputs(
    files: &[(Option<&Path>, &'static Format)],
    settings: &Settings,
    write: impl FnOnce(Vec<(&Format, &mut dyn Target)>) -> Result<Written>,
) -> Result<Written> {
    let mut pending = Vec::with_capacity(files.len());
    for (path, format) in files {
        // Letters fit by themselves.
        let columns = terminal::width().filter(|_| path.is_none() && format.name != "text");
        let output = Pending::open(*path, format.streams)?.fit(columns);
        // All others escape names themselves, and some send colours.
        pending.push(if format.name == "collapsed" { output.showing_controls() } else { output });
    }
    Output::refuse_same_file(pending.iter().map(Pending::output))?;
    let targets = pending.iter_mut().map(|output| output as &mut dyn Target);
    let outputs: Vec<(&Format, &mut dyn Target)> =
        files.iter().zip(targets).map(|((_, format), target)| (*format, target)).collect();
    let written = write(outputs)?;
    outputs::finish(pending)?;
    if !written.is_empty() {
        keep_colours(settings, &written)?;
    }
    Ok(written)
}

/// With `--cp`, writes the colours that names have now, if there are new ones. A differential graph
/// shows changes by colour, and keeps none.
fn keep_colours(settings: &Settings, written: &Written) -> Result<()> {
    if !settings.keep_colours || written.summary.columns == Columns::Two {
        return Ok(());
    }
    let before = &settings.picture.colours.kept;
    let mut kept = before.clone();
    for colours in written.outputs.iter().filter_map(|finished| finished.colours.as_ref()) {
        kept.add_new(colours);
    }
    if kept == *before {
        return Ok(());
    }
    let mut file = Output::new(Some(Path::new(PALETTE_MAP)))?;
    let mut text = io::BufWriter::new(&mut file);
    kept.write(&mut text)?;
    drop(text);
    file.finish()
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

    #[test]
    fn default_arguments_are_the_default_settings() {
        let settings = PictureArgs::default().settings(&mut |_| Ok(())).unwrap();
        // A program may look around where it was started; a library reads no files unasked.
        assert_eq!(settings, Settings { source_here: true, ..Settings::default() });
    }

    #[test]
    fn private_outputs_have_no_source() {
        let mut arguments = PictureArgs::default();
        arguments.source.source_path = vec!["src".into()];
        let source = |arguments: &PictureArgs| {
            let settings = arguments.settings(&mut |_| Ok(())).unwrap();
            (settings.source_folders, settings.source_here)
        };
        assert_eq!(source(&arguments), (vec!["src".into()], true));
        arguments.text.private = true;
        assert_eq!(source(&arguments), (Vec::new(), false));
        arguments.text.private = false;
        arguments.source.no_source = true;
        assert_eq!(source(&arguments), (Vec::new(), false));
    }

    #[test]
    fn seeds_differ() {
        assert_ne!((any_seed(), any_seed()), (any_seed(), any_seed()));
    }
}

//! Draws with the renderer what inferno's options ask for.

use std::io::{self, Write};

use super::color::{Color, StrokeColor};
use super::options::{Direction, Options, TextTruncateDirection, defaults};
use crate::collapse::registry::FOLDED;
use crate::error::{Error, ErrorKind, Result};
use crate::folded::Order;
use crate::input::Source;
use crate::profile::{Facts, header};
use crate::reading::ReadOptions;
use crate::reading::open;
use crate::render::colour::Background;
use crate::render::{self, Cut, Format, MinWidth, Settings};
use crate::weight::Weight;

/// Draws folded text.
pub(super) fn draw(
    options: &mut Options<'_>,
    sources: Vec<Source>,
    mut writer: impl Write,
) -> io::Result<()> {
    let mut settings = settings(options)?;
    let (sources, facts) = headers(sources)?;
    if options.count_name == defaults::COUNT_NAME && facts.iter().any(|facts| facts.unit.is_some()) {
        settings.unit = None;
    }
    let mut picture = Vec::new();
    let opened = open(&sources, &ReadOptions::default().format(FOLDED).places(false))?;
    let written = render::write(&opened, vec![(Format::by_name("svg")?, &mut picture)], &settings)?;
    writer.write_all(&picture)?;
    writer.flush()?;
    let colours = written.outputs.iter().filter_map(|output| output.colours.as_ref());
    if let Some(map) = &mut options.palette_map {
        colours.for_each(|colours| map.0.add_new(colours));
    }
    if written.is_empty() {
        let what = "no stacks in the input; expected lines such as main;parse 42".to_owned();
        return Err(crate::Error::from(ErrorKind::Empty { what }).into());
    }
    Ok(())
}

/// The facts at the beginning of each source, and the sources to be read again.
fn headers(sources: Vec<Source>) -> Result<(Vec<Source>, Vec<Facts>)> {
    let read = |source: Source| source.look(|input| header::read(input.head()));
    Ok(sources.into_iter().map(read).collect::<Result<Vec<_>>>()?.into_iter().unzip())
}

fn settings(options: &Options<'_>) -> Result<Settings> {
    if !options.min_width.is_finite() {
        return Err(Error::setting("min_width is not a number"));
    }
    let given = |text: &str, default: &str| (text != default).then(|| text.to_owned());
    let pixels = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
    let mut settings = Settings::default();
    settings.order = match options {
        Options { reverse_stack_order: true, .. } => Order::Frame,
        Options { flame_chart: true, .. } => Order::Time,
        Options { no_sort: true, .. } => Order::Input,
        _ => Order::Frame,
    };
    settings.rewrite.reverse = options.reverse_stack_order;
    settings.rewrite.bases = options.base.iter().map(|base| base.clone().into_bytes()).collect();
    settings.factor = factor(options.factor)?;
    settings.unit = Some(options.count_name.clone());
    settings.keep_colours = options.palette_map.is_some();

    let picture = &mut settings.picture;
    picture.title = given(&options.title, defaults::TITLE);
    picture.subtitle.clone_from(&options.subtitle);
    picture.notes = given(&options.notes, "");
    picture.inverted = options.direction == Direction::Inverted;
    picture.flame_chart = options.flame_chart;
    picture.name_type.clone_from(&options.name_type);
    picture.pretty = options.pretty_xml;
    picture.attributes = options.func_frameattrs.0.clone();
    picture.cut = match options.text_truncate_direction {
        TextTruncateDirection::Left => Cut::Start,
        TextTruncateDirection::Right => Cut::End,
    };

    let canvas = &mut picture.canvas;
    canvas.width = options.image_width.map(pixels);
    canvas.frame_height = pixels(options.frame_height);
    canvas.min_width = MinWidth::Percent(options.min_width);
    canvas.font_family.clone_from(&options.font_type);
    canvas.font_size = options.font_size as f64;
    canvas.font_width = options.font_width;

    let colours = &mut picture.colours;
    colours.palette = options.colors.to_renderer();
    colours.by_width = options.color_diffusion;
    colours.negate = options.negate_differentials;
    if let Some(map) = &options.palette_map {
        colours.kept.clone_from(&map.0);
    }
    picture.background = options.bgcolors.map(Background::from);
    picture.search_colour = options.search_color.0.into();
    // Black is the default, and becomes light on dark screens.
    picture.ui_colour = Some(options.uicolor).filter(|&color| color != Color::default()).map(Into::into);
    picture.stroke_colour = match options.stroke_color {
        StrokeColor::Color(color) => Some(color.into()),
        StrokeColor::None => None,
    };
    Ok(settings)
}

/// The shortest decimal that is this number.
fn factor(factor: f64) -> Result<Weight> {
    let weight =
        Some(factor).filter(|factor| *factor > 0.0).and_then(|f| Weight::parse(f.to_string().as_bytes()));
    weight.ok_or_else(|| Error::setting(format!("factor {factor}: expected a number above 0")))
}

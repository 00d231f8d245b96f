//! Draws with the renderer what inferno's options ask for.

use std::io::{self, Write};

use super::color::{Color, StrokeColor};
use super::options::{Direction, Options, TextTruncateDirection, defaults};
use crate::error::{ErrorKind, Result};
use crate::folded::{Order, Rewrite};
use crate::input::Source;
use crate::profile::Opened;
use crate::render::colour::{Background, Colours};
use crate::render::rewrite::StackRewrite;
use crate::render::sink::feed;
use crate::render::{self, Canvas, Cut, Format, MinWidth, Settings};
use crate::weight::Weight;

/// Draws folded text.
pub(super) fn draw(options: &mut Options<'_>, sources: Vec<Source>, mut writer: impl Write) -> io::Result<()> {
    let settings = settings(options)?;
    let order = match options {
        Options { reverse_stack_order: true, .. } => Order::Frame,
        Options { flame_chart: true, .. } => Order::Time,
        Options { no_sort: true, .. } => Order::Input,
        _ => Order::Frame,
    };
    let rewrite = StackRewrite {
        reverse: options.reverse_stack_order,
        bases: options.base.iter().map(|base| base.clone().into_bytes()).collect(),
    };
    let is_rewritten = rewrite.is_needed();
    let apply = move |stack: &[u8], out: &mut Vec<u8>| rewrite.apply(stack, out);
    let rewrite: Option<&Rewrite> = if is_rewritten { Some(&apply) } else { None };

    let mut picture = Vec::new();
    let mut sinks = vec![(Format::by_name("svg")?.open)(&settings, &mut picture)?];
    let summary = feed(&Opened::Folded(sources), order, rewrite, &mut sinks)?;
    let mut colours = None;
    for sink in sinks {
        colours = sink.finish(&summary)?.colours;
    }
    writer.write_all(&picture)?;
    writer.flush()?;
    if let (Some(map), Some(colours)) = (&mut options.palette_map, colours) {
        map.0.add_new(&colours);
    }
    if summary.total.is_zero() {
        let what = "no stacks in the input; expected lines such as main;parse 42".to_owned();
        return Err(crate::Error::from(ErrorKind::Empty { what }).into());
    }
    Ok(())
}

fn settings(options: &Options<'_>) -> Result<Settings> {
    if !options.min_width.is_finite() {
        return Err(ErrorKind::Setting { what: "min_width is not a number".to_owned() }.into());
    }
    let given = |text: &str, default: &str| (text != default).then(|| text.to_owned());
    let pixels = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
    let picture = render::Options {
        title: given(&options.title, defaults::TITLE),
        subtitle: options.subtitle.clone(),
        notes: given(&options.notes, ""),
        canvas: Canvas {
            width: options.image_width.map(pixels),
            frame_height: pixels(options.frame_height),
            min_width: MinWidth::Percent(options.min_width),
            font_family: options.font_type.clone(),
            font_size: options.font_size as f64,
            font_width: options.font_width,
        },
        inverted: options.direction == Direction::Inverted,
        flame_chart: options.flame_chart,
        cut: match options.text_truncate_direction {
            TextTruncateDirection::Left => Cut::Start,
            TextTruncateDirection::Right => Cut::End,
        },
        name_type: options.name_type.clone(),
        colours: Colours {
            palette: options.colors.to_renderer(),
            by_width: options.color_diffusion,
            negate: options.negate_differentials,
            kept: options.palette_map.as_ref().map(|map| map.0.clone()).unwrap_or_default(),
            ..Colours::default()
        },
        background: options.bgcolors.map(Background::from),
        search_colour: options.search_color.0.into(),
        // Black is the default, and becomes light on dark screens.
        ui_colour: Some(options.uicolor).filter(|&color| color != Color::default()).map(Into::into),
        stroke_colour: match options.stroke_color {
            StrokeColor::Color(color) => Some(color.into()),
            StrokeColor::None => None,
        },
        attributes: options.func_frameattrs.0.clone(),
        pretty: options.pretty_xml,
        ..render::Options::default()
    };
    Ok(Settings {
        picture,
        factor: factor(options.factor)?,
        unit: given(&options.count_name, defaults::COUNT_NAME),
        keep_colours: options.palette_map.is_some(),
        ..Settings::default()
    })
}

/// The shortest decimal that is this number.
fn factor(factor: f64) -> Result<Weight> {
    let weight = Some(factor).filter(|factor| *factor > 0.0).and_then(|f| Weight::parse(f.to_string().as_bytes()));
    weight.ok_or_else(|| {
        ErrorKind::Setting { what: format!("factor {factor}: expected a number above 0") }.into()
    })
}

//! Parsers of the values of `fg-render`'s options, and their messages.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::profile::Label;
use crate::render::colour::{Background, ColourScheme, PALETTES, Rgb, SCHEMES, Scheme};
use crate::render::compare::{WIDTHS, Widths};
use crate::render::settings::{SORTS, Sort};
use crate::render::{FORMATS, MinWidth};
use crate::tally::{GROUPS, RowKind};
use crate::weight::Weight;

/// An outline, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stroke(pub Option<Rgb>);

pub(super) fn weight(text: &str) -> Result<Weight, String> {
    let weight = Weight::parse(text.as_bytes()).filter(|weight| !weight.is_negative());
    weight.ok_or_else(|| "expected a number such as 1000 or 0.25".to_owned())
}

pub(super) fn factor(text: &str) -> Result<Weight, String> {
    weight(text).ok().filter(|factor| !factor.is_zero()).ok_or_else(|| "expected a number above 0".to_owned())
}

/// 0 is any seed.
pub(super) fn seed(text: &str) -> Result<u32, String> {
    let seed = if text == "any" { Some(0) } else { text.parse().ok().filter(|seed| *seed > 0) };
    seed.ok_or_else(|| format!("expected a number from 1 to {}", u32::MAX))
}

pub(super) fn number_within(text: &str, from: f64, to: f64) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (from..=to).contains(number));
    number.ok_or_else(|| format!("expected a number from {from} to {to}"))
}

pub(super) fn font_size(text: &str) -> Result<f64, String> {
    number_within(text, 1.0, 500.0)
}

pub(super) fn font_width(text: &str) -> Result<f64, String> {
    number_within(text, 0.01, 10.0)
}

pub(super) fn scale(text: &str) -> Result<f64, String> {
    number_within(text, 0.1, 10.0)
}

pub(super) fn min_width(text: &str) -> Result<MinWidth, String> {
    match text.strip_suffix('%') {
        Some(percent) => number_within(percent, 0.0, 100.0).map(MinWidth::Percent),
        None => number_within(text, 0.0, 100_000.0).map(MinWidth::Pixels),
    }
}

pub(super) fn colour(text: &str) -> Result<Rgb, String> {
    Rgb::parse_hex(text).ok_or_else(|| "expected a colour such as #1060c0".to_owned())
}

pub(super) fn stroke(text: &str) -> Result<Stroke, String> {
    if text == "none" { Ok(Stroke(None)) } else { colour(text).map(|colour| Stroke(Some(colour))) }
}

pub(super) fn background(text: &str) -> Result<Background, String> {
    let known = Background::parse(text);
    known.ok_or_else(|| "expected yellow, blue, green, grey or a colour such as #1060c0".to_owned())
}

pub(super) fn palettes() -> impl TypedValueParser<Value = ColourScheme> {
    let names = PALETTES.iter().map(|(name, about, _)| PossibleValue::new(*name).help(*about));
    PossibleValuesParser::new(names).map(|name| ColourScheme::by_name(&name).expect("only names of the list"))
}

pub(super) fn widths() -> impl TypedValueParser<Value = Widths> {
    let by_name = |name: String| WIDTHS.iter().find(|(known, _)| *known == name).map(|(_, widths)| *widths);
    let names = WIDTHS.iter().map(|(name, _)| *name);
    PossibleValuesParser::new(names).map(move |name| by_name(name).expect("only names of the list"))
}

pub(super) fn schemes() -> impl TypedValueParser<Value = Scheme> {
    let by_name =
        |name: String| SCHEMES.iter().find(|(known, _, _)| *known == name).map(|(_, _, scheme)| *scheme);
    let names = SCHEMES.iter().map(|(name, about, _)| PossibleValue::new(*name).help(*about));
    PossibleValuesParser::new(names).map(move |name| by_name(name).expect("only names of the list"))
}

pub(super) fn alpha(text: &str) -> Result<f64, String> {
    number_within(text, 0.0, 1.0)
}

pub(super) fn points(text: &str) -> Result<f64, String> {
    number_within(text, 0.0, 100.0)
}

pub(super) fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.about)))
}

/// The things that have rows in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Functions, modules, threads or stacks.
    RowKind(RowKind),
    /// The values of a label.
    Label(Label),
}

pub(super) fn rows(text: &str) -> Result<Rows, String> {
    match GROUPS.iter().find(|(name, _)| *name == text) {
        Some((_, group)) => Ok(Rows::RowKind(*group)),
        None => Label::parse(text).map(Rows::Label).map_err(|error| error.to_string()),
    }
}

pub(super) fn sorts() -> impl TypedValueParser<Value = Sort> {
    let by_name = |name: String| SORTS.iter().find(|(known, _)| *known == name).map(|(_, sort)| *sort);
    PossibleValuesParser::new(SORTS.iter().map(|(name, _)| *name))
        .map(move |name| by_name(name).expect("only names of the list"))
}

//! One HTML file with the whole profile in it, to look at from all sides: flame graph, icicle,
//! callers, butterfly, table.
//!
//! Nothing is left out for being narrow: what is seen is the page's affair. The tree goes into a
//! [`payload`] of a byte or so a frame, the page is made of the files in `page/`: ordinary
//! modules, that are joined by `bundle`, so that the file needs nothing but itself.
//!
//! Names are hostile. They are in the file as compressed bytes in base64 only, the page makes
//! text of them and never markup, and its policy allows nothing from elsewhere.

mod base64;
mod bundle;
pub mod payload;

use std::io::Write;

use serde_json::{Value, json};

use crate::error::Result;
use crate::folded::{Columns, Frame, Visitor, WalkSummary, Weights};
use crate::render::colour::{Colours, PALETTES, Palette, Scheme};
use crate::render::compare::WIDTHS;
use crate::render::format::takes;
use crate::render::writer::{Finished, Target, Writer};
use crate::render::{Cut, Format, Settings};
use payload::{Encoder, Hues, Payload, deflate};

/// Says what made the page, and by which version of the payload's rules; `fg-collapse` looks for it.
pub const GENERATOR: &str = "fg-render html 1";

/// The format.
pub const FORMAT: Format = Format {
    name: "html",
    endings: &["html", "htm"],
    about: "a page to explore the whole profile in",
    takes: &[
        &["title", "subtitle", "notes", "inverted", "search-color"],
        &["colors", "hash", "deterministic", "random", "colordiffusion"],
        &["widths"],
        takes::CHANGE,
        takes::UNIT,
        takes::CUT,
    ],
    streams: false,
    open,
};

const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");
/// More notes about a profile than that are no header.

fn open<'a>(settings: &'a Settings, target: &'a mut dyn Target) -> Result<Box<dyn Writer + 'a>> {
    Ok(Box::new(Page { encoder: Encoder::new(settings.factor), settings, target }))
}

/// A page in the making.
struct Page<'a> {
    encoder: Encoder,
    settings: &'a Settings,
    target: &'a mut dyn Target,
}

impl Visitor for Page<'_> {
    #[inline]
    fn exit(&mut self, frame: Frame<'_>, so_far: Weights) -> Result<()> {
        self.encoder.exit(frame, so_far)
    }

    fn restart(&mut self) -> Result<()> {
        self.encoder.restart()
    }
}

impl Writer for Page<'_> {
    fn finish(self: Box<Self>, summary: &WalkSummary) -> Result<Finished> {
        let Page { encoder, settings, target } = *self;
        let palette = settings.picture.colours.palette;
        let hue = |name: &[u8]| palette.hue(name).map_or(0, |hue| hue as u8);
        let asks_names = matches!(palette, Palette::Named(_));
        let payload = encoder.finish(asks_names.then_some(&hue as Hues<'_>))?;
        write(&payload, &about(&payload, summary, settings)?, settings, target)?;
        Ok(Finished::default())
    }
}

fn write(payload: &Payload, about: &Value, settings: &Settings, mut out: &mut dyn Target) -> Result<()> {
    let mut rest = TEMPLATE;
    let mut until = |mark: &str, out: &mut dyn Target| -> Result<()> {
        let (before, behind) = rest.split_once(mark).expect("the template has every mark once");
        rest = behind;
        Ok(out.write_all(before.as_bytes())?)
    };
    until("{generator}", out)?;
    out.write_all(GENERATOR.as_bytes())?;
    until("{title}", out)?;
    out.write_all(escaped(settings.picture.title()).as_bytes())?;
    until("{sections}", out)?;
    section("about", &deflate(about.to_string().as_bytes())?, &mut out)?;
    for (name, bytes) in &payload.sections {
        section(name, bytes, &mut out)?;
    }
    section("style", &deflate(bundle::style(STYLE).as_bytes())?, &mut out)?;
    section("script", &deflate(bundle::script().as_bytes())?, &mut out)?;
    until("{loader}", out)?;
    out.write_all(bundle::loader().as_bytes())?;
    Ok(out.write_all(rest.as_bytes())?)
}

/// What the page has to know besides the tree.
fn about(payload: &Payload, summary: &WalkSummary, settings: &Settings) -> Result<Value> {
    let (picture, comparison) = (&settings.picture, &settings.comparison);
    let Colours { palette, seed, by_width, scheme, negate, .. } = &picture.colours;
    let palette_name = PALETTES.iter().find(|(_, _, known)| known == palette).map(|(name, _, _)| name);
    let widths = WIDTHS.iter().find(|(_, known)| *known == comparison.widths).map(|(name, _)| name);
    let legend: Vec<Value> = palette.legend().iter().map(|(label, hue)| json!([label, *hue as u8])).collect();
    let total = settings.shown_both(summary.total)?;
    Ok(json!({
        "tool": concat!("fg-render ", env!("CARGO_PKG_VERSION")),
        "title": picture.title(),
        "subtitle": picture.subtitle,
        "notes": picture.notes,
        "facts": summary.facts.details(),
        "unit": settings.unit(summary),
        "total": total.value.to_string(),
        "before": total.before.to_string(),
        "frames": payload.frames,
        "scales": payload.scales,
        "differential": summary.columns == Columns::Two,
        "chart": picture.flame_chart,
        "icicle": picture.inverted,
        "cutStart": picture.cut == Cut::Start,
        "palette": palette_name,
        "seed": seed,
        "byWidth": by_width,
        "legend": legend,
        "found": picture.search_colour.to_string(),
        "redBlue": *scheme == Scheme::RedBlue,
        "negate": negate,
        "widths": widths,
        "ownChange": comparison.own,
        // Nothing is noise when all may be taken for a change; JSON has no infinity.
        "alpha": comparison.alpha.is_finite().then_some(comparison.alpha),
        "minEffect": comparison.min_effect,
        "period": comparison.period.map(|period| period.to_f64() * settings.factor.to_f64()),
    }))
}

fn section(name: &str, bytes: &[u8], out: &mut dyn Write) -> Result<()> {
    write!(out, "<script type=\"application/octet-stream\" id=\"data-{name}\">")?;
    base64::write(bytes, out)?;
    out.write_all(b"</script>\n")?;
    Ok(())
}

/// Text between tags.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '\0' => safe.push(char::REPLACEMENT_CHARACTER),
            _ => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(settings: &Settings, text: &str) -> String {
        use crate::folded::{Order, walk};
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let mut out = Vec::new();
        let mut writer = open(settings, &mut out).unwrap();
        let sources = [crate::input::Source::new(file.path())];
        let summary = walk(&sources, Order::Frame, None, &mut *writer).unwrap();
        writer.finish(&summary).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_page_without_data_is_small() {
        let size = page(&Settings::default(), "a 1\n").len();
        assert!(size <= 60_000, "{size}");
    }

    #[test]
    fn hostile_texts_stay_text() {
        let mut settings = Settings::default();
        settings.picture.title = Some("</title><script>alert(1)</script>".to_owned());
        settings.picture.notes = Some("</script><img src=x onerror=alert(2)>".to_owned());
        let page = page(&settings, "</script><script>alert(3)</script>;a 1\n");
        assert!(page.contains("<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;</title>"));
        assert_eq!(page.matches("alert(").count(), 1, "all else is in the compressed data");
    }
}

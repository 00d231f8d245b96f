//! The script and the style sheet, and the options handed to them.

use std::fmt::Write as _;

use crate::error::Result;
use crate::folded::Columns;
use crate::render::colour::{ColourScheme, UNSURE};
use crate::render::layout::Graph;
use crate::render::{Canvas, Cut, RenderOptions};
use crate::weight::Weight;

/// The script that makes the picture interactive: its parts, as one function that leaves no name
/// behind. The matcher of names is that of the page.
pub(super) const VIEWER: &str = concat!(
    "(function (config, root) {\n\"use strict\";\n",
    include_str!(concat!(env!("OUT_DIR"), "/matcher.js")),
    include_str!("viewer/view.js"),
    include_str!("viewer/tree.js"),
    include_str!("viewer/text.js"),
    include_str!("viewer/draw.js"),
    include_str!("viewer/search.js"),
    include_str!("viewer/select.js"),
    include_str!("viewer/ghosts.js"),
    include_str!("viewer/address.js"),
    include_str!("viewer/pointer.js"),
    include_str!("viewer/boxes.js"),
    include_str!("viewer/keyboard.js"),
    include_str!("viewer/panels.js"),
    include_str!("viewer/surround.js"),
    include_str!("viewer/start.js"),
    // Inside a page of several pictures, each script finds the one that it stands in.
    "})(fg, document.currentScript ? document.currentScript.closest(\"svg\") : document.documentElement);\n"
);
/// The style sheet.
pub(super) const STYLE: &str = include_str!("style.css");

/// `var fg = {…};`: what the script has to know.
pub(super) fn settings(graph: &Graph, options: &RenderOptions, height: f64) -> Result<String> {
    let canvas = &options.canvas;
    let differential = graph.columns == Columns::Two;
    let mut object = Object(String::from("\"use strict\";\nvar fg = {"));
    object.text("title", options.title());
    object.text("nametype", &options.name_type);
    object.raw("total", format_args!("\"{}\"", graph.shown(graph.total)?));
    object.raw("width", canvas.width.map_or_else(|| "null".to_owned(), |width| width.to_string()));
    object.raw("height", height);
    object.raw("frameHeight", canvas.frame_height);
    object.text("fontFamily", &canvas.font_family);
    object.raw("fontSize", canvas.font_size);
    object.raw("fontWidth", canvas.font_width);
    object.raw("minWidthPx", canvas.least_share() * canvas.frames_width());
    object.raw("pad", Canvas::MARGIN);
    object.raw("inverted", options.inverted);
    object.raw("flamechart", options.flame_chart);
    object.raw("truncateRight", options.cut == Cut::End);
    object.raw("differential", differential);
    object.raw("ghosts", graph.union.is_some());
    object.raw("leftOut", graph.left_out > 0);
    object.raw("searchColor", format_args!("\"{}\"", options.search_colour));
    object.raw("legend", legend(options, differential));
    let mut text = object.0;
    text.push_str("\n};\n");
    Ok(text)
}

fn legend(options: &RenderOptions, differential: bool) -> String {
    let colours = &options.colours;
    let one = Weight::ONE;
    let meanings = if differential {
        vec![
            ("grew", colours.change(one, one)),
            ("same", colours.change(Weight::ZERO, one)),
            ("shrank", colours.change(one.negated(), one)),
            ("not significant", UNSURE),
        ]
    } else if colours.by_width || colours.palette == ColourScheme::Diff {
        Vec::new()
    } else {
        colours.palette.legend().iter().map(|(label, hue)| (*label, hue.colour(0.5))).collect()
    };
    let entries: Vec<_> = meanings
        .iter()
        .map(|(label, colour)| format!("{{label: {}, color: \"{colour}\"}}", string(label)))
        .collect();
    format!("[{}]", entries.join(", "))
}

struct Object(String);

impl Object {
    fn raw(&mut self, key: &str, value: impl std::fmt::Display) {
        let comma = if self.0.ends_with('{') { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{comma}\n  {key}: {value}");
    }

    fn text(&mut self, key: &str, value: &str) {
        self.raw(key, string(value));
    }
}

/// A string literal that is one in JavaScript and JSON, holds only ASCII, and can end neither
/// the script nor the section it stands in.
fn string(text: &str) -> String {
    let mut literal = String::from("\"");
    for unit in text.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte @ b' '..=b'~') if !b"\"\\<>&'".contains(&byte) => literal.push(byte.into()),
            _ => {
                let _ = write!(literal, "\\u{unit:04x}");
            }
        }
    }
    literal.push('"');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_cannot_leave_the_script() {
        assert_eq!(
            string("a\"]]></script>\\\n'&"),
            r#""a\u0022]]\u003e\u003c/script\u003e\u005c\u000a\u0027\u0026""#
        );
        assert_eq!(string("ä😀\u{2028}"), r#""\u00e4\ud83d\ude00\u2028""#);
    }

    #[test]
    fn what_is_embedded_keeps_to_its_section() {
        for embedded in [VIEWER, STYLE] {
            assert!(embedded.is_ascii(), "other encodings may be declared");
            for end in ["]]>", "</script", "</style", "<!--"] {
                assert!(!embedded.contains(end), "{end}");
            }
        }
    }
}

//! The background of a picture.

use super::{ColourScheme, Rgb};

/// Two colours that flow into each other from top to bottom, or one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Background {
    Yellow,
    Blue,
    Green,
    Grey,
    Flat(Rgb),
}

impl Background {
    /// Reads a value of `--bgcolors`: a name, or `#rrggbb`.
    pub fn parse(text: &str) -> Option<Background> {
        match text {
            "yellow" => Some(Background::Yellow),
            "blue" => Some(Background::Blue),
            "green" => Some(Background::Green),
            "grey" | "gray" => Some(Background::Grey),
            _ => Rgb::parse_hex(text).map(Background::Flat),
        }
    }

    /// The background that suits a palette.
    pub fn of(palette: ColourScheme) -> Background {
        use super::palette::Rules;
        match palette {
            ColourScheme::Mem => Background::Green,
            ColourScheme::Io | ColourScheme::Wakeup | ColourScheme::Named(Rules::Chain) => Background::Blue,
            ColourScheme::Plain(_) => Background::Grey,
            ColourScheme::Hot | ColourScheme::Named(_) | ColourScheme::Diff => Background::Yellow,
        }
    }

    /// The colours at the top and at the bottom.
    pub fn colours(self) -> (Rgb, Rgb) {
        match self {
            Background::Yellow => (Rgb(0xee, 0xee, 0xee), Rgb(0xee, 0xee, 0xb0)),
            Background::Blue => (Rgb(0xee, 0xee, 0xee), Rgb(0xe0, 0xe0, 0xff)),
            Background::Green => (Rgb(0xee, 0xf2, 0xee), Rgb(0xe0, 0xff, 0xe0)),
            Background::Grey => (Rgb(0xf8, 0xf8, 0xf8), Rgb(0xe8, 0xe8, 0xe8)),
            Background::Flat(colour) => (colour, colour),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn palettes_have_their_backgrounds() {
        for (palette, background) in [
            ("mem", Background::Green),
            ("io", Background::Blue),
            ("wakeup", Background::Blue),
            ("chain", Background::Blue),
            ("aqua", Background::Grey),
            ("red", Background::Grey),
            ("hot", Background::Yellow),
            ("java", Background::Yellow),
        ] {
            assert_eq!(Background::of(ColourScheme::by_name(palette).unwrap()), background, "{palette}");
        }
    }

    #[test]
    fn backgrounds_are_named_or_a_colour() {
        assert_eq!(Background::parse("grey"), Some(Background::Grey));
        assert_eq!(Background::parse("#102030"), Some(Background::Flat(Rgb(16, 32, 48))));
        assert_eq!(Background::parse("url(#x)"), None);
    }
}

//! Palettes and colours, in the shape of `inferno::flamegraph::color`.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

use crate::render::colour::{self, Background, Hue, Rgb, Rules};

/// A colour: red, green, blue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub struct Color {
    pub r: u8,
    pub g: u8,
    pub b: u8,
}

impl From<Rgb> for Color {
    fn from(Rgb(r, g, b): Rgb) -> Color {
        Color { r, g, b }
    }
}

impl From<Color> for Rgb {
    fn from(Color { r, g, b }: Color) -> Rgb {
        Rgb(r, g, b)
    }
}

/// Reads `#rrggbb`.
///
/// ```
/// use fg_tools::flamegraph::color::{Color, parse_hex_color};
///
/// assert_eq!(parse_hex_color("#ff8000"), Some(Color { r: 255, g: 128, b: 0 }));
/// assert_eq!(parse_hex_color("orange"), None);
/// ```
pub fn parse_hex_color(text: &str) -> Option<Color> {
    Rgb::parse_hex(text).map(Color::from)
}

fn parse_color(text: &str) -> Result<Color, String> {
    parse_hex_color(text).ok_or_else(|| format!("unknown color: {text}; write #rrggbb"))
}

/// The background of a flame graph: a gradient, or one colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum BackgroundColor {
    #[default]
    Yellow,
    Blue,
    Green,
    Grey,
    Flat(Color),
}

impl FromStr for BackgroundColor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match Background::parse(text) {
            Some(Background::Yellow) => Ok(BackgroundColor::Yellow),
            Some(Background::Blue) => Ok(BackgroundColor::Blue),
            Some(Background::Green) => Ok(BackgroundColor::Green),
            Some(Background::Grey) => Ok(BackgroundColor::Grey),
            Some(Background::Flat(colour)) => Ok(BackgroundColor::Flat(colour.into())),
            None => Err(format!("unknown background color: {text}")),
        }
    }
}

impl From<BackgroundColor> for Background {
    fn from(color: BackgroundColor) -> Background {
        match color {
            BackgroundColor::Yellow => Background::Yellow,
            BackgroundColor::Blue => Background::Blue,
            BackgroundColor::Green => Background::Green,
            BackgroundColor::Grey => Background::Grey,
            BackgroundColor::Flat(color) => Background::Flat(color.into()),
        }
    }
}

/// The colours of frames.
///
/// ```
/// use fg_tools::flamegraph::color::{MultiPalette, Palette};
///
/// assert_eq!("java".parse(), Ok(Palette::Multi(MultiPalette::Java)));
/// assert!("nosuch".parse::<Palette>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Palette {
    /// One range of colours for all frames.
    Basic(BasicPalette),
    /// A range for each kind of frame: kernel, compiled at run time, a language's own.
    Multi(MultiPalette),
}

/// One range of colours for all frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum BasicPalette {
    Hot,
    Mem,
    Io,
    Red,
    Green,
    Blue,
    Aqua,
    Yellow,
    Purple,
    Orange,
}

/// A range of colours for each kind of frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum MultiPalette {
    Java,
    Js,
    Perl,
    Python,
    Rust,
    Wakeup,
}

/// Every palette: its name, itself, and the renderer's.
const PALETTES: &[(&str, Palette, colour::ColourScheme)] = &[
    ("aqua", Palette::Basic(BasicPalette::Aqua), colour::ColourScheme::Plain(Hue::Aqua)),
    ("blue", Palette::Basic(BasicPalette::Blue), colour::ColourScheme::Plain(Hue::Blue)),
    ("green", Palette::Basic(BasicPalette::Green), colour::ColourScheme::Plain(Hue::Green)),
    ("hot", Palette::Basic(BasicPalette::Hot), colour::ColourScheme::Hot),
    ("io", Palette::Basic(BasicPalette::Io), colour::ColourScheme::Io),
    ("java", Palette::Multi(MultiPalette::Java), colour::ColourScheme::Named(Rules::Java)),
    ("js", Palette::Multi(MultiPalette::Js), colour::ColourScheme::Named(Rules::Js)),
    ("mem", Palette::Basic(BasicPalette::Mem), colour::ColourScheme::Mem),
    ("orange", Palette::Basic(BasicPalette::Orange), colour::ColourScheme::Plain(Hue::Orange)),
    ("perl", Palette::Multi(MultiPalette::Perl), colour::ColourScheme::Named(Rules::Perl)),
    ("python", Palette::Multi(MultiPalette::Python), colour::ColourScheme::Named(Rules::Python)),
    ("purple", Palette::Basic(BasicPalette::Purple), colour::ColourScheme::Plain(Hue::Purple)),
    ("red", Palette::Basic(BasicPalette::Red), colour::ColourScheme::Plain(Hue::Red)),
    ("rust", Palette::Multi(MultiPalette::Rust), colour::ColourScheme::Named(Rules::Rust)),
    ("wakeup", Palette::Multi(MultiPalette::Wakeup), colour::ColourScheme::Wakeup),
    ("yellow", Palette::Basic(BasicPalette::Yellow), colour::ColourScheme::Plain(Hue::Yellow)),
];

impl Palette {
    /// The names that [`Palette::from_str`] takes.
    pub const VARIANTS: &'static [&'static str] = &[
        "aqua", "blue", "green", "hot", "io", "java", "js", "mem", "orange", "perl", "python", "purple",
        "red", "rust", "wakeup", "yellow",
    ];

    /// The palette as the renderer has it.
    pub(super) fn to_renderer(self) -> colour::ColourScheme {
        let found = PALETTES.iter().find(|(_, palette, _)| *palette == self);
        found.map_or(colour::ColourScheme::Hot, |(.., palette)| *palette)
    }
}

impl Default for Palette {
    fn default() -> Self {
        Palette::Basic(BasicPalette::Hot)
    }
}

impl FromStr for Palette {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = PALETTES.iter().find(|(name, ..)| *name == text);
        found.map(|(_, palette, _)| *palette).ok_or_else(|| format!("unknown color palette: {text}"))
    }
}

/// The colour of frames that a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchColor(pub(super) Color);

impl FromStr for SearchColor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_color(text).map(SearchColor)
    }
}

impl fmt::Display for SearchColor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rgb({},{},{})", self.0.r, self.0.g, self.0.b)
    }
}

/// The outline of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrokeColor {
    /// An outline of a colour.
    Color(Color),
    /// No outline.
    None,
}

impl FromStr for StrokeColor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" { Ok(StrokeColor::None) } else { parse_color(text).map(StrokeColor::Color) }
    }
}

/// The colours of functions, kept from one flame graph to the next.
///
/// ```
/// use fg_tools::flamegraph::{self, Options, color::{Color, PaletteMap}};
///
/// let mut map = PaletteMap::default();
/// map.insert("main", Color { r: 1, g: 2, b: 3 });
/// let mut options = Options::default();
/// options.palette_map = Some(&mut map);
/// flamegraph::from_lines(&mut options, ["main;parse 40"], &mut Vec::new())?;
/// assert_eq!(map.get("main"), Some(Color { r: 1, g: 2, b: 3 }));
/// assert!(map.get("parse").is_some());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaletteMap(pub(super) colour::PaletteMap);

impl PaletteMap {
    /// The colour of a function.
    pub fn get(&self, function: &str) -> Option<Color> {
        self.0.get(function.as_bytes()).map(Color::from)
    }

    /// Keeps a colour for a function, and returns the one before.
    pub fn insert(&mut self, function: impl ToString, color: Color) -> Option<Color> {
        let function = function.to_string();
        let before = self.get(&function);
        self.0.insert(function.as_bytes(), color.into());
        before
    }

    /// Reads lines `NAME->rgb(RED,GREEN,BLUE)`.
    ///
    /// # Errors
    /// The reader's, and [`io::ErrorKind::InvalidData`] for a line that is something else: it would be
    /// lost when the map is written.
    pub fn from_reader(reader: &mut dyn io::BufRead) -> io::Result<PaletteMap> {
        let mut text = Vec::new();
        reader.read_to_end(&mut text)?;
        Ok(PaletteMap(colour::PaletteMap::parse(&text, "palette map")?))
    }

    /// Writes lines `NAME->rgb(RED,GREEN,BLUE)`, sorted by name.
    ///
    /// # Errors
    /// The writer's.
    pub fn to_writer(&self, writer: &mut dyn Write) -> io::Result<()> {
        Ok(self.0.write(writer)?)
    }

    /// Reads a file; a file that does not exist is an empty map.
    ///
    /// # Errors
    /// The system's, and those of [`PaletteMap::from_reader`].
    pub fn load_from_file_or_empty(path: &dyn AsRef<Path>) -> io::Result<PaletteMap> {
        match File::open(path) {
            Ok(file) => PaletteMap::from_reader(&mut io::BufReader::new(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(PaletteMap::default()),
            Err(error) => Err(error),
        }
    }

    /// Writes a file.
    ///
    /// # Errors
    /// The system's.
    pub fn save_to_file(&self, path: &dyn AsRef<Path>) -> io::Result<()> {
        let mut text = Vec::new();
        self.to_writer(&mut text)?;
        std::fs::write(path, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_palette_has_a_name_and_a_colour() {
        let names: Vec<&str> = PALETTES.iter().map(|(name, ..)| *name).collect();
        assert_eq!(names, Palette::VARIANTS);
        for name in Palette::VARIANTS {
            let palette: Palette = name.parse().unwrap();
            assert_eq!(Some(palette.to_renderer()), colour::ColourScheme::by_name(name), "{name}");
        }
    }

    #[test]
    fn palettes_are_those_of_inferno() {
        use inferno::flamegraph::color::Palette as Theirs;
        assert_eq!(Palette::VARIANTS, Theirs::VARIANTS);
        for name in Palette::VARIANTS {
            let (ours, theirs) = (name.parse::<Palette>().unwrap(), name.parse::<Theirs>().unwrap());
            assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
        }
    }

    #[test]
    fn maps_survive_a_round_trip() {
        let mut map = PaletteMap::default();
        map.insert("operator->", Color { r: 1, g: 2, b: 3 });
        let mut text = Vec::new();
        map.to_writer(&mut text).unwrap();
        assert_eq!(text, b"operator->->rgb(1,2,3)\n");
        assert_eq!(PaletteMap::from_reader(&mut &text[..]).unwrap(), map);
        assert!(PaletteMap::from_reader(&mut &b"no colour\n"[..]).is_err());
    }
}

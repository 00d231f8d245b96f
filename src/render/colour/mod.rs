//! Colours: a name has the same one in every file and every output format.
//!
//! A palette leaves three numbers open, which come from a hash of the whole name, annotation
//! included. The hash is 32-bit FNV-1a, each number a murmur3 finish of it, so that a viewer can
//! repeat both in a script; see [`Shades::of`].

mod background;
mod palette;
mod palette_map;

use std::fmt;

pub use background::Background;
pub use palette::{ColourScheme, Hue, PALETTES, Rules};
pub use palette_map::PaletteMap;

use super::label::{LONGEST_NAME, is_nameless, percent};
use super::layout::{FrameBox, Graph};
use crate::error::Result;
use crate::folded::{Columns, Place, Places};
use crate::weight::Weight;

/// A colour: red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// True if white letters are easier to read on it than black ones: one of the two has a contrast
    /// of at least 4.5 to 1, as the WCAG define it.
    ///
    /// ```
    /// use fg_tools::render::colour::Rgb;
    ///
    /// assert!(Rgb(205, 0, 0).wants_white() && !Rgb(255, 200, 0).wants_white());
    /// ```
    pub fn wants_white(self) -> bool {
        self.luminance() <= 0.179
    }

    /// The relative luminance, 0 to 1.
    fn luminance(self) -> f64 {
        let part = |part: u8| {
            let share = f64::from(part) / 255.0;
            if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(self.0) + 0.7152 * part(self.1) + 0.0722 * part(self.2)
    }

    /// Reads `#rrggbb`.
    pub fn parse_hex(text: &str) -> Option<Rgb> {
        let digits =
            text.strip_prefix('#').filter(|d| d.len() == 6 && d.bytes().all(|b| b.is_ascii_hexdigit()))?;
        let part = |at| u8::from_str_radix(&digits[at..at + 2], 16).ok();
        Some(Rgb(part(0)?, part(2)?, part(4)?))
    }
}

impl fmt::Display for Rgb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// The nearest of the 216 colours of a terminal's palette: a cube of six shades each, which follows
/// the sixteen old colours.
pub fn ansi256(Rgb(r, g, b): Rgb) -> u8 {
    let shade = |part: u8| ((u16::from(part) * 5 + 127) / 255) as u8;
    16 + 36 * shade(r) + 6 * shade(g) + shade(b)
}

/// Three numbers in `[0, 1)` that a palette makes a colour of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shades {
    /// The first.
    pub v1: f64,
    /// The second.
    pub v2: f64,
    /// The third.
    pub v3: f64,
}

impl Shades {
    /// The shades of a name; a seed other than 0 gives others.
    ///
    /// `h` is FNV-1a of the name's first [`LONGEST_NAME`] bytes, which are all that is shown, begun at `0x811c9dc5 ^ seed`; number `n` is the upper
    /// 24 bits of murmur3's finish of `h + n · 0x9e3779b9`, over 2²⁴. All in 32 bits.
    pub fn of(name: &[u8], seed: u32) -> Shades {
        let start = 0x811c_9dc5 ^ seed;
        let shown = name.iter().take(LONGEST_NAME);
        let hash = shown.fold(start, |h, &byte| (h ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let number = |n: u32| {
            let mut h = hash.wrapping_add(n.wrapping_mul(0x9e37_79b9));
            h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
            h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
            f64::from((h ^ (h >> 16)) >> 8) / f64::from(1 << 24)
        };
        Shades { v1: number(1), v2: number(2), v3: number(3) }
    }
}

/// The colours of frames.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Colours {
    /// The palette.
    pub palette: ColourScheme,
    /// Shuffles the colours of a palette; 0 leaves them as they are.
    pub seed: u32,
    /// Colour by width instead: the wider, the deeper.
    pub by_width: bool,
    /// The colours of differential graphs.
    pub scheme: Scheme,
    /// In differential graphs, what grows has the colour of what shrinks and the other way round.
    pub negate: bool,
    /// Colours that were given to names before and come first.
    pub kept: PaletteMap,
}

impl Colours {
    /// The colour of a frame of a graph, in which `largest` is the largest change.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn of(&self, graph: &Graph, frame: &FrameBox<'_>, largest: Weight, places: &Places) -> Result<Rgb> {
        Ok(match graph.columns {
            Columns::Two if frame.is_sure => self.change(graph.change(frame)?, largest),
            Columns::Two => UNSURE,
            Columns::One => {
                let share = percent(frame.total, graph.total) / 100.0;
                self.frame(frame.name, places.get(frame.name).as_ref(), share)
            }
        })
    }

    /// The colour of a frame that has this share, 0 to 1, of the whole; palettes that colour by the
    /// kind of code go by its place, where that is known.
    pub fn frame(&self, name: &[u8], place: Option<&Place<'_>>, share: f64) -> Rgb {
        match name {
            b"--" => return Rgb(160, 160, 160),
            b"-" => return Rgb(200, 200, 200),
            _ => {}
        }
        if let Some(kept) = self.kept.get(name) {
            return kept;
        }
        if self.by_width {
            return by_width(share);
        }
        if is_nameless(name) && self.palette != ColourScheme::Diff {
            return NAMELESS;
        }
        self.palette.colour(name, place, Shades::of(name, self.seed))
    }

    /// The colour of a frame in a differential graph: that of growing or shrinking, white if it
    /// did not change, the fuller the nearer it is to the largest change.
    pub fn change(&self, change: Weight, largest: Weight) -> Rgb {
        let size = change.to_f64().abs() / largest.to_f64();
        if change.is_zero() || !size.is_finite() {
            return Rgb(255, 255, 255);
        }
        let (grew, shrank) = self.scheme.ends();
        let Rgb(r, g, b) = if change.is_negative() == self.negate { grew } else { shrank };
        // The smallest change is already told from none.
        let depth = 0.08 + 0.92 * size.min(1.0);
        let part = |end: u8| level((255.0 - (255.0 - f64::from(end)) * depth).round());
        Rgb(part(r), part(g), part(b))
    }
}

/// The colour of code without a name: a warm grey, that of the page.
const NAMELESS: Rgb = Rgb(218, 215, 208);

/// The colour of changes that may be noise.
pub const UNSURE: Rgb = Rgb(208, 208, 208);

/// The colours of differential graphs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// Orange for what grew, blue for what shrank: told apart by nearly all eyes.
    #[default]
    OrangeBlue,
    /// Red and blue, as flamegraph.pl has them.
    RedBlue,
}

/// Every scheme: what `--diff-colors` calls it, what it is for, and itself.
pub const SCHEMES: &[(&str, &str, Scheme)] = &[
    ("orange-blue", "told apart by colour-blind eyes too", Scheme::OrangeBlue),
    ("red-blue", "the classic", Scheme::RedBlue),
];

impl Scheme {
    /// The fullest colours of growing and of shrinking.
    fn ends(self) -> (Rgb, Rgb) {
        match self {
            Scheme::OrangeBlue => (Rgb(230, 110, 0), Rgb(50, 120, 220)),
            Scheme::RedBlue => (Rgb(255, 70, 70), Rgb(70, 70, 255)),
        }
    }
}

/// Pale for narrow frames to a strong orange red for the whole; the root of the share, so that
/// the differences show where most frames are.
fn by_width(share: f64) -> Rgb {
    let depth = share.clamp(0.0, 1.0).sqrt();
    Rgb(level(255.0 - 25.0 * depth), level(240.0 - 170.0 * depth), level(215.0 - 175.0 * depth))
}

/// A colour's part from a computed one.
fn level(value: f64) -> u8 {
    // `as` saturates.
    value as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_what_a_script_computes() {
        // Computed by the same three lines in JavaScript, with Math.imul.
        let Shades { v1, v2, v3 } = Shades::of(b"main", 0);
        let bits = |v: f64| (v * f64::from(1 << 24)) as u32;
        assert_eq!([v1, v2, v3].map(bits), [5_129_915, 8_285_077, 15_890_349]);
        assert_ne!(Shades::of(b"main", 1), Shades::of(b"main", 0));
    }

    /// Four thousand names of a megabyte took seconds.
    #[test]
    fn shades_are_those_of_the_bytes_that_are_shown() {
        let long = [b'x'; LONGEST_NAME + 1];
        assert_eq!(Shades::of(&long, 0), Shades::of(&long[1..], 0));
        assert_ne!(Shades::of(&long[1..], 0), Shades::of(&long[2..], 0));
    }

    #[test]
    fn shades_are_spread_evenly() {
        let mut sums = [0.0; 3];
        for n in 0..3000 {
            let Shades { v1, v2, v3 } = Shades::of(format!("function_{n}").as_bytes(), 0);
            for (sum, v) in sums.iter_mut().zip([v1, v2, v3]) {
                assert!((0.0..1.0).contains(&v));
                *sum += v / 3000.0;
            }
        }
        assert!(sums.iter().all(|mean| (0.47..0.53).contains(mean)), "{sums:?}");
    }

    #[test]
    fn separators_are_grey_in_every_palette() {
        for (_, _, palette) in PALETTES {
            let colours = Colours { palette: *palette, ..Colours::default() };
            assert_eq!(colours.frame(b"--", None, 0.5), Rgb(160, 160, 160));
            assert_eq!(colours.frame(b"-", None, 0.5), Rgb(200, 200, 200));
        }
    }

    #[test]
    fn code_without_a_name_is_grey_in_every_palette() {
        for (name, _, palette) in PALETTES.iter().filter(|(_, _, palette)| *palette != ColourScheme::Diff) {
            let colours = Colours { palette: *palette, ..Colours::default() };
            for frame in ["[unknown]", "[unknown]_[k]", "[perf-3828.map]_[j]", "0x7f00a1"] {
                assert_eq!(colours.frame(frame.as_bytes(), None, 0.5), NAMELESS, "{name} {frame}");
            }
        }
    }

    #[test]
    fn labels_contrast_with_every_palette() {
        let mut colours: Vec<Rgb> = (0..=255).map(|n| Rgb(n, n, n)).chain([UNSURE]).collect();
        for (_, _, palette) in PALETTES {
            let of = |n: u32| {
                let name = format!("crate{n}::f{n}_[{}]", char::from(b"kijw"[n as usize % 4]));
                Colours { palette: *palette, ..Colours::default() }.frame(name.as_bytes(), None, 0.1)
            };
            colours.extend((0..500).map(of));
        }
        let changes =
            [Scheme::OrangeBlue, Scheme::RedBlue].map(|scheme| Colours { scheme, ..Colours::default() });
        for colours_of in &changes {
            colours.extend((-100..=100).map(|n| colours_of.change(Weight::new(n), Weight::new(100))));
        }
        for colour in colours {
            let ink = if colour.wants_white() { 1.0 } else { 0.0 };
            let (light, dark) = (colour.luminance().max(ink) + 0.05, colour.luminance().min(ink) + 0.05);
            assert!(light / dark >= 4.5, "{colour}: {}", light / dark);
        }
    }

    #[test]
    fn changes_fade_to_white() {
        for (scheme, grew, shrank) in [
            (Scheme::OrangeBlue, Rgb(230, 110, 0), Rgb(50, 120, 220)),
            (Scheme::RedBlue, Rgb(255, 70, 70), Rgb(70, 70, 255)),
        ] {
            let colours = Colours { scheme, ..Colours::default() };
            let change = |n: i128| colours.change(Weight::new(n), Weight::new(100));
            assert_eq!((change(0), change(100), change(-100)), (Rgb(255, 255, 255), grew, shrank));
            assert!(change(50).1 > change(100).1 && change(1).1 > change(50).1 && change(1).1 < 255);
            let negated = Colours { negate: true, ..colours.clone() };
            assert_eq!(negated.change(Weight::new(100), Weight::new(100)), shrank);
            assert_eq!(colours.change(Weight::ZERO, Weight::ZERO), Rgb(255, 255, 255));
        }
    }

    #[test]
    fn the_wider_the_deeper() {
        let colours = Colours { by_width: true, ..Colours::default() };
        assert_eq!(colours.frame(b"a", None, 0.3), colours.frame(b"b", None, 0.3));
        assert!(colours.frame(b"a", None, 0.9).1 < colours.frame(b"a", None, 0.1).1);
    }

    #[test]
    fn colours_are_read_as_they_are_written() {
        assert_eq!(Rgb::parse_hex("#0aFf10").unwrap().to_string(), "#0aff10");
        for text in ["", "#", "0aff10", "#0aff1", "#0aff1g", "#+1+2+3", "#äöü"] {
            assert_eq!(Rgb::parse_hex(text), None, "{text}");
        }
    }
}

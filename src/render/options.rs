//! The look of a picture, whatever its format.

use super::attributes::NameAttributes;
use super::colour::{Background, Colours, Rgb};
use crate::error::{Error, Result};

/// The look of a picture. [`RenderOptions::default`] is that of `fg-render` without options.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RenderOptions {
    /// The title; `None` is `Flame Graph`, `Icicle Graph` or `Flame Chart`, as it applies.
    pub title: Option<String>,
    /// A second line under the title.
    pub subtitle: Option<String>,
    /// Text to keep in the file, not drawn.
    pub notes: Option<String>,
    /// Sizes in pixels.
    pub canvas: Canvas,
    /// The root is at the top.
    pub inverted: bool,
    /// The input is in the order of time.
    pub flame_chart: bool,
    /// The end of a name that is cut off where it does not fit.
    pub cut: Cut,
    /// The word before a name in the line of details.
    pub name_type: String,
    /// The colours of frames.
    pub colours: Colours,
    /// The background; `None` follows the palette.
    pub background: Option<Background>,
    /// The colour of found frames.
    pub search_colour: Rgb,
    /// The colour of the texts around the frames; `None` is black, light in dark mode.
    pub ui_colour: Option<Rgb>,
    /// The colour of an outline around each frame.
    pub stroke_colour: Option<Rgb>,
    /// Attributes of single functions.
    pub attributes: NameAttributes,
    /// The encoding to declare.
    pub encoding: Encoding,
    /// Each element on its own line, indented.
    pub pretty: bool,
}

impl Default for RenderOptions {
    fn default() -> Self {
        RenderOptions {
            title: None,
            subtitle: None,
            notes: None,
            canvas: Canvas::default(),
            inverted: false,
            flame_chart: false,
            cut: Cut::End,
            name_type: "Function:".to_owned(),
            colours: Colours::default(),
            background: None,
            search_colour: Rgb(0xe6, 0x00, 0xe6),
            ui_colour: None,
            stroke_colour: None,
            attributes: NameAttributes::default(),
            encoding: Encoding::default(),
            pretty: false,
        }
    }
}

impl RenderOptions {
    /// The title that is drawn.
    pub fn title(&self) -> &str {
        match &self.title {
            Some(title) => title,
            None if self.flame_chart => "Flame Chart",
            None if self.inverted => "Icicle Graph",
            None => "Flame Graph",
        }
    }
}

/// Sizes in pixels.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Canvas {
    /// The width of the picture; `None` fills the window.
    pub width: Option<u32>,
    /// The height of a frame, one pixel of which separates it from the next.
    pub frame_height: u32,
    /// The narrowest frame that is drawn.
    pub min_width: MinWidth,
    /// The font, as CSS names it.
    pub font_family: String,
    /// The height of letters.
    pub font_size: f64,
    /// The mean width of a letter, as a share of its height.
    pub font_width: f64,
    /// The number of pixels of a PNG for each of the picture's.
    pub scale: f64,
}

impl Default for Canvas {
    fn default() -> Self {
        Canvas {
            width: None,
            frame_height: 16,
            min_width: MinWidth::Pixels(0.1),
            font_family: "Verdana, sans-serif".to_owned(),
            font_size: 12.0,
            scale: 1.0,
            font_width: 0.59,
        }
    }
}

impl Canvas {
    /// The margin on either side of the frames.
    pub const MARGIN: u32 = 10;
    /// The width of a picture that fills the window where no window is.
    pub const FLUID: u32 = 1200;

    /// The width of a static picture.
    pub fn width(&self) -> u32 {
        self.width.unwrap_or(Canvas::FLUID)
    }

    /// The width of the frames together.
    pub fn frames_width(&self) -> f64 {
        f64::from(self.width().saturating_sub(2 * Canvas::MARGIN).max(1))
    }

    /// The least share of the whole that a drawn frame has.
    pub fn least_share(&self) -> f64 {
        match self.min_width {
            MinWidth::Pixels(pixels) => pixels / self.frames_width(),
            MinWidth::Percent(percent) => percent / 100.0,
        }
    }
}

/// The narrowest frame that is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MinWidth {
    /// In pixels of the static picture.
    Pixels(f64),
    /// In percent of the whole.
    Percent(f64),
}

/// The end of a name that is cut off where it does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cut {
    /// The end.
    #[default]
    End,
    /// The start: of `a::b::c` the end may say most.
    Start,
}

/// The encoding an XML file declares.
///
/// The text is UTF-8, or plain ASCII with character references under any other name, so
/// the declaration is true of every encoding that agrees with ASCII.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoding(Option<String>);

impl Encoding {
    /// An encoding by its name.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] for unknown names, and for encodings that do not agree with ASCII.
    pub fn new(name: &str) -> Result<Self> {
        let lower = name.to_ascii_lowercase();
        let is_name = lower.starts_with(|c: char| c.is_ascii_alphabetic())
            && lower.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        let wide =
            ["utf-16", "utf16", "utf-32", "utf32", "utf-7", "utf7", "ucs", "iso-10646", "ebcdic", "cp037"];
        if !is_name || wide.iter().any(|wide| lower.starts_with(wide)) {
            let what = format!("encoding {name:?}: name one that agrees with ASCII, such as UTF-8");
            return Err(Error::setting(what));
        }
        Ok(Encoding(Some(name.to_owned())))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.0.as_deref().unwrap_or("UTF-8")
    }

    /// Returns true if only ASCII may be written.
    pub fn is_ascii_only(&self) -> bool {
        !self.name().eq_ignore_ascii_case("utf-8") && !self.name().eq_ignore_ascii_case("utf8")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_says_what_it_is() {
        let plain = RenderOptions::default();
        let icicle = RenderOptions { inverted: true, ..RenderOptions::default() };
        let chart = RenderOptions { flame_chart: true, ..icicle.clone() };
        let own = RenderOptions { title: Some("mine".into()), ..chart.clone() };
        let titles = [&plain, &icicle, &chart, &own].map(RenderOptions::title);
        assert_eq!(titles, ["Flame Graph", "Icicle Graph", "Flame Chart", "mine"]);
    }

    #[test]
    fn encodings_that_would_be_a_lie_are_refused() {
        assert!(!Encoding::new("utf-8").unwrap().is_ascii_only());
        assert!(Encoding::new("ISO-8859-1").unwrap().is_ascii_only());
        for name in ["", "UTF-16", "x y", "\"><script>", "8bit"] {
            assert!(Encoding::new(name).is_err(), "{name}");
        }
    }
}

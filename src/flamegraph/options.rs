//! The options of a flame graph, in the shape of `inferno::flamegraph::Options`.

use std::io::{self, BufRead};
use std::path::Path;

use super::color::{BackgroundColor, Color, Palette, PaletteMap, SearchColor, StrokeColor};
use crate::render::attributes::NameAttributes;

/// The values of [`Options::default`].
#[allow(missing_docs)]
pub mod defaults {
    pub const COLORS: &str = "hot";
    pub const SEARCH_COLOR: &str = "#e600e6";
    pub const UI_COLOR: &str = "#000000";
    pub const STROKE_COLOR: &str = "none";
    pub const TITLE: &str = "Flame Graph";
    pub const CHART_TITLE: &str = "Flame Chart";
    pub const FRAME_HEIGHT: usize = 16;
    pub const MIN_WIDTH: f64 = 0.01;
    pub const FONT_TYPE: &str = "monospace";
    pub const FONT_SIZE: usize = 12;
    pub const FONT_WIDTH: f64 = 0.59;
    pub const COUNT_NAME: &str = "samples";
    pub const NAME_TYPE: &str = "Function:";
    pub const FACTOR: f64 = 1.0;
}

/// The options of a flame graph: the fields of inferno's, with the same names, types and defaults.
///
/// ```
/// use fg_tools::flamegraph::{self, Direction, Options};
///
/// let mut options = Options::default();
/// options.title = "after the fix".to_owned();
/// options.direction = Direction::Inverted;
/// options.image_width = Some(800);
/// let mut svg = Vec::new();
/// flamegraph::from_lines(&mut options, ["main;parse 40", "main 2"], &mut svg)?;
/// assert!(String::from_utf8_lossy(&svg).contains("after the fix"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct Options<'a> {
    /// The palette.
    pub colors: Palette,
    /// The background; `None` follows the palette.
    pub bgcolors: Option<BackgroundColor>,
    /// The colour of titles and buttons.
    pub uicolor: Color,
    /// Accepted and without effect: a name always has the same colour.
    pub hash: bool,
    /// Accepted and without effect: a name always has the same colour.
    pub deterministic: bool,
    /// Colours kept from one graph to the next; names that have none yet are added.
    pub palette_map: Option<&'a mut PaletteMap>,
    /// Attributes of single functions, such as links.
    pub func_frameattrs: FuncFrameAttrsMap,
    /// The side on which the root is.
    pub direction: Direction,
    /// The colour of frames that a search found.
    pub search_color: SearchColor,
    /// The outline of frames.
    pub stroke_color: StrokeColor,
    /// The title. [`defaults::TITLE`] gives way to the command, where a header names it, and to
    /// [`defaults::CHART_TITLE`] in a flame chart.
    pub title: String,
    /// A second line below the title. `None` is what a header says was measured, if there is one.
    pub subtitle: Option<String>,
    /// The width in pixels; `None` fills the window.
    pub image_width: Option<usize>,
    /// The height of a frame in pixels.
    pub frame_height: usize,
    /// The width of the narrowest frame that is drawn, in percent of the whole.
    pub min_width: f64,
    /// The font.
    pub font_type: String,
    /// The height of letters in pixels.
    pub font_size: usize,
    /// The mean width of a letter as a share of its height.
    pub font_width: f64,
    /// The end of a long name that is cut off.
    pub text_truncate_direction: TextTruncateDirection,
    /// The unit of weights. [`defaults::COUNT_NAME`] gives way to the unit of a header.
    pub count_name: String,
    /// The word before a function's name.
    pub name_type: String,
    /// A text that is kept in the file and not drawn.
    pub notes: String,
    /// Swaps the colours of growing and shrinking in a differential flame graph.
    pub negate_differentials: bool,
    /// A number that multiplies every weight shown.
    pub factor: f64,
    /// Writes each element on its own line, indented.
    pub pretty_xml: bool,
    /// Draws stacks in the order of their lines; only neighbours share frames.
    pub no_sort: bool,
    /// Draws stacks leaf first.
    pub reverse_stack_order: bool,
    /// Colours frames by their width: the wider, the deeper.
    pub color_diffusion: bool,
    /// Draws a flame chart: the lines are in the order of time, which goes from left to right.
    pub flame_chart: bool,
    /// Leaves out stacks without one of these frames, and what is rootward of the first of them.
    pub base: Vec<String>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        let black = Color { r: 0, g: 0, b: 0 };
        Options {
            colors: Palette::default(),
            bgcolors: None,
            uicolor: black,
            hash: false,
            deterministic: false,
            palette_map: None,
            func_frameattrs: FuncFrameAttrsMap::default(),
            direction: Direction::default(),
            search_color: SearchColor(Color { r: 0xe6, g: 0, b: 0xe6 }),
            stroke_color: StrokeColor::None,
            title: defaults::TITLE.to_owned(),
            subtitle: None,
            image_width: None,
            frame_height: defaults::FRAME_HEIGHT,
            min_width: defaults::MIN_WIDTH,
            font_type: defaults::FONT_TYPE.to_owned(),
            font_size: defaults::FONT_SIZE,
            font_width: defaults::FONT_WIDTH,
            text_truncate_direction: TextTruncateDirection::default(),
            count_name: defaults::COUNT_NAME.to_owned(),
            name_type: defaults::NAME_TYPE.to_owned(),
            notes: String::new(),
            negate_differentials: false,
            factor: defaults::FACTOR,
            pretty_xml: false,
            no_sort: false,
            reverse_stack_order: false,
            color_diffusion: false,
            flame_chart: false,
            base: Vec::new(),
        }
    }
}

/// The side on which the root is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// The root is at the bottom.
    #[default]
    Straight,
    /// The root is at the top.
    Inverted,
}

/// The end of a long name that is cut off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextTruncateDirection {
    /// The beginning is cut off.
    #[default]
    Left,
    /// The end is cut off.
    Right,
}

/// Attributes of single functions: a name, a tab, and `attr=value` with tabs between, on each line.
///
/// Attributes that could run a script in the reader's browser are refused.
///
/// ```
/// use fg_tools::flamegraph::FuncFrameAttrsMap;
///
/// let good = "main\thref=https://example.org/main.c\n";
/// assert!(FuncFrameAttrsMap::from_reader(good.as_bytes()).is_ok());
/// assert!(FuncFrameAttrsMap::from_reader("main\thref=javascript:x\n".as_bytes()).is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FuncFrameAttrsMap(pub(super) NameAttributes);

impl FuncFrameAttrsMap {
    /// Reads a file.
    ///
    /// # Errors
    /// The system's, and those of [`FuncFrameAttrsMap::from_reader`].
    pub fn from_file(path: &Path) -> io::Result<FuncFrameAttrsMap> {
        FuncFrameAttrsMap::parse(&std::fs::read(path)?, &path.to_string_lossy())
    }

    /// Reads the lines of a reader.
    ///
    /// # Errors
    /// The reader's, and [`io::ErrorKind::InvalidData`] for attributes that are refused.
    pub fn from_reader(mut reader: impl BufRead) -> io::Result<FuncFrameAttrsMap> {
        let mut text = Vec::new();
        reader.read_to_end(&mut text)?;
        FuncFrameAttrsMap::parse(&text, "attributes")
    }

    fn parse(text: &[u8], name: &str) -> io::Result<FuncFrameAttrsMap> {
        let (attributes, refused) = NameAttributes::parse(text, name);
        match refused.into_iter().next() {
            Some(error) => Err(error.into()),
            None => Ok(FuncFrameAttrsMap(attributes)),
        }
    }
}

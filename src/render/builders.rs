//! Methods that build [`Settings`], and the options of single outputs, which are made of them.

use super::attributes::NameAttributes;
use super::colour::{Background, ColourScheme, Rgb};
use super::compare::Widths;
use super::settings::Sort;
use super::{Cut, MinWidth, Settings};
use crate::folded::Order;
use crate::tally::RowKind;
use crate::weight::Weight;

impl Settings {
    /// The title; by default the command that was recorded.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.picture.title = Some(title.into());
        self
    }

    /// The line under the title; by default what was measured.
    pub fn subtitle(mut self, subtitle: impl Into<String>) -> Self {
        self.picture.subtitle = Some(subtitle.into());
        self
    }

    /// Text that is kept in the file and not drawn.
    pub fn notes(mut self, notes: impl Into<String>) -> Self {
        self.picture.notes = Some(notes.into());
        self
    }

    /// The unit of weights, whatever the profile says: `ns`, `bytes`, `allocations`.
    pub fn count_name(mut self, unit: impl Into<String>) -> Self {
        self.unit = Some(unit.into());
        self
    }

    /// The word before a name in the line of details.
    pub fn name_type(mut self, word: impl Into<String>) -> Self {
        self.picture.name_type = word.into();
        self
    }

    /// Outputs leave out the host, folders, arguments and comments of the recording.
    pub fn private(mut self, private: bool) -> Self {
        self.private = private;
        self
    }

    /// Every weight is shown multiplied by this.
    pub fn factor(mut self, factor: Weight) -> Self {
        self.factor = factor;
        self
    }

    /// The width of the whole stands for this weight, if that is more than all stacks weigh.
    pub fn total(mut self, total: Weight) -> Self {
        self.total = Some(total);
        self
    }

    /// Leaf first: functions are merged by what they cost themselves, with their callers on top.
    pub fn reverse(mut self, reverse: bool) -> Self {
        self.rewrite.reverse = reverse;
        self
    }

    /// Only stacks with this frame are drawn, from there on; several frames are alternatives.
    pub fn base(mut self, frame: impl Into<Vec<u8>>) -> Self {
        self.rewrite.bases.push(frame.into());
        self
    }

    /// A flame chart: samples stand in the order of time and are not merged. A profile needs
    /// [samples](crate::reading::ReadOptions::samples) for that.
    pub fn flame_chart(mut self, flame_chart: bool) -> Self {
        self.order = if flame_chart { Order::Time } else { Order::Frame };
        self.picture.flame_chart = flame_chart;
        self
    }

    /// The root is at the top.
    pub fn inverted(mut self, inverted: bool) -> Self {
        self.picture.inverted = inverted;
        self
    }

    /// The width of the picture in pixels; by default it fills the window.
    pub fn width(mut self, pixels: u32) -> Self {
        self.picture.canvas.width = Some(pixels);
        self
    }

    /// The height of a frame in pixels.
    pub fn frame_height(mut self, pixels: u32) -> Self {
        self.picture.canvas.frame_height = pixels;
        self
    }

    /// Narrower frames are left out.
    pub fn min_width(mut self, least: MinWidth) -> Self {
        self.picture.canvas.min_width = least;
        self
    }

    /// The font, as CSS names it.
    pub fn font_family(mut self, font: impl Into<String>) -> Self {
        self.picture.canvas.font_family = font.into();
        self
    }

    /// The height of letters in pixels.
    pub fn font_size(mut self, pixels: f64) -> Self {
        self.picture.canvas.font_size = pixels;
        self
    }

    /// The mean width of a letter as a share of its height.
    pub fn font_width(mut self, share: f64) -> Self {
        self.picture.canvas.font_width = share;
        self
    }

    /// The end of a name that is cut off where it does not fit.
    pub fn cut(mut self, cut: Cut) -> Self {
        self.picture.cut = cut;
        self
    }

    /// The colours of frames.
    pub fn palette(mut self, palette: ColourScheme) -> Self {
        self.picture.colours.palette = palette;
        self
    }

    /// Other colours of the same palette; 0 stands for none.
    pub fn seed(mut self, seed: u32) -> Self {
        self.picture.colours.seed = seed;
        self
    }

    /// Frames are coloured by their width.
    pub fn colour_by_width(mut self, by_width: bool) -> Self {
        self.picture.colours.by_width = by_width;
        self
    }

    /// In differential graphs, growth has the colour of what shrinks and the other way round.
    pub fn negate(mut self, negate: bool) -> Self {
        self.picture.colours.negate = negate;
        self
    }

    /// The colours behind the frames; by default what suits the palette.
    pub fn background(mut self, background: Background) -> Self {
        self.picture.background = Some(background);
        self
    }

    /// The colour of found frames.
    pub fn search_colour(mut self, colour: Rgb) -> Self {
        self.picture.search_colour = colour;
        self
    }

    /// The colour of the texts around the frames.
    pub fn ui_colour(mut self, colour: Rgb) -> Self {
        self.picture.ui_colour = Some(colour);
        self
    }

    /// The colour of an outline around each frame.
    pub fn stroke_colour(mut self, colour: Rgb) -> Self {
        self.picture.stroke_colour = Some(colour);
        self
    }

    /// Links and other attributes of single functions.
    pub fn attributes(mut self, attributes: NameAttributes) -> Self {
        self.picture.attributes = attributes;
        self
    }

    /// Each XML element stands on a line of its own.
    pub fn pretty(mut self, pretty: bool) -> Self {
        self.picture.pretty = pretty;
        self
    }

    /// The side of differential input that widths show.
    pub fn widths(mut self, widths: Widths) -> Self {
        self.comparison.widths = widths;
        self
    }

    /// The things that a table has rows for.
    pub fn by(mut self, group: RowKind) -> Self {
        self.table.by = group;
        self.table.label = None;
        self
    }

    /// A table has a row for each value of a label with which stacks begin: see
    /// [`Profile::labelled`](crate::Profile::labelled).
    pub fn by_label(mut self, key: impl Into<String>) -> Self {
        self.table.label = Some(key.into());
        self
    }

    /// The order of a table's rows.
    pub fn sort(mut self, sort: Sort) -> Self {
        self.table.sort = Some(sort);
        self
    }

    /// The most rows of a table.
    pub fn limit(mut self, rows: usize) -> Self {
        self.table.limit = Some(rows);
        self
    }

    /// The least share of a tree's frame, in percent.
    pub fn min_percent(mut self, percent: f64) -> Self {
        self.tree.min_percent = Some(percent);
        self
    }

    /// The most frames of a tree from its root.
    pub fn depth(mut self, frames: usize) -> Self {
        self.tree.depth = Some(frames);
        self
    }

    /// The regular expression of the functions that `peek` looks around.
    pub fn peek(mut self, expression: impl Into<String>) -> Self {
        self.peek = Some(expression.into());
        self
    }

    /// The regular expression of the functions whose source lines `list` shows.
    pub fn list(mut self, expression: impl Into<String>) -> Self {
        self.list = Some(expression.into());
        self
    }
}

/// Defines the options of one output: those of [`Settings`]' methods that mean something to it.
macro_rules! options {
    ($(#[$doc:meta])* $name:ident: $($method:ident($argument:ident: $type:ty),)*) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name(Settings);

        impl $name {
            $(
                #[doc = concat!("See [`Settings::", stringify!($method), "`].")]
                pub fn $method(self, $argument: $type) -> Self {
                    $name(self.0.$method($argument))
                }
            )*

            /// The settings that these options are.
            pub fn settings(&self) -> &Settings {
                &self.0
            }
        }

        impl From<$name> for Settings {
            fn from(options: $name) -> Settings {
                options.0
            }
        }
    };
}

options! {
    /// The options of [`Profile::svg`](crate::Profile::svg).
    ///
    /// ```
    /// use fg_tools::render::SvgOptions;
    /// use fg_tools::render::colour::ColourScheme;
    ///
    /// let palette = ColourScheme::by_name("rust").expect("it is in the list");
    /// let options = SvgOptions::default().title("my program").palette(palette).inverted(true);
    /// # let _ = options;
    /// ```
    SvgOptions:
    title(title: impl Into<String>),
    subtitle(subtitle: impl Into<String>),
    notes(notes: impl Into<String>),
    count_name(unit: impl Into<String>),
    name_type(word: impl Into<String>),
    private(private: bool),
    factor(factor: Weight),
    total(total: Weight),
    reverse(reverse: bool),
    base(frame: impl Into<Vec<u8>>),
    flame_chart(flame_chart: bool),
    inverted(inverted: bool),
    width(pixels: u32),
    frame_height(pixels: u32),
    min_width(least: MinWidth),
    font_family(font: impl Into<String>),
    font_size(pixels: f64),
    font_width(share: f64),
    cut(cut: Cut),
    palette(palette: ColourScheme),
    seed(seed: u32),
    colour_by_width(by_width: bool),
    negate(negate: bool),
    background(background: Background),
    search_colour(colour: Rgb),
    ui_colour(colour: Rgb),
    stroke_colour(colour: Rgb),
    attributes(attributes: NameAttributes),
    pretty(pretty: bool),
    widths(widths: Widths),
}

options! {
    /// The options of [`Profile::html`](crate::Profile::html).
    ///
    /// ```
    /// use fg_tools::render::HtmlOptions;
    ///
    /// let options = HtmlOptions::default().title("my program").private(true);
    /// # let _ = options;
    /// ```
    HtmlOptions:
    title(title: impl Into<String>),
    subtitle(subtitle: impl Into<String>),
    notes(notes: impl Into<String>),
    count_name(unit: impl Into<String>),
    private(private: bool),
    factor(factor: Weight),
    reverse(reverse: bool),
    base(frame: impl Into<Vec<u8>>),
    flame_chart(flame_chart: bool),
    inverted(inverted: bool),
    cut(cut: Cut),
    palette(palette: ColourScheme),
    seed(seed: u32),
    colour_by_width(by_width: bool),
    negate(negate: bool),
    search_colour(colour: Rgb),
    widths(widths: Widths),
}

//! `fg-render`: folded stacks become a picture.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser};

use super::output::{Output, OutputArgs};
use super::{Exit, GenerateArgs, InputArgs, Tool, say, say_not_understood};
use crate::error::{Error, ErrorKind, Position};
use crate::folded::{Columns, Order, Rewrite, WalkSummary, walk};
use crate::render::attributes::NameAttributes;
use crate::render::colour::{Background, Colours, PALETTES, Palette, PaletteMap, Rgb, SCHEMES, Scheme};
use crate::render::compare::{Comparison, WIDTHS, Widths};
use crate::render::layout::{Graph, Layout};
use crate::render::rewrite::StackRewrite;
use crate::render::{Canvas, Cut, Encoding, FORMATS, Format, MinWidth, Options};
use crate::weight::Weight;

/// Where `--cp` keeps colours: in the current folder, as other tools do.
const PALETTE_MAP: &str = "palette.map";

/// Draw folded stacks as a flame graph
///
/// Reads folded text (`main;parse;lex 42`), writes an SVG to open in a browser: click to zoom,
/// Ctrl-F to search. Input in frame order, as fg-collapse writes it, is streamed; other input is
/// sorted first. Two weights on each line draw a differential graph: as wide as after, orange
/// where a frame and all it calls grew, blue where they shrank, grey where that may be noise.
#[derive(Parser, Debug)]
#[command(
    name = "fg-render",
    version,
    after_help = "\
Examples:
  perf script | fg-collapse | fg-render > out.svg
  fg-render --title 'after the fix' --colors rust -o out.svg out.folded
  fg-render --reverse --base malloc out.folded > who-allocates.svg

Exit status: 0, or 2 for trouble. Without stacks 2, and a picture that says so."
)]
pub struct Render {
    /// What to read.
    #[command(flatten)]
    pub input: InputArgs,
    /// Where to write.
    #[command(flatten)]
    pub output: OutputArgs,
    /// About the program itself.
    #[command(flatten)]
    pub generate: GenerateArgs,
    /// What to draw of it.
    #[command(flatten)]
    pub stacks: StackArgs,
    /// What it says.
    #[command(flatten)]
    pub text: TextArgs,
    /// How large it is.
    #[command(flatten)]
    pub size: SizeArgs,
    /// Its colours.
    #[command(flatten)]
    pub colour: ColourArgs,
    /// What changed.
    #[command(flatten)]
    pub change: ChangeArgs,
    /// The file it is.
    #[command(flatten)]
    pub file: FileArgs,
    /// What is said on standard error.
    #[command(flatten)]
    pub talk: TalkArgs,
}

/// What to draw of the input.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Stacks")]
pub struct StackArgs {
    /// Leaf first: see at the root which functions cost most themselves
    #[arg(long)]
    pub reverse: bool,
    /// Only stacks with the frame SYM, drawn from there on; may be repeated. With
    /// --reverse: who called SYM
    #[arg(long, value_name = "SYM")]
    pub base: Vec<String>,
    /// Lines are in the order of time: neither sort nor merge them
    #[arg(long, alias = "flame-chart")]
    pub flamechart: bool,
    /// Keep the order of the input; equal neighbours are still merged
    #[arg(long, conflicts_with = "flamechart")]
    pub no_sort: bool,
    /// Multiply weights by NUM, exactly
    #[arg(long, value_name = "NUM", value_parser = factor)]
    pub factor: Option<Weight>,
    /// Let the whole width be NUM, in the input's weights; not less than there is
    #[arg(long, value_name = "NUM", value_parser = weight)]
    pub total: Option<Weight>,
    /// Fail if a line is not understood
    #[arg(long)]
    pub strict: bool,
}

/// What the picture says.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Text")]
pub struct TextArgs {
    /// The title (default: Flame Graph; Icicle Graph with --inverted; Flame Chart
    /// with --flamechart)
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// A second line under the title
    #[arg(long, value_name = "TEXT")]
    pub subtitle: Option<String>,
    /// Notes to keep in the file, not drawn
    #[arg(long, value_name = "TEXT")]
    pub notes: Option<String>,
    /// What weights count (default: samples)
    #[arg(long, value_name = "TEXT")]
    pub countname: Option<String>,
    /// What stands before a name in the line at the bottom (default: Function:)
    #[arg(long, value_name = "TEXT")]
    pub nametype: Option<String>,
    /// Cut the end of names that do not fit: the default, and undoes --truncate-text-left
    #[arg(long, overrides_with = "truncate_text_left")]
    pub truncate_text_right: bool,
    /// Cut the start of names that do not fit: `..Iterator>::next`
    #[arg(long, overrides_with = "truncate_text_right")]
    pub truncate_text_left: bool,
    /// Links and other attributes: on each line a name, then tab and attr=value as often
    /// as wanted; attr is href, target, title, class, rel, hreflang, lang, aria-… or data-…
    #[arg(long, value_name = "FILE")]
    pub nameattr: Option<PathBuf>,
}

/// How large things are.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Size")]
pub struct SizeArgs {
    /// Root at the top
    #[arg(short, long)]
    pub inverted: bool,
    /// Width in pixels (default: the window's; 1200 without a script)
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(100..=100_000))]
    pub width: Option<u32>,
    /// Height of a frame (default: 16)
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub height: Option<u32>,
    /// Leave out narrower frames: pixels of the static picture, or a share such as
    /// 0.5% (default: 0.1)
    #[arg(long, value_name = "PIXELS|N%", value_parser = min_width)]
    pub minwidth: Option<MinWidth>,
    /// Font, as CSS names it (default: Verdana, sans-serif)
    #[arg(long, value_name = "FONT")]
    pub fonttype: Option<String>,
    /// Height of letters in pixels (default: 12)
    #[arg(long, value_name = "PIXELS", value_parser = font_size)]
    pub fontsize: Option<f64>,
    /// Mean width of a letter as a share of its height (default: 0.59)
    #[arg(long, value_name = "NUM", value_parser = font_width)]
    pub fontwidth: Option<f64>,
}

/// What is shown of differential input.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Differential graphs")]
pub struct ChangeArgs {
    /// Draw the weights after, before, or of each stack the larger one: then what is
    /// gone is drawn too (default: after)
    #[arg(long, value_name = "SIDE", value_parser = widths())]
    pub widths: Option<Widths>,
    /// Colour by the change of a frame's self weight, not of all it calls
    #[arg(long)]
    pub self_change: bool,
    /// The colours of what grew and what shrank (default: orange-blue)
    #[arg(long, value_name = "SCHEME", value_parser = schemes())]
    pub diff_colors: Option<Scheme>,
    /// Swap them: as if after were before
    #[arg(long)]
    pub negate: bool,
    /// How often noise may be taken for a change; the rest is grey, 1 greys nothing
    /// (default: 0.01)
    #[arg(long, value_name = "P", value_parser = alpha)]
    pub alpha: Option<f64>,
    /// The least change that is not grey, in percentage points (default: 0)
    #[arg(long, value_name = "PP", value_parser = points)]
    pub min_effect: Option<f64>,
    /// What a sample weighs (default: what all weights are multiples of)
    #[arg(long, value_name = "NUM", value_parser = factor)]
    pub period: Option<Weight>,
}

/// The picture's colours.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Colours")]
pub struct ColourArgs {
    /// The palette (default: hot)
    #[arg(short, long, alias = "color", value_name = "PALETTE", value_parser = palettes())]
    pub colors: Option<Palette>,
    /// Background: yellow, blue, green, grey or #rrggbb (default: what suits the palette)
    #[arg(long, alias = "bgcolor", value_name = "COLOUR", value_parser = background)]
    pub bgcolors: Option<Background>,
    /// Colour by name: what is always done, accepted for compatibility
    #[arg(long)]
    pub hash: bool,
    /// The same colours in every run: what is always done, accepted for compatibility
    #[arg(long)]
    pub deterministic: bool,
    /// Other colours in each run, or those of SEED: a number above 0
    #[arg(
        long, value_name = "SEED", num_args = 0..=1, require_equals = true, default_missing_value = "any",
        value_parser = seed,
        conflicts_with_all = ["hash", "deterministic"]
    )]
    pub random: Option<u32>,
    /// Keep colours in ./palette.map from picture to picture
    #[arg(long)]
    pub cp: bool,
    /// Colour by width: the wider, the deeper
    #[arg(long)]
    pub colordiffusion: bool,
    /// Colour of found frames (default: #e600e6)
    #[arg(long, value_name = "#RRGGBB", value_parser = colour)]
    pub search_color: Option<Rgb>,
    /// Colour of the texts around the frames (default: black; light in dark mode)
    #[arg(long, value_name = "#RRGGBB", value_parser = colour)]
    pub uicolor: Option<Rgb>,
    /// Colour of an outline around each frame, or none (default: none)
    #[arg(long, value_name = "#RRGGBB", value_parser = stroke)]
    pub stroke_color: Option<Stroke>,
}

/// The output file.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "File")]
pub struct FileArgs {
    /// The output's format
    #[arg(long, value_name = "NAME", value_parser = formats(), default_value = FORMATS[0].name)]
    pub format: String,
    /// Encoding to declare; what it may lack is written as references (default: UTF-8)
    #[arg(long, value_name = "NAME", value_parser = Encoding::new)]
    pub encoding: Option<Encoding>,
    /// Every element on its own line, indented
    #[arg(long)]
    pub pretty_xml: bool,
}

/// What is said on standard error.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Messages")]
pub struct TalkArgs {
    /// Say nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say what was drawn and what was left out
    #[arg(short, long)]
    pub verbose: bool,
}

/// An outline, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stroke(Option<Rgb>);

fn weight(text: &str) -> Result<Weight, String> {
    let weight = Weight::parse(text.as_bytes()).filter(|weight| !weight.is_negative());
    weight.ok_or_else(|| "expected a number such as 1000 or 0.25".to_owned())
}

fn factor(text: &str) -> Result<Weight, String> {
    weight(text).ok().filter(|factor| !factor.is_zero()).ok_or_else(|| "expected a number above 0".to_owned())
}

/// 0 is any seed.
fn seed(text: &str) -> Result<u32, String> {
    let seed = if text == "any" { Some(0) } else { text.parse().ok().filter(|seed| *seed > 0) };
    seed.ok_or_else(|| format!("expected a number from 1 to {}", u32::MAX))
}

fn number(text: &str, from: f64, to: f64) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (from..=to).contains(number));
    number.ok_or_else(|| format!("expected a number from {from} to {to}"))
}

fn font_size(text: &str) -> Result<f64, String> {
    number(text, 1.0, 500.0)
}

fn font_width(text: &str) -> Result<f64, String> {
    number(text, 0.01, 10.0)
}

fn min_width(text: &str) -> Result<MinWidth, String> {
    match text.strip_suffix('%') {
        Some(percent) => number(percent, 0.0, 100.0).map(MinWidth::Percent),
        None => number(text, 0.0, 100_000.0).map(MinWidth::Pixels),
    }
}

fn colour(text: &str) -> Result<Rgb, String> {
    Rgb::parse_hex(text).ok_or_else(|| "expected a colour such as #1060c0".to_owned())
}

fn stroke(text: &str) -> Result<Stroke, String> {
    if text == "none" { Ok(Stroke(None)) } else { colour(text).map(|colour| Stroke(Some(colour))) }
}

fn background(text: &str) -> Result<Background, String> {
    let known = Background::parse(text);
    known.ok_or_else(|| "expected yellow, blue, green, grey or a colour such as #1060c0".to_owned())
}

fn palettes() -> impl TypedValueParser<Value = Palette> {
    let names = PALETTES.iter().map(|(name, about, _)| PossibleValue::new(*name).help(*about));
    PossibleValuesParser::new(names).map(|name| Palette::by_name(&name).expect("only names of the list"))
}

fn widths() -> impl TypedValueParser<Value = Widths> {
    let by_name = |name: String| WIDTHS.iter().find(|(known, _)| *known == name).map(|(_, widths)| *widths);
    let names = WIDTHS.iter().map(|(name, _)| *name);
    PossibleValuesParser::new(names).map(move |name| by_name(name).expect("only names of the list"))
}

fn schemes() -> impl TypedValueParser<Value = Scheme> {
    let by_name =
        |name: String| SCHEMES.iter().find(|(known, _, _)| *known == name).map(|(_, _, scheme)| *scheme);
    let names = SCHEMES.iter().map(|(name, about, _)| PossibleValue::new(*name).help(*about));
    PossibleValuesParser::new(names).map(move |name| by_name(name).expect("only names of the list"))
}

fn alpha(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1.0)
}

fn points(text: &str) -> Result<f64, String> {
    number(text, 0.0, 100.0)
}

fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.about)))
}

impl Tool for Render {
    const NAME: &'static str = "fg-render";

    fn run(self) -> anyhow::Result<Exit> {
        let mut options = self.options()?;
        let layout = Layout::new(options.canvas.least_share(), self.stacks.total);
        let mut layout = layout.comparing(self.comparison());
        let summary = self.walk(&mut layout)?;
        if self.stacks.strict {
            summary.not_understood.refuse()?;
        }
        self.say_left_out(&summary);
        let mut graph = layout.finish(&summary)?;
        let format = self.format();
        if graph.is_empty() {
            let mut output = self.output.open()?;
            (format.write_empty)(&options, &mut output)?;
            output.finish()?;
            return Err(self.no_stacks(&summary).into());
        }
        if let Some(factor) = self.stacks.factor {
            graph.scale(factor)?;
        }
        let new_colours = self.keep_colours(&graph, &mut options)?;
        let mut output = self.output.open()?;
        (format.write)(&graph, &options, &mut output)?;
        output.finish()?;
        if new_colours {
            let mut file = Output::new(Some(Path::new(PALETTE_MAP)))?;
            let mut text = io::BufWriter::new(&mut file);
            options.colours.kept.write(&mut text)?;
            drop(text);
            file.finish()?;
        }
        self.say_drawn(&graph);
        Ok(Exit::Yes)
    }
}

impl Render {
    /// The options as the library takes them; reads the files that they name.
    fn options(&self) -> anyhow::Result<Options> {
        let defaults = Options::default();
        let canvas = defaults.canvas;
        let Render { text, size, colour, change, file, .. } = self;
        Ok(Options {
            title: text.title.clone(),
            subtitle: text.subtitle.clone(),
            notes: text.notes.clone(),
            canvas: Canvas {
                width: size.width,
                frame_height: size.height.unwrap_or(canvas.frame_height),
                min_width: size.minwidth.unwrap_or(canvas.min_width),
                font_family: size.fonttype.clone().unwrap_or(canvas.font_family),
                font_size: size.fontsize.unwrap_or(canvas.font_size),
                font_width: size.fontwidth.unwrap_or(canvas.font_width),
            },
            inverted: size.inverted,
            flame_chart: self.stacks.flamechart,
            cut: if text.truncate_text_left { Cut::Start } else { Cut::End },
            count_name: text.countname.clone().unwrap_or(defaults.count_name),
            name_type: text.nametype.clone().unwrap_or(defaults.name_type),
            colours: Colours {
                palette: colour.colors.unwrap_or_default(),
                seed: colour.random.map_or(0, |seed| if seed == 0 { any_seed() } else { seed }),
                by_width: colour.colordiffusion,
                scheme: change.diff_colors.unwrap_or_default(),
                negate: change.negate,
                kept: PaletteMap::default(),
            },
            background: colour.bgcolors,
            search_colour: colour.search_color.unwrap_or(defaults.search_colour),
            ui_colour: colour.uicolor,
            stroke_colour: colour.stroke_color.and_then(|stroke| stroke.0),
            attributes: self.attributes()?,
            encoding: file.encoding.clone().unwrap_or_default(),
            pretty: file.pretty_xml,
        })
    }

    fn comparison(&self) -> Comparison {
        let defaults = Comparison::default();
        let ChangeArgs { widths, self_change, alpha, min_effect, period, .. } = &self.change;
        // No probability is above 1: nothing is grey then.
        let alpha = alpha.map(|alpha| if alpha < 1.0 { alpha } else { f64::INFINITY });
        Comparison {
            widths: widths.unwrap_or_default(),
            own: *self_change,
            alpha: alpha.unwrap_or(defaults.alpha),
            min_effect: min_effect.unwrap_or(defaults.min_effect),
            period: *period,
        }
    }

    fn attributes(&self) -> anyhow::Result<NameAttributes> {
        let Some(path) = &self.text.nameattr else { return Ok(NameAttributes::default()) };
        let name = path.to_string_lossy();
        let text = fs::read(path).map_err(|e| Error::io("read", e).or_at(|| Position::file(&*name)))?;
        let (attributes, refused) = NameAttributes::parse(&text, &name);
        for error in refused {
            if self.stacks.strict {
                return Err(error.into());
            }
            self.say(format_args!("{error}; left out"));
        }
        Ok(attributes)
    }

    fn walk(&self, layout: &mut Layout) -> anyhow::Result<WalkSummary> {
        let order = match &self.stacks {
            StackArgs { flamechart: true, .. } => Order::Time,
            StackArgs { no_sort: true, .. } => Order::Input,
            _ => Order::Frame,
        };
        let rewrite = StackRewrite {
            reverse: self.stacks.reverse,
            bases: self.stacks.base.iter().map(|base| base.clone().into_bytes()).collect(),
        };
        let is_needed = rewrite.is_needed();
        let apply = move |stack: &[u8], out: &mut Vec<u8>| rewrite.apply(stack, out);
        let rewrite: Option<&Rewrite> = if is_needed { Some(&apply) } else { None };
        Ok(walk(&self.input.sources(), order, rewrite, layout)?)
    }

    fn format(&self) -> &'static Format {
        let named = FORMATS.iter().find(|format| format.name == self.file.format);
        named.expect("the parser lets no other name through")
    }

    /// With `--cp`, reads the colours that were kept and gives ones to the names that have none;
    /// says whether there were any.
    fn keep_colours(&self, graph: &Graph, options: &mut Options) -> anyhow::Result<bool> {
        if !self.colour.cp {
            return Ok(false);
        }
        if graph.columns == Columns::Two {
            self.say("colours show changes in a differential graph; --cp keeps none");
            return Ok(false);
        }
        let colours = &mut options.colours;
        colours.kept = match fs::read(PALETTE_MAP) {
            Ok(text) => PaletteMap::parse(&text, PALETTE_MAP)?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => PaletteMap::default(),
            Err(e) => return Err(Error::io("read", e).or_at(|| Position::file(PALETTE_MAP)).into()),
        };
        let mut any = false;
        for frame in graph.frames() {
            if colours.kept.get(frame.name).is_none() {
                let share = frame.total.to_f64() / graph.total.to_f64();
                let colour = colours.frame(frame.name, share);
                colours.kept.insert(frame.name, colour);
                any = true;
            }
        }
        Ok(any)
    }

    fn no_stacks(&self, summary: &WalkSummary) -> Error {
        let sources = self.input.sources();
        let what = match summary {
            s if !s.total.before.is_zero() => "no stacks are left after: all weights there are 0",
            s if s.not_understood.count > 0 => {
                "no stacks; expected lines such as main;parse 42, run a collapser first"
            }
            s if s.negative > 0 => "no stacks with a weight above 0",
            _ if !self.stacks.base.is_empty() => "no stacks with the frame that --base names",
            _ => "no stacks in the input",
        };
        let error = Error::from(ErrorKind::Empty { what: what.to_owned() });
        match &sources[..] {
            [source] => error.or_at(|| Position::file(source.name())),
            _ => error,
        }
    }

    fn say(&self, message: impl std::fmt::Display) {
        if !self.talk.quiet {
            say(Self::NAME, message);
        }
    }

    fn say_left_out(&self, summary: &WalkSummary) {
        if !self.talk.quiet {
            say_not_understood(Self::NAME, &summary.not_understood);
        }
        if summary.negative > 0 {
            let count = summary.negative;
            self.say(format_args!(
                "{count} line(s) with a negative weight left out: nothing can be drawn for them"
            ));
        }
    }

    fn say_drawn(&self, graph: &Graph) {
        if self.talk.verbose {
            let (drawn, left_out, total) = (graph.frames().len(), graph.left_out, graph.total);
            self.say(format_args!("{drawn} frames drawn, {left_out} too narrow; total {total}"));
        }
    }
}

/// A seed that is another one in every process.
fn any_seed() -> u32 {
    use std::hash::{BuildHasher, RandomState};
    // The standard library seeds its hash tables by chance; 0 would be no seed.
    (RandomState::new().hash_one(0) as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_options_all_is_as_the_library_has_it() {
        let render = Render::try_parse_from(["fg-render"]).unwrap();
        assert_eq!(render.options().unwrap(), Options::default());
        assert_eq!(render.comparison(), Comparison::default());
    }

    #[test]
    fn options_are_declared_well() {
        <Render as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn seeds_differ() {
        assert_ne!((any_seed(), any_seed()), (any_seed(), any_seed()));
    }
}

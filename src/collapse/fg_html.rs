//! The pages of `fg-render --format html`: the profile they hold, exactly as it went in.
//!
//! ```text
//! <meta name="generator" content="fg-render html 1">
//! …
//! <script type="application/octet-stream" id="data-rises">rdZBbtswEIXh…</script>
//! ```
//! The sections and their columns are specified in `render::html::payload`. A frame follows those
//! it calls, so columns are read from their ends: then it comes before them.

use std::io::Read;

use super::{About, Collapser, Options, Report, Sink, Value, ValueTotal, Verdict};
use crate::error::{Error, ErrorKind, Result};
use crate::folded::{Columns, FrameId, StackTable, Weights};
use crate::input::Input;
use crate::weight::Weight;

const ABOUT: About = About {
    name: "fg-html",
    producer: "fg-render --format html",
    tested: "this version",
    values: "-",
    unit: "what the page says",
};

/// Collapses pages written by `fg-render`.
pub struct FgHtml;

const GENERATOR: &[u8] = b"<meta name=\"generator\" content=\"fg-render html 1\">";
/// Deeper stacks are no program's; a small page could claim one of terabytes.
const DEEPEST: usize = 1 << 20;

impl Collapser for FgHtml {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn detect(&self, head: &[u8]) -> Verdict {
        if memchr::memmem::find(head, GENERATOR).is_some() { Verdict::Yes } else { Verdict::No }
    }

    fn collapse(
        &self,
        input: Input,
        options: &Options,
        table: &mut StackTable,
        report: &mut Report,
    ) -> Result<()> {
        let page = input.read_all()?;
        let tree = Tree::read(&page)?;
        let columns = if tree.befores.is_some() { Columns::Two } else { Columns::One };
        if !table.is_empty() && table.columns() != columns {
            let what = "a profile and a differential profile, with two weights on each line, cannot be one";
            return Err(ErrorKind::Setting { what: what.into() }.into());
        }
        if columns == Columns::Two {
            table.make_differential();
        }
        let total = tree.tell(&page, options.count, table)?;
        report.add_value(Value { name: Vec::new(), unit: tree.unit.map(Into::into) }, total)
    }
}

/// The columns of a page, one entry for each frame.
struct Tree {
    rises: Vec<u32>,
    names: Vec<u32>,
    weights: Vec<u128>,
    befores: Option<Vec<u128>>,
    /// From which frame on weights have how many decimals.
    scales: Vec<(u64, u8)>,
    /// What weights count, if that is more than samples.
    unit: Option<String>,
}

impl Tree {
    fn read(page: &[u8]) -> Result<Tree> {
        let small = |numbers: Vec<u128>| -> Result<Vec<u32>> {
            numbers.into_iter().map(|n| u32::try_from(n).map_err(|_| damaged())).collect()
        };
        let rises = small(numbers(page, "rises")?.ok_or_else(damaged)?)?;
        let names = names(&rises, &small(numbers(page, "names")?.ok_or_else(damaged)?)?)?;
        let weights = numbers(page, "weights")?.ok_or_else(damaged)?;
        let befores = numbers(page, "befores")?;
        let about = section(page, "about")?.ok_or_else(damaged)?;
        let about: serde_json::Value = serde_json::from_slice(&about).map_err(|_| damaged())?;
        let scales = about["scales"]
            .as_array()
            .ok_or_else(damaged)?
            .iter()
            .map(|scale| Some((scale.get(0)?.as_u64()?, u8::try_from(scale.get(1)?.as_u64()?).ok()?)));
        let scales = scales.collect::<Option<Vec<_>>>().ok_or_else(damaged)?;
        let frames = rises.len();
        if weights.len() != frames || befores.as_ref().is_some_and(|befores| befores.len() != frames) {
            return Err(damaged());
        }
        let unit = about["unit"].as_str().filter(|unit| *unit != "samples").map(str::to_owned);
        Ok(Tree { rises, names, weights, befores, scales, unit })
    }

    /// Pushes every stack, the last one first.
    fn tell(&self, page: &[u8], count: bool, sink: &mut StackTable) -> Result<ValueTotal> {
        let ids = name_ids(page, sink)?;
        let mut total = ValueTotal { kept: true, ..ValueTotal::default() };
        // Where each frame is, from the first to the last; then back.
        let mut depth = self.last_depth()?;
        let mut stack: Vec<FrameId> = Vec::new();
        let mut scales = self.scales.iter().rev().peekable();
        for frame in (0..self.rises.len()).rev() {
            if depth > stack.len() {
                return Err(damaged());
            }
            stack.truncate(depth);
            stack.push(*ids.get(self.names[frame] as usize).ok_or_else(damaged)?);
            while scales.next_if(|(from, _)| *from > frame as u64).is_some() {}
            let decimals = scales.peek().map_or(0, |(_, decimals)| *decimals);
            let (value, before) = (self.weights[frame], self.befores.as_ref().map_or(0, |b| b[frame]));
            let is_leaf = self.rises[frame] > 0;
            if value > 0 || before > 0 || is_leaf {
                let weights = if count {
                    Weights::one(Weight::ONE)
                } else {
                    Weights {
                        value: Weight::from_steps(value, decimals)?,
                        before: Weight::from_steps(before, decimals)?,
                    }
                };
                total.add(weights.value)?;
                sink.sample(&stack, weights)?;
            }
            depth = (depth + 1).checked_sub(self.rises[frame] as usize).ok_or_else(damaged)?;
        }
        Ok(total)
    }

    fn last_depth(&self) -> Result<usize> {
        let mut depth = 0usize;
        for &rise in &self.rises {
            depth = (depth + rise as usize)
                .checked_sub(1)
                .filter(|&depth| depth < DEEPEST)
                .ok_or_else(damaged)?;
        }
        // The last frame of all is a root.
        if depth == 0 { Ok(0) } else { Err(damaged()) }
    }
}

/// The number of each frame's name.
fn names(rises: &[u32], numbers: &[u32]) -> Result<Vec<u32>> {
    let mut lists: Vec<Vec<u32>> = Vec::new();
    let mut numbers = numbers.iter();
    let mut names = Vec::with_capacity(rises.len());
    let mut previous = 0u32;
    for &rise in rises {
        let list = 2 * previous as usize + usize::from(rise > 0);
        if list >= lists.len() {
            lists.resize(list + 1, Vec::new());
        }
        let list = &mut lists[list];
        let name = match *numbers.next().ok_or_else(damaged)? {
            0 => {
                let name = *numbers.next().ok_or_else(damaged)?;
                // Names are numbered as they appear: there are no more of them than frames.
                if name as usize > names.len() {
                    return Err(damaged());
                }
                if list.len() < 127 {
                    list.push(name);
                }
                name
            }
            guess => *list.get(guess as usize - 1).ok_or_else(damaged)?,
        };
        names.push(name);
        previous = name;
    }
    if numbers.next().is_some() { Err(damaged()) } else { Ok(names) }
}

/// Every name, as the sink numbers it.
fn name_ids(page: &[u8], sink: &mut StackTable) -> Result<Vec<FrameId>> {
    let texts = section(page, "texts")?.ok_or_else(damaged)?;
    let mut rest = &texts[..];
    let mut ids = Vec::new();
    for length in numbers(page, "lengths")?.ok_or_else(damaged)? {
        let length = usize::try_from(length).map_err(|_| damaged())?;
        let (name, behind) = rest.split_at_checked(length).ok_or_else(damaged)?;
        if memchr::memchr2(b';', b'\n', name).is_some() {
            return Err(damaged());
        }
        ids.push(sink.frame(name));
        rest = behind;
    }
    Ok(ids)
}

fn damaged() -> Error {
    Error::malformed("the data of a page that fg-render wrote", b"something else; fetch it again")
}

/// A section of varints.
fn numbers(page: &[u8], name: &str) -> Result<Option<Vec<u128>>> {
    let Some(bytes) = section(page, name)? else { return Ok(None) };
    let mut numbers = Vec::new();
    let (mut value, mut shift) = (0u128, 0u32);
    for byte in bytes {
        let digits = u128::from(byte & 0x7f);
        if shift > 126 || (shift > 121 && digits >> (127 - shift) > 0) {
            return Err(damaged());
        }
        value |= digits << shift;
        shift += 7;
        if byte < 0x80 {
            numbers.push(value);
            (value, shift) = (0, 0);
        }
    }
    if shift > 0 { Err(damaged()) } else { Ok(Some(numbers)) }
}

/// The bytes of a section, if there is one of this name.
fn section(page: &[u8], name: &str) -> Result<Option<Vec<u8>>> {
    let tag = format!("<script type=\"application/octet-stream\" id=\"data-{name}\">");
    let Some(start) = memchr::memmem::find(page, tag.as_bytes()) else { return Ok(None) };
    let text = &page[start + tag.len()..];
    let text = &text[..memchr::memchr(b'<', text).ok_or_else(damaged)?];
    let compressed = decode_base64(text).ok_or_else(damaged)?;
    let mut bytes = Vec::new();
    flate2::read::DeflateDecoder::new(&compressed[..]).read_to_end(&mut bytes).map_err(|_| damaged())?;
    Ok(Some(bytes))
}

fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_ascii_end();
    let digits = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let mut bits = 0u32;
        for &digit in group {
            let value = match digit {
                b'A'..=b'Z' => digit - b'A',
                b'a'..=b'z' => digit - b'a' + 26,
                b'0'..=b'9' => digit - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        bits <<= 6 * (4 - group.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}

//! One HTML file with the whole profile in it, to look at from all sides: flame graph, icicle,
//! callers, butterfly, table.
//!
//! Every frame is in the page, however narrow. The tree goes into a [`payload`] of about a byte a
//! frame, the facts of the profile into an object beside it. The page itself is made of the files
//! in `page/`: ordinary modules that `bundle` joins and shortens while this crate is compiled, so that the file needs
//! nothing but itself.
//!
//! Names are hostile. They are in the file as compressed bytes in base64 only, the page makes
//! text of them and never markup, and its policy allows nothing from elsewhere.

mod about;
mod base64;
// These are part of `build.rs`, and here for their tests.
#[cfg(test)]
mod base85;
#[cfg(test)]
mod bundle;
#[cfg(test)]
mod minify;
pub mod payload;
mod size;
mod values;

use std::io::Write;

use serde_json::Value;

use crate::error::Result;
use crate::folded::{Frame, Order, Visitor, WalkSummary, Weights};
use crate::profile::{Profile, TimeLine};
use crate::render::colour::ColourScheme;
use crate::render::format::takes;
use crate::render::source::SourceHere;
use crate::render::writer::{Finished, Target, Writer, feed};
use crate::render::{Format, Settings};
use crate::weight::Weight;
use payload::{Encoder, Hues, Payload, WeightEncoder, deflate};
use size::{Fitted, SizeLimit};
use values::{AllValues, Beside, TreeOfValue};

/// The program that made the page and the version of the payload's rules; `fg-collapse` looks for it.
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
        takes::TIME,
        takes::EACH,
        takes::SOURCE,
    ],
    streams: false,
    open,
};

const TEMPLATE: &str = include_str!("page/page.html");
// Written by `build.rs`.
/// The sections that are the same in every page, compressed, in base 85.
const CODE: [(&str, &str); 3] = [
    ("style", include_str!(concat!(env!("OUT_DIR"), "/style.z85"))),
    ("body", include_str!(concat!(env!("OUT_DIR"), "/body.z85"))),
    ("script", include_str!(concat!(env!("OUT_DIR"), "/script.z85"))),
];
/// The sections of script that only those pages have whose data needs them.
const PARTS: [(&str, &str); 2] = [
    ("several", include_str!(concat!(env!("OUT_DIR"), "/several.z85"))),
    ("graph", include_str!(concat!(env!("OUT_DIR"), "/graph.z85"))),
];
/// A profile of fewer functions has no call graph that is worth a drawing.
const LEAST_OF_GRAPH: usize = 8;
/// The script that is in the page as it is: it unpacks the other and runs it.
const LOADER: &str = include_str!(concat!(env!("OUT_DIR"), "/loader.js"));

fn open<'a>(settings: &'a Settings, target: &'a mut dyn Target) -> Result<Box<dyn Writer + 'a>> {
    let encoder = Encoder::new(settings.factor);
    Ok(Box::new(Page {
        encoder,
        beside: Beside::default(),
        of_profile: false,
        values: Vec::new(),
        share_clock: true,
        notes: Vec::new(),
        source_note: None,
        settings,
        target,
    }))
}

/// A page in the making.
struct Page<'a> {
    encoder: Encoder,
    beside: Beside,
    /// Frames of text may name their lines; those of a profile have places instead.
    of_profile: bool,
    /// All values of the recording, if there are several: they are walked in the end, and nothing before.
    values: Vec<(String, Profile)>,
    /// A range of time is the same in all of them.
    share_clock: bool,
    notes: Vec<String>,
    /// The source files that are in the page unasked.
    source_note: Option<String>,
    settings: &'a Settings,
    target: &'a mut dyn Target,
}

impl Visitor for Page<'_> {
    fn follows_stacks(&self) -> bool {
        !self.of_profile
    }

    fn stack(&mut self, stack: &[u8], weights: Weights) -> Result<()> {
        if self.of_profile {
            Ok(())
        } else {
            self.beside.add_text(stack, self.settings.rewrite.reverse, weights)
        }
    }

    #[inline]
    fn exit(&mut self, frame: Frame<'_>, so_far: Weights) -> Result<()> {
        if self.values.is_empty() { self.encoder.exit(frame, so_far) } else { Ok(()) }
    }

    fn restart(&mut self) -> Result<()> {
        self.beside = Beside::default();
        self.encoder.restart()
    }
}

impl Writer for Page<'_> {
    fn take(&mut self, profile: &Profile) -> Result<bool> {
        let Settings { order, unit, factor, .. } = self.settings;
        // A unit that was asked for is that of one value.
        if *order == Order::Frame && unit.is_none() && *factor == Weight::ONE {
            self.values = profile.values()?;
            self.share_clock = profile.values_share_clock();
        }
        self.of_profile = !self.values.is_empty() || !profile.places().is_empty();
        if self.values.is_empty() {
            self.beside.take_lines(profile, self.settings)?;
        }
        Ok(false)
    }

    fn wants_times(&self) -> bool {
        self.values.is_empty()
    }

    fn times(&mut self, line: &TimeLine<'_>) -> Result<()> {
        let walk =
            |_, visitor: &mut dyn Visitor| line.profile().walk(Order::Frame, None, visitor).map(|_| ());
        let fitted = SizeLimit::default().fit(&mut self.encoder, &mut [], &walk)?;
        self.notes.extend(fitted.folded.as_ref().map(|folded| folded.remark()));
        let (names, decimals) = (self.encoder.names(), self.encoder.decimals());
        let whole = (line.profile().columns(), line.profile().total()?);
        let here = SourceHere::of(line.profile().facts(), self.settings);
        self.beside.finish_lines(TreeOfValue { names, decimals, whole }, 1, self.settings, &here)?;
        self.source_note = here.remark();
        self.beside.take_times(line, 1, &fitted, decimals, self.settings)
    }

    fn finish(self: Box<Self>, summary: &WalkSummary) -> Result<Finished> {
        let Page {
            mut encoder,
            mut beside,
            values,
            share_clock,
            mut notes,
            settings,
            target,
            source_note,
            ..
        } = *self;
        let span = if share_clock { values::span(&values) } else { None };
        let mut others = Vec::new();
        let mut fitted = Fitted::default();
        if let Some(((_, first), rest)) = values.split_first() {
            feed(first, settings, &mut encoder)?;
            for (_, profile) in rest {
                let mut weights = WeightEncoder::new(settings.factor);
                let summary = feed(profile, settings, &mut weights)?;
                others.push((weights, summary));
            }
            if settings.times && values.iter().any(|(_, profile)| profile.time_span().is_some()) {
                let (mut weights, summaries): (Vec<_>, Vec<_>) = others.into_iter().unzip();
                let walk = |number: usize, visitor: &mut dyn Visitor| {
                    feed(&values[number].1, settings, visitor).map(|_| ())
                };
                fitted = SizeLimit::default().fit(&mut encoder, &mut weights, &walk)?;
                others = weights.into_iter().zip(summaries).collect();
            }
        }
        notes.extend(fitted.folded.as_ref().map(|folded| folded.remark()));
        let here = SourceHere::of(&summary.facts, settings);
        let all = AllValues { count: values.len(), span, fitted, here };
        let whole = (summary.columns, summary.total);
        let tree = TreeOfValue { names: encoder.names(), decimals: encoder.decimals(), whole };
        match values.first() {
            Some((_, first)) => beside.take(first, tree, &all, settings)?,
            None => beside.finish_lines(tree, 1, settings, &all.here)?,
        }
        let mut sections = beside.sections("");
        let mut abouts = Vec::new();
        for (number, (value, told)) in values.iter().skip(1).zip(others).enumerate() {
            let (about, more) = values::other(number + 1, value, told, &all, encoder.names(), settings)?;
            abouts.push(about);
            sections.extend(more);
        }
        let palette = settings.picture.colours.palette;
        let hue = |name: &[u8]| palette.hue(name).map_or(0, |hue| hue as u8);
        let asks_names = matches!(palette, ColourScheme::Named(_));
        let hues = asks_names.then_some(&hue as Hues<'_>);
        let has_graph = encoder.names().nth(LEAST_OF_GRAPH - 1).is_some();
        let mut payload = encoder.finish(hues, &summary.places, settings.private)?;
        payload.sections.extend(sections);
        let mut about = about::about(&payload, summary, settings)?;
        if let (Some(details), Some(note)) = (about["details"].as_array_mut(), notes.first()) {
            details.push(serde_json::json!(["frames", note]));
        }
        notes.extend(source_note.or_else(|| all.here.remark()));
        about["time"] = beside.about_time();
        if let Some((name, _)) = values.first() {
            about["value"] = name.as_str().into();
            about["values"] = abouts.iter().map(|other| values::differing(other, &about)).collect();
        }
        // Values of several clocks are those of several recordings.
        let mut parts = if has_graph { vec!["graph"] } else { Vec::new() };
        if values.len() > 2 && !share_clock {
            parts.push("several");
            about["pairs"] = values::pairs(&values, settings)?;
        }
        write(&payload, &about, &parts, &settings.page_title(&summary.facts, summary.columns), target)?;
        Ok(Finished { notes, ..Finished::default() })
    }
}

fn write(
    payload: &Payload,
    about: &Value,
    parts: &[&str],
    title: &str,
    mut out: &mut dyn Target,
) -> Result<()> {
    let mut rest = TEMPLATE;
    let mut until = |mark: &str, out: &mut dyn Target| -> Result<()> {
        let (before, behind) = rest.split_once(mark).expect("the template has every mark once");
        rest = behind;
        Ok(out.write_all(before.as_bytes())?)
    };
    until("{generator}", out)?;
    out.write_all(GENERATOR.as_bytes())?;
    until("{title}", out)?;
    out.write_all(escaped(title).as_bytes())?;
    until("{sections}", out)?;
    section("about", &deflate(about.to_string().as_bytes())?, &mut out)?;
    for (name, bytes) in &payload.sections {
        section(name, bytes, &mut out)?;
    }
    let parts = PARTS.into_iter().filter(|(name, _)| parts.contains(name));
    for (name, text) in CODE.into_iter().chain(parts) {
        begin_section(name, &mut out)?;
        out.write_all(text.as_bytes())?;
        end_section(&mut out)?;
    }
    until("{loader}", out)?;
    out.write_all(LOADER.as_bytes())?;
    Ok(out.write_all(rest.as_bytes())?)
}

fn section(name: &str, bytes: &[u8], out: &mut dyn Write) -> Result<()> {
    begin_section(name, out)?;
    base64::write(bytes, out)?;
    end_section(out)
}

fn begin_section(name: &str, out: &mut dyn Write) -> Result<()> {
    Ok(write!(out, "<script type=\"application/octet-stream\" id=\"data-{name}\">")?)
}

fn end_section(out: &mut dyn Write) -> Result<()> {
    Ok(out.write_all(b"</script>\n")?)
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

    use crate::folded::{Kind, Place};
    use crate::profile::{Context, ProfileBuilder, Sink as _, Wants};
    use crate::reading::ReadOptions;

    fn page_of(settings: &Settings, profile: &Profile) -> String {
        let mut out = Vec::new();
        profile.render("html", settings, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn page(settings: &Settings, text: &str) -> String {
        page_of(settings, &Profile::from_bytes(text).unwrap())
    }

    /// A profile whose frames have places: a process, and functions of three modules.
    fn with_places() -> Profile {
        let mut builder = ProfileBuilder::new(Wants::ALL);
        let place =
            |module: &'static str, kind| Place { module: module.as_bytes(), kind, ..Place::default() };
        let process = builder.frame(b"app");
        let main = builder.frame_at(b"main", &place("app", Kind::User));
        let inlined = Place { inlined: true, ..place("app", Kind::User) };
        let helper = builder.frame_at(b"helper", &inlined);
        let read = builder.frame_at(b"vfs_read", &place("[kernel.kallsyms]", Kind::Kernel));
        let jitted = builder.frame_at(b"jitted", &place("", Kind::Jit));
        for (leaf, weight) in [(helper, 5), (read, 7), (jitted, 1)] {
            let weights = Weights::one(crate::Weight::new(weight));
            builder.sample(&[process, main, leaf], weights, &Context::UNKNOWN).unwrap();
        }
        builder.finish().unwrap()
    }

    #[test]
    fn places_come_back() {
        let profile = with_places();
        let page = page_of(&Settings::default(), &profile);
        assert!(["kinds", "modules", "name-modules"].iter().all(|one| page.contains(&format!("data-{one}"))));
        let back = Profile::read(&[crate::Source::bytes(page)], &ReadOptions::default()).unwrap();
        assert_eq!(back.places(), profile.places());
        let mut folded = [Vec::new(), Vec::new()];
        back.write_folded(&mut folded[0]).unwrap();
        profile.write_folded(&mut folded[1]).unwrap();
        assert_eq!(folded[0], folded[1]);
    }

    #[test]
    fn without_places_there_are_no_columns_for_them() {
        let page = page(&Settings::default(), "a;b 1\n");
        assert!(!page.contains("data-kinds") && !page.contains("modules"));
    }

    #[test]
    fn facts_come_back() {
        let text = "# unit: ns\n# period: 10 ns\n# samples: 5 samples\n# command: ./app\n\
                    # warning: half of the frames have no symbols\na;b 50\n";
        let profile = Profile::from_bytes(text).unwrap();
        let back = Profile::from_bytes(page(&Settings::default(), text)).unwrap();
        assert_eq!(back.facts(), profile.facts());
    }

    /// Three samples of two threads, 250 ms apart, and a wait of half a second.
    fn with_times() -> Profile {
        let mut builder = ProfileBuilder::new(Wants::ALL);
        builder.facts.unit = Some("ns".into());
        let main = builder.frame(b"main");
        let leaves = [&b"parse"[..], b"wait", b"draw"].map(|name| builder.frame(name));
        let weights = |weight| Weights::one(crate::Weight::new(weight));
        for (n, (thread, leaf)) in [(1, 0), (2, 2), (1, 2)].into_iter().enumerate() {
            let time = Some(9_000_000_000_000_000_100 + n as u64 * 250_000_000);
            let thread_name = if thread == 1 { &b"main"[..] } else { b"worker" };
            let context =
                Context { time, process: Some(7), thread: Some(thread), thread_name, ..Context::UNKNOWN };
            builder.sample(&[main, leaves[leaf]], weights(10), &context).unwrap();
        }
        let context = Context {
            time: Some(9_000_000_000_600_000_100),
            process: Some(7),
            thread: Some(1),
            thread_name: b"main",
            ..Context::UNKNOWN
        };
        builder.lasting_sample(&[main, leaves[1]], weights(500_000_000), &context, 500_000_000).unwrap();
        builder.finish().unwrap()
    }

    #[test]
    fn times_come_back() {
        let profile = with_times();
        let page = page_of(&Settings::default(), &profile);
        let options = ReadOptions::default().samples(true);
        let back = Profile::read(&[crate::Source::bytes(page)], &options).unwrap();
        let samples = |profile: &Profile| -> Vec<_> {
            let name = |stack: usize| {
                profile.stack(stack).iter().map(|&id| profile.stacks().name(id).to_vec()).collect::<Vec<_>>()
            };
            let sample = |one: crate::profile::SampleRef<'_>| {
                let thread = (one.process, one.thread, one.thread_name.to_vec());
                (one.time, one.duration, thread, name(one.stack), one.weights)
            };
            profile.samples().iter().map(sample).collect()
        };
        assert_eq!(samples(&back), samples(&profile));
        assert_eq!(back.total().unwrap(), profile.total().unwrap());
    }

    #[test]
    fn a_page_has_times_if_there_are_any_and_they_are_wanted() {
        let has_times = |page: &str| page.contains("data-time-deltas");
        let mut settings = Settings::default();
        assert!(has_times(&page_of(&settings, &with_times())));
        settings.times = false;
        assert!(!has_times(&page_of(&settings, &with_times())));
        assert!(!has_times(&page(&Settings::default(), "a;b 1\n")));
    }

    #[test]
    fn damaged_times_are_an_error() {
        let page = page_of(&Settings::default(), &with_times());
        let section = |name: &str| {
            page.split_once(&format!("id=\"data-{name}\">")).unwrap().1.split('<').next().unwrap()
        };
        let options = ReadOptions::default().samples(true);
        for name in ["time-deltas", "time-stacks", "time-weights", "time-values", "time-durations"] {
            let damaged = page.replace(section(name), section("known"));
            assert!(damaged != page, "{name}");
            assert!(Profile::read(&[crate::Source::bytes(damaged)], &options).is_err(), "{name}");
        }
    }

    #[test]
    fn the_page_without_data_is_small() {
        let of_few = page(&Settings::default(), "a 1\n").len();
        // With the call graph, which pages of fewer functions do without.
        let of_many = page(&Settings::default(), "a;b;c;d;e;f;g;h 1\n").len();
        assert!(of_few <= 90_000 && of_many <= 94_000, "{of_few} {of_many}");
    }

    #[test]
    fn the_title_is_the_command_unless_one_was_asked_for() {
        let text = "# command: ./app -n 3\na 1\n";
        assert!(page(&Settings::default(), text).contains("<title>./app -n 3</title>"));
        let mut settings = Settings::default();
        settings.picture.title = Some("Mine".to_owned());
        assert!(page(&settings, text).contains("<title>Mine</title>"));
        assert!(page(&Settings::default(), "a 1\n").contains("<title>Profile</title>"));
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

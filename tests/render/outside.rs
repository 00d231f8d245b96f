//! Whatever a recording, a command line or a gate says, in every output: it stays text there. It is no markup,
//! no link and no mention, begins no line and no cell, and steers no terminal.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use fg_tools::diff::{Diff, FormatOptions, Gate, ReportFormat, ReportOptions};
use fg_tools::profile::{Facts, Sides};
use fg_tools::reading::ReadOptions;
use fg_tools::render::{FORMATS, Format, Settings};
use fg_tools::{Profile, Source, Weight};
use regex::Regex;

use super::names::NAMES;

/// Names that mean harm to a page of Markdown, besides those that mean it to any output.
const OF_MARKDOWN: &[&str] = &[
    "![i](http://evil.example/i.png)",
    "[a](javascript:alert(1))",
    "@octocat",
    "</details>",
    "</summary></details><h1>",
    "<img src=x onerror=alert(1)>",
    "https://evil.example/x",
    "www.evil.example",
    "a ![i](http://evil.example) | b",
    "back\\|slash",
    "``` @octocat",
    "- item",
    "1. item",
    "# heading",
    "**bold** _it_ ~~gone~~",
    "<!-- rest",
    "  \n\n# heading\n",
];

/// A name of no harm, as long as some of the others.
const HARMLESS: &str = "harmless";

fn names() -> Vec<String> {
    let of_frames = NAMES.iter().map(|name| String::from_utf8_lossy(name).into_owned());
    of_frames.chain(OF_MARKDOWN.iter().map(|name| (*name).to_owned())).collect()
}

/// The names to try a format with: one by one; all in one text for a page, which takes long to write.
fn names_for(format: &str) -> Vec<String> {
    if format == "html" { vec![names().join(" ")] } else { names() }
}

/// Sets a fact to a text.
type SetFact = fn(&mut Facts, &str);

/// Every fact that is a text.
const FACTS: &[(&str, SetFact)] = &[
    ("unit", |facts, text| facts.unit = Some(text.into())),
    ("event", |facts, text| facts.event = Some(text.into())),
    ("command", |facts, text| facts.command = Some(text.into())),
    ("host", |facts, text| facts.host = Some(text.into())),
    ("system", |facts, text| facts.system = Some(text.into())),
    ("clock", |facts, text| facts.clock = Some(text.into())),
    ("producer", |facts, text| facts.producer = Some(text.into())),
    ("warning", |facts, text| facts.warnings = vec![text.into()]),
    ("comment", |facts, text| facts.comments = vec![text.into()]),
    ("side", |facts, text| {
        let mut side = Facts::default();
        for (_, set) in &FACTS[..9] {
            set(&mut side, text);
        }
        side.unit = facts.unit.clone();
        facts.sides = Some(Box::new(Sides { before: side.clone(), after: side }));
    }),
];

/// Facts that all are this text.
fn facts(text: &str) -> Facts {
    let mut facts = Facts::default();
    FACTS.iter().for_each(|(_, set)| set(&mut facts, text));
    facts
}

/// A few stacks.
fn profile(facts: Facts, frame: &str) -> Profile {
    let mut builder = Profile::builder();
    builder.facts = facts;
    for (stack, weight) in [(&["main", frame, "leaf"][..], 3000), (&["main", frame], 4000), (&["main"], 900)]
    {
        builder.add(stack, Weight::new(weight)).unwrap();
    }
    builder.finish().unwrap()
}

/// The outputs of `fg-render` that a person or a program reads as text.
fn text_formats() -> impl Iterator<Item = &'static Format> {
    let binary = ["png", "pprof", "otlp", "parquet"];
    FORMATS.iter().filter(move |format| !binary.contains(&format.name) && !format.takes("binary"))
}

fn rendered(profile: &Profile, format: &str, settings: &Settings) -> String {
    let mut out = Vec::new();
    profile.render(format, settings, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn settings() -> Settings {
    Settings::default().peek(".").list(".")
}

/// Each text of an output with the same output of a harmless name.
struct Outputs {
    what: String,
    format: &'static str,
    text: String,
    harmless: String,
}

#[test]
fn a_fact_of_any_text_is_text_in_every_output() {
    let mut wrong = Vec::new();
    for format in text_formats() {
        let of = |text: &str| rendered(&profile(facts(text), "parse"), format.name, &settings());
        let harmless = of(HARMLESS);
        for name in names_for(format.name) {
            let what = format!("{name:?} as {}", format.name);
            let harmless = harmless.clone();
            wrong.extend(Outputs { what, format: format.name, text: of(&name), harmless }.complaint());
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_fact_of_any_text_is_text_in_every_report() {
    let mut wrong = Vec::new();
    for format in ReportFormat::ALL {
        let of = |text: &str| {
            let side = |frame: &str| profile(facts(text), frame);
            reported(&[side("parse")], &[side("lex")], *format, "self>2 total<-1 /lex/>5pp")
        };
        let harmless = of(HARMLESS);
        for name in names() {
            let what = format!("{name:?} as {}", format.name());
            let harmless = harmless.clone();
            wrong.extend(Outputs { what, format: format.name(), text: of(&name), harmless }.complaint());
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

fn reported(before: &[Profile], after: &[Profile], format: ReportFormat, gates: &str) -> String {
    let sides = [before, after].map(|runs| runs.iter().collect::<Vec<_>>());
    let options = ReportOptions::default().period(Weight::ONE).any_change(true);
    let mut out = Vec::new();
    for wide in [false, true] {
        let report = Diff::of_runs(&sides[0], &sides[1]).report_with(&options).unwrap();
        let verdict = report.judge(&Gate::parse_all(gates).unwrap()).unwrap();
        let options = FormatOptions::default().wide(wide).verdict(verdict);
        if format != ReportFormat::Json || !wide {
            report.write_with(format, &options, &mut out).unwrap();
        }
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn names_of_frames_files_and_gates_are_text_in_every_report() {
    let mut wrong = Vec::new();
    for format in ReportFormat::ALL {
        let of = |text: &str| {
            let side = |weight: u32| {
                let mut builder = Profile::builder();
                builder.add(["main", text], Weight::from(u64::from(weight))).unwrap();
                builder.add(["main", "other"], Weight::new(9000)).unwrap();
                builder.finish().unwrap()
            };
            let gate = format!("self/{}/>5%", regex::escape(text).replace('/', "\\/"));
            let gate =
                if Gate::parse_all(&gate).is_ok_and(|all| all.len() == 1) { gate } else { "self>5%".into() };
            reported(&[side(1000)], &[side(5000)], *format, &gate)
        };
        let harmless = of(HARMLESS);
        for name in names() {
            let what = format!("frame and gate {name:?} as {}", format.name());
            let harmless = harmless.clone();
            wrong.extend(Outputs { what, format: format.name(), text: of(&name), harmless }.complaint());
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn titles_units_and_labels_of_options_are_text_in_every_output() {
    let mut wrong = Vec::new();
    for format in text_formats() {
        let of = |text: &str| {
            let mut settings = settings().title(text);
            settings.picture.subtitle = Some(text.into());
            settings.picture.notes = Some(text.into());
            settings.picture.name_type = text.into();
            settings.unit = Some(text.into());
            settings.table.label = Some(text.into());
            rendered(&profile(Facts::default(), "parse"), format.name, &settings)
        };
        let harmless = of(HARMLESS);
        for name in names_for(format.name) {
            let what = format!("{name:?} as {}", format.name);
            let harmless = harmless.clone();
            wrong.extend(Outputs { what, format: format.name, text: of(&name), harmless }.complaint());
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_header_of_any_facts_adds_no_line() {
    for (fact, set) in FACTS {
        for name in names() {
            let mut facts = Facts::default();
            set(&mut facts, &name);
            let profile = profile(facts, "parse");
            let text = rendered(&profile, "collapsed", &settings());
            let read =
                Profile::read(&[Source::bytes(text.clone())], &ReadOptions::default().format("folded"));
            let read = read.unwrap_or_else(|e| panic!("{fact} {name:?}: {e}\n{text}"));
            assert_eq!(read.total().unwrap(), profile.total().unwrap(), "{fact} {name:?}: {text}");
        }
    }
}

impl Outputs {
    /// The fault that was found, if there is one.
    fn complaint(&self) -> Option<String> {
        let found = match self.format {
            "markdown" => markdown_fault(&self.text),
            "svg" | "html" => markup_fault(&self.text, &self.harmless),
            "json" | "speedscope" | "firefox" | "chrome-trace" | "otlp-json" => json_fault(&self.text),
            "collapsed" => None,
            // As many lines, and nothing that a terminal obeys; what is left out is said in a line of its own.
            name => self
                .text
                .contains(|c: char| is_odd(c) && c != '\n' && (c != '\t' || name != "tsv"))
                .then(|| "has control characters".to_owned())
                .or_else(|| (self.lines().0 > self.lines().1).then(|| "has more lines".to_owned())),
        };
        let start: String = self.text.chars().take(600).collect();
        found.map(|found| format!("{}: {found}\n{start}", self.what))
    }

    fn lines(&self) -> (usize, usize) {
        (self.text.lines().count(), self.harmless.lines().count())
    }
}

/// Control characters, and those that hide or reorder text.
fn is_odd(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn json_fault(text: &str) -> Option<String> {
    if let Err(error) = serde_json::from_str::<serde_json::Value>(text) {
        return Some(error.to_string());
    }
    text.contains(|c: char| is_odd(c) && c != '\n').then(|| "has raw control characters".to_owned())
}

/// The beginnings of all tags.
fn tags(text: &str) -> BTreeSet<String> {
    static TAG: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"<[/!?]?[A-Za-z\[-][A-Za-z0-9\[-]*").unwrap());
    TAG.find_iter(text).map(|found| found.as_str().to_ascii_lowercase()).collect()
}

fn markup_fault(text: &str, harmless: &str) -> Option<String> {
    let known = tags(harmless);
    let new: Vec<String> = tags(text).into_iter().filter(|tag| !known.contains(tag)).collect();
    (!new.is_empty()).then(|| format!("has {}", new.join(" ")))
}

/// The first thing in Markdown that is no plain text outside of code: HTML that is not ours, links, mentions,
/// cells too many.
fn markdown_fault(text: &str) -> Option<String> {
    let mut columns = None;
    let mut in_tree = false;
    for line in text.split('\n') {
        if line.contains(is_odd) {
            return Some(format!("a control character: {line:?}"));
        }
        // The call tree is a block of code, between an empty line and the end of the details.
        in_tree = match line {
            "<details><summary>Call tree</summary>" => true,
            "</details>" => false,
            _ => in_tree,
        };
        if in_tree && line.starts_with("    ") || is_ours(line) {
            continue;
        }
        let is_row = line.starts_with('|');
        let Some(outside) = outside_of_code(&line.replace("\\|", if is_row { "" } else { "\\|" })) else {
            return Some(format!("code without an end: {line}"));
        };
        let cells = outside.matches('|').count();
        let all_cells = line.replace("\\|", "").matches('|').count();
        match is_row {
            true if cells != all_cells => return Some(format!("a bar in code: {line}")),
            true if *columns.get_or_insert(cells) != cells => return Some(format!("other cells: {line}")),
            false => columns = None,
            true => {}
        }
        if let Some(found) = MARKUP.find(&outside).filter(|_| !outside.starts_with("| ---")) {
            return Some(format!("{:?} outside of code: {line}", found.as_str()));
        }
    }
    None
}

/// Links, images, mentions, HTML, entities, escapes, and what begins a heading, a list or a line across.
static MARKUP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\]\(|\]\[|!\[|@\w|://|www\.|<[^ ]|&[#a-z]|\\|~~|^\s{0,3}(#|>[^ ]|\d+[.)] |={3,}|-{3,}$)")
        .unwrap()
});

/// The HTML that we write ourselves.
fn is_ours(line: &str) -> bool {
    matches!(
        line,
        "<details><summary>Call tree</summary>"
            | "<details><summary>Sides, method, and all other functions</summary>"
            | "</details>"
    )
}

/// A line without its code spans, by the rule of CommonMark: one ends at the next run of as many backticks.
fn outside_of_code(line: &str) -> Option<String> {
    let run = |text: &str| text.bytes().take_while(|byte| *byte == b'`').count();
    let mut outside = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        outside += &rest[..start];
        let length = run(&rest[start..]);
        let mut end = start + length;
        loop {
            end += rest[end..].find('`')?;
            let found = run(&rest[end..]);
            end += found;
            if found == length {
                break;
            }
        }
        rest = &rest[end..];
    }
    Some(outside + rest)
}

#[test]
fn the_judge_of_markdown_finds_what_is_no_text() {
    for text in [
        "5 ![i](http://x)",
        "hello @octocat",
        "> </details>",
        "<b>",
        "see https://x.y",
        "| a | b |\n| --- | --- |\n| a | b | c |",
        "| a | `b|c` |",
        "a `b",
        "a\u{202e}b",
        "# heading",
        "1. item",
    ] {
        assert!(markdown_fault(text).is_some(), "{text}");
    }
    for text in ["**5 `@octocat` ns**", "| a | `b\\|c` |\n| - | - |", "p < 0.001", "> Warning: `<b>`"] {
        assert_eq!(markdown_fault(text), None);
    }
}

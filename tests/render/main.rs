//! `fg-render` as a user meets it: the real program, its picture read by a strict XML parser.

mod consumers;
mod differential;
mod exchange;
#[path = "../common/feed.rs"]
mod feed;
mod golden;
mod hostile;
mod html;
mod input;
#[path = "../common/installed.rs"]
mod installed;
mod known_wrong;
mod labels;
mod list;
mod look;
mod names;
mod numbers;
mod otlp;
mod outputs;
mod outside;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "png")]
mod png;
mod producers;
mod program;
#[path = "../common/recordings.rs"]
mod recordings;
mod round_trip;
#[cfg(feature = "perf-data")]
mod sample_profile;
#[cfg(feature = "perf-data")]
#[path = "sample_profile/gcc.rs"]
mod sample_profile_gcc;
#[path = "../common/skip.rs"]
mod skip;
mod stacks;
mod terminal;
#[path = "../common/thorough.rs"]
mod thorough;
mod tmux;
#[cfg(feature = "tui")]
mod tui;
mod weights;

use std::path::Path;
use std::process::Command;

use feed::{feed, text};

/// The status and the output of a run.
struct Run {
    status: i32,
    stdout: Vec<u8>,
    stderr: String,
}

/// Runs `fg-render` in a folder of its own.
fn run(arguments: &[&str], stdin: impl AsRef<[u8]>) -> Run {
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), arguments, stdin)
}

fn run_in(folder: &Path, arguments: &[&str], stdin: impl AsRef<[u8]>) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fg-render"));
    command.args(arguments).current_dir(folder).env_remove("COLORTERM").env_remove("NO_COLOR");
    let output = feed(&mut command, stdin);
    Run {
        status: output.status.code().expect("it was not killed"),
        stdout: output.stdout,
        stderr: text(output.stderr),
    }
}

impl Run {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("the picture is UTF-8")
    }
}

/// The picture of a run that must succeed in silence.
fn draw(arguments: &[&str], stdin: impl AsRef<[u8]>) -> Picture {
    let run = run(arguments, stdin);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{arguments:?}");
    Picture::parse(run.text())
}

/// A frame as it is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
struct Drawn {
    title: String,
    /// From the left and wide, in percent.
    x: f64,
    width: f64,
    y: f64,
    fill: String,
    /// The exact start and weight.
    exact: (String, String),
    text: Option<String>,
    link: Option<String>,
    class: String,
}

struct Picture {
    text: String,
    frames: Vec<Drawn>,
}

impl Picture {
    fn parse(text: &str) -> Picture {
        let document = roxmltree::Document::parse(text).unwrap_or_else(|e| panic!("{e}"));
        let number = |node: roxmltree::Node<'_, '_>, name: &str| -> f64 {
            node.attribute(name).unwrap().trim_end_matches('%').parse().unwrap()
        };
        let mut frames = Vec::new();
        let groups = document.descendants().filter(|n| n.attribute("id") == Some("frames"));
        for group in groups.flat_map(|n| n.descendants()).filter(|n| n.has_tag_name(SVG_G)) {
            let child = |name: &str| group.children().find(|n| n.tag_name().name() == name);
            let rect = child("rect").unwrap();
            let exact = |name| rect.attribute(name).unwrap().to_owned();
            frames.push(Drawn {
                title: child("title").unwrap().text().unwrap_or_default().to_owned(),
                x: number(rect, "x"),
                width: number(rect, "width"),
                y: number(rect, "y"),
                fill: rect.attribute("fill").unwrap().to_owned(),
                exact: (exact("data-x"), exact("data-w")),
                text: child("text").map(|t| t.text().unwrap().to_owned()),
                link: group.parent().unwrap().attribute("href").map(str::to_owned),
                class: group.attribute("class").unwrap().to_owned(),
            });
        }
        Picture { text: text.to_owned(), frames }
    }

    fn titles(&self) -> Vec<&str> {
        self.frames.iter().map(|frame| frame.title.as_str()).collect()
    }

    /// The one frame of this name.
    fn frame(&self, name: &str) -> &Drawn {
        let start = format!("{name} (");
        let mut named = self.frames.iter().filter(|frame| frame.title.starts_with(&start));
        let frame = named.next().unwrap_or_else(|| panic!("no {name} in {:?}", self.titles()));
        assert!(named.next().is_none(), "{name} is drawn twice: {:?}", self.titles());
        frame
    }

    /// The text of the element with this identifier.
    fn element(&self, id: &str) -> Option<String> {
        self.attribute_or_text(id, None)
    }

    /// An attribute of the element with this identifier; of the outermost one for `""`.
    fn attribute(&self, id: &str, name: &str) -> Option<String> {
        self.attribute_or_text(id, Some(name))
    }

    fn attribute_or_text(&self, id: &str, name: Option<&str>) -> Option<String> {
        let document = roxmltree::Document::parse(&self.text).unwrap();
        let element = match id {
            "" => document.root_element(),
            _ => document.descendants().find(|n| n.attribute("id") == Some(id))?,
        };
        match name {
            Some(name) => element.attribute(name).map(str::to_owned),
            None => element.text().map(str::to_owned),
        }
    }

    /// A line of the settings that the script gets.
    fn setting(&self, key: &str) -> &str {
        let start = format!("\n  {key}: ");
        let at = self.text.find(&start).unwrap_or_else(|| panic!("no setting {key}")) + start.len();
        self.text[at..].lines().next().unwrap().trim_end_matches(',')
    }
}

const SVG_G: (&str, &str) = ("http://www.w3.org/2000/svg", "g");

/// Three functions, one of them called from two places.
const SMALL: &str = "main 1\nmain;parse 40\nmain;parse;lex 20\nmain;write 39\n";

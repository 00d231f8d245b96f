//! The JSON of pyinstrument (`-r json`): a tree of frames and how long each was on the stack; and its pages
//! (`-r html`, `-o out.html`), which hold such a tree.
//!
//! ```text
//! {"start_time": 1795220679.5,"duration": 0.623109,"sample_count": 122,"root_frame":
//!   {"function": "main","file_path_short": "orders.py","line_no": 35,"time": 0.606590,
//!    "class_name": "Shop","children": [{"function": "[self]","time": 0.000006, …}]}}
//! ```
//! A frame's time holds that of its children; what is left is its own, and so is that of a child
//! called `[self]`. Times are rounded to microseconds, so children may seem to take longer than
//! the frame: then they are cut, and all weights add up to the root's time exactly. The source is
//! `pyinstrument/renderers/jsonrenderer.py`.
//!
//! A page of pyinstrument 4.6 has the same JSON on a line of its own. That of pyinstrument 5 writes function, file
//! and line as one text, and the class and the lines that ran as attributes:
//!
//! ```text
//!     const sessionData = {"session": {"start_time": 1795379297.7, …}, "frame_tree":
//!       {"identifier": "main\u0000/app/orders.py\u000030","time": 0.7,"attributes": {"cShop": 0.7,"l35": 0.6},
//!        "children": [{"identifier": "[self]", …}]}};
//! ```

use crate::collapse::kit::forest::Forest;
use crate::collapse::kit::json::{HeadKeys, Json, Kind};
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::times::{date, duration};
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::{Error, Result};
use crate::folded::FrameId;
use crate::input::Input;
use crate::number;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "pyinstrument",
    producer: "pyinstrument -r json, -r html",
    tested: Tested::Seen("pyinstrument 3.4 to 5.1, pages of 4.6 and 5.1"),
    values: "time",
    unit: "s",
};

/// The child that stands for a frame's own time.
const OWN: &[u8] = b"[self]";

/// Stands before the JSON of a page.
const SESSION: &[u8] = b"const sessionData = ";
/// The name of the program in a page, which is there from its beginning.
const RENDERER: &[u8] = b"pyinstrumentHTMLRenderer";

/// Collapses pyinstrument's JSON and its pages.
pub struct Pyinstrument;

impl Collapser for Pyinstrument {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        if is_page(head) && memchr::memmem::find(head, RENDERER).is_some() {
            return Certainty::Yes;
        }
        match HeadKeys::read(head) {
            // The second is what a page holds, in a file of its own.
            Some(keys)
                if !keys.array && (keys.has("root_frame") || keys.has_all(&["session", "frame_tree"])) =>
            {
                Certainty::Yes
            }
            _ => Certainty::No,
        }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut json = Json::new(if is_page(input.head()) { session_of_page(input, report)? } else { input });
        let mut nodes = Vec::new();
        let mut key = String::new();
        let mut in_session = false;
        json.begin_object()?;
        loop {
            if !json.next_key(&mut key)? {
                if std::mem::take(&mut in_session) {
                    continue;
                }
                break;
            }
            let facts = &mut report.facts;
            match (key.as_str(), json.peek()?) {
                ("session", Kind::Object) if !in_session => {
                    json.begin_object()?;
                    in_session = true;
                }
                ("root_frame" | "frame_tree", Kind::Null) => json.skip()?,
                ("root_frame" | "frame_tree", _) => tree(&mut json, &mut nodes, sink)?,
                ("start_time", Kind::Number) => facts.start = date(json.weight()?, "s"),
                ("duration", Kind::Number) => facts.duration = duration(json.weight()?, "s"),
                ("cpu_time", Kind::Number) => facts.cpu_time = duration(json.weight()?, "s"),
                ("sample_count", Kind::Number) => facts.samples = json.weight()?.to_u64(),
                ("target_description" | "program", Kind::Text) => {
                    let text = json.text()?;
                    facts.set_command(text.strip_prefix("Program: ").unwrap_or(text));
                }
                _ => json.skip()?,
            }
        }
        json.end(report);
        settle(&mut nodes).map_err(|e| e.or_at(|| json.place()))?;
        let mut forest = Forest::default();
        for node in &nodes {
            forest.add(node.frame, node.parent);
        }
        let mut values = Values::single(reading, "time", "s");
        let weights = nodes.iter().enumerate().map(|(at, node)| (at, node.own));
        let result =
            forest.samples(&[], weights, sink, |stack, weight, sink| values.add(0, stack, weight, sink));
        result.map_err(|e| e.or_at(|| json.place()))?;
        values.finish(report)
    }
}

/// Returns true if a text is a page, and no JSON.
fn is_page(head: &[u8]) -> bool {
    head.trim_ascii_start().first() == Some(&b'<')
}

/// The JSON of a page, with blanks for what stands before it: errors name places of the page.
fn session_of_page(input: Input, report: &mut Report) -> Result<Input> {
    let name = input.name().clone();
    let mut page = input.read_all()?;
    let Some(at) = memchr::memmem::rfind(&page, SESSION) else {
        let found = page.len().saturating_sub(40);
        return Err(Error::malformed("a page with \"const sessionData = \"", &page[found..]));
    };
    if memchr::memmem::find(&page[..at], SESSION).is_some() {
        report.doubt("there are several pages, of which the last is read");
    }
    let start = at + SESSION.len();
    let end = memchr::memchr(b'\n', &page[start..]).map_or(page.len(), |length| start + length);
    page.truncate(page[..end].trim_ascii_end().strip_suffix(b";").map_or(end, <[u8]>::len));
    for byte in page[..start].iter_mut().filter(|byte| **byte != b'\n') {
        *byte = b' ';
    }
    Input::new(name, Box::new(std::io::Cursor::new(page)))
}

/// A frame below another, which comes before it.
struct Node {
    frame: FrameId,
    parent: Option<usize>,
    is_own: bool,
    time: Weight,
    own: Weight,
}

/// A frame whose object is being read.
#[derive(Default)]
struct Open {
    node: usize,
    function: Vec<u8>,
    class: Vec<u8>,
    file: Vec<u8>,
    short_file: Vec<u8>,
    line: Option<u64>,
    /// True if its children are being read.
    in_children: bool,
}

impl Open {
    /// Takes apart `main\0/app/orders.py\035`; behind a `\x01` stand attributes.
    fn set_identifier(&mut self, text: &[u8]) {
        let text = text.split(|&b| b == 1).next().unwrap_or_default();
        let mut parts = text.splitn(3, |&b| b == 0);
        self.function = parts.next().unwrap_or_default().to_vec();
        self.file = parts.next().unwrap_or_default().to_vec();
        self.line = parts.next().and_then(number::parse);
    }
}

/// Reads a frame and those below it, which may be very deep: without recursion.
fn tree(json: &mut Json, nodes: &mut Vec<Node>, sink: &mut dyn Sink) -> Result<()> {
    let mut names = FrameNames::default();
    let mut key = String::new();
    let mut open: Vec<Open> = Vec::new();
    begin(json, nodes, &mut open)?;
    while let Some(frame) = open.last_mut() {
        if frame.in_children {
            if json.next_item()? {
                begin(json, nodes, &mut open)?;
            } else {
                frame.in_children = false;
            }
            continue;
        }
        if !json.next_key(&mut key)? {
            let frame = open.pop().expect("it is the last");
            let is_leaf = frame.node + 1 == nodes.len();
            let node = &mut nodes[frame.node];
            node.is_own = is_leaf && frame.function == OWN && node.parent.is_some();
            node.frame = if node.is_own { FrameId(0) } else { name(&frame, &mut names, sink) };
            continue;
        }
        let text = match key.as_str() {
            "function" => &mut frame.function,
            "class_name" => &mut frame.class,
            "file_path" => &mut frame.file,
            "file_path_short" => &mut frame.short_file,
            "line_no" => {
                frame.line = if json.null()? { None } else { u64::try_from(json.integer()?).ok() };
                continue;
            }
            "identifier" => {
                frame.set_identifier(json.text()?.as_bytes());
                continue;
            }
            "attributes" if json.peek()? == Kind::Object => {
                json.begin_object()?;
                let mut attribute = String::new();
                while json.next_key(&mut attribute)? {
                    json.skip()?;
                    if let Some(class) = attribute.strip_prefix('c').filter(|_| frame.class.is_empty()) {
                        frame.class.extend_from_slice(class.as_bytes());
                    }
                }
                continue;
            }
            "time" => {
                let time = json.weight()?;
                if time.is_negative() {
                    let error = Error::malformed("a time", time.to_string().as_bytes());
                    return Err(error.at(json.place()));
                }
                nodes[frame.node].time = time;
                continue;
            }
            "children" => {
                if !json.null()? {
                    json.begin_array()?;
                    frame.in_children = true;
                }
                continue;
            }
            _ => {
                json.skip()?;
                continue;
            }
        };
        text.clear();
        text.extend_from_slice(json.text()?.as_bytes());
    }
    Ok(())
}

fn begin(json: &mut Json, nodes: &mut Vec<Node>, open: &mut Vec<Open>) -> Result<()> {
    json.begin_object()?;
    let parent = open.last().map(|frame| frame.node);
    let (time, own) = (Weight::ZERO, Weight::ZERO);
    nodes.push(Node { frame: FrameId(0), parent, is_own: false, time, own });
    open.push(Open { node: nodes.len() - 1, ..Open::default() });
    Ok(())
}

/// `Shop.main (orders.py:35)`, as pyinstrument shows it.
fn name(frame: &Open, names: &mut FrameNames, sink: &mut dyn Sink) -> FrameId {
    let file = if frame.short_file.is_empty() { &frame.file } else { &frame.short_file };
    let line = frame.line.filter(|line| *line > 0);
    if frame.class.is_empty() {
        return names.located(&frame.function, file, line, sink);
    }
    names.located(&[&frame.class[..], b".", &frame.function].concat(), file, line, sink)
}

/// Gives every frame its own time, its time less that of its children. Children that take more
/// than it has give the excess back.
fn settle(nodes: &mut [Node]) -> Result<()> {
    // The time that the children of each node take, later the time that they have to give back.
    let mut children = vec![Weight::ZERO; nodes.len()];
    for node in &*nodes {
        if let Some(parent) = node.parent {
            children[parent] = children[parent].checked_add(node.time)?;
        }
    }
    for at in 0..nodes.len() {
        let mut time = nodes[at].time;
        if let Some(parent) = nodes[at].parent {
            let cut = children[parent].min(time);
            time = time.checked_sub(cut)?;
            children[parent] = children[parent].checked_sub(cut)?;
        }
        let left = time.checked_sub(children[at])?;
        let (own, missing) =
            if left.is_negative() { (Weight::ZERO, left.negated()) } else { (left, Weight::ZERO) };
        children[at] = missing;
        match nodes[at].parent.filter(|_| nodes[at].is_own) {
            Some(parent) => nodes[parent].own = nodes[parent].own.checked_add(own)?,
            None => nodes[at].own = nodes[at].own.checked_add(own)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::tests::{collapse_bytes, fold};

    fn frame(function: &str, time: &str, children: &[String]) -> String {
        let children = children.join(",");
        format!(
            r#"{{"function":"{function}","file_path_short":"a.py","line_no":3,"children":[{children}],"time":{time}}}"#
        )
    }

    fn document(root: &str) -> String {
        format!(r#"{{"duration":9.0,"root_frame":{root},"sample_count":3}}"#)
    }

    #[test]
    fn the_session_of_a_page_may_be_a_file_of_its_own() {
        let tree = r#"{"identifier":"main\u0000/app/a.py\u00003","time":0.7,"attributes":{"cShop":0.7},"children":[]}"#;
        let text = format!(r#"{{"session":{{"duration":0.8,"sample_count":3}},"frame_tree":{tree}}}"#);
        assert_eq!(Pyinstrument.detect(text.as_bytes()), Certainty::Yes);
        assert_eq!(fold(&Pyinstrument, text, &CollapseOptions::default()), "Shop.main (/app/a.py:3) 0.7\n");
    }

    #[test]
    fn own_time_is_what_children_leave() {
        let tree = frame(
            "m",
            "0.5",
            &[frame("f", "0.2", &[]), frame("[self]", "0.1", &[]), frame("g", "0.0000005", &[])],
        );
        let text = document(&tree.replace(r#""function":"f""#, r#""class_name":"C","function":"f""#));
        assert_eq!(Pyinstrument.detect(text.as_bytes()), Certainty::Yes);
        assert_eq!(
            fold(&Pyinstrument, text, &CollapseOptions::default()),
            "m (a.py:3) 0.2999995\nm (a.py:3);C.f (a.py:3) 0.2\nm (a.py:3);g (a.py:3) 0.0000005\n"
        );
    }

    #[test]
    fn children_never_take_more_than_there_is() {
        // Rounded up: 4 + 3 of 6, and below the first 5 of the 3 that are left.
        let tree = frame(
            "m",
            "0.000006",
            &[frame("f", "0.000004", &[frame("h", "0.000005", &[])]), frame("g", "0.000003", &[])],
        );
        assert_eq!(
            fold(&Pyinstrument, document(&tree), &CollapseOptions::default()),
            "m (a.py:3);f (a.py:3);h (a.py:3) 0.000003\nm (a.py:3);g (a.py:3) 0.000003\n"
        );
    }

    #[test]
    fn what_is_broken_is_placed() {
        let error = |text: &str| {
            collapse_bytes(&Pyinstrument, text, &CollapseOptions::default()).unwrap_err().to_string()
        };
        for (root, message) in [
            ("[]", "byte 29: expected an object, found an array"),
            (r#"{"time":"x"}"#, "byte 37: expected a number, found a text"),
            (r#"{"time":-1}"#, "expected a time, found \"-1\""),
            (
                r#"{"time":1e37,"children":[{"time":9e37},{"time":9e37}]}"#,
                "add up to more than can be held exactly",
            ),
        ] {
            let found = error(&document(root));
            assert!(found.starts_with("test: byte ") && found.contains(message), "{found}");
        }
        assert!(error(r#"{"root_frame":{"children":["#).contains("the end of the input"));
        let deep = r#"{"children":["#.repeat(200_000);
        assert!(!error(&format!(r#"{{"root_frame":{deep}"#)).is_empty());
    }
}

//! The samples of a trace, and the table of frames that they name: `perf` in Chrome's systrace, and Hermes,
//! the engine of React Native, which writes its numbers as texts.
//!
//! ```text
//! {"traceEvents": [],
//!  "samples": [{"cpu": "-1", "name": "", "ts": "8570", "pid": "6052", "tid": "6105", "weight": "1", "sf": "7"}],
//!  "stackFrames": {"1": {"name": "[root]", "category": "root"},
//!                  "7": {"name": "render(index.bundle:20:3)", "category": "JavaScript", "parent": 1}}}
//! ```
//! The samples of Dart's DevTools are events, `{"ph": "P", "sf": "140-7", "args": {"userTag": "Default"}, …}`, and their
//! frames say where they are: `packageUri`, or else `resolvedUrl`, and `sourceLine`.
//! Specified in "Trace Event Format", Google, 2016: "Global samples"; Dart's in DevTools' `cpu_profile_model.dart`.

use std::collections::HashMap;

use super::{ThreadKey, microseconds};
use crate::collapse::kit::forest::{Forest, Node};
use crate::collapse::kit::json::{Json, Kind};
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::times::nanoseconds;
use crate::collapse::{Report, Sink};
use crate::error::Result;
use crate::folded::FrameId;
use crate::weight::Weight;

/// The frames of a trace, and its samples.
#[derive(Default)]
pub struct StackFrames {
    forest: Forest,
    nodes: HashMap<String, Node>,
    parents: Vec<(Node, String)>,
    /// The `[root]` of Hermes, which is no frame.
    root: Option<Node>,
    samples: Vec<Sample>,
}

/// A sample, which names its frame by number.
pub struct Sample {
    /// The number of its frame.
    pub frame: String,
    pub thread: ThreadKey,
    /// Microseconds.
    pub at: Option<Weight>,
    pub weight: Weight,
    /// The name that the program gave to what it was doing; empty if it gave none.
    pub tag: String,
}

impl StackFrames {
    /// Returns true if there are no samples.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Reads the table `stackFrames`.
    ///
    /// # Errors
    /// Anything but such a table.
    pub fn frames(&mut self, json: &mut Json, names: &mut FrameNames, sink: &mut dyn Sink) -> Result<()> {
        let (mut id, mut key) = (String::new(), String::new());
        json.begin_object()?;
        while json.next_key(&mut id)? {
            let node = self.forest.add(names.plain(b"", sink), None);
            json.begin_object()?;
            let (mut name, mut package, mut url) = (String::new(), String::new(), String::new());
            let mut line = None;
            while json.next_key(&mut key)? {
                match (key.as_str(), json.peek()?) {
                    ("name", Kind::Text) => name = json.text()?.to_owned(),
                    ("packageUri", Kind::Text) => package = json.text()?.to_owned(),
                    ("resolvedUrl", Kind::Text) => url = json.text()?.to_owned(),
                    ("sourceLine", Kind::Number) => line = json.index()?.map(|line| line as u64),
                    ("parent", Kind::Text | Kind::Number) => {
                        self.parents.push((node, json.text_or_number()?.to_owned()));
                    }
                    _ => json.skip()?,
                }
            }
            let file = if package.is_empty() { url } else { package };
            let frame = match file.is_empty() {
                true => names.plain(name.as_bytes(), sink),
                false => names.declared(name.as_bytes(), file.as_bytes(), line, sink),
            };
            self.forest.set_frame(node, frame);
            if name == "[root]" {
                self.root = Some(node);
            }
            self.nodes.insert(id.clone(), node);
        }
        Ok(())
    }

    /// Reads the array `samples`.
    ///
    /// # Errors
    /// Anything but such an array.
    pub fn samples(&mut self, json: &mut Json) -> Result<()> {
        let mut key = String::new();
        json.begin_array()?;
        while json.next_item_or_end()? {
            let mut sample = Sample {
                frame: String::new(),
                thread: ThreadKey::default(),
                at: None,
                weight: Weight::ONE,
                tag: String::new(),
            };
            json.begin_object()?;
            while json.next_key(&mut key)? {
                match (key.as_str(), json.peek()?) {
                    ("sf", Kind::Text | Kind::Number) => sample.frame.push_str(json.text_or_number()?),
                    ("pid", Kind::Text | Kind::Number) => sample.thread.0.push_str(json.text_or_number()?),
                    ("tid", Kind::Text | Kind::Number) => sample.thread.1.push_str(json.text_or_number()?),
                    ("ts", Kind::Text | Kind::Number) => sample.at = Some(microseconds(json)?),
                    ("weight", Kind::Text | Kind::Number) => sample.weight = microseconds(json)?,
                    _ => json.skip()?,
                }
            }
            self.samples.push(sample);
        }
        Ok(())
    }

    /// Adds a sample.
    pub fn push(&mut self, sample: Sample) {
        self.samples.push(sample);
    }

    /// Calls `each` with every sample, its time in nanoseconds, and its stack. Samples of frames that do not exist
    /// are left out and counted.
    ///
    /// # Errors
    /// Circles, and those of `each`.
    pub fn for_each(
        mut self,
        sink: &mut dyn Sink,
        report: &mut Report,
        mut each: impl FnMut(&Sample, Option<u64>, &[FrameId], &mut dyn Sink) -> Result<()>,
    ) -> Result<()> {
        for (node, parent) in &self.parents {
            let parent = self.nodes.get(parent).copied().filter(|parent| Some(*parent) != self.root);
            self.forest.set_parent(*node, parent.map(|parent| parent.0));
        }
        let mut missing = 0u64;
        let mut stack = Vec::new();
        let no_stack = sink.frame(NO_STACK);
        for sample in &self.samples {
            stack.clear();
            match self.nodes.get(&sample.frame) {
                Some(node) => self.forest.stack(node.0, &mut stack)?,
                None if sample.frame.is_empty() => stack.push(no_stack),
                None => {
                    missing += 1;
                    continue;
                }
            }
            let time = sample.at.and_then(|at| nanoseconds(at, "us"));
            each(sample, time, &stack, sink)?;
        }
        if missing > 0 {
            report.doubt(format!("{missing} samples are of frames that do not exist; they are left out"));
        }
        Ok(())
    }

    /// The threads of the samples.
    pub fn threads(&self) -> impl Iterator<Item = &ThreadKey> {
        self.samples.iter().map(|sample| &sample.thread)
    }
}

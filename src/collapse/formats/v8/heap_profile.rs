//! `.heapprofile`: `node --heap-prof`, and DevTools' allocation sampling (seen: Node 20).
//!
//! ```text
//! {"head": {"callFrame": {"functionName": "(root)", …}, "selfSize": 0, "id": 1,
//!           "children": [{"callFrame": {"functionName": "log", "url": "node:internal/…", …},
//!                         "selfSize": 4096, "children": []}]},
//!  "samples": […]}
//! ```
//! Objects that are alive when the profile is written, below the functions that allocated it.
//! Specified as `SamplingHeapProfile` of the Chrome DevTools protocol.

use super::CallFrame;
use crate::collapse::kit::forest::{Forest, Node};
use crate::collapse::kit::json::{HeadKeys, Json, Nodes};
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "heapprofile",
    producer: "node --heap-prof, Chrome DevTools: V8 .heapprofile",
    tested: Tested::Seen("Node 20"),
    values: "size",
    unit: "bytes",
};

/// Collapses V8's profiles of the heap.
pub struct HeapProfile;

impl Collapser for HeapProfile {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let Some(keys) = HeadKeys::read(head).filter(|keys| !keys.array) else { return Certainty::No };
        if keys.has("head.callFrame") { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut json = Json::new(input);
        let mut tree = Tree {
            sink,
            forest: Forest::default(),
            sizes: Vec::new(),
            root: None,
            names: FrameNames::default(),
            call: CallFrame::default(),
        };
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "head" => json.tree("children", &mut tree)?,
                _ => json.skip()?,
            }
        }
        json.end(report);
        let mut values = Values::single(reading, "size", "bytes");
        let Tree { sink, mut forest, sizes, root, .. } = tree;
        let sized = sizes.into_iter().enumerate().filter(|(_, size)| !size.is_zero());
        let mut stack = Vec::new();
        for (node, size) in sized {
            stack.clear();
            forest.stack(node, &mut stack).map_err(|e| e.or_at(|| json.place()))?;
            // Only what was allocated outside of everything is the root's.
            let stack = if root.is_some() && stack.len() > 1 { &stack[1..] } else { &stack[..] };
            values.sample(stack, &[size], sink)?;
        }
        values.finish(report)
    }
}

struct Tree<'t> {
    sink: &'t mut dyn Sink,
    forest: Forest,
    sizes: Vec<Weight>,
    /// The `(root)`, which is no frame.
    root: Option<usize>,
    names: FrameNames,
    call: CallFrame,
}

impl Nodes for Tree<'_> {
    fn begin(&mut self, above: Option<usize>) -> usize {
        let unnamed: FrameId = self.names.plain(b"", self.sink);
        self.sizes.push(Weight::ZERO);
        self.forest.add(unnamed, above).0
    }

    fn field(&mut self, json: &mut Json, key: &str, node: usize) -> Result<()> {
        match key {
            "callFrame" => {
                self.call.read(json)?;
                if self.call.is_root() && self.forest.parent(Node(node)).is_none() {
                    self.root = Some(node);
                }
                let frame = self.call.frame(&mut self.names, self.sink);
                self.forest.set_frame(Node(node), frame);
            }
            "selfSize" => self.sizes[node] = json.weight()?,
            _ => json.skip()?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::folded::StackTable;

    #[test]
    fn sizes_are_those_of_the_nodes_themselves() {
        let call =
            |name: &str| format!(r#""callFrame":{{"functionName":"{name}","url":"a;.js","lineNumber":0}}"#);
        let text = format!(
            r#"{{"head":{{"callFrame":{{"functionName":"(root)","url":"","lineNumber":-1}},"selfSize":3,"children":[
               {{"children":[{{{},"selfSize":8,"children":[]}}],{},"selfSize":4}}]}},"samples":[{{}}]}}"#,
            call(""),
            call("f")
        );
        assert_eq!(HeapProfile.detect(text.as_bytes()), Certainty::Yes);
        let input = Input::new("test", Box::new(std::io::Cursor::new(text))).unwrap();
        let mut table = StackTable::default();
        HeapProfile
            .collapse(input, &Reading::alone(&CollapseOptions::default()), &mut table, &mut Report::default())
            .unwrap();
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "(root) 3\nf (a:.js:1) 4\nf (a:.js:1);(anonymous) (a:.js:1) 8\n"
        );
    }
}

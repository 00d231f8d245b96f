//! The JSON of d3-flame-graph, which Node's 0x and Netflix' tools write, too: name, value, children.
//!
//! ```text
//! {"name": "root", "value": 57412, "children": [{"name": "main", "value": 57412, "children": […]}]}
//! ```
//! A value holds that of the children. The short keys `n`, `v` and `c` are older. Described in the README of
//! github.com/spiermar/d3-flame-graph.

use super::{Node, push};
use crate::collapse::kit::json::{HeadKeys, Json, Kind, Nodes};
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value};
use crate::error::Result;
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "d3-flame-graph",
    producer: "d3-flame-graph's JSON",
    tested: Tested::ByDescription("d3-flame-graph 4.1 by its documentation"),
    values: "value",
    unit: "-",
};

/// Names of roots, which are no frames.
const ROOTS: [&str; 4] = ["root", "all", "total", ""];

/// Collapses the trees of d3-flame-graph.
pub struct D3FlameGraph;

impl Collapser for D3FlameGraph {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let is_tree = |keys: HeadKeys| {
            let long = keys.has_all(&["name", "value", "children", "children.name", "children.value"]);
            !keys.array && (long || keys.has_all(&["n", "v", "c", "c.n", "c.v"]))
        };
        if HeadKeys::read(head).is_some_and(is_tree) { Certainty::Maybe } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let is_short =
            HeadKeys::read(input.head()).is_some_and(|keys| keys.has("c") && !keys.has("children"));
        let mut json = Json::new(input);
        let mut tree = Tree { sink, names: FrameNames::default(), nodes: Vec::new() };
        json.tree(if is_short { "c" } else { "children" }, &mut tree)?;
        json.end(report);
        let Tree { sink, nodes, .. } = tree;
        let value = Value { name: b"value".to_vec(), unit: None };
        let mut values = Values::only(reading, value);
        push(&nodes, &mut values, sink, report).map_err(|e| e.or_at(|| json.place()))?;
        values.finish(report)
    }
}

struct Tree<'t> {
    sink: &'t mut dyn Sink,
    names: FrameNames,
    nodes: Vec<Node>,
}

impl Nodes for Tree<'_> {
    fn begin(&mut self, above: Option<usize>) -> usize {
        let frame = self.names.plain(b"", self.sink);
        self.nodes.push(Node { frame, parent: above, is_root: false, own: None, total: Weight::ZERO });
        self.nodes.len() - 1
    }

    fn field(&mut self, json: &mut Json, key: &str, node: usize) -> Result<()> {
        match (key, json.peek()?) {
            ("name" | "n", Kind::Text) => {
                let name = json.text()?;
                let node = &mut self.nodes[node];
                node.is_root = node.parent.is_none() && ROOTS.contains(&name);
                node.frame = self.names.plain(name.as_bytes(), self.sink);
            }
            ("value" | "v", Kind::Number) => self.nodes[node].total = json.weight()?,
            _ => json.skip()?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::tests::{collapse_bytes, fold};

    #[test]
    fn values_hold_those_of_children() {
        let text = r#"{"name":"root","value":10,"children":[{"value":7,"children":[{"name":"g;","value":2.5}],"name":"f"},{"name":"h","value":2}]}"#;
        assert_eq!(D3FlameGraph.detect(text.as_bytes()), Certainty::Maybe);
        assert_eq!(fold(&D3FlameGraph, text, &CollapseOptions::default()), "f 4.5\nf;g: 2.5\nh 2\nroot 1\n");
        let short = r#"{"n":"app","v":3,"c":[{"n":"f","v":2,"c":[]}]}"#;
        assert_eq!(fold(&D3FlameGraph, short, &CollapseOptions::default()), "app 1\napp;f 2\n");
    }

    #[test]
    fn children_that_weigh_more_are_told() {
        let text = r#"{"name":"a","value":1,"children":[{"name":"f","value":2}]}"#;
        let (out, report) = collapse_bytes(&D3FlameGraph, text, &CollapseOptions::default()).unwrap();
        assert_eq!(out, "a;f 2\n");
        assert_eq!(report.not_understood.doubts, ["1 nodes weigh less than those below them"]);
        let deep = r#"{"name":"a","value":1,"children":["#.repeat(150_000);
        assert!(collapse_bytes(&D3FlameGraph, deep, &CollapseOptions::default()).is_err());
    }
}

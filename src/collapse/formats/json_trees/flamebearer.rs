//! Flamebearer, the JSON of Pyroscope: `/render?format=json` and its downloads.
//!
//! ```text
//! {"version": 1, "flamebearer": {"names": ["total", "main", "work"], "numTicks": 988, "maxSelf": 900,
//!   "levels": [[0, 988, 0, 0], [0, 988, 88, 1], [0, 900, 900, 2]]},
//!  "metadata": {"format": "single", "spyName": "gospy", "sampleRate": 100, "units": "samples", …}, …}
//! ```
//! A level is its bars, four numbers each: the distance from the bar before, its width, its own weight, its name.
//! A bar is below the one of the level before it that it lies within. Comparisons have seven numbers and are not
//! read: `fg-diff` makes one of two profiles. The source is `pkg/og/structs/flamebearer` of
//! github.com/grafana/pyroscope.

use super::{Node, push};
use crate::collapse::kit::json::{HeadKeys, Json, Kind};
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value};
use crate::error::{Error, Result};
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "flamebearer",
    producer: "Pyroscope's flamebearer JSON",
    tested: Tested::ByDescription("Pyroscope by its source"),
    values: "the profile's name",
    unit: "the profile's",
};

/// The numbers of a bar.
const BAR: usize = 4;

/// Collapses flamebearers.
pub struct Flamebearer;

impl Collapser for Flamebearer {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let is_ours =
            |keys: HeadKeys| keys.has("flamebearer") || keys.has_all(&["names", "levels", "numTicks"]);
        if HeadKeys::read(head).is_some_and(is_ours) { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut json = Json::new(input);
        let mut graph = Graph::default();
        graph.object(&mut json, report)?;
        json.end(report);
        let mut names = FrameNames::default();
        let nodes = graph.nodes(|name, sink| names.plain(name, sink), sink);
        let nodes = nodes.map_err(|e| e.or_at(|| json.place()))?;
        let value = match graph.unit.as_str() {
            "lock_nanoseconds" => Value::new(graph.name, "ns"),
            unit => Value::with_producers_unit(graph.name, unit),
        };
        let mut values = Values::only(reading, value);
        push(&nodes, &mut values, sink, report).map_err(|e| e.or_at(|| json.place()))?;
        values.finish(report)
    }
}

#[derive(Default)]
struct Graph {
    names: Vec<String>,
    /// The numbers of each level.
    levels: Vec<Vec<Weight>>,
    name: String,
    unit: String,
}

impl Graph {
    /// Reads the outermost object, or the one below `flamebearer`.
    fn object(&mut self, json: &mut Json, report: &mut Report) -> Result<()> {
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match (key.as_str(), json.peek()?) {
                ("flamebearer", Kind::Object) => {
                    json.begin_object()?;
                    while json.next_key(&mut key)? {
                        self.field(json, &key, report)?;
                    }
                }
                ("metadata", Kind::Object) => {
                    json.begin_object()?;
                    while json.next_key(&mut key)? {
                        self.field(json, &key, report)?;
                    }
                }
                _ => self.field(json, &key, report)?,
            }
        }
        Ok(())
    }

    fn field(&mut self, json: &mut Json, key: &str, report: &mut Report) -> Result<()> {
        match (key, json.peek()?) {
            ("names", Kind::Array) => {
                json.begin_array()?;
                while json.next_item()? {
                    self.names.push(json.text()?.to_owned());
                }
            }
            ("levels", Kind::Array) => {
                json.begin_array()?;
                while json.next_item()? {
                    let mut level = Vec::new();
                    json.begin_array()?;
                    while json.next_item()? {
                        level.push(json.weight()?);
                    }
                    self.levels.push(level);
                }
            }
            ("name", Kind::Text) => json.text()?.clone_into(&mut self.name),
            ("units", Kind::Text) => json.text()?.clone_into(&mut self.unit),
            ("sampleRate", Kind::Number) => {
                report.facts.rate = json.weight()?.to_u64().filter(|rate| *rate > 0);
            }
            ("spyName", Kind::Text) => report.facts.producer = crate::profile::fact(json.text()?.as_bytes()),
            ("format", Kind::Text) => {
                let format = json.text()?.to_owned();
                if format == "double" {
                    let expected = "one profile; fg-diff compares two";
                    return Err(Error::malformed(expected, b"a comparison").at(json.place()));
                }
            }
            _ => json.skip()?,
        }
        Ok(())
    }

    /// The bars as nodes.
    fn nodes(
        &self,
        mut frame: impl FnMut(&[u8], &mut dyn Sink) -> crate::folded::FrameId,
        sink: &mut dyn Sink,
    ) -> Result<Vec<Node>> {
        let mut nodes: Vec<Node> = Vec::new();
        // The begin and the end of each bar of the level above, and its node.
        let mut above: Vec<(Weight, Weight, usize)> = Vec::new();
        for (depth, level) in self.levels.iter().enumerate() {
            let mut bars = Vec::new();
            let mut at = Weight::ZERO;
            let mut parents = above.iter().peekable();
            if level.len() % BAR != 0 {
                let found = format!("{} in level {depth}", level.len());
                return Err(Error::malformed("four numbers for each bar", found.as_bytes()));
            }
            for bar in level.chunks_exact(BAR) {
                let [distance, total, own, name] = [bar[0], bar[1], bar[2], bar[3]];
                at = at.checked_add(distance)?;
                let end = at.checked_add(total)?;
                if distance.is_negative() || total.is_negative() || own.is_negative() {
                    return Err(Error::malformed("a bar of a width", end.to_string().as_bytes()));
                }
                let text = name.to_u64().and_then(|name| self.names.get(usize::try_from(name).ok()?));
                let Some(text) = text else {
                    let expected = format!("the number of one of {} names", self.names.len());
                    return Err(Error::malformed(expected, name.to_string().as_bytes()));
                };
                while parents.peek().is_some_and(|(_, parent_end, _)| *parent_end < end) {
                    parents.next();
                }
                let parent = parents.peek().filter(|(begin, ..)| *begin <= at).map(|(.., node)| *node);
                if depth > 0 && parent.is_none() {
                    let expected = format!("a bar of level {} around each of level {depth}", depth - 1);
                    return Err(Error::malformed(expected, b"none"));
                }
                let frame = frame(text.as_bytes(), sink);
                let is_root = depth == 0 && text == "total";
                bars.push((at, end, nodes.len()));
                nodes.push(Node { frame, parent, is_root, own: Some(own), total });
                at = end;
            }
            above = bars;
        }
        Ok(nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::tests::{collapse_bytes, fold};

    fn document(levels: &str) -> String {
        format!(
            r#"{{"version":1,"flamebearer":{{"names":["total","a;","b","c"],"levels":{levels},"numTicks":10,"maxSelf":5}},"metadata":{{"format":"single","units":"samples","name":"cpu","sampleRate":100,"spyName":"gospy"}}}}"#
        )
    }

    #[test]
    fn bars_lie_within_those_above() {
        let text = document("[[0,10,0,0],[0,4,1,1,1,5,0,2],[1,3,3,3,2,2,2,1,0,2,2,3]]");
        assert_eq!(Flamebearer.detect(text.as_bytes()), Certainty::Yes);
        let (out, report) = collapse_bytes(&Flamebearer, &text, &CollapseOptions::default()).unwrap();
        assert_eq!(out, "a: 1\na:;c 3\nb;a: 2\nb;c 2\n");
        assert_eq!(report.facts.rate, Some(100));
        assert_eq!(fold(&Flamebearer, document("[[0,10,10,0]]"), &CollapseOptions::default()), "total 10\n");
    }

    #[test]
    fn what_is_no_flame_graph_is_refused() {
        let error = |levels: &str| {
            collapse_bytes(&Flamebearer, document(levels), &CollapseOptions::default())
                .unwrap_err()
                .to_string()
        };
        for (levels, message) in [
            ("[[0,1,1]]", "four numbers for each bar, found \"3 in level 0\""),
            ("[[0,1,1,9]]", "the number of one of 4 names, found \"9\""),
            ("[[0,4,0,0],[3,2,2,1]]", "a bar of level 0 around each of level 1"),
            ("[[-1,4,0,0]]", "a bar of a width"),
        ] {
            assert!(error(levels).contains(message), "{}", error(levels));
        }
        let double = document("[]").replace("single", "double");
        let error =
            collapse_bytes(&Flamebearer, double, &CollapseOptions::default()).unwrap_err().to_string();
        assert!(error.contains("fg-diff compares two"), "{error}");
    }
}

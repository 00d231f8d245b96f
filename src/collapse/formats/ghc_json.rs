//! The profile of a GHC program as JSON: `+RTS -pj` (seen: GHC 9.0).
//!
//! ```text
//! {"program": "hs", "total_ticks": 336, "tick_interval": 1000, "total_alloc": 439558416,
//!  "cost_centres": [{"id": 147, "label": "fib", "module": "Main", "src_loc": "Main.hs:5:1-60", …}, …],
//!  "profile": {"id": 146, "entries": 0, "alloc": 22488, "ticks": 0, "children": [{"id": 147, …}]}}
//! ```
//! A tree of cost centres, each with what it cost itself, which adds up to the totals: the same as
//! GHC's text, but exact. Specified in GHC's user guide, "JSON profile format".

use std::collections::HashMap;

use crate::collapse::kit::forest::{Forest, Node};
use crate::collapse::kit::json::{HeadKeys, Json, Kind, Nodes};
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::times::duration;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value,
};
use crate::error::{Error, Result};
use crate::folded::{FrameId, Place, sanitize_frame};
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "ghc-json",
    producer: "a GHC program with +RTS -pj",
    tested: Tested::Seen("GHC 9.0"),
    values: "ticks, bytes, entries",
    unit: "ticks, bytes, entries",
};

/// Collapses GHC's JSON.
pub struct GhcJson;

impl Collapser for GhcJson {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        match HeadKeys::read(head) {
            Some(keys) if keys.has_all(&["total_ticks", "cost_centres.label"]) => Certainty::Yes,
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
        let mut json = Json::new(input);
        let mut centres = HashMap::new();
        let unnamed = FrameNames::default().plain(b"", sink);
        let mut tree = Tree { unnamed, forest: Forest::default(), nodes: Vec::new() };
        let mut key = String::new();
        let (mut program, mut arguments) = (String::new(), String::new());
        let mut interval = Weight::ZERO;
        // Ticks and bytes.
        let mut stated = [None; 2];
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "cost_centres" => read_centres(&mut json, reading, &mut centres, sink)?,
                "program" => program = json.text()?.to_owned(),
                "arguments" if json.peek()? == Kind::Array => {
                    json.begin_array()?;
                    while json.next_item()? {
                        let word = json.text()?;
                        arguments = if arguments.is_empty() { word.into() } else { arguments + " " + word };
                    }
                }
                "total_time" => report.facts.cpu_time = duration(json.weight()?, "s"),
                "total_ticks" => stated[0] = Some(json.weight()?),
                "total_alloc" => stated[1] = Some(json.weight()?),
                "tick_interval" => interval = json.weight()?,
                "profile" => json.tree("children", &mut tree)?,
                _ => json.skip()?,
            }
        }
        json.end(report);
        report.facts.set_command(if arguments.is_empty() { program } else { arguments });
        // Microseconds.
        let rate = (1e6 / interval.to_f64()).round();
        report.facts.rate = (1.0..=1e9).contains(&rate).then_some(rate as u64);
        let declared = ["ticks", "bytes", "entries"].map(|name| Value::new(name, name));
        let Tree { mut forest, nodes, .. } = tree;
        let holds = |at: usize| nodes.iter().any(|(_, costs)| !costs[at].is_zero());
        let mut values = Values::holding(reading, declared.to_vec(), 0, holds, report)?;
        for (at, (id, _)) in nodes.iter().enumerate() {
            let Some(centre) = centres.get(id) else {
                let expected = format!("one of the {} cost centres", centres.len());
                return Err(Error::malformed(expected, id.to_string().as_bytes()).at(json.place()));
            };
            forest.set_frame(Node(at), *centre);
        }
        for (column, (what, stated)) in ["the ticks", "the bytes"].into_iter().zip(stated).enumerate() {
            let mut costs = nodes.iter().map(|(_, costs)| costs[column]);
            let sum = costs.try_fold(Weight::ZERO, |sum, cost| sum.checked_add(cost))?;
            stated.into_iter().for_each(|stated| report.check_total(what, sum, stated));
        }
        let mut stack = Vec::new();
        for (at, (_, costs)) in nodes.iter().enumerate() {
            if costs.iter().any(|cost| !cost.is_zero()) {
                stack.clear();
                forest.stack(at, &mut stack).map_err(|e| e.or_at(|| json.place()))?;
                values.sample(&stack, costs, sink)?;
            }
        }
        let ticks = Value::new("ticks", "ticks");
        let are_ticks = values.kept() == Some(&ticks);
        values.finish(report)?;
        if are_ticks {
            report.samples_are(&ticks);
        }
        Ok(())
    }
}

/// The names of the cost centres: `Main.fib`.
fn read_centres(
    json: &mut Json,
    options: &CollapseOptions,
    centres: &mut HashMap<i64, FrameId>,
    sink: &mut dyn Sink,
) -> Result<()> {
    let (mut key, mut label, mut module, mut place) =
        (String::new(), String::new(), String::new(), String::new());
    let mut names = FrameNames::default();
    json.begin_array()?;
    while json.next_item()? {
        let mut id = None;
        [&mut label, &mut module, &mut place].into_iter().for_each(String::clear);
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "id" => id = Some(json.integer()?),
                "label" => label.push_str(json.text()?),
                "module" => module.push_str(json.text()?),
                "src_loc" => place.push_str(json.text()?),
                _ => json.skip()?,
            }
        }
        let at = Place { module: module.as_bytes(), ..source(&place) };
        let frame = names.build_at(&at, sink, |out| {
            sanitize_frame(module.as_bytes(), out);
            out.push(b'.');
            sanitize_frame(label.as_bytes(), out);
            if options.srcline && !place.is_empty() {
                out.extend_from_slice(b" (");
                sanitize_frame(place.as_bytes(), out);
                out.push(b')');
            }
        });
        centres.extend(id.map(|id| (id, frame)));
    }
    Ok(())
}

/// The place of `Main.hs:5:1-60` or `Main.hs:(3,1)-(4,9)`; `<built-in>` and the like are none.
fn source(text: &str) -> Place<'_> {
    let Some((file, rest)) = text.split_once(':').filter(|_| !text.starts_with('<')) else {
        return Place::default();
    };
    let digits = rest.trim_start_matches('(');
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    Place { file: file.as_bytes(), start_line: digits[..end].parse().unwrap_or(0), ..Place::default() }
}

/// The tree; its cost centres get their names at the end.
struct Tree {
    unnamed: FrameId,
    forest: Forest,
    /// The cost centre of each node, and its ticks, bytes and entries.
    nodes: Vec<(i64, [Weight; 3])>,
}

impl Nodes for Tree {
    fn begin(&mut self, above: Option<usize>) -> usize {
        self.nodes.push((-1, [Weight::ZERO; 3]));
        self.forest.add(self.unnamed, above).0
    }

    fn field(&mut self, json: &mut Json, key: &str, node: usize) -> Result<()> {
        let (id, [ticks, bytes, entries]) = &mut self.nodes[node];
        match key {
            "id" => *id = json.integer()?,
            "ticks" => *ticks = json.weight()?,
            "alloc" => *bytes = json.weight()?,
            "entries" => *entries = json.weight()?,
            _ => json.skip()?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::ValueSelection;
    use crate::collapse::tests::{collapse_bytes, fold};

    const TEXT: &str = r#"{"program": "x", "total_ticks": 3, "total_alloc": 7,
        "cost_centres": [{"id": 2, "label": "f;", "module": "M", "src_loc": "M.hs:1", "is_caf": false},
                         {"id": 1, "label": "MAIN", "module": "MAIN"}],
        "profile": {"id": 1, "entries": 0, "alloc": 4, "ticks": 0, "children": [
            {"id": 2, "entries": 5, "alloc": 3, "ticks": 3, "children": []}]}}"#;

    #[test]
    fn each_cost_centre_has_its_own_costs() {
        assert_eq!(GhcJson.detect(TEXT.as_bytes()), Certainty::Yes);
        assert_eq!(fold(&GhcJson, TEXT, &CollapseOptions::default()), "MAIN.MAIN;M.f: 3\n");
        let bytes = CollapseOptions {
            values: ValueSelection::Named(vec![b"bytes".to_vec()]),
            srcline: true,
            ..CollapseOptions::default()
        };
        assert_eq!(fold(&GhcJson, TEXT, &bytes), "MAIN.MAIN 4\nMAIN.MAIN;M.f: (M.hs:1) 3\n");
    }

    #[test]
    fn a_cost_centre_that_is_not_there_is_an_error() {
        let text = TEXT.replace("\"id\": 2, \"entries\"", "\"id\": 9, \"entries\"");
        let error = collapse_bytes(&GhcJson, text, &CollapseOptions::default()).unwrap_err().to_string();
        assert!(error.contains("expected one of the 2 cost centres, found \"9\""), "{error}");
    }
}

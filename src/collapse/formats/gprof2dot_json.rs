//! The JSON that gprof2dot reads, as programs without a profiler of their own write it.
//!
//! ```text
//! {"version": 0, "costs": [{"description": "Memory", "unit": "bytes"}],
//!  "functions": [{"name": "main", "module": "app"}, {"name": "parse"}],
//!  "events": [{"callchain": [1, 0], "cost": [7]}]}
//! ```
//! A chain is leaf first, of numbers of functions; each cost is a value. Described by the schema in gprof2dot's
//! `schema.json`.

use crate::collapse::kit::json::{HeadKeys, Json, Kind};
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "gprof2dot-json",
    producer: "programs that write JSON for gprof2dot, such as memtrail",
    tested: Tested::ByDescription("the schema of gprof2dot 2025.4"),
    values: "the costs by their descriptions, the first one by default",
    unit: "as the file says",
};

/// Collapses the JSON of gprof2dot.
pub struct Gprof2dotJson;

/// An event: the numbers of its functions, leaf first, and its costs.
type Event = (Vec<usize>, Vec<Weight>);

impl Collapser for Gprof2dotJson {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let Some(keys) = HeadKeys::read(head).filter(|keys| !keys.array) else { return Certainty::No };
        let is_it = keys.has_all(&["costs", "functions"]) && keys.has("version");
        if is_it { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut json = Json::new(input);
        let (mut declared, mut names, mut events) = (Vec::new(), Vec::new(), Vec::new());
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match (key.as_str(), json.peek()?) {
                ("costs", Kind::Array) => {
                    json.begin_array()?;
                    while json.next_item()? {
                        let [name, unit] = texts(&mut json, ["description", "unit"])?;
                        declared.push(Value::with_producers_unit(name, &unit));
                    }
                }
                ("functions", Kind::Array) => {
                    json.begin_array()?;
                    while json.next_item()? {
                        let [name] = texts(&mut json, ["name"])?;
                        names.push(name);
                    }
                }
                ("events", Kind::Array) => {
                    json.begin_array()?;
                    while json.next_item()? {
                        events.push(event(&mut json)?);
                    }
                }
                _ => json.skip()?,
            }
        }
        json.end(report);
        let mut frames = FrameNames::default();
        let functions: Vec<FrameId> = names.iter().map(|name| frames.symbol(name.as_bytes(), sink)).collect();
        let mut values = Values::new(reading, declared, 0)?;
        let mut stack = Vec::new();
        for (chain, costs) in events {
            stack.clear();
            for number in chain.iter().rev() {
                let frame = functions.get(*number);
                stack.push(*frame.ok_or_else(|| json.no_entry("functions", *number, functions.len()))?);
            }
            if stack.is_empty() {
                stack.push(sink.frame(NO_STACK));
            }
            values.sample(&stack, &costs, sink)?;
        }
        values.finish(report)
    }
}

/// The texts of these keys in an object; empty where there is none.
fn texts<const N: usize>(json: &mut Json, keys: [&str; N]) -> Result<[String; N]> {
    let mut found = [const { String::new() }; N];
    let mut key = String::new();
    json.begin_object()?;
    while json.next_key(&mut key)? {
        match (keys.iter().position(|known| *known == key), json.peek()?) {
            (Some(at), Kind::Text) => json.text()?.clone_into(&mut found[at]),
            _ => json.skip()?,
        }
    }
    Ok(found)
}

/// Reads an event.
fn event(json: &mut Json) -> Result<Event> {
    let (mut chain, mut costs) = (Vec::new(), Vec::new());
    let mut key = String::new();
    json.begin_object()?;
    while json.next_key(&mut key)? {
        match (key.as_str(), json.peek()?) {
            ("callchain", Kind::Array) => {
                json.begin_array()?;
                while json.next_item()? {
                    chain.push(json.index()?.unwrap_or(usize::MAX));
                }
            }
            ("cost", Kind::Array) => {
                json.begin_array()?;
                while json.next_item()? {
                    costs.push(json.weight()?);
                }
            }
            _ => json.skip()?,
        }
    }
    Ok((chain, costs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::tests::{collapse_bytes, fold};
    use crate::collapse::{CollapseOptions, ValueSelection};

    const TEXT: &str = r#"{"version":0,"costs":[{"description":"Memory","unit":"bytes"},{"description":"calls"}],
        "functions":[{"name":"main"},{"name":"a;b"},{"name":"c","module":"x.so"}],
        "events":[{"callchain":[1,0],"cost":[7,1]},{"callchain":[2,1,0],"cost":[1.5,2]},{"callchain":[],"cost":[4]}]}"#;

    #[test]
    fn chains_are_leaf_first_and_each_cost_is_a_value() {
        assert_eq!(Gprof2dotJson.detect(TEXT.as_bytes()), Certainty::Yes);
        assert_eq!(
            fold(&Gprof2dotJson, TEXT, &CollapseOptions::default()),
            "[no stack] 4\nmain;a:b 7\nmain;a:b;c 1.5\n"
        );
        let calls = ValueSelection::Named(vec![b"calls".to_vec()]);
        let calls = CollapseOptions { values: calls, ..CollapseOptions::default() };
        assert_eq!(fold(&Gprof2dotJson, TEXT, &calls), "main;a:b 1\nmain;a:b;c 2\n");
    }

    #[test]
    fn functions_that_are_not_there_are_an_error() {
        let text = TEXT.replace("[2,1,0]", "[3,1,0]");
        let error =
            collapse_bytes(&Gprof2dotJson, text, &CollapseOptions::default()).unwrap_err().to_string();
        assert!(error.contains("one of the 3 functions, found \"3\""), "{error}");
    }
}

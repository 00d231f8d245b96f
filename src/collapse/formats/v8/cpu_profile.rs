//! `.cpuprofile`: `node --cpu-prof`, Chrome's DevTools, and others that write the same (seen: Node
//! 20).
//!
//! ```text
//! {"nodes": [{"id": 1, "callFrame": {"functionName": "(root)", …}, "hitCount": 0, "children": [2]},
//!            {"id": 2, "callFrame": {"functionName": "fib", "url": "file:///a.js", "lineNumber": 3,
//!             …}, …}],
//!  "startTime": 1, "endTime": 9, "samples": [2, 2, 1], "timeDeltas": [0, 1250, 1250]}
//! ```
//! A sample names the node where it was taken, and weighs the time until the next one: see
//! [`samples`](super::samples). The time before the first sample belongs to no stack. Samples of nodes that
//! do not exist are left out and counted. Counts are of `samples`; `hitCount`, which
//! V8 does not keep equal to them, is used only where there are none. Specified as `Profile` of
//! the Chrome DevTools protocol.
//!
//! Chrome before 58 and the npm package `v8-profiler` write nodes as a tree, times of samples instead of those
//! between them, and the start and the end in seconds:
//!
//! ```text
//! {"head": {"functionName": "(root)", "url": "", "lineNumber": 0, "id": 1, "hitCount": 0, "children": […]},
//!  "startTime": 1.5, "endTime": 2.5, "samples": [2, 1], "timestamps": [1501250, 1502500]}
//! ```

use super::call_tree::Tree;
use super::head;
use crate::collapse::kit::json::{HeadKeys, Json, Kind};
use crate::collapse::kit::times::duration;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
};
use crate::error::Result;
use crate::input::Input;

const INFO: FormatInfo = FormatInfo {
    name: "cpuprofile",
    producer: "node, deno and bun --cpu-prof, Chrome DevTools: V8 .cpuprofile",
    tested: Tested::Seen("Node 20, 26, Deno 2.9, Bun 1.4; v8-profiler 5 by its types"),
    values: "time",
    unit: "us",
};

/// Collapses V8's profiles of the processor.
pub struct CpuProfile;

impl Collapser for CpuProfile {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "samples", clock: Some("monotonic"), labels: "" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let Some(keys) = HeadKeys::read(head).filter(|keys| !keys.array) else { return Certainty::No };
        let nodes = keys.has_all(&["nodes.id", "nodes.callFrame.functionName"]);
        let old = keys.has_all(&["head.functionName", "head.hitCount"]);
        if nodes || old || keys.has_all(&["samples", "timeDeltas", "startTime"]) {
            Certainty::Yes
        } else {
            Certainty::No
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
        let mut tree = Tree::default();
        read(&mut json, &mut tree, sink)?;
        json.end(report);
        if let (Some(start), Some(end)) = (tree.start, tree.end) {
            report.facts.duration = end.checked_sub(start).ok().and_then(|passed| duration(passed, "us"));
        }
        let (name, unit) = if tree.is_timed() { ("time", "us") } else { ("samples", "samples") };
        let mut values = Values::single(reading, name, unit);
        tree.collapse(None, &Context::UNKNOWN, &mut values, sink).map_err(|e| e.or_at(|| json.place()))?;
        if let Ok(samples @ 1..) = u64::try_from(tree.samples.len()) {
            report.facts.samples = Some(samples.saturating_sub(tree.flaws.samples));
        }
        tree.flaws.note(report);
        values.finish(report)
    }
}

/// Reads the object of a profile, or a piece of it, into a tree.
///
/// # Errors
/// Anything but such an object.
pub(super) fn read(json: &mut Json, tree: &mut Tree, sink: &mut dyn Sink) -> Result<()> {
    let mut stamps = None;
    let mut key = String::new();
    json.begin_object()?;
    while json.next_key(&mut key)? {
        match (key.as_str(), json.peek()?) {
            ("nodes", _) => tree.nodes(json, sink)?,
            ("head", _) => head::read(json, tree, sink)?,
            ("samples", _) => tree.samples(json)?,
            ("timeDeltas", _) => tree.deltas(json)?,
            ("timestamps", _) => stamps = Some(head::timestamps(json)?),
            ("startTime", Kind::Number) => tree.start = Some(json.weight()?),
            ("endTime", Kind::Number) => tree.end = Some(json.weight()?),
            _ => json.skip()?,
        }
    }
    if tree.has_head {
        head::settle(tree, stamps.unwrap_or_default())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::folded::StackTable;

    fn collapsed(text: &str, options: &CollapseOptions) -> Result<String> {
        let input = Input::new("test", Box::new(std::io::Cursor::new(text.to_owned()))).unwrap();
        assert_eq!(CpuProfile.detect(text.as_bytes()), Certainty::Yes);
        let mut table = StackTable::default();
        CpuProfile.collapse(input, &Reading::alone(options), &mut table, &mut Report::default())?;
        let mut out = Vec::new();
        table.write(&mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    fn node(id: i64, name: &str, children: &str) -> String {
        format!(
            r#"{{"id":{id},"callFrame":{{"functionName":"{name}","url":"","lineNumber":-1}},"hitCount":2,"children":[{children}]}}"#
        )
    }

    #[test]
    fn samples_weigh_the_time_until_the_next() {
        let nodes =
            [node(1, "(root)", "2,9"), node(2, "f;", "3"), node(3, "", ""), node(9, "(idle)", "")].join(",");
        let text = format!(
            r#"{{"samples":[3,2,1,9],"timeDeltas":[90,2.5,4,1],"nodes":[{nodes}],"startTime":3,"endTime":105}}"#
        );
        assert_eq!(
            collapsed(&text, &CollapseOptions::default()).unwrap(),
            "(idle) 4.5\n(root) 1\nf: 4\nf:;(anonymous) 2.5\n"
        );
        let count = CollapseOptions { count: true, ..CollapseOptions::default() };
        assert_eq!(collapsed(&text, &count).unwrap(), "(idle) 1\n(root) 1\nf: 1\nf:;(anonymous) 1\n");
        let old = format!(r#"{{"nodes":[{nodes}]}}"#);
        assert_eq!(
            collapsed(&old, &CollapseOptions::default()).unwrap(),
            "(idle) 2\n(root) 2\nf: 2\nf:;(anonymous) 2\n"
        );
    }

    #[test]
    fn a_node_whose_children_are_null_has_none() {
        let nodes = [node(1, "(root)", "2"), node(2, "f", "").replace("[]", "null")].join(",");
        let text =
            format!(r#"{{"samples":[2,2],"timeDeltas":[0,3],"nodes":[{nodes}],"startTime":0,"endTime":5}}"#);
        assert_eq!(collapsed(&text, &CollapseOptions::default()).unwrap(), "f 5\n");
    }

    #[test]
    fn nodes_without_ids_have_their_counts_in_a_tree_only() {
        let node = |name: &str, hits: u32, children: &str| {
            format!(
                r#"{{"functionName":"{name}","url":"","lineNumber":0,"children":[{children}],"hitCount":{hits},"id":0}}"#
            )
        };
        let head = node("(root)", 0, &node("f", 2, &node("g", 3, "")));
        let times = r#""startTime":1,"endTime":2,"samples":[0,0,0],"timestamps":[1000,2000,3000]"#;
        let text = format!(r#"{{"typeId":"CPU","uid":1,"head":{head},{times}}}"#);
        assert_eq!(collapsed(&text, &CollapseOptions::default()).unwrap(), "f 2\nf;g 3\n");
        let flat = [super::tests::node(0, "(root)", ""), super::tests::node(0, "f", "")].join(",");
        let error = collapsed(&format!(r#"{{"nodes":[{flat}]}}"#), &CollapseOptions::default()).unwrap_err();
        assert!(error.to_string().contains("node --cpu-prof"), "{error}");
    }

    #[test]
    fn a_tree_below_head_is_read_with_its_times() {
        let node = |id: u32, name: &str, children: &str| {
            format!(
                r#"{{"functionName":"{name}","url":"","lineNumber":0,"children":[{children}],"hitCount":2,"id":{id}}}"#
            )
        };
        let inner = [node(2, "f", &node(3, "g", "")), node(9, "(idle)", "")].join(",");
        let head = node(1, "(root)", &inner);
        let times =
            r#""startTime":1.5,"endTime":1.50003,"samples":[3,2,9],"timestamps":[1500010,1500013,1500020]"#;
        let text = format!(r#"{{"typeId":"CPU","uid":1,"head":{head},{times}}}"#);
        assert_eq!(collapsed(&text, &CollapseOptions::default()).unwrap(), "(idle) 10\nf 7\nf;g 3\n");
        // A start in whole seconds cannot give the time before the first sample.
        let rounded = times.replace(r#""startTime":1.5,"#, r#""startTime":1,"#);
        let text = format!(r#"{{"head":{head},{rounded}}}"#);
        let (out, report) =
            crate::collapse::tests::collapse_bytes(&CpuProfile, &text, &CollapseOptions::default()).unwrap();
        assert_eq!((out.as_str(), report.details), ("(idle) 10\nf 7\nf;g 3\n", Vec::new()));
        // Without samples, the hits of the nodes.
        let text = format!(r#"{{"head":{head},"startTime":1.5,"endTime":1.6}}"#);
        assert_eq!(
            collapsed(&text, &CollapseOptions::default()).unwrap(),
            "(idle) 2\n(root) 2\nf 2\nf;g 2\n"
        );
        let twice = node(1, "(root)", &node(1, "f", ""));
        let error = collapsed(&format!(r#"{{"head":{twice}}}"#), &CollapseOptions::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains("nodes of different ids"), "{error}");
    }

    #[test]
    fn broken_trees_are_errors() {
        let rest = r#""samples":[3,3],"timeDeltas":[1,1],"startTime":0"#;
        for (nodes, message) in [
            ([node(2, "a", "3"), node(3, "b", "2")].join(","), "circles"),
            ([node(3, "a", ""), node(3, "b", "")].join(","), "nodes of different ids"),
            (r#"{"id":3}"#.into(), "a node with id and callFrame"),
        ] {
            let error = collapsed(&format!(r#"{{{rest},"nodes":[{nodes}]}}"#), &CollapseOptions::default())
                .unwrap_err();
            assert!(
                error.to_string().contains(message) && error.to_string().starts_with("test: byte"),
                "{error}"
            );
        }
    }

    #[test]
    fn what_dangles_is_left_out_and_counted() {
        let nodes = [node(1, "(root)", "2,7"), node(2, "f", "")].join(",");
        let text = format!(
            r#"{{"samples":[2,9,-4,2,2],"timeDeltas":[1,2,3,4],"startTime":0,"endTime":20,"nodes":[{nodes}]}}"#
        );
        for (count, folded, time) in [(false, "f 12\n", " (7 us)"), (true, "f 3\n", " (7 us)")] {
            let options = CollapseOptions { count, ..CollapseOptions::default() };
            let (out, report) = crate::collapse::tests::collapse_bytes(&CpuProfile, &text, &options).unwrap();
            assert_eq!(out, folded);
            assert_eq!(
                report.not_understood.doubts,
                [
                    format!("2 samples{time} are of nodes that do not exist; they are left out"),
                    "1 nodes name a parent or child that does not exist".to_owned(),
                    "1 samples have no time; they weigh nothing".to_owned(),
                ]
            );
        }
    }
}

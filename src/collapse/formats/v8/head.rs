//! The nodes of older profiles of V8's, a tree below `head`, and their times.

use super::CallFrame;
use super::call_tree::Tree;
use super::samples::Samples;
use crate::collapse::Sink;
use crate::collapse::kit::forest::Node;
use crate::collapse::kit::json::{Json, Kind, Nodes};
use crate::error::Result;
use crate::folded::FrameId;
use crate::weight::Weight;

/// Reads the tree.
///
/// # Errors
/// Anything but such a tree, and nodes of the same id.
pub fn read(json: &mut Json, tree: &mut Tree, sink: &mut dyn Sink) -> Result<()> {
    tree.has_head = true;
    let mut head = Head { tree, sink, calls: Vec::new(), parents: Vec::new(), first: 0 };
    head.first = head.tree.forest.len();
    json.tree("children", &mut head)?;
    let Head { tree, sink, calls, parents, first } = head;
    tree.root = calls.first().filter(|call| call.is_root()).map(|_| first);
    for (at, call) in calls.iter().enumerate() {
        let frame = call.frame(&mut tree.names, sink);
        tree.forest.set_frame(Node(first + at), frame);
        tree.forest.set_parent(Node(first + at), parents[at].filter(|parent| Some(*parent) != tree.root));
    }
    Ok(())
}

struct Head<'t> {
    tree: &'t mut Tree,
    sink: &'t mut dyn Sink,
    /// Names and places, and the node above, of each node from `first` on.
    calls: Vec<CallFrame>,
    parents: Vec<Option<usize>>,
    first: usize,
}

impl Nodes for Head<'_> {
    fn begin(&mut self, above: Option<usize>) -> usize {
        self.calls.push(CallFrame { line: -1, ..CallFrame::default() });
        self.parents.push(above);
        self.tree.forest.add(FrameId(0), None).0
    }

    fn field(&mut self, json: &mut Json, key: &str, node: usize) -> Result<()> {
        let call = &mut self.calls[node - self.first];
        match (key, json.peek()?) {
            ("functionName", Kind::Text) => json.text()?.clone_into(&mut call.name),
            ("url", Kind::Text) => json.text()?.clone_into(&mut call.url),
            // Counted from 1, and 0 where there is no text.
            ("lineNumber", Kind::Number) => call.line = json.integer()? - 1,
            ("hitCount", Kind::Number) => {
                let hits = json.integer()?;
                self.tree.hits.push((Node(node), hits));
            }
            ("id", Kind::Number) => {
                if let Some(id) = json.index()? {
                    self.tree.place(id as u64, Node(node)).map_err(|e| e.at(json.place()))?;
                }
            }
            _ => json.skip()?,
        }
        Ok(())
    }
}

/// Reads the times of samples, in microseconds.
///
/// # Errors
/// Anything but an array of numbers.
pub fn timestamps(json: &mut Json) -> Result<Vec<Weight>> {
    let mut times = Vec::new();
    json.begin_array()?;
    while json.next_item()? {
        times.push(json.weight()?);
    }
    Ok(times)
}

/// Puts the times of the profile into microseconds, and gives samples the time since the one before, the first that
/// since the start. A start in whole seconds is rounded: the profile begins with its first sample then.
///
/// # Errors
/// [`crate::ErrorKind::Overflow`].
pub fn settle(tree: &mut Tree, times: Vec<Weight>) -> Result<()> {
    if tree.has_no_ids {
        // Samples name no node: the counts of the nodes are left.
        tree.samples = Samples::default();
        return Ok(());
    }
    let second = Weight::new(1_000_000);
    let is_rounded = tree.start.is_some_and(|start| start.to_u64().is_some());
    for time in [&mut tree.start, &mut tree.end] {
        *time = time.and_then(|time| time.checked_mul(second).ok());
    }
    if let (Some(start), Some(first), true) = (tree.start, times.first(), is_rounded)
        && (Weight::ZERO..second).contains(&first.checked_sub(start)?)
    {
        tree.start = Some(*first);
    }
    let mut before = tree.start.or(times.first().copied()).unwrap_or_default();
    for time in times {
        tree.samples.push_delta(time.checked_sub(before)?);
        before = time;
    }
    Ok(())
}

//! Flame graphs of other makers in JSON: trees whose nodes weigh what they and all below them weigh.

pub mod d3;
pub mod flamebearer;

use crate::collapse::kit::forest::Forest;
use crate::collapse::kit::values::Values;
use crate::collapse::{Report, Sink};
use crate::error::Result;
use crate::folded::FrameId;
use crate::weight::Weight;

/// A node: its frame, the node above, which comes before it, and its weight.
struct Node {
    frame: FrameId,
    parent: Option<usize>,
    /// A node that is drawn, but is no frame: the root.
    is_root: bool,
    /// Its own weight, where the file states it.
    own: Option<Weight>,
    /// Its weight with that of all below.
    total: Weight,
}

/// Pushes each node's own weight. Children that weigh more than their node are noted: then the node has none
/// of its own.
fn push(nodes: &[Node], values: &mut Values, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
    let mut below = vec![Weight::ZERO; nodes.len()];
    for node in nodes {
        if let Some(parent) = node.parent {
            below[parent] = below[parent].checked_add(node.total)?;
        }
    }
    let mut forest = Forest::default();
    let mut too_heavy = 0u64;
    for node in nodes {
        let parent = node.parent.filter(|parent| !nodes[*parent].is_root);
        forest.add(node.frame, parent);
    }
    let mut weights = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let left = node.total.checked_sub(below[at])?;
        // Some writers give a weight to leaves only.
        too_heavy += u64::from(left.is_negative() && node.own.is_none() && !node.total.is_zero());
        let own = node.own.unwrap_or(if left.is_negative() { Weight::ZERO } else { left });
        weights.push((at, own));
    }
    forest.samples(&[], weights, sink, |stack, weight, sink| values.add(0, stack, weight, sink))?;
    if too_heavy > 0 {
        report.doubt(format!("{too_heavy} nodes weigh less than those below them"));
    }
    Ok(())
}

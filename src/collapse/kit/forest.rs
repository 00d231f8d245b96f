//! Stacks as trees: each node is a frame below its parent, as most formats of browsers have them.
//!
//! A file is not believed: parents may be missing, come later, or go round in a circle. And a
//! small file can hold a tree whose stacks, written out, fill any memory: a chain of a million
//! frames with a weight on each. So what may be written out is limited, far above what real
//! recordings have.

use crate::collapse::Sink;
use crate::error::{Error, Result};
use crate::folded::FrameId;

/// The most frames of a stack; the deepest recursion that runtimes allow is some ten thousand.
pub const DEEPEST: usize = 100_000;

/// The most frames of all different stacks together; they take a gigabyte.
pub const MOST: u64 = if cfg!(test) { 1 << 24 } else { 1 << 28 };

/// Counts the frames that are written out, and fails when they are too many.
#[derive(Debug, Default)]
pub struct Budget(u64);

impl Budget {
    /// Checks that a stack may have `depth` frames.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Malformed`] beyond [`DEEPEST`].
    pub fn check(&self, depth: usize) -> Result<()> {
        if depth > DEEPEST {
            return Err(Error::malformed(format!("a stack of at most {DEEPEST} frames"), b"a deeper one"));
        }
        Ok(())
    }

    /// Counts a stack of `depth` frames.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Malformed`] beyond [`MOST`].
    pub fn spend(&mut self, depth: usize) -> Result<()> {
        self.0 += depth as u64;
        if self.0 > MOST {
            return Err(Error::malformed(format!("at most {MOST} frames in all stacks"), b"more"));
        }
        Ok(())
    }
}

/// A node of a [`Forest`], numbered from 0 in the order of [`Forest::add`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node(pub usize);

/// Trees of frames.
#[derive(Default)]
pub struct Forest {
    /// The frame, and the parent's number, or [`ROOT`].
    nodes: Vec<(FrameId, u32)>,
    budget: Budget,
}

const ROOT: u32 = u32::MAX;

impl Forest {
    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Adds a node; its parent may be one that is added later.
    pub fn add(&mut self, frame: FrameId, parent: Option<usize>) -> Node {
        self.nodes.push((frame, parent.map_or(ROOT, link)));
        Node(self.nodes.len() - 1)
    }

    /// Hangs a node below a parent.
    pub fn set_parent(&mut self, node: Node, parent: Option<usize>) {
        self.nodes[node.0].1 = parent.map_or(ROOT, link);
    }

    /// Gives a node another frame, now that it is known.
    pub fn set_frame(&mut self, node: Node, frame: FrameId) {
        self.nodes[node.0].0 = frame;
    }

    /// The frame of a node.
    pub fn frame(&self, node: Node) -> FrameId {
        self.nodes[node.0].0
    }

    /// The node's parent.
    pub fn parent(&self, node: Node) -> Option<usize> {
        let parent = self.nodes[node.0].1;
        (parent != ROOT).then_some(parent as usize)
    }

    /// Appends the stack that ends in a node to `stack`, root first.
    ///
    /// # Errors
    /// A node that does not exist, a circle, and stacks that would fill the memory.
    pub fn stack(&mut self, node: usize, stack: &mut Vec<FrameId>) -> Result<()> {
        let start = stack.len();
        let mut at = link(node);
        while at != ROOT {
            let Some(&(frame, parent)) = self.nodes.get(at as usize) else {
                let expected = format!("the number of one of {} nodes", self.nodes.len());
                return Err(Error::malformed(expected, at.to_string().as_bytes()));
            };
            if stack.len() - start >= DEEPEST.min(self.nodes.len()) {
                let found =
                    if self.nodes.len() > DEEPEST { "a deeper one" } else { "one that goes in circles" };
                return Err(Error::malformed(
                    format!("a stack of at most {DEEPEST} frames"),
                    found.as_bytes(),
                ));
            }
            stack.push(frame);
            at = parent;
        }
        stack[start..].reverse();
        self.budget.spend(stack.len() - start)
    }

    /// Adds every node that weighs something as a sample, below the frames `above`.
    ///
    /// # Errors
    /// Those of [`Forest::stack`] and `each`.
    pub fn samples<W>(
        &mut self,
        above: &[FrameId],
        weights: impl IntoIterator<Item = (usize, W)>,
        sink: &mut dyn Sink,
        mut each: impl FnMut(&[FrameId], W, &mut dyn Sink) -> Result<()>,
    ) -> Result<()> {
        let mut stack = above.to_vec();
        for (node, weight) in weights {
            stack.truncate(above.len());
            self.stack(node, &mut stack)?;
            each(&stack, weight, sink)?;
        }
        Ok(())
    }
}

/// A number too large for any table is one that does not exist.
fn link(node: usize) -> u32 {
    u32::try_from(node).unwrap_or(ROOT - 1).min(ROOT - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_root_first_whatever_the_order_of_nodes() {
        let mut forest = Forest::default();
        forest.add(FrameId(3), Some(2));
        forest.add(FrameId(1), None);
        forest.add(FrameId(2), Some(1));
        let mut stack = vec![FrameId(9)];
        forest.stack(0, &mut stack).unwrap();
        assert_eq!(stack, [9, 1, 2, 3].map(FrameId));
        assert_eq!(forest.parent(Node(0)), Some(2));
    }

    #[test]
    fn circles_and_missing_nodes_are_errors() {
        let mut forest = Forest::default();
        forest.add(FrameId(0), Some(1));
        forest.add(FrameId(1), Some(0));
        forest.add(FrameId(2), Some(77));
        forest.add(FrameId(3), Some(usize::MAX));
        let mut error = |node| forest.stack(node, &mut Vec::new()).unwrap_err().to_string();
        assert!(error(0).contains("circles"));
        assert!(error(2).contains("one of 4 nodes, found \"77\""), "{}", error(2));
        assert!(error(3).contains("one of 4 nodes") && error(4).contains("one of 4 nodes"));
    }

    #[test]
    fn a_chain_that_would_fill_the_memory_is_refused() {
        let mut forest = Forest::default();
        for at in 0..DEEPEST * 2 {
            forest.add(FrameId(0), at.checked_sub(1));
        }
        assert!(forest.stack(DEEPEST * 2 - 1, &mut Vec::new()).is_err());
        let mut stack = Vec::new();
        let written = (0..).take_while(|_| {
            stack.clear();
            forest.stack(DEEPEST - 1, &mut stack).is_ok()
        });
        assert_eq!(written.count() as u64, MOST / DEEPEST as u64);
    }
}

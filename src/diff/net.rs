//! Calls that functions make on one side only: code that was inlined, taken out or wrapped moves weight between a
//! function and its callees, and costs nothing by that.

use std::collections::{BTreeMap, HashMap};

use crate::error::Result;
use crate::weight::Weight;

/// A call is on one side only if the other has at most this part of its weight.
const LEFT: f64 = 0.1;

/// The weights of the calls of some functions, run by run.
pub(crate) struct Calls {
    functions: HashMap<Vec<u8>, usize>,
    runs: usize,
    /// By function and callee, in an order that does not depend on chance.
    weights: BTreeMap<(usize, Vec<u8>), Vec<Weight>>,
}

impl Calls {
    /// No calls yet, of these functions in this many runs.
    pub(super) fn of(functions: &[Vec<u8>], runs: usize) -> Calls {
        let functions = functions.iter().cloned().enumerate().map(|(n, name)| (name, n)).collect();
        Calls { functions, runs, weights: BTreeMap::new() }
    }

    /// Adds a stack of a run. Recursion is no call.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(super) fn add(&mut self, run: usize, stack: &[u8], weight: Weight) -> Result<()> {
        let mut frames = stack.split(|&byte| byte == b';').peekable();
        while let Some(frame) = frames.next() {
            let Some(&callee) = frames.peek() else { break };
            let Some(&function) = self.functions.get(frame).filter(|_| callee != frame) else { continue };
            let runs = self.runs;
            let weights = self.weights.entry((function, callee.to_vec()));
            let of_run = &mut weights.or_insert_with(|| vec![Weight::ZERO; runs])[run];
            *of_run = of_run.checked_add(weight)?;
        }
        Ok(())
    }

    /// The weights of a function by itself, with those of its calls that are on one side only: the first `before` runs,
    /// or the others. `None` if there is no such call.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(super) fn net(&self, function: &[u8], own: &[Weight], before: usize) -> Result<Option<Vec<Weight>>> {
        let Some(&function) = self.functions.get(function) else { return Ok(None) };
        let mean = |weights: &[Weight]| {
            weights.iter().map(|weight| weight.to_f64()).sum::<f64>() / weights.len().max(1) as f64
        };
        let (mut net, mut is_any) = (own.to_vec(), false);
        for (_, weights) in self.weights.range((function, Vec::new())..(function + 1, Vec::new())) {
            let (b, a) = (mean(&weights[..before]), mean(&weights[before..]));
            if b.min(a) > LEFT * b.max(a) {
                continue;
            }
            is_any = true;
            for (sum, weight) in net.iter_mut().zip(weights) {
                *sum = sum.checked_add(*weight)?;
            }
        }
        Ok(is_any.then_some(net))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_one_side_are_added() {
        let mut calls = Calls::of(&[b"f".to_vec()], 2);
        for (run, stack, weight) in [
            (0, "m;f", 10),
            (0, "m;f;g", 5),
            (0, "m;f;h;g", 7),
            (1, "m;f", 15),
            (1, "m;f;h", 6),
            (1, "m;f;f;f", 1),
        ] {
            calls.add(run, stack.as_bytes(), Weight::new(weight)).unwrap();
        }
        let own = [10, 16].map(Weight::new);
        let net = calls.net(b"f", &own, 1).unwrap();
        assert_eq!(net, Some([15, 16].map(Weight::new).to_vec()));
        assert_eq!(calls.net(b"m", &own, 1).unwrap(), None);
    }
}

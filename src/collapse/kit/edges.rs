//! Stacks out of callers and callees: cProfile and callgrind record who called whom and what that
//! cost, but no stacks.
//!
//! The cost of a function below one of its callers is not known; it is assumed to go to its callees
//! in the same shares whoever called it. That is what all converters do, and an estimate. Two
//! things hold exactly, whatever is assumed: the self weights of all stacks that end in a function
//! add up to its self weight, and so everything adds up to the producer's total.
//!
//! Calls that go round in a circle are cut where they would come back. The heaviest paths are
//! followed first, up to `MOST` of them and none longer than `LONGEST`; what would go to lighter
//! ones, and what is left of rounding, goes to the heaviest path that ends in the same function.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet};

use crate::collapse::kit::forest::Forest;
use crate::error::Result;
use crate::folded::FrameId;
use crate::weight::Weight;

/// The most different stacks: more than a reader looks at, though programs have far more paths.
const MOST: usize = 1 << 17;

/// The most functions of a path. No program has a longer chain of calls in which no function
/// repeats, and a longer one in a small file would fill the memory when it is written out.
const LONGEST: usize = 1000;

/// The most frames that are written out in all paths together: 128 MiB of them.
const MOST_FRAMES: usize = 1 << 25;

/// The functions of a program and the calls between them.
#[derive(Default)]
pub struct Graph {
    functions: Vec<Function>,
}

#[derive(Default)]
struct Function {
    own: Weight,
    /// The inclusive cost of calls to others.
    calls: BTreeMap<usize, Weight>,
}

impl Graph {
    /// Makes room for the function of this number, which must be one of a table the caller holds.
    fn function(&mut self, function: usize) -> &mut Function {
        if self.functions.len() <= function {
            self.functions.resize_with(function + 1, Function::default);
        }
        &mut self.functions[function]
    }

    /// Adds to the self cost of a function.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add_self(&mut self, function: usize, weight: Weight) -> Result<()> {
        let own = &mut self.function(function).own;
        *own = own.checked_add(weight)?;
        Ok(())
    }

    /// Adds to the cost of the calls of one function by another, with all that it called in turn.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add_call(&mut self, caller: usize, callee: usize, weight: Weight) -> Result<()> {
        self.function(callee);
        let calls = self.function(caller).calls.entry(callee).or_default();
        *calls = calls.checked_add(weight)?;
        Ok(())
    }

    /// The stacks, as nodes of a forest and what each weighs itself; `frames` are the functions'.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn stacks(&self, frames: &[FrameId]) -> Result<(Forest, Vec<(usize, Weight)>)> {
        let mut paths = Paths::new(self)?;
        paths.follow();
        paths.settle();
        let mut forest = Forest::default();
        for path in &paths.paths {
            forest.add(frames[path.function], path.parent);
        }
        let decimals = paths.decimals;
        let nodes = paths.paths.iter().enumerate().filter(|(_, path)| path.own != 0);
        let stacks = nodes.map(|(node, path)| Ok((node, Weight::from_steps(path.own, decimals)?)));
        Ok((forest, stacks.collect::<Result<_>>()?))
    }
}

/// A call path: a function below another path.
struct Path {
    function: usize,
    parent: Option<usize>,
    /// The number of functions.
    len: usize,
    own: i128,
}

/// A path that may be followed: what goes there, the function and the path it is called from. The
/// heaviest is the largest; equal ones go in the order of the functions.
type Candidate = (u128, Reverse<usize>, Reverse<Option<usize>>);

struct Paths {
    decimals: u8,
    /// Self weights in units of the last decimal, and how much of them is yet to be given out.
    own: Vec<i128>,
    left: Vec<i128>,
    /// The callees of each function and their costs; calls of itself are not among them.
    calls: Vec<Vec<(usize, u128)>>,
    callers: Vec<Vec<(usize, u128)>>,
    paths: Vec<Path>,
    /// The lengths of all paths together.
    frames: usize,
    /// The heaviest path that ends in each function.
    heaviest: Vec<Option<usize>>,
}

impl Paths {
    fn new(graph: &Graph) -> Result<Paths> {
        let weights = graph.functions.iter().flat_map(|f| [&f.own].into_iter().chain(f.calls.values()));
        let decimals = weights.map(|weight| weight.decimals()).max().unwrap_or(0);
        let units = |weight: Weight| weight.in_steps(decimals);
        let len = graph.functions.len();
        let mut own = Vec::with_capacity(len);
        let (mut calls, mut callers) = (vec![Vec::new(); len], vec![Vec::new(); len]);
        for (caller, function) in graph.functions.iter().enumerate() {
            own.push(units(function.own)?);
            for (&callee, &weight) in &function.calls {
                let weight = u128::try_from(units(weight)?).unwrap_or(0);
                if callee != caller && weight > 0 {
                    calls[caller].push((callee, weight));
                    callers[callee].push((caller, weight));
                }
            }
        }
        let left = own.clone();
        let heaviest = vec![None; len];
        Ok(Paths { decimals, own, left, calls, callers, paths: Vec::new(), frames: 0, heaviest })
    }

    /// Follows the heaviest paths from where the program begins.
    fn follow(&mut self) {
        let mut next: BinaryHeap<Candidate> = BinaryHeap::new();
        for (function, weight) in self.begins() {
            next.push((weight, Reverse(function), Reverse(None)));
        }
        let mut on_path = vec![false; self.own.len()];
        while let Some((weight, Reverse(function), Reverse(parent))) = next.pop() {
            if self.paths.len() == MOST || self.frames > MOST_FRAMES {
                break;
            }
            let path = self.add(function, parent);
            self.mark(path, &mut on_path, true);
            let own = u128::try_from(self.own[function]).unwrap_or(0);
            let ends = self.paths[path].len >= LONGEST;
            let open = self.calls[function].iter().filter(|(callee, _)| !ends && !on_path[*callee]);
            let all = open.clone().fold(own, |sum, (_, weight)| sum.saturating_add(*weight));
            next.extend(open.filter_map(|&(callee, cost)| {
                let share = share(weight, cost, all);
                (share > 0).then_some((share, Reverse(callee), Reverse(Some(path))))
            }));
            self.mark(path, &mut on_path, false);
            let left = u128::try_from(self.left[function]).unwrap_or(0);
            let given = share(weight, own, all).min(left) as i128;
            self.paths[path].own = given;
            self.left[function] -= given;
        }
    }

    /// Starting points of stacks, functions without a known caller, and their cost. Calls within a
    /// circle are counted more than once, so that only the circle as a whole can tell.
    fn begins(&self) -> Vec<(usize, u128)> {
        let circle = circles(&self.calls);
        let mut weights = vec![0u128; self.own.len()];
        let mut called = vec![0u128; self.own.len()];
        let mut entries: Vec<(u128, Option<usize>)> = vec![(0, None); self.own.len()];
        for (function, own) in self.own.iter().enumerate() {
            let own = u128::try_from(*own).unwrap_or(0);
            let inside = circle[function];
            let outward = self.calls[function].iter().filter(|(callee, _)| circle[*callee] != inside);
            weights[inside] =
                outward.fold(weights[inside].saturating_add(own), |sum, (_, w)| sum.saturating_add(*w));
            let inward = self.callers[function].iter().filter(|(caller, _)| circle[*caller] != inside);
            called[inside] = inward.fold(called[inside], |sum, (_, w)| sum.saturating_add(*w));
            let all = sum(&self.calls[function]).saturating_add(own);
            if entries[inside].1.is_none() || all > entries[inside].0 {
                entries[inside] = (all, Some(function));
            }
        }
        let surplus = |(at, (_, entry)): (usize, &(u128, Option<usize>))| {
            Some(((*entry)?, weights[at].saturating_sub(called[at]))).filter(|(_, weight)| *weight > 0)
        };
        entries.iter().enumerate().filter_map(surplus).collect()
    }

    fn add(&mut self, function: usize, parent: Option<usize>) -> usize {
        let len = parent.map_or(0, |parent| self.paths[parent].len) + 1;
        self.frames += len;
        self.paths.push(Path { function, parent, len, own: 0 });
        let path = self.paths.len() - 1;
        self.heaviest[function].get_or_insert(path);
        path
    }

    fn mark(&self, path: usize, on_path: &mut [bool], mark: bool) {
        let mut at = Some(path);
        while let Some(path) = at {
            on_path[self.paths[path].function] = mark;
            at = self.paths[path].parent;
        }
    }

    /// Gives out what is left: to the heaviest path of each function, or if there is none to the
    /// path of its heaviest callers.
    fn settle(&mut self) {
        for function in 0..self.own.len() {
            if self.left[function] == 0 {
                continue;
            }
            let path = self.heaviest[function].unwrap_or_else(|| self.path_of_callers(function));
            self.paths[path].own += self.left[function];
            self.left[function] = 0;
        }
    }

    fn path_of_callers(&mut self, function: usize) -> usize {
        let mut chain = vec![function];
        // A circle may be as long as the program.
        let mut on_chain = HashSet::from([function]);
        let mut at = function;
        let parent = loop {
            if chain.len() >= LONGEST || self.frames > MOST_FRAMES {
                break None;
            }
            let callers = self.callers[at].iter().filter(|(caller, _)| !on_chain.contains(caller));
            // The first of equally heavy ones.
            let Some(&(caller, _)) = callers.max_by_key(|(caller, weight)| (*weight, Reverse(*caller)))
            else {
                break None;
            };
            if let Some(path) = self.heaviest[caller] {
                let fits = self.paths[path].len + chain.len() <= LONGEST;
                break Some(path).filter(|path| fits && !self.is_on(*path, &on_chain));
            }
            chain.push(caller);
            on_chain.insert(caller);
            at = caller;
        };
        let mut path = parent;
        for function in chain.into_iter().rev() {
            path = Some(self.add(function, path));
        }
        path.expect("the chain holds the function itself")
    }

    /// Returns whether a path holds one of some functions.
    fn is_on(&self, path: usize, functions: &HashSet<usize>) -> bool {
        let mut at = Some(path);
        while let Some(path) = at {
            if functions.contains(&self.paths[path].function) {
                return true;
            }
            at = self.paths[path].parent;
        }
        false
    }
}

/// The number of the circle of calls that each function is in; most are alone in theirs. These are
/// Tarjan's strongly connected components, without recursion.
fn circles(calls: &[Vec<(usize, u128)>]) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    let (mut index, mut low) = (vec![NONE; calls.len()], vec![NONE; calls.len()]);
    let mut circle = vec![NONE; calls.len()];
    let (mut open, mut work) = (Vec::new(), Vec::new());
    let (mut next, mut circles) = (0, 0);
    for start in 0..calls.len() {
        if index[start] == NONE {
            work.push((start, 0));
        }
        while let Some((at, edge)) = work.pop() {
            if edge == 0 {
                (index[at], low[at]) = (next, next);
                next += 1;
                open.push(at);
            }
            match calls[at].get(edge) {
                Some(&(callee, _)) => {
                    work.push((at, edge + 1));
                    if index[callee] == NONE {
                        work.push((callee, 0));
                    } else if circle[callee] == NONE {
                        low[at] = low[at].min(index[callee]);
                    }
                }
                None => {
                    if low[at] == index[at] {
                        while let Some(member) = open.pop() {
                            circle[member] = circles;
                            if member == at {
                                break;
                            }
                        }
                        circles += 1;
                    }
                    if let Some(&(caller, _)) = work.last() {
                        low[caller] = low[caller].min(low[at]);
                    }
                }
            }
        }
    }
    circle
}

fn sum(calls: &[(usize, u128)]) -> u128 {
    calls.iter().fold(0, |sum, (_, weight)| sum.saturating_add(*weight))
}

/// `weight · part / all`, rounded down. What is too large for that is an estimate of an estimate.
fn share(weight: u128, part: u128, all: u128) -> u128 {
    match weight.checked_mul(part) {
        Some(product) => product.checked_div(all).unwrap_or(0),
        None => weight.checked_div(all).unwrap_or(0).saturating_mul(part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::{StackTable, Weights};
    use proptest::prelude::*;

    /// Folded text of functions called `a`, `b`, …
    fn folded(own: &[i128], calls: &[(usize, usize, i128)]) -> String {
        let mut graph = Graph::default();
        for (function, &weight) in own.iter().enumerate() {
            graph.add_self(function, Weight::new(weight)).unwrap();
        }
        for &(caller, callee, weight) in calls {
            graph.add_call(caller, callee, Weight::new(weight)).unwrap();
        }
        let mut table = StackTable::default();
        let frames: Vec<FrameId> = (0..own.len()).map(|n| table.frame(&[b'a' + n as u8])).collect();
        let (mut forest, nodes) = graph.stacks(&frames).unwrap();
        for (node, weight) in nodes {
            let mut stack = Vec::new();
            forest.stack(node, &mut stack).unwrap();
            table.add(&stack, Weights::one(weight)).unwrap();
        }
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn costs_are_shared_as_callers_are() {
        // a calls b and c, which both call d: three quarters of d are b's.
        let out = folded(&[10, 20, 30, 40], &[(0, 1, 50), (0, 2, 40), (1, 3, 30), (2, 3, 10)]);
        assert_eq!(out, "a 10\na;b 20\na;b;d 30\na;c 30\na;c;d 10\n");
    }

    #[test]
    fn circles_are_cut_and_nothing_is_lost() {
        // b and c call each other, and themselves.
        let out = folded(&[1, 10, 20], &[(0, 1, 30), (1, 2, 25), (2, 1, 15), (1, 1, 9)]);
        assert_eq!(out, "a 1\na;b 10\na;b;c 20\n");
        // The circle has no known caller.
        assert_eq!(folded(&[5, 7], &[(0, 1, 100), (1, 0, 100)]), "b 7\nb;a 5\n");
    }

    #[test]
    fn what_has_no_callers_is_flat() {
        assert_eq!(folded(&[3, 0, 4], &[]), "a 3\nc 4\n");
        assert_eq!(folded(&[3, -4], &[(0, 1, -4)]), "a 3\nb -4\n");
    }

    #[test]
    fn a_chain_of_all_functions_is_cut() {
        const FUNCTIONS: usize = 30_000;
        let mut graph = Graph::default();
        let frames: Vec<FrameId> = (0..FUNCTIONS as u32).map(FrameId).collect();
        for n in 0..FUNCTIONS {
            graph.add_self(n, Weight::ONE).unwrap();
            if n > 0 {
                graph.add_call(n - 1, n, Weight::new((FUNCTIONS - n) as i128)).unwrap();
            }
        }
        let (mut forest, nodes) = graph.stacks(&frames).unwrap();
        assert_eq!(nodes.len(), FUNCTIONS);
        let mut written = 0;
        for (node, weight) in nodes {
            let mut stack = Vec::new();
            forest.stack(node, &mut stack).unwrap();
            assert!(stack.len() <= LONGEST && weight == Weight::ONE);
            written += stack.len();
        }
        assert!(written <= FUNCTIONS * (LONGEST + 1) / 2);
    }

    #[test]
    fn exponentially_many_paths_are_not_all_followed() {
        // Each of 40 layers of two calls both of the next.
        let mut graph = Graph::default();
        let frames: Vec<FrameId> = (0..80).map(FrameId).collect();
        for n in 0..80 {
            graph.add_self(n, Weight::new(1_000_000_007)).unwrap();
            for callee in [n / 2 * 2 + 2, n / 2 * 2 + 3] {
                if callee < 80 {
                    graph
                        .add_call(n, callee, Weight::new(1_000_000_007 * (40 - callee as i128 / 2) / 2))
                        .unwrap();
                }
            }
        }
        let (forest, nodes) = graph.stacks(&frames).unwrap();
        assert!(forest.len() <= MOST + 80);
        let total = nodes.iter().fold(Weight::ZERO, |sum, (_, weight)| sum.checked_add(*weight).unwrap());
        assert_eq!(total, Weight::new(80 * 1_000_000_007));
    }

    proptest! {
        #[test]
        fn self_weights_are_exact_whatever_the_calls(
            own in proptest::collection::vec(0i128..1000, 1..8),
            calls in proptest::collection::vec((0usize..8, 0usize..8, 0i128..3000), 0..20)
        ) {
            let calls: Vec<_> =
                calls.into_iter().filter(|(a, b, _)| *a < own.len() && *b < own.len()).collect();
            let out = folded(&own, &calls);
            let mut sums = vec![0i128; own.len()];
            for line in out.lines() {
                let (stack, weight) = line.rsplit_once(' ').unwrap();
                let frames: Vec<&str> = stack.split(';').collect();
                let unique: std::collections::BTreeSet<_> = frames.iter().collect();
                prop_assert_eq!(unique.len(), frames.len(), "no function twice on a path");
                sums[usize::from(stack.as_bytes()[stack.len() - 1] - b'a')] += weight.parse::<i128>().unwrap();
            }
            prop_assert_eq!(sums, own);
        }
    }
}

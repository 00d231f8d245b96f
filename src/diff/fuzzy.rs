//! Renamed functions: a name that is only before and one that is only after are one function if
//! their callers and their callees agree.
//!
//! Agreement is by weight: how much of the one's weight comes from callers, and goes to callees,
//! that the other has as well, in the same proportions. A few rare callees that only one of two
//! recordings caught do not matter then. Only pairs that are each other's best are taken, and as
//! a pair that was found makes others agree, it is done until nothing more is found.

use std::collections::{BTreeMap, HashMap};

use super::side::Side;

/// The least share of callers, and of callees, that two functions must have in common.
const CALLERS: f64 = 0.8;
const CALLEES: f64 = 0.5;
/// A second candidate that is nearly as good makes both a guess.
const LEAD: f64 = 0.1;
/// Renamed callers of renamed callees are found in further rounds; nobody renames more deeply.
const ROUNDS: usize = 8;

/// Stands for the root, as a caller, and for self weight, as a callee.
const NOBODY: u32 = u32::MAX;

/// The calls of both sides: caller, callee and weight.
#[derive(Default)]
pub(crate) struct CallGraph {
    ids: HashMap<Box<[u8]>, u32>,
    names: Vec<Box<[u8]>>,
    /// Weight by caller and callee, before and after.
    edges: HashMap<(u32, u32), [f64; 2]>,
    path: Vec<u32>,
}

type Neighbours = BTreeMap<u32, f64>;

impl CallGraph {
    /// Adds a stack.
    pub(crate) fn add(&mut self, side: Side, stack: &[u8], weight: f64) {
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        path.push(NOBODY);
        for frame in stack.split(|&b| b == b';') {
            path.push(self.id(frame));
        }
        path.push(NOBODY);
        for step in path.windows(2) {
            self.edges.entry((step[0], step[1])).or_default()[side as usize] += weight.max(0.0);
        }
        self.path = path;
    }

    fn id(&mut self, name: &[u8]) -> u32 {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = u32::try_from(self.names.len()).expect("4 billion names do not fit in memory");
        self.ids.insert(name.into(), id);
        self.names.push(name.into());
        id
    }

    /// The pairs found, before and after, in order of the name before.
    pub(crate) fn renamed(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut alias: HashMap<u32, u32> = HashMap::new();
        for _ in 0..ROUNDS {
            let found = self.round(&alias);
            if found.is_empty() {
                break;
            }
            alias.extend(found);
        }
        let name = |id: u32| self.names[id as usize].to_vec();
        let mut pairs: Vec<_> =
            alias.into_iter().map(|(before, after)| (name(before), name(after))).collect();
        pairs.sort();
        pairs
    }

    /// Pairs that agree, given the ones known so far.
    fn round(&self, alias: &HashMap<u32, u32>) -> Vec<(u32, u32)> {
        let known = |id: u32| alias.get(&id).copied().unwrap_or(id);
        let mut on = vec![[false; 2]; self.names.len()];
        let mut around: [HashMap<u32, (Neighbours, Neighbours)>; 2] = Default::default();
        for (&(caller, callee), weights) in &self.edges {
            for side in 0..2 {
                if weights[side] > 0.0 {
                    let ids = if side == 0 { (known(caller), known(callee)) } else { (caller, callee) };
                    for id in [ids.0, ids.1] {
                        if id != NOBODY {
                            on[id as usize][side] = true;
                        }
                    }
                    let at = &mut around[side];
                    if ids.1 != NOBODY {
                        *at.entry(ids.1).or_default().0.entry(ids.0).or_default() += weights[side];
                    }
                    if ids.0 != NOBODY {
                        *at.entry(ids.0).or_default().1.entry(ids.1).or_default() += weights[side];
                    }
                }
            }
        }
        let on = &on;
        let only = |side: usize| {
            let is = |id: &u32| on[*id as usize][side] && !on[*id as usize][1 - side];
            let mut ids: Vec<u32> = around[side].keys().copied().filter(|id| is(id)).collect();
            ids.sort_unstable();
            ids
        };
        let (gone, new) = (only(0), only(1));
        // By caller, so that only pairs that may agree are looked at.
        let mut by_caller: HashMap<u32, Vec<u32>> = HashMap::new();
        for &id in &new {
            for &caller in around[1][&id].0.keys() {
                by_caller.entry(caller).or_default().push(id);
            }
        }
        let mut best: BTreeMap<u32, Vec<(f64, u32)>> = BTreeMap::new();
        let mut best_for_new: HashMap<u32, Vec<f64>> = HashMap::new();
        for &old in &gone {
            let (callers, callees) = &around[0][&old];
            let mut candidates: Vec<u32> =
                callers.keys().filter_map(|c| by_caller.get(c)).flatten().copied().collect();
            candidates.sort_unstable();
            candidates.dedup();
            for candidate in candidates {
                let (new_callers, new_callees) = &around[1][&candidate];
                let (up, down) = (overlap(callers, new_callers), overlap(callees, new_callees));
                if up >= CALLERS && down >= CALLEES {
                    best.entry(old).or_default().push((up + down, candidate));
                    best_for_new.entry(candidate).or_default().push(up + down);
                }
            }
        }
        let leads = |scores: &mut Vec<f64>| {
            scores.sort_by(|a, b| b.total_cmp(a));
            scores.len() == 1 || scores[0] - scores[1] > LEAD
        };
        let mut pairs = Vec::new();
        for (old, mut candidates) in best {
            candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let (score, new) = candidates[0];
            let mut scores: Vec<f64> = candidates.iter().map(|(score, _)| *score).collect();
            let rivals = best_for_new.entry(new).or_default();
            if leads(&mut scores) && leads(rivals) && rivals[0] == score {
                pairs.push((old, new));
            }
        }
        pairs
    }
}

/// The overlap of two distributions, 0 to 1.
fn overlap(a: &Neighbours, b: &Neighbours) -> f64 {
    let (all_a, all_b) = (a.values().sum::<f64>(), b.values().sum::<f64>());
    let common = a.iter().filter_map(|(id, x)| Some((x / all_a).min(b.get(id)? / all_b)));
    common.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(before: &[(&str, u32)], after: &[(&str, u32)]) -> Vec<String> {
        let mut graph = CallGraph::default();
        for (side, stacks) in [(Side::Before, before), (Side::After, after)] {
            for (stack, weight) in stacks {
                graph.add(side, stack.as_bytes(), (*weight).into());
            }
        }
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        graph.renamed().iter().map(|(old, new)| format!("{} -> {}", text(old), text(new))).collect()
    }

    #[test]
    fn the_overlap_is_what_both_have_of_their_wholes() {
        let of = |weights: &[(u32, f64)]| weights.iter().copied().collect::<Neighbours>();
        assert_eq!(overlap(&of(&[(1, 1.0), (2, 3.0)]), &of(&[(1, 6.0), (2, 2.0)])), 0.5);
        assert_eq!(overlap(&of(&[(1, 1.0), (2, 3.0)]), &of(&[(1, 10.0), (2, 30.0)])), 1.0);
        assert_eq!(overlap(&of(&[(1, 1.0)]), &of(&[(2, 1.0)])), 0.0);
    }

    #[test]
    fn callers_and_callees_have_to_agree() {
        let before = [("main;old;read", 50), ("main;old;write", 50), ("main;other", 20)];
        assert_eq!(
            renamed(&before, &[("main;new;read", 52), ("main;new;write", 44), ("main;other", 19)]),
            ["old -> new"]
        );
        assert!(
            renamed(&before, &[("main;new;open", 52), ("main;new;stat", 44), ("main;other", 19)]).is_empty()
        );
        assert!(
            renamed(&before, &[("init;new;read", 52), ("init;new;write", 44), ("main;other", 19)]).is_empty()
        );
    }

    #[test]
    fn renamed_callers_of_renamed_callees_are_found() {
        let before = [("main;a1;b1;read", 50), ("main;a1;b1;write", 30), ("main;a1;c", 90)];
        let after = [("main;a2;b2;read", 50), ("main;a2;b2;write", 30), ("main;a2;c", 90)];
        assert_eq!(renamed(&before, &after), ["a1 -> a2", "b1 -> b2"]);
    }

    #[test]
    fn what_may_be_either_is_left_alone() {
        assert!(renamed(&[("main;a", 5), ("main;b", 5)], &[("main;c", 5), ("main;d", 5)]).is_empty());
        assert!(renamed(&[("main;a", 5)], &[("main;c", 5), ("main;d", 5)]).is_empty());
        // One candidate is better: it calls what the old one called.
        let before = [("main;a;read", 5), ("main;a;write", 5)];
        let after = [("main;c;read", 5), ("main;c;write", 5), ("main;d;read", 5), ("main;d;open", 5)];
        assert_eq!(renamed(&before, &after), ["a -> c"]);
        assert!(renamed(&[("main;a", 5), ("main;b", 5)], &[("main;c", 5)]).is_empty());
        assert!(renamed(&[("main;a", 5)], &[("main;a", 5)]).is_empty());
    }
}

//! `--min-weight`, `--min-percent`, `--top`: keep the stacks that weigh most.
//!
//! Equal stacks are added up first. Of a differential profile the heavier of the two weights
//! counts, so that nothing is lost that was large before or is large now.

use crate::error::Result;
use crate::filter::operation::{Example, Group, Operation, Settings, Stage, Whole, number, setting};
use crate::folded::{Columns, StackTable, Weights};
use crate::weight::Weight;

/// The stack of all that weighs too little.
const REST: &[u8] = b"[other]";

pub(in crate::filter) const MIN_WEIGHT: Operation = Operation {
    name: "min-weight",
    value: Some("N"),
    group: Group::Weights,
    about: "Keep stacks that weigh N or more",
    details: "",
    examples: &[
        Example { arguments: &["--min-weight", "3"], input: "a 1\na 2\nb 2.9\nc 3\n", output: "a 3\nc 3\n" },
        Example {
            arguments: &["--min-weight", "5"],
            input: "a 5 0\nb 4 4\nc 0 6\n",
            output: "a 5 0\nc 0 6\n",
        },
        Example {
            arguments: &["--min-weight", "3", "--rest"],
            input: "a 1\nb 2.9\nc 3\n",
            output: "[other] 3.9\nc 3\n",
        },
    ],
    build: |value, settings| {
        let least = Weight::parse(value.as_bytes())
            .ok_or_else(|| setting(format!("{value:?} is no weight such as 10 or 0.5")))?;
        Ok(whole(Heavy::Weight(least), settings))
    },
};

pub(in crate::filter) const MIN_PERCENT: Operation = Operation {
    name: "min-percent",
    value: Some("P"),
    group: Group::Weights,
    about: "Keep stacks with P percent of the total or more",
    details: "The total is that of the stacks which the operations before it left.",
    examples: &[
        Example {
            arguments: &["--min-percent", "33.3"],
            input: "a 1\nb 1\nc 1\n",
            output: "a 1\nb 1\nc 1\n",
        },
        Example { arguments: &["--min-percent", "33.4"], input: "a 1\nb 1\nc 1\nd 3\n", output: "d 3\n" },
        Example {
            arguments: &["--min-percent", "50%", "--rest"],
            input: "a 5 1\nb 4 1\nc 1 98\n",
            output: "[other] 4 1\na 5 1\nc 1 98\n",
        },
    ],
    build: |value, settings| {
        let percent = Weight::parse(value.strip_suffix('%').unwrap_or(value).as_bytes())
            .ok_or_else(|| setting(format!("{value:?} is no percentage such as 1 or 0.5")))?;
        Ok(whole(Heavy::Percent(percent), settings))
    },
};

pub(in crate::filter) const TOP: Operation = Operation {
    name: "top",
    value: Some("N"),
    group: Group::Weights,
    about: "Keep the N stacks that weigh most",
    details: "Of stacks of the same weight the first in order are kept.",
    examples: &[
        Example { arguments: &["--top", "2"], input: "a 1\nb 3\nc 2\nd 3\n", output: "b 3\nd 3\n" },
        Example { arguments: &["--top", "1"], input: "a 2\nb 2\n", output: "a 2\n" },
        Example {
            arguments: &["--top", "1", "--rest"],
            input: "[other] 9\na 1\nb 3\nc 2\n",
            output: "[other] 12\nb 3\n",
        },
    ],
    build: |value, settings| Ok(whole(Heavy::Top(number(value)?), settings)),
};

fn whole(heavy: Heavy, settings: Settings) -> Stage {
    Stage::Whole(Box::new(Keep { heavy, rest: settings.rest }))
}

enum Heavy {
    Weight(Weight),
    Percent(Weight),
    Top(usize),
}

struct Keep {
    heavy: Heavy,
    rest: bool,
}

impl Whole for Keep {
    fn apply(&self, profile: &StackTable) -> Result<StackTable> {
        // The rest of an earlier run is rest again: it is no stack to be ranked.
        let is_rest = |stack: &[u8]| self.rest && stack == REST;
        let heavier = |weights: Weights| match profile.columns() {
            Columns::One => weights.value,
            Columns::Two => weights.value.max(weights.before),
        };
        let mut kept = Vec::with_capacity(profile.len());
        match &self.heavy {
            Heavy::Weight(least) => profile.for_each(|_, weights| {
                kept.push(heavier(weights) >= *least);
                Ok(())
            })?,
            Heavy::Percent(percent) => {
                let total = profile.total()?;
                let (after, before) =
                    (total.value.checked_mul(*percent)?, total.before.checked_mul(*percent)?);
                let hundred = Weight::new(100);
                // Of nothing, nothing is a share.
                let share = |weight: Weight, total: Weight| -> Result<bool> {
                    Ok(!total.is_zero() && weight.checked_mul(hundred)? >= total)
                };
                profile.for_each(|_, weights| {
                    kept.push(share(weights.value, after)? || share(weights.before, before)?);
                    Ok(())
                })?;
            }
            Heavy::Top(count) => {
                let mut ranked = Vec::with_capacity(profile.len());
                profile.for_each(|stack, weights| {
                    if !is_rest(stack) {
                        ranked.push((std::cmp::Reverse(heavier(weights)), kept.len()));
                    }
                    kept.push(false);
                    Ok(())
                })?;
                ranked.sort_unstable();
                ranked.iter().take(*count).for_each(|&(_, index)| kept[index] = true);
            }
        }
        let mut heavy = StackTable::default();
        let mut kept = kept.into_iter();
        profile.for_each(|stack, weights| {
            let kept = kept.next().expect("there is an answer for each stack");
            match (kept && !is_rest(stack), self.rest) {
                (true, _) => heavy.add_stack(stack, weights),
                (false, true) => heavy.add_stack(REST, weights),
                (false, false) => Ok(()),
            }
        })?;
        if profile.columns() == Columns::Two {
            heavy.make_differential();
        }
        Ok(heavy)
    }
}

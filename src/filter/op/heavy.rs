//! `--min-weight`, `--min-percent`, `--top`: keep the stacks that weigh most.
//!
//! Equal stacks are added up first. Of a differential profile the heavier of the two weights
//! counts, so that nothing is lost that was large before or is large now.

use crate::error::{Error, Result};
use crate::filter::named_stacks::NamedStacks;
use crate::filter::operation::{
    Example, Fate, OpOptions, Operation, OperationGroup, Stage, Whole, count_above_zero,
};
use crate::folded::{Columns, OTHER, Weights};
use crate::weight::Weight;

pub(in crate::filter) const MIN_WEIGHT: Operation = Operation {
    name: "min-weight",
    value: Some("N"),
    group: OperationGroup::Weights,
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
    build: |value, options| {
        let least = Weight::parse(value.as_bytes())
            .ok_or_else(|| Error::setting(format!("{value:?} is no weight such as 10 or 0.5")))?;
        Ok(whole(Heavy::Weight(least), options))
    },
};

pub(in crate::filter) const MIN_PERCENT: Operation = Operation {
    name: "min-percent",
    value: Some("P"),
    group: OperationGroup::Weights,
    about: "Keep stacks with P percent of the total or more",
    details: "The total is that of the stacks which the operations before it left.",
    examples: &[
        Example {
            arguments: &["--min-percent", "33.3"],
            input: "a 1\nb 1\nc 1\n",
            output: "a 1\nb 1\nc 1\n",
        },
        Example { arguments: &["--min-percent", "0"], input: "a 1\nb 0\n", output: "a 1\nb 0\n" },
        Example { arguments: &["--min-percent", "33.4"], input: "a 1\nb 1\nc 1\nd 3\n", output: "d 3\n" },
        Example {
            arguments: &["--min-percent", "50%", "--rest"],
            input: "a 5 1\nb 4 1\nc 1 98\n",
            output: "[other] 4 1\na 5 1\nc 1 98\n",
        },
    ],
    build: |value, options| {
        let percent = Weight::parse(value.strip_suffix('%').unwrap_or(value).as_bytes())
            .ok_or_else(|| Error::setting(format!("{value:?} is no percentage such as 1 or 0.5")))?;
        Ok(whole(Heavy::Percent(percent), options))
    },
};

pub(in crate::filter) const TOP: Operation = Operation {
    name: "top",
    value: Some("N"),
    group: OperationGroup::Weights,
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
    build: |value, options| Ok(whole(Heavy::Top(count_above_zero(value)?), options)),
};

fn whole(heavy: Heavy, options: OpOptions) -> Stage {
    Stage::Whole(Box::new(Keep { heavy, rest: options.rest }))
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
    fn decide(&self, stacks: &NamedStacks<'_>) -> Result<Vec<Fate>> {
        let heavier = |weights: Weights| match stacks.columns() {
            Columns::One => weights.value,
            Columns::Two => weights.larger(),
        };
        let mut kept = match &self.heavy {
            Heavy::Weight(least) => stacks.all(|weights| Ok(heavier(weights) >= *least))?,
            Heavy::Percent(percent) => {
                let total = stacks.total()?;
                let hundred = Weight::new(100);
                // No weight is a share of a total of zero.
                let least = |total: Weight| -> Result<Option<Weight>> {
                    (!total.is_zero()).then(|| total.checked_mul(*percent)).transpose()
                };
                let (after, before) = (least(total.value)?, least(total.before)?);
                let has = |weight: Weight, least: Option<Weight>| -> Result<bool> {
                    let Some(least) = least else { return Ok(false) };
                    Ok(weight.checked_mul(hundred)? >= least)
                };
                stacks.all(|weights| Ok(has(weights.value, after)? || has(weights.before, before)?))?
            }
            Heavy::Top(count) => {
                let mut ranked: Vec<usize> =
                    (0..stacks.len()).filter(|&stack| !self.is_rest(stacks, stack)).collect();
                if *count < ranked.len() {
                    ranked.select_nth_unstable_by(*count, |&a, &b| {
                        let order = heavier(stacks.weights(b)).cmp(&heavier(stacks.weights(a)));
                        order.then_with(|| stacks.names(a).cmp(stacks.names(b)))
                    });
                }
                let mut kept = vec![false; stacks.len()];
                ranked.iter().take(*count).for_each(|&stack| kept[stack] = true);
                kept
            }
        };
        if self.rest {
            // The rest of an earlier run is rest again: it is no stack to be ranked.
            (0..kept.len()).for_each(|stack| kept[stack] &= !self.is_rest(stacks, stack));
        }
        let dropped = if self.rest { Fate::Rest } else { Fate::Drop };
        Ok(kept.into_iter().map(|kept| if kept { Fate::Keep } else { dropped }).collect())
    }
}

impl Keep {
    fn is_rest(&self, stacks: &NamedStacks<'_>, stack: usize) -> bool {
        self.rest && stacks.names(stack).eq([OTHER])
    }
}

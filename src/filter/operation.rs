//! The parts of an operation: its entry in the registry, and the stage that runs it.
//!
//! An operation is written in one file under `op/` and listed once, in
//! [`OPERATIONS`](super::OPERATIONS). Parsing, the groups of `--help`, man page, completions, the
//! constructors of [`Op`](super::Op) and the tests all read that list.

use super::named_stacks::NamedStacks;
use crate::error::{Error, ErrorKind, Result};
use crate::folded::{FrameId, StackTable, Weights};
use crate::profile::TimeRange;
use crate::search::Case;
use crate::weight::Weight;

/// The groups of `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationGroup {
    /// Keeps or drops whole stacks; what is kept stays as it is.
    Select,
    /// Selects stacks by labels, or changes labels: time, thread, and what a recording has.
    Labels,
    /// Deletes or merges frames; stacks that become equal are added up.
    Frames,
    /// Changes the names of frames.
    Names,
    /// Looks at weights, or changes them.
    Weights,
}

impl OperationGroup {
    /// The heading in `--help`.
    pub fn heading(self) -> &'static str {
        match self {
            OperationGroup::Select => "Select stacks",
            OperationGroup::Labels => "Time and labels",
            OperationGroup::Frames => "Change stacks",
            OperationGroup::Names => "Change names",
            OperationGroup::Weights => "Weights",
        }
    }
}

/// An entry of the registry.
#[derive(Debug)]
pub struct Operation {
    /// The option's name without its dashes.
    pub name: &'static str,
    /// The placeholder of its value in `--help`; `None` if it takes none.
    pub value: Option<&'static str>,
    /// The part of `--help` that shows it.
    pub group: OperationGroup,
    /// The line of `-h`.
    pub about: &'static str,
    /// The paragraph that `--help` adds; may be empty.
    pub details: &'static str,
    /// Profiles before and after it. The tests run them.
    pub examples: &'static [Example],
    /// Makes its stage from its value.
    pub(crate) build: fn(&str, OpOptions) -> Result<Stage>,
}

impl Operation {
    /// Makes its stage from its value, empty if it takes none.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`], which names the option.
    pub(crate) fn build(&self, value: &str, options: OpOptions) -> Result<Stage> {
        (self.build)(value, options).map_err(|error| match error.kind() {
            ErrorKind::Setting { what } => Error::setting(format!("--{}: {what}", self.name)),
            _ => error,
        })
    }
}

/// A profile, arguments, and the result.
#[derive(Debug)]
pub struct Example {
    /// The arguments of `fg-filter`.
    pub arguments: &'static [&'static str],
    /// Folded text.
    pub input: &'static str,
    /// Folded text, in frame order if the input was.
    pub output: &'static str,
}

/// Options beside an operation's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpOptions {
    /// The meaning of upper and lower case in searches.
    pub(crate) case: Case,
    /// Stacks that weigh too little are kept as one stack.
    pub(crate) rest: bool,
}

/// The running part of an operation, by how much of a profile it has to see.
pub(crate) enum Stage {
    /// One stack at a time, to keep or drop it.
    Select(Box<dyn Select>),
    /// One stack at a time, to change it.
    Rewrite(Box<dyn Rewrite>),
    /// One weight at a time.
    Reweigh(Box<dyn Reweigh>),
    /// The labels at the root of one stack at a time, to keep or drop the stack or to change them.
    Label(Box<dyn LabelStep>),
    /// All stacks at once, to keep some of them.
    Whole(Box<dyn Whole>),
}

/// Selects stacks by their labels, or changes labels.
pub(crate) trait LabelStep {
    /// The label that it looks at.
    fn key(&self) -> &str;

    /// The labels that it leaves, of those that come.
    fn leaves(&self, came: &[String]) -> Vec<String> {
        came.to_vec()
    }

    /// Looks at the label's frame; `None` drops the stack.
    fn apply(&mut self, frame: FrameId, names: &mut StackTable) -> Option<LabelFate>;

    /// Returns true if it keeps or drops stacks only.
    fn selects(&self) -> bool;

    /// Returns false if it leaves stacks without the label alone.
    fn needs_label(&self) -> bool {
        true
    }

    /// The range of time that it keeps.
    fn range(&self) -> Option<TimeRange> {
        None
    }

    /// Forgets what is known of frame numbers: they stand for other names from now on.
    fn forget(&mut self);

    /// A message for the user at the end.
    fn remark(&self) -> Option<String>;
}

/// A decision about a label's frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LabelFate {
    /// It stays.
    Keep,
    /// It is left out of the stack.
    Remove,
    /// Another takes its place.
    Replace(FrameId),
}

/// Keeps or drops stacks.
pub(crate) trait Select {
    /// Returns true if a stack is kept. `weights` are zero unless [`Select::needs_weights`].
    fn keeps(&mut self, stack: &[FrameId], weights: Weights, names: &StackTable) -> bool;

    /// Forgets what is known of frame numbers: they stand for other names from now on.
    fn forget(&mut self);

    /// A message for the user at the end, such as that the expression matched nothing.
    fn remark(&self) -> Option<String>;

    /// Returns true if it looks at weights.
    fn needs_weights(&self) -> bool {
        false
    }

    /// Returns true if it looks at the places of frames.
    fn needs_places(&self) -> bool {
        false
    }
}

/// Changes stacks.
pub(crate) trait Rewrite {
    /// Changes a stack, root first. One that is left empty is dropped.
    fn rewrite(&mut self, stack: &mut Vec<FrameId>, names: &mut StackTable);

    /// Forgets what is known of frame numbers: they stand for other names from now on.
    fn forget(&mut self);

    /// A message for the user at the end.
    fn remark(&self) -> Option<String>;
}

/// Changes weights.
pub(crate) trait Reweigh {
    /// The change to weights in this unit.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`] if there is none.
    fn conversion(&self, unit: Option<&str>) -> Result<Conversion>;
}

/// A change of all weights.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Conversion {
    /// The factor.
    pub(crate) factor: Weight,
    /// The unit of the products.
    pub(crate) unit: Option<String>,
    /// True if the weights keep their meaning and only their unit changes.
    pub(crate) is_exact: bool,
}

/// Looks at a profile as a whole.
pub(crate) trait Whole {
    /// Decides about each stack.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`].
    fn decide(&self, stacks: &NamedStacks<'_>) -> Result<Vec<Fate>>;
}

/// A decision about a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The stack is kept.
    Keep,
    /// The stack becomes part of the stack `[other]`.
    Rest,
    /// The stack is dropped.
    Drop,
}

/// The remark of an operation whose expression matched nothing.
pub(super) fn unless_matched(matched: bool) -> Option<String> {
    (!matched).then(|| "matched no frame".to_owned())
}

/// Reads a number of frames or stacks.
pub(super) fn count_above_zero(value: &str) -> Result<usize> {
    match value.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(Error::setting(format!("{value:?} is no whole number above 0"))),
    }
}

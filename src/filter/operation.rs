//! What an operation is: one entry of the registry, and what it does when it runs.
//!
//! An operation is written in one file under `op/` and listed once, in [`OPERATIONS`]. Parsing,
//! the groups of `--help`, man page, completions and the tests all read that list.

use super::op;
use crate::error::{ErrorKind, Result};
use crate::folded::{FrameId, StackTable, Weights};
use crate::weight::Weight;

/// Every operation, in the order in which `--help` shows them.
pub static OPERATIONS: &[&Operation] = &[
    &op::focus::FOCUS,
    &op::focus::IGNORE,
    &op::ends::ROOT,
    &op::ends::LEAF,
    &op::path::PATH,
    &op::threads::THREAD,
    &op::threads::PROCESS,
    &op::kind::KIND,
    &op::idle::IDLE,
    &op::hide::HIDE,
    &op::hide::SHOW,
    &op::show_from::SHOW_FROM,
    &op::show_from::SHOW_FROM_LEAF,
    &op::prune_from::PRUNE_FROM,
    &op::collapse::COLLAPSE,
    &op::recursion::RECURSION,
    &op::squash_unknown::SQUASH_UNKNOWN,
    &op::depth::DEPTH,
    &op::depth::LEAF_DEPTH,
    &op::depth::SKIP_ROOTS,
    &op::merge_threads::MERGE_THREADS,
    &op::reverse::REVERSE,
    &op::rename::RENAME,
    &op::strip::STRIP,
    &op::demangle::DEMANGLE,
    &op::heavy::MIN_WEIGHT,
    &op::heavy::MIN_PERCENT,
    &op::heavy::TOP,
    &op::scale::SCALE,
    &op::to_unit::TO_UNIT,
];

/// The groups of `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Keeps or drops whole stacks; what is kept stays as it is.
    Select,
    /// Deletes or merges frames; stacks that become equal are added up.
    Frames,
    /// Changes the names of frames.
    Names,
    /// Looks at weights, or changes them.
    Weights,
}

impl Group {
    /// The heading in `--help`.
    pub fn heading(self) -> &'static str {
        match self {
            Group::Select => "Select stacks",
            Group::Frames => "Change stacks",
            Group::Names => "Change names",
            Group::Weights => "Weights",
        }
    }
}

/// An entry of the registry.
#[derive(Debug)]
pub struct Operation {
    /// The option's name without its dashes.
    pub name: &'static str,
    /// What stands for its value in `--help`; `None` if it takes none.
    pub value: Option<&'static str>,
    /// Where `--help` shows it.
    pub group: Group,
    /// What it does, for `-h`.
    pub about: &'static str,
    /// What more `--help` says; empty for nothing.
    pub details: &'static str,
    /// What it does to some profiles. The tests run them.
    pub examples: &'static [Example],
    /// Makes it from its value.
    pub build: fn(&str, Settings) -> Result<Stage>,
}

impl Operation {
    /// The operation of this name.
    pub fn find(name: &str) -> Option<&'static Operation> {
        OPERATIONS.iter().copied().find(|operation| operation.name == name)
    }

    /// Makes it from its value, empty if it takes none.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`], which names the option.
    pub fn build(&self, value: &str, settings: Settings) -> Result<Stage> {
        (self.build)(value, settings).map_err(|error| match error.kind() {
            ErrorKind::Setting { what } => {
                ErrorKind::Setting { what: format!("--{}: {what}", self.name) }.into()
            }
            _ => error,
        })
    }
}

/// A profile, arguments, and what comes of them.
#[derive(Debug)]
pub struct Example {
    /// The arguments of `fg-filter`.
    pub arguments: &'static [&'static str],
    /// Folded text.
    pub input: &'static str,
    /// Folded text, in frame order if the input was.
    pub output: &'static str,
}

/// What holds for all operations of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Upper and lower case are the same.
    pub ignore_case: bool,
    /// What weighs too little is kept as one stack.
    pub rest: bool,
}

/// An operation made from its value, by what it has to see.
pub enum Stage {
    /// One stack at a time, to keep or drop it.
    Select(Box<dyn Select>),
    /// One stack at a time, to change it.
    Rewrite(Box<dyn Rewrite>),
    /// One weight at a time.
    Reweigh(Box<dyn Reweigh>),
    /// The whole profile.
    Whole(Box<dyn Whole>),
}

/// Keeps or drops stacks.
pub trait Select {
    /// Whether a stack is kept. `weights` are zero unless [`Select::needs_weights`].
    fn keeps(&mut self, stack: &[FrameId], weights: Weights, names: &StackTable) -> bool;

    /// The numbers stand for other names from now on.
    fn forget(&mut self);

    /// What its user should know when all is done, such as that its expression matched nothing.
    fn remark(&self) -> Option<String>;

    /// Whether it looks at weights.
    fn needs_weights(&self) -> bool {
        false
    }
}

/// Changes stacks.
pub trait Rewrite {
    /// Changes a stack, root first. One that is left empty is dropped.
    fn rewrite(&mut self, stack: &mut Vec<FrameId>, names: &mut StackTable);

    /// The numbers stand for other names from now on.
    fn forget(&mut self);

    /// What its user should know when all is done.
    fn remark(&self) -> Option<String>;
}

/// Changes weights.
pub trait Reweigh {
    /// The factor for weights in this unit, and the unit of the product.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`] if there is none.
    fn factor(&self, unit: Option<&str>) -> Result<(Weight, Option<String>)>;
}

/// Changes a profile as a whole.
pub trait Whole {
    /// The new profile.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`].
    fn apply(&self, profile: &StackTable) -> Result<StackTable>;
}

/// The remark of an operation whose expression matched nothing.
pub(super) fn unless_matched(matched: bool) -> Option<String> {
    (!matched).then(|| "matched no frame".to_owned())
}

/// A setting that cannot be used.
pub(super) fn setting(what: impl Into<String>) -> crate::Error {
    ErrorKind::Setting { what: what.into() }.into()
}

/// A number of frames or stacks.
pub(super) fn number(value: &str) -> Result<usize> {
    match value.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(setting(format!("{value:?} is no whole number above 0"))),
    }
}

//! Every operation there is, in one list: it makes the options of `fg-filter`, their help, and the
//! constructors of [`Op`].

use super::op;
use super::op::matching::Matching;
use super::operation::{OpOptions, Operation, Stage};
use super::pattern::Pattern;
use crate::error::Result;
use crate::profile::TimeRange;
use crate::search::Case;
use crate::weight::Weight;

/// Makes [`OPERATIONS`] and a constructor of [`Op`] for each entry.
macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident($($value:ident)?) => $entry:path;)*) => {
        /// Every operation, in the order in which `--help` shows them.
        pub static OPERATIONS: &[&Operation] = &[$(&$entry),*];

        impl Op {
            $(operations! { @constructor $(#[$doc])* $name($($value)?) => $entry })*
        }

        /// The name of each constructor, and its operation.
        #[cfg(test)]
        const CONSTRUCTORS: &[(&str, &Operation, &str)] =
            &[$((stringify!($name), &$entry, stringify!($($value)?))),*];
    };
    (@constructor $(#[$doc:meta])* $name:ident() => $entry:path) => {
        $(#[$doc])*
        pub fn $name() -> Op {
            Op::unchecked(&$entry, String::new())
        }
    };
    (@constructor $(#[$doc:meta])* $name:ident(count) => $entry:path) => {
        $(#[$doc])*
        ///
        /// A count of 0 is refused when the operation is applied.
        pub fn $name(count: usize) -> Op {
            Op::unchecked(&$entry, count.to_string())
        }
    };
    (@constructor $(#[$doc:meta])* $name:ident(weight) => $entry:path) => {
        $(#[$doc])*
        pub fn $name(weight: Weight) -> Op {
            Op::unchecked(&$entry, weight.to_string())
        }
    };
    (@constructor $(#[$doc:meta])* $name:ident($value:ident) => $entry:path) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// [`ErrorKind::Setting`](crate::ErrorKind::Setting) names the mistake in the value.
        pub fn $name($value: impl AsRef<str>) -> Result<Op> {
            Op::new(&$entry, $value.as_ref())
        }
    };
}

operations! {
    /// Keeps stacks with a frame that matches a regular expression.
    focus(expression) => op::focus::FOCUS;
    /// Drops stacks with a frame that matches a regular expression.
    ignore(expression) => op::focus::IGNORE;
    /// Keeps stacks whose root matches a regular expression.
    rooted_at(expression) => op::ends::ROOT;
    /// Keeps stacks whose leaf matches a regular expression.
    leaf(expression) => op::ends::LEAF;
    /// Keeps stacks in which one frame calls another: `main;...;malloc`.
    path(expressions) => op::path::PATH;
    /// Keeps stacks of threads whose frame matches a regular expression.
    thread(expression) => op::threads::THREAD;
    /// Keeps stacks of processes whose frame matches a regular expression.
    process(expression) => op::threads::PROCESS;
    /// Keeps stacks by the kind of code of their leaf: `kernel`, `user`, `inlined`, `jit`, `no-kernel`.
    kind(kind) => op::kind::KIND;
    /// Drops stacks that only wait.
    idle() => op::idle::IDLE;
    /// Keeps what ran in a range of time: `12.4s..18.1s`.
    time(range) => op::labels::TIME_RANGE;
    /// Keeps what has a label with a value: `endpoint=/api`.
    with_label(pair) => op::labels::LABEL;
    /// Keeps what has a label with a value that matches a regular expression: `endpoint=^/api`.
    label_re(pair) => op::labels::LABEL_RE;
    /// Removes a label.
    drop_label(key) => op::labels::DROP_LABEL;
    /// Gives a label another name: `thread=worker`.
    rename_label(pair) => op::labels::RENAME_LABEL;
    /// Deletes frames that match a regular expression; their weight stays with their callers.
    hide(expression) => op::hide::HIDE;
    /// Deletes frames that do not match a regular expression.
    show(expression) => op::hide::SHOW;
    /// Begins stacks at the root-most frame that matches a regular expression.
    show_from(expression) => op::show_from::SHOW_FROM;
    /// Begins stacks at the leaf-most frame that matches a regular expression.
    show_from_leaf(expression) => op::show_from::SHOW_FROM_LEAF;
    /// Ends stacks at the leaf-most frame that matches a regular expression.
    prune_from(expression) => op::prune_from::PRUNE_FROM;
    /// Lets a frame that matches a regular expression swallow its callees.
    collapse(expression) => op::collapse::COLLAPSE;
    /// Merges repeated calls: `direct`, or whole `cycles`.
    recursion(kind) => op::recursion::RECURSION;
    /// Merges neighbouring `[unknown]` frames.
    squash_unknown() => op::squash_unknown::SQUASH_UNKNOWN;
    /// Keeps some frames from the root.
    depth(count) => op::depth::DEPTH;
    /// Keeps some frames from the leaf.
    leaf_depth(count) => op::depth::LEAF_DEPTH;
    /// Deletes some frames from the root.
    skip_roots(count) => op::depth::SKIP_ROOTS;
    /// Deletes the frames that name processes and threads.
    merge_threads() => op::merge_threads::MERGE_THREADS;
    /// Turns stacks leaf first.
    reverse() => op::reverse::REVERSE;
    /// Rewrites frame names as sed does: `s/^worker-\d+$/worker/`.
    rename(rule) => op::rename::RENAME;
    /// Takes parts from names that differ between builds: `hash,hex,offset,line,args`.
    strip(parts) => op::strip::STRIP;
    /// Demangles Rust and C++ names.
    demangle() => op::demangle::DEMANGLE;
    /// Keeps stacks of at least this weight.
    min_weight(weight) => op::heavy::MIN_WEIGHT;
    /// Keeps stacks of at least a share of the total, in percent: `0.5`.
    min_percent(percent) => op::heavy::MIN_PERCENT;
    /// Keeps the heaviest stacks.
    top(count) => op::heavy::TOP;
    /// Multiplies weights. A factor of 0 is refused when the operation is applied.
    scale(weight) => op::scale::SCALE;
    /// Converts weights to a unit: `ms`, or `ns:ms` where the profile does not say its unit.
    to_unit(unit) => op::to_unit::TO_UNIT;
}

impl Operation {
    /// The operation of this name.
    pub fn find(name: &str) -> Option<&'static Operation> {
        OPERATIONS.iter().copied().find(|operation| operation.name == name)
    }
}

/// An operation and its value: one step of a filter.
///
/// There is a constructor for each option of `fg-filter --help`. Expressions search single frames,
/// in the syntax of the `regex` crate.
///
/// ```
/// use fg_tools::Profile;
/// use fg_tools::filter::Op;
///
/// let profile = Profile::from_bytes("# unit: ns\nmain;alloc;malloc 2000\nmain;idle 5000\nmain;work 4000\n")?;
/// let busy = profile.filter(&[Op::ignore("^idle$")?, Op::hide("^alloc$")?, Op::to_unit("us")?])?;
/// let mut folded = Vec::new();
/// busy.write_folded(&mut folded)?;
/// assert_eq!(folded, b"# unit: us\nmain;malloc 2\nmain;work 4\n");
/// # Ok::<(), fg_tools::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Op {
    action: Action,
    options: OpOptions,
}

#[derive(Clone, Debug)]
enum Action {
    /// An entry of the registry and its value, empty if it takes none.
    Entry(&'static Operation, String),
    /// Keeps stacks that the pattern matches, or those it does not match.
    Match { pattern: Pattern, invert: bool },
}

impl Op {
    /// Makes an operation of an entry of [`OPERATIONS`] and its value, empty if it takes none.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`](crate::ErrorKind::Setting) names the option and the mistake in its value.
    pub fn new(operation: &'static Operation, value: &str) -> Result<Op> {
        operation.build(value, OpOptions::default())?;
        Ok(Op::unchecked(operation, value.to_owned()))
    }

    fn unchecked(operation: &'static Operation, value: String) -> Op {
        Op { action: Action::Entry(operation, value), options: OpOptions::default() }
    }

    /// Keeps the stacks that a pattern matches as a whole, `root;caller;leaf`, as
    /// `fg-filter PATTERN` does.
    ///
    /// ```
    /// use fg_tools::Profile;
    /// use fg_tools::filter::{Op, Pattern, PatternOptions};
    ///
    /// let profile = Profile::from_lines(["main;idle 90", "main;work 42"])?;
    /// let work = Pattern::new(&["^main;.*work$"], PatternOptions::default())?;
    /// assert_eq!(profile.filter(&[Op::matching(work.clone())])?.total()?.value.to_string(), "42");
    /// assert_eq!(profile.filter(&[Op::without(work)])?.total()?.value.to_string(), "90");
    /// # Ok::<(), fg_tools::Error>(())
    /// ```
    pub fn matching(pattern: Pattern) -> Op {
        Op { action: Action::Match { pattern, invert: false }, options: OpOptions::default() }
    }

    /// Keeps the stacks that a pattern does not match, as `fg-filter -v PATTERN` does.
    pub fn without(pattern: Pattern) -> Op {
        Op { action: Action::Match { pattern, invert: true }, options: OpOptions::default() }
    }

    /// Keeps what ran in a range of time.
    pub fn time_range(TimeRange { begin, end }: TimeRange) -> Op {
        let end = if end == u64::MAX { String::new() } else { format!("{end}ns") };
        Op::unchecked(&op::labels::TIME_RANGE, format!("{begin}ns..{end}"))
    }

    /// Sets the meaning of upper and lower case in its expression.
    ///
    /// Text that [`Op::rename`] replaces is found by exact case, unless case is [`Case::Ignored`].
    pub fn case(mut self, case: Case) -> Op {
        self.options.case = case;
        self
    }

    /// Keeps what [`Op::min_weight`], [`Op::min_percent`] and [`Op::top`] drop as one stack, `[other]`.
    pub fn rest(mut self, rest: bool) -> Op {
        self.options.rest = rest;
        self
    }

    /// The operation as it is given to `fg-filter`: `--hide malloc`.
    pub(super) fn as_given(&self) -> String {
        match &self.action {
            Action::Entry(operation, value) if value.is_empty() => format!("--{}", operation.name),
            Action::Entry(operation, value) => format!("--{} {value}", operation.name),
            Action::Match { invert: false, .. } => "-e".to_owned(),
            Action::Match { invert: true, .. } => "-v".to_owned(),
        }
    }

    pub(super) fn build(&self) -> Result<Stage> {
        match &self.action {
            Action::Entry(operation, value) => operation.build(value, self.options),
            Action::Match { pattern, invert } => {
                Ok(Stage::Select(Box::new(Matching::new(pattern.clone(), *invert))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constructors_are_named_after_their_operations() {
        assert_eq!(CONSTRUCTORS.len(), OPERATIONS.len());
        for ((constructor, operation, value), entry) in CONSTRUCTORS.iter().zip(OPERATIONS) {
            assert_eq!(constructor.replace('_', "-"), operation.name);
            assert_eq!(entry.name, operation.name);
            assert_eq!(value.is_empty(), operation.value.is_none(), "{constructor}");
            assert_eq!(*value == "count", operation.value == Some("N") && *constructor != "min_weight");
        }
        let mut names: Vec<&str> = OPERATIONS.iter().map(|operation| operation.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), OPERATIONS.len());
    }

    #[test]
    fn values_are_checked_where_they_are_given() {
        assert!(Op::hide("a(").is_err() && Op::to_unit("parsecs").is_err());
        assert_eq!(Op::top(10).as_given(), "--top 10");
        assert!(Op::top(0).build().is_err() && Op::scale(Weight::ZERO).build().is_err());
        assert!(Op::min_weight(Weight::parse(b"0.5").unwrap()).build().is_ok());
    }
}

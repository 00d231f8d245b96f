//! The calls between functions and their weights, for `peek` and `dot`.
//!
//! A call is a caller and a callee by name. Like a function's total, a call's weight counts a
//! stack once, however often the stack holds it.

use std::collections::HashMap;

use crate::error::Result;
use crate::folded::Interner;
use crate::folded::{Frame, Visitor, Weights};
use crate::tally::{Cell, Sums};

/// The number of a function.
pub type Function = u32;

/// Adds up functions and the calls between them.
pub struct Calls {
    names: Interner,
    functions: Sums<Weights>,
    numbers: HashMap<(Option<Function>, Function), u32>,
    /// By number: who calls whom.
    pairs: Vec<(Option<Function>, Function)>,
    calls: Sums<Weights>,
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The caller; a root has none.
    pub caller: Option<Function>,
    /// The callee.
    pub callee: Function,
    /// The weight of the stacks it is in.
    pub total: Weights,
}

impl Default for Calls {
    fn default() -> Self {
        Calls {
            names: Interner::default(),
            functions: Sums::new(1),
            numbers: HashMap::new(),
            pairs: Vec::new(),
            calls: Sums::new(1),
        }
    }
}

impl Calls {
    /// Every function, in the order of their numbers: its name and what it weighs.
    pub fn functions(&self) -> impl Iterator<Item = (&[u8], Cell<Weights>)> {
        self.names.all().zip(self.functions.all().map(|cells| cells[0]))
    }

    /// A function's name.
    pub fn name(&self, function: Function) -> &[u8] {
        self.names.name(function)
    }

    /// Every call, in the order of first sight.
    pub fn calls(&self) -> impl Iterator<Item = Call> {
        let totals = self.calls.all().map(|cells| cells[0].total);
        self.pairs.iter().zip(totals).map(|(&(caller, callee), total)| Call { caller, callee, total })
    }
}

impl Visitor for Calls {
    fn follows_stacks(&self) -> bool {
        true
    }

    fn enter(&mut self, name: &[u8], _: usize) -> Result<()> {
        let callee = self.names.key(name);
        let pair = (self.functions.last(), callee);
        let call = *self.numbers.entry(pair).or_insert(self.pairs.len() as u32);
        if call as usize == self.pairs.len() {
            self.pairs.push(pair);
        }
        self.functions.enter(callee);
        self.calls.enter(call);
        Ok(())
    }

    fn exit(&mut self, frame: Frame<'_>, _: Weights) -> Result<()> {
        self.functions.exit(frame.own, frame.total)?;
        self.calls.exit(frame.own, frame.total)
    }

    fn restart(&mut self) -> Result<()> {
        *self = Calls::default();
        Ok(())
    }
}

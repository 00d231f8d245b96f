//! Counts of what a recording lacks: symbols, callers, whole stacks.

use std::collections::{BTreeMap, HashMap};

use super::frame_names::{NamedFrame, SymbolState};
use super::modules::{KERNEL, UNKNOWN};
use super::stacks::TruncatedStacks;
use crate::error::Result;
use crate::weight::Weight;

/// Counts while stacks are named.
#[derive(Default)]
pub(super) struct Summary {
    pub truncated: TruncatedStacks,
    /// Stacks that were cut, and have their callers from other stacks.
    pub stitched: TruncatedStacks,
    /// Weights of stacks that end before their root, by the module that was left without a caller.
    pub lost: HashMap<u32, Weight>,
    pub not_unwound: u64,
    /// Samples with frames of Python's evaluator.
    pub python: super::python::Counts,
    pub total: Weight,
    /// The weight on leaves without a symbol, by module.
    pub nameless: HashMap<u32, Weight>,
    /// The weight of stacks with frames without a symbol, by module.
    pub through: BTreeMap<u32, Weight>,
    /// The weight of stacks with a frame at an address where nothing is mapped.
    pub broken: Weight,
    /// The weight of stacks of programs that end after a frame or two, though nothing begins there, by
    /// the module of their root.
    pub shallow: HashMap<u32, Weight>,
    stack: CountedStack,
}

/// The parts of a stack that have been counted.
#[derive(Default)]
struct CountedStack {
    is_broken: bool,
    /// Modules with frames without a symbol.
    nameless: Vec<u32>,
    /// The number of its frames that are no kernel's, the module of the last, and whether something
    /// begins there.
    in_program: (u32, u32, bool),
}

impl Summary {
    /// Counts a frame of a stack; `is_leaf` for the first one.
    pub fn count(&mut self, named: &NamedFrame, is_leaf: bool, weight: Weight) -> Result<()> {
        let module = match named.known {
            SymbolState::Module(module) | SymbolState::Start(module) => module,
            SymbolState::Hidden => KERNEL,
            SymbolState::Symbol => return Ok(()),
        };
        if !self.stack.nameless.contains(&module) {
            self.stack.nameless.push(module);
        }
        if named.known != SymbolState::Hidden {
            self.stack.is_broken |= module == UNKNOWN;
            if is_leaf {
                let sum = self.nameless.entry(module).or_default();
                *sum = sum.checked_add(weight)?;
            }
        }
        Ok(())
    }

    /// Counts a frame of code, towards the root.
    pub fn count_code(&mut self, module: u32, is_kernel: bool, is_start: bool) {
        if !is_kernel {
            self.stack.in_program = (self.stack.in_program.0 + 1, module, is_start);
        }
    }

    /// Counts a stack.
    pub fn end_stack(&mut self, weight: Weight) -> Result<()> {
        self.total = self.total.checked_add(weight)?;
        let CountedStack { is_broken, nameless, in_program } = std::mem::take(&mut self.stack);
        if is_broken {
            self.broken = self.broken.checked_add(weight)?;
        }
        for module in nameless {
            let sum = self.through.entry(module).or_default();
            *sum = sum.checked_add(weight)?;
        }
        if let (1 | 2, root, false) = in_program {
            let sum = self.shallow.entry(root).or_default();
            *sum = sum.checked_add(weight)?;
        }
        Ok(())
    }

    /// A part of the weight, in percent.
    pub fn percent(&self, part: Weight) -> String {
        let percent = Weight::new(100).times_ratio(part, self.total, 1);
        percent.map_or_else(|_| "0%".to_owned(), |percent| format!("{percent}%"))
    }

    pub fn is_share(&self, part: Weight, percent: i128) -> bool {
        is_share(part, self.total, percent)
    }
}

/// Returns whether a part is at least `percent` of the whole.
fn is_share(part: Weight, whole: Weight, percent: i128) -> bool {
    let hundred = part.checked_mul(Weight::new(100));
    let least = whole.checked_mul(Weight::new(percent));
    !part.is_zero() && matches!((hundred, least), (Ok(hundred), Ok(least)) if hundred >= least)
}

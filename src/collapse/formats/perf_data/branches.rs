//! The branches that samples were recorded with (`perf record -b`): where the processor went lately.
//!
//! Between the target of one branch and the place of the next, all code ran once: that counts instructions,
//! as compilers want them, where samples of one address only tell where time went.

use super::located::Mappings;
use super::modules::{Kind, Modules, UNKNOWN};
use super::process::AddressSpace;
use super::raw_frame::RawFrame;
use crate::bytes::U64s;
use crate::collapse::Sink;
use crate::error::Result;
use crate::folded::{FrameId, StackTable, Weights};
use crate::profile::exchange::{Branch, BranchKind};
use crate::symbolize::Search;
use crate::weight::Weight;

/// Branches and the code between them, added up.
#[derive(Default)]
pub(super) struct BranchTable {
    /// Stacks of three: the kind as an event, from, to.
    table: StackTable,
    hint: usize,
}

/// The events that stand for the kinds.
const STRAIGHT: RawFrame = RawFrame::Event(0);
const TAKEN: RawFrame = RawFrame::Event(1);

impl BranchTable {
    /// Adds the branches of a sample: from, to and flags of each, latest first.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn add(&mut self, list: U64s<'_>, space: &AddressSpace) -> Result<()> {
        /// From, to, flags.
        const NUMBERS: usize = 3;
        // The beginning of the later branch.
        let mut next: Option<FrameId> = None;
        for at in (0..list.len()).step_by(NUMBERS) {
            let (Some(from), Some(to)) = (list.get(at), list.get(at + 1)) else { break };
            let (from, to) = (self.place(from, space), self.place(to, space));
            if let (Some(begin), Some(end)) = (to, next) {
                self.push(STRAIGHT, Some(begin), end)?;
            }
            if let Some(to) = to {
                self.push(TAKEN, from, to)?;
            }
            next = from;
        }
        Ok(())
    }

    fn push(&mut self, kind: RawFrame, from: Option<FrameId>, to: FrameId) -> Result<()> {
        let kind = kind.in_table(&mut self.table);
        let from = from.unwrap_or_else(|| RawFrame::Truncated.in_table(&mut self.table));
        self.table.add(&[kind, from, to], Weights::one(Weight::ONE))
    }

    /// An address in a file, as a frame.
    fn place(&mut self, address: u64, space: &AddressSpace) -> Option<FrameId> {
        let mapping = space.find(address, &mut self.hint)?;
        let place = mapping.offset.wrapping_add(address.wrapping_sub(mapping.start));
        let module = mapping.module.id;
        let is_file = mapping.module.kind == Kind::File && module != UNKNOWN;
        is_file.then(|| RawFrame::Code { module, place, called: false }.in_table(&mut self.table))
    }

    /// Adds those of another table.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn merge(&mut self, other: &BranchTable) -> Result<()> {
        self.table.merge(&other.table)
    }

    /// Hands the branches over, in addresses that files state, or offsets of files that are not there.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn locate(&self, modules: &Modules, search: &Search, sink: &mut dyn Sink) -> Result<()> {
        let mut mappings = Mappings::new(modules);
        let stated = |frame: FrameId| match RawFrame::of(&self.table, frame) {
            RawFrame::Code { module, place, .. } => match modules.all()[module as usize].object(search) {
                Ok(object) => Some(((module, true), object.file_offset_to_svma(place)?)),
                Err(_) => Some(((module, false), place)),
            },
            _ => None,
        };
        for (stack, weights) in self.table.stacks() {
            let &[kind, from, to] = stack else { continue };
            let Some((file, to)) = stated(to) else { continue };
            let from = stated(from).filter(|(of, _)| *of == file).map(|(_, address)| address);
            let kind = match RawFrame::of(&self.table, kind) {
                STRAIGHT if from.is_some_and(|from| from <= to) => BranchKind::Straight,
                TAKEN => BranchKind::Taken,
                _ => continue,
            };
            let count = u64::try_from(weights.value.in_steps(0)?).unwrap_or(u64::MAX);
            let Some(exchange) = sink.exchange() else { return Ok(()) };
            let mapping = mappings.mapping_number(file.0, file.1, exchange);
            exchange.branches.push(Branch { mapping, kind, from, to, count });
        }
        Ok(())
    }
}

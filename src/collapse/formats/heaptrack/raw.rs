//! The recordings of `heaptrack --raw`, before `heaptrack_interpret` has made names of addresses.
//!
//! ```text
//! v 10400 3
//! x 10 /tmp/nr/bin/work
//! m 1 -
//! m 1 x 555899eed000 0 1450 2000 3f25
//! t 7f9dfc81fb9f 0
//! + 11c00 4 5558d2dfb530
//! - 5558d2dfb530
//! ```
//! The program (`x`), the modules (`m`: name with its length, where it is loaded, address and size
//! of each segment; `-` forgets them, `x` is the program), traces (`t`: an address and the trace
//! that called), allocations (`+`: size, trace, pointer) and frees (`-`: pointer). The source is
//! heaptrack's own `heaptrack_interpret.cpp`.

use std::collections::{BTreeMap, HashMap};

use super::{Cost, Recording, index};
use crate::collapse::kit::forest::Forest;
use crate::collapse::kit::mapped::{self, Known};
use crate::collapse::kit::maps;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::{CollapseOptions, Report, Sink};
use crate::folded::FrameId;
use crate::number::hex;

/// A recording whose addresses have no names yet.
#[derive(Default)]
pub(super) struct Raw {
    program: Vec<u8>,
    /// All modules that there ever were; those before `first` are forgotten.
    modules: Vec<Module>,
    first: usize,
    traces: Vec<Trace>,
    /// The pointers that are allocated now, and their kinds.
    live: HashMap<u64, usize>,
    kinds: HashMap<(u64, usize), usize>,
}

struct Module {
    path: Vec<u8>,
    start: u64,
    /// Stated address and size.
    segments: Vec<(u64, u64)>,
}

struct Trace {
    address: u64,
    module: Option<usize>,
    parent: Option<usize>,
}

impl Raw {
    /// Returns whether lines of this kind are those of a raw recording only.
    pub fn is_telling(kind: u8) -> bool {
        matches!(kind, b'x' | b'm')
    }

    /// `x LEN PATH`, `m LEN PATH START (ADDRESS SIZE)…`
    pub fn module(&mut self, kind: u8, rest: &[u8]) -> Option<()> {
        let space = memchr::memchr(b' ', rest)?;
        let len = usize::try_from(hex(&rest[..space])?).ok()?;
        let rest = &rest[space + 1..];
        let (path, rest) = rest.split_at_checked(len)?;
        match (kind, path) {
            (b'x', path) => path.clone_into(&mut self.program),
            (_, b"-") => self.first = self.modules.len(),
            (_, path) => {
                let path = if path == b"x" { self.program.clone() } else { path.to_vec() };
                let words = rest.split(|&b| b == b' ').filter(|word| !word.is_empty());
                let numbers = words.map(hex).collect::<Option<Vec<u64>>>()?;
                let (&start, segments) = numbers.split_first()?;
                let segments = segments.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
                self.modules.push(Module { path, start, segments });
            }
        }
        Some(())
    }

    fn trace(&mut self, address: u64, parent: u64) -> Option<()> {
        let parent = match parent {
            0 => None,
            parent => Some(index(parent, self.traces.len())?),
        };
        let holds = |module: &Module| {
            let mut segments = module.segments.iter();
            segments.any(|(at, size)| address.wrapping_sub(module.start).wrapping_sub(*at) < *size)
        };
        let module = self.modules[self.first..].iter().position(holds).map(|at| self.first + at);
        self.traces.push(Trace { address, module, parent });
        Some(())
    }

    /// A line of which numbers are known.
    pub fn line(&mut self, kind: u8, numbers: &[u64], recording: &mut Recording) -> Option<bool> {
        match (kind, numbers) {
            (b't', [address, parent]) => {
                self.trace(*address, *parent)?;
                recording.costs.push(Cost::default());
            }
            (b'+', [size, trace, pointer]) => {
                let trace = index(*trace, self.traces.len())?;
                let kind = *self.kinds.entry((*size, trace)).or_insert(recording.kinds.len());
                if kind == recording.kinds.len() {
                    recording.kinds.push((*size, trace));
                }
                self.live.insert(*pointer, kind);
                recording.allocate(kind)?;
            }
            (b'-', [pointer]) => {
                // Memory allocated before the recording began is freed, too.
                if let Some(kind) = self.live.remove(pointer) {
                    recording.free(kind)?;
                }
            }
            _ => return Some(false),
        }
        Some(true)
    }

    /// The traces with names, as nodes of a forest.
    pub fn name(
        self,
        forest: &mut Forest,
        options: &CollapseOptions,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Vec<usize> {
        let mut names = FrameNames::default();
        let mut by_module: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for trace in &self.traces {
            if let Some(module) = trace.module {
                by_module.entry(module).or_default().push(trace.address);
            }
        }
        let mut known: HashMap<(Option<usize>, u64), Vec<FrameId>> = HashMap::new();
        let mut missing = Vec::new();
        for (at, mut addresses) in by_module {
            addresses.sort_unstable();
            addresses.dedup();
            let module = &self.modules[at];
            // heaptrack has taken one off each address, so that it is in the call.
            let places: Vec<(u64, bool)> =
                addresses.iter().map(|address| (address.wrapping_sub(module.start), false)).collect();
            let named = mapped::name(&module.path, Known::Segments(&module.segments), &places, options, sink);
            if let Err(why) = &named {
                missing.push((places.len(), &module.path[..], why.clone()));
            }
            let mut named = named.unwrap_or_default().into_iter();
            for (address, (inside, _)) in addresses.into_iter().zip(places) {
                let frames = named
                    .next()
                    .unwrap_or_else(|| vec![maps::place_in(&module.path, inside, &mut names, sink)]);
                known.insert((Some(at), address), frames);
            }
        }
        maps::note(missing, report);
        let mut nodes: Vec<usize> = Vec::new();
        for Trace { address, module, parent } in &self.traces {
            let mut node = parent.map(|parent| nodes[parent]);
            let frames = known.entry((*module, *address)).or_insert_with(|| {
                // An address in no module: code made at run time.
                vec![names.module(b"unknown", *address, options, sink)]
            });
            for &frame in frames.iter().rev() {
                node = Some(forest.add(frame, node).0);
            }
            nodes.extend(node);
        }
        nodes
    }
}

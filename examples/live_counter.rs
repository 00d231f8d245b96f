//! A sink of one's own: counts samples while a recording is read, and shows the busiest leaves.
//!
//! ```sh
//! perf script | cargo run --example live_counter -- -
//! ```

use std::collections::HashMap;
use std::io::{self, Write};

use fg_tools::collapse::{CollapseOptions, collapse};
use fg_tools::folded::{FrameId, Weights};
use fg_tools::profile::{Context, Sink};
use fg_tools::{Result, Source, Weight};

/// Adds up the weights of leaves, and says how far it has come.
pub struct LiveCounter<W> {
    names: Vec<Vec<u8>>,
    numbers: HashMap<Vec<u8>, FrameId>,
    weights: HashMap<FrameId, Weight>,
    samples: u64,
    every: u64,
    out: W,
}

impl<W: Write> LiveCounter<W> {
    /// A counter that writes a line after every `every` samples.
    pub fn new(every: u64, out: W) -> Self {
        let (names, numbers, weights) = Default::default();
        LiveCounter { names, numbers, weights, samples: 0, every, out }
    }

    /// The leaves with their weights, the heaviest first.
    pub fn leaves(&self) -> Vec<(String, Weight)> {
        let name = |frame: &FrameId| String::from_utf8_lossy(&self.names[frame.0 as usize]).into_owned();
        let mut leaves: Vec<_> = self.weights.iter().map(|(frame, weight)| (name(frame), *weight)).collect();
        leaves.sort_by(|(a, heavy), (b, light)| light.cmp(heavy).then_with(|| a.cmp(b)));
        leaves
    }

    /// The number of samples so far.
    pub fn samples(&self) -> u64 {
        self.samples
    }
}

impl<W: Write> Sink for LiveCounter<W> {
    /// A name gets the same number whenever it comes.
    fn frame(&mut self, name: &[u8]) -> FrameId {
        if let Some(&known) = self.numbers.get(name) {
            return known;
        }
        let frame = FrameId(self.names.len() as u32);
        self.names.push(name.to_vec());
        self.numbers.insert(name.to_vec(), frame);
        frame
    }

    fn sample(&mut self, stack: &[FrameId], weights: Weights, _: &Context<'_>) -> Result<()> {
        if let Some(&leaf) = stack.last() {
            let sum = self.weights.entry(leaf).or_insert(Weight::ZERO);
            *sum = sum.checked_add(weights.value)?;
        }
        self.samples += 1;
        if self.samples.is_multiple_of(self.every) {
            writeln!(self.out, "{} samples, {} functions", self.samples, self.names.len())?;
        }
        Ok(())
    }
}

#[allow(dead_code)] // The tests use the sink.
fn main() -> Result<()> {
    let sources: Vec<Source> = std::env::args().skip(1).map(Source::new).collect();
    let mut counter = LiveCounter::new(1000, io::stderr());
    collapse(&sources, None, &CollapseOptions::default(), &mut counter)?;
    println!("{} samples", counter.samples());
    for (name, weight) in counter.leaves().iter().take(10) {
        println!("{weight:>12} {name}");
    }
    Ok(())
}

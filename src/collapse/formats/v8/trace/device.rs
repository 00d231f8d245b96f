//! Work of other processors in the traces of PyTorch and JAX: kernels, copies and fills of a GPU, below the stack
//! that launched them.
//!
//! ```text
//! {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 20, "dur": 3,
//!  "args": {"External id": 5, "correlation": 91}}
//! {"ph": "X", "cat": "kernel", "name": "void gemm<4>(float*)", "pid": 0, "tid": 7, "ts": 31, "dur": 12,
//!  "args": {"External id": 5, "device": 0, "stream": 7, "correlation": 91}}
//! ```
//! The correlation says which call of the CUDA (or HIP) runtime began the work; one call, such as that of a graph, may
//! begin many. Where that call was not recorded, the external id says which operator did. JAX writes `correlation_id`
//! as a text, and has the work in processes whose names begin with `/device:`.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU64;

use super::ThreadKey;
use crate::collapse::kit::spans::{Launch, Span};

/// The work of all other processors.
#[derive(Default)]
pub struct Device {
    works: Vec<Work>,
    streams: Vec<ThreadKey>,
    stream_numbers: HashMap<ThreadKey, usize>,
    /// Work that waits for its launch, by that.
    waiting: HashMap<Key, Vec<usize>>,
    /// True for work whose launch was found.
    launched: Vec<bool>,
}

/// One piece of work, and the number of its stream.
#[derive(Clone, Copy)]
pub struct Work {
    pub span: Span,
    pub stream: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Correlation(NonZeroU64),
    External(NonZeroU64),
}

impl Device {
    /// Returns true if there is no work.
    pub fn is_empty(&self) -> bool {
        self.works.is_empty()
    }

    /// Adds work of a stream.
    pub fn push(&mut self, stream: &ThreadKey, span: Span) {
        let stream = match self.stream_numbers.get(stream) {
            Some(number) => *number,
            None => {
                self.streams.push(stream.clone());
                self.stream_numbers.insert(stream.clone(), self.streams.len() - 1);
                self.streams.len() - 1
            }
        };
        self.works.push(Work { span, stream });
    }

    /// The process and the thread of a stream, as the trace numbers them.
    pub fn stream(&self, number: usize) -> &ThreadKey {
        &self.streams[number]
    }

    /// Decides by which number each piece of work finds its launch, now that the spans of all threads are known.
    pub fn await_launches<'s>(&mut self, spans: impl Iterator<Item = &'s Span>) {
        let wanted: HashSet<NonZeroU64> =
            self.works.iter().filter_map(|work| work.span.launch.correlation).collect();
        let launching = spans.filter_map(|span| span.launch.correlation);
        let known: HashSet<NonZeroU64> = launching.filter(|number| wanted.contains(number)).collect();
        self.launched = vec![false; self.works.len()];
        for (at, work) in self.works.iter().enumerate() {
            let Launch { correlation, external } = work.span.launch;
            let by_call = correlation.filter(|number| known.contains(number)).map(Key::Correlation);
            if let Some(key) = by_call.or(external.map(Key::External)) {
                self.waiting.entry(key).or_default().push(at);
            }
        }
    }

    /// The work that a span of a thread has begun. Of the spans with the number of an operator the first, which is
    /// the operator itself, has it.
    pub fn launched_by(&mut self, span: &Span) -> impl Iterator<Item = Work> {
        let Launch { correlation, external } = span.launch;
        let keys = [correlation.map(Key::Correlation), external.map(Key::External)];
        let found = keys.into_iter().flatten().filter_map(|key| self.waiting.remove(&key));
        let found: Vec<usize> = found.flatten().collect();
        found.iter().for_each(|work| self.launched[*work] = true);
        found.into_iter().map(|work| self.works[work])
    }

    /// The work whose launch is not in the trace.
    pub fn not_launched(&self) -> Vec<Work> {
        let works = self.works.iter().zip(&self.launched);
        works.filter(|(_, launched)| !**launched).map(|(work, _)| *work).collect()
    }
}

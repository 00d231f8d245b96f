//! Samples whose call chain is completed later.
//!
//! Since Linux 6.19 the kernel can leave the program's part of a call chain until the thread goes back to its
//! program, where memory may be read that was swapped out, and unwind tables (SFrame):
//!
//! ```text
//! sample     chain: …kernel…, USER_DEFERRED, cookie
//! sample     of another event, with the same cookie
//! CALLCHAIN_DEFERRED  cookie, chain: USER, …program…
//! ```
//! `perf record --call-graph fp,defer` makes such recordings.

use std::collections::HashMap;

use super::pending::PendingSample;
use super::record::UserChain;

/// The most samples that wait at a time: those of a thread wait until it leaves the kernel.
const MOST: usize = 1 << 12;

/// The samples that wait for the rest of their chains.
#[derive(Default)]
pub(super) struct DeferredChains {
    /// By thread, with the cookie.
    waiting: HashMap<i32, Vec<(u64, PendingSample)>>,
    count: usize,
    /// The number of samples whose rest never came.
    missed: u64,
}

impl DeferredChains {
    /// Lets a sample wait. Others of its thread from an earlier stay in the kernel wait in vain.
    pub fn wait(&mut self, cookie: u64, sample: PendingSample, pending: &mut Vec<PendingSample>) {
        let tid = sample.tid;
        if self.waiting.get(&tid).is_some_and(|others| others.iter().any(|(other, _)| *other != cookie)) {
            self.release(tid, pending);
        }
        if self.count >= MOST {
            self.release_all(pending);
        }
        self.waiting.entry(tid).or_default().push((cookie, sample));
        self.count += 1;
    }

    /// Completes the samples of a thread.
    pub fn complete(&mut self, later: &UserChain<'_>, pending: &mut Vec<PendingSample>) {
        let Some(samples) = self.waiting.remove(&later.tid) else { return };
        self.count -= samples.len();
        let chain: std::sync::Arc<[u64]> = later.chain.iter().collect();
        for (cookie, mut sample) in samples {
            if cookie == later.cookie {
                sample.user_chain = Some(chain.clone());
            } else {
                self.missed += 1;
            }
            pending.push(sample);
        }
    }

    /// Hands out the samples of a thread as they are.
    pub fn release(&mut self, tid: i32, pending: &mut Vec<PendingSample>) {
        let samples = self.waiting.remove(&tid).unwrap_or_default();
        self.count -= samples.len();
        self.missed += samples.len() as u64;
        pending.extend(samples.into_iter().map(|(_, sample)| sample));
    }

    /// Hands out all samples as they are, in the order of their threads.
    pub fn release_all(&mut self, pending: &mut Vec<PendingSample>) {
        let mut threads: Vec<i32> = self.waiting.keys().copied().collect();
        threads.sort_unstable();
        threads.into_iter().for_each(|tid| self.release(tid, pending));
    }

    /// A detail on the samples whose rest never came.
    pub fn detail(&self) -> Option<String> {
        (self.missed > 0).then(|| {
            format!(
                "{} stacks have only the kernel's part: the record with the program's part, which the kernel \
                 writes later, is missing",
                self.missed
            )
        })
    }
}

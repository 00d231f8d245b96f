//! Tests that are adjusted together.

use crate::significance::{adjust_weighted, attention};

/// Tests that are adjusted together: of the changes it calls significant, at most the part alpha is expected to be chance.
#[derive(Default)]
pub(super) struct Family {
    /// The share of what is tested, and then the attention it gets.
    attention: Vec<f64>,
    /// The p of each test, adjusted when all are there.
    pub(super) adjusted: Vec<f64>,
    /// The number of tests that pass; 1 if none does.
    pub(super) selected: f64,
}

impl Family {
    /// Adds a test of something with this share; returns its place.
    pub(super) fn add(&mut self, p: f64, share: f64) -> usize {
        self.adjusted.push(p);
        self.attention.push(share);
        self.adjusted.len() - 1
    }

    /// Adjusts all tests by each other.
    pub(super) fn adjust(&mut self, alpha: f64) {
        self.attention = attention(&self.attention);
        adjust_weighted(&mut self.adjusted, &self.attention);
        self.selected = self.adjusted.iter().filter(|p| **p < alpha).count().max(1) as f64;
    }

    /// The alpha at which a test passes if it is the only one that does.
    pub(super) fn alone(&self, at: usize, alpha: f64) -> f64 {
        (alpha * self.attention[at] / self.adjusted.len() as f64).max(f64::MIN_POSITIVE)
    }

    /// The alpha at which a test passes beside the others that do.
    pub(super) fn level(&self, at: usize, alpha: f64) -> f64 {
        (self.alone(at, alpha) * self.selected).min(1.0)
    }
}

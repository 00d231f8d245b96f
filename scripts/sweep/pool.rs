//! Workers that take jobs from one queue, under a lock: one of the programs of scripts/sweep.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

static CALLS: AtomicU32 = AtomicU32::new(0);

/// Once, or twice in so many of a hundred calls: a regression makes a function work twice in that many.
fn times(percent: u32) -> std::ops::RangeInclusive<u32> {
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    1..=1 + u32::from(call % 100 < percent)
}

#[inline(never)]
fn fill(seed: u32, count: usize) -> Vec<u32> {
    let mut numbers = Vec::new();
    for _ in times(0) {
        let mut state = seed;
        numbers.clear();
        for _ in 0..count {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            numbers.push(state >> 8);
        }
    }
    numbers
}

#[inline(never)]
fn order(numbers: &mut [u32]) {
    for n in times(0) {
        numbers.sort_unstable_by_key(|number| if n == 1 { *number } else { number.rotate_left(7) });
    }
}

#[inline(never)]
fn count(numbers: &[u32]) -> HashMap<u32, u32> {
    let mut counts = HashMap::new();
    for _ in times(0) {
        counts.clear();
        for number in numbers {
            *counts.entry(number % 1021).or_insert(0) += 1;
        }
    }
    counts
}

#[inline(never)]
fn smooth(numbers: &[u32]) -> f64 {
    let mut last = 0.0;
    for _ in times(0) {
        last = 0.0;
        for _ in 0..3 {
            last = numbers.iter().fold(last, |last, number| last * 0.9 + f64::from(*number) * 0.1);
        }
    }
    last
}

#[inline(never)]
fn encode(counts: &HashMap<u32, u32>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in times(0) {
        bytes.clear();
        for (key, count) in counts {
            bytes.extend_from_slice(format!("{key:x}:{count};").as_bytes());
        }
    }
    bytes
}

#[inline(never)]
fn check(bytes: &[u8]) -> u32 {
    let mut sum = 0;
    for _ in times(0) {
        sum = 0;
        for _ in 0..6 {
            sum = bytes.iter().fold(sum, |sum: u32, byte| (sum ^ u32::from(*byte)).wrapping_mul(16_777_619));
        }
    }
    sum
}

fn job(seed: u32) -> u64 {
    let mut numbers = fill(seed, 4000);
    order(&mut numbers);
    let counts = count(&numbers);
    u64::from(check(&encode(&counts))) ^ smooth(&numbers).to_bits()
}

fn main() {
    let jobs = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1000);
    let (next, sum) = (Mutex::new(0..jobs), Mutex::new(0u64));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some(seed) = next.lock().unwrap_or_else(PoisonError::into_inner).next() else { break };
                    let result = job(seed);
                    let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
                    *sum = sum.wrapping_add(result);
                }
            });
        }
    });
    println!("{}", sum.into_inner().unwrap_or_else(PoisonError::into_inner));
}

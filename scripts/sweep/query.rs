//! Groups, joins and formats records, round after round: one of the programs of scripts/sweep.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::atomic::{AtomicU32, Ordering};

static CALLS: AtomicU32 = AtomicU32::new(0);

/// Once, or twice in so many of a hundred calls: a regression makes a function work twice in that many.
fn times(percent: u32) -> std::ops::RangeInclusive<u32> {
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    1..=1 + u32::from(call % 100 < percent)
}

#[derive(Clone)]
struct Record {
    key: u32,
    name: String,
    value: u64,
}

#[inline(never)]
fn make(seed: u32, count: usize) -> Vec<Record> {
    let mut records = Vec::new();
    for _ in times(0) {
        let mut state = seed;
        records.clear();
        for _ in 0..count {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let name = format!("item-{}", state % 977);
            records.push(Record { key: state >> 20, name, value: u64::from(state % 1000) });
        }
    }
    records
}

#[inline(never)]
fn group(records: &[Record]) -> HashMap<String, u64> {
    let mut groups = HashMap::new();
    for _ in times(0) {
        groups.clear();
        for record in records {
            *groups.entry(record.name.clone()).or_insert(0) += record.value;
        }
    }
    groups
}

#[inline(never)]
fn sort(records: &mut [Record]) {
    for n in times(0) {
        records.sort_by(|a, b| if n == 1 { a.key.cmp(&b.key) } else { b.name.cmp(&a.name) });
    }
}

#[inline(never)]
fn join(records: &[Record], groups: &HashMap<String, u64>) -> BTreeMap<u32, u64> {
    let mut joined = BTreeMap::new();
    for _ in times(0) {
        joined.clear();
        for record in records {
            *joined.entry(record.key % 512).or_insert(0) += groups.get(&record.name).copied().unwrap_or(0);
        }
    }
    joined
}

#[inline(never)]
fn format(joined: &BTreeMap<u32, u64>) -> String {
    let mut text = String::new();
    for _ in times(0) {
        text.clear();
        for (key, value) in joined {
            let _ = writeln!(text, "{key:>8} {value:>12} {:.3}", *value as f64 / 7.0);
        }
    }
    text
}

#[inline(never)]
fn digest(text: &str) -> u64 {
    let mut sum = 0u64;
    for _ in times(0) {
        sum = 0;
        for _ in 0..4 {
            sum = text.bytes().fold(sum, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(1_099_511_628_211));
        }
    }
    sum
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(200);
    let mut sum = 0u64;
    for round in 0..rounds {
        let mut records = make(round, 3000);
        let groups = group(&records);
        sort(&mut records);
        sum = sum.wrapping_add(digest(&format(&join(&records, &groups))));
    }
    println!("{sum}");
}

//! The tests of differences, on whatever numbers come: a probability is one, an interval has its ends in
//! order, and a correction for many tests makes none more certain.
//!
//! The bytes are numbers of 64 bits: the first is alpha, the rest are counts and measurements.
#![no_main]

use fg_tools::significance::{Count, Test, adjust, compare_runs, compare_shares};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let numbers: Vec<f64> = data.chunks_exact(8).map(number).collect();
    let [alpha, numbers @ ..] = &numbers[..] else { return };
    let alpha = if *alpha > 1e-12 && *alpha < 1.0 { *alpha } else { 0.01 };
    let mut probabilities = Vec::new();
    for four in numbers.chunks_exact(4) {
        let count = |hits: f64, of: f64| Count { hits: hits.abs().min(of.abs()), of: of.abs() };
        let (before, after) = (count(four[0], four[1]), count(four[2], four[3]));
        if [before.of, after.of].iter().any(|of| *of > 1e15) {
            continue;
        }
        let test = compare_shares(before, after, alpha);
        check(&test, &format!("{before:?} {after:?} {alpha}"));
        let back = compare_shares(after, before, alpha);
        assert!((test.p - back.p).abs() <= 1e-6, "{} and {}: {before:?} {after:?}", test.p, back.p);
        probabilities.push(test.p);
    }
    let is_usual = |n: &&f64| n.abs() < 1e15;
    let (before, after) = numbers.split_at(numbers.len() / 2);
    let (before, after): (Vec<f64>, Vec<f64>) =
        (before.iter().filter(is_usual).copied().collect(), after.iter().filter(is_usual).copied().collect());
    check(&compare_runs(&before, &after, (0.0, 0.0), alpha), &format!("{before:?} {after:?} {alpha}"));
    let mut adjusted = probabilities.clone();
    adjust(&mut adjusted);
    for (adjusted, p) in adjusted.iter().zip(&probabilities) {
        assert!((*p..=1.0).contains(adjusted), "{p} becomes {adjusted}");
    }
});

/// A number: small whole ones more often than others, so that counts are usual.
fn number(bytes: &[u8]) -> f64 {
    let bits = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    match bits & 3 {
        0 => (bits >> 2) as u16 as f64,
        1 => (bits >> 2) as u32 as f64,
        2 => (bits >> 2) as u32 as f64 / 1000.0,
        _ => {
            let number = f64::from_bits(bits);
            if number.is_finite() { number } else { 0.5 }
        }
    }
}

fn check(test: &Test, what: &str) {
    assert!((0.0..=1.0).contains(&test.p), "{test:?} of {what}");
    assert!(test.interval.0 <= test.interval.1, "{test:?} of {what}");
    assert!(test.deviation >= 0.0 && test.freedom > 0.0, "{test:?} of {what}");
}

//! Something to record: two threads that call, sort, hash, allocate and format for as many seconds
//! as asked for.
//!
//! `scripts/bench` compiles it with rustc alone, with frame pointers, and lets perf record it.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

trait Visit {
    fn visit(&self, depth: u32) -> u64;
}

struct Leaf(u64);
struct Node(Vec<Box<dyn Visit>>);

impl Visit for Leaf {
    fn visit(&self, depth: u32) -> u64 {
        (0..50).map(|n| self.0.rotate_left(n + depth)).fold(0, |a, b| a ^ b)
    }
}

impl Visit for Node {
    fn visit(&self, depth: u32) -> u64 {
        self.0.iter().map(|child| child.visit(depth + 1)).fold(0, u64::wrapping_add)
    }
}

fn tree(depth: u32, seed: u64) -> Box<dyn Visit> {
    if depth == 0 {
        return Box::new(Leaf(seed));
    }
    Box::new(Node((0..3).map(|n| tree(depth - 1, seed.wrapping_mul(3) + n)).collect()))
}

fn fib(n: u32) -> u64 {
    if n < 2 { n.into() } else { fib(n - 1) + fib(n - 2) }
}

fn count(text: &str) -> HashMap<String, usize> {
    let mut words = HashMap::new();
    for word in text.split_whitespace() {
        *words.entry(word.to_owned()).or_insert(0) += 1;
    }
    words
}

fn by_weight(words: HashMap<String, usize>) -> BTreeMap<usize, Vec<String>> {
    let mut sorted: Vec<_> = words.into_iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let mut groups: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (word, count) in sorted {
        groups.entry(count + word.len() % 5).or_default().push(word);
    }
    groups
}

fn work(end: Instant) -> u64 {
    let mut x = 1u64;
    while Instant::now() < end {
        x ^= fib(20) ^ tree(7, x).visit(0);
        let text: String = (0..3000u64).map(|n| format!("w{} ", n * 7919 % 4001)).collect();
        x ^= by_weight(count(&text)).len() as u64;
        let mut numbers: Vec<u64> = (0..20_000u64).map(|n| n.wrapping_mul(x | 1).rotate_left(13)).collect();
        numbers.sort_unstable();
        x ^= numbers[numbers.len() / 2] ^ numbers.iter().map(|n| n.to_string().len() as u64).sum::<u64>();
    }
    x
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let other = std::thread::Builder::new().name("worker 1".into()).spawn(move || work(end));
    let x = work(end) ^ other.map_or(0, |other| other.join().unwrap_or(0));
    println!("{x}");
}

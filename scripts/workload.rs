//! Something to record: two threads that call, sort, hash, allocate and format for as many seconds
//! as asked for, or so many rounds (`workload 200x`), which is the same work however long it takes.
//!
//! `scripts/bench` compiles it with rustc alone, with frame pointers, and lets it be recorded.

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

/// When to end.
#[derive(Clone, Copy)]
enum Until {
    Time(Instant),
    Rounds(u64),
}

fn work(until: Until) -> u64 {
    let mut x = 1u64;
    let mut round = 0;
    while match until {
        Until::Time(end) => Instant::now() < end,
        Until::Rounds(rounds) => round < rounds,
    } {
        round += 1;
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
    let wanted = std::env::args().nth(1).unwrap_or_else(|| "1".to_owned());
    let until = match wanted.strip_suffix('x').and_then(|rounds| rounds.parse().ok()) {
        Some(rounds) => Until::Rounds(rounds),
        None => Until::Time(Instant::now() + Duration::from_secs_f64(wanted.parse().unwrap_or(1.0))),
    };
    let other = std::thread::Builder::new().name("worker 1".into()).spawn(move || work(until));
    let x = work(until) ^ other.map_or(0, |other| other.join().unwrap_or(0));
    println!("{x}");
}

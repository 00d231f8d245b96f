//! As `orders.c`, through trait objects, iterators and threads: `orders SECONDS [THREADS]`.

use std::hint::black_box;
use std::time::{Duration, Instant};

#[inline(never)]
fn orders_work(parts: u64) -> u64 {
    let mut x = 88172645463325252u64;
    for _ in 0..parts * 40_000 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        // The loop stays what it is.
        x = black_box(x);
    }
    x
}

#[inline(never)]
fn orders_parse() -> u64 {
    black_box(orders_work(1)) + 1
}

#[inline(never)]
fn orders_price() -> u64 {
    black_box(orders_work(2)) + 1
}

#[inline(never)]
fn orders_report() -> u64 {
    black_box(orders_work(5)) + 1
}

#[inline(never)]
fn orders_run(until: Instant) -> u64 {
    let steps: Vec<Box<dyn Fn() -> u64>> =
        vec![Box::new(orders_parse), Box::new(orders_price), Box::new(orders_report)];
    let mut sum = 0u64;
    while Instant::now() < until {
        sum = steps.iter().map(|step| black_box(step())).fold(sum, u64::wrapping_add);
    }
    sum
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = || arguments.next().and_then(|text| text.parse().ok());
    let until = Instant::now() + Duration::from_secs_f64(number().unwrap_or(2.0));
    let threads = number().unwrap_or(0.0) as usize;
    if threads == 0 {
        black_box(orders_run(until));
    }
    let all: Vec<_> = (0..threads).map(|_| std::thread::spawn(move || black_box(orders_run(until)))).collect();
    all.into_iter().for_each(|thread| drop(thread.join()));
}

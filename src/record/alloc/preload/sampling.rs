//! The choice of the allocations that are samples.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering::*};

use crate::thread::{State, state};
use crate::trigger::TRIGGER;
use crate::{clock_gettime, getenv, getpid, mmap, munmap};

/// The mean number of bytes between two samples at present; 0 to take none.
pub(crate) static MEAN: AtomicU64 = AtomicU64::new(0);
/// The mean that was asked for.
pub(crate) static LEAST_MEAN: AtomicU64 = AtomicU64::new(0);
/// The nanoseconds that `WINDOW` samples take at least on average; 0 for any rate.
pub(crate) static WINDOW_TIME: AtomicU64 = AtomicU64::new(0);
/// The number of samples from one adjustment of the mean to the next.
pub(crate) const WINDOW: u64 = 16;

/// The factor that spreads addresses, for slots and for the table.
pub(crate) const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Reads the settings, if the breakpoint's page can be mapped: the mean number of bytes between two samples, and
/// behind a comma the most samples of a second.
pub(crate) fn settings() {
    const READ_WRITE: c_int = 3;
    const PRIVATE_ANONYMOUS_NOREPLACE: c_int = 0x02 | 0x20 | 0x10_0000;
    let mut numbers = [0u64; 2];
    // SAFETY: a text of the environment, up to its end; a new page, which takes nobody's place.
    unsafe {
        let mut text = getenv(c"FG_RECORD_ALLOC".as_ptr());
        if text.is_null() {
            return;
        }
        for number in &mut numbers {
            while let digit @ 0x30..=0x39 = *text {
                *number = number.saturating_mul(10).saturating_add(digit as u64 - 0x30);
                text = text.add(1);
            }
            text = text.add(usize::from(*text == b',' as c_char));
        }
        let at = TRIGGER as *mut c_void;
        let page = mmap(at, 4096, READ_WRITE, PRIVATE_ANONYMOUS_NOREPLACE, -1, 0);
        if page != at {
            if page as isize != -1 {
                munmap(page, 4096);
            }
            return;
        }
    }
    let [mean, rate] = numbers;
    if rate > 0 {
        WINDOW_TIME.store(WINDOW * 1_000_000_000 / rate, Relaxed);
    }
    LEAST_MEAN.store(mean.min(MOST_MEAN), Relaxed);
    MEAN.store(mean.min(MOST_MEAN), Relaxed);
}

/// The largest mean: a terabyte.
pub(crate) const MOST_MEAN: u64 = 1 << 40;

/// Returns the mean of which an allocation of this size is a sample, if it is one.
pub(crate) fn tick(size: usize) -> Option<u64> {
    let now = MEAN.load(Relaxed);
    let size = size as u64;
    // SAFETY: this thread's own.
    let state = unsafe { &mut *state() };
    if now == 0 {
        state.left = 1 << 62;
        return None;
    }
    if state.random == 0 {
        static THREADS: AtomicU64 = AtomicU64::new(0);
        let thread = THREADS.fetch_add(1, Relaxed);
        state.random = spread((getpid() as u64) << 32 | thread) | 1;
        state.next(now);
    }
    let (mean, left) = (state.mean, state.left + state.rest);
    if size < mean && size < left {
        state.set(left - size);
        return None;
    }
    // However far the next sample was, it is as far again.
    state.next(now);
    Some(mean)
}

impl State {
    /// Sets the number of bytes to the next sample. `left` is never more than the mean, so that larger
    /// allocations come to `tick`.
    fn set(&mut self, bytes: u64) {
        self.left = bytes.min(self.mean);
        self.rest = bytes - self.left;
    }

    /// Draws the number of bytes to the next sample.
    fn next(&mut self, mean: u64) {
        self.mean = mean;
        let bytes = draw(&mut self.random, mean);
        self.set(bytes);
    }
}

pub(crate) fn spread(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_add(SPREAD).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// A number of bytes, at least 1, from an exponential distribution.
pub(crate) fn draw(random: &mut u64, mean: u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    // Above 0 and at most 1: the exponent and the mantissa of the logarithm's argument.
    let bits = (*random >> 11) + 1;
    let exponent = 63 - bits.leading_zeros();
    let mantissa = bits as f64 / (1u64 << exponent) as f64;
    // ln m = 2 artanh ((m - 1) / (m + 1)), and m is below 2: the terms fall by a factor of 9.
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let (mut sum, mut power) = (0.0, t);
    for n in 0..12u32 {
        sum += power / f64::from(2 * n + 1);
        power *= t * t;
    }
    let ln = 2.0 * sum + (exponent as f64 - 53.0) * core::f64::consts::LN_2;
    ((-ln * mean as f64) as u64).max(1)
}

/// The samples of a process that are taken at the rate that was asked for, however fast they come: a program that ends
/// soon has as many as one that runs for long. They cost it 16 µs each.
const GRANTED: u64 = 2048;

/// Takes fewer samples where there are too many of them a second, and more again where there are not. `last` is
/// the number of the last sample, which begin with 1, `adjusted` the time of the last call that had something to do.
pub(crate) fn adjust(last: u64, adjusted: &mut u64) {
    let least = WINDOW_TIME.load(Relaxed);
    if least == 0 || last % WINDOW != 1 {
        return;
    }
    let mut time = [0i64; 2];
    const MONOTONIC: c_int = 1;
    // SAFETY: a place for seconds and nanoseconds.
    unsafe { clock_gettime(MONOTONIC, &mut time) };
    let now = (time[0] as u64).wrapping_mul(1_000_000_000).wrapping_add(time[1] as u64);
    let took = now.wrapping_sub(*adjusted);
    let mean = MEAN.load(Relaxed);
    if last > GRANTED && *adjusted != 0 && took < least && mean < MOST_MEAN {
        MEAN.store(mean * if took < least / 4 { 4 } else { 2 }, Relaxed);
    } else if took / 4 > least && mean > LEAST_MEAN.load(Relaxed) {
        MEAN.store(mean / 2, Relaxed);
    }
    *adjusted = now;
}

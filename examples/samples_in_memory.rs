//! A program that measures itself draws its samples without writing a file in between:
//!
//! ```sh
//! cargo run --example samples_in_memory > flames.svg
//! ```

use std::io::Write;
use std::time::{Duration, Instant};

use fg_tools::{Profile, Result, Weight, render::SvgOptions};

/// Builds a profile of spans: a call path, and the time that was spent in it.
pub fn profile<'a>(spans: impl IntoIterator<Item = (&'a [&'a str], Duration)>) -> Result<Profile> {
    let mut builder = Profile::builder();
    builder.facts.unit = Some("ns".to_owned());
    builder.facts.event = Some("wall".to_owned());
    builder.facts.set_command("samples_in_memory");
    for (stack, time) in spans {
        builder.add(stack, Weight::new(time.as_nanos() as i128))?;
    }
    builder.finish()
}

/// Draws a profile.
pub fn draw(profile: &Profile, picture: &mut dyn Write) -> Result<()> {
    profile.svg(&SvgOptions::default().title("requests"), picture)
}

#[allow(dead_code)] // The tests call `profile` and `draw`.
fn main() -> Result<()> {
    let mut spans: Vec<(&[&str], Duration)> = Vec::new();
    let begin = Instant::now();
    let numbers: Vec<u64> = (0..2_000_000u64).map(|n| n.wrapping_mul(0x9e37_79b9) % 1_000_003).collect();
    spans.push((&["request", "load"], begin.elapsed()));
    let begin = Instant::now();
    let sum: u64 = numbers.iter().sum();
    spans.push((&["request", "handle", "add up"], begin.elapsed()));
    eprintln!("the sum is {sum}");
    draw(&profile(spans)?, &mut std::io::stdout().lock())
}

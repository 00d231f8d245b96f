//! Two profiles are filtered, compared and judged in memory: a gate for a build or a test.
//!
//! ```sh
//! cargo run --example gate_in_memory -- before.perf.data after.perf.data
//! ```

use std::process::ExitCode;

use fg_tools::diff::{Diff, Verdict};
use fg_tools::filter::Op;
use fg_tools::{Profile, Result};

/// Judges the functions of the program itself: the standard library weighs on its callers.
pub fn judge(before: &Profile, after: &Profile, gates: &str) -> Result<Verdict> {
    let ours = [Op::ignore("^idle$")?, Op::hide("^std::")?];
    Diff::new(&before.filter(&ours)?, &after.filter(&ours)?).gate(gates)
}

#[allow(dead_code)] // The tests call `judge`.
fn main() -> std::result::Result<ExitCode, Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(before), Some(after)) = (arguments.next(), arguments.next()) else {
        return Err("usage: gate_in_memory BEFORE AFTER".into());
    };
    let verdict = judge(&Profile::from_path(before)?, &Profile::from_path(after)?, "total>5%")?;
    println!("{verdict}");
    Ok(if verdict.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

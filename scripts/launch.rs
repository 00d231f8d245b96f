//! Runs a program and writes to a file what it took: user and system seconds, seconds on the
//! clock, peak memory in kilobytes, and the exit status.
//!
//! `scripts/bench` compiles it with rustc alone. It exists because a process inherits, as the
//! floor of its peak, the memory of whoever started it: a large interpreter would hide a small
//! program, and this one has about two megabytes.
//!
//! ```text
//! launch REPORT PROGRAM [ARGUMENT]…
//! ```

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, exit};
use std::time::Instant;

/// Of the C library, as 64-bit Linux and macOS declare it.
#[repr(C)]
#[derive(Default)]
struct Usage {
    user: [i64; 2],
    system: [i64; 2],
    peak: i64,
    others: [i64; 13],
}

unsafe extern "C" {
    fn wait4(pid: i32, status: *mut i32, options: i32, usage: *mut Usage) -> i32;
}

fn main() -> io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(report), Some(program)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: launch REPORT PROGRAM [ARGUMENT]…");
        exit(2);
    };
    let began = Instant::now();
    let child = Command::new(program).args(arguments).spawn()?;
    let (mut status, mut usage) = (0, Usage::default());
    // SAFETY: both pointers are to live values of the size the call expects.
    let pid = unsafe { wait4(child.id() as i32, &mut status, 0, &mut usage) };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    let wall = began.elapsed().as_secs_f64();
    // The microseconds are 32 bits wide on macOS, with nothing that is defined above them.
    let seconds = |[s, us]: [i64; 2]| s as f64 + f64::from(us as i32) / 1e6;
    let peak = if cfg!(target_os = "macos") { usage.peak / 1024 } else { usage.peak };
    let status = ExitStatus::from_raw(status).code().unwrap_or(-1);
    let (user, system) = (seconds(usage.user), seconds(usage.system));
    std::fs::write(report, format!("{user} {system} {wall} {peak} {status}\n"))
}

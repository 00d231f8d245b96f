//! The line on a terminal that says how far a long run has come.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::kit::*;
use super::pty::{shown, terminal};

/// The text that a terminal receives while a recording comes slowly through a pipe.
fn shown_meanwhile(arguments: &[&str]) -> String {
    let mut r = Recording::new(Style { pipe: true, ..PLAIN }, &[Event::default()]);
    r.comm(1, 1, 0, b"app", false);
    for n in 0..40_000 {
        let chain = vec![USER, 0x1000 + n % 3];
        r.sample(&Sample {
            pid: 1,
            tid: 1,
            time: 10 + n,
            ip: chain[1],
            period: 1,
            chain,
            ..Sample::default()
        });
        if n % 500 == 0 {
            r.finish_round();
        }
    }
    let bytes = r.bytes();
    assert!(bytes.len() > 2_000_000, "some megabytes");
    let (first, second) = terminal();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fg-collapse"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::from(second));
    let mut child = command.spawn().expect("it starts");
    drop(command);
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || {
        for piece in bytes.chunks(bytes.len() / 10) {
            stdin.write_all(piece).expect("it reads on");
            std::thread::sleep(Duration::from_millis(150));
        }
    });
    let shown = shown(first);
    writer.join().expect("all is written");
    assert!(child.wait().expect("it ends").success(), "{shown}");
    shown
}

#[test]
fn a_terminal_shows_how_much_was_read_and_keeps_nothing_of_it() {
    let shown = shown_meanwhile(&[]);
    let read = |line: &str| line.strip_prefix("read ")?.split(' ').next()?.parse::<u64>().ok();
    let counts: Vec<u64> = shown.split('\r').filter_map(read).collect();
    assert!(counts.len() > 1 && counts.is_sorted() && counts[0] < counts[counts.len() - 1], "{shown:?}");
    // The final messages start on a line of their own.
    let last = shown.rfind(" MB").expect("the line");
    assert!(shown[last..].starts_with(" MB\x1b[K\r\x1b[K"), "{shown:?}");
}

#[test]
fn quiet_hides_progress() {
    assert_eq!(shown_meanwhile(&["-q"]), "");
}

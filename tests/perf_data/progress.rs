//! The line on a terminal that says how far a long run has come.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use super::kit::*;
use super::pty::{terminal, watched};

/// A recording of some megabytes.
fn recording() -> Vec<u8> {
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
    bytes
}

/// A collapser that reads from a pipe and says how far it is on a terminal.
struct Reader {
    child: Child,
    shown: JoinHandle<String>,
    /// The last text that was shown.
    so_far: Arc<Mutex<String>>,
}

impl Reader {
    fn new(arguments: &[&str]) -> Reader {
        let (first, second) = terminal();
        let mut command = Command::new(env!("CARGO_BIN_EXE_fg-collapse"));
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::from(second));
        let child = command.spawn().expect("it starts");
        let so_far = Arc::new(Mutex::new(String::new()));
        let copy = Arc::clone(&so_far);
        let look = move |text: &str| text.clone_into(&mut copy.lock().expect("no panic"));
        Reader { child, shown: std::thread::spawn(|| watched(first, look)), so_far }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.child.stdin.as_mut().expect("a pipe").write_all(bytes).expect("it reads on");
    }

    /// All that was shown, after the end of the input.
    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        let shown = self.shown.join().expect("no panic");
        assert!(self.child.wait().expect("it ends").success(), "{shown}");
        shown
    }
}

/// The megabytes that a terminal has shown as read.
fn counts(shown: &str) -> Vec<u64> {
    let read = |line: &str| line.strip_prefix("read ")?.split(' ').next()?.parse().ok();
    shown.split('\r').filter_map(read).collect()
}

/// The text that a terminal receives while a recording comes slowly through a pipe, and the text that
/// one receives from `fg-collapse -q` at the same time.
fn shown_meanwhile() -> [String; 2] {
    let mut readers = [Reader::new(&[]), Reader::new(&["-q"])];
    let bytes = recording();
    // A bit at a time until something is shown, then most of it, then the rest likewise.
    let (first, last) = bytes.split_at(bytes.len() * 7 / 8);
    for (part, is_enough) in [(first, 1), (last, 2)] {
        let mut given = 0;
        for piece in part.chunks(1 << 13) {
            readers.iter_mut().for_each(|reader| reader.write(piece));
            given += piece.len();
            let mut all = counts(&readers[0].so_far.lock().expect("no panic"));
            all.dedup();
            if all.len() >= is_enough {
                break;
            }
            // It reads whole megabytes, and shows nothing of the first 0.7 s.
            std::thread::sleep(Duration::from_millis(10));
        }
        readers.iter_mut().for_each(|reader| reader.write(&part[given..]));
    }
    readers.map(Reader::end)
}

#[test]
fn a_terminal_shows_how_much_was_read_and_keeps_nothing_of_it() {
    let [shown, quiet] = shown_meanwhile();
    let counts = counts(&shown);
    assert!(counts.len() > 1 && counts.is_sorted() && counts[0] < counts[counts.len() - 1], "{shown:?}");
    // The final messages start on a line of their own.
    let last = shown.rfind(" MB").expect("the line");
    assert!(shown[last..].starts_with(" MB\x1b[K\r\x1b[K"), "{shown:?}");
    assert_eq!(quiet, "", "-q hides it");
}

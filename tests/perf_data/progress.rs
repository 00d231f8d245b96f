//! The line on a terminal that says how far a long run has come.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::kit::*;
use super::process::until;
use super::pty::{terminal, watched};

/// A recording through a pipe: its head, and a round of samples that can follow as often as one likes.
fn recording() -> [Vec<u8>; 2] {
    let mut r = Recording::new(Style { pipe: true, ..PLAIN }, &[Event::default()]);
    r.comm(1, 1, 0, b"app", false);
    let head = r.bytes().len();
    for n in 0..2_000 {
        let chain = vec![USER, 0x1000 + n % 3];
        r.sample(&Sample { pid: 1, tid: 1, time: 10, ip: chain[1], period: 1, chain, ..Sample::default() });
    }
    r.finish_round();
    let bytes = r.bytes();
    [bytes[..head].to_vec(), bytes[head..].to_vec()]
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

/// The text that a terminal receives while a recording comes slowly through a pipe until two amounts
/// are shown, and the text that one receives from `fg-collapse -q` at the same time.
fn shown_meanwhile() -> [String; 2] {
    let mut readers = [Reader::new(&[]), Reader::new(&["-q"])];
    let [head, round] = recording();
    readers.iter_mut().for_each(|reader| reader.write(&head));
    until("two amounts are shown", || {
        readers.iter_mut().for_each(|reader| reader.write(&round));
        let mut amounts = counts(&readers[0].so_far.lock().expect("no panic"));
        amounts.dedup();
        amounts.len() >= 2
    });
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

//! Runs a program as a pipe would.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Runs it with these bytes as its standard input, and waits for what it writes.
///
/// A program that ends early closes its end of the pipe, and one that writes much would wait for
/// its reader: neither stops the writer here.
pub fn feed(command: &mut Command, input: impl AsRef<[u8]>) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let mut stdin = child.stdin.take().expect("a pipe");
    let bytes = input.as_ref().to_vec();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&bytes)));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("the writer does not panic");
    output
}

/// The output of a program as text, for comparison and for messages.
pub fn text(bytes: impl AsRef<[u8]>) -> String {
    String::from_utf8_lossy(bytes.as_ref()).into_owned()
}

//! The output of `py-spy record -f raw` (seen: py-spy 0.4): folded text whose names may hold a `;`.
//!
//! ```text
//! process 13470:"python3 orders.py 2 2";thread (13480): calc;fib (orders.py:23) 14
//! run_template (a b;c 12.html:2);render (orders.py:40) 3
//! ```
//! A file name that holds `;` cuts its frame in two. All frames are `name (file)`, so a piece
//! without its closing parenthesis goes on in the next one, and so does a command line without its
//! closing quote. The name of a thread can hold a `;` as well; nothing shows where it ends.

use crate::collapse::kit::driver::{self, LineParser};
use crate::collapse::kit::folded_detection::head_lines;
use crate::collapse::kit::names::{NO_STACK, frame_at, python_place};
use crate::collapse::kit::text::split_digits;
use crate::collapse::kit::threads::Thread;
use crate::collapse::{
    Certainty, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested, Value, ValueTotal,
};
use crate::error::Result;
use crate::folded::{Columns, FrameId, Line, Place, parse_line};
use crate::input::Input;
use crate::profile::Facts;

const INFO: FormatInfo = FormatInfo {
    name: "py-spy",
    producer: "py-spy record -f raw",
    tested: Tested::Seen("py-spy 0.4.3"),
    values: "samples",
    unit: "samples",
};

/// Collapses py-spy's raw format.
pub struct PySpy;

impl Collapser for PySpy {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "", clock: None, labels: "thread, tid, process" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let (mut python, mut other) = (0, 0);
        let mut in_command = false;
        for line in head_lines(head) {
            // The lines of a `python -c` count as the one that they are.
            let line = match memchr::memmem::find(line, b"\";") {
                Some(end) if in_command => &line[end + 2..],
                None if in_command && !is_process(line) => continue,
                _ => line,
            };
            in_command = is_open_command(line);
            if in_command {
                continue;
            }
            match parse_line(line, Columns::One) {
                Some(parsed) if parsed.stack.split(|&b| b == b';').any(is_python) => python += 1,
                _ => other += 1,
            }
        }
        if python > other { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let new = || PySpyLines {
            frames: Frames { hides_threads: !reading.shows_threads(true), ..Frames::default() },
            total: ValueTotal { kept: true, ..ValueTotal::default() },
            commands: Vec::new(),
        };
        driver::run_lines(input, reading.threads, new, sink, report)?;
        report.facts = Facts::merged(&std::mem::take(&mut report.parts));
        Ok(())
    }
}

/// Reads the lines of one thread.
struct PySpyLines {
    frames: Frames,
    total: ValueTotal,
    /// The first commands, up to two: where there is more than one, none is that of the recording.
    commands: Vec<Vec<u8>>,
}

impl LineParser for PySpyLines {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        // What looks like a weight is a number in the code of a `python -c`.
        let Some(Line { stack, weights }) = parse_line(line, Columns::One).filter(|_| !is_open_command(line))
        else {
            return Ok(false);
        };
        // A thread that was seen without any frame, which counts all the same; py-spy writes ` 3`.
        let stack = if stack.is_empty() { NO_STACK } else { stack };
        self.frames.split(stack, sink);
        self.total.add(weights.value)?;
        let Frames { ids, owner, .. } = &self.frames;
        if !owner.command.is_empty() && !self.commands.contains(&owner.command) && self.commands.len() < 2 {
            self.commands.push(owner.command.clone());
        }
        let context = if sink.wants().contexts { owner.context() } else { Context::UNKNOWN };
        sink.sample(ids, weights, &context)?;
        Ok(true)
    }

    /// A file name that holds a newline is written as it is: its parenthesis is open before and
    /// closed behind it. So is the code of a `python -c` in a command line, up to the quote that ends it.
    fn goes_on(&self, cut: &[u8], line: &[u8]) -> bool {
        if is_open_command(cut) {
            return !is_process(line);
        }
        let last = cut.rsplit(|&b| b == b';').next().unwrap_or(cut);
        let next = line.split(|&b| b == b';').next().unwrap_or(line);
        let close = memchr::memchr(b')', next);
        is_cut(last) && last.contains(&b'(') && close.is_some_and(|close| !next[..close].contains(&b'('))
    }

    fn finish(self, report: &mut Report) -> Result<()> {
        report.parts.extend(self.commands.iter().map(|command| {
            let mut part = Facts::default();
            part.set_command(command);
            part
        }));
        report.add_value(Value::new("samples", "samples"), self.total)
    }
}

/// Splits stacks into frames, mending those that a `;` in a name has cut.
#[derive(Default)]
struct Frames {
    ids: Vec<FrameId>,
    /// True if processes and threads, at the root, are no frames.
    hides_threads: bool,
    frame: Vec<u8>,
    owner: Owner,
}

/// The process and the thread that a stack begins with.
#[derive(Default)]
struct Owner {
    /// The command line of the outermost process.
    command: Vec<u8>,
    process: Vec<u8>,
    thread: Vec<u8>,
    name: Vec<u8>,
}

impl Owner {
    fn clear(&mut self) {
        let texts = [&mut self.command, &mut self.process, &mut self.thread, &mut self.name];
        texts.into_iter().for_each(Vec::clear);
    }

    /// Takes `process 7:"command"`, of which the last is the thread's own, or `thread (8): name`.
    fn note(&mut self, frame: &[u8]) {
        if let Some(rest) = frame.strip_prefix(b"process ") {
            let (pid, rest) = split_digits(rest);
            pid.clone_into(&mut self.process);
            if self.command.is_empty() {
                let command = rest.strip_prefix(b":\"").unwrap_or(rest);
                command.strip_suffix(b"\"").unwrap_or(command).clone_into(&mut self.command);
            }
        } else if let Some(rest) = frame.strip_prefix(b"thread (") {
            let (tid, rest) = split_digits(rest);
            tid.clone_into(&mut self.thread);
            rest.strip_prefix(b"): ").unwrap_or_default().clone_into(&mut self.name);
        }
    }

    fn context(&self) -> Context<'_> {
        Thread { name: &self.name, pid: &self.process, tid: &self.thread }.context(None)
    }
}

impl Frames {
    fn split(&mut self, stack: &[u8], sink: &mut dyn Sink) -> &[FrameId] {
        self.ids.clear();
        self.frame.clear();
        self.owner.clear();
        let places = sink.wants().places;
        let mut rest = stack;
        loop {
            let (piece, behind) = match memchr::memchr(b';', rest) {
                Some(at) => (&rest[..at], Some(&rest[at + 1..])),
                None => (rest, None),
            };
            self.frame.extend_from_slice(piece);
            match behind {
                // Only a piece that is mended by what follows is joined with it.
                Some(behind) if is_cut(&self.frame) && mends(&self.frame, behind) => self.frame.push(b':'),
                _ => {
                    let thread = is_process(&self.frame) || is_thread(&self.frame);
                    if !(self.hides_threads && thread && self.ids.is_empty()) {
                        let place = if places { python_place(&self.frame) } else { Place::default() };
                        self.ids.push(frame_at(&self.frame, &place, sink));
                    }
                    if thread {
                        self.owner.note(&self.frame);
                    }
                    self.frame.clear();
                }
            }
            match behind {
                Some(behind) => rest = behind,
                None => break,
            }
        }
        if self.ids.is_empty() {
            self.ids.push(sink.frame(NO_STACK));
        }
        &self.ids
    }
}

/// Returns whether a piece ends within a file name or a command line.
fn is_cut(piece: &[u8]) -> bool {
    if is_process(piece) {
        return !(piece.ends_with(b"\"") && piece.iter().filter(|&&b| b == b'"').count() > 1);
    }
    !is_thread(piece) && !piece.ends_with(b")")
}

/// Returns whether one of the pieces that follow ends what was cut before a frame of its own begins.
fn mends(piece: &[u8], behind: &[u8]) -> bool {
    let next = behind.split(|&b| b == b';').next().unwrap_or(behind);
    match is_process(piece) {
        true => behind.contains(&b'"'),
        // A cut piece has an open bracket: `run (a b` goes on in `c 12.html:2)`, which opens none.
        false => memchr::memmem::find(piece, b" (").is_some() && !next.contains(&b'('),
    }
}

/// Returns true if a line ends within the command line of its last process.
fn is_open_command(line: &[u8]) -> bool {
    let begins = memchr::memmem::rfind_iter(line, b"process ")
        .find(|&at| (at == 0 || line[at - 1] == b';') && is_process(&line[at..]));
    let Some(at) = begins else { return false };
    let quote = at + memchr::memchr(b'"', &line[at..]).expect("a process has one");
    let command = &line[quote + 1..];
    // The end: the quote before the first frame, or before the weight.
    let before_weight = || parse_line(command, Columns::One).is_some_and(|line| line.stack.ends_with(b"\""));
    !(command.ends_with(b"\"") || memchr::memmem::find(command, b"\";").is_some() || before_weight())
}

fn is_process(piece: &[u8]) -> bool {
    let Some(rest) = piece.strip_prefix(b"process ") else { return false };
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    digits > 0 && rest[digits..].starts_with(b":\"")
}

fn is_thread(piece: &[u8]) -> bool {
    piece.starts_with(b"thread (")
}

/// `name (file.py:12)`, `name (file.py)`, `<module> (<frozen importlib._bootstrap>:1)`.
fn is_python(frame: &[u8]) -> bool {
    let Some(inner) = frame.strip_suffix(b")") else { return false };
    let Some(open) = memchr::memmem::rfind(inner, b" (") else { return false };
    let file = &inner[open + 2..];
    let digits = file.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let file = file[..file.len() - digits].strip_suffix(b":").unwrap_or(file);
    open > 0 && (file.ends_with(b".py") || (file.starts_with(b"<") && file.ends_with(b">")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::folded::StackTable;

    fn split(stack: &str) -> Vec<String> {
        split_with(Frames::default(), stack)
    }

    fn split_with(mut frames: Frames, stack: &str) -> Vec<String> {
        let mut table = StackTable::default();
        let ids = frames.split(stack.as_bytes(), &mut table).to_vec();
        ids.iter().map(|id| String::from_utf8_lossy(table.name(*id)).into_owned()).collect()
    }

    #[test]
    fn mends_frames_that_a_semicolon_has_cut() {
        for (stack, frames) in [
            ("main (a.py:1);fib (a.py:2)", vec!["main (a.py:1)", "fib (a.py:2)"]),
            ("run (a b;c 12.html:2);f (a.py:1)", vec!["run (a b:c 12.html:2)", "f (a.py:1)"]),
            ("<module> (<generated; code>:1)", vec!["<module> (<generated: code>:1)"]),
            ("process 7:\"sh -c a;b\";f (a.py:1)", vec!["process 7:\"sh -c a:b\"", "f (a.py:1)"]),
            ("thread (9): fib;thread 2;f (a.py:1)", vec!["thread (9): fib", "thread 2", "f (a.py:1)"]),
            (
                "process 7:\"py\";process 8:\"py\";f (a.py:1)",
                vec!["process 7:\"py\"", "process 8:\"py\"", "f (a.py:1)"],
            ),
            ("f (a;b;c.py:1)", vec!["f (a:b:c.py:1)"]),
            ("0x7f12 (libc.so.6);f (a.py:1)", vec!["0x7f12 (libc.so.6)", "f (a.py:1)"]),
        ] {
            assert_eq!(split(stack), frames, "{stack}");
        }
    }

    #[test]
    fn the_name_of_a_file_may_hold_a_newline() {
        let text = "f (a.py:1);run (new\nline.py:2);g (a.py:3) 4\nf (a.py:1) 2\nrun (new\nline.py:2) 1\nrun (new\nf (a.py:1) 3\n";
        let (out, report) =
            crate::collapse::tests::collapse_bytes(&PySpy, text, &CollapseOptions::default()).unwrap();
        assert_eq!(out, "f (a.py:1) 5\nf (a.py:1);run (new line.py:2);g (a.py:3) 4\nrun (new line.py:2) 1\n");
        assert_eq!(report.not_understood.count, 1);
    }

    #[test]
    fn a_command_line_may_hold_the_lines_of_a_program() {
        let text = "process 7:\"python -c \nimport os; x = 5\nfor y in \"ab\":\n  f(y)\n\";f (<string>:3) 14\n\
                    process 7:\"python -c \nimport os; x = 5\nfor y in \"ab\":\n  f(y)\n\";f (<string>:3);g (a.py:1) 2\n\
                    process 8:\"sh\" 3\nprocess 9:\"sh -c a;b\";f (a.py:1) 1\n";
        assert_eq!(PySpy.detect(text.as_bytes()), Certainty::Yes);
        let (out, report) =
            crate::collapse::tests::collapse_bytes(&PySpy, text, &CollapseOptions::default()).unwrap();
        assert_eq!(report.not_understood.count, 0, "{:?}", report.not_understood);
        let command = "process 7:\"python -c import os: x = 5 for y in \"ab\":   f(y) \"";
        let expected = format!(
            "{command};f (<string>:3) 14\n{command};f (<string>:3);g (a.py:1) 2\nprocess 8:\"sh\" 3\nprocess 9:\"sh -c a:b\";f (a.py:1) 1\n"
        );
        assert_eq!(out, expected);
        // A command that does not end is left out, and takes no other stack with it.
        let cut = "process 7:\"python -c \nimport os\nprocess 8:\"sh\";f (a.py:1) 3\n";
        let (out, report) =
            crate::collapse::tests::collapse_bytes(&PySpy, cut, &CollapseOptions::default()).unwrap();
        assert_eq!((out.as_str(), report.not_understood.count), ("process 8:\"sh\";f (a.py:1) 3\n", 1));
    }

    #[test]
    fn processes_and_threads_can_be_left_out() {
        let split = |stack| split_with(Frames { hides_threads: true, ..Frames::default() }, stack);
        assert_eq!(split("process 7:\"a;b\";thread (9): x;f (a.py:1)"), ["f (a.py:1)"]);
        assert_eq!(split("thread (9)"), ["[no stack]"]);
    }

    #[test]
    fn is_told_from_other_folded_text() {
        assert_eq!(PySpy.detect(b"main (a.py:1);fib (a.py:2) 3\nf (a.py:9) 1\n"), Certainty::Yes);
        assert_eq!(PySpy.detect(b"main (orders.py) 3\n"), Certainty::Yes);
        assert_eq!(PySpy.detect(b"calc;shop::visit(int);std::f(int) const 3\n"), Certainty::No);
    }
}

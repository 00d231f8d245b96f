//! The thread dumps of Java: `jstack`, `jcmd Thread.print`, and what a JVM prints on SIGQUIT
//! (seen: OpenJDK 17, 25).
//!
//! ```text
//! Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1 mixed mode, sharing):
//!
//! "main" #1 prio=5 os_prio=0 cpu=43.22ms elapsed=2.71s tid=0x00007f40dc017920 nid=0x4866 waiting on condition
//!    java.lang.Thread.State: WAITING (parking)
//!     at jdk.internal.misc.Unsafe.park(java.base@17.0.15/NativeFrame Method)
//!     - parking to wait for  <0x000000068d901610> (a java.util.concurrent.FutureTask)
//! ```
//! Every thread with frames is a sample, in each of the dumps that follow one another. Most of
//! them wait; the values tell those in one state from the others. Names are not quoted in any
//! way: `"sleeper "q" #1" #22 …`. A blank line ends a thread: what a log has behind it, such as
//! exceptions, is not its stack.
//!
//! `jcmd PID Thread.dump_to_file` writes the same in another shape, with virtual threads, as text
//! or ([`thread_dump`]) as JSON (seen: OpenJDK 25). Its states are there since
//! JDK 24:
//!
//! ```text
//! #3 "main" TIMED_WAITING 2026-11-21T07:34:50.022063295Z
//!     at java.base/java.lang.Thread.sleepNanos0(NativeFrame Method)
//! ```

use crate::collapse::kit::java_frame::java_frame;
use crate::collapse::kit::json::HeadKeys;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::text::{Text, split_digits, split_first};
use crate::number;
mod thread_dump;
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value,
};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::{Input, lines};
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "jstack",
    producer: "jstack, jcmd PID Thread.print, jcmd PID Thread.dump_to_file (text, JSON), kill -QUIT",
    tested: Tested::Seen("OpenJDK 17, 25"),
    values: "threads, runnable, blocked, waiting",
    unit: "threads",
};

/// Collapses thread dumps of Java.
pub struct Jstack;

impl Collapser for Jstack {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        // In a log it may come after much else.
        let dump = head.starts_with(b"Full thread dump ")
            || memchr::memmem::find(head, b"\nFull thread dump ").is_some();
        if dump || is_dump_to_file(head) || is_json(head) { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let declared = ["threads", "runnable", "blocked", "waiting"].map(|name| Value::new(name, "threads"));
        let mut values = Values::new(reading, declared.to_vec(), 0)?;
        if is_json(input.head()) {
            thread_dump::collapse(input, reading, &mut values, sink, &mut report.facts)?;
            return values.finish(report);
        }
        // The file of `dump_to_file` begins with the process.
        let pid = is_dump_to_file(input.head()).then(|| split_digits(input.head()).0.to_vec());
        let mut names = FrameNames::default();
        let mut thread = Dumped::default();
        let mut version = Vec::new();
        // The Java threads, which have a number, and as many as the dumps state: `…, length=16, elements={`.
        let (mut threads, mut stated) = (0u64, 0u64);
        Text::new(input).for_each(report, |line| {
            let text = line.trim_ascii_start();
            if let Some(rest) = line.strip_prefix(b"Full thread dump ").filter(|_| version.is_empty()) {
                rest.strip_suffix(b":").unwrap_or(rest).clone_into(&mut version);
            }
            if let Some((_, length)) = split_first(line, b", length=")
                && line.starts_with(b"_java_thread_list=")
            {
                let length = number::parse(split_digits(length).0);
                stated = stated.saturating_add(length.unwrap_or(0));
            }
            if line.starts_with(b"\"") {
                threads += u64::from(has_number(line));
                thread.finish(&mut values, sink)?;
                thread = Dumped::new(line, reading, sink);
            } else if let (Some((name, tid, state)), Some(pid)) = (numbered(line), &pid) {
                thread.finish(&mut values, sink)?;
                thread = Dumped::of(Thread { name, pid, tid }, reading, sink);
                thread.state(state);
            } else if text.is_empty() {
                thread.finish(&mut values, sink)?;
                thread = Dumped::default();
            } else if let Some(state) = text.strip_prefix(b"java.lang.Thread.State: ") {
                thread.state(state);
            } else if let (Some(frame), true) = (text.strip_prefix(b"at "), thread.open) {
                thread.frames.push(java_frame(frame, reading, &mut names, sink));
            }
            // Locks, the heap and what else a JVM prints among its threads.
            Ok(true)
        })?;
        thread.finish(&mut values, sink)?;
        report.facts.producer = crate::profile::fact(&version);
        if stated > 0 {
            report.check_total("the Java threads", Weight::from(threads), Weight::from(stated));
        }
        values.finish(report)
    }
}

/// Returns true for the heading of a Java thread, `"main" #1 prio=5 …`, and not one of the JVM's own.
fn has_number(heading: &[u8]) -> bool {
    memchr::memmem::find_iter(heading, b"\" #").any(|at| heading.get(at + 3).is_some_and(u8::is_ascii_digit))
}

fn is_json(head: &[u8]) -> bool {
    HeadKeys::read(head).is_some_and(|keys| keys.has("threadDump.threadContainers"))
}

/// Returns whether a file begins as those of `Thread.dump_to_file` do: process, time, version and threads.
fn is_dump_to_file(head: &[u8]) -> bool {
    let mut lines = lines(head).map(<[u8]>::trim_ascii);
    let pid = lines.next().is_some_and(|pid| !pid.is_empty() && pid.iter().all(u8::is_ascii_digit));
    pid && lines.take(10).any(|line| numbered(line).is_some())
}

/// Name, number and state of `#32 "name" virtual RUNNABLE 2026-11-21T07:34:50Z`.
fn numbered(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (tid, rest) = split_digits(line.strip_prefix(b"#")?);
    let rest = rest.strip_prefix(b" \"").filter(|_| !tid.is_empty())?;
    let end = memchr::memrchr(b'"', rest)?;
    let state = rest[end + 1..].trim_ascii_start();
    Some((&rest[..end], tid, state.strip_prefix(b"virtual").unwrap_or(state).trim_ascii_start()))
}

/// A thread of a dump; frames leaf first.
#[derive(Default)]
pub(super) struct Dumped {
    name: Option<FrameId>,
    /// True if the frames that come are its own.
    open: bool,
    /// The value that it counts for, besides the first.
    state: usize,
    frames: Vec<FrameId>,
}

impl Dumped {
    fn new(heading: &[u8], options: &CollapseOptions, sink: &mut dyn Sink) -> Dumped {
        // The name ends before ` #12 `, or before the first ` prio=` of a thread of the JVM's own.
        let rest = &heading[1..];
        let end = memchr::memmem::find_iter(rest, b"\" ").filter(|at| {
            let behind = &rest[at + 2..];
            behind.starts_with(b"#")
                || [&b"os_prio="[..], b"prio=", b"daemon ", b"tid="].iter().any(|key| behind.starts_with(key))
        });
        let name = end.last().map_or(rest, |end| &rest[..end]);
        let nid = memchr::memmem::rfind(heading, b" nid=").map_or(&b""[..], |at| &heading[at + 5..]);
        let nid = nid.split(|&b| b == b' ').next().unwrap_or_default();
        let tid = number::hex(nid).filter(|_| nid.starts_with(b"0x"));
        let tid = tid.map_or_else(|| String::from_utf8_lossy(nid).into_owned(), |tid| tid.to_string());
        Dumped::of(Thread { name, pid: b"", tid: tid.as_bytes() }, options, sink)
    }

    /// A thread without frames yet.
    pub(super) fn of(thread: Thread<'_>, options: &CollapseOptions, sink: &mut dyn Sink) -> Dumped {
        let mut frame = Vec::new();
        thread.write(options, &mut frame);
        let name = options.shows_threads(true).then(|| sink.frame(&frame));
        Dumped { name, open: true, ..Dumped::default() }
    }

    /// Its state as Java names it, and what is behind it.
    pub(super) fn state(&mut self, state: &[u8]) {
        self.state = match state.split(|&b| b == b' ').next() {
            Some(b"RUNNABLE") => 1,
            Some(b"BLOCKED") => 2,
            Some(b"WAITING" | b"TIMED_WAITING") => 3,
            _ => 0,
        };
    }

    /// Its next frame, rootward of those before.
    pub(super) fn push(&mut self, frame: FrameId) {
        self.frames.push(frame);
    }

    pub(super) fn finish(&mut self, values: &mut Values, sink: &mut dyn Sink) -> Result<()> {
        if self.frames.is_empty() {
            return Ok(());
        }
        self.frames.extend(self.name);
        self.frames.reverse();
        let counts =
            [0, 1, 2, 3].map(|at| if at == 0 || at == self.state { Weight::ONE } else { Weight::ZERO });
        values.sample(&self.frames, &counts, sink)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::tests::fold;
    use crate::folded::StackTable;

    #[test]
    fn what_a_log_has_behind_a_dump_is_no_stack() {
        let text = "[0.1s][info] hello\nFull thread dump OpenJDK (17):\n\n\"a\" #1 prio=5 nid=0x1 runnable\n   \
                    java.lang.Thread.State: RUNNABLE\n\tat A.run(A.java:1)\n\n\"VM Thread\" os_prio=0 nid=0x2 runnable\n\n\
                    java.lang.Error: x\n\tat B.main(B.java:2)\n";
        assert_eq!(fold(&Jstack, text, &CollapseOptions::default()), "a;A.run 1\n");
    }

    #[test]
    fn both_shapes_of_a_dump_to_a_file_give_the_same() {
        let text = "7\n2026-11-21T07:34:49Z\n25.0.2+10-LTS\n\n#3 \"m;\"#1 \"\" TIMED_WAITING 2026\n    at x/A.main(A.java:3)\n    \
                    - waiting on <B@1>\n\n#4 \"\" virtual RUNNABLE 2026\n    at B.run(B.java:1)\n    at x/A.go(A.java:9)\n\n#5 \"none\"\n";
        let json = r##"{"threadDump": {"processId": "7", "threadContainers": [{"container": "<root>", "threads": [
            {"tid": "3", "name": "m;\"#1 \"", "state": "TIMED_WAITING", "waitingOn": "B@1", "stack": ["x\/A.main(A.java:3)"]}]},
            {"container": "y", "threads": [{"tid": 4, "virtual": true, "name": "", "state": "RUNNABLE",
             "stack": ["B.run(B.java:1)", "x\/A.go(A.java:9)"]}, {"tid": "5", "name": "none", "stack": []}], "threadCount": "2"}]}}"##;
        let tid = CollapseOptions { tid: true, srcline: true, ..CollapseOptions::default() };
        let runnable = CollapseOptions {
            values: crate::collapse::ValueSelection::Named(vec![b"runnable".to_vec()]),
            ..CollapseOptions::default()
        };
        for text in [text, json] {
            assert_eq!(Jstack.detect(text.as_bytes()), Certainty::Yes);
            assert_eq!(
                fold(&Jstack, text, &CollapseOptions::default()),
                "[unnamed];A.go;B.run 1\nm:\"#1 \";A.main 1\n"
            );
            assert_eq!(
                fold(&Jstack, text, &tid),
                "[unnamed]-7/4;A.go (A.java:9);B.run (B.java:1) 1\nm:\"#1 \"-7/3;A.main (A.java:3) 1\n"
            );
            assert_eq!(fold(&Jstack, text, &runnable), "[unnamed];A.go;B.run 1\n");
        }
        assert_eq!(Jstack.detect(b"7\nhello\n# 3 4\n"), Certainty::No);
    }

    #[test]
    fn the_name_of_a_thread_may_hold_quotes() {
        let mut table = StackTable::default();
        let options = CollapseOptions { tid: true, ..CollapseOptions::default() };
        for (heading, frame) in [
            (
                &br#""sleeper "q" #1" #22 prio=5 os_prio=0 tid=0x7f nid=0x10 runnable"#[..],
                r#"sleeper "q" #1-?/16"#,
            ),
            (br#""VM Thread" os_prio=0 tid=0x7f nid=17 runnable"#, "VM Thread-?/17"),
            (br#""cut"#, "cut-?/?"),
        ] {
            let thread = Dumped::new(heading, &options, &mut table);
            assert_eq!(String::from_utf8_lossy(table.name(thread.name.unwrap())), frame);
        }
    }
}

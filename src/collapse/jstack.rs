//! The thread dumps of Java: `jstack`, `jcmd Thread.print`, and what a JVM prints on SIGQUIT
//! (seen: OpenJDK 17).
//!
//! ```text
//! Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1 mixed mode, sharing):
//!
//! "main" #1 prio=5 os_prio=0 cpu=43.22ms elapsed=2.71s tid=0x00007f40dc017920 nid=0x4866 waiting on condition
//!    java.lang.Thread.State: WAITING (parking)
//!     at jdk.internal.misc.Unsafe.park(java.base@17.0.15/Native Method)
//!     - parking to wait for  <0x000000068d901610> (a java.util.concurrent.FutureTask)
//! ```
//! Every thread with frames is a sample, in each of the dumps that follow one another. Most of
//! them wait; the values tell those in one state from the others. Names are not quoted in any
//! way: `"sleeper "q" #1" #22 …`.

use std::borrow::Cow;

use super::names::Names;
use super::text::Text;
use super::threads::Thread;
use super::values::Values;
use super::{About, Collapser, Options, Report, Sink, Value, Verdict};
use crate::error::Result;
use crate::folded::{FrameId, StackTable, sanitize_frame};
use crate::input::Input;
use crate::weight::Weight;

const ABOUT: About = About {
    name: "jstack",
    producer: "jstack, jcmd PID Thread.print, kill -QUIT",
    tested: "OpenJDK 17",
    values: "threads, runnable, blocked, waiting",
    unit: "threads",
};

/// Collapses thread dumps of Java.
pub struct Jstack;

impl Collapser for Jstack {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn detect(&self, head: &[u8]) -> Verdict {
        let mut lines = head.split(|&b| b == b'\n').take(200);
        if lines.any(|line| line.starts_with(b"Full thread dump ")) { Verdict::Yes } else { Verdict::No }
    }

    fn collapse(
        &self,
        input: Input,
        options: &Options,
        table: &mut StackTable,
        report: &mut Report,
    ) -> Result<()> {
        let declared = ["threads", "runnable", "blocked", "waiting"].map(|name| Value::new(name, "threads"));
        let mut values = Values::new(options, declared.to_vec(), 0)?;
        let mut names = Names::default();
        let mut thread = Dumped::default();
        Text::new(input).for_each(report, |line| {
            let text = line.trim_ascii_start();
            if line.starts_with(b"\"") {
                thread.finish(&mut values, table)?;
                thread = Dumped::new(line, options, table);
            } else if let Some(state) = text.strip_prefix(b"java.lang.Thread.State: ") {
                thread.state = match state.split(|&b| b == b' ').next() {
                    Some(b"RUNNABLE") => 1,
                    Some(b"BLOCKED") => 2,
                    Some(b"WAITING" | b"TIMED_WAITING") => 3,
                    _ => 0,
                };
            } else if let Some(frame) = text.strip_prefix(b"at ") {
                thread.frames.push(java_frame(frame, options, &mut names, table));
            }
            // Locks, the heap and what else a JVM prints among its threads.
            Ok(true)
        })?;
        thread.finish(&mut values, table)?;
        values.finish(report)
    }
}

/// A thread of a dump; frames leaf first.
#[derive(Default)]
struct Dumped {
    name: Option<FrameId>,
    /// Which of the values it counts for, besides the first.
    state: usize,
    frames: Vec<FrameId>,
}

impl Dumped {
    fn new(heading: &[u8], options: &Options, sink: &mut dyn Sink) -> Dumped {
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
        let tid = super::maps::hex(nid).filter(|_| nid.starts_with(b"0x"));
        let tid = tid.map_or_else(|| String::from_utf8_lossy(nid).into_owned(), |tid| tid.to_string());
        let mut frame = Vec::new();
        Thread { name, pid: b"", tid: tid.as_bytes() }.write(options, &mut frame);
        let name = options.shows_threads(true).then(|| sink.frame(&frame));
        Dumped { name, ..Dumped::default() }
    }

    fn finish(&mut self, values: &mut Values, sink: &mut dyn Sink) -> Result<()> {
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

/// `java.util.concurrent.FutureTask.get(java.base@17.0.15/FutureTask.java:190)` is `…FutureTask.get`,
/// with `--srcline` followed by ` (FutureTask.java:190)`.
pub fn java_frame(text: &[u8], options: &Options, names: &mut Names, sink: &mut dyn Sink) -> FrameId {
    let text = text.trim_ascii();
    let open = memchr::memchr(b'(', text).filter(|_| text.ends_with(b")"));
    let (name, place) = open.map_or((text, &b""[..]), |at| (&text[..at], &text[at + 1..text.len() - 1]));
    let name = without_module(name);
    let place = memchr::memrchr(b'/', place).map_or(place, |at| &place[at + 1..]);
    names.build(sink, |out| {
        sanitize_frame(&name, out);
        if options.srcline && !place.is_empty() {
            out.extend_from_slice(b" (");
            sanitize_frame(place, out);
            out.push(b')');
        }
    })
}

/// `java.base@17/java.lang.Thread.run` without the module, and `Main$$Lambda$14/0x00007f40.run`
/// without the address, which is another one each time.
fn without_module(name: &[u8]) -> Cow<'_, [u8]> {
    let Some(at) = memchr::memrchr(b'/', name) else { return Cow::Borrowed(name) };
    let (before, after) = (&name[..at], &name[at + 1..]);
    match memchr::memchr(b'.', after) {
        Some(dot) if after.starts_with(b"0x") => {
            let class = without_module(before);
            Cow::Owned([&class, &after[dot..]].concat())
        }
        _ => Cow::Borrowed(after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        let mut table = StackTable::default();
        let mut names = Names::default();
        let mut shown = |text: &[u8], srcline| {
            let options = Options { srcline, ..Options::default() };
            let id = java_frame(text, &options, &mut names, &mut table);
            String::from_utf8_lossy(table.name(id)).into_owned()
        };
        assert_eq!(
            shown(b"java.lang.Object.wait(java.base@17.0.15/Object.java:338)", false),
            "java.lang.Object.wait"
        );
        assert_eq!(
            shown(b"java.lang.Object.wait(java.base@17.0.15/Object.java:338)", true),
            "java.lang.Object.wait (Object.java:338)"
        );
        assert_eq!(shown(b"java.base/java.lang.Thread.run(Thread.java:8)", false), "java.lang.Thread.run");
        assert_eq!(
            shown(b"Main$$Lambda$14/0x00007f4085000a08.run(Unknown Source)", false),
            "Main$$Lambda$14.run"
        );
        assert_eq!(shown(b"app//x.Y.<init>(Y.java)", false), "x.Y.<init>");
    }

    #[test]
    fn the_name_of_a_thread_may_hold_quotes() {
        let mut table = StackTable::default();
        let options = Options { tid: true, ..Options::default() };
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

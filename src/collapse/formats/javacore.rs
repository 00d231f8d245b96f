//! Javacores: the dumps of IBM's and Eclipse's virtual machine OpenJ9, written on SIGQUIT and by `jcmd PID Dump.java`.
//!
//! ```text
//! 0SECTION       TITLE subcomponent dump routine
//! 3XMTHREADINFO      "main" J9VMThread:0x00000000000A1D00, omrthread_t:0x00007F2C, java/lang/Thread:0xE0015D28, state:CW, prio=5
//! 3XMTHREADINFO1            (native thread ID:0x4866, native priority:0x5, native policy:UNKNOWN, vmstate:CW, vm thread flags:0x00080081)
//! 3XMTHREADINFO3           Java callstack:
//! 4XESTACKTRACE                at java/lang/Thread.sleepImpl(Native Method)
//! 4XESTACKTRACE                at Orders.main(Orders.java:12(Compiled Code))
//! ```
//! Every line begins with a tag. Each thread with a Java stack counts once, in the value of its state as well; the
//! current thread stands there twice and counts once. The format is IBM's documentation, "Java dump".

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::java_frame::{dotted, java_frame};
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::text::{Text, split_first};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested, Value,
};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::Input;
use crate::number;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "javacore",
    producer: "IBM's and Eclipse's OpenJ9: javacore.*.txt of kill -QUIT, jcmd PID Dump.java",
    tested: Tested::ByDescription("documented output"),
    values: "threads, runnable, blocked, waiting",
    unit: "threads",
};

/// Collapses javacores.
pub struct Javacore;

impl Collapser for Javacore {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { labels: "thread, tid, process", ..ContextInfo::NONE }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let holds = |part: &[u8]| memchr::memmem::find(head, part).is_some();
        let found = holds(b"0SECTION ") && (holds(b"\n1TISIGINFO") || holds(b"\n3XMTHREADINFO "));
        if found { Certainty::Yes } else { Certainty::No }
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
        let mut names = FrameNames::default();
        let mut dump = Dump::default();
        Text::new(input).for_each(report, |line| {
            let end = memchr::memchr(b' ', line).unwrap_or(line.len());
            let (tag, rest) = (&line[..end], line[end..].trim_ascii());
            match tag {
                b"1XMCURTHDINFO" => dump.repeats = true,
                b"1XMTHDINFO" => dump.repeats = false,
                b"3XMTHREADINFO" => {
                    dump.finish(reading, &mut values, sink)?;
                    dump.begin(rest);
                }
                b"3XMTHREADINFO1" => {
                    if let Some((_, id)) = split_first(rest, b"native thread ID:") {
                        let id = id.split(|&b| b == b',').next().unwrap_or_default();
                        dump.tid = number::hex(id).map_or(String::new(), |id| id.to_string());
                    }
                }
                b"4XESTACKTRACE" if !dump.repeats => {
                    if let Some(frame) = rest.strip_prefix(b"at ") {
                        Budget::default().check(dump.frames.len() + 1)?;
                        dump.frames.push(java_frame(&as_jdk_s(frame), reading, &mut names, sink));
                    }
                }
                b"0SECTION" => {
                    dump.finish(reading, &mut values, sink)?;
                    dump.repeats = false;
                }
                _ => {}
            }
            // Every other line tells of the process, the heap, locks and classes.
            Ok(true)
        })?;
        dump.finish(reading, &mut values, sink)?;
        values.finish(report)
    }
}

/// The thread that is read.
#[derive(Default)]
struct Dump {
    /// True where the thread stands in front of all others once more.
    repeats: bool,
    name: Vec<u8>,
    tid: String,
    /// The value that it counts for, besides the first.
    state: usize,
    /// Leaf first.
    frames: Vec<FrameId>,
}

impl Dump {
    /// `"main" J9VMThread:0x0A1D00, …, state:CW, prio=5`; the name may hold quotes.
    fn begin(&mut self, heading: &[u8]) {
        let named = heading.strip_prefix(b"\"").unwrap_or_default();
        let end = memchr::memmem::rfind(named, b"\" ").unwrap_or(0);
        named[..end].clone_into(&mut self.name);
        let state = split_first(heading, b"state:").map_or(&b""[..], |(_, state)| state);
        self.state = match state.split(|&b| b == b',').next().unwrap_or_default() {
            b"R" => 1,
            b"B" => 2,
            b"CW" | b"P" | b"S" => 3,
            _ => 0,
        };
    }

    fn finish(&mut self, options: &CollapseOptions, values: &mut Values, sink: &mut dyn Sink) -> Result<()> {
        if !self.frames.is_empty() {
            let thread = Thread { name: &self.name, pid: b"", tid: self.tid.as_bytes() };
            if options.shows_threads(true) {
                let mut name = Vec::new();
                thread.write(options, &mut name);
                self.frames.push(sink.frame(&name));
            }
            self.frames.reverse();
            let counts =
                [0, 1, 2, 3].map(|at| if at == 0 || at == self.state { Weight::ONE } else { Weight::ZERO });
            values.sample_at(&self.frames, &counts, &thread.context(None), sink)?;
        }
        self.frames.clear();
        self.tid.clear();
        Ok(())
    }
}

/// `java/util/Map.get(Map.java:12(Compiled Code))` as the JDK's tools write it: `java.util.Map.get(Map.java:12)`.
fn as_jdk_s(frame: &[u8]) -> Vec<u8> {
    let open = memchr::memchr(b'(', frame).unwrap_or(frame.len());
    let mut out = dotted(&frame[..open]);
    let place = frame[open..].strip_suffix(b"(Compiled Code))");
    match place {
        Some(place) => {
            out.extend_from_slice(place);
            out.push(b')');
        }
        None => out.extend_from_slice(&frame[open..]),
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::ValueSelection;
    use crate::collapse::tests::fold;

    const DUMP: &str = "0SECTION       TITLE subcomponent dump routine\nNULL           ===============================\n\
        1TISIGINFO     Dump Event \"user\" (00004000) received\n0SECTION       THREADS subcomponent dump routine\n\
        1XMCURTHDINFO  Current thread\n3XMTHREADINFO      \"a \"q\"\" J9VMThread:0x1, state:R, prio=5\n\
        4XESTACKTRACE                at x/A.run(A.java:3)\n1XMTHDINFO     Thread Details\n\
        3XMTHREADINFO      \"a \"q\"\" J9VMThread:0x1, omrthread_t:0x2, java/lang/Thread:0x3, state:R, prio=5\n\
        3XMTHREADINFO1            (native thread ID:0x10, native priority:0x5, vmstate:R, flags)\n\
        3XMTHREADINFO3           Java callstack:\n4XESTACKTRACE                at x/A.run(A.java:3(Compiled Code))\n\
        5XESTACKTRACE                   (entered lock: java/lang/Object@0x1, entry count: 1)\n\
        4XESTACKTRACE                at java/lang/Thread.run(Thread.java:8)\n3XMTHREADINFO3           Native callstack:\n\
        4XENATIVESTACK               poll+0x1 (0x7f [libc.so.6+0x1])\n\
        3XMTHREADINFO      \"w;\" J9VMThread:0x2, state:CW, prio=5\n4XESTACKTRACE                at java/lang/Object.wait(Native Method)\n\
        3XMTHREADINFO      Anonymous native thread\n4XENATIVESTACK               poll+0x1\n";

    #[test]
    fn threads_with_a_java_stack_count_once() {
        assert_eq!(Javacore.detect(DUMP.as_bytes()), Certainty::Yes);
        let expected = "a \"q\";java.lang.Thread.run;x.A.run 1\nw:;java.lang.Object.wait 1\n";
        assert_eq!(fold(&Javacore, DUMP, &CollapseOptions::default()), expected);
        let waiting = ValueSelection::Named(vec![b"waiting".to_vec()]);
        let options = CollapseOptions { values: waiting, ..CollapseOptions::default() };
        assert_eq!(fold(&Javacore, DUMP, &options), "w:;java.lang.Object.wait 1\n");
        let lines = CollapseOptions { srcline: true, tid: true, ..CollapseOptions::default() };
        let expected = "a \"q\"-?/16;java.lang.Thread.run (Thread.java:8);x.A.run (A.java:3) 1\n";
        assert!(fold(&Javacore, DUMP, &lines).starts_with(expected));
    }
}

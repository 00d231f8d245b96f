//! The stacks that Go prints of its goroutines: a crash, `debug=2`, or SIGQUIT (seen: Go 1.19).
//!
//! ```text
//! goroutine 1 [running]:
//! runtime/pprof.(*Profile).WriteTo(0x51298b?, {0x53d5a0?, 0xc0000a00c0?}, 0x5150eb?)
//!     runtime/pprof/pprof.go:330 +0x14b
//! main.main()
//!     /home/user/app/main.go:102 +0x4f4
//! created by main.start
//!     /home/user/app/main.go:80 +0x1d
//!
//! ```
//! Leaf first; each goroutine counts once, and several dumps add up. Who created a goroutine is
//! not on its stack. The source is Go's `runtime/traceback.go`.

use crate::collapse::kit::driver::{self, RecordParser, last_blank_line};
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::naming::split_srcline;
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, CollapseOptions, Collapser, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::Result;
use crate::folded::{FrameId, Place, sanitize_frame};
use crate::input::{Input, lines};
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "goroutines",
    producer: "Go's goroutine dumps: debug=2, panics, SIGQUIT",
    tested: Tested::Seen("Go 1.19"),
    values: "goroutines",
    unit: "goroutines",
};

/// Collapses dumps of goroutines.
pub struct Goroutines;

impl Collapser for Goroutines {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let mut lines = lines(head).map(<[u8]>::trim_ascii_end);
        let Some(at) = lines.position(|line| header(line).is_some()) else { return Certainty::No };
        // A panic says why before that, and a log may have its own lines.
        if at < 20 { Certainty::Yes } else { Certainty::Maybe }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let new = || Lines {
            options: reading,
            values: Values::single(reading, "goroutines", "goroutines"),
            within: false,
            thread: None,
            stack: Vec::new(),
            held: Vec::new(),
            names: FrameNames::default(),
        };
        driver::run_records(input, reading.threads, &last_blank_line, new, sink, report)
    }
}

/// `goroutine 17 [chan receive, 5 minutes]:` without the colon.
fn header(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_suffix(b":")?;
    let rest = line.strip_prefix(b"goroutine ")?;
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let state = rest.ends_with(b"]") && memchr::memmem::find(&rest[digits..], b" [").is_some();
    (digits > 0 && state).then_some(line)
}

/// Reads the lines of one thread.
struct Lines<'o> {
    options: &'o CollapseOptions,
    values: Values,
    /// True if the lines are those of a goroutine.
    within: bool,
    thread: Option<FrameId>,
    /// Leaf first.
    stack: Vec<FrameId>,
    /// The function whose place comes in the next line.
    held: Vec<u8>,
    names: FrameNames,
}

impl RecordParser for Lines<'_> {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        if let Some(name) = header(line) {
            self.end(sink)?;
            self.within = true;
            if self.options.shows_threads(false) {
                let thread = Thread { name, ..Thread::default() };
                self.thread = Some(self.names.build(sink, |out| thread.write(self.options, out)));
            }
        } else if line.is_empty() {
            self.end(sink)?;
        } else if !self.within {
            // Output of the program, or the reason of its crash.
        } else if let Some(place) = line.strip_prefix(b"\t").or_else(|| line.strip_prefix(b"        ")) {
            self.release(place, sink);
        } else {
            self.release(b"", sink);
            self.held.extend_from_slice(line);
        }
        Ok(true)
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<()> {
        if !std::mem::take(&mut self.within) {
            return Ok(());
        }
        self.release(b"", sink);
        if self.stack.is_empty() {
            self.stack.push(sink.frame(NO_STACK));
        }
        self.stack.extend(self.thread.take());
        self.stack.reverse();
        self.values.sample(&self.stack, &[Weight::ONE], sink)?;
        self.stack.clear();
        Ok(())
    }

    fn finish(self, report: &mut Report) -> Result<()> {
        self.values.finish(report)
    }
}

impl Lines<'_> {
    /// Pushes the function read before, now that its place is known.
    fn release(&mut self, place: &[u8], sink: &mut dyn Sink) {
        let line = std::mem::take(&mut self.held);
        let other = line.is_empty() || line.starts_with(b"created by ") || line.starts_with(b"...");
        if !other && !line.starts_with(b"goroutine running on other thread") {
            let place = match memchr::memmem::rfind(place, b" +0x") {
                Some(at) => &place[..at],
                None => place,
            };
            let shown = self.options.srcline && !place.is_empty();
            let (file, number) = split_srcline(place);
            let at = Place { file, line: number, ..Place::default() };
            self.stack.push(self.names.build_at(&at, sink, |out| {
                sanitize_frame(without_arguments(&line), out);
                if shown {
                    out.extend_from_slice(b" (");
                    sanitize_frame(place, out);
                    out.push(b')');
                }
            }));
        }
        self.held = line;
        self.held.clear();
    }
}

/// `main.(*T).f(0x1, {0x2, 0x3})` without what the last parentheses hold.
fn without_arguments(line: &[u8]) -> &[u8] {
    if !line.ends_with(b")") {
        return line;
    }
    let mut depth = 0usize;
    for (at, &byte) in line.iter().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => {
                depth -= 1;
                if depth == 0 {
                    return if at == 0 { line } else { &line[..at] };
                }
            }
            _ => {}
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::StackTable;

    #[test]
    fn goroutines_are_told_and_counted() {
        let text = "panic: oh\n\ngoroutine 1 [running]:\nmain.(*T).f(0x1?, {0x2, 0x3})\n\t/a b.go:3 +0x4\nmain.main()\n\t/a.go:9\n\
                    created by x in goroutine 3\n\t/a.go:1\n\ngoroutine 18 gp=0xc0 m=nil [select, 2 minutes]:\nmain.Map[...](0x1)\n\
                    \t/a.go:3 +0x4\n...additional frames elided...\n\ngoroutine 5 [idle]:\n";
        assert_eq!(Goroutines.detect(text.as_bytes()), Certainty::Yes);
        assert_eq!(Goroutines.detect(b"goroutine 5 is running\n"), Certainty::No);
        let fold = |options: &CollapseOptions| {
            let input = Input::new("test", Box::new(std::io::Cursor::new(text.to_owned()))).unwrap();
            let mut table = StackTable::default();
            Goroutines.collapse(input, &Reading::alone(options), &mut table, &mut Report::default()).unwrap();
            let mut out = Vec::new();
            table.write(&mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            fold(&CollapseOptions::default()),
            "[no stack] 1\nmain.Map[...] 1\nmain.main;main.(*T).f 1\n"
        );
        let all =
            CollapseOptions { srcline: true, threads_as_frames: Some(true), ..CollapseOptions::default() };
        assert_eq!(
            fold(&all),
            "goroutine 1 [running];main.main (/a.go:9);main.(*T).f (/a b.go:3) 1\n\
             goroutine 18 gp=0xc0 m=nil [select, 2 minutes];main.Map[...] (/a.go:3) 1\n\
             goroutine 5 [idle];[no stack] 1\n"
        );
    }
}

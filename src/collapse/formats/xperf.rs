//! Traces of Windows as `xperf -a dumper` prints them (by documented output).
//!
//! ```text
//!     SampledProfile,   36765,    svchost.exe (1100),   1668, 0x81c3617b,  0,  sechost.dll!ScSvcctrlThreadW,  halmacpi.dll!0x81c3617b,  1, Unbatched
//!              Stack,   36765,   1668,   1, 0x81c3617b,   halmacpi.dll!0x81c3617b
//!              Stack,   36765,   1668,   2, 0x81ceec6f,   ntoskrnl.exe!KiSystemServiceRepeat
//! ```
//! Samples of processors, and the stacks of all kinds of events, leaf first, which belong to the event of the same
//! time, in microseconds, and thread. A stack may come long after its sample. Other events are left out. Described in
//! `xperf_to_collapsedstacks.py` of google/UIforETW.

use std::collections::BTreeMap;

use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::leaf_first::LeafFirst;
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::text::{Text, split_last};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::times::nanoseconds;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
};
use crate::error::Result;
use crate::folded::Place;
use crate::input::{Input, lines};
use crate::number;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "xperf",
    producer: "xperf -i trace.etl -symbols -o FILE -a dumper -stacktimeshifting",
    tested: Tested::ByDescription("documented output"),
    values: "samples",
    unit: "samples",
};

/// Collapses what xperf prints.
pub struct Xperf;

impl Collapser for Xperf {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "samples", clock: Some("recording"), labels: "thread, tid, process" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let mut lines = lines(head).map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
        let begins = lines.clone().next() == Some(b"BeginHeader");
        if begins || lines.any(|line| sample(line).is_some()) { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut trace = Trace {
            options: reading,
            values: Values::single(reading, "samples", "samples"),
            waiting: BTreeMap::new(),
            of: None,
            stack: LeafFirst::default(),
            depth: 0,
            names: FrameNames::default(),
        };
        let mut in_header = false;
        let mut text = Text::new(input);
        text.for_each(report, |line| {
            let line = line.trim_ascii();
            in_header = line == b"BeginHeader" || in_header && line != b"EndHeader";
            if in_header {
                return Ok(true);
            }
            if let Some((of, function)) = frame(line) {
                if trace.of != Some(of) {
                    trace.end(sink)?;
                    trace.of = Some(of);
                }
                trace.push(function, sink)?;
                return Ok(true);
            }
            trace.end(sink)?;
            if let Some(sample) = sample(line) {
                trace.waiting.entry(sample.of).or_default().push(Waiting {
                    process: sample.process.into(),
                    pid: sample.pid.into(),
                    count: sample.count,
                });
            }
            // The lines that name the columns have no numbers; those of other events have no samples.
            Ok(true)
        })?;
        if trace.of.is_some() {
            text.end_within_record(report);
        }
        trace.end(sink)?;
        trace.finish(sink)?.finish(report)
    }
}

/// Time and thread of an event.
type Of = (u64, u64);

/// A sample whose stack has not been seen.
struct Waiting {
    process: Box<[u8]>,
    pid: Box<[u8]>,
    count: Weight,
}

struct Trace<'a> {
    options: &'a CollapseOptions,
    values: Values,
    waiting: BTreeMap<Of, Vec<Waiting>>,
    /// The event of the stack that is read.
    of: Option<Of>,
    stack: LeafFirst,
    depth: usize,
    names: FrameNames,
}

impl Trace<'_> {
    fn push(&mut self, function: &[u8], sink: &mut dyn Sink) -> Result<()> {
        self.depth += 1;
        Budget::default().check(self.depth)?;
        let module = split_last(function, b"!").map_or(&b""[..], |(module, _)| module);
        let place = Place { module, ..Place::default() };
        let frame = self.names.plain_at(function, &place, sink);
        self.stack.push(frame);
        Ok(())
    }

    /// Ends the stack that was read: it is one of a sample, or of another event.
    fn end(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let Some(of) = self.of.take() else { return Ok(()) };
        self.depth = 0;
        match self.waiting.remove(&of) {
            Some(samples) => self.add(of, &samples, sink)?,
            None => self.stack.clear(),
        }
        Ok(())
    }

    fn add(&mut self, (time, tid): Of, samples: &[Waiting], sink: &mut dyn Sink) -> Result<()> {
        let own = self.stack.take().to_vec();
        for Waiting { process, pid, count } in samples {
            let tid = tid.to_string();
            let thread = Thread { name: process, pid, tid: tid.as_bytes() };
            let mut stack = Vec::new();
            if self.options.shows_threads(true) {
                let mut frame = Vec::new();
                thread.write(self.options, &mut frame);
                stack.push(sink.frame(&frame));
            }
            stack.extend_from_slice(&own);
            if own.is_empty() {
                stack.push(sink.frame(NO_STACK));
            }
            let time = nanoseconds(Weight::from(time), "us");
            let context = if sink.wants().contexts { thread.context(time) } else { Context::UNKNOWN };
            let many = count.to_u64().unwrap_or(1);
            self.values.add_at(0, &stack, *count, many, &context, sink)?;
        }
        Ok(())
    }

    /// Adds the samples without a stack.
    fn finish(mut self, sink: &mut dyn Sink) -> Result<Values> {
        for (of, samples) in std::mem::take(&mut self.waiting) {
            self.add(of, &samples, sink)?;
        }
        Ok(self.values)
    }
}

/// A sample of a processor.
struct Sample<'l> {
    of: Of,
    process: &'l [u8],
    pid: &'l [u8],
    count: Weight,
}

/// `SampledProfile, 36765, svchost.exe (1100), 1668, 0x81c3617b, 0, …, 1, Unbatched`
fn sample(line: &[u8]) -> Option<Sample<'_>> {
    let mut words = line.strip_prefix(b"SampledProfile,")?.splitn(4, |&b| b == b',').map(<[u8]>::trim_ascii);
    let (time, process, tid, rest) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let (process, pid) = split_last(process.strip_suffix(b")")?, b"(")?;
    // Names of functions may have commas; the last two words are a number and the kind.
    let (rest, _kind) = split_last(rest, b",")?;
    let (_, count) = split_last(rest, b",")?;
    Some(Sample {
        of: (number::parse(time)?, number::parse(tid)?),
        process: process.trim_ascii(),
        pid: pid.trim_ascii(),
        count: Weight::parse(count.trim_ascii()).filter(|count| *count > Weight::ZERO)?,
    })
}

/// `Stack, 36765, 1668, 1, 0x81c3617b, halmacpi.dll!0x81c3617b` as its event and function.
fn frame(line: &[u8]) -> Option<(Of, &[u8])> {
    let mut words = line.strip_prefix(b"Stack,")?.splitn(5, |&b| b == b',').map(<[u8]>::trim_ascii);
    let of = (number::parse(words.next()?)?, number::parse(words.next()?)?);
    let (_number, _address) = (number::parse::<u64>(words.next()?)?, words.next()?.strip_prefix(b"0x")?);
    let function = words.next().filter(|function| !function.is_empty())?;
    Some((of, function))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::tests::{collapse_bytes, fold};

    const TEXT: &str = "BeginHeader\n  SampledProfile,  TimeStamp,     Process Name ( PID),   ThreadID,           PrgrmCtr, CPU\n\
        \x20          Stack,  TimeStamp,   ThreadID, No.,            Address,            Image!Function\nEndHeader\n\
        SampledProfile,      36765,        a b.exe ( 288),       4848, 0x81c866e4,   1,   a b.exe!0x3,   x.dll!A<V,0>::b;,   2, Unbatched\n\
        SampledProfile,      36765,           Idle (   0),          0, 0x81c866e4,   1,        Unknown,      x.dll!Idle,     1, Unbatched\n\
        CSwitch, 36766, a b.exe ( 288)\n\
        Stack,      36765,       4848,   1, 0x81c3617b,     x.dll!A<V,0>::b;\n\
        Stack,      36765,       4848,   2, 0x81ceec6f,     ntoskrnl.exe!0x81ceec6f\n\
        Stack,      36766,       4848,   1, 0x81ceec6f,     ntoskrnl.exe!KiSwap\n\
        T-End, 1\n";

    #[test]
    fn stacks_are_those_of_samples_of_their_time_and_thread() {
        assert_eq!(Xperf.detect(TEXT.as_bytes()), Certainty::Yes);
        let expected = "Idle;[no stack] 1\na b.exe;ntoskrnl.exe!0x81ceec6f;x.dll!A<V,0>::b: 2\n";
        assert_eq!(fold(&Xperf, TEXT, &CollapseOptions::default()), expected);
        let (_, report) = collapse_bytes(&Xperf, TEXT, &CollapseOptions::default()).unwrap();
        assert!(report.facts.warnings.is_empty() && report.not_understood.count == 0);
        for other in [&b"SampledProfile, TimeStamp, Process Name ( PID), ThreadID\n"[..], b"Stack, 1\n", b""]
        {
            assert_eq!(Xperf.detect(other), Certainty::No, "{other:?}");
        }
    }
}

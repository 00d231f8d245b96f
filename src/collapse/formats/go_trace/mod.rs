//! Execution traces of Go 1.22 and later, `runtime/trace` and `go test -trace` (seen: Go 1.22 to 1.27).
//!
//! ```text
//! go 1.22 trace\0\0\0                                     the header, then batches:
//! 01 <generation> <thread> <time> <length> …events…       see the module batches
//! ```
//! A trace tells when each goroutine ran, waited, and waited for its turn, with stacks, and holds the samples of the
//! CPU profiler if that ran at the same time. The values are those of `go tool trace -pprof=…`: time blocked on
//! channels, locks and `select` (`sync`), on the network (`net`), in system calls (`syscall`) and until a processor was
//! free (`sched`), by the stack at which the goroutine, or who made it runnable, was; besides them `wait`, for all other
//! reasons, and `cpu`. Specified in `internal/trace/tracev2` of Go's sources.
//!
//! Traces are cut in generations of about a second, each with its own stacks and strings; one is in memory at a time.

mod batches;
mod events;
mod goroutines;

use self::batches::{Batches, Generation};
use self::goroutines::{COLUMNS, Goroutines};
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
    Value,
};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::Input;
use crate::number;

const INFO: FormatInfo = FormatInfo {
    name: "go-trace",
    producer: "Go 1.22 and later: runtime/trace, go test -trace, /debug/pprof/trace",
    tested: Tested::Seen("Go 1.22, 1.25, 1.27"),
    values: "cpu if the CPU was profiled, sync, net, syscall, sched, wait, whichever there are",
    unit: "samples, ns",
};

/// The first version whose traces are made of generations.
const FIRST: u32 = 22;

/// Collapses execution traces.
pub struct GoTrace;

/// The minor version in a header: 23 of `go 1.23 trace`.
fn version(head: &[u8]) -> Option<u32> {
    let rest = head.get(..batches::HEADER)?.strip_prefix(b"go 1.")?;
    let end = rest.iter().position(|b| *b == b' ')?;
    let version = number::parse(&rest[..end])?;
    rest[end..].starts_with(b" trace\0").then_some(version)
}

impl Collapser for GoTrace {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "samples, waits", clock: Some("monotonic"), labels: "thread, tid, goroutine" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        Certainty::of_magic(version(head).is_some_and(|version| version >= FIRST))
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut batches = Batches::new(input)?;
        let mut goroutines = Goroutines::new(sink);
        let mut generation = Generation::default();
        while batches.next(&mut generation)? {
            let place = generation.place.clone();
            goroutines.generation(&mut generation, sink, report).map_err(|e| e.or_at(|| place))?;
        }
        if let Some(byte) = batches.cut {
            report.doubt(format!("the trace is cut off at byte {byte}; it is read as far as it goes"));
        }
        goroutines.finish(reading, sink, report)
    }
}

impl Goroutines {
    /// Hands all that was added up to the sink.
    fn finish(self, options: &CollapseOptions, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        self.facts(report);
        let held: Vec<usize> = (0..COLUMNS.len()).filter(|at| !self.tries[*at].is_empty()).collect();
        let declared = held.iter().map(|at| Value::new(COLUMNS[*at].0, COLUMNS[*at].1)).collect();
        let mut values = Values::new(options, declared, 0)?;
        let no_stack = sink.frame(crate::collapse::kit::names::NO_STACK);
        for (column, at) in held.into_iter().enumerate() {
            self.tries[at].for_each(
                None,
                |frame| Ok(FrameId(frame)),
                |stack, sampled| {
                    let origin = self.origin(sampled.origin);
                    let number = origin.map(|(goroutine, _)| goroutine.to_string()).unwrap_or_default();
                    let label = [(&b"goroutine"[..], number.as_bytes())];
                    let context = Context {
                        time: sampled.time,
                        thread: origin.and_then(|(_, thread)| thread),
                        labels: if number.is_empty() { &[] } else { &label },
                        ..Context::UNKNOWN
                    };
                    let stack = if stack.is_empty() { &[no_stack] } else { stack };
                    let context = (&context, sampled.duration);
                    values.add_lasting(column, stack, sampled.weight, sampled.samples, context, sink)
                },
            )?;
        }
        values.finish(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::push_varint;
    use crate::collapse::tests::collapse_bytes;
    use crate::collapse::{CollapseOptions, ValueSelection};

    /// A trace of batches, each of a thread from a time on.
    fn trace(batches: &[(u64, u64, &[u64])]) -> Vec<u8> {
        let mut out = b"go 1.23 trace\0\0\0".to_vec();
        for (thread, time, data) in batches {
            let mut bytes = Vec::new();
            data.iter().for_each(|number| push_varint(*number, &mut bytes));
            for number in [1, 1, *thread, *time, bytes.len() as u64] {
                push_varint(number, &mut out);
            }
            out.extend_from_slice(&bytes);
        }
        out
    }

    /// Goroutine 5 blocks on a channel, is unblocked by another thread, and starts again; a CPU sample. Two units
    /// of time are a nanosecond.
    fn blocked() -> Vec<u8> {
        let text = |id: u64, text: &str| -> Vec<u64> {
            [5, id, text.len() as u64].into_iter().chain(text.bytes().map(u64::from)).collect()
        };
        let strings =
            [vec![4], text(1, "main.recv"), text(2, "a.go"), text(3, "chan receive"), text(4, "main.main")];
        trace(&[
            // Status: running on this thread; blocks; starts again.
            (70, 1000, &[25, 0, 5, 70, 2, 20, 100, 3, 1, 16, 60, 5, 2]),
            // Another goroutine unblocks it 40 units after it blocked.
            (71, 1100, &[25, 0, 6, 71, 2, 21, 40, 5, 1, 2]),
            (0, 0, &strings.concat()),
            (0, 0, &[2, 3, 1, 2, 900, 1, 2, 7, 901, 4, 2, 9, 3, 2, 1, 901, 4, 2, 9]),
            (0, 0, &[6, 7, 1010, 70, 0, 5, 1]),
            (0, 0, &[8, 2_000_000_000]),
        ])
    }

    fn choose(name: &str) -> CollapseOptions {
        CollapseOptions {
            values: ValueSelection::Named(vec![name.as_bytes().to_vec()]),
            ..CollapseOptions::default()
        }
    }

    #[test]
    fn time_is_that_between_transitions() {
        for (value, expected) in [
            ("cpu", "main.main;main.recv 1\n"),
            ("sync", "main.main;main.recv 20\n"),
            ("sched", "main.main 10\n"),
        ] {
            let (folded, _) = collapse_bytes(&GoTrace, blocked(), &choose(value)).unwrap();
            assert_eq!(folded, expected, "{value}");
        }
        let error = collapse_bytes(&GoTrace, blocked(), &choose("net")).unwrap_err().to_string();
        assert!(error.contains("\"cpu\", \"sync\", \"sched\""), "{error}");
    }

    #[test]
    fn a_cut_trace_is_read_as_far_as_it_goes() {
        let whole = blocked();
        for end in 16..whole.len() {
            if let Ok((folded, report)) = collapse_bytes(&GoTrace, &whole[..end], &choose("sync")) {
                assert!(report.not_understood.count > 0 || folded == "main.main;main.recv 20\n", "{end}");
            }
        }
        let cut = &whole[..whole.len() - 1];
        let error = collapse_bytes(&GoTrace, cut, &CollapseOptions::default()).unwrap_err().to_string();
        assert!(error.contains("the frequency of its clock"), "{error}");
    }

    #[test]
    fn versions_are_told_apart() {
        for (head, verdict) in [
            (&b"go 1.22 trace\0\0\0\x01"[..], Certainty::Magic),
            (b"go 1.26 trace\0\0\0", Certainty::Magic),
            (b"go 1.21 trace\0\0\0", Certainty::No),
            (b"go 1.5 trace\0\0\0\0", Certainty::No),
            (b"go 1.25 race\0\0\0\0", Certainty::No),
            (b"go 1.25 trace", Certainty::No),
        ] {
            assert_eq!(GoTrace.detect(head), verdict, "{head:?}");
        }
    }
}

//! Folded text itself: several files become one, in frame order.
//!
//! ```text
//! main;parse;lex 42
//! ```
//! Many tools write it: bcc's `profile -f` and `offcputime -f`, async-profiler (`collapsed`),
//! rbspy, `google-pprof --collapsed`, and `heaptrack_print -F`, which ends every stack with a `;`
//! too many. The grammar is that of [`crate::folded`]; [`crate::collapse::kit::folded_detection`] recognises it.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::collapse::kit::driver::{self, LineParser};
use crate::collapse::kit::folded_detection::{head_lines, is_folded};
use crate::collapse::kit::sample_count::SampleCount;
use crate::collapse::{
    Certainty, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested, Value, ValueTotal,
};
use crate::error::{Error, Result};
use crate::folded::{Columns, FrameId, NotUnderstood, parse_line, sanitize_frame, settle_columns};
use crate::input::{Input, Source, lines};
use crate::number;
use crate::profile::header::{self, HeaderReader};
use crate::profile::{Facts, TIME, read_time, value_in};

const INFO: FormatInfo = FormatInfo {
    name: "folded",
    producer: "bcc profile -f, async-profiler, rbspy, heaptrack_print -F, google-pprof --collapsed, ourselves",
    tested: Tested::Seen("bcc 0.26, rbspy 0.55, heaptrack 1.4, gperftools 2.10"),
    values: "-",
    unit: "what `# unit:` says",
};

/// Collapses folded text.
pub struct Folded;

impl Collapser for Folded {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "what `# labels:` says", clock: None, labels: "what `# labels:` says" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        if has_header(head) {
            // A filter may have left nothing but the header.
            let mut lines = head_lines(head).peekable();
            let is_empty = lines.peek().is_none();
            let is_stack = |line| parse_line(line, Columns::One).is_some_and(|line| !line.stack.contains(&0));
            return if is_empty || lines.any(is_stack) { Certainty::Yes } else { Certainty::No };
        }
        if is_folded(head) { Certainty::Maybe } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        // It has one value.
        input.kept().release();
        let source = Source::opened(input);
        let (sources, columns) = settle_columns(&[source])?;
        sink.columns(columns)?;
        let input = sources[0].open()?;
        // A mistake in it is placed when its line comes.
        let first = header::read(input.head()).unwrap_or_default();
        // Labels are in the header, which one thread has to have read before the others begin.
        let labels = if sink.wants().contexts { first.labels.clone() } else { Vec::new() };
        let is_timed = labels.iter().any(|key| key == TIME);
        let threads = if labels.is_empty() { reading.threads } else { 1 };
        let root = reading.always_rooted.then(|| root_of(&first));
        let new = || FoldedLines {
            labels: labels.clone(),
            zero: first.time_zero.map_or(0, |zero| zero.as_nanos() as u64),
            times: HashMap::new(),
            columns,
            count: reading.count.then(|| (SampleCount::default(), first.clone())),
            unit: first.unit.clone(),
            root: root.clone(),
            ids: Vec::new(),
            total: ValueTotal { kept: true, ..ValueTotal::default() },
            header: None,
            parts: Vec::new(),
        };
        let mut of_threads = Report::default();
        driver::run_lines(input, threads, new, sink, &mut of_threads)?;
        let mut parts = of_threads.parts;
        if let Some(other) = parts.iter().find(|part| reading.count && part.period != first.period) {
            let found = other.period.map_or_else(|| "none".to_owned(), |period| period.to_string());
            return Err(Error::malformed(
                "one period in all of the text, to count samples by it; --count-samples each part by itself",
                found.as_bytes(),
            ));
        }
        of_threads.notes.into_iter().for_each(|note| report.note(note));
        if first.is_empty() && !parts.is_empty() {
            // Stacks came before the first header.
            parts.push(first);
        }
        let total = of_threads.values.into_values().next().unwrap_or_default();
        settle(report, parts, total, of_threads.not_understood)?;
        if is_timed {
            report.facts.labels.retain(|key| key != TIME);
        }
        Ok(())
    }
}

/// Completes the report of a text that was read.
pub(crate) fn settle(
    report: &mut Report,
    mut parts: Vec<Facts>,
    total: ValueTotal,
    not_understood: NotUnderstood,
) -> Result<()> {
    // Whoever read them first must not matter.
    parts.sort_by_cached_key(header::write);
    report.facts = Facts::merged(&parts);
    report.not_understood = not_understood;
    let unit = report.facts.unit.clone().map(Cow::Owned);
    let name = report.facts.event.clone().unwrap_or_default().into_bytes();
    report.add_value(Value { name, unit }, total)
}

/// The root frame of the value of a text with this header.
fn root_of(facts: &Facts) -> Vec<u8> {
    let value = Value {
        name: facts.event.clone().unwrap_or_default().into_bytes(),
        unit: facts.unit.clone().map(Cow::Owned),
    };
    let mut name = Vec::new();
    sanitize_frame(value.root(), &mut name);
    name
}

/// Reads the lines of one thread.
struct FoldedLines {
    /// The labels that the header declares, if they are wanted as contexts.
    labels: Vec<String>,
    /// The time on the recording's clock at which labels of time have their 0.
    zero: u64,
    times: HashMap<Vec<u8>, Option<u64>>,
    columns: Columns,
    /// Counts samples, of the weights of the first header.
    count: Option<(SampleCount, Facts)>,
    /// The unit that the first header states.
    unit: Option<String>,
    /// The root frame of the value, with [`CollapseOptions::always_rooted`](crate::collapse::CollapseOptions::always_rooted).
    root: Option<Vec<u8>>,
    ids: Vec<FrameId>,
    total: ValueTotal,
    /// The header being read, and those read before.
    header: Option<HeaderReader>,
    parts: Vec<Facts>,
}

impl LineParser for FoldedLines {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        if self.header.is_some() {
            self.end_block();
        }
        let Some(parsed) = parse_line(line, self.columns) else { return Ok(false) };
        let weights = match &mut self.count {
            Some((samples, facts)) => samples.of(parsed.weights, facts),
            None => parsed.weights,
        };
        self.ids.clear();
        self.ids.extend(self.root.as_ref().map(|root| sink.frame(root)));
        self.ids.extend(parsed.stack.split(|&b| b == b';').map(|frame| sink.frame(frame)));
        self.total.add(weights.value)?;
        if self.labels.is_empty() {
            sink.sample(&self.ids, weights, &Context::UNKNOWN)?;
            return Ok(true);
        }
        let mut context = Context::UNKNOWN;
        let mut pairs: Vec<(&[u8], &[u8])> = Vec::with_capacity(self.labels.len());
        let frames = parsed.stack.split(|&b| b == b';');
        for ((at, key), frame) in self.labels.iter().enumerate().zip(frames) {
            let Some(value) = value_in(frame, key) else { break };
            let number = || number::parse(value);
            match key.as_str() {
                TIME => {
                    let zero = self.zero;
                    let time = self.times.entry(value.to_vec());
                    context.time = *time.or_insert_with(|| read_time(value)?.checked_add(zero));
                    // It is the sample's, and no frame.
                    self.ids.remove(at);
                }
                "thread" => context.thread_name = value,
                "tid" => context.thread = number(),
                "process" => context.process = number(),
                _ if value.is_empty() => {}
                _ => pairs.push((key.as_bytes(), value)),
            }
        }
        context.labels = &pairs;
        sink.sample(&self.ids, weights, &context)?;
        Ok(true)
    }

    fn comment(&mut self, line: &[u8]) -> Result<()> {
        if self.header.is_none() && !HeaderReader::is_header(line) {
            return Ok(());
        }
        let header = self.header.get_or_insert_default();
        header.read(line)?;
        match (&header.facts().unit, &self.unit) {
            (Some(unit), Some(first)) if unit != first => {
                Err(Error::malformed(format!("the unit {first}, as in the text before"), unit.as_bytes()))
            }
            _ => Ok(()),
        }
    }

    fn end_block(&mut self) {
        self.parts.extend(self.header.take().map(HeaderReader::finish));
    }

    fn finish(self, report: &mut Report) -> Result<()> {
        report.parts.extend(self.parts);
        if let Some((samples, _)) = self.count {
            samples.finish(report);
        }
        report.add_value(Value::default(), self.total)
    }
}

/// Returns whether a text begins with a header as this crate writes it.
fn has_header(head: &[u8]) -> bool {
    let first = lines(head).next().unwrap_or_default();
    HeaderReader::is_header(first.strip_suffix(b"\r").unwrap_or(first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;

    #[test]
    fn is_told_from_other_text() {
        for text in ["a;b 1\n", "calc 179\n", "a;b 1 2\r\nc 3 4\r\n", "a;b; 0\nhello\nb;c 2"] {
            assert_eq!(Folded.detect(text.as_bytes()), Certainty::Maybe, "{text}");
        }
        assert_eq!(Folded.detect(b"# unit: ns\r\na;b 1.5\r\n"), Certainty::Yes);
        assert_eq!(Folded.detect(b"# unit: ns\n\0\0 1\n"), Certainty::No);
        assert_eq!(Folded.detect(b"# unit: ns\n"), Certainty::Yes);
        for text in ["", "# only\n", "hello world\n", "a;b\nc;d\n", "\0\0 1\n", "{\"a\": 1}"] {
            assert_eq!(Folded.detect(text.as_bytes()), Certainty::No, "{text}");
        }
    }

    #[cfg(feature = "collapse")] // The formats that it could be taken for.
    #[test]
    fn a_header_of_ours_tells_it_from_what_it_looks_like() {
        use crate::collapse::registry::detect;
        let name = |text: &str| detect(&Source::bytes(text).open().unwrap()).unwrap().name();
        assert_eq!(name("P12;T0:12;a.py:main:3 1\n"), "austin");
        assert_eq!(name("# unit: ms\nP12;T0:12;a.py:main:3 1\n"), "folded");
        assert_eq!(name("# unit: ms\nf (x.py:3) 1\n"), "folded");
        assert_eq!(name("# austin: 3.6.0\n# mode: wall\nP12;T0:12;a.py:main:3 1\n"), "austin");
    }

    fn counted(text: &str) -> Result<(String, Report)> {
        let mut table = crate::folded::StackTable::default();
        let mut report = Report::default();
        let options = CollapseOptions { count: true, ..CollapseOptions::default() };
        Folded.collapse(Source::bytes(text).open()?, &Reading::alone(&options), &mut table, &mut report)?;
        let mut out = Vec::new();
        table.write(&mut out)?;
        Ok((String::from_utf8(out).unwrap(), report))
    }

    #[test]
    fn samples_are_counted_by_the_unit_or_the_period() {
        for header in ["# unit: samples\n", "# unit: ns\n# period: 1 ns\n"] {
            let (out, report) = counted(&format!("{header}a;b 5\na 3\n")).unwrap();
            assert_eq!((out.as_str(), &report.notes[..]), ("a 3\na;b 5\n", &[][..]), "{header}");
        }
        let (out, report) = counted("# unit: ns\n# period: 10 ns\na;b 50\na 30\na;b 10\n").unwrap();
        assert_eq!((out.as_str(), report.notes.len()), ("a 3\na;b 6\n", 0));
        let (out, report) = counted("# unit: ns\n# period: 10 ns\na 50 20\nb 0 30\n").unwrap();
        assert_eq!((out.as_str(), report.notes.len()), ("a 5 2\nb 0 3\n", 0));
    }

    #[test]
    fn stacks_are_counted_where_nobody_says_what_a_sample_weighs_and_that_is_said() {
        for text in ["a;b 50\na;b 7\na 30\n", "# unit: ns\n# period: 7 ns\na;b 50\na;b 5\na 30\n"] {
            let (out, report) = counted(text).unwrap();
            assert_eq!(out, "a 1\na;b 2\n");
            assert!(report.notes[0].starts_with("stacks are counted, not samples"), "{:?}", report.notes);
        }
    }

    #[test]
    fn two_periods_cannot_be_counted_by() {
        let text = "# unit: ns\n# period: 10 ns\na 50\n# unit: ns\n# period: 5 ns\na 50\n";
        let error = counted(text).unwrap_err().to_string();
        assert!(error.contains("one period in all of the text") && error.ends_with("found \"5\""), "{error}");
    }
}

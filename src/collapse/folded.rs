//! Folded text itself: several files become one, in frame order.
//!
//! ```text
//! main;parse;lex 42
//! ```
//! Many tools write it: bcc's `profile -f` and `offcputime -f`, async-profiler (`collapsed`),
//! rbspy, `google-pprof --collapsed`, and `heaptrack_print -F`, which ends every stack with a `;`
//! too many. The grammar is that of [`crate::folded`].

use std::borrow::Cow;

use super::driver::{self, LineParser};
use super::{Collapser, FormatInfo, Options, Report, Sink, Value, ValueTotal, Verdict};
use crate::error::{Error, Result};
use crate::folded::{Columns, FrameId, StackTable, Weights, guess_columns, is_comment, parse_line};
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "folded",
    producer: "bcc profile -f, async-profiler, rbspy, heaptrack_print -F, google-pprof --collapsed, ourselves",
    tested: "bcc 0.26, rbspy 0.55, heaptrack 1.4, gperftools 2.10",
    values: "-",
    unit: "what `# unit:` says",
};

/// Collapses folded text.
pub struct Folded;

impl Collapser for Folded {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Verdict {
        let mut lines = head_lines(head).peekable();
        if lines.peek().is_none() {
            return Verdict::No;
        }
        let (mut good, mut bad) = (0, 0);
        for line in lines {
            match parse_line(line, Columns::One) {
                Some(parsed) if is_text(parsed.stack) => good += 1,
                _ => bad += 1,
            }
        }
        // A program's own output may stand between the lines of its profile.
        if good > bad { Verdict::Maybe } else { Verdict::No }
    }

    fn collapse(
        &self,
        input: Input,
        options: &Options,
        table: &mut StackTable,
        report: &mut Report,
    ) -> Result<()> {
        let columns = guess_columns(input.head());
        if !table.is_empty() && table.columns() != columns {
            let what = "a profile and a differential profile, with two weights on each line, cannot be one";
            return Err(crate::ErrorKind::Setting { what: what.into() }.into());
        }
        if columns == Columns::Two {
            table.make_differential();
        }
        let unit = unit(input.head()).map(Cow::Owned);
        let new = || FoldedLines {
            columns,
            count: options.count,
            unit: unit.clone(),
            ids: Vec::new(),
            total: ValueTotal { kept: true, ..ValueTotal::default() },
        };
        driver::run_lines(input, options.threads, new, table, report)
    }
}

/// Reads the lines of one thread.
struct FoldedLines {
    columns: Columns,
    count: bool,
    unit: Option<Cow<'static, str>>,
    ids: Vec<FrameId>,
    total: ValueTotal,
}

impl LineParser for FoldedLines {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        let Some(parsed) = parse_line(line, self.columns) else {
            if self.columns == Columns::Two && parse_line(line, Columns::One).is_some() {
                return Err(Error::malformed("two weights, as on the lines before", line));
            }
            return Ok(false);
        };
        let stack = parsed.stack.strip_suffix(b";").unwrap_or(parsed.stack);
        let weights = if self.count { Weights::one(Weight::ONE) } else { parsed.weights };
        self.ids.clear();
        self.ids.extend(stack.split(|&b| b == b';').map(|frame| sink.frame(frame)));
        self.total.add(weights.value)?;
        sink.sample(&self.ids, weights)?;
        Ok(true)
    }

    fn finish(self, report: &mut Report) -> Result<()> {
        report.add_value(Value { name: Vec::new(), unit: self.unit }, self.total)
    }
}

/// What the comments at the start say the weights are in: `# unit: ns`.
fn unit(head: &[u8]) -> Option<String> {
    let comments = head.split(|&b| b == b'\n').take_while(|line| is_comment(line));
    let unit = comments.filter_map(|line| line.strip_prefix(b"# unit:")).last()?;
    Some(String::from_utf8_lossy(unit).trim().to_owned())
}

/// The whole lines of an input's head that can hold stacks.
pub(super) fn head_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = match memchr::memrchr(b'\n', head) {
        Some(end) if head.len() >= crate::input::HEAD => end,
        _ => head.len(),
    };
    let lines = head[..whole].split(|&b| b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.filter(|line| !line.is_empty() && !is_comment(line))
}

/// Whether these bytes are no piece of a binary file that happens to end in a number.
fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_told_from_other_text() {
        for text in [
            "a;b 1\n",
            "calc: two 179\n",
            "# unit: ns\na;b 1.5\n",
            "a;b 1 2\r\nc 3 4\r\n",
            "a;b; 0\nhello\nb;c 2",
        ] {
            assert_eq!(Folded.detect(text.as_bytes()), Verdict::Maybe, "{text}");
        }
        for text in ["", "# only\n", "hello world\n", "a;b\nc;d\n", "\0\0 1\n", "{\"a\": 1}"] {
            assert_eq!(Folded.detect(text.as_bytes()), Verdict::No, "{text}");
        }
    }
}

//! The output of `fg-render --format json`: every stack, exactly; names that are not UTF-8 as `hex`.
//!
//! ```json
//! {"fg-tools": "profile 1", "unit": "ns", "columns": 1,
//! "facts": {"unit":"ns","command":"./app","warning":["no symbols: 38%"]},
//! "stacks": [
//! {"frames": ["main", {"hex": "70ff"}], "weight": 40}],
//! "functions": [
//! {"name": {"hex": "70ff"}, "self": 40, "total": 40}],
//! "total": 40}
//! ```
//! The schema is described where it is written, in `render/json.rs`. Stacks and facts are all that is
//! read of it; the rest follows from them.

use crate::collapse::kit::json::{HeadKeys, Json, Kind};
use crate::collapse::kit::sample_count::SampleCount;
use crate::collapse::{
    Certainty, Collapser, Context, FormatInfo, Reading, Report, Sink, Tested, Value, ValueTotal,
};
use crate::error::{Error, Result};
use crate::folded::{Columns, FrameId, Weights, sanitize_frame};
use crate::input::Input;
use crate::profile::Facts;
use crate::profile::header::HeaderReader;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "fg-json",
    producer: "fg-render --format json",
    tested: Tested::Seen("ourselves"),
    values: "-",
    unit: "what `unit` says",
};

/// Collapses our own JSON.
pub struct FgJson;

impl Collapser for FgJson {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        match HeadKeys::read(head) {
            Some(keys) if keys.has("fg-tools") => Certainty::Yes,
            _ => Certainty::No,
        }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut reader = Reader {
            columns: None,
            json: Json::new(input),
            key: String::new(),
            name: Vec::new(),
            stack: Vec::new(),
            count: reading.count.then(SampleCount::default),
            facts: Facts::default(),
            total: ValueTotal::default(),
        };
        loop {
            let value = reader.document(sink, report)?;
            report.add_value(value, ValueTotal { kept: true, ..std::mem::take(&mut reader.total) })?;
            reader.facts = Facts::default();
            if !reader.json.next_document()? {
                if let Some(samples) = reader.count {
                    samples.finish(report);
                }
                report.facts = Facts::merged(&std::mem::take(&mut report.parts));
                return Ok(());
            }
        }
    }
}

struct Reader {
    json: Json,
    key: String,
    name: Vec<u8>,
    stack: Vec<FrameId>,
    count: Option<SampleCount>,
    /// The facts of the document, which stand in front of its stacks.
    facts: Facts,
    columns: Option<Columns>,
    total: ValueTotal,
}

impl Reader {
    fn document(&mut self, sink: &mut dyn Sink, report: &mut Report) -> Result<Value> {
        let mut value = Value::default();
        self.json.begin_object()?;
        while self.json.next_key(&mut self.key)? {
            match self.key.as_str() {
                "unit" if self.json.null()? => {}
                "unit" => value = Value::with_producers_unit("", self.json.text()?),
                "facts" => {
                    self.facts = self.read_facts()?;
                    report.parts.push(self.facts.clone());
                }
                "stacks" => self.stacks(sink)?,
                _ => self.json.skip()?,
            }
        }
        Ok(value)
    }

    /// The facts, under the keys of the header of folded text.
    fn read_facts(&mut self) -> Result<Facts> {
        let mut header = HeaderReader::default();
        self.json.begin_object()?;
        while self.json.next_key(&mut self.key)? {
            if self.json.peek()? != Kind::Array {
                header.read_entry(&self.key, self.json.text()?)?;
                continue;
            }
            self.json.begin_array()?;
            while self.json.next_item()? {
                header.read_entry(&self.key, self.json.text()?)?;
            }
        }
        Ok(header.finish())
    }

    fn stacks(&mut self, sink: &mut dyn Sink) -> Result<()> {
        self.json.begin_array()?;
        while self.json.next_item()? {
            let (mut value, mut before) = (None, None);
            self.stack.clear();
            self.json.begin_object()?;
            while self.json.next_key(&mut self.key)? {
                match self.key.as_str() {
                    "frames" => self.frames(sink)?,
                    "weight" | "after" => value = Some(self.json.weight()?),
                    "before" => before = Some(self.json.weight()?),
                    _ => self.json.skip()?,
                }
            }
            let (Some(value), false) = (value, self.stack.is_empty()) else {
                let expected = "a stack with frames and a weight";
                return Err(Error::malformed(expected, b"one without").at(self.json.place()));
            };
            let columns = if before.is_some() { Columns::Two } else { Columns::One };
            if self.columns.is_some_and(|known| known != columns) {
                let expected = "as many weights as the stacks before have";
                return Err(Error::malformed(expected, b"others").at(self.json.place()));
            }
            if self.columns.replace(columns).is_none() {
                sink.columns(columns)?;
            }
            let told = Weights { value, before: before.unwrap_or(Weight::ZERO) };
            let weights = self.count.as_mut().map_or(told, |samples| samples.of(told, &self.facts));
            self.total.add(weights.value)?;
            sink.sample(&self.stack, weights, &Context::UNKNOWN)?;
        }
        Ok(())
    }

    fn frames(&mut self, sink: &mut dyn Sink) -> Result<()> {
        self.json.begin_array()?;
        while self.json.next_item()? {
            self.name.clear();
            if self.json.peek()? == Kind::Object {
                self.hex()?;
            } else {
                sanitize_frame(self.json.text()?.as_bytes(), &mut self.name);
            }
            self.stack.push(sink.frame(&self.name));
        }
        Ok(())
    }

    fn hex(&mut self) -> Result<()> {
        self.json.begin_object()?;
        while self.json.next_key(&mut self.key)? {
            if self.key != "hex" {
                self.json.skip()?;
                continue;
            }
            let text = self.json.text()?;
            let Some(name) = bytes(text) else {
                let error = Error::malformed("pairs of hexadecimal digits", text.as_bytes());
                return Err(error.at(self.json.place()));
            };
            sanitize_frame(&name, &mut self.name);
        }
        Ok(())
    }
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = hex.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some((digit(*high)? * 16 + digit(*low)?) as u8),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_pairs_of_digits() {
        assert_eq!(bytes("70fF00").unwrap(), b"p\xff\0");
        assert_eq!(bytes("").unwrap(), b"");
        for hex in ["7", "7g", "é"] {
            assert_eq!(bytes(hex), None, "{hex}");
        }
    }
}

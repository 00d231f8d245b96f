//! The heap that `valgrind --tool=dhat` writes (seen: 3.19), and the Rust crate dhat.
//!
//! ```text
//! {"dhatFileVersion":2,"mode":"heap","verb":"Allocated","bklt":true,…
//! ,"pps":[{"tb":6400,"tbk":1,"gb":0,"gbk":0,"eb":0,"ebk":0,"rb":181596,"wb":72836,"fs":[1,2,3]}]
//! ,"ftbl":["[root]","0x48417B4: malloc (in /usr/…)","0x109413: sorter (cyc.c:13)","…"]}
//! ```
//! A program point has a stack, leaf first, as numbers of frames, and many metrics: in total, at
//! the time of the largest heap (`g`), and at the end (`e`). Of ad-hoc events there are units and
//! events instead of bytes and blocks (`bsu`, `bksu`). What all of it means is in valgrind's manual
//! and in the head of `dh_view.js`.

use crate::collapse::kit::json::{HeadKeys, Json};
use crate::collapse::kit::names::NO_STACK;
use crate::collapse::kit::times::duration;
use crate::collapse::kit::valgrind;
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "dhat",
    producer: "valgrind --tool=dhat, the Rust crate dhat",
    tested: Tested::Seen("valgrind 3.19, dhat 0.3"),
    values: "total-bytes, total-blocks, peak-bytes, peak-blocks, end-bytes, end-blocks, read-bytes, written-bytes; \
             ad hoc: total-units, total-events",
    unit: "bytes, blocks, bytes, blocks, bytes, blocks, bytes, bytes; units, events",
};

/// The metrics: their key, when they are from, and whether they count blocks.
const METRICS: [(&str, &str, bool); 8] = [
    ("tb", "total", false),
    ("tbk", "total", true),
    ("gb", "peak", false),
    ("gbk", "peak", true),
    ("eb", "end", false),
    ("ebk", "end", true),
    ("rb", "read", false),
    ("wb", "written", false),
];

/// Collapses dhat's format.
pub struct Dhat;

/// A program point: its metrics, and which of the stacks' numbers are its own.
struct Point {
    metrics: [Weight; METRICS.len()],
    frames: std::ops::Range<usize>,
}

impl Collapser for Dhat {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        match HeadKeys::read(head) {
            Some(keys) if keys.has("dhatFileVersion") => Certainty::Yes,
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
        let mut json = Json::new(input);
        let mut points: Vec<Point> = Vec::new();
        let mut numbers: Vec<usize> = Vec::new();
        let mut frames: Vec<FrameId> = Vec::new();
        let mut key = String::new();
        let (mut bytes, mut blocks) = ("bytes".to_owned(), "blocks".to_owned());
        let (mut in_micros, mut end) = (false, None);
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "pps" => {
                    json.begin_array()?;
                    while json.next_item()? {
                        points.push(point(&mut json, &mut key, &mut numbers)?);
                    }
                }
                "ftbl" => {
                    json.begin_array()?;
                    while json.next_item()? {
                        let text = json.text()?.as_bytes().to_vec();
                        let frame = valgrind::frame(&text, reading, sink);
                        frames.push(frame.unwrap_or_else(|| sink.frame(NO_STACK)));
                    }
                }
                "cmd" => report.facts.set_command(json.text()?),
                "tu" => in_micros = json.text()? == "µs",
                "te" => end = Some(json.weight()?),
                "bsu" => bytes = unit(json.text()?, bytes),
                "bksu" => blocks = unit(json.text()?, blocks),
                _ => json.skip()?,
            }
        }
        json.end(report);
        report.facts.duration = end.filter(|_| in_micros).and_then(|end| duration(end, "us"));
        let declared = METRICS.map(|(_, when, is_blocks)| {
            let unit = if is_blocks { &blocks } else { &bytes };
            Value::new(format!("{when}-{unit}"), unit.clone())
        });
        let declared = declared.to_vec();
        let mut values = Values::holding(
            reading,
            declared,
            0,
            |at| points.iter().any(|p| !p.metrics[at].is_zero()),
            report,
        )?;
        let mut stack = Vec::new();
        for point in points {
            stack.clear();
            for &number in numbers[point.frames].iter().rev() {
                let frame =
                    frames.get(number).ok_or_else(|| json.no_entry("frames", number, frames.len()))?;
                stack.push(*frame);
            }
            if stack.is_empty() {
                stack.push(sink.frame(NO_STACK));
            }
            values.sample(&stack, &point.metrics, sink)?;
        }
        values.finish(report)
    }
}

/// A unit as the file names it, if it is a word.
fn unit(text: &str, known: String) -> String {
    let is_word = !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric());
    if is_word { text.to_owned() } else { known }
}

fn point(json: &mut Json, key: &mut String, numbers: &mut Vec<usize>) -> Result<Point> {
    let start = numbers.len();
    let mut metrics = [Weight::ZERO; METRICS.len()];
    json.begin_object()?;
    while json.next_key(key)? {
        if key == "fs" {
            json.begin_array()?;
            while json.next_item()? {
                let place = json.place();
                let number = json.index()?;
                let negative = || crate::Error::malformed("the number of a frame", b"none").at(place);
                numbers.push(number.ok_or_else(negative)?);
            }
        } else if let Some(at) = METRICS.iter().position(|(metric, ..)| metric == key) {
            metrics[at] = json.weight()?;
        } else {
            json.skip()?;
        }
    }
    Ok(Point { metrics, frames: start..numbers.len() })
}

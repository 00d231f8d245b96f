//! The CPU profiles of gperftools (seen: 2.10): words of the machine, and its memory map as text.
//!
//! A header of five words, 0, 3, 0, the sampling period in microseconds, 0; then for each stack
//! its count, its depth, and that many addresses, leaf first; then 0, 1, 0, and the lines of
//! `/proc/self/maps`. With names in front, as `google-pprof --raw` writes it:
//! ```text
//! --- symbol
//! binary=/home/user/app/cpp/orders
//! 0x0000557a2969fe11 shop::Deep::visit(int)<0000000000007e10>
//! ---
//! --- profile
//! ```
//! The output of `google-pprof --raw` from a server may be a heap, behind `--- heap`. The format is
//! described in gperftools' `cpuprofile-fileformat.html`.

use std::io::BufRead;
use std::ops::Range;

use crate::collapse::kit::maps::Maps;
use crate::collapse::kit::text::Text;
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value};
use crate::number::hex;
pub mod heap_text;
use crate::error::{Error, Result};
use crate::folded::FrameId;
use crate::input::{Input, Reader};
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "gperftools",
    producer: "gperftools' CPU profiler, google-pprof --raw",
    tested: Tested::Seen("gperftools 2.10"),
    values: "samples, cpu",
    unit: "samples, us",
};

const SYMBOLS: &[u8] = b"--- symbol\n";

/// Deeper stacks are not recorded; the library's own limit is 254.
const DEEPEST: u64 = 1 << 16;

/// Collapses gperftools' CPU profiles.
pub struct Gperftools;

/// The machine's words.
#[derive(Clone, Copy)]
struct Words {
    bytes: usize,
    big: bool,
}

impl Words {
    /// By the first two, which are 0 and 3.
    fn detect(head: &[u8]) -> Option<Words> {
        let all = [(8, false), (8, true), (4, false), (4, true)].map(|(bytes, big)| Words { bytes, big });
        all.into_iter().find(|words| {
            let mut at = head.chunks_exact(words.bytes).map(|word| words.value(word));
            (at.next(), at.next(), at.next()) == (Some(0), Some(3), Some(0))
        })
    }

    fn value(self, word: &[u8]) -> u64 {
        let digit = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
        if self.big { word.iter().fold(0, digit) } else { word.iter().rev().fold(0, digit) }
    }

    fn read(self, reader: &mut Reader, scratch: &mut Vec<u8>) -> Result<u64> {
        scratch.clear();
        reader.append(self.bytes as u64, scratch)?;
        Ok(self.value(scratch))
    }
}

impl Collapser for Gperftools {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        if head.starts_with(SYMBOLS) || Words::detect(head).is_some() {
            Certainty::Yes
        } else {
            Certainty::No
        }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let has_symbols = input.head().starts_with(SYMBOLS);
        let name = input.name().clone();
        let mut reader = input.into_reader();
        let mut maps = Maps::default();
        if has_symbols {
            let (kind, lines) = symbols(&mut reader, &mut maps)?;
            if kind != b"profile" {
                let rest = Input::new(name, Box::new(reader))?;
                return heap_text::read(Text::after(rest, lines), maps, reading, sink, report);
            }
        }
        let buffered = reader.fill_buf().map(Words::detect);
        let Some(words) = buffered.map_err(|e| reader.error(e))? else {
            return Err(Error::malformed("the words 0, 3, 0", b"others").at(reader.place()));
        };
        let mut scratch = Vec::new();
        let mut next = |reader: &mut Reader| words.read(reader, &mut scratch);
        let [_, _, _, period, _] = [(); 5].map(|()| next(&mut reader));
        let period = Weight::new(i128::from(period?));
        let mut addresses: Vec<u64> = Vec::new();
        let mut samples: Vec<(u64, Range<usize>)> = Vec::new();
        // `google-pprof --raw` leaves the trailer out.
        while !(has_symbols && reader.is_at_end()?) {
            let (count, depth) = (next(&mut reader)?, next(&mut reader)?);
            if depth > DEEPEST || depth == 0 {
                let expected = format!("a depth of at most {DEEPEST}");
                return Err(Error::malformed(expected, depth.to_string().as_bytes()).at(reader.place()));
            }
            let start = addresses.len();
            for _ in 0..depth {
                addresses.push(next(&mut reader)?);
            }
            if count == 0 && depth == 1 && addresses[start] == 0 {
                break;
            }
            samples.push((count, start..addresses.len()));
        }
        let mut line = Vec::new();
        while reader.line(&mut line)? {
            if line.contains(&0) {
                report.doubt("there is more behind the mappings of the recording, which is not read");
                break;
            }
            maps.line(line.trim_ascii_end());
        }
        let declared = vec![Value::new("samples", "samples"), Value::new("cpu", "us")];
        let mut values = Values::new(reading, declared, 0)?;
        // The first of a stack is where the clock struck; the others are where calls return to.
        let places = |range: &Range<usize>| {
            let stack = addresses[range.clone()].iter().enumerate();
            stack.map(|(depth, address)| (*address, depth > 0))
        };
        maps.name_all(samples.iter().flat_map(|(_, range)| places(range)), reading, sink, report);
        let mut stack: Vec<FrameId> = Vec::new();
        for (count, range) in &samples {
            stack.clear();
            places(range).for_each(|place| maps.frames(place, &mut stack));
            stack.reverse();
            let count = Weight::new(i128::from(*count));
            values.sample(&stack, &[count, count.checked_mul(period)?], sink)?;
        }
        // `google-pprof --raw` writes 1 for the microseconds between samples: no clock is that fast.
        let rate = (1e6 / period.to_f64()).round();
        if (1.0..=1e5).contains(&rate) {
            report.facts.rate = Some(rate as u64);
            report.facts.period = (values.kept() == Some(&Value::new("cpu", "us"))).then_some(period);
        }
        values.finish(report)?;
        report.samples_are(&Value::new("samples", "samples"));
        Ok(())
    }
}

/// Reads the names, `0xADDRESS inner--outer`, up to where the profile begins. Returns what follows,
/// `profile` or, as a server sends them, `heap`; and behind how many lines.
fn symbols(reader: &mut Reader, maps: &mut Maps) -> Result<(Vec<u8>, u64)> {
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        number += 1;
        if !reader.line(&mut line)? {
            return Err(Error::malformed("--- profile", b"the end").at(reader.place()));
        }
        let text = line.trim_ascii_end();
        match text.strip_prefix(b"--- ") {
            Some(b"symbol") | None => {}
            Some(kind @ (b"profile" | b"heap" | b"growth")) => return Ok((kind.to_vec(), number)),
            Some(_) => return Err(Error::malformed("--- profile or --- heap", text).at(reader.place())),
        }
        if let Some(space) = memchr::memchr(b' ', text)
            && text.starts_with(b"0x")
            && let Some(address) = hex(&text[..space])
        {
            let mut names: Vec<Box<[u8]>> = Vec::new();
            let mut rest = &text[space + 1..];
            while let Some(at) = memchr::memmem::find(rest, b"--") {
                names.push(without_start(&rest[..at]).into());
                rest = &rest[at + 2..];
            }
            names.push(without_start(rest).into());
            maps.name(address, names);
        }
    }
}

/// `visit(int)<0000000000007e10>` without where the function starts.
fn without_start(name: &[u8]) -> &[u8] {
    let Some(rest) = name.strip_suffix(b">") else { return name };
    match memchr::memrchr(b'<', rest) {
        Some(at) if rest.len() - at == 17 && rest[at + 1..].iter().all(u8::is_ascii_hexdigit) => &rest[..at],
        _ => name,
    }
}

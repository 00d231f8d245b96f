//! The recordings of heaptrack (seen: 1.4, file version 3), usually compressed by zstd.
//!
//! ```text
//! v 10400 3
//! s 4 main
//! i 55f39e43c764 1 14 15 8e 16 17 33
//! t 8 7
//! a 18 9
//! + 1
//! - 1
//! ```
//! Text with numbers of base 16: strings (`s`, with their length), instruction pointers (`i`:
//! address, module, and function, file, line of each inlined function, innermost first), traces
//! (`t`: instruction pointer and the trace that called), kinds of allocations (`a`: size and
//! trace), and each allocation (`+`) and free (`-`) of such a kind. Strings, pointers and traces
//! count from 1, kinds from 0. What `heaptrack --raw` leaves is in [`raw`]. The source is
//! heaptrack's own `accumulatedtracedata.cpp`.

mod raw;

use self::raw::Raw;
use crate::collapse::kit::forest::Forest;
use crate::collapse::kit::naming::SymbolFrame;
use crate::collapse::kit::text::Text;
use crate::collapse::kit::times::duration;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value,
};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::{Input, lines};
use crate::number;
use crate::profile::Facts;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "heaptrack",
    producer: "heaptrack, heaptrack --raw",
    tested: Tested::Seen("heaptrack 1.4"),
    values: "allocations, temporary, leaked, peak",
    unit: "allocations, allocations, bytes, bytes",
};

/// Collapses heaptrack's recordings.
pub struct Heaptrack;

impl Collapser for Heaptrack {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let line = lines(head).next().unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|&b| b == b' ').collect();
        let is_number = |word: &&[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_hexdigit);
        match words[..] {
            [b"v", ref numbers @ ..] if (1..=2).contains(&numbers.len()) && numbers.iter().all(is_number) => {
                Certainty::Yes
            }
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
        let mut lines = Text::new(input);
        let mut recording = Recording::default();
        while let Some(line) = lines.next_line()? {
            match recording.line(line, reading, sink) {
                Some(true) => {}
                Some(false) => lines.not_understood(report),
                None => {
                    return Err(lines.malformed("the number of something that came before", lines.line()));
                }
            }
        }
        lines.end(report);
        recording.finish(reading, sink, report)
    }
}

/// The state of reading a recording.
#[derive(Default)]
struct Recording {
    /// True if strings have their length in front.
    has_lengths: bool,
    facts: Facts,
    strings: Vec<Box<[u8]>>,
    /// For each instruction pointer its frames, leaf first.
    pointers: Vec<Vec<FrameId>>,
    /// Each trace's last frame; the frames of inlined functions are nodes too.
    forest: Forest,
    traces: Vec<usize>,
    /// The parts that a recording has before heaptrack has interpreted it.
    raw: Option<Raw>,
    /// Size and trace.
    kinds: Vec<(u64, usize)>,
    costs: Vec<Cost>,
    in_use: u64,
    highest: u64,
    /// The number of times that there was a new highest.
    peaks: u64,
    /// The kind of the last allocation; 0 if something was freed since. heaptrack does not tell that from
    /// the first kind, so that freeing one of those counts as temporary there, and here.
    last: usize,
    /// The numbers of strings and of instruction pointers, as the last lines state them.
    stated: [Option<u64>; 2],
}

/// The sums of the allocations of a trace.
#[derive(Clone, Copy, Default)]
struct Cost {
    allocations: u64,
    temporary: u64,
    leaked: u64,
    /// The bytes in use at the highest so far, if nothing changed since `peaks` was this.
    peak: u64,
    seen: u64,
}

impl Cost {
    /// Notes what was in use at a peak, before that changes.
    fn settle(&mut self, peaks: u64) {
        if self.seen < peaks {
            self.peak = self.leaked;
            self.seen = peaks;
        }
    }
}

impl Recording {
    /// Returns whether the line was understood; `None` if it names something that does not exist.
    fn line(&mut self, line: &[u8], options: &CollapseOptions, sink: &mut dyn Sink) -> Option<bool> {
        let Some((&kind, rest)) = line.split_first() else { return Some(true) };
        let rest = rest.strip_prefix(b" ").unwrap_or(rest);
        if kind == b's' {
            // Before version 3 of the file the length was not there.
            let text = match memchr::memchr(b' ', rest) {
                Some(at) if self.has_lengths => &rest[at + 1..],
                _ if self.has_lengths => b"",
                _ => rest,
            };
            self.strings.push(text.into());
            return Some(true);
        }
        if kind == b'v' {
            let version = rest.split(|&b| b == b' ').nth(1).and_then(number::hex);
            self.has_lengths = version.is_some_and(|version| version >= 3);
        }
        if Raw::is_telling(kind) {
            self.raw.get_or_insert_default().module(kind, rest)?;
            return Some(true);
        }
        self.note(kind, rest);
        if b"vXIAScR#".contains(&kind) {
            return Some(true);
        }
        let mut numbers = [0u64; 128];
        let mut count = 0;
        for word in rest.split(|&b| b == b' ').filter(|word| !word.is_empty()) {
            let (Some(number), Some(slot)) = (number::hex(word), numbers.get_mut(count)) else {
                return Some(false);
            };
            *slot = number;
            count += 1;
        }
        if let Some(mut raw) = self.raw.take() {
            let understood = raw.line(kind, &numbers[..count], self);
            self.raw = Some(raw);
            return understood;
        }
        match (kind, &numbers[..count]) {
            (b'i', [address, module, places @ ..]) => {
                let frames = self.pointer(*address, *module, places, options, sink)?;
                self.pointers.push(frames);
            }
            (b't', [pointer, parent]) => self.trace(*pointer, *parent)?,
            (b'a', [size, trace]) => self.kinds.push((*size, index(*trace, self.traces.len())?)),
            (b'+', [kind, ..]) => self.allocate(usize::try_from(*kind).ok()?)?,
            (b'-', [kind, ..]) => self.free(usize::try_from(*kind).ok()?)?,
            _ => return Some(false),
        }
        Some(true)
    }

    /// Notes what a line says of the recording: its version, the command, the time that has passed.
    fn note(&mut self, kind: u8, rest: &[u8]) {
        let first = || number::hex(rest.split(|&b| b == b' ').next().unwrap_or_default());
        match kind {
            b'v' => {
                // Two digits of base 16 for each part: 10400 is 1.4.0.
                if let Some(version) = first().filter(|version| *version < 1 << 24) {
                    let [_, major, minor, patch] = (version as u32).to_be_bytes();
                    self.facts.producer = Some(format!("heaptrack {major}.{minor}.{patch}"));
                }
            }
            b'X' => self.facts.set_command(rest),
            b'#' => {
                let number = |name: &[u8]| number::parse(rest.strip_prefix(name)?);
                for (stated, name) in self.stated.iter_mut().zip([&b"strings: "[..], b"ips: "]) {
                    *stated = number(name).or(*stated);
                }
            }
            b'c' => {
                self.facts.duration = first().and_then(|millis| duration(Weight::from(millis), "ms"));
            }
            _ => {}
        }
    }

    fn string(&self, number: u64) -> Option<&[u8]> {
        if number == 0 { Some(b"") } else { Some(&self.strings[index(number, self.strings.len())?]) }
    }

    fn pointer(
        &self,
        address: u64,
        module: u64,
        places: &[u64],
        options: &CollapseOptions,
        sink: &mut dyn Sink,
    ) -> Option<Vec<FrameId>> {
        let module = self.string(module)?;
        let address = format!("{address:x}");
        let mut frames = Vec::new();
        let unknown = [0, 0, 0];
        let places = if places.is_empty() { &unknown[..] } else { places };
        let last = places.chunks(3).len() - 1;
        for (at, place) in places.chunks(3).enumerate() {
            let symbol = self.string(place[0])?;
            let file = self.string(place.get(1).copied().unwrap_or(0))?;
            let line = place.get(2).copied().unwrap_or(0);
            let mut srcline = Vec::new();
            if options.srcline && !file.is_empty() {
                let name = file.rsplit(|&b| b == b'/').next().unwrap_or(file);
                srcline = [name, format!(":{line}").as_bytes()].concat();
            }
            let native = SymbolFrame {
                address: address.as_bytes(),
                symbol,
                module,
                srcline: &srcline,
                file,
                line: u32::try_from(line).unwrap_or(0),
                inlined: at < last,
                ..SymbolFrame::default()
            };
            native.frames(options, sink, |frame| frames.push(frame));
        }
        Some(frames)
    }

    fn trace(&mut self, pointer: u64, parent: u64) -> Option<()> {
        let mut node = match parent {
            0 => None,
            parent => Some(self.traces[index(parent, self.traces.len())?]),
        };
        let frames = &self.pointers[index(pointer, self.pointers.len())?];
        for &frame in frames.iter().rev() {
            node = Some(self.forest.add(frame, node).0);
        }
        self.traces.push(node?);
        self.costs.push(Cost::default());
        Some(())
    }

    fn allocate(&mut self, kind: usize) -> Option<()> {
        let &(size, trace) = self.kinds.get(kind)?;
        let cost = &mut self.costs[trace];
        cost.settle(self.peaks);
        cost.allocations += 1;
        cost.leaked = cost.leaked.saturating_add(size);
        self.in_use = self.in_use.saturating_add(size);
        if self.in_use > self.highest {
            self.highest = self.in_use;
            self.peaks += 1;
        }
        self.last = kind;
        Some(())
    }

    fn free(&mut self, kind: usize) -> Option<()> {
        let &(size, trace) = self.kinds.get(kind)?;
        let cost = &mut self.costs[trace];
        cost.settle(self.peaks);
        cost.leaked = cost.leaked.saturating_sub(size);
        self.in_use = self.in_use.saturating_sub(size);
        // Freed before anything else was allocated.
        if std::mem::take(&mut self.last) == kind {
            cost.temporary += 1;
        }
        Some(())
    }

    fn finish(mut self, options: &CollapseOptions, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        let declared = [
            ("allocations", "allocations"),
            ("temporary", "allocations"),
            ("leaked", "bytes"),
            ("peak", "bytes"),
        ];
        let declared = declared.map(|(name, unit)| Value::new(name, unit)).to_vec();
        let mut values = Values::new(options, declared, 0)?;
        report.facts = std::mem::take(&mut self.facts);
        // heaptrack's interpreter ends with these; the raw recording has no end of its own.
        let found = [("the strings", self.strings.len()), ("the instruction pointers", self.pointers.len())];
        for ((what, found), stated) in found.into_iter().zip(self.stated) {
            match stated {
                Some(stated) => report.check_total(what, Weight::from(found as u64), Weight::from(stated)),
                None if self.raw.is_none() => {
                    report.doubt("there is no summary at the end: the file is cut off")
                }
                None => {}
            }
        }
        if let Some(raw) = self.raw.take() {
            self.traces = raw.name(&mut self.forest, options, sink, report);
        }
        let costs = self.traces.into_iter().zip(self.costs);
        let peaks = self.peaks;
        self.forest.samples(&[], costs, sink, |stack, mut cost, sink| {
            cost.settle(peaks);
            let row = [cost.allocations, cost.temporary, cost.leaked, cost.peak];
            values.sample(stack, &row.map(|n| Weight::new(i128::from(n))), sink)
        })?;
        values.finish(report)
    }
}

/// A number that counts from 1, as an index.
fn index(number: u64, len: usize) -> Option<usize> {
    usize::try_from(number).ok()?.checked_sub(1).filter(|index| *index < len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::ValueSelection;
    use crate::folded::StackTable;

    fn collapsed(value: &str) -> String {
        // main allocates 16, f 8 and frees it at once, then 16 more; main frees its own.
        let text = b"v 10400 3\ns 4 main\ns 1 f\ni 10 0 1\ni 20 0 2\nt 1 0\nt 2 1\na 10 1\na 8 2\na 10 2\n\
            + 0\n+ 1\n- 1\n+ 2\n- 0\n+ 1\n";
        let options = CollapseOptions {
            values: ValueSelection::Named(vec![value.as_bytes().to_vec()]),
            ..CollapseOptions::default()
        };
        let input = Input::new("test", Box::new(std::io::Cursor::new(text.to_vec()))).unwrap();
        let (mut table, mut report) = (StackTable::default(), Report::default());
        Heaptrack.collapse(input, &Reading::alone(&options), &mut table, &mut report).unwrap();
        assert_eq!(report.not_understood.count, 0);
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn all_values_are_what_their_names_say() {
        assert_eq!(collapsed("allocations"), "main 1\nmain;f 3\n");
        assert_eq!(collapsed("temporary"), "main;f 1\n");
        assert_eq!(collapsed("leaked"), "main;f 24\n");
        // 16 and 16 at once; the 24 at first and at last are less.
        assert_eq!(collapsed("peak"), "main 16\nmain;f 16\n");
    }

    /// A recording of `orders.so` in this repository, and the library's segments as it says.
    fn raw(segments: &str) -> String {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/native/objects/orders.so");
        let len = path.len();
        format!(
            "v 10400 3\nx 6 /bin/a\nX /bin/a\nm 1 -\nm {len:x} {path} 7f0000000000 {segments}\nt 7f000000108b 0\n\
             t 7f0000001045 1\nt 99 2\n+ 10 1 aa\n+ 8 3 bb\n- bb\n- cc\n+ 8 2 bb\n"
        )
    }

    fn fold_raw(segments: &str, value: &str) -> (String, Report) {
        let options = CollapseOptions {
            values: ValueSelection::Named(vec![value.as_bytes().to_vec()]),
            ..CollapseOptions::default()
        };
        let text = raw(segments);
        let (folded, report) = crate::collapse::tests::collapse_bytes(&Heaptrack, &text, &options).unwrap();
        assert_eq!(report.not_understood.count, 0);
        (folded, report)
    }

    #[test]
    #[cfg(feature = "perf-data")]
    fn what_is_not_interpreted_yet_gets_names_from_the_files() {
        let segments = "0 3f0 1000 121 2000 ec 3ef8 120";
        let (folded, report) = fold_raw(segments, "allocations");
        let called = "sum_orders;with_tax;line_total";
        assert_eq!(
            folded,
            format!("{called} 1\n{called};check.isra.0 1\n{called};check.isra.0;[unknown] 1\n")
        );
        assert!(report.notes.is_empty(), "{:?}", report.notes);
        assert_eq!(fold_raw(segments, "temporary").0, format!("{called};check.isra.0;[unknown] 1\n"));
        assert_eq!(fold_raw(segments, "leaked").0, format!("{called} 16\n{called};check.isra.0 8\n"));
    }

    #[test]
    fn a_file_with_other_segments_gives_no_names() {
        let (folded, report) = fold_raw("0 3f0 1000 124 2000 ec 3ef8 120", "leaked");
        assert_eq!(folded, "orders.so+0x108b 16\norders.so+0x108b;orders.so+0x1045 8\n");
        assert_eq!(report.notes.len(), 1);
    }

    #[test]
    fn older_files_have_strings_without_lengths() {
        let text = "v 10200 2\ns main x\ni 10 0 1\nt 1 0\na 10 1\n+ 0\n";
        assert_eq!(crate::collapse::tests::fold(&Heaptrack, text, &CollapseOptions::default()), "main x 1\n");
    }

    #[test]
    fn what_does_not_exist_is_an_error() {
        for line in ["t 1 0", "a 8 1", "+ 0", "i 10 7", "i 10 0 9", "t 0 0"] {
            let mut table = StackTable::default();
            let found = Recording::default().line(line.as_bytes(), &CollapseOptions::default(), &mut table);
            assert_eq!(found, None, "{line}");
        }
    }
}

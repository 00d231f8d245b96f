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
//! count from 1, kinds from 0. The source is heaptrack's own `accumulatedtracedata.cpp`.

use super::forest::Forest;
use super::naming::Native;
use super::text::Text;
use super::values::Values;
use super::{About, Collapser, Options, Report, Sink, Value, Verdict};
use crate::error::Result;
use crate::folded::{FrameId, StackTable};
use crate::input::Input;
use crate::weight::Weight;

const ABOUT: About = About {
    name: "heaptrack",
    producer: "heaptrack",
    tested: "heaptrack 1.4",
    values: "allocations, temporary, leaked, peak",
    unit: "allocations, allocations, bytes, bytes",
};

/// Collapses heaptrack's recordings.
pub struct Heaptrack;

impl Collapser for Heaptrack {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn detect(&self, head: &[u8]) -> Verdict {
        let line = head.split(|&b| b == b'\n').next().unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|&b| b == b' ').collect();
        let is_number = |word: &&[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_hexdigit);
        match words[..] {
            [b"v", ref numbers @ ..] if (1..=2).contains(&numbers.len()) && numbers.iter().all(is_number) => {
                Verdict::Yes
            }
            _ => Verdict::No,
        }
    }

    fn collapse(
        &self,
        input: Input,
        options: &Options,
        table: &mut StackTable,
        report: &mut Report,
    ) -> Result<()> {
        let mut lines = Text::new(input);
        let mut recording = Recording::default();
        while let Some(line) = lines.next_line()? {
            match recording.line(line, options, table) {
                Some(true) => {}
                Some(false) => lines.not_understood(report),
                None => {
                    return Err(lines.malformed("the number of something that came before", lines.line()));
                }
            }
        }
        recording.finish(options, table, report)
    }
}

/// What was read so far.
#[derive(Default)]
struct Recording {
    strings: Vec<Box<[u8]>>,
    /// For each instruction pointer its frames, leaf first.
    pointers: Vec<Vec<FrameId>>,
    /// Each trace's last frame; the frames of inlined functions are nodes too.
    forest: Forest,
    traces: Vec<usize>,
    /// Size and trace.
    kinds: Vec<(u64, usize)>,
    costs: Vec<Cost>,
    in_use: u64,
    highest: u64,
    /// How often there was a new highest.
    peaks: u64,
    last: Option<usize>,
}

/// What the allocations of a trace come to.
#[derive(Clone, Copy, Default)]
struct Cost {
    allocations: u64,
    temporary: u64,
    leaked: u64,
    /// What was in use at the highest so far, if nothing changed since `peaks` was this.
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
    /// Whether the line was understood; `None` if it names something that does not exist.
    fn line(&mut self, line: &[u8], options: &Options, sink: &mut dyn Sink) -> Option<bool> {
        let Some((&kind, rest)) = line.split_first() else { return Some(true) };
        let rest = rest.strip_prefix(b" ").unwrap_or(rest);
        if kind == b's' {
            let text = memchr::memchr(b' ', rest).map_or(&b""[..], |at| &rest[at + 1..]);
            self.strings.push(text.into());
            return Some(true);
        }
        if b"vXIAScR#".contains(&kind) {
            return Some(true);
        }
        let mut numbers = [0u64; 128];
        let mut count = 0;
        for word in rest.split(|&b| b == b' ').filter(|word| !word.is_empty()) {
            let (Some(number), Some(slot)) = (super::maps::hex(word), numbers.get_mut(count)) else {
                return Some(false);
            };
            *slot = number;
            count += 1;
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

    fn string(&self, number: u64) -> Option<&[u8]> {
        if number == 0 { Some(b"") } else { Some(&self.strings[index(number, self.strings.len())?]) }
    }

    fn pointer(
        &self,
        address: u64,
        module: u64,
        places: &[u64],
        options: &Options,
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
            let native = Native {
                address: address.as_bytes(),
                symbol,
                module,
                srcline: &srcline,
                inlined: at < last,
                ..Native::default()
            };
            native.name(options, |name| frames.push(sink.frame(name)));
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
        self.last = Some(kind);
        Some(())
    }

    fn free(&mut self, kind: usize) -> Option<()> {
        let &(size, trace) = self.kinds.get(kind)?;
        let cost = &mut self.costs[trace];
        cost.settle(self.peaks);
        cost.leaked = cost.leaked.saturating_sub(size);
        self.in_use = self.in_use.saturating_sub(size);
        // Freed before anything else was allocated.
        if self.last.take() == Some(kind) {
            cost.temporary += 1;
        }
        Some(())
    }

    fn finish(mut self, options: &Options, table: &mut StackTable, report: &mut Report) -> Result<()> {
        let declared = [
            ("allocations", "allocations"),
            ("temporary", "allocations"),
            ("leaked", "bytes"),
            ("peak", "bytes"),
        ];
        let declared = declared.map(|(name, unit)| Value::new(name, unit)).to_vec();
        let mut values = Values::new(options, declared, 0)?;
        let costs = self.traces.into_iter().zip(self.costs);
        let peaks = self.peaks;
        self.forest.samples(&[], costs, table, |stack, mut cost, sink| {
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
    use crate::collapse::Choice;

    fn collapsed(value: &str) -> String {
        // main allocates 16, f 8 and frees it at once, then 16 more; main frees its own.
        let text = b"v 10400 3\ns 4 main\ns 1 f\ni 10 0 1\ni 20 0 2\nt 1 0\nt 2 1\na 10 1\na 8 2\na 10 2\n\
            + 0\n+ 1\n- 1\n+ 2\n- 0\n+ 1\n";
        let options =
            Options { values: Choice::Named(vec![value.as_bytes().to_vec()]), ..Options::default() };
        let input = Input::new("test", Box::new(std::io::Cursor::new(text.to_vec()))).unwrap();
        let (mut table, mut report) = (StackTable::default(), Report::default());
        Heaptrack.collapse(input, &options, &mut table, &mut report).unwrap();
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

    #[test]
    fn what_does_not_exist_is_an_error() {
        for line in ["t 1 0", "a 8 1", "+ 0", "i 10 7", "i 10 0 9", "t 0 0"] {
            let mut table = StackTable::default();
            let found = Recording::default().line(line.as_bytes(), &Options::default(), &mut table);
            assert_eq!(found, None, "{line}");
        }
    }
}

//! Captures of Very Sleepy, `.sleepy`, a sampling profiler for Windows (by its source, versions 0.82 to 0.91).
//!
//! ```text
//! Stats.txt        Filename: C:\app\orders.exe
//!                  Duration: 2.5
//! Symbols.txt      0x140001010 "orders" "Shop::run" "C:\\src\\shop.cpp" 12
//! Callstacks.txt    0x140001010 0x140002000           0.25 0x140001010 0x140002000     before threads were told apart
//!                   4711 0.25 4712 0.5
//! Threads.txt      4711
//!                  main
//! Version 0.91 required
//! ```
//! A zip archive of texts. Stacks stand leaf first; the weights are seconds, of each thread in newer versions. Until 0.90
//! texts in quotes had no escapes, and symbols had numbers for addresses. Written by `src/profiler/profilerthread.cpp` of
//! VerySleepy/verysleepy.

use std::collections::HashMap;
use std::time::Duration;

use flate2::{Decompress, FlushDecompress};

use crate::collapse::kit::archive::Members;
use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::json::parse_number;
use crate::collapse::kit::names::{FrameNames, NO_STACK};
use crate::collapse::kit::native_frame::NativeFrame;
use crate::collapse::kit::text::{Text, split_first};
use crate::collapse::kit::threads::Thread;
use crate::collapse::kit::trie::{PathId, Trie};
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, Context, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
};
use crate::error::{Error, Position, Result};
use crate::folded::FrameId;
use crate::input::Input;
use crate::number;
use crate::profile::fact;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "very-sleepy",
    producer: "Very Sleepy: .sleepy",
    tested: Tested::ByDescription("Very Sleepy 0.82 to 0.91 by its source"),
    values: "time",
    unit: "s",
};

/// Collapses captures of Very Sleepy.
pub struct VerySleepy;

impl Collapser for VerySleepy {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { labels: "thread, tid", ..ContextInfo::NONE }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        Certainty::of_magic(is_capture(head))
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let place = Position::file(input.name().clone());
        let mut capture = Capture::new(reading, sink);
        let mut members = Members::new(input);
        while let Some((name, member)) = members.next()? {
            match name.as_str() {
                "Stats.txt" => read_stats(member, report)?,
                "Symbols.txt" => capture.read_symbols(member, report)?,
                "Callstacks.txt" => capture.read_stacks(member, report)?,
                "Threads.txt" => capture.read_threads(member)?,
                // The shares of single addresses, of which the stacks tell as well, and the memory of the program.
                "IPCounts.txt" | "minidump.dmp" => {}
                other => match required_version(other) {
                    Some(version) => capture.version = Some(version),
                    None => report.note(format!("{other} in the capture is not read")),
                },
            }
        }
        if !capture.has_stacks {
            return Err(Error::malformed("a capture with Callstacks.txt", b"none").at(place));
        }
        capture.finish(reading, sink, report)
    }
}

/// Returns whether the first bytes are those of a capture: a zip archive that begins with its statistics, or with the
/// memory of the program.
pub fn is_capture(head: &[u8]) -> bool {
    first_member(head).is_some_and(|(name, packed, is_deflated)| match name {
        b"minidump.dmp" => true,
        b"Stats.txt" if is_deflated => {
            let mut begin = [0; STATS.len()];
            _ = Decompress::new(false).decompress(packed, &mut begin, FlushDecompress::None);
            begin == *STATS
        }
        b"Stats.txt" => packed.starts_with(STATS),
        _ => false,
    })
}

/// The beginning of the statistics.
const STATS: &[u8; 10] = b"Filename: ";

/// The name of the first file in a zip archive, its content as far as it is there, and whether that is deflated.
fn first_member(head: &[u8]) -> Option<(&[u8], &[u8], bool)> {
    let short = |at: usize| Some(usize::from(u16::from_le_bytes([*head.get(at)?, *head.get(at + 1)?])));
    let content = 30 + short(26)?;
    let name = head.strip_prefix(b"PK\x03\x04").and(head.get(30..content))?;
    Some((name, head.get(content + short(28)?..)?, short(8)? == 8))
}

/// The version in the name of a file, in thousandths: `Version 0.91 required`.
fn required_version(name: &str) -> Option<Weight> {
    Weight::parse(name.strip_prefix("Version ")?.strip_suffix(" required")?.as_bytes())
}

fn read_stats(member: Input, report: &mut Report) -> Result<()> {
    let mut text = Text::new(member);
    while let Some(line) = text.next_line()? {
        let Some((key, value)) = split_first(line, b": ") else { continue };
        match key {
            b"Filename" if value != b"?" => report.facts.command = fact(value),
            b"Duration" => {
                let seconds = number::parse(value);
                report.facts.duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            }
            _ => {}
        }
    }
    Ok(())
}

/// A capture as it is read.
struct Capture {
    version: Option<Weight>,
    /// The numbers of symbols by the text that stands for them, and the lines that tell of them.
    numbers: HashMap<Box<[u8]>, u32>,
    symbols: HashMap<u32, Vec<u8>>,
    /// The threads, and their names.
    threads: Vec<Box<[u8]>>,
    thread_numbers: HashMap<Box<[u8]>, u32>,
    thread_names: HashMap<Box<[u8]>, Vec<u8>>,
    stacks: Trie,
    has_stacks: bool,
    /// True if single threads are told apart.
    contexts: bool,
}

impl Capture {
    fn new(options: &CollapseOptions, sink: &dyn Sink) -> Capture {
        let contexts = sink.wants().contexts || options.shows_threads(false);
        Capture {
            version: None,
            numbers: HashMap::new(),
            symbols: HashMap::new(),
            threads: Vec::new(),
            thread_numbers: HashMap::new(),
            thread_names: HashMap::new(),
            stacks: Trie::new(contexts),
            has_stacks: false,
            contexts,
        }
    }

    /// Keeps the lines of symbols, until it is known whether they have escapes.
    fn read_symbols(&mut self, member: Input, report: &mut Report) -> Result<()> {
        let mut line_number = 0u32;
        Text::new(member).for_each(report, |line| {
            if line.is_empty() {
                return Ok(true);
            }
            // In the first versions a symbol is known by the number of its line.
            let (id, rest) = match line {
                [b'"', ..] => (line_number.to_string().into_bytes(), line),
                _ => match split_first(line, b" ") {
                    Some((id, rest)) if rest.starts_with(b"\"") => (id.to_vec(), rest),
                    _ => return Ok(false),
                },
            };
            line_number += 1;
            let number = number_of(&id, &mut self.numbers);
            self.symbols.insert(number, rest.to_vec());
            Ok(true)
        })
    }

    fn read_stacks(&mut self, member: Input, report: &mut Report) -> Result<()> {
        self.has_stacks = true;
        let mut of_threads: Option<PathId> = None;
        let mut text = Text::new(member);
        text.for_each(report, |line| {
            let mut words = line.split(|&b| b == b' ').filter(|word| !word.is_empty());
            if let Some(path) = of_threads.take() {
                while let Some(thread) = words.next() {
                    let Some(seconds) = words.next().and_then(seconds) else { return Ok(false) };
                    let thread = self.thread(thread);
                    self.stacks.add_from(path, seconds, None, thread)?;
                }
            } else if line.is_empty() || line.starts_with(b" ") {
                of_threads = Some(self.path(words)?);
            } else {
                let Some(seconds) = words.next().and_then(seconds) else { return Ok(false) };
                let path = self.path(words)?;
                self.stacks.add_at(path, seconds, None)?;
            }
            Ok(true)
        })?;
        if of_threads.is_some_and(|path| path != Trie::ROOT) {
            text.end_within_record(report);
        }
        Ok(())
    }

    /// The path of a stack, leaf first.
    fn path<'w>(&mut self, words: impl Iterator<Item = &'w [u8]>) -> Result<PathId> {
        let numbers: Vec<u32> = words.map(|word| number_of(word, &mut self.numbers)).collect();
        Budget::default().check(numbers.len())?;
        Ok(numbers.into_iter().rev().fold(Trie::ROOT, |path, number| self.stacks.below(path, number)))
    }

    /// The number of a thread, from 1.
    fn thread(&mut self, id: &[u8]) -> u32 {
        let number = number_of(id, &mut self.thread_numbers);
        if number as usize == self.threads.len() {
            self.threads.push(id.into());
        }
        number + 1
    }

    fn read_threads(&mut self, member: Input) -> Result<()> {
        let mut text = Text::new(member);
        while let Some(id) = text.next_line()?.map(Box::from) {
            let name = text.next_line()?.unwrap_or_default().to_vec();
            self.thread_names.insert(id, name);
        }
        Ok(())
    }

    /// Hands all that was added up to the sink.
    fn finish(self, options: &CollapseOptions, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        let has_escapes =
            self.version.is_some_and(|version| version >= Weight::parse(b"0.9").expect("a number"));
        if self.version.is_none() {
            report.doubt(
                "the capture does not name its version, which stands at its end: it may be incomplete",
            );
        }
        let mut values = Values::single(options, "time", "s");
        let mut names = FrameNames::default();
        let mut unknown = 0u64;
        let mut frames = vec![FrameId(0); self.numbers.len()];
        let mut ids: Vec<(&u32, &[u8])> = self.numbers.iter().map(|(id, number)| (number, &id[..])).collect();
        ids.sort_unstable();
        for (number, id) in ids {
            let symbol = self.symbols.get(number).and_then(|line| Symbol::parse(line, has_escapes));
            unknown += u64::from(symbol.is_none());
            let symbol = symbol.unwrap_or_default();
            frames[*number as usize] = symbol.frame(id, options, &mut names, sink);
        }
        if unknown > 0 {
            report.doubt(format!("{unknown} addresses of stacks are not in Symbols.txt"));
        }
        let no_stack = sink.frame(NO_STACK);
        let shown = options.shows_threads(false);
        let mut whole = Vec::new();
        self.stacks.for_each(
            None,
            |number| Ok(frames[number as usize]),
            |stack, sampled| {
                let tid = sampled.origin.checked_sub(1).map_or(&b""[..], |at| &self.threads[at as usize]);
                let name = self.thread_names.get(tid).map_or(&b""[..], Vec::as_slice);
                let owner = Thread { name, pid: b"", tid };
                let context = if self.contexts { owner.context(None) } else { Context::UNKNOWN };
                whole.clear();
                if shown {
                    let mut frame = Vec::new();
                    owner.write(options, &mut frame);
                    whole.push(sink.frame(&frame));
                }
                whole.extend_from_slice(if stack.is_empty() {
                    std::slice::from_ref(&no_stack)
                } else {
                    stack
                });
                values.add_at(0, &whole, sampled.weight, sampled.samples, &context, sink)
            },
        )?;
        values.finish(report)
    }
}

fn number_of(id: &[u8], numbers: &mut HashMap<Box<[u8]>, u32>) -> u32 {
    let next = numbers.len() as u32;
    match numbers.get(id) {
        Some(number) => *number,
        None => *numbers.entry(id.into()).or_insert(next),
    }
}

fn seconds(word: &[u8]) -> Option<Weight> {
    parse_number(std::str::from_utf8(word).ok()?).filter(|seconds| *seconds >= Weight::ZERO)
}

/// A function at an address.
#[derive(Debug, Default, PartialEq, Eq)]
struct Symbol {
    module: Vec<u8>,
    name: Vec<u8>,
    /// `shop.cpp:12`
    source: Vec<u8>,
}

impl Symbol {
    /// Reads `"module" "name" "file" line`.
    fn parse(line: &[u8], has_escapes: bool) -> Option<Symbol> {
        let mut rest = line;
        let mut quoted = || quoted(&mut rest, has_escapes);
        let (module, name, mut source) = (quoted()?, quoted()?, quoted()?);
        if source.is_empty() {
            return Some(Symbol { module, name, source });
        }
        source.push(b':');
        source.extend_from_slice(rest.trim_ascii());
        Some(Symbol { module, name, source })
    }

    fn frame(
        &self,
        id: &[u8],
        options: &CollapseOptions,
        names: &mut FrameNames,
        sink: &mut dyn Sink,
    ) -> FrameId {
        // What has no name is called by its address: `[00007FF712345678]`.
        let inner = self.name.strip_prefix(b"[").and_then(|name| name.strip_suffix(b"]"));
        let is_address = inner.is_some_and(|inner| inner.iter().all(u8::is_ascii_hexdigit));
        let native = NativeFrame {
            symbol: if is_address { b"" } else { &self.name },
            module: &self.module,
            address: id.strip_prefix(b"0x").unwrap_or(id),
            srcline: &self.source,
            kernel: false,
        };
        native.frame(options, names, sink)
    }
}

/// The next text in quotes.
fn quoted(rest: &mut &[u8], has_escapes: bool) -> Option<Vec<u8>> {
    let text = rest.trim_ascii_start().strip_prefix(b"\"")?;
    let mut out = Vec::new();
    let mut at = 0;
    loop {
        match text.get(at)? {
            b'"' => break,
            b'\\' if has_escapes => {
                out.push(*text.get(at + 1)?);
                at += 2;
            }
            &byte => {
                out.push(byte);
                at += 1;
            }
        }
    }
    *rest = &text[at + 1..];
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::tests::{collapse_bytes, fold};

    const STATISTICS: &[u8] =
        b"Filename: C:\\app\\orders.exe\r\nDuration: 2.5\r\nDate: Sun Nov 22 2026\r\nSamples: 9\r\n";
    const SYMBOLS: &[u8] = b"0x10 \"orders\" \"Shop::run(int)\" \"C:\\\\src\\\\shop.cpp\" 12\r\n\
        0x20 \"orders\" \"a \\\"b\\\";c\" \"\" 0\r\n0x30 \"ntdll\" \"[0000000000000030]\" \"\" 0\r\n";

    fn capture(files: &[(&str, &[u8])]) -> Vec<u8> {
        crate::collapse::kit::archive::tests::zip_of(files)
    }

    fn newest() -> Vec<u8> {
        capture(&[
            ("Stats.txt", STATISTICS),
            ("Symbols.txt", SYMBOLS),
            ("Callstacks.txt", b" 0x10 0x20 0x30\r\n 4711 0.25 4712 1.5e-05\r\n 0x20\r\n 4711 2\r\n"),
            ("Threads.txt", b"4711\r\nmain\r\n4712\r\n\r\n"),
            ("Version 0.91 required", b"0.91\r\n"),
        ])
    }

    #[test]
    fn stacks_of_threads_are_seconds() {
        let bytes = newest();
        assert_eq!(VerySleepy.detect(&bytes), Certainty::Magic);
        assert_eq!(crate::collapse::archive::Archive.detect(&bytes), Certainty::No);
        let (folded, report) = collapse_bytes(&VerySleepy, &bytes, &CollapseOptions::default()).unwrap();
        assert_eq!(folded, "[ntdll];a \"b\":c;Shop::run 0.250015\na \"b\":c 2\n");
        assert!(report.not_understood.doubts.is_empty() && report.notes.is_empty(), "{report:?}");
        assert_eq!(report.facts.command.as_deref(), Some("C:\\app\\orders.exe"));
        assert_eq!(report.facts.duration, Some(Duration::from_millis(2500)));
        let threads = CollapseOptions { tid: true, srcline: true, ..CollapseOptions::default() };
        let folded = fold(&VerySleepy, &bytes, &threads);
        assert!(
            folded.contains("main-?/4711;[ntdll];a \"b\":c;Shop::run (C:\\src\\shop.cpp:12) 0.25\n"),
            "{folded}"
        );
        assert!(folded.contains("[unnamed]-?/4712;[ntdll];"), "{folded}");
    }

    #[test]
    fn older_versions_have_no_threads_and_no_escapes() {
        let symbols = b"\"orders\" \"run\" \"C:\\src\\shop.cpp\" 12\n\"orders\" \"main\" \"\" 0\n";
        let files: [(&str, &[u8]); 5] = [
            ("Stats.txt", STATISTICS),
            ("IPCounts.txt", b"3\n0 3\n"),
            ("Symbols.txt", symbols),
            ("Callstacks.txt", b"0.5 0 1\n2.5 1\n"),
            ("Version 0.82 required", b"0.82\n"),
        ];
        let srcline = CollapseOptions { srcline: true, ..CollapseOptions::default() };
        assert_eq!(
            fold(&VerySleepy, capture(&files), &srcline),
            "main 2.5\nmain;run (C:\\src\\shop.cpp:12) 0.5\n"
        );
        let named = b"sym0 \"orders\" \"run\" \"\" 0\nsym1 \"orders\" \"main\" \"\" 0\n";
        let files = [files[0], ("Symbols.txt", named), ("Callstacks.txt", b"0.5 sym0 sym1\n"), files[4]];
        assert_eq!(fold(&VerySleepy, capture(&files), &CollapseOptions::default()), "main;run 0.5\n");
    }

    #[test]
    fn damage_is_said() {
        let doubts = |files: &[(&str, &[u8])]| {
            let (_, report) =
                collapse_bytes(&VerySleepy, capture(files), &CollapseOptions::default()).unwrap();
            (report.not_understood.doubts, report.not_understood.count)
        };
        let stats = ("Stats.txt", STATISTICS);
        let stacks: (&str, &[u8]) = ("Callstacks.txt", b"1 0x10\nx 0x20\n-1 0x20\n 0x10\n 7 1 8\n");
        let (doubts, lines) = doubts(&[stats, ("Symbols.txt", b"0x20 \"a\n?\n"), stacks]);
        assert!(doubts[0].contains("does not name its version"), "{doubts:?}");
        assert!(doubts[1].contains("2 addresses of stacks are not in Symbols.txt"), "{doubts:?}");
        // Of the symbols `?`; of the stacks both weights and the second thread.
        assert_eq!(lines, 4);
        let error = collapse_bytes(&VerySleepy, capture(&[stats]), &CollapseOptions::default()).unwrap_err();
        assert!(error.to_string().contains("a capture with Callstacks.txt"), "{error}");
        for cut in 0..newest().len() - 20 {
            assert!(
                collapse_bytes(&VerySleepy, &newest()[..cut], &CollapseOptions::default()).is_err(),
                "{cut}"
            );
        }
    }

    #[test]
    fn other_archives_are_none() {
        for (name, content) in [("Stats.txt", &b"a;b 3\n"[..]), ("stats.txt", STATISTICS), ("a", b"")] {
            assert_eq!(VerySleepy.detect(&capture(&[(name, content)])), Certainty::No, "{name}");
        }
        assert_eq!(VerySleepy.detect(b"PK\x03\x04"), Certainty::No);
        assert!(crate::collapse::archive::is_archive(&capture(&[("a", b"")])));
    }
}

//! The maps that bpftrace prints when a program ends, as text and as lines of JSON.
//!
//! ```text
//! Attaching 2 probes...
//!
//! @cpu[calc: two,
//!     shop::Deep::visit(int)+31
//!     work(int)+743
//! ,
//!     __x64_sys_mprotect+27
//!     entry_SYSCALL_64_after_hwframe+118
//! ]: 7
//! ```
//! A map whose keys hold stacks is a value; its other parts, the command and such, are frames
//! above the stack. Of a user's and a kernel's stack in one key, the kernel's goes below, in
//! whichever order the program named them. Histograms and statistics have no one weight and are
//! left out. What a program prints itself with a stack below (`printf("%s %d%s", comm, tid,
//! ustack)`) counts one each time. Fields among these words are labels, and `nsecs=` or `elapsed=` is the
//! time: `printf("nsecs=%llu comm=%s tid=%d%s", nsecs, comm, tid, ustack)`.
//!
//! The forms are documented in bpftrace's `man/adoc/bpftrace.adoc` and made in `src/output.cpp`
//! and `src/bpftrace.cpp` (`get_stack`).

mod key;
mod maps;

use self::maps::Maps;
use crate::collapse::kit::folded_detection::head_lines;
use crate::collapse::kit::json::{Json, Kind};
use crate::collapse::kit::text::{Text, split_last};
use crate::collapse::{Certainty, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::Result;
use crate::input::Input;
use crate::weight::Weight;

const TEXT: FormatInfo = FormatInfo {
    name: "bpftrace",
    producer: "bpftrace: maps of stacks, printed stacks",
    tested: Tested::Seen("bpftrace 0.17"),
    values: "the program's maps: @cpu",
    unit: "-",
};

const JSON: FormatInfo = FormatInfo { name: "bpftrace-json", producer: "bpftrace -f json", ..TEXT };

/// The warning of maps that are no profile.
const NO_WEIGHT: &str = "bpftrace's histograms and statistics have no one weight and are left out";

/// The name of the value of stacks that the program prints itself.
const PRINTED: &[u8] = b"printf";

/// Collapses bpftrace's text.
pub struct Bpftrace;

/// Collapses bpftrace's JSON.
pub struct BpftraceJson;

impl Collapser for Bpftrace {
    fn info(&self) -> &'static FormatInfo {
        &TEXT
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo {
            times: "printed stacks, behind nsecs= or elapsed=",
            clock: Some("monotonic"),
            labels: "thread, tid, process, what is printed as key=value",
        }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let first = head_lines(head).next().unwrap_or_default();
        if (first.starts_with(b"Attaching ") || first.starts_with(b"Attached "))
            && memchr::memmem::find(first, b" probe").is_some()
        {
            return Certainty::Yes;
        }
        let mut opened = false;
        for line in head_lines(head) {
            match map(line) {
                Some((_, rest)) if entry(rest).is_some() => return Certainty::Yes,
                Some((_, rest)) => opened = rest.is_empty() || rest.ends_with(b", "),
                None if opened && is_frame(line) => return Certainty::Yes,
                None => opened = false,
            }
        }
        Certainty::No
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut text = Text::new(input);
        let mut lines = Lines {
            maps: Maps::new(reading, b", "),
            state: State::Outside,
            print: Print::default(),
            left_out: false,
        };
        text.for_each(report, |line| lines.line(line, sink))?;
        if let State::Key { key, .. } = &lines.state {
            report.not_understood.note(key, || text.place());
        }
        if !lines.print.stack.is_empty() && !lines.print.ended {
            text.end_within_record(report);
        }
        lines.print(sink)?;
        if lines.left_out {
            report.warn(NO_WEIGHT);
        }
        lines.maps.finish(sink, report)
    }
}

/// The part of the text that a line belongs to.
enum State {
    /// Between the entries of maps.
    Outside,
    /// In a key that goes over several lines.
    Key { name: Vec<u8>, key: Vec<u8> },
    /// Below a histogram's name, up to the next blank line.
    Histogram,
}

/// The last text that the program has printed.
#[derive(Default)]
struct Print {
    words: Vec<u8>,
    /// Lines of frames.
    stack: Vec<u8>,
    /// True if a blank line followed.
    ended: bool,
}

struct Lines<'o> {
    maps: Maps<'o>,
    state: State,
    print: Print,
    left_out: bool,
}

impl Lines<'_> {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        match std::mem::replace(&mut self.state, State::Outside) {
            State::Outside => self.outside(line, sink),
            State::Histogram if line.is_empty() || map(line).is_some() => self.outside(line, sink),
            State::Histogram => {
                self.state = State::Histogram;
                Ok(true)
            }
            // The end of the key that was begun is missing.
            State::Key { .. } if map(line).is_some() => self.outside(line, sink).map(|_| false),
            State::Key { name, mut key } => {
                // The blank of a separator at the end of a line is not there any more.
                if key.ends_with(b",") {
                    key.push(b' ');
                }
                key.push(b'\n');
                if is_frame(line) {
                    key.extend_from_slice(line);
                } else if let Some((rest, value)) = entry(line) {
                    key.extend_from_slice(rest);
                    return self.add(&name, &key, value, sink);
                } else {
                    key.extend_from_slice(line);
                }
                self.state = State::Key { name, key };
                Ok(true)
            }
        }
    }

    fn outside(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        let Some((name, rest)) = map(line) else { return self.printed(line, sink) };
        self.print(sink)?;
        if let Some((key, value)) = entry(rest) {
            return self.add(name, key, value, sink);
        }
        self.state = State::Key { name: name.to_owned(), key: rest.to_owned() };
        Ok(true)
    }

    fn add(&mut self, name: &[u8], key: &[u8], value: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        if let Some(weight) = Weight::parse(value) {
            self.maps.add(name, key, weight, sink)?;
        } else {
            // `count 3, average 5, total 15`, or nothing: a histogram's bars follow.
            self.left_out = true;
            if value.is_empty() {
                self.state = State::Histogram;
            }
        }
        Ok(true)
    }

    /// A line that the program printed.
    fn printed(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        if is_frame(line) {
            if std::mem::take(&mut self.print.ended) {
                self.print.stack.push(b'\n');
            }
            self.print.stack.push(b'\n');
            self.print.stack.extend_from_slice(line);
        } else if line.is_empty() {
            // Two stacks below the same words have a blank line between them.
            self.print.ended = !self.print.stack.is_empty();
            if self.print.words.is_empty() {
                self.print(sink)?;
            }
        } else {
            self.print(sink)?;
            // `@total: 5` and `@h:` are maps without keys.
            if line.starts_with(b"@") && line.ends_with(b":") {
                self.left_out = true;
                self.state = State::Histogram;
            } else if !line.starts_with(b"Attach") {
                line.clone_into(&mut self.print.words);
            }
        }
        Ok(true)
    }

    /// Ends what was printed.
    fn print(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let Print { mut words, stack, .. } = std::mem::take(&mut self.print);
        if stack.is_empty() {
            return Ok(());
        }
        words.extend_from_slice(&stack);
        self.maps.add(PRINTED, &words, Weight::ONE, sink)
    }
}

/// `@cpu[` and what follows.
fn map(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = line.strip_prefix(b"@")?;
    let len = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    let rest = rest[len..].strip_prefix(b"[")?;
    Some((&line[..=len], rest))
}

/// The end of a key and its value: `, calc: two]: 3`; the value is nothing for a histogram.
fn entry(line: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some(key) = line.strip_suffix(b"]:").or_else(|| line.strip_suffix(b"]: ")) {
        return Some((key, b""));
    }
    let (key, value) = split_last(line, b"]: ")?;
    let number = value.strip_prefix(b"-").unwrap_or(value).first().is_some_and(u8::is_ascii_digit);
    (number || value.starts_with(b"count ") || value.starts_with(b"(") || value.starts_with(b"{"))
        .then_some((key, value))
}

/// `    work(int)+743`, or with an address behind a tab.
fn is_frame(line: &[u8]) -> bool {
    (line.starts_with(b"    ") || line.starts_with(b"\t")) && !line.trim_ascii().is_empty()
}

impl Collapser for BpftraceJson {
    fn info(&self) -> &'static FormatInfo {
        &JSON
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        const TYPES: [&[u8]; 5] =
            [b"\"attached_probes\"", b"\"map\"", b"\"hist\"", b"\"printf\"", b"\"stats\""];
        let kind = head.trim_ascii_start().strip_prefix(b"{\"type\":").map(<[u8]>::trim_ascii_start);
        match kind {
            Some(kind) if TYPES.iter().any(|known| kind.starts_with(known)) => Certainty::Yes,
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
        let mut maps = Maps::new(reading, b",");
        let mut left_out = false;
        loop {
            left_out |= document(&mut json, &mut maps, sink)?;
            if !json.next_document()? {
                break;
            }
        }
        if left_out {
            report.warn(NO_WEIGHT);
        }
        maps.finish(sink, report)
    }
}

/// One line: `{"type": "map", "data": {"@cpu": {"calc: two,\n    work(int)+743\n": 7}}}`. Says
/// whether it held anything that has no one weight.
fn document(json: &mut Json, maps: &mut Maps<'_>, sink: &mut dyn Sink) -> Result<bool> {
    let (mut name, mut key) = (String::new(), String::new());
    let mut left_out = false;
    json.begin_object()?;
    while json.next_key(&mut key)? {
        if key != "data" || json.peek()? != Kind::Object {
            json.skip()?;
            continue;
        }
        json.begin_object()?;
        while json.next_key(&mut name)? {
            let is_map = name.starts_with('@');
            if !is_map || json.peek()? != Kind::Object {
                left_out |= is_map && json.peek()? == Kind::Array;
                json.skip()?;
                continue;
            }
            json.begin_object()?;
            while json.next_key(&mut key)? {
                if json.peek()? == Kind::Number {
                    let weight = json.weight()?;
                    maps.add(name.as_bytes(), key.as_bytes(), weight, sink)
                        .map_err(|e| e.or_at(|| json.place()))?;
                } else {
                    left_out = true;
                    json.skip()?;
                }
            }
        }
    }
    Ok(left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;
    use crate::collapse::ValueSelection;
    use crate::collapse::tests::{collapse_bytes, fold};

    const MAPS: &str = "Attaching 1 probe...\n\n@start[7]: 99\n@a[]: 2\n@a[x]: y, \n    f+1\n    main+2\n, \n    k+1\n    entry_SYSCALL_64+3\n, 7]: 3\n@h[\n    f+1\n]: \n[2, 4)   3 |@@@|\n\n@s[\n    f+1\n]: count 1, average 2, total 2\n@b[\n\t55 f(int)+9 (/bin/a)\n]: -5\n@z: 3\n";

    #[test]
    fn maps_are_values_and_the_kernel_is_below() {
        assert_eq!(
            fold(&Bpftrace, MAPS, &CollapseOptions::default()),
            "[no stack] 2\nx]: y;7;main;f;entry_SYSCALL_64;k 3\n"
        );
        let (_, report) = collapse_bytes(&Bpftrace, MAPS, &CollapseOptions::default()).unwrap();
        assert_eq!(report.notes, [NO_WEIGHT]);
        let names: Vec<_> =
            report.values.iter().map(|(v, t)| (v.name.as_slice(), t.weight.to_string(), t.kept)).collect();
        assert_eq!(names, [(&b"@a"[..], "5".to_owned(), true), (b"@b", "-5".to_owned(), false)]);
    }

    #[test]
    fn maps_are_chosen_by_name() {
        let with = |values, kernel, threads| {
            fold(
                &Bpftrace,
                MAPS,
                &CollapseOptions { values, kernel, threads_as_frames: threads, ..CollapseOptions::default() },
            )
        };
        let named = |name: &str| ValueSelection::Named(vec![name.into()]);
        assert_eq!(with(named("b"), false, None), "f -5\n");
        assert_eq!(with(named("@start"), false, None), "7 99\n");
        assert_eq!(
            with(named("@a"), true, Some(false)),
            "[no stack] 2\nmain;f;entry_SYSCALL_64_[k];k_[k] 3\n"
        );
        assert_eq!(
            with(ValueSelection::All, false, None),
            "@a;[no stack] 2\n@a;x]: y;7;main;f;entry_SYSCALL_64;k 3\n@b;f -5\n"
        );
    }

    #[test]
    fn stacks_that_are_printed_count_one_each() {
        let text = "Attaching 1 probe...\na 7\n        f+1\n        main+2\n\nhello\na 7\n        f+1\n        main+2\n\n        k+1\n        do_syscall_64+1\n\n";
        assert_eq!(
            fold(&Bpftrace, text, &CollapseOptions::default()),
            "a 7;main;f 1\na 7;main;f;do_syscall_64;k 1\n"
        );
        let bare = "Attaching 1 probe...\n\n    f+1\n\n    f+1\n    main\n\n";
        assert_eq!(fold(&Bpftrace, bare, &CollapseOptions::default()), "f 1\nmain;f 1\n");
    }

    #[test]
    fn printed_fields_are_time_and_labels() {
        use crate::profile::{Label, Profile};
        use crate::reading::ReadOptions;
        let text = "Attaching 1 probe...\nnsecs=5000000 comm=a b tid=7 cgroup=/x\n        f+1\n        main+2\n\n\
                    nsecs=27000000 comm=a b tid=7\n        f+1\n        main+2\n\n";
        assert_eq!(
            fold(&Bpftrace, text, &CollapseOptions::default()),
            "comm=a b tid=7;main;f 1\ncomm=a b tid=7 cgroup=/x;main;f 1\n"
        );
        let options = ReadOptions::default().samples(true);
        let profile = Profile::read(&[crate::Source::bytes(text)], &options).unwrap();
        let labels = ["time=20ms", "thread", "tid", "cgroup"].map(|label| Label::parse(label).unwrap());
        let mut out = Vec::new();
        profile.labelled(&labels).unwrap().stacks().write(&mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "time=000000.000s;thread=a b;tid=7;cgroup=/x;comm=a b tid=7 cgroup=/x;main;f 1\n\
             time=000000.020s;thread=a b;tid=7;cgroup=;comm=a b tid=7;main;f 1\n"
        );
        assert_eq!(profile.facts().clock.as_deref(), Some("monotonic"));
    }

    #[test]
    fn json_is_the_same() {
        let json = r#"{"type": "attached_probes", "data": {"probes": 2}}

{"type": "map", "data": {"@n": {"7": 4}, "@a": {"": 2, "x,\n    f+1\n    main+2\n,\n    k+1\n    entry_SYSCALL_64+3\n,7": 3}}}
{"type": "hist", "data": {"@h": [{"min": 1, "max": 2, "count": 1}]}}
{"type": "stats", "data": {"@s": {"k": {"count": 1, "average": 2, "total": 2}}}}
"#;
        assert_eq!(BpftraceJson.detect(json.as_bytes()), Certainty::Yes);
        let (folded, report) = collapse_bytes(&BpftraceJson, json, &CollapseOptions::default()).unwrap();
        assert_eq!(folded, "[no stack] 2\nx;7;main;f;entry_SYSCALL_64;k 3\n");
        assert_eq!(report.notes, [NO_WEIGHT]);
        let error =
            collapse_bytes(&BpftraceJson, &json[..140], &CollapseOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with("test: byte "), "{error}");
    }

    #[test]
    fn a_key_without_an_end_is_not_understood() {
        for text in ["@a[\n    f+1\n@a[\n    g+1\n]: 1\n", "@a[\n    g+1\n]: 1\n@a[\n    f+1\n"] {
            let (folded, report) = collapse_bytes(&Bpftrace, text, &CollapseOptions::default()).unwrap();
            assert_eq!((folded.as_str(), report.not_understood.count), ("g 1\n", 1), "{text}");
        }
    }
}

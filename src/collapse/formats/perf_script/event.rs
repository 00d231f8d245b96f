//! An event line: who was running, when, how much it counts, and of what.
//!
//! ```text
//! calc (1)  6329/6344 [001]   799.251439:    2004008 cpu-clock:u:
//! ```
//! `perf script -F` chooses the columns, and the command name before them is free text of up to
//! fifteen bytes that is not escaped: `perf 77 [001]` is one. So the columns of a recording are
//! worked out from its first lines ([`Layout::guess`]), and each line is read with those: of all
//! numbers that could be the thread, the last one that leaves a short enough name before it.

use super::attached::is_attached;
use super::frame::{is_hex, one_line_frame, without_tab};
use super::words::{
    end_of_raw_event, is_blank, is_misc, is_number, is_padded_as_period, nanoseconds, split_ids, split_token,
    without_time, without_time_behind,
};
use crate::input::lines;

/// The kernel's limit for a command name, without its final zero.
pub(super) const COMM_MAX: usize = 15;

/// An event line taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct EventLine<'a> {
    /// Command, process and thread, as the line begins.
    pub thread: &'a [u8],
    /// The command, without the blanks that pad it.
    pub comm: &'a [u8],
    /// The process, if the line has it.
    pub pid: Option<&'a [u8]>,
    /// The thread.
    pub tid: &'a [u8],
    /// The weight, if the line has it.
    pub period: Option<&'a [u8]>,
    /// The event with its modifiers; empty if the line does not have it.
    pub event: &'a [u8],
    /// The text behind the event: nothing, a tracepoint's payload, or a frame.
    pub rest: &'a [u8],
}

/// The columns that the event lines of a recording have between thread and frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub cpu: bool,
    pub time: bool,
    pub period: bool,
    event: bool,
    /// True if the number in front is the period, because there is no thread: `-F comm,period,event,ip`.
    period_first: bool,
}

impl Layout {
    /// The columns that `perf script` prints by default.
    pub const DEFAULT: Layout =
        Layout { cpu: false, time: true, period: true, event: true, period_first: false };

    /// Returns whether no other text looks like this.
    pub fn is_telling(&self) -> bool {
        self.event && (self.time || self.cpu)
    }

    /// Returns true if event lines name the event.
    pub fn has_event(&self) -> bool {
        self.event
    }

    /// All layouts, those with more columns first.
    pub fn all() -> impl Iterator<Item = Layout> {
        (0..16u8).rev().map(|bits| Layout {
            time: bits & 8 != 0,
            event: bits & 4 != 0,
            cpu: bits & 2 != 0,
            period: bits & 1 != 0,
            period_first: false,
        })
    }

    /// The layout that most lines of a recording's beginning follow, with as many columns as
    /// possible; `None` if none of them is an event line.
    pub fn guess(head: &[u8]) -> Option<Layout> {
        /// More lines only cost time: a file has one layout.
        const LINES: usize = 200;
        // The last line may be cut anywhere.
        let head = match memchr::memrchr(b'\n', head) {
            Some(end) => &head[..=end],
            None => head,
        };
        let lines: Vec<&[u8]> = candidate_lines(head).take(LINES).collect();
        let follows = |layout: Layout| lines.iter().filter(|line| layout.parse(line).is_some()).count();
        let scored = Layout::all().map(|layout| (follows(layout), layout));
        // The first of equals, the one with more columns, is to win: max_by_key takes the last.
        let (count, best) = scored.collect::<Vec<_>>().into_iter().rev().max_by_key(|(count, _)| *count)?;
        let is_alone = !(best.cpu || best.time || best.period);
        let is_padded = |line: &&[u8]| {
            let event = best.parse(line);
            event.is_none_or(|event| event.pid.is_none() && is_padded_as_period(event.thread))
        };
        let period_first = is_alone && lines.iter().all(is_padded);
        (count > 0).then_some(Layout { period_first, ..best })
    }

    /// Returns true if the first lines are samples of one line each, with a weight, an event and a frame:
    /// `w  6976          1      page-faults:  ffffffff817554ea elf_load+0x28a ([kernel.kallsyms])`.
    pub fn is_of_one_line_samples(&self, head: &[u8]) -> bool {
        let is_one = |line: &[u8]| {
            let frame = self
                .parse(line)
                .filter(|event| event.period.is_some())
                .and_then(|event| one_line_frame(event.rest));
            frame.is_some_and(|frame| frame.ends_with(b")"))
        };
        let mut lines = candidate_lines(head).take(3).peekable();
        self.event && self.period && lines.peek().is_some() && lines.all(is_one)
    }

    /// Takes a line apart; `None` if it has not these columns.
    pub fn parse<'a>(&self, line: &'a [u8]) -> Option<EventLine<'a>> {
        let lead = line.iter().take_while(|&&b| b == b' ').count();
        let mut best = None;
        let mut start = 0;
        while start < line.len() {
            if is_blank(line[start]) {
                start += 1;
                continue;
            }
            let end = memchr::memchr2(b' ', b'\t', &line[start..]).map_or(line.len(), |n| start + n);
            let comm = line[lead.min(start)..start].trim_ascii();
            if comm.len() > COMM_MAX && best.is_some() {
                break;
            }
            // Without a blank before the number it is part of the name.
            if (start == 0 || is_blank(line[start - 1]))
                && end < line.len()
                && let Some((pid, tid)) = split_ids(&line[start..end])
                && let Some(columns) = self.parse_columns(&line[end..])
            {
                best = Some(columns.of(&line[..end], comm, pid, tid));
            }
            start = end;
        }
        if self.period_first
            && let Some(event) = &mut best
            && event.pid.is_none()
        {
            let period = std::mem::replace(&mut event.tid, b"?");
            let before = event.thread.strip_suffix(period).unwrap_or(event.thread);
            event.thread = without_time_behind(before).trim_ascii_end();
            event.comm = event.thread.trim_ascii();
            event.period = Some(period);
        }
        best
    }

    /// Takes a line apart that has these columns behind a command, or behind nothing.
    fn parse_behind_command<'a>(&self, line: &'a [u8]) -> Option<EventLine<'a>> {
        if !self.time && !self.event {
            return None;
        }
        let starts = (0..line.len()).filter(|&at| !is_blank(line[at]) && (at == 0 || is_blank(line[at - 1])));
        let commands = starts.map(|start| (line[..start].trim_ascii(), start));
        commands.take_while(|(comm, _)| comm.len() <= COMM_MAX).find_map(|(comm, start)| {
            let columns = self.parse_columns(&line[start..])?;
            // Behind a time and an event anything may stand.
            let is_whole = self.is_telling() || columns.rest.trim_ascii().is_empty();
            is_whole.then(|| columns.of(comm, comm, None, if comm.is_empty() { b"" } else { b"?" }))
        })
    }

    /// Reads the columns behind the thread.
    pub(super) fn parse_columns<'a>(&self, mut rest: &'a [u8]) -> Option<Columns<'a>> {
        if self.cpu {
            let (token, behind) = split_token(rest);
            let cpu = token.strip_prefix(b"[")?.strip_suffix(b"]")?;
            if cpu.len() < 3 || !cpu.iter().all(u8::is_ascii_digit) {
                return None;
            }
            rest = behind;
        }
        let (token, behind) = split_token(rest);
        if is_misc(token) {
            rest = behind;
        }
        if self.time {
            rest = without_time(rest)?;
        }
        let mut period = None;
        if self.period {
            let (token, behind) = split_token(rest);
            if is_number(token) {
                period = Some(token);
                rest = behind;
            } else if !self.time && !self.cpu {
                // Tracepoints have no period, but then another column must show what this is.
                return None;
            }
        }
        let mut event = &rest[..0];
        if self.event {
            rest = rest.trim_ascii_start();
            // The first colon before a blank, as a rule at the end of the first word.
            let (token, _) = split_token(rest);
            let end = match token.strip_suffix(b":") {
                Some(name) if !name.is_empty() => name.len(),
                _ => end_of_raw_event(rest)?,
            };
            event = &rest[..end];
            if nanoseconds(event).is_some() {
                // The time of a line that has no event.
                return None;
            }
            rest = &rest[end + 1..];
        } else {
            let (token, _) = split_token(rest);
            if !token.is_empty() && !is_hex(token) {
                return None;
            }
        }
        Some(Columns { period, event, rest })
    }
}

/// The columns behind the thread.
pub(super) struct Columns<'a> {
    period: Option<&'a [u8]>,
    event: &'a [u8],
    pub rest: &'a [u8],
}

impl<'a> Columns<'a> {
    pub fn of(self, thread: &'a [u8], comm: &'a [u8], pid: Option<&'a [u8]>, tid: &'a [u8]) -> EventLine<'a> {
        let Columns { period, event, rest } = self;
        EventLine { thread, comm, pid, tid, period, event, rest }
    }
}

/// Reads a line with the recording's layout, or with any other that fits and is telling.
pub(super) fn parse_event<'a>(line: &'a [u8], layout: Layout) -> Option<EventLine<'a>> {
    layout
        .parse(line)
        .or_else(|| Layout::all().filter(Layout::is_telling).find_map(|other| other.parse(line)))
}

/// [`parse_event`] for a line that could also be a frame without a tab: then the line must have columns
/// that no frame has.
pub(super) fn parse_event_or_frame<'a>(line: &'a [u8], layout: Layout) -> Option<EventLine<'a>> {
    match without_tab(line) {
        Some(_) => Layout::all().filter(Layout::is_telling).find_map(|telling| telling.parse(line)),
        None => parse_event(line, layout),
    }
}

/// Reads the line above a stack in a recording whose lines name no thread: other columns (`-F time,event,ip,sym`),
/// the command before them (`-F comm,event,ip,sym`), or the command alone (`-F comm,ip,sym`).
pub(super) fn parse_without_thread(line: &[u8]) -> Option<EventLine<'_>> {
    if let Some(found) = Layout::all().find_map(|layout| layout.parse_behind_command(line)) {
        return Some(found);
    }
    let comm = line.trim_ascii();
    // bpftrace has such stacks below its `@[`, and a header ends with a `#`.
    let other = matches!(comm.first(), None | Some(b'@' | b'#'));
    let short = !other && comm.len() <= COMM_MAX;
    let columns = Columns { period: None, event: b"", rest: b"" };
    short.then(|| columns.of(comm, comm, None, b"?"))
}

/// Recognises lines of perf itself about tasks and mappings (`--show-mmap-events`): no
/// sample.
pub(super) fn is_side_band(line: &[u8]) -> bool {
    // Behind thread and time; a command that is called so is followed by them. `--show-round-events` has neither.
    line == b"PERF_RECORD_FINISHED_ROUND"
        || memchr::memmem::find(line, b" PERF_RECORD_").is_some_and(|at| at >= "a 1".len())
}

/// The columns of notes on mappings, when nothing else has come yet: those of a sample with its weight and event.
/// `None` if a line is something else.
pub(super) fn layout_of_side_band(head: &[u8]) -> Option<Layout> {
    let whole = memchr::memrchr(b'\n', head)?;
    let mut found = None;
    for line in lines(&head[..whole]).filter(|line| !line.is_empty()).take(100) {
        let at = memchr::memmem::find(line, b" PERF_RECORD_")?;
        let sample = [&line[..at], b" 1 x: "].concat();
        let layout = Layout::all().find(|layout| layout.parse(&sample).is_some())?;
        found = found.or(Some(layout));
    }
    found
}

/// The lines of a recording that can be event lines: not blank, no frames, no header.
fn candidate_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut in_header = false;
    lines(head).map(|line| line.strip_suffix(b"\r").unwrap_or(line)).filter(move |line| {
        if line.starts_with(b"# ========") {
            in_header = !in_header;
            return false;
        }
        let is_frame = || {
            let is_telling =
                || Layout::all().filter(Layout::is_telling).any(|layout| layout.parse(line).is_some());
            without_tab(line).is_some() && !is_telling()
        };
        let is_other =
            || line.is_empty() || line.starts_with(b"\t") || is_side_band(line) || is_attached(line);
        !in_header && !is_other() && !is_frame()
    })
}

/// The time of an event in nanoseconds, from the whole line: the word between thread and event
/// that has a point.
pub(super) fn time_of(line: &[u8], event: &EventLine<'_>) -> Option<u64> {
    let between = line.get(event.thread.len()..line.len() - event.rest.len())?;
    between.split(|&b| is_blank(b)).find_map(|word| nanoseconds(word.strip_suffix(b":")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str, layout: Layout) -> String {
        let Some(e) = layout.parse(line.as_bytes()) else { return "no".into() };
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let pid = e.pid.map_or(String::new(), |pid| text(pid) + "/");
        let period = e.period.map_or("-".into(), text);
        format!(
            "{}|{pid}{}|{period}|{}|{}",
            text(e.comm),
            text(e.tid),
            text(e.event),
            text(e.rest.trim_ascii())
        )
    }

    fn layout(cpu: bool, time: bool, period: bool, event: bool) -> Layout {
        Layout { cpu, time, period, event, period_first: false }
    }

    #[test]
    fn a_number_as_wide_as_a_period_is_no_thread() {
        for (line, is_period) in [
            ("w    2000000 ", true),
            ("   2000000 ", true),
            ("w          1 ", true),
            ("w 2000000000 ", true),
            ("w 123456789012 ", true),
            ("w 18913 ", false),
            ("w   18913 ", false),
            ("w 1234567 ", false),
            ("  18913 ", false),
            // The width is ten; behind a name there is a blank more.
            ("    200000 ", true),
            ("   200000 ", false),
            ("w     200000 ", true),
            ("w    200000 ", false),
        ] {
            assert_eq!(is_padded_as_period(line.trim_end().as_bytes()), is_period, "{line}");
        }
    }

    #[test]
    fn hostile_commands_stay_whole() {
        let cpu = layout(true, true, true, true);
        for (line, expected) in [
            ("calc (1)  6344 [001]   799.251439:    2004008 cpu-clock: ", "calc (1)|6344|2004008|cpu-clock|"),
            (
                "123 456  7490 [001]   825.175439:          1      page-faults: ",
                "123 456|7490|1|page-faults|",
            ),
            (
                "x 42/43 y  7490/7491 [001]   825.175439: 1 page-faults: ",
                "x 42/43 y|7490/7491|1|page-faults|",
            ),
            ("perf 77 [001]  7490 [000]   825.175439: 1 cycles:ppp: ", "perf 77 [001]|7490|1|cycles:ppp|"),
            (
                "1 2/3 [001] 4.5  2814 [001]  3511.113299:    1669449 cpu-clock: ",
                "1 2/3 [001] 4.5|2814|1669449|cpu-clock|",
            ),
            ("cpu-clock: 9:  7490 [001]   825.175439: 1 cycles: ", "cpu-clock: 9:|7490|1|cycles|"),
            ("  2816 [001]  3511.179193:    1669449 cpu-clock: ", "|2816|1669449|cpu-clock|"),
            ("swapper     0 [000]   825.175439: 1 cycles: ", "swapper|0|1|cycles|"),
            ("w 17231 [000] K      7056.195851:          1 page-faults: ", "w|17231|1|page-faults|"),
            (":-1    -1 [000]   825.175439: 1 cycles: ", ":-1|-1|1|cycles|"),
            ("#lead  2810 [001]  3511.105281:    1669449 cpu-clock: ", "#lead|2810|1669449|cpu-clock|"),
        ] {
            assert_eq!(shown(line, cpu), expected);
        }
    }

    #[test]
    fn payloads_and_frames_follow_the_event() {
        let plain = Layout::DEFAULT;
        assert_eq!(
            shown(
                "names  7825 836.063050: sched:sched_switch: prev_comm=sw: two 3 4.000001: prev_pid=1",
                plain
            ),
            "names|7825|-|sched:sched_switch|prev_comm=sw: two 3 4.000001: prev_pid=1"
        );
        assert_eq!(
            shown(
                "       plain one  7592   827.881644:    2004008 cpu-clock:      5627 spin+0x1d (/c/names)",
                plain
            ),
            "plain one|7592|2004008|cpu-clock|5627 spin+0x1d (/c/names)"
        );
        assert_eq!(shown("1 2 4.500000: x  2814 3511.113299: 1 e: ", plain), "1 2 4.500000: x|2814|1|e|");
        // Without an event there is nothing behind the thread, or a frame.
        let alone = layout(false, false, false, false);
        assert_eq!(shown("a  7 ", alone), "a|7|-||");
        assert_eq!(shown("a  7 7f1e2215d058 f+0x1 (/x)", alone), "a|7|-||7f1e2215d058 f+0x1 (/x)");
        assert_eq!(shown("a  7 word", alone), "no");
        // A name of fifteen bytes that looks like another line.
        assert_eq!(shown("22 4.500000: e:  2814 3511.113299: 1 e: ", plain), "22 4.500000: e:|2814|1|e|");
        assert_eq!(
            shown("22 3511.113299: 1 e:  x 2814 3511.113299: 1 e: ", plain),
            "|22|1|e|x 2814 3511.113299: 1 e:"
        );
        assert_eq!(shown("a  1 8.881644: 7 cpu_core/cycles/u: ", plain), "a|1|7|cpu_core/cycles/u|");
        assert_eq!(shown("a  1 8.881644: 7 raw 0x1c2: ", plain), "a|1|7|raw 0x1c2|");
        for nameless in ["a  1 8.881644: 7 : ", "a  1 8.881644: 7 two words: ", "a  1 8.881644: 7 raw 0x1c2 "]
        {
            assert_eq!(shown(nameless, plain), "no", "{nameless}");
        }
    }

    #[test]
    fn simpleperf_puts_tabs_between_columns() {
        let cpu = layout(true, true, true, true);
        for (line, expected, time) in [
            (
                "main thread\t27 [002] 12.345:\t\t250 cpu-clock:",
                "main thread|27|250|cpu-clock|",
                12_000_345_000,
            ),
            (
                "RenderThread\t11/27 [002] 12.000345: 250 cpu-cycles:u:",
                "RenderThread|11/27|250|cpu-cycles:u|",
                12_000_345_000,
            ),
        ] {
            assert_eq!(shown(line, cpu), expected);
            let parsed = cpu.parse(line.as_bytes()).unwrap();
            assert_eq!(time_of(line.as_bytes(), &parsed), Some(time));
        }
        assert_eq!(shown("a 27 [002] 12.345: 250 cpu-clock:", cpu), "no", "perf pads its times");
    }

    #[test]
    fn the_layout_is_guessed_from_the_first_lines() {
        for (head, expected) in [
            ("a  1 8.881644: 7 e: \n\t1 f (/x)\n\nb  1 8.881645: 7 e: \n", layout(false, true, true, true)),
            ("sh  6344 [001]    2004008 cpu-clock: \n\t1 f\n\n", layout(true, false, true, true)),
            (
                "123 456  7484      page-faults: \n\nnames  7484 page-faults: \n",
                layout(false, false, false, true),
            ),
            ("calc (1)  6344 \n\t1 f\n\nb 3 4  6344 \n", layout(false, false, false, false)),
            (
                "# ========\n# cmdline : x 1 2.345678: 5 e: \n# ========\n#\na  1 [000] 8.881644: 7 e: \n",
                layout(true, true, true, true),
            ),
        ] {
            let guessed = Layout::guess(head.as_bytes()).unwrap();
            let parse = |l: Layout| {
                candidate_lines(head.as_bytes())
                    .map(|line| shown(std::str::from_utf8(line).unwrap(), l))
                    .collect::<Vec<_>>()
            };
            assert_eq!(parse(guessed), parse(expected), "{head}: {guessed:?}");
        }
        assert_eq!(Layout::guess(b"\t1 f\n\n\t2 g\n"), None);
        assert_eq!(Layout::guess(b"                       1 f\n\n                      24 add\n"), None);
        let expanded = b"sh  6344 cycles:\n            1234 LazyCompile: a.js:3 (/tmp/perf-1.map)\n            5678 f (/x)\n";
        assert_eq!(Layout::guess(expanded), Some(layout(false, false, false, true)));
    }

    #[test]
    fn a_line_without_a_thread_is_a_command_or_has_columns() {
        let comm = |line: &str| {
            let found = parse_without_thread(line.as_bytes())?;
            Some(String::from_utf8_lossy(found.comm).into_owned())
        };
        assert_eq!(comm("  a23456789012345 ").as_deref(), Some("a23456789012345"));
        assert_eq!(comm(" 12.345678: 1 e: ").as_deref(), Some(""));
        for other in ["a234567890123456", "", " ", "@[", "#"] {
            assert_eq!(comm(other), None, "{other}");
        }
    }

    #[test]
    fn notes_of_perf_stand_behind_a_thread() {
        for (line, is_note) in [
            ("a 7 1.000001: PERF_RECORD_MMAP2 7/7: [0x55(0x1000) @ 0 08:01 9 0]: r-xp /bin/a", true),
            ("a 1 PERF_RECORD_COMM: a:1/1", true),
            // A command that is called so.
            (" PERF_RECORD_ 7 1.000001: 1 e: ", false),
            ("a 7 1.000001: 1 e: ", false),
        ] {
            assert_eq!(is_side_band(line.as_bytes()), is_note, "{line}");
        }
    }
}

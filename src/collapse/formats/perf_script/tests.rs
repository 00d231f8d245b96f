//! Tests of whole recordings: which line belongs to which sample, and the messages about the others.

use super::event::Layout;
use super::{PerfScript, sample_end};
use crate::collapse::tests::{collapse_bytes, fold};
use crate::collapse::{CollapseOptions, Collapser, Reading, Report};
use crate::input::Input;
use crate::profile::{ProfileBuilder, Wants};

fn report(text: &str, options: &CollapseOptions) -> Report {
    collapse_bytes(&PerfScript, text, options).unwrap().1
}

#[test]
fn source_lines_stand_two_blanks_in_or_below_frames_without_any() {
    let options = CollapseOptions { srcline: true, ..CollapseOptions::default() };
    let sample = |blanks: &str, below: &str| {
        format!("a 7 1.000001: 1 cycles:u: \n{blanks}7f1e2215d058 f+0x1 (/bin/a)\n{below}orders.c:12\n\n")
    };
    for (blanks, below) in [("\t    ", "  "), ("     ", "  "), ("", "")] {
        assert_eq!(fold(&PerfScript, sample(blanks, below), &options), "a;f (orders.c:12) 1\n", "{blanks:?}");
    }
    // Below a frame that stands further in it is some other line.
    let report = report(&sample("     ", ""), &options);
    assert_eq!(report.not_understood.count, 1, "{:?}", report.not_understood);
}

#[test]
fn a_frame_without_an_address_may_stand_behind_blanks() {
    let text = "w 7 1.000001: 1 cycles:u: \n     7f1e2215d058 f+0x1 (/bin/a)\n        main (/bin/a)\n\n";
    assert_eq!(fold(&PerfScript, text, &CollapseOptions::default()), "w;main;f 1\n");
}

#[test]
fn a_recording_that_ends_below_a_frame_ends_within_a_sample() {
    let ends_within =
        |text: &str| report(text, &CollapseOptions::default()).not_understood.ends_within_record.is_some();
    let sample = "a 7 1.000001: 1 cycles:u: \n\t    7f1e2215d058 f+0x1 (/bin/a)\n";
    assert!(ends_within(sample));
    assert!(!ends_within(&format!("{sample}\n")) && !ends_within(&format!("{sample}   \n")));
    assert!(ends_within(&format!("{sample}\na 7 1.000002: 1 cycles:u: \n")));
    // Copied without its last blank line, and perhaps without its last newline.
    let copied =
        format!("{sample}\n{}", sample.replace("f+0x1", "g+0x1 (/bin/a)\n\t     7f1e2215d060 f+0x1"));
    assert!(!ends_within(&copied) && !ends_within(copied.trim_end()));
    assert!(report(copied.trim_end(), &CollapseOptions::default()).not_understood.ends_within.is_none());
    assert!(ends_within(&copied.replace("f+0x1", "[unknown]")));
    // One line is a whole sample where no frames follow any.
    assert!(!ends_within("a 7 1.000001: 1 cycles:u: \na 7 1.000002: 1 cycles:u: \n"));
}

#[test]
fn a_command_may_have_fifteen_bytes_and_a_newline() {
    let of = |comm: &str| {
        let frame = "\t    7f1e2215d058 f+0x1 (/bin/a)\n\n";
        let text = format!("b 7 1.000001: 1 e: \n{frame}{comm} 7 1.000001: 1 e: \n{frame}");
        let (folded, report) = collapse_bytes(&PerfScript, text, &CollapseOptions::default()).unwrap();
        let first = report.not_understood.first.map_or(0, |(place, _)| place.line.unwrap());
        (folded, report.not_understood.count, first)
    };
    let expected = |comm: &str| format!("{comm};f 1\nb;f 1\n");
    assert_eq!(of("a23456789012345"), (expected("a23456789012345"), 0, 0));
    assert_eq!(of("a234567\n9012345"), (expected("a234567_9012345"), 0, 0));
    // A name that would be longer is a line of something else, and a name.
    assert_eq!(of("A234567\na9012345"), (expected("a9012345"), 1, 4));
    assert_eq!(of("A234567\nA90\na9012345"), (expected("a9012345"), 1, 4));
    // So are lines that another such line or a blank one follows.
    assert_eq!(of("A2345\nA2345678901234\na"), (expected("a"), 2, 4));
    assert_eq!(of("A2345\nA234567890\na"), (expected("a"), 2, 4));
    assert_eq!(of("A2345\n\na"), (expected("a"), 1, 4));
    assert_eq!(of("a2345\n789012345"), (expected("a2345_789012345"), 0, 0));
}

#[test]
fn a_header_holds_any_line_of_the_command() {
    let header = "# ========\n# captured on    : Sat Nov 21 10:00:00 2026\n# cmdline : python -c \n\
        \timport 7f1e2215d058\n\t7f1e2215d058 not_a_frame (/bin/a)\n    x = 1\n# ========\n#\n";
    let text = format!("{header}a 7 1.000001: 1 cycles:u: \n\t    7f1e2215d058 f+0x1 (/bin/a)\n\n");
    assert_eq!(fold(&PerfScript, text, &CollapseOptions::default()), "a;f 1\n");
}

#[test]
fn a_line_that_ends_as_the_one_before_may_have_more_in_its_symbol() {
    let text = "a 7 1.000001: 1 cycles:u: \n\
        \t    7f1e2215d058 add (/bin/a)\n\
        \t    7f1e2215d0   add (/bin/a)\n\
        \t    7f1e221 ptr  add (/bin/a)\n\
        \t    7f1e2215d058 add (/bin/a)\n\
        \t    7f1e2215d058 x add (/bin/a)\n\n";
    assert_eq!(fold(&PerfScript, text, &CollapseOptions::default()), "a;x add;add;ptr  add;add;add 1\n");
    // Nor is every line a frame.
    let text = "a 7 1.000001: 1 cycles:u: \n\
        \t    7f1e2215d058 add (/bin/a)\n\
        what is this, not add (/bin/a)\n\
        \t    7f1e2215d058 add (/bin/a)\n\n";
    let (folded, report) = collapse_bytes(&PerfScript, text, &CollapseOptions::default()).unwrap();
    assert_eq!((&folded[..], report.not_understood.count), ("a;add;add 1\n", 1));
}

#[test]
fn both_sizes_of_a_pair_of_periods_count() {
    let sample =
        |period: &str| format!("a 7 1.000001: {period} cycles:u: \n\t    7f1e2215d058 f (/bin/a)\n\n");
    let report = report(&[sample("10"), sample("20")].concat(), &CollapseOptions::default());
    assert_eq!(report.unit(), Some("cycles"), "and not samples");
}

#[test]
fn a_block_ends_between_two_samples() {
    let line = |n: usize| format!("a 7 1.00000{n}: 1 cycles:u: 7f1e2215d058 f+0x1 (/bin/a)\n");
    let frame = "\t    7f1e2215d058 f+0x1 (/bin/a)\n";
    for (whole, rest) in [
        (format!("{}{frame}\n", line(1)), format!("{}{frame}", line(2))),
        (format!("{}{frame}  \n", line(1)), format!("{}{frame}", line(2))),
        (format!("{}{frame}\r\n", line(1)), line(2)),
        // Without blank lines an event line begins the next one.
        ([line(1), line(2)].concat(), line(3)),
        (line(1), format!("{}{frame}{frame}", line(2))),
        (line(1), format!("{}a 7 1.0", line(2))),
    ] {
        let end = sample_end([&whole[..], &rest].concat().as_bytes(), Layout::DEFAULT);
        assert_eq!(end, Some(whole.len()), "{whole:?} {rest:?}");
    }
    assert_eq!(sample_end(line(1).as_bytes(), Layout::DEFAULT), None);
}

fn on_threads(threads: usize, text: &str) -> (String, Report) {
    let input = Input::new("test", Box::new(std::io::Cursor::new(text.to_owned().into_bytes()))).unwrap();
    let (mut builder, mut report) = (ProfileBuilder::new(Wants::default()), Report::default());
    let options = CollapseOptions { threads, ..CollapseOptions::default() };
    PerfScript.collapse(input, &Reading::alone(&options), &mut builder, &mut report).unwrap();
    let mut folded = Vec::new();
    builder.finish().unwrap().stacks().write(&mut folded).unwrap();
    (String::from_utf8(folded).unwrap(), report)
}

#[test]
fn several_threads_read_what_one_reads() {
    let sample = |n: usize| {
        format!("a{} 7 1.{n:06}: {n} cycles:u: \n\t    7f1e2215d058 f{} (/bin/a)\n\n", n % 3, n % 7)
    };
    // More than a block for each thread, and a line in the middle that is no record.
    let mut text: String = (1..30_000).map(sample).collect();
    let middle = text.len() / 2 + text[text.len() / 2..].find("\n\n").unwrap() + 2;
    let line = text[..middle].lines().count() as u64 + 1;
    text.insert_str(middle, "what is this line, then?\n\n");
    assert!(text.len() > 3 * 512 * 1024);
    let (one, report) = on_threads(1, &text);
    assert_eq!(one.lines().count(), 21);
    let lost = report.not_understood;
    assert_eq!((lost.count, lost.first.as_ref().and_then(|(place, _)| place.line)), (1, Some(line)));
    let (three, again) = on_threads(3, &text);
    assert_eq!((three, again.values), (one, report.values));
    assert_eq!((again.not_understood.count, again.not_understood.first), (1, lost.first));
}

#[test]
fn the_first_event_is_kept_where_it_comes_late() {
    let sample = |event: &str| format!("a 7 1.000001: 1 {event}: \n\t    7f1e2215d058 f (/bin/a)\n\n");
    // Nothing but notes in what is looked at first, and several blocks of the other event.
    let note = "a 7 1.000001: PERF_RECORD_MMAP2 7/7: [0x55d0c0(0x1000) @ 0 08:01 9 0]: r-xp /bin/a\n";
    let text = note.repeat(1000) + &sample("cycles").repeat(10_000) + &sample("faults").repeat(30_000);
    assert_eq!(on_threads(4, &text).0, "a;f 10000\n");
}

#[test]
fn a_stack_that_belongs_to_no_sample_is_one_loss() {
    for blanks in ["\t    ", "     ", ""] {
        let frames = format!("{blanks}7f1e2215d058 f+0x1 (/bin/a)\n{blanks}7f1e2215d059 g+0x1 (/bin/a)\n\n");
        let text = format!("a 7 1.000001: 1 cycles:u: \n{frames}{frames}");
        let (folded, report) = collapse_bytes(&PerfScript, text, &CollapseOptions::default()).unwrap();
        assert_eq!((&folded[..], report.not_understood.count), ("a;g;f 1\n", 1), "{blanks:?}");
    }
}

#[test]
fn lines_of_something_else_are_counted_wherever_they_stand() {
    let frame = "\t    7f1e2215d058 f+0x1 (/bin/a)\n";
    let sample = format!("a 7 1.000001: 1 cycles:u: \n{frame}\n");
    for other in ["what is this, then, if not a sample", "  what is this, then, if not a sample"] {
        let (folded, report) =
            collapse_bytes(&PerfScript, format!("{sample}{other}\n{sample}"), &CollapseOptions::default())
                .unwrap();
        assert_eq!((&folded[..], report.not_understood.count), ("a;f 2\n", 1), "{other:?}");
    }
    let within = format!("a 7 1.000001: 1 cycles:u: \n{frame}what is this, then, if not a frame\n{frame}\n");
    let (folded, report) = collapse_bytes(&PerfScript, within, &CollapseOptions::default()).unwrap();
    assert_eq!((&folded[..], report.not_understood.count), ("a;f;f 1\n", 1));
}

#[test]
fn lines_without_a_thread_may_have_other_columns() {
    let of = |line: &str, below: &str| {
        let sample = format!("{line}\n\t    7f1e2215d058 f\n{below}\t    7f1e2215d059 g\n{below}\n");
        let (folded, report) =
            collapse_bytes(&PerfScript, sample.repeat(2), &CollapseOptions::default()).unwrap();
        assert_eq!(report.not_understood.count, 0, "{line:?}");
        (folded, report.unit().unwrap_or_default().to_owned())
    };
    for (line, stack, weight, unit) in [
        ("my app cpu-clock: ", "my_app;g;f", 2, "samples"),
        ("my app 45272.092152: ", "my_app;g;f", 2, "samples"),
        ("my app 45272.092152: cpu-clock: ", "my_app;g;f", 2, "samples"),
        ("my app    1001001 cpu-clock: ", "my_app;g;f", 2_002_002, "ns"),
        ("my app 45272.092152:    1001001 cpu-clock: ", "my_app;g;f", 2_002_002, "ns"),
        ("my app    1001001 ", "my_app;g;f", 2_002_002, "events"),
        ("my app 45272.092152:    1001001 ", "my_app;g;f", 2_002_002, "events"),
        ("my app U     45272.092152:    1001001 ", "my_app;g;f", 2_002_002, "events"),
        ("my app  1316    1001001 ", "my_app;g;f", 2_002_002, "events"),
        ("my app", "my_app;g;f", 2, "samples"),
        ("my app  1316 U    ", "my_app;g;f", 2, "samples"),
        ("cpu-clock: ", "g;f", 2, "samples"),
        ("45272.092152: ", "g;f", 2, "samples"),
        ("", "g;f", 2, "samples"),
    ] {
        for below in ["", "  w.c:3\n", "  w.c:3\n|3        volatile unsigned long s;\n"] {
            let expected = (format!("{stack} {weight}\n"), unit.to_owned());
            assert_eq!(of(line, below), expected, "{line:?} {below:?}");
        }
    }
}

/// In place of the blank line.
#[test]
fn instructions_end_a_sample() {
    for line in ["my app  1316 ", "my app  1316 45272.092152:    1 e: ", "my app", "my app e: "] {
        for instructions in [" insn: 48 01 c8", " ilen: 3", " ilen: 3 insn: 48 01 c8"] {
            let sample = format!("{line}\n\t    7f1e2215d058 f\n{instructions}\n");
            let (folded, report) =
                collapse_bytes(&PerfScript, sample.repeat(3), &CollapseOptions::default()).unwrap();
            assert_eq!(
                (&folded[..], report.not_understood.count),
                ("my_app;f 3\n", 0),
                "{line}{instructions}"
            );
        }
    }
}

#[test]
fn notes_on_rounds_are_no_lost_lines() {
    let sample = "a 7 1.000001: 1 cycles:u: \n\t    7f1e2215d058 f+0x1 (/bin/a)\n\n";
    let text = format!("PERF_RECORD_FINISHED_ROUND\n{sample}PERF_RECORD_FINISHED_ROUND\n{sample}");
    let (folded, report) = collapse_bytes(&PerfScript, text, &CollapseOptions::default()).unwrap();
    assert_eq!((&folded[..], report.not_understood.count), ("a;f 2\n", 0));
}

/// `perf record` without call graphs, `perf script -F ip,sym`.
#[test]
fn frames_alone_are_a_sample_each() {
    let frame = |symbol: &str| format!("     55b2a5c8a147 {symbol}\n");
    let fold = |text: String| {
        let (folded, report) = collapse_bytes(&PerfScript, text, &CollapseOptions::default()).unwrap();
        assert_eq!(report.not_understood.ends_within_record, None);
        (folded, report.values.values().map(|total| total.samples).sum::<u64>())
    };
    for source in ["", "  orders.c:12\n"] {
        let text = [frame("f"), frame("g"), frame("f")].map(|frame| frame + source).concat();
        assert_eq!(fold(text.clone()), ("f 2\ng 1\n".into(), 3), "{source:?}");
        // More than a block.
        let (folded, samples) = fold(text.repeat(30_000));
        assert_eq!((&folded[..], samples), ("f 60000\ng 30000\n", 90_000), "{source:?}");
    }
    // Stacks end at blank lines, whatever stands in place of a tab.
    let stack = [frame("f"), frame("g"), "\n".into()].concat();
    assert_eq!(fold(stack.repeat(3)), ("g;f 3\n".into(), 3));
}

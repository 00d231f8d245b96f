//! Tests of single rules of the `perf script` parser, on small texts written for them.

use fg_tools::collapse::{CollapseOptions, ValueSelection};

use super::fold_bytes;

fn fold(text: &str, options: &CollapseOptions) -> String {
    fold_bytes(text.as_bytes(), Some("perf-script"), options).expect("it collapses").0
}

const HYBRID: &str = "\
a  1 [000] 5.000001:  10 cpu_core/cycles/u: 
\t            1000 f+0x1 (/bin/a)

a  1 [000] 5.000002:   7 cpu_atom/cycles/u: 
\t            1000 f+0x1 (/bin/a)

a  1 [000] 5.000003:   1 cpu_core/instructions/u: 
\t            1000 g+0x1 (/bin/a)

";

#[test]
fn both_kinds_of_cores_are_one_event() {
    assert_eq!(fold(HYBRID, &CollapseOptions::default()), "a;f 17\n");
    let named = CollapseOptions {
        values: ValueSelection::Named(vec![b"cpu_core/instructions/u".to_vec()]),
        ..CollapseOptions::default()
    };
    assert_eq!(fold(HYBRID, &named), "a;g 1\n");
    let all = CollapseOptions { values: ValueSelection::All, ..CollapseOptions::default() };
    assert_eq!(
        fold(HYBRID, &all),
        "cpu_atom/cycles/u;a;f 7\ncpu_core/cycles/u;a;f 10\ncpu_core/instructions/u;a;g 1\n"
    );
}

#[test]
fn events_are_named_with_or_without_modifiers() {
    let text = "a  1 5.000001: 3 cycles:ppp: \n\t            1000 f (/a)\n\n";
    for (name, found) in [("cycles", true), ("cycles:ppp", true), ("cycles:u", false), ("cycle", false)] {
        let options = CollapseOptions {
            values: ValueSelection::Named(vec![name.into()]),
            ..CollapseOptions::default()
        };
        let result = fold_bytes(text.as_bytes(), Some("perf-script"), &options);
        assert_eq!(result.is_ok(), found, "{name}: {result:?}");
        if let Err(error) = result {
            assert!(error.contains("no samples of that value; there is \"cycles:ppp\""), "{error}");
        }
    }
}

#[test]
fn commands_can_be_left_out() {
    let text = "a  1 5.000001: 3 c: \n\t            1000 f (/a)\n\nb  1 5.000001: 4 c: \n\n";
    let none = CollapseOptions { threads_as_frames: Some(false), ..CollapseOptions::default() };
    assert_eq!(fold(text, &none), "[no stack] 4\nf 3\n");
}

#[test]
fn the_last_sample_needs_no_blank_line() {
    assert_eq!(
        fold(
            "a  1 5.000001: 3 c: \n\t            1000 f (/a)\n\na  1 5.000002: 4 c: \n\t            1000 f (/a)",
            &CollapseOptions::default()
        ),
        "a;f 7\n"
    );
}

#[test]
fn a_sample_without_frames_is_its_command() {
    assert_eq!(
        fold(
            "a  1 5.000001: 3 c: \n\nb  1 5.000001: 4 c: \n\t            1000 f (/a)\n\n",
            &CollapseOptions::default()
        ),
        "a 3\nb;f 4\n"
    );
}

#[test]
fn process_and_thread_are_shown_when_asked_for() {
    let text =
        "my app  7/9 [001] 5.000001: 3 c: \n\t            1000 f (/a)\n\nother  4 [001] 5.000001: 1 c: \n\n";
    let with = |pid, tid| fold(text, &CollapseOptions { pid, tid, ..CollapseOptions::default() });
    assert_eq!(with(false, false), "my_app;f 3\nother 1\n");
    assert!(with(true, false).starts_with("my_app-7;f 3\n"));
    assert_eq!(with(false, true), "my_app-7/9;f 3\nother-?/4 1\n");
}

#[test]
fn unknown_lines_are_counted_and_placed() {
    let text = "a  1 5.000001: 3 c: \n\t            1000 f (/a)\n\nthis is certainly no event line\n\t            1000 f (/a)\n\n[ perf record: Captured ]\n\na  1 5.000001: 3 c: \n\n";
    let (folded, _, report) =
        fold_bytes(text.as_bytes(), Some("perf-script"), &CollapseOptions::default()).unwrap();
    assert_eq!(folded, "a 3\na;f 3\n");
    assert_eq!(report.not_understood.count, 3, "the line, the frame below it, and perf's own words");
    let (position, first) = report.not_understood.first.unwrap();
    assert_eq!((position.line, first.as_str()), (Some(4), "\"this is certainly no event line\""));
}

#[test]
fn frames_of_events_that_are_left_out_are_no_loss() {
    let text = "a  1 5.000001: 3 c: \n\t            1000 f (/a)\n\na  1 5.000001: 9 d: \n\t            1000 g (/a)\n\n";
    let (folded, _, report) =
        fold_bytes(text.as_bytes(), Some("perf-script"), &CollapseOptions::default()).unwrap();
    assert_eq!(folded, "a;f 3\n");
    let (value, left_out) = report.values.iter().find(|(_, total)| !total.kept).unwrap();
    assert_eq!((&value.name[..], value.unit.as_deref()), (&b"d"[..], Some("d")));
    assert_eq!((left_out.samples, left_out.weight.to_string(), left_out.kept), (1, "9".into(), false));
}

#[test]
fn lines_without_a_thread_are_read_too() {
    let frames = "\t            1000 f+0x1 (/a)\n\n";
    for (line, folded) in [
        ("w ", "w;f 2\n"),
        (" 5.000001: page-faults: ", "f 2\n"),
        ("17231 [000] 5.000001: 7 c: ", "[unnamed];f 14\n"),
    ] {
        let text = format!("{line}\n{frames}").repeat(2);
        assert_eq!(
            fold_bytes(text.as_bytes(), None, &CollapseOptions::default()).expect("it collapses").0,
            folded
        );
    }
    let bpftrace = format!("@[\n{frames}");
    assert!(fold_bytes(bpftrace.as_bytes(), None, &CollapseOptions::default()).is_err(), "another tool's");
}

#[test]
fn stack_without_event_line_has_no_command() {
    let text = "w \n\t            1000 f+0x1 (/a)\n\n\t            1000 g+0x1 (/a)\n\n";
    assert_eq!(fold(text, &CollapseOptions::default()), "g 1\nw;f 1\n");
}

#[test]
fn skip_after_holds_for_one_line_samples() {
    let text =
        "       a  1 5.000001: 3 c:      1000 f+0x1 (/a)\n       a  1 5.000001: 4 c:      1000 g+0x1 (/a)\n";
    let options = CollapseOptions { skip_after: vec![b"f".to_vec()], ..CollapseOptions::default() };
    assert_eq!(fold(text, &options), "a;g 4\nf 3\n");
}

#[test]
fn deep_stacks_and_long_names() {
    let deep: String = (0..100_000).map(|n| format!("\t{n:>16x} f{}+0x1 (/a)\n", n % 1000)).collect();
    let long = "x".repeat(1 << 20);
    let text =
        format!("a  1 5.000001: 3 c: \n{deep}\nb  1 5.000001: 4 c: \n\t            1000 {long}+0x1 (/a)\n\n");
    let (folded, total, _) = fold_bytes(text.as_bytes(), None, &CollapseOptions::default()).unwrap();
    assert_eq!(total, "7");
    assert_eq!(folded.lines().next().unwrap().split(';').count(), 100_001);
    assert!(folded.lines().nth(1).unwrap().len() > 1 << 20);
}

#[test]
fn periods_beyond_any_sum_are_an_error_that_names_the_line() {
    let nines = "9".repeat(38);
    let sample = format!("a  1 5.000001: {nines} c: \n\t            1000 f (/a)\n\n");
    let error = fold_bytes(sample.repeat(3).as_bytes(), Some("perf-script"), &CollapseOptions::default())
        .unwrap_err();
    assert!(error.contains(":4: the weights add up to more"), "{error}");
}

const HEADER: &str = "# ========\n# captured on    : Fri Nov 20 23:47:55 2026\n# hostname : devbox\n\
    # os release : 6.18.44\n# perf version : 6.1.192\n# arch : x86_64\n\
    # cmdline : /usr/bin/perf record -e cpu-clock,page-faults -F 799 -g ./app 3 \n\
    # event : name = cpu-clock, , id = { 1 }, { sample_period, sample_freq } = 799, freq = 1\n\
    # event : name = page-faults, , id = { 2 }, { sample_period, sample_freq } = 799, freq = 1\n# ========\n#\n";
const TWO_EVENTS: &str = "\
app  7/8 [001] 5.000001:  1 page-faults: 
\t            1000 f+0x1 (/bin/a)

app  7/7 [001] 5.000501:  1251564 cpu-clock: 
\tffffffff81000000 g+0x1 ([kernel.kallsyms])
\t            2000 h+0x1 (/tmp/perf-7.map)

my app  7/8 [001] 6.500001:  1251564 cpu-clock: 
\t            1000 f+0x1 (/bin/a)
  a.c:12
\t            1000 main+0x1 (inlined)

";

#[test]
fn the_header_says_where_and_how_it_was_recorded() {
    let text = [HEADER, TWO_EVENTS].concat();
    let (folded, _, report) = fold_bytes(text.as_bytes(), None, &CollapseOptions::default()).unwrap();
    assert_eq!(folded, "app;h;g 1251564\nmy_app;main;f 1251564\n", "the header's first event");
    let facts = report.facts;
    let shown = |fact: &Option<String>| fact.clone().unwrap_or_default();
    assert_eq!(
        [&facts.command, &facts.host, &facts.system, &facts.producer, &facts.event, &facts.unit].map(shown),
        ["./app 3", "devbox", "Linux 6.18.44 x86_64", "perf 6.1.192", "cpu-clock", "ns"]
    );
    assert_eq!((facts.samples, facts.rate, facts.start), (Some(2), Some(799), None));
    assert_eq!(facts.period, Some(1_251_564.into()));
    assert_eq!(facts.duration, Some(std::time::Duration::from_micros(1_500_000)));
    // Joined recordings keep only the facts that can be added up.
    let (_, _, report) =
        fold_bytes([&text[..], &text].concat().as_bytes(), None, &CollapseOptions::default()).unwrap();
    assert_eq!((report.facts.samples, report.facts.host, report.facts.duration), (Some(4), None, None));
}

#[test]
fn without_a_header_the_first_event_is_the_first_sample_s() {
    let (folded, _, report) = fold_bytes(TWO_EVENTS.as_bytes(), None, &CollapseOptions::default()).unwrap();
    assert_eq!(folded, "app;f 1\n");
    assert_eq!((report.facts.samples, report.facts.command), (Some(1), None));
}

#[test]
fn events_of_different_units_do_not_add_up() {
    let named = |count| {
        let values = ValueSelection::Named(vec![b"cpu-clock".to_vec(), b"page-faults".to_vec()]);
        fold_bytes(
            TWO_EVENTS.as_bytes(),
            None,
            &CollapseOptions { values, count, ..CollapseOptions::default() },
        )
    };
    let error = named(false).unwrap_err();
    assert!(error.contains("\"cpu-clock\", \"page-faults\" are in different units"), "{error}");
    assert_eq!(named(true).unwrap().1, "3", "samples add up");
}

#[test]
fn a_clock_with_terms_keeps_its_unit() {
    let text = TWO_EVENTS.replace("cpu-clock", "cpu-clock/freq=499/");
    let values = ValueSelection::Named(vec![b"cpu-clock/freq=499/".to_vec()]);
    let (_, _, report) =
        fold_bytes(text.as_bytes(), None, &CollapseOptions { values, ..CollapseOptions::default() }).unwrap();
    assert_eq!(report.facts.unit.as_deref(), Some("ns"));
}

#[test]
fn single_samples_and_places_come_when_they_are_wanted() {
    use fg_tools::profile::{Kind, Place};
    use fg_tools::reading::ReadOptions;
    let text = [HEADER, TWO_EVENTS].concat();
    let profile = fg_tools::Profile::read(
        &[fg_tools::input::Source::bytes(text)],
        &ReadOptions::default().samples(true),
    )
    .unwrap();
    let samples: Vec<_> = profile.samples().iter().collect();
    let seen: Vec<_> =
        samples.iter().map(|s| (s.time, s.process, s.thread, s.thread_name.to_vec())).collect();
    assert_eq!(
        seen,
        [
            (Some(5_000_501_000), Some(7), Some(7), b"app".to_vec()),
            (Some(6_500_001_000), Some(7), Some(8), b"my app".to_vec())
        ]
    );
    let place = |name: &str| profile.places().get(name.as_bytes()).unwrap_or_default();
    let of = |module: &'static str, kind| Place { module: module.as_bytes(), kind, ..Place::default() };
    assert_eq!(place("g"), of("[kernel.kallsyms]", Kind::Kernel));
    assert_eq!(place("h"), of("perf-7.map", Kind::Jit));
    assert_eq!(place("f"), Place { file: b"a.c", line: 12, ..of("a", Kind::User) });
    assert_eq!(place("main"), Place { inlined: true, ..of("", Kind::User) });
}

#[test]
fn frames_behind_blanks_or_nothing_and_headers_without_a_time() {
    let blanks = "node-v011 31912 cpu-clock: \n            13a80b608e0a g (/tmp/perf-7539.map)\n              \
                  123456 LazyCompile: a.js:1 (/tmp/perf-31912.map)\n                     add start (/bin/node)\n\n";
    let (folded, _, report) = fold_bytes(blanks.as_bytes(), None, &CollapseOptions::default()).unwrap();
    assert_eq!(folded, "node-v011;start;LazyCompile: a.js:1;g 1\n");
    assert_eq!(report.not_understood.count, 0);
    let nothing = "\njava 19983 cycles:\nffffffff8103d0ca native_write_msr_safe ([kernel.kallsyms])\n7f72 \
                   writeBytes (/jre/libjava.so)\n1000 main+0x12\n\njava 19983 cycles:\n7f72 writeBytes (/jre/libjava.so)\n\n";
    let (folded, _, report) = fold_bytes(nothing.as_bytes(), None, &CollapseOptions::default()).unwrap();
    assert_eq!(folded, "java;main;writeBytes;native_write_msr_safe 1\njava;writeBytes 1\n");
    assert_eq!(report.not_understood.count, 0);
    let padded =
        "            1000 f+0x1 (/a)\n            2000 g+0x1 (/a)\n\n            2000 g+0x1 (/a)\n\n";
    assert_eq!(fold_bytes(padded.as_bytes(), None, &CollapseOptions::default()).unwrap().0, "g 1\ng;f 1\n");
    // Recordings of two kinds behind one another.
    let both = format!("{TWO_EVENTS}{}", TWO_EVENTS.replace('\t', "        "));
    assert_eq!(fold_bytes(both.as_bytes(), None, &CollapseOptions::default()).unwrap().0, "app;f 2\n");
    // Words that begin like an address are no frames of perf's.
    for text in ["Hello\na dog (brown)\n", "worker 12\nbad luck (again)\n"] {
        assert!(fold_bytes(text.as_bytes(), None, &CollapseOptions::default()).is_err(), "{text}");
    }
}

#[test]
fn a_frame_that_belongs_to_no_sample_is_counted_with_or_without_its_tab() {
    for indent in ["\t", "        ", ""] {
        let text = format!(
            "a  1 5.000001: 3 c: \n{indent}    7f1000001000 f (/a)\n\n{indent}    7f1000001000 f (/a)\n\na  1 5.000001: 3 c: \n\n"
        );
        let (folded, _, report) = fold_bytes(text.as_bytes(), None, &CollapseOptions::default()).unwrap();
        assert_eq!((folded.as_str(), report.not_understood.count), ("a 3\na;f 3\n", 1), "{indent:?}");
    }
}

#[test]
fn simpleperf_s_samples_are_perf_s() {
    // report_sample.py of NDK r16, of r21, and of today, for the same samples.
    let old = "main thread\t27 [002] 12.345:\t\t250 cpu-clock:\n        7f1e2215\tf(int) (/system/lib/libc.so)\n        \
               56001000\tart::Thread::run (/apex/libart.so)\n\n";
    let padded = old.replace("12.345", "12.000345");
    let new = "# ========\n# cmdline : simpleperf record -- app\n# arch : arm64\n# ========\n#\nmain thread\t27/27 [002] 12.000345: \
               250 cpu-clock:\n\t        7f1e2215 f(int) (/system/lib/libc.so)\n\t        56001000 art::Thread::run \
               (/apex/libart.so)\n\ttracing data:\n\t\tprev_comm : app\n\n";
    for text in [old, &padded, new] {
        let (folded, _, report) = fold_bytes(text.as_bytes(), None, &CollapseOptions::default()).unwrap();
        assert_eq!(folded, "main_thread;art::Thread::run;f 250\n", "{text}");
        assert_eq!(report.not_understood.count, 0, "{text}");
    }
}

#[test]
fn the_source_of_data_is_no_name() {
    let line = "          app 46572 [002] 544966.882384:      10000 cpu/mem-loads/: 7ffdf1391b0c     10268100142 \
                |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK    N/A    5   70   401136 add+0x3 (/bin/app)\n";
    assert_eq!(fold_bytes(line.as_bytes(), None, &CollapseOptions::default()).unwrap().0, "app;add 10000\n");
}

#[test]
fn the_command_in_a_header_can_be_of_several_lines() {
    let header = HEADER.replace("./app 3", "python -c \nimport os\n\nif 1:\n\tprint(2)\n");
    let text = format!("{header}{TWO_EVENTS}");
    let (folded, _, report) = fold_bytes(text.as_bytes(), None, &CollapseOptions::default()).unwrap();
    assert_eq!(folded, "app;h;g 1251564\nmy_app;main;f 1251564\n", "the header's first event");
    assert_eq!(report.not_understood.count, 0);
}

/// The format that is recognised and what is read.
fn detected(text: &str, options: &CollapseOptions) -> String {
    fold_bytes(text.as_bytes(), None, options).expect("it is recognised").0
}

#[test]
fn mode_of_the_processor_may_stand_before_the_weight() {
    let text = "w  6976 K            185      page-faults: \n\tffffffff817554ea elf_load+0x28a ([kernel.kallsyms])\n\n";
    assert_eq!(detected(text, &CollapseOptions::default()), "w;elf_load 185\n");
}

#[test]
fn one_line_samples_need_no_time_to_be_recognised() {
    let line = |weight, frame| format!("               w  6976 {weight:>10}      page-faults:  {frame}\n");
    let text = line(9, "ffffffff817554ea elf_load+0x28a ([kernel.kallsyms])")
        + &line(185, "    7f8d466d1620 dl_main+0x2660 (/usr/lib/ld-linux-x86-64.so.2)");
    assert_eq!(detected(&text, &CollapseOptions::default()), "w;dl_main 185\nw;elf_load 9\n");
}

#[test]
fn notes_on_mappings_may_fill_the_head() {
    let note = "swapper     0 [000]     0.000000: PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0x12) @ 0]: x [kernel]_text\n";
    let sample =
        "w  6934 [001] 71211.628260:    2000000 cpu-clock: \n\t            1196 leaf+0x1d (/tmp/w)\n\n";
    let fork = "perf  6957 [000] 71214.015380: PERF_RECORD_FORK(6957:6961):(6957:6957)\n";
    let text = note.repeat(3000) + fork + sample;
    assert_eq!(detected(&text, &CollapseOptions::default()), "w;leaf 2000000\n");
    // `-F comm,tid,event,period,ip,sym`, and a head that ends within a note.
    let untimed = text
        .replace(" [000]     0.000000:", "")
        .replace(" [001] 71211.628260:", "")
        .replace(" [000] 71214.015380:", "");
    assert_eq!(detected(&untimed, &CollapseOptions::default()), "w;leaf 2000000\n");
}

#[test]
fn instructions_and_registers_below_a_stack_are_no_loss() {
    let mut text = String::new();
    for attached in
        [" ilen: 4 insn: 48 83 c0 01", " ilen: 0", " ABI:2    AX:0x1    BX:0x2 ", " 0x5/0x6/P/-/-/0 "]
    {
        let sample = "w  6934 71211.628260:    2000000 cpu-clock: \n\t            1196 leaf+0x1d (/tmp/w)\n";
        // Registers stand behind a blank line, and instructions in place of one.
        text += &format!("{sample}\n{attached}\n{sample}{attached}\n");
    }
    let (folded, _, report) =
        fold_bytes(text.as_bytes(), None, &CollapseOptions::default()).expect("it is recognised");
    assert_eq!(folded, "w;leaf 16000000\n");
    assert_eq!(report.not_understood.count, 0, "{:?}", report.not_understood.first);
    assert!(report.not_understood.ends_within.is_none(), "the last line is the end of a stack");
}

#[test]
fn a_period_without_a_thread_is_the_weight() {
    // perf script -F comm,period,event,ip,sym; the same without an event; and without a command.
    for text in [
        "w    2000000 cpu-clock: \n\t            117a leaf\n\t            11af mid\n\nw         10 cpu-clock: \n\t            11af mid\n\n",
        "w    2000000 \n\t            117a leaf\n\t            11af mid\n\nw         10 \n\t            11af mid\n\n",
    ] {
        assert_eq!(detected(text, &CollapseOptions::default()), "w;mid 10\nw;mid;leaf 2000000\n", "{text}");
    }
    let text = "   2000000 cpu-clock: \n\t            117a leaf\n\n        10 cpu-clock: \n\t            11af mid\n\n";
    assert_eq!(detected(text, &CollapseOptions::default()), "leaf 2000000\nmid 10\n");
    // A thread is less wide.
    let text =
        "w 18913 cpu-clock: \n\t            117a leaf\n\n  w    18 cpu-clock: \n\t            117a leaf\n\n";
    assert_eq!(detected(text, &CollapseOptions::default()), "w;leaf 2\n");
}

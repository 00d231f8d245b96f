//! What recordings cannot show all at once: small texts, one rule each.

use fg_tools::collapse::{Options, ValueSelection};

use super::fold_bytes;

fn fold(text: &str, options: &Options) -> String {
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
    assert_eq!(fold(HYBRID, &Options::default()), "a;f 17\n");
    let named = Options {
        values: ValueSelection::Named(vec![b"cpu_core/instructions/u".to_vec()]),
        ..Options::default()
    };
    assert_eq!(fold(HYBRID, &named), "a;g 1\n");
    let all = Options { values: ValueSelection::All, ..Options::default() };
    assert_eq!(
        fold(HYBRID, &all),
        "cpu_atom/cycles/u;a;f 7\ncpu_core/cycles/u;a;f 10\ncpu_core/instructions/u;a;g 1\n"
    );
}

#[test]
fn events_are_named_with_or_without_modifiers() {
    let text = "a  1 5.000001: 3 cycles:ppp: \n\t            1000 f (/a)\n\n";
    for (name, found) in [("cycles", true), ("cycles:ppp", true), ("cycles:u", false), ("cycle", false)] {
        let options = Options { values: ValueSelection::Named(vec![name.into()]), ..Options::default() };
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
    let none = Options { threads_as_frames: Some(false), ..Options::default() };
    assert_eq!(fold(text, &none), "[no stack] 4\nf 3\n");
}

#[test]
fn the_last_sample_needs_no_blank_line() {
    assert_eq!(
        fold(
            "a  1 5.000001: 3 c: \n\t            1000 f (/a)\n\na  1 5.000002: 4 c: \n\t            1000 f (/a)",
            &Options::default()
        ),
        "a;f 7\n"
    );
}

#[test]
fn a_sample_without_frames_is_its_command() {
    assert_eq!(
        fold(
            "a  1 5.000001: 3 c: \n\nb  1 5.000001: 4 c: \n\t            1000 f (/a)\n\n",
            &Options::default()
        ),
        "a 3\nb;f 4\n"
    );
}

#[test]
fn process_and_thread_are_shown_when_asked_for() {
    let text =
        "my app  7/9 [001] 5.000001: 3 c: \n\t            1000 f (/a)\n\nother  4 [001] 5.000001: 1 c: \n\n";
    let with = |pid, tid| fold(text, &Options { pid, tid, ..Options::default() });
    assert_eq!(with(false, false), "my_app;f 3\nother 1\n");
    assert!(with(true, false).starts_with("my_app-7;f 3\n"));
    assert_eq!(with(false, true), "my_app-7/9;f 3\nother-?/4 1\n");
}

#[test]
fn lines_that_are_nothing_are_counted_once_and_placed() {
    let text = "a  1 5.000001: 3 c: \n\t            1000 f (/a)\n\nthis is certainly no event line\n\t            1000 f (/a)\n\n[ perf record: Captured ]\n\na  1 5.000001: 3 c: \n\n";
    let (folded, _, report) = fold_bytes(text.as_bytes(), Some("perf-script"), &Options::default()).unwrap();
    assert_eq!(folded, "a 3\na;f 3\n");
    assert_eq!(report.not_understood.count, 3, "the line, the frame below it, and perf's own words");
    let (position, first) = report.not_understood.first.unwrap();
    assert_eq!((position.line, first.as_str()), (Some(4), "\"this is certainly no event line\""));
}

#[test]
fn frames_of_events_that_are_left_out_are_no_loss() {
    let text = "a  1 5.000001: 3 c: \n\t            1000 f (/a)\n\na  1 5.000001: 9 d: \n\t            1000 g (/a)\n\n";
    let (folded, _, report) = fold_bytes(text.as_bytes(), Some("perf-script"), &Options::default()).unwrap();
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
        assert_eq!(fold_bytes(text.as_bytes(), None, &Options::default()).expect("it collapses").0, folded);
    }
    let bpftrace = format!("@[\n{frames}");
    assert!(fold_bytes(bpftrace.as_bytes(), None, &Options::default()).is_err(), "another tool's");
}

#[test]
fn a_stack_without_a_line_is_not_the_one_before_s() {
    let text = "w \n\t            1000 f+0x1 (/a)\n\n\t            1000 g+0x1 (/a)\n\n";
    assert_eq!(fold(text, &Options::default()), "g 1\nw;f 1\n");
}

#[test]
fn skip_after_holds_for_one_line_samples() {
    let text =
        "       a  1 5.000001: 3 c:      1000 f+0x1 (/a)\n       a  1 5.000001: 4 c:      1000 g+0x1 (/a)\n";
    let options = Options { skip_after: vec![b"f".to_vec()], ..Options::default() };
    assert_eq!(fold(text, &options), "a;g 4\nf 3\n");
}

#[test]
fn very_deep_stacks_and_very_long_names_are_nothing_special() {
    let deep: String = (0..100_000).map(|n| format!("\t{n:>16x} f{}+0x1 (/a)\n", n % 1000)).collect();
    let long = "x".repeat(1 << 20);
    let text =
        format!("a  1 5.000001: 3 c: \n{deep}\nb  1 5.000001: 4 c: \n\t            1000 {long}+0x1 (/a)\n\n");
    let (folded, total, _) = fold_bytes(text.as_bytes(), None, &Options::default()).unwrap();
    assert_eq!(total, "7");
    assert_eq!(folded.lines().next().unwrap().split(';').count(), 100_001);
    assert!(folded.lines().nth(1).unwrap().len() > 1 << 20);
}

#[test]
fn periods_beyond_any_sum_are_an_error_that_names_the_line() {
    let nines = "9".repeat(38);
    let sample = format!("a  1 5.000001: {nines} c: \n\t            1000 f (/a)\n\n");
    let error =
        fold_bytes(sample.repeat(3).as_bytes(), Some("perf-script"), &Options::default()).unwrap_err();
    assert!(error.contains(":4: the weights add up to more"), "{error}");
}

//! The facts of a recording: its header, its samples, and warnings.

use std::time::Duration;

use fg_tools::collapse::{CollapseOptions, ValueSelection};
use fg_tools::{Facts, Weight};

use super::kit::*;
use super::{below, fold_bytes, root_with_maps};

const CODE: u64 = 0x7000_0000;

/// Two events: `cpu-clock`, which comes later, and `page-faults`.
fn recording(style: Style, periods: [u64; 2]) -> Recording {
    let faults = Event { config: 2, name: "page-faults", period: 1, ..Event::default() };
    let mut r = Recording::new(style, &[Event { name: "cpu-clock/freq=999/", ..Event::default() }, faults]);
    r.feature_text(3, "devbox");
    r.feature_text(4, "6.18.44");
    r.feature_text(5, "6.1.192");
    r.command_line(&["/usr/bin/perf", "record", "-F", "999", "-g", "./app", "a b"]);
    r.clock_reference(1_795_218_475_000_000_000, 1_000_000_000);
    r.comm(1, 1, 0, b"app", false);
    r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
    for (event, time, period) in
        [(1, 2_000_000_000, 1), (0, 2_500_000_000, periods[0]), (0, 4_000_000_000, periods[1])]
    {
        let chain = vec![USER, CODE, CODE + 1, CODE + 1, CODE + 1];
        r.sample(&Sample { event, pid: 1, tid: 1, time, period, chain, ..Sample::default() });
    }
    r
}

fn facts(recording: &Recording, options: CollapseOptions) -> Facts {
    let root = root_with_maps(&[(1, &[(CODE, "f")])]);
    fold_bytes(&recording.bytes(), &CollapseOptions { symfs: below(root.path()).symfs, ..options })
        .unwrap()
        .1
        .facts
}

#[test]
fn the_header_says_where_and_how_it_was_recorded() {
    for big_endian in [false, true] {
        for pipe in [false, true] {
            let style = Style { big_endian, pipe, ..PLAIN };
            let facts = facts(&recording(style, [1001, 1001]), CollapseOptions::default());
            let text = |fact: &'static str| Some(fact.to_owned());
            assert_eq!(facts.producer, text("perf 6.1.192"));
            assert_eq!(facts.command, text("./app 'a b'"));
            assert_eq!(facts.host, text("devbox"));
            assert_eq!(facts.system, text("Linux 6.18.44 x86_64"));
            assert_eq!(facts.unit, text("ns"));
            assert_eq!(facts.event, text("cpu-clock/freq=999/"));
            assert_eq!(facts.rate, Some(999));
            assert_eq!((facts.samples, facts.period), (Some(2), Some(Weight::new(1001))));
            assert_eq!(facts.duration, Some(Duration::from_secs(2)));
            let start = humantime::format_rfc3339(facts.start.unwrap()).to_string();
            assert_eq!(start, "2026-11-20T23:47:56Z", "a second after the reference");
            assert_eq!(facts.warnings, [""; 0]);
        }
    }
}

#[test]
fn periods_that_differ_are_no_period() {
    assert_eq!(facts(&recording(PLAIN, [1001, 1002]), CollapseOptions::default()).period, None);
    let count =
        facts(&recording(PLAIN, [1001, 1001]), CollapseOptions { count: true, ..CollapseOptions::default() });
    assert_eq!((count.period, count.unit.as_deref(), count.samples), (None, Some("samples"), Some(2)));
    let all = CollapseOptions { values: ValueSelection::All, ..CollapseOptions::default() };
    let all = facts(&recording(PLAIN, [1, 1]), all);
    assert_eq!((all.period, all.rate, all.unit, all.samples), (None, None, None, Some(3)));
}

#[test]
fn a_recording_without_a_header_says_only_what_its_samples_say() {
    let mut r = Recording::new(PLAIN, &[Event { period: 7, ..Event::default() }]);
    let sample =
        |time| Sample { pid: 1, tid: 1, time, period: 7, chain: vec![USER, CODE], ..Sample::default() };
    r.sample(&sample(10));
    r.sample(&sample(30));
    let mut found = facts(&r, CollapseOptions::default());
    found.warnings.clear();
    let mut expected = Facts::default();
    expected.unit = Some("ns".into());
    expected.event = Some("cpu-clock".into());
    expected.period = Some(Weight::new(7));
    expected.samples = Some(2);
    expected.system = Some("Linux x86_64".into());
    expected.duration = Some(Duration::from_nanos(20));
    assert_eq!(found, expected);
    // The recorder may have been at work for longer.
    r.sample_times(5, 45);
    assert_eq!(facts(&r, CollapseOptions::default()).duration, Some(Duration::from_nanos(40)));
}

#[test]
fn notes_and_losses_are_warnings() {
    let mut r = Recording::new(PLAIN, &[Event::default()]);
    let chain = vec![USER, CODE, 0x1234];
    r.sample(&Sample { pid: 1, tid: 1, time: 10, period: 3, chain, ..Sample::default() });
    r.lost(12);
    let warnings = facts(&r, CollapseOptions::default()).warnings.join("\n");
    assert!(warnings.contains("100% of the weight is in stacks with addresses of nothing"), "{warnings}");
    assert!(warnings.contains("12 events were lost"), "{warnings}");
}

#[test]
fn events_of_different_units_do_not_add_up() {
    let r = recording(PLAIN, [1001, 1001]);
    let named = |count| {
        let values = ValueSelection::Named(vec![b"page-faults".to_vec(), b"cpu-clock/freq=999/".to_vec()]);
        fold_bytes(
            &r.bytes(),
            &CollapseOptions { values, count, symfs: Some("nowhere".into()), ..CollapseOptions::default() },
        )
    };
    let error = named(false).unwrap_err();
    assert!(error.contains("\"page-faults\"") && error.contains("do not add up; --value all"), "{error}");
    assert_eq!(
        named(true).unwrap().0,
        "app;[perf-1.map];[perf-1.map];[perf-1.map];[perf-1.map] 3\n",
        "samples add up"
    );
}

//! Reports and gates, on whatever folded texts come, and the texts of gates themselves.
//!
//! A text of gates, the profile before and the profile after stand one behind the other, with a zero byte
//! between. The options come from the first byte.
#![no_main]

use fg_tools::diff::{Diff, FormatOptions, GROUPS, Gate, Normalize, Outcome, ReportFormat, ReportOptions};
use fg_tools::{Profile, Result};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [flags, rest @ ..] = data else { return };
    let mut parts = rest.splitn(3, |&b| b == 0);
    let (Some(gates), Some(before), Some(after)) = (parts.next(), parts.next(), parts.next()) else { return };
    let gates = one_line(Gate::parse_all(&String::from_utf8_lossy(gates)));
    let (Some(before), Some(after)) = (profile(before), profile(after)) else { return };
    let bit = |n: u8| flags >> n & 1 == 1;
    let options = ReportOptions::default()
        .by(GROUPS[usize::from(flags >> 5) % GROUPS.len()].1)
        .normalize(if bit(0) { Normalize::BeforeToAfter } else { Normalize::No })
        .match_renamed(bit(1))
        .any_change(bit(2))
        .require_power(bit(3));
    if let Some(report) = one_line(Diff::new(&before, &after).report_with(&options)) {
        let changes = report.rows.iter().flat_map(|row| [&row.own, &row.total]).chain([&report.profile]);
        for test in changes.filter_map(|change| change.test) {
            assert!((0.0..=1.0).contains(&test.p), "p is {}", test.p);
            assert!(test.interval.0 <= test.interval.1, "{:?}", test.interval);
        }
        let verdict = gates.as_ref().and_then(|gates| one_line(report.judge(gates)));
        for format in ReportFormat::ALL {
            let mut plain = FormatOptions::default();
            if let Some(verdict) = &verdict {
                plain = plain.verdict(verdict.clone());
            }
            let mut out = Vec::new();
            if one_line(report.write_with(*format, &plain, &mut out)).is_none() {
                continue;
            }
            let text = std::str::from_utf8(&out).expect("UTF-8");
            if format.name() == "json" {
                serde_json::from_str::<serde_json::Value>(text).expect("JSON");
            } else {
                let is_odd = |c: char| c.is_control() && c != '\n' && c != '\t';
                assert!(!text.contains(is_odd), "control characters in {text:?}");
            }
        }
    }
    // Nothing has changed between a profile and itself.
    let same = Diff::new(&before, &before);
    if let (Some(gates), Some(report)) = (gates, one_line(same.report_with(&options)))
        && let Some(verdict) = one_line(report.judge(&gates))
    {
        // `total>-5%` and `total<5%` are conditions that no change at all meets.
        let meets = |gate: &str| gate.contains(">-") || gate.contains('<') && !gate.contains("<-");
        let trips_at_nothing = gates.iter().any(|gate| meets(&gate.to_string()));
        assert!(verdict.outcome() != Outcome::Tripped || trips_at_nothing, "{:?}", verdict.tripped());
    }
});

fn profile(text: &[u8]) -> Option<Profile> {
    let options = fg_tools::reading::ReadOptions::default().format("folded");
    one_line(Profile::read(&[fg_tools::Source::bytes(text)], &options))
}

fn one_line<T>(result: Result<T>) -> Option<T> {
    if let Err(error) = &result {
        assert!(!error.to_string().contains('\n'), "a message is one line: {error}");
    }
    result.ok()
}

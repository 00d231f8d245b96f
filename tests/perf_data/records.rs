//! The records of a recording, through the public iterator.

use fg_tools::collapse::perf_data::{Content, Mode, Recording as Records};
use fg_tools::input::Source;

use super::kit::*;

const CODE: u64 = 0x7000_0000;

/// One record of each kind, not in the order of time.
fn recording(style: Style) -> Recording {
    let event = Event { fields: USUAL | REGS_USER | STACK_USER, registers: 0b110, ..Event::default() };
    let faults = Event { config: 2, name: "page-faults", period: 7, ..event.clone() };
    let mut r = Recording::new(style, &[event, faults]);
    r.feature_text(3, "devbox");
    r.comm(1, 1, 0, b"app", true);
    r.mmap(1, 5, CODE, 0x1000, 0x200, "/lib/x.so");
    r.sample(&Sample {
        event: 1,
        pid: 1,
        tid: 2,
        time: 40,
        ip: CODE,
        period: 3,
        chain: vec![USER, CODE, CODE + 8],
        registers: vec![11, 22],
        stack: vec![9; 16],
        used: Some(8),
        mode: 1,
        ..Sample::default()
    });
    r.fork(20, (1, 1), (1, 2));
    r.switch(2, 30, 1 << 13);
    r.exit(2, 50);
    r.lost(12);
    r.finish_round();
    r.raw(12, &[0; 16]);
    r
}

/// A short text for the content of a record.
fn shown(content: &Content<'_>) -> String {
    match content {
        Content::Sample(s) => {
            let chain: Vec<u64> = s.body.chain.expect("it has one").iter().map(|at| at & 0xffff).collect();
            let registers = s.body.registers.expect("they were recorded");
            assert_eq!(
                (s.mode, s.ip, s.body.stack, s.body.stack_is_cut),
                (Mode::Kernel, CODE, &[9; 8][..], false)
            );
            assert_eq!((registers.get(1), registers.get(2), registers.get(3)), (Some(11), Some(22), None));
            format!("sample of {} {}/{} {:?} {:?} {chain:x?}", s.event, s.pid, s.tid, s.time, s.period)
        }
        Content::Mmap(m) => {
            format!("mmap {} {:x}+{:x} @{:x} {}", m.pid, m.start, m.len, m.offset, m.executable)
        }
        Content::Comm(c) => {
            format!("comm {}/{} {} {}", c.pid, c.tid, String::from_utf8_lossy(c.name), c.exec)
        }
        Content::Fork(f) => format!("fork {} of {}", f.tid, f.parent_tid),
        Content::Exit(f) => format!("exit {}", f.tid),
        Content::Lost(count) => format!("lost {count}"),
        Content::Switch(s) => format!("switch {} {} {}", s.tid, s.out, s.preempted),
        Content::FinishedRound => "round".to_owned(),
        other => format!("{other:?}"),
    }
}

#[test]
fn every_record_comes_with_its_type() {
    for big_endian in [false, true] {
        for pipe in [false, true] {
            for compressed in [false, true] {
                let bytes = recording(Style { big_endian, pipe, compressed }).bytes();
                let mut records = Records::open(&Source::bytes(bytes)).unwrap();
                let mut found = Vec::new();
                for record in &mut records {
                    let record = record.unwrap();
                    found.push((record.time(), shown(&record.content().unwrap())));
                }
                // Records about the recording itself, and rounds, depend on its layout.
                found.retain(|(_, text)| text != "Other" && text != "round");
                let found: Vec<_> = found.iter().map(|(time, text)| (*time, text.as_str())).collect();
                assert_eq!(
                    found,
                    [
                        (None, "comm 1/1 app true"),
                        (Some(5), "mmap 1 70000000+1000 @200 true"),
                        (Some(40), "sample of 1 1/2 Some(40) Some(3) [fe00, 0, 8]"),
                        (Some(20), "fork 2 of 1"),
                        (Some(30), "switch 2 true false"),
                        (Some(50), "exit 2"),
                        (None, "lost 12"),
                    ]
                );
                let names: Vec<_> = records.events().iter().map(|event| event.name()).collect();
                assert_eq!(names, [&b"cpu-clock"[..], b"page-faults"]);
                let event = &records.events()[1];
                assert_eq!((event.period(), event.frequency()), (Some(7), None));
                assert_eq!(records.events()[0].frequency(), Some(999));
                assert_eq!(records.facts().host.as_deref(), Some("devbox"));
            }
        }
    }
}

#[test]
fn records_can_be_put_in_the_order_of_time() {
    let records = Records::open(&Source::bytes(recording(PLAIN).bytes())).unwrap().in_time_order();
    let times: Vec<u64> = records.filter_map(|record| record.unwrap().time()).collect();
    assert_eq!(times, [5, 20, 30, 40, 50]);
}

#[test]
fn damage_is_one_error_and_the_end() {
    let whole = recording(PLAIN);
    let mut bytes = whole.bytes();
    // The second record says that it has no bytes.
    let at = whole.ends()[0];
    bytes[at + 6..at + 8].fill(0);
    for in_order in [false, true] {
        let records = Records::open(&Source::bytes(&bytes[..])).unwrap();
        let found: Vec<_> = if in_order { records.in_time_order().collect() } else { records.collect() };
        let errors: Vec<_> = found.iter().filter_map(|record| record.as_ref().err()).collect();
        assert!(errors.len() == 1 && found.last().unwrap().is_err(), "{found:?}");
        let error = errors[0].to_string();
        assert!(error.contains(&format!("byte {at}")) && error.contains("at least 8 bytes"), "{error}");
    }
    assert!(Records::open(&Source::bytes("main;f 1\n")).is_err(), "no recording");
}

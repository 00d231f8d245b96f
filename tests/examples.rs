//! The programs in `examples/`: each does what it says.

#![allow(missing_docs)]

use std::time::Duration;

use fg_tools::collapse::{CollapseOptions, collapse};
use fg_tools::{Profile, Source, Weight};

#[path = "../examples/file_to_picture.rs"]
mod file_to_picture;
#[path = "../examples/gate_in_memory.rs"]
mod gate_in_memory;
#[path = "../examples/inferno_replaced.rs"]
mod inferno_replaced;
#[path = "../examples/instead_of_inferno.rs"]
mod instead_of_inferno;
#[path = "../examples/live_counter.rs"]
mod live_counter;
#[path = "../examples/samples_in_memory.rs"]
mod samples_in_memory;
#[path = "../examples/server_with_limits.rs"]
mod server_with_limits;
#[path = "../examples/streaming_filter.rs"]
mod streaming_filter;

const PERF_SCRIPT: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/perf-script/cpp-fp/input.txt.gz");

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_file_becomes_a_picture() {
    let mut picture = Vec::new();
    file_to_picture::draw(PERF_SCRIPT, &mut picture).unwrap();
    let picture = text(picture);
    assert!(picture.starts_with("<?xml") && picture.contains("<title>calc:_two ("), "{:.300}", picture);
    let error = file_to_picture::draw("no-such-file", &mut Vec::new()).unwrap_err().to_string();
    assert!(error.starts_with("no-such-file: "), "{error}");
}

#[test]
fn samples_in_memory_become_a_picture() {
    let (load, handle): (&[&str], &[&str]) = (&["request", "load"], &["request", "handle; add"]);
    let spans = [
        (load, Duration::from_millis(30)),
        (handle, Duration::from_millis(10)),
        (load, Duration::from_millis(40)),
    ];
    let profile = samples_in_memory::profile(spans).unwrap();
    assert_eq!(profile.total().unwrap().value, Weight::new(80_000_000));
    let mut picture = Vec::new();
    samples_in_memory::draw(&profile, &mut picture).unwrap();
    let picture = text(picture);
    for shown in [">requests<", "<title>load (70 ms", "handle: add"] {
        assert!(picture.contains(shown), "{shown} is not in {picture:.300}");
    }
}

#[test]
fn a_gate_judges_in_memory() {
    let run = |parse: u32, idle: u32| {
        let lines =
            [format!("main;parse;std::sort {parse}"), "main;write 899".into(), format!("idle {idle}")];
        Profile::from_lines(lines).unwrap()
    };
    let judge =
        |before: &Profile, after: &Profile| gate_in_memory::judge(before, after, "total>50%").unwrap();
    let (before, same, slower) = (run(401, 10_000), run(402, 20_000), run(2700, 10_000));
    assert!(judge(&before, &same).passed(), "{}", judge(&before, &same));
    let verdict = judge(&before, &slower);
    assert!(!verdict.passed());
    let verdict = verdict.to_string();
    assert!(verdict.contains("parse  401 → 2,700") && !verdict.contains("std::"), "{verdict}");
}

#[test]
fn a_counter_listens_while_samples_come() {
    let mut log = Vec::new();
    let mut counter = live_counter::LiveCounter::new(2, &mut log);
    let lines = Source::bytes("main;parse 40\nmain 2\nmain;run;parse 1\n");
    collapse(&[lines], None, &CollapseOptions::default(), &mut counter).unwrap();
    assert_eq!(counter.samples(), 3);
    let leaves = [("parse".to_owned(), Weight::new(41)), ("main".to_owned(), Weight::new(2))];
    assert_eq!(counter.leaves(), leaves);
    assert_eq!(text(log), "2 samples, 2 functions\n");
}

#[test]
fn one_line_replaces_inferno() {
    let folded = "main;parse 40\nmain 2\n";
    let mut picture = Vec::new();
    instead_of_inferno::draw(folded, &mut picture).unwrap();
    let picture = text(picture);
    assert!(picture.contains(">requests<") && picture.contains("before the fix"));
    assert!(picture.contains("<title>parse (40 µs, 95.24%)</title>"), "{picture:.3000}");

    // The same program with the line of before.
    let program = include_str!("../examples/instead_of_inferno.rs");
    let (ours, theirs) = ("use fg_tools::flamegraph::{", "// Before: use inferno::flamegraph::{");
    let imports = |prefix: &str| program.lines().find_map(|line| line.strip_prefix(prefix)).unwrap();
    assert_eq!(imports(ours), imports(theirs));
    let mut options = inferno::flamegraph::Options::default();
    options.title = "requests".to_owned();
    options.subtitle = Some("before the fix".to_owned());
    options.colors = "rust".parse().unwrap();
    options.count_name = "µs".to_owned();
    options.min_width = 0.1;
    let mut theirs = Vec::new();
    inferno::flamegraph::from_lines(&mut options, folded.lines(), &mut theirs).unwrap();
    assert!(text(theirs).contains("<title>parse (40 µs, 95.24%)</title>"));
}

#[test]
fn a_server_refuses_uploads_that_are_too_large() {
    use fg_tools::Limits;
    let answer = |upload: &[u8], limits| {
        let (status, body) = server_with_limits::answer(upload, limits);
        (status, text(body))
    };
    let (status, picture) = answer(b"main;parse 40\n", Limits::upload());
    assert!(status == 200 && picture.contains("parse"), "{status} {picture:.300}");
    assert_eq!(answer(&[0xff; 100], Limits::upload()).0, 415);
    assert_eq!(answer(b"", Limits::upload()).0, 422);
    let large = b"main;parse 40\n".repeat(100_000);
    let (status, message) = answer(&large, Limits::upload().bytes(1 << 20));
    assert_eq!(
        (status, message.as_str()),
        (413, "upload: more than 1 MiB when decompressed, the limit that was set\n")
    );
}

#[test]
fn a_server_answers_over_a_socket() {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let server = std::thread::spawn(move || server_with_limits::serve(listener.accept().unwrap().0));
    client.write_all(b"POST / HTTP/1.1\r\nContent-Length: 14\r\n\r\nmain;parse 40\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    server.join().unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.0 200 ") && answer.contains("<?xml"), "{answer:.300}");
}

#[test]
fn folded_text_is_filtered_as_it_streams_by() {
    let mut out = Vec::new();
    let folded = Source::bytes("main;parse;lex 4\nmain;write 2\nmain;parse 1\n");
    assert_eq!(streaming_filter::filter(folded, "^parse$", &mut out).unwrap(), 2);
    assert_eq!(text(out), "main;parse;lex 4\nmain;parse 1\n");
}

#[test]
fn a_program_moves_from_inferno_as_a_whole() {
    let perf = "calc  1/1 1.000000: 10 cycles: \n\t    401 leaf+0x1 (/bin/calc)\n\t    402 main+0x1 (/bin/calc)\n\t    403 _start+0x1 (/bin/calc)\n\n";
    let mut picture = Vec::new();
    inferno_replaced::draw(perf.as_bytes(), &mut picture).unwrap();
    let picture = text(picture);
    assert!(picture.contains("<title>main") && picture.contains("<title>leaf"), "{picture:.3000}");
    assert!(!picture.contains("<title>_start"));

    // What inferno makes of it.
    use inferno::collapse::{Collapse, perf};
    let mut theirs = perf::Options::default();
    theirs.skip_after = vec!["main".into()];
    let (mut of_inferno, mut ours) = (Vec::new(), Vec::new());
    perf::Folder::from(theirs).collapse(perf.as_bytes(), &mut of_inferno).unwrap();
    let mut options = fg_tools::folder::Options::default();
    options.skip_after = vec!["main".into()];
    fg_tools::folder::Folder::from(options).collapse(perf.as_bytes(), &mut ours).unwrap();
    assert_eq!(text(of_inferno), text(ours));
}

#[test]
fn seconds_with_fractions_are_written_as_nanoseconds() {
    use fg_tools::render::{Format, Settings, write};
    let folded = "# unit: s\nmain;parse 0.02\nmain 1.5\n";
    for name in ["pprof", "otlp"] {
        let opened = fg_tools::reading::open(&[Source::bytes(folded)], &Default::default()).unwrap();
        let mut out = Vec::new();
        write(&opened, vec![(Format::by_name(name).unwrap(), &mut out)], &Settings::default()).unwrap();
        let back = Profile::from_bytes(out).unwrap();
        assert_eq!(back.facts().unit.as_deref(), Some("ns"), "{name}");
        assert_eq!(back.total().unwrap().value, Weight::new(1_520_000_000), "{name}");
    }
}

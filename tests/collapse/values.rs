//! Recordings of several values, of which the one that is shown by default is zero throughout.

use std::process::{Command, Output, Stdio};

use fg_tools::collapse::{CollapseOptions, ValueSelection, collapse};
use fg_tools::folded::StackTable;
use fg_tools::input::Source;

use super::feed::{feed, text};

fn run(args: &[&str], input: &[u8]) -> Output {
    feed(Command::new(env!("CARGO_BIN_EXE_fg-collapse")).args(args), input)
}

/// A message of profile.proto: numbers below 128, and bytes.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, content.len() as u8], content].concat()
}

/// A heap profile of Go's with one sample.
fn heap(values: [u8; 4]) -> Vec<u8> {
    let strings =
        ["", "alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "inuse_space", "main"];
    [
        field(1, &[8, 1, 16, 2]),
        field(1, &[8, 3, 16, 4]),
        field(1, &[8, 5, 16, 2]),
        field(1, &[8, 6, 16, 4]),
        field(2, &[field(1, &[1]), field(2, &values)].concat()),
        field(4, &[&[8, 1][..], &field(4, &[8, 1])].concat()),
        field(5, &[8, 1, 16, 7]),
        strings.iter().flat_map(|string| field(6, string.as_bytes())).collect(),
    ]
    .concat()
}

const CHOSEN: &str =
    "the value \"inuse_space\" is zero throughout: this is \"alloc_space\"; choose with --value";

#[test]
fn a_default_that_is_zero_throughout_gives_way_to_what_holds_something() {
    let out = run(&[], &heap([2, 96, 0, 0]));
    assert!(text(&out.stdout).ends_with("main 96\n"), "{out:?}");
    assert!(text(&out.stdout).contains("# event: alloc_space\n"), "{out:?}");
    assert!(text(&out.stderr).contains(CHOSEN), "{out:?}");
    let strict = run(&["--strict"], &heap([2, 96, 0, 0]));
    assert_eq!(strict.status.code(), Some(2));
    assert!(text(&strict.stderr).contains(CHOSEN));
    // Only where it is zero, and not where it was asked for.
    let plain = run(&["--strict", "--no-header"], &heap([2, 96, 1, 64]));
    assert_eq!((text(&plain.stdout), plain.status.code()), ("main 64\n".into(), Some(0)));
    let asked = run(&["--value", "inuse_space"], &heap([2, 96, 0, 0]));
    assert_eq!(asked.status.code(), Some(2));
    let message = "there are \"alloc_objects\", \"alloc_space\": choose with --value";
    assert!(text(&asked.stderr).contains(message), "{asked:?}");
}

#[test]
fn the_values_of_a_recording_without_weights_are_listed() {
    for values in [[2, 96, 0, 0], [0; 4]] {
        let out = run(&["--list-values"], &heap(values));
        assert_eq!(out.status.code(), Some(0), "{out:?}");
        assert_eq!(text(&out.stdout).lines().count(), 5, "{out:?}");
    }
    let out = run(&["--list-values"], b"nothing here\n");
    assert_eq!(out.status.code(), Some(2));
}

#[test]
fn several_inputs_are_of_one_value() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, values| {
        let path = folder.path().join(name);
        std::fs::write(&path, heap(values)).unwrap();
        path.display().to_string()
    };
    let (some, none) = (at("some.pb", [2, 96, 1, 64]), at("none.pb", [2, 96, 0, 0]));
    let out = run(&["--no-header", &some, &none], b"");
    assert_eq!(text(&out.stdout), "main 64\n", "what is in use is not added to what was allocated");
}

#[test]
fn other_formats_choose_as_well() {
    let folder = tempfile::tempdir().unwrap();
    for (name, input, folded, chosen) in [
        (
            "go-text",
            "heap profile: 0: 0 [3: 30] @ heap/1\n0: 0 [3: 30] @ 0x1\n#\t0x1\tmain.f+0x1\ta.go:1\n\n",
            "main.f 30\n",
            "alloc_space",
        ),
        ("callgrind", "version: 1\nevents: Ir Dr\nfl=a\nfn=f\n1 0 5\nfn=g\n2 0 6\n", "f 5\ng 6\n", "Dr"),
        (
            "tcmalloc",
            "heap profile: 0: 0 [ 3: 30] @ heapprofile\n 0: 0 [ 3: 30] @ 0x10\n",
            "0x10 30\n",
            "alloc-space",
        ),
        (
            "dhat",
            r#"{"dhatFileVersion":2,"mode":"heap","pps":[{"tb":0,"tbk":0,"gb":0,"gbk":0,"rb":7,"fs":[0]}],"ftbl":["0x1: f (a.c:1)"]}"#,
            "f 7\n",
            "read-bytes",
        ),
    ] {
        // From a file; some formats need it to be read a second time.
        let path = folder.path().join(name);
        std::fs::write(&path, input).unwrap();
        let out = run(&["--no-header", "--input-format", name, &path.display().to_string()], b"");
        assert_eq!(text(&out.stdout), folded, "{name}: {}", text(&out.stderr));
        assert!(text(&out.stderr).contains(&format!("this is {chosen:?}")), "{name}: {}", text(&out.stderr));
        let file = std::fs::File::open(&path).unwrap();
        let listed = Command::new(env!("CARGO_BIN_EXE_fg-collapse"))
            .args(["--list-values", "--input-format", name])
            .stdin(Stdio::from(file))
            .output()
            .unwrap();
        assert!(text(&listed.stdout).contains(&format!("* {chosen}")), "{name}: {}", text(&listed.stdout));
    }
}

#[test]
fn a_message_names_few_of_many_values() {
    let events: String = (0..9).map(|n| format!("a  1 5.0: 3 e{n}: \n\t1000 f (/a)\n\n")).collect();
    let out = run(&["--value", "x"], events.as_bytes());
    let message = "there are \"e0\", \"e1\", \"e2\", \"e3\", \"e4\", and 4 more: choose with --value";
    assert!(text(&out.stderr).contains(message), "{out:?}");
}

/// Folded text holds one value; another that is asked for is not it.
#[test]
fn folded_text_is_of_the_value_that_it_states() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.folded");
    let path = path.to_str().unwrap();
    let programs =
        [env!("CARGO_BIN_EXE_fg-collapse"), env!("CARGO_BIN_EXE_fg-render"), env!("CARGO_BIN_EXE_fg-diff")];
    for (header, known, wanted) in [
        ("", "its only one has no name: leave out --value", None),
        ("# event: page-faults:u\n", "there is \"page-faults:u\"", Some("page-faults")),
        ("# unit: ns\n# event: cpu-clock\n", "there is \"cpu-clock\"", Some("cpu-clock")),
        ("# unit: samples\n", "there is \"samples\"", Some("samples")),
    ] {
        std::fs::write(path, format!("{header}main;a 1\n")).unwrap();
        for program in programs {
            let files = if program.ends_with("fg-diff") { vec![path; 2] } else { vec![path] };
            let with = |value| Command::new(program).args(["--value", value]).args(&files).output().unwrap();
            let refused = with("cycles");
            let message = format!("{path}: there is no such value in it; {known}");
            assert!(text(&refused.stderr).contains(&message), "{header} {refused:?}");
            assert!(refused.stdout.is_empty() && !refused.status.success(), "{header} {refused:?}");
            if let Some(wanted) = wanted {
                let taken = with(wanted);
                assert!(taken.status.success() && !taken.stdout.is_empty(), "{header} {taken:?}");
            }
        }
    }
    let of_python = run(&["--value", "cycles"], b"main (a.py:1);f (a.py:2) 3\n");
    assert!(text(&of_python.stderr).contains("there is \"samples\": choose with --value"), "{of_python:?}");
}

/// A perf script whose header lists these events, with these samples.
fn perf_script(listed: &[&str], samples: &[(&str, u32)]) -> String {
    let header: String = listed
        .iter()
        .map(|name| format!("# event : name = {name}, , id = {{ 1 }}, type = 1, freq = 1\n"))
        .collect();
    let samples: String = samples
        .iter()
        .map(|(event, weight)| format!("app  1 5.000001: {weight} {event}: \n\t    1000 f (/a)\n\n"))
        .collect();
    format!("# ========\n# captured on    : Fri Nov 20 23:47:55 2026\n{header}# ========\n#\n{samples}")
}

/// The first event with samples, in the order of the header, from a file and from a pipe.
#[test]
fn a_default_without_samples_gives_way_to_the_first_event_that_has_some() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.perf");
    let samples = [("b-last", 7), ("cpu-clock", 5), ("a-unlisted", 9)];
    for (listed, samples, event, weight) in [
        (&["cycles"][..], &[("cpu-clock", 5)][..], "cpu-clock", 5),
        (&["cycles", "cpu-clock", "b-last"], &samples, "cpu-clock", 5),
        (&["cycles", "instructions"], &samples, "b-last", 7),
        (&["dummy:HG", "cycles:P", "a-unlisted"], &samples, "a-unlisted", 9),
    ] {
        let script = perf_script(listed, samples);
        std::fs::write(&path, &script).unwrap();
        let file = run(&[&path.display().to_string()], b"");
        let pipe = run(&[], script.as_bytes());
        for out in [&file, &pipe] {
            assert!(text(&out.stdout).ends_with(&format!("app;f {weight}\n")), "{listed:?} {out:?}");
            assert!(text(&out.stdout).contains(&format!("# event: {event}\n")), "{listed:?} {out:?}");
            let first = listed.iter().find(|name| !name.starts_with("dummy")).unwrap();
            let note = format!("the value {first:?} has no samples: this is {event:?}; choose with --value");
            assert!(text(&out.stderr).contains(&note), "{listed:?} {out:?}");
            assert_eq!(out.status.code(), Some(0));
        }
        assert_eq!(file.stdout, pipe.stdout, "{listed:?}");
        let asked = run(&["--value", "cycles"], script.as_bytes());
        assert_eq!(asked.status.code(), Some(2), "{listed:?} {asked:?}");
    }
    // Where it has samples, however late, nothing is chosen instead.
    let late = perf_script(&["cycles"], &[&[("cpu-clock", 5); 3000][..], &[("cycles", 2)]].concat());
    let out = run(&["--no-header", "--strict"], late.as_bytes());
    assert_eq!(text(&out.stdout), "app;f 2\n", "{}", text(&out.stderr));
}

#[test]
fn several_recordings_without_samples_of_the_default_are_of_another_value() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, samples: &[(&str, u32)]| {
        let path = folder.path().join(name);
        std::fs::write(&path, perf_script(&["cycles"], samples)).unwrap();
        path.display().to_string()
    };
    let clocks = [at("a", &[("cpu-clock", 5)]), at("b", &[("cpu-clock", 6)])];
    let cycles = at("c", &[("cycles", 3)]);
    let note = "the value \"cycles\" has no samples: this is \"cpu-clock\"; choose with --value";
    let root = folder.path().display().to_string();
    for recursive in [&[][..], &["-r"]] {
        let with = |more: &[&str]| run(&[recursive, &["--no-header"], more].concat(), b"");
        let both = with(&[&clocks[0], &clocks[1]]);
        assert_eq!((text(&both.stdout), both.status.code()), ("app;f 11\n".into(), Some(0)), "{both:?}");
        assert!(text(&both.stderr).contains(note), "{both:?}");
        let strict = with(&["--strict", &clocks[0], &clocks[1]]);
        assert_eq!(strict.status.code(), Some(2), "{strict:?}");
        // Any that has some settles it.
        let mixed = with(&[&clocks[0], &cycles, &clocks[1]]);
        assert_eq!(text(&mixed.stdout), "app;f 3\n", "{mixed:?}");
        assert!(!text(&mixed.stderr).contains(note), "{mixed:?}");
    }
    let all = run(&["-r", &root], b"");
    let named = format!("fg-collapse: 2 of 3 files have no samples: {root}/a, {root}/b\n");
    assert!(text(&all.stderr).contains(&named), "{all:?}");
}

#[test]
fn all_values_of_several_inputs_are_below_roots() {
    let all = CollapseOptions { values: ValueSelection::All, ..CollapseOptions::default() };
    let sources = ["# unit: ns\nmain;x 7\n", "# unit: bytes\n# event: heap\nmain;x 1000\n"]
        .map(|text| Source::bytes(text.as_bytes().to_vec()));
    let mut table = StackTable::default();
    collapse(&sources, None, &all, &mut table).unwrap();
    let mut out = Vec::new();
    table.write(&mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "heap;main;x 1000\nns;main;x 7\n");
}

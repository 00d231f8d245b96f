//! Formats of exchange: what goes in comes out, through other programs and other formats too.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use fg_tools::folded::Weights;
use fg_tools::reading::{ExchangeParts, ReadOptions};
use fg_tools::render::Settings;
use fg_tools::{Profile, Source};

use super::installed::works;
use super::recordings::corpus;
use super::thorough::thorough;
use super::{run, run_in};

/// A field of a message: its number, and a number or bytes.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
    }
    unreachable!()
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let field = match tag & 7 {
            0 => Field::Number(varint(&mut bytes)),
            2 => {
                let len = varint(&mut bytes) as usize;
                let (field, rest) = bytes.split_at(len);
                bytes = rest;
                Field::Bytes(field)
            }
            kind => panic!("wire type {kind}"),
        };
        fields.push((tag >> 3, field));
    }
    fields
}

fn numbers(bytes: &[u8]) -> HashMap<u64, u64> {
    let number = |(at, field)| match field {
        Field::Number(number) => Some((at, number)),
        Field::Bytes(_) => None,
    };
    fields(bytes).into_iter().filter_map(number).collect()
}

fn list(field: Field<'_>) -> Vec<u64> {
    match field {
        Field::Number(number) => vec![number],
        Field::Bytes(mut bytes) => {
            let mut list = Vec::new();
            while !bytes.is_empty() {
                list.push(varint(&mut bytes));
            }
            list
        }
    }
}

/// All of a profile.proto in lines that do not depend on order and numbering.
pub(super) fn canonical(bytes: &[u8]) -> Vec<String> {
    let mut plain = Vec::new();
    match bytes.starts_with(b"\x1f\x8b") {
        true => drop(flate2::read::GzDecoder::new(bytes).read_to_end(&mut plain).unwrap()),
        false => plain.extend_from_slice(bytes),
    }
    let (mut texts, mut functions, mut locations, mut mappings) =
        (Vec::new(), HashMap::new(), HashMap::new(), HashMap::new());
    let all = fields(&plain);
    for (at, field) in &all {
        match (at, field) {
            (3, Field::Bytes(bytes)) => drop(mappings.insert(numbers(bytes)[&1], numbers(bytes))),
            (4, Field::Bytes(bytes)) => drop(locations.insert(numbers(bytes)[&1], *bytes)),
            (5, Field::Bytes(bytes)) => drop(functions.insert(numbers(bytes)[&1], numbers(bytes))),
            (6, Field::Bytes(bytes)) => texts.push(String::from_utf8_lossy(bytes)),
            _ => {}
        }
    }
    let text = |number: Option<&u64>| texts[number.copied().unwrap_or(0) as usize].to_string();
    let value_type = |bytes: &[u8]| {
        let fields = numbers(bytes);
        format!("{}/{}", text(fields.get(&1)), text(fields.get(&2)))
    };
    let mapping = |fields: &HashMap<u64, u64>| {
        let number = |at| fields.get(&at).copied().unwrap_or(0);
        let has: Vec<u64> = (7..11).map(number).collect();
        let (file, build_id) = (text(fields.get(&5)), text(fields.get(&6)));
        format!("{:x}/{:x}/{:x} {file} {build_id} {has:?}", number(2), number(3), number(4))
    };
    let location = |id: &u64| {
        let known = numbers(locations[id]);
        let mut out = format!("{:x}", known.get(&3).unwrap_or(&0));
        if let Some(at) = known.get(&2).filter(|at| **at > 0) {
            out += &format!(" in {}", mapping(&mappings[at]));
        }
        for (at, field) in fields(locations[id]) {
            if let (4, Field::Bytes(line)) = (at, field) {
                let line = numbers(line);
                let number = |at| line.get(&at).copied().unwrap_or(0) as i64;
                let function = line.get(&1).map(|id| &functions[id]);
                let of = |at| function.map(|f| text(f.get(&at))).unwrap_or_default();
                let start = function.and_then(|f| f.get(&5)).copied().unwrap_or(0);
                let (name, system, file) = (of(2), of(3), of(4));
                out += &format!("|{name} ({system}) {file}:{}:{} from {start}", number(2), number(3));
            }
        }
        out + if known.get(&5).is_some_and(|folded| *folded > 0) { " folded" } else { "" }
    };
    let (mut lines, mut types) = (Vec::new(), 0);
    // Go's own merge adds up samples that are alike, and leaves out those without any value.
    let mut samples: HashMap<String, Vec<i64>> = HashMap::new();
    for (at, field) in all {
        match (at, field) {
            (1, Field::Bytes(bytes)) => {
                types += 1;
                lines.push(format!("type {types} {}", value_type(bytes)));
            }
            (2, Field::Bytes(bytes)) => {
                let (mut stack, mut values, mut labels) = (Vec::new(), Vec::new(), Vec::new());
                for (at, field) in fields(bytes) {
                    match (at, field) {
                        (1, field) => stack.extend(list(field).iter().map(location)),
                        (2, field) => values.extend(list(field).iter().map(|value| *value as i64)),
                        (3, Field::Bytes(bytes)) => {
                            let label = numbers(bytes);
                            let (key, value) = (text(label.get(&1)), text(label.get(&2)));
                            let number = label.get(&3).copied().unwrap_or(0) as i64;
                            labels.push(format!("{key}={value}{number} {}", text(label.get(&4))));
                        }
                        _ => {}
                    }
                }
                labels.sort();
                let sums = samples.entry(format!("{labels:?} {stack:?}")).or_insert(vec![0; values.len()]);
                sums.iter_mut().zip(values).for_each(|(sum, value): (&mut i64, i64)| *sum += value);
            }
            (3, Field::Bytes(bytes)) => lines.push(format!("mapping {}", mapping(&numbers(bytes)))),
            (7 | 8 | 14 | 15, Field::Number(number)) if number > 0 => {
                lines.push(format!("text {at} {}", text(Some(&number))));
            }
            (9 | 10 | 12, Field::Number(number)) if number > 0 => lines.push(format!("number {at} {number}")),
            (11, Field::Bytes(bytes)) => lines.push(format!("period {}", value_type(bytes))),
            (13, field) => lines.extend(list(field).iter().map(|n| format!("comment {}", text(Some(n))))),
            _ => {}
        }
    }
    let held = samples.iter().filter(|(_, values)| values.iter().any(|value| *value != 0));
    lines.extend(held.map(|(what, values)| format!("sample {values:?} {what}")));
    lines.sort();
    lines
}

/// Every pprof profile of the fixtures, and of the corpus if that is there.
fn profiles() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for case in std::fs::read_dir(root.join("tests/fixtures/pprof")).unwrap() {
        let inputs = std::fs::read_dir(case.unwrap().path()).unwrap().map(|entry| entry.unwrap().path());
        files.extend(inputs.filter(|path| path.file_stem().unwrap().to_string_lossy().starts_with("input")));
    }
    for folder in ["go", "pprof-austin"] {
        let Some(corpus) = corpus() else { continue };
        let inputs = std::fs::read_dir(corpus.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        files.extend(inputs.filter(|path| path.to_string_lossy().contains(".pb")));
    }
    files.sort();
    assert!(files.len() >= 9);
    files
}

/// Runs another program of ours in a folder.
fn tool(program: &str, folder: &Path, arguments: &[&str]) -> String {
    let program = match program {
        "fg-collapse" => env!("CARGO_BIN_EXE_fg-collapse"),
        _ => env!("CARGO_BIN_EXE_fg-filter"),
    };
    let output = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn differs(theirs: &[String], ours: &[String]) -> String {
    let missing = theirs.iter().find(|line| !ours.contains(line));
    let new = ours.iter().find(|line| !theirs.contains(line));
    format!("missing: {missing:.300?}; new: {new:.300?}")
}

#[test]
fn every_pprof_comes_out_whole() {
    let folder = tempfile::tempdir().unwrap();
    for file in profiles() {
        let theirs = canonical(&std::fs::read(&file).unwrap());
        let path = file.to_str().unwrap();
        let run = run_in(folder.path(), &["-o", "out.pb.gz", path], "");
        assert_eq!(run.status, 0, "{path}: {}", run.stderr);
        let ours = canonical(&std::fs::read(folder.path().join("out.pb.gz")).unwrap());
        assert!(theirs == ours, "{path}: {}", differs(&theirs, &ours));
        for name in ["out.otlp", "out.otlp.json"] {
            tool("fg-collapse", folder.path(), &["-q", "-o", name, path]);
            tool("fg-collapse", folder.path(), &["-q", "-o", "back.pb.gz", name]);
            let ours = canonical(&std::fs::read(folder.path().join("back.pb.gz")).unwrap());
            assert!(theirs == ours, "{path} by {name}: {}", differs(&theirs, &ours));
        }
    }
}

#[test]
fn go_tool_pprof_merges_as_we_do() {
    if !works("go") {
        return;
    }
    let raw = |folder: &Path, file: &str| {
        let arguments = ["tool", "pprof", "-raw", file];
        let output = Command::new("go").args(arguments).current_dir(folder).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pprof");
    let inputs = ["cpu/input.pb.gz", "cpu-count/input.pb"].map(|file| root.join(file));
    let [a, b] = inputs.each_ref().map(|path| path.to_str().unwrap());
    tool("fg-collapse", folder.path(), &["-q", "-o", "ours.pb.gz", a, b]);
    let merge = ["tool", "pprof", "-proto", "-output=theirs.pb.gz", a, b];
    assert!(Command::new("go").args(merge).current_dir(folder.path()).output().unwrap().status.success());
    // Go leaves out mappings that no sample is in.
    let of_samples = |file: &str| {
        let lines = canonical(&std::fs::read(folder.path().join(file)).unwrap());
        lines.into_iter().filter(|line| !line.starts_with("mapping")).collect::<Vec<_>>()
    };
    let (theirs, ours) = (of_samples("theirs.pb.gz"), of_samples("ours.pb.gz"));
    assert!(theirs == ours, "{}", differs(&theirs, &ours));
    assert_eq!(raw(folder.path(), "ours.pb.gz")[..6], raw(folder.path(), "theirs.pb.gz")[..6]);
}

#[test]
fn inputs_are_weighed() {
    let folder = tempfile::tempdir().unwrap();
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pprof/heap/input.pb.gz");
    for name in ["a.pb.gz", "b.pb.gz"] {
        std::fs::copy(&input, folder.path().join(name)).unwrap();
    }
    let weigh = ["-q", "--scale", "a=0.3,b=0.7", "-o", "both.pb.gz", "a.pb.gz", "b.pb.gz"];
    tool("fg-collapse", folder.path(), &weigh);
    let samples = |file: &str| {
        let lines = canonical(&std::fs::read(folder.path().join(file)).unwrap());
        lines.into_iter().filter(|line| line.starts_with("sample")).collect::<Vec<_>>()
    };
    // Three tenths and seven tenths of the same are the same.
    let (theirs, ours) = (samples("a.pb.gz"), samples("both.pb.gz"));
    assert!(theirs == ours, "{}", differs(&theirs, &ours));
    let whole = tool("fg-collapse", folder.path(), &["-q", "--no-header", "a.pb.gz"]);
    let tenth = tool("fg-collapse", folder.path(), &["-q", "--no-header", "--scale", "0.1", "a.pb.gz"]);
    let sum =
        |text: &str| Profile::from_bytes(text).unwrap().total().unwrap().value.checked_mul(10u64.into());
    assert_eq!(sum(&tenth).unwrap(), Profile::from_bytes(whole).unwrap().total().unwrap().value);
    let output = Command::new(env!("CARGO_BIN_EXE_fg-collapse"))
        .args(["--scale", "c=2", "a.pb.gz"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1), "{error}");
    assert!(error.contains("no input is called c; there are a.pb.gz"), "{error}");
}

#[test]
fn filters_keep_values_labels_and_lines() {
    let folder = tempfile::tempdir().unwrap();
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pprof/heap/input.pb.gz");
    let input = input.to_str().unwrap();
    tool("fg-filter", folder.path(), &["-o", "some.pb.gz", "regexp", input]);
    let (all, some) = (
        canonical(&std::fs::read(input).unwrap()),
        canonical(&std::fs::read(folder.path().join("some.pb.gz")).unwrap()),
    );
    let wanted: Vec<&String> =
        all.iter().filter(|line| !line.starts_with("sample") || line.contains("regexp")).collect();
    assert!(wanted.len() > 10 && wanted.len() < all.len());
    let wanted: Vec<String> = wanted.into_iter().cloned().collect();
    assert!(some == wanted, "{}", differs(&wanted, &some));
    // A frame that is renamed keeps its address, file and line, and its old name nowhere.
    tool("fg-filter", folder.path(), &["-o", "new.pb.gz", "--rename", "s/^main.*/ours/", input]);
    let renamed = canonical(&std::fs::read(folder.path().join("new.pb.gz")).unwrap());
    assert_eq!(renamed.len(), all.len());
    let samples = |line: &&String| line.starts_with("sample") && line.contains("|ours (ours) ");
    assert!(renamed.iter().filter(samples).count() > 10);
    assert!(!renamed.iter().any(|line| line.contains("|main.")));
    // Weights that are multiplied are multiplied in each value, in whole numbers.
    tool("fg-filter", folder.path(), &["-o", "twice.pb.gz", "--scale", "2", input]);
    let twice = canonical(&std::fs::read(folder.path().join("twice.pb.gz")).unwrap());
    let sum = |lines: &[String]| -> i64 {
        let values = |line: &String| {
            let inside = line.strip_prefix("sample [")?.split(']').next()?;
            Some(inside.split(", ").map(|value| value.parse::<i64>().unwrap()).sum::<i64>())
        };
        lines.iter().filter_map(values).sum()
    };
    assert_eq!(sum(&twice), 2 * sum(&all));
}

#[test]
fn private_output_names_no_path_and_no_label() {
    let folder = tempfile::tempdir().unwrap();
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pprof/cpu/input.pb.gz");
    let run = run_in(folder.path(), &["--private", "-o", "out.pb.gz", input.to_str().unwrap()], "");
    assert_eq!(run.status, 0, "{}", run.stderr);
    let lines = canonical(&std::fs::read(folder.path().join("out.pb.gz")).unwrap()).join("\n");
    assert!(lines.contains("sample ") && !lines.contains("/home/") && !lines.contains("worker"), "{lines}");
}

#[test]
fn stacks_of_names_are_otlp_too() {
    for format in ["otlp", "otlp-json"] {
        let written = run(&["--format", format], "# unit: ns\nmain;parse 40\nmain 2\n");
        assert_eq!((written.status, written.stderr.as_str()), (0, ""));
        let profile = Profile::from_bytes(written.stdout).unwrap();
        assert_eq!(profile.facts().unit.as_deref(), Some("ns"));
        assert_eq!(profile.total().unwrap(), Weights::one(42u64.into()));
        let refused = run(&["--format", format], "a 1.5\n");
        assert_eq!((refused.status, refused.stderr.lines().count()), (2, 1), "{}", refused.stderr);
    }
}

#[test]
fn a_library_asks_for_everything() {
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pprof/heap/input.pb.gz");
    let options = ReadOptions::default().exchange(ExchangeParts::Whole);
    let profile = Profile::read(&[Source::new(&input)], &options).unwrap();
    let mut out = Vec::new();
    profile.pprof(&Settings::default(), &mut out).unwrap();
    let (theirs, ours) = (canonical(&std::fs::read(input).unwrap()), canonical(&out));
    assert!(theirs == ours, "{}", differs(&theirs, &ours));
}

/// Reads a profile with everything, and writes it in every format of exchange: it is refused in one line, or it
/// is written.
fn survives(what: &str, bytes: &[u8], format: &str) {
    let options = ReadOptions::default().format(format).exchange(ExchangeParts::Whole);
    let refused = |error: fg_tools::Error| {
        let text = error.to_string();
        assert!(!text.contains('\n') && text.len() < 1000, "{what}: {text}");
    };
    match Profile::read(&[Source::bytes(bytes)], &options) {
        Err(error) => refused(error),
        Ok(profile) => {
            for name in ["pprof", "otlp", "otlp-json"] {
                let mut out = Vec::new();
                if let Err(error) = profile.render(name, &Settings::default(), &mut out) {
                    refused(error);
                }
            }
        }
    }
}

#[test]
fn mutated_messages_are_refused_in_one_line_or_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for (file, format) in [
        ("pprof/drop-frames/input.pb", "pprof"),
        ("pprof/block/input.pb", "pprof"),
        ("otlp/protobuf/input.bin", "otlp"),
        ("otlp/json-lines/input.jsonl", "otlp"),
    ] {
        let whole = std::fs::read(root.join(file)).unwrap();
        for (n, at) in (0..whole.len()).step_by(whole.len().div_ceil(400)).enumerate() {
            survives(&format!("{file} cut at {at}"), &whole[..at], format);
            let bits = [0x01, 0x80, 0xff, 0x08][n % 4];
            let mut mutated = whole.clone();
            mutated[at] ^= bits;
            survives(&format!("{file} with byte {at} ^ {bits:x}"), &mutated, format);
        }
    }
}

/// A field of bytes, or of a number.
fn message(number: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    put(content.len() as u64, &mut out);
    out.extend_from_slice(content);
    out
}

fn number(field: u8, value: u64) -> Vec<u8> {
    let mut out = vec![field << 3];
    put(value, &mut out);
    out
}

fn put(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// OTLP of one profile with these samples; its stack holds the one location so many times.
fn otlp(samples: &[Vec<u8>], depth: usize) -> Vec<u8> {
    let samples: Vec<u8> = samples.iter().flat_map(|sample| message(2, sample)).collect();
    let kind = message(1, &[number(1, 1), number(2, 2)].concat());
    let profile = message(2, &[kind, samples].concat());
    let dictionary = [
        message(2, b""),
        message(2, &message(3, &number(1, 1))),
        message(3, b""),
        message(3, &number(1, 3)),
        ["", "cpu", "nanoseconds", "main"].iter().flat_map(|text| message(5, text.as_bytes())).collect(),
        message(7, b""),
        message(7, &message(1, &vec![1; depth])),
    ];
    [message(1, &message(2, &profile)), message(2, &dictionary.concat())].concat()
}

#[test]
fn hostile_otlp_is_refused_in_bounded_memory() {
    let sample = |value| [number(1, 1), number(4, value)].concat();
    let read = |bytes: &[u8]| Profile::read(&[Source::bytes(bytes)], &ReadOptions::default());
    let total = |bytes: &[u8]| read(bytes).unwrap().total().unwrap().value.to_string();
    assert_eq!(total(&otlp(&[sample(40), sample(2)], 1)), "42");
    // Sums of profiles may be larger than any value in them.
    assert_eq!(total(&otlp(&[sample(i64::MAX as u64), sample(i64::MAX as u64)], 1)), "18446744073709551614");
    let twice = [number(1, 1), message(4, &[number(0, 1)[1..].to_vec(), vec![1]].concat())].concat();
    assert_eq!(total(&otlp(&[twice], 1)), "2");
    let many = [number(1, 1), number(4, i64::MAX as u64), number(4, i64::MAX as u64)].concat();
    let deep = thorough(Some(vec![sample(1); 20_000]), None);
    for (bytes, expected) in [
        (otlp(&[many], 1), "more than can be held"),
        (otlp(&[[number(1, 9), number(4, 1)].concat()], 1), "the index of one of 2 stacks, found \"9\""),
        (otlp(&[[number(1, 1), number(2, 7), number(4, 1)].concat()], 1), ""),
        (otlp(&[sample(1)], 200_000), "a stack of at most 100000 frames"),
    ]
    .into_iter()
    .chain(deep.map(|deep| (otlp(&deep, 100_000), "frames in all stacks")))
    {
        match read(&bytes) {
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains(expected) && text.lines().count() == 1, "{expected}: {text}");
            }
            // Attributes that nobody wants are not looked up.
            Ok(_) => assert_eq!(expected, ""),
        }
    }
    // Before version 1.8 the third field was a list.
    let older = message(2, &[message(1, &[number(1, 1), number(2, 2)].concat()), message(3, &[1])].concat());
    let error = read(&message(1, &message(2, &older))).unwrap_err().to_string();
    assert!(error.contains("from version 1.8 on, found"), "{error}");
}

#[test]
fn recordings_of_addresses_keep_them() {
    let Some(corpus) = corpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let input = corpus.join("perf/cpp-fp.perf.data");
    let input = input.to_str().unwrap();
    let run = run_in(folder.path(), &["-o", "out.pb.gz", input], "");
    assert_eq!(run.status, 0, "{}", run.stderr);
    let lines = canonical(&std::fs::read(folder.path().join("out.pb.gz")).unwrap());
    let program = "/home/user/app/cpp/orders bb27c4ef1efbc1d8c7014ba48021190201754a88";
    assert!(lines.iter().any(|line| line.starts_with("mapping ") && line.contains(program)), "{lines:.300?}");
    let samples: Vec<&String> = lines.iter().filter(|line| line.starts_with("sample ")).collect();
    assert!(samples.iter().any(|line| line.contains("\"8a7e in ")));
    // The stacks are the same when they come back, by both formats, and whatever the threads.
    let stacks = |file: &str| tool("fg-collapse", folder.path(), &["-q", "--no-header", file]);
    let theirs = stacks(input);
    for name in ["out.pb.gz", "out.otlp"] {
        tool("fg-collapse", folder.path(), &["-q", "-o", name, input]);
        assert_eq!(stacks(name), theirs, "{name}");
        let written = std::fs::read(folder.path().join(name)).unwrap();
        tool("fg-collapse", folder.path(), &["-q", "-n", "1", "-o", name, input]);
        assert!(std::fs::read(folder.path().join(name)).unwrap() == written, "{name}");
    }
}

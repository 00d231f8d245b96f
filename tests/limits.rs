//! Limits of a reading hold for every format and every compression.

#![cfg(feature = "collapse")]
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fg_tools::collapse::{CollapseOptions, registry};
use fg_tools::limits::{Limit, Limits};
use fg_tools::reading::{Opened, open};
use fg_tools::{Error, ErrorKind, Profile, ReadOptions, Result, Source};

/// The largest recording of the fixtures of each format.
fn recordings() -> BTreeMap<String, PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let entries = |path: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
    };
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let size = |path: &PathBuf| (std::fs::metadata(path).unwrap().len(), path.clone());
    let mut largest = BTreeMap::new();
    for format in entries(&root) {
        let inputs = entries(&format).into_iter().flat_map(|case| entries(&case));
        let input = inputs.filter(|input| name(input).starts_with("input")).max_by_key(size);
        if let Some(input) = input.filter(|_| registry::by_name(&name(&format)).is_ok()) {
            largest.insert(name(&format), input);
        }
    }
    largest
}

fn options(format: &str, limits: Limits) -> ReadOptions {
    // The symbols of this machine's libraries are no part of a recording.
    let mut options = CollapseOptions::default();
    options.symfs = Some(PathBuf::from("/nonexistent"));
    ReadOptions::default().format(format).collapse(options).limits(limits)
}

fn limit(result: Result<Profile>) -> Option<Limit> {
    match result.as_ref().map_err(Error::kind) {
        Err(ErrorKind::Limit(limit)) => Some(*limit),
        _ => None,
    }
}

#[test]
fn every_format_keeps_to_every_limit() {
    let recordings = recordings();
    assert!(recordings.len() > 80, "{}", recordings.len());
    let mut wrong = Vec::new();
    for (format, path) in &recordings {
        let bytes = Source::new(path).open().unwrap().read_all().unwrap();
        let read = |limits| Profile::read(&[Source::bytes(bytes.clone())], &options(format, limits));
        let Ok(whole) = read(Limits::NONE) else { continue };
        let size = bytes.len() as u64;
        let stacks = whole.stack_count() as u64;
        let frames = whole.stacks().frame_count() as u64;
        let depth = (0..whole.stack_count()).map(|at| whole.stack(at).len()).max().unwrap_or(0) as u64;
        let cases = [
            (Limits::NONE.bytes(size - 1), Limit::Bytes(size - 1)),
            (Limits::NONE.stacks(stacks - 1), Limit::Stacks(stacks - 1)),
            (Limits::NONE.frames(frames - 1), Limit::Frames(frames - 1)),
            (Limits::NONE.depth(depth - 1), Limit::Depth(depth - 1)),
            (Limits::NONE.memory(100), Limit::Memory(100)),
            (Limits::NONE.time(Duration::ZERO), Limit::Time(Duration::ZERO)),
        ];
        for (limits, reached) in cases {
            let result = read(limits);
            let error = result.as_ref().err().map(ToString::to_string);
            if error.as_ref().is_some_and(|error| !error.starts_with("input"))
                || limit(result) != Some(reached)
            {
                wrong.push(format!("{format}: {reached:?}: {error:?}"));
            }
        }
        let enough = Limits::default().bytes(16 * size).stacks(stacks).frames(frames).depth(depth);
        if let Err(error) = read(enough) {
            wrong.push(format!("{format}: {error}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_documentation_has_the_limits() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("docs/library.md")).unwrap();
    let (default, upload) = (Limits::default(), Limits::upload());
    let shown = |limit: Option<u64>| match limit {
        None => "none".to_owned(),
        Some(bytes) if bytes % (1 << 30) == 0 => format!("{} GiB", bytes >> 30),
        Some(bytes) if bytes % (512 << 20) == 0 => format!("{} MiB", bytes >> 20),
        Some(number) => fg_tools::profile::units::grouped(number.into()),
    };
    for (name, of) in [
        ("bytes", (|limits| limits.bytes) as fn(Limits) -> Option<u64>),
        ("stacks", |limits| limits.stacks),
        ("frames", |limits| limits.frames),
        ("depth", |limits| limits.depth),
        ("memory", |limits| limits.memory),
    ] {
        let row = text.lines().find(|line| line.starts_with(&format!("| `{name}`"))).unwrap();
        let cells = format!("| {} | {} |", shown(of(default)), shown(of(upload)));
        assert!(row.ends_with(&cells), "{row} is not {cells}");
    }
}

/// `a 1`, compressed by xz; several such streams one after the other are one file.
const XZ: &[u8] = b"\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3\x01\x00\x03\x61\x20\x31\x0a\x00\x1f\xe3\x29\xfb\x8a\xe3\xf5\xdc\x00\x01\x1c\x04\x6f\x2c\x9c\xc1\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a";

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// A zip archive with one deflated file, without its directory: a pipe has not come to it yet.
fn zip(name: &str, text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    let packed = encoder.finish().unwrap();
    let mut crc = flate2::Crc::new();
    crc.update(text);
    let mut out = b"PK\x03\x04\x14\0\0\0\x08\0\0\0\0\0".to_vec();
    out.extend(crc.sum().to_le_bytes());
    out.extend((packed.len() as u32).to_le_bytes());
    out.extend((text.len() as u32).to_le_bytes());
    out.extend((name.len() as u16).to_le_bytes());
    out.extend([0, 0]);
    out.extend_from_slice(name.as_bytes());
    out.extend(packed);
    out
}

#[test]
fn every_compression_keeps_to_the_limits() {
    const MOST: u64 = 80 << 10;
    let text = b"main;a 1\n".repeat(1 << 15);
    let bzip2 = {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(&text).unwrap();
        encoder.finish().unwrap()
    };
    let lz4 = {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(&text).unwrap();
        encoder.finish().unwrap()
    };
    let zstd = ruzstd::encoding::compress_to_vec(&text[..], ruzstd::encoding::CompressionLevel::Fastest);
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(text.iter().flat_map(|&b| [b, 0])).collect();
    // Many small files.
    let members: Vec<u8> = (0..1 << 7).flat_map(|n| zip(&format!("{n}.folded"), &text[..9 << 8])).collect();
    let bombs = [
        ("plain", text.clone()),
        ("gzip", gzip(&text)),
        ("gzip twice", gzip(&gzip(&text))),
        ("zstd", zstd),
        ("bzip2", bzip2),
        ("lz4", lz4),
        ("xz", XZ.repeat(MOST as usize / 4 + 1)),
        ("utf-16", utf16),
        ("zip", zip("a.folded", &text)),
        ("zip in zip", zip("b.zip", &zip("a.folded", &text))),
        ("zip of gzip", zip("a.gz", &gzip(&text))),
        ("zip of many", members),
        ("zip of what is left out", zip("a.txt", &b"no profile\n".repeat(1 << 15))),
    ];
    for (codec, bomb) in bombs {
        let read = |source: Source, limits| {
            let options = ReadOptions::default().limits(limits);
            match open(&[source], &options)? {
                Opened::Profile(profile, _) => Ok(*profile),
                folded => {
                    let mut table = Count(0);
                    folded.walk(fg_tools::folded::Order::Frame, None, &mut table)?;
                    Profile::from_lines(["a 1"])
                }
            }
        };
        let limits = Limits::NONE.bytes(MOST);
        let reached = limit(read(Source::bytes(bomb.clone()), limits));
        assert_eq!(reached, Some(Limit::Bytes(MOST)), "{codec}");
        let pipe = Source::reader("pipe", std::io::Cursor::new(bomb.clone()));
        assert_eq!(limit(read(pipe, limits)), Some(Limit::Bytes(MOST)), "{codec} from a pipe");
        let late = read(Source::bytes(bomb), Limits::NONE.time(Duration::ZERO));
        assert_eq!(limit(late), Some(Limit::Time(Duration::ZERO)), "{codec}");
    }
}

struct Count(usize);

impl fg_tools::folded::Visitor for Count {
    fn exit(&mut self, _: fg_tools::folded::Frame<'_>, _: fg_tools::folded::Weights) -> Result<()> {
        self.0 += 1;
        Ok(())
    }

    fn restart(&mut self) -> Result<()> {
        self.0 = 0;
        Ok(())
    }
}

#[test]
fn folded_text_that_streams_keeps_to_the_limits() {
    let walk = |text: String, limits| {
        let opened = open(&[Source::bytes(text)], &ReadOptions::default().limits(limits))?;
        opened.walk(fg_tools::folded::Order::Frame, None, &mut Count(0))
    };
    let error = |text: String, limits| walk(text, limits).map(|_| ()).unwrap_err().to_string();
    let deep = format!("a 1\n{}x 1\n", "f;".repeat(99));
    assert_eq!(
        error(deep.clone(), Limits::NONE.depth(99)),
        "input:2: a stack of more than 99 frames, the limit that was set"
    );
    assert!(walk(deep, Limits::NONE.depth(100)).is_ok());
    // In no order they become a table.
    let unsorted: String = (0..200_000u64).map(|n| format!("f{};g 1\n", n * 7919 % 200_000)).collect();
    for (limits, what) in [
        (Limits::NONE.stacks(1000), "more than 1000 different stacks"),
        (Limits::NONE.memory(1 << 20), "1 MiB"),
    ] {
        assert!(error(unsorted.clone(), limits).contains(what), "{what}");
    }
}

#[test]
fn a_profile_that_is_small_and_holds_much_is_refused() {
    // Empty texts in the table of texts of a pprof profile.
    let bomb = gzip(&[&b"\x0a\x04\x08\x01\x10\x02"[..], &b"\x32\x00".repeat(4 << 20)].concat());
    assert!(bomb.len() < 1 << 17);
    let options = ReadOptions::default().limits(Limits::default().memory(8 << 20));
    let result = Profile::read(&[Source::bytes(bomb)], &options);
    let told = format!("{result:?}");
    assert_eq!(limit(result), Some(Limit::Memory(8 << 20)), "{told}");
}

#[cfg(feature = "cli")]
#[test]
fn a_program_gives_up_at_the_memory_that_it_may_take() {
    use std::process::Command;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.folded.gz");
    let narrow = (0..100_000u64).map(|n| format!("f{};g 1\n", n * 7919 % 100_000));
    let text: String = narrow.chain(["a;wide 100000\n".to_owned()]).collect();
    std::fs::write(&path, gzip(text.as_bytes())).unwrap();
    let run = |program: &str, most: &str| {
        let mut command = Command::new(program);
        command.args(["--max-memory", most]).arg(&path).arg("-o").arg(folder.path().join("out.svg"));
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (status, message) = run(env!("CARGO_BIN_EXE_fg-render"), "4M");
    assert_eq!(status, Some(2), "{message}");
    assert!(
        message.starts_with("fg-render: ") && message.contains("memory") && message.lines().count() == 1,
        "{message}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no output, and no temporary file");
    assert_eq!(run(env!("CARGO_BIN_EXE_fg-render"), "1G"), (Some(0), String::new()));
}

//! Budgets of memory: the peak of reading each format and of writing each output, for each byte of the
//! input. An allocator that counts says what they take: the same on every machine.

#![cfg(all(feature = "collapse", feature = "render"))]
// An allocator is made of unsafe functions; each hands on to the system's.
#![allow(unsafe_code)]

#[cfg(feature = "cli")]
mod hostile;

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use fg_tools::collapse::{CollapseOptions, registry};
use fg_tools::reading::{Opened, ReadOptions};
use fg_tools::render::{FORMATS, Settings, write};
use fg_tools::{Profile, Source};

/// The system's allocator, which counts the bytes that are in use.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn more(size: usize) {
    let now = NOW.fetch_add(size, Relaxed) + size;
    PEAK.fetch_max(now, Relaxed);
}

// SAFETY: every call is handed on as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old and the new may both be there for a moment.
        more(size);
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The peak of what some work takes besides what is there already.
fn peak(work: impl FnOnce()) -> usize {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    work();
    PEAK.load(Relaxed) - before
}

/// Tests that count do so one after the other.
static ALONE: Mutex<()> = Mutex::new(());

/// The memory that any of them may take: blocks, and tables for the first stacks.
const FIXED: usize = 3 << 20;

/// The memory that reading may take for each byte of a recording. Measured: below 1, but for small recordings.
const READING: usize = 6;

/// The memory that writing may take for each byte of folded text: all of its stacks are there at once.
const WRITING: usize = 32;

/// Outputs that take more for each byte: the reason.
const MORE: &[(&str, usize, &str)] = &[
    ("otlp", 40, "the message is put together before it is written, for its lengths"),
    ("otlp-json", 56, "the message is put together before it is written"),
    ("peek", 64, "callers and callees of every function that matches"),
];

/// The recordings of the fixtures, and their formats.
fn recordings() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let entries = |path: &Path| -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> =
            std::fs::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        all.sort();
        all
    };
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let cases = entries(&root).into_iter().flat_map(|format| {
        let inputs = entries(&format).into_iter().flat_map(|case| entries(&case));
        let inputs: Vec<PathBuf> = inputs.filter(|input| name(input).starts_with("input")).collect();
        inputs.into_iter().map(move |input| (name(&format), input))
    });
    cases.filter(|(format, _)| registry::by_name(format).is_ok()).collect()
}

/// A text that is large enough for the sum of its lines to weigh more than what is fixed, if it may be
/// repeated.
fn enlarged(bytes: Vec<u8>, read: &impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let large = bytes.repeat((512 << 10) / bytes.len().max(1) + 1);
    if !bytes.contains(&0) && bytes.ends_with(b"\n") && read(&large) { large } else { bytes }
}

#[test]
fn reading_and_writing_keep_to_their_budgets() {
    let _alone = ALONE.lock();
    let mut wrong = Vec::new();
    let formats = recordings();
    assert!(formats.len() > 150, "{}", formats.len());
    // The largest recording of each format: to read them all takes a minute.
    let mut largest_of: BTreeMap<String, PathBuf> = BTreeMap::new();
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    for (format, input) in formats {
        let known = largest_of.entry(format).or_insert_with(|| input.clone());
        if size(&input) > size(known) {
            *known = input;
        }
    }
    for (format, input) in largest_of {
        let read = |bytes: &[u8]| {
            // The symbols of this machine's libraries are no part of it.
            let symfs = Some(PathBuf::from("/nonexistent"));
            let options = CollapseOptions { threads: 1, symfs, ..CollapseOptions::default() };
            let options = ReadOptions::default().format(&format).collapse(options);
            Profile::read(&[Source::bytes(bytes)], &options).is_ok()
        };
        let bytes = Source::new(&input).open().unwrap().read_all().unwrap();
        let bytes = enlarged(bytes, &read);
        let taken = peak(|| _ = read(&bytes));
        if taken > FIXED + READING * bytes.len() {
            wrong.push(format!("reading {}: {taken} bytes for {}", input.display(), bytes.len()));
        }
    }
    let text: String = (0..10_000).map(|n| format!("main;f{};g{n:05} {n}\n", n / 10)).collect();
    for format in FORMATS.iter().filter(|format| format.name != "png" && !format.takes("binary")) {
        let mut out = Vec::with_capacity(64 << 20);
        let taken = peak(|| {
            let input = Opened::Folded(vec![Source::bytes(text.clone())]);
            write(&input, vec![(format, &mut out)], &Settings::default().peek("g").list("g")).unwrap();
        });
        let more = MORE.iter().find(|(name, ..)| *name == format.name);
        if taken > FIXED + more.map_or(WRITING, |(_, more, _)| *more) * text.len() {
            wrong.push(format!("writing {}: {taken} bytes for {}", format.name, text.len()));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Stacks in no order, of which four times as much as may be in memory is sorted in temporary files. A vector
/// that grows may be there twice for a moment: that is counted here, and not taken from the system.
#[cfg(feature = "cli")]
#[test]
fn sorting_keeps_to_the_memory_that_it_is_given() {
    use clap::Parser;
    use fg_tools::cli::{Tool, collapse::Collapse};
    use std::io::{BufRead, BufReader, BufWriter, Write};

    const MEMORY: usize = 16 << 20;
    const STACKS: u64 = 300_000;
    let _alone = ALONE.lock();
    let folder = tempfile::tempdir().unwrap();
    let [input, output] = ["in.folded", "out.folded"].map(|name| folder.path().join(name));
    let mut text = BufWriter::new(std::fs::File::create(&input).unwrap());
    for n in 0..STACKS {
        // Every stack once, in no order.
        let id = n * 7919 % STACKS;
        writeln!(text, "main;worker {};read;parse;step{};leaf{id} 1", id % 97, id / 50).unwrap();
    }
    text.into_inner().unwrap();
    let paths = [&input, &output].map(|path| path.to_str().unwrap());
    let arguments = ["fg-collapse", "--memory", "16M", "--no-header", "-o", paths[1], paths[0]];
    let taken = peak(|| _ = Collapse::parse_from(arguments).run().unwrap());
    assert!(taken < 2 * MEMORY, "{taken} bytes with --memory {MEMORY}");
    let lines: Vec<String> =
        BufReader::new(std::fs::File::open(&output).unwrap()).lines().map(Result::unwrap).collect();
    assert_eq!(lines.len() as u64, STACKS);
    let in_order = |pair: &[String]| pair[0].split(';').lt(pair[1].split(';'));
    assert!(lines.windows(2).all(in_order), "no two are out of order");
}

/// Stacks in frame order: as many as fill the memory of what does not stream several times.
#[cfg(feature = "cli")]
fn many_stacks() -> String {
    (0..200_000)
        .map(|n| format!("main;read;step{:03};parse;walk;leaf{:03} {}\n", n / 1000, n % 1000, n % 9 + 1))
        .collect()
}

/// The bytes that a program takes to read one file and write another, of which it gives back the content.
#[cfg(feature = "cli")]
fn taken_by<T: fg_tools::cli::Tool>(arguments: &[&str], input: &[u8], names: [&str; 2]) -> (usize, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let [from, to] = names.map(|name| folder.path().join(name));
    std::fs::write(&from, input).unwrap();
    let [from, to] = [&from, &to].map(|path| path.to_str().unwrap());
    let arguments = [&[T::NAME], arguments, &["-o", to, from]].concat();
    let taken = peak(|| _ = T::parse_from(arguments).run().unwrap());
    (taken, std::fs::read(to).unwrap())
}

/// A recording that is written in a format of exchange takes no profile of stacks in between, of 570 bytes a stack.
#[cfg(feature = "cli")]
#[test]
fn formats_of_exchange_are_converted_in_little_memory() {
    use fg_tools::cli::{collapse::Collapse, render::Render};

    /// The bytes for each stack. A third is the table that tells stacks apart, which is there twice while it grows.
    const EACH: usize = 200;
    let _alone = ALONE.lock();
    let text = many_stacks();
    let stacks = text.lines().count();
    let mut pprof = Vec::new();
    Profile::from_bytes(text).unwrap().pprof(&Settings::default(), &mut pprof).unwrap();
    let (by_render, rendered) = taken_by::<Render>(&["-q"], &pprof, ["in.pb.gz", "out.pb.gz"]);
    let (by_collapse, collapsed) = taken_by::<Collapse>(&["-q"], &pprof, ["in.pb.gz", "out.pb.gz"]);
    assert!(rendered == collapsed, "both programs write the same");
    assert_eq!(Profile::from_bytes(rendered).unwrap().stack_count(), stacks);
    for (program, taken) in [("fg-render", by_render), ("fg-collapse", by_collapse)] {
        assert!(taken < FIXED + EACH * stacks, "{program}: {taken} bytes for {stacks} stacks");
    }
}

/// Operations that change stacks put them in order by temporary files, also where they change all of them.
#[cfg(feature = "cli")]
#[test]
fn changing_stacks_keeps_to_a_fixed_amount_of_memory() {
    use fg_tools::cli::filter::Filter;

    const MOST: usize = 32 << 20;
    let _alone = ALONE.lock();
    // More stacks are no more memory.
    let text = many_stacks();
    let longer: String = (0..4).map(|root| text.replace("main;", &format!("main{root};"))).collect();
    let total = Profile::from_bytes(longer.as_str()).unwrap().total().unwrap();
    // All stacks are changed and stay in order; one in a hundred is; all are, and come in another order.
    for operation in ["--hide=walk", "--hide=leaf99", "--reverse"] {
        let arguments = [operation, "--no-header"];
        let (taken, filtered) =
            taken_by::<Filter>(&arguments, longer.as_bytes(), ["in.folded", "out.folded"]);
        assert!(taken < MOST, "{operation}: {taken} bytes");
        assert_eq!(Profile::from_bytes(filtered).unwrap().total().unwrap(), total, "{operation}");
    }
}

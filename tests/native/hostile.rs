//! Objects that were cut, damaged or made to hurt. Whatever they say, there is an answer, soon.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use fg_tools::symbolize::{Module, Object, Symbolizer};

use super::{RAW, nowhere, objects};

/// Everything that can be asked of an object.
fn ask(bytes: &[u8], beside: &Path) {
    let path = beside.join("object");
    fs::write(&path, bytes).unwrap();
    let module = Module { path: path.to_str().unwrap().into(), build_id: None };
    if let Ok(object) = nowhere().open(&module) {
        ask_object(&object);
    }
}

pub fn ask_object(object: &Object) {
    let symbolizer = Symbolizer::new(object, RAW);
    let mut frames = Vec::new();
    let text = object.section(b".text").map_or(0x1000..0x1100, |text| text.svma);
    let some = text.clone().take(200).chain([0, text.end, u64::MAX - 1, u64::MAX]);
    for at in some {
        symbolizer.resolve(at, at % 2 == 0, &mut frames);
        symbolizer.function_start(at, at % 2 == 0);
        object.file_offset_to_svma(at);
        assert!(frames.len() <= 300, "{} frames at one address", frames.len());
        frames.clear();
    }
    for name in [b".eh_frame".as_slice(), b".eh_frame_hdr", b".debug_frame", b".got"] {
        object.section(name);
    }
}

/// The length of its one unit leads beyond the last address.
#[test]
fn a_unit_without_end() {
    let temporary = tempfile::tempdir().unwrap();
    let file = fs::File::open(objects().join("unit-without-end.so.gz")).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    ask(&bytes, temporary.path());
}

#[test]
fn truncated_anywhere() {
    let temporary = tempfile::tempdir().unwrap();
    for name in ["orders.so", "orders-zstd.so", "rusty.so", "shapes-package.so"] {
        let bytes = fs::read(objects().join(name)).unwrap();
        for length in (0..bytes.len()).step_by(97).chain(0..200) {
            ask(&bytes[..length], temporary.path());
        }
    }
}

#[test]
fn headers_that_lie() {
    let temporary = tempfile::tempdir().unwrap();
    for name in ["orders.so", "orders-32.so", "orders-aarch64.so", "orders-zlib.so"] {
        let whole = fs::read(objects().join(name)).unwrap();
        let table = usize::from_le_bytes(whole[0x28..0x30].try_into().unwrap()).min(whole.len());
        let headers = (4..64).chain(table..whole.len());
        for at in headers.step_by(5) {
            for value in [0, 0xff] {
                let mut bytes = whole.clone();
                let end = (at + 4).min(bytes.len());
                bytes[at..end].fill(value);
                ask(&bytes, temporary.path());
            }
        }
    }
}

/// Every byte of debug information changed, some at a time.
#[test]
fn debug_information_that_lies() {
    let temporary = tempfile::tempdir().unwrap();
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    for name in ["orders.so", "rusty.so", "shapes.so", "orders-split.c.dwo"] {
        let whole = fs::read(objects().join(name)).unwrap();
        for _ in 0..150 {
            let mut bytes = whole.clone();
            for _ in 0..1 + random() % 20 {
                let at = 0x40 + random() % (bytes.len() - 0x40);
                bytes[at] = random() as u8;
            }
            ask(&bytes, temporary.path());
        }
    }
}

/// An object made of these sections, with the code at address 0x1000.
fn object(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut names = vec![0];
    let mut bytes = vec![0; 64];
    let mut headers = vec![0; 64];
    let mut header = |name: usize, kind: u32, flags: u64, address: u64, offset: usize, size: usize| {
        headers.extend((name as u32).to_le_bytes());
        headers.extend(kind.to_le_bytes());
        for value in [flags, address, offset as u64, size as u64, 0, 1, 0] {
            headers.extend(value.to_le_bytes());
        }
    };
    for (name, contents) in sections {
        let (flags, address) = if *name == ".text" { (6, 0x1000) } else { (0, 0) };
        header(names.len(), 1, flags, address, bytes.len(), contents.len());
        names.extend(name.bytes().chain([0]));
        bytes.extend(*contents);
    }
    let name = names.len();
    names.extend(b".shstrtab\0");
    header(name, 3, 0, 0, bytes.len(), names.len());
    bytes.extend(&names);
    let table = bytes.len() as u64;
    bytes.extend(headers);
    bytes[..16].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    let count = sections.len() as u16 + 2;
    bytes[16..20].copy_from_slice(&[3, 0, 62, 0]);
    bytes[40..48].copy_from_slice(&table.to_le_bytes());
    bytes[58..60].copy_from_slice(&64u16.to_le_bytes());
    bytes[60..62].copy_from_slice(&count.to_le_bytes());
    bytes[62..64].copy_from_slice(&(count - 1).to_le_bytes());
    bytes
}

/// A unit of DWARF 4 at 0x1000 to 0x2000 with these entries, which use the abbreviations below.
fn unit(entries: &[u8]) -> Vec<u8> {
    let mut unit = vec![4, 0, 0, 0, 0, 0, 8];
    unit.push(1);
    unit.extend(0x1000u64.to_le_bytes());
    unit.extend(0x2000u64.to_le_bytes());
    unit.extend(entries);
    let mut whole = (unit.len() as u32).to_le_bytes().to_vec();
    whole.extend(unit);
    whole
}

/// 1: a unit; 2: a function; 3: an inlined function with children; 4: a function with a list of
/// ranges; 5: an inlined function that is an instance of an entry; each with addresses.
const ABBREVIATIONS: &[u8] = &[
    1, 0x11, 1, 0x11, 1, 0x12, 1, 0, 0, //
    2, 0x2e, 1, 0x11, 1, 0x12, 1, 0, 0, //
    3, 0x1d, 1, 0x11, 1, 0x12, 1, 0, 0, //
    4, 0x2e, 1, 0x55, 0x17, 0, 0, //
    5, 0x1d, 1, 0x31, 0x13, 0x11, 1, 0x12, 1, 0, 0, //
    0,
];

fn entry(code: u8, extra: &[u8]) -> Vec<u8> {
    [&[code], extra, &0x1000u64.to_le_bytes(), &0x2000u64.to_le_bytes()].concat()
}

/// Fails if `ask` computes for too long: an unbounded search takes hours.
fn soon(what: &str, ask: impl FnOnce()) {
    let before = computed();
    ask();
    let taken = computed().saturating_sub(before);
    assert!(taken < Duration::from_secs(60), "{what} took {taken:?}");
}

/// The processor time of this thread, which other processes do not make longer; no time where there is no Linux.
fn computed() -> Duration {
    let times = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = times.split(' ').next().and_then(|time| time.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

#[test]
fn the_object_made_here_is_understood() {
    let entries = [entry(2, &[]), entry(3, &[]), entry(3, &[])].concat();
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("object");
    let info = unit(&entries);
    let bytes = object(&[(".text", &[0x90; 16]), (".debug_info", &info), (".debug_abbrev", ABBREVIATIONS)]);
    fs::write(&path, bytes).unwrap();
    let object = nowhere().open(&Module { path: path.to_str().unwrap().into(), build_id: None }).unwrap();
    let mut frames = Vec::new();
    Symbolizer::new(&object, RAW).resolve(0x1004, false, &mut frames);
    assert_eq!(super::names(&frames), ["[unknown]"; 3], "two inlined functions and the one around them");
    assert_eq!(frames.iter().map(|frame| frame.inlined).collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn functions_inlined_a_million_deep() {
    let entries = [entry(2, &[]), entry(3, &[]).repeat(1_000_000)].concat();
    let info = unit(&entries);
    let bytes = object(&[(".text", &[0x90; 16]), (".debug_info", &info), (".debug_abbrev", ABBREVIATIONS)]);
    let temporary = tempfile::tempdir().unwrap();
    soon("a million levels", || ask(&bytes, temporary.path()));
}

#[test]
fn functions_that_are_instances_of_themselves() {
    // The entry's own offset: behind the unit's header and entry, and the function's.
    let own = 11 + 17 + 17u32;
    let entries = [entry(2, &[]), entry(5, &own.to_le_bytes())].concat();
    let info = unit(&entries);
    let bytes = object(&[(".text", &[0x90; 16]), (".debug_info", &info), (".debug_abbrev", ABBREVIATIONS)]);
    let temporary = tempfile::tempdir().unwrap();
    soon("a circle", || ask(&bytes, temporary.path()));
}

/// Many functions share one list of many ranges: the ranges in all are the square of those in the file.
#[test]
fn ranges_shared_by_all_functions() {
    let mut ranges = Vec::new();
    for n in 0..20_000u64 {
        ranges.extend((0x10 * n).to_le_bytes());
        ranges.extend((0x10 * n + 8).to_le_bytes());
    }
    ranges.extend([0; 16]);
    let entries = [4, 0, 0, 0, 0].repeat(20_000);
    let info = unit(&entries);
    let bytes = object(&[
        (".text", &[0x90; 16]),
        (".debug_info", &info),
        (".debug_abbrev", ABBREVIATIONS),
        (".debug_ranges", &ranges),
    ]);
    let temporary = tempfile::tempdir().unwrap();
    soon("four hundred million ranges", || ask(&bytes, temporary.path()));
}

/// Many units that all cover every address.
#[test]
fn units_over_one_another() {
    let info = unit(&[entry(3, &[])].concat()).repeat(50_000);
    let bytes = object(&[(".text", &[0x90; 16]), (".debug_info", &info), (".debug_abbrev", ABBREVIATIONS)]);
    let temporary = tempfile::tempdir().unwrap();
    soon("units", || ask(&bytes, temporary.path()));
}

#[test]
fn a_section_that_unpacks_to_gigabytes() {
    use std::io::Write;
    let mut packed = Vec::new();
    packed.extend(1u32.to_le_bytes());
    packed.extend(0u32.to_le_bytes());
    packed.extend((8u64 << 30).to_le_bytes());
    packed.extend(1u64.to_le_bytes());
    let mut encoder = flate2::write::ZlibEncoder::new(packed, flate2::Compression::best());
    for _ in 0..16 {
        encoder.write_all(&[0; 1 << 20]).unwrap();
    }
    let packed = encoder.finish().unwrap();
    let mut bytes =
        object(&[(".text", &[0x90; 16]), (".debug_info", &packed), (".debug_abbrev", ABBREVIATIONS)]);
    // SHF_COMPRESSED, in the third section's header.
    let table = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    bytes[table + 2 * 64 + 8..table + 2 * 64 + 16].copy_from_slice(&0x800u64.to_le_bytes());
    let temporary = tempfile::tempdir().unwrap();
    soon("a bomb", || ask(&bytes, temporary.path()));
}

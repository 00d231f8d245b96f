//! Recordings of addresses, which get their names from the files that were mapped.

use super::fold_bytes;
use fg_tools::collapse::CollapseOptions;
use std::path::{Path, PathBuf};

/// `orders.so` is mapped from 0x7f0000001000 on, as its second part; `with_tax` and `line_total`
/// are inlined into `sum_orders` there.
const HEAP: &str = "heap_v2/4096\n  t*: 2: 70 [0: 0]\n@ 0x7f000000108c 0x7f0000001046 0x7f0000009000\n  \
    t*: 1: 40 [0: 0]\n@ 0x5500000010 0x7f0000001050\n  t*: 1: 30 [0: 0]\n\nMAPPED_LIBRARIES:\n\
    7f0000001000-7f0000002000 r-xp 00001000 fe:00 7                    /orders.so\n\
    5500000000-5500001000 r-xp 00000000 fe:00 9      /gone\n";

fn objects() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/objects")
}

fn below_objects() -> CollapseOptions {
    CollapseOptions { symfs: Some(objects()), ..CollapseOptions::default() }
}

#[test]
#[cfg(feature = "perf-data")]
fn a_heap_gets_names_from_the_files_below_symfs() {
    let (folded, total, report) = fold_bytes(HEAP.as_bytes(), None, &below_objects()).unwrap();
    assert_eq!(
        folded,
        "0x7f0000009000;check.isra.0;sum_orders;with_tax;line_total 40\ncheck.isra.0;gone+0x10 30\n"
    );
    assert_eq!(total, "70");
    assert_eq!(report.notes.len(), 1, "{:?}", report.notes);
    assert!(
        report.notes[0].starts_with("no names for \"/gone\", which was not found: "),
        "{:?}",
        report.notes
    );
    let marked = CollapseOptions { inline: true, srcline: true, ..below_objects() };
    let (folded, ..) = fold_bytes(HEAP.as_bytes(), None, &marked).unwrap();
    assert!(
        folded.contains(
            ";sum_orders (orders.c:28);with_tax (orders.c:20)_[i];line_total (orders.c:15)_[i] 40\n"
        )
    );
    let plain = CollapseOptions { no_inline: true, ..below_objects() };
    let (folded, ..) = fold_bytes(HEAP.as_bytes(), None, &plain).unwrap();
    assert!(folded.contains("check.isra.0;sum_orders 40\n"), "{folded}");
}

#[test]
#[cfg(feature = "perf-data")]
fn the_first_address_of_a_cpu_profile_is_no_call() {
    // The first address after the inlined `line_total`: a call that returns here is still inside it.
    let svma = 0x1090u64;
    let address = 0x7f00_0000_1000 + svma - 0x1000;
    let words = [0, 3, 0, 1000, 0, 5, 2, address, address, 0, 1, 0];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
    bytes.extend_from_slice(&HEAP.as_bytes()[HEAP.find("7f0000001000-").unwrap()..]);
    let (folded, total, _) = fold_bytes(&bytes, None, &below_objects()).unwrap();
    let called = "sum_orders;with_tax;line_total";
    assert_eq!((folded, total.as_str()), (format!("{called};sum_orders 5\n"), "5"));
}

#[test]
fn a_file_that_is_not_the_recorded_one_gives_no_names() {
    let path = objects().join("orders.so");
    let heap = HEAP.replace("/orders.so", &path.display().to_string());
    let (folded, _, report) = fold_bytes(heap.as_bytes(), None, &CollapseOptions::default()).unwrap();
    assert!(folded.contains("orders.so+0x1046;orders.so+0x108c 40\n"), "{folded}");
    assert_eq!(report.notes.len(), 1);
    #[cfg(feature = "perf-data")]
    assert!(report.notes[0].contains(" is another file now ("), "{:?}", report.notes);
}

#[test]
#[cfg(all(feature = "perf-data", unix))]
fn a_file_that_is_the_recorded_one_gives_names() {
    use std::os::unix::fs::MetadataExt;
    let path = objects().join("orders.so");
    let inode = std::fs::metadata(&path).unwrap().ino();
    let heap = HEAP.replace("fe:00 7 ", &format!("fe:00 {inode} "));
    let heap = heap.replace("/orders.so", &path.display().to_string());
    let (folded, ..) = fold_bytes(heap.as_bytes(), None, &CollapseOptions::default()).unwrap();
    assert!(folded.contains(";check.isra.0;sum_orders;with_tax;line_total 40\n"), "{folded}");
}

#[test]
fn names_that_come_along_go_first() {
    let text =
        format!("--- symbol\nbinary=/bin/a\n0x7f000000108b in--out<0000000000007e10>\n---\n--- heap\n{HEAP}");
    let nowhere = CollapseOptions { symfs: Some("nowhere".into()), ..CollapseOptions::default() };
    let (folded, ..) = fold_bytes(text.as_bytes(), None, &nowhere).unwrap();
    assert!(folded.contains("orders.so+0x1046;out;in 40\n"), "{folded}");
    let error = fold_bytes(text.replace("heap_v2", "heap_v9").as_bytes(), None, &nowhere).unwrap_err();
    assert!(error.contains(":6: expected a heap profile's first line"), "{error}");
}

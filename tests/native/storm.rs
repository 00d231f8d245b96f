//! A storm over every section of every object that belongs together: a program, its split debug information, the file
//! that dwz made of several, and what a link names. Bundles, servers and `--symfs` bring such files from strangers.
//!
//! The byte that a section is damaged in is as likely in a small section as in a large one, which chance over the
//! whole file is not. `FG_STORM=1000` makes a thousand changes of each section instead of a few.

use std::fs;
use std::ops::Range;
use std::path::Path;

use super::hostile::ask_object;
use super::{module, nowhere, objects};

/// Files that are opened together; the first one is asked.
const SETS: &[&[&str]] = &[
    &["orders.so"],
    &["rusty.so"],
    &["shapes.so"],
    &["orders-mini.so"],
    &["orders-zstd.so"],
    &["orders-zlib-gnu.so"],
    &["dwz-a.so", "dwz-common.debug"],
    &["dwz-strings.so", "dwz-common.debug"],
    &["orders-link.so", "orders.debug"],
    &["orders-split.so", "orders-split.c.dwo"],
    &["shapes-package.so", "shapes-package.so.dwp"],
];

/// Changes of each section.
const FEW: usize = 6;
const MANY: &str = "FG_STORM";

/// Numbers that lengths, offsets, counts and LEB128 go wrong at.
const VALUES: &[&[u8]] = &[
    &[0],
    &[0xff],
    &[0x7f],
    &[0x80],
    &[0xff; 4],
    &[0xff; 8],
    &[0; 8],
    &[0xf0, 0xff, 0xff, 0xff],
    &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80],
];

/// The header, the table of sections, and each section, with their names.
fn parts(elf: &[u8]) -> Vec<(String, Range<usize>)> {
    let number = |at: usize, len: usize| -> usize {
        elf[at..at + len].iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
    };
    let (table, count, names) = (number(0x28, 8), number(0x3c, 2), number(0x3e, 2));
    let section = |n: usize| {
        let at = table + 64 * n;
        (number(at, 4), number(at + 4, 4), number(at + 24, 8), number(at + 32, 8))
    };
    let (.., names, _) = section(names);
    let mut parts = vec![("header".to_owned(), 0..64), ("sections".to_owned(), table..table + 64 * count)];
    for n in 0..count {
        /// A section without bytes in the file.
        const NOBITS: usize = 8;
        let (name, kind, start, len) = section(n);
        let name = &elf[names + name..];
        let name = &name[..name.iter().position(|byte| *byte == 0).unwrap()];
        if kind != NOBITS && len > 0 {
            parts.push((String::from_utf8_lossy(name).into_owned(), start..start + len));
        }
    }
    parts
}

#[test]
fn no_section_of_any_file_hurts() {
    let changes = std::env::var(MANY).ok().and_then(|many| many.parse().ok()).unwrap_or(FEW);
    let mut state = 7u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let folder = tempfile::tempdir().unwrap();
    let (mut asked, mut opened) = (0, 0);
    for set in SETS {
        let files: Vec<Vec<u8>> = set.iter().map(|name| fs::read(objects().join(name)).unwrap()).collect();
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        set.iter().zip(&files).for_each(|(name, bytes)| write(name, bytes));
        for (name, whole) in set.iter().zip(&files) {
            for (section, range) in parts(whole) {
                // Code and names of the compiler are not read.
                if [".text", ".comment", ".rodata", ".data"].contains(&&*section) {
                    continue;
                }
                for _ in 0..changes {
                    let mut bytes = whole.clone();
                    let at = range.start + random(range.len());
                    let mut value = VALUES[random(VALUES.len())].to_vec();
                    if random(3) == 0 {
                        value = vec![random(256) as u8];
                    }
                    // A piece of the section may stand elsewhere in it: circles, and tables that share their entries.
                    if random(4) == 0 {
                        let from = range.start + random(range.len());
                        value = whole[from..range.end.min(from + 1 + random(64))].to_vec();
                    }
                    let end = range.end.min(at + value.len());
                    bytes[at..end].copy_from_slice(&value[..end - at]);
                    write(name, &bytes);
                    asked += 1;
                    opened += usize::from(ask(&folder.path().join(set[0])));
                }
            }
            write(name, whole);
        }
        assert!(ask(&folder.path().join(set[0])), "{}: it is as it was", set[0]);
    }
    assert!(opened * 10 > asked * 7, "{opened} of {asked} were opened: the rest hid what is behind it");
}

/// Returns true if an object can be opened; asks all of it then.
fn ask(path: &Path) -> bool {
    let object = nowhere().open(&module(path));
    object.inspect(|object| ask_object(object)).is_ok()
}

//! Files in which processes name their code, put there by somebody else.

use std::path::Path;
use std::process::Command;

use super::kit::*;
use super::{below, fold_bytes, root_with_maps};

const CODE: u64 = 0x7000_0000;

/// A recording of one address in code that a compiler made, described by a map or by this dump.
fn recording(dump: Option<&str>) -> Vec<u8> {
    let mut r = Recording::new(PLAIN, &[Event::default()]);
    r.comm(1, 1, 0, b"app", false);
    r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
    if let Some(dump) = dump {
        r.mmap(1, 0, CODE + 0x10_0000, 0x1000, 0, dump);
    }
    let chain = vec![USER, CODE];
    r.sample(&Sample { pid: 1, tid: 1, time: 10, period: 3, chain, ..Sample::default() });
    r.bytes()
}

/// A jitdump with a function at the address.
fn jitdump(name: &[u8]) -> Vec<u8> {
    let numbers = [CODE, CODE, 0x100, 1].map(u64::to_le_bytes).concat();
    let body = [&[0; 8][..], &numbers, name, b"\0\x90"].concat();
    let size = u32::try_from(16 + body.len()).unwrap();
    let mut dump = [&b"DTiJ"[..], &1u32.to_le_bytes(), &40u32.to_le_bytes()].concat();
    dump.resize(40, 0);
    [dump, [0u32, size].map(u32::to_le_bytes).concat(), 1u64.to_le_bytes().to_vec(), body].concat()
}

/// Gives a file to another user; `false` if we may not.
fn give_away(path: &Path) -> bool {
    let given = std::os::unix::fs::chown(path, Some(65_534), Some(65_534)).is_ok();
    if !given {
        eprintln!("skipped: only root gives files to another user");
    }
    given
}

#[test]
fn names_of_another_users_file_are_not_believed() {
    let root = root_with_maps(&[(1, &[(CODE, "forged")])]);
    let (bytes, options) = (recording(Some("/tmp/jit-1.dump")), below(root.path()));
    let (map, dump) = (root.path().join("tmp/perf-1.map"), root.path().join("tmp/jit-1.dump"));
    assert_eq!(fold_bytes(&bytes, &options).unwrap().0, "app;forged 3\n");
    std::fs::write(&dump, jitdump(b"dumped")).unwrap();
    assert_eq!(fold_bytes(&bytes, &options).unwrap().0, "app;dumped 3\n");
    if !give_away(&dump) {
        return;
    }
    assert_eq!(fold_bytes(&bytes, &options).unwrap().0, "app;forged 3\n");
    assert!(give_away(&map));
    let (text, report) = fold_bytes(&bytes, &options).unwrap();
    assert_eq!(text, "app;[perf-1.map] 3\n");
    let said = "perf-1.map is not read: it belongs to user 65534, neither to root nor to you; a copy of yours is read \
                from the same path below the folder of --symfs";
    assert!(report.notes.iter().any(|note| note.ends_with(said)), "{:?}", report.notes);
    assert!(!report.notes.iter().any(|note| note.contains("without a symbol")), "{:?}", report.notes);
    // A root folder of that user's is believed as a whole.
    assert!(give_away(root.path()));
    assert_eq!(fold_bytes(&bytes, &options).unwrap().0, "app;dumped 3\n");
}

#[test]
fn links_and_pipes_are_not_opened() {
    let root = root_with_maps(&[]);
    let (bytes, options) = (recording(Some("/tmp/jit-1.dump")), below(root.path()));
    let (map, dump) = (root.path().join("tmp/perf-1.map"), root.path().join("tmp/jit-1.dump"));
    let elsewhere = root.path().join("elsewhere");
    std::fs::write(&elsewhere, format!("{CODE:x} 100 linked\n")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &map).unwrap();
    let made = Command::new("mkfifo").arg(&dump).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo is everywhere");
    let (text, report) = fold_bytes(&bytes, &options).unwrap();
    assert_eq!(text, "app;[perf-1.map] 3\n");
    assert!(report.notes.iter().any(|note| note.contains("perf-1.map is not read: it is a link")));
}

#[test]
fn names_have_no_control_characters() {
    let root = root_with_maps(&[]);
    let (bytes, options) = (recording(Some("/tmp/jit-1.dump")), below(root.path()));
    let map = format!("{CODE:x} 100 a\x1b]0;b\x07 \u{9b}1m \u{e9}\u{440} \x7f\n");
    std::fs::write(root.path().join("tmp/perf-1.map"), map).unwrap();
    assert_eq!(fold_bytes(&bytes, &options).unwrap().0, "app;a?]0:b? ??1m \u{e9}\u{440} ? 3\n");
    std::fs::write(root.path().join("tmp/jit-1.dump"), jitdump(b"\x1bc")).unwrap();
    assert_eq!(fold_bytes(&bytes, &options).unwrap().0, "app;?c 3\n");
}

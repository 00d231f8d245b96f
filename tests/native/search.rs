//! Tests of the search for objects and their debug files, and of the messages when it fails.

use std::fs;
use std::path::{Path, PathBuf};

use fg_tools::symbolize::{Missing, Module, Search};

use super::{address_of, module, nowhere, objects, open, readable};

const INLINED: &str = "line_total < with_tax < sum_orders";
const FUNCTION: &str = "sum_orders";

fn copy(object: &str, to: &Path) -> PathBuf {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(objects().join(object), to).unwrap();
    to.to_owned()
}

fn build_id() -> Vec<u8> {
    open(&objects().join("orders.so")).unwrap().build_id().unwrap().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The first address of `sum_orders` where the whole object sees three functions.
fn address() -> u64 {
    let object = open(&objects().join("orders.so")).unwrap();
    let start = address_of("sum_orders");
    (start..start + 64).find(|at| readable(&object, *at).starts_with("line_total < with_tax < ")).unwrap()
}

fn names(search: &Search, path: &Path) -> String {
    readable(&search.open(&module(path)).unwrap(), address()).replace("_alias", "")
}

#[test]
fn debug_files_are_found_by_link() {
    let temporary = tempfile::tempdir().unwrap();
    let object = copy("orders-link.so", &temporary.path().join("lib/orders-link.so"));
    let search = nowhere();
    assert_eq!(names(&search, &object), FUNCTION, "there is no debug file yet");
    for place in ["lib/orders.debug", "lib/.debug/orders.debug"] {
        let debug = copy("orders.debug", &temporary.path().join(place));
        assert_eq!(names(&search, &object), INLINED, "{place}");
        fs::remove_file(debug).unwrap();
    }
    // Below the directory of debug files, by the object's path.
    let debug_dir = temporary.path().join("debug");
    let below = debug_dir.join(object.strip_prefix("/").unwrap()).with_file_name("orders.debug");
    copy("orders.debug", &below);
    let search = Search { debug_dirs: vec![debug_dir], ..nowhere() };
    assert_eq!(names(&search, &object), INLINED);
}

#[test]
fn a_debug_file_of_another_checksum_is_not_used() {
    let temporary = tempfile::tempdir().unwrap();
    let object = copy("orders-link.so", &temporary.path().join("orders-link.so"));
    let debug = copy("orders.debug", &temporary.path().join("orders.debug"));
    let mut bytes = fs::read(&debug).unwrap();
    bytes.push(0);
    fs::write(&debug, bytes).unwrap();
    assert_eq!(names(&nowhere(), &object), FUNCTION);
}

#[test]
fn debug_files_and_objects_are_found_by_build_id() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    let object = copy("orders-dynsym.so", &root.join("app"));
    let id = hex(&build_id());
    let (first, rest) = id.split_at(2);
    // /usr/lib/debug/.build-id/ab/cdef.debug
    let debug = root.join(format!("debug/.build-id/{first}/{rest}.debug"));
    copy("orders.debug", &debug);
    let search = Search { debug_dirs: vec![root.join("debug")], ..nowhere() };
    assert_eq!(names(&search, &object), INLINED);
    // ~/.debug/.build-id/ab/cdef/debug
    copy("orders.debug", &root.join(format!("cache/.build-id/{first}/{rest}/debug")));
    let search = Search { caches: vec![root.join("cache")], ..nowhere() };
    assert_eq!(names(&search, &object), INLINED);
    // The object is gone, its copy in the cache is not.
    copy("orders.so", &root.join(format!("elf/.build-id/{first}/{rest}/elf")));
    let search = Search { caches: vec![root.join("elf")], ..nowhere() };
    let gone = Module { path: b"/no/such/app".to_vec(), build_id: Some(build_id()) };
    let found = search.open(&gone).unwrap();
    assert_eq!(readable(&found, address()).replace("_alias", ""), INLINED);
    assert_eq!(nowhere().open(&gone).err(), Some(Missing::NotFound));
}

#[test]
fn stripped_programs_may_have_their_symbols_packed() {
    let check = address_of("check.isra.0");
    let name = |object: &str| readable(&open(&objects().join(object)).unwrap(), check);
    assert_eq!(name("orders-dynsym.so"), "");
    assert_eq!(name("orders-mini.so"), "check.isra.0");
}

#[test]
fn symfs_is_the_root_of_another_system() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    copy("orders-link.so", &root.join("usr/lib/orders.so"));
    copy("orders.debug", &root.join("usr/lib/debug/usr/lib/orders.debug"));
    let search = Search { symfs: Some(root.to_owned()), caches: Vec::new(), ..Search::default() };
    assert_eq!(names(&search, Path::new("/usr/lib/orders.so")), INLINED);
    // `..` does not lead out of the root.
    let up = root.file_name().unwrap().to_str().unwrap();
    let out = format!("/../{up}/usr/lib/orders.so");
    assert_eq!(search.open(&module(Path::new(&out))).err(), Some(Missing::NotFound));
    assert!(search.open(&module(Path::new("/bin/sh"))).is_err());
    assert!(search.open(&Module { path: b"[vdso]".to_vec(), build_id: None }).is_err());
}

#[test]
fn another_build_is_said_to_be_one() {
    let path = objects().join("orders.so");
    let other = Module { build_id: Some(vec![7; 20]), ..module(&path) };
    let missing = nowhere().open(&other).err().unwrap();
    assert_eq!(missing, Missing::OtherBuild { path: path.clone() });
    let said = missing.to_string();
    assert!(said.contains("has changed since it was recorded") && said.contains("orders.so"), "{said}");
    // A file without a build id is not the recorded one, which had one.
    let temporary = tempfile::tempdir().unwrap();
    let without = copy("orders.ko", &temporary.path().join("orders"));
    assert!(matches!(
        nowhere().open(&Module { path: module(&without).path, ..other }),
        Err(Missing::OtherBuild { .. })
    ));
    assert!(
        nowhere().open(&Module { build_id: Some(vec![0; 20]), ..module(&path) }).is_ok(),
        "none was recorded"
    );
    // The kernel records short ids with zeros behind them.
    let mut padded = build_id();
    padded.resize(24, 0);
    assert!(nowhere().open(&Module { build_id: Some(padded), ..module(&path) }).is_ok());
}

#[test]
fn open_error_says_why() {
    let temporary = tempfile::tempdir().unwrap();
    let text = temporary.path().join("text");
    fs::write(&text, "no ELF").unwrap();
    let why = |path: &[u8]| nowhere().open(&Module { path: path.to_vec(), build_id: None }).err().unwrap();
    assert_eq!(why(b"//anon"), Missing::NoFile);
    assert_eq!(why(b"[heap]"), Missing::NoFile);
    assert_eq!(why(b""), Missing::NoFile);
    assert_eq!(why(b"/no/such/file"), Missing::NotFound);
    assert_eq!(why(b"/no/such\0/file"), Missing::NotFound);
    let unreadable = |path: &Path| why(path.to_str().unwrap().as_bytes()).to_string();
    assert!(unreadable(&text).contains("it is no ELF file"), "{}", unreadable(&text));
    assert_eq!(why(temporary.path().to_str().unwrap().as_bytes()), Missing::NoFile);
    assert_eq!(why(b"/dev/null"), if cfg!(unix) { Missing::NoFile } else { Missing::NotFound });
}

/// Opening it would wait for somebody to write.
#[test]
#[cfg(unix)]
fn a_named_pipe_is_not_waited_for() {
    let temporary = tempfile::tempdir().unwrap();
    let pipe = temporary.path().join("pipe");
    match std::process::Command::new("mkfifo").arg(&pipe).status() {
        Ok(status) if status.success() => {}
        _ => return super::skip::skip("mkfifo does not work here"),
    }
    assert_eq!(open(&pipe).err(), Some(Missing::NoFile));
    assert!(fg_tools::symbolize::jit::PerfMap::read(&pipe).is_err());
}

#[test]
#[cfg(target_os = "linux")]
fn the_vdso_is_that_of_this_process() {
    let search = nowhere();
    let vdso = Module { path: b"[vdso]".to_vec(), build_id: None };
    let Ok(object) = search.open(&vdso) else { return super::skip::skip("the vdso cannot be read here") };
    let all = object.section(b".text").unwrap().svma;
    let name = all.map(|at| readable(&object, at)).find(|name| name.contains("clock_gettime"));
    assert!(name.is_some());
    let other = Module { build_id: Some(vec![7; 20]), ..vdso };
    assert_eq!(search.open(&other).err(), Some(Missing::NotFound), "another kernel's");
}

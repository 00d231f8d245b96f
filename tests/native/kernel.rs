//! Kernels: kallsyms that `perf record` kept, hidden addresses, a vmlinux, modules' files.

use std::fs;
use std::path::Path;

use fg_tools::symbolize::kernel::{Kernel, Recorded, RecordedModule};
use fg_tools::symbolize::{Missing, Search, SymbolizerOptions};

use super::{RAW, names, nowhere, objects, open};

const KALLSYMS: &str = "\
ffffffff81000000 T _text
ffffffff81000000 T _stext
ffffffff81000100 T do_fault
ffffffff81000200 t __schedule
ffffffff81000300 T _etext
ffffffffc0201000 t packet_in\t[nf_orders]
";

fn frames(kernel: &Kernel, options: SymbolizerOptions, address: u64) -> String {
    let mut frames = Vec::new();
    kernel.symbolizer(options).resolve(address, false, &mut frames);
    names(&frames).join(" < ")
}

/// A search whose cache holds this file for the build id of [`recorded`].
fn cached(directory: &Path, what: &str, contents: &[u8]) -> Search {
    let place = directory.join(".build-id/07/0707");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join(what), contents).unwrap();
    Search { caches: vec![directory.to_owned()], ..nowhere() }
}

fn recorded() -> Recorded {
    Recorded { build_id: Some(vec![7; 3]), ..Recorded::default() }
}

#[test]
fn kallsyms_of_the_recording() {
    let temporary = tempfile::tempdir().unwrap();
    let search = cached(temporary.path(), "kallsyms", KALLSYMS.as_bytes());
    let kernel = Kernel::open(&search, &recorded()).unwrap();
    assert!(kernel.path().ends_with("kallsyms"));
    assert_eq!(frames(&kernel, RAW, 0xffffffff81000150), "do_fault");
    assert_eq!(frames(&kernel, RAW, 0xffffffffc0201010), "packet_in");
    assert_eq!(frames(&kernel, RAW, 0xffffffff80000000), "");
}

#[test]
fn a_kernel_that_was_loaded_elsewhere() {
    let temporary = tempfile::tempdir().unwrap();
    let search = cached(temporary.path(), "kallsyms", KALLSYMS.as_bytes());
    let moved = Recorded { reference: Some((b"_text".to_vec(), 0xffffffff91000000)), ..recorded() };
    let kernel = Kernel::open(&search, &moved).unwrap();
    assert_eq!(frames(&kernel, RAW, 0xffffffff91000150), "do_fault");
    assert_eq!(frames(&kernel, RAW, 0xffffffff81000150), "");
    assert_eq!(frames(&kernel, RAW, 0xffffffffc0201010), "", "modules are anywhere now");
}

#[test]
fn hidden_addresses_are_said_to_be_hidden() {
    let temporary = tempfile::tempdir().unwrap();
    let search = cached(temporary.path(), "kallsyms", b"0000000000000000 T _text\n");
    let missing = Kernel::open(&search, &recorded()).err().unwrap();
    assert!(matches!(missing, Missing::Hidden { .. }), "{missing}");
    assert!(missing.to_string().contains("kptr_restrict"));
}

#[test]
fn another_kernel_than_the_one_that_runs() {
    assert_eq!(Kernel::open(&nowhere(), &recorded()).err(), Some(Missing::NotFound));
    assert_eq!(Kernel::open(&nowhere(), &Recorded::default()).err(), Some(Missing::NotFound));
}

#[test]
#[cfg(target_os = "linux")]
fn the_kernel_that_runs() {
    let release = fs::read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let running = Recorded { release: Some(release.trim_ascii_end().to_vec()), ..Recorded::default() };
    match Kernel::open(&nowhere(), &running) {
        Ok(kernel) => {
            let text = fs::read_to_string("/proc/kallsyms").unwrap();
            let line = text.lines().find(|line| line.ends_with(" T schedule")).expect("every kernel has it");
            let address = u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap();
            assert_eq!(frames(&kernel, RAW, address + 4), "schedule");
        }
        Err(missing) => super::skip::skip(format_args!("the kernel's symbols {missing}")),
    }
}

#[test]
fn vmlinux_has_inlined_functions() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    let vmlinux = root.join("usr/lib/debug/boot/vmlinux-6.1.0-orders");
    fs::create_dir_all(vmlinux.parent().unwrap()).unwrap();
    fs::copy(objects().join("orders.so"), &vmlinux).unwrap();
    let object = open(&vmlinux).unwrap();
    let text = object.section(b".text").unwrap().svma.start;
    let search = Search { symfs: Some(root.to_owned()), ..nowhere() };
    let moved = 0xffffffff81000000u64;
    let recorded = Recorded {
        build_id: object.build_id().map(<[u8]>::to_vec),
        release: Some(b"6.1.0-orders".to_vec()),
        reference: None,
        modules: Vec::new(),
    };
    let at_home = Kernel::open(&search, &recorded).unwrap();
    assert_eq!(at_home.path(), vmlinux);
    let inlined = (text..text + 0x100)
        .find(|at| frames(&at_home, RAW, *at).starts_with("line_total < with_tax < "))
        .expect("it has inlined functions");
    let sum = (text..).find(|at| frames(&at_home, RAW, *at).contains("sum_orders")).unwrap();
    let reference = Some((b"add_order".to_vec(), {
        let add = (text..).find(|at| frames(&at_home, RAW, *at) == "add_order").unwrap();
        add + moved
    }));
    let kernel = Kernel::open(&search, &Recorded { reference, ..recorded.clone() }).unwrap();
    assert!(frames(&kernel, RAW, inlined + moved).starts_with("line_total < with_tax < "));
    assert!(frames(&kernel, RAW, sum + moved).contains("sum_orders"));
    let other = Recorded { build_id: Some(vec![7; 20]), ..recorded };
    assert_eq!(Kernel::open(&search, &other).err(), Some(Missing::NotFound));
}

#[test]
fn modules_from_their_files() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    let directory = root.join("lib/modules/6.1.0-orders/kernel/net");
    fs::create_dir_all(&directory).unwrap();
    let module = fs::read(objects().join("orders.ko")).unwrap();
    let cache = cached(&root.join("cache"), "kallsyms", KALLSYMS.as_bytes());
    let search = Search { symfs: Some(root.to_owned()), ..cache };
    let start = 0xffffffffc0400000;
    let recorded = Recorded {
        release: Some(b"6.1.0-orders".to_vec()),
        modules: vec![RecordedModule {
            name: b"[my_orders]".to_vec(),
            start,
            end: start + 0x10000,
            build_id: None,
        }],
        ..recorded()
    };
    let all = || {
        let kernel = Kernel::open(&search, &recorded).unwrap();
        let mut found: Vec<String> = (start..start + 0x300).map(|at| frames(&kernel, RAW, at)).collect();
        found.dedup();
        found.join(" ")
    };
    assert_eq!(all(), "");
    fs::write(directory.join("my-orders.ko"), &module).unwrap();
    let plain = all();
    assert!(plain.contains("add_order") && plain.contains("sum_orders"), "{plain}");
    fs::remove_file(directory.join("my-orders.ko")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &module).unwrap();
    fs::write(directory.join("my-orders.ko.gz"), gzip.finish().unwrap()).unwrap();
    assert_eq!(all(), plain);
    fs::remove_file(directory.join("my-orders.ko.gz")).unwrap();
    let zstd = ruzstd::encoding::compress_to_vec(&module[..], ruzstd::encoding::CompressionLevel::Fastest);
    fs::write(directory.join("my-orders.ko.zst"), zstd).unwrap();
    assert_eq!(all(), plain);
}

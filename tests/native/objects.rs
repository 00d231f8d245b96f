//! Objects whose every fifth address has a known answer.

use fg_tools::symbolize::{Machine, Object, ResolvedFrame, Symbolizer, SymbolizerOptions};

use super::{RAW, address_of, names, objects, open, readable, resolve};

/// As `objects/make` writes them down: `name file:line`, the innermost first.
fn as_expected(frames: &[ResolvedFrame]) -> Vec<String> {
    let places = frames.iter().map(|frame| match &frame.place {
        Some(place) => format!("{}:{}", String::from_utf8_lossy(&place.file), place.line),
        None => "??".to_owned(),
    });
    names(frames).into_iter().zip(places).map(|(name, place)| format!("{name} {place}")).collect()
}

/// Counts the addresses that were compared.
fn compare(object: &Object, expected: &str) -> usize {
    let symbolizer = Symbolizer::new(object, RAW);
    let expected = std::fs::read_to_string(objects().join(expected)).expect("it is committed");
    let mut compared = 0;
    for line in expected.lines() {
        let mut fields = line.split('\t');
        let address = fields.next().expect("an address");
        let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).expect("an address");
        // An address between functions has no frame; llvm-symbolizer prints `??`.
        let frames: Vec<String> =
            fields.filter(|frame| !frame.starts_with("?? ")).map(str::to_owned).collect();
        let found = as_expected(&resolve(&symbolizer, address));
        // Line 0 means that the line is unknown.
        let frames: Vec<String> = frames
            .into_iter()
            .map(|frame| match frame.rsplit_once(' ') {
                Some((name, place)) if place.ends_with(":0") => format!("{name} ??"),
                _ => frame,
            })
            .collect();
        // A constructor has two symbols, C1 and C2, often at one address; of aliases llvm takes the longest.
        let name = |frame: String| {
            frame.replace("CounterC1", "CounterC2").replace("sum_orders_alias ", "sum_orders ")
        };
        let one = |frames: Vec<String>| frames.into_iter().map(name).collect();
        let (found, frames): (Vec<_>, Vec<_>) = (one(found), one(frames));
        assert_eq!(found, frames, "{address:#x} of {}", object.path().display());
        compared += 1;
    }
    compared
}

#[test]
fn every_kind_of_object_has_the_frames_that_llvm_finds() {
    for (object, expected, least) in [
        ("orders.so", "orders.expected", 40),
        ("orders-32.so", "orders-32.expected", 40),
        ("orders-aarch64.so", "orders-aarch64.expected", 40),
        ("shapes.so", "shapes.expected", 70),
        ("rusty.so", "rusty.expected", 40),
        // The same code in other kinds of files.
        ("orders-zlib.so", "orders.expected", 40),
        ("orders-zlib-gnu.so", "orders.expected", 40),
        ("orders-zstd.so", "orders.expected", 40),
        ("orders-link.so", "orders.expected", 40),
        ("orders-split.so", "orders.expected", 40),
        ("shapes-package.so", "shapes.expected", 70),
        ("dwz-a.so", "orders.expected", 40),
    ] {
        let object = open(&objects().join(object)).expect("it is committed");
        assert!(compare(&object, expected) >= least, "{expected}");
    }
}

#[test]
fn inlined_functions_and_lines_are_left_out_unless_asked_for() {
    let object = open(&objects().join("orders.so")).unwrap();
    let at = |options| {
        let symbolizer = Symbolizer::new(&object, options);
        let start = address_of("sum_orders");
        let every = (start..start + 64).map(|at| as_expected(&resolve(&symbolizer, at)));
        every.filter(|frames| !frames.is_empty()).max_by_key(Vec::len).unwrap()
    };
    let all = at(RAW);
    assert!(all[0].starts_with("line_total /build/orders.c:"), "{all:?}");
    assert!(all[1].starts_with("with_tax /build/orders.c:"), "{all:?}");
    assert!(all[2].starts_with("sum_orders /build/orders.c:"), "{all:?}");
    let without_lines = at(SymbolizerOptions { srcline: false, ..RAW });
    assert_eq!(without_lines, ["line_total ??", "with_tax ??", "sum_orders ??"]);
    assert_eq!(at(SymbolizerOptions { srcline: false, inline: false, ..RAW }), ["sum_orders ??"]);
    let only_lines = at(SymbolizerOptions { inline: false, ..RAW });
    assert!(
        only_lines.len() == 1 && only_lines[0].starts_with("sum_orders /build/orders.c:"),
        "{only_lines:?}"
    );
}

#[test]
fn without_inlined_functions_the_line_is_that_of_the_address() {
    let object = open(&objects().join("orders.so")).unwrap();
    let (all, one) =
        (Symbolizer::new(&object, RAW), Symbolizer::new(&object, SymbolizerOptions { inline: false, ..RAW }));
    let mut nested = 0;
    for at in object.section(b".text").unwrap().svma {
        let (all, one) = (resolve(&all, at), resolve(&one, at));
        assert_eq!(one.first().map(|f| &f.place), all.first().map(|f| &f.place), "{at:#x}");
        nested += usize::from(all.len() > 1);
    }
    assert!(nested > 10);
}

#[test]
fn a_return_address_is_of_its_call() {
    let object = open(&objects().join("orders.so")).unwrap();
    let symbolizer = Symbolizer::new(&object, RAW);
    let mut differ = 0;
    for at in object.section(b".text").unwrap().svma {
        let (before, here) = (resolve(&symbolizer, at - 1), resolve(&symbolizer, at));
        let mut frames = Vec::new();
        symbolizer.resolve(at, true, &mut frames);
        // With no function before the address, it is the first byte of one: a signal handler returns there.
        assert_eq!(frames, if before.is_empty() { here.clone() } else { before.clone() }, "{at:#x}");
        differ += usize::from(!before.is_empty() && before != here);
    }
    assert!(differ > 10);
}

#[test]
fn one_of_several_symbols_is_preferred() {
    // sum_orders, sum_orders_alias, and __sum_orders_weak: the two others only add to it.
    let object = open(&objects().join("orders-dynsym.so")).unwrap();
    assert_eq!(readable(&object, address_of("sum_orders")), "sum_orders");
}

#[test]
fn stubs_are_called_after_what_they_call() {
    for (object, section) in [
        ("orders.so", b".plt".as_slice()),
        ("orders-dynsym.so", b".plt"),
        ("orders-ibt.so", b".plt.sec"),
        ("orders-aarch64.so", b".plt"),
        ("orders-32.so", b".plt"),
    ] {
        let object = open(&objects().join(object)).unwrap();
        let stubs = object.section(section).expect("it has stubs").svma;
        let mut found: Vec<String> = stubs.map(|at| readable(&object, at)).collect();
        found.dedup();
        // The code before the stubs, which resolves the functions, has no name.
        found.retain(|name| !name.is_empty());
        found.sort();
        assert_eq!(found, ["free@plt", "malloc@plt", "puts@plt"], "{}", object.path().display());
    }
}

#[test]
fn names_may_stand_in_the_file_that_dwz_made() {
    let object = open(&objects().join("dwz-strings.so")).unwrap();
    assert_eq!(readable(&object, address_of("check.isra.0")), "check");
}

#[test]
fn names_are_made_readable_without_arguments() {
    let names = |object: &str| {
        let object = open(&objects().join(object)).unwrap();
        let text = object.section(b".text").unwrap().svma;
        text.map(|at| readable(&object, at)).collect::<std::collections::BTreeSet<_>>()
    };
    let shapes = names("shapes.so");
    for name in [
        "shop::Range<int>::clamp < shop::Range<int>::operator<",
        "shop::Counter::Counter",
        "shop::run(int)::Local::step",
    ] {
        let one = |found: &String| found == name || found.ends_with(&format!("< {name}"));
        assert!(shapes.iter().any(one), "{name} of {shapes:#?}");
    }
    // gcc gives no linkage name to lambdas in functions with internal linkage.
    let lambda = "operator() < operator() < shop::(anonymous namespace)::scramble";
    assert!(shapes.contains(lambda), "{shapes:#?}");
    let rusty = names("rusty.so");
    assert!(
        rusty.iter().any(|name| name.ends_with("< rusty::sum::<rusty::Order> < sum_orders")
            || name.ends_with("< rusty::sum::<rusty::Order>")),
        "{rusty:#?}"
    );
    assert!(rusty.iter().any(|name| name.contains("<rusty::Order as rusty::Total>::total")), "{rusty:#?}");
}

#[test]
fn unwind_sections_and_build_id_are_found() {
    let object = open(&objects().join("orders.so")).unwrap();
    assert_eq!(object.machine(), Machine::X86_64);
    assert_eq!(object.build_id().map(<[u8]>::len), Some(20));
    let text = object.section(b".text").unwrap();
    assert_eq!(text.svma.end - text.svma.start, text.bytes.len() as u64);
    for name in [b".eh_frame".as_slice(), b".eh_frame_hdr"] {
        assert!(!object.section(name).unwrap().bytes.is_empty());
    }
    assert!(object.section(b".no_such").is_none());
    assert!(object.section(b"").is_none());
    let code = object.segments().find(|segment| segment.executable).unwrap();
    assert_eq!(object.file_offset_to_svma(code.file.start), Some(code.svma.start));
    assert!(object.file_offset_to_svma(u64::MAX).is_none());
    assert_eq!(open(&objects().join("orders-aarch64.so")).unwrap().machine(), Machine::Aarch64);
    assert_eq!(open(&objects().join("orders-32.so")).unwrap().machine(), Machine::X86);
}

/// lld begins the code in the middle of a page, and maps that page for the data before it, too: a
/// byte of the file is in two segments, at addresses 4 kB apart.
#[test]
fn the_address_of_code_is_that_of_the_executable_segment() {
    let mut bytes = vec![0; 0x3000];
    bytes[..16].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    bytes[16..20].copy_from_slice(&[3, 0, 62, 0]);
    bytes[32] = 64;
    bytes[54..58].copy_from_slice(&[56, 0, 2, 0]);
    // Type, flags; offset, address, physical address, size in the file and in memory, alignment.
    let segments =
        [(4u32, [0u64, 0, 0, 0x1200, 0x1200, 0x1000]), (5, [0x1000, 0x2000, 0x2000, 0x900, 0xa00, 0x1000])];
    for (n, (flags, numbers)) in segments.iter().enumerate() {
        let header =
            [&1u32.to_le_bytes()[..], &flags.to_le_bytes(), &numbers.map(u64::to_le_bytes).concat()].concat();
        bytes[64 + n * 56..][..56].copy_from_slice(&header);
    }
    let object = Object::parse(bytes).unwrap();
    assert_eq!(object.file_offset_to_svma(0x1100), Some(0x2100), "in both");
    assert_eq!(object.file_offset_to_svma(0x0fff), Some(0x0fff), "only in the first");
    assert_eq!(object.file_offset_to_svma(0x1980), Some(0x2980), "behind its end in the file");
    assert_eq!(object.file_offset_to_svma(0x2000), None);
}

#[test]
fn threads_find_the_same() {
    let object = open(&objects().join("shapes.so")).unwrap();
    let symbolizer = Symbolizer::new(&object, RAW);
    let all = |symbolizer: &Symbolizer<'_>| -> Vec<_> {
        object.section(b".text").unwrap().svma.map(|at| resolve(symbolizer, at)).collect()
    };
    let alone = all(&Symbolizer::new(&object, RAW));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(all(&symbolizer), alone));
        }
    });
}

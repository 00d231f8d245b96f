//! Sections as assemblers and linkers write them, and what becomes of them when they are damaged.
//!
//! They are of a program with two files, of which the second has frames that are aligned:
//!
//! ```sh
//! gcc -O2 -Wl,-z,lazy -Wa,--gsframe -o program main.c aligned.c
//! objcopy -O binary -j .sframe program program.sframe
//! ```
//! The rows that the tests expect are those that `objdump --sframe` shows.

use super::super::attr::Arch;
use super::super::sample::SampleBody;
use super::*;

/// GNU as and ld 2.40. The second file has no tables: its frames are counted from r10.
const VERSION_1: Linked = Linked {
    address: 0x2160,
    bytes: "e2de01010300f800030000000b000000260000000000000033000000c0eeffff100000001a0000000200000000d0eeffff50 \
    00000020000000020000001030efffff27000000000000000700000000000308020310090518e80d0520e8200518e8210510 \
    e8260508e80003100603180003080b0310",
};

/// GNU as 2.44, and mold, which puts the tables of both files into the section, as they are.
const VERSION_2: Linked = Linked {
    address: 0x6c8,
    bytes: "e2de02000300f80001000000070000001a0000000000000014000000fc110000270000000000000007000000000000000003 \
    08020310090518e80d0520e8200518e8210510e8260508e8000000000000e2de02000300f800000000000000000000000000 \
    0000000000000000",
};

/// GNU as and ld 2.47.50.
const VERSION_3: Linked = Linked {
    address: 0x2160,
    bytes: "e2de03050300f80006000000180000008f0000000000000060000000a4eeffffffffffff1000000071000000a4eeffffffff \
    ffff500000007c000000e4eeffffffffffff0800000087000000e4eeffffffffffff2700000000000000f4efffffffffffff \
    670000001f00000054f0ffffffffffff6a000000480000000700000000000308020310090518e80d0520e8200518e8210510 \
    e8260508e806000001000004390805045100110a5100003300130a33f8003300610a5100003300660a390800330006000001 \
    000004390805045100110a5100003300130a33f8003300610a5100003300690a390800330002000000000003100603180200 \
    1000100003080b03100100100008000310",
};

struct Linked {
    address: u64,
    bytes: &'static str,
}

impl Linked {
    fn bytes(&self) -> Vec<u8> {
        let digits: Vec<u8> = self.bytes.bytes().filter(u8::is_ascii_hexdigit).collect();
        let pairs = digits.chunks_exact(2).map(|pair| std::str::from_utf8(pair).expect("digits"));
        pairs.map(|pair| u8::from_str_radix(pair, 16).expect("digits")).collect()
    }

    fn table(&self) -> Sframe {
        table(self.address, self.bytes()).expect("a table")
    }
}

fn table(address: u64, bytes: Vec<u8>) -> Option<Sframe> {
    let svma = address..address + bytes.len() as u64;
    Sframe::of(Contents { svma, bytes: bytes.into() }, Machine::X86_64, None)
}

fn x86_64() -> &'static Cpu {
    Cpu::of(Arch::X86_64).expect("it is unwound")
}

/// The row of an address as `objdump` shows it; "-" for none.
fn shown(table: &Sframe, svma: u64) -> String {
    let place = |place: Option<Place>| match place {
        None => "u".to_owned(),
        Some(Place { base, offset, in_memory }) => {
            let base = base.map_or("c".to_owned(), |number| match number {
                6 => "fp".to_owned(),
                7 => "sp".to_owned(),
                other => format!("r{other}"),
            });
            if in_memory && base != "c" { format!("({base}{offset:+})") } else { format!("{base}{offset:+}") }
        }
    };
    match table.row(svma, x86_64()) {
        None => "-".to_owned(),
        Some(Row { frame: None, .. }) => "RA undefined".to_owned(),
        Some(Row { frame: Some(Frame { cfa, return_address, fp }), .. }) => {
            format!("{} {} {}", place(Some(cfa)), place(fp), place(return_address))
        }
    }
}

/// The rows of `main`, from its address on.
fn check_main(table: &Sframe, main: u64) {
    let rows = [
        (0, "sp+8 u c-8"),
        (1, "sp+8 u c-8"),
        (2, "sp+16 u c-8"),
        (9, "sp+24 c-24 c-8"),
        (13, "sp+32 c-24 c-8"),
        (31, "sp+32 c-24 c-8"),
        (32, "sp+24 c-24 c-8"),
        (38, "sp+8 c-24 c-8"),
        (39, "-"),
    ];
    for (inside, expected) in rows {
        assert_eq!(shown(table, main + inside), expected, "main+{inside}");
    }
    assert_eq!(shown(table, main - 1), "-");
    let mut expected =
        Rule { how: How::Simple, loses_registers: true, base: 7, offset: 32, ..Rule::default() };
    (expected.saved[0], expected.saved[1]) = (1, 3);
    assert_eq!(table.rule(main + 20, x86_64()), Some(expected));
}

/// The rows of the procedure linkage table, of which an entry is repeated.
fn check_linkage(table: &Sframe) {
    for (svma, expected) in [(0x1020, "sp+16 u c-8"), (0x1026, "sp+24 u c-8"), (0x101f, "-")] {
        assert_eq!(shown(table, svma), expected, "{svma:x}");
    }
    for entry in (0x1030..0x1080).step_by(16) {
        assert_eq!(shown(table, entry), "sp+8 u c-8", "{entry:x}");
        assert_eq!(shown(table, entry + 10), "sp+8 u c-8", "{entry:x}");
        // Version 1 took the 11 for a mask, by which 12 had been as 8.
        assert_eq!(shown(table, entry + 11), "sp+16 u c-8", "{entry:x}");
        assert_eq!(shown(table, entry + 12), "sp+16 u c-8", "{entry:x}");
    }
}

#[test]
fn version_1() {
    let table = VERSION_1.table();
    check_main(&table, 0x1090);
    check_linkage(&table);
    assert_eq!(shown(&table, 0x11b0), "-", "the other file");
    assert_eq!(table.parts.len(), 1);
    assert!(table.index.get().is_none(), "the linker has sorted it");
}

#[test]
fn version_2_in_parts() {
    let table = VERSION_2.table();
    check_main(&table, 0x18e0);
    assert_eq!(table.parts.len(), 2);
    assert!(table.index.get().is_some(), "nobody has sorted it");
}

#[test]
fn version_3_has_places_counted_from_any_register() {
    let table = VERSION_3.table();
    check_main(&table, 0x1090);
    check_linkage(&table);
    let rows = [
        (0x11b0, "sp+8 u c-8"),
        (0x11b5, "r10+0 u c-8"),
        (0x11c1, "r10+0 (fp+0) c-8"),
        (0x11c3, "(fp-8) (fp+0) c-8"),
        (0x1210, "(fp-8) (fp+0) c-8"),
        (0x1211, "r10+0 (fp+0) c-8"),
        (0x1216, "sp+8 (fp+0) c-8"),
        (0x1217, "-"),
        (0x1289, "sp+8 (fp+0) c-8"),
    ];
    for (svma, expected) in rows {
        assert_eq!(shown(&table, svma), expected, "{svma:x}");
    }
    let cpu = x86_64();
    assert_eq!(table.rule(0x11b5, cpu).map(|rule| (rule.how, rule.base)), Some((How::Simple, 10)));
    assert_eq!(table.rule(0x11c3, cpu).map(|rule| rule.how), Some(How::Complex));
}

/// The frame of `aligned`: its own frame pointer holds its caller's, and below that is where the frame's address is.
#[test]
fn a_place_in_memory_is_followed() {
    use super::super::sample::Registers;
    const SP: u64 = 0x7fff_0000;
    let (cpu, table) = (x86_64(), VERSION_3.table());
    // ax is 0, bx 1, bp 6, sp 7, ip 8 to the kernel.
    let values =
        [7, SP + 16, SP, 0x11c3].iter().flat_map(|value: &u64| value.to_le_bytes()).collect::<Vec<_>>();
    let values = Cursor::new(&values, ByteOrder::Little).u64s(4).expect("four");
    let regs = Regs::of(&Registers { is_64: true, mask: 0b1_1100_0010, values }, cpu).expect("registers");
    let words = [0, SP + 40, 0x66, 0, 0x1220, 0];
    let stack: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
    let parts = SampleBody { stack: &stack, stack_is_cut: true, ..SampleBody::default() };
    let mut dump = Dump::new(&parts, SP);
    let caller = table.step(0x11c3, cpu, &regs, &mut dump).expect("a caller");
    assert_eq!((caller.ip, caller.get(cpu.sp), caller.get(cpu.fp)), (0x1220, Some(SP + 40), Some(0x66)));
    assert_eq!((regs.get(3), caller.get(3)), (Some(7), None), "nothing is known of bx any more");
    let parts = SampleBody { stack: &stack[..32], ..parts };
    let mut short = Dump::new(&parts, SP);
    assert_eq!((table.step(0x11c3, cpu, &regs, &mut short), short.missed), (None, true));
}

#[test]
fn beginnings_signals_and_fixed_places() {
    let whole = VERSION_1.bytes();
    let svma = VERSION_1.address..VERSION_1.address + whole.len() as u64;
    let section = Contents { svma, bytes: whole.into() };
    let entered = Sframe::of(section, Machine::X86_64, Some(0x1090)).expect("a table");
    assert_eq!(shown(&entered, 0x1099), "RA undefined", "a program begins there");
    let mut bytes = VERSION_3.bytes();
    // The second row of the procedure linkage table's beginning has no numbers; then it is a signal's, too.
    let at =
        VERSION_3.bytes.replace(|c: char| !c.is_ascii_hexdigit(), "").find("000310060318").expect("a row")
            / 2;
    bytes[at + 4] = 0x01;
    let begins = table(VERSION_3.address, bytes.clone()).expect("a table");
    assert_eq!(shown(&begins, 0x1026), "RA undefined");
    assert_eq!(begins.rule(0x1026, x86_64()).map(|rule| rule.how), Some(How::Root));
    bytes[at - 3] |= 0x80;
    let signal = table(VERSION_3.address, bytes.clone()).expect("a table");
    assert_eq!(signal.rule(0x1020, x86_64()).map(|rule| rule.signal), Some(true));
    assert_eq!(begins.rule(0x1020, x86_64()).map(|rule| rule.signal), Some(false));
    // The frame pointer's place is fixed, the return address's is not.
    (bytes[5], bytes[6]) = (0xf0, 0);
    let fixed = table(VERSION_3.address, bytes).expect("a table");
    assert_eq!(shown(&fixed, 0x1099), "sp+24 c-16 c-24");
}

#[test]
fn other_processors_versions_and_orders_are_refused() {
    let bytes = VERSION_3.bytes();
    let svma = 0..bytes.len() as u64;
    let contents = || Contents { svma: svma.clone(), bytes: bytes.clone().into() };
    assert!(Sframe::of(contents(), Machine::Aarch64, None).is_none());
    assert!(Sframe::of(contents(), Machine::Other(22), None).is_none());
    for (at, value) in [(0, 0xde), (1, 0xe2), (2, 0), (2, 4), (3, 8), (4, 1), (4, 4)] {
        let mut other = bytes.clone();
        other[at] = value;
        assert!(table(0, other).is_none(), "byte {at} is {value}");
    }
    let turned: Vec<u8> = [&[0xde, 0xe2][..], &bytes[2..]].concat();
    assert!(table(0, turned).is_none(), "the other order of bytes");
    assert!(table(0, Vec::new()).is_none());
}

/// Asks for all that a table could be asked; nothing may overflow, and what is kept is bounded by the section.
fn ask(linked: &Linked, bytes: Vec<u8>) {
    let len = bytes.len();
    let Some(table) = table(linked.address, bytes) else { return };
    assert!(table.parts.len() <= len / HEADER);
    let (cpu, stack) = (x86_64(), [0x20; 256]);
    let parts = SampleBody { stack: &stack, ..SampleBody::default() };
    let values = [0x7fff_0000u64, 0x7fff_0000, 0x1000].map(u64::to_le_bytes).concat();
    let values = Cursor::new(&values, ByteOrder::Little).u64s(3).expect("three");
    let registers = super::super::sample::Registers { is_64: true, mask: 0b1_1100_0000, values };
    let regs = Regs::of(&registers, cpu).expect("registers");
    for svma in (0x1000..0x1300).step_by(3).chain([0, 0x18e0, linked.address, u64::MAX]) {
        let rule = table.rule(svma, cpu);
        let mut dump = Dump::new(&parts, 0x7fff_0000);
        let stepped = table.step(svma, cpu, &regs, &mut dump);
        assert!(rule.is_some() || stepped.is_none(), "{svma:x}");
    }
    assert!(table.index.get().is_none_or(|index| index.len() <= len / function_size(3)));
}

#[test]
fn damaged_sections_end() {
    for linked in [VERSION_1, VERSION_2, VERSION_3] {
        let whole = linked.bytes();
        for end in 0..whole.len() {
            ask(&linked, whole[..end].to_vec());
        }
        for byte in 0..whole.len() {
            for value in [0, 0x7f, 0x80, 0xff, whole[byte] ^ 0x10, whole[byte].wrapping_add(1)] {
                let mut other = whole.clone();
                other[byte] = value;
                ask(&linked, other);
            }
        }
    }
}

proptest::proptest! {
    #[test]
    fn whatever_bytes_come(
        version in 0..3usize,
        changes in proptest::collection::vec((0..300usize, proptest::prelude::any::<u8>()), 1..12),
        behind in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..40),
    ) {
        let linked = [VERSION_1, VERSION_2, VERSION_3].into_iter().nth(version).expect("one of three");
        let mut bytes = [linked.bytes(), behind].concat();
        for (at, value) in changes {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        ask(&linked, bytes);
    }
}

/// Many headers that each claim the functions of all the others.
#[test]
fn claims_do_not_add_up() {
    let mut header = VERSION_2.bytes()[..HEADER].to_vec();
    header[8..28].fill(0);
    let mut bytes = header.repeat(10_000);
    // 28 bytes are no multiple of 8: a linker would leave four in between.
    bytes = bytes.chunks(HEADER).flat_map(|part| [part, &[0; 4]].concat()).collect();
    assert_eq!(table(0, bytes.clone()).expect("a table").parts.len(), 10_000);
    let count = (bytes.len() as u32 - 28) / 20;
    bytes[8..12].copy_from_slice(&count.to_le_bytes());
    let claimed = table(0, bytes.clone()).expect("a table");
    assert_eq!((claimed.parts.len(), claimed.parts[0].count), (1, count), "the first has all of it");
    bytes[8..12].copy_from_slice(&(count + 1).to_le_bytes());
    assert!(table(0, bytes).is_none(), "it claims more than there is");
}

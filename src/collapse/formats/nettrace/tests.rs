//! Traces put together block by block, and their stacks.

use super::*;
use crate::bytes::push_varint;
use crate::collapse::CollapseOptions;
use crate::collapse::ValueSelection;
use crate::collapse::tests::collapse_bytes;

/// A text in UTF-16 that ends in a zero.
fn text(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

fn int(number: u32) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

fn long(number: u64) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

/// A trace with its first object, before others.
struct Trace(Vec<u8>);

impl Trace {
    fn new() -> Trace {
        let mut trace = Trace(b"Nettrace\x14\0\0\0!FastSerialization.1".to_vec());
        let date = [2026u16, 11, 0, 22, 10, 30, 15, 250].map(u16::to_le_bytes).concat();
        let fields = [date, long(1000), long(1_000_000), int(8), int(77), int(2), int(1)].concat();
        trace.object("Trace", &fields);
        trace
    }

    fn object(&mut self, name: &str, bytes: &[u8]) {
        self.0.extend_from_slice(&[5, 5, 1, 4, 0, 0, 0, 4, 0, 0, 0]);
        self.0.extend_from_slice(&int(name.len() as u32));
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(6);
        if name != "Trace" {
            self.0.extend_from_slice(&int(bytes.len() as u32));
            self.0.resize(self.0.len().next_multiple_of(4), 0);
        }
        self.0.extend_from_slice(bytes);
        self.0.push(6);
    }

    /// A block of events: type, thread, stack, time since the one before, payload.
    fn events(&mut self, name: &str, is_compressed: bool, events: &[(u32, u32, u32, u64, Vec<u8>)]) {
        let mut out = [20u16.to_le_bytes(), u16::from(is_compressed).to_le_bytes()].concat();
        out.resize(20, 0);
        let mut now = 0;
        for (at, (kind, thread, stack, passed, payload)) in events.iter().enumerate() {
            now += passed;
            if is_compressed {
                // Type, captor, thread, stack and length; all small but the time and the length.
                out.extend_from_slice(&[1 | 2 | 4 | 8 | 128, *kind as u8, 0, 9, 0, *thread as u8]);
                out.push(*stack as u8);
                push_varint(*passed, &mut out);
                push_varint(payload.len() as u64, &mut out);
                out.extend_from_slice(payload);
            } else {
                let size = 4 + 4 + 8 + 8 + 4 + 4 + 8 + 32 + 4 + payload.len() as u32;
                let ids =
                    [int(size), int(*kind | 1 << 31), int(at as u32 + 1), long((*thread).into()), long(9)];
                out.extend_from_slice(&ids.concat());
                out.extend_from_slice(&[int(0), int(*stack), long(now), vec![0; 32]].concat());
                out.extend_from_slice(&int(payload.len() as u32));
                out.extend_from_slice(payload);
                out.resize(out.len().next_multiple_of(4), 0);
            }
        }
        self.object(name, &out);
    }

    fn types(&mut self) {
        let types = [
            (1, "Microsoft-DotNETCore-SampleProfiler", 0),
            (2, "Microsoft-Windows-DotNETRuntime", 10),
            (3, "Microsoft-Windows-DotNETRuntimeRundown", 144),
            (4, "Microsoft-Windows-DotNETRuntimeRundown", 154),
            (5, "Microsoft-Windows-DotNETRuntime", 80),
        ];
        let types = types.map(|(number, provider, event)| {
            (0, 9, 0, 0, [int(number), text(provider), int(event), text("")].concat())
        });
        self.events("MetadataBlock", true, &types);
    }

    fn stacks(&mut self, first: u32, stacks: &[&[u64]]) {
        let mut out = [int(first), int(stacks.len() as u32)].concat();
        for stack in stacks {
            out.extend_from_slice(&int(stack.len() as u32 * 8));
            stack.iter().for_each(|address| out.extend_from_slice(&long(*address)));
        }
        self.object("StackBlock", &out);
    }

    fn finish(mut self) -> Vec<u8> {
        self.0.push(1);
        self.0
    }
}

fn method(start: u64, namespace: &str, name: &str) -> (u32, u32, u32, u64, Vec<u8>) {
    let numbers = [long(1), long(500), long(start), int(0x100), int(0), int(0)].concat();
    (3, 9, 0, 0, [numbers, text(namespace), text(name), text("void ()")].concat())
}

/// `Main` calls `Work`, in managed code twice, in native code once; a string is allocated and an exception thrown.
fn trace(is_compressed: bool) -> Vec<u8> {
    let mut trace = Trace::new();
    trace.types();
    // The last return address is the end of Main: a call that never returns.
    trace.stacks(1, &[&[0x2010, 0x1100], &[0x1010], &[0x9999, 0x1050]]);
    let allocation = [int(64), int(0), vec![0; 2], long(100_000), long(1), text("System.String")].concat();
    trace.events(
        "EventBlock",
        is_compressed,
        &[
            (1, 5, 1, 1000, int(2)),
            (1, 5, 1, 1000, int(2)),
            (1, 6, 2, 500, int(1)),
            (2, 5, 1, 100, allocation),
            (5, 5, 3, 100, [text("System.Exception"), text("no")].concat()),
        ],
    );
    trace.object("SPBlock", &[0; 12]);
    trace.stacks(1, &[&[0x1020]]);
    trace.events("EventBlock", is_compressed, &[(1, 5, 1, 3000, int(2))]);
    let module = [long(500), vec![0; 16], text("/app/shop.dll"), text("")].concat();
    let rundown = [method(0x2000, "Shop.Orders", "Work"), method(0x1000, "Shop.Program", "Main")];
    trace.events("EventBlock", true, &[&rundown[..], &[(4, 9, 0, 0, module)]].concat());
    trace.finish()
}

fn choose(name: &str) -> CollapseOptions {
    CollapseOptions {
        values: ValueSelection::Named(vec![name.as_bytes().to_vec()]),
        ..CollapseOptions::default()
    }
}

#[test]
fn samples_have_the_names_of_the_rundown() {
    for is_compressed in [true, false] {
        let bytes = trace(is_compressed);
        assert_eq!(Nettrace.detect(&bytes), Certainty::Magic);
        for (value, expected) in [
            ("managed", "Shop.Program.Main 1\nShop.Program.Main;Shop.Orders.Work 2\n"),
            ("unmanaged", "Shop.Program.Main 1\n"),
            ("allocated", "Shop.Program.Main;Shop.Orders.Work;System.String 100000\n"),
            ("exceptions", "Shop.Program.Main;[unknown];System.Exception 1\n"),
        ] {
            let (folded, report) = collapse_bytes(&Nettrace, &bytes, &choose(value)).unwrap();
            assert_eq!(folded, expected, "{value}, compressed: {is_compressed}");
            // The sequence of the second block goes on where the first ended, or is told in full.
            assert_eq!(report.facts.duration.map(|passed| passed.as_micros()), Some(2000));
        }
    }
    let threads = CollapseOptions { tid: true, ..CollapseOptions::default() };
    let (folded, _) = collapse_bytes(&Nettrace, trace(true), &threads).unwrap();
    assert!(folded.starts_with("[unnamed]-77/5;Shop.Program.Main 1\n"), "{folded}");
    let addresses = CollapseOptions { addrs: true, ..choose("exceptions") };
    let (folded, _) = collapse_bytes(&Nettrace, trace(true), &addresses).unwrap();
    assert_eq!(folded, "Shop.Program.Main;[unknown <9999>];System.Exception 1\n");
}

#[test]
fn a_trace_without_rundown_or_end_says_so() {
    let mut without = Trace::new();
    without.types();
    without.stacks(1, &[&[0x1010]]);
    without.events("EventBlock", true, &[(1, 5, 1, 1000, int(2)), (1, 5, 7, 1000, int(2))]);
    let bytes = without.finish();
    let (folded, report) = collapse_bytes(&Nettrace, &bytes, &CollapseOptions::default()).unwrap();
    assert_eq!(folded, "[no stack] 1\n[unknown] 1\n");
    assert!(report.notes.iter().any(|note| note.contains("does not name its methods")), "{:?}", report.notes);
    assert!(report.notes.iter().any(|note| note.starts_with("1 events have lost their stacks")));
    for end in [bytes.len() - 1, bytes.len() - 2] {
        let (_, report) =
            collapse_bytes(&Nettrace, &bytes[..end], &CollapseOptions::default()).unwrap_or_default();
        assert!(report.notes.iter().any(|note| note.contains("cut off")) || end < bytes.len() - 1);
    }
    let mut damaged = bytes.clone();
    damaged[b"Nettrace\x14\0\0\0!FastSerialization.1".len() + 1] = 7;
    let error = collapse_bytes(&Nettrace, &damaged, &CollapseOptions::default()).unwrap_err().to_string();
    assert!(error.contains("the type of an object"), "{error}");
}

/// A trace of version 6, block by block.
struct Newer(Vec<u8>);

fn utf8(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    push_varint(text.len() as u64, &mut out);
    [out, text.as_bytes().to_vec()].concat()
}

/// A text behind its length of two bytes.
fn short(text: &str) -> Vec<u8> {
    [&(text.len() as u16).to_le_bytes()[..], text.as_bytes()].concat()
}

/// Rows behind their lengths of two bytes.
fn rows(rows: &[Vec<u8>]) -> Vec<u8> {
    rows.iter().flat_map(|row| [&(row.len() as u16).to_le_bytes()[..], row].concat()).collect()
}

impl Newer {
    fn new() -> Newer {
        let mut trace = Newer([b"Nettrace\0\0\0\0".to_vec(), int(6), int(3)].concat());
        let date = [2026u16, 11, 0, 22, 10, 30, 15, 250].map(u16::to_le_bytes).concat();
        let texts = [utf8("ProcessId"), utf8("0"), utf8("x"), utf8("y")].concat();
        trace.block(1, &[date, long(1000), long(1_000_000), int(8), int(2), texts].concat());
        trace
    }

    fn block(&mut self, kind: u32, bytes: &[u8]) {
        self.0.extend_from_slice(&int(kind << 24 | bytes.len() as u32));
        self.0.extend_from_slice(bytes);
    }

    fn types(&mut self) {
        let types = [
            ("Universal.Events", 0, "cpu", &["Value"][..]),
            ("Universal.Events", 0, "cswitch", &["Value"]),
            ("Universal.System", 0, "ProcessCreate", &["NamespaceId", "Name"]),
            ("Universal.System", 0, "ProcessMapping", &["Id", "ProcessId", "StartAddress"]),
            ("Universal.System", 0, "ProcessSymbol", &["Id"]),
            ("Microsoft-Windows-DotNETRuntime", 10, "GCAllocationTick", &[]),
            ("Microsoft-Windows-DotNETRuntime", 143, "MethodLoadVerbose", &[]),
            ("Universal.Events", 0, "custom", &["Other"]),
        ];
        let rows_of = types.iter().enumerate().map(|(at, (provider, event, name, fields))| {
            let fields: Vec<Vec<u8>> = fields.iter().map(|name| [utf8(name), vec![21]].concat()).collect();
            let count = (fields.len() as u16).to_le_bytes().to_vec();
            let mut number = Vec::new();
            push_varint(*event, &mut number);
            let head = [vec![at as u8 + 1], utf8(provider), number, utf8(name), count].concat();
            [head, rows(&fields), vec![0, 0], b"later".to_vec()].concat()
        });
        let rows_of: Vec<Vec<u8>> = rows_of.collect();
        self.block(3, &[&[2, 0, 9, 9][..], &rows(&rows_of)].concat());
    }

    /// Events: type, thread, stack, payload; one step of the clock after the other.
    fn events(&mut self, is_compressed: bool, events: &[(u8, u8, u8, Vec<u8>)]) {
        let mut out = [20u16.to_le_bytes(), u16::from(is_compressed).to_le_bytes()].concat();
        out.resize(20, 0);
        for (at, (kind, thread, stack, payload)) in events.iter().enumerate() {
            if is_compressed {
                out.extend_from_slice(&[1 | 4 | 8 | 16 | 64 | 128, *kind, *thread, *stack, 1, 7]);
                push_varint(payload.len() as u64, &mut out);
            } else {
                let size = 4 + 4 + 8 + 8 + 4 + 4 + 8 + 4 + 4 + payload.len() as u32;
                let ids =
                    [int(size), int((*kind).into()), int(at as u32 + 1), long((*thread).into()), long(0)];
                out.extend_from_slice(&ids.concat());
                out.extend([int(0), int((*stack).into()), long(1000 + at as u64), int(7)].concat());
                out.extend(int(payload.len() as u32));
            }
            out.extend_from_slice(payload);
        }
        self.block(2, &out);
    }
}

/// Two processes, whose code is at the same addresses, and the kernel's.
fn newer(is_compressed: bool) -> Newer {
    let mut trace = Newer::new();
    trace.types();
    let threads =
        [vec![1, 2, 70, 3, 71, 1, 2, b'i', b'o'], vec![2, 2, 80, 3, 81, 4, 1, b'k', 1, b'v', 99, 1, 2]];
    trace.block(6, &rows(&threads));
    let kernel = 0xffff_ffff_8000_0010u64;
    let stacks = [int(16), long(kernel), long(0x1010), int(8), long(0x1010)].concat();
    trace.block(5, &[int(1), int(2), stacks].concat());
    let number = |number: u64| {
        let mut out = Vec::new();
        push_varint(number, &mut out);
        out
    };
    let symbol =
        |start: u64, end: u64, name| [number(9), number(1), number(start), number(end), short(name)].concat();
    let mapping =
        [number(1), number(80), number(0x1000), number(0x2000), number(0), short("/lib/a.so")].concat();
    let tick = [int(64), int(0), vec![0; 2], long(100), long(0), text("System.String")].concat();
    let method =
        [long(1), long(5), long(0x1000), int(0x100), int(0), int(0), text("Shop"), text("Run")].concat();
    trace.events(
        is_compressed,
        &[
            (1, 1, 1, vec![1]),
            (1, 2, 2, vec![3]),
            (2, 2, 2, vec![5]),
            (1, 7, 9, vec![2]),
            (3, 1, 0, [vec![1], short("web"), short("")].concat()),
            (3, 2, 0, [vec![1], short("db"), short("")].concat()),
            (4, 1, 0, mapping),
            (5, 1, 0, symbol(kernel - 0x10, kernel, "do_idle")),
            (6, 1, 2, tick),
            (7, 1, 0, method),
            (8, 1, 0, vec![]),
        ],
    );
    trace
}

#[test]
fn version_6_has_several_processes() {
    for is_compressed in [true, false] {
        let mut trace = newer(is_compressed);
        // Threads and stacks are others from here on, and the blocks behind are of kinds that are not known.
        trace.block(4, &[long(1), int(1), int(0)].concat());
        trace.block(8, &[1, 2, 3]);
        trace.block(77, b"later");
        trace.events(is_compressed, &[(1, 1, 2, vec![1])]);
        trace.block(0, b"");
        let (folded, report) = collapse_bytes(&Nettrace, &trace.0, &CollapseOptions::default()).unwrap();
        let expected = "[unnamed];[no stack] 3\ndb;[a.so] 3\nio;Shop.Run;do_idle 1\n";
        assert_eq!(folded, expected, "{is_compressed}");
        let doubts = report.not_understood.doubts;
        assert!(doubts.len() == 1 && doubts[0].contains("2 events have lost their stacks"), "{doubts:?}");
        let value = |name: &str| CollapseOptions {
            values: ValueSelection::Named(vec![name.into()]),
            tid: true,
            ..CollapseOptions::default()
        };
        let folded = |name| collapse_bytes(&Nettrace, &trace.0, &value(name)).unwrap().0;
        // Five steps of a clock of a million in a second.
        assert_eq!(folded("cswitch"), "db-80/81;[a.so] 5000\n");
        assert_eq!(folded("allocated"), "io-70/71;Shop.Run;System.String 100\n");
    }
}

#[test]
fn version_6_that_is_damaged_or_cut_is_told() {
    let error = |bytes: &[u8]| {
        let result = collapse_bytes(&Nettrace, bytes, &CollapseOptions::default());
        result.err().map(|e| e.to_string()).unwrap_or_default()
    };
    let whole = newer(true).0;
    let mut version = whole.clone();
    version[12] = 7;
    assert!(error(&version).contains("version 4 to 6"), "{}", error(&version));
    for (kind, bytes) in
        [(6, &[9, 0, 1][..]), (3, &[0, 0, 3, 0, 1]), (4, &[1; 11]), (2, &[20, 0, 1, 0]), (5, &[1; 7])]
    {
        let mut damaged = newer(true);
        damaged.block(kind, bytes);
        assert!(error(&damaged.0).contains("a block of a trace of .NET"), "{kind}: {}", error(&damaged.0));
    }
    // Without its last block, and within one.
    for cut in [whole.len(), whole.len() - 5, 22] {
        let (_, report) = collapse_bytes(&Nettrace, &whole[..cut], &CollapseOptions::default()).unwrap();
        let doubts = report.not_understood.doubts;
        assert!(doubts.iter().any(|doubt| doubt.contains("cut off at byte")), "{cut}: {doubts:?}");
    }
}

#[test]
fn a_program_that_hardly_runs_managed_code_is_seen_in_its_native_code() {
    let trace = |native: usize| {
        let mut trace = Trace::new();
        trace.types();
        trace.stacks(1, &[&[0x1010]]);
        let mut events = vec![(1, 5, 1, 1000, int(2))];
        events.resize(1 + native, (1, 5, 1, 1000, int(1)));
        trace.events("EventBlock", true, &events);
        trace.finish()
    };
    for (native, shown) in [(50, "[unknown] 1\n"), (150, "[unknown] 150\n")] {
        let (folded, _) = collapse_bytes(&Nettrace, trace(native), &CollapseOptions::default()).unwrap();
        assert_eq!(folded, shown);
    }
}

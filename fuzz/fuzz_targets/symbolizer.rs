//! The symboliser on objects, debug information, maps and dumps that are whatever bytes come.
//!
//! The first byte says what the rest is: an ELF file, asked about addresses of its code and of
//! nothing, or a text of the kernel's or of a just-in-time compiler's. There is nothing to compare
//! with: it must answer, soon, with few frames.
//!
//! ```sh
//! fuzz/seed                # the tests' objects as a corpus to begin with
//! RUSTC_BOOTSTRAP=1 cargo fuzz run symbolizer -- -max_total_time=3600 -rss_limit_mb=2048 -timeout=20
//! ```
#![no_main]

use fg_tools::symbolize::jit::{JitDump, PerfMap};
use fg_tools::symbolize::kernel::Kallsyms;
use fg_tools::symbolize::{Object, Symbolizer, SymbolizerOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [kind, bytes @ ..] = data else { return };
    let bytes = bytes.to_vec();
    let addresses = [0, 0x1000, 0x7f2c_35fc_5b80, u64::MAX - 1, u64::MAX];
    match kind {
        b'e' => elf(bytes),
        b'm' => {
            let map = PerfMap::parse(bytes);
            addresses.iter().for_each(|at| _ = map.find(*at));
        }
        b'j' => {
            let Some(dump) = JitDump::parse(bytes) else { return };
            for at in addresses {
                dump.find(at, None);
                dump.find(at, Some(at));
            }
        }
        b'k' => {
            let Some(kallsyms) = Kallsyms::parse(bytes) else { return };
            addresses.iter().for_each(|at| _ = kallsyms.find(*at));
            kallsyms.address_of(b"_text");
        }
        _ => {}
    }
});

fn elf(bytes: Vec<u8>) {
    let Ok(object) = Object::parse(bytes) else { return };
    for name in [&b".eh_frame"[..], b".eh_frame_hdr", b".debug_frame", b".sframe", b".got"] {
        object.section(name);
    }
    let text = object.section(b".text").map_or(0..0, |text| text.svma);
    let options = SymbolizerOptions { inline: true, srcline: true, demangle: true };
    let symbolizer = Symbolizer::new(&object, options);
    let mut frames = Vec::new();
    for at in text.step_by(7).take(300).chain([0, 0x1000, u64::MAX - 1, u64::MAX]) {
        symbolizer.resolve(at, at % 2 == 0, &mut frames);
        object.file_offset_to_svma(at);
        assert!(frames.len() <= 300);
        frames.clear();
    }
}

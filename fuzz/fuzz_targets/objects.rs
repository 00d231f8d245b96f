//! Objects that belong together and are whatever bytes come: a program, its debug information, its split debug
//! information and the file that dwz made, all below a folder that stands for the root of the recorded system.
//!
//! The input is cut at a mark; each piece is one of the files. There is nothing to compare with: it must answer,
//! soon, with few frames.
//!
//! ```sh
//! fuzz/seed                # the tests' objects as a corpus to begin with
//! RUSTC_BOOTSTRAP=1 cargo fuzz run objects -- -max_total_time=3600 -rss_limit_mb=1024 -timeout=10
//! ```
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use fg_tools::symbolize::{Module, Search, Symbolizer, SymbolizerOptions};
use libfuzzer_sys::fuzz_target;

/// The mark between files.
const MARK: &[u8] = b"\n--fg--\n";

/// The places of the files: the tests' objects name each other so.
const PLACES: &[&str] = &[
    "app/orders-split.so",
    "app/orders-split.c.dwo",
    "app/dwz-common.debug",
    "app/orders.debug",
    "app/orders-split.so.dwp",
    "usr/lib/debug/app/orders-split.so.debug",
];

/// The folder, which is there as long as the process.
fn root() -> &'static PathBuf {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let root = std::env::temp_dir().join(format!("fg-fuzz-objects-{}", std::process::id()));
        for place in PLACES {
            fs::create_dir_all(root.join(place).parent().expect("a place has a folder")).expect("a folder");
        }
        root
    })
}

fuzz_target!(|data: &[u8]| {
    let root = root();
    let mut rest = Some(data);
    for place in PLACES {
        let Some(bytes) = rest else {
            let _ = fs::remove_file(root.join(place));
            continue;
        };
        let cut = bytes.windows(MARK.len()).position(|window| window == MARK);
        fs::write(root.join(place), &bytes[..cut.unwrap_or(bytes.len())]).expect("it is written");
        rest = cut.map(|cut| &bytes[cut + MARK.len()..]);
    }
    let mut search = Search::of_system(Some(root.clone()));
    search.debug_dirs.retain(|folder| folder.starts_with("/usr/lib/debug"));
    let module = Module { path: format!("/{}", PLACES[0]).into_bytes(), build_id: None };
    let Ok(object) = search.open(&module) else { return };
    let text = object.section(b".text").map_or(0..0, |text| text.svma);
    let options = SymbolizerOptions { inline: true, srcline: true, demangle: true };
    let symbolizer = Symbolizer::new(&object, options);
    let mut frames = Vec::new();
    for at in text.step_by(7).take(200).chain([0, 0x1000, u64::MAX - 1, u64::MAX]) {
        symbolizer.resolve(at, at % 2 == 0, &mut frames);
        assert!(frames.len() <= 300);
        frames.clear();
    }
});

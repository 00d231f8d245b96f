//! pprof and OTLP, read with everything they hold and written again in every format of exchange.
//!
//! The first byte chooses the format. What is read is written, or refused in one line, and what is written
//! is read again or refused in one line, too.
//!
//! ```sh
//! RUSTC_BOOTSTRAP=1 cargo fuzz run exchange -- -max_total_time=3600 -rss_limit_mb=2048 -timeout=20
//! ```
#![no_main]

use fg_tools::reading::{ExchangeParts, ReadOptions};
use fg_tools::render::Settings;
use fg_tools::{Profile, Source};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [format, bytes @ ..] = data else { return };
    let format = if format & 1 == 0 { "pprof" } else { "otlp" };
    let options = ReadOptions::default().format(format).exchange(ExchangeParts::Whole);
    let Ok(profile) = Profile::read(&[Source::bytes(bytes)], &options) else { return };
    for name in ["pprof", "otlp", "otlp-json"] {
        let mut out = Vec::new();
        if let Err(error) = profile.render(name, &Settings::default(), &mut out) {
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
            continue;
        }
        let reader = if name == "pprof" { "pprof" } else { "otlp" };
        let back = ReadOptions::default().format(reader).exchange(ExchangeParts::Whole);
        if let Err(error) = Profile::read(&[Source::bytes(out)], &back) {
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
        }
    }
});

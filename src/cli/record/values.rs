//! The values of options: times, sizes, numbers of processors.

use std::time::Duration;

use crate::record::request::Delay;
use crate::symbolize::bundle::LARGEST;

/// The processors of `-C`.
#[derive(Clone, Debug)]
pub struct Processors(pub Vec<u32>);

/// A sampling rate: `-F 997`.
pub(super) fn hertz(text: &str) -> Result<u64, String> {
    let rate = text.parse().ok().filter(|rate| (1..=1_000_000).contains(rate));
    rate.ok_or_else(|| "samples per second are a whole number from 1 to 1000000".to_owned())
}

/// A number of events above zero.
pub(super) fn count(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|events| *events > 0).ok_or_else(|| {
        "expected a number of events; options for perf go behind --with perf --backend-args 'ARGS', a palette is \
         --colors"
            .to_owned()
    })
}

/// A number of bytes above zero.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let size = crate::quantity::bytes(text).filter(|size| *size > 0);
    size.ok_or_else(|| "expected a number of bytes: 500M, 2G".to_owned())
}

/// The most bytes of programs in an archive.
pub(super) fn bundle_size(text: &str) -> Result<u64, String> {
    match size(text)? {
        size @ ..=LARGEST => Ok(size),
        _ => Err("expected at most 4G".to_owned()),
    }
}

/// Numbers of processors and ranges.
pub(super) fn processors(text: &str) -> Result<Processors, String> {
    let wrong = || "expected numbers of processors and ranges: 0,2-3".to_owned();
    let mut all = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        match (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            // More than any kernel has.
            (Ok(first), Ok(last @ 0..=65_535)) if first <= last => all.extend(first..=last),
            _ => return Err(wrong()),
        }
    }
    all.sort_unstable();
    all.dedup();
    Ok(Processors(all))
}

/// The time until sampling begins.
pub(super) fn delay(text: &str) -> Result<Delay, String> {
    match text {
        "-1" => Ok(Delay::UntilTold),
        "0" => Ok(Delay::None),
        text => seconds(text).map(Delay::For),
    }
}

/// A number of seconds above zero.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "expected a number of seconds above zero".to_owned())
}

/// A time with its unit.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "expected a time: 1ms, 0.5s is 500ms".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_processors_and_delays() {
        assert_eq!([size("512"), size("4k"), size("2G")], [Ok(512), Ok(4096), Ok(2 << 30)]);
        for wrong in ["", "0", "2GX", "M", "-1", "99999999999T"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert_eq!([bundle_size("1G"), bundle_size("4G")], [Ok(1 << 30), Ok(4 << 30)]);
        assert!(bundle_size("5G").is_err() && bundle_size("x").is_err());
        assert_eq!(processors("3,0-1,1").unwrap().0, [0, 1, 3]);
        for wrong in ["", "a", "1-", "2-1", "0-99999999"] {
            assert!(processors(wrong).is_err(), "{wrong}");
        }
        assert_eq!(delay("-1"), Ok(Delay::UntilTold));
        assert_eq!(delay("0.5"), Ok(Delay::For(Duration::from_millis(500))));
        assert!(delay("-2").is_err() && delay("x").is_err());
        assert!(count("0").is_err() && count("7") == Ok(7));
    }
}

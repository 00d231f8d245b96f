//! Times on the command line and in labels: `20ms`, `12.4s..18.1s`, `time=000012.340s`.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::weight::Weight;

/// The key of the label that says when a sample was taken.
pub const TIME: &str = "time";

/// The digits of whole seconds in a label of time: 11 days.
const WHOLE_DIGITS: usize = 6;

/// A range of time, in nanoseconds since the 0 of the labels of time. The end is not part of it.
///
/// ```
/// use fg_tools::profile::TimeRange;
///
/// let range = TimeRange::parse("12.4s..18.1s")?;
/// assert!(range.contains(12_400_000_000) && !range.contains(18_100_000_000));
/// assert_eq!(TimeRange::parse("..1.5")?, TimeRange { begin: 0, end: 1_500_000_000 });
/// # Ok::<(), fg_tools::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// The first nanosecond.
    pub begin: u64,
    /// The first nanosecond behind it.
    pub end: u64,
}

impl TimeRange {
    /// Reads `FROM..TO`; either may be missing. A number without a unit is in seconds.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`].
    pub fn parse(text: &str) -> Result<TimeRange> {
        let wrong =
            || Error::setting(format!("{text:?} is no range of time, such as 12.4s..18.1s or 500ms.."));
        let (begin, end) = text.split_once("..").ok_or_else(wrong)?;
        let bound = |text: &str, missing| match text.trim() {
            "" => Some(missing),
            text => parse_time(text),
        };
        let range = TimeRange {
            begin: bound(begin, 0).ok_or_else(wrong)?,
            end: bound(end, u64::MAX).ok_or_else(wrong)?,
        };
        if range.begin >= range.end {
            return Err(Error::setting(format!("the range {text:?} ends before it begins")));
        }
        Ok(range)
    }

    /// Returns true if a time is in the range.
    pub fn contains(&self, time: u64) -> bool {
        (self.begin..self.end).contains(&time)
    }

    /// The part of a recording of this length that is in the range.
    pub(crate) fn within(&self, whole: Duration) -> Duration {
        let whole = u64::try_from(whole.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(self.end.min(whole).saturating_sub(self.begin))
    }
}

/// The nanoseconds of `20ms`, `1.5s`, `2m`, or `1.5`, which is in seconds.
pub(crate) fn parse_time(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let (number, unit) = text.split_at(digits);
    let size: i128 = match unit.trim() {
        "" | "s" => 1_000_000_000,
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    // `.5s` and `5.` are numbers to people.
    let number = format!("0{}", number.strip_suffix('.').unwrap_or(number));
    let nanos = Weight::parse(number.as_bytes())?.checked_mul(Weight::new(size)).ok()?;
    let exact = nanos.to_u64();
    exact.filter(|_| text.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
}

/// The value of a label of time, of a width that depends on the latest time and on the step only, so
/// that the order of the bytes is that of time: `000012.340s`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeText {
    whole: usize,
    decimals: usize,
}

impl TimeText {
    /// The text of times up to `latest`, all of them multiples of `step`, in nanoseconds.
    pub(crate) fn new(latest: u64, step: u64) -> TimeText {
        let decimals = match step {
            step if step % 1_000_000 == 0 => 3,
            step if step % 1_000 == 0 => 6,
            _ => 9,
        };
        TimeText { whole: WHOLE_DIGITS.max((latest / 1_000_000_000).to_string().len()), decimals }
    }

    /// Appends a time in nanoseconds to `out`.
    pub(crate) fn write(&self, time: u64, out: &mut Vec<u8>) {
        let fraction = format!("{:09}", time % 1_000_000_000);
        let text =
            format!("{:0whole$}.{}s", time / 1_000_000_000, &fraction[..self.decimals], whole = self.whole);
        out.extend_from_slice(text.as_bytes());
    }
}

/// The nanoseconds of the value of a label of time.
pub(crate) fn read_time(value: &[u8]) -> Option<u64> {
    let seconds = Weight::parse(value.strip_suffix(b"s")?)?;
    seconds.checked_mul(Weight::new(1_000_000_000)).ok()?.to_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, nanos) in [
            ("20ms", Some(20_000_000)),
            ("1.5", Some(1_500_000_000)),
            (".5s", Some(500_000_000)),
            ("2m", Some(120_000_000_000)),
            ("7ns", Some(7)),
            ("0.5ns", None),
            ("", None),
            ("ms", None),
            ("-1s", None),
            ("1e3s", None),
            ("99999999999999h", None),
        ] {
            assert_eq!(parse_time(text), nanos, "{text}");
        }
        for wrong in ["", "5s", "5s..4s", "5s..5s", "a..b", "1s...2s"] {
            assert!(TimeRange::parse(wrong).is_err(), "{wrong}");
        }
        let open = TimeRange::parse("1s..").unwrap();
        assert_eq!(open.within(Duration::from_secs(3)), Duration::from_secs(2));
    }

    #[test]
    fn labels_of_time_sort_as_times_do() {
        let text = |time, latest, step| {
            let mut out = Vec::new();
            TimeText::new(latest, step).write(time, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(12_340_000_000, 0, 20_000_000), "000012.340s");
        assert_eq!(text(12_340_000_000, 0, 1_000_000_000), "000012.340s");
        assert_eq!(text(1_000, 0, 500), "000000.000001000s");
        // A later time makes all of them wider.
        assert_eq!(text(0, 1_234_567_000_000_000, 1_000), "0000000.000000s");
        assert_eq!(read_time(b"000012.340s"), Some(12_340_000_000));
        assert_eq!(read_time(b"12"), None);
        assert_eq!(read_time(b""), None);
    }
}

//! Labels: when, in which thread, for whom a sample was taken, as root frames `key=value`.
//!
//! ```text
//! # labels: time, endpoint
//! time=000012.340s;endpoint=/api;main;parse 42
//! ```

use std::time::Duration;

use super::samples::SampleRef;
use super::times::{TIME, parse_time};
use crate::error::{Error, Result, excerpt};
use crate::folded::{FrameId, StackTable, sanitize_frame};

/// The step of labels of time, if none is given.
const STEP: Duration = Duration::from_millis(20);

/// A label to be written as a root frame.
///
/// ```
/// use fg_tools::profile::Label;
///
/// let label = Label::parse("time=20ms")?;
/// assert_eq!(label.key(), "time");
/// assert!(Label::parse("time=0s").is_err());
/// # Ok::<(), fg_tools::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    key: String,
    step: Duration,
}

impl Label {
    /// The label of this key. The labels `time`, `thread`, `tid` and `process` are known of all
    /// formats that record them, others are those of the recording.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] for a key that cannot be declared in a header.
    pub fn new(key: &str) -> Result<Label> {
        let key = clean_key(key.as_bytes());
        if key.is_empty() {
            return Err(Error::setting("a label needs a name, such as thread"));
        }
        Ok(Label { key, step: STEP })
    }

    /// The label of time, in buckets of this length.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] for buckets without a length, and for those of more nanoseconds than a `u64` counts.
    pub fn time(step: Duration) -> Result<Label> {
        if step.is_zero() || u64::try_from(step.as_nanos()).is_err() {
            return Err(Error::setting("a bucket of time is 1 ns to 584 years long"));
        }
        Ok(Label { key: TIME.into(), step })
    }

    /// Reads `KEY`, or `time=STEP`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`].
    pub fn parse(text: &str) -> Result<Label> {
        match text.split_once('=') {
            None => Label::new(text),
            Some((TIME, step)) => {
                let nanos = parse_time(step).ok_or_else(|| {
                    let what = format!("{step:?} is no length of time, such as 20ms or 1s");
                    Error::setting(what)
                })?;
                Label::time(Duration::from_nanos(nanos))
            }
            Some((key, _)) => {
                let key = excerpt(key.as_bytes());
                let what =
                    format!("the label {key} takes no value here; fg-filter --with-label selects by one");
                Err(Error::setting(what))
            }
        }
    }

    /// Its key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The length of a bucket, of the label of time.
    pub(super) fn step(&self) -> u64 {
        u64::try_from(self.step.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Returns true for the label of time.
    pub fn is_time(&self) -> bool {
        self.key == TIME
    }
}

/// A key as it is declared and written: one line, without what separates keys and values.
pub(crate) fn clean_key(key: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(key)
        .trim()
        .trim_start_matches('#')
        .chars()
        .map(|c| if matches!(c, '=' | ',' | ';' | '"') || c.is_control() { '_' } else { c })
        .collect();
    crate::profile::fact(text.as_bytes()).unwrap_or_default()
}

/// Puts the value of a sample's label into `out`, as part of a frame; nothing if it has none.
pub(super) fn write_value(sample: &SampleRef<'_>, key: &str, out: &mut Vec<u8>) {
    let number = |number: Option<u64>, out: &mut Vec<u8>| {
        if let Some(number) = number {
            out.extend_from_slice(number.to_string().as_bytes());
        }
        number.is_some()
    };
    match key {
        "thread" if !sample.thread_name.is_empty() => return sanitize_frame(sample.thread_name, out),
        "thread" | "tid" if number(sample.thread, out) => return,
        "process" if number(sample.process, out) => return,
        _ => {}
    }
    if let Some((_, value)) = sample.labels.iter().find(|(own, _)| is_key(own, key)) {
        sanitize_frame(value, out);
    }
}

/// Compares a recorded key with one that was cleaned.
pub(super) fn is_key(recorded: &[u8], key: &str) -> bool {
    recorded == key.as_bytes() || (recorded.len() >= key.len() && clean_key(recorded) == key)
}

/// The value in a frame `key=value`, if it is a label of this key.
pub(crate) fn value_in<'n>(name: &'n [u8], key: &str) -> Option<&'n [u8]> {
    name.strip_prefix(key.as_bytes())?.strip_prefix(b"=")
}

/// The number of frames at the root of a stack that are labels of these keys, in their order.
#[inline]
pub(crate) fn label_frames(keys: &[String], stack: &[FrameId], names: &StackTable) -> usize {
    let frames = keys.iter().zip(stack);
    frames.take_while(|(key, frame)| value_in(names.name(**frame), key).is_some()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_can_always_be_declared() {
        for (key, clean) in [
            ("endpoint", "endpoint"),
            ("a=b,c;d\ne\"f", "a_b_c_d_e_f"),
            (" # x ", "x"),
            ("", ""),
            ("\u{1b}[31m", "_[31m"),
        ] {
            assert_eq!(clean_key(key.as_bytes()), clean, "{key:?}");
        }
        assert!(Label::new(" ").is_err() && Label::parse("x=1").is_err() && Label::parse("time=x").is_err());
        assert_eq!(Label::parse("time").unwrap(), Label::time(STEP).unwrap());
        assert!(is_key(b"a=b", "a_b") && !is_key(b"a", "a_b"));
    }

    #[test]
    fn buckets_of_time_have_a_length_in_nanoseconds() {
        for step in [Duration::ZERO, Duration::MAX] {
            let error = Label::time(step).unwrap_err().to_string();
            assert_eq!(error, "a bucket of time is 1 ns to 584 years long", "{step:?}");
        }
        assert!(Label::parse("time=0s").is_err());
        let longest = Duration::from_nanos(u64::MAX);
        assert_eq!(Label::time(longest).unwrap().step(), u64::MAX);
        assert_eq!(Label::time(Duration::from_nanos(1)).unwrap().step(), 1);
    }
}

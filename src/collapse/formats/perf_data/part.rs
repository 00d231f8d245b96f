//! The parts of a recording that is folded while it is made: where one ends, and its profile.
//!
//! The end of a part is a record of its own, which no file holds. What is known of processes, files and
//! waiting threads goes on from part to part.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::bytes::{ByteOrder, Cursor};

/// A part of a recording that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(all(feature = "cli", feature = "record", target_os = "linux")), allow(dead_code))]
pub(crate) struct Part {
    /// Its beginning.
    pub start: SystemTime,
    /// Its length.
    pub duration: Duration,
    /// True if somebody asked for its end.
    pub is_asked: bool,
}

impl Part {
    /// The content of the record.
    #[cfg_attr(not(all(feature = "cli", feature = "record", target_os = "linux")), allow(dead_code))]
    pub fn to_bytes(self) -> Vec<u8> {
        let start = self.start.duration_since(UNIX_EPOCH).unwrap_or_default();
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        [nanos(start), nanos(self.duration), self.is_asked.into()]
            .iter()
            .flat_map(|n| n.to_ne_bytes())
            .collect()
    }

    /// Reads the content of the record.
    pub(super) fn parse(body: &[u8], order: ByteOrder) -> Option<Part> {
        let mut fields = Cursor::new(body, order);
        let (start, duration, is_asked) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let start = UNIX_EPOCH.checked_add(Duration::from_nanos(start))?;
        Some(Part { start, duration: Duration::from_nanos(duration), is_asked: is_asked != 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_read_as_it_was_written() {
        let start = UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_789);
        let part = Part { start, duration: Duration::from_millis(2500), is_asked: true };
        let order = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };
        assert_eq!(Part::parse(&part.to_bytes(), order), Some(part));
        assert_eq!(Part::parse(&part.to_bytes()[..16], order), None);
    }
}

//! Conditions on which the last of a recording is written: `cpu>80%`, `rss>2G`, `load>4`.
//!
//! They are looked at once a second. Processor time and memory are those of the target, with the processes that it
//! has started; of the whole machine, if that is recorded.

use std::fmt;
use std::str::FromStr;

use crate::quantity::{bytes, thousandths};

/// A condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger {
    quantity: Quantity,
    is_above: bool,
    /// In thousandths of a percent, bytes, or thousandths.
    limit: u64,
}

/// The quantities that can be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    /// The processor time of the last second, in percent of one processor.
    Cpu,
    /// The memory that is present.
    Rss,
    /// The machine's load average of a minute.
    Load,
}

/// The present values, in the units of a trigger's limit; `None` is not known yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Values {
    /// Thousandths of a percent of one processor.
    pub cpu: Option<u64>,
    /// Bytes.
    pub rss: Option<u64>,
    /// Thousandths.
    pub load: Option<u64>,
}

impl Trigger {
    /// Returns true if it is met.
    pub fn is_met(&self, values: &Values) -> bool {
        let value = match self.quantity {
            Quantity::Cpu => values.cpu,
            Quantity::Rss => values.rss,
            Quantity::Load => values.load,
        };
        value.is_some_and(|value| if self.is_above { value > self.limit } else { value < self.limit })
    }
}

impl FromStr for Trigger {
    type Err = String;

    fn from_str(text: &str) -> Result<Trigger, String> {
        let expected = || "expected a condition: cpu>80%, cpu<5%, rss>2G or load>4".to_owned();
        let at = text.find(['<', '>']).ok_or_else(expected)?;
        let (name, limit) = (text[..at].trim(), text[at + 1..].trim());
        let (quantity, limit) = match name {
            "cpu" => (Quantity::Cpu, thousandths(limit.strip_suffix('%').ok_or_else(expected)?.trim_end())),
            "load" => (Quantity::Load, thousandths(limit)),
            "rss" => (Quantity::Rss, bytes(limit)),
            _ => return Err(expected()),
        };
        let is_above = text.as_bytes()[at] == b'>';
        Ok(Trigger { quantity, is_above, limit: limit.ok_or_else(expected)? })
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_above { '>' } else { '<' };
        let thousandths = || self.limit as f64 / 1000.0;
        match self.quantity {
            Quantity::Cpu => write!(f, "cpu{sign}{}%", thousandths()),
            Quantity::Rss => write!(f, "rss{sign}{}", self.limit),
            Quantity::Load => write!(f, "load{sign}{}", thousandths()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_and_their_values() {
        let values = Values { cpu: Some(80_500), rss: Some(3 << 30), load: Some(4_000) };
        for (text, shown, is_met) in [
            ("cpu>80%", "cpu>80%", true),
            ("cpu > 80.5 %", "cpu>80.5%", false),
            ("cpu<81%", "cpu<81%", true),
            ("rss>2G", "rss>2147483648", true),
            ("rss<1.5M", "rss<1572864", false),
            ("load>3.999", "load>3.999", true),
            ("load>4", "load>4", false),
        ] {
            let trigger: Trigger = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!((trigger.to_string().as_str(), trigger.is_met(&values)), (shown, is_met), "{text}");
            assert!(!trigger.is_met(&Values::default()), "nothing is known yet");
        }
        let wrong = [
            "",
            "cpu",
            "cpu>",
            "cpu>80",
            "cpu=80%",
            "cpu>-1%",
            "cpu>1.2345%",
            "cpu>.5%",
            "rss>2GX",
            "rss>M",
            "load>4%",
            "load>99999999999999999999",
            "heat>9",
            "rss>99999999999T",
        ];
        for text in wrong {
            let error = text.parse::<Trigger>().unwrap_err();
            assert!(error.contains("cpu>80%") && !error.contains('\n'), "{text}");
        }
    }
}

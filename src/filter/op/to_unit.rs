//! `--to-unit`: weights in another unit of the same kind, exactly.

use crate::error::{Error, Result};
use crate::filter::operation::{Conversion, Example, Operation, OperationGroup, Reweigh, Stage};
use crate::weight::Weight;

pub(in crate::filter) const TO_UNIT: Operation = Operation {
    name: "to-unit",
    value: Some("UNIT"),
    group: OperationGroup::Weights,
    about: "Convert weights to UNIT: ms, or ns:ms, …",
    details: "ns, us (µs), ms, s; B (bytes), kB, MB, GB, KiB, MiB, GiB. The unit they are in is \
              read from the recording, of folded text from its line `# unit: ns`, or stated: \
              `--to-unit ns:ms`.",
    examples: &[
        Example {
            arguments: &["--to-unit", "ms"],
            input: "# unit: ns\na 2004008\nb 1\n",
            output: "# unit: ms\na 2.004008\nb 0.000001\n",
        },
        Example { arguments: &["--to-unit", "us:s"], input: "a 1 2500000\n", output: "a 0.000001 2.5\n" },
        Example { arguments: &["--to-unit", "MiB:B"], input: "a 1.5\n", output: "a 1572864\n" },
        Example {
            arguments: &["--to-unit", "bytes:KiB"],
            input: "a 1\nb 1024\n",
            output: "a 0.0009765625\nb 1\n",
        },
        Example {
            arguments: &["--to-unit", "us", "--to-unit", "ns"],
            input: "# unit: s\na 0.5\n",
            output: "# unit: ns\na 500000000\n",
        },
    ],
    build: |value, _| {
        let (from, to) = match value.split_once(':') {
            Some((from, to)) => (Some(find(from)?), to),
            None => (None, value),
        };
        let to = find(to)?;
        if let Some(from) = from {
            factor(from, to)?;
        }
        Ok(Stage::Reweigh(Box::new(ToUnit { from, to })))
    },
};

/// A unit: in how many of the smallest of its kind it is, and the inverse of that.
#[derive(Debug)]
struct Unit {
    names: &'static [&'static str],
    kind: &'static str,
    size: &'static str,
    inverse: &'static str,
}

/// Only units whose ratios are exact decimals: a minute is not a decimal number of hours.
const UNITS: &[Unit] = &[
    Unit { names: &["ns", "nanoseconds"], kind: "time", size: "1", inverse: "1" },
    Unit { names: &["us", "µs", "μs", "microseconds"], kind: "time", size: "1000", inverse: "0.001" },
    Unit { names: &["ms", "milliseconds"], kind: "time", size: "1000000", inverse: "0.000001" },
    Unit { names: &["s", "seconds"], kind: "time", size: "1000000000", inverse: "0.000000001" },
    Unit { names: &["B", "bytes"], kind: "size", size: "1", inverse: "1" },
    Unit { names: &["kB", "KB"], kind: "size", size: "1000", inverse: "0.001" },
    Unit { names: &["MB"], kind: "size", size: "1000000", inverse: "0.000001" },
    Unit { names: &["GB"], kind: "size", size: "1000000000", inverse: "0.000000001" },
    Unit { names: &["KiB"], kind: "size", size: "1024", inverse: "0.0009765625" },
    Unit { names: &["MiB"], kind: "size", size: "1048576", inverse: "0.00000095367431640625" },
    Unit { names: &["GiB"], kind: "size", size: "1073741824", inverse: "0.000000000931322574615478515625" },
];

fn find(name: &str) -> Result<&'static Unit> {
    UNITS.iter().find(|unit| unit.names.contains(&name)).ok_or_else(|| {
        let known: Vec<&str> = UNITS.iter().map(|unit| unit.names[0]).collect();
        Error::setting(format!("{name:?} is not a unit it can convert; there are {}", known.join(", ")))
    })
}

fn factor(from: &Unit, to: &Unit) -> Result<Weight> {
    if from.kind != to.kind {
        return Err(Error::setting(format!(
            "{} is a {}, {} is a {}",
            from.names[0], from.kind, to.names[0], to.kind
        )));
    }
    let number = |text: &str| Weight::parse(text.as_bytes()).expect("the table holds numbers");
    number(from.size).checked_mul(number(to.inverse))
}

struct ToUnit {
    from: Option<&'static Unit>,
    to: &'static Unit,
}

impl Reweigh for ToUnit {
    fn conversion(&self, unit: Option<&str>) -> Result<Conversion> {
        let name = |what: crate::Error| match what.kind() {
            crate::ErrorKind::Setting { what } => Error::setting(format!("--to-unit: {what}")),
            _ => what,
        };
        let to = self.to.names[0];
        let from = match (self.from, unit) {
            (None, None) => {
                return Err(Error::setting(format!(
                    "--to-unit: no line `# unit: …` says what the weights are in; state it, as in --to-unit ns:{to}"
                )));
            }
            (Some(from), Some(said)) if !from.names.contains(&said) => {
                return Err(Error::setting(format!("--to-unit: the profile says its weights are in {said}")));
            }
            (Some(from), _) => from,
            (None, Some(said)) => find(said).map_err(name)?,
        };
        // A profile that did not say its unit does not say the new one either, and a run after
        // this one would not know it.
        let factor = factor(from, self.to).map_err(name)?;
        Ok(Conversion { factor, unit: unit.map(|_| to.to_owned()), is_exact: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_inverse_is_one() {
        for unit in UNITS {
            assert_eq!(factor(unit, unit).unwrap(), Weight::ONE, "{unit:?}");
        }
    }

    #[test]
    fn refusals_name_the_option() {
        let to = |from: Option<&str>, to: &str, said: Option<&str>| {
            let convert = ToUnit { from: from.map(|name| find(name).unwrap()), to: find(to).unwrap() };
            convert.conversion(said).map(|done| done.factor.to_string()).map_err(|error| error.to_string())
        };
        assert_eq!(to(None, "ms", Some("s")), Ok("1000".to_owned()));
        assert_eq!(to(Some("us"), "ns", None), Ok("1000".to_owned()));
        for refusal in [
            to(None, "ms", None),
            to(None, "ms", Some("cycles")),
            to(None, "ms", Some("bytes")),
            to(Some("us"), "ms", Some("s")),
        ] {
            let message = refusal.unwrap_err();
            assert!(message.starts_with("--to-unit: "), "{message}");
        }
    }
}

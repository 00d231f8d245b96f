//! `--scale`: multiply weights, exactly.

use crate::error::{Error, Result};
use crate::filter::operation::{Conversion, Example, Operation, OperationGroup, Reweigh, Stage};
use crate::weight::Weight;

pub(in crate::filter) const SCALE: Operation = Operation {
    name: "scale",
    value: Some("X"),
    group: OperationGroup::Weights,
    about: "Multiply weights by X",
    details: "Exactly: `--scale 0.001` makes 2004008 into 2004.008. The unit stays what it is; \
              --to-unit converts to another.",
    examples: &[
        Example {
            arguments: &["--scale", "0.001"],
            input: "a 2004008\nb 0.1\n",
            output: "a 2004.008\nb 0.0001\n",
        },
        Example { arguments: &["--scale=-2"], input: "a 1 2\nb 0 1.5\n", output: "a -2 -4\nb 0 -3\n" },
    ],
    build: |value, _| match Weight::parse(value.as_bytes()) {
        Some(factor) if !factor.is_zero() => Ok(Stage::Reweigh(Box::new(Scale(factor)))),
        _ => Err(Error::setting(format!("{value:?} is no factor such as 1000 or 0.5"))),
    },
};

struct Scale(Weight);

impl Reweigh for Scale {
    fn conversion(&self, unit: Option<&str>) -> Result<Conversion> {
        Ok(Conversion { factor: self.0, unit: unit.map(str::to_owned), is_exact: false })
    }
}

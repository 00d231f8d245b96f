//! The rows of `--format parquet`.

use super::table::{FrameRow, LABELS, STACK, Table, weight_column};
use crate::error::Result;
use crate::render::Target;
use crate::weight::Weight;

/// A row without its frames.
pub(super) struct Row<'a> {
    /// Nanoseconds since 1970.
    pub time: Option<i64>,
    pub labels: &'a [(&'a [u8], &'a [u8])],
    pub weight: Weight,
}

/// The facts that all rows share.
pub(super) struct Shared {
    /// The number of decimals of every weight.
    pub decimals: u8,
    /// Keys and values beside the rows.
    pub metadata: Vec<(&'static str, String)>,
}

/// Writes rows.
pub(super) struct Rows<'a> {
    table: Table<'a>,
    value_type: String,
    unit: Option<String>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(shared: Shared, target: &'a mut dyn Target) -> Result<Rows<'a>> {
        let columns = format!(
            "OPTIONAL INT64 time (TIMESTAMP(NANOS,true));
            OPTIONAL BINARY service (STRING);
            {LABELS}
            REQUIRED BINARY value_type (STRING);
            OPTIONAL BINARY unit (STRING);
            {STACK}
            {}",
            weight_column("weight", shared.decimals)
        );
        let table = Table::new(&columns, shared.decimals, shared.metadata, Box::new(target))?;
        Ok(Rows { table, value_type: String::new(), unit: None })
    }

    /// Begins the rows of a value, in a row group of their own.
    pub(super) fn begin_value(&mut self, value_type: &str, unit: Option<&str>) -> Result<()> {
        self.table.end_group()?;
        self.value_type = value_type.to_owned();
        self.unit = unit.map(str::to_owned);
        Ok(())
    }

    /// Adds a row, with its frames from the root on.
    pub(super) fn push<'f>(
        &mut self,
        row: &Row<'_>,
        frames: impl Iterator<Item = FrameRow<'f>>,
    ) -> Result<()> {
        let table = &mut self.table;
        table.maybe_number(0, row.time);
        let service =
            row.labels.iter().find(|(key, _)| matches!(*key, b"service" | b"service.name" | b"service_name"));
        table.maybe_text(1, service.map(|(_, value)| *value));
        table.labels(2, row.labels.iter().copied());
        table.text(4, self.value_type.as_bytes());
        table.maybe_text(5, self.unit.as_deref().map(str::as_bytes));
        table.stack(6, frames);
        table.weight(10, row.weight)?;
        table.end_row()
    }

    /// Writes what is left.
    pub(super) fn finish(self) -> Result<()> {
        self.table.finish()
    }
}

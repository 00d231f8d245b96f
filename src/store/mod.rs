//! The store of a fleet: recordings of many machines as Parquet, in a folder that grows.
//!
//! ```text
//! DATA/stacks/run=K/day=2026-11-21/service=api/*.parquet      a row for each stack of each value of a recording
//! DATA/functions/run=K/day=2026-11-21/service=api/*.parquet   sums by function, over times and hosts
//! DATA/recordings/run=K/*.parquet                             a row for each value of each recording
//! DATA/rejects/run=K/*.parquet                                a row for each file that could not be read
//! DATA/_staging/…/                                            a run that is being written
//! ```
//! A run is written below `_staging` and moved into its place when it is complete, `recordings` last: it is in
//! the store exactly if `recordings` has it and no other run replaces it (a file `_replaces` in the run's folder of
//! `recordings` names those that it stands for). So whoever is killed leaves nothing that is read, and the next
//! run removes it. The Python package `fg_fleet` reads and compacts the same folders, with DuckDB or on Spark.

mod add;
mod commit;
mod known;
mod tables;

pub(crate) use add::{Request, Store};

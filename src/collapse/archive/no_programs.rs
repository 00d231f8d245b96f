//! The programs in an archive, for a library that does not read recordings of addresses: there is nothing to name.

use std::path::Path;

use super::CollapseOptions;
use crate::error::Result;
use crate::input::Input;

/// No programs.
#[derive(Default)]
pub(super) struct Programs;

impl Programs {
    pub fn is_empty(&self) -> bool {
        true
    }

    pub fn symfs(&self) -> Option<&Path> {
        None
    }

    pub fn count(&mut self, _: &Input) {}

    pub fn begin_recording(&mut self) {}

    pub fn take(&mut self, _: &str, input: Input, _: &CollapseOptions) -> Result<Option<Input>> {
        Ok(Some(input))
    }

    pub fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

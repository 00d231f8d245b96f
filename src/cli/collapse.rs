//! `fg-collapse`: x

use clap::Parser;

use super::{Exit, GenerateArgs, InputArgs, Tool};

/// x
#[derive(Parser, Debug)]
#[command(name = "fg-collapse", version)]
pub struct Collapse {
    /// Files.
    #[command(flatten)]
    pub input: InputArgs,
    /// Generate.
    #[command(flatten)]
    pub generate: GenerateArgs,
}

impl Tool for Collapse {
    const NAME: &'static str = "fg-collapse";

    fn run(self) -> anyhow::Result<Exit> {
        Ok(Exit::Yes)
    }
}

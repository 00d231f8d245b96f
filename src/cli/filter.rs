//! `fg-filter`: x

use clap::Parser;

use super::{Exit, GenerateArgs, InputArgs, Tool};

/// x
#[derive(Parser, Debug)]
#[command(name = "fg-filter", version)]
pub struct Filter {
    /// Files.
    #[command(flatten)]
    pub input: InputArgs,
    /// Generate.
    #[command(flatten)]
    pub generate: GenerateArgs,
}

impl Tool for Filter {
    const NAME: &'static str = "fg-filter";

    fn run(self) -> anyhow::Result<Exit> {
        Ok(Exit::Yes)
    }
}

//! `fg-render`: x

use clap::Parser;

use super::{Exit, GenerateArgs, InputArgs, Tool};

/// x
#[derive(Parser, Debug)]
#[command(name = "fg-render", version)]
pub struct Render {
    /// Files.
    #[command(flatten)]
    pub input: InputArgs,
    /// Generate.
    #[command(flatten)]
    pub generate: GenerateArgs,
}

impl Tool for Render {
    const NAME: &'static str = "fg-render";

    fn run(self) -> anyhow::Result<Exit> {
        Ok(Exit::Yes)
    }
}

//! A file of any format becomes a flame graph:
//!
//! ```sh
//! cargo run --example file_to_picture -- perf.data flames.svg
//! ```

use std::fs::File;
use std::io::Write;

use fg_tools::{Profile, Result, render::SvgOptions};

/// Reads a recording and draws it.
pub fn draw(recording: &str, picture: &mut dyn Write) -> Result<()> {
    let profile = Profile::from_path(recording)?;
    profile.svg(&SvgOptions::default(), picture)
}

#[allow(dead_code)] // The tests call `draw`.
fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(recording), Some(picture)) = (arguments.next(), arguments.next()) else {
        return Err("usage: file_to_picture RECORDING PICTURE.svg".into());
    };
    draw(&recording, &mut File::create(picture)?)?;
    Ok(())
}

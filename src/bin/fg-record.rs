//! `fg-record`: see `fg_tools::cli::record`.

#[global_allocator]
static MEMORY: fg_tools::cli::memory::Allocator = fg_tools::cli::memory::Allocator;

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    fg_tools::cli::main::<fg_tools::cli::record::Record>()
}

#[cfg(not(unix))]
fn main() -> std::process::ExitCode {
    fg_tools::cli::say("fg-record", "recording needs Linux, macOS or another Unix");
    std::process::ExitCode::from(2)
}

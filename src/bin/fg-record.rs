//! `fg-record`: see `fg_tools::cli::record`.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    fg_tools::cli::main::<fg_tools::cli::record::Record>()
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    fg_tools::cli::say("fg-record", "the built-in sampler needs Linux");
    std::process::ExitCode::from(2)
}

//! `fg-collapse`: see [`fg_tools::cli::collapse`].

fn main() -> std::process::ExitCode {
    fg_tools::cli::main::<fg_tools::cli::collapse::Collapse>()
}

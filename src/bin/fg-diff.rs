//! `fg-diff`: see [`fg_tools::cli::diff`].

fn main() -> std::process::ExitCode {
    fg_tools::cli::main::<fg_tools::cli::diff::Diff>()
}

//! `fg-filter`: see [`fg_tools::cli::filter`].

fn main() -> std::process::ExitCode {
    fg_tools::cli::main::<fg_tools::cli::filter::Filter>()
}

//! `fg-filter`: see [`fg_tools::cli::filter`].

#[global_allocator]
static MEMORY: fg_tools::cli::memory::Allocator = fg_tools::cli::memory::Allocator;

fn main() -> std::process::ExitCode {
    fg_tools::cli::main::<fg_tools::cli::filter::Filter>()
}

//! `fg-render`: see [`fg_tools::cli::render`].

fn main() -> std::process::ExitCode {
    fg_tools::cli::main::<fg_tools::cli::render::Render>()
}

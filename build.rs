//! Makes two parts of the library that are no Rust of its own:
//! - the script, the style sheet and the markup of the page of `fg-render`, joined, shortened and compressed;
//! - the library of `fg-record --alloc`, the folder `src/record/alloc/preload`: a shared library that needs nothing but
//!   the compiler and its linker. `src/record/alloc/mod.rs` holds the result.

use std::env;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use flate2::Compression;
use flate2::write::ZlibEncoder;

#[path = "src/render/html/base85.rs"]
mod base85;
#[path = "src/render/html/bundle.rs"]
mod bundle;
#[path = "src/render/html/minify.rs"]
mod minify;

const FOLDER: &str = "src/record/alloc/preload";
const SOURCE: &str = "src/record/alloc/preload/lib.rs";
/// The one file that the library shares with the crate.
const SHARED: &str = "src/allocation_trigger.rs";

/// The scripts of pages keep their names and lines if it is set.
const READABLE: &str = "FG_READABLE_PAGE";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={FOLDER}");
    println!("cargo::rerun-if-changed={SHARED}");
    println!("cargo::rerun-if-env-changed={READABLE}");
    println!("cargo::rustc-check-cfg=cfg(has_alloc_library)");
    if env::var_os("CARGO_FEATURE_RENDER").is_some() {
        write_page();
    }
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let is_wanted = env::var_os("CARGO_FEATURE_RECORD").is_some()
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && is("CARGO_CFG_TARGET_POINTER_WIDTH", "64");
    if !is_wanted {
        return;
    }
    match compile() {
        Ok(()) => println!("cargo::rustc-cfg=has_alloc_library"),
        Err(said) => println!("cargo::warning=fg-record is built without --alloc: {said}"),
    }
}

fn write_page() {
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let write = |name: &str, bytes: &[u8]| {
        fs::write(folder.join(name), bytes).expect("cargo made the folder to be written to");
    };
    let is_readable = env::var_os(READABLE).is_some();
    for (name, text) in bundle::plain(is_readable) {
        write(name, text.as_bytes());
    }
    for (name, text) in bundle::packed(is_readable) {
        let mut small = ZlibEncoder::new(Vec::new(), Compression::best());
        small.write_all(text.as_bytes()).expect("memory takes all");
        let mut encoded = Vec::new();
        base85::write(&small.finish().expect("memory takes all"), &mut encoded).expect("memory takes all");
        write(&format!("{name}.z85"), &encoded);
    }
}

fn compile() -> Result<(), String> {
    let variable = |name: &str| env::var_os(name).ok_or_else(|| format!("cargo sets no {name}"));
    let library = PathBuf::from(variable("OUT_DIR")?).join("libfg-alloc.so");
    let mut compiler = Command::new(variable("RUSTC")?);
    compiler.current_dir(variable("CARGO_MANIFEST_DIR")?).arg(SOURCE).arg("-o").arg(library);
    compiler.args(["--edition=2024", "--crate-name=fg_alloc", "--crate-type=cdylib", "--target"]);
    compiler.arg(variable("TARGET")?);
    // Without the C library and its beginnings it suits every one.
    for option in ["link-arg=-nostdlib", "link-arg=-nostartfiles", "target-feature=-crt-static"] {
        compiler.args(["-C", option]);
    }
    compiler.args(["-C", "opt-level=3", "-C", "panic=abort", "-C", "strip=symbols"]);
    // Its modules share symbols of assembler that only one unit sees.
    compiler.args(["-C", "codegen-units=1"]);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        compiler.arg("-C").arg(["linker=".into(), linker].into_iter().collect::<std::ffi::OsString>());
    }
    let output = compiler.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(said.lines().find(|line| !line.is_empty()).unwrap_or("the compiler failed").to_owned())
        }
    }
}

//! The symboliser: what it says of small objects whose answers are known, of objects that lie, and
//! of the machine's own, where there are other tools to ask.
//!
//! `objects/make` made the objects, and wrote down what llvm-symbolizer says of them.

mod hostile;
#[path = "../common/installed.rs"]
mod installed;
mod jit;
mod kernel;
mod objects;
mod search;
#[path = "../common/skip.rs"]
mod skip;
mod storm;
mod tools;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fg_tools::symbolize::{Missing, Module, Object, ResolvedFrame, Search, Symbolizer, SymbolizerOptions};

fn objects() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native/objects")
}

/// A search that finds nothing of this machine by itself.
fn nowhere() -> Search {
    let mut search = Search::default();
    search.debug_dirs.clear();
    search.caches.clear();
    search
}

fn module(path: &Path) -> Module {
    Module { path: path.to_str().expect("paths of tests are text").into(), build_id: None }
}

fn open(path: &Path) -> Result<Arc<Object>, Missing> {
    nowhere().open(&module(path))
}

const RAW: SymbolizerOptions = SymbolizerOptions { inline: true, srcline: true, demangle: false };

fn resolve(symbolizer: &Symbolizer<'_>, address: u64) -> Vec<ResolvedFrame> {
    let mut frames = Vec::new();
    symbolizer.resolve(address, false, &mut frames);
    frames
}

fn names(frames: &[ResolvedFrame]) -> Vec<String> {
    frames.iter().map(|frame| String::from_utf8_lossy(&frame.name).into_owned()).collect()
}

/// The names at an address, readable, joined by `<`: the leaf first.
fn readable(object: &Object, address: u64) -> String {
    let symbolizer = Symbolizer::new(object, SymbolizerOptions::default());
    names(&resolve(&symbolizer, address)).join(" < ")
}

/// The address of a function in the symbol table of `orders.so`; the variants are linked alike.
fn address_of(name: &str) -> u64 {
    let object = open(&objects().join("orders.so")).expect("it is committed");
    let symbolizer = Symbolizer::new(&object, SymbolizerOptions::default());
    let all = object.section(b".text").expect("it has code").svma;
    all.into_iter()
        .find(|at| names(&resolve(&symbolizer, *at)).last().is_some_and(|n| n == name))
        .expect(name)
}

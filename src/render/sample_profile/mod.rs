//! `llvm-prof` and `autofdo`: sample profiles, by which clang, rustc and GCC optimize a program.
//!
//! They have counts of lines by function, through all that was inlined, and are made from the addresses of a
//! recording and the debug information of one program in it. Recordings of branches (`perf record -b`) count
//! code that ran; samples alone tell where time went, which is less but does.
//!
//! `llvm-prof` is the text that `llvm-profdata merge --sample` reads, and clang's `-fprofile-sample-use`; `autofdo`
//! is the file of GCC's `-fauto-profile`, as autofdo's create_gcov writes it.

mod autofdo;
mod branch_length;
mod build;
mod compiler;
mod counts;
mod line;
mod llvm_text;
mod samples;
mod staleness;

use std::path::Path;
use std::sync::Arc;

use self::autofdo::Version;
use self::build::{Built, build};
use self::compiler::Compiler;
use self::counts::{Counts, Recorded};
use self::staleness::{Shapes, Staleness};
use super::columns::share;
use super::format::takes;
use super::writer::{Finished, Target, Writer};
use super::{Format, Settings};
use crate::error::{Error, Result};
use crate::folded::{Frame, Visitor, WalkSummary, Weights};
use crate::printable::printable;
use crate::profile::Profile;
use crate::profile::exchange::{Exchanged, Mapping};
use crate::symbolize::{CodeMap, Module, Object, Search, build_id_from_hex};
use crate::weight::Weight;

/// The format of LLVM.
pub const LLVM: Format = Format {
    name: "llvm-prof",
    endings: &["prof"],
    about: "a sample profile for clang and rustc, from perf.data and the program's debug information",
    takes: &[takes::PROGRAM],
    streams: false,
    open: |settings, target| open_as(Encoding::LlvmText, settings, target),
};

/// The format of GCC.
pub const GCC: Format = Format {
    name: "autofdo",
    endings: &["afdo", "gcov"],
    about: "the same for GCC 12 to 15 (-fauto-profile)",
    takes: &[takes::PROGRAM],
    streams: false,
    open: |settings, target| open_as(Encoding::Autofdo(Version::Two), settings, target),
};

/// The format of GCC until version 11.
pub const GCC_1: Format = Format {
    name: "autofdo-1",
    endings: &["afdo1"],
    about: "the same for GCC 11 and earlier",
    takes: &[takes::PROGRAM],
    streams: false,
    open: |settings, target| open_as(Encoding::Autofdo(Version::One), settings, target),
};

/// The form of a sample profile in a file.
#[derive(Clone, Copy)]
enum Encoding {
    LlvmText,
    Autofdo(Version),
}

impl Encoding {
    fn compiler(self) -> Compiler {
        match self {
            Encoding::LlvmText => Compiler::Llvm,
            Encoding::Autofdo(_) => Compiler::Gcc,
        }
    }
}

struct SampleProfile<'a> {
    encoding: Encoding,
    settings: &'a Settings,
    target: &'a mut dyn Target,
    made: Option<Made>,
}

fn open_as<'a>(
    encoding: Encoding,
    settings: &'a Settings,
    target: &'a mut dyn Target,
) -> Result<Box<dyn Writer + 'a>> {
    Ok(Box::new(SampleProfile { encoding, settings, target, made: None }))
}

/// A profile, and what there is to say about it.
struct Made {
    built: Built,
    notes: Vec<String>,
}

impl Visitor for SampleProfile<'_> {
    fn exit(&mut self, _: Frame<'_>, _: Weights) -> Result<()> {
        Ok(())
    }

    fn restart(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Writer for SampleProfile<'_> {
    fn take(&mut self, profile: &Profile) -> Result<bool> {
        self.made = make(profile, self.settings, self.encoding.compiler())?;
        Ok(true)
    }

    fn finish(self: Box<Self>, summary: &WalkSummary) -> Result<Finished> {
        let Some(Made { built, notes }) = self.made else {
            if summary.total.value.is_zero() {
                return Ok(Finished::default());
            }
            return Err(Error::setting(
                "a profile for compilers is made from addresses, which this input has not: \
                 read perf.data itself, in one step",
            ));
        };
        match self.encoding {
            Encoding::LlvmText => llvm_text::write(&built.functions, self.target)?,
            Encoding::Autofdo(version) => autofdo::write(&built.functions, version, self.target)?,
        }
        Ok(Finished { notes, ..Finished::default() })
    }
}

/// The profile of the program that a recording has most of, or of the one that the settings name; `None` if
/// the recording has no addresses.
fn make(profile: &Profile, settings: &Settings, compiler: Compiler) -> Result<Option<Made>> {
    let Some(exchanged) = profile.exchanged().filter(|parts| parts.exchange.has_codes()) else {
        return Ok(None);
    };
    let recorded = Recorded::of(profile, exchanged)?;
    let (object, counts, name) = program(&recorded, exchanged, settings)?;
    let Some(map) = CodeMap::new(&object) else {
        let what = format!(
            "{name} has no debug information, and a profile for compilers counts its lines: build it with -g, \
             for clang with -gmlt -fdebug-info-for-profiling"
        );
        return Err(Error::setting(what));
    };
    let built = build(&object, &map, &counts, compiler);
    let mut notes = notes(&built, &recorded, &counts, &name, compiler);
    if let Some(path) = &settings.stale_against {
        let other = open(&Search::default(), path, None)?;
        let shown = printable(path.as_os_str().as_encoded_bytes());
        let Some(other) = CodeMap::new(&other) else {
            return Err(Error::setting(format!("{shown} has no debug information to compare lines with")));
        };
        let (before, after) = (Shapes::of(&map, compiler), Shapes::of(&other, compiler));
        notes.extend(Staleness::of(&built.functions, &before, &after).report(&shown));
    }
    Ok(Some(Made { built, notes }))
}

/// The part of a recording that the profile holds.
fn notes(built: &Built, recorded: &Recorded, counts: &Counts, name: &str, compiler: Compiler) -> Vec<String> {
    let of = |part: u64, whole: u64| share(Weight::from(part), Weight::from(whole));
    let in_file = counts.addresses.values().fold(0, |a: u64, b| a.saturating_add(*b));
    let source = if counts.has_branches() { "code between branches" } else { "samples" };
    let mut notes = vec![format!(
        "{} of the samples are in {name}; {} of its {source} are in functions with debug information, {} at \
         lines; {} functions",
        of(in_file, recorded.samples),
        of(built.in_functions, built.all),
        of(built.at_lines, built.all),
        built.functions.len(),
    )];
    if compiler == Compiler::Llvm && !built.has_discriminators && !built.functions.is_empty() {
        notes.push(format!(
            "{name} has no discriminators, which tell apart several branches of one line: clang writes them \
             with -fdebug-info-for-profiling, rustc with -Zdebug-info-for-profiling"
        ));
    }
    notes
}

/// Opens the program to make a profile of: its file, the counts in addresses that it states, its name.
fn program(
    recorded: &Recorded,
    exchanged: &Exchanged,
    settings: &Settings,
) -> Result<(Arc<Object>, Counts, String)> {
    let exchange = &exchanged.exchange;
    let mapping = |number: u32| &exchange.mappings[number as usize];
    let file = |mapping: &Mapping| exchange.text_of(mapping.file);
    let build_id = |mapping: &Mapping| build_id_from_hex(exchange.text_of(mapping.build_id));
    let mut files: Vec<(u32, &Counts)> =
        recorded.files.iter().map(|(number, counts)| (*number, counts)).collect();
    // Those of equal weight in the order of their numbers.
    files.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.weight()));
    let search = Search::of_system(settings.symfs.clone());
    let (number, counts, object) = match &settings.binary {
        Some(path) => {
            let object = open(&Search::default(), path, None)?;
            let is_same_build = |mapping: &Mapping| match (build_id(mapping), object.build_id()) {
                (Some(recorded), Some(id)) => recorded == id,
                _ => file_name(file(mapping)) == path.file_name().map_or(&b""[..], |n| n.as_encoded_bytes()),
            };
            let found = files.iter().find(|(number, _)| is_same_build(mapping(*number)));
            let Some(&(number, counts)) = found else {
                let shown = printable(path.as_os_str().as_encoded_bytes());
                let names: Vec<String> =
                    files.iter().take(4).map(|(number, _)| printable(file(mapping(*number)))).collect();
                let what = format!(
                    "no sample is in {shown}: it is another file or another build than those recorded, which are \
                     {}",
                    names.join(", ")
                );
                return Err(Error::setting(what));
            };
            (number, counts, object)
        }
        None => {
            let is_file = |mapping: &Mapping| file(mapping).starts_with(b"/");
            let Some(&(number, counts)) = files.iter().find(|(number, _)| is_file(mapping(*number))) else {
                return Err(Error::setting("no sample is in a file, of which a profile could be made"));
            };
            let path = crate::symbolize::path_of(file(mapping(number)));
            let object = open(&search, &path, build_id(mapping(number)))?;
            (number, counts, object)
        }
    };
    let mapping = mapping(number);
    let is_offsets = mapping.limit == u64::MAX;
    let counts = if is_offsets { counts.stated(&object) } else { counts.clone() };
    let name = printable(file_name(file(mapping)));
    Ok((object, counts, name))
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

/// Opens a program of a build.
fn open(search: &Search, path: &Path, build_id: Option<Vec<u8>>) -> Result<Arc<Object>> {
    let absolute = std::path::absolute(path).map_err(|e| crate::Error::io("find", e))?;
    let module = Module { path: absolute.as_os_str().as_encoded_bytes().to_vec(), build_id };
    search.open(&module).map_err(|missing| {
        let shown = printable(path.as_os_str().as_encoded_bytes());
        Error::setting(format!("{shown} {missing}; --binary FILE names another place"))
    })
}

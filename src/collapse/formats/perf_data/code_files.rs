//! The files that gave a recording its names: what a reader on another machine needs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::modules::Kind;
use super::names::Namer;
use super::raw_frame::RawFrame;
use super::{Folding, Held, NextPart};
use crate::collapse::{CollapseOptions, Report};
use crate::error::{Error, Result};
use crate::folded::{FrameId, StackTable};
use crate::input::Input;
use crate::profile::Wants;
use crate::symbolize::bundle::{SymbolFile, place_by_path};
use crate::symbolize::{Missing, jit};

/// The files that a recording's stacks were unwound and named by.
#[derive(Debug, Default)]
#[cfg_attr(not(all(feature = "cli", feature = "record", target_os = "linux")), allow(dead_code))]
pub(crate) struct CodeFiles {
    /// Those that were found.
    pub files: Vec<SymbolFile>,
    /// Those that were not, each with the reason.
    pub missing: BTreeSet<String>,
}

/// Folds a recording, and returns the files that its stacks were unwound and named by. The report has the
/// notes of what is missing.
///
/// # Errors
/// Those of the collapser, and of the system.
#[cfg_attr(not(all(feature = "cli", feature = "record", target_os = "linux")), allow(dead_code))]
pub(crate) fn code_files(input: Input, options: &CollapseOptions, report: &mut Report) -> Result<CodeFiles> {
    let search = options.search();
    // Places are wanted so that debug information is.
    let wants = Wants { places: true, contexts: false };
    let mut folding = Folding::new(input, options, &search, wants, None)?;
    folding.samples.modules.held.get_or_insert_with(|| Held::new(&search));
    folding.code_files = Some(CodeFiles::default());
    while folding.fold()?.is_some() {
        folding.next_part = NextPart::Joins;
    }
    folding.write(&mut StackTable::default(), report)?;
    Ok(folding.code_files.unwrap_or_default())
}

impl Namer<'_> {
    /// Adds the files by which the frames of a table were named.
    ///
    /// # Errors
    /// There are too many open files.
    pub fn code_files(&self, raw: &StackTable, found: &mut CodeFiles) -> Result<()> {
        let frames = (0..raw.frame_count() as u32).map(|number| RawFrame::of(raw, FrameId(number)));
        let used: BTreeSet<u32> = frames
            .filter_map(|frame| match frame {
                RawFrame::Code { module, .. } => Some(module),
                _ => None,
            })
            .collect();
        let CodeFiles { files, missing } = found;
        let failed = |e| Error::io("copy the files of programs", e);
        for module in used.into_iter().map(|number| &self.modules.all()[number as usize]) {
            match module.kind {
                Kind::File => match module.opened() {
                    Some(Ok(object)) => files.extend(object.files(module.build_id()).map_err(failed)?),
                    None | Some(Err(Missing::NoFile)) => {}
                    Some(Err(why)) => {
                        missing.insert(format!("{} {why}", String::from_utf8_lossy(&module.path)));
                    }
                },
                Kind::Anonymous(pid) => {
                    let dump = self.modules.jit_dumps.get(&pid).cloned();
                    let dump = dump.and_then(|path| Some(PathBuf::from(String::from_utf8(path).ok()?)));
                    let map = PathBuf::from(format!("/tmp/perf-{pid}.map"));
                    files.extend(dump.into_iter().chain([map]).filter_map(|path| self.made_code(pid, &path)));
                }
                Kind::Unknown | Kind::Kernel => {}
            }
        }
        if let Some(Ok(kernel)) = self.kernel.get() {
            files.extend(kernel.symbol_file(self.recorded).map_err(failed)?);
        }
        Ok(())
    }

    /// A file in which a process has described the code it made.
    fn made_code(&self, pid: i32, path: &Path) -> Option<SymbolFile> {
        let content = self.written_by(pid, path, jit::open)?;
        let (name, place) = (path.to_owned(), place_by_path(path));
        Some(SymbolFile { name, place, content, is_debug_info: false })
    }
}

//! Names for places in the files that a recording had mapped, where those are still here.
//!
//! A memory map says a file's path and its number in its file system, but nothing of what was in
//! it. A file of another number has been built or installed again since, or is another machine's,
//! and its names would be wrong: they are taken only if `--symfs` says that the files are right.

use super::maps::File;
use super::{Options, Sink};
use crate::folded::FrameId;

#[cfg(feature = "perf-data")]
pub(super) use with_symbols::name;

/// The frames of each offset in a file, leaf first; with it comes whether a call returns there.
///
/// # Errors
/// Why there are none, in words that follow the file's name.
#[cfg(not(feature = "perf-data"))]
pub(super) fn name(
    _file: &File,
    _offsets: &[(u64, bool)],
    _options: &Options,
    _sink: &mut dyn Sink,
) -> Result<Vec<Vec<FrameId>>, String> {
    Err("cannot be read by this build of fg-collapse".to_owned())
}

#[cfg(feature = "perf-data")]
mod with_symbols {
    use std::collections::HashMap;

    use super::{File, FrameId, Options, Sink};
    use crate::collapse::naming::Native;
    use crate::native::{Module, Object, ResolvedFrame, Search, Symbolizer, SymbolizerOptions};

    /// The frames of each offset in a file, leaf first; with it comes whether a call returns there.
    ///
    /// # Errors
    /// Why there are none, in words that follow the file's name.
    pub(in crate::collapse) fn name(
        file: &File,
        offsets: &[(u64, bool)],
        options: &Options,
        sink: &mut dyn Sink,
    ) -> Result<Vec<Vec<FrameId>>, String> {
        let search = Search { symfs: options.symfs.clone(), ..Search::default() };
        let module = Module { path: file.path.to_vec(), build_id: None };
        let object = search.open(&module).map_err(|missing| missing.to_string())?;
        if options.symfs.is_none() && !is_same(&object, file.inode) {
            let what = format!("is another file now ({})", object.path().display());
            return Err(what + " than when it was recorded; `--symfs /` takes it all the same");
        }
        let wanted =
            SymbolizerOptions { inline: !options.no_inline, srcline: options.srcline, demangle: false };
        let symbolizer = Symbolizer::new(&object, wanted);
        let mut namer = Namer { path: &file.path, options, sink, known: HashMap::new() };
        let mut resolved = Vec::new();
        let frames = offsets.iter().map(|&(offset, called)| {
            resolved.clear();
            // The call belongs to the function, what follows it may not.
            if let Some(svma) = object.file_offset_to_svma(offset.wrapping_sub(called.into())) {
                symbolizer.resolve(svma.wrapping_add(called.into()), called, &mut resolved);
            }
            namer.frames(offset, &resolved)
        });
        Ok(frames.collect())
    }

    /// Whether a file is the one that had this number.
    #[cfg(unix)]
    fn is_same(object: &Object, inode: u64) -> bool {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(object.path()).is_ok_and(|found| found.ino() == inode)
    }

    #[cfg(not(unix))]
    fn is_same(_: &Object, _: u64) -> bool {
        false
    }

    struct Namer<'a> {
        path: &'a [u8],
        options: &'a Options,
        sink: &'a mut dyn Sink,
        /// By symbol, line and whether it is inlined: a function has many addresses.
        known: HashMap<(Vec<u8>, Vec<u8>, bool), Vec<FrameId>>,
    }

    impl Namer<'_> {
        fn frames(&mut self, offset: u64, resolved: &[ResolvedFrame]) -> Vec<FrameId> {
            let mut frames = Vec::new();
            if resolved.is_empty() {
                let address = format!("{offset:x}");
                let native = Native { address: address.as_bytes(), module: self.path, ..Native::default() };
                native.name(self.options, |name| frames.push(self.sink.frame(name)));
            }
            for frame in resolved {
                let line = frame.place.as_ref().filter(|_| self.options.srcline);
                let srcline = line.map(|place| place.short()).unwrap_or_default();
                let key = (frame.name.to_vec(), srcline, frame.inlined);
                let known = self.known.entry(key).or_insert_with_key(|(symbol, srcline, inlined)| {
                    let (module, inlined) = (self.path, *inlined);
                    let native = Native { symbol, module, srcline, inlined, ..Native::default() };
                    let mut frames = Vec::new();
                    native.name(self.options, |name| frames.push(self.sink.frame(name)));
                    frames
                });
                frames.extend_from_slice(known);
            }
            frames
        }
    }
}

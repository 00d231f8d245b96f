//! Names for places in the files that a recording had mapped, where those are still here.
//!
//! A memory map says a file's path and its number in its file system, but nothing of what was in
//! it. A file of another number has been built or installed again since, or is another machine's,
//! and its names would be wrong: they are taken only if `--symfs` says that the files are right.
//! The same holds for a file whose segments are not those that were loaded.

use crate::collapse::{CollapseOptions, Sink};
use crate::folded::FrameId;

#[cfg(feature = "perf-data")]
pub(crate) use with_symbols::name;

/// The property by which a file is recognised.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "perf-data"), allow(dead_code))]
pub(crate) enum Known<'a> {
    /// Its number in its file system; places are offsets in the file.
    Inode(u64),
    /// The stated addresses and sizes of its segments; places are stated addresses.
    Segments(&'a [(u64, u64)]),
}

/// The frames of each place in a file, leaf first; with it comes whether a call returns there.
///
/// # Errors
/// The reason why there are none, in words that follow the file's name.
#[cfg(not(feature = "perf-data"))]
pub(crate) fn name(
    _path: &[u8],
    _known: Known<'_>,
    _places: &[(u64, bool)],
    _options: &CollapseOptions,
    _sink: &mut dyn Sink,
) -> Result<Vec<Vec<FrameId>>, String> {
    Err("cannot be read by this build of fg-collapse".to_owned())
}

#[cfg(feature = "perf-data")]
mod with_symbols {
    use std::collections::HashMap;

    use super::{CollapseOptions, FrameId, Known, Sink};
    use crate::collapse::kit::naming::SymbolFrame;
    use crate::symbolize::{Module, Object, Place, ResolvedFrame, Symbolizer, SymbolizerOptions};

    /// The frames of each place in a file, leaf first; with it comes whether a call returns there.
    ///
    /// # Errors
    /// The reason why there are none, in words that follow the file's name.
    pub(crate) fn name(
        path: &[u8],
        known: Known<'_>,
        places: &[(u64, bool)],
        options: &CollapseOptions,
        sink: &mut dyn Sink,
    ) -> Result<Vec<Vec<FrameId>>, String> {
        let search = options.search();
        let module = Module { path: path.to_vec(), build_id: None };
        let object = search.open(&module).map_err(|missing| missing.to_string())?;
        if options.symfs.is_none() && !is_same(&object, known) {
            let what = format!("is another file now ({})", object.path().display());
            return Err(what + " than when it was recorded; `--symfs /` takes it all the same");
        }
        let srcline = options.srcline || sink.wants().places;
        let wanted = SymbolizerOptions { inline: !options.no_inline, srcline, demangle: false };
        let symbolizer = Symbolizer::new(&object, wanted);
        let mut namer = Namer { path, options, sink, known: HashMap::new() };
        let mut resolved = Vec::new();
        let frames = places.iter().map(|&(place, called)| {
            resolved.clear();
            let mut start = None;
            // The call belongs to the function, what follows it may not.
            let before = place.wrapping_sub(called.into());
            let svma = match known {
                Known::Inode(_) => object.file_offset_to_svma(before),
                Known::Segments(_) => Some(before),
            };
            if let Some(svma) = svma {
                let svma = svma.wrapping_add(called.into());
                symbolizer.resolve(svma, called, &mut resolved);
                if resolved.is_empty() {
                    start = symbolizer.function_start(svma, called);
                }
            }
            namer.frames(place, start, &resolved)
        });
        Ok(frames.collect())
    }

    /// Returns whether a file is the one that was recorded.
    fn is_same(object: &Object, known: Known<'_>) -> bool {
        match known {
            Known::Inode(number) => inode(object) == Some(number),
            Known::Segments(segments) => {
                let found = object.segments().map(|s| (s.svma.start, s.svma.end - s.svma.start));
                found.eq(segments.iter().copied())
            }
        }
    }

    #[cfg(unix)]
    fn inode(object: &Object) -> Option<u64> {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(object.path()).ok().map(|found| found.ino())
    }

    #[cfg(not(unix))]
    fn inode(_: &Object) -> Option<u64> {
        None
    }

    struct Namer<'a> {
        path: &'a [u8],
        options: &'a CollapseOptions,
        sink: &'a mut dyn Sink,
        /// The frames of symbols that were met before: a function has many addresses.
        known: HashMap<(Vec<u8>, Option<Place>, bool), Vec<FrameId>>,
    }

    impl Namer<'_> {
        fn frames(&mut self, place: u64, start: Option<u64>, resolved: &[ResolvedFrame]) -> Vec<FrameId> {
            let mut frames = Vec::new();
            if resolved.is_empty() {
                let address = format!("{place:x}");
                let native = SymbolFrame {
                    address: address.as_bytes(),
                    module: self.path,
                    function_start: start,
                    ..SymbolFrame::default()
                };
                native.frames(self.options, self.sink, |frame| frames.push(frame));
            }
            for frame in resolved {
                let key = (frame.name.to_vec(), frame.place.clone(), frame.inlined);
                let known = self.known.entry(key).or_insert_with_key(|(symbol, line, inlined)| {
                    let srcline = line.as_ref().filter(|_| self.options.srcline).map(Place::short);
                    let native = SymbolFrame {
                        symbol,
                        module: self.path,
                        srcline: srcline.as_deref().unwrap_or_default(),
                        file: line.as_ref().map_or(b"", |line| &line.file),
                        line: line.as_ref().map_or(0, |line| line.line),
                        start_line: line.as_ref().map_or(0, |line| line.start_line),
                        inlined: *inlined,
                        ..SymbolFrame::default()
                    };
                    let mut frames = Vec::new();
                    native.frames(self.options, self.sink, |frame| frames.push(frame));
                    frames
                });
                frames.extend_from_slice(known);
            }
            frames
        }
    }
}

//! Names for native code, which recorders of whole machines leave as addresses in files.
//!
//! OpenTelemetry's eBPF profiler writes the build id of a file, the part of it that was mapped, and addresses;
//! the names are to be found by whoever reads. The files are looked for by build id, as those of perf.data are.
//! A file that is told by its name alone is taken only below `--symfs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::load::Loader;
use crate::collapse::CollapseOptions;
use crate::collapse::kit::clean_symbol::clean_symbol;
use crate::collapse::kit::pprof_model::{Function, FunctionLine, Mapping};
use crate::error::Result;
use crate::printable::printable;
use crate::symbolize::{
    Missing, Module, Object, ResolvedFrame, Search, Symbolizer, SymbolizerOptions, build_id_from_hex,
};

/// The knowledge of a mapping whose code has names: functions, files, lines, inlined frames.
const HAS_ALL: u8 = 0b1111;

impl Loader {
    /// Names the locations without functions, as far as their files are found.
    ///
    /// # Errors
    /// Texts that are not there.
    pub fn name_native(&mut self, options: &CollapseOptions) -> Result<()> {
        // By mapping, and in the order of the locations' numbers: the same input gives the same output.
        let mut unnamed: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (&id, location) in &self.model.locations {
            if location.lines.is_empty() && location.address > 0 && location.mapping > 0 {
                unnamed.entry(location.mapping).or_default().push(id);
            }
        }
        let search = options.search();
        let mut missing: Vec<(Vec<u8>, Missing, usize)> = Vec::new();
        for (mapping, mut locations) in unnamed {
            locations.sort_unstable();
            let Some((known, build_id)) = self.files.get(&mapping) else { continue };
            let (known, build_id) = (*known, build_id.as_deref().and_then(build_id_from_hex));
            let path = self.model.texts.get_or_none(known.file)?.to_vec();
            match open(&search, &path, build_id) {
                Ok(object) => self.name_mapping(&object, mapping, &known, &locations, options)?,
                Err(Missing::NoFile) => {}
                Err(why) => missing.push((path, why, locations.len())),
            }
        }
        missing.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
        let all: usize = missing.iter().map(|(.., places)| places).sum();
        if let Some((path, why, _)) = missing.first() {
            let path = printable(path);
            let number =
                |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
            self.notes.push(format!(
                "no names for {} in {}; {path} {why}: name the folder where the files are with --symfs",
                number(all, "place"),
                number(missing.len(), "file"),
            ));
        }
        Ok(())
    }

    fn name_mapping(
        &mut self,
        object: &Object,
        number: u64,
        mapping: &Mapping,
        locations: &[u64],
        options: &CollapseOptions,
    ) -> Result<()> {
        let wanted = SymbolizerOptions { inline: !options.no_inline, srcline: true, demangle: false };
        let symbolizer = Symbolizer::new(object, wanted);
        let mut resolved = Vec::new();
        let mut any = false;
        for id in locations {
            let Some(address) = self.model.locations.get(id).map(|location| location.address) else {
                continue;
            };
            let Some(svma) = stated(object, mapping, address) else { continue };
            resolved.clear();
            // Profilers of this format have moved return addresses back into the call already.
            symbolizer.resolve(svma, false, &mut resolved);
            let lines: Vec<FunctionLine> = resolved.iter().map(|frame| self.function(frame)).collect();
            any |= !lines.is_empty();
            if let Some(location) = self.model.locations.get_mut(id) {
                location.lines = lines;
            }
        }
        if any {
            self.model.known_mapping(number, HAS_ALL);
        }
        Ok(())
    }

    /// A function that was found, and the line in it.
    fn function(&mut self, frame: &ResolvedFrame) -> FunctionLine {
        let mut name = Vec::new();
        clean_symbol(&frame.name, &mut name);
        let (name, system_name) = (self.text_number(&name), self.text_number(&frame.name));
        let (file, line, start_line) = match &frame.place {
            Some(place) => (self.text_number(&place.file), place.line, place.start_line),
            None => (0, 0, 0),
        };
        self.found += 1;
        // Behind the functions of all messages, which are counted from 1.
        let function = u64::MAX - self.found;
        let known = Function { name, system_name, file, start_line: start_line.into() };
        self.model.functions.insert(function, known);
        FunctionLine { function, line: line.into(), column: 0 }
    }
}

/// The file of a mapping.
fn open(
    search: &Search,
    path: &[u8],
    build_id: Option<Vec<u8>>,
) -> std::result::Result<Arc<Object>, Missing> {
    // `[vdso]`, and the kernel, which the profiler names itself.
    if path.starts_with(b"[") || path == b"vmlinux" || path.is_empty() && build_id.is_none() {
        return Err(Missing::NoFile);
    }
    if build_id.is_none() && search.symfs.is_none() {
        return Err(Missing::NotFound);
    }
    // The eBPF profiler writes names without folders.
    let path = if path.starts_with(b"/") { path.to_vec() } else { [b"/", path].concat() };
    search.open(&Module { path, build_id })
}

/// The address that a file states itself for one in a mapping of it.
fn stated(object: &Object, mapping: &Mapping, address: u64) -> Option<u64> {
    if mapping.start == 0 && mapping.limit == 0 {
        return Some(address);
    }
    let inside = (mapping.start..mapping.limit).contains(&address);
    let offset = inside.then(|| (address - mapping.start).checked_add(mapping.offset))??;
    object.file_offset_to_svma(offset)
}

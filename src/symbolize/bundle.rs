//! The files that name the code of a recording, as a bundle has them beside it.
//!
//! ```text
//! .build-id/8a/2f…/elf        a program or library
//! .build-id/8a/2f…/debug      its separate debug information
//! .build-id/1c/99…/kallsyms   the kernel's symbols
//! home/user/app               a program without a build id
//! tmp/perf-4711.map           the functions that a process made
//! ```
//! This is perf's cache by build id within the root of the recorded system: `--symfs` reads it, and so does
//! `perf --buildid-dir`. `perf archive` writes the first three as `usr/bin/app/8a2f…/elf`.

use std::io;
use std::path::{Component, Path, PathBuf};

use super::build_id::{build_id_from_hex, by_build_id};
use super::content::Content;
use super::image::Image;
use super::object::Object;
use super::path::path_of;

/// The folder of files by their build id.
pub(crate) const CACHE: &str = ".build-id";

/// The most bytes of programs in a bundle.
pub(crate) const LARGEST: u64 = 4 << 30;

/// The names of files in a folder of a build id.
const CACHED: &[&str] = &["elf", "elf.dwp", "debug", "kallsyms", "vdso"];

/// The least digits of a folder's name that is taken for a build id.
const LEAST_DIGITS: usize = 16;

/// A file that names code.
#[derive(Debug)]
pub(crate) struct SymbolFile {
    /// The path by which people know it.
    pub name: PathBuf,
    /// The place in a bundle, relative.
    pub place: PathBuf,
    /// The content.
    pub content: Content,
    /// True if functions have names without it as well.
    pub is_debug_info: bool,
}

/// The place of a file by its build id.
pub(crate) fn place_by_id(build_id: &[u8], what: &str) -> Option<PathBuf> {
    Some(Path::new(CACHE).join(by_build_id(build_id)?).join(what))
}

/// The place of a file by its path, below a folder that stands for the root.
pub(crate) fn place_by_path(path: &Path) -> PathBuf {
    path.components().filter(|part| matches!(part, Component::Normal(_))).collect()
}

/// The place of a file of an archive that is laid out by build ids: this layout, or that of `perf archive`.
pub(crate) fn cached_place(member: &str) -> Option<PathBuf> {
    let parts: Vec<&str> = member.split('/').collect();
    let (id, what) = match parts[..] {
        [.., CACHE, first, rest, what] => (format!("{first}{rest}"), what),
        [.., id, what] => (id.to_owned(), what),
        _ => return None,
    };
    let what = CACHED.iter().find(|known| **known == what)?;
    (id.len() >= LEAST_DIGITS).then_some(())?;
    place_by_id(&build_id_from_hex(id.as_bytes())?, what)
}

impl Object {
    /// The files that were read of it, for the build id that the recording states.
    ///
    /// # Errors
    /// There are too many open files.
    pub(crate) fn files(&self, recorded_id: Option<&[u8]>) -> io::Result<Vec<SymbolFile>> {
        let recorded = path_of(&self.recorded);
        let by_path = || place_by_path(&recorded);
        // Zeros stand for none.
        let id = recorded_id.filter(|id| id.iter().any(|byte| *byte != 0));
        let main = id.and_then(|id| place_by_id(id, "elf")).unwrap_or_else(by_path);
        let mut files = vec![SymbolFile {
            name: recorded.clone(),
            place: main.clone(),
            content: self.main.data.content()?,
            is_debug_info: false,
        }];
        let mut add = |image: &Image, place: PathBuf| {
            let (name, content) = (image.path.clone(), image.data.content()?);
            files.push(SymbolFile { name, place, content, is_debug_info: true });
            io::Result::Ok(())
        };
        if let Some(debug) = self.opened_debug_file() {
            let by_id = self.build_id().and_then(|id| place_by_id(id, "debug"));
            add(debug, by_id.unwrap_or_else(|| place_by_path(&debug.path)))?;
        }
        if let Some(shared) = self.opened_supplement() {
            let by_id = shared.build_id().and_then(by_build_id).map(|inside| {
                let mut place = Path::new("usr/lib/debug").join(CACHE).join(inside).into_os_string();
                place.push(".debug");
                place.into()
            });
            add(shared, by_id.unwrap_or_else(|| place_by_path(&shared.path)))?;
        }
        for split in self.others.iter() {
            let is_package = split.path.extension().is_some_and(|ending| ending == "dwp");
            let beside = || {
                let mut place = main.clone().into_os_string();
                place.push(".dwp");
                place.into()
            };
            add(split, if is_package { beside() } else { place_by_path(&split.path) })?;
        }
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_both_layouts() {
        let id = "8a2f00112233445566778899aabbccddeeff0011";
        let place = format!(".build-id/8a/{}/elf", &id[2..]);
        for member in
            [place.clone(), format!("app/{place}"), format!("usr/bin/app/{id}/elf"), format!("../{place}")]
        {
            assert_eq!(cached_place(&member).as_deref(), Some(Path::new(&place)), "{member}");
        }
        let others = [
            "elf".to_owned(),
            "src/elf".to_owned(),
            "src/ab/elf".to_owned(),
            format!("{id}/main.c"),
            format!(".build-id/8a/../{id}/x"),
            format!(".build-id/8a/{}", &id[2..]),
        ];
        for member in others {
            assert_eq!(cached_place(&member), None, "{member}");
        }
        assert_eq!(place_by_path(Path::new("/../a/./b")), Path::new("a/b"));
    }
}

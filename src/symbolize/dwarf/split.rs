//! Split DWARF: what a unit leaves to a `.dwo` file of its own, or to the `.dwp` of them all.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use gimli::{DwarfFileType, DwarfPackage};

use super::super::image::Image;
use super::super::object::Object;
use super::super::path::path_of;
use super::meter::{Metered, Work};
use super::space::{Space, Unit, load, size};

/// The places of the split units of an object.
pub(super) struct Split<'o> {
    object: &'o Object,
    package: OnceLock<Option<DwarfPackage<Metered<'o>>>>,
    /// The number of files opened so far; the first thread that needs a unit's file opens it.
    opening: Mutex<usize>,
}

/// The most files that are opened: no build is asked for more at once, and each holds memory.
const MOST_FILES: usize = 20_000;

/// A unit whose entries are elsewhere.
pub(super) struct SplitUnit<'o> {
    pub(super) space: Space<'o>,
    pub(super) unit: Box<Unit<'o>>,
}

impl<'o> Split<'o> {
    pub(super) fn new(object: &'o Object) -> Self {
        Split { object, package: OnceLock::new(), opening: Mutex::new(0) }
    }

    /// The other part of a unit, if it has one and that is found.
    pub(super) fn find(
        &self,
        skeletons: &Space<'o>,
        skeleton: &Unit<'o>,
        work: &Work,
    ) -> Option<SplitUnit<'o>> {
        let id = skeleton.dwo_id?;
        let parent = &skeletons.dwarf;
        let in_package = self.package().and_then(|package| package.find_cu(id, parent).ok()?);
        let dwarf = match in_package {
            Some(dwarf) => dwarf,
            None => {
                let image = self.dwo(skeletons, skeleton)?;
                let mut dwarf = load(image, DwarfFileType::Dwo);
                dwarf.make_dwo(parent);
                dwarf
            }
        };
        work.add(size(&dwarf));
        let space = Space::new(dwarf);
        // A file may hold several; a package only says which one of them.
        let mut unit = (0..space.len().min(1 << 12)).find_map(|at| {
            let unit = space.dwarf.unit(*space.header(at)).ok()?;
            (unit.dwo_id == Some(id)).then_some(unit)
        })?;
        unit.copy_relocated_attributes(skeleton);
        Some(SplitUnit { space, unit: Box::new(unit) })
    }

    /// `app.dwp` beside `app`.
    fn package(&self) -> Option<&DwarfPackage<Metered<'o>>> {
        let open = || {
            self.object.search.as_ref()?;
            let debug = self.object.debug_image()?;
            let beside = |path: &Path| {
                let mut name = path.as_os_str().to_owned();
                name.push(".dwp");
                Image::open(Path::new(&name)).ok()
            };
            let image = beside(&self.object.main.path).or_else(|| beside(&debug.path))?;
            let image = self.object.others.push(image);
            let little = image.elf.format.little;
            let section = |id: gimli::SectionId| {
                let name = id.dwo_name().and_then(|name| image.section(name.as_bytes()));
                Ok::<_, gimli::Error>(Metered::new(name.unwrap_or(b""), little))
            };
            DwarfPackage::load(section, Metered::new(b"", little)).ok()
        };
        self.package.get_or_init(open).as_ref()
    }

    /// The `.dwo` that a unit names, from the directory it was compiled in, or beside the object.
    fn dwo(&self, skeletons: &Space<'o>, skeleton: &Unit<'o>) -> Option<&'o Image> {
        let search = self.object.search.as_ref()?;
        let name = skeletons.dwarf.attr_string(skeleton, skeleton.dwo_name().ok()??).ok()?;
        let name = path_of(name.bytes());
        let compiled_in = skeleton.comp_dir.as_ref().map(|directory| path_of(directory.bytes()));
        let compiled_in = compiled_in.unwrap_or_default().join(&name);
        let mut places: Vec<PathBuf> = Vec::new();
        if compiled_in.is_absolute() {
            places.push(search.in_symfs(&compiled_in));
        }
        // The directory may have been moved as a whole: look beside the object.
        if let (Some(directory), true) = (self.object.main.path.parent(), name.is_relative()) {
            places.push(directory.join(&name));
            places.extend(name.file_name().map(|name| directory.join(name)));
        }
        let mut opened = self.opening.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        places.iter().find_map(|path| {
            if let Some(known) = self.object.others.iter().find(|image| image.path == *path) {
                return Some(known);
            }
            *opened += 1;
            let image = (*opened <= MOST_FILES).then(|| Image::open(path).ok())??;
            Some(self.object.others.push(image))
        })
    }
}

//! The library of `fg-record --alloc`: a file for the dynamic linker, which loads it into what is recorded.
//!
//! The library is a part of this program: `build.rs` compiles the folder `preload`. Its `lib.rs` says what it does.

use std::env;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::request::{AllocationRate, Invocation};
use super::sys::leftovers::Leftover;
use crate::allocation_trigger::LIBRARY as NAME;

/// The number of bytes that it writes.
pub const TRIGGER_SIZE: u64 = 8;

/// The library; `None` where it was not built: it is written for x86-64.
#[cfg(has_alloc_library)]
const LIBRARY: Option<&[u8]> = Some(include_bytes!(concat!(env!("OUT_DIR"), "/libfg-alloc.so")));
#[cfg(not(has_alloc_library))]
const LIBRARY: Option<&[u8]> = None;

/// The file of the library, removed with this value.
#[derive(Debug)]
pub struct Library {
    path: PathBuf,
    _folder: Leftover,
}

impl Library {
    /// Returns true if the library is a part of this program.
    pub fn is_built() -> bool {
        LIBRARY.is_some()
    }

    /// Writes the file into a folder of its own, for this user and others to read.
    ///
    /// # Errors
    /// The error of the system; a folder whose name the dynamic linker would take apart.
    pub fn new() -> io::Result<Library> {
        let wanted = env::temp_dir();
        // The linker takes blanks and colons for the end of a name.
        let is_usable =
            |path: &Path| path.is_dir() && !path.as_os_str().as_bytes().iter().any(|b| b" :$".contains(b));
        let parent = if is_usable(&wanted) { wanted } else { PathBuf::from("/tmp") };
        let mut folder = tempfile::Builder::new();
        // Set-uid programs and containers' users may read it as well.
        folder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755));
        let folder = folder.prefix("fg-record-").tempdir_in(parent)?;
        let path = folder.path().join(NAME);
        let folder = Leftover::new(folder.keep());
        fs::write(&path, LIBRARY.unwrap_or_default())?;
        Ok(Library { path, _folder: folder })
    }

    /// Makes a program load the library, besides those that it loads anyway.
    pub fn load_into(&self, program: &mut Invocation, rate: AllocationRate) {
        const PRELOAD: &str = "LD_PRELOAD";
        let given = program.environment.iter().rev().find(|(name, _)| name == PRELOAD);
        let others = given.map(|(_, value)| value.clone()).or_else(|| env::var_os(PRELOAD));
        let mut preload = self.path.clone().into_os_string();
        if let Some(others) = others.filter(|others| !others.is_empty()) {
            preload.push(":");
            preload.push(others);
        }
        program.environment.push((PRELOAD.into(), preload));
        let AllocationRate { mean, most } = rate;
        let settings = most.map_or_else(|| mean.to_string(), |most| format!("{mean},{most}"));
        program.environment.push(("FG_RECORD_ALLOC".into(), settings.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_comes_before_others_and_its_file_goes() {
        let library = Library::new().expect("a file");
        assert_eq!(fs::read(&library.path).expect("the file"), LIBRARY.unwrap_or_default());
        let mut program = Invocation::default();
        program.environment.push(("LD_PRELOAD".into(), "/lib/other.so".into()));
        library.load_into(&mut program, AllocationRate::once_in(4096));
        let (name, value) = &program.environment[1];
        assert_eq!(name, "LD_PRELOAD");
        assert_eq!(value.to_string_lossy(), format!("{}:/lib/other.so", library.path.display()));
        assert_eq!(program.environment[2].1, "4096");
        let path = library.path.clone();
        drop(library);
        assert!(!path.exists() && !path.parent().expect("a folder").exists());
    }
}

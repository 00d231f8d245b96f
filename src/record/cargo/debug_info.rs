//! Names the setting that shows inlined functions and lines, for the profile that was used.
//!
//! Both cargo's report on how it compiled the program and the program itself are looked at: a profile
//! may ask for debug information and strip it off again.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::symbolize::{Module, Search};

/// A setting that makes more of a program visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    missing: Missing,
    /// The name of cargo's profile.
    profile: String,
    /// The only manifest whose profiles count.
    manifest: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    /// It was compiled without.
    DebugInfo,
    /// It was compiled with it, but it is neither in the program nor beside it.
    Stripped,
}

/// The advice for a program, if it lacks something.
pub(super) fn advice(program: &Path, compiled_with: bool, profile: &str, root: &Path) -> Option<Advice> {
    let missing = match compiled_with {
        false => Missing::DebugInfo,
        true if is_stripped(program) => Missing::Stripped,
        true => return None,
    };
    Some(Advice { missing, profile: profile.to_owned(), manifest: root.join("Cargo.toml") })
}

fn is_stripped(program: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let module = Module { path: program.as_os_str().as_bytes().to_vec(), build_id: None };
    // A program that cannot be read is reported elsewhere.
    Search::default().open(&module).is_ok_and(|object| !object.has_debug_info())
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Advice { missing, profile, manifest } = self;
        let manifest = manifest.display();
        // Characters that variables cannot have are underscores in them.
        let variable = profile.to_uppercase().replace('-', "_");
        match missing {
            Missing::DebugInfo => write!(
                f,
                "compiled without debug info, so inlined functions are not seen; add to {manifest}: \
                 [profile.{profile}] debug = \"line-tables-only\", or set \
                 CARGO_PROFILE_{variable}_DEBUG=line-tables-only"
            ),
            Missing::Stripped => write!(
                f,
                "the debug info was stripped off, so inlined functions are not seen; add to {manifest}: \
                 [profile.{profile}] strip = \"none\", or set CARGO_PROFILE_{variable}_STRIP=none"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_of_the_profile_that_was_used() {
        let root = Path::new("/w");
        let said = |profile| advice(Path::new("/none"), false, profile, root).unwrap().to_string();
        for (profile, expected) in [
            ("release", ["/w/Cargo.toml: [profile.release] debug", "CARGO_PROFILE_RELEASE_DEBUG="]),
            ("bench", ["/w/Cargo.toml: [profile.bench] debug", "CARGO_PROFILE_BENCH_DEBUG="]),
            ("with-lto", ["/w/Cargo.toml: [profile.with-lto] debug", "CARGO_PROFILE_WITH_LTO_DEBUG="]),
        ] {
            let said = said(profile);
            assert!(expected.iter().all(|part| said.contains(part)) && !said.contains('\n'), "{said}");
        }
        assert_eq!(advice(Path::new("/none"), true, "release", root), None, "no file to look into");
    }
}

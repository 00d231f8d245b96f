//! Paths of recordings as paths of this system.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

/// More links on the way to a file are a circle, or were made to keep us busy; the kernel follows as many.
const MOST_LINKS: usize = 40;

/// A path of a system whose root is a folder of this one: links in it, absolute ones too, stay below the folder, as
/// they do for a process whose root it is. Too many links lead to the folder itself, which is no file.
pub(crate) fn below_root(root: &Path, path: &Path) -> PathBuf {
    let parts = |path: &Path| -> Vec<OsString> {
        let is_part = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
        path.components().rev().filter(is_part).map(|part| part.as_os_str().to_owned()).collect()
    };
    let (mut done, mut left, mut links) = (PathBuf::new(), parts(path), 0);
    while let Some(part) = left.pop() {
        if part == OsStr::new("..") {
            done.pop();
            continue;
        }
        done.push(part);
        let Ok(target) = std::fs::read_link(root.join(&done)) else { continue };
        links += 1;
        if links > MOST_LINKS {
            return root.to_owned();
        }
        match target.is_absolute() {
            true => done.clear(),
            false => _ = done.pop(),
        }
        left.extend(parts(&target));
    }
    root.join(done)
}

/// A path as a recording has it, in bytes.
#[cfg(unix)]
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(bytes).into()
}

/// A path as a recording has it, in bytes.
#[cfg(not(unix))]
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_stay_below_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("usr/lib")).unwrap();
        fs::write(root.join("usr/lib/lib.so"), "inside").unwrap();
        fs::write(folder.path().join("lib.so"), "outside").unwrap();
        let absolute = folder.path().join("lib.so");
        for (link, target) in [
            ("lib", "usr/lib"),
            ("abs", "/usr/lib"),
            ("up.so", "../lib.so"),
            ("out.so", absolute.to_str().unwrap()),
            ("usr/lib/far.so", "../../../../../../usr/lib/lib.so"),
            ("circle", "circle"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        let read = |path: &str| fs::read_to_string(below_root(&root, Path::new(path))).ok();
        for path in ["/usr/lib/lib.so", "lib/lib.so", "/abs/lib.so", "/lib/far.so", "/../../usr/lib/lib.so"] {
            assert_eq!(read(path).as_deref(), Some("inside"), "{path}");
        }
        for path in ["/up.so", "/out.so", "/circle", "/circle/lib.so", "/usr/lib/nothing.so", "/../lib.so"] {
            assert_eq!(read(path), None, "{path}");
        }
    }
}

//! The local calendar, for names of files: `strftime`.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns true if a path has a part that [`name_at`] replaces.
pub fn has_date(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().contains(&b'%')
}

/// A path in which `%Y`, `%m` and so on stand for a time of the local calendar, as in `date`.
///
/// `None` if the system cannot tell, or if nothing or too much comes of it.
pub fn name_at(path: &Path, time: SystemTime) -> Option<PathBuf> {
    /// The longest path of the kernel.
    const LONGEST: usize = 4096;
    let pattern = CString::new(path.as_os_str().as_encoded_bytes()).ok()?;
    let seconds = time.duration_since(UNIX_EPOCH).ok()?.as_secs();
    let seconds = libc::time_t::try_from(seconds).ok()?;
    let mut name = vec![0u8; LONGEST];
    // SAFETY: a zeroed tm is a valid value; all pointers are to live values, and the length is the buffer's.
    let length = unsafe {
        let mut parts: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&seconds, &mut parts).is_null() {
            return None;
        }
        libc::strftime(name.as_mut_ptr().cast(), name.len(), pattern.as_ptr(), &parts)
    };
    name.truncate(length);
    (length > 0).then(|| PathBuf::from(OsString::from_vec(name)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_stand_for_their_letters() {
        // Noon: the same day from one end of the earth to nearly the other.
        let noon = UNIX_EPOCH + Duration::from_secs(1_700_049_600);
        let name = name_at(Path::new("a b/%Y-%m-%d%%.folded"), noon).unwrap();
        assert!(
            [14, 15, 16].iter().any(|day| name == Path::new(&format!("a b/2023-11-{day}%.folded"))),
            "{name:?}"
        );
        assert!(has_date(Path::new("%S")) && !has_date(Path::new("a")));
        assert_eq!(name_at(Path::new(&"%c".repeat(1000)), noon), None, "too long");
    }
}

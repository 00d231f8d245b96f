//! Standard input: a file that can be opened again, a pipe, a terminal.

use std::fs::File;
use std::io::{self, Read};

/// A reader, and, if it is a file, the file and the offset at which it begins.
pub(super) type Stdin = (Box<dyn Read + Send>, Option<(File, u64)>);

/// Standard input; if it is a file, from where it began, so that it can be opened again.
#[cfg(unix)]
pub(super) fn stdin() -> io::Result<Stdin> {
    use std::io::{Seek, SeekFrom};
    use std::sync::OnceLock;

    // A shell may have handed us a file it had read from already.
    static BEGIN: OnceLock<u64> = OnceLock::new();
    let mut file = stdin_file()?;
    if file.metadata()?.is_file() {
        let here = file.stream_position()?;
        let begin = *BEGIN.get_or_init(|| here);
        file.seek(SeekFrom::Start(begin))?;
        let plain = file.try_clone()?;
        return Ok((Box::new(file), Some((plain, begin))));
    }
    Ok((Box::new(OneEnd { file, has_ended: false }), None))
}

/// An input that ends once: a terminal goes on behind its end, and a person would have to press Ctrl-D
/// once for every attempt to read.
#[cfg(unix)]
struct OneEnd {
    file: File,
    has_ended: bool,
}

#[cfg(unix)]
impl Read for OneEnd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.has_ended {
            return Ok(0);
        }
        let count = self.file.read(buffer)?;
        self.has_ended = count == 0 && !buffer.is_empty();
        Ok(count)
    }
}

#[cfg(unix)]
fn stdin_file() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

#[cfg(unix)]
pub(super) fn stdin_is_file() -> bool {
    stdin_file().and_then(|file| file.metadata()).is_ok_and(|kind| kind.is_file())
}

#[cfg(not(unix))]
pub(super) fn stdin() -> io::Result<Stdin> {
    Ok((Box::new(io::stdin()), None))
}

#[cfg(not(unix))]
pub(super) fn stdin_is_file() -> bool {
    false
}

//! A bundle: an archive of a recording and of the files that name its code, to be read anywhere.
//!
//! A tar archive, as POSIX has it, with GNU's records for long names. The files come before the recording, so
//! that it can be read as it streams by; [`symbolize::bundle`](crate::symbolize::bundle) says where they are.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::symbolize::Content;
use crate::symbolize::bundle::{CACHE, SymbolFile};

/// The name of the recording in a bundle.
pub const RECORDING: &str = "perf.data";

const BLOCK: usize = 512;
/// The longest name of a header.
const NAME: usize = 100;
/// The least size that has no room in eleven octal digits.
const LARGE: u64 = 1 << 33;

const README: &str = "\
A recording of fg-record, and the files that name its code.

  fg-render BUNDLE > out.svg        reads it as it is; so do fg-collapse, fg-filter and fg-diff
  tar xf BUNDLE && perf --buildid-dir . report -i perf.data
";

/// Writes a bundle whose files of programs have at most so many bytes, and returns those that were left out.
///
/// Function names come first: debug information, and the largest files, are left out before others.
///
/// # Errors
/// The error of the system.
pub(crate) fn write(
    out: &mut dyn Write,
    mut files: Vec<SymbolFile>,
    most: u64,
    mut recording: File,
) -> io::Result<Vec<(PathBuf, u64)>> {
    files.sort_by(|a, b| {
        let key = |file: &SymbolFile| (file.is_debug_info, file.content.len());
        key(a).cmp(&key(b)).then_with(|| a.place.cmp(&b.place))
    });
    entry(out, &Path::new(CACHE).join("README"), README.len() as u64, &mut README.as_bytes())?;
    let (mut left, mut left_out, mut places) = (most, Vec::new(), HashSet::new());
    for SymbolFile { name, place, content, .. } in files {
        if !places.insert(place.clone()) {
            continue;
        }
        let size = content.len();
        let Some(rest) = left.checked_sub(size) else {
            left_out.push((name, size));
            continue;
        };
        left = rest;
        match content {
            Content::Bytes(bytes) => entry(out, &place, size, &mut &bytes[..])?,
            Content::File(mut file, _) => {
                file.rewind()?;
                entry(out, &place, size, &mut file)?;
            }
        }
    }
    recording.rewind()?;
    entry(out, Path::new(RECORDING), recording.metadata()?.len(), &mut recording)?;
    out.write_all(&[0; 2 * BLOCK])?;
    Ok(left_out)
}

/// A file of this size; one that has become shorter ends in zeros.
fn entry(out: &mut dyn Write, place: &Path, size: u64, content: &mut dyn Read) -> io::Result<()> {
    let name = place.as_os_str().as_encoded_bytes();
    if name.len() > NAME {
        let long = [name, b"\0"].concat();
        out.write_all(&header(b"././@LongLink", long.len() as u64, b'L'))?;
        out.write_all(&long)?;
        pad(out, long.len() as u64)?;
    }
    out.write_all(&header(&name[..name.len().min(NAME)], size, b'0'))?;
    let copied = io::copy(&mut content.take(size), out)?;
    io::copy(&mut io::repeat(0).take(size - copied), out)?;
    pad(out, size)
}

/// Zeros up to the next block.
fn pad(out: &mut dyn Write, size: u64) -> io::Result<()> {
    let rest = size.wrapping_neg() % BLOCK as u64;
    out.write_all(&[0; BLOCK][..usize::try_from(rest).unwrap_or(0)])
}

fn header(name: &[u8], size: u64, kind: u8) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name);
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    match size {
        LARGE.. => {
            put(124, &[0x80]);
            put(128, &size.to_be_bytes());
        }
        _ => put(124, format!("{size:011o}\0").as_bytes()),
    }
    put(136, b"00000000000\0");
    // The checksum counts itself as blanks.
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(place: &str, size: usize, is_debug_info: bool) -> SymbolFile {
        let content = Content::Bytes(vec![b'x'; size].into());
        SymbolFile { name: Path::new("/").join(place), place: place.into(), content, is_debug_info }
    }

    /// The names of a bundle's files, by tar itself.
    fn listed(bytes: &[u8]) -> Option<Vec<String>> {
        use std::process::{Command, Stdio};
        let tar = Command::new("tar").args(["tf", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut tar) = tar else {
            eprintln!("skipped: tar is not installed");
            return None;
        };
        tar.stdin.take().expect("a pipe").write_all(bytes).expect("it reads");
        let output = tar.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{output:?}");
        Some(String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect())
    }

    #[test]
    fn names_come_before_debug_information_and_the_rest_is_told() {
        let long = format!("{}/app", "a".repeat(120));
        let files = || {
            vec![
                file("debug", 700, true),
                file(&long, 600, false),
                file("large", 5000, false),
                file("small", 10, false),
                file("small", 10, false),
            ]
        };
        let mut recording = tempfile::tempfile().expect("a file");
        recording.write_all(b"PERFILE2").expect("it is written");
        let bundle = |most| {
            let mut bytes = Vec::new();
            let left_out = write(&mut bytes, files(), most, recording.try_clone().unwrap()).unwrap();
            assert_eq!(bytes.len() % BLOCK, 0);
            (bytes, left_out)
        };
        let (bytes, left_out) = bundle(2000);
        assert_eq!(left_out, [(PathBuf::from("/large"), 5000)]);
        let Some(names) = listed(&bytes) else { return };
        assert_eq!(names, [".build-id/README", "small", &*long, "debug", "perf.data"]);
        let (bytes, left_out) = bundle(610);
        assert_eq!(left_out, [(PathBuf::from("/large"), 5000), (PathBuf::from("/debug"), 700)]);
        assert_eq!(listed(&bytes).unwrap().len(), 4);
    }

    #[test]
    fn large_sizes_are_binary() {
        let block = header(b"x", LARGE, b'0');
        assert_eq!(&block[124..136], [0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0]);
    }
}

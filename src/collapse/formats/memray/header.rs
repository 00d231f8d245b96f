//! The header of a recording, which memray writes anew when the recording ends.

use super::MAGIC;
use super::wire::Wire;
use crate::collapse::Report;
use crate::collapse::kit::times;
use crate::error::{ErrorKind, Result};
use crate::weight::Weight;

/// The layout of the records behind the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Each allocation and free.
    All,
    /// The sums of each stack.
    Aggregated,
}

/// The version of the file; they differ in how records are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Frames have lines.
    V11,
    /// Frames have offsets in the code of their function, and the function a table of lines. 13 has a longer header.
    V12,
}

/// The statements of the header.
pub struct Header {
    pub version: Version,
    /// The version of Python, in hexadecimal digits: `0x030b02f0` is 3.11.2.
    pub python: Option<u32>,
    /// True if allocations have native stacks.
    pub has_natives: bool,
    pub layout: Layout,
    /// The number of allocations and frees, unless the recording was cut off.
    pub allocations: Option<u64>,
    /// Milliseconds since 1970.
    start: u64,
    end: u64,
    command: Vec<u8>,
    pub pid: i32,
    pub main_thread: u64,
    /// The frames of memray itself at the root of the main thread's stacks.
    pub skipped: usize,
}

impl Header {
    /// Reads the header.
    ///
    /// # Errors
    /// [`ErrorKind::KnownUnsupported`] for files of other versions; the end of the input.
    pub fn read(wire: &mut Wire) -> Result<Header> {
        for &expected in MAGIC {
            let found = wire.byte()?;
            if found != expected {
                return Err(wire.malformed("a recording of memray", found));
            }
        }
        let number = wire.i32()?;
        let version = match number {
            11 => Version::V11,
            12 | 13 => Version::V12,
            _ => {
                let instead = "convert it with the memray that recorded it: memray transform speedscope FILE";
                let what = "a recording of memray in a version of its format other than 11, 12 and 13";
                return Err(crate::Error::new(ErrorKind::KnownUnsupported { what, instead }, wire.place()));
            }
        };
        let python = match version {
            Version::V11 => None,
            Version::V12 => Some(wire.i32()? as u32),
        };
        let has_natives = wire.byte()? != 0;
        let layout = match wire.byte()? {
            0 => Layout::All,
            1 => Layout::Aggregated,
            other => return Err(wire.malformed("a recording of all allocations or of sums", other)),
        };
        let allocations = wire.u64()?;
        let _frames = wire.u64()?;
        let (start, end) = (wire.u64()?, wire.u64()?);
        let command = wire.text()?;
        let pid = wire.i32()?;
        let main_thread = wire.u64()?;
        let skipped = usize::try_from(wire.u64()?).unwrap_or(usize::MAX);
        let _python_allocator = wire.byte()?;
        let _traces_python_allocators = wire.byte()?;
        if version == Version::V12 {
            let _tracks_objects = wire.byte()?;
        }
        if number >= 13 {
            let _library = wire.text()?;
            // The folders of packages, and those that modules are looked for in; an empty one ends each list.
            for _ in 0..2 {
                while !wire.text()?.is_empty() {}
            }
        }
        let allocations = Some(allocations).filter(|count| *count > 0);
        Ok(Header {
            version,
            python,
            has_natives,
            layout,
            allocations,
            start,
            end,
            command,
            pid,
            main_thread,
            skipped,
        })
    }

    /// Notes the facts that it states.
    pub fn tell(&self, report: &mut Report) {
        let facts = &mut report.facts;
        facts.producer = Some("memray".to_owned());
        facts.set_command(&self.command);
        facts.start = times::date(Weight::from(self.start), "ms");
        facts.duration = times::duration(Weight::from(self.end.saturating_sub(self.start)), "ms");
    }
}

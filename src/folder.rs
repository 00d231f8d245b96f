//! Recordings collapsed in the shape of inferno's `Folder` and its trait `Collapse`, for programs that come from it.
//!
//! ```
//! // before: use inferno::collapse::{Collapse, perf::{Folder, Options}};
//! use fg_tools::folder::{Folder, Options};
//!
//! let mut options = Options::default();
//! options.include_pid = true;
//! let mut folded = Vec::new();
//! Folder::from(options).collapse("main;parse 40\nmain 2\n".as_bytes(), &mut folded)?;
//! assert_eq!(folded, b"main 2\nmain;parse 40\n");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! One folder reads every format: the content tells which, or [`Folder::format`]. Other results than folded text are
//! in [`Profile`], which new programs should use.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::input::Source;
use crate::profile::Profile;
use crate::reading::ReadOptions;

/// The options of inferno's `collapse::perf`, with its names. Those of other formats are in
/// [`collapse::CollapseOptions`](crate::collapse::CollapseOptions).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Mark frames of just-in-time compiled code `_[j]`.
    pub annotate_jit: bool,
    /// Mark kernel frames `_[k]`.
    pub annotate_kernel: bool,
    /// The event to keep; `None` is the first.
    pub event_filter: Option<String>,
    /// Show the address of frames without a name.
    pub include_addrs: bool,
    /// Append the process to the thread's frame.
    pub include_pid: bool,
    /// Append process and thread to the thread's frame.
    pub include_tid: bool,
    /// The number of threads to use; 0 is the number of processors.
    pub nthreads: usize,
    /// Drop the frames rootward of these.
    pub skip_after: Vec<String>,
}

/// Collapses recordings into folded text without a header, as inferno writes it.
#[derive(Clone, Debug, Default)]
pub struct Folder {
    options: ReadOptions,
}

impl From<Options> for Folder {
    fn from(options: Options) -> Self {
        let mut collapse = crate::collapse::CollapseOptions::default();
        (collapse.jit, collapse.kernel, collapse.addrs) =
            (options.annotate_jit, options.annotate_kernel, options.include_addrs);
        (collapse.pid, collapse.tid) = (options.include_pid, options.include_tid);
        collapse = collapse.skip_after(options.skip_after).threads(options.nthreads);
        if let Some(event) = options.event_filter {
            collapse = collapse.values([event]);
        }
        Folder { options: ReadOptions::default().collapse(collapse) }
    }
}

impl From<ReadOptions> for Folder {
    /// A folder that reads with [`Limits`](crate::Limits), for instance.
    fn from(options: ReadOptions) -> Self {
        Folder { options }
    }
}

impl Folder {
    /// Reads the format of this name, instead of telling it by content.
    pub fn format(mut self, name: impl Into<String>) -> Self {
        self.options.format = Some(name.into());
        self
    }

    /// Collapses what a reader gives.
    ///
    /// # Errors
    /// Those of [`Profile::read`] as [`io::ErrorKind::InvalidData`], the reader's and the writer's.
    pub fn collapse<R: Read, W: Write>(&mut self, reader: R, writer: W) -> io::Result<()> {
        let profile = Source::scoped("input", reader, |source| self.read(source))??;
        write(&profile, writer)
    }

    /// Collapses a file; `None` is standard input.
    ///
    /// # Errors
    /// Those of [`Folder::collapse`], and the system's.
    pub fn collapse_file<P: AsRef<Path>, W: Write>(&mut self, file: Option<P>, writer: W) -> io::Result<()> {
        let source = file.map_or_else(Source::stdin, |path| Source::path(path.as_ref()));
        write(&self.read(source)?, writer)
    }

    /// Collapses a file into another one.
    ///
    /// # Errors
    /// Those of [`Folder::collapse_file`].
    pub fn collapse_file_to<P: AsRef<Path>>(&mut self, file: Option<P>, folded: P) -> io::Result<()> {
        let mut out = io::BufWriter::new(File::create(folded)?);
        self.collapse_file(file, &mut out)?;
        out.flush()
    }

    fn read(&self, source: Source) -> crate::Result<Profile> {
        Profile::read(&[source], &self.options.clone().places(false))
    }
}

fn write(profile: &Profile, mut writer: impl Write) -> io::Result<()> {
    profile.stacks().write(&mut writer)?;
    writer.flush()
}

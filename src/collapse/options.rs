//! The options of a collapser, and one reading by them.

use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

#[cfg(feature = "perf-data")]
use crate::collapse::Report;
use crate::collapse::ValueSelection;
use crate::limits::Limits;
#[cfg(feature = "perf-data")]
use crate::symbolize::{Answered, Debuginfod, Search};

/// The options of a collapser.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Append the process to the thread's frame: `comm-PID`.
    pub pid: bool,
    /// Append process and thread to the thread's frame: `comm-PID/TID`.
    pub tid: bool,
    /// Mark kernel frames `_[k]`.
    pub kernel: bool,
    /// Mark frames of just-in-time compiled code `_[j]`.
    pub jit: bool,
    /// Mark inlined frames `_[i]`.
    pub inline: bool,
    /// Show the address of frames without a name: `[libc.so.6 <7f01>]`.
    pub addrs: bool,
    /// Append the source line to a frame, where the input has it: `main (orders.c:12)`.
    pub srcline: bool,
    /// Leave out the functions that a compiler has put into others, where debug information has
    /// them.
    pub no_inline: bool,
    /// The folder of the recorded system's files, if they are not in `/`.
    pub symfs: Option<PathBuf>,
    /// The servers that are asked for programs and debug information which are not there.
    #[cfg(feature = "perf-data")]
    pub debuginfod: Option<Debuginfod>,
    /// Drop the frames rootward of these.
    pub skip_after: Vec<Vec<u8>>,
    /// The values of the recording to keep: perf's events, pprof's sample types.
    pub values: ValueSelection,
    /// Name the thread in a root frame; `None` does as the producer's own tools do.
    pub threads_as_frames: Option<bool>,
    /// Count samples, whatever they weigh.
    pub count: bool,
    /// Leave out waits that are shorter, of time off the processor.
    pub min_wait: Duration,
    /// True if this program has just made the recording: the recorded processes may still run, and
    /// notes advise how to record again, not how to read with other options.
    pub just_recorded: bool,
    /// The number of threads to use; 0 is the number of processors.
    pub threads: usize,
    /// The limits of the reading.
    pub limits: Limits,
    /// The listener that is told of the progress of a long run.
    pub progress: Option<Listener>,
}

#[cfg(feature = "perf-data")]
impl Options {
    /// The places to look for the files of a recording.
    pub(crate) fn search(&self) -> Search {
        Search { debuginfod: self.debuginfod.clone(), ..Search::of_system(self.symfs.clone()) }
    }

    /// Reports what the servers had, once.
    pub(crate) fn report_servers(&self, report: &mut Report) {
        let Some(answered) = self.debuginfod.as_ref().and_then(Debuginfod::take_result) else { return };
        let Answered { asked, found, gave_up } = answered;
        if let Some(why) = gave_up {
            report.note(format!("debuginfod was not asked for all names: {why}"));
        } else if found == 0 && asked > 0 {
            report.note(format!(
                "the servers of debuginfod have none of {asked} files that they were asked for"
            ));
        }
        report.details.push(format!("debuginfod: {found} of {asked} files"));
    }
}

/// One reading of one input: the options, and what the inputs before it have settled.
///
/// ```
/// use fg_tools::collapse::{Options, Reading};
///
/// let options = Options { count: true, ..Options::default() };
/// let reading = Reading::alone(&options);
/// assert!(reading.count && reading.first_value.is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Reading<'a> {
    /// The options, which a reading can be used as.
    pub options: &'a Options,
    /// The value that [`ValueSelection::Default`] has settled on in an earlier input of the same profile.
    pub first_value: Option<Vec<u8>>,
    /// The input is read together with others, to which another value than theirs must not be added.
    pub is_one_of_several: bool,
}

impl<'a> Reading<'a> {
    /// The reading of an input that is a profile by itself.
    pub fn alone(options: &'a Options) -> Reading<'a> {
        Reading { options, first_value: None, is_one_of_several: false }
    }
}

impl Deref for Reading<'_> {
    type Target = Options;

    fn deref(&self) -> &Options {
        self.options
    }
}

/// A listener to the progress of a long run.
#[derive(Clone, Copy, Debug)]
pub struct Listener(pub fn(Progress));

impl PartialEq for Listener {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for Listener {}

/// The progress of a long run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// The bytes that have been read, and the bytes of the whole input if that is known.
    Bytes(u64, Option<u64>),
    /// The places in code that have been named, and all that there are.
    Symbols(u64, u64),
    /// The recordings of a folder that have been read, and all that there are.
    Files(u64, u64),
}

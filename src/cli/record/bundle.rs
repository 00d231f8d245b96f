//! `--bundle`, and `fg-record bundle` for a recording that exists: the recording and the files that name its
//! code, in one archive.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use flate2::write::GzEncoder;

use super::finish::{Recorded, conclude};
use super::recording::Recording;
use super::sampling::size;
use super::values::bundle_size;
use super::{Exit, Record, RecordArgs};
use crate::cli::debuginfod::DebuginfodArgs;
use crate::cli::output::Output;
use crate::cli::{Tool, say};
use crate::collapse::formats::perf_data::{CodeFiles, code_files};
use crate::collapse::{CollapseOptions, Report};
use crate::error::{Error, Position, some_of};
use crate::input::Source;
use crate::limits::Limits;
use crate::record::bundle;
use crate::record::request::Request;
use crate::record::sampler::output::Destination;
use crate::record::sampler::stream;
use crate::record::sys::signals::Stop;
use crate::symbolize::bundle::SymbolFile;
use crate::threads;

/// The endings of an archive, and of one that is compressed.
const PLAIN: &str = ".tar";
const PACKED: &[&str] = &[".tar.gz", ".tgz"];

impl RecordArgs {
    /// Records into an archive. The records are folded meanwhile, to find the files while they are there.
    pub(super) fn record_bundle(
        &self,
        most: u64,
        request: &Request,
        stop: &Stop,
    ) -> anyhow::Result<Recorded> {
        let path = self.bundle_file()?;
        let mut archive = Recording::new(Some(path))?;
        let recording = Recording::new(None)?;
        self.sampling.say_where(&recording);
        let (writer, records) = stream::channel();
        let destination = Destination::Both(recording.file()?, writer);
        let live = self.sampling.shows_progress(request.target.runs_program());
        let options = self.sampling.options();
        let mut report = Report::default();
        let (outcome, files) = std::thread::scope(|scope| {
            let report = &mut report;
            let folding = threads::start(scope, || {
                records.open().and_then(|records| code_files(records, &options, report))
            })?;
            let outcome = self.sampling.sample(request, destination, stop, live, &mut |_| {});
            Ok::<_, crate::Error>((outcome, folding.join().expect("no thread panics")))
        })?;
        let outcome = outcome?;
        self.sampling.describe(&outcome);
        let written = match self.sampling.expect_samples(&outcome, &request.target) {
            Ok(()) => files
                .and_then(|found| {
                    let (out, recording) = (archive.file()?, recording.file()?);
                    write(path, out, found.files, most, recording)
                })
                .and_then(|left_out| archive.appear().map(|()| left_out))
                .map(|left_out| {
                    if !self.sampling.quiet {
                        say_left_out(&left_out, most, "--bundle=SIZE");
                    }
                })
                .map_err(|error| recording.keep_after(error.into())),
            refused => refused,
        };
        if !self.sampling.quiet {
            report.notes.iter().for_each(|note| say(Record::NAME, note));
        }
        conclude(self, request, written.map(|()| None), outcome.target, stop)
    }

    /// The file of `--bundle`.
    fn bundle_file(&self) -> anyhow::Result<&Path> {
        let [path] = &self.results.output[..] else {
            anyhow::bail!("--bundle writes one file; name one with -o")
        };
        check_name(path)?;
        Ok(path)
    }
}

const EXAMPLES: &str = "\
Examples:
  # perf's own recording, or one of --raw, for a machine without these programs
  fg-record bundle perf.data -o app.tar.gz
  fg-render app.tar.gz > out.svg   # there
  # a recording of another system, whose files are below a folder
  fg-record bundle perf.data -o app.tar.gz --symfs /mnt/board

Exit status: 0 if the archive was written, also if files are missing; 2 if not.";

/// Put a recording that exists and the files that name its code into one archive
///
/// Takes the programs, libraries, debug information, kernel symbols and maps of generated code that name the
/// stacks of perf.data, as --bundle does while it records: run it before they change. Says which files are
/// missing, or are of another build. Every program reads the archive, on another machine too.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Bundle {
    /// The recording: perf.data of perf record, or of fg-record --raw
    #[arg(value_name = "PERF.DATA", value_hint = clap::ValueHint::FilePath)]
    pub recording: PathBuf,

    /// The archive: app.tar.gz, app.tgz or app.tar; only you may read it
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// The most bytes of programs and debug information; function names come first
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = bundle_size)]
    pub max_size: u64,

    /// Look for the programs and libraries below DIR, not /
    #[arg(long, value_name = "DIR")]
    pub symfs: Option<PathBuf>,

    /// Servers.
    #[command(flatten)]
    pub debuginfod: DebuginfodArgs,

    /// Do not say which files are missing
    #[arg(short, long)]
    pub quiet: bool,
}

impl Bundle {
    /// Reads the recording and writes the archive.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        check_name(&self.output)?;
        let recording = self.open()?;
        let options = CollapseOptions {
            symfs: self.symfs.clone(),
            debuginfod: self.debuginfod.debuginfod.clone(),
            limits: Limits::NONE,
            ..CollapseOptions::default()
        };
        let mut out = Output::new(Some(&self.output))?;
        out.keep_private()?;
        let input = Source::path(&self.recording).open()?;
        let CodeFiles { files, missing } = code_files(input, &options, &mut Report::default())?;
        let left_out = write(&self.output, &mut out, files, self.max_size, recording)?;
        out.finish()?;
        if !self.quiet {
            if !missing.is_empty() {
                let missing: Vec<String> = missing.into_iter().collect();
                let (count, all) = (missing.len(), some_of(&missing));
                let files = if count == 1 { "a file is" } else { "files are" };
                say(
                    Record::NAME,
                    format_args!("{files} not in the bundle, and code has no names without: {all}"),
                );
            }
            say_left_out(&left_out, self.max_size, "--max-size SIZE");
        }
        Ok(Exit::Yes)
    }

    /// Opens the recording, which is copied as it is.
    fn open(&self) -> anyhow::Result<File> {
        let path = &self.recording;
        let failed = |e| Error::io("open", e).or_at(|| Position::file(path.to_string_lossy()));
        let file = File::open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            anyhow::bail!("{}: expected a file, as the recording is read twice", path.display());
        }
        let mut magic = Vec::new();
        (&file).take(8).read_to_end(&mut magic).map_err(failed)?;
        if !matches!(&magic[..], b"PERFILE2" | b"2ELIFREP") {
            anyhow::bail!(
                "{}: this is no perf.data, as perf record and fg-record --raw write it; one that was compressed has to \
                 be unpacked",
                path.display()
            );
        }
        Ok(file)
    }
}

/// Refuses names that are none of an archive.
fn check_name(path: &Path) -> anyhow::Result<()> {
    let name = path.to_string_lossy();
    if !name.ends_with(PLAIN) && !PACKED.iter().any(|ending| name.ends_with(ending)) {
        anyhow::bail!("a bundle is an archive; name it -o {name}.tar.gz, or {name}.tar");
    }
    Ok(())
}

/// Writes an archive, compressed if its name says so, and returns the files that had no room.
fn write(
    path: &Path,
    out: impl Write,
    files: Vec<SymbolFile>,
    most: u64,
    recording: File,
) -> Result<Vec<(PathBuf, u64)>, Error> {
    let mut out = BufWriter::new(out);
    let written = match path.extension().is_some_and(|ending| ending == "tar") {
        true => bundle::write(&mut out, files, most, recording),
        false => {
            let mut packed = GzEncoder::new(&mut out, flate2::Compression::fast());
            bundle::write(&mut packed, files, most, recording)
                .and_then(|left_out| packed.finish().map(|_| left_out))
        }
    };
    let written = written.and_then(|left_out| out.flush().map(|()| left_out));
    written.map_err(|e: io::Error| Error::io("write the bundle", e))
}

/// Says which files had no room; `option` would give them some.
fn say_left_out(left_out: &[(PathBuf, u64)], most: u64, option: &str) {
    if left_out.is_empty() {
        return;
    }
    let name = |(path, bytes): &(PathBuf, u64)| format!("{} ({})", path.display(), size(*bytes));
    let names = some_of(&left_out.iter().map(name).collect::<Vec<_>>());
    say(
        Record::NAME,
        format_args!(
            "the files of programs are larger than {}, and some were left out: {names}; {option} takes more",
            size(most)
        ),
    );
}

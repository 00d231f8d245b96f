//! `--bundle`: the recording and the files that name its code, in one archive.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::write::GzEncoder;

use super::builtin::size;
use super::recording::Recording;
use super::results::conclude;
use super::{Exit, Record, RecordArgs};
use crate::cli::{Tool, say};
use crate::collapse::Report;
use crate::collapse::perf_data::code_files;
use crate::error::{Error, some_of};
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
    pub(super) fn record_bundle(&self, most: u64, request: &Request, stop: &Stop) -> anyhow::Result<Exit> {
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
                .and_then(|files| self.write_bundle(path, archive.file()?, files, most, recording.file()?))
                .and_then(|()| archive.appear())
                .map_err(|error| recording.keep_after(error.into())),
            refused => refused,
        };
        if !self.sampling.quiet {
            report.notes.iter().for_each(|note| say(Record::NAME, note));
        }
        conclude(written, outcome.target, stop)
    }

    /// The file of `--bundle`.
    fn bundle_file(&self) -> anyhow::Result<&Path> {
        let [path] = &self.results.output[..] else {
            anyhow::bail!("--bundle writes one file; name one with -o")
        };
        let name = path.to_string_lossy();
        if !name.ends_with(PLAIN) && !PACKED.iter().any(|ending| name.ends_with(ending)) {
            anyhow::bail!("--bundle writes an archive; name it -o {name}.tar.gz, or {name}.tar");
        }
        Ok(path)
    }

    fn write_bundle(
        &self,
        path: &Path,
        archive: File,
        files: Vec<SymbolFile>,
        most: u64,
        recording: File,
    ) -> Result<(), Error> {
        let mut out = BufWriter::new(archive);
        let written = match path.extension().is_some_and(|ending| ending == "tar") {
            true => bundle::write(&mut out, files, most, recording),
            false => {
                let mut packed = GzEncoder::new(&mut out, flate2::Compression::fast());
                bundle::write(&mut packed, files, most, recording)
                    .and_then(|left_out| packed.finish().map(|_| left_out))
            }
        };
        let written = written.and_then(|left_out| out.flush().map(|()| left_out));
        let left_out = written.map_err(|e: io::Error| Error::io("write the bundle", e))?;
        if !left_out.is_empty() && !self.sampling.quiet {
            let name =
                |(path, bytes): &(std::path::PathBuf, u64)| format!("{} ({})", path.display(), size(*bytes));
            say(
                Record::NAME,
                format_args!(
                    "the files of programs are larger than {}, and some were left out: {}; --bundle=SIZE takes more",
                    size(most),
                    some_of(&left_out.iter().map(name).collect::<Vec<_>>())
                ),
            );
        }
        Ok(())
    }
}

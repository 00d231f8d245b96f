//! Records with the built-in sampler.

use super::alloc::AllocValue;
use super::args::RecordArgs;
use super::finish::{Recorded, conclude};
use super::recording::Recording;
use super::results::{OnFailure, Use};
use super::runtimes::remove_map;
use super::sampling::known;
use super::{Record, sudo};
use crate::cli::{Exit, Tool, say};
use crate::error::ErrorKind;
use crate::reading;
use crate::record::request::{Control, Request};
use crate::record::sampler::stream;
use crate::record::sys::limits;
use crate::record::sys::signals::Stop;
use crate::threads;

impl RecordArgs {
    /// Records a program, processes or the whole machine.
    pub(super) fn record_builtin(
        &self,
        request: &Request,
        profile: Use,
        stop: &Stop,
    ) -> anyhow::Result<Recorded> {
        let raw = self.raw_file()?;
        #[cfg(feature = "tui")]
        if self.parts.live {
            return self.record_in_terminal(request, stop);
        }
        let is_sudo = self.sampling.root && limits::effective_user() != 0;
        if request.parts.is_some() {
            return self.record_parts(request, stop);
        }
        if is_sudo && request.pauses.control == Some(Control::Signals) {
            anyhow::bail!("signals do not reach a recorder behind --root; pause it by --control fifo:PATH");
        }
        if let Some(most) = self.sampling.bundle {
            return self.record_bundle(most, request, stop);
        }
        if raw.is_none() && !is_sudo {
            return self.record_live(request, profile, stop);
        }
        let mut recording = Recording::new(raw)?;
        if is_sudo {
            return sudo::record(self, request, profile, recording, stop);
        }
        self.sampling.say_where(&recording);
        let live = self.sampling.shows_progress(request.target.runs_program());
        let file = self.sampling.destination(recording.file()?);
        // The recording gets the name of --raw as soon as it can be read.
        let mut begun = |_| drop(recording.appear());
        let outcome = self.sampling.sample(request, file, stop, live, &mut begun)?;
        self.sampling.describe(&outcome);
        let written = recording.appear().map_err(|error| recording.keep_after(error.into()));
        let written = written.and_then(|()| self.sampling.expect_samples(&outcome, &request.target));
        let is_cut = outcome.full.is_some();
        let mut recorded = conclude(self, request, written.map(|()| None), outcome.target, stop)?;
        if is_cut && matches!(recorded.exit, Exit::Yes | Exit::Status(0)) {
            recorded.exit = Exit::Status(2);
        }
        Ok(recorded)
    }

    /// The error of a recording that cannot be folded, in words of the options that there are here.
    fn without_value(&self, error: crate::Error) -> anyhow::Error {
        let of_the_end = matches!(self.sampling.alloc.alloc, Some(AllocValue::Live | AllocValue::LiveCount));
        match error.kind() {
            ErrorKind::Empty { .. } if of_the_end => anyhow::anyhow!(
                "nothing that was sampled was held at the end; --alloc=bytes shows what was allocated, and \
                 --interval 4096 samples more of it"
            ),
            _ => error.into(),
        }
    }

    /// Records, and folds the records while they come: nothing of them is kept.
    fn record_live(&self, request: &Request, wanted: Use, stop: &Stop) -> anyhow::Result<Recorded> {
        if self.sampling.verbose {
            say(Record::NAME, "folding while recording; --raw keeps the recording itself");
        }
        let (writer, records) = stream::channel();
        let reading = self.reading(wanted);
        let live = self.sampling.shows_progress(request.target.runs_program());
        let (outcome, folded) = std::thread::scope(|scope| {
            let folding = threads::start(scope, || reading::read(&[records], &reading))?;
            let outcome = self.sampling.sample(request, writer, stop, live, &mut |_| {});
            Ok::<_, crate::Error>((outcome, folding.join().expect("no thread panics")))
        })?;
        let outcome = outcome?;
        let notes = self.sampling.describe(&outcome);
        let sampled = self.sampling.expect_samples(&outcome, &request.target);
        let written = sampled.and_then(|()| {
            let (profile, report) = folded.map_err(|error| self.without_value(error))?;
            let profile = self.complete(profile, &report, known(request, &outcome, &notes), true);
            self.write(profile, wanted, OnFailure::Keep)
        });
        remove_map(request, &outcome);
        conclude(self, request, written, outcome.target, stop)
    }
}

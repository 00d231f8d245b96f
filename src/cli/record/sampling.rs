//! The built-in sampler by the options of the command line, and the messages about its work.

use std::fs::File;
use std::time::Duration;

use super::args::SamplingArgs;
use super::recording::Recording;
use super::{Record, advice};
use crate::cli::{Tool, progress, say};
use crate::profile::Facts;
use crate::record::facts::facts;
use crate::record::refusal::Refusal;
use crate::record::request::{Delay, Rate, Request, Target};
use crate::record::sampler::data_file::Compression;
use crate::record::sampler::output::Destination;
use crate::record::sampler::plan::Note;
use crate::record::sampler::{self, Outcome};
use crate::record::sys::signals::Stop;

/// The facts that the sampler knows.
pub(super) fn known(request: &Request, outcome: &Outcome, notes: &[String]) -> Facts {
    let of_target = outcome.target.as_ref().and_then(|target| target.cpu_time());
    let counted = outcome.coverage.filter(|it| it.is_time).map(|it| Duration::from_nanos(it.total));
    let cpu_time = of_target.or(counted);
    let mut facts = facts(request, outcome.start, outcome.elapsed, cpu_time);
    facts.event = Some(outcome.plan.event_names());
    facts.rate = match outcome.plan.rate {
        Rate::PerSecond(rate) => Some(rate),
        Rate::EveryEvents(_) => None,
    };
    notes.iter().for_each(|note| facts.warn(note));
    facts
}

impl SamplingArgs {
    /// Says where the recording can be found if this process is killed.
    pub(super) fn say_where(&self, recording: &Recording) {
        if self.verbose {
            say(Record::NAME, format_args!("recording into {}", recording.path().display()));
        }
    }

    /// The file as the place of a recording.
    pub(super) fn destination(&self, file: File) -> Destination {
        let compression = if self.compress { Compression::Zstd } else { Compression::None };
        Destination::File(file, compression)
    }

    /// Records into a file or for a reader, and reports progress to `also` and, if it is `live`, to the user.
    pub(super) fn sample(
        &self,
        request: &Request,
        destination: impl Into<Destination>,
        stop: &Stop,
        live: bool,
        also: &mut dyn FnMut(sampler::Progress),
    ) -> Result<Outcome, Refusal> {
        let mut was_paused = request.pauses.delay != Delay::None;
        let mut tell = |at: sampler::Progress| {
            also(at);
            // The end of a delay comes by itself.
            if at.is_paused != was_paused && request.pauses.control.is_some() && !self.quiet {
                progress::end();
                say(Record::NAME, if at.is_paused { "paused" } else { "sampling" });
            }
            was_paused = at.is_paused;
            if live {
                let lost = if at.lost > 0 { format!(", {} lost", at.lost) } else { String::new() };
                progress::show(format_args!("{} s, {} samples{lost}", at.elapsed.as_secs(), at.samples));
            }
        };
        let outcome = sampler::record(request, destination, stop, &mut tell);
        progress::end();
        outcome
    }

    /// Reports how the recording went, and returns the warnings that its profile has to carry.
    pub(super) fn describe(&self, outcome: &Outcome) -> Vec<String> {
        let is_warning = |note: &&Note| !matches!(note, Note::Clock | Note::Nothing);
        let mut warnings: Vec<String> =
            outcome.notes.iter().filter(is_warning).map(Note::to_string).collect();
        if outcome.lost > 0 {
            let all = outcome.samples + outcome.lost;
            let advice = advice::on_losses(&outcome.plan);
            warnings.push(format!("{} of {all} samples were lost: {advice}", outcome.lost));
        }
        warnings.extend(advice::on_coverage(outcome));
        if !self.quiet {
            warnings.iter().for_each(|warning| say(Record::NAME, warning));
        }
        if let Some(full) = &outcome.full {
            let place = if self.raw { "-o" } else { "TMPDIR" };
            let warning = format!(
                "the recording could not be written any more ({}) and ended after {:.1} s; {} samples, {} of \
                 records, are kept; name a folder with more room by {place}",
                full.said,
                outcome.elapsed.as_secs_f64(),
                outcome.samples,
                size(full.kept)
            );
            // Even if nothing but errors is to be said.
            say(Record::NAME, &warning);
            warnings.push(warning);
        }
        if self.verbose {
            if outcome.notes.contains(&Note::Clock) {
                say(Record::NAME, Note::Clock);
            }
            let (event, seconds) = (outcome.plan.event_names(), outcome.elapsed.as_secs_f64());
            let kernel = if outcome.plan.kernel { "" } else { ", without the kernel" };
            say(
                Record::NAME,
                format_args!("{} samples of {event} in {seconds:.1} s{kernel}", outcome.samples),
            );
        }
        warnings
    }

    /// Refuses a recording without samples.
    pub(super) fn expect_samples(&self, outcome: &Outcome, target: &Target) -> anyhow::Result<()> {
        if outcome.samples > 0 || advice::is_worth_a_profile(outcome) {
            return Ok(());
        }
        if outcome.full.is_some() {
            anyhow::bail!("no samples fitted into the recording");
        }
        let seconds = outcome.elapsed.as_secs_f64();
        if self.off_cpu {
            anyhow::bail!(advice::without_waits(target, outcome.elapsed));
        }
        if self.alloc.alloc.is_some() {
            anyhow::bail!(advice::without_allocations(outcome.elapsed));
        }
        if let names @ [_, ..] = &self.events.events[..]
            && outcome.plan.sampled().all(|event| event.is_counted_singly())
        {
            let names: Vec<&str> = names.iter().map(|event| &*event.name).collect();
            anyhow::bail!(
                "no samples of {} in {seconds:.1} s: it did not happen in the target",
                names.join(", ")
            );
        }
        if let Some(program) = target.invocation().filter(|it| it.becomes_another_user()) {
            anyhow::bail!(
                "no samples: {} acts as another user (set-uid), and the kernel lets nobody look at such \
                 programs; use `sudo fg-record` on what it starts, or -a",
                program.program.to_string_lossy()
            );
        }
        anyhow::bail!(
            "no samples in {seconds:.1} s at {} a second: {}; record it for longer, at a higher -F, or where it \
             waits, by --off-cpu",
            self.freq.unwrap_or(Rate::USUAL),
            advice::without_samples(outcome)
        );
    }
}

/// A number of bytes in the largest unit that leaves it above 1.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        1_000_000_000.. => format!("{:.1} GB", bytes as f64 / 1e9),
        1_000_000.. => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} kB", bytes as f64 / 1e3),
    }
}

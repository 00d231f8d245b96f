//! `--live`: the profile in the terminal, as it grows.
//!
//! Three threads: one takes samples, one folds them and hands over a profile of each second, and this one adds
//! each to the whole and draws.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::finish::{Recorded, conclude};
use super::results::{OnFailure, Use, unused};
use super::runtimes::remove_map;
use super::sampling::known;
use super::{Record, RecordArgs};
use crate::cli::render::{LiveView, OutputArgs, TerminalArgs, Wish};
use crate::cli::{Tool, say};
use crate::collapse::Report;
use crate::error::Error;
use crate::folded::Order;
use crate::profile::Profile;
use crate::reading::{self, Opened};
use crate::record::facts::complete;
use crate::record::request::{Request, Target};
use crate::record::sampler::{Progress, stream};
use crate::record::sys::processes;
use crate::record::sys::signals::Stop;
use crate::threads;

/// The longest time for which a key is waited for.
const TICK: Duration = Duration::from_millis(100);

/// A picture is made again when so many times as long has gone by as it took: it costs a tenth of a processor at
/// most, however many stacks there are.
const PAUSES: u32 = 9;

/// The state that the threads share.
#[derive(Default)]
struct State {
    /// The profiles that have not been added yet.
    parts: Vec<Profile>,
    progress: Option<Progress>,
    report: Report,
    has_ended: bool,
}

impl RecordArgs {
    /// Records, and shows what there is by now.
    pub(super) fn record_in_terminal(&self, request: &Request, stop: &Stop) -> anyhow::Result<Recorded> {
        let (request, output) = beside_the_picture(request);
        let request = &request;
        let mut settings = self.results.picture.settings(&mut |error| Err(error))?;
        settings.terminal = TerminalArgs::default().find(&OutputArgs::default());
        let order = settings.order;
        let view = LiveView::open(settings)?;
        let (writer, records) = stream::channel();
        let reading = self.reading(Use::Write);
        let state = Mutex::new(State::default());
        let sampling = &self.sampling;
        let (outcome, folded, seen) = std::thread::scope(|scope| {
            let folding = threads::start(scope, || {
                reading::read_parts(&records, &reading, &mut |profile, report, _| {
                    let mut state = lock(&state);
                    state.parts.push(profile);
                    state.report = report;
                    Ok(())
                })
            })?;
            let sampler = threads::start(scope, || {
                let mut note = |at| lock(&state).progress = Some(at);
                let outcome = sampling.sample(request, writer, stop, false, &mut note);
                lock(&state).has_ended = true;
                outcome
            })?;
            let seen = watch(view, &state, order);
            if seen.is_err() {
                end_recording();
            }
            let outcome = sampler.join().expect("no thread panics");
            Ok::<_, crate::Error>((outcome, folding.join().expect("no thread panics"), seen))
        })?;
        let outcome = outcome?;
        if let (Some(path), Some(program), false) = (output, request.target.invocation(), sampling.quiet) {
            let program = program.program.to_string_lossy();
            say(Record::NAME, format_args!("the output of {program} is in {}", path.display()));
        }
        let notes = sampling.describe(&outcome);
        let (mut total, broken) = match seen {
            Ok(total) => (total, None),
            Err(error) => (None, Some(error)),
        };
        let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
        add(&mut total, state.parts)?;
        let sampled = sampling.expect_samples(&outcome, &request.target);
        let written = sampled.and_then(|()| match total {
            None => Ok(folded?),
            Some(mut profile) => {
                profile.sort_samples();
                let known = known(request, &outcome, &notes);
                // Those of the parts add up to the whole, but for the time between the last two.
                (profile.facts_mut().start, profile.facts_mut().duration) = (known.start, known.duration);
                complete(profile.facts_mut(), known.clone());
                let profile = self.complete(profile, &state.report, known, true);
                let written = self.write(profile, Use::Write, OnFailure::Keep);
                written.and(folded.map_err(anyhow::Error::from))
            }
        });
        remove_map(request, &outcome);
        let written = broken.map_or(written, Err);
        conclude(self, request, written.map(|()| None), outcome.target, stop)
    }
}

/// The request for a program that does not use the terminal, and the file that its output goes to.
fn beside_the_picture(request: &Request) -> (Request, Option<PathBuf>) {
    let mut request = request.clone();
    let (Target::Command(invocation) | Target::Machine(Some(invocation))) = &mut request.target else {
        return (request, None);
    };
    let path = unused(Path::new(""), "out");
    invocation.instead_of_terminal = Some(path.clone());
    (request, Some(path))
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows the profile until the recording has ended; returns it as far as it was shown.
fn watch(mut view: LiveView, state: &Mutex<State>, order: Order) -> anyhow::Result<Option<Profile>> {
    let mut total: Option<Profile> = None;
    let mut next = Instant::now();
    let mut has_grown = false;
    loop {
        let (parts, progress, has_ended) = {
            let mut state = lock(state);
            let parts = if view.is_held() { Vec::new() } else { std::mem::take(&mut state.parts) };
            (parts, state.progress, state.has_ended)
        };
        has_grown |= add(&mut total, parts)?;
        if has_ended {
            return Ok(total);
        }
        let begin = Instant::now();
        if has_grown && begin >= next {
            if let Some(mut profile) = total.take() {
                if order != Order::Frame {
                    profile.sort_samples();
                }
                let opened = Opened::Profile(Box::new(profile), Box::default());
                view.update(&opened)?;
                if let Opened::Profile(profile, _) = opened {
                    total = Some(*profile);
                }
            }
            (has_grown, next) = (false, Instant::now() + begin.elapsed() * PAUSES);
        }
        let about = progress.map_or_else(String::new, |at| {
            let lost = if at.lost > 0 { format!(", {} lost", at.lost) } else { String::new() };
            format!("{} s, {} samples{lost}", at.elapsed.as_secs(), at.samples)
        });
        if view.step(&about, TICK)? == Wish::Leave {
            end_recording();
        }
    }
}

/// Ends the recording as Ctrl-C does, which is a key like others while the terminal is drawn in.
fn end_recording() {
    let _ = processes::send(std::process::id(), libc::SIGINT);
}

/// Adds the profiles of some parts; returns true if there was something in them.
fn add(total: &mut Option<Profile>, parts: Vec<Profile>) -> Result<bool, Error> {
    let mut has_grown = false;
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        has_grown = true;
        match total {
            Some(total) => total.grow(&part)?,
            None => *total = Some(part),
        }
    }
    Ok(has_grown)
}

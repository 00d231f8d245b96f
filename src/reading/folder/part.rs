//! One recording of many: its stacks, with the labels that were asked for, and what there is to say of it.

use super::Request;
use super::cache::Saved;
use super::files::Recording;
use crate::collapse::{Report, ValueSelection, registry};
use crate::error::Result;
use crate::folded::Columns;
use crate::profile::Profile;
use crate::reading::ReadOptions;
use crate::reading::merge::Merged;
use crate::weight::Weight;

/// A recording that was read.
pub(super) struct Part {
    pub stacks: Stacks,
    pub saved: Saved,
    pub is_from_cache: bool,
}

/// Its stacks.
pub(super) enum Stacks {
    Folded(Box<Merged>),
    Profile(Box<Profile>),
}

impl Stacks {
    /// One weight a stack, or two.
    pub fn columns(&self) -> Columns {
        match self {
            Stacks::Folded(merged) => merged.columns(),
            Stacks::Profile(profile) => profile.columns(),
        }
    }

    /// Adds the stacks to others, behind root frames.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`], and those of temporary files.
    pub fn add_to(self, sums: &mut Merged, roots: &[Vec<u8>], memory: usize) -> Result<()> {
        match self {
            Stacks::Folded(merged) if roots.is_empty() => sums.absorb(*merged, memory),
            Stacks::Folded(merged) => sums.add_under(&merged, roots, memory),
            Stacks::Profile(profile) => sums.add_table(profile.stacks(), roots, memory),
        }
    }
}

/// Means to read a part.
pub(super) struct Means {
    /// The number of threads that read it.
    pub threads: usize,
    /// The bytes of memory that its stacks may take.
    pub memory: usize,
    /// The number of those that have open files at the same time.
    pub holders: usize,
    /// The value that earlier parts have settled on.
    pub first_value: Option<Vec<u8>>,
    /// The values to keep of it.
    pub values: ValueSelection,
}

/// Reads a recording, or takes it from the cache.
///
/// # Errors
/// Those of the format, and of `--strict`.
pub(super) fn read(recording: &Recording, request: &Request, means: &Means) -> Result<Part> {
    let mut reading = request.reading.clone();
    reading.collapse.threads = means.threads;
    reading.collapse.values.clone_from(&means.values);
    let cache = request.cache.as_ref();
    let key = || {
        let particulars = format!("{} {:?} {:?}", recording.source.factor(), means.first_value, means.values);
        cache?.key(recording.path.as_deref()?, &particulars)
    };
    let before = key();
    if let (Some(cache), Some(key)) = (cache, &before)
        && let Some((text, saved)) = cache.load(key)
    {
        // Some other program may have removed it just now.
        let columns = Some(Columns::One);
        let stacks = Merged::read_any(&[text], columns, &reading.collapse, means.memory, means.holders);
        if let Ok(stacks) = stacks {
            return Ok(Part { stacks: Stacks::Folded(Box::new(stacks)), saved, is_from_cache: true });
        }
    }
    let part = read_anew(recording, request, &reading, means)?;
    let complaints = &part.saved.report.not_understood;
    // With nothing in it but lines that are not understood, it is no recording.
    if request.is_strict || !has_samples(&part.saved.report) {
        complaints.refuse()?;
    }
    let is_clean = *complaints == Default::default() && part.stacks.columns() == Columns::One;
    if let (Some(cache), Some(before)) = (cache, before)
        && is_clean
        // It did not change while it was read.
        && key().as_ref() == Some(&before)
    {
        cache.store(&before, &part.saved, |out| match &part.stacks {
            Stacks::Folded(merged) => merged.write(out).map(|_| ()),
            Stacks::Profile(profile) => profile.stacks().write(out),
        });
    }
    Ok(part)
}

/// Returns true if a part has samples that count.
pub(super) fn has_samples(report: &Report) -> bool {
    report.values.values().any(|total| total.kept && total.samples > 0)
}

fn read_anew(recording: &Recording, request: &Request, reading: &ReadOptions, means: &Means) -> Result<Part> {
    let keeps_all = reading.collapse.values == ValueSelection::All;
    let can_stream =
        !(reading.collapse.count || reading.samples || keeps_all) && recording.source.factor() == Weight::ONE;
    let (source, is_folded) = match reading.format.as_deref() {
        _ if !can_stream => (recording.source.clone(), false),
        Some(format) => (recording.source.clone(), format == registry::FOLDED),
        None => recording.source.look(crate::reading::is_folded_text)?,
    };
    if is_folded {
        let mut merged = Merged::read_any(&[source], None, &reading.collapse, means.memory, means.holders)?;
        let saved = Saved { report: std::mem::take(&mut merged.report), ..Saved::default() };
        return Ok(Part { stacks: Stacks::Folded(Box::new(merged)), saved, is_from_cache: false });
    }
    let (mut profile, report) = crate::reading::read_for_sum(&source, reading, means.first_value.clone())?;
    let mut saved = Saved { report, ..Saved::default() };
    if has_samples(&saved.report) {
        if let Some(key) = &request.weight_by {
            (profile, saved.left_out) = profile.weighed_by(key)?;
        }
        if !request.recorded.is_empty() {
            let known = profile.label_keys();
            let asked = request.recorded.iter().map(|label| label.key().to_owned());
            saved.known = asked.filter(|key| known.contains(key)).collect();
            profile = profile.labelled_where_known(&request.recorded)?;
        }
    }
    saved.report.facts = profile.facts().clone();
    Ok(Part { stacks: Stacks::Profile(Box::new(profile)), saved, is_from_cache: false })
}

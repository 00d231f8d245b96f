//! Reads the other values of a recording, or each of several files, beside the profile that is shown.
//!
//! Each value is read as a profile of its own, by its name, so that any format that knows several has
//! them here.

use super::{ExchangeParts, ReadOptions, read};
use crate::collapse::{Report, ValueSelection};
use crate::error::{Error, Position, Result};
use crate::facts;
use crate::input::Source;
use crate::profile::OtherValues;

/// The most other values that are kept: each is one more reading of the recording.
const MOST: usize = 7;
/// The most files that are shown one by one.
const MOST_FILES: usize = 64;
/// The bytes of a pipe that are kept to be read once more.
const MOST_BYTES: usize = 64 << 20;

/// The sources, such that they can be read again: the bytes of a pipe are kept, unless they are many.
pub(super) fn rereadable(sources: &[Source]) -> Result<Vec<Source>> {
    sources.iter().map(|source| source.kept(MOST_BYTES)).collect()
}

/// Reads the other values of a recording. `None` if there are none, or if the sources can be read once only.
pub(super) fn read_others(
    sources: &[Source],
    options: &ReadOptions,
    report: &Report,
) -> Option<Box<OtherValues>> {
    if !sources.iter().all(Source::is_rereadable) {
        return None;
    }
    let held = || report.values.iter().filter(|(value, total)| total.samples > 0 && !value.name.is_empty());
    let (shown, _) = held().find(|(_, total)| total.kept)?;
    let mut names: Vec<(&[u8], u64)> = held()
        .filter(|(value, total)| !total.kept && value.name != shown.name)
        .map(|(value, total)| (&value.name[..], total.samples))
        .collect();
    names.dedup_by_key(|(name, _)| *name);
    names.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
    names.truncate(MOST);
    names.sort_unstable();
    let text = |name: &[u8]| facts::one_line(name);
    let mut others = Vec::with_capacity(names.len());
    for (name, _) in names {
        let mut collapse = options.collapse.clone();
        collapse.values = ValueSelection::Named(vec![name.to_vec()]);
        let exchange = ExchangeParts::Nothing;
        let options = ReadOptions { collapse, exchange, ..options.clone() };
        // A value that one of several files lacks is left out.
        if let Ok((profile, _)) = read(sources, &options)
            && !profile.is_empty()
        {
            others.push((text(name), profile));
        }
    }
    (!others.is_empty())
        .then(|| Box::new(OtherValues { shown: text(&shown.name), others, share_clock: true }))
}

/// Reads each of several files by itself; all of them together are the value that is shown.
///
/// # Errors
/// Those of reading, and [`crate::ErrorKind::Setting`] for too many files, or one that can be read once only.
pub(super) fn read_each(
    sources: &[Source],
    options: &ReadOptions,
    report: &mut Report,
) -> Result<Box<OtherValues>> {
    let mut others = Vec::with_capacity(sources.len());
    for (source, name) in sources.iter().zip(menu_names(sources)) {
        let (profile, _) = read(std::slice::from_ref(source), options)?;
        let total = profile.total()?;
        if total.value.is_zero() && total.before.is_zero() {
            report.notes.push(format!("{}: no stacks, and not in the menu of the page", source.name()));
        } else {
            others.push((name, profile));
        }
    }
    Ok(Box::new(OtherValues { shown: format!("all {} files", sources.len()), others, share_clock: false }))
}

/// Refuses sources that cannot be read both together and one by one.
///
/// # Errors
/// [`crate::ErrorKind::Setting`].
pub(super) fn check_each(sources: &[Source]) -> Result<()> {
    if sources.len() > MOST_FILES {
        let what =
            format!("--each shows up to {MOST_FILES} files; there are {}: leave some out", sources.len());
        return Err(Error::setting(what));
    }
    match sources.iter().find(|source| !source.is_rereadable()) {
        None => Ok(()),
        Some(source) => {
            let what = "--each reads it twice, and it is a pipe: write it to a file first".to_owned();
            Err(Error::setting(what).or_at(|| Position::file(source.name())))
        }
    }
}

/// The names of files without their folders; whole where two would be alike.
fn menu_names(sources: &[Source]) -> Vec<String> {
    let last = |source: &Source| {
        let name = source.name();
        name.rsplit(['/', '\\']).next().unwrap_or_default().to_owned()
    };
    let short: Vec<String> = sources.iter().map(last).collect();
    let alike = |name: &String| short.iter().filter(|other| *other == name).count() > 1;
    let mut names: Vec<String> = Vec::with_capacity(sources.len());
    for (source, name) in sources.iter().zip(&short) {
        let mut name = if alike(name) { source.name().to_string() } else { name.clone() };
        name = facts::one_line(name.as_bytes());
        // The same file may be given twice.
        while names.contains(&name) {
            name += " (again)";
        }
        names.push(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Vec<Source> {
        names.iter().map(|name| Source::bytes(format!("main;{} 1\n", name.len())).named(*name)).collect()
    }

    #[test]
    fn files_have_their_own_names_in_the_menu() {
        assert_eq!(
            menu_names(&named(&["out/run-1.folded", "out/run-2.folded"])),
            ["run-1.folded", "run-2.folded"]
        );
        assert_eq!(
            menu_names(&named(&["old/app.folded", "new/app.folded", "x"])),
            ["old/app.folded", "new/app.folded", "x"]
        );
        assert_eq!(menu_names(&named(&["a", "a", "a"])), ["a", "a (again)", "a (again) (again)"]);
    }

    #[test]
    fn each_source_is_a_value_beside_all_of_them() {
        let mut sources = named(&["one", "three"]);
        sources.push(Source::bytes("main 0\n").named("empty"));
        let (profile, report) = read(&sources, &ReadOptions::default().each_source(true)).unwrap();
        let values = profile.values().unwrap();
        let totals: Vec<String> =
            values.iter().map(|(name, one)| format!("{name} {}", one.total().unwrap().value)).collect();
        assert_eq!(totals, ["all 3 files 2", "one 1", "three 1"]);
        assert_eq!(report.notes, ["empty: no stacks, and not in the menu of the page"]);
        assert!(!profile.values_share_clock());
    }

    #[test]
    fn what_cannot_be_read_twice_or_is_too_much_is_refused() {
        let many = vec![Source::bytes("a 1\n"); MOST_FILES + 1];
        let message = check_each(&many).unwrap_err().to_string();
        assert_eq!(message, "--each shows up to 64 files; there are 65: leave some out");
        let pipe = Source::reader("pipe", &b"a 1\n"[..]);
        let message = check_each(&[Source::bytes("a 1\n"), pipe]).unwrap_err().to_string();
        assert_eq!(message, "pipe: --each reads it twice, and it is a pipe: write it to a file first");
    }

    #[cfg(feature = "collapse")]
    #[test]
    fn the_menu_has_the_named_values_that_have_samples() {
        let sample = |event: &str| format!("a 7 1.000001: 10 {event}: \n\t    7f1e2215d058 f (/bin/a)\n\n");
        let text = ["cycles", "instructions", "faults"].map(sample).concat();
        let sources = [Source::bytes(text)];
        let (_, mut report) = read(&sources, &ReadOptions::default()).unwrap();
        let menu = |report: &Report| {
            let others = read_others(&sources, &ReadOptions::default(), report)?;
            Some((
                others.shown.clone(),
                others.others.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(),
            ))
        };
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(menu(&report), Some(("cycles".to_owned(), names(&["faults", "instructions"]))));
        // As the report has it: one without samples, one without a name.
        for (value, total) in std::mem::take(&mut report.values) {
            let mut value = value;
            let mut total = total;
            match &value.name[..] {
                b"instructions" => total.samples = 0,
                b"faults" => value.name.clear(),
                _ => {}
            }
            report.values.insert(value, total);
        }
        assert_eq!(menu(&report), None);
    }
}

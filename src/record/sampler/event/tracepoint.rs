//! Tracepoints of the kernel, by `group:point`.

use std::fs;
use std::path::Path;

/// The number of a tracepoint.
///
/// # Errors
/// A message that says what there is instead.
pub fn id(tracing: &Path, group: &str, point: &str) -> Result<u64, String> {
    let plain = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    };
    if !plain(group) || !plain(point) {
        return Err(format!("{group}:{point} is no tracepoint's name"));
    }
    let events = tracing.join("events");
    let path = events.join(group).join(point).join("id");
    let id = fs::read_to_string(&path).map_err(|e| match e.kind() {
        std::io::ErrorKind::PermissionDenied => {
            format!("tracepoints are kept from ordinary users: use `fg-record --root` for {group}:{point}")
        }
        _ => format!(
            "there is no tracepoint {group}:{point} in {}{}",
            events.display(),
            instead(&events, group)
        ),
    })?;
    id.trim().parse().map_err(|_| format!("{} holds no number", path.display()))
}

/// The most names that a message lists.
const LISTED: usize = 30;

/// The points of the group, or the groups, for a message.
fn instead(events: &Path, group: &str) -> String {
    let (kind, names) = match folders(&events.join(group)) {
        points if points.is_empty() => ("the groups ", folders(events)),
        points => ("", points),
    };
    let verb = if names.len() == 1 && kind.is_empty() { "is" } else { "are" };
    let more = if names.len() > LISTED { ", …" } else { "" };
    match names.is_empty() {
        true => String::new(),
        false => format!("; there {verb} {kind}{}{more}", names[..names.len().min(LISTED)].join(", ")),
    }
}

fn folders(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut names: Vec<String> =
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

/// The names of a tracepoint's fields, except those that all have.
pub fn fields(tracing: &Path, name: &str) -> Vec<String> {
    let mut parts = name.split(':');
    let (Some(group), Some(point)) = (parts.next(), parts.next()) else { return Vec::new() };
    let path = tracing.join("events").join(group).join(point).join("format");
    fields_in(&fs::read_to_string(path).unwrap_or_default())
}

fn fields_in(format: &str) -> Vec<String> {
    let declared =
        format.lines().filter_map(|line| line.trim_start().strip_prefix("field:")?.split(';').next());
    let names = declared.filter_map(|field| {
        let name = field.rsplit([' ', '*']).next()?;
        Some(name.split('[').next().unwrap_or(name).to_owned())
    });
    names.filter(|name| !name.starts_with("common_")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_format() {
        let format = "name: sched_switch\nformat:\n\tfield:unsigned short common_type;\toffset:0;\n\n\
                      \tfield:char prev_comm[16];\toffset:8;\n\tfield:pid_t prev_pid;\toffset:24;\n\
                      \tfield:const char *name;\toffset:28;\nprint fmt: \"x\"\n";
        assert_eq!(fields_in(format), ["prev_comm", "prev_pid", "name"]);
    }
}

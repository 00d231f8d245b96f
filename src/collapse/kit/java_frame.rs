//! A frame of Java as thread dumps and exceptions print it.

use std::borrow::Cow;

use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::naming::split_srcline;
use crate::collapse::{CollapseOptions, Sink};
use crate::folded::{FrameId, Kind, Place, sanitize_frame};

/// `java.util.concurrent.FutureTask.get(java.base@17.0.15/FutureTask.java:190)` is `…FutureTask.get`,
/// with `--srcline` followed by ` (FutureTask.java:190)`.
pub(crate) fn java_frame(
    text: &[u8],
    options: &CollapseOptions,
    names: &mut FrameNames,
    sink: &mut dyn Sink,
) -> FrameId {
    let text = text.trim_ascii();
    let open = memchr::memchr(b'(', text).filter(|_| text.ends_with(b")"));
    let (name, place) = open.map_or((text, &b""[..]), |at| (&text[..at], &text[at + 1..text.len() - 1]));
    let name = without_module(name);
    let place = memchr::memrchr(b'/', place).map_or(place, |at| &place[at + 1..]);
    let (file, line) = split_srcline(place);
    let native = matches!(place, b"Native Method");
    let kind = if native { Kind::User } else { Kind::Unknown };
    names.build_at(&Place { file, line, kind, ..Place::default() }, sink, |out| {
        sanitize_frame(&name, out);
        if options.srcline && !place.is_empty() {
            out.extend_from_slice(b" (");
            sanitize_frame(place, out);
            out.push(b')');
        }
    })
}

/// `java.base@17/java.lang.Thread.run` without the module, and `Main$$Lambda$14/0x00007f40.run`
/// without the address, which is another one each time.
fn without_module(name: &[u8]) -> Cow<'_, [u8]> {
    let Some(at) = memchr::memrchr(b'/', name) else { return Cow::Borrowed(name) };
    let (before, after) = (&name[..at], &name[at + 1..]);
    match memchr::memchr(b'.', after) {
        Some(dot) if after.starts_with(b"0x") => {
            let class = without_module(before);
            Cow::Owned([&class, &after[dot..]].concat())
        }
        _ => Cow::Borrowed(after),
    }
}

/// The name of a class as the source has it, with dots for the slashes of the virtual machine.
pub(crate) fn dotted(class: &[u8]) -> Vec<u8> {
    class.iter().map(|&byte| if byte == b'/' { b'.' } else { byte }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::StackTable;

    #[test]
    fn names_are_those_of_the_source() {
        let mut table = StackTable::default();
        let mut names = FrameNames::default();
        let mut shown = |text: &[u8], srcline| {
            let options = CollapseOptions { srcline, ..CollapseOptions::default() };
            let id = java_frame(text, &options, &mut names, &mut table);
            String::from_utf8_lossy(table.name(id)).into_owned()
        };
        assert_eq!(
            shown(b"java.lang.Object.wait(java.base@17.0.15/Object.java:338)", false),
            "java.lang.Object.wait"
        );
        assert_eq!(
            shown(b"java.lang.Object.wait(java.base@17.0.15/Object.java:338)", true),
            "java.lang.Object.wait (Object.java:338)"
        );
        assert_eq!(shown(b"java.base/java.lang.Thread.run(Thread.java:8)", false), "java.lang.Thread.run");
        assert_eq!(
            shown(b"Main$$Lambda$14/0x00007f4085000a08.run(Unknown Source)", false),
            "Main$$Lambda$14.run"
        );
        assert_eq!(shown(b"app//x.Y.<init>(Y.java)", false), "x.Y.<init>");
    }
}

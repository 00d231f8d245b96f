//! The rules that no first bytes express.

use memchr::memmem::find;

use crate::input::lines;

/// Returns whether there is nothing but zeros.
pub fn is_empty(head: &[u8]) -> bool {
    head.len() >= 512 && head.iter().all(|b| *b == 0)
}

/// Returns whether it is a recording of Windows: buffers of a size that is a multiple of a kilobyte, the first of which
/// holds the header of the log (`WMI_BUFFER_HEADER` and `SYSTEM_TRACE_HEADER` of `evntrace.h`).
pub fn is_etl(head: &[u8]) -> bool {
    let (Some(size), Some(event)) = (head.first_chunk::<4>(), head.get(72..76)) else { return false };
    let size = u32::from_le_bytes(*size);
    size > 0 && size.is_multiple_of(1024) && matches!(event, [2, 0, 1 | 2, 0xc0])
}

/// Returns whether it is a picture in SVG.
pub fn is_svg(head: &[u8]) -> bool {
    let start = head.trim_ascii_start();
    let is_xml = start.starts_with(b"<?xml");
    start.starts_with(b"<svg") || (is_xml && find(&head[..head.len().min(1000)], b"<svg").is_some())
}

/// Returns whether it is a page of HTML.
pub fn is_page(head: &[u8]) -> bool {
    let start = head.trim_ascii_start();
    let starts = |tag: &[u8]| start.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag));
    starts(b"<!doctype html") || starts(b"<html")
}

/// Returns whether the lines of a text are those of samples and nothing else: `-F event,sym`, `-F comm,tid,sym`. perf
/// ends each column with a blank, an event and a time with a colon before, and pads the command to 16 columns.
pub fn is_perf_without_addresses(head: &[u8]) -> bool {
    const COMMAND: usize = 16;
    let Some(end) = memchr::memrchr(b'\n', head) else { return false };
    let mut lines = lines(&head[..end]).take(20);
    lines.all(|line| {
        let text = line.trim_ascii();
        let is_padded = line.starts_with(b" ") && line.len() > COMMAND;
        let word = text.rsplit(|&b| b == b' ').next().unwrap_or_default();
        line.ends_with(b" ")
            && !line.ends_with(b"  ")
            && (is_padded || (word.len() > 1 && word.ends_with(b":")))
    })
}

/// Returns whether the lines of a text are samples of one frame with columns before it, but no thread: `-F event,ip,sym,dso`,
/// `-F time,period,event,ip,sym` without call graphs.
pub fn is_perf_without_threads(head: &[u8]) -> bool {
    let Some(end) = memchr::memrchr(b'\n', head) else { return false };
    let is_column = |word: &[u8]| {
        let name = word.strip_suffix(b":").unwrap_or(word);
        let is_number = !name.is_empty() && name.iter().all(|b| b.is_ascii_digit() || *b == b'.');
        is_number || (name.len() > 1 && name.len() < word.len())
    };
    let is_sample = |line: &[u8]| {
        let mut words = line.split(|&b| b == b' ').filter(|word| !word.is_empty());
        let mut columns = 0;
        let address = words.find(|word| {
            let ends = !is_column(word);
            columns += usize::from(!ends);
            ends
        });
        let is_address = address.is_some_and(|word| {
            word.len() >= 6 && word.iter().all(u8::is_ascii_hexdigit) && word.iter().any(u8::is_ascii_digit)
        });
        columns > 0 && is_address && words.next().is_some()
    };
    let mut lines = lines(&head[..end]).take(20).filter(|line| !line.starts_with(b"#")).peekable();
    lines.peek().is_some() && lines.all(is_sample)
}

/// Returns whether it is a CPU profile of Java in the binary format of gperftools: its third word is 1.
pub fn is_java_cpu(head: &[u8]) -> bool {
    [4, 8].iter().any(|&size| {
        let word = |at: usize, little: u8| {
            let word = head.get(at * size..(at + 1) * size)?;
            Some(word[0] == little && word[1..].iter().all(|b| *b == 0))
        };
        (word(0, 0), word(1, 3), word(2, 1)) == (Some(true), Some(true), Some(true))
    })
}

/// Returns whether a text begins with a call and its duration: `0.051 ( 0.146 ms): app/28540 brk() = 0x1`.
pub fn is_perf_trace(head: &[u8]) -> bool {
    let line = lines(head).next().unwrap_or_default();
    let Some(end) = find(line, b"): ") else { return false };
    let Some(open) = memchr::memchr(b'(', &line[..end]) else { return false };
    let (time, lasted) = (line[..open].trim_ascii(), line[open + 1..end].trim_ascii());
    let is_time = time == b"?" || (!time.is_empty() && time.iter().all(|b| b.is_ascii_digit() || *b == b'.'));
    is_time && (lasted.is_empty() || lasted.ends_with(b" ms")) && line[end..].contains(&b'(')
}

/// Returns whether the lines of a text are shares and functions, as LuaJIT prints them: `81%  work`.
pub fn is_luajit_report(head: &[u8]) -> bool {
    let mut lines = lines(head).take(20).filter(|line| !line.is_empty()).peekable();
    let is_row = |line: &[u8]| {
        let line = line.trim_ascii_start();
        let digits = line.iter().take_while(|b| b.is_ascii_digit()).count();
        matches!(digits, 1..=3) && line[digits..].starts_with(b"%  ")
    };
    lines.peek().is_some_and(|first| is_row(first))
        && lines.all(|line| is_row(line) || line.starts_with(b"  "))
}

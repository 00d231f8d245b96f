//! The labels of an event line: its processor, and the fields of a tracepoint.
//!
//! ```text
//! app  7/8 [001] 12.345678: kmem:kmalloc: call_site=ffff8 ptr=0x9 bytes_req=64 gfp_flags=GFP_KERNEL
//! ```

use super::event::EventLine;
use crate::collapse::kit::tracepoint::{Labels, pairs};
use crate::number;

/// Puts the labels of an event line, whose whole text is `text`, into `labels`.
pub(super) fn read(text: &[u8], line: &EventLine<'_>, labels: &mut Labels) {
    labels.clear();
    let between = text.get(line.thread.len()..text.len().saturating_sub(line.rest.len())).unwrap_or_default();
    let is_processor = |word: &&[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    let processor = between.split(|&b| b == b' ').find_map(|word| {
        word.strip_prefix(b"[").and_then(|word| word.strip_suffix(b"]")).filter(is_processor)
    });
    if let Some(number) = processor.and_then(number::parse::<u32>) {
        labels.push((b"processor".to_vec(), number.to_string().into_bytes()));
    }
    pairs(line.rest, labels);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::kit::tracepoint::{LONGEST, MOST};

    #[test]
    fn processor_and_fields_are_labels() {
        let text =
            b"a b  7 [003] 1.5: x: prev_comm=a b prev_pid=7 prev_state=R+ ==> next_comm=c 7=8 next_pid=8";
        let line = EventLine { thread: b"a b  7", rest: &text[20..], ..EventLine::default() };
        let mut labels = Labels::new();
        read(text, &line, &mut labels);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let shown: Vec<String> = labels.iter().map(|(k, v)| format!("{}={}", text(k), text(v))).collect();
        assert_eq!(
            shown,
            ["processor=3", "prev_comm=a b", "prev_pid=7", "prev_state=R+", "next_comm=c 7=8", "next_pid=8"]
        );
        let hostile = [&b" k="[..], &[b'x'; 5000], &b" j=1".repeat(1000)].concat();
        let line = EventLine { rest: &hostile, ..EventLine::default() };
        read(&hostile, &line, &mut labels);
        assert!(labels.len() == MOST && labels[0].1.len() == LONGEST);
    }
}

//! The labels of an event line: its processor, and the fields of a tracepoint.
//!
//! ```text
//! app  7/8 [001] 12.345678: kmem:kmalloc: call_site=ffff8 ptr=0x9 bytes_req=64 gfp_flags=GFP_KERNEL
//! ```

use super::event::EventLine;

/// The most fields of an event, and the longest value: what a line has beyond is no field of the kernel's.
const MOST: usize = 64;
const LONGEST: usize = 256;

/// Key and value of each label.
pub(in crate::collapse) type Labels = Vec<(Vec<u8>, Vec<u8>)>;

/// Puts the labels of an event line, whose whole text is `text`, into `labels`.
pub(super) fn read(text: &[u8], line: &EventLine<'_>, labels: &mut Labels) {
    labels.clear();
    let between = text.get(line.thread.len()..text.len().saturating_sub(line.rest.len())).unwrap_or_default();
    let is_processor = |word: &&[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    let processor = between.split(|&b| b == b' ').find_map(|word| {
        word.strip_prefix(b"[").and_then(|word| word.strip_suffix(b"]")).filter(is_processor)
    });
    if let Some(number) = processor.and_then(|word| std::str::from_utf8(word).ok()?.parse::<u32>().ok()) {
        labels.push((b"processor".to_vec(), number.to_string().into_bytes()));
    }
    pairs(line.rest, labels);
}

/// Appends the fields of a text to `labels`: `comm=a b tid=7`. What stands before the first is none.
pub(in crate::collapse) fn pairs(text: &[u8], labels: &mut Labels) {
    let mut is_open = false;
    for word in text.split(|&b| b == b' ').filter(|word| !word.is_empty()) {
        match field(word) {
            Some((key, value)) if labels.len() < MOST => {
                labels.push((key.to_vec(), value[..value.len().min(LONGEST)].to_vec()));
                is_open = true;
            }
            // The arrow between the two threads of a switch.
            _ if word == b"==>" => is_open = false,
            _ => {
                // A command may have blanks.
                if let Some((_, value)) = labels.last_mut().filter(|_| is_open)
                    && value.len() + word.len() < LONGEST
                {
                    value.push(b' ');
                    value.extend_from_slice(word);
                }
            }
        }
    }
}

/// `bytes_req=64`
fn field(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b'=', word)?;
    let (key, value) = (&word[..at], &word[at + 1..]);
    let is_name = key.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
        && key.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_');
    (is_name && word != b"==>").then_some((key, value.strip_suffix(b",").unwrap_or(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // A value of many words ends with the last one that fits whole.
        let words = |word: &str| {
            let mut labels = Labels::new();
            pairs(format!("comm=x {}", format!("{word} ").repeat(300)).as_bytes(), &mut labels);
            labels[0].1.len()
        };
        assert_eq!((words("y"), words("yy")), (LONGEST - 1, LONGEST));
    }
}

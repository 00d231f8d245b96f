//! The words of an event line: numbers, threads, times, and where each ends.

use crate::collapse::kit::text::split_digits;
use crate::number;

/// The end of the one event whose name holds a blank: `raw 0x1c2:`.
pub(super) fn end_of_raw_event(text: &[u8]) -> Option<usize> {
    let end_of = |at: &usize| matches!(text.get(at + 1), None | Some(b' '));
    memchr::memchr_iter(b':', text).find(end_of).filter(|_| text.starts_with(b"raw 0x"))
}

/// Returns true if the number at the end of a text is padded to the width of a period, 10; that of a thread is 5 or 7.
pub(super) fn is_padded_as_period(text: &[u8]) -> bool {
    /// The width, and the blank behind the column before.
    const WIDTH: usize = 10;
    let digits = text.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let number = &text[..text.len() - digits];
    let blanks = number.len() - number.trim_ascii_end().len();
    // The first column of a line has no blank before it.
    digits + blanks >= WIDTH + usize::from(blanks < number.len())
}

/// `PID/TID` or `TID`; perf writes -1 where it does not know.
pub(super) fn split_ids(token: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let is_id = |text: &[u8]| is_number(text.strip_prefix(b"-").unwrap_or(text));
    match memchr::memchr(b'/', token) {
        Some(slash) => {
            let (pid, tid) = (&token[..slash], &token[slash + 1..]);
            (is_id(pid) && is_id(tid)).then_some((Some(pid), tid))
        }
        None => is_id(token).then_some((None, token)),
    }
}

/// The text behind a time such as `799.251439:`.
pub(super) fn without_time(text: &[u8]) -> Option<&[u8]> {
    let digits = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_digit()).count();
    let text = text.trim_ascii_start();
    let seconds = digits(text);
    let fraction = text[seconds..].strip_prefix(b".").filter(|_| seconds > 0)?;
    let count = digits(fraction);
    let rest = fraction[count..].strip_prefix(b":")?;
    match rest.first() {
        None | Some(b' ') if count >= 6 => Some(rest),
        // simpleperf of NDK r16 does not pad it: 12.345 is 12 s and 345 us.
        Some(b'\t') if count >= 1 => Some(rest),
        _ => None,
    }
}

/// A command without the time, and what `-F +misc` has before it: `-F comm,misc,time,period,ip`.
pub(super) fn without_time_behind(text: &[u8]) -> &[u8] {
    let last_word = |text: &[u8]| text.len() - text.iter().rev().take_while(|&&b| !is_blank(b)).count();
    let text = text.trim_ascii_end();
    let (before, time) = text.split_at(last_word(text));
    if time.strip_suffix(b":").and_then(nanoseconds).is_none() {
        return text;
    }
    let before = before.trim_ascii_end();
    let (command, misc) = before.split_at(last_word(before));
    if is_misc(misc) { command } else { before }
}

/// `-F +misc`: user, kernel, hypervisor, guest; exact; mapped data.
pub(super) fn is_misc(token: &[u8]) -> bool {
    matches!(token.len(), 1..=5) && token.iter().all(|b| b"UKHGgEMSDPF".contains(b))
}

/// Nanoseconds from seconds with six to nine decimals; fewer are a number of microseconds.
pub(super) fn nanoseconds(word: &[u8]) -> Option<u64> {
    let (seconds, rest) = split_digits(word);
    let (fraction, rest) = split_digits(rest.strip_prefix(b".")?);
    if seconds.is_empty() || !rest.is_empty() || !(1..=9).contains(&fraction.len()) {
        return None;
    }
    let number = |digits| number::parse::<u64>(digits);
    let nanoseconds = number(fraction)? * 10u64.pow(9 - fraction.len().max(6) as u32);
    number(seconds)?.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

/// Returns true for decimal digits alone.
pub(super) fn is_number(token: &[u8]) -> bool {
    !token.is_empty() && token.iter().all(u8::is_ascii_digit)
}

/// The next word, without the blanks before it, and the rest.
pub(super) fn split_token(text: &[u8]) -> (&[u8], &[u8]) {
    let start = text.iter().take_while(|&&b| is_blank(b)).count();
    // Tokens are short: looking byte by byte beats a vector search.
    let end = text[start..].iter().position(|&b| is_blank(b)).map_or(text.len(), |n| start + n);
    (&text[start..end], &text[end..])
}

/// A blank of perf, or a tab of simpleperf.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_with_a_fraction() {
        for (word, expected) in [
            ("12.345678", Some(12_345_678_000)),
            ("12.345678901", Some(12_345_678_901)),
            ("12.345", Some(12_000_345_000)),
            ("12.3456789012", None),
            ("12.345678x", None),
            ("12.", None),
            (".345678", None),
            ("x.345678", None),
            ("12", None),
        ] {
            assert_eq!(nanoseconds(word.as_bytes()), expected, "{word}");
        }
    }
}

//! Event lines that begin and end as one before, of which only the columns between have to be read.

use super::event::{EventLine, Layout};

/// The end of an event line: the event, its colon, and nothing but blanks.
#[derive(Default)]
pub(super) struct Ending {
    text: Vec<u8>,
    /// The length of the event's name.
    name: usize,
}

impl Ending {
    /// Notes the end of a line that has been read.
    pub fn note(&mut self, line: &[u8], event: &EventLine<'_>) {
        let is_known = event.event == &self.text[..self.name];
        if is_known || event.event.is_empty() || !event.rest.trim_ascii_start().is_empty() {
            return;
        }
        let start = line.len() - event.rest.len() - ":".len() - event.event.len();
        self.text.clear();
        self.text.extend_from_slice(&line[start..]);
        self.name = event.event.len();
    }
}

impl Layout {
    /// [`Layout::parse`] for a line that begins as one before did, up to the thread; `None` if it has to be read
    /// with more care.
    pub fn parse_again<'a>(&self, line: &'a [u8], thread: &[u8], ending: &Ending) -> Option<EventLine<'a>> {
        let rest = line.strip_prefix(thread).filter(|rest| self.time && rest.first() == Some(&b' '))?;
        if thread.is_empty() {
            return None;
        }
        let thread = &line[..thread.len()];
        if let Some(period) = self.period_between(rest, ending) {
            let (event, rest) = line[line.len() - ending.text.len()..].split_at(ending.name);
            let rest = &rest[":".len()..];
            return Some(EventLine { thread, period: Some(period), event, rest, ..EventLine::default() });
        }
        let columns = self.parse_columns(rest)?;
        // Another thread and time could only stand behind the event.
        let all = columns.rest.trim_ascii_start().is_empty();
        all.then(|| columns.of(thread, b"", None, b""))
    }

    /// The period, if what stands before the ending is nothing but processor, time and period.
    fn period_between<'a>(&self, rest: &'a [u8], ending: &Ending) -> Option<&'a [u8]> {
        if !(self.period && ending.name > 0) {
            return None;
        }
        let mut rest = blanks(rest.strip_suffix(&ending.text[..])?)?;
        if self.cpu {
            let cpu;
            (cpu, rest) = digits(rest.strip_prefix(b"[")?);
            rest = blanks(rest.strip_prefix(b"]")?)?;
            if cpu.len() < 3 {
                return None;
            }
        }
        let (seconds, behind) = digits(rest);
        let (fraction, behind) = digits(behind.strip_prefix(b".")?);
        let (period, behind) = digits(blanks(behind.strip_prefix(b":")?)?);
        let is_so = !seconds.is_empty() && fraction.len() >= 6 && !period.is_empty();
        (is_so && blanks(behind)?.is_empty()).then_some(period)
    }
}

/// The text behind one blank or more; `None` if there is none.
#[inline]
fn blanks(text: &[u8]) -> Option<&[u8]> {
    let count = text.iter().position(|&b| b != b' ').unwrap_or(text.len());
    (count > 0).then(|| &text[count..])
}

/// The digits that a text begins with, and the rest of it.
#[inline]
fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However the columns look, a line is read again as it is read at first.
        #[test]
        fn the_columns_between_are_those_of_the_whole_line(
            between in " {0,2}(\\[[0-9]{2,3}\\] )?[A-Z]{0,2} {0,3}[0-9]{0,2}\\.?[0-9]{5,7}:? {0,3}[0-9a]{0,3} {0,2}",
            event in "(cycles:u:|x:y:|raw 0x1c2:|1\\.123456:|)",
            end in " {0,2}",
            cpu: bool,
            period: bool,
        ) {
            let line = format!("calc 7{between}{event}{end}");
            let line = line.as_bytes();
            for layout in Layout::all().filter(|layout| layout.cpu == cpu && layout.period == period) {
                let Some(parsed) = layout.parse(line) else { continue };
                let mut ending = Ending::default();
                if layout.has_event() {
                    ending.note(line, &parsed);
                }
                if let Some(again) = layout.parse_again(line, parsed.thread, &ending) {
                    let columns = |line: EventLine<'_>| (
                        String::from_utf8_lossy(line.thread).into_owned(),
                        line.period.map(<[u8]>::to_vec),
                        line.event.to_vec(),
                        line.rest.to_vec(),
                    );
                    prop_assert_eq!(columns(again), columns(parsed));
                }
            }
        }
    }

    #[test]
    fn a_thread_ends_at_a_blank_and_before_a_time() {
        let timed = Layout::guess(b"a 7 12.345678: 1 e: \n").unwrap();
        let untimed = Layout::guess(b"a 7 e: \n").unwrap();
        for (layout, line) in [
            (timed, "a 71 12.345678: 1 e: "),
            (timed, "a 7/1 12.345678: 1 e: "),
            // The thread could be 8.
            (untimed, "a 7 8 e: "),
            (untimed, "a 7 e: "),
        ] {
            let read = layout.parse_again(line.as_bytes(), b"a 7", &Ending::default());
            assert_eq!(read, None, "{line}");
        }
        let read = timed.parse_again(b"a 7 12.345678: 1 e: ", b"a 7", &Ending::default());
        assert_eq!(read.map(|line| line.thread), Some(&b"a 7"[..]));
    }

    #[test]
    fn the_ending_is_that_of_the_first_line_with_nothing_behind_the_event() {
        let layout = Layout::guess(b"a 7 12.345678: 1 e: \n").unwrap();
        let mut ending = Ending::default();
        let note = |line: &[u8], ending: &mut Ending| {
            ending.note(line, &layout.parse(line).unwrap());
            (ending.text.clone(), ending.name)
        };
        assert_eq!(note(b"a 7 12.345678: 1 x:y: pid=1", &mut ending), (vec![], 0));
        assert_eq!(note(b"a 7 12.345678: 1 x:y: ", &mut ending), (b"x:y: ".to_vec(), 3));
        assert_eq!(note(b"a 7 12.345678: 1 x:y:", &mut ending), (b"x:y: ".to_vec(), 3));
        assert_eq!(note(b"a 7 12.345678: 1 e: 7f12 f (/x)", &mut ending), (b"x:y: ".to_vec(), 3));
        assert_eq!(note(b"a 7 12.345678: 1 e:", &mut ending), (b"e:".to_vec(), 1));
    }

    #[test]
    fn a_line_that_ends_as_the_one_before_is_read_by_its_ending() {
        let first = b"a b 7/8 [001] 12.345678:    2004008 cycles:u: ";
        let layout = Layout::guess(first).unwrap();
        let mut ending = Ending::default();
        let parsed = layout.parse(first).unwrap();
        ending.note(first, &parsed);
        let period = |line: &[u8]| {
            let rest = line.strip_prefix(parsed.thread).unwrap();
            layout.period_between(rest, &ending).map(|period| String::from_utf8_lossy(period).into_owned())
        };
        assert_eq!(period(b"a b 7/8 [000]   2.000000:  1 cycles:u: ").as_deref(), Some("1"));
        for other in [
            &b"a b 7/8 [00] 2.000000:  1 cycles:u: "[..],
            b"a b 7/8 [000] 2.00000:  1 cycles:u: ",
            b"a b 7/8 [000] 2.000000:  x cycles:u: ",
            b"a b 7/8 [000] 2.000000:  1 cycles:u:",
            b"a b 7/8 [000] 2.000000:  1cycles:u: ",
            b"a b 7/8 [000] 2.000000: cycles:u: ",
            b"a b 7/8 2.000000:  1 cycles:u: ",
            b"a b 7/8 [000] U 2.000000:  1 cycles:u: ",
        ] {
            assert_eq!(period(other), None, "{}", String::from_utf8_lossy(other));
        }
    }
}

//! The calls of a thread in the order of time, neighbours merged: for formats with a time axis.

use crate::error::Result;
use crate::folded::FrameId;
use crate::profile::{ThreadLine, TimeLine};
use crate::weight::Weight;

/// A call begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallEvent {
    /// A frame begins, at nanoseconds from the start of the time line.
    Begin { frame: FrameId, at: u64 },
    /// The frame that began last ends.
    End { frame: FrameId, at: u64, weight: Weight },
}

/// Tells of the calls of a thread, in the order of time. A gap between samples ends all calls.
///
/// # Errors
/// [`crate::ErrorKind::Overflow`], and those of `tell`.
pub(super) fn tell_calls(
    line: &TimeLine<'_>,
    thread: &ThreadLine,
    tell: &mut dyn FnMut(CallEvent) -> Result<()>,
) -> Result<()> {
    let profile = line.profile();
    /// An open frame, and its weight so far.
    struct Open {
        frame: FrameId,
        weight: Weight,
    }
    let mut open: Vec<Open> = Vec::new();
    let mut now = 0;
    let close =
        |open: &mut Vec<Open>, depth: usize, at: u64, tell: &mut dyn FnMut(CallEvent) -> Result<()>| {
            while open.len() > depth {
                let Some(Open { frame, weight }) = open.pop() else { break };
                if let Some(caller) = open.last_mut() {
                    caller.weight = caller.weight.checked_add(weight)?;
                }
                tell(CallEvent::End { frame, at, weight })?;
            }
            Ok::<(), crate::Error>(())
        };
    for span in line.spans(thread).filter(|span| span.end > span.start) {
        let (start, end) = (span.start - line.start, span.end - line.start);
        if start > now {
            close(&mut open, 0, now, tell)?;
        }
        let stack = || profile.stack(span.stack).iter().map(|&frame| profile.stacks().base(frame));
        let same = open.iter().zip(stack()).take_while(|(open, frame)| open.frame == *frame).count();
        close(&mut open, same, start, tell)?;
        for frame in stack().skip(same) {
            tell(CallEvent::Begin { frame, at: start })?;
            open.push(Open { frame, weight: Weight::ZERO });
        }
        if let Some(last) = open.last_mut() {
            last.weight = last.weight.checked_add(span.weight)?;
        }
        now = end;
    }
    close(&mut open, 0, now, tell)
}

/// The decimals with which a unit of time has nanoseconds; `None` for other units.
pub(super) fn decimals_of(unit: &str) -> Option<u8> {
    Some(match unit {
        "ns" | "nanoseconds" => 0,
        "us" | "µs" | "microseconds" => 3,
        "ms" | "milliseconds" => 6,
        "s" | "seconds" => 9,
        _ => return None,
    })
}

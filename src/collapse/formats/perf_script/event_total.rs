//! The samples of one event, added up by one thread.

use crate::collapse::ValueTotal;
use crate::collapse::kit::events::CommonWeight;
use crate::folded::FrameId;
use crate::weight::Weight;

/// An event met by one thread.
pub(super) struct Event {
    pub name: Vec<u8>,
    pub total: ValueTotal,
    /// True if its samples came with a period.
    pub weighed: bool,
    pub period: CommonWeight,
    /// The period of the sample before, as text and as a weight: mostly the next one is the same.
    last_period: (Vec<u8>, Weight),
    /// The root frame of the event, with [`ValueSelection::All`](crate::collapse::ValueSelection::All).
    pub root: Option<FrameId>,
}

impl Event {
    pub fn new(name: &[u8], kept: bool, root: Option<FrameId>) -> Event {
        Event {
            name: name.to_vec(),
            total: ValueTotal { kept, ..ValueTotal::default() },
            weighed: false,
            period: CommonWeight::Unknown,
            last_period: (Vec::new(), Weight::ONE),
            root,
        }
    }

    /// The weight of a sample with this period.
    pub fn weight(&mut self, period: Option<&[u8]>) -> Weight {
        let Some(text) = period else {
            self.period.add(Weight::ONE);
            return Weight::ONE;
        };
        if self.last_period.0 != text {
            let parsed = Weight::parse(text);
            self.weighed |= parsed.is_some();
            let weight = parsed.unwrap_or(Weight::ONE);
            self.period.add(weight);
            self.last_period.0.clear();
            self.last_period.0.extend_from_slice(text);
            self.last_period.1 = weight;
        }
        self.last_period.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_period_makes_weights_of_all() {
        let mut event = Event::new(b"cycles", true, None);
        assert_eq!(event.weight(None), Weight::ONE);
        assert!(!event.weighed);
        for period in ["7", "7", "8", "9", "8"] {
            assert_eq!(event.weight(Some(period.as_bytes())).to_string(), period);
            assert!(event.weighed, "{period}");
        }
        // A number beyond all weights counts as one sample, and takes nothing back.
        assert_eq!(event.weight(Some(&[b'9'; 60])), Weight::ONE);
        assert!(event.weighed);
    }
}

//! The places of frames as an output states them.

use super::Settings;
use crate::folded::{Place, Places};

/// Places by name; where the output is private, without folders.
pub(super) struct ShownPlaces<'a> {
    places: &'a Places,
    private: bool,
}

impl<'a> ShownPlaces<'a> {
    pub(super) fn new(settings: &Settings, places: &'a Places) -> Self {
        ShownPlaces { places, private: settings.private }
    }

    /// The place of a name, if one is known.
    pub(super) fn get(&self, name: &[u8]) -> Option<Place<'a>> {
        let place = self.places.get(name)?;
        if !self.private {
            return Some(place);
        }
        let last = |path: &'a [u8]| path.rsplit(|b| matches!(b, b'/' | b'\\')).next().unwrap_or(path);
        Some(Place { module: last(place.module), file: last(place.file), ..place })
    }
}

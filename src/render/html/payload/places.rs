//! Where the code of names is: a module and a kind for each name whose place is known.

use std::collections::HashMap;

use super::column::Column;
use crate::error::Result;
use crate::folded::{FrameId, Kind, Place, Places, StackTable};

/// Added to the kind of a function that the compiler has put into its caller.
const INLINED: u8 = 4;

/// The number that stands for a kind of code in the column `kinds`.
fn kind_number(place: &Place<'_>) -> u8 {
    let kind = match place.kind {
        Kind::Unknown => 0,
        Kind::User => 1,
        Kind::Kernel => 2,
        Kind::Jit => 3,
    };
    if place.inlined { kind + INLINED } else { kind }
}

/// The sections of places: none where nothing is known.
pub(super) fn sections(names: &StackTable, places: &Places) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let [mut kinds, mut name_modules, mut modules] = [(); 3].map(|()| Column::of_names());
    let mut any_kind = false;
    let mut numbers: HashMap<Vec<u8>, u128> = HashMap::new();
    for id in (0..names.frame_count() as u32).filter(|_| !places.is_empty()) {
        let place = places.get(names.name(FrameId(id))).unwrap_or_default();
        let kind = kind_number(&place);
        any_kind |= kind > 0;
        kinds.extend(&[kind])?;
        let module: Vec<u8> = place.module.iter().copied().filter(|&byte| byte > 0).collect();
        if module.is_empty() {
            name_modules.push(0)?;
            continue;
        }
        let number = match numbers.get(&module) {
            Some(&number) => number,
            None => {
                modules.extend(&module)?;
                modules.extend(&[0])?;
                let number = numbers.len() as u128 + 1;
                numbers.insert(module, number);
                number
            }
        };
        name_modules.push(number)?;
    }
    let mut sections = Vec::new();
    if any_kind {
        sections.push(("kinds", kinds.finish()?));
    }
    if !numbers.is_empty() {
        sections.push(("modules", modules.finish()?));
        sections.push(("name-modules", name_modules.finish()?));
    }
    Ok(sections)
}
